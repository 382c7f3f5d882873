//! Effects on all rows: evaluated where the flags say, drawn, and printed.

use std::collections::BTreeMap;
use std::io::Write;

use fe_core::effect::Bands;
use fe_core::effect::ConfidenceBand;
use fe_core::effect::heterogeneity::Values;
use fe_core::effect::{IceCurves, Record};
use fe_core::refits::Refitting;
use fe_core::{Effect, Settings, estimator};
use ndarray::ArrayView2;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::estimated::{Estimated, write_objects};
use super::model::Refitted;
use super::options::EstimationArguments;
use super::refitted;
use super::subject::Subject;
use crate::cli::figures::Picture;
use crate::error::Result;
use crate::output::{Entry, Format, OutputTable, write_csv};
use crate::plot;
use crate::score;
use crate::system::say::say;

impl Estimated for Evaluated {
    type Answer = Effect;

    fn check(arguments: &EstimationArguments) -> Result<()> {
        arguments.check_format()
    }

    fn estimate(
        name: &str,
        settings: &Settings,
        of: &Subject<'_>,
        feature: usize,
    ) -> Result<Vec<Effect>> {
        if let Some(refitting) = Refitting::from_settings(name, settings)?
            && let Some(refits) = of.fitted.and_then(|fitted| fitted.refits.as_ref())
        {
            let Refitted { refits, learner, data, target } = refits;
            let mut effects = refitting.estimate(of.data, of.model, feature, refits)?;
            let (seed, learn) = (refits.options().seed, learner.of_target(target));
            if let Some(band) = effects.first_mut().and_then(|effect| effect.confidence.as_mut()) {
                refitting.permute(band, (data, feature), seed, &learn)?;
            }
            return Ok(effects);
        }
        let estimator = estimator::from_settings(name, settings)?;
        Ok(estimator.estimate(of.data, of.model, feature)?)
    }

    fn of(
        effect: Effect,
        settings: &Settings,
        arguments: &EstimationArguments,
        of: &Subject<'_>,
    ) -> Result<Self> {
        let mut evaluated = Self::new(effect, settings, arguments)?;
        evaluated.find_truth(of)?;
        Ok(evaluated)
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        std::iter::once(&self.effect)
    }

    fn draw(
        all: &[Self],
        arguments: &EstimationArguments,
        of: &Subject<'_>,
        picture: &Picture,
    ) -> Result<()> {
        let mut drawn = Vec::new();
        for one in all {
            let estimator = estimator::from_settings(one.effect.estimator, &one.settings)?;
            drawn.push((one.effect.clone(), estimator));
        }
        let subject = of.pictured();
        let pictured = match arguments.estimators() {
            [_, _, ..] => {
                let has_bands = all.iter().any(|evaluated| evaluated.confidence.is_some());
                if has_bands && subject.scenario.is_none() {
                    say!(
                        "bands are not drawn where several estimators share a panel; name one by --estimator"
                    );
                }
                let estimands =
                    drawn.into_iter().map(|(effect, estimator)| (effect, estimator.estimand()));
                plot::comparison::figure(&subject, &estimands.collect::<Vec<_>>())?
            }
            _ => plot::effects::figure(&subject, &drawn)?,
        };
        pictured.notes.iter().for_each(|note| say!("{note}"));
        picture.write(&pictured.figure)
    }

    fn print(
        all: &[Self],
        arguments: &EstimationArguments,
        of: &Subject<'_>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let bands = all.iter().filter_map(|evaluated| evaluated.effect.confidence.as_ref());
        if let Some(band) = bands.clone().next() {
            say!("band: {}", band.record.meaning);
        }
        for evaluated in all {
            let band = evaluated.effect.confidence.as_ref();
            if let Some(refits) = band.and_then(|band| band.record.refits.as_ref()) {
                say!("{}: {}", of.named(evaluated.effect.feature), refitted::of_feature(refits));
            }
        }
        all.iter()
            .filter_map(|evaluated| evaluated.outside(of))
            .for_each(|caution| say!("{caution}"));
        match arguments.format() {
            Format::Json => {
                let objects = all.iter().map(|evaluated| {
                    let effect = &evaluated.effect;
                    let deciles = of.data.deciles(effect.feature);
                    of.described(evaluated.object(of, deciles), effect.output)
                });
                write_objects(objects, out)
            }
            // A line for every value of every instance is no table for people.
            Format::Csv
                if arguments.estimators().len() < 2
                    && all.iter().any(|e| e.effect.curves.is_some()) =>
            {
                write_csv(&COLUMNS_OF_CURVES, rows_of_curves(all, of), out)
            }
            format => sheet(all, arguments.estimators().len() > 1, of).write(format, out),
        }
    }
}

