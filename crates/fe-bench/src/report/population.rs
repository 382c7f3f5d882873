//! Errors of estimators on many problems, and what they are explained by.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use fe_core::numeric::quantiles::SortedSample;
use fe_core::numeric::regression::Regression;
use rayon::prelude::*;

use crate::data::scenarios;
use crate::record::results::Results;
use crate::score::Metric;
use crate::study::key::Column;

/// Properties that tell problems apart: how many features there are, how many of them f reads, what share
/// of its variance is interaction, the largest correlation, how rough f is, and how often it breaks.
pub const PROPERTIES: [&str; 6] =
    ["features", "active", "interaction_share", "largest_correlation", "roughness", "breaks"];

/// Errors on problems.
#[derive(Debug)]
pub struct Judged {
    /// Names and versions of the problems, with their texts.
    problems: Vec<(String, String)>,
    /// Properties of each problem, once asked for: truths of a population take their time.
    told: OnceLock<Vec<Option<Told>>>,
    /// The estimators with their options, in words.
    pub estimators: Vec<String>,
    sizes: Vec<String>,
    /// Mean errors of features, by estimator, number of rows and place of the problem.
    errors: BTreeMap<(String, String, usize), BTreeMap<String, f64>>,
    /// True if the errors are squares.
    squared: bool,
}

/// Properties of a problem, and the size of its f.
#[derive(Debug)]
struct Told {
    /// In the order of [`PROPERTIES`].
    properties: [f64; PROPERTIES.len()],
    /// Standard deviation of f.
    sd: f64,
}

impl Told {
    /// None where they have no truth, or f is constant.
    fn of((id, text): &(String, String)) -> Option<Self> {
        let name = id.split('@').next().unwrap_or_default();
        let of = scenarios::of_text(&format!("{name}.toml"), text, &[]).ok()?.properties().ok()?;
        let properties = [
            of.features as f64,
            of.active as f64,
            of.interaction_share,
            of.largest_correlation,
            of.roughness,
            of.breaks as f64,
        ];
        (of.sd > 0.0).then_some(Self { properties, sd: of.sd })
    }
}

/// The errors of a study of problem files.
///
/// # Errors
/// Results without such files, or without the metric.
pub fn judged(results: &Results, metric: Metric) -> Result<Judged, String> {
    let texts = scenarios::recorded(results.manifest.studies.iter().map(|of| &of.study.problems));
    if texts.is_empty() {
        return Err("there is no problem file in these results".to_owned());
    }
    let problems: Vec<(String, String)> = texts.into_iter().collect();
    let place: BTreeMap<&str, usize> =
        problems.iter().enumerate().map(|(place, (id, _))| (id.as_str(), place)).collect();
    let (mut estimators, mut sizes) = (Vec::new(), Vec::new());
    let mut errors: BTreeMap<_, BTreeMap<String, f64>> = BTreeMap::new();
    for row in results.values.iter().filter(|row| row.key.metric == metric.name()) {
        let (Some(&place), Some(mean)) = (place.get(row.key.scenario.as_str()), row.summary.mean)
        else {
            continue;
        };
        let words = Column::ALL.into_iter().filter(|column| column.is_of_variant());
        // How many bins an automatic binning comes to is a result; centring and empty bins go without saying.
        let words = words.filter(|c| !matches!(c, Column::Centring | Column::EmptyBins));
        let words = words.flat_map(|column| row.key[column].split(';'));
        let words: Vec<&str> =
            words.filter(|word| !word.is_empty() && !word.starts_with("compared_on=")).collect();
        let (estimator, rows) = (words.join(" "), row.key.rows.clone());
        for (all, one) in [(&mut estimators, &estimator), (&mut sizes, &rows)] {
            if !all.contains(one) {
                all.push(one.clone());
            }
        }
        let of_problem = errors.entry((estimator, rows, place)).or_default();
        of_problem.insert(row.key.feature.clone(), mean);
    }
    if errors.is_empty() {
        return Err(format!("there is no value of `{}` in these results", metric.name()));
    }
    let squared = metric.is_squared();
    Ok(Judged { problems, told: OnceLock::new(), estimators, sizes, errors, squared })
}

impl Judged {
    /// The name and version of a problem.
    #[must_use]
    pub fn id(&self, place: usize) -> &str {
        &self.problems[place].0
    }

    /// The properties of a problem, where they can be told.
    fn told(&self, place: usize) -> Option<&Told> {
        let told = || self.problems.par_iter().map(Told::of).collect();
        self.told.get_or_init(told)[place].as_ref()
    }

    /// The places of the problems whose properties can be told, with these.
    pub fn properties(&self) -> impl Iterator<Item = (usize, &[f64; PROPERTIES.len()])> {
        (0..self.problems.len()).filter_map(|place| Some((place, &self.told(place)?.properties)))
    }

    /// The numbers of rows, as they stand in the results.
    pub fn sizes(&self) -> impl Iterator<Item = &str> {
        self.sizes.iter().map(String::as_str)
    }

