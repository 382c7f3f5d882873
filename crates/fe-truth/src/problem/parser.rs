//! Expressions of problem files, read into trees: a recursive descent, one function for each
//! strength of binding, from `or` to `^`.

use super::lexer::{Fault, Token, tokens};
use crate::error::nearest;
use crate::expression::{Binary, Comparison, Expression, FUNCTIONS};

/// Deepest nesting of an expression, and of its tree.
const DEEPEST: usize = 100;

/// Meaning of a name in an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// A feature, by its number.
    Feature(usize),
    /// A parameter, by its value.
    Parameter(f64),
    /// A feature that may not be read here, because it comes later or is the one that is defined.
    Later,
    /// A hidden feature, which f may not read.
    Hidden,
}

/// The names that an expression may use.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    known: Vec<(String, Meaning)>,
    /// Levels of the features that have such.
    levels: Vec<(String, LevelNames)>,
}

/// Names of the levels of a feature: words, whose values are 0, 1, …, or numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LevelNames {
    names: Vec<String>,
    values: Vec<f64>,
    are_words: bool,
}

impl LevelNames {
    /// As they are given: all numbers in ascending order, or words.
    pub(super) fn given(names: Vec<String>) -> Result<Self, String> {
        let numbers: Vec<f64> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if numbers.is_empty() {
            let values = (0..names.len()).map(|code| code as f64).collect();
            return Ok(Self { names, values, are_words: true });
        }
        if numbers.len() < names.len() {
            return Err("levels must be all words or all numbers".to_owned());
        }
        if numbers.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("levels that are numbers must be in ascending order".to_owned());
        }
        Ok(Self { names, values: numbers, are_words: false })
    }

    pub(super) fn numbers(values: Vec<f64>) -> Self {
        Self { names: values.iter().map(f64::to_string).collect(), values, are_words: false }
    }

    /// Of a law of counts, whose levels have no list.
    pub(super) fn counts() -> Self {
        Self { names: Vec::new(), values: Vec::new(), are_words: false }
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The words in the order of their values; none of numbers.
    pub(super) fn words(&self) -> &[String] {
        if self.are_words { &self.names } else { &[] }
    }
}

impl Names {
    pub(super) fn add(&mut self, name: &str, meaning: Meaning) {
        self.known.retain(|(known, _)| known != name);
        self.known.push((name.to_owned(), meaning));
    }

    /// Says that a feature has levels.
    pub(super) fn add_levels(&mut self, feature: &str, levels: LevelNames) {
        self.levels.push((feature.to_owned(), levels));
    }

    fn levels(&self, feature: &str) -> Option<&LevelNames> {
        self.levels.iter().find(|(known, _)| known == feature).map(|(_, levels)| levels)
    }

    fn meaning(&self, name: &str) -> Option<Meaning> {
        self.known.iter().find(|(known, _)| known == name).map(|(_, meaning)| *meaning)
    }

    fn readable(&self) -> impl Iterator<Item = &str> {
        let readable = self
            .known
            .iter()
            .filter(|(_, meaning)| !matches!(meaning, Meaning::Later | Meaning::Hidden));
        readable.map(|(name, _)| name.as_str())
    }
}

/// Functions that are not of one number.
const OTHERS: [&str; 5] = ["atan2", "min", "max", "if", "level"];
const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];
const WORDS: [&str; 3] = ["and", "or", "not"];

/// True if a word belongs to the language, so that nothing can be named by it.
pub(super) fn is_reserved(name: &str) -> bool {
    functions().any(|known| known == name)
        || CONSTANTS.iter().any(|(known, _)| *known == name)
        || WORDS.contains(&name)
        || super::laws::NAMES.contains(&name)
}

/// Names of all functions.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name).chain(OTHERS)
}

/// A part of an expression that was read: a number or a condition.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) tree: Expression,
    is_condition: bool,
    depth: usize,
    at: usize,
}

/// A reader of one text.
pub(super) struct Parser<'a> {
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
    names: &'a Names,
    nesting: usize,
}

