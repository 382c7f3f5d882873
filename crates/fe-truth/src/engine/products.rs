//! Variances of sums of marginal means, and of Shapley values, of products of independent factors, of one feature each.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use super::averages::MarginalMean;
use super::factors::Factor;
use super::nested::HeldFeatures;
use crate::numeric::quadrature::Estimate;

/// Largest number of means of a term: one bit for each.
const MOST_MEANS: usize = 64;

/// A product of factors, and the means over some of its features.
struct Product<'a> {
    /// The factor of each feature, and its mean.
    factors: BTreeMap<usize, (Factor<'a>, Estimate)>,
    means: Vec<&'a MarginalMean>,
}

/// The means that are left of two products, a bit for each: those that have all features inside that were seen to vary; and
/// if any was.
type Kept = ([u64; 2], bool);

impl Engine {
    /// The variance of a sum of marginal means of terms that are products of factors of one feature each, all of them
    /// independent: the sum over sets of features of the squares of what varies with these together, in which
    /// interactions that are none are 0 and nothing cancels. None of other terms.
    pub(crate) fn variance_of_means_of_products(&self, means: &[MarginalMean]) -> Option<Estimate> {
        let terms: BTreeSet<usize> = means.iter().map(|mean| mean.term).collect();
        let held = self.free();
        let of_term = |&t: &usize| {
            let of = |mean: &&MarginalMean| mean.term == t;
            Product::new(&held, t, means.iter().filter(of).collect())
        };
        let products: Vec<Product<'_>> = terms.iter().map(of_term).collect::<Option<_>>()?;
        let features: BTreeSet<usize> =
            products.iter().flat_map(|product| product.factors.keys()).copied().collect();
        let features: Vec<usize> = features.into_iter().collect();
        let both = |a: usize, b: usize| products[a].covariance(&products[b], &held, a == b);
        self.are_independent(&features).then(|| sum_of_pairs(products.len(), both))
    }

    /// The variance of the Shapley value of a feature at a value of it, or the mean of that over its law, for the terms that
    /// read it. None unless they are such products.
    ///
    /// See `interactions`: it is the sum of E f_u² / |u|² over sets u of features with this one, and the covariance of the
    /// components of two products is itself a product, of covariances for the features in u and of means for the others.
    pub(super) fn shapley_variance_of_products(
        &self,
        s: usize,
        at: Option<f64>,
    ) -> Option<Estimate> {
        self.watch.as_ref()?;
        let held = self.free();
        let readers = self.readers(s).into_iter();
        let products = readers.map(|t| Product::new(&held, t, Vec::new()));
        let products: Vec<Product<'_>> = products.collect::<Option<_>>()?;
        let features: BTreeSet<usize> =
            products.iter().flat_map(|product| product.factors.keys()).copied().collect();
        let features: Vec<usize> = features.into_iter().collect();
        let both = |a: usize, b: usize| {
            let (first, second, is_same) = (&products[a], &products[b], a == b);
            let own = match at {
                Some(x) if is_same => first.deviation(s, x, &held).squared_from(0.0),
                Some(x) => first.deviation(s, x, &held).product(second.deviation(s, x, &held)),
                None => first.moments_along(second, s, &held, is_same).1.unwrap_or_default(),
            };
            // By the number of features that vary with the one of interest.
            let mut sums = vec![own];
            for &feature in features.iter().filter(|&&feature| feature != s) {
                let (fixed, varying) = first.moments_along(second, feature, &held, is_same);
                let mut next: Vec<Estimate> = sums.iter().map(|sum| sum.product(fixed)).collect();
                next.push(Estimate::default());
                if let Some(varying) = varying {
                    for (more, sum) in sums.into_iter().enumerate() {
                        next[more + 1] = next[more + 1].plus(sum.product(varying));
                    }
                }
                sums = next;
            }
            let each = sums.into_iter().enumerate().skip(1);
            Estimate::sum(each.map(|(more, sum)| sum.times(1.0 / ((more + 1) as f64).powi(2))))
        };
        self.are_independent(&features).then(|| sum_of_pairs(products.len(), both))
    }
}

