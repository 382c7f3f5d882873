//! Levels of a feature that has a value at each of them, and none between.

use crate::error::{Error, Result};

/// Most levels that a feature may have; more are the values of a number.
pub(crate) const MOST_LEVELS: usize = 1000;

/// Names of the levels of a feature, and the order in which they are given.
///
/// ```
/// use fe_core::data::LevelNames;
/// let season = LevelNames::of_words(["winter", "summer"])?;
/// assert_eq!((season.name(1.0), season.value("winter")), (Some("summer"), Some(0.0)));
/// assert!(LevelNames::of_words(["winter", "winter"]).is_err());
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LevelNames {
    levels: Vec<(f64, String)>,
}

impl LevelNames {
    /// Values of the feature with their names, in an order.
    ///
    /// # Errors
    /// [`Error::Levels`] for none, a value that is not finite, or two of the same value or name.
    pub fn new(levels: impl IntoIterator<Item = (f64, String)>) -> Result<Self> {
        let mut known: Vec<(f64, String)> = Vec::new();
        for (value, name) in levels {
            if !value.is_finite() {
                return Err(Error::Levels(format!("the level `{name}` has the value {value}")));
            }
            if known.iter().any(|level| level.0 == value || level.1 == name) {
                let message = format!("the level `{name}`, of the value {value}, is given twice");
                return Err(Error::Levels(message));
            }
            known.push((value + 0.0, name));
        }
        match known.len() {
            0 => Err(Error::Levels("a feature with levels has at least one".to_owned())),
            _ => Ok(Self { levels: known }),
        }
    }

    /// Words, whose values are 0, 1, … in their order.
    ///
    /// # Errors
    /// As [`LevelNames::new`].
    pub fn of_words<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Result<Self> {
        Self::new(words.into_iter().enumerate().map(|(code, word)| (code as f64, word.into())))
    }

    /// The name of a value.
    #[must_use]
    pub fn name(&self, value: f64) -> Option<&str> {
        self.levels.iter().find(|level| level.0 == value).map(|level| level.1.as_str())
    }

    /// The value of a name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.levels.iter().find(|level| level.1 == name).map(|level| level.0)
    }

    /// Values with their names, in the order in which they are given.
    pub fn iter(&self) -> impl Iterator<Item = (f64, &str)> {
        self.levels.iter().map(|(value, name)| (*value, name.as_str()))
    }
}

/// The levels of a feature that occur with positive weight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Levels {
    /// Their values, ascending.
    pub(crate) values: Vec<f64>,
    /// Their names.
    pub(crate) names: Vec<String>,
    /// Weight of the rows at each; their number where none are weighted.
    pub(crate) counts: Vec<f64>,
    /// The order in which they are given, as places among the values.
    pub(crate) given: Vec<usize>,
}

impl Levels {
    /// Of weighted values of a feature of a name, with the names of its levels where they are known.
    pub(crate) fn of(
        feature: &str,
        weighted: impl Iterator<Item = (f64, f64)>,
        names: Option<&LevelNames>,
    ) -> Result<Self> {
        let mut counted: Vec<(f64, f64)> =
            weighted.filter(|(_, weight)| *weight > 0.0).map(|(x, w)| (x + 0.0, w)).collect();
        counted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut values, mut counts) = (Vec::<f64>::new(), Vec::<f64>::new());
        for (x, weight) in counted {
            match counts.last_mut() {
                Some(count) if values.last() == Some(&x) => *count += weight,
                _ => {
                    values.push(x);
                    counts.push(weight);
                }
            }
        }
        if values.len() > MOST_LEVELS {
            return Err(Error::Levels(format!(
                "{feature} has {} different values, and a feature with levels at most {MOST_LEVELS}: \
                 it is a number",
                values.len()
            )));
        }
        if let [only] = values[..] {
            return Err(Error::ConstantFeature { name: feature.to_owned(), value: only });
        }
        let rank =
            |x: &f64| names.and_then(|names| names.levels.iter().position(|level| level.0 == *x));
        let mut given: Vec<usize> = (0..values.len()).collect();
        given.sort_by_key(|&place| rank(&values[place]).unwrap_or(place));
        let name = |x: &f64| match names.and_then(|names| names.name(*x)) {
            Some(name) => name.to_owned(),
            None => x.to_string(),
        };
        Ok(Self { names: values.iter().map(name).collect(), values, counts, given })
    }

    /// Number of levels.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The same levels in other weighted rows, in which some may not occur.
    pub(crate) fn counted(&self, weighted: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut counts = vec![0.0; self.len()];
        for (x, weight) in weighted.filter(|(_, weight)| *weight > 0.0) {
            if let Some(place) = self.place(x) {
                counts[place] += weight;
            }
        }
        Self { counts, ..self.clone() }
    }

    /// Share of the weight at each level.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let total: f64 = self.counts.iter().sum();
        self.counts.iter().map(|count| count / total).collect()
    }

    /// The place of a value among the levels; none of a value that occurs in no row that counts.
    pub(crate) fn place(&self, x: f64) -> Option<usize> {
        self.values.binary_search_by(|value| value.total_cmp(&(x + 0.0))).ok()
    }
}
