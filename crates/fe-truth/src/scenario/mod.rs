//! Scenarios: a law, a function and the closed forms that are known; one file per built-in family, one
//! line in the registry for each member.
//!
//! Imports the engine and what is below it; what is asked of a scenario is answered in `truth`. Begin with
//! [`Scenario`]; a built-in one to read first is `example.rs`, which CONTRIBUTING prints.

mod alibi;
mod apley_zhu;
mod bivariate;
pub(crate) mod closed_forms;
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
pub(crate) mod published;
mod separable;
mod sin_indicator;
mod snc;
mod threshold_linear;
mod uniform_parent;

use std::sync::{Arc, OnceLock};

use fe_core::{Model, OptionInfo};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::engine::watch::Watch;
use crate::engine::{Engine, Rest};
use crate::error::{Error, number, unknown_name};
use crate::expression::{Expression, numbered};
use crate::function::{Function, Native};
use crate::law::region::{Condition, Region};
use crate::law::{Law, Univariate};
use crate::numeric::quadrature::Estimate;
use crate::quantity::Quantity;
use closed_forms::{ClosedForms, InBox, Pointwise, Spread};
use parameters::Parameters;
use published::Limit;

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

/// Description of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScenarioInfo {
    /// Its name.
    pub name: &'static str,
    /// Counts changes of the function, the law, a default or a range.
    pub version: u32,
    /// Purpose, in one line.
    pub about: &'static str,
    /// The function.
    pub formula: &'static str,
    /// The law of the features.
    pub law: &'static str,
    /// Its parameters, in canonical order.
    pub parameters: &'static [OptionInfo],
}

/// A level of a feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its name: a word, or its value.
    pub name: String,
    /// Its value in rows of the law.
    pub value: f64,
    /// Its probability.
    pub probability: f64,
}

/// A registered scenario: what it is, and how it is made from its parameters.
struct Family {
    info: ScenarioInfo,
    build: fn(&mut Parameters) -> Result<Parts, Error>,
}

/// Parts of a scenario.
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
    /// Words for the levels 0, 1, … of each feature that has such.
    pub(crate) words: Vec<Vec<String>>,
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
        let (limits, names, words) = (Vec::new(), Vec::new(), Vec::new());
        Self { engine, model, expression, closed, axes, limits, names, words, size: 0.0 }
    }

    /// Of a function that is known as a tree.
    pub(crate) fn of_problem(
        engine: Engine,
        model: Arc<dyn Model + Send + Sync>,
        expression: Expression,
        axes: Vec<(f64, f64)>,
        names: Vec<String>,
        words: Vec<Vec<String>>,
        size: f64,
    ) -> Self {
        let (closed, expression) = (Arc::new(Unknown), Arc::new(expression));
        Self { engine, model, expression, closed, axes, limits: Vec::new(), names, words, size }
    }

    /// The same function under another law of the same features, of which no closed form and no
    /// published curve is known.
    fn under(&self, engine: Engine, axes: Vec<(f64, f64)>) -> Self {
        let (model, expression) = (Arc::clone(&self.model), Arc::clone(&self.expression));
        let (closed, limits) = (Arc::new(Unknown), Vec::new());
        let (names, words) = (self.names.clone(), self.words.clone());
        Self { engine, model, expression, closed, axes, limits, names, words, size: self.size }
    }

    /// Adds curves as published.
    fn with_limits(self, limits: Vec<Limit>) -> Self {
        Self { limits, ..self }
    }
}

/// Of a law of which nothing is known in closed form.
struct Unknown;

impl ClosedForms for Unknown {
    fn at(&self, _: Pointwise, _: usize, _: f64, _: (f64, f64)) -> Option<f64> {
        None
    }
}

/// Of the law in a region, of which nothing else is known in closed form than in regions of it.
struct InBoxes(Arc<dyn ClosedForms>);

impl ClosedForms for InBoxes {
    fn at(&self, _: Pointwise, _: usize, _: f64, _: (f64, f64)) -> Option<f64> {
        None
    }

    fn in_box(&self, spread: Spread<'_>, asked: &InBox<'_>) -> Option<Estimate> {
        self.0.in_box(spread, asked)
    }

