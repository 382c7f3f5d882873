//! The side of this workspace in a comparison with other libraries: answers requests, one line of JSON
//! each, with the processor time of one thread and with what came out. `scripts/peers/compare.py` asks.

use std::io::{BufRead, Write};
use std::path::Path;

use fe_bench::data::{Roles, read};
use fe_benches::clock::{processor, wall};
use fe_benches::process::memory;
use fe_benches::{Piece, Result, on_threads};
use fe_core::estimator::pair;
use fe_core::estimator::shapley::{Background, Shapley, ShapleyMethod, values};
use fe_core::indices::{self, Index, IndexEstimate, IndexOptions};
use fe_core::regional::{RegionalEffect, RuleKind};
use fe_core::{Dataset, Model, Settings, preset};
use fe_models::FittedModel;
use fe_models::stored::{self, Format};
use fe_truth::Scenario;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// A piece of work.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Data as `sample` writes them; read when they differ from those of the request before.
    data: String,
    /// An estimator, `shapley` for the Shapley values of all rows on the background of all rows, or an index of all pairs of
    /// the features, from all rows.
    estimator: String,
    /// A stored model that is asked instead of the function.
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    preset: Option<String>,
    #[serde(default)]
    options: Settings,
    /// Counted from 0.
    features: Vec<usize>,
    /// True for the effect of two features, that are together.
    #[serde(default)]
    pair: bool,
    /// Points at which the curves of each feature are to be evaluated.
    #[serde(default)]
    at: Vec<Vec<f64>>,
}

/// Seconds for which short work is repeated: a processor that was just woken is slow.
const STEADY: f64 = 0.005;

/// Least seconds between two looks at a clock: some stand still for tens of microseconds.
const BATCH: f64 = 0.001;

#[derive(Serialize)]
struct Answer {
    /// From an array of numbers to the curves, on one thread: seconds of the processor, each of a batch of runs.
    seconds: f64,
    /// The same by the clock on the wall.
    wall: f64,
    /// Memory that it took at most, in bytes; null where the system does not tell.
    peak: Option<u64>,
    /// For each feature its curve, or its Shapley values; of a pair its surface, and of an index its values.
    values: Vec<Vec<f64>>,
    /// For each feature the first split of its tree: feature, counted from 0, and position.
    splits: Vec<Option<(usize, f64)>>,
}

fn main() -> Result<()> {
    on_threads(1, answer_all)
}

fn answer_all() -> Result<()> {
    let mut known: Option<(String, Scenario, Dataset)> = None;
    let mut stored: Option<(String, Box<dyn FittedModel>)> = None;
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        if known.as_ref().is_none_or(|(path, ..)| *path != request.data) {
            let data = read(Path::new(&request.data), Roles::default())?;
            let scenario = fe_benches::friedman1(data.dimension())?;
            known = Some((request.data.clone(), scenario, data));
        }
        let Some((_, scenario, data)) = &known else { continue };
        if let Some(path) = &request.model
            && stored.as_ref().is_none_or(|(known, _)| known != path)
        {
            let format = Format::of(Path::new(path)).ok_or("no format of stored models")?;
            let model = stored::read(format, &std::fs::read(path)?, data.dimension())?.model;
            stored = Some((path.clone(), model));
        }
        let model: &dyn Model = match (&request.model, &stored) {
            (Some(_), Some((_, model))) => model.as_ref(),
            _ => scenario.model(),
        };
        let answer = request.answer(model, data)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(())
}

impl Request {
    fn answer(&self, model: &dyn Model, data: &Dataset) -> Result<Answer> {
        let columns = || (0..data.dimension()).flat_map(|j| data.feature(j).iter().copied());
        let array = || Array2::from_shape_vec((data.dimension(), data.len()), columns().collect());
        let run = |array: Array2<f64>| -> Result<(Found, Dataset)> {
            let data = Dataset::from_features(array)?;
            let shapley_values = self.estimator == "shapley";
            let found = match self.estimator.parse::<Index>() {
                Ok(index) => self.index(index, model, &data)?,
                Err(_) if shapley_values => shapley(model, &data)?,
                Err(_) if self.pair => self.surface(model, &data)?,
                Err(_) => self.all(model, &data)?,
            };
            Ok((found, data))
        };
        let (mut runs, mut spent, mut before) = (1, 0.0, None);
        loop {
            let arrays = (0..runs).map(|_| Ok(array()?)).collect::<Result<Vec<_>>>()?;
            // What the first estimate leaves is at hand for the others.
            before = before.or_else(resident);
            // The arrays are given back after the clocks have stopped, as that of the caller in Python is.
            let timed = || processor(|| arrays.into_iter().map(&run).collect::<Result<Vec<_>>>());
            let (wall, (seconds, mut done)) = wall(timed)?;
            spent += wall;
            let Some(((values, splits), _)) = done.pop() else { continue };
            if spent >= STEADY && wall >= BATCH && seconds > 0.0 {
                let after = memory("VmHWM").ok();
                let peak = after.zip(before).map(|(after, before)| after.saturating_sub(before));
                let (seconds, wall) = (seconds / f64::from(runs), wall / f64::from(runs));
                return Ok(Answer { seconds, wall, peak, values, splits });
            }
            if wall < BATCH || seconds <= 0.0 {
                runs *= 2;
            }
        }
    }

    fn surface(&self, model: &dyn Model, data: &Dataset) -> Result<Found> {
        let ([first, second], [x, y]) = (&self.features[..], &self.at[..]) else {
            return Err("a pair is of two features, and of points of both".into());
        };
        let settings = match &self.preset {
            Some(name) => preset::complete_pair(name, &self.estimator, self.options.clone())?,
            None => self.options.clone(),
        };
        let estimator = pair::from_settings(&self.estimator, [&settings; 2])?;
        let surface = estimator.estimate(data, model, [*first, *second])?.swap_remove(0);
        Ok((vec![surface.at_all([x, y])?], Vec::new()))
    }

    fn index(&self, index: Index, model: &dyn Model, data: &Dataset) -> Result<Found> {
        let later = |(place, &a): (usize, &usize)| -> Vec<[usize; 2]> {
            self.features[place + 1..].iter().map(|&b| [a, b]).collect()
        };
        let pairs: Vec<[usize; 2]> = self.features.iter().enumerate().flat_map(later).collect();
        let all = data.len();
        let options = IndexOptions { outer: all, background: all, ..IndexOptions::default() };
        let found = indices::estimate(data, model, &[index], (&[], &pairs), &options)?;
        let value = |of: IndexEstimate| Ok(of.estimate?.value);
        Ok((vec![found.estimates.into_iter().map(value).collect::<Result<_>>()?], Vec::new()))
    }

    fn all(&self, model: &dyn Model, data: &Dataset) -> Result<Found> {
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
                    let effect = estimator.estimate(data, model, feature)?.swap_remove(0);
                    (effect.curve.at_all(points)?, None)
                }
                Piece::Regional(regional) => {
                    let effect = regional.fit(data, model, feature)?.swap_remove(0);
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

fn shapley(model: &dyn Model, data: &Dataset) -> Result<Found> {
    let method = ShapleyMethod::suited_to_model(model, None, 0);
    let options = Shapley { method, background: Background::All };
    let rows: Vec<usize> = (0..data.len()).collect();
    let shapley = values(data, model, &rows, &options)?;
    let of = |feature: usize| rows.iter().map(|&row| shapley.values[[row, feature, 0]]).collect();
    Ok(((0..data.dimension()).map(of).collect(), Vec::new()))
}

/// Memory that is held now, from where a peak is counted.
fn resident() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    memory("VmRSS").ok()
}
