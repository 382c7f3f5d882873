//! Truths far outside of where the features lie: right within their bounds, or refused by name.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{all, at, label};
use fe_core::model::{Column, Rows};
use fe_truth::{Centring, Error, Quantity, Scenario, Weighting};

/// How far out: powers of ten.
const POWERS: [i32; 30] = [
    -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 20, 30, 50, 100, 149,
    151, 155, 200, 300, 308,
];

/// Points off either end of an axis.
fn far((lo, hi): (f64, f64)) -> impl Iterator<Item = f64> {
    let powers = POWERS.into_iter().map(|k| 10_f64.powi(k));
    powers.flat_map(move |distance| [lo - distance, hi + distance])
}

/// Scenarios with features that are not bounded, each at one of its parameter points.
fn unbounded() -> Vec<(Scenario, usize)> {
    let mut scenarios = all();
    scenarios.dedup_by_key(|scenario| scenario.id());
    let features = |scenario: &Scenario| {
        let open = |&s: &usize| scenario.support(s) == (f64::NEG_INFINITY, f64::INFINITY);
        (0..scenario.dimension()).filter(open).collect::<Vec<usize>>()
    };
    scenarios
        .into_iter()
        .flat_map(|s| features(&s).into_iter().map(move |f| (s.clone(), f)))
        .collect()
}

