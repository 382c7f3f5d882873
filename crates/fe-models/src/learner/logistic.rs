//! Multinomial logistic regression.

use fe_core::error::ModelError;
use fe_core::model::{Answered, Model, Rows};
use nalgebra::{Cholesky, DMatrix, DVector};

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Fit, LearnerInfo, Task};
use crate::options::{OptionInfo, Options};
use crate::sample::Sample;

pub(crate) const LOGISTIC: LearnerInfo = LearnerInfo {
    name: "logistic",
    about: "multinomial logistic regression with a ridge; one output for each class",
    task: Task::Classification,
    has_steps: false,
    options: &[
        OptionInfo {
            name: "C",
            default: "1",
            allowed: "a number from 1e-6 to 1e6",
            about: "factor of the log-likelihood beside the ridge ½ |coefficients|²",
        },
        OptionInfo {
            name: "output",
            default: "probability",
            allowed: "`probability` or `logit`",
            about: "what is predicted for each class; logits sum to 0",
        },
    ],
    build,
};

/// Most classes: more are taken for a target that is no class.
const MOST_CLASSES: usize = 100;

/// Newton steps after which a fit is given up.
const MOST_STEPS: usize = 200;

/// A fit is done when a step promises to lower the loss by less than this share.
const SETTLED: f64 = 1e-13;

/// Predictions for each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Probability,
    Logit,
}

fn build(options: &mut Options) -> Result<Box<dyn Fit>> {
    let c = options.number("C", |c| (1e-6..=1e6).contains(&c))?;
    let words = [("probability", Output::Probability), ("logit", Output::Logit)];
    let output = options.choice("output", &words)?;
    Ok(Box::new(Ridge { c, output }))
}

/// Logistic regression that minimises C Σ w_i (−log p_i) + ½ |B|², without a penalty on intercepts: the
/// objective of scikit-learn. Two classes have one vector of coefficients there and here ± half of it.
#[derive(Debug)]
struct Ridge {
    c: f64,
    output: Output,
}

impl Fit for Ridge {
    /// By Newton's method with step halving, on features of mean 0 and largest distance 1 from it.
    fn fit(&self, sample: &Sample, _seed: u64) -> Result<Box<dyn FittedModel>> {
        let classes = classes(&sample.target)?;
        let scales: Vec<Scale> = sample.columns.iter().map(|x| Scale::of(sample, x)).collect();
        if !scales.iter().all(|scale| scale.mean.is_finite() && scale.size.is_finite()) {
            return Err(FitError::Overflow(LOGISTIC.name));
        }
        let problem = Problem::new(sample, &classes, &scales, self.c);
        let scaled = problem.minimum()?;
        let mut coefficients = DMatrix::zeros(classes.len(), scales.len());
        let mut intercepts = vec![0.0; classes.len()];
        for (k, intercept) in intercepts.iter_mut().enumerate() {
            *intercept = scaled[(0, k)];
            for (s, scale) in scales.iter().enumerate() {
                coefficients[(k, s)] = scaled[(s + 1, k)] / scale.size;
                *intercept -= coefficients[(k, s)] * scale.mean;
            }
        }
        if !coefficients.iter().chain(&intercepts).all(|b| b.is_finite()) {
            return Err(FitError::Overflow(LOGISTIC.name));
        }
        let names = sample.names.clone();
        let output = self.output;
        Ok(Box::new(Logistic { classes, intercepts, coefficients, output, names }))
    }
}

/// The different values of a target, ascending.
fn classes(target: &[f64]) -> Result<Vec<f64>> {
    let mut classes = target.to_vec();
    classes.sort_by(f64::total_cmp);
    classes.dedup();
    match classes.len() {
        count if count > MOST_CLASSES => Err(FitError::Refused {
            model: LOGISTIC.name,
            reason: format!(
                "the target has {count} different values, more than the {MOST_CLASSES} classes allowed; \
                 numbers are predicted by other models"
            ),
        }),
        _ => Ok(classes),
    }
}

/// Mean of a feature, and the largest distance from it; 1 for a constant.
struct Scale {
    mean: f64,
    size: f64,
}

impl Scale {
    fn of(sample: &Sample, x: &[f64]) -> Self {
        let mean = sample.mean(x.iter().copied());
        let size = x.iter().fold(0.0, |size: f64, x| size.max((x - mean).abs()));
        Self { mean, size: if size > 0.0 { size } else { 1.0 } }
    }
}

