//! Answers of engines, checked: curves, surfaces and indices.

use std::path::Path;

use fe_core::Axis;
use fe_core::Centring;
use fe_core::effect::{BandRecord, Limits, SideRecord, Surface, SurfaceBand, SurfaceRecord};
use fe_core::numeric::curve::Curve;
use fe_truth::Quantity;

use super::declaration::PairCapability;
use super::message::{Numbers, Reply};
use super::status::{Failure, Status};
use crate::score::given_curve::GivenCurve;
use crate::system::clock::Taken;

/// By how much an engine's model may differ, in units of its largest value at the probe's rows:
/// rounding of any order of evaluation is far below, and any other function far above.
pub(super) const PROBE_TOLERANCE: f64 = 1e-9;

/// The arrays of a reply.
struct Arrays<'a> {
    reply: &'a Reply,
    folder: &'a Path,
}

impl Arrays<'_> {
    /// Numbers, of which there must be as many as of others.
    fn as_long(
        &self,
        what: &str,
        numbers: &Numbers,
        (count, of): (usize, &str),
    ) -> Result<Vec<f64>, Failure> {
        let values = numbers.read(self.folder, what)?;
        if values.len() == count {
            return Ok(values);
        }
        let reason = format!("`{what}` has {} values for {count} {of}", values.len());
        Err(Failure::new(Status::Short, reason))
    }

    /// The same, none of them missing.
    fn finite(
        &self,
        what: &str,
        numbers: &Numbers,
        places: (usize, &str),
    ) -> Result<Vec<f64>, Failure> {
        let values = self.as_long(what, numbers, places)?;
        all_finite(what, &values)?;
        Ok(values)
    }

    /// Increasing points, at least one.
    fn points(&self, what: &str, numbers: &Numbers) -> Result<Vec<f64>, Failure> {
        let x = numbers.read(self.folder, what)?;
        if let Some(pair) = x.windows(2).find(|pair| pair[0] >= pair[1]) {
            let reason =
                format!("`{what}` does not increase: {} is followed by {}", pair[0], pair[1]);
            return Err(Failure::new(Status::Malformed, reason));
        }
        if x.is_empty() {
            return Err(Failure::new(
                Status::Short,
                format!("`{what}` is empty: there is no curve"),
            ));
        }
        all_finite(what, &x)?;
        Ok(x)
    }

    /// Numbers that may be missing, together or one by one.
    fn optional(
        &self,
        what: &str,
        numbers: &Option<Numbers>,
        places: (usize, &str),
    ) -> Result<Option<Vec<f64>>, Failure> {
        let read = |numbers| self.as_long(what, numbers, places);
        let values = numbers.as_ref().map(read).transpose()?;
        match values.iter().flatten().position(|value| value.is_infinite()) {
            None => Ok(values),
            Some(at) => {
                let reason = format!("`{what}` is infinite at place {}", at + 1);
                Err(Failure::new(Status::NonFinite, reason))
            }
        }
    }

    /// The confidence level that the engine tells, if any; of one that was asked for no other.
    fn level(&self, asked: Option<f64>) -> Result<Option<f64>, Failure> {
        match (self.reply.level, asked) {
            (Some(level), _) if !(level > 0.0 && level < 1.0) => {
                let reason = format!("`level` is {level}: must be strictly between 0 and 1");
                Err(Failure::new(Status::Malformed, reason))
            }
            (Some(level), Some(asked)) if level != asked => {
                let reason = format!("the band is of the level {level}, and {asked} was asked for");
                Err(Failure::new(Status::Unsupported, reason))
            }
            (level, asked) => Ok(level.or(asked)),
        }
    }

    fn band(&self, places: (usize, &str)) -> Result<Option<Values>, Failure> {
        let lower = self.optional("lower", &self.reply.lower, places)?;
        let upper = self.optional("upper", &self.reply.upper, places)?;
        band(lower, upper)
    }
}

fn all_finite(what: &str, values: &[f64]) -> Result<(), Failure> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let reason = format!("`{what}` has {} at place {}", values[at], at + 1);
            Err(Failure::new(Status::NonFinite, reason))
        }
    }
}

/// The effect of a pair of features by an engine, checked.
#[derive(Debug, Clone)]
pub struct PairAnswer {
    /// The effect, bilinear between its points; what the engine does not tell of it is empty.
    pub surface: Surface,
    /// Median seconds of an estimate and of its model, and the memory of the process meanwhile.
    pub taken: Taken,
    /// Whatever else the engine told.
    pub record: serde_json::Value,
}

