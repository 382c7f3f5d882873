//! Interventional Shapley values: how a prediction is shared among the features.
//!
//! A coalition Q of features is worth v(Q)(x) = mean over a background set of f(x_Q, b_rest): the
//! features in Q are those of the explained row, the others come together from a background row.
//! The value of feature s is its mean contribution v(Q ∪ s) − v(Q) over all orders in which features
//! may join (Shapley 1953; Štrumbelj and Kononenko 2014). The features outside Q follow their marginal
//! joint law, not the one given x_Q (Janzing, Minorics and Blöbaum 2020).

use std::ops::Range;

use nalgebra::DMatrix;
use ndarray::{Array2, Array3, ArrayView1, Axis};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::data::Dataset;
use crate::data::subsample::{digest, equal_rows};
use crate::error::{Error, ModelError, Result};
use crate::model::{Column, Model, Observed, Rows};
use crate::numeric::blocks::fold_blocks;
use crate::numeric::moments::{Moments, add_each, pair_sum};

/// Most features whose 2^D coalitions are enumerated.
pub const MOST_ENUMERATED: usize = 12;

/// Pairs of permutations for each row where there are more features than that.
pub const DEFAULT_PAIRS: usize = 32;

/// Most pairs of permutations for each row.
const MOST_PAIRS: usize = 1_000_000;

/// Explained rows that one thread takes at a time.
const BLOCK: usize = 4;

/// Explained rows whose values a model tells at a time.
const TOLD: usize = 1024;

/// Background rows in a batch.
const BATCH: usize = 4096;

/// Most worths of coalitions that are held at once: 128 MB.
const MOST_MUTUAL: usize = 1 << 24;

/// The average over orders of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapleyMethod {
    /// All coalitions, for up to [`MOST_ENUMERATED`] features. Asks the model for
    /// N (2^D − 2) B + N + B + 1 rows, with N explained and B background rows. Where these are the
    /// same rows, all that count, half of the first summand: f(x_Q, b_rest) serves Q for the explained
    /// row and the other features for the background row.
    Exact,
    /// Exact too, as the model's own structure tells them, for any number of features: see
    /// [`Model::shapley_values`]. Asks the model for N rows, and the background with every
    /// 1024 of them.
    ByModel,
    /// Random permutations, each with its reverse (antithetic; Mitchell et al. 2022). Asks the model
    /// for 2 N (D − 1) B · pairs + N + B + 1 rows.
    ///
    /// The permutations of a row depend on the seed and on the row's values, not on its place.
    Permutations {
        /// Pairs for each row.
        pairs: usize,
        /// The seed of the permutations.
        seed: u64,
    },
}

impl ShapleyMethod {
    /// As the model knows them, or else as [`ShapleyMethod::suited_to`] its number of features; by
    /// permutations where a number of pairs is asked for.
    #[must_use]
    pub fn suited_to_model(model: &dyn Model, pairs: Option<usize>, seed: u64) -> Self {
        match pairs {
            None if model.knows_shapley_values() => Self::ByModel,
            _ => Self::suited_to(model.dimension(), pairs, seed),
        }
    }

    /// Exact where that is possible and no number of pairs is asked for.
    #[must_use]
    pub fn suited_to(dimension: usize, pairs: Option<usize>, seed: u64) -> Self {
        match pairs {
            Some(pairs) => Self::Permutations { pairs, seed },
            None if dimension <= MOST_ENUMERATED => Self::Exact,
            None => Self::Permutations { pairs: DEFAULT_PAIRS, seed },
        }
    }
}

/// The rows that stand in for the features outside a coalition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// All rows of the data, by their weights.
    #[default]
    All,
    /// So many rows, drawn without replacement. A row of weight 2 is drawn like two rows, and the
    /// order of the rows does not matter; all are taken where there are no more different ones.
    Sample {
        /// Number of rows.
        size: usize,
        /// The seed that they are drawn by.
        seed: u64,
    },
}

/// Options of Shapley values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shapley {
    /// The average over orders.
    pub method: ShapleyMethod,
    /// The background.
    pub background: Background,
}

