//! Confidence bands of two features: what they must be whatever the data, and whether they cover.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::data::{FeatureKind, LevelNames};
use fe_core::effect::{Surface, SurfaceBand};
use fe_core::estimator::pair::{self, PairEstimator};
use fe_core::estimator::{Estimated, PairObservation};
use fe_core::model::{FunctionModel, Observed};
use fe_core::settings::{BandKind, EmptyBins, Interval};
use fe_core::{AxisChoice, Centring, Dataset, Model, Settings};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::assert_close;

/// Three features in the unit cube, the first two dependent.
fn sample(rows: usize, seed: u64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut values = Array2::zeros((3, rows));
    for row in 0..rows {
        let [u, v, w]: [f64; 3] = [random.random(), random.random(), random.random()];
        values[[0, row]] = u;
        values[[1, row]] = if w < 0.3 { u } else { v };
        values[[2, row]] = w;
    }
    Dataset::from_features(values).unwrap()
}

fn model() -> FunctionModel<'static> {
    FunctionModel::new(3, |x| {
        (2.0 * x[0] * x[1] + x[2]).sin() + 3.0 * x[0] * x[1] * x[2] - x[1] * x[1] + x[0] * x[2]
    })
}

fn on_unit_square(settings: Settings) -> Settings {
    Settings { axis: Some(AxisChoice::Given(0.0, 1.0)), ..settings }
}

fn pd(settings: Settings) -> Settings {
    on_unit_square(Settings { grid: Some(4), ..settings })
}

fn ale(settings: Settings) -> Settings {
    on_unit_square(Settings { bins: Some(3), ..settings })
}

fn bootstrap(resamples: usize) -> Settings {
    Settings { band: Some(BandKind::Bootstrap), resamples: Some(resamples), ..Settings::default() }
}

fn analytic() -> Settings {
    Settings { band: Some(BandKind::Analytic), ..Settings::default() }
}

fn built(name: &str, settings: &Settings) -> Box<dyn PairEstimator> {
    pair::from_settings(name, [settings, settings]).unwrap()
}

