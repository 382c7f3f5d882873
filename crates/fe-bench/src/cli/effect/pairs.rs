//! `fe-bench effect … --feature x1:x2`: effects of two features.

use std::io::Write;

use fe_core::effect::{Surface, SurfaceBand};
use fe_core::estimator::{each_feature, pair};
use fe_core::refits::PairRefitting;
use fe_core::{Axis, Settings};
use fe_models::{Task, additive_fit};
use serde_json::json;

use super::estimated::write_objects;
use super::evaluated::{LIMITS, NamedLimits};
use super::limits::limits_of_features;
use super::model::Refitted;
use super::options::{EstimationArguments, PlacesOfPairs, settings_of_pair};
use super::refitted;
use super::subject::Subject;
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::plot::surfaces;
use crate::score::pairs::truth_beside;
use crate::system::say::say;

/// Estimates and prints.
pub(super) fn execute(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    check(arguments, subject)?;
    let places = arguments.places_of_pairs()?;
    let surfaces = estimated(arguments, subject, &places)?;
    let bands = || surfaces.iter().filter_map(|surface| surface.confidence.as_ref());
    if let Some(band) = bands().next() {
        say!("band: {}", band.record.meaning);
    }
    for surface in &surfaces {
        let refits = surface.confidence.as_ref().and_then(|band| band.record.refits.as_ref());
        if let Some(refits) = refits {
            let pair = surface.names.join(":");
            say!("{pair}: {}", refitted::of_pair(refits, surface));
        }
        if let Some(caution) = surface.record.cells.and_then(|cells| cells.caution()) {
            say!("{}: {caution}; take fewer by --bins", surface.names.join(":"));
        }
        if let Some(caution) = surface.confidence.as_ref().and_then(|band| band.caution()) {
            say!("{}: {caution}", surface.names.join(":"));
        }
    }
    if let Some(picture) = subject.picture {
        let pictured = surfaces::figure(&subject.pictured(), &surfaces)?;
        pictured.notes.iter().for_each(|note| say!("{note}"));
        picture.write(&pictured.figure)?;
    }
    let evaluated = surfaces.iter().map(|surface| Evaluated::new(surface, &places, subject));
    let evaluated = evaluated.collect::<Result<Vec<_>>>()?;
    match arguments.format() {
        Format::Json => write_objects(evaluated.iter().map(|one| one.object(subject)), out),
        format => sheet(&evaluated, subject).write(format, out),
    }
}

/// Refuses flags that the effect of a pair has no answer to.
fn check(arguments: &EstimationArguments, subject: &Subject<'_>) -> Result<()> {
    if !subject.features.is_empty() {
        let message = "--feature names one feature beside a pair: ask for either";
        return Err(Error::Argument(message.to_owned()));
    }
    // An estimator that there is not, before its options are looked at.
    pair::info(arguments.estimator())?;
    Ok(())
}

fn estimated(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    places: &PlacesOfPairs,
) -> Result<Vec<Surface>> {
    let limits = limits_of_features(arguments, subject)?;
    let takes_points = pair::info(arguments.estimator())?.options.contains(&"points");
    let at = places.at.as_ref().filter(|_| takes_points);
    let estimate = |features: &[usize; 2]| {
        let of = |side: usize| {
            let of_rows = (subject.scenario, subject.data);
            let settings = settings_of_pair(arguments, of_rows, features[side], &limits)?;
            // A partial dependence is exact on its grid, and where it is given; else that is no matter of the estimator.
            let usual = at.map(|_| pair::POINTS);
            let grid = places.grid.map(|grid| grid[side]).or(settings.grid).or(usual);
            let points = at.map(|lists| lists[side].clone());
            Ok::<_, Error>(Settings { even_points: None, points, grid, ..settings })
        };
        let settings = [of(0)?, of(1)?];
        match of_settings(arguments.estimator(), settings.each_ref(), subject, *features)? {
            // It has no effect, and other pairs may.
            Err(error @ fe_core::Error::ConstantFeature { .. }) => Ok(Err(error)),
            surfaces => Ok::<_, Error>(Ok(surfaces?)),
        }
    };
    let found = each_feature(subject.pairs, estimate)?;
    let none = found.iter().all(std::result::Result::is_err);
    let mut all = Vec::new();
    for surfaces in found {
        match surfaces {
            Err(error) if none => return Err(error.into()),
            Err(error) => say!("left out: {error}"),
            Ok(surfaces) => all.extend(surfaces),
        }
    }
    Ok(all)
}

