//! The population's tree of regions: EFFECTOR Algorithm 1 with exact heterogeneities.

use serde::Serialize;

use super::regional::{Best, Heterogeneity, Place, Search, truth};
use crate::error::Error;
use crate::law::region::{Condition, Region};
use crate::numeric::quadrature::Estimate;
use crate::quantity::{Regional, Truth};
use crate::scenario::Scenario;

/// Growth of a tree, and when it stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeOptions<'a> {
    /// Most levels, up to [`TreeOptions::DEEPEST`].
    pub depth: usize,
    /// Number of positions per feature, equally spaced inside its range, as an estimator has them; all
    /// positions if none.
    pub candidates: Option<usize>,
    /// Least relative drop of heterogeneity for which a split is kept.
    pub drop: f64,
    /// True if each region has a split of its own (CART), instead of one for all of a level.
    pub cart: bool,
    /// Limits of the bins whose finite differences `ale` is about; the derivative if none.
    pub limits: Option<&'a [f64]>,
}

impl Default for TreeOptions<'_> {
    fn default() -> Self {
        Self { depth: 2, candidates: None, drop: 0.05, cart: false, limits: None }
    }
}

impl TreeOptions<'_> {
    /// Most levels that are offered.
    pub const DEEPEST: usize = 3;
    /// Most positions per feature.
    pub const MOST_CANDIDATES: usize = 10_000;

    fn check(&self, method: Regional) -> Result<(), Error> {
        let bad = |option, given: String, allowed: String| {
            Err(Error::BadTreeOption { option, given, allowed })
        };
        if !(1..=Self::DEEPEST).contains(&self.depth) {
            let allowed = format!("a whole number from 1 to {}", Self::DEEPEST);
            return bad("depth", self.depth.to_string(), allowed);
        }
        if let Some(count) = self.candidates.filter(|n| !(1..=Self::MOST_CANDIDATES).contains(n)) {
            let allowed = format!("a whole number from 1 to {}", Self::MOST_CANDIDATES);
            return bad("candidates", count.to_string(), allowed);
        }
        if !(0.0..=1.0).contains(&self.drop) {
            return bad("drop", self.drop.to_string(), "a number from 0 to 1".to_owned());
        }
        if self.limits.is_some() && method != Regional::Ale {
            return bad("bins", "limits".to_owned(), "only with ale".to_owned());
        }
        Ok(())
    }
}

/// The population's regions of a feature's effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionalTree {
    /// The feature, counted from 0.
    pub feature: usize,
    /// Name of the heterogeneity value that regions lower.
    pub heterogeneity: &'static str,
    /// All regions, that of all rows first, parents before children.
    pub nodes: Vec<RegionalNode>,
}

/// A region of the tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionalNode {
    /// Position of its parent among the nodes; none for all rows.
    pub parent: Option<usize>,
    /// Number of splits that lead here.
    pub depth: usize,
    /// Its region.
    pub region: Region,
    /// Its probability.
    pub share: f64,
    /// Its heterogeneity.
    pub heterogeneity: Truth,
    /// Its split; none for leaves.
    pub split: Option<NodeSplit>,
}

/// Split of a region. Its sides are the next two nodes that have it as parent: at most the position, and above
/// it; of a [nominal](Scenario::is_nominal) feature, at the level of that position, and at any other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeSplit {
    /// The feature that splits, counted from 0.
    pub feature: usize,
    /// The position.
    pub position: f64,
    /// A bound on the error of the position.
    pub position_error: f64,
    /// Heterogeneity on the first side.
    pub left: Truth,
    /// Heterogeneity on the other side.
    pub right: Truth,
    /// Both, weighted with their probabilities.
    pub weighted: Truth,
    /// Other features and positions that are as good: mirror images, say.
    pub ties: Vec<(usize, f64)>,
}

impl RegionalTree {
    /// The regions that are not split, with their positions among the nodes.
    pub fn leaves(&self) -> impl Iterator<Item = (usize, &RegionalNode)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.split.is_none())
    }

    /// Heterogeneity of the leaves, weighted with their probabilities.
    #[must_use]
    pub fn weighted(&self) -> Truth {
        let each = self.leaves().map(|(_, leaf)| leaf.heterogeneity.times(leaf.share));
        each.fold(Truth::ZERO, Truth::plus)
    }
}

