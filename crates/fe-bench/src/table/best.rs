//! Best values of a column, and those that cannot be told from them.
//!
//! Errors from different truths are answers to different questions, and not told to be better or worse. Where f does not jump
//! along a feature, the ALE of differences and that of derivatives are one truth.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use fe_core::estimator::Estimand;
use fe_core::replicates::Paired;

use super::{Standing, contest};
use crate::data::scenarios;
use crate::data::sizes::Sizes;
use crate::record::Key;
use crate::record::summary::SummaryRow;
use crate::score::{Metric, estimand_of};
use crate::study::field::parts;

/// The fields that competing values share: the truth, and data, feature and metric. Estimators whose estimand
/// is not known have no competitors but themselves with other options.
#[derive(PartialEq, Eq, Hash)]
struct Contest {
    truth: Result<Estimand, String>,
    /// True of what two features do not do each on their own.
    interaction: bool,
    shared: Vec<String>,
}

impl Contest {
    fn of(key: &Key, truths: &SharedTruths) -> Self {
        let estimator = key.estimator.as_str();
        let truth = match estimand_of(estimator) {
            Some(Estimand::AccumulatedLocalEffects) if truths.ale_is_of_derivatives(key) => {
                Ok(Estimand::AccumulatedDerivatives)
            }
            known => known.ok_or_else(|| estimator.to_owned()),
        };
        let interaction = parts(&key.options).any(|part| part == ("interaction", "true"));
        Self { truth, interaction, shared: contest(key) }
    }
}

/// Features along which the ALE of differences and that of derivatives are the same curve.
#[derive(Debug, Default)]
pub(super) struct SharedTruths {
    /// The texts of the scenarios that come from files.
    problems: BTreeMap<String, String>,
    /// By scenario, parameters and feature.
    known: RefCell<HashMap<[String; 3], bool>>,
}

impl SharedTruths {
    pub(super) fn new(problems: BTreeMap<String, String>) -> Self {
        Self { problems, known: RefCell::default() }
    }

    /// True where the two are the same curve; their heterogeneities may differ.
    fn ale_is_of_derivatives(&self, key: &Key) -> bool {
        if !key.metric.parse().is_ok_and(Metric::is_of_curves) || !key.feature2.is_empty() {
            return false;
        }
        let place = [&key.scenario, &key.parameters, &key.feature].map(Clone::clone);
        let found = || -> Option<bool> {
            let scenario = scenarios::of_record(&key.scenario, &key.parameters, &self.problems)?;
            let mut features = 0..scenario.dimension();
            let feature = features.find(|s| scenario.feature_name(*s) == key.feature)?;
            scenario.ale_is_of_derivatives(feature).ok()
        };
        *self.known.borrow_mut().entry(place).or_insert_with(|| found().unwrap_or(false))
    }
}

/// The standings of the values of one column, in their order.
///
/// Values compete with those of the same truth, data, feature and metric, if the metric is an error.
/// Those compete on the datasets that they share.
pub(super) fn of_column(
    values: &[Option<&SummaryRow>],
    truths: &SharedTruths,
    sizes: &Sizes,
) -> Vec<Standing> {
    let mut standings = vec![Standing::Other; values.len()];
    let mut contests: HashMap<Contest, Vec<(usize, f64, &SummaryRow)>> = HashMap::new();
    for (i, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|value| value.paired.is_none() && is_error(value)) else {
            continue;
        };
        if let Some(mean) = value.summary.mean {
            contests.entry(Contest::of(&value.key, truths)).or_default().push((i, mean, value));
        }
    }
    for competitors in contests.values().filter(|competitors| competitors.len() > 1) {
        let Some(&(best, _, winner)) = competitors.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        let exact = largest_exact(winner, competitors.iter().map(|competitor| competitor.1), sizes);
        for &(i, mean, value) in competitors {
            if mean <= exact {
                standings[i] = Standing::Exact;
            } else if tied(value, winner) {
                standings[i] = Standing::Tied;
            }
        }
        standings[best] = Standing::Best;
    }
    standings
}

/// True for errors that are rounding alone beside the function and the largest error of the same metric of it.
pub(super) fn are_exact(values: &[SummaryRow], sizes: &Sizes) -> Vec<bool> {
    fn function(key: &Key) -> [&str; 3] {
        [&key.scenario, &key.parameters, &key.metric]
    }
    let errors = || values.iter().filter(|value| value.paired.is_none() && is_error(value));
    let mut most: HashMap<[&str; 3], f64> = HashMap::new();
    for (value, mean) in errors().filter_map(|value| Some((value, value.summary.mean?))) {
        let size = most.entry(function(&value.key)).or_default();
        *size = size.max(mean);
    }
    let is_exact = |value: &SummaryRow| {
        let (Some(mean), Some(most)) = (value.summary.mean, most.get(&function(&value.key))) else {
            return false;
        };
        let means = std::iter::once(*most);
        value.paired.is_none() && is_error(value) && mean <= largest_exact(value, means, sizes)
    };
    values.iter().map(is_exact).collect()
}

/// The largest mean that is rounding alone: what is exact is as good as what is exact.
fn largest_exact(row: &SummaryRow, means: impl Iterator<Item = f64>, sizes: &Sizes) -> f64 {
    let most = means.fold(0.0, f64::max);
    let size = sizes.of(&row.key.scenario, &row.key.parameters);
    let metric = row.key.metric.parse::<Metric>().ok();
    metric.and_then(|metric| metric.rounding(most, size)).unwrap_or(0.0)
}

fn is_error(value: &SummaryRow) -> bool {
    value.key.metric.parse::<Metric>().is_ok_and(Metric::is_error)
}

fn tied(value: &SummaryRow, best: &SummaryRow) -> bool {
    let paired = Paired::of(&value.pairs(best));
    match paired.difference.interval {
        Some((lo, hi)) => lo <= 0.0 && 0.0 <= hi,
        None => paired.difference.mean == Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(options: &str, mean: f64) -> SummaryRow {
        let key =
            Key { scenario: "poly3", estimator: "pdp", options, metric: "mse", ..Key::default() };
        let values = ["0", "1"].map(|replicate| (replicate.to_owned(), mean));
        SummaryRow::new(key.owned(), values.into_iter().collect(), 0)
    }

    #[test]
    fn what_is_exact_is_as_good_as_what_is_exact() {
        let rows = [row("grid=40", 3e-31), row("grid=41", 1e-33), row("grid=5", 0.1)];
        let values: Vec<_> = rows.iter().map(Some).collect();
        let expected = [Standing::Exact, Standing::Best, Standing::Other];
        assert!(of_column(&values, &SharedTruths::default(), &Sizes::default()) == expected);
    }

    #[test]
    fn rounding_is_exact_beside_what_it_is_rounding_of() {
        let small = [row("grid=40", 3e-31), row("grid=41", 0.0), row("grid=5", 1e-20)];
        assert_eq!(are_exact(&small, &Sizes::default()), [true, true, false]);
        let large = [row("grid=40", 3e-20), row("grid=41", 1e5), row("grid=5", 1e-7)];
        assert_eq!(are_exact(&large, &Sizes::default()), [true, false, false]);
        let coverage = SummaryRow::new(
            Key { metric: "coverage", ..small[1].key.borrowed() }.owned(),
            vec![("0".to_owned(), 0.0)],
            0,
        );
        assert_eq!(are_exact(&[coverage], &Sizes::default()), [false]);
    }
}
