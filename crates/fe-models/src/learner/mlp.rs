//! A multilayer perceptron: dense layers, fitted by Adam, with exact derivatives.
//!
//! The gradient of the loss by the weights is computed backwards through the layers, the derivative by
//! a feature forwards along with the value: both are automatic differentiation of a chain of dense
//! layers, whose steps are matrix products.

use fe_core::error::ModelError;
use fe_core::model::{Answered, Model, Rows};
use ndarray::{Array1, Array2, Axis, Zip};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::activation::Activation;
use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Fit, LearnerInfo, Task};
use crate::options::{OptionInfo, Options};
use crate::sample::Sample;

/// The most units of a layer, and the most layers.
const MOST_UNITS: usize = 65_536;
const MOST_LAYERS: usize = 32;

/// Rows whose gradients are added up together. Fixed, so that threads cannot change a bit.
const CHUNK: usize = 128;

/// Rows that are predicted at once; bounds memory.
const BATCH: usize = 1024;

pub(crate) const MLP: LearnerInfo = LearnerInfo {
    name: "mlp",
    about: "a neural network of dense layers, fitted by Adam to the mean squared error",
    task: Task::Regression,
    has_steps: false,
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

fn build(options: &mut Options) -> Result<Box<dyn Fit>> {
    let words = [
        ("relu", Activation::Relu),
        ("tanh", Activation::Tanh),
        ("sigmoid", Activation::Sigmoid),
        ("silu", Activation::Silu),
    ];
    Ok(Box::new(Perceptron {
        hidden: options.read("hidden", widths)?.0,
        activation: options.choice("activation", &words)?,
        learning_rate: options.number("learning_rate", |x| x > 0.0 && x <= 10.0)?,
        epochs: options.count("epochs", |n| (1..=1_000_000).contains(&n))?,
        batch: options.count("batch", |n| (1..=1_000_000_000).contains(&n))?,
    }))
}

#[derive(Debug)]
struct Perceptron {
    hidden: Vec<usize>,
    activation: Activation,
    learning_rate: f64,
    epochs: usize,
    batch: usize,
}

impl Fit for Perceptron {
    /// Features and target are scaled to mean 0 and variance 1; weights start uniformly as Glorot and
    /// Bengio (2010) do, biases at 0; each epoch takes the rows in an order of its own. A row of weight
    /// 2 counts twice in the loss of its step.
    fn fit(&self, sample: &Sample, seed: u64) -> Result<Box<dyn FittedModel>> {
        let scaled = |values: &[f64]| Scaling::of(values, sample);
        let overflow = || FitError::Overflow(MLP.name);
        let inputs: Vec<Scaling> =
            sample.columns.iter().map(|x| scaled(x)).collect::<Option<_>>().ok_or_else(overflow)?;
        let output = scaled(&sample.target).ok_or_else(overflow)?;
        let fitted = self.train(sample, inputs, output, seed);
        if fitted.loss.is_finite() && fitted.layers.iter().all(Layer::is_finite) {
            return Ok(Box::new(fitted));
        }
        Err(FitError::Refused {
            model: MLP.name,
            reason: "the weights grew beyond all bounds: lower `learning_rate`".to_owned(),
        })
    }
}

impl Perceptron {
    fn train(&self, sample: &Sample, inputs: Vec<Scaling>, output: Scaling, seed: u64) -> Network {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let rows = sample.len();
        let data = Scaled {
            x: Array2::from_shape_fn((rows, inputs.len()), |(i, s)| {
                inputs[s].apply(sample.columns[s][i])
            }),
            y: Array1::from_shape_fn(rows, |i| output.apply(sample.target[i])),
            weights: Array1::from_shape_fn(rows, |i| sample.weight(i)),
        };
        let layers = self.start(inputs.len(), &mut random);
        let mut network =
            Network { inputs, output, layers, activation: self.activation, loss: f64::NAN };
        let mut adam = Adam::new(&network.layers, self.learning_rate);
        let mut order: Vec<usize> = (0..rows).collect();
        for _ in 0..self.epochs {
            order.shuffle(&mut random);
            let mut sum = 0.0;
            for batch in order.chunks(self.batch) {
                let weight: f64 = batch.iter().map(|&row| data.weights[row]).sum();
                let (loss, gradient) = network.gradient(&data, batch, weight);
                sum += loss;
                adam.step(&mut network.layers, &gradient);
            }
            network.loss = sum / sample.total_weight();
        }
        network
    }

    /// The layers before the first step.
    fn start(&self, inputs: usize, random: &mut ChaCha8Rng) -> Vec<Layer> {
        let widths: Vec<usize> =
            std::iter::once(inputs).chain(self.hidden.iter().copied()).chain([1]).collect();
        let layer = |ends: &[usize]| {
            let (from, to) = (ends[0], ends[1]);
            let bound = (6.0 / (from + to) as f64).sqrt();
            let weight = || bound * (2.0 * random.random::<f64>() - 1.0);
            Layer {
                weights: Array2::from_shape_simple_fn((from, to), weight),
                bias: Array1::zeros(to),
            }
        };
        widths.windows(2).map(layer).collect()
    }
}

/// Scaled observations.
struct Scaled {
    x: Array2<f64>,
    y: Array1<f64>,
    weights: Array1<f64>,
}

/// A dense layer, or what belongs to each of its numbers.
#[derive(Debug, Clone, PartialEq)]
struct Layer {
    /// From × to.
    weights: Array2<f64>,
    bias: Array1<f64>,
}

impl Layer {
    /// The same shape, all 0.
    fn zeros(&self) -> Self {
        Self {
            weights: Array2::zeros(self.weights.raw_dim()),
            bias: Array1::zeros(self.bias.raw_dim()),
        }
    }

    fn apply(&self, x: &Array2<f64>) -> Array2<f64> {
        x.dot(&self.weights) + &self.bias
    }

    fn add(&mut self, other: &Self) {
        self.weights += &other.weights;
        self.bias += &other.bias;
    }

    fn is_finite(&self) -> bool {
        self.weights.iter().chain(&self.bias).all(|x| x.is_finite())
    }
}

/// Adam (Kingma and Ba 2015, algorithm 1) with its usual decay rates.
struct Adam {
    rate: f64,
    steps: i32,
    first: Vec<Layer>,
    second: Vec<Layer>,
}

impl Adam {
    const DECAY: (f64, f64) = (0.9, 0.999);
    const EPSILON: f64 = 1e-8;

    fn new(layers: &[Layer], rate: f64) -> Self {
        let zeros: Vec<Layer> = layers.iter().map(Layer::zeros).collect();
        Self { rate, steps: 0, first: zeros.clone(), second: zeros }
    }

    fn step(&mut self, layers: &mut [Layer], gradient: &[Layer]) {
        // Past this the corrections are 1 to the last bit.
        self.steps = (self.steps + 1).min(1_000_000);
        let (one, two) = Self::DECAY;
        let (first, second) = (1.0 - one.powi(self.steps), 1.0 - two.powi(self.steps));
        let rate = self.rate;
        let update = |x: &mut f64, m: &mut f64, v: &mut f64, g: &f64| {
            *m = one * *m + (1.0 - one) * g;
            *v = two * *v + (1.0 - two) * g * g;
            *x -= rate * (*m / first) / ((*v / second).sqrt() + Self::EPSILON);
        };
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((layer, gradient), (m, v)) in layers.iter_mut().zip(gradient).zip(moments) {
            Zip::from(&mut layer.weights)
                .and(&mut m.weights)
                .and(&mut v.weights)
                .and(&gradient.weights)
                .for_each(update);
            Zip::from(&mut layer.bias)
                .and(&mut m.bias)
                .and(&mut v.bias)
                .and(&gradient.bias)
                .for_each(update);
        }
    }
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
        let constant = largest <= 4.0 * f64::EPSILON * mean.abs() || sd < f64::MIN_POSITIVE;
        Some(Self { mean, sd: if constant { 1.0 } else { sd } })
    }

    fn apply(&self, x: f64) -> f64 {
        (x - self.mean) / self.sd
    }
}

