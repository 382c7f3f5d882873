//! Functions between dense layers, with their derivatives.

/// A function between dense layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Relu,
    Tanh,
    Sigmoid,
    Silu,
}

impl Activation {
    /// The value and the derivative at a point; at the kink of `relu` that to the left.
    pub(crate) fn at(self, x: f64) -> (f64, f64) {
        match self {
            Self::Relu if x > 0.0 => (x, 1.0),
            Self::Relu => (0.0, 0.0),
            Self::Tanh => {
                let y = x.tanh();
                (y, 1.0 - y * y)
            }
            Self::Sigmoid => {
                let y = sigmoid(x);
                (y, y * (1.0 - y))
            }
            Self::Silu => {
                let y = sigmoid(x);
                (x * y, y * (1.0 + x * (1.0 - y)))
            }
        }
    }
}

/// 1/(1 + e^−x).
pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