/// The effects of a pair, with the band of their refits where one is asked for.
fn of_settings(
    name: &str,
    settings: [&Settings; 2],
    subject: &Subject<'_>,
    features: [usize; 2],
) -> Result<fe_core::Result<Vec<Surface>>> {
    let refits = subject.fitted.and_then(|fitted| fitted.refits.as_ref());
    let (Some(refitting), Some(of)) = (PairRefitting::from_settings(name, settings)?, refits)
    else {
        let estimator = pair::from_settings(name, settings)?;
        return Ok(estimator.estimate(subject.data, subject.model, features));
    };
    let Refitted { refits, learner, data, target } = of;
    let found = refitting.estimate(subject.data, subject.model, features, refits);
    let Ok(mut surfaces) = found else { return Ok(found) };
    let first = surfaces.first_mut().and_then(|surface| surface.confidence.as_mut());
    if let (true, Some(band)) = (refitting.is_permuted(), first) {
        if learner.task() != Task::Regression {
            return Err(Error::Argument(format!(
                "--residual-permutations: {} predicts classes, and residuals of an additive fit can be permuted only of \
                 a target that is a number",
                learner.name()
            )));
        }
        let additive = additive_fit(data, target)?;
        let of_target = (refits.options().seed, &target[..], &additive);
        refitting.permute(band, (data, features), of_target, &learner.of_rows(data))?;
    }
    Ok(Ok(surfaces))
}

/// The most points that truths are looked up at.
const MOST_TRUTHS: usize = 2500;

/// A surface at the points where it is given, with the truth there if it is known.
struct Evaluated<'a> {
    surface: &'a Surface,
    x: [Vec<f64>; 2],
    values: Vec<f64>,
    truth: Option<Vec<f64>>,
    /// The limits of a confidence band.
    limits: Option<NamedLimits>,
}

/// The limits of a confidence band at some points.
fn limits(
    surface: &Surface,
    band: &SurfaceBand,
    points: [&[f64]; 2],
) -> fe_core::Result<NamedLimits> {
    let at =
        |limit: Option<&Vec<f64>>| limit.map(|limit| surface.read_all(limit, points)).transpose();
    let simultaneous = band.simultaneous.as_ref();
    Ok([
        at(Some(&band.pointwise.lower))?,
        at(Some(&band.pointwise.upper))?,
        at(simultaneous.map(|limits| &limits.lower))?,
        at(simultaneous.map(|limits| &limits.upper))?,
    ])
}

/// The truth beside a surface at some points; none without a scenario, or for a reason that is said.
fn truth(surface: &Surface, x: &[Vec<f64>; 2], subject: &Subject<'_>) -> Option<Vec<f64>> {
    let scenario = subject.scenario.filter(|_| subject.with_truths)?;
    let (name, points) = (surface.names.join(":"), x[0].len() * x[1].len());
    if points > MOST_TRUTHS {
        say!("{name}: no truth beside {points} points, only up to {MOST_TRUTHS}");
        return None;
    }
    match truth_beside(scenario, surface, [&x[0], &x[1]]) {
        Ok(truths) => Some(truths.iter().map(|truth| truth.value).collect()),
        Err(reason) => {
            say!("{name}: no truth beside the estimate: {reason}");
            None
        }
    }
}

impl<'a> Evaluated<'a> {
    fn new(surface: &'a Surface, places: &PlacesOfPairs, subject: &Subject<'_>) -> Result<Self> {
        let of = |side: usize| -> Result<Vec<f64>> {
            let record = &surface.record.sides[side];
            let at = places.at.as_ref().map(|lists| lists[side].clone());
            let even = places.even.filter(|_| record.levels.is_none());
            let even = match even {
                Some(counts) => {
                    Some(Axis::new(record.axis.lo(), record.axis.hi())?.grid(counts[side]))
                }
                None => None,
            };
            let Some(mut given) = at.or(even.clone()) else { return Ok(surface.x[side].clone()) };
            given.extend(even.filter(|_| places.at.is_some()).into_iter().flatten());
            given.sort_by(f64::total_cmp);
            given.dedup();
            Ok(given)
        };
        let x = [of(0)?, of(1)?];
        let values = surface.at_all([&x[0], &x[1]])?;
        let truth = truth(surface, &x, subject);
        let band = surface.confidence.as_ref();
        let limits = band.map(|band| limits(surface, band, [&x[0], &x[1]])).transpose()?;
        Ok(Self { surface, x, values, truth, limits })
    }

