//! Models in ONNX: a graph whose nodes are computed one after the other.
//!
//! Weights of single precision are computed with in double precision, so that derivatives of networks
//! are exact; predictions differ from those of a program of single precision by its rounding.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use fe_core::Model;
use fe_core::error::ModelError;
use fe_core::model::{Answered, Rows};
use ndarray::Array2;
use rten_onnx::onnx::{
    AttributeProto, DataType, GraphProto, NodeProto, TensorProto, ValueInfoProto,
};

use super::external::External;
use super::operators::{Binary, Dual, MOST_NUMBERS, Norm, Operator, Unary};
use super::protobuf;
use super::tree_model::TreeModel;
use super::trees::{Forest, Link, Member, Node, Split, Test, Tree};
use super::{StoredError, StoredModel, classes};
use crate::activation::Activation;
use crate::fitted::{Fact, FittedModel};

const FORMAT: &str = "a model in ONNX";

/// Most rows that are computed at once; bounds memory.
const BATCH: usize = 1024;

/// Rows that a graph is tried on.
const PROBED: usize = 2;

/// The domain of linear models and trees.
const ML: &str = "ai.onnx.ml";

/// Operators that are read, for messages.
const KNOWN: &str = "operators of ai.onnx: Abs, Add, BatchNormalization, Cast, Clip, Concat, Constant, Div, \
     Dropout, Elu, Erf, Exp, Flatten, Gather, Gelu, Gemm, Identity, LayerNormalization, LeakyRelu, Log, \
     LogSoftmax, MatMul, Mul, Neg, Pow, Reciprocal, Relu, Reshape, Selu, Sigmoid, Slice, Softmax, Softplus, \
     Sqrt, Squeeze, Sub, Sum, Tanh; of \
     ai.onnx.ml: ArrayFeatureExtractor, LinearClassifier, LinearRegressor, Normalizer, Scaler, \
     TreeEnsembleClassifier, TreeEnsembleRegressor, ZipMap";

pub(super) fn read(
    bytes: &[u8],
    columns: usize,
    folder: Option<&Path>,
) -> Result<StoredModel, StoredError> {
    let file = protobuf::parse(bytes).map_err(malformed)?;
    let graph = file.graph.ok_or_else(|| malformed("there is no graph in it"))?;
    let model = Compiler::new(&graph, &mut External::new(folder))?.compile(columns)?;
    Ok(StoredModel { model: model.simplest(), features: None, levels: Vec::new() })
}

fn malformed(reason: impl ToString) -> StoredError {
    StoredError::Malformed { format: FORMAT, reason: reason.to_string() }
}

fn unsupported(what: impl Into<String>) -> StoredError {
    StoredError::unsupported(what, KNOWN)
}

/// A node that is ready to be computed.
#[derive(Debug)]
struct Step {
    operator: Operator,
    inputs: Vec<String>,
    output: String,
}

/// A graph from one input to one output.
#[derive(Debug)]
struct Graph {
    input: String,
    output: String,
    constants: HashMap<String, Array2<f64>>,
    steps: Vec<Step>,
    dimension: usize,
    names: Vec<String>,
    /// Rows that are computed at once.
    batch: usize,
}

impl Graph {
    /// The outputs at some rows, rows × Q, with their derivatives if the input has any.
    fn run(&self, x: Dual) -> Result<Dual, String> {
        self.run_counting(x).map(|(output, _)| output)
    }

    /// The same, and how many numbers are held on the way.
    fn run_counting(&self, x: Dual) -> Result<(Dual, usize), String> {
        let (rows, mut numbers) = (x.value.nrows(), x.value.len());
        let mut values: HashMap<&str, Dual> = HashMap::from([(self.input.as_str(), x)]);
        for step in &self.steps {
            let value = |name: &String| {
                if let Some(value) = values.get(name.as_str()) {
                    return Ok(value.clone());
                }
                let constant = self.constants.get(name).cloned().map(Dual::constant);
                constant.ok_or_else(|| format!("there is no value `{name}`"))
            };
            let inputs = step.inputs.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            let output = step.operator.apply(&inputs)?;
            numbers += output.value.len();
            if numbers > MOST_NUMBERS {
                return Err(format!("more than {MOST_NUMBERS} numbers for {rows} rows"));
            }
            values.insert(&step.output, output);
        }
        match values.remove(self.output.as_str()) {
            Some(output) if output.value.nrows() == rows => Ok((output, numbers)),
            Some(output) => Err(format!("{} rows of {rows}", output.value.nrows())),
            None => Err(format!("there is no value `{}`", self.output)),
        }
    }

