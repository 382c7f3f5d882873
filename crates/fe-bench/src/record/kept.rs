//! The curves and bins that a study keeps, read again.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use super::lines::{Lines, optional};
use super::{BIN_COLUMNS, CURVE_COLUMNS, KEYS, Key, METRIC, REPLICATE, columns};
use crate::error::Result;
use crate::spreadsheet::unguarded;

/// A point of a kept curve; what is missing is NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeptPoint {
    /// Where.
    pub x: f64,
    /// The estimate, centred as it was compared.
    pub effect: f64,
    /// The estimated variance.
    pub heterogeneity: f64,
    /// The truth, centred as it was compared.
    pub truth: f64,
    /// The pointwise confidence limits, lower and upper, moved with the estimate.
    pub pointwise: (f64, f64),
    /// The simultaneous ones.
    pub simultaneous: (f64, f64),
}

/// A kept bin; what is missing is NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeptBin {
    /// Its lower and upper limit.
    pub ends: (f64, f64),
    /// The estimated slope, or level for `mplot`, and its variance.
    pub effect: f64,
    /// The estimated variance of the same.
    pub variance: f64,
    /// What they are compared with.
    pub true_effect: f64,
    /// What the variance is compared with.
    pub true_variance: f64,
}

/// What was kept of one estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// What identifies it; its metric is empty.
    pub key: Key,
    /// Its curve, if curves were kept.
    pub curve: Vec<KeptPoint>,
    /// Its bins, if bins were kept and it has any.
    pub bins: Vec<KeptBin>,
}

/// How many numbers a point had in results of builds before those that keep confidence limits.
const WITHOUT_BANDS: usize = 5;

/// Reads what was kept of the estimates that `chosen` lets through, in the order of the files, from at
/// most so many datasets of each.
///
/// It holds no more than that, and nothing if no study of the folder keeps anything.
///
/// # Errors
/// Files that are not as `run` writes them.
pub fn read(folder: &Path, datasets: usize, chosen: &dyn Fn(&[&str]) -> bool) -> Result<Vec<Kept>> {
    let mut all = All { datasets, chosen, places: HashMap::new(), kept: Vec::new() };
    all.file(folder, 2, WITHOUT_BANDS..=CURVE_COLUMNS.len(), |kept, values| {
        if let [x, effect, heterogeneity, truth, _, lower, upper, least, most] = *values {
            let (pointwise, simultaneous) = ((lower, upper), (least, most));
            let point = KeptPoint { x, effect, heterogeneity, truth, pointwise, simultaneous };
            kept.curve.push(point);
        }
    })?;
    all.file(folder, 3, BIN_COLUMNS.len()..=BIN_COLUMNS.len(), |kept, values| {
        if let [_, lo, hi, _, effect, variance, true_effect, true_variance] = *values {
            let ends = (lo, hi);
            kept.bins.push(KeptBin { ends, effect, variance, true_effect, true_variance });
        }
    })?;
    Ok(all.kept)
}

struct All<'a> {
    datasets: usize,
    chosen: &'a dyn Fn(&[&str]) -> bool,
    /// By everything but the replicate: the places of the replicates.
    places: HashMap<Key, HashMap<String, usize>>,
    kept: Vec<Kept>,
}

impl All<'_> {
    /// Reads a file, by its place among [`super::FILES`]. A line has so many numbers; the last of them may
    /// be missing in all.
    fn file(
        &mut self,
        folder: &Path,
        file: usize,
        numbers: RangeInclusive<usize>,
        add: impl Fn(&mut Kept, &[f64]),
    ) -> Result<()> {
        if !folder.join(super::FILES[file]).exists() {
            return Ok(());
        }
        let mut lines = Lines::open(folder, super::FILES[file])?;
        let header = lines.header()?;
        let known = columns(file);
        let given = header.len().saturating_sub(METRIC);
        if !(numbers.contains(&given) && header.iter().eq(known.into_iter().take(METRIC + given))) {
            return Err(lines.wrong("the columns are not those of a results file"));
        }
        while let Some(record) = lines.next()? {
            let key: Vec<&str> = record.iter().take(METRIC).map(unguarded).collect();
            if !(self.chosen)(&key) {
                continue;
            }
            let key = key.into_iter().map(str::to_owned).collect();
            let Some(place) = self.place(key) else { continue };
            let numbers_of = record.iter().skip(METRIC).take(given);
            let values: std::result::Result<Vec<f64>, String> =
                numbers_of.map(|text| Ok(optional(text)?.unwrap_or(f64::NAN))).collect();
            let mut values = values.map_err(|message| lines.wrong(message))?;
            values.resize(*numbers.end(), f64::NAN);
            add(&mut self.kept[place], &values);
        }
        Ok(())
    }

    /// The place of an estimate; none if it is from one dataset too many.
    fn place(&mut self, mut key: Key) -> Option<usize> {
        key.push(String::new());
        let mut shared = key.clone();
        let replicate = std::mem::take(&mut shared[REPLICATE]);
        let replicates = self.places.entry(shared).or_default();
        if let Some(&place) = replicates.get(&replicate) {
            return Some(place);
        }
        if replicates.len() == self.datasets {
            return None;
        }
        self.kept.push(Kept { key, curve: Vec::new(), bins: Vec::new() });
        replicates.insert(replicate, self.kept.len() - 1);
        Some(self.kept.len() - 1)
    }
}

impl Kept {
    /// The number of its dataset.
    #[must_use]
    pub fn replicate(&self) -> &str {
        &self.key[REPLICATE]
    }
}

const _: () = assert!(METRIC + 1 == KEYS.len());
