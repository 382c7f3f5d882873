//! Trees compiled to programs over columns: each operation is a loop over many rows.

use std::collections::HashMap;
use std::sync::OnceLock;

use fe_core::Model;
use fe_core::error::ModelError;
use fe_core::model::{Column, Rows};

use crate::expression::{Binary, Comparison, Expression, Unary};

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
    Joint(Binary, usize, usize),
    Indicator(Comparison, usize, usize),
    If(usize, usize, usize),
}

impl Operation {
    fn operands(self) -> impl Iterator<Item = usize> {
        let all = match self {
            Self::Number(_) | Self::Feature(_) => [None; 3],
            Self::Power(a, _) | Self::Function(_, a) => [Some(a), None, None],
            Self::Add(a, b)
            | Self::Subtract(a, b)
            | Self::Multiply(a, b)
            | Self::Divide(a, b)
            | Self::Joint(_, a, b)
            | Self::Indicator(_, a, b) => [Some(a), Some(b), None],
            Self::If(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        all.into_iter().flatten()
    }

    /// The same with its operands elsewhere.
    fn moved(self, to: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Number(_) | Self::Feature(_) => self,
            Self::Power(a, power) => Self::Power(to(a), power),
            Self::Function(function, a) => Self::Function(function, to(a)),
            Self::Add(a, b) => Self::Add(to(a), to(b)),
            Self::Subtract(a, b) => Self::Subtract(to(a), to(b)),
            Self::Multiply(a, b) => Self::Multiply(to(a), to(b)),
            Self::Divide(a, b) => Self::Divide(to(a), to(b)),
            Self::Joint(function, a, b) => Self::Joint(function, to(a), to(b)),
            Self::Indicator(comparison, a, b) => Self::Indicator(comparison, to(a), to(b)),
            Self::If(a, b, c) => Self::If(to(a), to(b), to(c)),
        }
    }
}

/// A tree as operations, each with the slot that its values go to.
#[derive(Debug)]
pub(super) struct Program {
    operations: Vec<(Operation, usize)>,
    slots: usize,
    result: usize,
}

/// What is computed more than once is computed once.
#[derive(Default)]
struct Compiler {
    operations: Vec<Operation>,
    known: HashMap<Operation, usize>,
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
                let [a, b, c] = [0, 1, 2].map(|part| self.compile(&parts[part]));
                Operation::If(a, b, c)
            }
        };
        self.push(operation)
    }
}

impl Program {
    pub(super) fn of(tree: &Expression) -> Self {
        let mut compiler = Compiler::default();
        let result = compiler.compile(tree);
        let operations = compiler.operations;
        let mut last_use: Vec<usize> = (0..operations.len()).collect();
        for (i, operation) in operations.iter().enumerate() {
            operation.operands().for_each(|operand| last_use[operand] = i);
        }
        last_use[result] = usize::MAX;
        // A slot is free again once its values were used for the last time.
        let (mut free, mut slots) = (Vec::new(), 0);
        let mut slot_of = vec![0; operations.len()];
        let mut placed = Vec::with_capacity(operations.len());
        for (i, operation) in operations.iter().enumerate() {
            let slot = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            slot_of[i] = slot;
            placed.push((operation.moved(|operand| slot_of[operand]), slot));
            let mut ended: Vec<usize> =
                operation.operands().filter(|&operand| last_use[operand] == i).collect();
            ended.sort_unstable();
            ended.dedup();
            free.extend(ended.into_iter().map(|operand| slot_of[operand]));
        }
        Self { operations: placed, slots, result: slot_of[result] }
    }

    /// Writes the values at all rows.
    fn run(&self, rows: &Rows<'_>, values: &mut [f64]) {
        let columns = rows.columns();
        let mut slots = vec![[0.0; WIDTH]; self.slots];
        for (block, values) in values.chunks_mut(WIDTH).enumerate() {
            for &(operation, slot) in &self.operations {
                let mut out = slots[slot];
                let n = values.len();
                operate(operation, &slots, columns, block * WIDTH, &mut out[..n]);
                slots[slot] = out;
            }
            values.copy_from_slice(&slots[self.result][..values.len()]);
        }
    }
}

