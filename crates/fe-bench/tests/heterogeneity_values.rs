//! Heterogeneity values beside their truths: by hand where f is 3 x1 or −3 x1, in studies, and of trees.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use fe_bench::data::sample;
use fe_bench::score::comparison::Comparison;
use fe_bench::score::{Metric, estimand_of, on_grid, tree_on_grid, truth_of};
use fe_core::{AxisChoice, Effect, Settings, estimator, regional};
use fe_truth::{Scenario, scenario};

/// f is 3 x1 + x3 or −3 x1 + x3 as x3, uniform on −1 to 1, is above 0 or not.
fn effector() -> Scenario {
    scenario("effector-regional", &[]).unwrap()
}

fn estimated(
    scenario: &Scenario,
    name: &str,
    feature: usize,
    rows: usize,
    more: Settings,
) -> Effect {
    let data = sample::features(scenario, 7, rows, 0).unwrap();
    let (lo, hi) = scenario.axis(feature);
    let settings = Settings { axis: Some(AxisChoice::Given(lo, hi)), ..more };
    let estimator = estimator::from_settings(name, &settings).unwrap();
    estimator.estimate(&data, scenario.model(), feature).unwrap().remove(0)
}

fn with_bins(bins: usize) -> Settings {
    Settings { binning: Some("fixed".to_owned()), bins: Some(bins), ..Settings::default() }
}

/// A metric of an effect against the truth of its estimand.
fn scored(scenario: &Scenario, effect: &Effect, metric: &str) -> Result<f64, String> {
    let quantity = truth_of(estimand_of(effect.estimator).unwrap());
    let (lo, hi) = scenario.axis(effect.feature);
    // None of them is a limit of a bin.
    let grid: Vec<f64> = (0..24).map(|i| lo + (hi - lo) * f64::from(i) / 23.0).collect();
    let metrics = [metric.parse::<Metric>()?];
    let (_, score) =
        on_grid(scenario, quantity, effect, &grid, Comparison::Centred, &metrics).remove(0);
    score.value.ok_or(score.status)
}

/// Mean over −1 to 1 by Simpson's rule.
fn mean(f: impl Fn(f64) -> f64) -> f64 {
    let n = 20_000;
    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    (0..=n).map(|i| weight(i) * f(-1.0 + 2.0 * f64::from(i) / f64::from(n))).sum::<f64>()
        / f64::from(3 * n)
}

/// An estimator with its settings, and the true values by their names.
type OfEstimator = (&'static str, Settings, Vec<(&'static str, f64)>);

#[test]
fn values_are_estimates_less_those_by_hand() {
    let scenario = effector();
    // With ICE curves as they are, x3 and its own effect vary as well.
    let raw = mean(|x| (9.0 * x * x + 3.0 * x + 1.0 / 3.0).sqrt());
    let width: f64 = 2.0 / 5.0;
    let cases: &[OfEstimator] = &[
        ("pdp", Settings::default(), vec![("mean_grid", 3.0), ("mean_grid_sd", raw)]),
        ("dpdp", Settings::default(), vec![("mean_grid", 9.0), ("mean_grid_sd", 3.0)]),
        (
            "dale",
            with_bins(5),
            vec![
                ("integral", 18.0),
                ("mean_range", 9.0),
                ("integral_sd", 6.0),
                ("mean_sd", 3.0),
                ("mean_bins", 9.0),
                ("sum_bins", 45.0),
            ],
        ),
        (
            "ale",
            with_bins(5),
            vec![
                ("integral", 18.0),
                ("mean_range", 9.0),
                ("integral_sd", 6.0),
                ("mean_sd", 3.0),
                // H of METHODS: of differences that are not divided by the width of the bin.
                ("mean_bins", 9.0 * width * width),
                ("sum_bins", 45.0 * width * width),
            ],
        ),
        // Half of the slope is the feature's; E x² is 1/3.
        ("shapdp", Settings::default(), vec![("mean_residual", 9.0 / 4.0 / 3.0)]),
    ];
    for (name, settings, values) in cases {
        let effect = estimated(&scenario, name, 0, 300, settings.clone());
        for (value, truth) in values {
            let estimate = effect.heterogeneity_values[value].unwrap();
            let of =
                |metric: &str| scored(&scenario, &effect, &format!("{metric}.{value}")).unwrap();
            let (off, expected) = (of("heterogeneity_value"), estimate - truth);
            assert!((off - expected).abs() < 1e-7, "{name} {value}: {off} {expected}");
            assert_eq!(of("heterogeneity_value_square"), off * off);
            assert_eq!(of("heterogeneity_value_sign"), off.signum(), "{name} {value}");
            let is_default = effect.default_heterogeneity == *value;
            let of_default = scored(&scenario, &effect, "heterogeneity_value").unwrap();
            assert_eq!(of_default == off, is_default, "{name} {value}");
        }
    }
    let effect = estimated(&scenario, "pdp", 0, 50, Settings::default());
    assert!(scored(&scenario, &effect, "heterogeneity_value.integral").is_err());
    let raw_ice = Settings { raw_ice: Some(true), ..Settings::default() };
    let effect = estimated(&scenario, "pdp", 0, 50, raw_ice);
    assert!(scored(&scenario, &effect, "heterogeneity_value.mean_grid").is_err());
    let effect = estimated(&scenario, "mplot", 0, 50, Settings::default());
    assert!(scored(&scenario, &effect, "heterogeneity_value").is_err());
}

