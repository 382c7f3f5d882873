//! Operators of ONNX on rows × columns, in double precision, with the derivative along a feature.
//!
//! Sources: the operator references of ONNX (`ai.onnx`) and ONNX-ML (`ai.onnx.ml`).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use ndarray::{Array2, Axis, Zip, concatenate};

use super::tree_model::TreeModel;
use super::trees::Link;
use crate::activation::{Activation, sigmoid};
use fe_core::model::{Column, Model, Rows};

/// Most numbers that are held at once: 128 MiB. A few operators can ask for far more than their file holds.
pub(super) const MOST_NUMBERS: usize = 1 << 24;

/// Check that so many rows and columns can be held.
fn check_size(rows: usize, columns: usize) -> Result<(), String> {
    if rows.checked_mul(columns).is_some_and(|numbers| numbers <= MOST_NUMBERS) {
        return Ok(());
    }
    Err(format!("{rows} × {columns} are more than {MOST_NUMBERS} numbers"))
}

/// Values, rows × columns, and their derivatives along a feature where they are asked for and depend
/// on it. Constants have one row, or are matrices of weights.
#[derive(Debug, Clone)]
pub(super) struct Dual {
    pub(super) value: Array2<f64>,
    pub(super) slope: Option<Array2<f64>>,
}

impl Dual {
    pub(super) fn constant(value: Array2<f64>) -> Self {
        Self { value, slope: None }
    }

    /// A function of each number, from its value and derivative there.
    fn map(&self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        let mut value = self.value.clone();
        let mut slope = self.slope.clone();
        match &mut slope {
            None => value.mapv_inplace(|x| f(x).0),
            Some(slope) => Zip::from(&mut value).and(slope).for_each(|x, slope| {
                let (value, factor) = f(*x);
                *x = value;
                *slope *= factor;
            }),
        }
        Self { value, slope }
    }

    fn scaled(&self, factor: f64) -> Self {
        self.map(|x| (factor * x, factor))
    }

    /// Operators that are linear in the value, and so in the slope.
    fn linear(&self, f: impl Fn(&Array2<f64>) -> Array2<f64>) -> Self {
        Self { value: f(&self.value), slope: self.slope.as_ref().map(f) }
    }

    fn check_shapes(&self, other: &Self) -> Result<(), String> {
        let ((n, k), (m, l)) = (self.value.dim(), other.value.dim());
        let fits = |a: usize, b: usize| a == b || a == 1 || b == 1;
        if fits(n, m) && fits(k, l) {
            return check_size(n.max(m), k.max(l));
        }
        Err(format!("{n} × {k} and {m} × {l} do not fit together"))
    }

    /// Sum of two, of which one may be repeated along its rows or columns.
    fn plus(&self, other: &Self) -> Result<Self, String> {
        self.check_shapes(other)?;
        let value = &self.value + &other.value;
        let zeros = || Array2::<f64>::zeros(value.raw_dim());
        let slope = match (&self.slope, &other.slope) {
            (None, None) => None,
            (Some(a), Some(b)) => Some(a + b),
            (Some(one), None) | (None, Some(one)) => Some(zeros() + one),
        };
        Ok(Self { value, slope })
    }

    fn times(&self, other: &Self) -> Result<Self, String> {
        self.check_shapes(other)?;
        let left = self.slope.as_ref().map(|slope| slope * &other.value);
        let right = other.slope.as_ref().map(|slope| &self.value * slope);
        let slope = match (left, right) {
            (Some(a), Some(b)) => Some(a + b),
            (one, None) | (None, one) => one,
        };
        Ok(Self { value: &self.value * &other.value, slope })
    }

    fn reciprocal(&self) -> Self {
        self.map(|x| (1.0 / x, -1.0 / (x * x)))
    }

    /// Product of matrices.
    fn matmul(&self, other: &Self) -> Result<Self, String> {
        let ((n, k), (m, l)) = (self.value.dim(), other.value.dim());
        if k != m {
            return Err(format!("{n} × {k} and {m} × {l} cannot be multiplied"));
        }
        check_size(n, l)?;
        let left = self.slope.as_ref().map(|slope| slope.dot(&other.value));
        let right = other.slope.as_ref().map(|slope| self.value.dot(slope));
        let slope = match (left, right) {
            (Some(a), Some(b)) => Some(a + b),
            (one, None) | (None, one) => one,
        };
        Ok(Self { value: self.value.dot(&other.value), slope })
    }

