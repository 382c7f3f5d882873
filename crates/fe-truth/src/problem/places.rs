//! Rows of features that depend on each other at fixed places: the nodes of Gauss–Legendre rules between points of the
//! law of each given those before it.

use std::num::NonZeroUsize;

use gauss_quad::legendre::GaussLegendre;

use super::laws::Plain;
use super::named_law::Node;
use crate::law::Univariate;
use crate::numeric::quadrature::within;

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
    /// Probability of what is left out, but at ends beyond which laws go on.
    pub(super) weightless: f64,
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
        visit: &mut dyn FnMut(Visit, &mut [f64]) -> Option<()>,
    ) -> Option<()> {
        let [outer, inner] = rules.map(|nodes| NonZeroUsize::new(nodes).map(GaussLegendre::new));
        let mut visits =
            Visits { grid: *self, first, rules: [outer?, inner?], left: self.most, visit };
        visits.from(0, Visit { weight: 1.0, is_edge: false }, &mut known.to_vec())
    }
}

/// A row that is visited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    /// Its probability.
    pub(super) weight: f64,
    /// True if one of its features is at the last place before an end beyond which its law goes on.
    pub(super) is_edge: bool,
}

/// Visits of the rows of a grid.
struct Visits<'a, 'b> {
    grid: Grid<'a>,
    first: Option<Cell>,
    rules: [GaussLegendre; 2],
    left: usize,
    visit: &'b mut dyn FnMut(Visit, &mut [f64]) -> Option<()>,
}

impl Visits<'_, '_> {
    /// Visits all rows that share the values of the first features.
    fn from(&mut self, number: usize, so_far: Visit, row: &mut [f64]) -> Option<()> {
        let Some(&node) = self.grid.over.get(number) else {
            self.left = self.left.checked_sub(1)?;
            return (self.visit)(so_far, row);
        };
        let law = self.grid.nodes[node].law.at(row).ok()?;
        let (cell, rule) = if number == 0 { (self.first, 0) } else { (None, 1) };
        let rule = &self.rules[rule];
        let (places, open) = match (&law, cell) {
            (_, Some(Cell::Value(value, p))) => (vec![(p, value)], [false; 2]),
            (law, Some(Cell::Between(from, to))) => (between(law, &[from, to], rule), [false; 2]),
            (Plain::Levels(levels), None) => {
                (levels.iter().map(|(value, p)| (p, value)).collect(), [false; 2])
            }
            (law, None) => {
                let points = self.grid.pieces(law, number, row);
                (between(law, &points, rule), goes_on(law, &points))
            }
        };
        let last = places.len().saturating_sub(1);
        for (place, (own, x)) in places.into_iter().enumerate() {
            let is_edge = (place == 0 && open[0]) || (place == last && open[1]);
            // What a mean may be made of beyond an end is seen there, however improbable it is.
            let (weight, is_edge) = (so_far.weight * own, so_far.is_edge || is_edge);
            if weight > self.grid.weightless || (is_edge && own > 0.0) {
                row[node] = x;
                self.from(number + 1, Visit { weight, is_edge }, row)?;
            }
        }
        row[node] = f64::NAN;
        Some(())
    }
}

/// True for either end of ascending points beyond which a law goes on.
fn goes_on(law: &Plain, points: &[f64]) -> [bool; 2] {
    let ends = law.open_ends((points[0], points[points.len() - 1]));
    [points[0], points[points.len() - 1]].map(|end| ends.iter().any(|(open, _)| *open == end))
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
