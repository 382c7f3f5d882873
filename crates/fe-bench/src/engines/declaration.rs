//! Engines as they are declared in a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fe_core::indices::Index;
use fe_truth::Quantity;
use serde::Deserialize;

use super::process::{self, Ended};
use crate::error::{Error, Result};
use crate::score::pairs::has_truth;
use crate::system::say;

/// File in which engines are declared unless another one is named.
pub const DEFAULT_FILE: &str = "scripts/adapters/engines.toml";

/// The word for this program in commands.
const THIS_PROGRAM: &str = "{fe-bench}";

/// Time that a version command may take.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    engine: Vec<Engine>,
}

/// An implementation that runs as a process of its own.
///
/// Commands run in the folder of the file that declares them; `{fe-bench}` stands for this program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Its name.
    pub name: String,
    /// Its description, in a line.
    pub about: String,
    /// Prints its version, and fails where the engine cannot be run.
    pub version: Vec<String>,
    /// Installs or builds it.
    #[serde(default)]
    pub install: Vec<String>,
    /// Answers requests (`docs/protocol.md`).
    pub run: Vec<String>,
    /// Removes what `install` made.
    #[serde(default)]
    pub clean: Vec<String>,
    /// Seconds that an answer may take, the start of the process included.
    #[serde(default = "default_time_limit")]
    pub time_limit: f64,
    /// Its effects of one feature, by name.
    #[serde(default)]
    pub effects: BTreeMap<String, Capability>,
    /// Its effects of two features, by name.
    #[serde(default)]
    pub pairs: BTreeMap<String, PairCapability>,
    /// Names of the indices that it estimates.
    #[serde(default)]
    pub indices: Vec<String>,
    /// Folder in which its commands run.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// An effect that an engine estimates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// The truth that its curve estimates.
    pub truth: Quantity,
    /// The truth that its heterogeneity estimates: `h-pdp`, `h-dpdp`, `shap-variance`, or the square
    /// of `sigma`; none if it has no heterogeneity or one without a truth.
    #[serde(default)]
    pub heterogeneity: Option<Quantity>,
    /// True if it gives a band.
    #[serde(default)]
    pub band: bool,
    /// The values that the option `binning` may have; none if it has no bins to choose.
    #[serde(default)]
    pub binnings: Vec<String>,
}

/// An effect of two features that an engine estimates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairCapability {
    /// The truth that it estimates: `pd`, or `ale` for the accumulated effect of the second order.
    pub truth: Quantity,
    /// True if the partial dependences of either feature are taken away.
    #[serde(default)]
    pub interaction: bool,
    /// True if it gives a band.
    #[serde(default)]
    pub band: bool,
    /// The values that the option `binning` may have; none if it has no bins to choose.
    #[serde(default)]
    pub binnings: Vec<String>,
}

fn default_time_limit() -> f64 {
    60.0
}

/// The engines that a file declares.
///
/// # Errors
/// A file that cannot be read or says something that makes no sense.
pub fn read(path: &Path) -> Result<Vec<Engine>> {
    let text = crate::system::files::text(path)?;
    let wrong = |message: String| Error::content(path, message);
    let File { engine: mut engines } = toml::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = std::path::absolute(folder).map_err(Error::file(folder))?;
    for i in 0..engines.len() {
        engines[i].check().map_err(|e| wrong(format!("engine `{}`: {e}", engines[i].name)))?;
        if engines[..i].iter().any(|other| other.name == engines[i].name) {
            return Err(wrong(format!("two engines are called `{}`", engines[i].name)));
        }
        engines[i].folder.clone_from(&folder);
    }
    Ok(engines)
}

