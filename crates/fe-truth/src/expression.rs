//! Functions as trees, for programs in other languages to evaluate.
//!
//! In JSON a tree is a number, a feature (`"x1"` … `"xD"`), or a list that begins with the name of an
//! operation: `["multiply", 10, ["sin", ["multiply", "x1", "x2"]]]`. `add` and `multiply` take any
//! number of trees; `subtract`, `divide`, `power`, `min`, `max`, `atan2` (of y and x), `less`,
//! `less_equal` and `equal` two; `if` three: a condition, the value where it is not 0, and the value
//! elsewhere, which alone is asked. The functions of one tree are `sin`, `cos`, `tan`, `asin`, `acos`,
//! `atan`, `sinh`, `cosh`, `tanh`, `exp`, `ln`, `log10`, `sqrt`, `abs`, `sign` (0 at 0) and `floor`.
//! The comparisons are 1 where they hold and else 0.
//!
//! Imports nothing of this crate. Begin with [`Expression`].

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A function of a row, as a tree.
///
/// ```
/// use fe_truth::{Expression, expression::feature};
/// let f = 10.0 * (feature(0) * feature(1)).sin() + feature(2).power(2.0);
/// assert_eq!(f.value(&[0.0, 1.0, 3.0]), 9.0);
/// assert_eq!(f.partial(2).value(&[0.0, 1.0, 3.0]), 6.0);
/// let json = r#"["add",["multiply",10.0,["sin",["multiply","x1","x2"]]],["power","x3",2.0]]"#;
/// assert_eq!(serde_json::to_string(&f).unwrap(), json);
/// assert_eq!(serde_json::from_str::<Expression>(json).unwrap(), f);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// The same number everywhere.
    Number(f64),
    /// A feature, counted from 0.
    Feature(usize),
    /// The sum, from left to right.
    Sum(Vec<Expression>),
    /// The first less the second.
    Difference(Box<[Expression; 2]>),
    /// The product, from left to right.
    Product(Vec<Expression>),
    /// The first divided by the second.
    Quotient(Box<[Expression; 2]>),
    /// Raised to a power.
    Power(Box<Expression>, f64),
    /// A function of one number.
    Function(Unary, Box<Expression>),
    /// A function of two numbers.
    Joint(Binary, Box<[Expression; 2]>),
    /// 1 where the comparison of the first with the second holds, else 0.
    Indicator(Comparison, Box<[Expression; 2]>),
    /// The second where the first is not 0, else the third.
    If(Box<[Expression; 3]>),
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    /// The sine of an angle in radians.
    Sin,
    /// The cosine of an angle in radians.
    Cos,
    /// The exponential.
    Exp,
    /// The square root.
    Sqrt,
    /// The tangent of an angle in radians.
    Tan,
    /// The angle between −π/2 and π/2 of a sine.
    Asin,
    /// The angle between 0 and π of a cosine.
    Acos,
    /// The angle between −π/2 and π/2 of a tangent.
    Atan,
    /// The hyperbolic sine.
    Sinh,
    /// The hyperbolic cosine.
    Cosh,
    /// The hyperbolic tangent.
    Tanh,
    /// The natural logarithm.
    Ln,
    /// The logarithm to base 10.
    Log10,
    /// The absolute value.
    Abs,
    /// −1 below 0, 1 above, and 0 at 0.
    Sign,
    /// The largest whole number that is not larger.
    Floor,
}

/// A function of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The first raised to the second.
    Power,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// The angle between −π and π of the point whose ordinate is the first and abscissa the second.
    Atan2,
}

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The first lies below the second.
    Less,
    /// The first lies below the second or is equal to it.
    LessEqual,
    /// The first is equal to the second.
    Equal,
}

pub(crate) const FUNCTIONS: [(&str, Unary); 16] = [
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("exp", Unary::Exp),
    ("sqrt", Unary::Sqrt),
    ("tan", Unary::Tan),
    ("asin", Unary::Asin),
    ("acos", Unary::Acos),
    ("atan", Unary::Atan),
    ("sinh", Unary::Sinh),
    ("cosh", Unary::Cosh),
    ("tanh", Unary::Tanh),
    ("ln", Unary::Ln),
    ("log10", Unary::Log10),
    ("abs", Unary::Abs),
    ("sign", Unary::Sign),
    ("floor", Unary::Floor),
];

