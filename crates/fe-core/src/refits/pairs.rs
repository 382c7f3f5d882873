//! Bands of the effect that a learner is to be expected to give of two features.

use super::permutation::{AdditiveFit, LearnTarget, PermutationTest};
use super::{RefitOptions, Refits, check_order, too_few_outputs};
use crate::confidence::{BandRequest, OverRefits};
use crate::data::{AxisChoice, Dataset};
use crate::effect::{Surface, SurfaceBand};
use crate::error::{Error, Result};
use crate::estimator::Estimand;
use crate::estimator::pair::{self, PairEstimator};
use crate::model::Model;
use crate::settings::{Centring, Correction, Settings};

/// An estimator of pairs with the options of its band from refits.
///
/// Of the interaction part of a partial dependence, and of a second-order accumulated effect, `p_flat` of the band tests
/// that the two features do not interact in what the learner is to be expected to give.
///
/// ```
/// use fe_core::model::FunctionModel;
/// use fe_core::refits::PairRefitting;
/// use fe_core::settings::BandKind;
/// use fe_core::{Dataset, Settings};
///
/// let rows = ndarray::Array2::from_shape_fn((60, 2), |(i, j)| ((i * (7 + 4 * j)) % 60) as f64 / 59.0);
/// let data = Dataset::from_rows(&rows.view())?;
/// // A product as large as the rows of the fit say.
/// let learn = |rows: &[usize], _seed: u64| {
///     let size = rows.iter().map(|&row| row as f64).sum::<f64>() / rows.len() as f64;
///     Ok(Box::new(FunctionModel::new(2, move |x| size * x[0] * x[1])) as _)
/// };
/// let settings = Settings { band: Some(BandKind::Refit), bins: Some(2), ..Settings::default() };
/// let refitting = PairRefitting::from_settings("ale", [&settings, &settings])?.unwrap();
/// let refits = refitting.options().fit(&data, &learn, false)?;
/// let all = learn(&(0..60).collect::<Vec<_>>(), 0).unwrap();
/// let surface = &refitting.estimate(&data, &*all, [0, 1], &refits)?[0];
/// let record = surface.confidence.as_ref().unwrap().record.refits.as_ref().unwrap();
/// assert!(record.p_flat.unwrap() < 0.01, "the two features interact");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PairRefitting {
    name: &'static str,
    /// Of either feature, without the band.
    settings: [Settings; 2],
    estimator: Box<dyn PairEstimator>,
    request: BandRequest,
    options: RefitOptions,
    correction: Correction,
    test: Option<PermutationTest>,
}

impl PairRefitting {
    /// The estimator of pairs of a name with the settings of either feature; none where these ask for no band from
    /// refits.
    ///
    /// # Errors
    /// As [`pair::from_settings`] and [`RefitOptions::from_settings`]; [`Error::Incompatible`] for permutations of
    /// residuals beside a surface that has the effects of either feature alone in it.
    pub fn from_settings(name: &str, settings: [&Settings; 2]) -> Result<Option<Self>> {
        let Some(options) = RefitOptions::from_settings(settings[0])? else { return Ok(None) };
        let name = pair::info(name)?.name;
        let with_band = pair::from_settings(name, settings)?;
        let request = BandRequest::from_settings(settings[0], with_band.binnings().is_some())?;
        let Some(request) = request else { return Ok(None) };
        let test = PermutationTest::of_residuals(settings[0], options.seed)?;
        let accumulates = with_band.estimand() == Estimand::AccumulatedLocalEffects;
        if test.is_some() && !accumulates && !with_band.is_interaction() {
            return Err(Error::Incompatible(format!(
                "`residual_permutations` test that two features do not interact, and the effect that `{name}` gives \
                 of a pair has what either does on its own in it: take its `interaction` part"
            )));
        }
        let correction = settings[0].correction.unwrap_or_default();
        let settings = settings.map(|settings| {
            let mut plain = settings.clone();
            let of_bands = BandRequest::OPTIONS.iter().chain(BandRequest::OF_PAIRS);
            of_bands.for_each(|option| plain.clear(option));
            plain
        });
        let estimator = pair::from_settings(name, settings.each_ref())?;
        Ok(Some(Self { name, settings, estimator, request, options, correction, test }))
    }

    /// The estimator, without a band.
    #[must_use]
    pub fn estimator(&self) -> &dyn PairEstimator {
        self.estimator.as_ref()
    }

    /// Number and kind of the refits that it needs.
    #[must_use]
    pub fn options(&self) -> RefitOptions {
        self.options
    }

    /// True if residuals of an additive fit are to be permuted ([`PairRefitting::permute`]).
    #[must_use]
    pub fn is_permuted(&self) -> bool {
        self.test.is_some()
    }

