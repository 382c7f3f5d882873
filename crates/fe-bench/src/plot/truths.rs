//! Figures of the truths of a scenario: effects, local effects and heterogeneity, one above the other.

use fe_core::Axis;
use fe_truth::{Centring, Quantity, Scenario};

use super::coinciding;
use super::effect_on;
use super::effects::{size, title_of};
use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::{BLACK, BLUE, GREEN, MarkStyle, Marker, PALETTE, VERMILION};
use crate::data::sample::features as features_of;
use crate::error::Result;

/// A figure, and notes on curves that it lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The figure.
    pub figure: Figure,
    /// Curves that could not be drawn, with the reasons.
    pub notes: Vec<String>,
}

/// A truth that is drawn, its name in the legend, and its look.
type Curve = (Quantity, &'static str, MarkStyle);

/// Rows that tell how large f is.
const ASKED: usize = 200;

/// The words at the axis of effects, before these are centred.
const ON_F: &str = "effect on f";

/// The panels, with what their vertical axes measure, before it is centred.
const PANELS: [(&str, &str, &[Curve]); 3] = [
    (
        "effects",
        ON_F,
        &[
            (Quantity::Pd, "PD", MarkStyle::line(PALETTE[5], 5.0)),
            (Quantity::Ale, "ALE", MarkStyle::line(VERMILION, 2.2).dashed(10, 5)),
            (Quantity::Mplot, "M-plot", MarkStyle::line(BLACK, 1.8).dashed(2, 4)),
            (Quantity::Shap, "SHAP (mean)", MarkStyle::line(GREEN, 1.8).dashed(14, 3)),
        ],
    ),
    (
        "local effects",
        "derivative of f",
        &[
            (Quantity::Dpd, "d-PD", MarkStyle::line(PALETTE[5], 5.0)),
            (Quantity::Mu, "μ, given x", MarkStyle::line(VERMILION, 2.2).dashed(10, 5)),
        ],
    ),
    (
        "heterogeneity",
        "sd of the derivative",
        &[
            (Quantity::HDpdp, "σ (d-PD)", MarkStyle::line(PALETTE[5], 5.0)),
            (Quantity::Sigma, "σ, given x", MarkStyle::line(BLUE, 2.2).dashed(10, 5)),
        ],
    ),
];

/// A feature along which truths are drawn.
struct Along {
    /// Counted from 0.
    feature: usize,
    scale: Scale,
    /// The points at which curves are known: levels where it has some.
    x: Vec<f64>,
    has_levels: bool,
}

/// A share of an axis: so far on either side of a break is a truth drawn. At the break a derivative may not be there.
const BESIDE: f64 = 1e-6;

impl Along {
    /// A feature by equidistant points.
    fn of(scenario: &Scenario, feature: usize, points: usize) -> Result<Self> {
        let name = scenario.feature_name(feature);
        if let Some(levels) = scenario.levels(feature) {
            let x = levels.iter().map(|level| level.value).collect();
            let scale = Scale::levels(name, levels.into_iter().map(|level| level.name).collect());
            return Ok(Self { feature, scale, x, has_levels: true });
        }
        let (lo, hi) = scenario.axis(feature);
        let beside = BESIDE * (hi - lo);
        let breaks: Vec<f64> =
            scenario.breaks(feature).into_iter().filter(|at| lo < *at && *at < hi).collect();
        let is_whole = |x: &f64| breaks.iter().all(|at| (x - at).abs() >= beside);
        let mut x: Vec<f64> =
            Axis::new(lo, hi)?.grid(points).into_iter().filter(is_whole).collect();
        x.extend(breaks.iter().flat_map(|at| [(at - beside).max(lo), (at + beside).min(hi)]));
        x.sort_by(f64::total_cmp);
        Ok(Self { feature, scale: Scale::linear(name), x, has_levels: false })
    }
}

/// The truths of some features, counted from 0, each over its range, at so many equidistant points and on either side of
/// what breaks f. A curve that has no truth is left out and noted; curves that coincide are drawn once.
///
/// # Errors
/// A range that is none.
pub fn figure(scenario: &Scenario, features: &[usize], points: usize) -> Result<Drawn> {
    let along = |feature: &usize| Along::of(scenario, *feature, points);
    let along: Vec<Along> = features.iter().map(along).collect::<Result<_>>()?;
    let size = features_of(scenario, 0, ASKED, 0).map_or(0.0, |data| size(scenario.model(), &data));
    let mut notes = Vec::new();
    let mut cells: Vec<Vec<Panel>> = along.iter().map(|_| Vec::new()).collect();
    for of_kind in &PANELS {
        let panels = panels(scenario, of_kind, (&along, size), &mut notes);
        for (cell, panel) in cells.iter_mut().zip(panels) {
            cell.extend((!panel.layers.is_empty()).then_some(panel));
        }
    }
    // One feature has its panels side by side.
    if let [_] = features {
        cells = cells.concat().into_iter().map(|panel| vec![panel]).collect();
    }
    let title = format!("Truths of {}", title_of(scenario));
    let mut figure = Figure { title, cells, legend_per_cell: false }.of_size(size);
    figure.share_scales();
    Ok(Drawn { figure, notes })
}

/// The panels of a kind, one for each feature of a function of some size.
fn panels(
    scenario: &Scenario,
    (title, label, curves): &(&str, &str, &[Curve]),
    (along, size): (&[Along], f64),
    notes: &mut Vec<String>,
) -> Vec<Panel> {
    let axes = along.iter().map(|Along { feature, scale, .. }| {
        let centred = curves.first().map(|curve| centring(scenario, curve.0, *feature));
        let y = match centred {
            Some(centring) if *label == ON_F => effect_on("f", &centring.to_string()),
            _ => (*label).to_owned(),
        };
        (scale.clone(), Scale { rounding: Some(coinciding::SAME * size), ..Scale::linear(y) })
    });
    let axes: Vec<(Scale, Scale)> = axes.collect();
    let mut known = |effect: Quantity, along: &Along| match curve(scenario, effect, along) {
        Ok(y) => y,
        Err(error) => {
            let of = scenario.feature_name(along.feature);
            notes.push(format!("{effect} of {of} is not drawn: {error}"));
            Vec::new()
        }
    };
    let mut lines = Vec::new();
    let mut at_levels: Vec<Vec<Layer>> = along.iter().map(|_| Vec::new()).collect();
    for (effect, name, look) in *curves {
        let mut of_panels = Vec::new();
        for (along, layers) in along.iter().zip(&mut at_levels) {
            let y = known(*effect, along);
            let is_line = !along.has_levels;
            let points = along.x.iter().copied().zip(y.iter().copied());
            of_panels.push(if is_line { points.collect() } else { Vec::new() });
            if !is_line && !y.is_empty() {
                // Side by side, as curves may agree.
                let shift = 0.15 * (layers.len() as f64 - 1.0);
                let place = |(level, y): (usize, f64)| (level as f64 + shift, y, 0.0);
                let points = y.into_iter().enumerate().map(place).collect();
                let look = MarkStyle { marker: Marker::Disc, ..*look };
                layers.push(Layer::named(*name, look, Mark::Points(points)));
            }
        }
        lines.push(coinciding::Curve { name, look: *look, of_panels });
    }
    let points = lines.iter().flat_map(|line| line.of_panels.concat());
    let most = points.map(|point| point.1.abs()).fold(size, f64::max);
    // Near 0 a standard deviation, as the root of a variance, has the root of its rounding.
    let has_roots = curves.iter().any(|curve| curve.0 == Quantity::HDpdp);
    let same = if has_roots { coinciding::SAME.sqrt() } else { coinciding::SAME };
    let layers = coinciding::layers(&lines, &axes, same * most);
    let panel = |(((x, y), layers), at_levels)| Panel {
        title: (*title).to_owned(),
        x,
        y,
        layers: [layers, at_levels].concat(),
        ..Panel::default()
    };
    axes.into_iter().zip(layers).zip(at_levels).map(panel).collect()
}

/// The centring of an effect: over the law of a feature with levels, over the range of others.
fn centring(scenario: &Scenario, effect: Quantity, feature: usize) -> Centring {
    match (effect.is_curve(), scenario.levels(feature)) {
        (true, Some(_)) => Centring::Data,
        (true, None) => Centring::Integral,
        (false, _) => Centring::None,
    }
}

/// The values of a truth along a feature.
fn curve(
    scenario: &Scenario,
    effect: Quantity,
    Along { feature, x, .. }: &Along,
) -> std::result::Result<Vec<f64>, fe_truth::Error> {
    let centring = centring(scenario, effect, *feature);
    let truths = scenario.curve(effect, *feature, x, scenario.axis(*feature), centring)?;
    let root = effect == Quantity::HDpdp;
    Ok(truths.iter().map(|t| if root { t.value.max(0.0).sqrt() } else { t.value }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truths_are_drawn_beside_breaks_and_not_at_them() {
        let scenario = fe_truth::scenario("piecewise-linear", &[]).unwrap();
        let Along { x, .. } = Along::of(&scenario, 0, 101).unwrap();
        let breaks = scenario.breaks(0);
        assert!(breaks.len() > 3 && x.len() == 101 + breaks.len(), "{} for {breaks:?}", x.len());
        for at in breaks {
            let near: Vec<f64> = x.iter().map(|x| x - at).filter(|by| by.abs() < 1e-3).collect();
            assert!(near.len() == 2 && near[0] < -1e-7 && near[1] > 1e-7, "{near:?} about {at}");
        }
    }

    #[test]
    fn truths_that_coincide_are_named_once() {
        let scenario = fe_truth::scenario("poly3", &[]).unwrap();
        let names = |figure: &Figure| -> Vec<String> {
            let layers = figure.cells.iter().flatten().flat_map(|panel| &panel.layers);
            layers.filter_map(|layer| layer.name.clone()).collect()
        };
        let drawn = figure(&scenario, &[0], 21).unwrap();
        let expected =
            ["PD = ALE = M-plot = SHAP (mean)", "d-PD = μ, given x", "σ (d-PD) = σ, given x"];
        assert_eq!(names(&drawn.figure), expected);
    }
}
