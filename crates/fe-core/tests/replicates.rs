//! Statistics over replicates, against numbers worked out by hand and against simulation.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::replicates::{
    BandMeasures, BandPoint, Decomposition, ErrorParts, FreshCurves, Order, Paired, Summary, Test,
    decompose, holm, split_variance,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::statistics::Statistics;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} against {b}");
}

#[test]
fn summaries_are_those_of_the_textbook() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    let summary = Summary::of(&values);
    // Mean 5, sum of squared deviations 32.
    close(summary.mean.unwrap(), 5.0);
    close(summary.standard_error.unwrap(), (32.0_f64 / 7.0 / 8.0).sqrt());
    close(summary.standard_error.unwrap(), values.std_dev() / 8_f64.sqrt());
    let t = StudentsT::new(0.0, 1.0, 7.0).unwrap().inverse_cdf(0.975);
    // 2.3646 is what tables print for seven degrees of freedom.
    assert!((t - 2.364_624).abs() < 1e-6);
    close(summary.interval.unwrap().1, 5.0 + t * summary.standard_error.unwrap());
    let single = Summary::of(&[3.0]);
    assert_eq!((single.mean, single.standard_error, single.interval), (Some(3.0), None, None));
    assert_eq!(Summary::of(&[]).mean, None);
    assert_eq!(Summary::with_error(0, Some(1.0), Some(1.0)).interval, None);
}

#[test]
fn paired_differences_know_more_than_either_estimate() {
    // Common noise of size 100, a difference of 1 or 2.
    let pairs = [(101.0, 100.0), (-48.0, -50.0), (31.0, 30.0), (12.0, 10.0)];
    let paired = Paired::of(&pairs);
    close(paired.difference.mean.unwrap(), 1.5);
    // Squared deviations of ±½: sum 1.
    close(paired.difference.standard_error.unwrap(), (1.0_f64 / 3.0 / 4.0).sqrt());
    assert_eq!((paired.wins, paired.ties, paired.losses), (0, 0, 4));
    assert!(paired.difference.interval.unwrap().0 > 0.0);
    assert!(Summary::of(&pairs.map(|p| p.0)).standard_error.unwrap() > 30.0);
}

#[test]
fn tests_have_the_p_values_of_students_t() {
    // One degree of freedom is Cauchy: P(|T| > 1) = ½.
    close(Test::of(2.0, 2.0, 1.0).unwrap().p, 0.5);
    // Far in the tail: P(|T| > t) of two degrees of freedom is 1 − t/√(2 + t²) ≈ 1/t².
    let far = Test::of(-1e6, 1.0, 2.0).unwrap();
    assert!((far.p * 1e12 - 1.0).abs() < 1e-6, "{far:?}");
    close(far.above(), 1.0 - 0.5 * far.p);
    assert_eq!(Test::of(1.0, 0.0, 5.0).unwrap().p, 0.0);
    assert_eq!(Test::of(0.0, 0.0, 5.0).unwrap().p, 1.0);
    assert_eq!(Test::of(1.0, 1.0, 0.0), None);
    assert_eq!(Test::of_mean(&Summary::of(&[1.0]), 0.0), None);
}

#[test]
fn welch_weighs_unequal_variances() {
    // Variances 1 and 4 over 3 and 2: squared errors 1/3 and 1.
    let first = Summary::of(&[1.0, 2.0, 3.0]);
    let second = Summary::of(&[4.0, 4.0 + 8_f64.sqrt()]);
    let test = Test::welch(&first, &second).unwrap();
    let squared = [1.0 / 3.0, 2.0];
    close(second.standard_error.unwrap().powi(2), squared[1]);
    let sum = squared[0] + squared[1];
    close(test.statistic, (2.0 - second.mean.unwrap()) / sum.sqrt());
    close(test.degrees, sum * sum / (squared[0].powi(2) / 2.0 + squared[1].powi(2) / 1.0));
    assert_eq!(Test::welch(&first, &Summary::of(&[1.0])), None);
    // Two constants: equal, or different beyond doubt.
    let constant = |value: f64| Summary::of(&[value, value]);
    assert_eq!(Test::welch(&constant(1.0), &constant(1.0)).unwrap().p, 1.0);
    assert_eq!(Test::welch(&constant(1.0), &constant(2.0)).unwrap().p, 0.0);
}

