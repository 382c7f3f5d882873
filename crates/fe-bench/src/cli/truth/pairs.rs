//! `fe-bench truth --effect … --feature x1:x2`, and `--indices`.

use std::io::Write;

use fe_core::Axis;
use fe_truth::{Centring, Index, PairEffect, Quantity, Scenario};

use super::super::arguments::{Grid, interval, lists_of_places, named};
use super::{Arguments, Asked, entries};
use crate::data::features::{Subject, pairs_that_f_reads};
use crate::error::{Error, Result};
use crate::output::{Entry, OutputTable, write_rows};
use crate::system::say::say;

/// Ranges of one feature, or of two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range(pub(super) (f64, f64), pub(super) Option<(f64, f64)>);

pub(super) fn range(text: &str) -> Result<Range, String> {
    Ok(match text.split_once(':') {
        None => Range(interval(text)?, None),
        Some((first, second)) => Range(interval(first)?, Some(interval(second)?)),
    })
}

/// Points for each feature of a pair unless asked otherwise.
const POINTS: usize = 11;
/// The most pairs of points of one pair of features.
const MOST: usize = 1_000_000;

/// A question and the points it is asked at.
struct Surface {
    asked: PairEffect,
    points: [Vec<f64>; 2],
}

/// The columns of an effect of pairs.
const COLUMNS: [&str; 9] =
    ["scenario", "feature", "feature2", "effect", "x", "x2", "value", "abs_error", "method"];

pub(super) fn execute(
    arguments: &Arguments,
    scenario: &Scenario,
    asked: &Asked,
    out: &mut dyn Write,
) -> Result<()> {
    let Asked::Quantity(effect) = asked else {
        let message =
            format!("{} is of one feature: a pair has pd, ale, ale-derivative", asked.name());
        return Err(Error::Argument(message));
    };
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    for subject in arguments.features.subjects(scenario)? {
        let Subject::Two(features) = subject else {
            let message = "--feature names one feature beside a pair: ask for either";
            return Err(Error::Argument(message.to_owned()));
        };
        let Surface { asked, points } = surface(arguments, scenario, *effect, features)?;
        let values = scenario.surface(&asked, [&points[0], &points[1]])?;
        let [first, second] = features.map(|feature| scenario.feature_name(feature));
        for (place, value) in values.into_iter().enumerate() {
            let (x, x2) = (points[0][place / points[1].len()], points[1][place % points[1].len()]);
            let id = scenario.id();
            let mut row: Vec<Entry> =
                vec![id.into(), first.as_str().into(), second.as_str().into()];
            row.extend([effect.name().into(), x.into(), x2.into()]);
            row.extend(entries(value));
            rows.push(row);
        }
    }
    write_rows(&COLUMNS, (rows.len(), rows.into_iter().map(Ok)), arguments.format, out)
}

/// The question about a pair, with its points.
fn surface(
    arguments: &Arguments,
    scenario: &Scenario,
    effect: Quantity,
    features: [usize; 2],
) -> Result<Surface> {
    let axes = axes(arguments, scenario, features)?;
    let constant_is_open = effect != Quantity::Pd || arguments.interaction;
    let usual = if constant_is_open { Centring::Data } else { Centring::None };
    let centring = arguments.center.unwrap_or(usual);
    let points = lists(arguments, scenario, features, axes)?;
    let count = points[0].len().saturating_mul(points[1].len());
    if count > MOST {
        let message = format!("{count} pairs of points: at most {MOST} are answered");
        return Err(Error::Argument(message));
    }
    let interaction = arguments.interaction;
    Ok(Surface { asked: PairEffect { effect, features, axes, centring, interaction }, points })
}

/// The range of each feature: a single one that is given holds for both.
fn axes(
    arguments: &Arguments,
    scenario: &Scenario,
    features: [usize; 2],
) -> Result<[(f64, f64); 2]> {
    let given = arguments.range.map(|range| [range.0, range.1.unwrap_or(range.0)]);
    let axes = given.unwrap_or(features.map(|feature| scenario.axis(feature)));
    for (axis, feature) in axes.into_iter().zip(features) {
        super::ascending(axis, arguments, scenario, feature)?;
    }
    Ok(axes)
}

