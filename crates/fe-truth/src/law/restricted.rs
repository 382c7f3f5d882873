//! A block of features given that one of them lies in an interval, or is at some of its levels.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::chances::{Chances, Curves};
use super::levels::Levels;
use super::region::Condition;
use super::{Block, Crossing, Univariate};
use crate::numeric::mixed::Mapped;
use crate::numeric::quadrature::{Estimate, integrate, within};

/// A block given that a feature obeys a condition, which must have a probability.
#[derive(Clone)]
pub(crate) struct Restricted {
    pub(crate) base: Arc<dyn Block>,
    pub(crate) target: usize,
    pub(crate) condition: Condition,
    /// Of the condition, given other features.
    chances: Arc<Chances>,
}

impl Restricted {
    pub(crate) fn new(base: Arc<dyn Block>, target: usize, condition: Condition) -> Self {
        Self { base, target, condition, chances: Arc::default() }
    }

    /// The law of the target without the condition.
    fn unrestricted(&self, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        self.base.conditional(self.target, given)
    }

    /// Curves of the probability of the condition given others, if there are such.
    fn curves(&self, given: impl Iterator<Item = usize>) -> Option<Arc<Curves>> {
        self.chances.given(&*self.base, &given.collect::<Vec<_>>())
    }

    /// The probability of the condition given others, where it is read off a curve.
    fn chance(&self, given: &[(usize, f64)]) -> Option<f64> {
        let curves = self.curves(given.iter().map(|(feature, _)| *feature))?;
        self.chance_on(&curves, given)
    }

    fn chance_on(&self, curves: &Curves, given: &[(usize, f64)]) -> Option<f64> {
        let chance =
            |given: &[(usize, f64)]| normaliser(&*self.unrestricted(given), &self.condition);
        curves.at(&*self.base, given, &chance)
    }

    /// The law of a feature with levels given others, where the target is none of these.
    fn reweighted(&self, levels: &Levels, target: usize, given: &[(usize, f64)]) -> Levels {
        levels.reweighted(|level| {
            let mut known = given.to_vec();
            known.push((target, level));
            mass(&*self.unrestricted(&known), &self.condition)
        })
    }
}

impl Block for Restricted {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        let law = self.base.conditional(target, given);
        if target == self.target {
            if let Some(levels) = law.levels() {
                let holds = |level| if self.condition.holds(level) { 1.0 } else { 0.0 };
                return Box::new(levels.reweighted(holds));
            }
            let (from, to) = self.condition.interval;
            return law.restricted(from, to).unwrap_or_else(|| {
                let total = self.chance(given);
                let total = total.unwrap_or_else(|| normaliser(&*law, &self.condition));
                Box::new(CutOff { law, from, to, total })
            });
        }
        if given.iter().any(|(feature, _)| *feature == self.target) {
            return law;
        }
        if let Some(levels) = law.levels() {
            return Box::new(self.reweighted(levels, target, given));
        }
        let (from, to) = self.condition.interval;
        let total = match self.chance(given) {
            Some(known) => known,
            None => {
                let of_condition = self.unrestricted(given);
                if let Some(nearest) = of_condition.nearest(from, to) {
                    let known = given.iter().copied().chain([(self.target, nearest)]);
                    return self.base.conditional(target, &known.collect::<Vec<_>>());
                }
                normaliser(&*of_condition, &self.condition)
            }
        };
        Box::new(Weighted {
            law,
            feature: target,
            block: self.clone(),
            given: given.to_vec(),
            total,
            curves: self.curves(given.iter().map(|(feature, _)| *feature).chain([target])),
            panels: OnceLock::new(),
            is_seen: OnceLock::new(),
            normal: OnceLock::new(),
            ratios: Mutex::default(),
        })
    }

    fn is_known(&self, target: usize, given: &[usize]) -> bool {
        let after = || {
            let with: Vec<usize> = given.iter().copied().chain([target]).collect();
            self.base.is_known(self.target, given) && self.base.is_known(self.target, &with)
        };
        let is_apart = target == self.target || given.contains(&self.target);
        self.base.is_known(target, given) && (is_apart || after())
    }

    /// A condition on either of them would move with it.
    fn are_alike(&self, a: usize, b: usize) -> bool {
        a != self.target && b != self.target && self.base.are_alike(a, b)
    }

    fn summary(&self, given: &[(usize, f64)]) -> Option<f64> {
        self.base.summary(given)
    }

    fn told(&self, given: &[(usize, f64)], summary: f64) -> Vec<(usize, f64)> {
        self.base.told(given, summary)
    }

    fn draws_given(&self) -> usize {
        self.base.draws_given()
    }

    fn sample_given(&self, given: &[(usize, f64)], drawn: &[f64], values: &mut [f64]) -> f64 {
        let weight = self.base.sample_given(given, drawn, values);
        if self.condition.holds(values[self.target]) { weight } else { 0.0 }
    }

    fn known(&self, feature: usize, x: f64) -> f64 {
        self.base.known(feature, x)
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        self.base.shadow(broken)
    }
}