/// The expression that a text is.
pub(super) fn expression(text: &str, names: &Names) -> Result<Expression, Fault> {
    let mut parser = Parser::new(text, names)?;
    let tree = parser.number()?;
    parser.end("an operator or the end")?;
    Ok(tree)
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, names: &'a Names) -> Result<Self, Fault> {
        Ok(Self { tokens: tokens(text)?, next: 0, names, nesting: 0 })
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.next].1
    }

    /// The token after the next one.
    pub(super) fn peek_second(&self) -> Token<'a> {
        self.tokens.get(self.next + 1).map_or(Token::End, |(_, token)| *token)
    }

    /// Place of the next token.
    pub(super) fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    pub(super) fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    /// Takes one of the signs, if it is next.
    pub(super) fn take(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Token::Sign(sign) if signs.contains(&sign) => {
                self.advance();
                Some(sign)
            }
            _ => None,
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Token::Name(word);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn unexpected<T>(&self, expected: &str) -> Result<T, Fault> {
        Err(Fault::new(self.at(), format!("expected {expected}, found {}", self.peek())))
    }

    pub(super) fn expect(&mut self, sign: &'static str, expected: &str) -> Result<(), Fault> {
        if self.take(&[sign]).is_some() { Ok(()) } else { self.unexpected(expected) }
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), Fault> {
        if self.peek() == Token::End { Ok(()) } else { self.unexpected(expected) }
    }

    /// A number, up to a sign that ends it.
    pub(super) fn number(&mut self) -> Result<Expression, Fault> {
        let node = self.disjunction()?;
        Ok(of_number(node)?.tree)
    }

    /// Products and quotients, up to a sign that ends them: one summand.
    pub(super) fn summand(&mut self) -> Result<Expression, Fault> {
        let node = self.product()?;
        Ok(of_number(node)?.tree)
    }

    /// Reads something one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.nesting += 1;
        if self.nesting > DEEPEST {
            return Err(Fault::new(self.at(), too_deep()));
        }
        let result = read(self);
        self.nesting -= 1;
        result
    }

    fn disjunction(&mut self) -> Result<Node, Fault> {
        let mut node = self.conjunction()?;
        while self.peek() == Token::Name("or") {
            self.advance();
            let other = of_condition(self.conjunction()?)?;
            let neither = negation(of_condition(node.clone())?.tree) * negation(other.tree.clone());
            node = joined(&[&node, &other], negation(neither), true)?;
        }
        Ok(node)
    }

    fn conjunction(&mut self) -> Result<Node, Fault> {
        let mut node = self.inversion()?;
        while self.peek() == Token::Name("and") {
            self.advance();
            let other = of_condition(self.inversion()?)?;
            let both = of_condition(node.clone())?.tree * other.tree.clone();
            node = joined(&[&node, &other], both, true)?;
        }
        Ok(node)
    }

    fn inversion(&mut self) -> Result<Node, Fault> {
        let at = self.at();
        if !self.take_word("not") {
            return self.comparison();
        }
        let inner = of_condition(self.nested(Self::inversion)?)?;
        let tree = negation(inner.tree.clone());
        Ok(Node { at, ..joined(&[&inner], tree, true)? })
    }

    fn comparison(&mut self) -> Result<Node, Fault> {
        const SIGNS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];
        let first = self.sum()?;
        let Some(sign) = self.take(&SIGNS) else { return Ok(first) };
        let (first, second) = (of_number(first)?, of_number(self.sum()?)?);
        if let Token::Sign(sign) = self.peek()
            && SIGNS.contains(&sign)
        {
            let message = "comparisons are not chained; write `a < b and b < c`";
            return Err(Fault::new(self.at(), message));
        }
        let compare = |kind: Comparison, a: &Node, b: &Node| match (&a.tree, &b.tree) {
            (Expression::Number(a), Expression::Number(b)) => {
                Expression::Number(f64::from(kind.holds(*a, *b)))
            }
            (a, b) => Expression::Indicator(kind, Box::new([a.clone(), b.clone()])),
        };
        let tree = match sign {
            "<" => compare(Comparison::Less, &first, &second),
            "<=" => compare(Comparison::LessEqual, &first, &second),
            ">" => compare(Comparison::Less, &second, &first),
            ">=" => compare(Comparison::LessEqual, &second, &first),
            "==" => compare(Comparison::Equal, &first, &second),
            _ => negation(compare(Comparison::Equal, &first, &second)),
        };
        joined(&[&first, &second], tree, true)
    }

    fn sum(&mut self) -> Result<Node, Fault> {
        let first = self.product()?;
        let mut rest = Vec::new();
        while let Some(sign) = self.take(&["+", "-"]) {
            rest.push((sign == "-", of_number(self.product()?)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let first = of_number(first)?;
        let all: Vec<&Node> = rest.iter().map(|(_, node)| node).chain([&first]).collect();
        let tree = match rest.as_slice() {
            [(true, second)] => first.tree.clone() - second.tree.clone(),
            many => many.iter().fold(first.tree.clone(), |sum, (negative, node)| {
                let tree = node.tree.clone();
                sum + if *negative { -tree } else { tree }
            }),
        };
        joined(&all, tree, false)
    }

    fn product(&mut self) -> Result<Node, Fault> {
        let mut node = self.signed()?;
        while let Some(sign) = self.take(&["*", "/"]) {
            let (mut first, second) = (of_number(node)?, of_number(self.signed()?)?);
            // A product that goes on is no deeper.
            let flat = sign == "*" && matches!(first.tree, Expression::Product(_));
            let depth = if flat { first.depth.max(second.depth + 1) } else { 0 };
            let left = std::mem::replace(&mut first.tree, Expression::Number(0.0));
            let tree =
                if sign == "*" { left * second.tree.clone() } else { quotient(left, &second)? };
            node = joined(&[&first, &second], tree, false)?;
            if flat {
                node.depth = depth;
            }
        }
        Ok(node)
    }

    fn signed(&mut self) -> Result<Node, Fault> {
        let at = self.at();
        if self.take(&["-"]).is_none() {
            return self.power();
        }
        let inner = of_number(self.nested(Self::signed)?)?;
        let tree = -inner.tree.clone();
        Ok(Node { at, ..joined(&[&inner], tree, false)? })
    }

    /// Powers bind to the right, and stronger than a sign before them.
    fn power(&mut self) -> Result<Node, Fault> {
        let base = self.primary()?;
        if self.take(&["^"]).is_none() {
            return Ok(base);
        }
        let (base, power) = (of_number(base)?, of_number(self.nested(Self::signed)?)?);
        let tree = match (&base.tree, &power.tree) {
            (Expression::Number(base), Expression::Number(power)) => {
                Expression::Number(base.powf(*power))
            }
            (tree, Expression::Number(power)) => tree.clone().power(*power),
            (first, second) => {
                Expression::Joint(Binary::Power, Box::new([first.clone(), second.clone()]))
            }
        };
        joined(&[&base, &power], tree, false)
    }

    fn primary(&mut self) -> Result<Node, Fault> {
        let at = self.at();
        let leaf = |tree| Ok(Node { tree, is_condition: false, depth: 0, at });
        match self.peek() {
            Token::Number(number) => {
                self.advance();
                leaf(Expression::Number(number))
            }
            Token::Sign("(") => {
                self.advance();
                let inner = self.nested(Self::disjunction)?;
                self.expect(")", "an operator or `)`")?;
                Ok(Node { at, ..inner })
            }
            Token::Name(name) if !WORDS.contains(&name) => {
                self.advance();
                if self.peek() == Token::Sign("(") {
                    self.advance();
                    return self.nested(|parser| parser.call(name, at));
                }
                leaf(self.named(name, at)?)
            }
            _ => self.unexpected("a number, a name or `(`"),
        }
    }

    fn named(&self, name: &str, at: usize) -> Result<Expression, Fault> {
        if let Some((_, constant)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
            return Ok(Expression::Number(*constant));
        }
        match self.names.meaning(name) {
            Some(Meaning::Feature(_))
                if self.names.levels(name).is_some_and(|levels| levels.are_words) =>
            {
                let message = format!(
                    "the levels of `{name}` are words, and no numbers: `level({name}, …)` gives each \
                     a value"
                );
                Err(Fault::new(at, message))
            }
            Some(Meaning::Feature(index)) => Ok(Expression::Feature(index)),
            Some(Meaning::Parameter(value)) => Ok(Expression::Number(value)),
            Some(Meaning::Later) => Err(Fault::new(
                at,
                format!("`{name}` cannot be read here: a law may name earlier features only"),
            )),
            Some(Meaning::Hidden) => {
                Err(Fault::new(at, format!("`{name}` is hidden: f cannot read it")))
            }
            None if is_reserved(name) => {
                Err(Fault::new(at, format!("`{name}` needs arguments: `{name}(…)`")))
            }
            None => {
                let known = self.names.readable();
                Err(Fault::new(at, format!("unknown name `{name}`{}", hint(name, known))))
            }
        }
    }

    /// A function, after its opening parenthesis.
    fn call(&mut self, name: &str, at: usize) -> Result<Node, Fault> {
        if name == "level" {
            return self.level(at);
        }
        let known = functions().any(|known| known == name);
        if super::laws::NAMES.contains(&name) {
            let message = format!("`{name}` is a law: laws stand in [law], not in an expression");
            return Err(Fault::new(at, message));
        }
        if !known {
            let message = match self.names.meaning(name) {
                None if name == "log" => {
                    "unknown function `log`: the natural logarithm is `ln`, that to base 10 `log10`"
                        .into()
                }
                Some(_) => format!("`{name}` is not a function; a product is written `*`"),
                None => format!("unknown function `{name}`{}", hint(name, functions())),
            };
            return Err(Fault::new(at, message));
        }
        let mut given = vec![self.disjunction()?];
        while self.take(&[","]).is_some() {
            given.push(self.disjunction()?);
        }
        self.expect(")", "an operator, `,` or `)`")?;
        let node = applied(name, at, &given)?;
        Ok(Node { at, ..node })
    }
}

impl Parser<'_> {
    /// The name of a level: a word or a number.
    pub(super) fn level_name(&mut self) -> Result<String, Fault> {
        let negative = self.take(&["-"]).is_some();
        let name = match self.peek() {
            Token::Name(name) if !negative => name.to_owned(),
            Token::Number(number) => (if negative { -number } else { number }).to_string(),
            _ => return self.unexpected("the name of a level"),
        };
        self.advance();
        Ok(name)
    }

    /// `level(feature, name: value, …)`, after its opening parenthesis.
    fn level(&mut self, at: usize) -> Result<Node, Fault> {
        let place = self.at();
        let Token::Name(feature) = self.peek() else {
            return self.unexpected("a feature with levels");
        };
        let index = match self.names.meaning(feature) {
            Some(Meaning::Feature(index)) => index,
            Some(Meaning::Parameter(_)) => {
                return Err(Fault::new(place, format!("`{feature}` is a parameter, no feature")));
            }
            _ => {
                self.named(feature, place)?;
                return self.unexpected("a feature with levels");
            }
        };
        let Some(levels) = self.names.levels(feature).filter(|levels| !levels.names.is_empty())
        else {
            let message = format!(
                "`{feature}` has no levels with names: `level` reads a categorical or bernoulli \
                 feature"
            );
            return Err(Fault::new(place, message));
        };
        let levels = levels.clone();
        self.advance();
        let mut given: Vec<Option<Node>> = vec![None; levels.names.len()];
        while self.take(&[","]).is_some() {
            let (at, name) = (self.at(), self.level_name()?);
            let Some(level) = levels.names.iter().position(|known| *known == name) else {
                let hint = hint(&name, levels.names.iter().map(String::as_str));
                return Err(Fault::new(at, format!("`{feature}` has no level `{name}`{hint}")));
            };
            if given[level].is_some() {
                return Err(Fault::new(at, format!("the level `{name}` is given twice")));
            }
            self.expect(":", "`:` and the value at the level")?;
            given[level] = Some(of_number(self.disjunction()?)?);
        }
        self.expect(")", "an operator, `,` or `)`")?;
        if let Some(missing) = given.iter().position(Option::is_none) {
            let name = &levels.names[missing];
            return Err(Fault::new(
                at,
                format!("`level` has no value for `{name}` of `{feature}`"),
            ));
        }
        let given: Vec<Node> = given.into_iter().flatten().collect();
        let mut values: Vec<Expression> = given.iter().map(|node| node.tree.clone()).collect();
        let last = values.pop().unwrap_or(Expression::Number(0.0));
        let cases = values.into_iter().zip(&levels.values).rev();
        let tree = cases.fold(last, |other, (value, &code)| {
            let of = Box::new([Expression::Feature(index), Expression::Number(code)]);
            let condition = Expression::Indicator(Comparison::Equal, of);
            Expression::If(Box::new([condition, value, other]))
        });
        let all: Vec<&Node> = given.iter().collect();
        let node = joined(&all, tree, false)?;
        let depth = node.depth + given.len();
        if depth > DEEPEST {
            return Err(Fault::new(at, too_deep()));
        }
        Ok(Node { at, depth, ..node })
    }
}

/// A function of what it was given.
fn applied(name: &str, at: usize, given: &[Node]) -> Result<Node, Fault> {
    let wrong = |takes: &str| {
        let count = given.len();
        Err(Fault::new(at, format!("`{name}` takes {takes}, not {count}")))
    };
    let all: Vec<&Node> = given.iter().collect();
    if let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
        let [of] = given else { return wrong("1 argument") };
        let of = of_number(of.clone())?;
        let tree = match of.tree {
            Expression::Number(number) => Expression::Number(function.of(number)),
            tree => tree.of(*function),
        };
        return joined(&all, tree, false).map_err(|fault| Fault { at, ..fault });
    }
    let numbers = |nodes: &[Node]| -> Result<Vec<Expression>, Fault> {
        nodes.iter().map(|node| Ok(of_number(node.clone())?.tree)).collect()
    };
    let tree = match (name, given.len()) {
        ("if", 3) => {
            let condition = of_condition(given[0].clone())?.tree;
            let sides = numbers(&given[1..])?;
            match condition {
                Expression::Number(0.0) => sides[1].clone(),
                Expression::Number(_) => sides[0].clone(),
                condition => {
                    Expression::If(Box::new([condition, sides[0].clone(), sides[1].clone()]))
                }
            }
        }
        ("if", _) => return wrong("3 arguments: a condition and two values"),
        ("atan2", 2) => folded(Binary::Atan2, numbers(given)?),
        ("atan2", _) => return wrong("2 arguments: ordinate and abscissa"),
        ("min" | "max", 2..) => {
            let function = if name == "min" { Binary::Min } else { Binary::Max };
            let depth = given.iter().map(|node| node.depth).max().unwrap_or(0) + given.len();
            if depth > DEEPEST {
                return Err(Fault::new(at, too_deep()));
            }
            folded(function, numbers(given)?)
        }
        _ => return wrong("2 arguments or more"),
    };
    let mut node = joined(&all, tree, false)?;
    // Those of many arguments are made of pairs.
    node.depth += given.len().saturating_sub(3);
    Ok(node)
}

