//! Figures of coverage beside its nominal level, where nothing is swept over: by what was fitted or, of one function, by
//! feature.

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::MarkStyle;
use super::sweep::{
    MOST_SERIES, NOMINAL, Named, Sweeps, by, distinct, fields, file_name, is_swept, names,
    nominal_levels, pick, pieces, variants,
};
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key};
use crate::score::Metric;
use crate::study::field::Field;
use crate::study::labels::Labels;

/// Name of these figures in files and flags.
pub const NAME: &str = "coverage";

/// One figure for each of these,
const FIGURE: [Column; 5] =
    [Column::Study, Column::Scenario, Column::Output, Column::Split, Column::Metric];
/// and a panel in it for each of these, but those that stand below an axis.
const PANEL: [Column; 5] =
    [Column::Feature, Column::Feature2, Column::Parameters, Column::Rows, Column::Snr];

/// Share of the distance of two places that the marks at one of them take.
const SPREAD: f64 = 0.7;

/// The kind of places along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    /// Learners.
    Fitted,
    /// Features.
    Features,
}

impl Places {
    fn of(self, key: &Key) -> String {
        match self {
            Self::Fitted => sides(key).0.to_owned(),
            Self::Features => key.subject().to_string(),
        }
    }

    /// The name of a place, for people.
    fn named(self, place: &str, labels: &Labels) -> String {
        match self {
            Self::Fitted => labels.of(place).into_owned(),
            Self::Features => labels.of_own(place).to_owned(),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Fitted => "learner",
            Self::Features => "feature",
        }
    }

    /// The columns of panels.
    fn panels(self) -> Vec<Field> {
        let is_own = |column: &Column| {
            self == Self::Features && matches!(column, Column::Feature | Column::Feature2)
        };
        fields(&PANEL.into_iter().filter(|column| !is_own(column)).collect::<Vec<_>>())
    }
}

/// The sides of a pair: the estimate, and the target that it is held against.
fn sides(key: &Key) -> (&str, &str) {
    key.pair.split_once(':').unwrap_or((&key.pair, ""))
}

/// The target of a band, for people.
fn target(key: &Key, labels: &Labels) -> String {
    let (own, other) = sides(key);
    match other.strip_suffix("-expected") {
        Some(learner) if learner == own => "expected effect of the learner".to_owned(),
        _ if matches!(other, "theoretical" | "") => "effect of f".to_owned(),
        _ => labels.of(other).into_owned(),
    }
}

/// The figures of coverage that some results are good for, in the words of some labels: of those that no sweep shows, or of
/// all.
#[must_use]
pub fn figures(values: &[&SummaryRow], all: bool, labels: &Labels) -> Sweeps {
    let labels = &labels.for_figures();
    let is_coverage = |row: &SummaryRow| row.key.metric.parse().is_ok_and(Metric::is_coverage);
    let of_coverage: Vec<&SummaryRow> =
        values.iter().copied().filter(|row| is_coverage(row)).collect();
    let groups = by(&of_coverage, |row| pick(row, &fields(&FIGURE)));
    let keys: Vec<&Vec<String>> = groups.iter().map(|(key, _)| key).collect();
    let mut sweeps = Sweeps::default();
    for (key, rows) in groups.iter().filter(|(_, rows)| all || !is_swept(rows)) {
        let name = file_name(NAME, &FIGURE, key, &keys);
        match figure(rows, labels) {
            Ok(figure) => {
                sweeps.figures.push(Named { name, study: key[0].clone(), figure });
            }
            Err(reason) => sweeps.left_out.push(format!("{name} is not drawn: {reason}")),
        }
    }
    sweeps.figures = distinct(sweeps.figures);
    sweeps
}