/// Least probability of an interval that is integrated from a density: what lies beyond its panels is
/// then of no account.
pub(super) const LEAST: f64 = 1e-10;

/// Least probability that is told to all its digits by a law that resolves small ones.
const FAINTEST: f64 = 1e-290;

/// The probability of a condition.
fn mass(law: &dyn Univariate, condition: &Condition) -> f64 {
    match law.levels() {
        Some(levels) => levels.share(|level| condition.holds(level)),
        None => law.mass(condition.interval.0, condition.interval.1),
    }
}

/// The probability of a condition, to divide by; NaN where it has lost its digits.
pub(super) fn normaliser(law: &dyn Univariate, condition: &Condition) -> f64 {
    if law.levels().is_some() {
        return mass(law, condition);
    }
    if law.resolves_small_masses() {
        let mass = mass(law, condition);
        return if mass < FAINTEST { f64::NAN } else { mass };
    }
    // A difference of distribution functions would be wrong by some 1e-16.
    let mass = integrated(law, condition.interval.0, condition.interval.1);
    if mass < LEAST { f64::NAN } else { mass }
}

/// The probability of an interval, from the density between the panels; of one in a tail from the density there.
fn integrated(law: &dyn Univariate, from: f64, to: f64) -> f64 {
    let panels = law.panels();
    let ends = (panels[0], panels[panels.len() - 1]);
    let (low, high) = law.support();
    let start = if from > low { law.coordinate(from) } else { f64::NEG_INFINITY };
    let end = if to < high { law.coordinate(to) } else { f64::INFINITY };
    let [first, last] = [start, end].map(|u| u.clamp(ends.0, ends.1));
    let over =
        |points: &[f64]| integrate(points, 0.0, |u| [Estimate::exact(law.weight(u))])[0].value;
    let inside = over(&within(&panels, first, last));
    let is_faint = inside < IN_A_TAIL && law.resolves_small_masses();
    let tail = if is_faint { tail(law, (start, end), ends) } else { None };
    tail.map_or(inside, |tail| {
        over(&within(&[panels, tail.clone()].concat(), tail[0], tail[tail.len() - 1]))
    })
}

/// Panels of an interval in a tail, from the end that is nearest to all that counts of the law: what lies beyond its panels
/// is little, but need not be little of the interval.
fn tail(
    law: &dyn Univariate,
    (start, end): (f64, f64),
    (low, high): (f64, f64),
) -> Option<Vec<f64>> {
    let middle = 0.5 * (low + high);
    let (near, far, step) = match (start >= middle, end <= middle) {
        (true, false) => (start, end, 1e-4 * (high - low)),
        (false, true) => (end, start, 1e-4 * (low - high)),
        _ => return None,
    };
    let [here, further] = [near, near + step].map(|u| law.weight(u));
    // The law falls off as it does within a short step.
    let decay = (here / further).ln() / step.abs();
    if !(decay.is_finite() && decay > 0.0 && near != far) {
        return None;
    }
    let room = (far - near).abs().min(DECAYS[DECAYS.len() - 1] / decay);
    let ways = DECAYS.map(|decays| decays / decay).into_iter().filter(|way| *way < room);
    let mut panels: Vec<f64> = ways.chain([room]).map(|way| near + way.copysign(step)).collect();
    panels.sort_by(f64::total_cmp);
    Some(panels)
}

