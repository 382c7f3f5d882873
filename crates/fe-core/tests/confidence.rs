//! Confidence bands: what they must be whatever the data, and whether they cover.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::effect::ConfidenceBand;
use fe_core::model::FunctionModel;
use fe_core::settings::EmptyBins;
use fe_core::settings::{BandKind, Interval};
use fe_core::{AxisChoice, Centring, Dataset, Effect, Error, Model, Settings, estimator};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{assert_close, constant, curved};

const BANDED: [&str; 5] = ["pdp", "ale", "dale", "rhale", "shapdp"];

/// Two dependent features in the unit square.
fn sample(rows: usize, seed: u64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut values = Array2::zeros((2, rows));
    for row in 0..rows {
        let (u, v): (f64, f64) = (random.random(), random.random());
        values[[0, row]] = u;
        values[[1, row]] = 0.5 * u + v;
    }
    Dataset::from_features(values).unwrap()
}

fn banded(band: BandKind) -> Settings {
    Settings { band: Some(band), axis: Some(AxisChoice::Given(0.0, 1.0)), ..Settings::default() }
}

/// With few grid points or bins.
fn small(name: &str, settings: Settings) -> Settings {
    match name {
        "pdp" | "shapdp" => Settings { grid: Some(11), ..settings },
        _ => Settings { bins: Some(10), ..settings },
    }
}

