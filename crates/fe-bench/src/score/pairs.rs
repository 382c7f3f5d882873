//! Truths of two features beside estimates of them.

use fe_core::effect::Surface;
use fe_core::settings::Centring;
use fe_truth::{PairEffect, Quantity, Scenario, Truth};

use super::estimand::truth_centring;

/// The truth that the effect of a pair is compared with, at all pairs of points, centred as the estimate is: the mean over
/// the instances becomes that over the law.
///
/// # Errors
/// Why there is none.
pub fn truth_beside(
    scenario: &Scenario,
    surface: &Surface,
    points: [&[f64]; 2],
) -> Result<Vec<Truth>, String> {
    let record = &surface.record;
    let centring = match record.centring {
        // Where the instances lie in their cells makes no difference to the law.
        Centring::Bins => fe_truth::Centring::Data,
        // An accumulated effect begins with 0.
        Centring::None if surface.estimator == "ale" => fe_truth::Centring::Start,
        other => truth_centring(other)?,
    };
    let asked = PairEffect {
        effect: if surface.estimator == "ale" { Quantity::Ale } else { Quantity::Pd },
        features: surface.features,
        axes: [0, 1].map(|side: usize| {
            let axis = record.sides[side].axis;
            (axis.lo(), axis.hi())
        }),
        centring,
        interaction: record.interaction,
    };
    scenario.surface(&asked, points).map_err(|error| error.to_string())
}
