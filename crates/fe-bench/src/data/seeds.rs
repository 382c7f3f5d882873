//! Random numbers that are addressed, not consumed: a stream belongs to what it is used for.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

/// The address of a dataset. Nothing else may change its numbers.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    /// Master seed.
    pub seed: u64,
    /// Scenario with its version.
    pub scenario: &'a str,
    /// Its parameters in canonical form.
    pub parameters: &'a str,
    /// Number of rows.
    pub rows: usize,
    /// Replicate, counted from 0.
    pub replicate: usize,
    /// True of datasets beside the replicates, from which the expected effect of a learner is.
    pub of_learner: bool,
}

impl Address<'_> {
    /// The stream of the features.
    #[must_use]
    pub fn features(&self) -> ChaCha8Rng {
        self.stream("features")
    }

    /// The stream of the noise on the target.
    #[must_use]
    pub fn noise(&self) -> ChaCha8Rng {
        self.stream("noise")
    }

    /// The stream that rows are split by, for fits and the effects of their models.
    #[must_use]
    pub fn split(&self) -> ChaCha8Rng {
        self.stream("split")
    }

    /// The stream of what models draw while they are fitted.
    #[must_use]
    pub fn fit(&self) -> ChaCha8Rng {
        self.stream("fit")
    }

    /// The stream of the features of one of further datasets, counted from 0.
    #[must_use]
    pub fn fresh(&self, number: usize) -> ChaCha8Rng {
        self.stream(&format!("fresh {number}"))
    }

    /// The stream of a band's refits of a learner, by the seed that the band is given.
    #[must_use]
    pub fn refits(&self, seed: u64) -> ChaCha8Rng {
        self.stream(&format!("refits {seed}"))
    }

    /// The address of one of the datasets, counted from 0, that a learner is fitted to for its expected effect: no
    /// replicate has its numbers.
    #[must_use]
    pub fn of_learner(self, number: usize) -> Self {
        Self { replicate: number, of_learner: true, ..self }
    }

    fn stream(&self, purpose: &str) -> ChaCha8Rng {
        let Address { seed, scenario, parameters, rows, replicate, of_learner } = self;
        let replicate =
            if *of_learner { format!("learner {replicate}") } else { replicate.to_string() };
        let label = format!(
            "feature-effects stream 1\npurpose {purpose}\nseed {seed}\nscenario {scenario}\n\
             parameters {parameters}\nrows {rows}\nreplicate {replicate}\n"
        );
        ChaCha8Rng::from_seed(Sha256::digest(label.as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn every_part_of_the_address_counts() {
        let base = Address {
            seed: 0,
            scenario: "a@1",
            parameters: "p=1",
            rows: 10,
            replicate: 0,
            of_learner: false,
        };
        let first = |address: Address<'_>| address.features().next_u64();
        let others = [
            Address { seed: 1, ..base },
            Address { scenario: "a@2", ..base },
            Address { parameters: "p=2", ..base },
            Address { rows: 11, ..base },
            Address { replicate: 1, ..base },
            base.of_learner(0),
            base.of_learner(1),
        ];
        for other in others {
            assert_ne!(first(base), first(other));
        }
        let purposes = [
            base.features(),
            base.noise(),
            base.split(),
            base.fit(),
            base.fresh(0),
            base.fresh(1),
            base.refits(0),
            base.refits(1),
        ];
        let mut words: Vec<u64> = purposes.map(|mut stream| stream.next_u64()).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 8);
        assert_eq!(first(base), first(base));
    }
}