    /// The trees themselves where there is nothing else.
    fn simplest(mut self) -> Box<dyn FittedModel> {
        let only = match &self.steps[..] {
            [Step { operator: Operator::Trees(_), inputs, .. }] => *inputs == [self.input.as_str()],
            _ => false,
        };
        match self.steps.pop() {
            Some(Step { operator: Operator::Trees(trees), .. }) if only => {
                Box::new(trees.within(self.dimension, self.names))
            }
            last => {
                self.steps.extend(last);
                Box::new(self)
            }
        }
    }

    /// Writes the outputs, or their derivatives along a feature.
    fn in_batches(
        &self,
        rows: &Rows<'_>,
        along: Option<usize>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let columns = rows.columns();
        for from in (0..rows.len()).step_by(self.batch) {
            let len = self.batch.min(rows.len() - from);
            let shape = (len, self.dimension);
            let value = Array2::from_shape_fn(shape, |(i, s)| columns[s].get(from + i));
            let unit =
                |feature| Array2::from_shape_fn(shape, |(_, s)| f64::from(u8::from(s == feature)));
            let output = self.run(Dual { value, slope: along.map(unit) });
            let output = output.map_err(ModelError::Failed)?;
            let asked = match along {
                None => output.value,
                // An output that does not depend on the feature at all.
                Some(_) => output.slope.unwrap_or_else(|| Array2::zeros(output.value.raw_dim())),
            };
            for ((i, q), value) in asked.indexed_iter() {
                values[q * rows.len() + from + i] = *value;
            }
        }
        Ok(())
    }
}

impl Model for Graph {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn outputs(&self) -> usize {
        self.names.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.in_batches(rows, None, values)
    }

    fn has_partial(&self) -> bool {
        self.steps.iter().all(|step| step.operator.has_derivative())
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        if feature >= self.dimension || !self.has_partial() {
            return Err(ModelError::NoDerivative { feature });
        }
        self.in_batches(rows, Some(feature), values)
    }
}

impl FittedModel for Graph {
    fn output_names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn summary(&self) -> Vec<Fact> {
        let constants: usize = self.constants.values().map(Array2::len).sum();
        vec![
            Fact::new("operators", self.steps.len() as f64),
            Fact::new("constants", constants as f64),
        ]
    }
}

