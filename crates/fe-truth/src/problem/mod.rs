//! Scenarios that are written in a file: a function and a law in words of a small language.
//!
//! A text is read in steps, each of which knows only the ones before: `lexer` finds words and signs,
//! `parser` reads expressions, `named_law` laws, `file` the file around them. `pieces` takes an
//! expression apart, `breaks` finds where it is not smooth, `hills` where it is high on little, `turning` angles that count by their difference, `cosines` what
//! distances that they turn are on average, and `terms` makes of all what the engine integrates; `laws`, `network` and
//! `scores` are the laws, and `build` joins all into a scenario.
//! `population` writes such texts at random.
//!
//! Imports all other folders; none imports it. Begin with [`problem`], then `build`.

mod blend;
mod breaks;
mod build;
mod cosines;
mod explain;
mod file;
mod hills;
mod laws;
mod lexer;
mod named_law;
mod near_places;
mod network;
mod noisy;
mod parser;
mod peaks;
mod pieces;
mod places;
mod population;
mod program;
mod published;
mod published_truths;
mod scores;
mod table;
mod terms;
mod turning;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

pub use population::{Dependence, Margin, Population, RandomProblem};
pub use published::{Correction, Published, Subject};

use crate::error::{Error, nearest};
use crate::scenario::{Scenario, ScenarioInfo};
use fe_core::OptionInfo;
use file::File;
use lexer::Fault;
use table::Declared;

/// A scenario from the text of a problem file, with parameters set by key and value; those not set
/// have their defaults. The name is that of the scenario, and stands in messages for the file.
///
/// # Errors
/// [`Error::BadProblem`], which tells line and column; [`Error::UnknownParameter`],
/// [`Error::RepeatedParameter`], [`Error::BadParameter`].
///
/// ```
/// let text = r#"
/// f = "x1*sin(pi*x2) + c"
/// [parameters]
/// c = 0.5
/// [law]
/// x1 = "uniform(0, 1)"
/// x2 = "uniform(0, 1)"
/// "#;
/// let set = [("c".to_owned(), "2".to_owned())];
/// let scenario = fe_truth::problem("mine", text, &set).unwrap();
/// assert_eq!(scenario.id(), "mine@1");
/// assert_eq!(scenario.parameters(), "c=2");
/// let mean = scenario.mean().unwrap();
/// assert!((mean.value - (2.0 + 1.0 / std::f64::consts::PI)).abs() < 1e-12);
///
/// let error = fe_truth::problem("mine", &text.replace("sin", "sine"), &[]).unwrap_err();
/// assert!(error.to_string().starts_with("mine:2:9: unknown function `sine` (nearest: `sin`"));
/// ```
pub fn problem(name: &str, text: &str, set: &[(String, String)]) -> Result<Scenario, Error> {
    made(name, text, set, false)
}

impl Scenario {
    /// The same scenario, whose truths are integrated in another order of the features, on other
    /// nodes, and with nothing taken apart: the witness of those of a scenario in a file. None for
    /// built-in scenarios, whose witness is [`Scenario::without_closed_forms`].
    ///
    /// ```
    /// let text = "f = \"x1*x2\"\n[law]\nx1 = \"normal(2, 1)\"\nx2 = \"x1 + normal(0, 1)\"\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// let (mean, other) = (scenario.mean().unwrap(), scenario.witness().unwrap().mean().unwrap());
    /// assert!((mean.value - other.value).abs() <= mean.abs_error + other.abs_error);
    /// ```
    #[must_use]
    pub fn witness(&self) -> Option<Self> {
        let pair = |text: &str| text.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
        let set: Vec<_> = self.parameters().split(';').filter_map(pair).collect();
        made(self.info().name, self.text()?, &set, true).ok()
    }
}

fn made(
    name: &str,
    text: &str,
    set: &[(String, String)],
    is_witness: bool,
) -> Result<Scenario, Error> {
    check_name(name)?;
    let placed = |fault: Fault| bad(name, text, &fault);
    let file = file::read(text).map_err(placed)?;
    let info = info(name, text, &file);
    let values = values(info, &file, set)?;
    let parts = build::parts(&file, &values, is_witness).map_err(placed)?;
    published::numbers(&file.published, &parts.names, &file.parameters, &values).map_err(placed)?;
    let declared = file.parameters.iter().zip(&values);
    let pairs: Vec<String> =
        declared.map(|(parameter, value)| format!("{}={value}", parameter.name.value)).collect();
    Ok(Scenario::of_parts(info, pairs.join(";"), parts, Some(text)))
}

