//! Features whose laws read earlier features, some of them perhaps hidden.
//!
//! The law of one feature given others is the product of the laws of all that matter, integrated over
//! those that are not known. Where all are normal around weighted sums it is a normal again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::blend::{Blend, Blended, MOST_DENSITIES, sparse};
use super::breaks::Span;
use super::laws::{LawFamily, Plain, Scale};
use super::named_law::{LawTree, Node, kinks};
use super::near_places::NearPlaces;
use super::noisy::Noisy;
use super::peaks::resolve;
use super::pieces::Affine;
use super::places::Grid;
use crate::expression::Expression;
use crate::law::levels::Levels;
use crate::law::{Block, Crossing, Mixing, Placing, Univariate, VisitPlace, Weighed};
use crate::numeric::quadrature::{Estimate, Piecewise, integrate, within};
use crate::numeric::roots::scan;

/// Largest number of unknown features that a law is integrated over.
const MOST_UNKNOWN: usize = 2;

/// Features that depend on each other, in an order in which each reads earlier ones only.
pub(super) struct Network {
    inner: Arc<Inner>,
    /// The node of each feature that is not hidden.
    visible: Vec<usize>,
    margins: Vec<OnceLock<Arc<Margin>>>,
    /// Laws of nodes with levels that are simulated; none where one cannot be.
    levels: Vec<OnceLock<Option<Arc<SimulatedLevels>>>>,
    /// Laws that were asked for last, with what was given.
    recent: Mutex<VecDeque<(Question, Arc<Posterior>)>>,
    /// Number of laws that the law of one on its own may ask.
    most_asked: u64,
    shadows: Mutex<VecDeque<([u64; 4], Vec<f64>)>>,
}

/// Probability of rows that are left out, though what is averaged may be large there.
const WEIGHTLESS: f64 = 1e-40;
/// Fewest pieces of a law along which nodes are placed, and most rows.
const FEWEST_PIECES: usize = 2;
const MOST_PLACES: usize = 2_000_000;

/// Share of the probability of a law that may be missed at most.
const UNRESOLVED: f64 = 1e-6;

/// Share of the probability of a simulated law that may not be known at most.
const MOST_SIMULATED: f64 = 0.05;

/// Number of laws of nodes that the law of one on its own may ask: some five seconds.
pub(super) const MOST_ASKED: u64 = 30_000_000;

/// A target and what is given of others.
type Question = (usize, Vec<(usize, u64)>);

/// Largest rounding of the logarithm of a density beside which a law is known.
const LOST: f64 = 1e-9;

/// Numbers of laws and shadows that are kept.
const RECENT: usize = 8;
const SHADOWS: usize = 64;

struct Inner {
    nodes: Vec<Node>,
    /// Places near to the quantiles of each node that reads no other.
    near: Vec<NearPlaces>,
    /// Means as weighted sums with standard deviations, where all are normal around such.
    gaussian: Option<Vec<(Affine, f64)>>,
    /// Nodes with normal noise around a uniform one.
    noisy: Vec<Noisy>,
}

impl Network {
    /// A network of nodes, of which those are visible whose numbers are given.
    pub(super) fn new(nodes: Vec<Node>, visible: Vec<usize>) -> Self {
        let each: Vec<Option<(Affine, f64)>> = nodes.iter().map(gaussian).collect();
        let root = |node: usize| match nodes[node].parents.as_slice() {
            [] => nodes[node].law.at(&[]).ok(),
            _ => None,
        };
        let noisy = each.iter().enumerate().filter_map(|(node, own)| {
            let (mean, sd) = own.as_ref()?;
            Noisy::of(node, (mean, *sd), root)
        });
        let noisy = noisy.collect();
        let gaussian = each.into_iter().collect();
        let margins = nodes.iter().map(|_| OnceLock::new()).collect();
        let levels = nodes.iter().map(|_| OnceLock::new()).collect();
        let near = nodes.iter().map(|_| NearPlaces::default()).collect();
        let inner = Arc::new(Inner { nodes, near, gaussian, noisy });
        let (recent, shadows, most_asked) = (Mutex::default(), Mutex::default(), MOST_ASKED);
        Self { inner, visible, margins, levels, recent, most_asked, shadows }
    }

    /// True if the law of a visible feature on its own is known, by its number: all of its probability is found.
    pub(super) fn is_resolved(&self, feature: usize) -> bool {
        let law = self.conditional(feature, &[]);
        law.doubt() <= if law.is_simulated() { MOST_SIMULATED } else { UNRESOLVED }
    }

    /// True if the law of a visible feature on its own is not known as it takes too many evaluations of other laws.
    pub(super) fn is_costly(&self, feature: usize) -> bool {
        self.margins[self.visible[feature]].get().is_some_and(|margin| margin.is_costly)
    }

    /// True if the law of a visible feature on its own, by its number, would have to be simulated, and has tails that fall
    /// off as powers.
    pub(super) fn is_wild(&self, feature: usize) -> bool {
        let node = self.visible[feature];
        self.inner.unknowns(node, &[]) > MOST_UNKNOWN && self.inner.is_heavy(node)
    }

    /// Law of a node whose parents are at the row, or what is wrong with it.
    pub(super) fn law_at(&self, node: usize, row: &[f64]) -> Result<Plain, String> {
        self.inner.nodes[node].law.at(row)
    }

    fn margin(&self, node: usize) -> Arc<Margin> {
        let make = || {
            let parent = self.inner.only_parent(node).map(|parent| (parent, self.margin(parent)));
            Arc::new(Margin::of(&self.inner, node, parent, self.most_asked))
        };
        Arc::clone(self.margins[node].get_or_init(make))
    }

    fn posterior(&self, target: usize, given: &[(usize, f64)]) -> Arc<Posterior> {
        let bits = given.iter().map(|&(node, x)| (node, x.to_bits())).collect();
        let question = (target, bits);
        let kept = |recent: &VecDeque<(Question, Arc<Posterior>)>| {
            let found = recent.iter().find(|(known, _)| *known == question);
            found.map(|(_, law)| Arc::clone(law))
        };
        if let Some(known) = kept(&self.recent.lock().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        let law = Arc::new(Posterior::new(&self.inner, target, given, self));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_front((question, Arc::clone(&law)));
        recent.truncate(RECENT);
        law
    }

    /// A value of a node that may be given: at an end of its law that has no coordinate, the next number inside.
    fn inside(&self, node: usize, x: f64) -> f64 {
        // Of all scales only 0 and 1 are such ends.
        if x != 0.0 && x != 1.0 || self.inner.has_levels(node) {
            return x;
        }
        let law = self.law(node, &[]);
        let (low, high) = law.support();
        match law.coordinate(x).is_finite() {
            false if x == low => x.next_up(),
            false if x == high => x.next_down(),
            _ => x,
        }
    }

    /// Visits rows in which nodes are placed, with the logarithms of their probabilities beside what is given.
    fn visit_placed(
        &self,
        over: &[usize],
        given: &[(usize, f64)],
        Placing { rule, breaks, .. }: Placing<'_>,
        visit: VisitPlace<'_>,
    ) -> Option<()> {
        let inner = &self.inner;
        let mut known = vec![f64::NAN; inner.nodes.len()];
        given.iter().for_each(|&(node, x)| known[node] = x);
        let factors = inner.factors_of(over, given);
        let along = |number: usize, places: &[f64], row: &mut [f64]| {
            let node = over[number];
            let mut found = inner.corners(node, (&over[number + 1..], &factors), places, row);
            if let Some(breaks) = breaks
                && let Some(target) = self.visible.iter().position(|&own| own == node)
            {
                let before =
                    self.visible.iter().enumerate().filter(|(_, own)| !row[**own].is_nan());
                let before: Vec<(usize, f64)> = before.map(|(f, &own)| (f, row[own])).collect();
                found.extend(breaks(target, &before));
            }
            found
        };
        let last = *over.last()?;
        let resolved = |law: &Plain, points: &[f64], row: &mut [f64]| {
            let scale = law.scale();
            let found = resolve(points, |u| {
                row[last] = scale.place(u);
                law.ln_weight(scale, u) + inner.ln_given(&factors, row)
            });
            row[last] = f64::NAN;
            found
        };
        let (nodes, breaks) = (&inner.nodes, &along);
        let grid = Grid {
            nodes,
            over,
            breaks,
            resolved: Some(&resolved),
            weightless: WEIGHTLESS,
            pieces: FEWEST_PIECES,
            most: MOST_PLACES,
        };
        grid.visit(&known, None, [rule; 2], &mut |placed, row| {
            let ln_weight = placed.weight.ln() + inner.ln_given(&factors, row);
            visit(Weighed { ln_weight, is_edge: placed.is_edge }, row)
        })
    }

    /// The law of a node with levels by simulation.
    fn simulated_levels(&self, target: usize) -> Option<Arc<SimulatedLevels>> {
        let relevant = self.inner.relevant(target, &[]).into_iter();
        let over: Vec<usize> = relevant.filter(|&node| node != target).collect();
        let make = || {
            let nodes = &self.inner.nodes;
            let of = Blended { nodes, node: target, over: &over, scale: Scale::Linear };
            let (told, doubt) = of.drawn_levels()?;
            Some(Arc::new(SimulatedLevels { levels: Levels::new(told), doubt }))
        };
        self.levels[target].get_or_init(make).clone()
    }

    /// The place to which the law of a node shrinks, if one that is given is there and its parent is not given: the law of the
    /// latter is known as the limit from beside alone.
    fn at_a_centre(&self, given: &[(usize, f64)]) -> Option<Vanishing> {
        let vanishing = |&(node, x): &(usize, f64)| {
            let &[parent] = self.inner.nodes[node].parents.as_slice() else { return None };
            if given.iter().any(|(other, _)| *other == parent) || self.inner.has_levels(node) {
                return None;
            }
            let is_asked =
                |limit: &Vanishing| limit.centre == x && limit.given_centre != GivenCentre::Law;
            self.margin(node).vanishing.filter(is_asked)
        };
        given.iter().find_map(vanishing)
    }

    /// The law of a node given others.
    fn law(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        if let Some(gaussian) = &self.inner.gaussian {
            let law = match given {
                [] => gaussian_margin(gaussian, target),
                _ => self.inner.gaussian_law(gaussian, target, given),
            };
            return match law.filter(is_resolved) {
                Some(law) => Box::new(law),
                None => Box::new(Nowhere),
            };
        }
        if self.inner.is_direct(target, &numbers(given)) {
            let mut row = vec![f64::NAN; self.inner.nodes.len()];
            given.iter().for_each(|&(node, x)| row[node] = x);
            let law = &self.inner.nodes[target].law;
            return match (law.at(&row), law.only_place(&row)) {
                (Ok(law), _) if is_resolved(&law) => Box::new(law),
                (Err(_), Some(place)) => Box::new(Levels::new([(place, 1.0)])),
                _ => Box::new(Nowhere),
            };
        }
        if let Some(law) = self.inner.noisy_law(target, given) {
            return law;
        }
        if self.inner.unknowns(target, &numbers(given)) > MOST_UNKNOWN {
            return match given {
                [] if self.inner.has_levels(target) => match self.simulated_levels(target) {
                    Some(levels) => Box::new(Shared(levels)),
                    None => Box::new(Nowhere),
                },
                [] => Box::new(Shared(self.margin(target))),
                _ => Box::new(Nowhere),
            };
        }
        if self.inner.has_levels(target) {
            return match self.inner.levels_given(target, given) {
                Some(levels) => Box::new(levels),
                None => Box::new(Nowhere),
            };
        }
        if given.is_empty() {
            return Box::new(Shared(self.margin(target)));
        }
        if let Some(limit) = self.at_a_centre(given) {
            return match limit {
                Vanishing { parent, of_parent, given_centre: GivenCentre::Place, .. }
                    if parent == target =>
                {
                    Box::new(Levels::new([(of_parent, 1.0)]))
                }
                _ => Box::new(Nowhere),
            };
        }
        Box::new(Shared(self.posterior(target, given)))
    }
}

/// The nodes of values.
fn numbers(given: &[(usize, f64)]) -> Vec<usize> {
    given.iter().map(|(node, _)| *node).collect()
}

/// The normal law of a node on its own: its mean, and its weights of what is drawn for it and for earlier nodes.
fn gaussian_margin(gaussian: &[(Affine, f64)], target: usize) -> Option<Plain> {
    let mut known: Vec<(f64, Vec<f64>)> = Vec::with_capacity(target + 1);
    for (node, (of_parents, sd)) in gaussian.iter().enumerate().take(target + 1) {
        let (mut mean, mut weights) = (of_parents.constant, vec![0.0; target + 1]);
        weights[node] = *sd;
        for &(parent, weight) in &of_parents.weights {
            let (of_parent, drawn) = &known[parent];
            mean += weight * of_parent;
            weights.iter_mut().zip(drawn).for_each(|(own, drawn)| *own += weight * drawn);
        }
        known.push((mean, weights));
    }
    let (mean, weights) = known.pop()?;
    let sd = weights.iter().fold(0.0_f64, |norm, weight| norm.hypot(*weight));
    Plain::of(LawFamily::Normal, &[mean, sd]).ok()
}

/// Numbers that must lie between the middle half of a law and 0 apart from each other, or there is no integral over it.
const FEWEST_PLACES: f64 = 1e5;

/// False for a normal law so far out that hardly a floating-point number lies in it.
fn is_resolved(law: &Plain) -> bool {
    match law.normal() {
        Some((mean, sd)) => sd > FEWEST_PLACES * f64::EPSILON * mean.abs(),
        None => true,
    }
}

/// The mean of a node as a weighted sum, and its standard deviation, if it is so simple.
fn gaussian(node: &Node) -> Option<(Affine, f64)> {
    let LawTree::Of(LawFamily::Normal, arguments) = &node.law.law else { return None };
    let [mean, Expression::Number(sd)] = arguments.as_slice() else { return None };
    let location = node.law.location.clone().unwrap_or(Expression::Number(0.0));
    Some((Affine::of(&(mean.clone() + location))?, *sd))
}

impl Inner {
    /// True if the law of a node given others is the one that it has by what it reads.
    fn is_direct(&self, target: usize, given: &[usize]) -> bool {
        let reads_target = |node: &usize| self.nodes[*node].parents.contains(&target);
        self.nodes[target].parents.iter().all(|parent| given.contains(parent))
            && !self.relevant(target, given).iter().any(reads_target)
    }

