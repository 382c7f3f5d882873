//! Panels of effects at levels: bars and points, and no line between them.

use fe_core::Effect;
use fe_core::estimator::InstanceEffects;

use super::figure::{Layer, Mark, Panel, Scale};
use super::style::{BLACK, BLUE, GREEN, GREY, MarkStyle, Marker};
use super::word;
use crate::output::readable;

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
    let bar = |x: f64| {
        let (middle, y) = (place(x)?, at(x));
        let (left, right) = (middle - HALF, middle + HALF);
        Some(vec![(left, 0.0), (left, y), (right, y), (right, 0.0)])
    };
    let mut layers = Vec::new();
    let bars = order.iter().filter_map(|&x| bar(x)).collect();
    layers.push(Layer::named(format!("{} (estimate)", effect.estimator), BARS, Mark::Areas(bars)));
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
                word(&band.record.kind)
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
        // A stroke over the bar.
        let strokes = points.iter().filter_map(|&(x, y)| Some((place(x)?, y)));
        let strokes = strokes
            .flat_map(|(x, y)| [(x - HALF - 0.06, y), (x + HALF + 0.06, y), (f64::NAN, f64::NAN)]);
        layers.push(Layer::named("truth", TRUTH, Mark::Line(strokes.collect())));
    }
    let names = order.iter().filter_map(named).map(|(name, _)| name).collect();
    let label = match effect.record.centring {
        fe_core::Centring::None => format!("effect on {output}"),
        centring => format!("effect on {output}, centred ({})", word(&centring)),
    };
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