impl Scenario {
    /// The population's tree of regions for the effect of a feature, counted from 0: the splits that
    /// an estimator of regions finds when there are enough rows, with the default heterogeneity of
    /// the method (`pdp.mean`, `dpdp.mean`, `ale.integral`, `shap.mean`).
    ///
    /// Level by level one split for all regions, or one for each, that leaves the least
    /// heterogeneity, as long as it drops by the share asked for. A region in which the position of a
    /// level lies outside stays whole. Of equally good splits the first is taken, by feature and then
    /// by position, and the others are named.
    ///
    /// # Errors
    /// Those of [`Scenario::regional`], and [`Error::BadTreeOption`].
    ///
    /// ```
    /// use fe_truth::{Regional, TreeOptions, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// // f is 3 x1 or −3 x1, as x3 is above 0 or not.
    /// let scenario = scenario("effector-regional", &[])?;
    /// let tree = scenario.tree(Regional::Pdp, 0, TreeOptions::default())?;
    /// let split = tree.nodes[0].split.as_ref().unwrap();
    /// assert_eq!((split.feature, split.position), (2, 0.0));
    /// assert_eq!(tree.leaves().count(), 2);
    /// assert!(tree.weighted().value < 1e-12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tree(
        &self,
        method: Regional,
        feature: usize,
        options: TreeOptions<'_>,
    ) -> Result<RegionalTree, Error> {
        self.check_feature(feature)?;
        self.check_regional(method, feature)?;
        options.check(method)?;
        let heterogeneity = match options.limits {
            None => Heterogeneity::of_method(method),
            Some(limits) => {
                self.check_differences(feature, limits)?;
                Heterogeneity::Differences(limits)
            }
        };
        let unknown = || self.no_optimum(heterogeneity, feature);
        let whole = Place::whole(self, heterogeneity, feature).ok_or_else(unknown)?;
        let floor = 1e-12 * whole.heterogeneity.value;
        let root = Node { parent: None, depth: 0, place: whole, moved: 0.0, split: None };
        let mut growing = Growing {
            scenario: self,
            feature,
            heterogeneity,
            options,
            floor,
            nodes: vec![root],
            leaves: vec![0],
        };
        for _ in 0..options.depth {
            if !growing.level().ok_or_else(unknown)? {
                break;
            }
        }
        Ok(growing.finish())
    }

    /// The scenario in a leaf of one of its trees: as [`Scenario::within`], but the background of
    /// Shapley values stays that of all rows.
    ///
    /// # Errors
    /// As [`Scenario::within`].
    pub fn leaf(&self, region: &Region) -> Result<Self, Error> {
        self.law_within(region)?;
        let cut = |engine: crate::engine::Engine, (feature, condition): &(usize, Condition)| {
            engine.restricted(*feature, condition)
        };
        let engine = region.conditions().iter().fold(self.parts.engine.clone(), cut);
        Ok(self.under(engine, region))
    }
}

struct Node {
    parent: Option<usize>,
    depth: usize,
    place: Place,
    /// Error that the positions that bound it add to its heterogeneity.
    moved: f64,
    split: Option<NodeSplit>,
}

impl Node {
    fn heterogeneity(&self) -> Truth {
        told(self.place.heterogeneity, self.moved)
    }
}

fn told(estimate: Estimate, moved: f64) -> Truth {
    let mut told = truth(estimate);
    told.abs_error += moved;
    told
}

/// Change of the values of either side over the doubt of a position.
fn moved(at: impl Fn(f64) -> Option<[f64; 2]>, position: f64, doubt: f64) -> [f64; 2] {
    let width = doubt.max(1e-6 * (1.0 + position.abs()));
    match (at(position - width), at(position + width)) {
        (Some(below), Some(above)) => [0, 1].map(|side| {
            let values = [below[side], above[side]];
            (values[1] - values[0]).abs() / (2.0 * width) * doubt
        }),
        _ => [f64::INFINITY; 2],
    }
}

struct Growing<'a> {
    scenario: &'a Scenario,
    feature: usize,
    heterogeneity: Heterogeneity<'a>,
    options: TreeOptions<'a>,
    /// Heterogeneity that is rounding of what there was.
    floor: f64,
    nodes: Vec<Node>,
    leaves: Vec<usize>,
}

