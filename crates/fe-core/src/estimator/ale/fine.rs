//! Accumulated effects on cells of a few instances, of which analytic bands are made.
//!
//! Bins that are narrower make hardly any difference to the variance of a curve that adds them up, but all the
//! difference to its bias. A band is therefore made of cells that are as narrow as variances can be known
//! in, whatever the bins of the estimate: their number and limits, and how they were chosen, do not matter.
//!
//! What is left within a cell is of second order. Where instances do not lie evenly in it, a trend of the local effects
//! there moves their mean ([`Trend::within`]); and the curve is bent, which the trend from cell to cell
//! tells ([`Trend::along`]). A kink or a jump of the slope is no trend: by the inequality of Cauchy and Schwarz it
//! moves the curve at the part p of a cell by at most √(p(1−p)) standard deviations of the mean local effect
//! over the cell, times its width, which counts as a standard error; a jump of f is a cell whose mean is no one's
//! neighbour ([`FineCurve::peak`]).
//!
//! Where one cell has much of the variance, five instances are too few to know it by: those around the cell are taken into it
//! ([`FineCurve::know`]). They also tell how the local effect of one and the same instance turns within the cell, which
//! tells curvature and jumps from the variance between instances, and how the law of the others moves along the feature:
//! by both the mean of the cell is taken to its middle. Where the cell stands out from those around, as one with a jump
//! does, the mean is theirs too: five instances would tell how high the jump is, and now all around do.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use nalgebra::{DMatrix, DVector};

use super::accumulation::{Accumulation, Averaged, Content, Place};
use crate::confidence::{Debiased, Uncertainty};
use crate::effect::centring::AxisMean;
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::interpolation::interpolate_missing;
use crate::numeric::moments::Moments;
use crate::numeric::partition::{Closed, Partition};
use crate::numeric::quantiles::SortedSample;
use crate::settings::Centring;

/// Weight of a cell: of fewer instances the variance is not known, and that of the curve is greater by one part in
/// so many, as cells of more instances are wider by chance where these are few.
const PER_CELL: f64 = 5.0;

/// Most cells. Of so many the bias is less than the standard error up to a million rows.
const MOST: f64 = 2000.0;

/// Share of the curve's variance from which on that of a single cell decides.
const DECISIVE: f64 = 0.05;

/// Cells on either side whose instances tell how the local effects in one vary that decides.
pub(super) const AROUND: usize = 2;

/// Share of a sum of squares that where instances come from may explain; of more the other features follow this one
/// too closely for instances around a cell to say what those in it do.
const DEPENDENT: f64 = 0.25;

/// Share of a cell's deviation that those of the cells around have together at most where their instances tell its mean too.
/// The means of these cells come from the same instances, each of which counts among all in the mean and among those of
/// its own cell there: what is left out by taking them as independent is at most twice this share of the variance.
const BESIDE: f64 = 0.05;

/// Share of a sum of squares that rounding leaves where a trend is all there is.
const ROUNDING: f64 = 1e-13;

/// Cells of equal weight that end midway between instances. None for fewer than two.
pub(super) fn cells(
    sample: &SortedSample,
    axis: Axis,
    closed: Closed,
) -> Result<Option<Partition>> {
    let count = (sample.total() / PER_CELL).floor().min(MOST);
    if count < 2.0 {
        return Ok(None);
    }
    let per_cell = sample.total() / count;
    let mut limits = vec![axis.lo()];
    let (mut reached, mut due) = (0.0, per_cell);
    let mut values = sample.distinct_weights().peekable();
    while let (Some((x, weight)), Some(&(next, _))) = (values.next(), values.peek()) {
        reached += weight;
        let end = x + 0.5 * (next - x);
        if reached >= due - 1e-9 * per_cell && x < end && end < next && reached < sample.total() {
            limits.push(end);
            due = reached + per_cell;
        }
    }
    limits.push(axis.hi());
    Ok(Some(Partition::new(limits, closed)?))
}

/// Trends of the local effects at a cell, over its width.
#[derive(Debug, Clone, Copy, Default)]
struct Trend {
    /// From the cell before to the next.
    along: f64,
    /// The share of it that the local effects within the cells have too. Of differences over cells they do not have
    /// that part which is the same for all instances: it is in the differences already.
    share: f64,
    /// The weight of the mean of the next cell, and less that of the one before, in the trend.
    weight: f64,
    /// Half the change of the mean from the cell before to the next.
    step: f64,
    before: usize,
    next: usize,
}

