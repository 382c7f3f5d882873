//! `fe-bench effect … --indices`: how much of f features and pairs of features have, from data and a model.

use std::io::Write;

use fe_core::indices::{self, Index, IndexEstimate, IndexOptions, Measured};
use fe_core::settings::BandKind;
use fe_truth::{Indices, Scenario, Truth};

use super::options::EstimationArguments;
use super::subject::Subject;
use crate::cli::arguments::named;
use crate::error::{Error, Result};
use crate::output::{Entry, OutputTable, readable};
use crate::plot;
use crate::system::say::say;

/// Options that say something about indices.
const USED: [&str; 6] = ["bins", "background", "background_seed", "band", "level", "brute"];

/// Estimates and prints, beside the truths of a scenario.
pub(super) fn execute(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if let Some(unused) = arguments.given().into_iter().find(|option| !USED.contains(option)) {
        let flag = unused.replace('_', "-");
        return Err(Error::Argument(format!("--{flag}: indices have no use for it")));
    }
    let intervals = Intervals::of(arguments)?;
    let asked = named(&arguments.indices, "indices", &Index::all().collect::<Vec<_>>())?;
    let (features, pairs) = subjects(&asked, subject)?;
    let default = IndexOptions::default();
    let (bins, background, seed) = arguments.samples();
    let options = IndexOptions {
        outer: arguments.outer.unwrap_or(default.outer),
        background: background.unwrap_or(default.background),
        bins: bins.unwrap_or(default.bins),
        seed: seed.unwrap_or(default.seed),
        brute: arguments.asks_by_value(),
    };
    let found =
        indices::estimate(subject.data, subject.model, &asked, (&features, &pairs), &options)?;
    let truths = subject.scenario.map(Scenario::indices);
    let lines: Vec<Line<'_>> =
        found.estimates.iter().map(|of| Line::new(of, truths.as_ref())).collect();
    say_refusals(&lines, subject);
    if !lines.is_empty() && lines.iter().all(|line| line.of.estimate.is_err()) {
        return Err(Error::Failed("every index was refused".to_owned()));
    }
    if let Some(picture) = subject.picture {
        let bars: Vec<plot::indices::Bar> =
            lines.iter().map(|line| line.bar(subject, intervals)).collect();
        let title = &subject.pictured().title;
        picture.write(&plot::indices::figure(title, &bars, &intervals.name()))?;
    }
    sheet(&lines, subject, intervals).write(arguments.format(), out)
}

/// The intervals about indices: about each that has a standard error, of this level.
#[derive(Debug, Clone, Copy)]
struct Intervals {
    /// The level, where it is not 0.95.
    level: Option<f64>,
}

impl Intervals {
    fn of(arguments: &EstimationArguments) -> Result<Self> {
        let (band, level) = arguments.band();
        let other = match band {
            None | Some(BandKind::Analytic) => None,
            Some(BandKind::Bootstrap) => Some("bootstrap"),
            Some(BandKind::Bins) => Some("bins"),
            Some(BandKind::Refit) => Some("refit"),
        };
        if let Some(band) = other {
            return Err(Error::Argument(format!(
                "--band {band}: intervals of indices are of their standard errors, most of them by leaving out groups of \
                 rows, which is --band analytic: they have it anyway"
            )));
        }
        match level {
            Some(level) if !(level > 0.0 && level < 1.0) => {
                Err(Error::Argument(format!("--level {level}: must be strictly between 0 and 1")))
            }
            _ => Ok(Self { level }),
        }
    }

    fn about(self, measured: &Measured) -> Option<(f64, f64)> {
        self.level.map_or_else(|| measured.interval(), |level| measured.interval_at(level))
    }

    fn name(self) -> String {
        format!("{} % interval", readable(100.0 * self.level.unwrap_or(0.95)))
    }
}

/// Features and pairs that the indices are of: those named or, if none is, all that the indices need.
fn subjects(asked: &[Index], subject: &Subject<'_>) -> Result<(Vec<usize>, Vec<[usize; 2]>)> {
    let has = |order: usize| asked.iter().any(|index| index.order() == order);
    if subject.is_all {
        let dimension = subject.data.dimension();
        let of = |a: usize| (a + 1..dimension).map(move |b| [a, b]);
        let pairs = if has(2) { (0..dimension).flat_map(of).collect() } else { Vec::new() };
        return Ok((if has(1) { (0..dimension).collect() } else { Vec::new() }, pairs));
    }
    let lacking = [
        (1, subject.features.is_empty(), "a feature"),
        (2, subject.pairs.is_empty(), "a pair, such as x1:x2"),
    ];
    if let Some(index) = asked
        .iter()
        .find(|index| lacking.iter().any(|(order, is, _)| *is && index.order() == *order))
    {
        let what = lacking[index.order() - 1].2;
        return Err(Error::Argument(format!(
            "--indices {index} is of {what}, and --feature names none"
        )));
    }
    Ok((subject.features.to_vec(), subject.pairs.to_vec()))
}

/// An estimate beside the truth, or the reason why that is not told; none of what has no truth.
struct Line<'a> {
    of: &'a IndexEstimate,
    truth: Option<std::result::Result<Truth, fe_truth::Error>>,
}

