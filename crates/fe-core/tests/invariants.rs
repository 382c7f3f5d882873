//! What holds for every estimator, whatever the data and the function.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::estimator::each_feature;
use fe_core::metric::centred_on_grid;
use fe_core::model::FunctionModel;
use fe_core::{AxisChoice, Centring, Dataset, Settings};
use proptest::prelude::*;
use support::{
    BACKGROUND, SUBSAMPLE, assert_close, constant, curved, dataset, estimate, rows, values,
    variants, variants_on_many_rows,
};

/// Steps per unit of values of few digits.
const DIGITS: f64 = 1_048_576.0;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_constant_function_has_no_effect(rows in rows(2..40)) {
        let data = dataset(&rows);
        for variant in variants() {
            let effect = estimate(&variant, &data, &constant(), 0);
            prop_assert!(values(&effect, 11).iter().all(|y| y.abs() < 1e-14));
            let heterogeneity = effect.heterogeneity.y();
            prop_assert!(heterogeneity.iter().all(|h| h.is_nan() || h.abs() < 1e-20));
        }
    }

    /// Without its heterogeneity a curve is the same to the last bit.
    #[test]
    fn the_curve_alone_is_the_same_curve(rows in rows(2..600), weighted in any::<bool>()) {
        let mut data = dataset(&rows);
        if weighted {
            data = data.with_weights((0..rows.len()).map(|i| [1.0, 0.0, 2.5][i % 3]).collect()).unwrap();
        }
        for name in ["pdp", "dpdp"] {
            for center in [Centring::None, Centring::Integral, Centring::Data] {
                let axis = Some(AxisChoice::Given(-5.0, 5.0));
                let settings = Settings { grid: Some(5), center: Some(center), axis, ..Settings::default() };
                let alone = Settings { curve_only: Some(true), ..settings.clone() };
                let both = estimate(&(name, settings), &data, &curved(), 0);
                let alone = estimate(&(name, alone), &data, &curved(), 0);
                prop_assert_eq!(alone.curve.y(), both.curve.y());
                prop_assert!(alone.heterogeneity.y().iter().all(|value| value.is_nan()));
                prop_assert!(alone.heterogeneity_values.values().all(Option::is_none));
                prop_assert_eq!(alone.record.model_rows, both.record.model_rows);
                prop_assert_eq!(alone.record.jacobian_rows, both.record.jacobian_rows);
            }
        }
    }

    /// `ale` at its limits and `pdp` at its grid points are exact for additive functions, `dale`,
    /// `rhale` and `shapdp` for linear components.
    #[test]
    fn additive_functions_give_their_component(rows in rows(2..40)) {
        let data = dataset(&rows);
        for variant in variants() {
            if variant.0 == "mplot" {
                continue; // it has the effects of other features in it
            }
            let exact_for_curves = ["ale", "pdp", "dpdp", "ice", "dice"].contains(&variant.0);
            let of_derivative = ["dpdp", "dice"].contains(&variant.0);
            let component = move |x: f64| if exact_for_curves { x.powi(3) - x } else { 2.5 * x };
            let slope = move |x: f64| if exact_for_curves { 3.0 * x * x - 1.0 } else { 2.5 };
            let model = FunctionModel::new(2, move |x| component(x[0]) + (3.0 * x[1]).cos())
                .with_partial(move |s, x| if s == 0 { slope(x[0]) } else { -3.0 * (3.0 * x[1]).sin() });
            let full = (variant.0, Settings { center: Some(Centring::Start), ..variant.1 });
            let effect = estimate(&full, &data, &model, 0);
            if effect.bins.as_ref().is_some_and(|bins| bins.counts.contains(&0.0)) && exact_for_curves {
                continue; // a bin without instances cannot know the component
            }
            let x = effect.curve.x();
            let truth = x.iter().map(|&x| if of_derivative { slope(x) } else { component(x) });
            let truth: Vec<f64> = truth.collect();
            assert_close(&centred_on_grid(effect.curve.y()), &centred_on_grid(&truth), 1e-8);
        }
    }

    #[test]
    fn effects_are_linear_in_the_function(rows in rows(2..40), a in -3.0..3.0_f64, b in -3.0..3.0_f64) {
        let data = dataset(&rows);
        let (f, g) = (|x: &[f64]| (x[0] * x[1]).sin(), |x: &[f64]| x[0] * x[0] * x[1]);
        let df = |s: usize, x: &[f64]| x[1 - s] * (x[0] * x[1]).cos();
        let dg = |s: usize, x: &[f64]| if s == 0 { 2.0 * x[0] * x[1] } else { x[0] * x[0] };
        let sum = FunctionModel::new(2, move |x| a * f(x) + b * g(x))
            .with_partial(move |s, x| a * df(s, x) + b * dg(s, x));
        let f = FunctionModel::new(2, f).with_partial(df);
        let g = FunctionModel::new(2, g).with_partial(dg);
        // Automatic bins and smoothing depend on the function; Shapley values are tested by themselves.
        for variant in variants().into_iter().filter(|(name, _)| !["rhale", "shapdp"].contains(name)) {
            let curve = |model: &FunctionModel<'_>| values(&estimate(&variant, &data, model, 0), 9);
            let both: Vec<f64> =
                curve(&f).iter().zip(curve(&g)).map(|(f, g)| a * f + b * g).collect();
            assert_close(&curve(&sum), &both, 1e-9);
        }
    }

    /// Smoothing is chosen from the function, but not from its units.
    #[test]
    fn shapdp_follows_the_units_of_the_function(rows in rows(2..40), a in -3.0..3.0_f64) {
        prop_assume!(a.abs() > 1e-3);
        let data = dataset(&rows);
        let f = |x: &[f64]| (x[0] * x[1]).sin() + x[0] * x[0] - x[1];
        let scaled = FunctionModel::new(2, move |x| a * f(x) + 5.0);
        for variant in variants().into_iter().filter(|(name, _)| *name == "shapdp") {
            let plain = estimate(&variant, &data, &curved(), 0);
            let scaled = estimate(&variant, &data, &scaled, 0);
            let expected: Vec<f64> = plain.curve.y().iter().map(|y| a * y).collect();
            let squares: Vec<f64> = plain.heterogeneity.y().iter().map(|h| a * a * h).collect();
            // Rounding is in proportion to the values.
            let size = |values: &[f64]| values.iter().fold(1.0_f64, |most, y| most.max(y.abs()));
            assert_close(scaled.curve.y(), &expected, 1e-8 * size(&expected));
            assert_close(scaled.heterogeneity.y(), &squares, 1e-7 * size(&squares));
        }
    }

    /// The costs of bins are multiplied by a power of four, and everything else by one of two.
    #[test]
    fn automatic_bins_follow_the_units_of_the_function(
        rows in rows(2..40), exponent in -200..200_i32, negative in any::<bool>(),
    ) {
        let factor = 2_f64.powi(exponent) * if negative { -1.0 } else { 1.0 };
        let data = dataset(&rows);
        let slope = |s: usize, x: &[f64]| if s == 0 { x[1].sin() + 2.0 * x[0] } else { x[0] };
        let value = |x: &[f64]| x[0] * x[1].sin() + x[0] * x[0];
        let plain = FunctionModel::new(2, value).with_partial(slope);
        let scaled = FunctionModel::new(2, move |x| factor * value(x))
            .with_partial(move |s, x| factor * slope(s, x));
        for binning in ["dp", "greedy", "agglomerative", "penalized"] {
            let settings = Settings { binning: Some(binning.to_owned()), ..Settings::default() };
            let variant = ("rhale", settings);
            let (a, b) = (estimate(&variant, &data, &plain, 0), estimate(&variant, &data, &scaled, 0));
            prop_assert_eq!(a.curve.x(), b.curve.x());
            let expected: Vec<f64> = a.curve.y().iter().map(|y| factor * y).collect();
            prop_assert_eq!(b.curve.y(), expected);
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter(rows in rows(2..40), turn in 0..40_usize) {
        let mut turned = rows.clone();
        turned.rotate_left(turn % rows.len());
        for variant in variants() {
            let effect = |rows: &[[f64; 2]]| estimate(&variant, &dataset(rows), &curved(), 0);
            let (a, b) = (effect(&rows), effect(&turned));
            // Costs that differ by rounding may choose other automatic bins.
            if a.curve.x() == b.curve.x() {
                assert_close(a.curve.y(), b.curve.y(), 1e-9);
                assert_close(a.heterogeneity.y(), b.heterogeneity.y(), 1e-7);
            } else {
                prop_assert_eq!(variant.0, "rhale");
            }
        }
    }

    /// A feature in other units: x ↦ scale·x + shift, with the function reading it back.
    #[test]
    fn units_of_a_feature_do_not_matter(
        rows in rows(2..40), exponent in -3..4_i32, shift in -8..8_i32,
    ) {
        // Powers of two, whole shifts and values of few digits: the same data to the last bit, so that
        // what differs is rounding within the estimators. An instance that is rounded itself moves by
        // more than a spline on close knots forgives.
        let (scale, shift) = (2_f64.powi(exponent), f64::from(shift));
        let few_digits = |x: f64| (x * DIGITS).round() / DIGITS;
        let rows: Vec<[f64; 2]> = rows.iter().map(|r| [few_digits(r[0]), r[1]]).collect();
        prop_assume!(rows.iter().any(|r| r[0] != rows[0][0]));
        let read = move |x: &[f64]| [(x[0] - shift) / scale, x[1]];
        let original = curved();
        let value = |x: &[f64]| (x[0] * x[1]).sin() + x[0] * x[0] - x[1];
        let slope = |x: &[f64]| x[1] * (x[0] * x[1]).cos() + 2.0 * x[0];
        let moved = FunctionModel::new(2, move |x| value(&read(x)))
            .with_partial(move |_, x| slope(&read(x)) / scale);
        let moved_rows: Vec<[f64; 2]> = rows.iter().map(|r| [r[0] * scale + shift, r[1]]).collect();
        // Which rows a subsample has depends on their digits.
        for variant in variants().into_iter().filter(|(_, s)| s.subsample.is_none()) {
            let a = estimate(&variant, &dataset(&rows), &original, 0);
            let b = estimate(&variant, &dataset(&moved_rows), &moved, 0);
            let (Some(before), Some(after)) = (&a.bins, &b.bins) else {
                // A derivative is per unit of the feature.
                let unit = if ["dpdp", "dice"].contains(&variant.0) { scale } else { 1.0 };
                let rescaled: Vec<f64> = b.curve.y().iter().map(|y| y * unit).collect();
                assert_close(a.curve.y(), &rescaled, 1e-9);
                continue;
            };
            // Rounding of x may move an instance across a limit, and then the estimates differ.
            if before.counts == after.counts {
                assert_close(a.curve.y(), b.curve.y(), 1e-6);
                // M-plots have levels in their bins.
                let unit = if variant.0 == "mplot" { 1.0 } else { scale };
                let rescaled: Vec<f64> = after.effect.iter().map(|slope| slope * unit).collect();
                assert_close(&before.effect, &rescaled, 1e-6);
            }
        }
    }

    #[test]
    fn a_weight_is_a_number_of_copies(rows in rows(2..25), weights in prop::collection::vec(0..4_u8, 25)) {
        let weights = &weights[..rows.len()];
        let copies: Vec<[f64; 2]> = rows
            .iter()
            .zip(weights)
            .flat_map(|(row, &weight)| std::iter::repeat_n(*row, weight.into()))
            .collect();
        prop_assume!(copies.iter().any(|r| r[0] != copies[0][0]));
        let weighted = dataset(&rows).with_weights(weights.iter().map(|&w| f64::from(w)).collect());
        let weighted: Dataset = weighted.unwrap();
        for variant in variants() {
            for centring in [Centring::Integral, Centring::Data] {
                let variant = (variant.0, Settings { center: Some(centring), ..variant.1.clone() });
                let a = estimate(&variant, &weighted, &curved(), 0);
                let b = estimate(&variant, &dataset(&copies), &curved(), 0);
                if a.curve.x() != b.curve.x() && variant.0 == "rhale" {
                    continue; // costs equal up to rounding
                }
                assert_close(a.curve.x(), b.curve.x(), 1e-12);
                assert_close(a.curve.y(), b.curve.y(), 1e-9);
                assert_close(a.heterogeneity.y(), b.heterogeneity.y(), 1e-7);
            }
        }
    }

    /// The effect of a feature is what it is, whichever were asked for before, and again the same bytes;
    /// the data are not touched.
    #[test]
    fn estimates_leave_no_traces(rows in rows(2..30)) {
        prop_assume!(rows.iter().any(|r| r[1] != rows[0][1]));
        let data = dataset(&rows);
        for (name, settings) in variants() {
            let estimator = fe_core::estimator::from_settings(name, &settings).unwrap();
            let estimate = |data: &Dataset, feature| {
                let effects = estimator.estimate(data, &curved(), feature).unwrap();
                serde_json::to_string(&effects).unwrap()
            };
            let alone = estimate(&dataset(&rows), 0);
            let _other = estimate(&data, 1);
            prop_assert_eq!(&estimate(&data, 0), &alone);
            prop_assert_eq!(&estimate(&data, 0), &alone);
            prop_assert_eq!(&data, &dataset(&rows));
        }
    }

    #[test]
    fn bins_may_be_closed_on_either_side_of_continuous_data(rows in rows(2..40)) {
        for variant in variants().into_iter().filter(|(_, s)| s.binning.is_some()) {
            let closed = |closed| {
                let settings = Settings { closed: Some(closed), ..variant.1.clone() };
                estimate(&(variant.0, settings), &dataset(&rows), &curved(), 0)
            };
            let total = |effect: &fe_core::Effect| -> f64 { effect.bins.iter().flat_map(|b| &b.counts).sum() };
            let (left, right) =
                (closed(fe_core::numeric::partition::Closed::Left), closed(fe_core::numeric::partition::Closed::Right));
            let all = variant.1.subsample.unwrap_or(usize::MAX).min(rows.len()) as f64;
            prop_assert_eq!(total(&left), all);
            prop_assert_eq!(total(&right), all);
        }
    }
}

/// Many blocks, so that there is something to share among threads.
fn many_rows() -> Vec<[f64; 2]> {
    let value = |i: usize, step: f64| (i as f64 * step).fract() * 10.0 - 5.0;
    (0..20_011).map(|i| [value(i, 0.618_033_988_75), value(i, 0.414_213_562_37)]).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    let data = dataset(&many_rows());
    for variant in variants_on_many_rows() {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let effect = pool.install(|| estimate(&variant, &data, &curved(), 0));
            serde_json::to_string(&effect).unwrap()
        };
        assert_eq!(with_threads(1), with_threads(4));
        assert_eq!(with_threads(3), with_threads(4));
    }
}

