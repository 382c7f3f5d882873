//! Running the cells of studies. Names no estimator and no scenario.

mod timed;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use fe_core::estimator::{self, Estimand, Estimator};
use fe_core::{Axis, Dataset, Effect, Settings};

use crate::draw;
use crate::error::Result;
use crate::record::{KEYS, Key, METRIC, Records, Row, Timing};
use crate::score::{Comparing, Metric, Score, Truths};
use crate::sheet::exact;
use crate::study::wire::Comparison;
use crate::study::{AxisSource, Group, Study, Variant};
use timed::Timed;

/// One dataset, and everything that is estimated from it.
struct Task<'a> {
    study: &'a str,
    group: &'a Group,
    truths: &'a Truths,
    replicate: usize,
}

/// Runs all cells of some studies on `jobs` threads.
///
/// The records are in the order of the studies, whatever the threads do. `progress` is told the
/// number of cells that were finished.
///
/// # Errors
/// Only what makes the whole run impossible; a cell that fails is a row.
pub fn run(
    studies: &[Study],
    seed: u64,
    jobs: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Records> {
    let groups: Vec<(&str, &Group, Truths)> = studies
        .iter()
        .flat_map(|study| study.groups.iter().map(|g| (study.name.as_str(), g, Truths::default())))
        .collect();
    let tasks: Vec<Task<'_>> = groups
        .iter()
        .flat_map(|(study, group, truths)| {
            (0..group.replicates).map(move |replicate| Task { study, group, truths, replicate })
        })
        .collect();
    let results: Vec<Mutex<Records>> = tasks.iter().map(|_| Mutex::default()).collect();
    // Long tasks first, so that none of them is left for the end.
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(tasks[i].group.rows));
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(&i) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let records = tasks[i].run(seed);
            progress(records.timings.len());
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = records;
        }
    };
    // A pool of one thread per worker: estimators must not share time with other cells.
    let alone = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| match alone() {
                Ok(pool) => pool.install(work),
                Err(_) => work(),
            });
        }
    });
    let mut all = Records::default();
    for records in results {
        let records = records.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.rows.extend(records.rows);
        all.timings.extend(records.timings);
    }
    Ok(all)
}

/// What an estimator gave, and how long it took.
struct Outcome {
    estimator: Option<Box<dyn Estimator>>,
    effects: Result<Vec<Effect>, String>,
    seconds: f64,
    model_seconds: f64,
}

