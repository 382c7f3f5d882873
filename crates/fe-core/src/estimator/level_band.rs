//! Confidence bands of means at the levels of a feature: `mplot` of predictions, `shapdp` of Shapley values.
//!
//! The mean at a level is known from the instances there alone, so the degrees of freedom are theirs. Shapley values are
//! means over background rows as well: what these add is an error of all of them together.

use nalgebra::DMatrix;

use super::Observation;
use crate::confidence::{MOST_HELD, Purpose, Replicate, Resampling, Uncertainty, degrees_of_sum};
use crate::data::{Dataset, Levels};
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::numeric::moments::Moments;
use crate::settings::Centring;

/// A value for each of some rows: one that is known, or a mean over background rows.
pub(super) struct RowValues {
    /// The rows of the data.
    pub(super) rows: Vec<usize>,
    /// A value for each row and background row; of a single one, which is no row, where the values are known.
    pub(super) against: DMatrix<f64>,
    /// The background rows of the data with what each counts, which adds up to 1.
    pub(super) background: Vec<(usize, f64)>,
}

impl RowValues {
    /// Values of rows that do not depend on other rows.
    pub(super) fn known(rows: Vec<usize>, values: Vec<f64>) -> Self {
        let against = DMatrix::from_vec(values.len(), 1, values);
        Self { rows, against, background: Vec::new() }
    }
}

/// An effect that is a mean at each level, with the values that it is made of.
pub(super) struct LevelMeans<'a> {
    data: &'a Dataset,
    effect: &'a Effect,
    levels: Levels,
    values: RowValues,
    /// For each of the rows with a value the place of its level.
    places: Vec<usize>,
}

/// Means at some weights of the rows.
struct Means {
    /// For each row with a value its weight and its value.
    weighted: Vec<(f64, f64)>,
    /// The shares of the background rows.
    shares: Vec<f64>,
    /// At each level.
    at: Vec<Moments>,
    /// The constant of the centring, as weights of the means.
    constant: Vec<f64>,
    /// The centred means.
    curve: Vec<f64>,
}

impl<'a> LevelMeans<'a> {
    /// Refuses a purpose that levels have not; rows that count are at a level.
    pub(super) fn new(
        Observation { data, effect, .. }: Observation<'a>,
        mut values: RowValues,
        purpose: &Purpose<'_>,
    ) -> Result<Self> {
        let Some(levels) = data.levels(effect.feature)? else {
            return Err(Error::Incompatible(format!("{} has no levels", effect.name)));
        };
        if purpose.rebin {
            return Err(Error::Incompatible(format!(
                "`rebin` chooses bins anew, and {} has levels",
                effect.name
            )));
        }
        // Errors by the background are held for each row.
        let of_each = if values.background.is_empty() { levels.len() } else { data.len() };
        if levels.len().saturating_mul(of_each) > MOST_HELD {
            let given = format!("{} levels and {} rows", levels.len(), data.len());
            let allowed =
                format!("at most {MOST_HELD} errors are held at once; take a `subsample`");
            return Err(Error::BadOption { option: "band", given, allowed });
        }
        let x = data.feature(effect.feature);
        let counts = |row: usize| data.weights().is_none_or(|weights| weights[row] > 0.0);
        let place = |row: usize| levels.place(x[row]).filter(|_| counts(row));
        let known: Vec<usize> =
            (0..values.rows.len()).filter(|&at| place(values.rows[at]).is_some()).collect();
        let rows: Vec<usize> = known.iter().map(|&at| values.rows[at]).collect();
        if known.len() < values.rows.len() {
            values.against = values.against.select_rows(&known);
        }
        let places = rows.iter().filter_map(|&row| place(row)).collect();
        Ok(Self { data, effect, levels, values: RowValues { rows, ..values }, places })
    }

    fn weight(&self, row: usize) -> f64 {
        self.data.weights().map_or(1.0, |weights| weights[row])
    }

    fn means(&self, weights: &[f64]) -> Result<Means> {
        let drawn = |&(row, share): &(usize, f64)| share * weights[row] / self.weight(row);
        let mut shares: Vec<f64> = self.values.background.iter().map(drawn).collect();
        let total: f64 = shares.iter().sum();
        if !shares.is_empty() && total <= 0.0 {
            return Err(Error::Incompatible("no background row was drawn".to_owned()));
        }
        shares.iter_mut().for_each(|share| *share /= total);
        let value = |at: usize| match &shares[..] {
            [] => self.values.against[(at, 0)],
            shares => {
                self.values.against.row(at).iter().zip(shares).map(|(v, share)| v * share).sum()
            }
        };
        let weighted: Vec<(f64, f64)> = self
            .values
            .rows
            .iter()
            .enumerate()
            .map(|(at, &row)| (weights[row], value(at)))
            .collect();
        let mut by_level = vec![(Vec::new(), Vec::new()); self.levels.len()];
        for (&place, &(weight, value)) in self.places.iter().zip(&weighted) {
            if weight > 0.0 {
                by_level[place].0.push(value);
                by_level[place].1.push(weight);
            }
        }
        let moments =
            |(values, weights): &(Vec<f64>, Vec<f64>)| Moments::of_block(values, Some(weights));
        let at: Vec<Moments> = by_level.iter().map(moments).collect();
        if let Some(empty) = at.iter().position(Moments::is_empty) {
            let level = &self.levels.names[empty];
            return Err(Error::Incompatible(format!(
                "a resample has no instance at the level {level}"
            )));
        }
        let total: f64 = at.iter().map(|level| level.weight).sum();
        let constant = match self.effect.record.centring {
            Centring::Data => at.iter().map(|level| level.weight / total).collect(),
            Centring::Start => {
                let is_first = |place| f64::from(u8::from(place == self.levels.given[0]));
                (0..at.len()).map(is_first).collect()
            }
            _ => vec![0.0; at.len()],
        };
        let subtracted: f64 =
            at.iter().zip(&constant).map(|(level, weight)| level.mean * weight).sum();
        let curve = at.iter().map(|level| level.mean - subtracted).collect();
        Ok(Means { weighted, shares, at, constant, curve })
    }

