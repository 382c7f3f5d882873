//! Data that were checked once, so that everything after may trust them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::levels::{LevelNames, Levels};
use super::summary::{Summaries, Summary};
use crate::error::{Error, ModelError, Result};
use crate::model::{Column, Model};
use crate::numeric;
use crate::numeric::simd::{all_finite, vectorised};

/// Values that are checked together.
const CHECKED: usize = 4096;

/// The kind of a feature's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FeatureKind {
    /// Real numbers.
    #[default]
    Continuous,
    /// Ordered levels.
    Ordinal,
    /// Levels without an order.
    Nominal,
}

/// N rows of D finite features, with names, kinds and optional weights.
///
/// A weight of 2 equals a duplicated row in every estimator; rows of weight 0 count nowhere.
///
/// ```
/// use fe_core::Dataset;
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [2.0, 3.0]].view()).unwrap();
/// assert_eq!(data.feature(1), &[1.0, 3.0]);
/// assert!(Dataset::from_rows(&ndarray::array![[f64::NAN]].view()).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    // D × N, so that a feature is contiguous.
    features: Array2<f64>,
    names: Vec<String>,
    kinds: Vec<FeatureKind>,
    levels: Vec<Option<LevelNames>>,
    weights: Option<Vec<f64>>,
    // Rows without a value of each feature; empty where none is missing.
    missing: Vec<usize>,
    summaries: Summaries,
}

impl Dataset {
    /// From an N × D array; the features are called `x1 … xD`.
    ///
    /// # Errors
    /// [`Error::EmptyData`], [`Error::NotFinite`].
    pub fn from_rows(rows: &ArrayView2<'_, f64>) -> Result<Self> {
        Self::from_features(rows.t().as_standard_layout().into_owned())
    }

    /// From a D × N array, one feature after the other; they are called `x1 … xD`.
    ///
    /// # Errors
    /// [`Error::EmptyData`], [`Error::NotFinite`].
    pub fn from_features(features: Array2<f64>) -> Result<Self> {
        let features = in_columns(features)?;
        // From the end on, as what was written last is still in the cache; the first features are there then.
        let is_finite = |values: &[f64]| values.chunks(CHECKED).rev().all(all_finite);
        if !features.as_slice().is_some_and(is_finite) {
            for ((column, row), &value) in features.indexed_iter() {
                if !value.is_finite() {
                    let column = default_name(column);
                    return Err(Error::NotFinite { row: row + 1, column, value });
                }
            }
        }
        Ok(Self::of_columns(features, Vec::new()))
    }

    /// The same where values may be missing, as NaN, for models that take such. An estimator found by name leaves
    /// the rows without a value of a feature out of its effect; those built by themselves refuse it.
    ///
    /// # Errors
    /// [`Error::EmptyData`], [`Error::NotFinite`] for an infinity.
    ///
    /// ```
    /// use fe_core::Dataset;
    /// let data = Dataset::from_incomplete(ndarray::array![[0.0, f64::NAN], [1.0, 2.0]])?;
    /// assert!(data.is_incomplete() && data.missing(0) == 1 && data.missing(1) == 0);
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn from_incomplete(features: Array2<f64>) -> Result<Self> {
        let features = in_columns(features)?;
        let infinite = |(_, value): &(_, &f64)| value.is_infinite();
        if let Some(((column, row), &value)) = features.indexed_iter().find(infinite) {
            return Err(Error::NotFinite { row: row + 1, column: default_name(column), value });
        }
        let missing = missing_of(&features);
        Ok(Self::of_columns(features, missing))
    }

    fn of_columns(features: Array2<f64>, missing: Vec<usize>) -> Self {
        let columns = features.nrows();
        Self {
            features,
            names: (0..columns).map(default_name).collect(),
            kinds: vec![FeatureKind::default(); columns],
            levels: vec![None; columns],
            weights: None,
            missing,
            summaries: Summaries::of(columns),
        }
    }