#[test]
fn features_at_once_have_the_effects_of_one_after_the_other() {
    let rows = many_rows();
    let features = [1, 0, 0, 1, 0];
    for variant in variants_on_many_rows() {
        let of_one = |data: &Dataset, feature| {
            let effect = estimate(&variant, data, &curved(), feature);
            (serde_json::to_string(&effect).unwrap(), data.deciles(feature))
        };
        let data = dataset(&rows);
        let expected: Vec<_> = features.iter().map(|&feature| of_one(&data, feature)).collect();
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Nothing is known of these yet.
            let data = dataset(&rows);
            let all = pool.install(|| {
                each_feature(&features, |&feature| Ok::<_, ()>(of_one(&data, feature)))
            });
            assert_eq!(all.as_ref(), Ok(&expected), "{variant:?} on {threads} threads");
        }
    }
}

#[test]
fn of_several_features_the_first_error_is_returned() {
    let work = |&feature: &usize| if feature < 3 { Err(feature) } else { Ok(feature) };
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let each = |features: &[usize]| pool.install(|| each_feature(features, work));
        assert_eq!(each(&[5, 2, 0, 4, 1]), Err(2));
        assert_eq!(each(&[5, 4, 3]), Ok(vec![5, 4, 3]));
        assert_eq!(each(&[]), Ok(vec![]));
    }
}

