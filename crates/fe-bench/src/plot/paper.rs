//! Images of lines and shapes for printing: PDF and EPS, whose letters are shapes, so that no font is needed.
//!
//! Both are the same list of drawing operators, packed; they are PDF's own, and an EPS file defines them. Its places are told
//! from the point before.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use resvg::tiny_skia::PathSegment;
use resvg::usvg::{Color, FillRule, Group, LineCap, LineJoin, Node, Paint, Path, Stroke, Tree};

use super::form::{Form, PIXELS};
use super::scene;
use crate::error::{Error, Result};

/// Points in a pixel.
const POINTS: f64 = 72.0 / PIXELS;

/// The image as a PDF file.
pub(super) fn pdf(svg: &str, title: &str, form: &Form) -> Result<Vec<u8>> {
    let tree = scene::of_svg(svg, form)?;
    let mut drawing = Drawing { see_through: true, ..Drawing::default() };
    drawing.group(tree.root(), 1.0);
    let (width, height) = size(&tree);
    let content = format!("{POINTS} 0 0 -{POINTS} 0 {height:.3} cm\n{}", drawing.operators);
    let packed = packed(&content)?;
    let states: String = (0..)
        .zip(&drawing.opacities)
        .map(|(i, opacity)| format!("/G{i} << /ca {opacity} /CA {opacity} >> "))
        .collect();
    let stream = |about: &str, data: &[u8]| {
        let head = format!("<< {about}/Length {} >>\nstream\n", data.len());
        [head.as_bytes(), data, b"\nendstream"].concat()
    };
    Ok(file(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3} {height:.3}] /Contents 4 0 R \
             /Resources << /ExtGState << {states}>> >> /Group << /S /Transparency /CS /DeviceRGB >> >>"
        )
        .into_bytes(),
        stream("/Filter /FlateDecode ", &packed),
        format!("<< /Title <{}> >>", hexadecimal(title)).into_bytes(),
    ]))
}

/// The image as an EPS file. It knows no transparency: what lets through what is below is as pale as it would be on
/// white.
pub(super) fn eps(svg: &str, title: &str, form: &Form) -> Result<Vec<u8>> {
    let tree = scene::of_svg(svg, form)?;
    let mut drawing = Drawing::default();
    drawing.group(tree.root(), 1.0);
    let (width, height) = size(&tree);
    // Lines of comments are short, and of plain characters.
    let title: String =
        title.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    let title: String = title.chars().take(200).collect();
    let (right, top) = (width.ceil(), height.ceil());
    Ok(format!(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 {right} {top}\n\
         %%HiResBoundingBox: 0 0 {width:.3} {height:.3}\n%%Title: {title}\n%%LanguageLevel: 3\n\
         %%EndComments\nsave 32 dict begin\n\
         /m {{moveto}} bind def /l {{rlineto}} bind def /c {{rcurveto}} bind def /h {{closepath}} bind def\n\
         /rg {{setrgbcolor}} bind def /RG {{setrgbcolor}} bind def /w {{setlinewidth}} bind def\n\
         /J {{setlinecap}} bind def /j {{setlinejoin}} bind def /d {{setdash}} bind def\n\
         /f {{fill}} bind def /f* {{eofill}} bind def /S {{stroke}} bind def\n\
         0 {height:.3} translate {POINTS} -{POINTS} scale\n\
         /a currentfile /ASCII85Decode filter def /z a /FlateDecode filter def\n\
         {{ z cvx exec a flushfile }} exec\n{}end restore\nshowpage\n%%EOF\n",
        in_characters(&packed(&(drawing.below + &drawing.operators))?)
    )
    .into_bytes())
}

fn packed(text: &str) -> Result<Vec<u8>> {
    let packing = |e: std::io::Error| Error::Drawing(e.to_string());
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes()).map_err(packing)?;
    packed.finish().map_err(packing)
}

/// Length of a line of characters.
const WIDTH: usize = 76;

