//! Regional optima: against integrals written out here, formulas, and simulation.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use std::f64::consts::{FRAC_2_PI, PI};

use common::{Sample, all, assert_mean, at, features, label};
use fe_truth::{Error, Regional, RegionalTruth, Scenario, Split};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn optimum(scenario: &Scenario, method: Regional, s: usize) -> RegionalTruth {
    scenario.regional(method, s).unwrap()[0]
}

fn split(scenario: &Scenario, method: Regional, s: usize) -> Split {
    optimum(scenario, method, s).split.unwrap()
}

fn assert_near(found: f64, exact: f64, what: &str) {
    let allowed = 1e-10 * (1.0 + exact.abs());
    assert!((found - exact).abs() <= allowed, "{what}: {found} but {exact}");
}

/// Simpson's rule: independent of how truths are integrated.
fn simpson((from, to): (f64, f64), cells: usize, f: impl Fn(f64) -> f64) -> f64 {
    let width = (to - from) / cells as f64;
    let value = |i: usize| f(from + width * i as f64);
    let inner: f64 = (1..cells).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * value(i)).sum();
    (value(0) + inner + value(cells)) * width / 3.0
}

/// Mean over x1 of the variance over x2 uniform on an interval of a function of both.
fn mean_variance(x2: (f64, f64), g: impl Fn(f64, f64) -> f64) -> f64 {
    simpson((0.0, 1.0), 200, |x1| {
        let mean = |f: &dyn Fn(f64) -> f64| simpson(x2, 200, f) / (x2.1 - x2.0);
        let centre = mean(&|x2| g(x1, x2));
        mean(&|x2| (g(x1, x2) - centre).powi(2))
    })
}

/// What a split of uniform x2 leaves, left and right, and weighted.
fn uniform_split(p: f64, g: impl Fn(f64, f64) -> f64 + Copy) -> [f64; 3] {
    let (left, right) = (mean_variance((0.0, p), g), mean_variance((p, 1.0), g));
    [left, right, p * left + (1.0 - p) * right]
}

#[test]
fn friedman_against_every_split_of_a_grid() {
    let scenario = at("friedman1", "noise_features=1");
    let centred = |x1: f64, x2: f64| {
        let mean = if x2 == 0.0 { 0.0 } else { (1.0 - (PI * x2).cos()) / (PI * x2) };
        10.0 * ((PI * x1 * x2).sin() - mean)
    };
    let slope = |x1: f64, x2: f64| 10.0 * PI * x2 * (PI * x1 * x2).cos();
    for method in [Regional::Pdp, Regional::Dpdp, Regional::Ale] {
        let g: &dyn Fn(f64, f64) -> f64 = if method == Regional::Pdp { &centred } else { &slope };
        let best = split(&scenario, method, 0);
        assert_eq!(best.feature, 1, "{method}");
        let exact = uniform_split(best.position, g);
        let found = [best.left, best.right, best.weighted];
        for (found, exact) in found.into_iter().zip(exact) {
            assert!((found.value - exact).abs() < 2e-8 * (1.0 + exact), "{method}: {best:?}");
            assert!(found.abs_error < 1e-9, "{method}: {best:?}");
        }
        for k in 1..40 {
            let weighted = uniform_split(f64::from(k) / 40.0, g)[2];
            assert!(weighted > best.weighted.value, "{method}: {k}/40 is better than {best:?}");
        }
    }
}

/// Variance of a normal number given that it lies above a limit (standardised) or below it.
fn normal_cut(limit: f64, above: bool) -> f64 {
    let limit = if above { limit } else { -limit };
    let density = |z: f64| (-0.5 * (z - limit) * (z + limit)).exp();
    let integral = |f: &dyn Fn(f64) -> f64| simpson((limit, limit + 14.0), 4000, f);
    let mass = integral(&density);
    let mean = integral(&|z| z * density(z)) / mass;
    integral(&|z| (z - mean).powi(2) * density(z)) / mass
}

