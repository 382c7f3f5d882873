//! Effects of two features of constants on boxes, under a law.

use super::cells::{Probability, Side, Total};
use super::steps::Steps;
use super::{FittedEffects, check_effect};
use crate::error::Error;
use crate::quantity::{Centring, Evaluation, Quantity, Truth};
use crate::truth::PairEffect;

impl crate::scenario::Scenario {
    /// Refuses an effect of two features of sums of trees that could not be computed under this law, whichever features
    /// the trees test.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::NotOfTrees`], [`Error::JointBoxes`].
    ///
    /// ```
    /// use fe_truth::Quantity;
    /// let scenario = fe_truth::scenario("friedman1-copula", &[])?;
    /// assert!(scenario.check_trees_of_pair(Quantity::Pd, [0, 1]).is_ok());
    /// assert!(scenario.check_trees_of_pair(Quantity::Ale, [0, 1]).is_err());
    /// # Ok::<(), fe_truth::Error>(())
    /// ```
    pub fn check_trees_of_pair(&self, effect: Quantity, pair: [usize; 2]) -> Result<(), Error> {
        for feature in pair {
            self.check_trees(effect, feature)?;
        }
        if !matches!(effect, Quantity::Pd | Quantity::Ale) {
            return Err(Error::NotOfTrees { effect: effect.name() });
        }
        let law = self.parts.engine.law();
        let tied =
            |&other: &usize| !pair.contains(&other) && pair.iter().any(|&s| law.related(s, other));
        match (0..self.dimension()).find(tied).filter(|_| effect == Quantity::Ale) {
            None => Ok(()),
            Some(other) => {
                let [a, b, c] = [pair[0], pair[1], other].map(|s| self.feature_name(s));
                let reason = format!(
                    "of {a} and {b} it is told where no other feature depends on them, and {c} does"
                );
                Err(Error::JointBoxes { effect: effect.name(), reason })
            }
        }
    }
}

impl FittedEffects<'_> {
    /// The effect of two features at all pairs of points, the first feature's outside: as [`Scenario::surface`] of f.
    ///
    /// # Errors
    /// As [`Scenario::surface`]; of a function with boxes [`Error::NotOfTrees`] and [`Error::JointBoxes`].
    ///
    /// ```
    /// use fe_core::model::{SmoothTerm, TermSum};
    /// use fe_truth::{Centring, PairEffect, Quantity};
    /// let scenario = fe_truth::scenario("poly3", &[])?;
    /// let model = TermSum::new(3, 1.0).with_term(SmoothTerm::linear(2.0, 0));
    /// let axes = [scenario.axis(0), scenario.axis(1)];
    /// let asked = PairEffect {
    ///     effect: Quantity::Pd, features: [0, 1], axes, centring: Centring::None, interaction: false,
    /// };
    /// let pd = scenario.effects_of(model)?.surface(&asked, [&[0.5], &[-1.0, 1.0]])?;
    /// assert!(pd.iter().all(|pd| (pd.value - 2.0).abs() < 1e-12));
    /// # Ok::<(), fe_truth::Error>(())
    /// ```
    ///
    /// [`Scenario::surface`]: crate::Scenario::surface
    pub fn surface(&self, asked: &PairEffect, points: [&[f64]; 2]) -> Result<Vec<Truth>, Error> {
        let scenario = &self.scenario;
        scenario.check_pair(asked, points)?;
        let mut sum = vec![Truth::ZERO; points[0].len() * points[1].len()];
        if let Some(smooth) = &self.smooth {
            sum = smooth.surface(asked, points)?;
        }
        if let Some(steps) = &self.steps {
            scenario.check_trees_of_pair(asked.effect, asked.features)?;
            let own = self.steps_of_pair(steps, asked, points)?;
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.plus(own));
        }
        if asked.centring == Centring::None {
            sum.iter_mut().for_each(|sum| sum.value += self.constant);
        }
        self.told(asked.effect, asked.features[0], &sum)?;
        Ok(sum)
    }

    fn steps_of_pair(
        &self,
        steps: &Steps<'_>,
        asked: &PairEffect,
        points: [&[f64]; 2],
    ) -> Result<Vec<Truth>, Error> {
        let PairEffect { effect, features, axes, centring, interaction } = *asked;
        check_effect(effect)?;
        let constant = match centring {
            Centring::None => Truth::ZERO,
            Centring::Start => {
                steps.of_pair(features, axes.map(|(lo, _)| [lo]).each_ref().map(|lo| &lo[..]))[0]
            }
            Centring::Data => steps.mean_of_pair(features, |sides| steps.joint.of_box(sides)),
            Centring::Integral => steps.mean_of_pair(features, |sides| {
                sides.iter().fold(Probability::ONE, |product, &side| {
                    let (lo, hi) = axes[usize::from(side.feature == features[1])];
                    product.scaled(steps.length(side, (lo, hi)) / (hi - lo))
                })
            }),
        };
        let mut values = steps.of_pair(features, points);
        values.iter_mut().for_each(|value| *value = value.minus(constant));
        if effect == Quantity::Pd && !interaction {
            return Ok(values);
        }
        let first = |side: usize| {
            let of = super::OfSteps { effects: self, steps, effect, feature: features[side] };
            of.centred(points[side], axes[side], centring)
        };
        let [a, b] = [first(0)?, first(1)?];
        let lowered = values.iter().enumerate().map(|(place, value)| {
            value.minus(a[place / points[1].len()]).minus(b[place % points[1].len()])
        });
        Ok(lowered.collect())
    }
}