/// The Shapley values of some rows: N rows, D features, Q outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapleyValues {
    /// The explained rows of the data, counted from 0; N of them.
    pub rows: Vec<usize>,
    /// φ, N × D × Q, in units of the output. Over the features they add up to
    /// `predictions` − `base`, but for rounding.
    pub values: Array3<f64>,
    /// f at the explained rows, N × Q.
    pub predictions: Array2<f64>,
    /// Worth of the empty coalition, Q values: the mean prediction over the background.
    pub base: Vec<f64>,
    /// Standard errors of the values, N × D × Q, where permutations are drawn and there are at least
    /// two pairs. They speak of the permutations alone, not of the choice of the background.
    pub standard_errors: Option<Array3<f64>>,
    /// The average over orders that was taken.
    pub method: ShapleyMethod,
    /// The background that was asked for.
    pub background: Background,
    /// Number of background rows that the model was asked with.
    pub background_rows: usize,
    /// Rows whose value the model was asked for.
    pub model_rows: u64,
}

impl ShapleyValues {
    /// The values of some of the explained rows, given by their places among them, as if these rows
    /// made up the data; the background stays what it was.
    pub(crate) fn select(&self, explained: &[usize]) -> Self {
        let first = Axis(0);
        let errors = self.standard_errors.as_ref();
        Self {
            rows: (0..explained.len()).collect(),
            values: self.values.select(first, explained),
            predictions: self.predictions.select(first, explained),
            base: self.base.clone(),
            standard_errors: errors.map(|errors| errors.select(first, explained)),
            ..*self
        }
    }
}

/// The Shapley values of all features in some rows (counted from 0) of the data.
///
/// ```
/// use fe_core::{Dataset, model::FunctionModel};
/// use fe_core::estimator::shapley::{values, Background, ShapleyMethod, Shapley};
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [2.0, 5.0]].view())?;
/// let model = FunctionModel::new(2, |x| 10.0 * x[0] + x[1]);
/// let options = Shapley { method: ShapleyMethod::Exact, background: Background::All };
/// let shapley = values(&data, &model, &[1], &options)?;
/// assert_eq!(shapley.base, [13.0]);
/// assert_eq!((shapley.values[[0, 0, 0]], shapley.values[[0, 1, 0]]), (10.0, 2.0));
/// # Ok::<(), fe_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadOption`] for a row that does not exist, an empty background, no or too many pairs,
/// or an enumeration of more than [`MOST_ENUMERATED`] features; [`Error::Model`].
pub fn values(
    data: &Dataset,
    model: &dyn Model,
    rows: &[usize],
    options: &Shapley,
) -> Result<ShapleyValues> {
    data.check_dimension(model)?;
    check_options(data, rows, options)?;
    let model = Observed::new(model);
    let game = Game::new(data, &model, options.background)?;
    let predictions = predict_rows(data, &model, rows)?;
    let shape = (rows.len(), data.dimension(), game.outputs);
    let mut values = Array3::zeros(shape);
    let mut errors = match options.method {
        ShapleyMethod::Permutations { pairs, .. } if pairs > 1 => Some(Array3::zeros(shape)),
        _ => None,
    };
    if options.method == ShapleyMethod::ByModel {
        game.ask_for_values(data, rows, &mut values)?;
    }
    let asked = if options.method == ShapleyMethod::ByModel { 0 } else { rows.len() };
    let mutual = match options.method {
        ShapleyMethod::Exact if game.is_mutual(rows) => Some(game.mutual_worths(&predictions)?),
        _ => None,
    };
    let mut at = 0;
    fold_blocks(
        asked,
        BLOCK,
        |block| {
            let share = |i: usize| match &mutual {
                Some(worths) => Ok(game.values_of(&worths.index_axis(Axis(2), i).to_owned())),
                None => {
                    let x = data.row(rows[i]).to_vec();
                    game.share(&x, &predictions.row(i).to_vec(), options.method)
                }
            };
            block.map(share).collect::<Result<Vec<_>, ModelError>>()
        },
        |block| {
            for moments in block {
                for (index, moments) in moments.indexed_iter() {
                    values[[at, index.0, index.1]] = moments.mean;
                    if let (Some(errors), Some(variance)) = (&mut errors, moments.variance(1.0)) {
                        errors[[at, index.0, index.1]] = (variance / moments.weight).sqrt();
                    }
                }
                at += 1;
            }
        },
    )?;
    for (feature, values) in values.axis_iter(Axis(1)).enumerate() {
        if values.iter().any(|value| !value.is_finite()) {
            let name = data.names()[feature].clone();
            return Err(Error::Overflow { what: "Shapley values", name });
        }
    }
    Ok(ShapleyValues {
        rows: rows.to_vec(),
        values,
        predictions,
        base: game.base,
        standard_errors: errors,
        method: options.method,
        background: options.background,
        background_rows: game.shares.len(),
        model_rows: model.model_rows(),
    })
}

