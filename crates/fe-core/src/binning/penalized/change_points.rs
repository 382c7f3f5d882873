//! Change points of a noisy signal along the axis: the piecewise constant fit of least penalised squared
//! error (Yao 1988), found by PELT (Killick, Fearnhead and Eckley 2012), and trends within its pieces.

use std::ops::Range;

use crate::interrupt::{self, UNINTERRUPTED};

/// Candidates for limits in the first search among many cells.
const COARSE: usize = 512;
/// Candidates on each side of a limit that is refined.
const REFINED: usize = 8;
/// Degrees of freedom that a local estimate of the noise rests on.
pub(super) const DEGREES: f64 = 80.0;
/// Fewest degrees of freedom of an average, and that it keeps to its piece with.
pub(super) const FEWEST_DEGREES: f64 = 5.0;

/// A sum of squares and its degrees of freedom.
pub(super) type Squares = (f64, f64);

/// A value for each of n cells along the axis: a mean over some weight of instances.
pub(super) struct Signal {
    /// Places, increasing.
    places: Vec<f64>,
    /// Positive weights.
    weights: Vec<f64>,
    values: Vec<f64>,
    /// Noise variance of an instance in each cell.
    noise: Vec<f64>,
    /// Over the cells before each limit: weights, and weights over noise times 1, value and its square.
    sums: Vec<[f64; 4]>,
}

impl Signal {
    /// A signal with what is known of the noise within cells: for each cell a sum of squares and its
    /// degrees of freedom. Variances below `floor` count as that.
    ///
    /// The noise is estimated where it is: from the squares within a cell and from the deviation of
    /// its value from the line between its neighbours (Gasser, Sroka and Jennen-Steinmetz 1986), which
    /// no steady trend contributes to, pooled with those around until there are enough.
    pub(super) fn new(
        places: Vec<f64>,
        weights: Vec<f64>,
        values: Vec<f64>,
        within: &[Squares],
        floor: f64,
    ) -> Self {
        let mut squares = within.to_vec();
        for j in 1..values.len().saturating_sub(1) {
            let share = (places[j] - places[j - 1]) / (places[j + 1] - places[j - 1]);
            let line = values[j - 1] + (values[j + 1] - values[j - 1]) * share;
            let variance = 1.0 / weights[j]
                + (1.0 - share).powi(2) / weights[j - 1]
                + share * share / weights[j + 1];
            squares[j].0 += (values[j] - line).powi(2) / variance;
            squares[j].1 += 1.0;
        }
        let noise = Pooled::all(&squares, floor, DEGREES, &[]);
        let noise: Vec<f64> = noise.into_iter().map(|around| around.mean).collect();
        let mut sums = vec![[0.0; 4]];
        let mut sum = [0.0; 4];
        for ((&weight, &value), &noise) in weights.iter().zip(&values).zip(&noise) {
            let precision = weight / noise;
            let terms = [weight, precision, precision * value, precision * value * value];
            sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            sums.push(sum);
        }
        Self { places, weights, values, noise, sums }
    }

    fn cells(&self) -> usize {
        self.values.len()
    }

    fn between(&self, from: usize, to: usize) -> [f64; 4] {
        std::array::from_fn(|i| self.sums[to][i] - self.sums[from][i])
    }

    /// The weight of the instances between two limits.
    pub(super) fn weight(&self, from: usize, to: usize) -> f64 {
        self.sums[to][0] - self.sums[from][0]
    }

