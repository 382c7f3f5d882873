//! Second-order accumulated local effects of two features (Apley and Zhu 2020, eq. 13 to 17).

use super::cells::{Cells, mean_differences};
use super::joint::Joint;
use super::side::{Points, Side};
use super::{
    PairEstimator, PairEstimatorInfo, PairObservation, Raw, band, centring, check, check_size,
    second_order,
};
use crate::binning::{self, Binning, BinningRequest};
use crate::data::{AxisChoice, Dataset, FeatureKind};
use crate::effect::{CellRecord, Surface};
use crate::error::{Error, Result};
use crate::estimator::ale::order::Order;
use crate::estimator::{Estimand, Resampled, predictions};
use crate::model::{Model, Observed, Reach};
use crate::numeric::partition::Closed;
use crate::settings::{BandKind, Centring, EmptyBins, Interval, LevelOrder, Settings};

pub(super) const ALE: PairEstimatorInfo = PairEstimatorInfo {
    name: "ale",
    about: "second-order accumulated local effects of two features (Apley and Zhu 2020)",
    options: &[
        "binning",
        "bins",
        "limits",
        "min_points",
        "quantiles",
        "distinct",
        "axis",
        "center",
        "empty",
        "closed",
        "order",
        "subsample",
        "subsample_seed",
        "brute",
        "band",
        "level",
        "resamples",
        "band_seed",
        "interval",
        "refits",
        "resampling",
        "correction",
        "residual_permutations",
    ],
    build: |settings| Ok(Box::new(SecondOrderAle::from_settings(settings)?)),
};

/// The accumulated mean mixed differences of f over the cells of two features, less the first-order effects that they
/// have themselves.
///
/// In the cell (k, m) the difference f(z_k, w_m) − f(z_{k−1}, w_m) − f(z_k, w_{m−1}) + f(z_{k−1}, w_{m−1}) is averaged over
/// the instances in it, and accumulated over both features. What that surface, bilinear in the cells, has as first-order
/// ALE of either feature over the same instances and bins is taken away, exactly. (Apley and Zhu's eq. 17 takes the
/// surface at the ends of the cells and their package in the middle, not where the instances are; what is left then has
/// first-order effects that vanish only with the width of the cells.) The mean over the instances is 0.
///
/// A cell without instances has the difference of the nearest that has some, in units of both axes. Of a feature with
/// levels there are steps from each level to the next along an order, over the instances of both.
///
/// ```
/// use fe_core::{Dataset, estimator::pair::{PairEstimator, SecondOrderAle}, model::FunctionModel};
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| if j == 0 { i / 20 } else { i % 20 } as f64 / 19.0);
/// let data = Dataset::from_rows(&rows.view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1] + x[0].exp());
/// let surface = &SecondOrderAle::with_bins(5)?.estimate(&data, &model, [0, 1])?[0];
/// assert!((surface.at([1.0, 1.0])? - 0.25).abs() < 1e-12, "(x1 − ½)(x2 − ½)");
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SecondOrderAle {
    binnings: [Box<dyn Binning>; 2],
    axes: [AxisChoice; 2],
    centring: Option<Centring>,
    empty: EmptyBins,
    closed: Closed,
    order: Option<LevelOrder>,
}

impl SecondOrderAle {
    /// On K bins of equal width of each feature.
    ///
    /// # Errors
    /// [`Error::BadOption`] for K = 0.
    pub fn with_bins(bins: usize) -> Result<Self> {
        let settings = Settings { bins: Some(bins), ..Settings::default() };
        Self::from_settings([&settings, &settings])
    }

    fn from_settings(settings: [&Settings; 2]) -> Result<Self> {
        let [first, second] = settings;
        let empty = match first.empty {
            None => EmptyBins::Nearest,
            Some(policy @ (EmptyBins::Nearest | EmptyBins::Zero | EmptyBins::Error)) => policy,
            Some(other) => {
                return Err(Error::BadOption {
                    option: "empty",
                    given: other.to_string(),
                    allowed: "of cells of two features must be nearest, zero or error".to_owned(),
                });
            }
        };
        check_band(first)?;
        Ok(Self {
            binnings: [fixed_binning(first)?, fixed_binning(second)?],
            axes: [first, second].map(|settings| settings.axis.unwrap_or_default()),
            centring: first.center,
            empty,
            closed: first.closed.unwrap_or_default(),
            order: first.order,
        })
    }

    /// The points of a feature; `response` has the predictions at the rows, where an order comes from them.
    fn side(
        &self,
        data: &Dataset,
        (feature, side): (usize, usize),
        response: Option<&[f64]>,
    ) -> Result<Side> {
        if let Some(levels) = data.levels(feature)? {
            let order =
                Order::of(self.order.unwrap_or_default(), (data, feature), &levels, response)?;
            return Ok(Side {
                feature,
                points: Points::of_levels(levels, order),
                of_grid: None,
                binning: None,
            });
        }
        let binning = &self.binnings[side];
        let choice = binning.choose(&BinningRequest {
            axis: self.axes[side].resolve(data, feature)?,
            closed: self.closed,
            positions: data.feature(feature),
            weights: data.weights(),
            whole: (data.feature(feature), data.weights()),
            levels: false,
            ddof: 0.0,
            local_effects: None,
        })?;
        Ok(Side {
            of_grid: None,
            feature,
            points: Points::Numbers(choice.partition),
            binning: Some(binning.describe()),
        })
    }

