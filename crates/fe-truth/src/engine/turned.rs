//! Variances of what a feature does to a term that two angles enter by their difference alone, with one other feature.
//!
//! The function less its mean over the feature, f(x, y, t) − g(y, t), varies over the other feature y and the difference t.
//! With t outermost the nodes of t are the same at each x: at each of them g is a curve along y, made once for all x, so
//! that nothing is integrated inside of an integral over both. The mean over an axis gives the variance of centred curves.
//! That over the law gives those of Shapley values: one angle alone tells nothing of t, so that of all sets of features
//! those with either of them are as without. Of a region that cuts angles the difference has a density of its own, and one of them
//! tells of it: centred curves alone are integrated so.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, PoisonError};

use super::decomposed::weight;
use super::nested::{HeldFeatures, about};
use super::watch::{is_spent, uncounted, within_budget};
use super::{Engine, LocalQuantity, Measure, Rest};
use crate::function::Term;
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::{Estimate, integrate_between_cusps, within};

/// Evaluations that a variance at a point may take, those of curves that are made once not counted.
const MOST_OF_TURNED: f64 = 2e7;

/// Evaluations that one of these may take.
const MOST_OF_A_CURVE: f64 = 2e6;

/// Error of a panel of the angle that is accepted, relative to the integral of the magnitude.
const TOLERANCE: f64 = 1e-12;

/// An integral that takes too many evaluations.
const UNKNOWN: Estimate =
    Estimate { value: f64::NAN, magnitude: f64::NAN, error: f64::NAN, simulated: false };

/// Error of a panel of the other feature that is accepted, relative to the size of the term or its square: where distances
/// are short their rounding is large.
const FLOOR: f64 = 1e-13;

/// A term, the feature that it is averaged over, the ends of an axis of that or none for its law, and the difference of the
/// angles.
type Key = (usize, usize, Option<[u64; 2]>, u64);

/// Means of terms over a feature as curves along another one, by the difference of the angles; none where one takes too many
/// evaluations.
#[derive(Default)]
pub(crate) struct TurnedMeans(Mutex<HashMap<Key, Option<Arc<Curve>>>>);

impl TurnedMeans {
    /// Most curves that are kept.
    const MOST: usize = 1000;

    fn of(&self, key: Key, resolve: impl FnOnce() -> Option<Curve>) -> Option<Arc<Curve>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let curve = resolve().map(Arc::new);
        let mut kept = lock();
        if kept.len() >= Self::MOST {
            kept.clear();
        }
        kept.insert(key, curve.clone());
        curve
    }
}

impl Engine {
    /// The variance of a local quantity of a term given a value of a feature: of its Shapley value, or of the term less its
    /// mean over an axis. None of a term of more or fewer features than two and two angles, or where it takes too many
    /// evaluations.
    pub(super) fn variance_of_turned(
        &self,
        index: usize,
        (s, x): (usize, f64),
        local: LocalQuantity,
        mean: Estimate,
    ) -> Option<Estimate> {
        let angles = self.terms[index].angles()?;
        if matches!(local, LocalQuantity::Shapley(_)) && !self.are_whole_turns(angles) {
            return None;
        }
        if angles.contains(&s) {
            let is_asked = matches!(local, LocalQuantity::Shapley(feature) if feature == s);
            let pair = self.turned_pair(index).filter(|_| is_asked)?;
            return self.known_turned(|| self.shapley_variance_of_angle((s, x), &pair));
        }
        let turned = Turned::of(self, index, s)?;
        match local {
            LocalQuantity::Centred { feature, axis } if feature == s => {
                self.known_turned(|| turned.variance(x, Some(axis), mean))
            }
            LocalQuantity::Shapley(feature) if feature == s && turned.is_whole() => {
                self.known_turned(|| turned.shapley_variance(x, mean))
            }
            _ => None,
        }
    }

    /// An integral within the most evaluations that one of these may take.
    fn known_turned(&self, make: impl FnOnce() -> Estimate) -> Option<Estimate> {
        if self.watch.is_some() {
            return self.within_most(MOST_OF_TURNED, make);
        }
        within_budget(MOST_OF_TURNED, make).filter(|made| made.value.is_finite())
    }

