//! A mean with its uncertainty, rounded to what is known.

use fe_core::replicates::Summary;

use super::style::{ErrorStyle, Style};

/// A mean as it is written: digits, uncertainty and a common power of ten.
#[derive(Debug, PartialEq)]
pub(super) struct Written {
    mean: String,
    uncertainty: Uncertainty,
    exponent: Option<i32>,
}

#[derive(Debug, PartialEq)]
enum Uncertainty {
    None,
    Pm(String),
    Parentheses(String),
    Interval(String, String),
}

/// The signs between the parts.
pub(super) struct Signs {
    /// Between mean and standard error.
    pub(super) pm: &'static str,
    /// Around the exponent.
    pub(super) power: (&'static str, &'static str),
}

impl Written {
    /// None without a mean.
    pub(super) fn of(summary: &Summary, style: Style) -> Option<Self> {
        let exponent = exponent(summary, style)?;
        Self::with_exponent(summary, style, exponent)
    }

    /// With a given power of ten, such as the one of a column; none without a mean.
    pub(super) fn with_exponent(
        summary: &Summary,
        style: Style,
        exponent: Option<i32>,
    ) -> Option<Self> {
        let mean = summary.mean?;
        let error = summary.standard_error;
        let scale = 10_f64.powi(-exponent.unwrap_or(0));
        let decimals = decimals(mean * scale, error.map(|error| error * scale), style);
        // Where not even the units of an error are significant, those of the mean are none.
        let unit = 10_f64.powi((-decimals).max(0));
        let decimals = decimals.max(0);
        let write = |x: f64| {
            let rounded = if unit > 1.0 { (x * scale / unit).round() * unit } else { x * scale };
            let text = format!("{:.*}", decimals as usize, rounded);
            // Nothing is left of a number that rounds to 0 but its sign.
            if text.chars().any(|c| ('1'..='9').contains(&c)) {
                text
            } else {
                text.trim_start_matches('-').to_owned()
            }
        };
        let uncertainty = match (style.errors, error, summary.interval) {
            (ErrorStyle::Pm, Some(error), _) => Uncertainty::Pm(write(error)),
            (ErrorStyle::Parentheses, Some(error), _) => {
                let units = (error * scale * 10_f64.powi(decimals)).round();
                Uncertainty::Parentheses(format!("{units}"))
            }
            (ErrorStyle::Interval, _, Some((lo, hi))) => {
                Uncertainty::Interval(write(lo), write(hi))
            }
            _ => Uncertainty::None,
        };
        Some(Self { mean: write(mean), uncertainty, exponent })
    }

    /// The mean with its error in units of the last digit, as siunitx reads it in a column of numbers; none where an interval is
    /// to be written.
    pub(super) fn siunitx(&self) -> Option<String> {
        let error = match &self.uncertainty {
            Uncertainty::Interval(..) => return None,
            _ => self.units().map_or(String::new(), |units| format!("({units})")),
        };
        let power = self.exponent.map_or(String::new(), |exponent| format!("e{exponent}"));
        Some(format!("{}{error}{power}", self.mean))
    }

    /// The error in units of the last digit of the mean.
    fn units(&self) -> Option<String> {
        match &self.uncertainty {
            Uncertainty::Pm(error) => {
                let digits = error.replace('.', "");
                let digits = digits.trim_start_matches('0');
                Some(if digits.is_empty() { "0" } else { digits }.to_owned())
            }
            Uncertainty::Parentheses(error) => Some(error.clone()),
            Uncertainty::None | Uncertainty::Interval(..) => None,
        }
    }

    /// Number of digits before and behind the point, of the error in units of the last one, and of the power of ten.
    pub(super) fn places(&self) -> [usize; 4] {
        let digits = self.mean.trim_start_matches('-');
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let error = self.units().map_or(0, |units| units.len());
        let power = self.exponent.map_or(0, |power| power.unsigned_abs().to_string().len());
        [whole.len(), decimals.len(), error, power]
    }

    pub(super) fn text(&self, signs: &Signs) -> String {
        let Self { mean, uncertainty, exponent } = self;
        let digits = match uncertainty {
            Uncertainty::None => mean.clone(),
            Uncertainty::Pm(error) => format!("{mean} {} {error}", signs.pm),
            Uncertainty::Parentheses(error) => format!("{mean}({error})"),
            Uncertainty::Interval(lo, hi) => format!("{mean} [{lo}, {hi}]"),
        };
        let several = matches!(uncertainty, Uncertainty::Pm(_) | Uncertainty::Interval(..));
        match exponent {
            None => digits,
            Some(exponent) => {
                let digits = if several { format!("({digits})") } else { digits };
                format!("{digits}{}{exponent}{}", signs.power.0, signs.power.1)
            }
        }
    }
}

