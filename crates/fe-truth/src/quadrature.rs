//! Adaptive integration on Gauss–Legendre nodes, with an error bound.
//!
//! The caller gives the points between which the integrand is smooth on its own scale. A panel
//! is accepted once its Legendre coefficients have died out, and halved otherwise.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use gauss_quad::legendre::GaussLegendre;

/// Nodes in a panel.
const NODES: usize = 20;
/// How many of the highest Legendre coefficients are looked at.
const TAIL: usize = 3;
/// Error of a panel that is accepted, relative to the integral of the magnitude.
const TOLERANCE: f64 = 1e-14;
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
}

impl Estimate {
    /// A number that was computed to rounding.
    pub(crate) fn exact(value: f64) -> Self {
        Self { value, magnitude: value.abs(), error: 4.0 * f64::EPSILON * value.abs() }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            magnitude: self.magnitude + other.magnitude,
            error: self.error + other.error,
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
        }
    }

    /// The square of `self − centre`, its magnitude not less than rounding of the two can be seen.
    pub(crate) fn squared_from(self, centre: f64) -> Self {
        let deviation = self.value - centre;
        let error = self.error + f64::EPSILON * (self.magnitude + centre.abs());
        Self {
            value: deviation * deviation,
            magnitude: deviation * deviation,
            error: error * (2.0 * deviation.abs() + error),
        }
    }

    /// The square root of a value that is not negative but for its error.
    pub(crate) fn sqrt(self) -> Self {
        let value = self.value.max(0.0).sqrt();
        let error = if value > 0.0 {
            (self.error / value).min(self.error.sqrt())
        } else {
            self.error.sqrt()
        };
        Self { value, magnitude: self.magnitude.sqrt(), error }
    }

    pub(crate) fn sum(estimates: impl IntoIterator<Item = Self>) -> Self {
        estimates.into_iter().fold(Self::default(), Self::plus)
    }
}

struct Rule {
    nodes: [f64; NODES],
    weights: [f64; NODES],
    /// Row j turns values at the nodes into the j-th of the highest Legendre coefficients.
    tail: [[f64; NODES]; TAIL],
}

static RULE: LazyLock<Rule> = LazyLock::new(|| {
    let mut rule = Rule { nodes: [0.0; NODES], weights: [0.0; NODES], tail: [[0.0; NODES]; TAIL] };
    let pairs = GaussLegendre::new(NonZeroUsize::MIN.saturating_add(NODES - 1));
    for (i, &(node, weight)) in pairs.iter().enumerate() {
        (rule.nodes[i], rule.weights[i]) = (node, weight);
        let polynomials = legendre(node);
        for j in 0..TAIL {
            let degree = NODES - 1 - j;
            rule.tail[j][i] = (degree as f64 + 0.5) * weight * polynomials[degree];
        }
    }
    rule
});

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

struct Panel<const M: usize> {
    from: f64,
    to: f64,
    depth: u32,
    integrals: [Estimate; M],
    /// What the rule may be wrong by, beside the errors of the integrand.
    doubt: [f64; M],
}

impl<const M: usize> Panel<M> {
    fn new(from: f64, to: f64, depth: u32, f: &mut impl FnMut(f64) -> [Estimate; M]) -> Self {
        let rule = &*RULE;
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        let mut integrals = [Estimate::default(); M];
        let mut tails = [[0.0; TAIL]; M];
        let mut sizes = [0.0; M];
        for i in 0..NODES {
            let values = f(centre + half * rule.nodes[i]);
            for (m, value) in values.into_iter().enumerate() {
                integrals[m] = integrals[m].plus(value.times(half * rule.weights[i]));
                sizes[m] += half * rule.weights[i] * value.value.abs();
                for (tail, row) in tails[m].iter_mut().zip(&rule.tail) {
                    *tail += row[i] * value.value;
                }
            }
        }
        let mut doubt = [0.0; M];
        for m in 0..M {
            // Of the integrand itself: a magnitude may be far larger, and hide the tail.
            let size = sizes[m];
            let tail = tails[m].iter().fold(0.0, |max: f64, c| max.max(c.abs()));
            // The rule is exact to twice the degree of the coefficients seen: for an analytic
            // integrand its error is the square of their relative size. The power 1.5 is on the
            // safe side of that, and keeps rounding out of it.
            let relative = if size > 0.0 { (2.0 * half * tail / size).min(1.0) } else { 0.0 };
            doubt[m] = size * relative * relative.sqrt();
        }
        Self { from, to, depth, integrals, doubt }
    }

    fn halves(&self, f: &mut impl FnMut(f64) -> [Estimate; M]) -> [Self; 2] {
        let middle = 0.5 * (self.from + self.to);
        [
            Self::new(self.from, middle, self.depth + 1, f),
            Self::new(middle, self.to, self.depth + 1, f),
        ]
    }

    fn can_be_halved(&self) -> bool {
        let middle = 0.5 * (self.from + self.to);
        self.depth < MAX_DEPTH && self.from < middle && middle < self.to
    }
}

/// The integrals of the components of `f` from the first to the last of the ascending `points`.
///
/// The integrand is taken to be smooth between neighbouring points. Errors below `floor` are of
/// no interest; 0 leaves the judgement to the magnitudes.
pub(crate) fn integrate<const M: usize>(
    points: &[f64],
    floor: f64,
    mut f: impl FnMut(f64) -> [Estimate; M],
) -> [Estimate; M] {
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
        // Halving does not help where the integrand is not a number.
        let settled =
            |m: usize| sizes[m].is_nan() || panel.doubt[m] <= floor.max(TOLERANCE * sizes[m]);
        let good = (0..M).all(settled);
        if good || count >= MAX_PANELS || !panel.can_be_halved() {
            for (sum, (part, doubt)) in done.iter_mut().zip(panel.integrals.iter().zip(panel.doubt))
            {
                *sum = sum.plus(*part);
                sum.error += doubt;
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

/// The ends of `[from, to]` and those of the `points` that lie between, ascending.
pub(crate) fn within(points: &[f64], from: f64, to: f64) -> Vec<f64> {
    let mut inner: Vec<f64> = points.iter().copied().filter(|&p| from < p && p < to).collect();
    inner.push(from);
    inner.push(to);
    inner.sort_by(f64::total_cmp);
    inner.dedup();
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(points: &[f64], f: impl Fn(f64) -> f64) -> Estimate {
        integrate(points, 0.0, |x| [Estimate::exact(f(x))])[0]
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
            assert!(found.error < 1e-10, "{found:?}");
        }
    }

    #[test]
    fn an_undeclared_jump_ends_within_its_bound() {
        let found = integral(&[0.0, 1.0], |x| if x < 1.0 / 3.0 { 1.0 } else { 0.0 });
        assert!((found.value - 1.0 / 3.0).abs() < 1e-11, "{found:?}");
    }

    #[test]
    fn rounding_noise_is_not_chased() {
        let mut calls = 0;
        let [found] = integrate(&[-1.0, 1.0], 0.0, |x| {
            calls += 1;
            [Estimate { value: 1e-17 * (1e6 * x).sin(), magnitude: 1.0, error: 1e-16 }]
        });
        assert_eq!(calls, NODES);
        assert!(found.error > 0.0);
    }
}
