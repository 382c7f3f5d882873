//! The model under explanation: a batched function, with or without derivatives.
//!
//! May import `error`, `interrupt` and `numeric`. Begin with [`Model`], then [`Observed`], by which estimators ask it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::error::ModelError;
pub(crate) mod magnitude;
pub(crate) mod structure;
mod terms;

pub use terms::{Boxes, Interval, SmoothTerm, TermSum};

use crate::interrupt;
use crate::numeric::simd::all_finite;

/// One feature of a batch: a value for each row, or one value for all of them.
///
/// The constant form is how "these rows with feature s set to z" is asked without copying data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Column<'a> {
    /// One value for each row.
    Values(&'a [f64]),
    /// The same value in all rows.
    Constant(f64),
}

impl Column<'_> {
    /// The value in a row.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> f64 {
        match self {
            Column::Values(values) => values[row],
            Column::Constant(value) => *value,
        }
    }
}

/// A batch of rows, stored by column.
///
/// ```
/// use fe_core::model::{Column, Rows};
/// let columns = [Column::Values(&[1.0, 2.0]), Column::Constant(7.0)];
/// let rows = Rows::new(&columns, 2);
/// let mut row = [0.0; 2];
/// rows.copy_row(1, &mut row);
/// assert_eq!(row, [2.0, 7.0]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    columns: &'a [Column<'a>],
    len: usize,
}

impl<'a> Rows<'a> {
    /// A batch of `len` rows.
    ///
    /// # Panics
    /// If a column that is not constant has another length.
    #[must_use]
    pub fn new(columns: &'a [Column<'a>], len: usize) -> Self {
        for column in columns {
            if let Column::Values(values) = column {
                assert_eq!(values.len(), len, "columns of a batch must be equally long");
            }
        }
        Self { columns, len }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The features, in order.
    #[must_use]
    pub fn columns(&self) -> &'a [Column<'a>] {
        self.columns
    }

    /// Copies one row into `row`, which must hold as many values as there are features.
    #[inline]
    pub fn copy_row(&self, index: usize, row: &mut [f64]) {
        for (value, column) in row.iter_mut().zip(self.columns) {
            *value = column.get(index);
        }
    }

    fn describe(&self, index: usize) -> String {
        let values: Vec<String> = self.columns.iter().map(|c| c.get(index).to_string()).collect();
        values.join(", ")
    }
}

/// Rows that predictions are averaged over, in groups that are told apart.
///
/// ```
/// use fe_core::model::{Background, Column, Rows};
/// let columns = [Column::Values(&[1.0, 2.0, 4.0])];
/// let rows = Rows::new(&columns, 3);
/// let background = Background { rows, weights: &[1.0, 0.5, 2.0], groups: &[0, 1, 0], count: 2 };
/// assert_eq!(background.totals(), [3.0, 0.5]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Background<'a> {
    /// The rows.
    pub rows: Rows<'a>,
    /// The weight of each.
    pub weights: &'a [f64],
    /// The group of each, counted from 0.
    pub groups: &'a [usize],
    /// Number of groups.
    pub count: usize,
}

impl Background<'_> {
    /// The weight of all rows of each group.
    #[must_use]
    pub fn totals(&self) -> Vec<f64> {
        let mut totals = vec![0.0; self.count];
        self.groups.iter().zip(self.weights).for_each(|(group, weight)| totals[*group] += weight);
        totals
    }
}

/// The questions that a model can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Whatever an estimator wants to know.
    #[default]
    Anything,
    /// Planned questions alone: the answers are given beforehand.
    Planned,
    /// Anything, but the answers say nothing of a function: questions are only written down.
    Unanswered,
}

/// The outcome of a question: the values are written, or there is a reason why not.
pub type Answered = Result<(), ModelError>;

/// A function that writes the answers to a question.
pub type Ask<'a> = dyn FnMut(&mut [f64]) -> Answered + 'a;

/// A function of D features with Q outputs, asked a batch at a time.
///
/// A plain closure becomes one through [`FunctionModel`], a closure over batches through
/// [`BatchModel`], and what watches another model through [`Decorator`].
pub trait Model: Sync {
    /// Number of features, D.
    fn dimension(&self) -> usize;

    /// Number of outputs, Q.
    fn outputs(&self) -> usize {
        1
    }

    /// Writes the predictions: all rows of the first output, then all rows of the next.
    ///
    /// # Errors
    /// Whatever keeps the model from answering.
    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered;

