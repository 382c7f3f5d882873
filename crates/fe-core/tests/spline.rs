//! The smoother by what must hold whatever the points are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::Error;
use fe_core::numeric::spline::{Smoothing, Spline};
use proptest::prelude::*;

/// Two fits to the same points: where the score of λ is nearly flat, its minimum magnifies rounding.
const ROUNDING: f64 = 1e-8;
const BOTH: [Smoothing; 2] = [Smoothing::Gcv, Smoothing::Reml];

fn fit(x: &[f64], y: &[f64], smoothing: Smoothing) -> Spline {
    Spline::fit(x, y, None, smoothing).unwrap()
}

/// Points with ties, clusters and gaps.
fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let x = prop_oneof![4 => -5.0..5.0_f64, 1 => (-5..=5_i32).prop_map(f64::from)];
    prop::collection::vec((x, -2.0..2.0_f64), 3..60)
}

fn split(points: &[(f64, f64)]) -> (Vec<f64>, Vec<f64>) {
    points.iter().copied().unzip()
}

fn close(a: &Spline, b: impl Fn(f64) -> f64, places: &[f64], tolerance: f64) {
    for &x in places {
        let (a, b) = (a.at(x), b(x));
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "at {x}: {a} against {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_are_met_exactly(points in points(), level in -9.0..9.0_f64, slope in -9.0..9.0_f64) {
        let (x, _) = split(&points);
        let line = |x: f64| level + slope * x;
        let y: Vec<f64> = x.iter().map(|&x| line(x)).collect();
        for smoothing in BOTH {
            close(&fit(&x, &y, smoothing), line, &x, 1e-11);
        }
    }

    #[test]
    fn units_do_not_matter(points in points(), exponent in -200..200_i32, shift in -50..50_i32) {
        let (x, y) = split(&points);
        let (scale, shift) = (2_f64.powi(exponent), f64::from(shift));
        for smoothing in BOTH {
            let plain = fit(&x, &y, smoothing);
            let wide: Vec<f64> = x.iter().map(|x| x * scale).collect();
            let wide = fit(&wide, &y, smoothing);
            close(&plain, |at| wide.at(at * scale), &x, 1e-12);
            let tall: Vec<f64> = y.iter().map(|y| y * scale).collect();
            let tall = fit(&x, &tall, smoothing);
            close(&plain, |at| tall.at(at) / scale, &x, 1e-12);
            let moved: Vec<f64> = y.iter().map(|y| y + shift).collect();
            let moved = fit(&x, &moved, smoothing);
            close(&plain, |at| moved.at(at) - shift, &x, ROUNDING);
            let tilted: Vec<f64> = y.iter().zip(&x).map(|(y, x)| y + shift * x).collect();
            let tilted = fit(&x, &tilted, smoothing);
            close(&plain, |at| tilted.at(at) - shift * at, &x, ROUNDING);
        }
    }

    #[test]
    fn weights_are_copies_and_order_is_nothing(
        points in points(), weights in prop::collection::vec(0..4_u8, 60),
    ) {
        let weights = &weights[..points.len()];
        let copies = points.iter().zip(weights).rev();
        let copies: Vec<(f64, f64)> =
            copies.flat_map(|(p, &w)| std::iter::repeat_n(*p, w.into())).collect();
        prop_assume!(!copies.is_empty());
        let ((x, y), (many_x, many_y)) = (split(&points), split(&copies));
        let weights: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        for smoothing in BOTH {
            let weighted = Spline::fit(&x, &y, Some(&weights), smoothing).unwrap();
            let copied = fit(&many_x, &many_y, smoothing);
            close(&weighted, |at| copied.at(at), &many_x, ROUNDING);
            prop_assert!((weighted.degrees_of_freedom() - copied.degrees_of_freedom()).abs() < 1e-7);
        }
    }

    #[test]
    fn degrees_of_freedom_lie_between_a_line_and_the_knots(points in points()) {
        let (x, y) = split(&points);
        for smoothing in BOTH {
            let spline = fit(&x, &y, smoothing);
            let most = spline.knots().map_or(2.0, |knots| knots as f64);
            prop_assert!((1.0..=most + 1e-9).contains(&spline.degrees_of_freedom()));
        }
    }
}

