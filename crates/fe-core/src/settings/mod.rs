//! The options of all estimators, as they are written in files and flags.
//!
//! May import `numeric`, `model` and `data`. Begin with the table in `table.rs`: an option is a row of it.

mod kinds;
mod scheme;
mod table;
mod words;

pub use kinds::{Heading, SettingInfo, SettingKind, SettingType};
pub use scheme::Scheme;
pub use table::{ALL, Settings, info};
pub use words::{
    BandKind, CenterRule, Centring, Correction, EmptyBins, Interpolation, Interval, Jacobian,
    LevelOrder, Splitting,
};

use crate::error::{Error, Result};

/// The options that speak of bins; which of them are taken depends on the binning.
pub(crate) const BINNING_OPTIONS: [&str; 6] =
    ["bins", "limits", "min_points", "discount", "quantiles", "distinct"];

impl Settings {
    /// These options where they are given, and those of `other` where they are not.
    ///
    /// What only describes a choice of `other` that is made differently here falls away: the options of
    /// its binning, its background, and the points of its `center_rule`.
    ///
    /// ```
    /// use fe_core::Settings;
    /// let dp = Settings { binning: Some("dp".to_owned()), discount: Some(0.3), ..Settings::default() };
    /// let fixed = Settings { binning: Some("fixed".to_owned()), ..Settings::default() };
    /// assert_eq!(fixed.clone().or(&dp), fixed);
    /// assert_eq!(Settings { bins: Some(5), ..Settings::default() }.or(&dp).discount, Some(0.3));
    /// ```
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let other = other.without_what_describes_choices_of(&self);
        self.or_each(other)
    }

    fn without_what_describes_choices_of(&self, chosen: &Self) -> Self {
        let mut rest = self.clone();
        let differ =
            |a: Option<&str>, b: Option<&str>| matches!((a, b), (Some(a), Some(b)) if a != b);
        if differ(chosen.binning.as_deref(), self.binning.as_deref()) {
            rest = Self {
                bins: None,
                limits: None,
                min_points: None,
                discount: None,
                quantiles: None,
                distinct: None,
                ..rest
            };
        }
        if chosen.background_rows.is_some() {
            (rest.background, rest.background_seed) = (None, None);
        }
        if chosen.background.is_some() {
            rest.background_rows = None;
        }
        if chosen.center_rule.is_some() && chosen.center_rule != self.center_rule {
            rest.center_points = None;
        }
        rest
    }

    /// Refuses options that are given and not taken.
    pub(crate) fn check_taken(&self, by: &str, taken: impl Fn(&str) -> bool) -> Result<()> {
        match self.given().into_iter().find(|option| !taken(option)) {
            None => Ok(()),
            Some(option) => Err(Error::Incompatible(format!("{by} takes no option `{option}`"))),
        }
    }

    /// The policy for bins of one feature without instances.
    pub(crate) fn empty_bins(&self) -> Result<EmptyBins> {
        match self.empty.unwrap_or_default() {
            EmptyBins::Nearest => Err(Error::BadOption {
                option: "empty",
                given: "nearest".to_owned(),
                allowed: "is of cells of two features: of one take interpolate, interpolate-index, zero, merge \
                          or error"
                    .to_owned(),
            }),
            policy => Ok(policy),
        }
    }

    pub(crate) fn ddof_or(&self, default: u8) -> Result<f64> {
        let ddof = self.ddof.unwrap_or(default);
        if ddof <= 1 {
            return Ok(f64::from(ddof));
        }
        Err(Error::BadOption {
            option: "ddof",
            given: ddof.to_string(),
            allowed: "must be 0 or 1".to_owned(),
        })
    }
}
