//! The laws of one feature that a problem file may name.
//!
//! Each is integrated over in a coordinate in which its density is smooth: a value itself, its
//! logarithm, its logit or its inverse hyperbolic sine. Tails are told from both sides, so that
//! nothing cancels in either.

use std::sync::OnceLock;

use statrs::function::beta::{beta_reg, ln_beta};
use statrs::function::gamma::{gamma_lr, gamma_ur, ln_gamma};

use super::peaks::resolve;
use crate::law::levels::Levels;
use crate::law::{NORMAL_PANELS, Univariate};
use crate::numeric::special::{normal_between, normal_cdf, normal_quantile};

/// Names of all laws of the language.
pub(super) const NAMES: [&str; 17] = [
    "uniform",
    "normal",
    "lognormal",
    "loguniform",
    "exponential",
    "gamma",
    "beta",
    "triangular",
    "weibull",
    "gumbel",
    "student",
    "truncated",
    "mixture",
    "bernoulli",
    "binomial",
    "poisson",
    "categorical",
];

/// A law of a feature with levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelFamily {
    Bernoulli,
    Binomial,
    Poisson,
    Categorical,
}

/// Distance from a coordinate, in relation to it, from which one of Newton's steps leaves no error.
const NEAR: f64 = 1e-8;
/// Most values of a law of counts.
const MOST_COUNTS: f64 = 10_000.0;

impl LevelFamily {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bernoulli" => Self::Bernoulli,
            "binomial" => Self::Binomial,
            "poisson" => Self::Poisson,
            "categorical" => Self::Categorical,
            _ => return None,
        })
    }

    /// Names of its arguments; none of a categorical law, which has any number.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Bernoulli => &["p"],
            Self::Binomial => &["n", "p"],
            Self::Poisson => &["mean"],
            Self::Categorical => &[],
        }
    }

    /// The law with numbers for its arguments, or what is wrong with them. The values are those of a
    /// categorical law.
    pub(super) fn law(self, arguments: &[f64], values: &[f64]) -> Result<Plain, String> {
        let share = |p: f64, of: &str| {
            if (0.0..=1.0).contains(&p) {
                return Ok(p);
            }
            Err(format!("`p` of `{of}` is {p}: must be a number from 0 to 1"))
        };
        Ok(Plain::Levels(match self {
            Self::Bernoulli => {
                let p = share(arguments[0], "bernoulli")?;
                Levels::new([(0.0, 1.0 - p), (1.0, p)])
            }
            Self::Binomial => {
                let (n, p) = (arguments[0], share(arguments[1], "binomial")?);
                if !(n.fract() == 0.0 && (1.0..=MOST_COUNTS).contains(&n)) {
                    return Err(format!(
                        "`n` of `binomial` is {n}: must be a whole number from 1 to {MOST_COUNTS}"
                    ));
                }
                if p == 0.0 || p == 1.0 {
                    return Ok(Plain::Levels(Levels::new([(p * n, 1.0)])));
                }
                let mode = (((n + 1.0) * p).floor()).min(n);
                let odds = p / (1.0 - p);
                Levels::counts(mode as u64, Some(n as u64), |k| {
                    (n - k as f64 + 1.0) / k as f64 * odds
                })
            }
            Self::Poisson => {
                let mean = arguments[0];
                if !(mean > 0.0 && mean <= MOST_COUNTS) {
                    return Err(format!(
                        "`mean` of `poisson` is {mean}: must be above 0, and at most {MOST_COUNTS}"
                    ));
                }
                Levels::counts(mean.floor() as u64, None, |k| mean / k as f64)
            }
            Self::Categorical => {
                if let Some(p) = arguments.iter().find(|p| p.is_nan() || **p < 0.0) {
                    return Err(format!(
                        "a probability of `categorical` is {p}, and must not be negative"
                    ));
                }
                let total: f64 = arguments.iter().sum();
                if (total - 1.0).abs() > 1e-9 {
                    return Err(format!("probabilities of `categorical` sum to {total}, not to 1"));
                }
                Levels::new(values.iter().copied().zip(arguments.iter().copied()))
            }
        }))
    }
}

/// A law that is named with numbers alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LawFamily {
    Uniform,
    Normal,
    LogNormal,
    LogUniform,
    Exponential,
    Gamma,
    Beta,
    Triangular,
    Weibull,
    Gumbel,
    Student,
}

impl LawFamily {
    pub(super) fn named(name: &str) -> Option<Self> {
        const ALL: [LawFamily; 11] = [
            LawFamily::Uniform,
            LawFamily::Normal,
            LawFamily::LogNormal,
            LawFamily::LogUniform,
            LawFamily::Exponential,
            LawFamily::Gamma,
            LawFamily::Beta,
            LawFamily::Triangular,
            LawFamily::Weibull,
            LawFamily::Gumbel,
            LawFamily::Student,
        ];
        NAMES.iter().position(|known| *known == name).and_then(|place| ALL.get(place).copied())
    }

    /// Names of its arguments.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Uniform | Self::LogUniform => &["lo", "hi"],
            Self::Normal | Self::LogNormal => &["mean", "sd"],
            Self::Exponential => &["rate"],
            Self::Gamma | Self::Weibull => &["shape", "scale"],
            Self::Beta => &["a", "b"],
            Self::Triangular => &["lo", "mode", "hi"],
            Self::Gumbel => &["location", "scale"],
            Self::Student => &["df"],
        }
    }

    pub(super) fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    fn scale(self) -> Scale {
        match self {
            Self::LogNormal | Self::LogUniform | Self::Gamma | Self::Weibull => Scale::Log,
            Self::Beta => Scale::Logit,
            Self::Student => Scale::Asinh,
            _ => Scale::Linear,
        }
    }
}

/// A coordinate of a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    Linear,
    Log,
    Logit,
    Asinh,
    /// The logarithm of the distance to a place, on either side of it and but for what is closer than a unit.
    Around {
        centre: f64,
        unit: f64,
    },
}

/// The logarithm of `cosh u`.
fn ln_cosh(u: f64) -> f64 {
    u.abs() + (-2.0 * u.abs()).exp().ln_1p() - std::f64::consts::LN_2
}

/// `ln(1 + e^u)`.
fn softplus(u: f64) -> f64 {
    u.max(0.0) + (-u.abs()).exp().ln_1p()
}

impl Scale {
    pub(super) fn coordinate(self, x: f64) -> f64 {
        match self {
            Self::Linear => x,
            Self::Log => x.ln(),
            Self::Logit => x.ln() - (-x).ln_1p(),
            Self::Asinh => x.asinh(),
            Self::Around { centre, unit } => ((x - centre) / unit).asinh(),
        }
    }

    pub(super) fn place(self, u: f64) -> f64 {
        match self {
            Self::Linear => u,
            Self::Log => u.exp(),
            Self::Logit => (-softplus(-u)).exp(),
            Self::Asinh => u.sinh(),
            Self::Around { centre, unit } => centre + unit * u.sinh(),
        }
    }

    /// Logarithm of the derivative of the variable along the coordinate.
    pub(super) fn ln_stretch(self, u: f64) -> f64 {
        match self {
            Self::Linear => 0.0,
            Self::Log => u,
            Self::Logit => -softplus(u) - softplus(-u),
            Self::Asinh => ln_cosh(u),
            Self::Around { unit, .. } => unit.ln() + ln_cosh(u),
        }
    }
}

/// The probabilities below and above an interval.
type Outside = OnceLock<[f64; 2]>;

/// A law with numbers for its arguments.
#[derive(Debug, Clone)]
pub(super) enum Plain {
    /// Of a kind, with its arguments and the logarithm of the constant of its density.
    Of(LawFamily, [f64; 3], f64),
    /// Between two ends, which have a probability, and what is outside of them once it is asked for.
    Truncated(Box<Plain>, f64, f64, f64, Outside),
    Mixture(Vec<(f64, Plain)>),
    /// Moved by a number.
    Shifted(f64, Box<Plain>),
    /// Of finitely many values.
    Levels(Levels),
}

/// Relative error of the probability of an interval.
const TAILS: f64 = 1e-13;
/// Smallest probability of what a law is truncated to, and the largest of what is no number.
const LEAST: f64 = 1e-9;

impl Plain {
    /// Mean and standard deviation, if it is normal.
    pub(super) fn normal(&self) -> Option<(f64, f64)> {
        match self {
            Self::Of(LawFamily::Normal, [mean, sd, _], _) => Some((*mean, *sd)),
            Self::Shifted(by, law) => law.normal().map(|(mean, sd)| (mean + by, sd)),
            _ => None,
        }
    }

