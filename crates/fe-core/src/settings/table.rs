//! The table of options. A row gives a field of [`Settings`], the key in study files, the flag with its help, the
//! argument in Python, and a line of the lists.

use serde::{Deserialize, Serialize};

use super::kinds::{Heading, SettingInfo, SettingType};
use super::scheme::Scheme;
use super::words::{
    BandKind, CenterRule, Centring, Correction, EmptyBins, Interpolation, Interval, Jacobian,
    LevelOrder, Splitting,
};
use crate::data::AxisChoice;
use crate::numeric::partition::Closed;
use crate::numeric::quantiles::QuantileRule;
use crate::numeric::spline::Smoothing;

macro_rules! settings {
    ($($(#[doc = $about:literal])+ $name:ident: $type:ty [$($set:ident($($to:expr),*)),* $(,)?],)+) => {
        /// Options of estimators and binnings; an option that is not given takes the estimator's default.
        ///
        /// ```
        /// use fe_core::{Settings, estimator};
        /// let settings = Settings { bins: Some(40), ..Settings::default() };
        /// let rhale = estimator::from_settings("rhale", &settings).unwrap();
        /// assert!(estimator::from_settings("pdp", &settings).is_err(), "pdp has no bins");
        /// # drop(rhale);
        /// ```
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Settings {
            $($(#[doc = $about])+ pub $name: Option<$type>,)+
        }

        /// All options.
        pub const ALL: &[SettingInfo] = &[
            $(SettingInfo::of::<$type>(stringify!($name), concat!($($about),+))$(.$set($($to),*))*,)+
        ];

        impl Settings {
            /// Names of the options that are given.
            #[must_use]
            pub fn given(&self) -> Vec<&'static str> {
                let options = [$((stringify!($name), self.$name.is_some())),+];
                options.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect()
            }

            /// Gives the option of a name the value that a text says; nothing happens if there is no such option.
            ///
            /// # Errors
            /// What is wrong with the text.
            ///
            /// ```
            /// let mut settings = fe_core::Settings::default();
            /// settings.read("bins", "40").unwrap();
            /// assert_eq!(settings.bins, Some(40));
            /// assert!(settings.read("center", "centre").unwrap_err().contains("integral"));
            /// ```
            pub fn read(&mut self, name: &str, text: &str) -> Result<(), String> {
                match name {
                    $(stringify!($name) => self.$name = Some(<$type>::read(text)?),)+
                    _ => {}
                }
                Ok(())
            }

            /// Takes an option back; nothing happens if there is no such option.
            ///
            /// ```
            /// let mut settings = fe_core::Settings { bins: Some(5), ..Default::default() };
            /// settings.clear("bins");
            /// assert!(settings.given().is_empty());
            /// ```
            pub fn clear(&mut self, name: &str) {
                match name {
                    $(stringify!($name) => self.$name = None,)+
                    _ => {}
                }
            }

            /// Each option where it is given, and that of `other` where it is not.
            pub(super) fn or_each(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name)),+ }
            }
        }
    };
}

