//! Operators of ONNX on tensors of rows × columns, in double precision.
//!
//! Sources: the operator references of ONNX (`ai.onnx`) and ONNX-ML (`ai.onnx.ml`).

use candle_core::{D, Device, Tensor};

use super::trees::{Forest, Link};
use crate::tensors::{self, Outcome};

/// What a node of a graph computes from its inputs.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    /// The input as it is.
    Same,
    MatMul,
    Gemm { alpha: f64, beta: f64, transposed: (bool, bool) },
    Binary(Binary),
    Power(f64),
    Unary(Unary),
    Softmax,
    LogSoftmax,
    Clip { low: Option<f64>, high: Option<f64> },
    /// Joins the columns of all inputs.
    Concat,
    /// Rows × all else.
    Flatten,
    /// So many columns; all that there are, if it is not said.
    Reshape(Option<usize>),
    /// Columns by their places.
    Columns(Vec<u32>),
    /// Scale, bias, mean and variance are inputs.
    BatchNormalization { epsilon: f64 },
    /// x ↦ (x − offset) scale, column by column.
    Scaler { offset: Tensor, scale: Tensor },
    /// x ↦ link(x W + b).
    Linear { weights: Tensor, bias: Tensor, link: Link },
    /// Rows divided by their largest absolute value, the sum of these or the root of their squares.
    Normalizer(Norm),
    /// Trees have no derivative.
    Trees { forest: Box<Forest>, link: Link },
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
    Relu,
    Tanh,
    Sigmoid,
    Softplus,
    Gelu,
    Elu(f64),
    LeakyRelu(f64),
    Selu { alpha: f64, gamma: f64 },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Norm {
    Max,
    L1,
    L2,
}

impl Operator {
    /// Whether derivatives pass through it.
    pub(super) fn has_derivative(&self) -> bool {
        !matches!(self, Self::Trees { .. })
    }

    /// The output of the node.
    pub(super) fn apply(&self, inputs: &[Tensor]) -> Outcome<Tensor> {
        let Some(x) = inputs.first() else { candle_core::bail!("an operator has no input") };
        let second = || match inputs.get(1) {
            Some(second) => Ok(second),
            None => candle_core::bail!("an operator lacks its second input"),
        };
        match self {
            Self::Same => Ok(x.clone()),
            Self::MatMul => x.broadcast_matmul(second()?),
            Self::Gemm { alpha, beta, transposed } => {
                let turned = |x: &Tensor, turn: bool| if turn { x.t() } else { Ok(x.clone()) };
                let product = turned(x, transposed.0)?.matmul(&turned(second()?, transposed.1)?)?;
                let product = (product * *alpha)?;
                match inputs.get(2) {
                    Some(c) => product.broadcast_add(&(c * *beta)?),
                    None => Ok(product),
                }
            }
            Self::Binary(Binary::Add) => x.broadcast_add(second()?),
            Self::Binary(Binary::Sub) => x.broadcast_sub(second()?),
            Self::Binary(Binary::Mul) => x.broadcast_mul(second()?),
            Self::Binary(Binary::Div) => x.broadcast_div(second()?),
            Self::Power(exponent) => x.powf(*exponent),
            Self::Unary(function) => function.apply(x),
            Self::Softmax => candle_nn::ops::softmax(x, D::Minus1),
            Self::LogSoftmax => candle_nn::ops::log_softmax(x, D::Minus1),
            Self::Clip { low, high } => {
                let x = low.map_or(Ok(x.clone()), |low| x.maximum(low))?;
                high.map_or(Ok(x.clone()), |high| x.minimum(high))
            }
            Self::Concat => Tensor::cat(inputs, D::Minus1),
            Self::Flatten => x.flatten_from(1),
            Self::Reshape(Some(columns)) => x.reshape(((), *columns)),
            Self::Reshape(None) => x.reshape((x.dim(0)?, ())),
            Self::Columns(places) => x.index_select(&Tensor::new(&places[..], &Device::Cpu)?, 1),
            Self::BatchNormalization { epsilon } => {
                let [x, scale, bias, mean, variance] = inputs else {
                    candle_core::bail!("BatchNormalization has 5 inputs")
                };
                let factor = (scale / (variance + *epsilon)?.sqrt()?)?;
                x.broadcast_sub(mean)?.broadcast_mul(&factor)?.broadcast_add(bias)
            }
            Self::Scaler { offset, scale } => x.broadcast_sub(offset)?.broadcast_mul(scale),
            Self::Linear { weights, bias, link } => {
                after(*link, &x.matmul(weights)?.broadcast_add(bias)?)
            }
            Self::Normalizer(norm) => {
                let size = match norm {
                    Norm::Max => x.abs()?.max_keepdim(1)?,
                    Norm::L1 => x.abs()?.sum_keepdim(1)?,
                    Norm::L2 => x.sqr()?.sum_keepdim(1)?.sqrt()?,
                };
                x.broadcast_div(&size)
            }
            Self::Trees { forest, link } => {
                if x.dim(1)? < forest.features {
                    candle_core::bail!("trees ask for feature {}", forest.features);
                }
                let scores = forest.base.len();
                let mut score = vec![0.0; scores];
                let outputs = link.outputs(scores);
                let mut output = vec![0.0; outputs];
                let mut all = Vec::new();
                for mut row in x.to_vec2::<f64>()? {
                    forest.score(&mut row, &mut score);
                    link.apply(&score, &mut output);
                    all.extend_from_slice(&output);
                }
                Tensor::from_vec(all, (x.dim(0)?, outputs), &Device::Cpu)
            }
        }
    }
}

impl Unary {
    fn apply(self, x: &Tensor) -> Outcome<Tensor> {
        match self {
            Self::Neg => x.neg(),
            Self::Abs => x.abs(),
            Self::Exp => x.exp(),
            Self::Log => x.log(),
            Self::Sqrt => x.sqrt(),
            Self::Reciprocal => x.recip(),
            Self::Relu => x.relu(),
            Self::Tanh => x.tanh(),
            Self::Sigmoid => tensors::sigmoid(x),
            // Written so that no exponential overflows.
            Self::Softplus => x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?,
            Self::Gelu => x.gelu_erf(),
            Self::Elu(alpha) => elu(x, alpha),
            Self::LeakyRelu(alpha) => x.relu()? - (x.neg()?.relu()? * alpha)?,
            Self::Selu { alpha, gamma } => elu(x, alpha)? * gamma,
        }
    }
}

/// x where it is positive, otherwise α (e^x − 1).
fn elu(x: &Tensor, alpha: f64) -> Outcome<Tensor> {
    x.relu()? + (x.minimum(0.0)?.exp()?.affine(alpha, -alpha))?
}

/// What becomes of the scores of a linear model.
fn after(link: Link, scores: &Tensor) -> Outcome<Tensor> {
    match link {
        Link::Softmax => candle_nn::ops::softmax(scores, 1),
        Link::Sigmoid(_) => tensors::sigmoid(scores),
        _ => Ok(scores.clone()),
    }
}
