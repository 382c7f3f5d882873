//! A penalised cubic regression spline, with its smoothing chosen from the data.

use std::cmp::Ordering;

use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};
use serde::{Deserialize, Serialize};
use strum::VariantNames;

use crate::error::{Error, Result};

/// Most knots.
const MOST_KNOTS: usize = 20;

/// Least distance of knots, as a share of the range: closer ones make the equations unstable.
const LEAST_GAP: f64 = 1e-3;

/// Iterations after which an eigenvalue is given up.
const MOST_ITERATIONS: usize = 10_000;

/// Candidates for log10 λ: from the first down to the last, so many per decade.
const LOG_LAMBDA: (i32, i32) = (4, -14);
const PER_DECADE: i32 = 20;

/// Halvings of the interval in which a score has its minimum.
const HALVINGS: usize = 60;

/// A score must be better by this share before a rougher curve is taken: rounding must not decide.
const BETTER: f64 = 1e-10;

/// Points whose root mean square distance from a line is this share of their range are a line.
const STRAIGHT: f64 = 1e-13;

/// Criterion of the smoothing parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Smoothing {
    /// Generalised cross-validation: the least n · RSS / (n − edf)² (Craven and Wahba 1979).
    #[default]
    Gcv,
    /// Restricted maximum likelihood, with the variance profiled out (Wood 2011).
    Reml,
}

/// A natural cubic spline g that minimises Σ w_i (y_i − g(x_i))² / Σ w_i + λ ∫ g''² over splines with
/// knots at quantiles of the different x (Wood 2017, section 5.3.1).
///
/// There are up to 20 knots, at all values of x where these are fewer, and at least a thousandth of
/// the range apart. The penalty is taken with x scaled to unit range. λ is where the score has the
/// minimum next to the best of 20 values per decade from 10⁴ to 10⁻¹⁴, or the limit if that scores
/// as well: a straight line, which two different x always give, and points that weigh no more than 2
/// together. Points on a line are met exactly.
/// Nothing depends on the order of the points, and a weight of 2 is two points.
///
/// ```
/// use fe_core::numeric::spline::{Smoothing, Spline};
/// let x: Vec<f64> = (0..50).map(|i| i as f64 / 49.0).collect();
/// let y: Vec<f64> = x.iter().map(|x| (6.0 * x).sin()).collect();
/// let spline = Spline::fit(&x, &y, None, Smoothing::Gcv)?;
/// assert!((spline.at(0.33) - (6.0 * 0.33_f64).sin()).abs() < 1e-3);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spline {
    units: Units,
    /// The straight line under the rest: level and slope in scaled units.
    line: (f64, f64),
    /// The part that bends; none where the curve is the line.
    bend: Option<Bend>,
    degrees: f64,
}

/// Natural cubic spline by its values and second derivatives at the knots.
#[derive(Debug, Clone, PartialEq)]
struct Bend {
    knots: Vec<f64>,
    values: Vec<f64>,
    curvatures: Vec<f64>,
    lambda: f64,
}

impl Spline {
    /// The spline through some points with weights, all 1 if there are none.
    ///
    /// # Errors
    /// [`Error::EmptyData`] without points, [`Error::WrongCount`], [`Error::NotFinite`] for x or y,
    /// [`Error::BadWeight`].
    pub fn fit(
        x: &[f64],
        y: &[f64],
        weights: Option<&[f64]>,
        smoothing: Smoothing,
    ) -> Result<Self> {
        Ok(Smoother::fit(x, y, weights, smoothing)?.0)
    }

    fn fit_to(
        points: &Points,
        choose: impl Fn(&Problem) -> Option<f64>,
    ) -> (Self, Option<(Problem, f64)>) {
        let line = points.line();
        let knots = points.knots();
        let residuals: Vec<f64> =
            points.t.iter().zip(&points.u).map(|(t, u)| u - (line.0 + line.1 * t)).collect();
        let straight = Self {
            units: points.units,
            line,
            bend: None,
            degrees: if points.t[0] < points.t[points.t.len() - 1] { 2.0 } else { 1.0 },
        };
        if points.mean_square(&residuals).sqrt() <= STRAIGHT || points.weight <= 2.0 {
            return (straight, None);
        }
        let Some(problem) = Problem::with_most_knots(points, &residuals, knots) else {
            return (straight, None);
        };
        match choose(&problem) {
            None => (straight, None),
            Some(lambda) => {
                let bend = Some(problem.bend(lambda));
                let spline = Self { bend, degrees: problem.degrees(lambda), ..straight };
                (spline, Some((problem, lambda)))
            }
        }
    }

