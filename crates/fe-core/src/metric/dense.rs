//! Dense bins of many instances in place of a truth that nobody knows (RHALE §5).

use crate::effect::Bins;
use crate::metric::mean_bin_error;

/// Bin effects and variances that stand for μ(z) and σ²(z), constant within each dense bin.
///
/// Wider bins of an estimate are compared with the means of these over their width, as
/// RHALE eq. 7 and 18–19 compare them with the truth.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a> {
    bins: &'a Bins,
}

impl<'a> Dense<'a> {
    /// The bins of an accumulated effect as the reference.
    #[must_use]
    pub fn new(bins: &'a Bins) -> Self {
        Self { bins }
    }

    /// The mean of μ between two points, and that of σ² over the dense bins where it is known; NaN
    /// where nothing is.
    ///
    /// ```
    /// use fe_core::effect::Bins;
    /// use fe_core::metric::Dense;
    /// use fe_core::numeric::partition::{Closed, Partition};
    /// let bins = Bins {
    ///     partition: Partition::new(vec![0.0, 1.0, 2.0], Closed::Left)?,
    ///     counts: vec![9.0, 9.0],
    ///     effect: vec![1.0, 3.0],
    ///     variance: vec![Some(4.0), None],
    /// };
    /// assert_eq!(Dense::new(&bins).mean(0.5, 2.0), (3.5 / 1.5, 4.0));
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    #[must_use]
    pub fn mean(&self, lo: f64, hi: f64) -> (f64, f64) {
        let (mut effect, mut width) = (0.0, 0.0);
        let (mut variance, mut known) = (0.0, 0.0);
        for (k, ends) in self.bins.partition.limits().windows(2).enumerate() {
            let share = (hi.min(ends[1]) - lo.max(ends[0])).max(0.0);
            effect += share * self.bins.effect[k];
            width += share;
            if let Some(value) = self.bins.variance[k] {
                variance += share * value;
                known += share;
            }
        }
        (effect / width, variance / known)
    }

    /// L_mu and L_sigma (RHALE eq. 18–19) of the bins of an estimate; none where no bin can be
    /// compared.
    #[must_use]
    pub fn errors(&self, estimate: &Bins) -> (Option<f64>, Option<f64>) {
        let ends = estimate.partition.limits().windows(2);
        let means: Vec<(f64, f64)> = ends.map(|ends| self.mean(ends[0], ends[1])).collect();
        let deviations = estimate.variance.iter().map(|variance| variance.map(f64::sqrt));
        // Where the reference knows no variance there is nothing to compare either.
        let both = deviations.zip(&means).map(|(sd, mean)| sd.filter(|_| !mean.1.is_nan()));
        let effects = estimate.effect.iter().copied().map(Some);
        let (l_mu, _) = mean_bin_error(effects, means.iter().map(|mean| mean.0));
        let (l_sigma, _) = mean_bin_error(both, means.iter().map(|mean| mean.1.sqrt()));
        (l_mu, l_sigma)
    }
}
