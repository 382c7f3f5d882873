//! Bands from refits of the effects of two features, and tests that these do not interact.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::effect::{RefitRecord, Surface, SurfaceBand};
use fe_core::model::FunctionModel;
use fe_core::refits::{AdditiveFit, PairRefitting, PermutationTest, RefittedModel};
use fe_core::settings::{BandKind, Correction, Scheme};
use fe_core::{AxisChoice, Centring, Dataset, FeatureKind, Settings};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, StudentsT};
use support::assert_close;

type Learned = Result<RefittedModel, String>;

/// Two features in the unit square.
fn sample(rows: usize, seed: u64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    Dataset::from_rows(&Array2::from_shape_fn((rows, 2), |_| random.random()).view()).unwrap()
}

fn noise(rows: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..rows).map(|_| StandardNormal.sample(&mut random)).collect()
}

fn refit() -> Settings {
    let axis = Some(AxisChoice::Given(0.0, 1.0));
    Settings { band: Some(BandKind::Refit), refits: Some(8), axis, ..Settings::default() }
}

fn interaction() -> Settings {
    Settings { interaction: Some(true), grid: Some(3), ..refit() }
}

fn refitting(name: &str, settings: &Settings) -> fe_core::Result<PairRefitting> {
    let found = PairRefitting::from_settings(name, [settings, settings])?;
    Ok(found.expect("a band from refits"))
}

fn surface(
    name: &str,
    settings: &Settings,
    data: &Dataset,
    learn: &(dyn Fn(&[usize], u64) -> Learned + Sync),
) -> fe_core::Result<Surface> {
    let refitting = refitting(name, settings)?;
    let refits = refitting.options().fit(data, learn, false)?;
    let model = learn(&(0..data.len()).collect::<Vec<_>>(), 0).unwrap();
    Ok(refitting.estimate(data, &*model, [0, 1], &refits)?.remove(0))
}

fn band(surface: &Surface) -> &SurfaceBand {
    surface.confidence.as_ref().unwrap()
}

fn record(surface: &Surface) -> &RefitRecord {
    band(surface).record.refits.as_ref().unwrap()
}

/// A product as large as the mean of some numbers over the rows of the fit, and an additive part.
fn product(sizes: Vec<f64>) -> impl Fn(&[usize], u64) -> Learned + Sync {
    move |rows, _| {
        let size = rows.iter().map(|&row| sizes[row]).sum::<f64>() / rows.len() as f64;
        let model = FunctionModel::new(2, move |x| size * x[0] * x[1] + size.exp() * x[0] - x[1]);
        Ok(Box::new(model))
    }
}

/// By hand: with the means u and v of the features over the rows that explain it, the interaction part of s x y is
/// s ((x − u)(y − v) − (½ − u)(½ − v)), of which s (¾ − (u + v)/2) is at the last corner.
#[test]
fn limits_are_those_of_students_t() {
    let data = sample(60, 3);
    let sizes = noise(60, 4);
    let learn = product(sizes.clone());
    let found = surface("pdp", &Settings { band_seed: Some(5), ..interaction() }, &data, &learn);
    let found = found.unwrap();
    let mean = |of: &[f64], rows: &[usize]| {
        rows.iter().map(|&row| of[row]).sum::<f64>() / rows.len() as f64
    };
    let at_corner = |fit: &[usize], explained: &[usize]| {
        let [u, v] = [0, 1].map(|feature| mean(data.feature(feature), explained));
        mean(&sizes, fit) * (0.75 - (u + v) / 2.0)
    };
    let resamples = (0..8).map(|i| Scheme::Bootstrap.resample(60, 5, i));
    let refits: Vec<f64> = resamples.map(|of| at_corner(&of.fit, &of.left_out)).collect();
    let middle = refits.iter().sum::<f64>() / 8.0;
    let variance = refits.iter().map(|own| (own - middle).powi(2)).sum::<f64>() / 7.0;
    let half = StudentsT::new(0.0, 1.0, 7.0).unwrap().inverse_cdf(0.975) * variance.sqrt();
    let all: Vec<usize> = (0..60).collect();
    let own = at_corner(&all, &all);
    let corner = |limit: &[f64]| limit[8];
    assert_close(&[corner(&found.values)], &[own], 1e-9);
    assert_close(&[corner(&band(&found).pointwise.lower)], &[own - half], 1e-9);
    assert_close(&[corner(&band(&found).pointwise.upper)], &[own + half], 1e-9);
    // The simultaneous band holds 0 everywhere where the test does not reject.
    let wide = band(&found).simultaneous.as_ref().unwrap();
    let holds =
        wide.lower.iter().zip(&wide.upper).all(|(lower, upper)| *lower <= 0.0 && 0.0 <= *upper);
    assert_eq!(holds, record(&found).p_flat.unwrap() > 0.05);
}