impl Trend {
    fn at(cell: usize, partition: &Partition, contents: &[Content]) -> Self {
        let (before, next) = (cell.saturating_sub(1), (cell + 1).min(contents.len() - 1));
        let trend = Self { share: 1.0, before, next, ..Self::default() };
        let apart = trend.between(cell, partition, contents).along;
        let z = partition.limits();
        let width = |k: usize| z[k + 1] - z[k];
        // The slope within the three cells, each in its own units.
        let sum = |term: &dyn Fn(usize) -> f64| (before..=next).map(term).sum::<f64>();
        let products = sum(&|k| contents[k].products * width(k));
        let squares = sum(&|k| contents[k].parts_squared * width(k) * width(k));
        let within = if squares > 0.0 { products / squares * width(cell) } else { 0.0 };
        let share = if apart == 0.0 { 0.0 } else { (within / apart).clamp(0.0, 1.0) };
        Self { share, ..trend }.between(cell, partition, contents)
    }

    /// With the change from the cell before to the next. Means belong to the mean place of the instances as far as local
    /// effects vary by it, else to the middle of their cell.
    fn between(self, cell: usize, cells: &Partition, contents: &[Content]) -> Self {
        let Self { share, before, next, .. } = self;
        let z = cells.limits();
        let width = |k: usize| z[k + 1] - z[k];
        let place = |k: usize| z[k] + (share * contents[k].part + (1.0 - share) * 0.5) * width(k);
        let change = contents[next].effects.mean - contents[before].effects.mean;
        let distance = place(next) - place(before);
        if distance <= 0.0 {
            return Self { before, next, ..Self::default() };
        }
        let weight = width(cell) / distance;
        let step = change / (next - before) as f64;
        Self { along: change * weight, weight, step, ..self }
    }

    /// The trend within the cell: the smaller one of those from cell to cell and of the local effects.
    fn within(self) -> f64 {
        self.share * self.along
    }

    /// The instances of a cell about the trend.
    fn residual(self, content: Content) -> Content {
        let trend = self.within();
        let Moments { weight, mean, squares } = content.effects;
        let explained = trend * (2.0 * content.products - trend * content.parts_squared);
        // The root of what rounding leaves is large beside it.
        let left = squares - explained;
        let squares = if left > ROUNDING * squares { left } else { 0.0 };
        let effects = Moments { weight, mean, squares };
        let products = content.products - trend * content.parts_squared;
        Content { effects, products, ..content }
    }
}

/// Sort of local effects, by what those within a cell tell of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sees {
    /// Differences: all that f does there.
    Jumps,
    /// Derivatives at some places: kinks between these.
    Kinks,
}

/// An instance from around a cell, taken into it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    /// Its own place.
    pub(super) from: f64,
    /// The place that it is taken to, as part of the cell's width from its start.
    pub(super) part: f64,
    /// Its local effect there.
    pub(super) effect: f64,
    /// From one place in the cell to another, as part of the width, so much is added to its local effect.
    pub(super) turn: (f64, f64),
    pub(super) weight: f64,
}

/// Local effects of instances taken into a cell, along where they come from.
struct Line {
    weight: f64,
    /// The mean place that they come from, and the sum of squares about it.
    from: f64,
    from_squared: f64,
    /// The mean place that they are taken to, as part of the cell's width.
    part: f64,
    /// Their mean local effect there.
    mean: f64,
    /// The sum of squares of the local effects about the trend, and that of products with where they come from.
    squares: f64,
    products: f64,
    /// The share of the cell's width over which an instance turns, and by how much it would over all of it on average.
    over: f64,
    own: f64,
}

