//! The one way from flags to an answer: options, estimates, a figure, what is to be known, and the print.

use std::io::Write;

use fe_core::effect::BinningRecord;
use fe_core::estimator::each_feature;
use fe_core::{Effect, Settings};

use super::estimated::Estimated;
use super::evaluated::Evaluated;
use super::limits::limits_of_features;
use super::options::{EstimationArguments, is_regional, settings};
use super::regional::Regional;
use super::subject::Subject;
use super::{indices, pairs};
use crate::error::{Error, Result};
use crate::system::say::say;

/// Estimates and prints.
pub(in crate::cli) fn execute(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if !arguments.indices.is_empty() {
        return indices::execute(arguments, subject, out);
    }
    if let [_, _, ..] = arguments.estimators() {
        return several(arguments, subject, out);
    }
    if !subject.pairs.is_empty() {
        return pairs::execute(arguments, subject, out);
    }
    arguments.check_places_of_one()?;
    check_room(subject)?;
    if is_regional(arguments.estimator()) {
        answer::<Regional>(arguments, subject, out)
    } else {
        answer::<Evaluated>(arguments, subject, out)
    }
}

/// Refuses more features than the picture has room for, before anything is estimated.
fn check_room(subject: &Subject<'_>) -> Result<()> {
    subject.picture.map_or(Ok(()), |picture| picture.check_room(subject.features.len()))
}

fn answer<T: Estimated>(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let all = answers::<T>(arguments, subject)?;
    present(&all, arguments, subject, out)
}

/// Several estimates of the same effects, one below the other.
fn several(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if !subject.pairs.is_empty() {
        arguments.check_one("an effect of a pair of features")?;
    }
    if arguments.estimators().iter().any(|name| is_regional(name)) {
        arguments.check_one("a tree of regions")?;
    }
    check_room(subject)?;
    let mut all = Vec::new();
    for one in arguments.each()? {
        all.extend(answers::<Evaluated>(&one, subject)?);
    }
    let place = |one: &Evaluated| {
        let feature = subject.features.iter().position(|feature| *feature == one.effect.feature);
        (feature, one.effect.output)
    };
    all.sort_by_key(place);
    present(&all, arguments, subject, out)
}

/// The answers of one estimator.
fn answers<T: Estimated>(arguments: &EstimationArguments, subject: &Subject<'_>) -> Result<Vec<T>> {
    T::check(arguments)?;
    let mut all = Vec::new();
    let found = estimates::<T>(arguments, subject)?;
    let none = found.iter().all(|(_, answers)| answers.is_err());
    for (settings, answers) in found {
        let answers = match answers {
            Err(error) if none => return Err(error.into()),
            Err(error) => {
                say!("left out: {error}");
                continue;
            }
            Ok(answers) => answers,
        };
        for answer in answers {
            all.push(T::of(answer, &settings, arguments, subject)?);
        }
    }
    Ok(all)
}

/// Draws, says and prints.
fn present<T: Estimated>(
    all: &[T],
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if let Some(picture) = subject.picture {
        T::draw(all, arguments, subject, picture)?;
    }
    say_cautions(all.iter().flat_map(T::effects));
    T::print(all, arguments, subject, out)
}

/// The answers for a feature, or the reason why this one has no effect.
type Answers<T> = std::result::Result<Vec<T>, fe_core::Error>;

/// The answers for each feature, with the options that gave them.
fn estimates<T: Estimated>(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Vec<(Settings, Answers<T::Answer>)>> {
    let background_rows = arguments.background_of_file(subject.data)?;
    let limits = limits_of_features(arguments, subject)?;
    let estimate = |&feature: &usize| {
        let settings = settings(arguments, (subject.scenario, subject.data), feature, &limits)?;
        let settings = Settings { background_rows: background_rows.clone(), ..settings };
        match T::estimate(arguments.estimator(), &settings, subject, feature) {
            // It has no effect, and others may.
            Err(Error::Core(
                error @ (fe_core::Error::ConstantFeature { .. } | fe_core::Error::NoValues(_)),
            )) => Ok((settings, Err(error))),
            answers => Ok::<_, Error>((settings, Ok(answers?))),
        }
    };
    each_feature(subject.features, estimate)
}

/// The effects of each feature on all rows, one for each output of the model.
pub(in crate::cli) fn effects(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Vec<Vec<Effect>>> {
    let all = estimates::<Evaluated>(arguments, subject)?.into_iter().map(|(_, effects)| effects);
    let all: Vec<Vec<Effect>> = all.collect::<std::result::Result<_, fe_core::Error>>()?;
    say_cautions(all.iter().flatten());
    Ok(all)
}

/// Says on standard error which effects have many bins without instances, a band without width, or rows left out.
fn say_cautions<'a>(effects: impl Iterator<Item = &'a Effect>) {
    for effect in effects {
        if let Some(caution) = effect.record.binning.as_ref().and_then(BinningRecord::caution) {
            say!("{}: {caution}; take fewer by --bins", effect.name);
        }
        if let Some(caution) = effect.confidence.as_ref().and_then(|band| band.caution()) {
            say!("{}: {caution}", effect.name);
        }
        if let Some(rows) = effect.record.rows_without_value {
            say!("{}: {rows} rows without a value of it are left out of its effect", effect.name);
        }
    }
}
