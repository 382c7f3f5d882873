//! `fe-bench engines`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_core::estimator::pair;
use fe_core::indices::Index;
use fe_core::{AxisChoice, estimator, regional};
use fe_truth::Scenario;
use serde_json::{Value, json};

use crate::data::features::{self, Subject, feature_of};
use crate::data::sample;
use crate::engines::declaration::{self, Capability, Engine, PairCapability};
use crate::engines::{Asks, Engines, External, INDICES, Place, Repetitions, Workspace};
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::score::comparison::Comparison;
use crate::score::pairs::{ComparingPairs, PairTruths};
use crate::score::{Comparing, Metric, Truths};
use crate::study::grid::Grid;

/// Lists the engines that are declared: which can run here, and why the others cannot.
///
/// With --try ENGINE:EFFECT it asks one of them for an effect, and prints what it answered, how it
/// scores, or what was wrong: for people who write an engine. docs/protocol.md says how. What the
/// engine's process writes on standard error is then shown.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// File that declares engines
    #[arg(long, value_name = "FILE.toml", default_value = declaration::DEFAULT_FILE)]
    engines: PathBuf,
    /// Ask this engine for this effect, or for this index
    #[arg(long = "try", value_name = "ENGINE:EFFECT")]
    tried: Option<String>,
    /// What --try asks about: a scenario with its default parameters
    #[arg(long, default_value = "friedman1", requires = "tried", conflicts_with = "capabilities")]
    scenario: String,
    /// Number of rows for --try
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = super::arguments::rows, requires = "tried", conflicts_with = "capabilities")]
    n: usize,
    /// Feature for --try, or a pair of them, such as x1:x2
    #[arg(
        long,
        value_name = "S",
        default_value = "x1",
        requires = "tried",
        conflicts_with = "capabilities"
    )]
    feature: String,
    /// An option for --try; its value is one of JSON, or text
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::arguments::key_value, requires = "tried",
          conflicts_with = "capabilities")]
    option: Vec<(String, String)>,
    /// Lists which effects each of them has, of all rows and in regions, as they are declared, and those
    /// of this program; nothing is started
    #[arg(long, conflicts_with = "tried")]
    capabilities: bool,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let engines = Engines::read(&arguments.engines)?;
    match &arguments.tried {
        Some(name) => try_out(arguments, &engines.showing_errors(), name, out),
        None if arguments.capabilities => capabilities(&engines).write(arguments.format, out),
        None => list(&engines).write(arguments.format, out),
    }
}

/// The name under which this program stands beside the engines.
const THIS: &str = "fe-bench";

/// Effects of one kind under the head of their column.
const FAMILIES: [(&str, &[&str]); 4] = [
    ("(d-)PDP", &["pdp", "dpdp"]),
    ("(RH)ALE", &["ale", "dale", "rhale"]),
    ("SHAP-DP", &["shapdp"]),
    ("M-plot", &["mplot"]),
];

/// The effects of each engine by family, of all rows and in regions: Table 1 of EFFECTOR; beside it what has a band, effects
/// of two features, and indices.
fn capabilities(engines: &Engines) -> OutputTable {
    let mut columns = vec!["engine".to_owned()];
    for (family, _) in FAMILIES {
        columns.extend(["global", "regional"].map(|place| format!("{family} {place}")));
    }
    columns.extend(["bands", "two features", "indices"].map(str::to_owned));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut sheet = OutputTable::new(&names);
    let own = estimator::ALL.iter().map(|info| info.name);
    let own: Vec<&str> = own.chain(regional::ALL.iter().map(|info| info.name)).collect();
    let banded = estimator::ALL.iter().filter(|info| info.takes("band")).map(|info| info.name);
    let of_two: Vec<&str> = pair::ALL.iter().map(|info| info.name).collect();
    let indices: Vec<&str> = Index::all().map(Index::name).collect();
    let further = [&banded.collect::<Vec<_>>(), &of_two, &indices];
    sheet.push(of_engine(THIS, &own, further.map(Vec::as_slice)));
    for engine in engines.all() {
        let those = |has: fn(&Capability) -> bool| -> Vec<&str> {
            let having = engine.effects.iter().filter(|(_, can)| has(can));
            having.map(|(name, _)| name.as_str()).collect()
        };
        let of_two: Vec<&str> = engine.pairs.keys().map(String::as_str).collect();
        let indices: Vec<&str> = engine.indices.iter().map(String::as_str).collect();
        let further = [&those(|can| can.band), &of_two, &indices];
        sheet.push(of_engine(&engine.name, &those(|_| true), further.map(Vec::as_slice)));
    }
    sheet
}

/// A row: the effects that an engine has, and what stands beside them.
fn of_engine(name: &str, all: &[&str], further: [&[&str]; 3]) -> Vec<Entry> {
    let mut row = vec![Entry::from(name)];
    for (_, family) in FAMILIES {
        let found = |prefix: &str| {
            let has = |effect: &&&str| all.contains(&format!("{prefix}{effect}").as_str());
            family.iter().filter(has).copied().collect::<Vec<_>>().join(" ")
        };
        row.extend([found(""), found("regional-")].map(Entry::from));
    }
    row.extend(further.map(|names| Entry::from(names.join(" "))));
    row
}

