//! Lists and ranges in a study file, written out.

use toml::{Table, Value};

use crate::output::exact;

/// The values that a key is swept over: those of a list, or of a range `{ from, to, step }` or
/// `{ from, to, points }` (equidistant in the logarithm, rounded to whole numbers), or itself.
pub(super) fn values(key: &str, value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(list) if list.is_empty() => Err(format!("`{key}` is an empty list")),
        Value::Array(list) => Ok(list.clone()),
        Value::Table(range) => self::range(key, range),
        single => Ok(vec![single.clone()]),
    }
}

/// Number of [`values`], before they are written out.
pub(super) fn count(key: &str, value: &Value) -> Result<u128, String> {
    match value {
        Value::Table(range) => Ok(Range::read(key, range)?.count as u128),
        Value::Array(list) if !list.is_empty() => Ok(list.len() as u128),
        other => Ok(values(key, other)?.len() as u128),
    }
}

/// Number of [`combinations`], before they are written out.
pub(super) fn combined(table: &Table, as_they_are: &[&str]) -> Result<u128, String> {
    let swept = table.iter().filter(|(key, _)| !as_they_are.contains(&key.as_str()));
    swept
        .map(|(key, value)| count(key, value))
        .try_fold(1, |all, size| Ok(u128::saturating_mul(all, size?)))
}

/// A range that was checked.
struct Range {
    from: i64,
    to: i64,
    step: Option<i64>,
    points: Option<i64>,
    /// Number of its values, or more where rounding makes some of them equal.
    count: i64,
}

impl Range {
    fn read(key: &str, range: &Table) -> Result<Self, String> {
        super::file::check_keys(
            range,
            &["from", "to", "step", "points"],
            &format!("the range `{key}`"),
        )?;
        let whole = |name: &str| match range.get(name) {
            None => Ok(None),
            Some(Value::Integer(number)) if *number > 0 => Ok(Some(*number)),
            Some(other) => Err(format!("`{key}.{name}` = {other}: must be a whole number above 0")),
        };
        let (Some(from), Some(to)) = (whole("from")?, whole("to")?) else {
            return Err(format!("the range `{key}` needs `from` and `to`"));
        };
        if from > to {
            return Err(format!("the range `{key}` goes down: from {from} to {to}"));
        }
        let (step, points) = (whole("step")?, whole("points")?);
        if step.is_some() && points.is_some() {
            return Err(format!("the range `{key}` has both `step` and `points`"));
        }
        // No overflow: `from` is at least 1.
        let count = points.unwrap_or((to - from) / step.unwrap_or(1) + 1);
        if count > super::MOST_PLACES as i64 {
            return Err(format!(
                "the range `{key}` has {count} values: at most {}",
                super::MOST_PLACES
            ));
        }
        Ok(Self { from, to, step, points, count })
    }
}

fn range(key: &str, range: &Table) -> Result<Vec<Value>, String> {
    let Range { from, to, step, points, .. } = Range::read(key, range)?;
    let numbers: Vec<i64> = match points {
        None => (from..=to).step_by(step.unwrap_or(1) as usize).collect(),
        Some(1) => vec![from],
        Some(points) => {
            let place = |i: i64| i as f64 / (points - 1) as f64;
            let ratio = to as f64 / from as f64;
            let mut all: Vec<i64> =
                (0..points).map(|i| (from as f64 * ratio.powf(place(i))).round() as i64).collect();
            all.dedup();
            all
        }
    };
    Ok(numbers.into_iter().map(Value::Integer).collect())
}

/// Every combination of the values of the keys of a table; the last key changes fastest.
pub(super) fn combinations(table: &Table, as_they_are: &[&str]) -> Result<Vec<Table>, String> {
    let mut all = vec![Table::new()];
    for (key, value) in table {
        let values = if as_they_are.contains(&key.as_str()) {
            vec![value.clone()]
        } else {
            values(key, value)?
        };
        all = all
            .iter()
            .flat_map(|begun| {
                values.iter().map(|value| {
                    let mut next = begun.clone();
                    next.insert(key.clone(), value.clone());
                    next
                })
            })
            .collect();
    }
    Ok(all)
}

/// A value as it is written on the command line.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => exact(*number),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        let table: Table = toml::from_str(&format!("v = {text}")).unwrap();
        table["v"].clone()
    }

    #[test]
    fn ranges_are_written_out() {
        let written = |text: &str| {
            let all = values("v", &parse(text)).unwrap();
            all.iter().map(plain).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(written("{ from = 2, to = 5 }"), "2 3 4 5");
        assert_eq!(written("{ from = 10, to = 1000, points = 3 }"), "10 100 1000");
        assert_eq!(written("[0.5, 1.0]"), "0.5 1");
        let sizes = values("v", &parse("{ from = 10, to = 1_000_000, points = 50 }")).unwrap();
        let sizes: Vec<i64> = sizes.iter().map(|size| size.as_integer().unwrap()).collect();
        assert_eq!((sizes.len(), sizes[1], sizes[49]), (50, 13, 1_000_000));
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
        let many = values("v", &parse("{ from = 1, to = 1_000_000_000_000 }")).unwrap_err();
        assert!(many.contains("1000000000000 values"), "{many}");
        assert!(values("v", &parse("{ from = 5, to = 2 }")).is_err());
        assert!(values("v", &parse("[]")).is_err());
        assert!(values("v", &parse("{ from = 1, until = 2 }")).is_err());
    }

    #[test]
    fn combinations_are_all_there() {
        let table: Table = toml::from_str("a = [1, 2]\nb = [3, 4]\nc = [5, 6]").unwrap();
        assert_eq!(combinations(&table, &["c"]).unwrap().len(), 4);
    }
}
