//! Columns of data files: numbers, levels, words and dates.

use std::fmt::Display;

use clap::ValueEnum;
use fe_core::Dataset;
use fe_core::data::{FeatureKind, LevelNames};
use jiff::civil::Date;

use super::features::named_feature;
use crate::error::{Error, Result, listed, suggestion};
use crate::system::say::echo;

/// Most different words that make a column nominal unasked.
const MOST_WORDS: usize = 100;

/// The kind of a column, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColumnKind {
    /// Numbers.
    Continuous,
    /// Levels in an order.
    Ordinal,
    /// Levels without an order.
    Nominal,
    /// Dates as YYYY-MM-DD, taken as numbers of days since 1970-01-01.
    Date,
}

/// Requests about a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnRequest {
    /// Its kind; found from its fields if none is given.
    pub kind: Option<ColumnKind>,
    /// Its levels in their order.
    pub levels: Option<Vec<String>>,
}

impl ColumnRequest {
    /// The request that the column holds numbers.
    #[must_use]
    pub fn number() -> Self {
        Self { kind: Some(ColumnKind::Continuous), levels: None }
    }

    /// True if the column must hold numbers.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.kind == Some(ColumnKind::Continuous)
    }
}

/// Requests about columns by the names of their features.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnRequests {
    kinds: Vec<(String, ColumnKind)>,
    levels: Vec<(String, Vec<String>)>,
}

fn unknown_kind(entry: &str, kind: &str) -> Error {
    let words = ColumnKind::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let words: Vec<String> = words.map(|word| word.get_name().to_owned()).collect();
    let words = || words.iter().map(String::as_str);
    Error::Argument(format!(
        "--kind {entry}: unknown kind{}; allowed are {}",
        suggestion(kind, words()),
        listed(words())
    ))
}

impl ColumnRequests {
    /// From entries such as `season=nominal`, and such as `season=winter,summer`.
    ///
    /// # Errors
    /// [`Error::Argument`] for an entry that is written otherwise, or a kind that there is not.
    pub fn new(kinds: &[String], levels: &[String]) -> Result<Self> {
        let split = |flag: &str, entry: &str, such: &str| match entry.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(Error::Argument(format!("--{flag} {entry}: must be {such}"))),
        };
        let kind = |entry: &String| -> Result<(String, ColumnKind)> {
            let (name, kind) = split("kind", entry, "S=KIND, such as x3=nominal")?;
            let known = ColumnKind::from_str(&kind, false);
            Ok((name, known.map_err(|_| unknown_kind(entry, &kind))?))
        };
        let level = |entry: &String| -> Result<(String, Vec<String>)> {
            let such = "S=LEVEL,LEVEL,…, such as season=winter,summer";
            let (name, levels) = split("levels", entry, such)?;
            Ok((name, levels.split(',').map(|level| level.trim().to_owned()).collect()))
        };
        Ok(Self {
            kinds: kinds.iter().map(kind).collect::<Result<_>>()?,
            levels: levels.iter().map(level).collect::<Result<_>>()?,
        })
    }

    /// The requests about each of some features.
    ///
    /// # Errors
    /// [`Error::Argument`] for a feature that there is not, or one that is named twice.
    pub fn of(&self, names: &[String]) -> Result<Vec<ColumnRequest>> {
        let mut requests = vec![ColumnRequest::default(); names.len()];
        let wrong = |flag: &str, name: &str, message: &dyn Display| {
            Error::Argument(format!("--{flag} {name}: {message}"))
        };
        for (name, kind) in &self.kinds {
            let feature = named_feature(name, names).map_err(|e| wrong("kind", name, &e))?;
            if requests[feature].kind.replace(*kind).is_some() {
                return Err(wrong("kind", name, &"is given twice"));
            }
        }
        for (name, levels) in &self.levels {
            let feature = named_feature(name, names).map_err(|e| wrong("levels", name, &e))?;
            if let Some(ColumnKind::Continuous | ColumnKind::Date) = requests[feature].kind {
                return Err(wrong("levels", name, &"its kind has none"));
            }
            if requests[feature].levels.replace(levels.clone()).is_some() {
                return Err(wrong("levels", name, &"is given twice"));
            }
        }
        Ok(requests)
    }

    /// Data whose columns are numbers already, with the kinds and levels that are asked for.
    ///
    /// # Errors
    /// As [`ColumnRequests::of`]; a kind that columns of numbers have not, or levels that are none of the data's.
    pub fn applied(&self, mut data: Dataset) -> Result<Dataset> {
        let mut kinds = data.kinds().to_vec();
        for (feature, request) in self.of(data.names())?.into_iter().enumerate() {
            let name = data.names()[feature].clone();
            kinds[feature] = match request.kind {
                Some(ColumnKind::Continuous) => FeatureKind::Continuous,
                Some(ColumnKind::Ordinal) => FeatureKind::Ordinal,
                Some(ColumnKind::Nominal) => FeatureKind::Nominal,
                Some(ColumnKind::Date) => {
                    let message = format!("--kind {name}=date: its column holds numbers");
                    return Err(Error::Argument(message));
                }
                None if request.levels.is_some() && kinds[feature] == FeatureKind::Continuous => {
                    FeatureKind::Nominal
                }
                None => kinds[feature],
            };
            if let Some(levels) = &request.levels {
                let value = |level: &String| {
                    let known = data.level_names(feature).and_then(|names| names.value(level));
                    let value = known.or_else(|| level.parse().ok());
                    value.map(|value| (value, level.clone())).ok_or_else(|| unknown(&name, level))
                };
                let levels = levels.iter().map(value).collect::<Result<Vec<_>>>()?;
                data = data.with_levels(feature, LevelNames::new(levels)?)?;
            }
        }
        Ok(data.with_kinds(kinds)?)
    }
}

