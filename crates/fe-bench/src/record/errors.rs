//! Bias and variance of the curves of a group, from the errors that its datasets write.

use std::collections::HashMap;

use fe_core::replicates::{
    Decomposition, ErrorParts, FreshCurves, Summary, VarianceParts, decompose, split_variance,
};

use super::columns::{ERRORS, MISSING, ResultFile, number};
use super::{Column, Key};
use crate::system::say::echo;

/// Errors of curves, as the lines have them.
#[derive(Debug, Default)]
pub(super) struct Errors {
    curves: Vec<Curve>,
    places: HashMap<Key, usize>,
}

/// The errors of a curve in all replicates; its key has neither replicate nor metric.
#[derive(Debug)]
pub(super) struct Curve {
    key: Key,
    /// The points, as they are written.
    x: Vec<String>,
    /// Place of a point among them.
    places: HashMap<String, usize>,
    /// Datasets that have a line.
    pub(super) replicates: usize,
    errors: Vec<Vec<Option<f64>>>,
    fresh: Vec<FreshCurves>,
}

/// The metrics that are made of errors and stand in no cell.
pub(crate) fn is_part(metric: &str) -> bool {
    in_summary().any(|name| name == metric)
}

/// The mean squared error and the estimation part are means of cells already.
fn in_summary() -> impl Iterator<Item = &'static str> {
    ErrorParts::NAMES.into_iter().skip(1).chain([VarianceParts::NAMES[1]])
}

/// The columns of what all datasets share: neither replicate nor metric.
fn of_curves() -> impl Iterator<Item = Column> {
    Column::of_means().filter(|column| *column != Column::Metric)
}

/// The columns of the parts at each point.
pub(super) fn point_columns() -> Vec<&'static str> {
    let keys = of_curves().map(Column::name);
    let parts = ErrorParts::NAMES.into_iter().chain(VarianceParts::NAMES);
    keys.chain(["x", "replicates"]).chain(parts).collect()
}

impl Errors {
    /// Takes up the lines of a dataset.
    pub(super) fn add(&mut self, lines: &[u8]) -> Result<(), String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(lines);
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| e.to_string())? {
            let keys = ResultFile::Errors.keys();
            if record.len() != keys.clone().count() + ERRORS.len() {
                return Err(format!("{} fields in a line", record.len()));
            }
            let key = Key { replicate: "", ..Key::read(keys, &record) };
            let place = *self.places.entry(key.owned()).or_insert_with_key(|key| {
                self.curves.push(Curve::new(key.clone()));
                self.curves.len() - 1
            });
            self.curves[place].add(&record)?;
        }
        Ok(())
    }

    /// All curves, in the order in which they first came.
    pub(super) fn decomposed(self) -> Vec<Curve> {
        self.curves
    }
}

impl Curve {
    fn new(key: Key) -> Self {
        let (x, places) = (Vec::new(), HashMap::new());
        Self { key, x, places, replicates: 0, errors: Vec::new(), fresh: Vec::new() }
    }

    fn add(&mut self, record: &csv::StringRecord) -> Result<(), String> {
        self.replicates += 1;
        let keys = ResultFile::Errors.keys().count();
        let entry = |name: &str| {
            let place = ERRORS.iter().position(|column| column.name == name);
            place.and_then(|place| record.get(keys + place)).unwrap_or_default()
        };
        let mut places = Vec::new();
        for x in entry("x").split_whitespace() {
            let next = self.x.len();
            let place = *self.places.entry(x.to_owned()).or_insert(next);
            if place == next {
                self.x.push(x.to_owned());
            }
            places.push(place);
        }
        let size = self.x.len();
        let spread = |text: &str| -> Result<Vec<Option<f64>>, String> {
            let mut values = vec![None; size];
            let words: Vec<&str> = text.split_whitespace().collect();
            if words.len() != places.len() {
                return Err(format!("{} values at {} points", words.len(), places.len()));
            }
            for (&place, word) in places.iter().zip(words) {
                values[place] = parse(word)?;
            }
            Ok(values)
        };
        self.errors.push(spread(entry("error"))?);
        if !entry("fresh").is_empty() {
            let count = entry("fresh");
            let count = count.parse().map_err(|_| format!("`{count}` curves"))?;
            self.fresh.push(FreshCurves::of(
                &spread(entry("fresh_mean"))?,
                &spread(entry("fresh_variance"))?,
                count,
            ));
        }
        Ok(())
    }

    /// Its parts averaged over the points, under full keys.
    pub(super) fn averages(&self) -> Vec<(Key, Summary)> {
        let parts = decompose(&self.errors).map(Vec::from).unwrap_or_default();
        let [_, model] = split_variance(&self.fresh).map_or([None; 2], |split| split.map(Some));
        let known = parts.into_iter().skip(1).chain(model);
        let key = |metric: &str| Key { metric: metric.to_owned(), ..self.key.clone() };
        in_summary().zip(known).map(|(metric, summary)| (key(metric), summary)).collect()
    }

    /// Its parts at each point, as records with [`point_columns`].
    pub(super) fn points(&self) -> impl Iterator<Item = Vec<String>> {
        let mut decomposition = Decomposition::new(self.x.len());
        let mut counts = vec![0_usize; self.x.len()];
        for errors in &self.errors {
            decomposition.add(errors);
            counts.iter_mut().zip(errors).for_each(|(n, error)| *n += usize::from(error.is_some()));
        }
        let split = VarianceParts::pointwise(&self.fresh);
        let parts = decomposition.pointwise();
        (0..self.x.len()).map(move |i| {
            let mut record: Vec<String> = self.key.fields(of_curves()).map(str::to_owned).collect();
            record.extend([self.x[i].clone(), counts[i].to_string()]);
            let of_error = parts[i].map(|parts| parts.values());
            let of_fresh = split.get(i).copied().flatten().map(|parts| parts.values());
            let values =
                (0..ErrorParts::NAMES.len()).map(|part| of_error.map(|values| values[part]));
            let fresh =
                (0..VarianceParts::NAMES.len()).map(|part| of_fresh.map(|values| values[part]));
            record.extend(values.chain(fresh).map(number));
            record
        })
    }
}

fn parse(word: &str) -> Result<Option<f64>, String> {
    match word {
        MISSING => Ok(None),
        _ => match word.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(format!("`{}` is not a finite number", echo(word))),
        },
    }
}
