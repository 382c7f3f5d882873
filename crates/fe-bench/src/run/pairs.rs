//! Pairs of effects that are compared: an estimate of f or of a fitted model, and what its error is measured
//! from.

use fe_core::Effect;
use fe_core::effect::ConfidenceBand;
use fe_core::estimator::{Estimand, Estimator};
use fe_core::metric::centred_on_grid;
use fe_core::replicates::FreshCurves;
use fe_truth::{Centring, Quantity, Truth};

use super::context::{Seen, Task};
use super::estimate::{Estimate, Subject};
use super::learner;
use super::prepared::{Implementation, PreparedFeature};
use super::truth::limits_at;
use crate::error::caught;
use crate::record::encode::Encoder;
use crate::record::{Cell, CurveErrors};
use crate::score::comparison::{Comparison, Pair, Side};
use crate::score::exact::axis_around;
use crate::score::metric::HeldBand;
use crate::score::{
    self, Comparing, CurvePoint, Metric, Provenance, Score, exact_effect, truth_centring,
};
use crate::study::file::Keep;
use crate::study::key::Key;

/// Two curves on the same points, centred as they are compared, and what is known of truths in them.
struct Both {
    first: Vec<f64>,
    second: Vec<f64>,
    truths: Option<Vec<Truth>>,
}