fn unknown(feature: &str, level: &str) -> Error {
    Error::Argument(format!("--levels {feature}: `{}` is none of its levels", echo(level)))
}

/// A column as estimators take it: a number for each row, its kind, and the names of its levels.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadColumn {
    /// A number for each row.
    pub values: Vec<f64>,
    /// The kind.
    pub kind: FeatureKind,
    /// The names of its levels, where they are words or given.
    pub levels: Option<LevelNames>,
}

/// A column of a name from its fields, each with the number of its row counted from 0.
///
/// Fields that are all words make it nominal, with levels in alphabetical order.
///
/// # Errors
/// What is wrong, with the row and the column.
pub fn read_column(
    fields: &[(usize, &str)],
    name: &str,
    request: &ColumnRequest,
) -> Result<ReadColumn, String> {
    let is_number = |field: &str| field.parse::<f64>().is_ok_and(f64::is_finite);
    let numbers = fields.iter().filter(|(_, field)| is_number(field)).count();
    let levels = request.levels.as_deref();
    let kind = match request.kind {
        Some(ColumnKind::Date) => return dates(fields, name),
        Some(ColumnKind::Continuous) => FeatureKind::Continuous,
        Some(ColumnKind::Ordinal) => FeatureKind::Ordinal,
        Some(ColumnKind::Nominal) => FeatureKind::Nominal,
        None if levels.is_some() => FeatureKind::Nominal,
        None if numbers == 0 && !fields.is_empty() => {
            let mut words: Vec<&str> = fields.iter().map(|(_, field)| *field).collect();
            words.sort_unstable();
            words.dedup();
            if words.len() > MOST_WORDS {
                let (row, column) = (fields[0].0 + 1, echo(name));
                return Err(format!(
                    "row {row}, column {column}: `{}` is not a finite number, and {} different words are too \
                     many to be levels unasked; --ignore {column} leaves the column out, --kind {column}=nominal \
                     takes them as levels, and {column}=date dates such as 2012-12-31 as days",
                    echo(fields[0].1),
                    words.len()
                ));
            }
            FeatureKind::Nominal
        }
        None => FeatureKind::Continuous,
    };
    match kind {
        FeatureKind::Continuous => {
            let number = |(row, field): &(usize, &str)| {
                parse(field, *row, name)
                    .map_err(|message| format!("{message}; {}", hint(name, numbers)))
            };
            let values = fields.iter().map(number).collect::<Result<_, _>>()?;
            Ok(ReadColumn { values, kind, levels: None })
        }
        _ if numbers == fields.len() => numbered(fields, name, kind, levels),
        FeatureKind::Ordinal if levels.is_none() => {
            let column = echo(name);
            Err(format!(
                "column {column}: words have no order of their own; --levels {column}=LEVEL,LEVEL,… gives one, \
                 from the lowest on"
            ))
        }
        _ => worded(fields, name, kind, levels),
    }
}

