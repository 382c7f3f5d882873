//! Second witness: simulation that knows only the sampler and f, with z-tests at fixed seeds.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Sample, all, assert_mean, assert_variance, features, label, limits, spread};
use fe_truth::{Centring, Quantity, Scenario, Weighting};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const ROWS: usize = 20_000;

fn truth(scenario: &Scenario, effect: Quantity, s: usize, points: &[f64]) -> Vec<f64> {
    let curve = scenario.curve(effect, s, points, scenario.axis(s), Centring::None).unwrap();
    curve.into_iter().map(|truth| truth.value).collect()
}

/// pd, dpd, h-dpdp: the feature replaced in every row of a sample of the joint law.
#[test]
fn marginal_effects() {
    for scenario in all() {
        let sample = Sample::draw(&scenario, ROWS, 11);
        for s in features(&scenario) {
            for x in spread(scenario.axis(s), 3) {
                let what = |effect| format!("{} {effect} at {x}", label(&scenario, s));
                let exact = |effect| truth(&scenario, effect, s, &[x])[0];
                let slopes = sample.partial_with(s, x);
                assert_mean(&sample.f_with(s, x), exact(Quantity::Pd), &what(Quantity::Pd));
                assert_mean(&slopes, exact(Quantity::Dpd), &what(Quantity::Dpd));
                assert_variance(&slopes, exact(Quantity::HDpdp), &what(Quantity::HDpdp));
            }
        }
    }
}

/// h-pdp: ICE curves centred by their mean over a fine grid of midpoints.
#[test]
fn centred_ice() {
    const CELLS: usize = 400;
    for scenario in all() {
        let sample = Sample::draw(&scenario, 2000, 12);
        for s in features(&scenario) {
            let (lo, hi) = scenario.axis(s);
            let mut means = vec![0.0; sample.len];
            for cell in 0..CELLS {
                let x = lo + (hi - lo) * (cell as f64 + 0.5) / CELLS as f64;
                let values = sample.f_with(s, x);
                means.iter_mut().zip(values).for_each(|(m, v)| *m += v / CELLS as f64);
            }
            for x in spread((lo, hi), 3) {
                let ice = sample.f_with(s, x);
                let centred: Vec<f64> = ice.iter().zip(&means).map(|(v, m)| v - m).collect();
                let exact = truth(&scenario, Quantity::HPdp, s, &[x])[0];
                let what = format!("{} h-pdp at {x}", label(&scenario, s));
                assert_variance(&centred, exact, &what);
            }
        }
    }
}

/// mplot, mu and sigma as conditional means: residuals of the joint sample vanish in every bin.
#[test]
fn conditional_effects_in_the_joint_sample() {
    for scenario in all() {
        let sample = Sample::draw(&scenario, 4000, 13);
        for s in features(&scenario) {
            let x = &sample.columns[s];
            let [mplot, mu, sigma] =
                [Quantity::Mplot, Quantity::Mu, Quantity::Sigma].map(|e| truth(&scenario, e, s, x));
            let (f, slopes) = (sample.f(), sample.partial(s));
            let axis = limits(scenario.axis(s));
            for ends in axis.windows(2) {
                let inside = |i: &usize| ends[0] <= x[*i] && x[*i] < ends[1];
                let rows: Vec<usize> = (0..sample.len).filter(inside).collect();
                let draws =
                    |f: &dyn Fn(usize) -> f64| rows.iter().map(|&i| f(i)).collect::<Vec<_>>();
                let what = |name| format!("{} {name} in {ends:?}", label(&scenario, s));
                assert_mean(&draws(&|i| f[i] - mplot[i]), 0.0, &what("mplot"));
                assert_mean(&draws(&|i| slopes[i] - mu[i]), 0.0, &what("mu"));
                let excess = |i: usize| (slopes[i] - mu[i]).powi(2) - sigma[i].powi(2);
                assert_mean(&draws(&excess), 0.0, &what("sigma"));
            }
        }
    }
}

/// Bins weighted by the data, derivatives and finite differences.
#[test]
fn bins_of_the_joint_sample() {
    for scenario in all() {
        let sample = Sample::draw(&scenario, ROWS, 14);
        for s in features(&scenario) {
            let limits = limits(scenario.axis(s));
            let bins = scenario.bins(s, &limits, Weighting::Data).unwrap();
            let differences = scenario.differences(s, &limits).unwrap();
            let slopes = sample.partial(s);
            for (bin, difference) in bins.iter().zip(&differences) {
                let x = &sample.columns[s];
                let inside = |i: &usize| bin.lo <= x[*i] && x[*i] < bin.hi;
                let rows: Vec<usize> = (0..sample.len).filter(inside).collect();
                if rows.len() < 200 {
                    continue;
                }
                let what = |name| format!("{} {name} of {bin:?}", label(&scenario, s));
                let slopes: Vec<f64> = rows.iter().map(|&i| slopes[i]).collect();
                assert_mean(&slopes, bin.mu, &what("mu"));
                assert_variance(&slopes, bin.sigma2_star, &what("sigma2_star"));
                let (above, below) = (sample.f_with(s, bin.hi), sample.f_with(s, bin.lo));
                let steps: Vec<f64> = rows.iter().map(|&i| above[i] - below[i]).collect();
                assert_mean(&steps, difference.mean, &what("difference"));
                assert_variance(&steps, difference.variance, &what("its variance"));
            }
        }
    }
}

