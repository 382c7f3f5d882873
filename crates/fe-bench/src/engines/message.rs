//! Messages to an engine and from it: `docs/protocol.md` says them in words.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use fe_truth::Expression;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::process::LONGEST_LINE;
use super::status::{Failure, Status};
use crate::system::say;

/// The version of the protocol.
pub const PROTOCOL: u64 = 1;

/// The most numbers that an array of a reply has.
pub const MOST_NUMBERS: u64 = 1 << 20;

/// A request to an engine: one line of JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineRequest {
    /// [`PROTOCOL`].
    pub protocol: u64,
    /// The number of the request, which the reply repeats.
    pub id: u64,
    /// The effect, as the engine's declaration calls it.
    pub effect: String,
    /// The feature, `x1` … `xD`; of a pair the first, and of indices none.
    pub feature: String,
    /// The second feature of a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature2: Option<String>,
    /// The indices that are asked for, where these are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<AskedIndex>,
    /// Options of the effect, as the study gives them.
    pub options: Map<String, Value>,
    /// Source of the data; for engines that have their own form of the function.
    pub scenario: Origin,
    /// Number of rows, N.
    pub rows: usize,
    /// Number of features, D.
    pub features: usize,
    /// File of the data: N·D raw little-endian 64-bit floating-point numbers, feature after feature.
    pub data: String,
    /// The interval that the curve is wanted on; none if the engine is to take that of the data.
    pub axis: Option<[f64; 2]>,
    /// File of the increasing points at which curves are compared, raw as the data.
    pub grid: String,
    /// Their number.
    pub points: usize,
    /// The interval of the second feature of a pair, as `axis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis2: Option<[f64; 2]>,
    /// File of the points of the second feature of a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid2: Option<String>,
    /// Their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points2: Option<usize>,
    /// The function.
    pub model: Expression,
    /// Its partial derivatives, one for each feature.
    pub partials: Vec<Expression>,
    /// Rows at which the engine must say what its model says.
    pub probe: Vec<Vec<f64>>,
    /// The most times that the effect is estimated.
    pub repetitions: usize,
    /// After how many seconds no further repetition is begun.
    pub seconds: f64,
    /// A folder that the engine may write into.
    pub folder: String,
}

/// An index that is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedIndex {
    /// Its name.
    pub index: String,
    /// The features that it is of, `x1` … `xD`: none, one or two.
    pub features: Vec<String>,
}

/// A scenario in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Its name with its version.
    pub name: String,
    /// Its parameters, `key=value` separated by `;`.
    pub parameters: String,
}

/// A reply of an engine: one line of JSON on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// [`PROTOCOL`].
    pub protocol: u64,
    /// The number of the request.
    pub id: u64,
    /// `ok`, `unsupported` or `error`.
    pub status: Word,
    /// Reason why it is not `ok`.
    #[serde(default)]
    pub message: String,
    /// The values of its model at the probe's rows.
    #[serde(default)]
    pub probe: Numbers,
    /// The derivatives along the feature there, if the effect is made of derivatives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_partial: Option<Numbers>,
    /// Seconds of each repetition: the whole estimate, from the data in memory to the curve.
    #[serde(default)]
    pub samples: Vec<f64>,
    /// Seconds of them that the model took, where they are known.
    #[serde(default)]
    pub model_samples: Vec<f64>,
    /// Rows that the model was asked for by one estimate, values and derivatives together.
    #[serde(default)]
    pub model_rows: u64,
    /// Increasing points of the curve; it is linear between them.
    #[serde(default)]
    pub x: Numbers,
    /// Increasing points of the second feature of a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x2: Option<Numbers>,
    /// The curve at these points, centred in any way; of a pair at all pairs of points, the first feature's outside.
    #[serde(default)]
    pub effect: Numbers,
    /// The indices, in the order in which they are asked for; null for one that is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indices: Option<Numbers>,
    /// Its heterogeneity there, a variance; null where it is undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heterogeneity: Option<Numbers>,
    /// The lower limit of its band there, or of an interval about each index; null where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<Numbers>,
    /// The upper limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<Numbers>,
    /// The confidence level of the band or the intervals, where the engine tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Of a regional effect its tree, as `score` takes one: the nodes, `limits`, `depth`, `drop`, `partition`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub tree: Value,
    /// Anything else that the engine wants to tell; nothing is made of it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub record: Value,
}

