//! Means over features of a block given others as sums over fixed places.
//!
//! Where the law of each feature given those before it is an integral itself, nested integrals would take it anew at each
//! point. A sum over places of all that is not known, each with the density of what is given, costs one product of these.
//! It is taken where a finer one agrees.

use super::nested::{HeldFeatures, NestedIntegral, Placed};
use crate::law::BreaksOf;
use crate::numeric::quadrature::Estimate;

/// Features without levels, hidden ones too, from which on means over some of them are sums over places.
const FEWEST: usize = 2;
/// Nodes between neighbouring points of each law, rule after rule, and those of a witness.
const RULES: [usize; 7] = [6, 9, 14, 21, 32, 48, 72];
const RULES_OF_WITNESS: [usize; 7] = [7, 11, 16, 24, 36, 54, 81];
/// Weight of a row, relative to that of all, that does not count.
const WEIGHTLESS: f64 = 1e-22;
/// Difference of two sums, relative to that of absolute values, up to which the finer one is the answer.
const AGREED: f64 = 3e-10;
/// Share of the difference of two sums that may be left between the finer one and the next.
const SLOWEST: f64 = 0.2;
/// Rounding of a weight: that of a density and of a sum of many.
const ROUNDING: f64 = 1e-14;

impl HeldFeatures<'_> {
    /// The features that are summed over places given what is held, once all others are brought before them; none where
    /// laws are known so that it need not be, or those of more than one block are not.
    pub(super) fn placed(&self, features: &mut [usize], given: &[usize]) -> Option<Placed> {
        let law = self.law();
        let of_block = |features: &[usize], own: usize| {
            let related = features.iter().copied().filter(|&feature| law.related(feature, own));
            related.collect::<Vec<usize>>()
        };
        let over = |own: usize| {
            let members = of_block(features, own);
            // One feature of which nothing is given has a law on its own.
            let is_alone = members.len() == 1 && of_block(given, own).is_empty();
            if is_alone { 0 } else { law.places_over(&members, given) }
        };
        let mut unknown = features.iter().copied().filter(|&feature| over(feature) > 0);
        let first = unknown.next()?;
        if unknown.any(|other| !law.related(other, first)) {
            return None;
        }
        let over = over(first);
        let (members, others): (Vec<usize>, Vec<usize>) =
            features.iter().partition(|&&feature| law.related(feature, first));
        let count = members.len();
        let moved = others.into_iter().chain(members);
        features.iter_mut().zip(moved).for_each(|(place, feature)| *place = feature);
        (over >= FEWEST).then_some(Placed { count, over })
    }
}

impl NestedIntegral<'_> {
    /// The mean over the features that are placed. None where sums do not agree.
    pub(super) fn over_places(
        &self,
        features: &[usize],
        given: &[(usize, f64)],
        row: &mut [f64],
    ) -> Option<Estimate> {
        let rules = if self.engine.is_witness() { RULES_OF_WITNESS } else { RULES };
        let start = row.to_vec();
        let breaks_of = |feature: usize, known: &[(usize, f64)]| {
            let mut row = start.clone();
            known.iter().for_each(|&(feature, x)| row[feature] = x);
            self.breaks(feature, &mut row)
        };
        let is_broken = self.terms.iter().any(|term| !term.breaks_at_fixed_places())
            || features.iter().any(|&feature| !self.breaks(feature, row).is_empty());
        let (mut last, mut apart): (Option<Estimate>, f64) = (None, f64::INFINITY);
        for rule in rules {
            let breaks = is_broken.then_some(&breaks_of as BreaksOf<'_>);
            let finer = self.sum_over(features, given, (rule, breaks), row)?;
            if let Some(coarse) = last {
                let off = (finer.value - coarse.value).abs();
                if off <= AGREED * finer.magnitude + self.floor {
                    let error = finer.error + off + ROUNDING * finer.magnitude;
                    return Some(Estimate { error, ..finer });
                }
                // Of a narrow law, or one with corners, not even the last rule would do.
                if off > SLOWEST * apart {
                    return None;
                }
                apart = off;
            }
            last = Some(finer);
        }
        None
    }

    /// None where there are too many places, or the integrand takes more evaluations than it may.
    fn sum_over(
        &self,
        features: &[usize],
        given: &[(usize, f64)],
        rule: (usize, Option<BreaksOf<'_>>),
        row: &mut [f64],
    ) -> Option<Estimate> {
        let (mut sum, mut weights) = (Estimate::default(), 0.0);
        // Weights are relative to the largest one so far.
        let mut top = f64::NEG_INFINITY;
        self.measure.law.visit_places(features, given, rule, &mut |ln_weight, values| {
            if ln_weight == f64::NEG_INFINITY || ln_weight.is_nan() {
                return (!ln_weight.is_nan()).then_some(());
            }
            if ln_weight > top {
                let factor = (top - ln_weight).exp();
                (sum, weights, top) = (sum.times(factor), weights * factor, ln_weight);
            }
            let weight = (ln_weight - top).exp();
            weights += weight;
            if weight < WEIGHTLESS {
                return Some(());
            }
            features.iter().zip(values).for_each(|(&feature, &x)| row[feature] = x);
            sum = sum.plus(self.at(row)?.times(weight));
            Some(())
        })?;
        features.iter().for_each(|&feature| row[feature] = f64::NAN);
        (weights > 0.0).then(|| sum.times(1.0 / weights))
    }
}
