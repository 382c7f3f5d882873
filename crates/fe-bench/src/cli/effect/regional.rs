//! Trees of regions with an effect in each, drawn and printed: `fe-bench effect --estimator regional-…`.

use std::io::Write;

use fe_core::regional::{self, Node, RegionalEffect};
use fe_core::{Effect, Settings};
use serde_json::{Value, json};

use super::estimated::{Estimated, write_objects};
use super::evaluated::Evaluated;
use super::options::EstimationArguments;
use super::subject::Subject;
use crate::cli::figures::Picture;
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::plot::effects;
use crate::system::say::say;

/// A tree of regions.
pub(super) struct Regional(RegionalEffect, Settings);

impl Estimated for Regional {
    type Answer = RegionalEffect;

    fn check(_: &EstimationArguments) -> Result<()> {
        Ok(())
    }

    fn estimate(
        name: &str,
        settings: &Settings,
        of: &Subject<'_>,
        feature: usize,
    ) -> Result<Vec<RegionalEffect>> {
        let regional = regional::from_settings(name, settings)?.with_inner_effects();
        Ok(regional.fit(of.data, of.model, feature)?)
    }

    fn of(
        effect: RegionalEffect,
        settings: &Settings,
        _: &EstimationArguments,
        _: &Subject<'_>,
    ) -> Result<Self> {
        Ok(Self(effect, settings.clone()))
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.0.tree.leaves().filter_map(|leaf| leaf.effect.as_ref())
    }

    fn draw(
        all: &[Self],
        _: &EstimationArguments,
        of: &Subject<'_>,
        picture: &Picture,
    ) -> Result<()> {
        let with_estimator = |Self(effect, settings): &Self| {
            Ok::<_, Error>((effect.clone(), regional::from_settings(effect.estimator, settings)?))
        };
        let fitted = all.iter().map(with_estimator).collect::<Result<Vec<_>>>()?;
        let pictured = effects::regional(&of.pictured(), &fitted)?;
        pictured.notes.iter().for_each(|note| say!("{note}"));
        picture.write(&pictured.figure)
    }

    fn print(
        all: &[Self],
        arguments: &EstimationArguments,
        of: &Subject<'_>,
        out: &mut dyn Write,
    ) -> Result<()> {
        match arguments.format() {
            Format::Table => {
                let texts: Vec<String> = all.iter().map(|tree| tree.0.to_string()).collect();
                write!(out, "{}", texts.join("\n")).map_err(Error::Output)
            }
            Format::Json => {
                let objects = all.iter().map(|tree| to_json(tree, arguments, of));
                let objects = objects.collect::<Result<Vec<Value>>>()?.into_iter();
                let outputs = all.iter().map(|tree| tree.0.output);
                let described = objects.zip(outputs);
                write_objects(described.map(|(object, output)| of.described(object, output)), out)
            }
            Format::Csv => sheet(all, arguments, of)?.write(Format::Csv, out),
        }
    }
}

fn to_json(
    Regional(effect, settings): &Regional,
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Value> {
    let [scenario, parameters] = subject.identity();
    let nodes: Vec<Value> = effect
        .tree
        .nodes()
        .iter()
        .map(|node| node_json(node, settings, arguments, subject))
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
fn node_json(
    node: &Node,
    settings: &Settings,
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Value> {
    let evaluate = |(effect, deciles): (&fe_core::Effect, [f64; 11])| {
        let evaluated = Evaluated::new(effect.clone(), settings, arguments)?;
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
    fitted: &[Regional],
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<OutputTable> {
    let mut sheet =
        OutputTable::new(&["feature", "output", "region", "x", "effect", "heterogeneity"]);
    for Regional(regional, settings) in fitted {
        for index in regional.tree.leaf_positions() {
            let Some(effect) = &regional.tree.nodes()[index].effect else { continue };
            let region = effects::region(regional, index, &ToString::to_string);
            let at = Evaluated::new(effect.clone(), settings, arguments)?;
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
