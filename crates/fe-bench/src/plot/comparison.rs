//! Figures of several estimates of the same effects: all of them in a panel with the truth, and the error of each below.

use fe_core::Effect;
use fe_core::estimator::Estimand;

use super::coinciding::SAME;
use super::effects::{
    Pictured, Subject, TRUTH, confidence_less, is_derivative, places, points, truth,
};
use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::{BLACK, GREY, MarkStyle, Marker, PALETTE};
use super::word;
use crate::error::{Error, Result};
use crate::score;
use crate::study::labels::{centred, usual};

/// Zero in panels of errors.
const ZERO: MarkStyle = MarkStyle::line(GREY, 1.0);
/// Truths beside the first one, where estimators estimate different things.
const OTHER_TRUTHS: [MarkStyle; 3] = [
    MarkStyle::line(GREY, 1.8).dashed(7, 4),
    MarkStyle::line(BLACK, 1.4).dashed(2, 3),
    MarkStyle::line(GREY, 1.4).dashed(2, 3),
];
/// Distance of points of different estimates at a level, where levels are 1 apart.
const APART: f64 = 0.12;

/// A cell per feature and output: its effects by all estimators, and where there are truths the error of each.
///
/// # Errors
/// Effects and derivatives in one figure, whose units differ.
pub fn figure(subject: &Subject<'_>, effects: &[(Effect, Estimand)]) -> Result<Pictured> {
    if let Some([a, b]) = mixed(effects) {
        let message = format!(
            "--plot: `{a}` estimates a derivative and `{b}` does not; draw them in figures of their own"
        );
        return Err(Error::Argument(message));
    }
    let mut groups: Vec<Vec<&(Effect, Estimand)>> = Vec::new();
    for one in effects {
        let is_same = |group: &Vec<&(Effect, Estimand)>| {
            (group[0].0.feature, group[0].0.output) == (one.0.feature, one.0.output)
        };
        match groups.iter_mut().find(|group| is_same(group)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut notes = Vec::new();
    let mut cells: Vec<Vec<Panel>> =
        groups.iter().map(|group| cell(subject, group, &mut notes)).collect();
    // Errors of all features are in the unit of f, and on one scale.
    let errors = cells.iter().flat_map(|cell| &cell[1..]).flat_map(Panel::extent);
    let (low, high) =
        errors.fold((f64::NAN, f64::NAN), |(low, high), (_, y)| (low.min(y), high.max(y)));
    for panel in cells.iter_mut().flat_map(|cell| &mut cell[1..]) {
        panel.hold = vec![(f64::NAN, low), (f64::NAN, high)];
    }
    let mut names: Vec<&str> = Vec::new();
    for (effect, _) in effects {
        let name = usual(effect.estimator);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let rows = effects.iter().map(|(effect, _)| effect.record.rows);
    let title = subject.headed(&names.join(", "), rows);
    let mut figure = Figure { title, cells, legend_per_cell: false }.of_size(subject.size());
    figure.share_scales();
    Ok(Pictured { figure, notes })
}

/// The names of an estimator of derivatives and of one of values, if there are both.
fn mixed(effects: &[(Effect, Estimand)]) -> Option<[&'static str; 2]> {
    let first = |derivative: bool| {
        let (effect, _) = effects.iter().find(|(effect, _)| is_derivative(effect) == derivative)?;
        Some(effect.estimator)
    };
    Some([first(true)?, first(false)?])
}

/// An estimate with all names that it has, and its truth.
struct Line<'a> {
    names: Vec<String>,
    effect: &'a Effect,
    estimand: Estimand,
    look: MarkStyle,
    truth: Option<Vec<(f64, f64)>>,
}

impl Line<'_> {
    /// The places at which it is drawn and compared.
    fn places(&self) -> Vec<f64> {
        match self.effect.record.levels {
            Some(_) => self.effect.curve.x().to_vec(),
            None => places(&self.effect.curve),
        }
    }

    /// True if another effect has the same curve and the same truth.
    fn is(&self, other: &Effect, truth: Option<&Vec<(f64, f64)>>, size: f64) -> bool {
        let x = self.places();
        let same_places = self.effect.curve.range() == other.curve.range();
        let values = |effect: &Effect| effect.curve.at_all(&x).ok();
        let (Some(own), Some(others)) = (values(self.effect), values(other)) else { return false };
        same_places
            && are_same(&own, &others, size)
            && same_truths(self.truth.as_ref(), truth, size)
    }
}

/// True if values are the same, but for rounding of a function of some size.
fn are_same(a: &[f64], b: &[f64], size: f64) -> bool {
    let size = a.iter().fold(size, |size, value| size.max(value.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= SAME * size)
}

fn same_truths(a: Option<&Vec<(f64, f64)>>, b: Option<&Vec<(f64, f64)>>, size: f64) -> bool {
    let split = |points: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { points.iter().copied().unzip() };
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let (a, b) = (split(a), split(b));
            are_same(&a.0, &b.0, 0.0) && are_same(&a.1, &b.1, size)
        }
        _ => false,
    }
}

