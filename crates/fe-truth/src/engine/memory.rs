//! Integrals that are asked for again at the same values of the features that are held.

use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use super::watch::{spend, with_cost};
use crate::numeric::mixed::Mapped;
use crate::numeric::quadrature::Estimate;

/// Most features whose values are part of a key.
const MOST_HELD: usize = 4;
/// Most numbers that are kept.
const MOST_KEPT: usize = 1 << 17;

/// Values of the features that are held, to the bit; none where they are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldValues(Option<[u64; MOST_HELD]>);

impl Hash for HeldValues {
    /// Word by word: as a slice they would be bytes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().flatten().for_each(|word| state.write_u64(*word));
    }
}

impl HeldValues {
    /// Of features of a row, always in the same order.
    pub(crate) fn of(features: &[usize], row: &[f64]) -> Self {
        let mut bits = [0; MOST_HELD];
        for (bits, &feature) in bits.iter_mut().zip(features) {
            *bits = row[feature].to_bits();
        }
        Self((features.len() <= MOST_HELD).then_some(bits))
    }
}

/// Numbers by what they are of and the values that are held, with what they cost: the nodes of integrals around
/// them come again at each point of a curve. They are the same to the bit as if computed anew.
pub(crate) struct Memory<K>(Mutex<Numbers<K>>);

type Numbers<K> = Mapped<(K, HeldValues), (Estimate, f64)>;

impl<K> Default for Memory<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq> Memory<K> {
    /// A number that is known, or is made and kept; what was refused is not.
    pub(crate) fn of(&self, key: (K, HeldValues), make: impl FnOnce() -> Estimate) -> Estimate {
        if key.1.0.is_none() {
            return make();
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&key).copied();
        if let Some((known, cost)) = known {
            spend(cost);
            return known;
        }
        let (made, cost) = with_cost(make);
        if !made.value.is_nan() {
            let mut kept = lock();
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            kept.insert(key, (made, cost));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_made_once_for_the_same_values_and_not_kept_where_refused() {
        let memory: Memory<usize> = Memory::default();
        let mut count = 0;
        let mut ask = |key, features: &[usize], row: &[f64], value| {
            memory.of((key, HeldValues::of(features, row)), || {
                count += 1;
                Estimate::exact(value)
            });
            count
        };
        assert_eq!(ask(0, &[0, 2], &[1.0, 2.0, 3.0], 5.0), 1);
        // What is not held does not matter; what is does, to its sign.
        assert_eq!(ask(0, &[0, 2], &[1.0, 7.0, 3.0], 5.0), 1);
        assert_eq!(ask(1, &[0, 2], &[1.0, 2.0, 3.0], 5.0), 2);
        assert_eq!(ask(0, &[0], &[0.0], 5.0), 3);
        assert_eq!(ask(0, &[0], &[-0.0], 5.0), 4);
        assert_eq!(ask(2, &[], &[], f64::NAN), 5);
        assert_eq!(ask(2, &[], &[], f64::NAN), 6);
        let (many, row) = ([0, 1, 2, 3, 4], [0.0; 5]);
        assert_eq!(ask(3, &many, &row, 5.0), 7);
        assert_eq!(ask(3, &many, &row, 5.0), 8);
    }
}
