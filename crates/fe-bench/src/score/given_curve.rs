//! Curves that were computed elsewhere: CSV with the columns feature, x, effect and, for a band, lower
//! and upper; for many of them method, replicate and N. What `effect` prints has all that it needs.

use std::collections::HashMap;
use std::path::Path;

use fe_truth::Scenario;
use serde::Deserialize;
use serde_json::Value;

use crate::data;
use crate::data::features::feature_of;
use crate::error::{Error, Result, listed};
use crate::output::whole_of;

const NEEDED: [&str; 3] = ["feature", "x", "effect"];
pub(super) const BAND: [&str; 2] = ["lower", "upper"];
/// The columns that tell curves of a feature apart; that of the method is called as this program calls it, too.
const METHOD: [&str; 2] = ["method", "estimator"];
const REPLICATE: &str = "replicate";
const ROWS: &str = "N";
pub(super) const OUTPUT: &str = "output";
/// The columns that `effect` prints beside those: nothing is scored of them.
const PRINTED: [&str; 7] = [
    "level",
    "count",
    "truth",
    "difference",
    "heterogeneity",
    "simultaneous_lower",
    "simultaneous_upper",
];

/// The end of the message that lists columns.
const MANY: &str = "; for many curves method, replicate and N";

/// The identity of a curve in a file of many; fields are empty where the file has no such column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Given {
    /// The method that it was computed by.
    pub method: String,
    /// Number of the dataset.
    pub replicate: String,
    /// Number of rows of the dataset.
    pub rows: String,
    /// The feature, counted from 0.
    pub feature: usize,
}

/// The effect of one feature at increasing points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GivenCurve {
    /// Places at which it is given, in units of the feature.
    pub x: Vec<f64>,
    /// Its values there, in units of the output.
    pub effect: Vec<f64>,
    /// The limits of its band there, lower and upper, if it has one.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
}

impl GivenCurve {
    /// A curve of a feature (counted from 0) from its points in any order.
    ///
    /// # Errors
    /// No points or numbers of values that differ, a value that is not finite, a band whose limits are
    /// exchanged, or a point that is given twice; rows are counted from 1.
    pub fn from_points(
        feature: usize,
        x: &[f64],
        effect: &[f64],
        band: Option<&(Vec<f64>, Vec<f64>)>,
    ) -> Result<Self, String> {
        if x.is_empty() {
            return Err("there are no rows".to_owned());
        }
        let mut columns = vec![("x", x), ("effect", effect)];
        if let Some((lower, upper)) = band {
            columns.extend([("lower", lower.as_slice()), ("upper", upper.as_slice())]);
        }
        for (name, values) in columns {
            if values.len() != x.len() {
                return Err(format!("{name} has {} values and x has {}", values.len(), x.len()));
            }
            if let Some(row) = values.iter().position(|value| !value.is_finite()) {
                let value = values[row];
                return Err(format!("row {}, {name}: {value} is not a finite number", row + 1));
            }
        }
        let row = |i: usize| {
            let band = band.map(|(lower, upper)| (lower[i], upper[i]));
            Row::new(i, x[i], effect[i], band)
        };
        curve(feature, (0..x.len()).map(row).collect::<Result<Vec<Row>, String>>()?)
    }

    /// The part of it between `lo` and `hi`, both included.
    #[must_use]
    pub fn within(&self, lo: f64, hi: f64) -> Self {
        let part = |values: &[f64]| -> Vec<f64> {
            let points = self.x.iter().zip(values);
            points.filter(|(x, _)| (lo..=hi).contains(*x)).map(|(_, value)| *value).collect()
        };
        Self {
            x: part(&self.x),
            effect: part(&self.effect),
            band: self.band.as_ref().map(|(lower, upper)| (part(lower), part(upper))),
        }
    }
}

/// One row of the file.
struct Row {
    number: usize,
    x: f64,
    effect: f64,
    band: Option<(f64, f64)>,
}

impl Row {
    /// The row at a position, counted from 0.
    fn new(index: usize, x: f64, effect: f64, band: Option<(f64, f64)>) -> Result<Self, String> {
        match band.filter(|(lower, upper)| lower > upper) {
            None => Ok(Self { number: index + 1, x, effect, band }),
            Some((lower, upper)) => {
                Err(format!("row {}: lower {lower} is above upper {upper}", index + 1))
            }
        }
    }
}

