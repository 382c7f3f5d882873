//! Answers of estimators: what the command line needs of each kind of them.

use std::io::{BufWriter, Write};

use fe_core::{Effect, Settings};
use serde::{Serialize, Serializer};

use super::options::EstimationArguments;
use super::subject::Subject;
use crate::cli::figures::Picture;
use crate::error::{Error, Result};

/// An answer as it is printed: an effect on all rows, or a tree of regions with an effect in each.
pub(super) trait Estimated: Sized {
    /// The answer of an estimator.
    type Answer: Send;

    /// Refuses flags that it has no answer to.
    fn check(arguments: &EstimationArguments) -> Result<()>;

    /// The answers for a feature, one for each output.
    fn estimate(
        name: &str,
        settings: &Settings,
        of: &Subject<'_>,
        s: usize,
    ) -> Result<Vec<Self::Answer>>;

    /// The answer as it is printed.
    fn of(
        answer: Self::Answer,
        settings: &Settings,
        arguments: &EstimationArguments,
        of: &Subject<'_>,
    ) -> Result<Self>;

    /// The effects in it.
    fn effects(&self) -> impl Iterator<Item = &Effect>;

    /// Draws all of them into a file.
    fn draw(
        all: &[Self],
        arguments: &EstimationArguments,
        of: &Subject<'_>,
        picture: &Picture,
    ) -> Result<()>;

    /// Prints all of them.
    fn print(
        all: &[Self],
        arguments: &EstimationArguments,
        of: &Subject<'_>,
        out: &mut dyn Write,
    ) -> Result<()>;
}

/// Writes a list of objects, one after the other: one of many curves is long as a text.
pub(super) fn write_objects<T: Serialize>(
    objects: impl ExactSizeIterator<Item = T>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut out = BufWriter::new(out);
    let mut to = serde_json::Serializer::pretty(&mut out);
    to.collect_seq(objects).map_err(|e| Error::Output(e.into()))?;
    writeln!(out).and_then(|()| out.flush()).map_err(Error::Output)
}
