//! Figures of errors against what a study swept over: the number of bins, or of rows.

use std::collections::HashMap;
use std::hash::Hash;

use fe_core::binning;
use fe_core::replicates::Order;

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::look::Look;
use crate::record::KEYS;
use crate::record::summary::SummaryRow;
use crate::score::METRICS;

/// What errors are drawn against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The number of bins; automatic bins are a horizontal line (RHALE Figures 7, 8 and 10).
    ErrorByK,
    /// The number of rows, both axes logarithmic, with the fitted order of convergence.
    ErrorByN,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::ErrorByK, Self::ErrorByN];

    /// The key that is swept over.
    fn key(self) -> &'static str {
        match self {
            Self::ErrorByK => "K",
            Self::ErrorByN => "N",
        }
    }

    /// Its name in files.
    fn name(self) -> &'static str {
        match self {
            Self::ErrorByK => "error-by-K",
            Self::ErrorByN => "error-by-N",
        }
    }
}

/// A figure, where it belongs and what it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// Name of a file, without its ending.
    pub name: String,
    /// The study whose results it shows.
    pub study: String,
    /// The figure.
    pub figure: Figure,
}

/// A sweep is drawn from so many values on.
const LEAST: usize = 3;
/// Up to so many points have markers and error bars; more of them are a line and a band.
const MOST_MARKERS: usize = 24;

/// One figure for each of these,
pub(super) const FIGURE: [&str; 8] =
    ["study", "scenario", "feature", "feature2", "output", "pair", "split", "metric"];
/// a panel in it for each of these (but the one that is swept over),
pub(super) const PANEL: [&str; 3] = ["parameters", "N", "snr"];
/// and a line in that for each of these (likewise).
pub(super) const SERIES: [&str; 7] =
    ["estimator", "preset", "binning", "K", "centring", "empty_bins", "options"];
/// What is counted is no error.
const COUNTS: [&str; 3] = ["bins", "empty_bins", "infeasible"];

/// The figures of the given kinds that some results are good for.
#[must_use]
pub fn figures(values: &[&SummaryRow], kinds: &[Kind]) -> Vec<Named> {
    let errors: Vec<&SummaryRow> =
        values.iter().copied().filter(|row| !COUNTS.contains(&at(row, "metric"))).collect();
    let groups = grouped(&errors, |row| pick(row, &FIGURE));
    let keys: Vec<&Vec<String>> = groups.iter().map(|(key, _)| key).collect();
    let named = kinds.iter().flat_map(|&kind| {
        let keys = &keys;
        groups.iter().filter_map(move |(key, rows)| {
            let name = file_name(kind.name(), &FIGURE, key, keys);
            Some(Named { name, study: key[0].clone(), figure: figure(kind, rows)? })
        })
    });
    distinct(named.collect())
}

/// Names that are not taken yet get a number.
pub(super) fn distinct(mut named: Vec<Named>) -> Vec<Named> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    for Named { name, .. } in &mut named {
        let count = taken.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            name.push_str(&format!("~{count}"));
        }
    }
    named
}