fn estimate(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> Surface {
    built(name, settings).estimate(data, model, [0, 1]).unwrap().swap_remove(0)
}

fn band(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> SurfaceBand {
    estimate(name, settings, data, model).confidence.unwrap()
}

/// Each kind of estimator, with each centring that it has.
fn variants() -> Vec<(&'static str, Settings)> {
    let centred = |center| Settings { center: Some(center), ..Settings::default() };
    let mut all = Vec::new();
    for center in [Centring::Integral, Centring::Data, Centring::Start] {
        all.push(("pdp", pd(centred(center))));
        all.push(("pdp", pd(Settings { interaction: Some(true), ..centred(center) })));
        all.push(("ale", ale(centred(center))));
    }
    all.push(("pdp", pd(centred(Centring::None))));
    all.push(("ale", ale(centred(Centring::Bins))));
    all.push(("ale", ale(Settings { empty: Some(EmptyBins::Zero), ..Settings::default() })));
    all
}

fn widths((lower, upper): (&[f64], &[f64])) -> Vec<f64> {
    lower.iter().zip(upper).map(|(lower, upper)| upper - lower).collect()
}

fn pointwise(band: &SurfaceBand) -> Vec<f64> {
    widths((&band.pointwise.lower, &band.pointwise.upper))
}

fn simultaneous(band: &SurfaceBand) -> Vec<f64> {
    let limits = band.simultaneous.as_ref().unwrap();
    widths((&limits.lower, &limits.upper))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// With the weights that the rows have, and with others, the surface computed again is that of the estimator.
#[test]
fn the_surface_of_a_resample_is_that_of_the_weighted_rows() {
    let data = sample(90, 1);
    let model = model();
    let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 4)).collect();
    let again = data.clone().with_weights(weights.clone()).unwrap();
    for (name, settings) in variants() {
        let estimator = built(name, &settings);
        let of = |data: &Dataset| estimator.estimate(data, &model, [0, 1]).unwrap().swap_remove(0);
        let (surface, weighted) = (of(&data), of(&again));
        let observed = Observed::new(&model);
        let of = Estimated { data: &data, model: &observed, effect: &surface };
        let resampling = estimator.resampling(of, true).unwrap();
        let same = resampling.replicate(&[1.0; 90], false).unwrap().curve;
        assert_close(&same, &surface.values, 1e-12);
        let other = resampling.replicate(&weights, false).unwrap().curve;
        assert_close(&other, &weighted.values, 1e-12);
    }
}

/// Of a mean that is not centred the band is the t interval.
#[test]
fn a_band_that_is_not_centred_is_the_interval_of_a_mean() {
    let data = sample(30, 2);
    let model = model();
    let settings = pd(Settings { center: Some(Centring::None), level: Some(0.9), ..analytic() });
    let surface = estimate("pdp", &settings, &data, &model);
    let limits = &surface.confidence.as_ref().unwrap().pointwise;
    // Student's t with 29 degrees of freedom, from a table.
    let quantile = 1.699_127;
    for (i, x) in surface.x[0].iter().enumerate() {
        for (k, y) in surface.x[1].iter().enumerate() {
            let at = |row: usize| {
                let z = data.feature(2)[row];
                (2.0 * x * y + z).sin() + 3.0 * x * y * z - y * y + x * z
            };
            let values: Vec<f64> = (0..30).map(at).collect();
            let squares: f64 = values.iter().map(|value| (value - mean(&values)).powi(2)).sum();
            let half = quantile * (squares / 29.0 / 30.0).sqrt();
            let place = i * surface.x[1].len() + k;
            assert!((limits.lower[place] - (mean(&values) - half)).abs() < 1e-6);
            assert!((limits.upper[place] - (mean(&values) + half)).abs() < 1e-6);
        }
    }
}

/// The jackknife leaves out row by row and knows nothing of how the surface is centred.
#[test]
fn analytic_widths_are_those_of_the_jackknife() {
    const ROWS: usize = 150;
    let data = sample(ROWS, 3);
    let model = model();
    for (name, settings) in variants().into_iter().filter(|(name, _)| *name == "pdp") {
        let estimator = built(name, &settings);
        let without = |row: usize| {
            let weights = (0..ROWS).map(|other| f64::from(other != row)).collect();
            let data = data.clone().with_weights(weights).unwrap();
            estimator.estimate(&data, &model, [0, 1]).unwrap().swap_remove(0).values
        };
        let all: Vec<Vec<f64>> = (0..ROWS).map(without).collect();
        let found = pointwise(&band(name, &settings.clone().or(&analytic()), &data, &model));
        let size = mean(&found);
        for (place, width) in found.into_iter().enumerate() {
            let values: Vec<f64> = all.iter().map(|surface| surface[place]).collect();
            let squares: f64 = values.iter().map(|value| (value - mean(&values)).powi(2)).sum();
            let error = (squares * (ROWS - 1) as f64 / ROWS as f64).sqrt();
            let expected = 2.0 * 1.976_013 * error;
            assert!((width - expected).abs() < 0.02 * size, "{settings:?}: {width} {expected}");
        }
    }
}

#[test]
fn bands_from_resamples_are_as_wide_as_analytic_ones() {
    let data = sample(400, 4);
    let model = model();
    for (name, settings) in variants().into_iter().filter(|(name, _)| *name == "pdp") {
        let [found, resampled] = [analytic(), bootstrap(600)]
            .map(|kind| band(name, &settings.clone().or(&kind), &data, &model));
        let ratio = mean(&pointwise(&resampled)) / mean(&pointwise(&found));
        assert!((ratio - 1.0).abs() < 0.05, "{settings:?}: {ratio}");
        let ratio = mean(&simultaneous(&resampled)) / mean(&simultaneous(&found));
        assert!((ratio - 1.0).abs() < 0.1, "{settings:?}: {ratio}");
        let studentised = Settings { interval: Some(Interval::Studentised), ..bootstrap(600) };
        let studentised = band(name, &settings.clone().or(&studentised), &data, &model);
        let ratio = mean(&pointwise(&studentised)) / mean(&pointwise(&found));
        assert!((ratio - 1.0).abs() < 0.05, "{settings:?}: {ratio}");
    }
}

#[test]
fn simultaneous_limits_lie_outside_and_records_say_how() {
    let data = sample(200, 5);
    let model = model();
    for (name, settings) in variants() {
        let kinds =
            if name == "pdp" { vec![analytic(), bootstrap(99)] } else { vec![bootstrap(99)] };
        for kind in kinds {
            let settings = settings.clone().or(&kind);
            let surface = estimate(name, &settings, &data, &model);
            let band = surface.confidence.as_ref().unwrap();
            assert!(mean(&pointwise(band)) > 0.0);
            assert!(mean(&pointwise(band)) < mean(&simultaneous(band)), "{name} {settings:?}");
            let record = &band.record;
            assert_eq!(record.kind, kind.band);
            assert_eq!(record.resamples, kind.resamples);
            assert_eq!(record.least_degrees_of_freedom.is_some(), kind.resamples.is_none());
            // With a level to come back to, it is the same surface.
            let text = serde_json::to_string(&surface).unwrap();
            let again: Surface = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), text);
        }
    }
}