    /// The value at a point; beyond the data the spline continues straight.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        let t = self.units.scaled(x);
        let bend = self.bend.as_ref().map_or(0.0, |bend| bend.at(t));
        self.units.level + self.units.size * (self.line.0 + self.line.1 * t + bend)
    }

    /// λ, for x scaled to unit range and the mean of squares; none where it is infinite, the curve
    /// being a straight line.
    #[must_use]
    pub fn smoothing_parameter(&self) -> Option<f64> {
        self.bend.as_ref().map(|bend| bend.lambda)
    }

    /// Effective degrees of freedom: the trace of the map from y to the fitted values.
    #[must_use]
    pub fn degrees_of_freedom(&self) -> f64 {
        self.degrees
    }

    /// Number of knots; none where the curve is a straight line.
    #[must_use]
    pub fn knots(&self) -> Option<usize> {
        self.bend.as_ref().map(|bend| bend.knots.len())
    }
}

/// The linear smoother of a spline, with its smoothing held: in functions u_c that are orthonormal over the
/// points, the fit at x is Σ_c s_c u_c(x) Σ_i w_i u_c(x_i) y_i / Σ_i w_i.
pub(crate) struct Smoother {
    units: Units,
    functions: Functions,
    /// s_c, from 0 to 1.
    shrinkage: Vec<f64>,
}

enum Functions {
    /// 1 and (t − mean) / size.
    Line {
        mean: f64,
        size: f64,
    },
    Bends(Vec<Bend>),
}

impl Smoother {
    /// The spline through some points, and how it depends on their y.
    ///
    /// # Errors
    /// As [`Spline::fit`].
    pub(crate) fn fit(
        x: &[f64],
        y: &[f64],
        weights: Option<&[f64]>,
        smoothing: Smoothing,
    ) -> Result<(Spline, Self)> {
        check(x, y, weights)?;
        let choose = |problem: &Problem| problem.choose(smoothing);
        Ok(Self::of(&Points::new(x, y, weights), choose))
    }

    /// The same with a smoothing parameter that is chosen already; none for a straight line.
    ///
    /// # Errors
    /// As [`Spline::fit`].
    pub(crate) fn fit_held(
        x: &[f64],
        y: &[f64],
        weights: Option<&[f64]>,
        lambda: Option<f64>,
    ) -> Result<(Spline, Self)> {
        check(x, y, weights)?;
        Ok(Self::of(&Points::new(x, y, weights), |_| lambda))
    }

    fn of(points: &Points, choose: impl Fn(&Problem) -> Option<f64>) -> (Spline, Self) {
        let (spline, problem) = Spline::fit_to(points, choose);
        let units = points.units;
        let smoother = match problem {
            Some((problem, lambda)) => {
                let shrinkage = problem.penalties.iter().map(|d| 1.0 / (1.0 + lambda * d));
                let shrinkage = shrinkage.collect();
                Self { units, functions: Functions::Bends(problem.functions()), shrinkage }
            }
            None => {
                let mean = points.mean(|i| points.t[i]);
                let size = points.mean(|i| (points.t[i] - mean).powi(2)).sqrt();
                let shrinkage = if size > 0.0 { vec![1.0; 2] } else { vec![1.0, 0.0] };
                Self { units, functions: Functions::Line { mean, size }, shrinkage }
            }
        };
        (spline, smoother)
    }

    /// The functions at some places: places × functions.
    pub(crate) fn functions(&self, x: &[f64]) -> DMatrix<f64> {
        let at = |i: usize, c: usize| {
            let t = self.units.scaled(x[i]);
            match &self.functions {
                Functions::Line { mean, size } if c == 1 && *size > 0.0 => (t - mean) / size,
                Functions::Line { .. } => f64::from(c == 0),
                Functions::Bends(bends) => bends[c].at(t),
            }
        };
        DMatrix::from_fn(x.len(), self.shrinkage.len(), at)
    }

    /// s_c.
    pub(crate) fn shrinkage(&self) -> &[f64] {
        &self.shrinkage
    }

    /// The variance that each coordinate loses by smoothing, in units of its variance without: what
    /// the prior that the penalty stands for adds, (1 − s_c) s_c.
    pub(crate) fn lost(&self) -> Vec<f64> {
        self.shrinkage.iter().map(|s| s * (1.0 - s)).collect()
    }
}

