//! Trees of regions with an effect in each, drawn and printed: `fe-bench effect --estimator regional-…`.

use std::io::Write;

use fe_core::regional::{self, Node, RegionalEffect, Rule};
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
use crate::score::comparison::Comparison;
use crate::score::regions::{FoundTree, RegionTruths};
use crate::system::say::say;

/// A tree of regions.
pub(super) struct Regional {
    effect: RegionalEffect,
    settings: Settings,
    /// The truths of its regions, by their positions; none where nothing says them.
    truths: Vec<RegionTruth>,
}

/// The truths of a region that was found.
struct RegionTruth {
    /// Its probability.
    share: f64,
    /// The heterogeneity that regions lower, where it has a truth.
    heterogeneity: Option<f64>,
    /// The effect at the points that are printed, where it has a truth.
    effect: Option<Vec<f64>>,
}

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
        arguments: &EstimationArguments,
        of: &Subject<'_>,
    ) -> Result<Self> {
        let mut regional = Self { effect, settings: settings.clone(), truths: Vec::new() };
        regional.truths = regional.find_truths(arguments, of)?;
        Ok(regional)
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.effect.tree.leaves().filter_map(|leaf| leaf.effect.as_ref())
    }

    fn draw(
        all: &[Self],
        _: &EstimationArguments,
        of: &Subject<'_>,
        picture: &Picture,
    ) -> Result<()> {
        let with_estimator = |Self { effect, settings, .. }: &Self| {
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
                let texts: Vec<String> = all.iter().map(Self::text).collect();
                write!(out, "{}", texts.join("\n")).map_err(Error::Output)
            }
            Format::Json => {
                let objects = all.iter().map(|tree| to_json(tree, arguments, of));
                let objects = objects.collect::<Result<Vec<Value>>>()?.into_iter();
                let outputs = all.iter().map(|tree| tree.effect.output);
                let described = objects.zip(outputs);
                write_objects(described.map(|(object, output)| of.described(object, output)), out)
            }
            Format::Csv => sheet(all, arguments, of)?.write(Format::Csv, out),
        }
    }
}

impl Regional {
    /// Looks up the truths of the regions that were found, or says why there are none.
    fn find_truths(
        &self,
        arguments: &EstimationArguments,
        of: &Subject<'_>,
    ) -> Result<Vec<RegionTruth>> {
        let Some(scenario) = of.scenario.filter(|_| of.with_truths) else {
            return Ok(Vec::new());
        };
        let name = of.named(self.effect.feature);
        let without = |what: &str, reason: String| say!("{name}: no truth beside {what}: {reason}");
        let all = 0..self.effect.tree.nodes().len();
        let found = match FoundTree::with_nodes(&self.effect, all) {
            Ok(found) => found,
            Err(reason) => {
                without("the regions", reason);
                return Ok(Vec::new());
            }
        };
        let (known, mut truths) = (RegionTruths::default(), Vec::<RegionTruth>::new());
        for (node, region) in self.effect.tree.nodes().iter().zip(&found.leaves) {
            let share = match scenario.probability(&region.region) {
                Ok(share) => share,
                Err(reason) => {
                    without("the regions", reason.to_string());
                    return Ok(Vec::new());
                }
            };
            let words = node.rule.as_ref().map_or_else(|| "all data".to_owned(), Rule::to_string);
            let of_this = |what: &str, reason: String| {
                without(&format!("the {what} of {words} and its parts"), reason);
            };
            // What has no answer in the region around has none in its part, and is long in saying so.
            let around = node.parent.and_then(|parent| truths.get(parent));
            let heterogeneity = match around {
                Some(RegionTruth { heterogeneity: None, .. }) => None,
                _ => known
                    .value(scenario, &found, region, self.effect.heterogeneity)
                    .map_err(|reason| of_this("heterogeneity", reason))
                    .ok(),
            };
            let points = match (around, &node.effect) {
                (Some(RegionTruth { effect: None, .. }), _) | (_, None) => None,
                // A table has no curves.
                _ if arguments.format() == Format::Table => None,
                (_, Some(effect)) => {
                    Some(Evaluated::new(effect.clone(), &self.settings, arguments)?.x)
                }
            };
            let effect = points.and_then(|points| {
                let curve = known.curve(scenario, &found, region, &points, Comparison::AsTheyAre);
                curve.map_err(|reason| of_this("effect", reason)).ok()
            });
            truths.push(RegionTruth {
                share,
                heterogeneity: heterogeneity.map(|truth| truth.value),
                effect: effect.map(|curve| curve.iter().map(|truth| truth.value).collect()),
            });
        }
        Ok(truths)
    }

