//! Scores of trees of regions against those of the population, and what is kept of them.

use fe_core::regional::{Node, RegionalEffect};

use super::context::Task;
use crate::error::caught;
use crate::record::encode::Encoder;
use crate::record::{Cell, LeafPoint, TreeNode};
use crate::score::comparison::Comparison;
use crate::score::metric::ScoringTree;
use crate::score::regions::{FoundTree, region_of};
use crate::score::{Compared, Comparing, Score};
use crate::study::file::Keep;
use crate::study::key::Key;

/// Scores a tree under a key.
pub(super) fn record(
    task: &Task<'_>,
    key: &Key<&str>,
    effect: &RegionalEffect,
    comparing: Comparing<'_>,
    records: &mut Encoder,
) -> csv::Result<()> {
    let group = task.planned.group;
    let found = caught(|| FoundTree::of(effect));
    let model_rows = Some(effect.record.model_rows + effect.record.jacobian_rows);
    for &metric in &group.metrics {
        let score = found.as_ref().map_err(Clone::clone).and_then(|tree| {
            let (truths, scenario) = (&*group.regions, &*group.scenario);
            let of = ScoringTree { truths, scenario, tree, comparing };
            caught(|| Ok(metric.of_tree(&of)))
        });
        let score = score.unwrap_or_else(Score::failed);
        records.cell(key, effect.output, metric.name(), &Cell { score, model_rows })?;
    }
    if group.keep.contains(&Keep::Trees) {
        keep(task, key, effect, found.as_ref().ok(), comparing, records)?;
    }
    Ok(())
}

/// Keeps the nodes and, of leaves, the curves beside their truths.
fn keep(
    task: &Task<'_>,
    key: &Key<&str>,
    effect: &RegionalEffect,
    found: Option<&FoundTree>,
    comparing: Comparing<'_>,
    records: &mut Encoder,
) -> csv::Result<()> {
    let group = task.planned.group;
    let nodes = effect.tree.nodes();
    let leaves: Vec<usize> = effect.tree.leaf_positions().collect();
    for (number, node) in nodes.iter().enumerate() {
        let truth = found.and_then(|found| {
            let of = || group.regions.region(&group.scenario, found, &region_of(nodes, number));
            caught(of).ok()
        });
        let rule = node.rule.as_ref();
        let row = TreeNode {
            number,
            parent: node.parent,
            depth: node.depth,
            rule: rule.map(|rule| (group.scenario.feature_name(rule.feature), rule.kind.clone())),
            is_leaf: leaves.contains(&number),
            rows: node.rows,
            share: node.share,
            heterogeneity: node.heterogeneity,
            truth,
        };
        records.node(key, effect.output, &row)?;
        if let Some(place) = leaves.iter().position(|leaf| *leaf == number) {
            let leaf = found.and_then(|found| Some((found, found.leaves.get(place)?)));
            let truths = leaf.and_then(|(found, leaf)| {
                let Comparing { points, comparison, .. } = comparing;
                let of = || group.regions.curve(&group.scenario, found, leaf, points, comparison);
                caught(of).ok()
            });
            for point in points(number, node, truths.as_deref(), comparing) {
                records.leaf(key, effect.output, &point)?;
            }
        }
    }
    Ok(())
}

/// The points of a leaf's curve and of its truth, centred as they are compared.
fn points(
    number: usize,
    node: &Node,
    truths: Option<&[fe_truth::Truth]>,
    comparing: Comparing<'_>,
) -> Vec<LeafPoint> {
    let Comparing { points, comparison, .. } = comparing;
    let Some(effect) = &node.effect else { return Vec::new() };
    let Ok(own) = effect.curve.at_all(points) else { return Vec::new() };
    let both = truths.map(|truths| Compared::new(&own, truths, comparison));
    let own = match (&both, comparison) {
        (None, Comparison::Centred) => fe_core::metric::centred_on_grid(&own),
        _ => both.as_ref().map_or(own, |both| both.estimate.clone()),
    };
    let point = |(i, &x): (usize, &f64)| LeafPoint {
        node: number,
        x,
        effect: own[i],
        heterogeneity: effect.heterogeneity.at(x).ok(),
        truth: both.as_ref().map(|both| both.truth[i]),
        truth_abs_error: truths.map(|truths| truths[i].abs_error),
    };
    points.iter().enumerate().map(point).collect()
}
