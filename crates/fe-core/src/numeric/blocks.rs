//! Work on blocks of rows, in parallel, added up in an order that no thread can change.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::interrupt;

/// Most blocks that are handed out and not merged; bounds the memory of their results.
const MOST_AHEAD: usize = 64;

/// Calls `work` on consecutive blocks of `0..rows` and `merge` on the results, in row order. A result is
/// merged as soon as those before it are, while other threads go on. Of several errors the one of the
/// first block is returned.
pub(crate) fn fold_blocks<T: Send, E: Send>(
    rows: usize,
    block: usize,
    work: impl Fn(Range<usize>) -> Result<T, E> + Sync,
    merge: impl FnMut(T) + Send,
) -> Result<(), E> {
    fold_blocks_with(rows, block, || (), |(), range| work(range), merge)
}

/// The same with something that `work` may write to, used again for later blocks: each thread has its
/// own, which stays in its cache. What it holds from a former block must not change the result.
pub(crate) fn fold_blocks_with<R, T: Send, E: Send>(
    rows: usize,
    block: usize,
    room: impl Fn() -> R + Sync,
    work: impl Fn(&mut R, Range<usize>) -> Result<T, E> + Sync,
    merge: impl FnMut(T) + Send,
) -> Result<(), E> {
    let blocks = rows.div_ceil(block);
    let (queue, merge) = (Queue::new(blocks), Mutex::new(merge));
    let walk = || {
        let mut room = room();
        while let Some(place) = queue.next() {
            interrupt::check();
            let start = place * block;
            let result = work(&mut room, start..rows.min(start + block));
            if queue.finish(place, result) {
                let mut merge = unpoisoned(&merge);
                while let Some(result) = queue.next_to_merge() {
                    merge(result);
                }
            }
        }
    };
    let threads = rayon::current_num_threads().min(blocks);
    while queue.has_more() {
        on_threads(threads, &walk);
    }
    queue.error()
}

/// Calls a function on so many threads at once, of which one that is done early takes work from another. Compiled once for all
/// functions.
fn on_threads(threads: usize, walk: &(dyn Fn() + Sync)) {
    if threads <= 1 {
        walk();
    } else {
        (0..threads).into_par_iter().with_max_len(1).for_each(|_| walk());
    }
}

/// Rows whose results are merged by themselves before those of several such stretches are. What is known of whole
/// stretches can so be put together later, to the bits of all rows in one piece.
pub const STRETCH: usize = 1 << 20;

/// The total of what `work` gives for consecutive blocks of `0..rows`, where no block reaches over the end of a
/// [`STRETCH`]: `add` puts blocks together in row order, and `join` the totals of stretches. Blocks have as many rows as
/// `block` says for the rows of their stretch.
pub(crate) fn fold_stretches<R, B: Send, T: Clone + Send + Sync, E: Send>(
    rows: usize,
    block: impl Fn(usize) -> usize,
    nothing: T,
    room: impl Fn() -> R + Sync,
    work: impl Fn(&mut R, Range<usize>) -> Result<B, E> + Sync,
    add: impl Fn(&mut T, B) + Sync,
    join: impl Fn(&mut T, &T) + Sync,
) -> Result<T, E> {
    let whole = rows / STRETCH;
    let (in_whole, in_last) = (block(STRETCH.min(rows)), block(rows % STRETCH).max(1));
    let per_stretch = STRETCH.div_ceil(in_whole);
    let blocks = whole * per_stretch + (rows % STRETCH).div_ceil(in_last);
    let of_block = |place: usize| {
        let stretch = place / per_stretch;
        let size = if stretch < whole { in_whole } else { in_last };
        let start = stretch.min(whole) * STRETCH;
        let from = start + (place - stretch.min(whole) * per_stretch) * size;
        let end = rows.min(start + STRETCH);
        (from..end.min(from + size), end)
    };
    let (mut total, mut stretch) = (nothing.clone(), nothing.clone());
    fold_blocks_with(
        blocks,
        1,
        room,
        |room, place| {
            let (rows, end) = of_block(place.start);
            let is_last = rows.end == end;
            Ok((work(room, rows)?, is_last))
        },
        |(found, is_last)| {
            add(&mut stretch, found);
            if is_last {
                join(&mut total, &stretch);
                stretch = nothing.clone();
            }
        },
    )?;
    Ok(total)
}

