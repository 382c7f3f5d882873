//! Figures as SVG.

use std::error::Error as StdError;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::coinciding;
use super::figure::{Figure, Layer, Mark, Panel, lower_end};
use super::form::{Form, ZOOM};
use super::scale::Ruler;
use super::style::{MarkStyle, Marker};
use crate::error::{Error, Result};
use crate::system::say::visible;

/// The backend counts in whole units; so many of them make a pixel, or curves would have steps.
const FINE: i32 = 8;

const FONT: &str = "sans-serif";
const TITLE: i32 = 16;
const SUBTITLE: i32 = 13;
const TEXT: i32 = 12;
const SMALL: i32 = 9;
/// The least letters of the words at an upright axis that are not taken to a second line.
const LETTERS: i32 = 11;
const LINE: i32 = 18;
const MARGIN: i32 = 12;
/// Heights of the first panel of a cell and of those below it, and of these where there are many.
const HEIGHTS: (i32, i32) = (280, 210);
/// Width of the numbers beside an upright axis and of its words, and what a further line of words takes.
const SIDE: i32 = 70;
const FURTHER: i32 = 14;
const LOW: i32 = 140;
const MANY: usize = 3;
/// Ticks of an axis, where there is room.
const TICKS: usize = 6;
/// Lengths of an axis, across and upright, that a tick takes.
const ROOM: (i32, i32) = (62, 34);
/// The least height of a panel, and the least width of a cell in a figure whose width is given.
const LEAST_HEIGHT: i32 = 90;
const LEAST_WIDTH: i32 = 230;
/// Length of the piece of line in an entry of a legend.
const SAMPLE: i32 = 34;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T = ()> = std::result::Result<T, Box<dyn StdError>>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Coordinate, Coordinate>>;

/// An axis as the library wants it, with the ticks of its ruler.
struct Coordinate {
    range: std::ops::Range<f64>,
    ticks: Vec<f64>,
}

impl Coordinate {
    fn of(ruler: &Ruler) -> Self {
        Self { range: ruler.range.clone(), ticks: ruler.ticks.clone() }
    }
}

impl Ranged for Coordinate {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.clone()
    }
}

/// The most cells of a figure.
const MOST_CELLS: usize = 2000;

pub(super) fn svg(figure: &Figure, form: &Form) -> Result<String> {
    let cells = figure.cells.len();
    if cells > MOST_CELLS {
        let message =
            format!("{cells} panels: at most {MOST_CELLS} are drawn; choose some of them");
        return Err(Error::Drawing(message));
    }
    let layout = Layout::of(figure, form)?;
    let mut svg = String::new();
    paint(figure, &layout, &mut svg).map_err(|e| Error::Drawing(e.to_string()))?;
    Ok(characters(&scaled(figure, &layout, &svg, form)))
}

/// Without characters that an XML file cannot have.
fn characters(svg: &str) -> String {
    let is_none =
        |c: char| u32::from(c) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
    let seen = visible(svg);
    if !seen.contains(is_none) {
        return seen.into_owned();
    }
    let shown = |c: char| if is_none(c) { c.escape_unicode().to_string() } else { c.to_string() };
    seen.chars().map(shown).collect()
}

/// The image in pixels, with its title for those who cannot see it.
fn scaled(figure: &Figure, layout: &Layout, svg: &str, form: &Form) -> String {
    let body = svg.split_once('>').map_or("", |(_, rest)| rest);
    let zoom = if form.width.is_some() { ZOOM } else { 1.0 };
    let [width, height] = [layout.width, layout.height].map(|length| f64::from(length) / zoom);
    let view = format!("0 0 {} {}", layout.width * FINE, layout.height * FINE);
    let body = match &form.font {
        None => body.trim_start().to_owned(),
        Some(font) => {
            let own = format!("font-family=\"{}, {FONT}\"", font.family());
            body.trim_start().replace(&format!("font-family=\"{FONT}\""), &own)
        }
    };
    let body: Markup = PreEscaped(body);
    let header = html! { title { (figure.title) } };
    format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"{view}\" role=\"img\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n{}\n{}",
        header.into_string(),
        body.into_string()
    )
}

/// Sizes in pixels.
struct Layout {
    width: i32,
    height: i32,
    /// Left end and top of each cell, below the title.
    places: Vec<(i32, i32)>,
    cell_width: i32,
    /// Heights of the first panel of a cell and of those below it.
    panels: (i32, i32),
    title: Vec<String>,
    subtitle_lines: i32,
    legend: Vec<Entry>,
    /// Width of the numbers and words beside upright axes, that their ends be in a line.
    side: i32,
    /// True if the width was asked for, so that ticks need be no more than there is room for.
    is_tight: bool,
}

