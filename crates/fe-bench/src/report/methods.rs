//! Methods of a study in the order of ADEMP: aims, data-generating mechanisms, estimands, methods and performance measures
//! (Morris, White and Crowther 2019).

use std::borrow::Cow;

use fe_core::estimator::Estimand;
use fe_core::indices::Index;
use fe_core::{estimator, regional};
use fe_models::Split;
use maud::{Markup, html};

use crate::data::scenarios;
use crate::record::manifest::{Manifest, NamedStudy};
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, precision};
use crate::score::comparison::Comparison;
use crate::score::{Metric, estimand_of, truth_of};
use crate::study::Study;
use crate::study::labels::Labels;
use crate::study::models::Fitting;
use crate::study::replicates::Replicates;

/// The methods of a study, from what it says and from the keys of its values.
pub(super) fn section(named: &NamedStudy, values: &[&SummaryRow], manifest: &Manifest) -> Markup {
    // One that this program would not run any more is told from its keys alone.
    let study = Study::new(named.name.clone(), named.study.clone()).ok();
    let study = study.as_ref();
    html! {
        details.methods {
            summary { "Methods (ADEMP)" }
            dl {
                dt { "Aims" } dd { (named.study.about.trim()) }
                dt { "Data-generating mechanisms" } dd { (mechanisms(named, values, (manifest, study))) }
                dt { "Estimands" } dd { (estimands(named, values, study)) }
                dt { "Methods" } dd { (methods(named, values, study)) }
                dt { "Performance measures" } dd { (measures(named, values, study)) }
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

/// A word of keys, behind its label if it has one.
fn called<'a>(labels: &'a Labels, word: &'a str) -> Cow<'a, str> {
    match labels.given(word) {
        Some(label) if label != word => Cow::Owned(format!("{label} ({word})")),
        _ => Cow::Borrowed(word),
    }
}

/// The models that are fitted to the datasets of a study, by its groups.
fn fittings(study: Option<&Study>) -> impl Iterator<Item = &Fitting> {
    study.into_iter().flat_map(|study| &study.groups).filter_map(|group| group.fitting.as_ref())
}

/// Texts without those that were there before.
fn once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    texts.for_each(|text| {
        if !found.contains(&text) {
            found.push(text);
        }
    });
    found
}

fn mechanisms(
    named: &NamedStudy,
    values: &[&SummaryRow],
    (manifest, study): (&Manifest, Option<&Study>),
) -> Markup {
    let labels = &named.study.labels;
    let texts = scenarios::recorded(manifest.studies.iter().map(|of| &of.study.problems));
    let laws = distinct(values, [Column::Scenario, Column::Parameters]);
    let sizes = distinct(values, [Column::Rows]).concat();
    let datasets = values.iter().map(|row| row.summary.count + row.failed + row.degenerate);
    let (least, most) =
        datasets.fold((usize::MAX, 0), |(least, most), of| (least.min(of), most.max(of)));
    let datasets = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let untils = untils(study);
    let imprecise = study.map_or(0, |study| precision::imprecise(study, values).len());
    let targets = distinct(values, [Column::Snr]).concat();
    let targets: Vec<String> = targets.into_iter().filter_map(target).collect();
    let is_drawn = sizes.iter().any(|rows| !rows.is_empty());
    html! {
        ul { @for [id, parameters] in laws {
            @let known = scenarios::of_record(id, parameters, &texts);
            li {
                (called(labels, id)) @if !parameters.is_empty() { " (" (parameters.replace(';', ", ")) ")" }
                @if let Some(known) = known {
                    ": " (known.info().about) " f = " (known.info().formula) "; law: " (known.info().law)
                }
            }
        } }
        @if is_drawn { p { "Numbers of rows: " (sizes.join(", ")) "." } }
        @if !targets.is_empty() { p { "Models are fitted to " (targets.join("; ")) "." } }
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

/// The target that models are fitted to, by its ratio of signal to noise in keys.
fn target(ratio: &str) -> Option<String> {
    match ratio {
        "" => None,
        "0" => Some("f(x) without noise".to_owned()),
        _ => Some(format!("f(x) with normal noise, sd f(X) = {ratio} sd of the noise")),
    }
}

/// Rules for the number of datasets, of blocks where a precision says it.
fn untils(study: Option<&Study>) -> Vec<String> {
    let rule = |replicates: Replicates| {
        let Replicates { least, most, until } = replicates;
        let until = until?;
        let batch = until.batch;
        Some(format!(
            "from {least}, in batches of {batch} until every mean {until} or less, at most {most}"
        ))
    };
    let groups = study.into_iter().flat_map(|study| &study.groups);
    once(groups.filter_map(|group| rule(group.replicates)))
}

/// The subject of several estimates: an effect of one or of two features, or an index.
#[derive(PartialEq)]
enum Subject {
    Effect(Estimand),
    EffectOfTwo(Estimand),
    Index(Index),
}

impl Subject {
    fn of(estimator: &str, feature2: &str) -> Option<Self> {
        if let Ok(index) = estimator.parse() {
            return Some(Self::Index(index));
        }
        let estimand = estimand_of(estimator)?;
        Some(if feature2.is_empty() { Self::Effect(estimand) } else { Self::EffectOfTwo(estimand) })
    }
}

fn estimands(named: &NamedStudy, values: &[&SummaryRow], study: Option<&Study>) -> Markup {
    let labels = &named.study.labels;
    let features = distinct(values, [Column::Feature, Column::Feature2]);
    let subject = |[one, two]: [&str; 2]| match two {
        "" => called(labels, one).into_owned(),
        _ => format!("{one}:{two}"),
    };
    let features = once(features.into_iter().filter(|of| !of[0].is_empty()).map(subject));
    let mut found: Vec<(Subject, Vec<Cow<'_, str>>)> = Vec::new();
    for [name, feature2] in distinct(values, [Column::Estimator, Column::Feature2]) {
        let (Some(subject), name) = (Subject::of(name, feature2), called(labels, name)) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == subject) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => found.push((subject, vec![name])),
        }
    }
    let is_centred = named.study.block.iter().all(|block| block.compare == Comparison::Centred)
        && !found.iter().all(|(subject, _)| matches!(subject, Subject::Index(_)));
    let compared = compared(study);
    html! {
        ul { @for (subject, names) in &found {
            li {
                (names.join(", ")) ": "
                @match subject {
                    Subject::Effect(of) => { (meaning(*of)) " (the truth " code { (truth_of(*of).name()) } ")" }
                    Subject::EffectOfTwo(of) => { (meaning_of_two(*of)) }
                    Subject::Index(index) => { (index.about()) }
                }
            }
        } }
        p {
            @if !features.is_empty() { "Of " (features.join(", ")) ". " }
            "Truths are exact, each with a bound on its error."
            @if is_centred { " Both curves of a comparison are centred alike, on the points where they are compared." }
        }
        @if !compared.is_empty() {
            p { "What is compared:" }
            ul { @for text in compared { li { (text) } } }
        }
    }
}

/// The pairs of effects that are compared where models are fitted, in words.
fn compared(study: Option<&Study>) -> Vec<String> {
    let pairs = |of: &Fitting| -> Vec<String> {
        let of_models = of.models.iter();
        let of_models =
            of_models.flat_map(|model| model.pairs.iter().map(|p| p.about(&model.label)));
        of.pairs.iter().map(|pair| pair.about("")).chain(of_models).collect()
    };
    once(fittings(study).flat_map(pairs))
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

/// An estimand of two features in words.
fn meaning_of_two(estimand: Estimand) -> String {
    match estimand {
        Estimand::AccumulatedLocalEffects | Estimand::AccumulatedDerivatives => {
            "the second-order accumulated effect, which leaves out the effects of either feature"
                .to_owned()
        }
        other => format!("{}, x being both features", meaning(other)),
    }
}

fn methods(named: &NamedStudy, values: &[&SummaryRow], study: Option<&Study>) -> Markup {
    let labels = &named.study.labels;
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
                (called(labels, name))
                @if let Some(about) = about(name) { ": " (about) }
                @if !preset.is_empty() { "; preset " (preset) }
                @if !binning.is_empty() { "; binning " (called(labels, binning)) }
                @let bins = bins(of);
                @if !bins.is_empty() { ", K = " (bins.join(", ")) }
                @if !empty.is_empty() { "; bins without instances: " (called(labels, empty)) }
                @if !options.is_empty() { "; " (options.replace(';', ", ")) }
            }
        } }
        @let models = models(study);
        @if !models.is_empty() {
            p { "Models that are fitted:" }
            ul { @for text in models { li { (text) } } }
        }
        @let rows = rows_of_models(study);
        @if !rows.is_empty() { p { "Their rows: " (rows.join("; ")) "." } }
    }
}

/// The models that are fitted, each in a line.
fn models(study: Option<&Study>) -> Vec<String> {
    let models = fittings(study).flat_map(|fitting| &fitting.models);
    once(models.map(|model| {
        let learner = &model.learner;
        let about = fe_models::info(learner.name()).map_or("", |info| info.about);
        let options = learner.options().replace(';', ", ");
        let options = if options.is_empty() { options } else { format!("; {options}") };
        format!("{}: {about}{options}", model.label)
    }))
}

/// The rows on which models are fitted and explained.
fn rows_of_models(study: Option<&Study>) -> Vec<String> {
    let splits = |fitting: &Fitting| -> Vec<String> {
        let splits = fitting.splits.iter().map(|(name, split)| match split {
            Split::Train => format!("{name}: fitted to all rows, and explained on them"),
            Split::Validation(share) => {
                format!("{name}: fitted without a random {share} of the rows, and explained on these")
            }
            Split::CrossValidation(folds) => format!(
                "{name}: {folds} models, each fitted without one fold and explained on it; the mean of their effects"
            ),
        });
        let fresh = (fitting.fresh > 0)
            .then(|| format!("each model is explained on {} further datasets", fitting.fresh));
        let expected = (fitting.learners() > 0).then(|| {
            format!(
                "the expected effect of a learner is the mean over {} models of it, each fitted to a further dataset and \
                 explained on another",
                fitting.expected
            )
        });
        splits.chain(fresh).chain(expected).collect()
    };
    once(fittings(study).filter(|fitting| !fitting.models.is_empty()).flat_map(splits))
}

/// An estimator in a line, if it is one of this program.
fn about(name: &str) -> Option<&'static str> {
    let own = estimator::info(name).map(|info| info.about).ok();
    let regional = || regional::info(name).map(|info| info.about).ok();
    own.or_else(regional).or_else(|| name.parse().map(Index::about).ok())
}

fn measures(named: &NamedStudy, values: &[&SummaryRow], study: Option<&Study>) -> Markup {
    let labels = &named.study.labels;
    html! {
        ul { @for [name] in distinct(values, [Column::Metric]) {
            @let about = name.parse::<Metric>().map_or("", Metric::about);
            li { (called(labels, name)) @if !about.is_empty() { ": " (about) } }
        } }
        p {
            "Each is a mean over datasets with its Monte Carlo standard error; differences of methods are taken dataset by "
            "dataset."
            @if fittings(study).next().is_some() {
                " Where two effects are compared, each measures the first from the second in place of the truth."
            }
        }
    }
}
