//! Trees compiled to programs over columns: each operation is a loop over many rows.

use std::collections::HashMap;
use std::hint::select_unpredictable;
use std::sync::OnceLock;

use fe_core::Model;
use fe_core::error::ModelError;
use fe_core::model::{Column, Rows};
use fe_core::numeric::simd::is_held_down;
use pulp::{Arch, NullaryFnOnce};

use crate::expression::{Binary, Comparison, Expression, Unary};
use crate::fast_math::{exponential, wave};

/// Rows that are worked on at once: the columns of a program stay in the nearest cache.
const WIDTH: usize = 128;

/// One operation; numbers are told by their bits, operands by where their values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Number(u64),
    Feature(usize),
    Add(usize, usize),
    Subtract(usize, usize),
    Multiply(usize, usize),
    Divide(usize, usize),
    Power(usize, u64),
    Function(Unary, usize),
    /// sin(πa) and cos(πa).
    SinPi(usize),
    CosPi(usize),
    Joint(Binary, usize, usize),
    Indicator(Comparison, usize, usize),
    If(usize, usize, usize),
    /// The third where a comparison of the first two holds, else the fourth.
    Choose(Comparison, usize, usize, usize, usize),
}

impl Operation {
    fn operands(self) -> impl Iterator<Item = usize> {
        let all = match self {
            Self::Number(_) | Self::Feature(_) => [None; 4],
            Self::Power(a, _) | Self::Function(_, a) | Self::SinPi(a) | Self::CosPi(a) => {
                [Some(a), None, None, None]
            }
            Self::Add(a, b)
            | Self::Subtract(a, b)
            | Self::Multiply(a, b)
            | Self::Divide(a, b)
            | Self::Joint(_, a, b)
            | Self::Indicator(_, a, b) => [Some(a), Some(b), None, None],
            Self::If(a, b, c) => [Some(a), Some(b), Some(c), None],
            Self::Choose(_, a, b, c, d) => [Some(a), Some(b), Some(c), Some(d)],
        };
        all.into_iter().flatten()
    }

    /// True if it is one of two values, of which only one is needed.
    fn is_branch(&self) -> bool {
        matches!(self, Self::If(..) | Self::Choose(..))
    }

    /// True if it takes no longer than a step from one node of a tree to the next.
    fn is_quick(&self) -> bool {
        match self {
            Self::Power(_, bits) => f64::from_bits(*bits) == 2.0,
            Self::Function(function, _) => {
                matches!(function, Unary::Abs | Unary::Sign | Unary::Sqrt | Unary::Floor)
            }
            Self::SinPi(_) | Self::CosPi(_) => false,
            Self::Joint(function, ..) => matches!(function, Binary::Min | Binary::Max),
            _ => true,
        }
    }

    /// The same with its operands elsewhere.
    fn moved(self, to: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Number(_) | Self::Feature(_) => self,
            Self::Power(a, power) => Self::Power(to(a), power),
            Self::Function(function, a) => Self::Function(function, to(a)),
            Self::SinPi(a) => Self::SinPi(to(a)),
            Self::CosPi(a) => Self::CosPi(to(a)),
            Self::Add(a, b) => Self::Add(to(a), to(b)),
            Self::Subtract(a, b) => Self::Subtract(to(a), to(b)),
            Self::Multiply(a, b) => Self::Multiply(to(a), to(b)),
            Self::Divide(a, b) => Self::Divide(to(a), to(b)),
            Self::Joint(function, a, b) => Self::Joint(function, to(a), to(b)),
            Self::Indicator(comparison, a, b) => Self::Indicator(comparison, to(a), to(b)),
            Self::If(a, b, c) => Self::If(to(a), to(b), to(c)),
            Self::Choose(comparison, a, b, c, d) => {
                Self::Choose(comparison, to(a), to(b), to(c), to(d))
            }
        }
    }
}

/// A tree as operations, each with the place that its values go to. Places are those of features, whose columns are
/// read where they are, then of numbers, which are filled once, then of what is computed.
#[derive(Debug)]
pub(super) struct Program {
    features: Vec<usize>,
    numbers: Vec<f64>,
    operations: Vec<(Operation, usize)>,
    /// The number of places of what is computed.
    computed: usize,
    result: usize,
}

