//! A problem file as it stands: keys and texts with their places, checked for what may stand where.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lexer::Fault;
use super::parser::{hint, is_reserved};
use super::published;

/// Largest number of features of a file.
const MOST_FEATURES: usize = 1000;

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

/// The correlation of the normal scores of two features.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    pub(super) at: usize,
    pub(super) features: [Placed<String>; 2],
    pub(super) correlation: Formula,
}

/// The axis of a feature.
pub(super) type NamedRange = (Placed<String>, [Formula; 2]);

/// Content of a problem file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) about: String,
    pub(super) version: u32,
    pub(super) f: Formula,
    pub(super) parameters: Vec<Declared>,
    pub(super) law: Vec<(Placed<String>, Formula)>,
    pub(super) hidden: Vec<Placed<String>>,
    pub(super) copula: Vec<Joined>,
    pub(super) axis: Vec<NamedRange>,
    pub(super) source: String,
    pub(super) published: Vec<published::Entry>,
}

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

const KEYS: [&str; 10] = [
    "about",
    "source",
    "version",
    "f",
    "hidden",
    "parameters",
    "law",
    "copula",
    "axis",
    "published",
];

/// Reads a file.
pub(super) fn read(text: &str) -> Result<File, Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span: Range<usize>| span.start);
        Fault::new(at, error.message().lines().collect::<Vec<_>>().join(" "))
    })?;
    let root = Table { entries: in_order(table.get_ref()), text };
    root.known(&KEYS, "the file")?;
    let f = match root.get("f") {
        Some((_, value)) => root.formula(value, "`f`")?,
        None => return Err(Fault::new(0, "there is no `f`: the function, as `f = \"x1 + x2\"`")),
    };
    let about = match root.get("about") {
        Some((_, value)) => root.string(value, "`about`")?,
        None => String::new(),
    };
    let source = match root.get("source") {
        Some((_, value)) => root.string(value, "`source`")?,
        None => String::new(),
    };
    let version = match root.get("version") {
        Some((_, value)) => root.version(value)?,
        None => 1,
    };
    let law = root.law()?;
    Ok(File {
        about,
        version,
        f,
        parameters: root.parameters()?,
        law,
        hidden: root.hidden()?,
        copula: root.copula()?,
        axis: root.axis()?,
        source,
        published: published::read(&root)?,
    })
}