impl<'a> Line<'a> {
    fn new(of: &'a IndexEstimate, truths: Option<&Indices<'_>>) -> Self {
        Self { of, truth: truths.and_then(|truths| truth(truths, of)) }
    }

    fn known(&self) -> Option<&Truth> {
        self.truth.as_ref()?.as_ref().ok()
    }

    /// Refusals of the estimate and of its exact value, with their reasons.
    fn refusals(&self) -> impl Iterator<Item = String> {
        let estimate = self.of.estimate.as_ref().err().map(|error| format!("is refused: {error}"));
        let truth = self.truth.as_ref().and_then(|truth| truth.as_ref().err());
        // Mostly for the same reason, where there is no estimate either.
        let truth = truth.filter(|_| estimate.is_none());
        let truth = truth.map(|error| format!("has no exact value: {error}"));
        estimate.into_iter().chain(truth)
    }

    /// The index of the line as it is drawn.
    fn bar(&self, subject: &Subject<'_>, intervals: Intervals) -> plot::indices::Bar {
        let half = |measured: &Measured| Some(intervals.about(measured)?.1 - measured.value);
        plot::indices::Bar {
            index: self.of.index.name(),
            of: self.of.features.iter().map(|&feature| subject.named(feature)).collect(),
            value: self.of.estimate.as_ref().map(|of| of.value).map_err(ToString::to_string),
            half: self.of.estimate.as_ref().ok().and_then(half),
            truth: self.known().map(|truth| truth.value),
        }
    }
}

/// The true index, where there is one.
fn truth(
    truths: &Indices<'_>,
    of: &IndexEstimate,
) -> Option<std::result::Result<Truth, fe_truth::Error>> {
    let index = of.index.name().parse().ok()?;
    Some(truths.index(index, &of.features))
}

/// Says why there is no estimate or no truth, one reason once, and of what.
fn say_refusals(lines: &[Line<'_>], subject: &Subject<'_>) {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (line, reason) in lines.iter().flat_map(|line| line.refusals().map(move |of| (line, of))) {
        let names = line.of.features.iter().map(|&feature| subject.named(feature));
        let of = names.collect::<Vec<String>>().join(":");
        let index = line.of.index.name();
        let of = if of.is_empty() { index.to_owned() } else { format!("{index} of {of}") };
        match said.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(of),
            None => said.push((reason, vec![of])),
        }
    }
    for (reason, all) in said {
        const MOST: usize = 3;
        let first = all[..all.len().min(MOST)].join(", ");
        match all.len().saturating_sub(MOST) {
            0 => say!("{first} {reason}"),
            others => say!("{first} and {others} more {reason}"),
        }
    }
}

fn sheet(lines: &[Line<'_>], subject: &Subject<'_>, intervals: Intervals) -> OutputTable {
    let mut columns = vec![
        "feature",
        "feature2",
        "output",
        "name",
        "value",
        "standard_error",
        "lower",
        "upper",
        "rows",
    ];
    if subject.scenario.is_some() {
        columns.extend(["truth", "abs_error", "method"]);
    }
    // As in the records of effects: of a model that has a structure to tell anything by.
    let has_structure = lines.iter().any(|line| line.of.by_structure.is_some());
    if has_structure {
        columns.push("by_structure");
    }
    columns.push("refused");
    let mut sheet = OutputTable::new(&columns);
    for line in lines {
        let of = line.of;
        let name = |place: usize| match of.features.get(place) {
            Some(&feature) => Entry::from(subject.named(feature)),
            None => Entry::Missing,
        };
        let mut row = vec![name(0), name(1), subject.output(of.output), of.index.name().into()];
        match &of.estimate {
            Ok(measured) => {
                let interval = intervals.about(measured);
                row.extend([measured.value.into(), measured.standard_error.into()]);
                row.extend([
                    interval.map(|(lower, _)| lower).into(),
                    interval.map(|(_, upper)| upper).into(),
                ]);
                row.push(measured.rows.into());
            }
            Err(_) => row.extend(std::iter::repeat_n(Entry::Missing, 5)),
        }
        if subject.scenario.is_some() {
            row.extend(match line.known() {
                Some(truth) => {
                    [truth.value.into(), truth.abs_error.into(), truth.method.to_string().into()]
                }
                None => [Entry::Missing, Entry::Missing, Entry::Missing],
            });
        }
        if has_structure {
            row.push(of.by_structure.map_or(Entry::Missing, Entry::from));
        }
        let reason = of.estimate.as_ref().err().map(ToString::to_string);
        row.push(reason.map_or(Entry::Missing, Entry::from));
        sheet.push(row);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// An index has one name, whether it is estimated or exact; two have no estimate or no truth.
    #[test]
    fn estimated_indices_are_called_as_exact_ones() {
        let exact: BTreeSet<&str> = fe_truth::Index::ALL.iter().map(|index| index.name()).collect();
        let estimated: BTreeSet<&str> = Index::all().map(Index::name).collect();
        let apart: Vec<&str> = exact.symmetric_difference(&estimated).copied().collect();
        assert_eq!(apart, ["ale2-derivative.sd", "permutation"]);
        for index in Index::all() {
            let known = fe_truth::Index::ALL.iter().find(|exact| exact.name() == index.name());
            assert!(known.is_none_or(|exact| exact.order() == index.order()), "{index}");
        }
    }
}
