//! Options that estimators of curves share: the axis, how the curve is centred and continued.

use crate::data::AxisChoice;
use crate::effect::centring::AxisMean;
use crate::effect::{Effect, Record, Sample};
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::settings::{Centring, Settings};
use crate::stored::Name;

/// Options of a curve, whichever estimator it comes from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CurveOptions {
    pub(crate) axis: AxisChoice,
    pub(crate) centring: Centring,
    /// True if the centring was asked for, and is no default.
    pub(crate) is_chosen: bool,
    pub(crate) axis_mean: AxisMean,
    pub(crate) ddof: f64,
    pub(crate) extrapolate: bool,
    pub(crate) importance: bool,
}

impl CurveOptions {
    /// From settings, with an estimator's own defaults of `center` and `ddof`.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption), [`Error::Incompatible`](crate::Error::Incompatible).
    pub(super) fn from_settings(settings: &Settings, centring: Centring, ddof: u8) -> Result<Self> {
        Ok(Self {
            axis: settings.axis.unwrap_or_default(),
            centring: settings.center.unwrap_or(centring),
            is_chosen: settings.center.is_some(),
            axis_mean: AxisMean::from_settings(settings)?,
            ddof: settings.ddof_or(ddof)?,
            extrapolate: settings.extrapolate.unwrap_or_default(),
            importance: settings.importance.unwrap_or_default(),
        })
    }

    /// The options for a feature with levels: its mean over the instances is 0 unless another centring is
    /// asked for.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a mean over what lies between levels.
    pub(super) fn at_levels(self, name: &str) -> Result<Self> {
        let wrong = |of: &str| {
            Err(Error::Incompatible(format!(
                "centring `{of}` is a mean over what lies between the levels of {name}, where there is nothing: \
                 take data (the mean over the instances, and the default there), start or none"
            )))
        };
        match (self.is_chosen, self.centring) {
            (true, Centring::Integral) => wrong("integral"),
            (true, Centring::Bins) => wrong("bins"),
            _ => Ok(self.of_levels()),
        }
    }

    /// The same where the centring was looked at already.
    pub(super) fn of_levels(self) -> Self {
        let centring = match self.centring {
            Centring::Integral => Centring::Data,
            other => other,
        };
        Self { centring, axis_mean: AxisMean::default(), extrapolate: false, ..self }
    }

    /// The effect with a curve that is not centred yet, lowered by the constant of its centring.
    pub(super) fn effect<'a>(
        &self,
        sample: impl Into<Sample<'a>>,
        (output, estimator): (usize, Name),
        (axis, curve): (Axis, Curve),
        constant: f64,
    ) -> Effect {
        let curve = curve.lowered(constant).extrapolated(self.extrapolate);
        let effect = Effect::of_sample(sample.into(), output, estimator, (axis, curve));
        let record = Record {
            centring: self.centring,
            axis_mean: self.axis_mean,
            centring_constant: constant,
            ddof: self.ddof,
            extrapolated: self.extrapolate,
            ..effect.record
        };
        Effect { record, ..effect }
    }
}

/// The methods of an estimator with [`CurveOptions`] that set the axis and the centring.
macro_rules! with_axis_and_centring {
    ($estimator:ty, $($options:ident).+) => {
        impl $estimator {
            /// The same estimator on a given axis; by default the axis is the range of the data.
            #[must_use]
            pub fn on(mut self, axis: crate::Axis) -> Self {
                self.$($options).+.axis = crate::AxisChoice::Given(axis.lo(), axis.hi());
                self
            }

            /// The same estimator with another centring; by default the mean over the axis is 0.
            #[must_use]
            pub fn centred(mut self, centring: crate::Centring) -> Self {
                self.$($options).+.centring = centring;
                self.$($options).+.is_chosen = true;
                self
            }
        }
    };
}
pub(super) use with_axis_and_centring;
