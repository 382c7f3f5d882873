//! Schemes of resampling: the rows that a learner is fitted to again, and those that are left out.

use std::fmt;
use std::str::FromStr;

use rand::seq::{SliceRandom, index};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Way in which the rows of a refit are drawn; effects are estimated on the others.
///
/// Written as `bootstrap`, `subsample` or `cv`, the last two with another share or number of folds after a colon.
///
/// ```
/// use fe_core::settings::Scheme;
/// let scheme: Scheme = "cv:3".parse()?;
/// let resample = scheme.resample(7, 0, 4);
/// assert_eq!((resample.fit.len(), resample.left_out.len()), (5, 2));
/// assert_eq!("subsample:0.632".parse::<Scheme>()?.to_string(), "subsample");
/// assert!("subsample:1".parse::<Scheme>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scheme {
    /// As many rows as there are, drawn with replacement.
    Bootstrap,
    /// This share of the rows, drawn without replacement.
    Subsample(f64),
    /// All rows but one of so many folds, in turn; the rows are divided anew after the last of them.
    CrossValidation(usize),
}

/// The share, and the number of folds, where none is given.
const SHARE: f64 = 0.632;
const FOLDS: usize = 10;

/// The rows of a refit, counted from 0 and ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resample {
    /// Those of the fit, as often as they were drawn.
    pub fit: Vec<usize>,
    /// Those that are not among them.
    pub left_out: Vec<usize>,
    /// Number that the random numbers of the fit come from.
    pub seed: u64,
}

impl Scheme {
    /// Half of the rows, drawn without replacement.
    pub const HALF: Self = Self::Subsample(0.5);

    pub(super) const ALLOWED: &'static str =
        "bootstrap, subsample or subsample:SHARE, cv or cv:FOLDS";

    /// The refit of a number, counted from 0, of so many rows. Its random numbers are those of its number, so that they
    /// depend neither on how many refits there are nor on threads.
    #[must_use]
    pub fn resample(self, rows: usize, seed: u64, number: usize) -> Resample {
        let stream = |number: usize| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(number as u64);
            random
        };
        let mut random = stream(number);
        let seed = random.next_u64();
        let fit = match self {
            Self::Bootstrap => (0..rows).map(|_| random.random_range(0..rows)).collect(),
            Self::Subsample(share) => {
                index::sample(&mut random, rows, Self::drawn(share, rows)).into_vec()
            }
            Self::CrossValidation(folds) => {
                // The folds of a round are those of its first refit.
                let (round, fold) = (number / folds, number % folds);
                let mut random = stream(round * folds);
                let _ = random.next_u64();
                let mut order: Vec<usize> = (0..rows).collect();
                order.shuffle(&mut random);
                let start = |fold: usize| fold * (rows / folds) + fold.min(rows % folds);
                [&order[..start(fold)], &order[start(fold + 1)..]].concat()
            }
        };
        Resample::of(fit, rows, seed)
    }

    fn drawn(share: f64, rows: usize) -> usize {
        (share * rows as f64).round() as usize
    }

    /// Refuses numbers of rows and of refits that it cannot do.
    ///
    /// # Errors
    /// The reason.
    ///
    /// ```
    /// use fe_core::settings::Scheme;
    /// assert!(Scheme::CrossValidation(10).check(100, 20).is_ok());
    /// assert!(Scheme::CrossValidation(10).check(100, 25).unwrap_err().contains("whole rounds"));
    /// ```
    pub fn check(self, rows: usize, refits: usize) -> Result<(), String> {
        let too_few = |least: usize| {
            Err(format!("`resampling` {self} of {rows} rows: at least {least} must be left out"))
        };
        match self {
            Self::Bootstrap if rows < LEAST_OF_BOOTSTRAP => too_few(LEAST_LEFT_OUT),
            Self::Subsample(share) => {
                let drawn = Self::drawn(share, rows);
                match rows - drawn < LEAST_LEFT_OUT {
                    true => too_few(LEAST_LEFT_OUT),
                    false if drawn == 0 => {
                        Err(format!("`resampling` {self} of {rows} rows: no row is drawn"))
                    }
                    false => Ok(()),
                }
            }
            Self::CrossValidation(folds) if rows / folds < LEAST_LEFT_OUT => {
                too_few(LEAST_LEFT_OUT)
            }
            Self::CrossValidation(folds) if !refits.is_multiple_of(folds) => Err(format!(
                "`refits` = {refits} with `resampling` {self}: must be whole rounds, a multiple of {folds}"
            )),
            _ => Ok(()),
        }
    }
}

