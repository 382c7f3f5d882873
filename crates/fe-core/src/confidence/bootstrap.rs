//! Bands from resamples of the rows.

use std::ops::Range;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::uncertainty::{least_error, order_statistic};
use super::values::{Values, around};
use super::{BandRequest, Replicate, Resampling};
use crate::data::Dataset;
use crate::data::subsample::equal_rows;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::numeric::blocks::fold_blocks;
use crate::settings::Interval;

/// Resamples that one thread takes at a time.
const BLOCK: usize = 8;

/// Σw draws with replacement from the rows, by their weights.
///
/// Equal rows are one row with their total weight, and rows come in an order that depends on their
/// values: neither the order of the rows nor duplicates in the place of weights matter.
struct Rows {
    rows: Vec<usize>,
    /// Weight of each row and all before it.
    reached: Vec<f64>,
    count: usize,
}

impl Rows {
    fn new(data: &Dataset, seed: u64) -> Self {
        let weights = data.weighted(0).map(|(_, weight)| weight).enumerate();
        let rows: Vec<(usize, f64)> = weights.filter(|(_, weight)| *weight > 0.0).collect();
        let (mut different, mut reached, mut total) = (Vec::new(), Vec::new(), 0.0);
        for group in equal_rows(data, &rows, seed) {
            total += group.iter().map(|(_, weight)| weight).sum::<f64>();
            different.push(group[0].0);
            reached.push(total);
        }
        Self { rows: different, reached, count: (total.round() as usize).max(1) }
    }

    /// Number of times that each row of the data is drawn.
    fn draw(&self, rows: usize, random: &mut ChaCha8Rng) -> Vec<f64> {
        let mut times = vec![0.0; rows];
        let last = self.rows.len() - 1;
        let total = self.reached[last];
        for _ in 0..self.count {
            let at = random.next_u64() as f64 / 2_f64.powi(64) * total;
            let group = self.reached.partition_point(|&reached| reached <= at).min(last);
            times[self.rows[group]] += 1.0;
        }
        times
    }
}

/// Most draws of a resample: beyond, a bootstrap takes too long to be meant.
const MOST_DRAWN: usize = 10_000_000;

pub(super) fn limits(
    request: &BandRequest,
    data: &Dataset,
    sample: &dyn Resampling,
    curve: &[f64],
) -> Result<Values> {
    let rows = Rows::new(data, request.seed);
    if rows.count > MOST_DRAWN {
        return Err(Error::BadOption {
            option: "band",
            given: format!("bootstrap of {} rows", rows.count),
            allowed: format!("at most {MOST_DRAWN} rows are resampled; take a `subsample`"),
        });
    }
    let studentised = request.interval == Interval::Studentised;
    let mut replicates: Vec<Replicate> = Vec::with_capacity(request.resamples);
    let (mut failed, mut reason) = (0, None);
    let work = |block: Range<usize>| {
        let replicate = |number: usize| {
            interrupt::check();
            let mut random = ChaCha8Rng::seed_from_u64(request.seed);
            random.set_stream(number as u64);
            sample.replicate(&rows.draw(data.len(), &mut random), studentised)
        };
        Ok::<Vec<Result<Replicate>>, Error>(block.map(replicate).collect())
    };
    fold_blocks(request.resamples, BLOCK, work, |block| {
        for replicate in block {
            match replicate {
                Ok(replicate) => replicates.push(replicate),
                Err(error) => {
                    failed += 1;
                    reason.get_or_insert(error);
                }
            }
        }
    })?;
    // Few rows may leave a resample without an effect; a band is made of most of them or not at all.
    if let Some(reason) = reason.filter(|_| failed * 20 > request.resamples) {
        return Err(reason);
    }
    let values = match request.interval {
        Interval::Percentile => percentile(request.level, &replicates, curve),
        Interval::Studentised => {
            studentise(request.level, &replicates, curve, &sample.uncertainty()?.standard_errors())
        }
    };
    Ok(Values { failed, ..values })
}

/// A quantile of some number of each replicate, at every place.
fn quantiles(
    replicates: &[Replicate],
    places: usize,
    probability: f64,
    number: impl Fn(&Replicate, usize) -> f64,
) -> Vec<f64> {
    let at = |place: usize| {
        let mut values: Vec<f64> = replicates.iter().map(|r| number(r, place)).collect();
        order_statistic(&mut values, probability)
    };
    (0..places).map(at).collect()
}

/// The quantile of the largest of some number along the curve.
fn largest(
    level: f64,
    replicates: &[Replicate],
    places: usize,
    number: impl Fn(&Replicate, usize) -> f64,
) -> f64 {
    let largest = |r: &Replicate| (0..places).map(|i| number(r, i).abs()).fold(0.0, f64::max);
    let mut values: Vec<f64> = replicates.iter().map(largest).collect();
    order_statistic(&mut values, level)
}

fn percentile(level: f64, replicates: &[Replicate], curve: &[f64]) -> Values {
    let (places, tail) = (curve.len(), (1.0 - level) / 2.0);
    let value = |r: &Replicate, i: usize| r.curve[i];
    let limits = (
        quantiles(replicates, places, tail, value),
        quantiles(replicates, places, 1.0 - tail, value),
    );
    let count = replicates.len() as f64;
    let spread = |i: usize| {
        let mean = replicates.iter().map(|r| r.curve[i]).sum::<f64>() / count;
        let squares: f64 = replicates.iter().map(|r| (r.curve[i] - mean).powi(2)).sum();
        (squares / (count - 1.0)).sqrt()
    };
    let spreads: Vec<f64> = (0..places).map(spread).collect();
    // Of places that are certain the spread is rounding, and so are distances in units of it.
    let least = least_error(&spreads);
    let distance = |r: &Replicate, i: usize| match spreads[i] > least {
        true => ratio(r.curve[i] - curve[i], spreads[i]),
        false => 0.0,
    };
    let critical = largest(level, replicates, places, distance);
    values(limits, around(curve, |i| critical * spreads[i]), critical)
}

fn studentise(level: f64, replicates: &[Replicate], curve: &[f64], errors: &[f64]) -> Values {
    let (places, tail) = (curve.len(), (1.0 - level) / 2.0);
    let distance = |r: &Replicate, i: usize| {
        let error = r.variances.as_ref().map_or(f64::NAN, |variances| variances[i].sqrt());
        ratio(r.curve[i] - curve[i], error)
    };
    let upper = quantiles(replicates, places, tail, distance);
    let lower = quantiles(replicates, places, 1.0 - tail, distance);
    let limits = (
        (0..places).map(|i| curve[i] - lower[i] * errors[i]).collect(),
        (0..places).map(|i| curve[i] - upper[i] * errors[i]).collect(),
    );
    let least = least_error(errors);
    let uncertain = |r: &Replicate, i: usize| if errors[i] > least { distance(r, i) } else { 0.0 };
    let critical = largest(level, replicates, places, uncertain);
    values(limits, around(curve, |i| critical * errors[i]), critical)
}

/// A distance in standard errors; 0 where both are 0.
fn ratio(distance: f64, error: f64) -> f64 {
    if error > 0.0 { distance / error } else { 0.0 }
}

fn values(
    pointwise: (Vec<f64>, Vec<f64>),
    simultaneous: (Vec<f64>, Vec<f64>),
    critical: f64,
) -> Values {
    Values {
        pointwise,
        simultaneous: Some(simultaneous),
        failed: 0,
        least_degrees: None,
        critical_value: Some(critical),
        cells: None,
        refits: None,
    }
}
