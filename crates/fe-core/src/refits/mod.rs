//! Refits of a learner to resamples of the rows, and bands of its expected effect.
//!
//! May import `estimator`, `confidence`, `effect`, `settings`, `data` and what lies below. Begin with [`Refitting`].
//!
//! A model is one of many that its learner might have given of other rows. So the learner is fitted again and again, each
//! time to some of the rows, and the effect of each fit is estimated on the rows that it has not seen (Molnar et al. 2023):
//! all on one grid, or one set of bins, and all centred alike. The band is around the effect of the model of all rows, and
//! its variance that over refits times a [`Correction`], since refits share rows.

mod pairs;
mod permutation;
mod steps;

pub use pairs::PairRefitting;
pub use permutation::{AdditiveFit, LearnFrom, LearnTarget, PermutationTest};
pub use steps::has_steps;

use crate::confidence::{BandRequest, OverRefits};
use crate::data::{AxisChoice, Dataset};
use crate::effect::{ConfidenceBand, Effect, Instances, LevelRecord, RefitRecord, centring};
use crate::error::{Error, Result};
use crate::estimator::{self, Estimator};
use crate::interrupt;
use crate::model::Model;
use crate::model::magnitude::MagnitudeProbe;
use crate::numeric::blocks::fold_blocks;
use crate::numeric::curve::{Curve, Shape};
use crate::settings::{BandKind, Centring, Correction, LevelOrder, Scheme, Settings};

/// Refits if nothing else is asked for.
const DEFAULT_REFITS: usize = 30;

/// Most refits.
const MOST_REFITS: usize = 10_000;

/// A model that can be asked from any thread.
pub type RefittedModel = Box<dyn Model + Send>;

/// A learner: the model that it makes of some rows of the data (counted from 0, some of them more than once) with random
/// numbers from a seed; or why it makes none.
pub type Learn<'a> = dyn Fn(&[usize], u64) -> Result<RefittedModel, String> + Sync + 'a;

/// Number and kind of refits.
///
/// ```
/// use fe_core::{Settings, refits::RefitOptions, settings::BandKind};
/// let settings = Settings { band: Some(BandKind::Refit), refits: Some(20), ..Settings::default() };
/// let options = RefitOptions::from_settings(&settings)?.unwrap();
/// assert_eq!((options.refits, options.scheme(false).to_string()), (20, "bootstrap".to_owned()));
/// assert_eq!(options.scheme(true).to_string(), "subsample:0.5");
/// assert_eq!(RefitOptions::from_settings(&Settings::default())?, None);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefitOptions {
    /// The scheme by which rows are drawn, where it is asked for.
    pub resampling: Option<Scheme>,
    /// Number of refits, m.
    pub refits: usize,
    /// The seed of all that is drawn.
    pub seed: u64,
}

impl RefitOptions {
    /// Those of some settings; none where these ask for no band from refits.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 refits or too many, and for no permutations.
    pub fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        if settings.band != Some(BandKind::Refit) {
            return Ok(None);
        }
        let resampling = settings.resampling;
        let usual = match resampling {
            // Whole rounds.
            Some(Scheme::CrossValidation(folds)) => {
                DEFAULT_REFITS.div_ceil(folds).saturating_mul(folds)
            }
            _ => DEFAULT_REFITS,
        };
        let refits = settings.refits.unwrap_or(usual);
        if !(2..=MOST_REFITS).contains(&refits) {
            return Err(Error::BadOption {
                option: "refits",
                given: refits.to_string(),
                allowed: format!("must be from 2 to {MOST_REFITS}: fewer have no variance"),
            });
        }
        let seed = settings.band_seed.unwrap_or_default();
        PermutationTest::of_feature(settings, seed)?;
        PermutationTest::of_residuals(settings, seed)?;
        Ok(Some(Self { resampling, refits, seed }))
    }

    /// The scheme by which rows are drawn, of a learner whose models are step functions or not: where none is asked for, half
    /// of the rows for those that are, a bootstrap for others. A bootstrap tells too little of how uncertain the places of
    /// steps are: a row that was drawn twice stays on its own side of any step.
    #[must_use]
    pub fn scheme(&self, has_steps: bool) -> Scheme {
        let usual = if has_steps { Scheme::HALF } else { Scheme::Bootstrap };
        self.resampling.unwrap_or(usual)
    }

    /// Refuses numbers of rows to which this cannot be done.
    ///
    /// # Errors
    /// [`Error::Incompatible`] with the reason.
    pub fn check(&self, rows: usize) -> Result<()> {
        // A bootstrap needs more rows than half-samples do.
        self.scheme(false).check(rows, self.refits).map_err(Error::Incompatible)
    }

    /// Refits a learner, whose models are step functions or not, to resamples of the rows. What is drawn depends on the
    /// seed and the number of each refit alone.
    ///
    /// # Errors
    /// As [`RefitOptions::check`], and [`Error::Incompatible`] with the reason of the first refit that fails.
    pub fn fit(&self, data: &Dataset, learn: &Learn<'_>, has_steps: bool) -> Result<Refits> {
        self.check(data.len())?;
        let scheme = self.scheme(has_steps);
        let mut all = Vec::with_capacity(self.refits);
        let one = |number: std::ops::Range<usize>| {
            interrupt::check();
            let number = number.start;
            let resample = scheme.resample(data.len(), self.seed, number);
            let model = learn(&resample.fit, resample.seed).map_err(|reason| {
                let of = format!("refit {} of {}", number + 1, self.refits);
                Error::Incompatible(format!("{of} to a resample of the rows failed: {reason}"))
            })?;
            let mut different = resample.fit;
            different.dedup();
            Ok::<_, Error>(Refit {
                model,
                fitted: different.len(),
                left_out: data.select(&resample.left_out),
            })
        };
        fold_blocks(self.refits, 1, one, |refit: Refit| all.push(refit))?;
        Ok(Refits { options: *self, scheme, all })
    }
}

