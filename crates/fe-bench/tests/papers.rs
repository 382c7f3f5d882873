//! Commands behind the papers' results: sums of effects, limits of single features, distances of truths, and what
//! libraries declare.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

fn run(arguments: &str) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments.split(' ')).current_dir(root).output().unwrap()
}

/// The rows of an answer as CSV.
fn rows(arguments: &str) -> Vec<csv::StringRecord> {
    let output = run(&format!("{arguments} --format csv"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    csv::Reader::from_reader(&output.stdout[..]).into_records().map(Result::unwrap).collect()
}

fn number(row: &csv::StringRecord, place: usize) -> f64 {
    row[place].parse().unwrap()
}

fn refused(arguments: &str, words: &[&str]) {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(output.stdout.is_empty(), "{arguments} printed a result");
    assert!(words.iter().all(|word| message.contains(word)), "{arguments}: {message}");
}

/// ALIBI: for additive models f(x) = E f + Σ ALE; what is missing of others are interactions.
#[test]
fn effects_add_up_to_additive_functions_alone() {
    let of = |scenario: &str| {
        let rows =
            rows(&format!("reconstruct {scenario} --n 2000 --seed 1 --estimator ale --bins 50"));
        assert_eq!((rows.len(), &rows[0][0]), (1, "1"));
        (number(&rows[0], 3), number(&rows[0], 4))
    };
    let (mse, r2) = of("alibi-additive");
    assert!(mse < 1e-6 && r2 > 1.0 - 1e-6, "{mse}, {r2}");
    // f = x1 x2 of independent features of mean 0 has main effects 0: nothing is explained. ALE's are noise here.
    let (_, r2) = of("liu-product --set rho=0");
    assert!(r2.abs() < 0.1, "{r2}");
    // Of Friedman's function, by analysis of variance: 10 sin(πx1x2) has a part that is no sum.
    let (_, r2) = of("friedman1");
    assert!((0.9..0.99).contains(&r2), "{r2}");
    let classes =
        rows("reconstruct --data docs/iris.csv --target species --model logistic --estimator ale");
    assert_eq!(classes.len(), 3);
    assert_eq!(&classes[0][0], "setosa");
}

#[test]
fn sums_of_what_does_not_add_up_are_refused() {
    let common = "reconstruct friedman1 --n 50 --seed 1 --estimator";
    refused(&format!("{common} regional-pdp"), &["regional-pdp", "several for a feature"]);
    refused(&format!("{common} dpdp"), &["dpdp", "does not add up"]);
    refused(&format!("{common} ale --band analytic"), &["--band"]);
    refused("reconstruct --estimator ale --data docs/iris.csv", &["SCENARIO"]);
    refused(&format!("{common} pdp --plot sum.gif"), &["NAME.svg"]);
}

/// ALIBI's `grid_points`: features with limits of their own beside others with theirs.
#[test]
fn a_feature_may_have_limits_of_its_own() {
    let common = "effect alibi-additive --n 200 --seed 1 --estimator ale";
    let x = |tail: &str, feature: &str| -> Vec<f64> {
        let all = rows(&format!("{common} {tail}"));
        all.iter().filter(|row| &row[0] == feature).map(|row| number(row, 2)).collect()
    };
    assert_eq!(x("--limits x1=0,0.1,0.5,1 --bins 3", "x1"), [0.0, 0.1, 0.5, 1.0]);
    let others = x("--limits x1=0,0.1,0.5,1 --bins 3", "x2");
    assert_eq!((others.len(), &others), (4, &x("--bins 3", "x2")));
    let both = "--preset alibi-0.9 --limits x1=0,0.5,1 --limits x2=0,0.25,1";
    assert_eq!([x(both, "x1"), x(both, "x2")], [[0.0, 0.5, 1.0], [0.0, 0.25, 1.0]]);
    assert_eq!(x("--binning grid --limits 0,0.5,1 --limits 2=0,1", "x2"), [0.0, 1.0]);
    // The same as one at a time.
    let alone = rows(&format!("{common} --feature x1 --binning grid --limits 0,0.1,0.5,1"));
    let beside = rows(&format!("{common} --bins 3 --limits x1=0,0.1,0.5,1"));
    assert_eq!(alone[..], beside[..alone.len()]);
    let refusals = [
        ("--limits x9=0,1", "feature `x9` does not exist"),
        ("--limits x1=0,1 --limits 1=0,1", "given twice"),
        ("--feature x2 --limits x1=0,1", "is not asked for"),
        ("--limits x1=", "must be a finite number"),
        ("--limits =0,1", "name of a feature"),
        ("--limits x1=1,0", "increas"),
        ("--limits 0,1", "limits"),
    ];
    for (tail, words) in refusals {
        refused(&format!("{common} {tail}"), &[words]);
    }
    refused("effect alibi-additive --n 50 --seed 1 --estimator pdp --limits x1=0,1", &["pdp"]);
}

/// ERRORS: PD and ALE agree without correlation, and drift apart as ρ² or, for the additive function, never.
#[test]
fn partial_dependence_and_accumulated_effects_drift_apart() {
    let distance = |scenario: &str, feature: &str| -> Vec<f64> {
        let all = rows(&format!(
            "truth {scenario} --distance pd,ale --feature {feature} --over rho=-0.9,0,0.3,0.9"
        ));
        assert_eq!((&all[0][2], &all[0][3], &all[0][4]), (feature, "pd", "ale"));
        assert!(all.iter().all(|row| number(row, 6) < 1e-9), "{all:?}");
        all.iter().map(|row| number(row, 5)).collect()
    };
    let product = distance("liu-product", "x1");
    // PD is 0 and ALE ρ(x² − c)/2, by the formulas of ERRORS: the variance of x² over the grid times ρ²/4.
    let output = run("truth liu-product --effect main --feature x1 --grid 100");
    assert!(!output.status.success(), "a product has no main effect");
    let grid = rows("truth liu-product --effect pd --feature x1 --grid 100");
    let squares: Vec<f64> = grid.iter().map(|row| number(row, 3).powi(2)).collect();
    let mean = squares.iter().sum::<f64>() / 100.0;
    let variance = squares.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 100.0;
    for (rho, distance) in [-0.9_f64, 0.0, 0.3, 0.9].into_iter().zip(&product) {
        let exact = rho * rho / 4.0 * variance;
        assert!((distance - exact).abs() < 1e-9 * (1.0 + exact), "{rho}: {distance} for {exact}");
    }
    assert!(distance("liu-additive", "x1").into_iter().all(|distance| distance < 1e-20));
    // The square is in both, so that what is apart is the product's.
    for (a, b) in distance("liu-quadratic", "x1").into_iter().zip(product) {
        assert!((a - b).abs() < 1e-9 * (1.0 + b), "{a}, {b}");
    }
}

#[test]
fn distances_that_mean_nothing_are_refused() {
    refused("truth liu-product --distance pd", &["two effects"]);
    refused("truth liu-product --distance pd,mu", &["mu", "cannot be centred"]);
    refused("truth liu-product --distance pd,al", &["al"]);
    refused("truth liu-product --distance pd,ale --over rho", &["KEY=VALUE"]);
    refused("truth liu-product --distance pd,ale --over rho=0,,1", &["behind each comma"]);
    refused("truth liu-product --distance pd,ale --over roh=0,1", &["rho"]);
    refused(
        "truth liu-product --distance pd,ale --over rho=0.1 --set rho=0.2",
        &["one of them decides"],
    );
    refused("truth liu-product --distance pd,ale --plot d.svg", &["--over"]);
    refused("truth liu-product --over rho=0,1 --effect pd", &["--over"]);
    refused("truth liu-product --over rho=0,1 --plot d.svg", &["--distance"]);
    refused("truth liu-product --distance pd,ale --center data", &["--center"]);
}

/// EFFECTOR's Table 1, of what engines declare: nothing is started for it.
#[test]
fn capabilities_are_those_declared() {
    let all = rows("engines --capabilities");
    let of = |name: &str| all.iter().find(|row| &row[0] == name).unwrap();
    assert_eq!(&of("fe-bench")[2], "pdp dpdp");
    assert_eq!(&of("effector")[4], "ale rhale");
    assert_eq!([&of("alibi")[1], &of("alibi")[3], &of("alibi")[4]], ["", "ale", ""]);
    assert_eq!(&of("pyale")[9], "ale");
    assert_eq!([&of("shap")[5], &of("shap")[6]], ["shapdp", ""]);
    assert_eq!([&of("scikit-learn")[10], &of("scikit-learn")[11]], ["pdp", ""]);
    assert!(of("salib")[11].contains("sobol.first"), "{:?}", of("salib"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let committed = format!("{root}/results/papers/effector-table-1/capabilities.csv");
    let committed = csv::Reader::from_path(committed).unwrap();
    let committed: Vec<csv::StringRecord> = committed.into_records().map(Result::unwrap).collect();
    assert_eq!(committed, all);
    refused("engines --capabilities --try fe-core:pdp", &["--try"]);
}
