//! The page of results in a browser: on narrow and dark screens, on paper, and for assistive technology. Skipped where there
//! is no chromium.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

const STUDY: &str = r#"
about = "Does the page hold what was asked?"

[[block]]
scenario = "snc"
set = { rho = [0.3, 0.6, 0.9] }
features = ["x1"]
N = [50, 100, 200]
replicates = 3
metrics = ["mse", "coverage"]

[[block.estimator]]
name = "ale"
bins = [5, 10, 20]
band = "analytic"

[[block.estimator]]
name = "rhale"
bins = 20
band = "analytic"

[[table]]
title = "The answer"
rows = ["estimator", "K"]
columns = ["rho", "N"]
where = { metric = "mse" }

[[table]]
title = "More of it"
rows = ["estimator", "K"]
columns = ["N"]
where = { metric = "coverage", rho = 0.9 }
"#;

/// Fitted models, effects of two features, and indices.
const FITTED: &str = r#"
about = "Do the methods say all?"

[labels]
pdp = "PD"

[[block]]
scenario = "friedman1"
features = ["x1", "x4"]
N = 60
replicates = 2
metrics = ["mse"]
snr = 3
split = ["cv:4", "train"]
pairs = ["model:theoretical", "model:empirical"]
[[block.model]]
name = "gam"
splines = 8
[[block.estimator]]
name = "pdp"

[[block]]
scenario = "friedman1"
features = ["x1:x2"]
N = 60
replicates = 2
metrics = ["mse"]
grid = 5
[[block.estimator]]
name = "ale"
bins = 3

[[block]]
scenario = "friedman1"
features = ["x1", "x1:x2"]
N = 60
replicates = 2
metrics = ["index_error"]
[[block.estimator]]
indices = ["h2.pair", "h2.overall"]
"#;

/// A folder with the page `results.html`.
fn page() -> tempfile::TempDir {
    page_of(STUDY)
}

fn page_of(study: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    for arguments in [&["run", "study.toml", "--out", "results"][..], &["report", "results"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    folder
}

/// What the browser says of a page in a folder; nothing without a browser.
fn browse(folder: &Path, page: &str, options: &[&str]) -> Option<String> {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--virtual-time-budget=20000",
    ];
    let address = format!("file://{}", folder.join(page).display());
    let mut command = Command::new("chromium");
    let output = command.args(quiet).args(options).args([&profile, &address]).output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no chromium here to open the page");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Writes the page with another script at its end.
fn with_script(folder: &Path, name: &str, script: &str) {
    let page = std::fs::read_to_string(folder.join("results.html")).unwrap();
    let page = page.replacen("</body>", &format!("<script>{script}</script></body>"), 1);
    std::fs::write(folder.join(name), page).unwrap();
}

/// What a script left at the root of the page.
fn left<'a>(dom: &'a str, name: &str) -> &'a str {
    let (_, rest) = dom.split_once(&format!("data-{name}=\"")).expect("the script ran");
    rest.split('"').next().unwrap()
}

#[test]
fn the_answer_comes_first_and_figures_are_named_once() {
    let folder = page();
    let page = std::fs::read_to_string(folder.path().join("results.html")).unwrap();
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("no {words}"));
    let order = ["Does the page hold", "The answer", "<svg", "Methods (ADEMP)", "More of it"];
    let places = order.map(place);
    assert!(places.is_sorted(), "{places:?}");
    let title = page.split("<summary>").nth(1).unwrap().split("</summary>").next().unwrap();
    // Above the figure, and for those who cannot see it before each of its three cells.
    let visible = page.replace(&format!("<title>{title}"), "");
    assert_eq!(visible.matches(title).count(), 1, "{title}");
    for part in [
        "Data-generating mechanisms",
        "snc@1",
        "Numbers of rows: 50, 100, 200",
        "Independent datasets of each combination: 3",
        "master seed 0",
        "Estimands",
        "the accumulated E[∂f given x], with the jumps of f",
        "K = 5, 10, 20",
        "share of the grid on which a confidence band holds the truth",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
}

/// A word that stands in place of a number is explained where it is read.
#[test]
fn degenerate_values_are_explained_below_their_table() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/bands-cells");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    let output = command.arg("report").arg(results).arg("--out").arg(&page).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("(1000 degenerate)"));
    assert!(text.contains("Degenerate: limits of a band that chance has no part in"));
}

