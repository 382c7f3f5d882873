//! Generalised additive models of penalised B-splines, for a target with normal errors.

mod basis;
mod problem;
mod terms;

use fe_core::error::ModelError;
use fe_core::model::{Answered, Model, Rows, SmoothTerm, TermSum};
use fe_core::numeric::spline::Smoothing;
use std::fmt;
use std::sync::Arc;

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Fit, LearnerInfo, SumKind, Task};
use crate::options::{OptionInfo, Options, number};
use crate::sample::Sample;
use problem::{Problem, Solution};
use terms::Terms;

pub(crate) const GAM: LearnerInfo = LearnerInfo {
    name: "gam",
    about: "additive model of penalised cubic B-splines, with products for pairs of features",
    task: Task::Regression,
    has_steps: false,
    options: &[
        OptionInfo {
            name: "splines",
            default: "20",
            allowed: "a whole number from 4 to 200",
            about: "number of B-splines of each feature",
        },
        OptionInfo {
            name: "lambda",
            default: "0.6",
            allowed: "a number from 0 to 1e12, `gcv` or `reml`",
            about: "factor of the penalty, the same for all terms, or how it is chosen",
        },
        OptionInfo {
            name: "interactions",
            default: "none",
            allowed: "`none`, `all`, or pairs of features as in x1:x2,x1:x3",
            about: "pairs of features whose products of splines are added",
        },
        OptionInfo {
            name: "tensor_splines",
            default: "auto",
            allowed: "a whole number from 4 to 50, or `auto`: the root of `splines`, at least 4",
            about: "number of B-splines of each feature in such a product",
        },
    ],
    build,
};

fn build(options: &mut Options) -> Result<Box<dyn Fit>> {
    let splines = options.count("splines", |n| (4..=200).contains(&n))?;
    let lambda = options.read("lambda", Lambda::parse)?;
    let interactions = options.read("interactions", Interactions::parse)?;
    let tensor_splines = options.read("tensor_splines", Auto::parse)?.0;
    let root = (splines as f64).sqrt().round() as usize;
    let tensor_splines = tensor_splines.unwrap_or(root.max(4));
    Ok(Box::new(AdditiveSplines { splines, lambda, interactions, tensor_splines }))
}

/// Smoothing parameters: how much roughness is penalised.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lambda {
    Fixed(f64),
    Chosen(Smoothing),
}

impl Lambda {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "gcv" => Some(Lambda::Chosen(Smoothing::Gcv)),
            "reml" => Some(Lambda::Chosen(Smoothing::Reml)),
            _ => number(text).filter(|x| (0.0..=1e12).contains(x)).map(Lambda::Fixed),
        }
    }
}

impl fmt::Display for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lambda::Fixed(lambda) => write!(f, "{lambda}"),
            Lambda::Chosen(Smoothing::Gcv) => f.write_str("gcv"),
            Lambda::Chosen(Smoothing::Reml) => f.write_str("reml"),
        }
    }
}

/// A count, or what is usual.
struct Auto(Option<usize>);

impl Auto {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self(None)),
            _ => text.parse().ok().filter(|n| (4..=50).contains(n)).map(|n| Self(Some(n))),
        }
    }
}

impl fmt::Display for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(n) => write!(f, "{n}"),
        }
    }
}

/// Pairs of features, counted from 0.
#[derive(Debug, Clone, PartialEq)]
enum Interactions {
    All,
    These(Vec<[usize; 2]>),
}

impl Interactions {
    fn parse(text: &str) -> Option<Self> {
        let feature =
            |text: &str| text.trim().strip_prefix('x')?.parse::<usize>().ok()?.checked_sub(1);
        let pair = |text: &str| {
            let (first, second) = text.split_once(':')?;
            let (first, second) = (feature(first)?, feature(second)?);
            (first != second).then_some([first.min(second), first.max(second)])
        };
        match text {
            "none" => Some(Self::These(Vec::new())),
            "all" => Some(Self::All),
            _ => {
                let mut pairs: Vec<_> = text.split(',').map(pair).collect::<Option<_>>()?;
                pairs.sort_unstable();
                pairs.windows(2).all(|two| two[0] != two[1]).then_some(Self::These(pairs))
            }
        }
    }

