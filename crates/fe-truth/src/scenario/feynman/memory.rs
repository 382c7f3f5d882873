//! Curves and means that are asked for again and again, as they were asked.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use super::components::Components;
use super::means::{Mean, Parts};
use super::quadratic::Quadratic;
use super::turn::Even;
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

/// Parts of a spread, the interval that means over the length are taken over, that of its values, the other length and both
/// angles.
type FormsKey = (Parts, [(u64, u64); 5]);

/// Memory of means over boxes of lengths and angles.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) curves: Known<(Mean, [u64; 4], [u64; 4]), Arc<Even>>,
    pub(super) squares: Known<([u64; 4], [u64; 4]), Estimate>,
    /// By shares of the means given both lengths, one and none.
    pub(super) components: Known<([u64; 3], [u64; 4]), Arc<Components>>,
    pub(super) with_means: Known<PartsKey, Arc<Curve>>,
    /// Means over both angles of the functions that stand for means without the other angle.
    pub(super) over_both: Known<PartsKey, Arc<[Estimate]>>,
    /// Forms of spreads along a length; none where they are integrated.
    pub(super) forms: Known<FormsKey, Option<Arc<Quadratic>>>,
    pub(super) squares_of_means: Known<PartsKey, Estimate>,
}
