//! Figures and pages as a user gets them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const STUDY: &str = r#"
about = "Errors against <K> and N."

[[block]]
scenario = "piecewise-linear"
features = ["x1"]
N = [100, 200, 400]
replicates = 3
metrics = ["L_mu", "mse", "bins"]

[[block.estimator]]
name = "dale"
bins = [5, 10, 20]

[[block.estimator]]
name = "rhale"
bins = 20

[[block.estimator]]
name = "pdp"

[[table]]
title = "Mean squared error"
rows = ["estimator", "K"]
columns = ["N"]
where = { metric = "mse" }
"#;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn answer(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    String::from_utf8(output.stderr).unwrap()
}

/// A folder in which a study was run, with results in `results`.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    answer(folder.path(), &["run", "study.toml", "--out", "results"]);
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_was_swept_over_is_drawn() {
    let folder = results();
    let before = files(&folder.path().join("results"));
    let printed = answer(folder.path(), &["plot", "results"]);
    let names: Vec<&str> = printed.lines().collect();
    let expected = [
        "study_error-by-K_piecewise-linear_x1_L_mu.svg",
        "study_error-by-K_piecewise-linear_x1_mse.svg",
        "study_error-by-N_piecewise-linear_x1_L_mu.svg",
        "study_error-by-N_piecewise-linear_x1_mse.svg",
    ];
    let expected = expected.map(|name| format!("results-figures/{name}"));
    assert_eq!(names, expected);
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let by_bins = text(names[1]);
    for label in [
        "number of bins K",
        "mean squared error in f² (mean ± s.e.)",
        "DALE",
        "RHALE",
        "N\u{a0}=\u{a0}200",
    ] {
        assert!(by_bins.contains(label), "{label}");
    }
    let by_rows = text(names[3]);
    for label in ["number of instances N", "PDP: order\u{a0}−", "K\u{a0}=\u{a0}20: order\u{a0}−"]
    {
        assert!(by_rows.contains(label), "{label}");
    }
    assert!(!by_rows.contains("NaN") && !by_rows.contains("inf"));
    // The same results give the same bytes, and stay as they were.
    answer(folder.path(), &["plot", "results", "--out", "again", "--kind", "error-by-K"]);
    let again = files(&folder.path().join("again"));
    assert_eq!(again.len(), 2);
    assert_eq!(std::fs::read_to_string(&again[1]).unwrap(), by_bins);
    assert_eq!(files(&folder.path().join("results")), before);
}

#[test]
fn automatic_bins_are_a_level_that_leaves_the_axis_alone() {
    let folder = tempfile::tempdir().unwrap();
    let automatic = "name = \"rhale\"\nbinning = \"penalized\"";
    let study = STUDY.replace("name = \"pdp\"", automatic);
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    answer(folder.path(), &["run", "study.toml", "--out", "results"]);
    answer(folder.path(), &["plot", "results", "--kind", "error-by-K"]);
    let figure = "results-figures/study_error-by-K_piecewise-linear_x1_mse.svg";
    let text = std::fs::read_to_string(folder.path().join(figure)).unwrap();
    let labels: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(labels.contains(&"RHALE, penalized bins") && labels.contains(&"20"));
    // `penalized` may have 20 000 bins, which is not a place.
    for beyond in ["100", "1000", "10⁴"] {
        assert!(!labels.contains(&beyond), "{beyond}");
    }
}

#[test]
fn figures_of_results_that_have_none_are_refused() {
    let folder = results();
    let path = folder.path();
    assert!(refusal(path, &["plot", "nowhere"]).contains("nowhere/manifest.json"));
    assert!(refusal(path, &["plot", "results", "--kind", "pie"]).contains("error-by-K"));
    assert!(refusal(path, &["plot", "results", "--where", "Q=1"]).contains("unknown key"));
    let none = refusal(path, &["plot", "results", "--where", "estimator=nobody"]);
    assert!(none.contains("no value has `estimator` = [\"nobody\"]"), "{none}");
    assert!(none.contains("there are `dale`, `rhale`, `pdp`"), "{none}");
    let few = refusal(path, &["plot", "results", "--where", "N=100", "--kind", "error-by-N"]);
    assert!(few.contains("three values or more"), "{few}");
    assert!(refusal(path, &["report", "nowhere"]).contains("nowhere/manifest.json"));
    let figure = refusal(path, &["report", "results", "--out", "page.svg"]);
    assert!(figure.contains("`page.svg` must end in .html"), "{figure}");
}

