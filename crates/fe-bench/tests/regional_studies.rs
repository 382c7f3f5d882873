//! Studies of trees of regions: their metrics by hand, and what such a study cannot ask for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

const METRICS: &str = r#""leaf_mse", "region_regret", "split_feature", "split_error", "leaves""#;

/// A study of one block, with lines about the block and the estimators.
fn study(block: &str, estimators: &[&str]) -> String {
    let each = estimators.iter().map(|of| format!("[[block.estimator]]\n{of}\n"));
    format!("about = \"regions\"\n[[block]]\n{block}\n{}", each.collect::<String>())
}

fn run(folder: &Path, text: &str) -> Output {
    let path = folder.join("study.toml");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.arg("run").arg(path).arg("--out").arg(folder.join("out"));
    command.output().unwrap()
}

/// The rows of a file of results, by column.
fn rows(folder: &Path, name: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("out").join(name)).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} in {row:?}"))
}

/// f is 3 x1 or −3 x1 as x3, uniform on −1 to 1, is above 0 or not: all that a split at p leaves is known.
#[test]
fn metrics_are_those_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let block = format!(
        "scenario = \"effector-regional\"\nfeatures = [\"x1\"]\nN = 200\nreplicates = 5\ngrid = 11\n\
         metrics = [{METRICS}]\nkeep = [\"trees\"]"
    );
    let depth = "depth = 1";
    let names = ["pdp", "dpdp", "rhale", "shapdp"];
    let estimators = names.map(|name| format!("name = \"regional-{name}\"\n{depth}"));
    let estimators: Vec<&str> = estimators.iter().map(String::as_str).collect();
    let output = run(folder.path(), &study(&block, &estimators));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (nodes, points) = (rows(folder.path(), "trees.csv"), rows(folder.path(), "leaves.csv"));
    let cells = rows(folder.path(), "cells.csv");
    assert_eq!(cells.len(), 5 * 5 * names.len());
    let mut compared = 0;
    for cell in &cells {
        let same = |row: &&HashMap<String, String>| {
            ["estimator", "replicate"].iter().all(|key| row[*key] == cell[*key])
        };
        let right = nodes.iter().filter(same).find(|node| node["rule"] == "above").unwrap();
        assert_eq!(right["rule_feature"], "x3");
        let p = number(right, "position");
        // The share of the other slope on the side that has both, and the probability of that side.
        let (mixed, side) = (p.abs() / (1.0 + p.abs()), (1.0 + p.abs()) / 2.0);
        let variance_of_slope = 36.0 * mixed * (1.0 - mixed);
        // Of c-ICE: E x² is 1/3 over the axis; of the integral: 2 wide; of Shapley values: half the slope.
        let scale = match cell["estimator"].as_str() {
            "regional-pdp" => 1.0 / 3.0,
            "regional-dpdp" => 1.0,
            "regional-rhale" => 2.0,
            "regional-shapdp" => 1.0 / 12.0,
            other => panic!("{other}"),
        };
        let (value, expected) = match cell["metric"].as_str() {
            "leaves" => (number(cell, "value"), 2.0),
            "split_feature" => (number(cell, "value"), 1.0),
            "split_error" => (number(cell, "value"), p.abs() / 2.0),
            "region_regret" => (number(cell, "value"), side * variance_of_slope * scale),
            "leaf_mse" => {
                let of = |leaf: &str| {
                    let of_leaf = points.iter().filter(same).filter(|point| point["node"] == leaf);
                    let off = |point: &HashMap<String, String>| {
                        (number(point, "effect") - number(point, "truth")).powi(2)
                    };
                    let all: Vec<f64> = of_leaf.map(off).collect();
                    assert_eq!(all.len(), 11);
                    all.iter().sum::<f64>() / 11.0
                };
                let expected = (1.0 + p) / 2.0 * of("1") + (1.0 - p) / 2.0 * of("2");
                (number(cell, "value"), expected)
            }
            other => panic!("{other}"),
        };
        assert!((value - expected).abs() < 1e-9 * (1.0 + expected), "{value} {expected} {cell:?}");
        compared += 1;
    }
    assert_eq!(compared, cells.len());
    // The true curve on the mixed side has the mean slope there.
    let pdp = |row: &&HashMap<String, String>| row["estimator"] == "regional-pdp";
    let right = nodes.iter().filter(pdp).find(|node| node["rule"] == "above").unwrap();
    let p = number(right, "position");
    let slopes = if p > 0.0 {
        [3.0 * (p - 1.0) / (1.0 + p), 3.0]
    } else {
        [-3.0, 3.0 * (1.0 + p) / (1.0 - p)]
    };
    let first = points.iter().filter(pdp).filter(|point| point["replicate"] == right["replicate"]);
    for point in first {
        let slope = slopes[number(point, "node") as usize - 1];
        assert!((number(point, "truth") - slope * number(point, "x")).abs() < 1e-9, "{point:?}");
    }
}

