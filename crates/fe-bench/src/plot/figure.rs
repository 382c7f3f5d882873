//! Figures: their contents, without a word on how they are drawn.

use std::collections::BTreeSet;

use super::style::MarkStyle;

/// The words at the axis of errors, in the unit of the effect.
pub(super) const ERROR: &str = "estimate − truth";

/// Values smaller than so much of a function are rounding.
const ROUNDING: f64 = 1e-9;

/// Cells side by side under a title, each with panels one above the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// The heading.
    pub title: String,
    /// Stacks of panels, in rows of at most three.
    pub cells: Vec<Vec<Panel>>,
    /// True if each cell has its own legend; otherwise there is one for the figure.
    pub legend_per_cell: bool,
}

impl Figure {
    /// Gives all panels whose vertical axes have the same words the same scale, so that what they show can be compared.
    pub(super) fn share_scales(&mut self) {
        let panels = self.cells.iter().flatten().filter(|panel| !panel.bare);
        let labels: BTreeSet<String> = panels.map(|panel| panel.y.label.clone()).collect();
        for label in labels {
            self.share_scale(&|panel| panel.y.label == label);
        }
    }

    /// The same figure of a function of some size, that of 0 if it is not known: what is smaller by nine digits is rounding.
    pub(super) fn of_size(mut self, size: f64) -> Self {
        let rounding = (size > 0.0).then_some(ROUNDING * size);
        self.cells.iter_mut().flatten().for_each(|panel| panel.y.rounding = rounding);
        self
    }

    /// Gives the panels that are meant the same vertical scale.
    fn share_scale(&mut self, is_meant: &dyn Fn(&Panel) -> bool) {
        let panels = self.cells.iter_mut().flatten();
        let mut meant: Vec<&mut Panel> =
            panels.filter(|panel| !panel.bare && is_meant(panel)).collect();
        let extent = meant.iter().flat_map(|panel| panel.extent());
        let (low, high) =
            extent.fold((f64::NAN, f64::NAN), |(low, high), (_, y)| (low.min(y), high.max(y)));
        for panel in &mut meant {
            panel.hold.extend([(f64::NAN, low), (f64::NAN, high)]);
        }
    }

    /// Each cell as a figure of its own, with the axes that it has among the others.
    #[must_use]
    pub fn apart(&self) -> Vec<Self> {
        let one = |cell: &Vec<Panel>| {
            let name = cell.first().map_or("", |panel| panel.title.as_str());
            let title = match name {
                "" => self.title.clone(),
                name => format!("{}: {name}", self.title),
            };
            Self { title, cells: vec![cell.clone()], legend_per_cell: self.legend_per_cell }
        };
        self.cells.iter().map(one).collect()
    }

    /// Numbers of cells that stand together: one group of all, unless panels open groups of several.
    pub(super) fn groups(&self) -> Vec<usize> {
        let mut sizes = Vec::new();
        for cell in &self.cells {
            match sizes.last_mut() {
                Some(size) if !cell.first().is_some_and(|panel| panel.opens) => *size += 1,
                _ => sizes.push(1),
            }
        }
        if sizes.iter().any(|&size| size > 1) { sizes } else { vec![self.cells.len()] }
    }
}

/// Axes and what is drawn on them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// The words that set it apart from its neighbours; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// Layers, from back to front.
    pub layers: Vec<Layer>,
    /// Points that the axes hold as well, so that neighbours can be compared; NaN where only one axis
    /// is concerned.
    pub hold: Vec<(f64, f64)>,
    /// True if it is a drawing without axes.
    pub bare: bool,
    /// True if it is the first of a group whose cells stand together.
    pub opens: bool,
}

/// The longest error bar below a point of a logarithmic axis, as a factor: one that reaches down to 0 has no end there.
const LONGEST: f64 = 30.0;

/// The lower end of an error bar.
pub(super) fn lower_end(log: bool, y: f64, half: f64) -> f64 {
    if log { (y - half).max(y / LONGEST) } else { y - half }
}

