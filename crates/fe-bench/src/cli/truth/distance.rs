//! Distances between two truths, also over the values of a parameter.

use std::io::Write;

use fe_core::Axis;
use fe_truth::{Quantity, Scenario, Truth};

use super::{Arguments, entries, range};
use crate::data::scenarios;
use crate::error::{Error, Result};
use crate::output::{Entry, OutputTable};
use crate::plot::coinciding;
use crate::plot::figure::{Figure, Scale};
use crate::study::labels::{Labels, usual};
use crate::system::say::say;

/// A parameter and the values that it takes.
#[derive(Debug, Clone)]
pub(super) struct Over {
    name: String,
    values: Vec<String>,
}

/// Reads `NAME=V,V,…`.
pub(super) fn over(text: &str) -> Result<Over, String> {
    let (name, values) = super::super::arguments::key_value(text)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    match values.iter().find(|value| value.is_empty()) {
        Some(_) => Err("must be KEY=V,V,…, with a value behind each comma".to_owned()),
        None => Ok(Over { name, values }),
    }
}

/// The distance of the two truths of a feature of a scenario.
struct Line {
    scenario: String,
    parameters: String,
    feature: String,
    /// The value of the parameter that is varied, if it is a number.
    at: Option<f64>,
    distance: Truth,
}

pub(super) fn execute(
    arguments: &Arguments,
    pair: &[Quantity],
    scenario: &Scenario,
    out: &mut dyn Write,
) -> Result<()> {
    let pair: [Quantity; 2] = pair.try_into().map_err(|_| {
        let message = "--distance: must be two effects, such as pd,ale";
        Error::Argument(message.to_owned())
    })?;
    let picture = arguments.form.picture(arguments.plot.as_deref(), &[])?;
    let mut lines = Vec::new();
    match &arguments.over {
        None => lines.extend(of_scenario(arguments, pair, scenario, None)?),
        Some(over) => {
            for value in &over.values {
                let set = arguments.scenario.with(&over.name, value)?;
                let scenario = scenarios::find(arguments.scenario.name(), &set)?;
                let scenario = super::prepared(arguments, scenario)?;
                let at = value.parse().ok();
                lines.extend(of_scenario(arguments, pair, &scenario, at)?);
            }
        }
    }
    if let Some(picture) = picture {
        picture.write(&figure(arguments, pair, &lines)?)?;
        say!("{}", picture.path().display());
    }
    let columns =
        ["scenario", "parameters", "feature", "first", "second", "mse", "abs_error", "method"];
    let mut sheet = OutputTable::new(&columns);
    for line in lines {
        let words = [&line.scenario, &line.parameters, &line.feature].map(String::as_str);
        let words = words.into_iter().chain(pair.map(Quantity::name));
        sheet.push(words.map(Entry::from).chain(entries(line.distance)).collect());
    }
    sheet.write(arguments.format, out)
}

/// A line for each feature.
fn of_scenario(
    arguments: &Arguments,
    pair: [Quantity; 2],
    scenario: &Scenario,
    at: Option<f64>,
) -> Result<Vec<Line>> {
    let line = |feature: usize| {
        let axis = range(arguments, scenario, feature)?;
        let points = Axis::new(axis.0, axis.1)?.grid(arguments.points());
        Ok(Line {
            scenario: scenario.id(),
            parameters: scenario.parameters(),
            feature: scenario.feature_name(feature),
            at,
            distance: scenario.distance(pair, feature, &points, axis)?,
        })
    };
    arguments.features.of(scenario)?.into_iter().map(line).collect()
}

/// The distances over the parameter, a line for each feature.
fn figure(arguments: &Arguments, pair: [Quantity; 2], lines: &[Line]) -> Result<Figure> {
    let Some(over) = arguments.over.as_ref().filter(|_| lines.iter().all(|line| line.at.is_some()))
    else {
        let message = "--distance with --plot needs --over, a parameter with numbers to draw over";
        return Err(Error::Argument(message.to_owned()));
    };
    let mut features: Vec<&str> = Vec::new();
    for line in lines {
        if !features.contains(&line.feature.as_str()) {
            features.push(&line.feature);
        }
    }
    let of_feature = |feature: &&str| {
        let own = lines.iter().filter(|line| line.feature == **feature);
        let points = own.filter_map(|line| Some((line.at?, line.distance.value)));
        ((*feature).to_owned(), points.collect())
    };
    let drawn: Vec<(String, Vec<(f64, f64)>)> = features.iter().map(of_feature).collect();
    let labels = Labels::default().for_figures();
    let x = Scale::linear(labels.of_option(&over.name));
    let panel = coinciding::panel(x, Scale::linear("mean squared distance, both centred"), &drawn);
    let name = lines.first().map(|line| labels.of_scenario(&line.scenario)).unwrap_or_default();
    let [first, second] = pair.map(|quantity| usual(quantity.name()));
    let region = arguments.region_in_title();
    let title = format!("{name}: distance of the truths {first} and {second}{region}");
    Ok(Figure { title, cells: vec![vec![panel]], legend_per_cell: false })
}