/// Entries of a table, in the order of the file.
pub(super) struct Table<'a> {
    pub(super) entries: Vec<(Placed<&'a str>, &'a Value<'a>)>,
    text: &'a str,
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
    fn formula(&self, value: &Value<'_>, what: &str) -> Result<Formula, Fault> {
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
            DeValue::Table(table) => Ok(Table { entries: in_order(table), text: self.text }),
            other => Err(wrong(value, name, "a list of tables", other)),
        };
        each.map(table).collect()
    }

    /// Place of its first entry.
    pub(super) fn at(&self) -> usize {
        self.entries.first().map_or(0, |(key, _)| key.at)
    }

    fn version(&self, value: &Value<'_>) -> Result<u32, Fault> {
        let number = number(value, "`version`")?;
        if number.fract() == 0.0 && (1.0..=1e9).contains(&number) {
            return Ok(number as u32);
        }
        Err(Fault::new(value.span().start, "`version` must be a whole number above 0"))
    }

    fn law(&self) -> Result<Vec<(Placed<String>, Formula)>, Fault> {
        let table = self.under("law")?;
        if table.entries.is_empty() {
            let at = self.get("law").map_or(0, |(key, _)| key.at);
            return Err(Fault::new(at, "there is no [law]: features, as `x1 = \"uniform(0, 1)\"`"));
        }
        if table.entries.len() > MOST_FEATURES {
            let (at, count) = (table.entries[MOST_FEATURES].0.at, table.entries.len());
            let message = format!("{count} features: there may be {MOST_FEATURES} at most");
            return Err(Fault::new(at, message));
        }
        let feature = |(key, value): &(Placed<&str>, &Value<'_>)| {
            check_name(key, "feature")?;
            Ok((owned(key), self.formula(value, &format!("the law of `{}`", key.value))?))
        };
        table.entries.iter().map(feature).collect()
    }

    fn parameters(&self) -> Result<Vec<Declared>, Fault> {
        let table = self.under("parameters")?;
        table.entries.iter().map(|(key, value)| self.parameter(key, value)).collect()
    }

    fn parameter(&self, key: &Placed<&str>, value: &Value<'_>) -> Result<Declared, Fault> {
        check_name(key, "parameter")?;
        let what = format!("parameter `{}`", key.value);
        let simple = |default: f64| Declared {
            name: owned(key),
            default,
            from: None,
            to: None,
            about: String::new(),
        };
        let DeValue::Table(entries) = value.get_ref() else {
            return Ok(simple(number(value, &what)?));
        };
        let table = Table { entries: in_order(entries), text: self.text };
        table.known(&["default", "from", "to", "about"], &what)?;
        let number_at = |name: &str| match table.get(name) {
            Some((_, value)) => number(value, &format!("`{name}` of {what}")).map(Some),
            None => Ok(None),
        };
        let Some(default) = number_at("default")? else {
            return Err(Fault::new(key.at, format!("{what} has no `default`")));
        };
        let (from, to) = (number_at("from")?, number_at("to")?);
        if from.is_some_and(|from| default < from) || to.is_some_and(|to| default > to) {
            let message = format!("`default` of {what} is {default}, outside of its range");
            return Err(Fault::new(key.at, message));
        }
        let about = match table.get("about") {
            Some((_, value)) => self.string(value, &format!("`about` of {what}"))?,
            None => String::new(),
        };
        Ok(Declared { from, to, about, ..simple(default) })
    }

    fn hidden(&self) -> Result<Vec<Placed<String>>, Fault> {
        let Some((_, value)) = self.get("hidden") else { return Ok(Vec::new()) };
        let names = list(value, "`hidden`", "a list of features")?;
        names.iter().map(|name| self.name(name, "`hidden`")).collect()
    }

    fn name(&self, value: &Value<'_>, what: &str) -> Result<Placed<String>, Fault> {
        let name = self.string(value, &format!("a feature of {what}"))?;
        Ok(Placed { at: value.span().start, value: name })
    }

    fn copula(&self) -> Result<Vec<Joined>, Fault> {
        let table = self.under("copula")?;
        table.known(&["gaussian"], "[copula]")?;
        let Some((_, value)) = table.get("gaussian") else { return Ok(Vec::new()) };
        let pairs = "a list such as [[\"x1\", \"x2\", 0.6]]";
        let pair = |value: &Value<'_>| {
            let parts = list(value, "`gaussian`", pairs)?;
            let [a, b, correlation] = parts else {
                let message = "a pair of `gaussian` must be two features and their correlation";
                return Err(Fault::new(value.span().start, message));
            };
            let correlation = self.formula(correlation, "a correlation of `gaussian`")?;
            let features = [self.name(a, "`gaussian`")?, self.name(b, "`gaussian`")?];
            Ok(Joined { at: value.span().start, features, correlation })
        };
        list(value, "`gaussian`", pairs)?.iter().map(pair).collect()
    }

    fn axis(&self) -> Result<Vec<NamedRange>, Fault> {
        let table = self.under("axis")?;
        let range = |(key, value): &(Placed<&str>, &Value<'_>)| {
            let what = format!("the axis of `{}`", key.value);
            let [low, high] = list(value, &what, "two numbers")? else {
                return Err(Fault::new(value.span().start, format!("{what} must be [lo, hi]")));
            };
            Ok((owned(key), [self.formula(low, &what)?, self.formula(high, &what)?]))
        };
        table.entries.iter().map(range).collect()
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

/// Refuses a name that the language could not read.
fn check_name(key: &Placed<&str>, what: &str) -> Result<(), Fault> {
    let name = key.value;
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    if !begins || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let message =
            format!("`{name}` cannot name a {what}: a letter, then letters, digits and _");
        return Err(Fault::new(key.at, message));
    }
    if is_reserved(name) {
        let message = format!("`{name}` cannot name a {what}: the language has it already");
        return Err(Fault::new(key.at, message));
    }
    Ok(())
}