/// A law of one variable cut off at the ends of an interval.
struct CutOff {
    law: Box<dyn Univariate>,
    from: f64,
    to: f64,
    total: f64,
}

/// Probability of an interval below which a tail is integrated on its own scale.
const IN_A_TAIL: f64 = 1e-3;

/// Share of a law beyond its panels from which on nothing is told of it.
const UNSEEN: f64 = 1e-9;

/// Most steps to the highest place of a density; in standard deviations of the law without the condition, the distance of what
/// they are made from, the step that is short enough to be left out, and the longest.
const STEPS: usize = 8;
const STEP: f64 = 0.5;
const CLOSE: f64 = 1.0;
const LONGEST: f64 = 8.0;

/// Places on either side at which a density is looked for, so far from each other in widths of the panels: up to where normal
/// densities are too small for numbers; and what is nothing beside the largest.
const SEEN: i32 = 64;
const FINELY: f64 = 1.0 / 32.0;
const NOTHING: f64 = 1e-24;

/// Lengths over which a law falls off e-fold, at which panels in its tail end.
const DECAYS: [f64; 6] = [0.0, 1.0, 4.0, 12.0, 30.0, 60.0];

impl Univariate for CutOff {
    fn pdf(&self, x: f64) -> f64 {
        if (self.from..=self.to).contains(&x) { self.law.pdf(x) / self.total } else { 0.0 }
    }

    /// Of a simulated law a share of the whole probability may be off, which is more of a part of it.
    fn doubt(&self) -> f64 {
        let doubt = self.law.doubt();
        if self.law.is_simulated() { doubt / self.total } else { doubt }
    }

    fn cdf(&self, x: f64) -> f64 {
        self.mass(self.from, x)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let [from, to] = [from, to].map(|x| x.clamp(self.from, self.to));
        self.law.mass(from, to) / self.total
    }

    fn resolves_small_masses(&self) -> bool {
        self.law.resolves_small_masses()
    }

    fn support(&self) -> (f64, f64) {
        let (low, high) = self.law.support();
        (low.max(self.from), high.min(self.to))
    }

    fn panels(&self) -> Vec<f64> {
        let panels = self.law.panels();
        let (low, high) = (panels[0], panels[panels.len() - 1]);
        let [start, end] = [self.from, self.to].map(|x| self.law.coordinate(x));
        let own = within(&panels, low, high);
        // Where such masses are not resolved nothing is told of a tail.
        let is_told = self.law.resolves_small_masses() && self.total < IN_A_TAIL;
        let tail = if is_told { tail(&*self.law, (start, end), (low, high)) } else { None };
        if let Some(tail) = tail {
            return within(&[own, tail.clone()].concat(), tail[0], tail[tail.len() - 1]);
        }
        // All that counts may lie on one side of the interval; its law is then of no weight.
        let from = if start < high { low.max(start) } else { start };
        let to = if end > from { high.min(end).max(from) } else { from };
        within(&panels, from, to)
    }

    fn base(&self) -> Option<&dyn Univariate> {
        Some(&*self.law)
    }

    fn weight(&self, u: f64) -> f64 {
        let [start, end] = [self.from, self.to].map(|x| self.law.coordinate(x));
        if (start..=end).contains(&u) { self.law.weight(u) / self.total } else { 0.0 }
    }

    fn weight_at_most(&self, u: f64) -> f64 {
        self.law.weight_at_most(u) / self.total
    }
}

