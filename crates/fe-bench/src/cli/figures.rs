//! Flags of the form of figures, and the file that a figure goes to.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Result};
use crate::plot::figure::Panel;
use crate::plot::{self, Figure, FileKind, Font, Form, form};

/// Form of figures.
#[derive(Debug, Args)]
pub(super) struct FormArguments {
    /// Width of a figure, such as 3.3in or 84mm; panels are then side by side only where there is room, and
    /// letters have 7.5 points [default: as much as the panels take]
    #[arg(long, value_name = "LENGTH", value_parser = form::length, help_heading = "Figures")]
    width: Option<f64>,
    /// Height of a figure
    #[arg(long, value_name = "LENGTH", value_parser = form::length, help_heading = "Figures")]
    height: Option<f64>,
    /// Font: a file .ttf or .otf or, in SVG, a name such as Arial [default: DejaVu Sans, in SVG the reader's sans-serif]
    #[arg(long, value_name = "FONT", help_heading = "Figures")]
    font: Option<String>,
    /// No heading in figures, as captions have it
    #[arg(long, help_heading = "Figures")]
    no_title: bool,
    /// Dots per inch of PNG images [default: 192]
    #[arg(long, value_name = "DPI", value_parser = form::resolution, help_heading = "Figures")]
    dpi: Option<f64>,
}

impl FormArguments {
    /// The form that they describe.
    pub(super) fn form(&self) -> Result<Form> {
        let usual = Form::default();
        Ok(Form {
            width: self.width,
            height: self.height,
            font: self.font.as_deref().map(Font::named).transpose()?,
            untitled: self.no_title,
            resolution: self.dpi.unwrap_or(usual.resolution),
        })
    }

    /// The first flag that is given.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--width", self.width.is_some()),
            ("--height", self.height.is_some()),
            ("--font", self.font.is_some()),
            ("--no-title", self.no_title),
            ("--dpi", self.dpi.is_some()),
        ];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// The picture in a file, if one is asked for; refuses a file that could not be written, and flags that would have
    /// no effect.
    pub(super) fn picture(&self, path: Option<&Path>, inputs: &[&Path]) -> Result<Option<Picture>> {
        match (path, self.given()) {
            (None, Some(flag)) => {
                Err(Error::Argument(format!("{flag}: only with --plot, whose figure it is about")))
            }
            (None, None) => Ok(None),
            (Some(path), _) => {
                let form = self.form()?;
                plot::check_file(path, &form, inputs)?;
                Ok(Some(Picture { path: path.to_owned(), form }))
            }
        }
    }
}

/// Cells of a figure that always find room.
const MANY: usize = 20;

/// A file in which something is drawn.
#[derive(Debug)]
pub(super) struct Picture {
    path: PathBuf,
    form: Form,
}

impl Picture {
    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a figure of so many cells which is too large even where nothing is drawn in them.
    pub(super) fn check_room(&self, cells: usize) -> Result<()> {
        if cells <= MANY {
            return Ok(());
        }
        let empty = Figure { cells: vec![vec![Panel::default()]; cells], ..Figure::default() };
        empty.bytes(FileKind::of(&self.path)?, &self.form).map(drop)
    }

    /// Writes a figure there.
    pub(super) fn write(&self, figure: &Figure) -> Result<()> {
        figure.write(&self.path, &self.form)
    }
}