/// Study, kind, and the values that differ among the figures; scenario, feature and metric always.
pub(super) fn file_name(
    kind: &str,
    names: &[&str],
    key: &[String],
    all: &[&Vec<String>],
) -> String {
    let differs = |i: usize| {
        let mut of_study = all.iter().filter(|other| other[0] == key[0]);
        ["scenario", "feature", "metric"].contains(&names[i])
            || of_study.any(|other| other[i] != key[i])
    };
    let without_version = |text: &str| text.split('@').next().unwrap_or_default().to_owned();
    let scenario = names.iter().position(|name| *name == "scenario");
    let is_alike = |other: &Vec<String>| {
        other[0] == key[0] && scenario.is_none_or(|place| other[place] == key[place])
    };
    // Of parameters those that vary for the scenario.
    let varies = |i: usize, part: &&str| {
        all.iter().any(|other| is_alike(other) && !other[i].split(';').any(|own| own == *part))
    };
    let text = |i: usize| match names[i] {
        "parameters" => {
            key[i].split(';').filter(|part| varies(i, part)).collect::<Vec<_>>().join("-")
        }
        _ => without_version(&key[i]),
    };
    let parts: Vec<String> = (1..names.len())
        .filter(|&i| differs(i))
        .map(text)
        .filter(|part| !part.is_empty())
        .collect();
    let name = format!("{}_{kind}_{}", key[0], parts.join("_"));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

fn figure(kind: Kind, rows: &[&SummaryRow]) -> Option<Figure> {
    let keys = |names: &[&'static str]| -> Vec<&'static str> {
        names.iter().copied().filter(|name| *name != kind.key()).collect()
    };
    let (panel_keys, series_keys) = (keys(&PANEL), keys(&SERIES));
    let keys_of = |keys: &[&str]| -> Vec<Vec<String>> {
        grouped(rows, |row| pick(row, keys)).into_iter().map(|(key, _)| key).collect()
    };
    let series_names = names(&keys_of(&series_keys), &series_keys);
    let panels = grouped(rows, |row| pick(row, &panel_keys));
    let swept = |rows: &[&SummaryRow]| {
        grouped(rows, |row| pick(row, &series_keys))
            .iter()
            .any(|(_, rows)| sizes(kind, rows) >= LEAST)
    };
    let shown: Vec<_> = panels.iter().filter(|(_, rows)| swept(rows)).collect();
    let first = shown.first()?.1[0];
    let titles = names(&keys_of(&panel_keys), &panel_keys);
    let cells = shown
        .iter()
        .map(|(key, rows)| {
            let title = if panels.len() > 1 { titles[key].clone() } else { String::new() };
            vec![panel(kind, title, rows, &series_keys, &series_names)]
        })
        .collect();
    let fixed = if panels.len() > 1 { String::new() } else { pieces(&panel_keys, &shown[0].0) };
    let metric = at(first, "metric");
    let meaning = METRICS.iter().find(|(name, _, _)| *name == metric).map_or("", |m| m.2);
    let mut title = format!("{}, {}: {metric}", at(first, "scenario"), at(first, "feature"));
    if !meaning.is_empty() {
        title.push_str(&format!(" ({meaning})"));
    }
    if !fixed.is_empty() {
        title.push_str(&format!("; {fixed}"));
    }
    // The orders of a line differ from panel to panel.
    let legend_per_cell = kind == Kind::ErrorByN;
    Some(Figure { title, cells, legend_per_cell })
}

fn sizes(kind: Kind, rows: &[&SummaryRow]) -> usize {
    grouped(rows, |row| at(row, kind.key()).to_owned()).len()
}

fn panel(
    kind: Kind,
    title: String,
    rows: &[&SummaryRow],
    series_keys: &[&str],
    names: &HashMap<Vec<String>, String>,
) -> Panel {
    let means: Vec<f64> = rows.iter().filter_map(|row| row.summary.mean).collect();
    let (least, most) = extremes(&means);
    let log_y = least > 0.0 && (kind == Kind::ErrorByN || most > 20.0 * least);
    // A line keeps its look in all panels: it is that of its place among all lines of the figure.
    let mut order: Vec<&Vec<String>> = names.keys().collect();
    order.sort();
    let all: Vec<Series> = grouped(rows, |row| pick(row, series_keys))
        .iter()
        .map(|(key, rows)| {
            let place = order.iter().position(|other| *other == key).unwrap_or_default();
            Series::new(kind, &names[key], rows, Look::of_series(place), log_y)
        })
        .collect();
    let (low, high) = extremes(&places(&all));
    let mut layers: Vec<Layer> =
        all.into_iter().flat_map(|series| series.layers((low, high))).collect();
    // Bands first: they must not hide lines.
    layers.sort_by_key(|layer| !matches!(layer.mark, Mark::Band(_)));
    let label = match kind {
        Kind::ErrorByK => "number of bins K",
        Kind::ErrorByN => "number of instances N",
    };
    Panel {
        title,
        x: Scale { label: label.to_owned(), log: low > 0.0 && high >= 20.0 * low },
        y: Scale {
            label: format!("{} (mean ± standard error)", at(rows[0], "metric")),
            log: log_y,
        },
        layers,
        ..Panel::default()
    }
}

/// A line of a panel.
struct Series {
    name: String,
    look: Look,
    /// Where, mean, and standard error.
    points: Vec<(f64, f64, f64)>,
    /// Whether its only value is meant for all places.
    level: bool,
    log_y: bool,
}

impl Series {
    fn new(kind: Kind, name: &str, rows: &[&SummaryRow], look: Look, log_y: bool) -> Self {
        let value = |row: &&SummaryRow| {
            let place = at(row, kind.key()).parse().unwrap_or(f64::NAN);
            Some((place, row.summary.mean?, row.summary.standard_error.unwrap_or_default()))
        };
        let mut points: Vec<(f64, f64, f64)> = rows.iter().filter_map(value).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let level = kind == Kind::ErrorByK && points.len() == 1 && has_no_fixed_bins(rows[0]);
        let order = (kind == Kind::ErrorByN && points.len() >= LEAST)
            .then(|| Order::of(&points.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>()))
            .flatten();
        let name = match order {
            Some(order) => format!("{name}: order {}", with_error(order)),
            None => name.to_owned(),
        };
        Self { name, look, points, level, log_y }
    }

    fn layers(self, (low, high): (f64, f64)) -> Vec<Layer> {
        let layer = |look, mark| Layer::named(self.name.clone(), look, mark);
        let band = |points: &[(f64, f64, f64)]| {
            // A logarithmic axis has no place for what is not positive.
            let lower = |mean: f64, error: f64| {
                if self.log_y { (mean - error).max(0.05 * mean) } else { mean - error }
            };
            let ends = |&(x, mean, error): &_| (x, lower(mean, error), mean + error);
            Mark::Band(points.iter().map(ends).collect())
        };
        let line = |points: &[(f64, f64, f64)]| {
            Mark::Line(points.iter().map(|&(x, mean, _)| (x, mean)).collect())
        };
        let plain = Look { marker: super::look::Marker::None, ..self.look };
        match &self.points[..] {
            [(_, mean, error)] if self.level => {
                let ends = [(low, *mean, *error), (high, *mean, *error)];
                vec![layer(plain.faint(0.18), band(&ends)), layer(plain, line(&ends))]
            }
            many if many.len() > MOST_MARKERS => {
                vec![layer(plain.faint(0.18), band(many)), layer(plain, line(many))]
            }
            few => vec![layer(plain, line(few)), layer(self.look, Mark::Points(few.to_vec()))],
        }
    }
}

/// Where the axis has to reach; what is meant for all places counts only where there is nothing else.
fn places(all: &[Series]) -> Vec<f64> {
    let of = |level| -> Vec<f64> {
        let those = all.iter().filter(|series| series.level == level);
        those.flat_map(|series| series.points.iter().map(|point| point.0)).collect()
    };
    let swept = of(false);
    if swept.is_empty() { of(true) } else { swept }
}

/// Whether the number of bins was not asked for: there are none, or the data decide.
fn has_no_fixed_bins(row: &SummaryRow) -> bool {
    let kind = at(row, "binning").split('(').next().unwrap_or_default();
    at(row, "K").is_empty() || binning::ALL.iter().any(|info| info.name == kind && info.automatic)
}

fn with_error(order: Order) -> String {
    let slope = format!("{:.2}", order.slope).replace('-', "−");
    match order.standard_error {
        Some(error) => format!("{slope} ± {error:.2}"),
        None => slope,
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)))
}

