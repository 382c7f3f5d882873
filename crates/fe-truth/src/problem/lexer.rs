//! Words and signs of the language of problem files.

/// Something wrong in a text: where it begins, in bytes, and what is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// A word, a number or a sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Sign(&'static str),
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// Longer signs come before those that they begin with.
const SIGNS: [&str; 15] =
    ["<=", ">=", "==", "!=", "+", "-", "*", "/", "^", "(", ")", ",", ":", "<", ">"];

/// All tokens of a text with the bytes at which they begin; the last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = if first.is_ascii_alphabetic() {
            let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let length = length.unwrap_or(rest.len());
            (Token::Name(&rest[..length]), length)
        } else if first.is_ascii_digit() || first == '.' {
            number(rest).map_err(|message| Fault::new(at, message))?
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(Fault::new(at, unknown_sign(first)));
        };
        found.push((at, token));
        at += length;
    }
    found.push((text.len(), Token::End));
    Ok(found)
}

fn unknown_sign(sign: char) -> String {
    let hint = match sign {
        '=' => "; equality is `==`",
        '&' => "; it is written `and`",
        '|' => "; it is written `or`, an absolute value `abs(…)`",
        '!' => "; it is written `not`",
        '[' | ']' | '{' | '}' => "; parentheses are `(` and `)`",
        _ => "",
    };
    format!("`{sign}` is no part of the language{hint}")
}

/// The number that a text begins with, and its length.
fn number(text: &str) -> Result<(Token<'static>, usize), String> {
    let digits = |from: usize| {
        let rest = &text[from..];
        from + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let after = digits(end + 1 + sign);
        // Without digits it is no exponent.
        if after > end + 1 + sign {
            end = after;
        }
    }
    let given = &text[..end];
    let next = text[end..].chars().next();
    if next.is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
        let word = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let word = &text[..word.unwrap_or(text.len())];
        return Err(format!("`{word}` is neither a number nor a name; a product is written `*`"));
    }
    match given.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), end)),
        Ok(_) => Err(format!("`{given}` is too large for a number")),
        Err(_) => Err(format!("`{given}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_signs() {
        let found: Vec<Token<'_>> =
            tokens("a1*1e-3<=.5 ^ x_2").unwrap().into_iter().map(|(_, token)| token).collect();
        let (star, at_most, power) = (Token::Sign("*"), Token::Sign("<="), Token::Sign("^"));
        let (a, x) = (Token::Name("a1"), Token::Name("x_2"));
        let expected =
            [a, star, Token::Number(1e-3), at_most, Token::Number(0.5), power, x, Token::End];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_token_is_refused_where_it_stands() {
        for (text, at, message) in [
            ("x + 2x", 4, "`2x` is neither"),
            ("x = 1", 2, "equality is `==`"),
            ("x + é", 4, "`é` is no part"),
            ("1e999", 0, "too large"),
            (".", 0, "not a number"),
            ("3 - 2e+", 4, "`2e` is neither"),
            ("1.2.3", 3, ""),
        ] {
            match tokens(text) {
                Err(fault) => {
                    assert_eq!(fault.at, at, "{text}");
                    assert!(fault.message.contains(message), "{}", fault.message);
                }
                Ok(found) => assert_eq!(found[1].0, at, "{text}"),
            }
        }
    }
}
