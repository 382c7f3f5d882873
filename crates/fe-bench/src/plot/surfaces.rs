//! Figures of effects of two features: heat maps with contours, beside the truth and what differs from it.

use fe_core::effect::Surface;
use fe_truth::Scenario;
use plotters::style::RGBColor;

use super::effects::Subject;
use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::style::{BLACK, BLUE, GREY, MarkStyle, VERMILION};
use super::truths::Drawn;
use crate::error::Result;
use crate::output::readable;
use crate::score::pairs::truth_beside;

/// Squares of a heat map along each number.
const RASTER: usize = 48;
/// Points of the truth along each number.
const TRUTH: usize = 21;
/// Dots along each number where a band holds 0.
const DOTS: usize = 24;
/// Lines of the hatching of an area along each axis.
const HATCHES: f64 = 28.0;
/// Most strokes of a rug.
const RUG: usize = 200;
/// Values smaller than so much of f are rounding.
const ROUNDING: f64 = 1e-12;
/// Colours on either side of 0.
const CLASSES: f64 = 5.0;

/// Surfaces, each beside its truth where there is a scenario.
///
/// # Errors
/// What the estimates report of points.
pub fn figure(subject: &Subject<'_>, surfaces: &[Surface]) -> Result<Drawn> {
    let (mut cells, mut notes) = (Vec::new(), Vec::new());
    let floor = ROUNDING * subject.size();
    for surface in surfaces {
        let estimate = Sheet::of(surface).without(floor);
        let truth = subject.scenario.and_then(|scenario| match of_truth(scenario, surface) {
            Ok(truth) => Some(truth),
            Err(message) => {
                notes.push(format!("no truth beside {}: {message}", surface.names.join(":")));
                None
            }
        });
        let values = truth.iter().chain([&estimate]).flat_map(|sheet| &sheet.values);
        let classes = Classes::of(values);
        let what = what(surface);
        let mut layers = estimate.layers(&classes);
        layers.extend(hatched(surface));
        layers.extend(dotted(surface));
        layers.extend(rugs(subject, surface));
        let title = match surface.confidence.as_ref().and_then(|band| band.caution()) {
            Some(caution) => format!("{what}, estimate: {caution}"),
            None => format!("{what}, estimate"),
        };
        cells.push(vec![panel(surface, title, layers)]);
        if let Some(truth) = truth {
            let mut difference = truth.clone();
            difference.values = surface.at_all([&truth.x[0], &truth.x[1]])?;
            for (value, truth) in difference.values.iter_mut().zip(&truth.values) {
                *value -= truth;
            }
            let difference = difference.without(floor);
            // Errors are smaller than effects, and would all have the same colour.
            let own = Classes::of(difference.values.iter());
            cells.push(vec![panel(surface, format!("{what}, truth"), truth.layers(&classes))]);
            cells.push(vec![panel(
                surface,
                "estimate less truth, in colours of its own".to_owned(),
                difference.layers(&own),
            )]);
        }
    }
    let rows = surfaces.first().map_or(0, |surface| surface.record.rows);
    let title = format!("{}: effects of two features, {rows} rows", subject.title);
    // One scale of colours serves one surface.
    let legend_per_cell = cells.len() > 1;
    Ok(Drawn { figure: Figure { title, cells, legend_per_cell }, notes })
}

fn what(surface: &Surface) -> String {
    let of = surface.names.join(" and ");
    match (surface.estimator, surface.record.interaction) {
        ("ale", _) => format!("second-order ALE of {of}"),
        (_, true) => format!("interaction part of the PD of {of}"),
        _ => format!("PD of {of}"),
    }
}

fn panel(surface: &Surface, title: String, layers: Vec<Layer>) -> Panel {
    let scale = |side: usize| match &surface.record.sides[side].levels {
        Some(levels) => Scale::levels(surface.names[side].clone(), levels.names.clone()),
        None => Scale::linear(surface.names[side].clone()),
    };
    Panel { title, x: scale(0), y: scale(1), layers, ..Panel::default() }
}

