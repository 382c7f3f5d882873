//! Models of other programs predict here what they predict there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use fe_core::estimator::shapley::{self, Background, Shapley, ShapleyMethod};
use fe_core::model::{Background as Dependence, Column, Model, Rows};
use fe_core::{Dataset, Settings, estimator};
use fe_models::stored::{Format, StoredError, StoredModel, read, read_beside};
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
    read_beside(Format::of(Path::new(name)).unwrap(), &bytes(name), 3, folder())
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

/// Along a feature, between two places and shared among the features: all as when asked value by value. True for what
/// the model tells along a feature, and of changes.
fn tells_what_it_answers(name: &str, data: &Dataset) -> (bool, bool) {
    let (n, x) = (data.len(), data.columns(0..data.len()));
    let model = model(name).model;
    if !model.predicts_along() {
        return (false, false);
    }
    let outputs = model.outputs();
    let at = |feature: usize, column: &[f64]| {
        let (mut columns, mut values) = (x.clone(), vec![f64::NAN; n * outputs]);
        columns[feature] = Column::Values(column);
        model.predict(&Rows::new(&columns, n), &mut values).unwrap();
        values
    };
    let rows = Rows::new(&x, n);
    for feature in 0..3 {
        let mut places = data.feature(feature).to_vec();
        places.push(0.0);
        places.retain(|place| !place.is_nan());
        places.sort_by(f64::total_cmp);
        let mut values = vec![f64::NAN; places.len() * n * outputs];
        model.predict_along(feature, &places, &rows, &mut values).unwrap();
        for (place, values) in places.iter().zip(values.chunks(n * outputs)) {
            assert_eq!(values, at(feature, &vec![*place; n]), "{name}, {feature}, {place}");
        }
        if !model.predicts_changes() {
            continue;
        }
        let last = places.len() - 1;
        let from: Vec<f64> = (0..n).map(|row| places[row * 7 % last]).collect();
        let to: Vec<f64> = (0..n).map(|row| places[row * 3 % last + 1]).collect();
        let mut changes = vec![f64::NAN; n * outputs];
        model.predict_changes(feature, [&from, &to], &rows, &mut changes).unwrap();
        let expected = at(feature, &to).into_iter().zip(at(feature, &from));
        let size = values.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (change, (to, from)) in changes.iter().zip(expected) {
            assert!((change - (to - from)).abs() < 1e-12 * size, "{name}, {feature}");
        }
    }
    assert_eq!(model.knows_shapley_values(), model.predicts_changes());
    if model.knows_shapley_values() {
        let rows: Vec<usize> = (0..n).step_by(3).collect();
        let values = |method| {
            let options = Shapley { method, background: Background::Sample { size: 17, seed: 1 } };
            shapley::values(data, model.as_ref(), &rows, &options).unwrap()
        };
        let (told, asked) = (values(ShapleyMethod::ByModel), values(ShapleyMethod::Exact));
        let size = asked.predictions.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (told, asked) in told.values.iter().zip(&asked.values) {
            assert!((told - asked).abs() < 1e-12 * size, "{name}: {told} for {asked}");
        }
        assert!(told.model_rows < asked.model_rows);
    }
    assert_eq!(model.knows_partial_dependences(), model.predicts_changes());
    if model.knows_partial_dependences() {
        tells_partial_dependences(name, model.as_ref(), data);
    }
    (true, model.predicts_changes())
}