/// The words below an axis, in the order in which they first appear.
fn words(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in all {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn figure(rows: &[&SummaryRow], labels: &Labels) -> Result<Figure, String> {
    let learners = words(rows.iter().map(|row| sides(&row.key).0.to_owned()));
    let along = if learners.len() > 1 { Places::Fitted } else { Places::Features };
    let places = words(rows.iter().map(|row| along.of(&row.key)));
    let kinds = Kinds::of(rows, labels);
    if kinds.all.len() > MOST_SERIES {
        return Err(format!(
            "{} kinds of bands in a panel, of which at most {MOST_SERIES} can be told apart; choose some, such as with \
             --where estimator=… or --where refits=…",
            kinds.all.len()
        ));
    }
    let panel_keys = along.panels();
    let mut panels = by(rows, |row| pick(row, &panel_keys));
    panels.retain(|(_, own)| own.iter().any(|row| row.summary.mean.is_some()));
    if panels.is_empty() {
        return Err(
            "no coverage is known: what the bands are about is not uncertain, or failed".to_owned()
        );
    }
    let groups = words(panels.iter().map(|(key, _)| key[0].clone()));
    panels.sort_by_key(|(key, _)| groups.iter().position(|group| *group == key[0]));
    let varying = Varying::of(&panels, &panel_keys);
    let empty = empty_places(&panels, (along, &places), |key| varying.title(key, labels), labels);
    let first = &rows[0].key;
    let metric = first.metric.as_str();
    let mut before = None;
    let mut cells = Vec::new();
    for (key, own) in &panels {
        let group = key[0].clone();
        let opens = before.as_ref() != Some(&group);
        before = Some(group);
        let title = varying.title(key, labels);
        let y = Scale::linear(format!("{} (95 % interval)", labels.of(metric)));
        let names = places.iter().map(|place| along.named(place, labels)).collect();
        let x = Scale::levels(along.label(), names);
        let layers = layers(own, (along, &places), &kinds, labels);
        let ends = [(-0.5, f64::NAN), (places.len() as f64 - 0.5, f64::NAN)];
        cells.push(vec![Panel {
            title,
            x,
            y,
            layers,
            hold: ends.to_vec(),
            opens,
            ..Panel::default()
        }]);
    }
    let unknown = kinds.without_value(rows, labels).map(|names| format!("no value: {names}"));
    if let Some(last) = cells.last_mut() {
        let noted = |name| Layer::named(name, NOMINAL, Mark::Words(Vec::new()));
        last[0].layers.extend(unknown.into_iter().chain(empty).map(noted));
    }
    let scenario = labels.of_scenario(&first.scenario);
    let fixed = varying.fixed(&panels[0].0, labels);
    let target = kinds.target().map_or_else(String::new, |target| format!(" of the {target}"));
    let title = format!("{scenario}: {}{target}{fixed}", labels.of(metric));
    let mut figure = Figure { title, cells, legend_per_cell: false };
    figure.share_scales();
    Ok(figure)
}

/// The places where a panel shows no mark of any kind, by the reason why, for a legend.
fn empty_places(
    panels: &[(Vec<String>, Vec<&SummaryRow>)],
    (along, places): (Places, &[String]),
    title: impl Fn(&[String]) -> String,
    labels: &Labels,
) -> Vec<String> {
    let mut by_reason: [(&str, Vec<String>); 2] =
        [("nothing is uncertain there", Vec::new()), ("they failed there", Vec::new())];
    for place in places {
        let at = |(key, rows): &(Vec<String>, Vec<&SummaryRow>)| {
            let here: Vec<&SummaryRow> =
                rows.iter().copied().filter(|row| along.of(&row.key) == *place).collect();
            let is_empty = here.iter().all(|row| row.summary.mean.is_none());
            let has_failed = here.iter().any(|row| row.failed > 0);
            (!here.is_empty()).then_some((title(key), is_empty.then_some(has_failed)))
        };
        let asked: Vec<(String, Option<bool>)> = panels.iter().filter_map(at).collect();
        let name = along.named(place, labels);
        for has_failed in [false, true] {
            let empty = asked.iter().filter(|(_, found)| *found == Some(has_failed));
            let titles: Vec<&str> = empty.map(|(title, _)| title.as_str()).collect();
            let is_everywhere = titles.len() == asked.len();
            by_reason[usize::from(has_failed)].1.extend(match titles.len() {
                0 => None,
                _ if is_everywhere => Some(name.clone()),
                _ => Some(format!("{name} ({})", titles.join(", "))),
            });
        }
    }
    let told = |(reason, names): &(&str, Vec<String>)| {
        (!names.is_empty()).then(|| format!("no value of {}: {reason}", names.join(", ")))
    };
    by_reason.iter().filter_map(told).collect()
}

/// The fields of panels, and which of them vary.
struct Varying<'a> {
    fields: &'a [Field],
    varies: Vec<bool>,
}

impl<'a> Varying<'a> {
    fn of(panels: &[(Vec<String>, Vec<&SummaryRow>)], fields: &'a [Field]) -> Self {
        let varies = |i: usize| panels.iter().any(|(key, _)| key[i] != panels[0].0[i]);
        Self { fields, varies: (0..fields.len()).map(varies).collect() }
    }

    fn chosen(&self, key: &[String], varies: bool, labels: &Labels) -> String {
        let is_chosen = |i: &usize| self.varies[*i] == varies;
        let (fields, values): (Vec<Field>, Vec<String>) = (0..self.fields.len())
            .filter(is_chosen)
            .map(|i| (self.fields[i].clone(), key[i].clone()))
            .unzip();
        pieces(&fields, &values, labels)
    }

    fn title(&self, key: &[String], labels: &Labels) -> String {
        self.chosen(key, true, labels)
    }

    fn fixed(&self, key: &[String], labels: &Labels) -> String {
        match self.chosen(key, false, labels).as_str() {
            "" => String::new(),
            fixed => format!("; {fixed}"),
        }
    }
}

/// The kinds of bands of a figure: how they were estimated, and what they are held against.
struct Kinds {
    variants: Vec<Field>,
    /// All of them, with their names.
    all: Vec<(KindOfBand, String)>,
}

type KindOfBand = (Vec<String>, String);

impl Kinds {
    fn of(rows: &[&SummaryRow], labels: &Labels) -> Self {
        let keys: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
        let columns = variants().into_iter().filter(|column| *column != Column::Estimator);
        let varying = columns.flat_map(|column| Field::varying(column, &keys));
        let variants: Vec<Field> =
            [Field::Column(Column::Estimator)].into_iter().chain(varying).collect();
        let all = by(rows, |row| kind_of(row, &variants, labels)).into_iter().map(|of| of.0);
        let all: Vec<KindOfBand> = all.collect();
        let picked: Vec<Vec<String>> = all.iter().map(|(variant, _)| variant.clone()).collect();
        let names = names(&picked, &variants, labels);
        let has_targets = all.iter().any(|(_, target)| *target != all[0].1);
        let named = |(variant, target): &KindOfBand| match has_targets {
            true => format!("{}: {target}", names[variant]),
            false => names[variant].clone(),
        };
        let all = all.iter().map(|kind| (kind.clone(), named(kind))).collect();
        Self { variants, all }
    }

    /// The names of those of which no coverage is known.
    fn without_value(&self, rows: &[&SummaryRow], labels: &Labels) -> Option<String> {
        let known = rows.iter().filter(|row| row.summary.mean.is_some());
        let known: Vec<KindOfBand> =
            known.map(|row| kind_of(row, &self.variants, labels)).collect();
        let unknown = self.all.iter().filter(|(kind, _)| !known.contains(kind));
        let names: Vec<&str> = unknown.map(|(_, name)| name.as_str()).collect();
        (!names.is_empty()).then(|| names.join("; "))
    }

    /// The one target of all of them, if it is one.
    fn target(&self) -> Option<&str> {
        let first = self.all[0].0.1.as_str();
        self.all.iter().all(|((_, target), _)| target == first).then_some(first)
    }
}

fn kind_of(row: &SummaryRow, variants: &[Field], labels: &Labels) -> KindOfBand {
    (pick(row, variants), target(&row.key, labels))
}

/// The marks of a panel: the nominal levels, and the coverage of each kind of band at each place, with its interval.
fn layers(
    rows: &[&SummaryRow],
    (along, places): (Places, &[String]),
    kinds: &Kinds,
    labels: &Labels,
) -> Vec<Layer> {
    let mut layers = nominal_levels(rows, (-0.5, places.len() as f64 - 0.5));
    for (i, (kind, name)) in kinds.all.iter().enumerate() {
        let shift = SPREAD * ((i as f64 + 0.5) / kinds.all.len() as f64 - 0.5);
        let known = |row: &&&SummaryRow| kind_of(row, &kinds.variants, labels) == *kind;
        let at = |row: &SummaryRow| {
            let place = places.iter().position(|word| *word == along.of(&row.key))?;
            Some(place as f64 + shift)
        };
        let point = |row: &&SummaryRow| Some((at(row)?, row.summary.mean?, 0.0));
        let points: Vec<(f64, f64, f64)> = rows.iter().filter(known).filter_map(point).collect();
        let interval = |row: &&SummaryRow| {
            let (x, (low, high)) = (at(row)?, row.summary.interval?);
            // A share is not beyond 0 or 1, though a symmetric interval may be.
            Some([(x, low.max(0.0)), (x, high.min(1.0)), (f64::NAN, f64::NAN)])
        };
        let intervals = rows.iter().filter(known).filter_map(interval).flatten().collect();
        let look = MarkStyle { dashes: (0, 0), ..MarkStyle::of_series(i) };
        let thin = MarkStyle { marker: super::style::Marker::None, width: 1.2, ..look };
        if points.is_empty() {
            continue;
        }
        layers.push(Layer { name: None, look: thin, mark: Mark::Line(intervals) });
        layers.push(Layer::named(name, look, Mark::Points(points)));
    }
    layers
}
