//! Writes `docs/scenarios.md` and its pictures from the registry of scenarios.
//!
//! What the registry knows of a scenario is taken from there; the formulas of its truths are
//! written by hand in `docs/scenarios/NAME.md`.

use std::error::Error;
use std::fs;
use std::path::Path;

use fe_bench::plot;
use fe_bench::report::scenario_page;

/// Points of a curve.
const POINTS: usize = 201;

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::create_dir_all(docs.join("pictures"))?;
    for info in fe_truth::scenarios() {
        let scenario = fe_truth::scenario(info.name, &[])?;
        let feature = scenario_page::main_feature(&scenario)?;
        let drawn = plot::truths::figure(&scenario, &[feature], POINTS)?;
        fs::write(docs.join(format!("pictures/{}.svg", info.name)), drawn.figure.svg()?)?;
        drawn.notes.iter().for_each(|note| eprintln!("{}: {note}", info.name));
    }
    fs::write(docs.join("scenarios.md"), scenario_page::scenarios(&docs)?)?;
    Ok(())
}
