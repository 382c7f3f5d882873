//! Sources of the axis of an estimate, in the words of flags and study files.

use fe_core::AxisChoice;
use fe_core::numeric::quantiles::QuantileRule;
use fe_truth::Scenario;

/// Source of the axis of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AxisSource {
    /// The scenario's range.
    #[default]
    Scenario,
    /// The range of the data.
    Data,
    /// A given interval.
    Given(f64, f64),
    /// Between two quantiles of the data.
    Quantiles(QuantileRule, f64, f64),
    /// Between two quantiles of the scenario's law.
    Law(f64, f64),
}

/// The word for the law among the rules of quantiles.
pub(super) const LAW: &str = "law";

impl AxisSource {
    /// The same for the core, where it does not depend on a scenario.
    #[must_use]
    pub fn of_data(self) -> Option<AxisChoice> {
        match self {
            AxisSource::Data => Some(AxisChoice::Data),
            AxisSource::Given(lo, hi) => Some(AxisChoice::Given(lo, hi)),
            AxisSource::Quantiles(rule, from, to) => Some(AxisChoice::Quantiles { from, to, rule }),
            AxisSource::Scenario | AxisSource::Law(..) => None,
        }
    }

    /// The same for the core, which knows no scenario.
    ///
    /// # Errors
    /// What the scenario says of the feature, counted from 0, or of probabilities.
    pub fn resolve(
        self,
        scenario: &Scenario,
        feature: usize,
    ) -> Result<AxisChoice, fe_truth::Error> {
        Ok(match self {
            AxisSource::Scenario => {
                let (lo, hi) = scenario.axis(feature);
                AxisChoice::Given(lo, hi)
            }
            AxisSource::Law(from, to) => {
                let end = |probability| scenario.quantile(feature, probability);
                AxisChoice::Given(end(from)?, end(to)?)
            }
            _ => self.of_data().unwrap_or_default(),
        })
    }
}

impl From<AxisChoice> for AxisSource {
    fn from(choice: AxisChoice) -> Self {
        match choice {
            AxisChoice::Data => AxisSource::Data,
            AxisChoice::Given(lo, hi) => AxisSource::Given(lo, hi),
            AxisChoice::Quantiles { from, to, rule } => AxisSource::Quantiles(rule, from, to),
        }
    }
}

/// As flags and files have it.
impl std::fmt::Display for AxisSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AxisSource::Scenario => write!(f, "scenario"),
            AxisSource::Data => write!(f, "data"),
            AxisSource::Given(lo, hi) => write!(f, "{lo},{hi}"),
            AxisSource::Quantiles(rule, from, to) => write!(f, "{}:{from},{to}", rule.name()),
            AxisSource::Law(from, to) => write!(f, "{LAW}:{from},{to}"),
        }
    }
}

impl std::str::FromStr for AxisSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "scenario" => Ok(AxisSource::Scenario),
            "data" => Ok(AxisSource::Data),
            _ => {
                let (rule, ends) =
                    text.split_once(':').map_or((None, text), |(rule, ends)| (Some(rule), ends));
                let ends: Option<Vec<f64>> =
                    ends.split(',').map(|t| t.trim().parse().ok()).collect();
                match (rule, ends.as_deref()) {
                    (None, Some(&[lo, hi])) => Ok(AxisSource::Given(lo, hi)),
                    (Some(LAW), Some(&[from, to])) if 0.0 < from && from < to && to < 1.0 => {
                        Ok(AxisSource::Law(from, to))
                    }
                    (Some(rule), Some(&[from, to])) if rule != LAW => {
                        Ok(AxisSource::Quantiles(quantile_rule(rule)?, from, to))
                    }
                    _ => Err("must be `data`, `scenario`, LO,HI, or RULE:P,Q for quantiles, \
                              increasing; law:P,Q for those of the scenario's law"
                        .to_owned()),
                }
            }
        }
    }
}

fn quantile_rule(text: &str) -> Result<QuantileRule, String> {
    serde_json::from_value(text.into()).map_err(|e| e.to_string())
}
