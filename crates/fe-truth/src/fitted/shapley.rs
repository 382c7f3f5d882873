//! Interventional Shapley values of constants on boxes, with the law of the features as background.
//!
//! A box is a game: a coalition Q is worth the product of how its members are inside and of the probability that
//! the others are. By independent blocks such worths are products, so that sums over coalitions of one size are
//! the coefficients of a product of polynomials, one for each block.

use super::cells::{Probability, Side};
use super::joint::Joint;
use super::steps::{Steps, Sums};
use crate::quantity::Truth;

/// Probabilities that the members of a coalition are inside: those of the law, or 0 and 1 at a row.
enum Inside<'a> {
    /// Under the law of the features.
    Law,
    /// At a row, by the cells of its values.
    Row(&'a [usize]),
}

impl Inside<'_> {
    fn of(&self, joint: &Joint, side: Side) -> Probability {
        match self {
            Self::Law => joint.table(side.feature).of(side),
            Self::Row(cells) => {
                let is_inside = (side.from..side.to).contains(&cells[side.feature]);
                Probability { value: f64::from(u8::from(is_inside)), ..Probability::ONE }
            }
        }
    }

    fn of_both(&self, joint: &Joint, [a, b]: [Side; 2]) -> Probability {
        match self {
            Self::Law => joint.of_block(&[a, b], None),
            Self::Row(_) => self.of(joint, a).times(self.of(joint, b)),
        }
    }
}

/// Sums of worths over the coalitions of each size, of the sides that count.
fn worths(
    joint: &Joint,
    sides: &[Side],
    inside: &Inside<'_>,
    counts: impl Fn(&Side) -> bool,
    sums: &mut Vec<Probability>,
) {
    sums.clear();
    sums.push(Probability::ONE);
    for (i, &side) in sides.iter().enumerate().filter(|(_, side)| counts(side)) {
        let mut partners = sides
            .iter()
            .enumerate()
            .filter(|(_, other)| counts(other))
            .filter(|(j, other)| *j != i && joint.are_related(other.feature, side.feature));
        let polynomial: &[Probability] = match (partners.next(), partners.next()) {
            (None, _) => &[joint.table(side.feature).of(side), inside.of(joint, side)],
            (Some((j, _)), None) if j < i => continue,
            (Some((_, &other)), None) => {
                let [p, q] = [side, other].map(|side| joint.table(side.feature).of(side));
                let [a, b] = [side, other].map(|side| inside.of(joint, side));
                let one = a.times(q).plus(b.times(p));
                &[joint.of_block(&[side, other], None), one, inside.of_both(joint, [side, other])]
            }
            _ => &[Probability { value: f64::NAN, ..Probability::ONE }],
        };
        multiply(sums, polynomial);
    }
}

fn multiply(sums: &mut Vec<Probability>, polynomial: &[Probability]) {
    let zero = Probability { value: 0.0, ..Probability::ONE };
    let before = std::mem::take(sums);
    sums.resize(before.len() + polynomial.len() - 1, zero);
    for (i, sum) in before.iter().enumerate() {
        for (j, factor) in polynomial.iter().enumerate() {
            sums[i + j] = sums[i + j].plus(sum.times(*factor));
        }
    }
}

/// The sum over coalitions of n others, `further` more than the members known, with the weights of a Shapley value:
/// k! (n − k)! / (n + 1)! for k members.
fn shared(sums: &[Probability], further: usize, others: usize) -> Probability {
    let n = others as f64;
    // 1 / ((n + 1) C(n, k)).
    let mut weight = 1.0 / (n + 1.0);
    let mut total = Probability { value: 0.0, ..Probability::ONE };
    for k in 0..=others {
        if let Some(sum) = k.checked_sub(further).and_then(|place| sums.get(place)) {
            total = total.plus(sum.scaled(weight));
        }
        weight *= (k as f64 + 1.0) / (n - k as f64).max(1.0);
    }
    total
}

