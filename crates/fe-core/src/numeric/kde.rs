//! Kernel density estimates, for pictures of how numbers are distributed (Silverman 1986).

use crate::numeric::moments::Moments;
use crate::numeric::quantiles::SortedSample;

/// A density at increasing places: (place, density), from the least to the largest value.
///
/// Kernels are normal, with the bandwidth 0.9 min(sd, IQR / 1.34) n^(−1/5) of Silverman (1986, eq.
/// 3.31), where n is the total weight; the sd alone where half of the values are equal. Nothing is
/// drawn beyond the values, and rows of weight 0 or with missing values do not count. None where all
/// values are equal, or there are none.
///
/// ```
/// use fe_core::numeric::kde::density;
/// let two_heaps = [-5.0, -5.1, -4.9, 5.0, 5.1, 4.9].map(|value| (value, 1.0));
/// let known = density(two_heaps.into_iter(), 21).unwrap();
/// let at = |place: usize| known[place].1;
/// assert!(at(0) > at(10) && at(20) > at(10));
/// assert!(density([(1.0, 1.0), (1.0, 1.0)].into_iter(), 21).is_none());
/// ```
#[must_use]
pub fn density(
    weighted: impl Iterator<Item = (f64, f64)>,
    places: usize,
) -> Option<Vec<(f64, f64)>> {
    let pairs: Vec<(f64, f64)> =
        weighted.filter(|(value, weight)| value.is_finite() && *weight > 0.0).collect();
    let sample = SortedSample::new(pairs.iter().copied());
    let (lo, hi) = (sample.quantile(0.0), sample.quantile(1.0));
    let single = |&(value, weight): &(f64, f64)| Moments::single(value, weight);
    let moments = pairs.iter().map(single).fold(Moments::default(), Moments::merge);
    let sd = moments.variance(1.0)?.sqrt();
    if !(hi > lo && sd > 0.0) || places < 2 {
        return None;
    }
    let robust = (sample.quantile(0.75) - sample.quantile(0.25)) / 1.34;
    let spread = if robust > 0.0 { sd.min(robust) } else { sd };
    let bandwidth = 0.9 * spread * sample.total().powf(-0.2);
    let scale = 1.0 / (sample.total() * bandwidth * (2.0 * std::f64::consts::PI).sqrt());
    let at = |place: f64| {
        let kernel = |&(x, w): &(f64, f64)| w * (-0.5 * ((place - x) / bandwidth).powi(2)).exp();
        scale * pairs.iter().map(kernel).sum::<f64>()
    };
    let place = |i: usize| lo + (hi - lo) * i as f64 / (places - 1) as f64;
    Some((0..places).map(place).map(|place| (place, at(place))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_of_two_is_a_second_row_and_one_of_zero_none() {
        let twice = [(1.0, 2.0), (4.0, 1.0), (6.0, 1.0), (9.0, 0.0)];
        let rows = [(1.0, 1.0), (1.0, 1.0), (4.0, 1.0), (6.0, 1.0), (f64::NAN, 1.0)];
        let known = [density(twice.into_iter(), 11), density(rows.into_iter(), 11)];
        for (a, b) in known[0].iter().flatten().zip(known[1].iter().flatten()) {
            assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
        }
        assert!(known[0].is_some() && known[1].is_some());
    }

    #[test]
    fn it_is_that_of_the_kernels() {
        // sd √2, quartiles 0.5 and 1.5: the bandwidth is 0.9 · (1 / 1.34) · 2^(−1/5).
        let known = density([(0.0, 1.0), (2.0, 1.0)].into_iter(), 3).unwrap_or_default();
        let h: f64 = 0.9 * (1.0 / 1.34) * 2f64.powf(-0.2);
        let normal = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        assert!((known[1].1 - normal(1.0 / h) / h).abs() < 1e-12, "{known:?}");
        assert_eq!((known[0].0, known[2].0), (0.0, 2.0));
    }
}
