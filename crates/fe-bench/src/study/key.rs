//! The key of a value: what identifies it, from the study that asks for it to the table that prints it.
//!
//! A new column is a line of [`Key`] below, and its value where keys are made: of estimators in
//! [`variants`](super::variants), of datasets in `run`, and of what is expected in `values`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Index, IndexMut};

use crate::system::spelling::otherwise;

/// The columns that identify a value: for each the field of [`Key`], its variant of [`Column`], and its name
/// in files and flags, in the order of files.
macro_rules! columns {
    ($($(#[$about:meta])* $field:ident $column:ident $name:literal)*) => {
        /// A column that identifies values.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Column {
            $($(#[$about])* $column,)*
        }

        impl Column {
            /// All columns, in the order of files.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$column),*];

            /// Their names, in the same order.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name),*];

            /// Its name in files and flags.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$column => $name,)* }
            }
        }

        /// The identity of a value: a field for each [`Column`], empty where it does not apply.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct Key<T = String> {
            $($(#[$about])* pub $field: T,)*
        }

        impl<T> Key<T> {
            /// The key of what is made of the fields of another.
            fn map<'a, U>(&'a self, of: impl Fn(&'a T) -> U) -> Key<U> {
                Key { $($field: of(&self.$field),)* }
            }
        }

        impl<T> Index<Column> for Key<T> {
            type Output = T;

            fn index(&self, column: Column) -> &T {
                match column { $(Column::$column => &self.$field,)* }
            }
        }

        impl<T> IndexMut<Column> for Key<T> {
            fn index_mut(&mut self, column: Column) -> &mut T {
                match column { $(Column::$column => &mut self.$field,)* }
            }
        }
    };
}

columns! {
    /// Name of the study.
    study Study "study"
    /// The scenario with its version.
    scenario Scenario "scenario"
    /// Its parameters.
    parameters Parameters "parameters"
    /// Name of the feature.
    feature Feature "feature"
    /// Name of a second feature, of effects of two.
    feature2 Feature2 "feature2"
    /// The output of the model, counted from 1.
    output Output "output"
    /// Name of the estimator, or of an engine and its effect.
    estimator Estimator "estimator"
    /// The preset that its options come from.
    preset Preset "preset"
    /// Binning: the way in which its bins are chosen.
    binning Binning "binning"
    /// Number of its bins.
    bins Bins "K"
    /// Centring of its curve where it is compared.
    centring Centring "centring"
    /// Treatment of bins without instances.
    empty_bins EmptyBins "empty_bins"
    /// Its other options.
    options Options "options"
    /// Number of rows.
    rows Rows "N"
    /// Ratio of signal to noise of the target; empty where nothing reads one.
    snr Snr "snr"
    /// Number of the dataset, counted from 0; empty for what is made of all of them.
    replicate Replicate "replicate"
    /// The two effects that are compared.
    pair Pair "pair"
    /// On which rows a model is fitted and explained; empty without a model.
    split Split "split"
    /// The metric; empty for what is known of the estimate itself.
    metric Metric "metric"
}

impl Column {
    /// The column of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let find = |name: &str| Self::ALL.into_iter().find(|column| column.name() == name);
        find(name).or_else(|| find(&otherwise(name)?))
    }

    /// True if it says how an effect is estimated: these tell apart what competes for the same truth on the
    /// same data.
    #[must_use]
    pub fn is_of_variant(self) -> bool {
        use Column::{Binning, Bins, Centring, EmptyBins, Estimator, Options, Preset};
        matches!(self, Estimator | Preset | Binning | Bins | Centring | EmptyBins | Options)
    }

    /// Those of an estimate: all but the metric.
    pub fn of_estimates() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.into_iter().filter(|column| *column != Self::Metric)
    }

    /// Those of a mean over datasets: all but the replicate.
    pub fn of_means() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.into_iter().filter(|column| *column != Self::Replicate)
    }
}

impl<'a> Key<&'a str> {
    /// The key of a line with these columns; the others are empty.
    pub(crate) fn read(
        columns: impl IntoIterator<Item = Column>,
        fields: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut key = Self::default();
        columns.into_iter().zip(fields).for_each(|(column, field)| key[column] = field);
        key
    }

    /// A key of its own.
    #[must_use]
    pub fn owned(&self) -> Key {
        self.map(|field| (*field).to_owned())
    }
}

impl Key {
    /// The same key, with words of this one.
    #[must_use]
    pub fn borrowed(&self) -> Key<&str> {
        self.map(String::as_str)
    }
}

impl<T: AsRef<str>> Key<T> {
    /// Its fields under some columns.
    pub(crate) fn fields(
        &self,
        columns: impl IntoIterator<Item = Column>,
    ) -> impl Iterator<Item = &str> {
        columns.into_iter().map(|column| self[column].as_ref())
    }

    /// The feature or the pair of features that it is of, or f.
    #[must_use]
    pub fn subject(&self) -> String {
        match [self.feature.as_ref(), self.feature2.as_ref()] {
            ["", _] => "f".to_owned(),
            [feature, ""] => feature.to_owned(),
            [feature, feature2] => format!("{feature}:{feature2}"),
        }
    }

    /// A fingerprint, where there are too many keys to be kept: 128 bits that differ where keys do.
    pub(crate) fn fingerprint(&self) -> u128 {
        let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
        halves[1].write_u8(1);
        let fields = self.fields(Column::ALL);
        fields.for_each(|word| halves.iter_mut().for_each(|half| word.hash(half)));
        let [high, low] = halves.map(|half| u128::from(half.finish()));
        high << 64 | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_under_some_columns_is_written_under_them() {
        assert_eq!(Column::ALL.map(Column::name), Column::NAMES);
        for columns in [Column::ALL.to_vec(), Column::of_means().collect()] {
            let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
            let key = Key::read(columns.iter().copied(), names.iter().copied()).owned();
            assert_eq!(key.fields(columns.iter().copied()).collect::<Vec<_>>(), names);
            assert_eq!(key.replicate.is_empty(), !columns.contains(&Column::Replicate));
            assert!(names.iter().all(|name| key[Column::named(name).unwrap()] == *name));
        }
    }

    #[test]
    fn keys_that_differ_in_any_field_have_other_fingerprints() {
        let of = |column: Column| {
            let mut key = Key::<&str>::default();
            key[column] = "x";
            key.fingerprint()
        };
        let all: std::collections::HashSet<u128> = Column::ALL.into_iter().map(of).collect();
        assert_eq!(all.len(), Column::ALL.len());
    }
}
