//! `fe-bench score`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_truth::{Centring, Quantity, Scenario};

use super::arguments::{key_value, word};
use super::truth::centring;
use crate::data::scenarios;
use crate::error::{Error, Result};
use crate::output::{Entry, Format, Sheet};
use crate::score;
use crate::score::comparison::Comparison;
use crate::score::given_curve::{self, GivenCurve};

/// Scores curves that were computed elsewhere against a scenario's exact truth.
///
/// The file has the columns feature, x, effect and, for a band, lower and upper; rows may stand in any
/// order. Points outside the scenario's range are left out and counted. For a band, `coverage` is the
/// share of points whose truth, centred as the curve is, lies within it, and `width` its mean width.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// CSV file with the curves
    #[arg(value_name = "CURVES.csv")]
    curves: PathBuf,
    /// Name of the scenario, as `fe-bench list scenarios` shows them, or a file FILE.toml
    #[arg(long)]
    scenario: String,
    /// A parameter of the scenario; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// What the curves estimate: pd, dpd, mplot, ale, ale-derivative, mu, sigma, h-pdp, h-dpdp, main,
    /// shap or shap-variance
    #[arg(long, value_parser = score::truth)]
    effect: Quantity,
    /// Err_c (both curves centred on the points) or Err (as they are)
    #[arg(long, value_name = "HOW", value_parser = word::<Comparison>, default_value = "Err_c")]
    compare: Comparison,
    /// How the curves are centred, for --compare Err: none, start, integral or data [default: none]
    #[arg(long, value_name = "CENTRING", value_parser = centring)]
    center: Option<Centring>,
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
    let mut sheet = Sheet::new(&[
        "scenario",
        "feature",
        "effect",
        "metric",
        "value",
        "truth_method",
        "truth_abs_error",
        "compared",
        "left_out",
        "status",
    ]);
    for (feature, curve) in given_curve::read(&arguments.curves, &scenario)? {
        for (metric, score) in scores(arguments, &scenario, feature, &curve)? {
            let row: Vec<Entry> = vec![
                scenario.id().into(),
                scenario.feature_name(feature).into(),
                arguments.effect.name().into(),
                metric.into(),
                score.value.into(),
                score.truth_method.into(),
                score.truth_abs_error.into(),
                score.compared.into(),
                score.left_out.into(),
                score.status.into(),
            ];
            sheet.push(row);
        }
    }
    sheet.write(arguments.format, out)
}

fn scores(
    arguments: &Arguments,
    scenario: &Scenario,
    feature: usize,
    curve: &GivenCurve,
) -> Result<Vec<(&'static str, score::Score)>> {
    let centring = arguments.center.unwrap_or(Centring::None);
    let (effect, compare) = (arguments.effect, arguments.compare);
    Ok(score::against_truth(scenario, effect, feature, curve, compare, centring)?)
}
