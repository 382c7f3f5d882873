//! Accumulated local effects of a feature with levels (Apley and Zhu 2020).
//!
//! Along an order of the levels the change of the prediction from each level to the next is averaged over the
//! instances of both, and accumulated.

use std::ops::Range;

use nalgebra::DMatrix;

use super::Accumulated;
use super::order::Order;
use crate::confidence::{MOST_HELD, Purpose, Replicate, Resampling, Uncertainty};
use crate::data::{Dataset, FeatureKind, Levels};
use crate::effect::{Effect, LevelRecord, Record, heterogeneity};
use crate::error::{Error, ModelError, Result};
use crate::estimator::at_levels::AtLevels;
use crate::estimator::{Estimated, Observation, predictions};
use crate::model::{Column, Model, Observed, Reach, Rows};
use crate::numeric::blocks::fold_blocks;
use crate::numeric::moments::Moments;
use crate::settings::{Centring, LevelOrder};

/// Rows that the model is asked about together.
const BLOCK: usize = 2048;

/// Changes of the prediction of each row, on one output.
#[derive(Debug, Clone, Default)]
struct Changes {
    /// From the level before to the row's own; NaN at the first level, and of rows of weight 0.
    below: Vec<f64>,
    /// From the row's own level to the next; NaN at the last level, and of rows of weight 0.
    above: Vec<f64>,
}

/// The levels of a feature along an order, and where each row is.
struct Walk<'a> {
    data: &'a Dataset,
    feature: usize,
    levels: &'a Levels,
    order: &'a Order,
    /// For each row the place of its level in the order; none of rows of weight 0.
    steps: Vec<Option<usize>>,
}

impl<'a> Walk<'a> {
    fn new((data, feature): (&'a Dataset, usize), levels: &'a Levels, order: &'a Order) -> Self {
        let mut rank = vec![0; levels.len()];
        for (step, &place) in order.places.iter().enumerate() {
            rank[place] = step;
        }
        let step = |(x, weight): (f64, f64)| {
            levels.place(x).filter(|_| weight > 0.0).map(|place| rank[place])
        };
        let steps = data.weighted(feature).map(step).collect();
        Self { data, feature, levels, order, steps }
    }

    fn value(&self, step: usize) -> f64 {
        self.levels.values[self.order.places[step]]
    }

    /// The changes of every row, for each output; asks the model for at most three rows for each.
    fn changes(&self, model: &Observed<'_>) -> Result<Vec<Changes>> {
        let outputs = model.model().outputs();
        let missing = || vec![f64::NAN; self.data.len()];
        let none = || Changes { below: missing(), above: missing() };
        let mut all: Vec<Changes> = (0..outputs).map(|_| none()).collect();
        fold_blocks(
            self.data.len(),
            BLOCK,
            |rows| self.block(rows, model),
            |(rows, block)| {
                for (all, block) in all.iter_mut().zip(block) {
                    all.below[rows.clone()].copy_from_slice(&block.below);
                    all.above[rows.clone()].copy_from_slice(&block.above);
                }
            },
        )?;
        Ok(all)
    }

    fn block(
        &self,
        rows: Range<usize>,
        model: &Observed<'_>,
    ) -> Result<(Range<usize>, Vec<Changes>), ModelError> {
        let last = self.levels.len() - 1;
        let own = self.ask(&rows, model, Some)?;
        let before = self.ask(&rows, model, |step| step.checked_sub(1))?;
        let next = self.ask(&rows, model, |step| (step < last).then_some(step + 1))?;
        let change = |from: &[f64], to: &[f64]| from.iter().zip(to).map(|(a, b)| b - a).collect();
        let of_output = |output: usize| Changes {
            below: change(&before[output], &own[output]),
            above: change(&own[output], &next[output]),
        };
        Ok((rows, (0..own.len()).map(of_output).collect()))
    }

    /// The predictions of some rows at another level, for each output; NaN where there is none.
    fn ask(
        &self,
        rows: &Range<usize>,
        model: &Observed<'_>,
        to: impl Fn(usize) -> Option<usize>,
    ) -> Result<Vec<Vec<f64>>, ModelError> {
        let outputs = model.model().outputs();
        let mut all = vec![vec![f64::NAN; rows.len()]; outputs];
        let target = |row: usize| Some((row, self.value(to(self.steps[row]?)?)));
        let (asked, level): (Vec<usize>, Vec<f64>) = rows.clone().filter_map(target).unzip();
        if asked.is_empty() {
            return Ok(all);
        }
        let others: Vec<Vec<f64>> = (0..self.data.dimension())
            .map(|feature| {
                let values = self.data.feature(feature);
                asked.iter().map(|&row| values[row]).collect()
            })
            .collect();
        let mut columns: Vec<Column<'_>> =
            others.iter().map(|values| Column::Values(values)).collect();
        columns[self.feature] = Column::Values(&level);
        let mut values = vec![0.0; outputs * asked.len()];
        model.predict(&Rows::new(&columns, asked.len()), &mut values)?;
        for (all, values) in all.iter_mut().zip(values.chunks(asked.len())) {
            for (&row, &value) in asked.iter().zip(values) {
                all[row - rows.start] = value;
            }
        }
        Ok(all)
    }

    /// The changes of a row with the steps of the order that they are of: to its own level, and to the next.
    fn changes_of(&self, changes: &Changes, row: usize) -> [Option<(usize, f64)>; 2] {
        let last = self.levels.len() - 1;
        let to_own =
            self.steps[row].and_then(|step| Some((step.checked_sub(1)?, changes.below[row])));
        let to_next = self.steps[row].filter(|step| *step < last);
        [to_own, to_next.map(|step| (step, changes.above[row]))]
    }

    /// The moments of the changes from each level of the order to the next, at some weights of the rows.
    fn moments(&self, changes: &Changes, weight: impl Fn(usize) -> f64) -> Vec<Moments> {
        let mut by_step = vec![(Vec::new(), Vec::new()); self.levels.len() - 1];
        for row in 0..self.steps.len() {
            let weight = weight(row);
            for (step, change) in self.changes_of(changes, row).into_iter().flatten() {
                if weight > 0.0 {
                    by_step[step].0.push(change);
                    by_step[step].1.push(weight);
                }
            }
        }
        by_step.iter().map(|(values, weights)| Moments::of_block(values, Some(weights))).collect()
    }

    /// The sum of the changes up to each level, 0 at the first of the order; by ascending values of the levels.
    fn accumulated(&self, means: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut curve = vec![0.0; self.levels.len()];
        let mut sum = 0.0;
        for (&place, mean) in self.order.places.iter().skip(1).zip(means) {
            sum += mean;
            curve[place] = sum;
        }
        curve
    }

    fn weight(&self, row: usize) -> f64 {
        self.data.weights().map_or(1.0, |weights| weights[row])
    }
}

/// The changes of each row of a feature with levels, on every output, and the order that they are along.
pub(crate) struct LevelChanges<'a> {
    estimator: &'a Accumulated,
    data: &'a Dataset,
    feature: usize,
    levels: Levels,
    of_outputs: Vec<(Order, Changes)>,
}