/// The truth on a grid over the axes of an estimate, or why there is none.
fn of_truth(scenario: &Scenario, surface: &Surface) -> Result<Sheet, String> {
    let points = |side: usize| match &surface.record.sides[side].levels {
        Some(_) => surface.x[side].clone(),
        None => surface.record.sides[side].axis.grid(TRUTH),
    };
    let x = [points(0), points(1)];
    let truth = truth_beside(scenario, surface, [&x[0], &x[1]])?;
    Ok(Sheet { x, values: truth.iter().map(|truth| truth.value).collect(), ..Sheet::of(surface) })
}

/// Values at pairs of points, bilinear between numbers.
#[derive(Clone)]
struct Sheet {
    x: [Vec<f64>; 2],
    values: Vec<f64>,
    levels: [bool; 2],
}

impl Sheet {
    fn of(surface: &Surface) -> Self {
        let levels = [0, 1].map(|side: usize| surface.record.sides[side].levels.is_some());
        Self { x: surface.x.clone(), values: surface.values.clone(), levels }
    }

    /// The same with 0 for what is rounding.
    fn without(mut self, floor: f64) -> Self {
        self.values.iter_mut().filter(|value| value.abs() <= floor).for_each(|value| *value = 0.0);
        self
    }

    /// The ends of the squares along a feature: numbers, or half a place on either side of a level.
    fn ends(&self, side: usize) -> Vec<f64> {
        let points = &self.x[side];
        if self.levels[side] {
            return (0..=points.len()).map(|place| place as f64 - 0.5).collect();
        }
        let (lo, hi) = (points[0], points[points.len() - 1]);
        (0..=RASTER).map(|i| lo + (hi - lo) * i as f64 / RASTER as f64).collect()
    }

    /// The point at a place or below it, and how far the place is towards the next one.
    fn share(&self, side: usize, x: f64) -> (usize, f64) {
        let points = &self.x[side];
        if self.levels[side] {
            return ((x.round().max(0.0) as usize).min(points.len() - 1), 0.0);
        }
        let below = points.partition_point(|&point| point <= x).clamp(1, points.len() - 1) - 1;
        (below, ((x - points[below]) / (points[below + 1] - points[below])).clamp(0.0, 1.0))
    }

    fn at(&self, x: f64, y: f64) -> f64 {
        let [(i, u), (k, v)] = [self.share(0, x), self.share(1, y)];
        let columns = self.x[1].len();
        let value = |i: usize, k: usize| {
            self.values[i.min(self.x[0].len() - 1) * columns + k.min(columns - 1)]
        };
        let along = |i: usize| (1.0 - v) * value(i, k) + v * value(i, k + 1);
        (1.0 - u) * along(i) + u * along(i + 1)
    }

    /// Squares of each class, and lines between the classes.
    fn layers(&self, classes: &Classes) -> Vec<Layer> {
        let ends = [self.ends(0), self.ends(1)];
        let middle = |ends: &[f64]| ends[0] + (ends[1] - ends[0]) / 2.0;
        let mut squares: Vec<Vec<[f64; 4]>> = vec![Vec::new(); classes.len()];
        for across in ends[0].windows(2) {
            // Neighbours of a class are one rectangle.
            let mut last: Option<usize> = None;
            for up in ends[1].windows(2) {
                let class = classes.class(self.at(middle(across), middle(up)));
                match squares[class].last_mut().filter(|_| last == Some(class)) {
                    Some(square) => square[3] = up[1],
                    None => squares[class].push([across[0], across[1], up[0], up[1]]),
                }
                last = Some(class);
            }
        }
        let layer = |(class, cells): (usize, Vec<[f64; 4]>)| {
            let look = MarkStyle::line(classes.colour(class), 1.0);
            Layer::named(classes.name(class), look, Mark::Cells(cells))
        };
        let mut layers: Vec<Layer> = squares.into_iter().enumerate().map(layer).collect();
        if self.levels == [false, false] {
            let lines = self.contours(&ends, &classes.limits());
            let look = MarkStyle::line(BLACK, 0.7).faint(0.6);
            layers.push(Layer { name: None, look, mark: Mark::Line(lines) });
        }
        layers
    }

