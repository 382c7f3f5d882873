//! Mean squares of the Hoeffding components of independent features, simulated all at once from values at rows that are
//! mixed of two.
//!
//! On the corners of the box between two independent rows f has components f_v, one for each set v of features, and
//! E f_v² is the sum over u ⊇ v of σ_u² 2^−|u|, where σ_u² is the variance of the component of u under the law. What is
//! made of σ_u² is therefore a sum over sets v of E f_v² with weights: 2 for each v with s in it for the total index of
//! s, 4 for those of them with |v| even for its part in interactions, and 2/|v| for those with |v| odd for its Shapley
//! effect, in which nothing cancels.

use fe_core::interrupt;

use super::Engine;
use super::interactions::decompose;
use super::simulation::Drawn;
use super::watch::{Watch, spend};
use crate::function::Term;
use crate::numeric::quadrature::Estimate;
use crate::numeric::sobol::{Points, RANDOMISATIONS, half_width};

/// Pairs of rows of each randomisation before the intervals are looked at for the first time.
const FIRST: usize = 64;

/// Mean squares of components of some features, by sets of them: a bit for each.
pub(crate) struct Components {
    features: Vec<usize>,
    /// Of each randomisation.
    squares: Vec<Vec<f64>>,
    /// Bounds of what values of f that are off themselves put each of them off by.
    off: Vec<f64>,
}

impl Engine {
    /// The mean squares of the components of some features, which are independent of each other and of all others, for the
    /// sum of the terms that read them. It ends where no variance is off by more than `enough`, or
    /// where twice the evaluations would be more than `most`. None where nothing limits what is integrated.
    pub(crate) fn simulated_components(
        &self,
        features: &[usize],
        most: f64,
        enough: f64,
    ) -> Option<Components> {
        let watch = self.watch.as_deref()?;
        let reads = |term: &&Term| features.iter().any(|&s| term.reads(s));
        let terms: Vec<&Term> = self.terms.iter().map(|term| &**term).filter(reads).collect();
        let corners = |term: &&Term| 2_f64.powi(term.features().len() as i32);
        let each = terms.iter().map(corners).sum::<f64>() * RANDOMISATIONS as f64;
        let mut simulation = Simulation::new(self, features, terms, watch);
        let (mut done, mut until) = (0, FIRST);
        loop {
            let found = simulation.until(done, until);
            spend(each * (until - done) as f64);
            (done, until) = (until, 2 * until);
            let shapley = |&s: &usize| found.shapley_effect(s);
            let is_narrow = |effect: Estimate| effect.error <= enough;
            if each * until as f64 > most || features.iter().map(shapley).all(is_narrow) {
                return Some(found);
            }
        }
    }
}

/// Sums of squares so far.
struct Simulation<'a> {
    features: Vec<usize>,
    /// With the places of its features.
    terms: Vec<(&'a Term, Vec<usize>)>,
    drawn: Drawn<'a>,
    points: Vec<Points<'a>>,
    sums: Vec<Vec<f64>>,
    off: Vec<f64>,
}

impl<'a> Simulation<'a> {
    fn new(engine: &'a Engine, features: &[usize], terms: Vec<&'a Term>, watch: &Watch) -> Self {
        let nothing = vec![f64::NAN; engine.law().dimension()];
        let drawn = Drawn::new(engine.law(), features, &[], &nothing);
        let count = 2 * drawn.draws();
        let points = |r| Points::new(r, count, watch.is_witness);
        let place = |s: &usize| features.iter().position(|other| other == s);
        let places = |term: &Term| term.features().iter().filter_map(place).collect();
        let sets = 1 << features.len();
        Self {
            features: features.to_vec(),
            terms: terms.into_iter().map(|term| (term, places(term))).collect(),
            drawn,
            points: (0..RANDOMISATIONS).map(points).collect(),
            sums: vec![vec![0.0; sets]; RANDOMISATIONS],
            off: vec![0.0; sets],
        }
    }

    /// The means over so many pairs of rows of each randomisation, some of which are done.
    fn until(&mut self, done: usize, until: usize) -> Components {
        let mut rows = [(); 2].map(|()| vec![f64::NAN; self.drawn.dimension()]);
        let mut point = vec![0.0; 2 * self.drawn.draws()];
        let mut values = vec![0.0; self.off.len()];
        for (points, sums) in self.points.iter_mut().zip(&mut self.sums) {
            interrupt::check();
            for _ in done..until {
                points.write(&mut point);
                for (row, point) in rows.iter_mut().zip(point.chunks(self.drawn.draws())) {
                    self.drawn.write(point, row);
                }
                let error = mixed(&self.terms, &rows, &mut values);
                decompose(&mut values);
                for ((sum, off), value) in sums.iter_mut().zip(&mut self.off).zip(&values) {
                    *sum += value * value;
                    *off += error * (2.0 * value.abs() + error);
                }
            }
        }
        let n = until as f64;
        Components {
            features: self.features.clone(),
            squares: self.sums.iter().map(|of| of.iter().map(|sum| sum / n).collect()).collect(),
            off: self.off.iter().map(|off| off / (n * RANDOMISATIONS as f64)).collect(),
        }
    }
}

