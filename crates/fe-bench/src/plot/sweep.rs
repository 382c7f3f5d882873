//! Figures of errors against what a study swept over, the number of bins or of rows, or against the time it took.

use std::collections::HashMap;
use std::hash::Hash;

use fe_core::binning;
use fe_core::estimator::Estimand;
use fe_core::replicates::Order;

use super::coinciding::{self, Group, Name, Spot};
use super::figure::{Figure, Layer, Mark, Panel, Scale, lower_end};
use super::scale::Ruler;
use super::style::{GREY, MarkStyle};
use crate::data::sizes::Sizes;
use crate::record::measured::Times;
use crate::record::summary::{SummaryRow, grouped};
use crate::record::{Column, Key};
use crate::score::{Metric, estimand_of};
use crate::study::field::{Field, parts};
use crate::study::labels::{Labels, rounded};

/// The kind of what errors are drawn against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// The number of bins; automatic bins are a horizontal line (RHALE Figures 7, 8 and 10).
    ErrorByK,
    /// The number of rows, both axes logarithmic, with the fitted order of convergence.
    ErrorByN,
    /// A parameter of the scenario.
    ErrorByParameter,
    /// The time of one estimate, where times are known; along the number of rows, or else of bins.
    ErrorByTime,
}

impl Sweep {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::ErrorByK, Self::ErrorByN, Self::ErrorByParameter, Self::ErrorByTime];

    /// The fields of this kind that some values are swept over.
    fn fields(self, values: &[&SummaryRow]) -> Vec<Field> {
        match self {
            Self::ErrorByK => vec![Field::Column(Column::Bins)],
            Self::ErrorByN => vec![Field::Column(Column::Rows)],
            Self::ErrorByTime => {
                let along = [Column::Rows, Column::Bins].map(Field::Column);
                along
                    .into_iter()
                    .find(|field| places_swept(field, values) >= LEAST)
                    .into_iter()
                    .collect()
            }
            Self::ErrorByParameter => {
                let keys: Vec<&Key> = values.iter().map(|value| &value.key).collect();
                let is_number = |field: &Field| {
                    keys.iter().all(|key| field.of(key).parse::<f64>().is_ok_and(f64::is_finite))
                };
                Field::varying(Column::Parameters, &keys).into_iter().filter(is_number).collect()
            }
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
/// The most lines of a panel that are told apart in print and by the colour-blind.
pub(super) const MOST_SERIES: usize = 12;
/// Up to so many points have markers and error bars; more of them are a line and a band.
const MOST_MARKERS: usize = 24;

/// Most digits of an order behind the point.
const DIGITS: usize = 4;

/// The option that says of how much confidence a band is, and its line.
const LEVEL: &str = "level";
const USUAL_LEVEL: f64 = 0.95;
pub(super) const NOMINAL: MarkStyle = MarkStyle::line(GREY, 1.2).dashed(2, 3);

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
pub(super) fn series() -> Vec<Field> {
    fields(&variants())
}

/// The columns that say how an effect is estimated.
pub(super) fn variants() -> Vec<Column> {
    Column::ALL.into_iter().filter(|column| column.is_of_variant()).collect()
}

/// Fields of columns.
pub(super) fn fields(columns: &[Column]) -> Vec<Field> {
    columns.iter().copied().map(Field::Column).collect()
}

/// Figures, and the words for those that would show more than can be told apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweeps {
    /// The figures.
    pub figures: Vec<Named>,
    /// Reasons why others are not drawn, with what to do.
    pub left_out: Vec<String>,
}

impl Sweeps {
    /// These and others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.figures.extend(others.figures);
        self.left_out.extend(others.left_out);
        self
    }
}