    /// The one place that a law of a kind shrinks to where its arguments leave it no width; none if they leave it some.
    pub(super) fn only_place(kind: LawFamily, arguments: &[f64]) -> Option<f64> {
        let place = match *arguments {
            [low, high] if kind == LawFamily::Uniform && low == high => low,
            [low, _, high] if kind == LawFamily::Triangular && low == high => low,
            [mean, 0.0] if matches!(kind, LawFamily::Normal | LawFamily::Gumbel) => mean,
            [f64::INFINITY] if kind == LawFamily::Exponential => 0.0,
            _ => return None,
        };
        Some(place).filter(|place| place.is_finite())
    }

    /// A law of a kind, or what is wrong with its arguments.
    pub(super) fn of(kind: LawFamily, arguments: &[f64]) -> Result<Self, String> {
        let names = kind.arguments();
        let mut a = [0.0; 3];
        a[..names.len()].copy_from_slice(arguments);
        if let Some(i) = (0..names.len()).find(|&i| !a[i].is_finite()) {
            return Err(format!("`{}` of `{}` is {}", names[i], kind.name(), a[i]));
        }
        let positive = |i: usize| {
            if a[i] > 0.0 {
                return Ok(());
            }
            Err(format!("`{}` of `{}` is {}, and must be above 0", names[i], kind.name(), a[i]))
        };
        let ascending = |i: usize, j: usize, strict: bool| {
            if a[i] < a[j] || (!strict && a[i] == a[j]) {
                return Ok(());
            }
            let (low, high) = (names[i], names[j]);
            let what = kind.name();
            Err(format!("`{low}` of `{what}` is {}, and `{high}` {}, not above it", a[i], a[j]))
        };
        let constant = match kind {
            LawFamily::Uniform => {
                ascending(0, 1, true)?;
                -(a[1] - a[0]).ln()
            }
            LawFamily::Normal | LawFamily::LogNormal => {
                positive(1)?;
                -a[1].ln() - 0.5 * std::f64::consts::TAU.ln()
            }
            LawFamily::LogUniform => {
                positive(0)?;
                ascending(0, 1, true)?;
                // It is integrated over the logarithm.
                if a[0].ln() >= a[1].ln() {
                    let (low, high) = (names[0], names[1]);
                    return Err(format!(
                        "`{low}` and `{high}` of `{}` have the same logarithm: {}",
                        kind.name(),
                        a[0].ln()
                    ));
                }
                -(a[1] / a[0]).ln().ln()
            }
            LawFamily::Exponential => {
                positive(0)?;
                a[0].ln()
            }
            LawFamily::Gamma => {
                positive(0)?;
                positive(1)?;
                -ln_gamma(a[0])
            }
            LawFamily::Beta => {
                positive(0)?;
                positive(1)?;
                -ln_beta(a[0], a[1])
            }
            LawFamily::Triangular => {
                ascending(0, 1, false)?;
                ascending(1, 2, false)?;
                ascending(0, 2, true)?;
                (2.0 / (a[2] - a[0])).ln()
            }
            LawFamily::Weibull => {
                positive(0)?;
                positive(1)?;
                a[0].ln()
            }
            LawFamily::Gumbel => {
                positive(1)?;
                -a[1].ln()
            }
            LawFamily::Student => {
                if a[0] <= 1.0 {
                    let df = a[0];
                    return Err(format!(
                        "`df` of `student` is {df}: it has a mean for df above 1 only"
                    ));
                }
                -ln_beta(0.5, 0.5 * a[0]) - 0.5 * a[0].ln()
            }
        };
        let law = Self::Of(kind, a, constant);
        law.check_range(|| format!("`{}` of {}", kind.name(), described(names, &a)))?;
        Ok(law)
    }

    /// Refuses a law with more than [`LEAST`] of its probability where values round to 0 or to infinity.
    fn check_range(&self, name: impl Fn() -> String) -> Result<(), String> {
        if self.is_within_range() {
            return Ok(());
        }
        let (low, high) = self.support();
        let (smallest, largest) = (f64::MIN_POSITIVE, f64::MAX);
        // Where values round to nothing, and on which side of that.
        let ends = [
            (low == 0.0, smallest, 0, "below"),
            (low.is_infinite(), -largest, 0, "below"),
            (high.is_infinite(), largest, 1, "above"),
        ];
        for (_, end, side, word) in ends.into_iter().filter(|(is_open, ..)| *is_open) {
            let mass = self.tails(end)[side];
            if mass > LEAST {
                return Err(format!(
                    "{} is {word} {end:e} with probability {mass:e}, where floating-point numbers end; \
                     at most {LEAST:e} is allowed",
                    name()
                ));
            }
        }
        Ok(())
    }

    /// True for laws of which it is seen at once that they have hardly any probability where floating-point numbers
    /// end; laws of children are made at every node of an integral.
    fn is_within_range(&self) -> bool {
        match self {
            Self::Of(LawFamily::Normal | LawFamily::Gumbel, [centre, scale, _], _) => {
                centre.abs() + 1e3 * scale < 1e300
            }
            Self::Of(LawFamily::LogNormal, [mean, sd, _], _) => mean.abs() + 10.0 * sd < 700.0,
            _ => false,
        }
    }

    pub(super) fn truncated(law: Self, low: f64, high: f64) -> Result<Self, String> {
        let support = law.support();
        if low.is_nan() || high.is_nan() || low >= high {
            return Err(format!("`truncated` to [{low}, {high}], which is no interval"));
        }
        let (low, high) = (low.max(support.0), high.min(support.1));
        let mass = if low < high { law.mass(low, high) } else { 0.0 };
        if mass.is_nan() || mass <= LEAST {
            return Err(format!(
                "`truncated` to [{low}, {high}], which has probability {mass:e}; \
                 it must be above {LEAST:e}"
            ));
        }
        Ok(Self::Truncated(Box::new(law), low, high, mass, Outside::new()))
    }

