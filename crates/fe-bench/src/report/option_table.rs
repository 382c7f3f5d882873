//! The table of the options of estimators, for people.

use std::fmt::Write;

use fe_core::settings::{self, SettingInfo};
use fe_core::{estimator, regional, registries};

/// All options in Markdown, a line for each: what it is, its values, its default, and which estimators take it.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "| option | what it is | allowed | default | taken by |\n|---|---|---|---|---|\n",
    );
    for setting in settings::ALL {
        let option = &setting.option;
        let cells =
            [&*option.about.replace('|', "\\|"), &registries::allowed(setting), option.default];
        let _ =
            writeln!(text, "| `{}` | {} | {} |", option.name, cells.join(" | "), takers(setting));
    }
    text
}

/// The estimators that take an option.
#[must_use]
pub fn takers(setting: &SettingInfo) -> String {
    let name = setting.option.name;
    let plain: Vec<&str> =
        estimator::ALL.iter().filter(|info| info.takes(name)).map(|info| info.name).collect();
    let in_regions: Vec<&str> =
        regional::ALL.iter().filter(|info| info.takes(name)).map(|info| info.name).collect();
    let all = |found: &[&str], of: usize, all: &'static str| match found.len() {
        0 => None,
        count if count == of => Some(all.to_owned()),
        _ => Some(found.join(", ")),
    };
    let plain = all(&plain, estimator::ALL.len(), "all");
    let in_regions = all(&in_regions, regional::ALL.len(), "regional ones");
    let mut both: Vec<String> = plain.into_iter().chain(in_regions).collect();
    if both.is_empty() {
        // What single features have no use for.
        let of_pairs = estimator::pair::ALL.iter().filter(|info| info.options.contains(&name));
        both.extend(of_pairs.map(|info| format!("{} of pairs", info.name)));
    }
    both.join(", ")
}
