//! Two runs of the same studies: which numbers moved, and which only took another time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use fe_core::numeric::quantiles::SortedSample;
use fe_core::replicates::{Paired, Summary, Test, holm};

use crate::data::scenarios;
use crate::error::{Error, Result};
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, results, timings};
use crate::score::Metric;

/// A results folder.
#[derive(Debug)]
pub struct Run {
    seed: u64,
    numbers: Vec<SummaryRow>,
    timings: Timings,
    /// Texts of scenarios in files, by their names and versions.
    problems: BTreeMap<String, String>,
}

/// Times of estimates: a number for each, as there may be as many as values.
#[derive(Debug, Default)]
struct Timings {
    /// Groups in which times are gathered: study, estimator and rows.
    groups: Vec<[String; 3]>,
    /// The place of the group, what stands for the estimate, and the seconds.
    of_estimates: Vec<(usize, u128, f64)>,
}

impl Timings {
    fn read(folder: &Path) -> Result<Self> {
        let (mut all, mut places) = (Self::default(), HashMap::new());
        timings::each(folder, |timing| {
            let place = *places.entry(group(&timing.key)).or_insert_with_key(|group| {
                all.groups.push(group.clone());
                all.groups.len() - 1
            });
            let estimate = timing.key.fingerprint();
            all.of_estimates.push((place, estimate, timing.seconds));
        })?;
        Ok(all)
    }
}

impl Run {
    /// Reads a results folder.
    ///
    /// # Errors
    /// A folder that is not one.
    pub fn read(folder: &Path) -> Result<Self> {
        let results = results::read(folder)?;
        results.need_datasets(folder, "a comparison of runs")?;
        let timings = Timings::read(folder)?;
        let files = results.manifest.studies.iter().map(|named| &named.study.problems);
        let problems = scenarios::recorded(files);
        Ok(Self { seed: results.manifest.seed, numbers: results.values, timings, problems })
    }

    /// Refuses runs in which scenarios of one name and version say different things.
    fn check_problems(&self, other: &Self) -> Result<()> {
        let differs = |(id, text): &(&String, &String)| {
            other.problems.get(*id).is_some_and(|theirs| theirs != *text)
        };
        if let Some((id, _)) = self.problems.iter().find(differs) {
            return Err(Error::Argument(format!(
                "the scenario `{id}` says different things in the two runs; a changed file needs \
                 another `version`"
            )));
        }
        match self.only_here_a_file(other).or_else(|| other.only_here_a_file(self)) {
            None => Ok(()),
            Some(id) => Err(Error::Argument(format!(
                "the scenario `{id}` is that of a file in one of the runs and the built-in one in the \
                 other; rename the file or give it another `version`"
            ))),
        }
    }

    /// A scenario in a file that the other run has too, but not from a file.
    fn only_here_a_file(&self, other: &Self) -> Option<&str> {
        let is_built_in = |id: &str| {
            !other.problems.contains_key(id)
                && other.numbers.iter().any(|row| row.key.scenario == id)
        };
        self.problems.keys().map(String::as_str).find(|id| is_built_in(id))
    }
}

/// Thresholds of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Relative difference that may be rounding; errors below it in units of f are all rounding.
    pub rounding: f64,
    /// Probability that any number is said to have moved if none has.
    pub alpha: f64,
}

/// Verdict on a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Every replicate that both runs have has the same bits.
    Same,
    /// Every replicate is the same up to rounding.
    Rounding,
    /// The difference is within the Monte Carlo error.
    Within,
    /// Different, and the Monte Carlo error is not known.
    Untested,
    /// Only the first run has it.
    OnlyFirst,
    /// Only the second run has it.
    OnlySecond,
    /// The difference is beyond the Monte Carlo error, or the number fails in one run only.
    Moved,
}

impl Verdict {
    /// All of them, from the most to the least harmless.
    pub const ALL: [Verdict; 7] = [
        Verdict::Same,
        Verdict::Rounding,
        Verdict::Within,
        Verdict::Untested,
        Verdict::OnlyFirst,
        Verdict::OnlySecond,
        Verdict::Moved,
    ];
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Verdict::Same => "same",
            Verdict::Rounding => "rounding",
            Verdict::Within => "within Monte Carlo error",
            Verdict::Untested => "untested",
            Verdict::OnlyFirst => "only in the first",
            Verdict::OnlySecond => "only in the second",
            Verdict::Moved => "moved",
        })
    }
}

