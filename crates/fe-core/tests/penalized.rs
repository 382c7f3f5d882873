//! Bins that converge: what they keep apart, what they hold together, and what cannot change them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::binning::{Binning, Choice, Penalized, Request};
use fe_core::estimator::{self, Dale, Estimator};
use fe_core::model::FunctionModel;
use fe_core::partition::{Closed, Partition};
use fe_core::statistics::Moments;
use fe_core::{Axis, Dataset, Error, Settings};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

struct Instances {
    positions: Vec<f64>,
    effects: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Instances {
    /// At random positions in the unit interval, with effects of a mean and a standard deviation.
    fn drawn(seed: u64, count: usize, at: impl Fn(f64) -> (f64, f64)) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let positions: Vec<f64> = (0..count).map(|_| rng.random()).collect();
        let effect = |&x: &f64| {
            let (mean, sd) = at(x);
            mean + sd * nearly_normal(&mut rng)
        };
        let effects = positions.iter().map(effect).collect();
        Self { positions, effects, weights: None }
    }

    fn chosen(&self, (lo, hi): (f64, f64), most: usize) -> Choice {
        let summarise = |partition: &Partition| {
            let mut bins = vec![Moments::default(); partition.bins()];
            for (row, (&x, &effect)) in self.positions.iter().zip(&self.effects).enumerate() {
                let weight = self.weights.as_ref().map_or(1.0, |weights| weights[row]);
                let bin = &mut bins[partition.locate(x).unwrap()];
                *bin = bin.merge(Moments::single(effect, weight));
            }
            Ok(bins)
        };
        let request = Request {
            axis: Axis::new(lo, hi).unwrap(),
            closed: Closed::Left,
            positions: &self.positions,
            weights: self.weights.as_deref(),
            ddof: 1.0,
            local_effects: Some(&summarise),
        };
        Penalized::new(most).unwrap().choose(&request).unwrap()
    }

    fn limits(&self) -> Vec<f64> {
        self.chosen((0.0, 1.0), 20_000).partition.limits().to_vec()
    }
}

/// The sum of twelve uniform numbers, less six.
fn nearly_normal(rng: &mut impl Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

#[test]
fn limits_are_where_the_effect_changes() {
    let step = |x: f64| (if x < 0.3 { 2.0 } else { -1.0 }, 0.5);
    for seed in 0..20 {
        let limits = Instances::drawn(seed, 400, step).limits();
        let nearest = limits.iter().map(|z| (z - 0.3).abs()).fold(1.0, f64::min);
        assert!(nearest < 0.01, "{limits:?}");
        assert!(limits.len() <= 5, "{limits:?}");
    }
}

#[test]
fn limits_are_where_the_spread_changes() {
    let step = |x: f64| (1.0, if x < 0.6 { 0.2 } else { 1.5 });
    for seed in 0..20 {
        let limits = Instances::drawn(seed, 400, step).limits();
        let nearest = limits.iter().map(|z| (z - 0.6).abs()).fold(1.0, f64::min);
        assert!(nearest < 0.05, "{limits:?}");
    }
}

/// With more instances than cells, a jump lies within one: limits are sought among its instances, too.
/// Neither the instances on the wrong side nor the jump itself ask for more bins.
#[test]
fn jumps_lie_between_two_instances() {
    let step = |x: f64| (if x < 0.3 { 2.0 } else { -1.0 }, 0.1);
    for count in [5_000, 25_000, 60_000] {
        for seed in 0..5 {
            let instances = Instances::drawn(seed, count, step);
            let sides = |is_left: bool| {
                instances.positions.iter().copied().filter(move |x| (*x < 0.3) == is_left)
            };
            let between = [sides(true).fold(0.0, f64::max), sides(false).fold(1.0, f64::min)];
            let limits = instances.limits();
            let found = limits.iter().any(|z| between[0] < *z && *z < between[1]);
            assert!(found, "{count} instances: {between:?} {limits:?}");
            assert!(limits.len() <= 4, "{count} instances: {limits:?}");
        }
    }
}

/// A trend of more than two standard errors is there by chance in one case of twenty: in 5 of 100, with a
/// standard deviation of 2.2. Everything else is rarer by far.
#[test]
fn noise_alone_is_seldom_divided() {
    let divided = |count: usize| {
        let seeds = 0..100;
        seeds.filter(|&s| Instances::drawn(s, count, |_| (3.0, 1.0)).limits().len() > 2).count()
    };
    let found = [50, 200, 500, 2000].map(divided);
    assert!(found.iter().all(|&divided| divided <= 12), "{found:?} of 100");
}

/// Under a constant slope the bias of the curve falls as the fourth power of the number of bins and
/// has to fall as 1/N: the number must grow, and more slowly than the root of N.
#[test]
fn the_number_of_bins_grows_slowly_where_the_effect_is_smooth() {
    let bins = |count: usize| {
        let each =
            (0..5).map(|s| Instances::drawn(s, count, |x| (4.0 * x, 1.0)).limits().len() - 1);
        each.sum::<usize>() as f64 / 5.0
    };
    let (few, many) = (bins(500), bins(32_000));
    let order = (many / few).ln() / 64.0_f64.ln();
    assert!((0.2..0.45).contains(&order), "{few} bins, then {many}: order {order}");
}

#[test]
fn equal_effects_make_a_single_bin() {
    for value in [0.0, 1.0 / 3.0, -1e200, 1e-200] {
        let mut instances = Instances::drawn(1, 300, |_| (0.0, 0.0));
        instances.effects.fill(value);
        assert_eq!(instances.limits(), [0.0, 1.0], "{value}");
    }
    // Rounding is no change.
    let rounded = Instances::drawn(2, 300, |x| ((x + 1e6) - x, 0.0));
    assert_eq!(rounded.limits(), [0.0, 1.0]);
}

#[test]
fn there_are_never_more_bins_than_asked_for() {
    let instances = Instances::drawn(4, 2000, |x| (100.0 * x, 0.0));
    for most in [1, 2, 7, 100] {
        assert!(instances.chosen((0.0, 1.0), most).partition.bins() <= most);
    }
    assert!(instances.limits().len() > 500, "without noise every bin is an improvement");
}

#[test]
fn too_little_is_one_bin() {
    for (count, feasible) in [(0, false), (1, false), (2, true), (3, true)] {
        let choice = Instances::drawn(3, count, |x| (x, 1.0)).chosen((0.0, 1.0), 20_000);
        assert_eq!(choice.feasible, feasible, "{count} instances");
        assert_eq!(choice.partition.bins(), 1);
    }
}

#[test]
fn it_needs_local_effects_and_a_number_of_bins() {
    let settings =
        |binning: &str| Settings { binning: Some(binning.to_owned()), ..Settings::default() };
    assert!(matches!(Penalized::new(0), Err(Error::BadOption { option: "bins", .. })));
    let discount = Settings { discount: Some(0.1), ..settings("penalized") };
    assert!(estimator::from_settings("rhale", &discount).is_err());
    let ale = estimator::from_settings("ale", &settings("penalized")).unwrap();
    let data = Dataset::from_rows(&ndarray::array![[0.0], [1.0]].view()).unwrap();
    let model = FunctionModel::new(1, |x| x[0]);
    assert!(matches!(ale.estimate(&data, &model, 0), Err(Error::Incompatible(_))));
    let dale = Dale::with_bins(3).unwrap().binned(Penalized::default());
    assert_eq!(dale.estimate(&data, &model, 0).unwrap()[0].bins.as_ref().unwrap().counts, [2.0]);
}

/// Instances of all kinds: a jump and a slope under noise of any size; sometimes many at one place.
fn cases() -> impl Iterator<Item = Instances> {
    (0..60).map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
        let place = rng.random_range(0.1..0.9);
        let (jump, slope) = (rng.random_range(-3.0..3.0), rng.random_range(-3.0..3.0));
        let (sd, count) = (rng.random_range(0.0..1.0), rng.random_range(2..300));
        let level = |x: f64| (if x < place { 0.0 } else { jump } + slope * x, sd);
        let mut instances = Instances::drawn(seed, count, level);
        if seed % 2 == 0 {
            instances.positions.iter_mut().for_each(|x| *x = (*x * 64.0).floor() / 64.0);
        }
        instances
    })
}

