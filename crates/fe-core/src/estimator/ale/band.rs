//! Confidence bands of accumulated effects: `ale`, `dale`, `rhale`.
//!
//! Given its bins, the centred curve is a weighted sum of bin means, Σ_k c_k(x) m_k: of each bin the
//! part that lies below x, less the mean of that part over what the centring averages over.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};

use super::Accumulated;
use super::accumulation::{Accumulation, Averaged, Content, Place};
use super::fine::{self, AROUND, FineCurve, Moved, Sees};
use super::local_effects::{BLOCK, LocalEffects, Source};
use crate::binning::Choice;
use crate::confidence::{Debiased, MOST_HELD, Purpose, Replicate, Resampling, Uncertainty};
use crate::data::Dataset;
use crate::effect::centring::AxisMean;
use crate::effect::{Bins, Effect};
use crate::error::{Error, Result};
use crate::estimator::{Estimated, Observation};
use crate::model::Observed;
use crate::numeric::interpolation::{interpolate_missing, sources};
use crate::numeric::partition::Partition;
use crate::numeric::quantiles::SortedSample;
use crate::settings::Centring;
use crate::settings::EmptyBins;

/// Bins times places up to which the curve of a resample is a product with the matrix that its variances
/// need; of thousands of bins, as noise-free local effects make them, that takes most of a minute.
const MOST_MULTIPLIED: usize = 1 << 16;

/// Rows that are looked at before all of them are asked whether they say the same.
const FEW: usize = 64;

/// An accumulated effect with the local effects that it came from.
pub(crate) struct AccumulatedSample<'a> {
    estimator: &'a Accumulated,
    data: &'a Dataset,
    model: &'a Observed<'a>,
    effect: &'a Effect,
    bins: &'a Bins,
    x: Vec<f64>,
    resampled: bool,
    rebin: bool,
    /// The local effect of every row; NaN where it does not count. None where bin moments are enough.
    local: Option<Vec<f64>>,
}

impl<'a> AccumulatedSample<'a> {
    /// The model is asked for local effects again where moments of bins are not enough: for resamples,
    /// and for the centring `data`.
    ///
    /// # Errors
    /// [`Error::BadOption`] where bins times places are too many; [`Error::Model`].
    pub(crate) fn new(
        estimator: &'a Accumulated,
        Estimated { data, model, effect }: Observation<'a>,
        purpose: &Purpose<'_>,
    ) -> Result<Self> {
        let Some(bins) = &effect.bins else {
            return Err(Error::Incompatible("an effect without bins accumulates none".to_owned()));
        };
        check_size(bins.partition.bins(), purpose.x.len())?;
        let mut sample = Self {
            estimator,
            data,
            model,
            effect,
            bins,
            x: purpose.x.to_vec(),
            resampled: purpose.resampled,
            rebin: purpose.rebin,
            local: None,
        };
        if purpose.resampled || effect.record.centring == Centring::Data {
            let effects = sample.local_effects(data)?;
            let mut all = effects.of_instances(&bins.partition)?;
            sample.local = Some(all.swap_remove(effect.output));
        }
        Ok(sample)
    }

    fn local_effects<'b>(&'b self, data: &'b Dataset) -> Result<LocalEffects<'b>> {
        let source = self.estimator.source(self.model.model(), self.effect.record.axis)?;
        Ok(LocalEffects::new(data, self.model, self.effect.feature, source))
    }

    /// Bins and local effects of a resample for which bins are chosen anew: differences belong to
    /// their bins, so the model is asked for them again.
    fn chosen_anew(&self, weights: &[f64]) -> Result<(Partition, Vec<f64>)> {
        let data = self.data.clone().with_weights(weights.to_vec())?;
        let (record, output) = (&self.effect.record, self.effect.output);
        let effects = self.local_effects(&data)?;
        let local = self.local.clone().unwrap_or_default();
        let effects = match effects.source {
            Source::Differences => effects,
            Source::Derivatives(_) => {
                let outputs = self.model.model().outputs();
                effects.holding(vec![local.clone(); outputs])
            }
        };
        let Choice { partition, .. } = self.estimator.choose_bins(&effects, record.axis, output)?;
        let local = match effects.source {
            Source::Differences => effects.of_instances(&partition)?.swap_remove(output),
            Source::Derivatives(_) => local,
        };
        Ok((partition, local))
    }