impl Layout {
    fn of(figure: &Figure, form: &Form) -> Result<Self> {
        let zoomed = |length: f64| (length * ZOOM).round() as i32;
        let groups = figure.groups();
        // Four are two by two, so that none is apart.
        let columns = match groups.iter().copied().max().unwrap_or_default() {
            4 => 2,
            cells => cells.clamp(1, 3),
        };
        let (columns, cell_width) = match form.width.map(zoomed) {
            None => (columns, [640, 460, 380][columns - 1]),
            Some(width) => {
                let fit = (width / LEAST_WIDTH).max(1) as usize;
                (columns.min(fit), width / columns.min(fit) as i32)
            }
        };
        let width = cell_width * columns as i32;
        let subtitle = |panel: &Panel| wrapped(&panel.title, cell_width - 90, SUBTITLE).len();
        let all = || figure.cells.iter().flatten();
        let subtitle_lines = all().map(subtitle).max().unwrap_or_default() as i32;
        let own_legend = |cell: &Vec<Panel>| match figure.legend_per_cell {
            true => rows_of(&entries(cell.iter()), cell_width) * LINE,
            false => 0,
        };
        let own_legends = figure.cells.iter().map(own_legend).max().unwrap_or_default();
        let legend = if figure.legend_per_cell { Vec::new() } else { entries(all()) };
        let title = match form.untitled {
            true => Vec::new(),
            false => wrapped(&figure.title, width - 2 * MARGIN, TITLE),
        };
        let places = grouped_places(&groups, columns);
        let most = most_panels(figure, &places);
        let rows = most.len() as i32;
        let around = title_height(&title) + rows_of(&legend, width) * LINE + MARGIN;
        let highest = most.iter().copied().max().unwrap_or_default();
        let panels = heights(highest, form.width.map(|_| cell_width));
        let stack =
            |most: usize, (first, below): (i32, i32)| first + most.saturating_sub(1) as i32 * below;
        let all = |panels: (i32, i32)| most.iter().map(|most| stack(*most, panels)).sum::<i32>();
        let beside = subtitle_lines * LINE + own_legends;
        let panels = match form.height {
            None => panels,
            Some(height) => {
                let zoom = if form.width.is_some() { ZOOM } else { 1.0 };
                let room = (height * zoom) as i32 - around - rows * beside;
                let share = f64::from(room) / f64::from(all(panels).max(1));
                let part = |height: i32| (share * f64::from(height)) as i32;
                let given = (part(panels.0), part(panels.1));
                if given.0.min(if highest > 1 { given.1 } else { given.0 }) < LEAST_HEIGHT {
                    let least = LEAST_HEIGHT * all(panels) / panels.1.min(panels.0);
                    let needed = f64::from(around + rows * beside + least) / zoom;
                    return Err(Error::Drawing(format!(
                        "--height: {} panels one above the other with their legend need at least {:.1}in; \
                         --no-title, a larger --width, or fewer panels or lines take less",
                        most.iter().sum::<usize>().max(1),
                        (needed / super::form::PIXELS * 10.0).ceil() / 10.0
                    )));
                }
                given
            }
        };
        let row_heights: Vec<i32> = most.iter().map(|most| stack(*most, panels) + beside).collect();
        // A figure without cells is as high as one panel.
        let height =
            around + row_heights.iter().sum::<i32>().max(if rows == 0 { panels.0 } else { 0 });
        let top = |row: i32| row_heights[..row as usize].iter().sum::<i32>();
        let places = places.iter().map(|(column, row)| (column * cell_width, top(*row))).collect();
        let is_tight = form.width.is_some() || form.height.is_some();
        let lines = |(place, panel): (usize, &Panel)| {
            let height = if place == 0 { panels.0 } else { panels.1 };
            if panel.bare { 0 } else { Upright::of(&panel.y.label, height).lines.len() }
        };
        let lines = figure.cells.iter().flat_map(|cell| cell.iter().enumerate().map(lines));
        let more_lines = lines.max().unwrap_or_default().saturating_sub(1) as i32;
        Ok(Self {
            side: SIDE + more_lines * FURTHER,
            width,
            height,
            places,
            cell_width,
            panels,
            title,
            subtitle_lines,
            legend,
            is_tight,
        })
    }

