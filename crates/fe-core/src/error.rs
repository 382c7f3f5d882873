//! Errors, with the offending value in every message.
//!
//! Imports nothing of the crate.

use thiserror::Error;

/// An error of a model: it could not be asked, or its answer was wrong.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The answer has the wrong number of values.
    #[error("the model returned {got} values where {expected} were asked for")]
    WrongLength {
        /// Rows times outputs that were asked for.
        expected: usize,
        /// Values that came back.
        got: usize,
    },
    /// A prediction or a derivative is NaN or infinite.
    #[error("the model returned {value} for the row ({row})")]
    NotFinite {
        /// The value that came back.
        value: f64,
        /// The row that was asked, its features separated by commas.
        row: String,
    },
    /// The model panicked; nothing it returned is used.
    #[error("the model panicked: {0}")]
    Panicked(String),
    /// Derivatives were asked of a model that has none.
    #[error("the model has no derivative with respect to feature x{}", .feature + 1)]
    NoDerivative {
        /// The feature, counted from 0.
        feature: usize,
    },
    /// The model takes another number of features.
    #[error("the model takes {model} features and the data have {data}")]
    WrongDimension {
        /// Features the model takes.
        model: usize,
        /// Features the data have.
        data: usize,
    },
    /// Any other failure, in the model's own words.
    #[error("the model failed: {0}")]
    Failed(String),
}

