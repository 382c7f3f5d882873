//! Figures of effects beside their truth, with what single instances say.

use fe_core::confidence::{BandKind, ConfidenceBand, Limits};
use fe_core::curve::Shape;
use fe_core::estimator::{Estimand, Estimator, InstanceEffects};
use fe_core::regional::{RegionalEffect, Rule, RuleKind};
use fe_core::{Curve, Dataset, Effect};
use fe_truth::Scenario;

use super::figure::{Figure, Layer, Mark, Panel, Scale};
use super::look::{BLACK, BLUE, GREEN, GREY, Look, VERMILION};
use crate::error::Result;
use crate::score::{truth_centring, truth_of};
use crate::sheet::readable;

/// Points of a curve that is not drawn through its own.
const POINTS: usize = 301;
/// The most instances that are drawn as dots, and as curves.
const MOST_DOTS: usize = 400;
const MOST_CURVES: usize = 60;

const ESTIMATE: Look = Look::line(BLUE, 2.6);
const TRUTH: Look = Look::line(BLACK, 1.8).dashed(7, 4);
const SPREAD: Look = Look::line(BLUE, 1.0).faint(0.16);
const POINTWISE: Look = Look::line(GREEN, 1.0).faint(0.4);
const SIMULTANEOUS: Look = Look::line(GREEN, 1.0).faint(0.2);
const INSTANCES: Look = Look::line(VERMILION, 1.0).faint(0.35);
const CURVES: Look = Look::line(GREY, 0.8).faint(0.45);
const LIMITS: Look = Look::line(GREY, 0.7).dashed(2, 3);
const DECILES: Look = Look::line(BLACK, 1.4);

/// Effects of a scenario's function, and why a truth is missing beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pictured {
    /// The figure.
    pub figure: Figure,
    /// What could not be drawn, and why.
    pub notes: Vec<String>,
}

/// A cell per effect: the curve with its truth, its spread, bins and deciles; below it, where there
/// are local effects, these with the bin effects. Every effect comes with its estimator.
///
/// # Errors
/// What the estimators say when they are asked for single instances.
pub fn figure(
    scenario: &Scenario,
    data: &Dataset,
    effects: &[(Effect, Box<dyn Estimator>)],
) -> Result<Pictured> {
    let mut notes = Vec::new();
    let mut cells = Vec::with_capacity(effects.len());
    for (effect, estimator) in effects {
        let instances = Instances::of(scenario, data, effect, &**estimator)?;
        let truth = match truth(scenario, effect, estimator.estimand()) {
            Ok(points) => Some(points),
            Err(reason) => {
                notes.push(format!("{}: no truth is drawn: {reason}", effect.name));
                None
            }
        };
        let mut cell = vec![curve_panel(effect, &instances, truth)];
        cell.extend(slopes_panel(scenario, effect, estimator.estimand(), &instances));
        cells.push(cell);
    }
    let names: Vec<&str> =
        effects.first().map(|(effect, _)| effect.estimator).into_iter().collect();
    let title = title(scenario, &names.join(", "), data.len());
    Ok(Pictured { figure: Figure { title, cells, legend_per_cell: false }, notes })
}

/// A cell per leaf of each tree, under the rules that lead there.
#[must_use]
pub fn regional(scenario: &Scenario, data: &Dataset, effects: &[RegionalEffect]) -> Figure {
    let mut cells = Vec::new();
    for regional in effects {
        for (index, node) in regional.tree.nodes().iter().enumerate() {
            let Some(effect) = &node.effect else { continue };
            let mut panel = curve_panel(effect, &Instances::NONE, None);
            let region = region(regional, index, &short);
            panel.title = format!("{}: {region} ({} instances)", feature(effect), node.rows);
            cells.push(vec![panel]);
        }
    }
    let name = effects.first().map_or("", |effect| effect.estimator);
    Figure { title: title(scenario, name, data.len()), cells, legend_per_cell: false }
}

