//! Nominal features as columns of 0 and 1, one for each level, for models that know numbers alone.
//!
//! The column of the feature itself becomes that of its first level, and those of the others follow behind all
//! features, so that features which are numbers keep their places.

use fe_core::data::FeatureKind;
use fe_core::error::ModelError;
use fe_core::model::{Boxes, Column, Interval, Model, Rows, SmoothTerm, TermSum};
use fe_core::{Dataset, Error};
use ndarray::Array2;

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};

/// A nominal feature with its levels, and the column of each.
#[derive(Debug, Clone, PartialEq)]
struct Nominal {
    feature: usize,
    name: String,
    /// The value of each level, and its column among those of 0 and 1 and numbers.
    levels: Vec<(f64, usize)>,
}

/// The columns that nominal features become.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Indicators {
    nominal: Vec<Nominal>,
    dimension: usize,
    columns: usize,
}

impl Indicators {
    /// Those of the levels that occur in rows that count; none if no feature is nominal.
    pub(crate) fn of(data: &Dataset) -> Option<Self> {
        let dimension = data.dimension();
        let mut columns = dimension;
        let is_nominal = |feature: &usize| data.kinds()[*feature] == FeatureKind::Nominal;
        let mut nominal = Vec::new();
        for feature in (0..dimension).filter(is_nominal) {
            let counts = |row: usize| data.weights().is_none_or(|weights| weights[row] > 0.0);
            let values = data.feature(feature).iter().enumerate();
            let mut values: Vec<f64> = values
                .filter(|(row, x)| counts(*row) && !x.is_nan())
                .map(|(_, x)| x + 0.0)
                .collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            let first = columns;
            if values.is_empty() {
                continue;
            }
            let column = |(level, value): (usize, f64)| match level {
                0 => (value, feature),
                _ => (value, first + level - 1),
            };
            columns += values.len().saturating_sub(1);
            let levels = values.into_iter().enumerate().map(column).collect();
            nominal.push(Nominal { feature, name: data.names()[feature].clone(), levels });
        }
        (!nominal.is_empty()).then_some(Self { nominal, dimension, columns })
    }

    /// Nominal features, counted from 0.
    pub(crate) fn features(&self) -> impl Iterator<Item = usize> + '_ {
        self.nominal.iter().map(|nominal| nominal.feature)
    }

    /// The data with columns of 0 and 1; they are called as `season=winter`.
    pub(crate) fn data(&self, data: &Dataset) -> Result<Dataset, Error> {
        let mut features = Array2::zeros((self.columns, data.len()));
        let mut names = data.names().to_vec();
        names.resize(self.columns, String::new());
        for feature in 0..self.dimension {
            let values = ndarray::ArrayView1::from(data.feature(feature));
            features.row_mut(feature).assign(&values);
        }
        for nominal in &self.nominal {
            let values = data.feature(nominal.feature);
            for &(level, column) in &nominal.levels {
                let word = data.level_names(nominal.feature).and_then(|names| names.name(level));
                let word = word.map_or_else(|| level.to_string(), str::to_owned);
                names[column] = format!("{}={word}", nominal.name);
                let indicators = values.iter().map(|&x| indicator(x, level));
                features.row_mut(column).assign(&ndarray::Array1::from_iter(indicators));
            }
        }
        let new = Dataset::from_incomplete(features)?.with_names(names)?;
        match data.weights() {
            Some(weights) => new.with_weights(weights.to_vec()),
            None => Ok(new),
        }
    }

    /// The nominal feature and the level of which a column is 1.
    fn level_of(&self, column: usize) -> Option<(usize, f64)> {
        let of = |nominal: &Nominal| {
            let own = nominal.levels.iter().find(|(_, own)| *own == column)?;
            Some((nominal.feature, own.0))
        };
        self.nominal.iter().find_map(of)
    }

    /// The column that is 1 at a value of a nominal feature.
    fn column_of(nominal: &Nominal, x: f64) -> Result<usize, ModelError> {
        let level = nominal.levels.iter().find(|(level, _)| *level == x);
        level.map(|(_, column)| *column).ok_or_else(|| {
            let name = &nominal.name;
            ModelError::Failed(format!("the level {x} of {name} is in no row of the fit"))
        })
    }

    /// Calls `ask` with the columns that some rows become.
    fn with_rows<T>(
        &self,
        rows: &Rows<'_>,
        ask: impl FnOnce(&Rows<'_>) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let mut held = vec![vec![0.0; rows.len()]; self.columns];
        for nominal in &self.nominal {
            let column = rows.columns()[nominal.feature];
            for (row, x) in (0..rows.len()).map(|row| (row, column.get(row))) {
                if x.is_nan() {
                    nominal.levels.iter().for_each(|(_, column)| held[*column][row] = f64::NAN);
                } else {
                    held[Self::column_of(nominal, x)?][row] = 1.0;
                }
            }
        }
        let is_nominal = |column: usize| {
            column >= self.dimension || self.features().any(|feature| feature == column)
        };
        let column = |(column, held)| match is_nominal(column) {
            true => Column::Values(held),
            false => rows.columns()[column],
        };
        let columns: Vec<Column<'_>> =
            held.iter().map(Vec::as_slice).enumerate().map(column).collect();
        ask(&Rows::new(&columns, rows.len()))
    }
}

/// 1 at a level and 0 at others; missing where the value is.
fn indicator(x: f64, level: f64) -> f64 {
    if x.is_nan() { x } else { f64::from(u8::from(x == level)) }
}

/// A model of columns of 0 and 1, as one of the nominal features that they come from.
#[derive(Debug)]
pub(crate) struct OfLevels {
    indicators: Indicators,
    model: Box<dyn FittedModel>,
}

