//! The page on scenarios, from the registry and the hand-written formulas of each.

use std::path::Path;

use fe_core::OptionInfo;
use fe_truth::{Centring, Quantity, Scenario, ScenarioInfo};

/// The text of the page before its sections.
const INTRODUCTION: &str = "# Scenarios

A scenario is a law of the features and a function f of them, and every truth of a feature effect
follows from the two. Each section states both, the parameters with their defaults, and the
formulas that are known; what has none is integrated numerically. Every formula is tested against
numerical integration and against simulation.

x is the value of the feature; PD, M-plot and ALE are given up to centring. `mu` and `sigma` are mean
and standard deviation of the derivative given the feature, `dpd` and `h-dpdp` its mean and variance
when the other features keep their own law, `h-pdp` is the variance of ICE curves centred over the
axis [lo, hi]. Φ and φ are the standard normal distribution function and density, 1{…} is 1 where
the condition holds and 0 elsewhere, and *sd* is a standard deviation.

In the pictures curves are centred to mean 0 over the axis, and parameters have their defaults.

Formulas are those of the whole law. `fe-bench truth --where EVENT` has all truths given an event, and
`--regional M --depth L` the population's tree of regions; both are integrated ([methodology](methodology.md)).

This page is made by `scripts/scenario-pictures.sh`; the formulas are in `scenarios/`.
";

/// The page: one section for each registered scenario, in the order of the registry. The formulas
/// of a scenario are read from `scenarios/NAME.md` in the folder `docs`.
///
/// # Errors
/// If the formulas of a scenario cannot be read.
pub fn scenarios(docs: &Path) -> std::io::Result<String> {
    let mut page = INTRODUCTION.to_owned();
    for info in fe_truth::scenarios() {
        let formulas = docs.join(format!("scenarios/{}.md", info.name));
        let formulas = std::fs::read_to_string(&formulas).map_err(|error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", formulas.display()))
        })?;
        page.push_str(&section(&info, &formulas));
    }
    Ok(page)
}

/// The feature that a scenario's picture shows, counted from 0: the first that has a
/// heterogeneity, or else the first.
///
/// # Errors
/// None that the axis of a scenario can cause.
pub fn main_feature(scenario: &Scenario) -> Result<usize, fe_truth::Error> {
    for feature in 0..scenario.dimension() {
        let (lo, hi) = scenario.axis(feature);
        let points = [0.2, 0.5, 0.8].map(|share| lo + share * (hi - lo));
        let sigma = scenario.curve(Quantity::Sigma, feature, &points, (lo, hi), Centring::None)?;
        if sigma.iter().any(|truth| truth.value > 1e-6) {
            return Ok(feature);
        }
    }
    Ok(0)
}

fn section(info: &ScenarioInfo, formulas: &str) -> String {
    let ScenarioInfo { name, version, about, formula, law, parameters } = info;
    let mut text = format!(
        "\n## `{name}`\n\nVersion {version}: {about}.\n\n- **Function**: {formula}\n- **Law**: {law}\n"
    );
    text.push_str(&table(parameters));
    text.push('\n');
    text.push_str(formulas.trim());
    text.push_str(&format!("\n\n![Truths of `{name}`](pictures/{name}.svg)\n"));
    text
}

fn table(parameters: &[OptionInfo]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let cell = |text: &str| text.replace('|', "\\|");
    let row = |p: &OptionInfo| {
        format!("| `{}` | {} | {} | {} |\n", p.name, p.default, cell(p.allowed), cell(p.about))
    };
    let rows: String = parameters.iter().map(row).collect();
    format!("\n| parameter | default | allowed | meaning |\n|---|---|---|---|\n{rows}")
}