/// Bytes in the 85 characters of PostScript, four in five.
fn in_characters(bytes: &[u8]) -> String {
    let mut characters = Vec::with_capacity(bytes.len() * 5 / 4 + 8);
    for four in bytes.chunks(4) {
        let mut padded = [0; 4];
        padded[..four.len()].copy_from_slice(four);
        let mut value = u32::from_be_bytes(padded);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = b'!' + (value % 85) as u8;
            value /= 85;
        }
        match (four.len(), digits) {
            (4, [b'!', b'!', b'!', b'!', b'!']) => characters.push(b'z'),
            (length, digits) => characters.extend(&digits[..=length]),
        }
    }
    let mut text = String::new();
    for line in characters.chunks(WIDTH) {
        // A line that begins with two of them would be a comment on the file.
        if line[0] == b'%' {
            text.push(' ');
        }
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text + "~>\n"
}

/// Width and height in points.
fn size(tree: &Tree) -> (f64, f64) {
    let size = tree.size();
    (POINTS * f64::from(size.width()), POINTS * f64::from(size.height()))
}

/// Objects as a PDF file, the catalogue first and what is known of the file last.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    // The second line says that there are other bytes than text.
    let mut bytes = b"%PDF-1.5\n%\xE2\xE3\xCF\xD3\n".to_vec();
    let mut places = String::new();
    for (number, object) in (1..).zip(objects) {
        let _ = writeln!(places, "{:010} 00000 n ", bytes.len());
        bytes.extend(format!("{number} 0 obj\n").bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let (start, count) = (bytes.len(), objects.len() + 1);
    bytes.extend(format!("xref\n0 {count}\n0000000000 65535 f \n{places}").bytes());
    let info = objects.len();
    let trailer = format!(
        "trailer\n<< /Size {count} /Root 1 0 R /Info {info} 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    bytes.extend(trailer.bytes());
    bytes
}

/// A text in the digits of its UTF-16 units, marked as such.
fn hexadecimal(text: &str) -> String {
    std::iter::once(0xfeff).chain(text.encode_utf16()).map(|unit| format!("{unit:04x}")).collect()
}

/// Operators that draw shapes.
#[derive(Default)]
struct Drawing {
    operators: String,
    /// Those of pale areas, where nothing is seen through: they would hide the lines that they lie over.
    below: String,
    /// True if what is below may be seen.
    see_through: bool,
    /// The opacities that were used, each the state of its place.
    opacities: Vec<f32>,
}

impl Drawing {
    fn group(&mut self, group: &Group, opacity: f32) {
        let opacity = opacity * group.opacity().get();
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner, opacity),
                Node::Path(path) if path.is_visible() => self.path(path, opacity),
                Node::Text(text) => self.group(text.flattened(), opacity),
                Node::Path(_) | Node::Image(_) => {}
            }
        }
    }

    fn path(&mut self, path: &Path, opacity: f32) {
        let transform = path.abs_transform();
        let Some(moved) = path.data().clone().transform(transform) else { return };
        let way = if self.see_through { Way::Absolute } else { Way::Relative };
        let outline = outline(moved.segments(), way);
        if let Some(fill) = path.fill() {
            let opacity = opacity * fill.opacity().get();
            let above = std::mem::take(&mut self.operators);
            self.colour(fill.paint(), opacity, "rg");
            let how = if fill.rule() == FillRule::EvenOdd { "f*" } else { "f" };
            let _ = writeln!(self.operators, "{outline}{how}");
            let own = std::mem::replace(&mut self.operators, above);
            match (self.see_through, opacity < 1.0) {
                (false, true) => self.below.push_str(&own),
                // Paper is white.
                (false, false) if is_white(fill.paint()) => {}
                _ => self.operators.push_str(&own),
            }
        }
        if let Some(stroke) = path.stroke() {
            self.colour(stroke.paint(), opacity * stroke.opacity().get(), "RG");
            self.pen(stroke, transform.get_scale().0);
            let _ = writeln!(self.operators, "{outline}S");
        }
    }

    /// Sets the colour; what is pale is see-through, or mixed with white.
    fn colour(&mut self, paint: &Paint, opacity: f32, operator: &str) {
        let colour = if let Paint::Color(colour) = paint { *colour } else { Color::black() };
        let share = if self.see_through { 1.0 } else { opacity };
        let part = |part: u8| number(1.0 - share * (1.0 - f32::from(part) / 255.0));
        let parts = [colour.red, colour.green, colour.blue].map(part).join(" ");
        if self.see_through {
            let known = self.opacities.iter().position(|known| *known == opacity);
            let place = known.unwrap_or_else(|| {
                self.opacities.push(opacity);
                self.opacities.len() - 1
            });
            let _ = writeln!(self.operators, "/G{place} gs");
        }
        let _ = writeln!(self.operators, "{parts} {operator}");
    }

    fn pen(&mut self, stroke: &Stroke, scale: f32) {
        let cap = match stroke.linecap() {
            LineCap::Butt => 0,
            LineCap::Round => 1,
            LineCap::Square => 2,
        };
        let join = match stroke.linejoin() {
            LineJoin::Round => 1,
            LineJoin::Bevel => 2,
            LineJoin::Miter | LineJoin::MiterClip => 0,
        };
        let dashes = stroke.dasharray().unwrap_or_default().iter();
        let dashes: Vec<String> = dashes.map(|dash| number(dash * scale)).collect();
        let (width, offset) = (stroke.width().get() * scale, stroke.dashoffset() * scale);
        let _ = writeln!(
            self.operators,
            "{} w {cap} J {join} j [{}] {} d",
            number(width),
            dashes.join(" "),
            number(offset)
        );
    }
}

