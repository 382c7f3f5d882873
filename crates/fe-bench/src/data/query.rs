//! Asking a model through files, so that it may be written in any language: the rows that it must
//! answer, and a model that reads its answers.
//!
//! A file of questions has a column for each feature, a row for each row that an estimator asks, in
//! the order in which it asks, and, where derivatives are asked for, a last column `derivative` that
//! names the feature of the derivative and is empty where the value is asked. A file of answers has a
//! column for each output and the same rows; with the columns `method` and `replicate` it has those of several models, one
//! after the other.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use csv::{Reader, StringRecord, Writer};
use fe_core::data::LevelNames;
use fe_core::model::{Answered, Reach, Rows};
use fe_core::{Dataset, Model, ModelError};
use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::output::exact;
use crate::system::guard::Temporary;

/// Name of the column that says which derivative is asked.
const DERIVATIVE: &str = "derivative";

/// A model that knows no answer: it writes down what it is asked, and says 0.
#[derive(Debug)]
pub struct Questions {
    path: PathBuf,
    words: Words,
    dimension: usize,
    derivatives: bool,
    state: Mutex<Asked>,
    /// Of the file before it is put in its place.
    _temporary: Temporary,
}

#[derive(Debug)]
struct Asked {
    writer: Writer<BufWriter<NamedTempFile>>,
    rows: u64,
}

impl Questions {
    /// Questions about the features of some data, of values alone or of derivatives too. The file
    /// appears when [`Questions::finish`] is called.
    ///
    /// # Errors
    /// A file that cannot be written, or a feature called `derivative` where derivatives are asked.
    pub fn create(path: &Path, data: &Dataset, derivatives: bool) -> Result<Self> {
        let names = data.names();
        if derivatives && names.iter().any(|name| name == DERIVATIVE) {
            return Err(Error::content(
                path,
                format!("a feature is called `{DERIVATIVE}`, as the column of derivatives is"),
            ));
        }
        let folder = path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).map_err(Error::file(path))?;
        let temporary = Temporary::at(file.path());
        let mut writer = Writer::from_writer(BufWriter::new(file));
        let names = names.iter().map(String::as_str);
        let header = names.chain(derivatives.then_some(DERIVATIVE));
        let header: Vec<&str> = header.collect();
        writer.write_record(&header).map_err(|e| Error::content(path, e))?;
        Ok(Self {
            path: path.to_owned(),
            words: words_of(data),
            dimension: header.len() - usize::from(derivatives),
            derivatives,
            state: Mutex::new(Asked { writer, rows: 0 }),
            _temporary: temporary,
        })
    }

    /// Puts the file in its place; how many rows it has.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub fn finish(self) -> Result<u64> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let wrong = |e: &dyn std::fmt::Display| Error::content(&self.path, e);
        let mut buffer = state.writer.into_inner().map_err(|e| wrong(e.error()))?;
        buffer.flush().map_err(Error::file(&self.path))?;
        let file = buffer.into_inner().map_err(|e| wrong(e.error()))?;
        file.persist(&self.path).map_err(|e| wrong(&e.error))?;
        readable_by_all(&self.path)?;
        Ok(state.rows)
    }

    /// A refusal of the system to take questions: not the path of the temporary file counts, but the one
    /// that was given.
    fn refused(&self, error: &csv::Error) -> String {
        let cause = match error.kind() {
            csv::ErrorKind::Io(cause) => cause.kind().to_string(),
            _ => error.to_string(),
        };
        format!("{}: cannot be written: {cause}", self.path.display())
    }

    fn write(&self, rows: &Rows<'_>, derivative: Option<usize>) -> Result<(), ModelError> {
        let mut state = lock(&self.state);
        for row in 0..rows.len() {
            let columns = rows.columns().iter().zip(&self.words);
            let values = columns.map(|(column, words)| spelled(column.get(row), words.as_ref()));
            let record = values.chain(self.derivatives.then(|| name_of(derivative)));
            let refused = |e: csv::Error| ModelError::Failed(self.refused(&e));
            state.writer.write_record(record).map_err(refused)?;
        }
        state.rows += rows.len() as u64;
        Ok(())
    }
}