    /// True if no region cuts either of two angles: then one of them alone tells nothing of their difference.
    fn are_whole_turns(&self, angles: [usize; 2]) -> bool {
        angles.iter().all(|&angle| self.law().is_as_declared(angle))
    }

    /// A term of two features and two angles, seen from either of the features.
    fn turned_pair(&self, index: usize) -> Option<[Turned<'_>; 2]> {
        let seen = self.terms[index].features().iter().filter_map(|&s| Turned::of(self, index, s));
        let seen = seen.filter(Turned::is_whole);
        <[Turned<'_>; 2]>::try_from(seen.collect::<Vec<_>>()).ok()
    }

    /// The variance of the Shapley value of an angle, which tells nothing but with the other one: of components of both, with
    /// either of the other features, and with both.
    fn shapley_variance_of_angle(&self, (s, x): (usize, f64), pair: &[Turned<'_>; 2]) -> Estimate {
        let [first, second] = pair;
        let index = first.index;
        let whole_turn = LocalQuantity::Centred { feature: s, axis: (0.0, TAU) };
        let of_all = self.at(s, x, Rest::Marginal).moments(&[index], whole_turn).variance;
        if of_all.simulated {
            return of_all;
        }
        let mean = self.mean_of_term(index);
        let of_turn = about(mean, |_| {
            let given = |t: f64| first.over_other(t, FLOOR * mean.magnitude, &|value, _| value);
            first.over_angle(|t| given(t).squared_from(mean.value))
        });
        let with_one = |turned: &Turned<'_>| {
            let beyond = |value: Estimate, row: &mut [f64]| {
                value.minus(self.worth_of(index, &[turned.other], row)).squared_from(0.0)
            };
            let floor = FLOOR * mean.magnitude * mean.magnitude;
            turned.over_angle(|t| turned.over_other(t, floor, &beyond))
        };
        let of_one = with_one(first).plus(with_one(second));
        let parts = [(of_turn, weight(2, 1)), (of_one, weight(1, 2)), (of_all, weight(0, 3))];
        Estimate::sum(parts.map(|(variance, weight)| variance.times(weight)))
    }
}

/// A term of a feature of interest, one other and two angles.
struct Turned<'a> {
    engine: &'a Engine,
    index: usize,
    term: &'a Term,
    s: usize,
    other: usize,
    angles: [usize; 2],
}

impl<'a> Turned<'a> {
    fn of(engine: &'a Engine, index: usize, s: usize) -> Option<Self> {
        let term = &engine.terms[index];
        let angles = term.angles().filter(|angles| !angles.contains(&s))?;
        let beside = |&&feature: &&usize| feature != s && !angles.contains(&feature);
        let others: Vec<usize> = term.features().iter().filter(beside).copied().collect();
        let &[other] = others.as_slice() else { return None };
        // A scenario with closed forms has none in a region.
        let is_plain = (engine.watch.is_some() || engine.law().is_restricted())
            && !engine.is_witness()
            && engine.are_unrelated(term.features())
            && !engine.has_levels(other)
            && term.factors().is_empty();
        is_plain.then_some(Self { engine, index, term, s, other, angles })
    }

    /// True if the law of the rows is that of the background, which Shapley values are told by.
    fn is_whole(&self) -> bool {
        self.engine.are_independent(self.term.features())
    }