    /// Contents of each bin at some weights of the rows.
    fn contents(&self, partition: &Partition, local: &[f64], weights: &[f64]) -> Vec<Content> {
        let mut contents = vec![Content::default(); partition.bins()];
        let positions = self.data.feature(self.effect.feature);
        for ((&x, &effect), &weight) in positions.iter().zip(local).zip(weights) {
            if weight > 0.0
                && !effect.is_nan()
                && let Some(bin) = partition.locate(x)
            {
                let place = Place::of(partition, bin, x);
                contents[bin].add(place.part, effect, weight);
            }
        }
        contents
    }

    /// Weights of the rows.
    fn weights(&self) -> Vec<f64> {
        self.data.weighted(self.effect.feature).map(|(_, weight)| weight).collect()
    }

    /// Cells that are finer than the bins; none where bins are the values that the feature has.
    fn cells(&self) -> Result<Option<Partition>> {
        let record = &self.effect.record;
        if record.binning.as_ref().is_some_and(|binning| binning.distinct.is_some()) {
            return Ok(None);
        }
        let rows = self.data.weighted(self.effect.feature);
        let inside = rows.filter(|&(x, weight)| weight > 0.0 && record.axis.contains(x));
        fine::cells(&SortedSample::new(inside), record.axis, self.bins.partition.closed())
    }