fn estimate(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> Effect {
    let estimator = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(data, model, 0).unwrap().remove(0)
}

fn band(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> ConfidenceBand {
    estimate(name, settings, data, model).confidence.unwrap()
}

/// All limits of a band at its own places.
fn limits(band: &ConfidenceBand) -> Vec<Vec<f64>> {
    let all = [Some(&band.pointwise), band.simultaneous.as_ref()];
    let all = all.into_iter().flatten();
    all.flat_map(|limits| [limits.lower.y().to_vec(), limits.upper.y().to_vec()]).collect()
}

fn widths(band: &ConfidenceBand) -> Vec<f64> {
    let limits = limits(band);
    limits[0].iter().zip(&limits[1]).map(|(lower, upper)| upper - lower).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Every kind of band that an estimator has.
fn kinds() -> Vec<Settings> {
    let bootstrap = Settings { resamples: Some(59), ..banded(BandKind::Bootstrap) };
    vec![
        banded(BandKind::Analytic),
        bootstrap.clone(),
        Settings { interval: Some(Interval::Studentised), ..bootstrap },
    ]
}

const CENTRINGS: [Centring; 4] =
    [Centring::None, Centring::Start, Centring::Integral, Centring::Data];

fn every(mut check: impl FnMut(&str, Settings)) {
    for name in BANDED {
        for kind in kinds() {
            for centring in CENTRINGS {
                check(name, small(name, Settings { center: Some(centring), ..kind.clone() }));
            }
        }
    }
}

#[test]
fn limits_lie_around_the_curve_and_simultaneous_ones_outside() {
    let data = sample(80, 1);
    for name in BANDED {
        for kind in kinds() {
            let effect = estimate(name, &small(name, kind.clone()), &data, &curved());
            let band = effect.confidence.as_ref().unwrap();
            let curve = effect.curve.at_all(band.pointwise.lower.x()).unwrap();
            let all = limits(band);
            if kind.band == Some(BandKind::Analytic) {
                for i in 0..curve.len() {
                    assert!(all[0][i] <= curve[i] && curve[i] <= all[1][i], "{name}");
                    assert!(all[2][i] <= all[0][i] && all[1][i] <= all[3][i], "{name}");
                }
            }
            // Quantiles of resamples need not lie around the curve everywhere.
            let width = |lower: usize| mean(&all[lower + 1]) - mean(&all[lower]);
            assert!(0.0 < width(0) && width(0) < width(2), "{name}");
        }
    }
}

#[test]
fn the_bands_curve_is_the_effects_curve() {
    // The percentile band of resamples that are the data themselves has no width and is the curve: the
    // weighted sum of bin means, or of grid values, is what the estimator computed.
    let data = Dataset::from_rows(&ndarray::array![[0.5, 1.0]].view()).unwrap();
    let data = data.with_weights(vec![40.0]).unwrap();
    every(|name, settings| {
        if settings.interval.is_none() && settings.band == Some(BandKind::Bootstrap) {
            let effect = estimate(name, &settings, &data, &curved());
            let band = effect.confidence.as_ref().unwrap();
            let curve = effect.curve.at_all(band.pointwise.lower.x()).unwrap();
            assert_close(band.pointwise.lower.y(), &curve, 1e-12);
            assert_close(band.pointwise.upper.y(), &curve, 1e-12);
        }
    });
}

#[test]
fn constants_and_linear_components_are_certain() {
    let data = sample(60, 2);
    let linear = FunctionModel::new(2, |x| 3.0 * x[0] + (4.0 * x[1]).sin())
        .with_partial(|s, x| if s == 0 { 3.0 } else { 4.0 * (4.0 * x[1]).cos() });
    every(|name, settings| {
        // What the instances' own places add to the mean that is taken away is not certain.
        if settings.center != Some(Centring::Data) {
            // A partial dependence that is not centred has a level, and that is a mean.
            let level = name == "pdp" && settings.center == Some(Centring::None);
            let shap_level = name == "shapdp" && settings.center == Some(Centring::None);
            let widths_of_none = widths(&band(name, &settings, &data, &constant()));
            assert!(widths_of_none.iter().all(|w| *w < 1e-14), "{name} {widths_of_none:?}");
            let widths = widths(&band(name, &settings, &data, &linear));
            if !(level || shap_level) {
                assert!(widths.iter().all(|w| *w < 1e-12), "{name} {widths:?}");
            }
        }
    });
}

#[test]
fn bands_move_and_scale_with_the_output() {
    let data = sample(70, 3);
    let f = |x: &[f64]| (3.0 * x[0] * x[1]).sin() + x[0] * x[0];
    let d = |s: usize, x: &[f64]| {
        let outer = 3.0 * (3.0 * x[0] * x[1]).cos();
        if s == 0 { outer * x[1] + 2.0 * x[0] } else { outer * x[0] }
    };
    let model = FunctionModel::new(2, f).with_partial(d);
    let scaled = FunctionModel::new(2, |x| 7.0 - 2.0 * f(x)).with_partial(|s, x| -2.0 * d(s, x));
    every(|name, settings| {
        let (a, b) = (
            limits(&band(name, &settings, &data, &model)),
            limits(&band(name, &settings, &data, &scaled)),
        );
        let level =
            if name == "pdp" && settings.center == Some(Centring::None) { 7.0 } else { 0.0 };
        for (plus, minus) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            let expected: Vec<f64> = a[plus].iter().map(|y| level - 2.0 * y).collect();
            assert_close(&b[minus], &expected, 1e-9);
        }
    });
}

#[test]
fn a_weight_of_two_is_a_duplicated_row_and_none_an_absent_one() {
    let few = sample(50, 4);
    let weights: Vec<f64> = (0..50).map(|i| f64::from(i % 3)).collect();
    let rows: Vec<usize> = (0..50).flat_map(|i| vec![i; i % 3]).rev().collect();
    let array = Array2::from_shape_fn((2, rows.len()), |(j, i)| few.feature(j)[rows[i]]);
    let duplicated = Dataset::from_features(array).unwrap();
    let weighted = few.with_weights(weights).unwrap();
    every(|name, settings| {
        let a = limits(&band(name, &settings, &weighted, &curved()));
        let b = limits(&band(name, &settings, &duplicated, &curved()));
        for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
            assert!((a - b).abs() < 1e-8, "{name} {settings:?}: {a} against {b}");
        }
    });
}

#[test]
fn threads_change_nothing() {
    let data = sample(700, 5);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let many = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for name in BANDED {
        for kind in kinds() {
            let background = (name == "shapdp").then_some(20);
            let settings = Settings { background, ..small(name, kind) };
            let run = || limits(&band(name, &settings, &data, &curved()));
            assert_eq!(alone.install(run), many.install(run), "{name}");
        }
    }
}

#[test]
fn width_falls_with_the_root_of_the_sample() {
    for name in BANDED {
        let background = (name == "shapdp").then_some(100);
        let settings = Settings { background, ..small(name, banded(BandKind::Analytic)) };
        let width = |rows| mean(&widths(&band(name, &settings, &sample(rows, 6), &curved())));
        if name == "shapdp" || name == "rhale" {
            // The background does not grow, and automatic bins change.
            assert!(width(4000) < width(500), "{name}");
        } else {
            let ratio = width(500) / width(8000);
            assert!((ratio / 4.0 - 1.0).abs() < 0.1, "{name}: {ratio}");
        }
    }
}

/// The same data with the first feature rounded to tenths.
fn in_tenths(data: &Dataset) -> Dataset {
    let value = |(feature, row): (usize, usize)| match data.feature(feature)[row] {
        x if feature == 0 => (10.0 * x).round() / 10.0,
        x => x,
    };
    Dataset::from_features(Array2::from_shape_fn((2, data.len()), value)).unwrap()
}

/// Standard errors from 1999 resamples are known to 1.6 %; the bootstrap's variance has n in the place
/// of n − 1, which 20 to 60 instances in a bin make 2 %. Bins of distinct values are those of the analytic band
/// too, which is made of finer cells else.
#[test]
fn analytic_and_resampled_bands_agree() {
    for name in ["pdp", "ale", "dale", "shapdp"] {
        let data = sample(400, 7);
        let data = if name == "ale" || name == "dale" { in_tenths(&data) } else { data };
        for centring in CENTRINGS {
            let distinct = (name == "ale" || name == "dale").then_some(11);
            let with = |band| {
                // Analytic bands have places between the limits of bins.
                let points = Some((0..=100).map(|i| f64::from(i) / 100.0).collect());
                Settings { center: Some(centring), distinct, points, ..small(name, banded(band)) }
            };
            let analytic = band(name, &with(BandKind::Analytic), &data, &curved());
            let resampled = Settings { resamples: Some(1999), ..with(BandKind::Bootstrap) };
            let resampled = band(name, &resampled, &data, &curved());
            let (a, b) = (mean(&widths(&analytic)), mean(&widths(&resampled)));
            // The analytic band of a spline has the bias of smoothing on top.
            let tolerance = if name == "shapdp" { 0.15 } else { 0.06 };
            assert!((a / b - 1.0).abs() < tolerance, "{name} {centring:?}: {a} against {b}");
        }
    }
}

#[test]
fn bins_chosen_anew_differ_more() {
    let data = sample(300, 8);
    let held = small("rhale", Settings { resamples: Some(199), ..banded(BandKind::Bootstrap) });
    let anew = Settings { rebin: Some(true), ..held.clone() };
    let width = |settings: &Settings| mean(&widths(&band("rhale", settings, &data, &curved())));
    assert!(width(&anew) > width(&held));
    // Bins of equal width are the same ones whenever they are chosen.
    for name in ["ale", "dale"] {
        let [held, anew] = [&held, &anew].map(|s| limits(&band(name, s, &data, &curved())));
        assert_eq!(held, anew, "{name}");
    }
}

#[test]
fn bins_alone_have_the_errors_of_their_means() {
    let rows = ndarray::array![[0.0, 1.0], [0.25, 3.0], [0.5, 2.0], [0.75, 4.0], [1.0, 9.0]];
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(2, |x| x[0] * x[1]);
    let settings = Settings { bins: Some(2), ..banded(BandKind::Bins) };
    let effect = estimate("ale", &settings, &data, &model);
    let limits = effect.confidence.unwrap().pointwise;
    assert!(limits.lower.y()[0].is_nan());
    // Differences over the first bin: 0.5 and 1.5; over the second: 1, 2 and 4.5.
    let half = |i: usize| (limits.upper.y()[i] - limits.lower.y()[i]) / 2.0;
    assert!((half(1) - 12.706_204_736 * 0.5).abs() < 1e-6, "{}", half(1));
    let sd = (3.25_f64).sqrt();
    assert!((half(2) - 4.302_652_730 * sd / 3_f64.sqrt()).abs() < 1e-6, "{}", half(2));
}

/// A hundred and one points, 400 datasets of 200 rows (of 1000 for splines). With N bands that cover with
/// probability p each at a point, and all points of a band together counted as one, the standard error
/// of the mean coverage is at most √(0.05 · 0.95 / 400) = 0.011; the bounds are four of these away: a
/// right band fails once in 16 000 such tests.
#[test]
fn bands_cover_as_often_as_they_say() {
    // f = x1² + x1 x2 with x2 = x1/2 + U: the mean slope at x1 is 2.5 x1 + 0.5, E x2 is 0.75.
    let model = FunctionModel::new(2, |x| x[0] * x[0] + x[0] * x[1])
        .with_partial(|s, x| if s == 0 { 2.0 * x[0] + x[1] } else { x[0] });
    // Curves start at 0: a mean over the grid of `pdp` would not be that over the axis.
    let ale = |x: f64| 1.25 * x * x + 0.5 * x;
    let pd = |x: f64| x * x + 0.75 * x;
    // The part of E[φ1 | x1] that depends on x1 is x1² + ½ x1 E[x2 | x1] + ½ x1 E x2 − ½ E[x2 | x1] E x1.
    let shap = |x: f64| x * x + 0.5 * x * (0.5 * x + 0.5) + 0.375 * x - 0.125 * x;
    let truth = |name: &str, x: f64| match name {
        "pdp" => pd(x),
        "shapdp" => shap(x),
        _ => ale(x),
    };
    let mean_of = |name: &str| {
        (0..1000).map(|i| truth(name, (f64::from(i) + 0.5) / 1000.0)).sum::<f64>() / 1000.0
    };
    let replicates = 400;
    for (name, kind) in [
        ("pdp", BandKind::Analytic),
        ("ale", BandKind::Analytic),
        ("dale", BandKind::Analytic),
        ("shapdp", BandKind::Analytic),
        ("dale", BandKind::Bootstrap),
    ] {
        // Smoothing is biased at the ends, which a curve that starts at 0 would show everywhere.
        let start = name != "shapdp";
        let center = Some(if start { Centring::Start } else { Centring::Integral });
        let grid = (!start).then_some(51);
        let settings = Settings { center, ..small(name, banded(kind)) };
        // With fewer rows splines are too biased at the ends: see docs/bands.md.
        let (rows, background) = if start { (200, None) } else { (1000, Some(100)) };
        let settings = Settings { grid: grid.or(settings.grid), background, ..settings };
        let constant = if start { 0.0 } else { mean_of(name) };
        let settings = match kind {
            BandKind::Bootstrap => {
                Settings { resamples: Some(199), interval: Some(Interval::Studentised), ..settings }
            }
            _ => settings,
        };
        let (mut pointwise, mut simultaneous) = (0.0, 0.0);
        for seed in 0..replicates {
            let band = band(name, &settings, &sample(rows, 100 + seed), &model);
            let all = limits(&band);
            let x = band.pointwise.lower.x();
            let held = |pair: usize| -> Vec<bool> {
                let inside = |i: usize| {
                    (all[pair][i]..=all[pair + 1][i]).contains(&(truth(name, x[i]) - constant))
                };
                // At the start nothing is uncertain.
                (1..x.len()).map(inside).collect()
            };
            let share = held(0).iter().filter(|held| **held).count() as f64 / (x.len() - 1) as f64;
            pointwise += share / replicates as f64;
            simultaneous += f64::from(held(2).iter().all(|held| *held)) / replicates as f64;
        }
        assert!((0.906..0.994).contains(&pointwise), "{name} {kind:?}: {pointwise}");
        assert!((0.906..0.994).contains(&simultaneous), "{name} {kind:?}: {simultaneous}");
    }
}

/// Three bins, across which f is bent and has a kink where no limit is; the density falls to nothing at 1. As in the
/// test above, the bounds are four standard errors away.
#[test]
fn analytic_bands_hold_curves_that_bins_miss() {
    let bend = |x: f64| if x < 0.37 { 2.0 * x } else { 1.11 - x } + 3.0 * x * x;
    let slope = |x: f64| if x < 0.37 { 2.0 } else { -1.0 } + 6.0 * x;
    let model = FunctionModel::new(2, move |x| bend(x[0]) + x[0] * x[1])
        .with_partial(move |s, x| if s == 0 { slope(x[0]) + x[1] } else { x[0] });
    let replicates = 400;
    for (name, binning) in
        [("ale", None), ("dale", None), ("rhale", None), ("rhale", Some("penalized"))]
    {
        let settings = Settings {
            bins: binning.is_none().then_some(3),
            binning: binning.map(str::to_owned),
            center: Some(Centring::Start),
            ..banded(BandKind::Analytic)
        };
        let (mut pointwise, mut simultaneous, mut curve) = (0.0, 0.0, 0.0);
        for seed in 0..replicates {
            let whole = sample(300, 900 + seed);
            // The smaller of two uniform numbers; the other feature has the mean 3/4 wherever that is.
            let array = Array2::from_shape_fn((2, 150), |(feature, row)| match feature {
                0 => whole.feature(0)[row].min(whole.feature(0)[row + 150]),
                _ => whole.feature(1)[row] - 0.5 * whole.feature(0)[row] + 0.25,
            });
            let data = Dataset::from_features(array).unwrap();
            let effect = estimate(name, &settings, &data, &model);
            let band = effect.confidence.as_ref().unwrap();
            let (x, all) = (band.pointwise.lower.x(), limits(band));
            let truth: Vec<f64> = x.iter().map(|&x| bend(x) + 0.75 * x).collect();
            let held = |lower: &[f64], upper: &[f64]| {
                let inside = |i: &usize| (lower[*i]..=upper[*i]).contains(&truth[*i]);
                (1..x.len()).filter(inside).count() as f64 / (x.len() - 1) as f64
            };
            pointwise += held(&all[0], &all[1]) / f64::from(replicates as u32);
            let whole = held(&all[2], &all[3]) == 1.0;
            simultaneous += f64::from(whole) / f64::from(replicates as u32);
            // The curve of few bins is not in its band everywhere.
            let y = effect.curve.at_all(x).unwrap();
            let missed = (0..x.len()).any(|i| !(all[2][i]..=all[3][i]).contains(&y[i]));
            curve += f64::from(missed) / f64::from(replicates as u32);
        }
        assert!((0.906..0.994).contains(&pointwise), "{name} {binning:?}: {pointwise}");
        assert!(simultaneous > 0.906, "{name} {binning:?}: {simultaneous}");
        assert!(binning.is_some() || curve > 0.9, "{name} {binning:?}: {curve}");
    }
}

/// How high the curve jumps differs between instances, of which five are in the cell with the jump.
#[test]
fn analytic_bands_hold_a_jump_whose_height_differs() {
    let height = |x: f64| (2.0 * x - 1.5).powi(2);
    let model = FunctionModel::new(2, move |x| if x[0] < 0.5 { 0.0 } else { height(x[1]) });
    let settings =
        Settings { bins: Some(10), center: Some(Centring::Start), ..banded(BandKind::Analytic) };
    let datasets = 200;
    let (mut pointwise, mut whole) = (0.0, 0);
    for seed in 0..datasets {
        let drawn = sample(300, 1000 + seed);
        // The other feature is uniform around 3/4 wherever the first one is.
        let array = Array2::from_shape_fn((2, 300), |(feature, row)| match feature {
            0 => drawn.feature(0)[row],
            _ => drawn.feature(1)[row] - 0.5 * drawn.feature(0)[row] + 0.25,
        });
        let band = band("ale", &settings, &Dataset::from_features(array).unwrap(), &model);
        let (x, all) = (band.pointwise.lower.x(), limits(&band));
        let held = |lower: &[f64], upper: &[f64]| {
            let truth = |x: f64| if x < 0.5 { 0.0 } else { 1.0 / 3.0 };
            let inside = |i: &usize| (lower[*i]..=upper[*i]).contains(&truth(x[*i]));
            (0..x.len()).filter(|&i| x[i] > 0.45).filter(inside).count() as f64
                / x.iter().filter(|&&x| x > 0.45).count() as f64
        };
        pointwise += held(&all[0], &all[1]) / datasets as f64;
        whole += usize::from(held(&all[2], &all[3]) == 1.0);
    }
    assert!((0.93..0.99).contains(&pointwise), "{pointwise}");
    // A standard error is 0.02.
    assert!(whole as f64 > 0.88 * datasets as f64, "{whole} of {datasets}");
}

#[test]
fn bad_requests_are_refused() {
    let refuse =
        |name: &str, settings: Settings| estimator::from_settings(name, &settings).unwrap_err();
    for level in [0.0, 1.0, -0.5, f64::NAN] {
        let error = refuse("ale", Settings { level: Some(level), ..banded(BandKind::Analytic) });
        assert!(matches!(error, Error::BadOption { option: "level", .. }), "{error}");
    }
    for resamples in [0, 1, 38] {
        let settings = Settings { resamples: Some(resamples), ..banded(BandKind::Bootstrap) };
        let error = refuse("ale", settings).to_string();
        assert!(error.contains("from 39"), "{error}");
    }
    for name in ["ice", "dice", "dpdp"] {
        let error = refuse(name, banded(BandKind::Analytic)).to_string();
        assert!(error.contains(&format!("`{name}`")) && error.contains("band"), "{error}");
    }
    let rows = Array2::from_shape_fn((40, 1), |(i, _)| i as f64);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let mplot = estimator::from_settings("mplot", &banded(BandKind::Analytic)).unwrap();
    let error = mplot.estimate(&data, &FunctionModel::new(1, |x| x[0]), 0).unwrap_err();
    assert!(error.to_string().contains("`mplot` has a confidence band at levels"), "{error}");
    let lonely = Settings { level: Some(0.9), ..Settings::default() };
    assert!(refuse("ale", lonely).to_string().contains("needs `band`"));
    let analytic = Settings { resamples: Some(100), ..banded(BandKind::Analytic) };
    assert!(refuse("ale", analytic).to_string().contains("bootstrap alone"));
    assert!(refuse("pdp", banded(BandKind::Bins)).to_string().contains("with bins"));
    let rebin = Settings { rebin: Some(true), ..banded(BandKind::Bootstrap) };
    assert!(refuse("pdp", rebin).to_string().contains("with bins"));
}

#[test]
fn data_that_tell_nothing_of_uncertainty_are_refused() {
    let one = Dataset::from_rows(&ndarray::array![[0.5, 1.0]].view()).unwrap();
    for name in BANDED {
        let settings = small(name, banded(BandKind::Analytic));
        let estimator = estimator::from_settings(name, &settings).unwrap();
        let error = estimator.estimate(&one, &curved(), 0).unwrap_err();
        assert!(matches!(error, Error::Incompatible(_)), "{name}: {error}");
    }
}

#[test]
fn every_policy_for_empty_bins_has_a_band() {
    let data = sample(30, 9);
    for empty in
        [EmptyBins::Interpolate, EmptyBins::InterpolateIndex, EmptyBins::Zero, EmptyBins::Merge]
    {
        for band in [BandKind::Analytic, BandKind::Bootstrap] {
            let settings = Settings { bins: Some(40), empty: Some(empty), ..banded(band) };
            let effect = estimate("dale", &settings, &data, &curved());
            let all = limits(effect.confidence.as_ref().unwrap());
            assert!(all.iter().flatten().all(|y| y.is_finite()), "{empty:?}");
        }
    }
}