/// Reads the curves of a file, in the order in which they begin, features in theirs; the order of the points of each does
/// not matter.
///
/// # Errors
/// A file that cannot be read or has no rows, a column that is missing or unknown, a field that is not
/// a finite number, a feature that the scenario does not have, a band whose limits are exchanged, or a
/// point that is given twice.
pub fn read(path: &Path, scenario: &Scenario) -> Result<Vec<(Given, GivenCurve)>> {
    let wrong = |message: String| Error::content(path, message);
    let file = crate::system::files::open(path)?;
    let mut reader = csv::Reader::from_reader(file);
    let header: Vec<String> = reader
        .headers()
        .map_err(|e| wrong(e.to_string()))?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    check_header(&header, &NEEDED, &others(), MANY).map_err(&wrong)?;
    let mut rows: HashMap<Given, (usize, Vec<Row>)> = HashMap::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let (given, row) = read_row(&header, &record, index, scenario).map_err(&wrong)?;
        let place = rows.len();
        rows.entry(given).or_insert((place, Vec::new())).1.push(row);
    }
    if rows.is_empty() {
        return Err(wrong("there are no rows".to_owned()));
    }
    let mut all: Vec<(Given, (usize, Vec<Row>))> = rows.into_iter().collect();
    all.sort_by_key(|(_, (place, _))| *place);
    let is_alone =
        all.iter().all(|(given, _)| *given == Given { feature: given.feature, ..Given::default() });
    if is_alone {
        all.sort_by_key(|(given, _)| given.feature);
    }
    let sorted = |(given, (_, rows)): (Given, (usize, Vec<Row>))| {
        let curve = curve(given.feature, rows).map_err(&wrong)?;
        Ok((given, curve))
    };
    all.into_iter().map(sorted).collect()
}

/// The effect of a feature as `effect --format json` prints it; its other fields are passed over.
#[derive(Deserialize)]
struct Printed {
    feature: String,
    #[serde(default)]
    output: Option<usize>,
    #[serde(default)]
    estimator: String,
    /// The method, replicate and number of rows, as `finish` prints them of several models.
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    replicate: Option<u64>,
    #[serde(default, rename = "N")]
    rows: Option<u64>,
    x: Vec<f64>,
    effect: Vec<f64>,
    #[serde(default)]
    confidence: Option<Confidence>,
}

/// The limits of its band.
#[derive(Deserialize)]
struct Confidence {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// The curves of a file of JSON as `effect` prints them, or none if it has trees.
///
/// # Errors
/// A file that cannot be read or is no JSON, and as [`read`].
pub fn read_json(path: &Path, scenario: &Scenario) -> Result<Option<Vec<(Given, GivenCurve)>>> {
    let wrong = |message: String| Error::content(path, message);
    let text = crate::system::files::long_text(path)?;
    let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let all = match value {
        Value::Array(all) => all,
        one => vec![one],
    };
    let is_curve = |value: &Value| value.get("nodes").is_none() && value.get("effect").is_some();
    if !all.first().is_some_and(is_curve) {
        return Ok(None);
    }
    let curve = |(number, value): (usize, Value)| {
        let printed: Printed = serde_json::from_value(value).map_err(|e| e.to_string())?;
        let output = printed.output.map_or_else(String::new, |output| output.to_string());
        check_output(&output, number)?;
        let feature = feature_of(scenario, &printed.feature)?;
        let band = printed.confidence.map(|band| (band.lower, band.upper));
        let curve = GivenCurve::from_points(feature, &printed.x, &printed.effect, band.as_ref())?;
        let number = |of: Option<u64>| of.map(|number| number.to_string()).unwrap_or_default();
        let (replicate, rows) = (number(printed.replicate), number(printed.rows));
        let method = printed.method.unwrap_or(printed.estimator);
        Ok((Given { method, replicate, rows, feature }, curve))
    };
    let numbered = |(number, value)| {
        curve((number, value)).map_err(|e: String| wrong(format!("curve {}: {e}", number + 1)))
    };
    all.into_iter().enumerate().map(numbered).collect::<Result<_>>().map(Some)
}

/// The columns of curves that are not needed.
fn others() -> Vec<&'static str> {
    [&METHOD[..], &[REPLICATE, ROWS, OUTPUT], &PRINTED].concat()
}