/// A number of one or both runs: a mean over replicates.
#[derive(Debug, Clone)]
pub struct Number {
    /// Its key, without a replicate.
    pub key: Key,
    /// In the first run.
    pub first: Option<Summary>,
    /// In the second run.
    pub second: Option<Summary>,
    /// Number of replicates that failed, in the first and in the second run.
    pub failed: (usize, usize),
    /// Mean of the second less that of the first.
    pub difference: Option<f64>,
    /// p-value of the test that it is 0, adjusted for all numbers tested.
    pub p: Option<f64>,
    /// Its outcome.
    pub verdict: Verdict,
}

/// Times of the estimates of an estimator in both runs.
#[derive(Debug, Clone)]
pub struct Time {
    /// The study.
    pub study: String,
    /// The estimator.
    pub estimator: String,
    /// Rows of the data.
    pub rows: String,
    /// Median seconds of an estimate, in the first and in the second run.
    pub seconds: (f64, f64),
    /// Quartiles of the ratio of second to first, over the estimates that both runs have.
    pub quartiles: (f64, f64),
    /// The least harmless verdict on the numbers of these estimates.
    pub numbers: Verdict,
}

impl Time {
    /// Ratio beyond which the middle half of the estimates must lie to be slower or faster.
    pub const FACTOR: f64 = 1.25;

    /// `slower`, `faster`, or empty.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.quartiles.0 > Self::FACTOR {
            "slower"
        } else if self.quartiles.1 < Self::FACTOR.recip() {
            "faster"
        } else {
            ""
        }
    }
}

/// A comparison of two runs.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// True if both drew the same datasets, so that numbers are compared replicate by replicate.
    pub paired: bool,
    /// The numbers, in the order of the first run, then those only in the second.
    pub numbers: Vec<Number>,
    /// The times.
    pub times: Vec<Time>,
}

impl RunComparison {
    /// Number of numbers with a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.numbers.iter().filter(|number| number.verdict == verdict).count()
    }
}

/// Compares two runs.
///
/// With the same master seed, numbers are compared replicate by replicate (see
/// [`Test::of_rerun`]), otherwise by Welch's test; p-values are adjusted by Holm's method.
///
/// # Errors
/// Runs that share no number.
pub fn compare(first: &Run, second: &Run, tolerance: Tolerance) -> Result<RunComparison> {
    first.check_problems(second)?;
    let paired = first.seed == second.seed;
    let others: HashMap<&Key, &SummaryRow> =
        second.numbers.iter().map(|number| (&number.key, number)).collect();
    let known: HashSet<&Key> = first.numbers.iter().map(|number| &number.key).collect();
    let mut numbers: Vec<Number> = first
        .numbers
        .iter()
        .map(|number| match others.get(&number.key) {
            Some(other) => both(number, other, paired, tolerance.rounding),
            None => single(number, Verdict::OnlyFirst),
        })
        .collect();
    if numbers.iter().all(|number| number.verdict == Verdict::OnlyFirst) {
        return Err(Error::Argument("the two runs have no number in common".to_owned()));
    }
    let only = second.numbers.iter().filter(|number| !known.contains(&number.key));
    numbers.extend(only.map(|number| single(number, Verdict::OnlySecond)));
    judge(&mut numbers, tolerance.alpha);
    let times = times(&first.timings, &second.timings, &numbers);
    Ok(RunComparison { paired, numbers, times })
}

fn single(number: &SummaryRow, verdict: Verdict) -> Number {
    let in_first = verdict == Verdict::OnlyFirst;
    let summary = |here: bool| here.then_some(number.summary);
    let failed = |here: bool| if here { number.failed } else { 0 };
    Number {
        key: number.key.clone(),
        first: summary(in_first),
        second: summary(!in_first),
        failed: (failed(in_first), failed(!in_first)),
        difference: None,
        p: None,
        verdict,
    }
}

/// A number of both runs, with a p-value that is not adjusted yet.
fn both(first: &SummaryRow, second: &SummaryRow, paired: bool, rounding: f64) -> Number {
    let pairs = first.pairs(second);
    let (verdict, p) = if fails_once(first, second, &pairs, paired) {
        (Verdict::Moved, None)
    } else if same(first, second, &pairs) {
        (Verdict::Same, None)
    } else if paired {
        rerun(&pairs, |a, b| close(a, b, &first.key, rounding))
    } else {
        match Test::welch(&second.summary, &first.summary) {
            Some(test) => (Verdict::Within, Some(test.p)),
            None => (Verdict::Untested, None),
        }
    };
    let difference = if paired {
        Paired::of(&pairs).difference.mean.map(|mean| -mean)
    } else {
        first.summary.mean.zip(second.summary.mean).map(|(a, b)| b - a)
    };
    Number {
        key: first.key.clone(),
        first: Some(first.summary),
        second: Some(second.summary),
        failed: (first.failed, second.failed),
        difference,
        p,
        verdict,
    }
}

