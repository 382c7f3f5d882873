//! Partial derivatives of a model: its own, or central differences.

use crate::data::Dataset;
use crate::error::{Error, ModelError, Result, short};
use crate::model::{Column, Model, Observed, Reach, Rows};
use crate::numeric::axis::Axis;
use crate::numeric::simd::subtract;
use crate::settings::{Jacobian, Settings};

/// Half the width of a central difference as a share of the axis: the cube root of the machine
/// epsilon balances truncation against rounding.
const DEFAULT_STEP: f64 = 6.055e-6;

/// The request for derivatives, before model and axis are known.
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

    /// Number of rows that the model is asked for by the derivative at one.
    pub(crate) fn rows_per_row(self, model: &dyn Model) -> u64 {
        match self.jacobian {
            Jacobian::Model => 1,
            Jacobian::Auto if model.has_partial() => 1,
            Jacobian::Auto | Jacobian::Numeric => 2,
        }
    }

    /// The derivatives of a model on an axis.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a step that rounding swallows.
    pub(crate) fn of(self, model: &dyn Model, axis: Axis) -> Result<Derivatives> {
        match self.jacobian {
            Jacobian::Model => return Ok(Derivatives::OfModel),
            Jacobian::Auto if model.has_partial() => return Ok(Derivatives::OfModel),
            Jacobian::Auto | Jacobian::Numeric => {}
        }
        let step = self.step * axis.width();
        let moves = |x: f64| x - step < x + step;
        if moves(axis.lo()) && moves(axis.hi()) {
            return Ok(Derivatives::Numeric { step, axis });
        }
        Err(Error::BadOption {
            option: "step",
            given: {
                let (lo, hi) = (short(axis.lo()), short(axis.hi()));
                format!("{} of the axis [{lo}, {hi}]", self.step)
            },
            allowed: "is lost in rounding: give a larger `step`, or the feature less an offset"
                .to_owned(),
        })
    }
}

/// A way to compute derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Derivatives {
    /// By the model itself.
    OfModel,
    /// By central differences of this half-width, on this axis.
    Numeric { step: f64, axis: Axis },
}

/// Differences that would add up to so many times the range of the values are looked into, as waves may have
/// such slopes; where nothing can be asked, as many as those of the second are steps.
const STEEP: f64 = 20.0;
const SURELY_STEEP: f64 = 1000.0;

/// Rows along whose lines a function is followed, and stretches that the axis is divided into.
const LINES: usize = 32;
const CELLS: usize = 32;

impl Derivatives {
    pub(crate) fn describe(self) -> String {
        match self {
            Derivatives::OfModel => "model".to_owned(),
            Derivatives::Numeric { step, .. } => format!("central differences, step {step}"),
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
        let Derivatives::Numeric { step, .. } = self else {
            return model.partial(feature, &Rows::new(columns, len), values);
        };
        let below = shifted(columns[feature], -step);
        let above = shifted(columns[feature], step);
        let mut lower = vec![0.0; values.len()];
        ask_at(model, feature, columns, &below, len, &mut lower)?;
        ask_at(model, feature, columns, &above, len, values)?;
        subtract(values, &lower);
        for (output, values) in values.chunks_mut(len.max(1)).enumerate() {
            model.saw_differences(output, values, &lower[output * len..][..values.len()]);
            for (row, value) in values.iter_mut().enumerate() {
                *value /= above.column().get(row) - below.column().get(row);
            }
        }
        Ok(())
    }

    /// Refuses differences that were asked for if they say nothing of the model: most are exactly 0, or jumps
    /// where the rows are, and yet it changes between. So it is with trees, and with models of few digits.
    ///
    /// Flat parts of a function that has slopes elsewhere are no reason, nor are steep ones: where differences
    /// look like those of steps, the function is followed along the axis at some rows, and what counts is
    /// whether it changes where they are 0.
    ///
    /// # Errors
    /// [`Error::StepFunction`], and what the model reports.
    pub(crate) fn check(
        self,
        model: &Observed<'_>,
        (data, feature): (&Dataset, usize),
    ) -> Result<()> {
        let Derivatives::Numeric { step, axis } = self else { return Ok(()) };
        let outputs = 0..model.model().outputs();
        let share = step / axis.width();
        let times = if model.model().reach() == Reach::Planned { SURELY_STEEP } else { STEEP };
        // What is asked further on counts as well.
        let seen: Vec<_> = outputs.map(|output| model.differences(output)).collect();
        let suspects = || (0..seen.len()).filter(|&i| seen[i].look_like_steps(share, times));
        let Some(first) = suspects().next() else { return Ok(()) };
        let refused = |output: usize, is_known_to_change| {
            Err(Error::StepFunction {
                name: data.names()[feature].clone(),
                zero: seen[output].zero,
                differences: seen[output].all,
                step,
                share,
                is_known_to_change,
            })
        };
        match model.model().reach() {
            Reach::Unanswered => return Ok(()),
            Reach::Planned => return refused(first, false),
            Reach::Anything => {}
        }
        let steps = self.steps_along(model, (data, feature), axis)?;
        match suspects().find(|&output| steps[output]) {
            Some(output) => refused(output, true),
            None => Ok(()),
        }
    }

    /// For each output whether most of what it changes along the axis, at some rows, it changes where the
    /// difference is exactly 0.
    fn steps_along(
        self,
        model: &Observed<'_>,
        (data, feature): (&Dataset, usize),
        axis: Axis,
    ) -> Result<Vec<bool>> {
        let some = some_rows(data);
        let (len, outputs) = (some.len(), model.model().outputs());
        let mut columns = some.columns(0..len);
        let zeros = || vec![0.0; len * outputs];
        let (mut before, mut after, mut differences) = (zeros(), zeros(), zeros());
        let mut changes = vec![Changes::default(); outputs];
        let limits = axis.divide(CELLS);
        columns[feature] = Column::Constant(limits[0]);
        model.predict(&Rows::new(&columns, len), &mut before)?;
        for cell in limits.windows(2) {
            columns[feature] = Column::Constant(cell[1]);
            model.predict(&Rows::new(&columns, len), &mut after)?;
            if before != after {
                columns[feature] = Column::Constant(cell[0] + 0.5 * (cell[1] - cell[0]));
                self.evaluate(model, feature, &columns, len, &mut differences)?;
                for (i, difference) in differences.iter().enumerate() {
                    changes[i / len].add(before[i], after[i], *difference == 0.0);
                }
            }
            std::mem::swap(&mut before, &mut after);
        }
        Ok(changes.iter().map(|changes| changes.unseen > 0.5 * changes.all).collect())
    }
}

/// Some of the rows that count, evenly from the first to the last.
fn some_rows(data: &Dataset) -> Dataset {
    let counts = |row: &usize| data.weights().is_none_or(|weights| weights[*row] > 0.0);
    let counted: Vec<usize> = (0..data.len()).filter(counts).collect();
    let lines = counted.len().min(LINES);
    let rows: Vec<usize> = (0..lines).map(|i| counted[i * counted.len() / lines]).collect();
    data.select(&rows)
}

/// By how much a function changes over some cells.
#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    all: f64,
    /// Over those in which a difference sees nothing of it.
    unseen: f64,
}

impl Changes {
    fn add(&mut self, before: f64, after: f64, is_unseen: bool) {
        // Small enough that no sum of them is infinite.
        const PART: f64 = 0.5 / (LINES * CELLS) as f64;
        let change = (PART * after - PART * before).abs();
        self.all += change;
        if is_unseen {
            self.unseen += change;
        }
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