    /// The law that means are taken over: that of the rows, or the background.
    fn measure(&self, axis: Option<(f64, f64)>) -> &'a Measure {
        if axis.is_some() { &self.engine.measure } else { &self.engine.whole }
    }

    /// The variance of the term less its mean over an axis, or over the law, which has a mean itself.
    fn variance(&self, x: f64, axis: Option<(f64, f64)>, mean: Estimate) -> Estimate {
        let square = |value: Estimate| value.squared_from(mean.value);
        let floor = FLOOR * mean.magnitude * mean.magnitude;
        about(mean, |_| self.over_angle(|t| self.given_angle((x, t), axis, floor, &square)))
    }

    /// Components of other sets of features than these three have the variance 0, with one of the angles in them.
    fn shapley_variance(&self, x: f64, mean: Estimate) -> Estimate {
        let of_other = self.variance_of_other(x, mean);
        let of_angle = about(mean, |_| {
            let floor = FLOOR * mean.magnitude;
            let given = |t: f64| self.given_angle((x, t), None, floor, &|value| value);
            self.over_angle(|t| given(t).squared_from(mean.value))
        });
        let of_all = self.variance(x, None, mean);
        // The other feature alone, and with either of the angles, which adds nothing.
        let [alone, with_angle, both, all] =
            [weight(2, 1), 2.0 * weight(1, 2), weight(1, 2), weight(0, 3)];
        let parts = [of_other.times(alone + with_angle), of_angle.times(both), of_all.times(all)];
        Estimate::sum(parts)
    }

    /// The variance of what the feature adds to the mean of the term given the other one.
    fn variance_of_other(&self, x: f64, mean: Estimate) -> Estimate {
        let held =
            HeldFeatures::new(self.engine, &self.engine.whole, [(self.s, x)], Rest::Marginal);
        let integrand = |row: &mut [f64]| {
            let [with, without] = [&[self.s, self.other][..], &[self.other]]
                .map(|inside| self.engine.worth_of(self.index, inside, row));
            with.minus(without).squared_from(mean.value)
        };
        about(mean, |floor| {
            let local = self.centred(None);
            held.expectation(&[self.other], &[self.term], local, floor, &integrand)
        })
    }

    /// The mean over the other feature of a function of what the term is beyond its mean over an axis, or over the law,
    /// given the difference of the angles.
    fn given_angle(
        &self,
        (x, t): (f64, f64),
        axis: Option<(f64, f64)>,
        floor: f64,
        of: &dyn Fn(Estimate) -> Estimate,
    ) -> Estimate {
        let Some(curve) = self.mean_given_angle(t, axis) else { return UNKNOWN };
        let integrand =
            |row: &mut [f64]| of(self.term.estimate(row).minus(self.read(&curve, axis, row)));
        self.given(&[(self.s, x)], t, axis, floor, &integrand)
    }

    /// The mean over the other feature of a function of the mean of the term over the law, and of the row, given the
    /// difference of the angles.
    fn over_other(
        &self,
        t: f64,
        floor: f64,
        of: &dyn Fn(Estimate, &mut [f64]) -> Estimate,
    ) -> Estimate {
        let Some(curve) = self.mean_given_angle(t, None) else { return UNKNOWN };
        let integrand = |row: &mut [f64]| of(self.read(&curve, None, row), row);
        self.given(&[], t, None, floor, &integrand)
    }

    /// The mean over the other feature given the difference of the angles, and what else is held.
    fn given(
        &self,
        held: &[(usize, f64)],
        t: f64,
        axis: Option<(f64, f64)>,
        floor: f64,
        integrand: &dyn Fn(&mut [f64]) -> Estimate,
    ) -> Estimate {
        let [first, second] = self.angles;
        let held = held.iter().copied().chain([(first, t), (second, 0.0)]);
        let held = HeldFeatures::new(self.engine, self.measure(axis), held, Rest::Marginal);
        let local = self.centred(axis);
        held.expectation(&[self.other], &[self.term], local, floor, integrand)
    }

    /// The mean of the term over an axis, or over the law, off a curve where that tells it.
    fn read(&self, curve: &Curve, axis: Option<(f64, f64)>, row: &[f64]) -> Estimate {
        let u = self.engine.whole.margin(self.other).coordinate(row[self.other]);
        if curve.covers(u) { curve.at_own(u) } else { self.mean(axis, &mut row.to_vec()) }
    }

    /// The mean over the difference of the angles, which is uniform on the circle where one of them is, and of a region that
    /// cuts both the difference of two that are uniform on intervals.
    fn over_angle(&self, f: impl Fn(f64) -> Estimate) -> Estimate {
        if self.angles.iter().any(|&angle| self.engine.law().is_as_declared(angle)) {
            let (from, to) = self.term.turn();
            let total = self.between_angles(&[from, to], &f);
            return total.times(1.0 / (to - from));
        }
        let ends = self.angles.map(|angle| self.engine.margin(angle).support());
        let law = Apart::new(ends);
        let total = self.between_angles(&law.knots, |t| f(t).times(law.density(t)));
        total.doubted(self.engine.doubt())
    }

    /// The integral of a function of the difference of the angles, from the first of some points to the last.
    fn between_angles(&self, points: &[f64], f: impl Fn(f64) -> Estimate) -> Estimate {
        let [first, second] = self.angles;
        let mut row = vec![f64::NAN; self.engine.law().dimension()];
        row[second] = 0.0;
        let mut places = Vec::new();
        self.term.breaks(first, &row, &mut places);
        places.extend(points);
        let points = within(&places, points[0], points[points.len() - 1]);
        let [total] = integrate_between_cusps(TOLERANCE, &points, 0.0, |t| [f(t)]);
        total
    }

    /// The mean of the term along the other feature, given the difference of the angles; none where it takes too many
    /// evaluations.
    fn mean_given_angle(&self, t: f64, axis: Option<(f64, f64)>) -> Option<Arc<Curve>> {
        let ends = axis.map(|(lo, hi)| [lo.to_bits(), hi.to_bits()]);
        let key = (self.index, self.s, ends, t.to_bits());
        self.engine.axis_means.turned.of(key, || {
            let [first, second] = self.angles;
            let mut row = vec![f64::NAN; self.engine.law().dimension()];
            (row[first], row[second]) = (t, 0.0);
            let local = self.centred(axis);
            let mean = |row: &mut [f64]| {
                if is_spent() { UNKNOWN } else { self.mean(axis, row) }
            };
            let make = || self.engine.resolved_along(self.term, local, self.other, &row, &mean);
            uncounted(|| within_budget(MOST_OF_A_CURVE, make))
        })
    }

    /// The mean of the term over an axis of the feature, or over its law, at a row of all others.
    fn mean(&self, axis: Option<(f64, f64)>, row: &mut [f64]) -> Estimate {
        if let Some(axis) = axis {
            return self.engine.integrated_axis_mean(self.term, self.s, axis, row);
        }
        if let Some(average) = self.term.average_over(&[self.s]) {
            return self.term.average(average).estimate(row);
        }
        let [first, second] = self.angles;
        let held = [self.other, first, second].map(|feature| (feature, row[feature]));
        self.engine.mean_over_background(self.term, &[self.s], &held)
    }

    /// The quantity that breaks as means over an axis do, or over what the law has weight on.
    fn centred(&self, axis: Option<(f64, f64)>) -> LocalQuantity {
        let axis = axis.unwrap_or_else(|| {
            let law = self.engine.whole.margin(self.s);
            let panels = law.panels();
            (law.place(panels[0]), law.place(panels[panels.len() - 1]))
        });
        LocalQuantity::Centred { feature: self.s, axis }
    }
}

