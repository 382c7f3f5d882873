//! Methods of a study in the order of ADEMP: aims, data-generating mechanisms, estimands, methods and performance measures
//! (Morris, White and Crowther 2019).

use fe_core::estimator::Estimand;
use fe_core::{estimator, regional};
use maud::{Markup, html};

use crate::data::scenarios;
use crate::record::manifest::{Manifest, NamedStudy};
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, precision};
use crate::score::comparison::Comparison;
use crate::score::{Metric, estimand_of, truth_of};
use crate::study::Study;
use crate::study::replicates::Replicates;

/// The methods of a study, from what it says and from the keys of its values.
pub(super) fn section(named: &NamedStudy, values: &[&SummaryRow], manifest: &Manifest) -> Markup {
    html! {
        details.methods {
            summary { "Methods (ADEMP)" }
            dl {
                dt { "Aims" } dd { (named.study.about.trim()) }
                dt { "Data-generating mechanisms" } dd { (mechanisms(named, values, manifest)) }
                dt { "Estimands" } dd { (estimands(values, named)) }
                dt { "Methods" } dd { (methods(values)) }
                dt { "Performance measures" } dd { (measures(values)) }
            }
        }
    }
}

/// The different values of some columns of keys, in the order in which they appear.
fn distinct<'a, const N: usize>(
    values: &[&'a SummaryRow],
    columns: [Column; N],
) -> Vec<[&'a str; N]> {
    let mut found: Vec<[&str; N]> = Vec::new();
    for row in values {
        let of = columns.map(|column| row.key[column].as_str());
        if !found.contains(&of) {
            found.push(of);
        }
    }
    found
}

fn mechanisms(named: &NamedStudy, values: &[&SummaryRow], manifest: &Manifest) -> Markup {
    let texts = scenarios::recorded(manifest.studies.iter().map(|of| &of.study.problems));
    let laws = distinct(values, [Column::Scenario, Column::Parameters]);
    let sizes = distinct(values, [Column::Rows]).concat();
    let datasets = values.iter().map(|row| row.summary.count + row.failed + row.degenerate);
    let (least, most) =
        datasets.fold((usize::MAX, 0), |(least, most), of| (least.min(of), most.max(of)));
    let datasets = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let untils = untils(named);
    let imprecise = imprecise(named, values);
    let is_drawn = sizes.iter().any(|rows| !rows.is_empty());
    html! {
        ul { @for [id, parameters] in laws {
            @let known = scenarios::of_record(id, parameters, &texts);
            li {
                (id) @if !parameters.is_empty() { " (" (parameters.replace(';', ", ")) ")" }
                @if let Some(known) = known {
                    ": " (known.info().about) " f = " (known.info().formula) "; law: " (known.info().law)
                }
            }
        } }
        @if is_drawn { p { "Numbers of rows: " (sizes.join(", ")) "." } }
        p {
            "Independent datasets of each combination: " (datasets) @if !untils.is_empty() { " (" (untils.join("; ")) ")" }
            ". They are drawn from streams addressed by the master seed " (manifest.seed)
            ", scenario, parameters, size and number of the dataset, and all methods see the same."
        }
        @if imprecise > 0 {
            p { strong {
                (imprecise) " means did not become as precise: they have a larger Monte Carlo standard error on the most "
                "datasets that the study allows."
            } }
        }
    }
}

/// Rules for the number of datasets, of blocks where a precision says it.
fn untils(named: &NamedStudy) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(study) = Study::new(named.name.clone(), named.study.clone()) else { return found };
    for group in study.groups {
        let Replicates { least, most, until: Some(until) } = group.replicates else { continue };
        let batch = until.batch;
        let text = format!(
            "from {least}, in batches of {batch} until every mean {until} or less, at most {most}"
        );
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Number of means that did not become as precise as the study asks for.
fn imprecise(named: &NamedStudy, values: &[&SummaryRow]) -> usize {
    let study = Study::new(named.name.clone(), named.study.clone());
    study.map_or(0, |study| precision::imprecise(&study, values).len())
}

fn estimands(values: &[&SummaryRow], named: &NamedStudy) -> Markup {
    let features = distinct(values, [Column::Feature]).concat();
    let mut found: Vec<(Estimand, Vec<&str>)> = Vec::new();
    for [name] in distinct(values, [Column::Estimator]) {
        let Some(estimand) = estimand_of(name) else { continue };
        match found.iter_mut().find(|(known, _)| *known == estimand) {
            Some((_, names)) => names.push(name),
            None => found.push((estimand, vec![name])),
        }
    }
    let is_centred = named.study.block.iter().all(|block| block.compare == Comparison::Centred);
    html! {
        ul { @for (estimand, names) in &found {
            li { (names.join(", ")) ": " (meaning(*estimand)) " (the truth " code { (truth_of(*estimand).name()) } ")" }
        } }
        p {
            "Of the features " (features.join(", ")) ". Truths are exact, each with a bound on its error."
            @if is_centred { " Estimate and truth are centred alike, on the points where they are compared." }
        }
    }
}

/// An estimand in words.
fn meaning(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::PartialDependence => "E f(x, X_c) over the marginal law of the other features",
        Estimand::DerivativePartialDependence => {
            "E ∂f(x, X_c) over the marginal law of the other features"
        }
        Estimand::MarginalPlot => "E[f(X) given x]",
        Estimand::AccumulatedLocalEffects => "the accumulated E[∂f given x], with the jumps of f",
        Estimand::AccumulatedDerivatives => "the accumulated E[∂f given x], without the jumps of f",
        Estimand::ShapDependence => "the mean of the interventional Shapley values given x",
    }
}

fn methods(values: &[&SummaryRow]) -> Markup {
    let columns =
        [Column::Estimator, Column::Preset, Column::Binning, Column::EmptyBins, Column::Options];
    let all = distinct(values, columns);
    let bins = |of: &[&str; 5]| -> Vec<&str> {
        let is_own = |key: &Key| columns.map(|column| key[column].as_str()) == *of;
        let mut found: Vec<&str> = Vec::new();
        for row in values.iter().filter(|row| is_own(&row.key)) {
            if !row.key.bins.is_empty() && !found.contains(&row.key.bins.as_str()) {
                found.push(&row.key.bins);
            }
        }
        found
    };
    html! {
        ul { @for of in &all {
            @let [name, preset, binning, empty, options] = *of;
            li {
                (name)
                @if let Some(about) = about(name) { ": " (about) }
                @if !preset.is_empty() { "; preset " (preset) }
                @if !binning.is_empty() { "; binning " (binning) }
                @let bins = bins(of);
                @if !bins.is_empty() { ", K = " (bins.join(", ")) }
                @if !empty.is_empty() { "; bins without instances: " (empty) }
                @if !options.is_empty() { "; " (options.replace(';', ", ")) }
            }
        } }
    }
}

/// An estimator in a line, if it is one of this program.
fn about(name: &str) -> Option<&'static str> {
    let own = estimator::info(name).map(|info| info.about).ok();
    own.or_else(|| regional::info(name).map(|info| info.about).ok())
}

fn measures(values: &[&SummaryRow]) -> Markup {
    html! {
        ul { @for [name] in distinct(values, [Column::Metric]) {
            @let about = name.parse::<Metric>().map_or("", Metric::about);
            li { (name) @if !about.is_empty() { ": " (about) } }
        } }
        p {
            "Each is a mean over datasets with its Monte Carlo standard error; differences of methods are taken dataset by "
            "dataset."
        }
    }
}
