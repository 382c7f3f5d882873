//! Automatic bins: the optimum against brute force, and the heuristics against their rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::binning::{
    Agglomerative, Binning, BinningRequest, Choice, Dynamic, Greedy, QuantileMin, plain_optimum,
};
use fe_core::numeric::moments::Moments;
use fe_core::numeric::partition::{Closed, Partition};
use fe_core::{Axis, Error};
use proptest::prelude::*;

fn choose(binning: &dyn Binning, positions: &[f64], effects: &[f64], ddof: f64) -> Choice {
    let summarise = |partition: &Partition| Ok(moments(partition, positions, effects));
    let axis = Axis::new(0.0, 1.0).unwrap();
    let request = BinningRequest {
        axis,
        closed: Closed::Left,
        positions,
        weights: None,
        whole: (positions, None),
        levels: false,
        ddof,
        local_effects: Some(&summarise),
    };
    binning.choose(&request).unwrap()
}

fn moments(partition: &Partition, positions: &[f64], effects: &[f64]) -> Vec<Moments> {
    let mut bins = vec![Vec::new(); partition.bins()];
    for (&x, &effect) in positions.iter().zip(effects) {
        bins[partition.locate(x).unwrap()].push(effect);
    }
    bins.iter().map(|effects| Moments::of(effects)).collect()
}

/// RHALE eq. 13, term by term; none where a bin is too poor.
fn objective(
    partition: &Partition,
    positions: &[f64],
    effects: &[f64],
    (min_points, discount, ddof): (f64, f64, f64),
) -> Option<f64> {
    let total = positions.len() as f64;
    let terms = moments(partition, positions, effects).into_iter().zip(partition.widths()).map(
        |(bin, width)| {
            let allowed = bin.weight >= min_points.max(2.0);
            let tau = 1.0 - discount * bin.weight / total;
            bin.variance(ddof).filter(|_| allowed).map(|variance| tau * variance * width)
        },
    );
    terms.sum()
}

/// The smallest objective among all 2^(K−1) ways to join neighbouring cells.
fn brute_force(
    cells: usize,
    positions: &[f64],
    effects: &[f64],
    options: (f64, f64, f64),
) -> Option<f64> {
    let limits = Axis::new(0.0, 1.0).unwrap().divide(cells);
    (0..1_u32 << (cells - 1))
        .filter_map(|kept| {
            let inner = (1..cells).filter(|i| kept >> (i - 1) & 1 == 1).map(|i| limits[i]);
            let all = std::iter::once(0.0).chain(inner).chain([1.0]).collect();
            let partition = Partition::new(all, Closed::Left).unwrap();
            objective(&partition, positions, effects, options)
        })
        .min_by(f64::total_cmp)
}

/// Instances on many cells, some of which have none, with effects that jump, vary or are all alike.
fn many_instances() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let position = prop_oneof![3 => 0.0..=1.0_f64, 1 => 0.3..0.35_f64];
    let effect = prop_oneof![4 => -1.0..1.0_f64, 1 => Just(0.0)];
    let instances = prop::collection::vec((position, effect), 1..400);
    let shape = (prop::sample::select(vec![0.0, 0.01, 1.0]), 0.0..5.0_f64, 0.0..5.0_f64);
    (instances, shape).prop_map(|(all, (noise, jump, slope))| {
        let effect = |x: f64, e: f64| noise * e + slope * x + if x < 0.4 { jump } else { 0.0 };
        all.into_iter().map(|(x, e)| (x, effect(x, e))).unzip()
    })
}

