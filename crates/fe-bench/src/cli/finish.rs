//! `fe-bench finish`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser};
use serde_json::{Map, Value};

use super::plan::{Plan, PlanRecord, VERSION, beside};
use crate::data::query::{Answers, TOLD_BY, ToldBy};
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};

/// Computes effects from a model's answers to the questions of `plan`.
///
/// It prints what `effect` prints. The predictions are a CSV file whose first line names the outputs
/// and which answers every row of QUERY.csv, in its order.
///
/// With the columns `method` and `replicate`, one of them or both, it has the answers of several models, those of one
/// after those of the other, and what is printed has the columns method, replicate and N: `fe-bench score --out DIR` makes
/// a results folder of it. Where each dataset has questions of its own, --method and --replicate say what the answers are
/// of.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The questions, with QUERY.csv.plan.json beside them
    #[arg(value_name = "QUERY.csv")]
    questions: PathBuf,
    /// The answers
    #[arg(long, value_name = "PRED.csv")]
    predictions: PathBuf,
    /// Name of the method, for the column `method`; of answers without such a column
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Number of the dataset, counted from 0, for the column `replicate`; of answers without such a column
    #[arg(long, value_name = "R", value_parser = super::arguments::seed)]
    replicate: Option<u64>,
    /// Where the data file is now [default: where it was]
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,
    /// How it is printed [default: as `plan` was told]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let (plan, path) = read(&arguments.questions)?;
    let held = PlanRecord::try_parse_from(&plan.arguments)
        .map_err(|e| Error::content(&path, format!("its arguments cannot be used: {e}")))?;
    let mut planned = held.arguments;
    if let Some(data) = &arguments.data {
        planned.data.clone_from(data);
    }
    let format = arguments.format.unwrap_or_else(|| planned.estimation.format());
    planned.estimation.print_as(format);
    let (data, hash) = planned.read()?;
    if hash != plan.data_sha256 {
        return Err(Error::content(
            &planned.data,
            "not the data that the questions were made from",
        ));
    }
    let derivatives = planned.derivatives();
    let (questions, predictions) = (&arguments.questions, &arguments.predictions);
    let mut next = Some(Answers::open(questions, predictions, &data, derivatives)?);
    let mut all = Vec::new();
    // Nothing is printed before it is certain that questions and answers belong together.
    let mut printed = Vec::new();
    while let Some(answers) = next {
        let model = arguments.model(answers.model())?;
        let result = match &model {
            None => planned.estimate(&data, &answers, &mut printed),
            Some(model) => {
                let mut own = Vec::new();
                let whole = if format == Format::Json { Format::Json } else { Format::Csv };
                planned.estimation.print_as(whole);
                let result = planned.estimate(&data, &answers, &mut own);
                result.map(|()| all.push((model.clone(), own)))
            }
        };
        next = answers.check(result)?.1;
    }
    if !all.is_empty() {
        let estimator = planned.estimation.estimator();
        let of = Told { rows: data.len(), estimator };
        match format {
            Format::Json => of.objects(all, &mut printed)?,
            format => of.sheet(&all)?.write(format, &mut printed)?,
        }
    }
    out.write_all(&printed).map_err(Error::Output)
}

impl Arguments {
    /// The fields that tell a model from others, where the answers or the flags have any.
    fn model(&self, told: &ToldBy) -> Result<Option<ToldBy>> {
        let flags = [self.method.clone(), self.replicate.map(|number| number.to_string())];
        let mut model = ToldBy::default();
        for (i, (column, flag)) in told.iter().zip(flags).enumerate() {
            let name = TOLD_BY[i];
            match (column, flag) {
                (Some(_), Some(_)) => {
                    let path = self.predictions.display();
                    let message = format!("--{name}: {path} has a column `{name}`, which says it");
                    return Err(Error::Argument(message));
                }
                (column, flag) => model[i] = column.clone().or(flag),
            }
        }
        let is_number = |text: &String| text.parse::<u64>().is_ok();
        if let Some(other) = model[1].iter().find(|text| !is_number(text)) {
            let message = format!("replicate `{other}`: must be a whole number, at least 0");
            return Err(Error::content(&self.predictions, message));
        }
        Ok(model.iter().any(Option::is_some).then_some(model))
    }
}

