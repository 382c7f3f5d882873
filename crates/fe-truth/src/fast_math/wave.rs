//! Sine and cosine of half turns, for models: several rows at a time.
//!
//! The argument is t of sin(πt): its nearest whole number is taken away without rounding, so nothing
//! has to be divided by π, and one formula serves all arguments. What remains is a polynomial that
//! processors evaluate for several rows side by side; no instruction is fused, so all give the same
//! bits. Truths use the library's functions instead: a mistake here cannot hide in both.

use std::f64::consts::PI;

/// Added to a number of less than 2^51, leaves it rounded to a whole number in the lowest bits.
const ROUNDING: f64 = 1.5 * (1_u64 << 52) as f64;

/// From here on neighbouring numbers are at least half a turn apart.
const LARGE: f64 = (1_u64 << 51) as f64;

/// Of z⁸ … z in sin(πr)/r with z = r², for r from −½ to ½: Chebyshev interpolation in z, with
/// which the relative error of the polynomial is below 10⁻¹⁶.
const COEFFICIENTS: [f64; 8] = [
    7.725_631_448_548_255e-7,
    -2.190_619_258_578_118_8e-5,
    4.663_008_712_360_89e-4,
    -7.370_430_719_184_58e-3,
    8.214_588_659_671_651e-2,
    -0.599_264_529_320_341_6,
    2.550_164_039_877_34,
    -5.167_712_780_049_97,
];

/// sin(πt), within 4 units in the last place for |t| < 2^51; beyond it 0; NaN for infinities and NaN.
#[inline(always)]
pub(crate) fn sin_pi(t: f64) -> f64 {
    let shifted = t + ROUNDING;
    wave(t, t - (shifted - ROUNDING), shifted)
}

/// cos(πt), within 4 units in the last place for |t| < 2^51; beyond it 0; NaN for infinities and NaN.
#[inline(always)]
pub(crate) fn cos_pi(t: f64) -> f64 {
    // With n the whole number below t, cos(πt) is sin(π(n + ½ − t)), or minus that if n is odd.
    let shifted = (t - 0.5) + ROUNDING;
    wave(t, 0.5 - (t - (shifted - ROUNDING)), shifted)
}

/// sin(πr) for r from −½ to ½, with the other sign if the lowest bit of `turns` is set.
#[inline(always)]
fn wave(t: f64, r: f64, turns: f64) -> f64 {
    let [c8, c7, c6, c5, c4, c3, c2, c1] = COEFFICIENTS;
    let z = r * r;
    let (z2, z4) = (z * z, z * z * (z * z));
    // In pairs, as a chain of eight steps would keep processors waiting.
    let upper = (c8 * z + c7) * z2 + (c6 * z + c5);
    let lower = (c4 * z + c3) * z2 + (c2 * z + c1);
    let sine = r * (PI + z * (upper * z4 + lower));
    let sign = turns.to_bits() << 63;
    if t.abs() < LARGE { f64::from_bits(sine.to_bits() ^ sign) } else { t * 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sin(πr) or cos(πr), to about half a unit in the last place: the library's, with what rounding
    /// of πr has lost added.
    fn accurate(r: f64, cosine: bool) -> f64 {
        const PI_REST: f64 = 1.224_646_799_147_353_2e-16;
        let angle = PI * r;
        let lost = PI.mul_add(r, -angle) + PI_REST * r;
        let (sine, cos) = angle.sin_cos();
        if cosine { cos - lost * sine } else { sine + lost * cos }
    }

    /// sin(πt) or cos(πt) from an argument of at most a quarter turn, where nothing cancels.
    fn expected(t: f64, cosine: bool) -> f64 {
        let t = t % 2.0;
        let quarter = (2.0 * t).round();
        let rest = t - 0.5 * quarter;
        let quarters = quarter as i64 + i64::from(cosine);
        let value = accurate(rest, quarters.rem_euclid(2) == 1);
        if quarters.rem_euclid(4) < 2 { value } else { -value }
    }

    fn units_off(value: f64, expected: f64) -> f64 {
        let unit = (expected.abs().next_up() - expected.abs()).max(f64::MIN_POSITIVE);
        (value - expected).abs() / unit
    }

    #[test]
    fn within_four_units_in_the_last_place() {
        let (mut worst_sine, mut worst_cosine) = (0.0_f64, 0.0_f64);
        for i in 0..400_000 {
            // Dense in [−1, 1], and at all sizes and distances from whole and half numbers.
            let share = f64::from(i) / 400_000.0;
            let near = 2_f64.powf(-52.0 * share);
            let far = 2_f64.powf(50.0 * share);
            for t in [
                2.0 * share - 1.0,
                near,
                0.5 - near,
                1.0 - near,
                1.5 + near,
                -far,
                far.floor() + near,
            ] {
                worst_sine = worst_sine.max(units_off(sin_pi(t), expected(t, false)));
                worst_cosine = worst_cosine.max(units_off(cos_pi(t), expected(t, true)));
            }
        }
        assert!(worst_sine <= 4.0 && worst_cosine <= 4.0, "{worst_sine}, {worst_cosine}");
    }

    #[test]
    fn special_arguments() {
        for n in -9..=9 {
            let (t, sign) = (f64::from(n), if n % 2 == 0 { 1.0 } else { -1.0 });
            assert_eq!((sin_pi(t), cos_pi(t)), (0.0, sign), "{t}");
            assert_eq!((sin_pi(t + 0.5), cos_pi(t + 0.5)), (sign, 0.0));
        }
        assert!(sin_pi(-0.0).is_sign_negative());
        assert_eq!(sin_pi(1e-300), PI * 1e-300);
        assert_eq!(cos_pi(1e-300), 1.0);
        for t in [LARGE, -LARGE, 1e200] {
            assert_eq!((sin_pi(t), cos_pi(t)), (0.0, 0.0));
        }
        for t in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(sin_pi(t).is_nan() && cos_pi(t).is_nan());
        }
    }
}
