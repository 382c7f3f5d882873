//! Subjects of a block: effects of features, effects of pairs of features, or indices.
//!
//! Pairs are named as elsewhere, `x1:x2` or `all-pairs`; indices stand where an estimator has its name. Each is a block of
//! its own, as neither has the metrics of the others.

use std::sync::Arc;

use fe_core::indices::{Index, IndexOptions};
use fe_truth::Scenario;
use toml::{Table, Value};

use super::axis::AxisSource;
use super::file::{Block, ENGINE, INDICES, whole};
use super::key::Key;
use super::regions::no_metric;
use super::{MOST_PLACES, engines, size, sweep};
use crate::data::features::{self, Subject, pairs_that_f_reads};
use crate::engines::{self as asking, Asks, External};
use crate::error::{listed, suggestion};
use crate::score::Metric;
use crate::score::comparison::Comparison;
use crate::score::metric::EstimateKind;
use crate::score::pairs::has_truth;

/// Indices with the options of their estimates.
#[derive(Debug, Clone)]
pub struct IndexVariant {
    /// The indices, estimated together.
    pub asked: Vec<Index>,
    /// Options of their estimates, by this program.
    pub options: IndexOptions,
    /// The request to an engine, where one estimates them, and what the keys of its records say.
    pub external: Option<(External, Key)>,
}

/// The features and pairs of features of a scenario that a block is of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subjects {
    /// Features, counted from 0.
    pub features: Vec<usize>,
    /// Pairs of them.
    pub pairs: Vec<[usize; 2]>,
}

/// Options of indices, and the least that each may be.
const OPTIONS: [(&str, usize); 4] =
    [("outer", 1), ("background", 1), ("bins", 1), ("background_seed", 0)];

/// True if the block asks for indices.
///
/// # Errors
/// Estimators of effects beside indices.
pub(super) fn is_of_indices(block: &Block) -> Result<bool, String> {
    let count = block.estimator.iter().filter(|table| table.contains_key(INDICES)).count();
    match count {
        0 => Ok(false),
        all if all == block.estimator.len() => Ok(true),
        _ => Err(
            "`indices` and estimators of effects have other metrics: give each a block of its own"
                .to_owned(),
        ),
    }
}

/// True if the block is of effects of pairs.
///
/// # Errors
/// Single features beside pairs.
pub(super) fn is_of_pairs(block: &Block) -> Result<bool, String> {
    let pair = block.features.iter().find(|word| features::is_pair(word));
    let one = block.features.iter().find(|word| !features::is_pair(word));
    match (pair, one) {
        (Some(pair), Some(one)) => Err(format!(
            "`features` names {one} beside {pair}: give features and pairs a block each"
        )),
        (pair, _) => Ok(pair.is_some()),
    }
}

impl Subjects {
    /// Of a block: those that it names or, if it names none, all features; of indices all that they need, and of pairs
    /// those that f reads.
    pub(super) fn of(
        block: &Block,
        scenario: &Scenario,
        indices: &[IndexVariant],
    ) -> Result<Self, String> {
        let feature = |name: &str| features::feature_of(scenario, name);
        let name = |feature| scenario.feature_name(feature);
        let named = features::subjects(&block.features, scenario.dimension(), feature, name)?;
        let mut subjects = Self::default();
        for subject in &named {
            match *subject {
                Subject::One(feature) => subjects.features.push(feature),
                Subject::Two(pair) => subjects.pairs.push(pair),
            }
        }
        if indices.is_empty() {
            if named.is_empty() {
                subjects.features = (0..scenario.dimension()).collect();
            }
            return Ok(subjects);
        }
        let asked = |order: usize| {
            indices.iter().flat_map(|of| &of.asked).find(|index| index.order() == order)
        };
        if named.is_empty() {
            if asked(1).is_some() {
                subjects.features = (0..scenario.dimension()).collect();
            }
            if asked(2).is_some() {
                subjects.pairs = pairs_that_f_reads(scenario);
            }
            return Ok(subjects);
        }
        let lacking = [
            (asked(1), subjects.features.is_empty(), "a feature"),
            (asked(2), subjects.pairs.is_empty(), "a pair, such as x1:x2"),
        ];
        for (index, is_empty, what) in lacking {
            if let (Some(index), true) = (index, is_empty) {
                return Err(format!("{index} is of {what}, and `features` names none"));
            }
        }
        Ok(subjects)
    }
}

