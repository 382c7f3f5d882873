//! The objective of automatic bins (RHALE: Gkolemis et al. 2023, eq. 13).

use super::grid::EqualBins;
use super::{BinningRequest, Choice, check_bins, check_min_points};
use crate::error::{Error, Result};
use crate::numeric::moments::Moments;
use crate::numeric::partition::Partition;
use crate::settings::Settings;

/// Most cells: the time grows as their square.
const MOST_CELLS: usize = 100_000;

/// The options that the strategies which minimise the objective share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    cells: usize,
    min_points: Option<f64>,
    discount: f64,
    distinct: Option<usize>,
}

impl Options {
    pub(super) const NAMES: &'static [&'static str] =
        &["bins", "min_points", "discount", "distinct"];

    pub(super) fn new(cells: usize, min_points: Option<f64>, discount: f64) -> Result<Self> {
        check_bins("bins", cells, MOST_CELLS)?;
        min_points.map(check_min_points).transpose()?;
        if (0.0..=1.0).contains(&discount) {
            return Ok(Self { cells, min_points, discount, distinct: None });
        }
        Err(Error::BadOption {
            option: "discount",
            given: discount.to_string(),
            allowed: "must be from 0 to 1".to_owned(),
        })
    }

    /// RHALE's defaults: 20 cells, N/20 instances, α = 0.2.
    pub(super) fn from_settings(settings: &Settings) -> Result<Self> {
        let cells = settings.bins.unwrap_or(20);
        let new = Self::new(cells, settings.min_points, settings.discount.unwrap_or(0.2))?;
        Ok(Self { distinct: settings.distinct, ..new })
    }

    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    pub(super) fn describe(&self, name: &str) -> String {
        let points = self.min_points.map_or("N/20".to_owned(), |points| points.to_string());
        format!("{name}(min_points={points};discount={})", self.discount)
    }

    /// The cells if they are equally wide.
    pub(super) fn equal_cells(&self, request: &BinningRequest<'_>) -> Result<Option<Partition>> {
        Ok(EqualBins::of(request, self.cells, self.distinct)?.by_width())
    }

    /// The equal cells, the moments of the local effects in them, and what bins made of them cost.
    pub(super) fn prepare(&self, name: &str, request: &BinningRequest<'_>) -> Result<Objective> {
        let Some(local_effects) = request.local_effects else {
            return Err(Error::Incompatible(format!(
                "the binning `{name}` looks at local effects, which `ale` has only once bins are \
                 chosen and `mplot` never; use it with `rhale`"
            )));
        };
        let EqualBins { partition: cells, distinct } =
            EqualBins::of(request, self.cells, self.distinct)?;
        let moments = local_effects(&cells)?;
        let total: f64 = moments.iter().map(|cell| cell.weight).sum();
        Ok(Objective {
            cells,
            distinct,
            moments,
            terms: Terms {
                min_points: self.min_points.unwrap_or_else(|| (total / 20.0).ceil()).max(2.0),
                discount_per_point: self.discount / total,
                ddof: request.ddof,
            },
        })
    }
}

/// The objective over some cells: the cost of bins made of neighbouring ones.
pub struct Objective {
    pub(super) cells: Partition,
    /// Number of values of the feature, where cells are between these.
    distinct: Option<usize>,
    pub(super) moments: Vec<Moments>,
    terms: Terms,
}

/// Terms of the cost of a bin that do not depend on the bin.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    min_points: f64,
    discount_per_point: f64,
    ddof: f64,
}

impl Terms {
    /// τ σ̂² Δz. Infinite for a bin that is not allowed: no finite cost can then be preferred to it.
    /// Without branches, so that several bins are worked on at once.
    #[inline(always)]
    pub(super) fn cost_of(&self, bin: &Moments, width: f64) -> f64 {
        self.price(bin.squares / self.divisor(bin.weight), bin.weight) * width
    }

    /// τ σ̂², what a bin costs for each unit of its width; infinite where the bin is not allowed.
    #[inline(always)]
    pub(super) fn price(&self, variance: f64, weight: f64) -> f64 {
        if self.allows(weight) { variance * self.discount(weight) } else { f64::INFINITY }
    }

    /// The denominator of a variance, n − ddof.
    #[inline(always)]
    pub(super) fn divisor(&self, weight: f64) -> f64 {
        weight - self.ddof
    }

    /// τ, for bounds: minus infinity where rounding made it negative.
    #[inline(always)]
    pub(super) fn sure_discount(&self, weight: f64) -> f64 {
        let discount = self.discount(weight);
        if discount < 0.0 { f64::NEG_INFINITY } else { discount }
    }

    #[inline(always)]
    fn discount(&self, weight: f64) -> f64 {
        1.0 - self.discount_per_point * weight
    }

    /// True if a bin may have this weight: `min_points` is at least 2, so that there is a variance.
    #[inline(always)]
    fn allows(&self, weight: f64) -> bool {
        weight >= self.min_points
    }
}

impl Objective {
    /// The terms of the cost of its bins.
    pub(super) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The cost of the bin between two limits of cells, in which the local effects have these
    /// moments.
    pub(super) fn cost(&self, start: usize, end: usize, bin: &Moments) -> f64 {
        let limits = self.cells.limits();
        self.terms.cost_of(bin, limits[end] - limits[start])
    }

    /// The limits of the cells.
    pub(super) fn limits(&self) -> &[f64] {
        self.cells.limits()
    }

    /// True if a bin has too few instances.
    pub(super) fn is_poor(&self, bin: &Moments) -> bool {
        !self.terms.allows(bin.weight)
    }

    /// The bins that end at some of the limits of the cells, given in increasing order.
    pub(super) fn bins_ending_at(&self, ends: &[usize], feasible: bool) -> Choice {
        let partition = self.cells.keeping_at(ends);
        Choice { distinct: self.distinct, ..Choice::new(partition, feasible) }
    }
}
