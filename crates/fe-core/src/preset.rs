//! Named presets: sets of options with which the numbers of other libraries come out.
//!
//! May import `estimator` and what lies below. Begin with [`ALL`].
//!
//! A preset is nothing but settings: whatever a library does differently is an option that can be
//! given without it. Presets are about continuous features. A new preset is an entry of [`ALL`].
//!
//! ```
//! use fe_core::{Settings, estimator, preset};
//! let of_effector = preset::settings("effector-0.6", "rhale")?;
//! assert_eq!(of_effector.discount, Some(0.3));
//! // Options given explicitly win, and another binning brings its own.
//! let given = Settings { binning: Some("quantile".to_owned()), ddof: Some(1), ..Settings::default() };
//! let mine = preset::complete("effector-0.6", "rhale", given)?;
//! assert_eq!((mine.ddof, mine.bins, mine.discount), (Some(1), Some(20), None));
//! let rhale = estimator::from_settings("rhale", &mine)?;
//! # drop(rhale);
//! # Ok::<(), fe_core::Error>(())
//! ```

use crate::data::AxisChoice;
use crate::error::{Error, Result};
use crate::estimator;
use crate::numeric::partition::Closed;
use crate::numeric::quantiles::QuantileRule;
use crate::settings::{CenterRule, Centring};
use crate::settings::{EmptyBins, Settings};

/// Name of an estimator, and its options.
type Covered = (&'static str, fn() -> Settings);

/// The options of a library, or of a study, for the estimators that it has.
pub struct Preset {
    /// Its name: that of the library with its version.
    pub name: &'static str,
    /// A description in a line.
    pub about: &'static str,
    /// The options of each estimator that it covers, but those of a binning.
    estimators: &'static [Covered],
    /// The options of a binning.
    binning: fn(&str) -> Settings,
}

impl Preset {
    /// The estimators that it covers.
    pub fn estimators(&self) -> impl Iterator<Item = &'static str> {
        self.estimators.iter().map(|(name, _)| *name)
    }

    /// The options of an estimator.
    ///
    /// # Errors
    /// [`Error::BadOption`] for an unknown estimator, [`Error::Incompatible`] for one that the preset
    /// does not cover.
    pub fn settings(&self, estimator: &str) -> Result<Settings> {
        self.complete(estimator, Settings::default())
    }

    /// Some options of an estimator, with those of the preset where they are not given. With another
    /// binning than its first one come the options that the preset has for that binning.
    ///
    /// # Errors
    /// As [`Preset::settings`].
    pub fn complete(&self, estimator: &str, given: Settings) -> Result<Settings> {
        let estimator = estimator::info(estimator)?.name;
        let Some((_, settings)) = self.estimators.iter().find(|(name, _)| *name == estimator)
        else {
            let names: Vec<&str> = self.estimators().collect();
            return Err(Error::Incompatible(format!(
                "the preset `{}` has nothing for `{estimator}`: it covers {}",
                self.name,
                names.join(", ")
            )));
        };
        let settings = given.or(&settings());
        let of_binning = settings.binning.as_deref().map(self.binning).unwrap_or_default();
        Ok(settings.or(&of_binning))
    }
}

/// All presets.
pub const ALL: &[Preset] = &[
    Preset {
        name: "effector-0.6",
        about: "the defaults of effector 0.6: its ALE, RHALE, PDP and DerPDP",
        estimators: &[
            ("ale", effector_ale),
            ("rhale", effector_rhale),
            ("pdp", effector_pdp),
            ("dpdp", effector_dpdp),
        ],
        binning: effector_binning,
    },
    Preset {
        name: "alibi-0.9",
        about: "the defaults of alibi 0.9: its ALE",
        estimators: &[("ale", alibi_ale)],
        binning: alibi_binning,
    },
    Preset {
        name: "pyale-1.2",
        about: "the defaults of PyALE 1.2 for continuous features, with the variance of its intervals",
        estimators: &[("ale", pyale_ale)],
        binning: pyale_binning,
    },
    Preset {
        name: "sklearn-1.9",
        about: "the defaults of partial_dependence in scikit-learn 1.9, method brute",
        estimators: &[("pdp", sklearn_pdp)],
        binning: |_| Settings::default(),
    },
    Preset {
        name: "heiss-2026",
        about: "the estimators of Heiß et al. (2026); their grid is quantiles of the law: give it as \
                limits",
        estimators: &[("ale", heiss_ale), ("pdp", heiss_pdp)],
        binning: heiss_binning,
    },
];

/// The preset of a name.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name.
pub fn preset(name: &str) -> Result<&'static Preset> {
    estimator::named("preset", name, ALL, |preset| preset.name)
}

/// The options of an estimator in the preset of a name.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name or estimator, [`Error::Incompatible`] for an estimator
/// that the preset does not cover.
pub fn settings(name: &str, estimator: &str) -> Result<Settings> {
    preset(name)?.settings(estimator)
}

/// Some options of an estimator, with those of the preset of a name where they are not given; see
/// [`Preset::complete`].
///
/// # Errors
/// As [`settings`].
pub fn complete(name: &str, estimator: &str, given: Settings) -> Result<Settings> {
    preset(name)?.complete(estimator, given)
}

