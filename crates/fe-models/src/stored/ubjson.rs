//! Universal Binary JSON, as far as XGBoost writes it: values with a type of one byte, lists of numbers of one type
//! with their length ahead.
//!
//! Source: draft 12 of ubjson.org.

use serde_json::{Map, Number, Value};

/// Most lists and objects within each other.
const DEEPEST: usize = 64;

/// The value of which some bytes consist.
pub(super) fn read(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader { bytes };
    let kind = reader.byte()?;
    reader.value(kind, 0)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, left) =
            self.bytes.split_at_checked(count).ok_or_else(|| "the file is cut off".to_owned())?;
        self.bytes = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "the file is cut off".to_owned())
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.array::<1>()?[0])
    }

    /// The type of the next value; `N` stands for nothing.
    fn kind(&mut self) -> Result<u8, String> {
        loop {
            match self.byte()? {
                b'N' => {}
                kind => return Ok(kind),
            }
        }
    }

    fn integer(&mut self, kind: u8) -> Result<Option<i64>, String> {
        Ok(Some(match kind {
            b'i' => i8::from_be_bytes(self.array()?).into(),
            b'U' => self.byte()?.into(),
            b'I' => i16::from_be_bytes(self.array()?).into(),
            b'l' => i32::from_be_bytes(self.array()?).into(),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Ok(None),
        }))
    }

    fn length(&mut self) -> Result<usize, String> {
        let kind = self.byte()?;
        let length = self.integer(kind)?.and_then(|length| usize::try_from(length).ok());
        length.ok_or_else(|| "a length is no number".to_owned())
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.length()?;
        String::from_utf8(self.take(length)?.to_vec()).map_err(|e| e.to_string())
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} lists within each other"));
        }
        if let Some(integer) = self.integer(kind)? {
            return Ok(integer.into());
        }
        let real = |x: f64| Number::from_f64(x).map(Value::Number).ok_or(format!("the number {x}"));
        match kind {
            b'd' => real(f32::from_be_bytes(self.array()?).into()),
            b'D' => real(f64::from_be_bytes(self.array()?)),
            b'T' => Ok(true.into()),
            b'F' => Ok(false.into()),
            b'Z' => Ok(Value::Null),
            b'C' => Ok(char::from(self.byte()?).to_string().into()),
            b'S' | b'H' => Ok(self.text()?.into()),
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            other => Err(format!("a value of the type {other:#04x}")),
        }
    }

    /// The type and the number of the values of a container, where they stand ahead.
    fn ahead(&mut self) -> Result<(Option<u8>, Option<usize>), String> {
        let next = |reader: &Self, byte: u8| reader.bytes.first() == Some(&byte);
        let mut kind = None;
        if next(self, b'$') {
            self.byte()?;
            kind = Some(self.byte()?);
        }
        if !next(self, b'#') {
            return match kind {
                None => Ok((None, None)),
                Some(_) => Err("a list with a type and no length".to_owned()),
            };
        }
        self.byte()?;
        let length = self.length()?;
        // Every value takes a byte but those that are a type alone.
        if length > self.bytes.len() || matches!(kind, Some(b'T' | b'F' | b'Z' | b'N')) {
            return Err(format!("a list of {length} values is longer than the file"));
        }
        Ok((kind, Some(length)))
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let (of_all, length) = self.ahead()?;
        let mut values = Vec::new();
        while length.is_none_or(|length| values.len() < length) {
            let kind = of_all.map_or_else(|| self.kind(), Ok)?;
            if kind == b']' && length.is_none() {
                break;
            }
            values.push(self.value(kind, depth + 1)?);
        }
        Ok(Value::Array(values))
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let (of_all, length) = self.ahead()?;
        let mut values = Map::new();
        let mut read = 0;
        while length.is_none_or(|length| read < length) {
            if length.is_none() && self.bytes.first() == Some(&b'}') {
                self.byte()?;
                break;
            }
            let name = self.text()?;
            let kind = of_all.map_or_else(|| self.kind(), Ok)?;
            values.insert(name, self.value(kind, depth + 1)?);
            read += 1;
        }
        Ok(Value::Object(values))
    }
}
