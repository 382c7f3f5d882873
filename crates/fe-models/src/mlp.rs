//! A multilayer perceptron: dense layers, fitted by Adam, with exact derivatives by automatic
//! differentiation.

use candle_core::{Device, Tensor, Var};
use candle_nn::optim::{AdamW, Optimizer, ParamsAdamW};
use fe_core::error::ModelError;
use fe_core::model::{Model, Rows};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Info, Method, Task};
use crate::options::{OptionInfo, Options, number};
use crate::sample::Sample;
use crate::tensors::{self, Activation, Outcome};

/// The most units of a layer, and the most layers.
const MOST_UNITS: usize = 65_536;
const MOST_LAYERS: usize = 32;

pub(crate) const MLP: Info = Info {
    name: "mlp",
    about: "a neural network of dense layers, fitted by Adam to the mean squared error",
    task: Task::Regression,
    options: &[
        OptionInfo {
            name: "hidden",
            default: "64,32",
            allowed: "up to 32 whole numbers from 1 to 65536, separated by commas",
            about: "units of each hidden layer",
        },
        OptionInfo {
            name: "activation",
            default: "relu",
            allowed: "relu, tanh, sigmoid or silu",
            about: "what follows each hidden layer",
        },
        OptionInfo {
            name: "learning_rate",
            default: "0.001",
            allowed: "a number above 0 and at most 10",
            about: "step size of Adam",
        },
        OptionInfo {
            name: "epochs",
            default: "50",
            allowed: "a whole number from 1 to 1000000",
            about: "passes over the data",
        },
        OptionInfo {
            name: "batch",
            default: "32",
            allowed: "a whole number from 1 to 1000000000",
            about: "rows of a step; all rows if there are no more",
        },
        OptionInfo {
            name: "weight_decay",
            default: "0",
            allowed: "a number from 0 to 1",
            about: "decoupled decay of the weights (AdamW)",
        },
    ],
    build,
};

/// Widths of hidden layers, as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Widths(Vec<usize>);

impl std::fmt::Display for Widths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let widths: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&widths.join(","))
    }
}

fn widths(text: &str) -> Option<Widths> {
    let width = |text: &str| text.trim().parse().ok().filter(|n| (1..=MOST_UNITS).contains(n));
    let widths: Vec<usize> = text.split(',').map(width).collect::<Option<_>>()?;
    (widths.len() <= MOST_LAYERS).then_some(Widths(widths))
}

fn build(options: &mut Options) -> Result<Box<dyn Method>> {
    let Widths(hidden) = {
        let mut read = Widths(Vec::new());
        options.read("hidden", |text| {
            read = widths(text)?;
            Some(read.clone())
        })?;
        read
    };
    Ok(Box::new(Perceptron {
        hidden,
        activation: options.choice(
            "activation",
            &[
                ("relu", Activation::Relu),
                ("tanh", Activation::Tanh),
                ("sigmoid", Activation::Sigmoid),
                ("silu", Activation::Silu),
            ],
        )?,
        learning_rate: options.number("learning_rate", |x| x > 0.0 && x <= 10.0)?,
        epochs: options.count("epochs", |n| (1..=1_000_000).contains(&n))?,
        batch: options.count("batch", |n| (1..=1_000_000_000).contains(&n))?,
        weight_decay: options.number("weight_decay", |x| (0.0..=1.0).contains(&x))?,
    }))
}

#[derive(Debug)]
struct Perceptron {
    hidden: Vec<usize>,
    activation: Activation,
    learning_rate: f64,
    epochs: usize,
    batch: usize,
    weight_decay: f64,
}