    fn at_in_box(&self, effect: Quantity, x: f64, asked: &InBox<'_>) -> Option<Estimate> {
        self.0.at_in_box(effect, x, asked)
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

/// Room for the resolution of each feature.
fn unresolved(engine: &Engine) -> Arc<[OnceLock<Vec<f64>>]> {
    (0..engine.law().dimension()).map(|_| OnceLock::new()).collect()
}

/// A law of the features, a function of them, and the exact truths of the pair.
#[derive(Clone)]
pub struct Scenario {
    info: &'static ScenarioInfo,
    parameters: String,
    pub(crate) parts: Arc<Parts>,
    /// For each feature, coordinates that integrals along it must resolve, once asked for.
    resolution: Arc<[OnceLock<Vec<f64>>]>,
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
        let (resolution, whole) = (unresolved(&parts.engine), parts.engine.law().clone());
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

    /// The levels of a feature, counted from 0, in ascending order up to its 0.9999 quantile; none of a
    /// feature that has a density.
    ///
    /// ```
    /// let text = "f = \"level(season, winter: -1, summer: 2)\"\n\
    ///             [law]\nseason = \"categorical(winter: 0.3, summer: 0.7)\"\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// let levels = scenario.levels(0).unwrap();
    /// assert_eq!((levels[1].name.as_str(), levels[1].value), ("summer", 1.0));
    /// assert!((scenario.mean().unwrap().value - 1.1).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn levels(&self, feature: usize) -> Option<Vec<Level>> {
        let margin = self.parts.engine.margin(feature);
        let last = margin.levels()?.inverse(0.9999);
        let levels = margin.levels()?.iter().take_while(|(value, _)| *value <= last);
        let name = |value| self.level_name(feature, value);
        let level = |(value, probability)| Level { name: name(value), value, probability };
        Some(levels.map(level).collect())
    }

    /// The name of a level of a feature, counted from 0: a word, or the number itself.
    #[must_use]
    pub fn level_name(&self, feature: usize, value: f64) -> String {
        let words = self.parts.words.get(feature);
        let is_place = value >= 0.0 && value.fract() == 0.0;
        let word = words.filter(|_| is_place).and_then(|words| words.get(value as usize));
        word.map_or_else(|| number(&value), Clone::clone)
    }

    /// True if a feature, counted from 0, has levels that are words: they are split one against the rest, those
    /// that are numbers by what is at most a position.
    ///
    /// ```
    /// let text = "f = \"n + level(season, winter: -1, summer: 2)\"\n\
    ///             [law]\nseason = \"categorical(winter: 0.3, summer: 0.7)\"\nn = \"poisson(2)\"\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// assert!(scenario.is_nominal(0) && !scenario.is_nominal(1));
    /// ```
    #[must_use]
    pub fn is_nominal(&self, feature: usize) -> bool {
        self.parts.words.get(feature).is_some_and(|words| !words.is_empty())
    }

    /// Its description.
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

    /// True if the range of a feature, counted from 0, has quantiles of a simulated law for its ends: they are known to a
    /// hundredth or so.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn has_simulated_axis(&self, feature: usize) -> bool {
        let margin = self.parts.engine.margin(feature);
        margin.is_simulated() && self.parts.axes[feature] == quantile_axis(margin)
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

    /// [`Scenario::sample`] from the start of ChaCha with eight rounds and a seed, the generator of the datasets of studies.
    ///
    /// ```
    /// use rand_chacha::ChaCha8Rng;
    /// use rand_chacha::rand_core::SeedableRng;
    ///
    /// let scenario = fe_truth::scenario("liu-product", &[]).unwrap();
    /// let rows = scenario.sample_from([7; 32], 100);
    /// assert_eq!(rows, scenario.sample(100, &mut ChaCha8Rng::from_seed([7; 32])));
    /// ```
    #[must_use]
    pub fn sample_from(&self, seed: [u8; 32], n: usize) -> Vec<f64> {
        self.sample(n, &mut ChaCha8Rng::from_seed(seed))
    }

    /// The same scenario in a region of its features: all truths are those of the law given that
    /// rows lie there, which is also the background of Shapley values. The range of a feature is cut
    /// by its interval.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::ImpossibleRegion`], [`Error::RareRegion`].
    ///
    /// ```
    /// use fe_truth::{Centring, Quantity, Region, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// let region = Region::default().and(2, 0.0, f64::INFINITY);
    /// let right = scenario("effector-regional", &[])?.within(&region)?;
    /// // f is 3 x1 + x3 where x3 is above 0.
    /// let pd = right.curve(Quantity::Pd, 0, &[0.5], (-1.0, 1.0), Centring::None)?[0];
    /// assert!((pd.value - 2.0).abs() < 1e-12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn within(&self, region: &Region) -> Result<Self, Error> {
        let law = self.law_within(region)?;
        Ok(self.under(self.parts.engine.given(law), region))
    }