/// Compiler with common subexpressions computed once.
#[derive(Default)]
struct Compiler {
    operations: Vec<Operation>,
    known: HashMap<Operation, usize>,
    /// True if multiples of π are taken as half turns, which vectors are faster at.
    in_half_turns: bool,
}

impl Compiler {
    fn push(&mut self, operation: Operation) -> usize {
        *self.known.entry(operation).or_insert_with(|| {
            self.operations.push(operation);
            self.operations.len() - 1
        })
    }

    fn chain(
        &mut self,
        parts: &[Expression],
        none: f64,
        join: fn(usize, usize) -> Operation,
    ) -> usize {
        let mut parts = parts.iter();
        let Some(first) = parts.next() else { return self.push(Operation::Number(none.to_bits())) };
        let mut sum = self.compile(first);
        for part in parts {
            let part = self.compile(part);
            sum = self.push(join(sum, part));
        }
        sum
    }

    fn compile(&mut self, tree: &Expression) -> usize {
        let mut both = |pair: &[Expression; 2]| (self.compile(&pair[0]), self.compile(&pair[1]));
        let operation = match tree {
            Expression::Number(number) => Operation::Number(number.to_bits()),
            Expression::Feature(index) => Operation::Feature(*index),
            Expression::Sum(parts) => return self.chain(parts, 0.0, Operation::Add),
            Expression::Product(parts) => return self.chain(parts, 1.0, Operation::Multiply),
            Expression::Difference(pair) => {
                let (a, b) = both(pair);
                Operation::Subtract(a, b)
            }
            Expression::Quotient(pair) => {
                let (a, b) = both(pair);
                Operation::Divide(a, b)
            }
            Expression::Power(of, power) => Operation::Power(self.compile(of), power.to_bits()),
            Expression::Function(function @ (Unary::Sin | Unary::Cos), of) => {
                let turns = if self.in_half_turns { half_turns(of) } else { None };
                let function = *function;
                let a = self.compile(turns.as_ref().unwrap_or(of));
                match (turns.is_some(), function) {
                    (false, function) => Operation::Function(function, a),
                    (true, Unary::Sin) => Operation::SinPi(a),
                    (true, _) => Operation::CosPi(a),
                }
            }
            Expression::Function(function, of) => Operation::Function(*function, self.compile(of)),
            Expression::Joint(function, pair) => {
                let (a, b) = both(pair);
                Operation::Joint(*function, a, b)
            }
            Expression::Indicator(comparison, pair) => {
                let (a, b) = both(pair);
                Operation::Indicator(*comparison, a, b)
            }
            Expression::If(parts) => {
                let [condition, then, other] = &**parts;
                if let Expression::Indicator(comparison, pair) = condition {
                    let (a, b) = both(pair);
                    Operation::Choose(*comparison, a, b, self.compile(then), self.compile(other))
                } else {
                    let [a, b, c] = [condition, then, other].map(|part| self.compile(part));
                    Operation::If(a, b, c)
                }
            }
        };
        self.push(operation)
    }
}

/// An angle in half turns, where it is a multiple of π as a product with a number.
fn half_turns(angle: &Expression) -> Option<Expression> {
    let Expression::Product(parts) = angle else { return None };
    let number = |part: &Expression| match part {
        Expression::Number(number) => Some(number / std::f64::consts::PI),
        _ => None,
    };
    let is_whole = |turns: f64| turns.fract() == 0.0 && turns.abs() < 1024.0;
    let place = parts.iter().position(|part| number(part).is_some_and(is_whole))?;
    let mut rest = parts.clone();
    let turns = number(&rest.remove(place))?;
    let rest = rest.into_iter().reduce(|a, b| a * b)?;
    Some(turns * rest)
}