/// The rest of the features drawn given the one: mplot, mu, sigma, and the jumps of the ALE.
#[test]
fn conditional_effects_at_points() {
    for scenario in all() {
        for s in features(&scenario) {
            let mut points = spread(scenario.axis(s), 2);
            points.extend(scenario.breaks(s));
            for (i, &x) in points.iter().enumerate() {
                let sample = Sample::draw_given(&scenario, s, x, 2500, 15 + i as u64);
                let what = |effect| format!("{} {effect} at {x}", label(&scenario, s));
                let exact = |effect| truth(&scenario, effect, s, &[x])[0];
                let slopes = sample.partial(s);
                assert_mean(&sample.f(), exact(Quantity::Mplot), &what(Quantity::Mplot));
                assert_mean(&slopes, exact(Quantity::Mu), &what(Quantity::Mu));
                let variance = exact(Quantity::Sigma).powi(2);
                assert_variance(&slopes, variance, &what(Quantity::Sigma));
                let ends = [x.next_down(), x.next_up()];
                let [below, above] = ends.map(|x| sample.f_with(s, x));
                let jumps: Vec<f64> = above.iter().zip(&below).map(|(a, b)| a - b).collect();
                let ale = truth(&scenario, Quantity::Ale, s, &ends);
                assert_mean(&jumps, ale[1] - ale[0], &what(Quantity::Ale));
            }
        }
    }
}

/// Shapley values given the feature: what it adds to those before it in a random order, the others
/// from a random row of the background. Two draws for the same row have the second moment of its
/// Shapley value as the mean of their product.
#[test]
fn shapley_values() {
    for scenario in all() {
        for s in features(&scenario) {
            for (i, x) in spread(scenario.axis(s), 2).into_iter().enumerate() {
                let rows = Sample::draw_given(&scenario, s, x, ROWS / 2, 40 + i as u64);
                let [first, second] = [50, 60].map(|seed| rows.added_by(s, seed + i as u64));
                let what = |effect| format!("{} {effect} at {x}", label(&scenario, s));
                let [mean, variance] = [Quantity::Shap, Quantity::ShapVariance]
                    .map(|effect| truth(&scenario, effect, s, &[x])[0]);
                let middle: Vec<f64> =
                    first.iter().zip(&second).map(|(a, b)| 0.5 * (a + b)).collect();
                assert_mean(&middle, mean, &what(Quantity::Shap));
                let product = |(a, b): (&f64, &f64)| (a - mean) * (b - mean);
                let products: Vec<f64> = first.iter().zip(&second).map(product).collect();
                assert_mean(&products, variance, &what(Quantity::ShapVariance));
            }
        }
    }
}

/// Shapley values of whole points, and of the mean of their variance over a sample.
#[test]
fn shapley_values_of_points() {
    for scenario in all() {
        for (i, seed) in [70, 71].into_iter().enumerate() {
            let point = Sample::draw(&scenario, 1, seed);
            let row: Vec<f64> = point.columns.iter().map(|column| column[0]).collect();
            let values = scenario.shap_at(&row).unwrap();
            let repeated = point.repeated(ROWS / 2);
            for s in features(&scenario) {
                let draws = repeated.added_by(s, 80 + i as u64);
                let what = format!("{} φ at {row:?}", label(&scenario, s));
                assert_mean(&draws, values[s].value, &what);
            }
        }
        let sample = Sample::draw(&scenario, 2000, 72);
        for s in features(&scenario) {
            let variances = truth(&scenario, Quantity::ShapVariance, s, &sample.columns[s]);
            let values = scenario.values(s, scenario.axis(s)).unwrap();
            let mean = values.iter().find(|(name, _)| *name == "shap.mean").unwrap().1.value;
            assert_mean(&variances, mean, &format!("{} shap.mean", label(&scenario, s)));
        }
    }
}

#[test]
fn mean_and_sd_of_f() {
    for scenario in all() {
        let f = Sample::draw(&scenario, 100_000, 16).f();
        assert_mean(&f, scenario.mean().unwrap().value, &format!("mean of {scenario:?}"));
        let variance = scenario.sd().unwrap().value.powi(2);
        assert_variance(&f, variance, &format!("variance of {scenario:?}"));
    }
}

/// Features drawn jointly have the moments of their marginal laws, and rows do not depend on how
/// many are drawn.
#[test]
fn sampler() {
    for scenario in all() {
        let (long, short) = (Sample::draw(&scenario, 9000, 17), Sample::draw(&scenario, 100, 17));
        for s in features(&scenario) {
            assert_eq!(long.columns[s][..100], short.columns[s][..]);
            let (low, high) = scenario.support(s);
            assert!(long.columns[s].iter().all(|x| low <= *x && *x <= high));
            // The law itself, drawn from feature by feature.
            let mut rng = ChaCha8Rng::seed_from_u64(18);
            let alone: Vec<f64> =
                (0..9000).map(|_| scenario.sample_conditional(s, &[], &mut rng)).collect();
            for power in 1..=4 {
                let moment = |x: &f64| x.powi(power);
                let joint: Vec<f64> = long.columns[s].iter().map(moment).collect();
                let alone: Vec<f64> = alone.iter().map(moment).collect();
                let differences: Vec<f64> = joint.iter().zip(&alone).map(|(a, b)| a - b).collect();
                assert_mean(&differences, 0.0, &label(&scenario, s));
            }
        }
    }
}