impl Line {
    fn through(around: &[Moved], trend: f64) -> Self {
        let mut content = Content::default();
        let (mut over, mut turned, mut parts) = (0.0, Moments::default(), Moments::default());
        for moved in around {
            content.add(moved.from, moved.effect - trend * moved.part, moved.weight);
            over = moved.turn.0;
            turned = turned.merge(Moments::single(moved.turn.1, moved.weight));
            parts = parts.merge(Moments::single(moved.part, moved.weight));
        }
        let Content { effects, part: from, parts_squared: from_squared, products, .. } = content;
        let Moments { weight, mean, squares } = effects;
        let (part, own) = (parts.mean, if over > 0.0 { turned.mean / over } else { 0.0 });
        let mean = mean + trend * part;
        Self { weight, from, from_squared, part, mean, squares, products, over, own }
    }

    /// The slope along where instances come from.
    fn by_law(&self) -> f64 {
        if self.from_squared > 0.0 { self.products / self.from_squared } else { 0.0 }
    }

    /// The sum of squares that it explains.
    fn explained(&self) -> f64 {
        self.by_law() * self.products
    }
}

/// By how much the mean local effect of a cell may differ from that on either side of a place within.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Turn {
    /// The slope turns there.
    kink: f64,
    /// f jumps there.
    jump: f64,
}

impl Turn {
    /// Distance that this moves the curve at a part of a cell, over its width. Of a jump that is its height times what lies on the
    /// farther side, and counts as √2 standard errors.
    fn at(self, part: f64) -> f64 {
        let part = part.clamp(0.0, 1.0);
        self.kink * (part * (1.0 - part)).sqrt() + self.jump * part.max(1.0 - part) * FRAC_1_SQRT_2
    }

    /// The mean over the cell: that of √(p(1−p)) is π/8, that of the greater of p and 1 − p is 3/4.
    fn mean(self) -> f64 {
        self.kink * PI / 8.0 + self.jump * 0.75 * FRAC_1_SQRT_2
    }
}

/// An accumulated effect on cells.
pub(super) struct FineCurve<'a> {
    partition: &'a Partition,
    centring: Centring,
    widths: Vec<f64>,
    trends: Vec<Trend>,
    /// The instances of each cell about its trend, with the place that their mean is of.
    contents: Vec<Content>,
    averaged: Averaged,
    variances: Vec<f64>,
    /// Degrees of freedom of each variance.
    degrees: Vec<f64>,
    turns: Vec<Turn>,
}

impl<'a> FineCurve<'a> {
    pub(super) fn new(
        partition: &'a Partition,
        contents: &[Content],
        centring: (Centring, AxisMean),
    ) -> Result<Self> {
        let widths = partition.widths();
        let trends: Vec<Trend> =
            (0..widths.len()).map(|cell| Trend::at(cell, partition, contents)).collect();
        let averaged = Averaged::over(partition, contents, centring, &widths);
        let contents: Vec<Content> =
            trends.iter().zip(contents).map(|(trend, &content)| trend.residual(content)).collect();
        let variances: Vec<Option<f64>> =
            contents.iter().map(|cell| cell.effects.variance(1.0)).collect();
        let (Some(variances), _) = interpolate_missing(&variances, &partition.centres()) else {
            return Err(Error::Incompatible("no cell of a band has two instances".to_owned()));
        };
        let degrees = contents.iter().map(|cell| (cell.effects.weight - 1.0).max(1.0)).collect();
        let centring = centring.0;
        let turns = Vec::new();
        let mut curve = Self {
            partition,
            centring,
            widths,
            trends,
            contents,
            averaged,
            variances,
            degrees,
            turns,
        };
        curve.turns = (0..curve.widths.len()).map(|cell| curve.unknown_turn(cell)).collect();
        Ok(curve)
    }

    /// The most that a cell of which nothing else is known may turn: all of its variance that of a kink, or its mean that of
    /// a jump.
    fn unknown_turn(&self, cell: usize) -> Turn {
        // Instances at a single place do not differ by where they are. Spread evenly, 1/12 is the variance of the part.
        let Content { effects, parts_squared, .. } = self.contents[cell];
        let spread = (12.0 * parts_squared / effects.weight).min(1.0);
        let kink = self.variances[cell] * spread
            + self.step(cell, self.trends[cell].share).powi(2)
            + self.peak(cell);
        Turn { kink: kink.sqrt(), jump: 0.0 }
    }

