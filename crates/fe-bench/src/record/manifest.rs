//! The manifest: where results come from.

use serde::{Deserialize, Serialize};

use crate::study::Study;
use crate::study::wire::StudyFile;

/// Version of the layout of a results folder.
pub const SCHEMA: u32 = 1;

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
    /// When the run started (UTC).
    pub started: String,
    /// How long it took, in seconds.
    pub wall_seconds: f64,
}

/// A study with its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedStudy {
    /// Name of the file, without its ending.
    pub name: String,
    /// What the file said.
    pub study: StudyFile,
}

impl Manifest {
    /// Of a run that starts now.
    #[must_use]
    pub fn starting(studies: &[Study], seed: u64, jobs: usize) -> Self {
        let named =
            |study: &Study| NamedStudy { name: study.name.clone(), study: study.file.clone() };
        Self {
            schema: SCHEMA,
            seed,
            studies: studies.iter().map(named).collect(),
            command: std::env::args().collect(),
            program: format!("fe-bench {}", env!("CARGO_PKG_VERSION")),
            git_commit: env!("FE_BENCH_COMMIT").to_owned(),
            profile: env!("FE_BENCH_PROFILE").to_owned(),
            rustc: env!("FE_BENCH_RUSTC").to_owned(),
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            jobs,
            started: jiff::Timestamp::now().to_string(),
            wall_seconds: 0.0,
        }
    }
}

/// The name of the processor, where the system tells it in a file.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(':').nth(1)).map_or("unknown", str::trim).to_owned()
}
