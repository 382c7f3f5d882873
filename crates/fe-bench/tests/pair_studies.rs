//! Studies of pairs of features and of indices: their values by hand, and what such a study cannot ask for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use fe_bench::data::sample;
use fe_core::estimator::pair;
use fe_core::indices::{self, Index, IndexOptions};
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::settings::BandKind;
use fe_core::{Axis, AxisChoice, Centring, Settings};

/// A study of one block, with lines about the block and the estimators.
fn study(block: &str, estimators: &[&str]) -> String {
    let each = estimators.iter().map(|of| format!("[[block.estimator]]\n{of}\n"));
    format!("about = \"pairs\"\n[[block]]\n{block}\n{}", each.collect::<String>())
}

fn run(folder: &Path, text: &str) -> Output {
    let path = folder.join("study.toml");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.arg("run").arg(path).arg("--out").arg(folder.join("out"));
    command.output().unwrap()
}

type Row = HashMap<String, String>;

/// The rows of a file of results, by column.
fn rows(folder: &Path, name: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(folder.join("out").join(name)).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} in {row:?}"))
}

/// f of `poly3` is x1² + x1 x2 + ½ x3: what x1 and x2 do together is x1 x2, and of the partial dependence x1² as well.
#[test]
fn errors_of_surfaces_are_those_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = 'poly3'\nfeatures = ['x2:x1']\nN = 60\nreplicates = 3\ngrid = 6\n\
                 metrics = ['mse', 'max']";
    let estimators =
        ["name = 'ale'\nbins = 3", "name = 'pdp'", "name = 'pdp'\ninteraction = true\ngrid = 2"];
    let output = run(folder.path(), &study(block, &estimators));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    let grid = Axis::new(-1.0, 1.0).unwrap().grid(6);
    let of = |truth: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        let pairs = grid.iter().flat_map(|&x2| grid.iter().map(move |&x1| (x2, x1)));
        centred_on_grid(&pairs.map(|(x2, x1)| truth(x2, x1)).collect::<Vec<_>>())
    };
    let (product, dependence) = (of(&|x2, x1| x1 * x2), of(&|x2, x1| x1 * x1 + x1 * x2));
    let axis = Some(AxisChoice::Given(-1.0, 1.0));
    let ale = Settings { axis, bins: Some(3), ..Settings::default() };
    let pd = Settings { points: Some(grid.clone()), ..Settings::default() };
    let coarse = Settings { axis, grid: Some(2), interaction: Some(true), ..Settings::default() };
    let cells = rows(folder.path(), "cells.csv");
    assert_eq!(cells.len(), 3 * 3 * 2);
    for cell in &cells {
        assert_eq!([&*cell["feature"], &*cell["feature2"], &*cell["status"]], ["x2", "x1", "ok"]);
        let (settings, truth) = match (&*cell["estimator"], cell["options"].contains("interaction"))
        {
            ("ale", _) => (&ale, &product),
            (_, true) => (&coarse, &product),
            (_, false) => (&pd, &dependence),
        };
        let data = sample::features(&scenario, 0, 60, cell["replicate"].parse().unwrap()).unwrap();
        let built = pair::from_settings(&cell["estimator"], [settings; 2]).unwrap();
        let surface = &built.estimate(&data, scenario.model(), [1, 0]).unwrap()[0];
        let found = centred_on_grid(&surface.at_all([&grid, &grid]).unwrap());
        let distance = if cell["metric"] == "mse" { Distance::Mse } else { Distance::Max };
        let error = distance.between(&found, truth);
        let value = number(cell, "value");
        assert!(
            (value - error).abs() <= 1e-12 * (1.0 + error),
            "{value} is {error} by hand: {cell:?}"
        );
        assert_eq!(cell["compared"], "36");
        assert_eq!(number(cell, "model_rows") as u64, surface.record.model_rows);
    }
    // A partial dependence is compared where it is computed; the empty cells of the ALE are counted.
    let exact = |row: &&Row| row["estimator"] == "pdp" && !row["options"].contains("interaction");
    assert!(cells.iter().filter(exact).all(|row| number(row, "value") < 1e-13));
    let timings = rows(folder.path(), "timings.csv");
    let ale = timings.iter().find(|row| row["estimator"] == "ale").unwrap();
    assert_eq!((&*ale["bins"], &*ale["empty_bins"], &*ale["K"]), ("9", "nearest", "3"));
}

