//! Columns of data files: numbers, levels, words and dates.

use std::collections::HashMap;
use std::fmt::Display;

use clap::ValueEnum;
use fe_core::Dataset;
use fe_core::data::{FeatureKind, LevelNames};
use jiff::civil::Date;

use super::chunks::Chunks;
use super::features::named_feature;
use super::table::Field;
use crate::error::{Error, Result, listed, suggestion};
use crate::system::say::echo;

/// Most different words that make a column nominal unasked.
const MOST_WORDS: usize = 100;

/// Different words that are held to count them.
const MOST_HELD: usize = 10_000;

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
pub(super) struct ReadColumn {
    /// A number for each row, NaN where the value is missing.
    pub(super) values: Chunks,
    /// The kind.
    pub(super) kind: FeatureKind,
    /// The names of its levels, where they are words or given.
    pub(super) levels: Option<LevelNames>,
}

/// The use of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A feature that flags may decide about.
    Feature,
    /// Numbers as they must be.
    Number,
    /// A target, whose words may be many.
    Target,
}

/// A column of a name while its fields are read, in their order.
///
/// Fields that are all words make it nominal, with levels in alphabetical order.
pub(super) struct Collecting<'a> {
    name: &'a str,
    request: ColumnRequest,
    held: Held,
    used: Use,
}

/// The fields that were read so far.
enum Held {
    /// None but missing ones, so many.
    None(usize),
    Numbers(Chunks),
    Words(Words),
}

/// Fields as words, each word once.
#[derive(Default)]
struct Words {
    /// The place of the word of each row, NaN where it is missing.
    places: Chunks,
    /// The words as they first come, with the row of the first.
    known: Vec<(String, usize)>,
    place_of: HashMap<String, usize>,
}

impl Words {
    fn push(&mut self, word: &str, row: usize) {
        let place = self.place_of.get(word).copied().unwrap_or_else(|| {
            self.place_of.insert(word.to_owned(), self.known.len());
            self.known.push((word.to_owned(), row));
            self.known.len() - 1
        });
        self.places.push(place as f64);
    }

    /// The values of the rows, from that of each word.
    fn valued(mut self, values: &[f64]) -> Chunks {
        self.places.map(|place| values[place as usize]);
        self.places
    }
}

impl<'a> Collecting<'a> {
    pub(super) fn new(name: &'a str, request: &ColumnRequest, used: Use) -> Self {
        let held = match (request.kind, &request.levels) {
            (Some(ColumnKind::Continuous | ColumnKind::Date), _) => {
                Held::Numbers(Chunks::default())
            }
            (None, None) if used != Use::Number => Held::None(0),
            (None, None) => Held::Numbers(Chunks::default()),
            _ => Held::Words(Words::default()),
        };
        Self { name, request: request.clone(), held, used }
    }

    /// Refusal of a word where a number is due.
    fn refused(&self, word: &str, row: usize, has_numbers: bool) -> String {
        let message = not_a_number(word, row, self.name);
        match self.used {
            Use::Feature => format!("{message}; {}", hint(self.name, has_numbers)),
            Use::Number | Use::Target => message,
        }
    }

    /// Takes the field of a row, counted from 0.
    ///
    /// # Errors
    /// What is wrong with it, with the row and the column.
    pub(super) fn push(&mut self, field: &Field<'_>, row: usize) -> Result<(), String> {
        if let (Held::None(missing), false) = (&self.held, *field == Field::Missing) {
            let missing = std::iter::repeat_n(f64::NAN, *missing);
            self.held = match field.word().parse::<f64>() {
                Ok(_) => Held::Numbers(Chunks::from_iter(missing)),
                Err(_) => {
                    let places = Chunks::from_iter(missing);
                    Held::Words(Words { places, ..Words::default() })
                }
            };
        }
        match &mut self.held {
            Held::None(missing) => *missing += 1,
            Held::Numbers(values) if *field == Field::Missing => values.push(f64::NAN),
            Held::Numbers(values) if self.request.kind == Some(ColumnKind::Date) => {
                values.push(day(&field.word(), row, self.name)?);
            }
            Held::Numbers(values) => match field.number() {
                Some(number) => values.push(number),
                None => {
                    let has_numbers = !values.is_empty();
                    return Err(self.refused(&field.word(), row, has_numbers));
                }
            },
            Held::Words(words) if *field == Field::Missing => words.places.push(f64::NAN),
            Held::Words(words) => {
                words.push(&field.word(), row);
                let is_open = self.used == Use::Feature && self.request == ColumnRequest::default();
                if is_open && words.known.len() > MOST_HELD {
                    return Err(self.too_many());
                }
            }
        }
        Ok(())
    }

