//! Estimators by name.

use fe_bench::data::levels::with_levels_of;
use fe_bench::error::{listed, suggestion};
use fe_bench::study::AxisSource;
use fe_core::data::LevelNames;
use fe_core::estimator::pair;
use fe_core::indices::{Index, IndexOptions};
use fe_core::model::Model;
use fe_core::refits::{PairRefitting, RefitOptions, Refits, Refitting, has_steps};
use fe_core::settings::BandKind;
use fe_core::{AxisChoice, Dataset, FeatureKind, Settings, estimator, preset};
use ndarray::Array2;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::arguments::Feature;
use crate::arrays;
use crate::callable::Callable;
use crate::calls::{self, Subject};
use crate::effect::Effect;
use crate::errors::Raise;
use crate::jacobian;
use crate::partial::PartialEffect;
use crate::refits::{Fits, Fitting};
use crate::regional::RegionalEffect;
use crate::scenario::Scenario;
use crate::surface::{IndexRow, Surface, index_rows};

/// Arguments of all estimates beside the options of the estimator.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct EstimateRequest<'py> {
    estimator: String,
    data: Bound<'py, PyAny>,
    model: Bound<'py, PyAny>,
    jacobian: Option<Bound<'py, PyAny>>,
    features: Option<Vec<Feature>>,
    weights: Option<Bound<'py, PyAny>>,
    names: Option<Vec<String>>,
    kinds: Option<Vec<(Feature, String)>>,
    preset: Option<String>,
    axis_of: Option<Bound<'py, Scenario>>,
    /// Names of the levels 0, 1, … of features.
    levels: Option<Vec<(Feature, Vec<String>)>>,
    batch: usize,
    /// A function of rows and targets that returns a model, and the targets: for bands from refits.
    fit: Option<Bound<'py, PyAny>>,
    target: Option<Bound<'py, PyAny>>,
    /// Options of the estimator, as JSON.
    options: String,
}

/// The effects of some features, one for each of them and each output of the model.
#[pyfunction]
pub(crate) fn estimate(py: Python<'_>, request: EstimateRequest<'_>) -> PyResult<Vec<Effect>> {
    let info = estimator::info(&request.estimator).map_err(Raise::raise)?;
    let mut prepared = Prepared::new(&request, &info.options().collect::<Vec<_>>())?;
    let complete = |settings| match &request.preset {
        None => Ok(settings),
        Some(name) => preset::complete(name, info.name, settings),
    };
    if let Some(learner) = Learner::of(&request, &prepared)? {
        let all = prepared.each(|settings| {
            Refitting::from_settings(info.name, &complete(settings)?)?.ok_or_else(without_refits)
        })?;
        return refitted(py, prepared, &all, &learner);
    }
    let estimators =
        prepared.each(|settings| estimator::from_settings(info.name, &complete(settings)?))?;
    // Deciles, too: they are found on all threads, of which only those of this process answer.
    let Prepared { subject, data, .. } = &mut prepared;
    let data = &*data;
    let effects = calls::run(py, subject, data, |model| {
        estimator::each_feature(&estimators, |(feature, estimator)| {
            let effects = estimator.estimate(data, model, *feature)?;
            let deciles = data.deciles(*feature);
            Ok::<_, fe_core::Error>(effects.into_iter().map(move |effect| (effect, deciles)))
        })
    })?;
    let effects = effects.map_err(Raise::raise)?.into_iter().flatten();
    effects.map(|(effect, deciles)| Effect::new(py, effect, Some(deciles))).collect()
}

/// The effect of a feature as far as some rows tell it, of which there are so many others before.
#[pyfunction]
pub(crate) fn partial(
    py: Python<'_>,
    request: EstimateRequest<'_>,
    first: usize,
) -> PyResult<PartialEffect> {
    let info = estimator::info(&request.estimator).map_err(Raise::raise)?;
    let mut prepared = Prepared::new(&request, &info.options().collect::<Vec<_>>())?;
    let of_features = prepared.each(|settings| match &request.preset {
        None => Ok(settings),
        Some(name) => preset::complete(name, info.name, settings),
    })?;
    let [(feature, settings)] = &of_features[..] else {
        return Err("feature: a partial effect is of one".raise());
    };
    let Prepared { subject, data, .. } = &mut prepared;
    let data = &*data;
    let found = calls::run(py, subject, data, |model| {
        estimator::PartialEffect::of(info.name, settings, (data, first), model, *feature)
    })?;
    Ok(PartialEffect::new(found.map_err(Raise::raise)?))
}

