//! A reader of ONNX files that comes to an end whatever the file holds.

use std::cell::Cell;
use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};

use rten_onnx::onnx::ModelProto;
use rten_onnx::protobuf::{DecodeMessage, ReadPos, ValueReader};

/// How often the bytes at a place may be asked for before it is said that there are none.
const LOOKS: usize = 16;

/// The model in a file, or what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<ModelProto, String> {
    let is_stuck = Cell::new(false);
    let reader = Ending { inner: Cursor::new(bytes), place: 0, looks: 0, is_stuck: &is_stuck };
    let answer = ModelProto::decode(ValueReader::new(ReadPos::new(reader)));
    if is_stuck.get() {
        return Err("a number in it has more than 64 bits".to_owned());
    }
    answer.map_err(|error| error.to_string())
}

/// Bytes that end where they are looked at again and again: the library asks for a number of more than
/// 64 bits for ever, because it goes on after errors and takes no byte of such a number.
struct Ending<'a> {
    inner: Cursor<&'a [u8]>,
    place: u64,
    looks: usize,
    is_stuck: &'a Cell<bool>,
}

impl Read for Ending<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.inner.read(bytes)
    }
}

impl Seek for Ending<'_> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.inner.seek(place)
    }
}

impl BufRead for Ending<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let place = self.inner.position();
        self.looks = if place == self.place { self.looks + 1 } else { 0 };
        self.place = place;
        let bytes = self.inner.fill_buf()?;
        if self.looks < LOOKS || bytes.is_empty() {
            return Ok(bytes);
        }
        self.is_stuck.set(true);
        Ok(&[])
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the number of a field, as the version of the file (field 1), and as the dimension of a tensor
    /// in a graph (field 7).
    #[test]
    fn a_number_of_too_many_bits_is_refused() {
        let number = [0xff; 11];
        let within =
            |field: u8, bytes: &[u8]| [&[field << 3 | 2, bytes.len() as u8], bytes].concat();
        let in_graph = within(7, &within(5, &within(1, &number)));
        let in_version = [&[1 << 3], number.as_slice()].concat();
        for damaged in [&number, in_version.as_slice(), &in_graph] {
            assert!(parse(damaged).is_err(), "{damaged:?}");
        }
        assert!(parse(&[]).is_ok());
    }
}
