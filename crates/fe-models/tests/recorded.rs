//! Fits beside those of scikit-learn, pygam and XGBoost, recorded by `scripts/models/record.py` and
//! `record_boosting.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::{Dataset, Settings, estimator};
use ndarray::Array2;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use support::{assert_close, fact, learner, predict};

#[derive(Deserialize)]
struct Case<T> {
    name: String,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    weights: Option<Vec<f64>>,
    #[serde(flatten)]
    fit: T,
}

fn cases<T: DeserializeOwned>(file: &str) -> Vec<Case<T>> {
    let path = format!("{}/tests/fixtures/{file}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rows(x: &[Vec<f64>]) -> Dataset {
    let rows = Array2::from_shape_fn((x.len(), x[0].len()), |(i, j)| x[i][j]);
    Dataset::from_rows(&rows.view()).unwrap()
}

impl<T> Case<T> {
    fn data(&self) -> Dataset {
        let data = rows(&self.x);
        match &self.weights {
            None => data,
            Some(weights) => data.with_weights(weights.clone()).unwrap(),
        }
    }
}

#[derive(Deserialize)]
struct Linear {
    coefficients: Vec<f64>,
    intercept: f64,
    rank: f64,
    predictions: Vec<f64>,
}

#[test]
fn linear_is_that_of_scikit_learn() {
    for case in cases::<Linear>("linear") {
        let model = learner("linear", &[]).fit(&case.data(), &case.y, 0).unwrap();
        let (fit, what) = (&case.fit, &case.name);
        let coefficients: Vec<f64> = (1..=case.x[0].len())
            .map(|s| fact(model.as_ref(), &format!("coefficient x{s}")))
            .collect();
        // Conditioning multiplies rounding errors: by 10⁷ in the case of the nearly equal columns.
        let tolerance = if what == "near" { 1e-7 } else { 1e-8 };
        assert_close(&coefficients, &fit.coefficients, tolerance, what);
        assert_close(&[fact(model.as_ref(), "intercept")], &[fit.intercept], tolerance, what);
        assert_close(&predict(model.as_ref(), &case.data()), &fit.predictions, 1e-10, what);
        assert_eq!(fact(model.as_ref(), "rank"), fit.rank, "{what}");
    }
}

#[derive(Deserialize)]
struct Gam {
    options: Vec<String>,
    predictions: Vec<f64>,
    beyond: Vec<Vec<f64>>,
    predictions_beyond: Vec<f64>,
    effects_beyond: Vec<Vec<f64>>,
    degrees: f64,
}

#[test]
fn gam_is_that_of_pygam() {
    for case in cases::<Gam>("gam") {
        let (fit, what) = (&case.fit, &case.name);
        let options: Vec<&str> = fit.options.iter().map(String::as_str).collect();
        let model = learner("gam", &options).fit(&case.data(), &case.y, 0).unwrap();
        assert_close(&predict(model.as_ref(), &case.data()), &fit.predictions, 1e-6, what);
        let beyond = rows(&fit.beyond);
        assert_close(&predict(model.as_ref(), &beyond), &fit.predictions_beyond, 1e-6, what);
        assert_close(&[fact(model.as_ref(), "degrees of freedom")], &[fit.degrees], 1e-6, what);
        for (feature, effects) in fit.effects_beyond.iter().enumerate() {
            let effect = |&x: &f64| model.main_effect(feature, x);
            let mine: Option<Vec<f64>> = beyond.feature(feature).iter().map(effect).collect();
            match mine {
                // Against the size of the predictions: some effects are nearly 0.
                Some(mine) => mine.iter().zip(effects).for_each(|(mine, theirs)| {
                    let size = fit.predictions.iter().fold(0.0, |size: f64, y| size.max(y.abs()));
                    assert!((mine - theirs).abs() <= 1e-6 * size, "{what}: {mine} for {theirs}");
                }),
                None => assert!(what.contains("pair"), "{what}"),
            }
        }
    }
}

#[derive(Deserialize)]
struct Logistic {
    options: Vec<String>,
    probabilities: Vec<Vec<f64>>,
    coefficients: Vec<Vec<f64>>,
    intercepts: Vec<f64>,
}

#[test]
fn logistic_is_that_of_scikit_learn() {
    for case in cases::<Logistic>("logistic") {
        let (fit, what) = (&case.fit, &case.name);
        let options: Vec<&str> = fit.options.iter().map(String::as_str).collect();
        let model = learner("logistic", &options).fit(&case.data(), &case.y, 0).unwrap();
        let probabilities = predict(model.as_ref(), &case.data());
        assert_close(&probabilities, &fit.probabilities.concat(), 1e-8, what);
        if fit.coefficients.len() == 1 {
            continue;
        }
        for (k, class) in model.output_names().iter().enumerate() {
            let named = |s: usize| {
                fact(model.as_ref(), &format!("coefficient x{} of class {class}", s + 1))
            };
            let mine: Vec<f64> = (0..case.x[0].len()).map(named).collect();
            assert_close(&mine, &fit.coefficients[k], 1e-7, what);
            let intercept = fact(model.as_ref(), &format!("intercept of class {class}"));
            assert_close(&[intercept], &[fit.intercepts[k]], 1e-6, what);
        }
    }
}

/// ALIBI's example: the effects on each class of the irises, as probabilities and as logits.
#[test]
fn effects_on_the_classes_of_the_irises_sum_to_0() {
    let case = cases::<Logistic>("logistic").remove(0);
    assert_eq!(case.name, "iris");
    for (output, names) in
        [("probability", ["pdp", "ale", "rhale"]), ("logit", ["pdp", "ale", "rhale"])]
    {
        let learner = learner("logistic", &[&format!("output={output}")]);
        let model = learner.fit(&case.data(), &case.y, 0).unwrap();
        assert_eq!(model.output_names(), ["0", "1", "2"]);
        for name in names {
            let estimator = estimator::from_settings(name, &Settings::default()).unwrap();
            for feature in 0..4 {
                let effects = estimator.estimate(&case.data(), model.as_ref(), feature).unwrap();
                assert_eq!(effects.len(), 3);
                // RHALE chooses bins for each class: its curves do not share their limits.
                if name == "rhale" && output == "probability" {
                    continue;
                }
                let axis = case.data().feature(feature).to_vec();
                let curves: Vec<Vec<f64>> =
                    effects.iter().map(|effect| effect.curve.at_all(&axis).unwrap()).collect();
                let constant: f64 = curves.iter().map(|curve| curve[0]).sum();
                for (i, x) in axis.iter().enumerate() {
                    let sum: f64 = curves.iter().map(|curve| curve[i]).sum();
                    assert!((sum - constant).abs() < 1e-12, "{name} {output} x{feature} at {x}");
                }
                if output == "logit" {
                    for (curve, slopes) in curves.iter().zip(&case.fit.coefficients) {
                        for (i, x) in axis.iter().enumerate() {
                            let line = slopes[feature] * (x - axis[0]);
                            assert!((curve[i] - curve[0] - line).abs() < 1e-7, "{name} at {x}");
                        }
                    }
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Boosting {
    options: Vec<String>,
    fresh: Vec<Vec<f64>>,
    predictions: Vec<f64>,
    predictions_fresh: Vec<f64>,
}

/// The limits of bins differ, and with them some splits: the same algorithm, not the same trees. What
/// that leaves between two fits is compared with what they leave of the target.
#[test]
fn boosting_is_near_that_of_xgboost() {
    for case in cases::<Boosting>("boosting") {
        let (fit, what) = (&case.fit, &case.name);
        let options: Vec<&str> = fit.options.iter().map(String::as_str).collect();
        let model = learner("gbdt", &options).fit(&case.data(), &case.y, 0).unwrap();
        let near = |mine: &[f64], theirs: &[f64], share: f64| {
            let n = theirs.len() as f64;
            let mean = theirs.iter().sum::<f64>() / n;
            let spread: f64 = theirs.iter().map(|y| (y - mean).powi(2)).sum();
            let apart: f64 = mine.iter().zip(theirs).map(|(a, b)| (a - b).powi(2)).sum();
            println!("{what}: {}", apart / spread);
            assert!(apart < share * spread, "{what}: {} of the variance", apart / spread);
        };
        near(&predict(model.as_ref(), &case.data()), &fit.predictions, 0.01);
        near(&predict(model.as_ref(), &rows(&fit.fresh)), &fit.predictions_fresh, 0.03);
    }
}
