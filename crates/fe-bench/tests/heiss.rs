//! The preset `heiss-2026` gives the errors that Heiß et al. (2026) publish for `snc`, up to the
//! Monte Carlo error of both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::process::Command;

/// Means over 50 datasets of the mean squared error on the grid, as published.
const PUBLISHED: &str = include_str!("fixtures/heiss-2026-snc.csv");
const PUBLISHED_REPLICATES: f64 = 50.0;

const ESTIMATORS: &str = r#"
scenario = "snc"
grid = { quantiles = 100, from = 1e-4, to = 0.9999, drop_ends = true }
metrics = ["mse"]
[[block.estimator]]
name = "pdp"
preset = "heiss-2026"
grid = 2
[[block.estimator]]
name = "ale"
preset = "heiss-2026"
limits = "grid"
"#;

/// More than this many standard errors apart is a failure. Were all 36 values from the same law as
/// ours and normal, some would be with a probability of 0.0025: the rate of false alarms of a seed.
const FAR: f64 = 4.0;

struct Mean {
    estimator: String,
    feature: String,
    rows: String,
    mean: f64,
    /// Standard deviation of one dataset's value.
    deviation: f64,
    count: f64,
}

/// The rows of the summary of a study, each by the names of its columns.
fn summary(study: &str) -> Vec<HashMap<String, String>> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(["run", "study.toml", "--out", "out"]).current_dir(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut reader = csv::Reader::from_path(folder.path().join("out/summary.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

/// Our means: more datasets where they are cheap.
fn ours() -> Vec<Mean> {
    let block = |sizes: &str, replicates: usize| {
        format!("[[block]]\nN = {sizes}\nreplicates = {replicates}\n{ESTIMATORS}")
    };
    let small = block("[10, 15, 25, 40, 104, 268]", 1000);
    let large = block("[1098, 4498, 11_513]", 60);
    let mean = |row: HashMap<String, String>| {
        let text = |name: &str| row[name].clone();
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        let count = number("n_ok");
        Mean {
            estimator: text("estimator"),
            feature: text("feature"),
            rows: text("N"),
            mean: number("mean"),
            deviation: number("se") * count.sqrt(),
            count,
        }
    };
    summary(&format!("about = \"a\"\n{small}{large}")).into_iter().map(mean).collect()
}

#[test]
fn errors_are_those_published() {
    let ours = ours();
    // Features that f does not read have no effect.
    let noise = ours.iter().filter(|mean| ["x3", "x4"].contains(&mean.feature.as_str()));
    assert!(noise.clone().count() > 0);
    noise.for_each(|mean| assert!(mean.mean < 1e-27, "{}", mean.mean));
    let mut published = csv::Reader::from_reader(PUBLISHED.as_bytes());
    let mut compared = 0;
    for record in published.records() {
        let record = record.unwrap();
        let same = |mean: &&Mean| {
            record[0] == *mean.estimator && record[1] == *mean.feature && record[2] == *mean.rows
        };
        let our = ours.iter().find(same).unwrap();
        let theirs: f64 = record[3].parse().unwrap();
        // Mean squared errors are skewed like squares of normal numbers; their cube roots are not
        // (Wilson and Hilferty 1931).
        let deviation = our.deviation / (3.0 * our.mean.cbrt().powi(2));
        let error = deviation * (1.0 / our.count + 1.0 / PUBLISHED_REPLICATES).sqrt();
        let z = (theirs.cbrt() - our.mean.cbrt()) / error;
        assert!(z.abs() < FAR, "{record:?}: here {}, z = {z:.2}", our.mean);
        compared += 1;
    }
    assert_eq!(compared, 36);
}

/// Variance and squared bias of the effects of the linear model, means over the grid, as published for
/// N = 1250.
const PUBLISHED_LINEAR: &str = include_str!("fixtures/heiss-2026-linear.csv");

const LINEAR: &str = r#"
about = "a"
[[block]]
scenario = ["snc", "friedman1"]
N = 1250
snr = 5
replicates = 30
grid = { quantiles = 100, from = 1e-4, to = 0.9999, drop_ends = true }
metrics = ["mse"]
split = ["train", "validation", "cv"]
keep = ["decomposition"]
[[block.model]]
name = "linear"
[[block.estimator]]
name = "pdp"
preset = "heiss-2026"
grid = 2
[[block.estimator]]
name = "ale"
preset = "heiss-2026"
limits = "grid"
empty = ["zero", "interpolate"]
"#;

/// The published variances come out again, and so does the bias of x4 of Friedman's function on held-out
/// rows; it is gone once empty bins are interpolated.
#[test]
fn the_linear_model_is_as_published() {
    let rows = summary(LINEAR);
    let ours = |metric: &str, empty_bins: &str, of: [&str; 4]| {
        let [scenario, estimator, split, feature] = of;
        let wanted = [
            ("scenario", scenario),
            ("estimator", estimator),
            ("split", split),
            ("feature", feature),
            ("metric", metric),
            ("empty_bins", if estimator == "ale" { empty_bins } else { "" }),
        ];
        let row = rows.iter().find(|row| wanted.iter().all(|(key, value)| row[*key] == **value));
        let number = |name: &str| row.unwrap()[name].parse::<f64>().unwrap();
        (number("mean"), number("se"))
    };
    let mut published = csv::Reader::from_reader(PUBLISHED_LINEAR.as_bytes());
    let mut compared = 0;
    for record in published.records() {
        let record = record.unwrap();
        let of = [&record[0], &record[1], &record[2], &record[3]];
        let (variance, error) = ours("variance", "zero", of);
        let theirs: f64 = record[4].parse().unwrap();
        // As above; both have 30 datasets and about the same standard error.
        let error = error / (3.0 * variance.cbrt().powi(2)) * 2_f64.sqrt();
        let z = (theirs.cbrt() - variance.cbrt()) / error;
        assert!(z.abs() < FAR, "{record:?}: here {variance}, z = {z:.2}");
        if of == ["friedman1@1", "ale", "validation", "x4"]
            || of == ["friedman1@1", "ale", "cv", "x4"]
        {
            let theirs: f64 = record[5].parse().unwrap();
            let (own, error) = ours("bias2", "zero", of);
            assert!((own - theirs).abs() < FAR * 2_f64.sqrt() * error, "{own}, {theirs}");
            assert!(own > FAR * error, "{own} ± {error}");
            let (interpolated, error) = ours("debiased_bias2", "interpolate", of);
            assert!(interpolated < FAR * error, "{interpolated} ± {error}");
        }
        compared += 1;
    }
    assert_eq!(compared, 66);
}