/// Turns nodes into steps.
struct Compiler<'a> {
    graph: &'a GraphProto,
    /// The node that makes a value.
    makers: HashMap<&'a str, &'a NodeProto>,
    constants: HashMap<String, Array2<f64>>,
    integers: HashMap<String, Vec<i64>>,
    single: bool,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a GraphProto, external: &mut External<'_>) -> Result<Self, StoredError> {
        let mut makers = HashMap::new();
        let (mut constants, mut integers) = (HashMap::new(), HashMap::new());
        let mut keep = |name: &str, tensor: &TensorProto| -> Result<(), StoredError> {
            match constant(tensor, external)? {
                Constant::Reals(tensor) => drop(constants.insert(name.to_owned(), tensor)),
                Constant::Integers(values) => drop(integers.insert(name.to_owned(), values)),
            }
            Ok(())
        };
        for tensor in &graph.initializer {
            keep(tensor.name.as_deref().unwrap_or_default(), tensor)?;
        }
        for node in &graph.node {
            if let ("Constant", Some(output)) = (kind(node), node.output.first()) {
                let value = Attributes(node).tensor("value");
                keep(output, value.ok_or_else(|| unsupported("a Constant that is no tensor"))?)?;
            }
            makers.extend(node.output.iter().map(|output| (output.as_str(), node)));
        }
        let mut compiler = Self { graph, makers, constants, integers, single: true };
        compiler.single = element(compiler.input()?) != Some(DataType::DOUBLE);
        Ok(compiler)
    }

    /// The only input that is not a constant.
    fn input(&self) -> Result<&'a ValueInfoProto, StoredError> {
        let is_given = |value: &&ValueInfoProto| {
            let name = value.name.as_deref().unwrap_or_default();
            !self.constants.contains_key(name) && !self.integers.contains_key(name)
        };
        let inputs: Vec<&ValueInfoProto> = self.graph.input.iter().filter(is_given).collect();
        match inputs[..] {
            [input] => Ok(input),
            _ => {
                let what = format!("a model of {} inputs", inputs.len());
                let instead = "one input of rows × features is needed";
                Err(StoredError::unsupported(what, instead))
            }
        }
    }

    /// The value to be explained, and the names of the classes if it has any: the first output of
    /// real numbers, or what a table of probabilities by class is made from.
    fn output(&self) -> Result<(&'a str, Option<Vec<String>>), StoredError> {
        let is_integer = |value: &&ValueInfoProto| {
            let kinds = [DataType::INT64, DataType::INT32, DataType::STRING, DataType::BOOL];
            element(value).is_some_and(|kind| kinds.contains(&kind))
        };
        let output = self.graph.output.iter().find(|value| !is_integer(value));
        let mut name = output.and_then(|value| value.name.as_deref()).ok_or_else(|| {
            StoredError::unsupported("a model without an output of real numbers", "one is needed")
        })?;
        let mut labels = None;
        while let Some(node) = self.makers.get(name) {
            labels = labels.or_else(|| Attributes(node).labels());
            match (kind(node), node.input.first()) {
                ("ZipMap", Some(input)) => name = input,
                // Only what may stand between a classifier and its probabilities.
                ("Identity" | "Cast" | "Normalizer", Some(input)) if labels.is_none() => {
                    labels = self.makers.get(input.as_str()).and_then(|n| Attributes(n).labels());
                    break;
                }
                _ => break,
            }
        }
        Ok((name, labels))
    }

    fn compile(self, columns: usize) -> Result<Graph, StoredError> {
        let input = self.input()?;
        let (output, labels) = self.output()?;
        let dimension = last_dimension(input).unwrap_or(columns);
        let mut steps = Vec::new();
        for node in self.needed(output) {
            steps.push(self.step(node, output)?);
        }
        let input = input.name.clone().unwrap_or_default();
        let mut graph = Graph {
            input,
            output: output.to_owned(),
            constants: self.constants,
            steps,
            dimension,
            names: Vec::new(),
            batch: BATCH,
        };
        if dimension > MOST_NUMBERS / PROBED {
            return Err(malformed(format!("{dimension} features are more than can be held")));
        }
        // Rows of ones show whether all shapes fit, how many outputs there are, and what a row takes.
        let ones = Dual::constant(Array2::ones((PROBED, dimension)));
        let answer = graph.run_counting(ones);
        let (answer, numbers) =
            answer.map_err(|e| malformed(format!("of {dimension} features: {e}")))?;
        graph.batch = (MOST_NUMBERS / numbers.div_ceil(PROBED).max(1)).clamp(1, BATCH);
        let outputs = answer.value.ncols();
        let fits = |labels: &Vec<String>| labels.len() == outputs;
        graph.names = labels.filter(fits).unwrap_or_else(|| classes(outputs));
        Ok(graph)
    }

    /// The nodes that the output depends on, in their order.
    fn needed(&self, output: &'a str) -> Vec<&'a NodeProto> {
        let mut wanted = HashSet::from([output]);
        let mut nodes: Vec<&NodeProto> = Vec::new();
        for node in self.graph.node.iter().rev() {
            let is_constant = kind(node) == "Constant";
            if !is_constant && node.output.iter().any(|name| wanted.contains(name.as_str())) {
                wanted.extend(node.input.iter().map(String::as_str));
                nodes.push(node);
            }
        }
        nodes.reverse();
        nodes
    }

    fn step(&self, node: &NodeProto, output: &str) -> Result<Step, StoredError> {
        let operator = self.operator(node)?;
        // Shapes and places are part of the operator; what is optional has no name.
        let is_value = |name: &&String| !name.is_empty() && !self.integers.contains_key(*name);
        let mut inputs: Vec<String> = node.input.iter().filter(is_value).cloned().collect();
        if matches!(operator, Operator::Clip { .. } | Operator::Power(_)) {
            inputs.truncate(1);
        }
        // Of a classifier's two outputs only the second consists of numbers.
        let is_wanted = |name: &&String| name.as_str() == output;
        let made = node.output.iter().find(is_wanted).or(match kind(node) {
            "LinearClassifier" | "TreeEnsembleClassifier" => node.output.get(1),
            _ => node.output.first(),
        });
        let made = made.ok_or_else(|| malformed("a node without an output"))?;
        Ok(Step { operator, inputs, output: made.clone() })
    }

    fn operator(&self, node: &NodeProto) -> Result<Operator, StoredError> {
        let given = Attributes(node);
        let domain = node.domain.as_deref().unwrap_or_default();
        if domain == ML {
            return self.learned(node);
        }
        let name = kind(node);
        let unknown = || unsupported(format!("the operator {name} of {}", domain_name(domain)));
        if !domain.is_empty() && domain != "ai.onnx" {
            return Err(unknown());
        }
        let alpha = |default| given.real("alpha", default);
        Ok(match name {
            "Identity" | "Dropout" | "Squeeze" => Operator::Same,
            "Cast" => match DataType(given.integer("to", 1) as i32) {
                DataType::FLOAT | DataType::DOUBLE => Operator::Same,
                _ => return Err(unsupported("a Cast to anything but real numbers")),
            },
            "MatMul" => Operator::MatMul,
            "Gemm" if given.integer("transA", 0) == 0 => Operator::Gemm {
                alpha: alpha(1.0),
                beta: given.real("beta", 1.0),
                transposed: given.integer("transB", 0) != 0,
            },
            "Add" => Operator::Binary(Binary::Add),
            "Sub" => Operator::Binary(Binary::Sub),
            "Mul" => Operator::Binary(Binary::Mul),
            "Div" => Operator::Binary(Binary::Div),
            "Pow" => match self.scalar(node, 1) {
                Some(exponent) => Operator::Power(exponent),
                None => return Err(unsupported("a Pow whose exponent is no constant")),
            },
            "Neg" => Operator::Unary(Unary::Neg),
            "Abs" => Operator::Unary(Unary::Abs),
            "Exp" => Operator::Unary(Unary::Exp),
            "Log" => Operator::Unary(Unary::Log),
            "Sqrt" => Operator::Unary(Unary::Sqrt),
            "Reciprocal" => Operator::Unary(Unary::Reciprocal),
            "Relu" => Operator::Unary(Unary::Activation(Activation::Relu)),
            "Tanh" => Operator::Unary(Unary::Activation(Activation::Tanh)),
            "Sigmoid" => Operator::Unary(Unary::Activation(Activation::Sigmoid)),
            "Softplus" => Operator::Unary(Unary::Softplus),
            "Erf" => Operator::Unary(Unary::Erf),
            "Gelu" => match given.text("approximate", "none") {
                "none" => Operator::Unary(Unary::Gelu),
                "tanh" => Operator::Unary(Unary::GeluByTanh),
                other => return Err(unsupported(format!("a Gelu approximated by {other}"))),
            },
            "Sum" => Operator::Sum,
            "Slice" => self.slice(node)?,
            "Elu" => Operator::Unary(Unary::Elu(alpha(1.0))),
            "LeakyRelu" => Operator::Unary(Unary::LeakyRelu(alpha(0.01))),
            "Selu" => Operator::Unary(Unary::Selu {
                alpha: alpha(1.673_263_192_176_818_8),
                gamma: given.real("gamma", 1.050_701_022_148_132_3),
            }),
            "Softmax" | "LogSoftmax" | "Concat" | "LayerNormalization"
                if ![-1, 1].contains(&given.integer("axis", -1)) =>
            {
                return Err(unsupported(format!("a {name} that is not over columns")));
            }
            "Softmax" => Operator::Softmax,
            "LogSoftmax" => Operator::LogSoftmax,
            "LayerNormalization" => {
                Operator::LayerNormalization { epsilon: given.real("epsilon", 1e-5) }
            }
            "Concat" => Operator::Concat,
            "Clip" => Operator::Clip {
                low: self.bound(node, 1, "min", f64::NEG_INFINITY)?,
                high: self.bound(node, 2, "max", f64::INFINITY)?,
            },
            "Flatten" if given.integer("axis", 1) == 1 => Operator::Same,
            "Reshape" => self.columns_of_shape(node)?.map_or(Operator::Same, Operator::Reshape),
            "Gather" if given.integer("axis", 0) == 1 => Operator::Columns(self.places(node)?),
            "BatchNormalization" => {
                Operator::BatchNormalization { epsilon: given.real("epsilon", 1e-5) }
            }
            _ => return Err(unknown()),
        })
    }

    /// Operators of `ai.onnx.ml`.
    fn learned(&self, node: &NodeProto) -> Result<Operator, StoredError> {
        let given = Attributes(node);
        Ok(match kind(node) {
            "Scaler" => {
                let (offset, scale) = (given.reals("offset"), given.reals("scale"));
                Operator::Scaler { offset: line(&offset), scale: line(&scale) }
            }
            "LinearRegressor" | "LinearClassifier" => linear(&given)?,
            "Normalizer" => Operator::Normalizer(match given.text("norm", "MAX") {
                "MAX" => Norm::Max,
                "L1" => Norm::L1,
                _ => Norm::L2,
            }),
            "ArrayFeatureExtractor" => Operator::Columns(self.places(node)?),
            "ZipMap" => Operator::Same,
            "TreeEnsembleRegressor" => trees(&given, "target", self.single)?,
            "TreeEnsembleClassifier" => trees(&given, "class", self.single)?,
            name => return Err(unsupported(format!("the operator {name} of {ML}"))),
        })
    }

    /// A bound of Clip: an input, in old files an attribute.
    fn bound(
        &self,
        node: &NodeProto,
        input: usize,
        name: &str,
        default: f64,
    ) -> Result<f64, StoredError> {
        match node.input.get(input).filter(|name| !name.is_empty()) {
            None => Ok(Attributes(node).real(name, default)),
            Some(_) => {
                self.scalar(node, input).ok_or_else(|| unsupported("a Clip by what is no constant"))
            }
        }
    }

    /// An input that is a constant of a single number.
    fn scalar(&self, node: &NodeProto, input: usize) -> Option<f64> {
        let name = node.input.get(input)?;
        if let Some(values) = self.integers.get(name) {
            return (values.len() == 1).then(|| values[0] as f64);
        }
        let constant = self.constants.get(name)?;
        constant.first().filter(|_| constant.len() == 1).copied()
    }

    /// The columns of a shape whose first entry stands for all rows; none if they are left open.
    fn columns_of_shape(&self, node: &NodeProto) -> Result<Option<usize>, StoredError> {
        let shape = node.input.get(1).and_then(|name| self.integers.get(name));
        match shape.map(Vec::as_slice) {
            Some([-1 | 0, columns]) if *columns > 0 => Ok(Some(*columns as usize)),
            Some([-1]) => Ok(Some(1)),
            Some([0, -1]) => Ok(None),
            _ => Err(unsupported("a Reshape to anything but rows × a number of columns")),
        }
    }

    /// A stretch of columns; its bounds are constants.
    fn slice(&self, node: &NodeProto) -> Result<Operator, StoredError> {
        let one = |input: usize, default: Option<i64>| {
            let name = node.input.get(input).filter(|name| !name.is_empty());
            let given = match name {
                None => default,
                Some(name) => match self.integers.get(name).map(Vec::as_slice) {
                    Some([value]) => Some(*value),
                    _ => None,
                },
            };
            let what = "a Slice along anything but columns, or without constant bounds";
            given.ok_or_else(|| unsupported(what))
        };
        let (from, to, step) = (one(1, None)?, one(2, None)?, one(4, Some(1))?);
        match one(3, Some(0))? {
            1 | -1 if step > 0 => Ok(Operator::Slice { from, to, step: step as usize }),
            _ => Err(unsupported("a Slice that is not along columns, or goes backwards")),
        }
    }

    /// Places of columns.
    fn places(&self, node: &NodeProto) -> Result<Vec<usize>, StoredError> {
        let places = node.input.get(1).and_then(|name| self.integers.get(name));
        let places = places.ok_or_else(|| unsupported("columns chosen by what is no constant"))?;
        let place = |&place: &i64| usize::try_from(place).map_err(malformed);
        places.iter().map(place).collect()
    }
}