/// A number, or a refusal that names what was asked.
fn assert_told(answer: Result<(f64, f64), Error>, name: &str, what: &str) {
    match answer {
        Ok((value, bound)) => {
            assert!(value.is_finite() && bound.is_finite() && bound >= 0.0, "{what}: {value}");
        }
        Err(error @ (Error::TooLarge(_) | Error::EmptyBin { .. })) => {
            assert!(error.to_string().contains(name), "{what}: {error}");
        }
        Err(Error::NotAdditive { .. }) => (),
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn bounded_features_have_nothing_there() {
    for scenario in all() {
        for s in 0..scenario.dimension().min(6) {
            let (lo, hi) = scenario.support(s);
            if lo.is_infinite() {
                continue;
            }
            for x in far((lo, hi)).filter(|x| !(lo..=hi).contains(x)) {
                let what = format!("{} at {x}", label(&scenario, s));
                for &effect in Quantity::ALL {
                    let asked = scenario.curve(effect, s, &[x], (lo, hi), Centring::None);
                    assert!(matches!(asked, Err(Error::OutsideSupport { .. })), "{what}");
                }
                let ends = if x < lo { [x, lo] } else { [hi, x] };
                assert!(scenario.bins(s, &ends, Weighting::Uniform).is_err(), "{what}");
                assert!(scenario.values(s, (ends[0], ends[1])).is_err(), "{what}");
                let mut row: Vec<f64> = (0..scenario.dimension()).map(|_| lo).collect();
                row[s] = x;
                assert!(scenario.shap_at(&row).is_err(), "{what}");
            }
        }
    }
}

#[test]
fn every_effect_is_told_or_refused() {
    for (scenario, s) in unbounded() {
        let axis = scenario.axis(s);
        for x in [0, 8, 155, 300]
            .map(|k| 10_f64.powi(k))
            .into_iter()
            .flat_map(|d| [axis.0 - d, axis.1 + d])
        {
            let what = format!("{} at {x:e}", label(&scenario, s));
            let name = format!("x{}", s + 1);
            for &effect in Quantity::ALL {
                let asked = scenario.curve(effect, s, &[x], axis, Centring::None);
                let asked = asked.map(|truths| (truths[0].value, truths[0].abs_error));
                assert_told(asked, &name, &format!("{effect} of {what}"));
            }
            let mut row: Vec<f64> = (0..scenario.dimension()).map(|_| 0.25).collect();
            row[s] = x;
            for k in 0..scenario.dimension() {
                let asked = scenario.shap_at(&row).map(|all| (all[k].value, all[k].abs_error));
                assert_told(asked, "x", &what);
            }
            let ends = if x < axis.0 { [x, axis.0] } else { [axis.1, x] };
            for weighting in [Weighting::Uniform, Weighting::Data] {
                let asked = scenario.bins(s, &ends, weighting);
                assert_told(asked.map(|b| (b[0].sigma2_star, b[0].abs_error)), &name, &what);
            }
            let asked = scenario.differences(s, &ends);
            assert_told(asked.map(|b| (b[0].variance, b[0].abs_error)), &name, &what);
        }
    }
}

#[test]
fn ranges_may_end_far_out() {
    for (scenario, s) in unbounded() {
        let (lo, hi) = scenario.axis(s);
        for k in [1, 8, 60, 300] {
            let axis = (lo, hi + 10_f64.powi(k));
            let what = format!("{} over {axis:?}", label(&scenario, s));
            let name = format!("x{}", s + 1);
            match scenario.values(s, axis) {
                Ok(all) => all
                    .into_iter()
                    .for_each(|(_, v)| assert_told(Ok((v.value, v.abs_error)), &name, &what)),
                Err(error) => assert_told(Err(error), &name, &what),
            }
            for centring in [Centring::Start, Centring::Integral, Centring::Data] {
                let asked = scenario.curve(Quantity::Ale, s, &[axis.1], axis, centring);
                assert_told(asked.map(|t| (t[0].value, t[0].abs_error)), &name, &what);
            }
        }
        assert!(matches!(scenario.values(s, (-1.7e308, 1.7e308)), Err(Error::BadAxis { .. })));
    }
}

/// A parent that is uniform on pieces, and a child that is far from it.
struct Family {
    scenario: Scenario,
    noise: f64,
    child: usize,
    /// Limits of the parent's pieces, and its density there.
    pieces: Vec<(f64, f64, f64)>,
}

/// All at three values of the noise.
fn families() -> Vec<Family> {
    let one = vec![(0.0, 1.0, 1.0)];
    let two = vec![(-0.5, 0.0, 5.0 / 3.0), (0.0, 0.5, 1.0 / 3.0)];
    let mut found = Vec::new();
    for noise in [0.02, 0.5, 1.7] {
        let mut add = |name: &str, key: &str, child: usize, pieces: &Vec<(f64, f64, f64)>| {
            let scenario = at(name, &format!("{key}={noise}"));
            found.push(Family { scenario, noise, child, pieces: pieces.clone() });
        };
        add("piecewise-linear", "sigma2", 1, &one);
        add("nonlinear", "sigma2", 1, &one);
        add("threshold-linear", "a1=0.7;a2=-1.3;noise_sd", 1, &one);
        add("sin-indicator", "noise_sd", 2, &two);
    }
    found
}

/// A number, and how far off it may be.
type Rough = (f64, f64);

impl Family {
    /// The mean of a function of the parent given the child, by Simpson's rule in the distance from
    /// the nearer end, in units in which the density falls off as e^-t.
    fn given(&self, child: f64, g: &dyn Fn(f64) -> f64) -> Rough {
        let (low, high) = (self.pieces[0].0, self.pieces[self.pieces.len() - 1].1);
        let above = child > 0.5 * (low + high);
        let end = if above { high } else { low };
        let nearest = ((child - end).abs() / self.noise).max(1.0);
        let unit = self.noise / nearest;
        let most = ((high - low) / unit).min(80.0);
        let weighted = |t: f64, g: &dyn Fn(f64) -> f64| {
            let d = unit * t;
            let parent = if above { (end - d).max(low) } else { (end + d).min(high) };
            let inside = |p: &&(f64, f64, f64)| p.0 <= parent && parent <= p.1;
            let density = self.pieces.iter().find(inside).unwrap().2;
            let ratio = if (child - end).abs() / self.noise >= 1.0 {
                1.0
            } else {
                (child - end).abs() / self.noise
            };
            g(parent) * density * (-t * (ratio + 0.5 * t / nearest / nearest)).exp()
        };
        let mean = |cells: usize| {
            let simpson = |g: &dyn Fn(f64) -> f64| -> f64 {
                let value = |i: usize| weighted(most * i as f64 / cells as f64, g);
                let inner = (1..cells).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * value(i));
                value(0) + inner.sum::<f64>() + value(cells)
            };
            simpson(g) / simpson(&|_| 1.0)
        };
        let (rough, fine) = (mean(2000), mean(4000));
        // Sums of thousands round.
        (fine, 4.0 * (fine - rough).abs() + 4e-14 * g(end).abs())
    }

    fn ask(&self, partial: bool, parent: f64, child: f64) -> f64 {
        let mut row = vec![0.0; self.scenario.dimension()];
        (row[0], row[self.child]) = (parent, child);
        let columns: Vec<Column<'_>> = row.iter().map(|&x| Column::Constant(x)).collect();
        let (rows, mut value) = (Rows::new(&columns, 1), [0.0]);
        let model = self.scenario.model();
        if partial {
            model.partial(self.child, &rows, &mut value).unwrap();
        } else {
            model.predict(&rows, &mut value).unwrap();
        }
        value[0]
    }

    /// Conditional effects at a place, by the native function.
    fn conditional(&self, x: f64) -> [(Quantity, Rough); 3] {
        let mplot = self.given(x, &|parent| self.ask(false, parent, x));
        let mu = self.given(x, &|parent| self.ask(true, parent, x));
        // Deviations from the end keep digits that those from the mean lose.
        let sigma = (self.sigma2(x).0.max(0.0).sqrt(), self.sigma2(x).1.sqrt());
        [(Quantity::Mplot, mplot), (Quantity::Mu, mu), (Quantity::Sigma, sigma)]
    }

    /// The slope along the child is affine in the parent, or the parent decides its sign.
    fn sigma2(&self, x: f64) -> Rough {
        let linear = ["piecewise-linear", "nonlinear"].contains(&self.scenario.info().name);
        let end = if x > 0.5 { 1.0 } else { 0.0 };
        if linear {
            // Exactly the distance: the parent itself has lost it.
            let (low, high) = (self.pieces[0].0, self.pieces[0].1);
            let distance = |power: i32| self.distance(x, power, high - low);
            let (mean, square) = (distance(1), distance(2));
            return (square.0 - mean.0 * mean.0, square.1 + 2.0 * mean.0 * mean.1);
        }
        let slope = |parent: f64| self.ask(true, parent, x);
        let centre = slope(end);
        let (mean, square) = (
            self.given(x, &|parent| slope(parent) - centre),
            self.given(x, &|parent| (slope(parent) - centre).powi(2)),
        );
        (square.0 - mean.0 * mean.0, square.1 + 2.0 * mean.0.abs() * mean.1 + 1e-15)
    }

    /// Mean power of the distance from the nearer end given the child.
    fn distance(&self, child: f64, power: i32, width: f64) -> Rough {
        let end = if child > 0.5 { 1.0 } else { 0.0 };
        let nearest = (child - end).abs() / self.noise;
        let unit = self.noise / nearest.max(1.0);
        let most = (width / unit).min(80.0);
        let ratio = nearest.min(1.0);
        let density = |t: f64| (-t * (ratio + 0.5 * t / nearest.max(1.0).powi(2))).exp();
        let mean = |cells: usize| {
            let simpson = |g: &dyn Fn(f64) -> f64| -> f64 {
                let value = |i: usize| g(most * i as f64 / cells as f64);
                let inner = (1..cells).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * value(i));
                value(0) + inner.sum::<f64>() + value(cells)
            };
            simpson(&|t| (unit * t).powi(power) * density(t)) / simpson(&density)
        };
        let (rough, fine) = (mean(2000), mean(4000));
        (fine, 4.0 * (fine - rough).abs())
    }
}