impl OfLevels {
    pub(crate) fn new(indicators: Indicators, model: Box<dyn FittedModel>) -> Self {
        Self { indicators, model }
    }

    fn nominal(&self, feature: usize) -> Option<&Nominal> {
        self.indicators.nominal.iter().find(|nominal| nominal.feature == feature)
    }
}

impl Model for OfLevels {
    fn dimension(&self) -> usize {
        self.indicators.dimension
    }

    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.indicators.with_rows(rows, |rows| self.model.predict(rows, values))
    }

    fn has_partial(&self) -> bool {
        self.model.has_partial()
    }

    fn partial(
        &self,
        feature: usize,
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        if self.nominal(feature).is_some() {
            return Err(ModelError::NoDerivative { feature });
        }
        self.indicators.with_rows(rows, |rows| self.model.partial(feature, rows, values))
    }
}

impl FittedModel for OfLevels {
    fn takes_missing(&self) -> bool {
        self.model.takes_missing()
    }

    fn output_names(&self) -> Vec<String> {
        self.model.output_names()
    }

    fn main_effect(&self, feature: usize, x: f64) -> Option<f64> {
        let Some(nominal) = self.nominal(feature) else {
            return self.model.main_effect(feature, x);
        };
        let here = Indicators::column_of(nominal, x).ok()?;
        let term = |&(_, column): &(f64, usize)| {
            self.model.main_effect(column, f64::from(u8::from(column == here)))
        };
        nominal.levels.iter().map(term).sum()
    }

    fn sum(&self) -> Option<TermSum<'_>> {
        let (constant, terms, boxes) = self.model.sum()?.into_parts();
        let mut sum = TermSum::new(self.indicators.dimension, constant);
        for term in terms {
            sum = sum.with_term(self.of_feature(term)?);
        }
        for nominal in &self.indicators.nominal {
            let levels = nominal.levels.iter().map(|(level, _)| *level).collect();
            sum = sum.at_levels(nominal.feature, levels);
        }
        Some(match boxes {
            None => sum,
            Some(boxes) => sum.with_boxes(OfIndicators { indicators: &self.indicators, boxes }),
        })
    }

    fn summary(&self) -> Vec<Fact> {
        self.model.summary()
    }
}

impl OfLevels {
    /// A term of columns as one of the features that they come from; none of those that read an indicator and
    /// something else.
    fn of_feature(&self, term: SmoothTerm) -> Option<SmoothTerm> {
        let level = |column: &usize| self.indicators.level_of(*column);
        match term.features() {
            &[column] => {
                let Some((feature, level)) = level(&column) else { return Some(term) };
                let columns = self.indicators.columns;
                let value = move |row: &[f64]| {
                    let mut held = vec![0.0; columns];
                    held[column] = indicator(row[feature], level);
                    term.value(&held)
                };
                Some(SmoothTerm::new(&[feature], value, |_, _| f64::NAN))
            }
            several => several.iter().all(|column| level(column).is_none()).then_some(term),
        }
    }
}

/// Boxes of columns as boxes of the features that they come from.
struct OfIndicators<'a> {
    indicators: &'a Indicators,
    boxes: Box<dyn Boxes + 'a>,
}

impl Boxes for OfIndicators<'_> {
    fn each(&self, visit: &mut dyn FnMut(&[Interval], f64)) {
        let mut sides = Vec::new();
        self.boxes.each(&mut |columns, constant| {
            sides.clear();
            let numbers = columns.iter().filter(|side| !self.is_indicator(side.feature));
            sides.extend(numbers);
            self.over_levels(0, columns, &mut sides, constant, visit);
        });
    }

    fn limits(&self, feature: usize) -> Vec<f64> {
        match self.indicators.nominal.iter().find(|nominal| nominal.feature == feature) {
            Some(of) => of.levels.iter().flat_map(|(level, _)| [*level, level.next_up()]).collect(),
            None => self.boxes.limits(feature),
        }
    }
}

impl OfIndicators<'_> {
    fn is_indicator(&self, column: usize) -> bool {
        self.indicators.level_of(column).is_some()
    }

    /// Visits the boxes that a box is from the `k`-th nominal feature on: a level that it must have is an interval, and
    /// levels that it must not have are taken away from all.
    fn over_levels(
        &self,
        k: usize,
        columns: &[Interval],
        sides: &mut Vec<Interval>,
        constant: f64,
        visit: &mut dyn FnMut(&[Interval], f64),
    ) {
        let Some(nominal) = self.indicators.nominal.get(k) else { return visit(sides, constant) };
        let side_of = |column: usize| columns.iter().find(|side| side.feature == column);
        let (mut must, mut not) = (Vec::new(), Vec::new());
        for &(level, column) in &nominal.levels {
            let Some(side) = side_of(column) else { continue };
            match (side.contains(0.0), side.contains(1.0)) {
                (true, true) => {}
                (true, false) => not.push(level),
                (false, true) => must.push(level),
                (false, false) => return,
            }
        }
        let at =
            |level: f64| Interval { feature: nominal.feature, from: level, below: level.next_up() };
        let mut with = |side: Option<Interval>, constant: f64| {
            sides.extend(side);
            self.over_levels(k + 1, columns, sides, constant, visit);
            sides.truncate(sides.len() - usize::from(side.is_some()));
        };
        match must[..] {
            [] => {
                with(None, constant);
                not.iter().for_each(|&level| with(Some(at(level)), -constant));
            }
            [level] => with(Some(at(level)), constant),
            // No row has two levels.
            _ => {}
        }
    }
}

/// Refuses what reads the column of a nominal feature as if it were one.
///
/// # Errors
/// [`FitError::Refused`].
pub(crate) fn refuse_products(model: &'static str) -> FitError {
    let reason = "interactions of nominal features are not offered".to_owned();
    FitError::Refused { model, reason }
}
