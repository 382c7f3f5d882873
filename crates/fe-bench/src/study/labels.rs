//! Labels: what a study calls estimators, options, scenarios, metrics and keys in its tables and figures.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Words of the program, and what stands for them in figures where a study has no labels of its own.
const USUAL: &[(&str, &str)] = &[
    ("pdp", "PDP"),
    ("dpdp", "d-PDP"),
    ("ice", "ICE"),
    ("dice", "d-ICE"),
    ("mplot", "M-plot"),
    ("ale", "ALE"),
    ("dale", "DALE"),
    ("rhale", "RHALE"),
    ("shapdp", "SHAP dependence"),
    ("regional-pdp", "regional PDP"),
    ("regional-dpdp", "regional d-PDP"),
    ("regional-ale", "regional ALE"),
    ("regional-rhale", "regional RHALE"),
    ("regional-shapdp", "regional SHAP dependence"),
    ("fixed", "equal bins"),
    ("quantile", "quantile bins"),
    ("quantile-min", "quantile bins with a minimum"),
    ("grid", "given bins"),
    ("dp", "optimal bins"),
    ("greedy", "greedy bins"),
    ("agglomerative", "agglomerative bins"),
    ("penalized", "penalized bins"),
    ("bins", "number of bins"),
    ("empty_bins", "number of empty bins"),
    ("infeasible", "share without feasible bins"),
    ("mse", "mean squared error"),
    ("mae", "mean absolute error"),
    ("rmse", "root mean squared error"),
    ("max", "largest error"),
    ("L_mu", "error of the bin effects"),
    ("L_sigma", "error of the bin deviations"),
    ("L_rho", "root of the bin error"),
    ("coverage", "coverage"),
    ("width", "width of the band"),
    ("simultaneous_coverage", "simultaneous coverage"),
    ("simultaneous_width", "width of the simultaneous band"),
    ("p_flat", "p-value of a flat effect"),
    ("reject_flat", "share of rejections of a flat effect"),
    ("p_permuted", "p-value of a flat effect by permutations"),
    ("reject_permuted", "share of rejections of a flat effect by permutations"),
    ("heterogeneity_mse", "mean squared error of the heterogeneity"),
    ("deviation_mse", "mean squared error of the deviation"),
    ("heterogeneity_value", "error of the heterogeneity"),
    ("heterogeneity_value_square", "squared error of the heterogeneity"),
    ("heterogeneity_value_sign", "sign of the error of the heterogeneity"),
    ("index_error", "error of the index"),
    ("index_squared_error", "squared error of the index"),
    ("leaf_mse", "mean squared error in the regions"),
    ("region_regret", "regret of the regions"),
    ("split_feature", "share of right first splits"),
    ("split_error", "error of the first split"),
    ("leaves", "number of regions"),
    ("pd", "PD"),
    ("dpd", "d-PD"),
    ("ale-derivative", "ALE of derivatives"),
    ("shap", "mean Shapley value"),
    ("linear", "linear model"),
    ("logistic", "logistic regression"),
    ("gam", "GAM"),
    ("gbdt", "boosted trees"),
    ("mlp", "neural network"),
    ("h2.overall", "H² of features"),
    ("h.overall", "H of features, in f"),
    ("h2.overall.share", "interaction of features, share of Var f"),
    ("h2.pair", "H² of pairs"),
    ("h.pair", "H of pairs, in f"),
    ("h2.pair.share", "interaction of pairs, share of Var f"),
    ("sobol.first", "first-order Sobol' index"),
    ("sobol.total", "total Sobol' index"),
    ("sobol.pair", "Sobol' index of pairs"),
    ("shapley-effect", "Shapley effect, in f²"),
    ("shapley-effect.share", "Shapley effect, share of Var f"),
    ("dgsm", "mean squared derivative"),
    ("permutation", "mean squared change by permutation, in f²"),
    ("pd.sd", "standard deviation of the PD, in f"),
    ("ale.sd", "standard deviation of the ALE, in f"),
    ("ale-derivative.sd", "standard deviation of the ALE of derivatives, in f"),
    ("ale2.sd", "standard deviation of the second-order ALE, in f"),
    ("additive.r2.pd", "R² of the sum of PDs"),
    ("additive.r2.ale", "R² of the sum of ALEs"),
    ("additive.r2.ale-derivative", "R² of the sum of ALEs of derivatives"),
];

/// Parameters of scenarios, and their symbols.
const SYMBOLS: &[(&str, &str)] = &[
    ("rho", "ρ"),
    ("mu1", "μ₁"),
    ("mu2", "μ₂"),
    ("sigma1", "σ₁"),
    ("sigma2", "σ₂"),
    ("alpha", "α"),
];

