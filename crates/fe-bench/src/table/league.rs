//! Implementations of the same estimand beside each other, over all questions of a study.
//!
//! A question is a scenario with its parameters, a feature or a pair of features, and a number of rows; of indices the index
//! too, and what estimates it is the implementation. Errors of different
//! questions have different units, so implementations are compared question by question, dataset by
//! dataset; what is within Monte Carlo error of the best is a tie with it.

use std::collections::{BTreeMap, HashMap, HashSet};

use fe_core::indices::Index;
use fe_core::replicates::Paired;

use crate::record::summary::SummaryRow;
use crate::record::timings::Timing;
use crate::record::{Column, Key};

/// The columns that tell implementations apart.
const IMPLEMENTATION: [Column; 5] =
    [Column::Estimator, Column::Preset, Column::Binning, Column::Bins, Column::Options];

/// The columns that tell questions apart, within a study.
const QUESTION: [Column; 6] = [
    Column::Scenario,
    Column::Parameters,
    Column::Feature,
    Column::Feature2,
    Column::Output,
    Column::Rows,
];

/// Name of this program where an engine could stand.
const THIS: &str = "fe-bench";

/// Errors below this, in units of sd f(X) or, for variances, of its square, are roundings: they count as
/// equal to it.
const ROUNDING: f64 = 1e-9;

/// Standing of an implementation in a study.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueRow {
    /// The study.
    pub study: String,
    /// The implementation with its options.
    pub implementation: String,
    /// Number of questions that it answered on every dataset.
    pub answered: usize,
    /// Number of questions.
    pub questions: usize,
    /// In how many it is the best one, or not worse than that by more than Monte Carlo error.
    pub best_or_tied: usize,
    /// Mean over its questions of its rank in them: 1 and the number of those that are better by more
    /// than Monte Carlo error, so that ties share a rank.
    pub rank: Option<f64>,
    /// Median over its questions of its error in units of that of the best; errors are roots of the
    /// mean of `mse` over datasets, of trees of regions of `leaf_mse`, of indices of `index_squared_error`.
    pub error: Option<f64>,
    /// The same of the heterogeneity curve.
    pub heterogeneity: Option<f64>,
    /// Mean coverage of its bands over questions and datasets, but for those that it answers exactly.
    pub coverage: Option<f64>,
    /// Median seconds of an estimate.
    pub seconds: Option<f64>,
    /// Median of the seconds of an estimate in units of those of its model.
    pub over_model: Option<f64>,
    /// The most memory of its process, in bytes.
    pub peak_bytes: Option<u64>,
}

/// The values of a metric by dataset.
type Values = BTreeMap<String, Option<f64>>;
/// For each question, for each implementation.
type Table<V> = BTreeMap<(String, String), BTreeMap<String, V>>;

