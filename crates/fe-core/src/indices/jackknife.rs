//! Standard errors by leaving out groups of rows.

use crate::data::Dataset;
use crate::data::subsample::digest;

use super::Measured;

/// Groups of rows that are left out in turn.
pub(super) const GROUPS: usize = 20;

/// The group of each row: by its values, so that neither the order of the rows nor copies in place of a weight matter.
pub(super) fn groups(data: &Dataset) -> Vec<usize> {
    const SALT: u64 = 0x6a61_636b;
    let group = |row: usize| (digest(SALT, &data.row(row).to_vec()) % GROUPS as u64) as usize;
    (0..data.len()).map(group).collect()
}

/// Total weight of each of some groups of rows.
pub(super) fn sizes(groups: &[usize], weights: Option<&[f64]>) -> Vec<f64> {
    let mut sizes = vec![0.0; GROUPS];
    for (row, &group) in groups.iter().enumerate() {
        sizes[group] += weights.map_or(1.0, |weights| weights[row]);
    }
    sizes
}

/// A statistic of all rows, and of all but a group, with the standard error of the jackknife for groups that are not
/// equally large (Busing, Meijer and van der Leeden 1999).
pub(super) fn jackknife(
    sizes: &[f64],
    rows: usize,
    statistic: impl Fn(Option<usize>) -> f64,
) -> Measured {
    let value = statistic(None);
    let total: f64 = sizes.iter().sum();
    let left_out: Vec<(f64, f64)> = sizes
        .iter()
        .enumerate()
        .filter(|(_, size)| **size > 0.0 && **size < total)
        .map(|(group, size)| (total / size, statistic(Some(group))))
        .collect();
    let count = left_out.len() as f64;
    let standard_error = (left_out.len() > 1).then(|| {
        let mean = count * value
            - left_out.iter().map(|(times, without)| (1.0 - 1.0 / times) * without).sum::<f64>();
        let square = |(times, without): &(f64, f64)| {
            let pseudo = times * value - (times - 1.0) * without;
            (pseudo - mean).powi(2) / (times - 1.0)
        };
        (left_out.iter().map(square).sum::<f64>() / count).sqrt()
    });
    let standard_error = standard_error.filter(|error| error.is_finite());
    Measured { value, standard_error, degrees: left_out.len().saturating_sub(1), rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a mean the jackknife gives the standard error of a mean of groups.
    #[test]
    fn the_standard_error_of_a_mean_is_that_of_its_groups() {
        let means = [1.0, 4.0, 2.0, 9.0];
        let statistic = |without: Option<usize>| {
            let kept = (0..4).filter(|&group| Some(group) != without);
            let (sum, count) =
                kept.fold((0.0, 0.0), |(sum, count), group| (sum + means[group], count + 1.0));
            sum / count
        };
        let found = jackknife(&[5.0; 4], 20, statistic);
        // The sample variance of the four is 38/3.
        assert!((found.standard_error.unwrap() - (38.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.degrees, 3);
        // Student's t of three degrees of freedom, as of any mean of four.
        let (lower, upper) = found.interval().unwrap();
        assert!((upper - lower - 2.0 * 3.182_446 * found.standard_error.unwrap()).abs() < 1e-5);
    }
}
