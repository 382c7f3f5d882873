//! Places on the axis of a feature that a study names by a rule: the grid at which curves are
//! compared, and limits of bins. What they are depends on the scenario and the feature.

use fe_core::Axis;
use fe_truth::Scenario;
use toml::{Table, Value};

use super::MOST_PLACES;
use crate::output::exact;

/// The outermost probabilities of quantiles, unless a study gives others: those of the axis of
/// unbounded features, and of the grid of Heiß et al. (2026).
const OUTERMOST: (f64, f64) = (1e-4, 0.9999);

/// Quantiles of the law of a feature at equidistant probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawQuantiles {
    /// Their number.
    pub count: usize,
    /// Probability of the first.
    pub from: f64,
    /// Probability of the last.
    pub to: f64,
}

impl LawQuantiles {
    /// The quantiles, increasing; those that rounding makes equal are there once.
    ///
    /// # Errors
    /// What the scenario says of the feature or the probabilities.
    pub fn places(&self, scenario: &Scenario, feature: usize) -> Result<Vec<f64>, String> {
        let last = (self.count - 1) as f64;
        let probability = |i: usize| match i {
            _ if i + 1 == self.count => self.to,
            _ => self.from + (self.to - self.from) * (i as f64 / last),
        };
        let quantile = |i| scenario.quantile(feature, probability(i)).map_err(|e| e.to_string());
        let mut places = (0..self.count).map(quantile).collect::<Result<Vec<f64>, String>>()?;
        places.dedup_by(|next, previous| *next <= *previous);
        Ok(places)
    }

    /// Reads `{ quantiles, from, to }`; other keys of the table are not looked at.
    fn read(key: &str, table: &Table) -> Result<Self, String> {
        let Some(count) = table.get("quantiles").and_then(count) else {
            return Err(format!(
                "`{key}.quantiles` must be a whole number from 2 to {MOST_PLACES}"
            ));
        };
        let probability = |name: &str, default: f64| match table.get(name).map(number) {
            None => Ok(default),
            Some(Some(p)) if 0.0 < p && p < 1.0 => Ok(p),
            Some(_) => Err(format!("`{key}.{name}` must be a number strictly between 0 and 1")),
        };
        let (from, to) = (probability("from", OUTERMOST.0)?, probability("to", OUTERMOST.1)?);
        if from >= to {
            return Err(format!("`{key}`: `from` = {from} must lie below `to` = {to}"));
        }
        Ok(Self { count, from, to })
    }
}

impl std::fmt::Display for LawQuantiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "quantiles {} {} {}", self.count, exact(self.from), exact(self.to))
    }
}

/// A number of places, at least two.
fn count(value: &Value) -> Option<usize> {
    let count = usize::try_from(value.as_integer()?).ok()?;
    (2..=MOST_PLACES).contains(&count).then_some(count)
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// The points at which the curves of a cell are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    rule: Rule,
    drop_ends: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    Equidistant(usize),
    Quantiles(LawQuantiles),
}

impl Default for Grid {
    /// 100 equidistant points.
    fn default() -> Self {
        Self::equidistant(100)
    }
}

impl Grid {
    /// So many equidistant points, ends included.
    #[must_use]
    pub const fn equidistant(points: usize) -> Self {
        Self { rule: Rule::Equidistant(points), drop_ends: false }
    }

