//! Jumps at places that move with other features: how much of f they add as a feature moves on.

use super::{Engine, LocalQuantity, Rest};
use crate::function::{Moving, Term};
use crate::numeric::quadrature::Estimate;
use crate::numeric::roots::scan;

/// Relative error of a density at a root.
const ROOT: f64 = 1e-14;
/// Parts of a panel between which a passage is looked for.
const PARTS: usize = 12;

impl Engine {
    /// Mean rate at which f jumps as the feature s moves on from x, across the surfaces that terms
    /// declare: the jump, times how fast its place moves along another feature, times the density of
    /// that one there, averaged over all the rest.
    pub(crate) fn jumps_across_surfaces(&self, s: usize, x: f64) -> Estimate {
        let of_term = |term: &Term| {
            let moving = term.moving().iter().filter(|surface| surface.features.contains(&s));
            Estimate::sum(moving.map(|surface| self.jumps_across(term, surface, s, x)))
        };
        Estimate::sum(self.terms.iter().map(|term| of_term(term)))
    }

    fn jumps_across(&self, term: &Term, surface: &Moving, s: usize, x: f64) -> Estimate {
        let Some(&other) = surface.features.iter().find(|feature| **feature != s) else {
            return Estimate::default();
        };
        let rest = term.features().iter().copied().filter(|&f| f != s && f != other);
        let rest: Vec<usize> = rest.collect();
        let held = self.at(s, x, Rest::Conditional);
        let rate = |row: &mut [f64]| {
            let given: Vec<(usize, f64)> = rest
                .iter()
                .copied()
                .chain([s])
                .map(|feature| (feature, self.law().known(feature, row[feature])))
                .collect();
            let law = self.law().conditional(other, &given);
            let mut sum = Estimate::default();
            for place in (surface.places)(other, row) {
                row[other] = place;
                let density = law.pdf(place);
                if density > 0.0 {
                    let moved = (surface.slope)(s, row) / (surface.slope)(other, row).abs();
                    let rate = Estimate::exact((surface.jump)(row) * moved * density);
                    sum = sum.plus(rate.doubted(law.doubt() + ROOT));
                }
            }
            row[other] = f64::NAN;
            sum
        };
        held.expectation(&rest, &[term], LocalQuantity::Value, 0.0, &rate)
    }

    /// Places along a feature where the law of another one, given it, passes a surface of both across
    /// which f jumps: where the two are all but one, the jump adds a narrow peak.
    pub(crate) fn passages_of_surfaces(&self, feature: usize) -> Vec<f64> {
        let margin = self.margin(feature);
        let panels = margin.panels();
        let finer = panels.windows(2).flat_map(|ends| {
            (0..PARTS).map(move |k| ends[0] + (ends[1] - ends[0]) * k as f64 / PARTS as f64)
        });
        let points: Vec<f64> =
            finer.chain(panels.last().copied()).map(|u| margin.place(u)).collect();
        let surfaces = self.terms.iter().flat_map(|term| term.moving());
        let mut found = Vec::new();
        for surface in surfaces.filter(|surface| surface.features.contains(&feature)) {
            let mut others = surface.features.iter().filter(|other| **other != feature);
            let (Some(&other), None) = (others.next(), others.next()) else { continue };
            if !self.law().related(feature, other) {
                continue;
            }
            let mut row = vec![f64::NAN; self.law().dimension()];
            for part in 0..=2 {
                let mut level = |x: f64| {
                    let given = [(feature, self.law().known(feature, x))];
                    let law = self.law().conditional(other, &given);
                    let panels = law.panels();
                    let u = [panels[0], panels[panels.len() / 2], panels[panels.len() - 1]][part];
                    (row[feature], row[other]) = (x, law.place(u));
                    (surface.level)(&row)
                };
                found.extend(scan(&points, &mut level));
            }
        }
        found.sort_by(f64::total_cmp);
        let between = found
            .windows(2)
            .flat_map(|ends| [0.2, 0.5, 0.8].map(|share| ends[0] + share * (ends[1] - ends[0])));
        let between: Vec<f64> = between.collect();
        found.extend(between);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Law, Normal, PiecewiseUniform};
    use crate::numeric::special::normal_pdf;

    /// A jump of 2.5 where x1 x2 passes 1.2.
    fn term(slope: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static) -> Term {
        let value = |x: &[f64]| 2.5 * f64::from(x[0] * x[1] > 1.2);
        Term::new(&[0, 1], value, |_, _| 0.0).jumping_across(Moving {
            features: vec![0, 1],
            places: Box::new(|along, row| vec![1.2 / row[1 - along]]),
            level: Box::new(|row| row[0] * row[1] - 1.2),
            slope: Box::new(slope),
            jump: Box::new(|_| 2.5),
        })
    }

    fn law() -> Law {
        Law::new().with_independent(0, PiecewiseUniform::on(1.0, 2.0))
    }

    /// Where x1 = 1.5 the surface is at x2 = 0.8, which moves by 0.8/1.5 as x1 does.
    #[test]
    fn a_jump_counts_by_its_rate_and_the_density_there() {
        let law = law().with_independent(1, Normal { mean: 0.5, sd: 2.0 });
        let engine = Engine::new(law, vec![term(|s, row| row[1 - s])]);
        let found = engine.moving_jumps(0, 1.5);
        let known = 2.5 * 0.8 / 1.5 * normal_pdf(0.15) / 2.0;
        assert!((found.value / known - 1.0).abs() < 1e-14, "{found:?}, not {known}");
        // Four roundings, and the root.
        let error = found.error / found.value;
        assert!((ROOT..1.2 * ROOT).contains(&error), "{error:e}");
    }

    #[test]
    fn a_jump_off_the_support_does_not_count() {
        let law = law().with_independent(1, PiecewiseUniform::on(0.0, 0.5));
        // Even where the surface runs along x2.
        let engine = Engine::new(law, vec![term(|s, row| f64::from(s == 0) * row[1])]);
        assert_eq!(engine.moving_jumps(0, 1.5).value, 0.0);
    }
}
