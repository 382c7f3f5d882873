//! Bands from refits: what they must be of any learner, and whether they hold what a learner is expected to give.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::effect::{ConfidenceBand, RefitRecord};
use fe_core::model::FunctionModel;
use fe_core::refits::{RefitOptions, RefittedModel, Refitting};
use fe_core::settings::{BandKind, Correction, EmptyBins, Interpolation, LevelOrder, Scheme};
use fe_core::{AxisChoice, Centring, Dataset, Error, Settings, estimator};
use ndarray::Array2;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, StudentsT};
use support::assert_close;

/// Two features in the unit square.
fn sample(rows: usize, seed: u64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    Dataset::from_rows(&Array2::from_shape_fn((rows, 2), |_| random.random()).view()).unwrap()
}

fn refit() -> Settings {
    Settings { band: Some(BandKind::Refit), refits: Some(8), ..Settings::default() }
}

fn on_unit(settings: Settings) -> Settings {
    Settings { axis: Some(AxisChoice::Given(0.0, 1.0)), ..settings }
}

type Learned = Result<RefittedModel, String>;

/// The line of least squares through a target, of the first feature alone.
fn line(data: &Dataset, y: &[f64]) -> impl Fn(&[usize], u64) -> Learned + Sync {
    let (x, y) = (data.feature(0).to_vec(), y.to_vec());
    move |rows, _| {
        let count = rows.len() as f64;
        let mean = |of: &[f64]| rows.iter().map(|&row| of[row]).sum::<f64>() / count;
        let (mx, my) = (mean(&x), mean(&y));
        let sum = |of: &dyn Fn(usize) -> f64| rows.iter().map(|&row| of(row)).sum::<f64>();
        let slope = sum(&|i| (x[i] - mx) * (y[i] - my)) / sum(&|i| (x[i] - mx).powi(2));
        let model = FunctionModel::new(2, move |x| my + slope * (x[0] - mx));
        Ok(Box::new(model.with_partial(move |s, _| if s == 0 { slope } else { 0.0 })))
    }
}

/// A curve that bends, and interacts, as the rows of the fit say: its size is their mean of a feature.
fn bent(data: &Dataset) -> impl Fn(&[usize], u64) -> Learned + Sync {
    let x = data.feature(1).to_vec();
    move |rows, seed| {
        let size = rows.iter().map(|&row| x[row]).sum::<f64>() / rows.len() as f64;
        let size = size + (seed % 7) as f64 / 100.0;
        let model = FunctionModel::new(2, move |x| size * (3.0 * x[0]).sin() + x[0] * x[0] * x[1]);
        Ok(Box::new(model.with_partial(move |s, x| match s {
            0 => 3.0 * size * (3.0 * x[0]).cos() + 2.0 * x[0] * x[1],
            _ => x[0] * x[0],
        })))
    }
}

fn band(
    name: &str,
    settings: &Settings,
    data: &Dataset,
    learn: &(dyn Fn(&[usize], u64) -> Learned + Sync),
) -> fe_core::Result<ConfidenceBand> {
    let refitting = Refitting::from_settings(name, settings)?.expect("a band from refits");
    let refits = refitting.options().fit(data, learn, false)?;
    let all: Vec<usize> = (0..data.len()).collect();
    let model = learn(&all, 0).unwrap();
    let mut effects = refitting.estimate(data, &*model, 0, &refits)?;
    Ok(effects.remove(0).confidence.unwrap())
}

fn record(band: &ConfidenceBand) -> &RefitRecord {
    band.record.refits.as_ref().unwrap()
}

/// All limits of a band at its own places.
fn limits(band: &ConfidenceBand) -> Vec<Vec<f64>> {
    let all = [&band.pointwise, band.simultaneous.as_ref().unwrap()];
    all.iter().flat_map(|of| [of.lower.y().to_vec(), of.upper.y().to_vec()]).collect()
}

