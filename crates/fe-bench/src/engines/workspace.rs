//! A dataset laid out for engines, and what they answer about it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use fe_core::Axis;
use fe_core::model::Rows;
use fe_core::numeric::curve::Curve;
use fe_core::{AxisChoice, Dataset};
use fe_truth::{Quantity, Scenario};

use super::desk::{self, Desk};
use super::message::{EngineRequest, Numbers, Origin, PROTOCOL, Reply};
use super::status::{Failure, Status};
use super::{Engines, External};
use crate::score::given_curve::GivenCurve;
use crate::system::clock::Taken;

/// Rows at which an engine's model is compared with the scenario's.
const PROBES: usize = 16;

/// By how much an engine's model may differ, in units of its largest value at the probe's rows:
/// rounding of any order of evaluation is far below, and any other function far above.
const PROBE_TOLERANCE: f64 = 1e-9;

/// Repetitions of an estimate by an engine, for the sake of its time.
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

/// Points at which a curve is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The feature, counted from 0.
    pub feature: usize,
    /// The interval.
    pub axis: AxisChoice,
    /// Increasing points at which curves are compared.
    pub grid: &'a [f64],
}

/// A dataset for engines, each of which finds it in a folder of its own.
#[derive(Debug)]
pub struct Workspace<'a> {
    engines: &'a Engines,
    scenario: &'a Scenario,
    data: &'a Dataset,
    repetitions: Repetitions,
    /// By the names of the engines, as soon as they are asked.
    desks: RefCell<BTreeMap<String, Desk>>,
    /// As JSON, so that it is made once: the function and its derivatives.
    partials: Vec<fe_truth::Expression>,
}

impl<'a> Workspace<'a> {
    /// Of a dataset of a scenario.
    #[must_use]
    pub fn new(
        engines: &'a Engines,
        scenario: &'a Scenario,
        data: &'a Dataset,
        repetitions: Repetitions,
    ) -> Self {
        let partials = (0..data.dimension()).map(|s| scenario.expression().partial(s)).collect();
        Self { engines, scenario, data, repetitions, desks: RefCell::default(), partials }
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
        // An engine that cannot be run here needs no data.
        self.engines.version(&external.engine).map_err(unsupported)?;
        let kept = self.desks.borrow_mut().remove(&external.engine);
        let desk = kept.map_or_else(|| Desk::new(self.data), Ok)?;
        desk.set(place.grid)?;
        let read = |reply: &Reply| {
            desk.check(self.data)?;
            self.check_probe(reply, desk.folder(), place.feature)?;
            Answer::read(reply, desk.folder(), axis)
        };
        let request = self.request(external, &desk, place, axis);
        let asked = self.engines.ask(&external.engine, request, read);
        // After anything that went wrong otherwise, nobody knows what still happens in the folder.
        if asked.as_ref().map_or_else(Failure::is_said, |_| true) {
            self.desks.borrow_mut().insert(external.engine.clone(), desk);
        }
        let (answer, peak_bytes) = asked?;
        Ok(Answer {
            truth: capability.truth,
            true_heterogeneity: capability.heterogeneity,
            taken: Taken { peak_bytes, ..answer.taken },
            ..answer
        })
    }

    /// The name of the scenario. One in a file is not that of the same name that a program may have.
    fn origin(&self) -> String {
        let id = self.scenario.id();
        if self.scenario.text().is_some() { format!("file:{id}") } else { id }
    }

    fn request(
        &self,
        external: &External,
        desk: &Desk,
        place: Place<'_>,
        axis: Axis,
    ) -> EngineRequest {
        EngineRequest {
            protocol: PROTOCOL,
            id: 0,
            effect: external.effect.clone(),
            feature: format!("x{}", place.feature + 1),
            options: external.options.clone(),
            scenario: Origin { name: self.origin(), parameters: self.scenario.parameters() },
            rows: self.data.len(),
            features: self.data.dimension(),
            data: desk.path(desk::DATA),
            axis: (place.axis != AxisChoice::Data).then(|| [axis.lo(), axis.hi()]),
            grid: desk.path(desk::GRID),
            points: place.grid.len(),
            model: self.scenario.expression().clone(),
            partials: self.partials.clone(),
            probe: (0..self.probes()).map(|i| self.data.row(i).to_vec()).collect(),
            repetitions: self.repetitions.most,
            seconds: self.repetitions.seconds,
            folder: desk.path(""),
        }
    }

