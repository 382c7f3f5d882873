//! The variance of a sum of marginal means of products of independent factors, of one feature each.

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
        let both = |a: usize, b: usize| {
            let times = if a == b { 1.0 } else { 2.0 };
            products[a].covariance(&products[b], &held, a == b).times(times)
        };
        let pairs = (0..products.len()).flat_map(|a| (0..=a).map(move |b| (a, b)));
        self.are_independent(&features).then(|| Estimate::sum(pairs.map(|(a, b)| both(a, b))))
    }
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

    /// The covariance of the sums of means of two products.
    fn covariance(&self, other: &Self, held: &HeldFeatures<'a>, is_same: bool) -> Estimate {
        let features: BTreeSet<&usize> = self.factors.keys().chain(other.factors.keys()).collect();
        let start = (([u64::MAX; 2], false), Estimate::exact(1.0));
        let mut sums: BTreeMap<Kept, Estimate> = BTreeMap::from([start]);
        for &feature in features {
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