/// By hand: slopes of all refits, their variance, and the factor and the centre of each scheme and correction.
#[test]
fn limits_are_those_of_students_t_with_the_corrected_variance() {
    let data = sample(60, 3);
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let noise = |_| -> f64 { StandardNormal.sample(&mut random) };
    let noise: Vec<f64> = (0..60).map(noise).collect();
    let y: Vec<f64> = data.feature(0).iter().zip(noise).map(|(x, e)| 2.0 * x + e).collect();
    let learn = line(&data, &y);
    for (scheme, corrections) in [
        ("bootstrap", [None, Some(Correction::NadeauBengio)]),
        ("subsample:0.5", [Some(Correction::Jackknife), Some(Correction::NadeauBengio)]),
        ("cv:4", [None, Some(Correction::NadeauBengio)]),
    ] {
        let resampling: Scheme = scheme.parse().unwrap();
        for correction in corrections {
            let settings = Settings { resampling: Some(resampling), correction, ..refit() };
            let settings = on_unit(Settings { grid: Some(3), band_seed: Some(5), ..settings });
            let found = band("pdp", &settings, &data, &learn).unwrap();
            let resamples: Vec<_> = (0..8).map(|i| resampling.resample(60, 5, i)).collect();
            let slopes: Vec<f64> = resamples
                .iter()
                .map(|of| {
                    let model = learn(&of.fit, of.seed).unwrap();
                    let at = |x: f64| FunctionAt(&*model).at(x);
                    at(1.0) - at(0.0)
                })
                .collect();
            let mean = slopes.iter().sum::<f64>() / 8.0;
            let variance = slopes.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 7.0;
            let left = resamples.iter().map(|of| of.left_out.len() as f64).sum::<f64>() / 8.0;
            let fitted = 60.0 - left;
            let own = {
                let model = learn(&(0..60).collect::<Vec<_>>(), 0).unwrap();
                FunctionAt(&*model).at(1.0) - FunctionAt(&*model).at(0.0)
            };
            let (factor, centre) = match (correction.unwrap_or_default(), scheme) {
                (Correction::NadeauBengio, _) => (0.125 + left / fitted, mean),
                (Correction::Jackknife, "bootstrap") => (1.0, own),
                (Correction::Jackknife, _) => (fitted / left, own),
            };
            assert_close(&[record(&found).variance_factor], &[factor], 1e-12);
            let t = StudentsT::new(0.0, 1.0, 7.0).unwrap().inverse_cdf(0.975);
            // At the end of a line that is 0 in the middle.
            let half = t * (factor * variance).sqrt() / 2.0;
            assert_close(&[found.pointwise.lower.at(1.0).unwrap()], &[centre / 2.0 - half], 1e-9);
            assert_close(&[found.pointwise.upper.at(1.0).unwrap()], &[centre / 2.0 + half], 1e-9);
            // A line is uncertain in one way only: along all of it as at a point.
            let simultaneous = found.simultaneous.unwrap().upper.at(1.0).unwrap();
            assert!((simultaneous - centre / 2.0 - half) / half < 0.06, "{simultaneous}");
        }
    }
}

/// A model at a value of the first feature.
struct FunctionAt<'a>(&'a dyn fe_core::Model);

impl FunctionAt<'_> {
    fn at(&self, x: f64) -> f64 {
        use fe_core::model::{Column, Rows};
        let columns = [Column::Constant(x), Column::Constant(0.5)];
        let mut value = [0.0];
        self.0.predict(&Rows::new(&columns, 1), &mut value).unwrap();
        value[0]
    }
}

#[test]
fn bands_depend_on_nothing_but_the_seed() {
    let data = sample(50, 1);
    let on = |threads: usize, seed: u64| {
        let settings = Settings { band_seed: Some(seed), bins: Some(5), ..refit() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| limits(&band("ale", &settings, &data, &bent(&data)).unwrap()))
    };
    assert_eq!(on(1, 0), on(3, 0));
    assert_ne!(on(1, 0), on(1, 1));
}

