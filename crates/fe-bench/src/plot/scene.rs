//! Contents of an SVG image, with letters as shapes: what is drawn does not depend on the fonts of a system.

use std::sync::Arc;

use resvg::usvg::{Options, Tree, fontdb};

use super::form::Form;
use crate::error::{Error, Result};

/// The font of the program.
const FAMILY: &str = "DejaVu Sans";
/// The longest description of an image, which takes many times its length once it is read.
const LONGEST: usize = 24 << 20;

/// The shapes of an image, in the font of a form.
pub(super) fn of_svg(svg: &str, form: &Form) -> Result<Tree> {
    if svg.len() > LONGEST {
        return Err(too_large(&format!("{} MB of lines and words", svg.len() >> 20)));
    }
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    if let Some(font) = &form.font {
        fonts.load_font_data(font.data()?.to_vec());
    }
    let options =
        Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|e| Error::Drawing(e.to_string()))
}

/// The refusal of an image.
pub(super) fn too_large(size: &str) -> Error {
    let advice = "draw fewer features or estimates, or an SVG image";
    Error::Drawing(format!("too large for this kind of image, with {size}: {advice}"))
}