/// Of f = x1 x2 (1 + x3) + x1, centred as it is and on the grid of the comparison.
#[test]
fn scores_of_bands_are_those_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let problem = folder.path().join("product.toml");
    let laws = "x1 = 'uniform(0, 1)'\nx2 = 'uniform(0, 1)'\nx3 = 'uniform(0, 1)'";
    std::fs::write(&problem, format!("f = 'x1*x2*(1 + x3) + x1'\n[law]\n{laws}\n")).unwrap();
    let block = |compare: &str| {
        format!(
            "scenario = '{}'\nfeatures = ['x1:x2']\nN = 60\nreplicates = 20\ngrid = 4\ncompare = '{compare}'\n\
             metrics = ['coverage', 'width', 'simultaneous_coverage', 'simultaneous_width', 'max']",
            problem.display()
        )
    };
    let pd = "name = 'pdp'\ninteraction = true\ncenter = 'data'\nband = 'analytic'\nlevel = 0.5";
    let ale =
        "name = 'ale'\nbins = 2\ncenter = 'data'\nband = 'bootstrap'\nresamples = 60\nlevel = 0.5";
    let common = Settings {
        axis: Some(AxisChoice::Given(0.0, 1.0)),
        center: Some(Centring::Data),
        level: Some(0.5),
        ..Settings::default()
    };
    let grid = Axis::new(0.0, 1.0).unwrap().grid(4);
    let of_pd = Settings {
        interaction: Some(true),
        band: Some(BandKind::Analytic),
        points: Some(grid.clone()),
        ..common.clone()
    };
    let of_ale =
        Settings { bins: Some(2), band: Some(BandKind::Bootstrap), resamples: Some(60), ..common };
    let truth: Vec<f64> =
        grid.iter().flat_map(|x| grid.iter().map(move |y| 1.5 * (x - 0.5) * (y - 0.5))).collect();
    for compare in ["Err", "Err_c"] {
        let _ = std::fs::remove_dir_all(folder.path().join("out"));
        let output = run(folder.path(), &study(&block(compare), &[pd, ale]));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let cells = rows(folder.path(), "cells.csv");
        assert_eq!(cells.len(), 2 * 20 * 5);
        let path = problem.to_str().unwrap();
        let scenario = fe_bench::data::scenarios::find(path, &[]).unwrap();
        for cell in cells.iter().filter(|cell| cell["metric"] != "max") {
            let replicate = cell["replicate"].parse().unwrap();
            let data = sample::features(&scenario, 0, 60, replicate).unwrap();
            let settings = if cell["estimator"] == "pdp" { &of_pd } else { &of_ale };
            let built = pair::from_settings(&cell["estimator"], [settings; 2]).unwrap();
            let surface = &built.estimate(&data, scenario.model(), [0, 1]).unwrap()[0];
            let band = surface.confidence.as_ref().unwrap();
            let limits = match cell["metric"].starts_with("simultaneous") {
                true => band.simultaneous.as_ref().unwrap(),
                false => &band.pointwise,
            };
            let at = |values: &[f64]| surface.read_all(values, [&grid, &grid]).unwrap();
            let (lower, upper) = (at(&limits.lower), at(&limits.upper));
            let estimate = at(&surface.values);
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            // What the comparison takes from the estimate it takes from its limits.
            let moved = if compare == "Err" { 0.0 } else { mean(&estimate) - mean(&truth) };
            let inside = (0..truth.len()).map(|i| {
                let truth = truth[i] + moved;
                f64::from(u8::from(lower[i] <= truth && truth <= upper[i]))
            });
            let inside: Vec<f64> = inside.collect();
            let widths: Vec<f64> = lower.iter().zip(&upper).map(|(l, u)| u - l).collect();
            let expected = match &*cell["metric"] {
                "coverage" => mean(&inside),
                "simultaneous_coverage" => f64::from(u8::from(mean(&inside) == 1.0)),
                _ => mean(&widths),
            };
            let value = number(cell, "value");
            assert!((value - expected).abs() < 1e-9, "{value} is {expected} by hand: {cell:?}");
            assert_eq!(cell["compared"], "16");
        }
        let summary = rows(folder.path(), "summary.csv");
        let coverage = |row: &&Row| row["metric"] == "coverage";
        for row in summary.iter().filter(coverage) {
            assert!((0.2..0.8).contains(&number(row, "mean")), "{row:?}");
        }
    }
}