fn check(x: &[f64], y: &[f64], weights: Option<&[f64]>) -> Result<()> {
    let count = |what, got| match got == x.len() {
        true => Ok(()),
        false => Err(Error::WrongCount { what, expected: x.len(), got }),
    };
    count("values of y", y.len())?;
    count("weights", weights.map_or(x.len(), <[f64]>::len))?;
    if x.is_empty() {
        return Err(Error::EmptyData { rows: 0, columns: 2 });
    }
    for (name, values) in [("x", x), ("y", y)] {
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            let column = name.to_owned();
            return Err(Error::NotFinite { row: row + 1, column, value: values[row] });
        }
    }
    let weights = weights.unwrap_or_default();
    if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(Error::BadWeight { row: row + 1, value: weights[row] });
    }
    if !weights.is_empty() && weights.iter().all(|&w| w == 0.0) {
        return Err(Error::BadWeight { row: 1, value: 0.0 });
    }
    Ok(())
}

/// From the data's units to those of the computation: t = (x − lo) / range, u = (y − level) / size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Units {
    lo: f64,
    range: f64,
    level: f64,
    size: f64,
}

impl Units {
    fn scaled(&self, x: f64) -> f64 {
        if self.range > 0.0 { (x - self.lo) / self.range } else { 0.0 }
    }
}

/// Points in scaled units, in ascending order.
struct Points {
    t: Vec<f64>,
    u: Vec<f64>,
    /// Weights that add up to 1.
    shares: Vec<f64>,
    /// Sum of the weights: the n of the scores.
    weight: f64,
    units: Units,
}

impl Points {
    fn new(x: &[f64], y: &[f64], weights: Option<&[f64]>) -> Self {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mut order: Vec<usize> = (0..x.len()).filter(|&i| weight(i) > 0.0).collect();
        order.sort_unstable_by(|&a, &b| compare((x[a], y[a]), (x[b], y[b])));
        let largest = order.iter().map(|&i| weight(i)).fold(0.0, f64::max);
        let total: f64 = order.iter().map(|&i| weight(i) / largest).sum();
        let shares: Vec<f64> = order.iter().map(|&i| weight(i) / largest / total).collect();
        // Halves, because the range of finite values may be infinite.
        let extremes = order.iter().map(|&i| y[i] / 2.0);
        let (least, most) =
            extremes.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), y| (lo.min(y), hi.max(y)));
        let size = if most > least { most - least } else { 1.0 };
        let level = 2.0 * (least + (most - least) / 2.0);
        let lo = x[order[0]];
        let units = Units { lo, range: x[order[order.len() - 1]] - lo, level, size };
        Self {
            t: order.iter().map(|&i| units.scaled(x[i])).collect(),
            u: order.iter().map(|&i| (y[i] - level) / size).collect(),
            shares,
            weight: largest * total,
            units,
        }
    }

    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.shares.iter().enumerate().map(|(i, share)| share * of(i)).sum()
    }

    fn mean_square(&self, values: &[f64]) -> f64 {
        self.mean(|i| values[i] * values[i])
    }

    /// Level and slope of the line of least squares.
    fn line(&self) -> (f64, f64) {
        let (t, u) = (self.mean(|i| self.t[i]), self.mean(|i| self.u[i]));
        let squares = self.mean(|i| (self.t[i] - t).powi(2));
        let products = self.mean(|i| (self.t[i] - t) * (self.u[i] - u));
        let slope = if squares > 0.0 { products / squares } else { 0.0 };
        (u - slope * t, slope)
    }

    /// Number of different t.
    fn different(&self) -> usize {
        self.t.chunk_by(|a, b| a == b).count()
    }

    /// The differences of some values from their mean at the same t.
    fn differences_at_same_place(&self, values: &[f64]) -> Vec<f64> {
        let mut from = 0;
        let group = |place: &[f64]| {
            let group = from..from + place.len();
            from = group.end;
            let share: f64 = group.clone().map(|i| self.shares[i]).sum();
            let first = values[group.start];
            let rest = group.clone().map(|i| self.shares[i] * (values[i] - first)).sum::<f64>();
            group.map(move |i| values[i] - first - rest / share)
        };
        self.t.chunk_by(|a, b| a == b).flat_map(group).collect()
    }

    /// Different values, at even steps of their rank, too close ones left out.
    fn knots(&self) -> Vec<f64> {
        let mut different = self.t.clone();
        different.dedup();
        let last = different.len() - 1;
        let count = different.len().min(MOST_KNOTS);
        let mut knots = vec![different[0]];
        for i in 1..count.max(2) - 1 {
            let knot = different[(i * last + (count - 1) / 2) / (count - 1)];
            if knot - knots[knots.len() - 1] >= LEAST_GAP && different[last] - knot >= LEAST_GAP {
                knots.push(knot);
            }
        }
        knots.push(different[last]);
        knots
    }
}

