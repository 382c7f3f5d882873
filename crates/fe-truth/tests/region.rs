//! Truths in a region, held against sums over a grid of the restricted law and against rows of the
//! whole law that lie in the region.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Sample, assert_mean, assert_variance, at, label, of_few_dimensions};
use fe_core::model::{Column, Rows};
use fe_truth::{
    Centring, Error, Quantity, Region, Regional, Scenario, TreeOptions, Weighting, scenario,
};

const INF: f64 = f64::INFINITY;

/// Places and weights of a three-point Gauss rule on cells of an interval, none of which holds one
/// of the places where f breaks inside.
fn nodes((from, to): (f64, f64), breaks: &[f64], cells: usize) -> Vec<(f64, f64)> {
    let mut ends: Vec<f64> = breaks.iter().copied().filter(|b| from < *b && *b < to).collect();
    ends.extend((0..=cells).map(|i| from + (to - from) * i as f64 / cells as f64));
    ends.sort_by(f64::total_cmp);
    let rule = [(-0.6_f64.sqrt(), 5.0 / 18.0), (0.0, 4.0 / 9.0), (0.6_f64.sqrt(), 5.0 / 18.0)];
    let cell = |ends: &[f64]| {
        let (centre, width) = (0.5 * (ends[0] + ends[1]), ends[1] - ends[0]);
        rule.map(|(t, w)| (centre + 0.5 * width * t, w * width))
    };
    ends.windows(2).flat_map(cell).collect()
}

/// A scenario, the joint density of its features up to a factor, and a grid that holds all of it.
struct Gridded {
    name: &'static str,
    point: &'static str,
    density: fn(&[f64]) -> f64,
    /// Of each feature the ends, the places where something breaks, and the number of cells; two
    /// values that have its moments in place of many where nothing depends on more.
    axes: Vec<((f64, f64), Vec<f64>, usize)>,
    region: Region,
}

fn normal(z: f64) -> f64 {
    (-0.5 * z * z).exp()
}

fn gridded() -> Vec<Gridded> {
    let box3 = |cells| vec![((-1.0, 1.0), vec![0.0], cells); 3];
    let uniform =
        |name, region| Gridded { name, point: "", density: |_| 1.0, axes: box3(12), region };
    let region = || Region::default().and(2, -0.3, INF);
    let pieces = vec![0.2, 0.4, 0.45, 0.5];
    vec![
        uniform("effector-regional", region().and(0, -INF, 0.2)),
        uniform("conditional-interaction", Region::default().and(1, -0.8, 0.1).and(2, 0.0, INF)),
        uniform("general-interaction", region().and(1, 0.1, 0.7)),
        uniform("goldstein", region().and(0, -0.4, 0.9)),
        uniform("poly3", region().and(0, -0.4, 0.9).and(1, -INF, -0.2)),
        Gridded {
            name: "liu-quadratic",
            point: "rho=0.6;sigma2=2;mu1=0.5",
            // ρ = 0.6: the residual of x2 has the standard deviation 1.6.
            density: |x| normal(x[0] - 0.5) * normal((x[1] - 1.2 * (x[0] - 0.5)) / 1.6),
            axes: vec![((-8.5, 9.5), vec![], 150), ((-18.0, 18.0), vec![], 150)],
            region: Region::default().and(0, -0.7, INF).and(1, -INF, 1.3),
        },
        Gridded {
            name: "piecewise-linear",
            point: "sigma2=0.5",
            density: |x| normal((x[1] - x[0]) / 0.5),
            axes: vec![((0.0, 1.0), pieces, 60), ((-4.5, 5.5), vec![], 150)],
            region: Region::default().and(0, 0.1, 0.47).and(1, 0.0, INF),
        },
        Gridded {
            name: "nonlinear",
            point: "sigma2=0.3",
            density: |x| normal((x[1] - x[0]) / 0.3),
            axes: vec![((0.0, 1.0), vec![], 100), ((-3.0, 4.0), vec![], 150)],
            region: Region::default().and(1, 0.4, 0.8),
        },
        Gridded {
            name: "sin-indicator",
            point: "noise_sd=0.4",
            density: |x| {
                let parent = if x[0] < 0.0 { 5.0 } else { 1.0 };
                parent * normal(x[1] / 2.0) * normal((x[2] - x[0]) / 0.4)
            },
            axes: vec![
                ((-0.5, 0.5), vec![0.0], 20),
                ((-19.0, 19.0), vec![], 60),
                ((-4.5, 4.5), vec![0.0], 90),
            ],
            region: Region::default().and(0, -0.35, 0.2).and(2, -0.1, INF),
        },
    ]
}

