//! Adaptive integration on Gauss–Legendre nodes, with an error bound.
//!
//! The caller gives the points between which the integrand is smooth on its own scale. A panel
//! is accepted once its Legendre coefficients have died out, and halved otherwise.

use std::f64::consts::TAU;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use fe_core::interrupt;
use gauss_quad::legendre::GaussLegendre;

/// Nodes in a panel.
pub(crate) const NODES: usize = 20;
/// Numbers of Legendre coefficients that are looked at: of the highest ones, of those whose size counts, and of
/// some of half the degree.
const LAST: usize = 4;
const TAIL: usize = 3;
/// Legendre coefficients beyond those seen are taken to be at least this share of the highest ones: of a sum of
/// a wide and a narrow part the first ones fall off and the last ones need not.
const BEYOND: f64 = 1e-3;
/// Error of a panel that is accepted, relative to the integral of the magnitude.
pub(crate) const TOLERANCE: f64 = 1e-14;
/// Highest coefficients of this size, relative to the integrand, are taken for rounding, which halving does not
/// lessen; up to the second size where they do not fall off.
const ROUNDING: f64 = 1e-12;
const COARSE: f64 = 4e-10;
/// Doubts up to this share of the magnitude are taken for rounding where halving a panel and its halves so many times
/// did no more than spread them over both sides; they remain in the bound.
const SCATTERED: f64 = 3e-11;
const FRUITLESS: u32 = 2;
/// Highest coefficients up to this size, relative to the integrand, tell how fast those beyond fall off: of a wave that is
/// not resolved yet they are larger, and may be less than others by chance.
const FAINT: f64 = 1e-3;
/// Rounding of places, in relation to the width of a panel, from which on nodes are taken as they came out.
const MISPLACED: f64 = 1e-14;
/// A panel is halved no more often than this.
const MAX_DEPTH: u32 = 45;
/// Panels that one integral may use: adaptivity ends here, and the bound says what is left.
const MAX_PANELS: usize = 4000;

/// A number with a bound on its error, and the size of what was summed to get it.
///
/// The magnitude is `∫|g|` where the value is `∫g`: errors are judged against it, so that an
/// integral that vanishes by symmetry does not ask for impossible accuracy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) magnitude: f64,
    pub(crate) error: f64,
    /// True if simulation has part in it: the bound is then the end of an interval.
    pub(crate) simulated: bool,
}

/// The error of the product of two numbers that are known up to errors of their own.
pub(crate) fn error_of_product(a: (f64, f64), b: (f64, f64)) -> f64 {
    a.0.abs() * b.1 + b.0.abs() * a.1 + a.1 * b.1
}

impl Estimate {
    /// A number that was computed to rounding, of summands of a size.
    pub(crate) fn of_size(value: f64, size: f64) -> Self {
        let magnitude = value.abs().max(size);
        Self { value, magnitude, error: 4.0 * f64::EPSILON * magnitude, simulated: false }
    }

    /// A number that was computed to rounding.
    pub(crate) fn exact(value: f64) -> Self {
        Self::of_size(value, 0.0)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            magnitude: self.magnitude + other.magnitude,
            error: self.error + other.error,
            simulated: self.simulated | other.simulated,
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        self.plus(other.times(-1.0))
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        let size = factor.abs();
        Self {
            value: self.value * factor,
            magnitude: self.magnitude * size,
            error: self.error * size,
            ..self
        }
    }

    /// The same with a further error in relation to its size.
    pub(crate) fn doubted(self, relative: f64) -> Self {
        Self { error: self.error + relative * self.magnitude, ..self }
    }

    /// The product of two numbers. Its magnitude is what rounding of either is relative to, times the other: of many factors,
    /// each of which cancels a little, a product of magnitudes would be far beyond.
    pub(crate) fn product(self, other: Self) -> Self {
        let error = error_of_product((self.value, self.error), (other.value, other.error));
        let value = self.value * other.value;
        let (own, others) = (self.value.abs(), other.value.abs());
        let both = f64::EPSILON * self.magnitude * other.magnitude;
        let magnitude = own * other.magnitude + others * (self.magnitude - own).max(0.0) + both;
        let simulated = self.simulated | other.simulated;
        Self { value, magnitude, error: error + f64::EPSILON * value.abs(), simulated }
    }

    /// The square of `self − centre`, its magnitude not less than rounding of the two can be seen.
    pub(crate) fn squared_from(self, centre: f64) -> Self {
        let deviation = self.value - centre;
        let error = self.error + f64::EPSILON * (self.magnitude + centre.abs());
        let square = deviation * deviation;
        let doubt = error * (2.0 * deviation.abs() + error);
        // Squares of small numbers may vanish where the numbers do not.
        let vanished = (deviation != 0.0 || error > 0.0) && square + doubt < f64::MIN_POSITIVE;
        let error = if vanished { f64::MIN_POSITIVE } else { doubt };
        Self { value: square, magnitude: square, error, ..self }
    }

    /// The square root of a value that is not negative but for its error.
    pub(crate) fn sqrt(self) -> Self {
        // What is no number stays none.
        let value = if self.value < 0.0 { 0.0 } else { self.value.sqrt() };
        let error = if value > 0.0 {
            (self.error / value).min(self.error.sqrt())
        } else {
            self.error.sqrt()
        };
        Self { value, magnitude: self.magnitude.sqrt(), error, ..self }
    }

    pub(crate) fn sum(estimates: impl IntoIterator<Item = Self>) -> Self {
        estimates.into_iter().fold(Self::default(), Self::plus)
    }
}

struct Rule {
    nodes: [f64; NODES],
    weights: [f64; NODES],
    /// Row k turns values at the nodes into the k-th Legendre coefficient.
    transform: [[f64; NODES]; NODES],
    /// Of those the highest, from the top, and some of half the degree.
    last: [[f64; NODES]; LAST],
    middle: [[f64; NODES]; TAIL],
    /// Row i turns values at the nodes into the derivative of their polynomial at node i.
    derivative: [[f64; NODES]; NODES],
}

static RULE: LazyLock<Rule> = LazyLock::new(|| {
    let mut rule = Rule {
        nodes: [0.0; NODES],
        weights: [0.0; NODES],
        transform: [[0.0; NODES]; NODES],
        last: [[0.0; NODES]; LAST],
        middle: [[0.0; NODES]; TAIL],
        derivative: [[0.0; NODES]; NODES],
    };
    let pairs = GaussLegendre::new(NonZeroUsize::MIN.saturating_add(NODES - 1));
    for (i, &(node, weight)) in pairs.iter().enumerate() {
        (rule.nodes[i], rule.weights[i]) = (node, weight);
        let polynomials = legendre(node);
        for (degree, polynomial) in polynomials.iter().enumerate() {
            rule.transform[degree][i] = (degree as f64 + 0.5) * weight * polynomial;
        }
    }
    for j in 0..LAST {
        rule.last[j] = rule.transform[NODES - 1 - j];
    }
    for j in 0..TAIL {
        rule.middle[j] = rule.transform[NODES / 2 - 1 - j];
    }
    rule.derivative = derivative(&rule.nodes, &rule.weights);
    rule
});

/// The matrix that differentiates polynomials given at the nodes, by their barycentric weights.
fn derivative(nodes: &[f64; NODES], weights: &[f64; NODES]) -> [[f64; NODES]; NODES] {
    let barycentric = |i: usize| {
        let size = ((1.0 - nodes[i] * nodes[i]) * weights[i]).sqrt();
        if i.is_multiple_of(2) { size } else { -size }
    };
    let mut matrix = [[0.0; NODES]; NODES];
    for (i, row) in matrix.iter_mut().enumerate() {
        for j in (0..NODES).filter(|&j| j != i) {
            row[j] = barycentric(j) / barycentric(i) / (nodes[i] - nodes[j]);
        }
        row[i] = -row.iter().sum::<f64>();
    }
    matrix
}

/// The values of a function at the nodes between two ends.
///
/// In a narrow panel far from 0 numbers are too coarse for the nodes: how far each came out from its place is known,
/// and what that does to the integrand is taken back by the slope of the values.
fn at_nodes<const M: usize>(
    from: f64,
    to: f64,
    f: &mut impl FnMut(f64) -> [Estimate; M],
) -> [[Estimate; M]; NODES] {
    let places = places(from, to);
    corrected(from, to, &places, places.map(f))
}

