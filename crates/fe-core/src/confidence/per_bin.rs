//! The band of PyALE 1.2, which shows the error of each bin and never accumulates it.

use super::uncertainty::student;
use super::values::{Values, around};
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::numeric::curve::Curve;

/// Curve ± t · s_k Δz_k / √n_k at the right limit of each bin, t being the quantile of Student's t with
/// n_k − 1 degrees of freedom, linear between. Missing at the start and where n_k < 2.
pub(super) fn limits(effect: &Effect, x: &[f64], curve: &[f64], level: f64) -> Result<Values> {
    let Some(bins) = &effect.bins else {
        return Err(Error::Incompatible("the band bins needs an effect with bins".to_owned()));
    };
    let ddof = effect.record.ddof;
    let mut half = vec![f64::NAN];
    for ((&count, variance), width) in
        bins.counts.iter().zip(&bins.variance).zip(bins.partition.widths())
    {
        half.push(match variance {
            Some(variance) if count > 1.0 => {
                let error = (variance * (count - ddof) / (count - 1.0) / count).sqrt();
                student(1.0 - level, count - 1.0)? * error * width
            }
            _ => f64::NAN,
        });
    }
    let half = Curve::linear(bins.partition.limits().to_vec(), half).at_all(x)?;
    Ok(Values {
        pointwise: around(curve, |i| half[i]),
        simultaneous: None,
        failed: 0,
        least_degrees: None,
        critical_value: None,
        cells: None,
        refits: None,
    })
}
