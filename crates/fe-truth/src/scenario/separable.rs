//! Sums of products of functions of one feature each, with independent uniform features.
//!
//! Every truth has a closed form: a mean of a product is a product of means, and a variance needs
//! the means of products of two factors, which are factors again.

use std::ops::{Add, Mul};

use super::Parts;
use super::closed_forms::{ClosedForms, Pointwise};
use crate::expression::{Expression, feature, less, less_equal};
use crate::function::{Function, Term};
use crate::law::{Law, PiecewiseUniform};

/// The function `x^power e^(rate x)` of one feature, or that where the feature is above 0 and else
/// 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Factor {
    power: u32,
    rate: f64,
    above: Option<Zero>,
}

/// True if 0 counts as above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Zero {
    Above,
    Below,
}

impl Factor {
    const ONE: Self = Self::power(0);

    /// `x^power`.
    pub(super) const fn power(power: u32) -> Self {
        Self { power, rate: 0.0, above: None }
    }

    /// `e^x`.
    pub(super) const fn exp() -> Self {
        Self { power: 0, rate: 1.0, above: None }
    }

    /// 1 above 0, else 0.
    pub(super) const fn above(zero: Zero) -> Self {
        Self { power: 0, rate: 0.0, above: Some(zero) }
    }

    /// The product with another factor of the same feature.
    fn times(self, other: Self) -> Self {
        Self {
            power: self.power + other.power,
            rate: self.rate + other.rate,
            above: self.above.or(other.above),
        }
    }

    fn is_on(self, x: f64) -> bool {
        match self.above {
            None => true,
            Some(Zero::Above) => x >= 0.0,
            Some(Zero::Below) => x > 0.0,
        }
    }

    /// The value without the indicator.
    fn smooth(self, x: f64) -> f64 {
        x.powi(self.power as i32) * (self.rate * x).exp()
    }

    /// The factor of a feature, as a tree.
    fn expression(self, s: usize) -> Expression {
        let on = match self.above {
            None => Expression::Number(1.0),
            Some(Zero::Above) => less_equal(0.0, feature(s)),
            Some(Zero::Below) => less(0.0, feature(s)),
        };
        let grown =
            if self.rate == 0.0 { Expression::Number(1.0) } else { (self.rate * feature(s)).exp() };
        feature(s).power(f64::from(self.power)) * grown * on
    }

    fn value(self, x: f64) -> f64 {
        if self.is_on(x) { self.smooth(x) } else { 0.0 }
    }

    fn slope(self, x: f64) -> f64 {
        if !self.is_on(x) {
            return 0.0;
        }
        let lower = match self.power {
            0 => 0.0,
            p => f64::from(p) * Self { power: p - 1, ..self }.smooth(x),
        };
        self.rate * self.smooth(x) + lower
    }

    /// A function with the same slope that does not jump.
    fn continuous(self, x: f64) -> f64 {
        match self.above {
            None => self.smooth(x),
            Some(_) => self.smooth(x.max(0.0)) - self.smooth(0.0),
        }
    }

    /// Its mean over `[lo, hi]`.
    fn mean(self, (lo, hi): (f64, f64)) -> f64 {
        if self.above.is_none() {
            return self.smooth_mean(lo, hi);
        }
        let share = ((hi - lo.max(0.0)) / (hi - lo)).max(0.0);
        if share > 0.0 { share * self.smooth_mean(lo.max(0.0), hi) } else { 0.0 }
    }

    fn smooth_mean(self, lo: f64, hi: f64) -> f64 {
        if self.rate == 0.0 {
            // (hi^(p+1) − lo^(p+1)) / (hi − lo), divided out.
            let p = self.power as i32;
            let sum: f64 = (0..=p).map(|i| lo.powi(i) * hi.powi(p - i)).sum();
            return sum / f64::from(p + 1);
        }
        if self.power == 0 {
            let growth = self.rate * (hi - lo);
            return (self.rate * lo).exp() * growth.exp_m1() / growth;
        }
        // By parts.
        let lower = Self { power: self.power - 1, ..self };
        let ends = (self.smooth(hi) - self.smooth(lo)) / (hi - lo);
        (ends - f64::from(self.power) * lower.smooth_mean(lo, hi)) / self.rate
    }
}

