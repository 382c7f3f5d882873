//! Scenarios: one file per family, one line in the registry for each member.

mod alibi;
mod apley_zhu;
mod bivariate;
mod effector;
#[cfg(test)]
mod example;
mod feynman;
mod friedman1;
mod friedman1_copula;
mod goldstein;
mod liu;
mod nonlinear;
mod null_feature;
mod parameters;
mod piecewise_linear;
mod poly3;
mod separable;
mod sin_indicator;
mod snc;
mod threshold_linear;
mod uniform_parent;

use std::sync::Arc;

use fe_core::Model;

use crate::closed::{ClosedForms, Quantity};
use crate::engine::Engine;
use crate::error::{Error, unknown_name};
use crate::expression::Expression;
use crate::function::{Function, Native};
use crate::law::{Law, Univariate};
use crate::limit::Limit;
use crate::region::Region;
use parameters::Parameters;

/// Everything that is registered.
static REGISTRY: &[Family] = &[
    liu::ADDITIVE,
    liu::PRODUCT,
    liu::QUADRATIC,
    sin_indicator::FAMILY,
    threshold_linear::FAMILY,
    piecewise_linear::FAMILY,
    friedman1::FAMILY,
    friedman1_copula::FAMILY,
    snc::FAMILY,
    null_feature::FAMILY,
    nonlinear::FAMILY,
    goldstein::FAMILY,
    effector::REGIONAL,
    effector::CONDITIONAL,
    effector::GENERAL,
    alibi::FAMILY,
    poly3::FAMILY,
    feynman::FAMILY,
    apley_zhu::FAMILY,
];

/// What a scenario is, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScenarioInfo {
    /// Its name.
    pub name: &'static str,
    /// Counts changes of the function, the law, a default or a range.
    pub version: u32,
    /// What it is for, in one line.
    pub about: &'static str,
    /// The function.
    pub formula: &'static str,
    /// The law of the features.
    pub law: &'static str,
    /// Its parameters, in canonical order.
    pub parameters: &'static [ParameterInfo],
}

/// What a parameter is, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Its key.
    pub name: &'static str,
    /// The value it has unless set.
    pub default: &'static str,
    /// The values it may have.
    pub allowed: &'static str,
    /// What it means, in one line.
    pub about: &'static str,
}

/// A registered scenario: what it is, and how it is made from its parameters.
struct Family {
    info: ScenarioInfo,
    build: fn(&mut Parameters) -> Result<Parts, Error>,
}

/// What a scenario is made of.
pub(crate) struct Parts {
    pub(crate) engine: Engine,
    model: Arc<dyn Model + Send + Sync>,
    expression: Arc<Expression>,
    closed: Arc<dyn ClosedForms>,
    /// The range of each feature.
    axes: Vec<(f64, f64)>,
    /// Curves as published, where they are not the truth.
    pub(crate) limits: Vec<Limit>,
    /// Names of the features; none where they are x1 … xD.
    pub(crate) names: Vec<String>,
    /// A typical size of f, for scenarios whose answers are judged by their bounds.
    pub(crate) size: f64,
}

impl Parts {
    fn new(
        law: Law,
        function: impl Function,
        closed: impl ClosedForms,
        axes: Vec<(f64, f64)>,
    ) -> Self {
        let engine = Engine::new(law, function.terms());
        let expression = Arc::new(function.expression());
        let (model, closed) = (Arc::new(Native(function)), Arc::new(closed));
        let (limits, names) = (Vec::new(), Vec::new());
        Self { engine, model, expression, closed, axes, limits, names, size: 0.0 }
    }

    /// Of a function that is known as a tree.
    pub(crate) fn of_problem(
        engine: Engine,
        model: Arc<dyn Model + Send + Sync>,
        expression: Expression,
        axes: Vec<(f64, f64)>,
        names: Vec<String>,
        size: f64,
    ) -> Self {
        let (closed, expression) = (Arc::new(Unknown), Arc::new(expression));
        Self { engine, model, expression, closed, axes, limits: Vec::new(), names, size }
    }

    /// The same function under another law of the same features, of which no closed form and no
    /// published curve is known.
    fn under(&self, engine: Engine, axes: Vec<(f64, f64)>) -> Self {
        let (model, expression) = (Arc::clone(&self.model), Arc::clone(&self.expression));
        let (closed, limits, names) = (Arc::new(Unknown), Vec::new(), self.names.clone());
        Self { engine, model, expression, closed, axes, limits, names, size: self.size }
    }

