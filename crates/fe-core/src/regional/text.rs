//! Trees of regions as text.

use std::fmt;

use super::RegionalEffect;
use super::tree::Level;

/// Heterogeneities up to this share of the largest one of a tree are rounding errors of 0.
pub const ROUNDING: f64 = 1e-12;

/// The tree, indented by depth, and below it the heterogeneity level by level.
impl fmt::Display for RegionalEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|_| String::new()))
    }
}

impl RegionalEffect {
    /// The tree in lines, a region each, with words of one's own after the region at each position of
    /// [`Tree::nodes`](super::Tree::nodes).
    ///
    /// ```
    /// use fe_core::{Dataset, Settings, model::FunctionModel, regional};
    /// let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| ((i * (7 + 30 * j)) % 100) as f64);
    /// let data = Dataset::from_rows(&rows.view())?;
    /// let model = FunctionModel::new(2, |x| if x[1] > 50.0 { x[0] } else { -x[0] });
    /// let regional = regional::from_settings("regional-pdp", &Settings::default())?;
    /// let effect = regional.fit(&data, &model, 0)?.remove(0);
    /// assert_eq!(effect.text(&|_| String::new()), effect.to_string());
    /// assert!(effect.text(&|position| format!(" (region {position})")).contains(" (region 0)\n"));
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    #[must_use]
    pub fn text(&self, beside: &dyn Fn(usize) -> String) -> String {
        let mut lines = vec![
            format!("{}: {}, output {}", self.name, self.estimator, self.output + 1),
            format!("regions by {}", self.heterogeneity),
        ];
        let known = self.tree.nodes().iter().filter_map(|node| node.heterogeneity);
        let largest = known.fold(0.0, f64::max);
        self.push_node(0, largest, beside, &mut lines);
        let levels = self.tree.levels().iter().enumerate();
        lines.extend(
            levels.map(|(level, of)| line_of_level(level, of, self.heterogeneity, largest)),
        );
        lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    fn push_node(
        &self,
        index: usize,
        largest: f64,
        beside: &dyn Fn(usize) -> String,
        lines: &mut Vec<String>,
    ) {
        let node = &self.tree.nodes()[index];
        let indent = "    ".repeat(node.depth);
        let region = node.rule.as_ref().map_or_else(|| "all data".to_owned(), ToString::to_string);
        lines.push(format!(
            "{indent}{region}   instances {}, weight {:.1} %, heterogeneity {}{}",
            node.rows,
            100.0 * node.share,
            rounded(node.heterogeneity, largest),
            beside(index)
        ));
        self.tree.children(index).for_each(|child| self.push_node(child, largest, beside, lines));
    }
}

fn line_of_level(index: usize, level: &Level, name: &str, largest: f64) -> String {
    let regions = if level.regions == 1 { "region" } else { "regions" };
    let heterogeneity = rounded(level.heterogeneity, largest);
    let drop = level.drop.map(|drop| format!(", drop {:.1} %", 100.0 * drop)).unwrap_or_default();
    format!("level {index}: {} {regions}, {name} {heterogeneity}{drop}", level.regions)
}

/// Four significant digits; 0 where it is rounding beside the largest value of a tree.
fn rounded(value: Option<f64>, largest: f64) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(value) if value.abs() <= ROUNDING * largest => "0".to_owned(),
        Some(value) if (1e-3..1e5).contains(&value.abs()) => {
            let decimals = (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
        Some(value) => format!("{value:.3e}"),
    }
}
