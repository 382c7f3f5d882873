//! Shapley values against their definition and their axioms.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::estimator::shapley::{Background, Shapley, ShapleyMethod, ShapleyValues, values};
use fe_core::model::{BatchModel, FunctionModel, Model, Rows};
use fe_core::{Dataset, Error, ModelError};
use ndarray::Array2;
use proptest::prelude::*;

const EXACT: Shapley = Shapley { method: ShapleyMethod::Exact, background: Background::All };

fn pairs(pairs: usize, seed: u64) -> Shapley {
    Shapley { method: ShapleyMethod::Permutations { pairs, seed }, ..EXACT }
}

fn sampled(size: usize, seed: u64) -> Shapley {
    Shapley { background: Background::Sample { size, seed }, ..EXACT }
}

/// Scattered rows, the same at every call.
fn scattered(rows: usize, dimension: usize) -> Dataset {
    let value = |i: usize, j: usize| {
        ((i * 7919 + j * 104_729 + i * j * 31) as f64 * 0.618_033_988_75).fract() * 4.0 - 2.0
    };
    Dataset::from_rows(&Array2::from_shape_fn((rows, dimension), |(i, j)| value(i, j)).view())
        .unwrap()
}

fn tangled(x: &[f64]) -> f64 {
    let products: f64 = x.windows(2).map(|pair| pair[0] * pair[1]).sum();
    products + (x[0] + 2.0 * x[x.len() - 1]).sin() + x.iter().product::<f64>()
}

fn all(data: &Dataset, model: &dyn Model, options: &Shapley) -> ShapleyValues {
    let rows: Vec<usize> = (0..data.len()).collect();
    values(data, model, &rows, options).unwrap()
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |first: usize| {
        let rest: Vec<usize> = of.iter().copied().filter(|&s| s != first).collect();
        permutations(&rest).into_iter().map(move |mut order| {
            order.insert(0, first);
            order
        })
    };
    of.iter().flat_map(|&first| with_first(first)).collect()
}

/// The definition: the mean over all orders of what the feature adds to those before it.
fn by_definition(
    data: &Dataset,
    weights: &[f64],
    f: impl Fn(&[f64]) -> f64,
    row: usize,
    s: usize,
) -> f64 {
    let worth = |coalition: &[usize]| -> f64 {
        let mean = (0..data.len()).map(|b| {
            let mut z = data.row(b).to_vec();
            coalition.iter().for_each(|&q| z[q] = data.row(row)[q]);
            weights[b] * f(&z)
        });
        mean.sum::<f64>() / weights.iter().sum::<f64>()
    };
    let features: Vec<usize> = (0..data.dimension()).collect();
    let orders = permutations(&features);
    let added = |order: &Vec<usize>| {
        let at = order.iter().position(|&q| q == s).unwrap();
        worth(&order[..=at]) - worth(&order[..at])
    };
    orders.iter().map(added).sum::<f64>() / orders.len() as f64
}