#[test]
fn order_does_not_matter() {
    for mut instances in cases() {
        let limits = instances.limits();
        // Instances at the same place stay in order: their sum would be rounded differently.
        let mut order: Vec<usize> = (0..instances.positions.len()).collect();
        order.sort_by_key(|&row| (instances.positions[row] * 1e6) as u64 % 977);
        instances.positions = order.iter().map(|&row| instances.positions[row]).collect();
        instances.effects = order.iter().map(|&row| instances.effects[row]).collect();
        assert_eq!(instances.limits(), limits);
    }
}

/// Powers of two, so that nothing is rounded differently.
#[test]
fn units_do_not_matter() {
    for instances in cases() {
        let expected: Vec<f64> = instances.limits().iter().map(|z| 4.0 * z).collect();
        let effects = instances.effects.iter().map(|effect| -8.0 * effect).collect();
        let positions = instances.positions.iter().map(|x| 4.0 * x).collect();
        let scaled = Instances { positions, effects, weights: None };
        assert_eq!(scaled.chosen((0.0, 4.0), 20_000).partition.limits(), expected);
    }
}

#[test]
fn a_constant_more_in_all_effects_does_not_matter() {
    for instances in cases() {
        let limits = instances.limits();
        let effects = instances.effects.iter().map(|effect| effect + 1.0).collect();
        assert_eq!(Instances { effects, ..instances }.limits(), limits);
    }
}

#[test]
fn weights_are_repetitions() {
    for (case, mut weighted) in cases().enumerate() {
        let weight = |row: usize| 1 + (row * 7 + case) % 3 / 2;
        let rows = || (0..weighted.positions.len()).flat_map(|row| vec![row; weight(row)]);
        let repeated = Instances {
            positions: rows().map(|row| weighted.positions[row]).collect(),
            effects: rows().map(|row| weighted.effects[row]).collect(),
            weights: None,
        };
        // And a row that does not count.
        let weights = (0..weighted.positions.len()).map(|row| weight(row) as f64);
        weighted.weights = Some(weights.chain([0.0]).collect());
        weighted.positions.push(0.5);
        weighted.effects.push(1e6);
        assert_eq!(weighted.limits(), repeated.limits());
    }
}
