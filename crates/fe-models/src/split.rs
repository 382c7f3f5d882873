//! Splits: the rows that a model is fitted to, and those on which its effects are estimated.

use std::fmt;
use std::str::FromStr;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{FitError, Result};

/// Division of rows between the fit of a model and the estimate of its effects.
///
/// Written as `train`, `validation` or `cv`, with another share or number of folds after a colon.
///
/// ```
/// use fe_models::{FitError, Split};
/// let split: Split = "cv:3".parse()?;
/// let parts = split.parts(7, 0)?;
/// assert_eq!(parts.iter().map(|part| part.explain.len()).collect::<Vec<_>>(), [3, 2, 2]);
/// assert_eq!("validation:0.2".parse::<Split>()?.to_string(), "validation");
/// # Ok::<(), FitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Split {
    /// Both on all rows.
    Train,
    /// The model is fitted without this share of the rows, drawn at random, and explained on it.
    Validation(f64),
    /// As many models as there are folds, each fitted without one and explained on it; their effects
    /// are averaged.
    CrossValidation(usize),
}

/// The share that is held out, and the number of folds, where none is given.
const HELD_OUT: f64 = 0.2;
const FOLDS: usize = 5;

/// The rows of a model, counted from 0, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Those it is fitted to.
    pub fit: Vec<usize>,
    /// Those its effects are estimated on.
    pub explain: Vec<usize>,
}

/// The most rows that are fitted to by all models of a split together.
const MOST_ROWS: usize = 50_000_000;

impl Split {
    /// Check that so many rows can be split, before any is drawn.
    ///
    /// # Errors
    /// [`FitError::BadSplit`] where a part would be without rows, or all of them have more than
    /// 50 million rows.
    pub fn check(self, rows: usize) -> Result<()> {
        let wrong =
            |allowed| Err(FitError::BadSplit { given: format!("{self} of {rows} rows"), allowed });
        let fits = match self {
            Self::Train => true,
            Self::Validation(share) => (share * rows as f64).ceil() < rows as f64,
            Self::CrossValidation(folds) => {
                if folds.checked_mul(rows).is_none_or(|all| all > MOST_ROWS) && folds <= rows {
                    return wrong("at most 50 million rows that all folds are fitted to");
                }
                folds <= rows
            }
        };
        if fits { Ok(()) } else { wrong("rows in every part") }
    }

    /// The rows of each model that so many rows are split for. They are drawn from the seed, the same
    /// for every model; the first folds are larger by one where the rows cannot be divided evenly.
    ///
    /// # Errors
    /// [`FitError::BadSplit`] where a part would be without rows.
    pub fn parts(self, rows: usize, seed: u64) -> Result<Vec<Part>> {
        self.check(rows)?;
        let folds: Vec<std::ops::Range<usize>> = match self {
            Self::Train => {
                let all: Vec<usize> = (0..rows).collect();
                return Ok(vec![Part { fit: all.clone(), explain: all }]);
            }
            Self::Validation(share) => {
                let held_out = (share * rows as f64).ceil() as usize;
                std::iter::once(0..held_out).collect()
            }
            Self::CrossValidation(folds) => {
                let start = |fold: usize| fold * (rows / folds) + fold.min(rows % folds);
                (0..folds).map(|fold| start(fold)..start(fold + 1)).collect()
            }
        };
        let mut order: Vec<usize> = (0..rows).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let sorted = |mut rows: Vec<usize>| {
            rows.sort_unstable();
            rows
        };
        let part = |fold: &std::ops::Range<usize>| Part {
            fit: sorted([&order[..fold.start], &order[fold.end..]].concat()),
            explain: sorted(order[fold.clone()].to_vec()),
        };
        let parts: Vec<Part> = folds.iter().map(part).collect();
        if parts.iter().any(|part| part.fit.is_empty() || part.explain.is_empty()) {
            let given = format!("{self} of {rows} rows");
            return Err(FitError::BadSplit { given, allowed: "rows in every part" });
        }
        Ok(parts)
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Train => f.write_str("train"),
            Self::Validation(HELD_OUT) => f.write_str("validation"),
            Self::Validation(share) => write!(f, "validation:{share}"),
            Self::CrossValidation(FOLDS) => f.write_str("cv"),
            Self::CrossValidation(folds) => write!(f, "cv:{folds}"),
        }
    }
}

impl FromStr for Split {
    type Err = FitError;

    fn from_str(text: &str) -> Result<Self> {
        let (name, given) = text.split_once(':').map_or((text, None), |(n, g)| (n, Some(g)));
        let share = |text: &str| text.parse().ok().filter(|share| 0.0 < *share && *share < 1.0);
        let folds = |text: &str| text.parse().ok().filter(|folds| *folds >= 2);
        let split = match (name, given) {
            ("train", None) => Some(Self::Train),
            ("validation", None) => Some(Self::Validation(HELD_OUT)),
            ("validation", Some(given)) => share(given).map(Self::Validation),
            ("cv", None) => Some(Self::CrossValidation(FOLDS)),
            ("cv", Some(given)) => folds(given).map(Self::CrossValidation),
            _ => None,
        };
        split.ok_or_else(|| FitError::BadSplit {
            given: format!("`{text}`"),
            allowed: "`train`, `validation` or `validation:SHARE` with a share between 0 and 1, \
                      `cv` or `cv:FOLDS` with at least 2 folds",
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_explained_once_and_never_by_a_model_that_knows_it() {
        for (text, rows) in [("validation", 11), ("validation:0.5", 4), ("cv", 23), ("cv:2", 2)] {
            let split: Split = text.parse().unwrap();
            assert_eq!(split.to_string(), text);
            let parts = split.parts(rows, 3).unwrap();
            let mut explained: Vec<usize> = Vec::new();
            for part in &parts {
                let mut both = [&part.fit[..], &part.explain[..]].concat();
                both.sort_unstable();
                assert_eq!(both, (0..rows).collect::<Vec<_>>());
                explained.extend(&part.explain);
            }
            explained.sort_unstable();
            explained.dedup();
            let all = matches!(split, Split::CrossValidation(_));
            let held_out = if text == "validation" { 3 } else { 2 };
            assert_eq!(explained.len(), if all { rows } else { held_out });
            assert_eq!(parts, split.parts(rows, 3).unwrap());
            assert!(rows < 5 || parts != split.parts(rows, 4).unwrap());
        }
        let train = Split::Train.parts(3, 0).unwrap();
        assert_eq!(train, [Part { fit: vec![0, 1, 2], explain: vec![0, 1, 2] }]);
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        for text in ["test", "train:2", "validation:1", "validation:0", "cv:1", "cv:x"] {
            let message = text.parse::<Split>().unwrap_err().to_string();
            assert!(message.contains(text) && message.contains("cv:FOLDS"), "{message}");
        }
        assert!(Split::CrossValidation(5).parts(4, 0).is_err());
        assert!(Split::Validation(0.9).parts(1, 0).is_err());
        assert!(Split::CrossValidation(2).parts(0, 0).is_err());
    }
}
