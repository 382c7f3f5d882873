//! Probabilities of boxes: products over independent blocks, and joint ones of features that depend on each other.
//!
//! Of two features of a block the probabilities of all pairs of cells are integrated once, and rectangles are read
//! off; of more than two the means over the one normal variable that ties the block together, where it has such.

use std::sync::OnceLock;

use fe_core::interrupt;

use super::cells::{Cells, Probability, ROUNDING, Side, Table};
use crate::engine::Engine;
use crate::law::{Law, Univariate};
use crate::numeric::quadrature::{nodes, within};
use crate::numeric::special::normal_pdf;
use crate::quantity::Evaluation;

/// The law of the features, and the cells of each.
pub(super) struct Joint {
    engine: Engine,
    pub(super) cells: Vec<Cells>,
    margins: Vec<OnceLock<Table>>,
    /// By the block of the features.
    pairs: Vec<OnceLock<Vec<(usize, usize, Pair)>>>,
    factors: Vec<OnceLock<Factor>>,
    /// The first feature of the block of each.
    blocks: Vec<usize>,
}

/// The features that depend on one, with their probabilities where that has a value.
pub(super) struct Given {
    /// One for each feature of the block but that.
    tables: Vec<(usize, Table)>,
    /// Weights of the values of the common factor.
    pub(super) weights: Vec<f64>,
}

impl Joint {
    pub(super) fn new(engine: &Engine, cells: Vec<Cells>) -> Self {
        let law = engine.law();
        let blocks = (0..law.dimension()).map(|s| law.block_of(s).0[0]).collect();
        let room = || law.dimension();
        Self {
            engine: engine.clone(),
            cells,
            margins: (0..room()).map(|_| OnceLock::new()).collect(),
            pairs: (0..room()).map(|_| OnceLock::new()).collect(),
            factors: (0..room()).map(|_| OnceLock::new()).collect(),
            blocks,
        }
    }

    pub(super) fn law(&self) -> &Law {
        self.engine.law()
    }

    /// The law of a feature on its own.
    pub(super) fn margin(&self, feature: usize) -> &dyn Univariate {
        self.engine.margin(feature)
    }

    /// The probabilities of the cells of a feature.
    pub(super) fn table(&self, feature: usize) -> &Table {
        self.margins[feature]
            .get_or_init(|| self.cells[feature].table(self.margin(feature), self.engine.doubt()))
    }

    /// True if two features may depend on each other.
    pub(super) fn are_related(&self, a: usize, b: usize) -> bool {
        self.blocks[a] == self.blocks[b]
    }

    /// True if no other feature depends on this one.
    pub(super) fn is_alone(&self, feature: usize) -> bool {
        self.law().block_of(feature).0.len() == 1
    }

    /// Writes the sides of a box whose features depend on one, without that one.
    pub(super) fn related(&self, sides: &[Side], own: usize, related: &mut Vec<Side>) {
        related.clear();
        let tied = |side: &&Side| side.feature != own && self.are_related(side.feature, own);
        related.extend(sides.iter().filter(tied));
    }

    /// The probability of the sides of a box whose features do not depend on one; those that do are written to
    /// `related`, without that one.
    pub(super) fn apart(&self, sides: &[Side], own: usize, related: &mut Vec<Side>) -> Probability {
        self.related(sides, own, related);
        self.of_blocks(sides, |side| !self.are_related(side.feature, own))
    }

    /// The probability of a box.
    pub(super) fn of_box(&self, sides: &[Side]) -> Probability {
        self.of_blocks(sides, |_| true)
    }

    /// The product over the blocks that count.
    fn of_blocks(&self, sides: &[Side], counts: impl Fn(&Side) -> bool) -> Probability {
        let mut product = Probability::ONE;
        for (i, side) in sides.iter().enumerate().filter(|(_, side)| counts(side)) {
            let is_tied = |other: &Side| self.are_related(other.feature, side.feature);
            if sides[..i].iter().any(is_tied) {
                continue;
            }
            product = product.times(match sides[i + 1..].iter().any(is_tied) {
                false => self.table(side.feature).of(*side),
                true => {
                    let block: Vec<Side> =
                        sides.iter().copied().filter(|other| is_tied(other)).collect();
                    self.of_block(&block, None)
                }
            });
        }
        product
    }

