//! Learners beside the models that they gave of a dataset: their refits, and the effects that are to be expected of them.

use std::sync::OnceLock;

use fe_core::effect::{ConfidenceBand, Surface, SurfaceBand};
use fe_core::refits::{AdditiveFit, PairRefitting, RefitOptions, Refits};
use fe_core::replicates::FreshCurves;
use fe_core::{Dataset, Effect};
use fe_models::additive_fit;
use fe_truth::{Evaluation, Truth};
use rand::Rng;

use super::context::Task;
use super::estimate::{Estimate, Subject};
use super::expected::OfFeatures;
use super::prepared::{Implementation, PreparedFeature};
use crate::data::sample::{self, OfLearner};
use crate::error::caught;
use crate::study::Group;
use crate::study::models::Explained;

/// Refits of the models of a dataset, by the options of its bands.
pub(super) struct RefitsOfTask<'a> {
    all: Vec<(&'a str, RefitOptions, Result<Refits, String>)>,
    target: &'a [f64],
    /// The additive fit to the target, which tests of no interaction share.
    additive: OnceLock<Result<AdditiveFit, String>>,
}

impl<'a> RefitsOfTask<'a> {
    /// Refits each model that has a pair with a band, with the options of each variant. What is drawn is of the
    /// dataset's address and the seed that the band is given.
    pub(super) fn new(task: &Task<'a>, rows: Result<(&'a Dataset, &'a [f64]), &'a String>) -> Self {
        let fit = |model: &Explained, options: RefitOptions| {
            let (data, target) = rows.map_err(Clone::clone)?;
            let seed = task.address(|address| address.refits(options.seed)).next_u64();
            let learn = model.learner.on(data, target);
            let options = RefitOptions { seed, ..options };
            caught(|| {
                options.fit(data, &learn, model.learner.has_steps()).map_err(|e| e.to_string())
            })
        };
        let mut all = Vec::new();
        let models: &'a [Explained] = &task.fitting.models;
        for model in models.iter().filter(|model| model.pairs.iter().any(|pair| pair.has_band())) {
            let of = options(task.planned.group).into_iter();
            all.extend(of.map(|options| (&*model.label, options, fit(model, options))));
        }
        let target = rows.map_or(&[][..], |(_, target)| target);
        Self { all, target, additive: OnceLock::new() }
    }

    /// Those of a model by the options of an estimator.
    fn of(&self, model: &Explained, options: RefitOptions) -> Option<Result<&Refits, String>> {
        let is_of =
            |(label, of, _): &&(&str, RefitOptions, _)| *label == model.label && *of == options;
        let (.., refits) = self.all.iter().find(is_of)?;
        Some(refits.as_ref().map_err(Clone::clone))
    }

    /// The band beside the effect of a pair of features; none where it is to have none.
    pub(super) fn band_of_pair(
        &self,
        subject: &Subject<'_>,
        refitting: &PairRefitting,
        surface: &Surface,
        data: &Dataset,
    ) -> Option<Result<SurfaceBand, String>> {
        let Subject::Fitted(model, _) = subject else { return None };
        let refits = self.of(model, refitting.options())?;
        let band = || {
            let refits = refits?;
            let mut band = refitting.band(surface, data, refits).map_err(|e| e.to_string())?;
            if refitting.is_permuted() {
                let fit = || additive_fit(data, self.target).map_err(|e| e.to_string());
                let additive = self.additive.get_or_init(fit).as_ref().map_err(Clone::clone)?;
                let of_target = (refits.options().seed, self.target, additive);
                let (of, learn) = ((data, surface.features), model.learner.of_rows(data));
                let permuted = refitting.permute(&mut band, of, of_target, &learn);
                permuted.map_err(|e| e.to_string())?;
            }
            Ok(band)
        };
        Some(caught(band))
    }

