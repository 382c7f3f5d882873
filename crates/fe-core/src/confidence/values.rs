//! Bands by the values of their limits.

use super::BandRequest;
use crate::effect::{BandRecord, ConfidenceBand, Limits, RefitRecord};
use crate::settings::BandKind;

/// A band by its values.
pub(super) struct Values {
    pub(super) pointwise: (Vec<f64>, Vec<f64>),
    pub(super) simultaneous: Option<(Vec<f64>, Vec<f64>)>,
    pub(super) failed: usize,
    pub(super) least_degrees: Option<f64>,
    pub(super) critical_value: Option<f64>,
    pub(super) cells: Option<usize>,
    pub(super) refits: Option<RefitRecord>,
}

impl Values {
    /// The band, whose limits are made of their values by `limit`.
    pub(super) fn into_band<T>(
        self,
        request: &BandRequest,
        limit: impl Fn(Vec<f64>) -> T,
    ) -> ConfidenceBand<T> {
        let resampled = request.kind == BandKind::Bootstrap;
        let limits = |(lower, upper)| Limits { lower: limit(lower), upper: limit(upper) };
        ConfidenceBand {
            pointwise: limits(self.pointwise),
            simultaneous: self.simultaneous.map(limits),
            rounding: 0.0,
            record: BandRecord {
                seed: (request.kind != BandKind::Bins).then_some(request.seed),
                resamples: resampled.then_some(request.resamples),
                failed_resamples: resampled.then_some(self.failed),
                interval: resampled.then_some(request.interval),
                rebin: resampled.then_some(request.rebin),
                least_degrees_of_freedom: self.least_degrees,
                critical_value: self.critical_value,
                cells: self.cells,
                refits: self.refits,
                ..BandRecord::new(request.kind, request.level)
            },
        }
    }
}

/// Curve ± half-width.
pub(super) fn around(curve: &[f64], half: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    curve.iter().enumerate().map(|(i, y)| (y - half(i), y + half(i))).unzip()
}
