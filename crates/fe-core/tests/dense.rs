//! Bins of an estimate against dense bins that stand for the truth (RHALE §5).

#![allow(clippy::unwrap_used)]

use fe_core::effect::Bins;
use fe_core::metric::Dense;
use fe_core::numeric::partition::{Closed, Partition};

fn bins(limits: &[f64], effect: &[f64], variance: &[Option<f64>]) -> Bins {
    Bins {
        partition: Partition::new(limits.to_vec(), Closed::Left).unwrap(),
        counts: vec![9.0; effect.len()],
        effect: effect.to_vec(),
        variance: variance.to_vec(),
    }
}

/// μ is 1, 3, 5 and σ² 4, 16 and unknown. Over [0, 2] their means are 2 and 10, over [2, 3] 5 and unknown.
#[test]
fn bins_are_compared_with_means_of_dense_bins_where_both_are_known() {
    let limits = [0.0, 1.0, 2.0, 3.0];
    let dense = bins(&limits, &[1.0, 3.0, 5.0], &[Some(4.0), Some(16.0), None]);
    let estimate = bins(&[0.0, 2.0, 3.0], &[2.5, 4.0], &[Some(9.0), Some(1.0)]);
    let (effects, deviations) = Dense::new(&dense).errors(&estimate);
    // (|2.5 − 2| + |4 − 5|) / 2, and of the deviations the first bin alone.
    assert_eq!(effects, Some(0.75));
    assert!((deviations.unwrap() - (10.0_f64.sqrt() - 3.0)).abs() < 1e-15);
    let unknown = bins(&[0.0, 3.0], &[3.0], &[None]);
    assert_eq!(Dense::new(&dense).errors(&unknown), (Some(0.0), None));
}