const JOINT: [(&str, Binary); 4] = [
    ("power", Binary::Power),
    ("min", Binary::Min),
    ("max", Binary::Max),
    ("atan2", Binary::Atan2),
];

const COMPARISONS: [(&str, Comparison); 3] = [
    ("less", Comparison::Less),
    ("less_equal", Comparison::LessEqual),
    ("equal", Comparison::Equal),
];

impl Unary {
    /// The function of a number.
    pub(crate) fn of(self, x: f64) -> f64 {
        match self {
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Exp => x.exp(),
            Self::Sqrt => x.sqrt(),
            Self::Tan => x.tan(),
            Self::Asin => x.asin(),
            Self::Acos => x.acos(),
            Self::Atan => x.atan(),
            Self::Sinh => x.sinh(),
            Self::Cosh => x.cosh(),
            Self::Tanh => x.tanh(),
            Self::Ln => x.ln(),
            Self::Log10 => x.log10(),
            Self::Abs => x.abs(),
            Self::Sign => sign(x),
            Self::Floor => x.floor(),
        }
    }

    /// The derivative at a tree.
    fn slope(self, at: Expression) -> Expression {
        let square = |of: Expression| of.power(2.0);
        match self {
            Self::Sin => at.cos(),
            Self::Cos => -at.sin(),
            Self::Exp => at.exp(),
            Self::Sqrt => 0.5 / at.sqrt(),
            Self::Tan => 1.0 / square(at.cos()),
            Self::Asin => 1.0 / (1.0 - square(at)).sqrt(),
            Self::Acos => -1.0 / (1.0 - square(at)).sqrt(),
            Self::Atan => 1.0 / (1.0 + square(at)),
            Self::Sinh => at.of(Self::Cosh),
            Self::Cosh => at.of(Self::Sinh),
            Self::Tanh => 1.0 / square(at.of(Self::Cosh)),
            Self::Ln => 1.0 / at,
            Self::Log10 => std::f64::consts::LOG10_E / at,
            Self::Abs => at.of(Self::Sign),
            Self::Sign | Self::Floor => Expression::Number(0.0),
        }
    }
}

impl Binary {
    /// The function of two numbers.
    pub(crate) fn of(self, first: f64, second: f64) -> f64 {
        match self {
            Self::Power => first.powf(second),
            // What is not a number stays that, unlike in the functions of the language.
            Self::Min if first.is_nan() || second.is_nan() => f64::NAN,
            Self::Max if first.is_nan() || second.is_nan() => f64::NAN,
            Self::Min => first.min(second),
            Self::Max => first.max(second),
            Self::Atan2 => first.atan2(second),
        }
    }
}

impl Comparison {
    /// Truth value for two numbers.
    pub(crate) fn holds(self, first: f64, second: f64) -> bool {
        match self {
            Self::Less => first < second,
            Self::LessEqual => first <= second,
            Self::Equal => first == second,
        }
    }
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// A feature, counted from 0.
#[must_use]
pub fn feature(index: usize) -> Expression {
    Expression::Feature(index)
}

/// 1 where the first lies below the second, else 0.
#[must_use]
pub fn less(first: impl Into<Expression>, second: impl Into<Expression>) -> Expression {
    Expression::Indicator(Comparison::Less, Box::new([first.into(), second.into()]))
}

/// 1 where the first lies below the second or is equal to it, else 0.
#[must_use]
pub fn less_equal(first: impl Into<Expression>, second: impl Into<Expression>) -> Expression {
    Expression::Indicator(Comparison::LessEqual, Box::new([first.into(), second.into()]))
}

impl Expression {
    /// The value at a row, which has all features that are read.
    ///
    /// # Panics
    /// If the row is too short.
    #[must_use]
    pub fn value(&self, row: &[f64]) -> f64 {
        let of = |pair: &[Self; 2]| (pair[0].value(row), pair[1].value(row));
        match self {
            Self::Number(number) => *number,
            Self::Feature(index) => row[*index],
            Self::Sum(terms) => terms.iter().map(|term| term.value(row)).sum(),
            Self::Product(factors) => factors.iter().map(|factor| factor.value(row)).product(),
            Self::Difference(pair) => {
                let (first, second) = of(pair);
                first - second
            }
            Self::Quotient(pair) => {
                let (first, second) = of(pair);
                first / second
            }
            Self::Power(base, power) => raised(base.value(row), *power),
            Self::Function(function, of) => function.of(of.value(row)),
            Self::Joint(function, pair) => {
                let (first, second) = of(pair);
                function.of(first, second)
            }
            Self::Indicator(comparison, pair) => {
                let (first, second) = of(pair);
                f64::from(comparison.holds(first, second))
            }
            Self::If(parts) => {
                let [condition, there, elsewhere] = &**parts;
                if condition.value(row) == 0.0 { elsewhere.value(row) } else { there.value(row) }
            }
        }
    }