impl Engine {
    fn check(&self) -> Result<(), String> {
        let is_name = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.chars().all(plain)
        };
        for (key, text) in [("about", &self.about), ("install", &self.install.join(" "))] {
            if text.chars().any(char::is_control) {
                return Err(format!("`{key}`: must be a line without control characters"));
            }
        }
        if !is_name(&self.name) {
            return Err("`name`: must be of letters, digits, `-`, `_` and `.`".to_owned());
        }
        for (key, command) in [("version", &self.version), ("run", &self.run)] {
            if command.first().is_none_or(String::is_empty) {
                return Err(format!("`{key}` is empty: a program with its arguments is needed"));
            }
        }
        if !(self.time_limit > 0.0 && self.time_limit <= 1e6) {
            return Err(format!(
                "`time_limit` = {}: must be a number of seconds above 0, at most a million",
                self.time_limit
            ));
        }
        let of_effects = self.effects.values().flat_map(|capability| &capability.binnings);
        let of_pairs = self.pairs.values().flat_map(|capability| &capability.binnings);
        let mut binnings = of_effects.chain(of_pairs);
        if let Some(binning) = binnings.find(|binning| !is_name(binning)) {
            return Err(format!(
                "binning `{binning}`: must be of letters, digits, `-`, `_` and `.`"
            ));
        }
        for (name, capability) in &self.effects {
            capability.check().map_err(|e| format!("effect `{name}`: {e}"))?;
            if !is_name(name) {
                return Err(format!(
                    "effect `{name}`: must be of letters, digits, `-`, `_` and `.`"
                ));
            }
        }
        for (name, capability) in &self.pairs {
            capability.check().map_err(|e| format!("effect of pairs `{name}`: {e}"))?;
            if !is_name(name) {
                return Err(format!(
                    "effect of pairs `{name}`: must be of letters, digits, `-`, `_` and `.`"
                ));
            }
        }
        for (place, name) in self.indices.iter().enumerate() {
            let index: Index = name.parse().map_err(|e: fe_core::Error| e.to_string())?;
            if !has_truth(index) {
                return Err(format!(
                    "`indices`: {index} has no truth that it could be held against"
                ));
            }
            if self.indices[..place].contains(name) {
                return Err(format!("`indices`: {index} is there twice"));
            }
        }
        if self.effects.is_empty() && self.pairs.is_empty() && self.indices.is_empty() {
            let needed = "at least one is needed, or one of `pairs`, or of `indices`";
            return Err(format!("`effects` is empty: {needed}"));
        }
        Ok(())
    }

    /// Time that an answer may take.
    #[must_use]
    pub fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.time_limit)
    }

    /// One of its commands, to be run in its folder.
    #[must_use]
    pub fn command(&self, words: &[String]) -> Command {
        let program = words.first().map(String::as_str).unwrap_or_default();
        let mut command = match program {
            THIS_PROGRAM => crate::system::program::anew(),
            // A path is one in the folder; a bare name is looked up by the system.
            path if path.contains('/') => Command::new(self.folder.join(path)),
            name => Command::new(name),
        };
        command.args(words.iter().skip(1)).current_dir(&self.folder);
        command
    }

    /// Its version if it can be run here, or why it cannot.
    ///
    /// # Errors
    /// The reason in words.
    pub fn version(&self) -> Result<String, String> {
        let ended = process::run(self.command(&self.version), VERSION_LIMIT);
        let program = self.version.first().map(String::as_str).unwrap_or_default();
        let Ended { status, last_output, last_error } =
            ended.map_err(|reason| say::echo(&format!("`{program}` {reason}")))?;
        match (status.success(), last_error) {
            (true, _) => Ok(last_output),
            (false, said) if said.is_empty() => Err(status.to_string()),
            (false, said) => Err(said),
        }
    }
}

impl Capability {
    fn check(&self) -> Result<(), String> {
        let curves =
            [Quantity::Pd, Quantity::Dpd, Quantity::Mplot, Quantity::Ale, Quantity::AleDerivative];
        if !(curves.contains(&self.truth) || self.truth == Quantity::Shap) {
            return Err(format!(
                "`truth` = {}: must be pd, dpd, mplot, ale, ale-derivative or shap",
                self.truth
            ));
        }
        let spreads = [Quantity::HPdp, Quantity::HDpdp, Quantity::Sigma, Quantity::ShapVariance];
        match self.heterogeneity {
            Some(other) if !spreads.contains(&other) => Err(format!(
                "`heterogeneity` = {other}: must be h-pdp, h-dpdp, sigma or shap-variance"
            )),
            _ => Ok(()),
        }
    }
}

impl PairCapability {
    fn check(&self) -> Result<(), String> {
        match (self.truth, self.interaction) {
            (Quantity::Pd, _) | (Quantity::Ale, false) => Ok(()),
            (Quantity::Ale, true) => {
                Err("`interaction`: the ALE of a pair is without those of either feature anyway"
                    .to_owned())
            }
            (other, _) => Err(format!("`truth` = {other}: must be pd or ale")),
        }
    }
}