    /// The law of the features in a region that has a probability.
    pub(crate) fn law_within(&self, region: &Region) -> Result<Law, Error> {
        let mut law = self.parts.engine.law().clone();
        for (feature, condition) in region.conditions() {
            self.check_feature(*feature)?;
            self.share(&law, *feature, condition)?;
            law = law.restricted(*feature, condition);
        }
        Ok(law)
    }

    /// The probability of a condition under a law of this scenario's features.
    pub(crate) fn share(
        &self,
        law: &Law,
        feature: usize,
        condition: &Condition,
    ) -> Result<f64, Error> {
        let share = law.share(feature, condition);
        if let Some(share) = share.filter(|share| *share > 0.0) {
            return Ok(share);
        }
        let condition = condition.told(|level| self.level_name(feature, level));
        let feature = self.feature_name(feature);
        match share {
            Some(_) => Err(Error::ImpossibleRegion { feature, condition }),
            None => Err(Error::RareRegion { feature, condition }),
        }
    }

    /// The same scenario under another law, whose region is known.
    pub(crate) fn under(&self, engine: Engine, region: &Region) -> Self {
        if region.conditions().is_empty() {
            return self.clone();
        }
        let axes = self.parts.axes.iter().enumerate();
        let cut = |(feature, &axis): (usize, &(f64, f64))| match engine.margin(feature).levels() {
            Some(levels) => (levels.support().0.max(axis.0), levels.support().1.min(axis.1)),
            None => region.cut(feature, axis),
        };
        let axes = axes.map(cut).collect();
        let resolution = unresolved(&engine);
        let closed = Arc::new(InBoxes(Arc::clone(&self.parts.closed)));
        let parts = Parts { closed, ..self.parts.under(engine, axes) };
        Self { parts: Arc::new(parts), resolution, ..self.clone() }
    }

