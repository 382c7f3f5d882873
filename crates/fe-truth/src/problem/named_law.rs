//! Laws of problem files, read into trees of their arguments.

use std::sync::OnceLock;

use super::breaks::kink_levels;
use super::laws::{LawFamily, LevelFamily, NAMES, Plain};
use super::lexer::{Fault, Token};
use super::parser::{LevelNames, Names, Parser, functions, hint, is_reserved};
use crate::expression::Expression;
use crate::numeric::roots::scan;

/// A law whose arguments are expressions of parameters and earlier features.
#[derive(Debug, Clone)]
pub(super) struct NamedLaw {
    /// Location that is added to a draw.
    pub(super) location: Option<Expression>,
    pub(super) law: LawTree,
    /// The law before it is shifted, where it reads no feature: integrals ask for it at each of their points.
    plain: OnceLock<Option<Plain>>,
}

#[derive(Debug, Clone)]
pub(super) enum LawTree {
    Of(LawFamily, Vec<Expression>),
    Truncated(Box<LawTree>, [Expression; 2]),
    Mixture(Vec<(Expression, LawTree)>),
    /// Of finitely many values, with their names.
    Levels(LevelFamily, Vec<Expression>, LevelNames),
}

/// The law that a text names: one term of its own law, and perhaps others that are added to it.
pub(super) fn law(text: &str, names: &Names) -> Result<NamedLaw, Fault> {
    let mut parser = Parser::new(text, names)?;
    let mut own: Option<LawTree> = None;
    let mut location: Option<Expression> = None;
    let mut negative = parser.take(&["-"]).is_some();
    loop {
        let at = parser.at();
        if let Some(name) = next_law(&parser) {
            if own.is_some() {
                return Err(Fault::new(
                    at,
                    "a feature has one law of its own, and this is the second",
                ));
            }
            if negative {
                let message =
                    format!("`{name}(…)` cannot be subtracted: give the law of the opposite");
                return Err(Fault::new(at, message));
            }
            own = Some(read(&mut parser)?);
        } else {
            if let Some(name) = next_unknown(&parser) {
                let known = NAMES.into_iter().chain(functions());
                let message = format!("unknown law or function `{name}`{}", hint(name, known));
                return Err(Fault::new(at, message));
            }
            let part = parser.summand()?;
            let part = if negative { -part } else { part };
            location = Some(match location {
                Some(sum) => sum + part,
                None => part,
            });
        }
        match parser.take(&["+", "-"]) {
            Some(sign) => negative = sign == "-",
            None => break,
        }
    }
    if own.is_some() && matches!(parser.peek(), Token::Sign("*" | "/" | "^")) {
        let message = "a law is not multiplied or raised: write its arguments so";
        return Err(Fault::new(parser.at(), message));
    }
    parser.end("`+`, `-` or the end")?;
    if let (Some(LawTree::Levels(..)), Some(_)) = (&own, &location) {
        let message = "nothing is added to a law of levels or counts: write its arguments so";
        return Err(Fault::new(0, message));
    }
    match own {
        Some(law) => Ok(NamedLaw { location, law, plain: OnceLock::new() }),
        None => Err(Fault::new(0, "expected a law such as `uniform(0, 1)` or `normal(0, 1)`")),
    }
}

/// The name of a law, if one is next.
fn next_law<'a>(parser: &Parser<'a>) -> Option<&'a str> {
    match (parser.peek(), parser.peek_second()) {
        (Token::Name(name), Token::Sign("(")) if NAMES.contains(&name) => Some(name),
        _ => None,
    }
}

/// A name with arguments that is neither a law nor a function, if one is next.
fn next_unknown<'a>(parser: &Parser<'a>) -> Option<&'a str> {
    match (parser.peek(), parser.peek_second()) {
        (Token::Name(name), Token::Sign("(")) if !is_reserved(name) => Some(name),
        _ => None,
    }
}

fn read(parser: &mut Parser<'_>) -> Result<LawTree, Fault> {
    let at = parser.at();
    let Token::Name(name) = parser.peek() else {
        return parser.unexpected("a law such as `normal(0, 1)`");
    };
    if !NAMES.contains(&name) {
        let hint = hint(name, NAMES.into_iter());
        return Err(Fault::new(at, format!("unknown law `{name}`{hint}")));
    }
    parser.advance();
    parser.expect("(", "`(`")?;
    if let Some(family) = LevelFamily::named(name) {
        let tree = levels(parser, family, name, at)?;
        parser.expect(")", "an operator, `,` or `)`")?;
        return Ok(tree);
    }
    let tree = match name {
        "truncated" => {
            let inner = nested(parser)?;
            parser.expect(",", "`,` and the ends")?;
            let low = parser.number()?;
            parser.expect(",", "an operator, or `,` and the upper end")?;
            LawTree::Truncated(Box::new(inner), [low, parser.number()?])
        }
        "mixture" => {
            let mut parts = Vec::new();
            loop {
                let weight = parser.number()?;
                parser.expect(":", "an operator, or `:` and a law")?;
                parts.push((weight, nested(parser)?));
                if parser.take(&[","]).is_none() {
                    break;
                }
            }
            LawTree::Mixture(parts)
        }
        _ => arguments(parser, name, at)?,
    };
    parser.expect(")", "an operator, `,` or `)`")?;
    Ok(tree)
}