/// Which rows are drawn where no scheme is asked for depends on whether models have steps.
#[test]
fn steps_are_refitted_to_half_of_the_rows() {
    let data = sample(60, 2);
    let drawn = |resampling: Option<Scheme>, has_steps: bool| {
        let seen = std::sync::Mutex::new(Vec::new());
        let learn = |rows: &[usize], seed: u64| {
            seen.lock().unwrap().push(rows.len());
            bent(&data)(rows, seed)
        };
        let options = RefitOptions { resampling, refits: 2, seed: 1 };
        options.fit(&data, &learn, has_steps).unwrap();
        seen.into_inner().unwrap()
    };
    assert_eq!(drawn(None, true), [30, 30]);
    assert_eq!(drawn(None, false), [60, 60]);
    assert_eq!(drawn(Some(Scheme::Subsample(0.1)), true), [6, 6]);
    assert_eq!(drawn(Some(Scheme::Bootstrap), true), [60, 60]);
}

/// The first refits are the same, however many there are.
#[test]
fn refits_do_not_depend_on_their_number() {
    for scheme in ["bootstrap", "subsample", "cv:5"] {
        let scheme: Scheme = scheme.parse().unwrap();
        assert_eq!(scheme.resample(40, 9, 3), scheme.resample(40, 9, 3));
    }
    let data = sample(40, 2);
    let taken = |refits: usize| {
        let seen = std::sync::Mutex::new(Vec::new());
        let learn = |rows: &[usize], seed: u64| {
            seen.lock().unwrap().push((seed, rows.to_vec()));
            bent(&data)(rows, seed)
        };
        let options = RefitOptions { resampling: Some(Scheme::Bootstrap), refits, seed: 1 };
        options.fit(&data, &learn, false).unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort();
        seen
    };
    let (few, many) = (taken(3), taken(6));
    assert!(few.iter().all(|fit| many.contains(fit)));
}

/// Of curves that differ by a constant alone nothing is left when they are centred alike, and the mean over all rows is 0
/// where that is what centring says, whichever rows were left out.
#[test]
fn refits_are_centred_alike() {
    let data = sample(80, 6);
    let constant = |rows: &[usize], _: u64| -> Learned {
        let constant = rows[0] as f64;
        let model = FunctionModel::new(2, move |x| constant + (4.0 * x[0]).cos());
        Ok(Box::new(
            model.with_partial(|s, x| if s == 0 { -4.0 * (4.0 * x[0]).sin() } else { 0.0 }),
        ))
    };
    for name in ["pdp", "ale", "dale"] {
        for center in [Centring::Integral, Centring::Data, Centring::Start] {
            // No bin is without rows that were left out.
            let bins = (name != "pdp").then_some(4);
            let settings = Settings { center: Some(center), bins, ..refit() };
            let found = band(name, &settings, &data, &constant).unwrap();
            let limits = limits(&found);
            let of_differences = name == "ale" || name == "pdp";
            for (lower, upper) in limits[0].iter().zip(&limits[1]) {
                assert!(!of_differences || upper - lower < 1e-9, "{name} {center:?}");
            }
            if center != Centring::Data {
                continue;
            }
            let found = band(name, &settings, &data, &bent(&data)).unwrap();
            let (mut mean, rows) = (0.0, data.len() as f64);
            for &x in data.feature(0) {
                let (lower, upper) = (&found.pointwise.lower, &found.pointwise.upper);
                mean += (lower.at(x).unwrap() + upper.at(x).unwrap()) / 2.0 / rows;
            }
            // Between places of the band a bent curve is a line.
            assert!(mean.abs() < 1e-3, "{name}: {mean}");
        }
    }
}

/// Bins that rows decide are those of the estimate: the band of quantile bins has their limits among its places.
#[test]
fn all_refits_have_the_bins_of_the_estimate() {
    let data = sample(90, 7);
    for (name, binning) in [("ale", "quantile"), ("rhale", "dp"), ("rhale", "penalized")] {
        let settings = Settings { binning: Some(binning.to_owned()), ..refit() };
        let refitting = Refitting::from_settings(name, &settings).unwrap().unwrap();
        let learn = bent(&data);
        let refits = refitting.options().fit(&data, &learn, false).unwrap();
        let model = learn(&(0..90).collect::<Vec<_>>(), 0).unwrap();
        let effect = refitting.estimate(&data, &*model, 0, &refits).unwrap().remove(0);
        let plain = Settings { band: None, refits: None, ..settings };
        let plain = estimator::from_settings(name, &plain).unwrap();
        let plain = plain.estimate(&data, &*model, 0).unwrap().remove(0);
        assert_eq!(effect.curve, plain.curve, "a band does not move the curve");
        let places = effect.confidence.unwrap().pointwise.lower.x().to_vec();
        let limits = plain.bins.unwrap().partition.limits().to_vec();
        assert!(limits.iter().all(|limit| places.contains(limit)), "{name} {binning}");
    }
}