    /// The effect of two features (counted from 0) of the model of all rows, one per output, each with the band that
    /// refits of its learner give.
    ///
    /// # Errors
    /// As [`PairEstimator::estimate`], and as [`PairRefitting::band`].
    pub fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
        refits: &Refits,
    ) -> Result<Vec<Surface>> {
        let mut surfaces = self.estimator.estimate(data, model, features)?;
        for surface in &mut surfaces {
            surface.confidence = Some(self.band(surface, data, refits)?);
        }
        Ok(surfaces)
    }

    /// The band beside an effect that this estimator gave of the model of all rows.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for levels in an order that rows decide, and a refit without an effect, with the reason.
    pub fn band(&self, surface: &Surface, data: &Dataset, refits: &Refits) -> Result<SurfaceBand> {
        let held = self.held(surface)?;
        let models = refits.models();
        let curves = refits.curves(&models, |left_out, model| {
            let surfaces = held.estimate(left_out, model, surface.features)?;
            let own = surfaces.into_iter().find(|own| own.output == surface.output);
            let own = own.ok_or_else(|| too_few_outputs(surface.output, model))?;
            centred_like(surface, &own, data)
        })?;
        let record = refits.record(self.correction);
        let over = OverRefits { curves: &curves, record, models: &models };
        self.request.band_of_refitted_surfaces(surface, &over)
    }

    /// Adds to a band the test that two features do not interact by permutations of the residuals of an additive fit,
    /// where settings ask for it: of the first output, with random numbers from a seed.
    ///
    /// # Errors
    /// As [`PermutationTest::p_value_of_pair`].
    pub fn permute(
        &self,
        band: &mut SurfaceBand,
        (data, features): (&Dataset, [usize; 2]),
        (seed, target, additive): (u64, &[f64], &AdditiveFit),
        learn: &LearnTarget<'_>,
    ) -> Result<()> {
        if let (Some(test), Some(record)) = (self.test, &mut band.record.refits) {
            let test = PermutationTest { seed, ..test };
            let of = (data, features);
            record.p_permuted =
                Some(test.p_value_of_pair(self.estimator(), of, (target, additive), learn)?);
        }
        Ok(())
    }

    /// The estimator on the points of a surface.
    fn held(&self, surface: &Surface) -> Result<Box<dyn PairEstimator>> {
        let of_side = |side: usize| {
            let (record, mut held) = (&surface.record.sides[side], self.settings[side].clone());
            if let Some(levels) = &record.levels {
                check_order(levels, held.order, &surface.names[side])?;
                return Ok(held);
            }
            let points = surface.x[side].clone();
            if record.binning.is_some() {
                held.binning = Some("grid".to_owned());
                held.limits = Some(points);
                for option in ["bins", "min_points", "quantiles", "distinct", "axis"] {
                    held.clear(option);
                }
            } else if held.distinct.take().is_some() {
                (held.grid, held.points) = (None, Some(points));
            } else {
                held.axis = Some(AxisChoice::Given(record.axis.lo(), record.axis.hi()));
            }
            Ok::<_, Error>(held)
        };
        let held = [of_side(0)?, of_side(1)?];
        pair::from_settings(self.name, held.each_ref())
    }
}

/// The values of a surface at the points of another, whose centring over the instances is that over the same rows.
fn centred_like(like: &Surface, own: &Surface, data: &Dataset) -> Result<Vec<f64>> {
    let mut values = own.at_all([&like.x[0], &like.x[1]])?;
    let constant = match like.record.centring {
        Centring::Data => mean_over(like, &values, data)?,
        Centring::Bins => mean_over_cells(like, &values),
        Centring::None | Centring::Start | Centring::Integral => 0.0,
    };
    values.iter_mut().for_each(|value| *value -= constant);
    Ok(values)
}

/// The mean over the rows that lie between the points of a surface of values there.
fn mean_over(surface: &Surface, values: &[f64], data: &Dataset) -> Result<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for row in 0..data.len() {
        let weight = data.weights().map_or(1.0, |weights| weights[row]);
        let place = surface.features.map(|feature| [data.feature(feature)[row]]);
        match surface.read_all(values, [&place[0], &place[1]]) {
            Ok(value) => (sum, total) = (sum + weight * value[0], total + weight),
            Err(Error::OutsideLimits { .. } | Error::NotALevel { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sum / total)
}

/// The mean over the instances of the values in the middle of their cells.
fn mean_over_cells(surface: &Surface, values: &[f64]) -> f64 {
    let columns = surface.x[1].len();
    let homes = surface.record.sides.each_ref().map(|side| usize::from(side.levels.is_none()));
    let of_row = columns - homes[1];
    let middle = |cell: usize| {
        let (i, k) = (cell / of_row, cell % of_row);
        let corner = |a: usize, b: usize| values[(i + a * homes[0]) * columns + k + b * homes[1]];
        (corner(0, 0) + corner(0, 1) + corner(1, 0) + corner(1, 1)) / 4.0
    };
    let counts = surface.counts.iter().enumerate();
    let total: f64 = surface.counts.iter().sum();
    counts.map(|(cell, count)| count * middle(cell)).sum::<f64>() / total
}