/// The law of a feature given that another one, not known itself, obeys a condition: its own density times
/// the probability of that.
struct Weighted {
    law: Box<dyn Univariate>,
    feature: usize,
    /// The block with the condition.
    block: Restricted,
    given: Vec<(usize, f64)>,
    /// Probability of the condition before this feature is known.
    total: f64,
    /// Of the same where it is known.
    curves: Option<Arc<Curves>>,
    panels: OnceLock<Vec<f64>>,
    /// True if the panels hold all of the law.
    is_seen: OnceLock<bool>,
    /// Mean and standard deviation of the nodes of the rule of trapezia, if that may be used.
    normal: OnceLock<Option<(f64, f64)>>,
    /// Likelihood ratios at coordinates, to the bit: integrals over this feature come to the same nodes again and again, and
    /// the probability of the condition may be an integral itself.
    ratios: Mutex<Mapped<u64, f64>>,
}

impl Weighted {
    /// Most ratios that are kept.
    const MOST: usize = 1 << 14;

    fn is_in_a_tail(&self) -> bool {
        self.total < IN_A_TAIL
    }

    /// Panels, with the places at which the ends of the condition are felt.
    fn divided(&self) -> Vec<f64> {
        let Restricted { base, target, condition, .. } = &self.block;
        let shadow = |end: f64| -> Vec<f64> {
            let crossing = Crossing { of: *target, along: self.feature, slope: 0.0, at: end };
            base.shadow(crossing).into_iter().map(|x| self.law.coordinate(x)).collect()
        };
        let own = self.law.panels();
        let ends: [f64; 2] = condition.interval.into();
        let shadows = ends.into_iter().filter(|end| end.is_finite()).map(shadow);
        // Where chances change more slowly than the law without conditions its panels are enough.
        let slow = narrowest(&without_conditions(&*self.law).panels());
        let points: Vec<f64> =
            shadows.filter(|shadow| narrowest(shadow) < slow).flatten().collect();
        let is_elsewhere = self.resolves_small_masses() && self.is_in_a_tail();
        let panels = if is_elsewhere { self.where_it_counts(&own) } else { own };
        let (first, last) = (panels[0], panels[panels.len() - 1]);
        within(&[panels, points].concat(), first, last)
    }

    /// Panels where the density counts: a condition that is rare without this feature may hold where its own law is next to
    /// nothing.
    fn where_it_counts(&self, panels: &[f64]) -> Vec<f64> {
        let (low, high) = (panels[0], panels[panels.len() - 1]);
        let (middle, step) = (0.5 * (low + high), FINELY * (high - low));
        let places = (0..=SEEN).flat_map(|k| [k, -k]).map(|k| middle + f64::from(k) * step);
        let mut most = 0.0;
        let mut seen = Vec::new();
        for u in places {
            if self.weight_at_most(u) > NOTHING * most {
                let weight = self.density(u);
                most = weight.max(most);
                seen.push((u, weight));
            }
        }
        let that_count = seen.into_iter().filter(|(_, weight)| *weight > NOTHING * most);
        let ends =
            that_count.map(|(u, _)| (u, u)).reduce(|(from, to), (u, _)| (from.min(u), to.max(u)));
        let Some((from, to)) = ends else { return panels.to_vec() };
        let (from, to) = (from - step, to + step);
        let quarters = [0.25, 0.5, 0.75].map(|share| from + share * (to - from));
        within(&[panels, &quarters].concat(), from, to)
    }

    /// True unless the condition is rare and the panels do not hold all of the law, but for what a difference of distribution
    /// functions may be off.
    fn is_seen(&self) -> bool {
        let is_all = || {
            let panels = self.panels.get_or_init(|| self.divided());
            let [all] = integrate(panels, 0.0, |u| [Estimate::exact(self.density(u))]);
            (all.value - 1.0).abs() < UNSEEN.max(10.0 * f64::EPSILON / self.total)
        };
        !self.is_in_a_tail() || *self.is_seen.get_or_init(is_all)
    }

    /// The density of the coordinate, wherever its panels are.
    fn density(&self, u: f64) -> f64 {
        self.law.weight(u) * self.ratio(u)
    }

