//! Sums of trees, asked for many rows at once, along a feature, or for differences alone.
//!
//! A tree is a table of boxes: of the rows that differ in one feature alone it need be walked through but once,
//! and where no test of that feature falls between two of its places, nothing changes.

use std::collections::BTreeMap;
use std::ops::Range;

use fe_core::model::{Column, Interval};

/// A test of one feature at a node of a tree.
pub(crate) trait Rule {
    /// True for the values that go to the first child.
    fn is_met(&self, x: f64) -> bool;
}

/// A rule of one number: values below it go to the first child.
pub(crate) trait Threshold: Rule {
    /// The number.
    fn threshold(&self) -> f64;
}

/// A node of a tree: a split, or a leaf, whose feature is [`LEAF`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node<R> {
    /// The test of a split.
    pub(crate) rule: R,
    /// The feature that is tested, counted from 0.
    pub(crate) feature: u32,
    /// Of a split the two children. Of a leaf the range of what it adds.
    pub(crate) children: [u32; 2],
}

/// The feature of a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

/// Trees next to each other in memory, each node before all that is below it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ensemble<R> {
    nodes: Vec<Node<R>>,
    /// For each node the first one that is not below it.
    ends: Vec<u32>,
    /// First node of each tree.
    roots: Vec<usize>,
    /// Additions of the leaves: to which score, and how much.
    additions: Vec<(u32, f64)>,
    /// For each feature that is tested the nodes that do, in order.
    tests: BTreeMap<usize, Vec<u32>>,
    features: usize,
    /// Number of scores.
    scores: usize,
}

/// A node as it is added: a leaf with its additions, or a split with what leads to its children.
pub(crate) enum Part<R, C> {
    Leaf(Vec<(usize, f64)>),
    Split { feature: usize, rule: R, children: [C; 2] },
}

impl<R: Rule + Default> Ensemble<R> {
    /// No trees, with so many features and scores.
    pub(crate) fn new(features: usize, scores: usize) -> Self {
        Self {
            nodes: Vec::new(),
            ends: Vec::new(),
            roots: Vec::new(),
            additions: Vec::new(),
            tests: BTreeMap::new(),
            features,
            scores,
        }
    }

    /// The same trees with more features, of which they know nothing.
    pub(crate) fn of_features(mut self, features: usize) -> Self {
        self.features = features;
        self
    }

    /// Adds a tree, of which `part` tells the nodes, from the root down.
    pub(crate) fn push<C>(&mut self, root: C, mut part: impl FnMut(C) -> Part<R, C>) {
        self.roots.push(self.nodes.len());
        let first = self.nodes.len();
        // Nodes with the place where their own number is expected.
        let mut open = vec![(root, None::<(usize, usize)>)];
        while let Some((node, parent)) = open.pop() {
            let own = self.nodes.len() as u32;
            if let Some((parent, side)) = parent {
                self.nodes[parent].children[side] = own;
            }
            match part(node) {
                Part::Leaf(additions) => {
                    let start = self.additions.len() as u32;
                    self.additions
                        .extend(additions.into_iter().map(|(score, value)| (score as u32, value)));
                    let children = [start, self.additions.len() as u32];
                    self.nodes.push(Node { rule: R::default(), feature: LEAF, children });
                }
                Part::Split { feature, rule, children: [left, right] } => {
                    self.tests.entry(feature).or_default().push(own);
                    self.nodes.push(Node { rule, feature: feature as u32, children: [0, 0] });
                    open.push((right, Some((own as usize, 1))));
                    open.push((left, Some((own as usize, 0))));
                }
            }
        }
        // All below a node come before what is not, so a node ends where its second child does.
        self.ends.resize(self.nodes.len(), 0);
        for at in (first..self.nodes.len()).rev() {
            let node = &self.nodes[at];
            let end = if node.feature == LEAF {
                at as u32 + 1
            } else {
                self.ends[node.children[1] as usize]
            };
            self.ends[at] = end;
        }
    }

    /// The number of trees.
    pub(crate) fn len(&self) -> usize {
        self.roots.len()
    }

    /// All nodes.
    pub(crate) fn nodes(&self) -> &[Node<R>] {
        &self.nodes
    }

    /// First node of each tree.
    pub(crate) fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The number of features.
    pub(crate) fn features(&self) -> usize {
        self.features
    }

