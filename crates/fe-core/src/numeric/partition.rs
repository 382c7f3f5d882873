//! A division of the axis into bins.

use serde::{Deserialize, Serialize};
use strum::VariantNames;

use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::simd::vectorised;

/// The closed end of a bin; the outermost limits always belong to their bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Closed {
    /// `[z_{k-1}, z_k)`, the last bin closed on the right as well (RHALE, EFFECTOR).
    #[default]
    Left,
    /// `(z_{k-1}, z_k]`, the first bin closed on the left as well (Apley and Zhu 2020).
    Right,
}

/// Values that [`Partition::locate_all`] checks together.
const CHUNK: usize = 256;

/// A value is compared with so many limits at once, unless more lie close together.
const TOGETHER: usize = 16;

/// Partitions whose limits are further off equal bins, in bins, are searched from the start.
const EVEN: f64 = 1e-4;

/// Strictly increasing limits `z_0 < … < z_K` and the end at which bins are closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Limits")]
pub struct Partition {
    limits: Vec<f64>,
    closed: Closed,
    #[serde(skip)]
    bins_per_unit: f64,
    /// Distance of the limits from those of equal bins, in bins.
    #[serde(skip)]
    uneven: f64,
    /// For each of K equal stretches of the axis how many inner limits lie in those before it; empty
    /// where bins are equally wide.
    #[serde(skip)]
    before: Vec<u32>,
    /// Most inner limits in one of the stretches.
    #[serde(skip)]
    crowd: usize,
    /// The inner limits, with infinity behind them for as many as are compared with at once; empty where
    /// bins are equally wide.
    #[serde(skip)]
    inner: Vec<f64>,
}

/// Equal bins as a scale on the axis.
#[derive(Clone, Copy)]
struct Ruler {
    start: f64,
    bins_per_unit: f64,
    bins: f64,
    uneven: f64,
}

impl Ruler {
    /// The bin that a value seems to be in if it is inside, whether it seems to be, and whether all this is
    /// sure: further from every whole number of bins than any limit.
    #[inline(always)]
    fn read(self, x: f64) -> (u32, bool, bool) {
        // Added to a number that is not large, leaves it rounded to a whole number in the lowest bits.
        const ROUNDING: f64 = 1.5 * (1_u64 << 52) as f64;
        let place = (x - self.start) * self.bins_per_unit;
        let nearest = (place + ROUNDING) - ROUNDING;
        let whole = if nearest > place { nearest - 1.0 } else { nearest };
        let is_inside = (0.0 < place) & (place < self.bins);
        let is_sure = (place - nearest).abs() > self.uneven;
        ((whole + ROUNDING).to_bits() as u32, is_inside, is_sure)
    }
}

/// A partition as it is written.
#[derive(Deserialize)]
struct Limits {
    limits: Vec<f64>,
    closed: Closed,
}

impl TryFrom<Limits> for Partition {
    type Error = Error;

    fn try_from(read: Limits) -> Result<Self> {
        Self::new(read.limits, read.closed)
    }
}

impl Partition {
    /// A partition with the given limits, at least two.
    ///
    /// # Errors
    /// [`Error::UnsortedLimits`] unless they are finite and strictly increasing,
    /// [`Error::WrongCount`] for fewer than two.
    pub fn new(limits: Vec<f64>, closed: Closed) -> Result<Self> {
        if limits.len() < 2 {
            return Err(Error::WrongCount {
                what: "limits of bins (at least)",
                expected: 2,
                got: limits.len(),
            });
        }
        for pair in limits.windows(2) {
            if !(pair[0] < pair[1] && pair[0].is_finite() && pair[1].is_finite()) {
                return Err(Error::UnsortedLimits { left: pair[0], right: pair[1] });
            }
        }
        Ok(Self::of_sorted(limits, closed))
    }

    fn of_sorted(limits: Vec<f64>, closed: Closed) -> Self {
        let start = limits[0];
        let bins_per_unit = (limits.len() - 1) as f64 / (limits[limits.len() - 1] - start);
        let off = |(k, z): (usize, &f64)| ((z - start) * bins_per_unit - k as f64).abs();
        let most = |a: f64, b: f64| if a < b { b } else { a };
        let uneven = limits.iter().enumerate().map(off).fold(0.0, most);
        let (before, inner) = (Vec::new(), Vec::new());
        let mut new = Self { limits, closed, bins_per_unit, uneven, before, crowd: 0, inner };
        if uneven >= EVEN {
            new.before = new.limits_before();
            let in_stretch = |pair: &[u32]| (pair[1] - pair[0]) as usize;
            new.crowd = new.before.windows(2).map(in_stretch).max().unwrap_or_default();
            new.inner = new.limits[1..new.bins()].to_vec();
            new.inner.extend([f64::INFINITY; TOGETHER]);
        }
        new
    }

