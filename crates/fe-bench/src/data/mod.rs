//! Datasets: scenarios by name, rows drawn from them or read from files, and the streams they are drawn by.
//!
//! It imports `output`, `system` and errors. Begin with [`sample`], whose random numbers are those of [`seeds`].

mod chunks;
pub mod columns;
pub mod description;
pub mod features;
mod file;
pub mod levels;
pub mod observations;
pub mod query;
pub mod sample;
pub mod scenarios;
pub mod seeds;
pub mod shelf;
pub mod sizes;
mod table;

pub(crate) use columns::parse;
pub(crate) use file::column_of;
pub use file::{Missing, Roles, Target, read, read_hashed};
pub(crate) use table::is_standard_input;