    /// Noisy nodes around one parent, where nothing else matters for the law of a node given others.
    fn noisy_family(&self, target: usize, given: &[usize]) -> Option<Vec<&Noisy>> {
        if self.noisy.is_empty() {
            return None;
        }
        let relevant = self.relevant(target, given);
        let (parent, children) = relevant.split_first()?;
        if children.is_empty() {
            return None;
        }
        let of_parent = |child: &usize| {
            self.noisy.iter().find(|noisy| (noisy.parent, noisy.child) == (*parent, *child))
        };
        children.iter().map(of_parent).collect()
    }

    /// The law of a node given others, where all are a noisy family.
    fn noisy_law(&self, target: usize, given: &[(usize, f64)]) -> Option<Box<dyn Univariate>> {
        Some(Noisy::law(&self.noisy_family(target, &numbers(given))?, target, given))
    }

    /// Number of unknown features without levels that the law of a node given others is an integral over.
    fn unknowns(&self, target: usize, given: &[usize]) -> usize {
        let others = self.unknown_of(&[target], given).into_iter().filter(|&node| node != target);
        others.filter(|&node| !self.has_levels(node)).count()
    }

    /// The nodes that the laws of some given others are integrals over, these included, in order.
    fn unknown_of(&self, targets: &[usize], given: &[usize]) -> Vec<usize> {
        let Some((&first, others)) = targets.split_first() else { return Vec::new() };
        let all: Vec<usize> = given.iter().chain(others).copied().collect();
        let relevant = self.relevant(first, &all).into_iter();
        relevant.filter(|node| !given.contains(node)).collect()
    }

    /// Those of given nodes whose laws read any of others.
    fn factors_of(&self, over: &[usize], given: &[(usize, f64)]) -> Vec<usize> {
        let reads = |node: &usize| self.nodes[*node].parents.iter().any(|p| over.contains(p));
        numbers(given).into_iter().filter(reads).collect()
    }

    /// Logarithm of the density of some nodes, which are known as all is that they read.
    fn ln_given(&self, factors: &[usize], row: &[f64]) -> f64 {
        let ln_density = |&factor: &usize| match self.nodes[factor].law.at(row) {
            Ok(law) => law.ln_pdf(row[factor]),
            Err(_) => f64::NAN,
        };
        factors.iter().map(ln_density).sum()
    }

    /// A row in which some nodes have given values, from uniform numbers, and the density of what is given beside it.
    fn row_given(&self, given: &[(usize, f64)], drawn: &[f64]) -> Option<(Vec<f64>, f64)> {
        let mut row = vec![f64::NAN; self.nodes.len()];
        given.iter().for_each(|&(node, x)| row[node] = x);
        let mut ln_density = 0.0;
        for (node, p) in drawn.iter().enumerate() {
            let law = self.nodes[node].law.at(&row).ok()?;
            if row[node].is_nan() {
                let is_root = self.nodes[node].parents.is_empty();
                row[node] = match &law {
                    law if is_root => self.near[node].inverse(law, *p, 1.0 - p),
                    law => law.inverse(*p, 1.0 - p),
                };
            } else {
                ln_density += law.ln_pdf(row[node]);
            }
        }
        Some((row, ln_density.exp()))
    }

    /// The one feature through which a node depends on all others, where that depends on others itself. Not where tails
    /// are powers: there the law of the parent, as it is resolved, has too few digits of its own.
    fn only_parent(&self, node: usize) -> Option<usize> {
        let &[parent] = self.nodes[node].parents.as_slice() else { return None };
        let is_simple = self.has_levels(parent) || self.nodes[parent].parents.is_empty();
        (!is_simple && !self.is_heavy(node)).then_some(parent)
    }

    fn has_levels(&self, node: usize) -> bool {
        self.nodes[node].law.levels().is_some()
    }

    /// The law of a node with levels given others: by Bayes' rule. None where it has none.
    fn levels_given(&self, target: usize, given: &[(usize, f64)]) -> Option<Levels> {
        let mut row = vec![f64::NAN; self.nodes.len()];
        given.iter().for_each(|&(node, x)| row[node] = x);
        let relevant = self.relevant(target, &numbers(given));
        let unknown: Vec<usize> =
            relevant.iter().copied().filter(|&node| node != target && row[node].is_nan()).collect();
        let moving = |node: usize| node == target || unknown.contains(&node);
        let depends = |&node: &usize| {
            let reads = self.nodes[node].parents.iter().any(|&parent| moving(parent));
            node == target || (reads && !unknown.contains(&node))
        };
        let factors: Vec<usize> = relevant.iter().copied().filter(depends).collect();
        let mut values: Vec<f64> = Vec::new();
        let ancestors = self.relevant(target, &[]);
        let free: Vec<usize> =
            ancestors.into_iter().filter(|node| unknown.contains(node)).collect();
        for law in self.laws_from(&row, target, &free) {
            values.extend(law.levels()?.values());
        }
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut known = Known::of(row);
        let ln: Vec<f64> = values
            .iter()
            .map(|&value| {
                known.row[target] = value;
                self.ln_integral(&unknown, &factors, &mut known).ln
            })
            .collect();
        let largest = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return None;
        }
        let weights = ln.into_iter().map(|ln| (ln - largest).exp()).collect::<Vec<_>>();
        Some(Levels::new(values.into_iter().zip(weights)))
    }

    /// The nodes whose laws matter for the law of one given others, it and those given included: they
    /// and all that they read, in order.
    fn relevant(&self, target: usize, given: &[usize]) -> Vec<usize> {
        let mut relevant = vec![false; self.nodes.len()];
        relevant[target] = true;
        given.iter().for_each(|&node| relevant[node] = true);
        for node in (0..self.nodes.len()).rev() {
            if relevant[node] {
                self.nodes[node].parents.iter().for_each(|&parent| relevant[parent] = true);
            }
        }
        (0..self.nodes.len()).filter(|&node| relevant[node]).collect()
    }

    /// The normal law of a node given others: least squares over all that are not known, the node
    /// itself eliminated last; none where rounding leaves nothing of it.
    fn gaussian_law(
        &self,
        gaussian: &[(Affine, f64)],
        target: usize,
        given: &[(usize, f64)],
    ) -> Option<Plain> {
        let relevant = self.relevant(target, &numbers(given));
        let value = |node: usize| given.iter().find(|(other, _)| *other == node).map(|(_, x)| *x);
        let free = relevant.iter().copied().filter(|&node| value(node).is_none() && node != target);
        let free: Vec<usize> = free.chain([target]).collect();
        let n = free.len();
        let mut system = vec![vec![0.0; n + 1]; n];
        for &node in &relevant {
            let (mean, sd) = &gaussian[node];
            // The residual x − mean as weights of what is free, and a constant.
            let mut weights = vec![0.0; n];
            let mut constant = -mean.constant;
            let parts = mean.weights.iter().map(|&(parent, weight)| (parent, -weight));
            for (other, weight) in parts.chain([(node, 1.0)]) {
                match free.iter().position(|known| *known == other) {
                    Some(place) => weights[place] += weight,
                    None => constant += weight * value(other).unwrap_or(f64::NAN),
                }
            }
            let precision = 1.0 / (sd * sd);
            for (row, own) in system.iter_mut().zip(&weights) {
                for (entry, other) in row.iter_mut().zip(&weights) {
                    *entry += precision * own * other;
                }
                row[n] -= precision * own * constant;
            }
        }
        for k in 0..n {
            let pivot = system[k].clone();
            for row in system.iter_mut().skip(k + 1) {
                let factor = row[k] / pivot[k];
                row.iter_mut().zip(&pivot).skip(k).for_each(|(x, p)| *x -= factor * p);
            }
        }
        let (precision, weighted) = (system[n - 1][n - 1], system[n - 1][n]);
        let arguments = [weighted / precision, (1.0 / precision).sqrt()];
        Plain::of(LawFamily::Normal, &arguments).ok()
    }

    /// Logarithm of the product of the laws of some nodes, all of which and whose parents are known.
    fn ln_density(&self, nodes: &[usize], known: &mut Known) -> Logarithm {
        let mut sum = Logarithm::exact(0.0);
        for &node in nodes {
            if !known.may_ask() {
                return Logarithm::NOTHING;
            }
            match self.nodes[node].law.at(&known.row) {
                Ok(law) => sum = sum.plus(Logarithm::of_density(&law, known.row[node])),
                Err(_) => return Logarithm::NOTHING,
            }
            if sum.ln == f64::NEG_INFINITY {
                break;
            }
        }
        sum
    }

