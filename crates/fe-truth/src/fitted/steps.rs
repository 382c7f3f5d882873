//! Effects of constants on boxes: curves that are constant between limits.
//!
//! Each effect is one pass through the boxes: of each the probability that the other features lie inside is
//! computed once, and added where the box begins and taken away where it ends.

use fe_core::interrupt;
use fe_core::model::Boxes;

use super::cells::{Cells, Side};
use super::given::SumsGiven;
use super::joint::{Given, Joint};
use super::sums::{StepCurve, Sums};
use crate::quantity::Truth;

/// A function that is constant on boxes, under a law.
pub(super) struct Steps<'a> {
    boxes: Box<dyn Boxes + 'a>,
    pub(super) joint: Joint,
}

impl<'a> Steps<'a> {
    pub(super) fn new(boxes: Box<dyn Boxes + 'a>, engine: &crate::engine::Engine) -> Self {
        let cells = |s| Cells { limits: boxes.limits(s) };
        let cells = (0..engine.law().dimension()).map(cells).collect();
        Self { boxes, joint: Joint::new(engine, cells) }
    }

    pub(super) fn cells(&self, feature: usize) -> &Cells {
        &self.joint.cells[feature]
    }

    /// Visits each box with its constant.
    pub(super) fn each(&self, mut visit: impl FnMut(&[Side], f64)) {
        const UNINTERRUPTED: usize = 1 << 14;
        let mut sides = Vec::new();
        let mut count = 0;
        self.boxes.each(&mut |intervals, constant| {
            count += 1;
            if count % UNINTERRUPTED == 0 {
                interrupt::check();
            }
            sides.clear();
            sides.extend(intervals.iter().filter_map(|of| {
                let cells = &self.joint.cells[of.feature];
                let [from, to] = cells.between(of.from, of.below);
                let side = Side { feature: of.feature, from, to };
                (to - from < cells.count()).then_some(side)
            }));
            visit(&sides, constant);
        });
    }

    /// The cells of a feature that a box has.
    pub(super) fn own(&self, feature: usize, sides: &[Side]) -> Side {
        let own = sides.iter().find(|side| side.feature == feature);
        own.copied().unwrap_or(Side { feature, from: 0, to: self.cells(feature).count() })
    }

    /// Partial dependence: each box counts with the probability of its other sides.
    pub(super) fn partial_dependence(&self, feature: usize) -> StepCurve {
        let mut sums = Sums::new(self.cells(feature).count());
        let mut related = Vec::new();
        self.each(|sides, constant| {
            let apart = self.joint.apart(sides, feature, &mut related);
            let rest = apart.times(self.joint.of_block(&related, None));
            let own = self.own(feature, sides);
            sums.add(own.from, own.to, rest.scaled(constant));
        });
        sums.curve()
    }

    /// For each of some values of a feature the mean of the function at each of its cells, the others as they are
    /// where the feature has that value.
    fn given_each(&self, feature: usize, values: &[f64]) -> Vec<StepCurve> {
        let given: Vec<Given> = values.iter().map(|&x| self.joint.given(feature, x)).collect();
        let mut sums: Vec<Sums> =
            values.iter().map(|_| Sums::new(self.cells(feature).count())).collect();
        let mut related = Vec::new();
        self.each(|sides, constant| {
            let apart = self.joint.apart(sides, feature, &mut related).scaled(constant);
            let own = self.own(feature, sides);
            for (sums, given) in sums.iter_mut().zip(&given) {
                let rest = self.joint.of_block(&related, Some(given));
                sums.add(own.from, own.to, apart.times(rest));
            }
        });
        sums.iter().map(Sums::curve).collect()
    }

    /// The marginal plot at some points of a feature, ascending.
    pub(super) fn marginal_plot(&self, feature: usize, points: &[f64]) -> Vec<Truth> {
        let mut sums = SumsGiven::new(&self.joint, feature, points);
        let mut related = Vec::new();
        self.each(|sides, constant| {
            let apart = self.joint.apart(sides, feature, &mut related).scaled(constant);
            sums.add(sums.inside(self.own(feature, sides)), &related, apart);
        });
        sums.at_each()
    }

    /// Accumulated local effects of a feature with a density, but for a constant: at each limit the mean jump of the
    /// function given that the feature is there.
    pub(super) fn accumulated(&self, feature: usize) -> StepCurve {
        if self.joint.is_alone(feature) {
            return self.partial_dependence(feature);
        }
        let (low, high) = self.joint.margin(feature).support();
        let limits = &self.cells(feature).limits;
        // No row is where the law has no density, and nothing accumulates there.
        let given = |&z: &f64| (low < z && z < high).then(|| self.joint.given(feature, z));
        let given: Vec<Option<Given>> = limits.iter().map(given).collect();
        let mut sums = Sums::new(self.cells(feature).count());
        let mut related = Vec::new();
        self.each(|sides, constant| {
            let own = self.own(feature, sides);
            let apart = self.joint.apart(sides, feature, &mut related).scaled(constant);
            for (place, sign) in [(own.from, 1.0), (own.to, -1.0)] {
                let limit = place.checked_sub(1).and_then(|k| given.get(k));
                if let Some(Some(given)) = limit {
                    let rest = self.joint.of_block(&related, Some(given));
                    sums.jump(place, apart.times(rest).scaled(sign));
                }
            }
        });
        sums.curve()
    }

    /// Sums of the mean changes from each level to the next in some order, over the rows of both.
    pub(super) fn accumulated_by_levels(&self, feature: usize, order: &[f64]) -> Vec<Truth> {
        let cells = self.cells(feature);
        let at = |curve: &StepCurve, x: f64| curve.in_cell(cells.of(x));
        let curves = match self.joint.is_alone(feature) {
            true => vec![self.partial_dependence(feature); order.len()],
            false => self.given_each(feature, order),
        };
        let probability = |x: f64| {
            self.joint.margin(feature).levels().map_or(0.0, |levels| levels.probability(x))
        };
        let mut sum = Truth::ZERO;
        let mut all = vec![sum];
        for (pair, curves) in order.windows(2).zip(curves.windows(2)) {
            let (from, to) = (pair[0], pair[1]);
            let weights = [from, to].map(probability);
            for (curve, weight) in curves.iter().zip(weights) {
                let change = at(curve, to).minus(at(curve, from));
                sum = sum.plus(change.times(weight / (weights[0] + weights[1])));
            }
            all.push(sum);
        }
        all
    }

    /// The mean of the function.
    pub(super) fn mean(&self) -> Truth {
        let mut sums = Sums::new(1);
        self.each(|sides, constant| sums.add(0, 1, self.joint.of_box(sides).scaled(constant)));
        sums.curve().in_cell(0)
    }
}
