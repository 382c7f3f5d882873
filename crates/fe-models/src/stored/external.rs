//! Weights that a model in ONNX keeps in files beside itself, as `torch.onnx.export` does.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use rten_onnx::onnx::TensorProto;

use super::StoredError;

/// The folder of a model, and how much of each file in it was read.
pub(super) struct External<'a> {
    folder: Option<&'a Path>,
    read: HashMap<PathBuf, u64>,
}

impl<'a> External<'a> {
    pub(super) fn new(folder: Option<&'a Path>) -> Self {
        Self { folder, read: HashMap::new() }
    }

    /// The bytes of a tensor, of which there are so many.
    pub(super) fn bytes(&mut self, tensor: &TensorProto, len: u64) -> Result<Vec<u8>, StoredError> {
        let entry = |key: &str| {
            let found = tensor.external_data.iter().find(|e| e.key.as_deref() == Some(key));
            found.and_then(|entry| entry.value.as_deref())
        };
        let location = entry("location").unwrap_or_default();
        let wrong = |reason: String| StoredError::Weights { file: location.to_owned(), reason };
        let Some(folder) = self.folder else {
            return Err(StoredError::unsupported(
                format!("a model with weights in another file (`{location}`)"),
                "read it from its folder, or export it with external_data=False",
            ));
        };
        let number = |key: &str, default: u64| match entry(key) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| wrong(format!("{key} is `{text}`"))),
        };
        let (offset, given) = (number("offset", 0)?, number("length", len)?);
        if given != len {
            return Err(wrong(format!("length is {given} where the tensor has {len} bytes")));
        }
        let path = place(folder, location).map_err(wrong)?;
        let of_file = |error: io::Error| wrong(error.to_string());
        let size = path.metadata().map_err(of_file)?.len();
        // No file is read more than once over, however many tensors name the same bytes.
        let read = self.read.entry(path.clone()).or_default();
        *read = read.saturating_add(len);
        if offset.checked_add(len).is_none_or(|end| end > size) || *read > size {
            let reason =
                format!("bytes {offset} to {offset} + {len} of {size}, or weights overlap");
            return Err(wrong(reason));
        }
        let mut file = File::open(&path).map_err(of_file)?;
        file.seek(SeekFrom::Start(offset)).map_err(of_file)?;
        let mut bytes = Vec::new();
        file.take(len).read_to_end(&mut bytes).map_err(of_file)?;
        Ok(bytes)
    }
}

/// A regular file in a folder by the name that a model gives it, wherever links lead.
fn place(folder: &Path, location: &str) -> Result<PathBuf, String> {
    let name = Path::new(location);
    let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
    if location.is_empty() || !is_inside {
        return Err("must be a relative path without `..`".to_owned());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let found = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
    let (folder, path) = (found(folder)?, found(&folder.join(name))?);
    if !path.starts_with(&folder) {
        return Err("leads out of the folder of the model".to_owned());
    }
    if !path.is_file() {
        return Err("is not a regular file".to_owned());
    }
    Ok(path)
}
