//! The values that a study will have, known before it is run.

use fe_core::replicates::{ErrorParts, VarianceParts};

use super::file::Keep;
use super::key::Key;
use super::{Group, OF_F, Study};
use crate::output::exact;
use crate::score::Metric;
use crate::score::comparison::Pair;

impl Study {
    /// The key of each value of its summary, which has no replicates, and how many datasets it is
    /// made of at most.
    pub fn values(&self) -> impl Iterator<Item = (Key, usize)> {
        self.groups.iter().flat_map(|group| {
            group.keys(&self.name).into_iter().map(|key| (key, group.replicates.most))
        })
    }
}

/// An estimate that is compared.
struct Expected<'a> {
    /// The part of its key that says how it is estimated.
    key: &'a Key,
    pair: String,
    /// The pair of effects, where a study names pairs or fits models.
    of: Option<Pair>,
    split: &'a str,
    /// True if its variance over further datasets is one of its values.
    is_fresh: bool,
}

impl Group {
    /// The keys of its values in a study, without replicates.
    pub(crate) fn keys(&self, study: &str) -> Vec<Key> {
        let (scenario, parameters) = (self.scenario.id(), self.scenario.parameters());
        let rows = self.rows.to_string();
        let of_models = self.fitting.as_ref().filter(|fitting| !fitting.models.is_empty());
        let snr = of_models.map_or_else(String::new, |fitting| exact(fitting.snr));
        let outputs: Vec<String> =
            (1..=self.scenario.model().outputs()).map(|output| output.to_string()).collect();
        let compared = self.compared();
        let mut keys = Vec::new();
        let mut add = |key: Key<&str>, of: &Expected<'_>| {
            let key = Key {
                study,
                scenario: &scenario,
                parameters: &parameters,
                rows: &rows,
                snr: &snr,
                pair: &of.pair,
                split: of.split,
                ..key
            };
            for output in outputs.iter().map(String::as_str) {
                let metrics = self.metrics(of).into_iter();
                keys.extend(metrics.map(|metric| Key { output, metric, ..key }.owned()));
            }
        };
        let name = |feature: usize| self.scenario.feature_name(feature);
        let ones = self.subjects.features.iter().map(|&feature| [name(feature), String::new()]);
        let twos = self.subjects.pairs.iter().map(|pair| pair.map(name));
        for [feature, feature2] in ones.chain(twos) {
            let of = |of: &Expected<'_>| {
                add(Key { feature: &feature, feature2: &feature2, ..of.key.borrowed() }, of);
            };
            compared.iter().for_each(of);
        }
        for key in self.keys_of_indices() {
            let pair = OF_F.to_owned();
            let of = Expected { key: &key, pair, of: None, split: "", is_fresh: false };
            add(key.borrowed(), &of);
        }
        keys
    }

    /// The part of the keys of indices that says which they are, and how they are estimated.
    fn keys_of_indices(&self) -> impl Iterator<Item = Key> {
        self.indices.iter().flat_map(|variant| {
            let all = variant.of(&self.subjects).into_iter();
            all.map(|(index, features)| variant.key(&self.scenario, index, &features))
        })
    }

    /// Number of values.
    pub(super) fn means(&self) -> usize {
        let of = |of: Expected<'_>| self.metrics(&of).len();
        let per_output: usize = self.compared().into_iter().map(of).sum();
        let effects = (self.subjects.features.len() + self.subjects.pairs.len()) * per_output;
        let indices = self.indices.iter().map(|of| of.of(&self.subjects).len()).sum::<usize>();
        (effects + indices * self.metrics.len()) * self.scenario.model().outputs()
    }

    fn compared(&self) -> Vec<Expected<'_>> {
        let Some(fitting) = &self.fitting else {
            let of_f = self.variants.iter().map(|variant| Expected {
                key: &variant.key,
                pair: OF_F.to_owned(),
                of: None,
                split: "",
                is_fresh: false,
            });
            return of_f.collect();
        };
        let of_f = fitting.pairs.iter().map(|pair| (pair, ""));
        let of_models = fitting
            .models
            .iter()
            .flat_map(|model| model.pairs.iter().map(|pair| (pair, model.label.as_str())));
        let mut compared = Vec::new();
        for (pair, model) in of_f.chain(of_models) {
            let keys: Vec<&Key> = match pair.needs_estimator() {
                true => self.variants.iter().map(|variant| &variant.key).collect(),
                false => vec![&fitting.key],
            };
            for (split, _) in &fitting.splits {
                compared.extend(keys.iter().map(|key| Expected {
                    key,
                    pair: pair.named(model),
                    of: Some(*pair),
                    split,
                    is_fresh: fitting.fresh > 0 && pair.is_of_model(),
                }));
            }
        }
        compared
    }

    /// Metrics of an estimate, with those that are made of its errors on all datasets.
    fn metrics(&self, of: &Expected<'_>) -> Vec<&'static str> {
        let is_fresh = of.is_fresh;
        let is_of = |metric: &&Metric| of.of.is_none_or(|pair| metric.is_of_pair(pair));
        let metrics = self.metrics.iter().filter(is_of);
        let mut metrics: Vec<&str> = metrics.map(|metric| metric.name()).collect();
        let [of_estimate, of_model] = VarianceParts::NAMES;
        if is_fresh {
            metrics.push(of_estimate);
        }
        if self.keep.contains(&Keep::Decomposition) {
            // The mean squared error is asked for as a metric.
            metrics.extend(ErrorParts::NAMES.into_iter().skip(1));
            if is_fresh {
                metrics.push(of_model);
            }
        }
        metrics
    }
}