    /// Half of what a slope changes by from the cell before to the next beyond chance, as far as that is not a trend within the
    /// cell.
    fn step(&self, cell: usize, share: f64) -> f64 {
        let Trend { step, weight, before, next, .. } = self.trends[cell];
        let of_step = 1.0 / ((next - before) as f64 * weight);
        let by_chance = if weight > 0.0 { self.by_chance(cell) * of_step * of_step } else { 0.0 };
        (1.0 - share) * (step * step - by_chance).max(0.0).sqrt()
    }

    /// The variance of the trend from the cell before to the next.
    fn by_chance(&self, cell: usize) -> f64 {
        let Trend { weight, before, next, .. } = self.trends[cell];
        let of_mean = |k: usize| self.variances[k] / self.contents[k].effects.weight;
        weight * weight * (of_mean(before) + of_mean(next))
    }

    /// Cells of which a single one has so large a share of the curve's variance that it decides how wide the band is:
    /// by the mean variance around it, as its own would be chosen for being too large.
    pub(super) fn decisive(&self) -> Vec<usize> {
        let last = self.widths.len() - 1;
        let part = |cell: usize, variance: f64| {
            let Content { effects, .. } = self.contents[cell];
            let part = self.widths[cell] * self.widths[cell] * variance / effects.weight;
            if part.is_finite() { part } else { 0.0 }
        };
        let sum: f64 = (0..=last).map(|cell| part(cell, self.variances[cell])).sum();
        let around = |cell: usize| {
            let near = &self.variances[cell.saturating_sub(AROUND)..=(cell + AROUND).min(last)];
            near.iter().sum::<f64>() / near.len() as f64
        };
        (0..=last).filter(|&cell| part(cell, around(cell)) > DECISIVE * sum).collect()
    }

    /// Takes the variance of a cell from instances around it as well, about the cell's trend and a line along where
    /// they come from, with which the law of the other features may change. By how much one and the same instance turns
    /// within the cell, the trend aside, is what a kink does there, or a jump where it `sees` them: half of it on either side.
    pub(super) fn know(&mut self, cell: usize, around: &[Moved], sees: Sees) {
        let line = Line::through(around, self.trends[cell].within());
        if line.explained() > DEPENDENT * line.squares {
            return;
        }
        let degrees = line.weight - 2.0;
        let variance = (line.squares - line.explained()).max(0.0) / degrees;
        if degrees > self.degrees[cell] && variance.is_finite() {
            (self.variances[cell], self.degrees[cell]) = (variance, degrees);
            if line.from_squared > 0.0 {
                self.centre(cell, &line, sees);
            }
            // What the curve follows already is no kink, nor is what it is off by chance.
            let Trend { along, .. } = self.trends[cell];
            let slope = line.own + line.by_law() * self.widths[cell];
            let beyond = (slope - along).powi(2) - self.by_chance(cell);
            let half = 0.5 * line.over * beyond.max(0.0).sqrt();
            let share = if along == 0.0 { 0.0 } else { (slope / along).clamp(0.0, 1.0) };
            let step = self.step(cell, share);
            self.turns[cell] = match sees {
                Sees::Jumps => Turn { kink: 0.0, jump: half },
                Sees::Kinks => Turn { kink: half.hypot(step), jump: 0.0 },
            };
        }
    }

    /// Takes the mean of a cell to its middle: by how the law of the other features changes along this one, which the
    /// instances around tell with an error, and by the slope of each instance, which derivatives have and differences do not.
    /// It is the mean of all of them where the cell stands out.
    fn centre(&mut self, cell: usize, line: &Line, sees: Sees) {
        let (width, stands_out) = (self.widths[cell], self.stands_out(cell));
        let middle = self.partition.limits()[cell] + 0.5 * width;
        let content = &mut self.contents[cell];
        let Moments { weight, mean, .. } = content.effects;
        let (from, part, mean, weights) = match stands_out {
            true => (line.from, line.part, line.mean, weight / line.weight),
            false => (middle + (content.part - 0.5) * width, content.part, mean, 1.0),
        };
        let (distance, own) = (middle - from, if sees == Sees::Kinks { line.own } else { 0.0 });
        content.effects.mean = mean + line.by_law() * distance + own * (0.5 - part);
        content.part = 0.5;
        content.products *= weights;
        self.variances[cell] *= weights + weight * distance * distance / line.from_squared;
        for beside in cell.saturating_sub(1)..=(cell + 1).min(self.widths.len() - 1) {
            let trend = self.trends[beside];
            self.trends[beside] = trend.between(beside, self.partition, &self.contents);
        }
    }

