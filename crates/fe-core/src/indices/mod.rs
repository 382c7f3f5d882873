//! Indices of interaction and of importance, from data and a model: H, Sobol' indices, Shapley effects and others.
//!
//! May import all but the other modules at the top. Begin with [`estimate`]; each file is a family of indices that share
//! what the model is asked, and `jackknife.rs` says how uncertain they are.

mod accumulated;
mod dependence;
mod jackknife;
mod pick_freeze;
mod shapley_effects;
mod single_rows;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use std::sync::atomic::{AtomicU64, Ordering};

use crate::data::Dataset;
use crate::data::subsample::Subsample;
use crate::error::{Error, Result, suggestion};
use crate::model::Question as ToModel;
use crate::model::structure::Structured;
use crate::model::{Answered, Ask, Asked, Decorator, Model, Observed};

/// A number that says how much of f a feature, a pair of features, or a sum of effects has.
///
/// F are partial dependences, centred over the rows; outer means are over the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// Standard deviation of the partial dependence of a feature, in units of f.
    PdSd,
    /// Standard deviation of its ALE, in units of f.
    AleSd,
    /// The same of the ALE by derivatives.
    AleDerivativeSd,
    /// `Σ(F − F_s − F_rest)² / Σ F²` (Friedman & Popescu 2008, eq. 46).
    H2Overall,
    /// Root of the mean of its numerator, in units of f.
    HOverall,
    /// The same mean over Var f.
    H2OverallShare,
    /// First-order Sobol' index, of independent features.
    SobolFirst,
    /// Total Sobol' index, of independent features.
    SobolTotal,
    /// Shapley effect of the game `v(Q) = Var E[f | X_Q]`, in units of Var f.
    ShapleyEffect,
    /// The same over Var f.
    ShapleyShare,
    /// Mean of (∂_s f)².
    Dgsm,
    /// Mean of the squared change of f where the values of the feature are those of other rows: permutation importance
    /// of the model for its own predictions; under independence twice the total variance.
    Permutation,
    /// `Σ(F_jk − F_j − F_k)² / Σ F_jk²` (Friedman & Popescu 2008, eq. 44).
    H2Pair,
    /// Root of the mean of its numerator, in units of f.
    HPair,
    /// The same mean over Var f.
    H2PairShare,
    /// Standard deviation of the second-order ALE of a pair, in units of f.
    Ale2Sd,
    /// Sobol' index of the interaction of a pair alone, of independent features.
    SobolPair,
    /// `1 − Var(f − Σ F_s) / Var f`.
    AdditiveR2Pd,
    /// The same with ALE in place of PD.
    AdditiveR2Ale,
    /// The same with the ALE by derivatives.
    AdditiveR2AleDerivative,
}

/// Families of indices that are estimated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Dependence,
    Accumulated,
    PickFreeze,
    Shapley,
    Rows,
}

/// A row of the table of indices.
struct Row {
    index: Index,
    name: &'static str,
    /// Number of features that it is of.
    order: usize,
    family: Family,
    about: &'static str,
}

