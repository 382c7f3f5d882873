//! The best of the candidate splits of some regions.

use super::candidates::Candidates;
use super::criterion::Criterion;
use crate::data::Dataset;
use crate::error::Result;
use crate::numeric::parallel::{of_each, of_places};

/// A region on the way to a tree.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) rows: Vec<usize>,
    pub(super) weight: f64,
    pub(super) heterogeneity: Option<f64>,
}

/// Finds splits of regions.
pub(super) struct Splitter<'a, L> {
    pub(super) local: &'a L,
    pub(super) candidates: &'a [Candidates],
    pub(super) leaf: f64,
}

/// A split and the weighted mean of the heterogeneity that it leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    /// Index of the [`Candidates`].
    pub(super) candidates: usize,
    pub(super) candidate: usize,
    pub(super) heterogeneity: f64,
}

/// The trial of a candidate on one region.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trial {
    /// All instances are on one side: the region stays as it is.
    Unsplit,
    /// A side has too few instances, or no heterogeneity.
    Refused,
    /// Σ w H over both sides.
    Split(f64),
}

struct Part<S> {
    weight: f64,
    summary: S,
}

/// Differences of scores below this share of what there was before are ties.
const TIE: f64 = 1e-10;

impl<L: Criterion> Splitter<'_, L> {
    /// A region of some rows.
    pub(super) fn region(&self, data: &Dataset, rows: Vec<usize>) -> Result<Region> {
        let weight = match data.weights() {
            None => rows.len() as f64,
            Some(weights) => rows.iter().map(|&row| weights[row]).sum(),
        };
        let heterogeneity = self.defined(&self.local.summarise(&rows))?;
        Ok(Region { rows, weight, heterogeneity })
    }

    fn defined(&self, summary: &L::Summary) -> Result<Option<f64>> {
        Ok(self.local.heterogeneity(summary)?.filter(|h| h.is_finite()))
    }

    /// The candidate that leaves least heterogeneity when it is applied to all of the regions; the
    /// first feature and lowest position of those that tie.
    pub(super) fn best(&self, data: &Dataset, regions: &[&Region]) -> Result<Option<Split>> {
        let Some(before) = mean_heterogeneity(regions) else { return Ok(None) };
        let of_regions: Vec<_> = of_each(regions, &|region| self.parts(data, region));
        let scores_of = |at: usize| {
            let parts: Vec<&[Part<_>]> = of_regions.iter().map(|all| &all[at][..]).collect();
            self.scores(regions, &self.candidates[at], &parts)
        };
        let of_features: Vec<Vec<Option<f64>>> =
            of_places(self.candidates.len(), &scores_of).into_iter().collect::<Result<_>>()?;
        let mut best: Option<Split> = None;
        for (candidates, scores) in of_features.iter().enumerate() {
            for (candidate, &score) in scores.iter().enumerate() {
                let Some(heterogeneity) = score else { continue };
                if best.is_none_or(|best| heterogeneity < best.heterogeneity - TIE * before) {
                    best = Some(Split { candidates, candidate, heterogeneity });
                }
            }
        }
        Ok(best)
    }

    /// The weighted mean of the heterogeneity that each candidate of a feature leaves.
    fn scores(
        &self,
        regions: &[&Region],
        candidates: &Candidates,
        parts: &[&[Part<L::Summary>]],
    ) -> Result<Vec<Option<f64>>> {
        let total: f64 = regions.iter().map(|region| region.weight).sum();
        let mut sums = vec![Some(0.0); candidates.count()];
        let mut splits = vec![false; candidates.count()];
        for (region, parts) in regions.iter().zip(parts) {
            let trials = self.trials(candidates, parts)?;
            for ((sum, splits), trial) in sums.iter_mut().zip(&mut splits).zip(trials) {
                *splits |= matches!(trial, Trial::Split(_));
                let term = match trial {
                    Trial::Refused => None,
                    Trial::Unsplit => region.heterogeneity.map(|h| region.weight * h),
                    Trial::Split(sum) => Some(sum),
                };
                *sum = sum.zip(term).map(|(sum, term)| sum + term);
            }
        }
        let score =
            |(sum, splits): (Option<f64>, bool)| sum.filter(|_| splits).map(|sum| sum / total);
        Ok(sums.into_iter().zip(splits).map(score).collect())
    }

    /// One sweep over the groups: summaries are merged from the left and from the right, so that no
    /// candidate looks at an instance again.
    fn trials(&self, candidates: &Candidates, parts: &[Part<L::Summary>]) -> Result<Vec<Trial>> {
        if candidates.count() == 0 {
            return Ok(Vec::new());
        }
        let none = || Part { weight: 0.0, summary: self.local.summarise(&[]) };
        let mut after = vec![none()];
        for part in parts.iter().rev() {
            after.push(self.merged(part, &after[after.len() - 1]));
        }
        after.reverse();
        let mut before = vec![none()];
        for part in parts {
            before.push(self.merged(&before[before.len() - 1], part));
        }
        let trial = |candidate: usize| match candidates.nominal {
            false => self.trial(&before[candidate + 1], &after[candidate + 1]),
            true => match candidates.set(candidate) {
                [place] => {
                    let rest = self.merged(&before[*place], &after[place + 1]);
                    self.trial(&parts[*place], &rest)
                }
                set => {
                    let mut sides = [none(), none()];
                    for (place, part) in parts.iter().enumerate() {
                        let side = &mut sides[usize::from(!set.contains(&place))];
                        *side = self.merged(side, part);
                    }
                    self.trial(&sides[0], &sides[1])
                }
            },
        };
        (0..candidates.count()).map(trial).collect()
    }

    /// The instances of a region, summarised by group for the candidates of each feature.
    fn parts(&self, data: &Dataset, region: &Region) -> Vec<Vec<Part<L::Summary>>> {
        let weights_of = |candidates: &Candidates| candidates.weights(data, &region.rows);
        let (summaries, weights): (_, Vec<Vec<f64>>) = rayon::join(
            || self.local.summarise_groups(&region.rows, self.candidates),
            || of_each(self.candidates, &weights_of),
        );
        let part = |(weight, summary)| Part { weight, summary };
        let of_feature = |(weights, summaries): (Vec<f64>, Vec<L::Summary>)| {
            weights.into_iter().zip(summaries).map(part).collect()
        };
        weights.into_iter().zip(summaries).map(of_feature).collect()
    }

    fn merged(&self, a: &Part<L::Summary>, b: &Part<L::Summary>) -> Part<L::Summary> {
        Part { weight: a.weight + b.weight, summary: self.local.merge(&a.summary, &b.summary) }
    }

    fn trial(&self, left: &Part<L::Summary>, right: &Part<L::Summary>) -> Result<Trial> {
        if left.weight == 0.0 || right.weight == 0.0 {
            return Ok(Trial::Unsplit);
        }
        if left.weight < self.leaf || right.weight < self.leaf {
            return Ok(Trial::Refused);
        }
        let sides = self.defined(&left.summary)?.zip(self.defined(&right.summary)?);
        Ok(match sides {
            Some((l, r)) => Trial::Split(left.weight * l + right.weight * r),
            None => Trial::Refused,
        })
    }
}