    /// True if [`Model::predict_along`] takes less time than asking place by place.
    fn predicts_along(&self) -> bool {
        false
    }

    /// Writes the predictions of rows with one feature (counted from 0) at each of some increasing
    /// places: for each place what [`Model::predict`] writes of the rows with the feature there.
    ///
    /// # Errors
    /// As [`Model::predict`].
    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        let mut columns = rows.columns().to_vec();
        let size = (rows.len() * self.outputs()).max(1);
        for (&place, values) in places.iter().zip(values.chunks_mut(size)) {
            if let Some(column) = columns.get_mut(feature) {
                *column = Column::Constant(place);
            }
            self.predict(&Rows::new(&columns, rows.len()), values)?;
        }
        Ok(())
    }

    /// True if [`Model::predict_changes`] takes less time than two predictions.
    fn predicts_changes(&self) -> bool {
        false
    }

    /// Writes, in the order of [`Model::predict`], by how much the prediction changes where a feature (counted
    /// from 0) goes from the first to the second of two places; each row has its own.
    ///
    /// # Errors
    /// As [`Model::predict`].
    fn predict_changes(
        &self,
        feature: usize,
        [from, to]: [&[f64]; 2],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        let ask = |places: &[f64], values: &mut [f64]| {
            let own = |(s, column): (usize, &_)| match s == feature {
                true => Column::Values(places),
                false => *column,
            };
            let columns: Vec<Column<'_>> = rows.columns().iter().enumerate().map(own).collect();
            self.predict(&Rows::new(&columns, rows.len()), values)
        };
        let mut before = vec![0.0; values.len()];
        ask(from, &mut before)?;
        ask(to, values)?;
        values.iter_mut().zip(before).for_each(|(value, before)| *value -= before);
        Ok(())
    }

    /// True if [`Model::shapley_values`] works.
    fn knows_shapley_values(&self) -> bool {
        false
    }

    /// Writes the interventional Shapley values of some rows against a background whose rows have shares that add
    /// up to 1: for each feature the values of all outputs and rows, in the order of [`Model::predict`]. They are
    /// exact; a model whose structure does not tell them is asked coalition by coalition instead.
    ///
    /// # Errors
    /// [`ModelError::Failed`] where the structure does not tell them.
    fn shapley_values(
        &self,
        explained: &Rows<'_>,
        background: (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        let _ = (explained, background, values);
        Err(ModelError::Failed("its structure does not tell Shapley values".to_owned()))
    }

    /// True if [`Model::partial_dependences`] works.
    fn knows_partial_dependences(&self) -> bool {
        false
    }

    /// Writes what partial dependences of some features (counted from 0) at some points are made of: for each group of a
    /// background the weighted sums of the predictions of its rows with these features as they are at the points,
    /// in the order of [`Model::predict`]. A model whose structure does not tell them is asked row by row instead.
    ///
    /// # Errors
    /// [`ModelError::Failed`] where the structure does not tell them.
    fn partial_dependences(
        &self,
        features: &[usize],
        points: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        let _ = (features, points, background, sums);
        Err(ModelError::Failed("its structure does not tell partial dependences".to_owned()))
    }

    /// The questions that it can answer.
    fn reach(&self) -> Reach {
        Reach::default()
    }

    /// True if [`Model::partial`] works.
    fn has_partial(&self) -> bool {
        false
    }

    /// Writes the partial derivatives with respect to one feature, in the order of
    /// [`Model::predict`].
    ///
    /// # Errors
    /// [`ModelError::NoDerivative`] where there is none.
    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let _ = (rows, values);
        Err(ModelError::NoDerivative { feature })
    }
}

/// A question to a model, as a [`Decorator`] sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The quantity asked of each row.
    pub of: Asked,
    /// Rows that are to be answered.
    pub rows: usize,
    /// Number of times that each of them is asked: once, or at each of some places along a feature.
    pub times: usize,
}

/// The quantity asked of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The value of the function.
    Value,
    /// A partial derivative.
    Partial,
}