/// A function of two numbers of the first and the second, then of that and the third, …
fn folded(function: Binary, given: Vec<Expression>) -> Expression {
    let both = |first: Expression, second: Expression| match (&first, &second) {
        (Expression::Number(a), Expression::Number(b)) => Expression::Number(function.of(*a, *b)),
        _ => Expression::Joint(function, Box::new([first, second])),
    };
    given.into_iter().reduce(both).unwrap_or(Expression::Number(0.0))
}

fn negation(condition: Expression) -> Expression {
    1.0 - condition
}

fn quotient(first: Expression, second: &Node) -> Result<Expression, Fault> {
    match (first, &second.tree) {
        (_, Expression::Number(0.0)) => Err(Fault::new(second.at, "division by 0")),
        (Expression::Number(a), Expression::Number(b)) => Ok(Expression::Number(a / b)),
        (first, second) => Ok(first / second.clone()),
    }
}

/// A node of a tree that is made of others.
fn joined(parts: &[&Node], tree: Expression, is_condition: bool) -> Result<Node, Fault> {
    let at = parts.iter().map(|part| part.at).min().unwrap_or(0);
    let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
    if depth > DEEPEST {
        return Err(Fault::new(at, too_deep()));
    }
    match tree {
        Expression::Number(number) if !number.is_finite() => {
            Err(Fault::new(at, "this is not a real number"))
        }
        tree => Ok(Node { tree, is_condition, depth, at }),
    }
}