    fn sides(
        &self,
        data: &Dataset,
        features: [usize; 2],
        response: Option<&[f64]>,
    ) -> Result<[Side; 2]> {
        let side = |side: usize| self.side(data, (features[side], side), response);
        let sides = [side(0)?, side(1)?];
        check_size(&sides)?;
        Ok(sides)
    }

    /// The predictions at the rows for each output, where an order comes from them.
    fn responses(
        &self,
        data: &Dataset,
        model: &Observed<'_>,
        features: [usize; 2],
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let nominal = |feature: &usize| data.kinds()[*feature] == FeatureKind::Nominal;
        if self.order.is_some() && !features.iter().any(nominal) {
            let message = "`order` is one of levels, and neither feature of the pair is nominal";
            return Err(Error::Incompatible(message.to_owned()));
        }
        if self.order != Some(LevelOrder::Response) {
            return Ok(None);
        }
        if model.model().reach() != Reach::Anything {
            let message = "the order `response` comes from predictions, and these are not there when questions \
                           are planned";
            return Err(Error::Incompatible(message.to_owned()));
        }
        predictions::at_rows(data, model).map(Some)
    }

    fn on(
        &self,
        data: &Dataset,
        model: &Observed<'_>,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        let centring = centring(self.centring, Centring::Data, data, features)?;
        let responses = self.responses(data, model, features)?;
        let outputs = model.model().outputs();
        let mut known: Option<([Side; 2], Cells)> = None;
        let mut surfaces = Vec::with_capacity(outputs);
        for output in 0..outputs {
            let response = responses.as_ref().map(|responses| &responses[output][..]);
            // Another order of levels is another question.
            if known.is_none() || response.is_some() {
                let sides = self.sides(data, features, response)?;
                let cells = Cells::of(data, model, &sides, false)?;
                known = Some((sides, cells));
            }
            let Some((sides, cells)) = &known else { continue };
            let joint = Joint::new(sides, cells.places.clone());
            let joint = if centring == Centring::Bins { joint.in_the_middle() } else { joint };
            let means = mean_differences(&cells.weights, &cells.differences[output]);
            let (values, empty) = second_order::values(self.empty, sides, &joint, &means)?;
            let raw = Raw {
                data,
                estimator: ALE.name,
                output,
                sides,
                values,
                centring,
                interaction: false,
                model_rows: model.model_rows(),
                cells: Some(CellRecord {
                    cells: means.len(),
                    empty,
                    empty_policy: self.empty,
                    closed: self.closed,
                }),
            };
            surfaces.push(raw.surface(&joint)?);
        }
        Ok(surfaces)
    }
}

/// Refuses what needs standard errors, which cells that are few or empty do not tell.
fn check_band(settings: &Settings) -> Result<()> {
    let what = match (settings.band, settings.interval) {
        (Some(BandKind::Analytic), _) => "the band analytic",
        (_, Some(Interval::Studentised)) => "the interval studentised",
        _ => return Ok(()),
    };
    Err(Error::Incompatible(format!(
        "{what} needs standard errors, and `ale` of a pair has none: many of its cells have an instance or two; take \
         the band bootstrap with the interval percentile"
    )))
}

/// The binning that settings ask for; what needs local effects, of which two features have none, is refused.
fn fixed_binning(settings: &Settings) -> Result<Box<dyn Binning>> {
    let name = settings.binning.as_deref().unwrap_or("fixed");
    let binning = binning::from_settings(settings, "fixed")?;
    match binning::ALL.iter().find(|info| info.name == name) {
        Some(info) if info.automatic && name != "quantile-min" => {
            Err(Error::Incompatible(format!(
                "the binning `{name}` is made for derivatives along one feature: of a pair take fixed, quantile, \
             quantile-min or grid"
            )))
        }
        _ => Ok(binning),
    }
}

impl PairEstimator for SecondOrderAle {
    fn name(&self) -> &'static str {
        ALE.name
    }

    fn estimand(&self) -> Estimand {
        Estimand::AccumulatedLocalEffects
    }

    fn centring(&self, data: &Dataset, features: [usize; 2]) -> Centring {
        centring(self.centring, Centring::Data, data, features).unwrap_or_default()
    }

    fn is_interaction(&self) -> bool {
        false
    }

    fn binnings(&self) -> Option<[&dyn Binning; 2]> {
        Some([self.binnings[0].as_ref(), self.binnings[1].as_ref()])
    }

    fn cost(&self, rows: usize) -> Option<u64> {
        Some((rows as u64).saturating_mul(4))
    }

    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        check(data, model, features)?;
        self.on(data, &Observed::new(model), features)
    }

    fn resampling<'a>(&'a self, of: PairObservation<'a>, _: bool) -> Resampled<'a> {
        let PairObservation { data, model, effect: surface } = of;
        let responses = self.responses(data, model, surface.features)?;
        let response = responses.as_ref().map(|responses| &responses[surface.output][..]);
        let sides = self.sides(data, surface.features, response)?;
        band::check_held(data, sides[0].passes() * sides[1].passes())?;
        let cells = Cells::of(data, model, &sides, true)?;
        let each = cells.each.unwrap_or_default();
        Ok(Box::new(band::CellSample::new(self.empty, sides, of, each)))
    }
}
