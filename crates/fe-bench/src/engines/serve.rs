//! The estimators of this program as an engine: requests in, replies out, line by line.

use std::fs;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::time::Instant;

use fe_core::effect::Limits;
use fe_core::estimator::{self, pair};
use fe_core::indices::{self, Index, IndexOptions, Measured};
use fe_core::model::{FunctionModel, Model, Rows};
use fe_core::{AxisChoice, Curve, Dataset, Settings, preset};
use fe_truth::Expression;
use ndarray::Array2;
use serde_json::{Value, json};

use super::message::{
    EngineRequest, MOST_NUMBERS, Numbers, PROTOCOL, Reply, Word, bytes, numbers, open,
};
use crate::error::caught;
use crate::error::{Error, Result};
use crate::system::clock::Timed;
use crate::system::say;

/// The longest request that is read.
const LONGEST_REQUEST: u64 = 64 << 20;

/// Answers requests until there are no more. Whatever a line says, it is answered, and so is the next.
///
/// # Errors
/// Input that cannot be read, or output that cannot be written.
pub fn serve(mut input: impl BufRead, mut output: impl Write) -> Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = input.by_ref().take(LONGEST_REQUEST).read_until(b'\n', &mut line);
        if length.map_err(Error::file("standard input"))? == 0 {
            return Ok(());
        }
        let is_cut = line.len() as u64 == LONGEST_REQUEST && !line.ends_with(b"\n");
        let reply = if is_cut {
            input.skip_until(b'\n').map_err(Error::file("standard input"))?;
            let said = format!("a request of more than {LONGEST_REQUEST} bytes");
            Reply::without_answer(0, Word::Error, said)
        } else {
            reply(&line)
        };
        let mut text = serde_json::to_vec(&reply).map_err(|e| Error::Output(e.into()))?;
        text.push(b'\n');
        output.write_all(&text).and_then(|()| output.flush()).map_err(Error::Output)?;
    }
}

fn reply(line: &[u8]) -> Reply {
    let request: Value = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(e) => return Reply::without_answer(0, Word::Error, e),
    };
    let id = request["id"].as_u64().unwrap_or_default();
    if request["protocol"] != json!(PROTOCOL) {
        let said = format!("version {} of the protocol, not {PROTOCOL}", request["protocol"]);
        return Reply::without_answer(id, Word::Unsupported, say::echo(&said));
    }
    let answered = || {
        let request: EngineRequest =
            serde_json::from_value(request).map_err(|e| (Word::Error, e.to_string()))?;
        answer(&request)
    };
    let mut word = Word::Error;
    let answer = caught(|| {
        answered().map_err(|(how, said)| {
            word = how;
            said
        })
    });
    answer.unwrap_or_else(|said| Reply::without_answer(id, word, said))
}

type Said<T> = std::result::Result<T, (Word, String)>;

fn failed(reason: impl ToString) -> (Word, String) {
    (Word::Error, reason.to_string())
}

fn unsupported(reason: impl ToString) -> (Word, String) {
    (Word::Unsupported, reason.to_string())
}

fn answer(request: &EngineRequest) -> Said<Reply> {
    let count = request.rows.checked_mul(request.features);
    let count = count.ok_or_else(|| failed("more numbers than any file has"))?;
    let values = read(&request.data, count)?;
    let array = Array2::from_shape_vec((request.features, request.rows), values).map_err(failed)?;
    let data = Dataset::from_features(array).map_err(failed)?;
    let native = native(request);
    let trees = trees(request)?;
    let model: &dyn Model = native.as_ref().map_or(&trees as &dyn Model, |s| s.model());
    let asked = Asked { request, data: &data, model };
    match (&request.feature2, request.indices.is_empty()) {
        (_, false) => asked.indices(),
        (Some(second), true) => asked.surface(second),
        (None, true) => asked.curve(),
    }
}

/// A request with its data and its model.
struct Asked<'a> {
    request: &'a EngineRequest,
    data: &'a Dataset,
    model: &'a dyn Model,
}