fn is_white(paint: &Paint) -> bool {
    matches!(paint, Paint::Color(colour) if *colour == Color::white())
}

/// The operators of an outline, one to a line.
fn outline(segments: impl Iterator<Item = PathSegment>, way: Way) -> String {
    let mut text = String::new();
    let mut pen = Pen { way, start: (0.0, 0.0), at: (0.0, 0.0) };
    let mut last = (0.0, 0.0);
    for segment in segments {
        let _ = match segment {
            PathSegment::MoveTo(p) => {
                pen.start = (p.x, p.y);
                pen.at = (0.0, 0.0);
                writeln!(text, "{} {} m", number(p.x), number(p.y))
            }
            PathSegment::LineTo(p) => writeln!(text, "{} l", pen.to(&[(p.x, p.y)])),
            // A cubic curve with the same points.
            PathSegment::QuadTo(q, p) => {
                let third = |end: f32, middle: f32| end + 2.0 / 3.0 * (middle - end);
                let first = (third(last.0, q.x), third(last.1, q.y));
                let second = (third(p.x, q.x), third(p.y, q.y));
                writeln!(text, "{} c", pen.to(&[first, second, (p.x, p.y)]))
            }
            PathSegment::CubicTo(a, b, p) => {
                writeln!(text, "{} c", pen.to(&[(a.x, a.y), (b.x, b.y), (p.x, p.y)]))
            }
            PathSegment::Close => writeln!(text, "h"),
        };
        if let PathSegment::MoveTo(p)
        | PathSegment::LineTo(p)
        | PathSegment::QuadTo(_, p)
        | PathSegment::CubicTo(_, _, p) = segment
        {
            last = (p.x, p.y);
        }
    }
    text
}

/// The point from which places in an outline are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Way {
    /// The corner of the image.
    #[default]
    Absolute,
    /// The point before. The same letter is the same text wherever it stands, which packs well.
    Relative,
}

/// The way that an outline has come.
struct Pen {
    way: Way,
    start: (f32, f32),
    /// Its last point, as it was written, from the start.
    at: (f32, f32),
}

impl Pen {
    /// The numbers of some points, the last of which is the next to start from.
    fn to(&mut self, points: &[(f32, f32)]) -> String {
        let from_start =
            |(x, y): &(f32, f32)| (rounded(x - self.start.0), rounded(y - self.start.1));
        let written = |point: &(f32, f32)| match self.way {
            Way::Absolute => [point.0, point.1],
            Way::Relative => {
                let (x, y) = from_start(point);
                [x - self.at.0, y - self.at.1]
            }
        };
        let all: Vec<String> = points.iter().flat_map(written).map(number).collect();
        if let Some(last) = points.last() {
            self.at = from_start(last);
        }
        all.join(" ")
    }
}

fn rounded(value: f32) -> f32 {
    (value * 100.0).round() / 100.0
}