    /// The number of scores.
    pub(crate) fn scores(&self) -> usize {
        self.scores
    }

    /// Most splits on the way to a leaf.
    pub(crate) fn deepest(&self) -> usize {
        let mut depths = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.feature != LEAF) {
            for child in node.children {
                depths[child as usize] = depths[at] + 1;
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// True if all that leaves add is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.additions.iter().all(|(_, value)| value.is_finite())
    }

    /// The additions of a leaf.
    pub(crate) fn additions(&self, leaf: &Node<R>) -> &[(u32, f64)] {
        &self.additions[leaf.children[0] as usize..leaf.children[1] as usize]
    }

    /// Adds the trees up for some rows: for each row all scores.
    pub(crate) fn add_up(&self, columns: &[Column<'_>], scores: &mut [f64]) {
        let mut walk = Walk::default();
        for (chunk, scores) in scores.chunks_mut(TOGETHER * self.scores).enumerate() {
            let start = chunk * TOGETHER;
            let rows = start as u32..(start + scores.len() / self.scores) as u32;
            for &root in &self.roots {
                walk.start(root, rows.clone(), 0);
                walk.through(
                    &self.nodes,
                    columns,
                    None,
                    |_, _| false,
                    |rows, _, leaf| {
                        for &(score, value) in self.additions(leaf) {
                            for &row in rows {
                                scores[(row as usize - start) * self.scores + score as usize] +=
                                    value;
                            }
                        }
                    },
                );
            }
        }
    }

    /// The same with a feature at each of some places: for each row all places, for each place all scores. Rows
    /// go through a tree once, not once for each place, and the same numbers are added in the same order.
    pub(crate) fn add_up_along(
        &self,
        feature: usize,
        places: &[f64],
        columns: &[Column<'_>],
        scores: &mut [f64],
    ) {
        let mut walk = Walk::default();
        let size = places.len() * self.scores;
        for (chunk, scores) in scores.chunks_mut(TOGETHER_ALONG * size).enumerate() {
            let start = chunk * TOGETHER_ALONG;
            let rows = start as u32..(start + scores.len() / size) as u32;
            let along = Some((feature, places));
            for &root in &self.roots {
                walk.start(root, rows.clone(), places.len());
                walk.through(
                    &self.nodes,
                    columns,
                    along,
                    |_, _| false,
                    |rows, held, leaf| {
                        for &(score, value) in self.additions(leaf) {
                            for &row in rows {
                                let own = &mut scores[(row as usize - start) * size..][..size];
                                let own =
                                    &mut own[held.start * self.scores..held.end * self.scores];
                                if self.scores == 1 {
                                    own.iter_mut().for_each(|score| *score += value);
                                } else {
                                    let own = own[score as usize..].iter_mut().step_by(self.scores);
                                    own.for_each(|score| *score += value);
                                }
                            }
                        }
                    },
                );
            }
        }
    }

    /// Adds, for each row all scores, the change of the scores where a feature goes from one place to another,
    /// which may differ from row to row. Only the trees that test the feature in between are walked through, and
    /// of these what leads to such a test.
    pub(crate) fn add_changes(
        &self,
        feature: usize,
        [from, to]: [&[f64]; 2],
        columns: &[Column<'_>],
        changes: &mut [f64],
    ) {
        let Some(tests) = self.tests.get(&feature) else { return };
        let mut walk = Walk::default();
        let mut crossed = Vec::new();
        let places = |row: u32| [from[row as usize], to[row as usize]];
        for rows in together(from.len(), |row| places(row).map(f64::to_bits)) {
            let places = places(rows[0]);
            let changes_side = |&node: &u32| {
                let rule = &self.nodes[node as usize].rule;
                rule.is_met(places[0]) != rule.is_met(places[1])
            };
            crossed.clear();
            crossed.extend(tests.iter().copied().filter(changes_side));
            let mut next = 0;
            while next < crossed.len() {
                let tree = self.roots.partition_point(|root| *root <= crossed[next] as usize) - 1;
                let root = self.roots[tree];
                let end = next + crossed[next..].partition_point(|node| *node < self.ends[root]);
                let within = &crossed[next..end];
                next = end;
                if rows.len() < FEW {
                    rows.iter().for_each(|&row| {
                        self.add_change(root, feature, places, columns, row, changes);
                    });
                    continue;
                }
                // Where both places still go the same way, only what leads to a test in between counts.
                let leads_nowhere = |node: usize, held: &Range<usize>| {
                    let first = within.partition_point(|&crossed| (crossed as usize) < node);
                    held.len() == 2 && within.get(first).is_none_or(|at| *at >= self.ends[node])
                };
                walk.start(root, rows.iter().copied(), 2);
                let along = Some((feature, &places[..]));
                walk.through(&self.nodes, columns, along, leads_nowhere, |rows, held, leaf| {
                    let sign = if held.start == 0 { -1.0 } else { 1.0 };
                    for &(score, value) in self.additions(leaf) {
                        for &row in rows {
                            changes[row as usize * self.scores + score as usize] += sign * value;
                        }
                    }
                });
            }
        }
    }

    /// Adds what a tree says of one row, in the order in which it is added of many: from the node on where both places
    /// part, there is the leaf of the second, less that of the first.
    fn add_change(
        &self,
        root: usize,
        feature: usize,
        places: [f64; 2],
        columns: &[Column<'_>],
        row: u32,
        changes: &mut [f64],
    ) {
        let value = |of: usize| match columns[of] {
            Column::Values(values) => values[row as usize],
            Column::Constant(value) => value,
        };
        let child = |at: &Node<R>, place: f64| {
            let of = at.feature as usize;
            let is_met = at.rule.is_met(if of == feature { place } else { value(of) });
            at.children[usize::from(!is_met)] as usize
        };
        let mut ends = [root; 2];
        while ends[0] == ends[1] {
            let at = &self.nodes[ends[0]];
            if at.feature == LEAF {
                return;
            }
            ends = places.map(|place| child(at, place));
        }
        for (side, sign) in [(1, 1.0), (0, -1.0)] {
            let mut at = &self.nodes[ends[side]];
            while at.feature != LEAF {
                at = &self.nodes[child(at, places[side])];
            }
            for &(score, value) in self.additions(at) {
                changes[row as usize * self.scores + score as usize] += sign * value;
            }
        }
    }
}

/// A visit of a leaf: the intervals that lead there, and its additions.
pub(crate) type VisitLeaf<'a> = &'a mut dyn FnMut(&[Interval], &[(u32, f64)]);

impl<R: Threshold> Ensemble<R> {
    /// Visits each leaf that values can reach.
    pub(crate) fn each_leaf(&self, visit: VisitLeaf<'_>) {
        let mut sides = Vec::new();
        self.roots.iter().for_each(|&root| self.leaves_below(root, &mut sides, visit));
    }

    /// The thresholds of a feature, ascending, each once.
    pub(crate) fn thresholds(&self, feature: usize) -> Vec<f64> {
        let tests = self.tests.get(&feature).map_or(&[][..], Vec::as_slice);
        let mut all = Vec::new();
        // Trees are split at few places, again and again.
        for tests in tests.chunks(1 << 16) {
            all.extend(tests.iter().map(|&node| self.nodes[node as usize].rule.threshold()));
            all.sort_by(f64::total_cmp);
            all.dedup();
        }
        all
    }

    fn leaves_below(&self, node: usize, sides: &mut Vec<Interval>, visit: VisitLeaf<'_>) {
        let at = &self.nodes[node];
        if at.feature == LEAF {
            visit(sides, &self.additions[at.children[0] as usize..at.children[1] as usize]);
            return;
        }
        let (feature, threshold) = (at.feature as usize, at.rule.threshold());
        let known = sides.iter().position(|side| side.feature == feature);
        let place = known.unwrap_or_else(|| {
            let (from, below) = (f64::NEG_INFINITY, f64::INFINITY);
            sides.push(Interval { feature, from, below });
            sides.len() - 1
        });
        let before = sides[place];
        let halves = [
            Interval { below: before.below.min(threshold), ..before },
            Interval { from: before.from.max(threshold), ..before },
        ];
        for (half, child) in halves.into_iter().zip(at.children) {
            if half.from < half.below {
                sides[place] = half;
                self.leaves_below(child as usize, sides, visit);
            }
        }
        match known {
            Some(_) => sides[place] = before,
            None => sides.truncate(place),
        }
    }
}

/// Fewer rows go through a tree one by one.
const FEW: usize = 32;

/// Rows with equal keys, each time all of them, in order.
fn together<K: Ord>(rows: usize, key: impl Fn(u32) -> K) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by_cached_key(|&row| key(row));
    order.chunk_by(|&one, &other| key(one) == key(other)).map(<[u32]>::to_vec).collect()
}

/// Rows that go through a tree together: their numbers stay in the nearest cache.
const TOGETHER: usize = 1024;
/// The same where each has a score for each place.
const TOGETHER_ALONG: usize = 256;

/// Rows on their way through a tree, divided at each split without a branch that depends on a value.
#[derive(Default)]
struct Walk {
    /// The rows, those that are at the same node next to each other.
    order: Vec<u32>,
    /// Rows that go right, while others go left.
    right: Vec<u32>,
    /// Nodes that are still to be visited, the last one first.
    open: Vec<Visit>,
}

/// Some rows at a node, and the places of the feature that lead there, by their numbers.
struct Visit {
    node: usize,
    rows: Range<usize>,
    places: Range<usize>,
}

impl Walk {
    fn start(&mut self, root: usize, rows: impl Iterator<Item = u32>, places: usize) {
        self.order.clear();
        self.order.extend(rows);
        self.right.resize(self.order.len(), 0);
        self.open.push(Visit { node: root, rows: 0..self.order.len(), places: 0..places });
    }

    /// Calls `leaf` for each leaf that is reached, with the rows and places; nodes with places of which `skip` is
    /// true are left out, with all below them.
    fn through<R: Rule>(
        &mut self,
        nodes: &[Node<R>],
        columns: &[Column<'_>],
        along: Option<(usize, &[f64])>,
        skip: impl Fn(usize, &Range<usize>) -> bool,
        mut leaf: impl FnMut(&[u32], Range<usize>, &Node<R>),
    ) {
        while let Some(Visit { node, rows, places: held }) = self.open.pop() {
            if skip(node, &held) {
                continue;
            }
            let at = &nodes[node];
            if at.feature == LEAF {
                leaf(&self.order[rows], held, at);
                continue;
            }
            let [left, right] = at.children.map(|child| child as usize);
            match along.filter(|(feature, _)| *feature == at.feature as usize) {
                // All rows go left at some places and right at the others.
                Some((_, places)) => {
                    for (goes_left, held) in runs(held, |place| at.rule.is_met(places[place])) {
                        self.visit(if goes_left { left } else { right }, rows.clone(), held);
                    }
                }
                None => {
                    let middle = rows.start
                        + match columns[at.feature as usize] {
                            Column::Values(values) => {
                                let is_left = |row: u32| at.rule.is_met(values[row as usize]);
                                divide(&mut self.order[rows.clone()], &mut self.right, is_left)
                            }
                            Column::Constant(value) if at.rule.is_met(value) => rows.len(),
                            Column::Constant(_) => 0,
                        };
                    self.visit(right, middle..rows.end, held.clone());
                    self.visit(left, rows.start..middle, held);
                }
            }
        }
    }

    fn visit(&mut self, node: usize, rows: Range<usize>, places: Range<usize>) {
        if !rows.is_empty() {
            self.open.push(Visit { node, rows, places });
        }
    }
}

/// The stretches of a range on which something is the same, with what it is.
fn runs(
    range: Range<usize>,
    is: impl Fn(usize) -> bool,
) -> impl Iterator<Item = (bool, Range<usize>)> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let first = (start < range.end).then(|| is(start))?;
        let run = start..(start + 1..range.end).find(|&at| is(at) != first).unwrap_or(range.end);
        start = run.end;
        Some((first, run))
    })
}

/// Puts the rows that go left before the others, and says how many there are.
pub(crate) fn divide(rows: &mut [u32], right: &mut [u32], is_left: impl Fn(u32) -> bool) -> usize {
    let (mut lefts, mut rights) = (0, 0);
    for i in 0..rows.len() {
        let row = rows[i];
        let goes_left = is_left(row);
        rows[lefts] = row;
        right[rights] = row;
        lefts += usize::from(goes_left);
        rights += usize::from(!goes_left);
    }
    rows[lefts..].copy_from_slice(&right[..rights]);
    lefts
}
