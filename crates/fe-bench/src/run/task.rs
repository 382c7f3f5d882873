//! One dataset, and everything that is estimated from it: the effects of f, and those of models that are
//! fitted to it.
//!
//! [`run`](Task::run) draws the rows and divides them, has f and each model explained by every estimator
//! ([`estimate`](super::estimate)), and scores the answers: against their truths ([`truth`](super::truth)), or
//! pair by pair where a study names pairs or fits models ([`pairs`](super::pairs)).

use std::borrow::Cow;
use std::time::Instant;

use fe_core::Dataset;
use fe_core::replicates::FreshCurves;
use fe_models::{FittedModel, Part, Split};
use fe_truth::FittedEffects;
use rand::Rng;

use super::context::{Seen, Task};
use super::estimate::{self, Estimate, Explaining, Found, Subject};
use super::learner::RefitsOfTask;
use super::pairs::{self, Compare};
use super::prepared::{Implementation, PreparedFeature};
use super::surfaces::{self, OfSplit};
use super::{indices, truth};
use crate::data::sample;
use crate::data::seeds::Address;
use crate::engines::{Repetitions, Workspace};
use crate::error::caught;
use crate::output::exact;
use crate::record::TaskLines;
use crate::record::encode::Encoder;
use crate::score::Comparing;
use crate::score::comparison::{Pair, Side};
use crate::study::Group;
use crate::study::key::Key;
use crate::study::models::Explained;
use crate::system::clock::Taken;

/// The rows of a dataset, and of further ones.
struct Drawn {
    data: Dataset,
    /// Target that models are fitted to; nothing where there are none.
    target: Vec<f64>,
    /// Further datasets of the same size.
    fresh: Vec<Dataset>,
    /// Seeds: of the split of rows, and of the fits.
    seeds: (u64, u64),
}

/// The rows of a split: for each part those of the fit and the data of its explanation.
struct Divided<'d> {
    parts: Vec<Part>,
    data: Vec<Cow<'d, Dataset>>,
    /// The same parts of each further dataset.
    fresh: Vec<Vec<Cow<'d, Dataset>>>,
}

impl<'a> Task<'a> {
    /// Draws the dataset, fits, estimates and scores; what fails is a record with its reason.
    pub(super) fn run(&self) -> csv::Result<TaskLines> {
        let mut records = Encoder::new();
        let drawn = match self.abandoned {
            None => caught(|| self.draw()),
            Some(reason) => Err(reason.to_owned()),
        };
        let divided = drawn.as_ref().map_err(Clone::clone).and_then(|drawn| self.divide(drawn));
        let rows = drawn.as_ref().map_err(Clone::clone);
        let rows = rows.and_then(|drawn| Ok((drawn, divided.as_ref().map_err(Clone::clone)?)));
        let scenario = &self.planned.group.scenario;
        let Group { variants, indices: of_indices, .. } = self.planned.group;
        let has_engines = variants.iter().any(|variant| variant.external.is_some())
            || of_indices.iter().any(|variant| variant.external.is_some());
        let workspace = drawn.as_ref().ok().filter(|_| has_engines).map(|drawn| {
            Workspace::new(self.engines, scenario, &drawn.data, Repetitions::default())
        });
        let mut splits = Vec::new();
        for (i, (name, _)) in self.fitting.splits.iter().enumerate() {
            let rows = rows.as_ref().map(|(drawn, divided)| (*drawn, &divided[i]));
            let rows = rows.map_err(Clone::clone);
            splits.push((name.as_str(), rows.clone(), self.subjects(name, rows, &mut records)?));
        }
        let of_refits = drawn.as_ref().map(|drawn| (&drawn.data, &drawn.target[..]));
        let refits = RefitsOfTask::new(self, of_refits);
        let exact: Vec<Vec<_>> = splits
            .iter()
            .map(|(_, _, subjects)| subjects.iter().map(|subject| self.exact(subject)).collect())
            .collect();
        for of in &self.prepared.features {
            let mut seen = Vec::new();
            for ((split, rows, subjects), exact) in splits.iter().zip(&exact) {
                let (data, fresh) = match rows {
                    Ok((_, divided)) => (Ok(&divided.data[..]), &divided.fresh[..]),
                    Err(reason) => (Err(reason), &[][..]),
                };
                for (subject, exact) in subjects.iter().zip(exact) {
                    let explaining = Explaining { subject, data, workspace: workspace.as_ref() };
                    let estimates = self.estimates(of, explaining);
                    let all = drawn.as_ref().map(|drawn| &drawn.data);
                    let bands = of.estimators.iter().zip(&estimates);
                    let bands =
                        bands.map(|(built, own)| refits.band(subject, built, own.as_ref(), all));
                    let bands = bands.collect();
                    seen.push(Seen { split, fresh, subject, exact, estimates, bands });
                }
            }
            self.record(of, &seen, &mut records)?;
        }
        let data = drawn.as_ref().map(|drawn| &drawn.data);
        for of in &self.prepared.pairs {
            // Of pairs there is one split, and in it all rows.
            for (split, _, subjects) in &splits {
                let of_split = OfSplit { split, subjects, refits: &refits };
                let rows = (data, workspace.as_ref());
                surfaces::record(self, of, rows, of_split, &mut records)?;
            }
        }
        indices::record(self, (data, workspace.as_ref()), &mut records)?;
        records.into_parts()
    }

