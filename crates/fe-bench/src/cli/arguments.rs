//! Arguments that several commands share.

use std::fmt::Display;
use std::str::FromStr;

use clap::Args;
use fe_truth::Scenario;

use crate::data::features::Subject;
use crate::data::{features, scenarios};
use crate::error::{Error, Result};
use crate::output::whole_of;
use crate::system::program;

/// Refuses arguments that a record of the command cannot hold.
///
/// # Errors
/// The first that is not UTF-8.
pub(super) fn can_be_recorded() -> Result<()> {
    match program::arguments().into_iter().enumerate().find(|(_, word)| word.to_str().is_none()) {
        None => Ok(()),
        Some((place, word)) => Err(Error::Argument(format!(
            "argument {place}, `{}`: it is not UTF-8, and the command is to be recorded",
            word.to_string_lossy()
        ))),
    }
}

/// A scenario and its parameters.
#[derive(Debug, Args)]
pub(super) struct ScenarioArguments {
    /// Name of the scenario, as `fe-bench list scenarios` shows them, or a file FILE.toml
    scenario: String,
    /// A parameter of the scenario; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
}

impl ScenarioArguments {
    /// The name or the file.
    pub(super) fn name(&self) -> &str {
        &self.scenario
    }

    /// The parameters that are set, and one more.
    pub(super) fn with(&self, key: &str, value: &str) -> Result<Vec<(String, String)>> {
        if self.set.iter().any(|(set, _)| set == key) {
            let message = format!("--over {key}=… and --set {key}=…: one of them decides");
            return Err(Error::Argument(message));
        }
        Ok([&self.set[..], &[(key.to_owned(), value.to_owned())]].concat())
    }

    pub(super) fn scenario(&self) -> Result<Scenario> {
        scenarios::find(&self.scenario, &self.set)
    }
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("must be KEY=VALUE".to_owned()),
    }
}

/// Choice of features.
#[derive(Debug, Args)]
pub(super) struct FeatureArguments {
    /// A feature, as x3 or 3; may be given several times [default: all]
    #[arg(long, value_name = "S", value_delimiter = ',')]
    feature: Vec<String>,
}

impl FeatureArguments {
    pub(super) fn of(&self, scenario: &Scenario) -> Result<Vec<usize>> {
        if let Some(pair) = self.feature.iter().find(|word| features::is_pair(word)) {
            let message = format!("--feature {pair}: this is of one feature, and not of pairs");
            return Err(Error::Argument(message));
        }
        features::features(scenario, &self.feature)
            .map_err(|message| Error::Argument(format!("--feature: {message}")))
    }

    /// Features and pairs of features, none if none is named.
    pub(super) fn subjects(&self, scenario: &Scenario) -> Result<Vec<Subject>> {
        let feature = |name: &str| features::feature_of(scenario, name);
        let name = |feature| scenario.feature_name(feature);
        features::subjects(&self.feature, scenario.dimension(), feature, name)
            .map_err(|message| Error::Argument(format!("--feature: {message}")))
    }

    /// True if a pair of features is named.
    pub(super) fn has_pairs(&self) -> bool {
        self.feature.iter().any(|word| features::is_pair(word))
    }

    /// The features asked for or, if none is named, the given ones.
    pub(super) fn or(&self, scenario: &Scenario, default: Vec<usize>) -> Result<Vec<usize>> {
        if self.feature.is_empty() { Ok(default) } else { self.of(scenario) }
    }

    /// The single feature that is asked for.
    pub(super) fn single(&self, scenario: &Scenario, why: &str) -> Result<usize> {
        match self.of(scenario)?[..] {
            [feature] => Ok(feature),
            _ => Err(Error::Argument(format!("{why} needs one --feature"))),
        }
    }
}

/// Choice of features of data that have names.
#[derive(Debug, Args)]
pub(super) struct DataFeatures {
    /// A feature: its column, or x3 or 3, or a pair such as x1:x2, or all-pairs; may be given several times
    /// [default: all]
    #[arg(long, value_name = "S", value_delimiter = ',')]
    feature: Vec<String>,
}

/// Features and pairs of features that were chosen.
pub(super) struct Chosen {
    /// Features, counted from 0.
    pub(super) features: Vec<usize>,
    /// Pairs of them.
    pub(super) pairs: Vec<[usize; 2]>,
    /// True if none was named, so that all features are meant.
    pub(super) is_all: bool,
}

impl Chosen {
    fn all(dimension: usize) -> Self {
        Self { features: (0..dimension).collect(), pairs: Vec::new(), is_all: true }
    }

    fn of(subjects: Vec<Subject>) -> Self {
        let mut chosen = Self { features: Vec::new(), pairs: Vec::new(), is_all: false };
        for subject in subjects {
            match subject {
                Subject::One(feature) => chosen.features.push(feature),
                Subject::Two(pair) => chosen.pairs.push(pair),
            }
        }
        chosen
    }
}

impl DataFeatures {
    /// Features and pairs of features of a scenario.
    pub(super) fn chosen(&self, scenario: &Scenario) -> Result<Chosen> {
        if self.is_all() {
            return Ok(Chosen::all(scenario.dimension()));
        }
        let feature = |name: &str| features::feature_of(scenario, name);
        let name = |feature| scenario.feature_name(feature);
        let subjects = features::subjects(&self.feature, scenario.dimension(), feature, name);
        subjects.map(Chosen::of).map_err(|message| Error::Argument(format!("--feature: {message}")))
    }