/// The sum of what is the same both ways round over all pairs of so many.
fn sum_of_pairs(count: usize, of: impl Fn(usize, usize) -> Estimate) -> Estimate {
    let pairs = (0..count).flat_map(|a| (0..=a).map(move |b| (a, b)));
    Estimate::sum(pairs.map(|(a, b)| of(a, b).times(if a == b { 1.0 } else { 2.0 })))
}

impl<'a> Product<'a> {
    fn new(held: &HeldFeatures<'a>, term: usize, means: Vec<&'a MarginalMean>) -> Option<Self> {
        let factors = held.single_factors(term)?;
        let with_mean = |(feature, factor): (usize, Factor<'a>)| {
            (feature, (factor, held.mean_of_product(&[factor])))
        };
        let factors = factors.into_iter().map(with_mean).collect();
        (means.len() <= MOST_MEANS).then_some(Self { factors, means })
    }

    /// The means that have a feature inside.
    fn inside(&self, feature: usize) -> u64 {
        let bit =
            |(k, mean): (usize, &&MarginalMean)| u64::from(mean.inside.contains(&feature)) << k;
        self.means.iter().enumerate().map(bit).sum()
    }

    /// The sum of the factors of some means.
    fn weight(&self, kept: u64) -> f64 {
        let means = self.means.iter().enumerate().filter(|(k, _)| kept >> k & 1 == 1);
        means.map(|(_, mean)| mean.factor).sum()
    }

    /// The product of the means of the factors of a feature of two products, and their covariance where both have one.
    fn moments_along(
        &self,
        other: &Self,
        feature: usize,
        held: &HeldFeatures<'a>,
        is_same: bool,
    ) -> (Estimate, Option<Estimate>) {
        let [first, second] = [self, other].map(|product| product.factors.get(&feature));
        let means = [first, second].into_iter().flatten().map(|(_, mean)| *mean);
        let fixed = means.fold(Estimate::exact(1.0), Estimate::product);
        let varying = match (first, second) {
            (Some((factor, mean)), Some(_)) if is_same => {
                Some(held.variance_of_factor(*factor, *mean))
            }
            (Some((a, _)), Some((b, _))) => Some(held.mean_of_product(&[*a, *b]).minus(fixed)),
            _ => None,
        };
        (fixed, varying)
    }

    /// The distance of the factor of a feature from its mean at a value of that.
    fn deviation(&self, feature: usize, x: f64, held: &HeldFeatures<'a>) -> Estimate {
        let Some((factor, mean)) = self.factors.get(&feature) else { return Estimate::default() };
        let mut row = vec![f64::NAN; held.law().dimension()];
        row[feature] = x;
        factor.estimate(&row).minus(*mean)
    }