/// The figures of the given kinds that some results are good for, in the words of some labels.
#[must_use]
pub fn figures(
    values: &[&SummaryRow],
    kinds: &[Sweep],
    times: &Times,
    (labels, sizes): (&Labels, &Sizes),
) -> Sweeps {
    let errors: Vec<&SummaryRow> = values
        .iter()
        .copied()
        .filter(|row| !row.key.metric.parse().is_ok_and(Metric::is_count))
        .collect();
    let groups = by(&errors, |row| pick(row, &fields(&FIGURE)));
    let labels = &labels.for_figures();
    let keys: Vec<&Vec<String>> = groups.iter().map(|(key, _)| key).collect();
    let named = kinds.iter().flat_map(|&kind| {
        let keys = &keys;
        groups.iter().flat_map(move |(key, rows)| {
            let by_time = kind == Sweep::ErrorByTime;
            let timed = |row: &&&SummaryRow| !by_time || times.seconds(&row.key).is_some();
            let rows: Vec<&SummaryRow> = rows.iter().filter(timed).copied().collect();
            kind.fields(&rows).into_iter().filter_map(move |swept| {
                let along = Along { swept, times: by_time.then_some(times) };
                let by = if by_time { "time" } else { along.swept.name() };
                let name = file_name(&format!("error-by-{by}"), &FIGURE, key, keys);
                let figure = figure(&along, &rows, (labels, sizes))?;
                let named = |figure| Named { name: name.clone(), study: key[0].clone(), figure };
                Some(figure.map(named).map_err(|reason| format!("{name} is not drawn: {reason}")))
            })
        })
    });
    let mut sweeps = Sweeps::default();
    for named in named {
        match named {
            Ok(figure) => sweeps.figures.push(figure),
            Err(reason) => sweeps.left_out.push(reason),
        }
    }
    sweeps.figures = distinct(sweeps.figures);
    sweeps
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

/// The field that a line runs along, and the times that are its places if they are not the field's own values.
struct Along<'a> {
    swept: Field,
    times: Option<&'a Times>,
}

impl Along<'_> {
    /// Its name, for people.
    fn name(&self, labels: &Labels) -> String {
        match &self.swept {
            _ if self.times.is_some() => "seconds for one estimate".to_owned(),
            Field::Column(Column::Bins) => "number of bins K".to_owned(),
            Field::Column(_) => "number of instances N".to_owned(),
            Field::Part(name) => labels.of_option(name).into_owned(),
        }
    }

    /// The place of a mean on the horizontal axis.
    fn place(&self, row: &SummaryRow) -> f64 {
        match self.times {
            Some(times) => times.seconds(&row.key).unwrap_or(f64::NAN),
            None => self.swept.of(&row.key).parse().unwrap_or(f64::NAN),
        }
    }
}

