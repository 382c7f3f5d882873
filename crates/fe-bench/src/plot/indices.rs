//! Figures of indices: bars with intervals, and a matrix of all pairs.

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::{BLACK, BLUE, MarkStyle, Marker, VERMILION};
use super::surfaces::shade;
use crate::study::labels::usual;

/// An index as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its name.
    pub index: &'static str,
    /// The features that it is of; none if it is of f as a whole.
    pub of: Vec<String>,
    /// Its value.
    pub value: f64,
    /// Half the length of its interval.
    pub half: Option<f64>,
    /// The truth, where it is known.
    pub truth: Option<f64>,
}

/// Most bars of a panel: those with short names below them, and others.
const MOST: [usize; 2] = [8, 5];
/// Most characters of a short name.
const SHORT: usize = 6;
/// Most features of a matrix whose values are written into it.
const WRITTEN: usize = 10;

/// A panel of bars for each index, with intervals of a name, and a matrix for an index of three pairs or more.
#[must_use]
pub fn figure(title: &str, bars: &[Bar], interval: &str) -> Figure {
    let mut names: Vec<&str> = Vec::new();
    bars.iter().for_each(|bar| {
        if !names.contains(&bar.index) {
            names.push(bar.index);
        }
    });
    let mut cells = Vec::new();
    for name in names {
        let own: Vec<&Bar> = bars.iter().filter(|bar| bar.index == name).collect();
        if own.len() > 2 && own.iter().all(|bar| bar.of.len() == 2) {
            cells.push(vec![matrix(&own)]);
        }
        cells.push(vec![panel(own, interval)]);
    }
    Figure { title: format!("{title}: indices"), cells, legend_per_cell: false }
}

fn panel(mut bars: Vec<&Bar>, interval_name: &str) -> Panel {
    let (all, name) = (bars.len(), bars.first().map_or("", |bar| bar.index));
    let mut title = usual(name).to_owned();
    let is_long = bars.iter().any(|bar| bar.of.join(":").chars().count() > SHORT);
    let most = MOST[usize::from(is_long)];
    if all > most {
        bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        bars.truncate(most);
        title = format!("{title}: the {most} largest of {all}");
    }
    let at = |place: usize, value: f64| {
        let (left, right) = (place as f64 - 0.35, place as f64 + 0.35);
        vec![(left, 0.0), (right, 0.0), (right, value), (left, value)]
    };
    let outlines = bars.iter().enumerate().map(|(place, bar)| at(place, bar.value)).collect();
    let interval = |(place, bar): (usize, &&Bar)| {
        let (x, half) = (place as f64, bar.half?);
        Some([(x, bar.value - half), (x, bar.value + half), (f64::NAN, f64::NAN)])
    };
    let intervals: Vec<(f64, f64)> =
        bars.iter().enumerate().filter_map(interval).flatten().collect();
    let truth = |(place, bar): (usize, &&Bar)| Some((place as f64, bar.truth?, 0.0));
    let truths: Vec<(f64, f64, f64)> = bars.iter().enumerate().filter_map(truth).collect();
    let mut layers = vec![Layer::named(
        "estimate",
        MarkStyle::line(BLUE, 1.0).faint(0.45),
        Mark::Areas(outlines),
    )];
    if !intervals.is_empty() {
        layers.push(Layer::named(
            interval_name,
            MarkStyle::line(BLACK, 1.4),
            Mark::Line(intervals),
        ));
    }
    if !truths.is_empty() {
        let look = MarkStyle { marker: Marker::Cross, ..MarkStyle::line(VERMILION, 2.2) };
        layers.push(Layer::named("truth", look, Mark::Points(truths)));
    }
    let labels =
        bars.iter().map(|bar| if bar.of.is_empty() { "f".to_owned() } else { bar.of.join(":") });
    let x = Scale::levels("", labels.collect());
    Panel {
        title,
        x,
        y: Scale::linear(usual(name)),
        layers,
        hold: vec![(f64::NAN, 0.0)],
        ..Panel::default()
    }
}

/// The index of each pair where its features meet, above the diagonal and below it.
fn matrix(bars: &[&Bar]) -> Panel {
    let mut features: Vec<&String> = Vec::new();
    bars.iter().flat_map(|bar| &bar.of).for_each(|name| {
        if !features.contains(&name) {
            features.push(name);
        }
    });
    let place =
        |name: &String| features.iter().position(|other| *other == name).unwrap_or_default() as f64;
    let most = bars.iter().fold(0.0_f64, |most, bar| most.max(bar.value));
    let (mut layers, mut words) = (Vec::new(), Vec::new());
    for bar in bars {
        let (a, b) = (place(&bar.of[0]), place(&bar.of[1]));
        let cells = [(a, b), (b, a)].map(|(x, y)| [x - 0.5, x + 0.5, y - 0.5, y + 0.5]);
        let colour = shade(BLUE, if most > 0.0 { 0.75 * bar.value / most } else { 0.0 });
        layers.push(Layer {
            name: None,
            look: MarkStyle::line(colour, 1.0),
            mark: Mark::Cells(cells.to_vec()),
        });
        if features.len() <= WRITTEN {
            let text = format!("{:.2}", bar.value).replace('-', "−");
            words.extend([(a, b), (b, a)].map(|(x, y)| (x - 0.32, y, text.clone())));
        }
    }
    layers.push(Layer { name: None, look: MarkStyle::line(BLACK, 1.0), mark: Mark::Words(words) });
    let scale = || Scale::levels("", features.iter().map(|name| (*name).clone()).collect());
    let name = bars.first().map_or("", |bar| bar.index);
    Panel {
        title: format!("{}, all of them", usual(name)),
        x: scale(),
        y: scale(),
        layers,
        ..Panel::default()
    }
}