/// The Shapley values of one feature against each background row alone; their mean over the
/// background, by its shares, are those against all of it.
pub(crate) struct Pairs {
    /// The explained rows of the data, N of them.
    pub(crate) rows: Vec<usize>,
    /// The background rows of the data, B of them, and what each counts; this adds up to 1.
    pub(crate) background: Vec<usize>,
    pub(crate) shares: Vec<f64>,
    /// N × B.
    pub(crate) values: DMatrix<f64>,
}

/// Most pairs of rows: 160 MB.
const MOST_HELD: usize = 20_000_000;

impl Pairs {
    /// # Errors
    /// [`Error::BadOption`] for more than can be held; as [`values`].
    pub(crate) fn new(
        data: &Dataset,
        model: &Observed<'_>,
        rows: Vec<usize>,
        options: &Shapley,
        (feature, output): (usize, usize),
    ) -> Result<Self> {
        check_options(data, &rows, options)?;
        let chosen = choose(data, options.background);
        let size = rows.len().saturating_mul(chosen.len());
        if size > MOST_HELD {
            return Err(Error::BadOption {
                option: "background",
                given: format!("{} rows for {} explained rows", chosen.len(), rows.len()),
                allowed: format!(
                    "a band holds a value for each pair, at most {MOST_HELD}; take a smaller \
                     `background` or a `subsample` of the rows"
                ),
            });
        }
        let game = Game::new(data, model, options.background)?;
        let mut alone = vec![0.0; game.outputs * chosen.len()];
        game.predict(&[], &|_| false, 0..chosen.len(), &mut alone)?;
        let mut values = DMatrix::zeros(rows.len(), chosen.len());
        let mut at = 0;
        fold_blocks(
            rows.len(),
            BLOCK,
            |block| {
                let pair = |i: usize| {
                    let x = data.row(rows[i]).to_vec();
                    game.against_each(&x, options.method, (feature, output), &alone)
                };
                block.map(pair).collect::<Result<Vec<_>, ModelError>>()
            },
            |block| {
                for of_row in block {
                    values.row_mut(at).iter_mut().zip(of_row).for_each(|(to, from)| *to = from);
                    at += 1;
                }
            },
        )?;
        let background = chosen.iter().map(|(row, _)| *row).collect();
        Ok(Self { rows, background, shares: game.shares, values })
    }
}

fn check_options(data: &Dataset, rows: &[usize], options: &Shapley) -> Result<()> {
    let bad = |option, given: usize, allowed: String| {
        Err(Error::BadOption { option, given: given.to_string(), allowed })
    };
    if let Some(&row) = rows.iter().find(|&&row| row >= data.len()) {
        return bad("rows", row, format!("must be from 0 to {}", data.len() - 1));
    }
    check_background(options.background)?;
    match options.method {
        ShapleyMethod::Exact if data.dimension() > MOST_ENUMERATED => bad(
            "method",
            data.dimension(),
            format!("at most {MOST_ENUMERATED} features can be enumerated; draw permutations"),
        ),
        ShapleyMethod::Exact | ShapleyMethod::ByModel => Ok(()),
        ShapleyMethod::Permutations { pairs, .. } => check_pairs(pairs),
    }
}