    fn probes(&self) -> usize {
        PROBES.min(self.data.len())
    }

    /// Refuses an answer that is about another function.
    fn check_probe(&self, reply: &Reply, folder: &Path, feature: usize) -> Result<(), Failure> {
        let failed = |e: fe_core::ModelError| Failure::new(Status::Error, e.to_string());
        let columns = self.data.columns(0..self.probes());
        let rows = Rows::new(&columns, self.probes());
        let mut native = vec![0.0; self.probes()];
        let model = self.scenario.model();
        model.predict(&rows, &mut native).map_err(failed)?;
        compare("probe", &reply.probe.read(folder, "probe")?, &native)?;
        let Some(partial) = &reply.probe_partial else { return Ok(()) };
        model.partial(feature, &rows, &mut native).map_err(failed)?;
        compare("probe_partial", &partial.read(folder, "probe_partial")?, &native)
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

/// An answer of an engine, checked.
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
    pub truth: Quantity,
    /// The truth that its heterogeneity estimates.
    pub true_heterogeneity: Option<Quantity>,
    /// Median seconds of an estimate and of its model, and the memory of the process meanwhile.
    pub taken: Taken,
    /// Rows that the model was asked for by one estimate.
    pub model_rows: u64,
    /// The tree of a regional effect, or null.
    pub tree: serde_json::Value,
    /// Whatever else the engine told.
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
        let heterogeneity = optional("heterogeneity", &reply.heterogeneity)?;
        let lower = optional("lower", &reply.lower)?;
        let upper = optional("upper", &reply.upper)?;
        for (what, values) in
            [("heterogeneity", &heterogeneity), ("lower", &lower), ("upper", &upper)]
        {
            // NaN is a value that is missing.
            if let Some(at) = values.iter().flatten().position(|value| value.is_infinite()) {
                let reason = format!("`{what}` is infinite at place {}", at + 1);
                return Err(Failure::new(Status::NonFinite, reason));
            }
        }
        is_variance(heterogeneity.as_deref().unwrap_or_default())?;
        let band = band(lower, upper)?;
        let (seconds, model_seconds) = times(reply)?;
        let curve = |y: Vec<f64>| Curve::linear(x.clone(), y);
        Ok(Self {
            heterogeneity: heterogeneity.map(curve),
            band: band.map(|(lower, upper)| (curve(lower), curve(upper))),
            curve: curve(effect),
            axis,
            truth: Quantity::Pd,
            true_heterogeneity: None,
            taken: Taken { seconds, model_seconds, peak_bytes: None },
            model_rows: reply.model_rows,
            tree: reply.tree.clone(),
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

/// Refuses variances that are negative by more than rounding.
fn is_variance(values: &[f64]) -> Result<(), Failure> {
    let size = values.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
    match values.iter().position(|&value| value < -PROBE_TOLERANCE * size) {
        None => Ok(()),
        Some(at) => {
            let reason =
                format!("`heterogeneity` is a variance, but {} at place {}", values[at], at + 1);
            Err(Failure::new(Status::Malformed, reason))
        }
    }
}

/// The limits of a band, lower and upper.
type Limits = (Vec<f64>, Vec<f64>);

/// Both limits of a band, or none.
fn band(lower: Option<Vec<f64>>, upper: Option<Vec<f64>>) -> Result<Option<Limits>, Failure> {
    let malformed = |reason: String| Err(Failure::new(Status::Malformed, reason));
    match (lower, upper) {
        (None, None) => Ok(None),
        (Some(lower), Some(upper)) => {
            let crossed = lower.iter().zip(&upper).position(|(lower, upper)| lower > upper);
            match crossed {
                None => Ok(Some((lower, upper))),
                Some(at) => malformed(format!(
                    "`lower` = {} is above `upper` = {} at place {}",
                    lower[at],
                    upper[at],
                    at + 1
                )),
            }
        }
        _ => malformed("a band is of `lower` and `upper`, and one of them is missing".to_owned()),
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
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        0.5 * sorted[middle - 1] + 0.5 * sorted[middle]
    }
}