/// All indices, in the order of their variants.
const TABLE: &[Row] = &[
    Row {
        index: Index::PdSd,
        name: "pd.sd",
        order: 1,
        family: Family::Dependence,
        about: "standard deviation of the partial dependence of a feature, in units of f",
    },
    Row {
        index: Index::AleSd,
        name: "ale.sd",
        order: 1,
        family: Family::Accumulated,
        about: "standard deviation of the ALE of a feature, jumps included, in units of f",
    },
    Row {
        index: Index::AleDerivativeSd,
        name: "ale-derivative.sd",
        order: 1,
        family: Family::Accumulated,
        about: "standard deviation of the ALE of a feature by derivatives, in units of f",
    },
    Row {
        index: Index::H2Overall,
        name: "h2.overall",
        order: 1,
        family: Family::Dependence,
        about: "share of f's variance that a feature and the rest do not have each on their own (Friedman and Popescu 2008)",
    },
    Row {
        index: Index::HOverall,
        name: "h.overall",
        order: 1,
        family: Family::Dependence,
        about: "root of the mean numerator of h2.overall, in units of f",
    },
    Row {
        index: Index::H2OverallShare,
        name: "h2.overall.share",
        order: 1,
        family: Family::Dependence,
        about: "mean numerator of h2.overall over Var f",
    },
    Row {
        index: Index::SobolFirst,
        name: "sobol.first",
        order: 1,
        family: Family::PickFreeze,
        about: "first-order Sobol' index, of independent features",
    },
    Row {
        index: Index::SobolTotal,
        name: "sobol.total",
        order: 1,
        family: Family::PickFreeze,
        about: "total Sobol' index, of independent features (Jansen 1999)",
    },
    Row {
        index: Index::ShapleyEffect,
        name: "shapley-effect",
        order: 1,
        family: Family::Shapley,
        about: "Shapley effect, in units of Var f, by nearest neighbours (Broto, Bachoc and Depecker 2020)",
    },
    Row {
        index: Index::ShapleyShare,
        name: "shapley-effect.share",
        order: 1,
        family: Family::Shapley,
        about: "Shapley effect over Var f",
    },
    Row {
        index: Index::Dgsm,
        name: "dgsm",
        order: 1,
        family: Family::Rows,
        about: "mean squared derivative of f",
    },
    Row {
        index: Index::Permutation,
        name: "permutation",
        order: 1,
        family: Family::Rows,
        about: "mean squared change of f where a feature has its values in other rows",
    },
    Row {
        index: Index::H2Pair,
        name: "h2.pair",
        order: 2,
        family: Family::Dependence,
        about: "share of a pair's partial dependence that is interaction (Friedman and Popescu 2008)",
    },
    Row {
        index: Index::HPair,
        name: "h.pair",
        order: 2,
        family: Family::Dependence,
        about: "root of the mean numerator of h2.pair, in units of f",
    },
    Row {
        index: Index::H2PairShare,
        name: "h2.pair.share",
        order: 2,
        family: Family::Dependence,
        about: "mean numerator of h2.pair over Var f",
    },
    Row {
        index: Index::Ale2Sd,
        name: "ale2.sd",
        order: 2,
        family: Family::Accumulated,
        about: "standard deviation of the second-order ALE of a pair, jumps included, in units of f",
    },
    Row {
        index: Index::SobolPair,
        name: "sobol.pair",
        order: 2,
        family: Family::PickFreeze,
        about: "Sobol' index of the interaction of a pair alone, of independent features",
    },
    Row {
        index: Index::AdditiveR2Pd,
        name: "additive.r2.pd",
        order: 0,
        family: Family::Dependence,
        about: "share of Var f that the sum of partial dependences has",
    },
    Row {
        index: Index::AdditiveR2Ale,
        name: "additive.r2.ale",
        order: 0,
        family: Family::Accumulated,
        about: "share of Var f that the sum of ALEs has",
    },
    Row {
        index: Index::AdditiveR2AleDerivative,
        name: "additive.r2.ale-derivative",
        order: 0,
        family: Family::Accumulated,
        about: "share of Var f that the sum of ALEs by derivatives has",
    },
];

impl Index {
    /// All of them: those of a feature, of a pair, and of f.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.index)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Its name, as in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// A description in a line.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// Number of features that it is of: 1, 2, or 0 where it is of f as a whole.
    #[must_use]
    pub fn order(self) -> usize {
        self.row().order
    }

    /// The options of its estimate, as [`IndexOptions`] has them, by their names in files.
    #[must_use]
    pub fn options(self) -> &'static [&'static str] {
        match self.row().family {
            Family::Dependence => &["outer", "background", "background_seed"],
            Family::Accumulated => &["bins"],
            Family::Shapley => &["outer", "background_seed"],
            Family::PickFreeze => &["background_seed"],
            Family::Rows if self == Self::Dgsm => &[],
            Family::Rows => &["background_seed"],
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Index {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Index {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::all().find(|index| index.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            let nearest = suggestion(text, names.iter().copied());
            Error::BadOption {
                option: "indices",
                given: text.to_owned(),
                allowed: format!("must be of {}{nearest}", names.join(", ")),
            }
        })
    }
}

/// Options of indices.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexOptions {
    /// Rows at which partial dependences are compared, and conditional variances taken: at most so many of the data.
    pub outer: usize,
    /// Rows over which partial dependences are averaged: at most so many of the data.
    pub background: usize,
    /// Bins of accumulated effects.
    pub bins: usize,
    /// Seed of the rows that are drawn where there are more.
    pub seed: u64,
    /// True if the model is asked row by row, also where its structure tells the same without that.
    pub brute: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { outer: 1000, background: 1000, bins: 20, seed: 0, brute: false }
    }
}