pub(crate) fn check_background(background: Background) -> Result<()> {
    match background {
        Background::Sample { size: 0, .. } => Err(Error::BadOption {
            option: "background",
            given: "0".to_owned(),
            allowed: "must be at least 1".to_owned(),
        }),
        _ => Ok(()),
    }
}

pub(crate) fn check_pairs(pairs: usize) -> Result<()> {
    if (1..=MOST_PAIRS).contains(&pairs) {
        return Ok(());
    }
    Err(Error::BadOption {
        option: "permutations",
        given: pairs.to_string(),
        allowed: format!("must be from 1 to {MOST_PAIRS}"),
    })
}

/// f at the explained rows.
fn predict_rows(data: &Dataset, model: &Observed<'_>, rows: &[usize]) -> Result<Array2<f64>> {
    let outputs = model.model().outputs();
    let mut predictions = Array2::zeros((rows.len(), outputs));
    for (start, batch) in (0..).step_by(BATCH).zip(rows.chunks(BATCH)) {
        let features: Vec<Vec<f64>> = (0..data.dimension())
            .map(|feature| batch.iter().map(|&row| data.feature(feature)[row]).collect())
            .collect();
        let columns: Vec<Column<'_>> = features.iter().map(|f| Column::Values(f)).collect();
        let mut values = vec![0.0; outputs * batch.len()];
        model.predict(&Rows::new(&columns, batch.len()), &mut values)?;
        for (i, value) in values.into_iter().enumerate() {
            predictions[[start + i % batch.len(), i / batch.len()]] = value;
        }
    }
    Ok(predictions)
}

/// The game of Shapley values, in which coalitions have worths: the model and the background.
struct Game<'a> {
    model: &'a Observed<'a>,
    outputs: usize,
    /// The background by feature.
    features: Vec<Vec<f64>>,
    /// Rows of the data that are the background.
    background: Vec<usize>,
    /// Shares of the background rows; they add up to 1.
    shares: Vec<f64>,
    /// v(∅), for each output.
    base: Vec<f64>,
    /// A prediction for each output: means are taken of differences from it, which keeps small
    /// differences of large predictions, and a constant model exact.
    origin: Vec<f64>,
}

impl<'a> Game<'a> {
    fn new(data: &Dataset, model: &'a Observed<'a>, background: Background) -> Result<Self> {
        let chosen = choose(data, background);
        let feature = |s: usize| chosen.iter().map(|&(row, _)| data.feature(s)[row]).collect();
        let outputs = model.model().outputs();
        let mut game = Self {
            model,
            outputs,
            features: (0..data.dimension()).map(feature).collect(),
            background: chosen.iter().map(|&(row, _)| row).collect(),
            shares: shares(&chosen),
            base: Vec::new(),
            origin: vec![0.0; outputs],
        };
        let mut first = vec![0.0; outputs];
        game.predict(&[], &|_| false, 0..1, &mut first)?;
        game.origin = first;
        game.base = vec![0.0; outputs];
        let mut base = vec![0.0; outputs];
        game.worth(&[], &|_| false, &mut base)?;
        game.base = base;
        Ok(game)
    }

    fn dimension(&self) -> usize {
        self.features.len()
    }

    /// The values that the model's own structure tells, N × D × Q.
    fn ask_for_values(
        &self,
        data: &Dataset,
        rows: &[usize],
        values: &mut Array3<f64>,
    ) -> Result<(), ModelError> {
        let background: Vec<Column<'_>> = self.features.iter().map(|f| Column::Values(f)).collect();
        let background = Rows::new(&background, self.shares.len());
        let (dimension, outputs) = (self.dimension(), self.outputs);
        let mut at = 0;
        fold_blocks(
            rows.len(),
            TOLD,
            |block| {
                let of =
                    |s: usize| rows[block.clone()].iter().map(move |&row| data.feature(s)[row]);
                let explained: Vec<Vec<f64>> = (0..dimension).map(|s| of(s).collect()).collect();
                let explained: Vec<Column<'_>> =
                    explained.iter().map(|f| Column::Values(f)).collect();
                let mut told = vec![0.0; block.len() * dimension * outputs];
                let explained = Rows::new(&explained, block.len());
                self.model.shapley_values(&explained, (&background, &self.shares), &mut told)?;
                Ok::<_, ModelError>((block.len(), told))
            },
            |(len, told)| {
                for (place, value) in told.into_iter().enumerate() {
                    let (feature, output) = (place / len / outputs, place / len % outputs);
                    values[[at + place % len, feature, output]] = value;
                }
                at += len;
            },
        )
    }