    /// Height of a panel, counted from 0 from the top of its cell.
    fn panel_height(&self, index: usize) -> i32 {
        if index == 0 { self.panels.0 } else { self.panels.1 }
    }

    /// Numbers of ticks of the axes of a panel.
    fn ticks(&self, (width, height): (i32, i32)) -> (usize, usize) {
        let fit = |length: i32, room: i32| ((length / room).max(3) as usize).min(TICKS);
        if self.is_tight {
            (fit(width - self.side - 18, ROOM.0), fit(height - 54, ROOM.1))
        } else {
            (TICKS, fit(height, ROOM.1))
        }
    }
}

/// The most panels of a cell, by the rows of cells.
fn most_panels(figure: &Figure, places: &[(i32, i32)]) -> Vec<usize> {
    let rows = places.last().map_or(0, |(_, row)| row + 1);
    let most = |row: i32| {
        let cells = figure.cells.iter().zip(places).filter(|(_, place)| place.1 == row);
        cells.map(|(cell, _)| cell.len()).max().unwrap_or_default()
    };
    (0..rows).map(most).collect()
}

/// Column and row of each cell of groups of so many: each group begins a row.
fn grouped_places(groups: &[usize], columns: usize) -> Vec<(i32, i32)> {
    let mut above = 0;
    let mut places = Vec::new();
    for &size in groups {
        places.extend((0..size).map(|i| ((i % columns) as i32, (above + i / columns) as i32)));
        above += size.div_ceil(columns);
    }
    places
}

/// Heights of the first of so many panels of a cell and of those below it; those of a narrow cell are lower.
fn heights(panels: usize, cell_width: Option<i32>) -> (i32, i32) {
    let below = if panels > MANY { LOW } else { HEIGHTS.1 };
    match cell_width {
        None => (HEIGHTS.0, below),
        Some(width) => {
            let first = (width * 62 / 100).clamp(2 * LEAST_HEIGHT, HEIGHTS.0);
            (first, (first * below / HEIGHTS.0).max(LEAST_HEIGHT + 20))
        }
    }
}

fn title_height(lines: &[String]) -> i32 {
    if lines.is_empty() { MARGIN / 2 } else { lines.len() as i32 * (TITLE + 6) + MARGIN }
}

fn paint(figure: &Figure, layout: &Layout, svg: &mut String) -> Drawn {
    let size = (layout.width * FINE, layout.height * FINE);
    let root = SVGBackend::with_string(svg, (size.0 as u32, size.1 as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    for (i, line) in layout.title.iter().enumerate() {
        let y = MARGIN + i as i32 * (TITLE + 6);
        write(&root, line, (MARGIN, y), TITLE, VPos::Top)?;
    }
    let top = title_height(&layout.title);
    for (cell, (left, below)) in figure.cells.iter().zip(&layout.places) {
        let corner = (*left, top + below);
        paint_cell(&root, cell, figure.legend_per_cell, corner, layout)?;
    }
    let bottom = layout.height - MARGIN / 2 - rows_of(&layout.legend, layout.width) * LINE;
    legend(&root, &layout.legend, (0, bottom), layout.width)?;
    root.present()?;
    Ok(())
}

fn paint_cell(
    root: &Area<'_>,
    cell: &[Panel],
    with_legend: bool,
    (x, mut y): (i32, i32),
    layout: &Layout,
) -> Drawn {
    for (i, panel) in cell.iter().enumerate() {
        if i == 0 {
            let lines = wrapped(&panel.title, layout.cell_width - 90, SUBTITLE);
            for (i, line) in lines.iter().enumerate() {
                write(root, line, (x + layout.side + 4, y + i as i32 * LINE), SUBTITLE, VPos::Top)?;
            }
            y += layout.subtitle_lines * LINE;
        }
        let height = layout.panel_height(i);
        let area = piece(root, (x, y), (layout.cell_width, height));
        let ticks = layout.ticks((layout.cell_width, height));
        paint_panel(&area, panel, (height, layout.side), ticks)?;
        y += height;
    }
    if with_legend {
        legend(root, &entries(cell.iter()), (x, y), layout.cell_width)?;
    }
    Ok(())
}

/// A part of an area, in pixels.
fn piece<'a>(area: &Area<'a>, (x, y): (i32, i32), (width, height): (i32, i32)) -> Area<'a> {
    let corner = |x: i32, y: i32| (x * FINE, y * FINE);
    area.clone().shrink(corner(x, y), corner(width, height))
}