    /// The probability of sides of one block, where a feature of it has a value or as it is. Not a number where it
    /// cannot be integrated.
    pub(super) fn of_block(&self, sides: &[Side], given: Option<&Given>) -> Probability {
        match (sides, given) {
            ([], _) => Probability::ONE,
            (&[side], None) => self.table(side.feature).of(side),
            (&[side], Some(given)) => given.of(side),
            (&[a, b], None) if !self.has_factor(a.feature) => self.pair(a, b),
            _ if self.has_factor(sides[0].feature) => {
                let factor = self.factor(sides[0].feature);
                factor.mean(sides, given.map_or(&factor.weights, |given| &given.weights))
            }
            _ => Probability { value: f64::NAN, ..Probability::ONE },
        }
    }

    /// True if features of a block are independent given one normal variable, and too many to be taken in pairs.
    fn has_factor(&self, feature: usize) -> bool {
        let (members, block) = self.law().block_of(feature);
        members.len() > 2 && block.common_factor(0).is_some()
    }

    /// The feature up to which, and given which, sides of a block can be integrated; the reason where they cannot.
    pub(super) fn check(&self, members: &[usize], given: Option<usize>) -> Result<(), String> {
        let [Some(&first), second, third] = [0, 1, 2].map(|k| members.get(k)) else {
            return Ok(());
        };
        let law = self.law();
        if members.len() > 1 && self.has_factor(first) {
            return Ok(());
        }
        let name = |s: usize| format!("x{}", s + 1);
        let unknown = |of: usize, other: usize| {
            Err(format!("the law of {} given {} is not known", name(of), name(other)))
        };
        match (given, second, third) {
            (Some(given), None, _) if !law.is_known(first, &[given]) => unknown(first, given),
            (_, None, _) => Ok(()),
            (None, Some(&second), None) => match self.order(first, second) {
                Some(_) => Ok(()),
                None => unknown(first, second),
            },
            _ => {
                let all: Vec<String> = members.iter().copied().chain(given).map(name).collect();
                let given = given.map_or(String::new(), |s| format!(" where {} is held", name(s)));
                Err(format!(
                    "{} depend on each other, and of such the probability of a box is integrated over two at \
                     a time{given}, or over any number of features of a Gaussian copula that are independent \
                     given one normal variable, as with one correlation of at least 0",
                    all.join(", ")
                ))
            }
        }
    }

    /// Two features in an order in which the second is known given the first.
    fn order(&self, a: usize, b: usize) -> Option<[usize; 2]> {
        [[a, b], [b, a]].into_iter().find(|[one, other]| self.law().is_known(*other, &[*one]))
    }

    /// Laws of the others where a feature has a value.
    pub(super) fn given(&self, feature: usize, x: f64) -> Given {
        let law = self.law();
        let known = law.known(feature, x);
        let (members, block) = law.block_of(feature);
        let others = members.iter().filter(|other| **other != feature);
        let table = |&other: &usize| {
            if !law.is_known(other, &[feature]) {
                return (other, self.cells[other].unknown());
            }
            let conditional = law.conditional(other, &[(feature, known)]);
            (other, self.cells[other].table(&*conditional, self.engine.doubt()))
        };
        let tables = others.map(table).collect();
        let place = members.iter().position(|other| *other == feature).unwrap_or(0);
        let weights = match block.common_factor(place).filter(|_| members.len() > 2) {
            None => Vec::new(),
            Some(loading) => {
                let sd = ((1.0 - loading) * (1.0 + loading)).sqrt();
                let centre = loading * known;
                let factor = self.factor(feature);
                let weight = |w: &f64| factor.step * normal_pdf((w - centre) / sd) / sd;
                factor.values.iter().map(weight).collect()
            }
        };
        Given { tables, weights }
    }

    /// Values of the variable that ties the block of a feature together, where there is one: how many they are, and the
    /// probability of sides of the block at each.
    pub(super) fn at_factor(&self, feature: usize) -> Option<&Factor> {
        self.has_factor(feature).then(|| self.factor(feature))
    }

    fn factor(&self, feature: usize) -> &Factor {
        self.factors[self.blocks[feature]]
            .get_or_init(|| Factor::of(self.law(), feature, &self.cells))
    }

    fn pair(&self, a: Side, b: Side) -> Probability {
        let pairs = self.pairs[self.blocks[a.feature]].get_or_init(|| self.pairs_of(a.feature));
        let of = |(one, other, pair): &(usize, usize, Pair)| match (*one, *other) {
            features if features == (a.feature, b.feature) => Some(pair.rectangle(a, b)),
            features if features == (b.feature, a.feature) => Some(pair.rectangle(b, a)),
            _ => None,
        };
        let unknown = Probability { value: f64::NAN, ..Probability::ONE };
        pairs.iter().find_map(of).unwrap_or(unknown)
    }

