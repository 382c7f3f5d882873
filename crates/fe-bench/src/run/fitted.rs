//! One dataset, the models that are fitted to it, and the pairs of effects that are compared.

use std::time::Instant;

use fe_core::Dataset;
use fe_core::effect::Effect;
use fe_core::estimator::{Estimand, Estimator};
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::model::Model;
use fe_core::replicates::FreshCurves;
use fe_models::{FittedModel, Part};
use fe_truth::Truth;
use rand::Rng;

use super::plan::{Implementation, PreparedFeature};
use super::task::{Task, guarded};
use super::timed::Timed;
use crate::draw;
use crate::pairs::{Pair, Side};
use crate::record::Parts;
use crate::record::encode::{CurveErrors, CurvePoint, Encoder, Label, Taken};
use crate::score::{self, Comparing, Metric, Provenance, Score};
use crate::sheet::exact;
use crate::study::fitting::{Explained, Fitting};
use crate::study::wire::{Comparison, Keep};

/// A dataset of a group that fits models or names pairs.
pub(super) struct Fits<'a> {
    pub task: &'a Task<'a>,
    pub fitting: &'a Fitting,
}

/// The rows of a split: for each part those of the fit and the data of its explanation.
struct Divided<'a> {
    name: &'a str,
    parts: Vec<Part>,
    data: Vec<Dataset>,
    /// The same parts of each further dataset.
    fresh: Vec<Vec<Dataset>>,
}

/// What a dataset is made of.
struct Drawn {
    data: Dataset,
    target: Vec<f64>,
    /// Further datasets of the same size.
    fresh: Vec<Dataset>,
    /// What rows are split by, and what models draw from.
    seeds: (u64, u64),
}

/// What is explained: f, or a model as it was fitted for each part of a split.
enum Subject<'a> {
    F(&'a dyn Model),
    Fitted(&'a Explained, Result<Vec<Box<dyn FittedModel>>, String>),
}

/// What an estimator says of a subject: an effect for each part, or why there is none.
struct Estimate {
    effects: Result<Vec<Effect>, String>,
    taken: Taken,
}

/// A subject with the estimates of a feature by all variants.
struct Seen<'a> {
    divided: &'a Divided<'a>,
    subject: &'a Subject<'a>,
    /// One for each variant; none where no pair asks for it.
    estimates: Vec<Option<Estimate>>,
}

impl Subject<'_> {
    fn part(&self, part: usize) -> Result<&dyn Model, String> {
        match self {
            Self::F(f) => Ok(*f),
            Self::Fitted(_, Ok(models)) => match models.get(part) {
                Some(model) => Ok(model.as_ref()),
                None => Err("a part of the rows has no model".to_owned()),
            },
            Self::Fitted(_, Err(reason)) => Err(reason.clone()),
        }
    }

    /// The mean over the parts of the models' own terms of a feature, counted from 0.
    fn main_effect(&self, feature: usize, points: &[f64]) -> Result<Vec<f64>, String> {
        let Self::Fitted(of, models) = self else {
            return Err("f is no fitted model".to_owned());
        };
        let models = models.as_ref().map_err(Clone::clone)?;
        let none = || format!("{} has no main effect of x{}", of.label, feature + 1);
        let at = |x: f64| -> Result<f64, String> {
            let terms = models.iter().map(|model| model.main_effect(feature, x));
            let sum: Option<f64> = terms.sum();
            Ok(sum.ok_or_else(none)? / models.len() as f64)
        };
        points.iter().map(|&x| at(x)).collect()
    }
}

