//! Reading effects back from what was written of them: words that the library knows, numbers that are missing.
//!
//! Imports nothing of the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use ndarray::Array2;
use serde::{Deserialize, Deserializer, de::Error};

/// A word of the library, such as the name of an estimator. (Serde takes a `&'static str` that is written out for
/// a part of what is read.)
pub type Name = &'static str;

/// Most different words that are kept: there are far fewer, and what is no effect shall not fill the memory.
const MOST_NAMES: usize = 1000;

/// A word as one that lives as long as the program.
pub(crate) fn name<'de, D: Deserializer<'de>>(reader: D) -> Result<Name, D::Error> {
    let text = String::deserialize(reader)?;
    kept(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no name of the library")))
}

fn kept(text: &str) -> Option<Name> {
    static NAMES: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());
    kept_among(&mut NAMES.lock().unwrap_or_else(PoisonError::into_inner), text)
}

fn kept_among(names: &mut BTreeSet<Name>, text: &str) -> Option<Name> {
    if let Some(known) = names.get(text) {
        return Some(known);
    }
    let new = (names.len() < MOST_NAMES && text.len() < 200).then(|| &*text.to_owned().leak())?;
    names.insert(new);
    Some(new)
}

/// Heterogeneity values by name.
pub(crate) fn values<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<BTreeMap<Name, Option<f64>>, D::Error> {
    let read = Vec::from_iter(BTreeMap::<String, Option<f64>>::deserialize(reader)?);
    let known = |(text, value): (String, _)| match kept(&text) {
        Some(name) => Ok((name, value)),
        None => Err(D::Error::custom(format!("`{text}` is no heterogeneity value"))),
    };
    read.into_iter().map(known).collect()
}

/// Numbers of which some may be NaN, which JSON has no word for but null.
pub(crate) fn numbers<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<f64>, D::Error> {
    let read = Vec::<Option<f64>>::deserialize(reader)?;
    Ok(read.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// A number that may be NaN.
pub(crate) fn number<'de, D: Deserializer<'de>>(reader: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(reader)?.unwrap_or(f64::NAN))
}

/// A matrix that was written row by row.
pub(crate) fn matrix<'de, D: Deserializer<'de>>(reader: D) -> Result<Array2<f64>, D::Error> {
    let rows = Vec::<Vec<f64>>::deserialize(reader)?;
    let shape = (rows.len(), rows.first().map_or(0, Vec::len));
    Array2::from_shape_vec(shape, rows.concat()).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{ALL, from_settings};
    use crate::model::FunctionModel;
    use crate::{Dataset, Effect, Settings};

    /// Bands, bins, curves, records, what is undefined: all that effects hold comes back.
    #[test]
    fn effects_come_back_as_they_were_written() {
        let rows = Array2::from_shape_fn((41, 2), |(i, j)| ((i * (7 + 4 * j)) % 41) as f64 / 40.0);
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let model = FunctionModel::new(2, |x| (x[0] * 3.0).sin() * x[1]).with_partial(|s, x| {
            if s == 0 { 3.0 * (x[0] * 3.0).cos() * x[1] } else { (x[0] * 3.0).sin() }
        });
        for info in ALL {
            // Of a feature without levels `mplot` has no band.
            let banded = info.options().any(|option| option == "band") && info.name != "mplot";
            for band in [None, banded.then_some(crate::settings::BandKind::Bootstrap)] {
                let settings = Settings { band, ..Settings::default() };
                let estimator = from_settings(info.name, &settings).unwrap();
                for effect in estimator.estimate(&data, &model, 0).unwrap() {
                    let text = serde_json::to_string(&effect).unwrap();
                    let again: Effect = serde_json::from_str(&text).unwrap();
                    assert_eq!(serde_json::to_string(&again).unwrap(), text, "{}", info.name);
                    assert_eq!(format!("{again:?}"), format!("{effect:?}"), "{}", info.name);
                }
            }
        }
    }

    #[test]
    fn what_is_no_effect_is_refused() {
        let curve =
            |text: &str| serde_json::from_str::<crate::Curve>(text).map_err(|e| e.to_string());
        let written = |x, y| format!(r#"{{"x":{x},"y":{y},"shape":"linear","extrapolate":false}}"#);
        assert!(curve(&written("[0,1]", "[2,null]")).unwrap().y()[1].is_nan());
        for (x, y) in [("[0,1]", "[2]"), ("[1,0]", "[2,3]"), ("[]", "[]"), ("[0,null]", "[1,2]")] {
            assert!(curve(&written(x, y)).is_err(), "{x} {y}");
        }
        // A limit alone is no step.
        for (x, y, is_curve) in [("[0,1]", "[2]", true), ("[0]", "[]", false), ("[]", "[]", false)]
        {
            let step = written(x, y).replace(r#""linear""#, r#"{"step":"left"}"#);
            assert_eq!(curve(&step).is_ok(), is_curve, "{step}");
        }
        assert!(serde_json::from_str::<crate::Axis>(r#"{"lo":1,"hi":0}"#).is_err());
        let limits = r#"{"limits":[1,0],"closed":"left"}"#;
        assert!(serde_json::from_str::<crate::Partition>(limits).is_err());
    }

    /// The longest word that is kept.
    #[test]
    fn names_of_two_hundred_letters_are_none() {
        assert_eq!(kept(&"n".repeat(199)).map(str::len), Some(199));
        assert_eq!(kept(&"n".repeat(200)), None);
    }

    #[test]
    fn of_too_many_names_those_that_are_known_are_kept() {
        let mut names = BTreeSet::new();
        for number in 0..MOST_NAMES {
            assert!(kept_among(&mut names, &number.to_string()).is_some());
        }
        assert_eq!(kept_among(&mut names, "one more"), None);
        assert_eq!(kept_among(&mut names, "7"), Some("7"));
    }
}