/// A number times factors of different features.
#[derive(Debug, Clone)]
pub(super) struct Product {
    number: f64,
    factors: Vec<(usize, Factor)>,
}

impl Product {
    pub(super) fn new(number: f64, factors: &[(usize, Factor)]) -> Self {
        Self { number, factors: factors.to_vec() }
    }

    /// Its factor of a feature.
    fn of(&self, feature: usize) -> Factor {
        let found = self.factors.iter().find(|(other, _)| *other == feature);
        found.map_or(Factor::ONE, |(_, factor)| *factor)
    }

    fn value(&self, x: &[f64]) -> f64 {
        let factors = self.factors.iter().map(|(feature, factor)| factor.value(x[*feature]));
        self.number * factors.product::<f64>()
    }

    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        let others = self.factors.iter().filter(|(feature, _)| *feature != s);
        let others = others.map(|(feature, factor)| factor.value(x[*feature]));
        self.number * self.of(s).slope(x[s]) * others.product::<f64>()
    }

    fn expression(&self) -> Expression {
        let factors = self.factors.iter().map(|(feature, factor)| factor.expression(*feature));
        factors.fold(Expression::Number(self.number), Mul::mul)
    }

    fn term(self) -> Term {
        let features: Vec<usize> = self.factors.iter().map(|(feature, _)| *feature).collect();
        let kind = |wanted: fn(&Factor) -> bool| -> Vec<usize> {
            self.factors.iter().filter(|(_, f)| wanted(f)).map(|(feature, _)| *feature).collect()
        };
        let (affine, jumping) = (kind(|f| *f == Factor::power(1)), kind(|f| f.above.is_some()));
        let slopes = self.clone();
        let term = Term::new(&features, move |x| self.value(x), move |s, x| slopes.partial(s, x));
        let term = term.affine_in(&affine);
        jumping.into_iter().fold(term, |term, feature| term.breaking_at(feature, &[0.0]))
    }
}

/// A function that is a sum of products, the range all its `D` features are uniform on, and its native
/// form: the value at a row and the partial derivative along a feature.
pub(super) struct Separable<const D: usize, V, P> {
    range: (f64, f64),
    products: Vec<Product>,
    value: V,
    partial: P,
}

impl<const D: usize, V, P> Separable<D, V, P>
where
    V: Fn(&[f64]) -> f64 + Send + Sync + 'static,
    P: Fn(usize, &[f64]) -> f64 + Send + Sync + 'static,
{
    /// The closures of the native form are to be marked `#[inline(always)]`.
    #[inline(always)]
    pub(super) fn new(range: (f64, f64), products: Vec<Product>, value: V, partial: P) -> Self {
        Self { range, products, value, partial }
    }

    /// The scenario of the function.
    pub(super) fn parts(self) -> Parts {
        let range = self.range;
        let law = (0..D).fold(Law::new(), |law, feature| {
            law.with_independent(feature, PiecewiseUniform::on(range.0, range.1))
        });
        let forms = Forms { products: self.products.clone(), range };
        Parts::new(law, self, forms, vec![range; D])
    }
}

impl<const D: usize, V, P> Function for Separable<D, V, P>
where
    V: Fn(&[f64]) -> f64 + Send + Sync + 'static,
    P: Fn(usize, &[f64]) -> f64 + Send + Sync + 'static,
{
    const WIDTH: usize = D;

    fn dimension(&self) -> usize {
        D
    }

    fn expression(&self) -> Expression {
        let product = |product: &Product| product.expression();
        self.products.iter().map(product).fold(Expression::Number(0.0), Add::add)
    }

    fn terms(&self) -> Vec<Term> {
        self.products.iter().cloned().map(Product::term).collect()
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        (self.value)(x)
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        (self.partial)(s, x)
    }
}