/// Options that both accumulated effects of effector share.
fn effector_accumulated() -> Settings {
    Settings {
        center: Some(Centring::Integral),
        center_rule: Some(CenterRule::Midpoints),
        center_points: Some(30),
        ddof: Some(0),
        empty: Some(EmptyBins::InterpolateIndex),
        fill_variances: Some(true),
        closed: Some(Closed::Left),
        extrapolate: Some(true),
        ..Settings::default()
    }
}

fn effector_ale() -> Settings {
    Settings { binning: Some("fixed".to_owned()), ..effector_accumulated() }
}

fn effector_rhale() -> Settings {
    Settings { binning: Some("dp".to_owned()), ..effector_accumulated() }
}

fn effector_binning(name: &str) -> Settings {
    match name {
        "fixed" => Settings { bins: Some(20), distinct: Some(0), ..Settings::default() },
        "quantile" => Settings { bins: Some(20), ..Settings::default() },
        "dp" | "agglomerative" => Settings {
            bins: Some(20),
            min_points: Some(2.0),
            discount: Some(0.3),
            distinct: Some(0),
            ..Settings::default()
        },
        _ => Settings::default(),
    }
}

fn effector_pdp() -> Settings {
    Settings {
        grid: Some(30),
        center: Some(Centring::Integral),
        center_rule: Some(CenterRule::Points),
        center_points: Some(30),
        ddof: Some(0),
        raw_ice: Some(false),
        grid_heterogeneity: Some(true),
        ..Settings::default()
    }
}

fn effector_dpdp() -> Settings {
    Settings { center: Some(Centring::None), raw_ice: Some(true), ..effector_pdp() }
}

fn alibi_ale() -> Settings {
    Settings {
        binning: Some("quantile-min".to_owned()),
        center: Some(Centring::Bins),
        empty: Some(EmptyBins::Merge),
        closed: Some(Closed::Right),
        ..Settings::default()
    }
}

fn alibi_binning(name: &str) -> Settings {
    match name {
        "quantile-min" => {
            Settings { min_points: Some(4.0), distinct: Some(10), ..Settings::default() }
        }
        "fixed" => Settings { distinct: Some(0), ..Settings::default() },
        _ => Settings::default(),
    }
}

fn pyale_ale() -> Settings {
    Settings {
        binning: Some("quantile".to_owned()),
        center: Some(Centring::Bins),
        ddof: Some(1),
        closed: Some(Closed::Right),
        undivided: Some(true),
        ..Settings::default()
    }
}

fn pyale_binning(name: &str) -> Settings {
    match name {
        "quantile" => Settings {
            bins: Some(20),
            quantiles: Some(QuantileRule::Type1Below),
            ..Settings::default()
        },
        _ => Settings::default(),
    }
}

fn sklearn_pdp() -> Settings {
    Settings {
        grid: Some(100),
        distinct: Some(99),
        axis: Some(AxisChoice::Quantiles { from: 0.05, to: 0.95, rule: QuantileRule::Cunnane }),
        center: Some(Centring::None),
        raw_ice: Some(true),
        ddof: Some(0),
        ..Settings::default()
    }
}

fn heiss_ale() -> Settings {
    Settings {
        binning: Some("quantile".to_owned()),
        center: Some(Centring::Bins),
        empty: Some(EmptyBins::Zero),
        closed: Some(Closed::Right),
        ..Settings::default()
    }
}

fn heiss_binning(name: &str) -> Settings {
    match name {
        "fixed" => Settings { bins: Some(99), distinct: Some(0), ..Settings::default() },
        "quantile" => Settings { bins: Some(99), ..Settings::default() },
        _ => Settings::default(),
    }
}

fn heiss_pdp() -> Settings {
    Settings {
        grid: Some(100),
        center: Some(Centring::Integral),
        center_rule: Some(CenterRule::Points),
        center_points: Some(100),
        ..Settings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_taken_by_its_estimators() {
        for preset in ALL {
            for estimator in preset.estimators() {
                let settings = preset.settings(estimator).unwrap();
                estimator::from_settings(estimator, &settings)
                    .unwrap_or_else(|e| panic!("{} {estimator}: {e}", preset.name));
            }
        }
    }

    #[test]
    fn what_is_not_covered_is_said() {
        let error = settings("effector-0.6", "dale").unwrap_err().to_string();
        assert!(error.contains("covers ale, rhale, pdp, dpdp"), "{error}");
        let error = settings("effector", "ale").unwrap_err().to_string();
        assert!(error.contains("must be one of effector-0.6, alibi-0.9"), "{error}");
        assert!(settings("effector-0.6", "hale").unwrap_err().to_string().contains("rhale"));
    }

    #[test]
    fn presets_have_as_many_bins_as_the_libraries() {
        for (preset, estimator) in
            [("effector-0.6", "ale"), ("effector-0.6", "rhale"), ("pyale-1.2", "ale")]
        {
            assert_eq!(settings(preset, estimator).unwrap().bins, Some(20), "{preset} {estimator}");
        }
    }
}
