//! Figures of indices: bars with intervals, and a matrix of all pairs.

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::{BLACK, BLUE, GREY, MarkStyle, Marker, VERMILION};
use super::surfaces::shade;
use crate::study::labels::usual;

/// An index as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its name.
    pub index: &'static str,
    /// The features that it is of; none if it is of f as a whole.
    pub of: Vec<String>,
    /// Its value, or the reason why it is refused.
    pub value: Result<f64, String>,
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
/// Height of what stands for a refused bar, as a share of the largest.
const REFUSED: f64 = 0.2;

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

/// Strokes over the place of each index that is refused, those of one reason together.
fn refusals(bars: &[&Bar], cells: &dyn Fn(usize, &Bar) -> Vec<[f64; 4]>) -> Vec<Layer> {
    let mut reasons: Vec<(&String, Vec<(f64, f64)>)> = Vec::new();
    for (place, bar) in bars.iter().enumerate() {
        let Err(reason) = &bar.value else { continue };
        let own = cells(place, bar).into_iter().flat_map(strokes);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.extend(own),
            None => reasons.push((reason, own.collect())),
        }
    }
    let look = MarkStyle::line(GREY, 0.9);
    let layer = |(reason, strokes): (&String, _)| {
        Layer::named(format!("refused: {reason}"), look, Mark::Line(strokes))
    };
    reasons.into_iter().map(layer).collect()
}

