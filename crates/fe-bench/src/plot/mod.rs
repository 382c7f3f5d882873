//! Figures: described as plain data, drawn as SVG, and from there as PNG.
//!
//! It imports `record`, `score` and what these import. Begin with [`figure`], what a figure is. Its contents are decided by
//! [`sweep`] (errors of studies), [`recorded`] (the curves that they keep), [`kept_trees`], [`effects`] (effects beside their truth, with
//! what single instances say), [`surfaces`] of pairs, [`indices`] and [`truths`]; its looks by `style`, `scale` and `draw`. The same figure gives the same bytes.

mod draw;
pub mod effects;
pub mod figure;
pub mod indices;
pub mod kept_trees;
mod levels;
mod png;
pub mod recorded;
mod scale;
pub mod style;
pub mod surfaces;
pub mod sweep;
pub mod truths;

use std::io::Write;
use std::path::Path;

pub use figure::Figure;

use crate::error::{Error, Result};
use crate::system::files;
use crate::system::guard::Temporary;

/// Refuses a file that no figure can be written to, or that is an input: better said before the work than
/// after it.
///
/// # Errors
/// As [`files::check_output`]; an ending other than `.svg` and `.png`.
pub fn check_file(path: &Path, inputs: &[&Path]) -> Result<()> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg" | "png") => files::check_output(path, inputs),
        _ => Err(Error::content(path, "a figure is called NAME.svg or NAME.png")),
    }
}

impl Figure {
    /// The figure as an SVG image.
    ///
    /// # Errors
    /// [`Error::Drawing`].
    pub fn svg(&self) -> Result<String> {
        draw::svg(self)
    }

    /// The figure as a PNG image, at twice the size of the SVG image; its font is part of the program.
    ///
    /// # Errors
    /// [`Error::Drawing`].
    pub fn png(&self) -> Result<Vec<u8>> {
        png::of_svg(&self.svg()?)
    }

    /// Writes the figure to a file, whole or not at all; its ending says as what.
    ///
    /// # Errors
    /// An ending other than `.svg` and `.png`, and whatever the system reports.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => self.svg()?.into_bytes(),
            Some("png") => self.png()?,
            _ => return Err(Error::content(path, "a figure is called NAME.svg or NAME.png")),
        };
        write_whole(path, &bytes)
    }
}

/// Writes a file so that nobody ever sees a part of it.
///
/// # Errors
/// Whatever the system reports.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut unfinished = tempfile::Builder::new();
    // Readable for everybody whom the user's own mask lets in, unlike temporary files.
    #[cfg(unix)]
    unfinished.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = unfinished.tempfile_in(files::parent(path)).map_err(Error::file(path))?;
    let _temporary = Temporary::at(file.path());
    file.write_all(bytes).map_err(Error::file(path))?;
    file.persist(path).map_err(|e| Error::file(path)(e.error))?;
    Ok(())
}

/// A word of the core, as it stands in files.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