/// A model that watches another one: it passes on every question by whichever way it came, and sees the
/// answer. There is a single thing to write, so that no way of answering can be forgotten.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use fe_core::model::{
///     Answered, Ask, Asked, Column, Decorator, FunctionModel, Model, Question, Rows,
/// };
/// use fe_core::ModelError;
///
/// struct Counted<'a>(&'a dyn Model, AtomicUsize);
///
/// impl Decorator for Counted<'_> {
///     fn decorated(&self) -> &dyn Model {
///         self.0
///     }
///
///     fn pass_on(&self, question: Question, values: &mut [f64], ask: &mut Ask<'_>) -> Answered {
///         self.1.fetch_add(question.rows * question.times, Ordering::Relaxed);
///         ask(values)
///     }
/// }
///
/// let model = FunctionModel::new(1, |x| 2.0 * x[0]);
/// let counted = Counted(&model, AtomicUsize::new(0));
/// let mut values = [0.0; 6];
/// counted.predict_along(0, &[1.0, 5.0], &Rows::new(&[Column::Constant(0.0)], 3), &mut values)?;
/// assert_eq!((values[5], counted.1.into_inner()), (10.0, 6));
/// # Ok::<(), ModelError>(())
/// ```
pub trait Decorator: Sync {
    /// The model that is watched.
    fn decorated(&self) -> &dyn Model;

    /// Has a question answered by `ask`, which writes the values in the order of [`Model::predict`], at
    /// each of several places those of all outputs and rows.
    ///
    /// # Errors
    /// Those of the model.
    fn pass_on(&self, question: Question, values: &mut [f64], ask: &mut Ask<'_>) -> Answered;
}

/// Every method of [`Model`] belongs here, those with a default too.
impl<D: Decorator> Model for D {
    fn dimension(&self) -> usize {
        self.decorated().dimension()
    }

    fn outputs(&self) -> usize {
        self.decorated().outputs()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let question = Question { of: Asked::Value, rows: rows.len(), times: 1 };
        self.pass_on(question, values, &mut |values| self.decorated().predict(rows, values))
    }

    fn predicts_along(&self) -> bool {
        self.decorated().predicts_along()
    }

    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        let question = Question { of: Asked::Value, rows: rows.len(), times: places.len() };
        self.pass_on(question, values, &mut |values| {
            self.decorated().predict_along(feature, places, rows, values)
        })
    }

    fn predicts_changes(&self) -> bool {
        self.decorated().predicts_changes()
    }

    fn predict_changes(
        &self,
        feature: usize,
        places: [&[f64]; 2],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        let question = Question { of: Asked::Value, rows: rows.len(), times: 2 };
        self.pass_on(question, values, &mut |values| {
            self.decorated().predict_changes(feature, places, rows, values)
        })
    }

    fn knows_shapley_values(&self) -> bool {
        self.decorated().knows_shapley_values()
    }

    fn shapley_values(
        &self,
        explained: &Rows<'_>,
        background: (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        let times = self.dimension();
        let question = Question { of: Asked::Value, rows: explained.len(), times };
        self.pass_on(question, values, &mut |values| {
            self.decorated().shapley_values(explained, background, values)
        })
    }

    fn knows_partial_dependences(&self) -> bool {
        self.decorated().knows_partial_dependences()
    }

    fn partial_dependences(
        &self,
        features: &[usize],
        points: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        let question = Question { of: Asked::Value, rows: points.len(), times: background.count };
        self.pass_on(question, sums, &mut |sums| {
            self.decorated().partial_dependences(features, points, background, sums)
        })
    }

    fn reach(&self) -> Reach {
        self.decorated().reach()
    }

    fn has_partial(&self) -> bool {
        self.decorated().has_partial()
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let question = Question { of: Asked::Partial, rows: rows.len(), times: 1 };
        self.pass_on(question, values, &mut |values| {
            self.decorated().partial(feature, rows, values)
        })
    }
}

type RowFunction<'a> = Box<dyn Fn(&[f64]) -> f64 + Send + Sync + 'a>;
type RowPartial<'a> = Box<dyn Fn(usize, &[f64]) -> f64 + Send + Sync + 'a>;

/// A model made of closures over single rows.
///
/// ```
/// use fe_core::model::FunctionModel;
/// let model = FunctionModel::new(2, |x| x[0] * x[1]).with_partial(|s, x| x[1 - s]);
/// ```
pub struct FunctionModel<'a> {
    dimension: usize,
    value: RowFunction<'a>,
    partial: Option<RowPartial<'a>>,
}

impl<'a> FunctionModel<'a> {
    /// A model of `dimension` features from its value at a row.
    pub fn new(dimension: usize, value: impl Fn(&[f64]) -> f64 + Send + Sync + 'a) -> Self {
        Self { dimension, value: Box::new(value), partial: None }
    }

