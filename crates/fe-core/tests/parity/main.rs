//! Every recorded result of another library: the same numbers here under its preset, or a named reason
//! why not. `cargo test -p fe-core --test parity -- --nocapture` prints how many there are of each;
//! with `PARITY_FIXTURES=FOLDER` it takes the records of another folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compare;
mod defects;
mod models;
// What it has for pairs of features is for `pair_parity`.
#[allow(dead_code)]
mod record;
mod regional;
mod shapley;

use std::collections::BTreeMap;

use compare::{NOT_COMPARED, compare, estimate, settings};
use record::Case;

/// A reason, and the results that it holds for.
type Reason = (&'static str, fn(Case<'_>) -> bool);

/// What is recorded of things that do not exist here, with the reason. To switch a line on, remove it
/// and say in `compare.rs` what its results are compared with.
const OUT_OF_SCOPE: &[Reason] = &[
    ("PDPbox is there for comparison only", |case| case.text("peer") == "PDPbox"),
    ("an ordinal feature of one value, to effector a level", |case| {
        compare::is_ordinal_to_effector(case) && case.distinct() == 1
    }),
    ("differences of an ordinal feature, which effector takes for derivatives", |case| {
        compare::is_ordinal_to_effector(case) && case.text("method") == "DerPDP"
    }),
    ("a discrete feature of one value, to PyALE a level", |case| {
        compare::is_discrete_to_pyale(case) && case.distinct() == 1
    }),
];

fn class(case: Case<'_>) -> String {
    if let Some((reason, _)) = OUT_OF_SCOPE.iter().find(|(_, holds)| holds(case)) {
        return format!("out of scope: {reason}");
    }
    let outcome = match (case.text("method"), case.text("status")) {
        ("SHAP values", "ok") => shapley::compare_values(case),
        (method, _) if method.starts_with("regional ") => {
            Err("regions by another score and other rules".to_owned())
        }
        ("ShapDP", "ok") => Err("a spline here, bins there".to_owned()),
        (_, "error") => match estimate(case, &settings(case)) {
            Err(_) => return "both refuse".to_owned(),
            Ok(_) => Err(format!("an effect here, an error there: {}", case.text("error"))),
        },
        _ => compare(case, &settings(case)),
    };
    match outcome {
        Ok(()) => "same".to_owned(),
        Err(difference) => match defects::ALL.iter().find(|defect| (defect.explains)(case)) {
            Some(defect) => format!("defect: {}", defect.name),
            None => format!("UNEXPLAINED: {difference}"),
        },
    }
}

/// How many results of each method are in each class: a result that changes class is seen.
const EXPECTED: &[(&str, &str, usize)] = &[
    ("PDPbox PDPIsolate", "out of scope: PDPbox is there for comparison only", 68),
    ("PyALE ALE", "defect: constant-nan", 7),
    ("PyALE ALE", "out of scope: a discrete feature of one value, to PyALE a level", 3),
    ("PyALE ALE", "same", 249),
    ("alibi ALE", "defect: constant-widened", 15),
    ("alibi ALE", "defect: few-refused", 8),
    ("alibi ALE", "defect: limits-by-steps", 6),
    ("alibi ALE", "same", 281),
    ("effector ALE", "both refuse", 6),
    ("effector ALE", "defect: limits-by-steps", 12),
    ("effector ALE", "defect: shift-lost", 2),
    ("effector ALE", "defect: shifted-limit", 109),
    ("effector ALE", "defect: slope-from-1e8", 2),
    ("effector ALE", "defect: variance-or-nothing", 8),
    ("effector ALE", "out of scope: an ordinal feature of one value, to effector a level", 2),
    ("effector ALE", "same", 7),
    ("effector DerPDP", "both refuse", 3),
    ("effector DerPDP", "out of scope: an ordinal feature of one value, to effector a level", 1),
    (
        "effector DerPDP",
        "out of scope: differences of an ordinal feature, which effector takes for derivatives",
        1,
    ),
    ("effector DerPDP", "same", 69),
    ("effector PDP", "both refuse", 3),
    ("effector PDP", "out of scope: an ordinal feature of one value, to effector a level", 1),
    ("effector PDP", "same", 70),
    ("effector RHALE", "both refuse", 27),
    ("effector RHALE", "defect: cells-by-division", 23),
    ("effector RHALE", "defect: changes-as-slopes", 2),
    ("effector RHALE", "defect: close-is-constant", 3),
    ("effector RHALE", "defect: few-refused", 12),
    ("effector RHALE", "defect: finite-penalty", 12),
    ("effector RHALE", "defect: limits-by-steps", 12),
    ("effector RHALE", "defect: limits-counted-twice", 2),
    ("effector RHALE", "defect: shift-lost", 9),
    ("effector RHALE", "defect: slope-from-1e8", 9),
    ("effector RHALE", "defect: ties-by-rounding", 8),
    ("effector RHALE", "defect: variance-or-nothing", 19),
    ("effector RHALE", "out of scope: an ordinal feature of one value, to effector a level", 9),
    ("effector RHALE", "same", 519),
    ("effector ShapDP", "defect: bins-of-shapley-values", 44),
    ("effector regional ALE", "defect: regional-rules", 19),
    ("effector regional ALE", "defect: regional-shifted-limit", 7),
    ("effector regional DerPDP", "defect: regional-rules", 26),
    ("effector regional PDP", "defect: regional-rules", 26),
    ("effector regional RHALE", "defect: regional-rules", 26),
    ("effector regional ShapDP", "defect: regional-shapley-bins", 26),
    ("effector/shap SHAP values", "defect: close-is-equal", 2),
    ("effector/shap SHAP values", "same", 12),
    ("scikit-learn partial_dependence brute", "defect: close-is-constant", 2),
    ("scikit-learn partial_dependence brute", "defect: constant-point", 7),
    ("scikit-learn partial_dependence brute", "same", 149),
];

#[test]
fn every_recorded_result_is_the_same_or_has_a_reason() {
    let records = record::all();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for record in &records {
        for result in &record.results {
            let case = Case { record, result };
            let class = class(case);
            if class.starts_with("UNEXPLAINED") {
                unexplained.push(format!("{case}: {class}"));
            }
            let method = format!("{} {}", case.text("peer"), case.text("method"));
            *counts.entry((method, class)).or_default() += 1;
        }
    }
    for ((method, class), count) in &counts {
        println!("{count:5}  {method}: {class}");
    }
    println!("not compared: {} ({})", NOT_COMPARED.0, NOT_COMPARED.1);
    for defect in defects::ALL {
        println!("defect {}: {}", defect.name, defect.about);
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    if record::other_folder().is_some() {
        return;
    }
    let counts: Vec<(&str, &str, usize)> = counts
        .iter()
        .map(|((method, class), count)| (method.as_str(), class.as_str(), *count))
        .collect();
    assert_eq!(counts, EXPECTED);
}