    /// Softmax of each row.
    fn softmax(&self) -> Self {
        let mut value = self.value.clone();
        for mut row in value.rows_mut() {
            let largest = row.fold(f64::NEG_INFINITY, |most, &x| most.max(x));
            row.mapv_inplace(|x| (x - largest).exp());
            let sum = row.sum();
            row.mapv_inplace(|x| x / sum);
        }
        let slope = self.slope.as_ref().map(|slope| {
            let mean = (&value * slope).sum_axis(Axis(1)).insert_axis(Axis(1));
            &value * &(slope - &mean)
        });
        Self { value, slope }
    }

    /// Rows less their means, divided by the roots of their variances (of ddof 0) and a small number.
    fn standardized(&self, epsilon: f64) -> Self {
        let mut out = self.clone();
        for (i, mut row) in out.value.rows_mut().into_iter().enumerate() {
            let columns = row.len() as f64;
            let mean = row.sum() / columns;
            row.mapv_inplace(|x| x - mean);
            let sd = (row.dot(&row) / columns + epsilon).sqrt();
            if let Some(slope) = &mut out.slope {
                let mut slope = slope.row_mut(i);
                let mean = slope.sum() / columns;
                slope.mapv_inplace(|s| s - mean);
                let of_sd = row.dot(&slope) / columns / sd;
                Zip::from(&mut slope).and(&row).for_each(|s, x| *s = (*s - x * of_sd / sd) / sd);
            }
            row.mapv_inplace(|x| x / sd);
        }
        out
    }