/// Status of a reply, in the words of engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// The answer is there.
    Ok,
    /// The engine does not do what is asked for.
    Unsupported,
    /// It failed.
    Error,
}

/// Numbers in a reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Numbers {
    /// As they are; NaN for one that is null in the line.
    Inline(Vec<f64>),
    /// In a file of the folder: raw little-endian 64-bit floating-point numbers.
    File(String),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Inline(Vec::new())
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Inline(numbers)
    }
}

/// Written by hand so that a long array is read without a copy in which each number is ten times as
/// large.
impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of numbers or the name of a file")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Numbers, E> {
                Ok(Numbers::File(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Numbers, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = array.next_element::<Option<f64>>()? {
                    numbers.push(number.unwrap_or(f64::NAN));
                }
                Ok(Numbers::Inline(numbers))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Reads a file to its end, if it is a file and not longer than some bytes; its length otherwise.
///
/// A name may stand for what never ends or never begins, such as `/dev/zero` or a FIFO: it is opened
/// without waiting, no link is followed, and what was opened decides.
pub(super) fn read_file(path: &Path, most: u64) -> io::Result<Result<Vec<u8>, u64>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > most {
        return Ok(Err(length));
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    let read = file.take(most + 1).read_to_end(&mut bytes)? as u64;
    Ok(if read > most { Err(read) } else { Ok(bytes) })
}

/// Opens what is a file and nothing else.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    let file = options.open(path).map_err(|e| {
        let is_link = std::fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
        if is_link { irregular() } else { e }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// Failure of a file of an engine, without numbers of the system's.
fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput => error.to_string(),
        kind => kind.to_string(),
    }
}

impl Numbers {
    /// The numbers, NaN for those that are missing.
    ///
    /// # Errors
    /// A file that cannot be read, or is not of whole numbers' length.
    pub fn read(&self, folder: &Path, what: &str) -> Result<Vec<f64>, Failure> {
        match self {
            Self::Inline(numbers) => Ok(numbers.clone()),
            Self::File(name) => {
                let wrong = |status, said: String| {
                    let name = say::echo(name);
                    Failure::new(status, format!("`{what}` is to be in the file `{name}`: {said}"))
                };
                // A name, so that nothing outside of the folder can be meant.
                if Path::new(name).file_name() != Some(name.as_ref()) {
                    let said = "a file's name, without a folder, was expected".to_owned();
                    return Err(wrong(Status::Malformed, said));
                }
                let bytes = read_file(&folder.join(name), 8 * MOST_NUMBERS)
                    .map_err(|e| wrong(Status::Malformed, said(&e)))?
                    .map_err(|length| {
                        let said = format!(
                            "{length} bytes, but an array has {MOST_NUMBERS} numbers at most"
                        );
                        wrong(Status::Malformed, said)
                    })?;
                numbers(&bytes).ok_or_else(|| {
                    wrong(Status::Short, format!("{} bytes are no multiple of 8", bytes.len()))
                })
            }
        }
    }
}