    /// Adds the partial derivative with respect to a feature (counted from 0) at a row.
    #[must_use]
    pub fn with_partial(
        mut self,
        partial: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'a,
    ) -> Self {
        self.partial = Some(Box::new(partial));
        self
    }
}

impl Model for FunctionModel<'_> {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let mut row = vec![0.0; self.dimension];
        for (i, value) in values.iter_mut().enumerate() {
            rows.copy_row(i, &mut row);
            *value = (self.value)(&row);
        }
        Ok(())
    }

    fn has_partial(&self) -> bool {
        self.partial.is_some()
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let Some(partial) = &self.partial else {
            return Err(ModelError::NoDerivative { feature });
        };
        let mut row = vec![0.0; self.dimension];
        for (i, value) in values.iter_mut().enumerate() {
            rows.copy_row(i, &mut row);
            *value = partial(feature, &row);
        }
        Ok(())
    }
}

type BatchFunction<'a> = Box<dyn Fn(&Rows<'_>) -> Vec<f64> + Send + Sync + 'a>;

/// A model made of a closure that answers a whole batch, with any number of outputs.
///
/// ```
/// use fe_core::model::{BatchModel, Rows};
/// let model = BatchModel::new(1, 2, |rows: &Rows<'_>| {
///     let x = |i| rows.columns()[0].get(i);
///     (0..rows.len()).map(x).chain((0..rows.len()).map(|i| -x(i))).collect()
/// });
/// ```
pub struct BatchModel<'a> {
    dimension: usize,
    outputs: usize,
    function: BatchFunction<'a>,
}

impl<'a> BatchModel<'a> {
    /// A model of `dimension` features and `outputs` outputs.
    pub fn new(
        dimension: usize,
        outputs: usize,
        function: impl Fn(&Rows<'_>) -> Vec<f64> + Send + Sync + 'a,
    ) -> Self {
        Self { dimension, outputs, function: Box::new(function) }
    }
}

impl Model for BatchModel<'_> {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let answer = (self.function)(rows);
        if answer.len() != values.len() {
            return Err(ModelError::WrongLength { expected: values.len(), got: answer.len() });
        }
        values.copy_from_slice(&answer);
        Ok(())
    }
}

/// A model under observation: counts rows, refuses NaN and infinities, turns panics into errors.
///
/// Estimators ask models only through this.
pub struct Observed<'a> {
    model: &'a dyn Model,
    rows: Counter,
    partial_rows: Counter,
    /// For each output the differences that were taken for derivatives.
    differences: Vec<Tally>,
}

/// Differences that were taken for derivatives. What is kept of them does not depend on their order.
#[derive(Default)]
struct Tally {
    all: Counter,
    zero: Counter,
    /// Sum of the exponents of those that are not 0.
    exponents: AtomicI64,
    /// The greatest value, and the least one with the other sign, by [`in_order`].
    extremes: [AtomicU64; 2],
}

/// Whole numbers in the order of the numbers they stand for.
fn in_order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_order(order: u64) -> f64 {
    f64::from_bits(if order >> 63 == 1 { order & !(1 << 63) } else { !order })
}

/// Differences that were taken for derivatives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Differences {
    pub(crate) all: u64,
    /// Those that are exactly 0.
    pub(crate) zero: u64,
    /// The geometric mean of the others.
    typical: f64,
    /// From the least to the greatest value that they were taken of.
    range: f64,
}

impl Differences {
    /// True if they look like those of steps: most are 0, or they are so large over such a share of the axis
    /// that along all of it they would add up to so many times the range of the values.
    pub(crate) fn look_like_steps(self, share: f64, times: f64) -> bool {
        let too_large = self.typical > times * 2.0 * share * self.range;
        self.zero > self.all / 2 || (too_large && self.range > 0.0)
    }
}

/// A sum with a place for each of some threads, as two that write to the same one wait for each other
/// at every call of a cheap model.
#[derive(Default)]
struct Counter([CachePadded<AtomicU64>; 8]);

impl Counter {
    fn add(&self, count: usize) {
        let place = rayon::current_thread_index().unwrap_or_default() % self.0.len();
        self.0[place].fetch_add(count as u64, Ordering::Relaxed);
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|place| place.load(Ordering::Relaxed)).sum()
    }
}

impl<'a> Observed<'a> {
    /// Observes a model; counts start at 0.
    #[must_use]
    pub fn new(model: &'a dyn Model) -> Self {
        Self {
            model,
            rows: Counter::default(),
            partial_rows: Counter::default(),
            differences: (0..model.outputs()).map(|_| Tally::default()).collect(),
        }
    }

