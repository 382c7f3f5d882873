//! Bins that converge: what they keep apart, what they hold together, and what cannot change them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::binning::{Binning, BinningRequest, Choice, Penalized};
use fe_core::estimator::{self, Dale, Estimator};
use fe_core::model::FunctionModel;
use fe_core::numeric::moments::Moments;
use fe_core::numeric::partition::{Closed, Partition};
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
        let request = BinningRequest {
            axis: Axis::new(lo, hi).unwrap(),
            closed: Closed::Left,
            positions: &self.positions,
            weights: self.weights.as_deref(),
            whole: (&self.positions, self.weights.as_deref()),
            levels: false,
            ddof: 1.0,
            local_effects: Some(&summarise),
        };
        Penalized::new(most).unwrap().choose(&request).unwrap()
    }

    fn limits(&self) -> Vec<f64> {
        self.chosen((0.0, 1.0), 20_000).partition.limits().to_vec()
    }

    /// The limits of the bins, and those of the stretches along which they share a spread; none where
    /// they share none.
    fn divisions(&self, axis: (f64, f64)) -> [Vec<f64>; 2] {
        let Choice { partition, spreads, .. } = self.chosen(axis, 20_000);
        [partition.limits().to_vec(), spreads.map_or_else(Vec::new, |s| s.limits().to_vec())]
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

/// A trend of more than √log N standard errors is there by chance in 4.6, 2.1, 1.3 and 0.6 of 100 cases of these
/// sizes, nearly 9 of 400 with a standard deviation of 3; two standard errors would be 18. All else is rarer by far.
#[test]
fn noise_alone_is_seldom_divided() {
    let divided = |count: usize| {
        let seeds = 0..100;
        seeds.filter(|&s| Instances::drawn(s, count, |_| (3.0, 1.0)).limits().len() > 2).count()
    };
    let found = [50, 200, 500, 2000].map(divided);
    assert!(found.iter().sum::<usize>() <= 16, "{found:?} of 100");
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

/// A steady slope asks for many bins, of which none can know the spread; all together know it.
#[test]
fn bins_share_a_spread_that_does_not_change() {
    let one = |seed: &u64| {
        let instances = Instances::drawn(*seed, 1000, |x| (8.0 * x, 1.0));
        let Choice { partition, spreads, .. } = instances.chosen((0.0, 1.0), 20_000);
        assert!(partition.bins() >= 6, "{partition:?}");
        spreads.is_some_and(|spreads| spreads.bins() == 1)
    };
    let shared = (0..40).filter(one).count();
    assert!(shared >= 36, "{shared} of 40");
}

/// Stretches end where the spread changes, at limits of bins.
#[test]
fn bins_on_both_sides_of_a_change_share_no_spread() {
    let change = |x: f64| (8.0 * x, if x < 0.6 { 0.3 } else { 1.5 });
    for seed in 0..20 {
        let choice = Instances::drawn(seed, 1000, change).chosen((0.0, 1.0), 20_000);
        let spreads = choice.spreads.unwrap_or_else(|| choice.partition.clone());
        let inner = &spreads.limits()[1..spreads.bins()];
        assert!(inner.iter().all(|z| choice.partition.limits().contains(z)));
        let nearest = inner.iter().map(|z| (z - 0.6).abs()).fold(1.0, f64::min);
        assert!(nearest < 0.03, "{inner:?}");
        assert!(inner.len() <= 3, "{inner:?}");
    }
}

/// The heterogeneity of a stretch is the sum of squares within its bins over their degrees of freedom; of
/// each bin its own variance is still told.
#[test]
fn heterogeneity_is_the_variance_within_the_bins_of_a_stretch() {
    let Instances { positions, effects, .. } =
        Instances::drawn(5, 800, |x| (0.0, if x < 0.5 { 0.5 } else { 2.0 }));
    let rows = ndarray::Array2::from_shape_fn((800, 2), |(row, j)| [&positions, &effects][j][row]);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(2, |x| 5.0 * x[0] * x[0] + x[0] * x[1])
        .with_partial(|j, x| if j == 0 { 10.0 * x[0] + x[1] } else { x[0] });
    let settings = Settings { binning: Some("penalized".to_owned()), ..Settings::default() };
    let rhale = estimator::from_settings("rhale", &settings).unwrap();
    let effect = &rhale.estimate(&data, &model, 0).unwrap()[0];
    let bins = effect.bins.as_ref().unwrap();
    let shared = effect.heterogeneity.y();
    let mut stretches = 0;
    let mut start = 0;
    for alike in shared.chunk_by(|a, b| a == b) {
        let of = start..start + alike.len();
        let degrees = |k: usize| bins.counts[k] - 1.0;
        let squares: f64 = of.clone().map(|k| degrees(k) * bins.variance[k].unwrap_or(0.0)).sum();
        let variance = squares / of.clone().map(degrees).sum::<f64>();
        assert!((alike[0] / variance - 1.0).abs() < 1e-12, "bins {of:?}");
        (start, stretches) = (of.end, stretches + 1);
    }
    assert!(stretches > 1 && stretches < bins.counts.len(), "{stretches} stretches");
    assert_eq!(effect.record.binning.as_ref().unwrap().spreads, Some(stretches));
    // What is computed from the heterogeneity is computed from what is shared.
    let widths = bins.partition.widths();
    let integral: f64 = shared.iter().zip(&widths).map(|(variance, width)| variance * width).sum();
    assert!((effect.heterogeneity_values["integral"].unwrap() / integral - 1.0).abs() < 1e-12);
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
        let divisions = instances.divisions((0.0, 1.0));
        // Instances at the same place stay in order: their sum would be rounded differently.
        let mut order: Vec<usize> = (0..instances.positions.len()).collect();
        order.sort_by_key(|&row| (instances.positions[row] * 1e6) as u64 % 977);
        instances.positions = order.iter().map(|&row| instances.positions[row]).collect();
        instances.effects = order.iter().map(|&row| instances.effects[row]).collect();
        assert_eq!(instances.divisions((0.0, 1.0)), divisions);
    }
}

/// Powers of two, so that nothing is rounded differently.
#[test]
fn units_do_not_matter() {
    let scaled = |limits: &[f64]| -> Vec<f64> { limits.iter().map(|z| 4.0 * z).collect() };
    for instances in cases() {
        let expected = instances.divisions((0.0, 1.0)).map(|limits| scaled(&limits));
        let effects = instances.effects.iter().map(|effect| -8.0 * effect).collect();
        let positions = instances.positions.iter().map(|x| 4.0 * x).collect();
        let larger = Instances { positions, effects, weights: None };
        assert_eq!(larger.divisions((0.0, 4.0)), expected);
    }
}

#[test]
fn a_constant_more_in_all_effects_does_not_matter() {
    for instances in cases() {
        let divisions = instances.divisions((0.0, 1.0));
        let effects = instances.effects.iter().map(|effect| effect + 1.0).collect();
        assert_eq!(Instances { effects, ..instances }.divisions((0.0, 1.0)), divisions);
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
        assert_eq!(weighted.divisions((0.0, 1.0)), repeated.divisions((0.0, 1.0)));
    }
}
