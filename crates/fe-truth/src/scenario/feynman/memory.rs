//! Curves and means that are asked for again and again, as they were asked.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use super::background::over_length;
use super::length::{Length, side};
use super::means::{Given, Mean, Parts};
use super::turn::{Even, opening};
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::Estimate;

/// Answers by their questions, as they were asked.
pub(super) struct Known<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Known<K, V> {
    /// Most that are kept.
    const MOST: usize = 4096;

    pub(super) fn of(&self, key: K, make: impl FnOnce() -> V) -> V {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let made = make();
        let mut kept = lock();
        if kept.len() >= Self::MOST {
            kept.clear();
        }
        kept.insert(key, made.clone());
        made
    }
}

/// Parts of a spread, the lengths, and both intervals of angles.
type PartsKey = (Parts, ([u64; 4], [u64; 4]));

/// Memory of means over boxes of lengths and angles.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) curves: Known<(Mean, [u64; 4], [u64; 4]), Arc<Even>>,
    /// Sides by the logarithm of the ratio of lengths, of which the first is 1.
    pub(super) sides: Known<u64, Arc<Even>>,
    pub(super) squares: Known<([u64; 4], [u64; 4]), Estimate>,
    /// Means of sides over a length, by the other one.
    sides_over_lengths: Known<[u64; 3], Arc<Even>>,
    pub(super) with_means: Known<PartsKey, Arc<Curve>>,
    pub(super) squares_of_means: Known<PartsKey, Estimate>,
    pub(super) over_both: Known<(Given, [u64; 4], [u64; 4]), Estimate>,
}

impl Memory {
    /// The side for a first length of 1, as an even function of the difference of the angles.
    pub(super) fn side(&self, v: f64) -> Arc<Even> {
        let make = || Arc::new(Even::of(PI, |way| Estimate::exact(side(v, &opening(way)))));
        self.sides.of(v.to_bits(), make)
    }

    /// The mean of the side over a length, as an even function of the difference of the angles.
    pub(super) fn side_over_length(&self, x: f64, length: Length) -> Arc<Even> {
        let key = [x, length.from, length.to].map(f64::to_bits);
        self.sides_over_lengths
            .of(key, || Arc::new(Even::of(PI, |way| over_length(x, &opening(way), length))))
    }
}