/// Values of a sum of terms at all rows that are mixed of two, by the set of features that are as in the second, and how
/// far they may be off.
fn mixed(terms: &[(&Term, Vec<usize>)], rows: &[Vec<f64>; 2], values: &mut [f64]) -> f64 {
    values.fill(0.0);
    let mut row = rows[0].clone();
    let mut error = 0.0;
    for (term, places) in terms {
        let mut off = 0.0_f64;
        let at = |set: usize| {
            for (bit, &s) in term.features().iter().enumerate() {
                row[s] = rows[set >> bit & 1][s];
            }
            let value = term.estimate(&row);
            off = off.max(value.error + f64::EPSILON * value.magnitude);
            value.value
        };
        let own: Vec<f64> = (0..1_usize << places.len()).map(at).collect();
        error += off;
        for (set, value) in values.iter_mut().enumerate() {
            let bits = places.iter().enumerate().map(|(bit, place)| (set >> place & 1) << bit);
            *value += own[bits.sum::<usize>()];
        }
    }
    error
}

impl Components {
    /// The Shapley effect of one of the features.
    pub(crate) fn shapley_effect(&self, s: usize) -> Estimate {
        self.sum(&[s], |size| (size % 2) as f64 * 2.0 / size as f64)
    }

    /// The variance of f given all other features, on average.
    pub(crate) fn total(&self, s: usize) -> Estimate {
        self.sum(&[s], |_| 2.0)
    }

    /// The variance of all components of several features of which one is given.
    pub(crate) fn interactions(&self, s: usize) -> Estimate {
        self.sum(&[s], |size| if size.is_multiple_of(2) { 4.0 } else { 0.0 })
    }

    /// The variance of all components of several features.
    pub(crate) fn all_interactions(&self) -> Estimate {
        self.sum(&[], |size| {
            let twice = 2.0 * size as f64;
            if size.is_multiple_of(2) { twice } else { 2.0 - twice }
        })
    }

    /// The variance of the component of one feature, or of a pair.
    pub(crate) fn component(&self, of: &[usize]) -> Estimate {
        self.sum(of, |size| {
            let sign = if (size - of.len()).is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * 2_f64.powi(of.len() as i32)
        })
    }

    /// The sum over all sets with some features in them, with weights by the size of the set.
    fn sum(&self, with: &[usize], weight: impl Fn(usize) -> f64) -> Estimate {
        let place = |s: &usize| self.features.iter().position(|other| other == s);
        let bits: Vec<Option<usize>> = with.iter().map(place).collect();
        let has = |set: usize| bits.iter().all(|bit| bit.is_some_and(|bit| set >> bit & 1 == 1));
        let weights: Vec<(usize, f64)> = (0..self.off.len())
            .filter(|&set| has(set))
            .map(|set| (set, weight(set.count_ones() as usize)))
            .collect();
        let of = |squares: &Vec<f64>| {
            weights.iter().map(|&(set, weight)| weight * squares[set]).sum::<f64>()
        };
        let each: Vec<f64> = self.squares.iter().map(of).collect();
        let count = each.len() as f64;
        let value = each.iter().sum::<f64>() / count;
        let magnitude = |(set, weight): &(usize, f64)| {
            weight.abs() * self.squares.iter().map(|squares| squares[*set]).sum::<f64>() / count
        };
        let magnitude = weights.iter().map(magnitude).sum::<f64>();
        let off = weights.iter().map(|&(set, weight)| weight.abs() * self.off[set]).sum::<f64>();
        let error = half_width(&each, value) + off + 1e-13 * magnitude;
        Estimate { value, magnitude, error, simulated: true }
    }
}

#[cfg(test)]
mod tests {
    use crate::quantity::Index;

    /// Of f = (x1 + 1)(x2 + 1)(x3 + 1)(x4 + 1) under the normal law each set of features has the variance 1.
    #[test]
    fn effects_of_a_product_are_those_of_its_sets() {
        let law: String = (1..=4).map(|s| format!("x{s} = \"normal(0, 1)\"\n")).collect();
        let text = format!("f = \"(x1 + 1)*(x2 + 1)*(x3 + 1)*(x4 + 1)\"\n[law]\n{law}");
        let scenario = crate::problem("mine", &text, &[]).unwrap();
        let indices = scenario.indices();
        let exact = |index, of: &[usize]| indices.index(index, of).unwrap().value;
        let watch = crate::engine::watch::Watch::new(3, false, &[]);
        let engine = scenario.parts.engine.clone().watched(watch.into());
        let found = engine.simulated_components(&[0, 1, 2, 3], 3e7, 0.0).unwrap();
        let known = [
            (found.component(&[2]), 1.0),
            (found.component(&[1, 3]), 1.0),
            (found.total(0), 8.0),
            (found.interactions(1), 7.0),
            (found.all_interactions(), 11.0),
            (found.shapley_effect(3), 15.0 / 4.0),
        ];
        for (found, known) in known {
            assert!((found.value - known).abs() <= found.error, "{found:?}, not {known}");
            assert!(found.error < 0.05 * known, "{found:?}");
        }
        assert!((exact(Index::ShapleyEffect, &[3]) - 15.0 / 4.0).abs() < 1e-9);
    }
}