    /// The rows of the dataset.
    pub(super) fn rows(&self) -> Result<Dataset, String> {
        Ok(self.draw()?.data)
    }

    /// The key of an effect of f, estimated as `own` says and compared with its truth.
    pub(super) fn key_of_f(&self, feature: &str, own: &Key) -> Key {
        self.keyed_of_f(feature, own, |key| key.owned())
    }

    /// Does something under such a key.
    pub(super) fn keyed_of_f<T>(
        &self,
        feature: &str,
        own: &Key,
        then: impl FnOnce(&Key<&str>) -> T,
    ) -> T {
        let pair = self.fitting.pairs.first().map_or_else(String::new, |pair| pair.named(""));
        self.keyed(feature, own, "", &pair, then)
    }

    /// Does something with the address of the dataset.
    pub(super) fn address<T>(&self, then: impl FnOnce(Address<'_>) -> T) -> T {
        let group = self.planned.group;
        let (id, parameters) = (group.scenario.id(), group.scenario.parameters());
        then(sample::address(self.seed, (&id, &parameters), group.rows, self.replicate))
    }

    fn draw(&self) -> Result<Drawn, String> {
        let group = self.planned.group;
        let (scenario, rows) = (&group.scenario, group.rows);
        let (seed, replicate) = (self.seed, self.replicate);
        let draw = || -> crate::Result<Drawn> {
            let data = sample::features(scenario, seed, rows, replicate)?;
            let target = match group.fitting {
                Some(_) => sample::target(scenario, &data, seed, self.fitting.snr, replicate)?,
                None => Vec::new(),
            };
            let fresh = (0..self.fitting.fresh)
                .map(|number| sample::fresh_features(scenario, seed, rows, replicate, number))
                .collect::<crate::Result<_>>()?;
            let seeds = self.address(|of| (of.split().next_u64(), of.fit().next_u64()));
            Ok(Drawn { data, target, fresh, seeds })
        };
        draw().map_err(|e| e.to_string())
    }

    /// The parts of each split; f without pairs is explained on the rows as they are.
    fn divide<'d>(&self, drawn: &'d Drawn) -> Result<Vec<Divided<'d>>, String> {
        let Drawn { data, fresh, seeds: (seed, _), .. } = drawn;
        if self.planned.group.fitting.is_none() {
            let data = vec![Cow::Borrowed(data)];
            return Ok(vec![Divided { parts: Vec::new(), data, fresh: Vec::new() }]);
        }
        let of_split = |(_, split): &(String, Split)| {
            let parts = split.parts(data.len(), *seed).map_err(|e| e.to_string())?;
            let select = |data: &Dataset| -> Vec<Cow<'d, Dataset>> {
                parts.iter().map(|part| Cow::Owned(data.select(&part.explain))).collect()
            };
            let (own, fresh) = (select(data), fresh.iter().map(select).collect());
            Ok(Divided { parts, data: own, fresh })
        };
        self.fitting.splits.iter().map(of_split).collect()
    }

    /// f, and the models fitted to the rows of a split.
    fn subjects(
        &self,
        split: &str,
        rows: Result<(&Drawn, &Divided<'_>), String>,
        records: &mut Encoder,
    ) -> csv::Result<Vec<Subject<'a>>> {
        let mut subjects = vec![Subject::F(self.planned.group.scenario.model())];
        for model in &self.fitting.models {
            let started = Instant::now();
            let fitted = match &rows {
                Err(reason) => Err(reason.clone()),
                Ok((drawn, divided)) => caught(|| fit(model, drawn, &divided.parts)),
            };
            let seconds = started.elapsed().as_secs_f64();
            let taken = Taken { seconds, model_seconds: seconds, peak_bytes: None };
            self.keyed("", &Key::default(), split, &model.label, |key| {
                records.timing(key, taken, None)
            })?;
            subjects.push(Subject::Fitted(model, fitted));
        }
        Ok(subjects)
    }

    /// The estimates of a subject, where any pair compares one.
    fn estimates(&self, of: &PreparedFeature, explaining: Explaining<'_>) -> Vec<Option<Estimate>> {
        let is_estimated = self.is_estimated(explaining.subject);
        let estimate =
            |built: &Result<Implementation, String>| is_estimated.then(|| explaining.by(built, of));
        of.estimators.iter().map(estimate).collect()
    }

    pub(super) fn is_estimated(&self, subject: &Subject<'_>) -> bool {
        let has =
            |pairs: &[Pair], side: Side| pairs.iter().any(|pair| pair.sides().contains(&side));
        let mut models = self.fitting.models.iter();
        match subject {
            Subject::Fitted(model, _) => has(&model.pairs, Side::Model),
            Subject::F(_) => {
                has(&self.fitting.pairs, Side::Empirical)
                    || models.any(|model| has(&model.pairs, Side::Empirical))
            }
        }
    }

    /// The exact effects of a subject, where any pair compares one.
    pub(super) fn exact<'s>(
        &self,
        subject: &'s Subject<'_>,
    ) -> Result<Vec<FittedEffects<'s>>, String> {
        let is_asked = |pair: &Pair| pair.sides().contains(&Side::ModelExact);
        match subject {
            Subject::Fitted(model, _) if model.pairs.iter().any(is_asked) => {
                caught(|| subject.exact(&self.planned.group.scenario))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// All records of a feature, on the points that every estimate has.
    fn record(
        &self,
        of: &PreparedFeature,
        seen: &[Seen<'_>],
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let estimates = || seen.iter().flat_map(|seen| &seen.estimates).flatten();
        let covered = |x: &f64| {
            estimates().filter_map(|of| of.found.as_ref().ok()).all(|found| found.covers(*x))
        };
        let points: Vec<f64> = of.points.iter().copied().filter(covered).collect();
        let comparing = Comparing {
            points: &points,
            left_out: of.points.len() - points.len(),
            comparison: self.planned.group.comparison,
        };
        for subjects in seen.chunks(self.fitting.models.len() + 1) {
            let Some(f) = subjects.first() else { continue };
            for subject in subjects {
                self.compare(of, subject, f, comparing, records)?;
            }
        }
        Ok(())
    }

    /// All records of a subject.
    fn compare(
        &self,
        of: &PreparedFeature,
        seen: &Seen<'_>,
        f: &Seen<'_>,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let (name, pairs) = self.pairs_of(seen.subject);
        for (v, variant) in self.planned.group.variants.iter().enumerate() {
            let fresh = self.fresh(of, v, seen, comparing);
            for (p, pair) in pairs.iter().enumerate() {
                let has_estimate = pair.needs_estimator();
                if !has_estimate && v > 0 {
                    continue;
                }
                let own = if has_estimate { &variant.key } else { &self.fitting.key };
                self.keyed(&of.name, own, seen.split, &pair.named(name), |key| {
                    if let (true, Some(estimate)) = (p == 0, &seen.estimates[v]) {
                        let bins = estimate.found.as_ref().ok().and_then(Found::bins);
                        records.timing(key, estimate.taken, bins)?;
                    }
                    match (&self.planned.group.fitting, &seen.estimates[v]) {
                        (None, Some(estimate)) => {
                            truth::record(self, of.feature, estimate, key, comparing, records)
                        }
                        _ => {
                            let fresh = fresh.as_ref().filter(|_| pair.is_of_model());
                            Compare { task: self, of, seen, f, v, comparing }
                                .record(*pair, key, fresh, records)
                        }
                    }
                })?;
            }
        }
        Ok(())
    }

    /// The curves of a fitted model on further datasets.
    fn fresh(
        &self,
        of: &PreparedFeature,
        v: usize,
        seen: &Seen<'_>,
        comparing: Comparing<'_>,
    ) -> Option<Result<FreshCurves, String>> {
        let is_wanted = seen.estimates[v].as_ref().is_some_and(|of| of.found.is_ok())
            && matches!(seen.subject, Subject::Fitted(..))
            && self.fitting.fresh > 0;
        let estimator = of.estimators[v].as_ref().ok().and_then(Implementation::estimator)?;
        let points = comparing.points;
        let all = || {
            let mut curves = FreshCurves::new(points.len());
            for data in seen.fresh {
                let estimate = estimate::here(estimator, seen.subject, data, of.feature);
                let values = pairs::averaged(estimate.found?.effects()?, points)?;
                let values = pairs::centred(values, comparing.comparison);
                curves.add(&values.into_iter().map(Some).collect::<Vec<_>>());
            }
            Ok(curves)
        };
        is_wanted.then(|| caught(all))
    }

    /// Does something under the key of each comparison of a subject, of a feature in a split.
    pub(super) fn each_pair(
        &self,
        subject: &Subject<'_>,
        (feature, own, split): (&str, &Key, &str),
        mut then: impl FnMut(Pair, &Key<&str>) -> csv::Result<()>,
    ) -> csv::Result<()> {
        let (name, pairs) = self.pairs_of(subject);
        pairs.iter().try_for_each(|pair| {
            self.keyed(feature, own, split, &pair.named(name), |key| then(*pair, key))
        })
    }

    /// The name and the pairs of a subject.
    fn pairs_of<'s>(&'s self, subject: &'s Subject<'_>) -> (&'s str, &'s [Pair]) {
        match subject {
            Subject::F(_) => ("", &self.fitting.pairs),
            Subject::Fitted(model, _) => (model.label.as_str(), &model.pairs),
        }
    }

    /// Does something under the key of a feature, split and pair; `own` says how the effect is estimated.
    fn keyed<T>(
        &self,
        feature: &str,
        own: &Key,
        split: &str,
        pair: &str,
        then: impl FnOnce(&Key<&str>) -> T,
    ) -> T {
        let planned = self.planned;
        let replicate = self.replicate.to_string();
        let has_target = !self.fitting.models.is_empty();
        let snr = if has_target { exact(self.fitting.snr) } else { String::new() };
        then(&Key {
            study: planned.study,
            scenario: &planned.scenario,
            parameters: &planned.parameters,
            feature,
            rows: &planned.rows,
            snr: &snr,
            replicate: &replicate,
            pair,
            split,
            ..own.borrowed()
        })
    }
}

/// A model for each part of a split.
fn fit(
    model: &Explained,
    drawn: &Drawn,
    parts: &[Part],
) -> Result<Vec<Box<dyn FittedModel>>, String> {
    let Drawn { data, target, seeds: (_, seed), .. } = drawn;
    let fit = |part: &Part| {
        let target: Vec<f64> = part.fit.iter().map(|&row| target[row]).collect();
        let fitted = model.learner.fit(&data.select(&part.fit), &target, *seed);
        fitted.map_err(|e| e.to_string())
    };
    parts.iter().map(fit).collect()
}