impl Program {
    pub(super) fn of(tree: &Expression) -> Self {
        let mut compiler = Compiler { in_half_turns: true, ..Compiler::default() };
        let result = compiler.compile(tree);
        let operations = compiler.operations;
        let mut last_use: Vec<usize> = (0..operations.len()).collect();
        for (i, operation) in operations.iter().enumerate() {
            operation.operands().for_each(|operand| last_use[operand] = i);
        }
        last_use[result] = usize::MAX;
        let (mut features, mut numbers) = (Vec::new(), Vec::new());
        let mut place_of = vec![0; operations.len()];
        for (place, operation) in place_of.iter_mut().zip(&operations) {
            if let Operation::Feature(index) = operation {
                *place = features.len();
                features.push(*index);
            }
        }
        for (place, operation) in place_of.iter_mut().zip(&operations) {
            if let Operation::Number(bits) = operation {
                *place = features.len() + numbers.len();
                numbers.push(f64::from_bits(*bits));
            }
        }
        // A place is free again once its values were used for the last time.
        let is_given =
            |i: usize| matches!(operations[i], Operation::Number(_) | Operation::Feature(_));
        let (given, mut free, mut computed) = (features.len() + numbers.len(), Vec::new(), 0);
        let mut placed = Vec::with_capacity(operations.len());
        for (i, operation) in operations.iter().enumerate() {
            if is_given(i) {
                continue;
            }
            let place = free.pop().unwrap_or_else(|| {
                computed += 1;
                given + computed - 1
            });
            place_of[i] = place;
            placed.push((operation.moved(|operand| place_of[operand]), place));
            let ends = |&operand: &usize| last_use[operand] == i && !is_given(operand);
            let mut ended: Vec<usize> = operation.operands().filter(ends).collect();
            ended.sort_unstable();
            ended.dedup();
            free.extend(ended.into_iter().map(|operand| place_of[operand]));
        }
        Self { features, numbers, operations: placed, computed, result: place_of[result] }
    }

    /// Writes the values at all rows, with the widest instructions that the processor has.
    fn run(&self, rows: &Rows<'_>, values: &mut [f64]) {
        let arch = if is_held_down() { Arch::Scalar } else { Arch::new() };
        arch.dispatch(Run { program: self, columns: rows.columns(), values });
    }
}

/// A program on its way through all rows.
struct Run<'a> {
    program: &'a Program,
    columns: &'a [Column<'a>],
    values: &'a mut [f64],
}

impl NullaryFnOnce for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let program = self.program;
        let number = |&number: &f64| Kept::of(number);
        let mut places = Places {
            features: program.features.iter().map(|s| Source::of(&self.columns[*s])).collect(),
            blocks: program.numbers.iter().map(number).collect(),
            now: 0,
        };
        let all = places.blocks.len() + program.computed;
        places.blocks.resize_with(all, || Kept::of(0.0));
        // The block that is written is none of those that are read.
        let mut out = Kept::of(0.0);
        for (now, values) in self.values.chunks_mut(WIDTH).enumerate() {
            places.now = now;
            for &(operation, place) in &program.operations {
                operate(operation, &places, values.len(), &mut out.0.0);
                std::mem::swap(&mut out, &mut places.blocks[place - program.features.len()]);
            }
            values.copy_from_slice(&places.of(program.result)[..values.len()]);
        }
    }
}

/// Values of a column by blocks: those of whole blocks where they are, and one block of the rest, or of a constant.
struct Source<'a> {
    whole: &'a [Block],
    rest: Kept,
}

impl<'a> Source<'a> {
    fn of(column: &Column<'a>) -> Self {
        match *column {
            Column::Values(values) => {
                let (whole, rest) = values.as_chunks::<WIDTH>();
                let mut block = Kept::of(0.0);
                block.0.0[..rest.len()].copy_from_slice(rest);
                Self { whole, rest: block }
            }
            Column::Constant(value) => Self { whole: &[], rest: Kept::of(value) },
        }
    }
}

/// Values that are kept, and change places by their address alone.
struct Kept(Box<Aligned>);

impl Kept {
    fn of(value: f64) -> Self {
        Self(Box::new(Aligned([value; WIDTH])))
    }
}

/// A block from the start of a cache line: the widest vectors are one line, and take twice as long across two.
#[repr(align(64))]
struct Aligned(Block);

/// The places of a program in the block of rows that is worked on.
struct Places<'a> {
    features: Vec<Source<'a>>,
    blocks: Vec<Kept>,
    now: usize,
}