/// Refits that differ by what either feature does on its own, or by a constant, have no interaction: p = 1, and no width.
#[test]
fn refits_of_additive_models_say_that_nothing_interacts() {
    let data = sample(80, 6);
    let additive = |rows: &[usize], _: u64| -> Learned {
        let size = rows.iter().sum::<usize>() as f64 / 80.0;
        let model = FunctionModel::new(2, move |x| size + (size * x[0]).sin() + size * x[1]);
        Ok(Box::new(model))
    };
    for settings in [interaction(), Settings { center: Some(Centring::Data), ..interaction() }] {
        let found = surface("pdp", &settings, &data, &additive).unwrap();
        assert_eq!(record(&found).p_flat, Some(1.0));
        let caution = band(&found).caution().unwrap();
        assert!(caution.contains("of the true function it says nothing"), "{caution}");
    }
    let found = surface("ale", &Settings { bins: Some(3), ..refit() }, &data, &additive).unwrap();
    assert_eq!(record(&found).p_flat, Some(1.0));
}

/// The mean over all rows is taken away from each refit, whichever rows it was explained on: of one and the same model, whose
/// partial dependence does not depend on the rows, nothing is left.
#[test]
fn refits_are_centred_alike() {
    let data = sample(80, 7);
    let same = |_: &[usize], _: u64| -> Learned {
        Ok(Box::new(FunctionModel::new(2, |x| (3.0 * x[0] * x[1]).exp())))
    };
    for center in [Centring::Integral, Centring::Data, Centring::Start, Centring::None] {
        let correction = Some(Correction::NadeauBengio);
        let settings = Settings { center: Some(center), grid: Some(9), correction, ..refit() };
        let found = surface("pdp", &settings, &data, &same).unwrap();
        assert_close(&band(&found).pointwise.lower, &found.values, 1e-9);
        assert_close(&band(&found).pointwise.upper, &found.values, 1e-9);
    }
    // Within cells differences are of the rows: so are the surfaces, but not their means.
    for center in [Centring::Data, Centring::Bins] {
        let settings = Settings { center: Some(center), bins: Some(2), ..refit() };
        let found = surface("ale", &settings, &data, &same).unwrap();
        let middle = |cell: usize| {
            let (i, k) = (cell / 2, cell % 2);
            let at = |limit: &[f64]| {
                [0, 1, 3, 4].iter().map(|corner| limit[3 * i + k + corner]).sum::<f64>() / 4.0
            };
            found.counts[cell]
                * (at(&band(&found).pointwise.lower) + at(&band(&found).pointwise.upper))
        };
        let mean = (0..4).map(middle).sum::<f64>() / 160.0;
        assert!(center == Centring::Data || mean.abs() < 1e-9, "{mean}");
    }
}

/// Levels beside a number.
#[test]
fn levels_have_bands() {
    let rows = Array2::from_shape_fn((120, 2), |(i, j)| match j {
        0 => (i % 3) as f64,
        _ => i as f64 / 120.0,
    });
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let data = data.with_kinds(vec![FeatureKind::Nominal, FeatureKind::Continuous]).unwrap();
    let learn = product(noise(120, 1));
    let settings = Settings { axis: None, ..refit() };
    let found = surface("ale", &Settings { bins: Some(2), ..settings.clone() }, &data, &learn);
    assert!(record(&found.unwrap()).p_flat.unwrap() > 0.0);
    let found = surface("pdp", &Settings { interaction: Some(true), ..settings }, &data, &learn);
    assert_eq!(found.unwrap().x[0], [0.0, 1.0, 2.0]);
}

/// The line of least squares through a target, of both features and their product.
fn plane(data: &Dataset, target: &[f64], with_product: bool) -> [f64; 4] {
    let columns = if with_product { 4 } else { 3 };
    let design = nalgebra::DMatrix::from_fn(data.len(), columns, |i, j| {
        let x = [data.feature(0)[i], data.feature(1)[i]];
        [1.0, x[0], x[1], x[0] * x[1]][j]
    });
    let y = nalgebra::DVector::from_row_slice(target);
    let found = (design.transpose() * &design).lu().solve(&(design.transpose() * y)).unwrap();
    std::array::from_fn(|j| if j < columns { found[j] } else { 0.0 })
}

