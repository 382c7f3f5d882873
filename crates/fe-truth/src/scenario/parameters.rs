//! Parameters as given, checked against what a scenario declares.

use super::ScenarioInfo;
use crate::error::{Error, nearest};

/// The parameters of a scenario while it is built: raw texts in, canonical texts out.
pub(super) struct Parameters {
    info: &'static ScenarioInfo,
    /// One for each declared parameter, canonical once it was read.
    texts: Vec<String>,
}

impl Parameters {
    pub(super) fn new(
        info: &'static ScenarioInfo,
        set: &[(String, String)],
    ) -> Result<Self, Error> {
        let declared = info.parameters;
        let mut texts: Vec<String> = declared.iter().map(|p| p.default.to_owned()).collect();
        for (i, (key, value)) in set.iter().enumerate() {
            let Some(place) = declared.iter().position(|parameter| parameter.name == key) else {
                return Err(unknown(info, key));
            };
            if set[..i].iter().any(|(earlier, _)| earlier == key) {
                return Err(Error::RepeatedParameter(key.clone()));
            }
            value.trim().clone_into(&mut texts[place]);
        }
        Ok(Self { info, texts })
    }

    /// A finite number that satisfies the condition its declaration states in words.
    pub(super) fn number(
        &mut self,
        name: &'static str,
        is_allowed: impl Fn(f64) -> bool,
    ) -> Result<f64, Error> {
        // Adding 0 turns -0 into 0, so that equal parameters are written alike.
        let parse = |text: &str| text.parse().ok().map(|x: f64| x + 0.0);
        self.read(name, |text| parse(text).filter(|x| x.is_finite() && is_allowed(*x)))
    }

    /// A whole number up to `max`.
    pub(super) fn count(&mut self, name: &'static str, max: usize) -> Result<usize, Error> {
        self.read(name, |text| text.parse().ok().filter(|n| *n <= max))
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<T, Error> {
        let chosen = self.read(name, |text| {
            words.iter().position(|(word, _)| *word == text).map(|i| Word(words[i].0, i))
        })?;
        Ok(words[chosen.1].1)
    }

    /// All parameters in declared order.
    pub(super) fn canonical(&self) -> String {
        let pairs = self.info.parameters.iter().zip(&self.texts);
        let pairs: Vec<String> = pairs.map(|(p, text)| format!("{}={text}", p.name)).collect();
        pairs.join(";")
    }

    fn read<T: std::fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let declared = self.info.parameters.iter().position(|parameter| parameter.name == name);
        let Some(place) = declared else {
            return Err(unknown(self.info, name));
        };
        let value = parse(&self.texts[place]).ok_or_else(|| Error::BadParameter {
            scenario: self.info.name,
            name,
            given: self.texts[place].clone(),
            allowed: self.info.parameters[place].allowed,
        })?;
        self.texts[place] = value.to_string();
        Ok(value)
    }
}

/// A chosen word and its place among the words.
struct Word(&'static str, usize);

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

fn unknown(info: &ScenarioInfo, given: &str) -> Error {
    let names: Vec<&str> = info.parameters.iter().map(|parameter| parameter.name).collect();
    Error::UnknownParameter {
        scenario: info.name,
        given: given.to_owned(),
        nearest: nearest(given, names.iter().copied()),
        known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
    }
}