/// A figure, or the reason why it would show nothing that can be read; none if nothing is swept over.
fn figure(
    along: &Along<'_>,
    rows: &[&SummaryRow],
    (labels, sizes): (&Labels, &Sizes),
) -> Option<Result<Figure, String>> {
    let swept = &along.swept;
    let but_swept = |fields: Vec<Field>| -> Vec<Field> {
        fields.into_iter().filter(|field| field != swept).collect()
    };
    let all: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
    let mut panel_keys = Field::varying(Column::Parameters, &all);
    panel_keys.extend(fields(&PANEL[1..]));
    let (panel_keys, series_keys) = (but_swept(panel_keys), but_swept(series()));
    let scale = scale_of(swept, rows, sizes);
    let panels = by(rows, |row| pick(row, &panel_keys));
    let is_swept = |rows: &[&SummaryRow]| {
        let lines = by(rows, |row| pick(row, &series_keys));
        lines.iter().any(|(_, rows)| places_swept(swept, rows) >= LEAST)
            && rows.iter().any(|row| scale.shows(row))
    };
    let shown: Vec<_> = panels.iter().filter(|(_, rows)| is_swept(rows)).collect();
    let first = shown.first()?.1[0];
    let of_panels: Vec<&[&SummaryRow]> = shown.iter().map(|(_, rows)| &rows[..]).collect();
    let lines = lines(along, &of_panels, &series_keys, &scale, labels);
    let axes = Axes::of(&lines, along, first, &scale, labels);
    let spots: Vec<Vec<Spot>> = lines.iter().map(|line| line.spots(&axes)).collect();
    let groups = coinciding::groups(&spots);
    if groups.len() > MOST_SERIES {
        return Some(Err(format!(
            "{} lines in a panel, of which at most {MOST_SERIES} can be told apart; choose some, such as with \
             --where estimator=…",
            groups.len()
        )));
    }
    let valueless: Vec<&Line> = lines.iter().filter(|line| line.has_no_value()).collect();
    let titles = names(&keys_of(rows, &panel_keys), &panel_keys, labels);
    let mut cells: Vec<Vec<Panel>> = (0..)
        .zip(&shown)
        .map(|(place, (key, rows))| {
            let title = if panels.len() > 1 { titles[key].clone() } else { String::new() };
            vec![panel((place, title), rows, (&lines, &groups), &axes)]
        })
        .collect();
    share_axes(&mut cells);
    if let (Some(last), false) =
        (cells.last_mut().and_then(|cell| cell.last_mut()), valueless.is_empty())
    {
        let names: Vec<String> = valueless.iter().map(|line| line.name("").words()).collect();
        let name = format!("no value: {}", names.join("; "));
        last.layers.push(Layer::named(name, NOMINAL, Mark::Words(Vec::new())));
    }
    let metric = first.key.metric.as_str();
    // Distances of curves, and coverages, are said by their labels.
    let known = metric.parse::<Metric>().ok().filter(|metric| !metric.is_of_curves());
    let meaning = known.map_or("", Metric::about);
    let scenario = labels.of_scenario(&first.key.scenario);
    let subject = first.key.subject();
    let (feature, along_name) = (labels.of_own(&subject), along.name(labels));
    let mut title = format!("{scenario}, {feature}: {} against {along_name}", labels.of(metric));
    if !meaning.is_empty() {
        title.push_str(&format!(" ({meaning})"));
    }
    let fixed = fixed(&first.key, &all, swept, panels.len() == 1, labels);
    if !fixed.is_empty() {
        title.push_str(&format!("; {fixed}"));
    }
    // The orders of a line differ from panel to panel.
    let legend_per_cell =
        *swept == Field::Column(Column::Rows) && along.times.is_none() && !has_no_order(first);
    Some(Ok(Figure { title, cells, legend_per_cell }))
}

/// The different values of some keys.
fn keys_of(rows: &[&SummaryRow], keys: &[Field]) -> Vec<Vec<String>> {
    by(rows, |row| pick(row, keys)).into_iter().map(|(key, _)| key).collect()
}

/// A line of a figure: its name in pieces, and what it is in each panel.
struct Line {
    name: Vec<String>,
    of_panels: Vec<Option<Series>>,
}

/// The lines of the panels whose means are given, in their order.
fn lines(
    along: &Along<'_>,
    of_panels: &[&[&SummaryRow]],
    series_keys: &[Field],
    scale: &ErrorScale,
    labels: &Labels,
) -> Vec<Line> {
    let rows: Vec<&SummaryRow> = of_panels.concat();
    let keys = keys_of(&rows, series_keys);
    let names = names_in_pieces(&keys, series_keys, labels);
    let line = |key: Vec<String>| {
        let series = |rows: &&[&SummaryRow]| {
            let is_own = |row: &&SummaryRow| pick(row, series_keys) == key;
            let own: Vec<&SummaryRow> = rows.iter().copied().filter(is_own).collect();
            (!own.is_empty()).then(|| Series::new(along, &own, scale))
        };
        let of_panels = of_panels.iter().map(series).collect();
        Line { name: names[&key].clone(), of_panels }
    };
    keys.into_iter().map(line).collect()
}

impl Line {
    /// Its name, with a note.
    fn name<'a>(&'a self, note: &'a str) -> Name<'a> {
        Name { pieces: &self.name, note }
    }

