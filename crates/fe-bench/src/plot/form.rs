//! The form of a figure on paper or on a screen: size, font, title, and how finely it is printed.

use std::path::Path;

use resvg::usvg::fontdb::Database;

use crate::error::{Error, Result};

/// Pixels in an inch, as browsers and SVG have them.
pub(super) const PIXELS: f64 = 96.0;
/// Figures of a width that was asked for have letters of 7.5 points in place of 9.
pub(super) const ZOOM: f64 = 1.2;
/// Least and largest lengths in pixels: half an inch, and the width of a poster.
const LENGTHS: (f64, f64) = (0.5 * PIXELS, 60.0 * PIXELS);
/// Least and largest numbers of dots per inch.
const RESOLUTIONS: (f64, f64) = (36.0, 2400.0);

/// The form in which a figure is written; the default is that of a screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Width in pixels, of which an inch has 96; none for as much as the panels take.
    pub width: Option<f64>,
    /// Height likewise.
    pub height: Option<f64>,
    /// The font; none for that of the program, or in SVG the reader's own sans-serif.
    pub font: Option<Font>,
    /// True if the heading is left out, as a caption says it.
    pub untitled: bool,
    /// Dots per inch of images of pixels.
    pub resolution: f64,
}

impl Default for Form {
    fn default() -> Self {
        let resolution = 2.0 * PIXELS;
        Self { width: None, height: None, font: None, untitled: false, resolution }
    }
}

/// A font by the name of its family, with the letters themselves where they were read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Font {
    family: String,
    data: Option<Vec<u8>>,
}

impl Font {
    /// The font in a file, or the one of a name.
    ///
    /// # Errors
    /// A file that cannot be read or holds no font, and a name with characters that no font has.
    pub fn named(text: &str) -> Result<Self> {
        let path = Path::new(text);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_file = ["ttf", "otf", "ttc"].contains(&ending.to_lowercase().as_str());
        if !is_file {
            let is_plain = |c: char| c.is_alphanumeric() || " -_.".contains(c);
            if text.trim().is_empty() || !text.chars().all(is_plain) {
                let message = format!(
                    "--font {text}: a font is a name such as Arial, or a file NAME.ttf or NAME.otf"
                );
                return Err(Error::Argument(message));
            }
            return Ok(Self { family: text.trim().to_owned(), data: None });
        }
        let data = crate::system::files::bytes(path)?;
        let mut fonts = Database::new();
        fonts.load_font_data(data.clone());
        let family =
            fonts.faces().find_map(|face| face.families.first().map(|name| name.0.clone()));
        let family = family.ok_or_else(|| Error::content(path, "holds no font"))?;
        Ok(Self { family, data: Some(data) })
    }

    /// The name of its family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// The letters themselves.
    ///
    /// # Errors
    /// A font of which only the name is known.
    pub(super) fn data(&self) -> Result<&[u8]> {
        self.data.as_deref().ok_or_else(|| {
            let family = &self.family;
            Error::Argument(format!(
                "--font {family}: PNG, PDF and EPS hold the letters themselves, so give the file of \
                 the font, as FONT.ttf or FONT.otf; a name alone is for SVG"
            ))
        })
    }
}

/// A length in pixels, of words such as `3.3in`, `84mm`, `8.4cm`, `240pt` and `320px`.
///
/// # Errors
/// What is none, or is no size of a figure.
pub fn length(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 5] = [
        ("in", PIXELS),
        ("cm", PIXELS / 2.54),
        ("mm", PIXELS / 25.4),
        ("pt", PIXELS / 72.0),
        ("px", 1.0),
    ];
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, pixels)| Some((text.strip_suffix(unit)?, pixels)));
    let pixels =
        unit.and_then(|(number, pixels)| Some(number.trim().parse::<f64>().ok()? * pixels));
    match pixels {
        Some(pixels) if (LENGTHS.0..=LENGTHS.1).contains(&pixels) => Ok(pixels),
        Some(_) => Err("must be from 0.5in to 60in".to_owned()),
        None => Err("must be a length such as 3.3in, 84mm, 8.4cm, 240pt or 320px".to_owned()),
    }
}

/// A number of dots per inch.
///
/// # Errors
/// What is none, or out of reason.
pub fn resolution(text: &str) -> Result<f64, String> {
    let (least, most) = RESOLUTIONS;
    let number = text.trim().parse::<f64>().ok().filter(|dots| (least..=most).contains(dots));
    number.ok_or_else(|| format!("must be a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        for (text, pixels) in
            [("3.3in", 316.8), ("25.4mm", 96.0), (" 72 pt ", 96.0), ("320px", 320.0)]
        {
            assert!((length(text).unwrap() - pixels).abs() < 1e-9, "{text}");
        }
        for text in ["3.3", "in", "0.1in", "99in", "-3in", "nanin", "infin", "3 feet", ""] {
            assert!(length(text).is_err(), "{text}");
        }
        assert_eq!(resolution("300"), Ok(300.0));
        assert!(resolution("0").is_err() && resolution("nan").is_err());
    }

    #[test]
    fn fonts_are_names_or_files() {
        let named = Font::named("Liberation Sans").unwrap();
        assert_eq!(named.family(), "Liberation Sans");
        assert!(named.data().unwrap_err().to_string().contains("FONT.ttf"));
        assert!(Font::named("a\"b").is_err() && Font::named(" ").is_err());
        assert!(Font::named("absent.ttf").is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letters.ttf");
        std::fs::write(&path, dejavu::sans::regular()).unwrap();
        let font = Font::named(path.to_str().unwrap()).unwrap();
        assert_eq!(font.family(), "DejaVu Sans");
        assert_eq!(font.data().unwrap(), dejavu::sans::regular());
        std::fs::write(&path, "no font").unwrap();
        assert!(Font::named(path.to_str().unwrap()).unwrap_err().to_string().contains("no font"));
    }
}