/// The size of both tests where the features do not interact, and their power where they do.
#[test]
fn tests_of_no_interaction_reject_as_often_as_they_say() {
    const DATASETS: u64 = 300;
    let rejected = |size: f64| {
        let (mut by_refits, mut by_permutations) = (0.0, 0.0);
        for dataset in 0..DATASETS {
            let data = sample(40, 900 + dataset);
            let both = data.feature(0).iter().zip(data.feature(1));
            let f = both.map(|(x, y)| 5.0 * x - 2.0 * y + size * x * y);
            let target: Vec<f64> = f.zip(noise(40, dataset)).map(|(f, e)| f + e).collect();
            let model = |[a, b, c, d]: [f64; 4]| -> Learned {
                let value = move |x: &[f64]| a + b * x[0] + c * x[1] + d * x[0] * x[1];
                Ok(Box::new(FunctionModel::new(2, value)))
            };
            let learn = |rows: &[usize], _: u64| {
                let own: Vec<f64> = rows.iter().map(|&row| target[row]).collect();
                model(plane(&data.select(rows), &own, true))
            };
            let learn_target = |target: &[f64], _: u64| model(plane(&data, target, true));
            let settings = Settings {
                refits: Some(20),
                residual_permutations: Some(19),
                grid: Some(2),
                band_seed: Some(dataset),
                ..interaction()
            };
            let refitting = refitting("pdp", &settings).unwrap();
            let refits = refitting.options().fit(&data, &learn, false).unwrap();
            let all = learn_target(&target, 0).unwrap();
            let found = refitting.estimate(&data, &*all, [0, 1], &refits).unwrap().remove(0);
            let mut band = found.confidence.unwrap();
            let additive = plane(&data, &target, false);
            let fitted = model(additive).unwrap();
            let columns = data.columns(0..40);
            let mut values = vec![0.0; 40];
            fitted.predict(&fe_core::model::Rows::new(&columns, 40), &mut values).unwrap();
            let additive = AdditiveFit { fitted: values, degrees: 3.0 };
            let of_target = (dataset, &target[..], &additive);
            refitting.permute(&mut band, (&data, [0, 1]), of_target, &learn_target).unwrap();
            let record = band.record.refits.unwrap();
            by_refits += f64::from(record.p_flat.unwrap() <= 0.05) / DATASETS as f64;
            by_permutations += f64::from(record.p_permuted.unwrap() <= 0.05) / DATASETS as f64;
        }
        [by_refits, by_permutations]
    };
    // Four standard errors of 0.05 over 300 datasets are 0.05.
    for size in rejected(0.0) {
        assert!((0.005..0.1).contains(&size), "{size}");
    }
    for power in rejected(12.0) {
        assert!(power > 0.9, "{power}");
    }
}

/// Fits to targets that do not interact at all, of a learner that is additive: rounding must not decide.
#[test]
fn additive_learners_are_never_said_to_interact() {
    let data = sample(50, 2);
    let target = noise(50, 3);
    let additive = |target: &[f64], _: u64| -> Learned {
        let [a, b, c, _] = plane(&data, target, false);
        Ok(Box::new(FunctionModel::new(2, move |x| a + b * x[0] + c * x[1])))
    };
    let settings = Settings { interaction: Some(true), grid: Some(4), ..Settings::default() };
    let pdp = fe_core::estimator::pair::from_settings("pdp", [&settings, &settings]).unwrap();
    let test = PermutationTest::new(19, 0).unwrap();
    let fit = AdditiveFit { fitted: vec![0.0; 50], degrees: 1.0 };
    let p = test.p_value_of_pair(&*pdp, (&data, [0, 1]), (&target, &fit), &additive).unwrap();
    assert_eq!(p, 1.0);
}

#[test]
fn what_tests_another_hypothesis_is_refused() {
    let said = |name: &str, settings: Settings| refitting(name, &settings).unwrap_err().to_string();
    for (name, settings, words) in [
        ("pdp", Settings { flat_permutations: Some(19), ..interaction() }, "flat_permutations"),
        ("pdp", Settings { residual_permutations: Some(19), ..refit() }, "`interaction` part"),
        (
            "ale",
            Settings { residual_permutations: Some(0), ..refit() },
            "residual_permutations = 0",
        ),
        ("ale", Settings { refits: Some(1), ..refit() }, "must be from 2"),
        ("shapdp", refit(), "of one feature"),
    ] {
        let said = said(name, settings);
        assert!(said.contains(words), "{name}: {said}");
    }
    let of_one = Settings { residual_permutations: Some(19), ..refit() };
    let of_one = fe_core::refits::Refitting::from_settings("pdp", &of_one).unwrap_err().to_string();
    assert!(of_one.contains("residual_permutations"), "{of_one}");
    let lonely = Settings { residual_permutations: Some(19), ..Settings::default() };
    let lonely = fe_core::estimator::pair::from_settings("ale", [&lonely, &lonely]).unwrap_err();
    assert!(lonely.to_string().contains("needs `band`"), "{lonely}");
    let data = sample(40, 1);
    let test = PermutationTest::new(19, 0).unwrap();
    let ale = fe_core::estimator::pair::SecondOrderAle::with_bins(2).unwrap();
    let learn = |_: &[f64], _: u64| -> Learned { Err("no luck".to_owned()) };
    let said = |target: &[f64], degrees: f64| {
        let fit = AdditiveFit { fitted: vec![0.0; 40], degrees };
        let of_target = (target, &fit);
        let p = test.p_value_of_pair(&ale, (&data, [0, 1]), of_target, &learn);
        p.unwrap_err().to_string()
    };
    assert!(said(&[0.0; 39], 1.0).contains("targets"));
    assert!(said(&[0.0; 40], 40.0).contains("leaves no residuals"));
    assert!(said(&[0.0; 40], 1.0).contains("no luck"));
}
