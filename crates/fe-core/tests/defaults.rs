//! The defaults that the table of options states are those that estimators take.

#![allow(clippy::unwrap_used, clippy::panic)]

use fe_core::model::FunctionModel;
use fe_core::settings::{self, BandKind, Heading, SettingInfo};
use fe_core::{Dataset, Settings, estimator};

fn data() -> Dataset {
    let rows = ndarray::Array2::from_shape_fn((60, 2), |(i, j)| ((i * (7 + 4 * j)) % 60) as f64);
    Dataset::from_rows(&rows.view()).unwrap()
}

/// The default of an estimator: that of the others unless it is named, as in "0; 1 for dale, rhale".
fn default_of<'a>(setting: &SettingInfo, text: &'a str, estimator: &str) -> &'a str {
    let mut parts = text.split("; ");
    let general = parts.next().unwrap_or_default();
    let named = parts.flat_map(|part| part.split(", ").filter(|part| part.contains(" for ")));
    for part in named {
        let (value, _) = part.split_once(" for ").unwrap();
        let (_, names) = text.split_once(&format!("{value} for ")).unwrap();
        let mut names = names.split(", ").map(|name| name.split([' ', ';']).next().unwrap());
        if names.any(|name| name == estimator) {
            return value;
        }
    }
    match general.split_once(" for ") {
        Some((value, names)) if names.split(", ").any(|name| name == estimator) => value,
        Some(_) => "false",
        None => {
            assert!(!general.contains("for"), "{}: {general}", setting.option.name);
            general
        }
    }
}

/// What an option needs beside it.
fn beside(setting: &SettingInfo) -> Settings {
    let mut beside = Settings::default();
    match setting.option.name {
        "subsample_seed" => beside.subsample = Some(20),
        "background_seed" => beside.background = Some(10),
        "quantiles" => beside.binning = Some("quantile".to_owned()),
        "shapley_seed" => beside.permutations = Some(2),
        name if setting.heading == Heading::Bands && name != "band" => {
            beside.band = Some(BandKind::Bootstrap);
        }
        _ => {}
    }
    beside
}

#[test]
fn stated_defaults_are_taken() {
    let data = data();
    let model = FunctionModel::new(2, |x| (x[0] / 9.0).sin() * x[1]).with_partial(|s, x| {
        if s == 0 { (x[0] / 9.0).cos() / 9.0 * x[1] } else { (x[0] / 9.0).sin() }
    });
    let effects = |name: &str, settings: &Settings| -> fe_core::Result<String> {
        let estimator = estimator::from_settings(name, settings)?;
        Ok(serde_json::to_string(&estimator.estimate(&data, &model, 0)?).unwrap())
    };
    let mut held = Vec::new();
    for setting in settings::ALL.iter().filter(|setting| !setting.option.default.is_empty()) {
        for info in estimator::ALL.iter().filter(|info| info.takes(setting.option.name)) {
            let option = setting.option;
            let unset = beside(setting);
            let mut set = unset.clone();
            let default = default_of(setting, option.default, info.name);
            if set.read(option.name, default).is_err() {
                continue;
            }
            let (Ok(unset), Ok(set)) = (effects(info.name, &unset), effects(info.name, &set))
            else {
                continue;
            };
            assert!(unset == set, "{}: `{}` is not {default} unless given", info.name, option.name);
            held.push((info.name, option.name));
        }
    }
    assert!(
        held.len() > 120,
        "only {} defaults were held against estimators: {held:?}",
        held.len()
    );
}
