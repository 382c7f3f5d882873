//! The importance of a feature: which instances count, and by what weight.

#![allow(clippy::unwrap_used)]

use fe_core::Curve;
use fe_core::effect::Instances;
use fe_core::effect::importance::importance;

fn at<'a>(positions: &'a [f64], weights: Option<&'a [f64]>) -> Instances<'a> {
    Instances { positions, weights, counts: None }
}

#[test]
fn instances_beyond_the_curve_and_of_no_weight_do_not_count() {
    let curve = Curve::linear(vec![0.0, 1.0, 2.0], vec![-3.0, 9.0, 5.0]);
    for of_slopes in [false, true] {
        let within = importance(&curve, at(&[0.0, 2.0], None), of_slopes);
        assert_eq!(within, Some(4.0));
        let beyond = at(&[-1.0, 0.0, 2.0, 7.0], None);
        assert_eq!(importance(&curve, beyond, of_slopes), within);
        let weights = [2.0, 0.0, 2.0];
        let weightless = at(&[0.0, 1.0, 2.0], Some(&weights));
        assert_eq!(importance(&curve, weightless, of_slopes), within);
        assert_eq!(importance(&curve, at(&[-1.0, 3.0], None), of_slopes), None);
    }
}

/// Values 0, 0, 0 and 8 have the mean 2 and the variance (3·4 + 36)/4 = 12; slopes the mean 2 and positions
/// the variance 3/4.
#[test]
fn weights_are_numbers_of_instances() {
    let curve = Curve::linear(vec![0.0, 2.0], vec![0.0, 8.0]);
    let weights = [3.0, 1.0];
    let weighted = at(&[0.0, 2.0], Some(&weights));
    assert!((importance(&curve, weighted, false).unwrap() - 12.0_f64.sqrt()).abs() < 1e-14);
    let slopes = 2.0 * 0.75_f64.sqrt();
    assert!((importance(&curve, weighted, true).unwrap() - slopes).abs() < 1e-14);
}
