//! Truths of two features: partial dependence and second-order accumulated local effects.

use fe_core::interrupt;

use super::curves::{integrated, truth};
use crate::engine::Engine;
use crate::error::{Error, number};
use crate::quantity::{Centring, Evaluation, Quantity, Truth};
use crate::scenario::Scenario;

/// Effect of a pair of features, as it is asked for.
///
/// `pd` is `E f(x_j, x_k, X_rest)` under the marginal law of the rest. `ale` is the second-order effect of
/// Apley & Zhu (2020, eq. 13 to 17): mean mixed differences given both features are accumulated, and its own
/// first-order effects are taken away. Jumps of f are in it; `ale-derivative` accumulates the mixed derivative
/// alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairEffect {
    /// Effect: [`Quantity::Pd`], [`Quantity::Ale`] or [`Quantity::AleDerivative`].
    pub effect: Quantity,
    /// The two features, counted from 0.
    pub features: [usize; 2],
    /// The range of each: what [`Centring::Start`] and [`Centring::Integral`] refer to.
    pub axes: [(f64, f64); 2],
    /// Centring: [`Centring::Data`] is by the joint law of the two, [`Centring::Integral`] by the mean over both
    /// ranges, [`Centring::Start`] by the value at the lower end of both.
    pub centring: Centring,
    /// True for `pd` less the partial dependence of either feature, all of them centred; an ALE of two features is
    /// without those of one already.
    pub interaction: bool,
}

impl Scenario {
    /// The true effect of a pair of features at all pairs of points, the first feature's outside: value
    /// `i * n2 + k` belongs to the i-th point of the first and the k-th of the n2 points of the second.
    /// Values are in units of f.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::SameFeature`], [`Error::NotOfPairs`], [`Error::BadAxis`],
    /// [`Error::OutsideSupport`], [`Error::Uncentred`], [`Error::HasLevels`], and [`Error::NoTruth`] for the ALE
    /// of features on which others of the same term depend.
    ///
    /// ```
    /// use fe_truth::{Centring, PairEffect, Quantity, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// // f = x1 x2 of normal features: that product, less what each of the two accumulates on its own.
    /// let scenario = scenario("liu-product", &[("rho".into(), "0".into())])?;
    /// let axes = [scenario.axis(0), scenario.axis(1)];
    /// let (effect, features, centring) = (Quantity::Ale, [0, 1], Centring::Data);
    /// let asked = PairEffect { effect, features, axes, centring, interaction: false };
    /// let ale = scenario.surface(&asked, [&[1.0, 2.0], &[0.5]])?;
    /// assert!((ale[1].value - 2.0 * 0.5).abs() < 1e-10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn surface(&self, asked: &PairEffect, points: [&[f64]; 2]) -> Result<Vec<Truth>, Error> {
        self.check_pair(asked, points)?;
        self.begin();
        let Some(engine) = self.engine_of_pair(asked)? else {
            return Ok(vec![Truth::ZERO; points[0].len() * points[1].len()]);
        };
        let on = OfPair { scenario: self.of_engine(engine), asked };
        let values = on.surface(points)?;
        let [a, b] = asked.features.map(|feature| self.feature_name(feature));
        let judged = self.judge(values.iter().copied());
        judged.map_err(|error| error.about(&format!("{} of {a} and {b}", asked.effect)))?;
        let told = |(place, value): (usize, Truth)| {
            let at = [place / points[1].len(), place % points[1].len()];
            value.told(|| {
                let [x, y] = [0, 1].map(|side| number(&points[side][at[side]]));
                format!("{} of {a} and {b} at {x}, {y}", asked.effect)
            })
        };
        values.into_iter().enumerate().map(told).collect()
    }

    /// Refuses two features that are none, or one.
    pub(super) fn check_two(&self, features: [usize; 2]) -> Result<(), Error> {
        features.into_iter().try_for_each(|feature| self.check_feature(feature))?;
        if features[0] == features[1] {
            return Err(Error::SameFeature { feature: self.feature_name(features[0]) });
        }
        Ok(())
    }

    pub(crate) fn check_pair(&self, asked: &PairEffect, points: [&[f64]; 2]) -> Result<(), Error> {
        let PairEffect { effect, features, axes, centring, interaction } = *asked;
        let known = [Quantity::Pd, Quantity::Ale, Quantity::AleDerivative];
        if !known.contains(&effect) {
            return Err(Error::NotOfPairs { effect: effect.name() });
        }
        self.check_two(features)?;
        for side in 0..2 {
            self.check_axis(features[side], axes[side])?;
            self.check_points(features[side], points[side])?;
            if centring == Centring::Integral {
                self.check_density(features[side], "centring by the mean over an axis")?;
            }
            if effect != Quantity::Pd {
                self.check_density(features[side], &format!("`{effect}` of a pair"))?;
            }
        }
        match (centring, effect) {
            (Centring::None, Quantity::Pd) if interaction => {
                Err(Error::Uncentred { what: "the interaction part" })
            }
            (Centring::None, Quantity::Ale | Quantity::AleDerivative) => {
                Err(Error::Uncentred { what: effect.name() })
            }
            _ => Ok(()),
        }
    }

    /// The function whose effect is asked: of an interaction the terms that read both features; none where no
    /// term does.
    fn engine_of_pair(&self, asked: &PairEffect) -> Result<Option<Engine>, Error> {
        let engine = &self.parts.engine;
        if asked.effect == Quantity::Pd && !asked.interaction {
            return Ok(Some(engine.clone()));
        }
        let terms = self.terms_of_both(asked.features);
        if terms.is_empty() {
            return Ok(None);
        }
        if asked.effect != Quantity::Pd {
            self.check_rest(asked.features)?;
        }
        Ok(Some(match asked.effect {
            Quantity::AleDerivative => self.derivative_form(asked.features)?,
            _ => engine.of_terms(terms.into_iter().map(|t| engine.term(t))),
        }))
    }

    /// The terms that read both features.
    pub(super) fn terms_of_both(&self, [a, b]: [usize; 2]) -> Vec<usize> {
        let terms = &self.parts.engine.terms;
        (0..terms.len()).filter(|&t| terms[t].reads(a) && terms[t].reads(b)).collect()
    }

    /// The terms that read both features, averaged over all others and without their jumps.
    pub(super) fn derivative_form(&self, features: [usize; 2]) -> Result<Engine, Error> {
        let engine = &self.parts.engine;
        let terms = self.terms_of_both(features);
        if !terms.iter().all(|&t| engine.terms[t].breaks_at_fixed_places()) {
            let [a, b] = features.map(|feature| self.feature_name(feature));
            return self.refused(format!(
                "the derivative form of the ALE of {a} and {b} is not told where a term that reads both \
                 breaks at places that move: `ale` is, jumps included"
            ));
        }
        Ok(engine.of_terms(terms.into_iter().map(|t| engine.without_jumps(t, features))))
    }

    /// Refuses a pair on which other features of a term that reads both depend.
    pub(super) fn check_rest(&self, features: [usize; 2]) -> Result<(), Error> {
        let engine = &self.parts.engine;
        for t in self.terms_of_both(features) {
            let others = engine.terms[t].features().iter();
            let mut others = others.filter(|other| !features.contains(other));
            let tied = |other: &&usize| features.iter().any(|&s| engine.law().related(s, **other));
            if let Some(&other) = others.find(tied) {
                let [a, b, c] =
                    [features[0], features[1], other].map(|feature| self.feature_name(feature));
                return self.refused(format!(
                    "the ALE of {a} and {b} is not told: a term of f reads both and {c}, which depends on \
                     them; it is where what such terms read beside the pair is independent of it"
                ));
            }
        }
        Ok(())
    }
}