/// An error of an estimate.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A dataset without rows or without columns.
    #[error("the data have {rows} rows and {columns} columns; at least one of each is needed")]
    EmptyData {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// Columns, names or weights that do not fit together.
    #[error("{what}: {got} given, {expected} needed")]
    WrongCount {
        /// The things counted.
        what: &'static str,
        /// The number that there must be.
        expected: usize,
        /// The number that there are.
        got: usize,
    },
    /// A NaN or infinite value in the data.
    #[error("row {row}, column {column}: {value} is not a finite number")]
    NotFinite {
        /// Row, counted from 1.
        row: usize,
        /// Name of the column.
        column: String,
        /// The value.
        value: f64,
    },
    /// A negative, NaN or infinite weight, or weights that are all zero.
    #[error("weights must be finite, at least 0 and not all 0: {value} given for row {row}")]
    BadWeight {
        /// Row, counted from 1.
        row: usize,
        /// The weight.
        value: f64,
    },
    /// Two columns of the same name.
    #[error("two columns are called {0}")]
    DuplicateName(String),
    /// A feature that the data do not have.
    #[error("feature x{} does not exist: the data have x1 … x{dimension}", .feature + 1)]
    NoSuchFeature {
        /// The feature, counted from 0.
        feature: usize,
        /// Number of features.
        dimension: usize,
    },
    /// The axis has no length, because the feature is constant.
    #[error(
        "feature {name} is constant ({value}): there is no axis to draw an effect on; give `axis` as lo, hi"
    )]
    ConstantFeature {
        /// Name of the feature.
        name: String,
        /// Its only value.
        value: f64,
    },
    /// A feature that has no value in any row.
    #[error("feature {0} has no value in any row")]
    NoValues(String),
    /// Missing values where none may be.
    #[error("{name} has no value in {}: leave these rows out", rows_of(*rows))]
    Incomplete {
        /// Name of the feature.
        name: String,
        /// Rows without a value of it.
        rows: usize,
    },
    /// An axis whose limits are not finite and increasing.
    #[error("the axis [{}, {}] must have finite limits, the first below the second", short(*lo), short(*hi))]
    BadAxis {
        /// Lower limit.
        lo: f64,
        /// Upper limit.
        hi: f64,
    },
    /// No row has its feature within the axis.
    #[error("no row with positive weight has {name} within the axis [{}, {}]", short(*lo), short(*hi))]
    NoRowsOnAxis {
        /// Name of the feature.
        name: String,
        /// Lower limit.
        lo: f64,
        /// Upper limit.
        hi: f64,
    },
    /// A custom grid that is not strictly increasing and finite.
    #[error("limits must be finite and strictly increasing: {left} is followed by {right}")]
    UnsortedLimits {
        /// The value before.
        left: f64,
        /// The value that should have been larger.
        right: f64,
    },
    /// An option outside what it may be.
    #[error("{option} = {given}: {allowed}")]
    BadOption {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        given: String,
        /// The values allowed.
        allowed: String,
    },
    /// A bin without instances where the policy forbids it.
    #[error("bin {bin} of {bins}, [{lo}, {hi}], has no instances")]
    EmptyBin {
        /// Number of the bin, counted from 1.
        bin: usize,
        /// Number of bins.
        bins: usize,
        /// Lower limit of the bin.
        lo: f64,
        /// Upper limit of the bin.
        hi: f64,
    },
    /// Cells of two features without instances where the policy forbids them.
    #[error("{empty} of {cells} cells have no instances, the first of them {first}")]
    EmptyCell {
        /// Number of cells without instances.
        empty: usize,
        /// Number of cells.
        cells: usize,
        /// Limits of the first.
        first: String,
    },
    /// A point outside the limits of an estimate.
    #[error("{x} is outside the estimate's limits [{lo}, {hi}]")]
    OutsideLimits {
        /// The point.
        x: f64,
        /// Lower limit.
        lo: f64,
        /// Upper limit.
        hi: f64,
    },
    /// Values, slopes or weights too large for a number.
    #[error(
        "{what} of {name} are beyond what floating-point numbers can hold: give the feature, the \
         output or the weights in other units"
    )]
    Overflow {
        /// The things too large.
        what: &'static str,
        /// Name of the feature.
        name: String,
    },
    /// Central differences of a function that changes by steps.
    #[error(
        "central differences along {name} say nothing of the model, which changes by steps{}: {zero} of \
         {differences} are exactly 0, and others are jumps; take `ale`, which needs no derivatives, or a larger \
         `step` than {share} of the axis (a half-width of {step})",
        if *.is_known_to_change { "" } else { " or not at all" }
    )]
    StepFunction {
        /// Name of the feature.
        name: String,
        /// Number of differences that are exactly 0.
        zero: u64,
        /// The number that there are.
        differences: u64,
        /// Half of what they are taken over, in units of the feature.
        step: f64,
        /// The same as a share of the axis.
        share: f64,
        /// True if the model was seen to change; false where it could not be asked.
        is_known_to_change: bool,
    },
    /// Levels that cannot be those of a feature, or a value that is none of them.
    #[error("{0}")]
    Levels(String),
    /// A value where an effect has none: between levels.
    #[error("{x} is none of the levels {levels}: the effect has values there and none between")]
    NotALevel {
        /// The value.
        x: f64,
        /// The levels, separated by commas.
        levels: String,
    },
    /// An estimator of derivatives of a feature with levels.
    #[error(
        "`{estimator}` is made of derivatives, and {name}, which is {kind}, has levels and nothing between \
         them; take `ale`, `pdp`, `mplot` or `shapdp`"
    )]
    NoDerivativeByLevels {
        /// Name of the estimator.
        estimator: &'static str,
        /// Name of the feature.
        name: String,
        /// Its kind, in a word.
        kind: String,
    },
    /// Options that have no meaning together.
    #[error("{0}")]
    Incompatible(String),
    /// The model could not be asked, or answered wrongly.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// "; did you mean `…`?" for a word close to one that is known, nothing otherwise.
#[must_use]
pub fn suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let distance = |word: &str| strsim::damerau_levenshtein(given, word);
    let nearest = known.into_iter().min_by_key(|word| distance(word));
    match nearest {
        Some(word) if distance(word) <= word.len().max(given.len()) / 2 => {
            format!("; did you mean `{word}`?")
        }
        _ => String::new(),
    }
}

/// A number of rows in words.
fn rows_of(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

/// A number for a message: with an exponent where it would have very many digits.
pub(crate) fn short(number: f64) -> String {
    let is_long = number != 0.0 && !(1e-5..1e16).contains(&number.abs());
    if is_long && number.is_finite() { format!("{number:e}") } else { number.to_string() }
}
