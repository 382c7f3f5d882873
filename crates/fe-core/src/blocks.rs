//! Work on blocks of rows, in parallel, added up in an order that no thread can change.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Blocks handed out before their results are merged; bounds the memory of unmerged results.
const WAVE: usize = 64;

/// Calls `work` on consecutive blocks of `0..rows` and `merge` on the results, in row order. Results are
/// merged while other threads work on later blocks.
pub(crate) fn fold_blocks<T: Send, E: Send>(
    rows: usize,
    block: usize,
    work: impl Fn(Range<usize>) -> Result<T, E> + Sync,
    merge: impl FnMut(T) + Send,
) -> Result<(), E> {
    fold_blocks_with(rows, block, || (), |(), range| work(range), merge)
}

/// The same with something that `work` may write to, used again for later blocks: each thread has one.
/// What it holds from a former block must not change the result.
pub(crate) fn fold_blocks_with<R: Send, T: Send, E: Send>(
    rows: usize,
    block: usize,
    room: impl Fn() -> R + Sync,
    work: impl Fn(&mut R, Range<usize>) -> Result<T, E> + Sync,
    mut merge: impl FnMut(T) + Send,
) -> Result<(), E> {
    let starts: Vec<usize> = (0..rows).step_by(block).collect();
    // One for each thread, as what a thread has written to is in its cache, and one for none of them.
    let rooms: Vec<Mutex<Option<R>>> =
        (0..=rayon::current_num_threads()).map(|_| Mutex::new(None)).collect();
    let each = |&start: &usize| {
        let own = &rooms[rayon::current_thread_index().unwrap_or(rooms.len() - 1)];
        let known = own.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut room = known.unwrap_or_else(&room);
        let result = work(&mut room, start..rows.min(start + block));
        *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
        result
    };
    let results_of = |wave: &[usize]| -> Result<Vec<T>, E> {
        match wave {
            [single] => Ok(vec![each(single)?]),
            // Block by block, so that a thread that is done early can take some from another.
            _ => wave.par_iter().with_max_len(1).map(each).collect(),
        }
    };
    let mut waves = starts.chunks(WAVE);
    let mut done = waves.next().map(results_of).transpose()?.unwrap_or_default();
    for wave in waves {
        let finished = std::mem::take(&mut done);
        let merging = || finished.into_iter().for_each(&mut merge);
        done = rayon::join(|| results_of(wave), merging).0?;
    }
    done.into_iter().for_each(merge);
    Ok(())
}