impl Method for Perceptron {
    /// Features and target are scaled to mean 0 and variance 1; weights start uniformly as Glorot and
    /// Bengio (2010) do, biases at 0; each epoch takes the rows in an order of its own. A row of weight
    /// 2 counts twice in the loss of its step.
    fn fit(&self, sample: &Sample, seed: u64) -> Result<Box<dyn FittedModel>> {
        let scaled = |values: &[f64]| Scaling::of(values, sample);
        let overflow = || FitError::Overflow(MLP.name);
        let inputs: Vec<Scaling> =
            sample.columns.iter().map(|x| scaled(x)).collect::<Option<_>>().ok_or_else(overflow)?;
        let output = scaled(&sample.target).ok_or_else(overflow)?;
        let fitted = self.train(sample, &inputs, output, seed).map_err(|error| {
            FitError::Refused { model: MLP.name, reason: tensors::message(&error) }
        })?;
        if fitted.loss.is_finite() && fitted.is_finite() {
            return Ok(Box::new(fitted));
        }
        Err(FitError::Refused {
            model: MLP.name,
            reason: "the weights grew beyond all bounds: lower `learning_rate`".to_owned(),
        })
    }
}

impl Perceptron {
    fn train(
        &self,
        sample: &Sample,
        inputs: &[Scaling],
        output: Scaling,
        seed: u64,
    ) -> Outcome<Network> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let rows = sample.len();
        let x = tensors::matrix(rows, inputs.len(), |i, s| inputs[s].apply(sample.columns[s][i]))?;
        let y = tensors::matrix(rows, 1, |i, _| output.apply(sample.target[i]))?;
        let weights = tensors::matrix(rows, 1, |i, _| sample.weight(i))?;
        let layers = self.start(inputs.len(), &mut random)?;
        let parameters = ParamsAdamW {
            lr: self.learning_rate,
            weight_decay: self.weight_decay,
            ..ParamsAdamW::default()
        };
        let all = layers.iter().flat_map(|(weights, bias)| [weights.clone(), bias.clone()]);
        let mut adam = AdamW::new(all.collect(), parameters)?;
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let mut loss = f64::NAN;
        for _ in 0..self.epochs {
            order.shuffle(&mut random);
            let mut sum = 0.0;
            for batch in order.chunks(self.batch) {
                let batch = Tensor::new(batch, &Device::Cpu)?;
                let pick = |of: &Tensor| of.index_select(&batch, 0);
                let residual = (self.forward(&layers, &pick(&x)?)? - pick(&y)?)?;
                let weights = pick(&weights)?;
                let total = (residual.sqr()? * &weights)?.sum_all()?;
                let weight: f64 = weights.sum_all()?.to_scalar()?;
                sum += total.to_scalar::<f64>()?;
                adam.backward_step(&(total / weight)?)?;
            }
            loss = sum / sample.total_weight();
        }
        let fixed = |var: &Var| var.as_tensor().detach().copy();
        let layers = layers
            .iter()
            .map(|(weights, bias)| Ok((fixed(weights)?, fixed(bias)?)))
            .collect::<Outcome<Vec<_>>>()?;
        let (inputs, activation) = (inputs.to_vec(), self.activation);
        Ok(Network { inputs, output, layers, activation, loss })
    }

    /// The layers before the first step.
    fn start(&self, inputs: usize, random: &mut ChaCha8Rng) -> Outcome<Vec<(Var, Var)>> {
        let widths: Vec<usize> =
            std::iter::once(inputs).chain(self.hidden.iter().copied()).chain([1]).collect();
        let layer = |ends: &[usize]| {
            let (from, to) = (ends[0], ends[1]);
            let bound = (6.0 / (from + to) as f64).sqrt();
            let weights = tensors::matrix(from, to, |_, _| bound * (2.0 * random.random::<f64>() - 1.0));
            let bias = tensors::matrix(1, to, |_, _| 0.0);
            Ok((Var::from_tensor(&weights?)?, Var::from_tensor(&bias?)?))
        };
        widths.windows(2).map(layer).collect()
    }

    fn forward(&self, layers: &[(Var, Var)], x: &Tensor) -> Outcome<Tensor> {
        let layers = layers.iter().map(|(weights, bias)| (weights.as_tensor(), bias.as_tensor()));
        forward(layers, self.activation, x)
    }
}

