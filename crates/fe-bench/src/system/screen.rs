//! Standard output, which may be a terminal: whatever is written to it can be seen, and commands nothing.

use std::borrow::Cow;
use std::io::{Result, Write};

use crate::system::say::visible;

/// The most bytes of a character.
const LONGEST: usize = 4;

/// Passes text on with the characters written out that [`visible`] does not let pass: as `\u001b`, so
/// that JSON stays JSON.
///
/// ```
/// use std::io::Write;
/// let mut seen = Vec::new();
/// fe_bench::system::screen::Screen::new(&mut seen).write_all(b"a\x1b[2Jb\n").unwrap();
/// assert_eq!(seen, b"a\\u001b[2Jb\n");
/// ```
#[derive(Debug)]
pub struct Screen<W> {
    inside: W,
    /// The beginning of a character whose end is still to come.
    begun: Vec<u8>,
}

impl<W: Write> Screen<W> {
    /// In front of a writer.
    pub fn new(inside: W) -> Self {
        Self { inside, begun: Vec::new() }
    }

    fn pass(&mut self, bytes: &[u8]) -> Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            let (text, rest) = match std::str::from_utf8(left) {
                Ok(text) => (text, &[][..]),
                Err(error) => {
                    let (text, rest) = left.split_at(error.valid_up_to());
                    (std::str::from_utf8(text).unwrap_or_default(), rest)
                }
            };
            self.inside.write_all(in_json(text).as_bytes())?;
            left = rest;
            if left.is_empty() {
                break;
            }
            match std::str::from_utf8(left).map_err(|error| error.error_len()) {
                Err(None) if left.len() < LONGEST => {
                    self.begun = left.to_vec();
                    break;
                }
                Err(Some(wrong)) => {
                    self.inside.write_all("\u{fffd}".as_bytes())?;
                    left = &left[wrong..];
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A text with the characters written out that [`visible`] does not let pass, as JSON writes them: its standard leaves
/// some of them as they are.
///
/// ```
/// assert_eq!(fe_bench::system::screen::in_json("\"a\u{9b}\""), "\"a\\u009b\"");
/// ```
#[must_use]
pub fn in_json(text: &str) -> Cow<'_, str> {
    let Cow::Owned(_) = visible(text) else { return Cow::Borrowed(text) };
    let one = |c: char| match visible(c.encode_utf8(&mut [0; 4])) {
        Cow::Owned(_) => format!("\\u{:04x}", u32::from(c)),
        Cow::Borrowed(_) => c.to_string(),
    };
    Cow::Owned(text.chars().map(one).collect())
}

/// Bytes that are passed on without being looked at more closely.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.begun.is_empty() && bytes.iter().copied().all(is_plain) {
            self.inside.write_all(bytes)?;
        } else {
            let mut all = std::mem::take(&mut self.begun);
            all.extend_from_slice(bytes);
            self.pass(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.inside.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_pieces_is_the_same_text() {
        let text = "plain ü € 𝄞 \u{1b}[31m \u{9b} \u{202e} \r\n\t\u{7f}";
        let expected = in_json(text).into_owned();
        assert_eq!(expected, "plain ü € 𝄞 \\u001b[31m \\u009b \\u202e \\u000d\n\t\\u007f");
        for size in 1..text.len() {
            let mut screen = Screen::new(Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| screen.write_all(piece).unwrap());
            assert_eq!(String::from_utf8(screen.inside).unwrap(), expected, "{size}");
        }
        let mut screen = Screen::new(Vec::new());
        screen.write_all(b"a\xffb\xe2\x82").unwrap();
        screen.write_all(b"\x41").unwrap();
        assert_eq!(String::from_utf8(screen.inside).unwrap(), "a\u{fffd}b\u{fffd}A");
    }
}