    /// Rows divided by what `size` makes of them: a number, and its derivative by each entry.
    fn divided(&self, size: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> Self {
        let mut out = self.clone();
        for (i, mut row) in out.value.rows_mut().into_iter().enumerate() {
            let x = row.to_vec();
            let (size, by_entry) = size(&x);
            row.mapv_inplace(|x| x / size);
            if let Some(slope) = &mut out.slope {
                let mut slope = slope.row_mut(i);
                let of_size: f64 = slope.iter().zip(&by_entry).map(|(s, d)| s * d).sum();
                slope.iter_mut().zip(&x).for_each(|(s, x)| {
                    *s = *s / size - x * of_size / (size * size);
                });
            }
        }
        out
    }
}

/// Operator of a node of a graph.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    /// The input as it is.
    Same,
    MatMul,
    Gemm {
        alpha: f64,
        beta: f64,
        transposed: bool,
    },
    Binary(Binary),
    Power(f64),
    Unary(Unary),
    Softmax,
    LogSoftmax,
    Clip {
        low: f64,
        high: f64,
    },
    /// The sum of all inputs.
    Sum,
    /// Rows less their means, divided by their standard deviations; scale and bias are inputs.
    LayerNormalization {
        epsilon: f64,
    },
    /// Columns from a place on, up to another; places below 0 count from the end.
    Slice {
        from: i64,
        to: i64,
        step: usize,
    },
    /// Joins the columns of all inputs.
    Concat,
    /// So many columns, which must be those that there are.
    Reshape(usize),
    /// Columns by their places.
    Columns(Vec<usize>),
    /// Scale, bias, mean and variance are inputs.
    BatchNormalization {
        epsilon: f64,
    },
    /// x ↦ (x − offset) scale, column by column.
    Scaler {
        offset: Array2<f64>,
        scale: Array2<f64>,
    },
    /// x ↦ link(x W + b).
    Linear {
        weights: Array2<f64>,
        bias: Array2<f64>,
        link: Link,
    },
    /// Rows divided by their largest absolute value, the sum of these or the root of their squares.
    Normalizer(Norm),
    /// Trees have no derivative.
    Trees(TreeModel),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Unary {
    Neg,
    Abs,
    Exp,
    Log,
    Sqrt,
    Reciprocal,
    Softplus,
    Erf,
    /// x Φ(x) (Hendrycks and Gimpel 2016).
    Gelu,
    /// The same by their approximation with a hyperbolic tangent.
    GeluByTanh,
    Activation(Activation),
    Elu(f64),
    LeakyRelu(f64),
    Selu {
        alpha: f64,
        gamma: f64,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Norm {
    Max,
    L1,
    L2,
}

impl Operator {
    /// True if derivatives pass through it.
    pub(super) fn has_derivative(&self) -> bool {
        !matches!(self, Self::Trees(_))
    }

    /// The output of the node; a message where shapes do not fit.
    pub(super) fn apply(&self, inputs: &[Dual]) -> Result<Dual, String> {
        let input = |place: usize| {
            inputs.get(place).ok_or_else(|| format!("an operator lacks its input {}", place + 1))
        };
        let x = input(0)?;
        match self {
            Self::Same => Ok(x.clone()),
            Self::MatMul => x.matmul(input(1)?),
            Self::Gemm { alpha, beta, transposed } => {
                let second = input(1)?;
                let product = if *transposed {
                    x.matmul(&second.linear(|w| w.t().to_owned()))
                } else {
                    x.matmul(second)
                };
                let product = product?.scaled(*alpha);
                inputs.get(2).map_or(Ok(product.clone()), |c| product.plus(&c.scaled(*beta)))
            }
            Self::Binary(Binary::Add) => x.plus(input(1)?),
            Self::Binary(Binary::Sub) => x.plus(&input(1)?.scaled(-1.0)),
            Self::Binary(Binary::Mul) => x.times(input(1)?),
            Self::Binary(Binary::Div) => x.times(&input(1)?.reciprocal()),
            Self::Power(p) => Ok(x.map(|x| (x.powf(*p), p * x.powf(p - 1.0)))),
            Self::Unary(function) => Ok(x.map(|x| function.at(x))),
            Self::Softmax => Ok(x.softmax()),
            Self::LogSoftmax => Ok(x.softmax().map(|p| (p.ln(), 1.0 / p))),
            Self::Clip { low, high } => {
                Ok(x.map(|x| (x.max(*low).min(*high), f64::from(u8::from(x > *low && x < *high)))))
            }
            Self::Sum => inputs[1..].iter().try_fold(x.clone(), |sum, next| sum.plus(next)),
            Self::LayerNormalization { epsilon } => {
                let normal = x.standardized(*epsilon).times(input(1)?)?;
                inputs.get(2).map_or(Ok(normal.clone()), |bias| normal.plus(bias))
            }
            Self::Slice { from, to, step } => {
                let columns = x.value.ncols();
                let place = |place: i64| {
                    let from_start =
                        if place < 0 { place.saturating_add(columns as i64) } else { place };
                    from_start.clamp(0, columns as i64) as usize
                };
                let places: Vec<usize> = (place(*from)..place(*to)).step_by(*step).collect();
                Ok(x.linear(|x| x.select(Axis(1), &places)))
            }
            Self::Concat => concat(inputs),
            Self::Reshape(columns) if x.value.ncols() != *columns => {
                Err(format!("{} columns cannot become {columns}", x.value.ncols()))
            }
            Self::Reshape(_) => Ok(x.clone()),
            Self::Columns(places) => match places.iter().find(|&&p| p >= x.value.ncols()) {
                Some(place) => Err(format!("there is no column {place}")),
                None => Ok(x.linear(|x| x.select(Axis(1), places))),
            },
            Self::BatchNormalization { epsilon } => {
                let deviation =
                    input(4)?.map(|v| ((v + epsilon).sqrt(), 0.5 / (v + epsilon).sqrt()));
                let factor = input(1)?.times(&deviation.reciprocal())?;
                x.plus(&input(3)?.scaled(-1.0))?.times(&factor)?.plus(input(2)?)
            }
            Self::Scaler { offset, scale } => {
                let offset = Dual::constant(-offset);
                x.plus(&offset)?.times(&Dual::constant(scale.clone()))
            }
            Self::Linear { weights, bias, link } => {
                let scores = x.matmul(&Dual::constant(weights.clone()))?;
                let scores = scores.plus(&Dual::constant(bias.clone()))?;
                Ok(match link {
                    Link::Softmax => scores.softmax(),
                    Link::Sigmoid(_) => scores.map(|x| Activation::Sigmoid.at(x)),
                    _ => scores,
                })
            }
            Self::Normalizer(norm) => Ok(x.divided(|row| norm.of(row))),
            Self::Trees(model) => trees(model, &x.value).map(Dual::constant),
        }
    }
}

fn concat(inputs: &[Dual]) -> Result<Dual, String> {
    let rows = inputs.iter().map(|x| x.value.nrows()).max().unwrap_or_default();
    check_size(rows, inputs.iter().map(|x| x.value.ncols()).sum())?;
    let join = |parts: &[Array2<f64>]| {
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        concatenate(Axis(1), &views).map_err(|e| e.to_string())
    };
    let values: Vec<Array2<f64>> = inputs.iter().map(|x| x.value.clone()).collect();
    let slope = |x: &Dual| x.slope.clone().unwrap_or_else(|| Array2::zeros(x.value.raw_dim()));
    let slopes = inputs.iter().any(|x| x.slope.is_some()).then(|| inputs.iter().map(slope));
    let slope = slopes.map(|slopes| join(&slopes.collect::<Vec<_>>())).transpose()?;
    Ok(Dual { value: join(&values)?, slope })
}

fn trees(model: &TreeModel, x: &Array2<f64>) -> Result<Array2<f64>, String> {
    let (rows, known) = (x.nrows(), model.dimension());
    if x.ncols() < known {
        return Err(format!("trees ask for {known} features of {}", x.ncols()));
    }
    let columns: Vec<Vec<f64>> = x.columns().into_iter().map(|x| x.to_vec()).collect();
    let columns: Vec<Column<'_>> = columns.iter().map(|x| Column::Values(x)).collect();
    let mut values = Array2::zeros((model.outputs(), rows));
    if let Some(values) = values.as_slice_mut() {
        model.predict(&Rows::new(&columns, rows), values).map_err(|e| e.to_string())?;
    }
    Ok(values.reversed_axes())
}

impl Unary {
    /// The value and the derivative.
    fn at(self, x: f64) -> (f64, f64) {
        let elu =
            |alpha: f64| if x > 0.0 { (x, 1.0) } else { (alpha * x.exp_m1(), alpha * x.exp()) };
        match self {
            Self::Neg => (-x, -1.0),
            Self::Abs => (x.abs(), x.signum()),
            Self::Exp => (x.exp(), x.exp()),
            Self::Log => (x.ln(), 1.0 / x),
            Self::Sqrt => (x.sqrt(), 0.5 / x.sqrt()),
            Self::Reciprocal => (1.0 / x, -1.0 / (x * x)),
            Self::Softplus => (x.max(0.0) + (-x.abs()).exp().ln_1p(), sigmoid(x)),
            Self::Erf => (libm::erf(x), FRAC_2_SQRT_PI * (-x * x).exp()),
            Self::Gelu => {
                let below = 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
                let density = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (-0.5 * x * x).exp();
                (x * below, below + x * density)
            }
            Self::GeluByTanh => {
                let scale = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
                let tanh = (scale * (x + 0.044_715 * x * x * x)).tanh();
                let slope = (1.0 - tanh * tanh) * scale * (1.0 + 3.0 * 0.044_715 * x * x);
                (0.5 * x * (1.0 + tanh), 0.5 * (1.0 + tanh) + 0.5 * x * slope)
            }
            Self::Activation(function) => function.at(x),
            Self::Elu(alpha) => elu(alpha),
            Self::LeakyRelu(alpha) if x <= 0.0 => (alpha * x, alpha),
            Self::LeakyRelu(_) => (x, 1.0),
            Self::Selu { alpha, gamma } => (gamma * elu(alpha).0, gamma * elu(alpha).1),
        }
    }
}

impl Norm {
    /// The size of a row, and its derivative by each entry.
    fn of(self, row: &[f64]) -> (f64, Vec<f64>) {
        match self {
            Self::L1 => {
                (row.iter().map(|x| x.abs()).sum(), row.iter().map(|x| x.signum()).collect())
            }
            Self::L2 => {
                let size = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                (size, row.iter().map(|x| x / size).collect())
            }
            Self::Max => {
                let size = row.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
                let largest = row.iter().position(|x| x.abs() == size);
                let by = |(i, x): (usize, &f64)| if Some(i) == largest { x.signum() } else { 0.0 };
                (size, row.iter().enumerate().map(by).collect())
            }
        }
    }
}
