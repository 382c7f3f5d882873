//! Fields of a key that tables, filters and figures name: its columns, and the single parameters and options that some of
//! its columns hold together.

use std::collections::HashSet;

use super::key::{Column, Key};
use super::labels::{Labels, centred};
use crate::error::{listed, suggestion};

/// The columns that hold several values by name: a name is looked for in this order.
const PACKED: [Column; 3] = [Column::Parameters, Column::Options, Column::Binning];

/// A field that a table, filter or figure names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Field {
    /// A column.
    Column(Column),
    /// A parameter of the scenario, or an option of the estimator or of its binning.
    Part(String),
}

impl Field {
    /// The field of a name: that of a column if there is one, else a parameter or an option.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Column::named(name).map_or_else(|| Self::Part(name.to_owned()), Self::Column)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Column(column) => column.name(),
            Self::Part(name) => name,
        }
    }

    /// Its value in a key; empty where the key has none.
    #[must_use]
    pub fn of<'a, T: AsRef<str>>(&self, key: &'a Key<T>) -> &'a str {
        match self {
            Self::Column(column) => key[*column].as_ref(),
            Self::Part(name) => {
                let mut all = PACKED.into_iter().flat_map(|column| parts(key[column].as_ref()));
                all.find(|(own, _)| own == name).map_or("", |(_, value)| value)
            }
        }
    }

    /// True if it has a value in a key, however that is written: numbers are equal whose values are, and a scenario without
    /// a version stands for all versions.
    #[must_use]
    pub fn is<T: AsRef<str>>(&self, key: &Key<T>, wanted: &str) -> bool {
        let own = self.of(key);
        let is_number = || {
            let (own, wanted) = (own.parse::<f64>(), wanted.parse::<f64>());
            own.is_ok_and(|own| wanted.is_ok_and(|wanted| own == wanted))
        };
        let is_scenario = || {
            *self == Self::Column(Column::Scenario)
                && own.split_once('@').is_some_and(|(name, _)| name == wanted)
        };
        own == wanted || is_number() || is_scenario()
    }

    /// A value of it as a heading that stands by itself: the label of the value or, of numbers and the like, the value with
    /// the label of its key; empty where there is no value.
    #[must_use]
    pub fn heading(&self, value: &str, labels: &Labels) -> String {
        let label = match self {
            Self::Column(Column::Estimator | Column::Binning | Column::Metric) => {
                labels.given(value)
            }
            _ => labels.own(value),
        };
        if let Some(label) = label {
            return label.into_owned();
        }
        match self {
            _ if value.is_empty() => String::new(),
            Self::Column(Column::Parameters | Column::Options) => {
                let setting = |(name, value): (&str, &str)| labels.of_setting(name, value);
                let words = value.split(';');
                let words = words.map(|word| word.split_once('=').map_or(word.to_owned(), setting));
                words.collect::<Vec<_>>().join(", ")
            }
            Self::Column(Column::Scenario) => labels.of_scenario(value).into_owned(),
            Self::Column(Column::Centring) => centred(value).unwrap_or("not centred").to_owned(),
            Self::Column(Column::EmptyBins) => match labels.of_choice(self.name(), value) {
                Some(words) => words.into_owned(),
                None => format!("empty bins: {value}"),
            },
            Self::Column(Column::Bins | Column::Rows | Column::Snr) | Self::Part(_) => {
                labels.of_setting(self.name(), value)
            }
            Self::Column(_) => value.to_owned(),
        }
    }

    /// Refuses names that are no field of any of some keys.
    ///
    /// # Errors
    /// The first such name, the nearest that there is, and all that there are.
    pub fn check<'a>(
        names: impl IntoIterator<Item = &'a str>,
        keys: &[&Key],
    ) -> Result<(), String> {
        let mut names = names.into_iter();
        let is_unknown = |name: &&str| {
            let field = Self::named(name);
            matches!(field, Self::Part(_)) && keys.iter().all(|key| field.of(key).is_empty())
        };
        let Some(name) = names.find(is_unknown) else { return Ok(()) };
        let known = Self::known(keys);
        let known = || known.iter().map(String::as_str);
        Err(format!(
            "unknown key `{name}`{}; allowed are {}",
            suggestion(name, known()),
            listed(known())
        ))
    }

    /// The names of all fields of some keys.
    fn known(keys: &[&Key]) -> Vec<String> {
        let mut names: Vec<String> = Column::NAMES.map(str::to_owned).to_vec();
        for column in PACKED {
            names.extend(varying_parts(column, keys, &|_, _| true));
        }
        names
    }

    /// The fields that tell some keys apart in a column: the column itself or, where it holds several values, those of them
    /// that differ.
    #[must_use]
    pub fn varying(column: Column, keys: &[&Key]) -> Vec<Self> {
        if keys.iter().all(|key| key[column] == keys[0][column]) {
            return Vec::new();
        }
        let whole = Self::Column(column);
        if !matches!(column, Column::Parameters | Column::Options) {
            return vec![whole];
        }
        let varies = |name: &str, keys: &[&Key]| {
            let field = Self::Part(name.to_owned());
            let given = keys.iter().map(|key| field.of(key));
            // Parameters belong to a scenario, which tells apart those that have one from those that have not.
            let given = given.filter(|value| column != Column::Parameters || !value.is_empty());
            given.collect::<HashSet<&str>>().len() > 1
        };
        let parts: Vec<Self> =
            varying_parts(column, keys, &varies).into_iter().map(Self::Part).collect();
        let told = |fields: &[Self]| {
            let of = |key: &&Key| -> Vec<String> {
                let values = fields.iter().map(|field| field.of(*key).to_owned());
                values.chain([key.scenario.clone()]).collect()
            };
            keys.iter().map(of).collect::<HashSet<Vec<String>>>().len()
        };
        // A parameter may have the name of an option, and an option no value.
        if told(&parts) < told(std::slice::from_ref(&whole)) { vec![whole] } else { parts }
    }
}