#[test]
fn enumeration_is_the_definition() {
    for dimension in 1..=4 {
        let weights: Vec<f64> = (0..7).map(|i| f64::from(i % 3)).collect();
        let data = scattered(7, dimension).with_weights(weights.clone()).unwrap();
        let shapley = all(&data, &FunctionModel::new(dimension, tangled), &EXACT);
        for row in 0..7 {
            for s in 0..dimension {
                let expected = by_definition(&data, &weights, tangled, row, s);
                assert!((shapley.values[[row, s, 0]] - expected).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn values_add_up_to_the_prediction() {
    let data = scattered(9, 5);
    for options in [EXACT, pairs(3, 1), sampled(4, 2)] {
        let shapley = all(&data, &FunctionModel::new(5, tangled), &options);
        for row in 0..9 {
            let sum: f64 = (0..5).map(|s| shapley.values[[row, s, 0]]).sum();
            let total = tangled(&data.row(row).to_vec()) - shapley.base[0];
            assert!((sum - total).abs() < 1e-12, "{options:?}: {sum} against {total}");
            assert_eq!(shapley.predictions[[row, 0]], tangled(&data.row(row).to_vec()));
        }
    }
}

#[test]
fn a_feature_that_is_not_used_gets_nothing() {
    let data = scattered(11, 4);
    let model = FunctionModel::new(4, |x| 1e6 + (x[0] * x[1]).exp() * x[3]);
    for options in [EXACT, pairs(2, 7)] {
        let shapley = all(&data, &model, &options);
        // Predictions of 1e6 are rounded to 1e-10.
        assert!((0..11).all(|row| shapley.values[[row, 2, 0]].abs() < 1e-9));
        assert!((0..11).any(|row| shapley.values[[row, 1, 0]].abs() > 0.1));
    }
}

#[test]
fn features_that_are_used_alike_get_the_same() {
    let rows = [[1.0, 1.0, 3.0], [2.0, 2.0, -1.0], [0.5, 0.5, 0.0]];
    let data = Dataset::from_rows(&Array2::from(rows.to_vec()).view()).unwrap();
    let model = FunctionModel::new(3, |x| (x[0] * x[1]).sin() + x[0] + x[1] + x[2] * x[0] * x[1]);
    let shapley = all(&data, &model, &EXACT);
    for row in 0..3 {
        assert!((shapley.values[[row, 0, 0]] - shapley.values[[row, 1, 0]]).abs() < 1e-14);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn additive_functions_share_by_component(rows in support::rows(2..20)) {
        let data = support::dataset(&rows);
        let model = FunctionModel::new(2, |x| x[0].powi(3) + (3.0 * x[1]).cos());
        let mean = rows.iter().map(|r| r[0].powi(3)).sum::<f64>() / rows.len() as f64;
        for options in [EXACT, pairs(1, 3)] {
            let shapley = all(&data, &model, &options);
            for (i, row) in rows.iter().enumerate() {
                let expected = row[0].powi(3) - mean;
                prop_assert!((shapley.values[[i, 0, 0]] - expected).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn values_are_linear_in_the_function(rows in support::rows(2..20), a in -3.0..3.0_f64) {
        let data = support::dataset(&rows);
        let f = |x: &[f64]| (x[0] * x[1]).sin();
        let g = |x: &[f64]| x[0] * x[0] * x[1];
        for options in [EXACT, pairs(2, 3), sampled(5, 1)] {
            let of = |f: &(dyn Fn(&[f64]) -> f64 + Sync)| {
                all(&data, &FunctionModel::new(2, f), &options).values
            };
            let both = of(&f) * a + of(&g);
            let sum = of(&move |x: &[f64]| a * f(x) + g(x));
            prop_assert!(both.iter().zip(&sum).all(|(a, b)| (a - b).abs() < 1e-10));
        }
    }

    /// Copies instead of weights, in another order: the same values, whatever is drawn.
    #[test]
    fn weights_and_order_do_not_matter(
        rows in support::rows(2..15), weights in prop::collection::vec(1..4_u8, 15), size in 1..12_usize,
    ) {
        let weights = &weights[..rows.len()];
        let copies = rows.iter().zip(weights).rev();
        let copies: Vec<[f64; 2]> =
            copies.flat_map(|(row, &weight)| std::iter::repeat_n(*row, weight.into())).collect();
        let weighted = support::dataset(&rows)
            .with_weights(weights.iter().map(|&w| f64::from(w)).collect())
            .unwrap();
        for options in [EXACT, sampled(size, 5), pairs(2, 5)] {
            let model = support::curved();
            let a = values(&weighted, &model, &[0], &options).unwrap();
            let last = copies.len() - 1;
            let b = values(&support::dataset(&copies), &model, &[last], &options).unwrap();
            for s in 0..2 {
                prop_assert!((a.values[[0, s, 0]] - b.values[[0, s, 0]]).abs() < 1e-9);
            }
        }
    }
}

/// Thirteen features, of which four are used: the answer is that of the four alone.
#[test]
fn permutations_agree_with_enumeration_within_their_standard_errors() {
    let data = scattered(12, 13);
    let four =
        Dataset::from_rows(&Array2::from_shape_fn((12, 4), |(i, j)| data.row(i)[3 * j]).view());
    let exact = all(&four.unwrap(), &FunctionModel::new(4, tangled), &EXACT);
    let wide = FunctionModel::new(13, |x| tangled(&[x[0], x[3], x[6], x[9]]));
    let drawn = all(&data, &wide, &pairs(60, 11));
    let errors = drawn.standard_errors.unwrap();
    let mut squares = 0.0;
    for row in 0..12 {
        for j in 0..4 {
            let error = errors[[row, 3 * j, 0]];
            let z = (drawn.values[[row, 3 * j, 0]] - exact.values[[row, j, 0]]) / error;
            assert!(error > 0.0 && z.abs() < 4.0, "row {row}, feature {j}: {z}");
            squares += z * z;
        }
        assert!(errors[[row, 1, 0]] < 1e-15);
    }
    // Honest errors: the mean of 48 squared z is 1 ± 0.2, and somewhat more as they are estimated.
    let mean = squares / 48.0;
    assert!((0.4..2.2).contains(&mean), "{mean}");
}

/// Where features interact two by two, a feature joins before or after each other one in half of a
/// permutation and its reverse: a single pair is exact.
#[test]
fn one_pair_is_exact_for_interactions_of_two_features() {
    let data = scattered(8, 6);
    let pairwise = FunctionModel::new(6, |x| {
        (x[0] * x[1]).sin() + x[2].exp() * x[0] - x[3] * x[5] + x[4].powi(3) * x[5]
    });
    let exact = all(&data, &pairwise, &EXACT).values;
    let drawn = all(&data, &pairwise, &pairs(1, 5)).values;
    assert!(exact.iter().zip(&drawn).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn a_sample_of_the_background_stands_for_all_of_it() {
    let data = scattered(400, 3);
    let model = FunctionModel::new(3, tangled);
    let rows: Vec<usize> = (0..5).collect();
    let exact = values(&data, &model, &rows, &EXACT).unwrap();
    let mean_of = |size: usize| {
        let mut mean = ndarray::Array3::<f64>::zeros(exact.values.dim());
        for seed in 0..40 {
            let sample = values(&data, &model, &rows, &sampled(size, seed)).unwrap();
            assert_eq!(sample.background_rows, size);
            mean += &(sample.values / 40.0);
        }
        mean
    };
    // sd of f is about 3: the mean over 40 samples of 25 rows has a standard error of at most 0.1.
    let drawn = mean_of(25);
    assert!(drawn.iter().zip(&exact.values).all(|(a, b)| (a - b).abs() < 0.4));
    assert_ne!(
        values(&data, &model, &rows, &sampled(25, 0)).unwrap().values,
        values(&data, &model, &rows, &sampled(25, 1)).unwrap().values
    );
    let every = values(&data, &model, &rows, &sampled(400, 0)).unwrap();
    assert_eq!(every.background_rows, 400);
    assert!(every.values.iter().zip(&exact.values).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn threads_do_not_change_a_bit() {
    let data = scattered(57, 5);
    for options in [EXACT, pairs(3, 9), sampled(20, 4)] {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| all(&data, &FunctionModel::new(5, tangled), &options))
        };
        assert_eq!(with_threads(1), with_threads(4));
    }
}

#[test]
fn the_model_is_asked_no_more_than_documented() {
    let (n, d) = (9_u64, 5_u64);
    let data = scattered(9, 5);
    let rows = |options: &Shapley| all(&data, &FunctionModel::new(5, tangled), options).model_rows;
    // One further row sets the origin that differences are taken from.
    // Of two rows each is background to the other: half of the coalitions tell of the rest.
    assert_eq!(rows(&EXACT), n * ((1 << (d - 1)) - 1) * n + n + n + 1);
    assert_eq!(rows(&sampled(4, 0)), n * ((1 << d) - 2) * 4 + n + 4 + 1);
    assert_eq!(rows(&pairs(3, 0)), 2 * n * (d - 1) * n * 3 + n + n + 1);
}

#[test]
fn every_output_has_its_own_values() {
    let data = scattered(6, 3);
    let model = BatchModel::new(3, 2, |rows: &Rows<'_>| {
        let at = |s: usize, i: usize| rows.columns()[s].get(i);
        let first = (0..rows.len()).map(|i| at(0, i) * at(1, i));
        first.chain((0..rows.len()).map(|i| at(2, i))).collect()
    });
    let both = all(&data, &model, &EXACT).values;
    let first = all(&data, &FunctionModel::new(3, |x| x[0] * x[1]), &EXACT).values;
    let second = all(&data, &FunctionModel::new(3, |x| x[2]), &EXACT).values;
    for row in 0..6 {
        for s in 0..3 {
            assert_eq!(both[[row, s, 0]], first[[row, s, 0]]);
            assert_eq!(both[[row, s, 1]], second[[row, s, 0]]);
        }
    }
}

#[test]
fn bad_questions_are_refused() {
    let data = scattered(3, 13);
    let model = FunctionModel::new(13, tangled);
    for (rows, options) in [
        (vec![0], EXACT),
        (vec![3], pairs(1, 0)),
        (vec![0], pairs(0, 0)),
        (vec![0], Shapley { background: Background::Sample { size: 0, seed: 0 }, ..pairs(1, 0) }),
    ] {
        let error = values(&data, &model, &rows, &options).unwrap_err();
        assert!(matches!(error, Error::BadOption { .. }), "{error}");
    }
    let narrow = FunctionModel::new(2, |x| x[0]);
    let error = values(&data, &narrow, &[0], &pairs(1, 0)).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::WrongDimension { .. })));
    let one = values(&data, &model, &[0], &pairs(1, 0)).unwrap();
    assert!(one.standard_errors.is_none(), "one pair says nothing about its error");
}