    /// f(x_Q, b_rest) for a range of background rows.
    fn predict(
        &self,
        x: &[f64],
        inside: &dyn Fn(usize) -> bool,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let column = |s: usize| match inside(s) {
            true => Column::Constant(x[s]),
            false => Column::Values(&self.features[s][rows.clone()]),
        };
        let columns: Vec<Column<'_>> = (0..self.dimension()).map(column).collect();
        self.model.predict(&Rows::new(&columns, rows.len()), values)
    }

    /// v(Q)(x), for each output; `inside` says which features are in Q.
    fn worth(
        &self,
        x: &[f64],
        inside: &dyn Fn(usize) -> bool,
        worth: &mut [f64],
    ) -> Result<(), ModelError> {
        worth.fill(0.0);
        let rows = self.shares.len();
        let mut buffer = vec![0.0; self.outputs * rows.min(BATCH)];
        for start in (0..rows).step_by(BATCH) {
            let range = start..rows.min(start + BATCH);
            let values = &mut buffer[..self.outputs * range.len()];
            self.predict(x, inside, range.clone(), values)?;
            let by_output = values.chunks(range.len()).zip(&self.origin);
            for ((values, origin), worth) in by_output.zip(worth.iter_mut()) {
                let shares = &self.shares[range.clone()];
                *worth += pair_sum(values, shares, |f, w| w * (f - origin));
            }
        }
        worth.iter_mut().zip(&self.origin).for_each(|(worth, origin)| *worth += origin);
        Ok(())
    }

    /// The values of one row, D × Q: moments over pairs of permutations, or a single exact value.
    fn share(
        &self,
        x: &[f64],
        prediction: &[f64],
        method: ShapleyMethod,
    ) -> Result<Array2<Moments>, ModelError> {
        match method {
            ShapleyMethod::Exact | ShapleyMethod::ByModel => self.enumerate(x, prediction),
            ShapleyMethod::Permutations { pairs, seed } => self.permute(x, prediction, pairs, seed),
        }
    }

    fn enumerate(&self, x: &[f64], prediction: &[f64]) -> Result<Array2<Moments>, ModelError> {
        let full = (1_usize << self.dimension()) - 1;
        // Coalitions are bit sets: feature s is in Q where bit s is set.
        let mut worths = Array2::zeros((full + 1, self.outputs));
        for (coalition, mut row) in worths.outer_iter_mut().enumerate() {
            let mut worth = vec![0.0; self.outputs];
            match coalition {
                0 => worth.copy_from_slice(&self.base),
                _ if coalition == full => worth.copy_from_slice(prediction),
                _ => self.worth(x, &|s| coalition >> s & 1 == 1, &mut worth)?,
            }
            row.assign(&ArrayView1::from(&worth));
        }
        Ok(self.values_of(&worths))
    }

    /// The exact values of one row, D × Q, from the worth of every coalition, 2^D × Q.
    fn values_of(&self, worths: &Array2<f64>) -> Array2<Moments> {
        let dimension = self.dimension();
        let weights = order_shares(dimension);
        let value = |s: usize, output: usize| -> f64 {
            let without = (0..1_usize << dimension).filter(|coalition| coalition >> s & 1 == 0);
            let worth = |coalition: usize| worths[[coalition, output]];
            without.map(|q| weights[q.count_ones() as usize] * (worth(q | 1 << s) - worth(q))).sum()
        };
        Array2::from_shape_fn((dimension, self.outputs), |(s, output)| {
            Moments::single(value(s, output), 1.0)
        })
    }

    /// True if the explained rows are the background, and few enough to hold all their worths.
    fn is_mutual(&self, rows: &[usize]) -> bool {
        let held = (rows.len() << self.dimension()).saturating_mul(self.outputs);
        rows == self.background && held <= MOST_MUTUAL
    }

