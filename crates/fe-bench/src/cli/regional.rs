//! `fe-bench effect --estimator regional-…`.

use std::io::Write;

use clap::Args;
use fe_core::Settings;
use fe_core::estimator::each_feature;
use fe_core::regional::{self, Node, RegionalEffect};
use fe_core::settings::Splitting;
use serde_json::{Value, json};

use super::arguments::finite;
use super::estimation::{
    EstimationArguments, Evaluated, Subject, say_cautions, settings, word, write_objects,
};
use crate::error::{Error, Result};
use crate::plot::effects;
use crate::sheet::{Entry, Format, Sheet};

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
    /// The heterogeneity value that regions lower [default: integral; mean_grid for pdp and dpdp,
    /// mean_residual for shapdp]
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

pub(super) fn execute(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let background_rows = arguments.background_of_file(subject.data)?;
    let fit = |&feature: &usize| {
        let settings = settings(arguments, subject.scenario, feature)?;
        let settings = Settings { background_rows: background_rows.clone(), ..settings };
        let regional = regional::from_settings(&arguments.estimator, &settings)?;
        regional.fit(subject.data, subject.model, feature).map_err(Error::from)
    };
    let fitted: Vec<RegionalEffect> =
        each_feature(subject.features, fit)?.into_iter().flatten().collect();
    let leaves = fitted.iter().flat_map(|regional| regional.tree.leaves());
    say_cautions(leaves.filter_map(|leaf| leaf.effect.as_ref()));
    if let Some(path) = subject.picture {
        effects::regional(&subject.pictured(), &fitted).write(path)?;
    }
    match arguments.format {
        Format::Table => {
            let texts: Vec<String> = fitted.iter().map(ToString::to_string).collect();
            write!(out, "{}", texts.join("\n")).map_err(Error::Output)
        }
        Format::Json => {
            let objects: Vec<Value> = fitted
                .iter()
                .map(|effect| to_json(effect, arguments, subject))
                .collect::<Result<_>>()?;
            let outputs = fitted.iter().map(|effect| effect.output);
            let described = objects.into_iter().zip(outputs);
            write_objects(described.map(|(object, output)| subject.described(object, output)), out)
        }
        Format::Csv => sheet(&fitted, arguments, subject)?.write(Format::Csv, out),
    }
}

fn to_json(
    effect: &RegionalEffect,
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Value> {
    let [scenario, parameters] = subject.identity();
    let nodes: Vec<Value> = effect
        .tree
        .nodes()
        .iter()
        .map(|node| node_json(node, arguments, subject))
        .collect::<Result<_>>()?;
    Ok(json!({
        "scenario": scenario,
        "parameters": parameters,
        "feature": subject.feature_name(effect.feature),
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
fn node_json(node: &Node, arguments: &EstimationArguments, subject: &Subject<'_>) -> Result<Value> {
    let evaluate = |(effect, deciles): (&fe_core::Effect, [f64; 11])| {
        let evaluated = Evaluated::new(effect.clone(), arguments)?;
        Ok::<_, Error>(json!(evaluated.object(subject, deciles)))
    };
    let rule = node.rule.as_ref().map(|rule| {
        json!({ "feature": subject.feature_name(rule.feature), "name": rule.name, "kind": rule.kind })
    });
    Ok(json!({
        "rule": rule,
        "parent": node.parent,
        "depth": node.depth,
        "rows": node.rows,
        "weight": node.weight,
        "share": node.share,
        "heterogeneity": node.heterogeneity,
        "effect": node.effect.as_ref().zip(node.deciles).map(evaluate).transpose()?,
    }))
}

/// The effects of the leaves, with their rules in words.
fn sheet(
    fitted: &[RegionalEffect],
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Sheet> {
    let mut sheet = Sheet::new(&["feature", "output", "region", "x", "effect", "heterogeneity"]);
    for regional in fitted {
        for (index, node) in regional.tree.nodes().iter().enumerate() {
            let Some(effect) = &node.effect else { continue };
            let region = effects::region(regional, index, &ToString::to_string);
            let at = Evaluated::new(effect.clone(), arguments)?;
            for ((&x, &y), &h) in at.x.iter().zip(&at.y).zip(&at.heterogeneity) {
                let row: Vec<Entry> = vec![
                    subject.feature(&at.effect),
                    subject.output(at.effect.output),
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
