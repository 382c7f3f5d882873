//! Data and models that nobody would wish for: an effect or a typed error, never a panic, and never
//! an infinite number in an effect.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::binning;
use fe_core::model::{BatchModel, FunctionModel, Model};
use fe_core::numeric::partition::Closed;
use fe_core::settings::{BandKind, Interval};
use fe_core::settings::{EmptyBins, Interpolation, Jacobian, Splitting};
use fe_core::{AxisChoice, Centring, Dataset, Effect, Settings, estimator, regional};
use ndarray::Array2;
use proptest::prelude::*;

/// Ordinary values, repeated ones, and those where numbers end.
fn value() -> impl Strategy<Value = f64> {
    let extreme = vec![
        f64::MAX,
        f64::MIN,
        1e300,
        -1e300,
        1e154,
        1e-154,
        1e-300,
        -1e-300,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON,
        1e9,
        1e9 + 1e-3,
    ];
    prop_oneof![
        4 => -5.0..5.0_f64,
        4 => (-3..=3_i8).prop_map(f64::from),
        1 => Just(-0.0),
        2 => prop::sample::select(extreme),
    ]
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(2.0), Just(0.25), Just(1e-9), Just(1e9), Just(1e300)]
}

/// One to three features on one scale or mixed, with weights or without.
fn dataset() -> impl Strategy<Value = Dataset> {
    let scale =
        prop_oneof![3 => Just(1.0), 1 => prop::sample::select(&[1e-300, 1e-310, 1e150, 1e300][..])];
    (1..=3_usize, 1..=24_usize, scale).prop_flat_map(|(dimension, rows, scale)| {
        let values = prop::collection::vec(value(), dimension * rows);
        let weights = prop::option::of(prop::collection::vec(weight(), rows));
        (values, weights).prop_filter_map("no dataset", move |(values, weights)| {
            let values = values.into_iter().map(|x| x * scale).collect();
            let rows = Array2::from_shape_vec((rows, dimension), values).unwrap();
            let data = Dataset::from_rows(&rows.view()).ok()?;
            match weights {
                None => Some(data),
                Some(weights) => data.with_weights(weights).ok(),
            }
        })
    })
}

const MODELS: usize = 12;

fn model(which: usize, dimension: usize) -> Box<dyn Model> {
    let last = dimension - 1;
    let of = |f: fn(f64, f64) -> f64| {
        Box::new(FunctionModel::new(dimension, move |x| f(x[0], x[last]))) as Box<dyn Model>
    };
    let with = |f: fn(f64, f64) -> f64, partial: fn(f64, f64) -> f64| {
        let model = FunctionModel::new(dimension, move |x| f(x[0], x[last]));
        Box::new(model.with_partial(move |_, x| partial(x[0], x[last]))) as Box<dyn Model>
    };
    match which {
        0 => with(|x, y| x + y, |_, _| 1.0),
        1 => with(|x, y| x * y, |_, y| y),
        2 => with(|_, _| 4.0, |_, _| 0.0),
        3 => with(|x, y| (x * y).sin(), |x, y| y * (x * y).cos()),
        4 => with(|x, y| 1e300 * (x + y).signum(), |_, y| 1e300 * y.signum()),
        5 => with(|x, _| 1e-300 * x, |_, y| 1e-300 * y.signum()),
        6 => of(|x, y| (x - y).signum() * f64::MAX),
        7 => of(|x, y| x.abs().sqrt() * y.signum()),
        8 => with(|x, _| if x > 2.0 { f64::NAN } else { x }, |x, _| 1.0 / x),
        9 => with(|x, y| if x + y > 3.0 { panic!("too much") } else { x }, |_, _| 1.0),
        10 => Box::new(BatchModel::new(dimension, 1, |rows| vec![0.0; rows.len() / 2])),
        _ => Box::new(BatchModel::new(dimension, 2, |rows| {
            let x = |i: usize| rows.columns()[0].get(i);
            (0..rows.len()).map(x).chain((0..rows.len()).map(|i| x(i).cos())).collect()
        })),
    }
}