    /// The pairs among so many features.
    fn pairs(&self, dimension: usize) -> Result<Vec<[usize; 2]>> {
        match self {
            Self::All => {
                let later = |s: usize| (s + 1..dimension).map(move |t| [s, t]);
                Ok((0..dimension).flat_map(later).collect())
            }
            Self::These(pairs) => match pairs.iter().find(|pair| pair[1] >= dimension) {
                None => Ok(pairs.clone()),
                Some([_, missing]) => Err(FitError::Refused {
                    model: GAM.name,
                    reason: format!(
                        "interactions = {self}: feature x{} does not exist, the data have x1 … x{dimension}",
                        missing + 1
                    ),
                }),
            },
        }
    }
}

impl fmt::Display for Interactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::These(pairs) if pairs.is_empty() => f.write_str("none"),
            Self::These(pairs) => {
                let text = |[s, t]: &[usize; 2]| format!("x{}:x{}", s + 1, t + 1);
                f.write_str(&pairs.iter().map(text).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// A sum of an intercept, a cubic P-spline of each feature and products of P-splines of pairs, with a
/// penalty on second differences of coefficients (Eilers and Marx 1996; Wood 2017, section 4.3).
///
/// As in pygam: knots of equal distance over the range of the data, straight continuation beyond it,
/// one λ for all terms, and in place of constraints a ridge of the root of the machine precision, which
/// decides what the terms leave open between each other.
#[derive(Debug)]
struct AdditiveSplines {
    splines: usize,
    lambda: Lambda,
    interactions: Interactions,
    tensor_splines: usize,
}

impl Fit for AdditiveSplines {
    fn fit(&self, sample: &Sample, _seed: u64) -> Result<Box<dyn FittedModel>> {
        let pairs = self.interactions.pairs(sample.dimension())?;
        let terms = Terms::new(&sample.columns, self.splines, &pairs, self.tensor_splines);
        if terms.coefficients() > MOST_COEFFICIENTS {
            return Err(FitError::Refused {
                model: GAM.name,
                reason: format!(
                    "{} coefficients, at most {MOST_COEFFICIENTS}: take fewer splines, features or interactions",
                    terms.coefficients()
                ),
            });
        }
        let target = Scaled::new(sample);
        let problem =
            Problem::new(sample, &terms, &target.values).ok_or(FitError::Overflow(GAM.name))?;
        let lambda = match self.lambda {
            Lambda::Fixed(lambda) => lambda,
            Lambda::Chosen(rule) => problem.choose(rule).ok_or(FitError::Overflow(GAM.name))?,
        };
        let Solution { mut coefficients, degrees } =
            problem.solve(lambda).ok_or(FitError::Overflow(GAM.name))?;
        coefficients.iter_mut().for_each(|b| *b *= target.size);
        coefficients[0] += target.level;
        let mut gam =
            Gam { terms, coefficients, levels: vec![0.0; sample.dimension()], lambda, degrees };
        if !gam.coefficients.iter().all(|b| b.is_finite()) {
            return Err(FitError::Overflow(GAM.name));
        }
        gam.levels = (0..sample.dimension())
            .map(|s| sample.mean(sample.columns[s].iter().map(|&x| gam.alone(s, x).unwrap_or(0.0))))
            .collect();
        Ok(Box::new(gam))
    }

    fn sum_kind(&self) -> Option<SumKind> {
        Some(SumKind::Smooth)
    }

    fn has_main_effect(&self, feature: usize) -> bool {
        match &self.interactions {
            Interactions::All => false,
            Interactions::These(pairs) => !pairs.iter().any(|pair| pair.contains(&feature)),
        }
    }
}

/// More make fits that take hours.
const MOST_COEFFICIENTS: usize = 5000;

/// The target in units in which its mean is 0 and the largest distance from that is 1.
struct Scaled {
    level: f64,
    size: f64,
    values: Vec<f64>,
}

impl Scaled {
    fn new(sample: &Sample) -> Self {
        let level = sample.mean(sample.target.iter().copied());
        let size = sample.target.iter().fold(0.0, |size: f64, y| size.max((y - level).abs()));
        let values = sample.target.iter().map(|y| (y - level) / size).collect();
        Self { level, size, values }
    }
}

/// A fitted sum of splines.
#[derive(Debug, Clone, PartialEq)]
struct Gam {
    terms: Terms,
    coefficients: Vec<f64>,
    /// Mean of each feature's own term over the rows of the fit.
    levels: Vec<f64>,
    lambda: f64,
    degrees: f64,
}

impl Gam {
    /// The term of a feature at a value, if no other term has the feature.
    fn alone(&self, feature: usize, x: f64) -> Option<f64> {
        let mut sum = 0.0;
        self.terms.alone_at(feature, x, |i, factor| sum += self.coefficients[i] * factor)?;
        Some(sum)
    }
}

impl Model for Gam {
    fn dimension(&self) -> usize {
        self.levels.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        let columns = rows.columns();
        let mut splines = Vec::new();
        for (i, value) in values.iter_mut().enumerate() {
            let mut sum = 0.0;
            self.terms.read(|s| columns[s].get(i), &mut splines);
            self.terms.at(&splines, |k, factor| sum += self.coefficients[k] * factor);
            *value = sum;
        }
        Ok(())
    }

    fn predicts_along(&self) -> bool {
        true
    }

    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        let columns = rows.columns();
        let mut sums = vec![0.0; places.len()];
        let places = self.terms.along(feature, places);
        let mut splines = Vec::new();
        for row in 0..rows.len() {
            self.terms.read(|s| columns[s].get(row), &mut splines);
            self.terms.sums_along((feature, &places), &self.coefficients, &splines, &mut sums);
            for (place, sum) in sums.iter().enumerate() {
                values[place * rows.len() + row] = *sum;
            }
        }
        Ok(())
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let columns = rows.columns();
        for (i, value) in values.iter_mut().enumerate() {
            let mut sum = 0.0;
            let visit = |k: usize, factor: f64| sum += self.coefficients[k] * factor;
            self.terms.slope_at(feature, |s| columns[s].get(i), visit);
            *value = sum;
        }
        Ok(())
    }
}

impl FittedModel for Gam {
    fn main_effect(&self, feature: usize, x: f64) -> Option<f64> {
        Some(self.alone(feature, x)? - self.levels.get(feature)?)
    }

    fn sum(&self) -> Option<TermSum<'_>> {
        let own = Arc::new((self.terms.clone(), self.coefficients.clone()));
        let sum = TermSum::new(self.levels.len(), self.coefficients[0]);
        let knots = self.terms.knots().into_iter().enumerate();
        Some(knots.fold(sum, |sum, (number, knots)| {
            let features: Vec<usize> = knots.iter().map(|(feature, _)| *feature).collect();
            let (of_value, of_slope) = (Arc::clone(&own), Arc::clone(&own));
            let term = SmoothTerm::new(
                &features,
                move |row| of_value.0.value_of(number, &of_value.1, row),
                move |s, row| of_slope.0.slope_of((number, s), &of_slope.1, row),
            );
            let breaking = |term: SmoothTerm, (s, places)| term.breaking_at(s, places);
            sum.with_term(knots.into_iter().fold(term, breaking))
        }))
    }

    fn summary(&self) -> Vec<Fact> {
        vec![
            Fact::new("coefficients", self.coefficients.len() as f64),
            Fact::new("lambda", self.lambda),
            Fact::new("degrees of freedom", self.degrees),
        ]
    }
}