    /// True if the cells around a cell hardly vary beside it.
    fn stands_out(&self, cell: usize) -> bool {
        let deviation = |cell: usize| self.widths[cell] * self.variances[cell].sqrt();
        let around = cell.saturating_sub(AROUND)..=(cell + AROUND).min(self.widths.len() - 1);
        let others: f64 = around.filter(|&other| other != cell).map(deviation).sum();
        others <= BESIDE * deviation(cell)
    }

    /// The centred curve at some places and its covariance.
    pub(super) fn debiased(&self, x: &[f64]) -> Result<Debiased> {
        let places: Vec<Place> = x.iter().map(|&x| Place::find(self.partition, x)).collect();
        let means = DVector::from_iterator(
            self.contents.len(),
            self.contents.iter().map(|cell| cell.effects.mean),
        );
        let centre = self.weights_of(
            &self.averaged.centre(&self.widths),
            self.averaged.bends.iter().copied().enumerate(),
        );
        let positions = self.positions(&means, &centre);
        let accumulation = Accumulation {
            weights: self.weights(&places, &centre),
            means,
            variances: self.variances.clone(),
            positions,
        };
        let (factor, mut degrees) = accumulation.columns(&self.contents);
        degrees[..self.degrees.len()].copy_from_slice(&self.degrees);
        let (bends, of_bends) = self.bends(&places);
        degrees.extend(of_bends);
        let uncertainty = Uncertainty::of_chance_and_bounds(factor, &bends, &degrees);
        Ok(Debiased { curve: accumulation.curve(), uncertainty, cells: self.widths.len() })
    }

    /// Weights of the means of the cells in a sum of what cells contribute: so much of the mean of each about its
    /// trend, and in some cells so much of the bend, in units of the width times the trend.
    fn weights_of(&self, of_cells: &[f64], bent: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
        let mut weights = of_cells.to_vec();
        let mut add = |trend: &Trend, weight: f64| {
            weights[trend.next] += weight * trend.weight;
            weights[trend.before] -= weight * trend.weight;
        };
        for ((trend, content), &weight) in self.trends.iter().zip(&self.contents).zip(of_cells) {
            add(trend, weight * trend.share * (0.5 - content.part));
        }
        for (cell, bend) in bent {
            add(&self.trends[cell], self.widths[cell] * bend);
        }
        weights
    }

    /// c, places × cells.
    fn weights(&self, places: &[Place], centre: &[f64]) -> DMatrix<f64> {
        let mut weights = DMatrix::zeros(places.len(), self.widths.len());
        let mut below = vec![0.0; self.widths.len()];
        for (i, &Place { bin, part }) in places.iter().enumerate() {
            below.fill(0.0);
            below[..bin].copy_from_slice(&self.widths[..bin]);
            below[bin] = self.widths[bin] * part;
            let bend = part * (part - 1.0) / 2.0;
            let row = self.weights_of(&below, std::iter::once((bin, bend)));
            for (k, (weight, centre)) in row.iter().zip(centre).enumerate() {
                weights[(i, k)] = weight - centre;
            }
        }
        weights
    }

    /// For centrings over the instances: value at the mean place of each cell, and rise over the cell.
    fn positions(&self, means: &DVector<f64>, centre: &[f64]) -> Option<Vec<(f64, f64)>> {
        if !matches!(self.centring, Centring::Data | Centring::Bins) {
            return None;
        }
        let mut reached = -centre.iter().zip(means).map(|(c, mean)| c * mean).sum::<f64>();
        let position = |k: usize| {
            let rise = self.widths[k] * self.mean_over(k, means[k]);
            let at = reached + self.averaged.part(k) * rise;
            reached += rise;
            (at, rise)
        };
        Some((0..self.widths.len()).map(position).collect())
    }

    /// The mean over a cell, of that of its instances, which need not lie evenly in it.
    fn mean_over(&self, cell: usize, mean: f64) -> f64 {
        mean + self.trends[cell].within() * (0.5 - self.contents[cell].part)
    }

