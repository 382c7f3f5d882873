//! What the models that compute with tensors share: batches, activations, derivatives.

use candle_core::{Device, Tensor, Var};
use fe_core::error::ModelError;

/// The result of computing with tensors.
pub(crate) type Outcome<T> = candle_core::Result<T>;

/// Rows that are computed at once; bounds memory, and does not change a number.
const BATCH: usize = 4096;

/// A function between dense layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Relu,
    Tanh,
    Sigmoid,
    Silu,
}

impl Activation {
    pub(crate) fn apply(self, x: &Tensor) -> Outcome<Tensor> {
        match self {
            Self::Relu => x.relu(),
            Self::Tanh => x.tanh(),
            Self::Sigmoid => sigmoid(x),
            Self::Silu => x.silu(),
        }
    }
}

/// 1/(1 + e^−x), by the hyperbolic tangent, which neither overflows nor loses its derivative.
pub(crate) fn sigmoid(x: &Tensor) -> Outcome<Tensor> {
    (x * 0.5)?.tanh()?.affine(0.5, 0.5)
}

/// A matrix from its entries.
pub(crate) fn matrix(
    rows: usize,
    columns: usize,
    mut entry: impl FnMut(usize, usize) -> f64,
) -> Outcome<Tensor> {
    let mut entries = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        entries.extend((0..columns).map(|column| entry(row, column)));
    }
    Tensor::from_vec(entries, (rows, columns), &Device::Cpu)
}

/// Calls `work` on consecutive stretches of rows, in order.
pub(crate) fn in_batches(
    rows: usize,
    mut work: impl FnMut(usize, usize) -> Outcome<()>,
) -> Result<(), ModelError> {
    (0..rows)
        .step_by(BATCH)
        .try_for_each(|from| work(from, rows.min(from + BATCH)))
        .map_err(|error| ModelError::Failed(message(&error)))
}

/// The derivatives, with respect to one column of x, of a sum over its rows.
pub(crate) fn slopes(
    x: &Tensor,
    column: usize,
    sum: impl FnOnce(&Tensor) -> Outcome<Tensor>,
) -> Outcome<Vec<f64>> {
    let x = Var::from_tensor(x)?;
    let gradients = sum(&x)?.backward()?;
    match gradients.get(&x) {
        Some(gradient) => gradient.narrow(1, column, 1)?.flatten_all()?.to_vec1(),
        // The sum does not depend on x at all.
        None => Ok(vec![0.0; x.dim(0)?]),
    }
}

/// The first line of what went wrong; the library appends a backtrace where one is captured.
pub(crate) fn message(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
