//! Lengths that are log-uniform on intervals, and the third side of a triangle by the ratio of two of them.

use crate::numeric::quadrature::{Estimate, integrate_between_cusps, nodes_between_cusps, within};
use crate::numeric::triangle::{Opening, mean_over_angle};

/// Error of a panel that is accepted, relative to the integral of the magnitude: of outer and of inner integrals.
pub(super) const TOLERANCE: f64 = 1e-12;
pub(super) const INNER: f64 = 1e-13;

/// Rounding of a few numbers that are taken from each other.
pub(super) const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// An interval.
pub(super) type Ends = (f64, f64);

/// A length that is log-uniform on an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Length {
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Length {
    pub(super) fn new((from, to): Ends) -> Self {
        Self { from, to }
    }

    pub(super) fn ends(self) -> Ends {
        (self.from, self.to)
    }

    /// ln of the ratio of its ends.
    pub(super) fn span(self) -> f64 {
        ((self.to - self.from) / self.from).ln_1p()
    }

    /// The mean of a power.
    pub(super) fn moment(self, power: i32) -> f64 {
        let exponent = f64::from(power) * self.span();
        self.from.powi(power) * exponent.exp_m1() / exponent
    }

    pub(super) fn middle(self) -> f64 {
        (self.from * self.to).sqrt()
    }

    /// The mean of functions that are smooth but at its ends and some places.
    pub(super) fn mean<const M: usize>(
        self,
        tolerance: f64,
        places: &[f64],
        mut f: impl FnMut(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let points = self.points(places);
        let total = integrate_between_cusps(tolerance, &points, 0.0, |u| f(self.from * u.exp()));
        total.map(|total| total.times(1.0 / self.span()))
    }

    /// Nodes with their weights in that mean.
    pub(super) fn nodes(self, places: &[f64]) -> Vec<(f64, f64)> {
        let of_mean = |(u, weight): (f64, f64)| (self.from * u.exp(), weight / self.span());
        nodes_between_cusps(&self.points(places)).into_iter().map(of_mean).collect()
    }

    /// Logarithms of places over the lower end.
    fn points(self, places: &[f64]) -> Vec<f64> {
        let places: Vec<f64> = places.iter().map(|place| (place / self.from).ln()).collect();
        within(&places, 0.0, self.span())
    }

    /// The mean of a function of one value.
    pub(super) fn mean_of(self, places: &[f64], mut f: impl FnMut(f64) -> Estimate) -> Estimate {
        self.mean(TOLERANCE, places, |x| [f(x)])[0]
    }
}

/// A box of two lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lengths(pub(super) [Length; 2]);

impl Lengths {
    pub(super) fn new(ends: [Ends; 2]) -> Self {
        Self(ends.map(Length::new))
    }

    pub(super) fn bits(self) -> [u64; 4] {
        let [a, b] = self.0.map(|length| [length.from, length.to].map(f64::to_bits));
        [a[0], a[1], b[0], b[1]]
    }

    /// The mean of functions of v = ln(x2 / x1), times a power of x1; they are smooth but at 0.
    pub(super) fn mean<const M: usize>(
        self,
        power: i32,
        mut f: impl FnMut(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let (points, density) = self.ratio(power);
        let total = integrate_between_cusps(INNER, &points, 0.0, |v| {
            let density = density(v);
            f(v).map(|value| value.times(density))
        });
        let [first, second] = self.0.map(Length::span);
        let rounding = ROUNDING * MOST_RATIO / first.min(second);
        total.map(|total| total.doubted(rounding))
    }

    /// Nodes of v with their weights in that mean.
    pub(super) fn nodes(self, power: i32) -> Vec<(f64, f64)> {
        let (points, density) = self.ratio(power);
        let with_density = |(v, weight)| (v, weight * density(v));
        nodes_between_cusps(&points).into_iter().map(with_density).collect()
    }

    /// Places between which the density of v is smooth, and that density times the mean of a power of x1 there.
    fn ratio(self, power: i32) -> (Vec<f64>, impl Fn(f64) -> f64) {
        let Self([first, second]) = self;
        let apart = |to: f64, from: f64| ((to - from) / from).ln_1p();
        let [lows, highs] = [(second.from, first.from), (second.to, first.to)];
        let (low, high) = (apart(lows.0, lows.1), apart(highs.0, highs.1));
        let ends = (apart(second.from, first.to), apart(second.to, first.from));
        let (power, scale) = (f64::from(power), 1.0 / (first.span() * second.span()));
        let density = move |v: f64| {
            // x1 from the larger of two ends to the smaller of two others.
            let from = if v < low { second.from * (-v).exp() } else { first.from };
            let room = (high - v).min(0.0) + first.span() - (low - v).max(0.0);
            scale * from.powf(power) * (power * room).exp_m1().max(0.0) / power
        };
        (within(&[low, high, 0.0], ends.0, ends.1), density)
    }

    /// The mean square of the mean over the angle.
    pub(super) fn mean_square_over_angle(self) -> Estimate {
        self.mean(2, |v| {
            let mean = mean_over_angle(1.0, v.exp()).value;
            [Estimate::exact(mean * mean)]
        })[0]
    }

    /// The mean square of the side, its angle being uniform on the circle.
    pub(super) fn mean_square(self) -> Estimate {
        let [first, second] = self.0.map(|length| length.moment(2));
        Estimate::exact(first + second)
    }
}

/// Largest ln(x2 / x1), and a little more.
pub(super) const MOST_RATIO: f64 = 4.61;

/// The third side for a first length of 1.
pub(super) fn side(v: f64, opening: &Opening) -> f64 {
    side_of(v)(opening.half_cosine2)
}

/// The same by the square of the cosine of half the angle.
pub(super) fn side_of(v: f64) -> impl Fn(f64) -> f64 {
    let (apart, four) = (v.exp_m1(), 4.0 * v.exp());
    move |half_cosine2| (apart * apart + four * half_cosine2).sqrt()
}

/// Two moments about a number near the mean, as mean and variance.
pub(super) fn mean_and_variance([mean, square]: [Estimate; 2], centre: f64) -> [Estimate; 2] {
    let beside = mean.minus(Estimate::exact(centre));
    [mean, square.minus(beside.product(beside))]
}

/// A number with its square about another one.
pub(super) fn with_square(value: Estimate, centre: f64) -> [Estimate; 2] {
    [value, value.squared_from(centre)]
}

/// The sum over bins of a variance over the width.
pub(super) fn over_bins(limits: &[f64], variance: impl Fn(f64, f64) -> Estimate) -> Estimate {
    let bins = limits.windows(2).map(|bin| variance(bin[0], bin[1]).times(1.0 / (bin[1] - bin[0])));
    Estimate::sum(bins)
}
