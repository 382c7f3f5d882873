//! Effects of two features: partial dependence, and second-order accumulated local effects.
//!
//! Begin with [`PairEstimator`]; `side.rs` has what is known of either feature, `joint.rs` where the instances lie
//! between the points of both.

mod ale;
mod band;
mod cells;
mod empty_cells;
mod joint;
mod pd;
mod prepared;
mod run;
mod second_order;
mod side;

pub use ale::SecondOrderAle;
pub use pd::{POINTS, PairPartialDependence};

use joint::Joint;
use side::Side;

use super::{Estimand, PairObservation, Resampled, named};
use crate::binning::Binning;
use crate::data::Dataset;
use crate::effect::{CellRecord, Surface, SurfaceRecord};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::settings::{Centring, Settings};
use crate::stored::Name;

/// Most values of a surface.
const MOST: usize = 1_000_000;

/// A way to estimate the effect of two features.
pub trait PairEstimator: std::fmt::Debug + Send + Sync {
    /// Its name in files and flags: that of the estimator of one feature.
    fn name(&self) -> &'static str;

    /// The estimand.
    fn estimand(&self) -> Estimand;

    /// The centring of a pair of features of some data.
    fn centring(&self, data: &Dataset, features: [usize; 2]) -> Centring;

    /// True if the effects of either feature alone are taken away.
    fn is_interaction(&self) -> bool;

    /// The way in which the bins of either feature are chosen, where there are any.
    fn binnings(&self) -> Option<[&dyn Binning; 2]> {
        None
    }

    /// About how many rows the model will be asked for by an estimate from so many rows; none if only the data
    /// tell.
    fn cost(&self, rows: usize) -> Option<u64>;

    /// The effect of two features (counted from 0), one per output of the model.
    ///
    /// # Errors
    /// A typed reason; nothing here panics, even if the model does.
    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
    ) -> Result<Vec<Surface>>;

    /// The surface of an estimate by this estimator, so that it can be computed again with other weights of the rows,
    /// which are `resampled` many times or not at all: what confidence bands are made of.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for an estimator without bands; as [`PairEstimator::estimate`].
    fn resampling<'a>(&'a self, of: PairObservation<'a>, resampled: bool) -> Resampled<'a> {
        let _ = (of, resampled);
        Err(Error::Incompatible(format!("`{}` of a pair has no confidence band", self.name())))
    }
}

/// An estimator of pairs as it is found by name.
pub struct PairEstimatorInfo {
    /// Its name.
    pub name: &'static str,
    /// A description in a line.
    pub about: &'static str,
    /// The settings it takes.
    pub options: &'static [&'static str],
    /// Builds it from settings of either feature, which agree in all but axes and bins.
    pub build: fn([&Settings; 2]) -> Result<Box<dyn PairEstimator>>,
}

/// All estimators of pairs.
pub const ALL: &[PairEstimatorInfo] = &[pd::PD, ale::ALE];

/// The entry of the estimator of pairs of a name.
///
/// # Errors
/// [`Error::Incompatible`] for an estimator of one feature alone, [`Error::BadOption`] for an unknown name.
pub fn info(name: &str) -> Result<&'static PairEstimatorInfo> {
    let of_one = super::ALL.iter().any(|info| info.name == name);
    if of_one && !ALL.iter().any(|info| info.name == name) {
        return Err(Error::Incompatible(format!(
            "`{name}` is of one feature: the effect of a pair is estimated by pdp or ale"
        )));
    }
    named("estimator", name, ALL, |info| info.name)
}

/// The estimator of pairs of a name, with the settings of either feature.
///
/// # Errors
/// As [`info`], and whatever its options have wrong.
///
/// ```
/// use fe_core::{Dataset, Settings, estimator::pair, model::FunctionModel};
/// let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| ((i * (7 + 4 * j)) % 100) as f64 / 99.0);
/// let data = Dataset::from_rows(&rows.view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1]);
/// let settings = Settings { grid: Some(3), interaction: Some(true), ..Settings::default() };
/// let pd = pair::from_settings("pdp", [&settings, &settings])?;
/// let surface = &pd.estimate(&data, &model, [0, 1])?[0];
/// assert!((surface.at([1.0, 1.0])? - 0.25).abs() < 1e-12, "(x1 − ½)(x2 − ½)");
/// # Ok::<(), fe_core::Error>(())
/// ```
pub fn from_settings(name: &str, settings: [&Settings; 2]) -> Result<Box<dyn PairEstimator>> {
    let info = info(name)?;
    for settings in settings {
        settings
            .check_taken(&format!("`{name}` of a pair"), |option| info.options.contains(&option))?;
    }
    prepared::prepare((info.build)(settings)?, settings[0])
}

/// Refuses a feature beside itself, and what the data or the model do not have.
fn check(data: &Dataset, model: &dyn Model, features: [usize; 2]) -> Result<()> {
    features.into_iter().try_for_each(|feature| data.check_model(model, feature))?;
    if features[0] == features[1] {
        let name = &data.names()[features[0]];
        return Err(Error::Incompatible(format!(
            "a pair is of two features, and {name} is named twice"
        )));
    }
    Ok(())
}

