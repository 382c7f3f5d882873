//! Probabilities of a condition given features of which one number tells all, as curves of that number.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Block;
use crate::numeric::mixed::Mapped;
use crate::numeric::quadrature::{Estimate, Piecewise, one_by_one};

/// Curves by the [`kinds`] of the features that are known.
#[derive(Default)]
pub(super) struct Chances(Mutex<Mapped<u64, Arc<Curves>>>);

/// Logarithms of probabilities along pieces of [`Block::summary`], each made when it is asked for; none where they are not
/// resolved.
pub(super) struct Curves {
    pieces: Vec<OnceLock<Option<Piecewise>>>,
    /// Number of the first piece.
    first: f64,
}

/// The probability given features, told as [`Block::known`].
pub(super) type ChanceGiven<'a> = &'a dyn Fn(&[(usize, f64)]) -> f64;

/// Width of a piece: probabilities of intervals of normal scores change on the scale of a standard deviation.
const WIDTH: f64 = 2.0;

/// Pieces on either side of 0 for each feature that is given: as far out as normal scores of numbers are.
const FARTHEST: usize = 20;

/// Relative error of integrals of laws, and most parts of a piece.
const NOISE: f64 = 2e-14;
const MOST_PIECES: usize = 8;

/// Largest error of a logarithm near 0, which is the relative one of the probability; it grows with the square of the summary, as
/// logarithms of normal densities do.
const ACCURATE: f64 = 5e-13;

impl Chances {
    /// Those of a condition on a feature of a block given others, where they are integrals that one number tells.
    pub(super) fn given(&self, base: &dyn Block, given: &[usize]) -> Option<Arc<Curves>> {
        base.summary(&given.iter().map(|feature| (*feature, 0.0)).collect::<Vec<_>>())?;
        let kinds = kinds(base, given)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(known.entry(kinds).or_insert_with(|| Arc::new(Curves::of(given.len())))))
    }
}

impl Curves {
    fn of(given: usize) -> Self {
        let first = FARTHEST * given;
        Self { pieces: (0..2 * first).map(|_| OnceLock::new()).collect(), first: -(first as f64) }
    }

    /// The probability of a condition on a feature of a block given others, where it is read off a curve: at its nodes it is told
    /// for such values of these.
    pub(super) fn at(
        &self,
        base: &dyn Block,
        given: &[(usize, f64)],
        chance: ChanceGiven<'_>,
    ) -> Option<f64> {
        let summary = base.summary(given)?;
        let piece = (summary / WIDTH).floor();
        let curve = self.pieces.get(usize_of(piece - self.first)?)?;
        let curve = curve.get_or_init(|| {
            let chance = |summary: f64| chance(&base.told(given, summary)).ln();
            Self::piece(WIDTH * piece, chance)
        });
        curve.as_ref().map(|curve| curve.at(summary).value.exp())
    }

    /// A piece of the curve.
    fn piece(from: f64, chance: impl Fn(f64) -> f64) -> Option<Piecewise> {
        let ends = [from, from + WIDTH];
        // What has no digits has none along the whole piece.
        if !ends.iter().all(|end| chance(*end).is_finite()) {
            return None;
        }
        let mut logarithms =
            one_by_one(|summary| Estimate { error: NOISE, ..Estimate::exact(chance(summary)) });
        let curve = Piecewise::of_few(MOST_PIECES, &ends, &mut logarithms);
        (curve.at(from).error < ACCURATE * (1.0 + from * from)).then_some(curve)
    }
}

/// A number that is none of those below 0 or beside all numbers.
fn usize_of(place: f64) -> Option<usize> {
    (place >= 0.0).then_some(place as usize)
}

/// Most kinds of features that are told apart, each by the first feature that is like it, and bits of the number of each.
const KINDS: usize = 16;
const BITS: usize = 4;

/// The number of features that are given of each kind; none where there are too many, or no feature is given.
fn kinds(base: &dyn Block, given: &[usize]) -> Option<u64> {
    let first = |feature: usize| {
        (0..feature).find(|&other| base.are_alike(feature, other)).unwrap_or(feature)
    };
    if !(1..1 << BITS).contains(&given.len()) {
        return None;
    }
    given.iter().try_fold(0, |kinds, &feature| {
        let kind = first(feature);
        (kind < KINDS).then(|| kinds + (1_u64 << (BITS * kind)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::region::Condition;
    use crate::law::restricted::{Restricted, normaliser};
    use crate::law::{CommonCause, GaussianCopula, latent};

    /// Of the second of two conditions, given one feature and given two, against what the law itself says.
    #[test]
    fn chances_are_those_of_the_law() {
        for rho in [0.5, -0.15, 0.9] {
            let copula = Arc::new(GaussianCopula { rho, dimension: 5 });
            let first = Condition::between(0.45, 1.0);
            let base = Restricted::new(copula, 3, first);
            let second = Condition::between(0.0, 0.6);
            let chances = Chances::default();
            for given in [vec![(0, latent(0.3))], vec![(0, latent(0.3)), (2, latent(0.95))]] {
                let chance =
                    |given: &[(usize, f64)]| normaliser(&*base.conditional(4, given), &second);
                let features: Vec<usize> = given.iter().map(|(feature, _)| *feature).collect();
                let curves = chances.given(&base, &features).unwrap();
                let found = curves.at(&base, &given, &chance).unwrap();
                let known = chance(&given);
                assert!((found / known - 1.0).abs() < 1e-12, "{rho}: {found}, {known}");
            }
        }
    }

    #[test]
    fn there_is_no_curve_where_none_can_be() {
        let copula = Arc::new(GaussianCopula { rho: 0.5, dimension: 5 });
        let given = [(0, latent(0.3))];
        let chances = Chances::default();
        let half = |_: &[(usize, f64)]| 0.5;
        // More than one number tells of others.
        assert!(chances.given(&CommonCause { noise: 0.3 }, &[0]).is_none());
        let base = Restricted::new(copula, 3, Condition::between(0.45, 1.0));
        assert!(chances.given(&base, &[]).is_none());
        assert!(chances.given(&base, &[0; 16]).is_none());
        let curves = chances.given(&base, &[0]).unwrap();
        assert!(curves.at(&base, &given, &half).is_some());
        for x in [0.0, 1.0] {
            assert!(curves.at(&base, &[(0, latent(x))], &half).is_none(), "{x}");
        }
    }
}