impl IndexVariant {
    /// The indices, each with the features that it is of.
    #[must_use]
    pub fn of(&self, subjects: &Subjects) -> Vec<(Index, Vec<usize>)> {
        let has = |order: usize| self.asked.iter().copied().filter(move |i| i.order() == order);
        let mut all: Vec<(Index, Vec<usize>)> = Vec::new();
        for &feature in &subjects.features {
            all.extend(has(1).map(|index| (index, vec![feature])));
        }
        for pair in &subjects.pairs {
            all.extend(has(2).map(|index| (index, pair.to_vec())));
        }
        all.extend(has(0).map(|index| (index, Vec::new())));
        all
    }

    /// The key of the values of an index of some features.
    #[must_use]
    pub fn key(&self, scenario: &Scenario, index: Index, features: &[usize]) -> Key {
        let default = IndexOptions::default();
        let IndexOptions { outer, background, bins, seed, brute: _ } = self.options;
        let takes = |option: &&str| index.options().contains(option);
        let others = [
            ("background", background as u64, default.background as u64),
            ("background_seed", seed, default.seed),
            ("outer", outer as u64, default.outer as u64),
        ];
        let others = others.iter().filter(|(name, value, usual)| takes(name) && value != usual);
        let options: Vec<String> =
            others.map(|(name, value, _)| format!("{name}={value}")).collect();
        let name = |place: usize| features.get(place).map(|&s| scenario.feature_name(s));
        let [feature, feature2] = [0, 1].map(|place| name(place).unwrap_or_default());
        if let Some((external, key)) = &self.external {
            let estimator = format!("{}:{}", external.engine, index.name());
            let centring = String::new();
            return Key { estimator, feature, feature2, centring, ..key.clone() };
        }
        Key {
            estimator: index.name().to_owned(),
            bins: if takes(&"bins") { bins.to_string() } else { String::new() },
            options: options.join(";"),
            feature,
            feature2,
            ..Key::default()
        }
    }
}

/// The indices of a block, with every combination of their options.
pub(super) fn indices(block: &Block, metrics: &[Metric]) -> Result<Arc<[IndexVariant]>, String> {
    let mut variants = Vec::new();
    for table in &block.estimator {
        for options in sweep::combinations(table, &size::OF_ESTIMATORS)? {
            variants.push(variant(&options)?);
        }
    }
    if let Some(metric) = metrics.iter().find(|metric| !metric.is_for(EstimateKind::Index)) {
        return Err(no_metric(*metric, "indices", EstimateKind::Index));
    }
    let unused = [
        ("grid", block.grid != super::file::default_grid()),
        ("compare", block.compare != Comparison::default()),
        ("keep", !block.keep.is_empty()),
    ];
    if let Some((key, _)) = unused.iter().find(|(_, is_given)| *is_given) {
        return Err(format!("`{key}`: indices are single numbers, and have no use for it"));
    }
    Ok(variants.into())
}

fn variant(options: &Table) -> Result<IndexVariant, String> {
    if options.contains_key(ENGINE) {
        return of_engine(options.clone());
    }
    let known = || OPTIONS.iter().map(|(name, _)| *name).chain([INDICES, ENGINE]);
    if let Some(key) = options.keys().find(|key| !known().any(|name| name == *key)) {
        let suggestion = suggestion(key, known());
        return Err(format!(
            "unknown option `{key}` of indices{suggestion}; allowed are {}",
            listed(known())
        ));
    }
    let asked = asked(options.get(INDICES))?;
    for (name, least) in OPTIONS {
        let Some(value) = options.get(name) else { continue };
        if !asked.iter().any(|index| index.options().contains(&name)) {
            return Err(format!("`{name}`: none of the indices beside it has a use for it"));
        }
        if !whole(value).is_some_and(|number| (least..=MOST_PLACES).contains(&number)) {
            return Err(format!(
                "`{name}` = {value}: must be a whole number from {least} to {MOST_PLACES}"
            ));
        }
    }
    let given = |name: &str| options.get(name).and_then(whole);
    let default = IndexOptions::default();
    let options = IndexOptions {
        outer: given("outer").unwrap_or(default.outer),
        background: given("background").unwrap_or(default.background),
        bins: given("bins").unwrap_or(default.bins),
        seed: given("background_seed").map_or(default.seed, |seed| seed as u64),
        brute: default.brute,
    };
    Ok(IndexVariant { asked, options, external: None })
}

