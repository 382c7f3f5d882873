//! The law of a feature that reads several others, as a sum of its laws at fixed places of these.
//!
//! One sum answers for every value of the feature, where an integral of its own for each value would look for peaks
//! anew. It is taken only where a finer one agrees at many values; of too many features it is one over simulated rows.

use super::laws::{Plain, Scale};
use super::named_law::{Node, kinks};
use super::places::{BreaksAlong, Cell, Grid, Visit};
use crate::law::Univariate;
use crate::law::levels::Levels;
use crate::numeric::quadrature::Estimate;
use crate::numeric::sobol::{Points, RANDOMISATIONS, WIDTH};

/// Nodes between neighbouring points of the first feature.
const OUTER: usize = 12;
/// Nodes between neighbouring points of the laws of further ones, rule after rule.
const INNER: [usize; 8] = [8, 12, 18, 27, 40, 60, 90, 130];
/// Times that what lies between two points of the first feature may be halved.
const MOST_HALVINGS: u32 = 7;
/// Most laws in a sum, and that are made to find it.
const MOST_LAWS: usize = 400_000;
const MOST_MADE: usize = 6_000_000;
/// Most densities of them that are asked for to resolve the law that is their sum: some five seconds.
pub(super) const MOST_DENSITIES: usize = 200_000_000;
/// Largest difference between the sum over a cell and a finer one, and between all of both, relative to the largest of
/// the densities.
const AGREED: f64 = 1e-14;
const AGREED_IN_ALL: f64 = 2e-13;
/// Probability of what a law is left out for.
const WEIGHTLESS: f64 = 1e-20;
/// Fewest pieces of a law.
const FEWEST_PIECES: usize = 4;
/// Standard deviations from the mean of a normal law beyond which it counts for nothing.
const REACH: f64 = 9.5;

/// A feature, by its number, and those before it that its law is a sum over, in order.
#[derive(Clone, Copy)]
pub(super) struct Blended<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) node: usize,
    pub(super) over: &'a [usize],
    pub(super) scale: Scale,
}

/// Rows of each randomisation from which a law is simulated, the share of its probability that may be off where fewer
/// are enough.
const FEWEST_ROWS: usize = 512;
const MOST_ROWS: usize = 4096;
const WELL_KNOWN: f64 = 1e-3;
/// Rows of each randomisation from which probabilities of levels are simulated.
const ROWS_OF_LEVELS: usize = 1024;

/// Laws of a feature with their weights.
pub(super) struct Blend {
    scale: Scale,
    parts: Vec<Part>,
    /// Coordinates between which any of so many neighbours have weight: most laws are far from any coordinate.
    hulls: Vec<Ends>,
    /// Error of a density.
    error: f64,
    /// Half width of the interval of the probability of anything, where the laws are those at simulated rows.
    pub(super) share: Option<f64>,
}

type Ends = (f64, f64);

/// Neighbours of which the hull is kept.
const TOGETHER: usize = 32;

/// A law, its weight, and the coordinates between which it has any.
struct Part {
    weight: f64,
    between: Ends,
    law: Plain,
}

impl Part {
    fn reaches(&self, u: f64) -> bool {
        is_between(self.between, u)
    }

    fn at(&self, scale: Scale, u: f64) -> f64 {
        if self.reaches(u) { self.weight * self.law.ln_weight(scale, u).exp() } else { 0.0 }
    }
}

fn is_between((from, to): Ends, u: f64) -> bool {
    (from..=to).contains(&u)
}

fn hull(parts: &[Part]) -> Ends {
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    let wider = |(from, to): Ends, part: &Part| (part.between.0.min(from), part.between.1.max(to));
    parts.iter().fold(nothing, wider)
}

impl Blend {
    fn new(scale: Scale, parts: Vec<Part>, error: f64, share: Option<f64>) -> Self {
        let hulls = parts.chunks(TOGETHER).map(hull).collect();
        Self { scale, parts, hulls, error, share }
    }

    /// The law of a feature, if sums are found with which finer ones agree at all of the coordinates.
    pub(super) fn of(of: Blended<'_>, probes: &[f64]) -> Option<Self> {
        let mut search = Search { of, probes, enough: 0.0, parts: Vec::new(), error: 0.0, made: 0 };
        let cells = of.cells()?;
        let mut coarse = vec![0.0; probes.len()];
        for cell in &cells {
            let sums = search.sums(&search.made(*cell, INNER[1])?);
            coarse.iter_mut().zip(sums).for_each(|(all, own)| *all += own);
        }
        search.enough = AGREED * largest(&coarse);
        for cell in cells {
            search.settle(cell, 0, 0)?;
        }
        let Search { parts, error, .. } = search;
        let blend = Self::new(of.scale, parts, error, None);
        let densities: Vec<f64> = probes.iter().map(|&u| blend.at(u).value).collect();
        (error < AGREED_IN_ALL * largest(&densities)).then_some(blend)
    }