/// All rules from the whole data down to a node.
#[must_use]
pub fn region(effect: &RegionalEffect, index: usize, write: &dyn Fn(&Rule) -> String) -> String {
    let mut rules = Vec::new();
    let mut at = Some(index);
    while let Some(index) = at {
        let node = &effect.tree.nodes()[index];
        rules.extend(node.rule.as_ref().map(write));
        at = node.parent;
    }
    rules.reverse();
    if rules.is_empty() { "all data".to_owned() } else { rules.join(" and ") }
}

/// A rule with a number that is short enough for a title.
fn short(rule: &Rule) -> String {
    let (sign, value) = match rule.kind {
        RuleKind::AtMost(value) => ("≤", value),
        RuleKind::Above(value) => (">", value),
        RuleKind::Is(value) => ("=", value),
        RuleKind::IsNot(value) => ("≠", value),
    };
    format!("{} {sign} {}", rule.name, readable(value).replace('-', "−"))
}

fn title(scenario: &Scenario, estimator: &str, rows: usize) -> String {
    let parameters = scenario.parameters().replace(';', ", ");
    let parameters = if parameters.is_empty() { parameters } else { format!(" ({parameters})") };
    format!("{}{parameters}: {estimator}, N = {rows}", scenario.id())
}

/// What some instances say, and where they are.
struct Instances {
    x: Vec<f64>,
    say: InstanceEffects,
    /// Of how many, where not all are drawn.
    share: String,
}

impl Instances {
    const NONE: Self = Self { x: Vec::new(), say: InstanceEffects::Unknown, share: String::new() };

    /// Evenly spaced rows: no more than a figure can show, and the same ones each time.
    fn of(
        scenario: &Scenario,
        data: &Dataset,
        effect: &Effect,
        estimator: &dyn Estimator,
    ) -> Result<Self> {
        let curves = matches!(
            estimator.estimand(),
            Estimand::PartialDependence | Estimand::DerivativePartialDependence
        );
        let most = if curves { MOST_CURVES } else { MOST_DOTS };
        let drawn = data.len().min(most);
        let rows: Vec<usize> = (0..drawn).map(|i| i * data.len() / drawn).collect();
        let say = estimator.instances(data, scenario.model(), effect, &rows)?;
        let x = rows.iter().map(|&row| data.feature(effect.feature)[row]).collect();
        let share =
            if drawn < data.len() { format!(", {drawn} of {}", data.len()) } else { String::new() };
        Ok(Self { x, say, share })
    }

    fn dots(&self, values: &[f64]) -> Mark {
        Mark::Cloud(self.x.iter().copied().zip(values.iter().copied()).collect())
    }
}

fn curve_panel(effect: &Effect, instances: &Instances, truth: Option<Vec<(f64, f64)>>) -> Panel {
    let mut layers = Vec::new();
    match &instances.say {
        InstanceEffects::Curves { x, y } => {
            let centred = effect.record.centring != fe_core::Centring::None;
            let kind = if centred { "c-ICE" } else { "ICE" };
            let kind = if effect.record.derivatives.is_some() { "d-ICE" } else { kind };
            let name = format!("{kind} curves{}", instances.share);
            layers.extend(y.iter().map(|y| {
                let line = x.iter().copied().zip(y.iter().copied()).collect();
                Layer::named(name.clone(), CURVES, Mark::Line(line))
            }));
        }
        InstanceEffects::Contributions(values) => {
            let name = format!("Shapley values{}", instances.share);
            // They move with the curve when it is centred.
            let constant = effect.record.centring_constant;
            let values: Vec<f64> = values.iter().map(|value| value - constant).collect();
            layers.push(Layer::named(name, INSTANCES, instances.dots(&values)));
        }
        InstanceEffects::Slopes(_) | InstanceEffects::Unknown => {}
    }
    match &effect.confidence {
        // Two kinds of bands in one panel would be taken for each other.
        Some(band) => layers.extend(confidence(band)),
        None => layers.push(spread(effect)),
    }
    if let Some(bins) = &effect.bins {
        let limits = Mark::Verticals(bins.partition.limits().to_vec());
        layers.push(Layer::named("limits of bins", LIMITS, limits));
    }
    layers.push(Layer::named("deciles", DECILES, Mark::Rug(effect.deciles.to_vec())));
    let name = format!("{} (estimate)", effect.estimator);
    layers.push(Layer::named(name, ESTIMATE, Mark::Line(points(&effect.curve))));
    if let Some(points) = truth {
        layers.push(Layer::named("truth", TRUTH, Mark::Line(points)));
    }
    let centring = effect.record.centring;
    let label = match (&effect.record.derivatives, &effect.bins) {
        (Some(_), None) => format!("derivative of f by {}", feature(effect)),
        _ if centring == fe_core::Centring::None => "effect on f".to_owned(),
        _ => format!("effect on f, centred ({})", word(&centring)),
    };
    Panel {
        title: feature(effect),
        x: Scale::linear(feature(effect)),
        y: Scale::linear(label),
        layers,
    }
}