/// Temporary files are for their owner alone; results are for whom the user's own mask lets in.
fn readable_by_all(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(path, permissions).map_err(Error::file(path))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name_of(derivative: Option<usize>) -> String {
    derivative.map_or(String::new(), |feature| format!("x{}", feature + 1))
}

/// For each feature the words of its levels, where these are no numbers.
type Words = Vec<Option<LevelNames>>;

fn words_of(data: &Dataset) -> Words {
    let words = |feature: usize| {
        let names = data.level_names(feature)?;
        names.iter().any(|(_, name)| name.parse::<f64>().is_err()).then(|| names.clone())
    };
    (0..data.dimension()).map(words).collect()
}

/// A value as a file has it: the word of a level, or the number; nothing where it is missing.
fn spelled(value: f64, words: Option<&LevelNames>) -> String {
    if value.is_nan() {
        return String::new();
    }
    words.and_then(|words| words.name(value)).map_or_else(|| exact(value), str::to_owned)
}

impl Model for Questions {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        values.fill(0.0);
        self.write(rows, None)
    }

    fn reach(&self) -> Reach {
        Reach::Unanswered
    }

    fn has_partial(&self) -> bool {
        self.derivatives
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        if !self.derivatives {
            return Err(ModelError::NoDerivative { feature });
        }
        values.fill(0.0);
        self.write(rows, Some(feature))
    }
}

/// Columns of answers that tell models apart: that of the method, and that of the number of the dataset.
pub const TOLD_BY: [&str; 2] = ["method", "replicate"];

/// The fields of [`TOLD_BY`]; none where there is no such column.
pub type ToldBy = [Option<String>; 2];

/// A model that answers from a file, to the questions of another file in their order.
#[derive(Debug)]
pub struct Answers {
    questions: PathBuf,
    answers: PathBuf,
    words: Words,
    dimension: usize,
    derivatives: bool,
    /// The model of the file that it is.
    model: ToldBy,
    /// Places of the columns that tell models apart, and of the outputs.
    columns: ([Option<usize>; 2], Vec<usize>),
    state: Mutex<Answering>,
}

#[derive(Debug)]
struct Answering {
    questions: Reader<File>,
    answers: Reader<File>,
    /// The next line of the answers, read before its time.
    ahead: Option<StringRecord>,
    rows: u64,
    /// Number of rows of the models before.
    before: u64,
    /// The models that had their turn.
    seen: HashSet<ToldBy>,
    /// The mistake in a file, more precisely than a model can say it.
    problem: Option<Error>,
}

impl Answers {
    /// The answers of the first model of a file to questions about the features of some data, of derivatives too or of
    /// values alone.
    ///
    /// # Errors
    /// Files that cannot be read, questions with other columns, or answers without any.
    pub fn open(
        questions: &Path,
        answers: &Path,
        data: &Dataset,
        derivatives: bool,
    ) -> Result<Self> {
        let dimension = data.dimension();
        let asked = open_questions(questions, dimension + usize::from(derivatives))?;
        let (mut answered, header) = open(answers)?;
        let named: Vec<&str> = header.iter().map(str::trim).collect();
        let told_by = TOLD_BY.map(|name| named.iter().position(|column| *column == name));
        let outputs = (0..named.len()).filter(|place| !told_by.contains(&Some(*place)));
        let outputs: Vec<usize> = outputs.collect();
        if outputs.is_empty() || outputs.iter().any(|&place| named[place].parse::<f64>().is_ok()) {
            let message = "the first line must name the outputs, one column for each";
            return Err(Error::content(answers, message));
        }
        let ahead = next(&mut answered, answers)?;
        let model = model_of(ahead.as_ref(), told_by);
        let state = Answering {
            questions: asked,
            answers: answered,
            ahead,
            rows: 0,
            before: 0,
            seen: HashSet::new(),
            problem: None,
        };
        Ok(Self {
            questions: questions.to_owned(),
            answers: answers.to_owned(),
            words: words_of(data),
            dimension,
            derivatives,
            model,
            columns: (told_by, outputs),
            state: Mutex::new(state),
        })
    }

    /// The fields that say which model of its file it is.
    #[must_use]
    pub fn model(&self) -> &ToldBy {
        &self.model
    }

