//! Variances of Shapley values of independent features, from the values of a function on two rows and all that is mixed
//! of them.
//!
//! Of independent features the Shapley value of s is the sum over the components f_u of the Hoeffding decomposition with s
//! in u, each divided by |u| (Owen 2014, Sobol' indices and Shapley value, Theorem 1), and components are uncorrelated
//! given x_s. Its variance given x_s is the sum of E f_u² / |u|², over u of two features and more. On the corners of the
//! box between two independent rows a function has such a decomposition too, whose squares have means that are known sums
//! of those of f, and the other way around.

use crate::function::Term;
use crate::numeric::quadrature::Estimate;

/// Most features of which all mixed rows are asked.
pub(super) const MOST_MIXED: usize = 12;

/// Changes of a sum of terms along a feature, from one value to another, at all rows that are mixed of two.
pub(super) struct Mixed<'a> {
    pub(super) terms: &'a [&'a Term],
    pub(super) feature: usize,
    /// The other features that the terms read.
    pub(super) others: &'a [usize],
}

/// Coefficients of changes at mixed rows, one for each set of the other features, and how far rounding puts them off.
pub(super) struct Components {
    each: Vec<f64>,
    error: f64,
}

impl Mixed<'_> {
    /// Evaluations that the changes take.
    pub(super) fn cost(&self) -> f64 {
        2.0 * self.terms.len() as f64 * 2_f64.powi(self.others.len() as i32)
    }

    /// The components of the changes from one value of the feature to another.
    pub(super) fn components(&self, rows: [&[f64]; 2], [from, to]: [f64; 2]) -> Components {
        let [first, second] = rows;
        let mut row = first.to_vec();
        let mut error = 0.0_f64;
        let mut each: Vec<f64> = (0..1_usize << self.others.len())
            .map(|set| {
                for (place, &other) in self.others.iter().enumerate() {
                    row[other] = if set >> place & 1 == 1 { second[other] } else { first[other] };
                }
                let change = self.at(&mut row, to).minus(self.at(&mut row, from));
                error = error.max(change.error + f64::EPSILON * change.magnitude);
                change.value
            })
            .collect();
        decompose(&mut each);
        Components { each, error }
    }

    fn at(&self, row: &mut [f64], x: f64) -> Estimate {
        row[self.feature] = x;
        Estimate::sum(self.terms.iter().map(|term| term.estimate(row)))
    }
}

impl Components {
    /// The variance of Shapley values that components of changes from two independent values of the feature to the same
    /// one tell on average; half of what those of one change do, whose values are both drawn, is its mean.
    pub(super) fn variance_with(&self, other: &Self) -> Estimate {
        let weights = weights(self.each.len().trailing_zeros() as usize);
        let mut sum = Estimate::default();
        for (set, (a, b)) in self.each.iter().zip(&other.each).enumerate() {
            let weight = weights[set.count_ones() as usize];
            sum.value += weight * a * b;
            sum.magnitude += (weight * a * b).abs();
            let off = a.abs() * other.error + b.abs() * self.error + self.error * other.error;
            sum.error += weight.abs() * off;
        }
        sum
    }
}

/// Replaces values at sets by the mean over sets of their products with −1 for each member that two sets share.
pub(super) fn decompose(values: &mut [f64]) {
    let mut step = 1;
    while step < values.len() {
        for pair in values.chunks_exact_mut(2 * step) {
            let (without, with) = pair.split_at_mut(step);
            for (a, b) in without.iter_mut().zip(with) {
                (*a, *b) = (0.5 * (*a + *b), 0.5 * (*a - *b));
            }
        }
        step *= 2;
    }
}

/// Weights of squares of components by the number of features in their sets, up to all of so many.
///
/// E of the square of the component of v on mixed rows is the sum over u ⊇ v of σ_u² 2^−|u|; inverted, and summed with
/// 1/(|u| + 1)² over all u but the empty one.
fn weights(count: usize) -> Vec<f64> {
    let weight = |size: usize| {
        let (mut sum, mut binomial) = (0.0, 1.0);
        for j in 1..=size {
            binomial *= (size + 1 - j) as f64 / j as f64;
            let sign = (-1.0_f64).powi((size - j) as i32);
            sum += sign * binomial * 2_f64.powi(j as i32) / (j as f64 + 1.0).powi(2);
        }
        sum
    };
    (0..=count).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of (x1 + a)(x2 + b)(x3 + c) with features that are −1 or 1, over all pairs of rows and of values of x1.
    #[test]
    fn means_over_all_rows_are_those_of_the_decomposition() {
        let [a, b, c] = [0.7, -1.3, 0.4];
        let value = move |x: &[f64]| (x[0] + a) * (x[1] + b) * (x[2] + c);
        let term = Term::new(&[0, 1, 2], value, |_, _| f64::NAN);
        let mixed = Mixed { terms: &[&term], feature: 0, others: &[1, 2] };
        assert_eq!(mixed.cost(), 8.0);
        let sign = |bits: usize, place: usize| if bits >> place & 1 == 1 { 1.0 } else { -1.0 };
        let row = |bits: usize| [f64::NAN, sign(bits, 0), sign(bits, 1)];
        let (mut mean, mut at, count) = (0.0, 0.0, 64.0);
        for bits in 0..64_usize {
            let (first, second) = (row(bits), row(bits >> 2));
            let ends = [sign(bits, 4), sign(bits, 5)];
            let change = mixed.components([&first, &second], ends);
            mean += 0.5 * change.variance_with(&change).value / count;
            // From both values to 1.
            let of = |from: f64| mixed.components([&first, &second], [from, 1.0]);
            at += of(ends[0]).variance_with(&of(ends[1])).value / count;
        }
        // σ² of {1, 2} is c², of {1, 3} b², of all three 1.
        let known = (c * c + b * b) / 4.0 + 1.0 / 9.0;
        assert!((mean - known).abs() < 1e-14, "{mean}, not {known}");
        // Given x1 = 1 each component with it has the same square as on average.
        assert!((at - known).abs() < 1e-14, "{at}, not {known}");
    }

    #[test]
    fn values_without_interactions_have_no_variance() {
        let term = Term::new(&[0, 1], |x| x[0] * x[0] + x[1].exp(), |_, _| f64::NAN);
        let mixed = Mixed { terms: &[&term], feature: 0, others: &[1] };
        let change = mixed.components([&[f64::NAN, 0.3], &[f64::NAN, 2.0]], [1.0, 3.0]);
        let variance = change.variance_with(&change);
        assert!(variance.value.abs() < 1e-28 && variance.error < 1e-12, "{variance:?}");
    }

    #[test]
    fn weights_of_sizes_are_known() {
        let known = [0.0, 0.5, -1.0 + 4.0 / 9.0];
        assert!(weights(2).iter().zip(known).all(|(w, known)| (w - known).abs() < 1e-15));
    }
}
