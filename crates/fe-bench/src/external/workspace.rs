//! A dataset laid out for engines, and what they answer about it.

use std::fs;
use std::path::Path;

use fe_core::Axis;
use fe_core::curve::Curve;
use fe_core::model::Rows;
use fe_core::{AxisChoice, Dataset};
use fe_truth::{Effect, Scenario};
use tempfile::TempDir;

use super::message::{Numbers, Origin, PROTOCOL, Reply, Request, bytes};
use super::status::{Failure, Status};
use super::{Engines, External};
use crate::curves::GivenCurve;
use crate::record::encode::Taken;

/// Rows at which an engine's model is compared with the scenario's.
const PROBES: usize = 16;

/// By how much an engine's model may differ, in units of its largest value at the probe's rows:
/// rounding of any order of evaluation is far below, and any other function far above.
const PROBE_TOLERANCE: f64 = 1e-9;

/// How often an engine repeats an estimate for the sake of its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repetitions {
    /// At most.
    pub most: usize,
    /// After how many seconds no further one is begun.
    pub seconds: f64,
}

impl Default for Repetitions {
    fn default() -> Self {
        Self { most: 3, seconds: 0.2 }
    }
}

/// Where a curve is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The feature, counted from 0.
    pub feature: usize,
    /// The interval.
    pub axis: AxisChoice,
    /// Increasing points at which curves are compared.
    pub grid: &'a [f64],
}

/// A dataset in a temporary folder, from which any engine reads it.
#[derive(Debug)]
pub struct Workspace<'a> {
    engines: &'a Engines,
    scenario: &'a Scenario,
    data: &'a Dataset,
    repetitions: Repetitions,
    folder: TempDir,
    /// As JSON, so that it is made once: the function and its derivatives.
    partials: Vec<fe_truth::Expression>,
}

const DATA: &str = "data.f64";
const GRID: &str = "grid.f64";

fn broken(what: &str) -> impl FnOnce(std::io::Error) -> Failure {
    move |e| Failure::new(Status::Error, format!("{what} cannot be written: {}", e.kind()))
}

impl<'a> Workspace<'a> {
    /// Lays out a dataset of a scenario.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn new(
        engines: &'a Engines,
        scenario: &'a Scenario,
        data: &'a Dataset,
        repetitions: Repetitions,
    ) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("fe-bench-").tempdir();
        let folder = folder.map_err(broken("a temporary folder"))?;
        let values: Vec<u8> = (0..data.dimension()).flat_map(|s| bytes(data.feature(s))).collect();
        fs::write(folder.path().join(DATA), values).map_err(broken("the data"))?;
        let partials = (0..data.dimension()).map(|s| scenario.expression().partial(s)).collect();
        Ok(Self { engines, scenario, data, repetitions, folder, partials })
    }

    /// Asks an engine for an effect, and checks what it answers.
    ///
    /// # Errors
    /// Whatever keeps the answer from counting.
    pub fn ask(&self, external: &External, place: Place<'_>) -> Result<Answer, Failure> {
        let unsupported = |reason: String| Failure::new(Status::Unsupported, reason);
        let found = self.engines.find(&external.engine, &external.effect);
        let (_, capability) = found.map_err(unsupported)?;
        if let Some(binning) = external.options.get("binning")
            && !capability.binnings.iter().any(|known| Some(known.as_str()) == binning.as_str())
        {
            let known = capability.binnings.join(", ");
            let known = if known.is_empty() { "it has none to choose" } else { &known };
            return Err(unsupported(format!("`binning` = {binning}: {known}")));
        }
        let failed = |e: fe_core::Error| Failure::new(Status::Error, e.to_string());
        let axis = place.axis.resolve(self.data, place.feature).map_err(failed)?;
        let grid = self.folder.path().join(GRID);
        fs::write(&grid, bytes(place.grid)).map_err(broken("the grid"))?;
        let (reply, peak_bytes) =
            self.engines.ask(&external.engine, self.request(external, place, axis))?;
        self.check_probe(&reply, place.feature)?;
        let answer = Answer::read(&reply, self.folder.path(), axis)?;
        Ok(Answer {
            truth: capability.truth,
            true_heterogeneity: capability.heterogeneity,
            taken: Taken { peak_bytes, ..answer.taken },
            ..answer
        })
    }

    fn request(&self, external: &External, place: Place<'_>, axis: Axis) -> Request {
        let path = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        Request {
            protocol: PROTOCOL,
            id: 0,
            effect: external.effect.clone(),
            feature: format!("x{}", place.feature + 1),
            options: external.options.clone(),
            scenario: Origin { name: self.scenario.id(), parameters: self.scenario.parameters() },
            rows: self.data.len(),
            features: self.data.dimension(),
            data: path(DATA),
            axis: (place.axis != AxisChoice::Data).then(|| [axis.lo(), axis.hi()]),
            grid: path(GRID),
            points: place.grid.len(),
            model: self.scenario.expression().clone(),
            partials: self.partials.clone(),
            probe: (0..self.probes()).map(|i| self.data.row(i).to_vec()).collect(),
            repetitions: self.repetitions.most,
            seconds: self.repetitions.seconds,
            folder: self.folder.path().to_string_lossy().into_owned(),
        }
    }

    fn probes(&self) -> usize {
        PROBES.min(self.data.len())
    }

    /// Refuses an answer that is about another function.
    fn check_probe(&self, reply: &Reply, feature: usize) -> Result<(), Failure> {
        let failed = |e: fe_core::ModelError| Failure::new(Status::Error, e.to_string());
        let columns = self.data.columns(0..self.probes());
        let rows = Rows::new(&columns, self.probes());
        let mut native = vec![0.0; self.probes()];
        let model = self.scenario.model();
        model.predict(&rows, &mut native).map_err(failed)?;
        compare("probe", &reply.probe.read(self.folder.path(), "probe")?, &native)?;
        let Some(partial) = &reply.probe_partial else { return Ok(()) };
        model.partial(feature, &rows, &mut native).map_err(failed)?;
        compare("probe_partial", &partial.read(self.folder.path(), "probe_partial")?, &native)
    }
}

