//! Children with normal noise around a weighted uniform parent: their laws have closed forms.

use super::laws::{LawFamily, Plain};
use super::pieces::Affine;
use crate::law::{ParentChild, PiecewiseUniform};

/// A node that is normal around a weighted value of one parent, which is uniform on pieces and reads nothing.
pub(super) struct Noisy {
    pub(super) parent: usize,
    pub(super) child: usize,
    /// The parent is feature 0.
    pub(super) pair: ParentChild,
}

/// Numbers that must lie between a standard deviation of the noise and 0 apart from each other.
const FEWEST_PLACES: f64 = 1e5;

impl Noisy {
    /// A node, its mean as a weighted sum with its standard deviation, and the laws of nodes that read nothing; none
    /// where the law of the node is another one, or its noise is little more than rounding of what it is added to.
    pub(super) fn of(
        child: usize,
        (mean, sd): (&Affine, f64),
        root: impl Fn(usize) -> Option<Plain>,
    ) -> Option<Self> {
        let &[(parent, slope)] = mean.weights.as_slice() else { return None };
        let law = uniform(&root(parent)?)?;
        let ends = |law: &PiecewiseUniform| {
            let [first, .., last] = law.limits() else { return f64::INFINITY };
            first.abs().max(last.abs())
        };
        let coarse = |size: f64, sd: f64| sd <= FEWEST_PLACES * f64::EPSILON * size;
        let child_ends = ends(&law.moved(mean.constant, slope)).max(mean.constant.abs());
        if coarse(child_ends, sd) || coarse(ends(&law), sd / slope.abs()) || !child_ends.is_finite()
        {
            return None;
        }
        let pair = ParentChild::around(law, (mean.constant, slope), sd);
        Some(Self { parent, child, pair })
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
    use crate::law::Univariate;

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

    #[test]
    fn noise_must_be_more_than_rounding() {
        let mean = |constant: f64, slope: f64| Affine { weights: vec![(0, slope)], constant };
        let is_known =
            |mean: &Affine, sd| Noisy::of(1, (mean, sd), |_| Some(on(0.0, 1.0))).is_some();
        assert!(is_known(&mean(0.0, 2.0), 1e-9));
        assert!(!is_known(&mean(0.0, 2.0), 1e-12));
        assert!(!is_known(&mean(1e6, 2.0), 1e-6));
        // Neither may the parent be told to less than it has digits.
        assert!(is_known(&mean(0.0, 1e6), 1e-3) && !is_known(&mean(0.0, 1e6), 1e-6));
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