#[test]
fn the_record_counts_what_the_model_was_asked() {
    let data = dataset(&many_rows());
    let count = |variant: &(&str, Settings)| {
        let record = estimate(variant, &data, &curved(), 0).record;
        (record.model_rows, record.jacobian_rows)
    };
    let n = data.len() as u64;
    for variant in variants_on_many_rows() {
        let expected = match (variant.0, variant.1.jacobian) {
            ("pdp" | "ice", _) => (7 * n, 0),
            ("dpdp" | "dice", _) => (0, 6 * n),
            ("mplot", _) => (n, 0),
            // With the mean prediction.
            _ if variant.1.subsample.is_some() => (SUBSAMPLE as u64, SUBSAMPLE as u64),
            // {x1} and {x2}, each way or in both orders of two pairs, the rows and the background.
            ("shapdp", _) => {
                let coalitions = if variant.1.permutations.is_some() { 4 } else { 2 };
                (n * coalitions * BACKGROUND + n + BACKGROUND + 1, 0)
            }
            ("ale", _) | (_, Some(fe_core::settings::Jacobian::Numeric)) => (2 * n, 0),
            // Automatic bins are merged from cells: choosing them asks for nothing twice.
            _ => (0, n),
        };
        assert_eq!(count(&variant), expected, "{variant:?}");
    }
}