/// Σ w H / Σ w over some regions; none where one of them has no heterogeneity.
pub(super) fn mean_heterogeneity(regions: &[&Region]) -> Option<f64> {
    let total: f64 = regions.iter().map(|region| region.weight).sum();
    let sum: Option<f64> =
        regions.iter().map(|region| region.heterogeneity.map(|h| region.weight / total * h)).sum();
    sum
}

#[cfg(test)]
mod tests {
    use super::super::candidates::candidates;
    use super::*;
    use crate::Effect;
    use crate::error::Error;
    use crate::numeric::moments::Moments;

    /// Local effects that are given row by row.
    struct Given([f64; 8], [usize; 8]);

    impl Criterion for Given {
        type Summary = Moments;

        fn rows(&self) -> &[usize] {
            &self.1
        }

        fn summarise(&self, rows: &[usize]) -> Moments {
            Moments::of(&rows.iter().map(|&row| self.0[row]).collect::<Vec<_>>())
        }

        fn merge(&self, a: &Moments, b: &Moments) -> Moments {
            a.merge(*b)
        }

        fn heterogeneity(&self, summary: &Moments) -> Result<Option<f64>> {
            Ok(summary.variance(0.0))
        }

        fn floor(&self) -> f64 {
            0.0
        }

        fn effect(&self, _: &[usize]) -> Result<Effect> {
            Err(Error::Incompatible("no effect is asked for".to_owned()))
        }
    }

    /// A region of four rows and variance 9 that the split leaves whole, and one of four that it explains.
    #[test]
    fn a_region_that_is_not_split_counts_by_its_weight() {
        let x2 = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
        let rows = ndarray::Array2::from_shape_fn((8, 2), |(i, j)| [i as f64, x2[i]][j]);
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let local = Given([0.0, 6.0, 0.0, 6.0, 5.0, 5.0, 9.0, 9.0], [0, 1, 2, 3, 4, 5, 6, 7]);
        let candidates = candidates(&data, 0, 1, None).unwrap();
        let splitter = Splitter { local: &local, candidates: &candidates, leaf: 1.0 };
        let regions = [vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
        let regions = regions.map(|rows| splitter.region(&data, rows).unwrap());
        assert_eq!(regions.each_ref().map(|region| region.heterogeneity), [Some(9.0), Some(4.0)]);
        let best = splitter.best(&data, &[&regions[0], &regions[1]]).unwrap().unwrap();
        assert_eq!((best.candidates, best.candidate, best.heterogeneity), (0, 0, 4.5));
    }
}
