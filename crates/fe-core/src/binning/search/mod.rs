//! Strategies that join equal cells so that the objective of RHALE gets small: the optimum, and two heuristics.
//!
//! A strategy says by [`Search`] where its bins end; all else they have in common.

mod agglomerative;
mod greedy;

use std::fmt::Debug;
use std::marker::PhantomData;

use super::objective::{Objective, Options};
use super::{Binning, BinningInfo, BinningRequest, Choice};
use crate::error::Result;
use crate::numeric::partition::Partition;

pub use agglomerative::Agglomerative;
pub use greedy::Greedy;

/// A search for the bins that cost least.
pub trait Search: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// Its name in files and flags.
    const NAME: &'static str;
    /// A description in a line.
    const ABOUT: &'static str;

    /// The ends of the bins, as indices of limits of the cells, and whether all bins are allowed.
    fn ends(objective: &Objective) -> (Vec<usize>, bool);
}

/// Bins made of equal cells by a search: [`Dynamic`](super::Dynamic), [`Greedy`], [`Agglomerative`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellBinning<S> {
    options: Options,
    search: PhantomData<S>,
}

impl<S: Search> CellBinning<S> {
    pub(super) const INFO: BinningInfo = BinningInfo {
        name: S::NAME,
        about: S::ABOUT,
        options: Options::NAMES,
        automatic: true,
        build: |settings| Ok(Box::new(Self::of(Options::from_settings(settings)?))),
    };

    /// At most `cells` bins (K_max), at least `min_points` instances in each (by default one
    /// twentieth of all, rounded up, and at least 2), and discount α.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for no cells or too many, a discount outside
    /// [0, 1], or a `min_points` that is negative or not finite.
    pub fn new(cells: usize, min_points: Option<f64>, discount: f64) -> Result<Self> {
        Options::new(cells, min_points, discount).map(Self::of)
    }

    fn of(options: Options) -> Self {
        Self { options, search: PhantomData }
    }
}

impl<S: Search> Binning for CellBinning<S> {
    fn describe(&self) -> String {
        self.options.describe(S::NAME)
    }

    fn bins(&self) -> Option<usize> {
        Some(self.options.cells())
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        let objective = self.options.prepare(S::NAME, request)?;
        let (ends, feasible) = S::ends(&objective);
        Ok(objective.bins_ending_at(&ends, feasible))
    }

    fn cells(&self, request: &BinningRequest<'_>) -> Result<Option<Partition>> {
        self.options.equal_cells(request)
    }
}