/// A model with the rows that it has not seen.
struct Refit {
    model: RefittedModel,
    /// Number of different rows that it was fitted to.
    fitted: usize,
    left_out: Dataset,
}

/// A learner as it was fitted to resamples of the rows.
pub struct Refits {
    options: RefitOptions,
    scheme: Scheme,
    all: Vec<Refit>,
}

impl Refits {
    /// The options by which they were made.
    #[must_use]
    pub fn options(&self) -> RefitOptions {
        self.options
    }

    /// The models, with the sizes of what they answer.
    fn models(&self) -> Vec<MagnitudeProbe<'_>> {
        self.all.iter().map(|refit| MagnitudeProbe::new(&*refit.model)).collect()
    }

    /// Values of the effect of each of these models on the rows that it has not seen.
    fn curves(
        &self,
        models: &[MagnitudeProbe<'_>],
        of: impl Fn(&Dataset, &MagnitudeProbe<'_>) -> Result<Vec<f64>> + Sync,
    ) -> Result<Vec<Vec<f64>>> {
        let mut curves = Vec::with_capacity(models.len());
        let one = |number: std::ops::Range<usize>| {
            interrupt::check();
            let number = number.start;
            of(&self.all[number].left_out, &models[number]).map_err(|error| {
                let of = format!("refit {} of {}", number + 1, models.len());
                Error::Incompatible(format!("{of} has no effect on the rows left out: {error}"))
            })
        };
        fold_blocks(models.len(), 1, one, |curve: Vec<f64>| curves.push(curve))?;
        Ok(curves)
    }

    /// Mean numbers of different rows of a fit, and of rows left out.
    fn sizes(&self) -> (f64, f64) {
        let mean = |of: fn(&Refit) -> usize| {
            self.all.iter().map(of).sum::<usize>() as f64 / self.all.len() as f64
        };
        (mean(|refit| refit.fitted), mean(|refit| refit.left_out.len()))
    }

    fn record(&self, correction: Correction) -> RefitRecord {
        let (refits, resampling) = (self.options.refits, self.scheme);
        let (fitted_rows, left_out_rows) = self.sizes();
        let variance_factor = match (correction, resampling) {
            (Correction::NadeauBengio, _) => 1.0 / refits as f64 + left_out_rows / fitted_rows,
            (Correction::Jackknife, Scheme::Bootstrap) => 1.0,
            (Correction::Jackknife, _) => fitted_rows / left_out_rows,
        };
        let (p_flat, p_permuted) = (None, None);
        RefitRecord {
            refits,
            resampling,
            correction,
            fitted_rows,
            left_out_rows,
            variance_factor,
            p_flat,
            p_permuted,
        }
    }
}

/// An estimator with the options of its band from refits.
///
/// ```
/// use fe_core::model::FunctionModel;
/// use fe_core::refits::Refitting;
/// use fe_core::settings::BandKind;
/// use fe_core::{Dataset, Settings};
///
/// let rows = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64);
/// let data = Dataset::from_rows(&rows.view())?;
/// let y: Vec<f64> = (0..40).map(|i| 3.0 * i as f64 + (i as f64).sin()).collect();
/// // Least squares without a constant.
/// let learn = |rows: &[usize], _seed: u64| {
///     let (xy, xx) = rows.iter().fold((0.0, 0.0), |(xy, xx), &i| {
///         (xy + i as f64 * y[i], xx + (i * i) as f64)
///     });
///     Ok(Box::new(FunctionModel::new(1, move |x| xy / xx * x[0])) as _)
/// };
/// let settings = Settings { band: Some(BandKind::Refit), grid: Some(3), ..Settings::default() };
/// let refitting = Refitting::from_settings("pdp", &settings)?.unwrap();
/// let refits = refitting.options().fit(&data, &learn, false)?;
/// let all = learn(&(0..40).collect::<Vec<_>>(), 0).unwrap();
/// let effect = &refitting.estimate(&data, &*all, 0, &refits)?[0];
/// let band = effect.confidence.as_ref().unwrap();
/// let (lower, upper) = (band.pointwise.lower.at(39.0)?, band.pointwise.upper.at(39.0)?);
/// assert!(lower < 58.5 && 58.5 < upper && upper - lower < 1.0);
/// assert!(band.record.refits.as_ref().unwrap().p_flat.unwrap() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Refitting {
    name: &'static str,
    /// Without the band.
    settings: Settings,
    estimator: Box<dyn Estimator>,
    request: BandRequest,
    options: RefitOptions,
    correction: Correction,
    test: Option<PermutationTest>,
}

