//! What other libraries make of features with levels, recorded by scripts/peers/record_levels.py: the same numbers here,
//! or a named reason why not. `cargo test -p fe-core --test suite level_parity -- --nocapture` prints how many there are of each.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use fe_core::model::FunctionModel;
use fe_core::regional::{self, RuleKind};
use fe_core::settings::LevelOrder;
use fe_core::{Centring, Dataset, Effect, FeatureKind, Settings, estimator, preset};
use ndarray::Array2;
use serde_json::Value;

const CLOSE: f64 = 1e-9;

fn fixture(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/levels");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn rows() -> Array2<f64> {
    let text = fixture("levels_n200.csv");
    let lines = text.lines().skip(1);
    let values: Vec<f64> =
        lines.flat_map(|line| line.split(',').map(|x| x.parse::<f64>().unwrap())).collect();
    Array2::from_shape_vec((values.len() / 4, 4), values).unwrap()
}

/// The columns x, g, h and o; as numbers, the levels are numbers too.
fn data(as_numbers: bool) -> Dataset {
    use FeatureKind::{Continuous, Nominal, Ordinal};
    let data = Dataset::from_rows(&rows().view()).unwrap();
    match as_numbers {
        true => data,
        false => data.with_kinds(vec![Continuous, Nominal, Nominal, Ordinal]).unwrap(),
    }
}

fn model() -> FunctionModel<'static> {
    FunctionModel::new(4, |x| {
        let slope = [-1.0, 2.0, 0.5, 3.0, -2.0][x[1] as usize];
        slope * x[0] + [0.0, 1.0, -1.5][x[2] as usize] * x[3] + x[3] * x[3] / 4.0
    })
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn fit(name: &str, settings: &Settings, as_numbers: bool, feature: usize) -> Effect {
    let estimator = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(&data(as_numbers), &model(), feature).unwrap().swap_remove(0)
}

fn largest_difference(case: &Value, effect: &Effect) -> f64 {
    let recorded = numbers(&case["effect"]);
    let found = effect.curve.at_all(&numbers(&case["x"])).unwrap();
    found.iter().zip(recorded).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The order that was asked for, or that the library chose.
fn along(case: &Value) -> (Dataset, Settings) {
    let feature = case["feature"].as_u64().unwrap() as usize;
    let data = data(false);
    match (case["peer"].as_str().unwrap(), &case["asked"]) {
        ("PyALE", _) | (_, Value::String(_)) => {
            let order = Some(LevelOrder::Similarity);
            (data, Settings { order, ..Settings::default() })
        }
        (_, Value::Array(order)) => {
            let given = order.iter().map(|level| level.as_f64().unwrap());
            let given = given.map(|level| (level, level.to_string()));
            let names = fe_core::data::LevelNames::new(given).unwrap();
            (data.with_levels(feature, names).unwrap(), Settings::default())
        }
        _ => (data, Settings::default()),
    }
}

fn of_ale(case: &Value) -> &'static str {
    let feature = case["feature"].as_u64().unwrap() as usize;
    if case["peer"] == "alibi" {
        // Columns with levels are numbers to it: the change to a level counts at the rows of that level alone.
        let settings = preset::complete("alibi-0.9", "ale", Settings::default()).unwrap();
        let as_numbers = fit("ale", &settings, true, feature);
        assert!(largest_difference(case, &as_numbers) < CLOSE, "{case}");
        let at_levels = fit("ale", &Settings::default(), false, feature);
        let off = largest_difference(case, &at_levels);
        assert!(off > 0.1, "{off}");
        println!("alibi, feature {feature}: off by {off:.2}");
        return "one-sided-changes";
    }
    let (data, settings) = along(case);
    let estimator = estimator::from_settings("ale", &settings).unwrap();
    let effect = &estimator.estimate(&data, &model(), feature).unwrap()[0];
    let own = effect.record.levels.as_ref().unwrap().order.as_ref().unwrap();
    let recorded = numbers(&case["order"]);
    // An order and its reverse give one curve.
    let reverse: Vec<f64> = recorded.iter().rev().copied().collect();
    assert!(own.values == recorded || own.values == reverse, "{case}: {:?}", own.values);
    assert!(largest_difference(case, effect) < CLOSE, "{case}: {:?}", effect.curve.y());
    "same"
}

fn of_pdp(case: &Value) -> &'static str {
    let feature = case["feature"].as_u64().unwrap() as usize;
    let settings = match case["peer"].as_str().unwrap() {
        // Its ICE curves are as they are.
        "scikit-learn" => {
            Settings { center: Some(Centring::None), raw_ice: Some(true), ..Settings::default() }
        }
        _ => Settings::default(),
    };
    let effect = fit("pdp", &settings, false, feature);
    assert!(largest_difference(case, &effect) < CLOSE, "{case}: {:?}", effect.curve.y());
    let places = numbers(&case["x"]);
    let spread = places.iter().map(|&x| effect.heterogeneity.at(x).unwrap());
    let off = spread.zip(numbers(&case["spread"])).map(|(a, b)| (a - b).abs());
    let off = off.fold(0.0, f64::max);
    match off < CLOSE {
        true => "same",
        false => {
            println!("{}: spread off by {off}", case["peer"]);
            "other spread"
        }
    }
}

/// The sets of levels of the first split, by the number of rows.
fn of_regions(case: &Value) -> &'static str {
    let asked = case["asked"].as_str().unwrap();
    let subsets = Some(asked != "one_vs_rest");
    let settings = Settings { subsets, depth: Some(1), grid: Some(30), ..Settings::default() };
    let regional = regional::from_settings("regional-pdp", &settings).unwrap();
    let tree = regional.fit(&data(false), &model(), 0).unwrap().swap_remove(0).tree;
    let kind = &tree.nodes()[1].rule.as_ref().unwrap().kind;
    let mut own: Vec<u64> = tree.nodes()[1..].iter().map(|node| node.rows as u64).collect();
    let recorded = case["regions"].as_array().unwrap()[1..].iter();
    let mut recorded: Vec<u64> = recorded.map(|region| region[1].as_u64().unwrap()).collect();
    own.sort_unstable();
    recorded.sort_unstable();
    assert_eq!(own, recorded, "{case}: {kind:?}");
    match asked {
        "one_vs_rest" => assert_eq!(*kind, RuleKind::Is(3.0)),
        _ => assert_eq!(*kind, RuleKind::Among(vec![1.0, 3.0])),
    }
    "same"
}

#[test]
fn every_recorded_result_is_the_same_or_has_a_reason() {
    let cases: Vec<Value> = serde_json::from_str(&fixture("levels_n200.json")).unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        let class = match case["method"].as_str().unwrap() {
            "ale" => of_ale(case),
            "pdp" => of_pdp(case),
            "regional-pdp" => of_regions(case),
            other => panic!("{other}"),
        };
        *counts.entry(class).or_default() += 1;
    }
    println!("{counts:?}");
    assert_eq!(counts, BTreeMap::from([("one-sided-changes", 3), ("same", 17)]));
}