fn kind(node: &NodeProto) -> &str {
    node.op_type.as_deref().unwrap_or_default()
}

fn domain_name(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

fn element(value: &ValueInfoProto) -> Option<DataType> {
    value.r#type.as_ref()?.tensor_type.as_ref()?.elem_type
}

/// The number of columns of an input, if it is fixed.
fn last_dimension(value: &ValueInfoProto) -> Option<usize> {
    let shape = value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
    usize::try_from(shape.dim.get(1)?.dim_value?).ok().filter(|n| *n > 0)
}

/// Numbers side by side.
fn line(values: &[f64]) -> Array2<f64> {
    Array2::from_shape_fn((1, values.len()), |(_, i)| values[i])
}

/// A linear model; its coefficients stand output by output.
fn linear(given: &Attributes<'_>) -> Result<Operator, StoredError> {
    let coefficients = given.reals("coefficients");
    let mut intercepts = given.reals("intercepts");
    let outputs = match given.integer("targets", 1) {
        targets if targets > 1 => targets as usize,
        _ => given.labels().map_or(1, |labels| labels.len()),
    };
    if coefficients.is_empty() || !coefficients.len().is_multiple_of(outputs) {
        return Err(malformed(format!("{} coefficients, {outputs} outputs", coefficients.len())));
    }
    if intercepts.is_empty() {
        intercepts = vec![0.0; outputs];
    }
    let features = coefficients.len() / outputs;
    let coefficient = |(s, q): (usize, usize)| coefficients[q * features + s];
    let weights = Array2::from_shape_fn((features, outputs), coefficient);
    Ok(Operator::Linear { weights, bias: line(&intercepts), link: given.link()? })
}

/// A tree ensemble; `what` is what attributes of its leaves begin with.
fn trees(given: &Attributes<'_>, what: &str, single: bool) -> Result<Operator, StoredError> {
    let leaf = |key: &str| format!("{what}_{key}");
    let tree_of = given.integers("nodes_treeids");
    let node_of = given.integers("nodes_nodeids");
    let modes = given.texts("nodes_modes");
    let (yes, no) = (given.integers("nodes_truenodeids"), given.integers("nodes_falsenodeids"));
    let (features, limits) = (given.integers("nodes_featureids"), given.reals("nodes_values"));
    let lengths = [node_of.len(), modes.len(), yes.len(), no.len(), features.len(), limits.len()];
    if lengths.iter().any(|len| *len != tree_of.len()) {
        return Err(malformed("lists of nodes of different lengths"));
    }
    // Trees in the order in which they first appear, with the places of their nodes.
    let mut places: HashMap<i64, usize> = HashMap::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (index, id) in tree_of.iter().enumerate() {
        let tree = *places.entry(*id).or_insert_with(|| {
            members.push(Vec::new());
            members.len() - 1
        });
        members[tree].push(index);
    }
    let outputs = given.integers(&leaf("ids"));
    let weights = given.reals(&leaf("weights"));
    let (leaf_tree, leaf_node) =
        (given.integers(&leaf("treeids")), given.integers(&leaf("nodeids")));
    if [outputs.len(), leaf_tree.len(), leaf_node.len()].iter().any(|len| *len != weights.len()) {
        return Err(malformed("lists of leaves of different lengths"));
    }
    let mut values: HashMap<(i64, i64), Vec<(usize, f64)>> = HashMap::new();
    let labels = given.labels().map_or(1, |labels| labels.len());
    let targets = given.integer("n_targets", 1);
    // Something is said of every target, be it where it begins.
    let said = weights.len().max(given.reals("base_values").len()).max(1);
    let targets = usize::try_from(targets).ok().filter(|targets| (1..=said).contains(targets));
    let mut scores = match (what, targets) {
        ("target", Some(targets)) => targets,
        ("target", None) => return Err(malformed("n_targets is none that the trees can have")),
        _ => labels,
    };
    // A classifier of two classes may hold the scores of one of them only.
    let one_sided = what == "class" && labels == 2 && outputs.iter().all(|q| *q == outputs[0]);
    scores = if one_sided { 1 } else { scores };
    for (i, weight) in weights.iter().enumerate() {
        let output = if one_sided { 0 } else { outputs[i] as usize };
        if output >= scores {
            return Err(malformed(format!("a leaf of output {output} of {scores}")));
        }
        values.entry((leaf_tree[i], leaf_node[i])).or_default().push((output, *weight));
    }
    let mut all = Vec::with_capacity(members.len());
    let known = features.iter().max().map_or(Ok(0), |most| usize::try_from(*most).map(|s| s + 1));
    let known = known.map_err(|_| malformed("features are counted from 0"))?;
    for indices in &members {
        let at: HashMap<i64, usize> =
            indices.iter().enumerate().map(|(place, &index)| (node_of[index], place)).collect();
        let child =
            |id: i64| at.get(&id).copied().ok_or_else(|| malformed(format!("no node {id}")));
        let (mut nodes, mut leaves) = (Vec::with_capacity(indices.len()), Vec::new());
        for &index in indices {
            let test = match modes[index].as_str() {
                "LEAF" => {
                    let key = (tree_of[index], node_of[index]);
                    leaves.push(values.remove(&key).unwrap_or_default());
                    nodes.push(Node::Leaf(leaves.len() - 1));
                    continue;
                }
                "BRANCH_LEQ" => Test::AtMost,
                "BRANCH_LT" => Test::Below,
                "BRANCH_GT" => Test::Above,
                "BRANCH_GTE" => Test::AtLeast,
                "BRANCH_EQ" => Test::Equal,
                "BRANCH_NEQ" => Test::NotEqual,
                mode => return Err(unsupported(format!("a tree with nodes of mode {mode}"))),
            };
            nodes.push(Node::Split(Split {
                feature: features[index] as usize,
                test,
                threshold: limits[index],
                children: (child(yes[index])?, child(no[index])?),
                zero: None,
                missing: None,
            }));
        }
        let tree = Tree::new(nodes, leaves.len(), known).map_err(malformed)?;
        all.push(Member { tree, leaves });
    }
    let base = match given.reals("base_values") {
        base if base.is_empty() => vec![0.0; scores],
        base if base.len() == scores => base,
        base => return Err(malformed(format!("{} base values, {scores} outputs", base.len()))),
    };
    let divisor = match given.text("aggregate_function", "SUM") {
        "SUM" => 1.0,
        "AVERAGE" => all.len().max(1) as f64,
        name => return Err(unsupported(format!("trees combined by {name}"))),
    };
    let link = match (given.link()?, one_sided) {
        (Link::Sigmoid(k), true) => Link::TwoClasses(k),
        (Link::Identity, true) => Link::Complement,
        (_, true) => return Err(unsupported("softmax of the scores of one class")),
        (link, false) => link,
    };
    let forest = Forest { members: all, base, single, features: known, divisor };
    Ok(Operator::Trees(TreeModel::new(&forest, link, known)))
}

/// The attributes of a node.
struct Attributes<'a>(&'a NodeProto);