    /// The law of a feature by simulation, over as many rows as it takes until it is known well, or as there may be;
    /// how well is looked at between ascending coordinates.
    pub(super) fn drawn(of: Blended<'_>, points: &[f64]) -> Option<Self> {
        let probes = sparse(points);
        let middles = probes.windows(2).map(|ends| 0.5 * (ends[0] + ends[1]));
        let mut probes: Vec<f64> = probes.iter().copied().chain(middles).collect();
        probes.sort_by(f64::total_cmp);
        let mut rows = FEWEST_ROWS;
        loop {
            let blend = of.drawn(rows, &probes)?;
            if rows >= MOST_ROWS || blend.share.is_some_and(|share| share < WELL_KNOWN) {
                return Some(blend);
            }
            rows *= 2;
        }
    }

    /// Laws of which a neighbour has weight at a coordinate, in order.
    fn near(&self, u: f64) -> impl Iterator<Item = &Part> {
        let all = self.parts.chunks(TOGETHER).zip(&self.hulls);
        all.filter(move |(_, hull)| is_between(**hull, u)).flat_map(|(parts, _)| parts)
    }

    /// Number of laws that are asked for their density to know that of a coordinate.
    pub(super) fn asked(&self, u: f64) -> usize {
        self.near(u).filter(|part| part.reaches(u)).count()
    }

    /// The density of a coordinate.
    pub(super) fn at(&self, u: f64) -> Estimate {
        let value: f64 = self.near(u).map(|part| part.at(self.scale, u)).sum();
        // A sum of nothing is a negative zero.
        Estimate { error: self.error, ..Estimate::exact(value + 0.0) }
    }
}

/// Both ends of ascending points and some of those between, evenly.
pub(super) fn sparse(points: &[f64]) -> Vec<f64> {
    const SOME: usize = 16;
    let last = points.len() - 1;
    let mut places: Vec<usize> = (0..=SOME).map(|k| k * last / SOME).collect();
    places.dedup();
    places.into_iter().map(|place| points[place]).collect()
}

fn largest(densities: &[f64]) -> f64 {
    densities.iter().copied().fold(0.0, f64::max)
}

/// Laws that were found to be enough, and how many were made until then.
struct Search<'a> {
    of: Blended<'a>,
    probes: &'a [f64],
    enough: f64,
    parts: Vec<Part>,
    error: f64,
    made: usize,
}

impl Search<'_> {
    fn made(&self, cell: Cell, inner: usize) -> Option<Vec<Part>> {
        self.of.parts(cell, inner)
    }

    fn sums(&mut self, parts: &[Part]) -> Vec<f64> {
        self.made += parts.len();
        let sum = |&u: &f64| parts.iter().map(|part| part.at(self.of.scale, u)).sum();
        self.probes.iter().map(sum).collect()
    }

    /// Adds the laws of a cell: first a rule over further features is found to be fine enough, then halves of what is
    /// integrated over of the first one.
    fn settle(&mut self, cell: Cell, depth: u32, first_rule: usize) -> Option<()> {
        let mut rule = first_rule;
        let mut sums = None;
        let (parts, sums, off) = loop {
            let parts = self.made(cell, *INNER.get(rule)?)?;
            let finer = self.sums(&parts);
            if self.made > MOST_MADE {
                return None;
            }
            if let Some(off) = sums.map(|before: Vec<f64>| difference(&before, &finer))
                && off <= self.enough
            {
                break (parts, finer, off);
            }
            (sums, rule) = (Some(finer), rule + 1);
        };
        let Cell::Between(from, to) = cell else {
            return self.take(parts, off);
        };
        let middle = 0.5 * (from + to);
        let halves = [Cell::Between(from, middle), Cell::Between(middle, to)];
        let [left, right] = halves.map(|half| self.made(half, INNER[rule]));
        let both: Vec<Part> = left?.into_iter().chain(right?).collect();
        let off = off + difference(&sums, &self.sums(&both));
        if off <= 2.0 * self.enough {
            return self.take(both, off);
        }
        if depth == MOST_HALVINGS {
            return None;
        }
        halves.into_iter().try_for_each(|half| self.settle(half, depth + 1, rule.saturating_sub(2)))
    }

    fn take(&mut self, parts: Vec<Part>, off: f64) -> Option<()> {
        self.parts.extend(parts);
        self.error += off;
        (self.parts.len() <= MOST_LAWS).then_some(())
    }
}

/// The largest difference; that which is no number counts.
fn difference(before: &[f64], finer: &[f64]) -> f64 {
    let each = before.iter().zip(finer).map(|(a, b)| (a - b).abs());
    each.fold(0.0, |worst: f64, own| if own <= worst { worst } else { own })
}

