//! Writes `docs/problems.md` and its pictures from the files of the shelf; given names, the pictures of
//! these problems alone.

use std::error::Error;
use std::fs;
use std::path::Path;

use fe_bench::data::shelf;
use fe_bench::plot;
use fe_bench::report::{problem_page, scenario_page};

/// Points of a curve.
const POINTS: usize = 101;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pictures = root.join("docs/pictures/problems");
    fs::create_dir_all(&pictures)?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let problems = shelf::read(&root.join(shelf::FOLDER))?;
    for shelf::Problem { scenario, .. } in &problems {
        let name = scenario.info().name;
        if problem_page::UNDRAWN.contains(&name) {
            continue;
        }
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            let started = std::time::Instant::now();
            let feature = scenario_page::main_feature(scenario).unwrap_or(0);
            let drawn = plot::truths::figure(scenario, &[feature], POINTS)?;
            fs::write(pictures.join(format!("{name}.svg")), drawn.figure.svg()?)?;
            drawn.notes.iter().for_each(|note| eprintln!("{name}: {note}"));
            eprintln!("{name}: {:?}", started.elapsed());
        }
    }
    fs::write(root.join("docs/problems.md"), problem_page::problems(&problems))?;
    Ok(())
}