fn of_number(node: Node) -> Result<Node, Fault> {
    if node.is_condition {
        let message = "expected a number, found a condition; `if(condition, 1, 0)` makes it one";
        return Err(Fault::new(node.at, message));
    }
    Ok(node)
}

fn of_condition(node: Node) -> Result<Node, Fault> {
    if node.is_condition {
        return Ok(node);
    }
    Err(Fault::new(node.at, "expected a condition such as `x < 1`, found a number"))
}

fn too_deep() -> String {
    format!("nested too deep: at most {DEEPEST} levels")
}

/// Hint for a name that is not known.
pub(super) fn hint<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(given, known.iter().copied()) {
        Some(name) => format!(" (nearest: `{name}`)"),
        None if known.len() <= 30 => format!("; known: {}", known.join(", ")),
        None => String::new(),
    }
}

/// An expression of features that are called a, b, c and d.
#[cfg(test)]
pub(super) fn of_letters(text: &str) -> Expression {
    let mut names = Names::default();
    for (index, name) in ["a", "b", "c", "d"].iter().enumerate() {
        names.add(name, Meaning::Feature(index));
    }
    expression(text, &names).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        names.add("x", Meaning::Feature(0));
        names.add("temp", Meaning::Feature(1));
        names.add("c", Meaning::Parameter(0.5));
        names
    }

    fn value(text: &str) -> f64 {
        let tree = expression(text, &names()).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        tree.value(&[3.0, -2.0])
    }

    #[test]
    fn precedence() {
        for (text, expected) in [
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("12/3*2", 8.0),
            ("12/(3*2)", 2.0),
            ("1 - 2 - 3", -4.0),
            ("2 - 3*4 + 5", -5.0),
            ("-x^2", -9.0),
            ("(-x)^2", 9.0),
            ("2*-x", -6.0),
            ("x/temp*temp", 3.0),
            ("x - temp - c", 4.5),
            ("-x*temp", 6.0),
            ("2^x^0.5", 2.0_f64.powf(3.0_f64.sqrt())),
            ("x^-temp", 9.0),
            ("if(x > 1 and not temp > 0 or x == 2, 1, 2)", 1.0),
            ("if(not (x > 1 or x < 0), 1, 2)", 2.0),
            ("if(not x > 1 and x < 0 or x == 3, 1, 2)", 1.0),
            ("if(x != 3, 1, 2)", 2.0),
            ("if(x >= 3, 1, 2) + if(x <= 3, 10, 20) + if(3 < 2, 100, 200)", 211.0),
            ("min(x, temp, 5) + max(x, temp, 5)", 3.0),
            ("sign(temp) + floor(-2.5) + abs(temp)", -2.0),
            ("atan2(1, 1)*4/pi + ln(e) + log10(1000)", 5.0),
            ("sqrt(x + 1)^3", 8.0),
            (" 1.5e2+.5 ", 150.5),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text}: {}", value(text));
        }
    }

    #[test]
    fn faults_stand_where_they_are_and_say_what_was_expected() {
        for (text, at, message) in [
            ("x +", 3, "expected a number, a name or `(`, found the end"),
            ("x + * 2", 4, "found `*`"),
            ("(x + 1", 6, "expected an operator or `)`, found the end"),
            ("x + 1)", 5, "expected an operator or the end, found `)`"),
            ("2 x", 2, "found `x`"),
            ("tmep", 0, "unknown name `tmep` (nearest: `temp`)"),
            ("sine(x)", 0, "unknown function `sine` (nearest: `sin`)"),
            ("log(x)", 0, "unknown function `log`: the natural logarithm is `ln`"),
            ("x(2)", 0, "not a function"),
            ("sin + 1", 0, "needs arguments"),
            ("sin(x, 2)", 0, "takes 1 argument, not 2"),
            ("if(x, 1, 2)", 3, "expected a condition"),
            ("if(x < 1, 1)", 0, "takes 3 arguments"),
            ("x + (x < 1)", 4, "expected a number, found a condition"),
            ("if(0 < x < 1, 1, 2)", 9, "not chained"),
            ("1/0", 2, "division by 0"),
            ("ln(0)", 0, "not a real number"),
            ("(-8)^(1/3)", 0, "not a real number"),
            ("normal(0, 1) + x", 0, "is a law"),
            ("level(x, a: 1)", 6, "`x` has no levels with names"),
            ("min(x)", 0, "2 arguments or more"),
            ("x and x < 1", 0, "expected a condition"),
            ("not", 3, "found the end"),
            ("", 0, "found the end"),
        ] {
            let fault = expression(text, &names()).unwrap_err();
            assert!(fault.message.contains(message), "{text}: {fault:?}");
            assert_eq!(fault.at, at, "{text}: {fault:?}");
        }
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        let deep = |open: &str, inner: &str, close: &str, n: usize| {
            expression(&(open.repeat(n) + inner + &close.repeat(n)), &names())
        };
        for (open, inner, close) in [
            ("(", "x", ")"),
            ("sin(", "x", ")"),
            ("-", "x", ""),
            ("x^", "x", ""),
            ("if(x < 1, 1, ", "x", ")"),
            ("", "x", "/x"),
            ("min(1, ", "x", ")"),
        ] {
            let fault = deep(open, inner, close, 10_000).unwrap_err();
            assert!(fault.message.contains("nested too deep"), "{open}: {fault:?}");
            assert!(deep(open, inner, close, 30).is_ok(), "{open}");
        }
        for sign in ["+", "-", "*"] {
            assert!(deep("", "x", &format!("{sign}x"), 10_000).is_ok(), "{sign}");
        }
    }

    /// Words, signs and functions begin where they stand, whatever they are made of.
    #[test]
    fn faults_of_parts_stand_where_the_part_begins() {
        for (text, at, message) in [
            ("sin(not x < 1)", 4, "found a condition"),
            ("if(-x, 1, 2)", 3, "expected a condition"),
            ("if(sin(x), 1, 2)", 3, "expected a condition"),
            ("x + and", 4, "expected a number, a name or `(`, found `and`"),
            ("atan2(x)", 0, "takes 2 arguments: ordinate and abscissa, not 1"),
            ("atan2(x, x, x)", 0, "takes 2 arguments: ordinate and abscissa, not 3"),
        ] {
            let fault = expression(text, &names()).unwrap_err();
            assert!(fault.message.contains(message), "{text}: {fault:?}");
            assert_eq!(fault.at, at, "{text}: {fault:?}");
        }
    }

    #[test]
    fn conditions_are_those_of_logic() {
        // x is 3 and temp −2.
        for (text, expected) in [
            ("if(not (x > 5 or x > 1), 1, 2)", 2.0),
            ("if(not (x > 1 or x > 2), 1, 2)", 2.0),
            ("if(not (x > 5 or x > 4), 1, 2)", 1.0),
            ("if(x > 1 and x > 5, 1, 2)", 2.0),
            ("if(x > 5 and x > 1, 1, 2)", 2.0),
            ("if(not (x > 1 and x > 5), 1, 2)", 1.0),
            ("if(not (x > 1 and x > 2), 1, 2)", 2.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_folded() {
        assert_eq!(expression("max(1, min(2, 3), 0.5)", &names()), Ok(Expression::Number(2.0)));
        assert_eq!(expression("atan2(0, 1)", &names()), Ok(Expression::Number(0.0)));
    }

    /// A hundred levels are read, and one more is not.
    #[test]
    fn depth_is_counted_to_the_level() {
        let ok = |text: String| expression(&text, &names()).is_ok();
        let many = |count: usize| format!("min({})", vec!["x"; count].join(", "));
        let sines = |count: usize, inner: &str| {
            format!("{}{inner}{}", "sin(".repeat(count), ")".repeat(count))
        };
        assert!(ok(sines(100, "x")) && !ok(sines(101, "x")));
        assert!(ok(many(100)) && !ok(many(101)));
        assert!(ok(sines(42, &many(60))) && !ok(sines(43, &many(60))));
        // A product that goes on is as deep as its deepest factor and one more.
        assert!(ok(format!("x*x*{}", sines(99, "x"))));
        assert!(!ok(format!("sin(x*x*{})", sines(99, "x"))));
        // Of products and quotients in turn each is a level.
        assert!(ok(format!("x{}", "*x/x".repeat(50))) && !ok(format!("x{}", "*x/x".repeat(51))));
        // What stands side by side is no deeper.
        assert!(ok(format!("{}x", "(x)+".repeat(1000))));
    }

    #[test]
    fn thirty_names_are_listed_and_more_are_not() {
        let names: Vec<String> = (0..31).map(|k| format!("a{k}")).collect();
        let told = |count: usize| hint("zzz", names.iter().take(count).map(String::as_str));
        assert_eq!(told(2), "; known: a0, a1");
        assert!(told(30).ends_with(", a29"));
        assert_eq!(told(31), "");
    }
}