impl<'a> Attributes<'a> {
    fn find(&self, name: &str) -> Option<&'a AttributeProto> {
        self.0.attribute.iter().find(|given| given.name.as_deref() == Some(name))
    }

    fn integer(&self, name: &str, default: i64) -> i64 {
        self.find(name).and_then(|given| given.i).unwrap_or(default)
    }

    fn optional(&self, name: &str) -> Option<f64> {
        self.find(name).and_then(|given| given.f).map(f64::from)
    }

    fn real(&self, name: &str, default: f64) -> f64 {
        self.optional(name).unwrap_or(default)
    }

    fn text(&self, name: &str, default: &'a str) -> &'a str {
        self.find(name).and_then(|given| given.s.as_deref()).unwrap_or(default)
    }

    fn texts(&self, name: &str) -> &'a [String] {
        self.find(name).map_or(&[][..], |given| &given.strings[..])
    }

    fn integers(&self, name: &str) -> &'a [i64] {
        self.find(name).map_or(&[][..], |given| &given.ints[..])
    }

    fn tensor(&self, name: &str) -> Option<&'a TensorProto> {
        self.find(name).and_then(|given| given.t.as_ref())
    }

    /// Real numbers, of double precision where there are such.
    fn reals(&self, name: &str) -> Vec<f64> {
        let doubles = self
            .tensor(&format!("{name}_as_tensor"))
            .map(|tensor| constant(tensor, &mut External::new(None)));
        if let Some(Ok(Constant::Reals(values))) = doubles {
            return values.into_iter().collect();
        }
        self.find(name).map_or(Vec::new(), |given| given.floats.iter().map(|&x| x.into()).collect())
    }

    /// Names of classes.
    fn labels(&self) -> Option<Vec<String>> {
        let text = |name| Some(self.texts(name).to_vec()).filter(|labels| !labels.is_empty());
        let number = |name| {
            let labels: Vec<String> = self.integers(name).iter().map(ToString::to_string).collect();
            Some(labels).filter(|labels| !labels.is_empty())
        };
        text("classlabels_strings")
            .or_else(|| number("classlabels_int64s"))
            .or_else(|| number("classlabels_ints"))
    }

    fn link(&self) -> Result<Link, StoredError> {
        match self.text("post_transform", "NONE") {
            "NONE" => Ok(Link::Identity),
            "LOGISTIC" => Ok(Link::Sigmoid(1.0)),
            "SOFTMAX" => Ok(Link::Softmax),
            name => Err(unsupported(format!("the transformation {name} of scores"))),
        }
    }
}