    fn rows_on_axis(&self) -> impl Iterator<Item = usize> + '_ {
        let rows = self.data.weighted(self.effect.feature).enumerate();
        let counts = |(x, weight): (f64, f64)| weight > 0.0 && self.effect.record.axis.contains(x);
        rows.filter(move |&(_, row)| counts(row)).map(|(row, _)| row)
    }

    /// Those rows, by where they are.
    fn rows_in_order(&self) -> Vec<usize> {
        let positions = self.data.feature(self.effect.feature);
        let mut rows: Vec<usize> = self.rows_on_axis().collect();
        rows.sort_by(|&a, &b| positions[a].total_cmp(&positions[b]));
        rows
    }

    /// The largest local effect of some rows, and how far it is at most from that of the row half of them farther on, taken
    /// to the same place: as errors of the curve.
    fn differing(&self, rows: &[usize]) -> Result<(f64, f64)> {
        let (feature, bins) = (self.effect.feature, &self.bins.partition);
        let here = self.data.select(rows);
        let turned: Vec<usize> =
            (0..rows.len()).map(|i| (i + rows.len() / 2) % rows.len()).collect();
        let others = here.select(&turned).with_feature_of(feature, &inverse(&turned));
        let effects = |data| {
            let mut all = self.local_effects(data)?.of_moved(bins)?;
            Ok::<_, Error>(all.swap_remove(self.effect.output))
        };
        let (mine, theirs) = (effects(&here)?, effects(&others)?);
        let (axis, widths) = (self.effect.record.axis, bins.widths());
        let source = self.estimator.source(self.model.model(), axis)?;
        let over = |x: f64| match source {
            Source::Derivatives(_) => axis.width(),
            Source::Differences => bins.locate(x).map_or(0.0, |bin| widths[bin]),
        };
        let mut largest = (0.0, 0.0);
        for ((mine, theirs), &x) in mine.iter().zip(&theirs).zip(here.feature(feature)) {
            largest.0 = f64::max(largest.0, mine.abs() * over(x));
            // What is no number is no agreement.
            let apart = (mine - theirs).abs() * over(x);
            largest.1 = if apart.is_nan() { f64::INFINITY } else { f64::max(largest.1, apart) };
        }
        Ok(largest)
    }

    /// The rows in a cell and in those around it, of rows in order; none if the latter hardly weigh more.
    fn around<'b>(
        &self,
        cells: &Partition,
        cell: usize,
        (rows, weights): (&'b [usize], &[f64]),
    ) -> Option<(&'b [usize], &'b [usize])> {
        let positions = self.data.feature(self.effect.feature);
        let first = cell.saturating_sub(AROUND).min(cells.bins().saturating_sub(2 * AROUND + 1));
        let last = (first + 2 * AROUND).min(cells.bins() - 1);
        let of = |from: usize, to: usize| {
            let start = rows.partition_point(|&row| cells.locate(positions[row]) < Some(from));
            let end = rows.partition_point(|&row| cells.locate(positions[row]) <= Some(to));
            &rows[start..end]
        };
        let weight = |rows: &[usize]| rows.iter().map(|&row| weights[row]).sum::<f64>();
        let (own, near) = (of(cell, cell), of(first, last));
        (!own.is_empty() && weight(near) >= 2.0 * weight(own)).then_some((own, near))
    }

    /// The local effects that the instances around a cell would have in it, at two places: over its halves, or a standard
    /// deviation on either side of the mean of its instances.
    fn moved_into(
        &self,
        [from, to]: [f64; 2],
        (own, near): (&[usize], &[usize]),
        weights: &[f64],
    ) -> Result<(Vec<Moved>, Sees)> {
        let (feature, axis) = (self.effect.feature, self.effect.record.axis);
        let positions = self.data.feature(feature);
        let middle = from + 0.5 * (to - from);
        let (sees, places) = match self.estimator.source(self.model.model(), axis)? {
            Source::Differences => (Sees::Jumps, [0.5 * (from + middle), 0.5 * (middle + to)]),
            Source::Derivatives(_) => {
                let mut content = Content::default();
                own.iter().for_each(|&row| content.add(positions[row], 0.0, weights[row]));
                let spread = (content.parts_squared / content.effects.weight).sqrt();
                let ends = [own[0], own[own.len() - 1]].map(|row| positions[row]);
                let at = |by: f64| (content.part + by).clamp(ends[0], ends[1]);
                (Sees::Kinks, [at(-spread), at(spread)])
            }
        };
        let halves = Partition::new(vec![from, middle, to], self.bins.partition.closed())?;
        let around = self.data.select(near);
        let effects_at = |x: f64| {
            let moved = around.clone().with_feature_at(feature, x);
            let mut effects = self.local_effects(&moved)?.of_moved(&halves)?;
            Ok::<_, Error>(effects.swap_remove(self.effect.output))
        };
        let (first, second) = (effects_at(places[0])?, effects_at(places[1])?);
        let parts = places.map(|x| (x - from) / (to - from));
        let mut all = Vec::with_capacity(2 * near.len());
        for ((&row, first), second) in near.iter().zip(first).zip(second) {
            let turn = (parts[1] - parts[0], second - first);
            let mut add = |part: f64, effect: f64, weight: f64| {
                all.push(Moved { from: positions[row], part, effect, turn, weight });
            };
            match sees {
                // That over the cell is the mean of those over its halves.
                Sees::Jumps => add(0.5, 0.5 * (first + second), weights[row]),
                Sees::Kinks => {
                    add(parts[0], first, 0.5 * weights[row]);
                    add(parts[1], second, 0.5 * weights[row]);
                }
            }
        }
        Ok((all, sees))
    }

    fn means<'b>(&self, partition: &'b Partition, contents: &[Content]) -> Result<Means<'b>> {
        let record = &self.effect.record;
        let policy =
            record.binning.as_ref().map(|binning| binning.empty_policy).unwrap_or_default();
        let centring = (record.centring, record.axis_mean);
        Means::new(Cow::Borrowed(partition), contents, policy, centring)
    }
}

