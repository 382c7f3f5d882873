//! Figures of the curves and bins that a study keeps: one dataset's, beside the truth and those of the
//! other datasets.

use std::collections::BTreeMap;
use std::path::Path;

use fe_core::effect::Bands;
use fe_core::estimator::Estimand;
use fe_core::numeric::partition::{Closed, Partition};
use fe_core::settings::BandKind;

use super::effect_on;
use super::effects::{
    ESTIMATE, POINTWISE, SIMULTANEOUS, SPREAD, TRUTH, errors_about_zero, limits_of_bins, target_of,
};
use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::levels::{self, LevelsOfKey};
use super::style::{BLACK, GREY, MarkStyle};
use super::sweep::{FIGURE, Named, PANEL, fields, file_name, names, pieces, series};
use crate::data::scenarios;
use crate::error::Result;
use crate::record::kept_curves::{self, KeptBin, KeptEstimate, KeptPoint};
use crate::record::manifest::Manifest;
use crate::record::summary::grouped;
use crate::record::{Column, Key};
use crate::score::estimand_of;
use crate::study::field::Field;
use crate::study::labels::Labels;

/// Up to so many other datasets are drawn, and so many estimates.
const MOST_OTHERS: usize = 20;
const MOST_CELLS: usize = 12;

const OTHERS: MarkStyle = MarkStyle::line(GREY, 0.7).faint(0.4);
const TRUE_SPREAD: MarkStyle = MarkStyle::line(BLACK, 1.0).dashed(2, 3);

/// Name of these figures in files and flags.
pub const NAME: &str = "effect";

/// Reads what these figures show of the estimates that `chosen` lets through.
///
/// # Errors
/// As [`kept_curves::read`].
pub fn read(folder: &Path, chosen: &dyn Fn(&Key<&str>) -> bool) -> Result<Vec<KeptEstimate>> {
    kept_curves::read(folder, 1 + MOST_OTHERS, chosen)
}

/// A figure for each study, scenario, parameters, size and feature, with a cell for each estimate.
///
/// What is drawn is the first dataset that is there; others are thin lines.
#[must_use]
pub fn figures(kept: &[KeptEstimate], labels: &Labels, manifest: &Manifest) -> Vec<Named> {
    let labels = &labels.for_figures();
    let texts = scenarios::recorded(manifest.studies.iter().map(|named| &named.study.problems));
    let with_curves = kept.iter().filter(|of| !(of.curve.is_empty() && of.bins.is_empty()));
    by_subject(NAME, with_curves.map(|kept| (&kept.key, kept)), &|key, estimates| {
        Some(figure(key, estimates, labels, &texts))
    })
}

/// Parts that were kept of estimates, by the words that tell these apart.
pub(super) type Estimates<T> = [(Vec<String>, Vec<T>)];

/// A figure for each study, scenario, parameters, size and feature, if there is one, of what was kept of estimates; `figure` is
/// asked with the first of their keys.
pub(super) fn by_subject<'a, T: Copy>(
    name: &str,
    kept: impl Iterator<Item = (&'a Key, T)>,
    figure: &dyn Fn(&Key, &Estimates<T>) -> Option<Figure>,
) -> Vec<Named> {
    let of_values = |column: &Column| *column != Column::Metric;
    let columns: Vec<Column> = FIGURE.into_iter().filter(of_values).chain(PANEL).collect();
    let pick = |key: &Key, fields: &[Field]| -> Vec<String> {
        fields.iter().map(|field| field.of(key).to_owned()).collect()
    };
    let groups = grouped(kept.map(|of| (pick(of.0, &fields(&columns)), of)));
    let all: Vec<&Vec<String>> = groups.iter().map(|(key, _)| key).collect();
    let figures = groups.iter().filter_map(|(key, own)| {
        let first = own[0].0;
        let estimates = grouped(own.iter().map(|&(key, of)| (pick(key, &series()), of)));
        Some(Named {
            name: file_name(name, &columns, key, &all),
            study: first.study.clone(),
            figure: figure(first, &estimates)?,
        })
    });
    super::sweep::distinct(figures.collect())
}