/// The effects of two features, one for each output of the model; the second one may have options of its own, as JSON.
#[pyfunction]
#[pyo3(signature = (request, second))]
pub(crate) fn surfaces(
    py: Python<'_>,
    request: EstimateRequest<'_>,
    second: Option<String>,
) -> PyResult<Vec<Surface>> {
    let info = pair::info(&request.estimator).map_err(Raise::raise)?;
    let mut prepared = Prepared::new(&request, info.options)?;
    let complete = |settings: Settings| match &request.preset {
        None => Ok(settings),
        Some(name) => preset::complete_pair(name, info.name, settings),
    };
    let of_sides = prepared.each(complete)?;
    let [(first, settings), (other, settings2)] = &of_sides[..] else {
        return Err("feature: a pair is of two features".raise());
    };
    let settings2 = match second {
        None => settings2.clone(),
        Some(options) => {
            let (_, own) = settings_of(&request.estimator, &options, info.options)?;
            let own = Settings { axis: settings2.axis, ..own };
            complete(own).map_err(Raise::raise)?
        }
    };
    let both = [settings, &settings2];
    if let Some(learner) = Learner::of(&request, &prepared)? {
        let refitting = PairRefitting::from_settings(info.name, both).map_err(Raise::raise)?;
        let refitting = refitting.ok_or_else(|| without_refits().raise())?;
        return refitted_pair(py, prepared, [*first, *other], (&refitting, &learner));
    }
    let built = pair::from_settings(info.name, both).map_err(Raise::raise)?;
    let Prepared { subject, data, .. } = &mut prepared;
    let (data, features) = (&*data, [*first, *other]);
    let found = calls::run(py, subject, data, |model| built.estimate(data, model, features))?;
    Ok(found.map_err(Raise::raise)?.into_iter().map(|inner| Surface { inner }).collect())
}

/// A learner that is a Python function, with its target.
struct Learner<'a, 'py> {
    fit: &'a Bound<'py, PyAny>,
    given: &'a Bound<'py, PyAny>,
    target: Vec<f64>,
    batch: usize,
}

impl<'a, 'py> Learner<'a, 'py> {
    /// The one of a request for a band from refits; none where there is none.
    fn of(request: &'a EstimateRequest<'py>, prepared: &Prepared) -> PyResult<Option<Self>> {
        let is_asked = prepared.settings.band == Some(BandKind::Refit);
        let (fit, target) = match (&request.fit, &request.target, is_asked) {
            (None, None, false) => return Ok(None),
            (Some(fit), Some(target), true) => (fit, target),
            (Some(_), _, false) | (_, Some(_), false) => {
                return Err("fit, y: are for `band` = \"refit\", which is not asked for".raise());
            }
            _ => {
                return Err("band = \"refit\": the model is to be fitted again and again, which takes `fit`, a \
                            function of rows and targets that returns a model as `model` is one, and `y`, the targets"
                    .raise());
            }
        };
        if matches!(prepared.subject, Subject::Scenario(_)) {
            return Err("model: a scenario's function is not fitted; give the model that `fit` makes of all rows"
                .raise());
        }
        if prepared.data.weights().is_some() {
            return Err(
                "weights: `fit` knows nothing of them; give rows as often as they count".raise()
            );
        }
        if !fit.is_callable() {
            return Err("fit: must be a function of rows and targets that returns a model".raise());
        }
        let target = arrays::vector("y", target)?;
        let rows = prepared.data.len();
        if target.len() != rows {
            let got = target.len();
            return Err(
                format!("y: must have a value for each of the {rows} rows, not {got}").raise()
            );
        }
        Ok(Some(Self { fit, given: &request.data, target, batch: request.batch }))
    }

