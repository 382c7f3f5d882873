//! Names that options may have, from the registries that stand above the table of options.
//!
//! May import all. Begin with [`allowed`].

use crate::binning;
use crate::regional;
use crate::settings::SettingInfo;

/// The values that an option may have, in words: those of its table, and for the name of something that is
/// registered, such as a binning, all names.
///
/// ```
/// use fe_core::{registries, settings};
/// let allowed = registries::allowed(settings::info("binning").unwrap());
/// assert!(allowed.starts_with("fixed, quantile, ") && allowed.ends_with(", penalized"));
/// assert_eq!(registries::allowed(settings::info("bins").unwrap()), "a whole number");
/// ```
#[must_use]
pub fn allowed(setting: &SettingInfo) -> String {
    names(setting.option.name)
        .map_or_else(|| setting.option.allowed.to_owned(), |names| names.join(", "))
}

/// The registered names that an option may have; none for an option of another kind.
#[must_use]
pub fn names(option: &str) -> Option<Vec<&'static str>> {
    match option {
        "binning" => Some(binning::ALL.iter().map(|info| info.name).collect()),
        "heterogeneity" => {
            let mut names = Vec::new();
            for &name in regional::ALL.iter().flat_map(|info| info.heterogeneity) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Some(names)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{ALL, SettingKind};

    /// An option that is a name has a registry, and its row in the table spells none of the names.
    #[test]
    fn names_are_those_of_a_registry() {
        for setting in ALL {
            let is_name = setting.kind == SettingKind::Name;
            assert_eq!(names(setting.option.name).is_some(), is_name, "{}", setting.option.name);
        }
        let row = crate::settings::info("binning").map(|setting| setting.help).unwrap_or_default();
        assert!(binning::ALL.iter().all(|info| !row.contains(info.name)), "{row}");
    }
}