/// Calls `work` on consecutive blocks of `0..rows` with room of its own, and with what the block may write
/// to: its rows of each of some tables. No thread has to copy what others found.
pub(crate) fn fill_blocks<R, E: Send>(
    rows: usize,
    block: usize,
    tables: Vec<&mut [f64]>,
    room: impl Fn() -> R + Sync,
    work: impl Fn(&mut R, Range<usize>, &mut [&mut [f64]]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let mut places: Vec<Mutex<Vec<&mut [f64]>>> = Vec::new();
    places.resize_with(rows.div_ceil(block), Mutex::default);
    for table in tables {
        let numbers = table.len() / rows.max(1);
        for (place, part) in places.iter_mut().zip(table.chunks_mut((block * numbers).max(1))) {
            place.get_mut().unwrap_or_else(PoisonError::into_inner).push(part);
        }
    }
    let fill = |room: &mut R, range: Range<usize>| {
        let mut own = unpoisoned(&places[range.start / block]);
        work(room, range, &mut own)
    };
    fold_blocks_with(rows, block, room, fill, |()| ())
}

/// The queue of blocks: those handed out, and the results that wait for those of earlier blocks.
struct Queue<T, E>(Mutex<State<T, E>>);

struct State<T, E> {
    blocks: usize,
    /// The first block that no thread has.
    next: usize,
    /// The first block that is not merged.
    first: usize,
    /// Results from that block on, as far as there are any.
    waiting: VecDeque<Option<T>>,
    /// True if some thread merges, and will look for more before it stops.
    merging: bool,
    error: Option<(usize, E)>,
}

impl<T, E> Queue<T, E> {
    fn new(blocks: usize) -> Self {
        Self(Mutex::new(State {
            blocks,
            next: 0,
            first: 0,
            waiting: VecDeque::new(),
            merging: false,
            error: None,
        }))
    }

    /// The next block to be worked on; none if there is none, or too many wait for one that takes long.
    fn next(&self) -> Option<usize> {
        let mut state = unpoisoned(&self.0);
        let may = state.has_more() && state.next < state.first + MOST_AHEAD;
        may.then(|| {
            state.next += 1;
            state.next - 1
        })
    }

    fn has_more(&self) -> bool {
        unpoisoned(&self.0).has_more()
    }

    /// Takes what came out of a block; whether the caller has to merge.
    fn finish(&self, place: usize, result: Result<T, E>) -> bool {
        let mut state = unpoisoned(&self.0);
        match result {
            Ok(result) => {
                let place = place - state.first;
                if state.waiting.len() <= place {
                    state.waiting.resize_with(place + 1, || None);
                }
                state.waiting[place] = Some(result);
                let others = std::mem::replace(&mut state.merging, true);
                !others
            }
            Err(error) => {
                if state.error.as_ref().is_none_or(|(first, _)| place < *first) {
                    state.error = Some((place, error));
                }
                false
            }
        }
    }

    /// The next result in row order; none if it is not there yet, and then the caller no longer merges.
    fn next_to_merge(&self) -> Option<T> {
        let mut state = unpoisoned(&self.0);
        let next = state.waiting.front_mut().and_then(Option::take);
        if next.is_some() {
            state.waiting.pop_front();
            state.first += 1;
        } else {
            state.merging = false;
        }
        next
    }

    fn error(self) -> Result<(), E> {
        let state = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.error.map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl<T, E> State<T, E> {
    fn has_more(&self) -> bool {
        self.next < self.blocks && self.error.is_none()
    }
}

/// A thread that panicked does so for all: nobody looks at what it left.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn on_two_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(work)
    }

    #[test]
    fn results_are_merged_in_row_order_whichever_is_first() {
        let (rows, block) = (10_007, 10);
        let work = |range: Range<usize>| {
            // Blocks take different times, and not in the order of rows.
            std::thread::sleep(Duration::from_micros((range.start as u64 * 7919) % 60));
            Ok::<_, ()>(range)
        };
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut end = 0;
            let merge = |range: Range<usize>| {
                assert_eq!(range.start, end);
                end = range.end;
            };
            pool.install(|| fold_blocks(rows, block, work, merge)).unwrap();
            assert_eq!(end, rows);
        }
    }

    #[test]
    fn of_several_errors_that_of_the_first_block_is_returned() {
        for slow in [5, 6] {
            let begun = AtomicUsize::new(0);
            let work = |range: Range<usize>| {
                if range.start != 5 && range.start != 6 {
                    return Ok(());
                }
                begun.fetch_add(1, Ordering::Relaxed);
                while begun.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now();
                }
                if range.start == slow {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(range.start)
            };
            assert_eq!(on_two_threads(|| fold_blocks(100, 1, work, |()| ())), Err(5));
        }
    }

    /// The memory of results that wait is bounded.
    #[test]
    fn no_thread_runs_far_ahead_of_a_slow_block() {
        let done = AtomicUsize::new(0);
        let work = |range: Range<usize>| {
            if range.start == 0 {
                while done.load(Ordering::Relaxed) < MOST_AHEAD - 1 {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(2));
                assert_eq!(done.load(Ordering::Relaxed), MOST_AHEAD - 1);
            }
            done.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(1)
        };
        let mut total = 0;
        on_two_threads(|| fold_blocks(1000, 1, work, |one| total += one)).unwrap();
        assert_eq!(total, 1000);
    }
}
