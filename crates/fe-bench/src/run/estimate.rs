//! Estimates of the effects of f or of a fitted model, by estimators of this program or by engines.

use std::borrow::Cow;
use std::time::Instant;

use fe_core::estimator::{Estimand, Estimator};
use fe_core::regional::{Regional, RegionalEffect};
use fe_core::{Dataset, Effect, Model};
use fe_models::FittedModel;
use fe_truth::{FittedEffects, Scenario};

use super::prepared::{Implementation, PreparedFeature};
use crate::engines::{Answer, Place, Workspace};
use crate::error::caught;
use crate::record::BinCount;
use crate::study::models::Explained;
use crate::system::clock::{Taken, Timed};

/// The function that is explained: f, or a model as it was fitted for each part of a split.
pub(super) enum Subject<'a> {
    F(&'a dyn Model),
    Fitted(&'a Explained, Result<Vec<Box<dyn FittedModel>>, String>),
}

/// The answer about a subject, and its cost.
pub(super) struct Estimate {
    pub(super) found: Result<Found, String>,
    pub(super) taken: Taken,
}

/// The answer of an estimator.
pub(super) enum Found {
    /// For each part of the rows one effect for each output.
    Own(Vec<Vec<Effect>>, Estimand),
    /// A tree for each output.
    Trees(Vec<RegionalEffect>),
    External(Box<Answer>),
}

impl Found {
    /// True if it says something about a point.
    pub(super) fn covers(&self, x: f64) -> bool {
        match self {
            Self::Own(parts, _) => parts.iter().flatten().all(|e| e.record.axis.contains(x)),
            Self::Trees(trees) => {
                let mut effects = trees.iter().flat_map(|of| of.tree.leaves());
                effects.all(|leaf| leaf.effect.as_ref().is_some_and(|e| e.record.axis.contains(x)))
            }
            Self::External(answer) => {
                let (lo, hi) = answer.curve.range();
                (lo..=hi).contains(&x)
            }
        }
    }

    /// The bins of its effects; of several, those with the largest share of empty ones.
    pub(super) fn bins(&self) -> Option<BinCount> {
        match self {
            Self::Own(parts, _) => BinCount::of(parts.iter().flatten()),
            Self::Trees(_) | Self::External(_) => None,
        }
    }

    /// The effect of the first output for each part.
    pub(super) fn effects(&self) -> Result<impl Iterator<Item = &Effect> + Clone, String> {
        match self {
            Self::Own(parts, _) => Ok(parts.iter().filter_map(|outputs| outputs.first())),
            Self::Trees(_) => Err("a tree of regions is no curve".to_owned()),
            Self::External(_) => Err("engines do not explain fitted models".to_owned()),
        }
    }
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

    /// The exact effects of the models of all parts under the law of a scenario.
    pub(super) fn exact(&self, scenario: &Scenario) -> Result<Vec<FittedEffects<'_>>, String> {
        let Self::Fitted(of, models) = self else {
            return Err("f is no fitted model".to_owned());
        };
        let none = || format!("{} is no sum whose effects are integrals under the law", of.label);
        let each = models.as_ref().map_err(Clone::clone)?.iter().map(|model| {
            let sum = model.sum().ok_or_else(none)?;
            scenario.effects_of(sum).map_err(|e| e.to_string())
        });
        each.collect()
    }

    /// The mean over the parts of the models' own terms of a feature, counted from 0.
    pub(super) fn main_effect(&self, feature: usize, points: &[f64]) -> Result<Vec<f64>, String> {
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

/// A subject with the rows that it is explained on, or why there are none.
#[derive(Clone, Copy)]
pub(super) struct Explaining<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) data: Result<&'a [Cow<'a, Dataset>], &'a String>,
    /// File in which engines find all rows.
    pub(super) workspace: Option<&'a Workspace<'a>>,
}

