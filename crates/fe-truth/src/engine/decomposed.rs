//! Means along a feature of variances over the others, with nothing integrated inside of an integral over all of them.
//!
//! A value of the feature of interest that is independent of the others splits a mean of variances in two: for any
//! function g, E Var_c(g(x, ·) − E_x g) = E_x Var_c(g(x, ·)) − Var_c(E_x g). Both are integrals of one feature more than
//! are integrated at once, and the first of them a mean along that.

use std::sync::Arc;

use super::watch::{Watch, in_time, within_budget};
use super::{Engine, LocalQuantity};
use crate::function::Term;
use crate::numeric::quadrature::{Estimate, NODES, integrate, within};

/// Evaluations that the variances of a centred curve may take, and those of all components of a Shapley value.
const MOST_OF_CENTRED: f64 = 1e7;
const MOST_OF_COMPONENTS: f64 = 5e7;

impl Engine {
    /// The mean over the law of a feature of the variance of its Shapley value: of sums of products from their factors; else
    /// none where features depend on each other, where there are more than one beside those integrated at once, or where it
    /// takes too many evaluations.
    ///
    /// See `interactions`: it is the sum of E f_u² / |u|², and the variances of the means of f given sets of features
    /// are sums of E f_u².
    pub(crate) fn mean_of_shapley_variance(&self, s: usize) -> Option<Estimate> {
        if let Some(known) = self.shapley_variance_of_products(s, None) {
            return Some(known);
        }
        let others = self.components_beside(s)?;
        let sets = 1..1_usize << others.len();
        self.within_most(MOST_OF_COMPONENTS, || {
            let of = |set: usize| {
                let members = others.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
                let inside: Vec<usize> = members.map(|(_, &other)| other).collect();
                let weight = weight(others.len() - inside.len(), inside.len());
                let with = [inside.clone(), vec![s]].concat();
                let given = self.means_given(s, &with);
                let law = self.margin(s);
                let panels = law.panels();
                let ends = (panels[0], panels[panels.len() - 1]);
                let points = within(&given.resolution(s), ends.0, ends.1);
                let at = |u: f64| law.weighed(u, given.variance_of_values(s, law.place(u)));
                let at = in_time(2.0 * MOST_OF_COMPONENTS, NODES * (points.len() - 1), at);
                let [along] = integrate(&points, 0.0, |u| [at(u)]);
                if along.value.is_nan() {
                    return along;
                }
                let whole = self.means_given(s, &inside).variance_f();
                law.vouched(along).minus(whole).times(weight)
            };
            // Where one of them is not known the others are of no use.
            sets.map(of)
                .try_fold(Estimate::default(), |sum, one| {
                    if one.value.is_nan() { Err(one) } else { Ok(sum.plus(one)) }
                })
                .unwrap_or_else(|unknown| unknown)
        })
    }

    /// The integral over an axis of a feature of the variance of its centred curves; none where fewer others are
    /// integrated at once than may be, or where it takes too many evaluations.
    pub(crate) fn integral_of_centred_variance(
        &self,
        s: usize,
        (lo, hi): (f64, f64),
    ) -> Option<Estimate> {
        let others = self.integrated_beside(s)?;
        let law = self.margin(s);
        let ends = [lo, hi].map(|end| law.coordinate(end));
        if ends.iter().any(|end| !end.is_finite()) {
            return None;
        }
        self.within_most(MOST_OF_CENTRED, || {
            let readers = self.of_terms(self.readers(s).into_iter().map(|t| self.term(t)));
            let points = within(&readers.resolution(s), ends[0], ends[1]);
            let at = |u: f64| readers.variance_of_values(s, law.place(u)).times(law.stretch(u));
            let at = in_time(2.0 * MOST_OF_CENTRED, NODES * (points.len() - 1), at);
            let [along] = integrate(&points, 0.0, |u| [at(u)]);
            if along.value.is_nan() {
                return along;
            }
            let mean = self.of_terms([self.mean_over_axis(s, (lo, hi), &others)]);
            along.minus(mean.variance_f().times(hi - lo))
        })
    }

    /// True if [`Self::mean_of_shapley_variance`] is what there is to integrate: what is more than it may take is simulated.
    pub(crate) fn has_components(&self, s: usize) -> bool {
        self.components_beside(s).is_some()
    }

    fn components_beside(&self, s: usize) -> Option<Vec<usize>> {
        let others = self.integrated_beside(s)?;
        let all = others.iter().copied().chain([s]).collect::<Vec<_>>();
        let can_be = self.are_independent(&all) && self.margin(s).levels().is_none();
        can_be.then_some(others)
    }

    /// The features that terms read beside one, where a term has to be integrated over all of them at once and they are
    /// just as many as may be.
    fn integrated_beside(&self, s: usize) -> Option<Vec<usize>> {
        let watch = self.watch.as_ref().filter(|watch| !watch.is_witness)?;
        let readers = self.readers(s);
        let features = readers.iter().flat_map(|&t| self.terms[t].features());
        let mut others: Vec<usize> = features.copied().filter(|&other| other != s).collect();
        others.sort_unstable();
        others.dedup();
        let is_plain = !self.law().is_restricted()
            && others.iter().all(|&other| self.margin(other).levels().is_none());
        let reads_all = |term: &Term| {
            others.iter().all(|&other| term.reads(other) && !term.is_affine_in(other))
                && term.factors().is_empty()
                && term.angles().is_none()
        };
        let at_once = readers.iter().any(|&t| reads_all(&self.terms[t]));
        (is_plain && at_once && others.len() == watch.most).then_some(others)
    }

