//! Children with normal noise around a weighted uniform parent: their laws, and those given each other, have closed forms.

use super::laws::{LawFamily, Plain};
use super::pieces::Affine;
use crate::law::{
    Block, Crossing, NORMAL_PANELS, Normal, ParentChild, PiecewiseUniform, Univariate,
};

/// A node that is normal around a weighted value of one parent, which is uniform on pieces and reads nothing.
pub(super) struct Noisy {
    pub(super) parent: usize,
    pub(super) child: usize,
    /// The parent is feature 0.
    pair: ParentChild,
    /// Share by which rounding may put densities off.
    rounding: f64,
}

/// Roundings of a difference that is measured by the standard deviation of the noise, at its tails.
const ROUNDINGS: f64 = 8.0;

impl Noisy {
    /// A node, its mean as a weighted sum with its standard deviation, and the laws of nodes that read nothing; none
    /// where the law of the node is another one.
    pub(super) fn of(
        child: usize,
        (mean, sd): (&Affine, f64),
        root: impl Fn(usize) -> Option<Plain>,
    ) -> Option<Self> {
        let &[(parent, slope)] = mean.weights.as_slice() else { return None };
        let law = uniform(&root(parent)?)?;
        let size = |law: &PiecewiseUniform| {
            let (low, high) = law.support();
            low.abs().max(high.abs())
        };
        let of_child = size(&law.moved(mean.constant, slope)).max(mean.constant.abs()) / sd;
        let of_parent = size(&law) * slope.abs() / sd;
        let rounding = ROUNDINGS * f64::EPSILON * of_child.max(of_parent);
        let pair = ParentChild::around(law, (mean.constant, slope), sd);
        Some(Self { parent, child, pair, rounding })
    }

    /// The law of the parent or of a child of a family, some nodes around the same parent, given other children and not the parent.
    pub(super) fn law(
        family: &[&Self],
        target: usize,
        given: &[(usize, f64)],
    ) -> Box<dyn Univariate> {
        let own = family.iter().find(|noisy| noisy.child == target);
        let seen: Vec<Normal> = family
            .iter()
            .filter(|noisy| noisy.child != target)
            .filter_map(|noisy| {
                let known = given.iter().find(|(node, _)| *node == noisy.child);
                known.map(|&(_, x)| noisy.pair.parent_of(x))
            })
            .collect();
        let law: Box<dyn Univariate> = match (own, together(&seen)) {
            (Some(own), Some(seen)) => Box::new(own.pair.child_seen(seen)),
            (Some(own), None) => Box::new(own.pair.child()),
            (None, Some(seen)) => Box::new(family[0].pair.parent_seen(seen)),
            (None, None) => family[0].pair.conditional(0, &[]),
        };
        Box::new(Rounded { law, rounding: family.iter().map(|noisy| noisy.rounding).sum() })
    }

    /// Places along one member of a family that resolve the passage of another.
    pub(super) fn shadow(family: &[&Self], broken: Crossing) -> Vec<f64> {
        if let [a, b] = family {
            let (of, along) = if a.child == broken.of { (a, b) } else { (b, a) };
            return of.pair.shadow_on(&along.pair, broken);
        }
        let [of, along] = [broken.of, broken.along].map(|node| family[0].place(node));
        family[0].pair.shadow(Crossing { of, along, ..broken })
    }

    fn place(&self, node: usize) -> usize {
        usize::from(node == self.child)
    }
}

/// Several normal views of one place as one.
fn together(seen: &[Normal]) -> Option<Normal> {
    seen.iter().copied().reduce(|a, b| {
        let apart = a.sd.hypot(b.sd);
        let share = (a.sd / apart).powi(2);
        Normal { mean: (1.0 - share) * a.mean + share * b.mean, sd: a.sd / apart * b.sd }
    })
}

/// A law whose density is off by rounding of the numbers that it is made of.
struct Rounded {
    law: Box<dyn Univariate>,
    rounding: f64,
}

impl Univariate for Rounded {
    fn base(&self) -> Option<&dyn Univariate> {
        Some(&*self.law)
    }

    fn doubt(&self) -> f64 {
        self.rounding
    }

    fn pdf(&self, x: f64) -> f64 {
        self.law.pdf(x)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.law.cdf(x)
    }

