//! Curves as papers print them, where those are approximate or wrong: not truths, but claims to
//! hold against them.

use super::Scenario;
use crate::error::Error;
use crate::error::number;
use crate::numeric::quadrature::{Estimate, integrate};
use crate::quantity::{Centring, Quantity};

/// A printed formula for an effect of a feature.
pub(crate) struct Limit {
    effect: Quantity,
    feature: usize,
    formula: Box<dyn Fn(f64) -> f64 + Send + Sync>,
}

impl Limit {
    /// A formula for an effect of a feature, counted from 0. Between the places where f breaks
    /// along the feature it must be smooth.
    pub(crate) fn new(
        effect: Quantity,
        feature: usize,
        formula: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { effect, feature, formula: Box::new(formula) }
    }

    fn name(&self) -> String {
        format!("{}-limit", self.effect)
    }

    fn is(&self, name: &str, feature: usize) -> bool {
        self.name() == name && self.feature == feature
    }
}

impl Scenario {
    /// The limit formulas of the scenario: the name of each, such as `ale-limit`, and its feature,
    /// counted from 0.
    ///
    /// They are curves as published, each named after the effect that it is meant to be. Most hold
    /// in the limit of a vanishing noise, and some nowhere; `docs/errata.md` says how far off.
    #[must_use]
    pub fn limits(&self) -> Vec<(String, usize)> {
        self.parts.limits.iter().map(|limit| (limit.name(), limit.feature)).collect()
    }

    /// A limit formula of a feature, counted from 0, at each of the points, in their order; in the
    /// units of its effect.
    ///
    /// Without centring it is as printed; [`Centring::Start`] and [`Centring::Integral`] refer to
    /// the `axis`, [`Centring::Data`] to the law of the feature.
    ///
    /// # Errors
    /// [`Error::NoSuchLimit`], and those of [`Scenario::curve`].
    ///
    /// ```
    /// use fe_truth::{Centring, scenario};
    ///
    /// let scenario = scenario("nonlinear", &[]).unwrap();
    /// let printed = scenario.limit("ale-limit", 0, &[1.0], (0.0, 1.0), Centring::None).unwrap();
    /// assert_eq!(printed, [4.0]); // The ALE there is 4.5.
    /// ```
    pub fn limit(
        &self,
        name: &str,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<f64>, Error> {
        self.check_axis(feature, axis)?;
        self.check_points(feature, points)?;
        let found = self.parts.limits.iter().find(|limit| limit.is(name, feature));
        let limit = found.ok_or_else(|| self.no_such_limit(name, feature))?;
        if centring != Centring::None && !limit.effect.is_curve() {
            return Err(Error::NotCentrable { effect: limit.effect.name() });
        }
        let constant = self.centre_of(limit, axis, centring);
        let told = |&x: &f64| {
            let value = (limit.formula)(x) - constant;
            let what = || format!("{name} of {} at {}", self.feature_name(feature), number(&x));
            if value.is_finite() { Ok(value) } else { Err(Error::TooLarge(what())) }
        };
        points.iter().map(told).collect()
    }

    /// The constant that centring subtracts from a limit formula.
    fn centre_of(&self, limit: &Limit, (lo, hi): (f64, f64), centring: Centring) -> f64 {
        let law = self.parts.engine.law().marginal(limit.feature);
        let average = |(from, to), weight: &dyn Fn(f64) -> f64| {
            let points = self.resolved(limit.feature, &[], from, to);
            let weighted = |u| [Estimate::exact((limit.formula)(law.place(u)) * weight(u))];
            integrate(&points, 0.0, weighted)[0].value
        };
        match centring {
            Centring::None => 0.0,
            Centring::Start => (limit.formula)(lo),
            Centring::Integral => {
                let ends = (law.coordinate(lo), law.coordinate(hi));
                average(ends, &|u| law.stretch(u) / (hi - lo))
            }
            Centring::Data => {
                let panels = law.panels();
                average((panels[0], panels[panels.len() - 1]), &|u| law.weight(u))
            }
        }
    }

    fn no_such_limit(&self, given: &str, feature: usize) -> Error {
        let described =
            |(name, feature): (String, usize)| format!("{name} of {}", self.feature_name(feature));
        let known: Vec<String> = self.limits().into_iter().map(described).collect();
        Error::NoSuchLimit {
            scenario: self.info().name,
            given: given.to_owned(),
            feature: self.feature_name(feature),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        }
    }
}
