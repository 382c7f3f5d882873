//! Effects of two features that were computed elsewhere: CSV with the columns feature, feature2, x, x2, effect and, for
//! a band, lower and upper.

use std::collections::BTreeMap;
use std::path::Path;

use fe_truth::{Centring, PairEffect, Quantity, Scenario, Truth};

use super::comparison::Comparison;
use super::given_curve::{BAND, GivenCurve, OUTPUT, check_header, check_output};
use super::{Score, given};
use crate::data;
use crate::data::features::feature_of;
use crate::error::{Error, Result};

const NEEDED: [&str; 5] = ["feature", "feature2", "x", "x2", "effect"];
/// Columns that `effect` prints beside these.
const OTHERS: [&str; 5] = [OUTPUT, "level", "level2", "truth", "difference"];

/// The effect of a pair of features at some pairs of points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GivenSurface {
    /// The pairs of points.
    points: Vec<[f64; 2]>,
    effect: Vec<f64>,
    band: Option<(Vec<f64>, Vec<f64>)>,
}

/// True if the first line of a file names a second feature.
///
/// # Errors
/// A file that cannot be read.
pub fn has_pairs(path: &Path) -> Result<bool> {
    let mut reader = csv::Reader::from_reader(crate::system::files::open(path)?);
    let header = reader.headers().map_err(|e| Error::content(path, e.to_string()))?;
    Ok(header.iter().any(|name| name.trim() == "feature2"))
}

/// Reads the surfaces of a file, by pair of features (counted from 0); the order of its rows does not matter.
///
/// # Errors
/// A file that cannot be read or has no rows, a column that is missing or unknown, a field that is not a finite number, a
/// feature that the scenario does not have or that is beside itself, exchanged limits, or points that are given twice.
pub fn read(path: &Path, scenario: &Scenario) -> Result<BTreeMap<[usize; 2], GivenSurface>> {
    let wrong = |message: String| Error::content(path, message);
    let mut reader = csv::Reader::from_reader(crate::system::files::open(path)?);
    let header = reader.headers().map_err(|e| wrong(e.to_string()))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    check_header(&header, &NEEDED, &OTHERS, "").map_err(&wrong)?;
    let banded = header.iter().any(|name| name == BAND[0]);
    let mut all: BTreeMap<[usize; 2], GivenSurface> = BTreeMap::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let field = |name: &str| {
            let column = header.iter().position(|column| column == name);
            column.and_then(|column| record.get(column)).unwrap_or_default()
        };
        check_output(field(OUTPUT), index).map_err(&wrong)?;
        let number = |name: &str| data::parse(field(name), index, name).map_err(&wrong);
        let feature = |name: &str| {
            feature_of(scenario, field(name).trim())
                .map_err(|message| wrong(format!("row {}: {message}", index + 1)))
        };
        let features = [feature("feature")?, feature("feature2")?];
        if features[0] == features[1] {
            let name = scenario.feature_name(features[0]);
            return Err(wrong(format!(
                "row {}: a pair is of two features, and {name} is named twice",
                index + 1
            )));
        }
        let surface = all.entry(features).or_default();
        surface.points.push([number("x")?, number("x2")?]);
        surface.effect.push(number("effect")?);
        if banded {
            let (lower, upper) = (number(BAND[0])?, number(BAND[1])?);
            if lower > upper {
                return Err(wrong(format!(
                    "row {}: lower {lower} is above upper {upper}",
                    index + 1
                )));
            }
            let band = surface.band.get_or_insert_default();
            band.0.push(lower);
            band.1.push(upper);
        }
    }
    if all.is_empty() {
        return Err(wrong("there are no rows".to_owned()));
    }
    for (features, surface) in &all {
        if let Some([x, y]) = surface.twice() {
            let [a, b] = features.map(|feature| scenario.feature_name(feature));
            return Err(wrong(format!("{a}:{b} is given twice at {x}, {y}")));
        }
    }
    Ok(all)
}

impl GivenSurface {
    /// A pair of points that is given twice.
    fn twice(&self) -> Option<[f64; 2]> {
        let mut points = self.points.clone();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        points.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }

    /// The part of it within the ranges of both features.
    fn within(&self, axes: [(f64, f64); 2]) -> Self {
        let inside = |point: &[f64; 2]| {
            (0..2).all(|side: usize| (axes[side].0..=axes[side].1).contains(&point[side]))
        };
        let kept: Vec<usize> =
            (0..self.points.len()).filter(|&i| inside(&self.points[i])).collect();
        let part = |values: &[f64]| kept.iter().map(|&i| values[i]).collect();
        Self {
            points: kept.iter().map(|&i| self.points[i]).collect(),
            effect: part(&self.effect),
            band: self.band.as_ref().map(|(lower, upper)| (part(lower), part(upper))),
        }
    }

    /// The truths at its points.
    fn truths(
        &self,
        scenario: &Scenario,
        asked: &PairEffect,
    ) -> Result<Vec<Truth>, fe_truth::Error> {
        let distinct = |side: usize| {
            let mut values: Vec<f64> = self.points.iter().map(|point| point[side]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let lists = [distinct(0), distinct(1)];
        let place = |side: usize, x: f64| lists[side].partition_point(|value| *value < x);
        // Of points that are no grid only those of each first place are asked.
        if lists[0].len() * lists[1].len() <= 4 * self.points.len() {
            let all = scenario.surface(asked, [&lists[0], &lists[1]])?;
            let at = |[x, y]: &[f64; 2]| all[place(0, *x) * lists[1].len() + place(1, *y)];
            return Ok(self.points.iter().map(at).collect());
        }
        let at = |[x, y]: &[f64; 2]| Ok(scenario.surface(asked, [&[*x], &[*y]])?[0]);
        self.points.iter().map(at).collect()
    }
}

/// Scores a surface of a pair of features against the truth of a scenario on the points within its ranges, the others
/// left out and counted: the metrics of curves, over all pairs of points.
///
/// # Errors
/// What the scenario says of the truth.
pub fn against_truth(
    scenario: &Scenario,
    asked: PairEffect,
    surface: &GivenSurface,
    comparison: Comparison,
) -> Result<Vec<(&'static str, Score)>, fe_truth::Error> {
    let part = surface.within(asked.axes);
    let truths = part.truths(scenario, &asked)?;
    let left_out = surface.points.len() - part.points.len();
    let curve = GivenCurve {
        x: (0..part.points.len()).map(|place| place as f64).collect(),
        effect: part.effect,
        band: part.band,
    };
    Ok(given(&curve, &truths, comparison, left_out))
}

/// The question about a pair that a score is of: centred on its points where nothing else is said.
#[must_use]
pub fn question(
    scenario: &Scenario,
    (effect, interaction): (Quantity, bool),
    features: [usize; 2],
    centring: Option<Centring>,
) -> PairEffect {
    let is_open = effect != Quantity::Pd || interaction;
    let usual = if is_open { Centring::Data } else { Centring::None };
    let axes = features.map(|feature| scenario.axis(feature));
    PairEffect { effect, features, axes, centring: centring.unwrap_or(usual), interaction }
}