/// Sums over groups of a background, one of which is empty, with some features as they are at some of the rows.
fn tells_partial_dependences(name: &str, model: &dyn Model, data: &Dataset) {
    let (n, x, outputs) = (data.len(), data.columns(0..data.len()), model.outputs());
    let at = |row: usize| [0, 1, 2].map(|s| data.feature(s)[row]);
    let rows: Vec<[f64; 3]> = (0..n).step_by(4).map(at).collect();
    let points = [0, 1, 2].map(|s| rows.iter().map(|row| row[s]).collect::<Vec<f64>>());
    let len = rows.len();
    let weights: Vec<f64> = (0..n).map(|row| 0.5 + (row % 3) as f64).collect();
    let groups: Vec<usize> = (0..n).map(|row| [0, 2, 3][row * 5 % 3]).collect();
    let (weights, groups) = (&weights[..], &groups[..]);
    let background = Dependence { rows: Rows::new(&x, n), weights, groups, count: 4 };
    let at_points: Vec<Column<'_>> = points.iter().map(|x| Column::Values(x)).collect();
    for fixed in [&[][..], &[1], &[2, 0], &[0, 1, 2]] {
        let mut sums = vec![f64::NAN; 4 * outputs * len];
        model
            .partial_dependences(fixed, &Rows::new(&at_points, len), &background, &mut sums)
            .unwrap();
        for (point, row) in rows.iter().enumerate() {
            let (mut columns, mut values) = (x.clone(), vec![f64::NAN; n * outputs]);
            fixed.iter().for_each(|&s| columns[s] = Column::Constant(row[s]));
            model.predict(&Rows::new(&columns, n), &mut values).unwrap();
            let size = values.iter().fold(1.0, |most: f64, x| most.max(x.abs())) * n as f64;
            for (place, sum) in sums.iter().skip(point).step_by(len).enumerate() {
                let (group, output) = (place / outputs, place % outputs);
                let rows = (0..n).filter(|&row| groups[row] == group);
                let asked: f64 = rows.map(|row| weights[row] * values[output * n + row]).sum();
                assert!((sum - asked).abs() < 1e-12 * size, "{name}, {fixed:?}: {sum} for {asked}");
            }
        }
    }
}

#[test]
fn trees_tell_by_their_structure_what_they_answer_when_asked() {
    let data = data();
    let told: Vec<_> =
        recorded().predictions.keys().map(|name| tells_what_it_answers(name, &data)).collect();
    let count = |of: fn(&(bool, bool)) -> bool| told.iter().filter(|told| of(told)).count();
    assert_eq!((count(|told| told.0), count(|told| told.1)), (17, 9));
}

/// At the recorded rows and at all edges of boxes, on both sides of them.
#[test]
fn trees_of_one_score_are_sums_of_boxes() {
    let data = data();
    let complete: Vec<usize> =
        (0..data.len()).filter(|&row| data.row(row).iter().all(|x| !x.is_nan())).collect();
    let mut told = Vec::new();
    for name in recorded().predictions.keys() {
        let model = model(name).model;
        let Some(sum) = model.sum() else { continue };
        let boxes = sum.boxes().unwrap();
        let mut rows: Vec<Vec<f64>> = complete.iter().map(|&row| data.row(row).to_vec()).collect();
        for feature in 0..3 {
            for (place, edge) in boxes.limits(feature).into_iter().enumerate() {
                for x in [edge.next_down(), edge] {
                    let mut row = rows[place % complete.len()].clone();
                    row[feature] = x;
                    rows.push(row);
                }
            }
        }
        for row in rows {
            let columns: Vec<Column<'_>> = row.iter().map(|x| Column::Constant(*x)).collect();
            let mut value = [f64::NAN];
            model.predict(&Rows::new(&columns, 1), &mut value).unwrap();
            let gap = (sum.value(&row) - value[0]).abs();
            assert!(gap < 1e-12 * value[0].abs().max(1.0), "{name} at {row:?}: {gap}");
        }
        told.push(name.clone());
    }
    let expected = [
        "boosting.onnx",
        "forest.onnx",
        "lightgbm-forest.txt",
        "lightgbm.txt",
        "xgboost-dart.json",
        "xgboost-stopped.json",
        "xgboost.json",
    ];
    assert_eq!(told, expected);
}