    /// The same features with another function of them, of which no closed form is known.
    pub(crate) fn of_engine(&self, engine: Engine) -> Self {
        let resolution = unresolved(&engine);
        let parts = Arc::new(self.parts.under(engine, self.parts.axes.clone()));
        Self { parts, resolution, ..self.clone() }
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

    /// True if a feature, counted from 0, enters f only in terms that read nothing else: if it has
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

    /// True if a feature, counted from 0, is independent of all others by the build of the law.
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

    /// Coordinates that integrals along a feature must resolve.
    pub(crate) fn resolution(&self, feature: usize) -> &[f64] {
        self.resolution[feature].get_or_init(|| self.parts.engine.resolution(feature))
    }

    /// The same scenario, whose simulated truths end at another accuracy and cost, where these are given:
    /// an interval of `tolerance` relative to the size of the answer (else 0.001), and `most` evaluations
    /// of one mean (else 4 million). Truths are
    /// simulated where more than three features of a problem file are averaged at once; built-in
    /// scenarios have none.
    ///
    /// # Errors
    /// [`Error::BadSimulation`].
    ///
    /// ```
    /// let law: String = (1..=4).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect();
    /// let text = format!("f = \"sqrt(x1 + x2 + x3 + x4)\"\n[law]\n{law}");
    /// let scenario = fe_truth::problem("mine", &text, &[]).unwrap();
    /// let mean = scenario.simulating(Some(1e-4), None).unwrap().mean().unwrap();
    /// assert_eq!(mean.method, fe_truth::Evaluation::Simulation);
    /// assert!(mean.abs_error < 1e-4 * mean.value);
    /// assert!(scenario.simulating(Some(0.0), None).is_err());
    /// ```
    pub fn simulating(&self, tolerance: Option<f64>, most: Option<f64>) -> Result<Self, Error> {
        if let Some(given) = tolerance.filter(|tolerance| !(1e-9..=1.0).contains(tolerance)) {
            let allowed = "a number from 1e-9 to 1";
            return Err(Error::BadSimulation { option: "tolerance", given, allowed });
        }
        if let Some(given) = most.filter(|most| !(1e4..=1e12).contains(most)) {
            let allowed = "a number from 1e4 to 1e12";
            return Err(Error::BadSimulation { option: "most", given, allowed });
        }
        Ok(self.limited(|watch| watch.simulating(tolerance, most)))
    }

    /// The same scenario for [`Scenario::values`] and [`Scenario::each_value`]: where these are simulated, to 5e-3 of their
    /// size unless [`Scenario::simulating`] was given a tolerance. They are single numbers, six of each feature, and a
    /// fifth of the tolerance takes up to twenty-five times the evaluations.
    ///
    /// ```
    /// let law: String = (1..=5).map(|i| format!("x{i} = \"uniform(1, 2)\"\n")).collect();
    /// let text = format!("f = \"sqrt(x1*x2 + x3*x4*x5)\"\n[law]\n{law}");
    /// let scenario = fe_truth::problem("mine", &text, &[]).unwrap().for_values();
    /// let (name, slope) = scenario.values(0, (1.0, 2.0)).unwrap()[1];
    /// assert_eq!(name, "dpdp.mean");
    /// assert!(slope.abs_error < 5e-3);
    /// ```
    #[must_use]
    pub fn for_values(&self) -> Self {
        self.limited(Watch::of_values)
    }

    /// The same within other limits of what is integrated; a built-in scenario has none.
    fn limited(&self, limits: impl FnOnce(&Watch) -> Watch) -> Self {
        if self.text.is_none() {
            return self.clone();
        }
        let engine = self.parts.engine.within(limits);
        let parts = Arc::new(self.parts.under(engine, self.parts.axes.clone()));
        Self { parts, ..self.clone() }
    }

    /// Ascending points that resolve integrals along a feature between two of its coordinates.
    pub(crate) fn resolved(&self, feature: usize, further: &[f64], from: f64, to: f64) -> Vec<f64> {
        self.between(feature, &[self.resolution(feature), further].concat(), from, to)
    }

    /// As [`Self::resolved`], of effects for which the others have their own law, or that given the feature. Built-in
    /// scenarios keep the panels, and with them the digits, that they had.
    pub(crate) fn resolved_where(
        &self,
        feature: usize,
        rest: Rest,
        (from, to): (f64, f64),
    ) -> Vec<f64> {
        let engine = &self.parts.engine;
        if rest == Rest::Conditional || engine.watch.is_none() {
            return self.resolved(feature, &[], from, to);
        }
        self.between(feature, &engine.resolution_where(feature, rest), from, to)
    }

    fn between(&self, feature: usize, points: &[f64], from: f64, to: f64) -> Vec<f64> {
        let outwards = self.parts.engine.margin(feature).outwards(from, to);
        self.parts.engine.panels_between(&[points, &outwards].concat(), from, to)
    }

    /// Refuses what a feature with levels does not have.
    pub(crate) fn check_density(&self, feature: usize, what: &str) -> Result<(), Error> {
        if !self.parts.engine.has_levels(feature) {
            return Ok(());
        }
        Err(Error::HasLevels { feature: self.feature_name(feature), what: what.to_owned() })
    }

    pub(crate) fn check_feature(&self, feature: usize) -> Result<(), Error> {
        let dimension = self.dimension();
        if feature < dimension { Ok(()) } else { Err(Error::NoSuchFeature { feature, dimension }) }
    }

    pub(crate) fn check_axis(&self, feature: usize, (low, high): (f64, f64)) -> Result<(), Error> {
        self.check_feature(feature)?;
        let support = self.support(feature);
        let finite = (high - low).is_finite();
        if finite && support.0 <= low && low < high && high <= support.1 {
            return Ok(());
        }
        Err(Error::BadAxis { feature: self.feature_name(feature), low, high, support })
    }

    pub(crate) fn check_points(&self, feature: usize, points: &[f64]) -> Result<(), Error> {
        if let Some(levels) = self.parts.engine.margin(feature).levels() {
            return match points.iter().find(|x| levels.position(**x).is_none()) {
                None => Ok(()),
                Some(&given) => {
                    let known = self.levels(feature).unwrap_or_default();
                    let known = known.iter().take(20).map(|level| level.value.to_string());
                    let known = known.collect::<Vec<_>>().join(", ");
                    Err(Error::NoLevel { feature: self.feature_name(feature), given, known })
                }
            };
        }
        let (low, high) = self.support(feature);
        let outside = |x: &&f64| !(x.is_finite() && low <= **x && **x <= high);
        match points.iter().find(outside) {
            None => Ok(()),
            Some(&given) => {
                let feature = self.feature_name(feature);
                Err(Error::OutsideSupport { feature, given, low, high })
            }
        }
    }

    /// The closed forms, unless they are not to be used.
    pub(crate) fn forms(&self) -> Option<&dyn ClosedForms> {
        self.use_closed_forms.then_some(&*self.parts.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Centring, Quantity};

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
            for &effect in Quantity::ALL.iter().filter(|effect| **effect != Quantity::Main) {
                let ask = |s: &Scenario| s.curve(effect, feature, &points, axis, Centring::None);
                let (known, integrated) = (ask(&scenario).unwrap(), ask(&general).unwrap());
                for (known, integrated) in known.iter().zip(integrated) {
                    assert!((known.value - integrated.value).abs() < 1e-10, "{effect} x{feature}");
                }
            }
        }
    }