/// Options of any kind: those that an estimator does not take are left out.
fn settings() -> impl Strategy<Value = Settings> {
    let names: Vec<&str> = binning::ALL.iter().map(|info| info.name).collect();
    let sizes = (
        prop::option::of(prop::sample::select(names)),
        prop::option::of(prop::sample::select(vec![1_usize, 2, 7, 40])),
        prop::option::of(prop::sample::select(vec![0.0, 1.0, 3.0, 100.0])),
        prop::sample::select(vec![2_usize, 5, 9]),
    );
    let empty = prop::sample::select(vec![
        EmptyBins::Interpolate,
        EmptyBins::InterpolateIndex,
        EmptyBins::Zero,
        EmptyBins::Merge,
        EmptyBins::Error,
    ]);
    let centring = prop::sample::select(vec![
        Centring::None,
        Centring::Start,
        Centring::Integral,
        Centring::Data,
        Centring::Bins,
    ]);
    let axis = prop::option::of(prop::sample::select(vec![
        AxisChoice::Given(-1.0, 1.0),
        AxisChoice::Given(-1e300, 1e300),
        AxisChoice::Given(0.0, 5e-324),
    ]));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), 0..=1_u8);
    let band = prop::option::of(prop::sample::select(vec![
        BandKind::Analytic,
        BandKind::Bootstrap,
        BandKind::Bins,
    ]));
    let further = (
        band,
        prop::option::of(prop::sample::select(vec![1_usize, 3, 30])),
        prop::option::of(prop::sample::select(vec![0_usize, 2, 5])),
        prop::option::of(prop::sample::select(vec![1e-9, 0.01, 0.3])),
        prop::option::weighted(0.2, Just(Interpolation::Step)),
    );
    let all = (sizes, empty, centring, axis, switches, further);
    all.prop_map(|(sizes, empty, center, axis, switches, further)| {
        let (band, nearest, distinct, step, interpolation) = further;
        let resampled = band == Some(BandKind::Bootstrap);
        let (binning, bins, min_points, grid) = sizes;
        let (right, numeric, fill, ddof) = switches;
        Settings {
            binning: binning.map(str::to_owned),
            limits: (binning == Some("grid")).then(|| vec![-1.0, 0.0, 0.5, 2.0]),
            bins,
            min_points,
            grid: Some(grid),
            empty: Some(empty),
            center: Some(center),
            axis,
            closed: right.then_some(Closed::Right),
            jacobian: numeric.then_some(Jacobian::Numeric),
            fill_variances: Some(fill),
            ddof: Some(ddof),
            leaf: Some(2.0),
            candidates: Some(3),
            partition: right.then_some(Splitting::Cart),
            band,
            level: band.map(|_| 0.9),
            resamples: resampled.then_some(39),
            interval: (resampled && right).then_some(Interval::Studentised),
            rebin: (resampled && fill && binning.is_some()).then_some(true),
            nearest: nearest.filter(|_| binning.is_none() && bins.is_none()),
            distinct,
            step,
            interpolation,
            points: fill.then(|| vec![-0.5, 0.25]),
            extrapolate: right.then_some(true),
            subsample: (numeric && fill).then_some(5),
            mean_prediction: fill.then_some(true),
            ..Settings::default()
        }
    })
}

/// The settings without what is refused where it is not taken.
fn taken(settings: &Settings, takes: impl Fn(&str) -> bool) -> Settings {
    let mut kept = serde_json::to_value(settings).unwrap();
    let options = kept.as_object_mut().unwrap();
    options.retain(|name, _| takes(name));
    let binning = options.get("binning").and_then(|name| name.as_str().map(str::to_owned));
    let of_binning =
        binning.as_deref().and_then(|name| binning::ALL.iter().find(|i| i.name == name));
    let taken_by_binning = |name: &str| of_binning.is_none_or(|info| info.options.contains(&name));
    options.retain(|name, _| {
        !["bins", "min_points", "limits", "distinct"].contains(&name.as_str())
            || taken_by_binning(name)
    });
    serde_json::from_value(kept).unwrap()
}

fn assert_representable(effect: &Effect) {
    let what = format!("{effect:?}");
    let finite = |values: &[f64]| assert!(values.iter().all(|y| y.is_finite()), "{what}");
    let no_infinity = |values: &[f64]| assert!(!values.iter().any(|y| y.is_infinite()), "{what}");
    finite(effect.curve.x());
    finite(effect.curve.y());
    finite(&[effect.record.centring_constant]);
    no_infinity(effect.heterogeneity.y());
    for value in effect.heterogeneity_values.values().flatten() {
        finite(&[*value]);
    }
    if let Some(bins) = &effect.bins {
        finite(&bins.counts);
        finite(&bins.effect);
        bins.variance.iter().flatten().for_each(|variance| finite(&[*variance]));
    }
    if let Some(binning) = &effect.record.binning {
        assert!(binning.empty_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{what}");
    }
    if let Some(band) = &effect.confidence {
        assert!(band.rounding >= 0.0, "{what}");
        for limits in [Some(&band.pointwise), band.simultaneous.as_ref()].into_iter().flatten() {
            no_infinity(limits.lower.y());
            no_infinity(limits.upper.y());
        }
    }
    if let Some(bands) = &effect.bands {
        finite(bands.std.y());
        finite(bands.accumulated_sd.y());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_estimator_answers_or_says_why_not(
        data in dataset(), settings in settings(), which in 0..MODELS,
    ) {
        let model = model(which, data.dimension());
        for info in estimator::ALL {
            let settings = taken(&settings, |option| info.takes(option));
            for feature in 0..data.dimension() {
                prop_assert!(data.deciles(feature).iter().all(|x| x.is_finite()));
                let estimate = |e: Box<dyn estimator::Estimator>| e.estimate(&data, &*model, feature);
                match estimator::from_settings(info.name, &settings).and_then(estimate) {
                    Ok(effects) => effects.iter().for_each(assert_representable),
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
            }
        }
    }

    #[test]
    fn every_regional_estimator_answers_or_says_why_not(
        data in dataset(), settings in settings(), which in 0..MODELS,
    ) {
        let model = model(which, data.dimension());
        for info in regional::ALL {
            let settings = taken(&settings, |option| info.takes(option));
            let fit = |regional: regional::Regional| regional.fit(&data, &*model, 0);
            match regional::from_settings(info.name, &settings).and_then(fit) {
                Err(error) => prop_assert!(!error.to_string().is_empty()),
                Ok(effects) => for node in effects.iter().flat_map(|effect| effect.tree.nodes()) {
                    prop_assert!(!node.heterogeneity.is_some_and(f64::is_infinite), "{:?}", node);
                    node.effect.iter().for_each(assert_representable);
                }
            }
        }
    }
}
