//! The bins that start at one cell, while dynamic programming goes from cell to cell.

use crate::binning::objective::{Objective, Terms};
use crate::numeric::moments::Moments;

/// Bins that are worked on together: as many numbers as the widest registers hold.
const LANES: usize = 8;

/// A number for each of the bins that are worked on together.
type Lanes = [f64; LANES];

/// Numbers made one by one, by a loop of its own that is compiled as wide instructions.
#[inline(always)]
fn lanes(number: impl Fn(usize) -> f64) -> Lanes {
    std::array::from_fn(number)
}

/// Replaces one of the numbers. All are written, as all are read next: a number that was written alone has to
/// reach the cache before it can be read with others.
#[inline(always)]
fn put(numbers: &mut Lanes, at: usize, number: f64) {
    // Bits from a table: comparisons of places become a branch for each of them.
    static ALL: [[u64; LANES]; LANES] = {
        let mut all = [[0; LANES]; LANES];
        let mut place = 0;
        while place < LANES {
            all[place][place] = u64::MAX;
            place += 1;
        }
        all
    };
    let (mask, number) = (&ALL[at], number.to_bits());
    *numbers = lanes(|i| f64::from_bits((numbers[i].to_bits() & !mask[i]) | (number & mask[i])));
}

/// The lesser of two numbers, the second where the first is none: one instruction.
#[inline(always)]
fn least_of(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Sums over all cells from one on, of what lies in them less the mean of all: two of them give the
/// squares of a bin but for what cancels.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    #[inline(always)]
    fn with(self, cell: Moments, centre: f64) -> Self {
        let shift = cell.mean - centre;
        Self {
            weight: self.weight + cell.weight,
            sum: self.sum + cell.weight * shift,
            squares: self.squares + (cell.squares + cell.weight * shift * shift),
        }
    }
}

/// Lower bounds by which bins are compared before their cells are merged.
#[derive(Clone, Copy)]
struct Bounds {
    terms: Terms,
    /// The mean of all cells, from which [`Sums`] are counted.
    centre: f64,
    /// By how much the squares of a bin that come from two [`Sums`] may differ from those of merged cells.
    slack: f64,
    /// The same for its weight; weights that are no whole numbers are rounded when they are added.
    slack_of_weight: f64,
}

impl Bounds {
    fn of(objective: &Objective) -> Self {
        let cells = &objective.moments;
        let (weight, sum) = cells.iter().fold((0.0, 0.0), |(weight, sum), cell| {
            (weight + cell.weight, sum + cell.weight * cell.mean)
        });
        let centre = sum / weight;
        let (mut all, mut furthest, mut largest) = (Sums::default(), 0.0, 0.0);
        for cell in cells.iter().filter(|cell| cell.weight > 0.0) {
            all = all.with(*cell, centre);
            furthest = most_of(furthest, (cell.mean - centre).abs());
            largest = most_of(largest, cell.mean.abs());
        }
        // Each of K additions rounds a sum, and each of K merges a mean, once.
        let roundings = 8.0 * cells.len() as f64 * f64::EPSILON;
        let slack = roundings * (all.squares + all.weight * furthest * (furthest + largest));
        // Where a product could overflow, nothing is known of any bin.
        let is_safe = (all.weight * (all.squares + slack)).is_finite();
        let slack = if is_safe { slack } else { f64::INFINITY };
        let slack_of_weight = roundings * all.weight;
        Self { terms: *objective.terms(), centre, slack, slack_of_weight }
    }
}