#[test]
fn trees_that_are_kept_are_drawn_with_their_leaves_and_truths() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = \"effector-regional\"\nfeatures = [\"x1\"]\nN = 80\nreplicates = 2\n\
                 grid = 11\nmetrics = [\"leaves\"]\nkeep = [\"trees\"]";
    let estimators = ["name = \"regional-pdp\"", "name = \"regional-rhale\""];
    assert!(run(folder.path(), &study(block, &estimators)).status.success());
    let plot = |kind: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.current_dir(folder.path()).args(["plot", "out", "--kind", kind]).output().unwrap()
    };
    let output = plot("tree");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    assert_eq!(names.lines().count(), 2, "{names}");
    for name in names.lines() {
        let image = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let text = image.split_whitespace().collect::<Vec<_>>().join(" ");
        for label in ["all data: 80 instances, H = ", "(true ", "x3 ≤", "truth in the region"] {
            assert!(text.contains(label), "{name}: {label}");
        }
    }
    assert_eq!(plot("effect").status.code(), Some(2));
}

/// Splits of two features of a product of independent ones are mirror images for either.
#[test]
fn a_first_split_of_another_feature_is_no_position() {
    let folder = tempfile::tempdir().unwrap();
    let block = format!(
        "scenario = \"friedman1\"\nfeatures = [\"x4\"]\nN = 100\nreplicates = 2\nmetrics = [{METRICS}]"
    );
    let output = run(folder.path(), &study(&block, &["name = \"regional-pdp\""]));
    // x4 does not interact: nothing is split, there or here, and there is no position to be wrong.
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for cell in rows(folder.path(), "cells.csv") {
        match cell["metric"].as_str() {
            "split_error" => assert_eq!((&*cell["value"], &*cell["status"]), ("", "degenerate")),
            "split_feature" | "leaves" => assert_eq!(number(&cell, "value"), 1.0),
            _ => assert!(number(&cell, "value").abs() < 1e-20, "{cell:?}"),
        }
    }
}

/// The regret that 19 positions leave for x2 of `friedman1`, by d-PDP in two levels, as the documents say it.
#[test]
fn documents_say_why_a_regret_does_not_fall() {
    let scenario = fe_truth::scenario("friedman1", &[]).unwrap();
    let tree = |candidates| {
        let options = fe_truth::TreeOptions { candidates, ..fe_truth::TreeOptions::default() };
        scenario.tree(fe_truth::Regional::Dpdp, 1, options).unwrap()
    };
    let splits = |tree: &fe_truth::RegionalTree| -> Vec<f64> {
        tree.nodes.iter().filter_map(|node| Some(node.split.as_ref()?.position)).collect()
    };
    let (free, gridded) = (tree(None), tree(Some(19)));
    let regret = gridded.weighted().value - free.weighted().value;
    let said = [
        format!("It goes to {regret:.3},"),
        format!("it at {:.3} and {:.3}", splits(&free)[0], splits(&free)[1]),
        format!("split at {:.2} and {:.1},", splits(&gridded)[0], splits(&gridded)[1]),
    ];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in said {
        assert!(text.contains(&words), "{words}");
    }
}

#[test]
fn what_there_is_not_is_refused_before_the_run() {
    let block = |more: &str| {
        format!(
            "scenario = \"effector-regional\"\nfeatures = [\"x1\"]\nN = 50\nreplicates = 1\n{more}"
        )
    };
    let (regional, plain) = ("name = \"regional-pdp\"", "name = \"pdp\"");
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("", &[regional], &["no `mse` of regional-pdp", "leaf_mse", "region_regret", "leaves"]),
        ("metrics = [\"leaves\"]", &[plain], &["no `leaves` of pdp", "mse", "L_mu"]),
        ("metrics = [\"leaves\"]\nkeep = [\"curves\"]", &[regional], &["`keep`", "curves"]),
        ("keep = [\"trees\"]", &[plain], &["`keep`", "trees", "regional"]),
        (
            "metrics = [\"region_regret\"]",
            &["name = \"regional-pdp\"\ndepth = 4"],
            &["`depth` = 4", "1 to 3"],
        ),
        (
            "metrics = [\"split_error\"]",
            &["name = \"regional-ale\"\nheterogeneity = \"mean_bins\""],
            &["mean_bins", "integral"],
        ),
        ("metrics = [\"leaves\"]\npairs = [\"empirical:pd\"]", &[regional], &["pairs"]),
        ("metrics = [\"leaves\"]", &["name = \"regional-al\""], &["regional-ale"]),
    ];
    for (more, estimators, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &study(&block(more), estimators));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{more} {estimators:?}: {message}");
        for word in *words {
            assert!(message.contains(word), "{more} {estimators:?}: {message}");
        }
        assert!(!folder.path().join("out").exists());
    }
}

