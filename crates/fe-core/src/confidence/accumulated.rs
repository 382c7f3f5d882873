//! How uncertain accumulated effects are: `ale`, `dale`, `rhale`.
//!
//! Given its bins, the centred curve is a weighted sum of bin means, Σ_k c_k(x) m_k: of each bin the
//! part that lies below x, less the mean of that part over what the centring averages over.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};

use super::{MOST_HELD, Purpose, Replicate, Resampling, Uncertainty};
use crate::binning::Choice;
use crate::centring::{AxisMean, CenterRule, Centring};
use crate::dataset::Dataset;
use crate::effect::{Bins, Effect};
use crate::error::{Error, Result};
use crate::estimator::Accumulated;
use crate::heterogeneity::{interpolate_missing, sources};
use crate::local_effects::{LocalEffects, Source};
use crate::model::Observed;
use crate::partition::Partition;
use crate::settings::EmptyBins;
use crate::statistics::Moments;

/// An accumulated effect with the local effects that it came from.
pub(crate) struct AccumulatedSample<'a> {
    estimator: &'a Accumulated,
    data: &'a Dataset,
    model: &'a Observed<'a>,
    effect: &'a Effect,
    bins: &'a Bins,
    x: Vec<f64>,
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
        data: &'a Dataset,
        model: &'a Observed<'a>,
        effect: &'a Effect,
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

    /// What each bin holds at some weights.
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

    fn curve(&self, partition: &Partition, contents: &[Content]) -> Result<Accumulation> {
        let binning = self.effect.record.binning.as_ref();
        let policy = binning.map(|binning| binning.empty_policy).unwrap_or_default();
        let record = &self.effect.record;
        Accumulation::new(
            Cow::Borrowed(partition),
            contents,
            policy,
            (record.centring, record.axis_mean),
            &self.x,
        )
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
        let accumulation = self.curve(&partition, &contents)?;
        let variances =
            variances.then(|| Ok::<_, Error>(accumulation.uncertainty(&contents)?.variances()));
        Ok(Replicate { curve: accumulation.curve(), variances: variances.transpose()? })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let partition = &self.bins.partition;
        let contents = match &self.local {
            Some(local) => {
                let weights: Vec<f64> =
                    self.data.weighted(self.effect.feature).map(|(_, weight)| weight).collect();
                self.contents(partition, local, &weights)
            }
            None => Content::of_bins(self.bins, self.effect.record.ddof),
        };
        self.curve(partition, &contents)?.uncertainty(&contents)
    }
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

/// The instances of a bin.
#[derive(Debug, Clone, Copy, Default)]
struct Content {
    effects: Moments,
    /// Mean of where they are, as part of the bin's width from its start.
    part: f64,
    /// Sums of squared deviations of that, and of its products with those of the local effects.
    parts_squared: f64,
    products: f64,
}

impl Content {
    fn add(&mut self, part: f64, effect: f64, weight: f64) {
        let total = self.effects.weight + weight;
        let before = (effect - self.effects.mean, part - self.part);
        self.part += before.1 * (weight / total);
        self.parts_squared += weight * before.1 * (part - self.part);
        self.products += weight * before.0 * (part - self.part);
        self.effects = self.effects.merge(Moments::single(effect, weight));
    }

    /// Where positions within bins do not matter.
    fn of_bins(bins: &Bins, ddof: f64) -> Vec<Self> {
        let content = |k: usize| {
            let weight = bins.counts[k];
            let mean = if weight > 0.0 { bins.effect[k] } else { 0.0 };
            let squares = bins.variance[k].map_or(0.0, |variance| variance * (weight - ddof));
            Self { effects: Moments { weight, mean, squares }, part: 0.5, ..Self::default() }
        };
        (0..bins.counts.len()).map(content).collect()
    }
}

/// A bin, and how much of its width lies below.
#[derive(Debug, Clone, Copy)]
struct Place {
    bin: usize,
    part: f64,
}

impl Place {
    fn of(partition: &Partition, bin: usize, x: f64) -> Self {
        let (lo, hi) = (partition.limits()[bin], partition.limits()[bin + 1]);
        Self { bin, part: ((x - lo) / (hi - lo)).clamp(0.0, 1.0) }
    }

    fn find(partition: &Partition, x: f64) -> Self {
        let bin = partition.limits().partition_point(|&z| z <= x);
        Self::of(partition, bin.clamp(1, partition.bins()) - 1, x)
    }
}

/// The centred curve at some places as a weighted sum of the means of the bins that have instances.
struct Accumulation {
    /// c, places × bins; 0 for bins without instances.
    weights: DMatrix<f64>,
    /// The means of the bins, 0 for those without instances.
    means: DVector<f64>,
    /// For each bin: what stands in where its variance is undefined.
    variances: Vec<f64>,
    /// For centrings over the instances: the curve there less its mean, as value at the mean place of
    /// each bin, and rise over the bin.
    positions: Option<Vec<(f64, f64)>>,
}

