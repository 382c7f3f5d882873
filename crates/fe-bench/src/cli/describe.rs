//! `fe-bench describe`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

use super::arguments::above_zero;
use crate::cli::figures::FormArguments;
use crate::data::description::{Column, Descriptions, Selection};
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::plot::figure::{Figure, Layer, Mark, Panel, Scale};
use crate::plot::style::{BLUE, MarkStyle};
use crate::system::say::say;

/// Describes the columns of a data file: how many values there are, how many differ and are missing,
/// mean, standard deviation, quartiles, and with --plot histograms.
///
/// The file is read once, and may be a pipe. Quartiles are linear between order statistics (type 7). A
/// value that is no finite number is counted under `words`; mean to max are of the numbers. Rows are
/// left out as `effect --model` leaves them out, so that the rows of a model can be described.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Data file with a header, in any format that `effect` reads
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// A column; may be given several times [default: all]
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    column: Vec<String>,
    /// Columns that are not looked at
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Rows with a missing value in some column
    #[arg(long, value_enum, default_value = "count")]
    missing: Missing,
    /// Leave out rows with a number farther from the mean of its column than so many standard deviations
    #[arg(long, value_name = "SD", value_parser = above_zero)]
    outliers: Option<f64>,
    /// A column that --outliers does not look at
    #[arg(long, value_name = "COLUMN", requires = "outliers")]
    target: Option<String>,
    /// What is subtracted from the number of values in a variance: 0 or 1
    #[arg(long, value_name = "DDOF", default_value_t = 1, value_parser = value_parser!(u8).range(0..=1))]
    ddof: u8,
    /// Draw a histogram of each column of numbers as well
    #[arg(long, value_name = "FILE.svg|.png|.pdf|.eps")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    form: FormArguments,
    /// Bars of a histogram; of a column with no more different numbers there is one for each
    #[arg(long, value_name = "K", default_value_t = 40, requires = "plot",
          value_parser = value_parser!(u32).range(1..=10_000))]
    bars: u32,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Missing {
    /// Are counted
    Count,
    /// Are left out
    Drop,
}

/// The most histograms of a figure.
const MOST_PANELS: usize = 60;

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let picture = arguments.form.picture(arguments.plot.as_deref(), &[&arguments.data])?;
    let selection = Selection {
        columns: arguments.column.clone(),
        ignored: arguments.ignore.clone(),
        target: arguments.target.clone(),
        drop_missing: arguments.missing == Missing::Drop,
        outliers: arguments.outliers,
    };
    let Descriptions { columns, left_out } = Descriptions::read(&arguments.data, &selection)?;
    if left_out.0 + left_out.1 > 0 {
        say!("left out: {} rows with missing values, {} outliers", left_out.0, left_out.1);
    }
    for column in columns.iter().filter(|column| column.words > 0 && column.numbers() > 0) {
        let (name, words, numbers) = (&column.name, column.words, column.numbers());
        say!("{name}: {words} values are no finite number; mean to max are of the other {numbers}");
    }
    if let Some(picture) = picture {
        picture.write(&histograms(arguments, &columns)?)?;
    }
    sheet(arguments.ddof, &columns).write(arguments.format, out)
}

fn sheet(ddof: u8, columns: &[Column]) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "column", "count", "missing", "words", "distinct", "mean", "sd", "min", "q1", "median",
        "q3", "max",
    ]);
    for column in columns {
        let facts = column.facts(ddof);
        let mut row: Vec<Entry> = vec![
            column.name.as_str().into(),
            facts.count.into(),
            column.missing.into(),
            column.words.into(),
            facts.distinct.into(),
            facts.mean.into(),
            facts.sd.into(),
        ];
        row.extend((0..5).map(|i| Entry::from(facts.quartiles.map(|quartiles| quartiles[i]))));
        sheet.push(row);
    }
    sheet
}

fn histograms(arguments: &Arguments, columns: &[Column]) -> Result<Figure> {
    let (drawn, empty): (Vec<&Column>, Vec<&Column>) =
        columns.iter().partition(|column| column.numbers() > 0);
    for column in empty {
        say!("{}: there are no numbers, and no histogram is drawn", column.name);
    }
    if drawn.is_empty() || drawn.len() > MOST_PANELS {
        return Err(Error::Argument(format!(
            "--plot: {} columns of numbers; must be from 1 to {MOST_PANELS}, --column names some",
            drawn.len()
        )));
    }
    let cells = drawn.iter().map(|column| histogram(column, arguments.bars as usize));
    let file = arguments.data.file_name().unwrap_or_default().to_string_lossy();
    let rows = columns.first().map_or(0, |column| column.facts(0).count + column.missing);
    let title = format!("{file}: histograms of {rows} rows");
    Ok(Figure { title, cells: cells.collect::<Result<_>>()?, legend_per_cell: false })
}

fn histogram(column: &Column, bars: usize) -> Result<Vec<Panel>> {
    let bars = column.histogram(bars)?;
    let outline = |&(from, to, count): &(f64, f64, usize)| {
        let count = count as f64;
        vec![(from, 0.0), (from, count), (to, count), (to, 0.0)]
    };
    let areas = bars.iter().filter(|(.., count)| *count > 0).map(outline).collect();
    let look = MarkStyle::line(BLUE, 1.0).faint(0.5);
    let layers = vec![Layer { name: None, look, mark: Mark::Areas(areas) }];
    let (x, y) = (Scale::linear(column.name.as_str()), Scale::linear("rows"));
    Ok(vec![Panel { x, y, layers, hold: vec![(f64::NAN, 0.0)], ..Panel::default() }])
}
