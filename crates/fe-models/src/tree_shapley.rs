//! Interventional Shapley values of sums of trees, exact for any number of features.
//!
//! A leaf is a game of its own: a coalition reaches it if the explained row passes the tests of the features inside,
//! and the background row those of the features outside. Features whose tests only the explained row passes must be
//! inside, those whose tests only the background row passes must be outside, and of p of the first and q of the second
//! kind the Shapley value of such a game is (p − 1)! q! / (p + q)! for one of the first, and −p! (q − 1)! / (p + q)!
//! for one of the second (Laberge and Pequignot 2022). Rows that pass the tests of the same features are counted together.

use std::collections::HashMap;

use fe_core::model::Column;

use crate::ensemble::{Ensemble, LEAF, Rule};

/// Most features that are tested on the way to a leaf: they are bits of a number.
const MOST_TESTED: usize = 64;

/// Rows by their columns, and how many there are.
pub(crate) type Sample<'a> = (&'a [Column<'a>], usize);

impl<R: Rule + Default> Ensemble<R> {
    /// True if [`Ensemble::add_shapley_values`] can be called.
    pub(crate) fn knows_shapley_values(&self) -> bool {
        self.features() <= MOST_TESTED || self.deepest() <= MOST_TESTED
    }

    /// Adds the Shapley values of some rows against a background with weights that add up to 1: for each feature
    /// and each score all rows.
    pub(crate) fn add_shapley_values(
        &self,
        [explained, background]: [Sample<'_>; 2],
        weights: &[f64],
        values: &mut [f64],
    ) {
        let mut leaves = Leaves { ensemble: self, explained, background, weights, values };
        for &root in self.roots() {
            let passes =
                Passes { explained: vec![0; explained.1], background: vec![0; background.1] };
            leaves.below(root, passes);
        }
    }
}

/// The features whose tests each row fails on the way to a node, as bits by their places on it.
#[derive(Clone)]
struct Passes {
    explained: Vec<u64>,
    background: Vec<u64>,
}

impl Passes {
    /// The same after one more test, at some place of the way, which is passed if the rule says what it must.
    fn then<R: Rule>(
        &self,
        (explained, background): (&Column<'_>, &Column<'_>),
        (rule, must): (&R, bool),
        bit: u64,
    ) -> Self {
        let next = |failed: &[u64], column: &Column<'_>| {
            let fails = |x: f64| u64::from(rule.is_met(x) != must) * bit;
            match column {
                Column::Values(x) => failed.iter().zip(*x).map(|(f, &x)| f | fails(x)).collect(),
                Column::Constant(x) => failed.iter().map(|f| f | fails(*x)).collect(),
            }
        };
        Self {
            explained: next(&self.explained, explained),
            background: next(&self.background, background),
        }
    }
}

/// The leaves of an ensemble, visited for the sake of their values.
struct Leaves<'a, R> {
    ensemble: &'a Ensemble<R>,
    explained: Sample<'a>,
    background: Sample<'a>,
    weights: &'a [f64],
    values: &'a mut [f64],
}

impl<R: Rule + Default> Leaves<'_, R> {
    /// Adds the values of all leaves of a tree.
    fn below(&mut self, root: usize, passes: Passes) {
        // Nodes to be visited, with the features tested on the way.
        let mut open = vec![(root, Vec::new(), passes)];
        while let Some((node, mut tested, passes)) = open.pop() {
            let at = &self.ensemble.nodes()[node];
            if at.feature == LEAF {
                self.add_leaf(node, &tested, &passes);
                continue;
            }
            let place = tested.iter().position(|feature| *feature == at.feature);
            let place = place.unwrap_or_else(|| {
                tested.push(at.feature);
                tested.len() - 1
            });
            let columns =
                (&self.explained.0[at.feature as usize], &self.background.0[at.feature as usize]);
            for (child, must) in [(1, false), (0, true)] {
                let passes = passes.then(columns, (&at.rule, must), 1 << place);
                open.push((at.children[child] as usize, tested.clone(), passes));
            }
        }
    }

    fn add_leaf(&mut self, leaf: usize, tested: &[u32], passes: &Passes) {
        if tested.is_empty() {
            return;
        }
        let all = u64::MAX >> (64 - tested.len());
        let mut shares: HashMap<u64, f64> = HashMap::new();
        for (failed, weight) in passes.background.iter().zip(self.weights) {
            *shares.entry(all & !failed).or_default() += weight;
        }
        // In an order of their own, so that sums do not depend on that of the table.
        let mut shares: Vec<(u64, f64)> = shares.into_iter().collect();
        shares.sort_unstable_by_key(|(passed, _)| *passed);
        let mut known: HashMap<u64, Option<Vec<f64>>> = HashMap::new();
        let rows = self.explained.1;
        let additions = self.ensemble.additions(&self.ensemble.nodes()[leaf]);
        for (row, &failed) in passes.explained.iter().enumerate() {
            let values = known.entry(failed).or_insert_with(|| game(failed, &shares, tested.len()));
            let Some(values) = values else { continue };
            for (&feature, value) in tested.iter().zip(values) {
                for &(score, addition) in additions {
                    let at = feature as usize * self.ensemble.scores() + score as usize;
                    self.values[at * rows + row] += addition * *value;
                }
            }
        }
    }
}

/// The Shapley values of the tested features in the game whether a leaf is reached, of a row that fails the
/// tests of some of them; `shares` has what the background passes. None if all are 0.
fn game(failed: u64, shares: &[(u64, f64)], tested: usize) -> Option<Vec<f64>> {
    let outside = failed.count_ones() as usize;
    let mut values = vec![0.0; tested];
    let (mut of_failed, mut is_known) = (0.0, false);
    // What only the background passes are the tests that the row fails: all others it passes.
    for &(passed, share) in shares.iter().filter(|(passed, _)| passed & failed == failed) {
        let inside = tested - passed.count_ones() as usize;
        if inside + outside == 0 {
            continue;
        }
        is_known = true;
        // (p − 1)! q! / (p + q)! is 1 / (p C(p + q, p)).
        let ways = choose(inside + outside, inside);
        if inside > 0 {
            let of_passed = share / (inside as f64 * ways);
            let places = (0..tested).filter(|place| passed >> place & 1 == 0);
            places.for_each(|place| values[place] += of_passed);
        }
        if outside > 0 {
            of_failed += share / (outside as f64 * ways);
        }
    }
    let places = (0..tested).filter(|place| failed >> place & 1 == 1);
    places.for_each(|place| values[place] -= of_failed);
    is_known.then_some(values)
}

/// The number of ways to choose k of n.
fn choose(n: usize, k: usize) -> f64 {
    (1..=k.min(n - k)).fold(1.0, |ways, i| ways * (n - k.min(n - k) + i) as f64 / i as f64)
}