fn panel(mut bars: Vec<&Bar>, interval_name: &str) -> Panel {
    let (all, name) = (bars.len(), bars.first().map_or("", |bar| bar.index));
    let mut title = usual(name).to_owned();
    let is_long = bars.iter().any(|bar| bar.of.join(":").chars().count() > SHORT);
    let most = MOST[usize::from(is_long)];
    if all > most {
        // Those that are refused come last.
        let value = |bar: &Bar| *bar.value.as_ref().unwrap_or(&f64::NEG_INFINITY);
        bars.sort_by(|a, b| value(b).total_cmp(&value(a)));
        bars.truncate(most);
        title = format!("{title}: the {most} largest of {all}");
    }
    let at = |place: usize, value: f64| {
        let (left, right) = (place as f64 - 0.35, place as f64 + 0.35);
        vec![(left, 0.0), (right, 0.0), (right, value), (left, value)]
    };
    let told = |(place, bar): (usize, &&Bar)| Some((place, *bar.value.as_ref().ok()?));
    let outlines: Vec<Vec<(f64, f64)>> =
        bars.iter().enumerate().filter_map(told).map(|(place, value)| at(place, value)).collect();
    let interval = |(place, bar): (usize, &&Bar)| {
        let (x, half, value) = (place as f64, bar.half?, *bar.value.as_ref().ok()?);
        Some([(x, value - half), (x, value + half), (f64::NAN, f64::NAN)])
    };
    let intervals: Vec<(f64, f64)> =
        bars.iter().enumerate().filter_map(interval).flatten().collect();
    let truth = |(place, bar): (usize, &&Bar)| Some((place as f64, bar.truth?, 0.0));
    let truths: Vec<(f64, f64, f64)> = bars.iter().enumerate().filter_map(truth).collect();
    let most = largest(&bars);
    let height = if most > 0.0 { REFUSED * most } else { 1.0 };
    let mut layers = Vec::new();
    if !outlines.is_empty() {
        let look = MarkStyle::line(BLUE, 1.0).faint(0.45);
        layers.push(Layer::named("estimate", look, Mark::Areas(outlines)));
    }
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
    let cell = |place: usize, _: &Bar| {
        let place = place as f64;
        vec![[place - 0.35, place + 0.35, 0.0, height]]
    };
    layers.extend(refusals(&bars, &cell));
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

/// The largest value, at the least 0.
fn largest(bars: &[&Bar]) -> f64 {
    bars.iter().filter_map(|bar| bar.value.as_ref().ok()).fold(0.0, |most: f64, v| most.max(*v))
}

/// The index of each pair where its features meet, above the diagonal and below it; strokes where it is refused.
fn matrix(bars: &[&Bar]) -> Panel {
    let mut features: Vec<&String> = Vec::new();
    bars.iter().flat_map(|bar| &bar.of).for_each(|name| {
        if !features.contains(&name) {
            features.push(name);
        }
    });
    let place =
        |name: &String| features.iter().position(|other| *other == name).unwrap_or_default() as f64;
    let most = largest(bars);
    let (mut layers, mut words) = (Vec::new(), Vec::new());
    let both = |bar: &Bar| {
        let (a, b) = (place(&bar.of[0]), place(&bar.of[1]));
        [(a, b), (b, a)]
    };
    let cells_of = |bar: &Bar| both(bar).map(|(x, y)| [x - 0.5, x + 0.5, y - 0.5, y + 0.5]);
    for bar in bars {
        let Ok(value) = bar.value else { continue };
        let cells = cells_of(bar);
        let colour = shade(BLUE, if most > 0.0 { 0.75 * value / most } else { 0.0 });
        layers.push(Layer {
            name: None,
            look: MarkStyle::line(colour, 1.0),
            mark: Mark::Cells(cells.to_vec()),
        });
        if features.len() <= WRITTEN {
            let text = format!("{value:.2}").replace('-', "−");
            words.extend(both(bar).map(|(x, y)| (x - 0.32, y, text.clone())));
        }
    }
    layers.extend(refusals(bars, &|_, bar| cells_of(bar).to_vec()));
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

/// Three strokes over a cell, from and to along both axes, as parts of a line.
fn strokes([a, b, c, d]: [f64; 4]) -> [(f64, f64); 9] {
    let (across, up, gap) = (a + (b - a) / 2.0, c + (d - c) / 2.0, (f64::NAN, f64::NAN));
    [(a, c), (b, d), gap, (a, up), (across, d), gap, (across, c), (b, up), gap]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(of: [&str; 2], value: Result<f64, String>) -> Bar {
        let of = of.map(str::to_owned).to_vec();
        let (half, truth) = (value.is_ok().then_some(0.05), None);
        Bar { index: "h2.pair", of, value, half, truth }
    }

    #[test]
    fn what_is_refused_has_strokes_and_its_reason_in_matrix_and_bars() {
        let nothing = || Err("nothing varies".to_owned());
        let bars = [
            bar(["a", "b"], Ok(0.4)),
            bar(["a", "c"], nothing()),
            bar(["a", "d"], Err("too large".to_owned())),
            bar(["b", "c"], nothing()),
            bar(["b", "d"], Ok(0.0)),
            bar(["c", "d"], Ok(0.1)),
        ];
        let figure = figure("f", &bars, "95 % interval");
        let [matrix, panel] = &figure.cells.concat()[..] else { panic!("two panels") };
        let refused = |panel: &Panel| -> Vec<(String, usize)> {
            let own = |layer: &Layer| match (&layer.name, &layer.mark) {
                (Some(name), Mark::Line(points)) if name.starts_with("refused: ") => {
                    Some((name.clone(), points.len()))
                }
                _ => None,
            };
            panel.layers.iter().filter_map(own).collect()
        };
        let each = strokes([0.0, 1.0, 0.0, 1.0]).len();
        let expected = |times: usize| {
            let (many, one) = (2 * times * each, times * each);
            vec![
                ("refused: nothing varies".to_owned(), many),
                ("refused: too large".to_owned(), one),
            ]
        };
        // Above the diagonal and below it, and once as a bar.
        assert_eq!(refused(matrix), expected(2));
        assert_eq!(refused(panel), expected(1));
        assert_eq!(panel.title, usual("h2.pair"));
        assert_eq!(panel.x.names, ["a:b", "a:c", "a:d", "b:c", "b:d", "c:d"]);
    }

    #[test]
    fn the_largest_bars_are_those_that_are_told() {
        let of = ["a", "b", "c", "d", "e", "f", "g"];
        let pairs = (0..7).flat_map(|i| (i + 1..7).map(move |k| [of[i], of[k]]));
        let value = |place: usize| {
            if place.is_multiple_of(2) { Err("no".to_owned()) } else { Ok(place as f64) }
        };
        let bars: Vec<Bar> =
            pairs.enumerate().map(|(place, pair)| bar(pair, value(place))).collect();
        let figure = figure("f", &bars, "95 % interval");
        let panel = &figure.cells[1][0];
        assert!(panel.title.ends_with("the 8 largest of 21"), "{}", panel.title);
        assert!(
            !panel
                .layers
                .iter()
                .any(|layer| layer.name.as_ref().is_some_and(|n| n.starts_with("refused")))
        );
    }
}
