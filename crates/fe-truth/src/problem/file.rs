//! A problem file as it stands: keys and texts with their places, checked for what may stand where.

use toml::de::DeValue;

use super::lexer::Fault;
use super::parser::is_reserved;
use super::published;
use super::table::{Declared, Formula, Placed, Table, Value, list, number, owned, parsed};

/// Largest number of features of a file.
const MOST_FEATURES: usize = 1000;

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
    let table = parsed(text)?;
    let root = Table::new(table.get_ref(), text);
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

impl Table<'_> {
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
        let table = self.inner(entries);
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