/// A confidence band; its name says of what the curve is uncertain.
fn confidence(band: &ConfidenceBand) -> Vec<Layer> {
    let percent = readable(100.0 * band.record.level);
    let kind = match band.record.kind {
        BandKind::Analytic => "analytic",
        BandKind::Bootstrap => "bootstrap",
        BandKind::Bins => "each bin alone",
    };
    let layer = |limits: &Limits, reach: &str, look: Look| {
        let name = format!(
            "{percent} % confidence, {reach} ({kind}): effect of this model, not of the true function"
        );
        let ends = limits.lower.y().iter().zip(limits.upper.y());
        let area =
            limits.lower.x().iter().zip(ends).map(|(&x, (&lower, &upper))| (x, lower, upper));
        Layer::named(name, look, Mark::Band(area.collect()))
    };
    let simultaneous = band.simultaneous.as_ref();
    let simultaneous = simultaneous.map(|limits| layer(limits, "whole curve", SIMULTANEOUS));
    let pointwise = layer(&band.pointwise, "pointwise", POINTWISE);
    simultaneous.into_iter().chain([pointwise]).collect()
}

/// How far instances lie from the curve: eq. 16 of RHALE for accumulated effects, and the root of the
/// heterogeneity curve for others.
fn spread(effect: &Effect) -> Layer {
    let x = places(&effect.curve);
    let half = |x: f64| match &effect.bands {
        Some(bands) => bands.std_at(x),
        None => effect.heterogeneity.at(x).map(f64::sqrt),
    };
    let ends = |x: f64| {
        let (y, half) = (effect.curve.at(x).unwrap_or(f64::NAN), half(x).unwrap_or(f64::NAN));
        (x, y - half, y + half)
    };
    let name = match (&effect.bands, &effect.bins) {
        (Some(_), _) => "± STD (RHALE eq. 16)",
        (None, Some(_)) => "± STD",
        (None, None) => "± σ of the instances",
    };
    Layer::named(name, SPREAD, Mark::Band(x.into_iter().map(ends).collect()))
}