    /// The estimate less the truth.
    fn difference(&self) -> Option<Vec<f64>> {
        let truth = self.truth.as_ref()?;
        Some(self.values.iter().zip(truth).map(|(value, truth)| value - truth).collect())
    }

    fn object(&self, subject: &Subject<'_>) -> serde_json::Value {
        let surface = self.surface;
        let [scenario, parameters] = subject.identity();
        let rows = |values: &[f64], columns: usize| -> Vec<Vec<f64>> {
            values.chunks(columns.max(1)).map(<[f64]>::to_vec).collect()
        };
        let of_counts = surface.record.sides[1]
            .levels
            .as_ref()
            .map_or(surface.x[1].len() - 1, |_| surface.x[1].len());
        let mut object = json!({
            "scenario": scenario,
            "parameters": parameters,
            "feature": subject.named(surface.features[0]),
            "feature2": subject.named(surface.features[1]),
            "output": surface.output + 1,
            "estimator": surface.estimator,
            "x": self.x[0],
            "x2": self.x[1],
            "effect": rows(&self.values, self.x[1].len()),
            "counts": rows(&surface.counts, of_counts),
            "record": surface.record,
        });
        let columns = self.x[1].len();
        if let (Some(object), Some(truth), Some(difference)) =
            (object.as_object_mut(), &self.truth, self.difference())
        {
            object.insert("truth".to_owned(), json!(rows(truth, columns)));
            object.insert("difference".to_owned(), json!(rows(&difference, columns)));
        }
        if let (Some(object), Some(limits), Some(band)) =
            (object.as_object_mut(), &self.limits, &surface.confidence)
        {
            let limits = LIMITS.iter().zip(limits).map(|(name, values)| {
                let values = values.as_ref().map(|values| rows(values, columns));
                ((*name).to_owned(), json!(values))
            });
            let record = ("record".to_owned(), json!(band.record));
            object.insert("confidence".to_owned(), limits.chain([record]).collect());
        }
        object
    }

    /// The limits of the band at a place.
    fn limits_at(&self, place: usize) -> [Entry; LIMITS.len()] {
        match &self.limits {
            None => [const { Entry::Missing }; LIMITS.len()],
            Some(limits) => limits.each_ref().map(|limit| limit.as_ref().map(|y| y[place]).into()),
        }
    }

    /// The name of the level that a place of a feature is.
    fn level(&self, side: usize, x: f64) -> Entry {
        let levels = self.surface.record.sides[side].levels.as_ref();
        let place = levels.and_then(|levels| levels.values.iter().position(|&value| value == x));
        match (levels, place) {
            (Some(levels), Some(place)) => levels.names[place].as_str().into(),
            _ => Entry::Missing,
        }
    }
}

fn sheet(all: &[Evaluated<'_>], subject: &Subject<'_>) -> OutputTable {
    let sides = || all.iter().flat_map(|one| &one.surface.record.sides);
    let has_levels = sides().any(|side| side.levels.is_some());
    let mut columns = vec!["feature", "feature2", "output", "x", "x2", "effect"];
    if has_levels {
        columns.splice(5..5, ["level", "level2"]);
    }
    let has_truths = all.iter().any(|one| one.truth.is_some());
    if has_truths {
        columns.extend(["truth", "difference"]);
    }
    let has_bands = all.iter().any(|one| one.limits.is_some());
    if has_bands {
        columns.extend(LIMITS);
    }
    let mut sheet = OutputTable::new(&columns);
    for one in all {
        let names = one.surface.features.map(|feature| subject.named(feature));
        let pairs = one.x[0].iter().flat_map(|&x| one.x[1].iter().map(move |&y| (x, y)));
        for (i, ((x, y), &value)) in pairs.zip(&one.values).enumerate() {
            let mut row: Vec<Entry> = names.iter().map(|name| name.as_str().into()).collect();
            row.extend([subject.output(one.surface.output), x.into(), y.into()]);
            if has_levels {
                row.extend([one.level(0, x), one.level(1, y)]);
            }
            row.push(value.into());
            if has_truths {
                let truth = one.truth.as_ref().map(|truth| truth[i]);
                row.extend([truth.into(), truth.map(|truth| value - truth).into()]);
            }
            if has_bands {
                row.extend(one.limits_at(i));
            }
            sheet.push(row);
        }
    }
    sheet
}