/// Fewer rows left out say nothing of an effect.
const LEAST_LEFT_OUT: usize = 2;

/// Of fewer rows a bootstrap may leave out fewer than that: 12 leave out less than 2 once in 20000.
const LEAST_OF_BOOTSTRAP: usize = 12;

impl Resample {
    fn of(mut fit: Vec<usize>, rows: usize, seed: u64) -> Self {
        fit.sort_unstable();
        let mut is_left_out = vec![true; rows];
        fit.iter().for_each(|&row| is_left_out[row] = false);
        let left_out = (0..rows).filter(|&row| is_left_out[row]).collect();
        Self { fit, left_out, seed }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bootstrap => f.write_str("bootstrap"),
            Self::Subsample(SHARE) => f.write_str("subsample"),
            Self::Subsample(share) => write!(f, "subsample:{share}"),
            Self::CrossValidation(FOLDS) => f.write_str("cv"),
            Self::CrossValidation(folds) => write!(f, "cv:{folds}"),
        }
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, given) = text.split_once(':').map_or((text, None), |(n, g)| (n, Some(g)));
        let share = |text: &str| text.parse().ok().filter(|share| 0.0 < *share && *share < 1.0);
        let folds = |text: &str| text.parse().ok().filter(|folds| *folds >= 2);
        let scheme = match (name.trim(), given) {
            ("bootstrap", None) => Some(Self::Bootstrap),
            ("subsample", None) => Some(Self::Subsample(SHARE)),
            ("subsample", Some(given)) => share(given).map(Self::Subsample),
            ("cv", None) => Some(Self::CrossValidation(FOLDS)),
            ("cv", Some(given)) => folds(given).map(Self::CrossValidation),
            _ => None,
        };
        scheme.ok_or_else(|| {
            format!("must be {}, with a share between 0 and 1 or at least 2 folds", Self::ALLOWED)
        })
    }
}

impl TryFrom<String> for Scheme {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|message| format!("`{text}` {message}"))
    }
}

impl From<Scheme> for String {
    fn from(scheme: Scheme) -> Self {
        scheme.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_left_out_of_a_fit_that_has_it() {
        for (text, rows) in [("bootstrap", 40), ("subsample:0.5", 41), ("cv:4", 23), ("cv", 40)] {
            let scheme: Scheme = text.parse().unwrap();
            assert_eq!(scheme.to_string(), text);
            let mut left_out = vec![0; rows];
            for number in 0..12 {
                let resample = scheme.resample(rows, 3, number);
                assert_eq!(resample, scheme.resample(rows, 3, number));
                assert_ne!(resample, scheme.resample(rows, 4, number));
                let mut all = [&resample.fit[..], &resample.left_out[..]].concat();
                all.sort_unstable();
                all.dedup();
                assert_eq!(all, (0..rows).collect::<Vec<_>>());
                assert!(resample.left_out.iter().all(|row| !resample.fit.contains(row)));
                resample.left_out.iter().for_each(|&row| left_out[row] += 1);
            }
            if text == "cv:4" {
                assert_eq!(left_out, vec![3; rows], "every row once in each of three rounds");
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_scheme() {
        let sizes = |text: &str| {
            let resample = text.parse::<Scheme>().unwrap().resample(100, 0, 1);
            (resample.fit.len(), resample.left_out.len())
        };
        assert_eq!(sizes("subsample"), (63, 37));
        assert_eq!(sizes("cv:5"), (80, 20));
        let (fit, left_out) = sizes("bootstrap");
        assert!(fit == 100 && (25..50).contains(&left_out), "{left_out}");
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for text in ["boot", "bootstrap:3", "subsample:0", "subsample:1", "cv:1", "cv:x", ""] {
            assert!(text.parse::<Scheme>().unwrap_err().contains("cv:FOLDS"), "{text}");
        }
        let check = |text: &str, rows, refits| text.parse::<Scheme>().unwrap().check(rows, refits);
        for (text, rows, refits) in [("bootstrap", 11, 30), ("subsample", 4, 30), ("cv:10", 19, 30)]
        {
            assert!(check(text, rows, refits).unwrap_err().contains("must be left out"), "{text}");
        }
        assert!(check("subsample:0.001", 100, 30).unwrap_err().contains("no row is drawn"));
        assert!(check("cv:7", 100, 30).unwrap_err().contains("multiple of 7"));
        assert_eq!(check("bootstrap", 12, 30), Ok(()));
        assert_eq!(check("subsample", 6, 30), Ok(()));
    }
}