impl Places<'_> {
    #[inline(always)]
    fn of(&self, place: usize) -> &Block {
        match self.features.get(place) {
            Some(source) => source.whole.get(self.now).unwrap_or(&source.rest.0.0),
            None => &self.blocks[place - self.features.len()].0.0,
        }
    }
}

/// Values of a block of rows; beyond the last row there may be anything.
type Block = [f64; WIDTH];

#[inline(always)]
fn each(a: &Block, out: &mut Block, of: impl Fn(f64) -> f64) {
    for i in 0..WIDTH {
        out[i] = of(a[i]);
    }
}

#[inline(always)]
fn pairs(a: &Block, b: &Block, out: &mut Block, of: impl Fn(f64, f64) -> f64) {
    for i in 0..WIDTH {
        out[i] = of(a[i], b[i]);
    }
}

/// Both values are read before one is chosen: behind a branch their places would be chosen, and gathered from.
#[inline(always)]
fn choose(
    a: &Block,
    b: &Block,
    then: &Block,
    other: &Block,
    out: &mut Block,
    holds: impl Fn(f64, f64) -> bool,
) {
    for i in 0..WIDTH {
        out[i] = select_unpredictable(holds(a[i], b[i]), then[i], other[i]);
    }
}

/// Loop over the rows that there are, for what no vector instruction does.
fn one_by_one(a: &[f64], out: &mut Block, of: impl Fn(f64) -> f64) {
    a.iter().zip(out).for_each(|(a, out)| *out = of(*a));
}

/// A whole power by products.
#[inline(always)]
fn whole_power(a: &Block, power: u32, out: &mut Block) {
    out.fill(1.0);
    let (mut square, mut left) = (*a, power);
    while left > 0 {
        if left & 1 == 1 {
            for i in 0..WIDTH {
                out[i] *= square[i];
            }
        }
        for x in &mut square {
            *x *= *x;
        }
        left >>= 1;
    }
}

/// The values of one operation at so many rows of a block.
#[inline(always)]
fn operate(operation: Operation, places: &Places<'_>, count: usize, out: &mut Block) {
    match operation {
        // These have places and are not computed.
        Operation::Number(_) | Operation::Feature(_) => {}
        Operation::Add(a, b) => pairs(places.of(a), places.of(b), out, |a, b| a + b),
        Operation::Subtract(a, b) => pairs(places.of(a), places.of(b), out, |a, b| a - b),
        Operation::Multiply(a, b) => pairs(places.of(a), places.of(b), out, |a, b| a * b),
        Operation::Divide(a, b) => pairs(places.of(a), places.of(b), out, |a, b| a / b),
        Operation::Power(a, bits) => match f64::from_bits(bits) {
            power if power.fract() == 0.0 && (1.0..=32.0).contains(&power) => {
                whole_power(places.of(a), power as u32, out);
            }
            power => one_by_one(&places.of(a)[..count], out, |a| a.powf(power)),
        },
        Operation::SinPi(a) => each(places.of(a), out, wave::sin_pi),
        Operation::CosPi(a) => each(places.of(a), out, wave::cos_pi),
        Operation::Function(function, a) => match function {
            Unary::Sqrt => each(places.of(a), out, f64::sqrt),
            Unary::Abs => each(places.of(a), out, f64::abs),
            Unary::Exp => each(places.of(a), out, exponential::exp),
            _ => one_by_one(&places.of(a)[..count], out, |a| function.of(a)),
        },
        Operation::Joint(function, a, b) => match function {
            Binary::Min => pairs(places.of(a), places.of(b), out, |a, b| Binary::Min.of(a, b)),
            Binary::Max => pairs(places.of(a), places.of(b), out, |a, b| Binary::Max.of(a, b)),
            _ => {
                let all = places.of(a)[..count].iter().zip(places.of(b).iter()).zip(out);
                all.for_each(|((a, b), out)| *out = function.of(*a, *b));
            }
        },
        Operation::Indicator(comparison, a, b) => {
            let (a, b) = (places.of(a), places.of(b));
            let one = |is: bool| if is { 1.0 } else { 0.0 };
            match comparison {
                Comparison::Less => pairs(a, b, out, |a, b| one(a < b)),
                Comparison::LessEqual => pairs(a, b, out, |a, b| one(a <= b)),
                Comparison::Equal => pairs(a, b, out, |a, b| one(a == b)),
            }
        }
        Operation::If(condition, a, b) => {
            let (condition, a, b) = (places.of(condition), places.of(a), places.of(b));
            for i in 0..WIDTH {
                out[i] = select_unpredictable(condition[i] != 0.0, a[i], b[i]);
            }
        }
        Operation::Choose(comparison, a, b, then, other) => {
            let [a, b, then, other] = [a, b, then, other].map(|place| places.of(place));
            match comparison {
                Comparison::Less => choose(a, b, then, other, out, |a, b| a < b),
                Comparison::LessEqual => choose(a, b, then, other, out, |a, b| a <= b),
                Comparison::Equal => choose(a, b, then, other, out, |a, b| a == b),
            }
        }
    }
}

