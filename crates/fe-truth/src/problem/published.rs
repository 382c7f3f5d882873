//! Published numbers about a problem.

use super::lexer::Fault;
use super::parser::{Meaning, Names, expression, hint};
use super::table::{self, Declared, Formula, Placed, Table};
use crate::quantity::Truth;

/// A number that was published about a scenario in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its place: a paper, a page, a program.
    pub by: String,
    /// Its subject.
    pub what: Subject,
    /// The feature, counted from 0, where it is of one.
    pub feature: Option<usize>,
    /// As it stands in the file: a number with its digits, or a formula.
    pub printed: String,
    /// Its value.
    pub value: f64,
    /// Half a unit of its last digit; 0 for a formula, which is exact, and for a whole number.
    pub rounding: f64,
    /// The right number, where the file says that the printed one is not.
    pub correction: Option<Correction>,
}

/// A number that is right in place of a published one.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// As it stands in the file.
    pub printed: String,
    /// Its value.
    pub value: f64,
    /// Half a unit of its last digit.
    pub rounding: f64,
}

/// A subject of published numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// f at a point of all features.
    Value(Vec<f64>),
    /// `E f(X)`.
    Mean,
    /// The standard deviation of f(X).
    Sd,
    /// The variance of f(X).
    Variance,
    /// The probability that f(X) is negative.
    Failure,
    /// Sobol' index of first order: the variance of `E[f(X) | x_s]`, divided by that of f(X).
    Sobol,
    /// Total Sobol' index of a feature that is independent of all others: the mean of the variance of
    /// f(X) given all features but x_s, divided by the variance of f(X).
    Total,
}

impl Subject {
    /// Its name, as in files; that of a value tells the point.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self {
            Self::Value(at) => {
                let at: Vec<String> = at.iter().map(f64::to_string).collect();
                return format!("f({})", at.join(", "));
            }
            Self::Mean => "mean",
            Self::Sd => "sd",
            Self::Variance => "variance",
            Self::Failure => "failure",
            Self::Sobol => "sobol",
            Self::Total => "total",
        };
        name.to_owned()
    }
}

impl Published {
    /// Distance of the truth from the printed number, or from what the file says is right in its place,
    /// divided by what rounding and the truth's own bound account for: at most 1 if it holds.
    #[must_use]
    pub fn distance(&self, truth: &Truth) -> f64 {
        match &self.correction {
            Some(right) => distance(right.value, right.rounding, truth),
            None => distance(self.value, self.rounding, truth),
        }
    }

    /// True where the printed number itself holds.
    #[must_use]
    pub fn holds(&self, truth: &Truth) -> bool {
        distance(self.value, self.rounding, truth) <= 1.0
    }
}

/// Numbers that are printed with all their digits, and formulas, are computed to rounding.
const COMPUTED: f64 = 1e-14;

fn distance(value: f64, rounding: f64, truth: &Truth) -> f64 {
    let allowed = rounding * (1.0 + 1e-9) + truth.abs_error + COMPUTED * value.abs();
    let off = (value - truth.value).abs();
    if off == 0.0 { 0.0 } else { off / allowed }
}

/// One number as a file has it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    by: String,
    what: Subject,
    feature: Option<Placed<String>>,
    printed: Formula,
    correction: Option<Formula>,
    at: usize,
}

const SCALARS: [(&str, Subject); 4] = [
    ("mean", Subject::Mean),
    ("sd", Subject::Sd),
    ("variance", Subject::Variance),
    ("failure", Subject::Failure),
];
const OF_FEATURES: [(&str, Subject); 2] = [("sobol", Subject::Sobol), ("total", Subject::Total)];
const KEYS: [&str; 8] = ["by", "f", "mean", "sd", "variance", "failure", "sobol", "total"];

