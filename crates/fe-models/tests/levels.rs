//! Models of nominal features: columns of 0 and 1 behind, levels in front.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::data::{FeatureKind, LevelNames};
use fe_core::model::{Column, Rows};
use fe_core::{Dataset, Settings, estimator};
use fe_models::{FittedModel, Learner};
use ndarray::Array2;

const EFFECTS: [f64; 3] = [1.0, -2.0, 4.0];
const CODES: [f64; 3] = [5.0, 1.0, 3.0];

/// A level, a number, and y = effect of the level + slope of the number (which may differ by level).
fn data(rows: usize) -> (Dataset, Vec<f64>) {
    let level = |i: usize| (i * 7 + i / 3) % 3;
    let x = |i: usize| (i * 37 % 101) as f64 / 50.0 - 1.0;
    let array =
        Array2::from_shape_fn((rows, 2), |(i, j)| if j == 0 { CODES[level(i)] } else { x(i) });
    let y = (0..rows).map(|i| EFFECTS[level(i)] + 0.5 * x(i)).collect();
    let names = CODES.iter().copied().zip(["a", "b", "c"].map(str::to_owned));
    let data = Dataset::from_rows(&array.view()).unwrap();
    let kinds = vec![FeatureKind::Nominal, FeatureKind::Continuous];
    let data = data.with_names(vec!["make".to_owned(), "size".to_owned()]).unwrap();
    let data = data.with_kinds(kinds).unwrap();
    (data.with_levels(0, LevelNames::new(names).unwrap()).unwrap(), y)
}

fn fit(name: &str, set: &[(&str, &str)]) -> fe_models::Result<Box<dyn FittedModel>> {
    let set: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let (data, y) = data(300);
    Learner::new(name, &set)?.fit(&data, &y, 1)
}

#[test]
fn levels_have_effects_of_their_own_in_every_learner() {
    let (data, _) = data(300);
    // Not the codes' straight line, whose error would be far larger.
    for (name, set, tolerance) in [
        ("linear", &[][..], 1e-9),
        ("gam", &[], 0.01),
        ("gbdt", &[], 0.1),
        ("mlp", &[("epochs", "300")], 0.3),
    ] {
        let model = fit(name, set).unwrap();
        let pdp = estimator::from_settings("pdp", &Settings::default()).unwrap();
        let curve = pdp.estimate(&data, &*model, 0).unwrap().remove(0).curve;
        let at = |level: usize| curve.at(CODES[level]).unwrap();
        for level in [1, 2] {
            let difference = at(level) - at(0);
            let exact = EFFECTS[level] - EFFECTS[0];
            assert!((difference - exact).abs() < tolerance, "{name}: {difference} for {exact}");
        }
    }
}

#[test]
fn a_linear_model_knows_its_levels_by_name() {
    let model = fit("linear", &[]).unwrap();
    assert_eq!(model.dimension(), 2);
    let names: Vec<String> = model.summary().into_iter().map(|fact| fact.name).collect();
    for level in ["make=a", "make=b", "make=c", "size"] {
        assert!(names.iter().any(|name| name.contains(level)), "{names:?}");
    }
    let main = |level: usize| model.main_effect(0, CODES[level]).unwrap();
    assert!((main(1) - main(0) + 3.0).abs() < 1e-9 && model.main_effect(0, 9.0).is_none());
    let columns = [Column::Constant(3.0), Column::Values(&[0.25, 0.5])];
    let mut slopes = [0.0; 2];
    model.partial(1, &Rows::new(&columns, 2), &mut slopes).unwrap();
    assert!(slopes.iter().all(|slope| (slope - 0.5).abs() < 1e-9), "{slopes:?}");
    assert!(model.partial(0, &Rows::new(&columns, 2), &mut slopes).is_err());
}

#[test]
fn levels_that_no_row_of_the_fit_has_are_refused() {
    let model = fit("linear", &[]).unwrap();
    let mut value = [0.0];
    let columns = [Column::Constant(2.0), Column::Constant(0.0)];
    let refused = model.predict(&Rows::new(&columns, 1), &mut value).unwrap_err().to_string();
    assert!(refused.contains("the level 2 of make is in no row"), "{refused}");
    let refused = fit("gam", &[("interactions", "x1:x2")]).unwrap_err().to_string();
    assert!(refused.contains("interactions of nominal features"), "{refused}");
}