/// An estimated index.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// Its value.
    pub value: f64,
    /// Its standard error over samples of rows; none where too few groups of rows tell it.
    pub standard_error: Option<f64>,
    /// Degrees of freedom of the standard error: one less than the groups of rows that were left out in turn, or than the
    /// rows of a mean. Too few tell less: the interval is wider.
    pub degrees: usize,
    /// Rows that it is a mean over.
    pub rows: usize,
}

impl Measured {
    /// The confidence level of [`Self::interval`].
    pub const LEVEL: f64 = 0.95;

    /// Its confidence interval of the level [`Self::LEVEL`], by Student's t of its degrees of freedom; none where there is
    /// no standard error.
    ///
    /// ```
    /// use fe_core::indices::Measured;
    /// // Of twenty groups of rows.
    /// let measured = Measured { value: 1.0, standard_error: Some(0.5), degrees: 19, rows: 100 };
    /// let (lower, upper) = measured.interval().unwrap();
    /// assert!((lower + 0.04651).abs() < 1e-4 && (upper - 2.04651).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval_at(Self::LEVEL)
    }

    /// Its confidence interval of another level, between 0 and 1.
    ///
    /// ```
    /// use fe_core::indices::Measured;
    /// let measured = Measured { value: 1.0, standard_error: Some(0.5), degrees: 999, rows: 1000 };
    /// let (lower, upper) = measured.interval_at(0.5).unwrap();
    /// assert!((lower - 0.66263).abs() < 1e-4 && (upper - 1.33737).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn interval_at(&self, level: f64) -> Option<(f64, f64)> {
        let law = StudentsT::new(0.0, 1.0, self.degrees as f64).ok()?;
        let half = law.inverse_cdf(0.5 + level / 2.0) * self.standard_error?;
        Some((self.value - half, self.value + half))
    }
}

/// An index, what it is of, and its estimate or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEstimate {
    /// The index.
    pub index: Index,
    /// The features that it is of, counted from 0: as many as [`Index::order`] says.
    pub features: Vec<usize>,
    /// The output, counted from 0.
    pub output: usize,
    /// The estimate, or the reason why there is none.
    pub estimate: Result<Measured>,
    /// True if the structure of the model told values that it was not asked for one by one; none if it has no
    /// such structure.
    pub by_structure: Option<bool>,
}

/// Estimated indices, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEstimates {
    /// The estimates: for each output those of features, of pairs, and of f.
    pub estimates: Vec<IndexEstimate>,
    /// Rows whose value the model was asked for.
    pub model_rows: u64,
    /// Rows whose derivative the model was asked for.
    pub jacobian_rows: u64,
}

/// A model whose rows are counted, by whichever estimator they are asked.
struct Counted<'a> {
    model: &'a dyn Model,
    values: AtomicU64,
    partials: AtomicU64,
}

impl Decorator for Counted<'_> {
    fn decorated(&self) -> &dyn Model {
        self.model
    }

    fn pass_on(&self, question: ToModel, values: &mut [f64], ask: &mut Ask<'_>) -> Answered {
        let counter = match question.of {
            Asked::Value => &self.values,
            Asked::Partial => &self.partials,
        };
        counter.fetch_add((question.rows * question.times) as u64, Ordering::Relaxed);
        ask(values)
    }
}

/// The question: a model of some data, and the sizes of samples.
struct Question<'a> {
    data: &'a Dataset,
    model: &'a Observed<'a>,
    options: &'a IndexOptions,
}

