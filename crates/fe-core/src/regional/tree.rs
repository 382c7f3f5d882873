//! Trees of regions.

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::numeric::parallel::{of_each, of_places};
use crate::numeric::quantiles::deciles;
use crate::settings::Splitting;

use super::Options;
use super::criterion::Criterion;
use super::rule::Rule;
use super::split::{Region, Split, Splitter, mean_heterogeneity};

/// A region: the instances that obey its rule and those of its ancestors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Node {
    /// The rule that sets it apart within its parent; none for the whole data.
    pub rule: Option<Rule>,
    /// The parent's position in [`Tree::nodes`]; none for the whole data.
    pub parent: Option<usize>,
    /// Number of rules from the whole data down to here.
    pub depth: usize,
    /// Number of instances: rows with positive weight and, for estimators with bins, on the axis.
    pub rows: usize,
    /// Their weight.
    pub weight: f64,
    /// Their share of the weight of the whole data.
    pub share: f64,
    /// The named heterogeneity value; none where it is undefined.
    pub heterogeneity: Option<f64>,
    /// The effect of its instances; of inner nodes only if that was asked for.
    pub effect: Option<Effect>,
    /// The weighted type-7 quantiles 0, 0.1, …, 1 of the feature among its instances, where it has an effect.
    pub deciles: Option<[f64; 11]>,
}

/// The regions after so many rounds of splitting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Number of regions.
    pub regions: usize,
    /// Mean of their heterogeneity, weighted by their instances; none where it is undefined.
    pub heterogeneity: Option<f64>,
    /// By which share it is lower than on the level before; none for the whole data.
    pub drop: Option<f64>,
}

/// Regions and the rules that make them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tree {
    nodes: Vec<Node>,
    levels: Vec<Level>,
}

impl Tree {
    /// All nodes, the whole data first, parents before children.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The levels, from the whole data on.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Positions of the children of a node in [`Tree::nodes`].
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(move |&other| self.nodes[other].parent == Some(node))
    }

    /// The nodes that are not split.
    pub fn leaves(&self) -> impl Iterator<Item = &Node> {
        self.leaf_positions().map(|leaf| &self.nodes[leaf])
    }

    /// Positions in [`Tree::nodes`] of the nodes that are not split.
    pub fn leaf_positions(&self) -> impl Iterator<Item = usize> {
        let mut is_leaf = vec![true; self.nodes.len()];
        for parent in self.nodes.iter().filter_map(|node| node.parent) {
            is_leaf[parent] = false;
        }
        is_leaf.into_iter().enumerate().filter_map(|(node, is_leaf)| is_leaf.then_some(node))
    }

    /// The leaf that a row of D features belongs to, as a position in [`Tree::nodes`].
    ///
    /// # Errors
    /// [`Error::WrongCount`] if the row lacks a feature that the tree asks for.
    pub fn leaf_of(&self, row: &[f64]) -> Result<usize> {
        let mut node = 0;
        loop {
            let mut next = None;
            for child in self.children(node) {
                let Some(rule) = &self.nodes[child].rule else { continue };
                let Some(&x) = row.get(rule.feature) else {
                    return Err(Error::WrongCount {
                        what: "features of a row (at least)",
                        expected: rule.feature + 1,
                        got: row.len(),
                    });
                };
                if rule.kind.holds(x) {
                    next = Some(child);
                    break;
                }
            }
            match next {
                Some(child) => node = child,
                None => return Ok(node),
            }
        }
    }
}

/// Splits level by level until nothing is gained.
pub(super) fn grow<L: Criterion>(
    splitter: &Splitter<'_, L>,
    data: &Dataset,
    options: Options,
    inner_effects: bool,
) -> Result<Tree> {
    let whole = splitter.region(data, splitter.local.rows().to_vec())?;
    let mut growing = Growing {
        splitter,
        data,
        options,
        leaves: vec![0],
        nodes: vec![(None, None, whole)],
        levels: Vec::new(),
    };
    growing.note_level();
    for _ in 0..options.depth {
        let split = match options.partition {
            Splitting::LevelWise => growing.split_level()?,
            Splitting::Cart => growing.split_each()?,
        };
        if !split {
            break;
        }
        growing.note_level();
    }
    growing.finish(inner_effects)
}

struct Growing<'a, L> {
    splitter: &'a Splitter<'a, L>,
    data: &'a Dataset,
    options: Options,
    /// Rule, parent and region of each node.
    nodes: Vec<(Option<Rule>, Option<usize>, Region)>,
    /// Nodes that are not split.
    leaves: Vec<usize>,
    levels: Vec<Level>,
}

