//! Number of datasets of a block: fixed, or as many as its means need for a given precision.

use fe_core::replicates::Summary;
use toml::Table;

use super::file::{Block, check_keys, whole};
use crate::score::Metric;

/// Number of datasets of each combination of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replicates {
    /// The number that there are at least.
    pub least: usize,
    /// The number that there are at most.
    pub most: usize,
    /// The precision that says how many there are between the two; none where they are the same.
    pub until: Option<Until>,
}

/// Precision of means up to which datasets are added, in whole batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// The metric whose means are to be as precise.
    pub metric: Metric,
    /// The largest Monte Carlo standard error of each of them, as a share of it.
    pub relative_se: f64,
    /// Number of datasets that are added at once.
    pub batch: usize,
}

/// A key of `until` that is left out.
fn missing(key: &str) -> String {
    format!(
        "`until` has no `{key}`: it is written as {{ metric = \"mse\", relative_se = 0.05, batch = 20, most = 2000 }}"
    )
}

impl Replicates {
    /// Of a block.
    ///
    /// # Errors
    /// A number or a precision that cannot be, or none of both.
    pub(super) fn read(block: &Block) -> Result<Self, String> {
        if block.replicates == Some(0) {
            return Err("`replicates` = 0: must be at least 1".to_owned());
        }
        match (&block.until, block.replicates) {
            (Some(until), least) => Self::until(until, least.unwrap_or(1)),
            (None, Some(number)) => Ok(Self { least: number, most: number, until: None }),
            (None, None) => Err(
                "there is no `replicates`, the number of datasets, and no `until`, the precision \
                                 that says how many"
                    .to_owned(),
            ),
        }
    }

    fn until(table: &Table, least: usize) -> Result<Self, String> {
        check_keys(table, &["metric", "relative_se", "batch", "most"], "`until`")?;
        let given = |key: &str| table.get(key).ok_or_else(|| missing(key));
        let counted = |key: &str| {
            let value = given(key)?;
            let number = whole(value).filter(|number| *number > 0);
            number.ok_or_else(|| format!("`until.{key}` = {value}: must be a whole number above 0"))
        };
        let metric = given("metric")?;
        let name = metric.as_str();
        let name =
            name.ok_or_else(|| format!("`until.metric` = {metric}: must be the name of a metric"))?;
        let metric = name.parse().map_err(|message| format!("`until.metric`: {message}"))?;
        let value = given("relative_se")?;
        let share = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let relative_se =
            share.filter(|share| share.is_finite() && *share > 0.0).ok_or_else(|| {
                format!(
                    "`until.relative_se` = {value}: must be a finite number above 0, such as 0.05"
                )
            })?;
        let (batch, most) = (counted("batch")?, counted("most")?);
        // Datasets are added in whole batches.
        let batches = |number: usize| number.div_ceil(batch).saturating_mul(batch);
        let (least, limit) = (batches(least), most - most % batch);
        if least > limit {
            return Err(format!(
                "`until.most` = {most}: must be at least {least}, the first look at the means with batches of {batch}"
            ));
        }
        Ok(Self { least, most: limit, until: Some(Until { metric, relative_se, batch }) })
    }

    /// Refuses a precision of what the block has no means of.
    pub(super) fn check(&self, metrics: &[Metric]) -> Result<(), String> {
        match &self.until {
            Some(until) if !metrics.contains(&until.metric) => {
                let has: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
                Err(format!(
                    "`until.metric` = \"{}\" is not among the `metrics` of the block, which are {}",
                    until.metric.name(),
                    has.join(", ")
                ))
            }
            _ => Ok(()),
        }
    }

    /// True if a run can end with so many datasets.
    #[must_use]
    pub fn allows(&self, number: usize) -> bool {
        let is_whole = self.until.is_none_or(|until| number.is_multiple_of(until.batch));
        (self.least..=self.most).contains(&number) && is_whole
    }
}

impl std::fmt::Display for Replicates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.until {
            None => write!(f, "{}", self.least),
            Some(_) => write!(f, "{} to {}", self.least, self.most),
        }
    }
}

impl Until {
    /// Places of the means of its metric, of the same datasets, that are not precise enough, where values of the function are as
    /// large as `size`. What is exact but for rounding is, and what failed on every dataset will not become it.
    #[must_use]
    pub fn imprecise(&self, means: &[Summary], size: f64) -> Vec<usize> {
        let sizes = means.iter().filter_map(|of| of.mean);
        let largest = sizes.map(f64::abs).fold(0.0, f64::max);
        let rounding = self.metric.rounding(largest, size);
        let is_precise = |of: &Summary| {
            let Some(mean) = of.mean else { return true };
            let is_exact = of.count > 1 && rounding.is_some_and(|rounding| mean.abs() <= rounding);
            is_exact || of.relative_error().is_some_and(|error| error <= self.relative_se)
        };
        (0..means.len()).filter(|&place| !is_precise(&means[place])).collect()
    }
}

impl std::fmt::Display for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { metric, relative_se, .. } = self;
        write!(f, "of {} has a Monte Carlo standard error of {relative_se} of it", metric.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until() -> Until {
        Until { metric: "mse".parse().unwrap(), relative_se: 0.1, batch: 2 }
    }

    #[test]
    fn means_are_precise_where_their_error_is_small_or_nothing_is_random() {
        let imprecise = |values: &[&[f64]]| {
            let means: Vec<Summary> = values.iter().map(|of| Summary::of(of)).collect();
            until().imprecise(&means, 1.0)
        };
        assert_eq!(imprecise(&[&[1.0, 1.0], &[0.0, 0.0], &[]]), [0; 0]);
        assert_eq!(imprecise(&[&[1.0, 1.1], &[1.0, 3.0], &[2.0]]), [1, 2]);
        // Rounding of what is exact, beside something that is not, and by itself.
        assert_eq!(imprecise(&[&[1.0, 1.1], &[1e-31, 9e-31]]), [0; 0]);
        assert_eq!(imprecise(&[&[1e-31, 9e-31]]), [0; 0]);
        assert_eq!(imprecise(&[&[1e-31]]), [0]);
        // Errors of a small function are none of rounding.
        let small = [Summary::of(&[1e-31, 9e-31])];
        assert_eq!(until().imprecise(&small, 1e-14), [0]);
    }

    #[test]
    fn numbers_are_whole_batches() {
        let read = |least, text: &str| Replicates::until(&toml::from_str(text).unwrap(), least);
        let base = "metric = 'mse'\nrelative_se = 0.1\n";
        let of = read(1, &format!("{base}batch = 20\nmost = 210")).unwrap();
        assert_eq!((of.least, of.most, of.to_string().as_str()), (20, 200, "20 to 200"));
        assert!(of.allows(40) && !of.allows(50) && !of.allows(220));
        assert_eq!(read(21, &format!("{base}batch = 20\nmost = 210")).unwrap().least, 40);
    }
}
