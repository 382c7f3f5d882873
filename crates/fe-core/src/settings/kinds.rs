//! Types of options: how each is read from text, and what is said of it.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};
use strum::VariantNames;

use super::scheme::Scheme;
use super::words::{
    BandKind, CenterRule, Centring, Correction, EmptyBins, Interpolation, Interval, Jacobian,
    LevelOrder, Splitting,
};
use crate::data::AxisChoice;
use crate::numeric::partition::Closed;
use crate::numeric::quantiles::QuantileRule;
use crate::numeric::spline::Smoothing;
use crate::option::OptionInfo;

/// The type of an option, as programs that hand options over must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SettingKind {
    /// A whole number.
    Count,
    /// A whole number that random numbers come from.
    Seed,
    /// A small whole number.
    Digit,
    /// A number.
    Number,
    /// Yes or no.
    Flag,
    /// One of the words in [`SettingInfo::words`].
    Word,
    /// A registered name.
    Name,
    /// A scheme of resampling, with its share or number of folds.
    Scheme,
    /// Numbers.
    Numbers,
    /// Rows of numbers.
    Rows,
    /// An axis.
    Axis,
}

/// The section of the help that an option stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Heading {
    /// Those about the rows, which come first.
    Rows,
    /// Those without a section of their own.
    General,
    /// Those about bins.
    Bins,
    /// Those about features with levels.
    Levels,
    /// Those about confidence bands.
    Bands,
    /// Those about Shapley values.
    Shapley,
    /// Those about regions.
    Regions,
}

impl Heading {
    /// Its title; none for those that come first.
    #[must_use]
    pub fn title(self) -> Option<&'static str> {
        match self {
            Self::Rows | Self::General => None,
            Self::Bins => Some("Bins"),
            Self::Levels => Some("Levels"),
            Self::Bands => Some("Confidence bands"),
            Self::Shapley => Some("Shapley values"),
            Self::Regions => Some("Regions"),
        }
    }
}

/// An option of estimators: a row of the table, [`ALL`](super::ALL).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its name, default, allowed values and meaning.
    pub option: OptionInfo,
    /// Its type.
    pub kind: SettingKind,
    /// The words it may be, if it is a [`SettingKind::Word`].
    pub words: &'static [&'static str],
    /// The name of its flag, without dashes before it.
    pub flag: &'static str,
    /// The placeholder of its value in the help.
    pub value: &'static str,
    /// The help of its flag.
    pub help: &'static str,
    /// True if the help tells the default after that.
    pub says_default: bool,
    /// The section of the help.
    pub heading: Heading,
}

impl SettingInfo {
    pub(super) const fn of<T: SettingType>(name: &'static str, about: &'static str) -> Self {
        let about = about.trim_ascii();
        Self {
            option: OptionInfo { name, default: "", allowed: T::ALLOWED, about },
            kind: T::KIND,
            words: T::WORDS,
            flag: name,
            value: "",
            help: about,
            says_default: false,
            heading: Heading::General,
        }
    }

    /// With a default that its help tells.
    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { says_default: true, ..self.usually(default) }
    }

    /// With a default that its help tells in other words, or not at all.
    pub(super) const fn usually(self, default: &'static str) -> Self {
        Self { option: OptionInfo { default, ..self.option }, ..self }
    }

    pub(super) const fn value(self, value: &'static str) -> Self {
        Self { value, ..self }
    }

    pub(super) const fn heading(self, heading: Heading) -> Self {
        Self { heading, ..self }
    }

    /// With a flag of another name.
    pub(super) const fn flag(self, flag: &'static str) -> Self {
        Self { flag, ..self }
    }

    /// With a help that speaks of flags.
    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}

/// A type that an option may have.
pub trait SettingType: Sized {
    /// Its kind.
    const KIND: SettingKind;
    /// Its values in words.
    const ALLOWED: &'static str;
    /// Its words, if it has any.
    const WORDS: &'static [&'static str] = &[];

    /// Reads a value as it is written in a flag.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(text: &str) -> Result<Self, String>;
}

