//! Indices made of accumulated effects: standard deviations over the rows, and what the effects leave out.
//!
//! Standard errors come from estimates without groups of rows, on the bins of all rows.

use super::jackknife::{GROUPS, groups, jackknife, sizes};
use super::{Answers, Index, Measured, Question, ratio, told};
use crate::data::Dataset;
use crate::effect::Surface;
use crate::error::{Error, Result};
use crate::estimator::pair::PairEstimator;
use crate::estimator::{self, pair, predictions};
use crate::model::Model;
use crate::numeric::curve::Curve;
use crate::settings::Settings;

pub(super) fn answers(
    question: &Question<'_>,
    asked: &[(Index, Vec<usize>)],
) -> Result<Vec<Answers>> {
    let samples = Samples::new(question);
    let mut all = Vec::with_capacity(asked.len());
    for (index, features) in asked {
        let found = match features[..] {
            [feature] => samples.deviations_of_one(name_of(*index), feature),
            [a, b] => samples.deviations_of_pair([a, b]),
            _ => samples.additive(name_of(*index)),
        };
        all.push(match found {
            Ok(found) => found.into_iter().map(told).collect(),
            Err(error @ Error::Model(_)) => return Err(error),
            Err(error) => vec![Err(error); question.outputs()],
        });
    }
    Ok(all)
}

/// The estimator that an index is made of.
fn name_of(index: Index) -> &'static str {
    match index {
        Index::AleDerivativeSd | Index::AdditiveR2AleDerivative => "dale",
        _ => "ale",
    }
}

/// All rows, and those without each group.
struct Samples<'a> {
    question: &'a Question<'a>,
    model: &'a dyn Model,
    without: Vec<Option<Dataset>>,
    sizes: Vec<f64>,
}

/// A statistic of all rows for each output, and of those without each group; none where nothing is left.
type Statistics = Vec<Option<Vec<f64>>>;

impl<'a> Samples<'a> {
    fn new(question: &'a Question<'a>) -> Self {
        let data = question.data;
        let groups = groups(data);
        let kept = |group: usize| -> Option<Dataset> {
            let rows: Vec<usize> = (0..data.len()).filter(|&row| groups[row] != group).collect();
            (!rows.is_empty() && rows.len() < data.len()).then(|| data.select(&rows))
        };
        Self {
            question,
            model: question.model.model(),
            without: (0..GROUPS).map(kept).collect(),
            sizes: sizes(&groups, data.weights()),
        }
    }

    /// Jackknife of a statistic with a value for each output.
    fn measured(&self, statistic: impl Fn(&Dataset) -> Result<Vec<f64>>) -> Result<Vec<Measured>> {
        let all = statistic(self.question.data)?;
        // A resample may lack a level or a bin: it says nothing then.
        let without: Statistics = self
            .without
            .iter()
            .map(|data| data.as_ref().and_then(|data| statistic(data).ok()))
            .collect();
        let sizes: Vec<f64> = self
            .sizes
            .iter()
            .zip(&without)
            .map(|(size, found)| if found.is_some() { *size } else { 0.0 })
            .collect();
        let of_output = |output: usize| {
            jackknife(&sizes, self.question.data.len(), |group| match group {
                None => all[output],
                Some(group) => without[group].as_ref().map_or(f64::NAN, |found| found[output]),
            })
        };
        Ok((0..all.len()).map(of_output).collect())
    }

    /// Settings by which an effect is estimated on the bins of all rows; none of a feature with levels.
    fn settings(&self, name: &str, feature: usize) -> Result<Settings> {
        let data = self.question.data;
        if data.has_levels(feature) {
            return Ok(Settings::default());
        }
        let bins = Settings { bins: Some(self.question.options.bins), ..Settings::default() };
        let effect = estimator::from_settings(name, &bins)?;
        let one = data.select_feature(&(0..data.len()).collect::<Vec<_>>(), feature);
        let flat = crate::model::FunctionModel::new(1, |_| 0.0).with_partial(|_, _| 0.0);
        let found = effect.estimate(&one, &flat, 0)?;
        let limits = found.into_iter().next().and_then(|effect| effect.bins);
        let limits = limits.map(|bins| bins.partition.limits().to_vec());
        Ok(Settings { binning: Some("grid".to_owned()), limits, ..Settings::default() })
    }

    /// The curves of a feature on each output.
    fn curves(
        &self,
        name: &str,
        settings: &Settings,
        data: &Dataset,
        feature: usize,
    ) -> Result<Vec<Curve>> {
        let estimator = estimator::from_settings(name, settings)?;
        let effects = estimator.estimate(data, self.model, feature)?;
        Ok(effects.into_iter().map(|effect| effect.curve).collect())
    }

    fn deviations_of_one(&self, name: &'static str, feature: usize) -> Result<Vec<Measured>> {
        let settings = self.settings(name, feature)?;
        self.measured(|data| {
            let curves = self.curves(name, &settings, data, feature)?;
            let deviation = |curve: &Curve| {
                let values = curve.at_all(data.feature(feature))?;
                Ok(variance(data, &values).sqrt())
            };
            curves.iter().map(deviation).collect()
        })
    }

    fn deviations_of_pair(&self, features: [usize; 2]) -> Result<Vec<Measured>> {
        let settings = [self.settings("ale", features[0])?, self.settings("ale", features[1])?];
        let ale: Box<dyn PairEstimator> = pair::from_settings("ale", [&settings[0], &settings[1]])?;
        self.measured(|data| {
            let surfaces = ale.estimate(data, self.model, features)?;
            let deviation = |surface: &Surface| {
                let at =
                    |row: usize| surface.at(features.map(|feature| data.feature(feature)[row]));
                let values = (0..data.len()).map(at).collect::<Result<Vec<f64>>>()?;
                Ok(variance(data, &values).sqrt())
            };
            surfaces.iter().map(deviation).collect()
        })
    }

    /// 1 − Var(f − Σ effects) / Var f.
    fn additive(&self, name: &'static str) -> Result<Vec<Measured>> {
        let all = self.question.data;
        let mut settings = Vec::new();
        for feature in 0..all.dimension() {
            match self.settings(name, feature) {
                Ok(own) => settings.push((feature, own)),
                // It has no effect.
                Err(Error::ConstantFeature { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.measured(|data| {
            let f = predictions::at_rows(data, self.question.model)?;
            let mut rest = f.clone();
            for (feature, settings) in &settings {
                let curves = self.curves(name, settings, data, *feature)?;
                for (rest, curve) in rest.iter_mut().zip(curves) {
                    let effect = curve.at_all(data.feature(*feature))?;
                    rest.iter_mut().zip(effect).for_each(|(rest, effect)| *rest -= effect);
                }
            }
            let share = |(f, rest): (&Vec<f64>, &Vec<f64>)| {
                1.0 - ratio(variance(data, rest), variance(data, f))
            };
            Ok(f.iter().zip(&rest).map(share).collect())
        })
    }
}

/// The variance of one value per row.
fn variance(data: &Dataset, values: &[f64]) -> f64 {
    let moments = crate::numeric::moments::Moments::of_block(values, data.weights());
    moments.squares / moments.weight
}