    /// The squared error of the best constant between two limits, in units of the noise.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let [_, precision, first, second] = self.between(from, to);
        (second - first * first / precision).max(0.0)
    }

    /// The limits, counted from 0 to the number of cells, of pieces with at least some weight, whose
    /// cost with a penalty for each is least; the whole where its weight is too small.
    ///
    /// Exact up to [`COARSE`] cells. With more, limits are sought among evenly spread ones first, and
    /// then near those that were found; where they crowd, among four times as many.
    pub(super) fn pieces(&self, penalty: f64, least_weight: f64) -> Vec<usize> {
        let cells = self.cells();
        let mut most = COARSE;
        loop {
            let step = cells.div_ceil(most);
            let candidates: Vec<usize> = (0..cells).step_by(step).chain([cells]).collect();
            let found = self.optimum(&candidates, penalty, least_weight);
            if step == 1 {
                return found;
            }
            if 4 * found.len() <= candidates.len() {
                return self.refined(found, step, penalty, least_weight);
            }
            most *= 4;
        }
    }

    /// Limits to within a cell that are near some others, which are known to within a distance.
    fn refined(
        &self,
        mut limits: Vec<usize>,
        mut distance: usize,
        penalty: f64,
        least_weight: f64,
    ) -> Vec<usize> {
        while distance > 1 {
            let step = (distance / REFINED).max(1);
            limits = self.optimum(&around(&limits, distance, step), penalty, least_weight);
            distance = step;
        }
        limits
    }

    /// The optimum over limits among the candidates, of which the first and the last are kept.
    fn optimum(&self, candidates: &[usize], penalty: f64, least_weight: f64) -> Vec<usize> {
        let count = candidates.len();
        let mut cost = vec![f64::INFINITY; count];
        let mut start = vec![0; count];
        cost[0] = 0.0;
        // Starts of the last piece that may still be the best, and from where on they are not.
        let mut open: Vec<(usize, f64)> = vec![(0, f64::INFINITY)];
        let mut totals = Vec::new();
        for end in 1..count {
            if end.is_multiple_of(UNINTERRUPTED) {
                interrupt::check();
            }
            let to = candidates[end];
            open.retain(|(_, until)| self.sums[to][0] < *until);
            totals.clear();
            for &(from, _) in &open {
                let allowed = self.weight(candidates[from], to) >= least_weight;
                let total = cost[from] + self.cost(candidates[from], to);
                totals.push(if allowed { total } else { f64::NEG_INFINITY });
                if allowed && total + penalty < cost[end] {
                    (cost[end], start[end]) = (total + penalty, from);
                }
            }
            // A start that loses to a limit here loses for good once a piece may start at that limit.
            for ((_, until), total) in open.iter_mut().zip(&totals) {
                if *total > cost[end] {
                    *until = until.min(self.sums[to][0] + least_weight);
                }
            }
            open.push((end, f64::INFINITY));
        }
        let mut limits = vec![candidates[count - 1]];
        let mut at = if cost[count - 1].is_finite() { count - 1 } else { 0 };
        while at > 0 {
            at = start[at];
            limits.push(candidates[at]);
        }
        if limits.len() == 1 {
            limits.push(candidates[0]);
        }
        limits.reverse();
        limits
    }

    /// The pieces, of which those along which the signal has a trend are halved, if both halves have
    /// at least some weight.
    ///
    /// `edges` are the limits of the cells on the axis; `threshold` is for the square of the slope
    /// over its standard error.
    pub(super) fn halved(
        &self,
        pieces: &[usize],
        edges: &[f64],
        threshold: f64,
        least_weight: f64,
    ) -> Vec<usize> {
        let mut limits = vec![0];
        for ends in pieces.windows(2) {
            let (from, to) = (ends[0], ends[1]);
            if self.trend(from, to) > threshold {
                let middle = 0.5 * (edges[from] + edges[to]);
                let nearest = |a: &usize, b: &usize| {
                    (edges[*a] - middle).abs().total_cmp(&(edges[*b] - middle).abs())
                };
                let allowed = |&limit: &usize| {
                    self.weight(from, limit).min(self.weight(limit, to)) >= least_weight
                };
                limits.extend((from + 1..to).filter(allowed).min_by(nearest));
            }
            limits.push(to);
        }
        limits
    }

    /// The square of the slope of the signal between two limits over its standard error.
    fn trend(&self, from: usize, to: usize) -> f64 {
        let line = self.line(from, to);
        line.slope * line.slope * line.variance
    }

    /// The line through the signal between two limits, by least squares in units of the noise.
    fn line(&self, from: usize, to: usize) -> Line {
        let origin = self.places[from];
        let [mut sum, mut x, mut y, mut xx, mut xy] = [0.0; 5];
        for j in from..to {
            let precision = self.weights[j] / self.noise[j];
            let (place, value) = (self.places[j] - origin, self.values[j]);
            sum += precision;
            x += precision * place;
            y += precision * value;
            xx += precision * place * place;
            xy += precision * place * value;
        }
        let (variance, covariance) = (xx - x * x / sum, xy - x * y / sum);
        let slope = if variance > 0.0 { covariance / variance } else { 0.0 };
        Line { place: origin + x / sum, value: y / sum, slope, variance }
    }

    /// For each cell the squared deviations of its instances from the line through its piece, given
    /// those from its value. Nothing is known of pieces that a line leaves nothing of.
    pub(super) fn residuals(&self, pieces: &[usize], within: &[f64]) -> Vec<Squares> {
        let mut all = Vec::with_capacity(self.cells());
        for ends in pieces.windows(2) {
            let line = self.line(ends[0], ends[1]);
            let used = if line.variance > 0.0 { 2.0 } else { 1.0 };
            let left = 1.0 - used / self.weight(ends[0], ends[1]);
            all.extend((ends[0]..ends[1]).map(|j| {
                let from_line = self.values[j] - line.at(self.places[j]);
                let square = within[j] + self.weights[j] * from_line * from_line;
                if left > 0.0 { (square, self.weights[j] * left) } else { (0.0, 0.0) }
            }));
        }
        all
    }
}

