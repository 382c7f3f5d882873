//! Datasets drawn from scenarios.

use fe_core::Dataset;
use fe_core::interrupt;
use fe_core::model::Rows;
use fe_truth::Scenario;
use ndarray::Array2;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::data::levels::with_levels_of;
use crate::data::seeds::Address;
use crate::error::{Error, Result};

/// The most values that a drawn dataset may have.
const MOST_VALUES: usize = 2_000_000_000;

/// Rows whose target is computed at once.
const TOGETHER: usize = 1 << 16;

/// The address of a dataset of a scenario.
#[must_use]
pub fn address<'a>(
    seed: u64,
    (scenario, parameters): (&'a str, &'a str),
    rows: usize,
    replicate: usize,
) -> Address<'a> {
    Address { seed, scenario, parameters, rows, replicate, of_learner: false }
}

/// The features of a dataset.
///
/// # Errors
/// No rows, or more than memory can hold.
pub fn features(scenario: &Scenario, seed: u64, rows: usize, replicate: usize) -> Result<Dataset> {
    let (id, parameters) = (scenario.id(), scenario.parameters());
    let stream = address(seed, (&id, &parameters), rows, replicate).features();
    from_stream(scenario, rows, stream)
}

/// The features of one of further datasets, counted from 0, of the same size as another.
///
/// # Errors
/// As [`features`].
pub fn fresh_features(
    scenario: &Scenario,
    seed: u64,
    rows: usize,
    replicate: usize,
    number: usize,
) -> Result<Dataset> {
    let (id, parameters) = (scenario.id(), scenario.parameters());
    let stream = address(seed, (&id, &parameters), rows, replicate).fresh(number);
    from_stream(scenario, rows, stream)
}

/// The most rows of a dataset of a scenario.
#[must_use]
pub fn most_rows(scenario: &Scenario) -> usize {
    MOST_VALUES / scenario.dimension()
}

/// Rows from a stream of which nothing is drawn yet.
fn from_stream(scenario: &Scenario, rows: usize, stream: ChaCha8Rng) -> Result<Dataset> {
    let most = most_rows(scenario);
    if !(1..=most).contains(&rows) {
        return Err(Error::Argument(format!("{rows} rows: must be from 1 to {most}")));
    }
    // A request that the system refuses would end the process.
    if Vec::<f64>::new().try_reserve_exact(rows * scenario.dimension()).is_err() {
        return Err(Error::Argument(format!("{rows} rows do not fit into memory")));
    }
    // Compiled there, where what draws is optimised for tests as well.
    let values = scenario.sample_from(stream.get_seed(), rows);
    let array = Array2::from_shape_vec((scenario.dimension(), rows), values)
        .map_err(|e| Error::Argument(e.to_string()))?;
    let data = Dataset::from_features(array)?;
    if scenario.text().is_none() {
        return Ok(data);
    }
    let names = (0..scenario.dimension()).map(|s| scenario.feature_name(s)).collect();
    with_levels_of(scenario, data.with_names(names)?)
}

/// The target: f(x), with normal noise whose standard deviation is sd f(X) / `snr`; none for 0.
///
/// # Errors
/// A signal-to-noise ratio that is negative, not finite or too small, or a model that fails.
pub fn target(
    scenario: &Scenario,
    data: &Dataset,
    seed: u64,
    snr: f64,
    replicate: usize,
) -> Result<Vec<f64>> {
    if !(snr.is_finite() && snr >= 0.0) {
        return Err(Error::Argument(format!("snr = {snr}: must be finite and at least 0")));
    }
    let (id, parameters) = (scenario.id(), scenario.parameters());
    let address = address(seed, (&id, &parameters), data.len(), replicate);
    noisy(scenario, data, snr, address.noise())
}

/// A dataset that a learner is fitted to for its expected effect, and the rows that its model is explained on.
pub struct OfLearner {
    /// The features.
    pub data: Dataset,
    /// The target.
    pub target: Vec<f64>,
    /// As many other rows.
    pub explained: Dataset,
    /// The seed of the fit.
    pub seed: u64,
}

/// One of the datasets, counted from 0, that a learner is fitted to for its expected effect.
///
/// # Errors
/// As [`features`] and [`target`].
pub fn of_learner(
    scenario: &Scenario,
    (seed, rows, snr): (u64, usize, f64),
    number: usize,
) -> Result<OfLearner> {
    let (id, parameters) = (scenario.id(), scenario.parameters());
    let address = address(seed, (&id, &parameters), rows, 0).of_learner(number);
    let data = from_stream(scenario, rows, address.features())?;
    let target = noisy(scenario, &data, snr, address.noise())?;
    let explained = from_stream(scenario, rows, address.fresh(0))?;
    Ok(OfLearner { data, target, explained, seed: address.fit().next_u64() })
}

/// The target with noise from a stream.
fn noisy(
    scenario: &Scenario,
    data: &Dataset,
    snr: f64,
    mut stream: ChaCha8Rng,
) -> Result<Vec<f64>> {
    let mut y = vec![0.0; data.len()];
    for (start, values) in (0..).step_by(TOGETHER).zip(y.chunks_mut(TOGETHER)) {
        interrupt::check();
        let columns = data.columns(start..start + values.len());
        let rows = Rows::new(&columns, values.len());
        scenario.model().predict(&rows, values).map_err(fe_core::Error::from)?;
    }
    if snr > 0.0 {
        let sd = scenario.sd()?.value / snr;
        for y in &mut y {
            let noise: f64 = StandardNormal.sample(&mut stream);
            *y += sd * noise;
        }
    }
    if y.iter().any(|y| !y.is_finite()) {
        return Err(Error::Argument(format!(
            "the target exceeds what floating-point numbers can hold, with snr = {snr:?}"
        )));
    }
    Ok(y)
}