/// A law inside of another one.
fn nested(parser: &mut Parser<'_>) -> Result<LawTree, Fault> {
    let at = parser.at();
    match parser.nested(read)? {
        LawTree::Levels(..) => {
            let message = "a law of levels or counts cannot be truncated or mixed: give the \
                           probabilities as `categorical(…)`";
            Err(Fault::new(at, message))
        }
        tree => Ok(tree),
    }
}

/// The arguments of a law of levels.
fn levels(
    parser: &mut Parser<'_>,
    family: LevelFamily,
    name: &str,
    at: usize,
) -> Result<LawTree, Fault> {
    if family != LevelFamily::Categorical {
        let given = numbers(parser, family.arguments(), name, at)?;
        let names = match family {
            LevelFamily::Bernoulli => LevelNames::numbers(vec![0.0, 1.0]),
            _ => LevelNames::counts(),
        };
        return Ok(LawTree::Levels(family, given, names));
    }
    let (mut names, mut probabilities) = (Vec::new(), Vec::new());
    loop {
        let (at, name) = (parser.at(), parser.level_name()?);
        if names.contains(&name) {
            return Err(Fault::new(at, format!("the level `{name}` is given twice")));
        }
        names.push(name);
        parser.expect(":", "`:` and a probability")?;
        probabilities.push(parser.number()?);
        if parser.take(&[","]).is_none() {
            break;
        }
    }
    let names = LevelNames::given(names).map_err(|message| Fault::new(at, message))?;
    Ok(LawTree::Levels(family, probabilities, names))
}

fn arguments(parser: &mut Parser<'_>, name: &str, at: usize) -> Result<LawTree, Fault> {
    let Some(kind) = LawFamily::named(name) else {
        return Err(Fault::new(at, format!("unknown law `{name}`")));
    };
    Ok(LawTree::Of(kind, numbers(parser, kind.arguments(), name, at)?))
}

/// Arguments that are numbers, as many as are expected.
fn numbers(
    parser: &mut Parser<'_>,
    expected: &[&str],
    name: &str,
    at: usize,
) -> Result<Vec<Expression>, Fault> {
    let mut given = Vec::new();
    if parser.peek() != Token::Sign(")") {
        given.push(parser.number()?);
        while parser.take(&[","]).is_some() {
            given.push(parser.number()?);
        }
    }
    if parser.peek() == Token::Sign(")") && given.len() != expected.len() {
        let (takes, count) = (expected.join(", "), given.len());
        return Err(Fault::new(at, format!("`{name}` takes ({takes}), and has {count} arguments")));
    }
    Ok(given)
}

/// An expression of features with other numbers.
fn moved(tree: &Expression, number: &dyn Fn(usize) -> usize) -> Expression {
    match tree {
        Expression::Feature(index) => Expression::Feature(number(*index)),
        tree => tree.with_parts(&mut |part| moved(part, number)),
    }
}

impl LawTree {
    /// The law at a row of the features that its arguments read, or what is wrong with it there.
    fn at(&self, row: &[f64]) -> Result<Plain, String> {
        match self {
            Self::Of(kind, arguments) => {
                let mut numbers = [0.0; 3];
                for (number, argument) in numbers.iter_mut().zip(arguments) {
                    *number = argument.value(row);
                }
                Plain::of(*kind, &numbers[..arguments.len()])
            }
            Self::Levels(family, arguments, names) => {
                let numbers: Vec<f64> = arguments.iter().map(|tree| tree.value(row)).collect();
                family.law(&numbers, names.values())
            }
            Self::Truncated(law, [low, high]) => {
                Plain::truncated(law.at(row)?, low.value(row), high.value(row))
            }
            Self::Mixture(parts) => {
                let part =
                    |(weight, law): &(Expression, Self)| Ok((weight.value(row), law.at(row)?));
                Plain::mixture(parts.iter().map(part).collect::<Result<_, String>>()?)
            }
        }
    }

    fn renumbered(&self, number: &dyn Fn(usize) -> usize) -> Self {
        match self {
            Self::Of(kind, arguments) => {
                Self::Of(*kind, arguments.iter().map(|tree| moved(tree, number)).collect())
            }
            Self::Levels(family, arguments, names) => {
                let arguments = arguments.iter().map(|tree| moved(tree, number)).collect();
                Self::Levels(*family, arguments, names.clone())
            }
            Self::Truncated(law, [low, high]) => {
                let ends = [moved(low, number), moved(high, number)];
                Self::Truncated(Box::new(law.renumbered(number)), ends)
            }
            Self::Mixture(parts) => Self::Mixture(
                parts
                    .iter()
                    .map(|(weight, law)| (moved(weight, number), law.renumbered(number)))
                    .collect(),
            ),
        }
    }

    fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Of(_, arguments) | Self::Levels(_, arguments, _) => arguments.iter().collect(),
            Self::Truncated(law, ends) => law.expressions().into_iter().chain(ends).collect(),
            Self::Mixture(parts) => {
                let weights = parts.iter().map(|(weight, _)| weight);
                weights.chain(parts.iter().flat_map(|(_, law)| law.expressions())).collect()
            }
        }
    }
}

impl NamedLaw {
    /// The law at a row of the features that its arguments read, or what is wrong with it there.
    pub(super) fn at(&self, row: &[f64]) -> Result<Plain, String> {
        let fixed = self.plain.get_or_init(|| {
            let is_fixed = self.law.expressions().iter().all(|tree| tree.last_feature().is_none());
            if is_fixed { self.law.at(&[]).ok() } else { None }
        });
        let law = fixed.clone().map_or_else(|| self.law.at(row), Ok)?;
        match &self.location {
            None => Ok(law),
            Some(location) => match location.value(row) {
                by if by.is_finite() => Ok(law.shifted(by)),
                by => Err(format!("what is added to the law is {by}")),
            },
        }
    }

    /// The one place that the law shrinks to where what it reads leaves it no width; none if it leaves it some.
    pub(super) fn only_place(&self, row: &[f64]) -> Option<f64> {
        let place = match &self.law {
            LawTree::Of(kind, arguments) => {
                let arguments: Vec<f64> = arguments.iter().map(|tree| tree.value(row)).collect();
                Plain::only_place(*kind, &arguments)?
            }
            LawTree::Truncated(_, [low, high]) => {
                Some(low.value(row)).filter(|low| *low == high.value(row))?
            }
            _ => return None,
        };
        let by = self.location.as_ref().map_or(0.0, |location| location.value(row));
        Some(place + by).filter(|place| place.is_finite())
    }

    /// The same with other numbers of the features that it reads.
    pub(super) fn renumbered(&self, number: &dyn Fn(usize) -> usize) -> Self {
        Self {
            location: self.location.as_ref().map(|tree| moved(tree, number)),
            law: self.law.renumbered(number),
            plain: OnceLock::new(),
        }
    }

    /// Names of its levels; none of a law that has a density.
    pub(super) fn levels(&self) -> Option<&LevelNames> {
        if let LawTree::Levels(_, _, names) = &self.law { Some(names) } else { None }
    }

    /// The features that it reads.
    pub(super) fn parents(&self) -> Vec<usize> {
        let all = self.law.expressions().into_iter().chain(&self.location);
        let mut parents: Vec<usize> = all.flat_map(Expression::features).collect();
        parents.sort_unstable();
        parents.dedup();
        parents
    }
}

/// A feature of a network: its law given the earlier ones that it reads.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) law: NamedLaw,
    pub(super) parents: Vec<usize>,
    /// Expressions, one of which is 0 where an argument of the law has a kink or jumps.
    kinks: Vec<Expression>,
}

impl Node {
    pub(super) fn new(law: NamedLaw) -> Self {
        let parents = law.parents();
        let kinks = law.law.expressions().into_iter().chain(&law.location).flat_map(kink_levels);
        let kinks = kinks.collect();
        Self { law, parents, kinks }
    }
}

/// Values of a feature at which arguments of the laws of some of those that read it have kinks or jump, as far as what
/// else they read is known; between ascending places.
pub(super) fn kinks(
    nodes: &[Node],
    along: usize,
    readers: impl Iterator<Item = usize>,
    places: &[f64],
    row: &mut [f64],
) -> Vec<f64> {
    let held = row[along];
    let levels = readers.flat_map(|reader| &nodes[reader].kinks);
    let mut found = Vec::new();
    for level in levels.filter(|level| level.reads(along)) {
        found.extend(scan(places, &mut |x| {
            row[along] = x;
            level.value(row)
        }));
    }
    row[along] = held;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::parser::Meaning;

    fn read(text: &str) -> NamedLaw {
        let mut names = Names::default();
        names.add("x", Meaning::Feature(0));
        names.add("y", Meaning::Feature(1));
        law(text, &names).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
    }

    #[test]
    fn what_is_added_to_a_law_keeps_its_signs() {
        let row = [3.0, -0.5];
        for (text, known) in [
            ("normal(0, 1) - 2*x", -6.0),
            ("-x + normal(0, 1)", -3.0),
            ("normal(0, 1) + x - 1 + 2*y", 1.0),
            ("x - y + normal(0, 1) - 7", -3.5),
            ("normal(0, 1) + sin(x)", 3.0_f64.sin()),
            ("max(x, y) + exponential(1)", 3.0),
        ] {
            assert_eq!(read(text).location.map(|tree| tree.value(&row)), Some(known), "{text}");
        }
    }

    #[test]
    fn what_is_added_to_a_law_must_be_a_number() {
        let law = read("normal(0, 1) + 1/x");
        assert!(law.at(&[2.0, 0.0]).is_ok());
        assert_eq!(law.at(&[0.0, 0.0]).err().unwrap(), "what is added to the law is inf");
    }
}
