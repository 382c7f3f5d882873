//! Sums of the means of bins: the curve at any place, what the centring takes from it, and how sure they are.

use nalgebra::{DMatrix, DVector};

use crate::confidence::Uncertainty;
use crate::effect::Bins;
use crate::effect::centring::AxisMean;
use crate::error::Result;
use crate::numeric::moments::Moments;
use crate::numeric::partition::Partition;
use crate::settings::{CenterRule, Centring};

/// The instances of a bin.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Content {
    pub(super) effects: Moments,
    /// Mean of where they are, as part of the bin's width from its start.
    pub(super) part: f64,
    /// Sums of squared deviations of that, and of its products with those of the local effects.
    pub(super) parts_squared: f64,
    pub(super) products: f64,
}

impl Content {
    pub(super) fn add(&mut self, part: f64, effect: f64, weight: f64) {
        let total = self.effects.weight + weight;
        let before = (effect - self.effects.mean, part - self.part);
        self.part += before.1 * (weight / total);
        self.parts_squared += weight * before.1 * (part - self.part);
        self.products += weight * before.0 * (part - self.part);
        self.effects = self.effects.merge(Moments::single(effect, weight));
    }

    /// Contents from moments alone, where positions within bins do not matter.
    pub(super) fn of_bins(bins: &Bins, ddof: f64) -> Vec<Self> {
        let content = |k: usize| {
            let weight = bins.counts[k];
            let mean = if weight > 0.0 { bins.effect[k] } else { 0.0 };
            let squares = bins.variance[k].map_or(0.0, |variance| variance * (weight - ddof));
            Self { effects: Moments { weight, mean, squares }, part: 0.5, ..Self::default() }
        };
        (0..bins.counts.len()).map(content).collect()
    }
}

/// A bin, and how much of its width lies below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) bin: usize,
    pub(super) part: f64,
}

impl Place {
    pub(super) fn of(partition: &Partition, bin: usize, x: f64) -> Self {
        let (lo, hi) = (partition.limits()[bin], partition.limits()[bin + 1]);
        Self { bin, part: ((x - lo) / (hi - lo)).clamp(0.0, 1.0) }
    }

    pub(super) fn find(partition: &Partition, x: f64) -> Self {
        let bin = partition.limits().partition_point(|&z| z <= x);
        Self::of(partition, bin.clamp(1, partition.bins()) - 1, x)
    }
}

/// The centred curve at some places as a weighted sum of the means of the bins that have instances.
pub(super) struct Accumulation {
    /// c, places × bins; 0 for bins without instances.
    pub(super) weights: DMatrix<f64>,
    pub(super) means: DVector<f64>,
    pub(super) variances: Vec<f64>,
    /// For centrings over the instances: the curve there less its mean, as value at the mean place of
    /// each bin, and rise over the bin.
    pub(super) positions: Option<Vec<(f64, f64)>>,
}

impl Accumulation {
    pub(super) fn curve(&self) -> Vec<f64> {
        (&self.weights * &self.means).as_slice().to_vec()
    }

    /// A column for each bin, c_k(x) s_k / √n_k, known with n_k − 1 degrees of freedom.
    ///
    /// Where the centring averages over the instances, their positions are uncertain too: with b_i the
    /// centred curve at instance i, the constant varies with the mean of b, which within a bin may go
    /// along with the local effects.
    pub(super) fn uncertainty(&self, contents: &[Content]) -> Result<Uncertainty> {
        let (factor, degrees) = self.columns(contents);
        Ok(Uncertainty::of_columns(factor, &degrees))
    }

    /// The columns, and the degrees of freedom of each.
    pub(super) fn columns(&self, contents: &[Content]) -> (DMatrix<f64>, Vec<f64>) {
        let total: f64 = contents.iter().map(|bin| bin.effects.weight).sum();
        let mut factor = DMatrix::zeros(self.weights.nrows(), contents.len() + 1);
        let mut degrees = Vec::with_capacity(contents.len() + 1);
        let mut of_positions = 0.0;
        for (k, bin) in contents.iter().enumerate() {
            let count = bin.effects.weight;
            degrees.push((count - 1.0).max(1.0));
            if count == 0.0 {
                continue;
            }
            let error = (self.variances[k] / count).sqrt();
            let mut column = self.weights.column(k) * error;
            if let Some(positions) = &self.positions {
                let (at, rise) = positions[k];
                let products = rise * bin.products;
                let squares = self.variances[k] * count;
                let along = if squares > 0.0 { products / squares.sqrt() } else { 0.0 };
                column.add_scalar_mut(-along / total);
                let spread = count * at * at + rise * rise * bin.parts_squared;
                of_positions += (spread - along * along).max(0.0);
            }
            factor.set_column(k, &column);
        }
        degrees.push((total - 1.0).max(1.0));
        factor.column_mut(contents.len()).fill(of_positions.sqrt() / total);
        (factor, degrees)
    }
}