#[test]
fn predictions_are_those_of_the_libraries() {
    let data = data();
    let recorded = recorded();
    assert_eq!(recorded.predictions.len(), 28);
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

#[derive(Deserialize)]
struct RecordedWithGaps {
    rows: Vec<Vec<Option<f64>>>,
    predictions: BTreeMap<String, Vec<Vec<f64>>>,
}

/// Rows with missing values, and with categories that no row of the fit has.
fn recorded_with_gaps() -> (Dataset, BTreeMap<String, Vec<Vec<f64>>>) {
    let text = std::fs::read_to_string(folder().join("predictions-categories.json")).unwrap();
    let RecordedWithGaps { rows, predictions } = serde_json::from_str(&text).unwrap();
    let value = |(j, i): (usize, usize)| rows[i][j].unwrap_or(f64::NAN);
    let rows = Array2::from_shape_fn((3, rows.len()), value);
    (Dataset::from_incomplete(rows).unwrap(), predictions)
}

#[test]
fn categories_and_missing_values_go_where_they_go_in_the_libraries() {
    let (data, predictions) = recorded_with_gaps();
    assert_eq!((predictions.len(), data.missing(0), data.missing(1)), (11, 4, 1));
    for (name, expected) in &predictions {
        let model = model(name);
        let is_network = name.ends_with("onnx");
        assert_eq!(model.model.takes_missing(), !is_network, "{name}");
        let filled = data.clone().into_features().mapv(|x| if x.is_nan() { 0.0 } else { x });
        let filled = Dataset::from_features(filled).unwrap();
        let got = predict(&model, if is_network { &filled } else { &data });
        let tolerance = if name.ends_with("txt") { 1e-12 } else { 1e-6 };
        for (i, (expected, got)) in expected.iter().zip(&got).enumerate() {
            let (expected, gap) = (expected[0], (got - expected[0]).abs());
            let size = expected.abs().max(1.0);
            assert!(gap <= tolerance * size, "{name}, row {i}: {got} for {expected}");
        }
        let told = tells_what_it_answers(name, if is_network { &filled } else { &data });
        assert_eq!(told, (!is_network, !is_network), "{name}");
    }
}

#[test]
fn words_of_categories_are_those_of_the_file() {
    let words = ["blue", "green", "red", "white", "yellow"].map(str::to_owned).to_vec();
    for name in ["categories-words.json", "categories-words.ubj", "categories-words.txt"] {
        assert_eq!(model(name).levels, [None, Some(words.clone()), None], "{name}");
    }
    assert!(model("categories.json").levels.iter().all(Option::is_none));
    assert!(model("categories.txt").levels.is_empty());
}

#[test]
fn categories_that_a_file_does_not_have_are_refused() {
    let error = changed("categories.json", |learner| {
        let trees = &mut learner["gradient_booster"]["model"]["trees"];
        for tree in trees.as_array_mut().unwrap() {
            tree["categories_sizes"] = Vec::<usize>::new().into();
        }
    });
    assert!(error.unwrap_err().to_string().contains("has no categories"));
    let text = String::from_utf8(bytes("categories.txt")).unwrap();
    let sets = text.lines().find(|line| line.starts_with("cat_threshold")).unwrap();
    let error = read(Format::LightgbmText, text.replace(sets, "cat_threshold=1").as_bytes(), 3);
    assert!(matches!(error.unwrap_err(), StoredError::Malformed { .. }));
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
    for name in ["torch.onnx", "network-tanh-double.onnx", "logistic-three.onnx", "gelu.onnx"] {
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
    for name in ["torch.onnx", "forest.onnx", "xgboost.json", "lightgbm.txt", "categories.ubj"] {
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

/// A change of an entry of an XGBoost model.
fn changed(
    name: &str,
    change: impl Fn(&mut serde_json::Value),
) -> Result<StoredModel, StoredError> {
    let mut file: serde_json::Value = serde_json::from_slice(&bytes(name)).unwrap();
    change(&mut file["learner"]);
    read(Format::XgboostJson, &serde_json::to_vec(&file).unwrap(), 3)
}

#[test]
fn early_stops_are_the_same_in_files_without_limits_of_iterations() {
    let data = data();
    for name in ["xgboost-stopped.json", "xgboost-stopped-three.json"] {
        let older = changed(name, |learner| {
            let model = learner["gradient_booster"]["model"].as_object_mut().unwrap();
            model.remove("iteration_indptr").unwrap();
        });
        let (older, now) = (older.unwrap(), model(name));
        assert_eq!(predict(&older, &data), predict(&now, &data), "{name}");
        assert_eq!(older.model.summary(), now.model.summary());
        assert!(now.model.summary().iter().any(|fact| fact.name.contains("best iteration")));
    }
    // What was never stopped, or continued beyond, is refused where the file has no such iteration.
    for best in ["17", "18446744073709551615", "-1"] {
        let error = changed("xgboost-stopped.json", |learner| {
            learner["attributes"]["best_iteration"] = best.into();
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("best_iteration is {best}")) || best == "-1", "{error}");
    }
}

#[test]
fn sizes_that_no_file_holds_are_refused_before_anything_is_allocated() {
    let huge = "1099511627776";
    let error = changed("xgboost-three.json", |learner| {
        learner["learner_model_param"]["num_class"] = huge.into();
    });
    assert!(error.unwrap_err().to_string().contains("num_class is 1099511627776"));
    let error = changed("xgboost-two.json", |learner| {
        learner["learner_model_param"]["num_feature"] = huge.into();
    });
    assert!(error.unwrap_err().to_string().contains("a model of 1099511627776 features"));
    let text = String::from_utf8(bytes("lightgbm.txt")).unwrap();
    let header = &text[..text.find("Tree=0").unwrap()];
    for (of, from, to) in [
        (
            &format!("{header}end of trees\n"),
            "num_tree_per_iteration=1\n",
            "num_tree_per_iteration={}\n",
        ),
        (&text, "num_leaves=6\n", "num_leaves={}\n"),
        (&text, "max_feature_idx=2\n", "max_feature_idx={}\n"),
    ] {
        let damaged = of.replace(from, &to.replace("{}", huge));
        let error = read(Format::LightgbmText, damaged.as_bytes(), 3).unwrap_err();
        assert!(matches!(error, StoredError::Malformed { .. }), "{to}: {error}");
    }
}

#[test]
fn nodes_with_one_child_and_trees_of_absurd_depth_are_refused() {
    let tree = |change: &dyn Fn(&mut serde_json::Value)| {
        changed("xgboost.json", |learner| {
            change(&mut learner["gradient_booster"]["model"]["trees"][0]);
        })
    };
    let error = tree(&|tree| tree["left_children"][0] = (-1).into()).unwrap_err().to_string();
    assert!(error.contains("one child"), "{error}");
    let chain = |splits: usize| {
        tree(&|tree| {
            // Split i has the leaf 2i + 1 and the next split 2i + 2.
            let child = |i: usize, at: i64| {
                if i.is_multiple_of(2) && i < 2 * splits { i as i64 + at } else { -1 }
            };
            let list = |at: i64| (0..=2 * splits).map(|i| child(i, at)).collect::<Vec<i64>>();
            let zeros = vec![0; 2 * splits + 1];
            tree["left_children"] = list(1).into();
            tree["right_children"] = list(2).into();
            tree["split_indices"] = zeros.clone().into();
            tree["split_conditions"] = zeros.clone().into();
            tree["split_type"] = zeros.into();
        })
    };
    assert!(chain(10_000).is_ok());
    assert!(chain(10_001).unwrap_err().to_string().contains("splits on the way to a leaf"));
}

/// A message of ONNX: fields with messages, texts or lists in them, and numbers.
mod onnx {
    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    pub fn field(number: u64, inner: &[u8]) -> Vec<u8> {
        [varint(number << 3 | 2), varint(inner.len() as u64), inner.to_vec()].concat()
    }

    pub fn number(field: u64, value: u64) -> Vec<u8> {
        [varint(field << 3), varint(value)].concat()
    }

    /// Rows × columns of single precision.
    pub fn value(name: &str, columns: u64) -> Vec<u8> {
        let dimensions = [field(1, &number(1, 1)), field(1, &number(1, columns))].concat();
        let tensor = [number(1, 1), field(2, &dimensions)].concat();
        [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
    }

    pub fn node(kind: &str, inputs: &[&str], output: &str, attributes: &[u8]) -> Vec<u8> {
        let inputs: Vec<u8> = inputs.iter().flat_map(|name| field(1, name.as_bytes())).collect();
        let rest = [field(2, output.as_bytes()), field(4, kind.as_bytes()), attributes.to_vec()];
        field(1, &[inputs, rest.concat()].concat())
    }

    /// A graph from x to y.
    pub fn model(columns: u64, parts: &[Vec<u8>]) -> Vec<u8> {
        let ends = [field(11, &value("x", columns)), field(12, &value("y", 1))].concat();
        field(7, &[parts.concat(), ends].concat())
    }

    /// A tensor of single precision with the bytes of its numbers.
    pub fn tensor(name: &str, dimensions: &[u64], rest: &[u8]) -> Vec<u8> {
        let dimensions: Vec<u8> = dimensions.iter().flat_map(|n| number(1, *n)).collect();
        field(5, &[dimensions, number(2, 1), field(8, name.as_bytes()), rest.to_vec()].concat())
    }
}

fn read_onnx(bytes: &[u8]) -> Result<StoredModel, StoredError> {
    read(Format::Onnx, bytes, 3)
}

#[test]
fn a_few_operators_cannot_ask_for_more_than_memory() {
    let same = onnx::node("Identity", &["x"], "y", &[]);
    assert!(read_onnx(&onnx::model(3, std::slice::from_ref(&same))).is_ok());
    let error = read_onnx(&onnx::model(1 << 40, &[same])).unwrap_err().to_string();
    assert!(error.contains("1099511627776 features"), "{error}");
    // Twice as many columns forty times over.
    let names: Vec<String> = (0..40).map(|i| format!("v{i}")).collect();
    let name = |i: usize| if i == 0 { "x" } else { &names[i] };
    let mut nodes: Vec<Vec<u8>> =
        (0..39).map(|i| onnx::node("Concat", &[name(i), name(i)], name(i + 1), &[])).collect();
    nodes.push(onnx::node("Concat", &[name(39), name(39)], "y", &[]));
    let error = read_onnx(&onnx::model(3, &nodes)).unwrap_err().to_string();
    assert!(error.contains("numbers"), "{error}");
    // A column and a row whose sum, or product, is a square of 10¹⁰ numbers.
    let raw = onnx::field(9, &vec![0; 400_000]);
    let tensors = [("a", [100_000, 1]), ("b", [1, 100_000])];
    let tensors = tensors.map(|(name, dimensions)| onnx::tensor(name, &dimensions, &raw)).concat();
    for kind in ["Add", "Mul", "MatMul"] {
        let nodes =
            [onnx::node(kind, &["a", "b"], "v", &[]), onnx::node("Add", &["x", "v"], "y", &[])];
        let file = onnx::model(3, &[tensors.clone(), nodes.concat()]);
        let error = read_onnx(&file).unwrap_err().to_string();
        assert!(error.contains("100000 × 100000"), "{kind}: {error}");
    }
    // Tensors whose dimensions are not those of their numbers.
    for dimensions in [&[1 << 40, 1][..], &[1 << 40, 1 << 40], &[1 << 62, 0], &[u64::MAX, 1]] {
        let tensor = onnx::tensor("a", dimensions, &[]);
        let file = onnx::model(3, &[tensor, onnx::node("Softmax", &["a"], "y", &[])]);
        assert!(read_onnx(&file).is_err(), "{dimensions:?}");
    }
}

#[test]
fn trees_in_onnx_have_no_more_outputs_than_leaves_and_no_negative_features() {
    let attribute = |name: &str, rest: Vec<u8>| {
        onnx::field(5, &[onnx::field(1, name.as_bytes()), rest].concat())
    };
    let ints = |name: &str, value: u64| attribute(name, onnx::number(8, value));
    let float = |field: u64| [&[(field << 3 | 5) as u8][..], &1_f32.to_le_bytes()].concat();
    let leaf = |targets: u64, feature: u64| {
        let names = ["nodes_treeids", "nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids"];
        let leaves = ["target_ids", "target_treeids", "target_nodeids"];
        let mut all: Vec<Vec<u8>> = names.iter().chain(&leaves).map(|name| ints(name, 0)).collect();
        all.push(ints("nodes_featureids", feature));
        all.push(attribute("n_targets", onnx::number(3, targets)));
        all.push(attribute("nodes_modes", onnx::field(9, b"LEAF")));
        all.push(attribute("nodes_values", float(7)));
        all.push(attribute("target_weights", float(7)));
        all.push(onnx::field(7, b"ai.onnx.ml"));
        let node = onnx::node("TreeEnsembleRegressor", &["x"], "y", &all.concat());
        read_onnx(&onnx::model(3, &[node]))
    };
    assert!(leaf(1, 0).is_ok());
    for (targets, feature) in [(1 << 40, 0), (u64::MAX, 0), (0, 0), (1, u64::MAX)] {
        let error = leaf(targets, feature).unwrap_err();
        assert!(matches!(error, StoredError::Malformed { .. }), "{targets} {feature}: {error}");
    }
}

#[test]
fn weights_in_other_files_are_read_from_the_folder_of_the_model_alone() {
    let name = "torch-external.onnx";
    let error = read(Format::Onnx, &bytes(name), 3).unwrap_err().to_string();
    assert!(error.contains("external_data=False"), "{error}");
    // A folder in a folder: the weights, a link to what lies outside, and a file that is too short.
    let outer = std::env::temp_dir().join(format!("fe-models-external-{}", std::process::id()));
    let inner = outer.join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(outer.join("w"), [0; 64]).unwrap();
    std::fs::write(inner.join("w"), [0, 0, 128, 63].repeat(3)).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outer.join("w"), inner.join("link")).unwrap();
    let entry = |key: &str, value: &str| {
        onnx::field(
            13,
            &[onnx::field(1, key.as_bytes()), onnx::field(2, value.as_bytes())].concat(),
        )
    };
    let of = |names: &[&str], dimensions: &[u64], extra: Vec<u8>| {
        let tensor = |name: &&str| onnx::tensor(name, dimensions, &extra);
        let tensors: Vec<Vec<u8>> = names.iter().map(tensor).collect();
        let file = onnx::model(3, &[tensors.concat(), onnx::node("Add", &["x", "a"], "y", &[])]);
        read_beside(Format::Onnx, &file, 3, &inner)
    };
    let at = |location: &str| entry("location", location);
    assert!(of(&["a"], &[3], at("w")).is_ok());
    assert!(
        of(&["a"], &[3], [at("w"), entry("length", "12"), entry("offset", "0")].concat()).is_ok()
    );
    for (location, reason) in [
        ("../w", "without `..`"),
        ("", "without `..`"),
        (outer.join("w").to_str().unwrap(), "without `..`"),
        #[cfg(unix)]
        ("link", "leads out of the folder"),
        (".", "without `..`"),
        ("none", "No such file"),
    ] {
        let error = of(&["a"], &[3], at(location)).unwrap_err().to_string();
        assert!(error.contains(reason), "{location}: {error}");
    }
    for extra in [entry("length", "13"), entry("offset", "1"), entry("offset", "-1")] {
        assert!(of(&["a"], &[3], [at("w"), extra].concat()).is_err());
    }
    // More numbers than the file has, and the same bytes for tensor after tensor.
    assert!(of(&["a"], &[1 << 40], at("w")).is_err());
    assert!(of(&["a"], &[1 << 62, 16], at("w")).is_err());
    assert!(of(&["a", "b"], &[3], at("w")).unwrap_err().to_string().contains("overlap"));
    std::fs::remove_dir_all(&outer).unwrap();
}