    /// Values of a node at which the laws of others, which are known, have corners, where the rest that they read is at
    /// an end of its own law.
    fn corners(
        &self,
        along: usize,
        (rest, factors): (&[usize], &[usize]),
        start: &[f64],
        row: &mut [f64],
    ) -> Vec<f64> {
        let mut found = Vec::new();
        let moves = |other: &usize| *other == along || rest.contains(other);
        for &factor in factors.iter().filter(|&&f| self.nodes[f].parents.iter().any(moves)) {
            let y = row[factor];
            if y.is_nan() {
                continue;
            }
            for ends in 0..1_u32 << rest.len() {
                let law = &self.nodes[factor].law;
                let corners_at = |x: f64, row: &mut [f64]| {
                    row[along] = x;
                    for (k, &other) in rest.iter().enumerate() {
                        let (low, high) = self.nodes[other].law.at(row).ok()?.support();
                        row[other] = if ends >> k & 1 == 0 { low } else { high };
                    }
                    Some(law.at(row).ok()?.corners())
                };
                let count = start.iter().find_map(|&x| Some(corners_at(x, row)?.len()));
                for k in 0..count.unwrap_or(0) {
                    let mut gap = |x: f64| {
                        let corner = match corners_at(x, row) {
                            Some(all) => all.get(k).copied(),
                            // All corners of a law without a width are where it is.
                            None => law.only_place(row),
                        };
                        corner.map_or(f64::NAN, |corner| corner - y)
                    };
                    found.extend(scan(start, &mut gap));
                }
            }
        }
        row[along] = f64::NAN;
        rest.iter().for_each(|&other| row[other] = f64::NAN);
        found.extend(kinks(&self.nodes, along, rest.iter().chain(factors).copied(), start, row));
        found
    }

    /// Logarithm of the integral over the nodes that are not known, in order, of the product of the
    /// laws of these and of further nodes.
    fn ln_integral(&self, unknown: &[usize], factors: &[usize], known: &mut Known) -> Logarithm {
        let Some((&node, rest)) = unknown.split_first() else {
            return self.ln_density(factors, known);
        };
        if !known.may_ask() {
            return Logarithm::NOTHING;
        }
        let Ok(own) = self.nodes[node].law.at(&known.row) else { return Logarithm::NOTHING };
        if let Plain::Levels(levels) = &own {
            let each: Vec<Logarithm> = levels
                .iter()
                .map(|(value, p)| {
                    known.row[node] = value;
                    Logarithm::exact(p.ln()).plus(self.ln_integral(rest, factors, known))
                })
                .collect();
            known.row[node] = f64::NAN;
            let top = Logarithm::top(&each);
            if top.ln == f64::NEG_INFINITY {
                return top;
            }
            let total = each.iter().map(|own| (own.ln - top.ln).exp()).sum::<f64>();
            return top.plus(Logarithm::exact(total.ln()));
        }
        let scale = own.scale();
        let prior = |u: f64| own.ln_weight(scale, u);
        self.ln_integral_along(node, scale, &own.panels(), &prior, (rest, factors), known)
    }

    /// As [`Self::ln_integral`], over a first node whose law on a scale is known by the logarithm of its weight.
    fn ln_integral_along(
        &self,
        node: usize,
        scale: Scale,
        panels: &[f64],
        ln_weight: &dyn Fn(f64) -> f64,
        (rest, factors): (&[usize], &[usize]),
        known: &mut Known,
    ) -> Logarithm {
        let ends = (panels[0], panels[panels.len() - 1]);
        let places: Vec<f64> = finer(panels).iter().map(|&u| scale.place(u)).collect();
        let corners = self.corners(node, (rest, factors), &places, &mut known.row);
        let corners = corners.into_iter().map(|x| scale.coordinate(x));
        let start =
            within(&panels.iter().copied().chain(corners).collect::<Vec<_>>(), ends.0, ends.1);
        let mut at = |u: f64| {
            known.row[node] = scale.place(u);
            let prior = Logarithm::exact(ln_weight(u));
            if prior.ln == f64::NEG_INFINITY {
                return prior;
            }
            prior.plus(self.ln_integral(rest, factors, known))
        };
        let points = resolve(&start, |u| at(u).ln);
        let ln_total = ln_total(&points, scale, &mut at);
        known.row[node] = f64::NAN;
        ln_total
    }
}

/// Values of nodes, NaN where none is known, and how many more laws of nodes may be asked.
struct Known {
    row: Vec<f64>,
    left: u64,
}

impl Known {
    /// With as many questions as it takes.
    fn of(row: Vec<f64>) -> Self {
        Self { row, left: u64::MAX }
    }

    /// True as long as one more law may be asked, which is counted.
    fn may_ask(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

/// Panels, each in twelve.
fn finer(panels: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = panels
        .windows(2)
        .flat_map(|ends| (0..12).map(move |k| ends[0] + (ends[1] - ends[0]) * f64::from(k) / 12.0))
        .collect();
    all.extend(panels.last());
    all
}

/// True if the density of which this is the logarithm is so low that hardly more than its rounding is known.
fn is_lost(ln_density: f64) -> bool {
    ln_density.abs() * f64::EPSILON > LOST
}

/// The logarithm of a density or of an integral of one, and what rounding may have added to it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Logarithm {
    ln: f64,
    doubt: f64,
}

/// Depth below the largest of several logarithms to which others count for what it is in doubt by: most of a normal law.
const NEAR_TOP: f64 = 3.0;

impl Logarithm {
    /// That of 0.
    const NOTHING: Self = Self::exact(f64::NEG_INFINITY);

    const fn exact(ln: f64) -> Self {
        Self { ln, doubt: 0.0 }
    }

    /// That of the density of a law, in doubt by as much as it changes to the next value: where it reads others, its place
    /// is not known better. A narrow law far from 0 loses many digits.
    fn of_density(law: &Plain, x: f64) -> Self {
        let ln = law.ln_pdf(x);
        let doubt = (law.ln_pdf(x.next_up()) - ln).abs();
        Self { ln, doubt: if doubt.is_finite() { doubt } else { 0.0 } }
    }

    fn plus(self, other: Self) -> Self {
        Self { ln: self.ln + other.ln, doubt: self.doubt + other.doubt }
    }

    /// The largest of several, in doubt as those near it are.
    fn top(all: &[Self]) -> Self {
        let ln = all.iter().map(|own| own.ln).fold(f64::NEG_INFINITY, f64::max);
        let near = all.iter().filter(|own| own.ln > ln - NEAR_TOP);
        Self { ln, doubt: near.map(|own| own.doubt).fold(0.0, f64::max) }
    }
}

/// Logarithm of the integral over a scale of a function that is known by its logarithm.
fn ln_total(points: &[f64], scale: Scale, at: &mut dyn FnMut(f64) -> Logarithm) -> Logarithm {
    let middles = points.windows(2).map(|ends| 0.5 * (ends[0] + ends[1]));
    let all: Vec<Logarithm> = points.iter().copied().chain(middles).map(&mut *at).collect();
    let top = Logarithm::top(&all);
    // Rounding of what is so improbable is all that would be integrated; beside anything else it does not count.
    if top.ln == f64::NEG_INFINITY || is_lost(top.ln) {
        return top;
    }
    let [total] = integrate(points, 0.0, |u| {
        let Logarithm { ln, doubt } = at(u);
        let value = Estimate::exact((ln - top.ln).exp());
        // Far out in tails that are powers a law may be hardly wider than places are apart.
        match scale {
            Scale::Asinh => [value.doubted(doubt.max((at(u.next_up()).ln - ln).abs()))],
            _ => [value.doubted(doubt)],
        }
    });
    top.plus(Logarithm::exact(total.value.ln()))
}

/// The law of a node given others, by its density.
struct Posterior {
    inner: Arc<Inner>,
    target: usize,
    row: Vec<f64>,
    /// The law of the target where all that it reads is known.
    own: Option<Plain>,
    unknown: Vec<usize>,
    /// Nodes whose laws depend on the target or on what is not known, without these.
    factors: Vec<usize>,
    scale: Scale,
    /// Points between which there is all of the density, before it is resolved.
    start: Vec<f64>,
    support: (f64, f64),
    density: OnceLock<Density>,
    /// Densities before they are normalised, by the bits of their coordinates, where each is an integral: what resolves
    /// the law asks at the nodes of what is integrated over it.
    asked: Mutex<HashMap<u64, Logarithm>>,
    mixture: Option<Mixture>,
    cuts: Vec<(f64, f64)>,
}

/// Panels that hold the weight of a density, and the logarithm of its integral.
struct Density {
    panels: Vec<f64>,
    ln_total: f64,
    /// Share by which it may be off.
    doubt: f64,
}

/// A law of a target that nothing depends on which is known, given the one feature that is not.
struct Mixture {
    inner: Arc<Inner>,
    target: usize,
    unknown: usize,
    row: Vec<f64>,
    hidden: Box<dyn Univariate>,
}

impl Mixing for Mixture {
    fn hidden(&self) -> &dyn Univariate {
        &*self.hidden
    }

    fn given(&self, hidden: f64) -> Option<Box<dyn Univariate>> {
        let mut row = self.row.clone();
        row[self.unknown] = hidden;
        Some(Box::new(self.inner.nodes[self.target].law.at(&row).ok()?))
    }
}

impl Posterior {
    fn new(inner: &Arc<Inner>, target: usize, given: &[(usize, f64)], network: &Network) -> Self {
        let mut row = vec![f64::NAN; inner.nodes.len()];
        given.iter().for_each(|&(node, x)| row[node] = x);
        let relevant = inner.relevant(target, &numbers(given));
        let unknown: Vec<usize> =
            relevant.iter().copied().filter(|&node| node != target && row[node].is_nan()).collect();
        let moving = |node: usize| node == target || unknown.contains(&node);
        let own = inner.nodes[target].parents.iter().all(|&parent| !row[parent].is_nan());
        let own = if own { inner.nodes[target].law.at(&row).ok() } else { None };
        let depends = |&node: &usize| {
            let reads = inner.nodes[node].parents.iter().any(|&parent| moving(parent));
            if node == target { own.is_none() } else { reads && !unknown.contains(&node) }
        };
        let factors: Vec<usize> = relevant.iter().copied().filter(depends).collect();
        let prior: Arc<dyn Univariate> = match &own {
            Some(law) => Arc::new(law.clone()),
            None => network.margin(target),
        };
        let scale = own.as_ref().map_or_else(|| network.margin(target).scale, Plain::scale);
        let panels = prior.panels();
        let ends = (panels[0], panels[panels.len() - 1]);
        let places: Vec<f64> = finer(&panels).iter().map(|&u| scale.place(u)).collect();
        let corners = inner.corners(target, (&unknown, &factors), &places, &mut row.clone());
        let corners = corners.into_iter().map(|x| scale.coordinate(x));
        let start: Vec<f64> = panels.iter().copied().chain(corners).collect();
        let is_last = !relevant.iter().any(|&node| inner.nodes[node].parents.contains(&target));
        let mixture = match unknown.as_slice() {
            &[unknown] if is_last => Some(Mixture {
                inner: Arc::clone(inner),
                target,
                unknown,
                row: row.clone(),
                hidden: network.law(unknown, given),
            }),
            _ => None,
        };
        let cuts = match own {
            Some(_) => Vec::new(),
            None => inner.cuts(&row, target, &unknown, scale),
        };
        Self {
            inner: Arc::clone(inner),
            target,
            row,
            own,
            unknown,
            factors,
            scale,
            start: within(&start, ends.0, ends.1),
            support: prior.support(),
            density: OnceLock::new(),
            asked: Mutex::default(),
            mixture,
            cuts,
        }
    }

    fn density(&self) -> &Density {
        self.density.get_or_init(|| {
            let panels = resolve(&self.start, |u| self.ln_relative(u).ln);
            let Logarithm { ln, doubt } =
                ln_total(&panels, self.scale, &mut |u| self.ln_relative(u));
            Density { panels, ln_total: if is_lost(ln) { f64::NAN } else { ln }, doubt }
        })
    }

    /// Logarithm of the density of the coordinate.
    fn ln_weight(&self, u: f64) -> f64 {
        self.ln_relative(u).ln - self.density().ln_total
    }