    /// A mixture of laws with their probabilities.
    pub(super) fn mixture(parts: Vec<(f64, Self)>) -> Result<Self, String> {
        if let Some((weight, _)) = parts.iter().find(|(weight, _)| weight.is_nan() || *weight < 0.0)
        {
            return Err(format!(
                "a probability of `mixture` is {weight}, and must not be negative"
            ));
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        if (total - 1.0).abs() > 1e-9 {
            return Err(format!("probabilities of `mixture` sum to {total}, not to 1"));
        }
        let parts = parts.into_iter().filter(|(weight, _)| *weight > 0.0);
        Ok(Self::Mixture(parts.map(|(weight, law)| (weight / total, law)).collect()))
    }

    /// Moved by a number.
    pub(super) fn shifted(self, by: f64) -> Self {
        match self {
            Self::Of(kind, mut a, constant) => match kind {
                LawFamily::Normal | LawFamily::Gumbel => {
                    a[0] += by;
                    Self::Of(kind, a, constant)
                }
                LawFamily::Uniform | LawFamily::Triangular => {
                    Self::Of(kind, a.map(|end| end + by), constant)
                }
                _ => Self::Shifted(by, Box::new(Self::Of(kind, a, constant))),
            },
            law => Self::Shifted(by, Box::new(law)),
        }
    }

    pub(super) fn scale(&self) -> Scale {
        match self {
            Self::Of(kind, ..) => kind.scale(),
            Self::Truncated(law, ..) => law.scale(),
            Self::Mixture(parts) => {
                let mut scales = parts.iter().map(|(_, law)| law.scale());
                let first = scales.next().unwrap_or(Scale::Linear);
                if scales.all(|scale| scale == first) { first } else { Scale::Linear }
            }
            Self::Shifted(..) | Self::Levels(_) => Scale::Linear,
        }
    }

    /// Logarithm of the density of the coordinate of a scale; that of the own one keeps all digits.
    pub(super) fn ln_weight(&self, scale: Scale, u: f64) -> f64 {
        match self {
            Self::Of(kind, a, constant) if kind.scale() == scale => {
                let x = scale.place(u);
                constant + ln_kernel(*kind, a, u, x)
            }
            Self::Of(kind, a, constant) => {
                let x = scale.place(u);
                let own = kind.scale();
                let v = own.coordinate(x);
                if v.is_nan() {
                    return f64::NEG_INFINITY;
                }
                constant + ln_kernel(*kind, a, v, x) - own.ln_stretch(v) + scale.ln_stretch(u)
            }
            Self::Truncated(law, low, high, mass, _) => {
                let x = scale.place(u);
                let [from, to] = [*low, *high].map(|end| scale.coordinate(end));
                if (from <= u && u <= to) || (*low <= x && x <= *high) {
                    law.ln_weight(scale, u) - mass.ln()
                } else {
                    f64::NEG_INFINITY
                }
            }
            Self::Mixture(parts) => {
                let each =
                    || parts.iter().map(|(weight, law)| weight.ln() + law.ln_weight(scale, u));
                let largest = each().fold(f64::NEG_INFINITY, f64::max);
                if largest == f64::NEG_INFINITY {
                    return largest;
                }
                largest + each().map(|part| (part - largest).exp()).sum::<f64>().ln()
            }
            Self::Levels(levels) => levels.probability(scale.place(u)).ln(),
            Self::Shifted(by, law) => {
                let own = law.scale();
                let v = own.coordinate(scale.place(u) - by);
                if v.is_nan() {
                    return f64::NEG_INFINITY;
                }
                law.ln_weight(own, v) - own.ln_stretch(v) + scale.ln_stretch(u)
            }
        }
    }

    /// Logarithm of the density.
    pub(super) fn ln_pdf(&self, x: f64) -> f64 {
        let scale = self.scale();
        let u = scale.coordinate(x);
        if u.is_finite() {
            self.ln_weight(scale, u) - scale.ln_stretch(u)
        } else {
            f64::NEG_INFINITY
        }
    }

    /// Places where the density is not smooth, in an order that is the same for all arguments.
    pub(super) fn corners(&self) -> Vec<f64> {
        match self {
            Self::Of(LawFamily::Triangular, a, _) => a.to_vec(),
            Self::Of(..) => {
                let (low, high) = self.support();
                [low, high].into_iter().filter(|end| end.is_finite()).collect()
            }
            Self::Truncated(law, low, high, ..) => {
                let mut all = law.corners();
                all.extend([*low, *high]);
                all
            }
            Self::Mixture(parts) => parts.iter().flat_map(|(_, law)| law.corners()).collect(),
            Self::Shifted(by, law) => law.corners().into_iter().map(|x| x + by).collect(),
            Self::Levels(_) => Vec::new(),
        }
    }

    /// Probabilities below and above a value, both with their digits.
    pub(super) fn tails(&self, x: f64) -> [f64; 2] {
        if let Self::Levels(levels) = self {
            return levels.tails(x);
        }
        let (low, high) = self.support();
        if x.is_nan() {
            return [f64::NAN; 2];
        }
        if x <= low {
            return [0.0, 1.0];
        }
        if x >= high {
            return [1.0, 0.0];
        }
        match self {
            Self::Of(kind, a, _) => tails(*kind, a, x),
            Self::Truncated(law, low, high, mass, _) => {
                [law.mass(*low, x) / mass, law.mass(x, *high) / mass]
            }
            Self::Mixture(parts) => parts.iter().fold([0.0; 2], |sum, (weight, law)| {
                let own = law.tails(x);
                [sum[0] + weight * own[0], sum[1] + weight * own[1]]
            }),
            Self::Shifted(by, law) => law.tails(x - by),
            Self::Levels(levels) => levels.tails(x),
        }
    }

    /// The value that has given probabilities below and above it.
    pub(super) fn inverse(&self, below: f64, above: f64) -> f64 {
        match self {
            Self::Of(kind, a, _) => {
                inverse(*kind, a, below, above).unwrap_or_else(|| self.bisected(below, above))
            }
            Self::Shifted(by, law) => by + law.inverse(below, above),
            Self::Levels(levels) => levels.inverse(below),
            Self::Truncated(law, low, high, mass, outside) => {
                let [under, over] =
                    *outside.get_or_init(|| [law.tails(*low)[0], law.tails(*high)[1]]);
                let x = law.inverse(under + below * mass, over + above * mass);
                x.clamp(*low, *high)
            }
            Self::Mixture(_) => self.bisected(below, above),
        }
    }

    /// As [`Self::inverse`], from the tails.
    fn bisected(&self, below: f64, above: f64) -> f64 {
        self.scale().place(self.search(below, above))
    }

    /// True if there is no formula for the value that has given probabilities below and above it.
    pub(super) fn is_searched(&self) -> bool {
        match self {
            Self::Of(kind, ..) => {
                matches!(kind, LawFamily::Gamma | LawFamily::Beta | LawFamily::Student)
            }
            Self::Mixture(_) => true,
            Self::Truncated(..) | Self::Shifted(..) | Self::Levels(_) => false,
        }
    }

    /// The coordinate of the value that has given probabilities below and above it.
    pub(super) fn search(&self, below: f64, above: f64) -> f64 {
        let (mut from, mut to) = self.reach();
        let mut middle = 0.5 * (from + to);
        for _ in 0..200 {
            let (is_low, step) = self.step(middle, below, above);
            if is_low {
                from = middle;
            } else {
                to = middle;
            }
            let step = middle + step;
            let next = if from < step && step < to { step } else { 0.5 * (from + to) };
            if next == middle || (next - middle).abs() <= 2.0 * f64::EPSILON * middle.abs() {
                return next;
            }
            middle = next;
        }
        middle
    }

    /// The value that [`Self::search`] finds, by one step from a coordinate near to it; none from one that is not.
    pub(super) fn improved(&self, near: f64, below: f64, above: f64) -> Option<f64> {
        let (_, step) = self.step(near, below, above);
        (step.abs() <= NEAR * (1.0 + near.abs())).then(|| self.scale().place(near + step))
    }

    /// True if a coordinate is below that of the value with given probabilities below and above it, and Newton's step
    /// to there, on the logarithm of the smaller tail: that is concave where the logarithm of the density is.
    fn step(&self, u: f64, below: f64, above: f64) -> (bool, f64) {
        let scale = self.scale();
        let [under, over] = self.tails(scale.place(u));
        let weight = self.ln_weight(scale, u).exp();
        if below < above {
            (under < below, (below / under).ln() * under / weight)
        } else {
            (over > above, (over / above).ln() * over / weight)
        }
    }

    /// Coordinates between which all that counts lies.
    fn reach(&self) -> (f64, f64) {
        let (from, to) = self.range();
        if from.is_finite() && to.is_finite() {
            return (from, to);
        }
        let panels = self.panels();
        (panels[0], panels[panels.len() - 1])
    }

    /// Points of the coordinate at the ends of all that counts, with none beyond.
    fn range(&self) -> (f64, f64) {
        match self {
            Self::Of(kind, a, _) => match kind {
                LawFamily::Gamma => {
                    let top = a[0].ln() + a[1].ln();
                    let spread = 12.0 / a[0].sqrt();
                    (
                        top - spread - 60.0 / a[0],
                        a[1].ln() + (a[0] + 12.0 * a[0].sqrt() + 60.0).ln(),
                    )
                }
                LawFamily::Beta => {
                    let top = (a[0] / a[1]).ln();
                    let spread = 12.0 * (1.0 / a[0] + 1.0 / a[1]).sqrt();
                    (top - spread - 60.0 / a[0], top + spread + 60.0 / a[1])
                }
                LawFamily::Weibull => (a[1].ln() - 60.0 / a[0], a[1].ln() + 60_f64.ln() / a[0]),
                LawFamily::Gumbel => (a[0] - 4.3 * a[1], a[0] + 55.0 * a[1]),
                // Heavy tails may be multiplied by powers.
                LawFamily::Student => {
                    let reach = (650.0 / a[0]).min(300.0);
                    (-reach, reach)
                }
                _ => (f64::NAN, f64::NAN),
            },
            _ => (f64::NAN, f64::NAN),
        }
    }
}

/// Logarithm of the density of the own coordinate u of x, but for a constant.
fn ln_kernel(kind: LawFamily, a: &[f64; 3], u: f64, x: f64) -> f64 {
    let inside = |is: bool, value: f64| if is { value } else { f64::NEG_INFINITY };
    match kind {
        LawFamily::Uniform => inside(a[0] <= x && x <= a[1], 0.0),
        LawFamily::Normal => -0.5 * ((x - a[0]) / a[1]).powi(2),
        LawFamily::LogNormal => -0.5 * ((u - a[0]) / a[1]).powi(2),
        LawFamily::LogUniform => inside(a[0].ln() <= u && u <= a[1].ln(), 0.0),
        LawFamily::Exponential => inside(x >= 0.0, -a[0] * x),
        LawFamily::Gamma => {
            let v = u - a[1].ln();
            a[0] * v - v.exp()
        }
        LawFamily::Beta => -a[0] * softplus(-u) - a[1] * softplus(u),
        LawFamily::Triangular => {
            let rising = (x - a[0]) / (a[1] - a[0]);
            let falling = (a[2] - x) / (a[2] - a[1]);
            let height = if x < a[1] {
                rising
            } else if x > a[1] {
                falling
            } else {
                1.0
            };
            inside(height > 0.0, height.max(0.0).ln())
        }
        LawFamily::Weibull => {
            let t = a[0] * (u - a[1].ln());
            t - t.exp()
        }
        LawFamily::Gumbel => {
            let z = (x - a[0]) / a[1];
            -z - (-z).exp()
        }
        LawFamily::Student => {
            // cosh²(asinh(x/√ν)) = 1 + x²/ν.
            let relative = x.abs() / a[0].sqrt();
            let ln_power =
                if relative > 1e8 { 2.0 * relative.ln() } else { (relative * relative).ln_1p() };
            -0.5 * (a[0] + 1.0) * ln_power + Scale::Asinh.ln_stretch(u)
        }
    }
}

/// The arguments of a law with their names.
fn described(names: &[&str], arguments: &[f64; 3]) -> String {
    let one = |(name, value): (&&str, &f64)| format!("{name} {value}");
    names.iter().zip(arguments).map(one).collect::<Vec<_>>().join(", ")
}

/// Probabilities of a gamma law of scale 1 below and above a value, which may be rounded to 0 or to infinity.
fn gamma_tails(shape: f64, x: f64) -> [f64; 2] {
    match x {
        x if x <= 0.0 => [0.0, 1.0],
        f64::INFINITY => [1.0, 0.0],
        _ => [gamma_lr(shape, x), gamma_ur(shape, x)],
    }
}

/// Probabilities below and above a value inside the support.
fn tails(kind: LawFamily, a: &[f64; 3], x: f64) -> [f64; 2] {
    let share = |below: f64| [below, 1.0 - below];
    match kind {
        LawFamily::Uniform => [(x - a[0]) / (a[1] - a[0]), (a[1] - x) / (a[1] - a[0])],
        LawFamily::Normal => [normal_cdf((x - a[0]) / a[1]), normal_cdf((a[0] - x) / a[1])],
        LawFamily::LogNormal => {
            let z = (x.ln() - a[0]) / a[1];
            [normal_cdf(z), normal_cdf(-z)]
        }
        LawFamily::LogUniform => {
            let span = (a[1] / a[0]).ln();
            [(x / a[0]).ln() / span, (a[1] / x).ln() / span]
        }
        LawFamily::Exponential => [-(-a[0] * x).exp_m1(), (-a[0] * x).exp()],
        LawFamily::Gamma => gamma_tails(a[0], x / a[1]),
        LawFamily::Beta => {
            let below = beta_reg(a[0], a[1], x);
            if below < 0.5 {
                return [below, 1.0 - below];
            }
            let above = beta_reg(a[1], a[0], 1.0 - x);
            [1.0 - above, above]
        }
        LawFamily::Triangular => {
            let span = a[2] - a[0];
            if x < a[1] {
                share((x - a[0]).powi(2) / (span * (a[1] - a[0])))
            } else {
                let above = (a[2] - x).powi(2) / (span * (a[2] - a[1]));
                [1.0 - above, above]
            }
        }
        LawFamily::Weibull => {
            let t = (x / a[1]).powf(a[0]);
            [-(-t).exp_m1(), (-t).exp()]
        }
        LawFamily::Gumbel => {
            let t = (-(x - a[0]) / a[1]).exp();
            [(-t).exp(), -(-t).exp_m1()]
        }
        LawFamily::Student => {
            let square = (x / a[0].sqrt()).powi(2);
            let far = if square > 1.0 {
                0.5 * beta_reg(0.5 * a[0], 0.5, 1.0 / (1.0 + square))
            } else {
                0.5 - 0.5 * beta_reg(0.5, 0.5 * a[0], square / (1.0 + square))
            };
            if x < 0.0 { [far, 1.0 - far] } else { [1.0 - far, far] }
        }
    }
}

/// The value with given probabilities below and above it, where there is a formula.
fn inverse(kind: LawFamily, a: &[f64; 3], below: f64, above: f64) -> Option<f64> {
    let score = || if below < above { normal_quantile(below) } else { -normal_quantile(above) };
    // −ln of the probability above.
    let age = || if below < above { -(-below).ln_1p() } else { -above.ln() };
    Some(match kind {
        LawFamily::Uniform => {
            let width = a[1] - a[0];
            if below < above { a[0] + width * below } else { a[1] - width * above }
        }
        LawFamily::Normal => a[0] + a[1] * score(),
        LawFamily::LogNormal => (a[0] + a[1] * score()).exp(),
        LawFamily::LogUniform => (a[0] * (below * (a[1] / a[0]).ln()).exp()).clamp(a[0], a[1]),
        LawFamily::Exponential => age() / a[0],
        LawFamily::Triangular => {
            let span = a[2] - a[0];
            if below * span < a[1] - a[0] {
                a[0] + (below * span * (a[1] - a[0])).sqrt()
            } else {
                a[2] - (above * span * (a[2] - a[1])).sqrt()
            }
        }
        LawFamily::Weibull => a[1] * age().powf(1.0 / a[0]),
        LawFamily::Gumbel => {
            let t = if below < above { -below.ln() } else { -(-above).ln_1p() };
            a[0] - a[1] * t.ln()
        }
        LawFamily::Gamma | LawFamily::Beta | LawFamily::Student => return None,
    })
}

impl Univariate for Plain {
    fn pdf(&self, x: f64) -> f64 {
        self.ln_pdf(x).exp()
    }

