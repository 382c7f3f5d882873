//! Style of tables.

use clap::{Args, ValueEnum};

/// Form of the uncertainty of a mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ErrorStyle {
    /// Standard error behind ±: 0.1072 ± 0.0096.
    #[default]
    Pm,
    /// Standard error in units of the last digit: 0.1072(96).
    Parentheses,
    /// The 95 % interval: 0.1072 [0.0876, 0.1268].
    Interval,
    /// Not at all; the mean still has no more digits than its standard error allows.
    None,
}

/// Mark of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mark {
    /// Bold.
    Bold,
    /// Italic.
    Italic,
    /// A dagger behind it.
    Dagger,
    /// Not at all.
    None,
}

/// Style of the numbers of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct Style {
    /// How the uncertainty of a mean is written
    #[arg(long, value_enum, default_value = "pm")]
    pub errors: ErrorStyle,
    /// Significant digits of the standard error, to which the mean is rounded
    #[arg(long, value_name = "D", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=6))]
    pub digits: u8,
    /// How the lowest error from the same truth on the same data is marked, column by column, where
    /// there are several
    #[arg(long, value_enum, default_value = "bold")]
    pub best: Mark,
    /// How errors are marked whose paired difference from the lowest has a 95 % interval covering 0
    #[arg(long, value_enum, default_value = "italic")]
    pub ties: Mark,
    /// LaTeX: columns of numbers as the package siunitx sets them
    #[arg(long)]
    pub siunitx: bool,
    /// LaTeX: width of the text in points; a wider table is set smaller, then in several parts
    #[arg(long, value_name = "PT", default_value_t = 455,
          value_parser = clap::value_parser!(u32).range(100..=10_000))]
    pub text_width: u32,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            errors: ErrorStyle::Pm,
            digits: 2,
            best: Mark::Bold,
            ties: Mark::Italic,
            siunitx: false,
            text_width: 455,
        }
    }
}