    /// The same before it is normalised.
    fn ln_relative(&self, u: f64) -> Logarithm {
        if self.unknown.is_empty() {
            return self.found(u);
        }
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = asked().get(&u.to_bits()) {
            return *known;
        }
        let found = self.found(u);
        asked().insert(u.to_bits(), found);
        found
    }

    fn found(&self, u: f64) -> Logarithm {
        let mut known = Known::of(self.row.clone());
        known.row[self.target] = self.scale.place(u);
        let own = Logarithm::exact(match &self.own {
            Some(law) => law.ln_weight(self.scale, u),
            None => self.scale.ln_stretch(u),
        });
        if own.ln == f64::NEG_INFINITY {
            return own;
        }
        own.plus(self.inner.ln_integral(&self.unknown, &self.factors, &mut known))
    }
}

/// The probability of values up to x where the support alone says it.
fn certain((from, to): (f64, f64), x: f64) -> Option<f64> {
    if x <= from { Some(0.0) } else { (x >= to).then_some(1.0) }
}

/// Relative error of the density of a law that is an integral itself, or needs one.
const INTEGRATED: f64 = 1e-12;

/// A relative error of a density by rounding, where integrals over it have to know: more would be resolved of it than
/// there is.
fn beyond_integrated(rounding: f64) -> f64 {
    if rounding > INTEGRATED { rounding } else { 0.0 }
}

impl Univariate for Posterior {
    fn doubt(&self) -> f64 {
        INTEGRATED.max(self.density().doubt)
    }

    fn doubt_at(&self, _: f64) -> f64 {
        beyond_integrated(self.density().doubt)
    }

    fn pdf(&self, x: f64) -> f64 {
        let u = self.scale.coordinate(x);
        if u.is_finite() { (self.ln_weight(u) - self.scale.ln_stretch(u)).exp() } else { 0.0 }
    }

    fn cdf(&self, x: f64) -> f64 {
        // Off the support there may be no coordinate.
        if let Some(known) = certain(self.support, x) {
            return known;
        }
        let panels = &self.density().panels;
        let (from, to) = (panels[0], panels[panels.len() - 1]);
        let u = self.scale.coordinate(x);
        if u <= from {
            return 0.0;
        }
        let points = within(panels, from, u.min(to));
        integrate(&points, 0.0, |u| [Estimate::exact(self.weight(u))])[0].value.min(1.0)
    }

    fn support(&self) -> (f64, f64) {
        self.support
    }

    fn panels(&self) -> Vec<f64> {
        self.density().panels.clone()
    }

    fn cuts(&self) -> &[(f64, f64)] {
        &self.cuts
    }

    fn mixing(&self) -> Option<&dyn Mixing> {
        self.mixture.as_ref().map(|mixture| mixture as &dyn Mixing)
    }

    fn coordinate(&self, x: f64) -> f64 {
        self.scale.coordinate(x)
    }

    fn place(&self, u: f64) -> f64 {
        self.scale.place(u).clamp(self.support.0, self.support.1)
    }

    fn stretch(&self, u: f64) -> f64 {
        self.scale.ln_stretch(u).exp()
    }

    fn weight(&self, u: f64) -> f64 {
        self.ln_weight(u).exp()
    }
}

/// The law of a node on its own, resolved once.
struct Margin {
    scale: Scale,
    density: Piecewise,
    total: f64,
    panels: Vec<f64>,
    support: (f64, f64),
    heavy: bool,
    /// Share of the largest density by which one may be off.
    rounding: f64,
    /// Share of the probability by which one may be off, where the law is simulated.
    simulated: Option<f64>,
    cuts: Vec<(f64, f64)>,
    /// True if it would have taken more questions than there may be, so that it is not known.
    is_costly: bool,
    vanishing: Option<Vanishing>,
}

/// The place to which the law of a node shrinks as its parent goes to a place of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Vanishing {
    centre: f64,
    parent: usize,
    of_parent: f64,
    given_centre: GivenCentre,
}

/// The law of the parent given that the node is at the place to which its law shrinks: by the integral of the parent's density
/// over the width of the node's law, beside the parent's own place.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GivenCentre {
    /// A bounded integrand: the law is as anywhere.
    Law,
    /// An infinite integral: the parent is at its place.
    Place,
    /// Neither for certain.
    Unknown,
}

impl Margin {
    /// The law of a node; by that of its only parent, where it has one. It may ask so many laws of nodes.
    fn of(inner: &Arc<Inner>, node: usize, parent: Option<(usize, Arc<Self>)>, most: u64) -> Self {
        let unknown: Vec<usize> =
            inner.relevant(node, &[]).into_iter().filter(|&other| other != node).collect();
        let laws = inner.laws_of(node, &unknown);
        let heavy = inner.is_heavy(node);
        let mut scales = laws.iter().map(Plain::scale);
        let first = scales.next().unwrap_or(Scale::Linear);
        let scale = match scales.all(|scale| scale == first) {
            _ if heavy => Scale::Asinh,
            true => first,
            false => Scale::Linear,
        };
        let vanishing = match (&parent, unknown.as_slice()) {
            (Some((parent, law)), _) => inner.vanishing(node, *parent, &**law),
            (None, &[parent]) => {
                let law = inner.nodes[parent].law.at(&[]).ok();
                law.and_then(|law| inner.vanishing(node, parent, &law))
            }
            _ => None,
        };
        let scale = match (scale, vanishing) {
            (Scale::Linear, Some(Vanishing { given_centre: GivenCentre::Law, .. })) => scale,
            (Scale::Linear, Some(Vanishing { centre, .. })) => around(centre, &laws),
            _ => scale,
        };
        let reach = if heavy { Scale::Asinh.coordinate(FARTHEST) } else { f64::INFINITY };
        let of_laws = laws.iter().map(|law| {
            let to_scale = |u: f64| match law.scale() {
                own if own == scale => u,
                own => scale.coordinate(own.place(u)),
            };
            let own = law.panels().into_iter().map(to_scale).map(|u| u.clamp(-reach, reach));
            own.filter(|u| u.is_finite()).collect()
        });
        // Between the laws that were looked at and the place that they shrink to there are others.
        let centre = vanishing.map(|Vanishing { centre, .. }| centre);
        let of_centre = centre.map(|x| scale.coordinate(x)).filter(|u| u.is_finite());
        let points = thinned(of_laws.chain(of_centre.map(|u| vec![u])));
        // Where all of it is one number there is nothing to integrate.
        let is_one_place = points.len() < 2;
        let points = match points.first() {
            Some(&place) if is_one_place => vec![place, place.next_up()],
            None => vec![0.0, f64::MIN_POSITIVE],
            _ => points,
        };
        let (low, high) = inner.support_of(&laws, &unknown);
        let support = centre.map_or((low, high), |x| (low.min(x), high.max(x)));
        let mut known = Known { row: vec![f64::NAN; inner.nodes.len()], left: most };
        let several = parent.is_none() && unknown.len() > 1 && !heavy;
        let too_many = parent.is_none() && inner.unknowns(node, &[]) > MOST_UNKNOWN;
        let blend = several.then(|| {
            let blended = Blended { nodes: &inner.nodes, node, over: &unknown, scale };
            let middles = points.windows(2).map(|ends| 0.5 * (ends[0] + ends[1]));
            let probes: Vec<f64> = points.iter().copied().chain(middles).collect();
            let known = Blend::of(blended, &probes);
            if too_many && known.is_none() { Blend::drawn(blended, &points) } else { known }
        });
        let blend = blend.flatten();
        // The mixture is smooth between fewer.
        let points = match &blend {
            Some(blend) if blend.share.is_some() => sparse(&points),
            _ => points,
        };
        let simulated = match &parent {
            Some((_, law)) => law.simulated,
            None => blend.as_ref().and_then(|blend| blend.share),
        };
        if too_many && blend.is_none() {
            known.left = 0;
        }
        let mut asked = 0;
        let density = Piecewise::of(&points, |u| {
            if let Some(blend) = &blend {
                asked += blend.asked(u);
                return if asked > MOST_DENSITIES {
                    Estimate::exact(f64::NAN)
                } else {
                    blend.at(u)
                };
            }
            known.row[node] = scale.place(u);
            let Logarithm { ln, doubt } = match &parent {
                None => inner.ln_integral(&unknown, &[node], &mut known),
                Some((parent, law)) => law.ln_integral_of_child(inner, *parent, node, &mut known),
            };
            Estimate::exact((ln + scale.ln_stretch(u)).exp()).doubted(doubt)
        });
        let total = match is_one_place {
            true => f64::NAN,
            false => density.integral_to(points[points.len() - 1]).value,
        };
        let panels = with_density(&points, |u| density.at(u).value);
        let panels = if heavy { panels } else { density.coarsest(&panels) };
        // The panels of tails that are powers end where these do.
        let cuts = match heavy {
            true => Vec::new(),
            false => inner.cuts(&vec![f64::NAN; inner.nodes.len()], node, &unknown, scale),
        };
        let is_costly = known.left <= 1 || asked > MOST_DENSITIES;
        let anywhere = density.at(points[0]);
        let rounding = if heavy { 0.0 } else { anywhere.error / anywhere.magnitude };
        Self {
            scale,
            density,
            total,
            panels,
            support,
            heavy,
            rounding,
            simulated,
            cuts,
            is_costly,
            vanishing,
        }
    }

    /// Logarithm of the integral over a parent, whose law this is, of the law of its child.
    fn ln_integral_of_child(
        &self,
        inner: &Inner,
        parent: usize,
        child: usize,
        known: &mut Known,
    ) -> Logarithm {
        let ln_weight = |u: f64| (self.density.at(u).value.max(0.0) / self.total).ln();
        let factors = (&[][..], &[child][..]);
        inner.ln_integral_along(parent, self.scale, &self.panels, &ln_weight, factors, known)
    }
}

/// Share by which what is in proportion, or the same, may be off from one distance to a thousandth of it.
const PROPORTIONAL: f64 = 1e-3;

/// Distance from a place to which laws shrink, as a share of how far they reach, up to which hardly anything is; and as a
/// share of the place itself, as closer numbers are hardly told apart.
const NEAREST: f64 = f64::EPSILON;
const NEAREST_TO: f64 = 16.0 * f64::EPSILON;

/// The scale on which a mixture of laws that shrink to a place is smooth: its density grows there as the logarithm of the
/// distance.
fn around(centre: f64, laws: &[Plain]) -> Scale {
    let ends = |law: &Plain| {
        let panels = law.panels();
        [panels[0], panels[panels.len() - 1]].map(|u| (law.place(u) - centre).abs())
    };
    let reach = laws.iter().flat_map(ends).fold(0.0, f64::max);
    let unit = f64::max(NEAREST * reach, NEAREST_TO * centre.abs());
    if reach > 0.0 { Scale::Around { centre, unit } } else { Scale::Linear }
}

/// Both ends of ascending points, and those between them at which there is a density.
fn with_density(points: &[f64], density: impl Fn(f64) -> f64) -> Vec<f64> {
    let (from, to) = (points[0], points[points.len() - 1]);
    let counts = |u: &f64| *u == from || *u == to || density(*u) > 0.0;
    points.iter().copied().filter(counts).collect()
}

/// Most rows at which laws are looked at.
const MOST_ROWS: usize = 20_000;

/// Of many rows so many at most, without regard to their order.
pub(super) fn at_most(most: usize, rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    /// The inverse of the golden ratio: its multiples, modulo 1, are spread evenly.
    const SPREAD: f64 = 0.618_033_988_749_894_9;
    let share = most as f64 / rows.len() as f64;
    let is_kept = |number: usize| (number as f64 * SPREAD).fract() < share;
    rows.into_iter()
        .enumerate()
        .filter(|(number, _)| is_kept(*number))
        .map(|(_, row)| row)
        .collect()
}

/// Most points that are kept as they are.
const FEW: usize = 24;