/// A tree as a program for one row at a time, whose values are those of the tree to the bit.
pub(super) struct Scalar {
    tree: Expression,
    steps: Option<Steps>,
}

/// Operations one after the other. Places are those of numbers, of features, and of what each step computes.
struct Steps {
    numbers: Vec<f64>,
    features: Vec<usize>,
    steps: Vec<Step>,
    result: u8,
}

/// One operation, with the places of its operands.
#[derive(Clone, Copy)]
enum Step {
    Add(u8, u8),
    Subtract(u8, u8),
    Multiply(u8, u8),
    Divide(u8, u8),
    Square(u8),
    Power(u8, u8),
    Function(Unary, u8),
    Joint(Binary, u8, u8),
    Indicator(Comparison, u8, u8),
    /// The second, or the third where the first is 0.
    If(u8, u8, u8),
    /// The third where a comparison of the first two holds, else the fourth.
    Choose(Comparison, u8, u8, u8, u8),
}

/// Most places of a program for one row; longer trees are walked.
const MOST_PLACES: usize = 128;

impl Scalar {
    pub(super) fn of(tree: &Expression) -> Self {
        let mut compiler = Compiler::default();
        // The result of a tree is the last operation that is new, or one before it that is known.
        let result = compiler.compile(tree);
        let mut operations = compiler.operations;
        operations.truncate(result + 1);
        Self { tree: tree.clone(), steps: Steps::of(&operations) }
    }

    /// The value at a row.
    pub(super) fn value(&self, row: &[f64]) -> f64 {
        let Some(steps) = &self.steps else { return self.tree.value(row) };
        match steps.places() {
            0..=16 => steps.run::<16>(row),
            17..=32 => steps.run::<32>(row),
            33..=64 => steps.run::<64>(row),
            _ => steps.run::<MOST_PLACES>(row),
        }
    }
}