impl<'a> LevelChanges<'a> {
    /// Asks the model for all changes.
    pub(crate) fn new(
        estimator: &'a Accumulated,
        (data, feature): (&'a Dataset, usize),
        model: &Observed<'_>,
        levels: Levels,
    ) -> Result<Self> {
        let outputs = model.model().outputs();
        let rule = estimator.order.unwrap_or_default();
        let by_response =
            rule == LevelOrder::Response && data.kinds()[feature] == FeatureKind::Nominal;
        if by_response && model.model().reach() != Reach::Anything {
            return Err(Error::Incompatible(format!(
                "the order `response` of {} comes from predictions, and these are not there when questions are \
                 planned",
                data.names()[feature]
            )));
        }
        let response = match by_response {
            true => predictions::at_rows(data, model)?.into_iter().map(Some).collect(),
            false => vec![None; outputs],
        };
        let mut of_outputs: Vec<(Order, Changes)> = Vec::with_capacity(outputs);
        let mut known: Option<Vec<Changes>> = None;
        for (output, response) in response.iter().enumerate() {
            let order = Order::of(rule, (data, feature), &levels, response.as_deref())?;
            let is_same = of_outputs.last().is_some_and(|(last, _)| *last == order);
            let mut changes = match known.take().filter(|_| is_same) {
                Some(changes) => changes,
                None => Walk::new((data, feature), &levels, &order).changes(model)?,
            };
            of_outputs.push((order, std::mem::take(&mut changes[output])));
            known = Some(changes);
        }
        Ok(Self { estimator, data, feature, levels, of_outputs })
    }

    /// For each row of positive weight its changes with the steps of the order that they are of.
    pub(crate) fn steps(&self, output: usize) -> Vec<[Option<(usize, f64)>; 2]> {
        let (order, changes) = &self.of_outputs[output];
        let walk = Walk::new((self.data, self.feature), &self.levels, order);
        (0..self.data.len()).map(|row| walk.changes_of(changes, row)).collect()
    }

    /// Number of changes from a level to the next.
    pub(crate) fn count(&self) -> usize {
        self.levels.len() - 1
    }

    /// The variance of the changes of each step, where it is known.
    pub(crate) fn variances(&self, steps: &[Moments]) -> Vec<Option<f64>> {
        steps.iter().map(|step| step.variance(self.estimator.common.ddof)).collect()
    }

    /// The effect on one output.
    fn effect(&self, output: usize) -> Result<Effect> {
        let (order, changes) = &self.of_outputs[output];
        let walk = Walk::new((self.data, self.feature), &self.levels, order);
        self.estimator.of_walk(&walk, changes, output)
    }

    /// The effect of some rows alone, along the order of all.
    pub(crate) fn effect_of(&self, rows: &[usize], output: usize) -> Result<Effect> {
        let (order, changes) = &self.of_outputs[output];
        let data = self.data.select(rows);
        let levels = self.levels.counted(data.weighted(self.feature));
        let select = |all: &[f64]| rows.iter().map(|&row| all[row]).collect();
        let changes = Changes { below: select(&changes.below), above: select(&changes.above) };
        let walk = Walk::new((&data, self.feature), &levels, order);
        self.estimator.of_walk(&walk, &changes, output)
    }
}

impl Accumulated {
    /// The effects of a feature with levels, one per output.
    pub(super) fn by_levels(
        &self,
        (data, feature): (&Dataset, usize),
        model: &dyn Model,
        levels: Levels,
    ) -> Result<Vec<Effect>> {
        let observed = Observed::new(model);
        let changes = LevelChanges::new(self, (data, feature), &observed, levels)?;
        let of_output = |output| {
            let effect = changes.effect(output)?;
            let record = Record { model_rows: observed.model_rows(), ..effect.record };
            Effect { record, ..effect }.representable()
        };
        (0..model.outputs()).map(of_output).collect()
    }