impl Asked<'_> {
    /// A feature by its name, counted from 0.
    fn feature(&self, name: &str) -> Said<usize> {
        let feature = name.strip_prefix('x').and_then(|s| s.parse::<usize>().ok());
        let feature = feature.filter(|s| (1..=self.request.features).contains(s));
        Ok(feature.ok_or_else(|| failed(format!("no feature `{name}`")))? - 1)
    }

    fn file(&self, name: &str, values: &[f64]) -> Said<Numbers> {
        let name = format!("{name}.f64");
        let path = Path::new(&self.request.folder).join(&name);
        fs::write(path, bytes(values)).map_err(failed)?;
        Ok(Numbers::File(name))
    }

    fn curve(&self) -> Said<Reply> {
        let request = self.request;
        let feature = self.feature(&request.feature)?;
        let grid = read(&request.grid, request.points)?;
        let settings = settings(request, request.axis, &grid, preset::complete)?;
        let estimator =
            estimator::from_settings(&request.effect, &settings).map_err(unsupported)?;
        let (effect, times) = repeated(request, self.model, |model| {
            let effects = estimator.estimate(self.data, model, feature).map_err(failed)?;
            effects.into_iter().next().ok_or_else(|| failed("no effect came out"))
        })?;
        let x: Vec<f64> = grid.into_iter().filter(|&x| effect.record.axis.contains(x)).collect();
        let heterogeneity = effect.heterogeneity.at_all(&x).map_err(failed)?;
        let band = effect.confidence.as_ref().map(|band| &band.pointwise);
        let limit = |name: &str, of: fn(&Limits) -> &Curve| {
            let values = band.map(|band| of(band).at_all(&x)).transpose().map_err(failed)?;
            values.map(|values| self.file(name, &values)).transpose()
        };
        let record = &effect.record;
        Ok(Reply {
            lower: limit("lower", |band| &band.lower)?,
            upper: limit("upper", |band| &band.upper)?,
            level: effect.confidence.as_ref().map(|band| band.record.level),
            probe_partial: Some(self.probe(Some(feature))?.into()),
            model_rows: record.model_rows + record.jacobian_rows,
            effect: self.file("effect", &effect.curve.at_all(&x).map_err(failed)?)?,
            heterogeneity: Some(self.file("heterogeneity", &heterogeneity)?),
            x: self.file("x", &x)?,
            record: serde_json::to_value(record).unwrap_or_default(),
            ..self.reply(times)?
        })
    }

    fn surface(&self, second: &str) -> Said<Reply> {
        let request = self.request;
        let features = [self.feature(&request.feature)?, self.feature(second)?];
        let grid2 = request.grid2.as_deref().ok_or_else(|| failed("`grid2` is missing"))?;
        let grids = [
            read(&request.grid, request.points)?,
            read(grid2, request.points2.unwrap_or_default())?,
        ];
        // Where no grid is asked for, a partial dependence is computed where it is compared.
        let takes_points =
            pair::info(&request.effect).is_ok_and(|info| info.options.contains(&"points"));
        let of = |side: usize, axis: Option<[f64; 2]>| -> Said<Settings> {
            let settings = settings(request, axis, &grids[side], preset::complete_pair)?;
            let exact = settings.grid.is_none() && takes_points;
            Ok(Settings { points: settings.points.filter(|_| exact), ..settings })
        };
        let both = [of(0, request.axis)?, of(1, request.axis2)?];
        let estimator =
            pair::from_settings(&request.effect, [&both[0], &both[1]]).map_err(unsupported)?;
        let (surface, times) = repeated(request, self.model, |model| {
            let all = estimator.estimate(self.data, model, features).map_err(failed)?;
            all.into_iter().next().ok_or_else(|| failed("no effect came out"))
        })?;
        let band = surface.confidence.as_ref().map(|band| &band.pointwise);
        let limit = |name: &str, of: fn(&Limits<Vec<f64>>) -> &Vec<f64>| {
            band.map(|band| self.file(name, of(band))).transpose()
        };
        Ok(Reply {
            lower: limit("lower", |band| &band.lower)?,
            upper: limit("upper", |band| &band.upper)?,
            level: surface.confidence.as_ref().map(|band| band.record.level),
            model_rows: surface.record.model_rows,
            effect: self.file("effect", &surface.values)?,
            x: self.file("x", &surface.x[0])?,
            x2: Some(self.file("x2", &surface.x[1])?),
            record: serde_json::to_value(&surface.record).unwrap_or_default(),
            ..self.reply(times)?
        })
    }

    fn indices(&self) -> Said<Reply> {
        let request = self.request;
        let mut options = request.options.clone();
        let mut take = |name: &str, usual: u64, most: u64| match options.remove(name) {
            None => Ok(usual),
            Some(value) => value.as_u64().filter(|number| *number <= most).ok_or_else(|| {
                unsupported(format!("`{name}` = {value}: must be a whole number up to {most}"))
            }),
        };
        let usual = IndexOptions::default();
        let mut size = |name: &str, usual: usize| -> Said<usize> {
            take(name, usual as u64, MOST_NUMBERS).map(|number| number as usize)
        };
        let found = IndexOptions {
            outer: size("outer", usual.outer)?,
            background: size("background", usual.background)?,
            bins: size("bins", usual.bins)?,
            seed: take("background_seed", usual.seed, u64::MAX)?,
            brute: usual.brute,
        };
        if let Some(unknown) = options.keys().next() {
            return Err(unsupported(format!("indices have no option `{unknown}`")));
        }
        let (mut asked, mut features, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let mut wanted = Vec::new();
        for question in &request.indices {
            let index: Index = question.index.parse().map_err(unsupported)?;
            let of: Vec<usize> =
                question.features.iter().map(|name| self.feature(name)).collect::<Said<_>>()?;
            match (index.order(), &of[..]) {
                (0, []) => {}
                (1, [feature]) => add(&mut features, *feature),
                (2, [first, second]) => add(&mut pairs, [*first, *second]),
                (order, _) => return Err(failed(format!("{index} is of {order} features"))),
            }
            add(&mut asked, index);
            wanted.push((index, of));
        }
        let (found, times) = repeated(request, self.model, |model| {
            let of = (&features[..], &pairs[..]);
            indices::estimate(self.data, model, &asked, of, &found).map_err(failed)
        })?;
        let told = |(index, of): &(Index, Vec<usize>)| {
            let mut all = found.estimates.iter();
            let own = all.find(|own| own.index == *index && own.features == *of && own.output == 0);
            own.and_then(|own| own.estimate.as_ref().ok())
        };
        let numbers = |of: &dyn Fn(&Measured) -> Option<f64>| -> Numbers {
            let values = wanted.iter().map(|one| told(one).and_then(of).unwrap_or(f64::NAN));
            values.collect::<Vec<f64>>().into()
        };
        Ok(Reply {
            indices: Some(numbers(&|of| Some(of.value))),
            lower: Some(numbers(&|of| Some(of.interval()?.0))),
            upper: Some(numbers(&|of| Some(of.interval()?.1))),
            level: Some(Measured::LEVEL),
            model_rows: found.model_rows + found.jacobian_rows,
            ..self.reply(times)?
        })
    }

    /// A reply with times and the values of the model at the probe's rows.
    fn reply(&self, (samples, model_samples): Times) -> Said<Reply> {
        let probe = self.probe(None)?.into();
        let empty = Reply::without_answer(self.request.id, Word::Ok, "");
        Ok(Reply { probe, samples, model_samples, ..empty })
    }

    /// Values of the model at the probe's rows, or derivatives along a feature.
    fn probe(&self, along: Option<usize>) -> Said<Vec<f64>> {
        let request = self.request;
        if request.probe.iter().any(|row| row.len() != request.features) {
            return Err(failed("the rows of the probe do not fit the data"));
        }
        let column = |s: usize| request.probe.iter().map(|row| row[s]).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..request.features).map(column).collect();
        let columns: Vec<_> = columns.iter().map(|c| fe_core::model::Column::Values(c)).collect();
        let rows = Rows::new(&columns, request.probe.len());
        let mut values = vec![0.0; request.probe.len()];
        match along {
            None => self.model.predict(&rows, &mut values).map_err(failed)?,
            Some(feature) => self.model.partial(feature, &rows, &mut values).map_err(failed)?,
        }
        Ok(values)
    }
}

