//! `fe-bench list`.

use std::io::Write;
use std::path::Path;

use clap::Args;
use fe_core::indices::Index;
use fe_core::{OptionInfo, Settings, binning, estimator, preset, regional, registries};

use serde_json::Value;

use crate::data::shelf;
use crate::error::{Error, Result, listed, suggestion};
use crate::output::{Entry, Format, OutputTable};
use crate::record::{Column, Key};
use crate::report::option_table;
use crate::run::prepared::{Prepared, cost_of_indices};
use crate::score::METRICS;
use crate::study::{AxisSource, Group, Study};
use crate::system::say::{echo, say};

/// Lists what there is, or the cells of a study without running anything.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// scenarios, problems (the files in scenarios/problems), estimators, pairs (their estimators), options, binnings,
    /// metrics, indices, presets, models, a study file, or a folder of problem files
    #[arg(default_value = "scenarios", value_name = "WHAT")]
    what: String,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

const KINDS: [&str; 10] = [
    "scenarios",
    "problems",
    "estimators",
    "pairs",
    "options",
    "binnings",
    "metrics",
    "indices",
    "presets",
    "models",
];

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let path = Path::new(&arguments.what);
    let sheet = match arguments.what.as_str() {
        "scenarios" => scenarios(),
        "problems" => problems(Path::new(shelf::FOLDER))?,
        "estimators" => {
            let plain = estimator::ALL.iter().map(|i| (i.name, i.about, i.options().collect()));
            let regional = regional::ALL.iter().map(|i| (i.name, i.about, i.options().collect()));
            with_options(plain.chain(regional))
        }
        "binnings" => {
            with_options(binning::ALL.iter().map(|i| (i.name, i.about, i.options.to_vec())))
        }
        "pairs" => {
            with_options(estimator::pair::ALL.iter().map(|i| (i.name, i.about, i.options.to_vec())))
        }
        "options" => options(),
        "metrics" => named(METRICS.iter().map(|metric| (metric.name(), metric.about()))),
        "indices" => indices(),
        "presets" => presets(),
        "models" => models(),
        _ if path.extension().is_some_and(|e| e == "toml") => study(path, arguments.format)?,
        _ if path.is_dir() => problems(path)?,
        other => {
            return Err(Error::Argument(format!(
                "`{}` cannot be listed{}; allowed are {} a study file *.toml, or a folder of problem files",
                echo(other),
                suggestion(other, KINDS),
                listed(KINDS),
            )));
        }
    };
    sheet.write(arguments.format, out)
}

/// A line for each index.
fn indices() -> OutputTable {
    let mut sheet = OutputTable::new(&["name", "of", "about"]);
    for index in Index::all() {
        let of = ["f", "a feature", "a pair"][index.order()];
        sheet.push(vec![index.name().into(), of.into(), index.about().into()]);
    }
    sheet
}

/// A line for each problem file of a folder.
fn problems(folder: &Path) -> Result<OutputTable> {
    let mut sheet = OutputTable::new(&["problem", "about", "features", "source"]);
    for shelf::Problem { path, scenario } in shelf::read(folder)? {
        sheet.push(vec![
            path.display().to_string().into(),
            scenario.info().about.into(),
            scenario.dimension().into(),
            scenario.source().into(),
        ]);
    }
    Ok(sheet)
}

/// A line for each option of each model, and one for a model without any.
fn models() -> OutputTable {
    let mut sheet = OutputTable::new(&["model", "option", "default", "allowed", "about"]);
    for info in fe_models::ALL {
        sheet.push(vec![
            info.name.into(),
            Entry::Missing,
            Entry::Missing,
            Entry::Missing,
            info.about.into(),
        ]);
        for option in info.options {
            let entries = [info.name, option.name, option.default, option.allowed, option.about];
            sheet.push(entries.map(Entry::from).to_vec());
        }
    }
    sheet
}

/// A line for each option of estimators.
fn options() -> OutputTable {
    let mut sheet = OutputTable::new(&["option", "default", "allowed", "about", "estimators"]);
    for setting in fe_core::settings::ALL {
        let OptionInfo { name, default, about, .. } = setting.option;
        let allowed = registries::allowed(setting);
        let takers = option_table::takers(setting);
        sheet.push([name, default, &allowed, about, &takers].map(Entry::from).to_vec());
    }
    sheet
}

fn named<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> OutputTable {
    let mut sheet = OutputTable::new(&["name", "about"]);
    for (name, about) in entries {
        sheet.push(vec![name.into(), about.into()]);
    }
    sheet
}

fn with_options<'a>(
    entries: impl Iterator<Item = (&'a str, &'a str, Vec<&'a str>)>,
) -> OutputTable {
    let mut sheet = OutputTable::new(&["name", "about", "options"]);
    for (name, about, options) in entries {
        sheet.push(vec![name.into(), about.into(), options.join(" ").into()]);
    }
    sheet
}

/// The options of each preset for each estimator that it covers.
fn presets() -> OutputTable {
    let mut sheet = OutputTable::new(&["name", "about", "estimator", "options"]);
    for preset in preset::ALL {
        let of_one = preset.estimators().map(|name| (name.to_owned(), preset.settings(name)));
        let of_pair = |name| preset.complete_pair(name, Settings::default());
        let of_pairs = preset.pairs().map(|name| (format!("{name} of a pair"), of_pair(name)));
        for (estimator, settings) in of_one.chain(of_pairs) {
            let options = settings.map(|settings| described(&settings)).unwrap_or_default();
            sheet.push(vec![
                preset.name.into(),
                preset.about.into(),
                estimator.into(),
                options.into(),
            ]);
        }
    }
    sheet
}