fn font(size: i32) -> TextStyle<'static> {
    (FONT, size * FINE).into_font().color(&BLACK)
}

fn write(area: &Area<'_>, text: &str, (x, y): (i32, i32), size: i32, vertical: VPos) -> Drawn {
    let style = font(size).pos(Pos::new(HPos::Left, vertical));
    area.draw(&Text::new(text.to_owned(), (x * FINE, y * FINE), style))?;
    Ok(())
}

/// Width of a text in pixels, rather too large than too small: letters are about as wide as those of DejaVu Sans, the
/// widest of the usual fonts.
fn width_of(text: &str, size: i32) -> i32 {
    let hundredths = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '\u{a0}' | 'I' => 35,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '²' => 43,
        'm' | 'w' | 'M' | 'W' | '…' | '%' | '@' => 100,
        '=' | '±' | '<' | '>' | '−' | '≈' | '+' | '≤' | '≥' => 85,
        'A'..='Z' => 78,
        _ => 65,
    };
    (text.chars().map(hundredths).sum::<i32>() * size + 99) / 100
}

/// A text in lines of at most the given width.
fn wrapped(text: &str, width: i32, size: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Not at spaces that hold words together.
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) + size <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn paint_panel(
    area: &Area<'_>,
    panel: &Panel,
    (height, side): (i32, i32),
    ticks: (usize, usize),
) -> Drawn {
    let points = panel.extent();
    let x = Ruler::new(&panel.x, points.iter().map(|point| point.0), ticks.0);
    let y = Ruler::new(&panel.y, points.iter().map(|point| point.1), ticks.1);
    let mut chart = ChartBuilder::on(area)
        .margin_top(8 * FINE)
        .margin_right(14 * FINE)
        .margin_bottom(4 * FINE)
        .margin_left(4 * FINE)
        .x_label_area_size(if panel.bare { 0 } else { 42 * FINE })
        .y_label_area_size(if panel.bare { 0 } else { side * FINE })
        .build_cartesian_2d(Coordinate::of(&x), Coordinate::of(&y))?;
    if !panel.bare {
        axes(&mut chart, panel, (&x, &y))?;
        Upright::of(&panel.y.label, height).paint(area, height)?;
        grid(&mut chart, &x, &y)?;
    }
    for layer in &panel.layers {
        paint_layer(&mut chart, layer, &x, &y)?;
    }
    Ok(())
}

fn axes(chart: &mut Chart<'_, '_>, panel: &Panel, (x, y): (&Ruler, &Ruler)) -> Drawn {
    let width = chart.plotting_area().dim_in_pixel().0 as i32 / FINE;
    let room = width / (x.ticks.len() as i32).max(1);
    // Widths are a tenth too large for most words.
    let fits = |name: &str| 9 * width_of(name, TEXT) <= 10 * room;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(BLACK.stroke_width(FINE as u32))
        .x_desc(panel.x.label.as_str())
        .x_labels(x.ticks.len())
        .y_labels(y.ticks.len())
        .x_label_formatter(&|tick| x.label_within(*tick, &fits))
        .y_label_formatter(&|tick| y.label(*tick))
        .label_style(font(TEXT))
        .axis_desc_style(font(TEXT + 1))
        .set_all_tick_mark_size(4 * FINE)
        .draw()?;
    Ok(())
}

/// The words at an upright axis: a line that is no longer than the panel, or else two.
struct Upright {
    lines: Vec<String>,
    size: i32,
}

impl Upright {
    /// The largest letters in a line of at least [`LETTERS`]; smaller ones only where two lines do not fit either.
    fn of(label: &str, height: i32) -> Self {
        let sizes = |least: i32| (least..=TEXT + 1).rev();
        let one = sizes(LETTERS).find(|size| width_of(label, *size) <= height);
        if let Some(size) = one {
            return Self { lines: vec![label.to_owned()], size };
        }
        let longer =
            |(first, second): &(&str, &str)| width_of(first, TEXT).max(width_of(second, TEXT));
        let halves = || label.match_indices(' ').map(|(at, _)| (&label[..at], &label[at + 1..]));
        // After a comma if there is room.
        let at_comma = halves().find(|(first, _)| first.ends_with(','));
        let choice = || at_comma.into_iter().chain(halves().min_by_key(longer));
        let fitting = |size: i32| {
            let fits = |half: &str| width_of(half, size) <= height;
            choice()
                .find(|(first, second)| fits(first) && fits(second))
                .map(|halves| (halves, size))
        };
        match sizes(SMALL).skip(1).find_map(fitting) {
            Some(((first, second), size)) => {
                Self { lines: vec![first.to_owned(), second.to_owned()], size }
            }
            None => Self { lines: wrapped(label, height, SMALL), size: SMALL },
        }
    }