/// Options that are words, with a value each and what stands for both in figures.
const CHOICES: &[(&str, &str, &str)] = &[
    ("order", "given", "given order"),
    ("order", "name", "order by name"),
    ("order", "frequency", "order by frequency"),
    ("order", "response", "order by response"),
    ("order", "similarity", "order by similarity"),
    ("empty_bins", "interpolate", "empty bins interpolated"),
    ("empty_bins", "interpolate-index", "empty bins interpolated by number"),
    ("empty_bins", "zero", "empty bins as 0"),
    ("empty_bins", "merge", "empty bins merged"),
    ("empty_bins", "nearest", "empty cells as the nearest"),
    ("empty_bins", "error", "empty bins refused"),
    ("interpolation", "linear", "linear interpolation"),
    ("interpolation", "step", "steps"),
    ("jacobian", "model", "derivatives of the model"),
    ("jacobian", "numeric", "numeric derivatives"),
    ("splitting", "levelwise", "split levelwise"),
    ("splitting", "cart", "split as a CART"),
    ("band", "analytic", "analytic band"),
    ("band", "bootstrap", "bootstrap band"),
    ("band", "refit", "band from refits"),
    ("band", "bins", "band of single bins"),
    ("correction", "jackknife", "variance as of a jackknife"),
    ("correction", "nadeau-bengio", "variance by Nadeau and Bengio"),
    ("resampling", "bootstrap", "bootstrapped rows"),
    ("resampling", "subsample", "subsamples of rows"),
    ("resampling", "cv", "folds of rows"),
    ("interval", "percentile", "percentile interval"),
    ("interval", "studentised", "studentised interval"),
];

fn found<'a>(word: &str, among: &[(&str, &'a str)]) -> Option<&'a str> {
    among.iter().find(|(known, _)| *known == word).map(|(_, label)| *label)
}

/// The words for a named value of heterogeneity.
#[must_use]
pub fn heterogeneity(name: &str) -> &str {
    match name {
        "mean_grid" => "mean variance over the grid",
        "mean_grid_sd" => "mean standard deviation over the grid",
        "integral" => "integral of the variance",
        "integral_sd" => "integral of the standard deviation",
        "mean_range" => "mean variance over the axis",
        "mean_sd" => "mean standard deviation over the axis",
        "mean_bins" => "mean variance of the bins",
        "sum_bins" => "sum of the variances of the bins",
        "mean_residual" => "mean squared residual",
        other => other,
    }
}

/// The words for a word of the program where people read it; the word itself where there are none.
#[must_use]
pub fn usual(word: &str) -> &str {
    found(word, USUAL).unwrap_or(word)
}

/// The words for what a curve is centred by; none for one that is not centred.
#[must_use]
pub fn centred(centring: &str) -> Option<&str> {
    match centring {
        "none" | "" => None,
        "start" => Some("0 at the start"),
        "integral" => Some("mean 0 over the axis"),
        "data" => Some("mean 0 over the data"),
        "bins" => Some("mean 0 over the bins"),
        "grid" => Some("mean 0 over the grid"),
        other => Some(other),
    }
}

/// A number with at most four digits, if it has more than are read with ease; all other words as they are.
pub(crate) fn rounded(value: &str) -> String {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    match value.parse::<f64>() {
        Ok(number) if digits > 6 && value.contains('.') && number.is_finite() => {
            let places = 3 - number.abs().log10().floor() as i32;
            if !(0..=12).contains(&places) {
                return format!("{number:.3e}");
            }
            let text = format!("{number:.*}", places as usize);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => value.to_owned(),
    }
}

/// The words of a study and what stands for them in tables and figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels {
    given: BTreeMap<String, String>,
    /// True if words of the program have labels that were not given.
    #[serde(skip)]
    usual: bool,
}

impl Labels {
    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The same for figures: what has no label is called as in papers, and scenarios without their version.
    #[must_use]
    pub fn for_figures(&self) -> Self {
        Self { usual: true, ..self.clone() }
    }

    /// The label of a name that is no word of the program, such as that of a feature, or the name itself.
    #[must_use]
    pub fn of_own<'a>(&'a self, name: &'a str) -> &'a str {
        self.given.get(name).map_or(name, String::as_str)
    }