/// All numbers under `[[published]]`.
pub(super) fn read(root: &Table<'_>) -> Result<Vec<Entry>, Fault> {
    let mut found = Vec::new();
    for table in root.tables("published")? {
        table.known(&KEYS, "[[published]]")?;
        let by = match table.get("by") {
            Some((_, value)) => root.string(value, "`by`")?,
            None => {
                return Err(Fault::new(table.at(), "[[published]] has no `by`: where it stands"));
            }
        };
        let mut push = |what: &Subject, feature, value: &table::Value<'_>| {
            let (printed, correction) = table.printed(value)?;
            let (by, what, at) = (by.clone(), what.clone(), value.span().start);
            found.push(Entry { by, what, feature, printed, correction, at });
            Ok(())
        };
        for point in table.tables("f")? {
            point.known(&["at", "value"], "`f` of [[published]]")?;
            let (Some((_, at)), Some((_, value))) = (point.get("at"), point.get("value")) else {
                let message =
                    "`f` of [[published]] is a list such as [{ at = [0.5, 1], value = 2 }]";
                return Err(Fault::new(point.at(), message));
            };
            let at = table::list(at, "`at`", "a list of numbers")?;
            let at: Result<Vec<f64>, Fault> =
                at.iter().map(|x| table::number(x, "a number of `at`")).collect();
            push(&Subject::Value(at?), None, value)?;
        }
        for (key, what) in &SCALARS {
            if let Some((_, value)) = table.get(key) {
                push(what, None, value)?;
            }
        }
        for (key, what) in &OF_FEATURES {
            for (name, value) in &table.under(key)?.entries {
                push(what, Some(table::owned(name)), value)?;
            }
        }
    }
    Ok(found)
}

/// The numbers with their values. What is printed as a number is about the declared values of the
/// parameters; where others are set, only formulas are left.
pub(super) fn numbers(
    entries: &[Entry],
    names: &[String],
    declared: &[Declared],
    values: &[f64],
) -> Result<Vec<Published>, Fault> {
    let as_declared = declared.iter().zip(values).all(|(p, value)| p.default + 0.0 == *value);
    let mut parameters = Names::default();
    for (parameter, &value) in declared.iter().zip(values) {
        parameters.add(&parameter.name.value, Meaning::Parameter(value));
    }
    let mut found = Vec::new();
    for entry in entries {
        let feature = match &entry.feature {
            Some(name) => Some(place(name, names)?),
            None => None,
        };
        if let Subject::Value(at) = &entry.what
            && at.len() != names.len()
        {
            let (given, all) = (at.len(), names.len());
            let message = format!("`at` has {given} numbers, and there are {all} features");
            return Err(Fault::new(entry.at, message));
        }
        let (value, rounding) = number(&entry.printed, &parameters)?;
        let correction = match &entry.correction {
            Some(right) => {
                let (value, rounding) = number(right, &parameters)?;
                Some(Correction { printed: right.text.clone(), value, rounding })
            }
            None => None,
        };
        if !as_declared && (entry.printed.is_literal() || entry.correction.is_some()) {
            continue;
        }
        let (by, what, printed) =
            (entry.by.clone(), entry.what.clone(), entry.printed.text.clone());
        found.push(Published { by, what, feature, printed, value, rounding, correction });
    }
    Ok(found)
}

fn place(name: &Placed<String>, names: &[String]) -> Result<usize, Fault> {
    let found = names.iter().position(|known| *known == name.value);
    found.ok_or_else(|| {
        let hint = hint(&name.value, names.iter().map(String::as_str));
        Fault::new(name.at, format!("`{}` is no feature{hint}", name.value))
    })
}

/// Value of a number or formula, and half a unit of the last digit that is printed.
fn number(printed: &Formula, parameters: &Names) -> Result<(f64, f64), Fault> {
    let tree = expression(&printed.text, parameters).map_err(|fault| printed.fault(fault))?;
    let value = tree.value(&[]);
    if !value.is_finite() {
        return Err(printed.wrong(format!("`{}` is {value}", printed.text)));
    }
    let rounding = if printed.is_literal() { half_unit(&printed.text) } else { 0.0 };
    Ok((value, rounding))
}

/// Half a unit of the last digit of a number; 0 for a whole one.
fn half_unit(text: &str) -> f64 {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match digits.split_once('.') {
        Some((_, behind)) => {
            let places = i32::try_from(behind.len()).unwrap_or(i32::MAX);
            0.5 * 10_f64.powi(exponent.saturating_sub(places))
        }
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::half_unit;

    #[test]
    fn the_last_digit_says_how_exact_a_number_is() {
        for (text, expected) in
            [("0.00", 0.005), ("13.8446", 5e-5), ("-6.02074", 5e-6), ("2.22e-3", 5e-6), ("7", 0.0)]
        {
            assert!((half_unit(text) - expected).abs() <= 1e-12 * expected, "{text}");
        }
    }
}
