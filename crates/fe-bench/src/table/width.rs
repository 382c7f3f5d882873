//! Widths of texts as LaTeX sets them in its own roman letters.

/// Width of small print beside that of letters of ten points.
pub(super) const SMALL: f64 = 0.86;
/// Width of bold digits beside that of others.
const BOLD: f64 = 1.15;
/// Between a number and its error, with the space on both sides.
const PLUS_MINUS: &str = " ± ";

/// The width of a text in points, in letters of ten points; rather too large than too small.
pub(super) fn of_text(text: &str) -> f64 {
    text.chars().map(of_character).sum()
}

/// The width of a number, in bold digits or not.
pub(super) fn of_number(text: &str, is_bold: bool) -> f64 {
    let weight = if is_bold { BOLD } else { 1.0 };
    let parts = text.split(PLUS_MINUS).map(|part| weight * of_text(part));
    parts.sum::<f64>() + 12.3 * text.matches(PLUS_MINUS).count() as f64
}

fn of_character(c: char) -> f64 {
    match c {
        'i' | 'l' | '.' | ',' | ':' | ';' | '\'' | '!' | '[' | ']' | '|' => 2.8,
        'f' | 'j' | 'r' | 's' | 't' | 'I' | '(' | ')' | '-' | ' ' | '\u{a0}' => 4.0,
        '0'..='9' | '/' | '*' => 5.0,
        'a'..='l' | 'n'..='v' | 'x'..='z' => 5.6,
        'm' | 'w' | 'M' | 'W' | '%' => 10.3,
        _ => 7.9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths that TeX measured, in points.
    #[test]
    fn texts_are_hardly_wider_than_they_are_taken_for() {
        for (text, width) in [
            ("quantiles", 38.94),
            ("RHALE", 35.42),
            ("estimator", 41.19),
            ("N = 3162", 41.94),
            ("correlated normals", 81.25),
        ] {
            let taken = of_text(text);
            assert!((width..1.15 * width).contains(&taken), "{text}: {taken} for {width}");
        }
    }

    #[test]
    fn numbers_are_hardly_wider_than_they_are_taken_for() {
        for (is_bold, width) in [(false, 77.78), (true, 86.78)] {
            let taken = of_number("0.00469 ± 0.00051", is_bold);
            assert!((width..1.03 * width).contains(&taken), "{taken} for {width}");
        }
    }
}