    /// Features and pairs of features by names of columns.
    pub(super) fn chosen_of_names(&self, names: &[String]) -> Result<Chosen> {
        if self.is_all() {
            return Ok(Chosen::all(names.len()));
        }
        let feature = |name: &str| features::named_feature(name, names);
        // A column may have a colon in its name.
        let is_column = |word: &String| names.contains(word);
        if self.feature.iter().any(is_column)
            && self.feature.iter().all(|word| is_column(word) || !word.contains(':'))
        {
            let features = self.of_names(names)?;
            return Ok(Chosen { features, pairs: Vec::new(), is_all: false });
        }
        let subjects = features::subjects(&self.feature, names.len(), feature, |feature| {
            names[feature].clone()
        });
        subjects.map(Chosen::of).map_err(|message| Error::Argument(format!("--feature: {message}")))
    }

    fn is_all(&self) -> bool {
        self.feature.is_empty() || self.feature == ["all"]
    }

    pub(super) fn of_names(&self, names: &[String]) -> Result<Vec<usize>> {
        if self.is_all() {
            return Ok((0..names.len()).collect());
        }
        let wrong = |message: String| Error::Argument(format!("--feature: {message}"));
        let features = self.feature.iter().map(|name| features::named_feature(name, names));
        let features = features.collect::<Result<_, _>>().map_err(wrong)?;
        features::distinct(features, |feature| names[feature].clone()).map_err(wrong)
    }
}

/// A finite number.
pub(super) fn finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("must be a finite number".to_owned()),
    }
}

/// A finite number above 0.
pub(super) fn above_zero(text: &str) -> Result<f64, String> {
    finite(text).and_then(|x| if x > 0.0 { Ok(x) } else { Err("must be above 0".to_owned()) })
}

/// Two numbers, the first below the second.
pub(super) fn interval(text: &str) -> Result<(f64, f64), String> {
    let ends = text.split(',').map(finite).collect::<Result<Vec<f64>, String>>()?;
    match ends[..] {
        [lo, hi] if lo < hi => Ok((lo, hi)),
        _ => Err("must be LO,HI with LO below HI".to_owned()),
    }
}

/// The name of a feature, for people.
pub(super) fn feature_name(feature: usize) -> String {
    format!("x{}", feature + 1)
}

/// A number of rows, as `1000` or `1e3`.
pub(super) fn rows(text: &str) -> Result<usize, String> {
    let number = count(text).ok().filter(|number| *number > 0);
    number.ok_or_else(|| "must be a whole number above 0".to_owned())
}

/// A whole number, as `1000` or `1e3`.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let number = text.trim().parse::<usize>().ok();
    let number = number.or_else(|| text.trim().parse::<f64>().ok().and_then(whole_of));
    number.ok_or_else(|| "must be a whole number, at least 0".to_owned())
}

/// A seed of random numbers.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("must be a whole number from 0 to {}", u64::MAX))
}

/// The most points that are printed.
const MOST_POINTS: usize = 10_000_000;

/// A number of points.
pub(super) fn points(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number) if (1..=MOST_POINTS).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from 1 to {MOST_POINTS}")),
    }
}

/// A point of a list, and the first point of the second list where it begins there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) value: f64,
    pub(super) turn: Option<f64>,
}

/// Reads a point, or two with the colon between that ends a list and begins the next one.
pub(super) fn place(text: &str) -> Result<Place, String> {
    Ok(match text.split_once(':') {
        None => Place { value: finite(text)?, turn: None },
        Some((value, turn)) => Place { value: finite(value)?, turn: Some(finite(turn)?) },
    })
}

/// Numbers of points of one feature, or of two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid(pub(super) usize, pub(super) Option<usize>);

pub(super) fn grid(text: &str) -> Result<Grid, String> {
    Ok(match text.split_once('x') {
        None => Grid(points(text)?, None),
        Some((first, second)) => Grid(points(first)?, Some(points(second)?)),
    })
}

/// The points of either feature of a pair, from places with one colon among them.
pub(super) fn lists_of_places(places: &[Place]) -> Result<[Vec<f64>; 2]> {
    let mut lists = [Vec::new(), Vec::new()];
    let mut side = 0;
    for place in places {
        lists[side].push(place.value);
        if let Some(turn) = place.turn {
            if side == 1 {
                return Err(Error::Argument("--at has more than two lists".to_owned()));
            }
            side = 1;
            lists[side].push(turn);
        }
    }
    if side == 0 {
        let message = "--at of a pair has two lists with a colon between: --at=U,V:W,Z";
        return Err(Error::Argument(message.to_owned()));
    }
    Ok(lists)
}

/// A word that the core knows.
pub(super) fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|e| e.to_string())
}

/// The values of the names of a flag, each once; `all` names all of them.
pub(super) fn named<T: FromStr<Err: Display> + Copy + PartialEq + Display>(
    names: &[String],
    flag: &str,
    all: &[T],
) -> Result<Vec<T>> {
    let mut asked: Vec<T> = Vec::new();
    for name in names {
        if name == "all" {
            asked.extend(all);
        } else {
            let one = name.parse().map_err(|error: T::Err| Error::Argument(error.to_string()));
            asked.push(one?);
        }
    }
    match asked.iter().enumerate().find(|(place, one)| asked[..*place].contains(one)) {
        None => Ok(asked),
        Some((_, twice)) => Err(Error::Argument(format!("--{flag}: {twice} is asked for twice"))),
    }
}