    fn of_walk(&self, walk: &Walk<'_>, changes: &Changes, output: usize) -> Result<Effect> {
        let (data, feature, levels) = (walk.data, walk.feature, walk.levels);
        let common = self.common.at_levels(&data.names()[feature])?;
        let moments = walk.moments(changes, |row| walk.weight(row));
        let curve = walk.accumulated(moments.iter().map(|step| step.mean));
        let variances: Vec<Option<f64>> =
            moments.iter().map(|step| step.variance(common.ddof)).collect();
        let mut spread = vec![f64::NAN; levels.len()];
        for (&place, variance) in walk.order.places.iter().skip(1).zip(&variances) {
            spread[place] = variance.unwrap_or(f64::NAN);
        }
        let at = AtLevels { data, feature, output, estimator: self.method.name(), levels };
        let effect = at.effect(&common, (curve, spread), walk.order.places[0])?;
        let order = Some(walk.order.record(levels));
        let levels = Some(LevelRecord::new(data.kinds()[feature], levels, order));
        Ok(Effect {
            heterogeneity_values: heterogeneity::of_steps(&variances),
            default_heterogeneity: "mean_steps",
            record: Record { levels, ..effect.record },
            ..effect
        })
    }
}

/// An accumulated effect at levels with the changes that it came from; its order is held.
pub(super) struct LevelSample<'a> {
    data: &'a Dataset,
    effect: &'a Effect,
    feature: usize,
    levels: Levels,
    order: Order,
    changes: Changes,
}

impl<'a> LevelSample<'a> {
    /// The model is asked for all changes again.
    ///
    /// # Errors
    /// [`Error::BadOption`] for more rows times levels than are held; [`Error::Model`].
    pub(super) fn new(of: Observation<'a>, purpose: &Purpose<'_>) -> Result<Self> {
        let Estimated { data, model, effect } = of;
        let feature = effect.feature;
        let levels = data.levels(feature)?;
        let recorded = effect.record.levels.as_ref().and_then(|levels| levels.order.as_ref());
        let (Some(levels), Some(recorded)) = (levels, recorded) else {
            return Err(Error::Incompatible("an effect without levels has no order".to_owned()));
        };
        if purpose.rebin {
            return Err(Error::Incompatible(format!(
                "`rebin` chooses bins anew, and {} has levels; their order is held",
                effect.name
            )));
        }
        if levels.len().saturating_mul(levels.len()) > MOST_HELD {
            let given = format!("{} levels", levels.len());
            let allowed = format!("their square is at most {MOST_HELD}");
            return Err(Error::BadOption { option: "band", given, allowed });
        }
        let places = recorded.values.iter().filter_map(|x| levels.place(*x)).collect();
        let order = Order::held(places, recorded.rule);
        let changes =
            Walk::new((data, feature), &levels, &order).changes(model)?.swap_remove(effect.output);
        Ok(Self { data, effect, feature, levels, order, changes })
    }