/// Along x3, f jumps by 6 x1 at 0 and rises by 1 elsewhere: differences vary in the bin that holds 0, with
/// 36 E x1² = 12, and nowhere else.
#[test]
fn finite_differences_are_held_to_the_truth_on_their_own_bins() {
    let scenario = effector();
    let effect = estimated(&scenario, "ale", 2, 400, with_bins(5));
    let width: f64 = 2.0 / 5.0;
    let value = scored(&scenario, &effect, "heterogeneity_value.integral").unwrap();
    let estimate = effect.heterogeneity_values["integral"].unwrap();
    assert!((value - (estimate - 12.0 / width)).abs() < 1e-7, "{value} {estimate}");
    let slopes = |x: f64| if x.abs() < width / 2.0 { 12.0 / width / width } else { 0.0 };
    let grid: Vec<f64> = (0..24).map(|i| -1.0 + 2.0 * f64::from(i) / 23.0).collect();
    let squares = |of: &dyn Fn(f64) -> f64| {
        let off = grid.iter().map(|&x| effect.heterogeneity.at(x).unwrap() - of(x));
        off.map(|off| off * off).sum::<f64>() / grid.len() as f64
    };
    let mse = scored(&scenario, &effect, "heterogeneity_mse").unwrap();
    assert!((mse - squares(&slopes)).abs() < 1e-6 * mse, "{mse} {}", squares(&slopes));
    assert!(scored(&scenario, &effect, "deviation_mse").unwrap() > 0.0);
    // Undivided differences have a heterogeneity curve of their own.
    let undivided = Settings { undivided: Some(true), ..with_bins(5) };
    let effect = estimated(&scenario, "ale", 2, 400, undivided);
    assert_eq!(effect.default_heterogeneity, "mean_bins");
    let value = scored(&scenario, &effect, "heterogeneity_value").unwrap();
    let estimate = effect.heterogeneity_values["mean_bins"].unwrap();
    assert!((value - (estimate - 12.0 / 5.0)).abs() < 1e-7, "{value} {estimate}");
    let mse = scored(&scenario, &effect, "heterogeneity_mse").unwrap();
    let at_jump = effect.heterogeneity.at(0.0).unwrap() - 12.0;
    assert!((mse - 4.0 / 24.0 * at_jump * at_jump).abs() < 1e-6, "{mse} {at_jump}");
}

/// Of dependent features, with enough rows, nothing but noise is left.
#[test]
fn estimates_from_many_rows_meet_their_truths() {
    let dependent = scenario("nonlinear", &[]).unwrap();
    let cases = [
        ("pdp", "mean_grid", Settings { grid: Some(400), ..Settings::default() }),
        ("pdp", "mean_grid_sd", Settings { grid: Some(400), ..Settings::default() }),
        ("dpdp", "mean_grid", Settings::default()),
        ("dale", "integral", with_bins(100)),
        ("ale", "mean_bins", with_bins(40)),
        ("ale", "sum_bins", with_bins(3)),
        ("dale", "mean_sd", with_bins(100)),
    ];
    for (name, value, settings) in cases {
        let effect = estimated(&dependent, name, 0, 40_000, settings);
        let estimate = effect.heterogeneity_values[value].unwrap();
        let off = scored(&dependent, &effect, &format!("heterogeneity_value.{value}")).unwrap();
        assert!(off.abs() < 0.03 * estimate, "{name} {value}: {off} of {estimate}");
    }
}

