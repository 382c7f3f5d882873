//! SVG to PNG, with the font of the program: what is drawn does not depend on the fonts of a system.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::error::{Error, Result};

const FAMILY: &str = "DejaVu Sans";
const SCALE: f32 = 2.0;
/// The most pixels of an image; one of them takes four bytes.
const MOST_PIXELS: f32 = 5e7;
/// The longest description of an image, which takes many times its length once it is read.
const LONGEST: usize = 24 << 20;

pub(super) fn of_svg(svg: &str) -> Result<Vec<u8>> {
    let too_large = |size: String| {
        let advice = "draw fewer features or estimates, or an SVG image";
        Error::Drawing(format!("too large for a PNG image, with {size}: {advice}"))
    };
    let (width, height) = size(svg);
    if width * height * SCALE * SCALE > MOST_PIXELS {
        return Err(too_large(format!("{} × {} pixels", SCALE * width, SCALE * height)));
    }
    if svg.len() > LONGEST {
        return Err(too_large(format!("{} MB of lines and words", svg.len() >> 20)));
    }
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let options =
        Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|e| Error::Drawing(e.to_string()))?;
    let size = tree.size();
    let pixels = |length: f32| (length * SCALE).ceil() as u32;
    let mut image = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| too_large(format!("{width} × {height} units")))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    image.encode_png().map_err(|e| Error::Drawing(e.to_string()))
}

/// Width and height of an image, as it says itself in its first line.
fn size(svg: &str) -> (f32, f32) {
    let of = |name: &str| {
        let (_, rest) = svg.split_once(name)?;
        rest.split('"').nth(1)?.parse().ok()
    };
    (of("width=").unwrap_or(0.0), of("height=").unwrap_or(0.0))
}
