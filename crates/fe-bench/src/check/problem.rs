//! The truths of a scenario in a file against a second quadrature.

use fe_truth::{Centring, Effect, Scenario, Truth};

/// What came of holding some truths against another way to integrate.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The feature, counted from 0; none for what is of none.
    pub feature: Option<usize>,
    /// What was asked.
    pub what: String,
    /// At how many points.
    pub points: usize,
    /// The largest difference, divided by the sum of both bounds; at most 1 if they hold.
    pub worst: Option<f64>,
    /// Why there is no such number: the truth is refused, or its witness.
    pub refused: Option<String>,
}

impl Held {
    /// Whether the two agree, as far as both exist.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.worst.is_none_or(|worst| worst <= 1.0)
    }
}

/// Shares of the axis at which curves are compared.
const SHARES: [f64; 3] = [0.137, 0.52, 0.911];

type Answer = Result<Vec<Truth>, fe_truth::Error>;

/// Holds all curves, values, and mean and standard deviation against the witness of the scenario; `done`
/// is called after each feature.
#[must_use]
pub fn held(scenario: &Scenario, witness: &Scenario, done: &dyn Fn()) -> Vec<Held> {
    let mut found = Vec::new();
    let mut hold = |feature: Option<usize>, what: &str, ask: &dyn Fn(&Scenario) -> Answer| {
        found.push(compared(feature, what, ask(scenario), ask(witness)));
    };
    hold(None, "mean_f", &|scenario| Ok(vec![scenario.mean()?]));
    hold(None, "sd_f", &|scenario| Ok(vec![scenario.sd()?]));
    for feature in 0..scenario.dimension() {
        let axis = scenario.axis(feature);
        let points = SHARES.map(|share| axis.0 + share * (axis.1 - axis.0));
        for &effect in Effect::ALL {
            if effect == Effect::Main && !scenario.is_additive(feature) {
                continue;
            }
            hold(Some(feature), effect.name(), &|scenario| {
                scenario.curve(effect, feature, &points, axis, Centring::None)
            });
        }
        done();
    }
    found
}

fn compared(feature: Option<usize>, what: &str, first: Answer, second: Answer) -> Held {
    let what = what.to_owned();
    match (first, second) {
        (Ok(first), Ok(second)) => {
            let off = |(a, b): (&Truth, &Truth)| {
                let off = (a.value - b.value).abs();
                if off == 0.0 { 0.0 } else { off / (a.abs_error + b.abs_error) }
            };
            let worst = first.iter().zip(&second).map(off).fold(0.0, f64::max);
            Held { feature, what, points: first.len(), worst: Some(worst), refused: None }
        }
        (Err(error), _) => {
            Held { feature, what, points: 0, worst: None, refused: Some(error.to_string()) }
        }
        (_, Err(error)) => {
            let refused = Some(format!("no second quadrature: {error}"));
            Held { feature, what, points: 0, worst: None, refused }
        }
    }
}
