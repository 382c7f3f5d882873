//! Zip plots: the confidence intervals of all datasets at one point of the grid, ordered by how far they are from the truth
//! (Morris, White and Crowther 2019, Figure 5).

use std::path::Path;

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::recorded::{Estimates, by_subject};
use super::style::{BLACK, BLUE, MarkStyle, VERMILION};
use super::sweep::{Named, PANEL, fields, names, pieces, series};
use crate::error::Result;
use crate::output::readable;
use crate::record::Key;
use crate::record::kept_curves::{self, KeptEstimate, KeptPoint};
use crate::study::field::parts;
use crate::study::labels::Labels;

/// Up to so many estimates have a panel.
const MOST_CELLS: usize = 12;
/// Fewer intervals have no shape.
const LEAST: usize = 10;

const COVERING: MarkStyle = MarkStyle::line(BLUE, 0.7);
const MISSING: MarkStyle = MarkStyle::line(VERMILION, 0.9);
const LEVEL: MarkStyle = MarkStyle::line(BLACK, 1.2).dashed(5, 3);
const TRUE: MarkStyle = MarkStyle::line(BLACK, 1.2);

/// Name of these figures in files and flags.
pub const NAME: &str = "zip";

/// A figure for each study, scenario, parameters, size and feature of the results that keep curves with pointwise bands, with a
/// panel for each estimate that `chosen` lets through: at the point of the grid next to `at`, or else in its middle.
///
/// # Errors
/// As [`kept_curves::read`].
pub fn figures(
    folder: &Path,
    chosen: &dyn Fn(&Key<&str>) -> bool,
    at: Option<f64>,
    labels: &Labels,
) -> Result<Vec<Named>> {
    let labels = &labels.for_figures();
    let kept = kept_curves::read(folder, usize::MAX, chosen)?;
    let with_bands = kept.iter().filter_map(|of| Some((&of.key, (of, Interval::of(of, at)?))));
    Ok(by_subject(NAME, with_bands, &|key, estimates| figure(key, estimates, labels)))
}

/// A confidence interval, less the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    x: f64,
    lower: f64,
    upper: f64,
}

impl Interval {
    /// The interval of a curve next to a place, or else in the middle of its grid; none without a band there.
    fn of(kept: &KeptEstimate, at: Option<f64>) -> Option<Self> {
        let curve = &kept.curve;
        let (first, last) = (curve.first()?.x, curve.last()?.x);
        let at = at.unwrap_or(0.5 * (first + last));
        let distance = |point: &KeptPoint| (point.x - at).abs();
        let nearest = curve.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let (lower, upper) = nearest.pointwise;
        let own = Self { x: nearest.x, lower: lower - nearest.truth, upper: upper - nearest.truth };
        (own.lower <= own.upper).then_some(own)
    }

    /// Distance of the truth from the middle, in half-widths: at most 1 where the interval covers it.
    fn distance(&self) -> f64 {
        let (middle, half) = (0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower));
        if middle == 0.0 { 0.0 } else { middle.abs() / half }
    }

    fn covers(&self) -> bool {
        self.lower <= 0.0 && 0.0 <= self.upper
    }
}

/// A figure of estimates by what tells them apart; none if there are few intervals of each.
fn figure(
    key: &Key,
    estimates: &Estimates<(&KeptEstimate, Interval)>,
    labels: &Labels,
) -> Option<Figure> {
    let keys: Vec<Vec<String>> = estimates.iter().map(|(key, _)| key.clone()).collect();
    let names = names(&keys, &series(), labels);
    let many = estimates.iter().filter(|(_, own)| own.len() >= LEAST);
    let cells: Vec<Vec<Panel>> = many
        .clone()
        .take(MOST_CELLS)
        .map(|(key, own)| {
            let level = level(&own[0].0.key);
            let intervals: Vec<Interval> = own.iter().map(|(_, interval)| *interval).collect();
            vec![panel(&names[key], intervals, level)]
        })
        .collect();
    let x = estimates.iter().find(|(_, own)| own.len() >= LEAST)?.1[0].1.x;
    let feature = labels.of_own(&key.feature);
    let mut title = format!("{}, {feature} = {}", labels.of_scenario(&key.scenario), readable(x));
    let details = pieces(&fields(&PANEL), &PANEL.map(|column| key[column].clone()), labels);
    if !details.is_empty() {
        title.push_str(&format!("; {details}"));
    }
    title.push_str(": pointwise confidence intervals of all datasets");
    let count = many.count();
    if count > MOST_CELLS {
        title.push_str(&format!("; the first {MOST_CELLS} of {count} estimates"));
    }
    let mut figure = Figure { title, cells, legend_per_cell: false };
    figure.share_scales();
    Some(figure)
}