    /// The normal law whose nodes are used: that without the condition, or where this moves most of the density, about its
    /// highest place, by Newton's steps for its logarithm, which is concave where that of the chance of the condition is.
    fn centred(&self) -> Option<(f64, f64)> {
        let (start, sd) = self.law.normal_coordinate()?;
        let ln_density = |u: f64| {
            let z = (u - start) / sd;
            (self.law.tilt(u) * self.ratio(u)).ln() - 0.5 * z * z
        };
        let mut centre = start;
        for _ in 0..STEPS {
            let beside = STEP * sd;
            let [below, here, above] = [centre - beside, centre, centre + beside].map(ln_density);
            let (slope, bend) = (0.5 * (above - below), above - 2.0 * here + below);
            let step = -slope / bend * beside;
            if !(step.is_finite() && bend < 0.0) {
                return None;
            }
            if step.abs() < CLOSE * sd {
                break;
            }
            centre += step.clamp(-LONGEST * sd, LONGEST * sd);
        }
        Some((centre, sd))
    }

    /// Likelihood ratio of the condition where this feature is known.
    fn factor(&self, known: f64) -> f64 {
        self.read_off(known).unwrap_or_else(|| self.worked_out(known))
    }

    /// The same where it is read off a curve.
    fn read_off(&self, known: f64) -> Option<f64> {
        let curves = self.curves.as_deref()?;
        let chance = |given: &[(usize, f64)]| self.block.chance_on(curves, given);
        Some(with(&self.given, (self.feature, known), chance)? / self.total)
    }

    fn worked_out(&self, known: f64) -> f64 {
        let chance =
            |given: &[(usize, f64)]| mass(&*self.block.unrestricted(given), &self.block.condition);
        with(&self.given, (self.feature, known), chance) / self.total
    }

    /// As [`Self::factor`], at a coordinate, and kept if it takes an integral.
    fn ratio(&self, u: f64) -> f64 {
        let known = self.law.known(u);
        if let Some(ratio) = self.read_off(known) {
            return ratio;
        }
        let lock = || self.ratios.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().get(&u.to_bits()).copied();
        kept.unwrap_or_else(|| {
            let made = self.worked_out(known);
            let mut kept = lock();
            if kept.len() >= Self::MOST {
                kept.clear();
            }
            kept.insert(u.to_bits(), made);
            made
        })
    }
}

fn without_conditions(law: &dyn Univariate) -> &dyn Univariate {
    law.base().map_or(law, without_conditions)
}

/// The least distance of neighbours.
fn narrowest(points: &[f64]) -> f64 {
    points.windows(2).map(|ends| (ends[1] - ends[0]).abs()).fold(f64::INFINITY, f64::min)
}

/// Most features that are given without memory being asked for.
const FEW: usize = 8;

/// Of features that are given and one more.
fn with<T>(given: &[(usize, f64)], one: (usize, f64), f: impl Fn(&[(usize, f64)]) -> T) -> T {
    let count = given.len();
    if count < FEW {
        let mut all = [one; FEW];
        all[..count].copy_from_slice(given);
        return f(&all[..=count]);
    }
    f(&[given, &[one]].concat())
}