/// The local effects over their bins, with means and standard deviations.
fn slopes_panel(
    scenario: &Scenario,
    effect: &Effect,
    estimand: Estimand,
    instances: &Instances,
) -> Option<Panel> {
    let bins = effect.bins.as_ref()?;
    let InstanceEffects::Slopes(values) = &instances.say else { return None };
    let limits = bins.partition.limits();
    let name = format!("local effects{}", instances.share);
    let mut layers = vec![Layer::named(name, INSTANCES, instances.dots(values))];
    let (mut steps, mut band) = (Vec::new(), Vec::new());
    for (k, ends) in limits.windows(2).enumerate() {
        let mean = bins.effect[k];
        let sd = bins.variance[k].map_or(f64::NAN, f64::sqrt);
        for &z in ends {
            steps.push((z, mean));
            band.push((z, mean - sd, mean + sd));
        }
        steps.push((f64::NAN, f64::NAN));
        band.push((f64::NAN, f64::NAN, f64::NAN));
    }
    layers.push(Layer::named("bin effects ± σ", SPREAD.faint(0.28), Mark::Band(band)));
    layers.push(Layer::named("bin effects ± σ", ESTIMATE, Mark::Line(steps)));
    layers.extend(true_slopes(scenario, effect, estimand, limits));
    Some(Panel {
        title: String::new(),
        x: Scale::linear(feature(effect)),
        y: Scale::linear("local effect (slope)"),
        layers,
    })
}

/// The mean of the derivative at each place; of `ale`, whose bins contain jumps, the slope between
/// the limits.
fn true_slopes(
    scenario: &Scenario,
    effect: &Effect,
    estimand: Estimand,
    limits: &[f64],
) -> Option<Layer> {
    let axis = (effect.record.axis.lo(), effect.record.axis.hi());
    let curve = |effect_kind, x: &[f64]| {
        scenario.curve(effect_kind, effect.feature, x, axis, fe_truth::Centring::None).ok()
    };
    if estimand == Estimand::AccumulatedDerivatives {
        let x = places(&effect.curve);
        let truth = curve(fe_truth::Effect::Mu, &x)?;
        let points = x.into_iter().zip(truth.iter().map(|truth| truth.value)).collect();
        return Some(Layer::named("true mean local effect", TRUTH, Mark::Line(points)));
    }
    let truth = curve(truth_of(estimand), limits)?;
    let mut points = Vec::new();
    for (z, truth) in limits.windows(2).zip(truth.windows(2)) {
        let slope = (truth[1].value - truth[0].value) / (z[1] - z[0]);
        points.extend([(z[0], slope), (z[1], slope), (f64::NAN, f64::NAN)]);
    }
    Some(Layer::named("true bin effects", TRUTH, Mark::Line(points)))
}

/// The truth that the estimate is compared with, centred like the estimate.
fn truth(
    scenario: &Scenario,
    effect: &Effect,
    estimand: Estimand,
) -> std::result::Result<Vec<(f64, f64)>, String> {
    let axis = effect.record.axis;
    let x = axis.grid(POINTS);
    let centring = truth_centring(effect.record.centring)?;
    let curve = scenario
        .curve(truth_of(estimand), effect.feature, &x, (axis.lo(), axis.hi()), centring)
        .map_err(|e| e.to_string())?;
    Ok(x.into_iter().zip(curve.iter().map(|truth| truth.value)).collect())
}

/// The corners of a curve, and equidistant places between.
fn places(curve: &Curve) -> Vec<f64> {
    let (lo, hi) = curve.range();
    let between = (0..POINTS).map(|i| lo + (hi - lo) * i as f64 / (POINTS - 1) as f64);
    let mut x: Vec<f64> = between.chain(curve.x().iter().copied()).collect();
    x.retain(|x| (lo..=hi).contains(x));
    x.sort_unstable_by(f64::total_cmp);
    x.dedup();
    x
}

fn points(curve: &Curve) -> Vec<(f64, f64)> {
    match curve.shape() {
        Shape::Linear => curve.x().iter().copied().zip(curve.y().iter().copied()).collect(),
        Shape::Step(_) => {
            let stretch = |(x, &y): (&[f64], &f64)| [(x[0], y), (x[1], y)];
            curve.x().windows(2).zip(curve.y()).flat_map(stretch).collect()
        }
    }
}

fn feature(effect: &Effect) -> String {
    match effect.output {
        0 => effect.name.clone(),
        output => format!("{}, output {}", effect.name, output + 1),
    }
}

/// A word of the core, as it stands in files.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