#[test]
fn reruns_see_small_common_shifts_and_large_single_ones() {
    let first = [1.0, 2.0, 3.0, 4.0];
    let p = |second: [f64; 4]| {
        let pairs: Vec<(f64, f64)> = first.into_iter().zip(second).collect();
        Test::of_rerun(&pairs).unwrap().p
    };
    assert_eq!(p(first), 1.0);
    // A shift by a thousandth everywhere: far below the error of the mean, 0.65, and no accident.
    assert!(p([1.001, 2.001, 3.001, 4.001]) < 1e-9);
    // A single value off by 40 is 10 in the mean.
    let error = (5.0_f64 / 3.0 / 4.0).sqrt();
    close(p([1.0, 2.0, 3.0, 44.0]), Test::of(10.0, error, 3.0).unwrap().p);
    assert!(p([1.1, 1.9, 3.1, 3.9]) > 0.9);
    assert_eq!(Test::of_rerun(&[(1.0, 2.0)]), None);
}

#[test]
fn holm_steps_down() {
    let p = [0.01, 0.04, 0.03, 0.005];
    // Sorted 0.005 ×4, 0.01 ×3, 0.03 ×2, 0.04 ×1, and never below the one before.
    for (adjusted, expected) in holm(&p).into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
        close(adjusted, expected);
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

/// Under the null, the smallest of many adjusted p-values falls below α as rarely as α says.
#[test]
fn the_false_alarm_rate_is_the_one_stated() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let rounds = 20_000;
    let alarms = (0..rounds).filter(|_| {
        let p: Vec<f64> = (0..10).map(|_| random.random::<f64>()).collect();
        holm(&p).iter().any(|p| *p < 0.05)
    });
    // 1 − (1 − 0.005)^10 = 0.0489, with a standard error of 0.0015.
    let rate = alarms.count() as f64 / f64::from(rounds);
    assert!((rate - 0.0489).abs() < 5.0 * 0.0015, "{rate}");
}

#[test]
fn orders_are_slopes_of_logs() {
    // Logs to base 2: x 0, 1, 2, 3; y 0, −1, −1, −2.
    let errors = [(1.0, 1.0), (2.0, 0.5), (4.0, 0.5), (8.0, 0.25)];
    let order = Order::of(&errors).unwrap();
    // Sxx = 5, Sxy = −3, residuals 0.1, −0.3, 0.3, −0.1 with squares 0.2.
    close(order.slope, -0.6);
    close(order.standard_error.unwrap(), (0.2_f64 / 2.0 / 5.0).sqrt());
    let two = Order::of(&errors[..2]).unwrap();
    assert_eq!((two.slope, two.standard_error), (-1.0, None));
    assert_eq!(Order::of(&errors[..1]), None);
    assert_eq!(Order::of(&[(2.0, 0.1), (2.0, 0.2)]), None);
    assert_eq!(Order::of(&[(2.0, 1e-30), (4.0, 1e-31)]), None);
    assert_eq!(Order::of(&[(0.0, 1.0), (4.0, 1.0)]), None);
    assert_eq!(Order::of(&[(1.0, f64::NAN), (4.0, 1.0)]), None);
}

#[test]
fn parts_of_a_squared_error() {
    // Point 1: errors 1, 3, 5, mean 3, variance 4. Point 2: errors −1, −1, −1.
    let replicates: Vec<Vec<Option<f64>>> =
        [1.0, 3.0, 5.0].iter().map(|&e| vec![Some(e), Some(-1.0)]).collect();
    let [mse, bias2, debiased, variance, floor] = decompose(&replicates).unwrap();
    close(mse.mean.unwrap(), (35.0 / 3.0 + 1.0) / 2.0);
    close(bias2.mean.unwrap(), (9.0 + 1.0) / 2.0);
    close(variance.mean.unwrap(), 2.0);
    close(debiased.mean.unwrap(), 5.0 - 2.0 / 3.0);
    close(floor.mean.unwrap(), 2.0 / 3.0);
    // The mse is a mean of replicates, for which the jackknife gives the usual standard error.
    let each = Summary::of(&[1.0, 5.0, 13.0]);
    close(mse.standard_error.unwrap(), each.standard_error.unwrap());
    close(mse.interval.unwrap().0, each.interval.unwrap().0);
    // Variances without each replicate in turn: 2, 8, 2, halved; (2/3)·Σ(v − 2)² = 4.
    close(variance.standard_error.unwrap(), 2.0);
    assert_eq!(decompose(&replicates[..1]), None);
    assert_eq!(decompose(&[]), None);
    assert_eq!(decompose(&replicates[..2]).unwrap()[3].standard_error, None);
}