    /// The square of how far the mean over a cell is from the line through those of its neighbours, less what is by
    /// chance: of a jump within the cell, whose place there is not known, nothing else tells. At an end there is no line.
    fn peak(&self, cell: usize) -> f64 {
        if cell == 0 || cell + 1 == self.widths.len() {
            return 0.0;
        }
        let (a, b) = (cell - 1, cell + 1);
        // Over the whole cell: differences are so already, derivatives by the trend within it.
        let mean = |k: usize| self.mean_over(k, self.contents[k].effects.mean);
        let place = |k: usize| self.partition.limits()[k] + 0.5 * self.widths[k];
        let share = (place(cell) - place(a)) / (place(b) - place(a));
        let by_chance = |k: usize| self.variances[k] / self.contents[k].effects.weight;
        let distance = mean(cell) - (mean(a) + share * (mean(b) - mean(a)));
        let of_line = (1.0 - share).powi(2) * by_chance(a) + share * share * by_chance(b);
        let peak = distance * distance - by_chance(cell) - of_line;
        if peak > 0.0 { peak } else { 0.0 }
    }

    /// A column for each cell that holds a place, of what a kink or a jump in it may do there, with the degrees of freedom.
    fn bends(&self, places: &[Place]) -> (DMatrix<f64>, Vec<f64>) {
        let mut cells: Vec<usize> = places.iter().map(|place| place.bin).collect();
        cells.dedup();
        let mut columns = DMatrix::zeros(places.len(), cells.len());
        for (mut column, &cell) in columns.column_iter_mut().zip(&cells) {
            let turn = self.turns[cell];
            let mean = self.averaged.shares[cell] * turn.mean();
            for (i, &Place { bin, part }) in places.iter().enumerate() {
                let here = if bin == cell { turn.at(part) } else { 0.0 };
                column[i] = self.widths[cell] * (here - mean);
            }
        }
        let degrees = cells.iter().map(|&cell| self.degrees[cell]).collect();
        (columns, degrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contents of cells whose local effects are some function of the place.
    fn contents(partition: &Partition, x: &[f64], effect: impl Fn(f64) -> f64) -> Vec<Content> {
        let mut contents = vec![Content::default(); partition.bins()];
        for &x in x {
            let place = Place::find(partition, x);
            contents[place.bin].add(place.part, effect(x), 1.0);
        }
        contents
    }

    fn cells_of(x: &[f64]) -> Partition {
        let sample = SortedSample::new(x.iter().map(|&x| (x, 1.0)));
        cells(&sample, Axis::new(0.0, 1.0).unwrap(), Closed::Left).unwrap().unwrap()
    }

    /// Places that crowd at the start.
    fn uneven() -> Vec<f64> {
        (0..60).map(|i| ((f64::from(i) + 0.5) / 60.0).powf(2.5)).collect()
    }

    #[test]
    fn a_parabola_is_exact_whatever_the_places_and_the_centring() {
        let x = uneven();
        let partition = cells_of(&x);
        assert_eq!(partition.bins(), 12);
        let at: Vec<f64> = (0..=50).map(|i| f64::from(i) / 50.0).collect();
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        for (centring, constant) in [
            (Centring::None, 0.0),
            (Centring::Start, 0.0),
            (Centring::Integral, 1.0 / 3.0),
            (Centring::Data, mean),
        ] {
            let contents = contents(&partition, &x, |x| 2.0 * x);
            let curve = FineCurve::new(&partition, &contents, (centring, AxisMean::default()));
            let fine = curve.unwrap().debiased(&at).unwrap();
            for (x, y) in at.iter().zip(&fine.curve) {
                assert!((y - (x * x - constant)).abs() < 1e-13, "{centring:?} at {x}: {y}");
            }
            // What is not certain is the mean over the instances alone.
            let errors = fine.uncertainty.standard_errors();
            let is_certain = errors.iter().all(|&error| error < 1e-13);
            assert_eq!(is_certain, centring != Centring::Data, "{centring:?}");
        }
    }

    #[test]
    fn a_kink_within_a_cell_is_within_two_standard_errors() {
        let x: Vec<f64> = (0..60).map(|i| (f64::from(i) + 0.5) / 60.0).collect();
        let partition = cells_of(&x);
        for i in 0..=10 {
            // The slope falls from 3 to -4 somewhere in the seventh cell.
            let kink = 0.5 + f64::from(i) / 120.0;
            let contents = contents(&partition, &x, |x| if x < kink { 3.0 } else { -4.0 });
            let centring = (Centring::Start, AxisMean::default());
            let curve = FineCurve::new(&partition, &contents, centring).unwrap();
            let fine = curve.debiased(&[kink]).unwrap();
            let off = (fine.curve[0] - 3.0 * kink).abs();
            let error = fine.uncertainty.standard_errors()[0];
            assert!(off < 2.0 * error + 1e-12, "{kink}: {off} of {error}");
        }
    }

    /// A jump of f is in one cell, and how high it is differs from instance to instance.
    #[test]
    fn a_cell_that_decides_is_known_from_instances_around_it() {
        let x: Vec<f64> = (0..60).map(|i| (f64::from(i) + 0.5) / 60.0).collect();
        let partition = cells_of(&x);
        let mut contents = contents(&partition, &x, |_| 0.0);
        let heights = [0.1, 0.2, 0.1, 0.3, 0.8];
        contents[6] = Content::default();
        heights.iter().for_each(|&height| contents[6].add(0.5, height, 1.0));
        let centring = (Centring::Start, AxisMean::default());
        let curve = || FineCurve::new(&partition, &contents, centring).unwrap();
        // Its neighbours have a share in the mean variance around it.
        assert_eq!(curve().decisive(), [4, 5, 6, 7, 8]);
        // As many from either side of the cell, whose middle is at 6.5 of 12.
        let from = |i: usize| (6.5 + (i as f64 - 12.0) / 5.0) / 12.0;
        let around = |effect: &dyn Fn(usize) -> f64| -> Vec<Moved> {
            let moved = |i: usize| Moved {
                from: from(i),
                part: 0.5,
                effect: effect(i),
                // Over one half, which is twice as steep.
                turn: (0.5, 2.0 * effect(i)),
                weight: 1.0,
            };
            (0..25).map(moved).collect()
        };
        let mut known = curve();
        // On average by a tenth higher than the five in the cell say.
        let moved = around(&|i| heights[i % 5] + 0.1);
        known.know(6, &moved, Sees::Jumps);
        assert_eq!(known.degrees[6], 23.0);
        let spread = heights.iter().map(|h| (h - 0.3) * (h - 0.3)).sum::<f64>();
        let (mean, variance) = (known.contents[6].effects.mean, known.variances[6] / 5.0);
        assert!((mean - 0.4).abs() < 1e-3, "{mean}");
        assert!((variance - 5.0 * spread / 23.0 / 25.0).abs() < 1e-3, "{variance}");
        // Half of what the mean local effect turns by.
        assert!((known.turns[6].jump - 0.5 * 2.0 * 0.4).abs() < 1e-2);
        // Where cells beside it vary as well, their instances tell how much the mean does, and not what it is.
        let mut one_of_many = curve();
        one_of_many.variances.fill(curve().variances[6]);
        one_of_many.know(6, &moved, Sees::Jumps);
        assert_eq!(one_of_many.contents[6].effects.mean, curve().contents[6].effects.mean);
        assert!((one_of_many.variances[6] - 5.0 * spread / 23.0).abs() < 0.01);
        // Taken to the middle along the place that instances come from, with the error of that line.
        let one_sided = &moved[10..];
        let mut leaning = curve();
        leaning.know(6, one_sided, Sees::Jumps);
        let about = one_sided.iter().map(|moved| moved.from).sum::<f64>() / 15.0;
        let squares: f64 = one_sided.iter().map(|moved| (moved.from - about).powi(2)).sum();
        let products: f64 =
            one_sided.iter().map(|moved| (moved.from - about) * (moved.effect - 0.4)).sum();
        let distance = 6.5 / 12.0 - about;
        let mean = leaning.contents[6].effects.mean;
        assert!((mean - (0.4 + products / squares * distance)).abs() < 1e-12, "{mean}");
        let residual = (3.0 * spread - products * products / squares) / 13.0;
        let expected = residual * (1.0 / 15.0 + distance * distance / squares);
        assert!((leaning.variances[6] / 5.0 - expected).abs() < 1e-12);
        // Where effects follow the place that instances come from, these say nothing of the cell.
        let mut unknown = curve();
        unknown.know(6, &around(&|i| if i < 12 { 0.0 } else { 1.0 }), Sees::Jumps);
        assert_eq!((unknown.degrees[6], unknown.variances[6]), (4.0, curve().variances[6]));
        // Where in the cell the curve jumps is not known: it is within two standard errors.
        let fine = known.debiased(&[0.5, 0.51, 0.54, 0.57]).unwrap();
        for (y, error) in fine.curve.iter().zip(fine.uncertainty.standard_errors()) {
            let rise = 0.4 / 12.0;
            assert!(y.abs() <= 1e-12 || (y.abs() < rise && error > 0.2 * rise), "{y} ± {error}");
        }
    }

    /// The local effect of an instance from u at x is 2 x + u/2, more or less: instances lie on one side of the last cell.
    #[test]
    fn the_mean_of_a_cell_that_is_known_belongs_to_its_middle() {
        let x = uneven();
        let partition = cells_of(&x);
        let (z, cell) = (partition.limits(), 11);
        let (width, middle) = (z[12] - z[11], 0.5 * (z[11] + z[12]));
        for sees in [Sees::Kinks, Sees::Jumps] {
            let mut contents = vec![Content::default(); 12];
            for &u in &x {
                let Place { bin, part } = Place::find(&partition, u);
                let at = if sees == Sees::Kinks { u } else { 0.5 * (z[bin] + z[bin + 1]) };
                contents[bin].add(part, 2.0 * at + 0.5 * u, 1.0);
            }
            assert!((contents[cell].part - 0.5).abs() > 0.01);
            let centring = (Centring::Start, AxisMean::default());
            let (parts, over) =
                if sees == Sees::Kinks { (vec![0.3, 0.7], 0.4) } else { (vec![0.5], 0.5) };
            let mut around = Vec::new();
            for (&u, noise) in x[40..].iter().flat_map(|u| [(u, -1.0), (u, 1.0)]) {
                for &part in &parts {
                    let effect = 2.0 * (z[cell] + part * width) + 0.5 * u + noise;
                    let weight = 1.0 / parts.len() as f64;
                    around.push(Moved {
                        from: u,
                        part,
                        effect,
                        turn: (over, 2.0 * over * width),
                        weight,
                    });
                }
            }
            // The noise of 40 less two, and the error of the line where the cell has its middle.
            let about: f64 = x[40..].iter().sum::<f64>() / 20.0;
            let squares: f64 = x[40..].iter().map(|u| 2.0 * (u - about).powi(2)).sum();
            let own = (0.5 - contents[cell].part) * width;
            // From its own five, beside cells that vary too, and from all where none does.
            for (beside, share, distance) in [(1.0, 1.0, own), (0.0, 5.0 / 40.0, middle - about)] {
                let mut curve = FineCurve::new(&partition, &contents, centring).unwrap();
                curve.variances.fill(beside);
                curve.know(cell, &around, sees);
                let mean = curve.mean_over(cell, curve.contents[cell].effects.mean);
                assert!((mean - 2.5 * middle).abs() < 1e-12, "{sees:?}: {mean}");
                let known = 40.0 / 38.0 * (share + 5.0 * distance * distance / squares);
                assert!((curve.variances[cell] / known - 1.0).abs() < 1e-3, "{sees:?} {beside}");
            }
        }
    }

    #[test]
    fn cells_hold_five_instances_and_equal_ones_together() {
        let bins = |x: &[f64]| cells_of(x).bins();
        assert_eq!(bins(&uneven()), 12);
        let mut x = uneven();
        let tied = x[10];
        x[10..40].fill(tied);
        let partition = cells_of(&x);
        let weights: Vec<f64> =
            contents(&partition, &x, |_| 0.0).iter().map(|cell| cell.effects.weight).collect();
        assert!(weights.iter().all(|&weight| weight >= 5.0), "{weights:?}");
        let few = SortedSample::new([(0.1, 1.0), (0.2, 1.0)].into_iter());
        assert_eq!(cells(&few, Axis::new(0.0, 1.0).unwrap(), Closed::Left).unwrap(), None);
    }
}