impl PairAnswer {
    pub(super) fn read(
        reply: &Reply,
        folder: &Path,
        can: &PairCapability,
        (features, names): ([usize; 2], [String; 2]),
        (rows, asked_level): (usize, Option<f64>),
    ) -> Result<Self, Failure> {
        let arrays = Arrays { reply, folder };
        let level = arrays.level(asked_level)?;
        let second = reply.x2.as_ref();
        let second =
            second.ok_or_else(|| Failure::new(Status::Short, "`x2` is missing, of a pair"))?;
        let x = [arrays.points("x", &reply.x)?, arrays.points("x2", second)?];
        let places = (x[0].len() * x[1].len(), "pairs of `x` and `x2`");
        let values = arrays.finite("effect", &reply.effect, places)?;
        let band = arrays.band(places)?;
        let (seconds, model_seconds) = times(reply)?;
        let side = |x: &Vec<f64>| -> Result<SideRecord, Failure> {
            let axis = Axis::new(x[0], x[x.len() - 1]);
            let axis = axis.map_err(|e| Failure::new(Status::Malformed, e.to_string()))?;
            Ok(SideRecord { axis, binning: None, levels: None })
        };
        let record = SurfaceRecord {
            rows,
            subsample: None,
            rows_outside: 0,
            model_rows: reply.model_rows,
            by_structure: None,
            // Scores centre it on their points.
            centring: Centring::None,
            centring_constant: 0.0,
            interaction: can.interaction,
            sides: [side(&x[0])?, side(&x[1])?],
            cells: None,
        };
        let surface = Surface {
            features,
            names,
            output: 0,
            estimator: if can.truth == Quantity::Ale { "ale" } else { "pdp" },
            x,
            counts: Vec::new(),
            confidence: band.map(|limits| surface_band(limits, level, &values)),
            values,
            record,
        };
        let taken = Taken { seconds, model_seconds, peak_bytes: None };
        Ok(Self { surface, taken, record: reply.record.clone() })
    }
}

/// The level of a band of which the engine says nothing, and nothing was asked for.
const USUAL_LEVEL: f64 = 0.95;

/// The band of an engine about a surface; how it came about is the engine's own.
fn surface_band((lower, upper): Values, level: Option<f64>, values: &[f64]) -> SurfaceBand {
    let record = BandRecord::given(level.unwrap_or(USUAL_LEVEL));
    let pointwise = Limits { lower, upper };
    SurfaceBand { pointwise, simultaneous: None, rounding: 0.0, record }.rounded(0.0, values)
}

/// Indices by an engine, checked.
#[derive(Debug, Clone)]
pub struct IndexAnswer {
    /// The indices in the order of the question; none for one that the engine does not tell.
    pub values: Vec<Option<f64>>,
    /// Limits of an interval about each, where the engine has one.
    pub intervals: Vec<Option<(f64, f64)>>,
    /// The confidence level of the intervals, as the engine tells it or it was asked for.
    pub level: Option<f64>,
    /// Median seconds of an estimate and of its model, and the memory of the process meanwhile.
    pub taken: Taken,
    /// Rows that the model was asked for by one estimate.
    pub model_rows: u64,
    /// Whatever else the engine told.
    pub record: serde_json::Value,
}

impl IndexAnswer {
    pub(super) fn read(
        reply: &Reply,
        folder: &Path,
        (asked, asked_level): (usize, Option<f64>),
    ) -> Result<Self, Failure> {
        let arrays = Arrays { reply, folder };
        let level = arrays.level(asked_level)?;
        let places = (asked, "that were asked for");
        let values = arrays.optional("indices", &reply.indices, places)?;
        let values = values.ok_or_else(|| Failure::new(Status::Short, "`indices` is missing"))?;
        let intervals = match arrays.band(places)? {
            None => vec![None; asked],
            Some((lower, upper)) => {
                let told = |(lower, upper): (f64, f64)| {
                    (lower.is_finite() && upper.is_finite()).then_some((lower, upper))
                };
                lower.into_iter().zip(upper).map(told).collect()
            }
        };
        let (seconds, model_seconds) = times(reply)?;
        Ok(Self {
            values: values.into_iter().map(|value| value.is_finite().then_some(value)).collect(),
            intervals,
            level,
            taken: Taken { seconds, model_seconds, peak_bytes: None },
            model_rows: reply.model_rows,
            record: reply.record.clone(),
        })
    }
}

