//! Work on blocks of rows, in parallel, added up in an order that no thread can change.

use std::ops::Range;

use rayon::prelude::*;

/// Blocks handed out before their results are merged; bounds the memory of unmerged results.
const WAVE: usize = 64;

/// Calls `work` on consecutive blocks of `0..rows` and `merge` on the results, in row order.
pub(crate) fn fold_blocks<T: Send, E: Send>(
    rows: usize,
    block: usize,
    work: impl Fn(Range<usize>) -> Result<T, E> + Sync,
    merge: impl FnMut(T),
) -> Result<(), E> {
    fold_blocks_with(rows, block, || (), |(), range| work(range), merge)
}

/// The same with something that `work` may write to: made by `room` now and then, and used for many
/// blocks. What it holds from a former block must not change the result.
pub(crate) fn fold_blocks_with<R, T: Send, E: Send>(
    rows: usize,
    block: usize,
    room: impl Fn() -> R + Sync,
    work: impl Fn(&mut R, Range<usize>) -> Result<T, E> + Sync,
    mut merge: impl FnMut(T),
) -> Result<(), E> {
    let starts: Vec<usize> = (0..rows).step_by(block).collect();
    let range = |&start: &usize| start..rows.min(start + block);
    for wave in starts.chunks(WAVE) {
        let results: Vec<T> = if let [single] = wave {
            vec![work(&mut room(), range(single))?]
        } else {
            let each = |room: &mut R, start: &usize| work(room, range(start));
            wave.par_iter().map_init(&room, each).collect::<Result<_, E>>()?
        };
        results.into_iter().for_each(&mut merge);
    }
    Ok(())
}