/// The points of each feature: those given, the levels it has, or a grid over its range.
fn lists(
    arguments: &Arguments,
    scenario: &Scenario,
    features: [usize; 2],
    axes: [(f64, f64); 2],
) -> Result<[Vec<f64>; 2]> {
    if arguments.at.is_empty() {
        let grid = arguments.grid.unwrap_or(Grid(POINTS, None));
        let counts = [grid.0, grid.1.unwrap_or(grid.0)];
        let of = |side: usize| -> Result<Vec<f64>> {
            if let Some(levels) = scenario.levels(features[side]) {
                return Ok(levels.iter().map(|level| level.value).collect());
            }
            Ok(Axis::new(axes[side].0, axes[side].1)?.grid(counts[side]))
        };
        return Ok([of(0)?, of(1)?]);
    }
    lists_of_places(&arguments.at)
}

/// The columns of named values.
pub(super) const NAMED: [&str; 7] =
    ["scenario", "feature", "feature2", "name", "value", "abs_error", "method"];

/// Features and pairs whose indices are asked: those named or, if none is, all features, and all pairs of
/// features that f reads.
fn asked_subjects(
    arguments: &Arguments,
    scenario: &Scenario,
) -> Result<(Vec<usize>, Vec<[usize; 2]>)> {
    let mut subjects = arguments.features.subjects(scenario)?;
    if subjects.is_empty() {
        subjects.extend((0..scenario.dimension()).map(Subject::One));
        subjects.extend(pairs_that_f_reads(scenario).into_iter().map(Subject::Two));
    }
    let one = |subject: &Subject| match *subject {
        Subject::One(feature) => Some(feature),
        Subject::Two(_) => None,
    };
    let two = |subject: &Subject| match *subject {
        Subject::One(_) => None,
        Subject::Two(pair) => Some(pair),
    };
    Ok((subjects.iter().filter_map(one).collect(), subjects.iter().filter_map(two).collect()))
}

/// Prints the indices; of those that mean nothing, or that cannot be told, the reason goes to standard error.
pub(super) fn indices(
    arguments: &Arguments,
    scenario: &Scenario,
    out: &mut dyn Write,
) -> Result<()> {
    let asked = named(&arguments.indices, "indices", Index::ALL)?;
    let (features, pairs) = asked_subjects(arguments, scenario)?;
    for (order, are_none, what) in
        [(1, features.is_empty(), "a feature"), (2, pairs.is_empty(), "a pair, such as x1:x2")]
    {
        // Of all indices those that there are features for are meant.
        let lacking = asked.iter().find(|index| are_none && index.order() == order);
        if let Some(index) = lacking.filter(|_| asked.len() < Index::ALL.len()) {
            let message = format!("--indices={index} is of {what}, and none is asked for");
            return Err(Error::Argument(message));
        }
    }
    let mut sheet = OutputTable::new(&NAMED);
    let mut said: Vec<String> = Vec::new();
    for answer in scenario.indices().each(&asked, &features, &pairs)? {
        let name = |place: usize| answer.features.get(place).map(|&s| scenario.feature_name(s));
        let entry = |name: Option<String>| name.map_or(Entry::Missing, Entry::from);
        let mut row: Vec<Entry> = vec![scenario.id().into(), entry(name(0)), entry(name(1))];
        row.push(answer.index.name().into());
        match answer.truth {
            Ok(truth) => row.extend(entries(truth)),
            Err(error) => {
                let line = format!("{} is refused: {error}", answer.index);
                // One reason is told once, though it may be that of many.
                if !said.contains(&line) {
                    say!("{line}");
                    said.push(line);
                }
                row.extend([Entry::Missing, Entry::Missing, "refused".into()]);
            }
        }
        sheet.push(row);
    }
    sheet.write(arguments.format, out)
}