    /// Adds curves as published.
    fn with_limits(self, limits: Vec<Limit>) -> Self {
        Self { limits, ..self }
    }
}

/// Of a law of which nothing is known in closed form.
struct Unknown;

impl ClosedForms for Unknown {
    fn at(&self, _: Quantity, _: usize, _: f64, _: (f64, f64)) -> Option<f64> {
        None
    }
}

/// The range of an unbounded feature: between its 0.0001 and 0.9999 quantiles.
pub(crate) fn quantile_axis(law: &dyn Univariate) -> (f64, f64) {
    (law.quantile(0.0001), law.quantile(0.9999))
}

/// All registered scenarios, in the order of the registry.
#[must_use]
pub fn scenarios() -> Vec<ScenarioInfo> {
    REGISTRY.iter().map(|family| family.info).collect()
}

/// The feature that is called by its number, `x1` for 0; none for another name, or a number with a sign.
pub(crate) fn numbered(name: &str) -> Option<usize> {
    let number = name.strip_prefix('x')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<usize>().ok().filter(|_| is_number)?.checked_sub(1)
}

/// A scenario by name, optionally with its version (`liu-product@1`), with parameters set by key
/// and value; those not set have their defaults.
///
/// # Errors
/// [`Error::UnknownName`], [`Error::UnknownVersion`], [`Error::UnknownParameter`],
/// [`Error::RepeatedParameter`], [`Error::BadParameter`].
///
/// ```
/// let scenario = fe_truth::scenario("liu-product", &[("rho".into(), "0.90".into())]).unwrap();
/// assert_eq!(scenario.id(), "liu-product@1");
/// assert_eq!(scenario.parameters(), "mu1=0;mu2=0;sigma1=1;sigma2=1;rho=0.9");
/// ```
pub fn scenario(name: &str, set: &[(String, String)]) -> Result<Scenario, Error> {
    let (bare, version) = name.split_once('@').map_or((name, None), |(n, v)| (n, Some(v)));
    let known: Vec<&str> = REGISTRY.iter().map(|family| family.info.name).collect();
    let Some(family) = REGISTRY.iter().find(|family| family.info.name == bare) else {
        return Err(unknown_name("scenario", bare, &known));
    };
    let info = &family.info;
    if let Some(given) = version.filter(|given| *given != info.version.to_string()) {
        let given = given.to_owned();
        return Err(Error::UnknownVersion { name: info.name, given, known: info.version });
    }
    family.scenario(set)
}

impl Family {
    fn scenario(&'static self, set: &[(String, String)]) -> Result<Scenario, Error> {
        let mut parameters = Parameters::new(&self.info, set)?;
        let parts = (self.build)(&mut parameters)?;
        Ok(Scenario::of_parts(&self.info, parameters.canonical(), parts, None))
    }
}

/// For each feature, coordinates that integrals along it must resolve.
fn resolution(engine: &Engine) -> Arc<[Vec<f64>]> {
    (0..engine.law().dimension()).map(|feature| engine.resolution(feature)).collect()
}

/// A law of the features, a function of them, and the exact truths of the pair.
#[derive(Clone)]
pub struct Scenario {
    info: &'static ScenarioInfo,
    parameters: String,
    pub(crate) parts: Arc<Parts>,
    /// For each feature, places that integrals along it must resolve.
    pub(crate) resolution: Arc<[Vec<f64>]>,
    /// The law before any region.
    whole: Law,
    use_closed_forms: bool,
    /// The file that it was read from.
    text: Option<Arc<str>>,
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scenario({} {})", self.id(), self.parameters)
    }
}

impl Scenario {
    pub(crate) fn of_parts(
        info: &'static ScenarioInfo,
        parameters: String,
        parts: Parts,
        text: Option<&str>,
    ) -> Self {
        let (resolution, whole) = (resolution(&parts.engine), parts.engine.law().clone());
        let (parts, text) = (Arc::new(parts), text.map(Arc::from));
        Self { info, parameters, parts, resolution, whole, use_closed_forms: true, text }
    }

    /// The whole text of the file that it was read from; none for a built-in one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The name of a feature, counted from 0: as the file has it, and x1 … xD in built-in scenarios.
    ///
    /// ```
    /// let text = "f = \"temp^2\"\n[law]\ntemp = \"normal(0, 1)\"\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// assert_eq!(scenario.feature_name(0), "temp");
    /// assert_eq!((scenario.feature_named("temp"), scenario.feature_named("x1")), (Some(0), Some(0)));
    /// assert_eq!(fe_truth::scenario("poly3", &[]).unwrap().feature_name(2), "x3");
    /// ```
    #[must_use]
    pub fn feature_name(&self, feature: usize) -> String {
        let given = self.parts.names.get(feature).cloned();
        given.unwrap_or_else(|| format!("x{}", feature + 1))
    }

