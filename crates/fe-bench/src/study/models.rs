//! Models that a study fits, and which of their effects it compares.

use std::collections::HashSet;
use std::sync::Arc;

use fe_core::settings::BandKind;
use fe_models::{Learner, Split, Task};
use toml::{Table, Value};

use super::file::Block;
use super::key::Key;
use super::sweep;
use super::variants::Variant;
use crate::error::listed;
use crate::score::comparison::{Circumstances, Comparison, ModelKind, Pair, Side};
use crate::score::{METRICS, Metric, estimand_of};

/// Models that are fitted to each dataset of a group, and pairs that are compared.
#[derive(Debug, Clone)]
pub struct Fitting {
    /// Ratio of signal to noise of the target; 0 for none.
    pub snr: f64,
    /// On which rows models are fitted and explained, with the name in results.
    pub splits: Vec<(String, Split)>,
    /// Further datasets on which each model is explained.
    pub fresh: usize,
    /// Further datasets that each learner is fitted to for its expected effect.
    pub expected: usize,
    /// Pairs without a model.
    pub pairs: Vec<Pair>,
    /// The models.
    pub models: Vec<Explained>,
    /// The part of the keys of pairs without an estimator that says how an effect is estimated.
    pub key: Key,
}

/// A model with what its effects are compared with.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Its name in results.
    pub label: String,
    /// The learner that fits it.
    pub learner: Arc<Learner>,
    /// Its pairs.
    pub pairs: Vec<Pair>,
}

/// Datasets from which the expected effect of a learner is, where no number is given: its Monte Carlo error is then a
/// fourteenth of the standard deviation of the effect of a model.
const EXPECTED: usize = 200;

/// The most datasets on which the effects of a model are estimated.
const MOST_FRESH: usize = 10_000;

impl Fitting {
    /// No models: the effects of f are compared with their truths, on all rows.
    #[must_use]
    pub fn of_f() -> Self {
        Self {
            snr: 0.0,
            splits: vec![(String::new(), Split::Train)],
            fresh: 0,
            expected: 0,
            pairs: vec![Pair { first: Side::Empirical, second: Side::Theoretical }],
            models: Vec::new(),
            key: Key::default(),
        }
    }

    /// Models and pairs of a block; none if it has none.
    pub(super) fn read(block: &Block, metrics: &[Metric]) -> Result<Option<Self>, String> {
        if block.model.is_empty() && block.pairs.is_empty() {
            return match without_model(block) {
                Some(key) => Err(format!("`{key}` needs a [[block.model]]")),
                None if block.force => Err("`force` needs `pairs`".to_owned()),
                None => Ok(None),
            };
        }
        if let Some(key) = without_model(block).filter(|_| block.model.is_empty()) {
            return Err(format!("`{key}` needs a [[block.model]]"));
        }
        check_metrics(metrics)?;
        if block.fresh == 1 || block.fresh > MOST_FRESH {
            let fresh = block.fresh;
            return Err(format!("`fresh` = {fresh}: must be 0, or from 2 to {MOST_FRESH}"));
        }
        if let Some(expected) = block.expected.filter(|of| !(2..=MOST_FRESH).contains(of)) {
            return Err(format!("`expected` = {expected}: must be from 2 to {MOST_FRESH}"));
        }
        let pairs = match &block.pairs[..] {
            [] => parse_pairs(&["model:theoretical".to_owned()])?,
            given => parse_pairs(given)?,
        };
        let (of_models, of_f): (Vec<Pair>, Vec<Pair>) =
            pairs.into_iter().partition(|pair| pair.needs_model());
        if let (Some(pair), true) = (of_models.first(), block.model.is_empty()) {
            return Err(format!("pair `{pair}` needs a [[block.model]]"));
        }
        Ok(Some(Self {
            snr: 0.0,
            splits: splits(block)?,
            fresh: block.fresh,
            expected: block.expected.unwrap_or(EXPECTED),
            pairs: of_f,
            models: Vec::new(),
            key: Key::default(),
        }))
    }

