//! Rules of regions: a feature and what is asked of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The condition of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// x is one of some levels.
    Among(Vec<f64>),
    /// x is none of some levels.
    NotAmong(Vec<f64>),
}

impl RuleKind {
    /// The position or the levels that it asks about.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        match self {
            Self::AtMost(x) | Self::Above(x) | Self::Is(x) | Self::IsNot(x) => {
                std::slice::from_ref(x)
            }
            Self::Among(levels) | Self::NotAmong(levels) => levels,
        }
    }

    /// True if a value obeys.
    #[must_use]
    pub fn holds(&self, x: f64) -> bool {
        match self {
            Self::AtMost(p) => x <= *p,
            Self::Above(p) => x > *p,
            Self::Is(v) => x == *v,
            Self::IsNot(v) => x != *v,
            Self::Among(levels) => levels.contains(&x),
            Self::NotAmong(levels) => !levels.contains(&x),
        }
    }

    /// The sign between the feature and what is asked of it.
    #[must_use]
    pub fn sign(&self) -> &'static str {
        match self {
            Self::AtMost(_) => "<=",
            Self::Above(_) => ">",
            Self::Is(_) => "=",
            Self::IsNot(_) => "!=",
            Self::Among(_) => "in",
            Self::NotAmong(_) => "not in",
        }
    }

    /// Words for each of its values, in braces where they are several levels.
    ///
    /// ```
    /// use fe_core::regional::RuleKind;
    /// let name = |x: f64| format!("l{x}");
    /// assert_eq!(RuleKind::Is(1.0).listed(name), "l1");
    /// assert_eq!(RuleKind::Among(vec![0.0, 2.0]).listed(name), "{l0, l2}");
    /// ```
    #[must_use]
    pub fn listed(&self, name: impl Fn(f64) -> String) -> String {
        let words: Vec<String> = self.values().iter().map(|x| name(*x)).collect();
        match self {
            Self::Among(_) | Self::NotAmong(_) => format!("{{{}}}", words.join(", ")),
            _ => words.concat(),
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
    /// The name of the level that it asks about, or the names of several in braces, where levels have names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level.clone().unwrap_or_else(|| self.kind.listed(|x| x.to_string()));
        write!(f, "{} {} {level}", self.name, self.kind.sign())
    }
}
