//! Questions that take too long, or whose answer is not a number: refused in time, with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_truth::{Error, Index, Weighting, problem};

fn reason(error: Error) -> String {
    let Error::NoTruth { reason, .. } = error else { panic!("{error}") };
    reason
}

/// Where the two waves cancel each other the slope is 0/0, or the root is of a number that rounding made negative.
#[test]
fn a_bin_in_which_f_is_not_a_number_has_the_reason() {
    let text = "f = \"sqrt(x1^2 + x2^2 + 2*x1*x2*cos(x3 - x4))\"\n[law]\nx1 = \"loguniform(0.1, 10)\"\n\
                x2 = \"loguniform(0.1, 10)\"\nx3 = \"uniform(0, 2*pi)\"\nx4 = \"uniform(0, 2*pi)\"\n";
    let waves = problem("waves", text, &[]).unwrap();
    for limits in [[0.0, 1.0], [0.001, 2.0]] {
        let refused = reason(waves.bins(2, &limits, Weighting::Uniform).unwrap_err());
        assert!(refused.contains("f or its derivative is not a number"), "{refused}");
    }
}

/// A tangent over a third of a million periods.
#[test]
fn indices_that_take_too_long_are_refused() {
    let text = "f = \"max(tan(x1 - x2), 1)\"\n[law]\nx1 = \"uniform(0.1, 2e6)\"\nx2 = \"normal(1e6, 2)\"\n";
    let rough = problem("rough", text, &[]).unwrap().simulating(None, Some(1e5)).unwrap();
    let refused = reason(rough.indices().index(Index::HOverall, &[0]).unwrap_err());
    assert!(refused.contains("more than 2.5e7 evaluations are needed"), "{refused}");
}