    fn limits_before(&self) -> Vec<u32> {
        let mut before = vec![0; self.bins() + 1];
        for &z in &self.limits[1..self.bins()] {
            before[self.stretch(z) + 1] += 1;
        }
        let mut total = 0;
        for count in &mut before {
            total += *count;
            *count = total;
        }
        before
    }

    /// Index of the one of K equal stretches of the axis that a value on it is in; grows with the value.
    fn stretch(&self, x: f64) -> usize {
        (((x - self.limits[0]) * self.bins_per_unit) as usize).min(self.bins() - 1)
    }

    /// The limits `z_0 … z_K`.
    #[must_use]
    pub fn limits(&self) -> &[f64] {
        &self.limits
    }

    /// Number of bins, K.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.limits.len() - 1
    }

    /// At which end the bins are closed.
    #[must_use]
    pub fn closed(&self) -> Closed {
        self.closed
    }

    /// From the first to the last limit.
    ///
    /// # Errors
    /// [`Error::BadAxis`] if their distance is not finite.
    pub fn axis(&self) -> Result<Axis> {
        Axis::new(self.limits[0], self.limits[self.bins()])
    }

    /// Width of each bin.
    #[must_use]
    pub fn widths(&self) -> Vec<f64> {
        self.limits.windows(2).map(|z| z[1] - z[0]).collect()
    }

    /// Middle of each bin.
    #[must_use]
    pub fn centres(&self) -> Vec<f64> {
        self.limits.windows(2).map(|z| z[0] + (z[1] - z[0]) / 2.0).collect()
    }

    /// The bin (counted from 0) that `x` is in; none outside the limits.
    ///
    /// Decided by comparison with the limits alone. Limits in a lower stretch of the axis than `x` lie
    /// below it, those in a higher one above it: few are left to be compared.
    #[inline]
    #[must_use]
    pub fn locate(&self, x: f64) -> Option<usize> {
        let last = self.bins() - 1;
        if !(self.limits[0] <= x && x <= self.limits[last + 1]) {
            return None;
        }
        let stretch = self.stretch(x);
        let (start, end) = match self.before.get(stretch..=stretch + 1) {
            Some(&[start, end]) => (start as usize, end as usize),
            _ if self.holds(stretch, x) => return Some(stretch),
            _ => (0, last),
        };
        let inner = &self.limits[1..=last][start..end];
        Some(match self.closed {
            Closed::Left => start + inner.partition_point(|&z| z <= x),
            Closed::Right => start + inner.partition_point(|&z| z < x),
        })
    }

    /// Writes the bin of every value, [`Partition::OUTSIDE`] outside the limits, and says whether
    /// all are inside: [`Partition::locate`] without a branch, unless limits crowd.
    ///
    /// The place of a value in units of equal bins grows with the value. So a value whose place is
    /// further from all whole numbers than the place of any limit of such bins lies between the two
    /// limits it seems to. Of other bins, as many limits are compared with each value as a stretch has at
    /// most: those behind its stretch are above it.
    pub(crate) fn locate_all(&self, values: &[f64], bins: &mut [u32]) -> bool {
        let mut all_inside = true;
        for (values, bins) in values.chunks(CHUNK).zip(bins.chunks_mut(CHUNK)) {
            all_inside &= match self.crowd {
                0 if self.uneven < EVEN => {
                    self.truncate(values, bins) || self.truncate_or_search(values, bins)
                }
                1 | 2 => self.compare::<2>(values, bins),
                3 | 4 => self.compare::<4>(values, bins),
                5..=8 => self.compare::<8>(values, bins),
                9..=TOGETHER => self.compare::<TOGETHER>(values, bins),
                _ => self.search(values, bins),
            };
        }
        all_inside
    }

    /// Writes the whole parts of the places of the values, and says whether all are sure to be their bins.
    fn truncate(&self, values: &[f64], bins: &mut [u32]) -> bool {
        vectorised(
            #[inline(always)]
            || {
                let (ruler, mut all) = (self.ruler(), true);
                for (&x, bin) in values.iter().zip(&mut *bins) {
                    let (whole, is_inside, is_sure) = ruler.read(x);
                    *bin = whole;
                    all &= is_inside & is_sure;
                }
                all
            },
        )
    }

    /// Writes the bins of the values, and says whether all are inside: as [`Partition::truncate`] where they
    /// are sure, searched where not.
    fn truncate_or_search(&self, values: &[f64], bins: &mut [u32]) -> bool {
        let ruler = self.ruler();
        let (all_sure, mut all_inside) = vectorised(
            #[inline(always)]
            || {
                let (mut all_sure, mut all_inside) = (true, true);
                for (&x, bin) in values.iter().zip(&mut *bins) {
                    let (whole, is_inside, is_sure) = ruler.read(x);
                    *bin = if is_inside { whole } else { Self::OUTSIDE };
                    all_sure &= is_sure;
                    all_inside &= is_inside;
                }
                (all_sure, all_inside)
            },
        );
        if !all_sure {
            all_inside = true;
            for (&x, bin) in values.iter().zip(bins) {
                if !ruler.read(x).2 {
                    *bin = self.search_one(x);
                }
                all_inside &= *bin != Self::OUTSIDE;
            }
        }
        all_inside
    }

    /// Writes the bins of the values, and says whether all are inside.
    fn search(&self, values: &[f64], bins: &mut [u32]) -> bool {
        let mut all_inside = true;
        for (&x, bin) in values.iter().zip(bins) {
            *bin = self.search_one(x);
            all_inside &= *bin != Self::OUTSIDE;
        }
        all_inside
    }

    fn search_one(&self, x: f64) -> u32 {
        self.locate(x).map_or(Self::OUTSIDE, |bin| bin as u32)
    }

    fn ruler(&self) -> Ruler {
        Ruler {
            start: self.limits[0],
            bins_per_unit: self.bins_per_unit,
            bins: self.bins() as f64,
            uneven: self.uneven,
        }
    }

    /// Writes the bins of the values, and says whether all are inside: the limits in lower stretches,
    /// and those among the next `N` that a value is not below.
    fn compare<const N: usize>(&self, values: &[f64], bins: &mut [u32]) -> bool {
        let (lo, hi) = (self.limits[0], self.limits[self.bins()]);
        for (&x, bin) in values.iter().zip(&mut *bins) {
            let start = self.before[self.stretch(x)];
            let next = &self.inner[start as usize..][..N];
            *bin = start
                + match self.closed {
                    Closed::Left => next.iter().map(|&z| u32::from(z <= x)).sum::<u32>(),
                    Closed::Right => next.iter().map(|&z| u32::from(z < x)).sum(),
                };
        }
        let all_inside =
            vectorised(|| values.iter().fold(true, |all, &x| all & (lo <= x) & (x <= hi)));
        if !all_inside {
            for (&x, bin) in values.iter().zip(bins) {
                *bin = if (lo <= x) & (x <= hi) { *bin } else { Self::OUTSIDE };
            }
        }
        all_inside
    }

    /// Writes the lower and the upper limits of some bins.
    pub(crate) fn limits_of(&self, bins: &[u32], lower: &mut [f64], upper: &mut [f64]) {
        for ((&bin, lower), upper) in bins.iter().zip(lower).zip(upper) {
            let bin = bin as usize;
            (*lower, *upper) = (self.limits[bin], self.limits[bin + 1]);
        }
    }

    /// Stands for no bin.
    pub(crate) const OUTSIDE: u32 = u32::MAX;

    #[inline]
    fn holds(&self, bin: usize, x: f64) -> bool {
        let (lo, hi) = (self.limits[bin], self.limits[bin + 1]);
        match self.closed {
            Closed::Left => lo <= x && (x < hi || bin + 1 == self.bins()),
            Closed::Right => (lo < x || bin == 0) && x <= hi,
        }
    }

    /// The partition that keeps only some of the inner limits.
    pub(crate) fn keeping(&self, keep: impl Fn(usize) -> bool) -> Self {
        let last = self.bins();
        let kept = (0..=last).filter(|&i| i == 0 || i == last || keep(i));
        let limits: Vec<f64> = kept.map(|i| self.limits[i]).collect();
        Self::of_sorted(limits, self.closed)
    }

    /// The partition that keeps the inner limits at some indices, which increase.
    pub(crate) fn keeping_at(&self, indices: &[usize]) -> Self {
        let last = self.bins();
        let mut limits = Vec::with_capacity(indices.len() + 2);
        limits.push(self.limits[0]);
        limits.extend(indices.iter().filter(|&&i| i > 0 && i < last).map(|&i| self.limits[i]));
        limits.push(self.limits[last]);
        Self::of_sorted(limits, self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_belong_to_the_closed_side() {
        let limits = vec![0.0, 0.5, 0.75, 1.0];
        let left = Partition::new(limits.clone(), Closed::Left).unwrap();
        let right = Partition::new(limits, Closed::Right).unwrap();
        let bins = |p: &Partition| [0.0, 0.5, 0.75, 1.0].map(|x| p.locate(x));
        assert_eq!(bins(&left), [Some(0), Some(1), Some(2), Some(2)]);
        assert_eq!(bins(&right), [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(left.locate(1.0 + 1e-15), None);
        assert_eq!(left.locate(f64::NAN), None);
    }

    /// The bin of a value by its definition.
    fn by_comparison(partition: &Partition, x: f64) -> Option<usize> {
        let last = partition.bins() - 1;
        let holds = |k: &usize| {
            let (lo, hi) = (partition.limits[*k], partition.limits[*k + 1]);
            match partition.closed {
                Closed::Left => lo <= x && (x < hi || *k == last && x == hi),
                Closed::Right => x <= hi && (lo < x || *k == 0 && x == lo),
            }
        };
        (0..=last).find(holds)
    }

    #[test]
    fn values_are_located_alone_and_together() {
        let equal = (0..=50).map(|i| f64::from(i) / 50.0).collect();
        let nearly = (0..=50).map(|i| (f64::from(i) + 1e-5 * f64::from(i % 3)) / 50.0).collect();
        let skewed = (0..=60).map(|i| 1.5_f64.powi(i - 60)).collect();
        let clustered = [0.0].into_iter().chain((0..40).map(|i| 0.7 + 1e-9 * f64::from(i)));
        let clustered = clustered.chain([0.75, 1.0]).collect();
        let mut all: Vec<Vec<f64>> = vec![equal, nearly, skewed, clustered, vec![-1e9, 1e-3, 1.0]];
        // So many limits close together that 2, 4, 8 and 16 of them are compared with at once.
        for more in [1, 3, 6, 12] {
            let tenths = (0..=10).map(|i| f64::from(i) / 10.0);
            let mut limits: Vec<f64> =
                tenths.chain((1..=more).map(|i| 0.51 + 1e-3 * f64::from(i))).collect();
            limits.sort_unstable_by(f64::total_cmp);
            all.push(limits);
        }
        let crowds = all[5..].iter().map(|limits| {
            Partition::new(limits.clone(), Closed::Left).unwrap().crowd.next_power_of_two()
        });
        assert_eq!(crowds.collect::<Vec<_>>(), [2, 4, 8, 16]);
        for limits in all {
            for closed in [Closed::Left, Closed::Right] {
                let partition = Partition::new(limits.clone(), closed).unwrap();
                let mut inside: Vec<f64> =
                    (0..700).map(|i| f64::from(i * 7 % 499) / 499.0).collect();
                for &z in &limits {
                    inside.extend([z, z.next_up(), z.next_down(), z + 1e-7]);
                }
                inside.retain(|&x| limits[0] <= x && x <= limits[partition.bins()]);
                let mut outside = inside.clone();
                outside[30] = limits[0].next_down();
                outside[130] = limits[partition.bins()].next_up();
                for (i, far) in [1.1, -9.0, 1e300, -1e300, 1e18, -3e9].into_iter().enumerate() {
                    outside[200 + 7 * i] = far * limits[partition.bins()];
                }
                for (values, all_inside) in [(inside, true), (outside, false)] {
                    let mut bins = vec![0; values.len()];
                    assert_eq!(partition.locate_all(&values, &mut bins), all_inside);
                    for (&x, &bin) in values.iter().zip(&bins) {
                        let expected = by_comparison(&partition, x);
                        assert_eq!(partition.locate(x), expected, "{x} in {partition:?}");
                        let expected = expected.map_or(Partition::OUTSIDE, |k| k as u32);
                        assert_eq!(bin, expected, "{x} in {partition:?}");
                    }
                }
            }
        }
    }
}