#[test]
fn methods_name_models_noise_pairs_and_indices() {
    let folder = page_of(FITTED);
    let page = std::fs::read_to_string(folder.path().join("results.html")).unwrap();
    let methods =
        page.split("class=\"methods\"").nth(1).unwrap().split("</details>").next().unwrap();
    for part in [
        "Models are fitted to f(x) with normal noise, sd f(X) = 3 sd of the noise",
        "PD (pdp): E f(x, X_c)",
        "ale: the second-order accumulated effect",
        "h2.pair: share of a pair's partial dependence that is interaction",
        "Of x1, x4, x1:x2.",
        "gam(splines=8):theoretical: the effect of the model gam(splines=8), less the exact effect of f",
        "gam(splines=8):empirical: the effect of the model gam(splines=8), less the effect of f by the same estimator",
        "gam(splines=8): additive model of penalised cubic B-splines",
        "cv:4: 4 models, each fitted without one fold and explained on it",
        "train: fitted to all rows, and explained on them",
        "each measures the first from the second",
    ] {
        assert!(methods.contains(part), "{part}: {methods}");
    }
}

/// Each page of a table has its head, and no page ends in a name; skipped without poppler as well.
#[test]
fn printed_tables_have_their_heads_on_each_page() {
    let folder = page();
    let pdf = folder.path().join("results.pdf");
    let print = [&format!("--print-to-pdf={}", pdf.display()), "--no-pdf-header-footer"];
    if browse(folder.path(), "results.html", &print).is_none() {
        return;
    }
    let Ok(text) = Command::new("pdftotext").arg("-layout").arg(&pdf).arg("-").output() else {
        eprintln!("skipped: there is no pdftotext here to read the printed page");
        return;
    };
    let text = String::from_utf8(text.stdout).unwrap();
    let pages: Vec<&str> = text.trim_end_matches('\u{c}').split('\u{c}').collect();
    let of_means = |page: &&&str| page.lines().filter(|line| line.contains("rho=0.")).count() > 5;
    let of_means: Vec<&&str> = pages.iter().filter(of_means).collect();
    assert!(of_means.len() > 1, "{} pages", pages.len());
    assert!(of_means.iter().all(|page| page.contains("ci_lo")));
    let ends_in_name = |page: &&str| {
        let last = page.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        last.trim_start().starts_with(['▼', '▾']) || last.contains("Further figures")
    };
    assert_eq!(pages.iter().filter(|page| ends_in_name(page)).count(), 0);
}

/// On telephones, tablets and desks nothing but tables is wider than the screen, and figures fill it beside each other; on
/// dark ones page and figures are dark.
#[test]
fn three_sizes_of_screens_light_and_dark() {
    let folder = page();
    let script = "if (top === self) {\
                  const data = document.documentElement.dataset;\
                  data.paper = getComputedStyle(document.body).backgroundColor;\
                  data.figures = getComputedStyle(document.querySelector('.cells')).filter !== 'none';\
                  const page = document.documentElement.outerHTML;\
                  for (const width of [390, 1024, 1600]) {\
                  const frame = document.createElement('iframe'); frame.width = width; frame.style.border = 0;\
                  frame.onload = () => { const of = frame.contentDocument;\
                  of.querySelectorAll('details').forEach((one) => { one.open = true; });\
                  const figures = getComputedStyle(of.querySelector('.cells')).gridTemplateColumns.split(' ').length;\
                  const over = of.documentElement.scrollWidth - of.documentElement.clientWidth;\
                  data['at' + width] = over + ' ' + figures; };\
                  frame.srcdoc = page; document.body.append(frame); } }";
    with_script(folder.path(), "sizes.html", script);
    let schemes = [
        (&["--dump-dom"][..], "rgb(255, 255, 255)", "false"),
        (&["--dump-dom", "--force-dark-mode"], "rgb(22, 24, 27)", "true"),
    ];
    for (scheme, paper, is_dark) in schemes {
        let Some(dom) = browse(folder.path(), "sizes.html", scheme) else { return };
        assert_eq!((left(&dom, "paper"), left(&dom, "figures")), (paper, is_dark));
        for (width, expected) in [(390, "0 1"), (1024, "0 2"), (1600, "0 3")] {
            assert_eq!(left(&dom, &format!("at{width}")), expected, "{width}");
        }
    }
}

