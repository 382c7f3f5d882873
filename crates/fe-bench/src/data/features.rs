//! Features by name or number.

use std::collections::HashSet;

use fe_truth::Scenario;

use crate::error::{listed, suggestion};
use crate::system::say::echo;

/// Features by name, counted from 0; all if none are named.
///
/// # Errors
/// A message that names the feature and those that exist.
pub fn features(scenario: &Scenario, names: &[String]) -> Result<Vec<usize>, String> {
    if names.is_empty() {
        return Ok((0..scenario.dimension()).collect());
    }
    let known = names.iter().map(|name| feature_of(scenario, name));
    distinct(known.collect::<Result<_, _>>()?, |feature| scenario.feature_name(feature))
}

/// A feature, or a pair of features, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// One feature.
    One(usize),
    /// Two of them, in the order in which they were named.
    Two([usize; 2]),
}

/// Words that name all pairs of features.
pub const ALL_PAIRS: &str = "all-pairs";

/// Features and pairs of features by name: a pair is written `x1:x2`, and `all-pairs` is all of them, in order.
///
/// # Errors
/// A message that names the feature and those that exist, or what is named twice.
pub fn subjects(
    names: &[String],
    dimension: usize,
    feature: impl Fn(&str) -> Result<usize, String>,
    name: impl Fn(usize) -> String,
) -> Result<Vec<Subject>, String> {
    let mut found = Vec::new();
    for word in names {
        if word == ALL_PAIRS {
            let of = |a: usize| (a + 1..dimension).map(move |b| Subject::Two([a, b]));
            found.extend((0..dimension).flat_map(of));
            continue;
        }
        let parts = word.split(':').map(|part| feature(part.trim()));
        let parts = parts.collect::<Result<Vec<usize>, String>>()?;
        found.push(match parts[..] {
            [one] => Subject::One(one),
            [a, b] if a == b => {
                return Err(format!("a pair is of two features, and {} is named twice", name(a)));
            }
            [a, b] => Subject::Two([a, b]),
            _ => {
                let count = parts.len();
                return Err(format!(
                    "`{}` is a set of {count} features: effects are of one or of two, as a table over three \
                     cannot be read, and no estimator here has one",
                    echo(word)
                ));
            }
        });
    }
    let mut seen = HashSet::new();
    let sorted = |subject: &Subject| match *subject {
        Subject::Two([a, b]) => Subject::Two([a.min(b), a.max(b)]),
        one => one,
    };
    match found.iter().find(|subject| !seen.insert(sorted(subject))) {
        None => Ok(found),
        Some(Subject::One(twice)) => Err(format!("{} is asked for twice", name(*twice))),
        Some(Subject::Two(twice)) => {
            let [a, b] = twice.map(&name);
            Err(format!("{a}:{b} is asked for twice"))
        }
    }
}

/// The pairs of features that f reads both of, in order: no others can interact.
#[must_use]
pub fn pairs_that_f_reads(scenario: &Scenario) -> Vec<[usize; 2]> {
    let expression = scenario.expression();
    let read: Vec<usize> = (0..scenario.dimension()).filter(|&s| expression.reads(s)).collect();
    let of = |(place, &a): (usize, &usize)| read[place + 1..].iter().map(move |&b| [a, b]);
    read.iter().enumerate().flat_map(of).collect()
}

/// True if a word names a pair, or all pairs.
#[must_use]
pub fn is_pair(word: &str) -> bool {
    word.contains(':') || word == ALL_PAIRS
}

/// The feature of a scenario by its name, or by its number, counted from 0.
///
/// # Errors
/// A name that is none of its features.
pub fn feature_of(scenario: &Scenario, name: &str) -> Result<usize, String> {
    if let Some(feature) = scenario.feature_named(name) {
        return Ok(feature);
    }
    feature(name, scenario.dimension()).map_err(|message| {
        if scenario.text().is_none() {
            return message;
        }
        let names: Vec<String> =
            (0..scenario.dimension()).map(|feature| scenario.feature_name(feature)).collect();
        let names = || names.iter().map(String::as_str);
        format!("{message}, or {}{}", listed(names()), suggestion(name, names()))
    })
}

/// Refuses features that are asked for twice, by the same name or another.
///
/// # Errors
/// A message with the name of the first.
pub fn distinct(
    features: Vec<usize>,
    name: impl Fn(usize) -> String,
) -> Result<Vec<usize>, String> {
    let mut seen = HashSet::new();
    match features.iter().find(|feature| !seen.insert(**feature)) {
        None => Ok(features),
        Some(&twice) => Err(format!("{} is asked for twice", name(twice))),
    }
}

/// The feature of a name such as `x3` or `3`, counted from 0.
///
/// # Errors
/// A name that is none of `x1` to `xD`.
pub fn feature(name: &str, dimension: usize) -> Result<usize, String> {
    let number = name.strip_prefix('x').unwrap_or(name);
    // A number may have a sign before it, a name may not.
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    match number.parse::<usize>() {
        Ok(number) if is_number && (1..=dimension).contains(&number) => Ok(number - 1),
        _ => {
            let name = echo(name);
            Err(format!("feature `{name}` does not exist: there are x1 … x{dimension}"))
        }
    }
}

/// A feature of data whose features have names, counted from 0: by its name or, where none is called so, by its
/// number, as `x3` or `3`.
///
/// # Errors
/// A message that names the feature and those that exist.
pub fn named_feature(name: &str, names: &[String]) -> Result<usize, String> {
    if let Some(feature) = names.iter().position(|known| known == name) {
        return Ok(feature);
    }
    feature(name, names.len()).map_err(|message| {
        let known = || names.iter().map(String::as_str);
        // Names that are numbers with an x in front say nothing that the message does not.
        if known().enumerate().all(|(s, name)| name == format!("x{}", s + 1)) {
            return message;
        }
        format!("{message}, or {}{}", listed(known()), suggestion(name, known()))
    })
}