impl Blended<'_> {
    /// The laws of the feature where those before it are at the nodes of rules, the first of them in a cell.
    fn parts(&self, cell: Cell, inner: usize) -> Option<Vec<Part>> {
        let nothing = vec![f64::NAN; self.nodes.len()];
        let kinks =
            |number: usize, places: &[f64], row: &mut [f64]| self.kinks(number, places, row);
        let mut parts = Vec::new();
        let mut visit = |visit: Visit, row: &mut [f64]| {
            parts.push(self.part(visit.weight, row)?);
            Some(())
        };
        self.grid(&kinks).visit(&nothing, Some(cell), [OUTER, inner], &mut visit)?;
        Some(parts)
    }

    fn cells(&self) -> Option<Vec<Cell>> {
        self.grid(&|number, places, row| self.kinks(number, places, row)).cells()
    }

    fn grid<'a>(&'a self, breaks: BreaksAlong<'a>) -> Grid<'a> {
        let (nodes, over) = (self.nodes, self.over);
        let (weightless, pieces, most) = (WEIGHTLESS, FEWEST_PIECES, MOST_LAWS);
        Grid { nodes, over, breaks, resolved: None, weightless, pieces, most }
    }

    /// Values of one of the features before at which laws that read it have kinks.
    fn kinks(&self, number: usize, places: &[f64], row: &mut [f64]) -> Vec<f64> {
        let readers = self.over[number + 1..].iter().chain([&self.node]).copied();
        kinks(self.nodes, self.over[number], readers, places, row)
    }

    /// The law of the feature at a row of those before it.
    fn part(&self, weight: f64, row: &[f64]) -> Option<Part> {
        let law = self.nodes[self.node].law.at(row).ok()?;
        let (low, high) = match law.normal() {
            Some((mean, sd)) => (mean - REACH * sd, mean + REACH * sd),
            None => law.support(),
        };
        let ends = [low, high].map(|end| self.scale.coordinate(end));
        let end = |u: f64, beyond: f64| if u.is_nan() { beyond } else { u };
        let between = (end(ends[0], f64::NEG_INFINITY), end(ends[1], f64::INFINITY));
        Some(Part { weight, between, law })
    }

    /// The mean of the laws at so many simulated rows of each randomisation.
    fn drawn(&self, rows: usize, probes: &[f64]) -> Option<Blend> {
        let scale = self.scale;
        let weight = 1.0 / (RANDOMISATIONS * rows) as f64;
        let parts = self.drawn_rows(rows).into_iter().map(|row| self.part(weight, &row));
        let parts = parts.collect::<Option<Vec<_>>>()?;
        let density = |parts: &[Part], u: f64| {
            RANDOMISATIONS as f64 * parts.iter().map(|part| part.at(scale, u)).sum::<f64>()
        };
        let half_width = |u: f64| {
            let each: Vec<f64> = parts.chunks(rows).map(|parts| density(parts, u)).collect();
            half_width(&each)
        };
        let widths: Vec<f64> = probes.iter().map(|&u| half_width(u)).collect();
        let trapezium = |(u, width): (&[f64], &[f64])| 0.5 * (u[1] - u[0]) * (width[0] + width[1]);
        let share = probes.windows(2).zip(widths.windows(2)).map(trapezium).sum();
        Some(Blend::new(scale, parts, 0.0, Some(share)))
    }

    /// Simulated rows of the features before, so many of each randomisation, one randomisation after the other.
    fn drawn_rows(&self, count: usize) -> Vec<Vec<f64>> {
        let mut rows = Vec::with_capacity(RANDOMISATIONS * count);
        let mut point = vec![0.0; self.over.len()];
        for randomisation in 0..RANDOMISATIONS {
            let mut points = Points::new(randomisation, point.len(), false);
            for _ in 0..count {
                points.write(&mut point);
                let mut row = vec![f64::NAN; self.nodes.len()];
                for (&node, p) in self.over.iter().zip(&point) {
                    let law = self.nodes[node].law.at(&row);
                    row[node] = law.map_or(f64::NAN, |law| law.inverse(*p, 1.0 - p));
                }
                rows.push(row);
            }
        }
        rows
    }

    /// The levels of a feature with their probabilities by simulation, and the share of these that may be off.
    pub(super) fn drawn_levels(&self) -> Option<(Vec<(f64, f64)>, f64)> {
        let rows = self.drawn_rows(ROWS_OF_LEVELS);
        let laws = rows.iter().map(|row| self.nodes[self.node].law.at(row).ok());
        let laws = laws.collect::<Option<Vec<Plain>>>()?;
        let levels = laws.iter().map(Plain::levels).collect::<Option<Vec<&Levels>>>()?;
        let mut values: Vec<f64> =
            levels.iter().flat_map(|levels| levels.values()).copied().collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let share = |levels: &[&Levels], value: f64| {
            levels.iter().map(|levels| levels.probability(value)).sum::<f64>() / levels.len() as f64
        };
        let mut doubt = 0.0;
        let told = values.into_iter().map(|value| {
            let each = levels.chunks(ROWS_OF_LEVELS).map(|levels| share(levels, value));
            doubt += half_width(&each.collect::<Vec<f64>>());
            (value, share(&levels, value))
        });
        Some((told.collect(), doubt))
    }
}

/// Half the width of the interval of the mean of independent numbers, one of each randomisation.
fn half_width(each: &[f64]) -> f64 {
    let count = each.len() as f64;
    let mean = each.iter().sum::<f64>() / count;
    let squares: f64 = each.iter().map(|own| (own - mean).powi(2)).sum();
    *WIDTH * (squares / (count * (count - 1.0))).sqrt()
}