/// Every second knot, and the last one.
fn half_as_many(knots: &[f64]) -> Vec<f64> {
    let last = knots.len() - 1;
    (0..=last).filter(|&j| j % 2 == 0 || j == last).map(|j| knots[j]).collect()
}

fn compare(a: (f64, f64), b: (f64, f64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// The least-squares problem in coordinates in which penalty and fit are both diagonal (Demmler and
/// Reinsch 1975): coordinate i is shrunk by 1 / (1 + λ d_i).
struct Problem {
    knots: Vec<f64>,
    /// From values at the knots to second derivatives there.
    curvature: DMatrix<f64>,
    /// From the coordinates to values at the knots.
    to_values: DMatrix<f64>,
    /// d, ascending; the first two are 0: lines are not penalised.
    penalties: Vec<f64>,
    /// The coordinates of the fit without penalty.
    coordinates: DVector<f64>,
    /// Mean squared residual of the fit without penalty.
    unexplained: f64,
    /// Sum of the weights.
    weight: f64,
}

impl Problem {
    /// The problem on these knots, on half as many while it has no stable solution.
    fn with_most_knots(points: &Points, residuals: &[f64], mut knots: Vec<f64>) -> Option<Self> {
        while knots.len() > 2 {
            if let Some(problem) = Self::new(points, residuals, &knots) {
                return Some(problem);
            }
            knots = half_as_many(&knots);
        }
        None
    }

    fn new(points: &Points, residuals: &[f64], knots: &[f64]) -> Option<Self> {
        let count = knots.len();
        let (curvature, penalty) = curvature_and_penalty(knots)?;
        // What a point sees: values and second derivatives at the two knots around it.
        let mut gram = DMatrix::zeros(2 * count, 2 * count);
        let mut target = DVector::zeros(2 * count);
        for ((&t, &residual), &share) in points.t.iter().zip(residuals).zip(&points.shares) {
            let seen = seen(knots, t);
            for (i, a) in seen {
                target[i] += share * a * residual;
                for (j, b) in seen {
                    gram[(i, j)] += share * a * b;
                }
            }
        }
        let mut both = DMatrix::zeros(2 * count, count);
        both.rows_mut(0, count).fill_with_identity();
        both.rows_mut(count, count).copy_from(&curvature);
        let normal = both.transpose() * gram * &both;
        let factor = Cholesky::new((&normal + normal.transpose()) * 0.5)?.unpack();
        let inverse = factor.solve_lower_triangular(&DMatrix::identity(count, count))?;
        let relative = &inverse * penalty * inverse.transpose();
        let relative = (&relative + relative.transpose()) * 0.5;
        let eigen = SymmetricEigen::try_new(relative, f64::EPSILON, MOST_ITERATIONS)?;
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[a].total_cmp(&eigen.eigenvalues[b]));
        let vectors = eigen.eigenvectors.select_columns(&order);
        let penalty = |(i, &at): (usize, &usize)| match i {
            0 | 1 => 0.0,
            _ => eigen.eigenvalues[at].max(0.0),
        };
        let to_values = inverse.transpose() * vectors;
        let mut problem = Self {
            knots: knots.to_vec(),
            penalties: order.iter().enumerate().map(penalty).collect(),
            coordinates: to_values.transpose() * both.transpose() * target,
            curvature,
            to_values,
            unexplained: 0.0,
            weight: points.weight,
        };
        // A spline that is free at every x leaves what points at the same x differ by. Of a spline
        // through all points nothing may be left: scores divide what is left by as little.
        problem.unexplained = if points.different() == count {
            points.mean_square(&points.differences_at_same_place(residuals))
        } else {
            let free = problem.bend(0.0);
            points.mean(|i| (residuals[i] - free.at(points.t[i])).powi(2))
        };
        problem.unexplained.is_finite().then_some(problem)
    }

    fn bend(&self, lambda: f64) -> Bend {
        let shrunk = self.coordinates.iter().zip(&self.penalties);
        let shrunk: Vec<f64> = shrunk.map(|(z, d)| z / (1.0 + lambda * d)).collect();
        let values = &self.to_values * DVector::from_vec(shrunk);
        let curvatures = &self.curvature * &values;
        Bend {
            knots: self.knots.clone(),
            values: values.as_slice().to_vec(),
            curvatures: curvatures.as_slice().to_vec(),
            lambda,
        }
    }

    /// The functions of the coordinates.
    fn functions(&self) -> Vec<Bend> {
        let curvatures = &self.curvature * &self.to_values;
        let function = |c: usize| Bend {
            knots: self.knots.clone(),
            values: self.to_values.column(c).iter().copied().collect(),
            curvatures: curvatures.column(c).iter().copied().collect(),
            lambda: 0.0,
        };
        (0..self.penalties.len()).map(function).collect()
    }

    fn degrees(&self, lambda: f64) -> f64 {
        self.penalties.iter().map(|d| 1.0 / (1.0 + lambda * d)).sum()
    }

    /// λ with the least score; none for the straight line.
    fn choose(&self, smoothing: Smoothing) -> Option<f64> {
        let score = |lambda: f64| match smoothing {
            Smoothing::Gcv => self.gcv(lambda),
            Smoothing::Reml => self.reml(lambda),
        };
        let mut best = (None, score(f64::INFINITY));
        for exponent in candidates() {
            let score = score(10_f64.powf(exponent));
            if score < best.1 - BETTER * best.1.abs() {
                best = (Some(exponent), score);
            }
        }
        best.0.map(|exponent| self.minimum_near(exponent, smoothing))
    }

    /// λ at the minimum of the score next to a candidate, so that λ follows the data continuously.
    fn minimum_near(&self, exponent: f64, smoothing: Smoothing) -> f64 {
        let rises = |exponent: f64| self.slope(10_f64.powf(exponent), smoothing) > 0.0;
        let step = 1.0 / f64::from(PER_DECADE);
        let limits = (f64::from(LOG_LAMBDA.1), f64::from(LOG_LAMBDA.0));
        let (mut lo, mut hi) = (exponent, exponent);
        while lo > limits.0 && rises(lo) {
            lo -= step;
        }
        while hi < limits.1 && !rises(hi) {
            hi += step;
        }
        for _ in 0..HALVINGS {
            let middle = lo + (hi - lo) / 2.0;
            *(if rises(middle) { &mut hi } else { &mut lo }) = middle;
        }
        10_f64.powf(lo)
    }

    /// The derivative of a score along log λ, but for a positive factor.
    fn slope(&self, lambda: f64, smoothing: Smoothing) -> f64 {
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            self.taken(lambda).map(|(taken, z)| of(taken, z)).sum()
        };
        // The derivative of what is taken is taken · left.
        let residual = self.unexplained;
        match smoothing {
            Smoothing::Gcv => {
                let residual = residual + sum(&|taken, z| (taken * z).powi(2));
                let free = self.weight - self.knots.len() as f64 + sum(&|taken, _| taken);
                let rise = sum(&|taken, z| (taken * z).powi(2) * (1.0 - taken));
                rise * free - residual * sum(&|taken, _| taken * (1.0 - taken))
            }
            Smoothing::Reml => {
                let residual = residual + sum(&|taken, z| taken * z * z);
                let rise = sum(&|taken, z| taken * (1.0 - taken) * z * z);
                (self.weight - 2.0) * rise - residual * sum(&|taken, _| 1.0 - taken)
            }
        }
    }

    /// Shares of the penalised coordinates that are taken away: λd / (1 + λd).
    fn taken(&self, lambda: f64) -> impl Iterator<Item = (f64, f64)> {
        let penalised = self.penalties.iter().zip(self.coordinates.iter()).skip(2);
        penalised.map(move |(d, z)| {
            let taken = if lambda.is_finite() { lambda * d / (1.0 + lambda * d) } else { 1.0 };
            (taken, *z)
        })
    }

    /// n · RSS / (n − edf)², without cancellation as edf comes near n.
    fn gcv(&self, lambda: f64) -> f64 {
        let residual: f64 = self.taken(lambda).map(|(taken, z)| (taken * z).powi(2)).sum::<f64>()
            + self.unexplained;
        let left: f64 = self.taken(lambda).map(|(taken, _)| taken).sum();
        let free = (self.weight - self.knots.len() as f64 + left) / self.weight;
        if free > 0.0 { residual / (free * free) } else { f64::INFINITY }
    }

    /// Twice the negative restricted log-likelihood, but for a constant.
    fn reml(&self, lambda: f64) -> f64 {
        let penalised: f64 =
            self.taken(lambda).map(|(taken, z)| taken * z * z).sum::<f64>() + self.unexplained;
        let determinant: f64 = self.taken(lambda).map(|(taken, _)| -taken.ln()).sum();
        (self.weight - 2.0) * penalised.ln() + determinant
    }
}