    fn cdf(&self, x: f64) -> f64 {
        self.tails(x)[0]
    }

    fn support(&self) -> (f64, f64) {
        match self {
            Self::Of(kind, a, _) => match kind {
                LawFamily::Uniform | LawFamily::LogUniform => (a[0], a[1]),
                LawFamily::Triangular => (a[0], a[2]),
                LawFamily::LogNormal
                | LawFamily::Exponential
                | LawFamily::Gamma
                | LawFamily::Weibull => (0.0, f64::INFINITY),
                LawFamily::Beta => (0.0, 1.0),
                LawFamily::Normal | LawFamily::Gumbel | LawFamily::Student => {
                    (f64::NEG_INFINITY, f64::INFINITY)
                }
            },
            Self::Truncated(_, low, high, ..) => (*low, *high),
            Self::Mixture(parts) => {
                let ends = parts.iter().map(|(_, law)| law.support());
                ends.fold((f64::INFINITY, f64::NEG_INFINITY), |all, own| {
                    (all.0.min(own.0), all.1.max(own.1))
                })
            }
            Self::Shifted(by, law) => {
                let (low, high) = law.support();
                (low + by, high + by)
            }
            Self::Levels(levels) => levels.support(),
        }
    }

    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        match self {
            Self::Of(LawFamily::Normal | LawFamily::LogNormal, [mean, sd, _], _) => {
                Some((*mean, *sd))
            }
            _ => None,
        }
    }

    fn is_smooth(&self) -> bool {
        matches!(self, Self::Of(LawFamily::Normal, ..))
    }

    fn log_uniform_ends(&self) -> Option<(f64, f64)> {
        match self {
            Self::Of(LawFamily::LogUniform, [low, high, _], _) => Some((*low, *high)),
            _ => None,
        }
    }

    fn panels(&self) -> Vec<f64> {
        match self {
            Self::Of(kind, a, _) => match kind {
                LawFamily::Uniform => vec![a[0], a[1]],
                LawFamily::LogUniform => vec![a[0].ln(), a[1].ln()],
                LawFamily::Normal | LawFamily::LogNormal => {
                    NORMAL_PANELS.iter().map(|z| a[0] + z * a[1]).collect()
                }
                LawFamily::Exponential => {
                    [0.0, 1.0, 3.0, 7.0, 15.0, 30.0, 50.0].map(|t| t / a[0]).to_vec()
                }
                LawFamily::Triangular => {
                    let mut points = a.to_vec();
                    points.dedup();
                    points
                }
                LawFamily::Student => {
                    let reach = self.range().1;
                    let unit = (3.0 / a[0].sqrt()).asinh();
                    let outer = (0..).map(|k| unit * f64::from(1 << k)).take_while(|u| *u < reach);
                    let outer: Vec<f64> = outer.chain([reach]).collect();
                    let inner = outer.iter().rev().map(|u| -u).chain([0.0]);
                    inner.chain(outer.iter().copied()).collect()
                }
                _ => {
                    let (from, to) = self.range();
                    let scale = self.scale();
                    resolve(&[from, to], |u| self.ln_weight(scale, u))
                }
            },
            Self::Truncated(law, low, high, ..) => {
                let scale = self.scale();
                let panels = law.panels();
                let (first, last) = (panels[0], panels[panels.len() - 1]);
                let [from, to] = [*low, *high].map(|end| scale.coordinate(end));
                if from >= first && to <= last && panels.iter().any(|u| from < *u && *u < to) {
                    return crate::numeric::quadrature::within(&panels, from, to);
                }
                // In a tail the density falls on a scale of its own.
                let ends = [from.max(first.min(to)), to.min(last.max(from))];
                let ends = if ends[0] < ends[1] { ends } else { [from, to] };
                resolve(&crate::numeric::quadrature::within(&panels, ends[0], ends[1]), |u| {
                    self.ln_weight(scale, u)
                })
            }
            Self::Mixture(parts) => {
                let scale = self.scale();
                let mut points: Vec<f64> = Vec::new();
                for (_, law) in parts {
                    let own = law.scale();
                    points.extend(
                        law.panels()
                            .into_iter()
                            .map(|u| if own == scale { u } else { scale.coordinate(own.place(u)) }),
                    );
                }
                points.sort_by(f64::total_cmp);
                points.dedup();
                points
            }
            Self::Shifted(by, law) => {
                let own = law.scale();
                law.panels().into_iter().map(|u| own.place(u) + by).collect()
            }
            Self::Levels(levels) => levels.panels(),
        }
    }

