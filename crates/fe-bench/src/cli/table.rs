//! `fe-bench table`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_core::replicates::{ErrorParts, VarianceParts};
use toml::{Table, Value};

use crate::error::{Error, Result, listed, suggestion};
use crate::output::terminal_width;
use crate::record::manifest::Manifest;
use crate::record::measured::Times;
use crate::record::results::{self, Results};
use crate::record::summary::{SummaryRow, orders};
use crate::record::{Column, Key, bands, decomposition, precision};
use crate::study::field::Field;
use crate::table::{self, Context, Rendered, Style, TableFormat};

/// Prints tables of means over replicates.
///
/// Without options that choose values these are the tables that the studies name. With one of them
/// it is one table of all values: a row for every combination of the keys that vary, a column for
/// every metric, unless --rows and --cols say otherwise.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// Times of the estimates that `cargo bench --bench sweep` measured, as a metric `seconds` beside the others
    #[arg(long, value_name = "FILE", conflicts_with_all = ["decomposition", "bands", "against", "order"])]
    timings: Option<PathBuf>,
    /// md, latex or csv
    #[arg(long, value_enum, default_value = "md")]
    format: TableFormat,
    #[command(flatten)]
    style: Style,
    /// Heading of the table [default: the folder]
    #[arg(long, value_name = "TEXT")]
    caption: Option<String>,
    /// LaTeX: what \ref refers to
    #[arg(long, value_name = "KEY", value_parser = label)]
    label: Option<String>,
    /// LaTeX: a whole document, to be compiled as it is
    #[arg(long)]
    standalone: bool,
}

/// Choice of the values that a table is made of.
#[derive(Debug, Args)]
struct Choice {
    /// Only this study of the folder
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// Keys whose values become rows
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    rows: Vec<String>,
    /// Keys whose values become columns
    #[arg(long, visible_alias = "columns", value_name = "KEY,…", value_delimiter = ',')]
    cols: Vec<String>,
    /// Only values with this key; may be given several times
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = condition)]
    filter: Vec<(String, String)>,
    /// Only these metrics
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metric: Vec<String>,
    /// Bias and variance instead of errors, of studies that keep their decomposition or curves: mse,
    /// bias2 (the squared mean error), debiased_bias2 (less variance / R), variance and noise_floor
    /// (variance / R), averaged over the grid
    #[arg(long)]
    decomposition: bool,
    /// Measures of pointwise bands over the datasets, of studies that keep curves: empirical_se (standard deviation of
    /// the centre), model_se (half-width in normal quantiles), relative_error (by which share model_se exceeds
    /// empirical_se), bias_eliminated_coverage (of the mean centre in place of the truth) and power (share of the grid
    /// where the effect is told from 0)
    #[arg(long, conflicts_with_all = ["decomposition", "against", "order"])]
    bands: bool,
    /// Paired differences from the values with this key on the same data, and on how many datasets
    /// they are below 0, 0 and above; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = condition, conflicts_with = "decomposition")]
    against: Vec<(String, String)>,
    /// Observed orders of convergence: slopes of the log of the mean on the log of N or K
    #[arg(long, value_name = "KEY", value_parser = ["N", "K"], conflicts_with = "against")]
    order: Option<String>,
}

pub(super) fn condition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn label(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-._/+".contains(c);
    match !text.is_empty() && text.chars().all(allowed) {
        true => Ok(text.to_owned()),
        false => Err("must be letters, digits and : - . _ / +".to_owned()),
    }
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    if arguments.format != TableFormat::Latex {
        let given = [
            ("--label", arguments.label.is_some()),
            ("--standalone", arguments.standalone),
            ("--siunitx", arguments.style.siunitx),
            ("--text-width", arguments.style.text_width != Style::default().text_width),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Error::Argument(format!("{flag} needs --format latex")));
        }
    }
    let mut results = results::read(&arguments.folder)?;
    if !arguments.choice.against.is_empty() {
        results.need_datasets(&arguments.folder, "--against")?;
    }
    arguments.choice.check_study(&results.manifest)?;
    results.values.retain(|value| arguments.choice.is_of_study(&value.key));
    results.parts.retain(|part| arguments.choice.is_of_study(&part.key));
    if let Some(path) = &arguments.timings {
        let times = Times::of(path, &results.values)?;
        results.values.extend(times.beside(&results.values));
    }
    let tables = if arguments.choice.is_made() || arguments.timings.is_some() {
        let (are_means, lacks_empty_bins) = (results.are_means, results.lacks_empty_bins());
        let (empty_bins, labels) = (std::mem::take(&mut results.empty_bins), results.labels());
        let choice = &arguments.choice;
        let is_of_means = choice.against.is_empty() && choice.order.is_none() && !choice.bands;
        let imprecise = if is_of_means { precision::imprecise_in(&results) } else { Vec::new() };
        let chosen = arguments.chosen(results)?;
        let chosen = if are_means { chosen.of_means(false, lacks_empty_bins) } else { chosen };
        vec![chosen.cautioned(&empty_bins, &labels).with_precision(&imprecise)]
    } else {
        tables(&results).map_err(|message| arguments.wrong(message))?
    };
    arguments.print(arguments.titled(tables)?, out)
}

/// Prints the tables of all studies as Markdown.
pub(super) fn print_all(results: &Results, out: &mut dyn Write) -> Result<()> {
    let tables = tables(results).map_err(Error::Argument)?;
    let text = table::to_read(&tables, Style::default(), terminal_width());
    write!(out, "{text}").map_err(Error::Output)
}