/// The power of ten that a mean is written with, if any; none without a mean. What is rounded up to ten has the next one.
pub(super) fn exponent(summary: &Summary, style: Style) -> Option<Option<i32>> {
    let mean = summary.mean?;
    let size = magnitude(mean);
    let scale = 10_f64.powi(-size);
    let error = summary.standard_error.map(|error| error * scale);
    let unit = 10_f64.powi(decimals(mean * scale, error, style));
    let is_ten = unit.is_finite() && (mean.abs() * scale * unit).round() >= 10.0 * unit;
    let size = if is_ten { size + 1 } else { size };
    Some((!(-2..5).contains(&size)).then_some(size))
}

/// Number of decimals of a mean and its error: as many as the error has in the digits of the style, and no more than six digits
/// of the mean, however small its error; may be negative.
fn decimals(mean: f64, error: Option<f64>, style: Style) -> i32 {
    match error {
        Some(error) if error > 0.0 => {
            (i32::from(style.digits) - 1 - magnitude(error)).min(5 - magnitude(mean))
        }
        _ => 3 - magnitude(mean),
    }
}

fn magnitude(x: f64) -> i32 {
    if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Signs = Signs { pm: "±", power: ("e", "") };

    fn text(mean: f64, error: Option<f64>, errors: ErrorStyle, digits: u8) -> String {
        let interval = error.map(|error| (mean - 2.0 * error, mean + 2.0 * error));
        let summary = Summary { count: 9, mean: Some(mean), standard_error: error, interval };
        let style = Style { errors, digits, ..Style::default() };
        Written::of(&summary, style).unwrap().text(&PLAIN)
    }

    #[test]
    fn errors_have_two_digits() {
        let text = |mean, error| text(mean, error, ErrorStyle::Pm, 2);
        assert_eq!(text(0.123_456, Some(0.001_234)), "0.1235 ± 0.0012");
        assert_eq!(text(0.000_123_456, Some(0.000_001_5)), "(1.235 ± 0.015)e-4");
        assert_eq!(text(9.97e-5, Some(1.3e-5)), "(1.00 ± 0.13)e-4");
        assert_eq!(text(-9.97e-5, Some(1.3e-5)), "(-1.00 ± 0.13)e-4");
        assert_eq!(text(9.94e-5, Some(1.3e-5)), "(9.9 ± 1.3)e-5");
        assert_eq!(text(99_997.0, Some(13.0)), "99997 ± 13");
        assert_eq!(text(12.0, Some(0.0)), "12.00 ± 0.00");
        assert_eq!(text(0.0, None), "0.000");
        assert_eq!(text(-0.001, Some(30.0)), "(0 ± 30000)e-3");
        assert_eq!(text(-0.04, Some(9.0)), "0.0 ± 9.0");
    }

    #[test]
    fn siunitx_reads_errors_in_units_of_the_last_digit() {
        let written = |mean, error, errors| {
            let summary =
                Summary { count: 9, mean: Some(mean), standard_error: error, interval: None };
            Written::of(&summary, Style { errors, ..Style::default() }).unwrap()
        };
        let of = |mean, error, errors| written(mean, error, errors).siunitx().unwrap();
        assert_eq!(of(0.038, Some(0.0052), ErrorStyle::Pm), "0.0380(52)");
        assert_eq!(of(0.038, Some(0.0052), ErrorStyle::Parentheses), "0.0380(52)");
        assert_eq!(of(5.29e-4, Some(4.9e-5), ErrorStyle::Pm), "5.29(49)e-4");
        assert_eq!(of(12.0, Some(0.0), ErrorStyle::Pm), "12.00(0)");
        assert_eq!(of(0.5, None, ErrorStyle::Pm), "0.5000");
        assert_eq!(written(-5.29e-4, Some(4.9e-5), ErrorStyle::Pm).places(), [1, 2, 2, 1]);
    }

    #[test]
    fn uncertainties_come_in_three_styles() {
        let text = |errors, digits| text(0.107_216, Some(0.009_62), errors, digits);
        assert_eq!(text(ErrorStyle::Pm, 1), "0.107 ± 0.010");
        assert_eq!(text(ErrorStyle::Pm, 3), "0.10722 ± 0.00962");
        assert_eq!(text(ErrorStyle::Parentheses, 2), "0.1072(96)");
        assert_eq!(text(ErrorStyle::Interval, 2), "0.1072 [0.0880, 0.1265]");
        assert_eq!(text(ErrorStyle::None, 2), "0.1072");
        let small = |errors| super::tests::text(5.29e-3, Some(4.9e-4), errors, 2);
        assert_eq!(small(ErrorStyle::Parentheses), "5.29(49)e-3");
        assert_eq!(small(ErrorStyle::Interval), "(5.29 [4.31, 6.27])e-3");
        assert_eq!(small(ErrorStyle::None), "5.29e-3");
    }
}