/// The objective over (1 + D) × K coefficients of scaled features, those of a class in a column.
struct Problem {
    /// N × (1 + D): a 1 and the scaled features.
    design: DMatrix<f64>,
    /// Class of each row.
    class: Vec<usize>,
    classes: usize,
    /// Factor of the squares of each coefficient of a class; 0 for the intercept.
    ridge: Vec<f64>,
    /// The C of each row.
    c: Vec<f64>,
}

impl Problem {
    fn new(sample: &Sample, classes: &[f64], scales: &[Scale], c: f64) -> Self {
        let design =
            DMatrix::from_fn(sample.len(), scales.len() + 1, |i, j| match j.checked_sub(1) {
                None => 1.0,
                Some(s) => (sample.columns[s][i] - scales[s].mean) / scales[s].size,
            });
        let place = |y: &f64| classes.partition_point(|class| class < y);
        // ± half a vector of coefficients have half the squares of one.
        let double = if classes.len() == 2 { 2.0 } else { 1.0 };
        let ridge = scales.iter().map(|scale| double / (scale.size * scale.size));
        Self {
            design,
            class: sample.target.iter().map(place).collect(),
            classes: classes.len(),
            ridge: std::iter::once(0.0).chain(ridge).collect(),
            c: (0..sample.len()).map(|row| c * sample.weight(row)).collect(),
        }
    }

    fn minimum(&self) -> Result<DMatrix<f64>> {
        let mut at = DMatrix::zeros(self.design.ncols(), self.classes);
        let mut loss = self.loss(&at);
        for _ in 0..MOST_STEPS {
            let (gradient, step) = self.newton(&at).ok_or(FitError::Overflow(LOGISTIC.name))?;
            let promised = gradient.dot(&step);
            let (next, reached) = self.descend(&at, &step, loss, promised);
            let settled = promised <= SETTLED * (1.0 + loss);
            if reached <= loss {
                (at, loss) = (next, reached);
            }
            if settled {
                return Ok(at);
            }
        }
        Err(FitError::NotConverged { model: LOGISTIC.name, iterations: MOST_STEPS })
    }

    /// The step, halved until it keeps a share of its promise, and the loss there.
    fn descend(
        &self,
        at: &DMatrix<f64>,
        step: &DVector<f64>,
        loss: f64,
        promised: f64,
    ) -> (DMatrix<f64>, f64) {
        let step = DMatrix::from_column_slice(at.nrows(), at.ncols(), step.as_slice());
        let mut share = 1.0;
        loop {
            let next = at - &step * share;
            let reached = self.loss(&next);
            if reached <= loss - 1e-4 * share * promised || share < 1e-10 {
                return (next, reached);
            }
            share /= 2.0;
        }
    }

    fn loss(&self, at: &DMatrix<f64>) -> f64 {
        let logits = &self.design * at;
        let rows = logits.row_iter().zip(&self.class).zip(&self.c).map(|((logits, &class), c)| {
            let top = logits.max();
            let sum: f64 = logits.iter().map(|z| (z - top).exp()).sum();
            c * (sum.ln() + top - logits[class])
        });
        rows.sum::<f64>() + 0.5 * self.squares(at)
    }

