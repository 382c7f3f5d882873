//! Pairs of effects that are compared, and the meaning of their comparison.
//!
//! A side of a pair is a curve of the feature: an estimate, a truth, or a term of a sum. What is
//! measured between two curves lives in the core.

use std::fmt;
use std::str::FromStr;

use fe_core::estimator::Estimand;
use fe_models::SumKind;
use fe_truth::Scenario;
use serde::{Deserialize, Serialize};

use crate::error::{listed, suggestion};
use crate::score::{truth, truth_of};

/// True if curves are centred before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Comparison {
    /// Both curves are centred on the grid.
    #[default]
    #[serde(rename = "Err_c")]
    Centred,
    /// The curves are compared as they are; both must be centred alike.
    #[serde(rename = "Err")]
    AsTheyAre,
}

/// One of the two effects of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The effect of a fitted model, by the estimator.
    Model,
    /// The effect of a fitted model under the law of the scenario, where it is known exactly.
    ModelExact,
    /// The expected effect of the learner: the mean over models that are fitted to further datasets of the same
    /// size, each explained on as many other rows.
    ModelExpected,
    /// The model's own term of the feature, where it is a sum that has one.
    ModelMain,
    /// The effect of f itself, by the same estimator on the same rows.
    Empirical,
    /// The exact truth of what the estimator estimates.
    Theoretical,
    /// A truth of f by name, its main effect among them.
    Truth(fe_truth::Quantity),
}

impl Side {
    const NAMES: [(&'static str, Side); 7] = [
        ("model", Side::Model),
        ("model-exact", Side::ModelExact),
        ("model-expected", Side::ModelExpected),
        ("model-main", Side::ModelMain),
        ("empirical", Side::Empirical),
        ("theoretical", Side::Theoretical),
        ("main", Side::Truth(fe_truth::Quantity::Main)),
    ];

    /// True if a model must be fitted for it.
    #[must_use]
    pub fn needs_model(self) -> bool {
        matches!(self, Side::Model | Side::ModelExact | Side::ModelExpected | Side::ModelMain)
    }

    /// True if it depends on an estimator: on its rows, or on what it estimates.
    #[must_use]
    pub fn needs_estimator(self) -> bool {
        matches!(self, Side::Theoretical | Side::ModelExact | Side::ModelExpected)
            || self.is_estimate()
    }

    /// True if it is estimated from rows.
    #[must_use]
    pub fn is_estimate(self) -> bool {
        matches!(self, Side::Model | Side::Empirical)
    }

    /// The effect in words, of a model of some name.
    fn about(self, model: &str) -> String {
        match self {
            Side::Model => format!("the effect of the model {model}"),
            Side::ModelExact => {
                format!("the exact effect of the model {model} under the law of the features")
            }
            Side::ModelExpected => {
                format!("the expected effect of the learner {model} of so many rows, over datasets")
            }
            Side::ModelMain => format!("the term of the feature in the model {model}"),
            Side::Empirical => "the effect of f by the same estimator on the same rows".to_owned(),
            Side::Theoretical => "the exact effect of f".to_owned(),
            Side::Truth(quantity) => format!("the exact {quantity} of f"),
        }
    }

    /// True if it is a term of a sum, which says nothing of its constant.
    fn is_main(self) -> bool {
        matches!(self, Side::ModelMain | Side::Truth(fe_truth::Quantity::Main))
    }

    /// The quantity that it is a truth or an estimate of.
    fn quantity(self, estimand: Option<Estimand>) -> fe_truth::Quantity {
        match (self, estimand) {
            (Side::Truth(quantity), _) => quantity,
            (Side::ModelMain, _) | (_, None) => fe_truth::Quantity::Main,
            (_, Some(estimand)) => truth_of(estimand),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (Self::NAMES.iter().find(|(_, side)| side == self), self) {
            (Some((name, _)), _) => f.write_str(name),
            (None, Side::Truth(quantity)) => write!(f, "{quantity}"),
            (None, _) => Ok(()),
        }
    }
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, side)) = Self::NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*side);
        }
        match truth(text) {
            Ok(quantity) if quantity.is_curve() || quantity == fe_truth::Quantity::Dpd => {
                Ok(Side::Truth(quantity))
            }
            _ => {
                let curves = fe_truth::Quantity::ALL.iter().filter(|effect| effect.is_curve());
                let names: Vec<String> = Self::NAMES
                    .iter()
                    .map(|(name, _)| (*name).to_owned())
                    .chain(curves.map(ToString::to_string).filter(|name| name != "main"))
                    .chain(["dpd".to_owned()])
                    .collect();
                let names = || names.iter().map(String::as_str);
                Err(format!(
                    "unknown effect `{text}`{}; allowed are {}",
                    suggestion(text, names()),
                    listed(names())
                ))
            }
        }
    }
}

/// Two effects that are compared: the error of the first from the second.
///
/// ```
/// # use fe_bench::score::comparison::Pair;
/// let pair: Pair = "model:theoretical".parse().unwrap();
/// assert_eq!(pair.named("gam"), "gam:theoretical");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The effect that has the error.
    pub first: Side,
    /// The effect that it is measured from.
    pub second: Side,
}