/// The limits of a confidence band at some points, in the order of [`LIMITS`]; none that the band does not have.
pub(super) type NamedLimits = [Option<Vec<f64>>; LIMITS.len()];

/// Names of the limits that a band has at a point.
pub(super) const LIMITS: [&str; 4] = ["lower", "upper", "simultaneous_lower", "simultaneous_upper"];

/// The most points that truths are looked up at.
const MOST_TRUTHS: usize = 10_000;

/// An effect with its values at the points that were asked for.
pub(super) struct Evaluated {
    pub(super) effect: Effect,
    /// The options that it was estimated with.
    settings: Settings,
    preset: Option<String>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) heterogeneity: Vec<f64>,
    /// The true effect there, if there is a scenario that says it.
    truth: Option<Vec<f64>>,
    /// The spread about an accumulated effect, by its two names.
    bands: Option<[(&'static str, Vec<f64>); 2]>,
    /// The limits of a confidence band; none where the band is not simultaneous.
    confidence: Option<NamedLimits>,
}

impl Evaluated {
    pub(super) fn new(
        effect: Effect,
        settings: &Settings,
        arguments: &EstimationArguments,
    ) -> Result<Self> {
        let even = arguments.printed(effect.bins.is_some())?;
        // An effect at levels has no values at equidistant points.
        let even = even.filter(|_| effect.record.levels.is_none());
        let even = even.map(|points| effect.record.axis.grid(points));
        let x = match (arguments.at(), even) {
            (Some(points), None) => points.to_vec(),
            (None, Some(even)) => even,
            (None, None) => effect.curve.x().to_vec(),
            (Some(points), Some(even)) => {
                let mut x = [points, &even].concat();
                x.sort_unstable_by(f64::total_cmp);
                x.dedup();
                x
            }
        };
        let y = effect.curve.at_all(&x)?;
        let heterogeneity = effect.heterogeneity.at_all(&x)?;
        let bands = effect.bands.as_ref().map(|bands| spread(bands, &x)).transpose()?;
        let confidence = effect.confidence.as_ref().map(|band| limits(band, &x)).transpose()?;
        let preset = arguments.preset.clone();
        let settings = settings.clone();
        let truth = None;
        Ok(Self { effect, settings, preset, x, y, heterogeneity, truth, bands, confidence })
    }

    /// The same beside the truth at its points.
    pub(super) fn beside(self, truth: Option<Vec<f64>>) -> Self {
        Self { truth, ..self }
    }

    /// A caution where the curve lies outside of its own band, which is made of cells that are finer than its bins.
    fn outside(&self, of: &Subject<'_>) -> Option<String> {
        let band = self.effect.confidence.as_ref()?;
        let cells = band.record.cells?;
        let [.., Some(lower), Some(upper)] = self.confidence.as_ref()? else {
            return None;
        };
        let count = band.count_outside(&self.y, lower, upper);
        let bins = self.effect.bins.as_ref().map_or(0, |bins| bins.partition.bins());
        let why = match bins > cells {
            false => "and bins are too wide there; take more by --bins".to_owned(),
            true => format!("which are wider than its {bins} bins; take fewer by --bins"),
        };
        (count > 0).then(|| {
            format!(
                "{}: the curve of {} lies outside of its band at {count} of {} points: the band is made of {cells} \
                 cells, {why}",
                of.named(self.effect.feature),
                self.effect.estimator,
                self.y.len()
            )
        })
    }

    /// Looks up the truth, or says why there is none.
    fn find_truth(&mut self, subject: &Subject<'_>) -> Result<()> {
        let Some(scenario) = subject.scenario.filter(|_| subject.with_truths) else {
            return Ok(());
        };
        let name = subject.named(self.effect.feature);
        if self.x.len() > MOST_TRUTHS {
            say!("{name}: no truth beside {} points, only up to {MOST_TRUTHS}", self.x.len());
            return Ok(());
        }
        let estimator = estimator::from_settings(self.effect.estimator, &self.settings)?;
        match score::true_effect(scenario, estimator.estimand(), &self.effect, &self.x) {
            Ok(truths) => self.truth = Some(truths.iter().map(|truth| truth.value).collect()),
            Err(reason) => say!("{name}: no truth beside the estimate: {reason}"),
        }
        Ok(())
    }

    /// The estimate less the truth.
    fn difference(&self) -> Option<Vec<f64>> {
        let truth = self.truth.as_ref()?;
        Some(self.y.iter().zip(truth).map(|(estimate, truth)| estimate - truth).collect())
    }

    /// The name and the weight of the level that each value is at, where the feature has levels.
    pub(super) fn levels(&self) -> Option<Vec<(&str, f64)>> {
        let levels = self.effect.record.levels.as_ref()?;
        let at = |x: &f64| {
            let place = levels.values.iter().position(|value| value == x)?;
            Some((levels.names[place].as_str(), levels.counts[place]))
        };
        self.x.iter().map(at).collect()
    }

    /// All that is known, with the deciles of the feature.
    pub(super) fn object(&self, subject: &Subject<'_>, deciles: [f64; 11]) -> Object<'_> {
        let effect = &self.effect;
        let [scenario, parameters] = subject.identity();
        let bins = effect.bins.as_ref();
        let confidence = self.confidence.as_ref().zip(effect.confidence.as_ref());
        let confidence = confidence.map(|(limits, band)| {
            let limits = LIMITS.iter().zip(limits);
            let limits = limits.map(|(name, values)| ((*name).to_owned(), json!(values)));
            limits.chain([("record".to_owned(), json!(band.record))]).collect()
        });
        Object {
            scenario,
            parameters,
            feature: subject.feature_name(effect.feature),
            name: &effect.name,
            output: effect.output + 1,
            estimator: effect.estimator,
            preset: self.preset.as_deref(),
            limits: bins.map(|bins| bins.partition.limits()),
            levels: self.levels().map(|levels| levels.iter().map(|(name, _)| *name).collect()),
            counts: match (bins, self.levels()) {
                (Some(bins), _) => Some(bins.counts.clone()),
                (None, Some(levels)) => Some(levels.iter().map(|(_, count)| *count).collect()),
                (None, None) => None,
            },
            bin_effect: bins.map(|bins| &bins.effect[..]),
            bin_variance: effect.bin_variances(),
            x: &self.x,
            effect: &self.y,
            truth: self.truth.as_deref(),
            difference: self.difference(),
            heterogeneity: &self.heterogeneity,
            heterogeneity_values: &effect.heterogeneity_values,
            default_heterogeneity: effect.default_heterogeneity,
            bands: self.bands.as_ref().map(|bands| {
                bands.iter().map(|(name, values)| (*name, &values[..])).collect::<BTreeMap<_, _>>()
            }),
            deciles,
            mean_prediction: effect.mean_prediction,
            importance: effect.importance,
            shapley: effect.shapley.as_ref().map(|shapley| ShapleyObject {
                rows: shapley.rows.iter().map(|row| row + 1).collect(),
                values: &shapley.values,
                base_value: shapley.base_value,
            }),
            curves: effect.curves.as_ref().map(Curves::new),
            record: &effect.record,
            confidence,
        }
    }
}

/// An effect as JSON has it, in this order. Written from where the numbers are: there may be a curve for
/// each of many instances.
#[derive(Serialize)]
pub(super) struct Object<'a> {
    scenario: Value,
    parameters: Value,
    feature: String,
    name: &'a str,
    output: usize,
    estimator: &'static str,
    preset: Option<&'a str>,
    limits: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<&'a str>>,
    counts: Option<Vec<f64>>,
    bin_effect: Option<&'a [f64]>,
    bin_variance: Option<Vec<Option<f64>>>,
    x: &'a [f64],
    effect: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Vec<f64>>,
    heterogeneity: &'a [f64],
    heterogeneity_values: &'a Values,
    default_heterogeneity: &'static str,
    bands: Option<BTreeMap<&'static str, &'a [f64]>>,
    deciles: [f64; 11],
    mean_prediction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shapley: Option<ShapleyObject<'a>>,
    curves: Option<Curves<'a>>,
    record: &'a Record,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<serde_json::Map<String, Value>>,
}

/// The Shapley values of a feature; rows are counted from 1.
#[derive(Serialize)]
struct ShapleyObject<'a> {
    rows: Vec<usize>,
    values: &'a [f64],
    base_value: f64,
}