/// Ways out for a column whose fields are not all numbers.
fn hint(name: &str, numbers: usize) -> String {
    let name = echo(name);
    let ignored = format!("--ignore {name} leaves the column out");
    if numbers == 0 {
        ignored
    } else {
        format!("{ignored}, --kind {name}=nominal takes its fields as words")
    }
}

/// A column of levels that are numbers.
fn numbered(
    fields: &[(usize, &str)],
    name: &str,
    kind: FeatureKind,
    levels: Option<&[String]>,
) -> Result<ReadColumn, String> {
    let number = |(row, field): &(usize, &str)| parse(field, *row, name);
    let values: Vec<f64> = fields.iter().map(number).collect::<Result<_, _>>()?;
    let Some(levels) = levels else { return Ok(ReadColumn { values, kind, levels: None }) };
    let value = |level: &String| match level.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, level.clone())),
        _ => Err(format!(
            "--levels {}: `{}` is no number, and the column has numbers",
            echo(name),
            echo(level)
        )),
    };
    let levels = levels.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    let levels = LevelNames::new(levels).map_err(|e| format!("--levels {}: {e}", echo(name)))?;
    match values.iter().position(|&x| levels.name(x).is_none()) {
        None => Ok(ReadColumn { values, kind, levels: Some(levels) }),
        Some(place) => Err(not_a_level(fields[place], name)),
    }
}

/// A column of levels that are words; their values are 0, 1, … in their order.
fn worded(
    fields: &[(usize, &str)],
    name: &str,
    kind: FeatureKind,
    levels: Option<&[String]>,
) -> Result<ReadColumn, String> {
    let mut words: Vec<&str> = match levels {
        Some(levels) => levels.iter().map(String::as_str).collect(),
        None => fields.iter().map(|(_, field)| *field).collect(),
    };
    if levels.is_none() {
        words.sort_unstable();
        words.dedup();
    }
    let names = LevelNames::of_words(words.iter().copied());
    let names = names.map_err(|e| format!("--levels {}: {e}", echo(name)))?;
    let codes: std::collections::HashMap<&str, f64> =
        words.iter().enumerate().map(|(code, word)| (*word, code as f64)).collect();
    let code = |field: &(usize, &str)| {
        codes.get(field.1).copied().ok_or_else(|| not_a_level(*field, name))
    };
    let values = fields.iter().map(code).collect::<Result<_, _>>()?;
    Ok(ReadColumn { values, kind, levels: Some(names) })
}

fn not_a_level((row, field): (usize, &str), name: &str) -> String {
    let (row, name, field) = (row + 1, echo(name), echo(field));
    format!("row {row}, column {name}: `{field}` is none of the levels that --levels gives")
}

