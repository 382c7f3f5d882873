//! Effects of data in parts: the bits of those in one piece, whatever the parts that are whole stretches and their
//! order, and the same numbers to rounding otherwise.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::estimator::{self, PartialEffect, STRETCH};
use fe_core::model::FunctionModel;
use fe_core::settings::{BandKind, EmptyBins, Interpolation, Jacobian};
use fe_core::{AxisChoice, Centring, Dataset, Effect, FeatureKind, Settings};
use ndarray::Array2;
use proptest::prelude::*;
use support::curved;

/// Rows between −5 and 5, most of them different, and some weights.
fn data(rows: std::ops::Range<usize>, is_weighted: bool) -> Dataset {
    let value = |i: usize, j: usize| {
        let mixed = (i as u64 * 2 + j as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64
            / (1_u64 << 53) as f64
            * 10.0
            - 5.0
    };
    let first = rows.start;
    let features = Array2::from_shape_fn((2, rows.len()), |(j, i)| value(first + i, j));
    let data = Dataset::from_features(features).unwrap();
    match is_weighted {
        false => data,
        true => data.with_weights(rows.map(|i| [1.0, 2.5, 0.25][i % 3]).collect()).unwrap(),
    }
}

/// Estimators with settings to which a part says something.
fn variants() -> Vec<(&'static str, Settings)> {
    let on = |lo, hi| Settings { axis: Some(AxisChoice::Given(lo, hi)), ..Settings::default() };
    let limits = |limits: &[f64]| Settings {
        binning: Some("grid".to_owned()),
        limits: Some(limits.to_vec()),
        ..Settings::default()
    };
    let limits = limits(&[-4.0, -3.5, 0.0, 1.0, 4.5]);
    let centred =
        |center, settings: &Settings| Settings { center: Some(center), ..settings.clone() };
    vec![
        ("ale", Settings { bins: Some(7), ..on(-5.0, 5.0) }),
        ("ale", centred(Centring::Data, &limits)),
        (
            "ale",
            Settings {
                undivided: Some(true),
                interpolation: Some(Interpolation::Step),
                ..limits.clone()
            },
        ),
        ("dale", centred(Centring::Bins, &limits)),
        ("dale", Settings { jacobian: Some(Jacobian::Numeric), ..on(-5.0, 4.0) }),
        ("rhale", on(-5.0, 5.0)),
        ("rhale", Settings { binning: Some("greedy".to_owned()), bins: Some(9), ..on(-3.0, 5.0) }),
        ("pdp", Settings { grid: Some(3), ..on(-5.0, 5.0) }),
        (
            "pdp",
            Settings {
                grid: Some(3),
                curve_only: Some(true),
                ..centred(Centring::Data, &on(-2.0, 3.0))
            },
        ),
        ("dpdp", Settings { grid: Some(2), points: Some(vec![0.5]), ..on(-5.0, 5.0) }),
        ("mplot", Settings { binning: Some("fixed".to_owned()), bins: Some(6), ..on(-5.0, 5.0) }),
        (
            "mplot",
            Settings {
                interpolation: Some(Interpolation::Linear),
                ..centred(Centring::Data, &limits)
            },
        ),
    ]
}

fn part(
    (name, settings): &(&str, Settings),
    rows: std::ops::Range<usize>,
    weighted: bool,
) -> PartialEffect {
    let first = rows.start;
    PartialEffect::of(name, settings, (&data(rows, weighted), first), &curved(), 0).unwrap()
}

fn whole((name, settings): &(&str, Settings), rows: usize, weighted: bool) -> Vec<Effect> {
    let estimator = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(&data(0..rows, weighted), &curved(), 0).unwrap()
}

fn written(effects: &[Effect]) -> String {
    serde_json::to_string(effects).unwrap()
}

/// Parts are sent between machines as text.
fn sent(part: &PartialEffect) -> PartialEffect {
    serde_json::from_str(&serde_json::to_string(part).unwrap()).unwrap()
}

/// Of whole stretches, merged in whatever order, all that an effect says has the bits of one piece.
#[test]
fn whole_stretches_have_the_bits_of_one_piece() {
    let rows = 2 * STRETCH + 70_001;
    let cuts = [0, STRETCH, 2 * STRETCH, rows];
    for (at, variant) in variants().iter().enumerate() {
        let weighted = at % 2 == 1;
        let of = |i: usize| sent(&part(variant, cuts[i]..cuts[i + 1], weighted));
        let expected = written(&whole(variant, rows, weighted));
        let order = [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]][at % 4];
        let merged = of(order[0]).merge(of(order[1])).unwrap().merge(of(order[2])).unwrap();
        assert_eq!(merged.rows(), rows);
        assert_eq!(written(&merged.finish().unwrap()), expected, "{variant:?}");
        // One part of several stretches is cut at their ends.
        let merged = part(variant, STRETCH..rows, weighted).merge(of(0)).unwrap();
        assert_eq!(written(&merged.finish().unwrap()), expected, "{variant:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Of parts of whatever size, the numbers are those of one piece to rounding, and the order of merging changes no
    /// bit.
    #[test]
    fn other_parts_are_equal_to_rounding(
        rows in 60..9000_usize,
        cuts in prop::collection::vec(0.0..1.0_f64, 1..6),
        weighted in any::<bool>(),
        which in 0..12_usize,
        backwards in any::<bool>(),
    ) {
        let variant = &variants()[which];
        let mut cuts: Vec<usize> = cuts.iter().map(|share| (share * rows as f64) as usize).collect();
        cuts.extend([0, rows]);
        cuts.sort_unstable();
        cuts.dedup();
        let parts = || cuts.windows(2).map(|ends| part(variant, ends[0]..ends[1], weighted));
        let merge = |a: PartialEffect, b: PartialEffect| a.merge(b).unwrap();
        let forwards = parts().reduce(merge).unwrap();
        let all: Vec<PartialEffect> = parts().collect();
        let other = if backwards {
            all.into_iter().rev().reduce(merge).unwrap()
        } else {
            // By halves, as a tree of tasks merges.
            let (left, right) = all.split_at(all.len() / 2);
            let of = |half: &[PartialEffect]| half.iter().cloned().reduce(merge);
            [of(right), of(left)].into_iter().flatten().reduce(merge).unwrap()
        };
        let effects = forwards.finish().unwrap();
        prop_assert_eq!(written(&other.finish().unwrap()), written(&effects));
        for (parts, whole) in effects.iter().zip(whole(variant, rows, weighted)) {
            let close = |a: &[f64], b: &[f64]| {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| {
                        a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-11 * b.abs().max(1.0)
                    })
            };
            prop_assert!(close(parts.curve.x(), whole.curve.x()));
            prop_assert!(close(parts.curve.y(), whole.curve.y()));
            prop_assert!(close(parts.heterogeneity.y(), whole.heterogeneity.y()));
            for (name, value) in &whole.heterogeneity_values {
                let own = parts.heterogeneity_values[name];
                prop_assert!(close(own.as_slice(), value.as_slice()), "{name}: {own:?} {value:?}");
            }
            let mean = parts.mean_prediction;
            prop_assert!(close(mean.as_slice(), whole.mean_prediction.as_slice()));
            // How steps are looked into where differences are 0 depends on the rows at hand.
            prop_assert_eq!(parts.record.rows_outside, whole.record.rows_outside);
            prop_assert_eq!(parts.record.rows, whole.record.rows);
            prop_assert_eq!(parts.record.model_rows, whole.record.model_rows);
            prop_assert_eq!(parts.record.jacobian_rows, whole.record.jacobian_rows);
        }
    }
}

fn refused(name: &str, settings: &Settings) -> String {
    let error = PartialEffect::of(name, settings, (&data(0..50, false), 0), &curved(), 0);
    error.unwrap_err().to_string()
}

#[test]
fn what_a_part_says_nothing_to_is_refused_with_the_reason() {
    let on = || Settings { axis: Some(AxisChoice::Given(-5.0, 5.0)), ..Settings::default() };
    for name in ["ice", "dice", "shapdp"] {
        assert!(refused(name, &on()).contains("needs all rows at once"), "{name}");
    }
    for (name, reason, settings) in [
        ("pdp", "give `axis` as lo, hi", Settings::default()),
        ("ale", "or `limits`", Settings::default()),
        (
            "ale",
            "depend on all positions",
            Settings { binning: Some("quantile".to_owned()), ..on() },
        ),
        ("mplot", "depend on all positions", on()),
        (
            "rhale",
            "depend on all positions",
            Settings { binning: Some("penalized".to_owned()), ..on() },
        ),
        ("mplot", "nearest", Settings { nearest: Some(3), ..on() }),
        ("ale", "`subsample`", Settings { subsample: Some(5), ..on() }),
        ("ale", "`band`", Settings { band: Some(BandKind::Bootstrap), ..on() }),
        ("pdp", "`importance`", Settings { importance: Some(true), ..on() }),
        ("pdp", "`mean_prediction`", Settings { mean_prediction: Some(true), ..on() }),
        ("ale", "`empty = merge`", Settings { empty: Some(EmptyBins::Merge), ..on() }),
        ("pdp", "distinct values", Settings { distinct: Some(5), ..on() }),
        ("rhale", "centring `data`", Settings { center: Some(Centring::Data), ..on() }),
        (
            "dale",
            "give `axis` beside `limits`",
            Settings {
                binning: Some("grid".to_owned()),
                limits: Some(vec![-5.0, 5.0]),
                jacobian: Some(Jacobian::Numeric),
                ..Settings::default()
            },
        ),
    ] {
        let message = refused(name, &settings);
        assert!(message.contains(reason), "{name}: {message}");
    }
    let model = curved();
    let ordinal = data(0..50, false).with_kinds(vec![FeatureKind::Ordinal; 2]).unwrap();
    let error = PartialEffect::of("ale", &on(), (&ordinal, 0), &model, 0).unwrap_err();
    assert!(error.to_string().contains("levels"), "{error}");
    // Bins in one piece would be between the few values.
    let few =
        Dataset::from_features(Array2::from_shape_fn((2, 90), |(_, i)| (i % 3) as f64)).unwrap();
    let error = PartialEffect::of("ale", &on(), (&few, 0), &model, 0).unwrap_err();
    assert!(error.to_string().contains("depend on all positions"), "{error}");
    let equal = Settings { distinct: Some(0), ..on() };
    assert!(PartialEffect::of("ale", &equal, (&few, 0), &model, 0).is_ok());
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let ale = &variants()[0];
    let error = |a: PartialEffect, b: PartialEffect| a.merge(b).unwrap_err().to_string();
    assert!(
        error(part(ale, 0..50, false), part(ale, 40..90, false)).contains("row 41 is in two parts")
    );
    assert!(
        error(part(ale, 0..50, false), part(ale, 0..60, false)).contains("row 1 is in two parts")
    );
    assert!(
        error(part(ale, 0..50, false), part(&variants()[1], 50..60, false))
            .contains("different effects")
    );
    let gap = part(ale, 0..50, false).merge(part(ale, 70..90, false)).unwrap();
    assert!(gap.finish().unwrap_err().to_string().contains("rows 51 to 70 are in no part"));
    assert!(part(ale, 5..50, false).finish().unwrap_err().to_string().contains("rows 1 to 5"));
}

/// A part without instances on the axis is no mistake, but all parts without are.
#[test]
fn a_part_may_have_no_rows_on_the_axis() {
    let sorted = |from: usize, to: usize| {
        let value = |(j, i): (usize, usize)| if j == 0 { (from + i) as f64 } else { 1.0 };
        Dataset::from_features(Array2::from_shape_fn((2, to - from), value)).unwrap()
    };
    let model = FunctionModel::new(2, |x| x[0] * x[1]).with_partial(|s, x| x[1 - s]);
    for name in ["ale", "rhale", "mplot"] {
        let binning = (name == "mplot").then(|| "fixed".to_owned());
        let axis = Some(AxisChoice::Given(0.0, 99.0));
        let settings = Settings { axis, binning, ..Settings::default() };
        let of =
            |from, to| PartialEffect::of(name, &settings, (&sorted(from, to), from), &model, 0);
        let both = of(100, 180).unwrap().merge(of(0, 100).unwrap()).unwrap();
        let whole = estimator::from_settings(name, &settings).unwrap();
        let whole = whole.estimate(&sorted(0, 180), &model, 0).unwrap();
        let curve = both.finish().unwrap()[0].curve.clone();
        support::assert_close(curve.y(), whole[0].curve.y(), 1e-10);
        let settings = Settings { axis: Some(AxisChoice::Given(-9.0, -1.0)), ..settings.clone() };
        let off = PartialEffect::of(name, &settings, (&sorted(0, 100), 0), &model, 0).unwrap();
        assert!(off.finish().unwrap_err().to_string().contains("axis"), "{name}");
    }
}
