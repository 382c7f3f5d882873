//! The curves, bins and trees that a study keeps, read again.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use super::Key;
use super::columns::{BINS, CURVES, LEAVES, ResultFile, TREES};
pub use super::columns::{KeptBin, KeptPoint};
use super::lines::{Lines, optional};
use super::manifest::Manifest;
use crate::error::{Error, Result};
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
    /// The nodes of its tree, if trees were kept and it is one.
    pub nodes: Vec<KeptNode>,
    /// The curves in the leaves of its tree: the number of the node, and a point.
    pub leaves: Vec<(usize, KeptPoint)>,
}

/// A node of a tree that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptNode {
    /// The number of its parent; none for all rows.
    pub parent: Option<usize>,
    /// Number of rules from all rows down to here.
    pub depth: usize,
    /// The feature of its rule, the word of the condition, and the position or the levels.
    pub rule: Option<(String, String, Vec<f64>)>,
    /// Number of its rows.
    pub rows: usize,
    /// The estimated heterogeneity.
    pub heterogeneity: f64,
    /// The true one.
    pub true_heterogeneity: f64,
}

impl KeptNode {
    /// Of the fields of a line, in the order of the columns.
    fn read(fields: &[&str]) -> std::result::Result<Self, String> {
        let [_, parent, depth, feature, rule, position, _, rows, _, _, estimate, truth] = fields
        else {
            return Err(format!("{} fields in place of {}", fields.len(), TREES.len()));
        };
        let whole = |text: &str| text.parse::<usize>().map_err(|_| format!("`{text}` is no count"));
        let number = |text: &str| Ok::<_, String>(optional(text)?.unwrap_or(f64::NAN));
        let named = !feature.is_empty();
        let words = || {
            let values = position.split_whitespace().map(number).collect::<Result<_, _>>()?;
            Ok::<_, String>((unguarded(feature).into(), (*rule).into(), values))
        };
        Ok(Self {
            parent: (!parent.is_empty()).then(|| whole(parent)).transpose()?,
            depth: whole(depth)?,
            rule: named.then(words).transpose()?,
            rows: whole(rows)?,
            heterogeneity: number(estimate)?,
            true_heterogeneity: number(truth)?,
        })
    }
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
    all.file(folder, ResultFile::Curves, WITHOUT_BANDS..=CURVES.len(), |kept, fields| {
        let mut point = KeptPoint::default();
        let values = numbers(fields, CURVES.len())?;
        CURVES.iter().zip(values).for_each(|(column, value)| (column.put)(&mut point, value));
        kept.curve.push(point);
        Ok(())
    })?;
    all.file(folder, ResultFile::Bins, BINS.len()..=BINS.len(), |kept, fields| {
        let mut bin = KeptBin::default();
        let values = numbers(fields, BINS.len())?;
        BINS.iter().zip(values).for_each(|(column, value)| (column.put)(&mut bin, value));
        kept.bins.push(bin);
        Ok(())
    })?;
    all.file(folder, ResultFile::Trees, TREES.len()..=TREES.len(), |kept, fields| {
        kept.nodes.push(KeptNode::read(fields)?);
        Ok(())
    })?;
    all.file(folder, ResultFile::Leaves, LEAVES.len()..=LEAVES.len(), |kept, fields| {
        let values = numbers(fields, LEAVES.len())?;
        let [node, x, effect, heterogeneity, truth, ..] = values[..] else { return Ok(()) };
        let point = KeptPoint { x, effect, heterogeneity, truth, ..KeptPoint::default() };
        kept.leaves.push((node as usize, point));
        Ok(())
    })?;
    Ok(all.kept)
}

/// Refuses a folder without files of curves, bins or trees that its run wrote: they were taken out of it.
///
/// # Errors
/// Such a folder, and one without a manifest.
pub fn check_there(folder: &Path, manifest: &Manifest) -> Result<()> {
    let kept = [ResultFile::Curves, ResultFile::Bins, ResultFile::Trees, ResultFile::Leaves];
    let is_gone = |name: &&str| manifest.files.contains_key(*name) && !folder.join(name).exists();
    let gone: Vec<&str> = kept.map(ResultFile::name).into_iter().filter(is_gone).collect();
    let are = if gone.len() == 1 { "is" } else { "are" };
    match gone.is_empty() {
        true => Ok(()),
        false => Err(Error::content(
            folder,
            format!(
                "{}, which the run wrote, {are} not here any more: run it again, as manifest.json says",
                gone.join(", ")
            ),
        )),
    }
}

/// The numbers of some fields, NaN where one is missing, with as many more as make so many.
fn numbers(fields: &[&str], count: usize) -> std::result::Result<Vec<f64>, String> {
    let read = fields.iter().map(|text| Ok(optional(text)?.unwrap_or(f64::NAN)));
    let mut values = read.collect::<std::result::Result<Vec<f64>, String>>()?;
    values.resize(count, f64::NAN);
    Ok(values)
}

struct All<'a> {
    datasets: usize,
    chosen: &'a dyn Fn(&Key<&str>) -> bool,
    /// By everything but the replicate: the places of the replicates.
    places: HashMap<Key, HashMap<String, usize>>,
    kept: Vec<KeptEstimate>,
}

impl All<'_> {
    /// Reads a file. A line has so many fields behind its key; the last of them may
    /// be missing in all.
    fn file(
        &mut self,
        folder: &Path,
        file: ResultFile,
        fields: RangeInclusive<usize>,
        add: impl Fn(&mut KeptEstimate, &[&str]) -> std::result::Result<(), String>,
    ) -> Result<()> {
        if !folder.join(file.name()).exists() {
            return Ok(());
        }
        let mut lines = Lines::open(folder, file.name())?;
        let header = lines.header()?;
        let (known, keys) = (file.columns(), file.keys().count());
        let given = header.len().saturating_sub(keys);
        if !(fields.contains(&given) && header.iter().eq(known.into_iter().take(keys + given))) {
            return Err(lines.wrong("the columns are not those of a results file"));
        }
        while let Some(record) = lines.next()? {
            let key = Key::read(file.keys(), record.iter().map(unguarded));
            if !(self.chosen)(&key) {
                continue;
            }
            let Some(place) = self.place(key.owned()) else { continue };
            let own: Vec<&str> = record.iter().skip(keys).take(given).collect();
            add(&mut self.kept[place], &own).map_err(|message| lines.wrong(message))?;
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
        self.kept.push(KeptEstimate {
            key,
            curve: Vec::new(),
            bins: Vec::new(),
            nodes: Vec::new(),
            leaves: Vec::new(),
        });
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
