//! Truths of a scenario: closed where it knows a closed form, integrated where it does not.

use fe_core::interrupt;

use crate::closed::Quantity;
use crate::engine::{Local, Moments, Rest};
use crate::error::number;
use crate::kinds::{BinTruth, Centring, DifferenceTruth, Effect, Method, Truth, Weighting};
use crate::law::Univariate;
use crate::quadrature::{Estimate, Piecewise, integrate, within};
use crate::{Error, Scenario};

/// An estimate and how it was obtained.
type Known = (Estimate, Method);

/// A closed form evaluated in floating point, from summands of the given size in all; 0 if that is
/// not known.
fn closed(value: f64, size: f64) -> Known {
    let magnitude = value.abs().max(size);
    let error = if size > 0.0 { 1e-13 + rounding(magnitude) } else { 1e-12 * (1.0 + value.abs()) };
    (Estimate { value, magnitude, error }, Method::Closed)
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

/// What rounding may do to a sum whose summands have this size in all.
fn rounding(size: f64) -> f64 {
    8.0 * f64::EPSILON * size
}

/// The root of a variance. Those in closed form are sums of squares, relatively accurate also where
/// they are small, so that their roots are as accurate as other closed forms.
fn standard_deviation((variance, method): Known) -> Known {
    if method != Method::Closed {
        return (variance.sqrt(), method);
    }
    let root = variance.value.max(0.0).sqrt();
    let lost = rounding(variance.magnitude - variance.value.abs());
    let doubt = if root > 0.0 { (lost / root).min(lost.sqrt()) } else { lost.sqrt() };
    let (mut estimate, method) = closed(root, 0.0);
    estimate.error += doubt;
    (estimate, method)
}

fn integrated(estimate: Estimate) -> Known {
    (estimate, Method::Quadrature)
}

fn truth((estimate, method): Known) -> Truth {
    Truth { value: estimate.value, abs_error: estimate.error, method }
}

/// Beyond this size differences of arguments of a closed form may be off by more than its bound.
const FAR: f64 = 100.0;

/// The name of a value, and the value or why there is none.
type NamedAnswer = (&'static str, Result<Truth, Error>);

/// Largest error of a root that is taken of a resolved curve.
const ROOT: f64 = 1e-11;

/// So many points for every one that resolves the feature make a curve through all pay.
const PAYS: usize = 25;

/// The quantity that an effect is at each point, where it is one.
fn quantity(effect: Effect) -> Option<Quantity> {
    Some(match effect {
        Effect::Pd => Quantity::Pd,
        Effect::Dpd => Quantity::Dpd,
        Effect::Mplot => Quantity::Mplot,
        Effect::Mu => Quantity::Mu,
        Effect::HPdp => Quantity::HPdp,
        Effect::HDpdp => Quantity::HDpdp,
        Effect::Ale | Effect::AleDerivative => Quantity::Accumulated,
        Effect::Sigma | Effect::Main | Effect::Shap | Effect::ShapVariance => return None,
    })
}

/// The effect that a quantity is, or is the square of.
fn effect_of(quantity: Quantity) -> Effect {
    match quantity {
        Quantity::Pd => Effect::Pd,
        Quantity::Dpd => Effect::Dpd,
        Quantity::Mplot => Effect::Mplot,
        Quantity::Mu => Effect::Mu,
        Quantity::Sigma2 => Effect::Sigma,
        Quantity::HPdp => Effect::HPdp,
        Quantity::HDpdp => Effect::HDpdp,
        Quantity::Accumulated => Effect::AleDerivative,
    }
}

/// Jumps of the mean of f at a fixed place z, given x_s = z.
#[derive(Debug, Clone, Copy)]
struct Jump {
    place: f64,
    /// From just below the place to the value at it.
    before: Truth,
    /// From the value at the place to just above it.
    after: Truth,
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
        effect: Effect,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error> {
        self.check_axis(feature, axis)?;
        self.check_points(feature, points)?;
        if centring != Centring::None && !effect.is_curve() {
            return Err(Error::NotCentrable { effect });
        }
        if effect == Effect::Main && !self.parts.engine.is_additive(feature) {
            return Err(Error::NotAdditive { scenario: self.info().name, feature });
        }
        let on = OneFeature { scenario: self, feature, axis };
        let constant = on.centre(effect, centring);
        let curve = on.raw(effect, points).into_iter().zip(points);
        let curve: Vec<(Truth, f64)> =
            curve.map(|(value, &x)| (value.minus(constant), x)).collect();
        self.judge(curve.iter().map(|(value, _)| (value.value, value.abs_error)))?;
        curve
            .into_iter()
            .map(|(value, x)| {
                value.told(|| format!("{effect} of x{} at {}", feature + 1, number(&x)))
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
        let on = self.binned(feature, limits)?;
        let bins = on.each_bin(limits, weighting, |z, _, _| {
            let easy =
                |quantity| on.known(quantity, z).or_else(|| on.shorter(effect_of(quantity), z));
            match (easy(Quantity::Mu), easy(Quantity::Sigma2)) {
                (Some(mean), Some(variance)) => Moments { mean, variance },
                _ => on.moments(z, Rest::Conditional, Local::Partial(feature)),
            }
        })?;
        self.judge_bins(&bins)?;
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
        let on = self.binned(feature, limits)?;
        let bins = on.each_bin(limits, Weighting::Data, |z, from, to| {
            let known = self.forms().and_then(|forms| {
                let (mean, variance) = forms.difference(feature, from, to, z)?;
                let mean = closed(mean, forms.size_of_difference(feature, from, to, z)).0;
                let mut moments = Moments { mean, variance: closed(variance, 0.0).0 };
                moments.mean.error += forms.error_of_difference();
                moments.variance.error += forms.error_of_difference();
                Some(moments)
            });
            known.unwrap_or_else(|| {
                on.moments(z, Rest::Conditional, Local::Difference { feature, from, to })
            })
        })?;
        self.judge_bins(&bins)?;
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
        let per_length = 1.0 / (axis.1 - axis.0);
        let integral = on.over_axis(|x| on.point(Quantity::Sigma2, x).0);
        let values = vec![
            ("pdp.mean", on.over_axis(|x| on.point(Quantity::HPdp, x).0).times(per_length)),
            ("dpdp.mean", on.over_axis(|x| on.point(Quantity::HDpdp, x).0).times(per_length)),
            ("ale.integral", integral),
            ("ale.mean_range", integral.times(per_length)),
            ("ale.integral_sd", on.over_axis(|x| on.value(Effect::Sigma, x).0)),
            ("shap.mean", truth(integrated(on.over_law(|x| on.value(Effect::ShapVariance, x).0)))),
        ];
        let told = |(name, value): (&'static str, Truth)| {
            let (lo, hi) = axis;
            let ends = || [lo, hi].map(|end| number(&end)).join(", ");
            let what = || format!("{name} of x{} over [{}]", feature + 1, ends());
            let judged = self.judge([(value.value, value.abs_error)]);
            (name, judged.and_then(|()| value.told(what)))
        };
        Ok(values.into_iter().map(told).collect())
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
        let mut values: Vec<Truth> = (0..dimension).map(&mut value).collect();
        values.push(self.mean()?);
        self.judge(values.iter().map(|value| (value.value, value.abs_error)))?;
        let told = |(feature, value): (usize, Truth)| {
            value.told(|| format!("the Shapley value of x{} at {point:?}", feature + 1))
        };
        values.into_iter().enumerate().map(told).collect()
    }

    /// `E f(X)`.
    ///
    /// # Errors
    /// [`Error::NoTruth`] for a scenario in a file that has none.
    pub fn mean(&self) -> Result<Truth, Error> {
        let known =
            self.forms().and_then(|forms| Some(closed(forms.mean()?, forms.size_of_mean())));
        let mean = truth(known.unwrap_or_else(|| integrated(self.parts.engine.mean_f())));
        self.judge([(mean.value, mean.abs_error)])?;
        Ok(mean)
    }

    /// Standard deviation of `f(X)`.
    ///
    /// # Errors
    /// [`Error::NoTruth`] for a scenario in a file that has none.
    pub fn sd(&self) -> Result<Truth, Error> {
        let known = self
            .forms()
            .and_then(|forms| Some(closed(forms.variance()?, forms.size_of_variance())));
        let variance = known.unwrap_or_else(|| integrated(self.parts.engine.variance_f()));
        let sd = truth(standard_deviation(variance));
        self.judge([(sd.value, sd.abs_error)])?;
        Ok(sd)
    }

    /// Ascending points that resolve integrals along a feature between two of its coordinates.
    pub(crate) fn resolved(&self, feature: usize, further: &[f64], from: f64, to: f64) -> Vec<f64> {
        let outwards = self.parts.engine.margin(feature).outwards(from, to);
        let points = [&self.resolution[feature][..], further, &outwards].concat();
        within(&points, from, to)
    }

    pub(crate) fn check_feature(&self, feature: usize) -> Result<(), Error> {
        let dimension = self.dimension();
        if feature < dimension { Ok(()) } else { Err(Error::NoSuchFeature { feature, dimension }) }
    }

    pub(crate) fn check_axis(&self, feature: usize, (low, high): (f64, f64)) -> Result<(), Error> {
        self.check_feature(feature)?;
        let support = self.support(feature);
        let finite = low.is_finite() && high.is_finite() && (high - low).is_finite();
        if finite && support.0 <= low && low < high && high <= support.1 {
            return Ok(());
        }
        Err(Error::BadAxis { feature, low, high, support })
    }

    pub(crate) fn check_points(&self, feature: usize, points: &[f64]) -> Result<(), Error> {
        let (low, high) = self.support(feature);
        let outside = |x: &&f64| !(x.is_finite() && low <= **x && **x <= high);
        match points.iter().find(outside) {
            None => Ok(()),
            Some(&given) => Err(Error::OutsideSupport { feature, given, low, high }),
        }
    }

    fn binned(&self, feature: usize, limits: &[f64]) -> Result<OneFeature<'_>, Error> {
        self.check_feature(feature)?;
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
struct OneFeature<'a> {
    scenario: &'a Scenario,
    feature: usize,
    axis: (f64, f64),
}

impl OneFeature<'_> {
    /// The closed form of a quantity, where there is one.
    fn known(&self, quantity: Quantity, x: f64) -> Option<Estimate> {
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

    fn shorter(&self, effect: Effect, x: f64) -> Option<Estimate> {
        self.scenario.forms()?.shorter(effect, self.feature, x, self.axis)
    }

    /// Whether all points have a closed form.
    fn all_known(&self, quantity: Quantity, points: &[f64]) -> bool {
        points.iter().all(|&x| self.known(quantity, x).is_some())
    }

    fn moments(&self, x: f64, rest: Rest, local: Local) -> Moments {
        self.scenario.parts.engine.moments(self.feature, x, rest, local)
    }

    /// A quantity at a point. [`Quantity::Accumulated`] is integrated in [`Self::accumulated`].
    fn point(&self, quantity: Quantity, x: f64) -> Known {
        interrupt::check();
        if let Some(estimate) = self.known(quantity, x) {
            return (estimate, Method::Closed);
        }
        if let Some(estimate) = self.shorter(effect_of(quantity), x) {
            return integrated(estimate);
        }
        let (engine, s) = (&self.scenario.parts.engine, self.feature);
        let partial = Local::Partial(s);
        let centred = Local::Centred { feature: s, axis: self.axis };
        integrated(match quantity {
            Quantity::Pd => engine.mean_value(s, x, Rest::Marginal),
            Quantity::Mplot => engine.mean_value(s, x, Rest::Conditional),
            Quantity::Dpd => engine.mean(s, x, Rest::Marginal, partial),
            Quantity::Mu => engine.mean(s, x, Rest::Conditional, partial),
            Quantity::Sigma2 => self.moments(x, Rest::Conditional, partial).variance,
            Quantity::HPdp => self.moments(x, Rest::Marginal, centred).variance,
            Quantity::HDpdp => self.moments(x, Rest::Marginal, partial).variance,
            Quantity::Accumulated => self.over((self.axis.0, x), |x| self.slope(false, x)),
        })
    }

    /// The local effect that accumulates: mu, with jumps at moving places if they count.
    fn slope(&self, with_jumps: bool, x: f64) -> Estimate {
        let mu = self.point(Quantity::Mu, x).0;
        if with_jumps {
            mu.plus(self.scenario.parts.engine.moving_jumps(self.feature, x))
        } else {
            mu
        }
    }

    /// The effect at the points, before centring.
    fn raw(&self, effect: Effect, points: &[f64]) -> Vec<Truth> {
        match effect {
            Effect::AleDerivative => self.accumulated(points, false),
            Effect::Ale => {
                let jumps = self.jumps();
                let moving = self.scenario.parts.engine.has_moving_jumps(self.feature);
                let smooth = self.accumulated(points, moving).into_iter().zip(points);
                smooth.map(|(value, &x)| value.plus(self.jumped(&jumps, x))).collect()
            }
            Effect::Main => points.iter().map(|&x| truth(self.value(effect, x))).collect(),
            _ => self.interpolated(effect, points),
        }
    }

    /// An effect at each of the points: many that need integrals are read off a curve that is
    /// resolved once.
    fn interpolated(&self, effect: Effect, points: &[f64]) -> Vec<Truth> {
        let each = || points.iter().map(|&x| truth(self.value(effect, x))).collect();
        let law = self.law();
        let coordinates: Vec<f64> = points.iter().map(|&x| law.coordinate(x)).collect();
        let finite = || coordinates.iter().copied().filter(|u| u.is_finite());
        let (from, to) =
            (finite().fold(f64::INFINITY, f64::min), finite().fold(-f64::INFINITY, f64::max));
        if from >= to {
            return each();
        }
        let resolution = self.scenario.resolved(self.feature, &[], from, to);
        let asked = if effect == Effect::Sigma { Some(Quantity::Sigma2) } else { quantity(effect) };
        let known = asked.is_some_and(|quantity| self.all_known(quantity, points));
        if points.len() < PAYS * resolution.len() || known {
            return each();
        }
        // A root is resolved before it is taken.
        let root = effect == Effect::Sigma;
        let smooth = |x: f64| {
            if root { self.point(Quantity::Sigma2, x).0 } else { self.value(effect, x).0 }
        };
        let curve = Piecewise::of(&resolution, |u| smooth(law.place(u)));
        let breaks = self.scenario.parts.engine.breaks(self.feature);
        let read = |(&x, &u): (&f64, &f64)| {
            // At a break the value is that of one side.
            let known = (curve.covers(u) && !breaks.contains(&x)).then(|| curve.at(u));
            let known = known.map(|value| if root { value.sqrt() } else { value });
            // Near 0 a root is less accurate than its argument.
            let accurate = known.filter(|value| !root || value.error < ROOT * (1.0 + value.value));
            truth(accurate.map_or_else(|| self.value(effect, x), integrated))
        };
        points.iter().zip(&coordinates).map(read).collect()
    }

    /// An effect at a point, without the jumps that it accumulates.
    fn value(&self, effect: Effect, x: f64) -> Known {
        interrupt::check();
        if let Some(quantity) = quantity(effect) {
            return self.point(quantity, x);
        }
        let (engine, s) = (&self.scenario.parts.engine, self.feature);
        match effect {
            Effect::Sigma => standard_deviation(self.point(Quantity::Sigma2, x)),
            Effect::Shap => integrated(engine.mean_shapley(s, x)),
            Effect::ShapVariance => {
                integrated(self.shorter(effect, x).unwrap_or_else(|| {
                    self.moments(x, Rest::Conditional, Local::Shapley(s)).variance
                }))
            }
            // A sum of terms of x alone is as closed as f itself.
            _ => (engine.main(s, x), Method::Closed),
        }
    }

    /// The integral of the local effect from the lower end of the axis to each of the points.
    fn accumulated(&self, points: &[f64], with_jumps: bool) -> Vec<Truth> {
        if !with_jumps && self.all_known(Quantity::Accumulated, points) {
            return points.iter().map(|&x| truth(self.point(Quantity::Accumulated, x))).collect();
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
        let slope = Piecewise::of(&resolution, |u| {
            self.slope(with_jumps, law.place(u)).times(law.stretch(u))
        });
        let before = slope.integral_to(start);
        let from_start = |&x: &f64| {
            let u = coordinate(x);
            if u == start {
                return truth(integrated(Estimate::default()));
            }
            truth(integrated(slope.integral_to(u).minus(before)))
        };
        points.iter().map(from_start).collect()
    }

    fn law(&self) -> &dyn Univariate {
        self.scenario.parts.engine.margin(self.feature)
    }

    /// Conditional mean jumps of f at its fixed places along the feature.
    fn jumps(&self) -> Vec<Jump> {
        let (engine, feature) = (&self.scenario.parts.engine, self.feature);
        let step = |z: f64, from: f64, to: f64| {
            let local = Local::Difference { feature, from, to };
            truth(integrated(engine.mean(feature, z, Rest::Conditional, local)))
        };
        let jump = |z: f64| Jump {
            place: z,
            before: step(z, z.next_down(), z),
            after: step(z, z, z.next_up()),
        };
        engine.breaks(feature).into_iter().map(jump).collect()
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
    fn centre(&self, effect: Effect, centring: Centring) -> Truth {
        let law = self.law();
        let (lo, hi) = self.axis;
        let per_length = 1.0 / (hi - lo);
        let accumulates = matches!(effect, Effect::Ale | Effect::AleDerivative);
        match centring {
            Centring::None => Truth::ZERO,
            Centring::Start if accumulates => Truth::ZERO,
            Centring::Start => truth(self.value(effect, lo)),
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
        effect: Effect,
        ends: (f64, f64),
        beyond: impl Fn(f64) -> f64,
    ) -> Truth {
        let lo = self.axis.0;
        let moving =
            effect == Effect::Ale && self.scenario.parts.engine.has_moving_jumps(self.feature);
        let mean_mu = |x| self.slope(moving, x).times(beyond(x));
        // `beyond` changes sign at the start of accumulation.
        let smooth = [(ends.0, lo.min(ends.1)), (lo.max(ends.0), ends.1)]
            .into_iter()
            .filter(|(from, to)| from < to)
            .fold(Truth::ZERO, |sum, part| sum.plus(truth(integrated(self.over(part, mean_mu)))));
        if effect == Effect::AleDerivative {
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
    fn over_law(&self, f: impl Fn(f64) -> Estimate) -> Estimate {
        let law = self.law();
        let panels = law.panels();
        let points = [&self.scenario.resolution[self.feature][..], &panels].concat();
        let points = within(&points, panels[0], panels[panels.len() - 1]);
        let [mut mean] = integrate(&points, 0.0, |u| [f(law.place(u)).times(law.weight(u))]);
        mean.error += self.scenario.parts.engine.doubt() * mean.magnitude;
        mean.doubted(law.doubt())
    }

    fn over_axis(&self, f: impl Fn(f64) -> Estimate) -> Truth {
        truth(integrated(self.over(self.axis, f)))
    }

    /// The integral of a function along the feature.
    fn over(&self, ends: (f64, f64), f: impl Fn(f64) -> Estimate) -> Estimate {
        let law = self.law();
        let [total] = self.integrals(ends, &[], |u| [f(law.place(u)).times(law.stretch(u))]);
        total
    }

    /// Integrals over the coordinate of the feature between two of its values, with further places
    /// to resolve.
    fn integrals<const M: usize>(
        &self,
        (from, to): (f64, f64),
        places: &[f64],
        f: impl Fn(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        if from >= to {
            return [Estimate::default(); M];
        }
        let law = self.law();
        let ends = [from, to].map(|x| finite_coordinate(law, x));
        let further: Vec<f64> = places.iter().map(|&x| law.coordinate(x)).collect();
        integrate(&self.scenario.resolved(self.feature, &further, ends[0], ends[1]), 0.0, f)
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
            let reference = moments(typical, lo, hi).mean.value;
            let places = self.scenario.parts.engine.passages_of_difference(self.feature, [lo, hi]);
            let sums = self.integrals((lo, hi), &places, |u| {
                let Moments { mean, variance } = moments(law.place(u), lo, hi);
                let weight = median.map_or_else(|| law.stretch(u), |_| law.weight(u));
                let mut square = mean.squared_from(reference);
                square.magnitude += 1e-6 * mean.magnitude * mean.magnitude;
                let of_one = Estimate::exact(1.0);
                [of_one, mean, square, variance].map(|estimate| estimate.times(weight))
            });
            bin_truth(self.feature, (lo, hi), sums, reference)
        };
        limits.windows(2).map(bin).collect()
    }
}

/// A bin from the integrals over it of the weight, and of the weight times the mean, the squared
/// deviation of the mean from the reference, and the variance.
fn bin_truth(
    feature: usize,
    (lo, hi): (f64, f64),
    [mass, mean, square, variance]: [Estimate; 4],
    reference: f64,
) -> Result<BinTruth, Error> {
    // Below this the density has lost its digits.
    if mass.value < 1e-280 {
        return Err(Error::EmptyBin { feature, low: lo, high: hi });
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
    if ![mu, sigma2, bin_error, abs_error].iter().all(|number| number.is_finite()) {
        let ends = [lo, hi].map(|end| number(&end)).join(", ");
        return Err(Error::TooLarge(format!("the bin [{ends}] of x{}", feature + 1)));
    }
    Ok(BinTruth {
        lo,
        hi,
        mu,
        sigma2,
        sigma2_star: sigma2 + bin_error,
        bin_error,
        abs_error,
        method: Method::Quadrature,
    })
}