impl Panel {
    /// All points that its axes must hold.
    pub(super) fn extent(&self) -> Vec<(f64, f64)> {
        let drawn = self.layers.iter().flat_map(|layer| match &layer.mark {
            Mark::Points(points) if self.y.log => {
                let ends = |&(x, y, half): &(f64, f64, f64)| {
                    [(x, lower_end(true, y, half)), (x, y + half), (x, y)]
                };
                points.iter().flat_map(ends).collect()
            }
            mark => mark.extent(),
        });
        drawn.chain(self.hold.iter().copied()).collect()
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scale {
    /// Its quantity, with its unit.
    pub label: String,
    /// True if it is logarithmic; values that are not positive are then left out.
    pub log: bool,
    /// Names of the places 0, 1, …, where it has levels in place of numbers.
    pub names: Vec<String>,
    /// The mean and the standard deviation that values were scaled by: numbers at the axis are what they were.
    pub scaled_by: Option<(f64, f64)>,
    /// The size of what is rounding, where it is known: values that differ by less are the same, and smaller ones 0.
    pub rounding: Option<f64>,
}

impl Scale {
    /// An axis of levels, which are at 0, 1, ….
    pub fn levels(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { label: label.into(), names, ..Self::default() }
    }

    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }
}

/// A mark with its look and, if it is to appear in the legend, its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its name in the legend; none if it is not listed. Layers of one name share an entry.
    pub name: Option<String>,
    /// Colour, dashes and marker.
    pub look: MarkStyle,
    /// Its marks.
    pub mark: Mark,
}

impl Layer {
    /// A layer with an entry in the legend.
    pub fn named(name: impl Into<String>, look: MarkStyle, mark: Mark) -> Self {
        Self { name: Some(name.into()), look, mark }
    }
}

/// The marks. Values that are not finite are left out.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points; it breaks where a value is missing.
    Line(Vec<(f64, f64)>),
    /// The area between two curves: x, lower and upper; it breaks where a value is missing.
    Band(Vec<(f64, f64, f64)>),
    /// A marker with an error bar of the given half-length at each point.
    Points(Vec<(f64, f64, f64)>),
    /// A small dot at each point.
    Cloud(Vec<(f64, f64)>),
    /// Short strokes on the horizontal axis.
    Rug(Vec<f64>),
    /// Short strokes on the vertical axis.
    SideRug(Vec<f64>),
    /// Filled rectangles without outlines: from and to along the horizontal axis, from and to along the vertical one.
    Cells(Vec<[f64; 4]>),
    /// Vertical lines over the whole height.
    Verticals(Vec<f64>),
    /// Areas within closed outlines, which are drawn as well.
    Areas(Vec<Vec<(f64, f64)>>),
    /// Words that begin at a point, half-way up.
    Words(Vec<(f64, f64, String)>),
}

impl Mark {
    /// All points that the axes must hold; NaN where only one of the axes is concerned.
    pub(super) fn extent(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line(points) | Self::Cloud(points) => points.clone(),
            Self::Band(points) => {
                points.iter().flat_map(|&(x, lower, upper)| [(x, lower), (x, upper)]).collect()
            }
            Self::Points(points) => points
                .iter()
                .flat_map(|&(x, y, half)| [(x, y - half), (x, y + half), (x, y)])
                .collect(),
            Self::Areas(outlines) => outlines.concat(),
            Self::Words(words) => words.iter().map(|&(x, y, _)| (x, y)).collect(),
            Self::Cells(cells) => cells.iter().flat_map(|&[a, b, c, d]| [(a, c), (b, d)]).collect(),
            Self::SideRug(y) => y.iter().map(|&y| (f64::NAN, y)).collect(),
            Self::Rug(x) | Self::Verticals(x) => x.iter().map(|&x| (x, f64::NAN)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bars_on_logarithmic_axes_have_an_end() {
        let mark = Mark::Points(vec![(1.0, 0.5, 0.1), (2.0, 3e-8, 3e-8 - 1e-25)]);
        let layers = vec![Layer { name: None, look: MarkStyle::of_series(0), mark }];
        let least = |log: bool| {
            let y = Scale { log, ..Scale::linear("mse") };
            let panel = Panel { y, layers: layers.clone(), ..Panel::default() };
            panel.extent().iter().map(|(_, y)| *y).fold(f64::MAX, f64::min)
        };
        assert!(least(true) > 9e-10 && least(false) < 1e-24, "{} {}", least(true), least(false));
    }
}
