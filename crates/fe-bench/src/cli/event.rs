//! Events that rows are restricted to, such as `x3 > 0 and x1 <= 0.2`.

use fe_truth::{Condition, Level, Region, Scenario};

use crate::data::features::feature_of;
use crate::error::{Error, Result, listed, suggestion};

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
    const FORM: &str =
        "conditions such as `x3 > 0`, `-1 < x1 <= 0.2` or `season == winter` are joined by `and`";
    if !matches!(tokens.len(), 3 | 5) {
        return Err(FORM.to_owned());
    }
    let mut region = region;
    for compared in tokens.windows(3).step_by(2) {
        let [left, sign, right] = compared else { continue };
        // Seen from the feature.
        let of = |side: &String| match side.parse::<f64>() {
            Ok(_) => Err(format!("`{side}` is a number")),
            Err(_) => feature_of(scenario, side),
        };
        let (name, limit, sign) = match (of(left), of(right)) {
            (Ok(_), Ok(_)) => return Err(two_sides(compared, FORM)),
            (Ok(_), Err(_)) => (left, right, sign.as_str()),
            (Err(_), Ok(_)) => (right, left, turned(sign)),
            (Err(unknown), Err(_)) => {
                let numbers = [left, right].map(|side| side.parse::<f64>().is_ok());
                let is_name = numbers == [true, false];
                let unknown =
                    if is_name { feature_of(scenario, right).err() } else { Some(unknown) };
                return Err(unknown
                    .filter(|_| numbers != [true; 2])
                    .unwrap_or_else(|| two_sides(compared, FORM)));
            }
        };
        let feature = feature_of(scenario, name)?;
        if !SIGNS.contains(&sign) {
            return Err(format!("`{sign}` must be one of {}; {FORM}", SIGNS.join(", ")));
        }
        region = match scenario.levels(feature) {
            Some(levels) => of_levels(region, scenario, feature, (name, sign, limit), &levels)?,
            None => of_density(region, feature, (name, sign, limit), FORM)?,
        };
    }
    Ok(region)
}

const SIGNS: [&str; 7] = ["<", "<=", ">", ">=", "=", "==", "!="];