    /// True if a value of some feature is missing.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.missing.iter().any(|&rows| rows > 0)
    }

    /// Number of rows without a value of a feature, counted from 0.
    #[must_use]
    pub fn missing(&self, feature: usize) -> usize {
        self.missing.get(feature).copied().unwrap_or_default()
    }

    /// The rows that have a value of a feature; none if all have one.
    ///
    /// # Errors
    /// [`Error::NoValues`] if there are no such rows.
    pub fn rows_with(&self, feature: usize) -> Result<Option<Vec<usize>>> {
        self.check_feature(feature)?;
        if self.missing(feature) == 0 {
            return Ok(None);
        }
        let values = self.feature(feature).iter().enumerate();
        let rows: Vec<usize> = values.filter(|(_, x)| !x.is_nan()).map(|(row, _)| row).collect();
        if rows.is_empty() {
            return Err(Error::NoValues(self.names[feature].clone()));
        }
        Ok(Some(rows))
    }

    /// Refuses data in which values are missing, for what compares all features.
    ///
    /// # Errors
    /// [`Error::Incomplete`].
    pub fn check_complete(&self) -> Result<()> {
        match self.missing.iter().position(|&rows| rows > 0) {
            None => Ok(()),
            Some(feature) => Err(self.incomplete(feature)),
        }
    }

    fn incomplete(&self, feature: usize) -> Error {
        Error::Incomplete { name: self.names[feature].clone(), rows: self.missing(feature) }
    }

    /// Names the features.
    ///
    /// # Errors
    /// [`Error::WrongCount`], [`Error::DuplicateName`].
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        self.check_count("names of features", self.dimension(), names.len())?;
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(Error::DuplicateName(twice.clone()));
        }
        self.names = names;
        Ok(self)
    }

    /// Says of what kind each feature is; they are continuous otherwise.
    ///
    /// # Errors
    /// [`Error::WrongCount`].
    pub fn with_kinds(mut self, kinds: Vec<FeatureKind>) -> Result<Self> {
        self.check_count("kinds of features", self.dimension(), kinds.len())?;
        self.kinds = kinds;
        Ok(self)
    }

    /// Names the levels of a feature, counted from 0, in the order in which they are given. Without names
    /// levels are called by their values, in ascending order.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], and [`Error::Levels`] for a value in the data that has no name.
    ///
    /// ```
    /// use fe_core::Dataset;
    /// use fe_core::data::{FeatureKind, LevelNames};
    /// let data = Dataset::from_rows(&ndarray::array![[0.0], [1.0], [1.0]].view())?;
    /// let season = LevelNames::of_words(["winter", "summer"])?;
    /// let data = data.with_kinds(vec![FeatureKind::Nominal])?.with_levels(0, season)?;
    /// assert!(data.has_levels(0));
    /// assert!(data.with_levels(0, LevelNames::of_words(["winter"])?).is_err());
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn with_levels(mut self, feature: usize, levels: LevelNames) -> Result<Self> {
        self.check_feature(feature)?;
        let is_none = |&x: &f64| !x.is_nan() && levels.name(x).is_none();
        if let Some(row) = self.feature(feature).iter().position(is_none) {
            return Err(Error::Levels(format!(
                "row {}, column {}: {} is none of its levels",
                row + 1,
                self.names[feature],
                self.feature(feature)[row]
            )));
        }
        self.levels[feature] = Some(levels);
        Ok(self)
    }

    /// The same levels with other values: those that a model knows them by.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], and [`Error::Levels`] for a level that the model does not know, or a feature whose
    /// levels have no names.
    ///
    /// ```
    /// use fe_core::Dataset;
    /// use fe_core::data::LevelNames;
    /// let data = Dataset::from_rows(&ndarray::array![[0.0], [1.0]].view())?;
    /// let data = data.with_levels(0, LevelNames::of_words(["winter", "summer"])?)?;
    /// let data = data.recoded(0, &["summer".to_owned(), "winter".to_owned()])?;
    /// assert_eq!(data.feature(0), [1.0, 0.0]);
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn recoded(mut self, feature: usize, words: &[String]) -> Result<Self> {
        self.check_feature(feature)?;
        let name = &self.names[feature];
        let Some(levels) = &self.levels[feature] else {
            return Err(Error::Levels(format!("the levels of {name} have no names")));
        };
        let code = |word: &str| {
            let place = words.iter().position(|known| known == word);
            place.map(|place| place as f64).ok_or_else(|| {
                let known = words.join(", ");
                Error::Levels(format!("{name}: the model does not know `{word}`, but {known}"))
            })
        };
        let codes = levels.iter().map(|(value, word)| Ok((value, code(word)?, word.to_owned())));
        let codes: Vec<(f64, f64, String)> = codes.collect::<Result<_>>()?;
        for value in self.features.row_mut(feature) {
            if let Some((_, code, _)) = codes.iter().find(|(old, ..)| old == value) {
                *value = *code;
            }
        }
        let names = codes.into_iter().map(|(_, code, word)| (code, word));
        self.levels[feature] = Some(LevelNames::new(names)?);
        self.summaries = Summaries::of(self.dimension());
        Ok(self)
    }

    /// Weights the rows.
    ///
    /// # Errors
    /// [`Error::WrongCount`], [`Error::BadWeight`].
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        self.check_count("weights", self.len(), weights.len())?;
        for (row, &value) in weights.iter().enumerate() {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::BadWeight { row: row + 1, value });
            }
        }
        if weights.iter().all(|&w| w == 0.0) {
            return Err(Error::BadWeight { row: 1, value: 0.0 });
        }
        self.weights = Some(weights);
        self.summaries = Summaries::of(self.dimension());
        Ok(self)
    }

    fn check_count(&self, what: &'static str, expected: usize, got: usize) -> Result<()> {
        if expected == got { Ok(()) } else { Err(Error::WrongCount { what, expected, got }) }
    }

    /// Number of rows, N.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.ncols()
    }

    /// All features, D × N, one after the other.
    #[must_use]
    pub fn into_features(self) -> Array2<f64> {
        self.features
    }

    /// Never true: a dataset has rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of features, D.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.features.nrows()
    }

    /// All values of a feature, counted from 0.
    ///
    /// # Panics
    /// If there is no such feature; see [`Dataset::check_feature`].
    #[must_use]
    pub fn feature(&self, feature: usize) -> &[f64] {
        let n = self.len();
        &self.features.as_slice().unwrap_or_default()[feature * n..(feature + 1) * n]
    }

    /// [`Error::NoSuchFeature`] unless the feature, counted from 0, exists.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`].
    pub fn check_feature(&self, feature: usize) -> Result<()> {
        let dimension = self.dimension();
        if feature < dimension { Ok(()) } else { Err(Error::NoSuchFeature { feature, dimension }) }
    }

    /// Refuses a feature that the data do not have or have gaps in, and a model of other features.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::Incomplete`], [`ModelError::WrongDimension`].
    pub fn check_model(&self, model: &dyn Model, feature: usize) -> Result<()> {
        self.check_feature(feature)?;
        if self.missing(feature) > 0 {
            return Err(self.incomplete(feature));
        }
        self.check_dimension(model)
    }

    /// Refuses a model of other features.
    ///
    /// # Errors
    /// [`ModelError::WrongDimension`].
    pub(crate) fn check_dimension(&self, model: &dyn Model) -> Result<()> {
        let (model, data) = (model.dimension(), self.dimension());
        if model == data { Ok(()) } else { Err(ModelError::WrongDimension { model, data }.into()) }
    }

    /// The same for an estimator to which the feature is a number.
    ///
    /// # Errors
    /// As [`Dataset::check_model`], and [`Error::Incompatible`] for a feature with levels.
    pub fn check(&self, model: &dyn Model, feature: usize) -> Result<()> {
        self.check_model(model, feature)?;
        if !self.has_levels(feature) {
            return Ok(());
        }
        let (name, kind) = (&self.names[feature], self.kinds[feature]);
        Err(Error::Incompatible(format!(
            "{name} is {kind}, and has levels and nothing between them: this estimator takes features that \
             are numbers"
        )))
    }

    /// The same for an estimator of derivatives, which a feature with levels has not.
    ///
    /// # Errors
    /// As [`Dataset::check_model`], and [`Error::NoDerivativeByLevels`].
    pub(crate) fn check_derivable(
        &self,
        model: &dyn Model,
        feature: usize,
        estimator: &'static str,
    ) -> Result<()> {
        self.check_model(model, feature)?;
        if !self.has_levels(feature) {
            return Ok(());
        }
        let (name, kind) = (self.names[feature].clone(), self.kinds[feature].to_string());
        Err(Error::NoDerivativeByLevels { estimator, name, kind })
    }

    /// The same where some rows, counted from 0, are asked about.
    ///
    /// # Errors
    /// As [`Dataset::check_model`], and [`Error::WrongCount`] for a row that the data do not have.
    pub fn check_rows(&self, model: &dyn Model, feature: usize, rows: &[usize]) -> Result<()> {
        self.check_model(model, feature)?;
        match rows.iter().max() {
            Some(&last) => self.check_count("rows", self.len(), self.len().max(last + 1)),
            None => Ok(()),
        }
    }

    /// One row.
    #[must_use]
    pub fn row(&self, row: usize) -> ArrayView1<'_, f64> {
        self.features.column(row)
    }

    /// Names of the features.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Kinds of the features.
    #[must_use]
    pub fn kinds(&self) -> &[FeatureKind] {
        &self.kinds
    }

    /// True if a feature, counted from 0, is ordinal or nominal.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn has_levels(&self, feature: usize) -> bool {
        self.kinds[feature] != FeatureKind::Continuous
    }

    /// Names of the levels of a feature, where they are given.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn level_names(&self, feature: usize) -> Option<&LevelNames> {
        self.levels[feature].as_ref()
    }

    /// The levels of a feature that occur; none of a continuous one.
    ///
    /// # Errors
    /// [`Error::Levels`] for too many, [`Error::ConstantFeature`] for a single one.
    pub(crate) fn levels(&self, feature: usize) -> Result<Option<Levels>> {
        if !self.has_levels(feature) {
            return Ok(None);
        }
        let names = self.level_names(feature);
        Levels::of(&self.names[feature], self.weighted(feature), names).map(Some)
    }

    /// Weights of the rows, if they differ.
    #[must_use]
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The values of a feature with the weights of their rows, 1 where none are weighted.
    pub(crate) fn weighted(&self, feature: usize) -> impl Iterator<Item = (f64, f64)> {
        let weight = |row: usize| self.weights().map_or(1.0, |weights| weights[row]);
        self.feature(feature).iter().enumerate().map(move |(row, &x)| (x, weight(row)))
    }

    /// The weighted type-7 quantiles 0, 0.1, …, 1 of a feature; computed once.
    ///
    /// ```
    /// use fe_core::Dataset;
    /// let data = Dataset::from_rows(&ndarray::array![[0.0], [4.0], [2.0]].view())?;
    /// assert_eq!(data.deciles(0)[5], 2.0);
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    #[must_use]
    pub fn deciles(&self, feature: usize) -> [f64; 11] {
        self.summary(feature).deciles(self.feature(feature), self.weights())
    }

    /// Range and moments of a feature among the rows with positive weight; computed once.
    pub(crate) fn summary(&self, feature: usize) -> &Summary {
        self.summaries.get(feature, || Summary::of(self.feature(feature), self.weights()))
    }

    /// Rows with positive weight on the axis, and off it.
    pub(crate) fn count_rows(&self, feature: usize, axis: &numeric::axis::Axis) -> (usize, usize) {
        let summary = self.summary(feature);
        if axis.contains(summary.lo) && axis.contains(summary.hi) {
            return (summary.rows, 0);
        }
        let (values, (lo, hi)) = (self.feature(feature), (axis.lo(), axis.hi()));
        let is_on = |x: f64| usize::from((lo <= x) & (x <= hi));
        let on = match self.weights() {
            None => vectorised(
                #[inline(always)]
                || values.iter().fold(0, |on, &x| on + is_on(x)),
            ),
            Some(weights) => {
                let counts = |weight: f64| usize::from(weight > 0.0);
                values
                    .iter()
                    .zip(weights)
                    .fold(0, |on, (&x, &weight)| on + (is_on(x) & counts(weight)))
            }
        };
        (on, summary.rows - on)
    }

    /// Some of the rows, counted from 0, in the given order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        self.selected(rows, 0..self.dimension())
    }

    /// The same rows with the values that one feature, counted from 0, has in others: those of some rows, in the given
    /// order. All else stays where it is.
    ///
    /// ```
    /// let data = fe_core::Dataset::from_rows(&ndarray::array![[1.0, 10.0], [2.0, 20.0]].view())?;
    /// let permuted = data.with_feature_of(0, &[1, 0]);
    /// assert_eq!((permuted.feature(0), permuted.feature(1)), (&[2.0, 1.0][..], &[10.0, 20.0][..]));
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such feature or row.
    #[must_use]
    pub fn with_feature_of(&self, feature: usize, rows: &[usize]) -> Self {
        let summaries = Summaries::of(self.dimension());
        let mut changed = Self { summaries, ..self.clone() };
        let places = changed.features.row_mut(feature);
        for (place, &row) in places.into_iter().zip(rows) {
            *place = self.features[[feature, row]];
        }
        changed
    }

    /// The same rows with one feature, counted from 0, at the same value in all of them.
    pub(crate) fn with_feature_at(mut self, feature: usize, x: f64) -> Self {
        self.features.row_mut(feature).fill(x);
        self.summaries = Summaries::of(self.dimension());
        self
    }

    /// All rows with some of the features, counted from 0, in the given order.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::EmptyData`] for no features.
    pub fn select_features(&self, features: &[usize]) -> Result<Self> {
        features.iter().try_for_each(|&feature| self.check_feature(feature))?;
        let selected = in_columns(self.features.select(Axis(0), features))?;
        let missing = if self.missing.is_empty() { Vec::new() } else { missing_of(&selected) };
        Ok(Self {
            features: selected,
            names: features.iter().map(|&feature| self.names[feature].clone()).collect(),
            kinds: features.iter().map(|&feature| self.kinds[feature]).collect(),
            levels: features.iter().map(|&feature| self.levels[feature].clone()).collect(),
            weights: self.weights.clone(),
            missing,
            summaries: Summaries::of(features.len()),
        })
    }

    /// Some of the rows, with one feature alone.
    pub(crate) fn select_feature(&self, rows: &[usize], feature: usize) -> Self {
        self.selected(rows, feature..feature + 1)
    }

    fn selected(&self, rows: &[usize], features: Range<usize>) -> Self {
        let mut selected = Array2::zeros((features.len(), rows.len()));
        let mut columns: Vec<_> = selected.axis_iter_mut(Axis(0)).collect();
        columns.par_iter_mut().zip(features.clone()).for_each(|(selected, feature)| {
            let values = self.feature(feature);
            selected.iter_mut().zip(rows).for_each(|(to, &row)| *to = values[row]);
        });
        let missing = if self.missing.is_empty() { Vec::new() } else { missing_of(&selected) };
        Self {
            missing,
            features: selected,
            names: self.names[features.clone()].to_vec(),
            kinds: self.kinds[features.clone()].to_vec(),
            levels: self.levels[features.clone()].to_vec(),
            summaries: Summaries::of(features.len()),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&row| w[row]).collect()),
        }
    }

    /// The same rows with other, positive weights; without any if all are 1.
    pub(crate) fn reweighted(self, weights: Vec<f64>) -> Self {
        let weights = Some(weights).filter(|weights| weights.iter().any(|&w| w != 1.0));
        Self { weights, ..self }
    }

    /// The rows of positive weight.
    pub(crate) fn counted(&self) -> Cow<'_, Self> {
        match &self.weights {
            Some(weights) if weights.contains(&0.0) => {
                let counts = |row: &usize| weights[*row] > 0.0;
                Cow::Owned(self.select(&(0..self.len()).filter(counts).collect::<Vec<_>>()))
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// The features of a range of rows as columns of a batch.
    #[must_use]
    pub fn columns(&self, rows: Range<usize>) -> Vec<Column<'_>> {
        (0..self.dimension())
            .map(|feature| Column::Values(&self.feature(feature)[rows.clone()]))
            .collect()
    }
}

/// Features that are contiguous, at least one of at least one row.
fn in_columns(features: Array2<f64>) -> Result<Array2<f64>> {
    let (columns, rows) = features.dim();
    if rows == 0 || columns == 0 {
        return Err(Error::EmptyData { rows, columns });
    }
    if features.is_standard_layout() {
        return Ok(features);
    }
    Ok(features.as_standard_layout().into_owned())
}

/// Number of missing values of each feature; empty where none is missing.
fn missing_of(features: &Array2<f64>) -> Vec<usize> {
    let missing = |values: ArrayView1<'_, f64>| values.iter().filter(|x| x.is_nan()).count();
    let missing: Vec<usize> = features.rows().into_iter().map(missing).collect();
    if missing.iter().all(|&rows| rows == 0) { Vec::new() } else { missing }
}

fn default_name(feature: usize) -> String {
    format!("x{}", feature + 1)
}