    /// The models that are fitted to so many rows.
    pub(super) fn models(block: &Block, rows: usize) -> Result<Vec<Explained>, String> {
        let pairs = parse_pairs(&block.pairs)?;
        let of_models: Vec<Pair> = pairs.into_iter().filter(|pair| pair.needs_model()).collect();
        let mut models: Vec<Explained> = Vec::new();
        for table in &block.model {
            for options in sweep::combinations(table, &super::size::OF_MODELS)? {
                if let Some(model) = explained(options, rows, &of_models, block)? {
                    models.push(model);
                }
            }
        }
        let mut seen = HashSet::new();
        if let Some(twice) = models.iter().find(|model| !seen.insert(model.label.as_str())) {
            return Err(format!(
                "two models are called `{}` at N = {rows}: give them a `label` each",
                twice.label
            ));
        }
        if models.is_empty() && !block.model.is_empty() {
            return Err(format!("no model is fitted at N = {rows}"));
        }
        Ok(models)
    }

    /// Refuses pairs that mean nothing, unless they are forced.
    pub(super) fn check(
        &self,
        block: &Block,
        scenario: &fe_truth::Scenario,
        features: &[usize],
        variants: &[Variant],
        metrics: &[Metric],
    ) -> Result<(), String> {
        if let Some(engine) = variants.iter().find(|variant| variant.external.is_some()) {
            return Err(format!(
                "{}: engines explain the scenario's own function and compare it with its truth; \
                 models and `pairs` are for estimators of this program",
                engine.estimator
            ));
        }
        self.check_splits(variants)?;
        let of_f = self.pairs.iter().map(|pair| (None, *pair));
        let of_models =
            self.models.iter().flat_map(|model| model.pairs.iter().map(move |p| (Some(model), *p)));
        for (model, pair) in of_f.chain(of_models) {
            pair.check_comparison(block.compare)?;
            let is_scored = pair.has_band() && metrics.iter().any(|metric| metric.is_of_bands());
            if is_scored && block.compare == Comparison::Centred {
                return Err(format!(
                    "pair `{pair}`: a band from refits is around curves that are centred as the estimator's are, which \
                     `compare` = \"Err\" compares as they are"
                ));
            }
            if block.force {
                continue;
            }
            for &feature in features {
                let model = model.map(|of| ModelKind {
                    name: &of.label,
                    has_main_effect: of.learner.has_main_effect(feature),
                    sum: of.learner.sum_kind(),
                });
                for variant in variants {
                    let estimand = estimand_of(&variant.estimator);
                    let estimand = estimand.filter(|_| pair.needs_estimator());
                    pair.check_meaning(Circumstances { scenario, feature, estimand, model })
                        .map_err(|e| {
                            format!("{e}; `force = true` has it computed where that is possible")
                        })?;
                }
            }
        }
        Ok(())
    }

