//! A dataset laid out for engines, and what they answer about it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use fe_core::Axis;
use fe_core::indices::Index;
use fe_core::model::Rows;
use fe_core::{AxisChoice, Dataset};
use fe_truth::Scenario;

use super::answer::{Answer, IndexAnswer, PROBE_TOLERANCE, PairAnswer};
use super::desk::{self, Desk};
use super::message::{AskedIndex, EngineRequest, Origin, PROTOCOL, Reply};
use super::status::{Failure, Status};
use super::{Engines, External};
use crate::system::clock::Taken;

/// Rows at which an engine's model is compared with the scenario's.
const PROBES: usize = 16;

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

    /// Asks an engine for the effect of a feature, and checks what it answers.
    ///
    /// # Errors
    /// Whatever keeps the answer from counting.
    pub fn ask(&self, external: &External, place: Place<'_>) -> Result<Answer, Failure> {
        let (_, capability) =
            self.engines.find(&external.engine, &external.effect).map_err(unsupported)?;
        check_binning(external, &capability.binnings)?;
        let axis = self.axis(place)?;
        let question = Question { places: &[place], indices: Vec::new() };
        let (answer, peak_bytes) = self.exchange(external, &question, |reply, folder| {
            Answer::read(reply, folder, axis, level(external))
        })?;
        Ok(Answer {
            truth: capability.truth,
            true_heterogeneity: capability.heterogeneity,
            taken: Taken { peak_bytes, ..answer.taken },
            ..answer
        })
    }

    /// Asks an engine for the effect of a pair of features, and checks what it answers.
    ///
    /// # Errors
    /// Whatever keeps the answer from counting.
    pub fn ask_pair(
        &self,
        external: &External,
        places: [Place<'_>; 2],
    ) -> Result<PairAnswer, Failure> {
        let found = self.engines.find_pair(&external.engine, &external.effect);
        let capability = found.map_err(unsupported)?;
        check_binning(external, &capability.binnings)?;
        let features = places.map(|place| place.feature);
        let names = features.map(|feature| self.scenario.feature_name(feature));
        let question = Question { places: &places, indices: Vec::new() };
        let (answer, peak_bytes) = self.exchange(external, &question, |reply, folder| {
            let of = (features, names);
            let all = (self.data.len(), level(external));
            PairAnswer::read(reply, folder, capability, of, all)
        })?;
        Ok(PairAnswer { taken: Taken { peak_bytes, ..answer.taken }, ..answer })
    }

    /// Asks an engine for indices, each of some features, and checks what it answers.
    ///
    /// # Errors
    /// Whatever keeps the answer from counting.
    pub fn ask_indices(
        &self,
        external: &External,
        asked: &[(Index, Vec<usize>)],
    ) -> Result<IndexAnswer, Failure> {
        self.engines.check(external).map_err(unsupported)?;
        let index = |(index, features): &(Index, Vec<usize>)| AskedIndex {
            index: index.name().to_owned(),
            features: features.iter().map(|&feature| named(feature)).collect(),
        };
        let question = Question { places: &[], indices: asked.iter().map(index).collect() };
        let (answer, peak_bytes) = self.exchange(external, &question, |reply, folder| {
            IndexAnswer::read(reply, folder, (asked.len(), level(external)))
        })?;
        Ok(IndexAnswer { taken: Taken { peak_bytes, ..answer.taken }, ..answer })
    }

    /// Asks a question, and reads the reply once it is known to be about the data and the function.
    fn exchange<T>(
        &self,
        external: &External,
        question: &Question<'_>,
        read: impl FnOnce(&Reply, &Path) -> Result<T, Failure>,
    ) -> Result<(T, Option<u64>), Failure> {
        // An engine that cannot be run here needs no data.
        self.engines.version(&external.engine).map_err(unsupported)?;
        let kept = self.desks.borrow_mut().remove(&external.engine);
        let desk = kept.map_or_else(|| Desk::new(self.data), Ok)?;
        let grid = |side: usize| question.places.get(side).map(|place| place.grid);
        desk.set(grid(0).unwrap_or_default(), grid(1))?;
        let checked = |reply: &Reply| {
            desk.check(self.data)?;
            let feature = question.places.first().map(|place| place.feature);
            self.check_probe(reply, desk.folder(), feature)?;
            read(reply, desk.folder())
        };
        let request = self.request(external, &desk, question)?;
        let asked = self.engines.ask(&external.engine, request, checked);
        // After anything that went wrong otherwise, nobody knows what still happens in the folder.
        if asked.as_ref().map_or_else(Failure::is_said, |_| true) {
            self.desks.borrow_mut().insert(external.engine.clone(), desk);
        }
        asked
    }

    /// The name of the scenario. One in a file is not that of the same name that a program may have.
    fn origin(&self) -> String {
        let id = self.scenario.id();
        if self.scenario.text().is_some() { format!("file:{id}") } else { id }
    }

    fn axis(&self, place: Place<'_>) -> Result<Axis, Failure> {
        let failed = |e: fe_core::Error| Failure::new(Status::Error, e.to_string());
        place.axis.resolve(self.data, place.feature).map_err(failed)
    }

    fn request(
        &self,
        external: &External,
        desk: &Desk,
        question: &Question<'_>,
    ) -> Result<EngineRequest, Failure> {
        let place = |side: usize| question.places.get(side).copied();
        let name = |side: usize| place(side).map(|place| named(place.feature));
        let axis = |side: usize| -> Result<Option<[f64; 2]>, Failure> {
            let given = place(side).filter(|place| place.axis != AxisChoice::Data);
            let axis = given.map(|place| self.axis(place)).transpose()?;
            Ok(axis.map(|axis| [axis.lo(), axis.hi()]))
        };
        Ok(EngineRequest {
            protocol: PROTOCOL,
            id: 0,
            effect: external.effect.clone(),
            feature: name(0).unwrap_or_default(),
            feature2: name(1),
            indices: question.indices.clone(),
            options: external.options.clone(),
            scenario: Origin { name: self.origin(), parameters: self.scenario.parameters() },
            rows: self.data.len(),
            features: self.data.dimension(),
            data: desk.path(desk::DATA),
            axis: axis(0)?,
            grid: desk.path(desk::GRID),
            points: place(0).map_or(0, |place| place.grid.len()),
            axis2: axis(1)?,
            grid2: place(1).map(|_| desk.path(desk::GRID2)),
            points2: place(1).map(|place| place.grid.len()),
            model: self.scenario.expression().clone(),
            partials: self.partials.clone(),
            probe: (0..self.probes()).map(|i| self.data.row(i).to_vec()).collect(),
            repetitions: self.repetitions.most,
            seconds: self.repetitions.seconds,
            folder: desk.path(""),
        })
    }

    fn probes(&self) -> usize {
        PROBES.min(self.data.len())
    }

    /// Refuses an answer that is about another function.
    fn check_probe(
        &self,
        reply: &Reply,
        folder: &Path,
        feature: Option<usize>,
    ) -> Result<(), Failure> {
        let failed = |e: fe_core::ModelError| Failure::new(Status::Error, e.to_string());
        let columns = self.data.columns(0..self.probes());
        let rows = Rows::new(&columns, self.probes());
        let mut native = vec![0.0; self.probes()];
        let model = self.scenario.model();
        model.predict(&rows, &mut native).map_err(failed)?;
        compare("probe", &reply.probe.read(folder, "probe")?, &native)?;
        let (Some(partial), Some(feature)) = (&reply.probe_partial, feature) else { return Ok(()) };
        model.partial(feature, &rows, &mut native).map_err(failed)?;
        compare("probe_partial", &partial.read(folder, "probe_partial")?, &native)
    }
}

/// The question to an engine: of one feature, of two, or of indices.
struct Question<'a> {
    places: &'a [Place<'a>],
    indices: Vec<AskedIndex>,
}

fn unsupported(reason: String) -> Failure {
    Failure::new(Status::Unsupported, reason)
}

/// A feature as requests call it.
fn named(feature: usize) -> String {
    format!("x{}", feature + 1)
}

/// The confidence level that an engine is asked for, if any.
fn level(external: &External) -> Option<f64> {
    external.options.get("level").and_then(serde_json::Value::as_f64)
}

/// Refuses a binning that an engine is not declared to have.
fn check_binning(external: &External, binnings: &[String]) -> Result<(), Failure> {
    match external.options.get("binning") {
        Some(binning) if !binnings.iter().any(|known| Some(known.as_str()) == binning.as_str()) => {
            let known = binnings.join(", ");
            let known = if known.is_empty() { "it has none to choose" } else { &known };
            Err(unsupported(format!("`binning` = {binning}: {known}")))
        }
        _ => Ok(()),
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