/// Whether a truth, its bound and the doubt of a witness agree.
fn assert_right(found: (f64, f64), witness: Rough, what: &str) {
    let ((value, bound), (expected, doubt)) = (found, witness);
    assert!(
        (value - expected).abs() <= bound + doubt,
        "{what}: {value} ± {bound}, not {expected} ± {doubt}"
    );
}

#[test]
fn conditional_effects_given_a_child_far_out() {
    for family in families() {
        let (scenario, s) = (&family.scenario, family.child);
        let axis = scenario.axis(s);
        for x in far(axis).filter(|x| x.abs() < 1e150) {
            for (effect, witness) in family.conditional(x) {
                let truth = scenario.curve(effect, s, &[x], axis, Centring::None).unwrap()[0];
                let what = format!("{effect} of {} at {x:e}", label(scenario, s));
                assert_right((truth.value, truth.abs_error), witness, &what);
                // Nor is the bound bought by being wide.
                let size = witness.0.abs().max(1e-3);
                assert!(truth.abs_error < 1e-9 * size, "{what}: ± {}", truth.abs_error);
            }
        }
    }
}

/// The mean of mu over a bin that reaches far out, by Simpson's rule in the logarithm of the
/// distance from where the parent ends.
fn mean_mu(family: &Family, (from, to): (f64, f64)) -> Rough {
    let side = if from > 0.5 { 1.0 } else { -1.0 };
    let end = if side > 0.0 { 1.0 } else { 0.0 };
    let [near, distant] = if side > 0.0 { [from, to] } else { [to, from] };
    let logs = [near, distant].map(|x| (x - end).abs().ln());
    let mean = |cells: usize| {
        let value = |i: usize| {
            let distance = (logs[0] + (logs[1] - logs[0]) * i as f64 / cells as f64).exp();
            let x = end + side * distance;
            // What is near 1 is told by its distance from that.
            let (below, _) = family.distance(x, 1, 1.0);
            distance * if side > 0.0 { -below } else { below }
        };
        let inner = (1..cells).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * value(i));
        let sum = value(0) + inner.sum::<f64>() + value(cells);
        sum * (logs[1] - logs[0]) / (3.0 * cells as f64 * (to - from))
    };
    let (rough, fine) = (mean(100), mean(200));
    let (distance, doubt) = family.distance(near, 1, 1.0);
    let inner = fine.abs() * (4.0 * doubt / distance + 4e-14);
    (end + fine, 4.0 * (fine - rough).abs() + inner + 1e-15)
}