/// Features are independent, so marginal and conditional quantities are the same.
struct Forms {
    products: Vec<Product>,
    range: (f64, f64),
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, axis: (f64, f64)) -> Option<f64> {
        Some(match quantity {
            Pointwise::Pd | Pointwise::Mplot => self.mean_of(Some(s), |factor| factor.value(x)),
            Pointwise::Dpd | Pointwise::Mu => self.mean_of(Some(s), |factor| factor.slope(x)),
            Pointwise::Sigma2 | Pointwise::HDpdp => {
                self.variance_of(Some(s), |factor| factor.slope(x))
            }
            Pointwise::HPdp => {
                self.variance_of(Some(s), |factor| factor.value(x) - factor.mean(axis))
            }
            Pointwise::Accumulated => {
                self.mean_of(Some(s), |factor| factor.continuous(x) - factor.continuous(axis.0))
            }
        })
    }

    fn difference(&self, s: usize, from: f64, to: f64, _: f64) -> Option<(f64, f64)> {
        let step = |factor: Factor| factor.value(to) - factor.value(from);
        Some((self.mean_of(Some(s), step), self.variance_of(Some(s), step)))
    }

    fn mean(&self) -> Option<f64> {
        Some(self.mean_of(None, |_| 1.0))
    }

    fn variance(&self) -> Option<f64> {
        Some(self.variance_of(None, |_| 1.0))
    }
}

impl Forms {
    /// The mean of the sum over all features but `held`, what its factors give there filled in.
    fn mean_of(&self, held: Option<usize>, fill: impl Fn(Factor) -> f64) -> f64 {
        let filled = |product: &Product| {
            let rest = self.mean_of_rest(held, &product.factors);
            product.number * held.map_or(1.0, |s| fill(product.of(s))) * rest
        };
        self.products.iter().map(filled).sum()
    }

    /// The variance of the sum over all features but `held`: the covariances of all pairs.
    fn variance_of(&self, held: Option<usize>, fill: impl Fn(Factor) -> f64) -> f64 {
        let filled = |product: &Product| product.number * held.map_or(1.0, |s| fill(product.of(s)));
        let pair = |a: &Product, b: &Product| {
            let size = filled(a) * filled(b);
            if size == 0.0 {
                return 0.0;
            }
            let apart = self.mean_of_rest(held, &a.factors) * self.mean_of_rest(held, &b.factors);
            size * (self.mean_of_rest(held, &joined(a, b)) - apart)
        };
        self.products.iter().flat_map(|a| self.products.iter().map(move |b| pair(a, b))).sum()
    }

    fn mean_of_rest(&self, held: Option<usize>, factors: &[(usize, Factor)]) -> f64 {
        let rest = factors.iter().filter(|(feature, _)| Some(*feature) != held);
        rest.map(|(_, factor)| factor.mean(self.range)).product()
    }
}

/// The factors of a product of two products.
fn joined(a: &Product, b: &Product) -> Vec<(usize, Factor)> {
    let mut factors = a.factors.clone();
    for &(feature, factor) in &b.factors {
        match factors.iter_mut().find(|(other, _)| *other == feature) {
            Some((_, own)) => *own = own.times(factor),
            None => factors.push((feature, factor)),
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::fixed;

    #[test]
    fn means_and_slopes_of_factors() {
        let exp_above = Factor::exp().times(Factor::above(Zero::Below));
        let all = [
            Factor::power(3),
            Factor::exp(),
            Factor::power(2).times(Factor::exp()),
            exp_above,
            Factor::power(1).times(exp_above),
        ];
        for factor in all {
            for (lo, hi) in [(-1.0, 1.0), (0.2, 0.7), (-0.6, -0.1)] {
                let integral = |f: &dyn Fn(f64) -> f64| {
                    let zero = 0.0_f64.clamp(lo, hi);
                    fixed(lo, zero, f) + fixed(zero, hi, f)
                };
                let mean = integral(&|x| factor.value(x)) / (hi - lo);
                assert!((factor.mean((lo, hi)) - mean).abs() < 1e-14, "{factor:?} {lo} {hi}");
                let change = factor.continuous(hi) - factor.continuous(lo);
                assert!((integral(&|x| factor.slope(x)) - change).abs() < 1e-14, "{factor:?}");
            }
        }
    }
}