/// The interaction of features that only add is certain, which is no failure; an estimate without a band is one.
#[test]
fn bands_without_width_are_degenerate_and_none_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = 'poly3'\nfeatures = ['x1:x3']\nN = 60\nreplicates = 3\ngrid = 4\n\
                 metrics = ['coverage', 'simultaneous_width']";
    let estimators = [
        "name = 'pdp'\ninteraction = true\nband = 'analytic'",
        "name = 'ale'\nbins = 3\nband = 'bootstrap'\nresamples = 60",
        "name = 'ale'\nbins = 3",
    ];
    let output = run(folder.path(), &study(block, &estimators));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cells = rows(folder.path(), "cells.csv");
    assert_eq!(cells.len(), 3 * 3 * 2);
    for cell in cells {
        match cell["options"].contains("band") {
            true => assert_eq!(cell["status"], "degenerate", "{cell:?}"),
            false => assert!(cell["status"].contains("has no confidence band here"), "{cell:?}"),
        }
    }
}

#[test]
fn errors_of_indices_are_those_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = 'poly3'\nN = 80\nreplicates = 4\n\
                 metrics = ['index_error', 'index_squared_error', 'coverage', 'width']";
    let estimators = [
        "indices = ['h2.pair', 'h2.overall', 'additive.r2.pd']\nouter = 40",
        "indices = ['ale2.sd']\nbins = [4, 7]",
        "indices = ['shapley-effect']",
    ];
    let output = run(folder.path(), &study(block, &estimators));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    let cells = rows(folder.path(), "cells.csv");
    // Three pairs, three features and f itself; pairs on two numbers of bins; features.
    assert_eq!(cells.len(), 4 * 4 * ((3 + 3 + 1) + 3 * 2 + 3));
    for cell in &cells {
        let index: Index = cell["estimator"].parse().unwrap();
        let features = ["feature", "feature2"].map(|column| scenario.feature_named(&cell[column]));
        let features: Vec<usize> = features.into_iter().flatten().collect();
        assert_eq!(features.len(), index.order(), "{cell:?}");
        assert_eq!(cell["K"].is_empty(), index != Index::Ale2Sd);
        let takes_outer = ["h2.pair", "h2.overall", "additive.r2.pd"].contains(&index.name());
        assert_eq!(cell["options"], if takes_outer { "outer=40" } else { "" });
        let default = IndexOptions::default();
        let options = IndexOptions {
            outer: if takes_outer { 40 } else { default.outer },
            bins: cell["K"].parse().unwrap_or(default.bins),
            ..default
        };
        let data = sample::features(&scenario, 0, 80, cell["replicate"].parse().unwrap()).unwrap();
        let pair: Vec<[usize; 2]> = features.clone().try_into().into_iter().collect();
        let one = if pair.is_empty() { &features[..] } else { &[] };
        let found = indices::estimate(&data, scenario.model(), &[index], (one, &pair), &options);
        let measured = found.unwrap().estimates[0].estimate.clone().unwrap();
        let exact = index.name().parse().unwrap();
        let truth = scenario.indices().index(exact, &features).unwrap().value;
        let (lower, upper) = measured.interval().unwrap();
        let value = match &*cell["metric"] {
            "index_error" => measured.value - truth,
            "index_squared_error" => (measured.value - truth).powi(2),
            "coverage" => f64::from(u8::from((lower..=upper).contains(&truth))),
            _ => upper - lower,
        };
        if cell["status"] == "degenerate" {
            assert!(["coverage", "width"].contains(&&*cell["metric"]) && upper - lower < 1e-11);
            continue;
        }
        assert!((number(cell, "value") - value).abs() < 1e-12, "{value}: {cell:?}");
    }
    let degenerate = cells.iter().filter(|cell| cell["status"] == "degenerate").count();
    assert!(degenerate > 0, "x3 does not interact");
}