#[test]
fn every_output_has_its_own_effect() {
    let model = fe_core::model::BatchModel::new(2, 2, |rows| {
        let x = |i: usize| rows.columns()[0].get(i);
        (0..rows.len()).map(x).chain((0..rows.len()).map(|i| -2.0 * x(i))).collect()
    });
    let data = dataset(&many_rows());
    for (name, settings) in variants_on_many_rows() {
        // Started at 0, derivatives say nothing of the slope.
        let settings = Settings { center: None, ..settings };
        let estimator = fe_core::estimator::from_settings(name, &settings).unwrap();
        let effects = estimator.estimate(&data, &model, 0).unwrap();
        let ends = |effect: &fe_core::Effect| match effect.estimator {
            // This one is the slope itself.
            "dpdp" | "dice" => effect.curve.y()[0] * effect.record.axis.width(),
            _ => effect.curve.y().last().unwrap() - effect.curve.y()[0],
        };
        assert_eq!(effects.len(), 2);
        // The model is asked once for all of them.
        assert_eq!(effects[0].record.model_rows, effects[1].record.model_rows, "{name}");
        let width = effects[0].record.axis.width();
        // Means over the instances near the ends lie within.
        let share = if name == "mplot" { 0.6 } else { 1.0 - 1e-7 };
        let rise = ends(&effects[0]);
        assert!((share * width..1.0000001 * width).contains(&rise), "{name}");
        assert!((ends(&effects[1]) + 2.0 * rise).abs() < 1e-6, "{name}");
    }
}