    /// Refuses what only effects of one feature are compared by, and exact effects of pairs that there are none of.
    pub(super) fn check_of_pairs(
        &self,
        block: &Block,
        (scenario, pairs): (&fe_truth::Scenario, &[[usize; 2]]),
        variants: &[Variant],
    ) -> Result<(), String> {
        let of_models = self.models.iter().flat_map(|model| &model.pairs);
        let is_known = |pair: &&Pair| {
            matches!(
                (pair.first, pair.second),
                (Side::Model | Side::Empirical | Side::ModelExact, Side::Theoretical)
                    | (Side::Model, Side::ModelExact)
            )
        };
        if let Some(pair) = self.pairs.iter().chain(of_models).find(|pair| !is_known(pair)) {
            return Err(format!(
                "pair `{pair}` is of effects of one feature; those of two are compared as model:theoretical, \
                 model-exact:theoretical, model:model-exact and empirical:theoretical"
            ));
        }
        if self.fresh > 0 {
            return Err("`fresh` is of effects of one feature, not of two".to_owned());
        }
        if let Some((name, _)) = self.splits.iter().find(|(_, split)| *split != Split::Train) {
            return Err(format!(
                "`split` = [\"{name}\"]: effects of two features are those of a fit to all rows, train"
            ));
        }
        let of_models = self.models.iter().filter(|_| !block.force);
        for (model, pair) in of_models.flat_map(|of| of.pairs.iter().map(move |pair| (of, pair))) {
            let sum = model.learner.sum_kind();
            let kind = ModelKind { name: &model.label, has_main_effect: false, sum };
            let estimands = variants.iter().filter_map(|of| estimand_of(&of.estimator));
            for estimand in estimands {
                for &features in pairs {
                    pair.check_exact_of_two((scenario, features), estimand, kind).map_err(|e| {
                        format!("{e}; `force = true` has it computed where that is possible")
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Refuses bands from refits of a split: they are around the effect of a fit to all rows.
    fn check_splits(&self, variants: &[Variant]) -> Result<(), String> {
        let is_refitted = |variant: &Variant| variant.settings.band == Some(BandKind::Refit);
        let split = self.splits.iter().find(|(_, split)| *split != Split::Train);
        match split.filter(|_| variants.iter().any(is_refitted)) {
            Some((name, _)) => Err(format!(
                "`split` = [\"{name}\"]: a band from refits is around the effect of a fit to all rows, train"
            )),
            None => Ok(()),
        }
    }

    /// Numbers of rows that each model, or f, is explained on, split by split.
    #[must_use]
    pub fn sizes(&self, rows: usize) -> Vec<usize> {
        let parts = |(_, split): &(String, Split)| split.parts(rows, 0).unwrap_or_default();
        self.splits.iter().flat_map(parts).map(|part| part.explain.len()).collect()
    }

    /// Number of functions that are explained on rows: models of which a pair has an estimate, each on further datasets
    /// too, and f.
    #[must_use]
    pub fn estimated(&self) -> usize {
        let is_estimated = |pair: &Pair| {
            let sides = pair.sides();
            sides.contains(&Side::Model) || !sides.contains(&Side::ModelExact)
        };
        let models = self.models.iter().filter(|model| model.pairs.iter().any(is_estimated));
        models.count() * (1 + self.fresh) + usize::from(!self.pairs.is_empty())
    }

    /// Number of learners whose expected effect a pair has.
    #[must_use]
    pub fn learners(&self) -> usize {
        let has = |pair: &Pair| pair.sides().contains(&Side::ModelExpected);
        self.models.iter().filter(|model| model.pairs.iter().any(has)).count()
    }

    /// Number of functions that are explained: the models, each on further datasets too, and f.
    #[must_use]
    pub fn subjects(&self) -> usize {
        self.models.len() * (1 + self.fresh) + usize::from(!self.pairs.is_empty())
    }
}

/// The first key that only models give a meaning to.
fn without_model(block: &Block) -> Option<&'static str> {
    let given = [
        ("snr", block.snr.is_some()),
        ("split", !block.split.is_empty()),
        ("fresh", block.fresh > 0),
        ("expected", block.expected.is_some()),
    ];
    given.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key)
}

fn check_metrics(metrics: &[Metric]) -> Result<(), String> {
    match metrics.iter().find(|metric| !metric.is_of_pairs()) {
        None => Ok(()),
        Some(metric) => {
            let of_pairs = METRICS.iter().filter(|metric| metric.is_of_pairs());
            Err(format!(
                "metric `{}` compares an estimate with the truth of f alone; of pairs there are {}",
                metric.name(),
                listed(of_pairs.map(|metric| metric.name()))
            ))
        }
    }
}

fn parse_pairs(texts: &[String]) -> Result<Vec<Pair>, String> {
    let pairs = texts.iter().map(|text| text.parse()).collect::<Result<Vec<Pair>, _>>()?;
    match pairs.iter().enumerate().find(|(i, pair)| pairs[..*i].contains(pair)) {
        Some((_, twice)) => Err(format!("pair `{twice}` is given twice")),
        None => Ok(pairs),
    }
}

fn splits(block: &Block) -> Result<Vec<(String, Split)>, String> {
    if block.model.is_empty() {
        return Ok(vec![(String::new(), Split::Train)]);
    }
    let given = if block.split.is_empty() { &["train".to_owned()][..] } else { &block.split };
    let read = |text: &String| text.parse::<Split>().map_err(|e| e.to_string());
    let splits = given.iter().map(read).collect::<Result<Vec<Split>, String>>()?;
    if let Some((_, twice)) = splits.iter().enumerate().find(|(i, s)| splits[..*i].contains(s)) {
        return Err(format!("split `{twice}` is given twice"));
    }
    Ok(splits.into_iter().map(|split| (split.to_string(), split)).collect())
}

/// A model, if it is fitted to so many rows.
fn explained(
    mut options: Table,
    rows: usize,
    of_models: &[Pair],
    block: &Block,
) -> Result<Option<Explained>, String> {
    let Some(Value::String(name)) = options.remove("name") else {
        return Err("a model needs a `name`; `fe-bench list models` shows them".to_owned());
    };
    let sizes = options.remove("N").map(|sizes| super::sizes(&sizes)).transpose()?;
    let all_sizes = super::sizes(&block.n)?;
    if let Some(size) = sizes.iter().flatten().find(|size| !all_sizes.contains(size)) {
        return Err(format!("`N` = {size} of {name} is not among those of the block"));
    }
    let own = options.remove("pairs").map(|pairs| texts(&name, &pairs)).transpose()?;
    let label = label(&name, &mut options)?;
    let set: Vec<(String, String)> =
        options.iter().map(|(key, value)| (key.clone(), sweep::plain(value))).collect();
    let learner = Learner::new(&name, &set).map_err(|e| e.to_string())?;
    if learner.task() != Task::Regression {
        return Err(format!("`{name}` predicts classes, and the target of a scenario is a number"));
    }
    if sizes.is_some_and(|sizes| !sizes.contains(&rows)) {
        return Ok(None);
    }
    let pairs = match own {
        Some(own) => parse_pairs(&own)?,
        None if of_models.is_empty() => parse_pairs(&["model:theoretical".to_owned()])?,
        None => of_models.to_vec(),
    };
    if let Some(pair) = pairs.iter().find(|pair| !pair.needs_model()) {
        return Err(format!(
            "pair `{pair}` of {name} has no effect of a model: give it to the block"
        ));
    }
    Ok(Some(Explained { label, learner: Arc::new(learner), pairs }))
}

fn texts(model: &str, value: &Value) -> Result<Vec<String>, String> {
    let list =
        value.as_array().map(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match list.flatten() {
        Some(texts) if !texts.is_empty() => Ok(texts.into_iter().map(str::to_owned).collect()),
        _ => Err(format!("`pairs` = {value} of {model}: must be a list of pairs")),
    }
}

/// Name of the model in results: as the file says, or its name with the options it is given.
fn label(name: &str, options: &mut Table) -> Result<String, String> {
    const TAKEN: [&str; 4] = ["model", "empirical", "theoretical", "main"];
    match options.remove("label") {
        None if options.is_empty() => Ok(name.to_owned()),
        None => {
            let option = |(key, value): (&String, &Value)| format!("{key}={}", sweep::plain(value));
            let options: Vec<String> = options.iter().map(option).collect();
            Ok(format!("{name}({})", options.join(" ").replace(',', " ")))
        }
        Some(Value::String(label))
            if !label.is_empty()
                && !TAKEN.contains(&label.as_str())
                && !label.contains([':', ',', '"', '\n']) =>
        {
            Ok(label)
        }
        Some(other) => Err(format!(
            "`label` = {other} of {name}: must be a text without colon, comma and quote, and none of {}",
            listed(TAKEN)
        )),
    }
}