fn instances() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let instance = (
        prop_oneof![0.0..=1.0_f64, (0..=8_u8).prop_map(|i| f64::from(i) / 8.0)],
        prop_oneof![-3.0..3.0_f64, (-1..=1_i8).prop_map(f64::from)],
    );
    prop::collection::vec(instance, 1..30).prop_map(|all| all.into_iter().unzip())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_better_than_the_optimum(
        (positions, effects) in instances(),
        cells in 1..9_usize, min_points in 0..6_u8, discount in 0.0..=1.0_f64, ddof in 0..=1_u8,
    ) {
        let options = (f64::from(min_points), discount, f64::from(ddof));
        let dynamic = Dynamic::new(cells, Some(options.0), discount).unwrap();
        let choice = choose(&dynamic, &positions, &effects, options.2);
        let best = brute_force(cells, &positions, &effects, options);
        prop_assert_eq!(choice.feasible, best.is_some());
        match best {
            None => prop_assert_eq!(choice.partition.bins(), 1),
            Some(best) => {
                let found = objective(&choice.partition, &positions, &effects, options);
                let found = found.expect("the optimum must be allowed");
                prop_assert!((found - best).abs() <= 1e-12 * (1.0 + best), "{} {}", found, best);
            }
        }
    }

    /// To the last bit, though most bins are beaten before all their cells are merged.
    #[test]
    fn what_is_left_out_cannot_win(
        (positions, effects) in many_instances(), cells in 1..120_usize, min_points in 0..6_u8,
        discount in prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64], ddof in 0..=1_u8,
        (offset, scale) in prop::sample::select(vec![
            (0.0, 1.0), (0.0, 1e-9), (0.0, 1e100), (0.0, 5e151), (0.0, 1e-150), (1e9, 1.0), (-1e12, 1e-3),
        ]),
    ) {
        let effects: Vec<f64> = effects.iter().map(|effect| offset + scale * effect).collect();
        let options = (f64::from(min_points), discount, f64::from(ddof));
        let dynamic = Dynamic::new(cells, Some(options.0), discount).unwrap();
        let choice = choose(&dynamic, &positions, &effects, options.2);
        let limits = Axis::new(0.0, 1.0).unwrap().divide(cells);
        let partition = Partition::new(limits, Closed::Left).unwrap();
        let limits = partition.limits();
        let expected = plain_optimum(limits, &moments(&partition, &positions, &effects), options);
        prop_assert_eq!(choice.feasible, expected.is_some());
        let expected = expected.unwrap_or_else(|| vec![0.0, 1.0]);
        prop_assert_eq!(choice.partition.limits(), expected);
    }

    /// Also where weights are no whole numbers, and all divisions cost the same but for rounding.
    #[test]
    fn what_is_left_out_cannot_win_by_its_weight(
        cells in prop::collection::vec((0.01..3.0_f64, 0..3_u8), 1..120), min_points in 2..6_u8,
        heavy in prop::sample::select(vec![1.0, 1e3, 1e9, 1e12]), step in prop::sample::select(vec![0.0, 1.0]),
        discount in prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64],
        offset in prop::sample::select(vec![0.0, 1e12]),
    ) {
        let last = cells.len() - 1;
        let moments = |(at, (weight, kind)): (usize, &(f64, u8))| {
            // Beside one cell of most of the weight, effects spread far more than in it.
            let (weight, variance) =
                if at == last { (heavy * weight, 1.0 / heavy) } else { (*weight, 700.0) };
            Moments { weight, mean: offset + step * f64::from(*kind), squares: variance * weight }
        };
        let moments: Vec<Moments> = cells.iter().enumerate().map(moments).collect();
        let summarise = |_: &Partition| Ok(moments.clone());
        let options = (f64::from(min_points), discount, 0.0);
        let dynamic = Dynamic::new(cells.len(), Some(options.0), discount).unwrap();
        let choice = dynamic.choose(&BinningRequest {
            axis: Axis::new(0.0, 1.0).unwrap(),
            closed: Closed::Left,
            positions: &[],
            weights: None,
            whole: (&[], None),
            levels: false,
            ddof: 0.0,
            local_effects: Some(&summarise),
        });
        let limits = Axis::new(0.0, 1.0).unwrap().divide(cells.len());
        let expected = plain_optimum(&limits, &moments, options).unwrap_or_else(|| vec![0.0, 1.0]);
        let choice = choice.unwrap();
        prop_assert_eq!(choice.partition.limits(), expected);
    }

    /// Small differences between large effects, and costs beyond any penalty.
    #[test]
    fn the_optimum_does_not_depend_on_the_scale_of_effects(
        (positions, effects) in instances(), cells in 1..9_usize, min_points in 2..6_u8,
        (offset, scale) in prop::sample::select(vec![
            (1e9, 1e-3), (-1e9, 1e-3), (0.0, 1e5), (0.0, 1e12), (1e12, 1e8), (0.0, 1e-12), (0.0, 1e120),
        ]),
    ) {
        let effects: Vec<f64> = effects.iter().map(|effect| offset + scale * effect).collect();
        let options = (f64::from(min_points), 0.2, 1.0);
        let dynamic = Dynamic::new(cells, Some(options.0), 0.2).unwrap();
        let choice = choose(&dynamic, &positions, &effects, 1.0);
        let best = brute_force(cells, &positions, &effects, options);
        prop_assert_eq!(choice.feasible, best.is_some());
        if let Some(best) = best {
            let found = objective(&choice.partition, &positions, &effects, options);
            let found = found.expect("the optimum must be allowed");
            // Means are known to an ulp of the effects: the square of a difference of up to 6 scales
            // errs by twelve times that, in each of up to thirty merges.
            let rounding = 360.0 * scale * f64::EPSILON * (offset.abs() + 3.0 * scale);
            prop_assert!((found - best).abs() <= rounding, "{} {} {}", found, best, rounding);
        }
    }

    /// The heuristics find allowed bins wherever there are some, and never better ones.
    #[test]
    fn heuristics_are_allowed_and_no_better(
        (positions, effects) in instances(), cells in 1..9_usize, min_points in 2..6_u8,
    ) {
        let options = (f64::from(min_points), 0.2, 1.0);
        let dynamic = Dynamic::new(cells, Some(options.0), 0.2).unwrap();
        let best = choose(&dynamic, &positions, &effects, 1.0);
        let heuristics: [Box<dyn Binning>; 2] = [
            Box::new(Greedy::new(cells, Some(options.0), 0.2).unwrap()),
            Box::new(Agglomerative::new(cells, Some(options.0), 0.2).unwrap()),
        ];
        for heuristic in heuristics {
            let choice = choose(&*heuristic, &positions, &effects, 1.0);
            prop_assert_eq!(choice.feasible, best.feasible, "{:?}", heuristic);
            let cost = |choice: &Choice| objective(&choice.partition, &positions, &effects, options);
            if best.feasible {
                let (found, least) = (cost(&choice).expect("allowed"), cost(&best).unwrap());
                prop_assert!(found >= least - 1e-12 * (1.0 + least));
            } else {
                prop_assert_eq!(choice.partition.bins(), 1);
            }
        }
    }

    #[test]
    fn quantile_bins_have_more_than_the_least((positions, _) in instances(), least in 0..8_u8) {
        let least = f64::from(least);
        let choice = choose(&QuantileMin::new(least).unwrap(), &positions, &positions, 1.0);
        let counts = moments(&choice.partition, &positions, &positions);
        if choice.feasible {
            prop_assert!(counts.iter().all(|bin| bin.weight > least));
        } else {
            prop_assert_eq!(choice.partition.bins(), 1);
            prop_assert!(positions.len() as f64 <= least);
        }
    }

    #[test]
    fn finer_cells_are_never_worse((positions, effects) in instances(), cells in 1..6_usize, factor in 2..4_usize) {
        let cost = |cells: usize| {
            let choice = choose(&Dynamic::new(cells, Some(2.0), 0.2).unwrap(), &positions, &effects, 1.0);
            objective(&choice.partition, &positions, &effects, (2.0, 0.2, 1.0))
        };
        if let (Some(coarse), Some(fine)) = (cost(cells), cost(cells * factor)) {
            // Cell limits i/K and 2i/2K may differ in the last bit, and a bin then by an instance.
            let limits = |k| Axis::new(0.0, 1.0).unwrap().divide(k);
            let nested = limits(cells).iter().all(|z| limits(cells * factor).contains(z));
            prop_assert!(!nested || fine <= coarse + 1e-12);
        }
    }
}

