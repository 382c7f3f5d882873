//! Policies for bins without instances.

use crate::data::Dataset;
use crate::effect::Bins;
use crate::error::{Error, Result};
use crate::numeric::interpolation::interpolate_missing;
use crate::numeric::moments::Moments;
use crate::numeric::partition::Partition;
use crate::settings::EmptyBins;

/// Abscissas of the bins in the interpolation between them.
pub(super) fn places(policy: EmptyBins, partition: &Partition) -> Vec<f64> {
    match policy {
        EmptyBins::InterpolateIndex => (0..partition.bins()).map(|k| k as f64).collect(),
        _ => partition.centres(),
    }
}

/// Bins, with the effect of empty ones as the policy has it, and how many were empty.
pub(super) fn fill(
    policy: EmptyBins,
    ddof: f64,
    partition: Partition,
    moments: &[Moments],
) -> Result<(Bins, usize)> {
    let means: Vec<Option<f64>> =
        moments.iter().map(|bin| (!bin.is_empty()).then_some(bin.mean)).collect();
    let empty = means.iter().filter(|mean| mean.is_none()).count();
    let effect = match (policy, means.iter().position(Option::is_none)) {
        (EmptyBins::Error, Some(bin)) => {
            let (lo, hi) = (partition.limits()[bin], partition.limits()[bin + 1]);
            return Err(Error::EmptyBin { bin: bin + 1, bins: partition.bins(), lo, hi });
        }
        (EmptyBins::Zero, _) => means.iter().map(|mean| mean.unwrap_or(0.0)).collect(),
        _ => interpolate_missing(&means, &places(policy, &partition)).0.unwrap_or_default(),
    };
    let bins = Bins {
        counts: moments.iter().map(|bin| bin.weight).collect(),
        variance: moments.iter().map(|bin| bin.variance(ddof)).collect(),
        effect,
        partition,
    };
    Ok((bins, empty))
}

/// Rows that are looked at before it is asked whether all bins have instances.
const BLOCK: usize = 2048;

/// Joins every bin without instances to the one on its right, at the right end to the left.
pub(super) fn merge(partition: Partition, data: &Dataset, feature: usize) -> Result<Partition> {
    let mut filled = vec![false; partition.bins()];
    let mut bins = vec![0; BLOCK];
    for (block, values) in data.feature(feature).chunks(BLOCK).enumerate() {
        let bins = &mut bins[..values.len()];
        partition.locate_all(values, bins);
        for (row, &bin) in (block * BLOCK..).zip(&*bins) {
            if let Some(filled) = filled.get_mut(bin as usize) {
                *filled |= data.weights().is_none_or(|weights| weights[row] > 0.0);
            }
        }
        if filled.iter().all(|&filled| filled) {
            return Ok(partition);
        }
    }
    let Some(last) = filled.iter().rposition(|&filled| filled) else { return Ok(partition) };
    // The limit at the end of bin k stays if k has instances and some bin after it has as well.
    Ok(partition.keeping(|limit| filled[limit - 1] && limit - 1 < last))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::numeric::partition::Closed;

    /// Of more rows than are looked at together, the last has a bin alone, or only a weight of 0.
    #[test]
    fn bins_are_merged_that_no_row_of_positive_weight_is_in() {
        let rows = 2 * BLOCK + 5;
        let value = |i: usize| if i + 1 == rows { 3.5 } else { (i % 3) as f64 + 0.5 };
        let data = Dataset::from_features(Array2::from_shape_fn((1, rows), |(_, i)| value(i)));
        let data = data.unwrap();
        let limits: Vec<f64> = (0..=5).map(f64::from).collect();
        let merged = |data: &Dataset| {
            let partition = Partition::new(limits.clone(), Closed::Left).unwrap();
            merge(partition, data, 0).unwrap().limits().to_vec()
        };
        assert_eq!(merged(&data), [0.0, 1.0, 2.0, 3.0, 5.0]);
        let weights = (0..rows).map(|i| if i + 1 == rows { 0.0 } else { 1.0 }).collect();
        assert_eq!(merged(&data.with_weights(weights).unwrap()), [0.0, 1.0, 2.0, 5.0]);
    }

    #[test]
    fn the_empty_bin_that_is_refused_is_named() {
        let partition = Partition::new(vec![0.0, 1.0, 2.5, 4.0], Closed::Left).unwrap();
        let moments = [Moments::of(&[1.0]), Moments::default(), Moments::of(&[2.0])];
        let refused = fill(EmptyBins::Error, 0.0, partition, &moments).unwrap_err();
        let named = matches!(refused, Error::EmptyBin { bin: 2, bins: 3, lo: 1.0, hi: 2.5 });
        assert!(named, "{refused}");
    }
}