    /// All pairs of the block of a feature that can be integrated.
    fn pairs_of(&self, feature: usize) -> Vec<(usize, usize, Pair)> {
        let members = self.law().block_of(feature).0;
        let each = members.iter().enumerate();
        let pairs = each.flat_map(|(i, &a)| members[i + 1..].iter().map(move |&b| [a, b]));
        let known = pairs.filter_map(|[a, b]| self.order(a, b));
        known
            .map(|[one, other]| (one, other, Pair::of(&self.engine, [one, other], &self.cells)))
            .collect()
    }
}

impl Given {
    fn of(&self, side: Side) -> Probability {
        let table = self.tables.iter().find(|(feature, _)| *feature == side.feature);
        let unknown = Probability { value: f64::NAN, ..Probability::ONE };
        table.map_or(unknown, |(_, table)| {
            let known = table.of(side);
            Probability { method: known.method.max(Evaluation::Quadrature), ..known }
        })
    }
}

/// Probabilities of rectangles of two features.
struct Pair {
    /// Of what is before a cell of the first and before one of the second, row by row.
    before: Vec<f64>,
    /// Length of a row.
    width: usize,
    error: f64,
    method: Evaluation,
}

/// Error of a panel that is accepted.
const ACCEPTED: f64 = 1e-15;
/// A panel is halved no more often than this.
const DEEPEST: u32 = 30;

impl Pair {
    /// Of a feature, and one whose law given that is known.
    fn of(engine: &Engine, [one, other]: [usize; 2], cells: &[Cells]) -> Self {
        let (law, margin) = (engine.law(), engine.margin(one));
        let given = |u: f64| {
            let conditional = law.conditional(other, &[(one, margin.known(u))]);
            cells[other].before(&*conditional)
        };
        // Of each cell of the first what is before one of the second.
        let width = cells[other].count() + 1;
        let mut rows = vec![vec![0.0; width]; cells[one].count()];
        let mut error = 0.0;
        let mut add = |cell: usize, row: &[f64], factor: f64| {
            rows[cell].iter_mut().zip(row).for_each(|(sum, part)| *sum += factor * part);
        };
        if let Some(levels) = margin.levels() {
            for (x, probability) in levels.iter() {
                add(cells[one].of(x), &given(margin.coordinate(x)), probability);
            }
        } else {
            let panels = margin.panels();
            let limits = cells[one].limits.iter().map(|&x| margin.coordinate(x));
            let points: Vec<f64> = limits.chain(panels.iter().copied()).collect();
            let weighed = |u: f64| {
                let weight = margin.weight(u);
                given(u).into_iter().map(|part| weight * part).collect()
            };
            for ends in within(&points, panels[0], panels[panels.len() - 1]).windows(2) {
                let (row, doubt) = integrated((ends[0], ends[1]), &weighed);
                add(cells[one].of(margin.place(0.5 * (ends[0] + ends[1]))), &row, 1.0);
                error += doubt;
            }
        }
        let mut before = vec![0.0; width];
        for row in &rows {
            let above = before.len() - width;
            let sums: Vec<f64> = before[above..].iter().zip(row).map(|(a, b)| a + b).collect();
            before.extend(sums);
        }
        let error = error + 4.0 * ROUNDING + engine.doubt() + margin.doubt();
        let method =
            if margin.is_simulated() { Evaluation::Simulation } else { Evaluation::Quadrature };
        Self { before, width, error, method }
    }

    fn rectangle(&self, a: Side, b: Side) -> Probability {
        let at = |i: usize, j: usize| self.before[i * self.width + j];
        let value = (at(a.to, b.to) - at(a.to, b.from)) - (at(a.from, b.to) - at(a.from, b.from));
        Probability { value, error: self.error, method: self.method }
    }
}

