//! Interventional Shapley values of constants on boxes, with the law of the features as background.
//!
//! A box is a game: a coalition Q is worth the product of how its members are inside and of the probability that
//! the others are. By independent blocks such worths are products, so that sums over coalitions of one size are
//! the coefficients of a product of polynomials, one for each block.

use super::cells::{Probability, Side};
use super::given::SumsGiven;
use super::joint::Joint;
use super::steps::Steps;
use super::sums::Sums;
use crate::error::Error;
use crate::quantity::{Quantity, Truth};

/// Probabilities that the members of a coalition are inside: those of the law, or 0 and 1 at a row.
enum Inside<'a> {
    /// Under the law of the features.
    Law,
    /// At a row, by the cells of its values.
    Row(&'a [usize]),
}

impl Inside<'_> {
    /// The probability that sides of one block are inside.
    fn of(&self, joint: &Joint, sides: &[Side]) -> Probability {
        match self {
            Self::Law => joint.of_block(sides, None),
            Self::Row(cells) => {
                let contains = |side: &Side| (side.from..side.to).contains(&cells[side.feature]);
                let is_inside = sides.iter().all(contains);
                Probability { value: f64::from(u8::from(is_inside)), ..Probability::ONE }
            }
        }
    }
}

/// Most sides of one block of which all coalitions are summed.
const MOST_RELATED: usize = 16;

/// Visits all coalitions of sides of one block: those inside, and those outside.
fn each_coalition(sides: &[Side], mut visit: impl FnMut(&[Side], &[Side])) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for members in 0..1_usize << sides.len() {
        inside.clear();
        outside.clear();
        for (place, side) in sides.iter().enumerate() {
            if members >> place & 1 == 1 { inside.push(*side) } else { outside.push(*side) }
        }
        visit(&inside, &outside);
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
    let (mut block, mut polynomial) = (Vec::new(), Vec::new());
    for (i, &side) in sides.iter().enumerate().filter(|(_, side)| counts(side)) {
        let is_tied = |other: &&Side| joint.are_related(other.feature, side.feature);
        if sides[..i].iter().any(|other| is_tied(&other)) {
            continue;
        }
        block.clear();
        block.extend(sides[i..].iter().filter(is_tied));
        polynomial.clear();
        if block.len() > MOST_RELATED {
            polynomial.push(UNKNOWN);
        } else {
            polynomial.resize(block.len() + 1, ZERO);
            each_coalition(&block, |within, outside| {
                let worth = joint.of_block(outside, None).times(inside.of(joint, within));
                polynomial[within.len()] = polynomial[within.len()].plus(worth);
            });
        }
        multiply(sums, &polynomial);
    }
}

const ZERO: Probability = Probability { value: 0.0, ..Probability::ONE };
const UNKNOWN: Probability = Probability { value: f64::NAN, ..Probability::ONE };

fn multiply(sums: &mut Vec<Probability>, polynomial: &[Probability]) {
    let before = std::mem::take(sums);
    sums.resize(before.len() + polynomial.len() - 1, ZERO);
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
    let mut total = ZERO;
    for k in 0..=others {
        if let Some(sum) = k.checked_sub(further).and_then(|place| sums.get(place)) {
            total = total.plus(sum.scaled(weight));
        }
        weight *= (k as f64 + 1.0) / (n - k as f64).max(1.0);
    }
    total
}

/// A box as a game of one of its features.
struct Game<'a> {
    joint: &'a Joint,
    own: Side,
    /// The sides of the features that depend on it.
    related: &'a [Side],
    /// Number of the other sides.
    others: usize,
    /// Sums of worths over the coalitions of sides that do not depend on the feature.
    sums: &'a [Probability],
}

impl Game<'_> {
    /// Visits each coalition of the features that depend on this one: its members, and the factors of the probability that
    /// they are inside, with the feature inside as well, and with it outside, summed over all other coalitions with the
    /// weights of a Shapley value.
    fn each(&self, mut visit: impl FnMut(&[Side], [Probability; 2])) {
        if self.related.len() >= MOST_RELATED {
            return visit(&[], [UNKNOWN; 2]);
        }
        let mut with_own = Vec::new();
        each_coalition(self.related, |members, outside| {
            let share = shared(self.sums, members.len(), self.others);
            with_own.clear();
            with_own.extend(outside.iter().chain([&self.own]));
            visit(members, [outside, &with_own].map(|o| share.times(self.joint.of_block(o, None))));
        });
    }
}

impl Steps<'_> {
    /// SHAP dependence of a feature at some points, ascending: the mean of its Shapley value given its value.
    pub(super) fn shap_dependence(&self, feature: usize, points: &[f64]) -> Vec<Truth> {
        let joint = &self.joint;
        let mut values = SumsGiven::new(joint, feature, points);
        let (mut sums, mut related) = (Vec::new(), Vec::new());
        self.each(|sides, constant| {
            let Some(&own) = sides.iter().find(|side| side.feature == feature) else { return };
            joint.related(sides, feature, &mut related);
            let counts = |side: &Side| !joint.are_related(side.feature, feature);
            worths(joint, sides, &Inside::Law, counts, &mut sums);
            let others = sides.len() - 1;
            let game = Game { joint, own, related: &related, others, sums: &sums };
            game.each(|members, [with, without]| {
                values.add(values.inside(own), members, with.scaled(constant));
                values.add(values.all(), members, without.scaled(-constant));
            });
        });
        values.at_each()
    }

    /// Refuses Shapley values of boxes with too many sides of one block.
    pub(super) fn check_coalitions(&self, effect: Quantity) -> Result<(), Error> {
        let mut most = 0;
        self.each(|sides, _| {
            let tied = |a: &Side| {
                sides.iter().filter(|b| self.joint.are_related(a.feature, b.feature)).count()
            };
            most = sides.iter().map(tied).fold(most, usize::max);
        });
        if effect != Quantity::Shap || most <= MOST_RELATED {
            return Ok(());
        }
        let reason = format!(
            "a leaf tests {most} features that depend on each other; at most {MOST_RELATED} are shared out among"
        );
        Err(Error::JointBoxes { effect: effect.name(), reason })
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
                let here = inside.of(joint, &[own]);
                let others = sides.len() - 1;
                let game = Game { joint, own, related: &related, others, sums: &sums };
                game.each(|members, [with, without]| {
                    let gain = here.times(with).minus(without);
                    let value = gain.times(inside.of(joint, members));
                    totals[own.feature].add(0, 1, value.scaled(constant));
                });
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
