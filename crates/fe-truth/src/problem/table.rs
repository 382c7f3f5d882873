//! Tables of a problem file: keys, texts and formulas with their places.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lexer::Fault;
use super::parser::hint;

/// A text with the place where it begins, in bytes of the file.
#[derive(Debug, Clone)]
pub(super) struct Placed<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// A text of the language, and how its places are those of the file.
#[derive(Debug, Clone)]
pub(super) struct Formula {
    pub(super) text: String,
    at: usize,
    /// True if it stands in the file as it is, so that places inside of it can be told.
    verbatim: bool,
    /// True for a bare number.
    literal: bool,
}

impl Formula {
    /// True for a number that is no text.
    pub(super) fn is_literal(&self) -> bool {
        self.literal
    }

    /// A fault in the formula as one of the file.
    pub(super) fn fault(&self, fault: Fault) -> Fault {
        let at = if self.verbatim { self.at + fault.at } else { self.at };
        Fault { at, ..fault }
    }

    /// A fault of the formula as a whole.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }
}

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) name: Placed<String>,
    pub(super) default: f64,
    pub(super) from: Option<f64>,
    pub(super) to: Option<f64>,
    pub(super) about: String,
}

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// Entries of a table, in the order of the file.
pub(super) struct Table<'a> {
    pub(super) entries: Vec<(Placed<&'a str>, &'a Value<'a>)>,
    text: &'a str,
}

/// The table that a file is.
pub(super) fn parsed(text: &str) -> Result<Spanned<DeTable<'_>>, Fault> {
    DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span: Range<usize>| span.start);
        Fault::new(at, error.message().lines().collect::<Vec<_>>().join(" "))
    })
}

fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<(Placed<&'a str>, &'a Value<'a>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| (Placed { at: key.span().start, value: key.get_ref().as_ref() }, value))
        .collect();
    entries.sort_by_key(|(key, _)| key.at);
    entries
}

impl<'a> Table<'a> {
    /// Of a text, in which it stands.
    pub(super) fn new(table: &'a DeTable<'a>, text: &'a str) -> Self {
        Self { entries: in_order(table), text }
    }

    /// A table that stands in this one.
    pub(super) fn inner(&self, table: &'a DeTable<'a>) -> Self {
        Self::new(table, self.text)
    }

    pub(super) fn get(&self, name: &str) -> Option<(&Placed<&'a str>, &'a Value<'a>)> {
        self.entries.iter().find(|(key, _)| key.value == name).map(|(key, value)| (key, *value))
    }

    /// Refuses keys that are not known.
    pub(super) fn known(&self, known: &[&str], what: &str) -> Result<(), Fault> {
        let unknown = self.entries.iter().find(|(key, _)| !known.contains(&key.value));
        let Some((key, _)) = unknown else { return Ok(()) };
        let hint = hint(key.value, known.iter().copied());
        Err(Fault::new(key.at, format!("unknown key `{}` in {what}{hint}", key.value)))
    }

    /// A table under a key; empty if there is none.
    pub(super) fn under(&self, name: &str) -> Result<Table<'a>, Fault> {
        let entries = match self.get(name) {
            None => Vec::new(),
            Some((_, value)) => match value.get_ref() {
                DeValue::Table(table) => in_order(table),
                other => return Err(wrong(value, name, "a table", other)),
            },
        };
        Ok(Table { entries, text: self.text })
    }

    pub(super) fn string(&self, value: &Value<'_>, what: &str) -> Result<String, Fault> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(wrong(value, what, "a text", other)),
        }
    }

    /// A formula: a text, or a bare number.
    pub(super) fn formula(&self, value: &Value<'_>, what: &str) -> Result<Formula, Fault> {
        let span = value.span();
        match value.get_ref() {
            DeValue::String(text) => {
                let raw = &self.text[span.clone()];
                let quotes = raw.len() / 2;
                let inside = if text.is_empty() { Some(quotes) } else { raw.find(text.as_ref()) };
                let at = span.start + inside.unwrap_or(0);
                let verbatim = inside.is_some();
                Ok(Formula { text: text.to_string(), at, verbatim, literal: false })
            }
            DeValue::Integer(_) | DeValue::Float(_) => {
                let number = number(value, what)?;
                Ok(Formula {
                    text: format!("{number:?}"),
                    at: span.start,
                    verbatim: false,
                    literal: true,
                })
            }
            other => Err(wrong(value, what, "a text or a number", other)),
        }
    }

    /// A published number or formula, and behind it in a list of two, what is right in its place.
    pub(super) fn printed(&self, value: &Value<'_>) -> Result<(Formula, Option<Formula>), Fault> {
        let as_printed = |value: &Value<'_>| {
            let formula = self.formula(value, "a published number")?;
            // A number keeps the digits that it is printed with.
            let text = self.text[value.span()].replace('_', "");
            Ok(if formula.literal { Formula { text, ..formula } } else { formula })
        };
        match value.get_ref() {
            DeValue::Array(pair) => match &pair[..] {
                [printed, right] => Ok((as_printed(printed)?, Some(as_printed(right)?))),
                _ => {
                    let message = "a published number, or two: the printed one and the right one";
                    Err(Fault::new(value.span().start, message))
                }
            },
            _ => Ok((as_printed(value)?, None)),
        }
    }

    /// The tables of a list under a key; none if there is no such key.
    pub(super) fn tables(&self, name: &str) -> Result<Vec<Table<'a>>, Fault> {
        let Some((_, value)) = self.get(name) else { return Ok(Vec::new()) };
        let each = list(value, name, "a list of tables")?.iter();
        let table = |value: &'a Value<'a>| match value.get_ref() {
            DeValue::Table(table) => Ok(self.inner(table)),
            other => Err(wrong(value, name, "a list of tables", other)),
        };
        each.map(table).collect()
    }

    /// Place of its first entry.
    pub(super) fn at(&self) -> usize {
        self.entries.first().map_or(0, |(key, _)| key.at)
    }
}

pub(super) fn owned(key: &Placed<&str>) -> Placed<String> {
    Placed { at: key.at, value: key.value.to_owned() }
}

pub(super) fn list<'a>(
    value: &'a Value<'a>,
    what: &str,
    expected: &str,
) -> Result<&'a [Value<'a>], Fault> {
    match value.get_ref() {
        DeValue::Array(parts) => Ok(parts),
        other => Err(wrong(value, what, expected, other)),
    }
}

fn wrong(value: &Value<'_>, what: &str, expected: &str, found: &DeValue<'_>) -> Fault {
    let found = found.type_str();
    Fault::new(
        value.span().start,
        format!("{what} must be {expected}, not a value of type {found}"),
    )
}

pub(super) fn number(value: &Value<'_>, what: &str) -> Result<f64, Fault> {
    let text = match value.get_ref() {
        DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str(),
        DeValue::Float(float) => float.as_str(),
        other => return Err(wrong(value, what, "a number", other)),
    };
    let parsed = text.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
    let refused = || Fault::new(value.span().start, format!("{what} must be a finite number"));
    parsed.ok_or_else(refused)
}