    /// Reads a number of equidistant points, `{ points, drop_ends }` or
    /// `{ quantiles, from, to, drop_ends }`.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let Value::Table(table) = value else {
            return match value.as_integer().map(usize::try_from) {
                Some(Ok(points)) if (1..=MOST_PLACES).contains(&points) => {
                    Ok(Self { rule: Rule::Equidistant(points), drop_ends: false })
                }
                _ => Err(format!(
                    "`grid` = {value}: must be a whole number from 1 to {MOST_PLACES}, \
                     {{ points, drop_ends }} or {{ quantiles, from, to, drop_ends }}"
                )),
            };
        };
        let known = ["points", "quantiles", "from", "to", "drop_ends"];
        super::file::check_keys(table, &known, "`grid`")?;
        let rule = match table.get("points") {
            None => Rule::Quantiles(LawQuantiles::read("grid", table)?),
            Some(_) if ["quantiles", "from", "to"].iter().any(|key| table.contains_key(*key)) => {
                return Err("`grid` has `points`, equidistant, and keys of quantiles".to_owned());
            }
            Some(points) => Rule::Equidistant(count(points).ok_or_else(|| {
                format!("`grid.points` = {points}: must be a whole number from 2 to {MOST_PLACES}")
            })?),
        };
        let drop_ends = match table.get("drop_ends") {
            None => false,
            Some(Value::Boolean(drop)) => *drop,
            Some(other) => {
                return Err(format!("`grid.drop_ends` = {other}: must be true or false"));
            }
        };
        let grid = Self { rule, drop_ends };
        if drop_ends && grid.places() < 3 {
            return Err("`grid`: without its ends there is no point left".to_owned());
        }
        Ok(grid)
    }

    /// Number of places that the rule names, the ends among them.
    #[must_use]
    pub fn places(&self) -> usize {
        match self.rule {
            Rule::Equidistant(points) => points,
            Rule::Quantiles(quantiles) => quantiles.count,
        }
    }

    /// The places of a feature, counted from 0; of one with levels these, whatever the rule. The ends are among them even if they are dropped
    /// from the comparison.
    ///
    /// # Errors
    /// What the scenario says of the feature or the probabilities.
    pub fn all(&self, scenario: &Scenario, feature: usize) -> Result<Vec<f64>, String> {
        if let Some(levels) = scenario.levels(feature) {
            if self.drop_ends {
                let name = scenario.feature_name(feature);
                return Err(format!(
                    "`grid.drop_ends`: {name} has levels, of which none is an end"
                ));
            }
            return Ok(levels.iter().map(|level| level.value).collect());
        }
        match self.rule {
            Rule::Quantiles(quantiles) => quantiles.places(scenario, feature),
            Rule::Equidistant(points) => {
                let (lo, hi) = scenario.axis(feature);
                Axis::new(lo, hi).map(|axis| axis.grid(points)).map_err(|e| e.to_string())
            }
        }
    }

    /// The places at which curves are compared.
    #[must_use]
    pub fn compared<'a>(&self, all: &'a [f64]) -> &'a [f64] {
        match all {
            [_, inner @ .., _] if self.drop_ends => inner,
            _ => all,
        }
    }
}

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rule {
            Rule::Equidistant(points) => write!(f, "{points}")?,
            Rule::Quantiles(quantiles) => write!(f, "{quantiles}")?,
        }
        if self.drop_ends { write!(f, " without ends") } else { Ok(()) }
    }
}

/// Limits of bins that a rule names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limits {
    /// The places of the grid, its ends among them.
    Grid,
    /// Quantiles of the law.
    Quantiles(LawQuantiles),
}

impl Limits {
    /// Reads `"grid"` or `{ quantiles, from, to }`; nothing where limits are given one by one.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, String> {
        match value {
            Value::String(text) if text == "grid" => Ok(Some(Self::Grid)),
            Value::Table(table) => {
                super::file::check_keys(table, &["quantiles", "from", "to"], "`limits`")?;
                Ok(Some(Self::Quantiles(LawQuantiles::read("limits", table)?)))
            }
            Value::Array(_) => Ok(None),
            other => Err(format!(
                "`limits` = {other}: must be a list of numbers, \"grid\" or \
                 {{ quantiles, from, to }}"
            )),
        }
    }

    /// The limits for a feature, counted from 0.
    ///
    /// # Errors
    /// What the scenario says of the feature or the probabilities.
    pub fn places(
        &self,
        grid: &[f64],
        scenario: &Scenario,
        feature: usize,
    ) -> Result<Vec<f64>, String> {
        match self {
            Self::Grid => Ok(grid.to_vec()),
            Self::Quantiles(quantiles) => quantiles.places(scenario, feature),
        }
    }

    /// The number of bins between them.
    #[must_use]
    pub fn bins(&self, grid: &Grid) -> usize {
        let places = match self {
            Self::Grid => grid.places(),
            Self::Quantiles(quantiles) => quantiles.count,
        };
        places.saturating_sub(1)
    }
}

impl std::fmt::Display for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Grid => write!(f, "grid"),
            Self::Quantiles(quantiles) => write!(f, "{quantiles}"),
        }
    }
}
