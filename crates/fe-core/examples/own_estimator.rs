//! An estimator of one's own: partial dependence by the median over the instances in place of the mean.

use fe_core::effect::Record;
use fe_core::estimator::{Estimand, Estimator};
use fe_core::model::{Column, FunctionModel, Observed, Rows};
use fe_core::numeric::quantiles::SortedSample;
use fe_core::{AxisChoice, Centring, Curve, Dataset, Effect, Model, Result};

#[derive(Debug)]
struct MedianDependence {
    points: usize,
}

impl Estimator for MedianDependence {
    fn name(&self) -> &'static str {
        "median-pdp"
    }

    fn estimand(&self) -> Estimand {
        Estimand::PartialDependence
    }

    fn centring(&self) -> Centring {
        Centring::None
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        data.check(model, feature)?;
        let axis = AxisChoice::Data.resolve(data, feature)?;
        let observed = Observed::new(model);
        let (x, rows) = (axis.grid(self.points), data.len());
        let mut columns = data.columns(0..rows);
        let mut values = vec![0.0; rows * model.outputs()];
        let mut medians = vec![Vec::new(); model.outputs()];
        for &place in &x {
            columns[feature] = Column::Constant(place);
            observed.predict(&Rows::new(&columns, rows), &mut values)?;
            for (medians, values) in medians.iter_mut().zip(values.chunks(rows)) {
                let sample = SortedSample::new(values.iter().map(|&value| (value, 1.0)));
                medians.push(sample.quantile(0.5));
            }
        }
        let effect = |(output, y)| {
            let curve = Curve::linear(x.clone(), y);
            let effect = Effect::new((data, feature), output, self.name(), (axis, curve));
            let record = Record { model_rows: observed.model_rows(), ..effect.record };
            Effect { record, ..effect }.representable()
        };
        medians.into_iter().enumerate().map(effect).collect()
    }
}

/// Estimates the effect of x1 in x1 + x2 with an outlier in x2.
///
/// # Errors
/// None with these data.
pub fn main() -> Result<()> {
    let rows = ndarray::array![[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 1e6], [4.0, 2.0]];
    let data = Dataset::from_rows(&rows.view())?;
    let model = FunctionModel::new(2, |x| x[0] + x[1]);
    let effect = &MedianDependence { points: 5 }.estimate(&data, &model, 0)?[0];
    println!("{:?} from {} rows", effect.curve.y(), effect.record.model_rows);
    assert_eq!(effect.curve.y(), [2.0, 3.0, 4.0, 5.0, 6.0]);
    Ok(())
}