    /// Does some work with refits by some options, and with the learner.
    fn run<T: Send>(
        &self,
        (py, data): (Python<'_>, &Dataset),
        (options, has_steps): (RefitOptions, bool),
        work: impl FnOnce(&Refits, &Fits) -> fe_core::Result<T> + Send,
    ) -> PyResult<T> {
        let Self { fit, given, target, batch } = self;
        let fitting = Fitting { fit, given, data, batch: *batch };
        let found = fitting.run(py, |fits: &Fits| {
            let learn = |rows: &[usize], _: u64| {
                let own: Vec<f64> = rows.iter().map(|&row| target[row]).collect();
                fits.fit(&data.select(rows), &own)
            };
            work(&options.fit(data, &learn, has_steps)?, fits)
        });
        found?.map_err(Raise::raise)
    }
}

/// True if a model is a step function, as far as that matters: where no scheme is asked for.
fn steps(options: RefitOptions, model: &dyn Model, data: &Dataset) -> fe_core::Result<bool> {
    if options.resampling.is_some() { Ok(false) } else { has_steps(model, data) }
}

fn without_refits() -> fe_core::Error {
    fe_core::Error::Incompatible("there is no band from refits".to_owned())
}

/// The effects of some features, each with its band from refits.
fn refitted(
    py: Python<'_>,
    mut prepared: Prepared,
    all: &[(usize, Refitting)],
    learner: &Learner<'_, '_>,
) -> PyResult<Vec<Effect>> {
    let Prepared { subject, data, .. } = &mut prepared;
    let data = &*data;
    let Some((_, first)) = all.first() else { return Ok(Vec::new()) };
    let options = first.options();
    let estimated = calls::run(py, subject, data, |model| {
        let estimate = |(feature, refitting): &(usize, Refitting)| {
            refitting.estimator().estimate(data, model, *feature)
        };
        let effects = estimator::each_feature(all, estimate)?;
        Ok::<_, fe_core::Error>((effects, steps(options, model, data)?))
    })?;
    let (effects, has_steps) = estimated.map_err(Raise::raise)?;
    let target = &learner.target;
    let effects = learner.run((py, data), (options, has_steps), |refits, fits| {
        let learn = |permuted: &Dataset, _: u64| fits.fit(permuted, target);
        let mut banded = Vec::new();
        for ((feature, refitting), outputs) in all.iter().zip(effects) {
            for mut effect in outputs {
                let mut band = refitting.band(&effect, data, refits)?;
                if effect.output == 0 {
                    refitting.permute(
                        &mut band,
                        (data, *feature),
                        refits.options().seed,
                        &learn,
                    )?;
                }
                effect.confidence = Some(band);
                banded.push((effect, data.deciles(*feature)));
            }
        }
        Ok(banded)
    })?;
    effects.into_iter().map(|(effect, deciles)| Effect::new(py, effect, Some(deciles))).collect()
}

/// The effects of two features, each with its band from refits.
fn refitted_pair(
    py: Python<'_>,
    mut prepared: Prepared,
    features: [usize; 2],
    (refitting, learner): (&PairRefitting, &Learner<'_, '_>),
) -> PyResult<Vec<Surface>> {
    let Prepared { subject, data, .. } = &mut prepared;
    let data = &*data;
    let options = refitting.options();
    let estimated = calls::run(py, subject, data, |model| {
        let surfaces = refitting.estimator().estimate(data, model, features)?;
        Ok::<_, fe_core::Error>((surfaces, steps(options, model, data)?))
    })?;
    let (mut surfaces, has_steps) = estimated.map_err(Raise::raise)?;
    let target = &learner.target;
    let additive = match refitting.is_permuted() {
        true => Some(fe_models::additive_fit(data, target).map_err(|e| e.to_string().raise())?),
        false => None,
    };
    let found = learner.run((py, data), (options, has_steps), |refits, fits| {
        let learn = |target: &[f64], _: u64| fits.fit(data, target);
        for surface in &mut surfaces {
            let mut band = refitting.band(surface, data, refits)?;
            if let Some(additive) = additive.as_ref().filter(|_| surface.output == 0) {
                let of_target = (refits.options().seed, &target[..], additive);
                refitting.permute(&mut band, (data, features), of_target, &learn)?;
            }
            surface.confidence = Some(band);
        }
        Ok(surfaces)
    })?;
    Ok(found.into_iter().map(|inner| Surface { inner }).collect())
}

/// Indices of some features and pairs, and of the model as a whole.
#[pyfunction]
#[pyo3(signature = (request, names, pairs, outer))]
pub(crate) fn indices<'py>(
    py: Python<'py>,
    request: EstimateRequest<'py>,
    names: Vec<String>,
    pairs: Vec<(Feature, Feature)>,
    outer: Option<usize>,
) -> PyResult<Vec<IndexRow<'py>>> {
    let asked = names.iter().map(|name| name.parse::<Index>().map_err(Raise::raise));
    let asked = asked.collect::<PyResult<Vec<Index>>>()?;
    let mut prepared = Prepared::new(&request, &["background", "background_seed", "bins"])?;
    let of_names = prepared.data.names();
    let pair = |(a, b): &(Feature, Feature)| Ok([a.among(of_names)?, b.among(of_names)?]);
    let pairs = pairs.iter().map(pair).collect::<PyResult<Vec<[usize; 2]>>>()?;
    let default = IndexOptions::default();
    let given = &prepared.settings;
    let options = IndexOptions {
        outer: outer.unwrap_or(default.outer),
        background: given.background.unwrap_or(default.background),
        bins: given.bins.unwrap_or(default.bins),
        seed: given.background_seed.unwrap_or(default.seed),
        brute: default.brute,
    };
    let Prepared { subject, data, features, .. } = &mut prepared;
    let (data, features) = (&*data, &*features);
    let found = calls::run(py, subject, data, |model| {
        fe_core::indices::estimate(data, model, &asked, (features, &pairs), &options)
    })?;
    index_rows(py, &found.map_err(Raise::raise)?)
}