impl Refitting {
    /// The estimator of a name; none where its settings ask for no band from refits.
    ///
    /// # Errors
    /// As [`estimator::from_settings`] and [`RefitOptions::from_settings`]; [`Error::Incompatible`] for an estimator without
    /// bands.
    pub fn from_settings(name: &str, settings: &Settings) -> Result<Option<Self>> {
        let Some(options) = RefitOptions::from_settings(settings)? else { return Ok(None) };
        let info = estimator::info(name)?;
        if !info.takes("band") || info.name == "mplot" {
            return Err(Error::Incompatible(format!(
                "`{name}` has no confidence band from refits"
            )));
        }
        let with_band = estimator::from_settings(name, settings)?;
        let request = BandRequest::from_settings(settings, with_band.binning().is_some())?;
        let Some(request) = request else { return Ok(None) };
        let mut plain = settings.clone();
        BandRequest::OPTIONS.iter().for_each(|option| plain.clear(option));
        let estimator = estimator::from_settings(name, &plain)?;
        let correction = settings.correction.unwrap_or_default();
        let test = PermutationTest::of_feature(settings, options.seed)?;
        let settings = plain;
        let name = info.name;
        Ok(Some(Self { name, settings, estimator, request, options, correction, test }))
    }

    /// The estimator, without a band.
    #[must_use]
    pub fn estimator(&self) -> &dyn Estimator {
        self.estimator.as_ref()
    }

    /// Number and kind of the refits that it needs.
    #[must_use]
    pub fn options(&self) -> RefitOptions {
        self.options
    }

