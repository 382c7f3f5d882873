//! Writes `docs/scenarios.md` and its pictures from the registry of scenarios.
//!
//! What the registry knows of a scenario is taken from there; the formulas of its truths are
//! written by hand in `docs/scenarios/NAME.md`.

use std::error::Error;
use std::fs;
use std::path::Path;

use fe_bench::documentation;
use fe_core::Axis;
use fe_truth::{Centring, Effect, Scenario};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width and height of a picture in pixels.
const SIZE: (u32, u32) = (960, 420);
/// Height of the strip at the bottom that holds the legend.
const STRIP: u32 = 32;
/// Points of a curve.
const POINTS: usize = 401;

/// A curve: its effect, name, colour, width in pixels, and lengths of dashes and gaps in pixels, 0 for a full line.
struct Style {
    effect: Effect,
    name: &'static str,
    colour: RGBColor,
    width: u32,
    dashes: (i32, i32),
}

const CURVES: [Style; 3] = [
    Style {
        effect: Effect::Pd,
        name: "PD",
        colour: RGBColor(130, 175, 225),
        width: 5,
        dashes: (0, 0),
    },
    Style {
        effect: Effect::Ale,
        name: "ALE",
        colour: RGBColor(190, 60, 0),
        width: 2,
        dashes: (10, 5),
    },
    Style {
        effect: Effect::Mplot,
        name: "M-plot",
        colour: RGBColor(0, 0, 0),
        width: 2,
        dashes: (2, 4),
    },
];
const SIGMA: Style = Style {
    effect: Effect::Sigma,
    name: "sigma",
    colour: RGBColor(110, 0, 120),
    width: 2,
    dashes: (0, 0),
};

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::create_dir_all(docs.join("pictures"))?;
    for info in fe_truth::scenarios() {
        let picture = picture(&fe_truth::scenario(info.name, &[])?)?;
        fs::write(docs.join(format!("pictures/{}.svg", info.name)), picture)?;
    }
    fs::write(docs.join("scenarios.md"), documentation::scenarios(&docs)?)?;
    Ok(())
}

/// PD, ALE and M-plot of the main feature on the left, sigma on the right.
fn picture(scenario: &Scenario) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (panels, strip) = root.split_vertically(SIZE.1 - STRIP);
        let (left, right) = panels.split_horizontally(SIZE.0 / 2);
        let name = scenario.info().name;
        panel(&left, scenario, &format!("{name}: effects, centred"), &CURVES)?;
        panel(&right, scenario, "heterogeneity: sigma", std::slice::from_ref(&SIGMA))?;
        legend(&strip, &CURVES)?;
        root.present()?;
    }
    Ok(svg)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    scenario: &Scenario,
    title: &str,
    styles: &[Style],
) -> Result<(), Box<dyn Error>> {
    let s = documentation::main_feature(scenario)?;
    let axis = scenario.axis(s);
    let x = Axis::new(axis.0, axis.1)?.grid(POINTS);
    let centring = |effect: Effect| {
        if effect.is_curve() { Centring::Integral } else { Centring::None }
    };
    let curve = |style: &Style| {
        let truths = scenario.curve(style.effect, s, &x, axis, centring(style.effect))?;
        Ok(x.iter().copied().zip(truths.into_iter().map(|truth| truth.value)).collect())
    };
    let curves: Vec<Vec<(f64, f64)>> =
        styles.iter().map(curve).collect::<Result<_, fe_truth::Error>>()?;

    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(axis.0..axis.1, range(&curves))?;
    let feature = format!("x{}", s + 1);
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(feature)
        .x_labels(6)
        .y_labels(7)
        .y_label_formatter(&|y| short(*y))
        .x_label_formatter(&|x| short(*x))
        .label_style(("sans-serif", 14))
        .draw()?;
    for (style, points) in styles.iter().zip(curves) {
        let line = style.colour.stroke_width(style.width);
        match style.dashes {
            (0, _) => chart.draw_series(LineSeries::new(points, line))?,
            (dash, gap) => chart.draw_series(DashedLineSeries::new(points, dash, gap, line))?,
        };
    }
    Ok(())
}

/// The names of the curves, each after a piece of its line, in a row.
fn legend(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    styles: &[Style],
) -> Result<(), Box<dyn Error>> {
    let font = ("sans-serif", 14).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for (i, style) in styles.iter().enumerate() {
        let (x, y) = (90 + 120 * i as i32, STRIP as i32 / 2 - 4);
        let line = style.colour.stroke_width(style.width);
        let (dash, gap) = if style.dashes.0 == 0 { (36, 0) } else { style.dashes };
        let mut from = x;
        while from < x + 36 {
            let to = (from + dash).min(x + 36);
            area.draw(&PathElement::new([(from, y), (to, y)], line))?;
            from = to + gap;
        }
        area.draw(&Text::new(style.name, (x + 44, y), font.clone()))?;
    }
    Ok(())
}

/// From the lowest to the highest value, with some room.
fn range(curves: &[Vec<(f64, f64)>]) -> std::ops::Range<f64> {
    let values = || curves.iter().flatten().map(|point| point.1);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    // What is constant but for rounding is shown as a line in the middle.
    let room = if high - low > 1e-9 * (1.0 + high.abs()) { 0.06 * (high - low) } else { 0.5 };
    low - room..high + room
}

/// A number on an axis, without digits that say nothing.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
}