    /// The covariance of the sums of means of two products.
    fn covariance(&self, other: &Self, held: &HeldFeatures<'a>, is_same: bool) -> Estimate {
        let features: BTreeSet<&usize> = self.factors.keys().chain(other.factors.keys()).collect();
        let start = (([u64::MAX; 2], false), Estimate::exact(1.0));
        let mut sums: BTreeMap<Kept, Estimate> = BTreeMap::from([start]);
        for &feature in features {
            let (fixed, varying) = self.moments_along(other, feature, held, is_same);
            let inside = [self.inside(feature), other.inside(feature)];
            let mut next: BTreeMap<Kept, Estimate> = BTreeMap::new();
            let mut add = |kept: Kept, sum: Estimate| {
                let known = next.entry(kept).or_default();
                *known = known.plus(sum);
            };
            for ((kept, any), sum) in sums {
                add((kept, any), sum.product(fixed));
                if let Some(varying) = varying {
                    let kept = [kept[0] & inside[0], kept[1] & inside[1]];
                    add((kept, true), sum.product(varying));
                }
            }
            sums = next;
        }
        let vary = sums.into_iter().filter(|((_, any), _)| *any);
        Estimate::sum(
            vary.map(|((kept, _), sum)| sum.times(self.weight(kept[0]) * other.weight(kept[1]))),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::watch::{Watch, with_cost};
    use crate::function::Term;
    use crate::law::{Law, PiecewiseUniform};

    /// Sums of products of shifted features that are uniform on [0, 1], by the shifts of each, with their factors or without.
    fn sums(shifts: &[&[(usize, f64)]], are_apart: bool) -> Engine {
        let unit = |law: Law, s: usize| law.with_independent(s, PiecewiseUniform::on(0.0, 1.0));
        let term = |shifts: &&[(usize, f64)]| {
            let (own, features) = (shifts.to_vec(), shifts.iter().map(|(s, _)| *s));
            let features: Vec<usize> = features.collect();
            let value = move |x: &[f64]| own.iter().map(|(s, by)| x[*s] + by).product();
            let factor = |&(s, by): &(usize, f64)| Term::new(&[s], move |x| x[s] + by, |_, _| 1.0);
            let term = Term::new(&features, value, |_, _| f64::NAN);
            if are_apart { term.with_factors(shifts.iter().map(factor).collect()) } else { term }
        };
        let names: Vec<String> = (1..=12).map(|s| format!("x{s}")).collect();
        let engine = Engine::new((0..12).fold(Law::new(), unit), shifts.iter().map(term).collect());
        engine.watched(Arc::new(Watch::new(3, false, &names)))
    }

    const PRODUCTS: [&[(usize, f64)]; 2] =
        [&[(0, 0.1), (1, -0.3), (2, 1.0)], &[(0, -0.8), (1, 0.5), (2, -0.5)]];

    /// Coalitions are asked where terms have no factors.
    #[test]
    fn variances_of_shapley_values_of_products_are_those_of_coalitions() {
        let [own, whole] = [true, false].map(|are_apart| sums(&PRODUCTS, are_apart));
        let local = super::super::LocalQuantity::Shapley(0);
        for x in [0.0, 0.3, 0.9] {
            let of = |engine: &Engine| {
                engine.moments(0, x, super::super::Rest::Conditional, local).variance
            };
            let (found, known) = (of(&own), of(&whole));
            let off = (found.value - known.value).abs();
            assert!(
                off <= found.error + known.error && found.error < 1e-14,
                "{found:?}, {known:?}"
            );
            assert!(whole.shapley_variance_of_products(0, Some(x)).is_none());
        }
        // Over the law the mean of the variances is that at two points, one standard deviation from the middle, as each is a
        // quadratic.
        let sd = 12_f64.sqrt().recip();
        let at = |x: f64| own.shapley_variance_of_products(0, Some(x)).unwrap().value;
        let known = 0.5 * (at(0.5 - sd) + at(0.5 + sd));
        let found = own.mean_of_shapley_variance(0).unwrap();
        assert!((found.value - known).abs() <= found.error + 1e-15, "{found:?}, not {known}");
    }

    /// Of the product of so many factors with mean 1 and variance 1/12: Σ_j C(n − 1, j) 12^−(j+1) / (j + 1)² from j = 1.
    #[test]
    fn products_of_many_features_take_few_evaluations() {
        let shifts: Vec<(usize, f64)> = (0..12).map(|s| (s, 0.5)).collect();
        let engine = sums(&[&shifts], true);
        let (mut known, mut binomial) = (0.0, 1.0);
        for j in 1..12 {
            binomial *= f64::from(12 - j) / f64::from(j);
            known += binomial / 12_f64.powi(j + 1) / f64::from((j + 1) * (j + 1));
        }
        let (found, cost) = with_cost(|| engine.mean_of_shapley_variance(5).unwrap());
        assert!((found.value - known).abs() <= found.error + 1e-16, "{found:?}, not {known}");
        assert!(found.error < 1e-14 && cost < 2000.0, "{found:?} for {cost}");
    }
}