/// The effect of a feature by an engine, checked.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The curve, linear between its points, as the engine centred it.
    pub curve: Curve,
    /// The heterogeneity curve, NaN where it is undefined.
    pub heterogeneity: Option<Curve>,
    /// The limits of the band, lower and upper, NaN where it has none.
    pub band: Option<(Curve, Curve)>,
    /// The confidence level of the band, as the engine tells it or it was asked for.
    pub level: Option<f64>,
    /// The interval that it was asked on: ICE curves are centred over it.
    pub axis: Axis,
    /// The truth that the curve estimates.
    pub truth: Quantity,
    /// The truth that its heterogeneity estimates.
    pub true_heterogeneity: Option<Quantity>,
    /// Median seconds of an estimate and of its model, and the memory of the process meanwhile.
    pub taken: Taken,
    /// Rows that the model was asked for by one estimate.
    pub model_rows: u64,
    /// The tree of a regional effect, or null.
    pub tree: serde_json::Value,
    /// Whatever else the engine told.
    pub record: serde_json::Value,
}

impl Answer {
    pub(super) fn read(
        reply: &Reply,
        folder: &Path,
        axis: Axis,
        asked_level: Option<f64>,
    ) -> Result<Self, Failure> {
        let arrays = Arrays { reply, folder };
        let level = arrays.level(asked_level)?;
        let x = arrays.points("x", &reply.x)?;
        let places = (x.len(), "of `x`");
        let effect = arrays.finite("effect", &reply.effect, places)?;
        let heterogeneity = arrays.optional("heterogeneity", &reply.heterogeneity, places)?;
        is_variance(heterogeneity.as_deref().unwrap_or_default())?;
        let band = arrays.band(places)?;
        let (seconds, model_seconds) = times(reply)?;
        let curve = |y: Vec<f64>| Curve::linear(x.clone(), y);
        Ok(Self {
            heterogeneity: heterogeneity.map(curve),
            band: band.map(|(lower, upper)| (curve(lower), curve(upper))),
            curve: curve(effect),
            level,
            axis,
            truth: Quantity::Pd,
            true_heterogeneity: None,
            taken: Taken { seconds, model_seconds, peak_bytes: None },
            model_rows: reply.model_rows,
            tree: reply.tree.clone(),
            record: reply.record.clone(),
        })
    }

    /// The curve with its band at some points within its range.
    ///
    /// # Errors
    /// A point outside of it.
    pub fn at(&self, points: &[f64]) -> fe_core::Result<GivenCurve> {
        let band = match &self.band {
            Some((lower, upper)) => Some((lower.at_all(points)?, upper.at_all(points)?)),
            None => None,
        };
        Ok(GivenCurve { x: points.to_vec(), effect: self.curve.at_all(points)?, band })
    }
}

/// Refuses variances that are negative by more than rounding.
fn is_variance(values: &[f64]) -> Result<(), Failure> {
    let size = values.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
    match values.iter().position(|&value| value < -PROBE_TOLERANCE * size) {
        None => Ok(()),
        Some(at) => {
            let reason =
                format!("`heterogeneity` is a variance, but {} at place {}", values[at], at + 1);
            Err(Failure::new(Status::Malformed, reason))
        }
    }
}

/// The limits of a band, lower and upper.
type Values = (Vec<f64>, Vec<f64>);

/// Both limits of a band, or none.
fn band(lower: Option<Vec<f64>>, upper: Option<Vec<f64>>) -> Result<Option<Values>, Failure> {
    let malformed = |reason: String| Err(Failure::new(Status::Malformed, reason));
    match (lower, upper) {
        (None, None) => Ok(None),
        (Some(lower), Some(upper)) => {
            let crossed = lower.iter().zip(&upper).position(|(lower, upper)| lower > upper);
            match crossed {
                None => Ok(Some((lower, upper))),
                Some(at) => malformed(format!(
                    "`lower` = {} is above `upper` = {} at place {}",
                    lower[at],
                    upper[at],
                    at + 1
                )),
            }
        }
        _ => malformed("a band is of `lower` and `upper`, and one of them is missing".to_owned()),
    }
}

/// The medians of the samples of times.
fn times(reply: &Reply) -> Result<(f64, f64), Failure> {
    for (what, samples) in [("samples", &reply.samples), ("model_samples", &reply.model_samples)] {
        if samples.is_empty() || samples.len() != reply.samples.len() {
            let reason = format!(
                "`{what}` has {} values: a time for each repetition is needed, at least one",
                samples.len()
            );
            return Err(Failure::new(Status::Short, reason));
        }
        if let Some(time) = samples.iter().find(|time| !(time.is_finite() && **time >= 0.0)) {
            let reason = format!("`{what}` has {time}: must be seconds, at least 0");
            return Err(Failure::new(Status::Malformed, reason));
        }
    }
    Ok((median(&reply.samples), median(&reply.model_samples)))
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        0.5 * sorted[middle - 1] + 0.5 * sorted[middle]
    }
}