/// Circumstances of a pair, to see whether it means something.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The feature, counted from 0.
    pub feature: usize,
    /// The estimand; none for a pair without an estimate.
    pub estimand: Option<Estimand>,
    /// The model.
    pub model: Option<ModelKind<'a>>,
}

/// The part of a model that is known before it is fitted.
#[derive(Debug, Clone, Copy)]
pub struct ModelKind<'a> {
    /// Its name.
    pub name: &'a str,
    /// True if it has a main effect of the feature.
    pub has_main_effect: bool,
    /// The sum that it is, if it is one.
    pub sum: Option<SumKind>,
}

impl Pair {
    /// Both sides.
    #[must_use]
    pub fn sides(self) -> [Side; 2] {
        [self.first, self.second]
    }

    /// True if a model must be fitted for it.
    #[must_use]
    pub fn needs_model(self) -> bool {
        self.sides().into_iter().any(Side::needs_model)
    }

    /// True if it depends on an estimator.
    #[must_use]
    pub fn needs_estimator(self) -> bool {
        self.sides().into_iter().any(Side::needs_estimator)
    }

    /// True if it is the error of a model's estimate from what is exact: against another estimate, it is
    /// the difference of both that varies.
    #[must_use]
    pub fn is_of_model(self) -> bool {
        self.first == Side::Model && matches!(self.second, Side::Theoretical | Side::Truth(_))
    }

    /// True if a band from refits beside the model's estimate is held against it: the second effect is none that the
    /// same rows decide.
    #[must_use]
    pub fn has_band(self) -> bool {
        let targets =
            |side| matches!(side, Side::Theoretical | Side::Truth(_) | Side::ModelExpected);
        self.first == Side::Model && targets(self.second)
    }

    /// Its name in the results, with that of the model.
    #[must_use]
    pub fn named(self, model: &str) -> String {
        let name = |side: Side| match side {
            Side::Model => model.to_owned(),
            Side::ModelExact => format!("{model}-exact"),
            Side::ModelExpected => format!("{model}-expected"),
            Side::ModelMain => format!("{model}-main"),
            other => other.to_string(),
        };
        format!("{}:{}", name(self.first), name(self.second))
    }

    /// Its name in the results, and what it compares, in words.
    #[must_use]
    pub fn about(self, model: &str) -> String {
        let [first, second] = self.sides().map(|side| side.about(model));
        format!("{}: {first}, less {second}", self.named(model))
    }

