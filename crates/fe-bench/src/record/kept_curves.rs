//! The curves and bins that a study keeps, read again.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use super::Key;
use super::columns::{BINS, CURVES, ResultFile};
pub use super::columns::{KeptBin, KeptPoint};
use super::lines::{Lines, optional};
use crate::error::Result;
use crate::output::formulas::unguarded;

/// Curve and bins that were kept of one estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptEstimate {
    /// Its key, without a metric.
    pub key: Key,
    /// Its curve, if curves were kept.
    pub curve: Vec<KeptPoint>,
    /// Its bins, if bins were kept and it has any.
    pub bins: Vec<KeptBin>,
}

/// Numbers of a point in results of builds before those that keep confidence limits.
const WITHOUT_BANDS: usize = 5;

/// Reads what was kept of the estimates that `chosen` lets through, in the order of the files, from at
/// most so many datasets of each.
///
/// It holds no more than that, and nothing if no study of the folder keeps anything.
///
/// # Errors
/// Files that are not as `run` writes them.
pub fn read(
    folder: &Path,
    datasets: usize,
    chosen: &dyn Fn(&Key<&str>) -> bool,
) -> Result<Vec<KeptEstimate>> {
    let mut all = All { datasets, chosen, places: HashMap::new(), kept: Vec::new() };
    all.file(folder, ResultFile::Curves, WITHOUT_BANDS..=CURVES.len(), |kept, values| {
        let mut point = KeptPoint::default();
        CURVES.iter().zip(values).for_each(|(column, value)| (column.put)(&mut point, *value));
        kept.curve.push(point);
    })?;
    all.file(folder, ResultFile::Bins, BINS.len()..=BINS.len(), |kept, values| {
        let mut bin = KeptBin::default();
        BINS.iter().zip(values).for_each(|(column, value)| (column.put)(&mut bin, *value));
        kept.bins.push(bin);
    })?;
    Ok(all.kept)
}

struct All<'a> {
    datasets: usize,
    chosen: &'a dyn Fn(&Key<&str>) -> bool,
    /// By everything but the replicate: the places of the replicates.
    places: HashMap<Key, HashMap<String, usize>>,
    kept: Vec<KeptEstimate>,
}

impl All<'_> {
    /// Reads a file. A line has so many numbers; the last of them may
    /// be missing in all.
    fn file(
        &mut self,
        folder: &Path,
        file: ResultFile,
        numbers: RangeInclusive<usize>,
        add: impl Fn(&mut KeptEstimate, &[f64]),
    ) -> Result<()> {
        if !folder.join(file.name()).exists() {
            return Ok(());
        }
        let mut lines = Lines::open(folder, file.name())?;
        let header = lines.header()?;
        let (known, keys) = (file.columns(), file.keys().count());
        let given = header.len().saturating_sub(keys);
        if !(numbers.contains(&given) && header.iter().eq(known.into_iter().take(keys + given))) {
            return Err(lines.wrong("the columns are not those of a results file"));
        }
        while let Some(record) = lines.next()? {
            let key = Key::read(file.keys(), record.iter().map(unguarded));
            if !(self.chosen)(&key) {
                continue;
            }
            let Some(place) = self.place(key.owned()) else { continue };
            let numbers_of = record.iter().skip(keys).take(given);
            let values: std::result::Result<Vec<f64>, String> =
                numbers_of.map(|text| Ok(optional(text)?.unwrap_or(f64::NAN))).collect();
            let mut values = values.map_err(|message| lines.wrong(message))?;
            values.resize(*numbers.end(), f64::NAN);
            add(&mut self.kept[place], &values);
        }
        Ok(())
    }

    /// The place of an estimate; none if it is from one dataset too many.
    fn place(&mut self, key: Key) -> Option<usize> {
        let mut shared = key.clone();
        let replicate = std::mem::take(&mut shared.replicate);
        let replicates = self.places.entry(shared).or_default();
        if let Some(&place) = replicates.get(&replicate) {
            return Some(place);
        }
        if replicates.len() == self.datasets {
            return None;
        }
        self.kept.push(KeptEstimate { key, curve: Vec::new(), bins: Vec::new() });
        replicates.insert(replicate, self.kept.len() - 1);
        Some(self.kept.len() - 1)
    }
}

impl KeptEstimate {
    /// The number of its dataset.
    #[must_use]
    pub fn replicate(&self) -> &str {
        &self.key.replicate
    }
}