/// A figure of estimates by what tells them apart; `key` is that of one of them.
fn figure(
    key: &Key,
    estimates: &Estimates<&KeptEstimate>,
    labels: &Labels,
    texts: &BTreeMap<String, String>,
) -> Figure {
    let levels = levels::of_key(key, texts);
    let keys: Vec<Vec<String>> = estimates.iter().map(|(key, _)| key.clone()).collect();
    let names = names(&keys, &series(), labels);
    let cells = estimates.iter().take(MOST_CELLS);
    let mut cells: Vec<Vec<Panel>> =
        cells.map(|(key, kept)| cell(names[key].clone(), kept, levels.as_ref())).collect();
    let feature = labels.of_own(&key.feature);
    cells.iter_mut().flatten().for_each(|panel| panel.x.label = feature.to_owned());
    let mut title = format!("{}, {}", labels.of_scenario(&key.scenario), feature);
    let details = pieces(&fields(&PANEL), &PANEL.map(|column| key[column].clone()), labels);
    let first = estimates.first().map_or("", |(_, kept)| kept[0].replicate());
    for detail in [details, format!("dataset {first}")] {
        if !detail.is_empty() {
            title.push_str(&format!("; {detail}"));
        }
    }
    if estimates.len() > MOST_CELLS {
        title.push_str(&format!("; the first {MOST_CELLS} of {} estimates", estimates.len()));
    }
    let mut figure = Figure { title, cells, legend_per_cell: false };
    figure.share_scales();
    figure
}

fn cell(title: String, kept: &[&KeptEstimate], levels: Option<&LevelsOfKey>) -> Vec<Panel> {
    let one = kept[0];
    let estimand = estimand_of(&one.key.estimator);
    let mut panels = Vec::new();
    if !one.curve.is_empty() {
        panels.push(match levels {
            Some(levels) => levels_panel(levels, kept, estimand),
            None => curve_panel(kept, estimand),
        });
    }
    if levels.is_none() {
        panels.extend(error_panel(one));
    }
    if levels.is_none() && !one.bins.is_empty() && estimand != Some(Estimand::MarginalPlot) {
        panels.push(bins_panel(one));
    }
    if let Some(first) = panels.first_mut() {
        let is_band = |point: &KeptPoint| point.pointwise.0 <= point.pointwise.1;
        let has_band = one.curve.iter().any(is_band);
        let kind = one.key.options.split(';').any(|option| option == "band=refit");
        let target = target_of(kind.then_some(BandKind::Refit));
        first.title = if has_band { format!("{title} ({target})") } else { title };
    }
    panels
}

fn curve_panel(kept: &[&KeptEstimate], estimand: Option<Estimand>) -> Panel {
    let one = kept[0];
    let line = |curve: &[KeptPoint], of: fn(&KeptPoint) -> f64| {
        Mark::Line(curve.iter().map(|point| (point.x, of(point))).collect())
    };
    let others = kept.iter().skip(1).take(MOST_OTHERS);
    let mut layers: Vec<Layer> = others
        .map(|other| {
            Layer::named("estimates of other datasets", OTHERS, line(&other.curve, |p| p.effect))
        })
        .collect();
    match confidence(&one.curve, &|_| 0.0) {
        none if none.is_empty() => layers.push(spread(one, estimand)),
        // Two kinds of bands in one panel would be taken for each other.
        bands => layers.extend(bands),
    }
    if !one.bins.is_empty() {
        layers.push(limits_of_bins(limits(&one.bins)));
    }
    layers.push(Layer::named("estimate", ESTIMATE, line(&one.curve, |p| p.effect)));
    layers.push(Layer::named("truth", TRUTH, line(&one.curve, |p| p.truth)));
    Panel {
        x: Scale::linear(one.key.feature.as_str()),
        y: Scale::linear(label(one, estimand)),
        layers,
        ..Panel::default()
    }
}

/// The words at the axis of an effect.
fn label(one: &KeptEstimate, estimand: Option<Estimand>) -> String {
    match (estimand, one.key.centring.as_str()) {
        (Some(Estimand::DerivativePartialDependence), _) => "mean derivative of f".to_owned(),
        (_, centring) => effect_on("f", centring),
    }
}

fn levels_panel(levels: &LevelsOfKey, kept: &[&KeptEstimate], estimand: Option<Estimand>) -> Panel {
    let one = kept[0];
    let others = kept.iter().skip(1).take(MOST_OTHERS).map(|other| &other.curve[..]);
    let spread = match estimand {
        Some(Estimand::AccumulatedLocalEffects | Estimand::AccumulatedDerivatives) => {
            "± σ of the changes from the level before"
        }
        _ => "± σ of the instances",
    };
    let others: Vec<_> = others.collect();
    Panel {
        x: levels::axis(&one.key.feature, levels),
        y: Scale::linear(label(one, estimand)),
        ..levels::kept_panel(levels, &one.curve, &others, Some(spread))
    }
}

