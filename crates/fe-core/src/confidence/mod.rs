//! Confidence bands for effects: how far a curve may lie from the one that endless data would give.
//!
//! The instances are a sample, so the effect estimated from them is one too. A band says how far off it
//! may be *of the effect of this model*, at a confidence level: [`pointwise`](ConfidenceBand::pointwise)
//! at each place by itself, [`simultaneous`](ConfidenceBand::simultaneous) at all places at once. It
//! knows neither how far the model is from the truth, nor the bias of bins that are too wide.
//!
//! Every estimator that has bands says how its curve depends on the rows ([`Resampling`]): as an
//! [`Uncertainty`] for analytic bands, and under other weights of the rows for the bootstrap.

mod accumulated;
mod bootstrap;
mod grid;
mod per_bin;
mod shapley;
mod uncertainty;

pub(crate) use accumulated::AccumulatedSample;
pub(crate) use grid::GridSample;
pub(crate) use shapley::ShapleySample;
pub use uncertainty::Uncertainty;

use serde::{Deserialize, Serialize};

use crate::curve::{Curve, Shape};
use crate::dataset::Dataset;
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::estimator::Estimator;
use crate::gauge::{Gauge, ROUNDING};
use crate::model::Observed;
use crate::settings::Settings;
use crate::stored::Name;

/// What a band says and what it does not, in words.
pub const MEANING: &str = "uncertainty of the effect of this model, from the sample of instances \
                           alone; how far the model is from the true function is not in it";

/// How a confidence band is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BandKind {
    /// From the variance of the curve, with all that the curve adds up and its centring.
    Analytic,
    /// From resamples of the rows.
    Bootstrap,
    /// From the standard error of each bin alone, as PyALE draws it: for comparison, since nothing is
    /// accumulated.
    Bins,
}

impl BandKind {
    /// All of them, by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("analytic", Self::Analytic), ("bootstrap", Self::Bootstrap), ("bins", Self::Bins)];
}

/// How limits are taken from the curves of resamples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interval {
    /// Quantiles of the curves (Efron 1979).
    #[default]
    Percentile,
    /// Quantiles of (curve of the resample − curve) / its standard error there (bootstrap-t, Efron 1981).
    Studentised,
}

/// Resamples if nothing else is asked for.
const DEFAULT_RESAMPLES: usize = 500;

/// Most resamples.
const MOST_RESAMPLES: usize = 100_000;

/// Most entries of the matrix from which a band is computed: 160 MB.
const MOST_HELD: usize = 20_000_000;

/// The band that settings ask for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    kind: BandKind,
    level: f64,
    resamples: usize,
    seed: u64,
    rebin: bool,
    interval: Interval,
    points: Vec<f64>,
}

