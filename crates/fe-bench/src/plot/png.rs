//! Images of pixels.

use resvg::tiny_skia::{Pixmap, Transform};

use super::form::{Form, PIXELS};
use super::scene;
use crate::error::{Error, Result};

/// The most pixels of an image; one of them takes four bytes.
const MOST_PIXELS: f64 = 5e7;

pub(super) fn of_svg(svg: &str, form: &Form) -> Result<Vec<u8>> {
    let scale = form.resolution / PIXELS;
    let (width, height) = size(svg);
    if width * height * scale * scale > MOST_PIXELS {
        let size = format!("{:.0} × {:.0} pixels", scale * width, scale * height);
        return Err(scene::too_large(&size));
    }
    let tree = scene::of_svg(svg, form)?;
    let (size, scale) = (tree.size(), scale as f32);
    let pixels = |length: f32| (length * scale).ceil() as u32;
    let mut image = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| scene::too_large(&format!("{width} × {height} units")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut image.as_mut());
    let image = image.encode_png().map_err(|e| Error::Drawing(e.to_string()))?;
    Ok(with_resolution(image, form.resolution))
}

/// Width and height of an image, as it says itself in its first line.
fn size(svg: &str) -> (f64, f64) {
    let of = |name: &str| {
        let (_, rest) = svg.split_once(name)?;
        rest.split('"').nth(1)?.parse().ok()
    };
    (of("width=").unwrap_or(0.0), of("height=").unwrap_or(0.0))
}

/// The image with the size of its pixels, so that it is printed at the size that was asked for.
fn with_resolution(image: Vec<u8>, dots: f64) -> Vec<u8> {
    // The signature and the header, of 8 and 25 bytes, come first in all images.
    const HEAD: usize = 33;
    let per_metre = ((dots / 0.0254).round() as u32).to_be_bytes();
    let mut kind_and_data = b"pHYs".to_vec();
    kind_and_data.extend([per_metre, per_metre].concat());
    kind_and_data.push(1);
    let mut chunk = 9_u32.to_be_bytes().to_vec();
    chunk.extend(&kind_and_data);
    chunk.extend(crc32fast::hash(&kind_and_data).to_be_bytes());
    [&image[..HEAD], &chunk, &image[HEAD..]].concat()
}
