//! Figures of the truths of a scenario: effects, local effects and heterogeneity, one above the other.

use fe_core::Axis;
use fe_truth::{Centring, Quantity, Scenario};

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

/// The truths of some features, counted from 0, each over its range, at so many equidistant points. A
/// curve that has no truth is left out and noted.
///
/// # Errors
/// A range that is none.
pub fn figure(scenario: &Scenario, features: &[usize], points: usize) -> Result<Drawn> {
    let mut notes = Vec::new();
    let mut cells = Vec::new();
    for &feature in features {
        let levels = scenario.levels(feature);
        let x = match &levels {
            Some(levels) => levels.iter().map(|level| level.value).collect(),
            None => {
                let (lo, hi) = scenario.axis(feature);
                Axis::new(lo, hi)?.grid(points)
            }
        };
        let panels = PANELS.iter().map(|(title, label, curves)| {
            let mut layers = Vec::new();
            for (effect, name, look) in *curves {
                match curve(scenario, *effect, feature, &x) {
                    Ok(y) if levels.is_some() => {
                        // Side by side, as curves may agree.
                        let shift = 0.15 * (layers.len() as f64 - 1.0);
                        let place = |(level, y): (usize, f64)| (level as f64 + shift, y, 0.0);
                        let points = y.into_iter().enumerate().map(place).collect();
                        let look = MarkStyle { marker: Marker::Disc, ..*look };
                        layers.push(Layer::named(*name, look, Mark::Points(points)));
                    }
                    Ok(y) => {
                        let line = x.iter().copied().zip(y).collect();
                        layers.push(Layer::named(*name, *look, Mark::Line(line)));
                    }
                    Err(error) => {
                        let of = scenario.feature_name(feature);
                        notes.push(format!("{effect} of {of} is not drawn: {error}"));
                    }
                }
            }
            let name = scenario.feature_name(feature);
            let x = match &levels {
                Some(levels) => {
                    Scale::levels(name, levels.iter().map(|level| level.name.clone()).collect())
                }
                None => Scale::linear(name),
            };
            let y = match curves.first().map(|curve| centring(scenario, curve.0, feature)) {
                Some(centring) if *label == ON_F => {
                    Scale::linear(effect_on("f", &centring.to_string()))
                }
                _ => Scale::linear(*label),
            };
            Panel { title: (*title).to_owned(), x, y, layers, ..Panel::default() }
        });
        let panels: Vec<Panel> = panels.filter(|panel| !panel.layers.is_empty()).collect();
        // One feature has its panels side by side.
        if let [_] = features {
            cells.extend(panels.into_iter().map(|panel| vec![panel]));
        } else {
            cells.push(panels);
        }
    }
    let title = format!("Truths of {}", title_of(scenario));
    let size = features_of(scenario, 0, ASKED, 0).map_or(0.0, |data| size(scenario.model(), &data));
    let mut figure = Figure { title, cells, legend_per_cell: false }.of_size(size);
    figure.share_scales();
    Ok(Drawn { figure, notes })
}

/// The centring of an effect: over the law of a feature with levels, over the range of others.
fn centring(scenario: &Scenario, effect: Quantity, feature: usize) -> Centring {
    match (effect.is_curve(), scenario.levels(feature)) {
        (true, Some(_)) => Centring::Data,
        (true, None) => Centring::Integral,
        (false, _) => Centring::None,
    }
}

fn curve(
    scenario: &Scenario,
    effect: Quantity,
    feature: usize,
    x: &[f64],
) -> std::result::Result<Vec<f64>, fe_truth::Error> {
    let centring = centring(scenario, effect, feature);
    let truths = scenario.curve(effect, feature, x, scenario.axis(feature), centring)?;
    let root = effect == Quantity::HDpdp;
    Ok(truths.iter().map(|t| if root { t.value.max(0.0).sqrt() } else { t.value }).collect())
}
