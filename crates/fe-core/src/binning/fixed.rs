//! Bins of equal width.

use super::grid::EqualBins;
use super::{Binning, BinningInfo, BinningRequest, Choice, MOST_BINS, check_bins};
use crate::error::Result;
use crate::numeric::partition::Partition;

pub(super) const INFO: BinningInfo = BinningInfo {
    name: "fixed",
    about: "K bins of equal width (default K = 20); of a feature with few values those between them",
    options: &["bins", "distinct"],
    automatic: false,
    build: |settings| {
        let binning = Fixed::new(settings.bins.unwrap_or(20))?;
        Ok(Box::new(Fixed { distinct: settings.distinct, ..binning }))
    },
};

/// K bins of equal width. Limits that rounding would make equal are merged.
///
/// Where the feature has no more values than bins, and each for two instances on average, its values are the
/// limits (for levels, as of an M-plot, the middles between them): of equal bins most would be empty, and
/// what a difference over the others says of the model would be about steps that no instance takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    bins: usize,
    distinct: Option<usize>,
}

impl Fixed {
    /// K bins.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for K = 0 or more than memory could hold.
    pub fn new(bins: usize) -> Result<Self> {
        Ok(Self { bins: check_bins("bins", bins, MOST_BINS)?, distinct: None })
    }

    /// The same, but up to so many distinct values take the place of equal bins, however often each comes; 0
    /// for equal bins whatever the values are.
    #[must_use]
    pub fn with_distinct(self, most: usize) -> Self {
        Self { distinct: Some(most), ..self }
    }
}

impl Binning for Fixed {
    fn describe(&self) -> String {
        "fixed".to_owned()
    }

    fn bins(&self) -> Option<usize> {
        Some(self.bins)
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        let EqualBins { partition, distinct } = EqualBins::of(request, self.bins, self.distinct)?;
        Ok(Choice { distinct, ..Choice::new(partition, true) })
    }

    fn cells(&self, request: &BinningRequest<'_>) -> Result<Option<Partition>> {
        Ok(EqualBins::of(request, self.bins, self.distinct)?.by_width())
    }
}
