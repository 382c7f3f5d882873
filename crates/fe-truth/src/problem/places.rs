//! Rows of features that depend on each other at fixed places: the nodes of Gauss–Legendre rules between points of the
//! law of each given those before it.

use std::num::NonZeroUsize;

use gauss_quad::legendre::GaussLegendre;

use super::laws::Plain;
use super::named_law::Node;
use crate::law::Univariate;
use crate::numeric::quadrature::within;

/// Probability of what is left out.
const WEIGHTLESS: f64 = 1e-20;

/// Values of a feature, by its number among those placed, between ascending values at which what is summed breaks, where
/// a row holds those before it.
pub(super) type BreaksAlong<'a> = &'a dyn Fn(usize, &[f64], &mut [f64]) -> Vec<f64>;

/// Features that are placed, in order.
#[derive(Clone, Copy)]
pub(super) struct Grid<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) over: &'a [usize],
    pub(super) breaks: BreaksAlong<'a>,
    /// The points that are left for the last feature of all.
    pub(super) resolved: Option<Resolved<'a>>,
    /// Fewest pieces of a law, and most rows that are visited.
    pub(super) pieces: usize,
    pub(super) most: usize,
}

/// Points that resolve what is summed along the last feature, from those between which it is smooth, where a row holds
/// all features before it.
pub(super) type Resolved<'a> = &'a dyn Fn(&Plain, &[f64], &mut [f64]) -> Vec<f64>;

/// A part of the range of the first feature: between two coordinates, or a value with its probability.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Between(f64, f64),
    Value(f64, f64),
}

impl Grid<'_> {
    /// Parts of the range of the first feature.
    pub(super) fn cells(&self) -> Option<Vec<Cell>> {
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

    /// Coordinates of the law of a feature, between each of which and the next a rule is applied: those of the law, parts
    /// of what lies between these where they are few, and breaks.
    fn pieces(&self, law: &Plain, number: usize, row: &mut [f64]) -> Vec<f64> {
        let panels = law.panels();
        let parts = self.pieces.div_ceil(panels.len().saturating_sub(1).max(1));
        let split = |ends: &[f64]| {
            let (from, width) = (ends[0], ends[1] - ends[0]);
            (0..parts).map(move |k| from + width * k as f64 / parts as f64)
        };
        let points: Vec<f64> =
            panels.windows(2).flat_map(split).chain(panels.last().copied()).collect();
        let places: Vec<f64> = points.iter().map(|&u| law.place(u)).collect();
        let breaks = (self.breaks)(number, &places, row);
        let points = if breaks.is_empty() {
            points
        } else {
            let own = points.iter().copied();
            let all: Vec<f64> = breaks.into_iter().map(|x| law.coordinate(x)).chain(own).collect();
            within(&all, points[0], points[points.len() - 1])
        };
        match self.resolved {
            Some(resolved) if number + 1 == self.over.len() => resolved(law, &points, row),
            _ => points,
        }
    }

    /// Visits rows with their probabilities, from one that holds what is known: at the nodes of an outer rule of the first
    /// feature, all of it or what lies in a cell, and of an inner one of all others. None where they are too many, where a
    /// feature has no law, or where a visit ends it.
    pub(super) fn visit(
        &self,
        known: &[f64],
        first: Option<Cell>,
        rules: [usize; 2],
        visit: &mut dyn FnMut(f64, &mut [f64]) -> Option<()>,
    ) -> Option<()> {
        let [outer, inner] = rules.map(|nodes| NonZeroUsize::new(nodes).map(GaussLegendre::new));
        let mut visits =
            Visits { grid: *self, first, rules: [outer?, inner?], left: self.most, visit };
        visits.from(0, 1.0, &mut known.to_vec())
    }
}

/// Visits of the rows of a grid.
struct Visits<'a, 'b> {
    grid: Grid<'a>,
    first: Option<Cell>,
    rules: [GaussLegendre; 2],
    left: usize,
    visit: &'b mut dyn FnMut(f64, &mut [f64]) -> Option<()>,
}

impl Visits<'_, '_> {
    /// Visits all rows that share the values of the first features.
    fn from(&mut self, number: usize, weight: f64, row: &mut [f64]) -> Option<()> {
        let Some(&node) = self.grid.over.get(number) else {
            self.left = self.left.checked_sub(1)?;
            return (self.visit)(weight, row);
        };
        let law = self.grid.nodes[node].law.at(row).ok()?;
        let (cell, rule) = if number == 0 { (self.first, 0) } else { (None, 1) };
        let rule = &self.rules[rule];
        let places = match (&law, cell) {
            (_, Some(Cell::Value(value, p))) => vec![(p, value)],
            (law, Some(Cell::Between(from, to))) => between(law, &[from, to], rule),
            (Plain::Levels(levels), None) => levels.iter().map(|(value, p)| (p, value)).collect(),
            (law, None) => between(law, &self.grid.pieces(law, number, row), rule),
        };
        for (own, x) in places.into_iter().filter(|(own, _)| weight * own > WEIGHTLESS) {
            row[node] = x;
            self.from(number + 1, weight * own, row)?;
        }
        row[node] = f64::NAN;
        Some(())
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