/// The function whose effect is asked, and the question.
struct OfPair<'a> {
    scenario: Scenario,
    asked: &'a PairEffect,
}

impl OfPair<'_> {
    fn engine(&self) -> &Engine {
        &self.scenario.parts.engine
    }

    fn surface(&self, points: [&[f64]; 2]) -> Result<Vec<Truth>, Error> {
        let constant = self.constant();
        let first = self.first_order(points)?;
        let mut values = Vec::with_capacity(points[0].len() * points[1].len());
        for (i, &x) in points[0].iter().enumerate() {
            interrupt::check();
            for (k, &y) in points[1].iter().enumerate() {
                let mut value = self.mean_at([x, y]).minus(constant);
                if let Some([a, b]) = &first {
                    value = value.minus(a[i]).minus(b[k]);
                }
                values.push(value);
            }
        }
        Ok(values)
    }

    /// The mean of f over all but the two features.
    fn mean_at(&self, at: [f64; 2]) -> Truth {
        let pair = [0, 1].map(|side| (self.asked.features[side], at[side]));
        let mean = truth(integrated(self.engine().mean_at_pair(pair)));
        let features = &self.asked.features;
        let is_whole = |read: &[usize]| read.iter().all(|feature| features.contains(feature));
        let mut terms = self.engine().terms.iter();
        // The function itself, with nothing integrated.
        let closed = self.asked.effect == Quantity::Pd && terms.all(|t| is_whole(t.features()));
        if closed { Truth { method: Evaluation::Closed, ..mean } } else { mean }
    }

    /// The constant that centring takes from the mean at a pair.
    fn constant(&self) -> Truth {
        let PairEffect { features, axes, centring, .. } = *self.asked;
        let law = self.engine().law();
        let mean = |law| truth(integrated(self.engine().given(law).mean_f()));
        match centring {
            Centring::None => Truth::ZERO,
            Centring::Start => self.mean_at(axes.map(|(lo, _)| lo)),
            Centring::Data => mean(law.apart(&features)),
            Centring::Integral => mean(law.over_axes([0, 1].map(|k| (features[k], axes[k])))),
        }
    }

    /// Effects of either feature, centred alike, where they are taken away.
    fn first_order(&self, points: [&[f64]; 2]) -> Result<Option<[Vec<Truth>; 2]>, Error> {
        let PairEffect { effect, features, axes, centring, interaction } = *self.asked;
        if effect == Quantity::Pd && !interaction {
            return Ok(None);
        }
        let of = |side: usize| {
            self.scenario.curve(effect, features[side], points[side], axes[side], centring)
        };
        Ok(Some([of(0)?, of(1)?]))
    }
}
