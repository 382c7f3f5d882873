//! `fe-bench score`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use fe_truth::{Centring, Quantity, Scenario};

use super::arguments::{key_value, word};
use super::truth::centring;
use crate::data::scenarios;
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::record::{given, store};
use crate::score;
use crate::score::comparison::Comparison;
use crate::score::given_curve::{self, Given, GivenCurve};
use crate::score::{given_surface, given_tree};
use crate::study::OF_F;
use crate::study::key::Key;
use crate::system::files;
use crate::system::say::say;

/// Scores curves, or trees of regions, that were computed elsewhere against a scenario's exact truth.
///
/// The file has the columns feature, x, effect and, for a band, lower and upper; rows may stand in any
/// order. Points outside the scenario's range are left out and counted. For a band, `coverage` is the
/// share of points whose truth, centred as the curve is, lies within it, and `width` its mean width.
/// What `effect --format csv` prints is such a file; its other columns are passed over.
///
/// Many curves have the columns method, replicate (of the dataset, counted from 0) and N as well; with --out their
/// scores and the curves beside their truths become a results folder, which `table`, `plot`, `report` and `compare` read like that of a run.
///
/// With the columns feature2 and x2 as well, effects of pairs of features are scored, at all their pairs of points; of
/// pd with --interaction, what the two features do not do each on their own.
///
/// A file that ends in .json has curves as `effect --format json` prints them, or trees: what `effect --estimator regional-… --format json` prints, or
/// {"feature": "x1", "estimator": "regional-pdp", "nodes": […]} with {} for all rows first, then
/// {"parent": 0, "rule": {"feature": "x3", "at-most": 0.5}} and so on, and in each leaf the arrays `x` and
/// `effect`; for regional-ale `limits` of the bins; `depth`, `drop` and `partition` if the population's tree
/// shall not have the same depth and the defaults.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// CSV or JSON file with the curves, or JSON file with the trees
    #[arg(value_name = "CURVES.csv|TREES.json")]
    curves: PathBuf,
    /// Name of the scenario, as `fe-bench list scenarios` shows them, or a file FILE.toml
    #[arg(long)]
    scenario: String,
    /// A parameter of the scenario; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// What the curves estimate: pd, dpd, mplot, ale, ale-derivative, mu, sigma, h-pdp, h-dpdp, main,
    /// shap or shap-variance; trees say it themselves
    /// [default: of methods called by the names of estimators, what these estimate]
    #[arg(long, value_parser = score::truth)]
    effect: Option<Quantity>,
    /// The effects of pairs are without those of either feature alone (of pd; those of ale always are)
    #[arg(long, requires = "effect")]
    interaction: bool,
    /// Err_c (both curves centred on the points) or Err (as they are)
    #[arg(long, value_name = "HOW", value_parser = word::<Comparison>, default_value = "Err_c")]
    compare: Comparison,
    /// How the curves are centred, for --compare Err: none, start, integral or data [default: none]
    #[arg(long, value_name = "CENTRING", value_parser = centring)]
    center: Option<Centring>,
    /// Results folder for the scores; must not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    if arguments.center.is_some() && arguments.compare == Comparison::Centred {
        let message = "--center: only with --compare Err; Err_c centres both curves on the points";
        return Err(Error::Argument(message.to_owned()));
    }
    let scenario = scenarios::find(&arguments.scenario, &arguments.set)?;
    if has_pairs(arguments)? {
        refuse_folder(arguments, "pairs of features")?;
        return of_pairs(arguments, &scenario)?.write(arguments.format, out);
    }
    if let Some(folder) = &arguments.out {
        super::arguments::can_be_recorded()?;
        store::check_free(folder)?;
    }
    let all = scored(arguments, &scenario)?;
    match &arguments.out {
        Some(folder) => store(arguments, &scenario, all, &files::without_slash(folder)),
        None => sheet(&scenario, all).write(arguments.format, out),
    }
}

