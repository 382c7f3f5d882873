//! Numbers that become more and more, without a copy of all of them when there are.

/// Numbers of a chunk. Chunks over 32 MiB are given back to the system one by one when they are no longer needed.
const CHUNK: usize = (1 << 22) + (1 << 16);

/// A list of numbers in chunks, all but the last full.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunks(Vec<Vec<f64>>);

impl Chunks {
    pub(super) fn push(&mut self, value: f64) {
        match self.0.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(value),
            full => {
                // Memory that is not touched is not taken, but small lists stay small in any case.
                let mut chunk = Vec::with_capacity(if full.is_some() { CHUNK } else { 0 });
                chunk.push(value);
                self.0.push(chunk);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flatten().copied()
    }

    /// Changes all numbers but those that are missing.
    pub(super) fn map(&mut self, change: impl Fn(f64) -> f64) {
        let numbers = self.0.iter_mut().flatten().filter(|x| !x.is_nan());
        numbers.for_each(|x| *x = change(*x));
    }

    /// Those of some rows.
    pub(super) fn kept(self, rows: &[bool]) -> Self {
        self.iter().zip(rows).filter(|(_, kept)| **kept).map(|(x, _)| x).collect()
    }

    /// All of them in one piece; each chunk is let go of when it is written.
    pub(super) fn into_vec(self) -> Vec<f64> {
        let mut all = vec![0.0; self.len()];
        self.into_slice(&mut all);
        all
    }

    /// Writes them into a slice of the same length, and lets go of each chunk that is written.
    pub(super) fn into_slice(self, mut to: &mut [f64]) {
        for chunk in self.0 {
            let (here, behind) = to.split_at_mut(chunk.len());
            here.copy_from_slice(&chunk);
            to = behind;
        }
    }
}

impl FromIterator<f64> for Chunks {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }
}

/// By the bits of numbers, so that missing ones are equal.
impl PartialEq for Chunks {
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(f64::to_bits).eq(other.iter().map(f64::to_bits))
    }
}