impl Both {
    fn provenance(&self) -> Provenance {
        self.truths.as_ref().map_or(Provenance::NONE, |truths| Provenance::of_curve(truths))
    }
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
        for &metric in group.metrics.iter().filter(|metric| metric.is_of_pair(pair)) {
            let score = match metric {
                of if of.is_of_bands() => both.as_ref().map(|both| self.band(both, of)),
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
            let band = self.seen.bands[self.v].as_ref().filter(|_| pair.has_band());
            self.keep_curves(&both, band.and_then(|band| band.as_ref().ok()), key, records)?;
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

    fn keep_curves(
        &self,
        both: &Both,
        band: Option<&ConfidenceBand>,
        key: &Key<&str>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        for (i, &x) in self.comparing.points.iter().enumerate() {
            let point = CurvePoint {
                x,
                effect: Some(both.first[i]),
                heterogeneity: None,
                truth: Some(both.second[i]),
                truth_abs_error: both.truths.as_ref().map(|truths| truths[i].abs_error),
                confidence: band.map_or([None; 4], |band| limits_at(band, x)),
            };
            records.curve(key, 0, &point)?;
        }
        Ok(())
    }

    fn distance(&self, both: &Both, metric: Metric) -> Score {
        let Comparing { points, left_out, .. } = self.comparing;
        let provenance = both.provenance();
        let value = metric.of_curves(&both.first, &both.second);
        Score::of(value, &provenance, points.len(), left_out)
    }

    /// The score of the band from refits beside the estimate.
    fn band(&self, both: &Both, metric: Metric) -> Score {
        let Comparing { points, left_out, .. } = self.comparing;
        let band = match &self.seen.bands[self.v] {
            Some(Ok(band)) => band,
            Some(Err(reason)) => return Score::failed(reason),
            None => return Score::failed("it has no band from refits: `band` = \"refit\""),
        };
        let provenance = both.provenance();
        let held = HeldBand { band, points, against: &both.second, provenance, left_out };
        let none = || Score::failed(format!("`{}` is of no band", metric.name()));
        metric.of_refits(&held).unwrap_or_else(none)
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
            Ok(built) => built.estimator().map(Estimator::estimand),
            Err(_) => None,
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
        let (first, of_first) = self.side(pair.first, pair)?;
        let (second, of_second) = self.side(pair.second, pair)?;
        // Where both are exact, so is their difference, within both bounds.
        let truths = match (of_first, of_second) {
            (Some(first), Some(second)) => {
                let both = |(one, other): (&Truth, &Truth)| Truth {
                    abs_error: one.abs_error + other.abs_error,
                    method: one.method.max(other.method),
                    ..*other
                };
                Some(first.iter().zip(&second).map(both).collect())
            }
            (one, other) => other.or(one),
        };
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
            (Side::ModelExpected, _) => {
                let truths = self.expected()?;
                let values = truths.iter().map(|truth| truth.value).collect();
                return Ok((values, Some(truths)));
            }
            (Side::Truth(quantity), _) => quantity,
            (Side::Theoretical | Side::ModelExact, Some(estimand)) => score::truth_of(estimand),
            (Side::Theoretical | Side::ModelExact, None) => {
                return Err("the estimator has no truth".to_owned());
            }
        };
        let truths = match side {
            Side::ModelExact => self.exact(quantity, pair)?,
            _ => self.truths(quantity, pair)?,
        };
        Ok((truths.iter().map(|truth| truth.value).collect(), Some(truths)))
    }

    /// The expected effect of the learner at the points.
    fn expected(&self) -> Result<Vec<Truth>, String> {
        let Subject::Fitted(model, _) = self.seen.subject else {
            return Err("f is no learner".to_owned());
        };
        let at = (self.v, self.comparing.points);
        learner::expected(self.task, model, self.of, at)
    }

    /// A truth at the points, where it is not centred there the mean of those of the parts.
    fn truths(&self, quantity: Quantity, pair: Pair) -> Result<Vec<Truth>, String> {
        let Comparing { points, comparison, .. } = self.comparing;
        let truths = &self.task.prepared.truths;
        let scenario = &self.task.planned.group.scenario;
        let feature = self.of.feature;
        match self.beside(pair)? {
            Beside::Grid => Ok(truths.on_points(scenario, quantity, feature, points)?.to_vec()),
            Beside::Nothing(centring) => {
                let axis = axis_around(scenario, feature, points)?;
                Ok(truths.curve(scenario, quantity, feature, points, axis, centring)?.to_vec())
            }
            Beside::Estimates(effects) => mean(effects.into_iter().map(|effect| {
                Ok(truths.beside(scenario, quantity, effect, points, comparison)?.to_vec())
            })),
        }
    }

    /// The mean over the parts of the exact effects of their models.
    fn exact(&self, quantity: Quantity, pair: Pair) -> Result<Vec<Truth>, String> {
        let Comparing { points, .. } = self.comparing;
        let scenario = &self.task.planned.group.scenario;
        let feature = self.of.feature;
        let models = self.seen.exact.as_ref().map_err(Clone::clone)?;
        let centring = match self.beside(pair)? {
            Beside::Grid => Centring::None,
            Beside::Nothing(centring) => centring,
            Beside::Estimates(effects) => {
                let pairs = models.iter().zip(effects);
                return mean(pairs.map(|(model, effect)| {
                    exact_effect((model, scenario), quantity, effect, points)
                }));
            }
        };
        let axis = axis_around(scenario, feature, points)?;
        let axis = (axis.lo(), axis.hi());
        mean(models.iter().map(|model| {
            model.curve(quantity, feature, points, axis, centring).map_err(|e| e.to_string())
        }))
    }

    /// The curves that a truth of a pair is centred like.
    fn beside(&self, pair: Pair) -> Result<Beside<'_>, String> {
        if self.comparing.comparison == Comparison::Centred {
            return Ok(Beside::Grid);
        }
        if let Some(side) = pair.sides().into_iter().find(|side| side.is_estimate()) {
            return Ok(Beside::Estimates(self.effects(side)?.collect()));
        }
        let built = self.of.estimators[self.v].as_ref().ok();
        match built.and_then(Implementation::estimator) {
            Some(estimator) => Ok(Beside::Nothing(truth_centring(estimator.centring())?)),
            None => Err(format!("`{pair}` has no estimate to be centred like")),
        }
    }
}

/// The curves that a truth is centred like.
enum Beside<'a> {
    /// None: it is centred on the grid.
    Grid,
    /// Those of an estimator that estimates nothing, over the axis of the scenario.
    Nothing(Centring),
    /// Estimates, one for each part of the rows.
    Estimates(Vec<&'a Effect>),
}

/// The mean of curves on the same points.
fn mean(curves: impl Iterator<Item = Result<Vec<Truth>, String>>) -> Result<Vec<Truth>, String> {
    let curves = curves.collect::<Result<Vec<_>, String>>()?;
    let share = 1.0 / curves.len() as f64;
    let shared = |truth: &Truth| Truth { value: truth.value * share, ..*truth };
    let mut rest = curves.iter();
    let first = rest.next().ok_or_else(|| "there are no rows to be explained".to_owned())?;
    let mut mean: Vec<Truth> = first.iter().map(shared).collect();
    for curve in rest {
        for (sum, own) in mean.iter_mut().zip(curve) {
            sum.value += own.value * share;
            sum.abs_error = sum.abs_error.max(own.abs_error);
        }
    }
    Ok(mean)
}