/// The mean of the curves of some effects at some points.
fn averaged(effects: &[Effect], points: &[f64]) -> Result<Vec<f64>, String> {
    let mut sums = vec![0.0; points.len()];
    for effect in effects {
        let values = effect.curve.at_all(points).map_err(|e| e.to_string())?;
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    Ok(sums.into_iter().map(|sum| sum / effects.len() as f64).collect())
}

/// Two curves on the same points, centred as they are compared, and what is known of truths in them.
struct Both {
    first: Vec<f64>,
    second: Vec<f64>,
    truths: Option<Vec<Truth>>,
}

impl<'a> Fits<'a> {
    /// Draws the dataset, fits, estimates and compares; what fails is a record with its reason.
    pub(super) fn run(&self) -> csv::Result<Parts> {
        let mut records = Encoder::new();
        let drawn = guarded(|| self.draw());
        let divided = drawn.as_ref().map_err(Clone::clone).and_then(|drawn| self.divide(drawn));
        let drawn = drawn.and_then(|drawn| divided.as_ref().map_err(Clone::clone).map(|_| drawn));
        let divided = divided.unwrap_or_else(|_| self.nothing());
        let subjects: Vec<Vec<Subject<'_>>> = divided
            .iter()
            .map(|of| self.subjects(of, &drawn, &mut records))
            .collect::<csv::Result<_>>()?;
        for of in &self.task.prepared.features {
            self.run_feature(of, &divided, &subjects, &mut records)?;
        }
        records.into_parts()
    }

    /// The splits without any rows.
    fn nothing(&self) -> Vec<Divided<'a>> {
        let none = |(name, _): &'a (String, _)| Divided {
            name,
            parts: Vec::new(),
            data: Vec::new(),
            fresh: Vec::new(),
        };
        self.fitting.splits.iter().map(none).collect()
    }

    fn draw(&self) -> Result<Drawn, String> {
        let group = self.task.planned.group;
        let (scenario, rows) = (&group.scenario, group.rows);
        let (seed, replicate) = (self.task.seed, self.task.replicate);
        let draw = || -> crate::Result<Drawn> {
            let data = draw::features(scenario, seed, rows, replicate)?;
            let target = draw::target(scenario, &data, seed, self.fitting.snr, replicate)?;
            let fresh = (0..self.fitting.fresh)
                .map(|number| draw::fresh_features(scenario, seed, rows, replicate, number))
                .collect::<crate::Result<_>>()?;
            let (id, parameters) = (scenario.id(), scenario.parameters());
            let address = draw::address(seed, (&id, &parameters), rows, replicate);
            let seeds = (address.split().next_u64(), address.fit().next_u64());
            Ok(Drawn { data, target, fresh, seeds })
        };
        draw().map_err(|e| e.to_string())
    }

    fn divide(&self, drawn: &Drawn) -> Result<Vec<Divided<'a>>, String> {
        let Drawn { data, fresh, seeds: (seed, _), .. } = drawn;
        let of_split = |(name, split): &'a (String, fe_models::Split)| {
            let parts = split.parts(data.len(), *seed).map_err(|e| e.to_string())?;
            let select = |data: &Dataset| -> Vec<Dataset> {
                parts.iter().map(|part| data.select(&part.explain)).collect()
            };
            let (own, fresh) = (select(data), fresh.iter().map(select).collect());
            Ok(Divided { name, parts, data: own, fresh })
        };
        self.fitting.splits.iter().map(of_split).collect()
    }

    /// f, if a pair asks for it, and the models fitted to the rows of a split.
    fn subjects(
        &self,
        divided: &Divided<'_>,
        drawn: &Result<Drawn, String>,
        records: &mut Encoder,
    ) -> csv::Result<Vec<Subject<'a>>> {
        let group = self.task.planned.group;
        let mut subjects = vec![Subject::F(group.scenario.model())];
        for model in &self.fitting.models {
            let started = Instant::now();
            let fitted = match drawn {
                Err(reason) => Err(reason.clone()),
                Ok(drawn) => guarded(|| fit(model, drawn, divided)),
            };
            let seconds = started.elapsed().as_secs_f64();
            let taken = Taken { seconds, model_seconds: seconds, peak_bytes: None };
            let pair = model.label.as_str();
            self.labelled("", &vec![String::new(); 7], divided.name, pair, |label| {
                records.timing(label, taken)
            })?;
            subjects.push(Subject::Fitted(model, fitted));
        }
        Ok(subjects)
    }

    fn run_feature(
        &self,
        of: &PreparedFeature,
        divided: &[Divided<'_>],
        subjects: &[Vec<Subject<'_>>],
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let mut seen = Vec::new();
        for (divided, subjects) in divided.iter().zip(subjects) {
            for subject in subjects {
                let estimates = self.estimates(of, divided, subject);
                seen.push(Seen { divided, subject, estimates });
            }
        }
        let effects = || {
            let all = seen.iter().flat_map(|seen| &seen.estimates).flatten();
            all.filter_map(|estimate| estimate.effects.as_ref().ok()).flatten()
        };
        let covered = |x: &f64| effects().all(|effect| effect.record.axis.contains(*x));
        let points: Vec<f64> = of.points.iter().copied().filter(covered).collect();
        let comparing = Comparing {
            points: &points,
            left_out: of.points.len() - points.len(),
            comparison: self.task.planned.group.comparison,
        };
        let per_split = self.fitting.models.len() + 1;
        for subjects in seen.chunks(per_split) {
            let Some(f) = subjects.first() else { continue };
            for subject in subjects {
                self.compare(of, subject, f, comparing, records)?;
            }
        }
        Ok(())
    }

    /// Whether any pair compares an estimate of the subject.
    fn is_estimated(&self, subject: &Subject<'_>) -> bool {
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

    fn estimates(
        &self,
        of: &PreparedFeature,
        divided: &Divided<'_>,
        subject: &Subject<'_>,
    ) -> Vec<Option<Estimate>> {
        let is_estimated = self.is_estimated(subject);
        let estimate = |built: &Result<Implementation, String>| {
            is_estimated.then(|| match built {
                Ok(Implementation::Own(estimator)) => {
                    estimate(estimator.as_ref(), subject, &divided.data, of.feature)
                }
                Ok(Implementation::External(..)) => Estimate {
                    effects: Err("engines do not explain fitted models".to_owned()),
                    taken: Taken::default(),
                },
                Err(reason) => Estimate { effects: Err(reason.clone()), taken: Taken::default() },
            })
        };
        of.estimators.iter().map(estimate).collect()
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
        let group = self.task.planned.group;
        let name = match seen.subject {
            Subject::F(_) => "",
            Subject::Fitted(model, _) => &model.label,
        };
        let pairs = match seen.subject {
            Subject::F(_) => &self.fitting.pairs,
            Subject::Fitted(model, _) => &model.pairs,
        };
        for (v, variant) in group.variants.iter().enumerate() {
            let fresh = self.fresh(of, v, seen, comparing);
            for (p, pair) in pairs.iter().enumerate() {
                let has_estimate = pair.needs_estimator();
                if !has_estimate && v > 0 {
                    continue;
                }
                let columns = if has_estimate { &variant.columns } else { &self.fitting.columns };
                let estimand = match &of.estimators[v] {
                    Ok(Implementation::Own(estimator)) => Some(estimator.estimand()),
                    _ => None,
                };
                let comparison = Compare { fits: self, of, seen, f, v, estimand, comparing };
                self.labelled(&of.name, columns, seen.divided.name, &pair.named(name), |label| {
                    if let (true, Some(estimate)) = (p == 0, &seen.estimates[v]) {
                        records.timing(label, estimate.taken)?;
                    }
                    let fresh = fresh.as_ref().filter(|_| pair.is_of_model());
                    comparison.record(*pair, label, fresh, records)
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
        let is_wanted = seen.estimates[v].as_ref().is_some_and(|of| of.effects.is_ok())
            && matches!(seen.subject, Subject::Fitted(..))
            && self.fitting.fresh > 0;
        let Ok(Implementation::Own(estimator)) = &of.estimators[v] else { return None };
        let points = comparing.points;
        let all = || {
            let mut curves = FreshCurves::new(points.len());
            for data in &seen.divided.fresh {
                let effects =
                    estimate(estimator.as_ref(), seen.subject, data, of.feature).effects?;
                let values = averaged(&effects, points)?;
                let values = centred(values, comparing.comparison);
                curves.add(&values.into_iter().map(Some).collect::<Vec<_>>());
            }
            Ok(curves)
        };
        is_wanted.then(|| guarded(all))
    }

    fn labelled<T>(
        &self,
        feature: &str,
        columns: &[String],
        split: &str,
        pair: &str,
        then: impl FnOnce(&Label<'_>) -> T,
    ) -> T {
        let planned = self.task.planned;
        let replicate = self.task.replicate.to_string();
        let snr = exact(self.fitting.snr);
        let has_target = !self.fitting.models.is_empty();
        then(&Label {
            study: planned.study,
            scenario: &planned.scenario,
            parameters: &planned.parameters,
            feature,
            variant: columns,
            rows: &planned.rows,
            snr: if has_target { &snr } else { "" },
            replicate: &replicate,
            pair,
            split,
        })
    }
}

fn centred(values: Vec<f64>, comparison: Comparison) -> Vec<f64> {
    match comparison {
        Comparison::Centred => centred_on_grid(&values),
        Comparison::AsTheyAre => values,
    }
}

/// A model for each part of a split.
fn fit(
    model: &Explained,
    drawn: &Drawn,
    divided: &Divided<'_>,
) -> Result<Vec<Box<dyn FittedModel>>, String> {
    let Drawn { data, target, seeds: (_, seed), .. } = drawn;
    let fit = |part: &Part| {
        let target: Vec<f64> = part.fit.iter().map(|&row| target[row]).collect();
        let fitted = model.learner.fit(&data.select(&part.fit), &target, *seed);
        fitted.map_err(|e| e.to_string())
    };
    divided.parts.iter().map(fit).collect()
}

/// An effect of a subject for each part of some data.
fn estimate(
    estimator: &dyn Estimator,
    subject: &Subject<'_>,
    data: &[Dataset],
    feature: usize,
) -> Estimate {
    let (started, mut model_seconds) = (Instant::now(), 0.0);
    let mut part = |(part, data): (usize, &Dataset)| {
        let (model, begun) = (Timed::new(subject.part(part)?), Instant::now());
        let effects =
            guarded(|| estimator.estimate(data, &model, feature).map_err(|e| e.to_string()));
        model_seconds += model.seconds_of(begun.elapsed().as_secs_f64());
        effects?.into_iter().next().ok_or_else(|| "the model has no output".to_owned())
    };
    let effects = match data {
        // Without rows it is the subject that says why.
        [] => subject.part(0).map(|_| Vec::new()),
        _ => data.iter().enumerate().map(&mut part).collect(),
    };
    let effects = effects.and_then(|effects: Vec<Effect>| match effects.is_empty() {
        true => Err("there are no rows to be explained".to_owned()),
        false => Ok(effects),
    });
    let seconds = started.elapsed().as_secs_f64();
    Estimate { effects, taken: Taken { seconds, model_seconds, peak_bytes: None } }
}

/// What a comparison of a subject by one of the variants looks at.
struct Compare<'a> {
    fits: &'a Fits<'a>,
    of: &'a PreparedFeature,
    seen: &'a Seen<'a>,
    /// The scenario's function, on the same rows.
    f: &'a Seen<'a>,
    v: usize,
    estimand: Option<Estimand>,
    comparing: Comparing<'a>,
}

impl Compare<'_> {
    /// Scores a pair, and keeps what the study wants to be kept of it.
    fn record(
        &self,
        pair: Pair,
        label: &Label<'_>,
        fresh: Option<&Result<FreshCurves, String>>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.fits.task.planned.group;
        let both = guarded(|| self.both(pair));
        let rows = self.model_rows(pair);
        for &metric in &group.metrics {
            let score = match metric {
                Metric::Distance(distance) => {
                    both.as_ref().map(|both| self.distance(both, distance))
                }
                _ => Ok(self.count(pair, metric).unwrap_or_else(Score::failed)),
            };
            let score = score.unwrap_or_else(Score::failed);
            records.cell(label, 0, metric.name(), &score, rows)?;
        }
        if let Some(fresh) = fresh {
            let score = match fresh {
                Ok(curves) => {
                    let points = self.comparing.points.len();
                    Score::of(
                        curves.mean_variance(),
                        &Provenance::NONE,
                        points,
                        self.comparing.left_out,
                    )
                }
                Err(reason) => Score::failed(reason),
            };
            let [name, _] = fe_core::replicates::VarianceParts::NAMES;
            records.cell(label, 0, name, &score, None)?;
        }
        let Ok(both) = both else { return Ok(()) };
        if group.keep.contains(&Keep::Curves) {
            self.keep_curves(&both, label, records)?;
        }
        if group.keep.contains(&Keep::Decomposition) {
            let error: Vec<f64> = both.first.iter().zip(&both.second).map(|(a, b)| a - b).collect();
            let fresh = fresh.and_then(|fresh| fresh.as_ref().ok());
            let fresh = fresh.map(|curves| (self.fits.fitting.fresh, curves));
            let errors = CurveErrors { x: self.comparing.points, error: &error, fresh };
            records.errors(label, 0, &errors)?;
        }
        Ok(())
    }

    fn keep_curves(
        &self,
        both: &Both,
        label: &Label<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        for (i, &x) in self.comparing.points.iter().enumerate() {
            let point = CurvePoint {
                x,
                effect: Some(both.first[i]),
                heterogeneity: None,
                truth: Some(both.second[i]),
                truth_abs_error: both.truths.as_ref().map(|truths| truths[i].abs_error),
                confidence: [None; 4],
            };
            records.curve(label, 0, &point)?;
        }
        Ok(())
    }

    fn distance(&self, both: &Both, distance: Distance) -> Score {
        let Comparing { points, left_out, .. } = self.comparing;
        let provenance = match &both.truths {
            Some(truths) => Provenance::of(truths.iter().map(|t| (t.method, t.abs_error))),
            None => Provenance::NONE,
        };
        let value = distance.between(&both.first, &both.second);
        Score::of(Some(value), &provenance, points.len(), left_out)
    }

    /// The mean count over the parts of the first effect.
    fn count(&self, pair: Pair, metric: Metric) -> Result<Score, String> {
        let effects = self.effects(pair.first)?;
        let counted = |effect: &Effect| {
            let bins = effect.bins.as_ref().ok_or(format!("{} has no bins", effect.estimator))?;
            Ok(score::count(metric, effect, bins) as f64)
        };
        let counts = effects.iter().map(counted).collect::<Result<Vec<f64>, String>>()?;
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        Ok(Score::of(Some(mean), &Provenance::NONE, counts.len(), 0))
    }

    fn effects(&self, side: Side) -> Result<&[Effect], String> {
        let seen = match side {
            Side::Model => self.seen,
            Side::Empirical => self.f,
            other => return Err(format!("`{other}` is no estimate")),
        };
        match &seen.estimates[self.v] {
            Some(Estimate { effects: Ok(effects), .. }) => Ok(effects),
            Some(Estimate { effects: Err(reason), .. }) => Err(reason.clone()),
            None => Err(format!("`{side}` was not estimated")),
        }
    }

    fn model_rows(&self, pair: Pair) -> Option<u64> {
        let rows = |effect: &Effect| effect.record.model_rows + effect.record.jacobian_rows;
        Some(self.effects(pair.first).ok()?.iter().map(rows).sum())
    }

    /// Both curves of a pair.
    fn both(&self, pair: Pair) -> Result<Both, String> {
        if self.comparing.points.is_empty() {
            return Err("no grid point lies within the limits of every estimate".to_owned());
        }
        let (first, _) = self.side(pair.first, pair)?;
        let (second, truths) = self.side(pair.second, pair)?;
        let comparison = self.comparing.comparison;
        Ok(Both { first: centred(first, comparison), second: centred(second, comparison), truths })
    }

    /// What a side says at the points; for truths with what is known of them.
    fn side(&self, side: Side, pair: Pair) -> Result<(Vec<f64>, Option<Vec<Truth>>), String> {
        let points = self.comparing.points;
        let quantity = match (side, self.estimand) {
            (Side::Model | Side::Empirical, _) => {
                return Ok((averaged(self.effects(side)?, points)?, None));
            }
            (Side::ModelMain, _) => {
                return Ok((self.seen.subject.main_effect(self.of.feature, points)?, None));
            }
            (Side::Truth(quantity), _) => quantity,
            (Side::Theoretical, Some(estimand)) => score::truth_of(estimand),
            (Side::Theoretical, None) => return Err("the estimator has no truth".to_owned()),
        };
        let truths = self.truths(quantity, pair)?;
        Ok((truths.iter().map(|truth| truth.value).collect(), Some(truths)))
    }

    /// A truth at the points, where it is not centred there the mean of those of the parts.
    fn truths(&self, quantity: fe_truth::Effect, pair: Pair) -> Result<Vec<Truth>, String> {
        let Comparing { points, comparison, .. } = self.comparing;
        let truths = &self.fits.task.prepared.truths;
        let scenario = &self.fits.task.planned.group.scenario;
        if comparison == Comparison::Centred {
            return Ok(truths.on_points(scenario, quantity, self.of.feature, points)?.to_vec());
        }
        let effects = self.effects(pair.first)?;
        let mut mean: Option<Vec<Truth>> = None;
        for effect in effects {
            let own = truths.beside(scenario, quantity, effect, points, comparison)?;
            let share = 1.0 / effects.len() as f64;
            let own = own.iter().map(|truth| Truth { value: truth.value * share, ..*truth });
            mean = Some(match mean {
                None => own.collect(),
                Some(mean) => mean
                    .into_iter()
                    .zip(own)
                    .map(|(sum, own)| Truth {
                        value: sum.value + own.value,
                        abs_error: sum.abs_error.max(own.abs_error),
                        ..sum
                    })
                    .collect(),
            });
        }
        mean.ok_or_else(|| "there are no rows to be explained".to_owned())
    }
}