/// Points between which all of several laws are smooth, ascending, from those of each. Of many points those are left out
/// that are closer to the one before than half of the distances within their own laws.
fn thinned(laws: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    // Each point with the distance to its neighbour.
    let mut points: Vec<(f64, f64)> = Vec::new();
    for mut own in laws {
        own.sort_by(f64::total_cmp);
        own.dedup();
        let gaps = own.windows(2).map(|ends| ends[1] - ends[0]);
        let gaps: Vec<f64> = std::iter::once(f64::INFINITY).chain(gaps).collect();
        let next = gaps.iter().skip(1).chain([&f64::INFINITY]);
        points.extend(own.iter().zip(gaps.iter().zip(next)).map(|(u, (a, b))| (*u, a.min(*b))));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(&(first, _)), Some(&(last, _))) = (points.first(), points.last()) else {
        return Vec::new();
    };
    points.dedup_by(|b, a| b.0 - a.0 <= 1e-9 * (last - first));
    if points.len() > FEW {
        points.dedup_by(|b, a| b.0 < last && b.0 - a.0 < 0.5 * a.1.min(b.1));
    }
    points.into_iter().map(|(point, _)| point).collect()
}

/// Largest value of a law whose tails are powers: beyond, the laws of what it depends on are too narrow for numbers,
/// and probabilities too small to matter wherever there is a mean.
const FARTHEST: f64 = 1e10;

impl Inner {
    /// True if the law of a node, or of one that it descends from, has tails that fall off as powers.
    fn is_heavy(&self, node: usize) -> bool {
        let own = |&node: &usize| {
            let before: Vec<usize> =
                self.relevant(node, &[]).into_iter().filter(|&other| other != node).collect();
            self.laws_of(node, &before).iter().any(Univariate::is_heavy)
        };
        self.relevant(node, &[]).iter().any(own)
    }

    /// The support of a node by its laws where those that are not known resolve theirs: ends that move with one of these
    /// that goes on for ever do so as well.
    fn support_of(&self, laws: &[Plain], unknown: &[usize]) -> (f64, f64) {
        let goes_on = |law: Plain| {
            let (low, high) = law.support();
            low.is_infinite() || high.is_infinite()
        };
        let is_open = unknown.iter().any(|&other| {
            let before: Vec<usize> = unknown.iter().copied().filter(|&node| node < other).collect();
            self.laws_of(other, &before).into_iter().any(goes_on)
        });
        let (lows, highs): (Vec<f64>, Vec<f64>) = laws.iter().map(Univariate::support).unzip();
        let moves = |ends: &[f64]| is_open && ends.iter().any(|end| *end != ends[0]);
        let low = lows.iter().copied().fold(f64::INFINITY, f64::min);
        let high = highs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (
            if moves(&lows) { f64::NEG_INFINITY } else { low },
            if moves(&highs) { f64::INFINITY } else { high },
        )
    }

    /// The laws of a node where those that are not known have values that resolve their own laws.
    fn laws_of(&self, node: usize, unknown: &[usize]) -> Vec<Plain> {
        self.laws_from(&vec![f64::NAN; self.nodes.len()], node, unknown)
    }

    /// The one place to which the law of a node shrinks, where it does for a value of the only one that it reads: at an end
    /// of that one's own law, or at a kink.
    fn vanishing(&self, node: usize, parent: usize, own: &dyn Univariate) -> Option<Vanishing> {
        if own.levels().is_some() {
            return None;
        }
        let mut row = vec![f64::NAN; self.nodes.len()];
        let (low, high) = own.support();
        let mut places: Vec<f64> = own.panels().iter().map(|&u| own.place(u)).collect();
        places.extend(kinks(&self.nodes, parent, [node].into_iter(), &places, &mut row));
        places.extend([low, high].into_iter().filter(|end| end.is_finite()));
        let law = &self.nodes[node].law;
        let mut found = places.into_iter().filter_map(|x| {
            row[parent] = x;
            law.only_place(&row).map(|centre| (x, centre))
        });
        let (of_parent, centre) = found.next()?;
        if found.any(|other| other != (of_parent, centre)) {
            return None;
        }
        let panels = own.panels();
        let middle = own.place(0.5 * (panels[0] + panels[panels.len() - 1]));
        let density_over_width = |share: f64| {
            let x = of_parent + share * (middle - of_parent);
            row[parent] = x;
            let law = law.at(&row).ok()?;
            let panels = law.panels();
            let ends = [panels[0], panels[panels.len() - 1]].map(|u| law.place(u));
            Some(own.pdf(x) / (ends[1] - ends[0]))
        };
        let given_centre = match [1e-6, 1e-9].map(density_over_width) {
            [Some(far), Some(near)] if near <= far * (1.0 + PROPORTIONAL) => GivenCentre::Law,
            [Some(far), Some(near)] if near >= 1e3 * far * (1.0 - PROPORTIONAL) => {
                GivenCentre::Place
            }
            _ => GivenCentre::Unknown,
        };
        Some(Vanishing { centre, parent, of_parent, given_centre })
    }

    /// As [`Self::laws_of`], with what is known.
    fn laws_from(&self, known: &[f64], node: usize, unknown: &[usize]) -> Vec<Plain> {
        let mut rows = vec![known.to_vec()];
        for &other in unknown {
            let mut longer = Vec::new();
            for row in rows {
                let Ok(law) = self.nodes[other].law.at(&row) else { continue };
                let panels = law.panels();
                let middles = panels.windows(2).map(|ends| 0.5 * (ends[0] + ends[1]));
                let inner = if panels.len() <= 3 { middles.collect() } else { Vec::new() };
                let mut places: Vec<f64> = panels.iter().map(|&u| law.place(u)).collect();
                let readers = unknown.iter().copied().chain([node]);
                let kinks = kinks(&self.nodes, other, readers, &places, &mut row.clone());
                places.extend(inner.into_iter().map(|u| law.place(u)).chain(kinks));
                for x in places {
                    let mut with = row.clone();
                    with[other] = x;
                    longer.push(with);
                }
            }
            rows = at_most(MOST_ROWS, longer);
        }
        rows.iter().filter_map(|row| self.nodes[node].law.at(row).ok()).collect()
    }

    /// Cuts of the law of a node where those of what it descends from are cut off: for either end of each of
    /// these, the node's values where that one is at the end and the others in their middle, as coordinates on a scale,
    /// with the share of the mass beyond that falls to them.
    fn cuts(&self, known: &[f64], node: usize, unknown: &[usize], scale: Scale) -> Vec<(f64, f64)> {
        let mut cuts = Vec::new();
        for &at_end in unknown {
            let law = self.law_at_middles(known, at_end, unknown, None);
            let Some(law) = law.filter(|law| law.levels().is_none()) else { continue };
            let panels = law.panels();
            for (end, half) in law.open_ends((panels[0], panels[panels.len() - 1])) {
                let mass = half * law.weight(end);
                let held = Some((at_end, law.place(end)));
                let Some(own) = self.law_at_middles(known, node, unknown, held) else { continue };
                let places = own.panels();
                let all: f64 = places.iter().map(|&u| own.weight(u)).sum();
                cuts.extend(
                    places.into_iter().map(|u| {
                        (scale.coordinate(own.scale().place(u)), mass * own.weight(u) / all)
                    }),
                );
            }
        }
        cuts.retain(|(u, mass)| u.is_finite() && *mass > 0.0);
        cuts
    }

    /// The law of a node where those before it that are not known have values from the middle of their laws, but for
    /// one that is held.
    fn law_at_middles(
        &self,
        known: &[f64],
        node: usize,
        unknown: &[usize],
        held: Option<(usize, f64)>,
    ) -> Option<Plain> {
        let mut row = known.to_vec();
        for &other in unknown.iter().filter(|&&other| other < node) {
            row[other] = match held {
                Some((at, x)) if at == other => x,
                _ => {
                    let law = self.nodes[other].law.at(&row).ok()?;
                    let panels = law.panels();
                    law.place(*panels.get(panels.len() / 2)?)
                }
            };
        }
        self.nodes[node].law.at(&row).ok()
    }
}

impl Univariate for Margin {
    /// All of its probability should be 1.
    fn doubt(&self) -> f64 {
        let missed = (self.total - 1.0).abs();
        // A probability that is no number is none of which a share is known.
        if missed.is_nan() {
            return f64::INFINITY;
        }
        INTEGRATED.max(missed).max(self.rounding).max(self.simulated.unwrap_or(0.0))
    }

    fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// Far out in tails that are powers large values meet densities below the digits of the largest one.
    fn doubt_at(&self, u: f64) -> f64 {
        if !self.heavy || !self.density.covers(u) {
            return beyond_integrated(self.rounding);
        }
        let density = self.density.at_own(u);
        if density.error == 0.0 { 0.0 } else { density.error / density.value.max(density.error) }
    }

    fn is_heavy(&self) -> bool {
        self.heavy
    }

    fn cuts(&self) -> &[(f64, f64)] {
        &self.cuts
    }

    fn pdf(&self, x: f64) -> f64 {
        let u = self.scale.coordinate(x);
        if u.is_finite() { self.weight(u) * (-self.scale.ln_stretch(u)).exp() } else { 0.0 }
    }

    fn cdf(&self, x: f64) -> f64 {
        if let Some(known) = certain(self.support, x) {
            return known;
        }
        let u = self.scale.coordinate(x);
        if u <= self.panels[0] {
            return 0.0;
        }
        if u >= self.panels[self.panels.len() - 1] {
            return 1.0;
        }
        (self.density.integral_to(u).value / self.total).clamp(0.0, 1.0)
    }

    fn support(&self) -> (f64, f64) {
        self.support
    }

    fn panels(&self) -> Vec<f64> {
        self.panels.clone()
    }

    fn coordinate(&self, x: f64) -> f64 {
        self.scale.coordinate(x)
    }

    fn place(&self, u: f64) -> f64 {
        self.scale.place(u).clamp(self.support.0, self.support.1)
    }

    fn stretch(&self, u: f64) -> f64 {
        self.scale.ln_stretch(u).exp()
    }

    fn weight(&self, u: f64) -> f64 {
        if !self.density.covers(u) {
            return 0.0;
        }
        let density = self.density.at_own(u);
        let least = if self.heavy { density.error } else { 0.0 };
        density.value.max(least) / self.total
    }
}

/// Levels whose probabilities are simulated.
struct SimulatedLevels {
    levels: Levels,
    /// Share of the probability that may be off.
    doubt: f64,
}

impl Univariate for SimulatedLevels {
    fn base(&self) -> Option<&dyn Univariate> {
        Some(&self.levels)
    }

    fn doubt(&self) -> f64 {
        self.doubt
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn pdf(&self, x: f64) -> f64 {
        self.levels.pdf(x)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.levels.cdf(x)
    }

    fn support(&self) -> (f64, f64) {
        self.levels.support()
    }

    fn panels(&self) -> Vec<f64> {
        self.levels.panels()
    }

    fn weight(&self, u: f64) -> f64 {
        self.levels.weight(u)
    }

    fn quantile(&self, p: f64) -> f64 {
        self.levels.quantile(p)
    }
}

/// A law that is kept elsewhere too.
struct Shared<U>(Arc<U>);

impl<U: Univariate> Univariate for Shared<U> {
    fn pdf(&self, x: f64) -> f64 {
        self.0.pdf(x)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.0.cdf(x)
    }

    fn support(&self) -> (f64, f64) {
        self.0.support()
    }

    fn panels(&self) -> Vec<f64> {
        self.0.panels()
    }

    fn base(&self) -> Option<&dyn Univariate> {
        Some(&*self.0)
    }

    fn quantile(&self, p: f64) -> f64 {
        self.0.quantile(p)
    }

