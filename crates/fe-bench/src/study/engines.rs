//! External estimators in studies: `engine = "…"` beside the name, or `name = "engine:effect"`.

use toml::{Table, Value};

use super::axis::AxisSource;
use super::key::Key;
use crate::engines::{Asks, External};
use crate::score::comparison::Comparison;

/// The engine among the options of an estimator, taken out of them, with the name of the effect.
pub(super) fn engine_of(
    name: &str,
    options: &mut Table,
) -> Result<Option<(String, String)>, String> {
    let parts = name.split_once(':').map(|(engine, effect)| (engine.to_owned(), effect.to_owned()));
    match (options.remove("engine"), parts) {
        (None, parts) => Ok(parts),
        (Some(Value::String(engine)), None) => Ok(Some((engine, name.to_owned()))),
        (Some(engine), None) => Err(format!("`engine` = {engine}: must be the name of an engine")),
        (Some(engine), Some(_)) => {
            Err(format!("`name` = {name} names an engine already, beside `engine` = {engine}"))
        }
    }
}

/// An estimator that an engine has, and what the keys of its records say. Its options are the engine's own:
/// it says which it does not know.
pub(super) fn external(
    (engine, effect, of): (String, String, Asks),
    preset: Option<&str>,
    axis: AxisSource,
    options: Table,
    comparison: Comparison,
) -> Result<(External, Key), String> {
    if comparison == Comparison::AsTheyAre {
        return Err(format!(
            "`compare` = \"Err\" compares curves as they are, but engines centre theirs in any way: \
             {engine}:{effect} needs \"Err_c\""
        ));
    }
    let mut given = serde_json::Map::new();
    for (key, value) in options {
        let value = json(&value).ok_or_else(|| format!("`{key}` of {engine}:{effect} = {value}"));
        given.insert(key, value?);
    }
    if let Some(preset) = preset {
        given.insert("preset".to_owned(), preset.into());
    }
    let key = key(&engine, &effect, preset, axis, &given);
    Ok((External { engine, effect, of, options: given }, key))
}

fn json(value: &Value) -> Option<serde_json::Value> {
    match value {
        Value::Datetime(_) | Value::Table(_) => None,
        Value::Float(number) if !number.is_finite() => None,
        _ => serde_json::to_value(value).ok(),
    }
}

/// The part of the records' keys that says how an effect is estimated.
fn key(
    engine: &str,
    effect: &str,
    preset: Option<&str>,
    axis: AxisSource,
    given: &serde_json::Map<String, serde_json::Value>,
) -> Key {
    const TOLD_ELSEWHERE: [&str; 3] = ["binning", "bins", "preset"];
    let text = |value: &serde_json::Value| {
        value.as_str().map_or_else(|| value.to_string().replace(',', " "), str::to_owned)
    };
    let option = |key: &str| given.get(key).map(text).unwrap_or_default();
    let rest = given.iter().filter(|(key, _)| !TOLD_ELSEWHERE.contains(&key.as_str()));
    let mut rest: Vec<String> = rest.map(|(key, v)| format!("{key}={}", text(v))).collect();
    if axis != AxisSource::Scenario {
        rest.push(format!("axis={}", axis.to_string().replace(',', " ")));
    }
    rest.sort();
    Key {
        estimator: format!("{engine}:{effect}"),
        preset: preset.unwrap_or_default().to_owned(),
        binning: option("binning"),
        bins: option("bins"),
        centring: "grid".to_owned(),
        options: rest.join(";"),
        ..Key::default()
    }
}