macro_rules! parsed {
    ($($type:ty, $kind:ident, $allowed:literal, $wrong:literal;)+) => {$(
        impl SettingType for $type {
            const KIND: SettingKind = SettingKind::$kind;
            const ALLOWED: &'static str = $allowed;

            fn read(text: &str) -> Result<Self, String> {
                text.trim().parse().map_err(|_| $wrong.to_owned())
            }
        }
    )+};
}

parsed! {
    u64, Seed, "a whole number", "must be a whole number, at least 0";
    u8, Digit, "0 or 1", "must be 0 or 1";
    f64, Number, "a number", "must be a number";
    bool, Flag, "true or false", "must be true or false";
    String, Name, "a name", "must be a name";
}

impl SettingType for Scheme {
    const KIND: SettingKind = SettingKind::Scheme;
    const ALLOWED: &'static str = Self::ALLOWED;

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }
}

impl SettingType for usize {
    const KIND: SettingKind = SettingKind::Count;
    const ALLOWED: &'static str = "a whole number";

    /// As `1000` or `1e3`.
    fn read(text: &str) -> Result<Self, String> {
        const MOST: f64 = (1_u64 << 53) as f64;
        let whole = |x: &f64| x.fract() == 0.0 && (0.0..=MOST).contains(x);
        let number = || text.trim().parse().ok().filter(whole).map(|x: f64| x as Self);
        let count = text.trim().parse().ok().or_else(number);
        count.ok_or_else(|| "must be a whole number, at least 0".to_owned())
    }
}

impl SettingType for Vec<f64> {
    const KIND: SettingKind = SettingKind::Numbers;
    const ALLOWED: &'static str = "numbers";

    fn read(text: &str) -> Result<Self, String> {
        text.split(',').map(f64::read).collect()
    }
}

impl SettingType for Vec<Vec<f64>> {
    const KIND: SettingKind = SettingKind::Rows;
    const ALLOWED: &'static str = "rows of numbers, one for each feature";

    fn read(text: &str) -> Result<Self, String> {
        text.split(';').map(Vec::<f64>::read).collect()
    }
}

impl SettingType for AxisChoice {
    const KIND: SettingKind = SettingKind::Axis;
    const ALLOWED: &'static str = "data, two numbers, or two quantiles";

    fn read(text: &str) -> Result<Self, String> {
        match *Vec::<f64>::read(text)? {
            [lo, hi] => Ok(Self::Given(lo, hi)),
            _ => Err("must be LO,HI".to_owned()),
        }
    }
}

macro_rules! words {
    ($($type:ty),+) => {$(
        impl SettingType for $type {
            const KIND: SettingKind = SettingKind::Word;
            const WORDS: &'static [&'static str] = <$type>::VARIANTS;
            const ALLOWED: &'static str = {
                const BYTES: [u8; length(<$type>::VARIANTS)] = joined(<$type>::VARIANTS);
                match std::str::from_utf8(&BYTES) {
                    Ok(words) => words,
                    Err(_) => "",
                }
            };

            fn read(text: &str) -> Result<Self, String> {
                let word: StrDeserializer<'_, WordError> = text.into_deserializer();
                Self::deserialize(word).map_err(|error| error.to_string())
            }
        }
    )+};
}

words!(
    BandKind,
    CenterRule,
    Centring,
    Closed,
    Correction,
    EmptyBins,
    Interpolation,
    Interval,
    Jacobian,
    LevelOrder,
    QuantileRule,
    Smoothing,
    Splitting
);

/// Length of some words with a comma and a space between each two.
const fn length(words: &[&str]) -> usize {
    let (mut length, mut i) = (2 * words.len() - 2, 0);
    while i < words.len() {
        length += words[i].len();
        i += 1;
    }
    length
}

/// Words with a comma and a space between each two.
const fn joined<const N: usize>(words: &[&str]) -> [u8; N] {
    let (mut all, mut at, mut i) = ([b' '; N], 0, 0);
    while i < words.len() {
        let (word, mut j) = (words[i].as_bytes(), 0);
        while j < word.len() {
            all[at] = word[j];
            (at, j) = (at + 1, j + 1);
        }
        i += 1;
        if i < words.len() {
            all[at] = b',';
            at += 2;
        }
    }
    all
}