/// Raw little-endian numbers; none if there is half a number left.
#[must_use]
pub fn numbers(bytes: &[u8]) -> Option<Vec<f64>> {
    let (whole, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| whole.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// Numbers as they stand in a raw file.
pub fn bytes<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> Vec<u8> {
    numbers.into_iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The part of replies that all versions have.
#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    protocol: Value,
}

impl Reply {
    /// Reads a line that an engine wrote.
    ///
    /// # Errors
    /// [`Status::WrongVersion`], [`Status::Malformed`], and what the engine itself says.
    pub fn parse(line: &[u8], id: u64) -> Result<Self, Failure> {
        let begins = || {
            let begin = String::from_utf8_lossy(&line[..line.len().min(240)]).into_owned();
            say::echo(&begin.trim().chars().take(60).collect::<String>())
        };
        if line.len() as u64 > LONGEST_LINE {
            return Err(Failure::new(
                Status::Malformed,
                format!(
                    "a reply of more than {LONGEST_LINE} bytes, which begins `{}`: long arrays go into files",
                    begins()
                ),
            ));
        }
        let malformed = |e: serde_json::Error| {
            let said = say::echo(&e.to_string());
            Failure::new(
                Status::Malformed,
                format!("{said}, in a reply that begins `{}`", begins()),
            )
        };
        // Of another version, only the number can be understood.
        let Version { protocol } = serde_json::from_slice(line).map_err(malformed)?;
        if protocol.as_u64() != Some(PROTOCOL) {
            let given = say::echo(&protocol.to_string());
            return Err(Failure::new(
                Status::WrongVersion,
                format!("the reply says `protocol` = {given}, but this is version {PROTOCOL}"),
            ));
        }
        let reply: Self = serde_json::from_slice(line).map_err(malformed)?;
        if reply.id != id {
            let reason = format!("the reply is to request {}, but {id} was asked", reply.id);
            return Err(Failure::new(Status::Malformed, reason));
        }
        let said = || reply.message.trim().lines().next_back().unwrap_or("it does not say why");
        match reply.status {
            Word::Ok => Ok(reply),
            Word::Unsupported => Err(Failure::new(Status::Unsupported, said())),
            Word::Error => Err(Failure::new(Status::Error, said())),
        }
    }

    /// A reply that says why there is no answer.
    #[must_use]
    pub fn without_answer(id: u64, status: Word, message: impl ToString) -> Self {
        Self {
            protocol: PROTOCOL,
            id,
            status,
            message: message.to_string(),
            probe: Numbers::default(),
            probe_partial: None,
            samples: Vec::new(),
            model_samples: Vec::new(),
            model_rows: 0,
            x: Numbers::default(),
            x2: None,
            indices: None,
            effect: Numbers::default(),
            heterogeneity: None,
            lower: None,
            upper: None,
            level: None,
            tree: Value::Null,
            record: Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &str = r#"{"protocol":1,"id":7,"status":"ok","samples":[0.5],"model_samples":[0.1],"model_rows":3,"probe":[1,null],"x":[0,1],"effect":"effect.f64","record":{"a":[1,{}]}}"#;

    #[test]
    fn a_reply_is_what_was_sent() {
        let reply = Reply::parse(REPLY.as_bytes(), 7).unwrap();
        assert!(matches!(&reply.probe, Numbers::Inline(n) if n[0] == 1.0 && n[1].is_nan()));
        assert_eq!(reply.effect, Numbers::File("effect.f64".to_owned()));
        let again = serde_json::to_vec(&reply).unwrap();
        let again = Reply::parse(&again, 7).unwrap();
        assert_eq!(format!("{again:?}"), format!("{reply:?}"));
    }

    /// Any line is a reply, or a reason that a terminal can show.
    #[test]
    fn any_line_is_a_reply_or_a_plain_reason() {
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let mut line = REPLY.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let at = random(line.len());
                let end = at + random(line.len() - at);
                match random(5) {
                    0 => line[at] = random(256) as u8,
                    1 => line.insert(at, b"\x1b\0\"[{\\,9"[random(8)]),
                    2 => drop(line.drain(at..end)),
                    3 => line.extend_from_within(at..end),
                    _ => line.splice(at..at, "\u{9b}".repeat(random(300)).bytes()).for_each(drop),
                }
                line.push(b' ');
            }
            if let Err(failure) = Reply::parse(&line, 7) {
                let reason = failure.to_string();
                assert!(!reason.contains(char::is_control), "{reason:?}");
                assert!(reason.chars().count() < 400, "{reason}");
            }
        }
    }
}
