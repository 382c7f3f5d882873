//! RHALE of a function: derivatives, automatic bins, and what is uncertain about the curve.

use fe_core::model::FunctionModel;
use fe_core::settings::BandKind;
use fe_core::{Dataset, Result, Settings, estimator};

/// Estimates the effect of x1 in x1² x2, and prints it.
///
/// # Errors
/// None with these data.
pub fn main() -> Result<()> {
    let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| {
        if j == 0 { i as f64 / 399.0 } else { (i * 37 % 400) as f64 / 399.0 }
    });
    let data = Dataset::from_rows(&rows.view())?;
    let model = FunctionModel::new(2, |x| x[0] * x[0] * x[1])
        .with_partial(|s, x| if s == 0 { 2.0 * x[0] * x[1] } else { x[0] * x[0] });
    let settings = Settings { band: Some(BandKind::Analytic), ..Settings::default() };
    let effect = &estimator::from_settings("rhale", &settings)?.estimate(&data, &model, 0)?[0];
    for x in [0.1, 0.5, 0.9] {
        println!("f({x}) = {:.3}", effect.curve.at(x)?);
    }
    if let (Some(bins), Some(band)) = (&effect.bins, &effect.confidence) {
        println!("{} bins, level {}", bins.partition.bins(), band.record.level);
    }
    // E x2 = ½: the effect is x1² / 2 up to a constant.
    let rise = effect.curve.at(0.9)? - effect.curve.at(0.1)?;
    assert!((rise - 0.4).abs() < 0.02, "{rise}");
    Ok(())
}
