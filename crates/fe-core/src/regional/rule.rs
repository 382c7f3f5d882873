//! Rules of regions: a feature and what is asked of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The condition of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleKind {
    /// x ≤ p.
    AtMost(f64),
    /// x > p.
    Above(f64),
    /// x = v.
    Is(f64),
    /// x ≠ v.
    IsNot(f64),
}

impl RuleKind {
    /// The position or level that it asks about.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            RuleKind::AtMost(x) | RuleKind::Above(x) | RuleKind::Is(x) | RuleKind::IsNot(x) => x,
        }
    }

    /// True if a value obeys.
    #[must_use]
    pub fn holds(self, x: f64) -> bool {
        match self {
            RuleKind::AtMost(p) => x <= p,
            RuleKind::Above(p) => x > p,
            RuleKind::Is(v) => x == v,
            RuleKind::IsNot(v) => x != v,
        }
    }
}

/// A rule that the instances of a node obey, beside those of its ancestors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The feature that is split, counted from 0.
    pub feature: usize,
    /// Its name.
    pub name: String,
    /// The condition.
    pub kind: RuleKind,
    /// The name of the level that it asks about, where levels have names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.kind {
            RuleKind::AtMost(_) => "<=",
            RuleKind::Above(_) => ">",
            RuleKind::Is(_) => "=",
            RuleKind::IsNot(_) => "!=",
        };
        match &self.level {
            Some(level) => write!(f, "{} {sign} {level}", self.name),
            None => write!(f, "{} {sign} {}", self.name, self.kind.value()),
        }
    }
}
