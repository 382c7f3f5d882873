//! Figures of errors against what a study swept over: the number of bins, or of rows.

use std::collections::HashMap;
use std::hash::Hash;

use fe_core::binning;
use fe_core::replicates::Order;

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::Look;
use crate::record::Column;
use crate::record::summary::{SummaryRow, grouped};
use crate::score::Metric;

/// The size that errors are drawn against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// The number of bins; automatic bins are a horizontal line (RHALE Figures 7, 8 and 10).
    ErrorByK,
    /// The number of rows, both axes logarithmic, with the fitted order of convergence.
    ErrorByN,
}

impl Sweep {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::ErrorByK, Self::ErrorByN];

    /// The key that is swept over.
    fn column(self) -> Column {
        match self {
            Self::ErrorByK => Column::Bins,
            Self::ErrorByN => Column::Rows,
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
pub(super) const FIGURE: [Column; 8] = [
    Column::Study,
    Column::Scenario,
    Column::Feature,
    Column::Feature2,
    Column::Output,
    Column::Pair,
    Column::Split,
    Column::Metric,
];
/// a panel in it for each of these (but the one that is swept over),
pub(super) const PANEL: [Column; 3] = [Column::Parameters, Column::Rows, Column::Snr];
/// and a line in that for each of these (likewise).
pub(super) fn series() -> Vec<Column> {
    Column::ALL.into_iter().filter(|column| column.is_of_variant()).collect()
}

/// The figures of the given kinds that some results are good for.
#[must_use]
pub fn figures(values: &[&SummaryRow], kinds: &[Sweep]) -> Vec<Named> {
    let errors: Vec<&SummaryRow> = values
        .iter()
        .copied()
        .filter(|row| !row.key.metric.parse().is_ok_and(Metric::is_count))
        .collect();
    let groups = by(&errors, |row| pick(row, &FIGURE));
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
    columns: &[Column],
    key: &[String],
    all: &[&Vec<String>],
) -> String {
    let differs = |i: usize| {
        let mut of_study = all.iter().filter(|other| other[0] == key[0]);
        [Column::Scenario, Column::Feature, Column::Metric].contains(&columns[i])
            || of_study.any(|other| other[i] != key[i])
    };
    let without_version = |text: &str| text.split('@').next().unwrap_or_default().to_owned();
    let scenario = columns.iter().position(|column| *column == Column::Scenario);
    let is_alike = |other: &Vec<String>| {
        other[0] == key[0] && scenario.is_none_or(|place| other[place] == key[place])
    };
    // Of parameters those that vary for the scenario.
    let varies = |i: usize, part: &&str| {
        all.iter().any(|other| is_alike(other) && !other[i].split(';').any(|own| own == *part))
    };
    let text = |i: usize| match columns[i] {
        Column::Parameters => {
            key[i].split(';').filter(|part| varies(i, part)).collect::<Vec<_>>().join("-")
        }
        _ => without_version(&key[i]),
    };
    let parts: Vec<String> = (1..columns.len())
        .filter(|&i| differs(i))
        .map(text)
        .filter(|part| !part.is_empty())
        .collect();
    let name = format!("{}_{kind}_{}", key[0], parts.join("_"));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

fn figure(kind: Sweep, rows: &[&SummaryRow]) -> Option<Figure> {
    let others = |columns: &[Column]| -> Vec<Column> {
        columns.iter().copied().filter(|column| *column != kind.column()).collect()
    };
    let (panel_keys, series_keys) = (others(&PANEL), others(&series()));
    let keys_of = |keys: &[Column]| -> Vec<Vec<String>> {
        by(rows, |row| pick(row, keys)).into_iter().map(|(key, _)| key).collect()
    };
    let series_names = names(&keys_of(&series_keys), &series_keys);
    let panels = by(rows, |row| pick(row, &panel_keys));
    let swept = |rows: &[&SummaryRow]| {
        by(rows, |row| pick(row, &series_keys)).iter().any(|(_, rows)| sizes(kind, rows) >= LEAST)
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
    let metric = first.key.metric.as_str();
    let meaning = metric.parse::<Metric>().map_or("", Metric::about);
    let mut title = format!("{}, {}: {metric}", first.key.scenario, first.key.feature);
    if !meaning.is_empty() {
        title.push_str(&format!(" ({meaning})"));
    }
    if !fixed.is_empty() {
        title.push_str(&format!("; {fixed}"));
    }
    // The orders of a line differ from panel to panel.
    let legend_per_cell = kind == Sweep::ErrorByN;
    Some(Figure { title, cells, legend_per_cell })
}

fn sizes(kind: Sweep, rows: &[&SummaryRow]) -> usize {
    by(rows, |row| row.key[kind.column()].clone()).len()
}

fn panel(
    kind: Sweep,
    title: String,
    rows: &[&SummaryRow],
    series_keys: &[Column],
    names: &HashMap<Vec<String>, String>,
) -> Panel {
    let means: Vec<f64> = rows.iter().filter_map(|row| row.summary.mean).collect();
    let (least, most) = extremes(&means);
    let falls = !has_no_order(rows[0]);
    let log_y = falls && least > 0.0 && (kind == Sweep::ErrorByN || most > 20.0 * least);
    // A line keeps its look in all panels: it is that of its place among all lines of the figure.
    let mut order: Vec<&Vec<String>> = names.keys().collect();
    order.sort();
    let all: Vec<Series> = by(rows, |row| pick(row, series_keys))
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
        Sweep::ErrorByK => "number of bins K",
        Sweep::ErrorByN => "number of instances N",
    };
    Panel {
        title,
        x: Scale { label: label.to_owned(), log: low > 0.0 && high >= 20.0 * low },
        y: Scale { label: format!("{} (mean ± standard error)", rows[0].key.metric), log: log_y },
        layers,
        ..Panel::default()
    }
}

fn has_no_order(row: &SummaryRow) -> bool {
    row.key.metric.parse().is_ok_and(Metric::has_no_order)
}

/// A line of a panel.
struct Series {
    name: String,
    look: Look,
    /// Where, mean, and standard error.
    points: Vec<(f64, f64, f64)>,
    /// True if its only value is meant for all places.
    level: bool,
    log_y: bool,
}

impl Series {
    fn new(kind: Sweep, name: &str, rows: &[&SummaryRow], look: Look, log_y: bool) -> Self {
        let value = |row: &&SummaryRow| {
            let place = row.key[kind.column()].parse().unwrap_or(f64::NAN);
            Some((place, row.summary.mean?, row.summary.standard_error.unwrap_or_default()))
        };
        let mut points: Vec<(f64, f64, f64)> = rows.iter().filter_map(value).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let level = kind == Sweep::ErrorByK && points.len() == 1 && has_no_fixed_bins(rows[0]);
        let order = (kind == Sweep::ErrorByN && points.len() >= LEAST && !has_no_order(rows[0]))
            .then(|| Order::of(&points.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>()))
            .flatten();
        let name = match order {
            Some(_) if Order::ends_in_plateau(&points) => format!("{name}: levels off"),
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
        let plain = Look { marker: super::style::Marker::None, ..self.look };
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

/// True if the number of bins was not asked for: there are none, or the data decide.
fn has_no_fixed_bins(row: &SummaryRow) -> bool {
    let kind = row.key.binning.split('(').next().unwrap_or_default();
    row.key.bins.is_empty() || binning::ALL.iter().any(|info| info.name == kind && info.automatic)
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
pub(super) fn names(all: &[Vec<String>], columns: &[Column]) -> HashMap<Vec<String>, String> {
    // An estimator without bins does not make the bins of the others worth naming.
    let differs = |own: &Vec<String>, i: usize| {
        let rivals = all.iter().filter(|key| columns[i] != Column::Options || key[0] == own[0]);
        let mut given = rivals.map(|key| &key[i]).filter(|value| !value.is_empty());
        given.next().is_some_and(|first| given.any(|value| value != first))
    };
    let named = |key: &Vec<String>| {
        let shown: Vec<usize> = (0..columns.len()).filter(|&i| i == 0 || differs(key, i)).collect();
        let columns: Vec<Column> = shown.iter().map(|&i| columns[i]).collect();
        let values: Vec<String> = shown.iter().map(|&i| key[i].clone()).collect();
        (key.clone(), pieces(&columns, &values))
    };
    all.iter().map(named).collect()
}

/// Values in a row; numbers and the like with the name of their key.
pub(super) fn pieces(columns: &[Column], values: &[String]) -> String {
    let piece = |(column, value): (&Column, &String)| match column {
        _ if value.is_empty() => None,
        Column::Bins | Column::Rows | Column::Snr => {
            Some(format!("{}\u{a0}=\u{a0}{value}", column.name()))
        }
        Column::Parameters | Column::Options => Some(value.replace(';', ", ")),
        Column::Centring => Some(format!("centred by {value}")),
        Column::EmptyBins => Some(format!("empty bins: {value}")),
        _ => Some(value.clone()),
    };
    columns.iter().zip(values).filter_map(piece).collect::<Vec<_>>().join(", ")
}

fn pick(row: &SummaryRow, columns: &[Column]) -> Vec<String> {
    row.key.fields(columns.iter().copied()).map(str::to_owned).collect()
}

/// Rows by what they share, in the order in which that first appears.
fn by<'a, K: Hash + Eq + Clone>(
    rows: &[&'a SummaryRow],
    shared: impl Fn(&SummaryRow) -> K,
) -> Vec<(K, Vec<&'a SummaryRow>)> {
    grouped(rows.iter().map(|row| (shared(row), *row)))
}