/// The derivative is x2; given x1 and the region, a normal number that is cut off.
#[test]
fn correlated_product_against_every_split_of_a_grid() {
    let (rho, sd2): (f64, f64) = (-0.65, 0.35);
    let scenario = at("liu-product", "mu1=-2.2;mu2=0.4;sigma1=1.9;sigma2=0.35;rho=-0.65");
    let residual = (1.0 - rho * rho).sqrt();
    let (lo, hi) = scenario.axis(0);
    let side = |p: f64, above: bool, sd: bool| {
        simpson((lo, hi), 120, |x1| {
            let mean = 0.4 + rho * sd2 * (x1 + 2.2) / 1.9;
            let variance =
                (sd2 * residual).powi(2) * normal_cut((p - mean) / (sd2 * residual), above);
            if sd { variance.sqrt() } else { variance }
        })
    };
    let optima = scenario.regional(Regional::Rhale, 0).unwrap();
    assert_eq!(optima, scenario.regional(Regional::Ale, 0).unwrap());
    for (optimum, sd) in optima.iter().zip([false, true]) {
        let best = optimum.split.unwrap();
        let what = optimum.heterogeneity;
        // By symmetry the best position is the mean, where both sides have probability ½.
        assert_near(best.position, 0.4, what);
        assert!((best.left.value - side(0.4, false, sd)).abs() < 1e-6, "{what} {best:?}");
        assert!((best.right.value - side(0.4, true, sd)).abs() < 1e-6, "{what} {best:?}");
        for z in [-2.0, -1.2, -0.7, -0.4, 0.3, 0.9, 1.5] {
            let below = simpson((-12.0, z), 600, |u| (-0.5 * u * u).exp()) / (2.0 * PI).sqrt();
            let p = 0.4 + sd2 * z;
            let weighted = below * side(p, false, sd) + (1.0 - below) * side(p, true, sd);
            assert!(weighted > best.weighted.value, "{what}: {p} is better");
        }
    }
}

#[test]
fn optima_that_have_formulas() {
    // A normal number split at its mean keeps 1 − 2/π of its variance.
    let scenario = at("liu-product", "mu1=1.3;mu2=-0.7;sigma1=0.6;sigma2=2.1;rho=0.9");
    for (s, mean, sd) in [(0, -0.7, 2.1_f64), (1, 1.3, 0.6_f64)] {
        let best = split(&scenario, Regional::Dpdp, s);
        assert_eq!(best.feature, 1 - s);
        assert_near(best.position, mean, "position");
        assert!((best.position - mean).abs() <= best.position_error + 1e-11);
        assert_near(best.weighted.value, sd * sd * (1.0 - FRAC_2_PI), "weighted");
        assert_near(best.left.value, best.right.value, "sides");
        let (lo, hi) = scenario.axis(s);
        let pdp = split(&scenario, Regional::Pdp, s);
        let kept = sd * sd * (1.0 - FRAC_2_PI) * (hi - lo).powi(2) / 12.0;
        assert_near(pdp.weighted.value, kept, "pdp");
    }
    // A split of x3 at 0 removes the indicator from x1 and leaves x1 x2: variance 4 of the
    // derivative, and 4/12 of the centred curves.
    let cases = [("noise_sd=0.7", Regional::Pdp, 1.0 / 3.0), ("noise_sd=0.2", Regional::Dpdp, 4.0)];
    for (noise, method, left) in cases {
        let best = split(&at("sin-indicator", noise), method, 0);
        assert_eq!((best.feature, best.position), (2, 0.0), "{noise} {method}");
        assert_eq!(best.position_error, 0.0);
        assert_near(best.weighted.value, left, "weighted");
    }
    let optima = at("sin-indicator", "noise_sd=0.7").regional(Regional::Ale, 0).unwrap();
    assert_near(optima[0].weighted().value, 4.0, "ale.integral");
    assert_near(optima[1].weighted().value, 2.0, "ale.integral_sd");
    // The variance of x1 under the two-piece density of `sin-indicator` is least when split in the
    // dense piece: for F = 5(p + ½)/3, at p = −1/10.
    let best = split(&at("sin-indicator", "noise_sd=0.2"), Regional::Dpdp, 1);
    assert_near(best.position, -0.1, "position");
    assert_near(best.weighted.value, 0.02, "weighted");
    // A uniform number split in the middle keeps a quarter of its variance.
    let best = split(&at("piecewise-linear", "sigma2=0.4"), Regional::Dpdp, 1);
    assert_near(best.position, 0.5, "position");
    assert_near(best.weighted.value, 1.0 / 48.0, "weighted");
}