/// For people: those of the values of some keys that differ, the first one always; options only if they
/// differ where the first one does not.
pub(super) fn names(all: &[Vec<String>], keys: &[&str]) -> HashMap<Vec<String>, String> {
    // An estimator without bins does not make the bins of the others worth naming.
    let differs = |own: &Vec<String>, i: usize| {
        let rivals = all.iter().filter(|key| keys[i] != "options" || key[0] == own[0]);
        let mut given = rivals.map(|key| &key[i]).filter(|value| !value.is_empty());
        given.next().is_some_and(|first| given.any(|value| value != first))
    };
    let named = |key: &Vec<String>| {
        let shown: Vec<usize> = (0..keys.len()).filter(|&i| i == 0 || differs(key, i)).collect();
        let names: Vec<&str> = shown.iter().map(|&i| keys[i]).collect();
        let values: Vec<String> = shown.iter().map(|&i| key[i].clone()).collect();
        (key.clone(), pieces(&names, &values))
    };
    all.iter().map(named).collect()
}

/// Values in a row; numbers and the like with the name of their key.
pub(super) fn pieces(keys: &[&str], values: &[String]) -> String {
    let piece = |(key, value): (&&str, &String)| match *key {
        _ if value.is_empty() => None,
        "K" | "N" | "snr" => Some(format!("{key}\u{a0}=\u{a0}{value}")),
        "parameters" | "options" => Some(value.replace(';', ", ")),
        "centring" => Some(format!("centred by {value}")),
        "empty_bins" => Some(format!("empty bins: {value}")),
        _ => Some(value.clone()),
    };
    keys.iter().zip(values).filter_map(piece).collect::<Vec<_>>().join(", ")
}

fn at<'a>(row: &'a SummaryRow, key: &str) -> &'a str {
    KEYS.iter().position(|known| *known == key).map_or("", |place| &row.key[place])
}

fn pick(row: &SummaryRow, keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| at(row, key).to_owned()).collect()
}

/// Rows by a key, in the order in which keys first appear.
fn grouped<'a, K: Hash + Eq + Clone>(
    rows: &[&'a SummaryRow],
    key: impl Fn(&SummaryRow) -> K,
) -> Vec<(K, Vec<&'a SummaryRow>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<&SummaryRow>)> = Vec::new();
    for &row in rows {
        let key = key(row);
        let place = *places.entry(key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[place].1.push(row);
    }
    groups
}
