//! Truths of published numbers about a problem.

use super::pieces::pieces;
use super::published::{Published, Subject, numbers};
use super::{build, file};
use crate::error::Error;
use crate::expression::{Expression, less};
use crate::quantity::Truth;
use crate::scenario::Scenario;

impl Scenario {
    /// Origin of the function of a scenario in a file; empty where the file says nothing.
    #[must_use]
    pub fn source(&self) -> String {
        let file = self.text().and_then(|text| file::read(text).ok());
        file.map(|file| file.source).unwrap_or_default()
    }

    /// Numbers that were published about a scenario in a file, as the file says: formulas for whatever the
    /// parameters are, numbers for what they are unless they are set.
    ///
    /// ```
    /// let text = "f = \"x^2\"\n[law]\nx = \"uniform(0, 1)\"\n[[published]]\nby = \"a book\"\nmean = 0.33\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// let published = &scenario.published()[0];
    /// assert!(published.holds(&scenario.truth_of(published).unwrap()));
    /// ```
    #[must_use]
    pub fn published(&self) -> Vec<Published> {
        let Some(file) = self.text().and_then(|text| file::read(text).ok()) else {
            return Vec::new();
        };
        let set = self.parameters();
        let values: Vec<f64> =
            set.split(';').filter_map(|pair| pair.split_once('=')?.1.parse().ok()).collect();
        numbers(&file.published, &self.parts.names, &file.parameters, &values).unwrap_or_default()
    }

    /// The truth of what a published number is about.
    ///
    /// # Errors
    /// [`Error::NoTruth`], as for other truths; a total index of a feature that depends on others.
    pub fn truth_of(&self, published: &Published) -> Result<Truth, Error> {
        let truth = match (&published.what, published.feature) {
            (Subject::Value(at), _) => {
                let value = self.expression().value(at);
                Truth { value, abs_error: 1e-14 * value.abs(), ..Truth::ZERO }
            }
            (Subject::Mean, _) => self.mean()?,
            (Subject::Sd, _) => self.sd()?,
            (Subject::Variance, _) => squared(self.sd()?),
            (Subject::Failure, _) => self.mean_of(&less(self.expression().clone(), 0.0))?,
            (Subject::Sobol, Some(feature)) => {
                ratio(self.main_variance(feature)?, squared(self.sd()?))
            }
            (Subject::Total, Some(feature)) => {
                ratio(self.total_variance(feature)?, squared(self.sd()?))
            }
            (Subject::Sobol | Subject::Total, None) => return Err(self.none("of no feature")),
        };
        self.judge([truth])?;
        Ok(truth)
    }

    fn none(&self, reason: &str) -> Error {
        Error::NoTruth { scenario: self.info().name, reason: reason.to_owned() }
    }

    /// The mean of another function under the law.
    fn mean_of(&self, tree: &Expression) -> Result<Truth, Error> {
        let law = self.parts.engine.law().clone();
        let engine = build::engine(tree, law, &self.parts.names, false);
        let engine = engine.map_err(|reason| self.none(&reason))?;
        Ok(engine.mean_f().into())
    }

    /// Half the variance of what f changes by where a feature is drawn anew: what it takes part in.
    fn total_variance(&self, feature: usize) -> Result<Truth, Error> {
        if !self.is_independent(feature) {
            let name = self.feature_name(feature);
            return Err(self.none(&format!("{name} depends on others")));
        }
        let anew = self.dimension();
        let law = self.parts.engine.law().with_twin(feature);
        let read = pieces(self.expression()).into_iter().filter(|piece| piece.reads(feature));
        let Some(part) = read.reduce(|a, b| a + b) else { return Ok(Truth::ZERO) };
        let change = part.clone() - renamed(&part, feature, anew);
        let names =
            [&self.parts.names[..], &[format!("{} anew", self.feature_name(feature))]].concat();
        let engine = build::engine(&change, law, &names, false);
        let engine = engine.map_err(|reason| self.none(&reason))?;
        Ok(Truth::from(engine.variance_f()).times(0.5))
    }
}

/// An expression that reads one feature in place of another.
fn renamed(tree: &Expression, from: usize, to: usize) -> Expression {
    match tree {
        Expression::Feature(index) if *index == from => Expression::Feature(to),
        _ => tree.with_parts(&mut |part| renamed(part, from, to)),
    }
}

fn squared(truth: Truth) -> Truth {
    let error = truth.abs_error * (2.0 * truth.value.abs() + truth.abs_error);
    Truth { value: truth.value * truth.value, abs_error: error, ..truth }
}

fn ratio(above: Truth, below: Truth) -> Truth {
    let value = above.value / below.value;
    let error = (above.abs_error + value.abs() * below.abs_error) / below.value;
    Truth { value, abs_error: error + 2.0 * f64::EPSILON * value.abs(), method: above.method }
}
