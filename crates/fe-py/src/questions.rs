//! Questions to a model: rows that are mostly those of the data, with a feature or two elsewhere.

use std::ops::Range;

use fe_core::Dataset;
use fe_core::model::{Column, Rows};

/// A question to a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum QuestionKind {
    Value,
    /// The derivative along a feature, counted from 0.
    Derivative(usize),
}

/// Some rows, and what is asked of a model there.
pub(crate) struct Question {
    kind: QuestionKind,
    len: usize,
    /// The first of the neighbouring rows of the data that these are, but for some features.
    start: usize,
    /// The features that are not those of the data, counted from 0.
    others: Vec<(usize, Part)>,
}

/// A feature of the rows.
enum Part {
    Constant(f64),
    Values(Vec<f64>),
}

impl Part {
    fn of(column: &Column<'_>) -> Self {
        match column {
            Column::Values(values) => Self::Values(values.to_vec()),
            Column::Constant(value) => Self::Constant(*value),
        }
    }
}

/// Bit by bit: 0 and −0 are two questions, and NaN is itself.
impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => a.to_bits() == b.to_bits(),
            (Self::Values(a), Self::Values(b)) => {
                a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
            }
            _ => false,
        }
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.len, self.start) == (other.kind, other.len, other.start)
            && self.others == other.others
    }
}

impl Question {
    /// Nothing is copied of what lies in the data themselves.
    pub(crate) fn new(kind: QuestionKind, rows: &Rows<'_>, data: &Dataset) -> Self {
        let place = |(feature, column): (usize, &Column<'_>)| place(column, data, feature);
        let columns = || rows.columns().iter().enumerate();
        let start = columns().find_map(place);
        let other = |entry: &(usize, &Column<'_>)| start.is_none() || place(*entry) != start;
        let others = columns().filter(other).map(|(feature, column)| (feature, Part::of(column)));
        Self { kind, len: rows.len(), start: start.unwrap_or(0), others: others.collect() }
    }

    pub(crate) fn kind(&self) -> QuestionKind {
        self.kind
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Rows of the data that these are, if nothing about them is different.
    pub(crate) fn rows_of_data(&self) -> Option<Range<usize>> {
        self.others.is_empty().then(|| self.start..self.start + self.len)
    }

    /// The row of the data that the first of these is, but for some features.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Numbers that are held for it.
    pub(crate) fn held(&self) -> usize {
        let held = |(_, part): &(usize, Part)| match part {
            Part::Constant(_) => 0,
            Part::Values(values) => values.len(),
        };
        self.others.iter().map(held).sum()
    }

    /// A part of its rows.
    pub(crate) fn piece(&self, range: Range<usize>) -> Piece<'_> {
        Piece { question: self, range }
    }
}

/// A part of the rows of a question.
pub(crate) struct Piece<'q> {
    question: &'q Question,
    range: Range<usize>,
}

impl Piece<'_> {
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// The rows of the data that these are, but for some features.
    fn of_data(&self) -> Range<usize> {
        self.question.start + self.range.start..self.question.start + self.range.end
    }

    /// Writes the rows one after the other; `data` has those of the data like that.
    pub(crate) fn write(&self, data: &[f64], rows: &mut [f64]) {
        let dimension = rows.len() / self.len().max(1);
        if self.question.others.len() < dimension {
            let of_data = self.of_data();
            rows.copy_from_slice(&data[of_data.start * dimension..of_data.end * dimension]);
        }
        self.write_others(rows);
    }

    /// True if these are the same rows of the data as those of another piece, but for the same features.
    pub(crate) fn stays_for(&self, next: &Self) -> bool {
        let others = |piece: &Self| piece.question.others.iter().map(|(feature, _)| *feature);
        self.of_data() == next.of_data() && others(self).eq(others(next))
    }

    /// True if rows that were written differ now, bit by bit.
    pub(crate) fn differs(&self, data: &[f64], rows: &[f64]) -> bool {
        let dimension = rows.len() / self.len().max(1);
        let mut differ = vec![0; dimension];
        if self.question.others.len() < dimension {
            let of_data = &data[self.of_data().start * dimension..];
            for (own, there) in rows.chunks_exact(dimension).zip(of_data.chunks_exact(dimension)) {
                let bits = own.iter().zip(there).map(|(a, b)| a.to_bits() ^ b.to_bits());
                differ.iter_mut().zip(bits).for_each(|(all, bits)| *all |= bits);
            }
        }
        for (feature, part) in &self.question.others {
            let places = rows[*feature..].iter().step_by(dimension).map(|x| x.to_bits());
            differ[*feature] = match part {
                Part::Constant(value) => places.fold(0, |all, x| all | (x ^ value.to_bits())),
                Part::Values(values) => {
                    let values = values[self.range.clone()].iter().map(|value| value.to_bits());
                    places.zip(values).fold(0, |all, (x, value)| all | (x ^ value))
                }
            };
        }
        differ.iter().any(|&bits| bits != 0)
    }

    /// Writes the features that are not those of the data.
    pub(crate) fn write_others(&self, rows: &mut [f64]) {
        let dimension = rows.len() / self.len().max(1);
        for (feature, part) in &self.question.others {
            let places = rows[*feature..].iter_mut().step_by(dimension);
            match part {
                Part::Constant(value) => places.for_each(|place| *place = *value),
                Part::Values(values) => {
                    let values = &values[self.range.clone()];
                    places.zip(values).for_each(|(place, &x)| *place = x);
                }
            }
        }
    }
}

/// The row of the data that a column begins at, if it is a part of that feature there: told by where it lies in
/// memory.
fn place(column: &Column<'_>, data: &Dataset, feature: usize) -> Option<usize> {
    let Column::Values(values) = column else { return None };
    let whole = data.feature(feature).as_ptr_range();
    let part = values.as_ptr_range();
    let inside = whole.start <= part.start && part.end <= whole.end && !values.is_empty();
    inside.then(|| (part.start as usize - whole.start as usize) / size_of::<f64>())
}