impl Steps<'_> {
    /// SHAP dependence of a feature at some points: the mean of its Shapley value given its value.
    pub(super) fn shap_dependence(&self, feature: usize, points: &[f64]) -> Vec<Truth> {
        let joint = &self.joint;
        let cells = self.cells(feature);
        let is_alone = joint.is_alone(feature);
        let given = points.iter().filter(|_| !is_alone).map(|&x| joint.given(feature, x));
        let given: Vec<_> = given.collect();
        let mut steps = Sums::new(cells.count());
        let mut own_sums: Vec<Sums> = given.iter().map(|_| Sums::new(1)).collect();
        let places: Vec<usize> = points.iter().map(|&x| cells.of(x)).collect();
        let (mut sums, mut related) = (Vec::new(), Vec::new());
        self.each(|sides, constant| {
            let Some(&own) = sides.iter().find(|side| side.feature == feature) else { return };
            joint.related(sides, feature, &mut related);
            let counts = |side: &Side| !joint.are_related(side.feature, feature);
            worths(joint, sides, &Inside::Law, counts, &mut sums);
            let shares = shared(&sums, 0, sides.len() - 1).scaled(constant);
            let share = joint.table(feature).of(own);
            let Some(&other) = related.first() else {
                steps.add(own.from, own.to, shares);
                steps.add(0, cells.count(), shares.times(share).scaled(-1.0));
                return;
            };
            if related.len() > 1 {
                steps.jump(0, Probability { value: f64::NAN, ..Probability::ONE });
                return;
            }
            // The other one outside the coalition has its own law, inside it that given the feature.
            steps.add(own.from, own.to, shares.times(joint.table(other.feature).of(other)));
            let both = joint.of_block(&[own, other], None);
            steps.add(0, cells.count(), shares.times(both).scaled(-1.0));
            // Under the law coalitions of the others are worth as much as the rest of them are, so that with the other one
            // inside their sum is the same.
            for ((given, sums), place) in given.iter().zip(&mut own_sums).zip(&places) {
                let inside = shares.times(joint.of_block(&related, Some(given)));
                if (own.from..own.to).contains(place) {
                    sums.add(0, 1, inside);
                }
                sums.add(0, 1, inside.times(share).scaled(-1.0));
            }
        });
        let steps = steps.curve();
        let at = |(i, place): (usize, &usize)| {
            let smooth = own_sums.get(i).map_or(Truth::ZERO, |sums| sums.curve().in_cell(0));
            steps.in_cell(*place).plus(smooth)
        };
        places.iter().enumerate().map(at).collect()
    }

    /// The Shapley value of each feature at a row.
    pub(super) fn shapley_values(&self, row: &[f64]) -> Vec<Truth> {
        let joint = &self.joint;
        let places: Vec<usize> =
            row.iter().zip(&joint.cells).map(|(&x, cells)| cells.of(x)).collect();
        let inside = Inside::Row(&places);
        let mut totals: Vec<Sums> = row.iter().map(|_| Sums::new(1)).collect();
        let (mut sums, mut related) = (Vec::new(), Vec::new());
        self.each(|sides, constant| {
            for &own in sides {
                joint.related(sides, own.feature, &mut related);
                let counts = |side: &Side| !joint.are_related(side.feature, own.feature);
                worths(joint, sides, &inside, counts, &mut sums);
                let here = inside.of(joint, own);
                let share = joint.table(own.feature).of(own);
                let n = sides.len() - 1;
                let without = shared(&sums, 0, n);
                let value = match related[..] {
                    [] => without.times(here.minus(share)),
                    [other] => {
                        let of_other = joint.table(other.feature).of(other);
                        let both = joint.of_block(&[own, other], None);
                        let with = shared(&sums, 1, n).times(inside.of(joint, other));
                        let outside = without.times(here.times(of_other).minus(both));
                        outside.plus(with.times(here.minus(share)))
                    }
                    _ => Probability { value: f64::NAN, ..Probability::ONE },
                };
                totals[own.feature].add(0, 1, value.scaled(constant));
            }
        });
        totals.iter().map(|sums| sums.curve().in_cell(0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of n others there are C(n, k) coalitions of k, and all weights add up to 1.
    #[test]
    fn weights_of_coalitions_add_up() {
        let one = |value: f64| Probability { value, ..Probability::ONE };
        for n in 0..6_usize {
            let ways = (0..=n).map(|k| (1..=k).fold(1.0, |c, i| c * (n + 1 - i) as f64 / i as f64));
            let sums: Vec<Probability> = ways.map(one).collect();
            assert!((shared(&sums, 0, n).value - 1.0).abs() < 1e-15, "{n}");
        }
        // 2! 1! / 4! of the coalitions of two among three.
        let sums = [0.0, 1.0].map(one);
        assert!((shared(&sums, 1, 3).value - 2.0 / 24.0).abs() < 1e-16);
    }
}