    /// True if none of its means is known.
    fn has_no_value(&self) -> bool {
        let mut series = self.of_panels.iter().flatten();
        series.all(|series| series.points.is_empty() && series.exact.is_empty())
    }

    /// Its points as they are drawn, in all panels.
    fn spots(&self, axes: &Axes) -> Vec<Spot> {
        let series = self.of_panels.iter().enumerate();
        let series = series.filter_map(|(panel, series)| Some((panel, series.as_ref()?)));
        series.flat_map(|(panel, series)| series.spots(panel, axes)).collect()
    }
}

/// The axes that the panels of a figure share.
struct Axes {
    x: Scale,
    y: Scale,
    /// The first place and the last one.
    reach: (f64, f64),
    rulers: (Ruler, Ruler),
}

impl Axes {
    fn of(
        lines: &[Line],
        along: &Along<'_>,
        first: &SummaryRow,
        scale: &ErrorScale,
        labels: &Labels,
    ) -> Self {
        let series = || lines.iter().flat_map(|line| line.of_panels.iter().flatten());
        let (low, high) = extremes(&places(series()));
        let is_of_size = along.swept == Field::Column(Column::Rows) && along.times.is_none();
        let log = low > 0.0 && (high >= 20.0 * low || is_of_size && high > low);
        let x = Scale { log, ..Scale::linear(along.name(labels)) };
        let metric = labels.of(&first.key.metric);
        let unit = scale.unit.map_or(String::new(), |unit| format!(" in {unit}"));
        let y = Scale { log: scale.log, ..Scale::linear(format!("{metric}{unit} (mean ± s.e.)")) };
        let ends = series()
            .flat_map(|series| &series.points)
            .flat_map(|&(_, mean, error)| [lower_end(scale.log, mean, error), mean, mean + error]);
        let rulers = (Ruler::new(&x, [low, high].into_iter(), 2), Ruler::new(&y, ends, 2));
        Self { x, y, reach: (low, high), rulers }
    }
}

/// The words for what holds for all of a figure: parameters that do not vary and, where there is one panel, its size.
fn fixed(key: &Key, all: &[&Key], swept: &Field, is_alone: bool, labels: &Labels) -> String {
    let varies = Field::varying(Column::Parameters, all);
    let parameters = parts(&key.parameters).map(|(name, _)| Field::Part(name.to_owned()));
    let parameters = parameters.filter(|field| !varies.contains(field));
    let sizes = fields(&PANEL[1..]).into_iter().filter(|field| field != swept && is_alone);
    let fields: Vec<Field> = parameters.chain(sizes).collect();
    let values: Vec<String> = fields.iter().map(|field| field.of(key).to_owned()).collect();
    pieces(&fields, &values, labels)
}

/// The same axes for all panels, so that they can be compared.
fn share_axes(cells: &mut [Vec<Panel>]) {
    let panels = cells.iter().flatten();
    let extent: Vec<(f64, f64)> = panels.flat_map(Panel::extent).collect();
    cells.iter_mut().flatten().for_each(|panel| panel.hold.clone_from(&extent));
}

/// True if some of these values lie along a sweep that is drawn.
pub(super) fn is_swept(rows: &[&SummaryRow]) -> bool {
    let kinds = [Sweep::ErrorByK, Sweep::ErrorByN, Sweep::ErrorByParameter];
    kinds.iter().flat_map(|kind| kind.fields(rows)).any(|swept| {
        let own = match &swept {
            Field::Column(column) => *column,
            Field::Part(_) => Column::Parameters,
        };
        let others: Vec<Column> = Column::of_means().filter(|column| *column != own).collect();
        let lines = by(rows, |row| pick(row, &fields(&others)));
        lines.iter().any(|(_, rows)| places_swept(&swept, rows) >= LEAST)
    })
}