#[test]
fn before_is_the_known_value_and_an_additive_feature_is_not_split() {
    let mut last = "";
    for scenario in all() {
        if std::mem::replace(&mut last, scenario.info().name) == scenario.info().name {
            continue;
        }
        // Their regions take long.
        if ["friedman1-copula", "threshold-linear"].contains(&last) {
            continue;
        }
        for s in features(&scenario).take(4) {
            let what = label(&scenario, s);
            let known = scenario.values(s, scenario.axis(s)).unwrap();
            let optimum = match scenario.regional(Regional::Dpdp, s) {
                Ok(optima) => optima[0],
                Err(Error::NoRegionalOptimum { .. }) => continue,
                Err(other) => panic!("{what}: {other}"),
            };
            let name = optimum.heterogeneity;
            let before = known.iter().find(|(known, _)| *known == name).unwrap().1;
            assert_near(optimum.before.value, before.value, &what);
            assert_eq!(optimum.split.is_some(), before.value > 0.0, "{what}");
            assert!(optimum.weighted().value <= before.value, "{what}");
            assert!(optimum.weighted().abs_error <= 1e-9 * (1.0 + before.value), "{what}");
        }
    }
}

#[test]
fn laws_at_the_edge_of_what_is_allowed() {
    let cases = [
        ("liu-product", "mu2=1000;rho=0.9999", 0, Regional::Dpdp, 1000.0),
        ("liu-product", "mu2=-3;sigma2=0.001;rho=-0.999", 0, Regional::Ale, -3.0),
        ("sin-indicator", "noise_sd=0.00001", 2, Regional::Pdp, 0.0),
        ("piecewise-linear", "sigma2=0.001", 0, Regional::Ale, 0.5),
    ];
    for (name, point, s, method, position) in cases {
        let scenario = at(name, point);
        for optimum in scenario.regional(method, s).unwrap() {
            let best = optimum.split.unwrap_or_else(|| panic!("{name} {optimum:?}"));
            assert!((best.position - position).abs() <= best.position_error + 1e-9, "{best:?}");
            assert!(best.weighted.abs_error < 1e-9, "{best:?}");
        }
    }
}

#[test]
fn refusals() {
    let scenario = at("liu-product", "");
    let error = scenario.regional(Regional::Pdp, 2).unwrap_err();
    assert_eq!(error, Error::NoSuchFeature { feature: 2, dimension: 2 });
    let error = "shap".parse::<Regional>().unwrap_err().to_string();
    assert!(error.contains("pdp, dpdp, ale, rhale"), "{error}");
}

/// Rows of the law of all features given x_s = x and the side of a split, by rejection.
fn rows_given(
    scenario: &Scenario,
    (s, x): (usize, f64),
    split: (usize, f64, bool),
    rng: &mut ChaCha8Rng,
) -> Vec<f64> {
    loop {
        let mut row = vec![f64::NAN; scenario.dimension()];
        let mut given = vec![(s, x)];
        row[s] = x;
        for feature in (0..scenario.dimension()).filter(|&feature| feature != s) {
            row[feature] = scenario.sample_conditional(feature, &given, rng);
            given.push((feature, row[feature]));
        }
        if (row[split.0] <= split.1) == split.2 {
            return row;
        }
    }
}

