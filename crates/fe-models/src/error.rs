//! Errors of fits, with what was given and what is allowed.

use thiserror::Error;

/// Reason why there is no fitted model.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// Missing values, for a model that takes none.
    #[error("`{model}` takes no missing values, as {feature} has: `gbdt` does")]
    Missing {
        /// The model.
        model: &'static str,
        /// The first feature with some.
        feature: String,
    },
    /// No model has this name.
    #[error("unknown model `{given}`: must be one of {known}{hint}")]
    UnknownModel {
        /// The name.
        given: String,
        /// All known ones, separated by commas.
        known: String,
        /// The nearest known one as a question, if any is near.
        hint: String,
    },
    /// The model has no such option.
    #[error("model `{model}` has no option `{given}`{hint}; it has {known}")]
    UnknownOption {
        /// Name of the model.
        model: &'static str,
        /// The key.
        given: String,
        /// All known ones, separated by commas.
        known: String,
        /// The nearest known one as a question, if any is near.
        hint: String,
    },
    /// An option is given more than once.
    #[error("option `{0}` is given twice")]
    RepeatedOption(String),
    /// An option is not a value of its range.
    #[error("option `{name}` of model `{model}` is `{given}`; allowed: {allowed}")]
    BadOption {
        /// Name of the model.
        model: &'static str,
        /// The key.
        name: &'static str,
        /// The value that was given.
        given: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The target does not have one value for each row.
    #[error("the target has {got} values and the data have {expected} rows")]
    WrongTargetLength {
        /// Rows of the data.
        expected: usize,
        /// Values of the target.
        got: usize,
    },
    /// A missing or infinite value in the target.
    #[error("row {row}: the target is {value}, not a finite number")]
    TargetNotFinite {
        /// Row, counted from 1.
        row: usize,
        /// The value.
        value: f64,
    },
    /// All values of the target are equal: there is nothing to learn.
    #[error("the target is {0} in every row: a model needs at least two different values")]
    ConstantTarget(f64),
    /// Fewer rows than a model can be fitted to.
    #[error("number of rows with positive weight: {rows}; `{model}` needs at least {needed}")]
    TooFewRows {
        /// Name of the model.
        model: &'static str,
        /// Rows with positive weight.
        rows: usize,
        /// The number that there must be.
        needed: usize,
    },
    /// Features or a target too large for the sums that the model takes.
    #[error(
        "fitting `{0}` exceeds what floating-point numbers can hold: give the features or the target in other units"
    )]
    Overflow(&'static str),
    /// An iteration that did not settle.
    #[error("fitting `{model}` did not converge in {iterations} iterations")]
    NotConverged {
        /// Name of the model.
        model: &'static str,
        /// Iterations that were made.
        iterations: usize,
    },
    /// A division of rows between fit and effects that does not exist or leaves a part empty.
    #[error("split {given}: must be {allowed}")]
    BadSplit {
        /// The value that was given.
        given: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The reason why it is not allowed otherwise, in words.
    #[error("model `{model}`: {reason}")]
    Refused {
        /// Name of the model.
        model: &'static str,
        /// The reason.
        reason: String,
    },
}

/// The result of everything here that can fail.
pub type Result<T, E = FitError> = std::result::Result<T, E>;