fn words(key: &Key, columns: &[Column]) -> String {
    let words = key.fields(columns.iter().copied()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The index that is estimated, where one is, and what estimates it.
fn index_of(key: &Key) -> Option<(&str, &str)> {
    let (engine, name) = key.estimator.split_once(':').unwrap_or((THIS, &key.estimator));
    name.parse::<Index>().is_ok().then_some((name, engine))
}

fn place(key: &Key) -> (String, String) {
    let question = words(key, &QUESTION);
    let question = match index_of(key) {
        Some((index, _)) => format!("{question} {index}"),
        None => question,
    };
    (key.study.clone(), question)
}

fn implementation_of(key: &Key) -> String {
    match index_of(key) {
        Some((_, engine)) => {
            let rest = words(key, &IMPLEMENTATION[1..]);
            if rest.is_empty() { engine.to_owned() } else { format!("{engine} {rest}") }
        }
        None => words(key, &IMPLEMENTATION),
    }
}

/// Times of the implementations of each study, and the most memory that they held.
#[derive(Debug, Default)]
pub struct Times(HashMap<(String, String), OfImplementation>);

#[derive(Debug, Default)]
struct OfImplementation {
    seconds: Vec<f64>,
    over_model: Vec<f64>,
    peak_bytes: Option<u64>,
}

impl Times {
    /// Takes up the time of an estimate.
    pub fn add(&mut self, timing: &Timing) {
        if timing.seconds <= 0.0 {
            return;
        }
        let key = (timing.key.study.clone(), implementation_of(&timing.key));
        let own = self.0.entry(key).or_default();
        own.seconds.push(timing.seconds);
        own.over_model.extend(over_model(timing));
        own.peak_bytes = own.peak_bytes.max(timing.peak_bytes);
    }
}

/// Standings of implementations in each study, by rank.
///
/// `sd` is the standard deviation of f(X) of a scenario with its parameters.
pub fn standings(
    rows: &[SummaryRow],
    mut times: Times,
    sd: impl Fn(&str, &str) -> Option<f64>,
) -> Vec<LeagueRow> {
    let mut metrics: BTreeMap<&str, Table<Values>> = BTreeMap::new();
    let mut scales: BTreeMap<String, f64> = BTreeMap::new();
    let mut deviations: HashMap<(&String, &String), f64> = HashMap::new();
    let (mut order, mut known) = (Vec::new(), HashSet::new());
    for row in rows {
        let implementation = implementation_of(&row.key);
        let own = (row.key.study.clone(), implementation.clone());
        if known.insert(own.clone()) {
            order.push(own);
        }
        let place = place(&row.key);
        let (scenario, parameters) = (&row.key.scenario, &row.key.parameters);
        let deviation = deviations.entry((scenario, parameters));
        let deviation = deviation.or_insert_with(|| sd(scenario, parameters).unwrap_or_default());
        scales.entry(place.1.clone()).or_insert(*deviation);
        let table = metrics.entry(row.key.metric.as_str()).or_default();
        let values = table.entry(place).or_default().entry(implementation).or_default();
        values
            .extend(row.values.iter().map(|(replicate, value)| (replicate.clone(), Some(*value))));
        // Which of the datasets it is does not matter.
        values.extend((0..row.failed).map(|i| (format!("failed {i}"), None)));
    }
    let mut of = |metric: &str| metrics.remove(metric).unwrap_or_default();
    // Of trees of regions the error is that of the curves in their leaves.
    let mut errors = of("mse");
    for metric in ["leaf_mse", "index_squared_error"] {
        for (place, by) in of(metric) {
            errors.entry(place).or_insert(by);
        }
    }
    let (heterogeneity, coverage) = (of("heterogeneity_mse"), of("coverage"));
    let scale = |place: &(String, String)| scales.get(&place.1).copied().unwrap_or(0.0);
    let floor = |place: &(String, String)| ROUNDING * scale(place);
    // A band about an exact curve has no width, and only roundings decide what it holds.
    let is_inexact = |place: &(String, String), implementation: &str| {
        let values = errors.get(place).and_then(|by| by.get(implementation));
        let values = values.into_iter().flat_map(BTreeMap::values).flatten();
        values.copied().fold(0.0, f64::max) > floor(place).powi(2)
    };
    let placed = Compared::of(&errors, floor);
    // Heterogeneities are variances.
    let spreads = Compared::of(&heterogeneity, |place| ROUNDING * scale(place).powi(2));
    let mut standings: Vec<LeagueRow> = order
        .into_iter()
        .map(|(study, implementation)| {
            let own = (study.clone(), implementation.clone());
            let timed = times.0.remove(&own).unwrap_or_default();
            let covered = coverage
                .iter()
                .filter(|(place, _)| place.0 == study && is_inexact(place, &implementation));
            let covered = covered.filter_map(|(_, by)| by.get(&implementation));
            let covered: Vec<f64> = covered.flat_map(BTreeMap::values).flatten().copied().collect();
            let of_errors = placed.of_implementation(&study, &implementation);
            let of_spreads = spreads.of_implementation(&study, &implementation);
            LeagueRow {
                answered: of_errors.len(),
                questions: placed.questions(&study),
                best_or_tied: of_errors.iter().filter(|place| place.tied).count(),
                rank: mean(&of_errors.iter().map(|place| place.rank).collect::<Vec<_>>()),
                error: median(of_errors.iter().map(|place| place.ratio)),
                heterogeneity: median(of_spreads.iter().map(|place| place.ratio)),
                coverage: mean(&covered),
                seconds: median(timed.seconds.into_iter()),
                over_model: median(timed.over_model.into_iter()),
                peak_bytes: timed.peak_bytes,
                study,
                implementation,
            }
        })
        .collect();
    standings.sort_by(|a, b| {
        let rank = |of: &LeagueRow| of.rank.unwrap_or(f64::INFINITY);
        let ratio = |of: &LeagueRow| of.error.unwrap_or(f64::INFINITY);
        let within = rank(a).total_cmp(&rank(b)).then(ratio(a).total_cmp(&ratio(b)));
        a.study.cmp(&b.study).then(within)
    });
    standings
}

fn over_model(timing: &Timing) -> Option<f64> {
    (timing.model_seconds > 0.0).then(|| timing.seconds / timing.model_seconds)
}

/// Standing of an implementation in a question.
#[derive(Debug, Clone, Copy)]
struct Placed {
    /// Its error in units of that of the best.
    ratio: f64,
    /// True if it is the best or tied with it.
    tied: bool,
    /// One more than how many are better.
    rank: f64,
}

/// For each question, how each implementation does that answered it.
struct Compared(Table<Placed>);

impl Compared {
    /// Of mean squared errors; those below the square of `floor` count as that.
    fn of(values: &Table<Values>, floor: impl Fn(&(String, String)) -> f64) -> Self {
        let compared = values.iter().map(|(place, by)| (place.clone(), compared(by, floor(place))));
        Self(compared.collect())
    }

    fn questions(&self, study: &str) -> usize {
        self.0.keys().filter(|(of, _)| of == study).count()
    }

    fn of_implementation(&self, study: &str, implementation: &str) -> Vec<Placed> {
        let own = self.0.iter().filter(|((of, _), _)| of == study);
        own.filter_map(|(_, by)| by.get(implementation).copied()).collect()
    }
}

fn compared(by: &BTreeMap<String, Values>, floor: f64) -> BTreeMap<String, Placed> {
    let complete = |values: &Values| -> Option<Vec<f64>> {
        values.values().map(|value| value.map(|v| v.max(floor * floor))).collect()
    };
    let answered: Vec<(&String, Vec<f64>)> =
        by.iter().filter_map(|(name, values)| Some((name, complete(values)?))).collect();
    let of = |values: &[f64]| mean(values).unwrap_or(f64::INFINITY);
    let best = answered.iter().min_by(|a, b| of(&a.1).total_cmp(&of(&b.1)));
    let Some((_, best)) = best else { return BTreeMap::new() };
    let placed = |(name, values): &(&String, Vec<f64>)| {
        let better = answered.iter().filter(|(_, other)| is_worse(values, other)).count();
        let place = Placed {
            ratio: if of(values) == of(best) { 1.0 } else { (of(values) / of(best)).sqrt() },
            tied: !is_worse(values, best),
            rank: 1.0 + better as f64,
        };
        ((*name).clone(), place)
    };
    answered.iter().map(placed).collect()
}

/// True if errors are larger than others by more than Monte Carlo error: the 95 % interval of the mean
/// of their differences, dataset by dataset, is above 0. Without an interval the means decide.
fn is_worse(errors: &[f64], others: &[f64]) -> bool {
    let pairs: Vec<(f64, f64)> = errors.iter().copied().zip(others.iter().copied()).collect();
    let difference = Paired::of(&pairs).difference;
    difference.interval.map_or(difference.mean > Some(0.0), |(lo, _)| lo > 0.0)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(if lower == upper { lower } else { 0.5 * (lower + upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(estimator: &str, feature: &str, replicate: usize, value: Option<f64>) -> SummaryRow {
        let key = Key { study: "s", estimator, feature, metric: "mse", ..Key::default() };
        let values = value.map(|value| (replicate.to_string(), value));
        SummaryRow::new(key.owned(), values.into_iter().collect(), usize::from(value.is_none()))
    }

    #[test]
    fn ties_are_within_monte_carlo_error_and_failures_are_missing_in_the_field() {
        let mut rows = Vec::new();
        for i in 0..4 {
            let noise = [0.1, -0.1, 0.2, -0.2][i];
            rows.push(row("best", "x1", i, Some(1.0)));
            // A mean of 1.01, with an interval that holds 1.
            rows.push(row("tied", "x1", i, Some(1.01 + noise)));
            rows.push(row("worse", "x1", i, Some(4.0 + noise)));
            rows.push(row("best", "x2", i, Some(1e-30)));
            rows.push(row("tied", "x2", i, Some(1e-25)));
            rows.push(row("worse", "x2", i, (i > 0).then_some(1.0)));
        }
        let all = standings(&rows, Times::default(), |_, _| Some(1.0));
        let named = |name: &str| all.iter().find(|s| s.implementation == name).unwrap();
        let of =
            |name: &str| (named(name).best_or_tied, named(name).answered, named(name).questions);
        assert_eq!(of("best"), (2, 2, 2));
        assert_eq!(of("tied"), (2, 2, 2));
        assert_eq!(of("worse"), (0, 1, 2));
        assert_eq!(named("worse").error, Some(2.0));
        assert_eq!(["best", "tied", "worse"].map(|n| named(n).rank.unwrap()), [1.0, 1.0, 3.0]);
        assert_eq!(all[0].implementation, "best");
        assert_eq!(all[2].implementation, "worse");
    }

    /// An index is a part of the question, and so is the second feature of a pair.
    #[test]
    fn indices_and_pairs_are_questions_of_their_own() {
        let row = |estimator: &str, feature2: &str, metric: &str, value: f64| {
            let key =
                Key { study: "s", estimator, feature: "x1", feature2, metric, ..Key::default() };
            let values = (0..3).map(|i| (i.to_string(), value)).collect();
            SummaryRow::new(key.owned(), values, 0)
        };
        let index = |estimator, value| row(estimator, "", "index_squared_error", value);
        let rows = [
            index("sobol.first", 1.0),
            index("sobol.total", 1.0),
            index("a:sobol.first", 4.0),
            index("a:sobol.total", 0.25),
            row("pdp", "x2", "mse", 1.0),
            row("pdp", "x3", "mse", 1.0),
            row("a:pdp", "x2", "mse", 9.0),
        ];
        let all = standings(&rows, Times::default(), |_, _| Some(1.0));
        let found: Vec<_> = all
            .iter()
            .map(|of| (of.implementation.as_str(), of.answered, of.questions, of.error))
            .collect();
        let wanted = [
            ("pdp", 2, 4, Some(1.0)),
            ("fe-bench", 2, 4, Some(1.5)),
            ("a", 2, 4, Some(1.5)),
            ("a:pdp", 1, 4, Some(3.0)),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([3.0, 1.0].into_iter()), Some(2.0));
        assert_eq!(median([1.0, f64::INFINITY, f64::INFINITY].into_iter()), Some(f64::INFINITY));
        assert_eq!(median([].into_iter()), None);
    }
}