/// Number of values of what is swept over.
fn places_swept(swept: &Field, rows: &[&SummaryRow]) -> usize {
    by(rows, |row| swept.of(&row.key).to_owned()).len()
}

/// The vertical axis of a figure: one for all of its panels.
struct ErrorScale {
    log: bool,
    /// Means up to this are rounding errors of a number that is exact.
    rounding: f64,
    /// Its unit, where it is that of f or its square.
    unit: Option<&'static str>,
}

fn scale_of(swept: &Field, rows: &[&SummaryRow], sizes: &Sizes) -> ErrorScale {
    let metric: Option<Metric> = rows[0].key.metric.parse().ok();
    let means = || rows.iter().filter_map(|row| row.summary.mean);
    let most = means().map(f64::abs).fold(0.0, f64::max);
    // Of functions of several sizes, what is rounding of the smallest.
    let sizes = rows.iter().map(|row| sizes.of(&row.key.scenario, &row.key.parameters));
    let size = sizes.fold(f64::INFINITY, f64::min);
    let rounding = metric.and_then(|metric| metric.rounding(most, size));
    let rounding = rounding.unwrap_or(f64::NEG_INFINITY);
    let drawn: Vec<f64> = means().filter(|mean| mean.abs() > rounding).collect();
    let (least, most) = extremes(&drawn);
    let falls = !has_no_order(rows[0]);
    let is_of_size = *swept == Field::Column(Column::Rows);
    let log = falls && least > 0.0 && most > 0.0 && (is_of_size || most > 20.0 * least);
    let of_derivatives = |row: &&SummaryRow| {
        estimand_of(&row.key.estimator) == Some(Estimand::DerivativePartialDependence)
    };
    let unit = metric.and_then(Metric::unit).filter(|_| !rows.iter().any(of_derivatives));
    ErrorScale { log, rounding, unit }
}

impl ErrorScale {
    /// True if a mean is drawn: it is there, and more than rounding.
    fn shows(&self, row: &SummaryRow) -> bool {
        row.summary.mean.is_some_and(|mean| mean.abs() > self.rounding)
    }
}

/// A panel by its place among all, with those of the lines that are drawn in it.
fn panel(
    (place, title): (usize, String),
    rows: &[&SummaryRow],
    (lines, groups): (&[Line], &[Group]),
    axes: &Axes,
) -> Panel {
    let mut layers: Vec<Layer> = nominal_levels(rows, axes.reach);
    // A line keeps its look in all panels.
    for (i, group) in groups.iter().enumerate() {
        let series = |line: usize| lines[line].of_panels[place].as_ref();
        let Some(drawn) = series(group.drawn) else { continue };
        let note = |line: usize| series(line).map_or("", |series| series.note.as_str());
        let name = group.named(|line| lines[line].name(note(line)));
        layers.extend(drawn.layers(&name, MarkStyle::of_series(i), axes));
    }
    // Bands first: they must not hide lines.
    layers.sort_by_key(|layer| !matches!(layer.mark, Mark::Band(_)));
    Panel { title, x: axes.x.clone(), y: axes.y.clone(), layers, ..Panel::default() }
}

/// A line at each level of confidence that the coverage of a panel should be.
pub(super) fn nominal_levels(rows: &[&SummaryRow], (low, high): (f64, f64)) -> Vec<Layer> {
    let is_coverage = rows[0].key.metric.parse().is_ok_and(Metric::is_coverage);
    let level = Field::Part(LEVEL.to_owned());
    let of = |row: &SummaryRow| level.of(&row.key).parse().unwrap_or(USUAL_LEVEL);
    let levels = by(rows, |row| of(row).to_bits()).into_iter().filter(|_| is_coverage);
    let line = |level: f64| {
        let ends = Mark::Line(vec![(low, level), (high, level)]);
        Layer::named(format!("nominal level {level}"), NOMINAL, ends)
    };
    levels.map(|(bits, _)| line(f64::from_bits(bits))).collect()
}