/// A straight line through a piece of a signal.
struct Line {
    /// Mean place and value.
    place: f64,
    value: f64,
    slope: f64,
    /// One over the variance of the slope.
    variance: f64,
}

impl Line {
    fn at(&self, place: f64) -> f64 {
        self.value + self.slope * (place - self.place)
    }
}

/// All limits and those around the inner ones, up to a distance and in steps.
fn around(limits: &[usize], distance: usize, step: usize) -> Vec<usize> {
    let last = limits[limits.len() - 1];
    let near = |&limit: &usize| {
        let (from, to) = (limit.saturating_sub(distance), (limit + distance).min(last));
        (from..=to).step_by(step).chain([limit])
    };
    let mut all: Vec<usize> = limits.iter().flat_map(near).collect();
    all.push(0);
    all.sort_unstable();
    all.dedup();
    all
}

/// A mean square over some cells.
pub(super) struct Pooled {
    pub(super) mean: f64,
    pub(super) degrees: f64,
    pub(super) cells: Range<usize>,
}

impl Pooled {
    /// For each cell the mean square over it and as many of those around, on the same side of all limits
    /// of some pieces, as are needed. Where there are hardly any, others count too; where there are none
    /// at all, it is 1.
    pub(super) fn all(squares: &[Squares], floor: f64, needed: f64, pieces: &[usize]) -> Vec<Self> {
        let mut sums = vec![(0.0, 0.0)];
        for (j, (square, degrees)) in squares.iter().enumerate() {
            sums.push((sums[j].0 + square, sums[j].1 + degrees));
        }
        let degrees = |cells: &Range<usize>| sums[cells.end].1 - sums[cells.start].1;
        let around = |j: usize, within: Range<usize>| {
            let mut cells = j..j + 1;
            while degrees(&cells) < needed && cells != within {
                cells.start = cells.start.saturating_sub(1).max(within.start);
                cells.end = (cells.end + 1).min(within.end);
            }
            cells
        };
        let at = |j: usize| {
            let next = pieces.partition_point(|&limit| limit <= j);
            let start = next.checked_sub(1).map_or(0, |last| pieces[last]);
            let end = pieces.get(next).copied().unwrap_or(squares.len());
            let mut cells = around(j, start..end);
            if degrees(&cells) < FEWEST_DEGREES.min(needed) {
                cells = around(j, 0..squares.len());
            }
            let (sum, degrees) = (sums[cells.end].0 - sums[cells.start].0, degrees(&cells));
            let mean = if degrees > 0.0 { (sum / degrees).max(floor) } else { 1.0 };
            Self { mean, degrees, cells }
        };
        (0..squares.len()).map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(values: &[f64]) -> Signal {
        let places = (0..values.len()).map(|j| j as f64).collect();
        let within = vec![(0.0, 0.0); values.len()];
        Signal::new(places, vec![1.0; values.len()], values.to_vec(), &within, 1e-9)
    }

    /// The least penalised cost among all 2^(n−1) divisions.
    fn brute_force(signal: &Signal, penalty: f64, least_weight: f64) -> f64 {
        let cells = signal.cells();
        let divisions = 0..1_u32 << (cells - 1);
        let cost = |kept: u32| {
            let inner = (1..cells).filter(|i| kept >> (i - 1) & 1 == 1);
            let limits: Vec<usize> = [0].into_iter().chain(inner).chain([cells]).collect();
            total(signal, &limits, penalty, least_weight)
        };
        divisions.map(cost).fold(f64::INFINITY, f64::min)
    }

    fn total(signal: &Signal, limits: &[usize], penalty: f64, least_weight: f64) -> f64 {
        let piece = |ends: &[usize]| {
            if signal.weight(ends[0], ends[1]) < least_weight {
                return f64::INFINITY;
            }
            signal.cost(ends[0], ends[1]) + penalty
        };
        limits.windows(2).map(piece).sum()
    }

    #[test]
    fn nothing_is_better_than_the_optimum() {
        let mut state = 1_u64;
        for case in 0..300 {
            let cells = 1 + case % 11;
            let values: Vec<f64> = (0..cells)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 40) as f64 / f64::from(1 << 24)
                        + if state >> 63 == 1 { 1.0 } else { 0.0 }
                })
                .collect();
            let signal = signal(&values);
            for (penalty, least_weight) in [(0.1, 1.0), (1.0, 2.0), (3.0, 3.0), (0.0, 2.0)] {
                let least = brute_force(&signal, penalty, least_weight);
                let found = signal.pieces(penalty, least_weight);
                if least.is_finite() {
                    let cost = total(&signal, &found, penalty, least_weight);
                    assert!(cost <= least + 1e-9 * (1.0 + least), "{cost} {least} {found:?}");
                } else {
                    assert_eq!(found, [0, cells]);
                }
            }
        }
    }

    /// More cells than the first search looks at.
    #[test]
    fn limits_between_candidates_are_found() {
        let values: Vec<f64> =
            (0..5000).map(|j| f64::from(j % 2) + if j < 1237 { 5.0 } else { 0.0 }).collect();
        assert_eq!(signal(&values).pieces(30.0, 2.0), [0, 1237, 5000]);
    }

    /// As many cells as there may be: limits are sought three times, ever closer.
    #[test]
    fn limits_among_many_cells_are_exact() {
        let steps = [(0, 0.0), (3_333, 5.0), (12_001, 1.0), (19_992, 9.0)];
        let level =
            |j: usize| steps.iter().rev().find(|(start, _)| j >= *start).map_or(0.0, |s| s.1);
        let values: Vec<f64> = (0..20_000).map(|j| level(j) + (j % 2) as f64).collect();
        assert_eq!(signal(&values).pieces(30.0, 2.0), [0, 3_333, 12_001, 19_992, 20_000]);
    }

    /// Lines of different slopes with a jump between them, and alternating noise.
    #[test]
    fn neither_trends_nor_jumps_count_as_noise() {
        let values: Vec<f64> = (0..60_u32)
            .map(|j| {
                let line = if j < 30 { f64::from(j) } else { 100.0 - 2.0 * f64::from(j) };
                line + if j % 4 < 2 { 0.1 } else { -0.1 }
            })
            .collect();
        let squares = signal(&values).residuals(&[0, 30, 60], &[0.0; 60]);
        let mean = |cells: Range<usize>| {
            let sum = squares[cells].iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            sum.0 / sum.1
        };
        assert!((mean(0..30) / 0.01 - 1.0).abs() < 0.1, "{}", mean(0..30));
        assert!((mean(30..60) / 0.01 - 1.0).abs() < 0.1, "{}", mean(30..60));
        let alone = signal(&values).residuals(&[0, 2, 60], &[0.0; 60]);
        assert_eq!(alone[..2], [(0.0, 0.0); 2]);
    }

    #[test]
    fn averages_keep_to_their_piece() {
        let squares: Vec<Squares> =
            (0..40).map(|j| (if j < 20 { 1.0 } else { 4.0 }, 1.0)).collect();
        let within = Pooled::all(&squares, 0.0, 10.0, &[0, 20, 40]);
        assert!(within.iter().enumerate().all(|(j, p)| p.mean == if j < 20 { 1.0 } else { 4.0 }));
        assert_eq!((within[10].degrees, within[10].cells.clone()), (11.0, 5..16));
        let few = Pooled::all(&squares, 0.0, 10.0, &[0, 18, 20, 40]);
        assert!(few[19].mean > 1.0, "two cells alone say too little");
        let nothing = Pooled::all(&[(0.0, 0.0); 3], 0.5, 10.0, &[0, 3]);
        assert!(nothing.iter().all(|around| around.mean == 1.0));
    }

    #[test]
    fn a_trend_does_not_count_as_noise() {
        let values: Vec<f64> = (0..300).map(|j| f64::from(j) + 0.1 * f64::from(j % 2)).collect();
        let noise = signal(&values).noise;
        assert!(noise.iter().all(|noise| *noise < 0.02), "{noise:?}");
    }

    /// A piece under a trend is halved at the limit nearest to its middle; a cell alone has no slope.
    #[test]
    fn pieces_under_a_trend_are_halved_in_the_middle() {
        let line = signal(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let edges: Vec<f64> = (0..=8).map(f64::from).collect();
        assert_eq!(line.halved(&[0, 8], &edges, 1.0, 1.0), [0, 4, 8]);
        let far: Vec<f64> = edges.iter().map(|edge| edge * edge).collect();
        // The middle of [0, 64] is nearest to 36.
        assert_eq!(line.halved(&[0, 8], &far, 1.0, 1.0), [0, 6, 8]);
        assert_eq!(line.halved(&[0, 8], &edges, f64::INFINITY, 1.0), [0, 8]);
        assert_eq!((line.line(3, 4).slope, line.line(3, 4).value), (0.0, 3.0));
    }

    /// A line through eight cells of two instances takes two of their sixteen degrees of freedom.
    #[test]
    fn lines_leave_degrees_of_freedom() {
        let places = (0..8).map(f64::from).collect();
        let values = [0.0, 1.5, 2.0, 2.5, 4.0, 5.0, 6.5, 7.0].to_vec();
        let signal = Signal::new(places, vec![2.0; 8], values, &[(1.0, 1.0); 8], 1e-9);
        let left: Vec<f64> =
            signal.residuals(&[0, 8], &[1.0; 8]).iter().map(|squares| squares.1).collect();
        assert_eq!(left, [1.75; 8]);
    }
}