    fn paint(&self, area: &Area<'_>, height: i32) -> Drawn {
        let style = font(self.size).transform(FontTransform::Rotate270);
        let style = style.pos(Pos::new(HPos::Center, VPos::Top));
        // The middle of the axis, whose panel has a margin above and numbers and words below.
        let middle = (height - 46 + 8) / 2;
        for (left, line) in (0..).zip(&self.lines) {
            let at = ((4 + left * FURTHER) * FINE, middle * FINE);
            area.draw(&Text::new(line.clone(), at, style.clone()))?;
        }
        Ok(())
    }
}

/// Faint lines at the ticks.
fn grid(chart: &mut Chart<'_, '_>, x: &Ruler, y: &Ruler) -> Drawn {
    let line = RGBColor(228, 228, 228).stroke_width(FINE as u32 * 3 / 4);
    let (columns, rows) = (x.range.clone(), y.range.clone());
    let across = y.ticks.iter().map(|&y| [(columns.start, y), (columns.end, y)]);
    let along = x.ticks.iter().map(|&x| [(x, rows.start), (x, rows.end)]);
    chart.draw_series(across.chain(along).map(|ends| PathElement::new(ends, line)))?;
    Ok(())
}

fn stroke(look: &MarkStyle) -> ShapeStyle {
    let width = (look.width * f64::from(FINE)).round() as u32;
    look.colour.mix(look.opacity).stroke_width(width)
}

fn fill(look: &MarkStyle) -> ShapeStyle {
    look.colour.mix(look.opacity).filled()
}

fn paint_layer(chart: &mut Chart<'_, '_>, layer: &Layer, x: &Ruler, y: &Ruler) -> Drawn {
    let look = &layer.look;
    let at = |&(a, b): &(f64, f64)| Some((x.place(a)?, y.place(b)?));
    match &layer.mark {
        Mark::Line(points) => {
            for line in unbroken(points.iter().map(at)) {
                path(chart, line, look)?;
            }
        }
        Mark::Band(points) => {
            let ends = |&(a, low, high): &(f64, f64, f64)| Some((at(&(a, low))?, at(&(a, high))?));
            for band in unbroken(points.iter().map(ends)) {
                let back = band.iter().rev().map(|ends| ends.1);
                let outline: Vec<(f64, f64)> = band.iter().map(|ends| ends.0).chain(back).collect();
                chart.draw_series([Polygon::new(outline, fill(look))])?;
            }
        }
        Mark::Points(points) => {
            for &(a, b, half) in points {
                let Some(place) = at(&(a, b)) else { continue };
                if let (true, Some(low), Some(high)) =
                    (half > 0.0, at(&(a, lower_end(y.log, b, half))), at(&(a, b + half)))
                {
                    let thin = MarkStyle { width: 1.2, ..*look };
                    chart.draw_series([PathElement::new([low, high], stroke(&thin))])?;
                }
                mark(chart, place, look)?;
            }
        }
        Mark::Cloud(points) => {
            let dots = points.iter().filter_map(at);
            chart.draw_series(dots.map(|at| Circle::new(at, FINE * 3 / 2, fill(look))))?;
        }
        Mark::Rug(places) => {
            let foot = y.range.start;
            let head = foot + 0.035 * (y.range.end - foot);
            let ends = places.iter().filter_map(|&a| x.place(a)).map(|a| [(a, foot), (a, head)]);
            chart.draw_series(ends.map(|ends| PathElement::new(ends, stroke(look))))?;
        }
        Mark::SideRug(places) => {
            let foot = x.range.start;
            let head = foot + 0.02 * (x.range.end - foot);
            let ends = places.iter().filter_map(|&b| y.place(b)).map(|b| [(foot, b), (head, b)]);
            chart.draw_series(ends.map(|ends| PathElement::new(ends, stroke(look))))?;
        }
        Mark::Cells(cells) => {
            let corners = |&[a, b, c, d]: &[f64; 4]| Some([at(&(a, c))?, at(&(b, d))?]);
            let cells = cells.iter().filter_map(corners);
            chart.draw_series(cells.map(|corners| Rectangle::new(corners, fill(look))))?;
        }
        Mark::Areas(outlines) => {
            for outline in outlines {
                let mut corners: Vec<(f64, f64)> = outline.iter().filter_map(at).collect();
                chart.draw_series([Polygon::new(corners.clone(), fill(look))])?;
                corners.extend(corners.first().copied());
                path(chart, corners, &MarkStyle { opacity: 1.0, ..*look })?;
            }
        }
        Mark::Words(words) => {
            let style = font(TEXT).pos(Pos::new(HPos::Left, VPos::Center));
            let place = |(a, b, text): &(f64, f64, String)| Some((at(&(*a, *b))?, text.clone()));
            let words = words.iter().filter_map(place);
            chart.draw_series(words.map(|(at, text)| Text::new(text, at, style.clone())))?;
        }
        Mark::Verticals(places) => {
            for a in places.iter().filter_map(|&a| x.place(a)) {
                path(chart, vec![(a, y.range.start), (a, y.range.end)], look)?;
            }
        }
    }
    Ok(())
}