#[test]
fn points_that_a_replicate_lacks_are_left_out() {
    let replicates = [vec![Some(1.0), Some(7.0)], vec![Some(3.0), None], vec![Some(2.0), None]];
    let parts = decompose(&replicates).unwrap();
    close(parts[1].mean.unwrap(), 4.0);
    close(parts[3].mean.unwrap(), 1.0);
}

/// Estimates of a squared bias of 0.25 and a variance of 4 from few replicates: the raw squared bias
/// is too large by variance / R, the debiased one is right on average.
#[test]
fn the_debiased_bias_is_unbiased() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut normal = || {
        // Sum of twelve uniforms: mean 6, variance 1.
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    };
    let rounds = 4000;
    let mut means = [0.0; 5];
    for _ in 0..rounds {
        let mut decomposition = Decomposition::new(1);
        for _ in 0..5 {
            decomposition.add(&[Some(0.5 + 2.0 * normal())]);
        }
        let parts = decomposition.parts().unwrap().values();
        means.iter_mut().zip(parts).for_each(|(mean, part)| *mean += part / f64::from(rounds));
    }
    let expected = [0.25 + 4.0, 0.25 + 0.8, 0.25, 4.0, 0.8];
    for (name, (mean, expected)) in ErrorParts::NAMES.iter().zip(means.into_iter().zip(expected)) {
        // Standard errors of these means are at most 0.05.
        assert!((mean - expected).abs() < 0.2, "{name}: {mean}, {expected}");
    }
}

/// Curves of models with variance 4 on data that add a variance of 9, from few of both: the parts are
/// right on average, and so is their sum for a single curve. Fresh curves that are told by their moments
/// give the same.
#[test]
fn the_parts_of_a_variance_are_unbiased() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let rounds = 3000;
    let mut sums = [0.0; 3];
    for round in 0..rounds {
        let mut first = Vec::new();
        let models: Vec<FreshCurves> = (0..5)
            .map(|_| {
                let own = 2.0 * normal();
                let mut fresh = FreshCurves::new(2);
                let curves: Vec<f64> = (0..3).map(|_| own + 3.0 * normal()).collect();
                curves.iter().for_each(|&y| fresh.add(&[Some(y), None]));
                first.push(curves[0]);
                fresh
            })
            .collect();
        let [estimation, model] = split_variance(&models).unwrap().map(|part| part.mean.unwrap());
        let of_one = Summary::of(&first).standard_error.unwrap().powi(2) * 5.0;
        sums.iter_mut().zip([estimation, model, of_one]).for_each(|(sum, part)| *sum += part);
        if round == 0 {
            let told = models.iter().map(|m| FreshCurves::of(&m.means(), &m.variances(), 3));
            let again = split_variance(&told.collect::<Vec<_>>()).unwrap();
            close(again[0].mean.unwrap(), estimation);
            close(again[1].mean.unwrap(), model);
        }
    }
    let means = sums.map(|sum| sum / f64::from(rounds));
    for (mean, expected) in means.into_iter().zip([9.0, 4.0, 13.0]) {
        // Standard errors: √(2/10)·9/√3000 = 0.07, √(2/4)·7/√3000 = 0.09 and √(2/4)·13/√3000 = 0.17.
        assert!((mean - expected).abs() < 0.6, "{mean}, {expected}");
    }
    assert_eq!(split_variance(&[]), None);
}