/// Refuses columns that are missing, unknown or there twice. Beside those that are needed there may be a band, and
/// others, of which a message says no more than it is told to.
pub(super) fn check_header(
    header: &[String],
    needed: &[&str],
    others: &[&str],
    more: &str,
) -> Result<(), String> {
    let allowed =
        format!("the columns are {} and, for a band, lower and upper{more}", needed.join(", "));
    let has = |name: &str| header.iter().any(|column| column == name);
    let known = |name: &str| [needed, &BAND, others].iter().any(|names| names.contains(&name));
    let unknown: Vec<&str> = header.iter().map(String::as_str).filter(|n| !known(n)).collect();
    if !unknown.is_empty() {
        return Err(format!("unknown columns {}: {allowed}", listed(unknown)));
    }
    if let Some(twice) = (1..header.len()).find(|&j| header[..j].contains(&header[j])) {
        return Err(format!("two columns are called {}", header[twice]));
    }
    if METHOD.iter().all(|name| has(name)) {
        return Err(
            "the columns method and estimator are one: which of them names the method?".to_owned()
        );
    }
    let banded = BAND.iter().any(|name| has(name));
    let needed = needed.iter().chain(if banded { &BAND[..] } else { &[] });
    let missing: Vec<&str> = needed.copied().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("no column {}: {allowed}", listed(missing)))
}

/// Refuses a row of another output than the one that the function of a scenario has; empty where no column says it.
pub(super) fn check_output(field: &str, index: usize) -> Result<(), String> {
    match field.trim() {
        "" | "1" => Ok(()),
        other => {
            Err(format!("row {}: output {other}: the function of a scenario has one, 1", index + 1))
        }
    }
}

fn read_row(
    header: &[String],
    record: &csv::StringRecord,
    index: usize,
    scenario: &Scenario,
) -> Result<(Given, Row), String> {
    let field = |name: &str| {
        let column = header.iter().position(|column| column == name);
        column.and_then(|column| record.get(column)).unwrap_or_default()
    };
    check_output(field(OUTPUT), index)?;
    let number = |name: &str| data::parse(field(name), index, name);
    let in_row = |message: String| format!("row {}: {message}", index + 1);
    let feature = feature_of(scenario, field("feature").trim()).map_err(in_row)?;
    let band = if header.iter().any(|column| column == BAND[0]) {
        Some((number(BAND[0])?, number(BAND[1])?))
    } else {
        None
    };
    let whole = |name: &str| match field(name).trim() {
        "" if header.iter().all(|column| column != name) => Ok(String::new()),
        text => match text.parse::<f64>().ok().and_then(whole_of) {
            Some(number) => Ok(number.to_string()),
            None => Err(in_row(format!("{name} {text}: must be a whole number, at least 0"))),
        },
    };
    let method = METHOD.map(|name| field(name).trim()).concat();
    let given = Given { method, replicate: whole(REPLICATE)?, rows: whole(ROWS)?, feature };
    Ok((given, Row::new(index, number("x")?, number("effect")?, band)?))
}

fn curve(feature: usize, mut rows: Vec<Row>) -> Result<GivenCurve, String> {
    rows.sort_by(|a, b| a.x.total_cmp(&b.x));
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].x == pair[1].x) {
        let (first, second) =
            (pair[0].number.min(pair[1].number), pair[0].number.max(pair[1].number));
        let (x, feature) = (pair[0].x, feature + 1);
        return Err(format!("rows {first} and {second}: x{feature} is given twice at {x}"));
    }
    Ok(GivenCurve {
        x: rows.iter().map(|row| row.x).collect(),
        effect: rows.iter().map(|row| row.effect).collect(),
        band: rows.iter().map(|row| row.band).collect::<Option<Vec<_>>>().map(unzip),
    })
}

fn unzip(band: Vec<(f64, f64)>) -> (Vec<f64>, Vec<f64>) {
    band.into_iter().unzip()
}
