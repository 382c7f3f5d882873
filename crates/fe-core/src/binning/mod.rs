//! Strategies that divide the axis into bins. A new strategy is a new file and a line in [`ALL`].
//!
//! May import what lies below `settings`, and that. Begin with [`Binning`] and [`BinningRequest`]; the list of all is [`ALL`].

mod dp;
mod fixed;
mod given;
mod grid;
mod objective;
mod penalized;
mod quantile;
mod quantile_min;
mod search;

pub use dp::{Dynamic, plain_optimum};
pub use fixed::Fixed;
pub use given::GivenLimits;
pub use penalized::Penalized;
pub use quantile::Quantile;
pub use quantile_min::QuantileMin;
pub use search::{Agglomerative, CellBinning, Greedy};

pub use crate::numeric::quantiles::SortedSample;

use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::moments::Moments;
use crate::numeric::order_statistics::range;
use crate::numeric::partition::{Closed, Partition};
use crate::settings::{BINNING_OPTIONS, Settings};

/// Gives the moments of the local effects in each bin of a partition.
pub type Summarise<'a> = dyn Fn(&Partition) -> Result<Vec<Moments>> + 'a;

/// A request for bins: all that a strategy may look at.
pub struct BinningRequest<'a> {
    /// The axis to divide.
    pub axis: Axis,
    /// At which end bins are closed.
    pub closed: Closed,
    /// Positions of the instances; those outside the axis do not count.
    pub positions: &'a [f64],
    /// Weights of the instances, if they differ.
    pub weights: Option<&'a [f64]>,
    /// Positions and weights of all instances, of which those of a region are a part: whether a feature has
    /// few values does not depend on the region.
    pub whole: (&'a [f64], Option<&'a [f64]>),
    /// True if bins are to have levels, so that each of few values needs a bin of its own, and not slopes,
    /// which are from one value to the next.
    pub levels: bool,
    /// Degrees of freedom (ddof) subtracted from the weight in the denominator of a variance.
    pub ddof: f64,
    /// Moments of the local effects in each bin of any partition of the axis. None where local
    /// effects do not exist before bins do (`ale`).
    pub local_effects: Option<&'a Summarise<'a>>,
}

impl BinningRequest<'_> {
    /// The instances on the axis.
    fn sample(&self) -> SortedSample {
        if let Some(values) = self.equal_instances() {
            return SortedSample::of_equal(values);
        }
        let positions = self.positions.iter().enumerate();
        let inside = positions.filter(|(_, x)| self.axis.contains(**x));
        let weight = |row: usize| self.weights.map_or(1.0, |weights| weights[row]);
        SortedSample::new(inside.map(|(row, &x)| (x, weight(row))))
    }

    /// The positions, if all count the same: each has weight 1 and lies on the axis.
    fn equal_instances(&self) -> Option<&[f64]> {
        let all_on_axis = || {
            let [lo, hi] = range(self.positions);
            self.axis.contains(lo) && self.axis.contains(hi)
        };
        (self.weights.is_none() && all_on_axis()).then_some(self.positions)
    }
}

/// A division of the axis, and what happened on the way to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The bins.
    pub partition: Partition,
    /// False if no division met the constraints and a single bin stands in.
    pub feasible: bool,
    /// Stretches of whole bins along which local effects spread alike, so that their variance within
    /// the bins is known from all of these together; none where each bin stands for itself. Stretches
    /// that end within bins count as none.
    pub spreads: Option<Partition>,
    /// Number of distinct values of the feature, where the bins, or the cells they are made of, are between
    /// these in place of equally wide.
    pub distinct: Option<usize>,
}

impl Choice {
    /// Bins that each stand for themselves.
    #[must_use]
    pub fn new(partition: Partition, feasible: bool) -> Self {
        Self { partition, feasible, spreads: None, distinct: None }
    }
}

/// A way to choose bins.
pub trait Binning: std::fmt::Debug + Send + Sync {
    /// Its name in files and flags with its options, except the number of bins.
    fn describe(&self) -> String;

    /// The number of bins asked for, or of cells that bins are made of; none for custom limits.
    fn bins(&self) -> Option<usize>;

    /// Divides the axis.
    ///
    /// # Errors
    /// A reason why there can be no bins.
    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice>;

    /// The bins, or the cells that they are made of once the local effects in these are known, where the axis
    /// alone tells them: those of a part of the instances are then those of all. None otherwise.
    ///
    /// # Errors
    /// As [`Binning::choose`].
    fn cells(&self, request: &BinningRequest<'_>) -> Result<Option<Partition>> {
        let _ = request;
        Ok(None)
    }
}

/// A strategy as it is found by name.
pub struct BinningInfo {
    /// Its name.
    pub name: &'static str,
    /// A description in a line.
    pub about: &'static str,
    /// The settings it takes.
    pub options: &'static [&'static str],
    /// True if the number of bins depends on the data; the number asked for is then the most there may be.
    pub automatic: bool,
    /// Builds it from settings.
    pub build: fn(&Settings) -> Result<Box<dyn Binning>>,
}

/// All strategies.
pub const ALL: &[BinningInfo] = &[
    fixed::INFO,
    quantile::INFO,
    quantile_min::INFO,
    given::INFO,
    Dynamic::INFO,
    Greedy::INFO,
    Agglomerative::INFO,
    penalized::INFO,
];

/// The strategy that the settings ask for, or `default` if they name none.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name or for an option the strategy does not take.
pub fn from_settings(settings: &Settings, default: &'static str) -> Result<Box<dyn Binning>> {
    let name = settings.binning.as_deref().unwrap_or(default);
    let Some(info) = ALL.iter().find(|info| info.name == name) else {
        let names: Vec<&str> = ALL.iter().map(|info| info.name).collect();
        return Err(Error::BadOption {
            option: "binning",
            given: name.to_owned(),
            allowed: format!("must be one of {}", names.join(", ")),
        });
    };
    settings.check_taken(&format!("the binning `{name}`"), |option| {
        !BINNING_OPTIONS.contains(&option) || info.options.contains(&option)
    })?;
    (info.build)(settings)
}

/// Most bins or cells a strategy may be asked for.
const MOST_BINS: usize = 10_000_000;

/// Checks a number of bins against what memory can hold.
fn check_bins(option: &'static str, bins: usize, most: usize) -> Result<usize> {
    if (1..=most).contains(&bins) {
        return Ok(bins);
    }
    Err(Error::BadOption {
        option,
        given: bins.to_string(),
        allowed: format!("must be from 1 to {most}"),
    })
}

/// Checks a least number of instances.
fn check_min_points(points: f64) -> Result<f64> {
    if points >= 0.0 && points.is_finite() {
        return Ok(points);
    }
    Err(Error::BadOption {
        option: "min_points",
        given: points.to_string(),
        allowed: "must be finite and not negative".to_owned(),
    })
}