#[test]
fn bins_and_accumulated_effects_far_out() {
    for family in families().iter().filter(|f| f.scenario.info().name == "piecewise-linear") {
        let scenario = &family.scenario;
        let (lo, hi) = scenario.axis(1);
        let ends = [1.0, 10.0, 1e3, 1e5, 1e7, 1e12, 1e16, 1e30];
        for pair in ends.windows(2) {
            for bin in [(hi + pair[0], hi + pair[1]), (lo - pair[1], lo - pair[0])] {
                let what = format!("{} in {bin:?}", label(scenario, 1));
                let witness = mean_mu(family, bin);
                let found = scenario.bins(1, &[bin.0, bin.1], Weighting::Uniform).unwrap()[0];
                assert_right((found.mu, found.abs_error), witness, &what);
                assert!(found.abs_error < 1e-11, "{what}: {found:?}");
                let points = [bin.0, bin.1];
                let ale = scenario.curve(Quantity::Ale, 1, &points, (lo, hi), Centring::None);
                let ale = ale.unwrap();
                let width = bin.1 - bin.0;
                let bound = ale[0].abs_error + ale[1].abs_error;
                let expected = (width * witness.0, width * (witness.1 + 1e-15));
                assert_right((ale[1].value - ale[0].value, bound), expected, &what);
            }
        }
    }
}

#[test]
fn the_hidden_cause_of_a_feature_far_out() {
    for noise in [0.003, 0.05, 1.3] {
        let scenario = at("apley-zhu", &format!("noise_sd={noise}"));
        let pieces = vec![(0.0, 1.0, 1.0)];
        let family = Family { scenario: scenario.clone(), noise, child: 0, pieces };
        for x in far(scenario.axis(0)).filter(|x| x.abs() < 1e150) {
            let (first, second) = (family.distance(x, 1, 1.0), family.distance(x, 2, 1.0));
            let (mean, square) = if x > 0.5 {
                (1.0 - first.0, 1.0 - 2.0 * first.0 + second.0)
            } else {
                (first.0, second.0)
            };
            let doubt = 2.0 * first.1 + second.1 + 1e-15 * (1.0 + x.abs());
            for (s, witness) in [(0, x + noise * noise + square), (1, x * x + mean)] {
                let asked =
                    scenario.curve(Quantity::Mplot, s, &[x], scenario.axis(s), Centring::None);
                let truth = asked.unwrap()[0];
                let doubt = doubt + 1e-15 * if s == 1 { x * x } else { 0.0 };
                let what = format!("{} at {x:e}", label(&scenario, s));
                assert_right((truth.value, truth.abs_error), (witness, doubt), &what);
            }
        }
    }
}

