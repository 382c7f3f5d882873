//! The estimators of this program as an engine: requests in, replies out, line by line.

use std::fs;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::time::Instant;

use fe_core::effect::Limits;
use fe_core::estimator::{self, Estimator};
use fe_core::model::{FunctionModel, Model, Rows};
use fe_core::{AxisChoice, Curve, Dataset, Effect, Settings, preset};
use fe_truth::Expression;
use ndarray::Array2;
use serde_json::{Value, json};

use super::message::{EngineRequest, Numbers, PROTOCOL, Reply, Word, bytes, numbers, open};
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
    let feature = request.feature.strip_prefix('x').and_then(|s| s.parse::<usize>().ok());
    let feature = feature.filter(|s| (1..=request.features).contains(s));
    let feature = feature.ok_or_else(|| failed(format!("no feature `{}`", request.feature)))? - 1;
    let grid = read(&request.grid, request.points)?;
    let count = request.rows.checked_mul(request.features);
    let count = count.ok_or_else(|| failed("more numbers than any file has"))?;
    let values = read(&request.data, count)?;
    let array = Array2::from_shape_vec((request.features, request.rows), values).map_err(failed)?;
    let data = Dataset::from_features(array).map_err(failed)?;
    let estimator = estimator(request, &grid)?;
    let native = native(request);
    let trees = trees(request)?;
    let model: &dyn Model = native.as_ref().map_or(&trees as &dyn Model, |s| s.model());
    let (effect, samples, model_samples) = repeated(request, &data, model, feature, &*estimator)?;
    let x: Vec<f64> = grid.into_iter().filter(|&x| effect.record.axis.contains(x)).collect();
    let heterogeneity = effect.heterogeneity.at_all(&x).map_err(failed)?;
    let (probe, probe_partial) = probe(request, model, feature)?;
    let folder = Path::new(&request.folder);
    let file = |name: &str, values: &[f64]| -> Said<Numbers> {
        let name = format!("{name}.f64");
        fs::write(folder.join(&name), bytes(values)).map_err(failed)?;
        Ok(Numbers::File(name))
    };
    let band = effect.confidence.as_ref().map(|band| &band.pointwise);
    let limit = |name: &str, of: fn(&Limits) -> &Curve| {
        let values = band.map(|band| of(band).at_all(&x)).transpose().map_err(failed)?;
        values.map(|values| file(name, &values)).transpose()
    };
    Ok(Reply {
        lower: limit("lower", |band| &band.lower)?,
        upper: limit("upper", |band| &band.upper)?,
        probe: probe.into(),
        probe_partial: Some(probe_partial.into()),
        samples,
        model_samples,
        model_rows: effect.record.model_rows + effect.record.jacobian_rows,
        effect: file("effect", &effect.curve.at_all(&x).map_err(failed)?)?,
        heterogeneity: Some(file("heterogeneity", &heterogeneity)?),
        x: file("x", &x)?,
        record: serde_json::to_value(&effect.record).unwrap_or_default(),
        ..Reply::without_answer(request.id, Word::Ok, "")
    })
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

/// The estimator with the options of the request, as a study would build it.
fn estimator(request: &EngineRequest, grid: &[f64]) -> Said<Box<dyn Estimator>> {
    let mut options = request.options.clone();
    let preset = options.remove("preset");
    let settings: Settings = serde_json::from_value(Value::Object(options)).map_err(unsupported)?;
    let settings = match preset.as_ref().and_then(Value::as_str) {
        Some(name) => preset::complete(name, &request.effect, settings).map_err(unsupported)?,
        None => settings,
    };
    let axis = request.axis.map_or(AxisChoice::Data, |[lo, hi]| AxisChoice::Given(lo, hi));
    let settings = Settings { axis: Some(axis), points: Some(grid.to_vec()), ..settings };
    estimator::from_settings(&request.effect, &settings).map_err(unsupported)
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

/// The effect, and the seconds of each repetition: all of them, and those of the model.
fn repeated(
    request: &EngineRequest,
    data: &Dataset,
    model: &dyn Model,
    feature: usize,
    estimator: &dyn Estimator,
) -> Said<(Effect, Vec<f64>, Vec<f64>)> {
    let begun = Instant::now();
    let (mut samples, mut model_samples) = (Vec::new(), Vec::new());
    loop {
        let timed = Timed::new(model);
        let started = Instant::now();
        let effects = estimator.estimate(data, &timed, feature).map_err(failed)?;
        let seconds = started.elapsed().as_secs_f64();
        samples.push(seconds);
        model_samples.push(timed.seconds_of(seconds));
        let is_last = samples.len() >= request.repetitions
            || begun.elapsed().as_secs_f64() >= request.seconds;
        match effects.into_iter().next() {
            Some(effect) if is_last => return Ok((effect, samples, model_samples)),
            Some(_) => {}
            None => return Err(failed("no effect came out")),
        }
    }
}

/// Values of the model at the probe's rows, and derivatives along the feature.
fn probe(request: &EngineRequest, model: &dyn Model, feature: usize) -> Said<(Vec<f64>, Vec<f64>)> {
    if request.probe.iter().any(|row| row.len() != request.features) {
        return Err(failed("the rows of the probe do not fit the data"));
    }
    let column = |s: usize| request.probe.iter().map(|row| row[s]).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..request.features).map(column).collect();
    let columns: Vec<_> = columns.iter().map(|c| fe_core::model::Column::Values(c)).collect();
    let rows = Rows::new(&columns, request.probe.len());
    let mut values = vec![0.0; request.probe.len()];
    let mut partials = values.clone();
    model.predict(&rows, &mut values).map_err(failed)?;
    model.partial(feature, &rows, &mut partials).map_err(failed)?;
    Ok((values, partials))
}