    /// Refusal of words that are too many to be levels.
    fn too_many(&self) -> String {
        let Held::Words(words) = &self.held else { return String::new() };
        let (row, column, count) = (words.known[0].1 + 1, echo(self.name), words.known.len());
        let more = if count > MOST_HELD { " or more" } else { "" };
        format!(
            "row {row}, column {column}: `{}` is not a finite number, and {count}{more} different words are too \
             many to be levels unasked; --ignore {column} leaves the column out, --kind {column}=nominal \
             takes them as levels, and {column}=date dates such as 2012-12-31 as days",
            echo(&words.known[0].0)
        )
    }

    /// Refuses words that are numbers in part, numbers with a comma, or too many, where no kind is asked for.
    fn check_words(&self) -> Result<(), String> {
        match &self.held {
            Held::Words(words) if self.request == ColumnRequest::default() => {
                let (word, row) = &words.known[0];
                let are_numbers = words.known.iter().all(|(word, _)| has_decimal_comma(word));
                if are_numbers || words.known.iter().any(spells_number) {
                    return Err(self.refused(word, *row, true));
                }
                match self.used == Use::Feature && words.known.len() > MOST_WORDS {
                    true => Err(self.too_many()),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// The column of a target: numbers, or the places of words in alphabetical order, and these words.
    ///
    /// # Errors
    /// Numbers among words, with the row and the column.
    pub(super) fn finish_target(self) -> Result<(Chunks, Option<Vec<String>>), String> {
        self.check_words()?;
        match self.held {
            Held::None(_) => Ok((Chunks::default(), None)),
            Held::Numbers(values) => Ok((values, None)),
            Held::Words(words) => {
                let mut labels: Vec<String> =
                    words.known.iter().map(|(word, _)| word.clone()).collect();
                labels.sort_unstable();
                let place = |(word, _): &(String, usize)| {
                    labels.partition_point(|label| label < word) as f64
                };
                let places: Vec<f64> = words.known.iter().map(place).collect();
                Ok((words.valued(&places), Some(labels)))
            }
        }
    }

    /// The column of all fields.
    ///
    /// # Errors
    /// What is wrong, with the row and the column.
    pub(super) fn finish(self) -> Result<ReadColumn, String> {
        self.check_words()?;
        let kind = match self.request.kind {
            Some(ColumnKind::Ordinal) => FeatureKind::Ordinal,
            _ => FeatureKind::Nominal,
        };
        let levels = self.request.levels.as_deref();
        match self.held {
            Held::None(rows) => {
                let values = Chunks::from_iter(std::iter::repeat_n(f64::NAN, rows));
                Ok(ReadColumn { values, kind: FeatureKind::Continuous, levels: None })
            }
            Held::Numbers(values) => {
                Ok(ReadColumn { values, kind: FeatureKind::Continuous, levels: None })
            }
            Held::Words(words) if words.known.iter().all(spells_number) => {
                numbered(words, self.name, kind, levels)
            }
            Held::Words(_) if kind == FeatureKind::Ordinal && levels.is_none() => {
                let column = echo(self.name);
                Err(format!(
                    "column {column}: words have no order of their own; --levels {column}=LEVEL,LEVEL,… gives \
                     one, from the lowest on"
                ))
            }
            Held::Words(words) => worded(words, self.name, kind, levels),
        }
    }
}

fn spells_number((word, _): &(String, usize)) -> bool {
    word.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Ways out for a column whose fields are not all numbers.
fn hint(name: &str, has_numbers: bool) -> String {
    let name = echo(name);
    let ignored = format!("--ignore {name} leaves the column out");
    if has_numbers {
        format!("{ignored}, --kind {name}=nominal takes its fields as words")
    } else {
        ignored
    }
}

/// A column of levels that are numbers.
fn numbered(
    words: Words,
    name: &str,
    kind: FeatureKind,
    levels: Option<&[String]>,
) -> Result<ReadColumn, String> {
    let number = |(word, _): &(String, usize)| word.parse().unwrap_or(f64::NAN);
    let values: Vec<f64> = words.known.iter().map(number).collect();
    let Some(levels) = levels else {
        return Ok(ReadColumn { values: words.valued(&values), kind, levels: None });
    };
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
        None => Ok(ReadColumn { values: words.valued(&values), kind, levels: Some(levels) }),
        Some(place) => Err(not_a_level(&words.known[place], name)),
    }
}

/// A column of levels that are words; their values are 0, 1, … in their order.
fn worded(
    words: Words,
    name: &str,
    kind: FeatureKind,
    levels: Option<&[String]>,
) -> Result<ReadColumn, String> {
    let mut ordered: Vec<&str> = match levels {
        Some(levels) => levels.iter().map(String::as_str).collect(),
        None => words.known.iter().map(|(word, _)| word.as_str()).collect(),
    };
    if levels.is_none() {
        ordered.sort_unstable();
    }
    let names = LevelNames::of_words(ordered.iter().copied());
    let names = names.map_err(|e| format!("--levels {}: {e}", echo(name)))?;
    let codes: HashMap<&str, f64> =
        ordered.iter().enumerate().map(|(code, word)| (*word, code as f64)).collect();
    let code = |known: &(String, usize)| {
        codes.get(known.0.as_str()).copied().ok_or_else(|| not_a_level(known, name))
    };
    let values = words.known.iter().map(code).collect::<Result<Vec<f64>, _>>()?;
    Ok(ReadColumn { values: words.valued(&values), kind, levels: Some(names) })
}

fn not_a_level((field, row): &(String, usize), name: &str) -> String {
    let (row, name, field) = (row + 1, echo(name), echo(field));
    format!("row {row}, column {name}: `{field}` is none of the levels that --levels gives")
}

/// A date as the number of days since 1970-01-01.
fn day(field: &str, row: usize, name: &str) -> Result<f64, String> {
    // A time of the day behind it would be lost.
    let date = field.parse::<Date>().ok().filter(|_| field.len() == "2012-12-31".len());
    date.map(|date| f64::from((date - Date::constant(1970, 1, 1)).get_days())).ok_or_else(|| {
        let (row, name, field) = (row + 1, echo(name), echo(field));
        format!("row {row}, column {name}: `{field}` is no date such as 2012-12-31")
    })
}

/// Refusal of a field that is no finite number.
pub(super) fn not_a_number(field: &str, row: usize, column: &str) -> String {
    let (row, column, field) = (row + 1, echo(column), echo(field));
    let point = if has_decimal_comma(&field) { ": numbers have a point, such as 1.5" } else { "" };
    format!("row {row}, column {column}: `{field}` is not a finite number{point}")
}

/// True of a number with a comma in the place of its point, or between its thousands.
fn has_decimal_comma(field: &str) -> bool {
    field.contains(',') && field.replace(',', "").trim().parse::<f64>().is_ok_and(f64::is_finite)
}

pub(crate) fn parse(field: &str, row: usize, column: &str) -> Result<f64, String> {
    match field.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(not_a_number(field, row, column)),
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
        let levels = (!levels.is_empty()).then(|| levels.iter().map(|l| (*l).to_owned()).collect());
        let mut column = Collecting::new("s", &ColumnRequest { kind, levels }, Use::Feature);
        for (row, field) in fields.iter().enumerate() {
            column.push(&Field::of_text(field), row)?;
        }
        column.finish()
    }

    fn values(of: &[f64]) -> Chunks {
        of.iter().copied().collect()
    }

    #[test]
    fn columns_are_read_by_their_fields_and_by_request() {
        let words = read(&["b", "a", "b"], None, &[]).unwrap();
        assert_eq!((words.kind, words.values), (FeatureKind::Nominal, values(&[1.0, 0.0, 1.0])));
        assert_eq!(words.levels.unwrap().name(1.0), Some("b"));
        let given = read(&["b", "a", "b"], None, &["b", "c", "a"]).unwrap();
        assert_eq!(given.values, values(&[0.0, 2.0, 0.0]));
        let booleans = read(&["true", "false"], None, &[]).unwrap();
        assert_eq!((booleans.kind, booleans.values), (FeatureKind::Nominal, values(&[1.0, 0.0])));
        let numbers = read(&["3", "1"], Some(ColumnKind::Nominal), &["3", "1"]).unwrap();
        assert_eq!((numbers.kind, &numbers.values), (FeatureKind::Nominal, &values(&[3.0, 1.0])));
        assert_eq!(numbers.levels.unwrap().iter().next(), Some((3.0, "3")));
        assert_eq!(read(&["3", "1"], None, &[]).unwrap().kind, FeatureKind::Continuous);
        let days = read(&["1970-01-02", "2000-03-01"], Some(ColumnKind::Date), &[]).unwrap();
        assert_eq!(days.values, values(&[1.0, 11_017.0]));
        let gaps = read(&["", "b", "NA", "a"], None, &[]).unwrap();
        let mut codes = vec![0.0; 4];
        gaps.values.into_slice(&mut codes);
        assert_eq!((codes[1], codes[3]), (1.0, 0.0));
        assert!(codes[0].is_nan() && codes[2].is_nan());
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