/// The stretches between missing values.
fn unbroken<T>(values: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut stretches = vec![Vec::new()];
    for value in values {
        match (value, stretches.last_mut()) {
            (Some(value), Some(stretch)) => stretch.push(value),
            _ => stretches.push(Vec::new()),
        }
    }
    stretches.retain(|stretch| !stretch.is_empty());
    stretches
}

fn path(chart: &mut Chart<'_, '_>, points: Vec<(f64, f64)>, look: &MarkStyle) -> Drawn {
    match look.dashes {
        (0, _) => chart.draw_series(LineSeries::new(points, stroke(look)))?,
        (dash, gap) => chart.draw_series(DashedLineSeries::new(
            points,
            dash * FINE,
            gap * FINE,
            stroke(look),
        ))?,
    };
    Ok(())
}

fn mark(chart: &mut Chart<'_, '_>, at: (f64, f64), look: &MarkStyle) -> Drawn {
    let size = 4 * FINE;
    let origin = EmptyElement::at(at);
    match look.marker {
        Marker::None => {}
        Marker::Disc => {
            chart.draw_series([origin + Circle::new((0, 0), size, fill(look))])?;
        }
        Marker::Circle => {
            chart
                .draw_series([EmptyElement::at(at) + Circle::new((0, 0), size, WHITE.filled())])?;
            chart.draw_series([origin + Circle::new((0, 0), size, stroke(look))])?;
        }
        Marker::Square => {
            let square = Rectangle::new([(-size, -size), (size, size)], fill(look));
            chart.draw_series([origin + square])?;
        }
        Marker::Triangle => {
            chart.draw_series([origin + TriangleMarker::new((0, 0), size * 5 / 4, fill(look))])?;
        }
        Marker::Cross => {
            chart.draw_series([origin + Cross::new((0, 0), size, stroke(look))])?;
        }
    }
    Ok(())
}

/// A name in a legend, with the layers that it stands for.
struct Entry {
    name: String,
    layers: Vec<Layer>,
}

impl Entry {
    fn width(&self) -> i32 {
        SAMPLE + 8 + width_of(&self.name, TEXT) + 22
    }

    /// The name in lines that fit into a legend of this width.
    fn lines(&self, width: i32) -> Vec<String> {
        wrapped(&self.name, width - 2 * MARGIN - SAMPLE - 8, TEXT)
    }
}

fn entries<'a>(panels: impl Iterator<Item = &'a Panel>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for layer in panels.flat_map(|panel| &panel.layers) {
        let Some(name) = &layer.name else { continue };
        let sample = Layer { mark: emptied(&layer.mark), ..layer.clone() };
        match entries.iter_mut().find(|entry| entry.name == *name) {
            Some(entry) if entry.layers.contains(&sample) => {}
            Some(entry) => entry.layers.push(sample),
            None => entries.push(Entry { name: name.clone(), layers: vec![sample] }),
        }
    }
    let explained = coinciding::explanation(entries.iter().map(|entry| entry.name.as_str()));
    entries.extend(explained.map(|name| Entry { name: name.to_owned(), layers: Vec::new() }));
    entries
}