    /// The covariance of the means: of each level by its own instances, and of all together by the background and by
    /// where the instances are.
    fn uncertainty_of(&self, means: &Means, weights: &[f64]) -> Result<Uncertainty> {
        if let Some(single) = means.at.iter().position(|level| level.weight <= 1.0) {
            return Err(Error::Incompatible(format!(
                "the level {} of {} has a single instance, which does not tell how uncertain the mean there is",
                self.levels.names[single], self.effect.name
            )));
        }
        let m = self.levels.len();
        let total: f64 = means.at.iter().map(|level| level.weight).sum();
        let errors: Vec<f64> = means
            .at
            .iter()
            .map(|level| (level.squares / (level.weight - 1.0) / level.weight).sqrt())
            .collect();
        let shared = |i: usize, j: usize| f64::from(u8::from(i == j)) - means.constant[j];
        let own = DMatrix::from_fn(m, m, |i, j| shared(i, j) * errors[j]);
        let is_over_rows = self.effect.record.centring == Centring::Data;
        let of_places = |curve: f64| if is_over_rows { curve } else { 0.0 };
        if self.values.background.is_empty() {
            // Where the rows are moves all means alike.
            let squares = means.at.iter().zip(&means.curve).map(|(level, y)| level.weight * y * y);
            let error = (of_places(1.0) * squares.sum::<f64>() / (total * (total - 1.0))).sqrt();
            let factor = own.insert_column(m, error);
            let of_levels = means.at.iter().map(|level| level.weight - 1.0);
            let degrees: Vec<f64> = of_levels.chain([total - 1.0]).collect();
            return Ok(Uncertainty::of_columns(factor, &degrees));
        }
        // What each row adds, by itself and as background of all others.
        let mut of_rows = DMatrix::<f64>::zeros(m, weights.len());
        for (at, &row) in self.values.rows.iter().enumerate() {
            let (place, (_, value)) = (self.places[at], means.weighted[at]);
            let level = means.at[place];
            // So that the squares of these add up to the unbiased variance.
            let unbiased = (level.weight / (level.weight - 1.0) * (total - 1.0) / total).sqrt();
            of_rows[(place, row)] += (value - level.mean) / level.weight * unbiased;
        }
        let mut at_levels = DMatrix::<f64>::zeros(m, self.values.background.len());
        for (at, &(weight, _)) in means.weighted.iter().enumerate() {
            let place = self.places[at];
            let share = weight / means.at[place].weight;
            for (to, from) in
                at_levels.row_mut(place).iter_mut().zip(self.values.against.row(at).iter())
            {
                *to += share * from;
            }
        }
        for (b, &(row, _)) in self.values.background.iter().enumerate() {
            // A share of a row is what all its copies count.
            let share = if weights[row] > 0.0 { means.shares[b] / weights[row] } else { 0.0 };
            for place in 0..m {
                of_rows[(place, row)] += share * (at_levels[(place, b)] - means.at[place].mean);
            }
        }
        let subtracted: Vec<f64> = of_rows
            .column_iter()
            .map(|column| column.iter().zip(&means.constant).map(|(y, weight)| y * weight).sum())
            .collect();
        for (row, mut column) in of_rows.column_iter_mut().enumerate() {
            column.iter_mut().for_each(|y| *y -= subtracted[row]);
        }
        for (at, &row) in self.values.rows.iter().enumerate() {
            let there = of_places(means.curve[self.places[at]]) / total;
            of_rows.column_mut(row).iter_mut().for_each(|y| *y -= there);
        }
        for (mut column, weight) in of_rows.column_iter_mut().zip(weights) {
            column *= weight.sqrt();
        }
        let covariance = &of_rows * of_rows.transpose() * (total / (total - 1.0));
        let degrees = (0..m).map(|i| {
            let of_level = |j: usize| (own[(i, j)].powi(2), means.at[j].weight - 1.0);
            let rest = covariance[(i, i)] - (0..m).map(|j| of_level(j).0).sum::<f64>();
            degrees_of_sum((0..m).map(of_level).chain([(rest.max(0.0), total - 1.0)]))
        });
        let degrees = degrees.collect();
        Ok(Uncertainty::of_covariance(covariance, degrees))
    }
}

impl Resampling for LevelMeans<'_> {
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate> {
        let means = self.means(weights)?;
        let variances = match variances {
            true => Some(self.uncertainty_of(&means, weights)?.variances()),
            false => None,
        };
        Ok(Replicate { curve: means.curve, variances })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let weights: Vec<f64> = self.data.weighted(0).map(|(_, weight)| weight).collect();
        self.uncertainty_of(&self.means(&weights)?, &weights)
    }
}