impl Explaining<'_> {
    /// The estimate of a feature by an implementation.
    pub(super) fn by(
        self,
        built: &Result<Implementation, String>,
        of: &PreparedFeature,
    ) -> Estimate {
        let failed = |reason: String| Estimate { found: Err(reason), taken: Taken::default() };
        match (self.data, built, self.subject) {
            (Err(reason), _, Subject::F(_)) | (_, Err(reason), _) => failed(reason.clone()),
            (Err(_), Ok(_), Subject::Fitted(_, Err(reason))) => failed(reason.clone()),
            (Err(reason), Ok(_), Subject::Fitted(_, Ok(_))) => failed(reason.clone()),
            (Ok(data), Ok(Implementation::Own(estimator)), subject) => {
                here(estimator.as_ref(), subject, data, of.feature)
            }
            (Ok(data), Ok(Implementation::Refitted(refitting)), subject) => {
                here(refitting.estimator(), subject, data, of.feature)
            }
            (Ok(data), Ok(Implementation::Regional(regional)), subject) => {
                trees(regional, subject, data, of.feature)
            }
            (Ok(_), Ok(Implementation::External(external, axis)), Subject::F(_)) => {
                let place = Place { feature: of.feature, axis: *axis, grid: &of.points };
                let Some(workspace) = self.workspace else {
                    return failed("there are no rows to be explained".to_owned());
                };
                let answer = workspace.ask(external, place);
                let taken = answer.as_ref().map_or_else(|_| Taken::default(), |of| of.taken);
                let found = answer.map(|answer| Found::External(Box::new(answer)));
                Estimate { found: found.map_err(|e| e.to_string()), taken }
            }
            (Ok(_), Ok(Implementation::External(..)), Subject::Fitted(..)) => {
                failed("engines do not explain fitted models".to_owned())
            }
        }
    }
}

/// The effects of a subject for each part of some rows, by an estimator of this program.
pub(super) fn here(
    estimator: &dyn Estimator,
    subject: &Subject<'_>,
    data: &[Cow<'_, Dataset>],
    feature: usize,
) -> Estimate {
    let estimate = |data: &Dataset, model: &dyn Model| estimator.estimate(data, model, feature);
    let (parts, taken) = of_parts(subject, data, estimate);
    Estimate { found: parts.map(|parts| Found::Own(parts, estimator.estimand())), taken }
}

/// The trees of regions of a subject on some rows.
fn trees(
    regional: &Regional,
    subject: &Subject<'_>,
    data: &[Cow<'_, Dataset>],
    feature: usize,
) -> Estimate {
    let fit = |data: &Dataset, model: &dyn Model| regional.fit(data, model, feature);
    let (parts, taken) = of_parts(subject, data, fit);
    Estimate {
        found: parts.map(|parts| Found::Trees(parts.into_iter().flatten().collect())),
        taken,
    }
}

/// The answers about a subject for each part of some rows, one for each output, and their cost.
pub(super) fn of_parts<T>(
    subject: &Subject<'_>,
    data: &[Cow<'_, Dataset>],
    estimate: impl Fn(&Dataset, &dyn Model) -> fe_core::Result<Vec<T>>,
) -> (Result<Vec<Vec<T>>, String>, Taken) {
    let (started, mut model_seconds) = (Instant::now(), 0.0);
    let mut part = |(part, data): (usize, &Cow<'_, Dataset>)| {
        let (model, begun) = (Timed::new(subject.part(part)?), Instant::now());
        let found = caught(|| estimate(data, &model).map_err(|e| e.to_string()));
        model_seconds += model.seconds_of(begun.elapsed().as_secs_f64());
        match found? {
            none if none.is_empty() => Err("the model has no output".to_owned()),
            outputs => Ok(outputs),
        }
    };
    let parts: Result<Vec<Vec<T>>, String> = data.iter().enumerate().map(&mut part).collect();
    let parts = parts.and_then(|parts| match parts.is_empty() {
        true => Err("there are no rows to be explained".to_owned()),
        false => Ok(parts),
    });
    let seconds = started.elapsed().as_secs_f64();
    (parts, Taken { seconds, model_seconds, peak_bytes: None })
}