/// What is kept of results for long are their means.
#[test]
fn means_alone_are_tabled_drawn_and_reported() {
    let folder = results();
    let path = folder.path();
    let (tabled, drawn) =
        (answer(path, &["table", "results"]), answer(path, &["plot", "results", "--out", "whole"]));
    std::fs::remove_file(path.join("results/cells.csv")).unwrap();
    let unmarked = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with('|') && !line.contains("---"));
        let words =
            |row: &str| row.replace('*', "").split_whitespace().collect::<Vec<_>>().join(" ");
        rows.map(words).collect()
    };
    let alone = answer(path, &["table", "results"]);
    assert_eq!(unmarked(&alone), unmarked(&tabled));
    let note =
        "Not known from means alone, without the value of each dataset: which errors are not told";
    assert!(alone.contains(note) && !tabled.contains(note), "{alone}");
    assert!(tabled.contains("Italic: ") && !alone.contains("Italic: "), "{tabled}");
    answer(path, &["plot", "results", "--out", "alone"]);
    for name in drawn.lines() {
        let bytes = |folder: &str| std::fs::read(path.join(name.replace("whole", folder))).unwrap();
        assert!(bytes("whole") == bytes("alone"), "{name}");
    }
    let page = answer(path, &["report", "results"]);
    let page = std::fs::read_to_string(path.join(page.trim())).unwrap();
    assert!(page.contains("Made of summary.csv alone") && page.contains(note));
    // What is compared dataset by dataset.
    let of_datasets: [&[&str]; 3] = [
        &["table", "results", "--against", "estimator=dale"],
        &["league", "results"],
        &["compare", "results", "results"],
    ];
    for arguments in of_datasets {
        let message = refusal(path, arguments);
        assert!(message.contains("needs the value of each dataset, and cells.csv"), "{message}");
        assert!(message.contains("run study again"), "{message}");
    }
    std::fs::write(path.join("results/summary.csv"), "study,mean\n").unwrap();
    assert!(refusal(path, &["table", "results"]).contains("not those of a summary"));
}

/// Figures of committed means are those that this program draws; `UPDATE_DOCS=1` draws them again.
#[test]
fn committed_figures_of_means_are_drawn_by_this_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let scratch = tempfile::tempdir().unwrap();
    let is_of_means = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".svg") && (name.contains("_error-by-") || name.contains("_coverage_"))
    };
    let folders = ["", "papers", "timings"].iter().flat_map(|within| files(&root.join(within)));
    let mut compared = 0;
    for folder in folders.filter(|folder| folder.join("summary.csv").exists()) {
        let committed: Vec<PathBuf> =
            files(&folder).into_iter().filter(|path| is_of_means(path)).collect();
        if committed.is_empty() {
            continue;
        }
        let out = scratch.path().join(folder.file_name().unwrap());
        let (folder_text, out_text) = (folder.to_str().unwrap(), out.to_str().unwrap());
        let mut arguments = vec!["--quiet", "plot", folder_text, "--out", out_text];
        // Those of fewer refits are in tables.
        if folder_text.contains("bands-refit") {
            arguments.extend(["--where", "refits=20"]);
        }
        let timings = folder.join("timings.csv");
        if timings.exists() {
            arguments.extend(["--timings", timings.to_str().unwrap()]);
        }
        answer(&root, &arguments);
        for path in committed {
            let drawn = std::fs::read(out.join(path.file_name().unwrap()));
            let drawn =
                drawn.unwrap_or_else(|_| panic!("{} is not drawn any more", path.display()));
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::write(&path, &drawn).unwrap();
            }
            assert!(drawn == std::fs::read(&path).unwrap(), "{} is another one", path.display());
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn effects_are_drawn_beside_their_truth() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |estimator: &str, file: &str| {
        let data = ["--n", "60", "--seed", "3", "--feature", "x1", "--plot", file];
        let mut arguments = vec!["effect", "effector-regional", "--estimator", estimator];
        arguments.extend(data);
        answer(folder.path(), &arguments);
        std::fs::read(folder.path().join(file)).unwrap()
    };
    let expected = [
        ("rhale", vec!["truth", "true mean local effect", "local effects", "deciles"]),
        (
            "ale",
            vec!["truth", "true bin effects", "limits of bins", "distribution of local effects"],
        ),
        ("ice", vec!["truth", "c-ICE curves", "ICE (estimate)"]),
        ("pdp", vec!["truth", "c-ICE curves", "effect on f, mean 0 over the axis"]),
        ("dpdp", vec!["truth", "d-ICE curves", "derivative of f by x1"]),
        ("shapdp", vec!["truth", "Shapley values"]),
        (
            "regional-rhale",
            vec![
                "x3 ≤",
                "x3 &gt;",
                "instances)",
                "x1: all data (60 instances,",
                "all data: 60 instances, H = ",
                "(integral of the variance)",
                "truth",
                "true mean local effect",
            ],
        ),
        ("regional-pdp", vec!["c-ICE curves", "truth", "σ (estimate)", "true σ"]),
        ("regional-shapdp", vec!["Shapley values", "truth", "true σ"]),
    ];
    for (estimator, labels) in expected {
        let file = format!("{estimator}.svg");
        let image = draw(estimator, &file);
        let text = String::from_utf8(image.clone()).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for label in labels {
            assert!(text.contains(label), "{estimator}: {label}");
        }
        assert_eq!(image, draw(estimator, &file), "{estimator}");
    }
    let image = draw("rhale", "rhale.png");
    assert!(image.starts_with(b"\x89PNG") && image == draw("rhale", "again.png"));
    let wrong = [
        "effect",
        "friedman1",
        "--n",
        "50",
        "--seed",
        "1",
        "--estimator",
        "pdp",
        "--plot",
        "a.gif",
    ];
    assert!(refusal(folder.path(), &wrong).contains("NAME.svg, NAME.png, NAME.pdf or NAME.eps"));
}