/// The kind of a mark alone.
fn emptied(mark: &Mark) -> Mark {
    match mark {
        Mark::Line(_) => Mark::Line(Vec::new()),
        Mark::Band(_) => Mark::Band(Vec::new()),
        Mark::Points(_) => Mark::Points(Vec::new()),
        Mark::Cloud(_) => Mark::Cloud(Vec::new()),
        Mark::Rug(_) => Mark::Rug(Vec::new()),
        Mark::SideRug(_) => Mark::SideRug(Vec::new()),
        Mark::Cells(_) => Mark::Cells(Vec::new()),
        Mark::Verticals(_) => Mark::Verticals(Vec::new()),
        // Bars have four corners.
        Mark::Areas(outlines) if outlines.iter().all(|corners| corners.len() == 4) => {
            Mark::Areas(vec![vec![(0.2, 0.0), (0.2, 1.0), (0.8, 1.0), (0.8, 0.0)]])
        }
        Mark::Areas(_) => Mark::Areas(vec![vec![(0.5, 0.0), (0.75, 0.5), (0.5, 1.0), (0.25, 0.5)]]),
        Mark::Words(_) => Mark::Words(Vec::new()),
    }
}

/// Places of the entries of a legend, column in pixels and row: as many columns as fit, each as wide as its widest entry.
fn places(entries: &[Entry], width: i32) -> Vec<(i32, i32)> {
    let lines: Vec<i32> = entries.iter().map(|entry| entry.lines(width).len() as i32).collect();
    let widths = |slots: &[(usize, i32)], columns: usize| -> Vec<i32> {
        let of = |column: usize| {
            let own = entries.iter().zip(slots).zip(&lines);
            let own = own.filter(|((_, slot), lines)| slot.0 == column && **lines <= 1);
            own.map(|((entry, _), _)| entry.width()).max().unwrap_or_default()
        };
        (0..columns).map(of).collect()
    };
    let fits = |columns: &usize| {
        widths(&slots(&lines, *columns), *columns).iter().sum::<i32>() <= width - MARGIN
    };
    let columns = (2..=entries.len()).rev().find(fits).unwrap_or(1);
    let slots = slots(&lines, columns);
    let widths = widths(&slots, columns);
    let left = |column: usize| MARGIN + widths[..column].iter().sum::<i32>();
    slots.into_iter().map(|(column, row)| (left(column), row)).collect()
}

/// Column and row of entries of so many lines each; one of several has them to itself.
fn slots(lines: &[i32], columns: usize) -> Vec<(usize, i32)> {
    let (mut column, mut row) = (0, 0);
    let slot = |&lines: &i32| {
        if column > 0 && (column == columns || lines > 1) {
            (column, row) = (0, row + 1);
        }
        let slot = (column, row);
        if lines > 1 {
            row += lines;
        } else {
            column += 1;
        }
        slot
    };
    lines.iter().map(slot).collect()
}

fn rows_of(entries: &[Entry], width: i32) -> i32 {
    let end = |(entry, place): (&Entry, (i32, i32))| place.1 + entry.lines(width).len() as i32;
    entries.iter().zip(places(entries, width)).map(end).max().unwrap_or(0)
}

fn legend(root: &Area<'_>, entries: &[Entry], (x, y): (i32, i32), width: i32) -> Drawn {
    for (entry, (column, row)) in entries.iter().zip(places(entries, width)) {
        let (left, middle) = (x + column, y + row * LINE + LINE / 2);
        for layer in &entry.layers {
            sample(root, layer, (left, middle))?;
        }
        for (line, text) in (0..).zip(entry.lines(width)) {
            let at = (left + SAMPLE + 8, middle + line * LINE);
            write(root, &text, at, TEXT, VPos::Center)?;
        }
    }
    Ok(())
}

