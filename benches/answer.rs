//! The side of this workspace in a comparison with other libraries: answers requests, one line of JSON
//! each, with the processor time of one thread and with what came out. `scripts/peers/compare.py` asks.

use std::io::{BufRead, Write};
use std::path::Path;

use fe_bench::data::{Roles, read};
use fe_benches::clock::processor;
use fe_benches::process::memory;
use fe_benches::{Piece, Result, on_threads};
use fe_core::regional::{RegionalEffect, RuleKind};
use fe_core::shapley::{Background, Method, Shapley, values};
use fe_core::{Dataset, Settings};
use fe_truth::Scenario;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// What is to be computed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Data as `sample` writes them; read when they differ from those of the request before.
    data: String,
    /// An estimator, or `shapley` for the Shapley values of all rows on the background of all rows.
    estimator: String,
    #[serde(default)]
    preset: Option<String>,
    #[serde(default)]
    options: Settings,
    /// Counted from 0.
    features: Vec<usize>,
    /// Points at which the curves of each feature are to be evaluated.
    #[serde(default)]
    at: Vec<Vec<f64>>,
}

/// Seconds for which short work is repeated: a processor that was just woken is slow.
const STEADY: f64 = 0.005;

#[derive(Serialize)]
struct Answer {
    /// From an array of numbers to the curves, on one thread; the least of repeated ones.
    seconds: f64,
    /// Memory that it took at most, in bytes; null where the system does not tell.
    peak: Option<u64>,
    /// For each feature its curve, or its Shapley values.
    values: Vec<Vec<f64>>,
    /// For each feature the first split of its tree: feature, counted from 0, and position.
    splits: Vec<Option<(usize, f64)>>,
}

fn main() -> Result<()> {
    on_threads(1, answer_all)
}

fn answer_all() -> Result<()> {
    let mut known: Option<(String, Scenario, Dataset)> = None;
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        if known.as_ref().is_none_or(|(path, ..)| *path != request.data) {
            let data = read(Path::new(&request.data), Roles::default())?;
            let scenario = fe_benches::friedman1(data.dimension())?;
            known = Some((request.data.clone(), scenario, data));
        }
        let Some((_, scenario, data)) = &known else { continue };
        let answer = request.answer(scenario, data)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(())
}

impl Request {
    fn answer(&self, scenario: &Scenario, data: &Dataset) -> Result<Answer> {
        let columns = || (0..data.dimension()).flat_map(|j| data.feature(j).iter().copied());
        let (mut least, mut spent, mut before) = (f64::INFINITY, 0.0, None);
        loop {
            let array =
                Array2::from_shape_vec((data.dimension(), data.len()), columns().collect())?;
            // What the first estimate leaves is at hand for the others.
            if spent == 0.0 {
                before = resident();
            }
            // The array is given back after the clock has stopped, as that of the caller in Python is.
            let (seconds, ((values, splits), _data)) = processor(|| {
                let data = Dataset::from_features(array)?;
                let found = if self.estimator == "shapley" {
                    shapley(scenario, &data)?
                } else {
                    self.all(scenario, &data)?
                };
                Ok((found, data))
            })?;
            (least, spent) = (f64::min(least, seconds), spent + seconds);
            if spent >= STEADY {
                let after = memory("VmHWM").ok();
                let peak = after.zip(before).map(|(after, before)| after.saturating_sub(before));
                return Ok(Answer { seconds: least, peak, values, splits });
            }
        }
    }

    fn all(&self, scenario: &Scenario, data: &Dataset) -> Result<Found> {
        let mut found = Found::default();
        let none = Vec::new();
        for (i, &feature) in self.features.iter().enumerate() {
            let points = self.at.get(i).unwrap_or(&none);
            let options = Settings {
                points: Some(points.clone()).filter(|points| {
                    !points.is_empty() && ["pdp", "dpdp"].contains(&self.estimator.as_str())
                }),
                ..self.options.clone()
            };
            let piece = Piece::new(&self.estimator, self.preset.as_deref(), options)?;
            let (values, split) = match &piece {
                Piece::Global(estimator) => {
                    let effect =
                        estimator.estimate(data, scenario.model(), feature)?.swap_remove(0);
                    (effect.curve.at_all(points)?, None)
                }
                Piece::Regional(regional) => {
                    let effect = regional.fit(data, scenario.model(), feature)?.swap_remove(0);
                    (Vec::new(), first_split(&effect))
                }
            };
            found.0.push(values);
            found.1.push(split);
        }
        Ok(found)
    }
}

type Found = (Vec<Vec<f64>>, Vec<Option<(usize, f64)>>);

fn first_split(effect: &RegionalEffect) -> Option<(usize, f64)> {
    let rule = effect.tree.nodes().get(1)?.rule.as_ref()?;
    match rule.kind {
        RuleKind::AtMost(position) => Some((rule.feature, position)),
        _ => None,
    }
}

fn shapley(scenario: &Scenario, data: &Dataset) -> Result<Found> {
    let options = Shapley { method: Method::Exact, background: Background::All };
    let rows: Vec<usize> = (0..data.len()).collect();
    let shapley = values(data, scenario.model(), &rows, &options)?;
    let of = |feature: usize| rows.iter().map(|&row| shapley.values[[row, feature, 0]]).collect();
    Ok(((0..data.dimension()).map(of).collect(), Vec::new()))
}

/// Memory that is held now, from where a peak is counted.
fn resident() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    memory("VmRSS").ok()
}
