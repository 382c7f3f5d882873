//! SIMD: loops that run with the widest instructions the processor has.
//!
//! The instructions change how many numbers are worked on at once, never the arithmetic of one:
//! nothing is fused, and sums have parts in a fixed order. Every processor gives the same bits.

use std::sync::atomic::{AtomicBool, Ordering};

use pulp::{Arch, NullaryFnOnce};

/// Runs a loop, which must be marked `#[inline(always)]`, compiled for this processor.
///
/// `FnMut`, though it is called once: what calls a closure as `FnOnce` is a function of its own, which
/// the compiler may leave without the wide instructions.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnMut() -> R) -> R {
    arch().dispatch(Work(work))
}

struct Work<F>(F);

impl<R, F: FnMut() -> R> NullaryFnOnce for Work<F> {
    type Output = R;

    #[inline(always)]
    fn call(mut self) -> R {
        (self.0)()
    }
}

/// True if wide instructions are left alone.
static HELD_DOWN: AtomicBool = AtomicBool::new(false);

/// Leaves wide instructions alone from now on, as on a processor that has none: slower, and the same bits.
pub fn hold_down() {
    HELD_DOWN.store(true, Ordering::Relaxed);
}

/// True after [`hold_down`].
#[inline]
#[must_use]
pub fn is_held_down() -> bool {
    HELD_DOWN.load(Ordering::Relaxed)
}

#[cfg(not(test))]
#[inline(always)]
fn arch() -> Arch {
    if is_held_down() { Arch::Scalar } else { Arch::new() }
}

#[cfg(test)]
fn arch() -> Arch {
    tests::FORCED.get().unwrap_or_default()
}

/// True if all values are finite; without a way out on the first that is not, which is faster.
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

    use ndarray::Array2;

    use super::*;
    use crate::data::Dataset;
    use crate::model::FunctionModel;
    use crate::settings::Settings;
    use crate::{estimator, regional};

    thread_local! {
        /// Instructions to use in place of the widest.
        pub(super) static FORCED: Cell<Option<Arch>> = const { Cell::new(None) };
    }

    /// SIMD levels of this processor: always the narrowest.
    fn available() -> Vec<Arch> {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = pulp::x86::V3::try_new().map(Arch::V3);
            let v4 = pulp::x86::V4::try_new().map(Arch::V4);
            [Some(Arch::Scalar), v3, v4].into_iter().flatten().collect()
        }
        #[cfg(not(target_arch = "x86_64"))]
        vec![Arch::Scalar, Arch::new()]
    }

    /// Numbers of many sizes, some of them twice.
    fn data(weighted: bool) -> Dataset {
        let value = |j: usize, i: usize| {
            let turn = ((i * (37 + 12 * j) + 11 * j) % 4973) as f64 / 4973.0;
            turn.powi(1 + j as i32) * 10_f64.powi(3 * j as i32) - 0.3
        };
        let rows = if weighted { 700 } else { 5000 };
        let data = Dataset::from_features(Array2::from_shape_fn((3, rows), |(j, i)| value(j, i)));
        let weights = (0..rows).map(|i| [1.0, 0.5, 0.0, 3.0][i % 4]).collect();
        if weighted { data.unwrap().with_weights(weights).unwrap() } else { data.unwrap() }
    }

    /// Every kernel through what uses it: the whole text of its result.
    fn results(data: &Dataset) -> Vec<String> {
        let model = FunctionModel::new(3, |x| (x[0] * x[1]).sin() + x[0] * x[0] - 1e-3 * x[2])
            .with_partial(|s, x| match s {
                0 => x[1] * (x[0] * x[1]).cos() + 2.0 * x[0],
                1 => x[0] * (x[0] * x[1]).cos(),
                _ => -1e-3,
            });
        let settings = |set: fn(&mut Settings)| {
            let mut settings = Settings::default();
            set(&mut settings);
            settings
        };
        let estimates = [
            ("ale", settings(|s| s.bins = Some(13))),
            ("ale", settings(|s| s.binning = Some("quantile".to_owned()))),
            ("dale", settings(|s| s.bins = Some(33))),
            ("rhale", settings(|s| s.bins = Some(41))),
            ("pdp", settings(|s| s.grid = Some(7))),
            ("dpdp", settings(|s| s.grid = Some(6))),
            ("shapdp", settings(|s| s.subsample = Some(61))),
        ];
        let mut results = Vec::new();
        for (name, settings) in estimates {
            let estimator = estimator::from_settings(name, &settings).unwrap();
            for feature in 0..2 {
                let effects = estimator.estimate(data, &model, feature).unwrap();
                results.push(serde_json::to_string(&effects).unwrap());
            }
        }
        for name in ["regional-ale", "regional-rhale", "regional-pdp"] {
            let settings = settings(|s| s.subsample = Some(600));
            let regional = regional::from_settings(name, &settings).unwrap();
            let effects = regional.fit(data, &model, 0).unwrap();
            results.push(serde_json::to_string(&effects).unwrap());
        }
        results
    }

    #[test]
    fn all_instructions_give_the_same_bits() {
        // What is forced holds for one thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for weighted in [false, true] {
            let with = |arch: Arch| {
                pool.install(|| {
                    FORCED.set(Some(arch));
                    // A copy has no summaries yet.
                    results(&data(weighted))
                })
            };
            let narrowest = with(Arch::Scalar);
            for arch in available() {
                assert!(with(arch) == narrowest, "{arch:?}, weighted: {weighted}");
            }
        }
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
