//! `fe-bench table`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use toml::{Table, Value};

use crate::error::{Error, Result, listed, suggestion};
use crate::record::manifest::Manifest;
use crate::record::{KEYS, Row, store};
use crate::study::wire::TableSpec;
use crate::table::{self, Rendered, TableFormat};

/// Prints tables of means over replicates.
///
/// Without --rows and --cols these are the tables that the studies name.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only this study of the folder
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// Keys whose values become rows
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', requires = "cols", value_parser = key)]
    rows: Vec<String>,
    /// Keys whose values become columns
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', requires = "rows", value_parser = key)]
    cols: Vec<String>,
    /// Only values with this key; may be given several times
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = condition, requires = "rows")]
    filter: Vec<(String, String)>,
    /// md, latex or csv
    #[arg(long, value_enum, default_value = "md")]
    format: TableFormat,
}

fn key(text: &str) -> Result<String, String> {
    if KEYS.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("unknown key{}; allowed are {}", suggestion(text, KEYS), listed(KEYS)))
}

pub(super) fn condition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((key(name)?, value.to_owned()))
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let (manifest, rows) = store::read(&arguments.folder)?;
    let rows = of_study(arguments, &manifest, &rows)?;
    let tables = if arguments.rows.is_empty() {
        tables(&manifest, &rows)
    } else {
        table::make(&chosen(arguments), &rows).map(|table| vec![table])
    };
    let tables = tables.map_err(|message| Error::content(&arguments.folder, message))?;
    print(&tables, arguments.format, out)
}

/// Prints the tables of all studies as Markdown.
pub(super) fn print_all(manifest: &Manifest, rows: &[Row], out: &mut dyn Write) -> Result<()> {
    let rows: Vec<&Row> = rows.iter().collect();
    let tables = tables(manifest, &rows).map_err(Error::Argument)?;
    print(&tables, TableFormat::Md, out)
}

fn of_study<'a>(
    arguments: &Arguments,
    manifest: &Manifest,
    rows: &'a [Row],
) -> Result<Vec<&'a Row>> {
    let Some(name) = &arguments.study else { return Ok(rows.iter().collect()) };
    let names = || manifest.studies.iter().map(|study| study.name.as_str());
    if !names().any(|known| known == name) {
        return Err(Error::Argument(format!(
            "--study {name}: not in this folder{}; it has {}",
            suggestion(name, names()),
            listed(names())
        )));
    }
    Ok(rows.iter().filter(|row| row.key[0] == *name).collect())
}

fn chosen(arguments: &Arguments) -> TableSpec {
    let mut filter = Table::new();
    for (key, value) in &arguments.filter {
        let values = filter.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = values {
            list.push(Value::String(value.clone()));
        }
    }
    TableSpec {
        title: arguments.folder.display().to_string(),
        rows: arguments.rows.clone(),
        columns: arguments.cols.clone(),
        filter,
        ..TableSpec::default()
    }
}

/// The tables that the studies name; one with everything that varies for a study that names none.
fn tables(manifest: &Manifest, rows: &[&Row]) -> Result<Vec<Rendered>, String> {
    let mut tables = Vec::new();
    for named in &manifest.studies {
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.key[0] == named.name).collect();
        if rows.is_empty() {
            continue;
        }
        if named.study.table.is_empty() {
            tables.push(table::make(&table::default_spec(&named.name, &rows), &rows)?);
        }
        for spec in &named.study.table {
            tables.push(table::make(spec, &rows)?);
        }
    }
    Ok(tables)
}

fn print(tables: &[Rendered], format: TableFormat, out: &mut dyn Write) -> Result<()> {
    for (i, table) in tables.iter().enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        write!(out, "{gap}{}", table.to_text(format)).map_err(Error::Output)?;
    }
    Ok(())
}
