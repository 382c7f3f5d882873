//! Functions known as sums: of terms of few features, and of constants on boxes, as trees are.

use std::fmt;
use std::sync::Arc;

type Value = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;
type Partial = Arc<dyn Fn(usize, &[f64]) -> f64 + Send + Sync>;

/// One side of a box: a feature, counted from 0, from a number on and below another one. Either may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The feature.
    pub feature: usize,
    /// The least value inside.
    pub from: f64,
    /// The least value beyond.
    pub below: f64,
}

impl Interval {
    /// True if a value lies inside.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        self.from <= x && x < self.below
    }
}

/// A function that is a sum of constants on boxes, such as a sum of trees: each leaf is a box.
///
/// ```
/// use fe_core::model::{Boxes, Interval};
/// /// 2 where x1 is at least 0.
/// struct Step;
/// impl Boxes for Step {
///     fn each(&self, visit: &mut dyn FnMut(&[Interval], f64)) {
///         visit(&[Interval { feature: 0, from: 0.0, below: f64::INFINITY }], 2.0);
///     }
/// }
/// assert_eq!(Step.limits(0), [0.0]);
/// ```
pub trait Boxes: Send + Sync {
    /// Visits each box: its sides, at most one for each feature, and the constant. A feature without a side is free.
    fn each(&self, visit: &mut dyn FnMut(&[Interval], f64));

    /// The finite ends of all sides of a feature, ascending, each once.
    fn limits(&self, feature: usize) -> Vec<f64> {
        let mut limits = Vec::new();
        self.each(&mut |sides, _| {
            for side in sides.iter().filter(|side| side.feature == feature) {
                limits.extend([side.from, side.below].iter().filter(|end| end.is_finite()));
            }
        });
        limits.sort_by(f64::total_cmp);
        limits.dedup();
        limits
    }
}

/// A term of a sum that reads few features, and is smooth in each between known places.
///
/// Functions get whole rows, and read the term's features of them alone.
#[derive(Clone)]
pub struct SmoothTerm {
    features: Vec<usize>,
    value: Value,
    partial: Partial,
    breaks: Vec<(usize, Vec<f64>)>,
    slope: Option<f64>,
}

impl SmoothTerm {
    /// A term of some features, counted from 0, by its value and its derivative along one of them.
    #[must_use]
    pub fn new(
        features: &[usize],
        value: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
        partial: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let (value, partial) = (Arc::new(value), Arc::new(partial));
        Self { features: features.to_vec(), value, partial, breaks: Vec::new(), slope: None }
    }

    /// The term `slope · x`, of a feature counted from 0.
    #[must_use]
    pub fn linear(slope: f64, feature: usize) -> Self {
        let term = Self::new(&[feature], move |row| slope * row[feature], move |_, _| slope);
        Self { slope: Some(slope), ..term }
    }

    /// Adds places along a feature where a derivative of the term jumps; the term itself does not.
    #[must_use]
    pub fn breaking_at(mut self, feature: usize, places: Vec<f64>) -> Self {
        self.breaks.push((feature, places));
        self
    }

    /// The features that it reads.
    #[must_use]
    pub fn features(&self) -> &[usize] {
        &self.features
    }

    /// Its value at a row.
    #[must_use]
    pub fn value(&self, row: &[f64]) -> f64 {
        (self.value)(row)
    }

    /// Its derivative along one of its features at a row.
    #[must_use]
    pub fn partial(&self, feature: usize, row: &[f64]) -> f64 {
        (self.partial)(feature, row)
    }

    /// Places along features where a derivative jumps.
    #[must_use]
    pub fn breaks(&self) -> &[(usize, Vec<f64>)] {
        &self.breaks
    }

    /// The slope of a term that is one feature times a number.
    #[must_use]
    pub fn slope(&self) -> Option<f64> {
        self.slope
    }
}

impl fmt::Debug for SmoothTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmoothTerm").field("features", &self.features).finish_non_exhaustive()
    }
}

/// A function of D features as a sum: a constant, smooth terms, and constants on boxes.
///
/// Its effects under a law of the features need no data: see `Scenario::effects_of` of `fe-truth`.
///
/// ```
/// use fe_core::model::{SmoothTerm, TermSum};
/// let sum = TermSum::new(2, 1.0).with_term(SmoothTerm::linear(3.0, 1));
/// assert_eq!(sum.value(&[9.0, 2.0]), 7.0);
/// ```
pub struct TermSum<'a> {
    dimension: usize,
    constant: f64,
    terms: Vec<SmoothTerm>,
    boxes: Option<Box<dyn Boxes + 'a>>,
    levels: Vec<(usize, Vec<f64>)>,
}

impl<'a> TermSum<'a> {
    /// A constant, as a function of so many features.
    #[must_use]
    pub fn new(dimension: usize, constant: f64) -> Self {
        Self { dimension, constant, terms: Vec::new(), boxes: None, levels: Vec::new() }
    }

    /// The same and a term.
    #[must_use]
    pub fn with_term(mut self, term: SmoothTerm) -> Self {
        self.terms.push(term);
        self
    }

    /// The same and constants on boxes, in place of those before.
    #[must_use]
    pub fn with_boxes(self, boxes: impl Boxes + 'a) -> Self {
        Self { boxes: Some(Box::new(boxes)), ..self }
    }

    /// The same, defined where a feature has one of these values alone.
    #[must_use]
    pub fn at_levels(mut self, feature: usize, levels: Vec<f64>) -> Self {
        self.levels.push((feature, levels));
        self
    }

    /// Number of features, D.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The constant.
    #[must_use]
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// The smooth terms.
    #[must_use]
    pub fn terms(&self) -> &[SmoothTerm] {
        &self.terms
    }

    /// The constants on boxes.
    #[must_use]
    pub fn boxes(&self) -> Option<&(dyn Boxes + 'a)> {
        self.boxes.as_deref()
    }

    /// Features, counted from 0, with the only values at which the function is defined.
    #[must_use]
    pub fn levels(&self) -> &[(usize, Vec<f64>)] {
        &self.levels
    }

    /// Its parts, to be made into those of another sum: the constant, the terms and the boxes.
    #[must_use]
    pub fn into_parts(self) -> (f64, Vec<SmoothTerm>, Option<Box<dyn Boxes + 'a>>) {
        (self.constant, self.terms, self.boxes)
    }

    /// Its value at a row of D values: slow, for tests.
    #[must_use]
    pub fn value(&self, row: &[f64]) -> f64 {
        let mut sum = self.constant + self.terms.iter().map(|term| term.value(row)).sum::<f64>();
        if let Some(boxes) = &self.boxes {
            boxes.each(&mut |sides, constant| {
                if sides.iter().all(|side| side.contains(row[side.feature])) {
                    sum += constant;
                }
            });
        }
        sum
    }
}

impl fmt::Debug for TermSum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TermSum");
        shown.field("constant", &self.constant).field("terms", &self.terms);
        shown.field("has_boxes", &self.boxes.is_some()).finish_non_exhaustive()
    }
}
