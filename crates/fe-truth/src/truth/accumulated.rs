//! Accumulated local effects as functions that are resolved once, to be integrated on.

use std::sync::Arc;

use super::curves::{Jump, OneFeature};
use crate::engine::Engine;
use crate::function::Term;
use crate::numeric::quadrature::{Estimate, Piecewise};
use crate::quantity::{Quantity, Truth};
use crate::scenario::Scenario;

/// An accumulated effect over the whole law of a feature, but for a constant.
struct Accumulated {
    engine: Engine,
    feature: usize,
    ends: (f64, f64),
    course: Course,
    jumps: Vec<Jump>,
}

/// A function that is accumulated, or that has been already.
enum Course {
    Slope(Piecewise),
    Effect(Piecewise),
    Levels(Vec<(f64, Estimate)>),
}

fn estimate(truth: Truth) -> Estimate {
    let (value, error) = (truth.value, truth.abs_error);
    Estimate { value, magnitude: value.abs(), error, simulated: false }
}

impl Accumulated {
    fn at(&self, x: f64) -> Estimate {
        let u = self.engine.margin(self.feature).coordinate(x).clamp(self.ends.0, self.ends.1);
        let smooth = match &self.course {
            Course::Slope(slope) => slope.integral_to(u),
            Course::Effect(effect) => effect.at(u),
            Course::Levels(levels) => {
                let known = levels.iter().find(|(level, _)| *level == x);
                known.map_or_else(Estimate::default, |(_, value)| *value)
            }
        };
        let passed = self.jumps.iter().filter(|jump| jump.place < x);
        passed.fold(smooth, |sum, jump| sum.plus(estimate(jump.before.plus(jump.after))))
    }
}

impl Scenario {
    /// An accumulated effect of a feature, but for a constant and times a factor, as a term.
    pub(super) fn accumulated_term(
        &self,
        effect: Quantity,
        feature: usize,
        factor: f64,
    ) -> Arc<Term> {
        let axis = self.axis(feature);
        let on = OneFeature { scenario: self, feature, axis };
        let engine = &self.parts.engine;
        let law = engine.margin(feature);
        let (course, jumps) = self.course(&on, effect);
        let panels = law.panels();
        let ends = (panels[0], panels[panels.len() - 1]);
        let accumulated = Accumulated { engine: engine.clone(), feature, ends, course, jumps };
        let value = move |row: &[f64]| accumulated.at(row[feature]).times(factor);
        let term = Term::estimated(&[feature], value, |_, _| f64::NAN);
        if law.levels().is_some() {
            return Arc::new(term);
        }
        let places = self.resolution(feature).iter().map(|&u| law.place(u));
        let places: Vec<f64> = places.chain(engine.divisions(feature)).collect();
        Arc::new(term.breaking_at(feature, &places))
    }

    fn course(&self, on: &OneFeature<'_>, effect: Quantity) -> (Course, Vec<Jump>) {
        let engine = &self.parts.engine;
        let law = engine.margin(on.feature);
        if let Some(levels) = law.levels() {
            let values = levels.values();
            let effects = on.accumulated_by_levels(values).into_iter().map(estimate);
            return (Course::Levels(values.iter().copied().zip(effects).collect()), Vec::new());
        }
        let panels = law.panels();
        let (from, to) = (panels[0], panels[panels.len() - 1]);
        let points = self.resolved(on.feature, &panels, from, to);
        if on.changes_add_up(effect) {
            let effect = Piecewise::of(&points, |u| on.change(law.place(u)));
            return (Course::Effect(effect), Vec::new());
        }
        let with_jumps = effect == Quantity::Ale;
        let moving = with_jumps && engine.has_moving_jumps(on.feature);
        let slope = |u: f64| on.slope(moving, law.place(u)).times(law.stretch(u));
        let slope = Piecewise::of(&points, slope);
        (Course::Slope(slope), if with_jumps { on.jumps() } else { Vec::new() })
    }
}
