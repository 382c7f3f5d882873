//! The curves of the instances: `ice`, `dice`.

use super::common::with_axis_and_centring;
use super::pdp::{Averaged, GRID, IceTable, PartialDependence};
use super::{Estimand, Estimated, Estimator, EstimatorInfo, InstanceEffects};
use crate::data::Dataset;
use crate::effect::Effect;
use crate::effect::centring::AxisMean;
use crate::error::Result;
use crate::estimator::derivatives::Differentiation;
use crate::model::{Model, Observed};
use crate::settings::Centring;
use crate::settings::Settings;

pub(crate) const ICE: EstimatorInfo = EstimatorInfo {
    name: "ice",
    about: "individual conditional expectation: the curves that pdp is the mean of (EFFECTOR A.2)",
    options: &[GRID, AxisMean::OPTIONS],
    build: |settings| Ok(Box::new(IndividualCurves::from_settings(Averaged::Value, settings)?)),
};

pub(crate) const DICE: EstimatorInfo = EstimatorInfo {
    name: "dice",
    about: "derivatives of ICE curves, that dpdp is the mean of (EFFECTOR eq. 9-10)",
    options: &[GRID, AxisMean::OPTIONS, Differentiation::OPTIONS],
    build: |settings| {
        let kind = Averaged::Derivative(Differentiation::from_settings(settings)?);
        Ok(Box::new(IndividualCurves::from_settings(kind, settings)?))
    },
};

/// Most values that are held: 0.8 GB.
const MOST_HELD: usize = 100_000_000;

/// The curves x ↦ f(x, x_c^(i)) of the instances on a grid (ICE; EFFECTOR A.2), in
/// [`Effect::curves`], and all that [`PartialDependence`] says of them: their mean and their spread.
///
/// Each curve is centred by itself: its mean over the axis is 0 (`integral`, the default: c-ICE), its
/// value at the first grid point (`start`), or its mean at the positions of the instances (`data`).
/// With `none` curves are as they are. [`IndividualCurves::of_derivative`] gives the curves of
/// ∂_s f(x, x_c^(i)) (d-ICE, EFFECTOR eq. 10), which are not centred unless asked for.
///
/// ```
/// use fe_core::{Dataset, estimator::{Estimator, IndividualCurves}, model::FunctionModel};
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [1.0, 3.0]].view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1]);
/// let effect = &IndividualCurves::on_grid(3)?.estimate(&data, &model, 0)?[0];
/// assert_eq!(effect.curve.y(), [-1.0, 0.0, 1.0]);
/// let curves = effect.curves.as_ref().unwrap();
/// assert_eq!(curves.values, ndarray::array![[-0.5, 0.0, 0.5], [-1.5, 0.0, 1.5]]);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct IndividualCurves {
    mean: PartialDependence,
}

impl IndividualCurves {
    /// On so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for fewer than 2 or too many.
    pub fn on_grid(points: usize) -> Result<Self> {
        Ok(Self { mean: PartialDependence::on_grid(points)? })
    }

    /// Of the derivative, on so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for fewer than 2 or too many.
    pub fn of_derivative(points: usize) -> Result<Self> {
        Ok(Self { mean: PartialDependence::of_derivative(points)? })
    }

    fn from_settings(kind: Averaged, settings: &Settings) -> Result<Self> {
        Ok(Self { mean: PartialDependence::from_settings(kind, settings)? })
    }
}

with_axis_and_centring!(IndividualCurves, mean.common);

impl Estimator for IndividualCurves {
    fn name(&self) -> &'static str {
        match self.estimand() {
            Estimand::DerivativePartialDependence => DICE.name,
            _ => ICE.name,
        }
    }

    fn estimand(&self) -> Estimand {
        self.mean.estimand()
    }

    fn centring(&self) -> Centring {
        self.mean.centring()
    }

    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        self.mean.cost(rows, model)
    }

    /// As [`Estimator::estimate`].
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for more than 10⁸ values in all curves.
    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        self.mean.check((data, model), feature, self.name())?;
        let observed = Observed::new(model);
        let table = IceTable::new(&self.mean, data, &observed, feature, MOST_HELD)?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let mut effects = (0..model.outputs())
            .map(|output| table.effect(output, &rows))
            .collect::<Result<Vec<Effect>>>()?;
        for (effect, curves) in effects.iter_mut().zip(table.into_curves()) {
            effect.estimator = self.name();
            effect.curves = Some(curves);
        }
        Ok(effects)
    }

    fn instances(&self, of: Estimated<'_>, rows: &[usize]) -> Result<InstanceEffects> {
        let Estimated { data, model, effect } = of;
        data.check_rows(model, effect.feature, rows)?;
        let Some(curves) = &effect.curves else { return Ok(InstanceEffects::Unknown) };
        let missing = || vec![f64::NAN; curves.x.len()];
        let curve = |row: &usize| match curves.rows.binary_search(row) {
            Ok(place) => curves.values.row(place).to_vec(),
            Err(_) => missing(),
        };
        Ok(InstanceEffects::Curves { x: curves.x.clone(), y: rows.iter().map(curve).collect() })
    }
}
