//! Trees of regions as text.

use std::fmt;

use super::RegionalEffect;
use super::tree::Level;

/// The tree, indented by depth, and below it the heterogeneity level by level.
impl fmt::Display for RegionalEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}, output {}", self.name, self.estimator, self.output + 1)?;
        writeln!(f, "regions by {}", self.heterogeneity)?;
        self.write_node(0, f)?;
        for (level, summary) in self.tree.levels().iter().enumerate() {
            write_level(level, summary, self.heterogeneity, f)?;
        }
        Ok(())
    }
}

impl RegionalEffect {
    fn write_node(&self, index: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = &self.tree.nodes()[index];
        let indent = "    ".repeat(node.depth);
        match &node.rule {
            None => write!(f, "{indent}all data")?,
            Some(rule) => write!(f, "{indent}{rule}")?,
        }
        let share = 100.0 * node.share;
        write!(f, "   instances {}, weight {share:.1} %, heterogeneity ", node.rows)?;
        writeln!(f, "{}", rounded(node.heterogeneity))?;
        self.tree.children(index).try_for_each(|child| self.write_node(child, f))
    }
}

fn write_level(index: usize, level: &Level, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let regions = if level.regions == 1 { "region" } else { "regions" };
    write!(
        f,
        "level {index}: {} {regions}, {name} {}",
        level.regions,
        rounded(level.heterogeneity)
    )?;
    match level.drop {
        None => writeln!(f),
        Some(drop) => writeln!(f, ", drop {:.1} %", 100.0 * drop),
    }
}

/// Four significant digits.
fn rounded(value: Option<f64>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(value) if value == 0.0 || (1e-3..1e5).contains(&value.abs()) => {
            let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
            let decimals = (3.0 - digits).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
        Some(value) => format!("{value:.3e}"),
    }
}