/// Candidates for log10 λ, descending.
fn candidates() -> impl Iterator<Item = f64> {
    let steps = (LOG_LAMBDA.0 - LOG_LAMBDA.1) * PER_DECADE;
    (0..=steps).map(|i| f64::from(LOG_LAMBDA.0 * PER_DECADE - i) / f64::from(PER_DECADE))
}

/// Second derivatives at the knots from values there, and ∫ g''² as a quadratic form of the values.
fn curvature_and_penalty(knots: &[f64]) -> Option<(DMatrix<f64>, DMatrix<f64>)> {
    let (count, inner) = (knots.len(), knots.len() - 2);
    let gap = |j: usize| knots[j + 1] - knots[j];
    let mut band = DMatrix::zeros(inner, inner);
    let mut differences = DMatrix::zeros(inner, count);
    for j in 0..inner {
        band[(j, j)] = (gap(j) + gap(j + 1)) / 3.0;
        if j + 1 < inner {
            band[(j, j + 1)] = gap(j + 1) / 6.0;
            band[(j + 1, j)] = gap(j + 1) / 6.0;
        }
        differences[(j, j)] = 1.0 / gap(j);
        differences[(j, j + 1)] = -1.0 / gap(j) - 1.0 / gap(j + 1);
        differences[(j, j + 2)] = 1.0 / gap(j + 1);
    }
    let inside = Cholesky::new(band)?.solve(&differences);
    let penalty = differences.transpose() * &inside;
    let mut curvature = DMatrix::zeros(count, count);
    curvature.rows_mut(1, inner).copy_from(&inside);
    Some((curvature, penalty))
}