/// The number behind some words.
#[test]
fn figures_of_some_of_the_rows_say_how_many() {
    let folder = tempfile::tempdir().unwrap();
    let title = |more: &[&str]| {
        let own = ["effect", "friedman1", "--n", "200", "--feature", "x1", "--plot", "f.svg"];
        answer(folder.path(), &[&own, more].concat());
        let svg = std::fs::read_to_string(folder.path().join("f.svg")).unwrap();
        words(&svg).into_iter().find(|text| text.contains("N = ")).unwrap()
    };
    let some = ["--subsample", "50"];
    for estimators in ["pdp", "regional-pdp", "ale,pdp"] {
        let own = ["--estimator", estimators];
        let of_all = title(&own);
        assert!(of_all.contains("N = 200") && !of_all.contains(" of 200"), "{of_all}");
        let of_some = title(&[own, some].concat());
        assert!(of_some.contains("N = 50 of 200"), "{of_some}");
    }
}

fn number_behind(text: &str, words: &str) -> f64 {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("no {words}")).1;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().unwrap()
}

#[test]
fn figures_have_the_form_that_is_asked_for() {
    let folder = results();
    let path = folder.path();
    let one = ["plot", "results", "--kind", "error-by-K", "--where", "metric=mse"];
    let form = ["--width", "3.3in", "--no-title", "--font", "Liberation Sans"];
    let drawn = answer(path, &[&one[..], &form].concat());
    let svg = std::fs::read_to_string(path.join(drawn.trim())).unwrap();
    assert!((number_behind(&svg, "<svg width=\"") - 316.8).abs() < 1.0, "{}", &svg[..200]);
    assert!(svg.contains("font-family=\"Liberation Sans, sans-serif\""));
    // For those who cannot see it, and nowhere else.
    assert_eq!(svg.matches("against number of bins").count(), 1);
    let kinds =
        ["--svg", "--png", "--pdf", "--eps", "--width", "3.3in", "--height", "9in", "--dpi", "300"];
    let drawn = answer(path, &[&one[..], &kinds].concat());
    let names: Vec<&str> = drawn.lines().collect();
    let endings: Vec<&str> = names.iter().map(|name| name.rsplit('.').next().unwrap()).collect();
    assert_eq!(endings, ["svg", "png", "pdf", "eps"]);
    let bytes = |i: usize| std::fs::read(path.join(names[i])).unwrap();
    let png = bytes(1);
    assert!(png.starts_with(b"\x89PNG") && &png[37..41] == b"pHYs");
    assert_eq!(u32::from_be_bytes(png[41..45].try_into().unwrap()), 11811);
    let pixels = u32::from_be_bytes(png[16..20].try_into().unwrap());
    assert!((985..=992).contains(&pixels), "{pixels} pixels are no 3.3 inches of 300");
    let pdf = String::from_utf8_lossy(&bytes(2)).into_owned();
    assert!(pdf.starts_with("%PDF-1.5"));
    assert!((number_behind(&pdf, "/MediaBox [0 0 ") - 237.6).abs() < 0.8);
    let eps = String::from_utf8(bytes(3)).unwrap();
    assert!(
        eps.starts_with("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 238 6"),
        "{}",
        &eps[..120]
    );
    assert!(eps.len() < 150_000, "{} bytes", eps.len());
    let refused = [
        (vec!["--width", "3.3"], "must be a length such as 3.3in"),
        (vec!["--height", "1in"], "--height: "),
        (vec!["--font", "Arial", "--pdf"], "FONT.ttf"),
        (vec!["--font", "absent.ttf"], "absent.ttf"),
        (vec!["--dpi", "0"], "from 36 to 2400"),
    ];
    for (options, words) in refused {
        let message = refusal(path, &[&one[..], &options].concat());
        assert!(message.contains(words), "{options:?}: {message}");
    }
    let unused = ["effect", "friedman1", "--n", "50", "--estimator", "ale", "--width", "3in"];
    assert!(refusal(path, &unused).contains("--width: only with --plot"));
}

