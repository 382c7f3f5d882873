//! The band that settings ask for.

use super::Purpose;
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::numeric::curve::Shape;
use crate::settings::{BandKind, Interval, Settings};

/// Resamples if nothing else is asked for.
const DEFAULT_RESAMPLES: usize = 500;

/// Places of a band between the limits of bins.
const PLACES: usize = 101;

/// Options of a single kind of bands.
const OF_BOOTSTRAP: [&str; 3] = ["resamples", "rebin", "interval"];
const OF_REFITS: [&str; 5] =
    ["refits", "resampling", "correction", "flat_permutations", "residual_permutations"];

/// Most resamples.
const MOST_RESAMPLES: usize = 100_000;

/// The band that settings ask for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BandRequest {
    pub(super) kind: BandKind,
    pub(super) level: f64,
    pub(super) resamples: usize,
    pub(super) seed: u64,
    pub(super) rebin: bool,
    pub(super) interval: Interval,
    pub(super) points: Vec<f64>,
}

impl BandRequest {
    pub(crate) const OPTIONS: &'static [&'static str] = &[
        "band",
        "level",
        "resamples",
        "band_seed",
        "rebin",
        "interval",
        "refits",
        "resampling",
        "correction",
        "flat_permutations",
    ];

    /// Those of effects of pairs alone.
    pub(crate) const OF_PAIRS: &'static [&'static str] = &["residual_permutations"];

    /// The request in the settings, if there is one, to an estimator with or without bins.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a level that is not between 0 and 1, too few or too many resamples;
    /// [`Error::Incompatible`] for options without the band that they belong to.
    pub(crate) fn from_settings(settings: &Settings, bins: bool) -> Result<Option<Self>> {
        let Some(kind) = settings.band else {
            let is_of_bands =
                |name: &&str| Self::OPTIONS.contains(name) || Self::OF_PAIRS.contains(name);
            let lonely = settings.given().into_iter().find(is_of_bands);
            return match lonely {
                None => Ok(None),
                Some(name) => Err(Error::Incompatible(format!(
                    "`{name}` needs `band`: without it there is no confidence band"
                ))),
            };
        };
        let level = settings.level.unwrap_or(0.95);
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::BadOption {
                option: "level",
                given: level.to_string(),
                allowed: "must be between 0 and 1, such as 0.95".to_owned(),
            });
        }
        let request = Self {
            kind,
            level,
            resamples: settings.resamples.unwrap_or(DEFAULT_RESAMPLES),
            seed: settings.band_seed.unwrap_or_default(),
            rebin: settings.rebin.unwrap_or_default(),
            interval: settings.interval.unwrap_or_default(),
            points: settings.points.clone().unwrap_or_default(),
        };
        request.check(settings, bins)?;
        Ok(Some(request))
    }

    fn check(&self, settings: &Settings, bins: bool) -> Result<()> {
        let given = settings.given();
        let of_kinds = [
            (BandKind::Bootstrap, "bootstrap", &OF_BOOTSTRAP[..]),
            (BandKind::Refit, "refit", &OF_REFITS),
        ];
        for (_, word, options) in of_kinds.iter().filter(|(kind, ..)| *kind != self.kind) {
            if let Some(name) = options.iter().find(|name| given.contains(name)) {
                return Err(Error::Incompatible(format!(
                    "`{name}` is an option of the band {word} alone"
                )));
            }
        }
        if self.kind == BandKind::Bins && given.contains(&"band_seed") {
            return Err(Error::Incompatible(
                "the band bins draws nothing, so it takes no `band_seed`".to_owned(),
            ));
        }
        if !bins && (self.kind == BandKind::Bins || self.rebin) {
            let what = if self.rebin { "`rebin`" } else { "the band bins" };
            return Err(Error::Incompatible(format!("{what} needs an estimator with bins")));
        }
        // The outermost of fewer resamples lie within the limits.
        let least = (2.0 / (1.0 - self.level) - 1.0).ceil() as usize;
        if (least..=MOST_RESAMPLES).contains(&self.resamples) || self.kind != BandKind::Bootstrap {
            return Ok(());
        }
        Err(Error::BadOption {
            option: "resamples",
            given: self.resamples.to_string(),
            allowed: format!(
                "must be from {least} (2 / (1 − level) − 1) to {MOST_RESAMPLES} at the level {}",
                self.level
            ),
        })
    }

    /// The places of the band of an effect: the knots of its curve and the points that were asked for.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a curve of steps.
    pub(crate) fn places(&self, effect: &Effect) -> Result<Vec<f64>> {
        if effect.curve.shape() == Shape::Levels {
            return Ok(effect.curve.x().to_vec());
        }
        if effect.curve.shape() != Shape::Linear {
            return Err(Error::Incompatible(
                "a confidence band needs `interpolation` linear".to_owned(),
            ));
        }
        let axis = effect.record.axis;
        // Around a curve that is finer than that of the effect, or over curves, a band is bent between its knots.
        let is_finer =
            matches!(self.kind, BandKind::Analytic | BandKind::Refit) && effect.bins.is_some();
        let between = if is_finer { axis.grid(PLACES) } else { Vec::new() };
        let further = self.points.iter().copied().chain(between).filter(|&x| axis.contains(x));
        let mut x: Vec<f64> = effect.curve.x().iter().copied().chain(further).collect();
        x.sort_unstable_by(f64::total_cmp);
        x.dedup();
        Ok(x)
    }

    /// True if rows are resampled for it.
    pub(crate) fn is_resampled(&self) -> bool {
        self.kind == BandKind::Bootstrap
    }

    /// True if a learner is refitted for it.
    pub(crate) fn needs_refits(&self) -> bool {
        self.kind == BandKind::Refit
    }

    /// The purpose of a sample at these places; none where the effect itself tells its band.
    pub(crate) fn purpose<'a>(&self, x: &'a [f64]) -> Option<Purpose<'a>> {
        let resampled = self.is_resampled();
        (self.kind != BandKind::Bins).then_some(Purpose { x, resampled, rebin: self.rebin })
    }
}