/// Coefficients of a point within the knots: the places of two values and two second derivatives, with their
/// factors.
fn seen(knots: &[f64], t: f64) -> [(usize, f64); 4] {
    let j = knots.partition_point(|&knot| knot <= t).clamp(1, knots.len() - 1) - 1;
    let gap = knots[j + 1] - knots[j];
    let (left, right) = (t - knots[j], knots[j + 1] - t);
    let bent = |distance: f64| (distance.powi(3) / gap - gap * distance) / 6.0;
    let second = knots.len() + j;
    [(j, right / gap), (j + 1, left / gap), (second, bent(right)), (second + 1, bent(left))]
}

impl Bend {
    fn at(&self, t: f64) -> f64 {
        let (lo, hi) = (self.knots[0], self.knots[self.knots.len() - 1]);
        if t < lo {
            return self.values[0] + (t - lo) * self.end_slope(0, 1);
        }
        if t > hi {
            let last = self.knots.len() - 1;
            return self.values[last] + (t - hi) * self.end_slope(last, last - 1);
        }
        let count = self.knots.len();
        let coefficient =
            |i: usize| if i < count { self.values[i] } else { self.curvatures[i - count] };
        seen(&self.knots, t).iter().map(|&(i, factor)| factor * coefficient(i)).sum()
    }