impl Univariate for Weighted {
    /// A condition on another feature tells nothing more of what is infinitely far.
    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        self.law.nearest(from, to).and_then(|_| self.law.restricted(from, to))
    }

    fn pdf(&self, x: f64) -> f64 {
        let ratio = self.factor(self.block.known(self.feature, x));
        if self.is_seen() { self.law.pdf(x) * ratio } else { f64::NAN }
    }

    fn cdf(&self, x: f64) -> f64 {
        self.mass(f64::NEG_INFINITY, x)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        integrated(self, from, to)
    }

    fn resolves_small_masses(&self) -> bool {
        self.law.resolves_small_masses()
    }

    fn base(&self) -> Option<&dyn Univariate> {
        Some(&*self.law)
    }

    fn weight(&self, u: f64) -> f64 {
        if self.is_seen() { self.density(u) } else { f64::NAN }
    }

    fn weight_at_most(&self, u: f64) -> f64 {
        self.law.weight_at_most(u) / self.total
    }

    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        *self.normal.get_or_init(|| self.centred())
    }

    fn is_tilted(&self) -> bool {
        true
    }

    fn tilt(&self, u: f64) -> f64 {
        let [Some((mean, sd)), Some((before, _))] =
            [self.normal_coordinate(), self.law.normal_coordinate()]
        else {
            return f64::NAN;
        };
        let moved = (mean - before) * (0.5 * (mean + before) - u) / (sd * sd);
        self.law.tilt(u) * moved.exp() * self.ratio(u)
    }

    fn support(&self) -> (f64, f64) {
        self.law.support()
    }

    fn panels(&self) -> Vec<f64> {
        self.panels.get_or_init(|| self.divided()).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::law::consistency::assert_is_a_law;
    use crate::law::{BivariateNormal, CommonCause, GaussianCopula, latent};
    use crate::numeric::quadrature::over_tilted;
    use crate::numeric::special::{normal_between, normal_pdf, normal_quantile};

    fn cut(base: impl Block + 'static, from: f64, to: f64) -> Restricted {
        Restricted::new(Arc::new(base), 0, Condition::between(from, to))
    }

    #[track_caller]
    fn close(found: f64, known: f64) {
        assert!((found - known).abs() <= 1e-12 * known.abs(), "{found}, not {known}");
    }

    /// A uniform feature between 0.2 and 0.7, and what another one tells of it through its normal score.
    #[test]
    fn a_copula_given_that_a_feature_lies_in_an_interval() {
        let rho: f64 = 0.6;
        let block = cut(GaussianCopula { rho, dimension: 3 }, 0.2, 0.7);
        let own = block.conditional(0, &[]);
        assert_is_a_law(&*own, 1e-12, "the feature in the interval");
        assert_eq!(own.support(), (0.2, 0.7));
        for (x, pdf, cdf) in [(0.1, 0.0, 0.0), (0.3, 2.0, 0.2), (0.7, 2.0, 1.0), (0.9, 0.0, 1.0)] {
            close(own.pdf(x), pdf);
            close(own.cdf(x), cdf);
        }
        close(own.mass(0.0, 0.45), 0.5);
        close(own.mass(0.45, 0.6), 0.3);
        assert!(own.resolves_small_masses());
        let ends = [0.2, 0.7].map(normal_quantile);
        let sd = (1.0 - rho * rho).sqrt();
        let other = block.conditional(1, &[]);
        assert_is_a_law(&*other, 1e-11, "another feature");
        assert!(other.resolves_small_masses());
        for x in [0.05, 0.4, 0.9] {
            let [from, to] = ends.map(|end| (end - rho * normal_quantile(x)) / sd);
            close(other.pdf(x), normal_between(from, to) / 0.5);
        }
        // As the score of the feature is told.
        close(block.known(1, 0.3), latent(0.3));
        // Where the feature itself is known, the interval tells no more.
        let given = [(0, latent(0.3))];
        close(block.conditional(1, &given).pdf(0.4), block.base.conditional(1, &given).pdf(0.4));
        let third = [(2, latent(0.9))];
        assert_is_a_law(&*block.conditional(0, &third), 1e-12, "in the interval, given a third");
        assert_is_a_law(&*block.conditional(1, &third), 1e-11, "another one, given a third");
    }

    /// In a tail, and where the law of another feature without the interval is next to nothing.
    #[test]
    fn a_copula_given_an_interval_far_out() {
        for (rho, x, interval) in
            [(0.9, 1e-9, (0.9, 1.0)), (0.9, 1e-9, (0.4, 0.41)), (0.5, 0.999_999, (0.0, 1e-3))]
        {
            let block = cut(GaussianCopula { rho, dimension: 3 }, interval.0, interval.1);
            let given = [(2, latent(x))];
            let own = block.conditional(0, &given);
            assert_is_a_law(&*own, 1e-11, "the feature in the interval");
            assert_is_a_law(&*block.conditional(1, &given), 1e-10, "another one");
            // Nearly exponential from the nearest end on.
            let start = own.coordinate(if x < 0.5 { interval.0 } else { interval.1 });
            assert!(start.abs() > 5.0, "{start}");
        }
    }

    /// The density of a score is a normal one times what both conditions tell, where that is seen by waves: not where it
    /// changes within a hundredth of a standard deviation.
    #[test]
    fn conditions_on_others_tilt_a_normal_score() {
        let of = |rho: f64, given: &[(usize, f64)]| {
            let first = cut(GaussianCopula { rho, dimension: 4 }, 0.2, 0.7);
            let condition = Condition::between(0.1, 0.6);
            Restricted::new(Arc::new(first), 1, condition).conditional(2, given)
        };
        let by_waves = |law: &dyn Univariate, f: fn(f64) -> f64| {
            let normal = law.normal_coordinate().unwrap();
            over_tilted(normal, 0.0, |u| law.tilt(u), |u| Estimate::exact(f(u)))
        };
        let law = of(0.6, &[(3, latent(0.4))]);
        assert_eq!(law.normal_coordinate(), Some((0.0, 1.0)));
        for u in [-2.3, 0.0, 0.8] {
            close(law.weight(u), normal_pdf(u) * law.tilt(u));
        }
        close(by_waves(&*law, |_| 1.0).unwrap().value, 1.0);
        assert_is_a_law(&*law, 1e-11, "a feature given two conditions");
        assert!(by_waves(&*of(0.9999, &[]), |_| 1.0).is_none());

        // Far from both intervals the nodes move to where the density is.
        let law = of(0.6, &[(3, latent(1e-12))]);
        let (centre, sd) = law.normal_coordinate().unwrap();
        assert!(centre > 1.0 && sd == 1.0, "{centre}, {sd}");
        for u in [0.5, 2.0, 3.8] {
            close(law.weight(u), normal_pdf(u - centre) * law.tilt(u));
        }
        let panels = law.panels();
        let mean = integrate(&panels, 0.0, |u| [Estimate::exact(u * law.weight(u))])[0].value;
        let found = by_waves(&*law, |u| u).unwrap().value;
        assert!((found - mean).abs() < 1e-10, "{found}, not {mean}");
    }

    /// A copula that counts how often a law of it is asked for.
    struct Counted(GaussianCopula, AtomicUsize);

    impl Block for Counted {
        fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.conditional(target, given)
        }

        fn shadow(&self, broken: Crossing) -> Vec<f64> {
            self.0.shadow(broken)
        }
    }

    impl Counted {
        /// So many features, of which the first obeys a condition.
        fn first_of(dimension: usize, condition: Condition) -> (Arc<Self>, Restricted) {
            let copula = GaussianCopula { rho: 0.6, dimension };
            let counted = Arc::new(Self(copula, AtomicUsize::new(0)));
            let base = Arc::clone(&counted) as Arc<dyn Block>;
            (counted, Restricted::new(base, 0, condition))
        }

        fn asked(&self) -> usize {
            self.1.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_a_condition_tells_at_a_node_is_asked_once() {
        let (base, block) = Counted::first_of(3, Condition::between(0.2, 0.7));
        let law = block.conditional(1, &[]);
        let before = base.asked();
        let first: Vec<f64> = (0..100).map(|k| law.weight(0.02 * f64::from(k))).collect();
        assert_eq!(base.asked() - before, 100);
        let again: Vec<f64> = (0..100).map(|k| law.weight(0.02 * f64::from(k))).collect();
        assert_eq!((base.asked() - before, again), (100, first));
    }

    /// Where a law counts is looked for where its density without the condition could count.
    #[test]
    fn places_that_cannot_count_are_not_asked() {
        let (base, block) = Counted::first_of(3, Condition::between(0.9999, 1.0));
        let law = block.conditional(1, &[]);
        close(
            law.weight_at_most(-3.0),
            normal_pdf(-3.0) / normal_between(normal_quantile(0.9999), f64::INFINITY),
        );
        let before = base.asked();
        let panels = law.panels();
        let asked = base.asked() - before;
        assert!((1..40).contains(&asked), "{asked}");
        assert!(panels[0] < -6.0 && panels[panels.len() - 1] > 10.0, "{panels:?}");
    }

    /// Given that one is at an end all others are there, and conditions that hold there tell nothing: no integral says so.
    #[test]
    fn conditions_that_hold_at_an_end_tell_nothing_there() {
        let (base, first) = Counted::first_of(4, Condition::between(0.2, 1.0));
        let block = Restricted::new(Arc::new(first), 1, Condition::between(0.3, f64::INFINITY));
        for (x, known) in [(0.0, [0.2, 0.3, 0.0]), (1.0, [1.0, 1.0, 1.0])] {
            let given = [(3, latent(x))];
            let before = base.asked();
            let places = [0, 1, 2].map(|feature| block.conditional(feature, &given).place(0.5));
            let asked = base.asked() - before;
            for (place, known) in places.into_iter().zip(known) {
                assert!((place - known).abs() < 1e-12, "given {x}: {place}, not {known}");
            }
            assert!(asked < 20, "given {x}: {asked}");
        }
    }

    #[test]
    fn features_are_alike_that_no_condition_tells_apart() {
        let block = cut(GaussianCopula { rho: 0.6, dimension: 4 }, 0.2, 0.7);
        assert!(block.are_alike(1, 3) && !block.are_alike(0, 1) && !block.are_alike(3, 0));
        let [other, third] = [1, 2].map(|feature| block.conditional(feature, &[]));
        assert_eq!(other.pdf(0.3), third.pdf(0.3));
        let pair = BivariateNormal { mean: [0.0, 1.0], sd: [2.0, 3.0], rho: -0.5 };
        assert!(!cut(pair, 0.0, 1.0).base.are_alike(0, 1));
    }

    /// The mean of one of two normal features moves with that of the other, cut off.
    #[test]
    fn a_normal_feature_given_that_another_one_is_positive() {
        let pair = BivariateNormal { mean: [0.0, 1.0], sd: [2.0, 3.0], rho: -0.5 };
        let block = cut(pair, 0.0, f64::INFINITY);
        assert_is_a_law(&*block.conditional(0, &[]), 1e-12, "half of a normal law");
        let other = block.conditional(1, &[]);
        assert_is_a_law(&*other, 1e-11, "its partner");
        let panels = other.panels();
        let at = |u: f64| [Estimate::exact(u * other.weight(u))];
        let mean = integrate(&panels, 0.0, at)[0].value;
        close(mean, 1.0 - 0.5 * 3.0 * (2.0 / std::f64::consts::PI).sqrt());
    }

    /// A law that has masses only as differences is integrated; of what lies too far out nothing is told.
    #[test]
    fn a_law_without_small_masses_is_cut_off_by_its_density() {
        let cause = CommonCause { noise: 0.3 };
        let margin = cause.margin();
        for (from, to) in [(-0.2, f64::INFINITY), (-0.2, 0.9), (f64::NEG_INFINITY, 0.9)] {
            let own = cut(cause, from, to).conditional(0, &[]);
            assert_is_a_law(&*own, 1e-12, &format!("from {from} to {to}"));
            assert_eq!(own.support(), (from, to));
            assert!(!own.resolves_small_masses());
            let mass = margin.mass(from, to);
            for x in [0.0, 0.5, 0.8] {
                close(own.pdf(x), margin.pdf(x) / mass);
            }
        }
        assert!(!cut(cause, 0.1, 0.9).conditional(1, &[]).resolves_small_masses());
        assert!(normaliser(&margin, &Condition::between(5.0, 6.0)).is_nan());
        assert!(
            (normaliser(&margin, &Condition::between(0.2, 0.6)) - margin.mass(0.2, 0.6)).abs()
                < 1e-14
        );
    }
}