impl<L: Criterion> Growing<'_, L> {
    fn regions<'b>(&'b self, nodes: &[usize]) -> Vec<&'b Region> {
        nodes.iter().map(|&node| &self.nodes[node].2).collect()
    }

    fn note_level(&mut self) {
        let heterogeneity = mean_heterogeneity(&self.regions(&self.leaves));
        let before = self.levels.last().and_then(|level| level.heterogeneity);
        let drop = before.zip(heterogeneity).map(|(before, after)| relative_drop(before, after));
        self.levels.push(Level { regions: self.leaves.len(), heterogeneity, drop });
    }

    /// A split of these nodes by one rule, if it is worth keeping.
    fn worthwhile(&self, nodes: &[usize]) -> Result<Option<Split>> {
        let regions = self.regions(nodes);
        let Some(before) = mean_heterogeneity(&regions) else { return Ok(None) };
        // Differences that rounding alone could cause are no reason to split.
        if before <= self.splitter.local.floor() {
            return Ok(None);
        }
        let best = self.splitter.best(self.data, &regions)?;
        Ok(best.filter(|split| {
            split.heterogeneity < before
                && relative_drop(before, split.heterogeneity) >= self.options.drop
        }))
    }

    /// One rule for all leaves.
    fn split_level(&mut self) -> Result<bool> {
        let nodes = self.leaves.clone();
        let Some(split) = self.worthwhile(&nodes)? else { return Ok(false) };
        self.leaves.clear();
        let divided: Vec<Option<[Region; 2]>> = of_each(&nodes, &|&node| self.divide(node, split))
            .into_iter()
            .collect::<Result<_>>()?;
        for (node, regions) in nodes.into_iter().zip(divided) {
            self.put(node, split, regions);
        }
        Ok(true)
    }

    /// To each leaf a rule of its own.
    fn split_each(&mut self) -> Result<bool> {
        let mut any = false;
        for node in std::mem::take(&mut self.leaves) {
            match self.worthwhile(&[node])? {
                Some(split) => {
                    let regions = self.divide(node, split)?;
                    self.put(node, split, regions);
                    any = true;
                }
                None => self.leaves.push(node),
            }
        }
        Ok(any)
    }

    /// Both sides of a node; none where one has all its instances.
    fn divide(&self, node: usize, split: Split) -> Result<Option<[Region; 2]>> {
        let candidates = &self.splitter.candidates[split.candidates];
        let [left, right] = candidates.divide(split.candidate, &self.nodes[node].2.rows);
        if left.is_empty() || right.is_empty() {
            return Ok(None);
        }
        let region = |rows| self.splitter.region(self.data, rows);
        let (left, right) = rayon::join(|| region(left), || region(right));
        Ok(Some([left?, right?]))
    }

    /// Puts the sides of a node below it; without any it stays a leaf.
    fn put(&mut self, node: usize, split: Split, regions: Option<[Region; 2]>) {
        let Some(regions) = regions else { return self.leaves.push(node) };
        let candidates = &self.splitter.candidates[split.candidates];
        for (region, kind) in regions.into_iter().zip(candidates.rules(split.candidate)) {
            let feature = candidates.feature;
            let levels = self.data.level_names(feature).filter(|_| candidates.nominal);
            let level = levels.map(|levels| {
                kind.listed(|x| levels.name(x).map_or_else(|| x.to_string(), str::to_owned))
            });
            let rule = Rule { feature, name: self.data.names()[feature].clone(), kind, level };
            self.leaves.push(self.nodes.len());
            self.nodes.push((Some(rule), Some(node), region));
        }
    }

    fn finish(self, inner_effects: bool) -> Result<Tree> {
        let total = self.nodes[0].2.weight;
        let of_region = |index: usize| {
            let (_, _, region) = &self.nodes[index];
            let work = || {
                let effect = self.splitter.local.effect(&region.rows)?;
                let deciles = self.deciles(effect.feature, &region.rows);
                Ok((effect, deciles))
            };
            (inner_effects || self.leaves.contains(&index)).then(work).transpose()
        };
        let effects: Vec<Option<(Effect, [f64; 11])>> =
            of_places(self.nodes.len(), &of_region).into_iter().collect::<Result<_>>()?;
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len());
        for ((rule, parent, region), own) in self.nodes.iter().zip(effects) {
            let (effect, deciles) = own.unzip();
            nodes.push(Node {
                rule: rule.clone(),
                parent: *parent,
                depth: parent.map_or(0, |parent| nodes[parent].depth + 1),
                rows: region.rows.len(),
                weight: region.weight,
                share: region.weight / total,
                heterogeneity: region.heterogeneity,
                deciles,
                effect,
            });
        }
        Ok(Tree { nodes, levels: self.levels })
    }

    fn deciles(&self, feature: usize, rows: &[usize]) -> [f64; 11] {
        let select = |all: &[f64]| rows.iter().map(|&row| all[row]).collect::<Vec<f64>>();
        let weights = self.data.weights().map(select);
        deciles(&select(self.data.feature(feature)), weights.as_deref())
    }
}

/// 1 − after/before; 0 where there was nothing to lower.
fn relative_drop(before: f64, after: f64) -> f64 {
    if before > 0.0 { 1.0 - after / before } else { 0.0 }
}
