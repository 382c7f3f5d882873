//! Named presets: sets of options with which the numbers of other libraries come out.
//!
//! May import `estimator` and what lies below. Begin with [`ALL`].
//!
//! A preset is nothing but settings: whatever a library does differently is an option that can be
//! given without it. Presets are about continuous features, and some about pairs of them. A new preset is an entry of
//! [`ALL`].
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
use crate::estimator::{self, pair};
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
    /// The same of estimators of pairs, or why there are none.
    pairs: Result<&'static [Covered], &'static str>,
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

    /// The estimators of pairs that it covers.
    pub fn pairs(&self) -> impl Iterator<Item = &'static str> {
        self.pairs.unwrap_or_default().iter().map(|(name, _)| *name)
    }

    /// Some options of an estimator, with those of the preset where they are not given. With another
    /// binning than its first one come the options that the preset has for that binning.
    ///
    /// # Errors
    /// As [`Preset::settings`].
    pub fn complete(&self, estimator: &str, given: Settings) -> Result<Settings> {
        let estimator = estimator::info(estimator)?.name;
        self.completed((estimator, ""), self.estimators, given)
    }

    /// The same of an estimator of pairs.
    ///
    /// # Errors
    /// [`Error::BadOption`] for an unknown estimator, [`Error::Incompatible`] for one of single features, and for one that
    /// the preset does not cover, with the reason where it covers no pairs at all.
    ///
    /// ```
    /// use fe_core::{Settings, preset};
    /// let sklearn = preset::preset("sklearn-1.9")?.complete_pair("pdp", Settings::default())?;
    /// assert_eq!((sklearn.grid, sklearn.raw_ice), (Some(100), None));
    /// let refused = preset::preset("alibi-0.9")?.complete_pair("ale", Settings::default());
    /// assert!(refused.unwrap_err().to_string().contains("of one feature"));
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn complete_pair(&self, estimator: &str, given: Settings) -> Result<Settings> {
        let estimator = pair::info(estimator)?.name;
        let covered = self.pairs.map_err(|reason| {
            Error::Incompatible(format!(
                "the preset `{}` has nothing for pairs: {reason}",
                self.name
            ))
        })?;
        self.completed((estimator, " of a pair"), covered, given)
    }

    fn completed(
        &self,
        (estimator, of): (&str, &str),
        covered: &[Covered],
        given: Settings,
    ) -> Result<Settings> {
        let Some((_, settings)) = covered.iter().find(|(name, _)| *name == estimator) else {
            let names: Vec<&str> = covered.iter().map(|(name, _)| *name).collect();
            return Err(Error::Incompatible(format!(
                "the preset `{}` has nothing for `{estimator}`{of}: it covers {}",
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
        pairs: Err("effector 0.6 has effects of one feature alone"),
        binning: effector_binning,
    },
    Preset {
        name: "alibi-0.9",
        about: "the defaults of alibi 0.9: its ALE",
        estimators: &[("ale", alibi_ale)],
        pairs: Err("the ALE of alibi 0.9 is of one feature"),
        binning: alibi_binning,
    },
    Preset {
        name: "pyale-1.2",
        about: "the defaults of PyALE 1.2 for continuous features, with the variance of its intervals",
        estimators: &[("ale", pyale_ale)],
        pairs: Ok(&[("ale", pyale_ale_of_pairs)]),
        binning: pyale_binning,
    },
    Preset {
        name: "sklearn-1.9",
        about: "the defaults of partial_dependence in scikit-learn 1.9, method brute",
        estimators: &[("pdp", sklearn_pdp)],
        pairs: Ok(&[("pdp", sklearn_pdp_of_pairs)]),
        binning: |_| Settings::default(),
    },
    Preset {
        name: "heiss-2026",
        about: "the estimators of Heiß et al. (2026); their grid is quantiles of the law: give it as \
                limits",
        estimators: &[("ale", heiss_ale), ("pdp", heiss_pdp)],
        pairs: Err("the study of Heiß et al. (2026) is of effects of one feature"),
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

/// Some options of an estimator of pairs, with those of the preset of a name where they are not given; see
/// [`Preset::complete_pair`].
///
/// # Errors
/// [`Error::BadOption`] for an unknown name; as [`Preset::complete_pair`].
pub fn complete_pair(name: &str, estimator: &str, given: Settings) -> Result<Settings> {
    preset(name)?.complete_pair(estimator, given)
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
    let of_both = Settings { empty: None, ..pyale_ale_of_pairs() };
    Settings { ddof: Some(1), undivided: Some(true), ..of_both }
}

fn pyale_ale_of_pairs() -> Settings {
    Settings {
        binning: Some("quantile".to_owned()),
        center: Some(Centring::Bins),
        empty: Some(EmptyBins::Nearest),
        closed: Some(Closed::Right),
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
    Settings { raw_ice: Some(true), ddof: Some(0), ..sklearn_pdp_of_pairs() }
}

/// As many points of each of both features as of one.
fn sklearn_pdp_of_pairs() -> Settings {
    Settings {
        grid: Some(100),
        distinct: Some(99),
        axis: Some(AxisChoice::Quantiles { from: 0.05, to: 0.95, rule: QuantileRule::Cunnane }),
        center: Some(Centring::None),
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
            for estimator in preset.pairs() {
                let settings = preset.complete_pair(estimator, Settings::default()).unwrap();
                pair::from_settings(estimator, [&settings, &settings])
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
        let pair = |name: &str, estimator: &str| {
            complete_pair(name, estimator, Settings::default()).unwrap_err().to_string()
        };
        let error = pair("pyale-1.2", "pdp");
        assert!(error.ends_with("nothing for `pdp` of a pair: it covers ale"), "{error}");
        for (name, reason) in [
            ("effector-0.6", "effector 0.6 has effects of one feature alone"),
            ("alibi-0.9", "the ALE of alibi 0.9 is of one feature"),
            ("heiss-2026", "is of effects of one feature"),
        ] {
            let error = pair(name, "ale");
            let says = format!("the preset `{name}` has nothing for pairs: ");
            assert!(error.starts_with(&says) && error.ends_with(reason), "{error}");
        }
        assert!(pair("sklearn-1.9", "rhale").contains("is of one feature"));
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