    /// The model itself.
    #[must_use]
    pub fn model(&self) -> &'a dyn Model {
        self.model
    }

    /// Rows whose value was asked so far.
    #[must_use]
    pub fn model_rows(&self) -> u64 {
        self.rows.total()
    }

    /// Rows whose partial derivative was asked so far.
    #[must_use]
    pub fn partial_rows(&self) -> u64 {
        self.partial_rows.total()
    }

    /// Counts differences on an output that were taken for derivatives, from some values on.
    pub(crate) fn saw_differences(&self, output: usize, differences: &[f64], from: &[f64]) {
        let Some(tally) = self.differences.get(output) else { return };
        let zero = differences.iter().filter(|&&difference| difference == 0.0).count();
        let exponent = |value: &f64| ((value.to_bits() >> 52) & 0x7ff) as i64 - 1023;
        let others = differences.iter().filter(|&&difference| difference != 0.0);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for &value in from {
            (least, most) = (least.min(value), most.max(value));
        }
        tally.all.add(differences.len());
        tally.zero.add(zero);
        tally.exponents.fetch_add(others.map(exponent).sum(), Ordering::Relaxed);
        tally.extremes[0].fetch_max(in_order(most), Ordering::Relaxed);
        tally.extremes[1].fetch_max(in_order(-least), Ordering::Relaxed);
    }

    /// The differences on an output so far.
    pub(crate) fn differences(&self, output: usize) -> Differences {
        let tally = &self.differences[output];
        let (all, zero) = (tally.all.total(), tally.zero.total());
        let exponents = tally.exponents.load(Ordering::Relaxed) as f64;
        let typical = if zero < all { (exponents / (all - zero) as f64).exp2() } else { 0.0 };
        let [most, least] = [0, 1].map(|i| from_order(tally.extremes[i].load(Ordering::Relaxed)));
        Differences { all, zero, typical, range: most + least }
    }

    /// [`Model::predict`], observed.
    ///
    /// # Errors
    /// What the model reports, a panic, or a value that is not finite.
    pub fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        self.predict_and(rows, values, all_finite)
    }

    /// The same for a caller that learns from what it does with the values whether they can all be
    /// finite: a sum that is finite has no other summands. Where it cannot say so they are looked at.
    pub(crate) fn predict_and(
        &self,
        rows: &Rows<'_>,
        values: &mut [f64],
        are_finite: impl FnMut(&[f64]) -> bool,
    ) -> Result<(), ModelError> {
        self.rows.add(rows.len());
        observe(rows, values, |values| self.model.predict(rows, values), are_finite)
    }

    /// [`Model::predict_along`], observed; every row counts at every place.
    ///
    /// # Errors
    /// What the model reports, a panic, or a value that is not finite.
    pub fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        self.rows.add(rows.len() * places.len());
        let ask = |values: &mut [f64]| self.model.predict_along(feature, places, rows, values);
        observe(rows, values, ask, all_finite)
    }

    /// [`Model::predict_changes`], observed; every row counts at both places.
    ///
    /// # Errors
    /// What the model reports, a panic, or a change that is not finite.
    pub fn predict_changes(
        &self,
        feature: usize,
        places: [&[f64]; 2],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        self.rows.add(2 * rows.len());
        let ask = |values: &mut [f64]| self.model.predict_changes(feature, places, rows, values);
        observe(rows, values, ask, all_finite)
    }

    /// [`Model::shapley_values`], observed; every row counts once.
    ///
    /// # Errors
    /// What the model reports, a panic, or a value that is not finite.
    pub fn shapley_values(
        &self,
        explained: &Rows<'_>,
        background: (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        self.rows.add(explained.len() + background.0.len());
        let ask = |values: &mut [f64]| self.model.shapley_values(explained, background, values);
        observe(explained, values, ask, all_finite)
    }

    /// [`Model::partial_dependences`], observed; every point and every row counts once.
    ///
    /// # Errors
    /// What the model reports, a panic, or a sum that is not finite.
    pub fn partial_dependences(
        &self,
        features: &[usize],
        points: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        self.rows.add(points.len() + background.rows.len());
        let ask =
            |sums: &mut [f64]| self.model.partial_dependences(features, points, background, sums);
        observe(points, sums, ask, all_finite)
    }

    /// [`Model::partial`], observed.
    ///
    /// # Errors
    /// What the model reports, a panic, or a value that is not finite.
    pub fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        self.partial_rows.add(rows.len());
        observe(rows, values, |values| self.model.partial(feature, rows, values), all_finite)
    }
}