/// The options that are given, as key=value; the axis as its flag has it.
fn described(settings: &Settings) -> String {
    let Ok(Value::Object(options)) = serde_json::to_value(settings) else { return String::new() };
    let text = |key: &str, value: &Value| match (key, settings.axis, value) {
        ("axis", Some(axis), _) => AxisSource::from(axis).to_string(),
        (_, _, Value::String(text)) => text.clone(),
        _ => value.to_string(),
    };
    let given = options.iter().filter(|(_, value)| !value.is_null());
    given.map(|(key, value)| format!("{key}={}", text(key, value))).collect::<Vec<_>>().join(" ")
}

fn scenarios() -> OutputTable {
    let mut sheet = OutputTable::new(&["scenario", "about", "function", "law", "parameters"]);
    for info in fe_truth::scenarios() {
        let parameters: Vec<String> = info
            .parameters
            .iter()
            .map(|p| format!("{}={}: {}; {}", p.name, p.default, p.about, p.allowed))
            .collect();
        let row: Vec<Entry> = vec![
            format!("{}@{}", info.name, info.version).into(),
            info.about.into(),
            info.formula.into(),
            info.law.into(),
            parameters.join("\n").into(),
        ];
        sheet.push(row);
    }
    sheet
}

/// The expansion of a study: for people what is estimated from the same datasets, otherwise one line
/// for every combination but of replicates.
fn study(path: &Path, format: Format) -> Result<OutputTable> {
    let study = super::run::study(path)?;
    match format {
        Format::Table => Ok(grouped(path, &study)),
        Format::Csv | Format::Json => Ok(expanded(path, &study)),
    }
}

/// About so many model rows, in words, and the way to learn of the time.
fn explain(path: &Path, rows: u64, open: bool) {
    let least = if open { "at least" } else { "about" };
    let rows = match rows {
        0 => "no model rows, all effects are exact".to_owned(),
        rows => format!("{least} {:.1e} model rows", rows as f64),
    };
    say!("{rows}; how long it takes: fe-bench run --dry-run {}", path.display());
}

/// Number of datasets of a group, or the numbers between which its precision chooses.
fn replicates(group: &Group) -> Entry {
    match group.replicates.until {
        None => group.replicates.most.into(),
        Some(_) => group.replicates.to_string().into(),
    }
}

fn grouped(path: &Path, study: &Study) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "scenario",
        "parameters",
        "N",
        "replicates",
        "features",
        "estimators",
        "cells",
        "model_rows",
    ]);
    let (mut all, mut all_open) = (0_u64, false);
    for group in &study.groups {
        let (rows, open) = Prepared::new(group).cost(group);
        let rows = rows.saturating_mul(group.replicates.most as u64);
        (all, all_open) = (all.saturating_add(rows), all_open || open);
        sheet.push(vec![
            group.scenario.id().into(),
            group.scenario.parameters().into(),
            group.rows.into(),
            replicates(group),
            (group.subjects.features.len() + group.subjects.pairs.len()).into(),
            (group.variants.len() + group.indices.len()).into(),
            (group.replicates.most * group.estimates()).into(),
            Entry::Count(rows),
        ]);
    }
    let mut total: Vec<Entry> = vec![Entry::Missing; 6];
    total[0] = "all".into();
    total.extend([study.cells().into(), Entry::Count(all)]);
    sheet.push(total);
    explain(path, all, all_open);
    sheet
}

/// The estimates from a dataset of a group: the part of their keys that says what they are of and how they are made, and
/// about how many rows the model is asked for. What indices share is told of the first of them.
fn estimates(group: &Group) -> Vec<(Key, Option<u64>)> {
    let prepared = Prepared::new(group);
    let mut all = Vec::new();
    for of in &prepared.features {
        let keys = group.variants.iter().map(|variant| &variant.key);
        let keys = keys.map(|key| Key { feature: of.name.clone(), ..key.clone() });
        all.extend(keys.zip(of.costs(group)));
    }
    for of in &prepared.pairs {
        let [feature, feature2] = &of.names;
        let keys = group.variants.iter().map(|variant| Key {
            feature: feature.clone(),
            feature2: feature2.clone(),
            ..variant.key.clone()
        });
        all.extend(keys.zip(of.costs(group)));
    }
    for variant in group.indices.iter() {
        let rest = std::iter::repeat(Some(0));
        let costs = [cost_of_indices(group, variant)].into_iter().chain(rest);
        let keys = variant.of(&group.subjects);
        let keys = keys.iter().map(|(index, of)| variant.key(&group.scenario, *index, of));
        all.extend(keys.zip(costs));
    }
    all
}

fn expanded(path: &Path, study: &Study) -> OutputTable {
    let own = ["scenario", "parameters", "feature"];
    let of_variant = || Column::ALL.into_iter().filter(|column| column.is_of_variant());
    let last = ["N", "replicates", "model_rows"];
    let columns: Vec<&str> =
        own.into_iter().chain(of_variant().map(Column::name)).chain(last).collect();
    let mut sheet = OutputTable::new(&columns);
    let (mut all, mut all_open) = (0_u64, false);
    for group in &study.groups {
        for (key, cost) in estimates(group) {
            let rows = cost.map(|cost| cost.saturating_mul(group.replicates.most as u64));
            all = all.saturating_add(rows.unwrap_or_default());
            all_open |= rows.is_none();
            let mut row: Vec<Entry> =
                vec![group.scenario.id().into(), group.scenario.parameters().into()];
            row.push(key.subject().into());
            row.extend(key.fields(of_variant()).map(Entry::from));
            row.extend([group.rows.into(), replicates(group)]);
            row.push(rows.map_or(Entry::Missing, Entry::Count));
            sheet.push(row);
        }
    }
    explain(path, all, all_open);
    sheet
}
