//! Truths of a scenario: closed where it knows a closed form, integrated where it does not.

use crate::closed::Quantity;
use crate::engine::{Local, Moments, Rest};
use crate::kinds::{BinTruth, Centring, DifferenceTruth, Effect, Method, Truth, Weighting};
use crate::quadrature::{Estimate, integrate, within};
use crate::{Error, Scenario};

/// An estimate and how it was obtained.
type Known = (Estimate, Method);

/// A closed form evaluated in floating point.
fn closed(value: f64) -> Known {
    let error = 1e-12 * (1.0 + value.abs());
    (Estimate { value, magnitude: value.abs(), error }, Method::Closed)
}

/// The root of a variance. Those in closed form are sums of squares, relatively accurate also where
/// they are small, so that their roots are as accurate as other closed forms.
fn standard_deviation((variance, method): Known) -> Known {
    match method {
        Method::Closed => closed(variance.value.max(0.0).sqrt()),
        _ => (variance.sqrt(), method),
    }
}

fn integrated(estimate: Estimate) -> Known {
    (estimate, Method::Quadrature)
}

fn truth((estimate, method): Known) -> Truth {
    Truth { value: estimate.value, abs_error: estimate.error, method }
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
        let curve = on.raw(effect, points);
        Ok(curve.into_iter().map(|value| value.minus(constant)).collect())
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
        on.each_bin(limits, weighting, |z, _, _| {
            let mu = on.known(Quantity::Mu, z);
            match (mu, on.known(Quantity::Sigma2, z)) {
                (Some(mean), Some(variance)) => Moments { mean, variance },
                _ => on.moments(z, Rest::Conditional, Local::Partial(feature)),
            }
        })
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
            let known = self.forms().and_then(|forms| forms.difference(feature, from, to, z));
            known.map_or_else(
                || on.moments(z, Rest::Conditional, Local::Difference { feature, from, to }),
                |(mean, variance)| Moments { mean: closed(mean).0, variance: closed(variance).0 },
            )
        })?;
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
    /// of the axis, and `ale.integral_sd` is `∫ sigma` (EFFECTOR eq. 2).
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadAxis`].
    pub fn values(
        &self,
        feature: usize,
        axis: (f64, f64),
    ) -> Result<Vec<(&'static str, Truth)>, Error> {
        self.check_axis(feature, axis)?;
        let on = OneFeature { scenario: self, feature, axis };
        let per_length = 1.0 / (axis.1 - axis.0);
        let integral = on.over_axis(|x| on.point(Quantity::Sigma2, x).0);
        Ok(vec![
            ("pdp.mean", on.over_axis(|x| on.point(Quantity::HPdp, x).0).times(per_length)),
            ("dpdp.mean", on.over_axis(|x| on.point(Quantity::HDpdp, x).0).times(per_length)),
            ("ale.integral", integral),
            ("ale.mean_range", integral.times(per_length)),
            ("ale.integral_sd", on.over_axis(|x| on.value(Effect::Sigma, x).0)),
        ])
    }

    /// `E f(X)`.
    ///
    /// # Errors
    /// None at present; scenarios without a mean may come.
    pub fn mean(&self) -> Result<Truth, Error> {
        let known = self.forms().and_then(|forms| forms.mean());
        Ok(truth(known.map_or_else(|| integrated(self.parts.engine.mean_f()), closed)))
    }

    /// Standard deviation of `f(X)`.
    ///
    /// # Errors
    /// None at present; scenarios without a variance may come.
    pub fn sd(&self) -> Result<Truth, Error> {
        let known = self.forms().and_then(|forms| forms.variance());
        let variance = known.map_or_else(|| integrated(self.parts.engine.variance_f()), closed);
        Ok(truth(standard_deviation(variance)))
    }

    fn check_feature(&self, feature: usize) -> Result<(), Error> {
        let dimension = self.dimension();
        if feature < dimension { Ok(()) } else { Err(Error::NoSuchFeature { feature, dimension }) }
    }

    fn check_axis(&self, feature: usize, (low, high): (f64, f64)) -> Result<(), Error> {
        self.check_feature(feature)?;
        let support = self.support(feature);
        let finite = low.is_finite() && high.is_finite();
        if finite && support.0 <= low && low < high && high <= support.1 {
            return Ok(());
        }
        Err(Error::BadAxis { feature, low, high, support })
    }

    fn check_points(&self, feature: usize, points: &[f64]) -> Result<(), Error> {
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
            return Err(Error::BadLimits(format!("… {}, {} …", ends[0], ends[1])));
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
        let value = forms.at(quantity, self.feature, x, self.axis)?;
        let error = forms.accuracy(quantity) * (1.0 + value.abs());
        Some(Estimate { error, ..closed(value).0 })
    }

    fn moments(&self, x: f64, rest: Rest, local: Local) -> Moments {
        self.scenario.parts.engine.moments(self.feature, x, rest, local)
    }

    /// A quantity at a point. [`Quantity::Accumulated`] is integrated in [`Self::accumulated`].
    fn point(&self, quantity: Quantity, x: f64) -> Known {
        if let Some(estimate) = self.known(quantity, x) {
            return (estimate, Method::Closed);
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
            Quantity::Accumulated => self.integral_of_mu(self.axis.0, x),
        })
    }

    /// The effect at the points, before centring.
    fn raw(&self, effect: Effect, points: &[f64]) -> Vec<Truth> {
        match effect {
            Effect::AleDerivative => self.accumulated(points),
            Effect::Ale => {
                let jumps = self.jumps();
                let smooth = self.accumulated(points).into_iter().zip(points);
                smooth.map(|(value, &x)| value.plus(self.jumped(&jumps, x))).collect()
            }
            _ => points.iter().map(|&x| truth(self.value(effect, x))).collect(),
        }
    }

    /// An effect that does not accumulate, at a point.
    fn value(&self, effect: Effect, x: f64) -> Known {
        match effect {
            Effect::Pd => self.point(Quantity::Pd, x),
            Effect::Dpd => self.point(Quantity::Dpd, x),
            Effect::Mplot => self.point(Quantity::Mplot, x),
            Effect::Mu => self.point(Quantity::Mu, x),
            Effect::Sigma => standard_deviation(self.point(Quantity::Sigma2, x)),
            Effect::HPdp => self.point(Quantity::HPdp, x),
            Effect::HDpdp => self.point(Quantity::HDpdp, x),
            // A sum of terms of x alone is as closed as f itself.
            Effect::Main => (self.scenario.parts.engine.main(self.feature, x), Method::Closed),
            Effect::Ale | Effect::AleDerivative => self.point(Quantity::Accumulated, x),
        }
    }

    /// `∫ mu` from the lower end of the axis to each of the points, gap by gap.
    fn accumulated(&self, points: &[f64]) -> Vec<Truth> {
        let lo = self.axis.0;
        if points.iter().all(|&x| self.known(Quantity::Accumulated, x).is_some()) {
            return points.iter().map(|&x| truth(self.point(Quantity::Accumulated, x))).collect();
        }
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| points[a].total_cmp(&points[b]));
        let above = order.partition_point(|&i| points[i] < lo);
        let mut result = vec![Truth::ZERO; points.len()];
        let mut walk = |path: &mut dyn Iterator<Item = usize>| {
            let (mut at, mut sum) = (lo, truth(integrated(Estimate::default())));
            for i in path {
                let step = if points[i] < at {
                    self.integral_of_mu(points[i], at).times(-1.0)
                } else {
                    self.integral_of_mu(at, points[i])
                };
                sum = sum.plus(truth(integrated(step)));
                at = points[i];
                result[i] = sum;
            }
        };
        walk(&mut order[above..].iter().copied());
        walk(&mut order[..above].iter().rev().copied());
        result
    }

    fn integral_of_mu(&self, from: f64, to: f64) -> Estimate {
        if from >= to {
            return Estimate::default();
        }
        let points = within(&self.scenario.resolution[self.feature], from, to);
        integrate(&points, 0.0, |x| [self.point(Quantity::Mu, x).0])[0]
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
        let law = self.scenario.parts.engine.law().marginal(self.feature);
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
            Centring::Data => {
                let panels = law.panels();
                let ends = (panels[0], panels[panels.len() - 1]);
                if accumulates {
                    let ends = (ends.0.min(lo), ends.1.max(lo));
                    let beyond = |x| if x < lo { -law.cdf(x) } else { 1.0 - law.cdf(x) };
                    return self.mean_of_accumulated(effect, ends, beyond);
                }
                self.over(ends, |x| self.value(effect, x).0.times(law.pdf(x)))
            }
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
        let mean_mu = |x| self.point(Quantity::Mu, x).0.times(beyond(x));
        // `beyond` changes sign at the start of accumulation.
        let smooth = [(ends.0, lo.min(ends.1)), (lo.max(ends.0), ends.1)]
            .into_iter()
            .filter(|(from, to)| from < to)
            .fold(Truth::ZERO, |sum, part| sum.plus(self.over(part, mean_mu)));
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

    fn over_axis(&self, f: impl Fn(f64) -> Estimate) -> Truth {
        self.over(self.axis, f)
    }

    fn over(&self, (from, to): (f64, f64), f: impl Fn(f64) -> Estimate) -> Truth {
        let points = within(&self.scenario.resolution[self.feature], from, to);
        truth(integrated(integrate(&points, 0.0, |x| [f(x)])[0]))
    }

    /// Averages over the bins of a local mean and variance, given the point and the bin.
    fn each_bin(
        &self,
        limits: &[f64],
        weighting: Weighting,
        moments: impl Fn(f64, f64, f64) -> Moments,
    ) -> Result<Vec<BinTruth>, Error> {
        let law = self.scenario.parts.engine.law().marginal(self.feature);
        let resolution = within(&self.scenario.resolution[self.feature], self.axis.0, self.axis.1);
        let median = match weighting {
            Weighting::Uniform => None,
            Weighting::Data => Some(law.quantile(0.5)),
        };
        let bin = |ends: &[f64]| {
            let (lo, hi) = (ends[0], ends[1]);
            let first = resolution.partition_point(|&x| x <= lo);
            let last = resolution.partition_point(|&x| x < hi);
            let points: Vec<f64> = std::iter::once(lo)
                .chain(resolution[first..last.max(first)].iter().copied())
                .chain(std::iter::once(hi))
                .collect();
            // Squares are taken about the effect where the bin has its weight, so that subtracting
            // the square of their mean cancels nothing that matters.
            let typical = median.map_or(0.5 * (lo + hi), |median| median.clamp(lo, hi));
            let reference = moments(typical, lo, hi).mean.value;
            let sums = integrate(&points, 0.0, |z| {
                let Moments { mean, variance } = moments(z, lo, hi);
                let weight = median.map_or(1.0, |_| law.pdf(z));
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
    Ok(BinTruth {
        lo,
        hi,
        mu,
        sigma2,
        sigma2_star: sigma2 + bin_error,
        bin_error,
        abs_error: mu_error.max(sigma2_error + bin_doubt),
        method: Method::Quadrature,
    })
}
