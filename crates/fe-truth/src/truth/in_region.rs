//! The heterogeneity in a given region: the judge of regions that somebody else found.

use serde::Serialize;

use super::regional::{Heterogeneity, Place, truth};
use crate::error::Error;
use crate::law::region::Region;
use crate::quantity::{Regional, Truth};
use crate::scenario::Scenario;

/// A region's probability, and the heterogeneity of a feature's effect there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RegionTruth {
    /// Probability of the region.
    pub share: f64,
    /// The heterogeneity value that regions of the method lower, over the range of the feature.
    pub heterogeneity: Truth,
}

impl Scenario {
    /// The probability of a region.
    ///
    /// # Errors
    /// Those of [`Scenario::within`].
    ///
    /// ```
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// let region = fe_truth::Region::default().and(0, -1.0, 0.5).and(2, 0.0, 1.0);
    /// let scenario = fe_truth::scenario("effector-regional", &[])?;
    /// assert!((scenario.probability(&region)? - 0.375).abs() < 1e-12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn probability(&self, region: &Region) -> Result<f64, Error> {
        self.begin();
        let (mut law, mut probability) = (self.parts.engine.law().clone(), 1.0);
        for (feature, condition) in region.conditions() {
            self.check_feature(*feature)?;
            probability *= self.share(&law, *feature, condition)?;
            law = law.restricted(*feature, condition);
        }
        Ok(probability)
    }

    /// The true heterogeneity of a feature's effect in a region of the others, by the value that
    /// [`Scenario::tree`] lowers; `limits` are those of the bins whose finite differences `ale` is
    /// about, jumps included, or none for the derivative.
    ///
    /// # Errors
    /// Those of [`Scenario::within`] and [`Scenario::tree`].
    ///
    /// ```
    /// use fe_truth::{Region, Regional, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// // f is 3 x1 or −3 x1, as x3 is above 0 or not: in the upper 3/4 of x3 both are there.
    /// let region = Region::default().and(2, -0.5, f64::INFINITY);
    /// let there = scenario("effector-regional", &[])?.in_region(Regional::Dpdp, 0, &region, None)?;
    /// assert!((there.share - 0.75).abs() < 1e-12);
    /// // The slope is 3 with probability 2/3 and −3 with 1/3.
    /// assert!((there.heterogeneity.value - 8.0).abs() < 1e-12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_region(
        &self,
        method: Regional,
        feature: usize,
        region: &Region,
        limits: Option<&[f64]>,
    ) -> Result<RegionTruth, Error> {
        self.check_feature(feature)?;
        region.conditions().iter().try_for_each(|(other, _)| self.check_feature(*other))?;
        self.check_regional(method, feature)?;
        let heterogeneity = match limits {
            None => Heterogeneity::of_method(method),
            Some(limits) => Heterogeneity::Differences(limits),
        };
        let place = Place::of(self, heterogeneity, feature, region)?;
        let unknown = || self.no_optimum(heterogeneity, feature);
        let place = place.filter(Place::is_accurate).ok_or_else(unknown)?;
        Ok(RegionTruth { share: place.share, heterogeneity: truth(place.heterogeneity) })
    }
}
