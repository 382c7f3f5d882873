//! Truths of the files of the shelf: how accurate they are, and with `MEASURE=1` how long they take.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::time::Instant;

use fe_truth::{Centring, Evaluation, Quantity, Scenario, problem};

/// Files whose truths are integrals over one or two features at once, and quick.
const QUICK: [&str; 25] = [
    "alibi-additive",
    "apley-zhu",
    "conditional-interaction",
    "currin",
    "dette-pepelyshev-curved",
    "dette-pepelyshev-exponential",
    "effector-regional",
    "friedman1",
    "general-interaction",
    "goldstein",
    "gramacy-lee-2008",
    "gramacy-lee-2009",
    "ishigami",
    "lim",
    "lim-nonpolynomial",
    "linkletter",
    "liu-additive",
    "liu-product",
    "liu-quadratic",
    "nonlinear",
    "null-feature",
    "piecewise-linear",
    "poly3",
    "snc",
    "welch",
];

/// The quick ones; with `MEASURE=1` all, and with `ONLY=…` those that have this in their name.
fn shelf() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/problems");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let only = std::env::var("ONLY").ok();
    let all = std::env::var("MEASURE").is_ok();
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let is_asked = match &only {
            Some(only) => name.contains(only),
            None => all || QUICK.contains(&name.as_str()),
        };
        is_asked.then(|| problem(&name, &text, &[]).unwrap())
    };
    paths.into_iter().filter_map(read).collect()
}

#[test]
fn bounds_on_the_shelf_are_below_a_billionth_of_the_scale() {
    let count = if std::env::var("MEASURE").is_ok() { 1000 } else { 5 };
    let mut wide = Vec::new();
    for scenario in shelf() {
        let scale = match scenario.sd() {
            Ok(sd) => sd.value,
            Err(error) => {
                eprintln!("{} sd: {error}", scenario.id());
                continue;
            }
        };
        for s in 0..scenario.dimension() {
            if scenario.levels(s).is_some() {
                continue;
            }
            let axis = scenario.axis(s);
            let at = |k: usize| axis.0 + (axis.1 - axis.0) * (k as f64 + 0.5) / count as f64;
            let points: Vec<f64> = (0..count).map(at).collect();
            for &quantity in Quantity::ALL {
                if quantity == Quantity::Main && !scenario.is_additive(s) {
                    continue;
                }
                let started = Instant::now();
                let what = format!("{} {quantity} of {}", scenario.id(), scenario.feature_name(s));
                match scenario.curve(quantity, s, &points, axis, Centring::None) {
                    Ok(curve) => {
                        let simulated = curve.iter().any(|t| t.method == Evaluation::Simulation);
                        let error = curve.iter().map(|t| t.abs_error).fold(0.0, f64::max);
                        let size = curve.iter().map(|t| t.value.abs()).fold(scale, f64::max);
                        let took = started.elapsed().as_secs_f64() * 1e3;
                        if count > 5 && took > 20.0 {
                            eprintln!("{what}: {took:.0} ms, {:.1e}", error / size);
                        }
                        if error > 1e-9 * size && !simulated {
                            wide.push(format!("{what}: {:.1e} of the scale", error / size));
                        }
                    }
                    Err(error) => eprintln!("{what}: {error}"),
                }
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