/// 4000 bands around normal centres, of the standard deviation 2 and a bias of 1, that believe it is 1.5; the second
/// point has no band in half of the datasets.
#[test]
fn measures_of_bands_are_those_of_the_normal_law() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let quantile = 1.959_963_985;
    let point = |centre: f64| BandPoint {
        lower: centre - 1.5 * quantile,
        upper: centre + 1.5 * quantile,
        truth: 0.0,
    };
    let bands: Vec<Vec<Option<BandPoint>>> = (0..4000)
        .map(|i| {
            let z: f64 = StandardNormal.sample(&mut random);
            let centre = 1.0 + 2.0 * z;
            vec![Some(point(centre)), (i % 2 == 0).then(|| point(centre))]
        })
        .collect();
    let measures = BandMeasures::of(&bands, 0.95).unwrap();
    let phi = |x: f64| Normal::standard().cdf(x);
    let held = 2.0 * phi(0.75 * quantile) - 1.0;
    let power = 1.0 - phi((1.5 * quantile - 1.0) / 2.0) + phi((-1.5 * quantile - 1.0) / 2.0);
    for (name, summary, expected) in [
        ("empirical", measures.empirical_error, 2.0),
        ("model", measures.model_error, 1.5),
        ("relative", measures.relative_error, -0.25),
        ("eliminated", measures.bias_eliminated_coverage, held),
        ("power", measures.power, power),
    ] {
        let (mean, error) = (summary.mean.unwrap(), summary.standard_error.unwrap());
        assert!((mean - expected).abs() < 4.0 * error + 1e-9, "{name}: {mean} ± {error}");
        assert!(error < 0.03, "{name}: {error}");
    }
    // Of n normal numbers the standard deviation has the relative error 1/√(2n).
    let error = measures.empirical_error.standard_error.unwrap();
    assert!((error / (2.0 / 8000_f64.sqrt()) - 1.0).abs() < 0.2, "{error}");
    assert_eq!(BandMeasures::of(&bands[..1], 0.95), None);
    assert_eq!(BandMeasures::of(&[], 0.95), None);
}

#[test]
fn shares_that_are_all_alike_have_wilsons_interval() {
    // n = 10: 1/(1 + 3.8415/10).
    let (lo, hi) = Summary::of_shares(&[1.0; 10]).interval.unwrap();
    assert!((lo - 0.722_467).abs() < 1e-6 && hi == 1.0, "{lo}");
    let (lo, hi) = Summary::of_shares(&[0.0; 10]).interval.unwrap();
    assert!(lo == 0.0 && (hi - 0.277_533).abs() < 1e-6, "{hi}");
    let shares = [0.9, 1.0, 1.0];
    assert_eq!(Summary::of_shares(&shares), Summary::of(&shares));
    assert_eq!(Summary::of_shares(&[]).interval, None);
}

proptest! {
    /// With the variance of ddof 1, the debiased squared bias and the variance add up to the mean
    /// squared error; and it does not matter how replicates are distributed over parts.
    #[test]
    fn decompositions_add_up_and_merge(
        replicates in prop::collection::vec(prop::collection::vec(-10.0..10.0_f64, 3), 2..8),
        cut in 0..8_usize,
    ) {
        let mut all = Decomposition::new(3);
        let mut halves = [Decomposition::new(3), Decomposition::new(3)];
        for (i, replicate) in replicates.iter().enumerate() {
            let errors: Vec<Option<f64>> = replicate.iter().copied().map(Some).collect();
            all.add(&errors);
            halves[usize::from(i >= cut)].add(&errors);
        }
        let parts = all.parts().unwrap();
        let squares = replicates.iter().flatten().map(|error| error * error).sum::<f64>();
        let mse = squares / (3 * replicates.len()) as f64;
        prop_assert!((parts.mse - mse).abs() <= 1e-12 * mse);
        prop_assert!((parts.debiased_bias2 + parts.variance - parts.mse).abs() <= 1e-13 * mse);
        let count = replicates.len() as f64;
        let published = parts.bias2 + (count - 1.0) / count * parts.variance;
        prop_assert!((published - mse).abs() <= 1e-12 * mse);
        let pointwise = all.pointwise();
        let mean = pointwise.iter().map(|parts| parts.unwrap().noise_floor).sum::<f64>() / 3.0;
        prop_assert!((mean - parts.noise_floor).abs() <= 1e-13 * mse);
        let merged = halves[0].merge(&halves[1]).parts().unwrap();
        for (a, b) in parts.values().into_iter().zip(merged.values()) {
            prop_assert!((a - b).abs() <= 1e-11 * mse);
        }
    }
}
