//! Measures of bands over replicates, from the curves that a study keeps.

use std::path::Path;

use fe_core::replicates::{BandMeasures, BandPoint};

use super::Key;
use super::kept_curves::{self, KeptEstimate, KeptPoint};
use super::manifest::read_manifest;
use super::summary::{SummaryRow, grouped};
use crate::error::{Error, Result};

/// The level of a band of which nothing is said.
const LEVEL: f64 = 0.95;

/// Limits no farther apart than this share of the curve's largest value are so by rounding.
const NO_WIDTH: f64 = 1e-9;

/// Reads the curves of a results folder: for every curve with a pointwise band a row for each of
/// [`BandMeasures::NAMES`] as metric.
///
/// # Errors
/// A folder without curves or without bands, or a file that does not hold them.
pub fn read(folder: &Path, chosen: &dyn Fn(&Key<&str>) -> bool) -> Result<Vec<SummaryRow>> {
    let all = kept_curves::read(folder, usize::MAX, chosen)?;
    let banded = all.into_iter().filter(|kept| kept.curve.iter().any(has_band));
    let keyed = banded.map(|kept| {
        let key = Key { replicate: String::new(), ..kept.key.clone() };
        (key, kept)
    });
    let rows: Vec<SummaryRow> =
        grouped(keyed).into_iter().flat_map(|(key, kept)| measures(&key, &kept)).collect();
    if rows.is_empty() {
        kept_curves::check_there(folder, &read_manifest(folder)?)?;
        return Err(Error::content(
            folder,
            "keeps no curves with bands of two datasets: run the study with `keep = [\"curves\"]` in its \
             blocks, and `band` among the options of an estimator",
        ));
    }
    Ok(rows)
}

fn has_band(point: &KeptPoint) -> bool {
    point.pointwise.0.is_finite() && point.pointwise.1.is_finite()
}

fn measures(key: &Key, kept: &[KeptEstimate]) -> Vec<SummaryRow> {
    let mut places: Vec<f64> = kept.iter().flat_map(|kept| &kept.curve).map(|at| at.x).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let replicates: Vec<Vec<Option<BandPoint>>> =
        kept.iter().map(|kept| points(&places, &kept.curve)).collect();
    let row = |(name, summary): (&str, _)| {
        let key = Key { metric: name.to_owned(), ..key.clone() };
        SummaryRow { summary, ..SummaryRow::new(key, Vec::new(), 0) }
    };
    let measures = BandMeasures::of(&replicates, level_of(&key.options));
    let values = measures.map(|measures| BandMeasures::NAMES.into_iter().zip(measures.values()));
    values.into_iter().flatten().map(row).collect()
}

/// The points of one dataset at all places; none where limits are apart by rounding alone.
fn points(places: &[f64], curve: &[KeptPoint]) -> Vec<Option<BandPoint>> {
    let size = curve.iter().fold(0.0, |size: f64, at| size.max(at.effect.abs()));
    let mut all = vec![None; places.len()];
    for at in curve.iter().filter(|at| has_band(at)) {
        let (lower, upper) = at.pointwise;
        if upper - lower > NO_WIDTH * size
            && let Ok(place) = places.binary_search_by(|x| x.total_cmp(&at.x))
        {
            all[place] = Some(BandPoint { lower, upper, truth: at.truth });
        }
    }
    all
}

/// The level among the options of an estimator.
fn level_of(options: &str) -> f64 {
    let level = options.split(';').find_map(|option| option.strip_prefix("level="));
    level.and_then(|level| level.parse().ok()).unwrap_or(LEVEL)
}