/// Refuses a folder for what no run has.
fn refuse_folder(arguments: &Arguments, what: &str) -> Result<()> {
    match arguments.out {
        None => Ok(()),
        Some(_) => {
            Err(Error::Argument(format!("--out: results folders are of curves, not of {what}")))
        }
    }
}

/// A column that a file of many curves may have: its name and its value.
type GivenColumn = (&'static str, fn(&Given) -> &str);

/// The scores, with the columns that tell their curves apart.
fn sheet(scenario: &Scenario, all: Vec<Scored>) -> OutputTable {
    const METHOD: [GivenColumn; 3] = [
        ("method", |given| &given.method),
        ("replicate", |given| &given.replicate),
        ("N", |given| &given.rows),
    ];
    let is_given = |(_, of): &GivenColumn| all.iter().any(|one| !of(&one.given).is_empty());
    let keys: Vec<_> = METHOD.into_iter().filter(is_given).collect();
    let mut columns = vec!["scenario", "feature", "effect"];
    columns.extend(keys.iter().map(|(name, _)| *name));
    columns.extend([
        "metric",
        "value",
        "truth_method",
        "truth_abs_error",
        "compared",
        "left_out",
        "status",
    ]);
    let mut sheet = OutputTable::new(&columns);
    for Scored { given, effect, scores, .. } in all {
        for (metric, score) in scores {
            let mut row: Vec<Entry> = vec![
                scenario.id().into(),
                scenario.feature_name(given.feature).into(),
                effect.clone().into(),
            ];
            row.extend(keys.iter().map(|(_, of)| Entry::from(of(&given))));
            row.extend([metric.into(), score.value.into(), score.truth_method.into()]);
            row.extend([score.truth_abs_error.into(), score.compared.into()]);
            row.extend([score.left_out.into(), score.status.into()]);
            sheet.push(row);
        }
    }
    sheet
}

/// Stores the scores as the results of a study that is called as the file is.
fn store(
    arguments: &Arguments,
    scenario: &Scenario,
    all: Vec<Scored>,
    folder: &Path,
) -> Result<()> {
    let study = arguments.curves.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let centring = match (arguments.compare, arguments.center) {
        (Comparison::Centred, _) => "grid".to_owned(),
        (Comparison::AsTheyAre, centring) => centring.unwrap_or(Centring::None).to_string(),
    };
    let (mut values, mut curves) = (Vec::new(), Vec::new());
    for Scored { given, effect, scores, points } in all {
        let method = if given.method.is_empty() { effect } else { given.method };
        let replicate =
            if given.replicate.is_empty() { "0".to_owned() } else { given.replicate.clone() };
        let key = Key {
            study: study.clone(),
            scenario: scenario.id(),
            parameters: scenario.parameters(),
            feature: scenario.feature_name(given.feature),
            estimator: method,
            centring: centring.clone(),
            rows: given.rows,
            replicate,
            pair: OF_F.to_owned(),
            ..Key::default()
        };
        for (metric, score) in scores {
            values.push((Key { metric: metric.to_owned(), ..key.clone() }, score));
        }
        curves.push((key, points));
    }
    let about = format!("Curves of {}, scored against the truth.", arguments.curves.display());
    let counts = given::write(folder, (&study, &about), scenario, values, curves)?;
    say!("{} values ({} failed): {}", counts.values, counts.failed, folder.display());
    Ok(())
}

/// True if the file has effects of pairs; refuses the flag of these otherwise.
fn has_pairs(arguments: &Arguments) -> Result<bool> {
    let has_trees = arguments.curves.extension().is_some_and(|ending| ending == "json");
    let has_pairs = !has_trees && given_surface::has_pairs(&arguments.curves)?;
    if arguments.interaction && !has_pairs {
        let message = "--interaction: only of pairs of features, with the columns feature2 and x2";
        return Err(Error::Argument(message.to_owned()));
    }
    Ok(has_pairs)
}

/// The scores of the effects of pairs of a file.
fn of_pairs(arguments: &Arguments, scenario: &Scenario) -> Result<OutputTable> {
    let Some(effect) = arguments.effect else {
        let message = "--effect: needed, to say what the effects of pairs estimate: pd or ale";
        return Err(Error::Argument(message.to_owned()));
    };
    let mut sheet = OutputTable::new(&[
        "scenario",
        "feature",
        "feature2",
        "effect",
        "metric",
        "value",
        "truth_method",
        "truth_abs_error",
        "compared",
        "left_out",
        "status",
    ]);
    for (features, surface) in given_surface::read(&arguments.curves, scenario)? {
        let what = (effect, arguments.interaction);
        let asked = given_surface::question(scenario, what, features, arguments.center);
        let scores = given_surface::against_truth(scenario, asked, &surface, arguments.compare)?;
        for (metric, score) in scores {
            let [a, b] = features.map(|feature| scenario.feature_name(feature));
            let mut row: Vec<Entry> = vec![scenario.id().into(), a.into(), b.into()];
            row.extend([effect.name().into(), metric.into(), score.value.into()]);
            row.extend([score.truth_method.into(), score.truth_abs_error.into()]);
            row.extend([score.compared.into(), score.left_out.into(), score.status.into()]);
            sheet.push(row);
        }
    }
    Ok(sheet)
}

/// The scores of a feature's effect.
struct Scored {
    given: Given,
    effect: String,
    scores: Vec<(&'static str, score::Score)>,
    /// The curve beside its truth, if results are asked for.
    points: Vec<score::CurvePoint>,
}

/// The scores of the curves, or of the trees, of the file.
fn scored(arguments: &Arguments, scenario: &Scenario) -> Result<Vec<Scored>> {
    let is_json = arguments.curves.extension().is_some_and(|ending| ending == "json");
    let curves = match is_json {
        true => given_curve::read_json(&arguments.curves, scenario)?,
        false => Some(given_curve::read(&arguments.curves, scenario)?),
    };
    match (curves, arguments.effect) {
        (None, None) => {
            refuse_folder(arguments, "trees")?;
            of_trees(arguments, scenario)
        }
        (Some(curves), effect) => of_curves(arguments, scenario, effect, curves),
        (None, Some(_)) => Err(Error::Argument(
            "--effect: only of curves; a tree names its `estimator`".to_owned(),
        )),
    }
}

fn of_trees(arguments: &Arguments, scenario: &Scenario) -> Result<Vec<Scored>> {
    let centring = match arguments.center.unwrap_or(Centring::None) {
        Centring::None => fe_core::Centring::None,
        Centring::Start => fe_core::Centring::Start,
        Centring::Integral => fe_core::Centring::Integral,
        Centring::Data => fe_core::Centring::Data,
    };
    let trees = given_tree::read(&arguments.curves, scenario, centring)?;
    let scored = |given: given_tree::GivenTree| Scored {
        given: Given { feature: given.tree.feature, ..Given::default() },
        effect: format!("regional-{}", given.tree.method),
        scores: given.scores(scenario, arguments.compare),
        points: Vec::new(),
    };
    Ok(trees.into_iter().map(scored).collect())
}

fn of_curves(
    arguments: &Arguments,
    scenario: &Scenario,
    effect: Option<Quantity>,
    curves: Vec<(Given, GivenCurve)>,
) -> Result<Vec<Scored>> {
    let (centring, compare) = (arguments.center.unwrap_or(Centring::None), arguments.compare);
    let scored = |(given, curve): (Given, GivenCurve)| {
        let known = effect.or_else(|| score::estimand_of(&given.method).map(score::truth_of));
        let effect = known.ok_or_else(|| {
            let method = match given.method.as_str() {
                "" => String::new(),
                method => format!(" by `{method}`"),
            };
            Error::Argument(format!("--effect: needed, to say what the curves{method} estimate"))
        })?;
        let scores =
            score::against_truth(scenario, effect, given.feature, &curve, compare, centring)?;
        let points = match arguments.out {
            Some(_) => {
                score::beside_truth(scenario, effect, given.feature, &curve, compare, centring)?
            }
            None => Vec::new(),
        };
        Ok(Scored { given, effect: effect.name().to_owned(), scores, points })
    };
    curves.into_iter().map(scored).collect()
}