/// A tree has the mean over its leaves by their shares; the truth is that of the same regions.
#[test]
fn values_of_trees_are_those_of_their_regions() {
    let scenario = effector();
    let data = sample::features(&scenario, 3, 200, 0).unwrap();
    // A slope of 3 or −3: its variance on the side of a split that has both.
    let scales = [("regional-pdp", 1.0 / 3.0), ("regional-dpdp", 1.0), ("regional-rhale", 2.0)];
    for (name, scale) in scales {
        let settings = Settings {
            axis: Some(AxisChoice::Given(-1.0, 1.0)),
            depth: Some(1),
            candidates: Some(2),
            ..Settings::default()
        };
        let fitted = regional::from_settings(name, &settings).unwrap();
        let tree = fitted.fit(&data, scenario.model(), 0).unwrap().remove(0);
        let right = &tree.tree.nodes()[2];
        let p = right.rule.as_ref().unwrap().kind.values()[0];
        let (mixed, side) = (p.abs() / (1.0 + p.abs()), (1.0 + p.abs()) / 2.0);
        let truth = side * 36.0 * mixed * (1.0 - mixed) * scale;
        let estimate = tree.tree.levels()[1].heterogeneity.unwrap();
        let grid: Vec<f64> = (0..11).map(|i| -1.0 + f64::from(i) / 5.0).collect();
        let metrics = Metric::asked("heterogeneity_value", &[]).unwrap();
        let scores = tree_on_grid(&scenario, &tree, &grid, Comparison::Centred, &metrics).unwrap();
        let value = scores[0].1.value.unwrap();
        assert!((value - (estimate - truth)).abs() < 1e-7, "{name}: {value} {estimate} {truth}");
        assert_eq!(scores[1].1.value.unwrap(), value * value);
        assert_eq!(scores[2].1.value.unwrap(), value.signum());
    }
}

fn run(folder: &Path, block: &str, estimators: &[&str]) -> Output {
    let each = estimators.iter().map(|of| format!("[[block.estimator]]\n{of}\n"));
    let text = format!(
        "about = \"values\"\n[[block]]\nscenario = \"effector-regional\"\nfeatures = [\"x1\"]\n\
         N = 60\nreplicates = 2\n{block}\n{}",
        each.collect::<String>()
    );
    let path = folder.join("study.toml");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.arg("run").arg(path).arg("--out").arg(folder.join("out")).output().unwrap()
}

#[test]
fn studies_have_them_by_name_with_square_and_sign() {
    let folder = tempfile::tempdir().unwrap();
    let block = "metrics = [\"heterogeneity_value\"]\nof = [\"integral\", \"mean_bins\"]";
    let output =
        run(folder.path(), block, &["name = \"dale\"", "name = \"regional-ale\"\ndepth = 1"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut reader = csv::Reader::from_path(folder.path().join("out/cells.csv")).unwrap();
    let rows: Vec<HashMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2 * 3);
    let mut differences = HashMap::new();
    for row in &rows {
        let key = (row["estimator"].clone(), row["replicate"].clone(), row["metric"].clone());
        assert_eq!(row["status"], "ok", "{row:?}");
        differences.insert(key, row["value"].parse::<f64>().unwrap());
    }
    for ((estimator, replicate, metric), value) in &differences {
        let Some((name, of)) = metric.split_once('.') else { panic!("{metric}") };
        let key = |name: &str| (estimator.clone(), replicate.clone(), format!("{name}.{of}"));
        let difference = differences[&key("heterogeneity_value")];
        match name {
            "heterogeneity_value" => assert!(difference != 0.0, "{metric}"),
            "heterogeneity_value_square" => assert_eq!(*value, difference * difference),
            "heterogeneity_value_sign" => assert_eq!(*value, difference.signum()),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn values_that_there_are_not_are_refused() {
    let value = "metrics = [\"heterogeneity_value\"]";
    let cases = [
        (
            format!("{value}\nof = \"integral\""),
            "name = \"pdp\"",
            vec!["integral", "pdp", "mean_grid"],
        ),
        (
            format!("{value}\nof = \"integrals\""),
            "name = \"dale\"",
            vec!["integrals", "`integral`"],
        ),
        ("metrics = [\"mse\"]\nof = \"integral\"".to_owned(), "name = \"dale\"", vec!["`of`"]),
        (value.to_owned(), "name = \"mplot\"", vec!["mplot", "no heterogeneity value"]),
        ("metrics = [\"mse.integral\"]".to_owned(), "name = \"dale\"", vec!["mse.integral"]),
    ];
    for (block, estimator, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &block, &[estimator]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{block}: {message}");
        for word in words {
            assert!(message.contains(word), "{block}: {message}");
        }
    }
}
