//! Panels of effects at levels: bars and points, and no line between them.

use std::collections::BTreeMap;

use fe_core::Effect;
use fe_core::estimator::InstanceEffects;

use super::figure::{Layer, Mark, Panel, Scale};
use super::style::{BLACK, BLUE, GREEN, GREY, MarkStyle, Marker};
use super::{effect_on, word};
use crate::data::features::feature_of;
use crate::data::scenarios;
use crate::output::readable;
use crate::record::Key;
use crate::record::kept_curves::KeptPoint;
use crate::study::labels::usual;

const BARS: MarkStyle = MarkStyle::line(BLUE, 1.0).faint(0.45);
const TRUTH: MarkStyle = MarkStyle::line(BLACK, 1.8);
const BAND: MarkStyle = MarkStyle { marker: Marker::Disc, ..MarkStyle::line(GREEN, 1.6) };
const SPREAD: MarkStyle = MarkStyle { marker: Marker::Disc, ..MarkStyle::line(BLUE, 1.4) };
const CURVES: MarkStyle = MarkStyle::line(GREY, 0.8).faint(0.6);

/// Half of the width of a bar, where levels are 1 apart.
const HALF: f64 = 0.32;

/// The effect at each level on an output, in the order along which it was accumulated where there is one.
pub(super) fn panel(
    (title, output): (String, &str),
    effect: &Effect,
    instances: &InstanceEffects,
    truth: Option<Vec<(f64, f64)>>,
) -> Panel {
    let Some(levels) = &effect.record.levels else { return Panel::default() };
    let (order, rule) = match &levels.order {
        Some(order) => (&order.values, format!(", order: {}", order.rule)),
        None => (&levels.values, String::new()),
    };
    let place = |x: f64| order.iter().position(|value| *value == x).map(|place| place as f64);
    let named = |x: &f64| {
        let at = levels.values.iter().position(|value| value == x)?;
        Some((levels.names[at].clone(), levels.counts[at]))
    };
    let at = |x: f64| effect.curve.at(x).unwrap_or(f64::NAN);
    let bar = |x: f64| Some(bar(place(x)?, at(x)));
    let mut layers = Vec::new();
    let bars = order.iter().filter_map(|&x| bar(x)).collect();
    layers.push(Layer::named(
        format!("{} (estimate)", usual(effect.estimator)),
        BARS,
        Mark::Areas(bars),
    ));
    if let InstanceEffects::Curves { x, y } = instances {
        let points = y.iter().flat_map(|y| x.iter().zip(y));
        let points = points.filter_map(|(&x, &y)| Some((place(x)? + 0.5 * HALF, y))).collect();
        layers.push(Layer::named("ICE values of instances", CURVES, Mark::Cloud(points)));
    }
    layers.push(match &effect.confidence {
        Some(band) => {
            let half = |&x: &f64| {
                let [lower, upper] =
                    [&band.pointwise.lower, &band.pointwise.upper].map(|limit| limit.at(x));
                let (lower, upper) = (lower.ok()?, upper.ok()?);
                Some((place(x)?, 0.5 * (lower + upper), 0.5 * (upper - lower)))
            };
            let name = format!(
                "{} % confidence, pointwise ({})",
                readable(100.0 * band.record.level),
                band.record.kind.map_or_else(|| "given".to_owned(), |kind| word(&kind))
            );
            Layer::named(name, BAND, Mark::Points(order.iter().filter_map(half).collect()))
        }
        None => {
            let half = |&x: &f64| {
                let sd = effect.heterogeneity.at(x).ok().filter(|v| v.is_finite())?.sqrt();
                Some((place(x)?, at(x), sd))
            };
            let name = match levels.order {
                Some(_) => "± σ of the changes from the level before",
                None => "± σ of the instances",
            };
            Layer::named(name, SPREAD, Mark::Points(order.iter().filter_map(half).collect()))
        }
    });
    if let Some(points) = truth {
        let points = points.iter().filter_map(|&(x, y)| Some((place(x)?, y)));
        layers.push(Layer::named("truth", TRUTH, strokes(points)));
    }
    let names = order.iter().filter_map(named).map(|(name, _)| name).collect();
    let label = effect_on(output, &word(&effect.record.centring));
    let last = order.len().saturating_sub(1) as f64;
    Panel {
        title: format!("{title}{rule}"),
        x: Scale::levels(effect.name.as_str(), names),
        y: Scale::linear(label),
        layers,
        hold: vec![(-0.5, 0.0), (last + 0.5, 0.0)],
        ..Panel::default()
    }
}