#[test]
fn equal_costs_give_the_fewest_and_leftmost_bins() {
    let positions: Vec<f64> = (0..40).map(|i| (f64::from(i) + 0.5) / 40.0).collect();
    let equal = vec![7.0; 40];
    let dynamic = Dynamic::new(10, Some(2.0), 0.2).unwrap();
    assert_eq!(choose(&dynamic, &positions, &equal, 1.0).partition.limits(), [0.0, 1.0]);
    // The effect changes between 0.3 and 0.7, where there are no instances: any limit there is as
    // good as any other.
    let (positions, effects): (Vec<f64>, Vec<f64>) = positions
        .into_iter()
        .filter(|x| !(0.3..0.7).contains(x))
        .map(|x| (x, if x < 0.5 { 1.0 } else { 2.0 }))
        .unzip();
    assert_eq!(choose(&dynamic, &positions, &effects, 1.0).partition.limits(), [0.0, 0.3, 1.0]);
}

/// Effects 0 0 | 4 4 | 4 4 | 9 9 in four cells, worked out by hand.
#[test]
fn heuristics_follow_their_rules() {
    let positions: Vec<f64> = (0..8).map(|i| (f64::from(i) + 0.5) / 8.0).collect();
    let effects = [0.0, 0.1, 4.0, 4.1, 4.0, 4.1, 9.0, 9.1];
    let inner = |binning: &dyn Binning| {
        let limits = choose(binning, &positions, &effects, 0.0).partition.limits().to_vec();
        limits[1..limits.len() - 1].to_vec()
    };
    // Variance 1/400 in each cell of width 1/4: joining the two in the middle keeps the variance,
    // and with a discount costs less than both apart, but more than the first alone.
    assert_eq!(inner(&Greedy::new(4, Some(2.0), 0.2).unwrap()), [0.25, 0.5, 0.75]);
    assert_eq!(inner(&Agglomerative::new(4, Some(2.0), 0.2).unwrap()), [0.25, 0.75]);
    // Three instances at least: greedy takes pairs of cells, and the cells of one kind do not meet.
    assert_eq!(inner(&Greedy::new(4, Some(3.0), 0.2).unwrap()), [0.5]);
    // An under-filled last bin joins its neighbour.
    assert_eq!(inner(&Greedy::new(4, Some(5.0), 0.2).unwrap()), [0.0; 0]);
    // Without variance a longer bin costs no more, and greedy never closes; until it would cost.
    let step = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0, 9.0];
    let greedy = Greedy::new(4, Some(2.0), 0.2).unwrap();
    assert_eq!(choose(&greedy, &positions, &step, 0.0).partition.limits(), [0.0, 0.75, 1.0]);
}

