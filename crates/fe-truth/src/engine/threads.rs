//! Values of a function at many places, on several threads where they take long.
//!
//! They are what one thread would find, to the bit, and so are the evaluations that they count and the reason that is
//! left of a refusal: numbers in memory are the same as made anew, and from the first refused value on this thread goes on
//! alone, as it knows what is not worth its cost any more. Where all of them together take more evaluations than they may
//! nothing of them is used, by one thread or by many.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, scope};

use fe_core::interrupt;

use super::simulation::is_simulating;
use super::watch::{Allowance, Watch, spend, with_cost};
use crate::numeric::quadrature::Estimate;

/// Evaluations that are worth starting threads for, which takes as long as a thousand of them.
const WORTH_IT: f64 = 5e3;

/// Bytes of the stack of a thread: as much as that of a program has.
const STACK: usize = 8 << 20;

thread_local! {
    /// True on a thread that finds values for another one: it starts none itself.
    static IS_HELPING: Cell<bool> = const { Cell::new(false) };
}

/// A value that was found on another thread.
struct Found {
    value: Estimate,
    cost: f64,
    reason: Option<String>,
}

/// The values of a function at places, in their order.
pub(crate) fn at_each(places: &[f64], f: &(dyn Fn(f64) -> Estimate + Sync)) -> Vec<Estimate> {
    let Some((&first, others)) = places.split_first() else { return Vec::new() };
    let (value, cost) = with_cost(|| f(first));
    let mut values = vec![value];
    let work = cost * others.len() as f64;
    // Threads of a pool have other work, and what is simulated is told from what is not by the thread.
    let is_alone = !IS_HELPING.get() && !is_simulating() && rayon::current_thread_index().is_none();
    let threads = if is_alone { rayon::current_num_threads().min(others.len()) } else { 1 };
    let allowance = Allowance::of_thread();
    let can_be = !Watch::has_refused() && allowance.is_enough_for(work);
    if threads > 1 && work > WORTH_IT && can_be {
        for found in side_by_side(threads, allowance, others, f) {
            spend(found.cost);
            values.push(found.value);
            if let Some(reason) = found.reason {
                Watch::remember(reason);
                break;
            }
        }
    }
    values.extend(places[values.len()..].iter().map(|&place| f(place)));
    values
}

/// Values at places up to the first of them that is refused, if one is; each thread takes the next place. None where no thread
/// can be had.
fn side_by_side(
    threads: usize,
    allowance: Allowance,
    places: &[f64],
    f: &(dyn Fn(f64) -> Estimate + Sync),
) -> Vec<Found> {
    let (next, end) = (AtomicUsize::new(0), AtomicUsize::new(places.len()));
    let stop = interrupt::obeyed();
    let work = || {
        if let Some(stop) = stop {
            interrupt::obey(stop);
        }
        IS_HELPING.set(true);
        let mut found = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= end.load(Ordering::Relaxed) {
                return found;
            }
            allowance.take();
            let (value, cost) = with_cost(|| f(places[place]));
            let reason = Watch::reason();
            if reason.is_some() {
                end.fetch_min(place + 1, Ordering::Relaxed);
            }
            found.push((place, Found { value, cost, reason }));
        }
    };
    let mut all: Vec<(usize, Found)> = scope(|scope| {
        let start = |_| Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (0..threads).filter_map(start).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    all.sort_by_key(|(place, _)| *place);
    let end = end.into_inner();
    all.into_iter().take_while(|(place, _)| *place < end).map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::watch::{is_spent, within_budget};

    fn refusing(from: f64) -> impl Fn(f64) -> Estimate + Sync {
        move |x: f64| {
            spend(5000.0 + x);
            if x >= from && !Watch::has_refused() {
                return Watch::new(2, false, &[]).refuse(|| format!("at {x}"));
            }
            Estimate::exact(if Watch::has_refused() { -x } else { x * x })
        }
    }

    /// By one thread, as the others see it.
    fn one_by_one(places: &[f64], f: &dyn Fn(f64) -> Estimate) -> (Vec<f64>, f64, Option<String>) {
        let (values, cost) = with_cost(|| places.iter().map(|&x| f(x).value).collect());
        (values, cost, Watch::reason())
    }

    fn on_threads(
        places: &[f64],
        f: &(dyn Fn(f64) -> Estimate + Sync),
    ) -> (Vec<f64>, f64, Option<String>) {
        let (values, cost) =
            with_cost(|| at_each(places, f).iter().map(|found| found.value).collect());
        (values, cost, Watch::reason())
    }

    #[test]
    fn threads_find_what_one_does_up_to_the_first_refusal_and_after_it() {
        let places: Vec<f64> = (0..64).map(f64::from).collect();
        for from in [0.0, 1.0, 17.0, 62.5, 64.0] {
            let f = refusing(from);
            let (known, cost, reason) = one_by_one(&places, &f);
            let (values, spent, told) = on_threads(&places, &f);
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
            assert_eq!((bits(&values), told), (bits(&known), reason), "{from}");
            assert!((cost - spent).abs() < 1e-6, "{from}: {spent}, not {cost}");
        }
        assert!(at_each(&[], &refusing(0.0)).is_empty());
    }

    #[test]
    fn several_threads_work_where_nothing_limits_them_and_it_is_worth_it() {
        let threads = |cost: f64| {
            let own = std::thread::current().id();
            let others = AtomicUsize::new(0);
            at_each(&[0.0; 50], &|x| {
                spend(cost);
                others
                    .fetch_add(usize::from(std::thread::current().id() != own), Ordering::Relaxed);
                Estimate::exact(x)
            });
            others.into_inner()
        };
        let has_many = rayon::current_num_threads() > 1;
        assert_eq!(threads(1e4), if has_many { 49 } else { 0 });
        assert_eq!(threads(10.0), 0);
        let found = |most: f64| within_budget(most, || threads(1e4));
        assert_eq!(found(1e6), Some(threads(1e4)));
        // What cannot be paid for is not begun by many.
        let others = Cell::new(0);
        assert_eq!(within_budget(4e5, || others.set(threads(1e4))), None);
        assert_eq!(others.get(), 0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(|| threads(1e4)), 0);
    }

    /// Those of threads together count, and each has no more than is left.
    #[test]
    fn limits_are_those_of_one_thread() {
        let of = |most: f64, later: f64| {
            within_budget(most, || {
                at_each(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &|x| {
                    spend(if x > 1.0 { later } else { 1e4 });
                    Estimate::exact(if is_spent() { f64::NAN } else { x })
                })
            })
        };
        let known = of(6e4, 1e4).map(|found| found.iter().map(|x| x.value).sum::<f64>());
        assert_eq!(known, Some(21.0));
        assert!(of(6e4, 1.2e4).is_none());
        assert!(of(6e4, 7e4).is_none());
    }

    #[test]
    fn a_stop_ends_all_threads() {
        static STOP: interrupt::Stop = interrupt::Stop::new();
        let work = || {
            interrupt::obey(&STOP);
            let f = |x: f64| {
                spend(1e4);
                if x > 5.0 {
                    STOP.ask();
                }
                interrupt::check();
                Estimate::exact(x)
            };
            let places: Vec<f64> = (0..40).map(f64::from).collect();
            interrupt::under(|| at_each(&places, &f).len())
        };
        assert_eq!(std::thread::spawn(work).join().unwrap(), Err(interrupt::Stopped));
    }
}
