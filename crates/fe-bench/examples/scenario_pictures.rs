//! Writes `docs/scenarios.md` and its pictures from the registry of scenarios.
//!
//! What the registry knows of a scenario is taken from there; the formulas of its truths are
//! written by hand in `docs/scenarios/NAME.md`.

use std::error::Error;
use std::fs;
use std::path::Path;

use fe_bench::plot::Figure;
use fe_bench::plot::figure::{Layer, Mark, Panel, Scale};
use fe_bench::plot::style::{BLACK, BLUE, MarkStyle, PALETTE, VERMILION};
use fe_bench::report::scenario_page;
use fe_core::Axis;
use fe_truth::{Centring, Quantity, Scenario};

/// Points of a curve.
const POINTS: usize = 401;

/// The effects that are drawn, with their names and looks.
const CURVES: [(Quantity, &str, MarkStyle); 3] = [
    (Quantity::Pd, "PD", MarkStyle::line(PALETTE[5], 5.0)),
    (Quantity::Ale, "ALE", MarkStyle::line(VERMILION, 2.0).dashed(10, 5)),
    (Quantity::Mplot, "M-plot", MarkStyle::line(BLACK, 2.0).dashed(2, 4)),
];
const SIGMA: [(Quantity, &str, MarkStyle); 1] =
    [(Quantity::Sigma, "sigma", MarkStyle::line(BLUE, 2.0))];

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::create_dir_all(docs.join("pictures"))?;
    for info in fe_truth::scenarios() {
        let picture = picture(&fe_truth::scenario(info.name, &[])?)?;
        fs::write(docs.join(format!("pictures/{}.svg", info.name)), picture)?;
    }
    fs::write(docs.join("scenarios.md"), scenario_page::scenarios(&docs)?)?;
    Ok(())
}

/// PD, ALE and M-plot of the main feature on the left, sigma on the right.
fn picture(scenario: &Scenario) -> Result<String, Box<dyn Error>> {
    let cells = vec![
        vec![panel(scenario, "effects", "effect on f, centred (integral)", &CURVES)?],
        vec![panel(scenario, "heterogeneity", "σ of the local effects", &SIGMA)?],
    ];
    let title = scenario.info().name.to_owned();
    Ok(Figure { title, cells, legend_per_cell: false }.svg()?)
}

fn panel(
    scenario: &Scenario,
    title: &str,
    y: &str,
    curves: &[(Quantity, &str, MarkStyle)],
) -> Result<Panel, Box<dyn Error>> {
    let s = scenario_page::main_feature(scenario)?;
    let axis = scenario.axis(s);
    let x = Axis::new(axis.0, axis.1)?.grid(POINTS);
    let layer =
        |&(effect, name, look): &(Quantity, &str, MarkStyle)| -> Result<Layer, fe_truth::Error> {
            let centring = if effect.is_curve() { Centring::Integral } else { Centring::None };
            let truths = scenario.curve(effect, s, &x, axis, centring)?;
            let points = x.iter().copied().zip(truths.into_iter().map(|truth| truth.value));
            Ok(Layer::named(name, look, Mark::Line(points.collect())))
        };
    Ok(Panel {
        title: title.to_owned(),
        x: Scale::linear(format!("x{}", s + 1)),
        y: Scale::linear(y),
        layers: curves.iter().map(layer).collect::<Result<_, _>>()?,
        ..Panel::default()
    })
}