fn has_no_order(row: &SummaryRow) -> bool {
    row.key.metric.parse().is_ok_and(Metric::has_no_order)
}

/// A line in a panel.
struct Series {
    /// A note on it behind its name.
    note: String,
    /// Place, mean, and standard error.
    points: Vec<(f64, f64, f64)>,
    /// Places at which its mean is exact but for rounding.
    exact: Vec<f64>,
    /// True if its only value is meant for all places.
    level: bool,
    /// True if it goes back and forth too often to be a line: many sizes along times.
    scattered: bool,
}

impl Series {
    fn new(along: &Along<'_>, rows: &[&SummaryRow], scale: &ErrorScale) -> Self {
        let value = |row: &&SummaryRow| {
            Some((
                along.place(row),
                row.summary.mean?,
                row.summary.standard_error.unwrap_or_default(),
            ))
        };
        // A line goes from size to size, also along times.
        let size = |row: &SummaryRow| along.swept.of(&row.key).parse::<f64>().unwrap_or(f64::NAN);
        let mut known: Vec<&SummaryRow> =
            rows.iter().copied().filter(|row| row.summary.mean.is_some()).collect();
        known.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let (shown, exact): (Vec<_>, Vec<_>) = known.into_iter().partition(|row| scale.shows(row));
        let points: Vec<(f64, f64, f64)> = shown.iter().filter_map(value).collect();
        let exact: Vec<f64> = exact.iter().map(|row| along.place(row)).collect();
        let is_by = |column| along.times.is_none() && along.swept == Field::Column(column);
        let level = is_by(Column::Bins) && points.len() == 1 && has_no_fixed_bins(rows[0]);
        // What becomes exact has no order.
        let has_order = exact.is_empty() && points.len() >= LEAST && !has_no_order(rows[0]);
        let order = (is_by(Column::Rows) && has_order)
            .then(|| Order::of(&points.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>()))
            .flatten();
        let note = match order {
            Some(_) if Order::ends_in_plateau(&points) => "levels off".to_owned(),
            Some(order) => format!("order\u{a0}{}", with_error(order)),
            None => String::new(),
        };
        let of_exact = match (exact.len(), points.len()) {
            (0, _) => String::new(),
            (_, 0) => "exact".to_owned(),
            _ if along.times.is_none() && ends_exact(&points, &exact) => {
                format!("exact from {} on", rounded(&exact[0].to_string()))
            }
            (exact, others) => format!("exact at {exact} of {}", exact + others),
        };
        let notes = [note, of_exact].into_iter().filter(|note| !note.is_empty());
        let note = notes.collect::<Vec<_>>().join(", ");
        let scattered = along.times.is_some() && points.len() > MOST_MARKERS;
        Self { note, points, exact, level, scattered }
    }

    /// Its points as they are drawn in a panel.
    fn spots(&self, panel: usize, axes: &Axes) -> Vec<Spot> {
        let at = |ruler: &Ruler, value: f64| ruler.share(value).unwrap_or(f64::NAN);
        let (x, y) = (|x| at(&axes.rulers.0, x), |y| at(&axes.rulers.1, y));
        let point = |&(place, mean, error): &(f64, f64, f64)| {
            // A level is meant for all places.
            let (place, across) = if self.level { (f64::NAN, -1.0) } else { (place, x(place)) };
            let lower = lower_end(axes.y.log, mean, error);
            let shares = [across, y(mean), y(lower), y(mean + error)];
            Spot { panel, values: [place, mean, error], shares }
        };
        let exact = |&place: &f64| {
            let shares = [x(place), -1.0, -1.0, -1.0];
            Spot { panel, values: [place, 0.0, 0.0], shares }
        };
        self.points.iter().map(point).chain(self.exact.iter().map(exact)).collect()
    }