/// The nodes between two ends, as they come out.
fn places(from: f64, to: f64) -> [f64; NODES] {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    RULE.nodes.map(|node| centre + half * node)
}

/// Values at places, as they are at the nodes.
fn corrected<const M: usize>(
    from: f64,
    to: f64,
    places: &[f64; NODES],
    mut values: [[Estimate; M]; NODES],
) -> [[Estimate; M]; NODES] {
    let rule = &*RULE;
    let half = 0.5 * (to - from);
    if f64::EPSILON * from.abs().max(to.abs()) > MISPLACED * half {
        let as_found = values;
        for i in 0..NODES {
            let offset = (places[i] - from) / half - (1.0 + rule.nodes[i]);
            for m in 0..M {
                let slopes = rule.derivative[i].iter().zip(&as_found);
                let slope = slopes.map(|(weight, value)| weight * value[m].value).sum::<f64>();
                values[i][m].value -= offset * slope;
            }
        }
    }
    values
}

/// The Legendre polynomials of degree below [`NODES`] at x.
fn legendre(x: f64) -> [f64; NODES] {
    let mut p = [1.0; NODES];
    p[1] = x;
    for k in 1..NODES - 1 {
        let n = k as f64;
        p[k + 1] = ((2.0 * n + 1.0) * x * p[k] - n * p[k - 1]) / (n + 1.0);
    }
    p
}

/// One application of the rule: for functions known to be smooth over the whole interval.
pub(crate) fn fixed(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let terms = RULE.nodes.iter().zip(&RULE.weights).map(|(t, w)| w * f(centre + half * t));
    half * terms.sum::<f64>()
}

/// The nodes of that application, with their weights.
pub(crate) fn nodes(from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let rule = &*RULE;
    rule.nodes.iter().zip(&rule.weights).map(move |(t, w)| (centre + half * t, half * w))
}

struct Panel<const M: usize> {
    from: f64,
    to: f64,
    depth: u32,
    integrals: [Estimate; M],
    /// Error of the rule, beside the errors of the integrand.
    doubt: [f64; M],
    /// True if the highest coefficients are no more than rounding of the integrand.
    is_rounding: [bool; M],
    /// Halvings in a row that did not lessen the doubt, and left either half its share of it.
    fruitless: [u32; M],
}

impl<const M: usize> Panel<M> {
    fn new(from: f64, to: f64, depth: u32, f: &mut impl FnMut(f64) -> [Estimate; M]) -> Self {
        interrupt::check();
        let rule = &*RULE;
        let half = 0.5 * (to - from);
        let mut integrals = [Estimate::default(); M];
        let mut last = [[0.0; LAST]; M];
        let mut middles = [[0.0; TAIL]; M];
        let mut sizes = [0.0; M];
        for (i, values) in at_nodes(from, to, f).into_iter().enumerate() {
            for (m, value) in values.into_iter().enumerate() {
                integrals[m] = integrals[m].plus(value.times(half * rule.weights[i]));
                sizes[m] += half * rule.weights[i] * value.value.abs();
                for (sum, row) in last[m].iter_mut().zip(&rule.last) {
                    *sum += row[i] * value.value;
                }
                for (sum, row) in middles[m].iter_mut().zip(&rule.middle) {
                    *sum += row[i] * value.value;
                }
            }
        }
        let mut doubt = [0.0; M];
        let mut is_rounding = [false; M];
        for m in 0..M {
            // Of the integrand itself: a magnitude may be far larger, and hide the tail.
            let size = sizes[m];
            let tail = largest(&last[m][..TAIL]);
            let relative = if size > 0.0 { (2.0 * half * tail / size).min(1.0) } else { 0.0 };
            let falling = if relative <= FAINT { falling(&last[m], &middles[m]) } else { 1.0 };
            is_rounding[m] = relative <= ROUNDING || (relative <= COARSE && falling > 0.4);
            doubt[m] = size * relative * falling;
        }
        Self { from, to, depth, integrals, doubt, is_rounding, fruitless: [0; M] }
    }

    fn halves(&self, f: &mut impl FnMut(f64) -> [Estimate; M]) -> [Self; 2] {
        let middle = 0.5 * (self.from + self.to);
        let mut halves = [
            Self::new(self.from, middle, self.depth + 1, f),
            Self::new(middle, self.to, self.depth + 1, f),
        ];
        for m in 0..M {
            // What is rough at a place is so in one half; a wave is lessened once it is resolved.
            let [low, high] = [0, 1].map(|side| halves[side].doubt[m]);
            let is_fruitless =
                low + high >= 0.5 * self.doubt[m] && low.min(high) >= 0.1 * low.max(high);
            let count = if is_fruitless { self.fruitless[m] + 1 } else { 0 };
            halves.iter_mut().for_each(|half| half.fruitless[m] = count);
        }
        halves
    }

    fn can_be_halved(&self) -> bool {
        let middle = 0.5 * (self.from + self.to);
        self.depth < MAX_DEPTH && self.from < middle && middle < self.to
    }
}

fn largest(coefficients: &[f64]) -> f64 {
    coefficients.iter().fold(0.0, |max: f64, c| max.max(c.abs()))
}

/// Share of the highest coefficients that those beyond reach which the rule does not see: it is exact to twice
/// their degree. They are taken to fall off from there to half as far as they did on the way from half their
/// degree, or from the last but two to the last two if that is less: safe where they do so evenly, as for an
/// analytic integrand, and not taken in by a kink, where they hardly do, nor by a sum of which one part has
/// died out and another has not.
fn falling(last: &[f64; LAST], middle: &[f64; TAIL]) -> f64 {
    let ratio = |tail: f64, before: f64| if before > 0.0 { tail / before } else { 1.0 };
    let far = ratio(largest(&last[..TAIL]), largest(middle));
    let near = ratio(largest(&last[..2]), largest(&last[2..])).powi(5);
    far.max(near).clamp(BEYOND, 1.0)
}

/// The integrals of the components of `f` from the first to the last of the ascending `points`.
///
/// The integrand is taken to be smooth between neighbouring points. Errors below `floor` are of
/// no interest; 0 leaves the judgement to the magnitudes.
pub(crate) fn integrate<const M: usize>(
    points: &[f64],
    floor: f64,
    f: impl FnMut(f64) -> [Estimate; M],
) -> [Estimate; M] {
    integrate_to(TOLERANCE, points, floor, f)
}

/// As [`integrate`], to another error of a panel, relative to the integral of the magnitude.
pub(crate) fn integrate_to<const M: usize>(
    tolerance: f64,
    points: &[f64],
    floor: f64,
    mut f: impl FnMut(f64) -> [Estimate; M],
) -> [Estimate; M] {
    adaptively(tolerance, points, floor, &mut f)
}

/// The same of any integrand: compiled once for each number of components, and not for each integrand.
fn adaptively<const M: usize>(
    tolerance: f64,
    points: &[f64],
    floor: f64,
    f: &mut dyn FnMut(f64) -> [Estimate; M],
) -> [Estimate; M] {
    let mut is_lost = false;
    let mut f = |x: f64| {
        // With one that is not a number the integral is none: what it takes to know the others is spared.
        let values = if is_lost { [Estimate::exact(f64::NAN); M] } else { f(x) };
        is_lost = values.iter().all(|estimate| estimate.value.is_nan());
        values
    };
    let mut open: Vec<Panel<M>> = points
        .windows(2)
        .filter(|ends| ends[0] < ends[1])
        .map(|ends| Panel::new(ends[0], ends[1], 0, &mut f))
        .collect();
    let mut count = open.len();
    let mut sizes = [0.0; M];
    for panel in &open {
        (0..M).for_each(|m| sizes[m] += panel.integrals[m].magnitude);
    }
    let mut done = [Estimate::default(); M];
    while let Some(panel) = open.pop() {
        // Halving does not help where the integrand is not a number,
        // nor below the errors of the integrand itself.
        let settled = |m: usize| {
            let enough = floor.max(tolerance * sizes[m]).max(panel.integrals[m].error);
            let is_scattered =
                panel.fruitless[m] >= FRUITLESS && panel.doubt[m] <= SCATTERED * sizes[m];
            sizes[m].is_nan() || panel.doubt[m] <= enough || panel.is_rounding[m] || is_scattered
        };
        let good = (0..M).all(settled);
        if good || count >= MAX_PANELS || !panel.can_be_halved() {
            for (sum, (part, doubt)) in done.iter_mut().zip(panel.integrals.iter().zip(panel.doubt))
            {
                *sum = sum.plus(*part);
                // What lies beyond the coefficients that are seen may be as much again.
                sum.error += 2.0 * doubt;
            }
            continue;
        }
        count += 1;
        for half in panel.halves(&mut f) {
            (0..M).for_each(|m| sizes[m] += half.integrals[m].magnitude);
            open.push(half);
        }
        (0..M).for_each(|m| sizes[m] -= panel.integrals[m].magnitude);
    }
    for estimate in &mut done {
        estimate.error += 4.0 * f64::EPSILON * estimate.magnitude;
    }
    done
}