/// Levels of a feature have a band at each of them.
#[test]
fn levels_have_bands() {
    use fe_core::FeatureKind;
    let rows =
        Array2::from_shape_fn(
            (120, 2),
            |(i, j)| {
                if j == 0 { (i % 3) as f64 } else { i as f64 / 120.0 }
            },
        );
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let data = data.with_kinds(vec![FeatureKind::Nominal, FeatureKind::Continuous]).unwrap();
    let level = |rows: &[usize], _: u64| -> Learned {
        let size = rows.iter().filter(|&&row| row % 3 == 1).count() as f64;
        Ok(Box::new(FunctionModel::new(2, move |x| if x[0] == 1.0 { size } else { x[1] })))
    };
    for name in ["pdp", "ale"] {
        let found = band(name, &refit(), &data, &level).unwrap();
        assert_eq!(found.pointwise.lower.x(), [0.0, 1.0, 2.0], "{name}");
        assert!(found.pointwise.upper.y()[1] - found.pointwise.lower.y()[1] > 1.0, "{name}");
    }
    let settings = Settings { order: Some(LevelOrder::Response), ..refit() };
    let said = band("ale", &settings, &data, &level).unwrap_err().to_string();
    assert!(said.contains("given or name"), "{said}");
}

/// A learner of which all refits are flat has p = 1, and no width; one that has the same effect every time no test.
#[test]
fn certain_curves_are_told_from_uncertain_ones() {
    let data = sample(40, 8);
    let of = |slope: f64| {
        move |rows: &[usize], _: u64| -> Learned {
            let constant = rows[0] as f64;
            Ok(Box::new(FunctionModel::new(2, move |x| constant + slope * x[0] + x[1])))
        }
    };
    let flat = band("pdp", &refit(), &data, &of(0.0)).unwrap();
    assert_eq!(record(&flat).p_flat, Some(1.0));
    assert!(flat.caution().is_some());
    let certain = band("pdp", &refit(), &data, &of(1.0)).unwrap();
    assert_eq!(record(&certain).p_flat, None);
}

/// Coverage of the slope that least squares is expected to give, and the size of the test, over datasets. The plain
/// correction is that of rows that are left out, which say nothing here: its band of rows drawn without replacement is far too
/// narrow, and the test is wrong far too often.
#[test]
fn corrections_hold_what_they_are_for() {
    const DATASETS: u64 = 300;
    let share = |scheme: &str, correction: Correction| {
        let (mut held, mut held_as_a_whole, mut rejected) = (0.0, 0.0, 0.0);
        for dataset in 0..DATASETS {
            let data = sample(60, 1000 + dataset);
            let mut random = ChaCha8Rng::seed_from_u64(dataset);
            let y: Vec<f64> = (0..60).map(|_| StandardNormal.sample(&mut random)).collect();
            let settings = Settings {
                refits: Some(20),
                resampling: Some(scheme.parse().unwrap()),
                correction: Some(correction),
                grid: Some(2),
                band_seed: Some(dataset),
                curve_only: Some(true),
                ..refit()
            };
            let found = band("pdp", &on_unit(settings), &data, &line(&data, &y)).unwrap();
            let limits = limits(&found);
            held += f64::from(limits[0][1] < 0.0 && 0.0 < limits[1][1]);
            held_as_a_whole += f64::from(limits[2][1] < 0.0 && 0.0 < limits[3][1]);
            rejected += f64::from(record(&found).p_flat.unwrap() <= 0.05);
        }
        [held, held_as_a_whole, rejected].map(|sum: f64| sum / DATASETS as f64)
    };
    // Four standard errors of 0.95 over 300 datasets are 0.05.
    for scheme in ["bootstrap", "subsample", "cv:10"] {
        let [held, whole, rejected] = share(scheme, Correction::Jackknife);
        assert!((0.9..0.995).contains(&held), "{scheme}: {held}");
        assert!((0.9..0.995).contains(&whole), "{scheme}: {whole}");
        assert!((0.005..0.1).contains(&rejected), "{scheme}: {rejected}");
    }
    let [held, _, rejected] = share("subsample", Correction::NadeauBengio);
    assert!(held < 0.88 && rejected > 0.12, "{held} {rejected}");
}

