//! Pairs of effects that are compared: an estimate of f or of a fitted model, and what its error is measured
//! from.

use fe_core::Effect;
use fe_core::estimator::Estimand;
use fe_core::metric::centred_on_grid;
use fe_core::replicates::FreshCurves;
use fe_truth::Truth;

use super::context::{Seen, Task};
use super::estimate::Estimate;
use super::prepared::{Implementation, PreparedFeature};
use crate::error::caught;
use crate::record::encode::Encoder;
use crate::record::{Cell, CurveErrors};
use crate::score::comparison::{Comparison, Pair, Side};
use crate::score::{self, Comparing, CurvePoint, Metric, Provenance, Score};
use crate::study::file::Keep;
use crate::study::key::Key;

/// Two curves on the same points, centred as they are compared, and what is known of truths in them.
struct Both {
    first: Vec<f64>,
    second: Vec<f64>,
    truths: Option<Vec<Truth>>,
}

/// The mean of the curves of some effects at some points.
pub(super) fn averaged<'a>(
    effects: impl Iterator<Item = &'a Effect>,
    points: &[f64],
) -> Result<Vec<f64>, String> {
    let (mut sums, mut count) = (vec![0.0; points.len()], 0.0);
    for effect in effects {
        let values = effect.curve.at_all(points).map_err(|e| e.to_string())?;
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        count += 1.0;
    }
    Ok(sums.into_iter().map(|sum| sum / count).collect())
}

/// Values as they are compared.
pub(super) fn centred(values: Vec<f64>, comparison: Comparison) -> Vec<f64> {
    match comparison {
        Comparison::Centred => centred_on_grid(&values),
        Comparison::AsTheyAre => values,
    }
}

/// A comparison of a subject by one of the variants.
pub(super) struct Compare<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) of: &'a PreparedFeature,
    pub(super) seen: &'a Seen<'a>,
    /// The scenario's function, on the same rows.
    pub(super) f: &'a Seen<'a>,
    pub(super) v: usize,
    pub(super) comparing: Comparing<'a>,
}

impl Compare<'_> {
    /// Scores a pair, and keeps what the study wants to be kept of it.
    pub(super) fn record(
        &self,
        pair: Pair,
        key: &Key<&str>,
        fresh: Option<&Result<FreshCurves, String>>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.task.planned.group;
        let both = caught(|| self.both(pair));
        let rows = self.model_rows(pair);
        for &metric in &group.metrics {
            let score = match metric {
                of if of.is_of_curves() => both.as_ref().map(|both| self.distance(both, of)),
                _ => Ok(self.count(pair, metric).unwrap_or_else(Score::failed)),
            };
            let score = score.unwrap_or_else(Score::failed);
            records.cell(key, 0, metric.name(), &Cell { score, model_rows: rows })?;
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
            records.cell(key, 0, name, &Cell { score, model_rows: None })?;
        }
        let Ok(both) = both else { return Ok(()) };
        if group.keep.contains(&Keep::Curves) {
            self.keep_curves(&both, key, records)?;
        }
        if group.keep.contains(&Keep::Decomposition) {
            let error: Vec<f64> = both.first.iter().zip(&both.second).map(|(a, b)| a - b).collect();
            let fresh = fresh.and_then(|fresh| fresh.as_ref().ok());
            let fresh = fresh.map(|curves| (self.task.fitting.fresh, curves.clone()));
            let errors = CurveErrors { x: self.comparing.points.to_vec(), error, fresh };
            records.errors(key, 0, &errors)?;
        }
        Ok(())
    }

    fn keep_curves(&self, both: &Both, key: &Key<&str>, records: &mut Encoder) -> csv::Result<()> {
        for (i, &x) in self.comparing.points.iter().enumerate() {
            let point = CurvePoint {
                x,
                effect: Some(both.first[i]),
                heterogeneity: None,
                truth: Some(both.second[i]),
                truth_abs_error: both.truths.as_ref().map(|truths| truths[i].abs_error),
                confidence: [None; 4],
            };
            records.curve(key, 0, &point)?;
        }
        Ok(())
    }

    fn distance(&self, both: &Both, metric: Metric) -> Score {
        let Comparing { points, left_out, .. } = self.comparing;
        let provenance = match &both.truths {
            Some(truths) => Provenance::of(truths.iter().map(|t| (t.method, t.abs_error))),
            None => Provenance::NONE,
        };
        let value = metric.of_curves(&both.first, &both.second);
        Score::of(value, &provenance, points.len(), left_out)
    }

    /// The mean count over the parts of the first effect.
    fn count(&self, pair: Pair, metric: Metric) -> Result<Score, String> {
        let effects = self.effects(pair.first)?;
        let counted = |effect: &Effect| {
            let bins = effect.bins.as_ref().ok_or(format!("{} has no bins", effect.estimator))?;
            let count = metric.of_bins(effect, bins);
            Ok(count.ok_or_else(|| format!("`{}` is no count", metric.name()))? as f64)
        };
        let counts = effects.map(counted).collect::<Result<Vec<f64>, String>>()?;
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        Ok(Score::of(Some(mean), &Provenance::NONE, counts.len(), 0))
    }

    fn effects(&self, side: Side) -> Result<impl Iterator<Item = &Effect> + Clone, String> {
        let seen = match side {
            Side::Model => self.seen,
            Side::Empirical => self.f,
            other => return Err(format!("`{other}` is no estimate")),
        };
        match &seen.estimates[self.v] {
            Some(Estimate { found: Ok(found), .. }) => found.effects(),
            Some(Estimate { found: Err(reason), .. }) => Err(reason.clone()),
            None => Err(format!("`{side}` was not estimated")),
        }
    }

    fn estimand(&self) -> Option<Estimand> {
        match &self.of.estimators[self.v] {
            Ok(Implementation::Own(estimator)) => Some(estimator.estimand()),
            _ => None,
        }
    }

    fn model_rows(&self, pair: Pair) -> Option<u64> {
        let rows = |effect: &Effect| effect.record.model_rows + effect.record.jacobian_rows;
        Some(self.effects(pair.first).ok()?.map(rows).sum())
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

    /// The curve of a side at the points; for truths with what is known of them.
    fn side(&self, side: Side, pair: Pair) -> Result<(Vec<f64>, Option<Vec<Truth>>), String> {
        let points = self.comparing.points;
        let quantity = match (side, self.estimand()) {
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
    fn truths(&self, quantity: fe_truth::Quantity, pair: Pair) -> Result<Vec<Truth>, String> {
        let Comparing { points, comparison, .. } = self.comparing;
        let truths = &self.task.prepared.truths;
        let scenario = &self.task.planned.group.scenario;
        if comparison == Comparison::Centred {
            return Ok(truths.on_points(scenario, quantity, self.of.feature, points)?.to_vec());
        }
        let effects = self.effects(pair.first)?;
        let mut mean: Option<Vec<Truth>> = None;
        let share = 1.0 / effects.clone().count() as f64;
        for effect in effects {
            let own = truths.beside(scenario, quantity, effect, points, comparison)?;
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
