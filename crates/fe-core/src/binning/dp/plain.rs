//! The dynamic programming that [`Dynamic`](super::Dynamic) is a faster form of.

use crate::numeric::moments::Moments;

/// The limits of the bins of least RHALE objective, found without leaving anything out: every bin is merged cell
/// by cell from the right. None where no division is allowed.
///
/// Given are the K + 1 limits of the cells, the moments of the local effects in each, and least number of
/// instances, discount and ddof. [`Dynamic`](super::Dynamic) finds the same and skips bins that cannot be the
/// cheapest.
///
/// ```
/// use fe_core::binning::plain_optimum;
/// use fe_core::numeric::moments::Moments;
/// let cells = [[1.0, 1.0], [1.0, 1.0], [5.0, 5.0]].map(|effects| Moments::of(&effects));
/// let found = plain_optimum(&[0.0, 1.0, 2.0, 3.0], &cells, (2.0, 0.0, 1.0));
/// assert_eq!(found, Some(vec![0.0, 2.0, 3.0]));
/// ```
#[must_use]
pub fn plain_optimum(
    limits: &[f64],
    moments: &[Moments],
    (min_points, discount, ddof): (f64, f64, f64),
) -> Option<Vec<f64>> {
    let cells = moments.len();
    let per_point = discount / moments.iter().map(|cell| cell.weight).sum::<f64>();
    // Cost, number of bins and end of the first of them, of the cells from one on.
    let mut best = vec![(f64::INFINITY, usize::MAX, 0); cells + 1];
    best[cells] = (0.0, 0, cells);
    let mut bins: Vec<Moments> = Vec::new();
    for start in (0..cells).rev() {
        bins.push(Moments::default());
        for (place, bin) in bins.iter_mut().enumerate().rev() {
            *bin = moments[start].merge(*bin);
            let end = cells - place;
            if bin.weight >= min_points.max(2.0) && best[end].1 != usize::MAX {
                let price = bin.squares / (bin.weight - ddof) * (1.0 - per_point * bin.weight);
                let cost = best[end].0 + price * (limits[end] - limits[start]);
                let count = best[end].1 + 1;
                if cost < best[start].0 || (cost == best[start].0 && count < best[start].1) {
                    best[start] = (cost, count, end);
                }
            }
        }
    }
    let mut found = vec![limits[0]];
    let mut at = 0;
    while at < cells && best[0].1 != usize::MAX {
        at = best[at].2;
        found.push(limits[at]);
    }
    (found.len() > 1).then_some(found)
}
