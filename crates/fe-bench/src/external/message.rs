//! What goes over to an engine and comes back: `docs/protocol.md` says it in words.

use std::path::Path;

use fe_truth::Expression;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::status::{Failure, Status};

/// The version of the protocol.
pub const PROTOCOL: u64 = 1;

/// What an engine is asked for: one line of JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// [`PROTOCOL`].
    pub protocol: u64,
    /// The number of the request, which the reply repeats.
    pub id: u64,
    /// The effect, as the engine's declaration calls it.
    pub effect: String,
    /// The feature, `x1` … `xD`.
    pub feature: String,
    /// Options of the effect, as the study gives them.
    pub options: Map<String, Value>,
    /// Where the data come from; for engines that have their own form of the function.
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
    /// How many they are.
    pub points: usize,
    /// The function.
    pub model: Expression,
    /// Its partial derivatives, one for each feature.
    pub partials: Vec<Expression>,
    /// Rows at which the engine must say what its model says.
    pub probe: Vec<Vec<f64>>,
    /// How often the effect is estimated, at most.
    pub repetitions: usize,
    /// After how many seconds no further repetition is begun.
    pub seconds: f64,
    /// A folder that the engine may write into.
    pub folder: String,
}

/// A scenario in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Its name with its version.
    pub name: String,
    /// Its parameters, `key=value` separated by `;`.
    pub parameters: String,
}

/// What an engine answers: one line of JSON on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// [`PROTOCOL`].
    pub protocol: u64,
    /// The number of the request.
    pub id: u64,
    /// `ok`, `unsupported` or `error`.
    pub status: Word,
    /// Why it is not `ok`.
    #[serde(default)]
    pub message: String,
    /// What its model says at the probe's rows.
    #[serde(default)]
    pub probe: Numbers,
    /// What its derivative along the feature says there, if the effect is made of derivatives.
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
    /// The curve at these points, centred in any way.
    #[serde(default)]
    pub effect: Numbers,
    /// Its heterogeneity there, a variance; null where it is undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heterogeneity: Option<Numbers>,
    /// The lower limit of its band there; null where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<Numbers>,
    /// The upper limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<Numbers>,
    /// Anything else that the engine wants to tell; nothing is made of it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub record: Value,
}

/// How an engine says that it went.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    /// As they are; null for one that is not a number.
    Inline(Vec<Option<f64>>),
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
        Self::Inline(
            numbers.into_iter().map(|number| number.is_finite().then_some(number)).collect(),
        )
    }
}

impl Numbers {
    /// The numbers, NaN for those that are missing.
    ///
    /// # Errors
    /// A file that cannot be read, or is not of whole numbers' length.
    pub fn read(&self, folder: &Path, what: &str) -> Result<Vec<f64>, Failure> {
        match self {
            Self::Inline(numbers) => Ok(numbers.iter().map(|n| n.unwrap_or(f64::NAN)).collect()),
            Self::File(name) => {
                let wrong = |status, said: String| {
                    Failure::new(status, format!("`{what}` is to be in the file `{name}`: {said}"))
                };
                // A name, so that nothing outside of the folder can be meant.
                if Path::new(name).file_name() != Some(name.as_ref()) {
                    let said = "a file's name, without a folder, was expected".to_owned();
                    return Err(wrong(Status::Malformed, said));
                }
                let bytes = std::fs::read(folder.join(name))
                    .map_err(|e| wrong(Status::Malformed, e.kind().to_string()))?;
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

impl Reply {
    /// Reads a line that an engine wrote.
    ///
    /// # Errors
    /// [`Status::WrongVersion`], [`Status::Malformed`], and what the engine itself says.
    pub fn parse(line: &[u8], id: u64) -> Result<Self, Failure> {
        let malformed = |e: serde_json::Error| {
            let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
            Failure::new(
                Status::Malformed,
                format!("{e}, in a reply that begins `{}`", shown.trim()),
            )
        };
        let value: Value = serde_json::from_slice(line).map_err(malformed)?;
        match &value["protocol"] {
            Value::Number(version) if version.as_u64() == Some(PROTOCOL) => {}
            given => {
                return Err(Failure::new(
                    Status::WrongVersion,
                    format!("the reply says `protocol` = {given}, but this is version {PROTOCOL}"),
                ));
            }
        }
        let reply: Self = serde_json::from_value(value).map_err(malformed)?;
        if reply.id != id {
            let reason = format!("the reply is to request {}, but {id} was asked", reply.id);
            return Err(Failure::new(Status::Malformed, reason));
        }
        let said = || reply.message.trim().lines().next_back().unwrap_or_default().to_owned();
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
            effect: Numbers::default(),
            heterogeneity: None,
            lower: None,
            upper: None,
            record: Value::Null,
        }
    }
}