    /// The band beside an estimate; none where it is to have none.
    pub(super) fn band(
        &self,
        subject: &Subject<'_>,
        built: &Result<Implementation, String>,
        estimate: Option<&Estimate>,
        data: Result<&Dataset, &String>,
    ) -> Option<Result<ConfidenceBand, String>> {
        let (Subject::Fitted(model, _), Ok(Implementation::Refitted(refitting))) = (subject, built)
        else {
            return None;
        };
        let refits = self.of(model, refitting.options())?;
        let band = || {
            let refits = refits?;
            let data = data.map_err(Clone::clone)?;
            let found = estimate.ok_or("the model was not explained")?.found.as_ref();
            let effect: &Effect =
                found.map_err(Clone::clone)?.effects()?.next().ok_or("there is no effect")?;
            let band = refitting.band(effect, data, refits);
            let mut band = band.map_err(|e| e.to_string())?;
            let learn = model.learner.of_target(self.target);
            let of = (data, effect.feature);
            refitting
                .permute(&mut band, of, refits.options().seed, &learn)
                .map_err(|e| e.to_string())?;
            Ok(band)
        };
        Some(caught(band))
    }
}

/// The different options of the refits that a group asks for.
pub(super) fn options(group: &Group) -> Vec<RefitOptions> {
    let mut all: Vec<RefitOptions> = Vec::new();
    for variant in group.variants.iter() {
        if let Ok(Some(options)) = RefitOptions::from_settings(&variant.settings)
            && !all.contains(&options)
        {
            all.push(options);
        }
    }
    all
}

/// The expected effect of a learner at some points of a feature, by one of the variants, with the half-width of its
/// 95 % interval as the bound.
pub(super) fn expected(
    task: &Task<'_>,
    model: &Explained,
    of: &PreparedFeature,
    (v, points): (usize, &[f64]),
) -> Result<Vec<Truth>, String> {
    let all = task.prepared.expected.of(&model.label, || of_learner(task, model));
    let features = &task.prepared.features;
    let place = features.iter().position(|other| other.feature == of.feature);
    let curves = place.and_then(|place| all[place].get(v)).ok_or("it has no such effect")?;
    let curves = curves.as_ref().map_err(Clone::clone)?;
    let (means, variances) = (curves.means(), curves.variances());
    let count = task.fitting.expected as f64;
    let at = |x: &f64| {
        let place = of.points.iter().position(|point| point == x);
        let place = place.ok_or_else(|| format!("{x} is no point of the grid"))?;
        let known = means[place].zip(variances[place]);
        let (value, variance) = known.ok_or_else(|| format!("no model has an effect at {x}"))?;
        let abs_error = 1.96 * (variance / count).sqrt();
        Ok(Truth { value, abs_error, method: Evaluation::Simulation })
    };
    points.iter().map(at).collect()
}

/// The curves of models fitted to further datasets of the same size, each explained on as many other rows.
fn of_learner(task: &Task<'_>, model: &Explained) -> OfFeatures {
    let Task { planned, prepared, fitting, seed, .. } = *task;
    let group = planned.group;
    let new =
        |of: &PreparedFeature| vec![Ok(FreshCurves::new(of.points.len())); of.estimators.len()];
    let mut all: OfFeatures = prepared.features.iter().map(new).collect();
    for number in 0..fitting.expected {
        let drawn = caught(|| {
            let of = (seed, group.rows, fitting.snr);
            let drawn =
                sample::of_learner(&group.scenario, of, number).map_err(|e| e.to_string())?;
            let OfLearner { data, target, seed, .. } = &drawn;
            let fitted = model.learner.fit(data, target, *seed).map_err(|e| e.to_string())?;
            Ok((drawn, fitted))
        });
        for (of, curves) in prepared.features.iter().zip(&mut all) {
            for (built, curves) in of.estimators.iter().zip(curves) {
                let values = drawn.as_ref().map_err(Clone::clone).and_then(|(drawn, fitted)| {
                    let built = built.as_ref().map_err(Clone::clone)?;
                    let estimator = built.estimator().ok_or("it is no curve of this program")?;
                    caught(|| {
                        let effects = estimator.estimate(&drawn.explained, &**fitted, of.feature);
                        let effects = effects.map_err(|e| e.to_string())?;
                        let effect = effects.first().ok_or("the model has no output")?;
                        Ok(of.points.iter().map(|&x| effect.curve.at(x).ok()).collect::<Vec<_>>())
                    })
                });
                match (values, &mut *curves) {
                    (Ok(values), Ok(curves)) => curves.add(&values),
                    (Err(reason), Ok(_)) => {
                        *curves =
                            Err(format!("dataset {number} for the expected effect: {reason}"));
                    }
                    (_, Err(_)) => {}
                }
            }
        }
    }
    all
}
