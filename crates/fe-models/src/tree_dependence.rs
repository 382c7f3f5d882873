//! Partial dependences of sums of trees at some points, from their leaves.
//!
//! At a test of a fixed feature the points part, and all rows of the background go both ways with them; at any other test
//! the rows part, and all points go both ways. A leaf then adds, at each point that reaches it, its value times the weight
//! of the rows that reach it: each tree is walked through once, not once for each pair of a point and a row.

use std::ops::Range;

use fe_core::model::{Background, Column, Rows};

use crate::ensemble::{Ensemble, LEAF, Rule, divide};

impl<R: Rule + Default> Ensemble<R> {
    /// The sums over each group of a background of what the trees add up to, with some features as they are at some
    /// points: for each point all scores, for each score all groups.
    pub(crate) fn dependence_sums(
        &self,
        fixed: &[usize],
        (points, background): (&Rows<'_>, &Background<'_>),
    ) -> Vec<f64> {
        let width = self.scores() * background.count;
        let mut sums = vec![0.0; points.len() * width];
        // What leaves add without a test of a fixed feature, at all points.
        let mut everywhere = vec![0.0; width];
        let mut weights = vec![0.0; background.count];
        let [mut at_points, mut rows] = [points, &background.rows].map(Side::all);
        for &root in self.roots() {
            let mut open = vec![Visit {
                node: root,
                points: 0..points.len(),
                rows: 0..background.rows.len(),
                is_tested: false,
            }];
            while let Some(visit) = open.pop() {
                if visit.points.is_empty() || visit.rows.is_empty() {
                    continue;
                }
                let at = &self.nodes()[visit.node];
                if at.feature != LEAF {
                    let feature = at.feature as usize;
                    let is_fixed = fixed.contains(&feature);
                    let (side, range) = match is_fixed {
                        true => (&mut at_points, &visit.points),
                        false => (&mut rows, &visit.rows),
                    };
                    let halves = side.part(range.clone(), feature, &at.rule);
                    for (child, half) in at.children.into_iter().zip(halves).rev() {
                        let node = child as usize;
                        let is_tested = visit.is_tested || is_fixed;
                        let Visit { points, rows, .. } = &visit;
                        let (points, rows) = match is_fixed {
                            true => (half, rows.clone()),
                            false => (points.clone(), half),
                        };
                        open.push(Visit { node, points, rows, is_tested });
                    }
                    continue;
                }
                weights.fill(0.0);
                for &row in &rows.order[visit.rows] {
                    weights[background.groups[row as usize]] += background.weights[row as usize];
                }
                for &(score, value) in self.additions(at) {
                    let own = score as usize * background.count..;
                    let add = |sums: &mut [f64]| {
                        let pairs = sums[own.clone()].iter_mut().zip(&weights);
                        pairs.for_each(|(sum, weight)| *sum += value * weight);
                    };
                    if visit.is_tested {
                        let points = &at_points.order[visit.points.clone()];
                        points.iter().for_each(|&point| {
                            add(&mut sums[point as usize * width..][..width]);
                        });
                    } else {
                        add(&mut everywhere);
                    }
                }
            }
        }
        for sums in sums.chunks_exact_mut(width.max(1)) {
            sums.iter_mut().zip(&everywhere).for_each(|(sum, everywhere)| *sum += everywhere);
        }
        sums
    }
}

/// A node to be visited by some points and some rows of the background, and whether a fixed feature was tested before.
struct Visit {
    node: usize,
    points: Range<usize>,
    rows: Range<usize>,
    is_tested: bool,
}

/// Rows on their way through a tree, those that are at the same node next to each other.
struct Side<'a> {
    columns: &'a [Column<'a>],
    order: Vec<u32>,
    room: Vec<u32>,
}

impl<'a> Side<'a> {
    fn all(rows: &Rows<'a>) -> Self {
        let order = (0..rows.len() as u32).collect();
        Self { columns: rows.columns(), order, room: vec![0; rows.len()] }
    }

    /// Parts some of them by a test: those that pass it come first.
    fn part<R: Rule>(
        &mut self,
        range: Range<usize>,
        feature: usize,
        rule: &R,
    ) -> [Range<usize>; 2] {
        let passed = match self.columns[feature] {
            Column::Values(values) => {
                divide(&mut self.order[range.clone()], &mut self.room, |row| {
                    rule.is_met(values[row as usize])
                })
            }
            Column::Constant(value) if rule.is_met(value) => range.len(),
            Column::Constant(_) => 0,
        };
        let middle = range.start + passed;
        [range.start..middle, middle..range.end]
    }
}