/// A network, while it is fitted and afterwards.
#[derive(Debug)]
struct Network {
    inputs: Vec<Scaling>,
    output: Scaling,
    layers: Vec<Layer>,
    activation: Activation,
    /// Mean squared error of the scaled target over the last epoch, while weights still moved.
    loss: f64,
}

impl Network {
    /// The sum of the weighted squared errors of some rows, and the gradient of that sum divided by
    /// `weight`.
    fn gradient(&self, data: &Scaled, rows: &[usize], weight: f64) -> (f64, Vec<Layer>) {
        let chunks: Vec<&[usize]> = rows.chunks(CHUNK).collect();
        let of_chunk = |rows: &&[usize]| self.gradient_of_chunk(data, rows, weight);
        let mut parts = if let [single] = chunks[..] {
            vec![of_chunk(&single)]
        } else {
            chunks.par_iter().map(of_chunk).collect::<Vec<_>>()
        }
        .into_iter();
        let first = parts.next().unwrap_or_else(|| (0.0, Vec::new()));
        parts.fold(first, |(loss, mut all), (part, layers)| {
            all.iter_mut().zip(&layers).for_each(|(all, layer)| all.add(layer));
            (loss + part, all)
        })
    }

    fn gradient_of_chunk(&self, data: &Scaled, rows: &[usize], weight: f64) -> (f64, Vec<Layer>) {
        // The inputs of each layer, and the derivatives of the activations before them.
        let mut inputs = vec![data.x.select(Axis(0), rows)];
        let mut slopes: Vec<Array2<f64>> = Vec::new();
        let last = self.layers.len() - 1;
        for layer in &self.layers[..last] {
            let mut at = layer.apply(&inputs[inputs.len() - 1]);
            let mut slope = Array2::zeros(at.raw_dim());
            Zip::from(&mut at).and(&mut slope).for_each(|x, slope| {
                (*x, *slope) = self.activation.at(*x);
            });
            inputs.push(at);
            slopes.push(slope);
        }
        let mut delta = self.layers[last].apply(&inputs[last]);
        let mut loss = 0.0;
        for (error, &row) in delta.iter_mut().zip(rows) {
            *error -= data.y[row];
            loss += data.weights[row] * *error * *error;
            *error *= 2.0 * data.weights[row] / weight;
        }
        let mut gradient = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let bias = delta.sum_axis(Axis(0));
            gradient.push(Layer { weights: inputs[index].t().dot(&delta), bias });
            if index > 0 {
                delta = delta.dot(&layer.weights.t()) * &slopes[index - 1];
            }
        }
        gradient.reverse();
        (loss, gradient)
    }

    /// The scaled outputs at some rows and, along a feature, their derivatives by the scaled feature.
    fn forward(
        &self,
        rows: &Rows<'_>,
        range: std::ops::Range<usize>,
        along: Option<usize>,
    ) -> (Array2<f64>, Option<Array2<f64>>) {
        let columns = rows.columns();
        let x = Array2::from_shape_fn((range.len(), self.inputs.len()), |(i, s)| {
            self.inputs[s].apply(columns[s].get(range.start + i))
        });
        let last = self.layers.len() - 1;
        let mut at = self.layers[0].apply(&x);
        // Before the first activation the derivative is the same in all rows.
        let mut slope = along.map(|feature| {
            let weights = self.layers[0].weights.row(feature);
            weights.broadcast(at.raw_dim()).map_or_else(|| at.clone(), |all| all.to_owned())
        });
        for layer in &self.layers[1..=last] {
            match &mut slope {
                Some(slope) => Zip::from(&mut at).and(slope).for_each(|x, slope| {
                    let (value, factor) = self.activation.at(*x);
                    *x = value;
                    *slope *= factor;
                }),
                None => at.mapv_inplace(|x| self.activation.at(x).0),
            }
            at = layer.apply(&at);
            slope = slope.map(|slope| slope.dot(&layer.weights));
        }
        (at, slope)
    }
}

/// Consecutive stretches of rows.
fn batches(rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..rows).step_by(BATCH).map(move |from| from..rows.min(from + BATCH))
}

impl Model for Network {
    fn dimension(&self) -> usize {
        self.inputs.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        for range in batches(rows.len()) {
            let (outputs, _) = self.forward(rows, range.clone(), None);
            for (value, output) in values[range].iter_mut().zip(&outputs) {
                *value = self.output.mean + self.output.sd * output;
            }
        }
        Ok(())
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let scaling = self.inputs.get(feature).ok_or(ModelError::NoDerivative { feature })?;
        for range in batches(rows.len()) {
            let (_, slopes) = self.forward(rows, range.clone(), Some(feature));
            for (value, slope) in values[range].iter_mut().zip(slopes.iter().flatten()) {
                *value = self.output.sd / scaling.sd * slope;
            }
        }
        Ok(())
    }
}

impl FittedModel for Network {
    fn summary(&self) -> Vec<Fact> {
        let parameters: usize = self.layers.iter().map(|l| l.weights.len() + l.bias.len()).sum();
        vec![
            Fact::new("parameters", parameters as f64),
            Fact::new("scaled training error", self.loss),
        ]
    }
}
