//! `fe-bench truth --regional`.

use std::io::Write;

use fe_core::Axis;
use fe_core::settings::Splitting;
use fe_truth::{
    Centring, Quantity, Regional, RegionalNode, RegionalTree, RegionalTruth, Scenario, TreeOptions,
};
use rayon::prelude::*;

use super::{Arguments, entries};
use crate::cli::event::words;
use crate::error::{Error, Result};
use crate::output::{Entry, OutputTable};
use crate::system::say::say;

pub(super) fn execute(
    arguments: &Arguments,
    scenario: &Scenario,
    method: Regional,
    out: &mut dyn Write,
) -> Result<()> {
    let of_curves = [
        ("--at", !arguments.at.is_empty()),
        ("--grid", arguments.grid.is_some()),
        ("--center", arguments.center.is_some_and(|center| center != Centring::None)),
    ];
    if let Some((flag, _)) = of_curves.iter().find(|(_, given)| *given && !arguments.leaves) {
        return Err(Error::Argument(format!("{flag}: with --regional only beside --leaves")));
    }
    if arguments.bins.is_some() && method != Regional::Ale {
        let message = "--bins: with --regional only for ale, whose differences depend on bins";
        return Err(Error::Argument(message.to_owned()));
    }
    if let Some(form) = form(arguments, method) {
        let about = match form {
            DERIVATIVE => "the derivative, in which jumps do not count (--bins: of differences)",
            _ => "finite differences over the bins, jumps included",
        };
        say!("heterogeneity of {about}");
    }
    let sheet = match arguments.depth {
        None => splits(arguments, scenario, method)?,
        Some(depth) => {
            let options = TreeOptions {
                depth,
                candidates: arguments.candidates,
                drop: arguments.drop.unwrap_or(TreeOptions::default().drop),
                cart: arguments.partition == Some(Splitting::Cart),
                limits: None,
            };
            trees(arguments, scenario, method, options)?
        }
    };
    sheet.write(arguments.format, out)
}

const DERIVATIVE: &str = "derivative";

/// The variance that a heterogeneity of accumulated effects is of, for ale.
fn form(arguments: &Arguments, method: Regional) -> Option<&'static str> {
    let form = if arguments.bins.is_some() { "differences" } else { DERIVATIVE };
    (method == Regional::Ale).then_some(form)
}

/// The best split of one feature's effect.
fn splits(arguments: &Arguments, scenario: &Scenario, method: Regional) -> Result<OutputTable> {
    let feature = arguments.features.single(scenario, "--regional")?;
    let columns =
        ["heterogeneity", "split_feature", "position", "before", "left", "right", "weighted"];
    let mut sheet = OutputTable::new(&columns);
    let optima: Vec<RegionalTruth> = match arguments.limits(scenario, feature)? {
        Some(limits) => vec![scenario.regional_differences(feature, &limits)?],
        None => scenario.regional(method, feature)?,
    };
    for optimum in optima {
        let split = optimum.split;
        let number = |value: Option<f64>| Entry::from(value);
        let row = vec![
            optimum.heterogeneity.into(),
            split.map_or(Entry::Missing, |split| scenario.feature_name(split.feature).into()),
            split.map_or(Entry::Missing, |split| place(scenario, split.feature, split.position)),
            optimum.before.value.into(),
            number(split.map(|split| split.left.value)),
            number(split.map(|split| split.right.value)),
            optimum.weighted().value.into(),
        ];
        sheet.push(row);
        if optimum.ties > 0 {
            let (ties, name) = (optimum.ties, optimum.heterogeneity);
            say!("{name}: {ties} more splits are as good; --depth 1 names them");
        }
    }
    Ok(sheet)
}

/// The population's tree of each feature: its splits, or the curves in its leaves.
fn trees(
    arguments: &Arguments,
    scenario: &Scenario,
    method: Regional,
    options: TreeOptions<'_>,
) -> Result<OutputTable> {
    let form = form(arguments, method);
    let mut columns = if arguments.leaves {
        vec!["scenario", "feature", "effect", "node", "region", "share", "heterogeneity"]
    } else {
        vec!["feature", "heterogeneity", "depth", "node", "region", "share", "split_feature"]
    };
    columns.extend(if arguments.leaves {
        &["x", "value", "abs_error", "method"][..]
    } else {
        &["position", "before", "left", "right", "weighted", "ties"][..]
    });
    columns.extend(form.map(|_| "form"));
    let mut sheet = OutputTable::new(&columns);
    let of_feature = |feature: usize| {
        let limits = arguments.limits(scenario, feature)?;
        let options = TreeOptions { limits: limits.as_deref(), ..options };
        let tree = scenario.tree(method, feature, options)?;
        if arguments.leaves {
            return leaves(arguments, scenario, method, &tree);
        }
        Ok(split_rows(scenario, &tree))
    };
    let features = arguments.features.of(scenario)?;
    let found: Vec<_> = features.par_iter().map(|&feature| of_feature(feature)).collect();
    let none_is_known = found.iter().all(Result::is_err);
    for (feature, rows) in features.into_iter().zip(found) {
        let rows = match rows {
            Err(error @ Error::Truth(_)) if !none_is_known => {
                // The answers of the others hold.
                say!("{error}");
                vec![refused(scenario, feature, &columns)]
            }
            rows => rows?,
        };
        for mut row in rows {
            row.extend(form.map(Entry::from));
            sheet.push(row);
        }
    }
    Ok(sheet)
}

