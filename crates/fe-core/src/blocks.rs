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
    mut merge: impl FnMut(T),
) -> Result<(), E> {
    let blocks: Vec<Range<usize>> =
        (0..rows).step_by(block).map(|start| start..rows.min(start + block)).collect();
    for wave in blocks.chunks(WAVE) {
        let results: Vec<T> = if let [single] = wave {
            vec![work(single.clone())?]
        } else {
            wave.par_iter().map(|range| work(range.clone())).collect::<Result<_, E>>()?
        };
        results.into_iter().for_each(&mut merge);
    }
    Ok(())
}