#[test]
fn several_estimators_share_a_panel_with_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let effect = |estimators: &str, feature: &str| {
        let data = [
            "--n",
            "100",
            "--feature",
            feature,
            "--bins",
            "5",
            "--plot",
            "a.svg",
            "--format",
            "csv",
        ];
        answer(path, &[&["effect", "friedman1", "--estimator", estimators][..], &data].concat())
    };
    let table = effect("ale,dale,pdp", "x1");
    let header = table.lines().next().unwrap();
    assert_eq!(header, "feature,output,estimator,x,effect,truth,difference,heterogeneity");
    for line in table.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').skip(3).map(|word| word.parse().unwrap()).collect();
        assert_eq!(numbers[1] - numbers[2], numbers[3], "{line}");
    }
    let svg = std::fs::read_to_string(path.join("a.svg")).unwrap();
    for label in ["ALE", "DALE", "PDP", "truth", "error of ALE", "error of DALE", "error of PDP"] {
        assert!(svg.contains(&format!(">\n{label}\n<")), "{label}");
    }
    // f is linear in x4: all of them are the truth, and named once.
    effect("ale,dale,pdp", "x4");
    let svg = std::fs::read_to_string(path.join("a.svg")).unwrap();
    assert!(svg.contains(">\nALE = DALE = PDP\n<") && svg.contains(">\nerror of all: exact\n<"));
    // Without any effect, too, where nothing but rounding is left.
    effect("ale,dale,pdp", "x6");
    let svg = std::fs::read_to_string(path.join("a.svg")).unwrap();
    assert!(svg.contains(">\nALE = DALE = PDP\n<") && svg.contains(">\nerror of all: exact\n<"));
    let refused = [
        ("ale,ale", "named twice"),
        ("ale,dpdp", "figures of their own"),
        ("ale,regional-pdp", "regional"),
        ("ale,al", "did you mean"),
    ];
    for (estimators, words) in refused {
        let arguments =
            ["effect", "friedman1", "--n", "50", "--estimator", estimators, "--plot", "b.svg"];
        let message = refusal(path, &arguments);
        assert!(message.contains(words), "{estimators}: {message}");
    }
}

/// Coverage over N, of more lines than are told apart.
const COVERING: &str = r#"
about = "Coverage."

[[block]]
scenario = "snc"
features = ["x1"]
N = [50, 100, 200]
replicates = 3
metrics = ["coverage"]

[[block.estimator]]
name = "ale"
bins = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
band = "bins"
level = 0.9
"#;

#[test]
fn coverage_has_its_nominal_level_and_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("covering.toml"), COVERING).unwrap();
    answer(path, &["run", "covering.toml", "--out", "results"]);
    let by_rows = ["plot", "results", "--kind", "error-by-N"];
    let many = refusal(path, &by_rows);
    assert!(many.contains("13 lines in a panel, of which at most 12"), "{many}");
    let few = answer(path, &[&by_rows[..], &["--where", "K=5", "--where", "K=10"]].concat());
    let svg = std::fs::read_to_string(path.join(few.trim())).unwrap();
    assert!(svg.contains("nominal level 0.9") && !svg.contains("order"));
}

