//! Labels: what a study calls estimators, options, scenarios, metrics and keys in its tables and figures.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The words of a study and what stands for them in tables and figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The label of a word: its own, that of a scenario whose version is not named, or that of a name before options in
    /// parentheses; none if it has none.
    #[must_use]
    pub fn given(&self, word: &str) -> Option<Cow<'_, str>> {
        if let Some(label) = self.0.get(word) {
            return Some(Cow::Borrowed(label));
        }
        if let Some(label) = word.split_once('@').and_then(|(name, _)| self.0.get(name)) {
            return Some(Cow::Borrowed(label));
        }
        let (name, rest) = word.split_once('(')?;
        self.0.get(name).map(|label| Cow::Owned(format!("{label}({rest}")))
    }

    /// The label of a word, or the word itself.
    #[must_use]
    pub fn of<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        self.given(word).unwrap_or(Cow::Borrowed(word))
    }

    /// The first word that is none of some words.
    #[must_use]
    pub fn unused(&self, is_word: impl Fn(&str) -> bool) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|word| !is_word(word))
    }

    /// Takes up those of another study.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.clone());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_labels_with_and_without_versions_and_options() {
        let labels: Labels = toml::from_str(
            "snc = \"Gaussian\"\nrhale = \"RHALE\"\ndp = \"exact\"\n\"dp(discount=0.2)\" = \"paper's\"",
        )
        .unwrap();
        let of = |word| labels.of(word).into_owned();
        assert_eq!(
            ["snc@1", "rhale", "dp(min_points=3)", "dp(discount=0.2)", "ale"].map(of),
            ["Gaussian", "RHALE", "exact(min_points=3)", "paper's", "ale"]
        );
        assert_eq!(labels.unused(|word| word != "rhale"), Some("rhale"));
    }
}
