//! `fe-bench effect --estimator regional-…`.

use std::io::Write;

use clap::Args;
use fe_core::regional::{self, Node, RegionalEffect};
use fe_core::settings::Splitting;
use fe_core::{Dataset, Kind, Settings};
use fe_truth::Scenario;
use serde_json::{Value, json};

use super::arguments::{feature_name, finite};
use super::effect::{Arguments, Evaluated, settings, word};
use crate::error::{Error, Result};
use crate::plot::effects;
use crate::sheet::{Entry, Format, Sheet};
use crate::study;

/// What only regional estimators take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Regions")]
pub(super) struct RegionalArguments {
    /// Most levels of the tree [default: 2]
    #[arg(long, value_name = "L")]
    depth: Option<usize>,
    /// Positions at which a numeric feature may be split [default: 19]
    #[arg(long, value_name = "P")]
    candidates: Option<usize>,
    /// Least relative drop of heterogeneity for which a split is kept [default: 0.05]
    #[arg(long, value_name = "E", value_parser = finite)]
    drop: Option<f64>,
    /// Least number of instances in a region [default: 10]
    #[arg(long, value_name = "M", value_parser = finite)]
    leaf: Option<f64>,
    /// levelwise (one rule for all regions of a level) or cart (each its own) [default: levelwise]
    #[arg(long, value_name = "HOW", value_parser = word::<Splitting>)]
    partition: Option<Splitting>,
    /// The heterogeneity value that regions lower [default: integral; mean_grid for pdp and dpdp]
    #[arg(long, value_name = "NAME")]
    heterogeneity: Option<String>,
}

impl RegionalArguments {
    pub(super) fn settings(&self) -> Settings {
        Settings {
            depth: self.depth,
            candidates: self.candidates,
            drop: self.drop,
            leaf: self.leaf,
            partition: self.partition,
            heterogeneity: self.heterogeneity.clone(),
            ..Settings::default()
        }
    }
}

/// Whether a name is that of a regional estimator, or was meant to be.
pub(super) fn is_regional(estimator: &str) -> bool {
    estimator.starts_with("regional")
}

/// The kind of each feature, from entries such as `x3=nominal`.
pub(super) fn kinds(scenario: &Scenario, entries: &[String]) -> Result<Vec<Kind>> {
    let mut kinds = vec![Kind::default(); scenario.dimension()];
    for entry in entries {
        let wrong = |message: String| Error::Argument(format!("--kind {entry}: {message}"));
        let Some((feature, kind)) = entry.split_once('=') else {
            return Err(wrong("must be S=KIND, such as x3=nominal".to_owned()));
        };
        let kind = word(kind.trim()).map_err(wrong)?;
        for feature in study::features(scenario, &[feature.trim().to_owned()]).map_err(wrong)? {
            kinds[feature] = kind;
        }
    }
    Ok(kinds)
}

pub(super) fn execute(
    arguments: &Arguments,
    scenario: &Scenario,
    features: &[usize],
    data: &Dataset,
    out: &mut dyn Write,
) -> Result<()> {
    let mut fitted = Vec::new();
    for &feature in features {
        let settings = settings(arguments, scenario, feature)?;
        let regional = regional::from_settings(&arguments.estimator, &settings)?;
        fitted.extend(regional.fit(data, scenario.model(), feature)?);
    }
    if let Some(path) = &arguments.plot {
        effects::regional(scenario, data, &fitted).write(path)?;
    }
    match arguments.format {
        Format::Table => {
            let texts: Vec<String> = fitted.iter().map(ToString::to_string).collect();
            write!(out, "{}", texts.join("\n")).map_err(Error::Output)
        }
        Format::Json => {
            let objects: Vec<Value> = fitted
                .iter()
                .map(|effect| to_json(effect, arguments, scenario))
                .collect::<Result<_>>()?;
            let text = serde_json::to_string_pretty(&objects).unwrap_or_default();
            writeln!(out, "{text}").map_err(Error::Output)
        }
        Format::Csv => sheet(&fitted, arguments)?.write(Format::Csv, out),
    }
}

fn to_json(effect: &RegionalEffect, arguments: &Arguments, scenario: &Scenario) -> Result<Value> {
    let nodes: Vec<Value> = effect
        .tree
        .nodes()
        .iter()
        .map(|node| node_json(node, arguments, scenario))
        .collect::<Result<_>>()?;
    Ok(json!({
        "scenario": scenario.id(),
        "parameters": scenario.parameters(),
        "feature": feature_name(effect.feature),
        "name": effect.name,
        "output": effect.output + 1,
        "estimator": effect.estimator,
        "heterogeneity": effect.heterogeneity,
        "nodes": nodes,
        "levels": effect.tree.levels(),
        "record": effect.record,
    }))
}

/// A node; parents are counted from 0, as positions among the nodes.
fn node_json(node: &Node, arguments: &Arguments, scenario: &Scenario) -> Result<Value> {
    let evaluate = |effect: &fe_core::Effect| {
        Evaluated::new(effect.clone(), arguments).map(|effect| effect.json(scenario))
    };
    let rule = node.rule.as_ref().map(|rule| {
        json!({ "feature": feature_name(rule.feature), "name": rule.name, "kind": rule.kind })
    });
    Ok(json!({
        "rule": rule,
        "parent": node.parent,
        "depth": node.depth,
        "rows": node.rows,
        "weight": node.weight,
        "share": node.share,
        "heterogeneity": node.heterogeneity,
        "effect": node.effect.as_ref().map(evaluate).transpose()?,
    }))
}

/// The effects of the leaves, with their rules in words.
fn sheet(fitted: &[RegionalEffect], arguments: &Arguments) -> Result<Sheet> {
    let mut sheet = Sheet::new(&["feature", "output", "region", "x", "effect", "heterogeneity"]);
    for regional in fitted {
        for (index, node) in regional.tree.nodes().iter().enumerate() {
            let Some(effect) = &node.effect else { continue };
            let region = effects::region(regional, index, &ToString::to_string);
            let at = Evaluated::new(effect.clone(), arguments)?;
            for ((&x, &y), &h) in at.x.iter().zip(&at.y).zip(&at.heterogeneity) {
                let row: Vec<Entry> = vec![
                    feature_name(at.effect.feature).into(),
                    (at.effect.output + 1).into(),
                    region.as_str().into(),
                    x.into(),
                    y.into(),
                    h.into(),
                ];
                sheet.push(row);
            }
        }
    }
    Ok(sheet)
}
