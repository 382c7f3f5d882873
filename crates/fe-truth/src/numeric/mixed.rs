//! Maps whose keys are mixed by products.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map for keys that nobody chooses to collide.
pub(crate) type Mapped<K, V> = HashMap<K, V, BuildHasherDefault<Mixed>>;

/// Keys mixed by products: nobody chooses them to collide, and what keeps off such who do takes as long as an integrand.
#[derive(Default)]
pub(crate) struct Mixed(u64);

/// An odd number whose bits look random: 2^64 over the golden ratio.
const MIXING: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(MIXING);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    /// Products mix upwards alone, and short numbers end in zeros.
    fn finish(&self) -> u64 {
        let folded = (self.0 ^ self.0 >> 32).wrapping_mul(MIXING);
        folded ^ folded >> 29
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Of 4096 keys in 4096 places 1 − 1/e are taken where these look random, by the lowest bits and by the highest seven.
    #[test]
    fn values_that_differ_in_few_bits_are_spread() {
        let hashed = |row: [f64; 4]| {
            let mut hasher = Mixed::default();
            hasher.write_usize(7);
            row.iter().for_each(|x| hasher.write_u64(x.to_bits()));
            hasher.finish()
        };
        let count = 4096;
        for place in 0..4 {
            for spacing in [1.0, 0.1, 2_f64.powi(-12), f64::EPSILON] {
                let hashes: Vec<u64> = (0..count)
                    .map(|k| {
                        let mut row = [0.5; 4];
                        row[place] += spacing * f64::from(k);
                        hashed(row)
                    })
                    .collect();
                let low: HashSet<u64> = hashes.iter().map(|hash| hash % 4096).collect();
                assert!(low.len() > 2400, "{place}, {spacing}: {}", low.len());
                let mut high = [0; 128];
                hashes.iter().for_each(|hash| high[(hash >> 57) as usize] += 1);
                assert!(high.iter().all(|n| (8..80).contains(n)), "{place}, {spacing}: {high:?}");
            }
        }
    }
}
