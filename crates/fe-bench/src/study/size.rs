//! Size of a study, known before anything of it is written out.

use toml::{Table, Value};

use super::file::{Block, StudyFile};
use super::replicates::Replicates;
use super::sweep::{combined, count};
use super::{Group, MOST_DATASETS, MOST_MEANS};
use crate::data::sample;

/// The most single values of a study: of all means on all datasets.
const MOST_CELLS: u128 = 1_000_000_000;

/// The most scenarios with their parameters.
const MOST_SCENARIOS: u128 = 20_000;

/// Options of an estimator, or of a model, that are not swept over.
pub(super) const OF_ESTIMATORS: [&str; 4] = ["limits", "axis", "background_rows", "indices"];
pub(super) const OF_MODELS: [&str; 2] = ["N", "pairs"];

/// Refuses a study that would fill the memory once its lists and ranges are written out.
pub(super) fn check_file(file: &StudyFile) -> Result<(), String> {
    let (mut means, mut scenarios, mut datasets) = (0_u128, 0_u128, 0_u128);
    for (i, block) in file.block.iter().enumerate() {
        let size = Size::of(block).map_err(|e| format!("block {}: {e}", i + 1))?;
        means = means.saturating_add(size.means);
        scenarios = scenarios.saturating_add(size.scenarios);
        datasets = datasets.saturating_add(size.datasets);
    }
    check("combinations of scenarios and parameters", scenarios, MOST_SCENARIOS)?;
    check("values, or more", means, MOST_MEANS as u128)?;
    check("datasets", datasets, MOST_DATASETS as u128)
}

/// Refuses groups that have more values than results can.
pub(super) fn check_groups(groups: &[Group]) -> Result<(), String> {
    let means = |group: &Group| group.means() as u128;
    check("values", groups.iter().map(means).sum(), MOST_MEANS as u128)?;
    let cells = |group: &Group| means(group).saturating_mul(group.replicates.most as u128);
    check("values on all datasets", groups.iter().map(cells).sum(), MOST_CELLS)
}

/// Refuses a block of which no dataset could be drawn; where some can, the others are failed values.
pub(super) fn check_any(groups: &[Group]) -> Result<(), String> {
    let most = |group: &Group| sample::most_rows(&group.scenario);
    match groups.first().filter(|_| groups.iter().all(|group| group.rows > most(group))) {
        None => Ok(()),
        Some(group) => Err(format!("`N` = {}: must be from 1 to {}", group.rows, most(group))),
    }
}

/// Refuses numbers of rows that cannot be split, or that models would be fitted to in vain.
pub(super) fn check_rows(group: &Group) -> Result<(), String> {
    let Some(fitting) = group.fitting.as_ref().filter(|fitting| !fitting.models.is_empty()) else {
        return Ok(());
    };
    check_any(std::slice::from_ref(group))?;
    let (rows, most) = (group.rows, sample::most_rows(&group.scenario));
    let fresh = fitting.fresh;
    if (fresh as u128 + 1).saturating_mul(rows as u128) > most as u128 {
        return Err(format!("`fresh` = {fresh} with `N` = {rows}: more than {most} rows in all"));
    }
    let check = |(_, split): &(String, fe_models::Split)| split.check(rows);
    fitting.splits.iter().try_for_each(check).map_err(|e| format!("`N` = {rows}: {e}"))
}

fn check(what: &str, size: u128, most: u128) -> Result<(), String> {
    match size <= most {
        true => Ok(()),
        false => Err(format!("{size} {what}: must be at most {most}")),
    }
}

/// Expansion of a block.
struct Size {
    scenarios: u128,
    datasets: u128,
    /// At least so many values, and no fewer estimators and models in all its groups.
    means: u128,
}

impl Size {
    fn of(block: &Block) -> Result<Self, String> {
        let product =
            |sizes: &[u128]| sizes.iter().fold(1, |all, size| u128::saturating_mul(all, *size));
        let sum = |tables: &[Table], as_they_are: &[&str]| -> Result<u128, String> {
            let mut each = tables.iter().map(|table| combined(table, as_they_are));
            each.try_fold(0_u128, |sum, size| Ok(sum.saturating_add(size?)))
        };
        let grids = match &block.grid {
            Value::Array(list) => list.len() as u128,
            _ => 1,
        };
        let scenarios = product(&[count("scenario", &block.scenario)?, combined(&block.set, &[])?]);
        let ratios = block.snr.as_ref().map_or(Ok(1), |snr| count("snr", snr))?;
        let groups = product(&[scenarios, count("N", &block.n)?, ratios, grids]);
        let (estimators, models) =
            (sum(&block.estimator, &OF_ESTIMATORS)?, sum(&block.model, &OF_MODELS)?);
        let per_estimate = product(&[
            block.features.len().max(1) as u128,
            super::metrics(block).map_or(1, |metrics| metrics.len().max(1)) as u128,
            estimators.max(1),
        ]);
        let means = product(&[groups, per_estimate.max(models)]);
        Ok(Self {
            scenarios,
            datasets: product(&[groups, Replicates::read(block)?.most as u128]),
            means,
        })
    }
}