fn cell(
    subject: &Subject<'_>,
    group: &[&(Effect, Estimand)],
    notes: &mut Vec<String>,
) -> Vec<Panel> {
    let centrings = || group.iter().map(|(effect, _)| effect.record.centring);
    let is_alike = centrings().all(|centring| Some(centring) == centrings().next());
    let size = subject.size();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (effect, estimand) in group {
        let known = subject.scenario.map(|scenario| truth(scenario, effect, *estimand));
        let truth = known.transpose().unwrap_or_else(|reason| {
            notes.push(format!(
                "{}, {}: no truth is drawn: {reason}",
                effect.name, effect.estimator
            ));
            None
        });
        let name = match is_alike {
            true => usual(effect.estimator).to_owned(),
            false => {
                let centring = word(&effect.record.centring);
                let words = centred(&centring).unwrap_or("not centred");
                format!("{}, {words}", usual(effect.estimator))
            }
        };
        match lines.iter_mut().find(|line| line.is(effect, truth.as_ref(), size)) {
            Some(line) => line.names.push(name),
            None => {
                let look = look(lines.len());
                lines.push(Line { names: vec![name], effect, estimand: *estimand, look, truth });
            }
        }
    }
    let mut panels = vec![curves(subject, &lines)];
    let is_one = lines.len() == 1;
    panels.extend(lines.iter().filter_map(|line| error(subject, line, is_one)));
    panels
}

/// The look of a line; black is for truths.
fn look(place: usize) -> MarkStyle {
    let colours = PALETTE.map(|colour| (colour, colour == BLACK));
    let colours: Vec<_> = colours.into_iter().filter(|(_, is_black)| !is_black).collect();
    MarkStyle { colour: colours[place % colours.len()].0, ..MarkStyle::of_series(place) }
}

/// All estimates, and their truths.
fn curves(subject: &Subject<'_>, lines: &[Line<'_>]) -> Panel {
    let first = lines[0].effect;
    let shift = |place: usize| APART * (place as f64 - 0.5 * (lines.len() as f64 - 1.0));
    let drawn = |(place, line): (usize, &Line<'_>)| {
        let mark = match level_places(line.effect) {
            Some(at) => {
                let of = |&(x, y): &(f64, f64)| Some((at(x)? + shift(place), y, 0.0));
                Mark::Points(points(&line.effect.curve).iter().filter_map(of).collect())
            }
            None => Mark::Line(points(&line.effect.curve)),
        };
        Layer::named(line.names.join(" = "), line.look, mark)
    };
    let mut layers: Vec<Layer> = lines.iter().enumerate().map(drawn).collect();
    layers.extend(truths(lines, subject.size()));
    Panel {
        title: subject.name(first),
        x: axis(subject, first),
        y: Scale::linear(subject.effect_axis(first)),
        layers,
        hold: first.record.levels.iter().flat_map(|levels| ends(levels.values.len())).collect(),
        ..Panel::default()
    }
}

/// The ends of an axis of so many levels.
fn ends(levels: usize) -> [(f64, f64); 2] {
    [(-0.5, f64::NAN), (levels as f64 - 0.5, f64::NAN)]
}