    /// v(Q)(x) for every coalition, output and row of the background, 2^D × Q × B.
    ///
    /// Coalitions come in pairs: what the model says of features Q from one row and the rest from
    /// another is a summand of v(Q) of the one and of v(rest) of the other.
    fn mutual_worths(&self, predictions: &Array2<f64>) -> Result<Array3<f64>> {
        let rows = self.shares.len();
        let full = (1_usize << self.dimension()) - 1;
        let mut worths = Array3::zeros((full + 1, self.outputs, rows));
        worths.index_axis_mut(Axis(0), full).assign(&predictions.t());
        for (output, base) in self.base.iter().enumerate() {
            worths.index_axis_mut(Axis(0), 0).index_axis_mut(Axis(0), output).fill(*base);
        }
        let block = (rows / 8).max(64);
        let blocks = rows.div_ceil(block);
        // The last feature is outside of the first coalition of every pair.
        let pairs = full / 2;
        fold_blocks(
            pairs * blocks,
            1,
            |item| {
                let (coalition, start) = (1 + item.start / blocks, item.start % blocks * block);
                let rows = start..rows.min(start + block);
                Ok::<_, ModelError>((coalition, rows.clone(), self.mutual(coalition, rows)?))
            },
            |(coalition, rows, (of_rows, of_rest))| {
                let mut worths_of_rows = worths.index_axis_mut(Axis(0), coalition);
                worths_of_rows.slice_axis_mut(Axis(1), rows.into()).assign(&of_rows);
                let mut rest = worths.index_axis_mut(Axis(0), full ^ coalition);
                rest += &of_rest;
            },
        )?;
        for mut worths in worths.outer_iter_mut().skip(1).take(full.saturating_sub(1)) {
            for (mut worths, origin) in worths.outer_iter_mut().zip(&self.origin) {
                worths += *origin;
            }
        }
        Ok(worths)
    }

    /// v(Q) of some rows of the background, and what these add to v(rest) of each: Q × rows and
    /// Q × B, both less the origin.
    fn mutual(
        &self,
        coalition: usize,
        rows: Range<usize>,
    ) -> Result<(Array2<f64>, Array2<f64>), ModelError> {
        let count = self.shares.len();
        let mut of_rows = Array2::zeros((self.outputs, rows.len()));
        let mut of_rest = vec![0.0; self.outputs * count];
        let mut buffer = vec![0.0; self.outputs * count.min(BATCH)];
        for start in (0..count).step_by(BATCH) {
            let range = start..count.min(start + BATCH);
            let values = &mut buffer[..self.outputs * range.len()];
            let shares = &self.shares[range.clone()];
            for (i, row) in rows.clone().enumerate() {
                let x: Vec<f64> = self.features.iter().map(|values| values[row]).collect();
                self.predict(&x, &|s| coalition >> s & 1 == 1, range.clone(), values)?;
                let share = self.shares[row];
                for (output, values) in values.chunks(range.len()).enumerate() {
                    let origin = self.origin[output];
                    let rest = &mut of_rest[output * count..][range.clone()];
                    of_rows[[output, i]] += add_each(
                        rest,
                        values,
                        shares,
                        move |f, _| share * (f - origin),
                        move |f, w| w * (f - origin),
                    );
                }
            }
        }
        let of_rest = Array2::from_shape_vec((self.outputs, count), of_rest).unwrap_or_default();
        Ok((of_rows, of_rest))
    }