/// A known curve with noise: both choices come closer to it than noise alone would let them.
#[test]
fn a_curve_is_found_under_noise() {
    let x: Vec<f64> = (0..300).map(|i| f64::from(i) / 299.0).collect();
    let truth = |x: f64| (6.0 * x).sin() + x * x;
    let noise = |i: usize| ((i as f64 * 12.9898).sin() * 43_758.545).rem_euclid(1.0) - 0.5;
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| truth(x) + noise(i)).collect();
    for smoothing in BOTH {
        let spline = fit(&x, &y, smoothing);
        let square = x.iter().map(|&x| (spline.at(x) - truth(x)).powi(2)).sum::<f64>() / 300.0;
        // With p degrees of freedom the error is sd √(p / n): 0.06 for p = 12, and 0.29 is the noise.
        assert!(square.sqrt() < 0.075, "{smoothing:?}: {}", square.sqrt());
    }
}

/// The last digit of y moves the curve by a last digit, also where there are as many knots as points
/// and the scores compare what is left of nearly nothing.
#[test]
fn rounding_does_not_decide_how_smooth_a_curve_is() {
    let noise = |seed: usize, i: usize| ((seed * 29 + i) as f64 * 0.754_877_666).fract() - 0.5;
    for (points, seed) in (3..=24).flat_map(|points| (0..20).map(move |seed| (points, seed))) {
        let x: Vec<f64> = (0..points).map(f64::from).collect();
        let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| x.sin() + noise(seed, i)).collect();
        let digit = |(i, y): (usize, &f64)| if i % 2 == 0 { y.next_up() } else { y.next_down() };
        let moved: Vec<f64> = y.iter().enumerate().map(digit).collect();
        let places: Vec<f64> = x.iter().map(|x| x + 0.3).collect();
        for smoothing in BOTH {
            let curve = fit(&x, &y, smoothing);
            close(&fit(&x, &moved, smoothing), |x| curve.at(x), &places, 1e-12);
        }
    }
}

#[test]
fn few_and_extreme_points() {
    for smoothing in BOTH {
        assert_eq!(fit(&[3.0], &[2.0], smoothing).at(9.0), 2.0);
        assert!((fit(&[3.0, 3.0], &[2.0, 4.0], smoothing).at(9.0) - 3.0).abs() < 1e-15);
        let line = fit(&[0.0, 1.0, 1.0], &[0.0, 1.0, 3.0], smoothing);
        assert!((line.at(0.5) - 1.0).abs() < 1e-15 && line.degrees_of_freedom() == 2.0);
        for scale in [1e-300, 1e-150, 1.0, 1e150, 1e300] {
            let x: Vec<f64> = (0..40).map(|i| scale * f64::from(i * i) / 1600.0).collect();
            let y: Vec<f64> = (0..40).map(|i| scale * f64::from(i % 7 - 3)).collect();
            let tiny: Vec<f64> = (0..40).map(|i| 10_f64.powi(-7 * i)).collect();
            for weights in [None, Some(tiny.as_slice())] {
                let spline = Spline::fit(&x, &y, weights, smoothing).unwrap();
                assert!(x.iter().all(|&x| spline.at(x).is_finite()));
            }
            let clustered = Spline::fit(&tiny, &y, None, smoothing).unwrap();
            assert!(tiny.iter().all(|&x| clustered.at(x).is_finite()));
        }
        let opposite =
            fit(&[0.0, 1.0, 2.0, 3.0], &[1.7e308, -1.7e308, 1.7e308, -1.7e308], smoothing);
        assert!(opposite.at(1.5).is_finite());
    }
}

#[test]
fn points_that_are_none_are_refused() {
    let fit = |x: &[f64], y: &[f64], w: Option<&[f64]>| Spline::fit(x, y, w, Smoothing::Gcv);
    assert!(matches!(fit(&[], &[], None), Err(Error::EmptyData { .. })));
    assert!(matches!(fit(&[1.0], &[], None), Err(Error::WrongCount { .. })));
    assert!(matches!(fit(&[1.0], &[1.0], Some(&[])), Err(Error::WrongCount { .. })));
    assert!(matches!(fit(&[f64::NAN], &[1.0], None), Err(Error::NotFinite { row: 1, .. })));
    assert!(matches!(fit(&[1.0], &[f64::INFINITY], None), Err(Error::NotFinite { row: 1, .. })));
    assert!(matches!(fit(&[1.0], &[1.0], Some(&[-1.0])), Err(Error::BadWeight { .. })));
    assert!(matches!(fit(&[1.0], &[1.0], Some(&[0.0])), Err(Error::BadWeight { .. })));
}
