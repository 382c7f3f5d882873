//! Colours, dashes and markers that stay apart for the colour-blind and in print.

use plotters::style::RGBColor;

/// The look of a mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarkStyle {
    /// Its colour.
    pub colour: RGBColor,
    /// Opacity, from 0 to 1.
    pub opacity: f64,
    /// Width of its lines in pixels.
    pub width: f64,
    /// Lengths of its dashes and gaps in pixels; 0 for a full line.
    pub dashes: (i32, i32),
    /// Its marker.
    pub marker: Marker,
}

/// The marker at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// None.
    None,
    /// A filled disc.
    Disc,
    /// A filled square.
    Square,
    /// A filled triangle.
    Triangle,
    /// An oblique cross.
    Cross,
    /// A circle.
    Circle,
}

/// Black.
pub const BLACK: RGBColor = RGBColor(0, 0, 0);
/// For what is to stay in the background.
pub const GREY: RGBColor = RGBColor(120, 120, 120);
/// The blue of [`PALETTE`].
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// The green of [`PALETTE`].
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
/// The vermilion of [`PALETTE`].
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);

/// Colours that differ for all kinds of colour vision (Okabe and Ito 2008), dark ones and light ones
/// in turn.
pub const PALETTE: [RGBColor; 7] = [
    BLUE,
    VERMILION,
    BLACK,
    GREEN,
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];
const DASHES: [(i32, i32); 4] = [(0, 0), (9, 4), (3, 3), (15, 4)];
const MARKERS: [Marker; 5] =
    [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Cross, Marker::Circle];

impl MarkStyle {
    /// A full line without markers.
    #[must_use]
    pub const fn line(colour: RGBColor, width: f64) -> Self {
        Self { colour, opacity: 1.0, width, dashes: (0, 0), marker: Marker::None }
    }

    /// The look of one of several series, counted from 0; the first 140 differ.
    #[must_use]
    pub const fn of_series(index: usize) -> Self {
        Self {
            colour: PALETTE[index % PALETTE.len()],
            opacity: 1.0,
            width: 2.0,
            dashes: DASHES[index % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
    }

    /// The same with dashes.
    #[must_use]
    pub const fn dashed(self, dash: i32, gap: i32) -> Self {
        Self { dashes: (dash, gap), ..self }
    }

    /// The same, covering less of what lies below.
    #[must_use]
    pub const fn faint(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }
}