impl Resampling for AccumulatedSample<'_> {
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate> {
        let held = self.local.as_deref().unwrap_or_default();
        let (partition, local) = if self.rebin {
            let (partition, local) = self.chosen_anew(weights)?;
            check_size(partition.bins(), self.x.len())?;
            (Cow::Owned(partition), Cow::Owned(local))
        } else {
            (Cow::Borrowed(&self.bins.partition), Cow::Borrowed(held))
        };
        let contents = self.contents(&partition, &local, weights);
        let means = self.means(&partition, &contents)?;
        if !variances && partition.bins().saturating_mul(self.x.len()) > MOST_MULTIPLIED {
            return Ok(Replicate { curve: means.curve(&self.x), variances: None });
        }
        let accumulation = means.summed(&contents, &self.x);
        let variances =
            variances.then(|| Ok::<_, Error>(accumulation.uncertainty(&contents)?.variances()));
        Ok(Replicate { curve: accumulation.curve(), variances: variances.transpose()? })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let partition = &self.bins.partition;
        let contents = match &self.local {
            Some(local) => self.contents(partition, local, &self.weights()),
            None => Content::of_bins(self.bins, self.effect.record.ddof),
        };
        let means = self.means(partition, &contents)?;
        means.summed(&contents, &self.x).uncertainty(&contents)
    }

    fn debiased(&self) -> Result<Option<Debiased>> {
        let Some(cells) = self.cells()? else { return Ok(None) };
        check_size(cells.bins(), self.x.len())?;
        let local = self.local_effects(self.data)?.of_instances(&cells)?;
        let weights = self.weights();
        let contents = self.contents(&cells, &local[self.effect.output], &weights);
        let centring = (self.effect.record.centring, self.effect.record.axis_mean);
        let mut curve = FineCurve::new(&cells, &contents, centring)?;
        let decisive = curve.decisive();
        if !decisive.is_empty() {
            let rows = self.rows_in_order();
            for cell in decisive {
                if let Some(found) = self.around(&cells, cell, (&rows, &weights)) {
                    let ends = [cells.limits()[cell], cells.limits()[cell + 1]];
                    let (moved, sees) = self.moved_into(ends, found, &weights)?;
                    curve.know(cell, &moved, sees);
                }
            }
        }
        curve.debiased(&self.x).map(Some)
    }

    /// True if instances elsewhere, taken to the places of others, have their local effects there. Resamples tell bins of
    /// other instances apart all the same, and means over the instances are uncertain by where these are.
    fn is_certain(&self, rounding: f64) -> bool {
        if self.resampled || matches!(self.effect.record.centring, Centring::Data | Centring::Bins)
        {
            return false;
        }
        let rows: Vec<usize> = self.rows_on_axis().collect();
        let few: Vec<usize> =
            rows.iter().copied().step_by(rows.len().div_ceil(FEW).max(1)).collect();
        // A model that fails here fails again where limits are made.
        let are_alike = |(_, apart): (f64, f64)| apart <= rounding;
        // Of what is rounding alone nothing is asked.
        let is_any = self.differing(&few).is_ok_and(|of| of.0 > rounding && are_alike(of));
        is_any && rows.chunks(BLOCK).all(|block| self.differing(block).is_ok_and(are_alike))
    }
}

/// The places at which a permutation has each number.
fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut places = vec![0; permutation.len()];
    permutation.iter().enumerate().for_each(|(place, &row)| places[row] = place);
    places
}

fn check_size(bins: usize, places: usize) -> Result<()> {
    if bins.saturating_mul(places) <= MOST_HELD {
        return Ok(());
    }
    Err(Error::BadOption {
        option: "bins",
        given: format!("{bins} bins for a band at {places} places"),
        allowed: format!("at most {MOST_HELD} bins times places"),
    })
}

/// The means of the bins, from which the curve at any place is made.
struct Means<'a> {
    partition: Cow<'a, Partition>,
    policy: EmptyBins,
    centring: Centring,
    widths: Vec<f64>,
    known: Vec<bool>,
    /// For each bin those that it is interpolated from, and by which shares.
    sources: Vec<[(usize, f64); 2]>,
    /// The constant of the centring, as weights of the bins.
    centre: Vec<f64>,
    /// The means of the bins, 0 for those without instances.
    means: DVector<f64>,
    /// For each bin: what stands in where its variance is undefined.
    variances: Vec<f64>,
}

impl<'a> Means<'a> {
    fn new(
        partition: Cow<'a, Partition>,
        contents: &[Content],
        policy: EmptyBins,
        centring: (Centring, AxisMean),
    ) -> Result<Self> {
        let widths = partition.widths();
        let known: Vec<bool> = contents.iter().map(|bin| !bin.effects.is_empty()).collect();
        let between = match policy {
            EmptyBins::InterpolateIndex => (0..widths.len()).map(|k| k as f64).collect(),
            _ => partition.centres(),
        };
        let Some(sources) = sources(&known, &between) else {
            return Err(Error::Incompatible("no instance is in any bin".to_owned()));
        };
        let centre = centre(&partition, contents, centring, &widths);
        let means = contents.iter().map(|bin| bin.effects.mean);
        let means = DVector::from_iterator(contents.len(), means);
        let variances: Vec<Option<f64>> =
            contents.iter().map(|bin| bin.effects.variance(1.0)).collect();
        let (Some(variances), _) = interpolate_missing(&variances, &between) else {
            return Err(Error::Incompatible(
                "no bin has two instances, so nothing tells how uncertain the effect is: take fewer \
                 bins"
                    .to_owned(),
            ));
        };
        let centring = centring.0;
        Ok(Self { partition, policy, centring, widths, known, sources, centre, means, variances })
    }

