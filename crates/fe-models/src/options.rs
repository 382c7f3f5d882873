//! Options of a model as given, checked against what it declares.

use std::fmt::Display;

pub(crate) use fe_core::OptionInfo;
use fe_core::error::suggestion;

use crate::error::{FitError, Result};

/// The options of a model while it is built: raw texts in, canonical texts out.
pub(crate) struct Options {
    model: &'static str,
    declared: &'static [OptionInfo],
    /// One for each declared option, canonical once it was read.
    texts: Vec<String>,
}

impl Options {
    pub(crate) fn new(
        model: &'static str,
        declared: &'static [OptionInfo],
        set: &[(String, String)],
    ) -> Result<Self> {
        let mut texts: Vec<String> = declared.iter().map(|o| o.default.to_owned()).collect();
        for (i, (key, value)) in set.iter().enumerate() {
            let Some(place) = declared.iter().position(|option| option.name == key) else {
                return Err(unknown(model, declared, key));
            };
            if set[..i].iter().any(|(earlier, _)| earlier == key) {
                return Err(FitError::RepeatedOption(key.clone()));
            }
            value.trim().clone_into(&mut texts[place]);
        }
        Ok(Self { model, declared, texts })
    }

    /// A finite number that satisfies the condition its declaration states in words.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        is_allowed: impl Fn(f64) -> bool,
    ) -> Result<f64> {
        self.read(name, |text| number(text).filter(|x| is_allowed(*x)))
    }

    /// A whole number that satisfies the condition its declaration states in words.
    pub(crate) fn count(
        &mut self,
        name: &'static str,
        is_allowed: impl Fn(usize) -> bool,
    ) -> Result<usize> {
        self.read(name, |text| text.parse().ok().filter(|n| is_allowed(*n)))
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<T> {
        let mut chosen = None;
        self.read(name, |text| {
            let (word, value) = words.iter().find(|(word, _)| *word == text)?;
            chosen = Some(*value);
            Some(*word)
        })?;
        chosen.ok_or_else(|| unknown(self.model, self.declared, name))
    }

    /// A value as some function reads it; written back as it displays.
    pub(crate) fn read<T: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T> {
        let Some(place) = self.declared.iter().position(|option| option.name == name) else {
            return Err(unknown(self.model, self.declared, name));
        };
        let value = parse(&self.texts[place]).ok_or_else(|| FitError::BadOption {
            model: self.model,
            name,
            given: self.texts[place].clone(),
            allowed: self.declared[place].allowed.to_owned(),
        })?;
        self.texts[place] = value.to_string();
        Ok(value)
    }

    /// All options in declared order, as `key=value;…`.
    pub(crate) fn canonical(&self) -> String {
        let pairs = self.declared.iter().zip(&self.texts);
        let pairs: Vec<String> = pairs.map(|(o, text)| format!("{}={text}", o.name)).collect();
        pairs.join(";")
    }
}

/// A finite number; -0 is 0, so that equal options are written alike.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.parse().ok().map(|x: f64| x + 0.0).filter(|x| x.is_finite())
}

fn unknown(model: &'static str, declared: &'static [OptionInfo], given: &str) -> FitError {
    let names: Vec<&str> = declared.iter().map(|option| option.name).collect();
    FitError::UnknownOption {
        model,
        given: given.to_owned(),
        hint: suggestion(given, names.iter().copied()),
        known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
    }
}
