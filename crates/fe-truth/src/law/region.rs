//! Regions: intervals of some of the features.

use serde::Serialize;

/// An event: each of some features, counted from 0, lies in an interval of its own. Whether the ends
/// belong to it does not matter, as features have densities.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Region {
    /// One for each feature, in their order.
    intervals: Vec<(usize, (f64, f64))>,
}

impl Region {
    /// The part of it in which a feature lies in an interval, whose ends may be infinite.
    ///
    /// ```
    /// let region = fe_truth::Region::default().and(0, -1.0, 0.5).and(0, 0.0, f64::INFINITY);
    /// assert_eq!(region.intervals(), [(0, (0.0, 0.5))]);
    /// ```
    #[must_use]
    pub fn and(mut self, feature: usize, from: f64, to: f64) -> Self {
        match self.intervals.binary_search_by_key(&feature, |(known, _)| *known) {
            Ok(place) => {
                let (low, high) = &mut self.intervals[place].1;
                (*low, *high) = (low.max(from), high.min(to));
            }
            Err(place) => self.intervals.insert(place, (feature, (from, to))),
        }
        self
    }

    /// The features that it asks for, ascending, with their intervals.
    #[must_use]
    pub fn intervals(&self) -> &[(usize, (f64, f64))] {
        &self.intervals
    }

    /// An interval of a feature, cut.
    pub(crate) fn cut(&self, feature: usize, (lo, hi): (f64, f64)) -> (f64, f64) {
        let own = self.intervals.iter().find(|(known, _)| *known == feature);
        own.map_or((lo, hi), |(_, (from, to))| (lo.max(*from), hi.min(*to)))
    }
}
