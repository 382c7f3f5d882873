//! Automatic bins found in one walk from the left.

use super::objective::{Objective, Options};
use super::{Binning, Choice, Info, Request};
use crate::error::Result;
use crate::statistics::Moments;

const NAME: &str = "greedy";

pub(super) const INFO: Info = Info {
    name: NAME,
    about: "one walk over equal cells, closing a bin where a longer one would cost more (default \
            bins = 20, min_points = N/20, discount = 0.2)",
    options: Options::NAMES,
    automatic: true,
    build: |settings| Ok(Box::new(Greedy(Options::from_settings(settings)?))),
};

/// Walks the equal cells from the left. At each limit the bin stays open while it has too few
/// instances, or while the bin with the next cell costs no more than it does without. A last bin
/// with too few instances joins its neighbour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Greedy(Options);

impl Greedy {
    /// Over so many cells, with the least number of instances in a bin and the discount α as for
    /// [`Dynamic`](super::Dynamic).
    ///
    /// # Errors
    /// As [`Dynamic::new`](super::Dynamic::new).
    pub fn new(cells: usize, min_points: Option<f64>, discount: f64) -> Result<Self> {
        Options::new(cells, min_points, discount).map(Self)
    }
}

impl Binning for Greedy {
    fn describe(&self) -> String {
        self.0.describe(NAME)
    }

    fn bins(&self) -> Option<usize> {
        Some(self.0.cells())
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let objective = self.0.prepare(NAME, request)?;
        let (ends, feasible) = walk(&objective);
        Ok(objective.bins_ending_at(&ends, feasible))
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