impl Growing<'_> {
    /// Splits once more; false if nothing is worth it, none if values are not known.
    fn level(&mut self) -> Option<bool> {
        let leaves = std::mem::take(&mut self.leaves);
        let groups: Vec<Vec<usize>> = if self.options.cart {
            leaves.into_iter().map(|leaf| vec![leaf]).collect()
        } else {
            vec![leaves]
        };
        let mut any = false;
        for group in groups {
            match self.worthwhile(&group)? {
                None => self.leaves.extend(group),
                Some(best) => {
                    any = true;
                    group.into_iter().try_for_each(|node| self.divide(node, &best))?;
                }
            }
        }
        Some(any)
    }

    /// The best split of some nodes, if it is worth keeping.
    fn worthwhile(&self, group: &[usize]) -> Option<Option<Best>> {
        let total: f64 = group.iter().map(|&node| self.nodes[node].place.share).sum();
        let place = |&node: &usize| {
            let place = &self.nodes[node].place;
            (place, place.share / total)
        };
        let search = Search::new(
            self.scenario,
            self.feature,
            self.heterogeneity,
            group.iter().map(place).collect(),
            self.options.candidates,
        );
        let before = search.before().value;
        if before <= self.floor {
            return Some(None);
        }
        let enough = |best: &Best| 1.0 - best.weighted() / before >= self.options.drop;
        Some(search.best()?.filter(enough))
    }

    /// Puts both sides of a node below it, unless one is empty; none if values are not known.
    fn divide(&mut self, node: usize, best: &Best) -> Option<()> {
        let at = |position: f64| {
            let split = (best.feature(), position);
            self.nodes[node].place.sides(self.scenario, self.heterogeneity, self.feature, split)
        };
        let (position, doubt) = (best.position(), best.position_error());
        let Some(sides) = at(position) else {
            self.leaves.push(node);
            return Some(());
        };
        let values = |position| Some(at(position)?.map(|side| side.heterogeneity.value));
        let moved = if doubt > 0.0 { moved(values, position, doubt) } else { [0.0; 2] };
        let [left, right] = &sides;
        let parent = &self.nodes[node];
        let [left, right] = [(left, moved[0]), (right, moved[1])].map(|(side, moved)| {
            let told = told(side.heterogeneity, moved + parent.moved);
            (told, told.times(side.share / parent.place.share))
        });
        if !left.0.abs_error.is_finite() || !right.0.abs_error.is_finite() {
            return None;
        }
        let split = NodeSplit {
            feature: best.feature(),
            position,
            position_error: doubt,
            left: left.0,
            right: right.0,
            weighted: left.1.plus(right.1),
            ties: best.ties.clone(),
        };
        let (depth, inherited) = (parent.depth + 1, parent.moved);
        self.nodes[node].split = Some(split);
        for (place, moved) in sides.into_iter().zip(moved) {
            self.leaves.push(self.nodes.len());
            let parent = Some(node);
            let moved = moved + inherited;
            self.nodes.push(Node { parent, depth, place, moved, split: None });
        }
        Some(())
    }

    fn finish(self) -> RegionalTree {
        let node = |node: Node| RegionalNode {
            parent: node.parent,
            depth: node.depth,
            share: node.place.share,
            heterogeneity: node.heterogeneity(),
            region: node.place.region,
            split: node.split,
        };
        RegionalTree {
            feature: self.feature,
            heterogeneity: self.heterogeneity.name(),
            nodes: self.nodes.into_iter().map(node).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Along 10 p² and 3 − 2p the values move by their slopes times the doubt.
    #[test]
    fn values_move_by_slope_and_doubt() {
        let sides = |p: f64| Some([10.0 * p * p, 3.0 - 2.0 * p]);
        for (position, doubt) in [(-2.0, 0.125), (0.5, 1e-3), (3.0, 1e-9)] {
            let found = moved(sides, position, doubt);
            let known = [20.0 * f64::abs(position) * doubt, 2.0 * doubt];
            for (found, known) in found.iter().zip(known) {
                assert!((found / known - 1.0).abs() < 1e-8, "{position}: {found}, {known}");
            }
        }
        // No closer than values tell positions apart.
        let least =
            |p: f64| ((p - 3.0).abs() > 3.9e-6 && (p - 3.0).abs() < 4.1e-6).then_some([p; 2]);
        assert!(moved(least, 3.0, 1e-9).iter().all(|moved| moved.is_finite()));
        // Beside an end nothing is known.
        let inside = |p: f64| (p < 1.0).then_some([p; 2]);
        assert_eq!(moved(inside, 1.0, 0.1), [f64::INFINITY; 2]);
        let estimate = Estimate { value: 2.0, magnitude: 2.0, error: 0.25, simulated: false };
        assert_eq!(told(estimate, 0.5).abs_error - told(estimate, 0.0).abs_error, 0.5);
    }
}