/// The names of the parts of a column in some keys for which a condition holds, in the order in which they appear.
fn varying_parts(
    column: Column,
    keys: &[&Key],
    holds: &dyn Fn(&str, &[&Key]) -> bool,
) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in keys.iter().flat_map(|key| parts(&key[column])) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().filter(|name| holds(name, keys)).map(str::to_owned).collect()
}

/// The parts `name=value` of a field, as in `rho=0.3;sigma1=1` and `dp(min_points=30;discount=0.2)`.
pub(crate) fn parts(field: &str) -> impl Iterator<Item = (&str, &str)> {
    let inner = match field.split_once('(') {
        Some((head, rest)) if !head.contains(['=', ';']) => rest.strip_suffix(')').unwrap_or(rest),
        _ => field,
    };
    inner.split(';').filter_map(|part| part.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parameters: &str, binning: &str, options: &str) -> Key {
        Key { parameters, binning, options, rows: "100", ..Key::default() }.owned()
    }

    #[test]
    fn parameters_and_options_are_fields() {
        let key = key("mu1=0;rho=0.3", "dp(min_points=N/20;discount=0.2)", "ddof=1");
        let of = |name: &str| Field::named(name).of(&key).to_owned();
        assert_eq!(
            ["rho", "min_points", "discount", "ddof", "N", "sigma"].map(of),
            ["0.3", "N/20", "0.2", "1", "100", ""]
        );
        assert_eq!(Field::named("rho").heading("0.3", &Labels::default()), "rho\u{a0}=\u{a0}0.3");
        assert_eq!(Field::named("N").heading("100", &Labels::default()), "N\u{a0}=\u{a0}100");
        assert_eq!(Field::named("metric").heading("mse", &Labels::default()), "mse");
    }

    #[test]
    fn values_are_found_however_they_are_written() {
        let mut key = key("rho=0.30", "", "");
        key.scenario = "snc@1".to_owned();
        let is = |name: &str, wanted: &str| Field::named(name).is(&key, wanted);
        assert!(
            is("scenario", "snc") && is("scenario", "snc@1") && is("N", "1e2") && is("rho", "0.3")
        );
        assert!(
            !is("scenario", "sn") && !is("scenario", "snc@2") && !is("N", "10") && !is("rho", "")
        );
    }

    #[test]
    fn what_no_key_has_is_refused_with_the_nearest() {
        let keys = [key("mu1=0;rho=0.3", "", "")];
        let keys: Vec<&Key> = keys.iter().collect();
        assert!(Field::check(["rho", "N", "estimator"], &keys).is_ok());
        let message = Field::check(["rhoo"], &keys).unwrap_err();
        assert!(message.contains("unknown key `rhoo`; did you mean `rho`?"), "{message}");
    }

    #[test]
    fn only_parameters_that_differ_tell_apart() {
        let names = |column, keys: &[Key]| -> Vec<String> {
            let keys: Vec<&Key> = keys.iter().collect();
            Field::varying(column, &keys).iter().map(|field| field.name().to_owned()).collect()
        };
        let swept = [key("mu1=0;rho=0.3", "", ""), key("mu1=0;rho=0.6", "", "")];
        assert_eq!(names(Column::Parameters, &swept), ["rho"]);
        // Another scenario has other parameters.
        let mut two = [key("mu1=0;rho=0.3", "", ""), key("sd=0.5", "", "")];
        two[1].scenario = "other@1".to_owned();
        assert!(names(Column::Parameters, &two).is_empty());
        // An option of the name of a parameter.
        let same = [key("ddof=0", "", "ddof=1"), key("ddof=0", "", "")];
        assert_eq!(names(Column::Options, &same), ["options"]);
        // An option that is not given differs from one that is.
        let options = [key("", "", "ddof=1"), key("", "", "")];
        assert_eq!(names(Column::Options, &options), ["ddof"]);
    }
}
