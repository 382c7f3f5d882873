//! Squared error over replicates, split into bias and variance.

use serde::Serialize;

use super::Summary;
use crate::numeric::moments::Moments;

/// Moments of the errors of curves at each point, over replicates; merges like [`Moments`].
///
/// An error is estimate minus truth on the same point, both centred alike. Where the truth is the
/// same in every replicate, the variance of the error is that of the estimate.
///
/// ```
/// use fe_core::replicates::Decomposition;
/// let mut decomposition = Decomposition::new(2);
/// decomposition.add(&[Some(1.0), Some(0.0)]);
/// decomposition.add(&[Some(3.0), Some(0.0)]);
/// let parts = decomposition.parts().unwrap();
/// assert_eq!((parts.bias2, parts.variance, parts.mse), (2.0, 1.0, 2.5));
/// assert_eq!(parts.debiased_bias2 + parts.variance, parts.mse);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Decomposition {
    points: Vec<Moments>,
}

/// The parts of the mean squared error, each averaged over the points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorParts {
    /// Mean squared error: `debiased_bias2` + `variance`.
    pub mse: f64,
    /// Square of the mean error. Its expectation exceeds the squared bias by variance / R.
    pub bias2: f64,
    /// `bias2` minus variance / R: unbiased, and below 0 where the bias is lost in noise.
    pub debiased_bias2: f64,
    /// Variance over the replicates, ddof 1.
    pub variance: f64,
    /// `variance` / R: what `bias2` would be on average without any bias.
    pub noise_floor: f64,
}

impl ErrorParts {
    /// Names of the parts in files, in the order of [`ErrorParts::values`].
    pub const NAMES: [&str; 5] = ["mse", "bias2", "debiased_bias2", "variance", "noise_floor"];

    /// The parts in the order of [`ErrorParts::NAMES`].
    #[must_use]
    pub fn values(&self) -> [f64; 5] {
        [self.mse, self.bias2, self.debiased_bias2, self.variance, self.noise_floor]
    }
}

impl Decomposition {
    /// Of no replicate yet, on so many points.
    #[must_use]
    pub fn new(points: usize) -> Self {
        Self { points: vec![Moments::default(); points] }
    }

    /// Adds a replicate: its error at each point, none where it has no value.
    ///
    /// Points beyond those of [`Decomposition::new`] are left out.
    pub fn add(&mut self, errors: &[Option<f64>]) {
        for (point, error) in self.points.iter_mut().zip(errors) {
            if let Some(error) = error {
                *point = point.merge(Moments::single(*error, 1.0));
            }
        }
    }

    /// The replicates of both together.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let points = self.points.iter().zip(&other.points).map(|(a, b)| a.merge(*b)).collect();
        Self { points }
    }

    /// The parts, averaged over the points that at least two replicates have; none without one.
    #[must_use]
    pub fn parts(&self) -> Option<ErrorParts> {
        parts(self.points.iter().copied())
    }

    /// The parts at each point; none where fewer than two replicates have it.
    #[must_use]
    pub fn pointwise(&self) -> Vec<Option<ErrorParts>> {
        self.points.iter().map(|point| parts(std::iter::once(*point))).collect()
    }

    /// The parts without one of the replicates that were added.
    fn parts_without(&self, errors: &[Option<f64>]) -> Option<ErrorParts> {
        let rest = |(point, error): (&Moments, &Option<f64>)| match error {
            Some(error) => without(*point, *error),
            None => *point,
        };
        parts(self.points.iter().zip(errors).map(rest))
    }
}

fn parts(points: impl Iterator<Item = Moments>) -> Option<ErrorParts> {
    let (mut count, mut bias2, mut variance, mut lost) = (0.0, 0.0, 0.0, 0.0);
    for point in points {
        let Some(own) = point.variance(1.0) else { continue };
        count += 1.0;
        bias2 += point.mean * point.mean;
        variance += own;
        lost += own / point.weight;
    }
    (count > 0.0).then(|| ErrorParts {
        mse: (bias2 - lost + variance) / count,
        bias2: bias2 / count,
        debiased_bias2: (bias2 - lost) / count,
        variance: variance / count,
        noise_floor: lost / count,
    })
}

/// The moments without one of their values.
fn without(all: Moments, value: f64) -> Moments {
    let weight = all.weight - 1.0;
    if weight <= 0.0 {
        return Moments::default();
    }
    let deviation = value - all.mean;
    let squares = all.squares - deviation * deviation * all.weight / weight;
    Moments { weight, mean: all.mean - deviation / weight, squares: squares.max(0.0) }
}

/// The parts of the mean squared error of some replicates, each with its standard error, in the
/// order of [`ErrorParts::NAMES`]; none where fewer than two replicates share a point.
///
/// `replicates` holds the errors of each replicate at the same points. Standard errors are those of
/// the jackknife (Efron 1979): the parts are recomputed without each replicate in turn. They need
/// three replicates.
#[must_use]
pub fn decompose(replicates: &[Vec<Option<f64>>]) -> Option<[Summary; 5]> {
    let mut all = Decomposition::new(replicates.iter().map(Vec::len).max()?);
    for replicate in replicates {
        all.add(replicate);
    }
    let values = all.parts()?.values();
    let left_out = replicates.iter().map(|r| Some(all.parts_without(r)?.values()));
    Some(jackknifed(values, &left_out.collect::<Vec<_>>()))
}

/// Values with their standard errors by the jackknife, from what they are without each replicate in
/// turn.
pub(super) fn jackknifed<const K: usize>(
    values: [f64; K],
    without: &[Option<[f64; K]>],
) -> [Summary; K] {
    let count = without.len();
    let without: Option<Vec<[f64; K]>> = without.iter().copied().collect();
    std::array::from_fn(|part| {
        let error = without.as_ref().map(|without| {
            let values: Vec<f64> = without.iter().map(|values| values[part]).collect();
            let scale = (count - 1) as f64 / count as f64;
            (scale * Moments::of(&values).squares).sqrt()
        });
        Summary::with_error(count, Some(values[part]), error)
    })
}
