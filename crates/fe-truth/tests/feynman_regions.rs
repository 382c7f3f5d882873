//! Regions of the scenario whose one term reads four features: criteria of boxes against simulation, a product rule and
//! what is known of the whole law, and trees against every split.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use std::f64::consts::{PI, TAU};

use common::{assert_mean, at};
use fe_truth::{
    Centring, Error, HeterogeneityValue, Quantity, Region, Regional, Scenario, TreeOptions, Truth,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const METHODS: [Regional; 4] = [Regional::Pdp, Regional::Dpdp, Regional::Ale, Regional::Shapdp];
const WHOLE: Box4 = [(0.1, 10.0), (0.1, 10.0), (0.0, TAU), (0.0, TAU)];
/// Shares of the axis at which bins end.
const BINS: [f64; 4] = [0.0, 0.13, 0.55, 1.0];

/// Largest bound of a criterion, relative to 1 + its size; what it is off by is a hundredth of that.
const BOUND: f64 = 1e-8;

/// Intervals of the two lengths and the two angles.
type Box4 = [(f64, f64); 4];
type Row = [f64; 4];

fn scenario() -> Scenario {
    at("feynman-i29-16", "")
}

/// The box without what it asks of one feature.
fn beside(s: usize, mut cut: Box4) -> Box4 {
    cut[s] = WHOLE[s];
    cut
}

fn region(cut: &Box4) -> Region {
    let asked = (0..4).filter(|&feature| cut[feature] != WHOLE[feature]);
    asked.fold(Region::default(), |region, t| region.and(t, cut[t].0, cut[t].1))
}

/// A criterion with its bound.
fn bounded(scenario: &Scenario, method: Regional, s: usize, cut: &Box4) -> Truth {
    let found = scenario.in_region(method, s, &region(cut), None).unwrap().heterogeneity;
    let what = || format!("{method} x{} {cut:?}: {found:?}", s + 1);
    assert!(found.abs_error <= BOUND * (1.0 + found.value), "{}", what());
    found
}

fn criterion(scenario: &Scenario, method: Regional, s: usize, cut: &Box4) -> f64 {
    bounded(scenario, method, s, cut).value
}

fn bins(s: usize) -> [f64; 4] {
    BINS.map(|share| WHOLE[s].0 + (WHOLE[s].1 - WHOLE[s].0) * share)
}

fn differences(scenario: &Scenario, s: usize, cut: &Box4) -> Truth {
    let found = scenario.in_region(Regional::Ale, s, &region(cut), Some(&bins(s))).unwrap();
    let found = found.heterogeneity;
    assert!(found.abs_error <= BOUND * (1.0 + found.value), "x{} {cut:?}: {found:?}", s + 1);
    found
}

/// Written as the papers write it.
fn f(x: &Row) -> f64 {
    (x[0] * x[0] + x[1] * x[1] + 2.0 * x[0] * x[1] * (x[2] - x[3]).cos()).max(0.0).sqrt()
}

fn slope(s: usize, x: &Row) -> f64 {
    let part = match s {
        0 | 1 => x[s] + x[1 - s] * (x[2] - x[3]).cos(),
        2 => -x[0] * x[1] * (x[2] - x[3]).sin(),
        _ => x[0] * x[1] * (x[2] - x[3]).sin(),
    };
    part / f(x)
}

fn with(x: &Row, s: usize, value: f64) -> Row {
    let mut row = *x;
    row[s] = value;
    row
}

/// Draws from a law that is cut to a box, which is the background as well.
struct Draws {
    whole: Box4,
    rng: ChaCha8Rng,
}

impl Draws {
    fn new(whole: Box4, seed: u64) -> Self {
        Self { whole, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn share(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn row(&mut self, cut: &Box4) -> Row {
        [0, 1, 2, 3].map(|t| {
            let (from, to) = cut[t];
            let share = self.share();
            if t < 2 { from * (to / from).powf(share) } else { from + (to - from) * share }
        })
    }

    /// A value of a feature, evenly over its range.
    fn on_axis(&mut self, s: usize) -> f64 {
        self.whole[s].0 + (self.whole[s].1 - self.whole[s].0) * self.share()
    }

    /// An interval inside of another one, of at least a tenth of it.
    fn cut(&mut self, t: usize) -> (f64, f64) {
        let (from, to) = WHOLE[t];
        let [a, b] = [self.share(), self.share()];
        let (low, high) = (a.min(b), a.max(b).max(a.min(b) + 0.1).min(1.0));
        let place = |share: f64| {
            if t < 2 { from * (to / from).powf(share) } else { from + (to - from) * share }
        };
        (place(low.min(0.9)), place(high))
    }

    /// What a feature adds in one order of joining, for two rows, as others are of a row of the whole law until they join.
    fn added(&mut self, s: usize, rows: [&Row; 2]) -> [f64; 2] {
        let background = self.row(&self.whole.clone());
        let own = self.share();
        let joined = [0, 1, 2, 3].map(|t| t != s && self.share() < own);
        rows.map(|row| {
            let mut without = background;
            (0..4).filter(|&t| joined[t]).for_each(|t| without[t] = row[t]);
            f(&with(&without, s, row[s])) - f(&without)
        })
    }

    /// A draw whose mean is the criterion: half the squared difference between two rows of the box that share x_s.
    fn criterion(&mut self, method: Regional, s: usize, cut: &Box4) -> f64 {
        let length = self.whole[s].1 - self.whole[s].0;
        let (here, there) = (self.row(cut), self.row(cut));
        match method {
            Regional::Pdp => {
                // The mean over the axis is taken off by a second place on it.
                let apart = |x: f64| f(&with(&here, s, x)) - f(&with(&there, s, x));
                let [a, b] = [self.on_axis(s), self.on_axis(s)];
                0.25 * (apart(a) - apart(b)).powi(2)
            }
            Regional::Shapdp => {
                let there = with(&there, s, here[s]);
                let mut apart = || {
                    let each = (0..4).map(|_| self.added(s, [&here, &there]));
                    each.map(|[a, b]| 0.25 * (a - b)).sum::<f64>()
                };
                0.5 * apart() * apart()
            }
            _ => {
                let x = self.on_axis(s);
                let apart = slope(s, &with(&here, s, x)) - slope(s, &with(&there, s, x));
                let scale = if method == Regional::Dpdp { 1.0 } else { length };
                0.5 * apart * apart * scale
            }
        }
    }

    fn difference(&mut self, s: usize, cut: &Box4) -> f64 {
        let (here, there) = (self.row(cut), self.row(cut));
        let of = |row: &Row, [from, to]: [f64; 2]| f(&with(row, s, to)) - f(&with(row, s, from));
        let each = bins(s).into_iter().zip(bins(s).into_iter().skip(1));
        each.map(|(from, to)| {
            0.5 * (of(&here, [from, to]) - of(&there, [from, to])).powi(2) / (to - from)
        })
        .sum()
    }
}

/// Random boxes, most of which hold places at which the side vanishes, and one of which every angle is whole.
fn boxes(draws: &mut Draws) -> Vec<Box4> {
    let mut all: Vec<Box4> = (0..3).map(|_| [0, 1, 2, 3].map(|t| draws.cut(t))).collect();
    all.push([(0.5, 4.0), (0.1, 2.0), WHOLE[2], (1.0, 2.5)]);
    all.push([(0.9, 1.1), (0.95, 1.2), (0.1, 0.5), (PI - 0.1, PI + 1.0)]);
    all
}

#[test]
fn criteria_of_boxes_are_those_of_simulation() {
    let (scenario, mut draws) = (scenario(), Draws::new(WHOLE, 20));
    for cut in boxes(&mut draws) {
        for s in 0..4 {
            let cut = beside(s, cut);
            for method in METHODS {
                let found = criterion(&scenario, method, s, &cut);
                let drawn: Vec<f64> =
                    (0..20_000).map(|_| draws.criterion(method, s, &cut)).collect();
                assert_mean(&drawn, found, &format!("{method} x{} {cut:?}", s + 1));
            }
            let found = differences(&scenario, s, &cut).value;
            let drawn: Vec<f64> = (0..20_000).map(|_| draws.difference(s, &cut)).collect();
            assert_mean(&drawn, found, &format!("bins x{} {cut:?}", s + 1));
        }
    }
}

/// The scenario given a box.
fn given(cut: &Box4) -> Scenario {
    scenario().within(&region(cut)).unwrap()
}

/// Axes are cut as the law is, and so is the background of Shapley values.
#[test]
fn criteria_of_a_region_are_those_of_simulation() {
    let lengths: Box4 = [(1.0, 10.0), (0.1, 5.0), WHOLE[2], WHOLE[3]];
    let both: Box4 = [(1.0, 8.0), (0.5, 5.0), (0.4, 2.0), (2.5, 5.5)];
    for whole in [lengths, both] {
        let (scenario, mut draws) = (given(&whole), Draws::new(whole, 21));
        for s in 0..4 {
            for method in METHODS {
                let found = scenario.in_region(method, s, &Region::default(), None);
                if method == Regional::Shapdp && whole == both {
                    // One angle then tells of the difference.
                    assert!(matches!(found, Err(Error::NoRegionalOptimum { .. })), "{found:?}");
                    continue;
                }
                let found = found.unwrap().heterogeneity.value;
                let drawn: Vec<f64> =
                    (0..20_000).map(|_| draws.criterion(method, s, &whole)).collect();
                assert_mean(&drawn, found, &format!("{method} x{} {whole:?}", s + 1));
            }
            // Bins are of the axis that is left; those beyond it are refused as they are elsewhere.
            let (lo, hi) = scenario.axis(s);
            let limits = [lo, 0.3 * lo + 0.7 * hi, hi];
            let options = TreeOptions { candidates: Some(1), depth: 1, ..TreeOptions::default() };
            let with_bins = TreeOptions { limits: Some(&limits), ..options };
            let tree = scenario.tree(Regional::Ale, s, with_bins).unwrap();
            let of_bins = scenario.in_region(Regional::Ale, s, &Region::default(), Some(&limits));
            assert_eq!(tree.nodes[0].heterogeneity, of_bins.unwrap().heterogeneity);
            let unordered = Some(&[hi, lo][..]);
            assert!(scenario.in_region(Regional::Ale, s, &Region::default(), unordered).is_err());
        }
    }
}

/// The same where the background is cut as well as where it is not.
#[test]
fn curves_of_a_region_vary_as_simulated_ones_do() {
    let [length, angle] = [(1.0, 10.0), (0.0, 2.0)];
    for (s, x, cut) in [
        (2, 1.1, [length, WHOLE[1], WHOLE[2], WHOLE[3]]),
        (3, 4.0, [length, WHOLE[1], angle, WHOLE[3]]),
        (1, 2.0, [length, WHOLE[1], WHOLE[2], angle]),
    ] {
        let (region_of, mut draws) = (region(&cut), Draws::new(cut, 22));
        let [there, leaf] = [scenario().within(&region_of), scenario().leaf(&region_of)];
        let at = |scenario: &Scenario, effect: Quantity| {
            scenario.curve(effect, s, &[x], scenario.axis(s), Centring::None).unwrap()[0]
        };
        let (there, leaf) = (there.unwrap(), leaf.unwrap());
        let truth = at(&leaf, Quantity::HPdp);
        let known = at(&there, Quantity::HPdp);
        let off = (truth.value - known.value).abs();
        assert!(off <= truth.abs_error + known.abs_error, "{truth:?}, {known:?}");
        // All but the whole axis is as good as the whole.
        let (lo, hi) = scenario().axis(s);
        let part = (lo + 1e-9, hi - 1e-9);
        let close = leaf.curve(Quantity::HPdp, s, &[x], part, Centring::None).unwrap()[0];
        let off = (truth.value - close.value).abs();
        assert!(off <= 1e-7 && close.abs_error < 1e-8, "{truth:?}, {close:?}");
        assert!(truth.abs_error < 1e-8, "{truth:?}");
        let mut draw = || {
            let (here, there) = (draws.row(&cut), draws.row(&cut));
            let apart = |x: f64| f(&with(&here, s, x)) - f(&with(&there, s, x));
            // Two places on the axis, of which each has its mean.
            let [a, b] = [draws.on_axis(s), draws.on_axis(s)].map(apart);
            0.5 * (apart(x) - a) * (apart(x) - b)
        };
        let drawn: Vec<f64> = (0..100_000).map(|_| draw()).collect();
        assert_mean(&drawn, truth.value, &format!("h-pdp of x{} at {x}", s + 1));
        let rows: Vec<Row> = (0..100_000).map(|_| with(&draws.row(&cut), s, x)).collect();
        let sides: Vec<f64> = rows.iter().map(f).collect();
        assert_mean(&sides, at(&leaf, Quantity::Pd).value, &format!("pd of x{}", s + 1));
        let spread = rows.chunks_exact(2).map(|pair| {
            let [a, b] = [slope(s, &pair[0]), slope(s, &pair[1])];
            0.5 * (a - b) * (a - b)
        });
        let variance = at(&leaf, Quantity::HDpdp).value;
        assert_mean(&spread.collect::<Vec<f64>>(), variance, &format!("slopes of x{}", s + 1));
    }
}

/// On an axis of less than a turn, as that of data is, at as many places as a figure asks for: with the other angle cut or
/// whole, and beyond the axis.
#[test]
fn curves_on_part_of_a_turn_vary_as_simulated_ones_do() {
    let (lo, hi) = (1.0, 4.5);
    for (s, other) in [(2, (0.3, 2.0)), (3, (0.0, std::f64::consts::TAU))] {
        let mut cut = WHOLE;
        (cut[0], cut[5 - s]) = ((0.5, 10.0), other);
        let leaf = scenario().leaf(&region(&cut)).unwrap();
        let at = |places: &[f64]| {
            leaf.curve(Quantity::HPdp, s, places, (lo, hi), Centring::None).unwrap()
        };
        let middles: Vec<f64> =
            (0..1000).map(|k| lo + (hi - lo) * (f64::from(k) + 0.5) / 1000.0).collect();
        let curve = at(&middles);
        let error = curve.iter().map(|truth| truth.abs_error).fold(0.0, f64::max);
        assert!(error < 1e-8, "{error:e}");
        let mean = curve.iter().map(|truth| truth.value).sum::<f64>() / 1000.0;
        let known = leaf.heterogeneity_value(HeterogeneityValue::PdpMean, s, (lo, hi)).unwrap();
        assert!((mean - known.value).abs() <= 1e-6 * known.value, "{mean}, {known:?}");
        let mut draws = Draws::new(cut, 24);
        for x in [1.0, 3.7, 5.8] {
            let mut draw = || {
                let (here, there) = (draws.row(&cut), draws.row(&cut));
                let apart = |x: f64| f(&with(&here, s, x)) - f(&with(&there, s, x));
                let [a, b] = [draws.share(), draws.share()].map(|u| apart(lo + (hi - lo) * u));
                0.5 * (apart(x) - a) * (apart(x) - b)
            };
            let drawn: Vec<f64> = (0..100_000).map(|_| draw()).collect();
            assert_mean(&drawn, at(&[x])[0].value, &format!("h-pdp of x{} at {x}", s + 1));
        }
    }
}

/// All that an estimator prints of a leaf: heterogeneity values and differences as trees have them, mean slopes along an
/// angle and mean Shapley values.
#[test]
fn truths_of_leaves_are_those_of_simulation() {
    let (whole, mut draws) = (scenario(), Draws::new(WHOLE, 23));
    let angle: Box4 = [WHOLE[0], WHOLE[1], WHOLE[2], (0.3, 2.0)];
    let all: Box4 = [(0.5, 8.0), (0.2, 10.0), (1.0, 6.0), (2.0, 4.5)];
    for (s, x, cut) in [(0, 2.0, angle), (2, 1.1, angle), (1, 0.7, all), (3, 3.0, all)] {
        let cut = beside(s, cut);
        let leaf = whole.leaf(&region(&cut)).unwrap();
        let axis = leaf.axis(s);
        let at = |effect: Quantity| leaf.curve(effect, s, &[x], axis, Centring::None).unwrap()[0];
        let row = |draws: &mut Draws| with(&draws.row(&cut), s, x);
        let slopes: Vec<f64> = (0..100_000).map(|_| slope(s, &row(&mut draws))).collect();
        assert_mean(&slopes, at(Quantity::Dpd).value, &format!("dpd of x{} in {cut:?}", s + 1));
        let added: Vec<f64> = (0..100_000)
            .map(|_| {
                let row = row(&mut draws);
                draws.added(s, [&row, &row])[0]
            })
            .collect();
        assert_mean(&added, at(Quantity::Shap).value, &format!("shap of x{} in {cut:?}", s + 1));
        let spread: Vec<f64> = (0..50_000)
            .map(|_| {
                let rows = [row(&mut draws), row(&mut draws)];
                let mut apart = || {
                    let each = (0..4).map(|_| draws.added(s, [&rows[0], &rows[1]]));
                    each.map(|[a, b]| 0.25 * (a - b)).sum::<f64>()
                };
                0.5 * apart() * apart()
            })
            .collect();
        let variance = at(Quantity::ShapVariance);
        assert_mean(&spread, variance.value, &format!("Shapley values of x{} in {cut:?}", s + 1));
        assert!(variance.abs_error < BOUND, "{variance:?}");
        for (value, method) in [
            (HeterogeneityValue::PdpMean, Regional::Pdp),
            (HeterogeneityValue::DpdpMean, Regional::Dpdp),
            (HeterogeneityValue::AleIntegral, Regional::Ale),
        ] {
            let found = leaf.heterogeneity_value(value, s, axis).unwrap();
            let known = criterion(&whole, method, s, &cut);
            assert!((found.value - known).abs() <= 1e-12 * (1.0 + known), "{value}: {found:?}");
        }
        let limits = bins(s);
        let each = leaf.differences(s, &limits).unwrap();
        let sum: f64 = each.iter().map(|bin| bin.variance / (bin.hi - bin.lo)).sum();
        let known = differences(&whole, s, &cut).value;
        assert!((sum - known).abs() <= 1e-9 * (1.0 + known), "x{}: {sum}, {known}", s + 1);
    }
}

/// Of a file nothing is known but what can be integrated.
#[test]
fn the_problem_in_a_file_says_why_it_has_no_tree() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/problems/feynman-i29-16.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let problem = fe_truth::problem("mine", &text, &[]).unwrap();
    for (scenario, method) in
        [(problem, Regional::Pdp), (scenario().without_closed_forms(), Regional::Shapdp)]
    {
        for s in 0..4 {
            let error = scenario.tree(method, s, TreeOptions::default()).unwrap_err();
            assert!(matches!(error, Error::NoRegionalOptimum { .. }), "{error}");
            assert!(error.to_string().contains("cannot be integrated accurately"), "{error}");
        }
    }
}

/// Nodes and weights of Gauss and Legendre's rule on (−1, 1), by Newton's method.
fn legendre(count: usize) -> Vec<(f64, f64)> {
    let at = |x: f64| {
        let (mut before, mut here) = (1.0, x);
        for k in 2..=count {
            let k = k as f64;
            (before, here) = (here, ((2.0 * k - 1.0) * x * here - (k - 1.0) * before) / k);
        }
        (here, count as f64 * (x * here - before) / (x * x - 1.0))
    };
    let node = |i: usize| {
        let start = (PI * (i as f64 + 0.75) / (count as f64 + 0.5)).cos();
        let x = (0..20).fold(start, |x, _| x - at(x).0 / at(x).1);
        (x, 2.0 / ((1.0 - x * x) * at(x).1.powi(2)))
    };
    (0..count).map(node).collect()
}

/// A rule of equal panels, on the logarithms of lengths where asked, whose weights add up to 1 with the density.
fn rule((from, to): (f64, f64), logarithmic: bool, panels: usize, count: usize) -> Vec<(f64, f64)> {
    let (low, high) = if logarithmic { (from.ln(), to.ln()) } else { (from, to) };
    let width = (high - low) / panels as f64;
    let panel = |k: usize| {
        let centre = low + width * (k as f64 + 0.5);
        legendre(count).into_iter().map(move |(x, w)| {
            let place = centre + 0.5 * width * x;
            (if logarithmic { place.exp() } else { place }, 0.5 * w / panels as f64)
        })
    };
    (0..panels).flat_map(panel).collect()
}

/// The mean along x_s of the variance over the box of local curves, each a value for each node of x_s.
fn mean_variance(
    along: &[(f64, f64)],
    rules: &[Vec<(f64, f64)>],
    s: usize,
    local: impl Fn(&Row, &mut [f64]),
) -> f64 {
    let (mut means, mut squares) = (vec![0.0; along.len()], vec![0.0; along.len()]);
    let mut values = vec![0.0; along.len()];
    for a in &rules[0] {
        for b in &rules[1] {
            for c in &rules[2] {
                let mut others = [a, b, c].into_iter();
                let mut row = [0.0; 4];
                let mut weight = 1.0;
                for t in (0..4).filter(|&t| t != s) {
                    let &(place, share) = others.next().unwrap();
                    row[t] = place;
                    weight *= share;
                }
                local(&row, &mut values);
                for (k, value) in values.iter().enumerate() {
                    means[k] += weight * value;
                    squares[k] += weight * value * value;
                }
            }
        }
    }
    let variance = |k: usize| squares[k] - means[k] * means[k];
    along.iter().enumerate().map(|(k, (_, weight))| weight * variance(k)).sum()
}

/// Boxes that the side is long in: a product rule is as good as it gets there.
#[test]
fn criteria_where_the_side_is_long_are_those_of_a_product_rule() {
    let scenario = scenario();
    let long: Box4 = [(0.2, 0.5), (2.0, 6.0), (0.2, 0.9), (0.5, 1.4)];
    for (s, &axis) in WHOLE.iter().enumerate() {
        let cut = beside(s, long);
        let along = match s {
            // The whole axis, evenly, finer where it is short; and the whole turn.
            0 | 1 => {
                let length = |&(x, weight): &(f64, f64)| (x, weight * x * 100.0_f64.ln() / 9.9);
                rule(axis, true, 4, 16).iter().map(length).collect::<Vec<_>>()
            }
            _ => (0..64).map(|k| (TAU * f64::from(k) / 64.0, 1.0 / 64.0)).collect(),
        };
        let others = (0..4).filter(|&t| t != s);
        let rules: Vec<_> = others.map(|t| rule(cut[t], t < 2, 1, 11)).collect();
        let length = axis.1 - axis.0;
        let centred = mean_variance(&along, &rules, s, |row, values| {
            let all = values.iter_mut().zip(&along);
            all.for_each(|(value, &(x, _))| *value = f(&with(row, s, x)));
            let mean: f64 = values.iter().zip(&along).map(|(value, (_, w))| value * w).sum();
            values.iter_mut().for_each(|value| *value -= mean);
        });
        let slopes = mean_variance(&along, &rules, s, |row, values| {
            let all = values.iter_mut().zip(&along);
            all.for_each(|(value, &(x, _))| *value = slope(s, &with(row, s, x)));
        });
        let limits = bins(s);
        let each: Vec<_> = limits.windows(2).map(|bin| (bin[0], 1.0 / (bin[1] - bin[0]))).collect();
        let of_bins = mean_variance(&each, &rules, s, |row, values| {
            let ends = limits.windows(2).map(|bin| [bin[0], bin[1]]);
            let all = values.iter_mut().zip(ends);
            all.for_each(|(value, [from, to])| {
                *value = f(&with(row, s, to)) - f(&with(row, s, from));
            });
        });
        for (found, known) in [
            (bounded(&scenario, Regional::Pdp, s, &cut), centred),
            (bounded(&scenario, Regional::Dpdp, s, &cut), slopes),
            (bounded(&scenario, Regional::Ale, s, &cut), slopes * length),
            (differences(&scenario, s, &cut), of_bins),
        ] {
            // The rule itself is as good as rounding of its sums.
            let allowed = found.abs_error + 1e-12 * (1.0 + known);
            let off = (found.value - known).abs();
            assert!(off <= allowed, "x{}: {found:?}, {known}, off by {off}", s + 1);
        }
    }
}

/// Values at the nodes of a product rule, in rows; an axis that they do not depend on has one node.
struct Table {
    nodes: [usize; 4],
    values: Vec<f64>,
}

impl Table {
    fn of(nodes: [usize; 4], value: impl Fn([usize; 4]) -> f64) -> Self {
        let place = |mut k: usize| {
            let mut place = [0; 4];
            for t in (0..4).rev() {
                (place[t], k) = (k % nodes[t], k / nodes[t]);
            }
            place
        };
        let values = (0..nodes.iter().product()).map(|k| value(place(k))).collect();
        Self { nodes, values }
    }

    fn at(&self, place: [usize; 4]) -> f64 {
        let k = (0..4).fold(0, |k, t| k * self.nodes[t] + place[t].min(self.nodes[t] - 1));
        self.values[k]
    }

    /// The mean over an axis with such weights.
    fn over(&self, t: usize, rule: &[(f64, f64)]) -> Self {
        let mut nodes = self.nodes;
        nodes[t] = 1;
        Self::of(nodes, |mut place| {
            let terms = rule.iter().enumerate().map(|(k, (_, weight))| {
                place[t] = k;
                weight * self.at(place)
            });
            terms.sum()
        })
    }
}

/// Mean and variance of the Shapley value of a feature at a value, from the worths of all coalitions.
fn moments_of_shapley_values(rules: &[Vec<(f64, f64)>; 4], s: usize, x: f64) -> [f64; 2] {
    let mut nodes = [0, 1, 2, 3].map(|t| rules[t].len());
    nodes[s] += 1;
    // The value itself is the last node of its axis, beyond those of the rule.
    let place = |t: usize, k: usize| rules[t].get(k).map_or(x, |(place, _)| *place);
    let sides = |place_of: [usize; 4]| f(&[0, 1, 2, 3].map(|t| place(t, place_of[t])));
    let worths: Vec<Table> = (0..16_usize)
        .map(|members| {
            let outside = (0..4).filter(|t| members >> t & 1 == 0);
            outside.fold(Table::of(nodes, sides), |table, t| table.over(t, &rules[t]))
        })
        .collect();
    let mut of_others = nodes;
    of_others[s] = 1;
    let shares = [1.0 / 4.0, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 4.0];
    let values = Table::of(of_others, |mut place| {
        place[s] = nodes[s] - 1;
        let without = (0..16_usize).filter(|members| members >> s & 1 == 0);
        let gains = without.map(|members| {
            let gain = worths[members | 1 << s].at(place) - worths[members].at(place);
            shares[members.count_ones() as usize] * gain
        });
        gains.sum()
    });
    let mean = |table: Table| {
        let others = (0..4).filter(|&t| t != s);
        others.fold(table, |table, t| table.over(t, &rules[t])).values[0]
    };
    let squares = Table::of(values.nodes, |place| values.at(place).powi(2));
    let all = mean(values);
    [all, mean(squares) - all * all]
}

/// Where the law of the region is that of the background as well, with either angle or both on part of a turn, alone and on a
/// curve: a Shapley value is then no function of the difference of the angles.
#[test]
fn shapley_values_where_the_side_is_long_are_those_of_a_product_rule() {
    let [short, long, part, other] = [(0.2, 0.5), (2.0, 6.0), (0.2, 0.9), (0.5, 1.4)];
    for (cut, turned) in [
        ([short, long, part, other], [false, false]),
        ([short, long, WHOLE[2], other], [true, false]),
        ([long, short, part, WHOLE[3]], [false, true]),
    ] {
        let there = scenario().within(&region(&cut)).unwrap();
        let turn: Vec<(f64, f64)> =
            (0..48).map(|k| (TAU * f64::from(k) / 48.0, 1.0 / 48.0)).collect();
        let rules = [0, 1, 2, 3].map(|t| {
            if t > 1 && turned[t - 2] { turn.clone() } else { rule(cut[t], t < 2, 1, 11) }
        });
        for (s, &(lo, hi)) in cut.iter().enumerate() {
            let x = lo + 0.37 * (hi - lo);
            let [mean, variance] = moments_of_shapley_values(&rules, s, x);
            let at = |effect: Quantity, places: &[f64]| {
                there.curve(effect, s, places, (lo, hi), Centring::None).unwrap()
            };
            let many: Vec<f64> = (0..=200).map(|k| lo + f64::from(k) * (hi - lo) / 200.0).collect();
            for (found, known) in [
                (at(Quantity::Shap, &[x])[0], mean),
                (at(Quantity::ShapVariance, &[x])[0], variance),
                (at(Quantity::ShapVariance, &many)[74], variance),
            ] {
                let off = (found.value - known).abs();
                assert!(
                    off <= found.abs_error + 1e-12 && found.abs_error < 1e-8,
                    "x{} in {cut:?}: {found:?}, {known}, off by {off:e}",
                    s + 1
                );
            }
        }
    }
}

/// Many points of a curve along a length, close to cusps at the ends of its law and of the other one, are those asked alone.
#[test]
fn curves_of_lengths_in_a_region_are_as_good_as_points() {
    let there = scenario().within(&Region::default().and(2, 2.827, TAU)).unwrap();
    let many: Vec<f64> = (0..=200).map(|k| 0.1 + f64::from(k) * 9.9 / 200.0).collect();
    for effect in [Quantity::HPdp, Quantity::Pd, Quantity::Sigma] {
        let at = |places: &[f64]| there.curve(effect, 0, places, WHOLE[0], Centring::None).unwrap();
        let curve = at(&many);
        for k in [0, 1, 57, 199, 200] {
            let alone = at(&[many[k]])[0];
            let off = (curve[k].value - alone.value).abs();
            assert!(off <= curve[k].abs_error + alone.abs_error, "{effect}: {:?}", curve[k]);
            assert!(curve[k].abs_error < 5e-10, "{effect}: {:?}", curve[k]);
        }
    }
}

/// Where lengths may be equal, from draws.
#[test]
fn shapley_values_on_part_of_a_turn_vary_as_simulated_ones_do() {
    let cut: Box4 = [(0.5, 8.0), (0.2, 10.0), (1.0, 6.0), (2.0, 4.5)];
    let one: Box4 = [WHOLE[0], WHOLE[1], WHOLE[2], (3.0, TAU)];
    for (s, x, cut) in [(0, 2.0, cut), (2, 3.0, cut), (1, 0.7, one), (2, 0.4, one), (3, 3.1, one)] {
        let there = scenario().within(&region(&cut)).unwrap();
        let mut draws = Draws::new(cut, 25);
        let spread: Vec<f64> = (0..50_000)
            .map(|_| {
                let rows = [0, 1].map(|_| with(&draws.row(&cut), s, x));
                let mut apart = || {
                    let each = (0..4).map(|_| draws.added(s, [&rows[0], &rows[1]]));
                    each.map(|[a, b]| 0.25 * (a - b)).sum::<f64>()
                };
                0.5 * apart() * apart()
            })
            .collect();
        let found = there.curve(Quantity::ShapVariance, s, &[x], cut[s], Centring::None).unwrap();
        assert_mean(&spread, found[0].value, &format!("Shapley values of x{} in {cut:?}", s + 1));
        assert!(found[0].abs_error < BOUND, "{found:?}");
    }
}

/// Heterogeneity values of the whole law are told by formulas of their own.
#[test]
fn criteria_of_all_rows_are_the_values_of_the_scenario() {
    let scenario = scenario();
    for (s, &axis) in WHOLE.iter().enumerate() {
        let values = scenario.values(s, axis).unwrap();
        for (method, name) in
            METHODS.iter().zip(["pdp.mean", "dpdp.mean", "ale.integral", "shap.mean"])
        {
            let known = values.iter().find(|(known, _)| *known == name).unwrap().1;
            let found = criterion(&scenario, *method, s, &WHOLE);
            let allowed = known.abs_error + 1e-9 * (1.0 + known.value);
            assert!(
                (found - known.value).abs() <= allowed,
                "{name} x{}: {found}, {known:?}",
                s + 1
            );
        }
    }
}

/// Lengths, and angles, change places; angles turn and are mirrored.
#[test]
fn mirror_images_are_alike() {
    let scenario = scenario();
    let cut: Box4 = [(0.3, 2.0), (0.7, 5.0), (0.4, 2.1), (1.0, 4.5)];
    let [a, b, c, d] = cut;
    let turned = |(from, to): (f64, f64)| (from + 1.3, to + 1.3);
    let mirrored = |(from, to): (f64, f64)| (TAU - to, TAU - from);
    for method in METHODS {
        let near = |x: (usize, Box4), y: (usize, Box4)| {
            let [x, y] = [x, y].map(|(s, cut)| criterion(&scenario, method, s, &beside(s, cut)));
            assert!((x - y).abs() < 1e-10 * (1.0 + x), "{method}: {x}, {y}");
        };
        near((0, cut), (1, [b, a, c, d]));
        near((2, cut), (3, [a, b, d, c]));
        for s in [0, 2] {
            near((s, cut), (s, [a, b, turned(c), turned(d)]));
            near((s, cut), (s, [a, b, mirrored(c), mirrored(d)]));
        }
        near((0, cut), (0, [a, b, d, c]));
        near((2, cut), (2, [b, a, c, d]));
        // Of one angle alone the other one is as far away as it is of none.
        near((0, cut), (0, cut));
        near((0, [a, b, c, WHOLE[3]]), (0, [a, b, WHOLE[2], WHOLE[3]]));
    }
}

/// Equally wide angles that are further apart are no images: what is kept of the ones is not told of the others.
#[test]
fn angles_further_apart_are_others() {
    let scenario = scenario();
    for method in METHODS {
        let of = |from: f64| {
            let cut = [(0.3, 2.0), (0.7, 5.0), (0.4, 1.4), (from, from + 1.0)];
            criterion(&scenario, method, 0, &beside(0, cut))
        };
        let [near, far] = [of(0.6), of(3.2)];
        assert!((near - far).abs() > 1e-3 * near.max(far), "{method}: {near}, {far}");
    }
}

/// Every split of some nodes by one rule: the feature, the position, and what it leaves.
fn every_split(
    scenario: &Scenario,
    method: Regional,
    s: usize,
    (nodes, candidates): (&[Box4], usize),
) -> Vec<(usize, f64, f64)> {
    let share = |cut: &Box4| scenario.probability(&region(cut)).unwrap();
    let total: f64 = nodes.iter().map(share).sum();
    let mut all = Vec::new();
    for t in (0..4).filter(|&t| t != s) {
        for k in 1..=candidates {
            let (lo, hi) = WHOLE[t];
            let position = lo + (hi - lo) * k as f64 / (candidates + 1) as f64;
            let left = nodes.iter().flat_map(|node| divided(node, t, position));
            let of = |cut: Box4| share(&cut) / total * criterion(scenario, method, s, &cut);
            all.push((t, position, left.map(of).sum()));
        }
    }
    all
}

fn divided(node: &Box4, t: usize, position: f64) -> Vec<Box4> {
    let (from, to) = node[t];
    if !(from < position && position < to) {
        return vec![*node];
    }
    [(from, position), (position, to)]
        .map(|side| {
            let mut cut = *node;
            cut[t] = side;
            cut
        })
        .to_vec()
}

#[test]
fn trees_have_the_best_of_every_split() {
    let scenario = scenario();
    for (method, s) in [
        (Regional::Pdp, 0),
        (Regional::Shapdp, 1),
        (Regional::Pdp, 2),
        (Regional::Ale, 3),
        (Regional::Shapdp, 2),
    ] {
        let options = TreeOptions { candidates: Some(3), drop: 1e-6, ..TreeOptions::default() };
        let tree = scenario.tree(method, s, options).unwrap();
        let mut nodes = vec![WHOLE];
        for depth in 0..2 {
            let all = every_split(&scenario, method, s, (&nodes, 3));
            let least = all.iter().map(|split| split.2).fold(f64::INFINITY, f64::min);
            let best: Vec<_> = all.iter().filter(|split| split.2 < least * (1.0 + 1e-9)).collect();
            let at_depth: Vec<_> = tree.nodes.iter().filter(|node| node.depth == depth).collect();
            let total: f64 = at_depth.iter().map(|node| node.share).sum();
            let mut left = 0.0;
            for node in at_depth {
                let Some(split) = &node.split else {
                    left += node.share / total * node.heterogeneity.value;
                    continue;
                };
                assert_eq!(
                    (split.feature, split.position),
                    (best[0].0, best[0].1),
                    "{method} x{}",
                    s + 1
                );
                let ties: Vec<_> = best[1..].iter().map(|tie| (tie.0, tie.1)).collect();
                assert_eq!(split.ties, ties, "{method} x{}", s + 1);
                left += node.share / total * split.weighted.value;
            }
            assert!(
                (left - least).abs() < 1e-9 * (1.0 + least),
                "{method} x{}: {left}, {least}",
                s + 1
            );
            nodes = nodes.iter().flat_map(|node| divided(node, best[0].0, best[0].1)).collect();
        }
    }
}

/// Features are independent: effects of an angle where the other one is cut are those of f on average, from the start on.
#[test]
fn accumulated_effects_of_an_angle_are_changes_of_partial_dependence() {
    let cut = scenario().within(&region(&[(0.3, 2.0), WHOLE[1], WHOLE[2], (0.0, 3.0)])).unwrap();
    let axis = cut.axis(2);
    let points = [0.0, 1.1, 2.9, 4.0, TAU];
    let of = |effect, centring| cut.curve(effect, 2, &points, axis, centring).unwrap();
    let known = of(Quantity::Pd, Centring::Start);
    for effect in [Quantity::Ale, Quantity::AleDerivative] {
        for (found, known) in of(effect, Centring::Start).iter().zip(&known) {
            let off = (found.value - known.value).abs();
            assert!(
                off <= found.abs_error + known.abs_error && found.abs_error < 1e-9,
                "{found:?}"
            );
        }
    }
}