settings! {
    /// Draw so many of the rows first, the same for every feature
    subsample: usize [value("N"), heading(Heading::Rows)],
    /// Which rows are drawn
    subsample_seed: u64 [value("SEED"), default("0"), heading(Heading::Rows)],
    /// The way in which bins are chosen; see `fe-bench list binnings`
    binning: String [value("KIND"), heading(Heading::Bins), usually("fixed; dp for rhale, quantile for mplot")],
    /// Number of bins, or of the cells that automatic bins are made of
    bins: usize [value("K"), heading(Heading::Bins), usually("20; 20000 for penalized")],
    /// Limits of bins, for the binning grid
    limits: Vec<f64> [value("Z0,Z1,…"), heading(Heading::Bins), help("Limits of bins, for --binning grid; \
              S=Z0,Z1,… are those of one feature, which then has them whatever the others have")],
    /// Least number of instances in an automatic bin
    min_points: f64 [value("M"), heading(Heading::Bins), usually("N/20; 4 for quantile-min, none for quantile")],
    /// Discount α of RHALE eq. 13
    discount: f64 [value("A"), heading(Heading::Bins), usually("0.2")],
    /// Quantiles: type-7, type-1, type-1-below or cunnane
    quantiles: QuantileRule [value("RULE"), heading(Heading::Bins), usually("type-7")],
    /// Up to so many distinct values are themselves the limits of equal or quantile bins, or the grid
    distinct: usize [
        value("N"), heading(Heading::Bins), default("as many as equal bins, each for two rows on average"),
    ],
    /// `mplot` over the nearest instances, at least so many, at each point of a grid instead of bins
    nearest: usize [value("M"), heading(Heading::Bins)],
    /// data, scenario, LO,HI, or RULE:P,Q for quantiles as in `quantiles`
    axis: AxisChoice [
        value("AXIS"), default("data"),
        help("data, scenario, LO,HI, or RULE:P,Q for quantiles as in --quantiles"),
    ],
    /// none, start, integral, data or bins
    center: Centring [value("CENTRING"), default("integral; none for dpdp, dice; data for pairs of ale")],
    /// Means over the axis: exact, points or midpoints
    center_rule: CenterRule [value("RULE"), usually("exact")],
    /// Number of points of a rule that is not exact
    center_points: usize [value("N")],
    /// Of a pair's partial dependence only what the two features do not do each on its own
    interaction: bool [usually("false")],
    /// What is subtracted from the number of instances in a variance: 0 or 1
    ddof: u8 [value("DDOF"), usually("0; 1 for dale, rhale")],
    /// Bins without instances: interpolate, interpolate-index, zero, merge or error; cells of two features:
    /// nearest, zero or error
    empty: EmptyBins [value("POLICY"), heading(Heading::Bins), usually("interpolate; nearest for pairs")],
    /// Fill undefined variances in the heterogeneity curve from other bins
    fill_variances: bool [heading(Heading::Bins), usually("false")],
    /// The end of a bin that belongs to it: left or right
    closed: Closed [value("END"), heading(Heading::Bins), usually("left")],
    /// Order of the levels of nominal features along which `ale` accumulates: given, name, frequency,
    /// response or similarity
    order: LevelOrder [value("ORDER"), heading(Heading::Levels), default("given")],
    /// Heterogeneity of `ale` from differences as they are, not divided by the width of their bin
    undivided: bool [usually("false")],
    /// Heterogeneity of ICE curves as they are, not each centred by its own mean
    raw_ice: bool [default("true for dpdp, dice")],
    /// Heterogeneity of the grid also between its points, linearly, as effector has it
    grid_heterogeneity: bool [usually("false")],
    /// Only the curve of pdp or dpdp: the heterogeneity stays undefined, which saves time
    curve_only: bool [usually("false")],
    /// Between bin limits: linear or step; for mplot between centres of bins
    interpolation: Interpolation [value("INTERPOLATION"), default("linear; step for mplot")],
    /// Continue constantly beyond the limits, instead of an error
    extrapolate: bool [usually("false")],
    /// The mean of the model over the rows as well
    mean_prediction: bool [usually("false")],
    /// How much the curve varies over the rows as well, in JSON: its standard deviation there, for slopes the
    /// mean of their absolute values times the standard deviation of the feature
    importance: bool [usually("false")],
    /// Ask the model value by value, also where its structure (trees, splines) tells the same without that
    brute: bool [usually("false")],
    /// Confidence band of the effect of this model: analytic, bootstrap, or bins (each bin alone, as PyALE); or of that
    /// to be expected of the learner: refit
    band: BandKind [value("KIND"), heading(Heading::Bands)],
    /// Confidence level of the band
    level: f64 [value("L"), heading(Heading::Bands), default("0.95")],
    /// Number of resamples of the rows, for the band bootstrap
    resamples: usize [
        value("B"), heading(Heading::Bands), default("500"),
        help("Number of resamples of the rows, for --band bootstrap"),
    ],
    /// Where the random numbers of the band come from
    band_seed: u64 [value("SEED"), heading(Heading::Bands), default("0")],
    /// Choose bins anew in every resample, instead of holding them
    rebin: bool [heading(Heading::Bands), usually("false")],
    /// Limits from resamples: percentile or studentised
    interval: Interval [value("HOW"), heading(Heading::Bands), default("percentile")],
    /// Number of refits of the learner, for the band refit
    refits: usize [
        value("M"), heading(Heading::Bands), default("30"),
        help("Number of refits of the learner, for --band refit"),
    ],
    /// The rows of each refit, the others being left out: bootstrap (as many, drawn with replacement), subsample:SHARE
    /// (without) or cv:FOLDS (all but a fold)
    resampling: Scheme [
        value("HOW"), heading(Heading::Bands), default("bootstrap; subsample:0.5 of trees, as gbdt"),
    ],
    /// What the variance over refits is multiplied by: jackknife (n_train/n_test, or 1 with replacement, around the effect
    /// of the model of all rows) or nadeau-bengio (1/m + n_test/n_train, around the mean over refits)
    correction: Correction [value("HOW"), heading(Heading::Bands), default("jackknife")],
    /// Permutations of the feature for a second test that its effect is flat, each with a refit of the learner
    flat_permutations: usize [value("B"), heading(Heading::Bands)],
    /// Permutations of the residuals of an additive fit for a second test that two features do not interact, each with a
    /// refit of the learner
    residual_permutations: usize [value("B"), heading(Heading::Bands)],
    /// Derivatives: model, numeric, or auto (the model's where it has them)
    jacobian: Jacobian [value("JACOBIAN"), usually("auto")],
    /// Half-width of numeric derivatives, as a share of the axis
    step: f64 [value("STEP"), usually("6.055e-6")],
    /// Background rows of Shapley values: a number to draw, or all
    background: usize [value("N|all"), heading(Heading::Shapley), default("all")],
    /// The background rows themselves, with the same features
    background_rows: Vec<Vec<f64>> [
        value("FILE.csv"), heading(Heading::Shapley),
        help("The background rows themselves: a CSV file with the same features"),
    ],
    /// The Shapley values themselves as well, in JSON
    shapley_values: bool [heading(Heading::Shapley), usually("false")],
    /// Which background rows are drawn
    background_seed: u64 [value("SEED"), heading(Heading::Shapley), default("0")],
    /// Pairs of permutations for each row
    permutations: usize [
        value("PAIRS"), heading(Heading::Shapley), default("all coalitions up to 12 features, 32 pairs above"),
    ],
    /// Which permutations are drawn
    shapley_seed: u64 [value("SEED"), heading(Heading::Shapley), default("0")],
    /// How the spline through Shapley values is smoothed: gcv or reml
    smoothing: Smoothing [value("SMOOTHING"), heading(Heading::Shapley), default("gcv")],
    /// Number of points that pdp, dpdp, ice, dice, shapdp and mplot with `nearest` are computed on
    grid: usize [
        value("N"), usually("100"),
        help("Number of points that pdp, dpdp, ice, dice, shapdp and mplot --nearest are computed on [default: 100]; \
              for other estimators the same as --points"),
    ],
    /// So many further equidistant points over the axis at which an effect on a grid is computed exactly
    even_points: usize [
        flag("points"), value("N"),
        help("The effect is given at so many equidistant points over the axis [default: the grid, or bin limits]"),
    ],
    /// Further points at which an effect on a grid is computed exactly
    points: Vec<f64> [
        flag("at"), value("V,V,…"), help("Points at which the effect is given; with --points at those too"),
    ],
    /// Most levels of the tree
    depth: usize [value("L"), heading(Heading::Regions), default("2")],
    /// Positions at which a numeric feature may be split
    candidates: usize [value("P"), heading(Heading::Regions), default("19")],
    /// Least relative drop of heterogeneity for which a split is kept
    drop: f64 [value("E"), heading(Heading::Regions), default("0.05")],
    /// Least number of instances in a region
    leaf: f64 [value("M"), heading(Heading::Regions), default("10")],
    /// levelwise (one rule for all regions of a level) or cart (each its own)
    partition: Splitting [value("HOW"), heading(Heading::Regions), default("levelwise")],
    /// Split nominal features into sets of levels too, the beginning and the end of each order that `ale` has
    subsets: bool [heading(Heading::Regions), default("false")],
    /// The heterogeneity value that regions lower
    heterogeneity: String [
        value("NAME"), heading(Heading::Regions),
        default("integral; mean_grid for pdp and dpdp, mean_residual for shapdp"),
    ],
}

/// The option of a name.
#[must_use]
pub fn info(name: &str) -> Option<&'static SettingInfo> {
    ALL.iter().find(|setting| setting.option.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SettingKind;

    #[test]
    fn what_is_said_of_an_option_names_its_words() {
        for setting in ALL.iter().filter(|setting| setting.kind == SettingKind::Word) {
            let (name, about) = (setting.option.name, setting.option.about);
            assert_eq!(setting.option.allowed, setting.words.join(", "));
            for word in setting.words {
                assert!(about.contains(word), "{name}: {about} does not say `{word}`");
                Settings::default().read(name, word).unwrap();
            }
            let default = setting.option.default.split(';').next().unwrap_or_default();
            assert!(default.is_empty() || setting.words.contains(&default), "{name}: {default}");
        }
    }

    #[test]
    fn every_option_is_written_and_read_by_its_name() {
        let written = serde_json::to_value(Settings::default()).unwrap();
        let names: Vec<&str> = ALL.iter().map(|setting| setting.option.name).collect();
        assert_eq!(written.as_object().unwrap().len(), names.len());
        for name in names {
            assert!(written.get(name).is_some(), "{name}");
        }
    }
}