    /// The partial derivative along a feature, counted from 0: that between the places where an
    /// indicator changes. At a kink of `abs`, `min` and `max` it is the mean of both sides, at one of `if`
    /// that of the branch that holds there, as in automatic differentiation.
    #[must_use]
    pub fn partial(&self, s: usize) -> Self {
        match self {
            Self::Number(_) | Self::Indicator(..) => Self::Number(0.0),
            Self::Feature(index) => Self::Number(f64::from(u8::from(*index == s))),
            Self::Sum(terms) => {
                terms.iter().map(|term| term.partial(s)).fold(Self::Number(0.0), Add::add)
            }
            Self::Difference(pair) => pair[0].partial(s) - pair[1].partial(s),
            Self::Product(factors) => product_rule(factors, s),
            Self::Quotient(pair) => {
                let [first, second] = &**pair;
                let falling = first.clone() * second.partial(s) / second.clone().power(2.0);
                first.partial(s) / second.clone() - falling
            }
            Self::Power(base, power) => {
                *power * (**base).clone().power(power - 1.0) * base.partial(s)
            }
            Self::Function(function, of) => {
                let inner = of.partial(s);
                if inner == Self::Number(0.0) {
                    return inner;
                }
                let of = (**of).clone();
                match function {
                    Unary::Sin => of.cos() * inner,
                    Unary::Cos => -(of.sin() * inner),
                    Unary::Exp => of.exp() * inner,
                    Unary::Sqrt => 0.5 * inner / of.sqrt(),
                    Unary::Ln => inner / of,
                    _ => function.slope(of) * inner,
                }
            }
            Self::Joint(function, pair) => function.partial(pair, s),
            Self::If(parts) => {
                let [condition, there, elsewhere] = &**parts;
                chosen(condition.clone(), [there.partial(s), elsewhere.partial(s)])
            }
        }
    }

    /// The highest feature that is read, counted from 0; none if none is.
    #[must_use]
    pub fn last_feature(&self) -> Option<usize> {
        match self {
            Self::Number(_) => None,
            Self::Feature(index) => Some(*index),
            Self::Sum(parts) | Self::Product(parts) => {
                parts.iter().filter_map(Self::last_feature).max()
            }
            Self::Difference(pair)
            | Self::Quotient(pair)
            | Self::Joint(_, pair)
            | Self::Indicator(_, pair) => pair.iter().filter_map(Self::last_feature).max(),
            Self::If(parts) => parts.iter().filter_map(Self::last_feature).max(),
            Self::Power(of, _) | Self::Function(_, of) => of.last_feature(),
        }
    }

    /// The parts that it is made of.
    pub(crate) fn parts(&self) -> &[Self] {
        match self {
            Self::Number(_) | Self::Feature(_) => &[],
            Self::Sum(parts) | Self::Product(parts) => parts,
            Self::Difference(pair)
            | Self::Quotient(pair)
            | Self::Joint(_, pair)
            | Self::Indicator(_, pair) => &**pair,
            Self::If(parts) => &**parts,
            Self::Power(of, _) | Self::Function(_, of) => std::slice::from_ref(of),
        }
    }

    /// The same of other parts, as many as there are.
    pub(crate) fn with_parts(&self, part: &mut dyn FnMut(&Self) -> Self) -> Self {
        let mut pair = |pair: &[Self; 2]| Box::new([part(&pair[0]), part(&pair[1])]);
        match self {
            Self::Number(_) | Self::Feature(_) => self.clone(),
            Self::Difference(of) => Self::Difference(pair(of)),
            Self::Quotient(of) => Self::Quotient(pair(of)),
            Self::Joint(function, of) => Self::Joint(*function, pair(of)),
            Self::Indicator(comparison, of) => Self::Indicator(*comparison, pair(of)),
            Self::Sum(parts) => Self::Sum(parts.iter().map(part).collect()),
            Self::Product(parts) => Self::Product(parts.iter().map(part).collect()),
            Self::If(of) => Self::If(Box::new([part(&of[0]), part(&of[1]), part(&of[2])])),
            Self::Power(of, power) => Self::Power(Box::new(part(of)), *power),
            Self::Function(function, of) => Self::Function(*function, Box::new(part(of))),
        }
    }