/// Bands of which nothing is swept over.
const HELD: &str = r#"
about = "What bands hold."

[[block]]
scenario = "friedman1"
features = ["x1", "x4"]
N = [40, 80]
replicates = 3
grid = 5
metrics = ["coverage"]

[[block.estimator]]
name = ["ale", "rhale"]
bins = 4
band = "analytic"
"#;

#[test]
fn coverage_of_what_is_not_swept_over_is_drawn_by_learner_or_feature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("held.toml"), HELD).unwrap();
    answer(path, &["run", "held.toml", "--out", "held"]);
    let drawn = answer(path, &["plot", "held"]);
    let svg = words(&std::fs::read_to_string(path.join(drawn.trim())).unwrap()).join("|");
    for name in ["coverage of the effect of f", "nominal level 0.95", "|ALE|", "|RHALE", "N = 80"] {
        assert!(svg.contains(name), "{name}: {svg}");
    }
    assert!(svg.contains("|feature|") && svg.contains("|x4|"), "{svg}");
    // f is a straight line in x4: its bands have no width.
    assert!(svg.contains("no value of x4: nothing is uncertain there"), "{svg}");
    let fitted = HELD
        .replace("[[block.estimator]]", "compare = \"Err\"\npairs = [\"model:theoretical\", \"model:model-expected\"]\nexpected = 3\n[[block.model]]\nname = [\"linear\", \"gam\"]\n[[block.estimator]]")
        .replace("[\"ale\", \"rhale\"]", "\"ale\"")
        .replace("\"analytic\"", "\"refit\"\nrefits = 5\ncenter = \"integral\"");
    std::fs::write(path.join("fitted.toml"), fitted).unwrap();
    answer(path, &["run", "fitted.toml", "--out", "fitted"]);
    let drawn = answer(path, &["plot", "fitted", "--where", "N=80"]);
    let svg = words(&std::fs::read_to_string(path.join(drawn.trim())).unwrap()).join("|");
    for name in ["|learner|", "|linear model|", "|GAM|", "expected effect of the learner"] {
        assert!(svg.contains(name), "{name}: {svg}");
    }
    let flat = HELD.replace("\"x1\", ", "");
    std::fs::write(path.join("flat.toml"), flat).unwrap();
    answer(path, &["run", "flat.toml", "--out", "flat"]);
    let unknown = refusal(path, &["plot", "flat"]);
    assert!(unknown.contains("no coverage is known"), "{unknown}");
    // What is swept over has its own figures.
    let swept = HELD.replace("[40, 80]", "[40, 80, 160]");
    std::fs::write(path.join("swept.toml"), swept).unwrap();
    answer(path, &["run", "swept.toml", "--out", "swept"]);
    assert!(!answer(path, &["plot", "swept"]).contains("_coverage_friedman1"));
    let asked = answer(path, &["plot", "swept", "--kind", "coverage"]);
    assert!(asked.contains("swept_coverage_friedman1_coverage.svg"), "{asked}");
}

/// Lines that are the same (ALE and DALE where f is quadratic; grids of 40 and of 41 points), that are exact, and that have no value (coverage without a band).
const COINCIDING: &str = r#"
about = "Lines that coincide."

[labels]
mplot = "marginal plot"

[[block]]
scenario = ["friedman1", "snc"]
features = ["x1", "x4"]
N = [10, 30, 100]
replicates = 4
metrics = ["mse", "coverage"]

[[block.estimator]]
name = ["ale", "dale"]
bins = [2, 10]
band = "analytic"

[[block.estimator]]
name = "pdp"
grid = [40, 41]

[[block.estimator]]
name = "mplot"
"#;

/// The words of a figure, line by line.
fn words(svg: &str) -> Vec<String> {
    svg.lines().map(|line| line.replace('\u{a0}', " ")).collect()
}