fn sample_of(scenario: &Scenario, rows: &[Vec<f64>]) -> Sample {
    let column = |feature: usize| rows.iter().map(|row| row[feature]).collect();
    let columns = (0..scenario.dimension()).map(column).collect();
    Sample { scenario: scenario.clone(), columns, len: rows.len() }
}

fn halved_squares(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| 0.5 * (a - b).powi(2)).collect()
}

/// Draws whose mean is the heterogeneity of one side of a split, from pairs of independent rows
/// of that side: half the squared difference of two draws has their variance as mean.
fn draws(
    scenario: &Scenario,
    method: Regional,
    s: usize,
    split: (usize, f64, bool),
    pairs: usize,
) -> Vec<f64> {
    let rng = &mut ChaCha8Rng::seed_from_u64(31 + u64::from(split.2));
    let (lo, hi) = scenario.axis(s);
    let mut places = |n: usize| -> Vec<f64> {
        let share = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        (0..n).map(|_| lo + (hi - lo) * share(rng.next_u64())).collect()
    };
    let (x, other_x) = (places(pairs), places(pairs));
    if method == Regional::Ale {
        let mut side = || {
            let rows: Vec<Vec<f64>> =
                x.iter().map(|&x| rows_given(scenario, (s, x), split, rng)).collect();
            sample_of(scenario, &rows).partial(s)
        };
        let (a, b) = (side(), side());
        return halved_squares(&a, &b).iter().map(|square| square * (hi - lo)).collect();
    }
    // Rows of the joint law on that side; the feature is then replaced.
    let mut side = Vec::new();
    while side.len() < 2 * pairs {
        let flat = scenario.sample(pairs, rng);
        let row = |i: usize| -> Vec<f64> { flat.chunks(pairs).map(|column| column[i]).collect() };
        let inside = |row: &Vec<f64>| (row[split.0] <= split.1) == split.2;
        side.extend((0..pairs).map(row).filter(inside));
    }
    let at_places = |rows: &[Vec<f64>], places: &[f64]| {
        let moved = |(row, &x): (&Vec<f64>, &f64)| {
            let mut row = row.clone();
            row[s] = x;
            row
        };
        sample_of(scenario, &rows.iter().zip(places).map(moved).collect::<Vec<_>>())
    };
    let (first, second) = (&side[..pairs], &side[pairs..2 * pairs]);
    if method == Regional::Dpdp {
        let slopes = |rows| at_places(rows, &x).partial(s);
        return halved_squares(&slopes(first), &slopes(second));
    }
    // Centring takes the mean over the axis from the difference of two curves; half the squared
    // difference of that at two places has its variance over the axis as mean.
    let difference = |places: &[f64]| -> Vec<f64> {
        let (a, b) = (at_places(first, places).f(), at_places(second, places).f());
        a.iter().zip(&b).map(|(a, b)| a - b).collect()
    };
    let squares = halved_squares(&difference(&x), &difference(&other_x));
    squares.iter().map(|square| 0.5 * square).collect()
}

#[test]
fn simulated_sides() {
    let cases = [
        ("friedman1", "noise_features=0", 0),
        ("liu-product", "mu1=0.25;mu2=3.1;sigma1=1.4;sigma2=0.8;rho=0.2", 1),
        ("liu-quadratic", "mu1=-2.2;mu2=0.4;sigma1=1.9;sigma2=0.35;rho=-0.3", 0),
        ("sin-indicator", "noise_sd=0.7", 0),
        ("piecewise-linear", "sigma2=1.7;intercepts=literal", 1),
    ];
    for (name, point, s) in cases {
        let scenario = at(name, point);
        for method in [Regional::Pdp, Regional::Dpdp, Regional::Ale] {
            let best = split(&scenario, method, s);
            for (left, truth) in [(true, best.left), (false, best.right)] {
                let side = (best.feature, best.position, left);
                let what = format!("{} {method} left: {left}", label(&scenario, s));
                assert_mean(&draws(&scenario, method, s, side, 4000), truth.value, &what);
            }
            // The weight of the left side is how many rows are there.
            let column = &Sample::draw(&scenario, 20_000, 5).columns[best.feature];
            let left: Vec<f64> = column.iter().map(|&x| f64::from(x <= best.position)).collect();
            let share =
                (best.weighted.value - best.right.value) / (best.left.value - best.right.value);
            if (best.left.value - best.right.value).abs() > 1e-6 {
                assert_mean(&left, share, &label(&scenario, s));
            }
        }
    }
}

