//! What is said of bins, presets and tests: names, options and degrees of freedom.

#![allow(clippy::unwrap_used)]

use fe_core::effect::BinningRecord;
use fe_core::model::FunctionModel;
use fe_core::regional::RuleKind;
use fe_core::replicates::{Summary, Test};
use fe_core::settings::EmptyBins;
use fe_core::{AxisChoice, Centring, Dataset, Settings, estimator, preset};
use ndarray::Array2;

fn binned(binning: &str) -> Settings {
    Settings { binning: Some(binning.to_owned()), ..Settings::default() }
}

fn record(
    name: &str,
    settings: &Settings,
    values: &[f64],
    weights: Option<Vec<f64>>,
) -> BinningRecord {
    let rows = Array2::from_shape_vec((values.len(), 1), values.to_vec()).unwrap();
    let mut data = Dataset::from_rows(&rows.view()).unwrap();
    if let Some(weights) = weights {
        data = data.with_weights(weights).unwrap();
    }
    let model = FunctionModel::new(1, |x| x[0] * x[0]).with_partial(|_, x| 2.0 * x[0]);
    let estimator = estimator::from_settings(name, settings).unwrap();
    let effect = estimator.estimate(&data, &model, 0).unwrap().swap_remove(0);
    effect.record.binning.unwrap()
}

#[test]
fn a_binning_is_recorded_by_its_name_and_options() {
    let values: Vec<f64> = (0..90).map(|i| f64::from(i * 37 % 90) / 89.0).collect();
    let of = |name, settings: &Settings| record(name, settings, &values, None);
    assert_eq!(of("ale", &binned("fixed")).strategy, "fixed");
    let dp = of("rhale", &binned("dp"));
    assert_eq!(dp.strategy, "dp(min_points=N/20;discount=0.2)");
    let few = Settings { min_points: Some(7.0), discount: Some(0.5), ..binned("dp") };
    assert_eq!(of("rhale", &few).strategy, "dp(min_points=7;discount=0.5)");
    let penalized = of("rhale", &Settings { bins: Some(17), ..binned("penalized") });
    assert_eq!((penalized.strategy.as_str(), penalized.asked), ("penalized", Some(17)));
    let least = of("ale", &Settings { min_points: Some(5.0), ..binned("quantile-min") });
    assert_eq!(least.asked, None);
}

#[test]
fn values_are_few_where_each_comes_twice_among_the_rows_that_count() {
    let once = |i: usize| (i % 20) as f64;
    let of = |rows: usize, settings: &Settings, weights| {
        let values: Vec<f64> = (0..rows).map(once).collect();
        record("ale", settings, &values, weights).distinct
    };
    let fixed = Settings { bins: Some(40), ..binned("fixed") };
    assert_eq!(of(39, &fixed, None), None);
    assert_eq!(of(40, &fixed, None), Some(20));
    // Values beyond the axis, and of no weight, are none.
    let within = Settings { axis: Some(AxisChoice::Given(0.0, 9.0)), ..fixed.clone() };
    assert_eq!(of(80, &within, None), Some(10));
    let weights = (0..80).map(|i| f64::from(u8::from(once(i) > 4.0))).collect();
    let whole = Settings { axis: Some(AxisChoice::Given(0.0, 19.0)), ..fixed };
    assert_eq!(of(80, &whole, Some(weights)), Some(15));
    // Cells of automatic bins too, unless none is to be few.
    let values: Vec<f64> = (0..60).map(|i| f64::from(i % 3)).collect();
    let cells = |distinct| {
        let settings = Settings { distinct, min_points: Some(2.0), ..binned("dp") };
        record("rhale", &settings, &values, None).distinct
    };
    assert_eq!((cells(None), cells(Some(0))), (Some(3), None));
}

/// docs/presets.md has the sources.
#[test]
fn presets_give_the_options_of_their_libraries() {
    let heiss = preset::complete("heiss-2026", "ale", Settings::default()).unwrap();
    assert_eq!((heiss.binning.as_deref(), heiss.bins), (Some("quantile"), Some(99)));
    assert_eq!((heiss.center, heiss.empty), (Some(Centring::Bins), Some(EmptyBins::Zero)));
    let fixed = preset::complete("heiss-2026", "ale", binned("fixed")).unwrap();
    assert_eq!((fixed.bins, fixed.distinct), (Some(99), Some(0)));
    let effector = preset::complete("effector-0.6", "pdp", Settings::default()).unwrap();
    assert_eq!((effector.grid, effector.grid_heterogeneity), (Some(30), Some(true)));
}

/// Squared standard errors 1/3 and 5/6 of three and nine replicates.
#[test]
fn degrees_of_freedom_are_those_of_welch() {
    let first = Summary::of(&[0.0, 1.0, 2.0]);
    let second = Summary::of(&[-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    let test = Test::welch(&first, &second).unwrap();
    let degrees = (7.0_f64 / 6.0).powi(2) / (1.0 / 9.0 / 2.0 + 25.0 / 36.0 / 8.0);
    assert!((test.degrees / degrees - 1.0).abs() < 1e-14, "{test:?}");
    assert!((test.statistic - (6.0_f64 / 7.0).sqrt()).abs() < 1e-14, "{test:?}");
}

#[test]
fn rules_hold_on_their_side() {
    let holds = |rule: RuleKind| [1.0, 2.0, 3.0].map(|x| rule.holds(x));
    assert_eq!(holds(RuleKind::AtMost(2.0)), [true, true, false]);
    assert_eq!(holds(RuleKind::Above(2.0)), [false, false, true]);
    assert_eq!(holds(RuleKind::Is(2.0)), [false, true, false]);
    assert_eq!(holds(RuleKind::IsNot(2.0)), [true, false, true]);
}