#[test]
fn lines_that_coincide_are_drawn_and_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("alike.toml"), COINCIDING).unwrap();
    answer(path, &["run", "alike.toml", "--out", "alike"]);
    let draw = |conditions: &[&str]| -> Vec<String> {
        let mut arguments = vec!["plot", "alike", "--kind", "error-by-N"];
        for condition in conditions {
            arguments.extend(["--where", condition]);
        }
        let drawn = answer(path, &arguments);
        words(&std::fs::read_to_string(path.join(drawn.trim())).unwrap())
    };
    let named =
        |words: &[String], name: &str| words.iter().filter(|line| line.starts_with(name)).count();
    // The same to the last digits: in one entry, with the details that they share behind.
    let same = draw(&["metric=mse", "scenario=snc", "feature=x1"]);
    assert_eq!(named(&same, "ALE = DALE, K = 2"), 1, "{same:?}");
    assert_eq!(named(&same, "ALE = DALE, K = 10"), 1, "{same:?}");
    assert_eq!(named(&same, "ALE, ") + named(&same, "DALE"), 0, "{same:?}");
    // The curve does not depend on the grid where it is asked at the points of the study; with two bins ALE is another one.
    let close = draw(&["metric=mse", "scenario=friedman1", "feature=x1"]);
    assert_eq!(named(&close, "PDP (grid = 40) = PDP (grid = 41): order −"), 1, "{close:?}");
    assert_eq!(named(&close, "ALE, K = 2") + named(&close, "DALE, K = 2"), 2, "{close:?}");
    assert_eq!(named(&close, "marginal plot"), 1);
    // f is linear in x4: all but the M-plot are the truth.
    let exact = draw(&["metric=mse", "scenario=friedman1", "feature=x4"]).join(" ");
    for name in ["ALE (K = 2) = DALE (K = 2) = ALE (K = 10)", "= PDP (grid = 40) =", ": exact"] {
        assert!(exact.contains(name), "{name}: {exact}");
    }
    let none = draw(&["metric=coverage", "scenario=friedman1", "feature=x1"]);
    assert_eq!(
        named(&none, "no value: PDP, grid = 40; PDP, grid = 41; marginal plot"),
        1,
        "{none:?}"
    );
}

/// Truths in a region look like those of the whole law.
#[test]
fn truths_in_a_region_say_which_in_their_title() {
    let folder = tempfile::tempdir().unwrap();
    let title = |command: &[&str], conditions: &[&str]| {
        answer(
            folder.path(),
            &[&["truth"], command, &["--plot", "truths.svg"], conditions].concat(),
        );
        let svg = std::fs::read_to_string(folder.path().join("truths.svg")).unwrap();
        let is_title =
            |line: &String| !line.starts_with('<') && line.to_lowercase().contains("truths ");
        words(&svg).into_iter().find(is_title).unwrap()
    };
    let effects = ["effector-regional", "--feature", "x1"];
    let distance = ["liu-quadratic", "--distance", "pd,ale", "--over", "rho=0,0.5"];
    for (command, event) in [(&effects[..], "x3 > 0"), (&distance[..], "x2 > 0")] {
        let in_region = title(command, &["--where", event]);
        let told = event.replace('>', "&gt;");
        assert_eq!(in_region, format!("{} where {told}", title(command, &[])));
    }
}

/// A study that keeps what was estimated, with a curve without bins among the others.
const KEEPING: &str = r#"
about = "Kept curves."

[[block]]
scenario = "piecewise-linear"
features = ["x1"]
N = 60
replicates = 4
metrics = ["mse"]
keep = ["curves", "bins"]

[[block.estimator]]
name = "dale"
bins = [4, 8]

[[block.estimator]]
name = "mplot"

[[block.estimator]]
name = "pdp"
"#;

