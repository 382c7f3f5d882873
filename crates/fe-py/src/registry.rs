//! Registries: scenarios, estimators, binnings, presets.

use fe_bench::score::METRICS;
use fe_core::estimator::pair;
use fe_core::indices::Index;
use fe_core::settings::{self, SettingInfo, SettingKind};
use fe_core::{binning, estimator, preset, regional, registries};
use fe_truth::{Centring, Quantity};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arguments::plain;

/// Everything that has a name, by kind.
#[pyfunction]
pub(crate) fn registry(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    plain(
        py,
        &json!({
            "scenarios": fe_truth::scenarios().iter().map(scenario).collect::<Vec<_>>(),
            "effects": Quantity::ALL.iter().map(|effect| effect.name()).collect::<Vec<_>>(),
            "centrings": Centring::ALL.iter().map(|centring| centring.name()).collect::<Vec<_>>(),
            "estimators": estimator::ALL
                .iter()
                .map(|info| entry(info.name, info.about, info.options().collect()))
                .collect::<Vec<_>>(),
            "options": settings::ALL.iter().map(option).collect::<Vec<_>>(),
            "regional": regional::ALL
                .iter()
                .map(|info| entry(info.name, info.about, info.options().collect()))
                .collect::<Vec<_>>(),
            "pairs": pair::ALL
                .iter()
                .map(|info| entry(info.name, info.about, info.options.to_vec()))
                .collect::<Vec<_>>(),
            "indices": Index::all()
                .map(|index| json!({ "name": index.name(), "about": index.about(), "order": index.order() }))
                .collect::<Vec<_>>(),
            "binnings": binning::ALL
                .iter()
                .map(|info| entry(info.name, info.about, info.options.to_vec()))
                .collect::<Vec<_>>(),
            "presets": preset::ALL
                .iter()
                .map(|preset| {
                    json!({ "name": preset.name, "about": preset.about,
                            "estimators": preset.estimators().collect::<Vec<_>>() })
                })
                .collect::<Vec<_>>(),
            "metrics": METRICS
                .iter()
                .map(|metric| json!({ "name": metric.name(), "about": metric.about() }))
                .collect::<Vec<_>>(),
        }),
    )
}

fn entry(name: &str, about: &str, options: Vec<&str>) -> Value {
    json!({ "name": name, "about": about, "options": options })
}

fn option(setting: &SettingInfo) -> Value {
    let option = setting.option;
    json!({ "name": option.name, "default": option.default, "allowed": registries::allowed(setting),
            "about": option.about, "type": python_type(setting.kind) })
}

/// The type of an option as signatures in Python have it.
fn python_type(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Count | SettingKind::Seed | SettingKind::Digit => "int",
        SettingKind::Number => "float",
        SettingKind::Flag => "bool",
        SettingKind::Word | SettingKind::Name | SettingKind::Scheme => "str",
        SettingKind::Numbers | SettingKind::Rows => "ArrayLike",
        SettingKind::Axis => "str | tuple[float, float] | Scenario",
    }
}

fn scenario(info: &fe_truth::ScenarioInfo) -> Value {
    let parameters = info.parameters.iter().map(|parameter| {
        json!({ "name": parameter.name, "default": parameter.default,
                "allowed": parameter.allowed, "about": parameter.about })
    });
    json!({
        "name": info.name,
        "version": info.version,
        "about": info.about,
        "formula": info.formula,
        "law": info.law,
        "parameters": parameters.collect::<Vec<_>>(),
    })
}
