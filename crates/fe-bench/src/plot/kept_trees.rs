//! Figures of the trees of regions that a study keeps: the tree of one dataset, and the curve in each leaf beside the
//! truth in that region.

use super::effects::{ESTIMATE, Outlined, SPREAD, TRUTH, beside, corners, outline, rounded};
use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::levels::{self, LevelsOfKey};
use super::sweep::{FIGURE, Named, PANEL, distinct, fields, file_name, pieces, variants};
use crate::data::scenarios;
use crate::record::Column;
use crate::record::kept_curves::{KeptEstimate, KeptNode, KeptPoint};
use crate::record::manifest::Manifest;
use crate::study::labels::Labels;

/// Name of these figures in files and flags.
pub const NAME: &str = "tree";

/// The words of the conditions of rules, and their signs.
const SIGNS: [(&str, &str); 6] = [
    ("at-most", "≤"),
    ("above", ">"),
    ("is", "="),
    ("is-not", "≠"),
    ("among", "∈"),
    ("not-among", "∉"),
];

/// A figure for each tree among what was kept, of its first dataset.
#[must_use]
pub fn figures(kept: &[KeptEstimate], labels: &Labels, manifest: &Manifest) -> Vec<Named> {
    let labels = &labels.for_figures();
    let texts = scenarios::recorded(manifest.studies.iter().map(|named| &named.study.problems));
    let of_values = |column: &Column| *column != Column::Metric;
    let columns: Vec<Column> =
        FIGURE.into_iter().filter(of_values).chain(PANEL).chain(variants()).collect();
    let words = |one: &KeptEstimate| -> Vec<String> {
        one.key.fields(columns.iter().copied()).map(str::to_owned).collect()
    };
    let mut first: Vec<(Vec<String>, &KeptEstimate)> = Vec::new();
    for one in kept.iter().filter(|one| !one.nodes.is_empty()) {
        let key = words(one);
        if !first.iter().any(|(known, _)| *known == key) {
            first.push((key, one));
        }
    }
    let all: Vec<&Vec<String>> = first.iter().map(|(key, _)| key).collect();
    let named = first.iter().map(|(key, one)| Named {
        name: file_name(NAME, &columns, key, &all),
        study: one.key.study.clone(),
        figure: figure(one, labels, levels::of_key(&one.key, &texts).as_ref()),
    });
    distinct(named.collect())
}

fn figure(one: &KeptEstimate, labels: &Labels, levels: Option<&LevelsOfKey>) -> Figure {
    let key = &one.key;
    let details = pieces(&fields(&PANEL), &PANEL.map(|column| key[column].clone()), labels);
    let title = format!(
        "{}, {}: {}",
        labels.of_scenario(&key.scenario),
        labels.of_own(&key.feature),
        labels.of(&key.estimator)
    );
    let details = if details.is_empty() { details } else { format!("{details}, ") };
    let title = format!("{title}, {details}dataset {}", one.replicate());
    let heterogeneities = one.nodes.iter().flat_map(|n| [n.heterogeneity, n.true_heterogeneity]);
    let largest = heterogeneities.fold(0.0_f64, f64::max);
    let line = |node: &KeptNode| Outlined {
        parent: node.parent,
        depth: node.depth,
        words: format!(
            "{}: {} instances, H = {} (true {})",
            rule(node).unwrap_or_else(|| "all data".to_owned()),
            node.rows,
            beside(Some(node.heterogeneity), largest),
            beside(Some(node.true_heterogeneity), largest)
        ),
    };
    let lines: Vec<Outlined> = one.nodes.iter().map(line).collect();
    let mut cells = vec![vec![outline("regions and their heterogeneity H".to_owned(), &lines)]];
    let mut leaves: Vec<Panel> =
        (0..one.nodes.len()).filter_map(|node| leaf(one, node, levels)).collect();
    let hold = corners(leaves.iter().flat_map(Panel::extent));
    let feature = labels.of_own(&key.feature);
    for panel in &mut leaves {
        panel.hold.clone_from(&hold);
        panel.x.label = feature.to_owned();
    }
    cells.extend(leaves.into_iter().map(|panel| vec![panel]));
    Figure { title, cells, legend_per_cell: false }
}

/// The curve of a leaf beside its truth; none of a node that is split.
fn leaf(one: &KeptEstimate, node: usize, levels: Option<&LevelsOfKey>) -> Option<Panel> {
    let own = one.leaves.iter().filter(|(of, _)| *of == node);
    let curve: Vec<KeptPoint> = own.map(|(_, point)| *point).collect();
    let first = curve.first()?;
    let (title, label) = (
        format!("{} ({} instances)", in_words(&one.nodes, node), one.nodes[node].rows),
        "effect on f, as compared",
    );
    // The spread of slopes is no distance from a curve.
    let spread = (!one.key.estimator.ends_with("ale")).then_some("± σ of the instances");
    if let Some(levels) = levels {
        return Some(Panel {
            title,
            x: levels::axis(&one.key.feature, levels),
            y: Scale::linear(label),
            ..levels::kept_panel(levels, &curve, &[], spread)
        });
    }
    let line = |of: fn(&KeptPoint) -> f64| {
        Mark::Line(curve.iter().map(|point| (point.x, of(point))).collect())
    };
    let band = curve.iter().map(|point| {
        let half = point.heterogeneity.sqrt();
        (point.x, point.effect - half, point.effect + half)
    });
    let mut layers = Vec::new();
    if let Some(name) = spread {
        layers.push(Layer::named(name, SPREAD, Mark::Band(band.collect())));
    }
    layers.push(Layer::named("estimate", ESTIMATE, line(|point| point.effect)));
    if first.truth.is_finite() {
        layers.push(Layer::named("truth in the region", TRUTH, line(|point| point.truth)));
    }
    Some(Panel {
        title,
        x: Scale::linear(one.key.feature.as_str()),
        y: Scale::linear(label),
        layers,
        ..Panel::default()
    })
}

/// All rules from all rows down to a node.
fn in_words(nodes: &[KeptNode], node: usize) -> String {
    let (mut rules, mut at) = (Vec::new(), Some(node));
    while let Some(node) = at.and_then(|at| nodes.get(at)) {
        rules.extend(rule(node));
        at = node.parent;
    }
    rules.reverse();
    if rules.is_empty() { "all data".to_owned() } else { rules.join(" and ") }
}

fn rule(node: &KeptNode) -> Option<String> {
    let (feature, word, values) = node.rule.as_ref()?;
    let sign =
        SIGNS.iter().find(|(known, _)| known == word).map_or(word.as_str(), |(_, sign)| sign);
    let listed = values.iter().map(|x| rounded(*x)).collect::<Vec<_>>().join(", ");
    Some(match word.ends_with("among") {
        true => format!("{feature} {sign} {{{listed}}}"),
        false => format!("{feature} {sign} {listed}"),
    })
}