    /// The effect of a feature (counted from 0) of the model of all rows, one per output, each with the band that refits
    /// of its learner give.
    ///
    /// # Errors
    /// As [`Estimator::estimate`], and as [`Refitting::band`].
    pub fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
        refits: &Refits,
    ) -> Result<Vec<Effect>> {
        let mut effects = self.estimator.estimate(data, model, feature)?;
        for effect in &mut effects {
            effect.confidence = Some(self.band(effect, data, refits)?);
        }
        Ok(effects)
    }

    /// Adds to a band the test that the effect of a feature is flat by permutations, where settings ask for it: of the
    /// first output, with random numbers from a seed.
    ///
    /// # Errors
    /// As [`PermutationTest::p_value`].
    pub fn permute(
        &self,
        band: &mut ConfidenceBand,
        (data, feature): (&Dataset, usize),
        seed: u64,
        learn: &LearnFrom<'_>,
    ) -> Result<()> {
        if let (Some(test), Some(record)) = (self.test, &mut band.record.refits) {
            let test = PermutationTest { seed, ..test };
            record.p_permuted = Some(test.p_value(self.estimator(), data, feature, learn)?);
        }
        Ok(())
    }

    /// The band beside an effect that this estimator gave of the model of all rows.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a curve of steps, levels in an order that rows decide, and a refit without an effect,
    /// with the reason.
    pub fn band(&self, effect: &Effect, data: &Dataset, refits: &Refits) -> Result<ConfidenceBand> {
        let x = self.request.places(effect)?;
        let held = self.held(effect)?;
        let known = data.rows_with(effect.feature)?;
        let known = known.map(|rows| data.select(&rows));
        let centred = Centred { effect, data: known.as_ref().unwrap_or(data) };
        let models = refits.models();
        let curves = refits.curves(&models, |data, model| {
            let effects = held.estimate(data, model, effect.feature)?;
            let own = effects.into_iter().find(|own| own.output == effect.output);
            let own = own.ok_or_else(|| too_few_outputs(effect.output, model))?;
            centred.at(&own.curve, &x)
        })?;
        let record = refits.record(self.correction);
        let over = OverRefits { curves: &curves, record, models: &models };
        self.request.band_of_refits(effect, &x, &over)
    }

    /// The estimator on the grid, or the bins, of an effect, and not centred.
    fn held(&self, effect: &Effect) -> Result<Box<dyn Estimator>> {
        let takes = |option: &str| estimator::info(self.name).is_ok_and(|info| info.takes(option));
        let mut held = Settings { center: Some(Centring::None), ..self.settings.clone() };
        for option in ["center_rule", "center_points", "importance", "mean_prediction"] {
            held.clear(option);
        }
        held.curve_only = takes("curve_only").then_some(true);
        if let Some(levels) = &effect.record.levels {
            check_order(levels, self.settings.order, &effect.name)?;
            return estimator::from_settings(self.name, &held);
        }
        let axis = effect.record.axis;
        held.axis = Some(AxisChoice::Given(axis.lo(), axis.hi()));
        held.distinct = None;
        match &effect.bins {
            Some(bins) => {
                held.binning = Some("grid".to_owned());
                held.limits = Some(bins.partition.limits().to_vec());
                for option in ["bins", "min_points", "discount", "quantiles", "points"] {
                    held.clear(option);
                }
            }
            None => {
                held.grid = Some(2);
                held.even_points = None;
                held.points = Some(effect.curve.x().to_vec());
            }
        }
        estimator::from_settings(self.name, &held)
    }
}

/// Refuses an order of levels that is not the same for all rows.
fn check_order(levels: &LevelRecord, asked: Option<LevelOrder>, name: &str) -> Result<()> {
    let is_held = |order: LevelOrder| matches!(order, LevelOrder::Given | LevelOrder::Name);
    if levels.order.is_none() || asked.is_none_or(is_held) {
        return Ok(());
    }
    Err(Error::Incompatible(format!(
        "a band from refits needs an `order` of the levels of {name} that is the same for all rows: given or name"
    )))
}

/// The refit of a model with several outputs that has not so many.
fn too_few_outputs(output: usize, model: &dyn Model) -> Error {
    Error::WrongCount { what: "outputs of a refit", expected: output + 1, got: model.outputs() }
}

/// The centring of an effect, with the rows that it is over: the same for all refits.
struct Centred<'a> {
    effect: &'a Effect,
    data: &'a Dataset,
}

impl Centred<'_> {
    /// The values of a curve at some places, less the constant of the centring.
    fn at(&self, curve: &Curve, x: &[f64]) -> Result<Vec<f64>> {
        let record = &self.effect.record;
        let constant = match (&record.levels, record.centring) {
            (Some(levels), Centring::Start) => curve.at(levels.start)?,
            _ => {
                // On the knots of the effect, as its own constant is.
                let knots = self.effect.curve.x().to_vec();
                let values = curve.at_all(&knots)?;
                let on_knots = match curve.shape() {
                    Shape::Levels => Curve::levels(knots, values),
                    _ => Curve::linear(knots, values),
                };
                let instances = Instances {
                    positions: self.data.feature(self.effect.feature),
                    weights: self.data.weights(),
                    counts: self.effect.bins.as_ref().map(|bins| &bins.counts[..]),
                };
                centring::constant_by(record.axis_mean, record.centring, &on_knots, instances)?
            }
        };
        Ok(curve.at_all(x)?.into_iter().map(|y| y - constant).collect())
    }
}