/// A column of dates as days since 1970-01-01.
fn dates(fields: &[(usize, &str)], name: &str) -> Result<ReadColumn, String> {
    let epoch = Date::constant(1970, 1, 1);
    let day = |(row, field): &(usize, &str)| {
        // A time of the day behind it would be lost.
        let date = field.parse::<Date>().ok().filter(|_| field.len() == "2012-12-31".len());
        date.map(|date| f64::from((date - epoch).get_days())).ok_or_else(|| {
            let (row, name, field) = (row + 1, echo(name), echo(field));
            format!("row {row}, column {name}: `{field}` is no date such as 2012-12-31")
        })
    };
    let values = fields.iter().map(day).collect::<Result<_, _>>()?;
    Ok(ReadColumn { values, kind: FeatureKind::Continuous, levels: None })
}

pub(crate) fn parse(field: &str, row: usize, column: &str) -> Result<f64, String> {
    match field.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let (row, column, field) = (row + 1, echo(column), echo(field));
            Err(format!("row {row}, column {column}: `{field}` is not a finite number"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        fields: &[&str],
        kind: Option<ColumnKind>,
        levels: &[&str],
    ) -> Result<ReadColumn, String> {
        let fields: Vec<(usize, &str)> = fields.iter().copied().enumerate().collect();
        let levels = (!levels.is_empty()).then(|| levels.iter().map(|l| (*l).to_owned()).collect());
        read_column(&fields, "s", &ColumnRequest { kind, levels })
    }

    #[test]
    fn columns_are_read_by_their_fields_and_by_request() {
        let words = read(&["b", "a", "b"], None, &[]).unwrap();
        assert_eq!((words.kind, words.values), (FeatureKind::Nominal, vec![1.0, 0.0, 1.0]));
        assert_eq!(words.levels.unwrap().name(1.0), Some("b"));
        let given = read(&["b", "a", "b"], None, &["b", "c", "a"]).unwrap();
        assert_eq!(given.values, [0.0, 2.0, 0.0]);
        let booleans = read(&["true", "false"], None, &[]).unwrap();
        assert_eq!((booleans.kind, booleans.values), (FeatureKind::Nominal, vec![1.0, 0.0]));
        let numbers = read(&["3", "1"], Some(ColumnKind::Nominal), &["3", "1"]).unwrap();
        assert_eq!((numbers.kind, &numbers.values), (FeatureKind::Nominal, &vec![3.0, 1.0]));
        assert_eq!(numbers.levels.unwrap().iter().next(), Some((3.0, "3")));
        assert_eq!(read(&["3", "1"], None, &[]).unwrap().kind, FeatureKind::Continuous);
        let days = read(&["1970-01-02", "2000-03-01"], Some(ColumnKind::Date), &[]).unwrap();
        assert_eq!(days.values, [1.0, 11_017.0]);
    }

    #[test]
    fn wrong_fields_are_named() {
        let refused =
            |fields: &[&str], kind, levels: &[&str]| read(fields, kind, levels).unwrap_err();
        assert!(refused(&["1", "x"], None, &[]).contains("row 2, column s: `x` is not a finite"));
        assert!(refused(&["1", "x"], None, &[]).contains("--kind s=nominal"));
        assert!(refused(&["a", "b"], Some(ColumnKind::Continuous), &[]).contains("`a` is not a"));
        assert!(refused(&["a", "b"], Some(ColumnKind::Ordinal), &[]).contains("--levels s="));
        assert!(refused(&["a", "d"], None, &["a", "b"]).contains("row 2, column s: `d` is none"));
        assert!(refused(&["1", "2"], None, &["1", "b"]).contains("`b` is no number"));
        assert!(refused(&["1", "2"], None, &["1", "1"]).contains("given twice"));
        assert!(refused(&["12/31/2000"], Some(ColumnKind::Date), &[]).contains("no date"));
        let many: Vec<String> = (0..101).map(|i| format!("w{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(refused(&many, None, &[]).contains("101 different words"));
        assert!(read(&many, Some(ColumnKind::Nominal), &[]).is_ok());
    }
}