    fn walk(&self) -> Walk<'_> {
        Walk::new((self.data, self.feature), &self.levels, &self.order)
    }

    /// The constant that the centring subtracts, as weights of the values at the levels.
    fn constant(&self, walk: &Walk<'_>, weight: &dyn Fn(usize) -> f64) -> Vec<f64> {
        let mut shares = vec![0.0; self.levels.len()];
        if self.effect.record.centring != Centring::Data {
            return shares;
        }
        for (row, step) in walk.steps.iter().enumerate() {
            if let Some(step) = *step {
                shares[self.order.places[step]] += weight(row);
            }
        }
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    }

    fn curve(&self, walk: &Walk<'_>, weight: &dyn Fn(usize) -> f64) -> Result<Vec<f64>> {
        let moments = walk.moments(&self.changes, weight);
        if moments.iter().any(Moments::is_empty) {
            let message = "a resample has no instance at either of two neighbouring levels";
            return Err(Error::Incompatible(message.to_owned()));
        }
        let mut curve = walk.accumulated(moments.iter().map(|step| step.mean));
        let shares = self.constant(walk, weight);
        let constant: f64 = curve.iter().zip(&shares).map(|(y, share)| y * share).sum();
        curve.iter_mut().for_each(|y| *y -= constant);
        Ok(curve)
    }

    /// The covariance of the curve, levels × levels, from what each row adds to it: its changes less their
    /// means, over the weight of their steps, and where it lies in the mean of the centring.
    fn covariance(&self, weight: &dyn Fn(usize) -> f64) -> Result<(DMatrix<f64>, f64)> {
        let walk = self.walk();
        let moments = walk.moments(&self.changes, weight);
        let curve = self.curve(&walk, weight)?;
        let shares = self.constant(&walk, weight);
        let m = self.levels.len();
        let counted = walk.steps.iter().enumerate().filter(|(_, step)| step.is_some());
        let total: f64 = counted.map(|(row, _)| weight(row)).sum();
        if total <= 1.0 {
            let message = "a single instance does not tell how uncertain the effect is";
            return Err(Error::Incompatible(message.to_owned()));
        }
        let is_centred = self.effect.record.centring == Centring::Data;
        let mut covariance = DMatrix::zeros(m, m);
        for (row, step) in walk.steps.iter().enumerate() {
            let (Some(step), weight) = (*step, weight(row)) else { continue };
            let deviation = |step: usize, change: f64| {
                let of = moments[step];
                total / of.weight * (change - of.mean)
            };
            let mut steps = vec![0.0; m - 1];
            if step > 0 {
                steps[step - 1] += deviation(step - 1, self.changes.below[row]);
            }
            if step + 1 < m {
                steps[step] += deviation(step, self.changes.above[row]);
            }
            let mut of_row = walk.accumulated(steps.into_iter());
            let constant: f64 = of_row.iter().zip(&shares).map(|(y, share)| y * share).sum();
            let of_place = if is_centred { curve[self.order.places[step]] } else { 0.0 };
            of_row.iter_mut().for_each(|y| *y -= constant + of_place);
            let of_row = nalgebra::DVector::from_vec(of_row);
            covariance.ger(weight, &of_row, &of_row, 1.0);
        }
        Ok((covariance / (total * (total - 1.0)), total - 1.0))
    }
}

impl Resampling for LevelSample<'_> {
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate> {
        let weight = |row: usize| weights[row];
        let curve = self.curve(&self.walk(), &weight)?;
        let variances = match variances {
            true => Some(self.covariance(&weight)?.0.diagonal().iter().copied().collect()),
            false => None,
        };
        Ok(Replicate { curve, variances })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let weight = |row: usize| self.data.weights().map_or(1.0, |weights| weights[row]);
        let (covariance, degrees) = self.covariance(&weight)?;
        let places = covariance.nrows();
        Ok(Uncertainty::of_covariance(covariance, vec![degrees; places]))
    }
}