    /// The tree in lines, with the truths beside the estimates.
    fn text(&self) -> String {
        let known = self.truths.iter().filter_map(|truth| truth.heterogeneity);
        let largest = known.fold(0.0, f64::max);
        let words = |truth: &RegionTruth| {
            let heterogeneity = effects::beside(truth.heterogeneity, largest);
            format!(" (truth: weight {:.1} %, heterogeneity {heterogeneity})", 100.0 * truth.share)
        };
        let beside = |region: usize| self.truths.get(region).map(words).unwrap_or_default();
        self.effect.text(&beside)
    }
}

fn to_json(
    regional: &Regional,
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Value> {
    let [scenario, parameters] = subject.identity();
    let effect = &regional.effect;
    let nodes: Vec<Value> = effect
        .tree
        .nodes()
        .iter()
        .enumerate()
        .map(|(index, node)| {
            node_json(node, regional.truths.get(index), &regional.settings, arguments, subject)
        })
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
    truth: Option<&RegionTruth>,
    settings: &Settings,
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Value> {
    let evaluate = |(effect, deciles): (&fe_core::Effect, [f64; 11])| {
        let truth = truth.and_then(|truth| truth.effect.clone());
        let evaluated = Evaluated::new(effect.clone(), settings, arguments)?.beside(truth);
        Ok::<_, Error>(json!(evaluated.object(subject, deciles)))
    };
    let rule = node.rule.as_ref().map(|rule| {
        let feature = subject.feature_name(rule.feature);
        let mut object = json!({ "feature": feature, "name": rule.name, "kind": rule.kind });
        if let Some(level) = &rule.level {
            object["level"] = json!(level);
        }
        object
    });
    let mut object = json!({
        "rule": rule,
        "parent": node.parent,
        "depth": node.depth,
        "rows": node.rows,
        "weight": node.weight,
        "share": node.share,
        "heterogeneity": node.heterogeneity,
        "effect": node.effect.as_ref().zip(node.deciles).map(evaluate).transpose()?,
    });
    if let Some(truth) = truth {
        object["truth"] = json!({ "share": truth.share, "heterogeneity": truth.heterogeneity });
    }
    Ok(object)
}

/// The effects of the leaves, with their rules in words.
fn sheet(
    fitted: &[Regional],
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<OutputTable> {
    let has_truths = fitted.iter().any(|tree| !tree.truths.is_empty());
    let has_levels = fitted.iter().flat_map(Regional::effects).any(|of| of.record.levels.is_some());
    let mut columns = vec!["feature", "output", "region", "x"];
    columns.extend(has_levels.then_some(["level", "count"]).into_iter().flatten());
    columns.push("effect");
    columns.extend(has_truths.then_some(["truth", "difference"]).into_iter().flatten());
    columns.push("heterogeneity");
    let mut sheet = OutputTable::new(&columns);
    for Regional { effect: regional, settings, truths } in fitted {
        for index in regional.tree.leaf_positions() {
            let Some(effect) = &regional.tree.nodes()[index].effect else { continue };
            let region = effects::region(regional, index, &ToString::to_string);
            let at = Evaluated::new(effect.clone(), settings, arguments)?;
            let truth = truths.get(index).and_then(|truth| truth.effect.as_ref());
            let levels = at.levels();
            for (i, ((&x, &y), &h)) in at.x.iter().zip(&at.y).zip(&at.heterogeneity).enumerate() {
                let mut row: Vec<Entry> = vec![
                    subject.feature(&at.effect),
                    subject.output(at.effect.output),
                    region.as_str().into(),
                    x.into(),
                ];
                if has_levels {
                    let level = levels.as_ref().map(|levels| levels[i]);
                    row.push(level.map_or(Entry::Missing, |(name, _)| name.into()));
                    row.push(level.map(|(_, count)| count).into());
                }
                row.push(y.into());
                if has_truths {
                    let truth = truth.map(|truth| truth[i]);
                    row.extend([truth.into(), truth.map(|truth| y - truth).into()]);
                }
                row.push(h.into());
                sheet.push(row);
            }
        }
    }
    Ok(sheet)
}
