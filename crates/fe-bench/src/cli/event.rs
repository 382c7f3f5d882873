//! Events that rows are restricted to, such as `x3 > 0 and x1 <= 0.2`.

use fe_truth::{Region, Scenario};

use crate::data::features::feature_of;
use crate::error::{Error, Result};

/// The region that a text asks for.
pub(super) fn region(text: &str, scenario: &Scenario) -> Result<Region> {
    let wrong = |message: String| Error::Argument(format!("--where `{text}`: {message}"));
    let tokens = tokens(text);
    let conditions = tokens.split(|token| ["and", "&&", "&"].contains(&token.as_str()));
    let mut region = Region::default();
    for condition in conditions {
        region = constrained(region, condition, scenario).map_err(wrong)?;
    }
    Ok(region)
}

/// Words, and signs of comparison between them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut kind = None;
    for letter in text.chars() {
        let own = match letter {
            letter if letter.is_whitespace() => None,
            '<' | '>' | '=' | '!' | '&' | '|' => Some(true),
            _ => Some(false),
        };
        match tokens.last_mut() {
            Some(token) if own.is_some() && own == kind => token.push(letter),
            _ if own.is_some() => tokens.push(letter.to_string()),
            _ => (),
        }
        kind = own;
    }
    tokens
}

/// A region, and one condition more: two sides compared, or `a < x < b`.
fn constrained(region: Region, tokens: &[String], scenario: &Scenario) -> Result<Region, String> {
    const FORM: &str = "conditions such as `x3 > 0` or `-1 < x1 <= 0.2` are joined by `and`";
    if !matches!(tokens.len(), 3 | 5) {
        return Err(FORM.to_owned());
    }
    let mut region = region;
    for compared in tokens.windows(3).step_by(2) {
        let [left, sign, right] = compared else { continue };
        let number = |text: &str| text.parse::<f64>().ok();
        // Seen from the feature.
        let (name, limit, below) = match (number(left), number(right)) {
            (None, Some(limit)) => (left, limit, sign.starts_with('<')),
            (Some(limit), None) => (right, limit, sign.starts_with('>')),
            _ => return Err(format!("`{left} {sign} {right}`: a feature and a number; {FORM}")),
        };
        let feature = feature_of(scenario, name)?;
        if !limit.is_finite() {
            return Err(format!("`{limit}` must be a finite number"));
        }
        region = match sign.as_str() {
            "<" | "<=" | ">" | ">=" if below => region.and(feature, f64::NEG_INFINITY, limit),
            "<" | "<=" | ">" | ">=" => region.and(feature, limit, f64::INFINITY),
            "=" | "==" => {
                return Err(format!(
                    "`{name} {sign} {limit}` has probability 0: {name} has a density"
                ));
            }
            _ => return Err(format!("`{sign}` must be <, <=, > or >=; {FORM}")),
        };
    }
    Ok(region)
}

/// A region in words that [`region`] reads back.
pub(super) fn words(region: &Region, scenario: &Scenario) -> String {
    let mut conditions = Vec::new();
    for &(feature, (from, to)) in region.intervals() {
        let (low, high) = scenario.support(feature);
        let name = scenario.feature_name(feature);
        if from > low {
            conditions.push(format!("{name} > {}", crate::output::exact(from)));
        }
        if to < high {
            conditions.push(format!("{name} <= {}", crate::output::exact(to)));
        }
    }
    if conditions.is_empty() { "all".to_owned() } else { conditions.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Region> {
        region(text, &fe_truth::scenario("effector-regional", &[])?)
    }

    #[test]
    fn conditions_become_intervals() {
        let inf = f64::INFINITY;
        let expected = Region::default().and(0, -inf, 0.2).and(2, 0.0, inf);
        for text in ["x3 > 0 and x1 <= 0.2", "x3>0&&0.2>=x1", "x1<2e-1 and 0 < x3 and x1 < 0.3"] {
            assert_eq!(parsed(text).unwrap(), expected, "{text}");
        }
        let between = Region::default().and(1, -0.5, 0.25);
        assert_eq!(parsed("-0.5 < x2 <= .25").unwrap(), between);
        assert_eq!(parsed("0.25 > x2 > -0.5").unwrap(), between);
        let scenario = fe_truth::scenario("effector-regional", &[]).unwrap();
        assert_eq!(words(&between, &scenario), "x2 > -0.5 and x2 <= 0.25");
        assert_eq!(parsed(&words(&between, &scenario)).unwrap(), between);
    }

    #[test]
    fn what_is_no_condition_is_named() {
        let cases = [
            ("", "joined by `and`"),
            ("x3", "joined by `and`"),
            ("x3 > 0 or x1 > 0", "joined by `and`"),
            ("x3 > x1", "a feature and a number"),
            ("x9 > 0", "x1 … x3"),
            ("x3 == 0", "probability 0"),
            ("x3 != 0", "`!=`"),
            ("x3 > inf", "finite"),
            ("x3 > NaN", "finite"),
            ("x3 > 0 and", "joined by `and`"),
        ];
        for (text, words) in cases {
            let message = parsed(text).unwrap_err().to_string();
            assert!(message.contains(words) && message.contains("--where"), "{text}: {message}");
        }
    }
}