/// The regional effects of some features, one for each of them and each output of the model.
#[pyfunction]
pub(crate) fn regional(
    py: Python<'_>,
    request: EstimateRequest<'_>,
) -> PyResult<Vec<RegionalEffect>> {
    let info = fe_core::regional::info(&request.estimator).map_err(Raise::raise)?;
    if request.preset.is_some() {
        return Err("presets have nothing for regional estimators".raise());
    }
    let mut prepared = Prepared::new(&request, &info.options().collect::<Vec<_>>())?;
    let estimators = prepared.each(|settings| {
        Ok(fe_core::regional::from_settings(info.name, &settings)?.with_inner_effects())
    })?;
    let Prepared { subject, data, .. } = &mut prepared;
    let data = &*data;
    let effects = calls::run(py, subject, data, |model| {
        estimator::each_feature(&estimators, |(feature, regional)| {
            regional.fit(data, model, *feature)
        })
    })?;
    let effects = effects.map_err(Raise::raise)?.into_iter().flatten();
    Ok(effects.map(RegionalEffect::new).collect())
}

/// Data, model and options that were checked.
struct Prepared {
    data: Dataset,
    subject: Subject,
    /// Counted from 0.
    features: Vec<usize>,
    axis: Option<AxisSource>,
    /// The scenario whose axes are taken, where the model is none.
    axis_of: Option<fe_truth::Scenario>,
    settings: Settings,
}

impl Prepared {
    fn new(request: &EstimateRequest<'_>, known: &[&str]) -> PyResult<Self> {
        if request.jacobian.is_some() && !known.contains(&"jacobian") {
            let estimator = &request.estimator;
            let message = "asks for no derivatives, so that it would have no effect";
            return Err(format!("jacobian: `{estimator}` {message}").raise());
        }
        let (axis, settings) = settings_of(&request.estimator, &request.options, known)?;
        let columns = arrays::columns("X", &request.data)?;
        let data = dataset(request, columns)?;
        let features = match &request.features {
            None => (0..data.dimension()).collect(),
            Some(features) => {
                let features = features.iter().map(|feature| feature.among(data.names()));
                features.collect::<PyResult<Vec<usize>>>()?
            }
        };
        let mut subject = subject(request, &data, features.len())?;
        if let Subject::Callable(callable) = &mut subject
            && request.jacobian.is_some()
        {
            jacobian::check(request.data.py(), callable, &data, &features)?;
        }
        let axis_of = request.axis_of.as_ref().map(|of| of.get().inner.clone());
        Ok(Self { data, subject, features, axis, axis_of, settings })
    }

    /// The estimator of each feature: an axis may depend on it.
    fn each<E>(&self, build: impl Fn(Settings) -> fe_core::Result<E>) -> PyResult<Vec<(usize, E)>> {
        let of_feature = |&feature: &usize| {
            let axis = match &self.axis_of {
                Some(scenario) => Some(self.axis_in(scenario, feature)?),
                None => self.axis.map(|axis| self.resolve(axis, feature)).transpose()?,
            };
            let settings = Settings { axis, ..self.settings.clone() };
            Ok((feature, build(settings).map_err(Raise::raise)?))
        };
        self.features.iter().map(of_feature).collect()
    }

    fn axis_in(&self, scenario: &fe_truth::Scenario, feature: usize) -> PyResult<AxisChoice> {
        let (here, there) = (self.data.dimension(), scenario.dimension());
        if here != there {
            let id = scenario.id();
            return Err(format!("axis: {id} has {there} features and the data have {here}").raise());
        }
        AxisSource::Scenario.resolve(scenario, feature).map_err(Raise::raise)
    }

    fn resolve(&self, axis: AxisSource, feature: usize) -> PyResult<AxisChoice> {
        match (&self.subject, axis.of_data()) {
            (_, Some(axis)) => Ok(axis),
            (Subject::Scenario(scenario), None) => {
                axis.resolve(scenario, feature).map_err(Raise::raise)
            }
            (Subject::Callable(_), None) => Err(format!(
                "axis = '{axis}': the model is no scenario that it could be of; give the axis as (lo, hi), or the \
                 scenario itself as `axis` for {}",
                self.data.names()[feature]
            )
            .raise()),
        }
    }
}

