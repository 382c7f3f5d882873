//! The law of a feature that reads several others, as a sum of its laws at fixed places of these.
//!
//! One sum answers for every value of the feature, where an integral of its own for each value would look for peaks
//! anew. It is taken only where a finer one agrees at many values.

use std::num::NonZeroUsize;

use gauss_quad::legendre::GaussLegendre;

use super::laws::{Plain, Scale};
use super::named_law::{Node, kinks};
use crate::law::Univariate;
use crate::numeric::quadrature::{Estimate, within};

/// Nodes between neighbouring points of the first feature.
const OUTER: usize = 12;
/// Nodes between neighbouring points of the laws of further ones, rule after rule.
const INNER: [usize; 8] = [8, 12, 18, 27, 40, 60, 90, 130];
/// Times that what lies between two points of the first feature may be halved.
const MOST_HALVINGS: u32 = 7;
/// Most laws in a sum, and that are made to find it.
const MOST_LAWS: usize = 400_000;
const MOST_MADE: usize = 6_000_000;
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

/// Laws of a feature with their weights.
pub(super) struct Blend {
    scale: Scale,
    parts: Vec<Part>,
    /// Error of a density.
    error: f64,
}

/// A law, its weight, and the coordinates between which it has any.
struct Part {
    weight: f64,
    between: (f64, f64),
    law: Plain,
}

impl Part {
    fn at(&self, scale: Scale, u: f64) -> f64 {
        if u < self.between.0 || u > self.between.1 {
            return 0.0;
        }
        self.weight * self.law.ln_weight(scale, u).exp()
    }
}

impl Blend {
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
        let blend = Self { scale: of.scale, parts, error };
        let densities: Vec<f64> = probes.iter().map(|&u| blend.at(u).value).collect();
        (error < AGREED_IN_ALL * largest(&densities)).then_some(blend)
    }

    /// The density of a coordinate.
    pub(super) fn at(&self, u: f64) -> Estimate {
        let value = self.parts.iter().map(|part| part.at(self.scale, u)).sum();
        Estimate { error: self.error, ..Estimate::exact(value) }
    }
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

/// A part of the range of the first feature that a law is a sum over: between two coordinates, or a value with its
/// probability.
#[derive(Clone, Copy)]
enum Cell {
    Between(f64, f64),
    Value(f64, f64),
}

impl Blended<'_> {
    fn cells(&self) -> Option<Vec<Cell>> {
        let mut row = vec![f64::NAN; self.nodes.len()];
        let law = self.nodes[*self.over.first()?].law.at(&row).ok()?;
        Some(match &law {
            Plain::Levels(levels) => {
                levels.iter().map(|(value, p)| Cell::Value(value, p)).collect()
            }
            law => {
                let points = self.pieces(law, 0, &mut row);
                points.windows(2).map(|ends| Cell::Between(ends[0], ends[1])).collect()
            }
        })
    }

    /// Coordinates of the law of one of the features before, between each of which and the next a rule is applied: those
    /// of the law, parts of what lies between these where they are few, and where laws that read it have kinks.
    fn pieces(&self, law: &Plain, number: usize, row: &mut [f64]) -> Vec<f64> {
        let panels = law.panels();
        let parts = FEWEST_PIECES.div_ceil(panels.len().saturating_sub(1).max(1));
        let split = |ends: &[f64]| {
            let (from, width) = (ends[0], ends[1] - ends[0]);
            (0..parts).map(move |k| from + width * k as f64 / parts as f64)
        };
        let points: Vec<f64> =
            panels.windows(2).flat_map(split).chain(panels.last().copied()).collect();
        let places: Vec<f64> = points.iter().map(|&u| law.place(u)).collect();
        let readers = self.over[number + 1..].iter().chain([&self.node]).copied();
        let kinks = kinks(self.nodes, self.over[number], readers, &places, row);
        if kinks.is_empty() {
            return points;
        }
        let all: Vec<f64> =
            kinks.into_iter().map(|x| law.coordinate(x)).chain(points.iter().copied()).collect();
        within(&all, points[0], points[points.len() - 1])
    }

    /// The laws of the feature where those before it are at the nodes of rules, the first of them in a cell.
    fn parts(&self, cell: Cell, inner: usize) -> Option<Vec<Part>> {
        let [outer, inner] =
            [OUTER, inner].map(|nodes| NonZeroUsize::new(nodes).map(GaussLegendre::new));
        let (outer, inner) = (outer?, inner?);
        let mut rows = vec![(1.0, vec![f64::NAN; self.nodes.len()])];
        for (number, &other) in self.over.iter().enumerate() {
            let mut longer = Vec::new();
            for (weight, mut row) in rows {
                let law = self.nodes[other].law.at(&row).ok()?;
                let places = match (&law, cell) {
                    (_, Cell::Value(value, p)) if number == 0 => vec![(p, value)],
                    (law, Cell::Between(from, to)) if number == 0 => {
                        between(law, &[from, to], &outer)
                    }
                    (Plain::Levels(levels), _) => {
                        levels.iter().map(|(value, p)| (p, value)).collect()
                    }
                    (law, _) => between(law, &self.pieces(law, number, &mut row), &inner),
                };
                for (own, x) in places.into_iter().filter(|(own, _)| weight * own > WEIGHTLESS) {
                    let mut with = row.clone();
                    with[other] = x;
                    longer.push((weight * own, with));
                }
                if longer.len() > MOST_LAWS {
                    return None;
                }
            }
            rows = longer;
        }
        let part = |(weight, row): (f64, Vec<f64>)| {
            let law = self.nodes[self.node].law.at(&row).ok()?;
            let (low, high) = match law.normal() {
                Some((mean, sd)) => (mean - REACH * sd, mean + REACH * sd),
                None => law.support(),
            };
            let ends = [low, high].map(|end| self.scale.coordinate(end));
            let end = |u: f64, beyond: f64| if u.is_nan() { beyond } else { u };
            let between = (end(ends[0], f64::NEG_INFINITY), end(ends[1], f64::INFINITY));
            Some(Part { weight, between, law })
        };
        rows.into_iter().map(part).collect()
    }
}

/// The nodes of a rule between neighbouring coordinates of a law, with their weights.
fn between(law: &Plain, points: &[f64], rule: &GaussLegendre) -> Vec<(f64, f64)> {
    let nodes = |ends: &[f64]| {
        let (centre, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
        rule.iter().map(move |&(node, weight)| {
            let u = centre + half * node;
            (half * weight * law.weight(u), law.place(u))
        })
    };
    points.windows(2).flat_map(nodes).collect()
}