fn observe(
    rows: &Rows<'_>,
    values: &mut [f64],
    ask: impl FnOnce(&mut [f64]) -> Result<(), ModelError>,
    mut are_finite: impl FnMut(&[f64]) -> bool,
) -> Result<(), ModelError> {
    interrupt::check();
    // The buffer is only read after a normal return, so a half-written one is never seen.
    catch_unwind(AssertUnwindSafe(|| ask(values)))
        .unwrap_or_else(|panic| Err(ModelError::Panicked(panic_message(&*panic))))?;
    if are_finite(values) {
        return Ok(());
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            Err(ModelError::NotFinite { value: values[at], row: rows.describe(at % rows.len()) })
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_the_order_of_numbers() {
        let tiny = f64::from_bits(1);
        let sorted =
            [f64::NEG_INFINITY, -2.0, -1.0, -tiny, -0.0, 0.0, tiny, 0.5, 1.0, 3e300, f64::INFINITY];
        for pair in sorted.windows(2) {
            assert!(in_order(pair[0]) < in_order(pair[1]), "{pair:?}");
        }
        for value in sorted {
            assert_eq!(from_order(in_order(value)).to_bits(), value.to_bits(), "{value}");
        }
    }

    /// A line of slope 1 along an axis of 1 rises by its range, and steps by far more than that.
    #[test]
    fn steps_are_flat_or_too_steep_for_their_range() {
        let differences = |all, zero, typical, range| Differences { all, zero, typical, range };
        assert!(!differences(100, 0, 1.0, 1.0).look_like_steps(1.0, 10.0));
        // Over half of them flat; not where just half of them are.
        assert!(!differences(100, 50, 1.0, 1.0).look_like_steps(1.0, 10.0));
        assert!(differences(100, 51, 1.0, 1.0).look_like_steps(1.0, 10.0));
        // Twenty times the share of the axis times the range is the most.
        assert!(!differences(100, 0, 10.0, 2.0).look_like_steps(0.25, 10.0));
        assert!(differences(100, 0, 10.1, 2.0).look_like_steps(0.25, 10.0));
        assert!(!differences(100, 0, 0.0, 0.0).look_like_steps(0.25, 10.0));
        assert!(!differences(100, 0, 1.0, 0.0).look_like_steps(0.25, 10.0));
    }

    #[test]
    fn rows_without_rows_are_empty() {
        assert!(Rows::new(&[], 0).is_empty());
        assert!(!Rows::new(&[Column::Constant(1.0)], 3).is_empty());
    }

    struct Able(bool);

    impl Model for Able {
        fn dimension(&self) -> usize {
            1
        }

        fn predict(&self, _: &Rows<'_>, _: &mut [f64]) -> Answered {
            Ok(())
        }

        fn predicts_along(&self) -> bool {
            self.0
        }

        fn predicts_changes(&self) -> bool {
            self.0
        }

        fn knows_shapley_values(&self) -> bool {
            self.0
        }

        fn knows_partial_dependences(&self) -> bool {
            self.0
        }

        fn reach(&self) -> Reach {
            if self.0 { Reach::Planned } else { Reach::Anything }
        }

        fn has_partial(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn a_watched_model_can_do_what_the_model_can() {
        for able in [true, false] {
            let model = Able(able);
            let watched = magnitude::MagnitudeProbe::new(&model);
            let known = [
                watched.predicts_along(),
                watched.predicts_changes(),
                watched.knows_shapley_values(),
                watched.knows_partial_dependences(),
                watched.has_partial(),
                watched.reach() == Reach::Planned,
            ];
            assert_eq!(known, [able; 6]);
        }
    }

    /// Of 0, 2 and 8, from values of −1 to 4: the geometric mean of the last two is 4.
    #[test]
    fn the_typical_difference_is_a_mean_of_those_that_are_not_zero() {
        let model = FunctionModel::new(1, |x| x[0]);
        let observed = Observed::new(&model);
        observed.saw_differences(0, &[0.0], &[4.0]);
        assert_eq!(observed.differences(0).typical, 0.0);
        observed.saw_differences(0, &[2.0, -8.0], &[-1.0, 0.0]);
        let seen = observed.differences(0);
        assert_eq!((seen.all, seen.zero, seen.typical, seen.range), (3, 1, 4.0, 5.0));
    }
}