#[test]
fn small_differences_between_large_effects_are_seen() {
    let positions: Vec<f64> = (0..200).map(|i| (f64::from(i) + 0.5) / 200.0).collect();
    let effects: Vec<f64> = positions
        .iter()
        .enumerate()
        .map(|(i, &x)| 1e9 + if x < 0.4 { 1e-3 } else { -1e-3 } + (i % 2) as f64 * 1e-5)
        .collect();
    let dynamic = Dynamic::new(10, Some(5.0), 0.2).unwrap();
    let choice = choose(&dynamic, &positions, &effects, 1.0);
    assert_eq!(choice.partition.limits(), [0.0, 0.4, 1.0]);
}

#[test]
fn infeasible_bins_are_not_merely_expensive() {
    // The only allowed partition costs more than any finite penalty one might think of.
    let positions = [0.1, 0.2, 0.8, 0.9];
    let effects = [-1e12, 1e12, -1e12, 1e12];
    let dynamic = Dynamic::new(4, Some(2.0), 0.2).unwrap();
    let choice = choose(&dynamic, &positions, &effects, 1.0);
    assert!(choice.feasible);
    let found = objective(&choice.partition, &positions, &effects, (2.0, 0.2, 1.0)).unwrap();
    assert_eq!(Some(found), brute_force(4, &positions, &effects, (2.0, 0.2, 1.0)));
    let poor = Dynamic::new(4, Some(5.0), 0.2).unwrap();
    let choice = choose(&poor, &positions, &effects, 1.0);
    assert!(!choice.feasible);
    assert_eq!(choice.partition.limits(), [0.0, 1.0]);
}

/// By default a bin needs a twentieth of the instances, rounded up: 3 of 41.
#[test]
fn the_default_of_least_instances_is_rounded_up() {
    // Two instances of their own kind, alone in the left half.
    let mut positions: Vec<f64> = (0..39).map(|i| 0.5 + f64::from(i) / 80.0).collect();
    let mut effects = vec![1.0; 39];
    positions.extend([0.1, 0.2]);
    effects.extend([-5.0, -5.0]);
    let bins = |points| {
        let dynamic = Dynamic::new(2, points, 0.2).unwrap();
        choose(&dynamic, &positions, &effects, 1.0).partition.bins()
    };
    assert_eq!(bins(Some(2.0)), 2);
    assert_eq!(bins(None), 1);
}

#[test]
fn differences_have_no_local_effects_to_choose_bins_by() {
    let settings = fe_core::Settings { binning: Some("dp".to_owned()), ..Default::default() };
    let ale = fe_core::estimator::from_settings("ale", &settings).unwrap();
    let data = support::dataset(&[[0.0, 1.0], [1.0, 2.0]]);
    let error = ale.estimate(&data, &support::curved(), 0).unwrap_err();
    assert!(matches!(error, Error::Incompatible(_)), "{error}");
}

/// 1000 cells: the square of that is a million merges.
#[test]
fn a_thousand_cells_are_no_trouble() {
    let positions: Vec<f64> = (0..5000).map(|i| (f64::from(i) + 0.5) / 5000.0).collect();
    let effects: Vec<f64> = positions.iter().map(|x| (20.0 * x).sin()).collect();
    let dynamic = Dynamic::new(1000, Some(5.0), 0.2).unwrap();
    let choice = choose(&dynamic, &positions, &effects, 1.0);
    assert!(choice.feasible && choice.partition.bins() > 20);
}