    /// Slope at an end knot, which has no curvature, from its neighbour.
    fn end_slope(&self, end: usize, neighbour: usize) -> f64 {
        let gap = self.knots[neighbour] - self.knots[end];
        (self.values[neighbour] - self.values[end]) / gap - self.curvatures[neighbour] * gap / 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(count: usize) -> (Vec<f64>, Vec<f64>) {
        let noise = |i: usize| (i as f64 * 0.754_877_666).fract() - 0.5;
        let x: Vec<f64> = (0..count).map(|i| (i as f64 * 0.618_033_988_75).fract()).collect();
        let y = x.iter().enumerate().map(|(i, x)| (7.0 * x).sin() + noise(i)).collect();
        (x, y)
    }

    fn problem(x: &[f64], y: &[f64]) -> (Points, Vec<f64>, Problem) {
        let points = Points::new(x, y, None);
        let line = points.line();
        let residuals: Vec<f64> =
            points.t.iter().zip(&points.u).map(|(t, u)| u - (line.0 + line.1 * t)).collect();
        let problem = Problem::new(&points, &residuals, &points.knots()).unwrap();
        (points, residuals, problem)
    }

    /// Score, trace and residuals from the dense matrix of the smoother, without any of the algebra
    /// above but the basis.
    fn dense(points: &Points, residuals: &[f64], knots: &[f64], lambda: f64) -> (f64, f64, f64) {
        let (curvature, penalty) = curvature_and_penalty(knots).unwrap();
        let n = points.t.len();
        let design = DMatrix::from_fn(n, knots.len(), |i, j| {
            let at = |&(place, factor): &(usize, f64)| match place.checked_sub(knots.len()) {
                None if place == j => factor,
                None => 0.0,
                Some(second) => factor * curvature[(second, j)],
            };
            seen(knots, points.t[i]).iter().map(at).sum::<f64>()
        });
        let left = design.transpose() * &design / n as f64 + penalty.clone() * lambda;
        let y = DVector::from_vec(residuals.to_vec());
        let hat = &design * left.clone().lu().solve(&(design.transpose() / n as f64)).unwrap();
        let rest = &y - &hat * &y;
        let edf = hat.trace();
        let gcv = rest.norm_squared() / n as f64 / (1.0 - edf / n as f64).powi(2);
        let beta = left.clone().lu().solve(&(design.transpose() * &y / n as f64)).unwrap();
        let penalised =
            rest.norm_squared() / n as f64 + lambda * (beta.transpose() * &penalty * &beta)[(0, 0)];
        let log_det = left.determinant().ln() - (knots.len() as f64 - 2.0) * lambda.ln();
        let reml = (n as f64 - 2.0) * penalised.ln() + log_det;
        (gcv, edf, reml)
    }

    #[test]
    fn scores_are_those_of_the_dense_smoother() {
        let (x, y) = noisy(60);
        let (points, residuals, problem) = problem(&x, &y);
        let mut offsets = Vec::new();
        for lambda in [1e-7, 1e-5, 1e-3, 0.1] {
            let (gcv, edf, reml) = dense(&points, &residuals, &problem.knots, lambda);
            assert!((problem.gcv(lambda) / gcv - 1.0).abs() < 1e-8);
            assert!((problem.degrees(lambda) - edf).abs() < 1e-7);
            offsets.push(problem.reml(lambda) - reml);
        }
        // The restricted likelihood leaves out one and the same constant.
        assert!(offsets.iter().all(|offset| (offset - offsets[0]).abs() < 1e-6), "{offsets:?}");
    }

    #[test]
    fn the_chosen_parameter_has_the_least_score_of_a_fine_grid() {
        let (x, y) = noisy(60);
        let (points, residuals, problem) = problem(&x, &y);
        let spline = Spline::fit(&x, &y, None, Smoothing::Gcv).unwrap();
        let chosen = spline.smoothing_parameter().unwrap();
        let score = |lambda| dense(&points, &residuals, &problem.knots, lambda).0;
        let fine = (0..800).map(|i| 10_f64.powf(-8.0 + f64::from(i) / 100.0));
        let best = fine.min_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap();
        // The grid has a hundred values per decade.
        assert!((chosen.log10() - best.log10()).abs() <= 0.006, "{chosen} against {best}");
        assert!(score(chosen) <= score(best) * (1.0 + 1e-12));
        assert!((4.0..12.0).contains(&spline.degrees_of_freedom()));
    }

    /// ∫ g''² of a spline is the quadratic form of its values.
    #[test]
    fn the_penalty_is_the_integral_of_the_squared_second_derivative() {
        let knots = [0.0, 0.1, 0.45, 0.7, 1.0];
        let values = DVector::from_vec(vec![0.3, -1.0, 2.0, 0.5, 1.5]);
        let (curvature, penalty) = curvature_and_penalty(&knots).unwrap();
        let second = &curvature * &values;
        // The second derivative is linear between knots: Simpson's rule is exact for its square.
        let integral: f64 = (0..4)
            .map(|j| {
                let (a, b): (f64, f64) = (second[j], second[j + 1]);
                (knots[j + 1] - knots[j]) * (a * a + (a + b) * (a + b) + b * b) / 6.0
            })
            .sum();
        let form = (values.transpose() * penalty * &values)[(0, 0)];
        assert!((form / integral - 1.0).abs() < 1e-12);
        let bend = Bend {
            knots: knots.to_vec(),
            values: values.as_slice().to_vec(),
            curvatures: second.as_slice().to_vec(),
            lambda: 0.0,
        };
        let h = 1e-4;
        let numeric = (bend.at(0.3 + h) - 2.0 * bend.at(0.3) + bend.at(0.3 - h)) / (h * h);
        let exact = second[1] + (second[2] - second[1]) * (0.3 - 0.1) / 0.35;
        assert!((numeric - exact).abs() < 1e-4 * exact.abs().max(1.0));
        // Straight beyond the ends, without a kink.
        for (end, sign) in [(0.0, -1.0), (1.0, 1.0)] {
            let slope = |a: f64, b: f64| (bend.at(b) - bend.at(a)) / (b - a);
            let inside = slope(end - sign * 1e-5, end);
            assert!((slope(end, end + sign * 0.5) - inside).abs() < 1e-2);
        }
    }

    #[test]
    fn points_at_the_same_place_have_a_mean() {
        let points = Points::new(&[1.0, 1.0, 2.0, 1.0], &[0.0; 4], Some(&[1.0, 1.0, 1.0, 2.0]));
        assert_eq!(points.different(), 2);
        let found = points.differences_at_same_place(&[1.0, 3.0, 7.0, 20.0]);
        // In their order: the mean of 1, 3 and twice 7 is 4.5; the last place has one point.
        let known = [-3.5, -1.5, 2.5, 0.0];
        assert!(
            found.iter().zip(known).all(|(found, known)| (found - known).abs() < 1e-14),
            "{found:?}"
        );
    }

    #[test]
    fn the_ends_of_the_range_stay_knots() {
        assert_eq!(half_as_many(&[0.0, 0.2, 0.4, 1.0]), [0.0, 0.4, 1.0]);
        assert_eq!(half_as_many(&[0.0, 0.2, 0.4, 0.7, 1.0]), [0.0, 0.4, 1.0]);
        assert_eq!(half_as_many(&[0.0, 0.3, 1.0]), [0.0, 1.0]);
        // Knots next to either end would be too close to it.
        let points = Points::new(&[0.0, 0.0002, 0.5, 0.9995, 1.0], &[0.0; 5], None);
        assert_eq!(points.knots(), [0.0, 0.5, 1.0]);
    }

    /// A score is followed by differences along ln λ.
    #[test]
    fn slopes_are_those_of_the_scores() {
        let (x, y) = noisy(60);
        let (_, _, problem) = problem(&x, &y);
        let weight = problem.weight;
        for lambda in [1e-8_f64, 1e-6, 1e-4, 1e-2, 1.0] {
            let along = |score: &dyn Fn(f64) -> f64| {
                let h = 1e-4;
                (score(lambda * f64::exp(h)) - score(lambda * f64::exp(-h))) / (2.0 * h)
            };
            let sum = |of: &dyn Fn(f64, f64) -> f64| {
                problem.taken(lambda).map(|(taken, z)| of(taken, z)).sum::<f64>()
            };
            let residual = problem.unexplained + sum(&|taken, z| (taken * z).powi(2));
            let free = weight - problem.knots.len() as f64 + sum(&|taken, _| taken);
            let gcv = along(&|lambda| problem.gcv(lambda).ln()) * residual * free / 2.0;
            let penalised = problem.unexplained + sum(&|taken, z| taken * z * z);
            let reml = along(&|lambda| problem.reml(lambda)) * penalised;
            for (smoothing, known) in [(Smoothing::Gcv, gcv), (Smoothing::Reml, reml)] {
                let slope = problem.slope(lambda, smoothing);
                // Third derivatives over 6 are about 1, times h² = 1e-8; rounding is less.
                let size = penalised * weight;
                assert!(
                    (slope - known).abs() < 1e-7 * size,
                    "{smoothing:?} {lambda}: {slope} {known}"
                );
            }
        }
    }

    /// A straight line loses nothing; of a spline the shares that are taken away vary most in the middle.
    #[test]
    fn smoothing_takes_from_the_variance_what_is_shrunk() {
        let smoother = |y: &[f64], lambda| {
            let x: Vec<f64> = (0..y.len()).map(|i| i as f64).collect();
            Smoother::fit_held(&x, y, None, lambda).unwrap().1
        };
        assert_eq!(smoother(&[0.0, 1.0, 0.0, 1.0, 3.0], None).lost(), [0.0, 0.0]);
        let bent = smoother(&[0.0, 1.0, 0.0, 1.0, 3.0], Some(1e-3));
        for (s, lost) in bent.shrinkage().iter().zip(bent.lost()) {
            assert!((0.0..=0.25).contains(&lost) && (lost + s * s - s).abs() < 1e-15, "{s} {lost}");
        }
        assert!(bent.lost().iter().any(|&lost| lost > 0.01));
    }

    /// Through t² at 1, 2 and 3.
    #[test]
    fn a_spline_is_straight_beyond_knots_anywhere() {
        let knots = vec![1.0, 2.0, 3.0];
        let (curvature, _) = curvature_and_penalty(&knots).unwrap();
        let values = DVector::from_vec(vec![1.0, 4.0, 9.0]);
        let curvatures = (&curvature * &values).as_slice().to_vec();
        let values = values.as_slice().to_vec();
        let bend = Bend { knots, values, curvatures, lambda: 0.0 };
        // Natural: slopes of 2.5 and 5.5 at the ends, as g'' is 3 in the middle.
        for (t, known) in [(0.0, -1.5), (0.5, -0.25), (1.0, 1.0), (3.0, 9.0), (3.5, 11.75)] {
            assert!((bend.at(t) - known).abs() < 1e-12, "{t}: {}", bend.at(t));
        }
    }
}