    /// The feature of a name, counted from 0: that which the file gives it, or one of x1 … xD.
    #[must_use]
    pub fn feature_named(&self, name: &str) -> Option<usize> {
        let given = self.parts.names.iter().position(|known| known == name);
        given.or_else(|| numbered(name).filter(|feature| *feature < self.dimension()))
    }

    /// What it is, in words.
    #[must_use]
    pub fn info(&self) -> &ScenarioInfo {
        self.info
    }

    /// Name and version, such as `sin-indicator@1`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}@{}", self.info.name, self.info.version)
    }

    /// All parameters in declared order, as `key=value` separated by `;`, numbers in the shortest
    /// form that parses back.
    #[must_use]
    pub fn parameters(&self) -> String {
        self.parameters.clone()
    }

    /// Number of features, D.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.parts.engine.law().dimension()
    }

    /// The range of a feature, counted from 0: its support if bounded.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn axis(&self, feature: usize) -> (f64, f64) {
        self.parts.axes[feature]
    }

    /// The smallest closed interval that holds a feature, counted from 0, with probability 1; its
    /// ends may be infinite.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn support(&self, feature: usize) -> (f64, f64) {
        self.parts.engine.law().marginal(feature).support()
    }

    /// The quantile of a feature, counted from 0, at a probability strictly between 0 and 1.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadProbability`].
    ///
    /// ```
    /// let scenario = fe_truth::scenario("liu-product", &[("mu1".into(), "3".into())]).unwrap();
    /// assert!((scenario.quantile(0, 0.5).unwrap() - 3.0).abs() < 1e-12);
    /// assert!(scenario.quantile(0, 1.0).is_err());
    /// ```
    pub fn quantile(&self, feature: usize, probability: f64) -> Result<f64, Error> {
        self.check_feature(feature)?;
        if !(0.0 < probability && probability < 1.0) {
            return Err(Error::BadProbability { given: probability });
        }
        let law = self.parts.engine.law().marginal(feature);
        let (lo, hi) = law.support();
        Ok(law.quantile(probability).clamp(lo, hi))
    }

    /// Draws `n` rows and returns them feature after feature: D·n values.
    ///
    /// Rows are drawn one after the other, each from a fixed number of 64-bit words of the
    /// generator, so that the first rows of a longer sample are those of a shorter one.
    ///
    /// In a [region](Scenario::within) they are those of the whole law that lie in it.
    #[must_use]
    pub fn sample(&self, n: usize, rng: &mut dyn rand::Rng) -> Vec<f64> {
        let law = self.parts.engine.law();
        if !law.is_restricted() {
            return law.sample(n, rng);
        }
        let dimension = self.dimension();
        let mut columns = vec![0.0; n * dimension];
        let mut found = 0;
        while found < n {
            let row = self.whole.sample(1, rng);
            if law.holds(&row) {
                row.iter().enumerate().for_each(|(s, &x)| columns[s * n + found] = x);
                found += 1;
            }
        }
        columns
    }

    /// The same scenario in a region of its features: all truths are those of the law given that
    /// rows lie there, which is also the background of Shapley values. The range of a feature is cut
    /// by its interval.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::ImpossibleRegion`], [`Error::RareRegion`].
    ///
    /// ```
    /// use fe_truth::{Centring, Effect, Region, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// let region = Region::default().and(2, 0.0, f64::INFINITY);
    /// let right = scenario("effector-regional", &[])?.within(&region)?;
    /// // f is 3 x1 + x3 where x3 is above 0.
    /// let pd = right.curve(Effect::Pd, 0, &[0.5], (-1.0, 1.0), Centring::None)?[0];
    /// assert!((pd.value - 2.0).abs() < 1e-12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn within(&self, region: &Region) -> Result<Self, Error> {
        let mut law = self.parts.engine.law().clone();
        for &(feature, (from, to)) in region.intervals() {
            self.check_feature(feature)?;
            match law.share(feature, from, to) {
                Some(share) if share > 0.0 => law = law.restricted(feature, from, to),
                Some(_) => return Err(Error::ImpossibleRegion { feature, from, to }),
                None => return Err(Error::RareRegion { feature, from, to }),
            }
        }
        Ok(self.under(self.parts.engine.given(law), region))
    }

    /// The same scenario under another law, whose region is known.
    pub(crate) fn under(&self, engine: Engine, region: &Region) -> Self {
        if region.intervals().is_empty() {
            return self.clone();
        }
        let axes = self.parts.axes.iter().enumerate();
        let axes = axes.map(|(feature, &axis)| region.cut(feature, axis)).collect();
        let resolution = resolution(&engine);
        Self { parts: Arc::new(self.parts.under(engine, axes)), resolution, ..self.clone() }
    }

    /// A value of one feature, counted from 0, given values of others, drawn from its conditional
    /// law.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn sample_conditional(
        &self,
        feature: usize,
        given: &[(usize, f64)],
        rng: &mut dyn rand::Rng,
    ) -> f64 {
        let law = self.parts.engine.law();
        let known: Vec<_> = given.iter().map(|&(other, x)| (other, law.known(other, x))).collect();
        law.conditional(feature, &known).quantile(crate::law::uniform_open(rng))
    }

    /// The function in its native form, with its derivatives.
    #[must_use]
    pub fn model(&self) -> &dyn Model {
        &*self.parts.model
    }

    /// The function as a tree, for programs in other languages: within rounding of
    /// [`Scenario::model`], and its derivatives too, wherever f has them.
    ///
    /// ```
    /// let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    /// assert_eq!(scenario.expression().partial(0).value(&[3.0, 1.0, 0.0]), 7.0);
    /// ```
    #[must_use]
    pub fn expression(&self) -> &Expression {
        &self.parts.expression
    }

    /// The function as the sum of the terms that truths are integrated from, at a row.
    ///
    /// Slower than [`Scenario::model`], and tested to agree with it.
    #[must_use]
    pub fn sum_of_terms(&self, row: &[f64]) -> f64 {
        self.parts.engine.value(row)
    }

    /// Fixed places where f jumps or has a kink along a feature, counted from 0.
    #[must_use]
    pub fn breaks(&self, feature: usize) -> Vec<f64> {
        self.parts.engine.breaks(feature)
    }

    /// The same scenario, with every truth by quadrature: the witness of its closed forms.
    #[must_use]
    pub fn without_closed_forms(self) -> Self {
        Self { use_closed_forms: false, ..self }
    }

    /// Whether a feature, counted from 0, enters f only in terms that read nothing else: whether it has
    /// a main effect.
    ///
    /// ```
    /// let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    /// assert!(!scenario.is_additive(0) && scenario.is_additive(2));
    /// ```
    #[must_use]
    pub fn is_additive(&self, feature: usize) -> bool {
        self.parts.engine.is_additive(feature)
    }

    /// Whether a feature, counted from 0, is independent of all others by the build of the law.
    ///
    /// ```
    /// assert!(fe_truth::scenario("poly3", &[]).unwrap().is_independent(0));
    /// assert!(!fe_truth::scenario("liu-product", &[]).unwrap().is_independent(0));
    /// ```
    #[must_use]
    pub fn is_independent(&self, feature: usize) -> bool {
        let law = self.parts.engine.law();
        (0..law.dimension()).all(|other| other == feature || !law.related(feature, other))
    }

    /// The closed forms, unless they are not to be used.
    pub(crate) fn forms(&self) -> Option<&dyn ClosedForms> {
        self.use_closed_forms.then_some(&*self.parts.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Centring, Effect};

    #[test]
    fn the_worked_example_is_the_one_that_is_printed() {
        let printed = include_str!("../../../../CONTRIBUTING.md");
        assert!(printed.contains(include_str!("example.rs")), "copy example.rs to CONTRIBUTING.md");
    }

    #[test]
    fn the_worked_example_has_all_truths() {
        static EXAMPLE: Family = example::FAMILY;
        let scenario = EXAMPLE.scenario(&[("sigma".into(), "1.7".into())]).unwrap();
        let general = scenario.clone().without_closed_forms();
        for feature in 0..2 {
            let axis = scenario.axis(feature);
            let points = [0.3, 0.61].map(|share| axis.0 + share * (axis.1 - axis.0));
            for &effect in Effect::ALL.iter().filter(|effect| **effect != Effect::Main) {
                let ask = |s: &Scenario| s.curve(effect, feature, &points, axis, Centring::None);
                let (known, integrated) = (ask(&scenario).unwrap(), ask(&general).unwrap());
                for (known, integrated) in known.iter().zip(integrated) {
                    assert!((known.value - integrated.value).abs() < 1e-10, "{effect} x{feature}");
                }
            }
        }
    }
}