/// Facts that the effects of all models share.
struct Told<'a> {
    /// Number of rows.
    rows: usize,
    /// The estimator, which is the method where nothing else is.
    estimator: &'a str,
}

/// Prints of effects, each with the model that they are of.
type Printed = (ToldBy, Vec<u8>);

impl Told<'_> {
    /// A table of all, with the columns that tell models apart before the others.
    fn sheet(&self, all: &[Printed]) -> Result<OutputTable> {
        let mut sheet: Option<OutputTable> = None;
        for ([method, replicate], text) in all {
            let mut reader = csv::Reader::from_reader(&text[..]);
            let wrong = |e: csv::Error| Error::Argument(e.to_string());
            let header = reader.headers().map_err(wrong)?.clone();
            let by_estimator = header.iter().any(|name| name == "estimator");
            if by_estimator && method.is_some() {
                let message = "answers of several methods are for one estimator: make a plan for each of them";
                return Err(Error::Argument(message.to_owned()));
            }
            let mut own: Vec<(&str, Entry)> = Vec::new();
            if !by_estimator {
                own.push(("method", method.as_deref().unwrap_or(self.estimator).into()));
            }
            let replicate = replicate.as_deref().and_then(|text| text.parse().ok());
            own.extend(replicate.map(|number| ("replicate", Entry::Count(number))));
            own.push(("N", self.rows.into()));
            let columns: Vec<&str> = own.iter().map(|(name, _)| *name).chain(&header).collect();
            let sheet = sheet.get_or_insert_with(|| OutputTable::new(&columns));
            for record in reader.records() {
                let record = record.map_err(wrong)?;
                let fields = record.iter().map(|field| match field.parse::<f64>() {
                    Ok(number) => Entry::Number(number),
                    Err(_) if field.is_empty() => Entry::Missing,
                    Err(_) => field.into(),
                });
                sheet.push(own.iter().map(|(_, entry)| entry.clone()).chain(fields).collect());
            }
        }
        Ok(sheet.unwrap_or_default())
    }

    /// The objects of all, with the keys that tell models apart before the others.
    fn objects(&self, all: Vec<Printed>, out: &mut Vec<u8>) -> Result<()> {
        let wrong = |e: serde_json::Error| Error::Argument(e.to_string());
        let mut objects = Vec::new();
        for ([method, replicate], text) in all {
            let own: Vec<Map<String, Value>> = serde_json::from_slice(&text).map_err(wrong)?;
            objects.extend(own.into_iter().map(|object| {
                let mut told = Map::new();
                told.extend(method.clone().map(|method| ("method".to_owned(), method.into())));
                let replicate = replicate.as_ref().and_then(|text| text.parse::<u64>().ok());
                told.extend(replicate.map(|number| ("replicate".to_owned(), number.into())));
                told.insert("N".to_owned(), self.rows.into());
                told.into_iter().chain(object).collect::<Map<String, Value>>()
            }));
        }
        serde_json::to_writer_pretty(&mut *out, &objects).map_err(wrong)?;
        out.push(b'\n');
        Ok(())
    }
}

fn read(questions: &std::path::Path) -> Result<(Plan, PathBuf)> {
    let path = beside(questions);
    let text = crate::system::files::long_text(&path)?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|e| Error::content(&path, format!("not a plan: {e}")))?;
    if plan.version != VERSION {
        let message =
            format!("layout {} of plans, but this program reads layout {VERSION}", plan.version);
        return Err(Error::content(&path, message));
    }
    Ok((plan, path))
}
