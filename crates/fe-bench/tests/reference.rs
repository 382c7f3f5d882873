//! A small study gives the committed values on every machine.
//!
//! Random numbers are the same everywhere, but mathematical functions may differ in the last bit, and
//! an ill-conditioned difference magnifies that: hence a relative tolerance of 1e-9, far below any
//! Monte Carlo error and far above rounding. Errors of exactly estimated curves are nothing but
//! rounding, of values of a size of about 10: an absolute tolerance of 1e-12, and of its square for
//! squared errors, lets them differ.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

const RELATIVE: f64 = 1e-9;
const ABSOLUTE: f64 = 1e-12;

fn rows(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn the_reference_study_is_reproduced() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/reference");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .arg("run")
        .arg(reference.join("reference.toml"))
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (expected, found) = (rows(&reference.join("cells.csv")), rows(&out.join("cells.csv")));
    assert_eq!(expected.len(), found.len());
    let metric = expected[0].iter().position(|name| name == "metric").unwrap();
    let error_bound = expected[0].iter().position(|name| name == "truth_abs_error").unwrap();
    for (expected, found) in expected.iter().zip(&found) {
        let absolute = if found[metric] == "mse" { ABSOLUTE * ABSOLUTE } else { ABSOLUTE };
        for (column, (a, b)) in expected.iter().zip(found).enumerate() {
            match (a.parse::<f64>(), b.parse::<f64>()) {
                // An estimate of rounding is itself rounding.
                (Ok(a), Ok(b)) if column == error_bound => assert!((a - b).abs() < 1e-9),
                (Ok(a), Ok(b)) => {
                    let close = (a - b).abs() <= RELATIVE * a.abs() + absolute;
                    assert!(close, "{a} is expected, {b} found in {found:?}");
                }
                _ => assert_eq!(a, b),
            }
        }
    }
}
