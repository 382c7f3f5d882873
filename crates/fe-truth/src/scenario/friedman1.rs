//! The benchmark of Friedman (1991): independent features, one interaction.

use std::f64::consts::PI;

use super::closed_forms::{ClosedForms, Pointwise};
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo};
use crate::error::Error;
use crate::expression::{Expression, feature};
use crate::fast_math::wave::{cos_pi, sin_pi};
use crate::function::{Function, Term};
use crate::law::{Law, PiecewiseUniform};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "friedman1",
        version: 1,
        about: "independent features, an interaction, a square, two lines, and noise features",
        formula: "10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5",
        law: "x1, …, x5 and the noise features independent, uniform on [0, 1]",
        parameters: &[OptionInfo {
            name: "noise_features",
            default: "2",
            allowed: "a whole number from 0 to 1000",
            about: "features that f does not read",
        }],
    },
    build,
};

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let dimension = 5 + parameters.count("noise_features", 1000)?;
    let law = (0..dimension).fold(Law::new(), |law, feature| {
        law.with_independent(feature, PiecewiseUniform::on(0.0, 1.0))
    });
    Ok(Parts::new(law, Friedman1 { dimension }, Forms, vec![(0.0, 1.0); dimension]))
}

/// The function, with noise features behind the five it reads.
pub(super) struct Friedman1 {
    pub(super) dimension: usize,
}

impl Function for Friedman1 {
    const WIDTH: usize = 5;

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn expression(&self) -> Expression {
        let wave = 10.0 * (PI * feature(0) * feature(1)).sin();
        let square = 20.0 * (feature(2) - 0.5).power(2.0);
        wave + square + 10.0 * feature(3) + 5.0 * feature(4)
    }

    fn terms(&self) -> Vec<Term> {
        let wave = Term::new(
            &[0, 1],
            |x| 10.0 * (PI * x[0] * x[1]).sin(),
            |s, x| 10.0 * PI * x[1 - s] * (PI * x[0] * x[1]).cos(),
        )
        .of_size(10.0);
        let square = Term::new(&[2], |x| 20.0 * (x[2] - 0.5).powi(2), |_, x| 40.0 * (x[2] - 0.5));
        vec![wave, square, Term::linear(10.0, 3), Term::linear(5.0, 4)]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        let wave = 10.0 * sin_pi(x[0] * x[1]);
        wave + 20.0 * (x[2] - 0.5).powi(2) + 10.0 * x[3] + 5.0 * x[4]
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        match s {
            0 | 1 => 10.0 * PI * x[1 - s] * cos_pi(x[0] * x[1]),
            2 => 40.0 * (x[2] - 0.5),
            3 => 10.0,
            4 => 5.0,
            _ => 0.0,
        }
    }
}

/// Mean of 20 (x3 − ½)², of 10 x4 and of 5 x5.
const MEANS: [f64; 3] = [20.0 / 12.0, 5.0, 2.5];

/// Features are independent, so marginal and conditional quantities are the same.
struct Forms;

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, (lo, _): (f64, f64)) -> Option<f64> {
        match quantity {
            Pointwise::Pd | Pointwise::Mplot => Some(mean_of_rest(s) + part(s, x)),
            Pointwise::Dpd | Pointwise::Mu => Some(slope(s, x)),
            Pointwise::Sigma2 | Pointwise::HDpdp => Some(slope_variance(s, x)),
            // Without the interaction ICE curves are parallel; with it, quadrature answers.
            Pointwise::HPdp => (s > 1).then_some(0.0),
            Pointwise::Accumulated => Some(part(s, x) - part(s, lo)),
        }
    }

    fn mean(&self) -> Option<f64> {
        Some(mean_of_wave() + MEANS.iter().sum::<f64>())
    }

    fn variance(&self) -> Option<f64> {
        // E sin²(πx1x2) = ½ − ½ E cos(2πx1x2), the cosine integrated term by term.
        let cosine = series(2.0 * PI, 0, |k| 1.0 / (k + 1.0).powi(2));
        let wave = 100.0 * (0.5 - 0.5 * cosine) - mean_of_wave().powi(2);
        // Var (x − ½)² = 1/80 − 1/144 = 1/180.
        Some(wave + 400.0 / 180.0 + 100.0 / 12.0 + 25.0 / 12.0)
    }
}

/// The sum of alternating terms `w^k / k!` of k = first, first + 2, …, each times a factor that
/// integrating it has left.
fn series(w: f64, first: u32, factor: impl Fn(f64) -> f64) -> f64 {
    let mut power = if first == 0 { 1.0 } else { w };
    let mut sum = 0.0;
    let mut k = f64::from(first);
    for _ in 0..25 {
        sum += power * factor(k);
        power *= -w * w / ((k + 1.0) * (k + 2.0));
        k += 2.0;
    }
    sum
}

/// E 10 sin(πx1x2).
fn mean_of_wave() -> f64 {
    10.0 * series(PI, 1, |k| 1.0 / (k + 1.0).powi(2))
}

/// The mean of the terms that do not read the feature.
fn mean_of_rest(s: usize) -> f64 {
    let all = mean_of_wave() + MEANS.iter().sum::<f64>();
    match s {
        0 | 1 => all - mean_of_wave(),
        2..=4 => all - MEANS[s - 2],
        _ => all,
    }
}

/// The mean over the rest of the terms that read the feature.
pub(super) fn part(s: usize, x: f64) -> f64 {
    match s {
        // ∫ sin(πxu) du = (1 − cos πx)/(πx).
        0 | 1 => 10.0 * series(PI * x, 1, |k| 1.0 / (k + 1.0)),
        2 => 20.0 * (x - 0.5).powi(2),
        3 => 10.0 * x,
        4 => 5.0 * x,
        _ => 0.0,
    }
}

/// Derivative of [`part`].
fn slope(s: usize, x: f64) -> f64 {
    match s {
        // ∫ πu cos(πxu) du.
        0 | 1 => 10.0 * PI * series(PI * x, 0, |k| 1.0 / (k + 2.0)),
        2 => 40.0 * (x - 0.5),
        3 => 10.0,
        4 => 5.0,
        _ => 0.0,
    }
}

/// Variance of the derivative over the partner in the interaction.
fn slope_variance(s: usize, x: f64) -> f64 {
    if s > 1 {
        return 0.0;
    }
    // ∫ (πu cos πxu)² du = π²/6 + π²/2 ∫ u² cos(2πxu) du.
    let square = PI * PI * (1.0 / 6.0 + 0.5 * series(2.0 * PI * x, 0, |k| 1.0 / (k + 3.0)));
    100.0 * square - slope(s, x).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean square of 10 sin(πx1x2) by midpoints, and the variances of a square and of two lines.
    #[test]
    fn the_variance_is_that_of_four_parts() {
        let points = 400;
        let at = |i: i32| (f64::from(i) + 0.5) / f64::from(points);
        let wave = |i: i32| (0..points).map(move |j| 10.0 * (PI * at(i) * at(j)).sin());
        let [sum, squares] = (0..points)
            .flat_map(wave)
            .fold([0.0; 2], |[sum, squares], value| [sum + value, squares + value * value]);
        let count = f64::from(points * points);
        let known = squares / count - (sum / count).powi(2) + 400.0 / 180.0 + 125.0 / 12.0;
        let found = Forms.variance().unwrap();
        assert!((found - known).abs() < 1e-3, "{found}, {known}");
    }
}