/// The law of the difference of two independent angles that are uniform on intervals.
struct Apart {
    /// Points between which the density is linear.
    knots: [f64; 4],
    /// Density between the middle two.
    top: f64,
}

impl Apart {
    fn new([(a, b), (c, d)]: [(f64, f64); 2]) -> Self {
        let mut knots = [a - d, a - c, b - d, b - c];
        knots.sort_by(f64::total_cmp);
        Self { knots, top: 1.0 / (b - a).max(d - c) }
    }

    fn density(&self, t: f64) -> f64 {
        let [from, low, high, to] = self.knots;
        let share = |far: f64, width: f64| if width > 0.0 { far / width } else { 1.0 };
        let rising = share(t - from, low - from);
        self.top * rising.min(share(to - t, to - high)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::engine::watch::Watch;
    use crate::law::region::Region;
    use crate::law::{Law, LogUniform, PiecewiseUniform};
    use crate::numeric::quadrature::nodes;
    use crate::scenario::Scenario;
    use crate::{Centring, Quantity, Truth};

    const TRIANGLE: &str = "sqrt(x1^2 + x2^2 + 2*x1*x2*cos(x3 - x4))";

    /// A function of two lengths and two angles.
    fn scenario(f: &str, length: &str) -> Scenario {
        let text = format!(
            "f = \"{f}\"\n[law]\nx1 = \"{length}\"\nx2 = \"{length}\"\nx3 = \"uniform(0, 2*pi)\"\n\
             x4 = \"uniform(0, 2*pi)\"\nx5 = \"uniform(0, 1)\"\n"
        );
        crate::problem("mine", &text, &[]).unwrap()
    }

    fn curve(scenario: &Scenario, effect: Quantity, s: usize, points: &[f64]) -> Vec<Truth> {
        scenario.curve(effect, s, points, scenario.axis(s), Centring::None).unwrap()
    }

    #[track_caller]
    fn agree(found: Truth, known: (f64, f64), most: f64) {
        let off = (found.value - known.0).abs();
        assert!(
            off <= found.abs_error + known.1 && found.abs_error <= most,
            "{found:?}, {known:?}"
        );
        assert_eq!(found.method, crate::Evaluation::Quadrature);
    }

    /// Close to the ends of the axis, at them, and where nodes come closest to the cusp, on which rounding makes the side no
    /// number.
    #[test]
    fn variances_along_a_cusp_are_those_of_the_built_in_scenario() {
        let own = scenario(TRIANGLE, "loguniform(0.1, 10)");
        let known = crate::scenario("feynman-i29-16", &[]).unwrap();
        let points = [0.1, 0.1003, 0.37, 2.1, 8.02, 9.5, 10.0];
        for effect in [Quantity::HPdp, Quantity::ShapVariance] {
            for s in [0, 1] {
                let [found, known] =
                    [&own, &known].map(|scenario| curve(scenario, effect, s, &points));
                for (found, known) in found.into_iter().zip(known) {
                    agree(found, (known.value, known.abs_error), 1e-9);
                }
            }
        }
        for effect in [Quantity::HPdp, Quantity::ShapVariance] {
            for s in [2, 3] {
                let [found, known] = [&own, &known].map(|of| curve(of, effect, s, &[1.5])[0]);
                agree(found, (known.value, known.abs_error), 1e-9);
            }
        }
        let of = |scenario: &Scenario| {
            scenario.curve(Quantity::HPdp, 0, &[2.1], (0.5, 3.0), Centring::None).unwrap()[0]
        };
        agree(of(&own), (of(&known).value, of(&known).abs_error), 1e-9);
    }

    /// Components by products of rules: of sets with one of the angles alone they are 0.
    #[test]
    fn variances_of_what_is_no_distance_are_those_of_components() {
        for f in ["exp(x1*x2*cos(x3 - x4)/8)", "ln(9 + x1*x2^2*sin(2*x3 - 2*x4 + 1))"] {
            let own = scenario(f, "uniform(1, 2)");
            let model =
                |x1: f64, x2: f64, t: f64| own.parts.engine.value(&[x1, x2, t, 0.0, f64::NAN]);
            let over = |g: &dyn Fn(f64) -> f64| nodes(1.0, 2.0).map(|(x, w)| w * g(x)).sum::<f64>();
            // Trapezia on a circle.
            let turn = |g: &dyn Fn(f64) -> f64| {
                (0..400).map(|k| g(f64::from(k) * TAU / 400.0)).sum::<f64>() / 400.0
            };
            let x = 1.3;
            let ahead = |x2: f64, t: f64| model(x, x2, t) - over(&|x1| model(x1, x2, t));
            let mean = over(&|x2| turn(&|t| ahead(x2, t)));
            let square = |value: f64| (value - mean).powi(2);
            let all = over(&|x2| turn(&|t| square(ahead(x2, t))));
            let alone = over(&|x2| square(turn(&|t| ahead(x2, t))));
            let turned = turn(&|t| square(over(&|x2| ahead(x2, t))));
            let shapley = alone / 4.0 + turned / 9.0 + (all - alone - turned) / 16.0;
            for (effect, known) in [(Quantity::HPdp, all), (Quantity::ShapVariance, shapley)] {
                agree(curve(&own, effect, 0, &[x])[0], (known, 1e-12 * known), 1e-10);
            }
        }
    }

    /// The difference of two angles that are cut is not uniform, and may pass a whole turn.
    #[test]
    fn variances_between_angles_that_are_cut_are_those_over_both() {
        let own = scenario("exp(x1*x2*cos(x3 - x4)/8)", "uniform(1, 2)");
        let value = |x1: f64, x2: f64, t: f64| (x1 * x2 * t.cos() / 8.0).exp();
        let x = 1.3;
        for cuts in [[(1.0, 6.0), (0.5, 2.0)], [(0.2, 0.9), (0.1, 6.1)], [(2.0, 3.0), (4.0, 5.0)]] {
            let region = Region::default().and(2, cuts[0].0, cuts[0].1);
            let region = region.and(3, cuts[1].0, cuts[1].1);
            let within = own.within(&region).unwrap();
            let over = |(from, to): (f64, f64), g: &dyn Fn(f64) -> f64| {
                let middle = 0.5 * (from + to);
                let both = nodes(from, middle).chain(nodes(middle, to));
                both.map(|(x, w)| w * g(x)).sum::<f64>() / (to - from)
            };
            let length = (1.0, 2.0);
            let ahead = |x2: f64, t: f64| value(x, x2, t) - over(length, &|x1| value(x1, x2, t));
            let moment = |power: i32| {
                let of_angles =
                    |x2: f64| over(cuts[0], &|a| over(cuts[1], &|b| ahead(x2, a - b).powi(power)));
                nodes(1.0, 2.0).map(|(x2, w)| w * of_angles(x2)).sum::<f64>()
            };
            let known = moment(2) - moment(1).powi(2);
            let turned = Turned::of(&within.parts.engine, 0, 0).unwrap();
            let mean = Estimate::exact(moment(1));
            let found = turned.variance(x, Some(length), mean);
            let off = (found.value - known).abs();
            assert!(off <= found.error + 1e-12 && found.error < 1e-10, "{found:?}, {known}");
            agree(curve(&within, Quantity::HPdp, 0, &[x])[0], (known, 1e-12), 1e-10);
            // One of the angles tells something of the difference.
            let shapley = LocalQuantity::Shapley(0);
            assert!(within.parts.engine.variance_of_turned(0, (0, x), shapley, mean).is_none());
        }
    }

    /// Values from nested integrals over the other length and an angle.
    #[test]
    fn a_built_in_scenario_is_integrated_as_a_file_is_in_a_region() {
        let own = crate::scenario("feynman-i29-16", &[]).unwrap();
        let within = own.within(&Region::default().and(2, 1.0, TAU)).unwrap();
        let points = [0.1, 2.575, 5.05, 7.525, 10.0];
        let known = [
            3.683_988_741_565_962,
            0.512_051_754_397_096_9,
            0.082_754_013_138_331_11,
            0.627_982_011_635_258_7,
            1.152_243_192_262_020_9,
        ];
        for (found, known) in curve(&within, Quantity::HPdp, 0, &points).into_iter().zip(known) {
            agree(found, (known, 4e-12), 1e-9);
        }
    }

    #[test]
    fn differences_of_angles_have_a_density_that_is_linear_between_knots() {
        let ends = [(1.0, 6.0), (0.5, 2.0)];
        let law = Apart::new(ends);
        assert_eq!(law.knots, [-1.0, 0.5, 4.0, 5.5]);
        let known = [(-1.5, 0.0), (-0.25, 0.1), (0.5, 0.2), (2.0, 0.2), (4.75, 0.1), (6.0, 0.0)];
        for (t, density) in known {
            assert!((law.density(t) - density).abs() < 1e-15, "{t}");
        }
        // Of intervals of the same width there is no level part.
        let law = Apart::new([(0.0, 2.0), (1.0, 3.0)]);
        assert_eq!(
            [-3.0, -2.0, -1.0, 0.0, 1.0].map(|t| law.density(t)),
            [0.0, 0.25, 0.5, 0.25, 0.0]
        );
    }

    /// Lengths may have any law.
    #[test]
    fn variances_under_a_normal_law_are_those_of_simple_sums() {
        let own = scenario("sqrt(9 + x1^2 + x2^2 + 2*x1*x2*cos(x3 - x4))", "normal(0, 1)");
        let (count, far) = (200, 8.0);
        let places: Vec<f64> =
            (0..=count).map(|k| far * (2.0 * f64::from(k) / f64::from(count) - 1.0)).collect();
        let step = 2.0 * far / f64::from(count);
        let over = |g: &dyn Fn(f64) -> f64| {
            let weighed = |x: &f64| step * crate::numeric::special::normal_pdf(*x) * g(*x);
            places.iter().map(weighed).sum::<f64>()
        };
        let turn = |g: &dyn Fn(f64) -> f64| {
            (0..32).map(|k| g(f64::from(k) * TAU / 32.0)).sum::<f64>() / 32.0
        };
        let side =
            |x1: f64, x2: f64, t: f64| (9.0 + x1 * x1 + x2 * x2 + 2.0 * x1 * x2 * t.cos()).sqrt();
        let axis = own.axis(0);
        let ahead = |x: f64, x2: f64, t: f64| {
            let total: f64 = nodes(axis.0, axis.1).map(|(y, w)| w * side(y, x2, t)).sum();
            side(x, x2, t) - total / (axis.1 - axis.0)
        };
        let moment = |power: i32| over(&|x2| turn(&|t| ahead(0.7, x2, t).powi(power)));
        let known = moment(2) - moment(1).powi(2);
        agree(curve(&own, Quantity::HPdp, 0, &[0.7])[0], (known, 1e-9), 1e-9);
    }

    /// Means over the feature are made for the first point, and serve the others.
    #[test]
    fn means_over_a_feature_are_made_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let side = move |x: &[f64]| {
            counted.fetch_add(1, Ordering::Relaxed);
            (x[0] - x[1]).hypot(2.0 * (x[0] * x[1]).sqrt() * (0.5 * (x[2] - x[3])).cos())
        };
        let term = Term::new(&[0, 1, 2, 3], side, |_, _| f64::NAN).turning([2, 3]);
        let term = term.mirrored_at((0.0, 0.5 * TAU)).with_cusps();
        let term = term.breaking_across(&[(0, 1.0), (1, -1.0)], 0.0, 0.0);
        let length = LogUniform { low: 0.1, high: 10.0 };
        let angle = || PiecewiseUniform::on(0.0, TAU);
        let law = Law::new().with_independent(0, length).with_independent(1, length);
        let law = law.with_independent(2, angle()).with_independent(3, angle());
        let names = ["x1", "x2", "x3", "x4"].map(String::from);
        let engine = |is_witness| {
            let watch = Watch::new(3, is_witness, &names);
            Engine::new(law.clone(), Vec::new()).watched(Arc::new(watch))
        };
        let term = Arc::new(term);
        let own = engine(false).of_terms([Arc::clone(&term)]);
        let cost = |local: LocalQuantity, x: f64| {
            let before = asked.load(Ordering::Relaxed);
            let mean = Estimate::exact(0.5);
            let found = own.variance_of_turned(0, (0, x), local, mean).unwrap();
            assert!(found.error < 1e-9, "{found:?}");
            asked.load(Ordering::Relaxed) - before
        };
        let centred = LocalQuantity::Centred { feature: 0, axis: (0.1, 10.0) };
        for local in [centred, LocalQuantity::Shapley(0)] {
            let [first, second] = [1.0, 1.1].map(|x| cost(local, x));
            assert!(second < 200_000 && 5 * second < first, "{first}, {second}");
        }
        // Neither a witness nor other quantities, and nothing of an angle.
        let of = |engine: &Engine, held: (usize, f64), local| {
            engine.variance_of_turned(0, held, local, Estimate::exact(0.5))
        };
        assert!(of(&engine(true).of_terms([term]), (0, 1.0), centred).is_none());
        assert!(of(&own, (0, 1.0), LocalQuantity::Value).is_none());
        assert!(of(&own, (2, 1.0), LocalQuantity::Shapley(3)).is_none());
    }
}