    fn squares(&self, at: &DMatrix<f64>) -> f64 {
        let level = at.row(0).sum();
        let squares = |column: nalgebra::DVectorView<'_, f64>| -> f64 {
            column.iter().zip(&self.ridge).map(|(b, ridge)| ridge * b * b).sum()
        };
        // Intercepts are free up to a common constant: let them sum to 0.
        level * level + at.column_iter().map(squares).sum::<f64>()
    }

    /// The gradient, and the Newton step against it; none if numbers are not finite.
    fn newton(&self, at: &DMatrix<f64>) -> Option<(DVector<f64>, DVector<f64>)> {
        let (p, k) = at.shape();
        let mut probabilities = &self.design * at;
        for mut row in probabilities.row_iter_mut() {
            let mut logits: Vec<f64> = row.iter().copied().collect();
            to_probabilities(&mut logits);
            row.iter_mut().zip(logits).for_each(|(value, p)| *value = p);
        }
        let mut residuals = probabilities.clone();
        self.class.iter().enumerate().for_each(|(i, &class)| residuals[(i, class)] -= 1.0);
        for (i, mut row) in residuals.row_iter_mut().enumerate() {
            row *= self.c[i];
        }
        let mut gradient = self.design.tr_mul(&residuals);
        let mut hessian = DMatrix::zeros(p * k, p * k);
        for a in 0..k {
            for b in 0..=a {
                let weight = |i: usize| {
                    let own = if a == b { 1.0 } else { 0.0 };
                    self.c[i] * probabilities[(i, a)] * (own - probabilities[(i, b)])
                };
                let mut weighted = self.design.clone();
                for (i, mut row) in weighted.row_iter_mut().enumerate() {
                    row *= weight(i);
                }
                hessian.view_mut((a * p, b * p), (p, p)).copy_from(&weighted.tr_mul(&self.design));
            }
        }
        let level = at.row(0).sum();
        for a in 0..k {
            gradient[(0, a)] += level;
            for b in 0..=a {
                hessian[(a * p, b * p)] += 1.0;
            }
            for (j, ridge) in self.ridge.iter().enumerate() {
                gradient[(j, a)] += ridge * at[(j, a)];
                hessian[(a * p + j, a * p + j)] += ridge;
            }
        }
        let gradient = DVector::from_column_slice(gradient.as_slice());
        let step = Cholesky::new(hessian)?.solve(&gradient);
        step.iter().all(|x| x.is_finite()).then_some((gradient, step))
    }
}

/// A fitted logistic regression.
#[derive(Debug, Clone, PartialEq)]
struct Logistic {
    classes: Vec<f64>,
    intercepts: Vec<f64>,
    /// K × D.
    coefficients: DMatrix<f64>,
    output: Output,
    names: Vec<String>,
}

impl Logistic {
    /// Writes the logits, or the probabilities if these are asked.
    fn write(&self, rows: &Rows<'_>, output: Output, values: &mut [f64]) {
        let n = rows.len();
        let mut logits = vec![0.0; self.classes.len()];
        for i in 0..n {
            for (k, logit) in logits.iter_mut().enumerate() {
                let columns = rows.columns().iter().enumerate();
                let sum: f64 = columns.map(|(s, x)| self.coefficients[(k, s)] * x.get(i)).sum();
                *logit = self.intercepts[k] + sum;
            }
            if output == Output::Probability {
                to_probabilities(&mut logits);
            }
            logits.iter().enumerate().for_each(|(k, value)| values[k * n + i] = *value);
        }
    }
}

fn to_probabilities(logits: &mut [f64]) {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logits.iter_mut().for_each(|z| *z = (*z - top).exp());
    let sum: f64 = logits.iter().sum();
    logits.iter_mut().for_each(|p| *p /= sum);
}

impl Model for Logistic {
    fn dimension(&self) -> usize {
        self.coefficients.ncols()
    }

    fn outputs(&self) -> usize {
        self.classes.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.write(rows, self.output, values);
        Ok(())
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        if feature >= self.dimension() {
            return Err(ModelError::NoDerivative { feature });
        }
        let slopes = self.coefficients.column(feature);
        let n = rows.len();
        if self.output == Output::Logit {
            values
                .chunks_mut(n.max(1))
                .zip(&slopes)
                .for_each(|(values, slope)| values.fill(*slope));
            return Ok(());
        }
        self.write(rows, Output::Probability, values);
        for i in 0..n {
            let mean: f64 =
                slopes.iter().enumerate().map(|(k, slope)| values[k * n + i] * slope).sum();
            slopes.iter().enumerate().for_each(|(k, slope)| values[k * n + i] *= slope - mean);
        }
        Ok(())
    }
}

impl FittedModel for Logistic {
    fn output_names(&self) -> Vec<String> {
        self.classes.iter().map(ToString::to_string).collect()
    }

    fn summary(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (k, class) in self.output_names().iter().enumerate() {
            facts.push(Fact::new(format!("intercept of class {class}"), self.intercepts[k]));
            for (s, name) in self.names.iter().enumerate() {
                let value = self.coefficients[(k, s)];
                facts.push(Fact::new(format!("coefficient {name} of class {class}"), value));
            }
        }
        facts
    }
}