/// The curves of the instances; their rows are counted from 1.
#[derive(Serialize)]
struct Curves<'a> {
    x: &'a [f64],
    rows: Vec<usize>,
    #[serde(serialize_with = "row_by_row")]
    values: ArrayView2<'a, f64>,
}

impl<'a> Curves<'a> {
    fn new(curves: &'a IceCurves) -> Self {
        let rows = curves.rows.iter().map(|row| row + 1).collect();
        Self { x: &curves.x, rows, values: curves.values.view() }
    }
}

fn row_by_row<S: Serializer>(
    values: &ArrayView2<'_, f64>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(values.rows().into_iter().map(|row| row.to_vec()))
}

/// The spread at some points; beyond the limits it is that at the limits, as the curve is.
fn spread(bands: &Bands, x: &[f64]) -> Result<[(&'static str, Vec<f64>); 2]> {
    let (lo, hi) = bands.std.range();
    let at = |of: &dyn Fn(f64) -> fe_core::Result<f64>| {
        x.iter().map(|x| of(x.clamp(lo, hi))).collect::<fe_core::Result<Vec<f64>>>()
    };
    let std = at(&|x| bands.std_at(x))?;
    Ok([("std", std), ("accumulated_sd", at(&|x| bands.accumulated_sd.at(x))?)])
}

/// The limits of a confidence band at some points.
fn limits(band: &ConfidenceBand, x: &[f64]) -> Result<NamedLimits, fe_core::Error> {
    let simultaneous = band.simultaneous.as_ref();
    let at = |limit: Option<&fe_core::Curve>| limit.map(|limit| limit.at_all(x)).transpose();
    Ok([
        at(Some(&band.pointwise.lower))?,
        at(Some(&band.pointwise.upper))?,
        at(simultaneous.map(|limits| &limits.lower))?,
        at(simultaneous.map(|limits| &limits.upper))?,
    ])
}

const COLUMNS_OF_CURVES: [&str; 6] = ["feature", "output", "row", "x", "effect", "heterogeneity"];

/// The curves of the instances, a line per point; `row` is counted from 1, and empty for their mean.
fn rows_of_curves(
    effects: &[Evaluated],
    subject: &Subject<'_>,
) -> impl Iterator<Item = Vec<Entry>> {
    effects.iter().flat_map(move |Evaluated { effect, x, y, heterogeneity, .. }| {
        let line = move |row: Entry, x: f64, y: f64, h: Entry| -> Vec<Entry> {
            vec![subject.feature(effect), subject.output(effect.output), row, x.into(), y.into(), h]
        };
        let mean = x.iter().zip(y).zip(heterogeneity);
        let mean = mean.map(move |((&x, &y), &h)| line(Entry::Missing, x, y, h.into()));
        let each = effect.curves.iter().flat_map(move |curves| {
            curves.rows.iter().zip(curves.values.rows()).flat_map(move |(row, values)| {
                let points = curves.x.iter().zip(values);
                points.map(move |(&x, &y)| line((row + 1).into(), x, y, Entry::Missing))
            })
        });
        mean.chain(each)
    })
}

fn sheet(effects: &[Evaluated], named: bool, subject: &Subject<'_>) -> OutputTable {
    let mut columns = vec!["feature", "output"];
    columns.extend(named.then_some("estimator"));
    columns.push("x");
    let has_levels = effects.iter().any(|evaluated| evaluated.effect.record.levels.is_some());
    if has_levels {
        columns.extend(["level", "count"]);
    }
    columns.push("effect");
    let has_truths = effects.iter().any(|evaluated| evaluated.truth.is_some());
    if has_truths {
        columns.extend(["truth", "difference"]);
    }
    columns.push("heterogeneity");
    let has_bands = effects.iter().any(|evaluated| evaluated.confidence.is_some());
    if has_bands {
        columns.extend(LIMITS);
    }
    let mut sheet = OutputTable::new(&columns);
    for evaluated in effects {
        let Evaluated { effect, x, y, heterogeneity, truth, confidence, .. } = evaluated;
        let levels = evaluated.levels();
        for (i, ((&x, &y), &h)) in x.iter().zip(y).zip(heterogeneity).enumerate() {
            let mut row: Vec<Entry> = vec![subject.feature(effect), subject.output(effect.output)];
            row.extend(named.then(|| effect.estimator.into()));
            row.push(x.into());
            if has_levels {
                let level = levels.as_ref().map(|levels| levels[i]);
                row.push(level.map_or(Entry::Missing, |(name, _)| name.into()));
                row.push(level.map(|(_, count)| count).into());
            }
            row.push(y.into());
            if has_truths {
                let truth = truth.as_ref().map(|truth| truth[i]);
                row.extend([truth.into(), truth.map(|truth| y - truth).into()]);
            }
            row.push(h.into());
            if has_bands {
                match confidence {
                    Some(limits) => {
                        row.extend(limits.iter().map(|of| of.as_ref().map(|of| of[i]).into()));
                    }
                    None => row.extend([const { Entry::Missing }; LIMITS.len()]),
                }
            }
            sheet.push(row);
        }
    }
    sheet
}