/// A fault at its line and column.
fn bad(name: &str, text: &str, fault: &Fault) -> Error {
    let before = text.get(..fault.at.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Error::BadProblem { name: name.to_owned(), line, column, message: fault.message.clone() }
}

/// Refuses a name that would not stand as one field in results.
fn check_name(name: &str) -> Result<(), Error> {
    let is_allowed = |c: char| c.is_alphanumeric() || "-_. ()+".contains(c);
    if !name.is_empty() && name.chars().all(is_allowed) {
        return Ok(());
    }
    Err(Error::BadProblemName { given: name.to_owned() })
}

/// The values of the parameters: those set, else their defaults.
fn values(
    info: &'static ScenarioInfo,
    file: &File,
    set: &[(String, String)],
) -> Result<Vec<f64>, Error> {
    let mut values: Vec<f64> = file.parameters.iter().map(|p| p.default + 0.0).collect();
    for (i, (key, given)) in set.iter().enumerate() {
        let place = file.parameters.iter().position(|parameter| parameter.name.value == *key);
        let Some(place) = place else {
            let names: Vec<&str> = info.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(Error::UnknownParameter {
                scenario: info.name,
                given: key.clone(),
                nearest: nearest(key, names.iter().copied()),
                known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            });
        };
        if set[..i].iter().any(|(earlier, _)| earlier == key) {
            return Err(Error::RepeatedParameter(key.clone()));
        }
        let declared = &file.parameters[place];
        let in_range = |x: &f64| {
            x.is_finite()
                && declared.from.is_none_or(|from| *x >= from)
                && declared.to.is_none_or(|to| *x <= to)
        };
        let value = given.trim().parse::<f64>().ok().filter(in_range);
        // Adding 0 turns -0 into 0, so that equal parameters are written alike.
        values[place] = value.ok_or_else(|| Error::BadParameter {
            scenario: info.name,
            name: info.parameters[place].name,
            given: given.clone(),
            allowed: info.parameters[place].allowed,
        })? + 0.0;
    }
    Ok(values)
}

/// Description of a file, in words. Descriptions of scenarios live as long as the program, those of the
/// built-in ones because they are part of it; so each file that is read has one, once.
fn info(name: &str, text: &str, file: &File) -> &'static ScenarioInfo {
    type Known = HashMap<(String, String), &'static ScenarioInfo>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let law =
            file.law.iter().map(|(name, formula)| format!("{} ~ {}", name.value, formula.text));
        let law = law.collect::<Vec<_>>().join(", ");
        let parameters: Vec<OptionInfo> = file.parameters.iter().map(parameter).collect();
        let info = ScenarioInfo {
            name: forever(name.to_owned()),
            version: file.version,
            about: forever(file.about.clone()),
            formula: forever(file.f.text.clone()),
            law: forever(law),
            parameters: Box::leak(parameters.into_boxed_slice()),
        };
        &*Box::leak(Box::new(info))
    };
    known.entry((name.to_owned(), text.to_owned())).or_insert_with(make)
}

fn parameter(declared: &Declared) -> OptionInfo {
    let allowed = match (declared.from, declared.to) {
        (Some(from), Some(to)) => format!("a number from {from} to {to}"),
        (Some(from), None) => format!("a number from {from} on"),
        (None, Some(to)) => format!("a number up to {to}"),
        (None, None) => "a number".to_owned(),
    };
    OptionInfo {
        name: forever(declared.name.value.clone()),
        default: forever((declared.default + 0.0).to_string()),
        allowed: forever(allowed),
        about: forever(declared.about.clone()),
    }
}

fn forever(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_of_zero_has_no_sign() {
        let declared = |default: f64| Declared {
            name: table::Placed { at: 0, value: "c".to_owned() },
            default,
            from: Some(-1.0),
            to: None,
            about: String::new(),
        };
        assert_eq!([-0.0, 0.0, -0.5].map(|c| parameter(&declared(c)).default), ["0", "0", "-0.5"]);
    }

    /// Answers are judged against the mean size of f over rows of the law.
    #[test]
    fn the_size_of_a_function_is_its_mean_over_rows() {
        let size = |f: &str| {
            let text = format!("f = \"{f}\"\n[law]\nx1 = \"uniform(-1, 1)\"\n");
            problem("mine", &text, &[]).unwrap().parts.size
        };
        assert_eq!(size("-3"), 3.0);
        assert!((size("4*x1") - 2.0).abs() < 0.02, "{}", size("4*x1"));
    }
}