/// The indices of a list of names.
fn asked(names: Option<&Value>) -> Result<Vec<Index>, String> {
    let names = names.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut asked: Vec<Index> = Vec::new();
    for name in &names {
        let index: Index = match name.as_str() {
            Some(name) => name.parse().map_err(|error: fe_core::Error| error.to_string())?,
            None => return Err(format!("`indices`: {name} is no name of an index")),
        };
        if !has_truth(index) {
            return Err(format!("`indices`: {index} has no truth that it could be held against"));
        }
        if asked.contains(&index) {
            return Err(format!("`indices`: {index} is asked for twice"));
        }
        asked.push(index);
    }
    if asked.is_empty() {
        return Err(
            "`indices` must be a list of names: `fe-bench list indices` shows them".to_owned()
        );
    }
    Ok(asked)
}

/// Indices of an engine: all that does not name them are its own options.
fn of_engine(mut options: Table) -> Result<IndexVariant, String> {
    let asked = asked(options.remove(INDICES).as_ref())?;
    let engine = match options.remove(ENGINE) {
        Some(Value::String(engine)) => engine,
        _ => return Err("`engine`: must be the name of an engine".to_owned()),
    };
    let of = (engine, asking::INDICES.to_owned(), Asks::Indices(asked.clone()));
    let comparison = Comparison::default();
    let external = engines::external(of, None, AxisSource::Scenario, options, comparison)?;
    Ok(IndexVariant { asked, options: IndexOptions::default(), external: Some(external) })
}

/// Refuses what effects of pairs do not have.
pub(super) fn check_pairs(block: &Block, metrics: &[Metric]) -> Result<(), String> {
    if let Some(metric) = metrics.iter().find(|metric| !metric.is_for(EstimateKind::Surface)) {
        return Err(no_metric(*metric, "pairs of features", EstimateKind::Surface));
    }
    if let Some(keep) = block.keep.first() {
        return Err(format!(
            "`keep` = \"{}\": only of effects of one feature; `fe-bench effect` gives and draws those of pairs",
            keep.name()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IndexVariant, String> {
        variant(&toml::from_str(text).unwrap())
    }

    #[test]
    fn indices_are_estimated_with_the_options_that_they_have() {
        let scenario = fe_truth::scenario("poly3", &[]).unwrap();
        let found = read("indices = ['h2.pair', 'ale.sd', 'additive.r2.pd']\nouter = 50\nbins = 7")
            .unwrap();
        assert_eq!((found.options.outer, found.options.bins), (50, 7));
        let key = |index: Index, features: &[usize]| found.key(&scenario, index, features);
        let pair = key(Index::H2Pair, &[0, 2]);
        assert_eq!([&*pair.feature, &*pair.feature2, &*pair.bins], ["x1", "x3", ""]);
        assert_eq!([&*pair.estimator, &*pair.options], ["h2.pair", "outer=50"]);
        let one = key(Index::AleSd, &[1]);
        assert_eq!([&*one.feature, &*one.feature2, &*one.bins, &*one.options], ["x2", "", "7", ""]);
        assert_eq!(key(Index::AdditiveR2Pd, &[]).feature, "");
    }

    #[test]
    fn indices_that_mean_nothing_are_refused() {
        for (text, why) in [
            ("indices = ['h2pair']", "did you mean `h2.pair`?"),
            ("indices = 'h2.pair'", "must be a list"),
            ("indices = []", "must be a list"),
            ("indices = [2]", "2 is no name"),
            ("indices = ['h2.pair', 'h2.pair']", "asked for twice"),
            ("indices = ['permutation']", "permutation has no truth"),
            ("indices = ['h2.pair']\nbins = 5", "`bins`: none of the indices"),
            ("indices = ['h2.pair']\nouter = 0", "from 1 to"),
            ("indices = ['h2.pair']\nouters = 5", "did you mean `outer`?"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