/// The integrals of some functions over a panel, by halves until they do not change, and a bound on the error of the
/// difference of any two.
fn integrated((from, to): (f64, f64), f: &dyn Fn(f64) -> Vec<f64>) -> (Vec<f64>, f64) {
    let by_rule = |from: f64, to: f64| {
        interrupt::check();
        let mut sums: Vec<f64> = Vec::new();
        for (u, weight) in nodes(from, to) {
            let values = f(u);
            sums.resize(values.len(), 0.0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        sums
    };
    let mut open = vec![(from, to, by_rule(from, to), 0)];
    let (mut sums, mut error) = (Vec::new(), 0.0);
    while let Some((from, to, whole, depth)) = open.pop() {
        let middle = 0.5 * (from + to);
        let [left, right] = [by_rule(from, middle), by_rule(middle, to)];
        // Intervals are differences of these: no change is larger than that between the extremes.
        let (mut most, mut least) = (0.0_f64, 0.0_f64);
        for (whole, (left, right)) in whole.iter().zip(left.iter().zip(&right)) {
            let change = left + right - whole;
            (most, least) = (most.max(change), least.min(change));
        }
        let doubt = most - least;
        if doubt <= ACCEPTED || depth == DEEPEST || !doubt.is_finite() {
            sums.resize(whole.len(), 0.0);
            let halves = left.iter().zip(&right);
            sums.iter_mut().zip(halves).for_each(|(sum, (left, right))| *sum += left + right);
            error += doubt;
        } else {
            open.push((from, middle, left, depth + 1));
            open.push((middle, to, right, depth + 1));
        }
    }
    (sums, error)
}

/// The sum of weighted numbers, evenly spaced, and a bound on its error: every other one has half of it.
pub(super) fn by_trapezia(weighted: impl Iterator<Item = f64>) -> [f64; 2] {
    let mut sums = [0.0; 2];
    weighted.enumerate().for_each(|(k, number)| sums[k % 2] += number);
    [sums[0] + sums[1], (sums[0] - sums[1]).abs()]
}

/// Features of a block that are independent given a standard normal variable: probabilities at its values.
pub(super) struct Factor {
    /// Evenly spaced.
    values: Vec<f64>,
    step: f64,
    /// Of the rule of trapezia, under the law of the variable on its own.
    weights: Vec<f64>,
    /// For each feature, for each cell and beyond, the probability of what is before it at each value.
    before: Vec<(usize, Vec<f64>)>,
}

/// Distance of the first and the last value from 0: what lies beyond has no weight.
const FARTHEST: f64 = 10.0;

impl Factor {
    fn of(law: &Law, feature: usize, cells: &[Cells]) -> Self {
        let (members, block) = law.block_of(feature);
        let loading = |local| block.common_factor(local).unwrap_or(0.0);
        let squares: Vec<f64> = (0..members.len()).map(|local| loading(local).powi(2)).collect();
        // Integrands are normal distribution functions, one for each feature, times a normal density: the rule of
        // trapezia is exact to rounding once its steps are shorter than the scale of their product (Trefethen & Weideman
        // 2014), and half as long here, so that every other value is a check.
        let largest = squares.iter().fold(0.0_f64, |largest, square| largest.max(*square));
        let sharp: f64 = squares.iter().map(|square| square / (1.0 - square)).sum();
        let scale = (1.0 / (1.0 - largest) + sharp).sqrt().recip();
        let half = (FARTHEST / (0.375 * scale)).ceil() as usize;
        let step = FARTHEST / half as f64;
        let values: Vec<f64> = (0..=2 * half).map(|k| k as f64 * step - FARTHEST).collect();
        let weights = values.iter().map(|w| step * normal_pdf(*w)).collect();
        let of = |(local, &feature): (usize, &usize)| {
            let size = values.len();
            let mut before = vec![0.0; (cells[feature].count() + 1) * size];
            for (k, &w) in values.iter().enumerate() {
                interrupt::check();
                let own = cells[feature].before(&*block.given_factor(local, w));
                own.iter().enumerate().for_each(|(cell, part)| before[cell * size + k] = *part);
            }
            (feature, before)
        };
        let before = members.iter().enumerate().map(of).collect();
        Self { values, step, weights, before }
    }

    /// Multiplies numbers at the values by the probabilities of sides there.
    pub(super) fn multiply(&self, numbers: &mut [f64], sides: &[Side]) {
        let size = self.values.len();
        for side in sides {
            let Some((_, before)) = self.before.iter().find(|(of, _)| *of == side.feature) else {
                continue;
            };
            let [from, to] = [side.from, side.to].map(|cell| &before[cell * size..][..size]);
            let probabilities = from.iter().zip(to).map(|(from, to)| to - from);
            numbers.iter_mut().zip(probabilities).for_each(|(number, p)| *number *= p);
        }
    }

    /// Number of values.
    pub(super) fn size(&self) -> usize {
        self.values.len()
    }

    /// The mean of the product of the probabilities of sides, with weights of the values.
    fn mean(&self, sides: &[Side], weights: &[f64]) -> Probability {
        let mut products = weights.to_vec();
        self.multiply(&mut products, sides);
        let [value, doubt] = by_trapezia(products.into_iter());
        Probability { value, error: doubt + 4.0 * ROUNDING, method: Evaluation::Quadrature }
    }
}
