//! Limits given by hand.

use super::{Binning, BinningInfo, BinningRequest, Choice};
use crate::error::{Error, Result};
use crate::numeric::partition::{Closed, Partition};

pub(super) const INFO: BinningInfo = BinningInfo {
    name: "grid",
    about: "limits given one by one, strictly increasing; they are the axis",
    options: &["limits"],
    automatic: false,
    build: |settings| match &settings.limits {
        Some(limits) => Ok(Box::new(GivenLimits::new(limits.clone())?)),
        None => Err(Error::Incompatible("the binning `grid` needs the option `limits`".to_owned())),
    },
};

/// Limits given one by one. They take the place of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenLimits {
    limits: Vec<f64>,
    /// Made once: writing a hundred limits takes as long as an estimate from a hundred rows.
    description: String,
}

impl GivenLimits {
    /// The given limits, at least two.
    ///
    /// # Errors
    /// [`Error::UnsortedLimits`] unless they are finite and strictly increasing.
    pub fn new(limits: Vec<f64>) -> Result<Self> {
        Partition::new(limits.clone(), Closed::Left)?;
        let words: Vec<String> = limits.iter().map(f64::to_string).collect();
        let description = format!("grid(limits={})", words.join(" "));
        Ok(Self { limits, description })
    }
}

impl Binning for GivenLimits {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn bins(&self) -> Option<usize> {
        None
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        Ok(Choice::new(Partition::new(self.limits.clone(), request.closed)?, true))
    }

    fn cells(&self, request: &BinningRequest<'_>) -> Result<Option<Partition>> {
        Partition::new(self.limits.clone(), request.closed).map(Some)
    }
}