/// The interaction part of a partial dependence has another truth than the whole.
#[test]
fn the_whole_and_the_interaction_do_not_compete() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = 'poly3'\nfeatures = ['x1:x2']\nN = 50\nreplicates = 3\ngrid = 5";
    let estimators = ["name = 'pdp'\ngrid = 4\ninteraction = [true, false]"];
    let mut text = study(block, &estimators);
    text.push_str("[[table]]\nrows = ['estimator', 'options']\ncolumns = ['metric']\n");
    let output = run(folder.path(), &text);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("interaction=true") && !table.contains("Bold"), "{table}");
}

/// The truths of a group are those of all its numbers of rows, and shards and tables know the columns.
#[test]
fn tables_and_figures_of_pairs_name_both_features() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = 'poly3'\nfeatures = ['x1:x2', 'x2:x3']\nN = [50, 100, 200]\n\
                 replicates = 3\ngrid = 5";
    let mut text = study(block, &["name = 'ale'\nbins = 3", "name = 'pdp'\ninteraction = true"]);
    text.push_str(
        "[[table]]\nrows = ['feature', 'feature2', 'estimator']\ncolumns = ['N']\n\
         where = { metric = 'mse' }\n",
    );
    let output = run(folder.path(), &text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("| x1      | x2       | ale"), "{table}");
    let plot = Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .args(["plot"])
        .arg(folder.path().join("out"))
        .arg("--out")
        .arg(folder.path().join("figures"))
        .output()
        .unwrap();
    assert!(plot.status.success(), "{}", String::from_utf8_lossy(&plot.stderr));
    let figures = folder.path().join("figures");
    let names: Vec<String> = std::fs::read_dir(&figures)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let of_pair = names.iter().find(|name| name.contains("x1_x2")).expect("a figure of the pair");
    let figure = std::fs::read_to_string(figures.join(of_pair)).unwrap();
    assert!(figure.contains("x1:x2"), "the pair is named in {of_pair}");
}

#[test]
fn what_means_nothing_of_pairs_and_indices_is_refused() {
    let pairs = "scenario = 'poly3'\nfeatures = ['x1:x2']\nN = 50\nreplicates = 2";
    let indices = "scenario = 'poly3'\nN = 50\nreplicates = 2\nmetrics = ['index_error']";
    let h = "indices = ['h2.pair']";
    for (block, estimators, why) in [
        (
            format!("{pairs}\nmetrics = ['L_mu']"),
            &["name = 'ale'"][..],
            "no `L_mu` of pairs of features",
        ),
        (format!("{pairs}\nmetrics = ['bins']"), &["name = 'ale'"], "no `bins` of pairs"),
        (
            format!("{pairs}\nkeep = ['curves']"),
            &["name = 'ale'"],
            "`keep` = \"curves\": only of effects of one",
        ),
        (pairs.to_owned(), &["name = 'rhale'"], "`rhale` is of one feature"),
        (pairs.to_owned(), &["name = 'pdp'\nbins = 3"], "takes no option `bins`"),
        (
            pairs.to_owned(),
            &["name = 'ale'\npreset = 'alibi-0.9'"],
            "the preset `alibi-0.9` has nothing for pairs: the ALE of alibi 0.9 is of one feature",
        ),
        (
            pairs.to_owned(),
            &["name = 'ale'\nband = 'analytic'"],
            "the band analytic needs standard errors, and `ale` of a pair has none",
        ),
        (
            pairs.to_owned(),
            &["name = 'pdp'\nband = 'bins'"],
            "the band bins is of the bins of one feature",
        ),
        (pairs.to_owned(), &["name = 'pdp'\nband = 'analitic'"], "did you mean `analytic`?"),
        (pairs.replace("'x1:x2'", "'x1', 'x1:x2'"), &["name = 'ale'"], "names x1 beside x1:x2"),
        (pairs.replace("x1:x2", "x1:x9"), &["name = 'ale'"], "feature `x9` does not exist"),
        (pairs.replace("x1:x2", "x1:x1"), &["name = 'ale'"], "x1 is named twice"),
        (pairs.replace("x1:x2", "x1:x2', 'x2:x1"), &["name = 'ale'"], "x2:x1 is asked for twice"),
        (pairs.replace("x1:x2", "x1:x2:x3"), &["name = 'ale'"], "a set of 3 features"),
        (indices.to_owned(), &[h, "name = 'ale'"], "give each a block of its own"),
        (indices.replace("index_error", "mse"), &[h], "no `mse` of indices; of indices there are"),
        (format!("{indices}\ngrid = 5"), &[h], "`grid`: indices are single numbers"),
        (format!("{indices}\nkeep = ['bins']"), &[h], "`keep`: indices are single numbers"),
        (format!("{indices}\nfeatures = ['x1']"), &[h], "h2.pair is of a pair, such as x1:x2"),
        (
            format!("{indices}\npairs = ['empirical:pd']"),
            &[h],
            "compares an estimate with the truth of f alone",
        ),
        (indices.to_owned(), &["indices = ['permutation']"], "permutation has no truth"),
        (
            indices.to_owned(),
            &[h, h],
            "h2.pair for x1:x2 of poly3@1 with N = 50 is asked for twice",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &study(&block, estimators));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{block}: {message}");
        assert!(message.contains(why), "{block} {estimators:?}: {message}");
    }
}

