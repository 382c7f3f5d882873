//! Effects of fitted models under the law of a scenario: of functions that are known as sums of smooth terms and of
//! constants on boxes, exactly, with no data.
//!
//! Imports scenarios, answers, the engine and what is below them. Begin with [`Scenario::effects_of`]: smooth terms are
//! integrated as those of f are; `steps` has the effects of boxes, `pair` those of two features and `shapley` Shapley values, from
//! the probabilities of `joint` over the `cells` between their limits, `given` a feature's value where others depend on it.

mod cells;
mod given;
mod joint;
mod pair;
mod shapley;
mod steps;
mod sums;

use std::sync::{Arc, Mutex, PoisonError};

use fe_core::model::{SmoothTerm, TermSum};

use crate::error::Error;
use crate::function::Term;
use crate::quantity::{Centring, Quantity, Truth};
use crate::scenario::Scenario;
use steps::Steps;
use sums::StepCurve;

/// Effects of a function under the law of a scenario, each with a bound on its error.
///
/// They are what estimates of the function's effects converge to with more and more rows of the law, and bins that
/// resolve the function. See [`Scenario::effects_of`].
pub struct FittedEffects<'a> {
    scenario: Scenario,
    /// The smooth terms under the law, if there are any.
    smooth: Option<Scenario>,
    steps: Option<Steps<'a>>,
    constant: f64,
    /// Step curves that were asked for: partial dependence, or what is accumulated.
    curves: Mutex<Vec<KnownCurve>>,
    /// Whole answers, as the same curve may be held against several others.
    answers: Mutex<Vec<(Asked, Vec<Truth>)>>,
}

/// Curves that are kept: whoever asks for one point after another does not fill the memory.
const MOST_ANSWERS: usize = 1000;

/// A curve by its effect, its feature, its points and its centring.
#[derive(PartialEq)]
struct Asked {
    effect: Quantity,
    feature: usize,
    points: Vec<f64>,
    axis: (f64, f64),
    centring: Centring,
}

/// A step curve with the effect and the feature that it is of.
type KnownCurve = ((Quantity, usize), Arc<StepCurve>);

impl Scenario {
    /// The effects of a function of the same features, known as a sum, under the law of the scenario.
    ///
    /// # Errors
    /// [`Error::WrongFunction`], [`Error::UnknownLevel`].
    ///
    /// ```
    /// use fe_core::model::{SmoothTerm, TermSum};
    /// use fe_truth::{Centring, Quantity};
    /// // x1 and x2 are uniform on [-1, 1]: 1 + 2 x1 has the partial dependence 1 + 2 x1, whatever f is.
    /// let scenario = fe_truth::scenario("poly3", &[])?;
    /// let model = TermSum::new(3, 1.0).with_term(SmoothTerm::linear(2.0, 0));
    /// let effects = scenario.effects_of(model)?;
    /// let pd = effects.curve(Quantity::Pd, 0, &[0.5], scenario.axis(0), Centring::None)?;
    /// assert!((pd[0].value - 2.0).abs() < 1e-12);
    /// # Ok::<(), fe_truth::Error>(())
    /// ```
    pub fn effects_of<'a>(&self, function: TermSum<'a>) -> Result<FittedEffects<'a>, Error> {
        let (given, dimension) = (function.dimension(), self.dimension());
        if given != dimension {
            return Err(Error::WrongFunction { given, dimension });
        }
        for (feature, known) in function.levels() {
            self.check_known(*feature, known)?;
        }
        let engine = &self.parts.engine;
        let (constant, terms, boxes) = function.into_parts();
        let smooth = (!terms.is_empty())
            .then(|| self.of_engine(engine.of_terms(terms.iter().map(term).map(Arc::new))));
        let steps = boxes.map(|boxes| Steps::new(boxes, engine));
        let (scenario, curves) = (self.clone(), Mutex::default());
        Ok(FittedEffects { scenario, smooth, steps, constant, curves, answers: Mutex::default() })
    }

    /// Refuses an effect of sums of trees that could not be computed under this law, whichever features the trees test.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::NotOfTrees`], [`Error::JointBoxes`].
    ///
    /// ```
    /// use fe_truth::Quantity;
    /// let scenario = fe_truth::scenario("friedman1", &[])?;
    /// assert!(scenario.check_trees(Quantity::Ale, 0).is_ok());
    /// assert!(scenario.check_trees(Quantity::Dpd, 0).is_err());
    /// # Ok::<(), fe_truth::Error>(())
    /// ```
    pub fn check_trees(&self, effect: Quantity, feature: usize) -> Result<(), Error> {
        self.check_feature(feature)?;
        check_effect(effect)?;
        let joint = joint::Joint::new(&self.parts.engine, Vec::new());
        let law = joint.law();
        let refused = |reason| Err(Error::JointBoxes { effect: effect.name(), reason });
        for s in (0..self.dimension()).filter(|&s| law.block_of(s).0[0] == s) {
            let block = law.block_of(s).0;
            let others: Vec<usize> = block.iter().copied().filter(|&s| s != feature).collect();
            let is_own = others.len() < block.len();
            let given = (is_own && effect != Quantity::Pd).then_some(feature);
            let mut known = joint.check(&others, given);
            if effect == Quantity::Shap && is_own {
                known = known.and_then(|()| joint.check(block, None));
            }
            if let Err(reason) = known {
                return refused(reason);
            }
        }
        Ok(())
    }

    /// Refuses a function that is not defined at all levels of a feature.
    fn check_known(&self, feature: usize, known: &[f64]) -> Result<(), Error> {
        self.check_feature(feature)?;
        let levels = self.parts.engine.margin(feature).levels();
        let mut levels = levels.map_or(&[][..], |levels| levels.values()).iter();
        match levels.find(|level| !known.contains(level)) {
            None => Ok(()),
            Some(&level) => {
                let feature_name = self.feature_name(feature);
                Err(Error::UnknownLevel {
                    feature: feature_name,
                    level: self.level_name(feature, level),
                })
            }
        }
    }
}