fn compare(what: &str, found: &[f64], native: &[f64]) -> Result<(), Failure> {
    if found.len() != native.len() {
        let reason = format!("`{what}` has {} values for {} rows", found.len(), native.len());
        return Err(Failure::new(Status::WrongProbe, reason));
    }
    let size = native.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
    // Where the function is 0, roundings of its parts are what is left.
    let allowed = PROBE_TOLERANCE * if size > 0.0 { size } else { 1.0 };
    let pairs = || found.iter().zip(native).enumerate();
    // A comparison that NaN fails.
    let within = |found: f64, native: f64| (found - native).abs() <= allowed;
    match pairs().find(|(_, (found, native))| !within(**found, **native)) {
        None => Ok(()),
        Some((row, (found, native))) => Err(Failure::new(
            Status::WrongProbe,
            format!("`{what}` of row {}: {found}, but the function is {native}", row + 1),
        )),
    }
}

/// What an engine answered, checked.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The curve, linear between its points, as the engine centred it.
    pub curve: Curve,
    /// The heterogeneity curve, NaN where it is undefined.
    pub heterogeneity: Option<Curve>,
    /// The limits of the band, lower and upper, NaN where it has none.
    pub band: Option<(Curve, Curve)>,
    /// The interval that it was asked on: ICE curves are centred over it.
    pub axis: Axis,
    /// The truth that the curve estimates.
    pub truth: Effect,
    /// The truth that its heterogeneity estimates.
    pub true_heterogeneity: Option<Effect>,
    /// Median seconds of an estimate and of its model, and the memory of the process meanwhile.
    pub taken: Taken,
    /// Rows that the model was asked for by one estimate.
    pub model_rows: u64,
    /// What else the engine told.
    pub record: serde_json::Value,
}

impl Answer {
    fn read(reply: &Reply, folder: &Path, axis: Axis) -> Result<Self, Failure> {
        let x = reply.x.read(folder, "x")?;
        if let Some(pair) = x.windows(2).find(|pair| pair[0] >= pair[1]) {
            let reason = format!("`x` does not increase: {} is followed by {}", pair[0], pair[1]);
            return Err(Failure::new(Status::Malformed, reason));
        }
        if x.is_empty() {
            return Err(Failure::new(Status::Short, "`x` is empty: there is no curve"));
        }
        let as_long = |what: &str, numbers: &Numbers| -> Result<Vec<f64>, Failure> {
            let values = numbers.read(folder, what)?;
            if values.len() == x.len() {
                return Ok(values);
            }
            let reason = format!("`{what}` has {} values for {} of `x`", values.len(), x.len());
            Err(Failure::new(Status::Short, reason))
        };
        let optional = |what: &str, numbers: &Option<Numbers>| {
            numbers.as_ref().map(|numbers| as_long(what, numbers)).transpose()
        };
        let effect = as_long("effect", &reply.effect)?;
        for (what, values) in [("x", &x), ("effect", &effect)] {
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                let reason = format!("`{what}` has {} at place {}", values[at], at + 1);
                return Err(Failure::new(Status::NonFinite, reason));
            }
        }
        let lower = optional("lower", &reply.lower)?;
        let upper = optional("upper", &reply.upper)?;
        let (seconds, model_seconds) = times(reply)?;
        let curve = |y: Vec<f64>| Curve::linear(x.clone(), y);
        Ok(Self {
            heterogeneity: optional("heterogeneity", &reply.heterogeneity)?.map(curve),
            band: lower.zip(upper).map(|(lower, upper)| (curve(lower), curve(upper))),
            curve: curve(effect),
            axis,
            truth: Effect::Pd,
            true_heterogeneity: None,
            taken: Taken { seconds, model_seconds, peak_bytes: None },
            model_rows: reply.model_rows,
            record: reply.record.clone(),
        })
    }

    /// The curve with its band at some points within its range.
    ///
    /// # Errors
    /// A point outside of it.
    pub fn at(&self, points: &[f64]) -> fe_core::Result<GivenCurve> {
        let band = match &self.band {
            Some((lower, upper)) => Some((lower.at_all(points)?, upper.at_all(points)?)),
            None => None,
        };
        Ok(GivenCurve { x: points.to_vec(), effect: self.curve.at_all(points)?, band })
    }
}

/// The medians of the samples of times.
fn times(reply: &Reply) -> Result<(f64, f64), Failure> {
    for (what, samples) in [("samples", &reply.samples), ("model_samples", &reply.model_samples)] {
        if samples.is_empty() || samples.len() != reply.samples.len() {
            let reason = format!(
                "`{what}` has {} values: a time for each repetition is needed, at least one",
                samples.len()
            );
            return Err(Failure::new(Status::Short, reason));
        }
        if let Some(time) = samples.iter().find(|time| !(time.is_finite() && **time >= 0.0)) {
            let reason = format!("`{what}` has {time}: must be seconds, at least 0");
            return Err(Failure::new(Status::Malformed, reason));
        }
    }
    Ok((median(&reply.samples), median(&reply.model_samples)))
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}