/// The sign of a comparison with its sides exchanged.
fn turned(sign: &str) -> &str {
    match sign {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

fn two_sides(compared: &[String], form: &str) -> String {
    format!("`{}`: a feature and a number or level; {form}", compared.join(" "))
}

/// A region, and a condition more on a feature that has a density.
fn of_density(
    region: Region,
    feature: usize,
    (name, sign, limit): (&str, &str, &str),
    form: &str,
) -> Result<Region, String> {
    let number = limit.parse::<f64>().map_err(|_| {
        format!(
            "`{name} {sign} {limit}`: {name} has no levels, and is compared with numbers; {form}"
        )
    })?;
    if !number.is_finite() {
        return Err(format!("`{limit}` must be a finite number"));
    }
    match sign {
        "<" | "<=" => Ok(region.and(feature, f64::NEG_INFINITY, number)),
        ">" | ">=" => Ok(region.and(feature, number, f64::INFINITY)),
        _ => {
            let share = if sign == "!=" { 1 } else { 0 };
            Err(format!("`{name} {sign} {limit}` has probability {share}: {name} has a density"))
        }
    }
}

/// A region, and a condition more on a feature with levels: those for which it holds.
fn of_levels(
    region: Region,
    scenario: &Scenario,
    feature: usize,
    (name, sign, limit): (&str, &str, &str),
    levels: &[Level],
) -> Result<Region, String> {
    if let Some(level) = levels.iter().find(|level| level.name == limit) {
        match sign {
            "=" | "==" => return Ok(region.and_among(feature, &[level.value])),
            "!=" => return Ok(region.and_not(feature, level.value)),
            _ => (),
        }
    }
    let is_compared = !scenario.is_nominal(feature) && !matches!(sign, "=" | "==" | "!=");
    let number = limit.parse::<f64>().ok().filter(|number| is_compared && number.is_finite());
    match (number, sign) {
        (Some(number), "<=") => Ok(region.and(feature, f64::NEG_INFINITY, number)),
        (Some(number), ">") => Ok(region.and(feature, number, f64::INFINITY)),
        // The last level that is less.
        (Some(number), _) => {
            let less = levels.iter().map(|level| level.value).rfind(|level| *level < number);
            let less = less.unwrap_or(f64::NEG_INFINITY);
            Ok(match sign {
                "<" => region.and(feature, f64::NEG_INFINITY, less),
                _ => region.and(feature, less, f64::INFINITY),
            })
        }
        (None, _) => {
            let names = levels.iter().map(|level| level.name.as_str());
            let is_known = levels.iter().any(|level| level.name == limit);
            let nearest = if is_known { String::new() } else { suggestion(limit, names.clone()) };
            let (known, signs) = (
                listed(names.take(20)),
                match scenario.is_nominal(feature) {
                    true => "`==` or `!=`",
                    false => "any sign",
                },
            );
            Err(format!(
                "`{name} {sign} {limit}`{nearest}; {name} has the levels {known}, compared by {signs}"
            ))
        }
    }
}

/// A region in words that [`region`] reads back.
pub(super) fn words(region: &Region, scenario: &Scenario) -> String {
    let each = region.conditions().iter();
    let conditions: Vec<String> =
        each.flat_map(|(feature, condition)| in_words(*feature, condition, scenario)).collect();
    if conditions.is_empty() { "all".to_owned() } else { conditions.join(" and ") }
}

fn in_words(feature: usize, condition: &Condition, scenario: &Scenario) -> Vec<String> {
    let name = scenario.feature_name(feature);
    if scenario.is_nominal(feature) {
        let levels = scenario.levels(feature).unwrap_or_default();
        let (inside, outside): (Vec<&Level>, Vec<&Level>) =
            levels.iter().partition(|level| condition.holds(level.value));
        return match inside[..] {
            [only] => vec![format!("{name} == {}", only.name)],
            _ => outside.iter().map(|level| format!("{name} != {}", level.name)).collect(),
        };
    }
    let (low, high) = scenario.support(feature);
    let (from, to) = condition.interval;
    let above = from > low || (from == low && scenario.levels(feature).is_some());
    let above = above.then(|| format!("{name} > {}", crate::output::exact(from)));
    let below = (to < high).then(|| format!("{name} <= {}", crate::output::exact(to)));
    let not = condition.not.iter().map(|x| format!("{name} != {}", crate::output::exact(*x)));
    let only =
        condition.only.iter().flatten().map(|x| format!("{name} == {}", crate::output::exact(*x)));
    above.into_iter().chain(below).chain(not).chain(only).collect()
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
        // A number is no feature, though features have numbers.
        assert_eq!(parsed("x2 <= 1").unwrap(), Region::default().and(1, -inf, 1.0));
        assert_eq!(parsed(&words(&between, &scenario)).unwrap(), between);
    }

    #[test]
    fn levels_are_named_or_compared() {
        let text = "f = \"n*x + level(season, winter: -1, spring: 0, summer: 2)\"\n[law]\nx = \"normal(0, 1)\"\n\
                    season = \"categorical(winter: 0.3, spring: 0.3, summer: 0.4)\"\nn = \"binomial(3, 0.5)\"\n";
        let scenario = fe_truth::problem("mine", text, &[]).unwrap();
        let parsed = |text: &str| region(text, &scenario);
        for (text, again, probability) in [
            ("season == winter", "season == winter", 0.3),
            ("winter = season and x > 0", "x > 0 and season == winter", 0.15),
            ("season != winter", "season != winter", 0.7),
            ("season != winter and season != spring", "season == summer", 0.4),
            ("n < 2", "n <= 1", 0.5),
            ("n <= 2", "n <= 2", 0.875),
            ("1 < n", "n > 1", 0.5),
            ("n >= 0", "all", 1.0),
            ("n > 0", "n > 0", 0.875),
            ("n == 3", "n == 3", 0.125),
            ("n != 3", "n != 3", 0.875),
        ] {
            let found = parsed(text).unwrap();
            assert_eq!(words(&found, &scenario), again, "{text}");
            let share = scenario.probability(&found).unwrap();
            assert!((share - probability).abs() < 1e-12, "{text}: {share}");
            if again != "all" {
                assert_eq!(words(&parsed(again).unwrap(), &scenario), again, "{text}");
            }
        }
        for (text, words) in [
            ("season == wintr", "did you mean `winter`"),
            ("season < winter", "`==` or `!=`"),
            ("n == 7", "0, 1, 2, 3"),
            ("n < 0", "probability 0"),
            ("season == winter and season == summer", "probability 0"),
        ] {
            let message = match parsed(text) {
                Err(error) => error.to_string(),
                Ok(region) => scenario.within(&region).unwrap_err().to_string(),
            };
            assert!(message.contains(words), "{text}: {message}");
        }
    }

    #[test]
    fn what_is_no_condition_is_named() {
        let cases = [
            ("", "joined by `and`"),
            ("x3", "joined by `and`"),
            ("x3 > 0 or x1 > 0", "joined by `and`"),
            ("x3 > x1", "a feature and a number or level"),
            ("1 > 0", "a feature and a number or level"),
            ("x9 > 0", "x1 … x3"),
            ("x3 == 0", "probability 0"),
            ("x3 != 0", "probability 1"),
            ("x3 =! 0", "`=!`"),
            ("x3 > winter", "no levels"),
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