/// A tensor of a file.
enum Constant {
    /// One row, or a matrix.
    Reals(Array2<f64>),
    Integers(Vec<i64>),
}

fn constant(tensor: &TensorProto, external: &mut External<'_>) -> Result<Constant, StoredError> {
    let kind = tensor.data_type.unwrap_or(DataType::FLOAT);
    let dims: Result<Vec<usize>, _> = tensor.dims.iter().map(|&n| usize::try_from(n)).collect();
    let dims = dims.map_err(|_| malformed("a constant with a negative dimension"))?;
    let len = dims.iter().try_fold(1_usize, |len, n| len.checked_mul(*n));
    let len = len.ok_or_else(|| malformed("a constant with too many numbers"))?;
    let within = tensor.raw_data.as_ref().map(|raw| raw.borrow());
    let beside = match (tensor.external_data.is_empty(), size_of_number(kind)) {
        (false, Some(size)) => external.bytes(tensor, (len as u64).saturating_mul(size))?,
        _ => Vec::new(),
    };
    let raw: &[u8] = within.as_deref().map_or(&beside[..], Vec::as_slice);
    if kind == DataType::INT64 || kind == DataType::INT32 {
        let mut values = tensor.int64_data.clone();
        values.extend(tensor.int32_data.iter().map(|&x| i64::from(x)));
        values.extend(match kind {
            DataType::INT64 => words(raw).map(i64::from_le_bytes).collect::<Vec<_>>(),
            _ => words(raw).map(|word| i32::from_le_bytes(word).into()).collect(),
        });
        return Ok(Constant::Integers(values));
    }
    let mut values = match kind {
        DataType::FLOAT => words(raw).map(|word| f32::from_le_bytes(word).into()).collect(),
        DataType::DOUBLE => words(raw).map(f64::from_le_bytes).collect::<Vec<f64>>(),
        // Labels and the like, which nothing asks for.
        _ => return Ok(Constant::Integers(Vec::new())),
    };
    values.extend(tensor.float_data.iter().map(|&x| f64::from(x)));
    values.extend(&tensor.double_data);
    // A list is a row; what has more than two dimensions belongs to images and sequences.
    let shape = match dims[..] {
        // Nothing, of whatever length and width.
        _ if len == 0 => (1, 0),
        [] => (1, 1),
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        _ => return Err(unsupported("a constant of more than two dimensions")),
    };
    Array2::from_shape_vec(shape, values).map(Constant::Reals).map_err(malformed)
}

/// Bytes of a number, for kinds that are read.
fn size_of_number(kind: DataType) -> Option<u64> {
    match kind {
        DataType::FLOAT | DataType::INT32 => Some(4),
        DataType::DOUBLE | DataType::INT64 => Some(8),
        _ => None,
    }
}

/// Bytes in groups of a number's size.
fn words<const SIZE: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; SIZE]> + '_ {
    bytes.chunks_exact(SIZE).filter_map(|word| word.try_into().ok())
}