/// Slopes 1, 3, 1.2, 3.1 and 0.8 in five groups of the same probability, of which the second and fourth go together; f is larger
/// there as well.
#[test]
fn sets_of_levels_are_judged_by_the_law() {
    let folder = tempfile::tempdir().unwrap();
    let problem = "f = \"level(g, a: 1, b: 3, c: 1.2, d: 3.1, e: 0.8)*(x + 2)\"\n[law]\nx = \"uniform(-1, 1)\"\n\
                   g = \"categorical(a: 0.2, b: 0.2, c: 0.2, d: 0.2, e: 0.2)\"\nz = \"uniform(0, 1)\"\n";
    std::fs::write(folder.path().join("groups.toml"), problem).unwrap();
    let block = format!(
        "scenario = \"groups.toml\"\nfeatures = [\"x\"]\nN = 500\nreplicates = 3\ngrid = 11\n\
         metrics = [{METRICS}]\nkeep = [\"trees\"]"
    );
    let estimator = "name = \"regional-ale\"\ndepth = 1\nsubsets = [false, true]";
    let output = run(folder.path(), &study(&block, &[estimator]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let is_of_sets = |row: &&HashMap<String, String>| row["options"].contains("subsets=true");
    let values = |metric: &str, of_sets: bool| -> Vec<f64> {
        let cells = rows(folder.path(), "cells.csv");
        let cells = cells.iter().filter(|cell| is_of_sets(cell) == of_sets);
        cells.filter(|cell| cell["metric"] == metric).map(|cell| number(cell, "value")).collect()
    };
    // The population's best level is d: slopes of variance 0.77 are left at 0.8 of the law, times the width 2; of the sets
    // those of variance 0.0025 at 0.4 and of 0.08/3 at 0.6.
    let near = |metric: &str, expected: f64| {
        let values = values(metric, true);
        assert_eq!(values.len(), 3);
        assert!(values.iter().all(|x| (x - expected).abs() < 1e-8), "{metric}: {values:?}");
    };
    near("region_regret", 2.0 * (0.001 + 0.016) - 1.232);
    near("split_error", 0.2);
    near("split_feature", 1.0);
    near("leaves", 2.0);
    // A level alone, which may be b in place of d, is no better than the population's.
    assert!(values("region_regret", false).iter().all(|regret| (-1e-8..0.2).contains(regret)));
    let trees = rows(folder.path(), "trees.csv");
    for node in trees.iter().filter(is_of_sets).filter(|node| node["depth"] == "1") {
        let (rule, probability, truth) = match node["rule"].as_str() {
            "among" => ("among", 0.4, 0.005),
            _ => ("not-among", 0.6, 0.16 / 3.0),
        };
        assert_eq!((node["rule"].as_str(), node["position"].as_str()), (rule, "1 3"));
        assert!((number(node, "probability") - probability).abs() < 1e-9, "{node:?}");
        assert!((number(node, "true_heterogeneity") - truth).abs() < 1e-8, "{node:?}");
    }
    let program = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let drawn = program(&["plot", "out", "--out", "figures"]);
    let pictures: String = drawn
        .lines()
        .map(|path| std::fs::read_to_string(folder.path().join(path)).unwrap())
        .collect();
    assert!(pictures.contains("∈ {1, 3}") && pictures.contains("∉ {1, 3}"), "{drawn}");
    // The program's own trees have the words, and are scored.
    let asked =
        ["effect", "groups.toml", "--n", "500", "--estimator", "regional-ale", "--feature", "x"];
    let asked = [&asked[..], &["--depth", "1", "--subsets"]].concat();
    let text = program(&[&asked[..], &["--format", "table"]].concat());
    assert!(text.contains(" g in {b, d} ") && text.contains(" g not in {b, d} "), "{text}");
    let printed = program(&[&asked[..], &["--format", "json"]].concat());
    assert!(
        printed.contains("\"among\"") && printed.contains("\"level\": \"{b, d}\""),
        "{printed}"
    );
    std::fs::write(folder.path().join("tree.json"), printed).unwrap();
    let scored = program(&["score", "tree.json", "--scenario", "groups.toml", "--format", "csv"]);
    let regret = scored.lines().find(|line| line.contains("region_regret")).unwrap();
    assert!(regret.contains("-1.19"), "{scored}");
}