    fn layers(&self, name: &str, look: MarkStyle, axes: &Axes) -> Vec<Layer> {
        let (low, high) = axes.reach;
        let layer = |look, mark| Layer::named(name, look, mark);
        let band = |points: &[(f64, f64, f64)]| {
            let ends =
                |&(x, mean, error): &_| (x, lower_end(axes.y.log, mean, error), mean + error);
            Mark::Band(points.iter().map(ends).collect())
        };
        let line = |points: &[(f64, f64, f64)]| {
            Mark::Line(points.iter().map(|&(x, mean, _)| (x, mean)).collect())
        };
        let plain = MarkStyle { marker: super::style::Marker::None, ..look };
        match &self.points[..] {
            // Named alone: there is nothing to be drawn.
            [] => vec![layer(look, Mark::Points(Vec::new()))],
            [(_, mean, error)] if self.level => {
                let ends = [(low, *mean, *error), (high, *mean, *error)];
                vec![layer(plain.faint(0.18), band(&ends)), layer(plain, line(&ends))]
            }
            many if self.scattered => vec![layer(look, Mark::Points(many.to_vec()))],
            many if many.len() > MOST_MARKERS => {
                vec![layer(plain.faint(0.18), band(many)), layer(plain, line(many))]
            }
            few => vec![layer(plain, line(few)), layer(look, Mark::Points(few.to_vec()))],
        }
    }
}

/// True if the last means are exact, and no others.
fn ends_exact(points: &[(f64, f64, f64)], exact: &[f64]) -> bool {
    let (_, last) = extremes(&points.iter().map(|point| point.0).collect::<Vec<_>>());
    exact.iter().all(|place| *place > last)
}

/// Places that the axis has to reach; what is meant for all places counts only where there is nothing else.
fn places<'a>(all: impl Iterator<Item = &'a Series> + Clone) -> Vec<f64> {
    let of = |level| -> Vec<f64> {
        let those = all.clone().filter(|series| series.level == level);
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

/// An order with its error, of which at least a digit is shown.
fn with_error(order: Order) -> String {
    let slope = |digits: usize| format!("{:.digits$}", order.slope).replace('-', "−");
    match order.standard_error {
        Some(error) => {
            let digits = (2..=DIGITS).find(|digits| error >= 0.5 * 0.1_f64.powi(*digits as i32));
            let digits = digits.unwrap_or(DIGITS);
            format!("{}\u{a0}±\u{a0}{error:.digits$}", slope(digits))
        }
        None => slope(2),
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)))
}

/// For people: those of the values of some keys that differ, the first one always; the number of bins if it differs at
/// all, and others if they differ where the first one does not.
pub(super) fn names(
    all: &[Vec<String>],
    fields: &[Field],
    labels: &Labels,
) -> HashMap<Vec<String>, String> {
    let names = names_in_pieces(all, fields, labels).into_iter();
    names.map(|(key, pieces)| (key, pieces.join(", "))).collect()
}

/// The same, in pieces.
fn names_in_pieces(
    all: &[Vec<String>],
    fields: &[Field],
    labels: &Labels,
) -> HashMap<Vec<String>, Vec<String>> {
    // An estimator without bins does not make the bins of the others worth naming.
    let is_own = |i: usize| {
        matches!(
            fields[i],
            Field::Column(Column::Options | Column::Binning | Column::Preset | Column::EmptyBins)
        )
    };
    let differs = |own: &Vec<String>, i: usize| {
        let rivals = all.iter().filter(|key| !is_own(i) || key[0] == own[0]);
        let mut given = rivals.map(|key| &key[i]).filter(|value| !value.is_empty());
        given.next().is_some_and(|first| given.any(|value| value != first))
    };
    let heading = |key: &Vec<String>, i: usize| match fields[i] {
        Field::Column(Column::Binning) => {
            binning_words(&key[i], all.iter().map(|other| other[i].as_str()), labels)
        }
        _ => fields[i].heading(&key[i], labels),
    };
    let shows = |key: &Vec<String>, i: usize| i == 0 || differs(key, i);
    let pieces = |key: &Vec<String>, shown: &dyn Fn(usize) -> bool| -> Vec<String> {
        let shown = (0..fields.len()).filter(|&i| shown(i));
        shown.map(|i| heading(key, i)).filter(|piece| !piece.is_empty()).collect()
    };
    let short: Vec<Vec<String>> = all.iter().map(|key| pieces(key, &|i| shows(key, i))).collect();
    let named = |(key, name): (&Vec<String>, &Vec<String>)| {
        // What only one of two gives tells them apart where nothing else does.
        let alike: Vec<&Vec<String>> =
            all.iter().zip(&short).filter(|(_, other)| *other == name).map(|of| of.0).collect();
        let is_alone = |i: usize| alike.iter().any(|other| other[i] != key[i]);
        (key.clone(), pieces(key, &|i| shows(key, i) || is_alone(i)))
    };
    all.iter().zip(&short).map(named).collect()
}

