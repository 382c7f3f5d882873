//! Truths of one feature of a scenario: closed where it knows a closed form, integrated where it does not.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use fe_core::interrupt;

use crate::engine::threads::at_each;
use crate::engine::watch::{Watch, in_time, with_cost, within_budget};
use crate::engine::{Engine, LocalQuantity, Moments, Rest};
use crate::error::Error;
use crate::error::number;
use crate::law::Univariate;
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::{Estimate, NODES, Piecewise, integrate, within};
use crate::quantity::{
    BinTruth, Centring, DifferenceTruth, Evaluation, Quantity, Truth, Weighting,
};
use crate::scenario::Scenario;
use crate::scenario::closed_forms::{InBox, Pointwise, Spread};

/// An estimate and how it was obtained.
pub(super) type Known = (Estimate, Evaluation);

/// A closed form evaluated in floating point, from summands of the given size in all; 0 if that is
/// not known.
fn closed(value: f64, size: f64) -> Known {
    let magnitude = value.abs().max(size);
    let error = if size > 0.0 { 1e-13 + rounding(magnitude) } else { 1e-12 * (1.0 + value.abs()) };
    (Estimate { value, magnitude, error, simulated: false }, Evaluation::Closed)
}

/// The coordinate of a value, or of where the last weight is if that is infinite.
pub(crate) fn finite_coordinate(law: &dyn Univariate, x: f64) -> f64 {
    let coordinate = law.coordinate(x);
    if coordinate.is_finite() {
        return coordinate;
    }
    let panels = law.panels();
    if coordinate < 0.0 { panels[0] } else { panels[panels.len() - 1] }
}

/// Rounding error of a sum whose summands have this size in all.
fn rounding(size: f64) -> f64 {
    8.0 * f64::EPSILON * size
}

/// The root of a variance. Those in closed form are sums of squares, relatively accurate also where
/// they are small, so that their roots are as accurate as other closed forms.
pub(super) fn standard_deviation((variance, method): Known) -> Known {
    if method != Evaluation::Closed {
        return (variance.sqrt(), method);
    }
    let root = variance.value.max(0.0).sqrt();
    let lost = rounding(variance.magnitude - variance.value.abs());
    let doubt = if root > 0.0 { (lost / root).min(lost.sqrt()) } else { lost.sqrt() };
    let (mut estimate, method) = closed(root, 0.0);
    estimate.error += doubt;
    (estimate, method)
}

pub(super) fn integrated(estimate: Estimate) -> Known {
    let how = if estimate.simulated { Evaluation::Simulation } else { Evaluation::Quadrature };
    (estimate, how)
}

impl From<Estimate> for Truth {
    fn from(estimate: Estimate) -> Self {
        truth(integrated(estimate))
    }
}

pub(super) fn truth((estimate, method): Known) -> Truth {
    Truth { value: estimate.value, abs_error: estimate.error, method }
}

/// Beyond this size differences of arguments of a closed form may be off by more than its bound.
const FAR: f64 = 100.0;

/// The name of a value, and the value or why there is none.
type NamedAnswer = (&'static str, Result<Truth, Error>);

/// Distance from a place, relative to its size, at which f is on one side of it however it is written.
const COARSE: f64 = 1e-14;

/// Evaluations that a mean of variances along a feature of a problem file may take before it is simulated.
const MOST_OF_A_VALUE: f64 = 3e7;
/// Multiple of that for the variances of Shapley values, the evaluations of each coalition counted anew.
const SHAPLEY: f64 = 100.0;

/// Evaluations that one answer may take, a value at a point or a bin: some twenty seconds.
const MOST_OF_AN_ANSWER: f64 = 2e8;

/// Largest error of a root that is taken of a resolved curve.
const ROOT: f64 = 1e-11;

/// Variance, relative to the squares of what varies, that a curve does not tell from none: its root is 3e-13.
const NO_VARIANCE: f64 = 1e-25;

/// Error of a curve of a problem file, relative to its size, from which on it is looked at closer.
const PROMISED: f64 = 1e-9;

/// Number of points, for every one that resolves the feature, from which on a curve through them pays.
const PAYS: usize = 25;

/// The quantity that an effect is at each point, where it is one.
fn quantity(effect: Quantity) -> Option<Pointwise> {
    Some(match effect {
        Quantity::Pd => Pointwise::Pd,
        Quantity::Dpd => Pointwise::Dpd,
        Quantity::Mplot => Pointwise::Mplot,
        Quantity::Mu => Pointwise::Mu,
        Quantity::HPdp => Pointwise::HPdp,
        Quantity::HDpdp => Pointwise::HDpdp,
        Quantity::Ale | Quantity::AleDerivative => Pointwise::Accumulated,
        Quantity::Sigma | Quantity::Main | Quantity::Shap | Quantity::ShapVariance => return None,
    })
}

/// The law that the other features have in an effect.
fn rest_of(effect: Quantity) -> Rest {
    match effect {
        Quantity::Pd | Quantity::Dpd | Quantity::HPdp | Quantity::HDpdp => Rest::Marginal,
        _ => Rest::Conditional,
    }
}

/// The effect that a quantity is, or is the square of.
fn effect_of(quantity: Pointwise) -> Quantity {
    match quantity {
        Pointwise::Pd => Quantity::Pd,
        Pointwise::Dpd => Quantity::Dpd,
        Pointwise::Mplot => Quantity::Mplot,
        Pointwise::Mu => Quantity::Mu,
        Pointwise::Sigma2 => Quantity::Sigma,
        Pointwise::HPdp => Quantity::HPdp,
        Pointwise::HDpdp => Quantity::HDpdp,
        Pointwise::Accumulated => Quantity::AleDerivative,
    }
}

fn is_number(value: &Estimate) -> bool {
    value.value.is_finite() && value.error.is_finite()
}

/// Jumps of the mean of f at a fixed place z, given x_s = z.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump {
    pub(super) place: f64,
    /// From just below the place to the value at it.
    pub(super) before: Truth,
    /// From the value at the place to just above it.
    pub(super) after: Truth,
}

/// Curves along parts of a feature, in ascending order.
#[derive(Default)]
struct Curves(Vec<Curve>);

impl Curves {
    /// Curves of a function along those intervals between ascending places that hold so many of the ascending coordinates that a
    /// curve takes fewer values than they do.
    fn where_they_pay(
        places: &[f64],
        coordinates: &[f64],
        mut resolve: impl FnMut(&[f64]) -> Curve,
    ) -> Self {
        let before = |place: f64| coordinates.partition_point(|&u| u < place);
        let pays = |ends: &[f64]| before(ends[1]) - before(ends[0]) >= PAYS;
        let intervals: Vec<&[f64]> = places.windows(2).collect();
        let runs = intervals.chunk_by(|a, b| pays(a) == pays(b)).filter(|run| pays(run[0]));
        let ends = |run: &[&[f64]]| {
            run.iter().map(|ends| ends[0]).chain(run.last().map(|ends| ends[1])).collect::<Vec<_>>()
        };
        Self(runs.map(|run| resolve(&ends(run))).collect())
    }

    /// The curve that covers a coordinate.
    fn of(&self, u: f64) -> Option<&Curve> {
        self.0.iter().find(|curve| curve.covers(u))
    }
}

