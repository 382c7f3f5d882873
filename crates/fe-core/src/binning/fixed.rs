//! Bins of equal width.

use super::{Binning, Choice, Info, MOST_BINS, Request, check_bins};
use crate::error::Result;
use crate::partition::Partition;

pub(super) const INFO: Info = Info {
    name: "fixed",
    about: "K bins of equal width (default K = 20)",
    options: &["bins"],
    automatic: false,
    build: |settings| Ok(Box::new(Fixed::new(settings.bins.unwrap_or(20))?)),
};

/// K bins of equal width. Limits that rounding would make equal are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    bins: usize,
}

impl Fixed {
    /// K bins.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for K = 0 or more than memory could hold.
    pub fn new(bins: usize) -> Result<Self> {
        Ok(Self { bins: check_bins("bins", bins, MOST_BINS)? })
    }
}

impl Binning for Fixed {
    fn describe(&self) -> String {
        "fixed".to_owned()
    }

    fn bins(&self) -> Option<usize> {
        Some(self.bins)
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let limits = request.axis.divide(self.bins);
        Ok(Choice::new(Partition::new(limits, request.closed)?, true))
    }
}