    fn levels(&self) -> Option<&Levels> {
        if let Self::Levels(levels) = self { Some(levels) } else { None }
    }

    fn coordinate(&self, x: f64) -> f64 {
        match self {
            Self::Levels(levels) => levels.coordinate(x),
            _ => self.scale().coordinate(x),
        }
    }

    fn place(&self, u: f64) -> f64 {
        if let Self::Levels(levels) = self {
            return levels.place(u);
        }
        let (low, high) = self.support();
        self.scale().place(u).clamp(low, high)
    }

    fn stretch(&self, u: f64) -> f64 {
        self.scale().ln_stretch(u).exp()
    }

    fn weight(&self, u: f64) -> f64 {
        match self {
            Self::Levels(levels) => levels.weight(u),
            // Asked at each node, and the same at all.
            Self::Of(LawFamily::Uniform, [low, high, _], constant) => {
                if *low <= u && u <= *high {
                    constant.exp()
                } else {
                    0.0
                }
            }
            Self::Of(LawFamily::LogUniform, [low, high, _], constant) => {
                if low.ln() <= u && u <= high.ln() { constant.exp() } else { 0.0 }
            }
            _ => self.ln_weight(self.scale(), u).exp(),
        }
    }

    fn doubt(&self) -> f64 {
        match self {
            Self::Of(LawFamily::Uniform | LawFamily::LogUniform | LawFamily::Triangular, ..) => {
                1e-15
            }
            // An exponential of a sum: rounding of its argument.
            Self::Of(LawFamily::Normal | LawFamily::LogNormal, a, _) => {
                // And of the distance from the mean.
                5e-15 + 4.0 * f64::EPSILON * (a[0] / a[1]).abs()
            }
            Self::Of(LawFamily::Exponential, ..) => 5e-15,
            Self::Of(kind, a, _) => {
                // Rounding of the logarithms that the constant of the density is made of.
                let size = match kind {
                    LawFamily::Gamma => ln_gamma(a[0]).abs(),
                    LawFamily::Beta => {
                        [a[0], a[1], a[0] + a[1]].map(|x| ln_gamma(x).abs()).iter().sum()
                    }
                    LawFamily::Student => {
                        [0.5 * a[0], 0.5 * a[0] + 0.5].map(|x| ln_gamma(x).abs()).iter().sum()
                    }
                    _ => 0.0,
                };
                5e-14 + 3e-15 * size
            }
            Self::Truncated(law, ..) => law.doubt() + TAILS,
            Self::Mixture(parts) => {
                parts.iter().map(|(_, law)| law.doubt()).fold(0.0, f64::max) + 5e-15
            }
            Self::Shifted(_, law) => law.doubt() + 5e-15,
            Self::Levels(levels) => levels.doubt(),
        }
    }

    fn is_heavy(&self) -> bool {
        match self {
            Self::Of(kind, ..) => *kind == LawFamily::Student,
            Self::Truncated(law, low, high, ..) => {
                law.is_heavy() && !(low.is_finite() && high.is_finite())
            }
            Self::Mixture(parts) => parts.iter().any(|(_, law)| law.is_heavy()),
            Self::Shifted(_, law) => law.is_heavy(),
            Self::Levels(_) => false,
        }
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        if let Self::Of(LawFamily::Normal, a, _) = self {
            return normal_between((from - a[0]) / a[1], (to - a[0]) / a[1]);
        }
        let (start, end) = (self.tails(from), self.tails(to));
        if start[1] < 0.5 { start[1] - end[1] } else { end[0] - start[0] }
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        Some(Box::new(Self::truncated(self.clone(), from, to).ok()?))
    }