/// The label of a binning or, where it has none of its own, that of its kind with those of its options that differ among
/// binnings of this kind.
fn binning_words<'a>(
    binning: &str,
    all: impl Iterator<Item = &'a str> + Clone,
    labels: &Labels,
) -> String {
    let kind = |binning: &'a str| binning.split('(').next().unwrap_or_default();
    let own = binning.split('(').next().unwrap_or_default();
    let whole = labels.of_own(binning);
    if whole != binning {
        return whole.to_owned();
    }
    let rivals = || all.clone().filter(|other| kind(other) == own);
    let differs = |part: &(&str, &str)| rivals().any(|other| !parts(other).any(|of| of == *part));
    let options = parts(binning).filter(differs);
    let options = options.map(|(name, value)| Field::Part(name.to_owned()).heading(value, labels));
    listed(std::iter::once(labels.of(own).into_owned()).chain(options))
}

/// Words in a row.
fn listed(words: impl Iterator<Item = String>) -> String {
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Values in a row; numbers and the like with the name of their key.
pub(super) fn pieces(fields: &[Field], values: &[String], labels: &Labels) -> String {
    listed(fields.iter().zip(values).map(|(field, value)| field.heading(value, labels)))
}

pub(super) fn pick(row: &SummaryRow, fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| field.of(&row.key).to_owned()).collect()
}

/// Rows by what they share, in the order in which that first appears.
pub(super) fn by<'a, K: Hash + Eq + Clone>(
    rows: &[&'a SummaryRow],
    shared: impl Fn(&SummaryRow) -> K,
) -> Vec<(K, Vec<&'a SummaryRow>)> {
    grouped(rows.iter().map(|row| (shared(row), *row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bands that differ by an option that one of them gives, and one that needs no more words.
    #[test]
    fn names_differ_where_only_one_of_two_gives_an_option() {
        let fields = [Field::Column(Column::Estimator), Field::Part("resampling".to_owned())];
        let key = |estimator: &str, of: &str| vec![estimator.to_owned(), of.to_owned()];
        let all = [key("pdp", ""), key("pdp", "subsample:0.5"), key("ale", "")];
        let labels = Labels::default().for_figures();
        let names = names(&all, &fields, &labels);
        let of: Vec<&str> = all.iter().map(|key| names[key].as_str()).collect();
        assert_eq!(of, ["PDP", "PDP, resampling\u{a0}=\u{a0}subsample:0.5", "ALE"]);
    }

    #[test]
    fn errors_of_orders_are_not_shown_as_nothing() {
        let of = |slope, error| {
            let text = with_error(Order { slope, standard_error: error, count: 5 });
            text.replace('\u{a0}', " ")
        };
        assert_eq!(of(-1.034, Some(0.034)), "−1.03 ± 0.03");
        assert_eq!(of(-1.0344, Some(0.0042)), "−1.034 ± 0.004");
        assert_eq!(of(-1.0, Some(0.0)), "−1.0000 ± 0.0000");
        assert_eq!(of(0.5, None), "0.50");
    }
}