    /// The value of a feature of one row against each background row; `alone` are the predictions at
    /// these.
    fn against_each(
        &self,
        x: &[f64],
        method: ShapleyMethod,
        (feature, output): (usize, usize),
        alone: &[f64],
    ) -> Result<Vec<f64>, ModelError> {
        let rows = self.shares.len();
        let mut sums = vec![0.0; rows];
        let mut buffer = vec![0.0; self.outputs * rows];
        let dimension = self.dimension();
        for (inside, coefficient) in self.coalitions(x, method, feature) {
            let members = inside.iter().filter(|inside| **inside).count();
            let values = if members == 0 {
                &alone[output * rows..(output + 1) * rows]
            } else if members == dimension {
                let one = &mut buffer[..self.outputs];
                self.predict(x, &|_| true, 0..1, one)?;
                let prediction = one[output];
                buffer.fill(prediction);
                &buffer[..rows]
            } else {
                self.predict(x, &|s| inside[s], 0..rows, &mut buffer)?;
                &buffer[output * rows..(output + 1) * rows]
            };
            let origin = self.origin[output];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += coefficient * (value - origin);
            }
        }
        Ok(sums)
    }

    /// The coalitions whose worths make up the value of a feature, each with its factor; the factors
    /// add up to 0.
    fn coalitions(
        &self,
        x: &[f64],
        method: ShapleyMethod,
        feature: usize,
    ) -> Vec<(Vec<bool>, f64)> {
        let dimension = self.dimension();
        match method {
            ShapleyMethod::Exact | ShapleyMethod::ByModel => {
                let weights = order_shares(dimension);
                let coalition = |bits: usize| {
                    let inside: Vec<bool> = (0..dimension).map(|s| bits >> s & 1 == 1).collect();
                    let others = inside.iter().filter(|inside| **inside).count();
                    let factor = match inside[feature] {
                        true => weights[others - 1],
                        false => -weights[others],
                    };
                    (inside, factor)
                };
                (0..1_usize << dimension).map(coalition).collect()
            }
            ShapleyMethod::Permutations { pairs, seed } => {
                let mut random = ChaCha8Rng::seed_from_u64(digest(seed, x));
                let share = 0.5 / pairs as f64;
                let mut coalitions = Vec::with_capacity(4 * pairs);
                for _ in 0..pairs {
                    let mut order: Vec<usize> = (0..dimension).collect();
                    order.shuffle(&mut random);
                    for reversed in [false, true] {
                        if reversed {
                            order.reverse();
                        }
                        let mut inside = vec![false; dimension];
                        order.iter().take_while(|s| **s != feature).for_each(|&s| inside[s] = true);
                        coalitions.push((inside.clone(), -share));
                        inside[feature] = true;
                        coalitions.push((inside, share));
                    }
                }
                coalitions
            }
        }
    }

    fn permute(
        &self,
        x: &[f64],
        prediction: &[f64],
        pairs: usize,
        seed: u64,
    ) -> Result<Array2<Moments>, ModelError> {
        let dimension = self.dimension();
        let mut random = ChaCha8Rng::seed_from_u64(digest(seed, x));
        let mut total = Array2::from_elem((dimension, self.outputs), Moments::default());
        for _ in 0..pairs {
            let mut order: Vec<usize> = (0..dimension).collect();
            order.shuffle(&mut random);
            let forward = self.contributions(x, prediction, &order)?;
            order.reverse();
            let backward = self.contributions(x, prediction, &order)?;
            for ((total, forward), backward) in total.iter_mut().zip(&forward).zip(&backward) {
                *total = total.merge(Moments::single(forward / 2.0 + backward / 2.0, 1.0));
            }
        }
        Ok(total)
    }

    /// Contributions of each feature when it joins in this order, D × Q.
    fn contributions(
        &self,
        x: &[f64],
        prediction: &[f64],
        order: &[usize],
    ) -> Result<Array2<f64>, ModelError> {
        let mut inside = vec![false; order.len()];
        let mut added = Array2::zeros((order.len(), self.outputs));
        let mut before = self.base.clone();
        let mut after = prediction.to_vec();
        for (joined, &s) in order.iter().enumerate() {
            inside[s] = true;
            if joined + 1 == order.len() {
                after.copy_from_slice(prediction);
            } else {
                self.worth(x, &|s| inside[s], &mut after)?;
            }
            for (output, (after, before)) in after.iter().zip(&before).enumerate() {
                added[[s, output]] = after - before;
            }
            before.copy_from_slice(&after);
        }
        Ok(added)
    }
}

/// |Q|! (D − |Q| − 1)! / D!, by |Q|: the share of orders in which exactly Q comes before s.
fn order_shares(dimension: usize) -> Vec<f64> {
    let mut shares = vec![1.0 / dimension as f64];
    for size in 1..dimension {
        shares.push(shares[size - 1] * size as f64 / (dimension - size) as f64);
    }
    shares
}