    /// The means of the terms that read a feature given others of their features, as terms of these.
    fn means_given(&self, s: usize, inside: &[usize]) -> Self {
        let readers = self.readers(s).into_iter();
        self.of_terms(readers.map(|t| self.marginal_mean(t, inside, 1.0)))
    }

    /// The mean over an axis of a feature of the terms that read it, as a term of the others.
    fn mean_over_axis(&self, s: usize, axis: (f64, f64), others: &[usize]) -> Arc<Term> {
        let terms: Vec<Arc<Term>> = self.readers(s).into_iter().map(|t| self.term(t)).collect();
        let (engine, breaking) = (self.clone(), terms.clone());
        let value = move |row: &[f64]| {
            let mut row = row.to_vec();
            let means =
                terms.iter().map(|term| engine.integrated_axis_mean(term, s, axis, &mut row));
            Estimate::sum(means)
        };
        let term = Term::estimated(others, value, |_, _| f64::NAN);
        Arc::new(term.breaking_where(move |along, row, found| {
            let mut row = row.to_vec();
            row[s] = f64::NAN;
            let local = LocalQuantity::Centred { feature: s, axis };
            breaking.iter().for_each(|term| local.breaks(term, along, &mut row, found));
        }))
    }

    pub(super) fn within_most(
        &self,
        most: f64,
        make: impl FnOnce() -> Estimate,
    ) -> Option<Estimate> {
        let most = self.watch.as_ref()?.limit(most);
        let had_refused = Watch::has_refused();
        let made = within_budget(most, make);
        // What was refused on the way is no reason: there are other ways.
        if !had_refused {
            drop(Watch::reason());
        }
        made.filter(|made| made.value.is_finite() && !made.simulated)
    }
}

/// Weight of the variance of the mean given a set of features and the one of interest, of which so many are left out and
/// so many others in it: the sum over the sets v that hold it of (−1)^(those of v that it has not) / (|v| + 1)², v
/// without the one of interest.
pub(super) fn weight(outside: usize, inside: usize) -> f64 {
    let (mut sum, mut binomial) = (0.0, 1.0);
    for more in 0..=outside {
        let sign = if more % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * binomial / ((inside + more + 1) as f64).powi(2);
        binomial *= (outside - more) as f64 / (more + 1) as f64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Law, PiecewiseUniform};

    /// The product of x + a of four features that are uniform from 0 to 1, without its factors being told.
    fn product(most: usize) -> Engine {
        let law = (0..4)
            .fold(Law::new(), |law, s| law.with_independent(s, PiecewiseUniform::on(0.0, 1.0)));
        let value = |x: &[f64]| (x[0] + 0.1) * (x[1] - 0.3) * (x[2] + 1.0) * (x[3] - 0.7);
        let term = Term::new(&[0, 1, 2, 3], value, |_, _| f64::NAN);
        let names: Vec<String> = (1..=4).map(|s| format!("x{s}")).collect();
        Engine::new(law, vec![term]).watched(Arc::new(Watch::new(most, false, &names)))
    }

    /// E f_u² is the product over u of 1/12 and over the others of squared means.
    #[test]
    fn variances_of_shapley_values_of_a_product_are_known() {
        let means = [0.6_f64, 0.2, 1.5, -0.2];
        for s in 0..4 {
            let of = |set: usize| {
                let each = means.iter().enumerate();
                each.map(|(k, m)| if set >> k & 1 == 1 { 1.0 / 12.0 } else { m * m })
                    .product::<f64>()
            };
            let sets = (0..16_usize).filter(|set| set >> s & 1 == 1 && set.count_ones() > 1);
            let known: f64 = sets.map(|set| of(set) / f64::from(set.count_ones()).powi(2)).sum();
            let found = product(3).mean_of_shapley_variance(s).unwrap();
            let off = (found.value - known).abs();
            assert!(
                off <= found.error + 1e-15 && found.error < 1e-11,
                "{s}: {found:?}, not {known}"
            );
        }
        assert!(product(2).mean_of_shapley_variance(0).is_none());
    }

    /// The variance of the others times the integral of the square of x less its mean on the axis.
    #[test]
    fn variances_of_centred_curves_of_a_product_are_known() {
        let moment = |a: f64| 1.0 / 3.0 + a + a * a;
        let square: f64 = [-0.3, 1.0, -0.7].map(moment).iter().product();
        let mean: f64 = [0.2_f64, 1.5, -0.2].iter().product();
        let known = (square - mean * mean) * 0.5_f64.powi(3) / 12.0;
        let found = product(3).integral_of_centred_variance(0, (0.25, 0.75)).unwrap();
        let off = (found.value - known).abs();
        assert!(off <= found.error + 1e-15 && found.error < 1e-11, "{found:?}, not {known}");
    }
}