    fn quantile(&self, p: f64) -> f64 {
        self.inverse(p, 1.0 - p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logarithm of the density and the probabilities below and above a value, by mpmath with 40 digits.
    #[allow(clippy::excessive_precision, clippy::type_complexity)]
    const KNOWN: &[(LawFamily, &[f64], f64, f64, f64, f64)] = &[
        (
            LawFamily::Gamma,
            &[0.4, 2.0],
            1e-12,
            15.504675979630867,
            0.000013537399027061041,
            0.999986462600972939,
        ),
        (
            LawFamily::Gamma,
            &[0.4, 2.0],
            0.003,
            2.41004910426265453,
            0.0835983387956296816,
            0.916401661204370318,
        ),
        (
            LawFamily::Gamma,
            &[0.4, 2.0],
            0.5,
            -0.908048381589794705,
            0.60427104847144383,
            0.39572895152855617,
        ),
        (
            LawFamily::Gamma,
            &[0.4, 2.0],
            7.0,
            -5.74148277935894987,
            0.994373926213689748,
            0.00562607378631025154,
        ),
        (
            LawFamily::Gamma,
            &[0.4, 2.0],
            60.0,
            -33.5305434272590223,
            0.999999999999994623,
            5.37727044094309022e-15,
        ),
        (
            LawFamily::Gamma,
            &[2.5, 0.4],
            1e-5,
            -15.2633692382428741,
            9.40299181386188792e-13,
            0.999999999999059701,
        ),
        (
            LawFamily::Gamma,
            &[2.5, 0.4],
            0.3,
            -0.549915247276435486,
            0.0869301854556045393,
            0.913069814544395461,
        ),
        (
            LawFamily::Gamma,
            &[2.5, 0.4],
            1.0,
            -0.493956040787531497,
            0.58411981300449208,
            0.41588018699550792,
        ),
        (
            LawFamily::Gamma,
            &[2.5, 0.4],
            4.0,
            -5.91451449910769557,
            0.998750269436968625,
            0.00124973056303137541,
        ),
        (
            LawFamily::Gamma,
            &[2.5, 0.4],
            15.0,
            -31.4318807391342164,
            0.999999999999990697,
            9.30295180940261291e-15,
        ),
        (
            LawFamily::Gamma,
            &[80.0, 0.1],
            3.0,
            -28.2939194067155022,
            3.05694105496777837e-14,
            0.999999999999969431,
        ),
        (
            LawFamily::Gamma,
            &[80.0, 0.1],
            7.5,
            -0.906951588657252045,
            0.296798600367857155,
            0.703201399632142845,
        ),
        (
            LawFamily::Gamma,
            &[80.0, 0.1],
            8.0,
            -0.808408418789129483,
            0.514868704583526607,
            0.485131295416473393,
        ),
        (
            LawFamily::Gamma,
            &[80.0, 0.1],
            9.0,
            -1.50354860193483657,
            0.866819502766469539,
            0.133180497233530461,
        ),
        (
            LawFamily::Gamma,
            &[80.0, 0.1],
            14.0,
            -16.5987611718907373,
            0.999999986083917332,
            1.39160826682986909e-8,
        ),
        (
            LawFamily::Beta,
            &[0.5, 0.7],
            1e-14,
            15.1994893714986403,
            7.98149704981396817e-8,
            0.999999920185029502,
        ),
        (
            LawFamily::Beta,
            &[0.5, 0.7],
            0.01,
            1.38699391429041367,
            0.0798950984626579312,
            0.920104901537342069,
        ),
        (
            LawFamily::Beta,
            &[0.5, 0.7],
            0.5,
            -0.364088535011726204,
            0.600364232133001518,
            0.399635767866998482,
        ),
        (
            LawFamily::Beta,
            &[0.5, 0.7],
            0.97,
            0.148590693478666325,
            0.950721914517655368,
            0.0492780854823446323,
        ),
        (
            LawFamily::Beta,
            &[30.0, 2.0],
            0.4,
            -20.248072261969186,
            2.19055085875300925e-11,
            0.999999999978094491,
        ),
        (
            LawFamily::Beta,
            &[30.0, 2.0],
            0.8,
            -1.24541631439888167,
            0.00866558027499766192,
            0.991334419725002338,
        ),
        (
            LawFamily::Beta,
            &[30.0, 2.0],
            0.95,
            2.35194677535434516,
            0.536596909857343917,
            0.463403090142656083,
        ),
        (
            LawFamily::Beta,
            &[30.0, 2.0],
            0.999,
            -0.101585202508757902,
            0.999543896280978317,
            0.00045610371902168261,
        ),
        (
            LawFamily::Weibull,
            &[1.7, 3.0],
            1e-6,
            -11.0078700302583555,
            9.7475139854696629e-12,
            0.999999999990252486,
        ),
        (
            LawFamily::Weibull,
            &[1.7, 3.0],
            0.5,
            -1.86976482882695849,
            0.0464364078391059793,
            0.953563592160894021,
        ),
        (
            LawFamily::Weibull,
            &[1.7, 3.0],
            3.0,
            -1.5679840376059393,
            0.632120558828557678,
            0.367879441171442322,
        ),
        (
            LawFamily::Weibull,
            &[1.7, 3.0],
            9.0,
            -6.27196327546204181,
            0.998455427089103479,
            0.00154457291089652107,
        ),
        (
            LawFamily::Gumbel,
            &[1.0, 2.0],
            -5.0,
            -17.7786841037476131,
            1.89217869483829263e-9,
            0.999999998107821305,
        ),
        (
            LawFamily::Gumbel,
            &[1.0, 2.0],
            0.3,
            -1.76221472915320256,
            0.241939508585804622,
            0.758060491414195378,
        ),
        (
            LawFamily::Gumbel,
            &[1.0, 2.0],
            2.0,
            -1.79967784027257873,
            0.545239211892605055,
            0.454760788107394945,
        ),
        (
            LawFamily::Gumbel,
            &[1.0, 2.0],
            30.0,
            -15.1931476849076079,
            0.999999495652464615,
            5.04347535384627089e-7,
        ),
        (
            LawFamily::Gumbel,
            &[1.0, 2.0],
            60.0,
            -30.1931471805600996,
            0.999999999999845719,
            1.54281120319176882e-13,
        ),
        (
            LawFamily::Student,
            &[2.5],
            -1e6,
            -47.767417765560013,
            7.19339719081423846e-16,
            0.999999999999999281,
        ),
        (
            LawFamily::Student,
            &[2.5],
            -2.0,
            -2.68878462225846365,
            0.0786957478789829933,
            0.921304252121017007,
        ),
        (
            LawFamily::Student,
            &[2.5],
            -0.1,
            -1.02362563068214056,
            0.46390327203124479,
            0.53609672796875521,
        ),
        (
            LawFamily::Student,
            &[2.5],
            0.4,
            -1.12520152756949214,
            0.639590365534638502,
            0.360409634465361498,
        ),
        (
            LawFamily::Student,
            &[2.5],
            50.0,
            -13.106960457262086,
            0.999959347524575206,
            0.0000406524754247936039,
        ),
        (
            LawFamily::Student,
            &[30.0],
            -12.0,
            -28.1740680474406373,
            2.79009270759962803e-13,
            0.999999999999720991,
        ),
        (
            LawFamily::Student,
            &[30.0],
            -0.7,
            -1.17839170511797024,
            0.244660221749835753,
            0.755339778250164247,
        ),
        (
            LawFamily::Student,
            &[30.0],
            3.0,
            -4.99391642462495696,
            0.997305017967174027,
            0.00269498203282597331,
        ),
        (
            LawFamily::Student,
            &[30.0],
            8.0,
            -18.6297800348004977,
            0.999999996867088762,
            3.13291123785037947e-9,
        ),
        (
            LawFamily::LogNormal,
            &[0.3, 0.5],
            1e-3,
            -97.221508397052319,
            2.06685508537581295e-47,
            1.0,
        ),
        (
            LawFamily::LogNormal,
            &[0.3, 0.5],
            0.7,
            -0.731560372699869679,
            0.0945325376212164467,
            0.905467462378783553,
        ),
        (
            LawFamily::LogNormal,
            &[0.3, 0.5],
            2.0,
            -1.22806794436914122,
            0.784152472371356315,
            0.215847527628643685,
        ),
        (
            LawFamily::LogNormal,
            &[0.3, 0.5],
            40.0,
            -26.8836787157898056,
            0.999999999993897285,
            6.10271492766582191e-12,
        ),
    ];

    #[test]
    fn densities_and_tails_have_their_digits() {
        for &(kind, arguments, x, ln_pdf, below, above) in KNOWN {
            let law = Plain::of(kind, arguments).unwrap();
            let what = format!("{kind:?} {arguments:?} at {x}");
            let off = (law.ln_pdf(x) - ln_pdf).abs();
            assert!(off < law.doubt() + 5e-15 * (1.0 + ln_pdf.abs()), "{what}: off by {off:e}");
            let found = law.tails(x);
            for (found, known) in found.iter().zip([below, above]) {
                assert!((found - known).abs() < 1e-11 * known, "{what}: {found:e}, {known:e}");
                assert!((found - known).abs() < 1e-13, "{what}: {found:e}, {known:e}");
            }
            // Where the value is in one tail, the other one rounds it away.
            let back = law.inverse(found[0], found[1]);
            assert!((law.tails(back)[0] / found[0] - 1.0).abs() < 1e-12, "{what}: back to {back}");
        }
    }

    #[test]
    fn densities_have_unit_mass_on_their_panels() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let mut laws: Vec<Plain> = KNOWN.iter().map(|row| of(row.0, row.1)).collect();
        laws.extend([
            Plain::truncated(of(LawFamily::Normal, &[0.0, 1.0]), 5.0, 1e3).unwrap(),
            Plain::truncated(of(LawFamily::Student, &[2.5]), -1.0, 1e9).unwrap(),
            Plain::truncated(of(LawFamily::Gamma, &[2.5, 0.4]), 6.0, f64::INFINITY).unwrap(),
            of(LawFamily::LogNormal, &[0.0, 2.0]).shifted(-3.0),
            of(LawFamily::Triangular, &[0.0, 0.0, 1.0]),
            Plain::mixture(vec![
                (0.5, of(LawFamily::Gamma, &[3.0, 1.0])),
                (0.5, of(LawFamily::Normal, &[9.0, 1e-4])),
            ])
            .unwrap(),
        ]);
        for law in laws {
            let at = |u: f64| [crate::numeric::quadrature::Estimate::exact(law.weight(u))];
            let [total] = crate::numeric::quadrature::integrate(&law.panels(), 0.0, at);
            let doubt = law.doubt() + total.error;
            assert!((total.value - 1.0).abs() <= doubt && doubt < 1e-10, "{law:?} {total:?}");
        }
    }

    fn assert_near(found: f64, known: f64, what: &str) {
        assert!((found - known).abs() <= 4e-15 * known.abs(), "{what}: {found:e}, {known:e}");
    }

    /// Density, probabilities below and above, and back: of one law at one value.
    fn assert_law(law: &Plain, x: f64, [pdf, below, above]: [f64; 3]) {
        let what = format!("{law:?} at {x}");
        assert_near(law.pdf(x), pdf, &what);
        assert_near(law.cdf(x), below, &what);
        for (found, known) in law.tails(x).iter().zip([below, above]) {
            assert_near(*found, known, &what);
        }
        // From the smaller one of the two, which has all digits.
        let back = law.inverse(below, above);
        let near = 1e-13 * x.abs().max(below.min(above) / pdf);
        assert!((back - x).abs() <= near, "{what}: back to {back}");
    }

    #[test]
    fn laws_with_closed_forms_have_their_digits() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let ln3 = 3_f64.ln();
        for x in [-0.9, 0.5, 2.75] {
            let (below, above) = ((x + 1.0) / 4.0, (3.0 - x) / 4.0);
            assert_law(&of(LawFamily::Uniform, &[-1.0, 3.0]), x, [0.25, below, above]);
        }
        for x in [1.01, 1.7, 2.9_f64] {
            let known = [1.0 / (x * ln3), x.ln() / ln3, (3.0 / x).ln() / ln3];
            assert_law(&of(LawFamily::LogUniform, &[1.0, 3.0]), x, known);
        }
        for x in [1e-9, 0.3, 20.0_f64] {
            let known = [2.0 * (-2.0 * x).exp(), -(-2.0 * x).exp_m1(), (-2.0 * x).exp()];
            assert_law(&of(LawFamily::Exponential, &[2.0]), x, known);
        }
        // (x − lo)² / (span (mode − lo)) below the mode, and the like above.
        for (x, known) in [
            (0.5, [0.25, 0.0625, 0.9375]),
            (1.0, [0.5, 0.25, 0.75]),
            (2.5, [0.25, 0.8125, 0.1875]),
            (3.75, [0.25 / 6.0, 1.0 - 1.0 / 192.0, 1.0 / 192.0]),
        ] {
            assert_law(&of(LawFamily::Triangular, &[0.0, 1.0, 4.0]), x, known);
        }
        let phi = 0.241_970_724_519_143_37;
        let below = 0.158_655_253_931_457_05;
        assert_law(&of(LawFamily::Normal, &[2.0, 3.0]), -1.0, [phi / 3.0, below, 1.0 - below]);
        assert_law(&of(LawFamily::Normal, &[2.0, 3.0]), 5.0, [phi / 3.0, 1.0 - below, below]);
    }