    fn support(&self) -> (f64, f64) {
        self.law.support()
    }

    /// Of a bell that is not cut those of a normal law, which are fewer.
    fn panels(&self) -> Vec<f64> {
        match self.law.normal_coordinate() {
            Some((mean, sd)) => NORMAL_PANELS.map(|z| mean + z * sd).to_vec(),
            None => self.law.panels(),
        }
    }

    fn weight(&self, u: f64) -> f64 {
        self.law.weight(u)
    }

    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        self.law.normal_coordinate()
    }

    fn is_smooth(&self) -> bool {
        self.law.is_smooth()
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        self.law.mass(from, to)
    }

    fn resolves_small_masses(&self) -> bool {
        self.law.resolves_small_masses()
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        self.law.restricted(from, to)
    }

    fn quantile(&self, p: f64) -> f64 {
        self.law.quantile(p)
    }
}

/// A law as pieces on which it is uniform, if they leave no gap.
fn uniform(law: &Plain) -> Option<PiecewiseUniform> {
    let whole = [(1.0, law.clone())];
    let parts = match law {
        Plain::Mixture(parts) => parts.as_slice(),
        _ => &whole,
    };
    let mut pieces = Vec::new();
    for (weight, part) in parts {
        let Plain::Of(LawFamily::Uniform, [low, high, _], _) = part else { return None };
        pieces.push((*low, *high, *weight));
    }
    let mut limits: Vec<f64> = pieces.iter().flat_map(|&(low, high, _)| [low, high]).collect();
    limits.sort_by(f64::total_cmp);
    limits.dedup();
    let inside = |ends: &[f64]| {
        let over = pieces.iter().filter(|&&(low, high, _)| low <= ends[0] && ends[1] <= high);
        over.map(|&(low, high, weight)| weight * ((ends[1] - ends[0]) / (high - low))).sum::<f64>()
    };
    let weights: Vec<f64> = limits.windows(2).map(inside).collect();
    let total: f64 = weights.iter().sum();
    if weights.iter().any(|&weight| weight <= 0.0) {
        return None;
    }
    let weights: Vec<f64> = weights.into_iter().map(|weight| weight / total).collect();
    Some(PiecewiseUniform::new(&limits, &weights))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::{Estimate, integrate};

    fn on(low: f64, high: f64) -> Plain {
        Plain::of(LawFamily::Uniform, &[low, high]).unwrap()
    }

    #[test]
    fn mixtures_of_uniform_laws_are_uniform_on_pieces_where_they_leave_no_gap() {
        let overlapping = Plain::Mixture(vec![(0.75, on(0.0, 3.0)), (0.25, on(2.0, 4.0))]);
        let known = uniform(&overlapping).unwrap();
        assert_eq!(known.limits(), [0.0, 2.0, 3.0, 4.0]);
        for x in [0.5, 2.5, 3.5] {
            assert!((known.pdf(x) - overlapping.pdf(x)).abs() < 1e-15, "at {x}");
        }
        assert!(uniform(&Plain::Mixture(vec![(0.5, on(0.0, 1.0)), (0.5, on(2.0, 3.0))])).is_none());
        assert!(uniform(&Plain::of(LawFamily::Normal, &[0.0, 1.0]).unwrap()).is_none());
    }

    /// Of a child about 1e6 with a noise of 1e-3 differences are known to eight roundings of 1e9.
    #[test]
    fn laws_are_in_doubt_by_rounding_of_what_noise_is_added_to() {
        let doubt = |constant: f64, slope: f64, sd: f64| {
            let mean = Affine { weights: vec![(0, slope)], constant };
            let noisy = Noisy::of(1, (&mean, sd), |_| Some(on(0.0, 1.0))).unwrap();
            Noisy::law(&[&noisy], 1, &[]).doubt() / f64::EPSILON
        };
        for (found, known) in [
            (doubt(1e6, 0.5, 1e-3), 8e9),
            (doubt(0.0, 2.0, 0.1), 160.0),
            (doubt(-1e6, 1e6, 1.0), 8e6),
        ] {
            assert!((found / known - 1.0).abs() < 1e-6, "{found}, not {known}");
        }
    }

    /// Three children of one parent: laws given others by Bayes' rule from densities given the parent, and the mass.
    #[test]
    fn laws_given_several_children_are_those_of_one_joint_density() {
        let family = [(0.0, 1.0, 0.2), (1.0, -2.0, 0.5), (0.3, 0.5, 0.1)];
        let mut child = 0;
        let family = family.map(|(constant, slope, sd)| {
            child += 1;
            let mean = Affine { weights: vec![(0, slope)], constant };
            Noisy::of(child, (&mean, sd), |_| Some(on(-1.0, 1.0))).unwrap()
        });
        let normals = [(0.0, 1.0, 0.2), (1.0, -2.0, 0.5), (0.3, 0.5, 0.1)];
        let density = |u: f64, known: &[f64]| {
            let each = normals.iter().zip(known).filter(|(_, x)| !x.is_nan());
            each.map(|((a, b, sd), x)| Normal { mean: a + b * u, sd: *sd }.pdf(*x)).product::<f64>()
        };
        let joint = |known: &[f64]| {
            let points: Vec<f64> = (-20..=20).map(|k| 0.05 * f64::from(k)).collect();
            integrate(&points, 0.0, |u| [Estimate::exact(density(u, known))])[0].value
        };
        let all: Vec<&Noisy> = family.iter().collect();
        let given = [(1, 0.4), (2, -0.6)];
        let known = joint(&[0.4, -0.6, f64::NAN]);
        let own = Noisy::law(&all, 3, &given);
        for x in [0.1, 0.5, 0.9] {
            let ratio = own.pdf(x) * known / joint(&[0.4, -0.6, x]);
            assert!((ratio - 1.0).abs() < 1e-11, "{x}: {ratio}");
        }
        let of_parent = Noisy::law(&all[..2], 0, &given);
        for u in [-0.9, 0.2, 0.7] {
            let ratio = of_parent.pdf(u) * known / density(u, &[0.4, -0.6]);
            assert!((ratio - 1.0).abs() < 1e-11, "{u}: {ratio}");
        }
        // x1 at 0.2, as x2 sees it: about where u = 0.2, through both noises.
        let shadow =
            Noisy::shadow(&all[..2], crate::law::Crossing { of: 1, along: 2, slope: 0.0, at: 0.2 });
        let ends: (f64, f64) =
            (shadow[0].min(shadow[shadow.len() - 1]), shadow[0].max(shadow[shadow.len() - 1]));
        assert!((0.5 * (ends.0 + ends.1) - 0.6).abs() < 1e-12, "{ends:?}");
        let wide = 10.0 * 0.2_f64.hypot(0.5 * 0.5) * 2.0;
        assert!((0.5 * (ends.1 - ends.0) - wide).abs() < 1e-12, "{ends:?}");
    }

    /// Laws that are integrals are in doubt, and take as many evaluations as they are asked for.
    #[test]
    fn laws_of_files_are_closed_where_those_of_built_in_scenarios_are() {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/problems");
        for (name, child) in [
            ("nonlinear", 1),
            ("piecewise-linear", 1),
            ("threshold-linear", 1),
            ("sin-indicator", 2),
        ] {
            let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            let file = crate::problem(name, &text, &[]).unwrap();
            let built_in = crate::scenario(name, &[]).unwrap();
            let [own, other] = [&file, &built_in].map(|scenario| scenario.parts.engine.law());
            for (target, given) in [(child, None), (child, Some((0, 0.3))), (0, Some((child, 0.1)))]
            {
                let given: Vec<(usize, f64)> = given.into_iter().collect();
                let [own, other] = [own, other].map(|law| law.conditional(target, &given));
                // From this on laws count as integrals in simulations.
                assert!(own.doubt() < 1e-12, "{name}: x{} given {given:?}", target + 1);
                for p in [0.01, 0.4, 0.97] {
                    let (x, known) = (own.quantile(p), other.quantile(p));
                    assert!((x - known).abs() < 1e-12, "{name}: {x}, not {known}");
                    let (density, known) = (own.pdf(x), other.pdf(x));
                    assert!(
                        (density / known - 1.0).abs() < 1e-11,
                        "{name}: {density}, not {known}"
                    );
                }
            }
        }
    }
}