    /// The mean of a bin, or what it has in place of one.
    fn filled(&self, k: usize) -> f64 {
        match (self.known[k], self.policy) {
            (true, _) => self.means[k],
            (false, EmptyBins::Zero) => 0.0,
            (false, _) => self.sources[k].iter().map(|&(s, share)| share * self.means[s]).sum(),
        }
    }

    /// The centred curve at some places, added up from bin to bin: the work of bins and places, not of
    /// their product as that of [`Means::weights`], which give the same but for rounding.
    fn curve(&self, x: &[f64]) -> Vec<f64> {
        let filled: Vec<f64> = (0..self.widths.len()).map(|k| self.filled(k)).collect();
        let constant: f64 = self.centre.iter().zip(&filled).map(|(c, mean)| c * mean).sum();
        let mut reached = Vec::with_capacity(filled.len());
        let mut sum = 0.0;
        for (width, mean) in self.widths.iter().zip(&filled) {
            reached.push(sum);
            sum += width * mean;
        }
        let at = |&x: &f64| {
            let Place { bin, part } = Place::find(&self.partition, x);
            reached[bin] + self.widths[bin] * part * filled[bin] - constant
        };
        x.iter().map(at).collect()
    }

    /// c, places × bins; 0 for bins without instances.
    fn weights(&self, x: &[f64]) -> DMatrix<f64> {
        let row = |x: f64| {
            let Place { bin, part } = Place::find(&self.partition, x);
            let mut row: Vec<f64> = self.centre.iter().map(|centre| -centre).collect();
            (0..bin).for_each(|k| row[k] += self.widths[k]);
            row[bin] += self.widths[bin] * part;
            row
        };
        let mut weights = DMatrix::zeros(x.len(), self.widths.len());
        for (i, &x) in x.iter().enumerate() {
            for (k, c) in row(x).into_iter().enumerate() {
                if self.known[k] {
                    weights[(i, k)] += c;
                } else if self.policy != EmptyBins::Zero {
                    for (source, share) in self.sources[k] {
                        weights[(i, source)] += share * c;
                    }
                }
            }
        }
        weights
    }

    /// For centrings over the instances: the curve there less its mean, as value at the mean place of
    /// each bin, and rise over the bin.
    fn positions(&self, contents: &[Content]) -> Option<Vec<(f64, f64)>> {
        if !matches!(self.centring, Centring::Data | Centring::Bins) {
            return None;
        }
        let bins = 0..self.widths.len();
        let mut reached = -bins.clone().map(|k| self.centre[k] * self.filled(k)).sum::<f64>();
        let position = |k: usize| {
            let rise = self.widths[k] * self.filled(k);
            let part = if self.centring == Centring::Bins { 0.5 } else { contents[k].part };
            let at = reached + part * rise;
            reached += rise;
            (at, rise)
        };
        Some(bins.map(position).collect())
    }

    /// The centred curve at some places.
    fn summed(self, contents: &[Content], x: &[f64]) -> Accumulation {
        let (weights, positions) = (self.weights(x), self.positions(contents));
        Accumulation { weights, positions, means: self.means, variances: self.variances }
    }
}