impl Steps {
    /// The steps for operations, each with the place that it has among them; none where they are too many, or where
    /// there are branches and not all is quick: one that is not taken costs nothing in a tree.
    fn of(operations: &[Operation]) -> Option<Self> {
        let (mut numbers, mut features) = (Vec::new(), Vec::new());
        for operation in operations {
            match operation {
                Operation::Number(bits) | Operation::Power(_, bits) => {
                    numbers.push(f64::from_bits(*bits));
                }
                Operation::Feature(index) => features.push(*index),
                _ => {}
            }
        }
        if operations.iter().any(Operation::is_branch)
            && !operations.iter().all(Operation::is_quick)
        {
            return None;
        }
        let given = numbers.len() + features.len();
        let is_given = |of: &&Operation| matches!(of, Operation::Number(_) | Operation::Feature(_));
        if given + operations.len() - operations.iter().filter(is_given).count() > MOST_PLACES {
            return None;
        }
        let (mut number, mut feature, mut steps) = (0, numbers.len(), Vec::new());
        let next = |count: &mut usize| {
            *count += 1;
            u8::try_from(*count - 1).ok()
        };
        let mut places: Vec<u8> = Vec::with_capacity(operations.len());
        for &operation in operations {
            let step = match operation {
                Operation::Number(_) => {
                    places.push(next(&mut number)?);
                    continue;
                }
                Operation::Feature(_) => {
                    places.push(next(&mut feature)?);
                    continue;
                }
                Operation::Add(a, b) => Step::Add(places[a], places[b]),
                Operation::Subtract(a, b) => Step::Subtract(places[a], places[b]),
                Operation::Multiply(a, b) => Step::Multiply(places[a], places[b]),
                Operation::Divide(a, b) => Step::Divide(places[a], places[b]),
                Operation::Power(a, bits) => {
                    let power = next(&mut number)?;
                    let is_square = f64::from_bits(bits) == 2.0;
                    if is_square { Step::Square(places[a]) } else { Step::Power(places[a], power) }
                }
                Operation::Function(function, a) => Step::Function(function, places[a]),
                Operation::Joint(function, a, b) => Step::Joint(function, places[a], places[b]),
                Operation::Indicator(comparison, a, b) => {
                    Step::Indicator(comparison, places[a], places[b])
                }
                Operation::If(condition, there, elsewhere) => {
                    Step::If(places[condition], places[there], places[elsewhere])
                }
                Operation::Choose(comparison, a, b, there, elsewhere) => {
                    let [a, b, there, elsewhere] = [a, b, there, elsewhere].map(|of| places[of]);
                    Step::Choose(comparison, a, b, there, elsewhere)
                }
                Operation::SinPi(_) | Operation::CosPi(_) => return None,
            };
            places.push(u8::try_from(given + steps.len()).ok()?);
            steps.push(step);
        }
        let result = *places.last()?;
        Some(Self { numbers, features, steps, result })
    }

    fn places(&self) -> usize {
        self.numbers.len() + self.features.len() + self.steps.len()
    }

    /// The value at a row, in so many places at most: a power of two, so that every place is inside.
    fn run<const PLACES: usize>(&self, row: &[f64]) -> f64 {
        let mut values = [0.0; PLACES];
        let (numbers, rest) = values.split_at_mut(self.numbers.len());
        numbers.copy_from_slice(&self.numbers);
        rest.iter_mut().zip(&self.features).for_each(|(value, &feature)| *value = row[feature]);
        let of = |values: &[f64; PLACES], place: u8| values[usize::from(place) % PLACES];
        let first = self.numbers.len() + self.features.len();
        for (place, &step) in (first..).zip(&self.steps) {
            values[place % PLACES] = match step {
                Step::Add(a, b) => of(&values, a) + of(&values, b),
                Step::Subtract(a, b) => of(&values, a) - of(&values, b),
                Step::Multiply(a, b) => of(&values, a) * of(&values, b),
                Step::Divide(a, b) => of(&values, a) / of(&values, b),
                Step::Square(a) => of(&values, a) * of(&values, a),
                Step::Power(a, power) => of(&values, a).powf(of(&values, power)),
                Step::Function(function, a) => function.of(of(&values, a)),
                Step::Joint(function, a, b) => function.of(of(&values, a), of(&values, b)),
                Step::Indicator(comparison, a, b) => {
                    f64::from(u8::from(comparison.holds(of(&values, a), of(&values, b))))
                }
                Step::If(condition, there, elsewhere) => {
                    of(&values, if of(&values, condition) == 0.0 { elsewhere } else { there })
                }
                Step::Choose(comparison, a, b, there, elsewhere) => {
                    let holds = comparison.holds(of(&values, a), of(&values, b));
                    of(&values, if holds { there } else { elsewhere })
                }
            };
        }
        of(&values, self.result)
    }
}

/// A tree as a model, with its derivatives.
pub(super) struct Compiled {
    tree: Expression,
    dimension: usize,
    value: Program,
    /// Of each feature, once asked for.
    partials: Vec<OnceLock<Program>>,
}

impl Compiled {
    pub(super) fn new(tree: &Expression, dimension: usize) -> Self {
        let partials = (0..dimension).map(|_| OnceLock::new()).collect();
        Self { tree: tree.clone(), dimension, value: Program::of(tree), partials }
    }
}

impl Model for Compiled {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.value.run(rows, values);
        Ok(())
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
        let program = self.partials.get(feature).ok_or(ModelError::NoDerivative { feature })?;
        program.get_or_init(|| Program::of(&self.tree.partial(feature))).run(rows, values);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::parser::{Meaning, Names, expression};