    /// The result that an estimator made of the answers, if all questions were asked and answered, each once; and the
    /// next model of the file, if there is one.
    ///
    /// # Errors
    /// What was wrong with the files, before what the estimator makes of it.
    pub fn check<T>(self, result: Result<T>) -> Result<(T, Option<Self>)> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = state.problem {
            return Err(problem);
        }
        let result = result?;
        let rows = state.rows;
        let more = |path: &Path, what: &str| {
            let message = format!("more {what} than the {rows} that are asked");
            Err(Error::content(path, message))
        };
        if next(&mut state.questions, &self.questions)?.is_some() {
            return more(&self.questions, "questions");
        }
        let Some(ahead) = &state.ahead else { return Ok((result, None)) };
        let model = model_of(Some(ahead), self.columns.0);
        if model == self.model {
            return more(&self.answers, "predictions");
        }
        state.seen.insert(self.model.clone());
        if state.seen.contains(&model) {
            let named = model.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let at = state.before + rows + 1;
            let message = format!("row {at}: the rows of {named} do not stand together");
            return Err(Error::content(&self.answers, message));
        }
        let width = self.dimension + usize::from(self.derivatives);
        let state = Answering {
            questions: open_questions(&self.questions, width)?,
            rows: 0,
            before: state.before + rows,
            ..state
        };
        Ok((result, Some(Self { model, state: Mutex::new(state), ..self })))
    }

    fn answer(
        &self,
        rows: &Rows<'_>,
        derivative: Option<usize>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let mut state = lock(&self.state);
        for row in 0..rows.len() {
            match self.answer_row(&mut state, rows, row, derivative) {
                Ok(answers) => {
                    for (output, answer) in answers.into_iter().enumerate() {
                        values[output * rows.len() + row] = answer;
                    }
                }
                Err(problem) => {
                    let message = problem.to_string();
                    state.problem.get_or_insert(problem);
                    return Err(ModelError::Failed(message));
                }
            }
        }
        Ok(())
    }

    /// The answers to one row, one per output.
    fn answer_row(
        &self,
        state: &mut Answering,
        rows: &Rows<'_>,
        row: usize,
        derivative: Option<usize>,
    ) -> Result<Vec<f64>> {
        state.rows += 1;
        let (at, in_file) = (state.rows, state.before + state.rows);
        let question = next(&mut state.questions, &self.questions)?;
        let same = question.is_some_and(|question| {
            let numbers = rows.columns().iter().zip(&self.words).zip(&question);
            let mut equal = numbers.map(|((column, words), field)| {
                let value = column.get(row);
                match words.as_ref().and_then(|words| words.name(value)) {
                    Some(word) => field == word,
                    None if value.is_nan() => field.is_empty(),
                    None => field.parse() == Ok(value),
                }
            });
            let kind = !self.derivatives || question[self.dimension] == name_of(derivative);
            equal.all(|equal| equal) && kind
        });
        if !same {
            let message = format!(
                "row {at} is not what is asked there: the questions are those of other data, other \
                 options or another version of the program"
            );
            return Err(Error::content(&self.questions, message));
        }
        let is_own = |answer: &StringRecord| model_of(Some(answer), self.columns.0) == self.model;
        let Some(answers) = state.ahead.take_if(|answer| is_own(answer)) else {
            let of = self.model.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
            let of = if of.is_empty() { of } else { format!(" of {of}") };
            let message = format!("only {} rows{of}, but there are more questions", at - 1);
            return Err(Error::content(&self.answers, message));
        };
        state.ahead = next(&mut state.answers, &self.answers)?;
        let number = |&column: &usize| {
            let field = answers.get(column).unwrap_or_default();
            match field.trim().parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => {
                    let message = format!(
                        "row {in_file}, column {}: `{field}` is not a finite number",
                        column + 1
                    );
                    Err(Error::content(&self.answers, message))
                }
            }
        };
        self.columns.1.iter().map(number).collect()
    }
}

/// The fields of an answer that say which model it is of.
fn model_of(answer: Option<&StringRecord>, told_by: [Option<usize>; 2]) -> ToldBy {
    let field = |place| Some(answer?.get(place)?.trim().to_owned());
    told_by.map(|place| place.and_then(field))
}

/// Opens questions of so many columns.
fn open_questions(path: &Path, columns: usize) -> Result<Reader<File>> {
    let (reader, header) = open(path)?;
    if header.len() == columns {
        return Ok(reader);
    }
    let message = format!("{} columns where {columns} are asked for", header.len());
    Err(Error::content(path, message))
}

/// Opens a file of comma-separated values and reads its header.
fn open(path: &Path) -> Result<(Reader<File>, StringRecord)> {
    let mut reader = Reader::from_reader(crate::system::files::open(path)?);
    let header = reader.headers().map_err(|e| Error::content(path, e))?.clone();
    Ok((reader, header))
}

fn next(reader: &mut Reader<File>, path: &Path) -> Result<Option<StringRecord>> {
    let mut record = StringRecord::new();
    let more = reader.read_record(&mut record).map_err(|e| Error::content(path, e))?;
    Ok(more.then_some(record))
}

impl Model for Answers {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn outputs(&self) -> usize {
        self.columns.1.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.answer(rows, None, values)
    }

    fn reach(&self) -> Reach {
        Reach::Planned
    }

    fn has_partial(&self) -> bool {
        self.derivatives
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        if !self.derivatives {
            return Err(ModelError::NoDerivative { feature });
        }
        self.answer(rows, Some(feature), values)
    }
}