impl Request {
    pub(crate) const OPTIONS: &'static [&'static str] =
        &["band", "level", "resamples", "band_seed", "rebin", "interval"];

    /// The request in the settings, if there is one, to an estimator with or without bins.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a level that is not between 0 and 1, too few or too many resamples;
    /// [`Error::Incompatible`] for options without the band that they belong to.
    pub(crate) fn from_settings(settings: &Settings, bins: bool) -> Result<Option<Self>> {
        let Some(kind) = settings.band else {
            let lonely = settings.given().into_iter().find(|name| Self::OPTIONS.contains(name));
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
        if self.kind != BandKind::Bootstrap {
            let of_bootstrap = ["resamples", "rebin", "interval"];
            if let Some(name) = of_bootstrap.iter().find(|name| given.contains(name)) {
                return Err(Error::Incompatible(format!(
                    "`{name}` is an option of the band bootstrap alone"
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

    /// Gives an effect its band.
    pub(crate) fn complete(
        &self,
        effect: &mut Effect,
        estimator: &dyn Estimator,
        data: &Dataset,
        model: &Gauge<'_>,
    ) -> Result<()> {
        if effect.curve.shape() != Shape::Linear {
            return Err(Error::Incompatible(
                "a confidence band needs `interpolation` linear".to_owned(),
            ));
        }
        let x = self.places(effect);
        let curve = effect.curve.at_all(&x)?;
        let observed = Observed::new(model);
        let mut rounding = 0.0;
        let limits = if self.kind == BandKind::Bins {
            per_bin::limits(effect, &x, &curve, self.level)?
        } else {
            let purpose =
                Purpose { x: &x, resampled: self.kind == BandKind::Bootstrap, rebin: self.rebin };
            let sample = estimator.resampling(data, &observed, effect, &purpose)?;
            if sample.is_certain(rounding_of(model, effect)) {
                rounding = f64::INFINITY;
            }
            match self.kind {
                BandKind::Bootstrap => bootstrap::limits(self, data, &*sample, &curve)?,
                _ => analytic(self, &sample.uncertainty()?, &curve)?,
            }
        };
        effect.record.model_rows += observed.model_rows();
        effect.record.jacobian_rows += observed.partial_rows();
        let extrapolate = effect.record.extrapolated;
        let rounding = rounding_of(model, effect).max(rounding);
        let band = limits.into_band(self, x, extrapolate).rounded(rounding, &effect.curve);
        if !band.is_finite() {
            return Err(Error::Overflow { what: "limits of the band", name: effect.name.clone() });
        }
        effect.confidence = Some(band);
        Ok(())
    }

    /// The knots of the curve and the points that were asked for.
    fn places(&self, effect: &Effect) -> Vec<f64> {
        let axis = effect.record.axis;
        let further = self.points.iter().copied().filter(|&x| axis.contains(x));
        let mut x: Vec<f64> = effect.curve.x().iter().copied().chain(further).collect();
        x.sort_unstable_by(f64::total_cmp);
        x.dedup();
        x
    }
}

/// By how much rounding may move a curve, from the largest answers of the model.
fn rounding_of(model: &Gauge<'_>, effect: &Effect) -> f64 {
    let slopes = model.partial(effect.output) * effect.record.axis.width();
    ROUNDING * (model.value(effect.output) + slopes)
}

/// What a band is wanted for.
pub struct Purpose<'a> {
    /// The places of the band, increasing.
    pub x: &'a [f64],
    /// Whether the rows will be resampled.
    pub resampled: bool,
    /// Whether bins are to be chosen anew each time.
    pub rebin: bool,
}

/// A curve that can be computed again with other weights of the rows; what the model said is held.
pub trait Resampling: Sync {
    /// The curve with other weights, centred as it was, and if they are wanted its variances.
    ///
    /// # Errors
    /// Weights with which there is no effect.
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate>;

    /// How uncertain the curve is that the data give.
    ///
    /// # Errors
    /// Data that do not tell.
    fn uncertainty(&self) -> Result<Uncertainty>;

    /// Whether every instance says the same of its place, up to an error of this size: what the limits of
    /// a band are then apart by is what the estimator makes of it, such as a spline that is not quite the
    /// curve. Only where that is known.
    fn is_certain(&self, rounding: f64) -> bool {
        let _ = rounding;
        false
    }
}

/// The curve of a resample at the places of a band.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicate {
    /// The curve, in units of the output.
    pub curve: Vec<f64>,
    /// Its variance, where it was wanted.
    pub variances: Option<Vec<f64>>,
}

/// Lower and upper limits of a band, in units of the output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The lower limit.
    pub lower: Curve,
    /// The upper limit.
    pub upper: Curve,
}

/// A confidence band for an effect's curve, centred as the curve is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceBand {
    /// Limits that are to hold the true curve at each place with the probability `level`.
    pub pointwise: Limits,
    /// Limits that are to hold it at all places at once; none for the band `bins`.
    pub simultaneous: Option<Limits>,
    /// Limits that are no farther apart are so by rounding, in units of the output: there the curve does
    /// not depend on which instances were drawn. Infinite where it does so nowhere.
    pub rounding: f64,
    /// How it was computed.
    pub record: BandRecord,
}

/// Limits no farther apart than this share of the curve's largest value are so by rounding.
const NO_WIDTH: f64 = 1e-9;

impl ConfidenceBand {
    /// The same band of a curve whose values are rounded by so much, at the least by that of its own.
    #[must_use]
    pub fn rounded(self, rounding: f64, curve: &Curve) -> Self {
        let size = curve.y().iter().fold(0.0, |size: f64, y| size.max(y.abs()));
        Self { rounding: rounding.max(NO_WIDTH * size), ..self }
    }

    /// Whether limits are apart by rounding alone, so that it means nothing what lies between them. The one
    /// rule for all estimators; missing limits say nothing either.
    #[must_use]
    pub fn is_degenerate(&self, lower: f64, upper: f64) -> bool {
        let width = upper - lower;
        width.is_nan() || width <= self.rounding
    }

    fn is_finite(&self) -> bool {
        let finite = |limits: &Limits| {
            let values = || limits.lower.y().iter().chain(limits.upper.y());
            // The band `bins` is missing at the start, and where there are fewer than two instances.
            values().all(|y| y.is_finite() || (y.is_nan() && self.simultaneous.is_none()))
        };
        finite(&self.pointwise) && self.simultaneous.as_ref().is_none_or(finite)
    }
}

/// How a confidence band was computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BandRecord {
    /// The method.
    pub kind: BandKind,
    /// The confidence level.
    pub level: f64,
    /// What it says.
    #[serde(deserialize_with = "crate::stored::name")]
    pub meaning: Name,
    /// Where random numbers came from; none if none were drawn.
    pub seed: Option<u64>,
    /// Number of resamples.
    pub resamples: Option<usize>,
    /// Resamples that gave no effect and were left out.
    pub failed_resamples: Option<usize>,
    /// How limits were taken from resamples.
    pub interval: Option<Interval>,
    /// Whether bins were chosen anew in every resample.
    pub rebin: Option<bool>,
    /// Least degrees of freedom of Student's t along the curve, of the band `analytic`.
    pub least_degrees_of_freedom: Option<f64>,
    /// By how many standard errors the simultaneous limits are away, where normal quantiles count.
    pub critical_value: Option<f64>,
}

/// A band by its values.
struct Values {
    pointwise: (Vec<f64>, Vec<f64>),
    simultaneous: Option<(Vec<f64>, Vec<f64>)>,
    failed: usize,
    least_degrees: Option<f64>,
    critical_value: Option<f64>,
}

impl Values {
    fn into_band(self, request: &Request, x: Vec<f64>, extrapolate: bool) -> ConfidenceBand {
        let resampled = request.kind == BandKind::Bootstrap;
        let limits = |(lower, upper): (Vec<f64>, Vec<f64>)| {
            let curve = |y| Curve::linear(x.clone(), y).extrapolated(extrapolate);
            Limits { lower: curve(lower), upper: curve(upper) }
        };
        ConfidenceBand {
            pointwise: limits(self.pointwise),
            simultaneous: self.simultaneous.map(limits),
            rounding: 0.0,
            record: BandRecord {
                kind: request.kind,
                level: request.level,
                meaning: MEANING,
                seed: (request.kind != BandKind::Bins).then_some(request.seed),
                resamples: resampled.then_some(request.resamples),
                failed_resamples: resampled.then_some(self.failed),
                interval: resampled.then_some(request.interval),
                rebin: resampled.then_some(request.rebin),
                least_degrees_of_freedom: self.least_degrees,
                critical_value: self.critical_value,
            },
        }
    }
}

/// Curve ± half-width.
fn around(curve: &[f64], half: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    curve.iter().enumerate().map(|(i, y)| (y - half(i), y + half(i))).unzip()
}

fn analytic(request: &Request, uncertainty: &Uncertainty, curve: &[f64]) -> Result<Values> {
    let errors = uncertainty.standard_errors();
    let tail = 1.0 - request.level;
    let pointwise = uncertainty.quantiles(tail)?;
    let critical = uncertainty.critical_value(request.level, request.seed)?;
    let simultaneous = uncertainty.quantiles(uncertainty::two_sided_tail(critical))?;
    let degrees = uncertainty.degrees().iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Values {
        pointwise: around(curve, |i| pointwise[i] * errors[i]),
        simultaneous: Some(around(curve, |i| simultaneous[i] * errors[i])),
        failed: 0,
        least_degrees: Some(degrees).filter(|degrees| degrees.is_finite()),
        critical_value: Some(critical),
    })
}