    #[test]
    fn columns_give_the_values_of_the_tree() {
        let mut names = Names::default();
        for (index, name) in ["a", "b", "c"].iter().enumerate() {
            names.add(name, Meaning::Feature(index));
        }
        let rows = 2 * WIDTH + 17;
        let column = |shift: f64| -> Vec<f64> {
            (0..rows).map(|i| (0.37 * i as f64 + shift).sin()).collect()
        };
        let columns = [column(0.0), column(1.3), column(2.9)];
        // Where vectors have other functions than the library: products in the place of powers, half
        // turns, exponentials. A few roundings of numbers below 100, each of which 2^-53 bounds.
        let rounded = [
            "sin(pi*a*b) + cos(2*pi*c)*a^3 + exp(a*b) + (b + 2)^5",
            "sin(-3*pi*(a + b)) + exp(-a^2)^4",
            "exp(a)*exp(a) + (a + 2)^b - (b + 2)^2.5 + floor(3*c)*sign(a) + atan2(a, b)",
        ];
        for text in [
            "a + b*c - a^2/(b + 3) - 1",
            "if(a < b and c >= 0 or a == c, sin(a*b), max(a, b, c)^2) + abs(a)",
            "sin(a) + (a + 2)^b - (b + 2)^2.5 + floor(3*c)*sign(a) + atan2(a, b)",
            "if(a < b, if(b <= c, 2, a), if(a == 0, c, b - 1)) + if(not a < c, b, 1)",
            "if(a < 0.5, 2, 1) * if(2 < b, 2, 0.5)",
            "if(a < b or not c < a, if(a*b < c, sqrt(1 + abs(a)), abs(b)), min(a, c)^2)",
            "2",
            "b",
        ]
        .into_iter()
        .chain(rounded)
        {
            let bound = if rounded.contains(&text) { 1e-12 } else { 0.0 };
            let agree = |a: f64, b: f64| (a - b).abs() <= bound;
            let tree = expression(text, &names).unwrap();
            let (model, scalar) = (Compiled::new(&tree, 3), Scalar::of(&tree));
            assert!(model.dimension() == 3 && model.has_partial());
            let batch = [&columns[0], &columns[1], &columns[2]];
            let mut batch = batch.map(|column| Column::Values(column)).to_vec();
            batch[2] = Column::Constant(0.3);
            let batch = Rows::new(&batch, rows);
            let mut values = vec![0.0; rows];
            model.predict(&batch, &mut values).unwrap();
            let row = |i: usize| [columns[0][i], columns[1][i], 0.3];
            for (i, value) in values.iter().enumerate() {
                assert!(agree(*value, tree.value(&row(i))), "{text}, row {i}");
                let one = scalar.value(&row(i));
                assert_eq!(one.to_bits(), tree.value(&row(i)).to_bits(), "{text}, row {i}");
            }
            for s in 0..3 {
                model.partial(s, &batch, &mut values).unwrap();
                let partial = tree.partial(s);
                for (i, value) in values.iter().enumerate() {
                    assert!(agree(*value, partial.value(&row(i))), "{text} along {s}, row {i}");
                }
            }
        }
    }

    #[test]
    fn branches_of_quick_operations_are_steps_and_others_are_walked() {
        let mut names = Names::default();
        for (index, name) in ["a", "b"].iter().enumerate() {
            names.add(name, Meaning::Feature(index));
        }
        let is_steps = |text| Scalar::of(&expression(text, &names).unwrap()).steps.is_some();
        let quick = [
            "if(a < b, a^2, sqrt(b))",
            "if(a < b or b < 0, b, 2*a)",
            "max(abs(a), sign(b)) + floor(a)",
        ];
        assert_eq!(quick.map(is_steps), [true; 3]);
        let slow = [
            "if(a < b, sin(a), b)",
            "if(a < b or b < 0, b^3, 1)",
            "if(a < b, a^b, 1)",
            "if(a < 1, exp(b), 0)",
        ];
        assert_eq!(slow.map(is_steps), [false; 4]);
        // Where all of it is asked anyway, it is steps.
        assert!(is_steps("exp(a)*b^3"));
    }
}