    fn mixing(&self) -> Option<&dyn Mixing> {
        self.0.mixing()
    }

    fn weight(&self, u: f64) -> f64 {
        self.0.weight(u)
    }
}

/// No law: where its arguments make none.
struct Nowhere;

impl Univariate for Nowhere {
    fn pdf(&self, _: f64) -> f64 {
        f64::NAN
    }

    fn cdf(&self, _: f64) -> f64 {
        f64::NAN
    }

    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn panels(&self) -> Vec<f64> {
        vec![-1.0, 1.0]
    }
}

impl Block for Network {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        let others = given.iter().filter(|(feature, _)| *feature != target);
        let inside = |&(feature, x): &(usize, f64)| {
            let node = self.visible[feature];
            (node, self.inside(node, x))
        };
        let mut given: Vec<_> = others.map(inside).collect();
        given.sort_by_key(|(node, _)| *node);
        self.law(self.visible[target], &given)
    }

    fn is_known(&self, target: usize, given: &[usize]) -> bool {
        let target = self.visible[target];
        let given: Vec<usize> = given.iter().map(|&feature| self.visible[feature]).collect();
        self.inner.gaussian.is_some()
            || given.contains(&target)
            || self.inner.is_direct(target, &given)
            || self.inner.unknowns(target, &given) <= MOST_UNKNOWN
            || (given.is_empty() && !self.law(target, &[]).is_simulated())
    }

    fn places_over(&self, targets: &[usize], given: &[usize]) -> usize {
        if self.inner.gaussian.is_some() {
            return 0;
        }
        let [targets, given] = [targets, given]
            .map(|features| features.iter().map(|&f| self.visible[f]).collect::<Vec<usize>>());
        let mut known = given.clone();
        let mut is_direct = |&target: &usize| {
            let is_direct = self.inner.is_direct(target, &known)
                || self.inner.noisy_family(target, &known).is_some();
            known.push(target);
            is_direct
        };
        if targets.iter().all(&mut is_direct) {
            return 0;
        }
        let unknown = self.inner.unknown_of(&targets, &given).into_iter();
        unknown.filter(|&node| !self.inner.has_levels(node)).count()
    }

    fn visit_places(&self, asked: Placing<'_>, visit: VisitPlace<'_>) -> Option<()> {
        let Placing { targets, given, .. } = asked;
        let of_nodes = given.iter().map(|&(feature, x)| (self.visible[feature], x));
        let given: Vec<(usize, f64)> =
            of_nodes.map(|(node, x)| (node, self.inside(node, x))).collect();
        let nodes: Vec<usize> = targets.iter().map(|&feature| self.visible[feature]).collect();
        let over = self.inner.unknown_of(&nodes, &numbers(&given));
        let mut values = vec![f64::NAN; nodes.len()];
        self.visit_placed(&over, &given, asked, &mut |weighed, row| {
            values.iter_mut().zip(&nodes).for_each(|(x, &node)| *x = row[node]);
            visit(weighed, &values)
        })
    }

    fn draws_given(&self) -> usize {
        if self.inner.gaussian.is_some() { 0 } else { self.inner.nodes.len() }
    }