impl Scenario {
    /// The true curve of an effect at each of the points, in their order.
    ///
    /// `feature` counts from 0. The `axis` is where accumulation starts, what ICE curves are
    /// centred over, and what [`Centring::Start`] and [`Centring::Integral`] refer to. Values are
    /// in units of f; of f per unit of the feature for the derivative effects `dpd`, `mu` and
    /// `sigma`; squared for `h-pdp` and `h-dpdp`.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadAxis`], [`Error::OutsideSupport`],
    /// [`Error::NotAdditive`], [`Error::NotCentrable`].
    pub fn curve(
        &self,
        effect: Quantity,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error> {
        self.check_axis(feature, axis)?;
        self.check_points(feature, points)?;
        if centring != Centring::None && !effect.is_curve() {
            return Err(Error::NotCentrable { effect: effect.name() });
        }
        if effect == Quantity::Main && !self.parts.engine.is_additive(feature) {
            let feature = self.feature_name(feature);
            return Err(Error::NotAdditive { scenario: self.info().name, feature });
        }
        self.begin();
        self.check_quantity(effect, feature, centring)?;
        let law = self.parts.engine.law();
        let is_of_region = effect.is_given_feature() && law.is_restricted();
        let what = |x: f64| format!("{effect} of {} at {}", self.feature_name(feature), number(&x));
        let is_ruled_out = |x: &&f64| law.all_but_rules_out(feature, **x);
        if let Some(&x) = points.iter().filter(|_| is_of_region).find(is_ruled_out) {
            return Err(Error::AllButImpossible(what(x)));
        }
        let on = OneFeature { scenario: self, feature, axis };
        let constant = on.centre(effect, centring);
        let curve = on.raw(effect, points).into_iter();
        let curve: Vec<Truth> = curve.map(|value| value.minus(constant)).collect();
        self.judge_curve((effect, feature), points, &curve)?;
        curve
            .into_iter()
            .zip(points)
            .map(|(value, &x)| match value.told(|| what(x)) {
                Err(Error::TooLarge(what)) if is_of_region => Err(Error::AllButImpossible(what)),
                told => told,
            })
            .collect()
    }

    /// True bin quantities of a feature, counted from 0, between neighbouring limits.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadLimits`], [`Error::OutsideSupport`], and
    /// [`Error::EmptyBin`] if a bin has no probability under [`Weighting::Data`].
    pub fn bins(
        &self,
        feature: usize,
        limits: &[f64],
        weighting: Weighting,
    ) -> Result<Vec<BinTruth>, Error> {
        self.begin();
        let on = self.binned(feature, limits)?;
        let bins = on.each_bin(limits, weighting, |z, _, _| {
            let easy =
                |quantity| on.known(quantity, z).or_else(|| on.shorter(effect_of(quantity), z));
            match (easy(Pointwise::Mu), easy(Pointwise::Sigma2)) {
                (Some(mean), Some(variance)) => Moments { mean, variance },
                _ => on.moments(z, Rest::Conditional, LocalQuantity::Partial(feature)),
            }
        })?;
        self.judge_bins(feature, &bins)?;
        Ok(bins)
    }

    /// True finite differences of a feature, counted from 0, over the bins between neighbouring
    /// limits, averaged over the law of the feature inside each (Apley & Zhu 2020, eq. 15).
    ///
    /// # Errors
    /// As [`Scenario::bins`] with [`Weighting::Data`].
    pub fn differences(
        &self,
        feature: usize,
        limits: &[f64],
    ) -> Result<Vec<DifferenceTruth>, Error> {
        self.begin();
        let on = self.binned(feature, limits)?;
        // Of a feature that is independent of all others they are the same wherever in the bin it is.
        let last: Cell<Option<([f64; 2], Moments)>> = Cell::new(None);
        let is_alone = self.is_independent(feature);
        let bins = on.each_bin(limits, Weighting::Data, |z, from, to| {
            if let Some((_, moments)) =
                last.get().filter(|(ends, _)| is_alone && *ends == [from, to])
            {
                return moments;
            }
            let moments = on.difference(z, from, to);
            last.set(Some(([from, to], moments)));
            moments
        })?;
        self.judge_bins(feature, &bins)?;
        let difference = |bin: BinTruth| DifferenceTruth {
            lo: bin.lo,
            hi: bin.hi,
            mean: bin.mu,
            variance: bin.sigma2_star,
            abs_error: bin.abs_error,
        };
        Ok(bins.into_iter().map(difference).collect())
    }

    /// True heterogeneity values of a feature, counted from 0, over an axis.
    ///
    /// `pdp.mean` and `dpdp.mean` are axis means of `h-pdp` and `h-dpdp` (EFFECTOR eq. 8, 10);
    /// `ale.integral` is `∫ sigma²` (EFFECTOR eq. 6), `ale.mean_range` that divided by the length
    /// of the axis, and `ale.integral_sd` is `∫ sigma` (EFFECTOR eq. 2). `shap.mean` is the mean
    /// over the law of the feature, not over the axis, of `shap-variance`.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadAxis`].
    pub fn values(
        &self,
        feature: usize,
        axis: (f64, f64),
    ) -> Result<Vec<(&'static str, Truth)>, Error> {
        let each = self.each_value(feature, axis)?.into_iter();
        each.map(|(name, value)| Ok((name, value?))).collect()
    }

    /// As [`Scenario::values`], each with the reason where it is refused, as only those of scenarios in
    /// files are.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadAxis`].
    pub fn each_value(&self, feature: usize, axis: (f64, f64)) -> Result<Vec<NamedAnswer>, Error> {
        self.check_axis(feature, axis)?;
        let on = OneFeature { scenario: self, feature, axis };
        let shap = || on.mean_shapley_variance();
        if self.parts.engine.has_levels(feature) {
            let names =
                ["pdp.mean", "dpdp.mean", "ale.integral", "ale.mean_range", "ale.integral_sd"];
            let refused = |name| Some((name, Err(self.check_density(feature, name).err()?)));
            let mut values: Vec<NamedAnswer> = names.into_iter().filter_map(refused).collect();
            let shap = truth(integrated(shap()));
            values.push(("shap.mean", self.judge([shap]).map(|()| shap)));
            return Ok(values);
        }
        self.begin();
        let per_length = 1.0 / (axis.1 - axis.0);
        let told = |name: &'static str, value: Truth| -> NamedAnswer {
            let (lo, hi) = axis;
            let ends = || [lo, hi].map(|end| number(&end)).join(", ");
            let what = || format!("{name} of {} over [{}]", self.feature_name(feature), ends());
            let judged = self.judge([value]);
            (name, judged.and_then(|()| value.told(what)))
        };
        // Two of them are made of the same numbers at the same nodes, and of a feature that no other one
        // depends on two are the same; what was refused is asked for again, so that the reason is told again.
        let seen: RefCell<HashMap<u64, Known>> = RefCell::default();
        let variance = |x: f64| {
            if let Some(known) = seen.borrow().get(&x.to_bits()) {
                return *known;
            }
            let made = on.point(Pointwise::Sigma2, x);
            if !made.0.value.is_nan() {
                seen.borrow_mut().insert(x.to_bits(), made);
            }
            made
        };
        let engine = &self.parts.engine;
        let is_alone = engine.watch.is_some() && engine.partners(feature).is_empty();
        let partial_variance = |x: f64| {
            if is_alone { variance(x).0 } else { on.point(Pointwise::HDpdp, x).0 }
        };
        // Each is judged before the next one is computed: a reason is that of the last question.
        let mut values = Vec::new();
        let pdp = on.variance_over_axis(Pointwise::HPdp, |x| on.point(Pointwise::HPdp, x).0);
        values.push(told("pdp.mean", pdp.times(per_length)));
        let dpdp = on.variance_over_axis(Pointwise::HDpdp, partial_variance);
        values.push(told("dpdp.mean", dpdp.times(per_length)));
        let integral = if is_alone {
            dpdp
        } else {
            on.variance_over_axis(Pointwise::Sigma2, |x| variance(x).0)
        };
        let name = "ale.integral";
        let judged = match values.last() {
            // What is the same is refused for the same reason.
            Some((_, Err(error))) if is_alone && dpdp.value.is_nan() => Err(error.clone()),
            _ => told(name, integral).1,
        };
        let range = "ale.mean_range";
        let mean_range = match &judged {
            Ok(_) => told(range, integral.times(per_length)),
            Err(error) => (range, Err(error.clone())),
        };
        values.extend([(name, judged), mean_range]);
        let sd = on.deviation_over_axis(|x| standard_deviation(variance(x)).0);
        values.push(told("ale.integral_sd", sd));
        values.push(told("shap.mean", truth(integrated(shap()))));
        Ok(values)
    }

    /// The Shapley value of each feature at a point of all D features, in their order, and last
    /// what the empty coalition is worth, `E f(X)`: all together they add up to f at the point
    /// (EFFECTOR eq. 11; interventional, the background is the law of the features).
    ///
    /// # Errors
    /// [`Error::WrongDimension`], [`Error::OutsideSupport`].
    ///
    /// ```
    /// let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    /// // f = x1² + x1 x2 + ½ x3 of features that are uniform on [−1, 1].
    /// let values = scenario.shap_at(&[0.5, 1.0, -0.4]).unwrap();
    /// let expected = [0.25 - 1.0 / 3.0 + 0.25, 0.25, -0.2, 1.0 / 3.0];
    /// for (value, expected) in values.iter().zip(expected) {
    ///     assert!((value.value - expected).abs() < 1e-12);
    /// }
    /// ```
    pub fn shap_at(&self, point: &[f64]) -> Result<Vec<Truth>, Error> {
        self.begin();
        let dimension = self.dimension();
        if point.len() != dimension {
            return Err(Error::WrongDimension { given: point.len(), dimension });
        }
        for (feature, x) in point.iter().enumerate() {
            self.check_points(feature, std::slice::from_ref(x))?;
        }
        let engine = &self.parts.engine;
        let mut row = point.to_vec();
        let mut value = |feature: usize| {
            let readers = engine.readers(feature).into_iter();
            let each = readers.map(|term| engine.shapley(term, feature, &mut row));
            truth(integrated(Estimate::sum(each)))
        };
        let empty = self.mean()?;
        let mut values: Vec<Truth> = (0..dimension).map(&mut value).collect();
        values.push(empty);
        self.judge(values.iter().copied())?;
        let told = |(feature, value): (usize, Truth)| {
            value.told(|| {
                format!("the Shapley value of {} at {point:?}", self.feature_name(feature))
            })
        };
        values.into_iter().enumerate().map(told).collect()
    }

    /// `E f(X)`.
    ///
    /// # Errors
    /// [`Error::NoTruth`] for a scenario in a file that has none.
    pub fn mean(&self) -> Result<Truth, Error> {
        self.begin();
        let known =
            self.forms().and_then(|forms| Some(closed(forms.mean()?, forms.size_of_mean())));
        let mean = truth(known.unwrap_or_else(|| integrated(self.parts.engine.mean_f())));
        self.judge([mean])?;
        Ok(mean)
    }

    /// Standard deviation of `f(X)`.
    ///
    /// # Errors
    /// [`Error::NoTruth`] for a scenario in a file that has none.
    pub fn sd(&self) -> Result<Truth, Error> {
        self.begin();
        let sd = truth(standard_deviation(self.variance()));
        self.judge([sd])?;
        Ok(sd)
    }

    /// Variance of `f(X)`.
    pub(super) fn variance(&self) -> Known {
        let forms = self.forms();
        let known = forms.and_then(|f| Some(closed(f.variance()?, f.size_of_variance())));
        known.unwrap_or_else(|| integrated(self.parts.engine.variance_f()))
    }

    /// Refuses quantities and centrings that a feature with levels does not have.
    pub(crate) fn check_quantity(
        &self,
        quantity: Quantity,
        feature: usize,
        centring: Centring,
    ) -> Result<(), Error> {
        let of_levels = [
            Quantity::Pd,
            Quantity::Mplot,
            Quantity::Ale,
            Quantity::Main,
            Quantity::Shap,
            Quantity::ShapVariance,
        ];
        if !of_levels.contains(&quantity) {
            self.check_density(feature, &format!("`{quantity}`"))?;
        }
        if centring == Centring::Integral {
            self.check_density(feature, "centring by the mean over an axis")?;
        }
        Ok(())
    }

