//! Estimators as they are found by name, of curves and of trees of regions.

use crate::error::Result;
use crate::estimator::{self, Estimator};
use crate::settings::Settings;

use super::{ALL, Regional};

/// An estimator of curves, or of trees with a curve in each leaf.
#[derive(Debug)]
pub enum AnyEstimator {
    /// One effect per output.
    Global(Box<dyn Estimator>),
    /// One tree per output.
    Regional(Box<Regional>),
}

impl AnyEstimator {
    /// The estimator of a name with some settings.
    ///
    /// # Errors
    /// Those of [`estimator::from_settings`] and [`super::from_settings`].
    ///
    /// ```
    /// use fe_core::{Settings, regional::AnyEstimator};
    /// let any = AnyEstimator::from_settings("regional-ale", &Settings::default())?;
    /// assert_eq!(any.of_curves().name(), "ale");
    /// assert!(any.regional().is_some());
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn from_settings(name: &str, settings: &Settings) -> Result<Self> {
        if ALL.iter().any(|info| info.name == name) || name.starts_with("regional") {
            return Ok(Self::Regional(Box::new(super::from_settings(name, settings)?)));
        }
        Ok(Self::Global(estimator::from_settings(name, settings)?))
    }

    /// The estimator of the curves: itself, or that within regions.
    #[must_use]
    pub fn of_curves(&self) -> &dyn Estimator {
        match self {
            Self::Global(estimator) => estimator.as_ref(),
            Self::Regional(regional) => regional.within(),
        }
    }

    /// The estimator of trees, if it is one.
    #[must_use]
    pub fn regional(&self) -> Option<&Regional> {
        match self {
            Self::Global(_) => None,
            Self::Regional(regional) => Some(regional),
        }
    }
}