impl Steps<'_> {
    /// Visits each box: its sides of two features, and its constant times the probability of its other sides.
    fn each_of_pair(&self, features: [usize; 2], mut visit: impl FnMut(&[Side], Probability)) {
        let (mut own, mut rest) = (Vec::new(), Vec::new());
        self.each(|sides, constant| {
            own.clear();
            rest.clear();
            for side in sides {
                if features.contains(&side.feature) { own.push(*side) } else { rest.push(*side) }
            }
            visit(&own, self.joint.of_box(&rest).scaled(constant));
        });
    }

    /// The mean over all other features at all pairs of points of two, the first one's outside.
    fn of_pair(&self, features: [usize; 2], points: [&[f64]; 2]) -> Vec<Truth> {
        // In the order of the cells, so that a box has neighbours.
        let order = [0, 1].map(|side| {
            let mut order: Vec<usize> = (0..points[side].len()).collect();
            order.sort_by(|&a, &b| points[side][a].total_cmp(&points[side][b]));
            order
        });
        let places = [0, 1].map(|side: usize| {
            let cells = self.cells(features[side]);
            order[side].iter().map(|&i| cells.of(points[side][i])).collect::<Vec<usize>>()
        });
        let width = points[1].len() + 1;
        let mut changes = vec![Total::default(); (points[0].len() + 1) * width];
        let (mut error, mut method) = (0.0, Evaluation::Closed);
        self.each_of_pair(features, |sides, number| {
            let range = |side: usize| {
                let own = self.own(features[side], sides);
                [own.from, own.to].map(|cell| places[side].partition_point(|place| *place < cell))
            };
            let [first, second] = [range(0), range(1)];
            for (i, sign) in first.into_iter().zip([1.0, -1.0]) {
                changes[i * width + second[0]].add(sign * number.value);
                changes[i * width + second[1]].add(-sign * number.value);
            }
            error += number.error + 8.0 * f64::EPSILON * number.value.abs();
            method = method.max(number.method);
        });
        let mut values = vec![Truth::ZERO; points[0].len() * points[1].len()];
        let mut above = vec![Total::default(); width];
        for (i, changes) in order[0].iter().zip(changes.chunks_exact(width)) {
            above.iter_mut().zip(changes).for_each(|(sum, change)| sum.add(change.value()));
            let mut sum = Total::default();
            for (k, change) in order[1].iter().zip(&above) {
                sum.add(change.value());
                let value = Truth { value: sum.value(), abs_error: error, method };
                values[i * points[1].len() + k] = value;
            }
        }
        values
    }

    /// The mean over all other features, averaged over the two: with the weight of each box's sides of these.
    fn mean_of_pair(&self, features: [usize; 2], weight: impl Fn(&[Side]) -> Probability) -> Truth {
        let mut sums = super::sums::Sums::new(1);
        self.each_of_pair(features, |sides, number| sums.add(0, 1, number.times(weight(sides))));
        sums.curve().in_cell(0)
    }

    /// Length of a side within an axis.
    fn length(&self, side: Side, (lo, hi): (f64, f64)) -> f64 {
        let cells = self.cells(side.feature);
        let (from, to) = (cells.ends(side.from).0.max(lo), cells.ends(side.to - 1).1.min(hi));
        (to - from).max(0.0)
    }
}
