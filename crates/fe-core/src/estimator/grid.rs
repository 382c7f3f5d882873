//! Grids of points at which curves are computed, with the weights of means over the axis.

use crate::data::{AxisChoice, Dataset, Levels};
use crate::effect::centring::AxisMean;
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::numeric::quantiles::SortedSample;
use crate::settings::{CenterRule, Centring, Settings};

/// Points on the grid if nothing else is asked for.
const DEFAULT: usize = 100;

/// Most points: a prediction per instance and point is needed.
const MOST: usize = 1_000_000;

/// Options of a grid: its number of equidistant points, and further ones.
#[derive(Debug, Clone)]
pub(super) struct GridOptions {
    points: usize,
    further: Vec<f64>,
    even: usize,
}

impl GridOptions {
    /// From the settings `grid`, `points` and `even_points`.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 points or too many.
    pub(super) fn from_settings(settings: &Settings) -> Result<Self> {
        let checked = |option: &'static str, points: usize| match points {
            2..=MOST => Ok(points),
            _ => Err(Error::BadOption {
                option,
                given: points.to_string(),
                allowed: format!("must be from 2 to {MOST}"),
            }),
        };
        Ok(Self {
            points: checked("grid", settings.grid.unwrap_or(DEFAULT))?,
            further: settings.points.clone().unwrap_or_default(),
            even: settings.even_points.map_or(Ok(0), |even| checked("even_points", even))?,
        })
    }

    /// The equidistant points on an axis.
    pub(super) fn equidistant(&self, axis: Axis) -> Vec<f64> {
        axis.grid(self.points)
    }

    /// The further points, on the axis and off it.
    pub(super) fn further(&self, axis: Axis) -> Vec<f64> {
        self.further.iter().copied().chain(axis.grid(self.even)).collect()
    }

    /// All points on the axis, ascending.
    pub(super) fn places(&self, axis: Axis) -> Vec<f64> {
        ascending(axis, &self.equidistant(axis), &self.further(axis))
    }

    /// About how many points there will be.
    pub(super) fn count(&self) -> usize {
        self.points + self.further.len() + self.even
    }
}

/// Points of two lists that are on the axis, ascending.
fn ascending(axis: Axis, grid: &[f64], further: &[f64]) -> Vec<f64> {
    let all = grid.iter().chain(further).copied();
    let mut x: Vec<f64> = all.filter(|&x| axis.contains(x)).collect();
    x.sort_unstable_by(f64::total_cmp);
    x.dedup();
    x
}

/// The points at which the model is asked: the grid, and further ones between.
#[derive(Clone)]
pub(super) struct Grid {
    pub(super) axis: Axis,
    pub(super) x: Vec<f64>,
    pub(super) grid_indices: Vec<usize>,
    /// Weights of the points in a mean over the axis: that of the curve through the grid, so they are 0
    /// at further points.
    pub(super) mean_weights: Vec<f64>,
    /// The levels that the points are, of a feature that has such.
    pub(super) levels: Option<Levels>,
}

impl Grid {
    pub(super) fn new(axis: Axis, grid: &[f64], further: &[f64], mean: AxisMean) -> Self {
        let x = ascending(axis, grid, further);
        let grid_indices: Vec<usize> = grid.iter().map(|g| x.partition_point(|x| x < g)).collect();
        let mut mean_weights = vec![0.0; x.len()];
        let of_grid = match mean.rule() {
            CenterRule::Exact => trapezoid(axis, grid),
            _ => at_places(grid, mean.places(axis).into_iter().map(|place| (place, 1.0))),
        };
        for (&point, weight) in grid_indices.iter().zip(of_grid) {
            mean_weights[point] = weight;
        }
        Self { axis, x, grid_indices, mean_weights, levels: None }
    }

    /// The levels of a feature; means over the axis are means over the instances there.
    pub(super) fn of_levels(levels: Levels) -> Result<Self> {
        let x = levels.values.clone();
        let axis = Axis::new(x[0], x[x.len() - 1])?;
        let (grid_indices, mean_weights) = ((0..x.len()).collect(), levels.shares());
        Ok(Self { axis, x, grid_indices, mean_weights, levels: Some(levels) })
    }

    /// A curve through the points, or at the levels that they are.
    pub(super) fn curve(&self, x: Vec<f64>, y: Vec<f64>) -> Curve {
        if self.levels.is_some() { Curve::levels(x, y) } else { Curve::linear(x, y) }
    }
}

/// The weights of the trapezoid rule, for a mean.
fn trapezoid(axis: Axis, grid: &[f64]) -> Vec<f64> {
    let mut weights = vec![0.0; grid.len()];
    for (left, pair) in grid.windows(2).enumerate() {
        let half = (pair[1] - pair[0]) / axis.width() / 2.0;
        weights[left] += half;
        weights[left + 1] += half;
    }
    weights
}

/// The distinct values of a feature on an axis, where there are no more than so many; none where they are more, or a
/// number that means none.
pub(super) fn distinct_points(
    data: &Dataset,
    feature: usize,
    axis: AxisChoice,
    most: usize,
) -> Option<Vec<f64>> {
    let on_axis = |x: f64| match axis {
        AxisChoice::Given(lo, hi) => (lo..=hi).contains(&x),
        AxisChoice::Data | AxisChoice::Quantiles { .. } => true,
    };
    let sample = || SortedSample::new(data.weighted(feature).filter(|(x, _)| on_axis(*x)));
    if most < 2 { None } else { sample().distinct(most) }
}

/// The constant that a centring subtracts from the line through the points of a grid, as weights of
/// the values there.
pub(super) fn grid_weights(
    centring: Centring,
    axis: Axis,
    grid: &[f64],
    instances: impl Iterator<Item = (f64, f64)>,
) -> Vec<f64> {
    match centring {
        Centring::Integral => trapezoid(axis, grid),
        Centring::Start => (0..grid.len()).map(|i| f64::from(i == 0)).collect(),
        Centring::Data => at_places(grid, instances),
        Centring::None | Centring::Bins => vec![0.0; grid.len()],
    }
}

/// The weights of a mean over weighted places of the line through the grid points; places beyond its
/// ends do not count.
fn at_places(grid: &[f64], places: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let (mut weights, mut total) = (vec![0.0; grid.len()], 0.0);
    for (x, weight) in places.filter(|(x, _)| (grid[0]..=grid[grid.len() - 1]).contains(x)) {
        let right = grid.partition_point(|&point| point < x).max(1);
        let share = (x - grid[right - 1]) / (grid[right] - grid[right - 1]);
        weights[right - 1] += weight * (1.0 - share);
        weights[right] += weight * share;
        total += weight;
    }
    if total > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= total);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_share_their_weight_among_the_points_beside_them() {
        let places = [(0.0, 1.0), (2.5, 2.0), (4.0, 1.0), (9.0, 5.0)].into_iter();
        // A quarter at either end, a half at 2.5 between 2 and 4, and nothing of what is beyond.
        assert_eq!(at_places(&[0.0, 2.0, 4.0], places), [0.25, 0.375, 0.375]);
    }
}
