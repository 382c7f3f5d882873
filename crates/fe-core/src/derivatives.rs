//! Partial derivatives of a model: its own, or central differences.

use crate::axis::Axis;
use crate::error::{Error, ModelError, Result};
use crate::model::{Column, Model, Observed, Rows};
use crate::settings::{Jacobian, Settings};

/// Half the width of a central difference as a share of the axis: the cube root of the machine
/// epsilon balances truncation against rounding.
const DEFAULT_STEP: f64 = 6.055e-6;

/// Where derivatives are to come from, before model and axis are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Differentiation {
    jacobian: Jacobian,
    step: f64,
}

impl Default for Differentiation {
    fn default() -> Self {
        Self { jacobian: Jacobian::default(), step: DEFAULT_STEP }
    }
}

impl Differentiation {
    pub(crate) const OPTIONS: &'static [&'static str] = &["jacobian", "step"];

    pub(crate) fn from_settings(settings: &Settings) -> Result<Self> {
        let step = settings.step.unwrap_or(DEFAULT_STEP);
        if step > 0.0 && step < 1.0 {
            return Ok(Self { jacobian: settings.jacobian.unwrap_or_default(), step });
        }
        Err(Error::BadOption {
            option: "step",
            given: step.to_string(),
            allowed: "must be a share of the axis between 0 and 1".to_owned(),
        })
    }

    /// How many rows the model is asked for by the derivative at one.
    pub(crate) fn rows_per_row(self, model: &dyn Model) -> u64 {
        match self.jacobian {
            Jacobian::Model => 1,
            Jacobian::Auto if model.has_partial() => 1,
            Jacobian::Auto | Jacobian::Numeric => 2,
        }
    }

    pub(crate) fn of(self, model: &dyn Model, axis: Axis) -> Derivatives {
        match self.jacobian {
            Jacobian::Model => Derivatives::OfModel,
            Jacobian::Auto if model.has_partial() => Derivatives::OfModel,
            _ => Derivatives::Numeric { step: self.step * axis.width() },
        }
    }
}

/// How derivatives are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Derivatives {
    /// By the model itself.
    OfModel,
    /// By central differences of this half-width.
    Numeric { step: f64 },
}

impl Derivatives {
    pub(crate) fn describe(self) -> String {
        match self {
            Derivatives::OfModel => "model".to_owned(),
            Derivatives::Numeric { step } => format!("central differences, step {step}"),
        }
    }

    /// Writes the derivatives along a feature at `len` rows.
    pub(crate) fn evaluate(
        self,
        model: &Observed<'_>,
        feature: usize,
        columns: &[Column<'_>],
        len: usize,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let Derivatives::Numeric { step } = self else {
            return model.partial(feature, &Rows::new(columns, len), values);
        };
        let below = shifted(columns[feature], -step);
        let above = shifted(columns[feature], step);
        let mut lower = vec![0.0; values.len()];
        ask_at(model, feature, columns, &below, len, &mut lower)?;
        ask_at(model, feature, columns, &above, len, values)?;
        for (i, (value, lower)) in values.iter_mut().zip(&lower).enumerate() {
            let row = i % len;
            *value = (*value - lower) / (above.column().get(row) - below.column().get(row));
        }
        Ok(())
    }
}

/// A column that was moved, in whichever form it had.
enum Shifted {
    Values(Vec<f64>),
    Constant(f64),
}

impl Shifted {
    fn column(&self) -> Column<'_> {
        match self {
            Shifted::Values(values) => Column::Values(values),
            Shifted::Constant(value) => Column::Constant(*value),
        }
    }
}

fn shifted(column: Column<'_>, by: f64) -> Shifted {
    match column {
        Column::Values(values) => Shifted::Values(values.iter().map(|x| x + by).collect()),
        Column::Constant(value) => Shifted::Constant(value + by),
    }
}

fn ask_at(
    model: &Observed<'_>,
    feature: usize,
    columns: &[Column<'_>],
    at: &Shifted,
    len: usize,
    values: &mut [f64],
) -> Result<(), ModelError> {
    let mut columns = columns.to_vec();
    columns[feature] = at.column();
    model.predict(&Rows::new(&columns, len), values)
}