impl Task<'_> {
    fn run(&self, seed: u64) -> Records {
        let group = self.group;
        let data = draw::features(&group.scenario, seed, group.rows, self.replicate);
        let data = data.map_err(|e| e.to_string());
        let mut records = Records::default();
        for &feature in &group.features {
            self.run_feature(&data, feature, &mut records);
        }
        records
    }

    fn run_feature(&self, data: &Result<Dataset, String>, feature: usize, records: &mut Records) {
        let group = self.group;
        let (lo, hi) = group.scenario.axis(feature);
        let grid = Axis::new(lo, hi).map(|axis| axis.grid(group.grid)).unwrap_or_default();
        let outcomes: Vec<Outcome> =
            group.variants.iter().map(|v| self.estimate(data, feature, v, &grid)).collect();
        let points = common_points(&grid, &outcomes);
        let comparing = Comparing {
            points: &points,
            left_out: grid.len() - points.len(),
            comparison: group.comparison,
        };
        for (variant, outcome) in group.variants.iter().zip(outcomes) {
            self.record(feature, variant, &outcome, comparing, records);
        }
    }

    fn estimate(
        &self,
        data: &Result<Dataset, String>,
        feature: usize,
        variant: &Variant,
        grid: &[f64],
    ) -> Outcome {
        let scenario = &self.group.scenario;
        let settings = Settings {
            axis: Some(variant.axis.resolve(scenario, feature)),
            points: Some(grid.to_vec()),
            ..variant.settings.clone()
        };
        let model = Timed::new(scenario.model());
        let built = estimator::from_settings(&variant.estimator, &settings);
        let started = Instant::now();
        let effects = match (data, &built) {
            (Err(e), _) => Err(e.clone()),
            (_, Err(e)) => Err(e.to_string()),
            (Ok(data), Ok(built)) => {
                built.estimate(data, &model, feature).map_err(|e| e.to_string())
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        Outcome { estimator: built.ok(), effects, seconds, model_seconds: model.seconds() }
    }

    fn record(
        &self,
        feature: usize,
        variant: &Variant,
        outcome: &Outcome,
        comparing: Comparing<'_>,
        records: &mut Records,
    ) {
        let key = self.key(feature, variant, outcome.estimator.as_deref());
        records.timings.push(Timing {
            key: key.clone(),
            seconds: outcome.seconds,
            model_seconds: outcome.model_seconds,
        });
        let estimand = outcome.estimator.as_ref().map(|estimator| estimator.estimand());
        for &metric in &self.group.metrics {
            let mut key = key.clone();
            metric.name().clone_into(&mut key[METRIC]);
            match (&outcome.effects, estimand) {
                (Ok(effects), Some(estimand)) => {
                    for effect in effects {
                        let score = self.score(metric, estimand, effect, comparing);
                        key[5] = (effect.output + 1).to_string();
                        let model_rows =
                            Some(effect.record.model_rows + effect.record.jacobian_rows);
                        records.rows.push(Row { key: key.clone(), score, model_rows });
                    }
                }
                (Err(reason), _) => {
                    records.rows.push(Row { key, score: Score::failed(reason), model_rows: None });
                }
                (Ok(_), None) => {}
            }
        }
    }

    fn score(
        &self,
        metric: Metric,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
    ) -> Score {
        self.truths.score(&self.group.scenario, metric, estimand, effect, comparing)
    }

    fn key(&self, feature: usize, variant: &Variant, estimator: Option<&dyn Estimator>) -> Key {
        let binning = estimator.and_then(|estimator| estimator.binning());
        let empty_bins = binning.map(|_| word(&variant.settings.empty.unwrap_or_default()));
        let centring = match self.group.comparison {
            Comparison::Centred => "grid".to_owned(),
            Comparison::AsTheyAre => estimator.map(|e| word(&e.centring())).unwrap_or_default(),
        };
        let bins = binning.and_then(|binning| binning.bins());
        let key = vec![
            self.study.to_owned(),
            self.group.scenario.id(),
            self.group.scenario.parameters(),
            format!("x{}", feature + 1),
            String::new(),
            "1".to_owned(),
            variant.estimator.clone(),
            variant.preset.clone().unwrap_or_default(),
            binning.map(|binning| binning.describe()).unwrap_or_default(),
            bins.map(|bins| bins.to_string()).unwrap_or_default(),
            centring,
            empty_bins.unwrap_or_default(),
            options(variant),
            self.group.rows.to_string(),
            String::new(),
            self.replicate.to_string(),
            "empirical:theoretical".to_owned(),
            String::new(),
            String::new(),
        ];
        debug_assert_eq!(key.len(), KEYS.len());
        key
    }
}

/// The grid points within the limits of every estimate.
fn common_points(grid: &[f64], outcomes: &[Outcome]) -> Vec<f64> {
    let effects = || outcomes.iter().filter_map(|o| o.effects.as_ref().ok()).flatten();
    let within = |x: f64, effect: &Effect| effect.record.axis.contains(x);
    grid.iter().copied().filter(|&x| effects().all(|effect| within(x, effect))).collect()
}

/// The name under which a file knows an option's value.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// The options that no other column tells, as `key=value` in alphabetical order.
fn options(variant: &Variant) -> String {
    const TOLD_ELSEWHERE: [&str; 8] =
        ["binning", "bins", "limits", "min_points", "discount", "axis", "empty", "points"];
    let settings = serde_json::to_value(&variant.settings).unwrap_or_default();
    let mut options: Vec<String> = settings
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| !value.is_null() && !TOLD_ELSEWHERE.contains(&key.as_str()))
        .map(|(key, value)| {
            format!("{key}={}", value.as_str().map_or(value.to_string(), str::to_owned))
        })
        .collect();
    options.extend(match variant.axis {
        AxisSource::Scenario => None,
        AxisSource::Data => Some("axis=data".to_owned()),
        AxisSource::Given(lo, hi) => Some(format!("axis={} {}", exact(lo), exact(hi))),
        AxisSource::Quantiles(rule, from, to) => {
            Some(format!("axis={}:{} {}", rule.name(), exact(from), exact(to)))
        }
    });
    options.sort();
    options.join(";")
}
