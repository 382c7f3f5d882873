//! The truths of a scenario in a file against a second quadrature.

use fe_truth::{Centring, Quantity, Scenario, Truth};

/// A witness of truths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Another way to integrate.
    Quadrature,
    /// Numbers that were published.
    Published,
}

/// Result of holding some truths against another way to integrate, or against published numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Witnessed {
    /// Their witness.
    pub against: Against,
    /// The feature, counted from 0; none for what is of none.
    pub feature: Option<usize>,
    /// The question.
    pub what: String,
    /// At how many points.
    pub points: usize,
    /// The largest difference, divided by the sum of both bounds; at most 1 if they hold.
    pub worst: Option<f64>,
    /// Reason why there is no such number: the truth is refused, or its witness.
    pub refused: Option<String>,
}

impl Witnessed {
    /// True if the two agree, as far as both exist.
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
pub fn witnessed(scenario: &Scenario, witness: &Scenario, done: &dyn Fn()) -> Vec<Witnessed> {
    let mut found = Vec::new();
    let mut hold = |feature: Option<usize>, what: &str, ask: &dyn Fn(&Scenario) -> Answer| {
        found.push(compared(feature, what, ask(scenario), ask(witness)));
    };
    hold(None, "mean_f", &|scenario| Ok(vec![scenario.mean()?]));
    hold(None, "sd_f", &|scenario| Ok(vec![scenario.sd()?]));
    for feature in 0..scenario.dimension() {
        let axis = scenario.axis(feature);
        let points: Vec<f64> = match scenario.levels(feature) {
            Some(levels) => levels.iter().map(|level| level.value).collect(),
            None => SHARES.iter().map(|share| axis.0 + share * (axis.1 - axis.0)).collect(),
        };
        for &effect in Quantity::ALL {
            if effect == Quantity::Main && !scenario.is_additive(feature) {
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

/// Holds what the file says was published, or what it says is right in its place, against the truths.
#[must_use]
pub fn published(scenario: &Scenario) -> Vec<Witnessed> {
    let against = Against::Published;
    let each = scenario.published().into_iter().map(|published| {
        let what = format!("published {} {}", published.what.name(), published.printed);
        let feature = published.feature;
        match scenario.truth_of(&published) {
            Ok(truth) => {
                let worst = Some(published.distance(&truth));
                Witnessed { against, feature, what, points: 1, worst, refused: None }
            }
            Err(error) => {
                let refused = Some(error.to_string());
                Witnessed { against, feature, what, points: 0, worst: None, refused }
            }
        }
    });
    each.collect()
}

fn compared(feature: Option<usize>, what: &str, first: Answer, second: Answer) -> Witnessed {
    let (against, what) = (Against::Quadrature, what.to_owned());
    match (first, second) {
        (Ok(first), Ok(second)) => {
            let off = |(a, b): (&Truth, &Truth)| {
                let off = (a.value - b.value).abs();
                if off == 0.0 { 0.0 } else { off / (a.abs_error + b.abs_error) }
            };
            let worst = first.iter().zip(&second).map(off).fold(0.0, f64::max);
            Witnessed {
                against,
                feature,
                what,
                points: first.len(),
                worst: Some(worst),
                refused: None,
            }
        }
        (Err(error), _) => Witnessed {
            against,
            feature,
            what,
            points: 0,
            worst: None,
            refused: Some(error.to_string()),
        },
        (_, Err(error)) => {
            let refused = Some(format!("no second quadrature: {error}"));
            Witnessed { against, feature, what, points: 0, worst: None, refused }
        }
    }
}