    /// Lines along which the values are at limits, in pieces with gaps between (marching squares).
    fn contours(&self, ends: &[Vec<f64>; 2], limits: &[f64]) -> Vec<(f64, f64)> {
        let mut lines = Vec::new();
        for across in ends[0].windows(2) {
            for up in ends[1].windows(2) {
                let corners = [
                    (across[0], up[0]),
                    (across[1], up[0]),
                    (across[1], up[1]),
                    (across[0], up[1]),
                ];
                let values = corners.map(|(x, y)| self.at(x, y));
                for limit in limits {
                    let crossing = |side: usize| {
                        let (a, b) = (values[side] - limit, values[(side + 1) % 4] - limit);
                        let (from, to) = (corners[side], corners[(side + 1) % 4]);
                        let share = a / (a - b);
                        let place =
                            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
                        ((a < 0.0) != (b < 0.0)).then_some(place)
                    };
                    let crossings: Vec<(f64, f64)> = (0..4).filter_map(crossing).collect();
                    for ends in crossings.chunks_exact(2) {
                        lines.extend([ends[0], ends[1], (f64::NAN, f64::NAN)]);
                    }
                }
            }
        }
        lines
    }
}

/// Classes of values, of which as many lie above 0 as below.
struct Classes {
    step: f64,
    each_side: usize,
}

impl Classes {
    /// Of some values; a single one where all are 0.
    fn of<'v>(values: impl Iterator<Item = &'v f64>) -> Self {
        let most = values.fold(0.0_f64, |most, value| most.max(value.abs()));
        if most == 0.0 {
            return Self { step: 1.0, each_side: 0 };
        }
        let step = nice(most / CLASSES);
        Self { step, each_side: ((most / step).ceil() as usize).clamp(1, 12) }
    }

    fn is_of_zeros(&self) -> bool {
        self.each_side == 0
    }

    fn len(&self) -> usize {
        (2 * self.each_side).max(1)
    }

    fn class(&self, value: f64) -> usize {
        if self.is_of_zeros() {
            return 0;
        }
        let class = (value / self.step).floor() + self.each_side as f64;
        (class.max(0.0) as usize).min(self.len() - 1)
    }

    /// The limits between the classes.
    fn limits(&self) -> Vec<f64> {
        (1..self.len()).map(|class| self.lower(class)).collect()
    }

    fn lower(&self, class: usize) -> f64 {
        self.step * (class as f64 - self.each_side as f64)
    }

    fn name(&self, class: usize) -> String {
        if self.is_of_zeros() {
            return "0 everywhere".to_owned();
        }
        let [lo, hi] =
            [class, class + 1].map(|class| readable(self.lower(class)).replace('-', "−"));
        format!("{lo} to {hi}")
    }

    fn colour(&self, class: usize) -> RGBColor {
        let share = (class as f64 + 0.5 - self.each_side as f64) / self.each_side.max(1) as f64;
        let share = if self.is_of_zeros() { 0.0 } else { share };
        shade(if share < 0.0 { BLUE } else { VERMILION }, share.abs())
    }
}

/// A colour, the paler the smaller the share of it is.
pub(super) fn shade(colour: RGBColor, share: f64) -> RGBColor {
    let part = |full: u8| (250.0 + (f64::from(full) - 250.0) * share.clamp(0.0, 1.0)).round() as u8;
    RGBColor(part(colour.0), part(colour.1), part(colour.2))
}