fn list(engines: &Engines) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "engine",
        "about",
        "version",
        "usable",
        "effects",
        "install",
        "time_limit",
    ]);
    for engine in engines.all() {
        let version = engines.version(&engine.name);
        let of_one = engine.effects.iter().map(|(name, can)| described(name, can));
        let of_two = engine.pairs.iter().map(|(name, can)| described_pair(name, can));
        let indices = (!engine.indices.is_empty()).then(|| engine.indices.join(" "));
        let effects: Vec<String> = of_one.chain(of_two).chain(indices).collect();
        sheet.push(vec![
            engine.name.as_str().into(),
            engine.about.as_str().into(),
            version.as_deref().unwrap_or_default().into(),
            version.as_ref().map_or_else(|reason| format!("no: {reason}"), |_| "yes".into()).into(),
            effects.join("\n").into(),
            install(engine).into(),
            engine.time_limit.into(),
        ]);
    }
    sheet
}

fn install(engine: &Engine) -> String {
    engine.install.join(" ")
}

/// An effect, with what it comes with.
fn described(name: &str, can: &Capability) -> String {
    let mut with = Vec::new();
    with.extend(can.heterogeneity.map(|_| "heterogeneity".to_owned()));
    with.extend(can.band.then(|| "band".to_owned()));
    with.extend((!can.binnings.is_empty()).then(|| can.binnings.join(" ")));
    let with = if with.is_empty() { String::new() } else { format!(" ({})", with.join("; ")) };
    format!("{name}: {}{with}", can.truth)
}

/// An effect of pairs, with what it comes with.
fn described_pair(name: &str, can: &PairCapability) -> String {
    let mut with = Vec::new();
    with.extend(can.interaction.then(|| "the interaction alone".to_owned()));
    with.extend(can.band.then(|| "band".to_owned()));
    with.extend((!can.binnings.is_empty()).then(|| can.binnings.join(" ")));
    let with = if with.is_empty() { String::new() } else { format!(" ({})", with.join("; ")) };
    format!("{name} of pairs: {}{with}", can.truth)
}

fn try_out(
    arguments: &Arguments,
    engines: &Engines,
    name: &str,
    out: &mut dyn Write,
) -> Result<()> {
    let wrong = |message: String| Error::Argument(message);
    let Some((engine, effect)) = name.split_once(':') else {
        return Err(wrong(format!("--try {name}: must be ENGINE:EFFECT")));
    };
    let scenario = crate::data::scenarios::find(&arguments.scenario, &[])?;
    let named = features::subjects(
        std::slice::from_ref(&arguments.feature),
        scenario.dimension(),
        |feature| feature_of(&scenario, feature),
        |feature| scenario.feature_name(feature),
    );
    let subject = named.map_err(wrong)?.first().copied();
    let index = effect.parse::<Index>().ok();
    let of = match (index, subject) {
        (Some(index), _) => Asks::Indices(vec![index]),
        (None, Some(Subject::Two(_))) => Asks::Pair,
        (None, _) => Asks::Feature,
    };
    let option = |(key, value): &(String, String)| {
        (key.clone(), serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into()))
    };
    let external = External {
        engine: engine.to_owned(),
        effect: if index.is_some() { INDICES } else { effect }.to_owned(),
        of,
        options: arguments.option.iter().map(option).collect(),
    };
    engines.check(&external).map_err(wrong)?;
    let data = sample::features(&scenario, 0, arguments.n, 0)?;
    let workspace = Workspace::new(engines, &scenario, &data, Repetitions::default());
    let failed = |e: crate::engines::Failure| Error::Failed(format!("{name}: {e}"));
    let tried = Tried { external: &external, scenario: &scenario, workspace: &workspace };
    let found = match (index, subject) {
        (Some(index), Some(subject)) => tried.index(index, subject)?.map_err(failed)?,
        (None, Some(Subject::Two(features))) => tried.pair(features)?.map_err(failed)?,
        (None, Some(Subject::One(feature))) => tried.feature(feature)?.map_err(failed)?,
        (_, None) => return Err(wrong("--feature: a feature, or a pair, is needed".to_owned())),
    };
    let mut shown = json!({
        "engine": engine,
        "effect": effect,
        "scenario": scenario.id(),
        "feature": arguments.feature,
        "status": "ok",
    });
    if let (Some(shown), Value::Object(found)) = (shown.as_object_mut(), found) {
        shown.extend(found);
    }
    let text = serde_json::to_string_pretty(&shown).map_err(|e| wrong(e.to_string()))?;
    writeln!(out, "{text}").map_err(Error::Output)
}

