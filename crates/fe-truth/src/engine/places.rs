//! Means over features of a block given others as sums over fixed places.
//!
//! Where the law of each feature given those before it is an integral itself, nested integrals would take it anew at each
//! point. A sum over places of all that is not known, each with the density of what is given, costs one product of these.
//! It is taken where a finer one agrees.

use super::nested::{HeldFeatures, NestedIntegral, Placed};
use crate::law::{BreaksOf, Placing, Weighed};
use crate::numeric::quadrature::Estimate;

/// Features without levels, hidden ones too, from which on means over some of them are sums over places.
const FEWEST: usize = 2;
/// Nodes between neighbouring points of each law, rule after rule, and those of a witness. No two in a row are odd: both
/// would have a node in the middle, where a narrow law might be.
const RULES: [usize; 7] = [6, 9, 14, 21, 32, 48, 72];
const RULES_OF_WITNESS: [usize; 7] = [7, 10, 15, 22, 33, 50, 75];
/// Weight of a row, relative to that of all, that does not count.
const WEIGHTLESS: f64 = 1e-40;
/// Difference of two sums, relative to that of absolute values, up to which the finer one is the answer.
const AGREED: f64 = 3e-10;
/// Share of the difference of two sums that may be left between the finer one and the next.
const SLOWEST: f64 = 0.2;
/// Last of the rules by which what is given must have been found.
const LAST_TO_FIND: usize = 3;
/// Largest difference of the logarithms of all weights: what is given has a density that both rules find.
const AGREED_IN_ALL: f64 = 1e-8;
/// Most of a sum beyond its ends, where it falls off, relative to what is at the last places before these: the weight of
/// such a place is no less a share of the piece it ends.
const BEYOND: f64 = 1000.0;
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

/// A mean over places, with what of it is at the last places before ends beyond which laws go on, and the logarithm of
/// the density of what is given.
#[derive(Clone, Copy)]
struct Sum {
    mean: Estimate,
    at_ends: f64,
    ln_total: f64,
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
        let (mut last, mut apart): (Option<Sum>, f64) = (None, f64::INFINITY);
        for (number, rule) in rules.into_iter().enumerate() {
            let breaks = is_broken.then_some(&breaks_of as BreaksOf<'_>);
            let finer = self.sum_over(Placing { targets: features, given, rule, breaks }, row)?;
            if let Some(coarse) = last {
                let off = (finer.mean.value - coarse.mean.value).abs();
                let is_found = (finer.ln_total - coarse.ln_total).abs() <= AGREED_IN_ALL;
                let mean = finer.mean;
                if is_found && off <= AGREED * mean.magnitude + self.floor {
                    let beyond = BEYOND * finer.at_ends + ROUNDING * mean.magnitude;
                    return Some(Estimate { error: mean.error + off + beyond, ..mean });
                }
                // Of a narrow law, or one with corners, not even the last rule would do.
                if if is_found { off > SLOWEST * apart } else { number > LAST_TO_FIND } {
                    return None;
                }
                apart = if is_found { off } else { f64::INFINITY };
            }
            last = Some(finer);
        }
        None
    }

    /// None where there are too many places, or the integrand takes more evaluations than it may.
    fn sum_over(&self, asked: Placing<'_>, row: &mut [f64]) -> Option<Sum> {
        let features = asked.targets;
        let (mut sum, mut weights, mut at_ends) = (Estimate::default(), 0.0, 0.0);
        // Weights are relative to the largest one so far.
        let mut top = f64::NEG_INFINITY;
        self.measure.law.visit_places(asked, &mut |weighed, values| {
            let Weighed { ln_weight, is_edge } = weighed;
            if ln_weight == f64::NEG_INFINITY || ln_weight.is_nan() {
                return (!ln_weight.is_nan()).then_some(());
            }
            if ln_weight > top {
                let factor = (top - ln_weight).exp();
                (sum, weights, top) = (sum.times(factor), weights * factor, ln_weight);
                at_ends *= factor;
            }
            let weight = (ln_weight - top).exp();
            weights += weight;
            if weight < WEIGHTLESS && !is_edge {
                return Some(());
            }
            features.iter().zip(values).for_each(|(&feature, &x)| row[feature] = x);
            let value = self.at(row)?.times(weight);
            if is_edge {
                at_ends += value.value.abs();
            }
            sum = sum.plus(value);
            Some(())
        })?;
        features.iter().for_each(|&feature| row[feature] = f64::NAN);
        (weights > 0.0).then(|| Sum {
            mean: sum.times(1.0 / weights),
            at_ends: at_ends / weights,
            ln_total: top + weights.ln(),
        })
    }
}