/// A smooth term as those of f are.
fn term(term: &SmoothTerm) -> Term {
    if let (Some(slope), [feature]) = (term.slope(), term.features()) {
        return Term::linear(slope, *feature);
    }
    let (of_value, of_slope) = (term.clone(), term.clone());
    let own = Term::new(
        term.features(),
        move |row| of_value.value(row),
        move |s, row| of_slope.partial(s, row),
    );
    term.breaks().iter().fold(own, |own, (feature, places)| own.breaking_at(*feature, places))
}

/// Refuses effects of boxes that there are none of.
fn check_effect(effect: Quantity) -> Result<(), Error> {
    match effect {
        Quantity::Pd | Quantity::Mplot | Quantity::Ale | Quantity::Shap => Ok(()),
        _ => Err(Error::NotOfTrees { effect: effect.name() }),
    }
}

impl FittedEffects<'_> {
    /// The curve of an effect at each of the points, in their order: as [`Scenario::curve`] of f.
    ///
    /// # Errors
    /// As [`Scenario::curve`]; of a function with boxes [`Error::NotOfTrees`] and [`Error::JointBoxes`].
    pub fn curve(
        &self,
        effect: Quantity,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error> {
        let scenario = &self.scenario;
        scenario.check_axis(feature, axis)?;
        scenario.check_points(feature, points)?;
        if centring != Centring::None && !effect.is_curve() {
            return Err(Error::NotCentrable { effect: effect.name() });
        }
        scenario.check_quantity(effect, feature, centring)?;
        let asked = Asked { effect, feature, points: points.to_vec(), axis, centring };
        if let Some(known) = known(&self.answers, &asked) {
            return Ok(known);
        }
        let curve = self.summed(&asked)?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() < MOST_ANSWERS {
            answers.push((asked, curve.clone()));
        }
        Ok(curve)
    }

    /// A curve as the sum of its parts.
    fn summed(&self, asked: &Asked) -> Result<Vec<Truth>, Error> {
        let &Asked { effect, feature, ref points, axis, centring } = asked;
        let mut sum = vec![Truth::ZERO; points.len()];
        if let Some(smooth) = &self.smooth {
            sum = smooth.curve(self.of_smooth(effect, feature), feature, points, axis, centring)?;
        }
        if let Some(steps) = &self.steps {
            check_effect(effect)?;
            let of = OfSteps { effects: self, steps, effect, feature };
            let curve = of.centred(points, axis, centring)?;
            sum = sum.into_iter().zip(curve).map(|(sum, own)| sum.plus(own)).collect();
        }
        let has_constant = matches!(effect, Quantity::Pd | Quantity::Mplot);
        if has_constant && centring == Centring::None {
            sum.iter_mut().for_each(|sum| sum.value += self.constant);
        }
        self.told(effect, feature, &sum)?;
        Ok(sum)
    }

    /// ALE of a feature with levels along an order of them: as [`Scenario::ale_by_levels`] of f.
    ///
    /// # Errors
    /// As [`Scenario::ale_by_levels`]; [`Error::JointBoxes`].
    pub fn ale_by_levels(&self, feature: usize, order: &[usize]) -> Result<Vec<Truth>, Error> {
        let values = self.scenario.order_of_levels(feature, order)?;
        let mut sum = vec![Truth::ZERO; order.len()];
        if let Some(smooth) = &self.smooth {
            sum = smooth.ale_by_levels(feature, order)?;
        }
        if let Some(steps) = &self.steps {
            let own = steps.accumulated_by_levels(feature, &values);
            sum = sum.into_iter().zip(own).map(|(sum, own)| sum.plus(own)).collect();
        }
        self.told(Quantity::Ale, feature, &sum)?;
        Ok(sum)
    }

    /// The mean of the function.
    ///
    /// # Errors
    /// [`Error::JointBoxes`], [`Error::NoTruth`].
    pub fn mean(&self) -> Result<Truth, Error> {
        let smooth = self.smooth.as_ref().map_or(Ok(Truth::ZERO), Scenario::mean)?;
        let steps = self.steps.as_ref().map_or(Truth::ZERO, Steps::mean);
        let sum = smooth.plus(steps);
        let mean = Truth { value: sum.value + self.constant, ..sum };
        self.told(Quantity::Pd, 0, &[mean])?;
        Ok(mean)
    }

    /// The Shapley value of each feature at a row, and last the mean: as [`Scenario::shap_at`] of f.
    ///
    /// # Errors
    /// As [`Scenario::shap_at`]; [`Error::JointBoxes`].
    pub fn shap_at(&self, row: &[f64]) -> Result<Vec<Truth>, Error> {
        let dimension = self.scenario.dimension();
        if row.len() != dimension {
            return Err(Error::WrongDimension { given: row.len(), dimension });
        }
        for (feature, x) in row.iter().enumerate() {
            self.scenario.check_points(feature, std::slice::from_ref(x))?;
        }
        let mut values = vec![Truth::ZERO; dimension];
        if let Some(smooth) = &self.smooth {
            values = smooth.shap_at(row)?;
            values.truncate(dimension);
        }
        if let Some(steps) = &self.steps {
            let own = steps.shapley_values(row);
            values = values.into_iter().zip(own).map(|(sum, own)| sum.plus(own)).collect();
        }
        self.told(Quantity::Shap, 0, &values)?;
        values.push(self.mean()?);
        Ok(values)
    }

    /// An effect as it is asked of smooth terms: they have no jumps.
    fn of_smooth(&self, effect: Quantity, feature: usize) -> Quantity {
        match effect {
            Quantity::Ale if !self.scenario.parts.engine.has_levels(feature) => {
                Quantity::AleDerivative
            }
            other => other,
        }
    }

    /// Refuses answers that are no numbers: boxes that could not be integrated.
    fn told(&self, effect: Quantity, feature: usize, answers: &[Truth]) -> Result<(), Error> {
        if let Some(steps) = &self.steps
            && answers.iter().any(|truth| truth.value.is_nan())
        {
            self.scenario.check_trees(effect, feature)?;
            steps.check_coalitions(effect)?;
        }
        if let Some(bad) = answers.iter().find(|t| !(t.value + t.abs_error).is_finite()) {
            let what = format!("{effect} of {}", self.scenario.feature_name(feature));
            return bad.told(|| what).map(|_| ());
        }
        self.scenario.judge(answers.iter().copied())
    }

    /// A step curve, computed once.
    fn known(&self, key: (Quantity, usize), compute: impl FnOnce() -> StepCurve) -> Arc<StepCurve> {
        if let Some(known) = known(&self.curves, &key) {
            return known;
        }
        let curve = Arc::new(compute());
        let mut curves = self.curves.lock().unwrap_or_else(PoisonError::into_inner);
        curves.push((key, Arc::clone(&curve)));
        curve
    }
}

