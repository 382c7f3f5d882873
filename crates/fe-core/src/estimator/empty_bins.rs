//! What becomes of bins without instances.

use crate::dataset::Dataset;
use crate::effect::Bins;
use crate::error::{Error, Result};
use crate::heterogeneity::interpolate_missing;
use crate::partition::Partition;
use crate::settings::EmptyBins;
use crate::statistics::Moments;

/// What stands for each bin where values are interpolated between bins.
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