/// The size of the test by permutations where the feature is independent of all, and its power where it is not.
#[test]
fn permutations_reject_as_often_as_they_say() {
    const DATASETS: u64 = 300;
    let pdp = |seed: u64| {
        let settings = Settings { flat_permutations: Some(19), refits: Some(2), ..refit() };
        let settings = Settings { grid: Some(2), band_seed: Some(seed), ..settings };
        Refitting::from_settings("pdp", &on_unit(settings)).unwrap().unwrap()
    };
    let rejected = |slope: f64| {
        let rejects = |dataset: u64| {
            let data = sample(30, 5000 + dataset);
            let mut random = ChaCha8Rng::seed_from_u64(dataset);
            let mut noise = || -> f64 { StandardNormal.sample(&mut random) };
            let y: Vec<f64> = data.feature(0).iter().map(|x| slope * x + noise()).collect();
            let all: Vec<usize> = (0..30).collect();
            let learn = |data: &Dataset, seed: u64| line(data, &y)(&all, seed);
            let refitting = pdp(dataset);
            let mut found = {
                let refits = refitting.options().fit(&data, &line(&data, &y), false).unwrap();
                let model = learn(&data, 0).unwrap();
                let effects = refitting.estimate(&data, &*model, 0, &refits).unwrap();
                effects.into_iter().next().unwrap().confidence.unwrap()
            };
            assert_eq!(record(&found).p_permuted, None);
            refitting.permute(&mut found, (&data, 0), dataset, &learn).unwrap();
            f64::from(record(&found).p_permuted.unwrap() <= 0.05)
        };
        (0..DATASETS).map(rejects).sum::<f64>() / DATASETS as f64
    };
    // Four standard errors of 0.05 are 0.05.
    let size = rejected(0.0);
    assert!((0.005..0.1).contains(&size), "{size}");
    let power = rejected(4.0);
    assert!(power > 0.9, "{power}");
    let none = Settings { flat_permutations: Some(0), ..refit() };
    let none = Refitting::from_settings("pdp", &none).unwrap_err().to_string();
    assert!(none.contains("flat_permutations = 0"), "{none}");
}

