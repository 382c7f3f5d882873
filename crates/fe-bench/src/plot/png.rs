//! SVG to PNG, with the font of the program: what is drawn does not depend on the fonts of a system.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::error::{Error, Result};

const FAMILY: &str = "DejaVu Sans";
const SCALE: f32 = 2.0;

pub(super) fn of_svg(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let options =
        Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|e| Error::Drawing(e.to_string()))?;
    let size = tree.size();
    let pixels = |length: f32| (length * SCALE).ceil() as u32;
    let mut image = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| Error::Drawing("the figure is too large for a PNG image".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    image.encode_png().map_err(|e| Error::Drawing(e.to_string()))
}