/// f is linear in these features, with a slope of this variance.
#[test]
fn centred_curves_over_axes_far_out() {
    let cases = [
        ("piecewise-linear", "sigma2=0.5", 1, 1.0 / 12.0),
        ("nonlinear", "sigma2=0.5", 1, 1.0 / 12.0),
        ("sin-indicator", "noise_sd=0.1", 1, 1.0 / 18.0),
        ("threshold-linear", "alpha=2", 2, 1.0 / 3.0),
        ("liu-product", "sigma2=2", 0, 4.0),
    ];
    for (name, point, s, variance) in cases {
        let scenario = at(name, point);
        for k in 2..16 {
            let middle = 10_f64.powi(k);
            for (below, above, off) in [(1.0, 1.0, 0.3), (1.0, 3.0, -0.7), (0.0, 1.0, 1e-3)] {
                let (lo, hi, x) = (middle - below, middle + above, middle + off);
                // Differences of neighbours are exact.
                let deviation = 0.5 * ((x - lo) - (hi - x));
                let expected = variance * deviation * deviation;
                if lo >= hi {
                    continue;
                }
                let asked = scenario.curve(Quantity::HPdp, s, &[x], (lo, hi), Centring::None);
                let truth = asked.unwrap()[0];
                let what = format!("{} at {x} of [{lo}, {hi}]", label(&scenario, s));
                let doubt = 4.0 * f64::EPSILON * expected;
                assert_right((truth.value, truth.abs_error), (expected, doubt), &what);
            }
        }
    }
}

/// Of x1 x2 either feature has half of what it adds first and half of what it adds last.
#[test]
fn shapley_values_far_out() {
    for family in families().iter().filter(|f| f.scenario.info().name == "piecewise-linear") {
        let (scenario, axis) = (&family.scenario, family.scenario.axis(1));
        let phi = |x1: f64, x2: f64| 0.5 * (0.5 * x2 - 1.0 / 3.0 + x1 * (x2 - 0.5));
        for x in far(axis).filter(|x| x.abs() < 1e150) {
            let what = format!("{} at {x:e}", label(scenario, 1));
            let rounding = 1e-15 * (1.0 + x.abs());
            let known = scenario.shap_at(&[0.3, x]).unwrap()[1];
            assert_right((known.value, known.abs_error), (phi(0.3, x), rounding), &what);
            let (distance, doubt) = family.distance(x, 1, 1.0);
            let parent = if x > 0.5 { 1.0 - distance } else { distance };
            let known = scenario.curve(Quantity::Shap, 1, &[x], axis, Centring::None).unwrap()[0];
            let doubt = rounding + (doubt + 4e-14 * distance) * x.abs();
            assert_right((known.value, known.abs_error), (phi(parent, x), doubt), &what);
        }
    }
}

/// A law given something so far away that it is narrower than floating-point numbers are apart, or that rounding of its
/// density is all that is left of it, is not known; where it is, it is that of the same scenario in closed form.
#[test]
fn problem_files_know_nothing_of_what_can_hardly_be() {
    let snc = include_str!("../../../scenarios/problems/snc.toml");
    let apley_zhu = include_str!("../../../scenarios/problems/apley-zhu.toml");
    let read = |name, text| fe_truth::problem(name, text, &[]).unwrap();
    let own = read("snc", snc);
    let known = fe_truth::scenario("snc", &[]).unwrap();
    let mut told = 0;
    for power in [0, 3, 6, 10, 13, 16, 20, 50, 100, 150] {
        for s in 0..2 {
            let limits = [-10_f64.powi(power), 0.0];
            let Ok(ours) = own.bins(s, &limits, Weighting::Uniform) else { continue };
            let theirs = known.bins(s, &limits, Weighting::Uniform).unwrap();
            let apart = (ours[0].mu - theirs[0].mu).abs();
            assert!(apart <= 1e-6 * theirs[0].mu.abs(), "{power}: {apart}");
            told += 1;
        }
    }
    assert!(told >= 6, "{told}");
    let (far, known) =
        (read("apley-zhu", apley_zhu), fe_truth::scenario("apley-zhu", &[]).unwrap());
    let asked = |of: &fe_truth::Scenario, x| {
        of.curve(Quantity::Mplot, 0, &[x], (0.0, 1.0), Centring::None).unwrap()[0]
    };
    for x in [1.2, -3866.9] {
        let [ours, theirs] = [&far, &known].map(|of| asked(of, x));
        let apart = (ours.value - theirs.value).abs();
        assert!(apart <= ours.abs_error + theirs.abs_error, "{x}: {ours:?} {theirs:?}");
    }
}