#[test]
fn what_cannot_be_refitted_is_refused() {
    let data = sample(40, 1);
    let learn = bent(&data);
    let said = |name: &str, settings: Settings, data: &Dataset| match Refitting::from_settings(
        name, &settings,
    ) {
        Err(error) => error.to_string(),
        Ok(_) => band(name, &settings, data, &learn).unwrap_err().to_string(),
    };
    let with = |refits: usize, scheme: &str| Settings {
        refits: Some(refits),
        resampling: Some(scheme.parse().unwrap()),
        ..refit()
    };
    for (name, settings, words) in [
        ("pdp", with(1, "bootstrap"), "must be from 2"),
        ("pdp", with(10_001, "bootstrap"), "must be from 2"),
        ("pdp", with(12, "cv:5"), "multiple of 5"),
        ("pdp", with(30, "cv:30"), "must be left out"),
        ("pdp", with(3, "subsample:0.99"), "must be left out"),
        ("dpdp", refit(), "no option `band`|no confidence band"),
        ("ice", refit(), "no confidence band"),
        ("mplot", refit(), "no confidence band"),
        ("ale", Settings { interpolation: Some(Interpolation::Step), ..refit() }, "linear"),
        ("ale", Settings { bins: Some(40), empty: Some(EmptyBins::Error), ..refit() }, "instances"),
        ("pdp", Settings { resamples: Some(99), ..refit() }, "bootstrap alone"),
        ("pdp", Settings { level: Some(1.0), ..refit() }, "between 0 and 1"),
    ] {
        let said = said(name, settings, &data);
        assert!(words.split('|').any(|words| said.contains(words)), "{name}: {said}");
    }
    let few = said("pdp", refit(), &sample(11, 1));
    assert!(few.contains("must be left out"), "{few}");
    let analytic =
        Settings { band: Some(BandKind::Analytic), refits: Some(9), ..Settings::default() };
    let lonely = estimator::from_settings("pdp", &analytic).unwrap_err().to_string();
    assert!(lonely.contains("band refit alone"), "{lonely}");
    // A function as it is.
    let pdp = estimator::from_settings("pdp", &refit()).unwrap();
    let model = FunctionModel::new(2, |x| x[0]);
    let error = pdp.estimate(&data, &model, 0).unwrap_err();
    assert!(matches!(&error, Error::Incompatible(said) if said.contains("learner")), "{error}");
    // A pair of features, of a function as it is.
    let of_pair = Settings { band: Some(BandKind::Refit), ..Settings::default() };
    let pair = estimator::pair::from_settings("pdp", [&of_pair, &of_pair]).unwrap();
    let error = pair.estimate(&data, &model, [0, 1]).unwrap_err();
    assert!(matches!(&error, Error::Incompatible(said) if said.contains("learner")), "{error}");
    // The third refit.
    let count = std::sync::atomic::AtomicUsize::new(0);
    let failing =
        |rows: &[usize], seed: u64| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            2 => Err("no luck".to_owned()),
            _ => bent(&data)(rows, seed),
        };
    let options = RefitOptions { resampling: Some(Scheme::Bootstrap), refits: 5, seed: 0 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let said = pool.install(|| options.fit(&data, &failing, false).err().unwrap().to_string());
    assert!(said.contains("refit 3 of 5") && said.contains("no luck"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Pointwise limits lie within simultaneous ones, both around one curve; a constant that is added to the model does not
    /// move them, a factor widens them by as much.
    #[test]
    fn bands_move_with_the_model(
        seed in 0_u64..1000,
        shift in -5.0..5.0_f64,
        power in -3..4_i32,
        name in prop::sample::select(vec!["pdp", "ale", "dale"]),
    ) {
        let factor = 2_f64.powi(power);
        let data = sample(45, seed);
        let learn = bent(&data);
        let changed = |rows: &[usize], seed: u64| -> Learned {
            let model = learn(rows, seed)?;
            let inner = std::sync::Arc::new(model);
            let partial = std::sync::Arc::clone(&inner);
            let value = move |x: &[f64]| {
                use fe_core::model::{Column, Rows};
                let columns: Vec<_> = x.iter().map(|&x| Column::Constant(x)).collect();
                let mut value = [0.0];
                inner.predict(&Rows::new(&columns, 1), &mut value).unwrap();
                shift + factor * value[0]
            };
            let slope = move |s: usize, x: &[f64]| {
                use fe_core::model::{Column, Rows};
                let columns: Vec<_> = x.iter().map(|&x| Column::Constant(x)).collect();
                let mut value = [0.0];
                partial.partial(s, &Rows::new(&columns, 1), &mut value).unwrap();
                factor * value[0]
            };
            Ok(Box::new(FunctionModel::new(2, value).with_partial(slope)))
        };
        let settings = on_unit(Settings { level: Some(0.9), ..refit() });
        let own = band(name, &settings, &data, &learn).unwrap();
        let other = band(name, &settings, &data, &changed).unwrap();
        let (own_limits, other_limits) = (limits(&own), limits(&other));
        let corners = own_limits[0].iter().zip(&own_limits[1]).zip(&own_limits[2]).zip(&own_limits[3]);
        for (((lower, upper), least), most) in corners {
            prop_assert!(least <= lower && lower <= upper && upper <= most);
            prop_assert!((least + most - lower - upper).abs() < 1e-9);
        }
        for (own, other) in own_limits.iter().zip(&other_limits) {
            for (own, other) in own.iter().zip(other) {
                prop_assert!((factor * own - other).abs() < 1e-9 * factor.max(1.0) * 10.0);
            }
        }
        let p = record(&own).p_flat.unwrap();
        prop_assert!((0.0..=1.0).contains(&p));
    }
}
