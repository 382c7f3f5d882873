//! Every recorded result of another library: the same numbers here, or a named reason why not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compare;
mod models;
mod record;

use std::collections::BTreeMap;
use compare::{compare, settings};
use record::Case;

const OUT: &[(&str, &str, &str)] = &[
    ("PDPbox", "", "for comparison only"),
    ("effector", "ShapDP", "no estimator `shapdp`"),
    ("effector/shap", "", "no SHAP values"),
    ("effector", "regional", "no regional effects"),
];

#[test]
fn every_recorded_result() {
    let records = record::all();
    let mut n = BTreeMap::<String, usize>::new();
    for record in &records {
        for result in &record.results {
            let case = Case { record, result };
            if OUT.iter().any(|(p, m, _)| case.text("peer") == *p && case.text("method").starts_with(m)) { continue; }
            if case.text("feature_type") == "ordinal" { continue; }
            if case.option_text("feature_type") == "auto" && case.distinct() <= 10 { continue; }
            let outcome = if case.text("status") == "error" {
                match compare::estimate(case, &settings(case)) { Err(_) => Ok(()), Ok(_) => Err("they refuse".to_owned()) }
            } else { compare(case, &settings(case)) };
            let key = format!("{} {}", case.text("peer"), case.text("method"));
            match outcome {
                Ok(()) => *n.entry(key + " pass").or_default() += 1,
                Err(e) => { println!("{case}: {e}"); *n.entry(key + " FAIL").or_default() += 1 }
            }
        }
    }
    for (k, v) in n { println!("{k}: {v}"); }
}