    #[test]
    fn nothing_is_beyond_the_ends_of_a_law() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let laws = [
            (of(LawFamily::Uniform, &[-1.0, 3.0]), -1.0, 3.0),
            (of(LawFamily::LogUniform, &[1.0, 3.0]), 1.0, 3.0),
            (of(LawFamily::Triangular, &[0.0, 1.0, 4.0]), 0.0, 4.0),
            (of(LawFamily::Beta, &[2.0, 3.0]), 0.0, 1.0),
            (Plain::truncated(of(LawFamily::Normal, &[0.0, 1.0]), -0.5, 2.0).unwrap(), -0.5, 2.0),
            (of(LawFamily::Beta, &[2.0, 3.0]).shifted(-7.0), -7.0, -6.0),
            (of(LawFamily::Triangular, &[0.0, 1.0, 4.0]).shifted(2.0), 2.0, 6.0),
        ];
        for (law, low, high) in laws {
            assert_eq!(law.support(), (low, high), "{law:?}");
            assert_eq!((law.pdf(low - 0.1), law.pdf(high + 0.1)), (0.0, 0.0), "{law:?}");
            assert_eq!((law.tails(low - 0.1), law.tails(high + 0.1)), ([0.0, 1.0], [1.0, 0.0]));
            assert_eq!((law.tails(low), law.tails(high)), ([0.0, 1.0], [1.0, 0.0]), "{law:?}");
            assert!(law.corners().contains(&low) && law.corners().contains(&high), "{law:?}");
            assert!(law.pdf(0.5 * (low + high)) > 0.0, "{law:?}");
        }
    }

    #[test]
    fn laws_made_of_laws_have_their_digits() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        // An exponential law within [0.5, 1.5].
        let cut = Plain::truncated(of(LawFamily::Exponential, &[2.0]), 0.5, 1.5).unwrap();
        let mass = (-1.0_f64).exp() - (-3.0_f64).exp();
        for x in [0.6, 1.1, 1.45_f64] {
            let tail = (-2.0 * x).exp();
            let below = ((-1.0_f64).exp() - tail) / mass;
            let known = [2.0 * tail / mass, below, (tail - (-3.0_f64).exp()) / mass];
            let found = [cut.pdf(x), cut.tails(x)[0], cut.tails(x)[1]];
            for (found, known) in found.iter().zip(known) {
                assert!((found - known).abs() < 1e-14 * known, "{x}: {found:e}, {known:e}");
            }
            assert!((cut.inverse(known[1], known[2]) - x).abs() < 1e-13, "{x}");
        }
        // Of two parts that overlap, and beside one of them.
        let parts = vec![
            (0.25, of(LawFamily::Uniform, &[0.0, 3.0])),
            (0.75, of(LawFamily::Uniform, &[2.0, 4.0])),
        ];
        let both = Plain::mixture(parts).unwrap();
        assert_law(&both, 1.0, [1.0 / 12.0, 1.0 / 12.0, 11.0 / 12.0]);
        assert_law(&both, 2.5, [0.25 / 3.0 + 0.375, 0.625 / 3.0 + 0.1875, 0.125 / 3.0 + 0.5625]);
        assert_law(&both, 3.5, [0.375, 0.8125, 0.1875]);
        assert_eq!(both.support(), (0.0, 4.0));
        // Moved: the density, and what is below, are those of where it came from.
        for law in [
            of(LawFamily::LogNormal, &[0.3, 0.5]),
            of(LawFamily::Exponential, &[2.0]),
            of(LawFamily::Weibull, &[1.7, 3.0]),
            of(LawFamily::Normal, &[0.3, 2.0]),
            of(LawFamily::Gumbel, &[1.0, 2.0]),
            of(LawFamily::Uniform, &[0.0, 3.0]),
            of(LawFamily::Triangular, &[0.0, 1.0, 3.0]),
            of(LawFamily::Student, &[2.5]),
        ] {
            let moved = law.clone().shifted(-4.0);
            for x in [0.25, 0.75, 2.5] {
                let what = format!("{law:?} at {x}");
                assert!((moved.pdf(x - 4.0) / law.pdf(x) - 1.0).abs() < 1e-14, "{what}");
                for (moved, own) in moved.tails(x - 4.0).iter().zip(law.tails(x)) {
                    assert!((moved / own - 1.0).abs() < 1e-14, "{what}");
                }
                let [below, above] = law.tails(x);
                assert!((moved.inverse(below, above) - (x - 4.0)).abs() < 1e-12, "{what}");
                assert!((moved.mass(-3.8, x - 4.0) - law.mass(0.2, x)).abs() < 1e-14, "{what}");
            }
        }
    }

    /// By mpmath with 40 digits: where the constant of the density is a difference of large numbers.
    #[test]
    fn what_rounding_takes_of_a_density_is_doubted() {
        let known: [(LawFamily, &[f64], f64, f64); 3] = [
            (LawFamily::Gamma, &[1e6, 1.0], 1e6, -7.826_693_895_520_143),
            (LawFamily::Beta, &[1e5, 3e5], 0.25, 6.367_658_693_848_445),
            (LawFamily::Student, &[1e6], 1.0, -1.418_939_033_204_589_4),
        ];
        for (kind, arguments, x, ln_pdf) in known {
            let law = Plain::of(kind, arguments).unwrap();
            let off = (law.ln_pdf(x) - ln_pdf).abs();
            // The sums have terms of 1e6 and more.
            assert!(off <= law.doubt(), "{kind:?}: off by {off:e}, doubt {:e}", law.doubt());
            assert!((1e-9..1e-6).contains(&law.doubt()), "{kind:?}: doubt {:e}", law.doubt());
        }
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        assert!(of(LawFamily::Normal, &[1e6, 1.0]).doubt() > 1e6 * f64::EPSILON);
        assert!(of(LawFamily::Normal, &[1e6, 1e6]).doubt() < 1e-14);
        // What is made of a law is doubted no less.
        let gamma = || of(LawFamily::Gamma, &[1e6, 1.0]);
        let least = gamma().doubt();
        assert!(Plain::truncated(gamma(), 9e5, 1.1e6).unwrap().doubt() >= least);
        assert!(gamma().shifted(1.0).doubt() >= least);
        let parts = vec![(0.9, of(LawFamily::Normal, &[0.0, 1.0])), (0.1, gamma())];
        assert!(Plain::mixture(parts).unwrap().doubt() >= least);
    }

    #[test]
    fn tails_are_heavy_that_reach_to_infinity() {
        let student = || Plain::of(LawFamily::Student, &[2.5]).unwrap();
        let normal = || Plain::of(LawFamily::Normal, &[0.0, 1.0]).unwrap();
        let cut = |law: Plain, low, high| Plain::truncated(law, low, high).unwrap();
        let infinity = f64::INFINITY;
        assert!(student().is_heavy() && student().shifted(2.0).is_heavy());
        assert!(cut(student(), -infinity, 1.0).is_heavy());
        assert!(cut(student(), -1.0, infinity).is_heavy());
        assert!(!cut(student(), -1.0, 1.0).is_heavy());
        assert!(!normal().is_heavy() && !cut(normal(), -1.0, infinity).is_heavy());
        let half = |law| Plain::mixture(vec![(0.5, normal()), (0.5, law)]).unwrap();
        assert!(half(student()).is_heavy() && !half(normal()).is_heavy());
    }

    #[test]
    fn closed_forms_hold_wherever_the_ends_are() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let ln8 = 8_f64.ln();
        for x in [0.55, 1.5, 3.75_f64] {
            let known = [1.0 / (x * ln8), (2.0 * x).ln() / ln8, (4.0 / x).ln() / ln8];
            assert_law(&of(LawFamily::LogUniform, &[0.5, 4.0]), x, known);
        }
        let sloped = of(LawFamily::Triangular, &[-1.0, 0.5, 3.0]);
        for x in [-0.75, -0.25, 0.25_f64] {
            let below = (x + 1.0).powi(2) / 6.0;
            assert_law(&sloped, x, [(x + 1.0) / 3.0, below, 1.0 - below]);
        }
        for x in [0.75, 2.0, 2.75_f64] {
            let above = (3.0 - x).powi(2) / 10.0;
            assert_law(&sloped, x, [(3.0 - x) / 5.0, 1.0 - above, above]);
        }
        // The mode has the height, also where it is an end.
        assert_near(sloped.pdf(0.5), 0.5, "mode");
        assert_near(of(LawFamily::Triangular, &[0.0, 0.0, 1.0]).pdf(0.0), 2.0, "mode at an end");
        assert_near(of(LawFamily::Triangular, &[0.0, 1.0, 1.0]).pdf(1.0), 2.0, "mode at an end");
        // From the smaller probability, beside which the other one is 1.
        assert_eq!(of(LawFamily::Uniform, &[0.0, 1.0]).inverse(1e-20, 1.0), 1e-20);
        assert_eq!(of(LawFamily::Uniform, &[-1.0, 0.0]).inverse(1.0, 1e-20), -1e-20);
        // A power of x, for x whose square is no number too.
        let student = of(LawFamily::Student, &[2.5]);
        let fall = student.ln_pdf(1e100) - student.ln_pdf(1e250);
        assert!((fall / (3.5 * 150.0 * 10_f64.ln()) - 1.0).abs() < 1e-14, "{fall}");
    }

    /// Of a variable v = v(u) the density of u is that of v times dv/du, whichever scale u is on.
    #[test]
    fn densities_of_coordinates_are_stretched() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let scales = [Scale::Linear, Scale::Log, Scale::Logit, Scale::Asinh];
        let laws = [
            of(LawFamily::Normal, &[0.3, 2.0]),
            of(LawFamily::LogNormal, &[0.3, 0.5]),
            of(LawFamily::Beta, &[2.0, 3.0]),
            of(LawFamily::Student, &[2.5]),
            of(LawFamily::Weibull, &[1.7, 3.0]).shifted(-0.4),
            Plain::truncated(of(LawFamily::Gamma, &[2.5, 0.4]), 0.2, 3.0).unwrap(),
        ];
        for law in laws {
            for scale in scales {
                for x in [0.25, 0.5, 0.8_f64] {
                    let u = scale.coordinate(x);
                    let step = 1e-5;
                    let rise = (scale.place(u + step) - scale.place(u - step)) / (2.0 * step);
                    let known = law.pdf(x) * rise;
                    let found = law.ln_weight(scale, u).exp();
                    let what = format!("{law:?} at {x} on {scale:?}");
                    assert!((found / known - 1.0).abs() < 1e-8, "{what}: {found}, {known}");
                }
            }
            let (u, step) = (law.coordinate(0.5), 1e-5);
            let rise = (law.place(u + step) - law.place(u - step)) / (2.0 * step);
            assert!((law.stretch(u) / rise - 1.0).abs() < 1e-8, "{law:?}");
            assert!((law.weight(u) / (law.pdf(0.5) * law.stretch(u)) - 1.0).abs() < 1e-12);
        }
        let parts = |all: &[&Plain]| {
            let share = 1.0 / all.len() as f64;
            Plain::mixture(all.iter().map(|&law| (share, law.clone())).collect()).unwrap()
        };
        let (normal, log) =
            (of(LawFamily::Normal, &[0.3, 2.0]), of(LawFamily::LogNormal, &[0.3, 0.5]));
        assert_eq!(parts(&[&log, &log]).scale(), Scale::Log);
        assert_eq!(parts(&[&normal, &log]).scale(), Scale::Linear);
        assert_eq!(parts(&[&log, &log, &normal]).scale(), Scale::Linear);
    }

    #[test]
    fn truncated_laws_are_inverted_in_both_halves() {
        let normal = || Plain::of(LawFamily::Normal, &[0.0, 1.0]).unwrap();
        for (low, high) in [(-2.0, -0.5), (-1.0, 1.5), (0.5, 2.0)] {
            let law = Plain::truncated(normal(), low, high).unwrap();
            let same = normal().restricted(low, high).unwrap();
            for share in [0.1, 0.4, 0.6, 0.9] {
                let x = low + share * (high - low);
                let [below, above] = law.tails(x);
                assert!((below + above - 1.0).abs() < 1e-13, "{x}");
                assert!((law.inverse(below, above) - x).abs() < 1e-12, "{x} in [{low}, {high}]");
                assert_eq!((same.pdf(x), same.cdf(x)), (law.pdf(x), law.cdf(x)));
            }
        }
        for (low, high) in [(f64::NAN, 1.0), (0.0, f64::NAN), (1.0, 1.0), (2.0, 1.0)] {
            let refused = Plain::truncated(normal(), low, high).unwrap_err();
            assert!(refused.contains("no interval"), "{refused}");
        }
        assert!(normal().restricted(50.0, 60.0).is_none());
    }

    /// Parts without probability are none, and rounding of probabilities is made good.
    #[test]
    fn mixtures_are_of_what_has_probability() {
        let uniform = |low: f64| Plain::of(LawFamily::Uniform, &[low, low + 1.0]).unwrap();
        let student = Plain::of(LawFamily::Student, &[2.5]).unwrap();
        let law = Plain::mixture(vec![(1.0, uniform(0.0)), (0.0, student)]).unwrap();
        assert_eq!(law.support(), (0.0, 1.0));
        assert!(!law.is_heavy());
        let parts = vec![(0.5, uniform(0.0)), (0.5 + 5e-10, uniform(1.0))];
        let [below, above] = Plain::mixture(parts).unwrap().tails(1.25);
        assert!((below + above - 1.0).abs() < 1e-15, "{below} {above}");
        for wrong in [-0.1, f64::NAN, 0.6] {
            assert!(Plain::mixture(vec![(0.5, uniform(0.0)), (wrong, uniform(1.0))]).is_err());
        }
    }

    /// By Stirling's series: 3e-15 for each of two logarithms of gamma functions near 500 000.
    #[test]
    fn the_doubt_of_a_student_law_is_that_of_its_constant() {
        let half = 5e5_f64;
        let ln_gamma = half * half.ln() - half;
        let doubt = Plain::of(LawFamily::Student, &[2.0 * half]).unwrap().doubt();
        assert!((doubt / (6e-15 * ln_gamma) - 1.0).abs() < 1e-4, "{doubt:e}");
    }

    /// The constant of Student's density is made of ln Γ(5) and ln Γ(5.5) where df is 10.
    #[test]
    fn densities_are_in_doubt_by_the_logarithms_that_they_are_made_of() {
        let law = Plain::of(LawFamily::Student, &[10.0]).unwrap();
        let known = 5e-14 + 3e-15 * (24_f64.ln() + 52.342_777_784_553_52_f64.ln());
        assert!((law.doubt() / known - 1.0).abs() < 1e-6, "{}", law.doubt());
    }

    /// Moved laws of families that have a place are laws of the family.
    #[test]
    fn moved_laws_stay_in_their_family() {
        for (kind, arguments, moved) in [
            (LawFamily::Normal, &[1.0, 2.0][..], [4.0, 2.0]),
            (LawFamily::Gumbel, &[1.0, 2.0][..], [4.0, 2.0]),
            (LawFamily::Uniform, &[1.0, 2.0][..], [4.0, 5.0]),
            (LawFamily::Triangular, &[1.0, 2.0, 4.0][..], [4.0, 5.0]),
        ] {
            let law = Plain::of(kind, arguments).unwrap();
            let Plain::Of(family, found, _) = law.clone().shifted(3.0) else {
                panic!("{kind:?} is moved to another one")
            };
            assert_eq!((family, &found[..2]), (kind, &moved[..]));
            close_to(law.shifted(3.0).pdf(4.5), Plain::of(kind, arguments).unwrap().pdf(1.5));
        }
        let gamma = Plain::of(LawFamily::Gamma, &[2.0, 1.0]).unwrap().shifted(3.0);
        close_to(gamma.pdf(4.5), 1.5 * (-1.5_f64).exp());
    }

    #[track_caller]
    fn close_to(found: f64, known: f64) {
        assert!((found / known - 1.0).abs() < 1e-13, "{found}, not {known}");
    }
}