    fn sample_given(&self, given: &[(usize, f64)], drawn: &[f64], values: &mut [f64]) -> f64 {
        let of_nodes = given.iter().map(|&(feature, x)| (self.visible[feature], x));
        let of_nodes: Vec<(usize, f64)> = of_nodes.collect();
        let Some((row, weight)) = self.inner.row_given(&of_nodes, drawn) else { return f64::NAN };
        values.iter_mut().zip(&self.visible).for_each(|(x, &node)| *x = row[node]);
        weight
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        let Crossing { of, along, slope, at } = broken;
        if !self.is_known(of, &[along]) {
            return Vec::new();
        }
        let [node, other] = [of, along].map(|feature| self.visible[feature]);
        if [node, other].iter().any(|&node| self.inner.has_levels(node)) {
            return Vec::new();
        }
        if let Some(family) = self.inner.noisy_family(node, &[other]) {
            return Noisy::shadow(&family, Crossing { of: node, along: other, ..broken });
        }
        let key = [of as u64, along as u64, slope.to_bits(), at.to_bits()];
        let kept = |shadows: &VecDeque<([u64; 4], Vec<f64>)>| {
            shadows.iter().find(|(known, _)| *known == key).map(|(_, places)| places.clone())
        };
        if let Some(known) = kept(&self.shadows.lock().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        let margin = self.conditional(along, &[]);
        let panels = finer(&margin.panels());
        let span: Vec<f64> = panels.iter().map(|&u| margin.place(u)).collect();
        let mut places = Vec::new();
        for share in [0.0, 0.5, 1.0] {
            let mut gap = |x: f64| {
                let law = self.conditional(of, &[(along, x)]);
                let panels = law.panels();
                let (first, last) = (panels[0], panels[panels.len() - 1]);
                let u = if share == 0.5 {
                    panels[panels.len() / 2]
                } else if share == 0.0 {
                    first
                } else {
                    last
                };
                law.place(u) + slope * x - at
            };
            places.extend(scan(&span, &mut gap));
        }
        places.sort_by(f64::total_cmp);
        let between: Vec<f64> = places
            .windows(2)
            .flat_map(|ends| [0.2, 0.5, 0.8].map(|share| ends[0] + share * (ends[1] - ends[0])))
            .collect();
        places.extend(between);
        let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        shadows.push_front((key, places.clone()));
        shadows.truncate(SHADOWS);
        places
    }

    fn draws(&self) -> usize {
        self.inner.nodes.len()
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let count = self.inner.nodes.len();
        let len = drawn.len() / count;
        let mut row = vec![f64::NAN; count];
        for i in 0..len {
            for node in 0..count {
                let p = drawn[node * len + i];
                let law = self.inner.nodes[node].law.at(&row);
                row[node] = law.map_or(f64::NAN, |law| law.inverse(p, 1.0 - p));
            }
            for (column, &node) in self.visible.iter().enumerate() {
                values[column * len + i] = row[node];
            }
            row.fill(f64::NAN);
        }
    }
}

/// Points along a feature between which roots are looked for, from its law.
pub(super) fn span(law: &dyn Univariate) -> Span {
    let panels = law.panels();
    let points: Vec<f64> = finer(&panels).into_iter().map(|u| law.place(u)).collect();
    let mut marks: Vec<f64> = panels.iter().map(|&u| law.place(u)).collect();
    let (low, high) = law.support();
    marks.extend([low, high].into_iter().filter(|end| end.is_finite()));
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let mut points = points;
    points.dedup();
    Span { points, marks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::special::{normal_cdf, normal_quantile};
    use crate::problem::named_law;
    use crate::problem::parser::{Meaning, Names};

    /// A network of the laws of x1, x2, … in words, of which those with these numbers are visible.
    fn network(laws: &[&str], visible: &[usize]) -> Network {
        let mut names = Names::default();
        let mut nodes = Vec::new();
        for (number, text) in laws.iter().enumerate() {
            let law = named_law::law(text, &names).unwrap();
            nodes.push(Node::new(law));
            names.add(&format!("x{}", number + 1), Meaning::Feature(number));
        }
        Network::new(nodes, visible.to_vec())
    }

    #[track_caller]
    fn close(found: f64, known: f64, relative: f64) {
        assert!((found / known - 1.0).abs() <= relative, "{found}, not {known}");
    }

    /// Rates with a gamma law, and times that are exponential given their rate: all laws are known.
    fn rates() -> Network {
        network(&["gamma(3, 0.5)", "weibull(1, 1/x1)", "weibull(1, 1/x1)"], &[0, 1, 2])
    }

    /// The law of a time where its rate is gamma with a shape and a rate: Lomax's.
    fn lomax(shape: f64, rate: f64, x: f64) -> [f64; 2] {
        let survival = (rate / (rate + x)).powf(shape);
        [shape * survival / (rate + x), 1.0 - survival]
    }

    /// A normal feature with something even added: the density has no corner, what it is the integral of has two.
    #[test]
    fn corners_of_what_is_integrated_are_where_they_are() {
        let mut network = network(&["normal(0, 1)", "x1 + uniform(0, 20)"], &[0, 1]);
        network.most_asked = 1_000_000;
        assert!(network.is_resolved(1));
        let law = network.conditional(1, &[]);
        assert_eq!(law.doubt(), INTEGRATED);
        for y in [-3.0, -1e-3, 0.3, 2.0 + 1e-4, 5.0 - 1e-6, 12.0, 20.5] {
            let known = (normal_cdf(y) - normal_cdf(y - 20.0)) / 20.0;
            close(law.pdf(y), known, 1e-11);
        }
    }

    /// A product of two normal features and noise: by the inverse of its characteristic function, which is known.
    #[test]
    fn a_feature_that_reads_two_others_is_a_sum_over_both() {
        let mut network = network(&["normal(0, 1)", "normal(0, 1)", "normal(x1*x2, 0.3)"], &[2]);
        // So that no value has an integral of its own.
        network.most_asked = 10;
        assert!(network.is_resolved(0) && !network.is_costly(0));
        let law = network.conditional(0, &[]);
        for y in [0.0_f64, 0.2, -1.0, 3.0] {
            let ends: Vec<f64> = (0..=60).map(|k| 0.5 * f64::from(k)).collect();
            let [total] = integrate(&ends, 0.0, |t| {
                let size = (-0.045 * t * t).exp() / (1.0 + t * t).sqrt();
                [Estimate::exact((t * y).cos() * size / std::f64::consts::PI)]
            });
            assert!(
                (law.pdf(y) - total.value).abs() < 1e-13,
                "{y}: {} {}",
                law.pdf(y),
                total.value
            );
        }
        assert!((law.cdf(0.0) - 0.5).abs() < 1e-13);
    }

    /// Even between two ends, both of which move with others: where an end meets an end the density has a corner.
    #[test]
    fn corners_move_with_all_that_is_integrated_over() {
        let laws = ["uniform(0, 1)", "uniform(0, 1)", "uniform(x1, x1 + x2 + 1)"];
        let mut network = network(&laws, &[2]);
        network.most_asked = 6_000_000;
        assert!(network.is_resolved(0));
        let law = network.conditional(0, &[]);
        for (y, known) in [
            (0.3, 0.3 * std::f64::consts::LN_2),
            (1.0, std::f64::consts::LN_2),
            (2.5, 0.5 - 1.5 * (4.0_f64 / 3.0).ln()),
        ] {
            close(law.pdf(y), known, 1e-12);
        }
    }

    /// On a scale of log odds the places of a law round to 1 long before its weight ends.
    #[test]
    fn log_odds_of_children_reach_their_ends() {
        let network = network(&["uniform(0, 1)", "beta(2, 1 + x1)"], &[0, 1]);
        assert!(network.is_resolved(1));
        let law = network.conditional(1, &[]);
        for x in [0.1_f64, 0.7, 0.99] {
            let density = |t: f64| (1.0 + t) * (2.0 + t) * x * (1.0 - x).powf(t);
            let [known] = integrate(&[0.0, 1.0], 0.0, |t| [Estimate::exact(density(t))]);
            close(law.pdf(x), known.value, 1e-12);
        }
        // At an end that has no density itself the law is the one that it is close by.
        let at_0 = network.conditional(0, &[(1, 0.0)]);
        for x in [0.1, 0.5, 1.0] {
            close(at_0.pdf(x), (1.0 + x) * (2.0 + x) * 6.0 / 23.0, 1e-12);
        }
        assert!(network.conditional(0, &[(1, 1.0)]).pdf(0.01).is_finite());
    }

    /// A density that grows beside a place as the logarithm of the distance, at an end and inside, at 0 and elsewhere.
    #[test]
    fn laws_that_shrink_to_a_place_are_known_around_it() {
        // The exponential integral of 1e-9, 0.5 and 1.
        let e1 = [20.146_050_172_046_17, 0.559_773_594_776_160_8, 0.219_383_934_395_520_27];
        let ln = |x: f64| -x.ln();
        const LN_4: f64 = 2.0 * std::f64::consts::LN_2;
        type Densities = [(f64, f64); 3];
        let cases: [(&str, &str, Densities); 8] = [
            ("uniform(0, 1)", "uniform(0, x1)", [1e-12, 0.3, 0.999].map(|x| (x, ln(x)))),
            (
                "uniform(0, 1)",
                "uniform(-x1, x1)",
                [1e-12, -0.3, 0.7].map(|x| (x, 0.5 * ln(f64::abs(x)))),
            ),
            ("uniform(0, 1)", "uniform(x1, 1)", [0.1, 0.3, 0.999].map(|x| (x, ln(1.0 - x)))),
            ("exponential(1)", "uniform(0, x1)", [(1e-9, e1[0]), (0.5, e1[1]), (1.0, e1[2])]),
            ("uniform(0, 1)", "exponential(1/x1)", [(1e-9, e1[0]), (0.5, e1[1]), (1.0, e1[2])]),
            ("uniform(0, 1)", "triangular(0, x1, 2*x1)", [0.25, 0.5, 1.0].map(|x| (x, LN_4 - x))),
            ("uniform(0, 1)", "uniform(x1, 2*x1)", [0.01, 0.4, 1.0].map(|x| (x, 0.5 * LN_4))),
            ("beta(2, 1)", "uniform(x1, 2*x1)", [0.01, 0.4, 1.0].map(|x| (x, x))),
        ];
        for (parent, child, densities) in cases {
            let network = network(&[parent, child], &[0, 1]);
            assert!(network.is_resolved(1), "{child}");
            let law = network.conditional(1, &[]);
            for (x, known) in densities {
                close(law.pdf(x), known, 1e-9);
            }
        }
        let network = network(&["uniform(0, 1)", "uniform(0, x1)"], &[0, 1]);
        for x in [1e-9, 0.1, 0.8] {
            let known = x - x * f64::ln(x);
            assert!((network.conditional(1, &[]).cdf(x) - known).abs() < 1e-13, "{x}");
            // Given the child the density of its parent is one over it.
            for y in [1e-9_f64, 1e-3, 0.5] {
                let known = (1.0 - x.ln() / y.ln()).max(0.0);
                assert!(
                    (network.conditional(0, &[(1, y)]).cdf(x) - known).abs() < 1e-11,
                    "{x} {y}"
                );
            }
        }
    }

    #[test]
    fn chains_of_laws_that_shrink_are_known_around_their_place() {
        let network = network(&["uniform(0, 1)", "uniform(0, x1)", "uniform(0, x2)"], &[0, 1, 2]);
        assert!(network.is_resolved(2));
        for x in [1e-6_f64, 0.01, 0.3, 0.9] {
            close(network.conditional(2, &[]).pdf(x), 0.5 * x.ln() * x.ln(), 1e-9);
        }
    }

    /// Beside the place each of the two is ever closer to its own; where the integral over the parent is none, or may be
    /// one, nothing is told.
    #[test]
    fn at_the_place_that_a_law_shrinks_to_there_is_a_limit_or_no_law() {
        let place = |law: &dyn Univariate| law.levels().map(|levels| levels.values().to_vec());
        let of = |parent: &str, child: &str| network(&[parent, child], &[0, 1]);
        for (parent, child, at) in [
            ("uniform(0, 1)", "uniform(0, x1)", [0.0, 0.0]),
            ("uniform(0, 1)", "normal(2*x1, x1)", [0.0, 0.0]),
            ("uniform(1, 2)", "3 + uniform(x1 - 1, 2*x1 - 2)", [1.0, 3.0]),
        ] {
            let network = of(parent, child);
            assert_eq!(
                place(&*network.conditional(0, &[(1, at[1])])),
                Some(vec![at[0]]),
                "{child}"
            );
            assert_eq!(
                place(&*network.conditional(1, &[(0, at[0])])),
                Some(vec![at[1]]),
                "{child}"
            );
        }
        let law = of("uniform(0, 1)", "uniform(0, sqrt(x1))").conditional(0, &[(1, 0.0)]);
        assert!(place(&*law).is_none() && !law.pdf(0.5).is_finite());
        // 2 x1 over x1 is the same everywhere.
        let law = of("beta(2, 1)", "uniform(0, x1)").conditional(0, &[(1, 0.0)]);
        for x in [1e-6, 0.5, 0.9] {
            close(law.pdf(x), 1.0, 1e-11);
        }
    }

    /// So far out that its values are all the same number.
    #[test]
    fn what_is_one_number_has_no_law_of_its_own() {
        let laws =
            ["mixture(0.8: uniform(-0.5, 0), 0.2: uniform(0, 0.5))", "x1 + normal(1e19, 0.01)"];
        let network = network(&laws, &[0, 1]);
        assert!(!network.is_resolved(1) && !network.is_costly(1));
    }

    #[test]
    fn supports_end_where_no_parent_carries_them_on() {
        for (parent, child, known) in [
            ("normal(0, 1)", "x1 + uniform(0, 20)", (f64::NEG_INFINITY, f64::INFINITY)),
            ("normal(0, 1)", "uniform(0, 1 + exp(x1))", (0.0, f64::INFINITY)),
            ("normal(0, 1)", "triangular(-1, tanh(x1), 1)", (-1.0, 1.0)),
            ("uniform(-1, 2)", "x1 + uniform(0, 20)", (-1.0, 22.0)),
            ("exponential(1)", "uniform(-x1, 5)", (f64::NEG_INFINITY, 5.0)),
        ] {
            let network = network(&[parent, child], &[0, 1]);
            assert_eq!(network.conditional(1, &[]).support(), known, "{child}");
        }
    }

    /// Evenly up to 1000, blurred by less and less: at most so far as numbers tell its places apart.
    #[test]
    fn a_narrow_child_is_known_as_far_as_numbers_go() {
        for (sd, relative) in [("1", 1e-11), ("0.1", 1e-10), ("1e-3", 1e-8), ("1e-5", 1e-6)] {
            let child = format!("normal(1000*x1, {sd})");
            let mut network = network(&["uniform(0, 1)", &child], &[0, 1]);
            network.most_asked = 3_000_000;
            assert!(network.is_resolved(1), "{sd}");
            let sd: f64 = sd.parse().unwrap();
            let law = network.conditional(1, &[]);
            let bound = law.doubt();
            assert!(bound <= relative, "{sd}: {bound:e}");
            for (y, known) in [(500.0, 1e-3), (sd, 1e-3 * normal_cdf(1.0))] {
                close(law.pdf(y), known, bound + 1e-12);
            }
            let parent = network.conditional(0, &[(1, 500.0)]);
            let (bound, known) = (parent.doubt(), Plain::of(LawFamily::Normal, &[0.5, 1e-3 * sd]));
            assert!(bound <= relative, "{sd}: {bound:e}");
            for z in [-2.0, -0.5, 0.0, 1.0] {
                let x = 0.5 + z * 1e-3 * sd;
                let known = known.as_ref().unwrap();
                assert!((parent.pdf(x) / known.pdf(x) - 1.0).abs() <= 3.0 * bound, "{sd} {z}");
            }
        }
        for sd in ["1e-7", "1e-9"] {
            let child = format!("normal(1000*x1, {sd})");
            let network = network(&["uniform(0, 1)", &child], &[0, 1]);
            assert!(!network.is_resolved(1) && !network.is_costly(1), "{sd}");
        }
    }

    /// A chain of four log-normal features, each about the one before: all are log-normal.
    #[test]
    fn a_chain_is_integrated_link_by_link() {
        let links = ["lognormal(ln(x1), 0.5)", "lognormal(ln(x2), 0.3)", "lognormal(ln(x3), 0.4)"];
        let network = network(&[&["lognormal(0, 1)"], &links[..]].concat(), &[0, 1, 2, 3]);
        assert_eq!(
            (0..4).map(|node| network.inner.only_parent(node)).collect::<Vec<_>>(),
            [None, None, Some(1), Some(2)]
        );
        for (node, variance) in [(2, 1.34_f64), (3, 1.5)] {
            let known = Plain::of(LawFamily::LogNormal, &[0.0, variance.sqrt()]).unwrap();
            let law = network.conditional(node, &[]);
            for x in [0.1, 0.9, 3.0, 20.0] {
                close(law.pdf(x), known.pdf(x), 1e-11);
                close(law.cdf(x), known.cdf(x), 1e-11);
            }
        }
    }

    /// What takes too many evaluations of other laws is refused, not answered by what was found until then.
    #[test]
    fn laws_that_cost_too_much_are_not_known() {
        let laws = ["student(4)", "x1 + student(4)"];
        let mut costly = network(&laws, &[0, 1]);
        costly.most_asked = 100_000;
        assert!(!costly.is_resolved(1) && costly.is_costly(1));
        let known = network(&laws, &[0, 1]);
        assert!(known.is_resolved(1) && !known.is_costly(1) && !known.is_costly(0));
    }

    /// Far out in heavy tails, where a law is hardly wider than places are apart, halving is of no use.
    #[test]
    fn rounding_of_places_far_out_costs_little() {
        let mut child = network(&["student(4)", "x1 + student(4)"], &[0, 1]);
        child.most_asked = 5_000_000;
        assert!(child.is_resolved(1));
    }

    #[test]
    fn many_points_are_thinned_but_not_where_a_law_is_narrow() {
        let wide = |k: u32| (0..8).map(|i| f64::from(i) + 1e-3 * f64::from(k)).collect::<Vec<_>>();
        let few = thinned([wide(0), wide(1)].into_iter());
        assert_eq!(few.len(), 16);
        let narrow: Vec<f64> = (0..8).map(|i| 3.2 + 1e-5 * f64::from(i)).collect();
        let many = thinned((0..100).map(wide).chain([narrow.clone()]));
        assert!(many.len() < 40 && many.is_sorted(), "{many:?}");
        assert_eq!((many[0], many[many.len() - 1]), (0.0, 7.099));
        assert!(many.iter().filter(|u| narrow.contains(u)).count() >= 7, "{many:?}");
        // Equal is what is closer than a billionth of all, wherever that lies.
        let equal =
            vec![1e5, 1e5 + 100.0, 1e5 + 100.0 + 5e-7, 1e5 + 500.0, 1e5 + 500.0 + 2e-6, 1e5 + 1e3];
        let left = [1e5, 1e5 + 100.0, 1e5 + 500.0, 1e5 + 500.0 + 2e-6, 1e5 + 1e3];
        assert_eq!(thinned([equal].into_iter()), left);
    }

    #[test]
    fn points_without_density_are_kept_at_the_ends_alone() {
        let points = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let left = |density: [f64; 6]| with_density(&points, |u| density[u as usize]);
        assert_eq!(left([0.0, 0.0, 1e-300, 2.0, -1e-20, 0.0]), [0.0, 2.0, 3.0, 5.0]);
        assert_eq!(left([1.0, 0.0, 0.0, 0.0, 0.0, 1.0]), [0.0, 5.0]);
        assert_eq!(left([1.0; 6]), points);
    }

    /// A peak of width 0.014 in the middle, 5000 e-folds above either end.
    #[test]
    fn integrals_of_narrow_peaks_are_relative_to_their_top() {
        let mut at = |u: f64| Logarithm::exact(-5000.0 * (u - 1.0) * (u - 1.0));
        let found = ln_total(&[0.0, 2.0], Scale::Linear, &mut at).ln;
        let known = 0.5 * (std::f64::consts::PI / 5000.0).ln();
        assert!((found - known).abs() < 1e-12, "{found}, not {known}");
        assert_eq!(
            ln_total(&[0.0, 2.0], Scale::Linear, &mut |_| Logarithm::NOTHING),
            Logarithm::NOTHING
        );
    }

    /// A density of 2 on [0, 1] and 6 on [1, 2].
    #[test]
    fn a_law_of_its_own_has_a_probability_of_one_in_all() {
        let density = |u: f64| Estimate::exact(if u < 1.0 { 2.0 } else { 6.0 });
        let margin = Margin {
            scale: Scale::Linear,
            density: Piecewise::of(&[0.0, 1.0, 2.0], density),
            total: 8.0,
            panels: vec![0.0, 1.0, 2.0],
            support: (0.0, 2.0),
            heavy: false,
            rounding: 0.0,
            simulated: None,
            cuts: Vec::new(),
            is_costly: false,
            vanishing: None,
        };
        for (x, pdf, cdf) in [(0.5, 0.25, 0.125), (1.5, 0.75, 0.625)] {
            close(margin.pdf(x), pdf, 1e-13);
            close(margin.weight(x), pdf, 1e-13);
            close(margin.cdf(x), cdf, 1e-13);
        }
        assert_eq!(margin.doubt(), 7.0);
    }

    /// Given one time another one is a mixture over the rate that both share.
    #[test]
    fn a_time_given_another_one_is_a_mixture() {
        let network = rates();
        let law = network.conditional(2, &[(1, 0.8)]);
        for x in [0.05, 0.4, 3.0] {
            let [pdf, cdf] = lomax(4.0, 2.8, x);
            close(law.pdf(x), pdf, 1e-9);
            close(law.cdf(x), cdf, 1e-8);
        }
        let mixing = law.mixing().unwrap();
        let hidden = Plain::of(LawFamily::Gamma, &[4.0, 1.0 / 2.8]).unwrap();
        close(mixing.hidden().pdf(1.3), hidden.pdf(1.3), 1e-11);
        close(mixing.given(1.5).unwrap().pdf(0.4), 1.5 * (-0.6_f64).exp(), 1e-13);
        assert!(mixing.given(-1.0).is_none());
    }

    /// On scales of logarithms and log odds there is no coordinate off the support.
    #[test]
    fn off_the_support_probabilities_are_certain() {
        let share = network(&["beta(2, 3)", "normal(0, x1)"], &[0, 1]);
        let time = rates();
        let laws = [
            (share.conditional(0, &[(1, 0.3)]), 1.0),
            (share.conditional(0, &[]), 1.0),
            (time.conditional(0, &[(1, 0.8)]), f64::INFINITY),
            (time.conditional(1, &[(2, 0.8)]), f64::INFINITY),
            (time.conditional(1, &[]), f64::INFINITY),
        ];
        for (law, end) in laws {
            for x in [f64::NEG_INFINITY, -3.0, -1e-300, 0.0] {
                assert_eq!(law.cdf(x), 0.0, "{x}");
            }
            for x in [end, 2.0 * end, f64::INFINITY] {
                assert_eq!(law.cdf(x), 1.0, "{x}");
            }
            assert!((0.01..0.99).contains(&law.cdf(0.4)), "{}", law.cdf(0.4));
        }
    }

    /// A child of a feature with tails that are powers has such tails itself, and all of its probability.
    #[test]
    fn what_descends_from_heavy_tails_has_heavy_tails() {
        for (df, tail) in [(3.0, 1e-7), (1.5, 1e-4)] {
            let laws = [format!("student({df})"), "x1 + normal(0, 1)".to_owned()];
            let network = network(&[&laws[0], &laws[1]], &[0, 1]);
            let child = network.conditional(1, &[]);
            assert!(child.is_heavy() && network.is_resolved(1), "{df}: {:e}", child.doubt());
            let parent = network.conditional(0, &[]);
            // Far out the parent decides.
            let x = parent.quantile(1.0 - tail);
            close(1.0 - child.cdf(x), tail, 0.02);
            assert!((child.cdf(0.0) - 0.5).abs() < 1e-9);
        }
        let light = network(&["gamma(3, 0.5)", "normal(x1, x1)"], &[0, 1]);
        assert!(!light.conditional(1, &[]).is_heavy() && light.is_resolved(1));
    }

    #[test]
    fn unknown_features_are_counted() {
        assert_eq!([0, 1, 2].map(|node| rates().inner.unknowns(node, &[])), [0, 1, 1]);
        assert_eq!(rates().inner.unknowns(1, &[2]), 1);
        let sum = ["gamma(3, 0.5)", "gamma(2, 1)", "gamma(1, 2)", "weibull(1, 1/(x1 + x2 + x3))"];
        let network = network(&sum, &[0, 1, 2, 3]);
        assert_eq!(network.inner.unknowns(3, &[]), 3);
        // What is known: its parents given all, a parent where no child is given, or two of all that is unknown.
        for (target, given, known) in [
            (3, &[][..], false),
            (3, &[0, 1, 2], true),
            (3, &[1], true),
            (0, &[1, 2], true),
            (0, &[3], true),
            (0, &[], true),
        ] {
            assert_eq!(network.is_known(target, given), known, "{target} given {given:?}");
        }
    }

    /// Means and covariances of x1 ~ N(1, 2), x2 = x1/2 + 1.25 + N(0, 0.7), x3 = x1 − x2 + N(0, 1.5).
    #[test]
    fn normal_laws_are_those_of_regression() {
        let laws = ["normal(1, 2)", "0.5*x1 + 1 + normal(0.25, 0.7)", "x1 - x2 + normal(0, 1.5)"];
        let network = network(&laws, &[0, 1, 2]);
        let mean = [1.0, 1.75, -0.75];
        let covariance = [[4.0, 2.0, 2.0], [2.0, 1.49, 0.51], [2.0, 0.51, 3.74]];
        let row = [-0.3, 2.2, 1.4];
        let check = |law: &dyn Univariate, mean: f64, variance: f64, what: &str| {
            let found = law.quantile(0.5);
            assert!((found - mean).abs() < 1e-13, "{what}: {found}, not {mean}");
            let sd = 1.0 / (law.pdf(found) * std::f64::consts::TAU.sqrt());
            assert!((sd * sd / variance - 1.0).abs() < 1e-12, "{what}: {sd}");
        };
        for t in 0..3 {
            let what = format!("x{}", t + 1);
            check(&*network.conditional(t, &[]), mean[t], covariance[t][t], &what);
            for g in (0..3).filter(|&g| g != t) {
                let slope = covariance[t][g] / covariance[g][g];
                let centre = mean[t] + slope * (row[g] - mean[g]);
                let variance = covariance[t][t] - slope * covariance[t][g];
                let given = [(g, row[g])];
                check(&*network.conditional(t, &given), centre, variance, &format!("{what} {g}"));
            }
            let [a, b] = [(t + 1) % 3, (t + 2) % 3];
            let determinant = covariance[a][a] * covariance[b][b] - covariance[a][b].powi(2);
            let weight = |own: usize, other: usize| {
                let both = covariance[t][own] * covariance[other][other];
                (both - covariance[t][other] * covariance[a][b]) / determinant
            };
            let (first, second) = (weight(a, b), weight(b, a));
            let centre = mean[t] + first * (row[a] - mean[a]) + second * (row[b] - mean[b]);
            let variance = covariance[t][t] - first * covariance[t][a] - second * covariance[t][b];
            let law = network.conditional(t, &[(a, row[a]), (b, row[b])]);
            check(&*law, centre, variance, &format!("{what} given both"));
        }
    }

    /// A child that is nearly its parent: on its own its variance is a sum, of which the precisions keep nothing.
    #[test]
    fn narrow_children_keep_the_variance_of_their_parents() {
        let network =
            network(&["normal(1, 2)", "normal(1000*x1, 1e-9)", "normal(x2 - x1, 3)"], &[0, 1, 2]);
        for (node, mean, sd) in [(1, 1000.0, 2000.0), (2, 999.0, 1998.0_f64.hypot(3.0))] {
            let law = network.conditional(node, &[]);
            close(law.pdf(mean), 1.0 / (sd * std::f64::consts::TAU.sqrt()), 1e-14);
            close(law.cdf(mean), 0.5, 1e-14);
        }
        close(network.conditional(0, &[(1, 5.0)]).cdf(0.005), 0.5, 1e-3);
        // So far out that hardly a number lies in it.
        assert!(network.conditional(0, &[(1, 5e9)]).pdf(5e6).is_nan());
    }

    /// Each feature is drawn given those before it, the hidden ones too.
    #[test]
    fn rows_are_drawn_feature_after_feature() {
        let laws = ["exponential(2)", "uniform(0, x1)", "x1 + x2 + normal(0, 1)"];
        let network = network(&laws, &[0, 2]);
        assert_eq!(network.draws(), 3);
        let drawn = [0.2, 0.7, 0.5, 0.25, 0.9, 0.4];
        let mut rows = [0.0; 4];
        network.sample(&drawn, &mut rows);
        for i in 0..2 {
            let first = -(1.0 - drawn[i]).ln() / 2.0;
            let last = first + first * drawn[2 + i] + normal_quantile(drawn[4 + i]);
            assert!((rows[i] - first).abs() < 1e-15, "{rows:?}");
            assert!((rows[2 + i] - last).abs() < 1e-14, "{rows:?}");
        }
    }

    /// Laws of one joint density, on scales on which their coordinates are unbounded.
    #[test]
    fn coordinates_carry_the_probability_of_values() {
        let time = rates();
        let gamma = |shape: f64, scale: f64| Plain::of(LawFamily::Gamma, &[shape, scale]).unwrap();
        let (prior, posterior) = (gamma(3.0, 0.5), gamma(4.0, 1.0 / 2.8));
        type Known<'a> = &'a dyn Fn(f64) -> [f64; 2];
        let laws: [(_, Known<'_>); 4] = [
            (time.conditional(0, &[]), &|x| [prior.pdf(x), prior.cdf(x)]),
            (time.conditional(0, &[(1, 0.8)]), &|x| [posterior.pdf(x), posterior.cdf(x)]),
            (time.conditional(1, &[]), &|x| lomax(3.0, 2.0, x)),
            (time.conditional(2, &[(1, 0.8)]), &|x| lomax(4.0, 2.8, x)),
        ];
        for (number, (law, known)) in laws.into_iter().enumerate() {
            for x in [0.05, 0.4, 3.0] {
                let [pdf, cdf] = known(x);
                close(law.pdf(x), pdf, 1e-9);
                close(law.cdf(x), cdf, 1e-8);
                let u = law.coordinate(x);
                close(law.place(u), x, 1e-13);
                close(law.weight(u), law.pdf(x) * law.stretch(u), 1e-12);
                let step = 1e-5;
                close(law.stretch(u), (law.place(u + step) - law.place(u - step)) / 2e-5, 1e-8);
            }
            assert_eq!(law.pdf(-1.0), 0.0, "{number}");
            assert!((1e-16..1e-9).contains(&law.doubt()), "{number}: {:e}", law.doubt());
            let [mass] = integrate(&law.panels(), 0.0, |u| [Estimate::exact(law.weight(u))]);
            close(mass.value, 1.0, 1e-9);
        }
    }

    /// A gamma law of shape 1 is exponential: 2⁻⁴⁰ lies beyond 40 ln 2, and no digits of that are lost.
    #[test]
    fn rows_far_out_in_a_tail_keep_their_digits() {
        let network = network(&["gamma(1, 1)", "normal(x1, 1)"], &[0]);
        let (mut rows, beyond) = ([0.0; 2], 2_f64.powi(-40));
        network.sample(&[1.0 - beyond, beyond, 0.5, 0.5], &mut rows);
        close(rows[0], 40.0 * std::f64::consts::LN_2, 1e-12);
        close(rows[1], beyond, 1e-11);
    }
}