/// As [`integrate_to`], of an integrand that may have a cusp at each of the points: over a variable in which it is
/// [`flattened`] there.
pub(crate) fn integrate_between_cusps<const M: usize>(
    tolerance: f64,
    points: &[f64],
    floor: f64,
    mut f: impl FnMut(f64) -> [Estimate; M],
) -> [Estimate; M] {
    integrate_to(tolerance, &halves(points), floor, |t| {
        let (place, stretch) = flattened(points, t);
        f(place).map(|value| value.times(stretch))
    })
}

/// Nodes and weights of a rule for integrands that may have a cusp at each of the points, be it rounded off on whatever scale:
/// panels get shorter towards the points by a factor.
pub(crate) fn nodes_between_cusps(points: &[f64]) -> Vec<(f64, f64)> {
    let ends = (0..PANELS_TO_A_CUSP).map(|k| 0.5 * SHORTER.powi(k)).chain([0.0]);
    let below: Vec<f64> = ends.collect();
    let above = below.iter().rev().map(|t| 1.0 - t);
    let ends: Vec<f64> = above.chain(below.iter().copied()).collect();
    let shares = within(&ends, 0.0, 1.0);
    let panels = (0..points.len() - 1)
        .flat_map(|k| shares.windows(2).map(move |ends| (k as f64 + ends[0], k as f64 + ends[1])));
    let back = |(t, weight): (f64, f64)| {
        let (place, stretch) = flattened(points, t);
        (place, weight * stretch)
    };
    panels.flat_map(|(from, to)| nodes(from, to)).map(back).collect()
}

/// Panels from the middle to a cusp, and how much shorter each is: the singularities that a cusp is rounded off by, at a
/// third of a right angle from the axis, are then as far from a panel as it is long.
const PANELS_TO_A_CUSP: i32 = 5;
const SHORTER: f64 = 0.354;

/// The points, and a place between each two, in the variable in which cusps at points are flattened.
pub(crate) fn halves(points: &[f64]) -> Vec<f64> {
    (0..=2 * (points.len() - 1)).map(|k| 0.5 * k as f64).collect()
}

/// The place at a value of the variable in which cusps at ascending points are flattened, with its derivative: at the
/// share s of the way from each point to the next in the one variable the other one is at s³ (10 − 15 s + 6 s²).
pub(crate) fn flattened(points: &[f64], t: f64) -> (f64, f64) {
    let before = (t.floor() as usize).min(points.len() - 2);
    let (from, to) = (points[before], points[before + 1]);
    let s = t - before as f64;
    // The distance from the nearer end, so that it keeps its digits.
    let near = s.min(1.0 - s);
    let way = (to - from) * near.powi(3) * (10.0 - near * (15.0 - 6.0 * near));
    let stretch = 30.0 * (near * (1.0 - near)).powi(2) * (to - from);
    (if s < 0.5 { from + way } else { to - way }, stretch)
}

/// Standard deviations from a normal mean to the last node of the rule of trapezia.
const FARTHEST: f64 = 8.5;
/// Number of times that the distance of its nodes, one standard deviation at first, is halved at least and at most, and
/// the share of short waves beyond which that is no use.
const HALVINGS: [i32; 2] = [2, 3];
const HOPELESS: f64 = 1e-5;
/// Nodes after the most halvings.
const MOST_NODES: usize = 137;
/// Powers by which waves fall off from the highest that is looked at, of that by which they do from half its frequency: to
/// the highest that the nodes show, and to the first that they take for a constant, which has a little more than twice the
/// frequency, and all that is smooth falls off faster and faster.
const TO_HIGHEST: f64 = 0.046;
const TO_TWICE: f64 = 1.25;
/// Power of that by which they do over a quarter of an octave, and a factor for what is not even about that: a small part whose
/// waves get ever shorter, as those of a sine of what is lognormal, falls off with the logarithm of the frequency only, and is
/// hidden in lower waves behind what is smooth. Until integrals are accepted it falls off by a hundred at the most.
const OCTAVE: i32 = 4;
const UNEVEN: f64 = 4.0;
const AT_MOST: f64 = 1e-2;
/// Error of the rule of trapezia that is accepted, relative to the integral of the magnitude.
const OF_TRAPEZIA: f64 = 1e-12;
/// Places between nodes, in standard deviations from the mean, at which an integrand must be what its values at the nodes
/// make of it, and by how much it may be off, relative to its largest value: a wave as short as nodes are apart looks
/// constant from all of them.
const BETWEEN: [f64; 3] = [-0.67, 0.41, 1.19];
const OFF: f64 = 1e-6;
/// Share of a law that nodes need not see.
const UNSEEN: f64 = 1e-11;

/// The mean of a function over a normal law, by the rule of trapezia: of an integrand that is
/// analytic near the real line its error falls off exponentially as nodes get closer (Trefethen & Weideman 2014,
/// theorem 5.1). None where it does not.
///
/// Nodes at a distance h take a wave of the frequency 2π/h for a constant: the error is twice what the integrand has of
/// it. The values show what it has of frequencies up to π/h. This is taken to fall off from the highest of them on as from
/// half of that to it, or over less than an octave, but not by more than a hundred. The change that halving the distance makes is no measure of it: that
/// is what there is of one frequency in one phase, and may vanish by chance.
pub(crate) fn over_normal(
    normal: (f64, f64),
    floor: f64,
    mut f: impl FnMut(f64) -> Estimate,
) -> Option<Estimate> {
    over_waves(normal, floor, |z| (f(z), 1.0))
}

/// As [`over_normal`], over a law whose density is that of a normal one times a tilt; none where the nodes do not see all
/// of it.
pub(crate) fn over_tilted(
    normal: (f64, f64),
    floor: f64,
    tilt: impl Fn(f64) -> f64,
    mut f: impl FnMut(f64) -> Estimate,
) -> Option<Estimate> {
    over_waves(normal, floor, |z| {
        let tilt = tilt(z);
        (f(z).times(tilt), tilt)
    })
}

/// The rule of trapezia for a function with the factor that is in it besides the density.
fn over_waves(
    (mean, sd): (f64, f64),
    floor: f64,
    mut f: impl FnMut(f64) -> (Estimate, f64),
) -> Option<Estimate> {
    interrupt::check();
    let (mut sum, mut mass, mut at_ends) = (Estimate::default(), 0.0, 0.0);
    let mut values: Vec<f64> = Vec::with_capacity(MOST_NODES);
    for halving in 0..=HALVINGS[1] {
        for &(z, density) in &LADDER[halving as usize] {
            let (value, tilt) = f(mean + z * sd);
            let value = value.times(density);
            mass += tilt * density;
            if !value.value.is_finite() {
                return None;
            }
            at_ends += if z.abs() == FARTHEST { value.value.abs() } else { 0.0 };
            sum = sum.plus(value);
            values.push(value.value);
        }
        if halving < HALVINGS[0] {
            continue;
        }
        let step = 0.5_f64.powi(halving);
        let total = sum.times(step);
        let told = Told::by(&values, halving);
        let [before, near, last] = told.waves.map(|size| size * step);
        let falling = |from: f64| if from > 0.0 { (last / from).min(1.0) } else { 1.0 };
        let (far, near) = (falling(before), falling(near));
        let least = AT_MOST * far.powf(TO_HIGHEST);
        let share = (2.0 * far.powf(TO_TWICE)).max(UNEVEN * near.powi(OCTAVE)).max(least);
        // The density falls off by a factor of 5000 over the next standard deviation.
        let doubt = last * share + at_ends;
        if doubt <= floor.max(OF_TRAPEZIA * total.magnitude) && is_all(mass * step) {
            let error = total.error + doubt + 4.0 * f64::EPSILON * total.magnitude;
            let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let is_made_of_values = |(z, told): (f64, f64)| {
                (f(mean + z * sd).0.value * normal_pdf(z) - told).abs() <= OFF * largest
            };
            let are_all = BETWEEN.into_iter().zip(told.between).all(is_made_of_values);
            return are_all.then_some(Estimate { error, ..total });
        }
        if last > HOPELESS * total.magnitude {
            return None;
        }
    }
    None
}