/// The row of a feature whose tree is not known.
fn refused(scenario: &Scenario, feature: usize, columns: &[&str]) -> Vec<Entry> {
    let said_by = if columns.contains(&"method") { "method" } else { "heterogeneity" };
    let entry = |column: &&str| match *column {
        "scenario" => scenario.id().into(),
        "feature" => scenario.feature_name(feature).into(),
        column if column == said_by => "refused".into(),
        _ => Entry::Missing,
    };
    columns.iter().filter(|column| **column != "form").map(entry).collect()
}

/// A row for each node that is split; where none is, one for all rows.
fn split_rows(scenario: &Scenario, tree: &RegionalTree) -> Vec<Vec<Entry>> {
    let whole = tree.nodes.len() == 1;
    let nodes = tree.nodes.iter().enumerate();
    let split = nodes.filter(|(_, node)| whole || node.split.is_some());
    split.map(|(index, node)| split_row(scenario, tree, index, node)).collect()
}

fn split_row(
    scenario: &Scenario,
    tree: &RegionalTree,
    index: usize,
    node: &RegionalNode,
) -> Vec<Entry> {
    let mut row: Vec<Entry> = vec![
        scenario.feature_name(tree.feature).into(),
        tree.heterogeneity.into(),
        node.depth.into(),
        index.into(),
        words(&node.region, scenario).into(),
        node.share.into(),
    ];
    let before = node.heterogeneity.value;
    let Some(split) = &node.split else {
        row.extend([Entry::Missing, Entry::Missing, before.into(), Entry::Missing]);
        row.extend([Entry::Missing, before.into(), Entry::Missing]);
        return row;
    };
    let tie = |(feature, position): &(usize, f64)| {
        let position = match scenario.is_nominal(*feature) {
            true => scenario.level_name(*feature, *position),
            false => crate::output::exact(*position),
        };
        format!("{} at {position}", scenario.feature_name(*feature))
    };
    let ties: Vec<String> = split.ties.iter().map(tie).collect();
    row.push(scenario.feature_name(split.feature).into());
    row.push(place(scenario, split.feature, split.position));
    row.extend([before, split.left.value, split.right.value].map(Entry::from));
    row.push(split.weighted.value.into());
    row.push(if ties.is_empty() { Entry::Missing } else { ties.join("; ").into() });
    row
}

/// The position of a split, or the name of the level whose rows are left.
fn place(scenario: &Scenario, feature: usize, position: f64) -> Entry {
    match scenario.is_nominal(feature) {
        true => scenario.level_name(feature, position).into(),
        false => position.into(),
    }
}

/// The curves in the leaves of a tree, each in its region.
fn leaves(
    arguments: &Arguments,
    scenario: &Scenario,
    method: Regional,
    tree: &RegionalTree,
) -> Result<Vec<Vec<Entry>>> {
    let effect = match method {
        Regional::Pdp => Quantity::Pd,
        Regional::Dpdp => Quantity::Dpd,
        Regional::Ale => Quantity::Ale,
        Regional::Rhale => Quantity::AleDerivative,
        Regional::Shapdp => Quantity::Shap,
    };
    let (lo, hi) = scenario.axis(tree.feature);
    let points = if let Some(levels) = scenario.levels(tree.feature) {
        levels.into_iter().map(|level| level.value).collect()
    } else if arguments.at.is_empty() {
        Axis::new(lo, hi)?.grid(arguments.points())
    } else {
        arguments.places()
    };
    let mut rows = Vec::new();
    for (index, leaf) in tree.leaves() {
        let there = scenario.leaf(&leaf.region)?;
        let curve = there.curve(effect, tree.feature, &points, (lo, hi), arguments.centring())?;
        for (x, value) in points.iter().zip(curve) {
            let mut row: Vec<Entry> = vec![
                scenario.id().into(),
                scenario.feature_name(tree.feature).into(),
                effect.name().into(),
                index.into(),
                words(&leaf.region, scenario).into(),
                leaf.share.into(),
                leaf.heterogeneity.value.into(),
                (*x).into(),
            ];
            row.extend(entries(value));
            rows.push(row);
        }
    }
    Ok(rows)
}