/// A weight of two is a duplicated row, and none an absent one.
#[test]
fn weights_are_copies_of_rows() {
    let few = sample(60, 6);
    let rows: Vec<usize> = (0..60).flat_map(|i| vec![i; i % 3]).rev().collect();
    let array = Array2::from_shape_fn((3, rows.len()), |(j, i)| few.feature(j)[rows[i]]);
    let duplicated = Dataset::from_features(array).unwrap();
    let weighted = few.with_weights((0..60).map(|i| f64::from(i % 3)).collect()).unwrap();
    let model = model();
    for (name, settings) in variants() {
        let kinds =
            if name == "pdp" { vec![analytic(), bootstrap(59)] } else { vec![bootstrap(59)] };
        for kind in kinds {
            let settings = settings.clone().or(&kind);
            let [a, b] = [&weighted, &duplicated].map(|data| band(name, &settings, data, &model));
            assert_close(&a.pointwise.lower, &b.pointwise.lower, 1e-9);
            assert_close(&pointwise(&a), &pointwise(&b), 1e-9);
            assert_close(&simultaneous(&a), &simultaneous(&b), 1e-9);
        }
    }
}

#[test]
fn threads_change_nothing() {
    let data = sample(700, 7);
    let model = model();
    for (name, settings) in
        [("pdp", pd(analytic())), ("pdp", pd(bootstrap(59))), ("ale", ale(bootstrap(59)))]
    {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let surface = pool.install(|| estimate(name, &settings, &data, &model));
            serde_json::to_string(&surface).unwrap()
        };
        assert!(on(1) == on(4), "{name}");
    }
}

#[test]
fn a_subsample_has_the_band_of_its_rows() {
    let data = sample(300, 8);
    let model = model();
    let few = |settings: Settings| Settings { subsample: Some(60), ..settings };
    for (name, settings) in [("pdp", pd(analytic())), ("ale", ale(bootstrap(99)))] {
        let all = band(name, &settings, &data, &model);
        let surface = estimate(name, &few(settings), &data, &model);
        assert_eq!(surface.record.subsample.as_ref().unwrap().rows, 60);
        let ratio = mean(&pointwise(surface.confidence.as_ref().unwrap())) / mean(&pointwise(&all));
        assert!((1.5..4.0).contains(&ratio), "{name}: {ratio} for five times as many rows");
    }
}

/// All of the surface of a function without an interaction is certain: the interaction part and the second-order effect
/// are nothing, and what is left of limits is rounding.
#[test]
fn what_is_added_is_certain() {
    let data = sample(200, 9);
    let model = FunctionModel::new(3, |x| 900.0 * (4.0 * x[0]).sin() + x[1].exp() + x[2] * 1e3);
    let interaction = Settings { interaction: Some(true), ..analytic() };
    let fine = on_unit_square(Settings { bins: Some(20), ..bootstrap(59) });
    for (name, settings) in [
        ("pdp", pd(analytic())),
        ("pdp", pd(interaction.clone())),
        ("pdp", pd(bootstrap(59))),
        ("ale", ale(bootstrap(59))),
        ("ale", fine),
    ] {
        let band = band(name, &settings, &data, &model);
        let limits = band.pointwise.lower.iter().zip(&band.pointwise.upper);
        let degenerate = limits.filter(|(lower, upper)| band.is_degenerate(**lower, **upper));
        assert_eq!(degenerate.count(), band.pointwise.lower.len(), "{name} {settings:?}");
    }
    let model = FunctionModel::new(3, |x| 1e3 + 1e-4 * x[0] * x[1] * x[2]);
    let band = band("pdp", &pd(interaction), &data, &model);
    assert!(!band.is_degenerate(band.pointwise.lower[0], band.pointwise.upper[0]));
}