/// The values of one operation for some rows from `start` on.
fn operate(
    operation: Operation,
    slots: &[[f64; WIDTH]],
    columns: &[Column<'_>],
    start: usize,
    out: &mut [f64],
) {
    let n = out.len();
    let one = |a: usize, out: &mut [f64], of: &dyn Fn(f64) -> f64| {
        for (out, a) in out.iter_mut().zip(&slots[a][..n]) {
            *out = of(*a);
        }
    };
    macro_rules! two {
        ($a:expr, $b:expr, $of:expr) => {
            for ((out, a), b) in out.iter_mut().zip(&slots[$a][..n]).zip(&slots[$b][..n]) {
                *out = $of(*a, *b);
            }
        };
    }
    match operation {
        Operation::Number(bits) => out.fill(f64::from_bits(bits)),
        Operation::Feature(index) => match columns[index] {
            Column::Values(values) => out.copy_from_slice(&values[start..start + n]),
            Column::Constant(value) => out.fill(value),
        },
        Operation::Add(a, b) => two!(a, b, |a: f64, b: f64| a + b),
        Operation::Subtract(a, b) => two!(a, b, |a: f64, b: f64| a - b),
        Operation::Multiply(a, b) => two!(a, b, |a: f64, b: f64| a * b),
        Operation::Divide(a, b) => two!(a, b, |a: f64, b: f64| a / b),
        Operation::Power(a, bits) => match f64::from_bits(bits) {
            2.0 => two!(a, a, |a: f64, b: f64| a * b),
            power => one(a, out, &|a| a.powf(power)),
        },
        Operation::Function(function, a) => match function {
            Unary::Sqrt => two!(a, a, |a: f64, _| a.sqrt()),
            Unary::Abs => two!(a, a, |a: f64, _| a.abs()),
            _ => one(a, out, &|a| function.of(a)),
        },
        Operation::Joint(function, a, b) => two!(a, b, |a, b| function.of(a, b)),
        Operation::Indicator(comparison, a, b) => {
            two!(a, b, |a, b| f64::from(u8::from(comparison.holds(a, b))))
        }
        Operation::If(condition, a, b) => {
            let sides = slots[a][..n].iter().zip(&slots[b][..n]);
            for ((out, condition), (a, b)) in out.iter_mut().zip(&slots[condition]).zip(sides) {
                *out = if *condition == 0.0 { *b } else { *a };
            }
        }
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
    fn columns_give_the_bits_of_the_tree() {
        let mut names = Names::default();
        for (index, name) in ["a", "b", "c"].iter().enumerate() {
            names.add(name, Meaning::Feature(index));
        }
        let rows = 2 * WIDTH + 17;
        let column = |shift: f64| -> Vec<f64> {
            (0..rows).map(|i| (0.37 * i as f64 + shift).sin()).collect()
        };
        let columns = [column(0.0), column(1.3), column(2.9)];
        for text in [
            "a + b*c - a^2/(b + 3) - 1",
            "if(a < b and c >= 0 or a == c, sin(a*b), max(a, b, c)^2) + abs(a)",
            "exp(a)*exp(a) + (a + 2)^b - (b + 2)^2.5 + floor(3*c)*sign(a) + atan2(a, b)",
            "2",
            "b",
        ] {
            let tree = expression(text, &names).unwrap();
            let model = Compiled::new(&tree, 3);
            let batch = [&columns[0], &columns[1], &columns[2]];
            let mut batch = batch.map(|column| Column::Values(column)).to_vec();
            batch[2] = Column::Constant(0.3);
            let batch = Rows::new(&batch, rows);
            let mut values = vec![0.0; rows];
            model.predict(&batch, &mut values).unwrap();
            let row = |i: usize| [columns[0][i], columns[1][i], 0.3];
            for (i, value) in values.iter().enumerate() {
                assert_eq!(*value, tree.value(&row(i)), "{text}, row {i}");
            }
            for s in 0..3 {
                model.partial(s, &batch, &mut values).unwrap();
                let partial = tree.partial(s);
                for (i, value) in values.iter().enumerate() {
                    assert_eq!(*value, partial.value(&row(i)), "{text} along {s}, row {i}");
                }
            }
        }
    }
}