/// The places that the centring averages over, bin by bin.
pub(super) struct Averaged {
    /// The share that lies in each bin.
    pub(super) shares: Vec<f64>,
    /// The same times the mean part u of the bin that lies below.
    parts: Vec<f64>,
    /// The same times the mean of (u² − u)/2.
    pub(super) bends: Vec<f64>,
}

impl Averaged {
    pub(super) fn over(
        partition: &Partition,
        contents: &[Content],
        (centring, mean): (Centring, AxisMean),
        widths: &[f64],
    ) -> Self {
        let bins = widths.len();
        let none = || vec![0.0; bins];
        let mut all = Self { shares: none(), parts: none(), bends: none() };
        match centring {
            Centring::None => {}
            Centring::Start => all.add(Place { bin: 0, part: 0.0 }, 1.0, 0.0),
            Centring::Integral if mean.rule() == CenterRule::Exact => {
                let length: f64 = widths.iter().sum();
                (0..bins).for_each(|bin| all.add_evenly(bin, widths[bin] / length));
            }
            Centring::Integral => {
                let places = partition.axis().map(|axis| mean.places(axis)).unwrap_or_default();
                let share = 1.0 / places.len() as f64;
                places.iter().for_each(|&x| all.add(Place::find(partition, x), share, 0.0));
            }
            Centring::Data | Centring::Bins => {
                let total: f64 = contents.iter().map(|bin| bin.effects.weight).sum();
                for (bin, content) in contents.iter().enumerate() {
                    let weight = content.effects.weight;
                    if centring == Centring::Bins {
                        all.add_evenly(bin, weight / total);
                    } else if weight > 0.0 {
                        let spread = content.parts_squared / weight;
                        all.add(Place { bin, part: content.part }, weight / total, spread);
                    }
                }
            }
        }
        all
    }

    /// The mean part of a bin that lies below what is averaged over there; half of it where that is nothing.
    pub(super) fn part(&self, bin: usize) -> f64 {
        if self.shares[bin] > 0.0 { self.parts[bin] / self.shares[bin] } else { 0.5 }
    }

    /// Places of a mean part and a variance of it.
    fn add(&mut self, Place { bin, part }: Place, share: f64, spread: f64) {
        self.shares[bin] += share;
        self.parts[bin] += share * part;
        self.bends[bin] += share * (part * part + spread - part) / 2.0;
    }

    fn add_evenly(&mut self, bin: usize, share: f64) {
        self.add(Place { bin, part: 0.5 }, share, 1.0 / 12.0);
    }

    /// The mean of the curve as weights of the means of the bins.
    pub(super) fn centre(&self, widths: &[f64]) -> Vec<f64> {
        let mut right = 0.0;
        let mut centre = vec![0.0; widths.len()];
        for k in (0..widths.len()).rev() {
            centre[k] = widths[k] * (right + self.parts[k]);
            right += self.shares[k];
        }
        centre
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins of four instances, one, none and seven.
    #[test]
    fn a_variance_has_one_degree_of_freedom_less_than_instances() {
        let content = |weight: f64| {
            let effects = Moments { weight, mean: 1.0, squares: weight };
            Content { effects, part: 0.5, ..Content::default() }
        };
        let contents = [4.0, 1.0, 0.0, 7.0].map(content);
        let accumulation = Accumulation {
            weights: DMatrix::from_element(2, 4, 0.5),
            means: DVector::from_element(4, 1.0),
            variances: vec![2.0; 4],
            positions: None,
        };
        let (columns, degrees) = accumulation.columns(&contents);
        assert_eq!(degrees, [3.0, 1.0, 1.0, 6.0, 11.0]);
        // c s / √n of the first bin; none of the empty one, and none of positions that do not count.
        assert_eq!(columns[(0, 0)], 0.5 * 0.5_f64.sqrt());
        assert!(columns.column(2).iter().chain(&columns.column(4)).all(|&entry| entry == 0.0));
    }
}