/// The mean that the centring takes away, as weights of the bins: with p_k the share of what is
/// averaged over that lies in bin k, and u_k its mean part there, Δz_k (p_{k+1} + … + p_K + p_k u_k).
fn centre(
    partition: &Partition,
    contents: &[Content],
    centring: (Centring, AxisMean),
    widths: &[f64],
) -> Vec<f64> {
    Averaged::over(partition, contents, centring, widths).centre(widths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::moments::Moments;
    use crate::numeric::partition::Closed;

    /// Bins of all sorts: many instances, a single one, none, at the ends and between.
    #[test]
    fn the_curve_added_up_bin_by_bin_is_that_of_the_matrix() {
        let counts = [0.0, 3.0, 1.0, 0.0, 0.0, 7.0, 2.0, 0.0];
        let limits: Vec<f64> = (0..=counts.len()).map(|k| (k * k) as f64 / 10.0 - 1.0).collect();
        let partition = Partition::new(limits, Closed::Left).unwrap();
        let content = |(k, &weight): (usize, &f64)| {
            let mean = if weight > 0.0 { (k as f64).sin() } else { 0.0 };
            let effects = Moments { weight, mean, squares: weight };
            Content { effects, part: 0.3, ..Content::default() }
        };
        let contents: Vec<Content> = counts.iter().enumerate().map(content).collect();
        let x: Vec<f64> = (0..=80).map(|i| f64::from(i) * 0.09 - 1.2).collect();
        for policy in [EmptyBins::Interpolate, EmptyBins::InterpolateIndex, EmptyBins::Zero] {
            for centring in [Centring::None, Centring::Start, Centring::Integral, Centring::Data] {
                let centring = (centring, AxisMean::default());
                let means =
                    || Means::new(Cow::Borrowed(&partition), &contents, policy, centring).unwrap();
                let quick = means().curve(&x);
                let plain = means().summed(&contents, &x).curve();
                assert_eq!((quick.len(), plain.len()), (x.len(), x.len()));
                for (quick, plain) in quick.iter().zip(&plain) {
                    assert!((quick - plain).abs() < 1e-13, "{policy:?} {centring:?}");
                }
            }
        }
    }

    /// Bins of widths 1, 2 and 4, of which the second is empty; instances at three tenths of the others.
    #[test]
    fn positions_are_those_of_the_curve_at_the_mean_places() {
        let partition = Partition::new(vec![0.0, 1.0, 3.0, 7.0], Closed::Left).unwrap();
        let content = |(weight, mean): (f64, f64)| {
            let effects = Moments { weight, mean, squares: weight };
            Content { effects, part: 0.3, ..Content::default() }
        };
        let contents = [(3.0, 2.0), (0.0, 0.0), (5.0, -1.0)].map(content);
        for (centring, part) in [(Centring::Data, 0.3), (Centring::Bins, 0.5)] {
            let means = Means::new(
                Cow::Borrowed(&partition),
                &contents,
                EmptyBins::Interpolate,
                (centring, AxisMean::default()),
            );
            let means = means.unwrap();
            let positions = means.positions(&contents).unwrap();
            assert_eq!(positions.len(), 3);
            for (ends, (at, rise)) in partition.limits().windows(2).zip(positions) {
                let curve = means.curve(&[ends[0], ends[0] + part * (ends[1] - ends[0]), ends[1]]);
                assert!((at - curve[1]).abs() < 1e-14, "{centring:?}: {at} {}", curve[1]);
                assert!((rise - (curve[2] - curve[0])).abs() < 1e-14, "{centring:?}");
            }
        }
        let start = (Centring::Start, AxisMean::default());
        let means = Means::new(Cow::Borrowed(&partition), &contents, EmptyBins::Interpolate, start);
        assert!(means.unwrap().positions(&contents).is_none());
    }

    /// More bins times places than curves are a product for: variances are wanted all the same.
    #[test]
    fn a_resample_that_draws_every_row_once_has_the_variances_of_the_data() {
        let rows = ndarray::Array2::from_shape_fn((900, 2), |(i, j)| match j {
            0 => i as f64 / 899.0,
            _ => (i * 37 % 900) as f64 / 900.0,
        });
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let model = crate::model::FunctionModel::new(2, |x| x[0] * x[1]);
        let estimator = super::super::Ale::with_bins(260).unwrap();
        let effect =
            &crate::estimator::Estimator::estimate(&estimator, &data, &model, 0).unwrap()[0];
        let observed = Observed::new(&model);
        let x: Vec<f64> = (0..260).map(|i| f64::from(i) / 259.0).collect();
        let purpose = Purpose { x: &x, resampled: true, rebin: false };
        let of = Estimated { data: &data, model: &observed, effect };
        let sample = AccumulatedSample::new(&estimator, of, &purpose).unwrap();
        assert!(260 * x.len() > MOST_MULTIPLIED);
        let known = sample.uncertainty().unwrap().variances();
        let resample = sample.replicate(&[1.0; 900], true).unwrap();
        assert_eq!(resample.variances, Some(known));
        let quick = sample.replicate(&[1.0; 900], false).unwrap();
        assert!(quick.variances.is_none());
        for (quick, plain) in quick.curve.iter().zip(&resample.curve) {
            assert!((quick - plain).abs() < 1e-13);
        }
    }
}