impl<'a> Question<'a> {
    /// At most so many of the rows, the same whatever their order is.
    fn drawn(&self, rows: usize) -> Result<std::borrow::Cow<'a, Dataset>> {
        let subsample = Subsample::new(Some(rows), Some(self.options.seed))?;
        let counted = self.data;
        Ok(subsample
            .map_or(std::borrow::Cow::Borrowed(counted), |subsample| subsample.draw(counted).0))
    }

    fn outputs(&self) -> usize {
        self.model.model().outputs()
    }

    /// Refuses weights, where rows stand for draws of a law.
    fn check_unweighted(&self, index: Index) -> Result<()> {
        match self.data.weights() {
            None => Ok(()),
            Some(_) => Err(Error::Incompatible(format!(
                "`{index}` takes rows as draws, each as likely as the others: draw rows by their weights first"
            ))),
        }
    }
}

/// One family's answer: for each output the estimate of an index of some features.
type Answers = Vec<Result<Measured>>;

/// The way in which a family answers for its indices and what they are of.
type Find = fn(&Question<'_>, &[(Index, Vec<usize>)]) -> Result<Vec<Answers>>;

/// Indices of features and of pairs of features (counted from 0), and those of f as a whole.
///
/// What several of them need is asked once. Sobol' indices assume that the features are independent, and are refused where
/// two of them are clearly correlated.
///
/// # Errors
/// What is wrong with the question, and what the model reports; why single indices have no estimate is their answer.
///
/// ```
/// use fe_core::indices::{Index, IndexOptions, estimate};
/// use fe_core::{Dataset, model::FunctionModel};
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| if j == 0 { i / 20 } else { i % 20 } as f64 / 9.5 - 1.0);
/// let data = Dataset::from_rows(&rows.view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1]);
/// let found = estimate(&data, &model, &[Index::H2Pair], (&[], &[[0, 1]]), &IndexOptions::default())?;
/// // Nothing but an interaction.
/// assert!((found.estimates[0].estimate.as_ref().unwrap().value - 1.0).abs() < 1e-12);
/// # Ok::<(), fe_core::Error>(())
/// ```
pub fn estimate(
    data: &Dataset,
    model: &dyn Model,
    asked: &[Index],
    (features, pairs): (&[usize], &[[usize; 2]]),
    options: &IndexOptions,
) -> Result<IndexEstimates> {
    for &feature in features.iter().chain(pairs.as_flattened()) {
        data.check_model(model, feature)?;
    }
    if let Some([twice, _]) = pairs.iter().find(|[a, b]| a == b) {
        let name = &data.names()[*twice];
        return Err(Error::Incompatible(format!(
            "a pair is of two features, and {name} is named twice"
        )));
    }
    let counted = data.counted();
    let structured = Structured::of(model, options.brute);
    let model = structured.as_ref().map_or(model, |structured| structured as &dyn Model);
    let model = Counted { model, values: AtomicU64::new(0), partials: AtomicU64::new(0) };
    let observed = Observed::new(&model);
    let question = Question { data: &counted, model: &observed, options };
    let mut of: Vec<(Index, Vec<usize>)> = Vec::new();
    for &feature in features {
        of.extend(
            asked.iter().filter(|index| index.order() == 1).map(|&index| (index, vec![feature])),
        );
    }
    for pair in pairs {
        of.extend(
            asked.iter().filter(|index| index.order() == 2).map(|&index| (index, pair.to_vec())),
        );
    }
    of.extend(asked.iter().filter(|index| index.order() == 0).map(|&index| (index, Vec::new())));
    let mut answers: Vec<Option<(Answers, Option<bool>)>> = vec![None; of.len()];
    let families: [(Family, Find); 5] = [
        (Family::Dependence, dependence::answers),
        (Family::Accumulated, accumulated::answers),
        (Family::PickFreeze, pick_freeze::answers),
        (Family::Shapley, shapley_effects::answers),
        (Family::Rows, single_rows::answers),
    ];
    for (family, find) in families {
        let places: Vec<usize> =
            (0..of.len()).filter(|&place| of[place].0.row().family == family).collect();
        let own: Vec<(Index, Vec<usize>)> = places.iter().map(|&place| of[place].clone()).collect();
        if own.is_empty() {
            continue;
        }
        let found = match find(&question, &own) {
            Ok(found) => found,
            // The model cannot answer anything.
            Err(error @ Error::Model(_)) => return Err(error),
            Err(error) => vec![vec![Err(error); question.outputs()]; own.len()],
        };
        let by_structure = structured.as_ref().map(Structured::was_used);
        let each = places.into_iter().zip(found);
        each.for_each(|(place, answer)| answers[place] = Some((answer, by_structure)));
    }
    let mut estimates = Vec::new();
    for output in 0..question.outputs() {
        for ((index, features), answers) in of.iter().zip(&answers) {
            let (estimate, by_structure) = match answers {
                Some((answers, by_structure)) => (answers.get(output).cloned(), *by_structure),
                None => (None, None),
            };
            let none = || Err(Error::Incompatible(format!("`{index}` has no estimate")));
            let (index, features) = (*index, features.clone());
            estimates.push(IndexEstimate {
                index,
                features,
                output,
                estimate: estimate.unwrap_or_else(none),
                by_structure,
            });
        }
    }
    let [model_rows, jacobian_rows] =
        [&model.values, &model.partials].map(|rows| rows.load(Ordering::Relaxed));
    Ok(IndexEstimates { estimates, model_rows, jacobian_rows })
}