/// A level beside a number and beside a level, each level in a resample or not.
#[test]
fn levels_have_bands_of_both_estimators() {
    let rows = Array2::from_shape_fn((120, 3), |(i, j)| match j {
        0 => (i % 3) as f64,
        1 => ((i * 7) % 120) as f64 / 119.0,
        _ => ((i / 5) % 4) as f64,
    });
    let kinds = vec![FeatureKind::Nominal, FeatureKind::Continuous, FeatureKind::Nominal];
    let words = LevelNames::of_words(["winter", "spring", "summer"]).unwrap();
    let data = Dataset::from_rows(&rows.view()).unwrap().with_kinds(kinds).unwrap();
    let data = data.with_levels(0, words).unwrap();
    let model = FunctionModel::new(3, |x| (1.0 + x[0]) * (x[1] + x[2] * x[2]) + x[1] * x[2]);
    let grid = Settings { grid: Some(3), ..analytic() };
    let bins = Settings { bins: Some(3), ..bootstrap(99) };
    for (name, settings) in [("pdp", grid), ("ale", bins)] {
        let estimator = built(name, &settings);
        for features in [[0, 1], [1, 0], [0, 2]] {
            let surface = estimator.estimate(&data, &model, features).unwrap().swap_remove(0);
            let band = surface.confidence.as_ref().unwrap();
            assert_eq!(band.pointwise.lower.len(), surface.values.len());
            assert!(mean(&pointwise(band)) > 0.0, "{name} {features:?}");
            let inside = surface.values.iter().zip(&band.pointwise.lower);
            let inside = inside.zip(&band.pointwise.upper);
            let inside = inside.filter(|((y, lower), upper)| *lower <= y && y <= upper);
            assert!(inside.count() * 10 >= surface.values.len() * 9, "{name} {features:?}");
        }
    }
}

/// Rows at the same places in the order that the levels of a nominal feature have, which is not that of their numbers.
#[test]
fn levels_in_another_order_are_resampled_in_it() {
    let rows = Array2::from_shape_fn((90, 2), |(i, j)| match j {
        0 => ((i * i + 2 * i) % 7 % 3) as f64,
        _ => ((i * 7) % 90) as f64 / 89.0,
    });
    let kinds = vec![FeatureKind::Nominal, FeatureKind::Continuous];
    let data = Dataset::from_rows(&rows.view()).unwrap().with_kinds(kinds).unwrap();
    let model = FunctionModel::new(2, |x| ((x[0] - 1.0).powi(2) + 0.1 * x[0]) * x[1] * x[1]);
    let settings = Settings { bins: Some(3), ..Settings::default() };
    let settings = Settings { order: Some(fe_core::settings::LevelOrder::Response), ..settings };
    let estimator = built("ale", &settings);
    let surface = estimator.estimate(&data, &model, [0, 1]).unwrap().swap_remove(0);
    let observed = Observed::new(&model);
    let of: PairObservation<'_> = Estimated { data: &data, model: &observed, effect: &surface };
    let resampling = estimator.resampling(of, true).unwrap();
    assert_close(&resampling.replicate(&[1.0; 90], false).unwrap().curve, &surface.values, 1e-12);
}

