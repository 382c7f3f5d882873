//! Heterogeneity values of one feature over an axis, one at a time: those that depend on no bins.

use super::curves::{OneFeature, integrated, standard_deviation, truth};
use crate::error::{Error, number};
use crate::numeric::quadrature::Estimate;
use crate::quantity::{HeterogeneityValue, Quantity, Truth};
use crate::scenario::Scenario;
use crate::scenario::closed_forms::{Pointwise, Spread};

impl Scenario {
    /// A true heterogeneity value of a feature, counted from 0, over an axis; [`HeterogeneityValue::ShapMean`] is over
    /// the law of the feature in its place.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::BadAxis`], and of a feature with levels all but `shap.mean`.
    ///
    /// ```
    /// use fe_truth::HeterogeneityValue::{AleIntegral, AleMeanSd};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// // The derivative of x1 x2² + exp(x3) along x1 is x2², whose variance is 4/45 on [−1, 1].
    /// let scenario = fe_truth::scenario("general-interaction", &[])?;
    /// let integral = scenario.heterogeneity_value(AleIntegral, 0, (-1.0, 1.0))?;
    /// assert!((integral.value - 8.0 / 45.0).abs() < 1e-12);
    /// let mean_sd = scenario.heterogeneity_value(AleMeanSd, 0, (-1.0, 1.0))?;
    /// assert!((mean_sd.value - (4.0_f64 / 45.0).sqrt()).abs() < 1e-12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn heterogeneity_value(
        &self,
        value: HeterogeneityValue,
        feature: usize,
        axis: (f64, f64),
    ) -> Result<Truth, Error> {
        self.check_axis(feature, axis)?;
        if value != HeterogeneityValue::ShapMean {
            self.check_density(feature, &format!("`{value}`"))?;
        }
        self.begin();
        let answer = OneFeature { scenario: self, feature, axis }.heterogeneity(value);
        self.judge([answer])?;
        let [lo, hi] = [axis.0, axis.1].map(|end| number(&end));
        answer.told(|| format!("{value} of {} over [{lo}, {hi}]", self.feature_name(feature)))
    }
}

impl OneFeature<'_> {
    fn heterogeneity(&self, value: HeterogeneityValue) -> Truth {
        if let Some(known) = self.in_box(value) {
            return truth(integrated(known));
        }
        let (lo, hi) = self.axis;
        let mean = |integral: Truth| integral.times(1.0 / (hi - lo));
        let of =
            |quantity: Pointwise| self.variance_over_axis(quantity, |x| self.point(quantity, x).0);
        let deviation = || self.deviation_over_axis(|x| self.value(Quantity::Sigma, x).0);
        match value {
            HeterogeneityValue::PdpMean => mean(of(Pointwise::HPdp)),
            HeterogeneityValue::PdpMeanSd => mean(self.over_axis(|x| {
                self.scenario.parts.engine.variance_of_values(self.feature, x).sqrt()
            })),
            HeterogeneityValue::DpdpMean => mean(of(Pointwise::HDpdp)),
            HeterogeneityValue::DpdpMeanSd => {
                mean(self.over_axis(|x| standard_deviation(self.point(Pointwise::HDpdp, x)).0))
            }
            HeterogeneityValue::AleIntegral => of(Pointwise::Sigma2),
            HeterogeneityValue::AleMeanRange => mean(of(Pointwise::Sigma2)),
            HeterogeneityValue::AleIntegralSd => deviation(),
            HeterogeneityValue::AleMeanSd => mean(deviation()),
            HeterogeneityValue::ShapMean => truth(integrated(self.mean_shapley_variance())),
        }
    }

    /// A value in a region for which the scenario has shorter integrals than the general ones.
    fn in_box(&self, value: HeterogeneityValue) -> Option<Estimate> {
        let asked = self.asked_in_box()?;
        let (spread, is_mean) = match value {
            HeterogeneityValue::PdpMean => (Spread::Centred, true),
            HeterogeneityValue::DpdpMean | HeterogeneityValue::AleMeanRange => {
                (Spread::Slope, true)
            }
            HeterogeneityValue::AleIntegral => (Spread::Slope, false),
            HeterogeneityValue::AleIntegralSd => (Spread::SlopeRoot, false),
            HeterogeneityValue::AleMeanSd => (Spread::SlopeRoot, true),
            HeterogeneityValue::ShapMean => (Spread::Shapley, false),
            HeterogeneityValue::PdpMeanSd | HeterogeneityValue::DpdpMeanSd => return None,
        };
        let known = self.scenario.forms()?.in_box(spread, &asked)?;
        Some(if is_mean { known.times(1.0 / (self.axis.1 - self.axis.0)) } else { known })
    }
}