/// An engine that is asked once.
struct Tried<'a> {
    external: &'a External,
    scenario: &'a Scenario,
    workspace: &'a Workspace<'a>,
}

/// Answer of an engine to be shown, or the reason why it does not count; an error where the question makes no sense.
type Shown = Result<std::result::Result<Value, crate::engines::Failure>>;

impl Tried<'_> {
    fn grid(&self, feature: usize, grid: Grid) -> Result<Vec<f64>> {
        grid.all(self.scenario, feature).map_err(Error::Argument)
    }

    fn feature(&self, feature: usize) -> Shown {
        let grid = self.grid(feature, Grid::default())?;
        let place = Place { feature, axis: AxisChoice::Data, grid: &grid };
        Ok(self.workspace.ask(self.external, place).map(|answer| {
            let (lo, hi) = answer.curve.range();
            let points: Vec<f64> = grid.iter().copied().filter(|x| (lo..=hi).contains(x)).collect();
            let comparing = Comparing {
                points: &points,
                left_out: grid.len() - points.len(),
                comparison: Comparison::Centred,
            };
            let truths = Truths::default();
            let scored = External::scored(&answer, &truths, self.scenario, feature);
            let score = |metric: &str| -> Value {
                let score =
                    metric.parse::<Metric>().and_then(|metric| scored.score(metric, comparing));
                score.map_or_else(Value::from, |score| json!(score.value))
            };
            json!({
                "feature": self.scenario.feature_name(feature),
                "seconds": answer.taken.seconds,
                "model_seconds": answer.taken.model_seconds,
                "model_rows": answer.model_rows,
                "peak_bytes": answer.taken.peak_bytes,
                "range": [lo, hi],
                "truth": answer.truth.name(),
                "mse": score("mse"),
                "heterogeneity_mse": score("heterogeneity_mse"),
                "coverage": score("coverage"),
                "level": answer.band.as_ref().and(answer.level),
                "x": answer.curve.x(),
                "curve": answer.curve.y(),
                "record": answer.record,
            })
        }))
    }

    fn pair(&self, features: [usize; 2]) -> Shown {
        /// Points of either feature.
        const POINTS: usize = 25;
        let grid = Grid::equidistant(POINTS);
        let grids = [self.grid(features[0], grid)?, self.grid(features[1], grid)?];
        let axis = AxisChoice::Data;
        let place = |side: usize| Place { feature: features[side], axis, grid: &grids[side] };
        Ok(self.workspace.ask_pair(self.external, [place(0), place(1)]).map(|answer| {
            let surface = &answer.surface;
            let covered = |side: usize| -> Vec<f64> {
                let axis = surface.record.sides[side].axis;
                grids[side].iter().copied().filter(|x| axis.contains(*x)).collect()
            };
            let points = [covered(0), covered(1)];
            let comparing = ComparingPairs {
                points: [&points[0], &points[1]],
                grid: [&grids[0], &grids[1]],
                comparison: Comparison::Centred,
            };
            let truths = PairTruths::default();
            let score = |metric: &str| -> Value {
                let score = metric.parse::<Metric>();
                score.map_or_else(Value::from, |metric| {
                    let score = truths.score(self.scenario, surface, comparing, metric);
                    json!(score.value)
                })
            };
            json!({
                "seconds": answer.taken.seconds,
                "model_seconds": answer.taken.model_seconds,
                "model_rows": surface.record.model_rows,
                "peak_bytes": answer.taken.peak_bytes,
                "mse": score("mse"),
                "coverage": score("coverage"),
                "level": surface.confidence.as_ref().map(|band| band.record.level),
                "x": surface.x[0],
                "x2": surface.x[1],
                "surface": surface.values,
                "record": answer.record,
            })
        }))
    }

    fn index(&self, index: Index, subject: Subject) -> Shown {
        let features = match (index.order(), subject) {
            (0, _) => Vec::new(),
            (1, Subject::One(feature)) => vec![feature],
            (2, Subject::Two(pair)) => pair.to_vec(),
            (order, _) => {
                let what = if order == 1 { "a feature" } else { "a pair, such as x1:x2" };
                let message = format!("--feature: {index} is of {what}");
                return Err(Error::Argument(message));
            }
        };
        let asked = [(index, features)];
        Ok(self.workspace.ask_indices(self.external, &asked).map(|answer| {
            let truth = PairTruths::default().index(self.scenario, &asked, (index, &asked[0].1));
            let interval = answer.intervals.first().copied().flatten();
            json!({
                "seconds": answer.taken.seconds,
                "model_seconds": answer.taken.model_seconds,
                "model_rows": answer.model_rows,
                "peak_bytes": answer.taken.peak_bytes,
                "value": answer.values.first(),
                "lower": interval.map(|(lower, _)| lower),
                "upper": interval.map(|(_, upper)| upper),
                "level": interval.and(answer.level),
                "truth": truth.map_or_else(Value::from, |truth| json!(truth.value)),
                "record": answer.record,
            })
        }))
    }
}
