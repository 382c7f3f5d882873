//! The functions that the recorded results are about, with their derivatives.

use std::f64::consts::PI;

use fe_core::model::FunctionModel;

fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The function of a name.
pub fn model(name: &str, dimension: usize) -> FunctionModel<'static> {
    match name {
        "bvn" => FunctionModel::new(dimension, |x| x[0] + x[1] * x[1] / 2.0 + x[0] * x[1])
            .with_partial(|s, x| if s == 0 { 1.0 + x[1] } else { x[0] + x[1] }),
        "poly3" => FunctionModel::new(dimension, |x| x[0] * x[0] + x[0] * x[1] + x[2] / 2.0)
            .with_partial(|s, x| [2.0 * x[0] + x[1], x[0], 0.5][s]),
        "large" => {
            FunctionModel::new(dimension, |x| 1e9 * (x[0] * x[0] + x[0] * x[1] + x[2] / 2.0))
                .with_partial(|s, x| [1e9 * (2.0 * x[0] + x[1]), 1e9 * x[0], 0.5e9][s])
        }
        "steep" => FunctionModel::new(dimension, |x| 1e9 * x[0] + x[0] * x[1] + x[2] / 2.0)
            .with_partial(|s, x| [1e9 + x[1], x[0], 0.5][s]),
        "effreg" => {
            let sign = |x: &[f64]| indicator(x[2] > 0.0) - indicator(x[2] <= 0.0);
            FunctionModel::new(dimension, move |x| 3.0 * x[0] * sign(x) + x[2])
                .with_partial(move |s, x| [3.0 * sign(x), 0.0, 1.0][s])
        }
        "friedman1" => FunctionModel::new(dimension, |x| {
            let square = (x[2] - 0.5) * (x[2] - 0.5);
            10.0 * (PI * x[0] * x[1]).sin() + 20.0 * square + 10.0 * x[3] + 5.0 * x[4]
        })
        .with_partial(|s, x| {
            let wave = 10.0 * PI * (PI * x[0] * x[1]).cos();
            [wave * x[1], wave * x[0], 40.0 * (x[2] - 0.5), 10.0, 5.0, 0.0, 0.0][s]
        }),
        "sinind" => {
            let amplitude = |x: &[f64]| indicator(x[0] < 0.0) - 2.0 * indicator(x[2] < 0.0);
            FunctionModel::new(dimension, move |x| {
                (2.0 * PI * x[0]).sin() * amplitude(x) + x[0] * x[1] + x[1]
            })
            .with_partial(move |s, x| {
                let wave = 2.0 * PI * (2.0 * PI * x[0]).cos() * amplitude(x);
                [wave + x[1], x[0] + 1.0, 0.0][s]
            })
        }
        other => panic!("no function is called {other}"),
    }
}