/// The greater of two numbers, the first where the second is none.
#[inline(always)]
fn most_of(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The least of some numbers, in three steps.
#[inline(always)]
fn least_in(numbers: &Lanes) -> f64 {
    let four: [f64; 4] = std::array::from_fn(|i| least_of(numbers[i], numbers[i + 4]));
    let two: [f64; 2] = std::array::from_fn(|i| least_of(four[i], four[i + 2]));
    least_of(two[0], two[1])
}

/// The outline of some bins: what is known of them without merging cells.
#[derive(Clone)]
#[repr(align(64))]
struct Outline {
    /// [`Sums`] over the cells behind the bin.
    weight: Lanes,
    sum: Lanes,
    squares: Lanes,
    /// The limit at which the bin ends.
    end: Lanes,
    /// The least cost of the cells behind the bin, infinite where they cannot be divided.
    rest: Lanes,
}

impl Outline {
    const NONE: Self = Self {
        weight: [0.0; LANES],
        sum: [0.0; LANES],
        squares: [0.0; LANES],
        end: [0.0; LANES],
        rest: [f64::INFINITY; LANES],
    };

    /// True if every bin that starts at `from`, before which there are `sums`, is sure to cost more than
    /// `least` with what is behind it, by more than rounding may change.
    #[inline(always)]
    fn is_beaten(&self, from: f64, sums: Sums, least: f64, bounds: Bounds) -> bool {
        const MARGIN: f64 = 1e-14;
        const TINY: f64 = 1e-200;
        let (terms, least) = (bounds.terms, least * (1.0 + MARGIN) + TINY);
        // Multiplied by the weight and by the divisor of the variance, which takes less time than divisions.
        let cost = lanes(|i| {
            let weight = sums.weight - self.weight[i];
            let sum = sums.sum - self.sum[i];
            let squares = sums.squares - self.squares[i] - bounds.slack;
            // Never below 0, so that an infinite discount leaves no number, by which nothing is beaten.
            let squares = most_of(0.0, weight * squares - sum * sum);
            let most = weight + bounds.slack_of_weight;
            squares * terms.sure_discount(most) * (self.end[i] - from)
        });
        let most = lanes(|i| {
            let weight = sums.weight - self.weight[i];
            let most = weight + bounds.slack_of_weight;
            (least - self.rest[i]) * (weight * terms.divisor(most))
        });
        cost.iter().zip(&most).fold(true, |beaten, (cost, most)| beaten & (cost > most))
    }
}

/// Some bins with their moments. Every quantity has an array of its own, so that several bins are worked on
/// at once, and the arrays lie in one value, so that the compiler knows that they are apart.
#[derive(Clone)]
#[repr(align(64))]
struct Bins {
    weight: Lanes,
    mean: Lanes,
    squares: Lanes,
    /// Cost of the bin for each unit of its width, infinite where it is not allowed.
    price: Lanes,
    /// The least cost of the cells from the start on with this bin as the first; infinite where there is
    /// none.
    cost: Lanes,
    /// The first cell that was merged into the bins.
    start: usize,
}

impl Bins {
    const NONE: Self = Self {
        weight: [0.0; LANES],
        mean: [0.0; LANES],
        squares: [0.0; LANES],
        price: [f64::INFINITY; LANES],
        cost: [f64::INFINITY; LANES],
        start: 0,
    };

    /// Merges a cell with instances into every bin, as [`Moments::merge`] does.
    #[inline(always)]
    fn merge(&mut self, cell: Moments) {
        let weight = lanes(|i| cell.weight + self.weight[i]);
        let share = lanes(|i| self.weight[i] / weight[i]);
        let shift = lanes(|i| self.mean[i] - cell.mean);
        let between = lanes(|i| shift[i] * shift[i] * cell.weight * share[i]);
        self.mean = lanes(|i| cell.mean + shift[i] * share[i]);
        self.squares = lanes(|i| cell.squares + self.squares[i] + between[i]);
        self.weight = weight;
    }

    /// Merges the cells from `start` on that were not merged before. One without instances changes
    /// nothing.
    #[inline(always)]
    fn extend_to(&mut self, start: usize, cells: &[Moments], terms: Terms) {
        let mut is_changed = false;
        // A loop, as the functions of iterators are not compiled as wide instructions.
        for &cell in cells[start..self.start].iter().rev() {
            if cell.weight > 0.0 {
                self.merge(cell);
                is_changed = true;
            }
        }
        self.start = start;
        if is_changed {
            let variance = lanes(|i| self.squares[i] / terms.divisor(self.weight[i]));
            self.price = lanes(|i| terms.price(variance[i], self.weight[i]));
        }
    }

    /// The least cost.
    #[inline(always)]
    fn cheapest(&mut self, from: f64, outline: &Outline) -> f64 {
        let cost = lanes(|i| outline.rest[i] + self.price[i] * (outline.end[i] - from));
        self.cost = lanes(|i| least_of(cost[i], f64::INFINITY));
        least_in(&self.cost)
    }
}

/// Bins that are worked on together.
#[derive(Clone)]
struct Eight {
    outline: Outline,
    bins: Bins,
}

/// All bins that start at one cell, the longest first; what stands behind the last bin has no meaning.
///
/// Cells are merged into bins only where one of these might be the cheapest, which sums tell but where
/// they cancel.
pub(super) struct FirstBins {
    /// Number of bins.
    len: usize,
    start: usize,
    /// Over the cells from `start` on.
    sums: Sums,
    bounds: Bounds,
    eights: Vec<Eight>,
    /// Those in which the cheapest bin was last.
    favourite: usize,
    /// The bins that were not beaten, with the least cost of each eight.
    near: Vec<(usize, f64)>,
}

impl FirstBins {
    pub(super) fn none(objective: &Objective) -> Self {
        let cells = objective.moments.len();
        let count = cells.div_ceil(LANES);
        let mut eights = vec![Eight { outline: Outline::NONE, bins: Bins::NONE }; count];
        for (place, &limit) in objective.limits()[1..].iter().rev().enumerate() {
            eights[place / LANES].outline.end[place % LANES] = limit;
        }
        Self {
            len: 0,
            start: cells,
            sums: Sums::default(),
            bounds: Bounds::of(objective),
            eights,
            favourite: 0,
            near: Vec::with_capacity(count),
        }
    }

    /// Adds a bin without cells that is to start at `start`, before cells that cost so much.
    #[inline(always)]
    pub(super) fn begin(&mut self, start: usize, rest: f64) {
        let (place, at) = (self.len / LANES, self.len % LANES);
        let Eight { outline, bins } = &mut self.eights[place];
        put(&mut outline.weight, at, self.sums.weight);
        put(&mut outline.sum, at, self.sums.sum);
        put(&mut outline.squares, at, self.sums.squares);
        put(&mut outline.rest, at, rest);
        put(&mut bins.weight, at, 0.0);
        put(&mut bins.mean, at, 0.0);
        put(&mut bins.squares, at, 0.0);
        put(&mut bins.price, at, f64::INFINITY);
        // All cells behind have been merged into the shortest bins.
        bins.start = start + 1;
        self.len += 1;
    }

    /// Adds the cell `start` to every bin, and gives the least cost of the cells from there on.
    ///
    /// The bins that were the cheapest before come first, so that few others are not beaten.
    #[inline(always)]
    pub(super) fn extend_to(&mut self, start: usize, objective: &Objective) -> f64 {
        self.start = start;
        self.near.clear();
        let (cells, from) = (&*objective.moments, objective.limits()[start]);
        if cells[start].weight > 0.0 {
            self.sums = self.sums.with(cells[start], self.bounds.centre);
        }
        let (sums, bounds) = (self.sums, self.bounds);
        let (mut least, first, shortest) = (f64::INFINITY, self.favourite, (self.len - 1) / LANES);
        let others = (0..=shortest).rev().filter(|&place| place != first);
        // A loop, as the functions of iterators are not compiled as wide instructions.
        for place in std::iter::once(first).chain(others) {
            let Eight { outline, bins } = &mut self.eights[place];
            let is_sure = place == first || place == shortest;
            if !is_sure && outline.is_beaten(from, sums, least, bounds) {
                continue;
            }
            bins.extend_to(start, cells, bounds.terms);
            let cheapest = bins.cheapest(from, outline);
            if cheapest < least {
                (least, self.favourite) = (cheapest, place);
            }
            self.near.push((place, cheapest));
        }
        least
    }

    /// Shows the ends of the bins with this least cost, in no order.
    #[inline(always)]
    pub(super) fn each_end_that_costs(&self, cost: f64, mut show: impl FnMut(usize)) {
        // Loops: flattened iterators take as long as extending the bins.
        for &(place, least) in &self.near {
            if least != cost {
                continue;
            }
            let is_least = |at: usize| u32::from(self.eights[place].bins.cost[at] == cost) << at;
            let mut cheapest = (0..LANES).fold(0, |all, at| all | is_least(at));
            // Bits, as where the next of them is cannot be foretold, and how many there are mostly can.
            while cheapest != 0 {
                let at = cheapest.trailing_zeros() as usize;
                show(self.start + self.len - (place * LANES + at));
                cheapest &= cheapest - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::BinningRequest;
    use crate::binning::objective::Options;
    use crate::numeric::axis::Axis;
    use crate::numeric::partition::{Closed, Partition};

    /// Cells of width 1 with these moments, at least two instances in a bin, and discount one half.
    fn objective(cells: &[Moments]) -> Objective {
        let summarise = |_: &Partition| Ok(cells.to_vec());
        let places: Vec<f64> = (0..cells.len()).map(|cell| cell as f64 + 0.5).collect();
        let request = BinningRequest {
            axis: Axis::new(0.0, cells.len() as f64).unwrap(),
            closed: Closed::Left,
            positions: &places,
            weights: None,
            whole: (&places, None),
            levels: false,
            ddof: 1.0,
            local_effects: Some(&summarise),
        };
        Options::new(cells.len(), Some(2.0), 0.5).unwrap().prepare("dp", &request).unwrap()
    }

    /// Means 1 and 5 about 3: squares of 3 + 1 within and 2 · 4 + 2 · 4 between.
    #[test]
    fn slack_is_in_units_of_all_that_is_added_up() {
        let cell = |mean, squares| Moments { weight: 2.0, mean, squares };
        let bounds = Bounds::of(&objective(&[cell(1.0, 3.0), cell(5.0, 1.0)]));
        let roundings = 16.0 * f64::EPSILON;
        assert_eq!((bounds.centre, bounds.slack_of_weight), (3.0, 4.0 * roundings));
        // The farthest mean is 2 away, and the largest is 5.
        assert_eq!(bounds.slack, roundings * (20.0 + 4.0 * 2.0 * (2.0 + 5.0)));
    }

    /// Two instances whose squares are 6, of which the sums say no more than that they weigh 1 to 3: at the
    /// least the bin costs 6 / (3 − 1) times 1 − 0.5 · 3 / 4.
    #[test]
    fn a_bin_is_beaten_by_less_than_it_can_cost() {
        let cell = Moments { weight: 2.0, mean: 0.0, squares: 6.0 };
        let objective = objective(&[cell, cell]);
        let bounds = Bounds { slack: 0.0, slack_of_weight: 1.0, ..Bounds::of(&objective) };
        let outline = Outline { end: [1.0; LANES], rest: [0.0; LANES], ..Outline::NONE };
        let sums = Sums { weight: 2.0, sum: 0.0, squares: 6.0 };
        let is_beaten = |least: f64| outline.is_beaten(0.0, sums, least, bounds);
        assert!(is_beaten(1.8) && is_beaten(1.87) && !is_beaten(1.88) && !is_beaten(2.0));
    }
}