/// The nominal level of the bands of an estimate, in per cent.
fn level(key: &Key) -> f64 {
    let given = parts(&key.options).find(|(name, _)| *name == "level");
    given.and_then(|(_, level)| level.parse::<f64>().ok()).map_or(95.0, |level| 100.0 * level)
}

fn panel(name: &str, mut intervals: Vec<Interval>, level: f64) -> Panel {
    intervals.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
    let count = intervals.len() as f64;
    let covering = intervals.iter().filter(|interval| interval.covers()).count();
    let strokes = |covers: bool| {
        let placed = intervals.iter().enumerate().filter(|(_, of)| of.covers() == covers);
        let stroke = |(rank, of): (usize, &Interval)| {
            let centile = 100.0 * (rank as f64 + 0.5) / count;
            [(of.lower, centile), (of.upper, centile), (f64::NAN, f64::NAN)]
        };
        Mark::Line(placed.flat_map(stroke).collect())
    };
    let least = intervals.iter().map(|of| of.lower).fold(0.0, f64::min);
    let most = intervals.iter().map(|of| of.upper).fold(0.0, f64::max);
    let layers = vec![
        Layer::named("covers the truth", COVERING, strokes(true)),
        Layer::named("misses it", MISSING, strokes(false)),
        Layer::named("truth", TRUE, Mark::Line(vec![(0.0, 0.0), (0.0, 100.0)])),
        Layer::named("nominal level", LEVEL, Mark::Line(vec![(least, level), (most, level)])),
    ];
    let share = 100.0 * covering as f64 / count;
    Panel {
        title: format!("{name}: {share:.1} % of {count} cover"),
        x: Scale::linear("interval − truth"),
        y: Scale::linear("centile of the distance from the truth"),
        layers,
        hold: vec![(f64::NAN, 0.0), (f64::NAN, 100.0)],
        ..Panel::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_miss_the_truth_are_on_top() {
        let at = |middle: f64| Interval { x: 0.5, lower: middle - 1.0, upper: middle + 1.0 };
        let panel = panel("ALE", vec![at(1.5), at(0.0), at(-0.9), at(-3.0)], 95.0);
        assert_eq!(panel.title, "ALE: 50.0 % of 4 cover");
        let places = |layer: usize| match &panel.layers[layer].mark {
            Mark::Line(points) => points.iter().map(|(_, y)| *y).step_by(3).collect::<Vec<f64>>(),
            _ => Vec::new(),
        };
        assert_eq!((places(0), places(1)), (vec![12.5, 37.5], vec![62.5, 87.5]));
    }

    #[test]
    fn intervals_are_those_next_to_a_place() {
        let point =
            |x: f64| KeptPoint { x, truth: 1.0, pointwise: (x, x + 2.0), ..KeptPoint::default() };
        let kept = KeptEstimate {
            key: Key::default(),
            curve: [0.0, 0.4, 1.0].map(point).to_vec(),
            bins: Vec::new(),
            nodes: Vec::new(),
            leaves: Vec::new(),
        };
        let of = |at| {
            Interval::of(&kept, at).map(|interval| (interval.x, interval.lower, interval.upper))
        };
        assert_eq!(of(None), Some((0.4, -0.6, 1.4)));
        assert_eq!(of(Some(7.0)), Some((1.0, 0.0, 2.0)));
        let mut without = kept.clone();
        without.curve[1].pointwise = (f64::NAN, f64::NAN);
        assert_eq!(Interval::of(&without, None), None);
        let wide = Key { options: "band=analytic;level=0.9".to_owned(), ..Key::default() };
        assert_eq!((level(&kept.key), level(&wide)), (95.0, 90.0));
    }
}