/// A piece of what a layer draws, drawn as in a panel so that the two look alike.
fn sample(root: &Area<'_>, layer: &Layer, (left, middle): (i32, i32)) -> Drawn {
    let area = piece(root, (left, middle - 7), (SAMPLE, 14));
    let scale = super::figure::Scale::default();
    let ruler =
        |range: std::ops::Range<f64>| Ruler { range, ..Ruler::new(&scale, std::iter::empty(), 2) };
    let (x, y) = (ruler(0.0..1.0), ruler(0.0..1.0));
    let mut chart =
        ChartBuilder::on(&area).build_cartesian_2d(Coordinate::of(&x), Coordinate::of(&y))?;
    let strokes = vec![0.2, 0.5, 0.8];
    let mark = match &layer.mark {
        Mark::Line(_) => Mark::Line(vec![(0.0, 0.5), (1.0, 0.5)]),
        Mark::Band(_) => Mark::Band(vec![(0.0, 0.05, 0.95), (1.0, 0.05, 0.95)]),
        Mark::Points(_) => Mark::Points(vec![(0.5, 0.5, 0.0)]),
        Mark::Cloud(_) => Mark::Cloud(vec![(0.15, 0.3), (0.5, 0.7), (0.85, 0.4)]),
        Mark::Rug(_) | Mark::SideRug(_) => Mark::Verticals(strokes),
        Mark::Cells(_) => Mark::Cells(vec![[0.1, 0.9, 0.1, 0.9]]),
        Mark::Verticals(_) => Mark::Verticals(vec![0.5]),
        Mark::Areas(outlines) => Mark::Areas(outlines.clone()),
        Mark::Words(_) => Mark::Words(Vec::new()),
    };
    paint_layer(&mut chart, &Layer { mark, ..layer.clone() }, &x, &y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_legend_are_explained_there() {
        let drawn = |name: &str| {
            let mark = Mark::Line(vec![(0.0, 0.0), (1.0, 1.0)]);
            let layers = vec![Layer::named(name, MarkStyle::of_series(0), mark)];
            let cells = vec![vec![Panel { layers, ..Panel::default() }]];
            let form = Form { untitled: true, ..Form::default() };
            super::svg(&Figure { cells, ..Figure::default() }, &form).unwrap()
        };
        assert!(drawn("a ≈ b").contains("lines that cannot be told apart here"));
        assert!(!drawn("a = b").contains("told apart"));
    }

    #[test]
    fn lines_break_where_values_are_missing() {
        let values = [Some(1), None, None, Some(2), Some(3)];
        assert_eq!(unbroken(values.into_iter()), [vec![1], vec![2, 3]]);
    }

    #[test]
    fn words_at_upright_axes_are_no_longer_than_their_panel() {
        let label = "effect on median_house_value, mean 0 over the axis";
        for (height, lines, size) in [(500, 1, TEXT + 1), (210, 2, TEXT), (120, 3, SMALL)] {
            let upright = Upright::of(label, height);
            assert_eq!((upright.lines.len(), upright.size), (lines, size), "{height}");
            assert_eq!(upright.lines.join(" "), label);
        }
        assert_eq!(Upright::of("rows", 90).lines, ["rows"]);
        let halves = Upright::of("effect on f, mean 0 over the axis", 180);
        assert_eq!(halves.lines, ["effect on f,", "mean 0 over the axis"]);
    }

    #[test]
    fn each_tree_begins_a_row() {
        let root = || vec![Panel { opens: true, ..Panel::default() }];
        let other = || vec![Panel::default()];
        let of = |cells| Figure { cells, ..Figure::default() };
        let tree = || [root(), other(), other(), other()];
        let two = of([tree(), tree()].concat());
        assert_eq!(two.groups(), [4, 4]);
        let rows: Vec<i32> = grouped_places(&[4, 4], 2).iter().map(|place| place.1).collect();
        assert_eq!(rows, [0, 0, 1, 1, 2, 2, 3, 3]);
        let split_and_whole = of([&tree()[..3], &[root()]].concat());
        assert_eq!(split_and_whole.groups(), [3, 1]);
        assert_eq!(grouped_places(&[3, 1], 3)[3], (0, 1));
        // Features that are not split stand side by side.
        assert_eq!(of(vec![root(), root()]).groups(), [2]);
    }

    #[test]
    fn no_text_is_wider_than_its_place() {
        let text = "a title with more words than fit into a line";
        let lines = wrapped(text, 120, 12);
        assert!(lines.len() > 1 && lines.iter().all(|line| width_of(line, 12) <= 120));
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn a_long_entry_of_a_legend_takes_several_rows() {
        let entry = |name: &str| Entry { name: name.to_owned(), layers: Vec::new() };
        let long = "a name with more words than fit into a line ".repeat(3);
        let entries = [entry("one"), entry("two"), entry(&long), entry("three")];
        let lines = entries[2].lines(300).len() as i32;
        assert!(lines > 2);
        let places = places(&entries, 300);
        assert_eq!([places[0].1, places[1].1, places[2].1, places[3].1], [0, 0, 1, 1 + lines]);
        assert_eq!(rows_of(&entries, 300), 2 + lines);
        // Columns stand below each other, and entries nowhere on others.
        let names = ["a", "a longer name", "b", "a much longer name", "c", &long, "name", "d"];
        let entries = names.map(entry);
        let places = super::places(&entries, 420);
        for (one, place) in entries.iter().zip(&places) {
            let behind = places.iter().filter(|other| other.1 == place.1 && other.0 > place.0);
            assert!(behind.into_iter().all(|other| other.0 >= place.0 + one.width()));
        }
        assert_eq!((places[0].0, places[1].0), (places[2].0, places[3].0));
    }
}