/// What is refused of single ones is a failed value that says why.
#[test]
fn indices_without_a_truth_are_failed_values() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = 'liu-product'\nset = { rho = 0.5 }\nN = 200\nreplicates = 2\nmetrics = ['index_error']";
    let output = run(folder.path(), &study(block, &["indices = ['sobol.total', 'h2.pair']"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for cell in rows(folder.path(), "cells.csv") {
        let is_sobol = cell["estimator"] == "sobol.total";
        assert_eq!(cell["status"] != "ok", is_sobol, "{cell:?}");
        assert!(!is_sobol || cell["status"].contains("independent"), "{cell:?}");
    }
}

/// Intervals of indices on the command line: of any level, by Student's t of twenty groups of rows.
#[test]
fn intervals_of_indices_have_the_level_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let asked = |more: &[&str]| -> Vec<Row> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.args(["effect", "poly3", "--n", "400", "--indices", "h2.pair,additive.r2.pd"]);
        command.args(["--feature", "x1:x2", "--format", "csv"]).args(more);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        csv::Reader::from_reader(&output.stdout[..]).deserialize().map(Result::unwrap).collect()
    };
    let usual = asked(&[]);
    assert_eq!(usual.len(), 2);
    assert_eq!(asked(&["--band", "analytic"]), usual);
    let figure = folder.path().join("bars.svg");
    let wide = asked(&["--level", "0.999", "--plot", figure.to_str().unwrap()]);
    for (usual, wide) in usual.iter().zip(&wide) {
        let (value, error) = (number(usual, "value"), number(usual, "standard_error"));
        for (row, quantile) in [(usual, 2.093_024_054_4), (wide, 3.883_405_852_6)] {
            let half = quantile * error;
            assert!((number(row, "lower") - (value - half)).abs() < 1e-8 * error, "{row:?}");
            assert!((number(row, "upper") - (value + half)).abs() < 1e-8 * error, "{row:?}");
        }
    }
    assert!(std::fs::read_to_string(figure).unwrap().contains("99.9 % interval"));
}

/// An estimate without a truth beside it: why is said.
#[test]
fn indices_without_an_exact_value_say_why() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(["effect", "friedman1-copula", "--n", "60", "--indices", "shapley-effect"]);
    let output = command.args(["--feature", "x1", "--format", "csv"]).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("shapley-effect of x1 has no exact value"), "{said}");
    assert!(said.contains("features at once"), "{said}");
    let rows: Vec<Row> =
        csv::Reader::from_reader(&output.stdout[..]).deserialize().map(Result::unwrap).collect();
    assert!(rows[0]["truth"].is_empty() && !rows[0]["value"].is_empty(), "{rows:?}");
}