/// A number to a hundredth of a pixel.
fn number(value: f32) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg width=\"96\" height=\"48\" viewBox=\"0 0 192 96\" xmlns=\"http://www.w3.org/2000/svg\">\
        <rect x=\"0\" y=\"0\" width=\"192\" height=\"96\" fill=\"#FFFFFF\"/>\
        <line opacity=\"0.5\" stroke=\"#FF0000\" stroke-width=\"4\" x1=\"0\" y1=\"96\" x2=\"192\" y2=\"0\"/>\
        <text x=\"10\" y=\"40\" font-family=\"sans-serif\" font-size=\"20\">µ</text></svg>";

    #[test]
    fn an_eps_file_has_its_size_and_pale_colours() {
        let text = String::from_utf8(eps(SVG, "µ (x)", &Form::default()).unwrap()).unwrap();
        assert!(text.starts_with("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 72 36\n"));
        assert!(text.contains("%%Title: ? (x)\n"));
        let (_, packed) = text.split_once("} exec\n").unwrap();
        let text = unpacked(packed.split_once("~>").unwrap().0);
        // Half a red on white; the line in pixels, and half as wide.
        assert!(text.contains("1 0.5 0.5 RG\n2 w 0 J 0 j [] 0 d\n0 48 m\n96 -48 l\nS\n"), "{text}");
        assert!(!text.contains(" gs"));
        // A pale area hides no line, wherever it stood.
        let svg = SVG.replace("<text", "<rect x=\"0\" y=\"0\" width=\"9\" height=\"9\" fill=\"#0000FF\" opacity=\"0.5\"/><text");
        let text = String::from_utf8(eps(&svg, "", &Form::default()).unwrap()).unwrap();
        let text = unpacked(text.split_once("} exec\n").unwrap().1.split_once("~>").unwrap().0);
        assert!(text.find("0.5 0.5 1 rg").unwrap() < text.find("1 0.5 0.5 RG").unwrap(), "{text}");
        assert!(!text.contains("1 1 1 rg"), "paper is white");
        // The letter is a shape.
        assert!(text.matches(" c\n").count() > 5 || text.matches(" l\n").count() > 10);
    }

    /// The operators within an EPS file.
    fn unpacked(characters: &str) -> String {
        let mut bytes = Vec::new();
        let mut group: Vec<u8> = Vec::new();
        let mut take = |group: &mut Vec<u8>, length: usize| {
            group.resize(5, b'u');
            let value = group.iter().fold(0_u32, |value, digit| {
                value.wrapping_mul(85).wrapping_add(u32::from(digit - b'!'))
            });
            bytes.extend(&value.to_be_bytes()[..length]);
            group.clear();
        };
        for character in characters.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            match character {
                b'z' => take(&mut vec![b'!'; 5], 4),
                digit => group.push(digit),
            }
            if group.len() == 5 {
                take(&mut group, 4);
            }
        }
        if group.len() > 1 {
            let length = group.len() - 1;
            take(&mut group, length);
        }
        let mut text = String::new();
        let mut reader = flate2::read::ZlibDecoder::new(&bytes[..]);
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        text
    }

    #[test]
    fn bytes_are_characters_of_short_lines() {
        assert_eq!(in_characters(b"Man "), "9jqo^\n~>\n");
        assert_eq!(in_characters(&[0, 0, 0, 0, 1]), "z!<\n~>\n");
        let long = in_characters(&[0x12; 400]);
        assert!(long.lines().all(|line| line.len() <= WIDTH + 1));
        // Two of them would begin a comment on the file.
        let percents = in_characters(&0x0c98_00b4_u32.to_be_bytes().repeat(100));
        assert!(percents.contains("%%") && !percents.contains("\n%"), "{percents}");
    }

    #[test]
    fn a_pdf_file_says_where_its_objects_are() {
        let bytes = pdf(SVG, "µ", &Form::default()).unwrap();
        assert_eq!(bytes, pdf(SVG, "µ", &Form::default()).unwrap());
        let find = |text: &str| bytes.windows(text.len()).position(|part| part == text.as_bytes());
        assert!(find("/MediaBox [0 0 72.000 36.000]").is_some());
        assert!(find("/ca 0.5").is_some() && find("<feff00b5>").is_some());
        let tail = String::from_utf8_lossy(&bytes[bytes.len() - 40..]).into_owned();
        let start: usize =
            tail.split("startxref\n").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        let table = String::from_utf8_lossy(&bytes[start..]).into_owned();
        let places: Vec<usize> =
            table.lines().skip(3).take(5).map(|line| line[..10].parse().unwrap()).collect();
        for (number, place) in (1..).zip(places) {
            assert!(bytes[place..].starts_with(format!("{number} 0 obj").as_bytes()), "{number}");
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, -0.0001, 1.5, 12.3456, 100.0].map(number),
            ["0", "0", "1.5", "12.35", "100"]
        );
    }
}