/// The error of an estimate about zero, with its bands less the truth; none without both.
fn error_panel(one: &KeptEstimate) -> Option<Panel> {
    let known: Vec<KeptPoint> =
        one.curve.iter().copied().filter(|point| point.truth.is_finite()).collect();
    let bands = confidence(&known, &|point| point.truth);
    let x: Vec<f64> = known.iter().map(|point| point.x).collect();
    let errors = known.iter().map(|point| (point.x, point.effect - point.truth)).collect();
    let axis = Scale::linear(one.key.feature.as_str());
    (!bands.is_empty()).then(|| errors_about_zero(axis, &x, bands, Mark::Line(errors)))
}

/// The confidence bands that were kept, less something, the wider one first.
fn confidence(curve: &[KeptPoint], less: &dyn Fn(&KeptPoint) -> f64) -> Vec<Layer> {
    let layer = |name: &str, look: MarkStyle, limits: fn(&KeptPoint) -> (f64, f64)| {
        let area = curve.iter().map(|point| {
            let ((lower, upper), less) = (limits(point), less(point));
            (point.x, lower - less, upper - less)
        });
        let area: Vec<_> = area.filter(|(_, lower, upper)| lower <= upper).collect();
        (!area.is_empty()).then(|| Layer::named(name, look, Mark::Band(area)))
    };
    let simultaneous = layer("confidence, whole curve", SIMULTANEOUS, |point| point.simultaneous);
    let pointwise = layer("confidence, pointwise", POINTWISE, |point| point.pointwise);
    simultaneous.into_iter().chain(pointwise).collect()
}

/// Distance of instances from the curve, as in figures of single effects.
fn spread(one: &KeptEstimate, estimand: Option<Estimand>) -> Layer {
    let accumulated = match estimand {
        Some(Estimand::AccumulatedDerivatives | Estimand::AccumulatedLocalEffects) => bands(one),
        _ => None,
    };
    let half = |point: &KeptPoint| match &accumulated {
        Some(bands) => bands.std_at(point.x).unwrap_or(f64::NAN),
        None => point.heterogeneity.sqrt(),
    };
    let is_variance_of_slopes = matches!(
        estimand,
        None | Some(Estimand::AccumulatedDerivatives | Estimand::AccumulatedLocalEffects)
    );
    let ends =
        |point: &KeptPoint| (point.x, point.effect - half(point), point.effect + half(point));
    let band = if accumulated.is_none() && is_variance_of_slopes {
        Vec::new()
    } else {
        one.curve.iter().map(ends).collect()
    };
    let name =
        if accumulated.is_some() { "± STD (RHALE eq. 16)" } else { "± σ of the instances" };
    Layer {
        name: (!band.is_empty()).then(|| name.to_owned()),
        look: SPREAD,
        mark: Mark::Band(band),
    }
}

/// The accumulated spread of the bins; none where a variance is undefined.
fn bands(one: &KeptEstimate) -> Option<Bands> {
    let variances: Vec<f64> = one.bins.iter().map(|bin| bin.variance).collect();
    let known = !variances.is_empty() && variances.iter().all(|variance| variance.is_finite());
    let partition = Partition::new(limits(&one.bins), Closed::Left).ok()?;
    known.then(|| Bands::of_bins(&partition, &variances))
}

fn limits(bins: &[KeptBin]) -> Vec<f64> {
    bins.iter().map(|bin| bin.ends.0).chain(bins.last().map(|bin| bin.ends.1)).collect()
}

fn bins_panel(one: &KeptEstimate) -> Panel {
    let steps = |of: &dyn Fn(&KeptBin) -> f64| {
        let step = |bin: &KeptBin| {
            let y = of(bin);
            [(bin.ends.0, y), (bin.ends.1, y), (f64::NAN, f64::NAN)]
        };
        Mark::Line(one.bins.iter().flat_map(step).collect())
    };
    let band = one.bins.iter().flat_map(|bin| {
        let sd = bin.variance.sqrt();
        let at = |x: f64| (x, bin.effect - sd, bin.effect + sd);
        [at(bin.ends.0), at(bin.ends.1), (f64::NAN, f64::NAN, f64::NAN)]
    });
    let (estimated, spread) = ("bin effects ± σ", "true bin effects ± σ");
    let layers = vec![
        Layer::named(estimated, SPREAD.faint(0.28), Mark::Band(band.collect())),
        Layer::named(estimated, ESTIMATE, steps(&|bin| bin.effect)),
        Layer::named(spread, TRUE_SPREAD, steps(&|bin| bin.true_effect - bin.true_variance.sqrt())),
        Layer::named(spread, TRUE_SPREAD, steps(&|bin| bin.true_effect + bin.true_variance.sqrt())),
        Layer::named(spread, TRUTH, steps(&|bin| bin.true_effect)),
    ];
    Panel {
        x: Scale::linear(one.key.feature.as_str()),
        y: Scale::linear("bin effect (slope)"),
        layers,
        ..Panel::default()
    }
}
