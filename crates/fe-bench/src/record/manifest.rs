//! The manifest: where results come from.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::study::Study;
use crate::study::file::StudyFile;
use crate::study::tasks::Shard;
use crate::system::program;

/// The name of the manifest.
pub(super) const MANIFEST: &str = "manifest.json";

/// Version of the layout of a results folder.
pub const SCHEMA: u32 = 2;

/// The versions of everything that the program is built from.
const LOCK_FILE: &[u8] = include_bytes!(env!("FE_BENCH_LOCK"));

/// Everything needed to know where results come from and to get them again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the layout of the folder.
    pub schema: u32,
    /// The master seed.
    pub seed: u64,
    /// The studies, by name, as they were read.
    pub studies: Vec<NamedStudy>,
    /// The command line.
    pub command: Vec<String>,
    /// Version of the program.
    pub program: String,
    /// Commit that the program was built from.
    pub git_commit: String,
    /// True if the files differed from those of the commit; none if nothing is known.
    pub git_dirty: Option<bool>,
    /// SHA-256 of the lock file, which names the version of every library.
    pub lock_sha256: String,
    /// Build profile.
    pub profile: String,
    /// Compiler.
    pub rustc: String,
    /// Processor.
    pub cpu: String,
    /// Processors that could be used.
    pub cores: usize,
    /// Operating system and architecture.
    pub os: String,
    /// Threads that ran cells.
    pub jobs: usize,
    /// The shard of the studies that was run, where it was one.
    pub shard: Option<Shard>,
    /// Number of times that the run was stopped and resumed.
    pub resumed: u32,
    /// Time at which the run started (UTC).
    pub started: String,
    /// Seconds since it was started or last resumed.
    pub wall_seconds: f64,
    /// Provenance of the shards, where the results were merged from some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedShard>,
    /// Provenance of the runs whose results this one added to, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<EarlierRun>,
    /// The SHA-256 of each file beside the manifest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// Provenance of a shard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MergedShard {
    /// The shard.
    pub shard: Shard,
    /// Processor.
    pub cpu: String,
    /// Processors that could be used.
    pub cores: usize,
    /// Threads that ran cells.
    pub jobs: usize,
    /// Number of times that the run was stopped and resumed.
    pub resumed: u32,
    /// Time at which the run started (UTC).
    pub started: String,
    /// Seconds since it was started or last resumed.
    pub wall_seconds: f64,
}

/// Provenance of a run whose results were added to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EarlierRun {
    /// The command line.
    pub command: Vec<String>,
    /// Processor.
    pub cpu: String,
    /// Processors that could be used.
    pub cores: usize,
    /// Threads that ran cells.
    pub jobs: usize,
    /// Time at which the run started (UTC).
    pub started: String,
    /// Seconds since it was started or last resumed.
    pub wall_seconds: f64,
}

/// A study with its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedStudy {
    /// Name of the file, without its ending.
    pub name: String,
    /// The contents of the file.
    pub study: StudyFile,
}

/// The words of the command of this process; what is not UTF-8 in them is replaced.
pub(crate) fn command() -> Vec<String> {
    program::arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Number of the words of a command up to its name, `run` or another: flags of the program may stand before it.
pub(crate) fn named_by(words: &[String]) -> usize {
    let place = words.iter().skip(1).position(|word| !word.starts_with('-'));
    place.map_or(words.len(), |place| place + 2)
}

impl Manifest {
    /// Of a run that starts now.
    #[must_use]
    pub fn starting(studies: &[Study], seed: u64, jobs: usize, shard: Option<Shard>) -> Self {
        let named =
            |study: &Study| NamedStudy { name: study.name.clone(), study: study.file.clone() };
        Self {
            schema: SCHEMA,
            seed,
            studies: studies.iter().map(named).collect(),
            command: command(),
            program: format!("fe-bench {}", env!("CARGO_PKG_VERSION")),
            git_commit: env!("FE_BENCH_COMMIT").to_owned(),
            git_dirty: match env!("FE_BENCH_DIRTY") {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            },
            lock_sha256: hex(&Sha256::digest(LOCK_FILE)),
            profile: env!("FE_BENCH_PROFILE").to_owned(),
            rustc: env!("FE_BENCH_RUSTC").to_owned(),
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            jobs,
            shard,
            resumed: 0,
            started: jiff::Timestamp::now().to_string(),
            wall_seconds: 0.0,
            merged: Vec::new(),
            extended: Vec::new(),
            files: BTreeMap::new(),
        }
    }

    /// The reason why numbers of two runs cannot be compared, in words; none if both are parts of one.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let studies = |manifest: &Self| serde_json::to_value(&manifest.studies).ok();
        let names = |manifest: &Self| {
            manifest.studies.iter().map(|study| study.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let build = |manifest: &Self| {
            let Self { program, git_commit, profile, rustc, lock_sha256, git_dirty, .. } = manifest;
            let dirty = if *git_dirty == Some(true) { " with changes" } else { "" };
            let lock = lock_sha256.get(..12).unwrap_or_default();
            format!("{program}, commit {git_commit}{dirty}, {profile}, {rustc}, lock file {lock}")
        };
        let differ = |what: &str, mine: String, others: String| {
            (mine != others).then(|| format!("{what} {mine}, here {others}"))
        };
        let study = || {
            (studies(self) != studies(other)).then(|| match (names(self), names(other)) {
                (mine, others) if mine == others => {
                    format!("the study {mine} says something else there")
                }
                (mine, others) => format!("the studies there are {mine}, here {others}"),
            })
        };
        study()
            .or_else(|| differ("the seed there is", self.seed.to_string(), other.seed.to_string()))
            .or_else(|| differ("the program there is", build(self), build(other)))
    }
}

/// Reads the manifest of a results folder.
///
/// # Errors
/// What the system reports; a file that is no manifest, or one of another version of this layout.
pub fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join(MANIFEST);
    let text = crate::system::files::text_written(&path)?;
    let manifest: Manifest = serde_json::from_str(&text)
        .map_err(|e| Error::content(&path, format!("not a manifest: {e}")))?;
    if manifest.schema != SCHEMA {
        return Err(Error::content(
            &path,
            format!(
                "layout {} of results, but this program reads layout {SCHEMA}",
                manifest.schema
            ),
        ));
    }
    Ok(manifest)
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the processor, where the system tells it in a file.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(':').nth(1)).map_or("unknown", str::trim).to_owned()
}
