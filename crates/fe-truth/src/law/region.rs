//! Regions: what is asked of some of the features.

use serde::Serialize;

use crate::error::number;

/// Demand on one feature: that it lies in an interval or, where it has levels, that it is one of some.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// Ends of the interval, which may be infinite; the lower one does not belong to it. Of a feature with a
    /// density that does not matter.
    pub interval: (f64, f64),
    /// The levels that are allowed, if not all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<f64>>,
    /// Levels that are not allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<f64>,
}

impl Condition {
    const ANY: Self =
        Self { interval: (f64::NEG_INFINITY, f64::INFINITY), only: None, not: Vec::new() };

    pub(crate) fn between(from: f64, to: f64) -> Self {
        Self { interval: (from, to), ..Self::ANY }
    }

    /// True if a value obeys.
    #[must_use]
    pub fn holds(&self, x: f64) -> bool {
        let (from, to) = self.interval;
        let is_allowed = self.only.as_ref().is_none_or(|only| only.contains(&x));
        from < x && x <= to && is_allowed && !self.not.contains(&x)
    }

    /// The condition in words, with names for levels: `lies between 0 and 1`, say.
    pub(crate) fn told(&self, name: impl Fn(f64) -> String) -> String {
        let list = |levels: &[f64]| levels.iter().map(|&x| name(x)).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if self.interval != Self::ANY.interval {
            let (from, to) = (number(&self.interval.0), number(&self.interval.1));
            parts.push(format!("lies between {from} and {to}"));
        }
        parts.extend(self.only.as_ref().map(|only| format!("is one of [{}]", list(only))));
        if !self.not.is_empty() {
            parts.push(format!("is none of [{}]", list(&self.not)));
        }
        parts.join(" and ")
    }

    /// Both demands at once.
    fn and(&self, other: Self) -> Self {
        let interval =
            (self.interval.0.max(other.interval.0), self.interval.1.min(other.interval.1));
        let only = match (&self.only, other.only) {
            (Some(own), Some(only)) => {
                Some(only.into_iter().filter(|level| own.contains(level)).collect())
            }
            (own, only) => only.or_else(|| own.clone()),
        };
        let mut not = [self.not.as_slice(), &other.not].concat();
        not.sort_by(f64::total_cmp);
        not.dedup();
        Self { interval, only, not }
    }
}

/// An event: each of some features, counted from 0, obeys a condition of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Region {
    /// One for each feature, in their order.
    conditions: Vec<(usize, Condition)>,
}

impl Region {
    /// The part of it in which a feature lies above one value and not above another one, which may be infinite.
    ///
    /// ```
    /// let region = fe_truth::Region::default().and(0, -1.0, 0.5).and(0, 0.0, f64::INFINITY);
    /// assert_eq!(region.conditions()[0].1.interval, (0.0, 0.5));
    /// ```
    #[must_use]
    pub fn and(self, feature: usize, from: f64, to: f64) -> Self {
        self.with(feature, Condition::between(from, to))
    }

    /// The part of it in which a feature is at one of some levels.
    ///
    /// ```
    /// let region = fe_truth::Region::default().and_among(0, &[0.0, 1.0, 4.0]).and(0, 0.5, 3.0);
    /// let condition = &region.conditions()[0].1;
    /// assert!(condition.holds(1.0) && !condition.holds(0.0) && !condition.holds(4.0));
    /// ```
    #[must_use]
    pub fn and_among(self, feature: usize, levels: &[f64]) -> Self {
        self.with(feature, Condition { only: Some(levels.to_vec()), ..Condition::ANY })
    }

    /// The part of it in which a feature is not at a level.
    ///
    /// ```
    /// let region = fe_truth::Region::default().and_not(0, 2.0).and_not(0, 1.0);
    /// assert_eq!(region.conditions()[0].1.not, [1.0, 2.0]);
    /// ```
    #[must_use]
    pub fn and_not(self, feature: usize, level: f64) -> Self {
        self.with(feature, Condition { not: vec![level], ..Condition::ANY })
    }

    fn with(mut self, feature: usize, condition: Condition) -> Self {
        match self.conditions.binary_search_by_key(&feature, |(known, _)| *known) {
            Ok(place) => {
                let own = &mut self.conditions[place].1;
                *own = own.and(condition);
            }
            Err(place) => self.conditions.insert(place, (feature, condition)),
        }
        self
    }

    /// The features that it asks something of, ascending, with their conditions.
    #[must_use]
    pub fn conditions(&self) -> &[(usize, Condition)] {
        &self.conditions
    }

    /// The condition on a feature, if there is one.
    #[must_use]
    pub fn condition(&self, feature: usize) -> Option<&Condition> {
        let own = self.conditions.iter().find(|(known, _)| *known == feature);
        own.map(|(_, condition)| condition)
    }

    /// An interval of a feature, cut.
    pub(crate) fn cut(&self, feature: usize, (lo, hi): (f64, f64)) -> (f64, f64) {
        let own = self.condition(feature).map(|condition| condition.interval);
        own.map_or((lo, hi), |(from, to)| (lo.max(from), hi.min(to)))
    }
}