/// The outline of a bar about a place.
fn bar(middle: f64, y: f64) -> Vec<(f64, f64)> {
    let (left, right) = (middle - HALF, middle + HALF);
    vec![(left, 0.0), (left, y), (right, y), (right, 0.0)]
}

/// Strokes over bars.
fn strokes(points: impl Iterator<Item = (f64, f64)>) -> Mark {
    let stroke = |(x, y)| [(x - HALF - 0.06, y), (x + HALF + 0.06, y), (f64::NAN, f64::NAN)];
    Mark::Line(points.flat_map(stroke).collect())
}

/// Levels of a feature: values and names, in their order.
pub(super) type LevelsOfKey = Vec<(f64, String)>;

/// The levels of the feature of a key, where it has any; scenarios of files are known by their texts.
pub(super) fn of_key(key: &Key, texts: &BTreeMap<String, String>) -> Option<LevelsOfKey> {
    let known = scenarios::of_record(&key.scenario, &key.parameters, texts)?;
    let feature = feature_of(&known, &key.feature).ok()?;
    Some(known.levels(feature)?.into_iter().map(|level| (level.value, level.name)).collect())
}

/// Marks of kept estimates at levels: those of one dataset, of others and the truth, on an axis of names; `spread` is the
/// words on the spread of the instances, where that is a distance from the effect.
pub(super) fn kept_panel(
    levels: &LevelsOfKey,
    curve: &[KeptPoint],
    others: &[&[KeptPoint]],
    spread: Option<&str>,
) -> Panel {
    let place = |x: f64| levels.iter().position(|(value, _)| *value == x).map(|at| at as f64);
    let bars = curve.iter().filter_map(|point| Some(bar(place(point.x)?, point.effect)));
    let mut layers = vec![Layer::named("estimate", BARS, Mark::Areas(bars.collect()))];
    let dots = others.iter().copied().flatten();
    let dots = dots.filter_map(|point| Some((place(point.x)? + 0.7 * HALF, point.effect)));
    let dots: Vec<(f64, f64)> = dots.collect();
    if !dots.is_empty() {
        layers.push(Layer::named("estimates of other datasets", CURVES, Mark::Cloud(dots)));
    }
    let intervals = |shift: f64, limits: &dyn Fn(&KeptPoint) -> (f64, f64)| {
        let interval = |point: &KeptPoint| {
            let (lower, upper) = limits(point);
            let is_there = lower.is_finite() && lower <= upper;
            let middle = 0.5 * (lower + upper);
            is_there.then_some((place(point.x)? + shift, middle, upper - middle))
        };
        curve.iter().filter_map(interval).collect::<Vec<_>>()
    };
    // Two kinds of intervals stand beside each other.
    let pointwise = intervals(0.0, &|point| point.pointwise);
    let simultaneous = intervals(-0.5 * HALF, &|point| point.simultaneous);
    let has_bands = !(pointwise.is_empty() && simultaneous.is_empty());
    if !simultaneous.is_empty() {
        let look = MarkStyle { marker: Marker::Square, ..BAND };
        let name = "confidence, all levels at once";
        layers.push(Layer::named(name, look, Mark::Points(simultaneous)));
    }
    if !pointwise.is_empty() {
        layers.push(Layer::named("confidence, pointwise", BAND, Mark::Points(pointwise)));
    }
    if let Some(name) = spread.filter(|_| !has_bands) {
        let sd = |point: &KeptPoint| point.heterogeneity.sqrt();
        let around = intervals(0.0, &|point| (point.effect - sd(point), point.effect + sd(point)));
        layers.push(Layer::named(name, SPREAD, Mark::Points(around)));
    }
    let truth = curve.iter().filter(|point| point.truth.is_finite());
    let truth: Vec<(f64, f64)> =
        truth.filter_map(|point| Some((place(point.x)?, point.truth))).collect();
    if !truth.is_empty() {
        layers.push(Layer::named("truth", TRUTH, strokes(truth.into_iter())));
    }
    let last = levels.len().saturating_sub(1) as f64;
    Panel { layers, hold: vec![(-0.5, 0.0), (last + 0.5, 0.0)], ..Panel::default() }
}

/// Names of levels, as an axis has them.
pub(super) fn axis(feature: &str, levels: &LevelsOfKey) -> Scale {
    Scale::levels(feature, levels.iter().map(|(_, name)| name.clone()).collect())
}