impl Accumulation {
    fn new(
        partition: Cow<'_, Partition>,
        contents: &[Content],
        policy: EmptyBins,
        centring: (Centring, AxisMean),
        x: &[f64],
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
        let row = |x: f64| {
            let Place { bin, part } = Place::find(&partition, x);
            let mut row: Vec<f64> = centre.iter().map(|centre| -centre).collect();
            (0..bin).for_each(|k| row[k] += widths[k]);
            row[bin] += widths[bin] * part;
            row
        };
        let mut weights = DMatrix::zeros(x.len(), widths.len());
        for (i, &x) in x.iter().enumerate() {
            for (k, c) in row(x).into_iter().enumerate() {
                if known[k] {
                    weights[(i, k)] += c;
                } else if policy != EmptyBins::Zero {
                    for (source, share) in sources[k] {
                        weights[(i, source)] += share * c;
                    }
                }
            }
        }
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
        let of_instances = matches!(centring.0, Centring::Data | Centring::Bins);
        let positions = of_instances.then(|| {
            let filled = |k: usize| match (known[k], policy) {
                (true, _) => means[k],
                (false, EmptyBins::Zero) => 0.0,
                (false, _) => sources[k].iter().map(|&(s, share)| share * means[s]).sum(),
            };
            let mut reached = -(0..widths.len()).map(|k| centre[k] * filled(k)).sum::<f64>();
            let position = |k: usize| {
                let rise = widths[k] * filled(k);
                let part = if centring.0 == Centring::Bins { 0.5 } else { contents[k].part };
                let at = reached + part * rise;
                reached += rise;
                (at, rise)
            };
            (0..widths.len()).map(position).collect()
        });
        Ok(Self { weights, means, variances, positions })
    }

    fn curve(&self) -> Vec<f64> {
        (&self.weights * &self.means).as_slice().to_vec()
    }

    /// A column for each bin, c_k(x) s_k / √n_k, known with n_k − 1 degrees of freedom.
    ///
    /// Where the centring averages over the instances, their positions are uncertain too: with b_i the
    /// centred curve at instance i, the constant varies with the mean of b, which within a bin may go
    /// along with the local effects.
    fn uncertainty(&self, contents: &[Content]) -> Result<Uncertainty> {
        let total: f64 = contents.iter().map(|bin| bin.effects.weight).sum();
        let mut factor = DMatrix::zeros(self.weights.nrows(), contents.len() + 1);
        let mut degrees = Vec::with_capacity(contents.len() + 1);
        let mut of_positions = 0.0;
        for (k, bin) in contents.iter().enumerate() {
            let count = bin.effects.weight;
            degrees.push((count - 1.0).max(1.0));
            if count == 0.0 {
                continue;
            }
            let error = (self.variances[k] / count).sqrt();
            let mut column = self.weights.column(k) * error;
            if let Some(positions) = &self.positions {
                let (at, rise) = positions[k];
                let products = rise * bin.products;
                let squares = self.variances[k] * count;
                let along = if squares > 0.0 { products / squares.sqrt() } else { 0.0 };
                column.add_scalar_mut(-along / total);
                let spread = count * at * at + rise * rise * bin.parts_squared;
                of_positions += (spread - along * along).max(0.0);
            }
            factor.set_column(k, &column);
        }
        degrees.push((total - 1.0).max(1.0));
        factor.column_mut(contents.len()).fill(of_positions.sqrt() / total);
        Ok(Uncertainty::of_columns(factor, &degrees))
    }
}

/// The mean that the centring takes away, as weights of the bins: with p_k the share of what is
/// averaged over that lies in bin k, and u_k its mean part there, Δz_k (p_{k+1} + … + p_K + p_k u_k).
fn centre(
    partition: &Partition,
    contents: &[Content],
    (centring, mean): (Centring, AxisMean),
    widths: &[f64],
) -> Vec<f64> {
    let bins = widths.len();
    // Share of each bin, and the same times the mean part.
    let (mut shares, mut parts) = (vec![0.0; bins], vec![0.0; bins]);
    let mut add = |place: Place, share: f64| {
        shares[place.bin] += share;
        parts[place.bin] += share * place.part;
    };
    match centring {
        Centring::None => return vec![0.0; bins],
        Centring::Start => add(Place { bin: 0, part: 0.0 }, 1.0),
        Centring::Integral if mean.rule() == CenterRule::Exact => {
            let length: f64 = widths.iter().sum();
            (0..bins).for_each(|bin| add(Place { bin, part: 0.5 }, widths[bin] / length));
        }
        Centring::Integral => {
            let places = partition.axis().map(|axis| mean.places(axis)).unwrap_or_default();
            let share = 1.0 / places.len() as f64;
            places.iter().for_each(|&x| add(Place::find(partition, x), share));
        }
        Centring::Data | Centring::Bins => {
            let total: f64 = contents.iter().map(|bin| bin.effects.weight).sum();
            for (bin, content) in contents.iter().enumerate() {
                let part = if centring == Centring::Bins { 0.5 } else { content.part };
                add(Place { bin, part }, content.effects.weight / total);
            }
        }
    }
    let mut right = 0.0;
    let mut centre = vec![0.0; bins];
    for k in (0..bins).rev() {
        centre[k] = widths[k] * (right + parts[k]);
        right += shares[k];
    }
    centre
}
