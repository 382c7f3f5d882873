//! Models of other programs predict here what they predict there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use fe_core::model::Rows;
use fe_core::{Dataset, Settings, estimator};
use fe_models::stored::{Format, StoredError, StoredModel, read};
use ndarray::Array2;
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    rows: Vec<Vec<f64>>,
    predictions: BTreeMap<String, Vec<Vec<f64>>>,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stored"))
}

fn recorded() -> Recorded {
    let text = std::fs::read_to_string(folder().join("predictions.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn data() -> Dataset {
    let rows = recorded().rows;
    Dataset::from_rows(&Array2::from_shape_fn((rows.len(), 3), |(i, j)| rows[i][j]).view()).unwrap()
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn try_read(name: &str) -> Result<StoredModel, StoredError> {
    read(Format::of(Path::new(name)).unwrap(), &bytes(name), 3)
}

fn model(name: &str) -> StoredModel {
    try_read(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn predict(model: &StoredModel, data: &Dataset) -> Vec<f64> {
    let mut values = vec![f64::NAN; data.len() * model.model.outputs()];
    let columns = data.columns(0..data.len());
    model.model.predict(&Rows::new(&columns, data.len()), &mut values).unwrap();
    values
}

/// Rounding of single precision in sums of a few dozen terms; of double precision where all numbers
/// have it.
fn tolerance(name: &str) -> f64 {
    let double = name.contains("double") || name.starts_with("lightgbm");
    if double { 1e-12 } else { 1e-6 }
}

#[test]
fn predictions_are_those_of_the_libraries() {
    let data = data();
    let recorded = recorded();
    assert_eq!(recorded.predictions.len(), 25);
    for (name, expected) in &recorded.predictions {
        let model = model(name);
        let outputs = expected[0].len();
        assert_eq!((model.model.dimension(), model.model.outputs()), (3, outputs), "{name}");
        let got = predict(&model, &data);
        let size = expected.iter().flatten().fold(1.0_f64, |most, x| most.max(x.abs()));
        for (i, row) in expected.iter().enumerate() {
            for (q, expected) in row.iter().enumerate() {
                let got = got[q * data.len() + i];
                let gap = (got - expected).abs();
                assert!(gap <= tolerance(name) * size, "{name}, row {i}: {got} for {expected}");
            }
        }
    }
}

#[test]
fn names_of_features_and_classes_are_those_of_the_file() {
    let named = Some(["width", "height", "depth"].map(str::to_owned).to_vec());
    assert_eq!(model("xgboost.json").features, named);
    assert_eq!(model("lightgbm.txt").features, named);
    assert_eq!(model("xgboost-two.json").features, None);
    assert_eq!(model("linear.onnx").features, None);
    assert_eq!(model("logistic-map.onnx").model.output_names(), ["0", "1", "2"]);
    assert_eq!(model("xgboost-two.json").model.output_names(), ["0", "1"]);
    assert_eq!(model("forest.onnx").model.output_names(), ["y"]);
}

#[test]
fn networks_in_onnx_have_exact_derivatives() {
    let data = data();
    for name in ["torch.onnx", "network-tanh-double.onnx", "logistic-three.onnx"] {
        let model = model(name);
        assert!(model.model.has_partial(), "{name}");
        let q = model.model.outputs();
        let step = 1e-5;
        for feature in 0..3 {
            let columns = data.columns(0..data.len());
            let rows = Rows::new(&columns, data.len());
            let mut slopes = vec![f64::NAN; data.len() * q];
            model.model.partial(feature, &rows, &mut slopes).unwrap();
            let moved = |by: f64| {
                let rows = Array2::from_shape_fn((data.len(), 3), |(i, j)| {
                    data.feature(j)[i] + if j == feature { by } else { 0.0 }
                });
                predict(&model, &Dataset::from_rows(&rows.view()).unwrap())
            };
            for ((slope, above), below) in slopes.iter().zip(moved(step)).zip(moved(-step)) {
                // The third derivatives are of order 10 at most: an error of 1e-9, and rounding.
                let numeric = (above - below) / (2.0 * step);
                assert!((slope - numeric).abs() < 1e-8, "{name}: {slope} for {numeric}");
            }
        }
    }
}

#[test]
fn trees_have_no_derivative_and_are_explained_all_the_same() {
    let data = data();
    for name in ["forest.onnx", "xgboost.json", "lightgbm-three.txt"] {
        let stored = model(name);
        assert!(!stored.model.has_partial(), "{name}");
        let outputs = stored.model.outputs();
        for method in ["pdp", "ale"] {
            let estimator = estimator::from_settings(method, &Settings::default()).unwrap();
            let effects = estimator.estimate(&data, stored.model.as_ref(), 0).unwrap();
            assert_eq!(effects.len(), outputs);
        }
    }
}

#[test]
fn what_is_not_read_is_named() {
    let error = try_read("sine.onnx").unwrap_err().to_string();
    assert!(
        error.starts_with("the operator Sin of ai.onnx is not supported; operators"),
        "{error}"
    );
    let error = try_read("lightgbm-categories.txt").unwrap_err().to_string();
    assert!(error.starts_with("a split of categories is not supported"), "{error}");
    let text = String::from_utf8(bytes("xgboost.json")).unwrap();
    let other = text.replace("reg:squarederror", "survival:cox");
    let error = read(Format::XgboostJson, other.as_bytes(), 3).unwrap_err().to_string();
    assert!(error.starts_with("the objective survival:cox is not supported"), "{error}");
    let other = text.replace("gbtree\"", "gblinear\"");
    assert!(read(Format::XgboostJson, other.as_bytes(), 3).is_err());
}

#[test]
fn a_graph_of_another_number_of_features_is_refused() {
    let fixed = bytes("torch.onnx");
    let model = read(Format::Onnx, &fixed, 7).unwrap();
    assert_eq!(model.model.dimension(), 3, "the file says so");
}

#[test]
fn files_that_are_cut_off_or_something_else_are_errors() {
    for name in ["torch.onnx", "forest.onnx", "xgboost.json", "lightgbm.txt"] {
        let whole = bytes(name);
        let format = Format::of(Path::new(name)).unwrap();
        for len in (0..whole.len() - 1).step_by(7) {
            // A shorter file may be a whole one of fewer trees or layers; it must not panic.
            if let Ok(model) = read(format, &whole[..len], 3) {
                assert!(format == Format::Onnx, "{name} of {len} bytes");
                assert!(model.model.outputs() > 0);
            }
        }
        for other in ["torch.onnx", "xgboost.json", "lightgbm.txt", "predictions.json"] {
            if Format::of(Path::new(other)) != Some(format) || other == "predictions.json" {
                let error = read(format, &bytes(other), 3).unwrap_err();
                assert!(matches!(error, StoredError::Malformed { .. }), "{name}, {other}: {error}");
            }
        }
    }
    assert_eq!(Format::of(Path::new("model.pkl")), None);
}

#[test]
fn trees_that_are_no_trees_are_refused() {
    let text = String::from_utf8(bytes("xgboost.json")).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let trees = "/learner/gradient_booster/model/trees/0";
    let change = |file: &mut serde_json::Value, list: &str, value: i64| {
        *file.pointer_mut(&format!("{trees}/{list}/0")).unwrap() = value.into();
    };
    for (list, value) in [("left_children", 0), ("right_children", 1000), ("split_indices", 3)] {
        let before = file.clone();
        change(&mut file, list, value);
        let bytes = serde_json::to_vec(&file).unwrap();
        let error = read(Format::XgboostJson, &bytes, 3).unwrap_err();
        assert!(matches!(error, StoredError::Malformed { .. }), "{list}: {error}");
        file = before;
    }
}

#[test]
fn trees_must_be_shared_evenly_among_outputs() {
    let text = String::from_utf8(bytes("lightgbm.txt")).unwrap();
    for (from, to) in [
        ("num_tree_per_iteration=1\n", "num_tree_per_iteration=999999\n"),
        ("max_feature_idx=2\n", "max_feature_idx=18446744073709551615\n"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = read(Format::LightgbmText, text.replace(from, to).as_bytes(), 3).unwrap_err();
        assert!(matches!(error, StoredError::Malformed { .. }), "{to}: {error}");
    }
}