fn dataset(request: &EstimateRequest<'_>, columns: Array2<f64>) -> PyResult<Dataset> {
    let mut data = Dataset::from_features(columns).map_err(Raise::raise)?;
    if let Some(names) = &request.names {
        data = data.with_names(names.clone()).map_err(Raise::raise)?;
    }
    if let Ok(scenario) = request.model.cast::<Scenario>() {
        let scenario = &scenario.get().inner;
        // Data of another width are the model's to refuse.
        if scenario.dimension() == data.dimension() {
            data = with_levels_of(scenario, data).map_err(Raise::raise)?;
        }
    }
    let mut kinds = data.kinds().to_vec();
    for (feature, kind) in request.kinds.iter().flatten() {
        let kind = FeatureKind::deserialize(Value::from(kind.as_str()));
        let kind = kind.map_err(|e| format!("kinds: {e}").raise())?;
        kinds[feature.among(data.names())?] = kind;
    }
    data = data.with_kinds(kinds).map_err(Raise::raise)?;
    for (feature, names) in request.levels.iter().flatten() {
        let feature = feature.among(data.names())?;
        if data.has_levels(feature) {
            let names = LevelNames::of_words(names.iter().cloned()).map_err(Raise::raise)?;
            data = data.with_levels(feature, names).map_err(Raise::raise)?;
        }
    }
    match &request.weights {
        None => Ok(data),
        Some(weights) => {
            data.with_weights(arrays::vector("weights", weights)?).map_err(Raise::raise)
        }
    }
}

fn subject(request: &EstimateRequest<'_>, data: &Dataset, features: usize) -> PyResult<Subject> {
    let model = &request.model;
    if let Ok(scenario) = model.cast::<Scenario>() {
        if request.jacobian.is_some() {
            return Err("jacobian: a scenario has its own".raise());
        }
        return Ok(Subject::Scenario(scenario.get().inner.clone()));
    }
    check_callable(model)?;
    if request.batch == 0 {
        return Err("batch_size = 0: must be at least 1".raise());
    }
    let callable = Callable::new(model, (&request.data, data), request.batch)?;
    Ok(Subject::Callable(match &request.jacobian {
        None => callable,
        Some(jacobian) => callable.with_jacobian(jacobian, features)?,
    }))
}

fn check_callable(given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_callable() {
        return Ok(());
    }
    let kind = given.get_type().name()?;
    let hint = if given.hasattr("predict")? { "; give its method `predict`" } else { "" };
    Err(format!(
        "model: must be a function of an array of rows, or a scenario; `{kind}` is neither{hint}"
    )
    .raise())
}

/// The options of an estimator, and the axis where one is named.
fn settings_of(
    estimator: &str,
    options: &str,
    known: &[&str],
) -> PyResult<(Option<AxisSource>, Settings)> {
    let mut options: Map<String, Value> = serde_json::from_str(options)
        .map_err(|e| format!("options of {estimator}: {e}").raise())?;
    options.retain(|_, value| !value.is_null());
    if let Some(key) = options.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!(
            "{estimator} takes no option `{key}`{}; it takes {}",
            suggestion(key, known.iter().copied()),
            listed(known.iter().copied())
        )
        .raise());
    }
    let axis = options.remove("axis").map(|axis| axis_source(&axis)).transpose()?;
    let read = |options: Map<String, Value>| Settings::deserialize(Value::Object(options));
    match read(options.clone()) {
        Ok(settings) => Ok((axis, settings)),
        Err(error) => {
            // One by one, to name the option that is wrong.
            for (key, value) in options {
                let alone = Map::from_iter([(key.clone(), value.clone())]);
                if let Err(error) = read(alone) {
                    return Err(format!("{key} = {value}: {}", plainly(&error)).raise());
                }
            }
            Err(error.to_string().raise())
        }
    }
}

/// The mistake in an option, in words that are not those of Rust.
fn plainly(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let whole = ["expected usize", "expected u64"].iter().any(|word| text.ends_with(word));
    if whole { "must be a whole number, at least 0".to_owned() } else { text }
}

/// An axis as (lo, hi), or as text as on the command line.
fn axis_source(given: &Value) -> PyResult<AxisSource> {
    let text = match given {
        Value::Array(ends) => ends.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse().map_err(|e: String| format!("axis = {given}: {e}").raise())
}