/// True if every replicate that both runs have has the same bits.
fn same(first: &SummaryRow, second: &SummaryRow, pairs: &[(f64, f64)]) -> bool {
    let nothing = first.values.is_empty() && second.values.is_empty();
    nothing || (!pairs.is_empty() && pairs.iter().all(|(a, b)| a.to_bits() == b.to_bits()))
}

/// True if a replicate of both runs fails in one of them; on different data, whether all do.
fn fails_once(first: &SummaryRow, second: &SummaryRow, pairs: &[(f64, f64)], paired: bool) -> bool {
    if !paired {
        return first.summary.mean.is_some() != second.summary.mean.is_some();
    }
    let replicates = |row: &SummaryRow| row.values.len() + row.failed;
    let fewest = first.values.len().min(second.values.len());
    let same_number = replicates(first) == replicates(second);
    pairs.len() < fewest || (same_number && first.failed != second.failed)
}

/// Verdict on a number on the same datasets.
fn rerun(pairs: &[(f64, f64)], close: impl Fn(f64, f64) -> bool) -> (Verdict, Option<f64>) {
    if pairs.iter().all(|(a, b)| close(*a, *b)) {
        return (Verdict::Rounding, None);
    }
    match Test::of_rerun(pairs) {
        Some(test) => (Verdict::Within, Some(test.p)),
        // The same data gave another number, and that is no accident.
        None => (Verdict::Moved, None),
    }
}

/// True if two values of a number are the same but for rounding.
fn close(a: f64, b: f64, key: &Key, rounding: f64) -> bool {
    let size = a.abs().max(b.abs());
    size <= floor(key, rounding) || (a - b).abs() <= rounding * size
}

/// Errors below this are rounding, in the unit of the metric.
fn floor(key: &Key, rounding: f64) -> f64 {
    match key.metric.parse::<Metric>() {
        Ok(metric) if metric.is_squared() => rounding * rounding,
        Ok(metric) if metric.is_error() => rounding,
        _ => 0.0,
    }
}

/// Adjusts p-values and says which numbers moved.
fn judge(numbers: &mut [Number], alpha: f64) {
    let p: Vec<f64> = numbers.iter().filter_map(|number| number.p).collect();
    let tested = numbers.iter_mut().filter(|number| number.p.is_some());
    for (number, adjusted) in tested.zip(holm(&p)) {
        number.p = Some(adjusted);
        if adjusted < alpha {
            number.verdict = Verdict::Moved;
        }
    }
}

/// Groups in which times are gathered: study, estimator and rows.
fn group(key: &Key) -> [String; 3] {
    [&key.study, &key.estimator, &key.rows].map(String::clone)
}

fn times(first: &Timings, second: &Timings, numbers: &[Number]) -> Vec<Time> {
    let others: HashMap<u128, f64> =
        second.of_estimates.iter().map(|&(_, estimate, seconds)| (estimate, seconds)).collect();
    let mut order: Vec<[String; 3]> = Vec::new();
    let mut pairs: HashMap<[String; 3], Vec<(f64, f64)>> = HashMap::new();
    for (place, estimate, seconds) in &first.of_estimates {
        let Some(&other) = others.get(estimate) else { continue };
        let group = &first.groups[*place];
        if !pairs.contains_key(group) {
            order.push(group.clone());
        }
        pairs.entry(group.clone()).or_default().push((*seconds, other));
    }
    let mut worst: HashMap<[String; 3], Verdict> = HashMap::new();
    for number in numbers {
        let known = worst.entry(group(&number.key)).or_insert(Verdict::Same);
        *known = number.verdict.max(*known);
    }
    let time = |group: [String; 3]| {
        let pairs = &pairs[&group];
        let sample = |value: fn(&(f64, f64)) -> f64| {
            SortedSample::new(pairs.iter().map(|pair| (value(pair), 1.0)))
        };
        let ratios = sample(|(a, b)| b / a);
        let numbers = worst.get(&group).copied().unwrap_or(Verdict::Same);
        let [study, estimator, rows] = group;
        Time {
            study,
            estimator,
            rows,
            seconds: (sample(|pair| pair.0).quantile(0.5), sample(|pair| pair.1).quantile(0.5)),
            quartiles: (ratios.quantile(0.25), ratios.quantile(0.75)),
            numbers,
        }
    };
    order.into_iter().map(time).collect()
}

/// The columns in which some numbers differ, but for the replicate; the metric always.
#[must_use]
pub fn varying(numbers: &[&Number]) -> Vec<Column> {
    let varies = |column: Column| numbers.iter().any(|n| n.key[column] != numbers[0].key[column]);
    let shown = |column: &Column| *column == Column::Metric || varies(*column);
    Column::of_means().filter(shown).collect()
}