    /// Each two estimators.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let all = &self.estimators;
        let each = all.iter().enumerate();
        each.flat_map(|(place, first)| {
            all[place + 1..].iter().map(move |second| (first.as_str(), second.as_str()))
        })
        .collect()
    }

    /// The errors of an estimator on a problem, feature by feature.
    fn of_problem(
        &self,
        estimator: &str,
        rows: &str,
        place: usize,
    ) -> Option<&BTreeMap<String, f64>> {
        self.errors.get(&(estimator.to_owned(), rows.to_owned(), place))
    }

    /// The decimal logarithm of a mean over features, in the unit of the error itself.
    fn log(&self, of: impl Iterator<Item = f64>) -> Option<f64> {
        let (sum, count) = of.fold((0.0, 0), |(sum, count), error| (sum + error, count + 1));
        let log = (sum / f64::from(count)).log10() * if self.squared { 0.5 } else { 1.0 };
        log.is_finite().then_some(log)
    }

    /// The decimal logarithms of an estimator's errors, with the places of the problems.
    #[must_use]
    pub fn errors(&self, estimator: &str, rows: &str) -> Vec<(usize, f64)> {
        let of_place = |place: usize| {
            let log = self.log(self.of_problem(estimator, rows, place)?.values().copied())?;
            // Derivatives are in another unit than f.
            let unit = if estimator.starts_with("dpdp") { 1.0 } else { self.told(place)?.sd };
            Some((place, log - unit.log10()))
        };
        (0..self.problems.len()).filter_map(of_place).collect()
    }

    /// The decimal logarithms of the ratios of two estimators' errors on the features that both have one for,
    /// with the places of the problems.
    #[must_use]
    pub fn ratios(&self, first: &str, second: &str, rows: &str) -> Vec<(usize, f64)> {
        let of_place = |place: usize| {
            let [first, second] = [first, second].map(|of| self.of_problem(of, rows, place));
            let (first, second) = (first?, second?);
            let shared = || first.keys().filter(|feature| second.contains_key(*feature));
            let [own, other] = [first, second].map(|of| self.log(shared().map(|key| of[key])));
            Some((place, own? - other?))
        };
        (0..self.problems.len()).filter_map(of_place).collect()
    }

    /// The logarithms of problems whose properties can be told.
    #[must_use]
    pub fn known(&self, logs: &[(usize, f64)]) -> Vec<(usize, f64)> {
        logs.iter().copied().filter(|(place, _)| self.told(*place).is_some()).collect()
    }

    /// The regression of logarithms on the properties in which their problems differ, each measured from its
    /// mean over these problems, and the names of these properties; none where there are too few problems.
    #[must_use]
    pub fn explained(
        &self,
        logs: &[(usize, f64)],
        level: f64,
    ) -> Option<(Vec<&'static str>, Regression)> {
        let logs = logs.iter().filter_map(|(place, log)| Some((self.told(*place)?, *log)));
        let logs: Vec<(&Told, f64)> = logs.collect();
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for (property, name) in PROPERTIES.into_iter().enumerate() {
            let values: Vec<f64> = logs.iter().map(|(told, _)| told.properties[property]).collect();
            if values.windows(2).any(|pair| pair[0] != pair[1]) {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                names.push(name);
                columns.push(values.into_iter().map(|value| value - mean).collect());
            }
        }
        let target: Vec<f64> = logs.iter().map(|(_, log)| *log).collect();
        Some((names, Regression::of(&columns, &target, level)?))
    }
}

/// The median of some numbers.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty())
        .then(|| SortedSample::new(values.iter().map(|value| (*value, 1.0))).quantile(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean squares 4 and 100 of the first, 1 of the second on one feature alone: that one has the ratio 2.
    #[test]
    fn ratios_are_of_the_features_that_both_have() {
        let key = |estimator: &str| (estimator.to_owned(), "50".to_owned(), 0);
        let of = |errors: &[(&str, f64)]| {
            errors.iter().map(|&(feature, error)| (feature.to_owned(), error)).collect()
        };
        let judged = Judged {
            problems: vec![("a@1".into(), String::new())],
            told: vec![Some(Told { properties: [0.0; PROPERTIES.len()], sd: 2.0 })].into(),
            estimators: vec!["first".into(), "second".into()],
            sizes: vec!["50".into()],
            errors: [
                (key("first"), of(&[("x1", 4.0), ("x2", 100.0)])),
                (key("second"), of(&[("x1", 1.0)])),
            ]
            .into(),
            squared: true,
        };
        let ratios = judged.ratios("first", "second", "50");
        assert!((ratios[0].1 - 2_f64.log10()).abs() < 1e-12, "{ratios:?}");
        // The root of the mean of all features, in standard deviations of f.
        let errors = judged.errors("first", "50");
        assert!((errors[0].1 - (52_f64.sqrt() / 2.0).log10()).abs() < 1e-12, "{errors:?}");
        assert!(judged.ratios("first", "third", "50").is_empty());
    }
}
