//! Pieces of work: estimators with their options, by name.

use fe_core::estimator::{self, Estimator};
use fe_core::regional::{self, Regional};
use fe_core::{Dataset, Model, Settings, preset};

use crate::Result;

/// An estimator with options, under a name that reports show.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Name in reports and in the file of instruction counts.
    pub name: &'static str,
    /// Name of the estimator, which may be a regional one.
    pub estimator: &'static str,
    /// Its options, as they are written in study files.
    pub options: &'static str,
    /// The most rows for which it takes less than about a second.
    pub most_rows: usize,
}

/// Every estimator, `rhale` with every binning.
pub const ALL: &[Work] = &[
    Work::new("pdp", "pdp", "grid = 100"),
    Work::new("pdp curve", "pdp", "grid = 100, curve_only = true"),
    Work::new("dpdp", "dpdp", "grid = 100"),
    Work::new("ice", "ice", "grid = 100").up_to(100_000),
    Work::new("dice", "dice", "grid = 100").up_to(100_000),
    Work::new("mplot of bins", "mplot", "bins = 20"),
    Work::new("mplot of nearest", "mplot", "nearest = 100, grid = 100"),
    Work::new("ale fixed", "ale", "bins = 100"),
    Work::new("ale on a part", "ale", "bins = 100, axis.given = [0.1, 0.9]"),
    Work::new("ale quantile", "ale", "binning = 'quantile', bins = 100"),
    Work::new("ale quantile-min", "ale", "binning = 'quantile-min', min_points = 100.0"),
    Work::new("dale fixed", "dale", "bins = 100"),
    Work::new("rhale dp", "rhale", "bins = 100"),
    Work::new("rhale greedy", "rhale", "binning = 'greedy', bins = 100"),
    Work::new("rhale agglomerative", "rhale", "binning = 'agglomerative', bins = 100"),
    Work::new("rhale fixed", "rhale", "binning = 'fixed', bins = 100"),
    Work::new("rhale quantile", "rhale", "binning = 'quantile', bins = 100"),
    Work::new("rhale quantile-min", "rhale", "binning = 'quantile-min', min_points = 100.0"),
    Work::new("rhale penalized", "rhale", "binning = 'penalized'").up_to(100_000),
    Work::new("rhale grid", "rhale", "binning = 'grid', limits = [0.1, 0.2, 0.4, 0.45, 0.5, 0.9]"),
    // Every row is explained on the background of all others.
    Work::new("shapdp", "shapdp", "").up_to(200),
    Work::new("shapdp permutations", "shapdp", "permutations = 4, background = 100").up_to(1_000),
    Work::new("regional-pdp", "regional-pdp", "grid = 30").up_to(100_000),
    Work::new("regional-dpdp", "regional-dpdp", "grid = 30").up_to(100_000),
    Work::new("regional-ale", "regional-ale", "bins = 20"),
    Work::new("regional-rhale", "regional-rhale", "bins = 20"),
    Work::new("regional-shapdp", "regional-shapdp", "background = 50").up_to(1_000),
];

/// The work of a name.
///
/// # Errors
/// An unknown name.
pub fn named(name: &str) -> Result<Work> {
    let known = ALL.iter().find(|work| work.name == name);
    known.copied().ok_or_else(|| format!("no work is called `{name}`").into())
}

impl Work {
    /// An estimator with options.
    #[must_use]
    pub const fn new(name: &'static str, estimator: &'static str, options: &'static str) -> Self {
        Self { name, estimator, options, most_rows: usize::MAX }
    }

    const fn up_to(self, most_rows: usize) -> Self {
        Self { most_rows, ..self }
    }

    /// Its options.
    ///
    /// # Errors
    /// Options that do not exist.
    pub fn settings(&self) -> Result<Settings> {
        settings(self.options)
    }

    /// The estimator.
    ///
    /// # Errors
    /// Options that the estimator does not take.
    pub fn prepare(&self) -> Result<Piece> {
        Piece::new(self.estimator, None, self.settings()?)
    }
}

/// Options from the inside of a table in TOML.
///
/// # Errors
/// Text that is no table, and options that do not exist.
pub fn settings(options: &str) -> Result<Settings> {
    #[derive(serde::Deserialize)]
    struct Wrapped {
        options: Settings,
    }
    Ok(toml::from_str::<Wrapped>(&format!("options = {{ {options} }}"))?.options)
}

/// An estimator of either kind, ready to work.
#[derive(Debug)]
pub enum Piece {
    /// Of one effect for all instances.
    Global(Box<dyn Estimator>),
    /// Of effects region by region.
    Regional(Box<Regional>),
}

impl Piece {
    /// The estimator of a name with options, and those of a preset where they are not given.
    ///
    /// # Errors
    /// An unknown name, and options that the estimator does not take.
    pub fn new(name: &str, of: Option<&str>, settings: Settings) -> Result<Self> {
        if name.starts_with("regional-") {
            return Ok(Self::Regional(Box::new(regional::from_settings(name, &settings)?)));
        }
        let settings = match of {
            Some(of) => preset::complete(of, name, settings)?,
            None => settings,
        };
        Ok(Self::Global(estimator::from_settings(name, &settings)?))
    }

    /// The effect of a feature, counted from 0, or its regional effect, as JSON would have it.
    ///
    /// # Errors
    /// Those of the estimator.
    pub fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Box<dyn erased::Bytes>> {
        Ok(match self {
            Self::Global(estimator) => Box::new(estimator.estimate(data, model, feature)?),
            Self::Regional(regional) => Box::new(regional.fit(data, model, feature)?),
        })
    }
}

/// Effects of either kind, of which only the bytes are of interest.
pub mod erased {
    use serde::Serialize;

    use crate::Result;

    /// Something that has bytes.
    pub trait Bytes: Send {
        /// Its JSON.
        ///
        /// # Errors
        /// What cannot be written.
        fn bytes(&self) -> Result<Vec<u8>>;
    }

    impl<T: Serialize + Send> Bytes for T {
        fn bytes(&self) -> Result<Vec<u8>> {
            Ok(serde_json::to_vec(self)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_estimator_and_every_binning_is_measured() {
        let measured = |name: &str| ALL.iter().any(|work| work.estimator == name);
        for info in estimator::ALL {
            assert!(measured(info.name), "{}", info.name);
        }
        for info in regional::ALL {
            assert!(measured(info.name), "{}", info.name);
        }
        for info in fe_core::binning::ALL {
            let rhale = ALL.iter().any(|work| work.name == format!("rhale {}", info.name));
            assert!(rhale, "{}", info.name);
        }
    }

    #[test]
    fn all_works_run() {
        let scenario = crate::friedman1(5).unwrap();
        let data = crate::data(&scenario, 150).unwrap();
        for work in ALL {
            let piece = work.prepare().unwrap_or_else(|e| panic!("{}: {e}", work.name));
            let effect = piece.estimate(&data, scenario.model(), 0);
            effect.unwrap_or_else(|e| panic!("{}: {e}", work.name)).bytes().unwrap();
        }
    }
}