/// True if what the nodes see of a law is all of it.
fn is_all(mass: f64) -> bool {
    (mass - 1.0).abs() < UNSEEN
}

fn normal_pdf(z: f64) -> f64 {
    (-0.5 * z * z).exp() / TAU.sqrt()
}

/// The nodes of the rule of trapezia that are new after each number of halvings, with the density there.
static LADDER: LazyLock<Vec<Vec<(f64, f64)>>> = LazyLock::new(|| {
    let with_density = |z: f64| (z, normal_pdf(z));
    (0..=HALVINGS[1]).map(|halving| new_nodes(halving).map(with_density).collect()).collect()
});

/// The nodes that the rule of trapezia has after so many halvings and not before, in standard deviations from the mean.
fn new_nodes(halving: i32) -> impl Iterator<Item = f64> {
    let step = 0.5_f64.powi(halving);
    let last = (FARTHEST / step) as i32;
    let is_new = move |k: &i32| halving == 0 || k % 2 != 0;
    (-last..=last).filter(is_new).map(move |k| f64::from(k) * step)
}

/// Share of the shortest wave that values at some distance can tell from its mirror image, and that is still told from it,
/// as parts of a whole turn from one value to the next.
const TURNS: usize = 128;
const HIGHEST: usize = 62;
const A_QUARTER_OCTAVE_BEFORE: usize = 52;
/// A wave beside the highest one, of which there may be more where two parts of a function cancel in that.
const BESIDE_HIGHEST: usize = 60;
/// Those that are looked at: of half the highest frequency, of a quarter of an octave less than that, and the two highest.
const WAVES: [usize; 4] = [HIGHEST / 2, A_QUARTER_OCTAVE_BEFORE, HIGHEST, BESIDE_HIGHEST];

/// Of a value at a node: what it adds to the sine and the cosine of each wave, and to the values between nodes.
type Shares = [f64; 2 * WAVES.len() + BETWEEN.len()];

/// Sums of values at the nodes of the rule of trapezia.
struct Told {
    /// Sizes of what they have of three waves: of half the frequency of the last, of a quarter of an octave less than that,
    /// and of close to the highest frequency that they can show.
    waves: [f64; 3],
    /// Values at [`BETWEEN`] of the function that has no shorter waves than they can show.
    between: [f64; BETWEEN.len()],
}

impl Told {
    /// By values at all nodes up to some halving, in their order.
    fn by(values: &[f64], halving: i32) -> Self {
        static SHARES: LazyLock<[Vec<Shares>; 2]> = LazyLock::new(|| HALVINGS.map(shares));
        let mut sums = [0.0; 2 * WAVES.len() + BETWEEN.len()];
        for (value, shares) in values.iter().zip(&SHARES[(halving - HALVINGS[0]) as usize]) {
            for (sum, share) in sums.iter_mut().zip(shares) {
                *sum += share * value;
            }
        }
        let size = |wave: usize| f64::hypot(sums[2 * wave], sums[2 * wave + 1]);
        let waves = [size(0), size(1), size(2).max(size(3))];
        Self { waves, between: std::array::from_fn(|k| sums[2 * WAVES.len() + k]) }
    }
}

/// Shares of all nodes up to some halving, in their order.
fn shares(halving: i32) -> Vec<Shares> {
    let step = 0.5_f64.powi(halving);
    let of = |z: f64| {
        let mut shares = [0.0; 2 * WAVES.len() + BETWEEN.len()];
        for (pair, wave) in shares.chunks_exact_mut(2).zip(WAVES) {
            // Values so many steps apart meet the waves at the same place.
            let turn = wave as i32 * (z / step) as i32;
            let part = f64::from(turn.rem_euclid(TURNS as i32)) / TURNS as f64;
            let (sine, cosine) = (TAU * part).sin_cos();
            pair.copy_from_slice(&[sine, cosine]);
        }
        let between = shares[2 * WAVES.len()..].iter_mut();
        between.zip(BETWEEN).for_each(|(share, place)| *share = cardinal((place - z) / step));
        shares
    };
    (0..=halving).flat_map(new_nodes).map(of).collect()
}

/// The cardinal sine, sin πt / πt: what a value adds at t steps from it to Whittaker's series, the function of no shorter
/// waves than two steps that has given values at places a step apart.
fn cardinal(t: f64) -> f64 {
    let turned = std::f64::consts::PI * t;
    if turned == 0.0 { 1.0 } else { turned.sin() / turned }
}

/// A function of one variable as Legendre series on adjoining pieces, fine enough for its accuracy.
///
/// It answers in the place of a function that is expensive to ask, and integrates it exactly.
pub(crate) struct Piecewise {
    pieces: Vec<Piece>,
    /// Bound on the error of a value.
    error: f64,
    /// Size of what was summed for the largest value.
    magnitude: f64,
    /// True if simulation has part in it.
    simulated: bool,
}

struct Piece {
    centre: f64,
    half: f64,
    /// Coefficients of the Legendre polynomials of the function, and of its integral from the
    /// start of the first piece.
    series: [f64; NODES],
    integral: [f64; NODES + 1],
    /// Integrals from the start of the first piece to the start of this one: of the magnitude, and
    /// of the bound on the error.
    magnitude: f64,
    error: f64,
    /// Mean magnitude and error of the function here.
    means: [f64; 2],
    /// Bound on what is beyond the series where that is not told by it.
    untold: f64,
}

/// Largest of the highest coefficients of a piece that is accepted, relative to the function.
const RESOLVED: f64 = 3e-14;

impl Piecewise {
    /// Resolves a function between the first and the last of the ascending `points`, smooth between
    /// neighbouring ones.
    pub(crate) fn of(points: &[f64], f: impl FnMut(f64) -> Estimate) -> Self {
        Self::of_each(points, &mut one_by_one(f))
    }

    /// As [`Self::of`], of a function that is asked at many places at once.
    pub(crate) fn of_each(points: &[f64], f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>) -> Self {
        Self::of_few(MAX_PANELS, points, f)
    }

    /// The same by a number of pieces at most, which may not resolve the function.
    pub(crate) fn of_few(
        most: usize,
        points: &[f64],
        f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>,
    ) -> Self {
        Self::joined(&Self::resolved(points, most, f).0)
    }

    /// The same where so many pieces resolve the function.
    pub(crate) fn of_at_most(
        most: usize,
        points: &[f64],
        f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>,
    ) -> Option<Self> {
        let (done, is_resolved) = Self::resolved(points, most, f);
        is_resolved.then(|| Self::joined(&done))
    }

    /// Samples on ascending pieces, and whether they are all as fine as the function asks for.
    fn resolved(
        points: &[f64],
        most: usize,
        f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>,
    ) -> (Vec<Samples>, bool) {
        let mut raw = Samples::between(points, 0, f);
        let mut scale = raw.iter().map(|samples| samples.largest()).fold(0.0, f64::max);
        let mut done: Vec<Samples> = Vec::with_capacity(raw.len());
        let mut are_resolved = true;
        raw.reverse();
        while let Some(samples) = raw.pop() {
            scale = scale.max(samples.largest());
            let enough = done.len() + raw.len() >= most;
            let is_resolved = samples.is_resolved(scale);
            if is_resolved || enough || !samples.can_be_halved() {
                are_resolved &= is_resolved;
                done.push(samples);
                continue;
            }
            let middle = 0.5 * (samples.from + samples.to);
            let halves = [samples.from, middle, samples.to];
            raw.extend(Samples::between(&halves, samples.depth + 1, f).into_iter().rev());
        }
        (done, are_resolved)
    }

