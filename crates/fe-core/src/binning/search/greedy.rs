//! Automatic bins found in one walk from the left.

use super::super::objective::Objective;
use super::{CellBinning, Search};
use crate::numeric::moments::Moments;

/// Walks the equal cells from the left. At each limit the bin stays open while it has too few
/// instances, or while the bin with the next cell costs no more than it does without. A last bin
/// with too few instances joins its neighbour.
pub type Greedy = CellBinning<Walk>;

/// The search of [`Greedy`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walk;

impl Search for Walk {
    const NAME: &'static str = "greedy";
    const ABOUT: &'static str = "one walk over equal cells, closing a bin where a longer one would cost more (default \
                                bins = 20, min_points = N/20, discount = 0.2)";

    fn ends(objective: &Objective) -> (Vec<usize>, bool) {
        walk(objective)
    }
}

/// The ends of the bins, and whether all of them have enough instances.
fn walk(objective: &Objective) -> (Vec<usize>, bool) {
    let cells = &objective.moments;
    let mut ends = Vec::new();
    let (mut start, mut bin) = (0, Moments::default());
    for end in 1..=cells.len() {
        bin = bin.merge(cells[end - 1]);
        if end == cells.len() {
            break;
        }
        let longer = bin.merge(cells[end]);
        let stays_open = objective.is_poor(&bin)
            || objective.cost(start, end + 1, &longer) <= objective.cost(start, end, &bin);
        if !stays_open {
            ends.push(end);
            (start, bin) = (end, Moments::default());
        }
    }
    let last_is_poor = objective.is_poor(&bin);
    if last_is_poor {
        ends.pop();
    }
    (ends, !last_is_poor || start > 0)
}