/// Refuses a surface of more values than anybody reads.
fn check_size(sides: &[Side; 2]) -> Result<()> {
    let values = sides[0].len().saturating_mul(sides[1].len());
    if values <= MOST {
        return Ok(());
    }
    Err(Error::Incompatible(format!(
        "{} × {} points are {values} values: at most {MOST} are estimated",
        sides[0].len(),
        sides[1].len()
    )))
}

/// The centring of a pair: the one that is asked for or a usual one, means over the instances where a feature has
/// levels.
fn centring(
    asked: Option<Centring>,
    usual: Centring,
    data: &Dataset,
    features: [usize; 2],
) -> Result<Centring> {
    match features.iter().find(|feature| data.has_levels(**feature)) {
        Some(&feature) if asked == Some(Centring::Integral) => Err(Error::Incompatible(format!(
            "centring `integral` is a mean over what lies between the levels of {}, where there is nothing: take \
             data (the mean over the instances, and the default there), start or none",
            data.names()[feature]
        ))),
        Some(_) => Ok(asked.unwrap_or(Centring::Data)),
        None => Ok(asked.unwrap_or(usual)),
    }
}

/// The names of both features, for messages.
fn names(data: &Dataset, sides: &[Side; 2]) -> [String; 2] {
    [0, 1].map(|side: usize| data.names()[sides[side].feature].clone())
}

/// The reason why there is no mean over the instances.
fn without_instances(names: &[String; 2]) -> Error {
    Error::Incompatible(format!(
        "no row with positive weight has both {} and {} within their axes",
        names[0], names[1]
    ))
}

/// A table at pairs of places, so many of the second feature, in an order of either's.
fn arranged(table: &[f64], columns: usize, [rows, places]: [&[usize]; 2]) -> Vec<f64> {
    let row = |&i: &usize| places.iter().map(move |&k| (i, k));
    rows.iter().flat_map(row).map(|(i, k)| table[i * columns + k]).collect()
}

/// A surface in the making: values at the points along their orders.
struct Raw<'a> {
    data: &'a Dataset,
    estimator: Name,
    output: usize,
    sides: &'a [Side; 2],
    values: Vec<f64>,
    centring: Centring,
    interaction: bool,
    model_rows: u64,
    cells: Option<CellRecord>,
}

impl Raw<'_> {
    /// The surface less the constant of its centring.
    fn surface(self, joint: &Joint<'_>) -> Result<Surface> {
        let Self { data, sides, .. } = self;
        let constant = constant(self.centring, sides, joint, &self.values, self.cells.is_some());
        let names = names(data, sides);
        let Some(constant) = constant else { return Err(without_instances(&names)) };
        let rows_outside = self.rows_outside(joint);
        let lowered = self.values.iter().map(|value| value - constant).collect::<Vec<f64>>();
        let (points, homes) = ([0, 1].map(|s: usize| sides[s].ascending()), joint.counts());
        let ends = [0, 1].map(|s: usize| points[s][..sides[s].homes()].to_vec());
        let x = [0, 1].map(|s: usize| {
            let values = sides[s].values();
            points[s].iter().map(|&place| values[place]).collect()
        });
        let accumulates = self.cells.is_some();
        let surface = Surface {
            features: [sides[0].feature, sides[1].feature],
            names,
            output: self.output,
            estimator: self.estimator,
            x,
            values: arranged(&lowered, sides[1].len(), [&points[0], &points[1]]),
            counts: arranged(&homes, sides[1].homes(), [&ends[0], &ends[1]]),
            confidence: None,
            record: SurfaceRecord {
                rows: data.len(),
                subsample: None,
                rows_outside,
                model_rows: self.model_rows,
                by_structure: None,
                centring: self.centring,
                centring_constant: constant,
                interaction: self.interaction,
                sides: [sides[0].record(data, accumulates)?, sides[1].record(data, accumulates)?],
                cells: self.cells,
            },
        };
        surface.representable()
    }

    /// Rows with positive weight that are not at home between the points of both features.
    fn rows_outside(&self, joint: &Joint<'_>) -> usize {
        let Some(weights) = self.data.weights() else {
            return self.data.len() - joint.counts().iter().sum::<f64>() as usize;
        };
        let mut home = [0];
        let mut is_outside = |row: usize| {
            let mut is_home =
                |side: &Side| side.locate(&self.data.feature(side.feature)[row..=row], &mut home);
            weights[row] > 0.0 && !self.sides.iter().all(&mut is_home)
        };
        (0..self.data.len()).filter(|&row| is_outside(row)).count()
    }
}

/// The constant that a centring takes from values at the points; none where there is no instance to average over.
fn constant(
    centring: Centring,
    sides: &[Side; 2],
    joint: &Joint<'_>,
    values: &[f64],
    accumulates: bool,
) -> Option<f64> {
    let columns = sides[1].len();
    match centring {
        Centring::None => Some(0.0),
        Centring::Start => {
            let [i, k] = [0, 1].map(|side: usize| sides[side].start(accumulates));
            Some(values[i * columns + k])
        }
        Centring::Integral => {
            let weights = [sides[0].axis_weights(), sides[1].axis_weights()];
            let row = |(row, weight): (&[f64], &f64)| {
                let along: f64 =
                    row.iter().zip(&weights[1]).map(|(value, weight)| value * weight).sum();
                along * weight
            };
            Some(values.chunks(columns).zip(&weights[0]).map(row).sum())
        }
        Centring::Data | Centring::Bins => joint.mean(values),
    }
}