    /// ALE of a feature with levels, counted from 0, at each of them in an order: the mean change of f
    /// from a level to the next one, over the rows of both, is added up (Apley & Zhu 2020). The order
    /// names each place of [`Scenario::levels`] once; at the first level it is 0, as with
    /// [`Centring::None`].
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadOrder`], [`Error::NoTruth`].
    ///
    /// ```
    /// let text = "f = \"level(s, a: 0, b: 5, c: 1)\"\n\
    ///             [law]\ns = \"categorical(a: 0.2, b: 0.3, c: 0.5)\"\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// let ale = scenario.ale_by_levels(0, &[0, 2, 1]).unwrap();
    /// assert!((ale[1].value - 1.0).abs() < 1e-12 && (ale[2].value - 5.0).abs() < 1e-12);
    /// ```
    pub fn ale_by_levels(&self, feature: usize, order: &[usize]) -> Result<Vec<Truth>, Error> {
        let values = self.order_of_levels(feature, order)?;
        self.begin();
        let on = OneFeature { scenario: self, feature, axis: self.axis(feature) };
        let ale = on.accumulated_by_levels(&values);
        let judged = self.judge(ale.iter().copied());
        judged.map_err(|error| error.about(&format!("ale of {}", self.feature_name(feature))))?;
        Ok(ale)
    }

    /// The levels of a feature in an order that names each of them once.
    pub(crate) fn order_of_levels(
        &self,
        feature: usize,
        order: &[usize],
    ) -> Result<Vec<f64>, Error> {
        self.check_feature(feature)?;
        let levels = self.levels(feature).unwrap_or_default();
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted.is_empty() || !sorted.iter().copied().eq(0..levels.len()) {
            let (feature, given) = (self.feature_name(feature), format!("{order:?}"));
            return Err(Error::BadOrder { feature, given, count: levels.len() });
        }
        Ok(order.iter().map(|&place| levels[place].value).collect())
    }

    /// True if the ALE that contains jumps (Apley and Zhu) and the one of derivatives (DALE, RHALE) are the same curve: f does not
    /// jump along the feature, counted from 0, or its jumps have mean 0 where they are.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::NoTruth`].
    ///
    /// ```
    /// let scenario = fe_truth::scenario("effector-regional", &[]).unwrap();
    /// assert!(scenario.ale_is_of_derivatives(0).unwrap());
    /// let jumps = fe_truth::scenario("conditional-interaction", &[]).unwrap();
    /// assert!(!jumps.ale_is_of_derivatives(1).unwrap());
    /// ```
    pub fn ale_is_of_derivatives(&self, feature: usize) -> Result<bool, Error> {
        self.check_feature(feature)?;
        if self.parts.engine.has_moving_jumps(feature) || self.levels(feature).is_some() {
            return Ok(false);
        }
        self.begin();
        let on = OneFeature { scenario: self, feature, axis: self.axis(feature) };
        let jumps: Vec<Truth> =
            on.jumps().into_iter().flat_map(|jump| [jump.before, jump.after]).collect();
        self.judge(jumps.iter().copied())?;
        Ok(jumps.iter().all(|jump| jump.value.abs() <= jump.abs_error + 1e-12))
    }

    /// Variance of `E[f(X) | x_s]` under the law of the feature.
    pub(crate) fn main_variance(&self, feature: usize) -> Result<Truth, Error> {
        self.check_feature(feature)?;
        let mean = self.mean()?;
        let on = OneFeature { scenario: self, feature, axis: self.axis(feature) };
        let square = |x: f64| {
            let given = on.value(Quantity::Mplot, x).0;
            // Below this a deviation is rounding, and its square must not be resolved.
            let rounding = 1e-13 * given.magnitude + given.error + mean.abs_error;
            if (given.value - mean.value).abs() <= rounding {
                return Estimate { error: rounding * rounding, ..Estimate::default() };
            }
            given.squared_from(mean.value)
        };
        let mut variance = truth(integrated(on.over_law(square)));
        variance.abs_error += mean.abs_error * mean.abs_error;
        Ok(variance)
    }

    pub(super) fn binned(&self, feature: usize, limits: &[f64]) -> Result<OneFeature<'_>, Error> {
        self.check_feature(feature)?;
        self.check_density(feature, "a mean over bins")?;
        if limits.len() < 2 {
            return Err(Error::BadLimits(format!("{limits:?}")));
        }
        let bad = |ends: &&[f64]| !(ends[0] < ends[1] && (ends[1] - ends[0]).is_finite());
        if let Some(ends) = limits.windows(2).find(bad) {
            let [from, to] = [ends[0], ends[1]].map(|end| number(&end));
            return Err(Error::BadLimits(format!("… {from}, {to} …")));
        }
        self.check_points(feature, limits)?;
        let axis = (limits[0], limits[limits.len() - 1]);
        Ok(OneFeature { scenario: self, feature, axis })
    }
}

/// Truths of one feature over one axis.
pub(super) struct OneFeature<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) feature: usize,
    pub(super) axis: (f64, f64),
}