    #[test]
    fn axes_are_finite_and_inside_the_support() {
        let normal = scenario("liu-additive", &[]).unwrap();
        for axis in [(-1.0, 1.0), (1e308, 1.5e308)] {
            assert!(normal.check_axis(0, axis).is_ok(), "{axis:?}");
        }
        let infinity = f64::INFINITY;
        for axis in [
            (1.0, 1.0),
            (1.0, -1.0),
            (-infinity, 1.0),
            (0.0, infinity),
            (-infinity, infinity),
            (-1e308, 1.5e308),
            (f64::NAN, 1.0),
        ] {
            assert!(normal.check_axis(0, axis).is_err(), "{axis:?}");
        }
        let uniform = scenario("friedman1", &[]).unwrap();
        assert!(uniform.check_axis(0, (0.0, 1.0)).is_ok());
        assert!(
            uniform.check_axis(0, (-0.1, 1.0)).is_err()
                && uniform.check_axis(0, (0.0, 1.1)).is_err()
        );
    }

    #[test]
    fn features_are_found_by_their_names() {
        let scenario = scenario("apley-zhu", &[]).unwrap();
        assert_eq!(scenario.dimension(), 2);
        let names = ["x1", "x2", "x3", "x0", "y"];
        assert_eq!(
            names.map(|name| scenario.feature_named(name)),
            [Some(0), Some(1), None, None, None]
        );
    }

    /// Closed forms, which are not integrated.
    #[test]
    fn closed_forms_answer_where_they_are() {
        for (name, feature, quantity) in [
            ("piecewise-linear", 0, Quantity::Mu),
            ("friedman1-copula", 3, Quantity::Mu),
            ("poly3", 0, Quantity::Pd),
            ("friedman1", 3, Quantity::Mu),
            ("apley-zhu", 1, Quantity::Mu),
        ] {
            let scenario = scenario(name, &[]).unwrap();
            let axis = scenario.axis(feature);
            let place = [0.5 * (axis.0 + axis.1)];
            let truth = scenario.curve(quantity, feature, &place, axis, Centring::None).unwrap()[0];
            assert_eq!(truth.method, crate::Evaluation::Closed, "{name}");
        }
    }

    #[test]
    fn models_read_all_features_of_their_scenarios() {
        for info in scenarios() {
            let scenario = scenario(info.name, &[]).unwrap();
            assert_eq!(scenario.model().dimension(), scenario.dimension(), "{}", info.name);
        }
        assert_eq!(scenario("apley-zhu", &[]).unwrap().model().dimension(), 2);
    }

    /// Points of integrals are those of the law in the region, whatever was asked before.
    #[test]
    fn a_region_has_a_resolution_of_its_own() {
        let whole = scenario("friedman1", &[]).unwrap();
        let ends = |scenario: &Scenario| {
            let points = scenario.resolution(0);
            let least = points.iter().copied().fold(f64::INFINITY, f64::min);
            (least, points.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        assert_eq!(ends(&whole), (0.0, 1.0));
        let half = whole.leaf(&Region::default().and(0, 0.25, 0.5)).unwrap();
        assert_eq!(ends(&half), (0.25, 0.5));
    }
}
