//! The runner: studies in, records and tables out.
//!
//! A study file is read into loose structs ([`study::wire`]), checked and expanded into groups of
//! cells ([`study`]), run ([`run`]), scored against exact truths ([`score`]), stored ([`record`]),
//! and printed as tables ([`table`]). No mathematics lives here: estimators, measures and statistics
//! are those of `fe-core`, truths those of `fe-truth`.

// They panic where a stream is closed or full; `say!` does not.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod ask;
pub mod check;
pub mod cli;
pub mod compare;
pub mod curves;
pub mod data;
pub mod documentation;
pub mod draw;
pub mod error;
pub mod external;
pub mod files;
mod guard;
pub mod league;
pub mod observations;
pub mod pairs;
pub mod plot;
pub mod record;
pub mod report;
pub mod run;
pub mod say;
pub mod scenarios;
pub mod score;
pub mod screen;
pub mod sheet;
pub mod spreadsheet;
pub mod streams;
pub mod study;
pub mod table;

pub use error::{Error, Result};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