/// Takes up what is not there yet.
fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// So many numbers of a file: whatever else there is, no more is read.
fn read(path: &str, count: usize) -> Said<Vec<f64>> {
    let wrong = |said: &dyn std::fmt::Display| failed(format!("{}: {said}", say::echo(path)));
    let length = count.checked_mul(8).map(|length| length as u64);
    let length = length.ok_or_else(|| wrong(&format!("{count} numbers are too many")))?;
    let file = open(Path::new(path)).map_err(|e| wrong(&e))?;
    let found = file.metadata().map_err(|e| wrong(&e))?.len();
    if found != length {
        return Err(wrong(&format!("{found} bytes for {count} numbers")));
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(|e| wrong(&e))?;
    let values = numbers(&bytes).filter(|values| values.len() == count);
    values.ok_or_else(|| wrong(&format!("{} bytes for {count} numbers", bytes.len())))
}

/// The options of a preset with those that are given.
type Complete = fn(&str, &str, Settings) -> fe_core::Result<Settings>;

/// The options of the request for a feature, as a study would give them.
fn settings(
    request: &EngineRequest,
    axis: Option<[f64; 2]>,
    grid: &[f64],
    complete: Complete,
) -> Said<Settings> {
    let mut options = request.options.clone();
    let preset = options.remove("preset");
    let settings: Settings = serde_json::from_value(Value::Object(options)).map_err(unsupported)?;
    let settings = match preset.as_ref().and_then(Value::as_str) {
        Some(name) => complete(name, &request.effect, settings).map_err(unsupported)?,
        None => settings,
    };
    let axis = axis.map_or(AxisChoice::Data, |[lo, hi]| AxisChoice::Given(lo, hi));
    Ok(Settings { axis: Some(axis), points: Some(grid.to_vec()), ..settings })
}

/// The scenario of the request, if it is one that this program has.
fn native(request: &EngineRequest) -> Option<fe_truth::Scenario> {
    let pair = |text: &str| text.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    let set: Vec<_> = request.scenario.parameters.split(';').filter_map(pair).collect();
    let scenario = fe_truth::scenario(&request.scenario.name, &set).ok()?;
    (scenario.dimension() == request.features).then_some(scenario)
}

/// The function as the request gives it.
fn trees(request: &EngineRequest) -> Said<FunctionModel<'_>> {
    let all = || request.partials.iter().chain([&request.model]);
    let last = all().filter_map(Expression::last_feature).max();
    if request.partials.len() != request.features || last >= Some(request.features) {
        return Err(failed("the model does not fit the data"));
    }
    Ok(FunctionModel::new(request.features, |x| request.model.value(x))
        .with_partial(|s, x| request.partials[s].value(x)))
}

/// Seconds of each repetition: all of them, and those of the model.
type Times = (Vec<f64>, Vec<f64>);

/// The estimate, as often as it is to be repeated, and its times.
fn repeated<T>(
    request: &EngineRequest,
    model: &dyn Model,
    estimate: impl Fn(&dyn Model) -> Said<T>,
) -> Said<(T, Times)> {
    let begun = Instant::now();
    let (mut samples, mut model_samples) = (Vec::new(), Vec::new());
    loop {
        let timed = Timed::new(model);
        let started = Instant::now();
        let found = estimate(&timed)?;
        let seconds = started.elapsed().as_secs_f64();
        samples.push(seconds);
        model_samples.push(timed.seconds_of(seconds));
        let is_last = samples.len() >= request.repetitions
            || begun.elapsed().as_secs_f64() >= request.seconds;
        if is_last {
            return Ok((found, (samples, model_samples)));
        }
    }
}
