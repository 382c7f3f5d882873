//! Figures: described as plain data, drawn as SVG, and from there as PNG, PDF and EPS.
//!
//! It imports `record`, `score` and what these import. Begin with [`figure`], what a figure is. Its contents are decided by
//! [`sweep`] (errors of studies), [`recorded`] (the curves that they keep), [`kept_trees`], [`effects`] (effects beside their truth, with
//! what single instances say), [`surfaces`] of pairs, [`indices`] and [`truths`]; its looks by `style`, `scale` and `draw`,
//! its size and font by a [`Form`]. The same figure gives the same bytes.

pub mod coinciding;
pub mod comparison;
pub mod coverage;
mod draw;
pub mod effects;
pub mod figure;
pub mod form;
pub mod indices;
pub mod kept_trees;
mod levels;
mod paper;
mod png;
pub mod recorded;
mod scale;
mod scene;
pub mod style;
pub mod surfaces;
pub mod sweep;
pub mod truths;
pub mod zip;

use std::io::Write;
use std::path::Path;

pub use figure::Figure;
pub use form::{Font, Form};

use crate::error::{Error, Result};
use crate::study::labels;
use crate::system::files;
use crate::system::guard::Temporary;

/// The kinds of files that a figure is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// An image whose words are text, in the reader's font.
    Svg,
    /// An image of pixels.
    Png,
    /// An image of lines and shapes, letters among them.
    Pdf,
    /// The same in PostScript, without transparency.
    Eps,
}

impl FileKind {
    /// All kinds.
    const ALL: [Self; 4] = [Self::Svg, Self::Png, Self::Pdf, Self::Eps];

    /// The kind that the ending of a file says.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_said = |kind: &Self| ending == Some(kind.ending());
        Self::ALL.into_iter().find(is_said).ok_or_else(|| {
            Error::content(path, "a figure is called NAME.svg, NAME.png, NAME.pdf or NAME.eps")
        })
    }

    /// The ending of such files.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
            Self::Eps => "eps",
        }
    }
}

/// Refuses a file that no figure can be written to, or that is an input: better said before the work than
/// after it.
///
/// # Errors
/// As [`files::check_output`]; an ending that is none of a [`FileKind`], and a font without its letters where these
/// are needed.
pub fn check_file(path: &Path, form: &Form, inputs: &[&Path]) -> Result<()> {
    check_kind(FileKind::of(path)?, form)?;
    files::check_output(path, inputs)
}

/// Refuses a font without its letters where these are needed.
///
/// # Errors
/// What a [`Font`] says.
pub fn check_kind(kind: FileKind, form: &Form) -> Result<()> {
    match &form.font {
        Some(font) if kind != FileKind::Svg => font.data().map(|_| ()),
        _ => Ok(()),
    }
}

impl Figure {
    /// The figure as an SVG image for a screen.
    ///
    /// # Errors
    /// [`Error::Drawing`].
    pub fn svg(&self) -> Result<String> {
        draw::svg(self, &Form::default())
    }

    /// The figure as a file of some kind; letters that are not text are those of the program or of the form's font.
    ///
    /// # Errors
    /// [`Error::Drawing`].
    pub fn bytes(&self, kind: FileKind, form: &Form) -> Result<Vec<u8>> {
        let svg = draw::svg(self, form)?;
        match kind {
            FileKind::Svg => Ok(svg.into_bytes()),
            FileKind::Png => png::of_svg(&svg, form),
            FileKind::Pdf => paper::pdf(&svg, &self.title, form),
            FileKind::Eps => paper::eps(&svg, &self.title, form),
        }
    }

    /// Writes the figure to a file, whole or not at all; its ending says as what.
    ///
    /// # Errors
    /// An ending that is none of a [`FileKind`], and whatever the system reports.
    pub fn write(&self, path: &Path, form: &Form) -> Result<()> {
        write_whole(path, &self.bytes(FileKind::of(path)?, form)?)
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

/// The words at the axis of an effect on an output, by what it is centred by.
fn effect_on(output: &str, centring: &str) -> String {
    match labels::centred(centring) {
        None => format!("effect on {output}"),
        Some(words) => format!("effect on {output}, {words}"),
    }
}

/// A word of the core, as it stands in files.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
