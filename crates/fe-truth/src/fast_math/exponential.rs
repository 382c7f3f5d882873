//! The exponential function in a form that compilers turn into vector instructions. Models use it;
//! truths use the library's.

/// Added and subtracted again, this rounds to a whole number; that number then stands in the lowest
/// bits. Below 2^51 in size.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts: multiples of the first by up to 2^20 are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Beyond these the result is 0 or infinite.
const RANGE: (f64, f64) = (-746.0, 710.0);

/// e^x, within 2 units in the last place.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(RANGE.0, RANGE.1);
    let turns = (x * std::f64::consts::LOG2_E + ROUNDING) - ROUNDING;
    let r = (x - turns * LN_2_HIGH) - turns * LN_2_LOW;
    // 2^turns may lie beyond the numbers where the product does not.
    let half = (0.5 * turns + ROUNDING) - ROUNDING;
    near_one(r) * power_of_two(half) * power_of_two(turns - half)
}

/// e^r for |r| up to ½ ln 2, by its series.
#[inline(always)]
fn near_one(r: f64) -> f64 {
    let z = r * r;
    let (z2, z4) = (z * z, z * z * (z * z));
    // In pairs, as a chain of steps would keep processors waiting.
    let low = (r * (1.0 / 6.0) + 0.5) + z * (r * (1.0 / 120.0) + 1.0 / 24.0);
    let middle = (r * (1.0 / 5040.0) + 1.0 / 720.0) + z * (r * (1.0 / 362_880.0) + 1.0 / 40_320.0);
    let high = (r * (1.0 / 39_916_800.0) + 1.0 / 3_628_800.0)
        + z * (r * (1.0 / 6_227_020_800.0) + 1.0 / 479_001_600.0);
    1.0 + (r + z * (low + (z2 * middle + z4 * high)))
}

/// 2^k for a whole number k from −1022 to 1023.
#[inline(always)]
fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + ROUNDING).to_bits().wrapping_add(1023) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_two_units_in_the_last_place() {
        let mut worst = 0.0_f64;
        let dense = (-400_000..=400_000).map(|i| f64::from(i) / 400_000.0);
        let wide = (-745_000..=709_000).map(|i| f64::from(i) / 1000.0 + 0.000_37);
        let tiny = (0..300).flat_map(|i| [2_f64.powi(-i), -2_f64.powi(-i)]);
        for x in dense.chain(wide).chain(tiny) {
            let expected = x.exp();
            let unit = expected.next_up() - expected;
            worst = worst.max((exp(x) - expected).abs() / unit);
        }
        assert!(worst <= 2.0, "{worst}");
    }

    #[test]
    fn special_arguments() {
        assert_eq!((exp(0.0), exp(-0.0)), (1.0, 1.0));
        assert_eq!((exp(f64::NEG_INFINITY), exp(-1e300), exp(-746.0)), (0.0, 0.0, 0.0));
        assert_eq!(
            (exp(f64::INFINITY), exp(1e300), exp(709.8)),
            (f64::INFINITY, f64::INFINITY, f64::INFINITY)
        );
        assert!(exp(709.7).is_finite() && exp(-745.1) > 0.0);
        assert!(exp(f64::NAN).is_nan());
    }
}