#[test]
fn what_was_kept_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("keeping.toml"), KEEPING).unwrap();
    answer(path, &["run", "keeping.toml", "--out", "kept"]);
    assert_eq!(
        answer(path, &["plot", "kept"]),
        "kept-figures/keeping_effect_piecewise-linear_x1.svg\n"
    );
    let draw = |options: &[&str]| {
        answer(path, &[&["plot", "kept", "--kind", "effect", "--out", "again"], options].concat());
        std::fs::read_to_string(path.join("again/keeping_effect_piecewise-linear_x1.svg")).unwrap()
    };
    let all = draw(&[]);
    let same = "kept-figures/keeping_effect_piecewise-linear_x1.svg";
    assert_eq!(std::fs::read_to_string(path.join(same)).unwrap(), all);
    for label in [
        "dataset 0",
        "estimates of other datasets",
        "± STD (RHALE eq. 16)",
        "± σ of the instances",
        "limits of bins",
        "true bin effects ± σ",
        "bin effect (slope)",
        "K\u{a0}=\u{a0}8",
        "M-plot",
    ] {
        assert!(all.contains(label), "{label}");
    }
    // Levels of an M-plot are no slopes: there are bins below two of the four curves.
    assert_eq!(all.matches(">\nbin effect (slope)").count(), 2);
    let one = draw(&["--where", "replicate=2", "--where", "estimator=pdp"]);
    assert!(one.contains("dataset 2") && !one.contains("other datasets"));
    assert!(!one.contains("bin effect"), "pdp has no bins");
    // The page shows them, too.
    answer(path, &["report", "kept"]);
    let page = std::fs::read_to_string(path.join("kept.html")).unwrap();
    assert!(page.contains("estimates of other datasets"));
    // Builds before the confidence limits wrote four columns less.
    let curves = path.join("kept/curves.csv");
    let text = std::fs::read_to_string(&curves).unwrap();
    let without = |line: &str| line.rsplitn(5, ',').last().unwrap().to_owned() + "\n";
    std::fs::write(&curves, text.lines().map(without).collect::<String>()).unwrap();
    assert_eq!(draw(&[]), all);
    // A file that is not what `run` wrote is refused, and says where.
    std::fs::write(path.join("kept/bins.csv"), "a,b\n1,2\n").unwrap();
    assert!(refusal(path, &["plot", "kept"]).contains("kept/bins.csv: the columns are not"));
}

/// A study of a feature with levels and of one without, with bands.
const LEVELS: &str = r#"
about = "Kept curves at levels."

[[block]]
scenario = "SEASONS.toml"
features = ["season", "x"]
N = 120
replicates = 3
metrics = ["mse"]
keep = ["curves", "bins"]

[[block.estimator]]
name = "ale"
band = "analytic"

[[block.estimator]]
name = "pdp"
"#;

const SEASONS: &str = r#"
f = "level(season, winter: -1, summer: 2, autumn: 0.5) + x*x*level(season, winter: 0, summer: 1, autumn: 1)"
[law]
season = "categorical(winter: 0.3, summer: 0.5, autumn: 0.2)"
x = "uniform(0, 1)"
"#;

#[test]
fn kept_curves_at_levels_are_bars_and_bands_are_seen_about_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("seasons.toml"), SEASONS).unwrap();
    std::fs::write(path.join("kept.toml"), LEVELS.replace("SEASONS.toml", "seasons.toml")).unwrap();
    answer(path, &["run", "kept.toml", "--out", "kept"]);
    answer(path, &["plot", "kept", "--kind", "effect"]);
    let drawn = |feature: &str| {
        let name = format!("kept-figures/kept_effect_seasons_{feature}.svg");
        std::fs::read_to_string(path.join(name)).unwrap()
    };
    let (season, x) = (drawn("season"), drawn("x"));
    // A panel for each estimator, whose axis has the levels; one bar and one stroke at each.
    for level in ["winter", "summer", "autumn"] {
        assert_eq!(season.matches(&format!(">\n{level}\n<")).count(), 2, "{level}");
    }
    for label in [
        "confidence, pointwise",
        "confidence, all levels at once",
        "± σ of the instances",
        "estimates of other datasets",
    ] {
        assert!(season.contains(label), "{label}");
    }
    assert!(!season.contains("limits of bins") && !season.contains("bin effect"));
    assert!(!season.contains("estimate − truth") && !x.contains("winter"));
    // The band of the curve is narrow beside its effect: it is drawn about the error as well.
    assert_eq!(x.matches(">\nestimate − truth").count(), 1);
    answer(path, &["report", "kept"]);
}