impl Choice {
    /// True if anything but a study is chosen.
    fn is_made(&self) -> bool {
        let lists = [self.rows.is_empty(), self.cols.is_empty(), self.metric.is_empty()];
        let conditions = [self.filter.is_empty(), self.against.is_empty()];
        let all_empty = lists.into_iter().chain(conditions).all(|empty| empty);
        !all_empty || self.decomposition || self.bands || self.order.is_some()
    }

    fn is_of_study(&self, key: &Key) -> bool {
        self.study.as_ref().is_none_or(|name| key.study == *name)
    }

    fn check_study(&self, manifest: &Manifest) -> Result<()> {
        let Some(name) = &self.study else { return Ok(()) };
        let names = || manifest.studies.iter().map(|study| study.name.as_str());
        if names().any(|known| known == name) {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "--study {name}: not in this folder{}; it has {}",
            suggestion(name, names()),
            listed(names())
        )))
    }

    fn filter(&self) -> Table {
        let metrics = self.metric.iter().map(|metric| ("metric".to_owned(), metric.clone()));
        conditions(self.filter.iter().cloned().chain(metrics))
    }
}

/// Conditions on several keys; those on the same key are alternatives.
pub(super) fn conditions(given: impl Iterator<Item = (String, String)>) -> Table {
    let mut conditions = Table::new();
    for (key, value) in given {
        let values = conditions.entry(key).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = values {
            list.push(Value::String(value));
        }
    }
    conditions
}

impl Arguments {
    fn wrong(&self, message: String) -> Error {
        Error::content(&self.folder, message)
    }

    /// The one table that the options choose.
    fn chosen(&self, results: Results) -> Result<Rendered> {
        let choice = &self.choice;
        let context = Context::of(results.manifest.studies.iter().map(|named| &named.study));
        let names = results.manifest.studies.iter().map(|named| named.name.as_str());
        let title = names.filter(|name| choice.study.as_deref().is_none_or(|of| of == *name));
        let title = title.collect::<Vec<_>>().join(", ");
        let values = self.values(results)?;
        let keys: Vec<&Key> = values.iter().map(|value| &value.key).collect();
        let spec = table::spec_of(&title, &keys, &choice.rows, &choice.cols);
        table::make_of(&spec, &values, &context).map_err(|message| self.wrong(message))
    }

    /// Errors, their parts or measures of bands, whichever is asked for.
    fn all_values(&self, results: Results) -> Result<Vec<SummaryRow>> {
        let choice = &self.choice;
        if choice.bands {
            let is_chosen =
                |key: &Key<&str>| choice.study.as_ref().is_none_or(|name| key.study == *name);
            return bands::read(&self.folder, &is_chosen);
        }
        let Results { values, parts, .. } = results;
        if choice.decomposition && parts.is_empty() {
            let mut values = decomposition::read(&self.folder)?;
            values.retain(|value| choice.is_of_study(&value.key));
            return Ok(values);
        }
        let names = || ErrorParts::NAMES.into_iter().chain(VarianceParts::NAMES);
        let is_part = |value: &SummaryRow| names().any(|name| name == value.key.metric);
        let values = values.into_iter().chain(parts);
        Ok(values.filter(|value| !choice.decomposition || is_part(value)).collect())
    }

    /// The values that the options choose.
    fn values(&self, results: Results) -> Result<Vec<SummaryRow>> {
        let choice = &self.choice;
        let values = self.all_values(results)?;
        let wrong = |message: String| self.wrong(message);
        let keys: Vec<&Key> = values.iter().map(|value| &value.key).collect();
        let named = choice.filter.iter().chain(&choice.against).map(|(name, _)| name);
        let named = named.chain(&choice.rows).chain(&choice.cols).map(String::as_str);
        Field::check(named, &keys).map_err(wrong)?;
        let values = table::filtered(&choice.filter(), values).map_err(wrong)?;
        if !choice.against.is_empty() {
            let baseline = conditions(choice.against.iter().cloned());
            return table::differences(&baseline, &values).map_err(wrong);
        }
        let Some(along) = &choice.order else { return Ok(values) };
        let column = Column::named(along).unwrap_or(Column::Rows);
        let orders = orders(&values, column);
        if orders.is_empty() {
            return Err(self.wrong(format!("no value has two sizes of `{along}`")));
        }
        Ok(orders)
    }

    fn titled(&self, mut tables: Vec<Rendered>) -> Result<Vec<Rendered>> {
        if tables.len() > 1 && (self.caption.is_some() || self.label.is_some()) {
            return Err(Error::Argument(format!(
                "--caption and --label are for one table, and there are {}: choose one by \
                 --rows and --cols",
                tables.len()
            )));
        }
        if let Some(caption) = &self.caption {
            tables = tables.into_iter().map(|table| table.titled(caption)).collect();
        }
        Ok(tables)
    }

    fn print(&self, tables: Vec<Rendered>, out: &mut dyn Write) -> Result<()> {
        let text = match (&tables[..], self.format) {
            ([only], TableFormat::Latex) => only.latex(self.style, self.label.as_deref()),
            (_, TableFormat::Md) => table::to_read(&tables, self.style, terminal_width()),
            _ => table::write(&tables, self.format, self.style),
        };
        let text = if self.standalone { table::document(&text, self.style) } else { text };
        write!(out, "{text}").map_err(Error::Output)
    }
}

/// The tables of all studies; where there are several, titles name theirs.
fn tables(results: &Results) -> Result<Vec<Rendered>, String> {
    let studies = &results.manifest.studies;
    let tables = studies.iter().map(|named| {
        let own = table::of_study(named, results)?;
        let is_alone = studies.len() == 1;
        Ok(match is_alone {
            true => own,
            false => own.into_iter().map(|table| table.of_named(&named.name)).collect(),
        })
    });
    Ok(tables.collect::<Result<Vec<Vec<Rendered>>, String>>()?.concat())
}
