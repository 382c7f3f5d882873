//! Bias and variance, from the curves that a study keeps.

use std::collections::HashMap;
use std::path::Path;

use fe_core::metric::centred_on_grid;
use fe_core::replicates::{ErrorParts, decompose};

use super::columns::ResultFile;
use super::kept_curves;
use super::manifest::{MANIFEST, read_manifest};
use super::summary::{SummaryRow, grouped};
use super::{Column, Key};
use crate::error::{Error, Result};
use crate::output::formulas::unguarded;
use crate::system::files;
use crate::system::say::echo;

/// The columns of kept curves that are read behind their keys.
const POINT_COLUMNS: [&str; 3] = ["x", "effect", "truth"];

/// A point of a curve: its place as written, and estimate minus truth.
struct Point {
    replicate: String,
    x: String,
    error: f64,
}

/// Reads the curves of a results folder and splits their squared errors: for every curve a row for
/// each of [`ErrorParts::NAMES`] as metric.
///
/// Curves that are compared centred on the grid are centred here, whether or not they were before.
///
/// # Errors
/// A folder without curves, or a file that does not hold them.
pub fn read(folder: &Path) -> Result<Vec<SummaryRow>> {
    let path = folder.join(ResultFile::Curves.name());
    if folder.join(MANIFEST).exists() && !path.exists() {
        kept_curves::check_there(folder, &read_manifest(folder)?)?;
        return Err(Error::content(
            folder,
            "keeps no curves, from which bias and variance are computed: \
             run the study with `keep = [\"curves\"]` in its blocks",
        ));
    }
    Ok(points(&path)?.into_iter().flat_map(|(key, points)| parts(&key, points)).collect())
}

/// The points of each curve, of all its replicates.
fn points(path: &Path) -> Result<Vec<(Key, Vec<Point>)>> {
    let wrong = |message: String| Error::content(path, message);
    let mut reader = csv::Reader::from_reader(files::open_written(path)?);
    let header = reader.headers().map_err(|e| wrong(e.to_string()))?.clone();
    let column = |name: &str| {
        let place = header.iter().position(|column| column == name);
        place.ok_or_else(|| wrong(format!("there is no column `{name}`")))
    };
    let keys = Column::of_estimates();
    let keys = keys.map(|key| Ok((key, column(key.name())?))).collect::<Result<Vec<_>>>()?;
    let places = POINT_COLUMNS.iter().map(|name| column(name)).collect::<Result<Vec<_>>>()?;
    let mut curves: Vec<(Key, Vec<Point>)> = Vec::new();
    let mut known: HashMap<u128, usize> = HashMap::new();
    let (mut record, mut i) = (csv::StringRecord::new(), 0);
    while reader.read_record(&mut record).map_err(|e| wrong(e.to_string()))? {
        i += 1;
        let number = |column: usize| match record[places[column]].parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(wrong(format!(
                "row {}, column {}: `{}` is not a finite number",
                i,
                POINT_COLUMNS[column],
                echo(&record[places[column]])
            ))),
        };
        let fields = keys.iter().map(|(_, place)| unguarded(&record[*place]));
        let own = Key::read(keys.iter().map(|(key, _)| *key), fields);
        let shared = Key { replicate: "", ..own };
        let place = *known.entry(shared.fingerprint()).or_insert_with(|| {
            curves.push((shared.owned(), Vec::new()));
            curves.len() - 1
        });
        let (replicate, x) = (own.replicate.to_owned(), record[places[0]].to_owned());
        curves[place].1.push(Point { replicate, x, error: number(1)? - number(2)? });
    }
    Ok(curves)
}

/// The parts of the squared error of one curve, over its replicates.
fn parts(key: &Key, points: Vec<Point>) -> Vec<SummaryRow> {
    let centred = key.centring == "grid";
    let mut places: HashMap<String, usize> = HashMap::new();
    let keyed: Vec<(String, (usize, f64))> = points
        .into_iter()
        .map(|Point { replicate, x, error }| {
            let next = places.len();
            (replicate, (*places.entry(x).or_insert(next), error))
        })
        .collect();
    let replicate = |(_, points): (String, Vec<(usize, f64)>)| {
        let errors: Vec<f64> = points.iter().map(|(_, error)| *error).collect();
        let errors = if centred { centred_on_grid(&errors) } else { errors };
        let mut row = vec![None; places.len()];
        points.iter().zip(errors).for_each(|((place, _), error)| row[*place] = Some(error));
        row
    };
    let replicates: Vec<Vec<Option<f64>>> = grouped(keyed).into_iter().map(replicate).collect();
    let row = |(name, summary): (&str, _)| {
        let key = Key { metric: name.to_owned(), ..key.clone() };
        SummaryRow { summary, ..SummaryRow::new(key, Vec::new(), 0) }
    };
    let parts = decompose(&replicates);
    parts.into_iter().flat_map(|parts| ErrorParts::NAMES.into_iter().zip(parts)).map(row).collect()
}