    fn joined(done: &[Samples]) -> Self {
        let mut sum = Estimate::default();
        let (mut error, mut magnitude) = (0.0_f64, 0.0_f64);
        let values = || done.iter().flat_map(|samples| samples.values.iter());
        let simulated = values().any(|value| value.simulated);
        let mut pieces = Vec::with_capacity(done.len());
        for samples in done {
            let series = samples.series();
            let half = 0.5 * (samples.to - samples.from);
            let mut integral = [0.0; NODES + 1];
            for (k, c) in series.iter().enumerate() {
                // The integral of P_k from −1 is (P_{k+1} − P_{k−1}) / (2k + 1).
                let part = half * c / (2.0 * k as f64 + 1.0);
                integral[k + 1] += part;
                integral[k.saturating_sub(1)] += if k == 0 { part } else { -part };
            }
            integral[0] += sum.value;
            let (size, doubt) = (samples.magnitude(), samples.doubt(&series));
            pieces.push(Piece {
                centre: 0.5 * (samples.from + samples.to),
                half,
                series,
                integral,
                magnitude: sum.magnitude,
                error: sum.error,
                means: [size, doubt],
                untold: samples.untold(),
            });
            sum = Estimate {
                value: sum.value + 2.0 * half * series[0],
                magnitude: sum.magnitude + 2.0 * half * size,
                error: sum.error + 2.0 * half * (doubt + 4.0 * f64::EPSILON * size),
                simulated,
            };
            error = error.max(doubt);
            magnitude = magnitude.max(size);
        }
        Self { pieces, error, magnitude, simulated }
    }

    /// Number of pieces.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.pieces.len()
    }

    /// True if x lies where the function was resolved.
    pub(crate) fn covers(&self, x: f64) -> bool {
        let ends = self.pieces.first().zip(self.pieces.last());
        ends.is_some_and(|(first, last)| {
            first.centre - first.half <= x && x <= last.centre + last.half
        })
    }

    fn piece(&self, x: f64) -> &Piece {
        let after = self.pieces.partition_point(|piece| piece.centre - piece.half <= x);
        &self.pieces[after.saturating_sub(1)]
    }

    /// The value at a point that is covered.
    pub(crate) fn at(&self, x: f64) -> Estimate {
        let piece = self.piece(x);
        let value = piece.sum(&piece.series, x);
        let simulated = self.simulated;
        Estimate { value, magnitude: self.magnitude, error: self.error, simulated }
    }

    /// As [`Self::at`], with the bound of the piece that the point is in, which is less where pieces elsewhere
    /// are not resolved.
    pub(crate) fn at_own(&self, x: f64) -> Estimate {
        let [magnitude, error] = self.piece(x).means;
        Estimate { magnitude, error, ..self.at(x) }
    }

    /// As [`Self::at_own`], with a bound that is safe also where the function is far below what it is elsewhere, and need not
    /// be resolved on its own scale.
    pub(crate) fn at_faint(&self, x: f64) -> Estimate {
        let own = self.at_own(x);
        Estimate { error: own.error + self.piece(x).untold, ..own }
    }

    /// Those of ascending points that are covered between which one series is as good as these: the ends, and as few
    /// others as that takes.
    pub(crate) fn coarsest(&self, points: &[f64]) -> Vec<f64> {
        let mut kept: Vec<f64> = points.iter().copied().take(1).collect();
        let mut from = 0;
        while from + 1 < points.len() {
            let mut to = from + 1;
            while to + 1 < points.len() && self.is_one_series(&points[from..=to + 1]) {
                to += 1;
            }
            kept.push(points[to]);
            from = to;
        }
        kept
    }

    /// True if one series from the first to the last of ascending points is as good as these, at its nodes and at
    /// several places from each point to the next.
    fn is_one_series(&self, points: &[f64]) -> bool {
        let (from, to) = (points[0], points[points.len() - 1]);
        let one = Samples::between(&[from, to], 0, &mut one_by_one(|x| self.at(x)));
        let Some(samples) = one.first() else { return false };
        let enough = 2.0 * RESOLVED * self.magnitude;
        if samples.tail() > enough {
            return false;
        }
        let series = samples.series();
        let places = |ends: &[f64]| {
            [0.1, 0.3, 0.5, 0.7, 0.9].map(|share| ends[0] + share * (ends[1] - ends[0]))
        };
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        let is_near =
            |x: f64| (sum(&series, (x - centre) / half) - self.at(x).value).abs() <= 4.0 * enough;
        points.windows(2).flat_map(places).all(is_near)
    }

    /// The integral from the start to a point that is covered.
    pub(crate) fn integral_to(&self, x: f64) -> Estimate {
        let piece = self.piece(x);
        let width = x - (piece.centre - piece.half);
        let [size, doubt] = piece.means;
        let magnitude = piece.magnitude + width * size;
        let rounding = 8.0 * f64::EPSILON * (magnitude + piece.half * size);
        let error = piece.error + width * doubt + rounding;
        let simulated = self.simulated;
        Estimate { value: piece.sum(&piece.integral, x), magnitude, error, simulated }
    }
}

impl Piece {
    fn sum(&self, series: &[f64], x: f64) -> f64 {
        sum(series, ((x - self.centre) / self.half).clamp(-1.0, 1.0))
    }
}

/// A Legendre series, by Clenshaw's recurrence.
fn sum(series: &[f64], t: f64) -> f64 {
    let (mut next, mut after) = (0.0, 0.0);
    for (k, c) in series.iter().enumerate().skip(1).rev() {
        let here = c + RECURRENCE[k].0 * t * next - RECURRENCE[k].1 * after;
        (next, after) = (here, next);
    }
    series[0] + t * next - 0.5 * after
}

/// `(2k + 1)/(k + 1)` and `(k + 1)/(k + 2)` for each k: the recurrence of Legendre polynomials.
const RECURRENCE: [(f64, f64); NODES + 1] = {
    let mut pairs = [(0.0, 0.0); NODES + 1];
    let mut k = 0;
    while k <= NODES {
        let n = k as f64;
        pairs[k] = ((2.0 * n + 1.0) / (n + 1.0), (n + 1.0) / (n + 2.0));
        k += 1;
    }
    pairs
};

/// Values of a function at the nodes of a piece.
struct Samples {
    from: f64,
    to: f64,
    depth: u32,
    values: [Estimate; NODES],
}

/// A function of one place as one that is asked at many.
pub(crate) fn one_by_one(
    mut f: impl FnMut(f64) -> Estimate,
) -> impl FnMut(&[f64]) -> Vec<Estimate> {
    move |places| places.iter().map(|&place| f(place)).collect()
}

impl Samples {
    /// Those of the pieces between neighbouring points, from values that are asked for at once.
    fn between(
        points: &[f64],
        depth: u32,
        f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>,
    ) -> Vec<Self> {
        interrupt::check();
        let asked: Vec<f64> = points.windows(2).flat_map(|ends| places(ends[0], ends[1])).collect();
        let values = f(&asked);
        let pieces = points.windows(2).zip(values.chunks_exact(NODES));
        pieces
            .map(|(ends, values)| {
                let (from, to) = (ends[0], ends[1]);
                let values =
                    corrected(from, to, &places(from, to), std::array::from_fn(|i| [values[i]]));
                Self { from, to, depth, values: values.map(|[value]| value) }
            })
            .collect()
    }

    fn largest(&self) -> f64 {
        self.values.iter().map(|value| value.value.abs()).fold(0.0, f64::max)
    }

    fn magnitude(&self) -> f64 {
        self.values.iter().map(|value| value.magnitude).fold(0.0, f64::max)
    }

    /// Largest of the highest coefficients.
    fn tail(&self) -> f64 {
        let coefficient = |row: &[f64; NODES]| {
            row.iter().zip(&self.values).map(|(w, value)| w * value.value).sum::<f64>().abs()
        };
        RULE.last[..TAIL].iter().map(coefficient).fold(0.0, f64::max)
    }

    fn is_resolved(&self, scale: f64) -> bool {
        let noise = self.values.iter().map(|value| value.error).fold(0.0, f64::max);
        !scale.is_finite() || self.tail() <= (RESOLVED * scale).max(8.0 * noise)
    }

    fn can_be_halved(&self) -> bool {
        let middle = 0.5 * (self.from + self.to);
        self.depth < MAX_DEPTH && self.from < middle && middle < self.to
    }

    fn series(&self) -> [f64; NODES] {
        let mut series = [0.0; NODES];
        for (i, value) in self.values.iter().enumerate() {
            for (k, c) in series.iter_mut().enumerate() {
                *c += RULE.transform[k][i] * value.value;
            }
        }
        series
    }

    /// Error of a value of the series.
    fn doubt(&self, series: &[f64; NODES]) -> f64 {
        let noise = self.values.iter().map(|value| value.error).fold(0.0, f64::max);
        let size: f64 = series.iter().map(|c| c.abs()).sum();
        4.0 * self.tail() + 4.0 * noise + 8.0 * f64::EPSILON * size
    }