/// Share of places, and of datasets as a whole, in which bands hold the truth.
fn covered(
    name: &str,
    settings: &Settings,
    datasets: u64,
    truth: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    let model = FunctionModel::new(3, |x| {
        2.0 * x[0] * x[1] * (0.5 + x[2]) + x[0] * (1.0 + x[2] * x[2]) - x[1] * x[2]
    });
    let (mut places, mut all, mut total) = (0, 0, 0);
    for seed in 0..datasets {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let values = Array2::from_shape_fn((3, 200), |_| random.random::<f64>());
        let data = Dataset::from_features(values).unwrap();
        let surface = estimate(name, settings, &data, &model);
        let band = surface.confidence.as_ref().unwrap();
        let whole = band.simultaneous.as_ref().unwrap();
        let pairs = surface.x[0].iter().flat_map(|x| surface.x[1].iter().map(|y| (*x, *y)));
        let mut is_whole = true;
        for (place, (x, y)) in pairs.enumerate() {
            let truth = truth(x, y);
            let [one, all] = [&band.pointwise, whole]
                .map(|limits| limits.lower[place] <= truth && truth <= limits.upper[place]);
            places += usize::from(one);
            total += 1;
            is_whole &= all;
        }
        all += usize::from(is_whole);
    }
    (places as f64 / f64::from(total), all as f64 / datasets as f64)
}

/// All three features uniform: E f(x, y, X3) = 2xy + 4/3 x − y/2, its interaction part 2(x − ½)(y − ½), which is the
/// second-order effect as well.
#[test]
fn bands_hold_the_truth_about_as_often_as_they_say() {
    let centred = |x: f64, y: f64| {
        let pd = |x: f64, y: f64| 2.0 * x * y + 4.0 / 3.0 * x - 0.5 * y;
        pd(x, y) - pd(0.5, 0.5)
    };
    let part = |x: f64, y: f64| 2.0 * (x - 0.5) * (y - 0.5);
    let interaction = |kind: Settings| pd(Settings { interaction: Some(true), ..kind });
    let by_data = |kind: Settings| Settings { center: Some(Centring::Data), ..kind };
    let found = [
        covered("pdp", &pd(analytic()), 300, centred),
        covered("pdp", &pd(by_data(analytic())), 300, centred),
        covered("pdp", &interaction(analytic()), 300, part),
        covered("pdp", &interaction(bootstrap(199)), 300, part),
        covered("ale", &ale(bootstrap(199)), 300, part),
    ];
    // Standard errors of 300 datasets are about 0.013; cells of 22 rows make resamples too narrow by a few hundredths.
    for (place, (at_points, whole)) in found.into_iter().enumerate() {
        let least = if place == 4 { 0.88 } else { 0.92 };
        assert!((least..0.98).contains(&at_points), "{found:?}");
        assert!((least - 0.01..0.99).contains(&whole), "{found:?}");
    }
}

#[test]
fn options_that_have_no_answer_are_refused() {
    let refused = |name: &str, settings: Settings| {
        pair::from_settings(name, [&settings, &settings]).map(drop).unwrap_err().to_string()
    };
    let error = refused("ale", analytic());
    assert!(error.contains("take the band bootstrap with the interval percentile"), "{error}");
    let studentised = Settings { interval: Some(Interval::Studentised), ..bootstrap(99) };
    let error = refused("ale", studentised);
    assert!(error.contains("the interval studentised needs standard errors"), "{error}");
    for name in ["pdp", "ale"] {
        let bins = Settings { band: Some(BandKind::Bins), ..Settings::default() };
        let error = refused(name, bins);
        assert!(error.contains("the band bins is of the bins of one feature"), "{error}");
        let rebin = Settings { rebin: Some(true), ..bootstrap(99) };
        let error = refused(name, rebin);
        assert!(error.contains("of a pair takes no option `rebin`"), "{error}");
        let lonely = Settings { level: Some(0.9), ..Settings::default() };
        assert!(refused(name, lonely).contains("`level` needs `band`"));
        let level = Settings { level: Some(1.5), ..bootstrap(99) };
        assert!(refused(name, level).contains("must be between 0 and 1"));
        assert!(refused(name, bootstrap(10)).contains("must be from 39"));
    }
    let resamples = Settings { resamples: Some(99), ..analytic() };
    assert!(refused("pdp", resamples).contains("of the band bootstrap alone"));
    // More than is held at once, before the model is asked.
    let data = sample(300, 0);
    let fine = on_unit_square(Settings { grid: Some(900), ..bootstrap(99) });
    let error = built("pdp", &fine).estimate(&data, &model(), [0, 1]).unwrap_err().to_string();
    assert!(error.contains("fewer points"), "{error}");
}