    /// Refuses curves that say nothing of their constant where constants are compared.
    ///
    /// # Errors
    /// The reason.
    pub fn check_comparison(self, comparison: Comparison) -> Result<(), String> {
        match self.sides().into_iter().find(|side| side.is_main()) {
            Some(side) if comparison == Comparison::AsTheyAre => Err(format!(
                "pair `{self}`: the constant of `{side}` is arbitrary, so that only \
                 `compare` = \"Err_c\" means something"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a pair that means nothing.
    ///
    /// # Errors
    /// The reason.
    pub fn check_meaning(self, of: Circumstances<'_>) -> Result<(), String> {
        let x = of.feature + 1;
        let refuse = |reason: String| Err(format!("pair `{self}`: {reason}"));
        for side in self.sides() {
            match (side, of.model) {
                (Side::Truth(fe_truth::Quantity::Main), _)
                    if !of.scenario.is_additive(of.feature) =>
                {
                    let name = of.scenario.info().name;
                    return refuse(format!(
                        "x{x} of {name} has no main effect, as it interacts with other features"
                    ));
                }
                (Side::ModelMain, Some(ModelKind { name, has_main_effect: false, .. })) => {
                    return refuse(format!("{name} has no main effect of x{x} of its own"));
                }
                (Side::ModelExact, Some(model)) => {
                    let quantity = side.quantity(of.estimand);
                    let of_trees = || of.scenario.check_trees(quantity, of.feature);
                    check_exact(model, of_trees).or_else(refuse)?;
                }
                _ => {}
            }
        }
        let [first, second] = self.sides().map(|side| side.quantity(of.estimand));
        if conform(first, second, of.scenario.is_independent(of.feature)) {
            return Ok(());
        }
        refuse(format!("{first} and {second} of x{x} are different curves even without any error"))
    }

    /// Refuses exact effects of two features of a model that there are none of.
    ///
    /// # Errors
    /// The reason.
    pub fn check_exact_of_two(
        self,
        (scenario, features): (&Scenario, [usize; 2]),
        estimand: Estimand,
        model: ModelKind<'_>,
    ) -> Result<(), String> {
        if !self.sides().contains(&Side::ModelExact) {
            return Ok(());
        }
        let of_trees = || scenario.check_trees_of_pair(truth_of(estimand), features);
        check_exact(model, of_trees).map_err(|reason| format!("pair `{self}`: {reason}"))
    }
}

/// Refuses exact effects of a model that there are none of; `of_trees` says which there are of trees.
fn check_exact(
    model: ModelKind<'_>,
    of_trees: impl FnOnce() -> Result<(), fe_truth::Error>,
) -> Result<(), String> {
    match model.sum {
        Some(SumKind::Smooth) => Ok(()),
        Some(SumKind::Trees) => of_trees().map_err(|e| e.to_string()),
        None => {
            let is_sum = |name: &&str| {
                fe_models::Learner::new(name, &[]).is_ok_and(|of| of.sum_kind().is_some())
            };
            let names = fe_models::ALL.iter().map(|info| info.name).filter(is_sum);
            Err(format!(
                "{} is no sum whose effects are integrals under the law; such are {}",
                model.name,
                listed(names)
            ))
        }
    }
}

/// True if two truths are the same up to a constant, wherever f is continuous, and additive in the
/// feature if one of them is the main effect.
fn conform(first: fe_truth::Quantity, second: fe_truth::Quantity, independent: bool) -> bool {
    use fe_truth::Quantity::{Ale, AleDerivative, Main, Mplot, Pd, Shap};
    let both_among = |set: &[fe_truth::Quantity]| set.contains(&first) && set.contains(&second);
    let has_main = first == Main || second == Main;
    first == second
        || both_among(&[Ale, AleDerivative])
        || (has_main && both_among(&[Main, Pd, Ale, AleDerivative, Shap]))
        || (independent && both_among(&[Pd, Ale, AleDerivative, Mplot]))
        || (independent && has_main && both_among(&[Main, Mplot]))
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.second)
    }
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: String| format!("pair `{text}`: {reason}");
        let Some((first, second)) = text.split_once(':') else {
            return Err(wrong("must be two effects, as in model:theoretical".to_owned()));
        };
        let pair =
            Self { first: first.parse().map_err(wrong)?, second: second.parse().map_err(wrong)? };
        let estimates =
            [Side::Model, Side::ModelExact, Side::ModelExpected, Side::ModelMain, Side::Empirical];
        if !estimates.contains(&pair.first) {
            return Err(wrong(format!(
                "the first effect must be an estimate, or of a model: {}",
                listed(["model", "model-exact", "model-expected", "model-main", "empirical"])
            )));
        }
        if pair.first == pair.second {
            return Err(wrong("both effects are the same".to_owned()));
        }
        Ok(pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(pair: &str, scenario: &str, feature: usize, estimator: &str) -> Result<(), String> {
        let scenario = fe_truth::scenario(scenario, &[]).unwrap();
        let estimand = crate::score::estimand_of(estimator);
        let sum = Some(SumKind::Trees);
        let model = Some(ModelKind { name: "tree", has_main_effect: false, sum });
        let pair: Pair = pair.parse().unwrap();
        pair.check_meaning(Circumstances { scenario: &scenario, feature, estimand, model })
    }

    #[test]
    fn what_means_something_depends_on_the_law_and_on_f() {
        for (pair, scenario, feature, estimator) in [
            ("model:theoretical", "liu-product", 0, "pdp"),
            ("model:empirical", "liu-product", 0, "mplot"),
            ("model:main", "liu-additive", 0, "ale"),
            ("model:main", "friedman1", 3, "pdp"),
            ("empirical:ale", "friedman1", 0, "pdp"),
            ("model:dpd", "friedman1", 0, "dpdp"),
            ("model-exact:theoretical", "liu-product", 0, "ale"),
            ("model:model-exact", "snc", 0, "shapdp"),
            ("empirical:model-exact", "friedman1-copula", 0, "pdp"),
            ("model-exact:theoretical", "friedman1-copula", 0, "shapdp"),
        ] {
            assert_eq!(meaning(pair, scenario, feature, estimator), Ok(()), "{pair}");
        }
        for (pair, scenario, feature, estimator, why) in [
            ("model:ale", "liu-product", 0, "pdp", "pd and ale of x1 are different"),
            ("model:main", "liu-product", 0, "pdp", "x1 of liu-product has no main effect"),
            ("model:main", "liu-additive", 0, "mplot", "mplot and main"),
            ("model:main", "friedman1", 3, "dpdp", "dpd and main"),
            ("model:model-main", "friedman1", 3, "pdp", "tree has no main effect of x4"),
            ("empirical:shap", "friedman1", 0, "pdp", "pd and shap"),
            ("model-exact:ale", "liu-product", 0, "pdp", "pd and ale of x1 are different"),
            ("model-exact:theoretical", "snc", 0, "rhale", "`ale-derivative` of a sum of trees"),
        ] {
            let message = meaning(pair, scenario, feature, estimator).unwrap_err();
            assert!(message.contains(why) && message.contains(pair), "{message}");
        }
    }

    #[test]
    fn pairs_are_written_as_they_are_read() {
        for text in
            ["model:theoretical", "model-main:main", "empirical:ale-derivative", "model-exact:pd"]
        {
            assert_eq!(text.parse::<Pair>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("model", "two effects"),
            ("modle:main", "did you mean `model`"),
            ("model:sigma", "unknown effect `sigma`"),
            ("theoretical:model", "must be an estimate"),
            ("model:model", "the same"),
        ] {
            let message = text.parse::<Pair>().unwrap_err();
            assert!(message.contains(why), "{message}");
        }
    }
}