#[test]
fn a_page_needs_no_network() {
    let folder = results();
    assert_eq!(answer(folder.path(), &["report", "results"]), "results.html\n");
    let page = std::fs::read_to_string(folder.path().join("results.html")).unwrap();
    assert!(!page.contains("http://") && !page.contains("https://"));
    // What a study says is text, not markup.
    assert!(page.contains("Errors against &lt;K&gt; and N."));
    for part in [
        "<svg",
        "Mean squared error",
        "All means",
        "pdp has no bins",
        "Provenance",
        "--seed 0",
        "Methods (ADEMP)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    answer(folder.path(), &["report", "results", "--out", "again.html"]);
    assert_eq!(page, std::fs::read_to_string(folder.path().join("again.html")).unwrap());
}

#[test]
fn a_page_works_in_a_browser() {
    let folder = results();
    answer(folder.path(), &["report", "results"]);
    let page = folder.path().join("results.html");
    let address = format!("file://{}#table1-sort=3-descending&table1-filter=dale", page.display());
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        "--dump-dom",
    ];
    let output = Command::new("chromium").args(quiet).args([&profile, &address]).output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no chromium here to open the page");
        return;
    };
    let dom = String::from_utf8(output.stdout).unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(!dom.contains("data-error"), "a script failed");
    assert!(!log.contains("CONSOLE"), "{log}");
    let start = dom.find("id=\"table1\"").expect("the tables have names");
    let table = &dom[start..start + dom[start..].find("</table>").unwrap()];
    assert!(table.contains("aria-sort=\"descending\""));
    let shown: Vec<f64> = table
        .split("<tr")
        .filter(|row| row.contains("data-value") && !row.contains("hidden"))
        .inspect(|row| assert!(row.contains("dale") && !row.contains("rhale"), "{row}"))
        .filter_map(|row| row.split("data-value=\"").nth(1)?.split('"').next()?.parse().ok())
        .collect();
    assert_eq!(shown.len(), 3);
    assert!(shown.is_sorted_by(|a, b| a >= b), "{shown:?}");
    assert!(dom.contains("3 of 5 rows"));
}

/// Times stand under the keys of the errors, whoever measured them: those of all but `pdp`, which has none here.
#[test]
fn errors_are_put_beside_times() {
    use fe_bench::record::measured::{self, Measured};
    use fe_bench::study::{Study, tasks::Plan};

    let folder = results();
    let study = [Study::read(&folder.path().join("study.toml")).unwrap()];
    let mut times = Vec::new();
    let left_out = fe_bench::run::kinds::each(&Plan::new(&study), 0, &mut |kind| {
        kind.estimate().unwrap();
        let seconds = 1e-6 * kind.rows() as f64;
        let interval = (0.9 * seconds, 1.2 * seconds);
        if kind.key.estimator != "pdp" {
            times.push(Measured { key: kind.key.clone(), seconds, interval });
        }
        Ok(())
    });
    assert_eq!((left_out.unwrap(), times.len()), (0, 12));
    let file = folder.path().join("timings.csv");
    measured::write(&file, &times).unwrap();
    let arguments = ["--timings", "timings.csv", "--where", "N=200", "--metric", "mse,seconds"];
    let table = answer(folder.path(), &[&["table", "results"], &arguments[..]].concat());
    let of = |name: &str| table.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(of("dale").ends_with("| (2.00 ± 0.15)e-4 |"), "{table}");
    assert!(of("rhale").ends_with("| (2.00 ± 0.15)e-4 |"), "{table}");
    assert!(!of("pdp").contains("e-4 |") || of("pdp").ends_with("|  |"), "{table}");
    let plot = ["plot", "results", "--kind", "error-by-time", "--out", "drawn"];
    let drawn = answer(folder.path(), &[&plot[..], &["--timings", "timings.csv"]].concat());
    assert_eq!(drawn.lines().count(), 2, "{drawn}");
    let figure =
        std::fs::read_to_string(folder.path().join(drawn.lines().last().unwrap())).unwrap();
    assert!(
        figure.contains("seconds for one estimate") && !figure.contains(">pdp"),
        "no axis of times"
    );
    // Without times, with those of another study, and with what is none.
    assert!(refusal(folder.path(), &plot).contains("needs --timings"));
    for of in &mut times {
        of.key.study = "other".to_owned();
    }
    measured::write(&file, &times).unwrap();
    let all = ["table", "results", "--timings", "timings.csv"];
    assert!(refusal(folder.path(), &all).contains("another study"));
    times[0].seconds = -1.0;
    measured::write(&file, &times).unwrap();
    let message = refusal(folder.path(), &all);
    assert!(
        message.contains("row 1") && message.contains("is not a positive number of seconds"),
        "{message}"
    );
    std::fs::write(&file, "a,b\n1,2\n").unwrap();
    assert!(refusal(folder.path(), &all).contains("cargo bench --bench sweep"));
}
