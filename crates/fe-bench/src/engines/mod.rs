//! Implementations in any language: declared in a file, run as processes, timed by themselves, and scored by the
//! harness alone. `docs/protocol.md` says how they are asked and what they answer.
//!
//! It imports `score`, `data` and what these import. Begin with [`message`]: what goes over and comes back.

mod answer;
pub mod declaration;
mod desk;
pub mod message;
mod process;
mod score;
pub mod serve;
mod status;
mod workspace;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

pub use answer::{Answer, IndexAnswer, PairAnswer};
use declaration::{Capability, Engine, PairCapability};
use fe_core::indices::Index;
use message::{EngineRequest, Reply};
use process::Worker;
pub use status::{Failure, Status};
pub use workspace::{Place, Repetitions, Workspace};

use crate::error::{Result, listed, suggestion};

/// The engines of a file, and the processes of them that wait for requests.
#[derive(Debug, Default)]
pub struct Engines {
    engines: Vec<Known>,
    asked: AtomicU64,
    shows_errors: bool,
}

#[derive(Debug)]
struct Known {
    engine: Engine,
    /// Its version, or why it cannot be run here; found out when it is needed.
    version: OnceLock<Result<String, String>>,
    idle: Mutex<Vec<Worker>>,
}

impl Engines {
    /// Those that a file declares.
    ///
    /// # Errors
    /// As [`declaration::read`].
    pub fn read(path: &Path) -> Result<Self> {
        let known = |engine| Known { engine, version: OnceLock::new(), idle: Mutex::default() };
        let engines = declaration::read(path)?.into_iter().map(known).collect();
        Ok(Self { engines, asked: AtomicU64::new(0), shows_errors: false })
    }

    /// Lets what their processes write on standard error through, for people who write one.
    #[must_use]
    pub fn showing_errors(self) -> Self {
        Self { shows_errors: true, ..self }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Engine> {
        self.engines.iter().map(|known| &known.engine)
    }

    /// The version of an engine of a name, or why it cannot be run here: its version command is run
    /// when this is asked for the first time.
    ///
    /// # Errors
    /// The reason in words; an engine that is not declared.
    pub fn version(&self, engine: &str) -> Result<&str, String> {
        self.known(engine)?.version().as_deref().map_err(Clone::clone)
    }

    /// The engine of a name, with the effect of a name.
    ///
    /// # Errors
    /// A message that names those that there are.
    pub fn find(&self, engine: &str, effect: &str) -> Result<(&Engine, &Capability), String> {
        let known = self.known(engine)?;
        let effects = || known.engine.effects.keys().map(String::as_str);
        match known.engine.effects.get(effect) {
            Some(capability) => Ok((&known.engine, capability)),
            None => Err(lacking(engine, "effect", effect, effects)),
        }
    }

    /// The effect of two features of a name, of the engine of a name.
    ///
    /// # Errors
    /// A message that names those that there are.
    pub fn find_pair(&self, engine: &str, effect: &str) -> Result<&PairCapability, String> {
        let pairs = &self.known(engine)?.engine.pairs;
        let names = || pairs.keys().map(String::as_str);
        pairs.get(effect).ok_or_else(|| lacking(engine, "effect of pairs", effect, names))
    }

    /// Refuses an engine that is not declared, or that is not declared to have what is asked for.
    ///
    /// # Errors
    /// A message that names those that there are.
    pub fn check(&self, external: &External) -> Result<(), String> {
        let External { engine, effect, of, .. } = external;
        match of {
            Asks::Feature => self.find(engine, effect).map(drop),
            Asks::Pair => self.find_pair(engine, effect).map(drop),
            Asks::Indices(asked) => {
                let known = &self.known(engine)?.engine.indices;
                let names = || known.iter().map(String::as_str);
                match asked.iter().find(|index| !names().any(|name| name == index.name())) {
                    Some(index) => Err(lacking(engine, "index", index.name(), names)),
                    None => Ok(()),
                }
            }
        }
    }

    fn known(&self, name: &str) -> Result<&Known, String> {
        let names = || self.engines.iter().map(|known| known.engine.name.as_str());
        self.engines.iter().find(|known| known.engine.name == name).ok_or_else(|| {
            format!(
                "no engine `{name}` is declared{}; there are: {}",
                suggestion(name, names()),
                listed(names())
            )
        })
    }

    /// Asks an engine, and reads its reply. A process that does not answer as it should is not asked
    /// again.
    fn ask<T>(
        &self,
        engine: &str,
        mut request: EngineRequest,
        read: impl FnOnce(&Reply) -> Result<T, Failure>,
    ) -> Result<(T, Option<u64>), Failure> {
        let unsupported = |reason: String| Failure::new(Status::Unsupported, reason);
        let known = self.known(engine).map_err(unsupported)?;
        known.version().as_ref().map_err(|reason| unsupported(reason.clone()))?;
        request.id = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let question = serde_json::to_vec(&request).map_err(|e| {
            Failure::new(Status::Error, format!("the request cannot be written: {e}"))
        })?;
        let waiting = known.idle().pop();
        let mut worker = match waiting {
            Some(worker) => worker,
            None => Worker::start(known.engine.command(&known.engine.run), self.shows_errors)
                .map_err(|e| unsupported(format!("it cannot be started: {}", e.kind())))?,
        };
        let answer = worker.ask(question, known.engine.limit())?;
        let result = Reply::parse(&answer.line, request.id).and_then(|reply| read(&reply));
        if result.as_ref().map_or_else(Failure::is_said, |_| true) {
            known.idle().push(worker);
        }
        Ok((result?, answer.peak_bytes))
    }
}

fn lacking<'a, N: Iterator<Item = &'a str>>(
    engine: &str,
    what: &str,
    name: &str,
    names: impl Fn() -> N,
) -> String {
    match names().next() {
        None => format!("the engine {engine} has no {what} `{name}`; it has none at all"),
        Some(_) => format!(
            "the engine {engine} has no {what} `{name}`{}; it has {}",
            suggestion(name, names()),
            listed(names())
        ),
    }
}

impl Known {
    fn version(&self) -> &Result<String, String> {
        self.version.get_or_init(|| self.engine.version())
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An external estimator, as a study asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    /// Name of the engine.
    pub engine: String,
    /// Name of the effect; of indices that of all of them, [`INDICES`].
    pub effect: String,
    /// The kind of answer that is asked for.
    pub of: Asks,
    /// Its options.
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// The effect in a request for indices.
pub const INDICES: &str = "indices";

/// The kinds of answers of engines.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// The effect of a feature.
    Feature,
    /// The effect of a pair of features.
    Pair,
    /// Indices.
    Indices(Vec<Index>),
}
