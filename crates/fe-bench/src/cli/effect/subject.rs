//! The subject of estimates: a scenario's function, or a model of data.

use fe_core::{Dataset, Effect, Model};
use fe_truth::Scenario;
use serde::Serialize;
use serde_json::Value;

use super::model::Fitted;
use crate::cli::arguments::feature_name;
use crate::cli::figures::Picture;
use crate::error::{Error, Result};
use crate::output::Entry;
use crate::plot;

/// The function and the rows whose effects are estimated.
pub(in crate::cli) struct Subject<'a> {
    /// The scenario, if there is one.
    pub(in crate::cli) scenario: Option<&'a Scenario>,
    /// The fitted or stored model, if it is one.
    pub(in crate::cli) fitted: Option<&'a Fitted>,
    pub(in crate::cli) data: &'a Dataset,
    pub(in crate::cli) model: &'a dyn Model,
    /// Features, counted from 0.
    pub(in crate::cli) features: &'a [usize],
    /// Pairs of features.
    pub(in crate::cli) pairs: &'a [[usize; 2]],
    /// True if no feature was named, so that all are meant.
    pub(in crate::cli) is_all: bool,
    /// True if truths of a scenario are printed beside the effects.
    pub(in crate::cli) with_truths: bool,
    /// File in which effects are drawn, beside the truths of a scenario if there is one.
    pub(in crate::cli) picture: Option<&'a Picture>,
}

impl Subject<'_> {
    /// The keys that say which scenario it is; null without one.
    pub(in crate::cli) fn identity(&self) -> [Value; 2] {
        [self.scenario.map(Scenario::id).into(), self.scenario.map(Scenario::parameters).into()]
    }

    /// The subject, as figures need it.
    pub(in crate::cli) fn pictured(&self) -> plot::effects::Subject<'_> {
        let title = match (self.scenario, self.fitted) {
            (Some(scenario), _) => plot::effects::title_of(scenario),
            (None, fitted) => fitted.map(|fitted| fitted.title.clone()).unwrap_or_default(),
        };
        plot::effects::Subject {
            title,
            scenario: self.scenario,
            data: self.data,
            model: self.model,
            outputs: self.fitted.map_or(&[][..], |fitted| &fitted.outputs[..]),
            scales: self.fitted.map_or(&[][..], |fitted| &fitted.scales[..]),
        }
    }

    /// An object of an effect with what is known of a fitted or stored model.
    pub(in crate::cli) fn described<T>(&self, object: T, output: usize) -> Described<'_, T> {
        let of_model = self.fitted.map(|fitted| OfModel {
            output_name: fitted.outputs.get(output).map(String::as_str),
            model: &fitted.about,
        });
        Described { object, of_model }
    }

    /// The name of a feature: the scenario's, else its number.
    pub(in crate::cli) fn feature_name(&self, feature: usize) -> String {
        self.scenario
            .map_or_else(|| feature_name(feature), |scenario| scenario.feature_name(feature))
    }

    /// A feature as it is printed: by its column where a model of data is explained.
    pub(in crate::cli) fn feature(&self, effect: &Effect) -> Entry {
        self.named(effect.feature).into()
    }

    /// The name of a feature as it is printed.
    pub(in crate::cli) fn named(&self, feature: usize) -> String {
        match self.fitted {
            Some(_) => self.data.names()[feature].clone(),
            None => self.feature_name(feature),
        }
    }

    /// Refuses pairs of features, where single ones are meant.
    pub(in crate::cli) fn check_single(&self, what: &str) -> Result<()> {
        match self.pairs.first() {
            None => Ok(()),
            Some([a, b]) => {
                let pair = format!("{}:{}", self.named(*a), self.named(*b));
                Err(Error::Argument(format!("--feature {pair}: {what} is of single features")))
            }
        }
    }

    /// An output as it is printed: by its class where there are several of a model of data.
    pub(in crate::cli) fn output(&self, output: usize) -> Entry {
        let names = self.fitted.map(|fitted| &fitted.outputs).filter(|names| names.len() > 1);
        match names.and_then(|names| names.get(output)) {
            Some(name) => name.as_str().into(),
            None => (output + 1).into(),
        }
    }
}

/// An effect with what is known of a model.
#[derive(Serialize)]
pub(in crate::cli) struct Described<'a, T> {
    #[serde(flatten)]
    object: T,
    #[serde(flatten)]
    of_model: Option<OfModel<'a>>,
}

/// Facts about a fitted or stored model beside its effect.
#[derive(Serialize)]
struct OfModel<'a> {
    output_name: Option<&'a str>,
    model: &'a Value,
}