/// About how many rows a model is asked for by [`estimate`] from so many rows.
///
/// ```
/// use fe_core::indices::{Index, IndexOptions, cost};
/// // F_12, F_1 and F_2 at 100 rows over 100, and f itself.
/// let rows = cost(100, 5, &[Index::H2Pair], (&[], &[[0, 1]]), &IndexOptions::default());
/// assert_eq!(rows, 3 * 100 * 100 + 100);
/// ```
#[must_use]
pub fn cost(
    rows: usize,
    dimension: usize,
    asked: &[Index],
    (features, pairs): (&[usize], &[[usize; 2]]),
    options: &IndexOptions,
) -> u64 {
    let mut read: Vec<usize> = features.iter().chain(pairs.as_flattened()).copied().collect();
    read.sort_unstable();
    read.dedup();
    let has = |family: Family, order: usize| {
        asked.iter().any(|index| index.row().family == family && index.order() == order)
    };
    let number = |is_asked: bool, times: usize| if is_asked { times } else { 0 };
    let outer = rows.min(options.outer);
    // What is asked of f as a whole needs all features.
    let alone = |family: Family| if has(family, 0) { dimension } else { read.len() };
    let overall = asked
        .iter()
        .any(|index| matches!(index, Index::H2Overall | Index::HOverall | Index::H2OverallShare));
    let is_any = |family: Family| (0..=2).any(|order| has(family, order));
    let means = number(is_any(Family::Dependence), alone(Family::Dependence))
        + number(has(Family::Dependence, 2), pairs.len())
        + number(overall, features.len());
    let dependence = means
        .saturating_mul(outer)
        .saturating_mul(rows.min(options.background))
        .saturating_add(number(is_any(Family::Dependence), outer));
    let accumulated = number(has(Family::Accumulated, 1), 2 * features.len())
        + number(has(Family::Accumulated, 2), 4 * pairs.len())
        + number(has(Family::Accumulated, 0), 2 * dimension + 1);
    let frozen = number(is_any(Family::PickFreeze), 1 + read.len());
    let single = number(has(Family::Rows, 1), 1 + features.len());
    // Each group of rows is left out once.
    let accumulated = accumulated.saturating_mul(jackknife::GROUPS + 1);
    let over_rows = rows.saturating_mul(accumulated + frozen + single);
    let conditional = number(is_any(Family::Shapley), outer);
    dependence.saturating_add(over_rows).saturating_add(conditional) as u64
}

/// A ratio that is told only where something varies.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { f64::NAN }
}

/// The estimate, if it is a number.
fn told(measured: Measured) -> Result<Measured> {
    match measured.value.is_finite() {
        true => Ok(measured),
        false => Err(Error::Incompatible(
            "nothing varies that this index would be a share of, or values are too large for a number".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_variants() {
        for (place, index) in Index::all().enumerate() {
            assert_eq!(index as usize, place);
            assert_eq!(index.name().parse::<Index>().unwrap(), index);
        }
        let error = "h2pair".parse::<Index>().unwrap_err().to_string();
        assert!(error.contains("did you mean `h2.pair`?"), "{error}");
    }
}