/// The value of a key.
fn known<K: PartialEq, V: Clone>(all: &Mutex<Vec<(K, V)>>, key: &K) -> Option<V> {
    let all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone())
}

/// An effect of the boxes.
struct OfSteps<'a> {
    effects: &'a FittedEffects<'a>,
    steps: &'a Steps<'a>,
    effect: Quantity,
    feature: usize,
}

impl OfSteps<'_> {
    fn centred(
        &self,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error> {
        let levels = self.steps.joint.margin(self.feature).levels().is_some();
        if self.effect == Quantity::Ale && levels {
            return Ok(self.ale_at_levels(points, axis, centring));
        }
        if let Some(curve) = self.curve() {
            let curve = match self.effect {
                // Accumulation begins at the lower end.
                Quantity::Ale => (*curve).clone().less(self.at(&curve, axis.0)),
                _ => (*curve).clone(),
            };
            let constant = self.centre(&curve, axis, centring);
            return Ok(points.iter().map(|&x| self.at(&curve, x).minus(constant)).collect());
        }
        let all: Vec<f64> = match centring {
            Centring::None => points.to_vec(),
            Centring::Start => [points, &[axis.0]].concat(),
            Centring::Integral | Centring::Data => return Err(self.uncentred(centring)),
        };
        let mut curve = self.between(&all);
        let start = if centring == Centring::Start { curve.pop() } else { None };
        let start = start.unwrap_or(Truth::ZERO);
        Ok(curve.into_iter().map(|value| value.minus(start)).collect())
    }

    /// The effect, where it is constant between limits.
    fn curve(&self) -> Option<Arc<StepCurve>> {
        let (steps, feature) = (self.steps, self.feature);
        let is_alone = steps.joint.is_alone(feature);
        match self.effect {
            Quantity::Ale if !is_alone => {
                let key = (Quantity::Ale, feature);
                Some(self.effects.known(key, || steps.accumulated(feature)))
            }
            Quantity::Mplot | Quantity::Shap if !is_alone => None,
            Quantity::Shap => {
                // Constant in each cell, and asked for at one place of each.
                let places: Vec<f64> = (0..steps.cells(feature).count())
                    .map(|cell| match steps.cells(feature).ends(cell) {
                        (from, _) if from.is_finite() => from,
                        (_, to) if to.is_finite() => to.next_down(),
                        _ => 0.0,
                    })
                    .collect();
                let of = || StepCurve::of(steps.shap_dependence(feature, &places));
                Some(self.effects.known((Quantity::Shap, feature), of))
            }
            _ => {
                let key = (Quantity::Pd, feature);
                Some(self.effects.known(key, || steps.partial_dependence(feature)))
            }
        }
    }

    /// The effect at points, where it changes between limits too.
    fn between(&self, points: &[f64]) -> Vec<Truth> {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| points[a].total_cmp(&points[b]));
        let sorted: Vec<f64> = order.iter().map(|&i| points[i]).collect();
        let found = match self.effect {
            Quantity::Shap => self.steps.shap_dependence(self.feature, &sorted),
            _ => self.steps.marginal_plot(self.feature, &sorted),
        };
        let mut values = vec![Truth::ZERO; points.len()];
        order.into_iter().zip(found).for_each(|(i, value)| values[i] = value);
        values
    }

    fn at(&self, curve: &StepCurve, x: f64) -> Truth {
        curve.in_cell(self.steps.cells(self.feature).of(x))
    }

    /// The constant that centring subtracts from a curve.
    fn centre(&self, curve: &StepCurve, (lo, hi): (f64, f64), centring: Centring) -> Truth {
        let cells = self.steps.cells(self.feature);
        match centring {
            Centring::None => Truth::ZERO,
            Centring::Start => self.at(curve, lo),
            Centring::Integral => curve.mean((0..cells.count()).map(|cell| {
                let (from, to) = cells.ends(cell);
                (to.min(hi) - from.max(lo)).max(0.0) / (hi - lo)
            })),
            Centring::Data => {
                let table = self.steps.joint.table(self.feature);
                curve.mean((0..cells.count()).map(|cell| table.of_cell(cell)))
            }
        }
    }

    /// ALE at levels, in their own order.
    fn ale_at_levels(&self, points: &[f64], axis: (f64, f64), centring: Centring) -> Vec<Truth> {
        let Some(levels) = self.steps.joint.margin(self.feature).levels() else {
            return Vec::new();
        };
        let ale = self.steps.accumulated_by_levels(self.feature, levels.values());
        let at = |x: f64| levels.position(x).map_or(Truth::ZERO, |place| ale[place]);
        let constant = match centring {
            Centring::Start => at(axis.0),
            Centring::Data => levels
                .iter()
                .zip(&ale)
                .fold(Truth::ZERO, |sum, ((_, p), value)| sum.plus(value.times(p))),
            Centring::None | Centring::Integral => Truth::ZERO,
        };
        points.iter().map(|&x| at(x).minus(constant)).collect()
    }

    fn uncentred(&self, centring: Centring) -> Error {
        let feature = self.effects.scenario.feature_name(self.feature);
        let reason = format!(
            "centred by `{centring}` it is an integral along {feature}, on which other features depend: centre it by \
             none or start, or on the grid"
        );
        Error::JointBoxes { effect: self.effect.name(), reason }
    }
}