    /// True if a feature, counted from 0, is read.
    #[must_use]
    pub fn reads(&self, feature: usize) -> bool {
        match self {
            Self::Feature(index) => *index == feature,
            _ => self.parts().iter().any(|part| part.reads(feature)),
        }
    }

    /// The features that are read, in ascending order.
    pub(crate) fn features(&self) -> Vec<usize> {
        fn collect(of: &Expression, found: &mut Vec<usize>) {
            if let Expression::Feature(index) = of {
                found.push(*index);
            }
            of.parts().iter().for_each(|part| collect(part, found));
        }
        let mut found = Vec::new();
        collect(self, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A function of it.
    pub(crate) fn of(self, function: Unary) -> Self {
        Self::Function(function, Box::new(self))
    }

    /// Raised to a power.
    #[must_use]
    pub fn power(self, power: f64) -> Self {
        match (self, power) {
            (_, 0.0) => Self::Number(1.0),
            (base, 1.0) => base,
            (base, _) => Self::Power(Box::new(base), power),
        }
    }

    /// Its sine.
    #[must_use]
    pub fn sin(self) -> Self {
        Self::Function(Unary::Sin, Box::new(self))
    }

    /// Its cosine.
    #[must_use]
    pub fn cos(self) -> Self {
        Self::Function(Unary::Cos, Box::new(self))
    }

    /// Its exponential.
    #[must_use]
    pub fn exp(self) -> Self {
        Self::Function(Unary::Exp, Box::new(self))
    }

    /// Its square root.
    #[must_use]
    pub fn sqrt(self) -> Self {
        Self::Function(Unary::Sqrt, Box::new(self))
    }
}

/// One of two trees by a condition.
fn chosen(condition: Expression, [there, elsewhere]: [Expression; 2]) -> Expression {
    match condition {
        _ if there == elsewhere => there,
        Expression::Number(0.0) => elsewhere,
        Expression::Number(_) => there,
        condition => Expression::If(Box::new([condition, there, elsewhere])),
    }
}

fn mean_of(first: Expression, second: Expression) -> Expression {
    if first == second { first } else { 0.5 * (first + second) }
}

impl Binary {
    /// The derivative along a feature of the function of two trees.
    fn partial(self, pair: &[Expression; 2], s: usize) -> Expression {
        let [first, second] = pair;
        let sides = [first.partial(s), second.partial(s)];
        let zero = Expression::Number(0.0);
        if sides.iter().all(|side| *side == zero) {
            return zero;
        }
        let smaller = |sides: [Expression; 2]| {
            let ties = [Comparison::Less, Comparison::LessEqual];
            let [open, closed] = ties
                .map(|tie| chosen(Expression::Indicator(tie, pair.clone().into()), sides.clone()));
            mean_of(open, closed)
        };
        let whole = || Expression::Joint(self, pair.clone().into());
        match (self, sides) {
            (Self::Min, sides) => smaller(sides),
            (Self::Max, [first, second]) => smaller([second, first]),
            (Self::Atan2, [rising, widening]) => {
                let turned = second.clone() * rising - first.clone() * widening;
                turned / (first.clone().power(2.0) + second.clone().power(2.0))
            }
            (Self::Power, [base, power]) if power == zero => {
                let lower = Box::new([first.clone(), second.clone() - 1.0]);
                second.clone() * Expression::Joint(Self::Power, lower) * base
            }
            (Self::Power, [base, power]) => {
                let by_power = power * first.clone().of(Unary::Ln);
                let relative = if base == zero {
                    by_power
                } else {
                    by_power + second.clone() * base / first.clone()
                };
                whole() * relative
            }
        }
    }
}

fn raised(base: f64, power: f64) -> f64 {
    if power == 2.0 { base * base } else { base.powf(power) }
}

fn product_rule(factors: &[Expression], s: usize) -> Expression {
    let changing = |k: usize| {
        let factor = |(j, factor): (usize, &Expression)| {
            if j == k { factor.partial(s) } else { factor.clone() }
        };
        factors.iter().enumerate().map(factor).fold(Expression::Number(1.0), Mul::mul)
    };
    (0..factors.len()).map(changing).fold(Expression::Number(0.0), Add::add)
}

impl From<f64> for Expression {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Expression>> Add<T> for Expression {
    type Output = Self;

    fn add(self, other: T) -> Self {
        match (self, other.into()) {
            (Self::Number(0.0), other) | (other, Self::Number(0.0)) => other,
            (Self::Number(a), Self::Number(b)) => Self::Number(a + b),
            (Self::Sum(mut terms), other) => {
                terms.push(other);
                Self::Sum(terms)
            }
            (first, other) => Self::Sum(vec![first, other]),
        }
    }
}

impl<T: Into<Expression>> Sub<T> for Expression {
    type Output = Self;

    fn sub(self, other: T) -> Self {
        match (self, other.into()) {
            (first, Self::Number(0.0)) => first,
            (Self::Number(a), Self::Number(b)) => Self::Number(a - b),
            (Self::Number(0.0), other) => -other,
            (first, other) => Self::Difference(Box::new([first, other])),
        }
    }
}

impl<T: Into<Expression>> Mul<T> for Expression {
    type Output = Self;

    fn mul(self, other: T) -> Self {
        match (self, other.into()) {
            (Self::Number(0.0), _) | (_, Self::Number(0.0)) => Self::Number(0.0),
            (Self::Number(1.0), other) | (other, Self::Number(1.0)) => other,
            (Self::Number(a), Self::Number(b)) => Self::Number(a * b),
            (Self::Product(mut factors), other) => {
                factors.push(other);
                Self::Product(factors)
            }
            (first, other) => Self::Product(vec![first, other]),
        }
    }
}

impl<T: Into<Expression>> Div<T> for Expression {
    type Output = Self;

    fn div(self, other: T) -> Self {
        match (self, other.into()) {
            (Self::Number(0.0), _) => Self::Number(0.0),
            (first, Self::Number(1.0)) => first,
            (first, other) => Self::Quotient(Box::new([first, other])),
        }
    }
}

impl Neg for Expression {
    type Output = Self;

    fn neg(self) -> Self {
        -1.0 * self
    }
}

impl Add<Expression> for f64 {
    type Output = Expression;

    fn add(self, other: Expression) -> Expression {
        Expression::from(self) + other
    }
}

impl Sub<Expression> for f64 {
    type Output = Expression;

    fn sub(self, other: Expression) -> Expression {
        Expression::from(self) - other
    }
}

impl Div<Expression> for f64 {
    type Output = Expression;

    fn div(self, other: Expression) -> Expression {
        Expression::from(self) / other
    }
}

impl Mul<Expression> for f64 {
    type Output = Expression;

    fn mul(self, other: Expression) -> Expression {
        Expression::from(self) * other
    }
}

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Feature(index) => serializer.collect_str(&format_args!("x{}", index + 1)),
            Self::Sum(terms) => list(serializer, "add", terms),
            Self::Difference(pair) => list(serializer, "subtract", &**pair),
            Self::Product(factors) => list(serializer, "multiply", factors),
            Self::Quotient(pair) => list(serializer, "divide", &**pair),
            Self::Power(base, power) => list(serializer, "power", [&**base, &Self::Number(*power)]),
            Self::Function(function, of) => {
                list(serializer, name_of(&FUNCTIONS, function), [&**of])
            }
            Self::Joint(function, pair) => list(serializer, name_of(&JOINT, function), &**pair),
            Self::Indicator(comparison, pair) => {
                list(serializer, name_of(&COMPARISONS, comparison), &**pair)
            }
            Self::If(parts) => list(serializer, "if", &**parts),
        }
    }
}

fn name_of<T: PartialEq>(all: &[(&'static str, T)], wanted: &T) -> &'static str {
    all.iter().find(|(_, known)| known == wanted).map_or("", |(name, _)| name)
}

fn list<'a, S: Serializer>(
    serializer: S,
    operation: &str,
    parts: impl IntoIterator<Item = &'a Expression>,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    list.serialize_element(operation)?;
    for part in parts {
        list.serialize_element(part)?;
    }
    list.end()
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

/// The feature that is called by its number, `x1` for 0; none for another name, or a number with a sign.
pub(crate) fn numbered(name: &str) -> Option<usize> {
    let number = name.strip_prefix('x')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<usize>().ok().filter(|_| is_number)?.checked_sub(1)
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Expression;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a feature such as \"x1\", or a list [\"operation\", …]")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Expression, E> {
        Ok(Expression::Number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Expression, E> {
        Ok(Expression::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Expression, E> {
        Ok(Expression::Number(number as f64))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Expression, E> {
        match numbered(name) {
            Some(feature) => Ok(Expression::Feature(feature)),
            None => Err(E::custom(format!("`{name}` is not a feature: they are x1 … xD"))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Expression, A::Error> {
        let Some(operation) = list.next_element::<String>()? else {
            return Err(A::Error::custom("an empty list: it must begin with an operation"));
        };
        let mut parts = Vec::new();
        while let Some(part) = list.next_element::<Expression>()? {
            parts.push(part);
        }
        let given = parts.len();
        applied(&operation, parts).ok_or_else(|| {
            A::Error::custom(format!("no operation `{operation}` takes {given} such parts"))
        })
    }
}

/// An operation on its parts; none if there is no such operation, or it takes others.
fn applied(operation: &str, mut parts: Vec<Expression>) -> Option<Expression> {
    let function = FUNCTIONS.iter().find(|(name, _)| *name == operation);
    let comparison = COMPARISONS.iter().find(|(name, _)| *name == operation);
    match (operation, parts.len()) {
        ("add", 1..) => Some(Expression::Sum(parts)),
        ("multiply", 1..) => Some(Expression::Product(parts)),
        (_, 1) => Some(Expression::Function(function?.1, Box::new(parts.remove(0)))),
        (_, 2) => {
            let second = parts.pop()?;
            let first = parts.pop()?;
            match (operation, comparison) {
                ("subtract", _) => Some(Expression::Difference(Box::new([first, second]))),
                ("divide", _) => Some(Expression::Quotient(Box::new([first, second]))),
                ("power", _) => Some(match second {
                    Expression::Number(power) => Expression::Power(Box::new(first), power),
                    power => Expression::Joint(Binary::Power, Box::new([first, power])),
                }),
                (_, Some((_, comparison))) => {
                    Some(Expression::Indicator(*comparison, Box::new([first, second])))
                }
                _ => {
                    let (_, function) = JOINT.iter().find(|(name, _)| *name == operation)?;
                    Some(Expression::Joint(*function, Box::new([first, second])))
                }
            }
        }
        ("if", 3) => Some(Expression::If(parts.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_against_differences() {
        let (x, y) = (feature(0), feature(1));
        let all = [
            x.clone() * y.clone() * x.clone() - y.clone() / (x.clone() + 2.0),
            (x.clone() * y.clone()).sin() * y.clone().cos(),
            (0.3 * x.clone() - y.clone()).exp() + (x.clone() + 3.0).sqrt().power(3.0),
            less(x.clone(), y.clone()) * x.clone() + less_equal(y.clone(), 0.0) * y.clone(),
            2.0 - -x.clone(),
            (0.3 * x.clone()).of(Unary::Tan) + (0.3 * y.clone()).of(Unary::Asin),
            (0.3 * x.clone()).of(Unary::Acos) * x.clone().of(Unary::Atan),
            x.clone().of(Unary::Sinh) - y.clone().of(Unary::Cosh) * x.clone().of(Unary::Tanh),
            (x.clone() + 3.0).of(Unary::Ln) * (y.clone() + 3.0).of(Unary::Log10),
            x.clone().of(Unary::Abs) + y.clone().of(Unary::Sign) * x.clone().of(Unary::Floor),
            joint(Binary::Power, x.clone() + 1.5, y.clone() + 0.5),
            joint(Binary::Power, 2.0.into(), y.clone() * x.clone()),
            joint(Binary::Min, x.clone(), 2.0 * y.clone())
                * joint(Binary::Max, x.clone(), 0.3.into()),
            joint(Binary::Atan2, x.clone(), y.clone() + 0.2),
            Expression::If(Box::new([
                less(x.clone(), y.clone()),
                x.clone().sin(),
                y.clone() * x.clone(),
            ])),
        ];
        for f in all {
            for (s, at) in [(0, [0.7, -0.4]), (1, [-0.6, 1.3]), (0, [1.9, 2.2])] {
                let moved = |by: f64| {
                    let mut row = at;
                    row[s] += by;
                    f.value(&row)
                };
                let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                let partial = f.partial(s).value(&at);
                // The error of a central difference: rounding / step, and step² times a derivative.
                assert!((partial - difference).abs() < 1e-8, "{f:?} along {s} at {at:?}");
            }
        }
    }

    fn joint(function: Binary, first: Expression, second: Expression) -> Expression {
        Expression::Joint(function, Box::new([first, second]))
    }

    #[test]
    fn derivatives_at_kinks() {
        let (x, y) = (feature(0), feature(1));
        let choice =
            |condition| Expression::If(Box::new([condition, 2.0 * x.clone(), 6.0 * x.clone()]));
        let both = |a: Expression, b: Expression| a * b;
        let not = |a: Expression| 1.0 - a;
        let below = || less(x.clone(), 0.0);
        let cases = [
            (x.clone().of(Unary::Abs), 0.0),
            (joint(Binary::Min, x.clone(), 3.0 * x.clone()), 2.0),
            (joint(Binary::Max, y.clone(), x.clone()), 0.5),
            (choice(below()), 6.0),
            (choice(less_equal(x.clone(), 0.0)), 2.0),
            // The other feature decides: there is no kink along this one.
            (choice(less(y.clone(), 0.0)), 6.0),
            (choice(less_equal(y.clone(), 0.0)), 2.0),
            (choice(both(below(), less(y.clone(), 0.0))), 6.0),
            (choice(both(below(), less_equal(y.clone(), 0.0))), 6.0),
            (choice(not(below())), 2.0),
            // At one place alone.
            (choice(both(not(below()), not(less(0.0, x.clone())))), 2.0),
            // A power that does not change, where the base is 0.
            (joint(Binary::Power, x.clone(), y.clone() + 2.0), 0.0),
            (joint(Binary::Power, x.clone(), y.clone() + 1.0), 1.0),
            (
                choice(Expression::Indicator(Comparison::Equal, Box::new([x.clone(), 0.0.into()]))),
                2.0,
            ),
        ];
        for (f, slope) in cases {
            assert_eq!(f.partial(0).value(&[0.0, 0.0]), slope, "{f:?}");
        }
    }

    #[test]
    fn every_operation_goes_through_json() {
        for name in FUNCTIONS.iter().map(|(name, _)| format!("[\"{name}\",\"x1\"]")).chain(
            ["min", "max", "atan2", "power", "equal"]
                .map(|name| format!("[\"{name}\",\"x1\",\"x2\"]")),
        ) {
            let tree: Expression = serde_json::from_str(&name).unwrap();
            assert_eq!(serde_json::to_string(&tree).unwrap(), name);
        }
        let choice = "[\"if\",[\"less\",\"x1\",0.0],1.0,\"x2\"]";
        let tree: Expression = serde_json::from_str(choice).unwrap();
        assert_eq!(serde_json::to_string(&tree).unwrap(), choice);
        assert_eq!((tree.value(&[-1.0, 5.0]), tree.value(&[0.0, 5.0])), (1.0, 5.0));
    }

    #[test]
    fn numbers_vanish() {
        let x = feature(0);
        assert_eq!(1.0 * x.clone() + 0.0 - 0.0, x);
        assert_eq!((3.0 * x.clone()).partial(0), Expression::Number(3.0));
        assert_eq!(x.clone().power(2.0).partial(0), 2.0 * x.clone());
        assert_eq!((x.clone() * x).partial(1), Expression::Number(0.0));
    }

    #[test]
    fn trees_that_make_no_sense_are_refused() {
        let read = |text: &str| serde_json::from_str::<Expression>(text).unwrap_err().to_string();
        assert!(read("\"y1\"").contains("`y1` is not a feature"));
        assert!(read("\"x0\"").contains("`x0` is not a feature"));
        assert!(read("[]").contains("an empty list"));
        assert!(read("[\"sine\", 1]").contains("no operation `sine` takes 1"));
        assert!(read("[\"sin\", 1, 2]").contains("no operation `sin` takes 2"));
        assert!(read("[\"power\", \"x1\"]").contains("no operation `power` takes 1"));
        assert!(read("[\"if\", \"x1\", 1]").contains("no operation `if` takes 2"));
        assert!(read("{}").contains("a number, a feature"));
        assert!(read(&"[\"sin\",".repeat(10_000)).contains("recursion limit"));
    }

    #[test]
    fn the_last_feature() {
        assert_eq!((feature(1).sin() - feature(4) / feature(2)).last_feature(), Some(4));
        assert_eq!(Expression::Number(2.0).last_feature(), None);
    }
}