/// The next of 1, 2, 5 times a power of ten; 1 for what is no size.
fn nice(step: f64) -> f64 {
    if !(step.is_finite() && step > 1e-300) {
        return 1.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    let found = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= step * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

/// Strokes over the cells in which no instance is.
fn hatched(surface: &Surface) -> Option<Layer> {
    let ends = |side: usize| {
        let points = &surface.x[side];
        match surface.record.sides[side].levels {
            Some(_) => (0..=points.len()).map(|place| place as f64 - 0.5).collect(),
            None => points.clone(),
        }
    };
    let ends: [Vec<f64>; 2] = [ends(0), ends(1)];
    let over = [0, 1].map(|side: usize| (ends[side][0], ends[side][ends[side].len() - 1]));
    let mut all = Vec::new();
    for (place, _) in surface.counts.iter().enumerate().filter(|(_, count)| **count == 0.0) {
        let (i, k) = (place / (ends[1].len() - 1), place % (ends[1].len() - 1));
        all.extend(hatch([ends[0][i], ends[0][i + 1], ends[1][k], ends[1][k + 1]], over));
    }
    let look = MarkStyle::line(GREY, 0.6).faint(0.55);
    (!all.is_empty()).then(|| Layer::named("no instances", look, Mark::Line(all)))
}

/// The pieces in a cell of parallel lines over all of an area, given by its ends along both axes: cells of whatever size are
/// hatched alike.
fn hatch([a, b, c, d]: [f64; 4], [across, up]: [(f64, f64); 2]) -> Vec<(f64, f64)> {
    let share = |(from, to): (f64, f64), x: f64| (x - from) / (to - from);
    let place = |(from, to): (f64, f64), share: f64| from + share * (to - from);
    let [a, b] = [a, b].map(|x| share(across, x));
    let [c, d] = [c, d].map(|y| share(up, y));
    let number = |share: f64| (share * HATCHES).ceil() as i64;
    // A line is where the shares differ by a number of distances.
    let lines = (number(c - b)..number(d - a)).map(|line| line as f64 / HATCHES);
    let piece = |by: f64| {
        let (from, to) = (a.max(c - by), b.min(d - by));
        [from, to].map(|x| (place(across, x), place(up, x + by)))
    };
    lines.flat_map(|by| piece(by).into_iter().chain([(f64::NAN, f64::NAN)])).collect()
}

/// Dots where the band of the surface as a whole holds 0: what is drawn there may be nothing.
fn dotted(surface: &Surface) -> Option<Layer> {
    let band = surface.confidence.as_ref()?;
    let limits = band.simultaneous.as_ref().unwrap_or(&band.pointwise);
    let sheet = |limit: &Vec<f64>| Sheet { values: limit.clone(), ..Sheet::of(surface) };
    let (lower, upper) = (sheet(&limits.lower), sheet(&limits.upper));
    let places = |side: usize| -> Vec<f64> {
        if lower.levels[side] {
            return (0..lower.x[side].len()).map(|place| place as f64).collect();
        }
        let (lo, hi) = (lower.x[side][0], lower.x[side][lower.x[side].len() - 1]);
        (0..DOTS).map(|i| lo + (hi - lo) * (i as f64 + 0.5) / DOTS as f64).collect()
    };
    let holds = |&(x, y): &(f64, f64)| {
        let (lower, upper) = (lower.at(x, y), upper.at(x, y));
        lower <= 0.0 && 0.0 <= upper && !band.is_degenerate(lower, upper)
    };
    let up = places(1);
    let all = places(0).into_iter().flat_map(|x| up.iter().map(move |&y| (x, y)));
    let dots: Vec<(f64, f64)> = all.filter(holds).collect();
    let look = MarkStyle::line(BLACK, 1.0).faint(0.6);
    let name = "0 within the simultaneous band";
    (!dots.is_empty()).then(|| Layer::named(name, look, Mark::Cloud(dots)))
}

/// Strokes at the rows along both axes.
fn rugs(subject: &Subject<'_>, surface: &Surface) -> Vec<Layer> {
    let data = subject.data;
    let step = data.len().div_ceil(RUG).max(1);
    let places = |side: usize| -> Vec<f64> {
        let axis = surface.record.sides[side].axis;
        let values = data.feature(surface.features[side]).iter().step_by(step);
        values.copied().filter(|&x| axis.contains(x)).collect()
    };
    let look = MarkStyle::line(BLACK, 0.7).faint(0.5);
    let layer = |side: usize| {
        // Levels are places, not numbers.
        surface.record.sides[side].levels.is_none().then(|| {
            let mark = if side == 0 { Mark::Rug(places(0)) } else { Mark::SideRug(places(1)) };
            Layer { name: None, look, mark }
        })
    };
    [layer(0), layer(1)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_classes_hold_all_values() {
        for (most, step) in [(1.0, 0.2), (0.9, 0.2), (12.0, 5.0), (2.5, 0.5)] {
            let values = [-most, 0.3 * most, most];
            let classes = Classes::of(values.iter());
            assert!((classes.step - step).abs() < 1e-12, "{most}: {}", classes.step);
            for value in values {
                let lower = classes.lower(classes.class(value));
                assert!(
                    lower <= value && value <= lower + step * (1.0 + 1e-12),
                    "{value} in {lower}"
                );
            }
        }
    }

    #[test]
    fn zeros_have_one_colour() {
        let classes = Classes::of([0.0, 0.0].iter());
        assert_eq!((classes.len(), classes.class(0.0)), (1, 0));
        assert_eq!(
            (classes.name(0), classes.colour(0)),
            ("0 everywhere".to_owned(), shade(BLUE, 0.0))
        );
        assert!(classes.limits().is_empty());
    }

    /// x1 x2 on a square about 0 is 0 along both axes, and with a slope that varies its band holds 0 about these.
    #[test]
    fn dots_are_where_the_band_holds_nothing() {
        use fe_core::estimator::pair;
        use fe_core::settings::BandKind;
        use fe_core::{Dataset, Settings};
        let value = |i: usize, j: usize| ((i * [37, 91, 53][j]) % 100) as f64 / 49.5 - 1.0;
        let rows = ndarray::Array2::from_shape_fn((100, 3), |(i, j)| value(i, j));
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let f = fe_core::model::FunctionModel::new(3, |x| x[0] * x[1] + 0.6 * x[2] * (x[0] + x[1]));
        let surface = |band| {
            let settings = Settings { grid: Some(5), band, ..Settings::default() };
            let estimator = pair::from_settings("pdp", [&settings, &settings]).unwrap();
            estimator.estimate(&data, &f, [0, 1]).unwrap().swap_remove(0)
        };
        assert!(dotted(&surface(None)).is_none());
        let Mark::Cloud(dots) = dotted(&surface(Some(BandKind::Analytic))).unwrap().mark else {
            panic!("dots")
        };
        assert!(dots.len() > 20, "{} dots", dots.len());
        assert!(dots.iter().all(|(x, y)| x.abs().min(y.abs()) < 0.2), "{dots:?}");
    }

    #[test]
    fn hatches_of_cells_are_pieces_of_the_same_lines() {
        let over = [(0.0, 2.0), (-1.0, 1.0)];
        let pieces = |cell: [f64; 4]| {
            let points = hatch(cell, over);
            let ends: Vec<_> = points.chunks(3).map(|piece| (piece[0], piece[1])).collect();
            for (from, to) in &ends {
                let holds = |(x, y): (f64, f64)| {
                    let is_in = |v: f64, lo: f64, hi: f64| lo - 1e-12 <= v && v <= hi + 1e-12;
                    is_in(x, cell[0], cell[1]) && is_in(y, cell[2], cell[3])
                };
                assert!(holds(*from) && holds(*to) && from.0 <= to.0, "{from:?} {to:?}");
            }
            ends.iter().map(|(from, to)| to.0 - from.0).sum::<f64>()
        };
        // The whole is its parts.
        let whole = pieces([0.0, 2.0, -1.0, 1.0]);
        let halves = pieces([0.0, 0.7, -1.0, 1.0]) + pieces([0.7, 2.0, -1.0, 1.0]);
        assert!(whole > 20.0 && (whole - halves).abs() < 1e-9, "{whole} {halves}");
    }

    #[test]
    fn a_contour_of_a_plane_is_a_line() {
        let sheet = Sheet {
            x: [vec![0.0, 1.0], vec![0.0, 1.0]],
            values: vec![0.0, 1.0, 1.0, 2.0],
            levels: [false; 2],
        };
        let lines = sheet.contours(&[sheet.ends(0), sheet.ends(1)], &[0.7]);
        assert!(lines.len() > 30);
        assert!(lines.iter().filter(|p| p.0.is_finite()).all(|(x, y)| (x + y - 0.7).abs() < 1e-12));
    }
}