impl OneFeature<'_> {
    /// The closed form of a quantity, where there is one.
    fn known(&self, quantity: Pointwise, x: f64) -> Option<Estimate> {
        let forms = self.scenario.forms()?;
        let at = |x, axis| forms.at(quantity, self.feature, x, axis);
        let value = at(x, self.axis)?;
        let mut known = closed(value, forms.size(quantity, self.feature, x, self.axis)).0;
        let (lo, hi) = self.axis;
        if [x, lo, hi].iter().any(|argument| argument.abs() > FAR) {
            // What rounding of sums of the arguments may do, arguments that differ do as well.
            let other = |x: f64| x * (1.0 + 4.0 * f64::EPSILON);
            let others = [at(other(x), (lo, hi)), at(x, (other(lo), hi)), at(x, (lo, other(hi)))];
            let change = others.into_iter().flatten().map(|other| (other - value).abs());
            known.error = known.error.max(change.sum());
        }
        Some(known)
    }

    fn shorter(&self, effect: Quantity, x: f64) -> Option<Estimate> {
        self.scenario.forms()?.shorter(effect, self.feature, x, self.axis)
    }

    /// True if all points have a closed form.
    fn all_known(&self, quantity: Pointwise, points: &[f64]) -> bool {
        points.iter().all(|&x| self.known(quantity, x).is_some())
    }

    fn moments(&self, x: f64, rest: Rest, local: LocalQuantity) -> Moments {
        self.scenario.parts.engine.moments(self.feature, x, rest, local)
    }

    /// A quantity at a point. [`Pointwise::Accumulated`] is integrated in [`Self::accumulated`].
    pub(super) fn point(&self, quantity: Pointwise, x: f64) -> Known {
        interrupt::check();
        if let Some(estimate) = self.known(quantity, x) {
            return (estimate, Evaluation::Closed);
        }
        if let Some(estimate) = self.shorter(effect_of(quantity), x) {
            return integrated(estimate);
        }
        if let Some(estimate) = self.at_in_box(effect_of(quantity), x) {
            return integrated(estimate);
        }
        let (engine, s) = (&self.scenario.parts.engine, self.feature);
        if let Some((rest, local)) = self.local(quantity) {
            return integrated(self.moments(x, rest, local).variance);
        }
        let partial = LocalQuantity::Partial(s);
        integrated(match quantity {
            Pointwise::Pd => engine.mean_value(s, x, Rest::Marginal),
            Pointwise::Mplot => engine.mean_value(s, x, Rest::Conditional),
            Pointwise::Dpd => engine.mean(s, x, Rest::Marginal, partial),
            Pointwise::Mu => engine.mean(s, x, Rest::Conditional, partial),
            _ => self.over((self.axis.0, x), |x| self.slope(false, x)),
        })
    }

    /// The local effect that accumulates: mu, with jumps at moving places if they count.
    pub(super) fn slope(&self, with_jumps: bool, x: f64) -> Estimate {
        let mu = self.point(Pointwise::Mu, x).0;
        if with_jumps {
            mu.plus(self.scenario.parts.engine.moving_jumps(self.feature, x))
        } else {
            mu
        }
    }

    /// The effect at the points, before centring.
    fn raw(&self, effect: Quantity, points: &[f64]) -> Vec<Truth> {
        match effect {
            Quantity::Ale | Quantity::AleDerivative if self.changes_add_up(effect) => {
                self.changes(points)
            }
            Quantity::AleDerivative => self.accumulated(points, false),
            Quantity::Ale if self.law().levels().is_some() => self.ale_at_levels(points),
            Quantity::Ale => {
                let jumps = self.jumps();
                let moving = self.scenario.parts.engine.has_moving_jumps(self.feature);
                let smooth = self.accumulated(points, moving).into_iter().zip(points);
                smooth.map(|(value, &x)| value.plus(self.jumped(&jumps, x))).collect()
            }
            Quantity::Main => points.iter().map(|&x| truth(self.value(effect, x))).collect(),
            _ => self.interpolated(effect, points),
        }
    }

    /// True if an accumulated effect is the mean change of f since the start: where the feature is
    /// independent of those that enter with it, what is added up is the change itself. Built-in scenarios
    /// have their own forms, and witnesses integrate. So does the derivative's form where f jumps.
    pub(super) fn changes_add_up(&self, effect: Quantity) -> bool {
        let (engine, s) = (&self.scenario.parts.engine, self.feature);
        // In a region they have none, and slopes along an angle are integrals over what it leaves of the other one.
        let turns = |&t: &usize| engine.terms[t].angles().is_some();
        let is_cut = engine.law().is_restricted() && engine.readers(s).iter().any(turns);
        let has_forms = engine.watch.is_none() && !is_cut;
        if has_forms || engine.is_witness() || self.law().levels().is_some() {
            return false;
        }
        let apart = |&t: &usize| {
            let others = engine.terms[t].features().iter();
            others.into_iter().all(|&other| other == s || !engine.law().related(s, other))
        };
        let jumps = || engine.has_moving_jumps(s) || self.has_jumps();
        engine.readers(s).iter().all(apart) && !(effect == Quantity::AleDerivative && jumps())
    }

    /// True if an effect is the same at each value of the feature, an angle of which only the distance from another one
    /// matters; of curves that are centred over an axis it is if that is the whole circle.
    fn is_the_same_everywhere(&self, effect: Quantity) -> bool {
        let is_whole = effect != Quantity::HPdp || self.axis == self.law().support();
        is_whole && self.scenario.parts.engine.is_arbitrary(self.feature)
    }

    /// Mean and variance of the difference of f between two values given that the feature has one.
    fn difference(&self, z: f64, from: f64, to: f64) -> Moments {
        let (scenario, feature) = (self.scenario, self.feature);
        let known = scenario.forms().and_then(|forms| {
            let (mean, variance) = forms.difference(feature, from, to, z)?;
            let mean = closed(mean, forms.size_of_difference(feature, from, to, z)).0;
            let mut moments = Moments { mean, variance: closed(variance, 0.0).0 };
            moments.mean.error += forms.error_of_difference();
            moments.variance.error += forms.error_of_difference();
            Some(moments)
        });
        let (rest, local) = (Rest::Conditional, LocalQuantity::Difference { feature, from, to });
        known.unwrap_or_else(|| match self.variance_of_difference(from, to) {
            Some(variance) => {
                Moments { mean: scenario.parts.engine.mean(feature, z, rest, local), variance }
            }
            None => self.moments(z, rest, local),
        })
    }

    /// The variance of that difference in a region for which the scenario has shorter integrals.
    fn variance_of_difference(&self, from: f64, to: f64) -> Option<Estimate> {
        let asked = self.asked_in_box()?;
        let known = self.scenario.forms()?.in_box(Spread::Difference(&[from, to]), &asked)?;
        Some(known.times(to - from))
    }

    /// The feature as one that is asked about in a region, if the scenario is in one.
    pub(super) fn asked_in_box(&self) -> Option<InBox<'_>> {
        let engine = &self.scenario.parts.engine;
        let asked = InBox { feature: self.feature, axis: self.axis, engine };
        engine.law().is_restricted().then_some(asked)
    }

    fn at_in_box(&self, effect: Quantity, x: f64) -> Option<Estimate> {
        let asked = self.asked_in_box()?;
        self.scenario.forms()?.at_in_box(effect, x, &asked)
    }

    /// The mean change of f from the start of the axis.
    pub(super) fn change(&self, x: f64) -> Estimate {
        let (feature, from) = (self.feature, self.axis.0);
        if x == from || self.scenario.parts.engine.is_arbitrary(feature) {
            return Estimate::default();
        }
        let known = |x: f64| self.at_in_box(Quantity::Pd, x);
        if let (Some(here), Some(start)) = (known(x), known(from)) {
            return here.minus(start);
        }
        let local = LocalQuantity::Difference { feature, from, to: x };
        self.scenario.parts.engine.mean(feature, x, Rest::Marginal, local)
    }

    /// True if f jumps at a fixed place: its change there does not vanish as one looks closer, as that along a kink
    /// or a cusp does. The place itself may be rounded.
    fn has_jumps(&self) -> bool {
        let (engine, feature) = (&self.scenario.parts.engine, self.feature);
        let across = |z: f64, share: f64| {
            let near = share * (self.axis.1 - self.axis.0);
            let local = LocalQuantity::Difference { feature, from: z - near, to: z + near };
            engine.mean(feature, z, Rest::Marginal, local).value.abs()
        };
        engine.breaks(feature).into_iter().any(|z| across(z, 1e-12) > 0.5 * across(z, 1e-9))
    }

    /// An accumulated effect as a mean change of f, of many points from curves that are resolved once.
    fn changes(&self, points: &[f64]) -> Vec<Truth> {
        let alone = self.alone(points, |x| integrated(self.change(x)));
        if let Some(refused) = self.refused(points, &alone) {
            return refused;
        }
        let law = self.law();
        let curves = self.through(points, Rest::Marginal, |u| self.change(law.place(u)));
        let at = |x: f64| {
            if let Some((_, known)) = alone.iter().find(|(place, _)| *place == x) {
                return *known;
            }
            let curve = curves.of(law.coordinate(x));
            // A curve through a cusp is less accurate than its points.
            let read = curve.map(|curve| curve.at(law.coordinate(x)));
            let read = read.filter(|value| value.error <= ROOT * (1.0 + value.magnitude));
            integrated(read.unwrap_or_else(|| self.change(x)))
        };
        points.iter().map(|&x| truth(at(x))).collect()
    }

    /// Places that no curve tells of: at a break the value is that of one side, and at an end of the law of a problem file a
    /// power of the distance to it may begin.
    fn asked_alone(&self) -> Vec<f64> {
        let engine = &self.scenario.parts.engine;
        let (low, high) = self.law().support();
        let ends = engine.watch.iter().flat_map(|_| [low, high]);
        engine.breaks(self.feature).into_iter().chain(ends).collect()
    }

    /// Those of points that no curve tells of, with their values.
    fn alone(&self, points: &[f64], at: impl Fn(f64) -> Known) -> Vec<(f64, Known)> {
        let alone = self.asked_alone();
        let had_refused = Watch::has_refused();
        let known: Vec<(f64, Known)> =
            points.iter().filter(|x| alone.contains(x)).map(|&x| (x, at(x))).collect();
        // What was refused on the way to them is no reason for others.
        if !had_refused && known.iter().all(|(_, (value, _))| is_number(value)) {
            drop(Watch::reason());
        }
        known
    }

    /// The values at points of a problem file of which one is refused, and known to be before the others are asked.
    fn refused(&self, points: &[f64], alone: &[(f64, Known)]) -> Option<Vec<Truth>> {
        self.scenario.parts.engine.watch.as_ref()?;
        let (place, _) = alone.iter().find(|(_, (value, _))| !is_number(value))?;
        let told = |x: &f64| Estimate::exact(if x == place { f64::NAN } else { 0.0 });
        Some(points.iter().map(|x| truth(integrated(told(x)))).collect())
    }

    /// A function of the feature's coordinate as curves where points are so many that they pay: one through all of them,
    /// or for a problem file through those that are close.
    fn through(&self, points: &[f64], rest: Rest, f: impl Fn(f64) -> Estimate + Sync) -> Curves {
        let law = self.law();
        let mut asked: Vec<f64> = points.iter().map(|&x| law.coordinate(x)).collect();
        asked.retain(|u| u.is_finite());
        asked.sort_by(f64::total_cmp);
        let (Some(&from), Some(&to)) = (asked.first(), asked.last()) else {
            return Curves::default();
        };
        if from >= to {
            return Curves::default();
        }
        let resolution = self.scenario.resolved_where(self.feature, rest, (from, to));
        let pays = points.len() >= PAYS * resolution.len();
        let engine = &self.scenario.parts.engine;
        let readers = engine.readers(self.feature);
        let resolve = |points: &[f64]| {
            let terms = readers.iter().map(|&t| &*engine.terms[t]);
            engine.resolved(points, terms, &f)
        };
        if !pays && engine.watch.is_some() {
            return Curves::where_they_pay(&resolution, &asked, resolve);
        }
        Curves(pays.then(|| resolve(&resolution)).into_iter().collect())
    }

    /// ALE at levels, in their own order.
    fn ale_at_levels(&self, points: &[f64]) -> Vec<Truth> {
        let Some(levels) = self.law().levels() else { return Vec::new() };
        let ale = self.accumulated_by_levels(levels.values());
        let at = |x: &f64| levels.position(*x).map_or(Truth::ZERO, |place| ale[place]);
        points.iter().map(at).collect()
    }

    /// Sums of the mean changes of f from each level to the next, over the rows of both.
    pub(super) fn accumulated_by_levels(&self, order: &[f64]) -> Vec<Truth> {
        let Some(levels) = self.law().levels() else { return Vec::new() };
        let mut sum = Estimate::default();
        let mut all = vec![truth(integrated(sum))];
        for pair in order.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let change = LocalQuantity::Difference { feature: self.feature, from, to };
            let weights = [from, to].map(|x| levels.probability(x));
            for (x, weight) in pair.iter().zip(weights) {
                let engine = &self.scenario.parts.engine;
                let mean = engine.mean(self.feature, *x, Rest::Conditional, change);
                sum = sum.plus(mean.times(weight / (weights[0] + weights[1])));
            }
            all.push(truth(integrated(sum)));
        }
        all
    }

    /// An effect at each of the points: many that need integrals are read off a curve that is
    /// resolved once.
    fn interpolated(&self, effect: Quantity, points: &[f64]) -> Vec<Truth> {
        if self.is_the_same_everywhere(effect) {
            return vec![truth(self.value(effect, self.axis.0)); points.len()];
        }
        let each = || points.iter().map(|&x| truth(self.value(effect, x))).collect();
        let law = self.law();
        if law.levels().is_some() {
            return each();
        }
        let asked =
            if effect == Quantity::Sigma { Some(Pointwise::Sigma2) } else { quantity(effect) };
        if asked.is_some_and(|quantity| self.all_known(quantity, points)) {
            return each();
        }
        // A root is resolved before it is taken.
        let root = effect == Quantity::Sigma;
        let smooth = |x: f64| {
            if !root {
                return self.value(effect, x).0;
            }
            let variance = self.point(Pointwise::Sigma2, x).0;
            Estimate { error: variance.error + NO_VARIANCE * variance.magnitude, ..variance }
        };
        let alone = self.alone(points, |x| self.value(effect, x));
        if let Some(refused) = self.refused(points, &alone) {
            return refused;
        }
        let own = |x: f64| self.own(effect, x);
        let curves = self.through(points, rest_of(effect), |u| {
            let x = law.place(u);
            own(x).map_or_else(|| smooth(x), |own| smooth(x).minus(own))
        });
        let read = |&x: &f64| {
            if let Some((_, known)) = alone.iter().find(|(place, _)| *place == x) {
                return truth(*known);
            }
            let u = law.coordinate(x);
            let known = curves.of(u).and_then(|curve| self.read(curve, u, root));
            let known = known.map(|read| own(x).map_or(read, |own| own.plus(read)));
            truth(known.map_or_else(|| self.value(effect, x), integrated))
        };
        points.iter().map(read).collect()
    }

    /// The part of a mean of f in a problem file that is no integral: terms that read nothing but the feature, which may change
    /// faster than what is integrated.
    fn own(&self, effect: Quantity, x: f64) -> Option<Estimate> {
        let engine = &self.scenario.parts.engine;
        let is_mean = matches!(effect, Quantity::Pd | Quantity::Mplot);
        (is_mean && engine.watch.is_some()).then(|| engine.own(self.feature, x))
    }

    /// A value of a curve, or its root, where that is accurate: near 0 it is less so than its argument, and may be on the
    /// own piece of a curve alone.
    fn read(&self, curve: &Curve, u: f64, root: bool) -> Option<Estimate> {
        let value = self.resolved(curve.at(u), || curve.at_own(u))?;
        if !root {
            return Some(value);
        }
        let is_accurate = |value: &Estimate| value.error < ROOT * (1.0 + value.value);
        let own = || self.scenario.parts.engine.watch.as_ref().map(|_| curve.at_faint(u).sqrt());
        Some(value.sqrt()).filter(is_accurate).or_else(|| own().filter(is_accurate))
    }

    /// A value of a curve; of a problem file that of its own piece where others are not resolved, and none where
    /// that is not either: a curve through a cusp is less accurate than its points.
    fn resolved(&self, value: Estimate, own: impl FnOnce() -> Estimate) -> Option<Estimate> {
        let is_enough = |value: &Estimate| value.error <= PROMISED * (1.0 + value.value.abs());
        if self.scenario.parts.engine.watch.is_none() || is_enough(&value) {
            return Some(value);
        }
        Some(own()).filter(is_enough)
    }

    /// An effect at a point, without the jumps that it accumulates; refused where it takes too many evaluations.
    pub(super) fn value(&self, effect: Quantity, x: f64) -> Known {
        let Some(watch) = &self.scenario.parts.engine.watch else {
            return self.unlimited(effect, x);
        };
        let most = watch.allowance(MOST_OF_AN_ANSWER);
        let known = within_budget(most, || self.unlimited(effect, x));
        known.unwrap_or_else(|| integrated(watch.too_costly(most)))
    }

    fn unlimited(&self, effect: Quantity, x: f64) -> Known {
        interrupt::check();
        if let Some(quantity) = quantity(effect) {
            return self.point(quantity, x);
        }
        let (engine, s) = (&self.scenario.parts.engine, self.feature);
        match effect {
            Quantity::Sigma => standard_deviation(self.point(Pointwise::Sigma2, x)),
            Quantity::Shap => {
                let known = self.at_in_box(effect, x);
                integrated(known.unwrap_or_else(|| engine.mean_shapley(s, x)))
            }
            Quantity::ShapVariance => {
                let known = self.shorter(effect, x).or_else(|| self.at_in_box(effect, x));
                integrated(known.unwrap_or_else(|| {
                    engine.variance_of(s, x, Rest::Conditional, LocalQuantity::Shapley(s))
                }))
            }
            // A sum of terms of x alone is as closed as f itself.
            _ => (engine.main(s, x), Evaluation::Closed),
        }
    }

    /// The integral of the local effect from the lower end of the axis to each of the points.
    fn accumulated(&self, points: &[f64], with_jumps: bool) -> Vec<Truth> {
        if !with_jumps && self.all_known(Pointwise::Accumulated, points) {
            return points.iter().map(|&x| truth(self.point(Pointwise::Accumulated, x))).collect();
        }
        let law = self.law();
        let coordinate = |x: f64| finite_coordinate(law, x);
        let start = coordinate(self.axis.0);
        let ends = points.iter().map(|&x| coordinate(x)).chain([start]);
        let (from, to) =
            ends.fold((f64::INFINITY, -f64::INFINITY), |(a, b), u| (a.min(u), b.max(u)));
        if from == to {
            return vec![truth(integrated(Estimate::default())); points.len()];
        }
        let resolution = self.scenario.resolved(self.feature, &[], from, to);
        let slope = |u: f64| self.slope(with_jumps, law.place(u)).times(law.stretch(u));
        let slope = Piecewise::of_each(&resolution, &mut |places| at_each(places, &slope));
        let before = slope.integral_to(start);
        let margin = |x: f64| self.margin(x, |x| self.slope(with_jumps, x));
        let begun = margin(self.axis.0);
        let from_start = |&x: &f64| {
            let u = coordinate(x);
            if u == start {
                return truth(integrated(begun.minus(margin(x))));
            }
            let within = slope.integral_to(u).minus(before);
            truth(integrated(within.plus(begun).minus(margin(x))))
        };
        points.iter().map(from_start).collect()
    }

    fn law(&self) -> &dyn Univariate {
        self.scenario.parts.engine.margin(self.feature)
    }

    /// Conditional mean jumps of f at its fixed places along the feature.
    pub(super) fn jumps(&self) -> Vec<Jump> {
        // A place that is computed in two ways is one place, and so are those that are as close as jumps are looked for.
        let places = self.scenario.parts.engine.breaks(self.feature);
        let same = |&a: &f64, &b: &f64| b - a <= 4.0 * COARSE * (1.0 + a.abs());
        let jump = |places: &[f64]| {
            let (place, last) = (places[0], places[places.len() - 1]);
            let width = COARSE * (1.0 + place.abs());
            let below = [place.next_down(), place - width, place - 2.0 * width];
            let above = [last.next_up(), last + width, last + 2.0 * width];
            Jump {
                place,
                before: self.jump_between(place, below).times(-1.0),
                after: self.jump_between(place, above),
            }
        };
        places.chunk_by(same).map(jump).collect()
    }

    /// The jump from a place to one beside it. To f as it is written neighbours of a place may be the same number:
    /// where the jump grows by more than f moves on over the same width, it is that to a place further off, and so for
    /// a witness always.
    fn jump_between(&self, z: f64, [beside, off, beyond]: [f64; 3]) -> Truth {
        let (engine, feature) = (&self.scenario.parts.engine, self.feature);
        let step = |from: f64, to: f64| {
            let local = LocalQuantity::Difference { feature, from, to };
            truth(integrated(engine.mean(feature, z, Rest::Conditional, local)))
        };
        let (near, mut far, moved) = (step(z, beside), step(z, off), step(off, beyond));
        let doubt = 2.0 * moved.value.abs() + near.abs_error + far.abs_error;
        if !engine.is_witness() && (far.value - near.value).abs() <= doubt {
            return near;
        }
        far.abs_error += moved.value.abs();
        far
    }

    /// The sum of the jumps between the lower end of the axis and x.
    fn jumped(&self, jumps: &[Jump], x: f64) -> Truth {
        let lo = self.axis.0;
        let mut sum = Truth::ZERO;
        for jump in jumps {
            let z = jump.place;
            if lo < z && z <= x {
                sum = sum.plus(jump.before);
            } else if x < z && z <= lo {
                sum = sum.minus(jump.before);
            }
            if lo <= z && z < x {
                sum = sum.plus(jump.after);
            } else if x <= z && z < lo {
                sum = sum.minus(jump.after);
            }
        }
        sum
    }

    /// The constant that centring subtracts from an effect.
    fn centre(&self, effect: Quantity, centring: Centring) -> Truth {
        let law = self.law();
        let (lo, hi) = self.axis;
        let per_length = 1.0 / (hi - lo);
        let accumulates = matches!(effect, Quantity::Ale | Quantity::AleDerivative);
        match centring {
            Centring::None => Truth::ZERO,
            Centring::Data if effect == Quantity::Ale && law.levels().is_some() => {
                let levels: Vec<(f64, f64)> =
                    law.levels().map_or_else(Vec::new, |l| l.iter().collect());
                let values: Vec<f64> = levels.iter().map(|(x, _)| *x).collect();
                let ale = self.accumulated_by_levels(&values).into_iter().zip(&levels);
                ale.fold(Truth::ZERO, |sum, (value, (_, p))| sum.plus(value.times(*p)))
            }
            Centring::Start if accumulates && law.levels().is_some() => {
                self.ale_at_levels(&[lo])[0]
            }
            Centring::Start if accumulates => Truth::ZERO,
            Centring::Start => truth(self.value(effect, lo)),
            Centring::Integral if effect == Quantity::Ale && self.changes_add_up(effect) => {
                self.over_axis(|x| self.change(x)).times(per_length)
            }
            Centring::Data if effect == Quantity::Ale && self.changes_add_up(effect) => {
                truth(integrated(self.over_law(|x| self.change(x))))
            }
            // The mean of an integral is an integral weighted with the probability beyond.
            Centring::Integral if accumulates => {
                self.mean_of_accumulated(effect, (lo, hi), |x| (hi - x) * per_length)
            }
            Centring::Integral => self.over_axis(|x| self.value(effect, x).0).times(per_length),
            Centring::Data if accumulates => {
                let panels = law.panels();
                let ends = [panels[0], panels[panels.len() - 1]].map(|u| law.place(u));
                let beyond = |x| if x < lo { -law.cdf(x) } else { 1.0 - law.cdf(x) };
                self.mean_of_accumulated(effect, (ends[0].min(lo), ends[1].max(lo)), beyond)
            }
            Centring::Data => truth(integrated(self.over_law(|x| self.value(effect, x).0))),
        }
    }

    /// The mean of an accumulated effect under a law on `ends`, from how probable it is that a
    /// draw lies beyond x on the side away from the start (with a minus sign below the start).
    fn mean_of_accumulated(
        &self,
        effect: Quantity,
        ends: (f64, f64),
        beyond: impl Fn(f64) -> f64,
    ) -> Truth {
        let lo = self.axis.0;
        let moving =
            effect == Quantity::Ale && self.scenario.parts.engine.has_moving_jumps(self.feature);
        let mean_mu = |x| self.slope(moving, x).times(beyond(x));
        // `beyond` changes sign at the start of accumulation.
        let smooth = [(ends.0, lo.min(ends.1)), (lo.max(ends.0), ends.1)]
            .into_iter()
            .filter(|(from, to)| from < to)
            .fold(Truth::ZERO, |sum, part| sum.plus(truth(integrated(self.over(part, mean_mu)))));
        if effect == Quantity::AleDerivative {
            return smooth;
        }
        let inside = |jump: &Jump| ends.0 <= jump.place && jump.place <= ends.1;
        self.jumps().into_iter().filter(inside).fold(smooth, |sum, jump| {
            let z = jump.place;
            if z == lo {
                // A draw above meets the upper half of the jump, a draw below the lower half.
                let above = beyond(z);
                let below = if ends.0 < lo { 1.0 - above } else { 0.0 };
                return sum.plus(jump.after.times(above)).minus(jump.before.times(below));
            }
            sum.plus(jump.before.plus(jump.after).times(beyond(z)))
        })
    }

    /// The mean of a function over the law of the feature.
    pub(super) fn over_law(&self, f: impl Fn(f64) -> Estimate) -> Estimate {
        let law = self.law();
        if let Some(levels) = law.levels() {
            return law.vouched(Estimate::sum(levels.iter().map(|(x, p)| f(x).times(p))));
        }
        let panels = law.panels();
        let points = [self.scenario.resolution(self.feature), &panels].concat();
        let points = within(&points, panels[0], panels[panels.len() - 1]);
        let [mut mean] = integrate(&points, 0.0, |u| [law.weighed(u, f(law.place(u)))]);
        mean.error += self.scenario.parts.engine.doubt() * mean.magnitude;
        law.vouched(mean)
    }

    /// The local quantity that a variance is of, and the law of the others.
    fn local(&self, variance: Pointwise) -> Option<(Rest, LocalQuantity)> {
        let partial = LocalQuantity::Partial(self.feature);
        match variance {
            Pointwise::Sigma2 => Some((Rest::Conditional, partial)),
            Pointwise::HDpdp => Some((Rest::Marginal, partial)),
            Pointwise::HPdp => {
                let centred = LocalQuantity::Centred { feature: self.feature, axis: self.axis };
                Some((Rest::Marginal, centred))
            }
            _ => None,
        }
    }

    /// The integral over the axis of a variance, that has a value at each point. Of a problem file it is simulated where
    /// its values are, or where they take too many evaluations.
    pub(super) fn variance_over_axis(
        &self,
        variance: Pointwise,
        at: impl Fn(f64) -> Estimate,
    ) -> Truth {
        let (lo, hi) = self.axis;
        let Some((rest, local)) = self.local(variance) else { return self.over_axis(at) };
        let engine = &self.scenario.parts.engine;
        if variance == Pointwise::HPdp
            && let Some(known) = engine.integral_of_centred_variance(self.feature, self.axis)
        {
            return truth(integrated(known));
        }
        let simulated = |engine: &Engine| {
            let mean =
                engine.simulated_mean_of_variance(self.feature, Some(self.axis), rest, local);
            mean.map(|mean| truth(integrated(mean.times(hi - lo))))
        };
        self.or_simulated(
            (rest, local),
            &at,
            |at| self.over_axis(at),
            simulated,
            |truth| truth.value,
        )
    }

    /// The integral over the axis of the standard deviation of local effects, as [`Self::variance_over_axis`] that of
    /// their variance.
    pub(super) fn deviation_over_axis(&self, at: impl Fn(f64) -> Estimate) -> Truth {
        let (rest, local) = (Rest::Conditional, LocalQuantity::Partial(self.feature));
        let simulated = |engine: &Engine| {
            let at = |x: f64| {
                let at_x = Some((x, x));
                engine.simulated_mean_of_variance(self.feature, at_x, rest, local)
            };
            engine.watch.as_ref().map(|_| {
                self.over_axis_from_few(|x| at(x).map_or(Estimate::exact(f64::NAN), Estimate::sqrt))
            })
        };
        self.or_simulated(
            (rest, local),
            &at,
            |at| self.over_axis(at),
            simulated,
            |truth| truth.value,
        )
    }

    /// The mean over the law of the feature of the variance of its Shapley value.
    pub(super) fn mean_shapley_variance(&self) -> Estimate {
        let local = LocalQuantity::Shapley(self.feature);
        let simulated = |engine: &Engine| {
            engine.simulated_mean_of_variance(self.feature, None, Rest::Conditional, local)
        };
        if let Some(known) = self.scenario.parts.engine.mean_of_shapley_variance(self.feature) {
            return known;
        }
        let at = |x: f64| self.value(Quantity::ShapVariance, x).0;
        self.or_simulated(
            (Rest::Conditional, local),
            &at,
            |at| self.over_law(at),
            simulated,
            |mean| mean.value,
        )
    }

    /// The integral of variances, each given at a point, simulated where they are or where it takes too many evaluations.
    fn or_simulated<T>(
        &self,
        (rest, local): (Rest, LocalQuantity),
        at: &dyn Fn(f64) -> Estimate,
        integrated: impl Fn(&dyn Fn(f64) -> Estimate) -> T,
        simulated: impl Fn(&Engine) -> Option<T>,
        value: fn(&T) -> f64,
    ) -> T {
        let engine = &self.scenario.parts.engine;
        let Some(watch) = &engine.watch else { return integrated(at) };
        let effect = match local {
            LocalQuantity::Centred { .. } => Quantity::HPdp,
            _ => Quantity::Sigma,
        };
        let first = OnceCell::new();
        let is_same = self.is_the_same_everywhere(effect);
        let at = |x: f64| if is_same { *first.get_or_init(|| at(self.axis.0)) } else { at(x) };
        // Shapley values vary far more than what they are the means of, and are simulated last.
        let is_shapley = matches!(local, LocalQuantity::Shapley(_));
        if !is_shapley && engine.is_of_factors(self.feature, rest, local) {
            return integrated(&at);
        }
        let is_simulated = engine.simulates_variance(self.feature, rest, local);
        // Where each of its values would be simulated the mean is at once.
        let few = |&t: &usize| engine.terms[t].features().len() <= watch.most + 1;
        let most = match (is_shapley, is_simulated) {
            (true, false) => return integrated(&at),
            (true, true) => {
                let can_be = engine.readers(self.feature).iter().all(few)
                    && !engine.has_components(self.feature);
                can_be.then_some(SHAPLEY * MOST_OF_A_VALUE)
            }
            (false, false) => Some(MOST_OF_A_VALUE),
            (false, true) => None,
        };
        let known = most.and_then(|most| {
            let most = watch.limit(most);
            within_budget(most, || integrated(&in_time(2.0 * most, self.values_asked(), &at)))
        });
        if let Some(known) = known.filter(|known| !value(known).is_nan()) {
            return known;
        }
        // What was refused at a point is no reason here.
        Watch::reason();
        simulated(engine).unwrap_or_else(|| integrated(&at))
    }

    /// Values that an integral over the axis asks for at least.
    fn values_asked(&self) -> usize {
        NODES * self.panels(self.axis, &[]).len().saturating_sub(1).max(1)
    }

    pub(super) fn over_axis(&self, f: impl Fn(f64) -> Estimate) -> Truth {
        truth(integrated(self.over(self.axis, f)))
    }

    /// The integral over the axis of a function that is simulated at each point: between places where f breaks alone, as
    /// its values are in more doubt than what a law's panels resolve.
    fn over_axis_from_few(&self, f: impl Fn(f64) -> Estimate) -> Truth {
        let law = self.law();
        let (from, to) = self.axis;
        let ends = [from, to].map(|x| finite_coordinate(law, x));
        let breaks = self.scenario.parts.engine.divisions(self.feature).into_iter();
        let points: Vec<f64> = breaks.map(|x| law.coordinate(x)).collect();
        let points = within(&points, ends[0], ends[1]);
        let [total] = integrate(&points, 0.0, |u| [f(law.place(u)).times(law.stretch(u))]);
        truth(integrated(total.plus(self.margin(from, &f)).minus(self.margin(to, &f))))
    }

    /// The integral of a function along the feature.
    fn over(&self, ends: (f64, f64), f: impl Fn(f64) -> Estimate) -> Estimate {
        let law = self.law();
        let [total] = self.integrals(ends, &[], |u| [f(law.place(u)).times(law.stretch(u))]);
        total.plus(self.margin(ends.0, &f)).minus(self.margin(ends.1, &f))
    }

    /// The integral of a function from a place whose coordinate is infinite to the place nearest to it from which
    /// integrals over the coordinate are taken: narrow, but wider than rounding. It is nothing elsewhere.
    fn margin(&self, x: f64, f: impl Fn(f64) -> Estimate) -> Estimate {
        let law = self.law();
        if law.coordinate(x).is_finite() || !x.is_finite() {
            return Estimate::default();
        }
        let near = law.place(finite_coordinate(law, x));
        let (width, middle) = (near - x, 0.5 * (near + x));
        let known = f(near).times(width);
        if middle == near || middle == x {
            return Estimate { error: known.error + known.value.abs(), ..known };
        }
        // What f does in between is not known but for the middle: from there to either end as much again.
        let part = f(middle).times(width);
        Estimate { error: part.error + 2.0 * (part.value - known.value).abs(), ..part }
    }

    /// Integrals over the coordinate of the feature between two of its values, with further places
    /// to resolve.
    fn integrals<const M: usize>(
        &self,
        ends: (f64, f64),
        places: &[f64],
        f: impl Fn(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        integrate(&self.panels(ends, places), 0.0, f)
    }

    /// The limits of the panels of such integrals, in the coordinate; none where there is nothing to integrate.
    fn panels(&self, (from, to): (f64, f64), places: &[f64]) -> Vec<f64> {
        if from >= to {
            return Vec::new();
        }
        let law = self.law();
        let ends = [from, to].map(|x| finite_coordinate(law, x));
        let further: Vec<f64> = places.iter().map(|&x| law.coordinate(x)).collect();
        self.scenario.resolved(self.feature, &further, ends[0], ends[1])
    }

    /// As [`Self::integrals`], of what takes about so many evaluations at each point; refused where these are too many.
    fn integrals_in_time<const M: usize>(
        &self,
        ends: (f64, f64),
        places: &[f64],
        cost: f64,
        f: impl Fn(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let panels = self.panels(ends, places);
        let Some(watch) = &self.scenario.parts.engine.watch else {
            return integrate(&panels, 0.0, f);
        };
        let most = watch.allowance(MOST_OF_AN_ANSWER);
        let least = cost * (NODES * panels.len().saturating_sub(1)) as f64;
        let known = (least <= most).then(|| within_budget(most, || integrate(&panels, 0.0, f)));
        known.flatten().unwrap_or_else(|| [watch.too_costly(most); M])
    }

    /// Averages over the bins of a local mean and variance, given the point and the bin.
    fn each_bin(
        &self,
        limits: &[f64],
        weighting: Weighting,
        moments: impl Fn(f64, f64, f64) -> Moments,
    ) -> Result<Vec<BinTruth>, Error> {
        let law = self.law();
        let median = match weighting {
            Weighting::Uniform => None,
            Weighting::Data => Some(law.quantile(0.5)),
        };
        let bin = |ends: &[f64]| {
            let (lo, hi) = (ends[0], ends[1]);
            // Squares are taken about the effect where the bin has its weight, so that subtracting
            // the square of their mean cancels nothing that matters.
            let typical = median.map_or(0.5 * (lo + hi), |median| median.clamp(lo, hi));
            let (reference, cost) = with_cost(|| moments(typical, lo, hi).mean.value);
            if reference.is_nan() {
                return Ok(unknown_bin(lo, hi));
            }
            let places = self.scenario.parts.engine.passages_of_difference(self.feature, [lo, hi]);
            let sums = self.integrals_in_time((lo, hi), &places, cost, |u| {
                let Moments { mean, variance } = moments(law.place(u), lo, hi);
                let weight = median.map_or_else(|| law.stretch(u), |_| law.weight(u));
                let mut square = mean.squared_from(reference);
                square.magnitude += 1e-6 * mean.magnitude * mean.magnitude;
                let of_one = Estimate::exact(1.0);
                [of_one, mean, square, variance].map(|estimate| estimate.times(weight))
            });
            bin_truth(&|| self.scenario.feature_name(self.feature), (lo, hi), sums, reference)
        };
        limits.windows(2).map(bin).collect()
    }
}

/// A bin of which nothing is known, to be refused with the reason.
fn unknown_bin(lo: f64, hi: f64) -> BinTruth {
    let [mu, sigma2, sigma2_star, bin_error, abs_error] = [f64::NAN; 5];
    let method = Evaluation::Quadrature;
    BinTruth { lo, hi, mu, sigma2, sigma2_star, bin_error, abs_error, method }
}

/// A bin from the integrals over it of the weight, and of the weight times the mean, the squared
/// deviation of the mean from the reference, and the variance.
fn bin_truth(
    feature: &dyn Fn() -> String,
    (lo, hi): (f64, f64),
    [mass, mean, square, variance]: [Estimate; 4],
    reference: f64,
) -> Result<BinTruth, Error> {
    // Below this the density has lost its digits.
    if mass.value < 1e-280 {
        return Err(Error::EmptyBin { feature: feature(), low: lo, high: hi });
    }
    let doubt = mass.error / mass.value;
    let average = |sum: Estimate| {
        let value = sum.value / mass.value;
        (value, sum.error / mass.value + value.abs() * doubt)
    };
    let (mu, mu_error) = average(mean);
    let (sigma2, sigma2_error) = average(variance);
    let (about_reference, square_error) = average(square);
    let shift = mu - reference;
    let bin_error = (about_reference - shift * shift).max(0.0);
    let bin_doubt = square_error + 2.0 * shift.abs() * mu_error + mu_error * mu_error;
    let abs_error = mu_error.max(sigma2_error + bin_doubt);
    if [mu, sigma2, bin_error, abs_error].iter().any(|number| number.is_infinite()) {
        return Err(Error::large_bin(&feature(), lo, hi));
    }
    Ok(BinTruth {
        lo,
        hi,
        mu,
        sigma2,
        sigma2_star: sigma2 + bin_error,
        bin_error,
        abs_error,
        method: integrated(mean.plus(square).plus(variance)).1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::one_by_one;
    use crate::numeric::special::normal_cdf;

    /// A mass of ½, a mean slope of 2 ± 0.1, its mean square distance 10 ± 0.02 from −1, a variance of 2 ± 0.06.
    #[test]
    fn bins_are_means_with_their_errors() {
        let part =
            |value: f64, error: f64| Estimate { value, magnitude: value, error, simulated: false };
        let parts = [part(0.5, 0.0), part(1.0, 0.05), part(5.0, 0.01), part(1.0, 0.03)];
        let bin = bin_truth(&|| "x1".into(), (0.0, 1.0), parts, -1.0).unwrap();
        assert_eq!((bin.mu, bin.sigma2, bin.bin_error), (2.0, 2.0, 1.0));
        // 0.06, and of the distance 0.02 + 2·3·0.1 + 0.1².
        assert!((bin.abs_error - 0.69).abs() < 1e-15, "{}", bin.abs_error);
        let parts = [part(0.5, 0.1), part(1.0, 0.05), part(4.5, 0.0), part(0.0, 0.0)];
        let bin = bin_truth(&|| "x1".into(), (0.0, 1.0), parts, 2.0).unwrap();
        // The mass is known to a fifth: 0.1 + 2/5 of the mean, 9/5 and 0.5² of the distance.
        assert!((bin.abs_error - (1.8 + 0.25)).abs() < 1e-14, "{}", bin.abs_error);
    }

    /// Below and at a jump, above it, and from an axis that begins on either side.
    #[test]
    fn jumps_are_passed_in_both_directions() {
        let scenario = crate::scenario("poly3", &[]).unwrap();
        let of = |value: f64| Truth { value, abs_error: 0.0, method: Evaluation::Closed };
        let jumps = [Jump { place: 0.0, before: of(2.0), after: of(5.0) }];
        for (lo, x, known) in [
            (-1.0, -0.5, 0.0),
            (-1.0, 0.0, 2.0),
            (-1.0, 1.0, 7.0),
            (0.0, 1.0, 5.0),
            (0.0, 0.0, 0.0),
            (0.0, -1.0, -2.0),
            (1.0, 0.0, -5.0),
            (1.0, -1.0, -7.0),
            (1.0, 2.0, 0.0),
            (-2.0, -1.0, 0.0),
        ] {
            let on = OneFeature { scenario: &scenario, feature: 0, axis: (lo, 3.0) };
            assert_eq!(on.jumped(&jumps, x).value, known, "from {lo} to {x}");
        }
    }

    /// Of three intervals the first and the last hold many coordinates, the second few.
    #[test]
    fn a_curve_is_made_where_it_takes_fewer_values_than_points() {
        let even = |from: f64, count: usize| {
            (0..count).map(move |k| from + (k as f64 + 0.5) / count as f64).collect::<Vec<f64>>()
        };
        let asked = RefCell::new(Vec::new());
        let f = |u: f64| {
            asked.borrow_mut().push(u);
            Estimate::exact(u * u)
        };
        let coordinates = [even(0.0, 100), even(1.0, PAYS - 1), even(2.0, PAYS)].concat();
        let places = [0.0, 1.0, 2.0, 3.0];
        let curves = Curves::where_they_pay(&places, &coordinates, |ends| {
            Curve::smooth(ends, &mut one_by_one(f))
        });
        assert_eq!(curves.0.len(), 2);
        assert_eq!(asked.borrow().len(), 2 * NODES);
        assert!(asked.borrow().iter().all(|u| !(1.0..2.0).contains(u)));
        assert!(curves.of(1.5).is_none() && curves.of(3.5).is_none());
        for u in [0.5, 2.5] {
            let value = curves.of(u).unwrap().at(u);
            assert!((value.value - u * u).abs() <= value.error, "{value:?} at {u}");
        }
    }

    /// The slope is 1 below a fold and −1 above it. Ten standard deviations from it the other side has a mass of 1e-23,
    /// and the standard deviation is its root: alone and on a curve, of a file and of the built-in scenario.
    #[test]
    fn a_fold_far_out_is_seen_by_the_root_of_its_mass() {
        let text = "f = \"if(x1 + x2 <= 0.5, x1 + x2, 1 - x1 - x2)\"\n\
                    [law]\nx1 = \"uniform(0, 1)\"\nx2 = \"x1 + normal(0, 0.01)\"\n";
        let mine = crate::problem("mine", text, &[]).unwrap();
        let built_in = crate::scenario("threshold-linear", &[]).unwrap();
        let near: Vec<f64> = (0..40).map(|k| 0.193 + 2e-4 * f64::from(k)).collect();
        let grid: Vec<f64> = (0..400).map(|k| f64::from(k) / 2000.0 + 0.1).collect();
        let ask = |scenario: &Scenario, feature: usize, points: &[f64]| {
            scenario.curve(Quantity::Sigma, feature, points, (0.0, 1.0), Centring::None).unwrap()
        };
        for (scenario, feature) in [(&mine, 0), (&mine, 1), (&built_in, 1)] {
            let place = |x: f64| if feature == 0 { x } else { 0.5 - x };
            let at = |x: &f64| place(*x);
            let alone = near.iter().map(|x| (at(x), ask(scenario, feature, &[at(x)])[0]));
            let mut together: Vec<f64> = grid.iter().map(at).collect();
            together.sort_by(f64::total_cmp);
            let on_curve = ask(scenario, feature, &together).into_iter();
            for (x, found) in alone.chain(together.iter().copied().zip(on_curve)) {
                let away = (2.0 * x - 0.5).abs() / 0.01;
                let share = normal_cdf(-away);
                let known = 2.0 * (share * (1.0 - share)).sqrt();
                let off = (found.value - known).abs();
                let bound = found.abs_error + 1e-14 * known + 1e-15;
                assert!(off <= bound, "x{} at {x}: {found:?}, not {known:e}", feature + 1);
            }
        }
    }

    /// A fold along which two related features meet, with places too close for one curve: many points are those asked one
    /// by one, for less than two thirds of the evaluations; where a variance is 0 its root is read off a curve as well.
    #[test]
    fn many_points_are_asked_on_curves() {
        let text = "f = \"if(x1 + x2 <= 0.5, x1 + x2, 1 - x1 - x2)\"\n\
                    [law]\nx1 = \"uniform(0, 1)\"\nx2 = \"x1 + normal(0, 0.01)\"\n";
        let scenario = || crate::problem("mine", text, &[]).unwrap();
        let points: Vec<f64> = (0..400).map(|k| f64::from(k) / 399.0).collect();
        for effect in [Quantity::Mplot, Quantity::Sigma, Quantity::HPdp, Quantity::ShapVariance] {
            let ask = |scenario: &Scenario, points: &[f64]| {
                scenario.curve(effect, 0, points, (0.0, 1.0), Centring::None).unwrap()
            };
            let (many, alone) = (scenario(), scenario());
            let (curve, cost) = with_cost(|| ask(&many, &points));
            let (each, cost_of_each) =
                with_cost(|| points.iter().map(|x| ask(&alone, &[*x])[0]).collect::<Vec<Truth>>());
            assert!(3.0 * cost < 2.0 * cost_of_each, "{effect}: {cost} and {cost_of_each}");
            for ((a, b), x) in curve.iter().zip(&each).zip(&points) {
                let (off, bound) = ((a.value - b.value).abs(), a.abs_error + b.abs_error);
                assert!(off <= bound && a.abs_error < 1e-9, "{effect} at {x}: {a:?}, {b:?}");
            }
        }
    }

    /// A power begins at the end of a law, where a series through what is beside it is off by more than it seems.
    #[test]
    fn the_end_of_a_law_is_asked_alone() {
        let text = "f = \"x1^0.7*x2\"\n[law]\nx1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 2)\"\n";
        let scenario = crate::problem("mine", text, &[]).unwrap();
        let points: Vec<f64> = (0..=200).map(|k| f64::from(k) / 200.0).collect();
        for effect in [Quantity::Pd, Quantity::Mplot, Quantity::Ale] {
            let curve = scenario.curve(effect, 0, &points, (0.0, 1.0), Centring::None).unwrap();
            for (truth, x) in curve.iter().zip(&points) {
                let off = (truth.value - x.powf(0.7)).abs();
                assert!(off <= truth.abs_error, "{effect} at {x}: {truth:?}, off by {off:e}");
            }
        }
    }

    /// A wave of the feature alone costs nothing: what is resolved is the mean over the others.
    #[test]
    fn what_a_mean_holds_of_the_feature_alone_is_not_resolved() {
        let cost = |own: &str| {
            let text = format!(
                "f = \"x1*x2^2 + {own}\"\n[law]\nx1 = \"normal(0, 1)\"\nx2 = \"normal(0, 1)\"\n\
                 x3 = \"normal(0, 1)\"\n[copula]\n\
                 gaussian = [[\"x1\", \"x3\", 0.5], [\"x2\", \"x3\", 0.5]]\n"
            );
            let scenario = crate::problem("mine", &text, &[]).unwrap();
            let points: Vec<f64> = (0..=400).map(|k| 0.01 * f64::from(k - 200)).collect();
            let ask = || scenario.curve(Quantity::Mplot, 2, &points, (-2.0, 2.0), Centring::None);
            let (curve, cost) = with_cost(|| ask().unwrap());
            (curve[300].value, cost)
        };
        let (line, wave) = (cost("x3"), cost("sin(400*x3)"));
        assert_eq!(line.1, wave.1);
        // x1 and x2 given x3 = 1 have mean ½ and variance ¾ each, and the covariance −¼.
        let known = 0.5 * (0.25 + 0.75) + 2.0 * 0.5 * -0.25;
        assert!((line.0 - known - 1.0).abs() < 1e-9, "{line:?}");
        assert!((wave.0 - known - 400_f64.sin()).abs() < 1e-9, "{wave:?}");
    }

    /// Of 4 as a sum of 5 and −1 rounding is lost relative to 1, and half of that of its root.
    #[test]
    fn a_root_is_in_doubt_by_what_its_square_has_lost() {
        let root = |value: f64, magnitude: f64| {
            let variance = Estimate { value, magnitude, error: 0.0, simulated: false };
            standard_deviation((variance, Evaluation::Closed)).0
        };
        let lost = 8.0 * f64::EPSILON;
        let (found, exact) = (root(4.0, 5.0), root(4.0, 4.0));
        assert_eq!((found.value, exact.error), (2.0, 3e-12));
        assert!(((found.error - exact.error) / (0.5 * lost) - 1.0).abs() < 0.3, "{found:?}");
        // Near 0 it is lost wholly.
        for value in [0.0, 1e-20] {
            let doubt = root(value, 1.0 + value).error - root(value, value).error;
            assert!((doubt / lost.sqrt() - 1.0).abs() < 1e-3, "{value}: {doubt:e}");
        }
    }

    /// A square a² (x − m)²/12, m the middle of the axis, whose argument is a difference of numbers that are rounded.
    #[test]
    fn closed_forms_far_out_are_in_doubt_by_their_arguments() {
        let error = |alpha: &str, x: f64, axis: (f64, f64)| {
            let set = [("alpha".into(), alpha.into())];
            let scenario = crate::scenario("threshold-linear", &set).unwrap();
            let on = OneFeature { scenario: &scenario, feature: 2, axis };
            let found = on.known(Pointwise::HPdp, x).unwrap();
            (found.error, closed(found.value, 0.0).0.error)
        };
        // Not as far as a hundred.
        for x in [-50.0, 0.0, 99.0, 100.0] {
            let (found, least) = error("1000", x, (x - 0.002, x));
            assert_eq!(found, least, "{x}");
        }
        let (found, least) = error("1", 1e6 + 0.5, (1e6 - 1.0, 1e6 + 1.0));
        // The slope of 1/12 times 4 roundings of 10⁶, once for x, and by half for either end of the axis.
        let known = 2.0 * 4.0 * f64::EPSILON * 1e6 / 12.0;
        assert!(found > least && (found / known - 1.0).abs() < 0.3, "{found:e}, not {known:e}");
    }

    /// Means over a law that is a quotient are in doubt by that.
    #[test]
    fn means_over_a_region_are_in_doubt_by_its_density() {
        let region = crate::Region::default().and(0, 0.25, 0.75);
        let scenario = crate::scenario("friedman1", &[]).unwrap().leaf(&region).unwrap();
        let on = OneFeature { scenario: &scenario, feature: 0, axis: scenario.axis(0) };
        let found = on.over_law(|_| Estimate { error: 0.0, ..Estimate::exact(2.0) });
        assert!((found.value - 2.0).abs() < 1e-14, "{found:?}");
        assert!((found.error / (1e-12 * 2.0) - 1.0).abs() < 0.01, "{found:?}");
    }

    /// At the lower end f is infinite: nothing is asked of the curve beyond it. At the start of an axis an accumulated effect
    /// is 0 whatever f does.
    #[test]
    fn a_curve_that_is_refused_at_an_end_is_refused_at_once() {
        let text = "f = \"exp(x1*x2*x3)/(x1 - 1)^2\"\n[law]\nx1 = \"uniform(0, 1)\"\n\
                    x2 = \"uniform(0, 1)\"\nx3 = \"uniform(0, 1)\"\n";
        let scenario = crate::problem("mine", text, &[]).unwrap();
        let points: Vec<f64> = (0..=1000).map(|k| f64::from(k) / 1000.0).collect();
        let ask = |points: &[f64]| {
            let ask = || scenario.curve(Quantity::Pd, 0, points, (0.0, 1.0), Centring::None);
            with_cost(ask)
        };
        let (refused, cost) = ask(&points);
        assert!(refused.unwrap_err().to_string().contains("pd of x1 at 1:"));
        let (known, cost_of_known) = ask(&points[..1000]);
        assert!(known.is_ok());
        assert!(cost * 10.0 < cost_of_known, "{cost} of {cost_of_known}");
        let ale = |x: f64| scenario.curve(Quantity::Ale, 0, &[x], (0.5, 1.0), Centring::None);
        assert_eq!(ale(0.5).unwrap()[0].value, 0.0);
    }
}