/// Background rows and what each of them counts.
fn choose(data: &Dataset, background: Background) -> Vec<(usize, f64)> {
    let weight = |row: usize| data.weights().map_or(1.0, |weights| weights[row]);
    let rows = (0..data.len()).filter(|&row| weight(row) > 0.0).map(|row| (row, weight(row)));
    match background {
        Background::All => rows.collect(),
        Background::Sample { size, seed } => sample(data, rows.collect(), size, seed),
    }
}

/// Rows at equal steps of total weight, in an order that depends on the seed and on their values.
///
/// Without weights this is a simple random sample without replacement.
fn sample(data: &Dataset, rows: Vec<(usize, f64)>, size: usize, seed: u64) -> Vec<(usize, f64)> {
    let different = shuffled_by_value(data, &rows, seed);
    if size >= different.len() {
        return different;
    }
    let shares = shares(&different);
    let start = ChaCha8Rng::seed_from_u64(seed).next_u64() as f64 / 2_f64.powi(64);
    let mut drawn: Vec<(usize, f64)> = Vec::with_capacity(size);
    let (mut at, mut reached) = (0, shares[0]);
    for step in 0..size {
        while (start + step as f64) / size as f64 >= reached && at + 1 < different.len() {
            at += 1;
            reached += shares[at];
        }
        match drawn.last_mut() {
            Some((row, times)) if *row == different[at].0 => *times += 1.0,
            _ => drawn.push((different[at].0, 1.0)),
        }
    }
    drawn
}

/// The different rows with the total weight of each, ordered by a digest of their values.
fn shuffled_by_value(data: &Dataset, rows: &[(usize, f64)], seed: u64) -> Vec<(usize, f64)> {
    let total = |group: &Vec<(usize, f64)>| group.iter().map(|(_, weight)| weight).sum();
    equal_rows(data, rows, seed).iter().map(|group| (group[0].0, total(group))).collect()
}

/// Weights divided by their sum, however large or small they are.
fn shares(rows: &[(usize, f64)]) -> Vec<f64> {
    let largest = rows.iter().map(|row| row.1).fold(0.0, f64::max);
    let total: f64 = rows.iter().map(|row| row.1 / largest).sum();
    rows.iter().map(|row| row.1 / largest / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::BatchModel;

    /// Three features and two outputs that have something to do with each other.
    #[test]
    fn the_mean_of_values_against_each_row_is_the_value_against_all() {
        let rows = Array2::from_shape_fn((6, 3), |(i, j)| ((i * (3 + 2 * j) + j) % 7) as f64);
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let data = data.with_weights(vec![1.0, 2.0, 1.0, 0.5, 1.0, 3.0]).unwrap();
        let model = BatchModel::new(3, 2, |rows: &Rows<'_>| {
            let x = |i: usize, s: usize| rows.columns()[s].get(i);
            let first = (0..rows.len()).map(|i| x(i, 0) * x(i, 1) - x(i, 2));
            first.chain((0..rows.len()).map(|i| x(i, 0) + x(i, 1) * x(i, 2).powi(2))).collect()
        });
        for method in [ShapleyMethod::Exact, ShapleyMethod::Permutations { pairs: 3, seed: 1 }] {
            let options = Shapley { method, background: Background::All };
            let explained = vec![0, 2, 5];
            let all = values(&data, &model, &explained, &options).unwrap();
            let observed = Observed::new(&model);
            for (feature, output) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)] {
                let (rows, what) = (explained.clone(), (feature, output));
                let pairs = Pairs::new(&data, &observed, rows, &options, what).unwrap();
                for i in 0..explained.len() {
                    let shares = pairs.shares.iter().enumerate();
                    let mean: f64 = shares.map(|(b, share)| share * pairs.values[(i, b)]).sum();
                    let value = all.values[[i, feature, output]];
                    assert!((mean - value).abs() < 1e-12, "{method:?}: {mean} for {value}");
                }
            }
        }
    }
}