/// The truths, each named once with the estimators whose it is.
fn truths(lines: &[Line<'_>], size: f64) -> Vec<Layer> {
    let mut different: Vec<(&Line<'_>, Vec<String>)> = Vec::new();
    for line in lines.iter().filter(|line| line.truth.is_some()) {
        let names = line.names.clone();
        match different
            .iter_mut()
            .find(|(of, _)| same_truths(of.truth.as_ref(), line.truth.as_ref(), size))
        {
            Some((_, all)) => all.extend(names),
            None => different.push((line, names)),
        }
    }
    let looks = || std::iter::once(TRUTH).chain(OTHER_TRUTHS.into_iter().cycle());
    let is_one = different.len() == 1;
    let layer = |((line, names), look): (&(&Line<'_>, Vec<String>), MarkStyle)| {
        let points = line.truth.clone().unwrap_or_default();
        let mark = match level_places(line.effect) {
            // A stroke across the points of the level.
            Some(at) => Mark::Line(
                points
                    .iter()
                    .filter_map(|&(x, y)| Some((at(x)?, y)))
                    .flat_map(|(x, y)| [(x - 0.42, y), (x + 0.42, y), (f64::NAN, f64::NAN)])
                    .collect(),
            ),
            None => Mark::Line(points),
        };
        let name = match is_one {
            true => "truth".to_owned(),
            false => {
                let quantity = usual(score::truth_of(line.estimand).name());
                format!("truth of {}: {quantity}", names.join(", "))
            }
        };
        Layer::named(name, look, mark)
    };
    different.iter().zip(looks()).map(layer).collect()
}

/// The estimate less its truth; none without a truth.
fn error(subject: &Subject<'_>, line: &Line<'_>, is_one: bool) -> Option<Panel> {
    let scenario = subject.scenario?;
    line.truth.as_ref()?;
    let x = line.places();
    let (low, high) = (x.first().copied()?, x.last().copied()?);
    let truths = score::true_effect(scenario, line.estimand, line.effect, &x).ok()?;
    let values = line.effect.curve.at_all(&x).ok()?;
    let pairs = x.iter().zip(values).zip(&truths);
    let errors: Vec<(f64, f64)> = pairs.map(|((&x, y), truth)| (x, y - truth.value)).collect();
    let size = truths.iter().fold(subject.size(), |size, truth| size.max(truth.value.abs()));
    let is_exact = errors.iter().all(|(_, error)| error.abs() <= SAME * size);
    let plain = MarkStyle { marker: Marker::None, dashes: (0, 0), ..line.look };
    let truth: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
    let band = line.effect.confidence.iter().flat_map(|band| confidence_less(band, &x, &truth));
    let layers = match level_places(line.effect) {
        Some(at) => {
            let ends = vec![(-0.5, 0.0), (x.len() as f64 - 0.5, 0.0)];
            let points = errors.iter().filter_map(|&(x, y)| Some((at(x)?, y, 0.0))).collect();
            let bars = band.filter_map(|layer| as_bars(layer, &at));
            let zero = unnamed(ZERO, Mark::Line(ends));
            bars.chain([zero, unnamed(line.look, Mark::Points(points))]).collect()
        }
        None => {
            let zero = unnamed(ZERO, Mark::Line(vec![(low, 0.0), (high, 0.0)]));
            band.chain([zero, unnamed(plain, Mark::Line(errors))]).collect::<Vec<Layer>>()
        }
    };
    let of = match line.names.as_slice() {
        [name] => name.as_str(),
        _ if is_one => "all",
        [first, ..] => &format!("{first}, …"),
        [] => "",
    };
    let label = format!("error of {of}{}", if is_exact { ": exact" } else { "" });
    Some(Panel {
        x: axis(subject, line.effect),
        y: Scale::linear(label),
        layers,
        ..Panel::default()
    })
}

/// A band at levels: an interval at each.
fn as_bars(layer: Layer, at: &dyn Fn(f64) -> Option<f64>) -> Option<Layer> {
    let Mark::Band(area) = layer.mark else { return None };
    let bar = |&(x, lower, upper): &(f64, f64, f64)| {
        Some((at(x)?, 0.5 * (lower + upper), 0.5 * (upper - lower)))
    };
    let mark = Mark::Points(area.iter().filter_map(bar).collect());
    Some(Layer { mark, ..layer })
}

fn unnamed(look: MarkStyle, mark: Mark) -> Layer {
    Layer { name: None, look, mark }
}

fn axis(subject: &Subject<'_>, effect: &Effect) -> Scale {
    match &effect.record.levels {
        Some(levels) => Scale::levels(effect.name.as_str(), levels.names.clone()),
        None => subject.feature_axis(effect),
    }
}

/// The places of the levels of a feature that has some.
fn level_places(effect: &Effect) -> Option<impl Fn(f64) -> Option<f64>> {
    let levels = effect.record.levels.as_ref()?;
    Some(move |x: f64| levels.values.iter().position(|value| *value == x).map(|place| place as f64))
}