    /// The label of the name of an option or parameter, or its words.
    #[must_use]
    pub fn of_option<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match (self.own(name), self.usual) {
            (Some(label), _) => label,
            (None, false) => Cow::Borrowed(name),
            (None, true) => match found(name, SYMBOLS) {
                Some(symbol) => Cow::Borrowed(symbol),
                None => Cow::Owned(name.replace('_', "\u{a0}")),
            },
        }
    }

    /// The words for an option or parameter with its value, which is rounded where it is a long number.
    #[must_use]
    pub fn of_setting(&self, name: &str, value: &str) -> String {
        self.of_choice(name, value).map_or_else(
            || format!("{}\u{a0}=\u{a0}{}", self.of_option(name), rounded(value)),
            Cow::into_owned,
        )
    }

    /// The words for an option with a value that is a word; none if they have none together.
    #[must_use]
    pub fn of_choice<'a>(&'a self, name: &str, value: &'a str) -> Option<Cow<'a, str>> {
        let is_meant = |(option, of, _): &&(&str, &str, &str)| *option == name && *of == value;
        let choices = || CHOICES.iter().filter(|_| self.usual && self.own(name).is_none());
        let usual = || choices().find(is_meant).map(|(.., label)| Cow::Borrowed(*label));
        self.own(value).or_else(usual)
    }

    /// The label of a scenario.
    #[must_use]
    pub fn of_scenario<'a>(&'a self, id: &'a str) -> Cow<'a, str> {
        match id.split_once('@') {
            Some((name, _)) if self.usual => self.given(id).unwrap_or(Cow::Borrowed(name)),
            _ => self.of(id),
        }
    }

    /// The label that a study gives a word: its own, that of a scenario whose version is not named, or that of a name before
    /// options in parentheses; none if it gives none.
    #[must_use]
    pub fn own<'a>(&'a self, word: &'a str) -> Option<Cow<'a, str>> {
        if let Some(label) = self.given.get(word) {
            return Some(Cow::Borrowed(label));
        }
        if let Some(label) = word.split_once('@').and_then(|(name, _)| self.given.get(name)) {
            return Some(Cow::Borrowed(label));
        }
        let (name, rest) = word.split_once('(')?;
        self.given.get(name).map(|label| Cow::Owned(format!("{label}({rest}")))
    }

    /// The label of a word of the program; none if it has none.
    #[must_use]
    pub fn given<'a>(&'a self, word: &'a str) -> Option<Cow<'a, str>> {
        let usual = || self.usual.then(|| found(word, USUAL)).flatten();
        self.own(word).or_else(|| usual().map(Cow::Borrowed))
    }

    /// The label of a word, or the word itself.
    #[must_use]
    pub fn of<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        self.given(word).unwrap_or(Cow::Borrowed(word))
    }

    /// The first word that is none of some words.
    #[must_use]
    pub fn unused(&self, is_word: impl Fn(&str) -> bool) -> Option<&str> {
        self.given.keys().map(String::as_str).find(|word| !is_word(word))
    }

    /// Takes up those of another study.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.given.extend(others.given.clone());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_labels_with_and_without_versions_and_options() {
        let labels: Labels = toml::from_str(
            "snc = \"Gaussian\"\nrhale = \"RHALE\"\ndp = \"exact\"\n\"dp(discount=0.2)\" = \"paper's\"",
        )
        .unwrap();
        let of = |word| labels.of(word).into_owned();
        assert_eq!(
            ["snc@1", "rhale", "dp(min_points=3)", "dp(discount=0.2)", "ale"].map(of),
            ["Gaussian", "RHALE", "exact(min_points=3)", "paper's", "ale"]
        );
        assert_eq!(labels.unused(|word| word != "rhale"), Some("rhale"));
    }

    #[test]
    fn figures_have_words_for_all_that_the_program_names() {
        use crate::score::METRICS;
        use fe_core::{binning, estimator, indices, regional};

        let names = estimator::ALL.iter().map(|info| info.name);
        let names = names.chain(binning::ALL.iter().map(|info| info.name));
        let names = names.chain(regional::ALL.iter().map(|info| info.name));
        let names = names.chain(METRICS.iter().map(|metric| metric.name()));
        for name in names.chain(indices::Index::all().map(indices::Index::name)) {
            assert!(USUAL.iter().any(|(known, _)| *known == name), "`{name}` has no label");
        }
        let own: Labels = toml::from_str("ale = \"A\"\nnoise_sd = \"noise\"").unwrap();
        let labels = own.for_figures();
        let of = |word| labels.of(word).into_owned();
        assert_eq!(
            ["ale", "dale", "mse", "x_1"].map(of),
            ["A", "DALE", "mean squared error", "x_1"]
        );
        assert_eq!(
            [labels.of_scenario("snc@1"), labels.of_option("min_points")],
            ["snc", "min\u{a0}points"]
        );
        assert_eq!(
            [
                labels.of_setting("order", "given"),
                labels.of_setting("noise_sd", "0.7071067811865476")
            ],
            ["given order", "noise\u{a0}=\u{a0}0.7071"]
        );
        assert_eq!(own.of_setting("order", "given"), "order\u{a0}=\u{a0}given");
        // A feature may be called like an estimator.
        assert_eq!([labels.of_own("max"), labels.of_own("noise_sd")], ["max", "noise"]);
        assert_eq!([own.of("dale"), own.of_scenario("snc@1")], ["dale", "snc@1"]);
    }

    #[test]
    fn long_numbers_are_rounded() {
        assert_eq!(rounded("0.7071067811865476"), "0.7071");
        assert_eq!(rounded("0.05"), "0.05");
        assert_eq!(rounded("1000000000"), "1000000000");
        assert_eq!(rounded("N/20"), "N/20");
        assert_eq!(rounded("123456.789"), "1.235e5");
    }
}