/// The outputs of a network, rows × 1, at scaled inputs, rows × D.
fn forward<'a>(
    layers: impl ExactSizeIterator<Item = (&'a Tensor, &'a Tensor)>,
    activation: Activation,
    x: &Tensor,
) -> Outcome<Tensor> {
    let last = layers.len() - 1;
    let mut at = x.clone();
    for (index, (weights, bias)) in layers.enumerate() {
        at = at.matmul(weights)?.broadcast_add(bias)?;
        if index < last {
            at = activation.apply(&at)?;
        }
    }
    Ok(at)
}

/// A variable as it is, from mean 0 and variance 1 and back.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scaling {
    mean: f64,
    /// Standard deviation; 1 for a constant.
    sd: f64,
}

impl Scaling {
    /// None if the mean or the deviations are too large for a number.
    fn of(values: &[f64], sample: &Sample) -> Option<Self> {
        let mean = sample.mean(values.iter().copied());
        // The largest deviation is divided out, so that no square leaves the range of numbers.
        let largest = values.iter().fold(0.0_f64, |most, x| most.max((x - mean).abs()));
        if !(mean.is_finite() && largest.is_finite()) {
            return None;
        }
        let squares = values.iter().map(|x| ((x - mean) / largest).powi(2));
        let sd = if largest > 0.0 { largest * sample.mean(squares).sqrt() } else { 1.0 };
        // A constant in rounding is a constant.
        let constant = largest <= 4.0 * f64::EPSILON * mean.abs();
        Some(Self { mean, sd: if constant || sd < f64::MIN_POSITIVE { 1.0 } else { sd } })
    }

    fn apply(&self, x: f64) -> f64 {
        (x - self.mean) / self.sd
    }
}

/// A fitted network.
#[derive(Debug)]
struct Network {
    inputs: Vec<Scaling>,
    output: Scaling,
    /// Weights, from × to, and biases, 1 × to.
    layers: Vec<(Tensor, Tensor)>,
    activation: Activation,
    /// Mean squared error of the scaled target over the last epoch, while weights still moved.
    loss: f64,
}

impl Network {
    fn is_finite(&self) -> bool {
        let finite = |tensor: &Tensor| {
            tensor.sqr().and_then(|t| t.sum_all()?.to_scalar::<f64>()).is_ok_and(f64::is_finite)
        };
        self.layers.iter().all(|(weights, bias)| finite(weights) && finite(bias))
    }

    fn scaled(&self, rows: &Rows<'_>, from: usize, to: usize) -> Outcome<Tensor> {
        let columns = rows.columns();
        tensors::matrix(to - from, self.inputs.len(), |i, s| {
            self.inputs[s].apply(columns[s].get(from + i))
        })
    }

    fn forward(&self, x: &Tensor) -> Outcome<Tensor> {
        forward(self.layers.iter().map(|(weights, bias)| (weights, bias)), self.activation, x)
    }
}

impl Model for Network {
    fn dimension(&self) -> usize {
        self.inputs.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        tensors::in_batches(rows.len(), |from, to| {
            let outputs = self.forward(&self.scaled(rows, from, to)?)?.flatten_all()?;
            for (value, output) in values[from..to].iter_mut().zip(outputs.to_vec1::<f64>()?) {
                *value = self.output.mean + self.output.sd * output;
            }
            Ok(())
        })
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(
        &self,
        feature: usize,
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let scaling = self.inputs.get(feature).ok_or(ModelError::NoDerivative { feature })?;
        tensors::in_batches(rows.len(), |from, to| {
            let x = self.scaled(rows, from, to)?;
            let slopes = tensors::slopes(&x, feature, |x| self.forward(x)?.sum_all())?;
            for (value, slope) in values[from..to].iter_mut().zip(slopes) {
                *value = self.output.sd / scaling.sd * slope;
            }
            Ok(())
        })
    }
}

impl FittedModel for Network {
    fn summary(&self) -> Vec<Fact> {
        let count = |(weights, bias): &(Tensor, Tensor)| weights.elem_count() + bias.elem_count();
        let parameters: usize = self.layers.iter().map(count).sum();
        vec![
            Fact::new("parameters", parameters as f64),
            Fact::new("scaled training error", self.loss),
        ]
    }
}