#[test]
fn the_page_fits_narrow_screens_and_opens_for_print() {
    let folder = page();
    let script = "document.body.style.width = '390px'; document.body.style.margin = 0;\
                  document.querySelectorAll('details').forEach((of) => { of.open = true; });\
                  const far = [...document.querySelectorAll('h1, h2, h3, p, dl, ul, .scroll, .cells, svg, summary')]\
                  .filter((of) => of.getBoundingClientRect().right > 391).map((of) => of.tagName);\
                  document.documentElement.dataset.far = far.join(' ');";
    with_script(folder.path(), "narrow.html", script);
    let Some(dom) = browse(folder.path(), "narrow.html", &["--dump-dom"]) else { return };
    assert_eq!(left(&dom, "far"), "");
    // A frame is as narrow as a telephone: of each own table a value is in sight beside the keys of its row.
    let script = "if (top === self) {\
                  const frame = document.createElement('iframe'); frame.width = 390;\
                  frame.onload = () => {\
                  const row = (of) => of.querySelector('tbody tr');\
                  const tables = [...frame.contentDocument.querySelectorAll('table')].filter((of) => of.querySelector('.key'));\
                  const right = (of) => Math.round(row(of).querySelector('.number').getBoundingClientRect().right);\
                  tables.forEach((of) => of.closest('details')?.setAttribute('open', ''));\
                  document.documentElement.dataset.rights = tables.map(right).join(' ');\
                  document.documentElement.dataset.keys = row(tables[0]).querySelector('.keys').innerText;\
                  const shown = (of) => getComputedStyle(row(tables[0]).querySelector(of)).display;\
                  document.documentElement.dataset.shown = shown('.key') + ' ' + shown('.keys'); };\
                  frame.srcdoc = document.documentElement.outerHTML; document.body.append(frame); }";
    with_script(folder.path(), "telephone.html", script);
    let dom = browse(folder.path(), "telephone.html", &["--dump-dom"]).unwrap();
    let rights: Vec<u32> =
        left(&dom, "rights").split(' ').map(|right| right.parse().unwrap()).collect();
    assert!(rights.len() == 2 && rights.iter().all(|right| (1..375).contains(right)), "{rights:?}");
    assert_eq!(left(&dom, "keys").replace("&nbsp;", " "), "ale, K = 5");
    assert_eq!(left(&dom, "shown"), "none table-cell");
    let script = "dispatchEvent(new Event('beforeprint'));\
                  const closed = () => document.querySelectorAll('details:not([open])').length;\
                  document.documentElement.dataset.printed = closed();\
                  dispatchEvent(new Event('afterprint'));\
                  document.documentElement.dataset.afterwards = closed() > 0;";
    with_script(folder.path(), "print.html", script);
    let dom = browse(folder.path(), "print.html", &["--dump-dom"]).unwrap();
    assert_eq!((left(&dom, "printed"), left(&dom, "afterwards")), ("0", "true"));
    assert!(!dom.contains("data-error"), "a script failed");
}

/// What axe-core finds; `FE_BENCH_AXE` names its script.
#[test]
fn nothing_keeps_anybody_from_reading_the_page() {
    let Some(axe) = std::env::var_os("FE_BENCH_AXE") else {
        eprintln!("skipped: FE_BENCH_AXE does not name the script of axe-core");
        return;
    };
    let axe = std::fs::read_to_string(axe).unwrap().replace("</script", "<\\/script");
    let script = format!(
        "{axe};document.querySelectorAll('details').forEach((of) => {{ of.open = true; }});\
         axe.run().then((found) => {{ document.documentElement.dataset.axe = \
         found.violations.map((of) => of.id + ': ' + of.nodes[0].target).join('; '); }});"
    );
    for study in [STUDY, FITTED] {
        let folder = page_of(study);
        with_script(folder.path(), "axe.html", &script);
        for scheme in [&["--dump-dom"][..], &["--dump-dom", "--force-dark-mode"]] {
            let Some(dom) = browse(folder.path(), "axe.html", scheme) else { return };
            assert_eq!(left(&dom, "axe"), "", "{scheme:?}");
        }
    }
}
