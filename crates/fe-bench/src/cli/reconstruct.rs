//! `fe-bench reconstruct`.

use std::io::Write;

use clap::Args;
use fe_core::Effect;
use fe_core::model::Rows;
use fe_core::reconstruction::AdditiveReconstruction;

use super::effect;
use super::effect::estimation;
use super::effect::options::is_regional;
use super::effect::subject::Subject;
use crate::error::{Error, Result};
use crate::output::{Entry, OutputTable};
use crate::plot::figure::{Figure, Layer, Mark, Panel, Scale};
use crate::plot::style::{BLACK, BLUE, MarkStyle};
use crate::system::say::say;

/// Puts a function together again from the effects of its features: f(x) ≈ E f + Σ effect_s(x_s).
///
/// Takes what `effect` takes, and prints for each output the mean of f over the rows, the mean squared
/// error of the sum and its R², the share of the variance of f that it explains. For accumulated effects
/// this is ALE's decomposition of additive functions (R² 1 but for what lies between limits of bins);
/// what is missing are interactions. --plot draws the sum against f.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Arguments {
    #[command(flatten)]
    effect: effect::Arguments,
}

/// Options that say something about an effect that a sum has no use for.
const UNUSED: [&str; 13] = [
    "band",
    "level",
    "resamples",
    "band_seed",
    "rebin",
    "refits",
    "resampling",
    "correction",
    "flat_permutations",
    "interval",
    "importance",
    "shapley_values",
    "mean_prediction",
];

/// Most rows that are drawn.
const MOST_DRAWN: usize = 2000;

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let estimation = arguments.effect.estimation();
    estimation.check_one("`reconstruct`")?;
    if is_regional(estimation.estimator()) {
        let message = format!(
            "--estimator {}: effects in regions are several for a feature; name one on all rows",
            estimation.estimator()
        );
        return Err(Error::Argument(message));
    }
    if let Some(unused) = estimation.given().into_iter().find(|option| UNUSED.contains(option)) {
        let flag = unused.replace('_', "-");
        return Err(Error::Argument(format!("--{flag}: `reconstruct` has no use for it")));
    }
    if !estimation.indices.is_empty() {
        let message = "--indices: `reconstruct` is of effects; additive.r2.pd and additive.r2.ale are indices";
        return Err(Error::Argument(message.to_owned()));
    }
    arguments.effect.explain(&mut |subject| {
        subject.check_single("a sum of effects")?;
        let sums = sums(arguments, subject)?;
        if let Some(picture) = subject.picture {
            picture.write(&figure(subject, &sums)?)?;
        }
        let mut sheet = OutputTable::new(&[
            "output",
            "features",
            "mean",
            "mse",
            "r2",
            "rows",
            "rows_outside",
            "model_rows",
        ]);
        for (output, sum) in sums.iter().enumerate() {
            if sum.rows_outside() > 0 {
                let name = subject.output(output);
                say!(
                    "output {}: {} rows lie outside the limits of an effect and are left out",
                    name.exact(),
                    sum.rows_outside()
                );
            }
            sheet.push(vec![
                subject.output(output),
                subject.features.len().into(),
                sum.mean().into(),
                sum.mean_squared_error().into(),
                sum.explained().into(),
                subject.data.len().into(),
                sum.rows_outside().into(),
                Entry::Count(sum.model_rows()),
            ]);
        }
        sheet.write(estimation.format(), out)
    })
}

/// A sum for each output of the model.
fn sums(arguments: &Arguments, subject: &Subject<'_>) -> Result<Vec<AdditiveReconstruction>> {
    let effects = estimation::effects(arguments.effect.estimation(), subject)?;
    let of_output = |output: usize| {
        let chosen = effects.iter().flatten().filter(|effect| effect.output == output);
        let chosen: Vec<Effect> = chosen.cloned().collect();
        Ok(AdditiveReconstruction::new(subject.data, subject.model, &chosen)?)
    };
    (0..subject.model.outputs()).map(of_output).collect()
}

/// The sum over f, at the first rows.
fn figure(subject: &Subject<'_>, sums: &[AdditiveReconstruction]) -> Result<Figure> {
    let (data, outputs) = (subject.data, sums.len());
    let rows = data.len().min(MOST_DRAWN);
    let mut values = vec![0.0; rows * outputs];
    let asked = subject.model.predict(&Rows::new(&data.columns(0..rows), rows), &mut values);
    asked.map_err(fe_core::Error::from)?;
    let mut cells = Vec::new();
    for ((output, sum), values) in sums.iter().enumerate().zip(values.chunks(rows)) {
        let pair =
            |(row, &value): (usize, &f64)| Some((value, sum.at(&data.row(row).to_vec()).ok()?));
        let dots: Vec<(f64, f64)> = values.iter().enumerate().filter_map(pair).collect();
        let ends = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &value| {
            (lo.min(value), hi.max(value))
        });
        let diagonal = Mark::Line(vec![(ends.0, ends.0), (ends.1, ends.1)]);
        let name = if outputs > 1 { subject.output(output).exact() } else { String::new() };
        let r2 = sum.explained().map(|r2| format!("R² = {r2:.4}")).unwrap_or_default();
        let layers = vec![
            Layer::named("the same", MarkStyle::line(BLACK, 1.2).dashed(6, 4), diagonal),
            Layer::named("a row", MarkStyle::line(BLUE, 1.0).faint(0.6), Mark::Cloud(dots)),
        ];
        let title = [name, r2].join(" ").trim().to_owned();
        let (x, y) = (Scale::linear("f"), Scale::linear("E f + sum of effects"));
        cells.push(vec![Panel { title, x, y, layers, ..Panel::default() }]);
    }
    let of = subject.pictured().title;
    let title = if rows < data.len() { format!("{of}: the first {rows} rows") } else { of };
    Ok(Figure { title, cells, legend_per_cell: false })
}