    /// Bound on what is beyond the series besides, of a piece on its own: as much as of the values where the highest
    /// coefficients are not small beside these, as they need not be if other pieces are much larger. Then nothing tells
    /// how those beyond fall off.
    fn untold(&self) -> f64 {
        let largest = self.largest();
        if self.tail() > FAINT * largest { largest } else { 0.0 }
    }
}

/// The ends of `[from, to]` and those of the `points` that lie between, ascending.
pub(crate) fn within(points: &[f64], from: f64, to: f64) -> Vec<f64> {
    let mut inner: Vec<f64> = points.iter().copied().filter(|&p| from < p && p < to).collect();
    inner.push(from);
    inner.push(to);
    inner.sort_by(f64::total_cmp);
    inner.dedup();
    inner
}

/// Roundings of the largest of several points up to which two of them are one that was computed in two ways, and share of
/// their range that this is not more than.
const ROUNDINGS: f64 = 8.0;
const OF_RANGE: f64 = 1e-9;

/// Ascending points without those that are one with the point before, or with the last one: a panel between the two costs
/// as much as any other, and holds nothing.
pub(crate) fn apart(points: &[f64]) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Vec::new() };
    let rounding = ROUNDINGS * f64::EPSILON * first.abs().max(last.abs());
    let near = rounding.min(OF_RANGE * (last - first));
    let mut kept = vec![first];
    for &point in &points[1..] {
        if point == last || (point - kept[kept.len() - 1] > near && last - point > near) {
            kept.push(point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(points: &[f64], f: impl Fn(f64) -> f64) -> Estimate {
        integrate(points, 0.0, |x| [Estimate::exact(f(x))])[0]
    }

    /// ∫ √(v² + δ²) dv = ½ (v √(v² + δ²) + δ² asinh(v/δ)), whatever rounds the cusp off.
    #[test]
    fn nodes_between_cusps_see_cusps_that_are_rounded_off() {
        let rule = nodes_between_cusps(&[-1.0, 0.0, 2.0]);
        for scale in [1e-9_f64, 1e-6, 1e-4, 3e-3, 0.02, 0.1, 0.7, 3.0] {
            let found: f64 = rule.iter().map(|(v, weight)| weight * v.hypot(scale)).sum();
            let end = |v: f64| 0.5 * (v * v.hypot(scale) + scale * scale * (v / scale).asinh());
            let known = end(2.0) - end(-1.0);
            assert!((found - known).abs() < 1e-13 * known, "{scale}: {found}, not {known}");
        }
    }

    /// Over a normal law tilted to another mean the nodes of the first do not see enough of it.
    #[test]
    fn a_tilt_is_seen_if_the_nodes_are_where_it_is() {
        let tilt = |shift: f64| move |z: f64| (shift * z - 0.5 * shift * shift).exp();
        let mean = |shift: f64| over_tilted((0.0, 1.0), 0.0, tilt(shift), Estimate::exact);
        let found = mean(0.5).unwrap().value;
        assert!((found - 0.5).abs() < 1e-14, "{found}");
        // What is small wherever the law goes on is summed well, and still the law is not all seen.
        let near_zero = |z: f64| Estimate::exact((-z * z).exp());
        assert!(over_tilted((0.0, 1.0), 0.0, tilt(0.5), near_zero).is_some());
        assert!(over_tilted((0.0, 1.0), 0.0, tilt(3.0), near_zero).is_none());
    }

    #[test]
    fn a_point_that_was_computed_in_two_ways_is_one() {
        let points = [0.0, 0.3, 0.1 + 0.2, 0.4, 1.0 - f64::EPSILON, 1.0];
        assert!(points[1] < points[2]);
        assert_eq!(apart(&points), [0.0, 0.3, 0.4, 1.0]);
        // In a range of few roundings all of them count.
        let narrow = [1.0, 1.0 + f64::EPSILON, 1.0 + 4.0 * f64::EPSILON];
        assert_eq!(apart(&narrow), narrow);
        assert_eq!(apart(&[2.0, 2.0]), [2.0, 2.0]);
        assert_eq!(apart(&[2.0]), [2.0]);
    }

    #[test]
    fn the_root_of_no_number_is_none() {
        assert!(Estimate::exact(f64::NAN).sqrt().value.is_nan());
        assert_eq!(Estimate::exact(-1e-20).sqrt().value, 0.0);
    }

    /// Digits that rounding took do not come back by halving, and remain in the bound; waves and corners are resolved as
    /// ever.
    #[test]
    fn rounding_of_an_integrand_is_not_halved() {
        let asked = |noise: f64, f: fn(f64) -> f64| {
            let mut count = 0;
            let found = integrate(&[0.0, 1.0], 0.0, |x| {
                count += 1;
                // The last digits of a large number, from -1 to 1.
                let rest = 2.0 * (1e7 * x).sin().mul_add(1e5, 0.5).rem_euclid(1.0) - 1.0;
                [Estimate::exact(f(x) + noise * rest)]
            })[0];
            (count, found)
        };
        let (count, found) = asked(1e-11, |x| 1.0 + x.sin());
        let known = 2.0 - 1_f64.cos();
        assert!(count < 400, "{count}");
        assert!((found.value - known).abs() < found.error && found.error < 1e-9, "{found:?}");
        let (_, wave) = asked(0.0, |x| 1.0 + (3000.0 * x).sin());
        let known = 1.0 + (1.0 - 3000_f64.cos()) / 3000.0;
        assert!((wave.value - known).abs() < wave.error && wave.error < 1e-12, "{wave:?}");
        let (_, corner) = asked(0.0, |x| (x - 0.3).abs().sqrt());
        let known = (0.3_f64.powf(1.5) + 0.7_f64.powf(1.5)) / 1.5;
        assert!((corner.value - known).abs() < corner.error && corner.error < 1e-12, "{corner:?}");
    }

    /// By their definitions, and between nodes what a function is that has no shorter waves.
    #[test]
    fn values_tell_waves_and_what_is_between_them() {
        let f = |z: f64| (-0.5 * z * z).exp() * (1.7 * z + 0.4).cos();
        for (halving, count) in [(2, 69), (3, 137)] {
            let step = 0.5_f64.powi(halving);
            let nodes: Vec<f64> = (0..=halving).flat_map(new_nodes).collect();
            assert_eq!(nodes.len(), count);
            let told = Told::by(&nodes.iter().map(|z| f(*z)).collect::<Vec<_>>(), halving);
            let part = |wave: f64, turn: fn(f64) -> f64| {
                let pace = TAU * wave / 128.0 / step;
                nodes.iter().map(|z| f(*z) * turn(pace * z)).sum::<f64>()
            };
            let size = |wave: f64| part(wave, f64::sin).hypot(part(wave, f64::cos));
            let known = [size(31.0), size(52.0), size(62.0).max(size(60.0))];
            for (found, known) in told.waves.into_iter().zip(known) {
                assert!((found - known).abs() < 1e-13, "{halving}: {found}, not {known}");
            }
            for (found, z) in told.between.into_iter().zip(BETWEEN) {
                assert!((found - f(z)).abs() < 1e-13, "{halving}, {z}: {found}, not {}", f(z));
            }
        }
    }

    /// Small waves whose frequency grows with the exponential of the place, as in a sine of what is lognormal, beside what is
    /// smooth: their share of what the nodes take for a constant is seen in the highest waves only.
    #[test]
    fn trapezia_see_small_waves_that_get_ever_shorter_beside_what_is_smooth() {
        for (decay, size, frequency) in [
            (1.0, 4e-5, 3.67),
            (1.0, 8e-5, 3.67),
            (0.5, 1e-5, 4.0),
            (1.0, 1e-6, 3.3),
            (2.0, 1e-6, 4.0),
        ] {
            let f = |z: f64| {
                let lognormal = (0.5 * z).exp();
                let smooth = (-decay * (lognormal - 1.0).powi(2)).exp();
                smooth + size * (frequency * lognormal).sin()
            };
            let weighed =
                |k: i32| f(0.0078125 * f64::from(k)) * normal_pdf(0.0078125 * f64::from(k));
            let fine = (-1200..=1200).map(weighed).sum::<f64>() * 0.0078125;
            // Of a magnitude for which the waves are near what is tolerated, and far below.
            for magnitude in [1.0, 5.0, 20.0, 100.0] {
                let of = |z: f64| Estimate { error: 0.0, ..Estimate::of_size(f(z), magnitude) };
                let found = over_normal((0.0, 1.0), 0.0, of).expect("it is resolved");
                let off = (found.value - fine).abs();
                assert!(off <= found.error, "{size}, {magnitude}: {off}, {found:?}");
            }
        }
    }

    /// Under a normal law with mean 1 and sd 2: waves, powers and exponentials that are known; not what is rough, what does
    /// not fall off, nor what is no number.
    #[test]
    fn trapezia_resolve_what_is_smooth_under_a_normal_law() {
        let (mean, sd) = (1.0, 2.0);
        let over = |f: &dyn Fn(f64) -> f64| over_normal((mean, sd), 0.0, |u| Estimate::exact(f(u)));
        let wave = mean.cos() * (-0.5 * sd * sd).exp();
        let exponential = (0.3 * mean + 0.5 * (0.3 * sd).powi(2)).exp();
        let known: [(&dyn Fn(f64) -> f64, f64); 4] = [
            (&|_| 1.0, 1.0),
            (&|u| u.powi(4), 1.0 + 6.0 * 4.0 + 3.0 * 16.0),
            (&f64::cos, wave),
            (&|u| (0.3 * u).exp(), exponential),
        ];
        for (f, known) in known {
            let found = over(f).unwrap();
            let (off, size) = ((found.value - known).abs(), found.magnitude);
            assert!(off <= found.error && found.error < 2e-12 * size, "{found:?}, not {known}");
        }
        let refused: [&dyn Fn(f64) -> f64; 5] = [
            &|u| (u - 1.3).abs(),
            &|u| f64::from(u > 0.7),
            &|u| (12.0 * u).sin(),
            &|u| (4.0 * u).exp(),
            &f64::sqrt,
        ];
        for (number, f) in refused.into_iter().enumerate() {
            assert!(over(f).is_none(), "{number}: {:?}", over(f));
        }
    }

    /// A normal density needs few pieces; a kink stays where it is, a narrow bump is not lost between nodes.
    #[test]
    fn pieces_are_joined_where_one_series_is_as_good() {
        let points: Vec<f64> = (-40..=40).map(|k| 0.25 * f64::from(k)).collect();
        let smooth = Piecewise::of(&points, |x| Estimate::exact((-0.5 * x * x).exp()));
        let few = smooth.coarsest(&points);
        assert!(few.len() < 12 && few[0] == -10.0 && few[few.len() - 1] == 10.0, "{few:?}");
        let kink = Piecewise::of(&points, |x| Estimate::exact((x - 1.0).abs()));
        assert_eq!(kink.coarsest(&points), [-10.0, 1.0, 10.0]);
        let bump = [-10.0, 0.0, 0.99, 1.0, 1.01, 10.0];
        let height = |x: f64| if (0.99..1.01).contains(&x) { (x - 0.99) * (1.01 - x) } else { 0.0 };
        let narrow = Piecewise::of(&bump, |x| Estimate::exact(height(x)));
        assert_eq!(narrow.coarsest(&bump), [-10.0, 0.99, 1.01, 10.0]);
    }

    #[test]
    fn smooth_kinked_and_singular_integrands() {
        let cases: [(Estimate, f64); 5] = [
            (integral(&[0.0, 1.0], f64::exp), 1.0_f64.exp() - 1.0),
            (integral(&[0.0, 0.3, 1.0], |x| (x - 0.3).abs()), 0.29),
            (integral(&[0.0, 1.0], |x| (x - 0.3).abs()), 0.29),
            (integral(&[0.0, 1.0], f64::sqrt), 2.0 / 3.0),
            (integral(&[0.0, 100.0], |x| (40.0 * x).sin()), (1.0 - 4000.0_f64.cos()) / 40.0),
        ];
        for (found, exact) in cases {
            assert!((found.value - exact).abs() < 1e-11, "{found:?} for {exact}");
            assert!(found.error < 1e-10 * found.magnitude.max(1.0), "{found:?}");
        }
    }

    /// Numbers near 1000 are 1e-13 apart, a ten millionth of the width.
    #[test]
    fn nodes_that_numbers_cannot_hold_cost_no_accuracy() {
        let (at, width) = (1000.0 + 1.0 / 3.0, 1e-6);
        let bell = |x: f64| (-0.5 * ((x - at) / width).powi(2)).exp() / width;
        let points = [-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0].map(|z| at + z * width);
        let found = integral(&points, bell);
        let exact = TAU.sqrt();
        assert!((found.value - exact).abs() < 1e-12 * exact, "{found:?}");
        assert!(found.error < 1e-11, "{found:?}");
        let curve = Piecewise::of(&points, |x| Estimate::exact(bell(x)));
        let half = curve.integral_to(at);
        assert!((half.value - 0.5 * exact).abs() < 1e-12, "{half:?}");
    }

    /// Of a wide part the coefficients die out, and those of a fast and small one come after.
    #[test]
    fn a_small_fast_part_does_not_hide_behind_a_large_smooth_one() {
        let density = |z: f64| (-0.5 * z * z).exp() / TAU.sqrt();
        let fast = |z: f64| (1.749 * ((0.5 * z).exp() - 1.133) / 0.6039 - 1.126).sin();
        let f = |z: f64| density(z) * (0.36 * (0.5 * z).exp() - 2.7e-4 * fast(z));
        // Values are known no better than their size of 10 allows.
        let sized = |z: f64| Estimate { magnitude: 10.0 * density(z), ..Estimate::exact(f(z)) };
        let points = [-10.0, -5.0, -2.0, 0.0, 2.0, 5.0, 10.0];
        let [found] = integrate(&points, 0.0, |z| [sized(z)]);
        let fine: Vec<f64> = (-100..=100).map(|k| 0.1 * f64::from(k)).collect();
        let exact = integral(&fine, f);
        assert!(
            (found.value - exact.value).abs() <= found.error + exact.error,
            "{found:?}, {exact:?}"
        );
    }

    /// A wave that gets faster and faster under a normal density, at whatever phase.
    fn hastening(pace: f64, z: f64, phase: f64) -> f64 {
        (pace * (0.5 * z).exp() + phase).sin() * (-0.5 * z * z).exp()
    }

    /// The lower a panel is, the sooner it is accepted: also one in which a wave is not resolved.
    #[test]
    fn the_doubt_of_a_wave_that_is_not_resolved_is_no_matter_of_its_phase() {
        for phase in (0..200).map(|k| 0.01 * f64::from(k) * std::f64::consts::PI) {
            for (from, to) in [(5.0, 10.0), (4.5, 9.0), (4.0, 10.0)] {
                let f = |z: f64| hastening(3.2, z, phase);
                let panel = Panel::new(from, to, 0, &mut |z| [Estimate::exact(f(z))]);
                let fine: Vec<f64> =
                    (0..=60).map(|k| from + (to - from) * f64::from(k) / 60.0).collect();
                let off = (panel.integrals[0].value - integral(&fine, f).value).abs();
                let bound = 2.0 * panel.doubt[0] + panel.integrals[0].error;
                assert!(off <= bound, "{phase} from {from} to {to}: {off}, not {bound}");
            }
        }
    }

    /// What one frequency has at one phase may vanish, and is no measure of the error of the rule of trapezia.
    #[test]
    fn trapezia_are_no_better_at_some_phase_of_a_wave() {
        let fine: Vec<f64> = (-100..=100).map(|k| 0.1 * f64::from(k)).collect();
        let mut count = 0;
        for phase in (0..200).map(|k| 0.01 * f64::from(k) * std::f64::consts::PI) {
            let known = integral(&fine, |z| hastening(1.78, z, phase) / TAU.sqrt());
            // Values are known no better than their size of 10 allows.
            let sized = |z: f64| {
                let wave = hastening(1.78, z, phase) * (0.5 * z * z).exp();
                Estimate { magnitude: 10.0, ..Estimate::exact(wave) }
            };
            if let Some(found) = over_normal((0.0, 1.0), 0.0, sized) {
                count += 1;
                let off = (found.value - known.value).abs();
                assert!(off <= found.error + known.error, "{phase}: {found:?}, not {known:?}");
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn an_undeclared_jump_ends_within_its_bound() {
        let found = integral(&[0.0, 1.0], |x| if x < 1.0 / 3.0 { 1.0 } else { 0.0 });
        assert!((found.value - 1.0 / 3.0).abs() < 1e-11, "{found:?}");
    }

    #[test]
    fn pieces_answer_and_integrate() {
        let f = |x: f64| (3.0 * x).sin() + (x - 0.4).abs();
        let pieces = Piecewise::of(&[-1.0, 0.4, 5.0], |x| Estimate::exact(f(x)));
        for x in [-1.0, -0.3, 0.4, 0.41, 2.2, 5.0] {
            let at = pieces.at(x);
            assert!((at.value - f(x)).abs() < at.error && at.error < 1e-12, "{at:?}");
            let exact = integral(&[-1.0, f64::min(0.4, x), x], f).value;
            let found = pieces.integral_to(x);
            assert!((found.value - exact).abs() < found.error && found.error < 1e-11, "{found:?}");
        }
        assert!(pieces.covers(5.0) && !pieces.covers(5.1));
    }

    /// Beside a cusp no piece is resolved; the bound of a piece holds there too, and is no larger than that of all.
    #[test]
    fn pieces_have_bounds_of_their_own() {
        let f = |x: f64| if x < 0.5 { x * x } else { 0.25 + (x - 0.75).abs().sqrt() };
        let pieces = Piecewise::of(&[0.0, 0.5, 0.75, 1.0], |x| Estimate::exact(f(x)));
        for x in [0.1, 0.3, 0.6, 0.74, 0.76, 0.9] {
            let (own, all) = (pieces.at_own(x), pieces.at(x));
            assert!((own.value - f(x)).abs() <= own.error && own.error <= all.error, "{own:?}");
        }
        assert!(pieces.at(0.3).error > 1e-11, "{:?}", pieces.at(0.3));
        assert!(pieces.at_own(0.3).error < 1e-13, "{:?}", pieces.at_own(0.3));
    }

    #[test]
    fn rounding_noise_is_not_chased() {
        let mut calls = 0;
        let [found] = integrate(&[-1.0, 1.0], 0.0, |x| {
            calls += 1;
            [Estimate {
                value: 1e-17 * (1e6 * x).sin(),
                magnitude: 1.0,
                error: 1e-16,
                simulated: false,
            }]
        });
        assert_eq!(calls, NODES);
        assert!(found.error > 0.0);
    }

    /// t ln t from 0 to b is b² (ln b − ½)/2: with nodes for it on either side of a place within few evaluations.
    #[test]
    fn cusps_take_few_nodes() {
        let mut count = 0;
        let points = [-1.0, 0.25, 2.0];
        let [found] = integrate_between_cusps(TOLERANCE, &points, 0.0, |x| {
            count += 1;
            let distance = (x - 0.25).abs();
            [Estimate::exact(distance * distance.ln())]
        });
        let known: f64 = [1.25_f64, 1.75].map(|b| 0.5 * b * b * (b.ln() - 0.5)).iter().sum();
        let off = (found.value - known).abs();
        assert!(off <= found.error && found.error < 1e-12, "{found:?}, not {known}");
        assert!(count <= 400, "{count}");
    }

    /// Both ends of both factors: the bound is the farthest product, and rounding.
    #[test]
    fn bounds_of_products_squares_and_roots_are_those_of_their_ends() {
        let of = |value: f64, magnitude: f64, error: f64| Estimate {
            value,
            magnitude,
            error,
            ..Estimate::default()
        };
        let product = of(3.0, 4.0, 0.5).product(of(-2.0, 5.0, 0.25));
        // 5 times 3, and 4 times 2, of which 3 times 2 is in both.
        assert_eq!(product.value, -6.0);
        assert!((product.magnitude - 17.0).abs() < 1e-13, "{product:?}");
        let exact = of(3.0, 3.0, 0.0).product(of(-2.0, 2.0, 0.0));
        assert!((exact.magnitude - 6.0).abs() < 1e-14, "{exact:?}");
        let rounding = f64::EPSILON * 6.0;
        assert!((product.error - (3.5 * 2.25 - 6.0) - rounding).abs() < 1e-15, "{product:?}");
        let square = of(3.0, 5.0, 0.5).squared_from(1.0);
        assert_eq!((square.value, square.magnitude), (4.0, 4.0));
        // 0.5 and rounding of 5 and 1, to either side of 2.
        let error = 0.5 + 6.0 * f64::EPSILON;
        assert!((square.error - (4.0 * error + error * error)).abs() < 1e-15, "{square:?}");
        // Of numbers that are exact, rounding alone.
        let large = of(1e8 + 1.0, 1e8, 0.0).squared_from(1e8);
        let rounding = 2.0 * f64::EPSILON * 2e8;
        assert!((large.error / rounding - 1.0).abs() < 1e-6, "{large:?}");
        for (value, error) in [(4.0, 0.4), (1e-6, 1e-4), (0.0, 0.04), (9.0, 0.0)] {
            let root = of(value, 25.0, error).sqrt();
            let linear = if value > 0.0 { error / value.sqrt() } else { f64::INFINITY };
            assert_eq!((root.value, root.magnitude), (value.sqrt(), 5.0));
            assert_eq!(root.error, linear.min(error.sqrt()));
            assert!(root.error >= (value + error).sqrt() - value.sqrt(), "{root:?}");
        }
        assert_eq!(of(-1e-9, 1.0, 1e-8).sqrt().value, 0.0);
    }

    /// Squares that are too small for numbers are not said to be exact.
    #[test]
    fn squares_that_vanish_have_the_least_bound() {
        let of = |value: f64, error: f64| Estimate {
            value,
            magnitude: value.abs(),
            error,
            ..Estimate::default()
        };
        for (value, error) in [(1e-200, 0.0), (0.0, 1e-200), (-1e-170, 1e-190)] {
            let square = of(value, error).squared_from(0.0);
            assert_eq!(square.error, f64::MIN_POSITIVE, "{value} ± {error}");
        }
        assert_eq!(of(0.0, 0.0).squared_from(0.0).error, 0.0);
        // Of a square that is a number, the bound is rounding.
        let small = of(1e-150, 0.0).squared_from(0.0);
        assert!(small.value > 0.0 && small.error > 0.0 && small.error < 1e-314, "{small:?}");
    }

    /// The square of what is too small to be squared is 0, and its error the least that there is.
    #[test]
    fn squares_that_vanish_are_not_exact() {
        let least = f64::MIN_POSITIVE;
        let number = |value, error| Estimate { value, magnitude: 0.0, error, simulated: false };
        let root = 2_f64.powi(-511);
        assert_eq!(root * root, least);
        for (deviation, given, known) in [
            (1e-200, 0.0, least),
            (0.0, 1e-200, least),
            (0.0, 0.0, 0.0),
            (1.0, 0.0, 0.0),
            // The smallest square that does not vanish.
            (root, 0.0, 0.0),
            // e (2 |d| + e), with a square that is smaller.
            (0.125, 1.0, 1.25),
        ] {
            let found = number(deviation, given).squared_from(0.0);
            assert_eq!((found.value, found.error), (deviation * deviation, known), "{deviation}");
        }
    }

    /// The integral of a line on two pieces, with the errors and magnitudes that its values have.
    #[test]
    fn integrals_are_as_doubtful_as_what_is_integrated() {
        let line =
            |x: f64| Estimate { value: 1.0 + x, magnitude: 5.0, error: 0.01, simulated: false };
        let pieces = Piecewise::of(&[0.0, 1.0, 3.0], line);
        for (x, value) in [(1.0, 1.5), (2.0, 4.0), (3.0, 7.5)] {
            let found = pieces.integral_to(x);
            assert!((found.value - value).abs() < 1e-14, "{x}: {found:?}");
            assert!((found.magnitude / (5.0 * x) - 1.0).abs() < 1e-12, "{x}: {found:?}");
            // Interpolation makes four times the error of a value.
            assert!((found.error / (0.04 * x) - 1.0).abs() < 1e-9, "{x}: {found:?}");
        }
    }

    /// −2 ± 0.5 times 3 ± 0.25 lies between −8.125 and −4.125.
    #[test]
    fn a_product_is_as_far_off_as_its_factors_make_it() {
        assert_eq!(error_of_product((-2.0, 0.5), (3.0, 0.25)), 8.125 - 6.0);
        assert_eq!(error_of_product((0.0, 0.5), (0.0, 0.25)), 0.125);
    }
}