#[test]
fn accumulated_effects_have_two_heterogeneities() {
    let scenario = at("effector-regional", "");
    for (method, known) in [
        (Regional::Pdp, &["pdp.mean"][..]),
        (Regional::Dpdp, &["dpdp.mean"][..]),
        (Regional::Ale, &["ale.integral", "ale.integral_sd"][..]),
        (Regional::Rhale, &["ale.integral", "ale.integral_sd"][..]),
        (Regional::Shapdp, &["shap.mean"][..]),
    ] {
        let found = scenario.regional(method, 0).unwrap();
        let names: Vec<&str> = found.iter().map(|optimum| optimum.heterogeneity).collect();
        assert_eq!(names, known, "{method}");
    }
}

/// The sum of the variances over the widths of bins is off by that of their errors.
#[test]
fn differences_are_in_doubt_by_their_bins() {
    let scenario = at("effector-regional", "");
    let limits = [-1.0, -0.25, 0.5, 1.0];
    let before = scenario.regional_differences(2, &limits).unwrap().before;
    let bins = scenario.differences(2, &limits).unwrap();
    let sum = |of: &dyn Fn(&fe_truth::DifferenceTruth) -> f64| {
        bins.iter().map(|bin| of(bin) / (bin.hi - bin.lo)).sum::<f64>()
    };
    let (value, error) = (sum(&|bin| bin.variance), sum(&|bin| bin.abs_error));
    assert!(error > 0.0);
    assert!((before.value / value - 1.0).abs() < 1e-14);
    assert!((before.abs_error / error - 1.0).abs() < 1e-14, "{before:?}, not {error:e}");
}

/// The slope of x1 rises from 0 to 1 as x2 goes from 0.49 to 0.5: a position between is better than either.
#[test]
fn a_split_beside_a_kink_is_followed_to_its_minimum() {
    let text = "f = \"x1*min(max(100*(x2 - 0.49), 0), 1)\"\n[law]\n\
                x1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\n";
    let scenario = fe_truth::problem("ramp", text, &[]).unwrap();
    let split = split(&scenario, Regional::Dpdp, 0);
    // ∫ g and ∫ g² from 0 to p.
    let sums = |p: f64| match p {
        p if p < 0.49 => [0.0, 0.0],
        p if p < 0.5 => [50.0 * (p - 0.49).powi(2), 1e4 / 3.0 * (p - 0.49).powi(3)],
        p => [0.005 + p - 0.5, 0.01 / 3.0 + p - 0.5],
    };
    let weighted = |p: f64| {
        let [left, all] = [sums(p), sums(1.0)];
        let side = |[sum, square]: [f64; 2], share: f64| square - sum * sum / share;
        side(left, p) + side([all[0] - left[0], all[1] - left[1]], 1.0 - p)
    };
    let best = (1..10_000).map(|k| f64::from(k) / 1e4).map(weighted).fold(f64::INFINITY, f64::min);
    assert!((0.494..0.496).contains(&split.position), "{split:?}");
    assert!(split.weighted.value <= best + 1e-12 && split.position_error > 0.0, "{split:?}");
    assert_near(split.weighted.value, weighted(split.position), "weighted");
}
