//! Kinds of estimates of a study, each on the first dataset of its group, for a clock.

use std::sync::Arc;

use fe_core::Dataset;

use super::context::Task;
use super::prepared::{Implementation, Prepared};
use crate::engines::Engines;
use crate::error::{Error, Result, caught};
use crate::record::Key;
use crate::study::models::Fitting;
use crate::study::tasks::{Plan, Planned};

/// An estimate that a study asks for: by one of its estimators, of the first dataset of a group and its first feature.
pub struct Kind<'a> {
    /// The key of its values, without a dataset and a metric.
    pub key: Key,
    planned: &'a Planned<'a>,
    prepared: Arc<Prepared>,
    data: Arc<Dataset>,
    variant: usize,
}

impl Kind<'_> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.len()
    }

    /// Makes the estimate once. What a dataset knows of itself, such as ranges and orders, is kept from one to the next.
    ///
    /// # Errors
    /// The reason of the estimator.
    pub fn estimate(&self) -> Result<(), String> {
        let of = &self.prepared.features[0];
        let model = self.planned.group.scenario.model();
        let built = of.estimators[self.variant].as_ref().map_err(Clone::clone)?;
        let found = caught(|| {
            match built {
                Implementation::Own(own) => own.estimate(&self.data, model, of.feature).map(drop),
                Implementation::Refitted(own) => {
                    own.estimator().estimate(&self.data, model, of.feature).map(drop)
                }
                Implementation::Regional(own) => own.fit(&self.data, model, of.feature).map(drop),
                Implementation::External(..) => Ok(()),
            }
            .map_err(|e| e.to_string())
        });
        std::hint::black_box(found)
    }
}

/// Goes through all kinds of some studies with estimators of this program and without fitted models; others are
/// left out and counted.
///
/// # Errors
/// Those of `then`, and datasets that cannot be drawn.
///
/// ```
/// use fe_bench::run::kinds;
/// use fe_bench::study::{Study, tasks::Plan};
///
/// # fn main() -> fe_bench::error::Result<()> {
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("small.toml");
/// let text = "about = 'two'\n[[block]]\nscenario = 'poly3'\nN = 20\nreplicates = 2\nmetrics = ['mse']\n\
///             [[block.estimator]]\nname = 'ale'\nbins = [2, 5]\n";
/// std::fs::write(&path, text).unwrap();
/// let studies = [Study::read(&path)?];
/// let mut bins = Vec::new();
/// let left_out = kinds::each(&Plan::new(&studies), 0, &mut |kind| {
///     kind.estimate().unwrap();
///     bins.push(kind.key.bins.clone());
///     Ok(())
/// })?;
/// assert_eq!((bins, left_out), (vec!["2".to_owned(), "5".to_owned()], 0));
/// # Ok(())
/// # }
/// ```
pub fn each(
    plan: &Plan<'_>,
    seed: u64,
    then: &mut dyn FnMut(&Kind<'_>) -> Result<()>,
) -> Result<usize> {
    let (engines, fitting) = (Engines::default(), Fitting::of_f());
    let mut left_out = 0;
    for planned in &plan.groups {
        let prepared = Arc::new(Prepared::new(planned.group));
        left_out += planned.group.indices.len();
        let Some(of) = prepared.features.first() else {
            left_out += planned.group.variants.len();
            continue;
        };
        if planned.group.fitting.is_some() {
            left_out += planned.group.variants.len();
            continue;
        }
        let (replicate, fitting) = (0, &fitting);
        let task = Task {
            planned,
            prepared: &prepared,
            engines: &engines,
            seed,
            replicate,
            fitting,
            abandoned: None,
        };
        let data = Arc::new(task.rows().map_err(Error::Argument)?);
        for (variant, own) in planned.group.variants.iter().enumerate() {
            if let Ok(Implementation::External(..)) = of.estimators[variant] {
                left_out += 1;
                continue;
            }
            let (prepared, data) = (Arc::clone(&prepared), Arc::clone(&data));
            let key = Key { replicate: String::new(), ..task.key_of_f(&of.name, &own.key) };
            then(&Kind { key, planned, prepared, data, variant })?;
        }
    }
    Ok(left_out)
}