/// Sums of the density, of a quantity and of its square.
#[derive(Default)]
struct Sums([f64; 3]);

impl Sums {
    fn add(&mut self, weight: f64, value: f64) {
        let parts = [1.0, value, value * value].map(|part| weight * part);
        self.0.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }

    fn mean(&self) -> f64 {
        self.0[1] / self.0[0]
    }

    fn variance(&self) -> f64 {
        self.0[2] / self.0[0] - self.mean().powi(2)
    }
}

impl Gridded {
    fn scenario(&self) -> Scenario {
        at(self.name, self.point)
    }

    fn nodes(&self, feature: usize) -> Vec<(f64, f64)> {
        let (mut ends, breaks, cells) = self.axes[feature].clone();
        let own = self.region.condition(feature).map(|condition| condition.interval);
        if let Some((from, to)) = own {
            ends = (ends.0.max(from), ends.1.min(to));
        }
        nodes(ends, &breaks, cells)
    }

    /// Sums of f and of its slope with the feature at x, the others weighted by their density with
    /// it, or by their own.
    fn sums(&self, s: usize, x: f64, conditional: bool) -> [Sums; 2] {
        let all: Vec<Vec<(f64, f64)>> = (0..self.axes.len()).map(|j| self.nodes(j)).collect();
        let own = if conditional { vec![(x, 1.0)] } else { all[s].clone() };
        // Rows of the others, with their weight.
        let mut rows = vec![(vec![0.0; all.len()], 1.0)];
        for (j, nodes) in all.iter().enumerate().filter(|(j, _)| *j != s) {
            let longer = |(row, weight): &(Vec<f64>, f64)| {
                let (row, weight) = (row.clone(), *weight);
                nodes
                    .iter()
                    .map(move |&(place, w)| {
                        let mut row = row.clone();
                        row[j] = place;
                        (row, weight * w)
                    })
                    .collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(longer).collect();
        }
        for (row, weight) in &mut rows {
            let mut given = 0.0;
            for &(place, w) in &own {
                row[s] = place;
                given += w * (self.density)(row);
            }
            *weight *= given;
            row[s] = x;
        }
        let columns: Vec<Vec<f64>> =
            (0..all.len()).map(|j| rows.iter().map(|(row, _)| row[j]).collect()).collect();
        let columns: Vec<Column<'_>> = columns.iter().map(|c| Column::Values(c)).collect();
        let batch = Rows::new(&columns, rows.len());
        let (scenario, mut values) = (self.scenario(), vec![0.0; rows.len()]);
        let mut sums = [Sums::default(), Sums::default()];
        scenario.model().predict(&batch, &mut values).unwrap();
        rows.iter().zip(&values).for_each(|((_, w), &value)| sums[0].add(*w, value));
        scenario.model().partial(s, &batch, &mut values).unwrap();
        rows.iter().zip(&values).for_each(|((_, w), &value)| sums[1].add(*w, value));
        sums
    }
}

#[test]
fn sums_over_the_restricted_law() {
    for case in gridded() {
        let scenario = case.scenario().within(&case.region).unwrap();
        for s in 0..scenario.dimension() {
            let axis = scenario.axis(s);
            for share in [0.13, 0.71] {
                let x = axis.0 + share * (axis.1 - axis.0);
                let [value, slope] = case.sums(s, x, false);
                let [given, given_slope] = case.sums(s, x, true);
                let expected = [
                    (Quantity::Pd, value.mean()),
                    (Quantity::Dpd, slope.mean()),
                    (Quantity::HDpdp, slope.variance()),
                    (Quantity::Mplot, given.mean()),
                    (Quantity::Mu, given_slope.mean()),
                ];
                let ask =
                    |effect| scenario.curve(effect, s, &[x], axis, Centring::None).unwrap()[0];
                let what = format!("{} at {x} in {:?}", label(&scenario, s), case.region);
                for (effect, expected) in expected {
                    let found = ask(effect);
                    let off = (found.value - expected).abs();
                    assert!(
                        off < 2e-8 * (1.0 + expected.abs()),
                        "{effect} of {what}: {found:?} {expected}"
                    );
                    assert!(found.abs_error < 1e-9 * (1.0 + expected.abs()), "{effect} of {what}");
                }
                let sigma = ask(Quantity::Sigma).value;
                assert!(
                    (sigma * sigma - given_slope.variance()).abs() < 2e-8 * (1.0 + sigma),
                    "{what}"
                );
            }
        }
    }
}

/// An event of two features of which most are probable.
fn event(scenario: &Scenario) -> Region {
    let quantile = |s: usize, p: f64| scenario.quantile(s, p).unwrap();
    let other = if scenario.info().name == "sin-indicator" { 2 } else { 1 };
    Region::default().and(0, quantile(0, 0.15), quantile(0, 0.9)).and(
        other,
        quantile(other, 0.35),
        INF,
    )
}

fn holds(region: &Region, row: impl Fn(usize) -> f64) -> bool {
    region.conditions().iter().all(|(s, condition)| condition.holds(row(*s)))
}

/// Those rows of a sample of the whole law that lie in the region.
fn kept(sample: &Sample, region: &Region, within: &Scenario) -> Sample {
    let inside = |&i: &usize| holds(region, |s| sample.columns[s][i]);
    let rows: Vec<usize> = (0..sample.len).filter(inside).collect();
    let column = |column: &Vec<f64>| rows.iter().map(|&i| column[i]).collect();
    let columns = sample.columns.iter().map(column).collect();
    Sample { scenario: within.clone(), columns, len: rows.len() }
}

#[test]
fn rows_of_the_whole_law_in_the_region() {
    let mut scenarios = of_few_dimensions();
    scenarios.dedup_by_key(|scenario| scenario.id());
    for whole in scenarios {
        let region = event(&whole);
        let scenario = whole.within(&region).unwrap();
        let sample = kept(&Sample::draw(&whole, 20_000, 3), &region, &scenario);
        assert_mean(&sample.f(), scenario.mean().unwrap().value, &label(&scenario, 0));
        // The variance of all features of a copula at once takes minutes in a region of two.
        if whole.info().name != "friedman1-copula" {
            let variance = scenario.sd().unwrap().value.powi(2);
            assert_variance(&sample.f(), variance, &label(&scenario, 0));
        }
        for s in 0..scenario.dimension().min(3) {
            let axis = scenario.axis(s);
            let x = axis.0 + 0.62 * (axis.1 - axis.0);
            let ask =
                |effect| scenario.curve(effect, s, &[x], axis, Centring::None).unwrap()[0].value;
            let what = format!("{} at {x}", label(&scenario, s));
            assert_mean(&sample.f_with(s, x), ask(Quantity::Pd), &format!("pd of {what}"));
            assert_mean(&sample.partial_with(s, x), ask(Quantity::Dpd), &format!("dpd of {what}"));
            let slopes = sample.partial_with(s, x);
            assert_variance(&slopes, ask(Quantity::HDpdp), &format!("h-dpdp of {what}"));
            let given = kept(&Sample::draw_given(&whole, s, x, 6000, 5), &region, &scenario);
            assert_mean(&given.f(), ask(Quantity::Mplot), &format!("mplot of {what}"));
            assert_mean(&given.partial(s), ask(Quantity::Mu), &format!("mu of {what}"));
            let sigma = ask(Quantity::Sigma);
            assert_variance(&given.partial(s), sigma * sigma, &format!("sigma of {what}"));
            assert_mean(&given.added_by(s, 8), ask(Quantity::Shap), &format!("shap of {what}"));
            let ends = [axis.0, axis.0 + 0.4 * (axis.1 - axis.0), axis.1];
            let Ok(bins) = scenario.bins(s, &ends, Weighting::Data) else { continue };
            for bin in bins {
                let inside = |&i: &usize| (bin.lo..=bin.hi).contains(&sample.columns[s][i]);
                let rows: Vec<usize> = (0..sample.len).filter(inside).collect();
                let all = sample.partial(s);
                let slopes: Vec<f64> = rows.into_iter().map(|i| all[i]).collect();
                assert_mean(&slopes, bin.mu, &format!("bin of {what}"));
                assert_variance(&slopes, bin.sigma2_star, &format!("bin of {what}"));
            }
        }
    }
}

#[test]
fn a_region_of_everything_changes_nothing() {
    for name in ["liu-product", "piecewise-linear", "threshold-linear", "general-interaction"] {
        let whole = at(name, "");
        let everywhere = Region::default().and(0, -1e6, 1e6).and(1, -1e6, 1e6);
        let region = whole.within(&everywhere).unwrap();
        let axis = whole.axis(1);
        let points = common::spread(axis, 3);
        for effect in Quantity::ALL.iter().copied().filter(|effect| *effect != Quantity::Main) {
            let ask = |s: &Scenario| s.curve(effect, 1, &points, axis, Centring::None).unwrap();
            for (known, found) in ask(&whole).iter().zip(ask(&region)) {
                let allowed = known.abs_error + found.abs_error;
                assert!((known.value - found.value).abs() <= allowed, "{name} {effect}: {found:?}");
            }
        }
        assert_eq!(region.axis(1), axis);
        assert!(whole.within(&Region::default()).unwrap().parameters() == whole.parameters());
    }
}

#[test]
fn regions_without_rows_are_refused() {
    let uniform = scenario("effector-regional", &[]).unwrap();
    for (from, to) in [(0.3, 0.3), (0.5, 0.2), (1.0, INF), (2.0, 3.0), (-INF, -1.0)] {
        let error = uniform.within(&Region::default().and(2, from, to)).unwrap_err();
        assert!(matches!(error, Error::ImpossibleRegion { .. }), "{error}");
        assert!(error.to_string().contains("probability 0"), "{error}");
    }
    let error = uniform.within(&Region::default().and(3, 0.0, 1.0)).unwrap_err();
    assert!(matches!(error, Error::NoSuchFeature { .. }), "{error}");
    // A tail of a normal law keeps its digits; that of a convolution does not.
    let tail = Region::default().and(0, 9.0, INF);
    let there = at("liu-product", "").within(&tail).unwrap();
    let pd = there.curve(Quantity::Pd, 1, &[1.0], (-1.0, 1.0), Centring::None).unwrap()[0];
    // E[x1 | x1 > 9] by the asymptotic series of Mills' ratio.
    assert!((pd.value - 9.108_5).abs() < 1e-3 && pd.abs_error < 1e-9, "{pd:?}");
    let error = at("piecewise-linear", "").within(&Region::default().and(1, 9.0, INF)).unwrap_err();
    assert!(matches!(error, Error::RareRegion { .. }), "{error}");
    // P(x2 > 3.5) is 9.6e-8; x1 is near 1 there.
    let rare = at("piecewise-linear", "").within(&Region::default().and(1, 3.5, INF)).unwrap();
    let pd = rare.curve(Quantity::Dpd, 1, &[3.6], (3.5, 3.7), Centring::None).unwrap()[0];
    let tail = |x1: f64| (-0.5 * (2.0 * (3.5 - x1)).powi(2)).exp() / (3.5 - x1);
    assert!(pd.value > 0.85 && pd.value < 1.0 && tail(1.0) > tail(0.8), "{pd:?}");
    // What is outside is outside, and the range is cut.
    let cut = uniform.within(&Region::default().and(0, -0.5, 0.25)).unwrap();
    assert_eq!(cut.axis(0), (-0.5, 0.25));
    let outside = cut.curve(Quantity::Pd, 0, &[0.3], (-0.5, 0.25), Centring::None);
    assert!(matches!(outside, Err(Error::OutsideSupport { .. })));
    assert!(cut.limits().is_empty());
    // Nothing is left of the range: there is no heterogeneity over it.
    let beyond = at("liu-product", "").within(&Region::default().and(0, 9.0, INF)).unwrap();
    for error in [
        beyond.values(0, beyond.axis(0)).map(|_| ()),
        beyond.regional(Regional::Pdp, 0).map(|_| ()),
        beyond.tree(Regional::Pdp, 0, TreeOptions::default()).map(|_| ()),
    ] {
        assert!(matches!(error, Err(Error::BadAxis { .. })), "{error:?}");
    }
}

/// Known numbers are integrals of two dimensions over normal scores with 20 digits: given x1 and the region the score of x2 is
/// in a tail of its law, up to 33 standard deviations out, and those of the other features are where their own law without the
/// region is next to nothing.
#[test]
fn values_that_make_a_region_rare_are_told() {
    for (rho, x1, from, mplot, mu) in [
        ("0.95", 1e-4, 0.9, 4.753_898_396_488_592, 28.382_255_726_973_64),
        ("0.9", 1e-50, 0.45, 4.999_999_999_928_178, 14.314_515_165_323_72),
        ("0.5", 1e-300, 0.45, 5.0, 14.643_594_387_096_95),
        ("0.5", 0.5, 0.999, 24.595_464_100_125_74, 0.027_965_288_381_570_05),
    ] {
        let region = Region::default().and(1, from, INF);
        let there = at("friedman1-copula", &format!("rho={rho}")).within(&region).unwrap();
        for (effect, known) in [(Quantity::Mplot, mplot), (Quantity::Mu, mu)] {
            let found = there.curve(effect, 0, &[x1], (0.0, 1.0), Centring::None).unwrap()[0];
            let off = (found.value - known).abs();
            assert!(off <= found.abs_error && found.abs_error < 1e-9, "{effect}: {found:?}");
        }
    }
}

/// At the very ends the truth is the limit: other features are at the ends of the region that are nearest, or at the same end.
#[test]
fn ends_of_a_copula_have_limits_in_a_region() {
    let region = Region::default().and(1, 0.45, INF).and(2, 0.3, 0.8);
    let there = at("friedman1-copula", "").within(&region).unwrap();
    let curve =
        |effect: Quantity| there.curve(effect, 0, &[0.0, 1.0], (0.0, 1.0), Centring::None).unwrap();
    let square = |x3: f64| 20.0 * (x3 - 0.5) * (x3 - 0.5);
    let slope = 10.0 * std::f64::consts::PI;
    for (effect, known) in [
        (Quantity::Mplot, [square(0.3), square(0.8) + 15.0]),
        (Quantity::Mu, [0.45 * slope, -slope]),
        (Quantity::Sigma, [0.0, 0.0]),
    ] {
        for (found, known) in curve(effect).into_iter().zip(known) {
            let off = (found.value - known).abs();
            assert!(off <= found.abs_error + 1e-13 && off < 1e-9, "{effect}: {found:?}, {known}");
        }
    }
}

/// A convolution does not resolve so small a probability as that of x2 above 0.9 where x1 is −0.12.
#[test]
fn values_that_all_but_rule_out_a_region_are_refused() {
    let there = at("apley-zhu", "").within(&Region::default().and(1, 0.9, INF)).unwrap();
    for effect in [Quantity::Mplot, Quantity::Mu, Quantity::Sigma, Quantity::Shap] {
        let told = |x: f64| there.curve(effect, 0, &[x], there.axis(0), Centring::None);
        assert!(told(0.8).is_ok(), "{effect}");
        let error = told(-0.12).unwrap_err();
        assert!(matches!(error, Error::AllButImpossible(_)), "{effect}: {error}");
        assert!(error.to_string().contains(&format!("{effect} of x1 at -0.12")), "{error}");
    }
    // The same of a file, of a law of which all that counts is a little before the region.
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/problems/threshold-linear.toml");
    let file = std::fs::read_to_string(path).unwrap();
    let file = fe_truth::problem("threshold-linear", &file, &[]).unwrap();
    let beside = file.within(&Region::default().and(1, 0.4, INF)).unwrap();
    for x in [0.3, 0.305, 0.32] {
        let error = beside.curve(Quantity::Mplot, 0, &[x], (0.0, 1.0), Centring::None).unwrap_err();
        assert!(matches!(error, Error::AllButImpossible(_)), "{x}: {error}");
    }
    // The partial dependence is not over rows near that value.
    assert!(there.curve(Quantity::Pd, 0, &[-0.12], there.axis(0), Centring::None).is_ok());
}

/// `mplot` of x1 of Friedman's function under a copula of correlation ½ where two other features obey conditions, by sums over
/// these: given three scores of sum z the others are normal about z/4 with the variance 5/8. Up to x1 = 1e-60, of which the
/// score is −16.6.
#[test]
fn two_conditions_under_a_copula_are_sums_over_both_features() {
    use statrs::distribution::{ContinuousCDF, Normal};
    let normal_law = Normal::new(0.0, 1.0).unwrap();
    let cdf = |z: f64| normal_law.cdf(z);
    let score = |p: f64| normal_law.inverse_cdf(p);
    let half_width = |z: f64| 1.0_f64.min(1.0 / z.abs());
    for (z1, third, fourth) in [
        (score(0.3), (0.45, 1.0), (0.0, 0.6)),
        (score(1e-3), (0.999, 1.0), (0.9999, 1.0)),
        (-11.464_025_128_5, (0.999, 1.0), (0.9999, 1.0)),
        (-16.637_996_372_5, (0.999, 1.0), (0.9999, 1.0)),
    ] {
        let x1 = cdf(z1);
        let region = Region::default().and(2, third.0, third.1).and(3, fourth.0, fourth.1);
        let there = scenario("friedman1-copula", &[]).unwrap().within(&region).unwrap();
        let found = there.curve(Quantity::Mplot, 0, &[x1], (0.0, 1.0), Centring::None).unwrap()[0];
        let rule = |(from, to): (f64, f64)| {
            let low = if from > 0.0 { score(from) } else { -9.0 };
            let reach = if from > 0.9 { 40.0 * half_width(z1) } else { 9.0 - low };
            nodes((low, if to < 1.0 { score(to) } else { low + reach }), &[], 160)
        };
        let (thirds, fourths) = (rule(third), rule(fourth));
        let of_others = nodes((-8.5, 8.5), &[], 40);
        let all = thirds.iter().flat_map(|a| fourths.iter().map(move |b| (a, b)));
        let exponent = |a: f64, b: f64| {
            // Of three scores with the correlation ½: the inverse has 3/2 and −1/2.
            -0.75 * (z1 * z1 + a * a + b * b) + 0.5 * (z1 * a + z1 * b + a * b)
        };
        let largest = all.clone().map(|(a, b)| exponent(a.0, b.0)).fold(-INF, f64::max);
        let (mut total, mut sum) = (0.0, 0.0);
        for (&(a, wa), &(b, wb)) in all {
            let weight = wa * wb * (exponent(a, b) - largest).exp();
            if weight < 1e-18 {
                continue;
            }
            let (x3, x4, centre) = (cdf(a), cdf(b), 0.25 * (z1 + a + b));
            let sd = 0.625_f64.sqrt();
            let wave = of_others.iter().map(|&(u, w)| {
                let x2 = cdf(centre + sd * u);
                w * normal(u) * (10.0 * (std::f64::consts::PI * x1 * x2).sin() + 5.0 * x2)
            });
            // x5 has the law that x2 has.
            let rest = wave.sum::<f64>() / std::f64::consts::TAU.sqrt();
            total += weight;
            sum += weight * (rest + 20.0 * (x3 - 0.5).powi(2) + 10.0 * x4);
        }
        let known = sum / total;
        let off = (found.value - known).abs();
        assert!(off < 1e-7 && found.abs_error < 1e-9, "x1 = {x1:e}: {found:?}, not {known}");
    }
}

/// f = x1 cos(x2 − x3), x2 on the circle and x3 on part of it, of width w. As the mean of x1 is 1, what x1 does at a value x
/// is (x − 1) cos(x2 − x3); given x2 alone that is shorter by a = sin(w/2) / (w/2), given x3 alone it is 0. Its Shapley value
/// is half of the one and a third of what both do together: it is not the same for all rows with the same x2 − x3.
#[test]
fn shapley_values_see_both_angles_where_one_has_part_of_a_turn() {
    let text = "f = \"x1*cos(x2 - x3)\"\n[law]\nx1 = \"uniform(0, 2)\"\n\
                x2 = \"uniform(0, 6.283185307179586)\"\nx3 = \"uniform(0, 6.283185307179586)\"\n";
    let mine = fe_truth::problem("mine", text, &[]).unwrap();
    for from in [3.0, 1.0, 5.9] {
        let there = mine.within(&Region::default().and(2, from, INF)).unwrap();
        let half = 0.5 * (std::f64::consts::TAU - from);
        let alone = (half.sin() / half).powi(2);
        for x in [0.3, 1.8] {
            let known = (x - 1.0_f64).powi(2) * (alone / 8.0 + (1.0 - alone) / 18.0);
            let found =
                there.curve(Quantity::ShapVariance, 0, &[x], (0.0, 2.0), Centring::None).unwrap();
            let off = (found[0].value - known).abs();
            assert!(off <= found[0].abs_error + 1e-15, "{found:?}, not {known}");
            assert!(found[0].abs_error < 1e-9, "{found:?}");
        }
    }
}

/// Probability of a standard normal number above a value, by Simpson's rule on its density.
fn above(z: f64) -> f64 {
    let (ends, cells) = ((z, z.max(0.0) + 12.0), 4000);
    let step = (ends.1 - ends.0) / cells as f64;
    let weight = |i: usize| if i == 0 || i == cells { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    let sum: f64 = (0..=cells).map(|i| weight(i) * normal(ends.0 + step * i as f64)).sum();
    sum * step / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
}

/// A season that decides about warmth and weather, in a region of all three: sums over the levels, with normal
/// integrals, and rows of the whole law that lie in the region.
#[test]
fn levels_in_regions() {
    let text = include_str!("../../../scenarios/problems/seasons.toml");
    let whole = fe_truth::problem("seasons", text, &[]).unwrap();
    // Not winter, no clear sky, and over 12 degrees.
    let region = Region::default().and_not(0, 0.0).and(1, 12.0, INF).and_among(2, &[1.0, 2.0]);
    let there = whole.within(&region).unwrap();
    let names = |s| there.levels(s).unwrap().into_iter().map(|level| level.name);
    assert_eq!(names(0).collect::<Vec<_>>(), ["spring", "summer"]);
    assert_eq!(names(2).collect::<Vec<_>>(), ["mist", "rain"]);
    // Season, its probability, P(weather), mean temperature, and what it does to the slope.
    let seasons = [(0.25, [0.3, 0.2], 9.0, 1.5), (0.35, [0.2, 0.1], 19.0, 1.0)];
    let sky = [0.4, -1.5];
    let warm = |mean: f64| above((12.0 - mean) / 4.0);
    let share: f64 = seasons
        .map(|(p, weather, mean, _)| p * (weather[0] + weather[1]) * warm(mean))
        .iter()
        .sum();
    let close = |found: f64, known: f64, what: &str| {
        assert!((found - known).abs() < 1e-9 * (1.0 + known.abs()), "{what}: {found}, not {known}");
    };
    close(whole.probability(&region).unwrap(), share, "probability");
    let curve =
        |effect, s, x| there.curve(effect, s, &[x], there.axis(s), Centring::None).unwrap()[0];
    // At 15 degrees, all else as it is in the region, or as it is at 15 degrees.
    let bent = |x: f64| -((x - 18.0) / 15.0).powi(2);
    let mean_at = |x: f64, likelihood: &dyn Fn(f64) -> f64| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (p, weather, mean, slope) in seasons {
            for (weather, sky) in weather.into_iter().zip(sky) {
                let weight = p * weather * likelihood(mean);
                sum += weight * (slope * (x + 5.0) / 10.0 + sky + bent(x));
                total += weight;
            }
        }
        sum / total
    };
    let pd = curve(Quantity::Pd, 1, 15.0);
    close(pd.value, mean_at(15.0, &warm), "pd");
    assert!(pd.abs_error < 1e-9, "{pd:?}");
    let mplot = curve(Quantity::Mplot, 1, 15.0);
    close(mplot.value, mean_at(15.0, &|mean| normal((15.0 - mean) / 4.0)), "mplot");
    // Rows.
    let sample = kept(&Sample::draw(&whole, 40_000, 3), &region, &there);
    assert!((sample.len as f64 / 40_000.0 - share).abs() < 0.01, "{}", sample.len);
    assert_mean(&sample.f(), there.mean().unwrap().value, "mean");
    assert_variance(&sample.f(), there.sd().unwrap().value.powi(2), "variance");
    for (s, x) in [(0, 1.0), (0, 2.0), (1, 14.0), (2, 1.0), (2, 2.0)] {
        let what = format!("{} at {x}", there.feature_name(s));
        assert_mean(
            &sample.f_with(s, x),
            curve(Quantity::Pd, s, x).value,
            &format!("pd of {what}"),
        );
        let given = kept(&Sample::draw_given(&whole, s, x, 20_000, 5), &region, &there);
        assert_mean(&given.f(), curve(Quantity::Mplot, s, x).value, &format!("mplot of {what}"));
        assert_mean(
            &given.added_by(s, 8),
            curve(Quantity::Shap, s, x).value,
            &format!("shap of {what}"),
        );
    }
    // Of no probability: a level twice asked for, a level of what has a density, none that is left.
    for nowhere in [
        Region::default().and_among(0, &[1.0]).and_among(0, &[2.0]),
        Region::default().and_among(1, &[12.0]),
        Region::default().and_not(2, 0.0).and_not(2, 1.0).and_not(2, 2.0),
        Region::default().and(2, 2.0, INF),
    ] {
        let error = whole.within(&nowhere).unwrap_err();
        assert!(matches!(error, Error::ImpossibleRegion { .. }), "{error}");
    }
    let error = whole.within(&Region::default().and_among(0, &[7.0])).unwrap_err();
    assert!(error.to_string().contains("season there is one of [7]"), "{error}");
}
