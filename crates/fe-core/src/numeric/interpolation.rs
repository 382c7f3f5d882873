//! Linear interpolation of missing values between the bins where they are known.

/// Fills missing entries by linear interpolation between bin centres, or whatever increasing numbers
/// stand for the bins, at the ends by the nearest.
///
/// Returns how many were missing; `None` instead of a result if all were.
#[must_use]
pub fn interpolate_missing(values: &[Option<f64>], centres: &[f64]) -> (Option<Vec<f64>>, usize) {
    let missing = values.iter().filter(|value| value.is_none()).count();
    let at = |k: usize| values[k].unwrap_or(f64::NAN);
    if missing == 0 {
        return (Some((0..values.len()).map(at).collect()), 0);
    }
    let known: Vec<bool> = values.iter().map(Option::is_some).collect();
    let fill = |[(a, _), (b, share)]: [(usize, f64); 2]| match share {
        0.0 => at(a),
        _ => at(a) + (at(b) - at(a)) * share,
    };
    let filled = sources(&known, centres).map(|sources| sources.into_iter().map(fill).collect());
    (filled, missing)
}

/// For each bin the two bins that it is interpolated from, with their shares; itself where it is
/// known. None if none is known.
pub(crate) fn sources(known: &[bool], centres: &[f64]) -> Option<Vec<[(usize, f64); 2]>> {
    let there: Vec<usize> = (0..known.len()).filter(|&k| known[k]).collect();
    let (first, last) = (*there.first()?, *there.last()?);
    let alone = |k: usize| [(k, 1.0), (k, 0.0)];
    let source = |k: usize| {
        if known[k] || k < first || k > last {
            return alone(k.clamp(first, last));
        }
        let right = there.partition_point(|&other| other < k);
        let (a, b) = (there[right - 1], there[right]);
        let share = (centres[k] - centres[a]) / (centres[b] - centres[a]);
        [(a, 1.0 - share), (b, share)]
    };
    Some((0..known.len()).map(source).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_come_from_their_neighbours() {
        let values = [None, Some(1.0), None, Some(4.0), None];
        let (filled, missing) = interpolate_missing(&values, &[0.0, 1.0, 2.0, 4.0, 5.0]);
        assert_eq!(filled.unwrap(), [1.0, 1.0, 2.0, 4.0, 4.0]);
        assert_eq!(missing, 3);
        assert_eq!(interpolate_missing(&[None], &[0.0]), (None, 1));
    }
}
