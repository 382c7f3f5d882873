//! Functions as trees, for programs in other languages to evaluate.
//!
//! In JSON a tree is a number, a feature (`"x1"` … `"xD"`), or a list that begins with the name of an
//! operation: `["multiply", 10, ["sin", ["multiply", "x1", "x2"]]]`. `add` and `multiply` take any
//! number of trees, `subtract`, `divide`, `less` and `less_equal` two, `power` a tree and a number,
//! `sin`, `cos`, `exp` and `sqrt` one. The comparisons are 1 where they hold and else 0.

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
    /// 1 where the comparison of the first with the second holds, else 0.
    Indicator(Comparison, Box<[Expression; 2]>),
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// The sine of an angle in radians.
    Sin,
    /// The cosine of an angle in radians.
    Cos,
    /// The exponential.
    Exp,
    /// The square root.
    Sqrt,
}

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The first lies below the second.
    Less,
    /// The first lies below the second or is equal to it.
    LessEqual,
}

const FUNCTIONS: [(&str, Unary); 4] =
    [("sin", Unary::Sin), ("cos", Unary::Cos), ("exp", Unary::Exp), ("sqrt", Unary::Sqrt)];

const COMPARISONS: [(&str, Comparison); 2] =
    [("less", Comparison::Less), ("less_equal", Comparison::LessEqual)];

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
            Self::Function(function, of) => {
                let of = of.value(row);
                match function {
                    Unary::Sin => of.sin(),
                    Unary::Cos => of.cos(),
                    Unary::Exp => of.exp(),
                    Unary::Sqrt => of.sqrt(),
                }
            }
            Self::Indicator(comparison, pair) => {
                let (first, second) = of(pair);
                f64::from(match comparison {
                    Comparison::Less => first < second,
                    Comparison::LessEqual => first <= second,
                })
            }
        }
    }

    /// The partial derivative along a feature, counted from 0: that between the places where an
    /// indicator changes.
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
                let of = (**of).clone();
                match function {
                    Unary::Sin => of.cos() * inner,
                    Unary::Cos => -(of.sin() * inner),
                    Unary::Exp => of.exp() * inner,
                    Unary::Sqrt => 0.5 * inner / of.sqrt(),
                }
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
            Self::Difference(pair) | Self::Quotient(pair) | Self::Indicator(_, pair) => {
                pair.iter().filter_map(Self::last_feature).max()
            }
            Self::Power(of, _) | Self::Function(_, of) => of.last_feature(),
        }
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
            Self::Indicator(comparison, pair) => {
                list(serializer, name_of(&COMPARISONS, comparison), &**pair)
            }
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
        match name.strip_prefix('x').and_then(|number| number.parse::<usize>().ok()) {
            Some(number) if number > 0 => Ok(Expression::Feature(number - 1)),
            _ => Err(E::custom(format!("`{name}` is not a feature: they are x1 … xD"))),
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
                ("power", _) => match second {
                    Expression::Number(power) => Some(Expression::Power(Box::new(first), power)),
                    _ => None,
                },
                (_, Some((_, comparison))) => {
                    Some(Expression::Indicator(*comparison, Box::new([first, second])))
                }
                _ => None,
            }
        }
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
        assert!(read("[\"power\", \"x1\", \"x2\"]").contains("no operation `power`"));
        assert!(read("{}").contains("a number, a feature"));
        assert!(read(&"[\"sin\",".repeat(10_000)).contains("recursion limit"));
    }

    #[test]
    fn the_last_feature() {
        assert_eq!((feature(1).sin() - feature(4) / feature(2)).last_feature(), Some(4));
        assert_eq!(Expression::Number(2.0).last_feature(), None);
    }
}
