//! Results of functions for some things, made on all threads.
//!
//! What divides work among threads is compiled once for each kind of result, not for each function.

use rayon::prelude::*;

/// A result for each thing, in their order.
pub(crate) fn of_each<'a, T: Sync, R: Send>(
    all: &'a [T],
    f: &(dyn Fn(&'a T) -> R + Sync),
) -> Vec<R> {
    of_places(all.len(), &|place| f(&all[place]))
}

/// A result for each of the places `0..count`, in their order.
pub(crate) fn of_places<R: Send>(count: usize, f: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    (0..count).into_par_iter().map(f).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_things() {
        assert_eq!(of_places(1000, &|place| place * place)[999], 998_001);
        assert_eq!(of_each(&["a", "bc", ""], &|text| text.len()), [1, 2, 0]);
        assert!(of_each(&[], &|_: &f64| 1.0).is_empty());
    }
}
