//! Data, pieces of work and clocks that the benches share, and how a bench runs itself in a process of its
//! own, alone or under valgrind.

pub mod callgrind;
pub mod clock;
pub mod process;
pub mod work;

pub use work::{Piece, Work};

use fe_core::Dataset;
use fe_truth::Scenario;
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Whatever keeps a bench from going on.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Friedman's function of five features, with further ones that it does not read.
///
/// # Errors
/// Fewer than five features.
pub fn friedman1(features: usize) -> Result<Scenario> {
    let noise = features.checked_sub(5).ok_or("friedman1 has five features at least")?;
    Ok(fe_truth::scenario("friedman1", &[("noise_features".to_owned(), noise.to_string())])?)
}

/// So many rows of a scenario, the same on every machine.
///
/// # Errors
/// No rows.
pub fn data(scenario: &Scenario, rows: usize) -> Result<Dataset> {
    let values = scenario.sample(rows, &mut ChaCha8Rng::seed_from_u64(1));
    Ok(Dataset::from_features(Array2::from_shape_vec((scenario.dimension(), rows), values)?)?)
}

/// A copy that has not been summarised yet, as a first estimate finds its data.
///
/// # Errors
/// None for data that were a dataset already.
pub fn fresh(data: &Dataset) -> Result<Dataset> {
    let values = (0..data.dimension()).flat_map(|feature| data.feature(feature).to_vec()).collect();
    Ok(Dataset::from_features(Array2::from_shape_vec((data.dimension(), data.len()), values)?)?)
}

/// True if a bench is only to show that it runs: `cargo bench -- --test`.
#[must_use]
pub fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

/// Runs some work on so many threads of its own.
///
/// # Errors
/// Threads that cannot be had, and those of the work.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(work)
}
