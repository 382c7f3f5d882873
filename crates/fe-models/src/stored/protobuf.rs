//! A reader of ONNX files that comes to an end whatever the file holds.

use std::cell::Cell;
use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};

use rten_onnx::onnx::ModelProto;
use rten_onnx::protobuf::{DecodeMessage, ReadPos, ValueReader};

/// Most messages within each other: graphs are made of nodes whose attributes may be graphs again, and the
/// library calls itself for each.
const DEEPEST: usize = 32;

/// Most messages in a file; each takes hundreds of bytes in memory where it may have two in the file.
const MOST_MESSAGES: usize = 1_000_000;

/// The most times that the bytes at a place may be asked for before it is said that there are none.
const LOOKS: usize = 16;

/// The model in a file, or what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<ModelProto, String> {
    check(bytes, Message::Model, 0, &mut 0)?;
    let is_stuck = Cell::new(false);
    let reader = Ending { inner: Cursor::new(bytes), place: 0, looks: 0, is_stuck: &is_stuck };
    let answer = ModelProto::decode(ValueReader::new(ReadPos::new(reader)));
    if is_stuck.get() {
        return Err("a number in it has more than 64 bits".to_owned());
    }
    answer.map_err(|error| error.to_string())
}

/// The messages that the library reads.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    Sequence,
    TensorType,
    Shape,
    /// One that holds no others.
    Plain,
}

impl Message {
    /// The message in a field, if it is one.
    fn within(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6) => Self::Graph,
            (Self::Graph, 1) => Self::Node,
            (Self::Graph, 5) | (Self::Attribute, 5) => Self::Tensor,
            (Self::Graph, 11..=13) => Self::Value,
            (Self::Node, 5) => Self::Attribute,
            (Self::Value, 2) | (Self::Sequence, 1) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::Type, 4) => Self::Sequence,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Model, 14) | (Self::Tensor, 13) | (Self::Shape, 1) => Self::Plain,
            _ => return None,
        })
    }
}

/// Check that every length fits what it is within, which the library takes for granted, and that messages are
/// neither too many nor too deep in each other.
fn check(
    mut bytes: &[u8],
    message: Message,
    depth: usize,
    messages: &mut usize,
) -> Result<(), String> {
    *messages += 1;
    if depth > DEEPEST || *messages > MOST_MESSAGES {
        return Err(format!("over {DEEPEST} messages in each other, or over {MOST_MESSAGES}"));
    }
    while !bytes.is_empty() {
        let key = number(&mut bytes)?;
        let len = match key & 7 {
            0 => {
                number(&mut bytes)?;
                0
            }
            1 => 8,
            2 => number(&mut bytes)?,
            5 => 4,
            kind => return Err(format!("a field of the unknown kind {kind}")),
        };
        let len = usize::try_from(len).ok().filter(|len| *len <= bytes.len());
        let (field, rest) =
            len.map(|len| bytes.split_at(len)).ok_or("a field is longer than what it is in")?;
        if let (2, Some(inner)) = (key & 7, message.within(key >> 3)) {
            check(field, inner, depth + 1, messages)?;
        }
        bytes = rest;
    }
    Ok(())
}

/// A number of up to 64 bits, seven in a byte.
fn number(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("it ends within a number")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number in it has more than 64 bits".to_owned())
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

    fn within(field: u8, bytes: &[u8]) -> Vec<u8> {
        let mut all = vec![field << 3 | 2];
        let mut len = bytes.len();
        while len >= 0x80 {
            all.push(len as u8 | 0x80);
            len >>= 7;
        }
        all.push(len as u8);
        all.extend_from_slice(bytes);
        all
    }

    /// Graphs in attributes of nodes of graphs, and sequences of sequences: either would end the program.
    #[test]
    fn messages_too_deep_in_each_other_are_refused() {
        let (mut graph, mut sequence) = (Vec::new(), Vec::new());
        for _ in 0..30_000 {
            graph = within(1, &within(5, &within(6, &graph)));
            sequence = within(4, &within(1, &sequence));
        }
        let value = within(11, &within(2, &sequence));
        for inner in [graph, value] {
            let error = parse(&within(7, &inner)).err().unwrap_or_default();
            assert!(error.contains("in each other"), "{error}");
        }
    }

    #[test]
    fn lengths_that_no_file_has_are_refused() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        for field in [2_u8, 7, 8, 14] {
            let file = [&[field << 3 | 2], huge.as_slice()].concat();
            let error = parse(&file).err().unwrap_or_default();
            assert!(error.contains("longer than"), "{error}");
            assert!(parse(&within(7, &file)).is_err());
        }
    }
}
