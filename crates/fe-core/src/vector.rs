//! Loops that run with the widest instructions the processor has.
//!
//! The instructions change how many numbers are worked on at once, never the arithmetic of one:
//! nothing is fused, and sums have parts in a fixed order. Every processor gives the same bits.

use pulp::{Arch, NullaryFnOnce};

/// Runs a loop, which must be marked `#[inline(always)]`, compiled for this processor.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl NullaryFnOnce<Output = R>) -> R {
    arch().dispatch(work)
}

#[cfg(not(test))]
#[inline(always)]
fn arch() -> Arch {
    Arch::new()
}

#[cfg(test)]
fn arch() -> Arch {
    tests::FORCED.get().unwrap_or_else(Arch::new)
}

/// Whether all values are finite; without a way out on the first that is not, which is faster.
pub(crate) fn all_finite(values: &[f64]) -> bool {
    // Of all numbers without their sign, infinities and NaN have the largest bits.
    const INFINITE: u64 = 0x7ff0_0000_0000_0000;
    vectorised(
        #[inline(always)]
        || {
            let magnitude = |value: &f64| value.to_bits() << 1;
            values.iter().fold(true, |finite, value| finite & (magnitude(value) < INFINITE << 1))
        },
    )
}

/// Takes from each value another.
pub(crate) fn subtract(values: &mut [f64], less: &[f64]) {
    vectorised(
        #[inline(always)]
        || values.iter_mut().zip(less).for_each(|(value, less)| *value -= less),
    );
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Instructions to use in place of the widest.
        pub(super) static FORCED: Cell<Option<Arch>> = const { Cell::new(None) };
    }

    #[test]
    fn every_value_must_be_finite() {
        for len in 1..40 {
            let values = vec![-f64::MAX; len];
            assert!(all_finite(&values));
            for at in 0..len {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let mut values = values.clone();
                    values[at] = bad;
                    assert!(!all_finite(&values), "{bad} at {at} of {len}");
                }
            }
        }
    }
}
