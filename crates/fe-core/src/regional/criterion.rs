//! The criterion of a tree: what it must know about local effects, whichever estimator they come from.

use crate::effect::Effect;
use crate::error::Result;
use crate::estimator::derivatives::Derivatives;
use crate::interrupt;
use crate::model::magnitude::{MagnitudeProbe, ROUNDING};
use crate::numeric::moments::Moments;
use crate::numeric::parallel::of_each;

use super::candidates::Candidates;

/// The local effects of all instances on one output, evaluated already.
///
/// A further method is a further implementation.
pub(super) trait Criterion: Sync {
    /// A summary of a set of instances; enough for their heterogeneity.
    type Summary: Clone + Send + Sync;

    /// The rows that count: those with positive weight and, for bins, on the axis.
    fn rows(&self) -> &[usize];

    /// Summary of some of those rows, possibly none.
    fn summarise(&self, rows: &[usize]) -> Self::Summary;

    /// For the candidates of each feature the summaries of those of the rows that are in each group.
    fn summarise_groups(
        &self,
        rows: &[usize],
        candidates: &[Candidates],
    ) -> Vec<Vec<Self::Summary>> {
        let of_feature = |candidates: &Candidates| {
            interrupt::check();
            let mut members = vec![Vec::new(); candidates.groups()];
            for &row in rows {
                members[candidates.group_of(row)].push(row);
            }
            members.iter().map(|rows| self.summarise(rows)).collect()
        };
        of_each(candidates, &of_feature)
    }

    /// Summary of two disjoint sets together.
    fn merge(&self, a: &Self::Summary, b: &Self::Summary) -> Self::Summary;

    /// The heterogeneity that a split is to lower; none where it is undefined.
    fn heterogeneity(&self, summary: &Self::Summary) -> Result<Option<f64>>;

    /// The heterogeneity that rounding alone could cause.
    fn floor(&self) -> f64;

    /// The effect of some of the rows alone.
    fn effect(&self, rows: &[usize]) -> Result<Effect>;
}

/// The error of a derivative that rounding could cause.
pub(super) fn noise_of_derivative(
    derivatives: Derivatives,
    probe: &MagnitudeProbe<'_>,
    output: usize,
) -> f64 {
    match derivatives {
        Derivatives::OfModel => ROUNDING * probe.partial(output),
        Derivatives::Numeric { step, .. } => noise_of_difference(step, probe, output),
    }
}

/// The error of a difference quotient over `width` that rounding could cause.
pub(super) fn noise_of_difference(width: f64, probe: &MagnitudeProbe<'_>, output: usize) -> f64 {
    noise_of_value(probe, output) / width
}

/// The error of a value that rounding could cause.
pub(super) fn noise_of_value(probe: &MagnitudeProbe<'_>, output: usize) -> f64 {
    ROUNDING * probe.value(output)
}

/// Merges moments slot by slot.
pub(super) fn merged(a: &[Moments], b: &[Moments]) -> Vec<Moments> {
    a.iter().zip(b).map(|(a, b)| a.merge(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Column, FunctionModel, Model, Rows};

    /// Values as large as 3, and derivatives as large as 5.
    #[test]
    fn rounding_is_that_of_what_was_asked() {
        let model = FunctionModel::new(1, |_| -3.0).with_partial(|_, _| 5.0);
        let probe = MagnitudeProbe::new(&model);
        let rows = Rows::new(&[Column::Constant(0.0)], 1);
        Model::predict(&probe, &rows, &mut [0.0]).unwrap();
        Model::partial(&probe, 0, &rows, &mut [0.0]).unwrap();
        assert_eq!(noise_of_derivative(Derivatives::OfModel, &probe, 0), 5.0 * ROUNDING);
        assert_eq!(noise_of_difference(0.5, &probe, 0), 6.0 * ROUNDING);
    }
}
