//! Figures of effects beside their truth, with what single instances say.

use fe_core::effect::BinningRecord;
use fe_core::effect::{ConfidenceBand, Limits};
use fe_core::estimator::{Estimand, Estimated, Estimator, InstanceEffects};
use fe_core::model::Rows;
use fe_core::numeric::curve::Shape;
use fe_core::numeric::kde::density;
use fe_core::numeric::partition::Partition;
use fe_core::regional::{Node, ROUNDING, Regional, RegionalEffect, Rule};
use fe_core::settings::BandKind;
use fe_core::{Curve, Dataset, Effect, Model};
use fe_truth::Scenario;

use super::figure::{ERROR, Figure, Layer, Mark, Panel, Scale};
use super::levels;
use super::style::{BLACK, BLUE, GREEN, GREY, MarkStyle, VERMILION};
use super::{effect_on, word};
use crate::error::Result;
use crate::output::readable;
use crate::score::regions::region_of;
use crate::score::{self, truth_of};
use crate::study::field::Field;
use crate::study::key::Column;
use crate::study::labels::{Labels, heterogeneity, usual};

/// Rows that tell how large a function is.
const MOST_ASKED: usize = 200;
/// Points of a curve that is not drawn through its own.
const POINTS: usize = 301;
/// The most instances that are drawn as dots, and as curves.
const MOST_DOTS: usize = 400;
/// The most instances whose distribution is drawn, and the fewest in a bin.
const MOST_COUNTED: usize = 4000;
const FEWEST_COUNTED: usize = 5;
/// Corners of either side of a violin.
const CORNERS: usize = 41;
const MOST_CURVES: usize = 60;

/// Distance of a node of a tree from its parent, as a share of the width; and how many rows
/// a tree has at least.
const INDENT: f64 = 0.08;
const LEAST_ROWS: f64 = 6.0;

pub(super) const ESTIMATE: MarkStyle = MarkStyle::line(BLUE, 2.6);
pub(super) const TRUTH: MarkStyle = MarkStyle::line(BLACK, 1.8).dashed(7, 4);
pub(super) const SPREAD: MarkStyle = MarkStyle::line(BLUE, 1.0).faint(0.16);
const SPREAD_LINE: MarkStyle = MarkStyle::line(BLUE, 2.2);
pub(super) const POINTWISE: MarkStyle = MarkStyle::line(GREEN, 1.0).faint(0.4);
pub(super) const SIMULTANEOUS: MarkStyle = MarkStyle::line(GREEN, 1.0).faint(0.2);
const INSTANCES: MarkStyle = MarkStyle::line(VERMILION, 1.0).faint(0.35);
const CURVES: MarkStyle = MarkStyle::line(GREY, 0.8).faint(0.45);
// Dashes of hundreds of bins would make large files.
const LIMITS: MarkStyle = MarkStyle::line(GREY, 0.6).faint(0.7);
/// Limits of bins that are drawn as lines, with what happens between them; more would hide the panel.
const MOST_LINES: usize = 150;
const VIOLINS: MarkStyle = MarkStyle::line(VERMILION, 0.9).faint(0.25);
const DECILES: MarkStyle = MarkStyle::line(BLACK, 1.4);

/// Of what a confidence band says how uncertain it is.
const OF_MODEL: &str = "bands: effect of this model, not of the true function";

/// The same of a band from refits.
const OF_LEARNER: &str = "bands: expected effect of the learner, not of the true function";

/// The effect that a band of a kind is about, in words.
pub(super) fn target_of(kind: Option<BandKind>) -> &'static str {
    if kind == Some(BandKind::Refit) { OF_LEARNER } else { OF_MODEL }
}

/// Effects of a scenario's function, and why a truth is missing beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pictured {
    /// The figure.
    pub figure: Figure,
    /// Notes on what could not be drawn, and why.
    pub notes: Vec<String>,
}

/// The subject of figures of effects.
pub struct Subject<'a> {
    /// The heading before the estimator and the number of rows.
    pub title: String,
    /// The scenario, if there is one: its truths are drawn beside the effects.
    pub scenario: Option<&'a Scenario>,
    /// The rows that the effects were estimated from.
    pub data: &'a Dataset,
    /// The model that they are effects of.
    pub model: &'a dyn Model,
    /// Names of the outputs; they are numbered where there are none.
    pub outputs: &'a [String],
    /// The mean and the standard deviation of each feature that was scaled by them.
    pub scales: &'a [Option<(f64, f64)>],
}

impl Subject<'_> {
    /// A feature and, where there are several, an output.
    pub(super) fn name(&self, effect: &Effect) -> String {
        match (effect.output, self.outputs) {
            (output, [_, _, ..]) if output < self.outputs.len() => {
                format!("{}, {}", effect.name, self.outputs[output])
            }
            (0, _) => effect.name.clone(),
            (output, _) => format!("{}, output {}", effect.name, output + 1),
        }
    }

    /// The axis of the feature of an effect.
    pub(super) fn feature_axis(&self, effect: &Effect) -> Scale {
        let scaled_by = self.scales.get(effect.feature).copied().flatten();
        Scale { scaled_by, ..Scale::linear(effect.name.as_str()) }
    }

    /// The output as it is called on an axis: the target of a model of one output, else f.
    pub(super) fn output(&self) -> &str {
        match self.outputs {
            [target] => target,
            _ => "f",
        }
    }

    /// The unit in which a derivative is taken, where that is not the feature's own.
    fn per_unit(&self, effect: &Effect) -> &'static str {
        let is_scaled = self.scales.get(effect.feature).copied().flatten().is_some();
        if is_scaled { ", per standard deviation" } else { "" }
    }

    /// The words at the axis of slopes. Features of a file, unless they are scaled, have units of their own, in which slopes
    /// cannot be compared.
    fn slope_axis(&self, effect: &Effect) -> String {
        match (self.scenario, self.per_unit(effect)) {
            (None, "") => format!("local effect (slope by {})", effect.name),
            (_, unit) => format!("local effect (slope{unit})"),
        }
    }

    /// The words at the axis of an effect.
    pub(super) fn effect_axis(&self, effect: &Effect) -> String {
        let (output, centring) = (self.output(), effect.record.centring);
        match centring {
            _ if is_derivative(effect) => {
                format!("derivative of {output} by {}{}", effect.name, self.per_unit(effect))
            }
            centring => effect_on(output, &word(&centring)),
        }
    }

    /// The largest size of f at some rows; 0 where it cannot be asked.
    pub(super) fn size(&self) -> f64 {
        size(self.model, self.data)
    }

    /// The heading of the effects of an estimator, which were estimated from so many rows each.
    pub(super) fn headed(&self, estimator: &str, rows: impl Iterator<Item = usize>) -> String {
        let (used, all) = (rows.max().unwrap_or_default(), self.data.len());
        let of_all = if used < all { format!(" of {all}") } else { String::new() };
        format!("{}: {estimator}, N\u{a0}=\u{a0}{used}{of_all}", self.title)
    }
}

/// The largest size of a function at the first rows of some data; 0 where it cannot be asked.
pub(super) fn size(model: &dyn Model, data: &Dataset) -> f64 {
    let rows = data.len().min(MOST_ASKED);
    let mut values = vec![0.0; rows * model.outputs()];
    let columns = data.columns(0..rows);
    match model.predict(&Rows::new(&columns, rows), &mut values) {
        Ok(()) => values.iter().fold(0.0, |most, value| value.abs().max(most)),
        Err(_) => 0.0,
    }
}

/// True if the curve is of derivatives, and not of values of f.
pub(super) fn is_derivative(effect: &Effect) -> bool {
    effect.record.derivatives.is_some() && effect.bins.is_none()
}

/// A cell per effect: the curve with its truth, its spread, bins and deciles; below it, where there
/// are local effects, these with the bin effects. Every effect comes with its estimator.
///
/// # Errors
/// What the estimators say when they are asked for single instances.
pub fn figure(subject: &Subject<'_>, effects: &[(Effect, Box<dyn Estimator>)]) -> Result<Pictured> {
    let mut notes = Vec::new();
    let mut cells = Vec::with_capacity(effects.len());
    for (effect, estimator) in effects {
        // Rows without a value of the feature say nothing of its effect.
        let rows = subject.data.rows_with(effect.feature)?;
        let known = rows.map(|rows| subject.data.select(&rows));
        let subject = &Subject {
            data: known.as_ref().unwrap_or(subject.data),
            title: String::new(),
            ..*subject
        };
        let instances = Instances::of(subject, effect, &**estimator)?;
        let truth = subject.scenario.map(|known| truth(known, effect, estimator.estimand()));
        let truth = match truth.transpose() {
            Ok(points) => points,
            Err(reason) => {
                notes.push(format!("{}: no truth is drawn: {reason}", effect.name));
                None
            }
        };
        if effect.record.levels.is_some() {
            cells.push(vec![levels::panel(
                (subject.name(effect), subject.output()),
                effect,
                &instances.say,
                truth,
            )]);
            continue;
        }
        let deciles = subject.data.deciles(effect.feature);
        let mut cell = vec![curve_panel(subject, effect, deciles, &instances, truth)];
        cell.extend(error_panel(subject, effect, estimator.estimand()));
        cell.extend(slopes_panel(subject, effect, estimator.estimand(), &instances));
        cells.push(cell);
    }
    let name = effects.first().map_or("", |(effect, _)| usual(effect.estimator));
    let rows = effects.iter().map(|(effect, _)| effect.record.rows);
    let title = subject.headed(name, rows);
    let mut figure = Figure { title, cells, legend_per_cell: false }.of_size(subject.size());
    figure.share_scales();
    Ok(Pictured { figure, notes })
}

/// Each tree with the effect of all rows, then a cell per region under the rules that lead there: the curve with its
/// instances and, of a scenario, the truth in that region; below it the local effects, or the heterogeneity. The
/// regions of a tree have the same axes. Each effect comes with the estimator that made it.
///
/// # Errors
/// What the estimators say when they are asked for single instances.
pub fn regional(subject: &Subject<'_>, effects: &[(RegionalEffect, Regional)]) -> Result<Pictured> {
    let (mut cells, mut notes) = (Vec::new(), Vec::new());
    for (regional, estimator) in effects {
        let mut regions = Vec::new();
        for index in 0..regional.tree.nodes().len() {
            let drawn = region_cell(subject, regional, index, estimator.within())?;
            if let Some((cell, missing)) = drawn {
                regions.push(cell);
                notes.extend(missing);
            }
        }
        hold_alike(&mut regions);
        let mut regions = regions.into_iter();
        let whole = cells.len();
        cells.extend(regions.next());
        if regions.len() > 0 {
            cells.push(vec![tree(subject, regional)]);
        }
        if let Some(first) = cells.get_mut(whole).and_then(|cell| cell.first_mut()) {
            first.opens = true;
        }
        cells.extend(regions);
    }
    let name = effects.first().map_or("", |(effect, _)| usual(effect.estimator));
    let rows = effects.iter().map(|(effect, _)| effect.record.rows);
    let figure = Figure { title: subject.headed(name, rows), cells, legend_per_cell: false };
    Ok(Pictured { figure: figure.of_size(subject.size()), notes })
}

/// The panels of a region, and why the truth there is missing; none without an effect.
fn region_cell(
    subject: &Subject<'_>,
    regional: &RegionalEffect,
    index: usize,
    estimator: &dyn Estimator,
) -> Result<Option<(Vec<Panel>, Option<String>)>> {
    let nodes = regional.tree.nodes();
    let node = &nodes[index];
    let Some((effect, deciles)) = node.effect.as_ref().zip(node.deciles) else { return Ok(None) };
    let in_words = region(regional, index, &short);
    let known = subject.scenario.map(|scenario| {
        let region = region_of(nodes, index);
        scenario.leaf(&region).map_err(|e| e.to_string())
    });
    let mut missing = known.as_ref().and_then(|known| known.as_ref().err()).cloned();
    let known = known.and_then(std::result::Result::ok);
    let there = Subject { title: String::new(), scenario: known.as_ref(), ..*subject };
    let rows: Vec<usize> = (0..subject.data.len())
        .filter(|&row| is_within(nodes, index, |feature| subject.data.feature(feature)[row]))
        .collect();
    let instances = Instances::among(&there, effect, estimator, &rows)?;
    let instances = Instances { of_region: true, ..instances };
    let truth = known.as_ref().map(|known| truth(known, effect, estimator.estimand()));
    let truth = truth.transpose().unwrap_or_else(|reason| {
        missing = Some(reason);
        None
    });
    let split = if regional.tree.children(index).next().is_some() { ", split further" } else { "" };
    let title = format!("{}: {in_words} ({} instances{split})", subject.name(effect), node.rows);
    let cell = match effect.record.levels {
        Some(_) => vec![levels::panel((title, subject.output()), effect, &instances.say, truth)],
        None => {
            let second = slopes_panel(&there, effect, estimator.estimand(), &instances);
            let spread = || heterogeneity_panel(&there, effect, estimator.estimand());
            let curve = curve_panel(&there, effect, deciles, &instances, truth);
            vec![Panel { title, ..curve }, second.unwrap_or_else(spread)]
        }
    };
    let note = |reason| format!("{}, {in_words}: no truth is drawn: {reason}", effect.name);
    Ok(Some((cell, missing.map(note))))
}

/// True if a row, given by its features, belongs to a node of a tree.
fn is_within(nodes: &[Node], index: usize, value: impl Fn(usize) -> f64) -> bool {
    let mut at = Some(index);
    while let Some(node) = at.and_then(|at| nodes.get(at)) {
        if node.rule.as_ref().is_some_and(|rule| !rule.kind.holds(value(rule.feature))) {
            return false;
        }
        at = node.parent;
    }
    true
}

/// Gives the panels of the same place in some cells the same axes.
fn hold_alike(cells: &mut [Vec<Panel>]) {
    let most = cells.iter().map(Vec::len).max().unwrap_or_default();
    for place in 0..most {
        let all = cells.iter().filter_map(|cell| cell.get(place));
        let hold = corners(all.flat_map(Panel::extent));
        cells.iter_mut().filter_map(|cell| cell.get_mut(place)).for_each(|panel| {
            panel.hold.clone_from(&hold);
        });
    }
}

/// The standard deviation of the local effects along the feature, with its truth.
fn heterogeneity_panel(subject: &Subject<'_>, effect: &Effect, estimand: Estimand) -> Panel {
    let root = |value: f64| value.max(0.0).sqrt();
    let x = places(&effect.heterogeneity);
    let at = |x: f64| (x, effect.heterogeneity.at(x).map_or(f64::NAN, root));
    let own = Mark::Line(x.iter().map(|&x| at(x)).collect());
    let mut layers = vec![Layer::named("σ (estimate)", SPREAD_LINE, own)];
    let known = subject.scenario.map(|scenario| {
        let x = effect.record.axis.grid(POINTS);
        let truths = score::true_heterogeneity(scenario, estimand, effect, &x)?;
        Ok::<_, String>(x.into_iter().zip(truths.iter().map(|truth| root(truth.value))).collect())
    });
    if let Some(Ok(points)) = known {
        layers.push(Layer::named("true σ", TRUTH, Mark::Line(points)));
    }
    let label = if is_derivative(effect) { "σ of the derivatives" } else { "σ of the instances" };
    Panel { x: subject.feature_axis(effect), y: Scale::linear(label), layers, ..Panel::default() }
}

/// The least and the largest of either coordinate, without those that are missing.
pub(super) fn corners(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let none = (f64::NAN, f64::NAN);
    let (low, high) = points.fold((none, none), |(low, high), (x, y)| {
        ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)))
    });
    vec![low, high]
}

/// The regions of a tree as lines of text.
fn tree(subject: &Subject<'_>, regional: &RegionalEffect) -> Panel {
    let nodes = regional.tree.nodes();
    let heterogeneities = nodes.iter().filter_map(|node| node.heterogeneity);
    let largest = heterogeneities.fold(0.0_f64, |most, one| most.max(one));
    let line = |node: &Node| {
        let rule = node.rule.as_ref().map_or("all data".to_owned(), short);
        let value = beside(node.heterogeneity, largest);
        let words = format!("{rule}: {} instances, H = {value}", node.rows);
        Outlined { parent: node.parent, depth: node.depth, words }
    };
    let lines: Vec<Outlined> = nodes.iter().map(line).collect();
    let first = nodes.iter().find_map(|node| node.effect.as_ref());
    let name = first.map(|effect| subject.name(effect)).unwrap_or_default();
    let meaning = heterogeneity(regional.heterogeneity);
    let title = format!("{name}: regions and their heterogeneity H ({meaning})");
    outline(title, &lines)
}

/// A heterogeneity among others of a tree, of which what is rounding is 0; a dash where there is none.
pub(crate) fn beside(heterogeneity: Option<f64>, largest: f64) -> String {
    match heterogeneity.filter(|one| one.is_finite()) {
        None => "–".to_owned(),
        Some(one) if one <= ROUNDING * largest => "0".to_owned(),
        Some(one) => rounded(one),
    }
}

/// A node of an outline: its parent's place, how far it is to the right, and its words.
pub(super) struct Outlined {
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    pub(super) words: String,
}

/// A line of text per node, below its parent and further to the right.
pub(super) fn outline(title: String, nodes: &[Outlined]) -> Panel {
    let (mut words, mut branches) = (Vec::new(), Vec::new());
    let mut rows = vec![0.0; nodes.len()];
    for (row, &index) in in_depth(nodes).iter().enumerate() {
        let node = &nodes[index];
        let (x, y) = (INDENT * node.depth as f64, -(row as f64));
        rows[index] = y;
        if let Some(parent) = node.parent {
            let stem = x - 0.7 * INDENT;
            branches.extend([(stem, rows[parent] - 0.4), (stem, y), (x - 0.01, y)]);
            branches.push((f64::NAN, f64::NAN));
        }
        words.push((x, y, node.words.clone()));
    }
    Panel {
        title,
        layers: vec![
            Layer { name: None, look: MarkStyle::line(GREY, 1.2), mark: Mark::Line(branches) },
            Layer { name: None, look: MarkStyle::line(BLACK, 1.0), mark: Mark::Words(words) },
        ],
        // Room to the right of the words, and below few of them.
        hold: vec![(1.0, 0.0), (0.0, -LEAST_ROWS)],
        bare: true,
        ..Panel::default()
    }
}

/// The places of nodes, each before its children and these before its next sibling.
fn in_depth(nodes: &[Outlined]) -> Vec<usize> {
    let roots = (0..nodes.len()).filter(|&node| nodes[node].parent.is_none());
    let (mut order, mut open): (_, Vec<usize>) = (Vec::new(), roots.take(1).collect());
    while let Some(node) = open.pop() {
        order.push(node);
        open.extend((0..nodes.len()).rev().filter(|&other| nodes[other].parent == Some(node)));
    }
    order
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
    let sign = match rule.kind.sign() {
        "<=" => "≤",
        "!=" => "≠",
        "in" => "∈",
        "not in" => "∉",
        other => other,
    };
    let value = rule.level.clone().unwrap_or_else(|| rule.kind.listed(rounded));
    format!("{} {sign} {value}", rule.name)
}

/// A number with four significant digits.
pub(super) fn rounded(value: f64) -> String {
    readable(format!("{value:.3e}").parse().unwrap_or(value)).replace('-', "−")
}

/// A scenario and its parameters.
#[must_use]
pub fn title_of(scenario: &Scenario) -> String {
    let labels = Labels::default().for_figures();
    let parameters = Field::Column(Column::Parameters).heading(&scenario.parameters(), &labels);
    let parameters = if parameters.is_empty() { parameters } else { format!(" ({parameters})") };
    format!("{}{parameters}", labels.of_scenario(&scenario.id()))
}

/// Values of some instances, where they are, and how much they weigh.
struct Instances {
    x: Vec<f64>,
    weights: Vec<f64>,
    say: InstanceEffects,
    /// Of how many they are.
    of: usize,
    /// True if they are of one region of several, whose legends shall agree.
    of_region: bool,
}

impl Instances {
    /// Of all rows.
    fn of(subject: &Subject<'_>, effect: &Effect, estimator: &dyn Estimator) -> Result<Self> {
        let all: Vec<usize> = (0..subject.data.len()).collect();
        Self::among(subject, effect, estimator, &all)
    }

    /// Evenly spaced ones of some rows: no more than a figure can show, and the same ones each time.
    fn among(
        subject: &Subject<'_>,
        effect: &Effect,
        estimator: &dyn Estimator,
        among: &[usize],
    ) -> Result<Self> {
        let data = subject.data;
        let curves = matches!(
            estimator.estimand(),
            Estimand::PartialDependence | Estimand::DerivativePartialDependence
        );
        let most = if curves { MOST_CURVES } else { MOST_COUNTED };
        let rows: Vec<usize> =
            spread_out(among.len(), most).into_iter().map(|place| among[place]).collect();
        let say = estimator.instances(Estimated { data, model: subject.model, effect }, &rows)?;
        let x = rows.iter().map(|&row| data.feature(effect.feature)[row]).collect();
        let weights =
            rows.iter().map(|&row| data.weights().map_or(1.0, |weights| weights[row])).collect();
        Ok(Self { x, weights, say, of: among.len(), of_region: false })
    }

    /// So many of them, in words, where they are not all.
    fn share(&self, drawn: usize) -> String {
        if self.of_region {
            let curves = matches!(self.say, InstanceEffects::Curves { .. });
            return format!(", at most {}", if curves { MOST_CURVES } else { MOST_DOTS });
        }
        if drawn < self.of { format!(", {drawn} of {}", self.of) } else { String::new() }
    }

    /// A dot for each of the values, or some of them where there are too many.
    fn dots(&self, what: &str, values: &[f64]) -> Layer {
        let shown = spread_out(values.len(), MOST_DOTS);
        let name = format!("{what}{}", self.share(shown.len()));
        let dots = shown.into_iter().map(|i| (self.x[i], values[i])).collect();
        Layer::named(name, INSTANCES, Mark::Cloud(dots))
    }
}

/// At most so many of the numbers below `all`, evenly spaced.
fn spread_out(all: usize, most: usize) -> Vec<usize> {
    let some = all.min(most);
    (0..some).map(|i| i * all / some).collect()
}

fn curve_panel(
    subject: &Subject<'_>,
    effect: &Effect,
    deciles: [f64; 11],
    instances: &Instances,
    truth: Option<Vec<(f64, f64)>>,
) -> Panel {
    let mut layers = Vec::new();
    match &instances.say {
        InstanceEffects::Curves { x, y } => {
            let centred = effect.record.centring != fe_core::Centring::None;
            let kind = if centred { "c-ICE" } else { "ICE" };
            let kind = if effect.record.derivatives.is_some() { "d-ICE" } else { kind };
            let name = format!("{kind} curves{}", instances.share(y.len()));
            layers.extend(y.iter().map(|y| {
                let line = x.iter().copied().zip(y.iter().copied()).collect();
                Layer::named(name.clone(), CURVES, Mark::Line(line))
            }));
        }
        InstanceEffects::Contributions(values) => {
            // They move with the curve when it is centred.
            let constant = effect.record.centring_constant;
            let values: Vec<f64> = values.iter().map(|value| value - constant).collect();
            layers.push(instances.dots("Shapley values", &values));
        }
        InstanceEffects::Slopes(_) | InstanceEffects::Unknown => {}
    }
    match &effect.confidence {
        // Two kinds of bands in one panel would be taken for each other.
        Some(band) => layers.extend(confidence(band)),
        None => layers.push(spread(effect)),
    }
    if let Some(bins) = &effect.bins {
        layers.push(limits_of_bins(bins.partition.limits().to_vec()));
    }
    layers.push(Layer::named("deciles", DECILES, Mark::Rug(deciles.to_vec())));
    let name = format!("{} (estimate)", usual(effect.estimator));
    layers.push(Layer::named(name, ESTIMATE, Mark::Line(points(&effect.curve))));
    if let Some(points) = truth {
        layers.push(Layer::named("truth", TRUTH, Mark::Line(points)));
    }
    let label = subject.effect_axis(effect);
    let caution = effect.record.binning.as_ref().and_then(BinningRecord::caution);
    let of_band = effect.confidence.as_ref().and_then(|band| band.caution());
    let title = match (&effect.confidence, &of_band) {
        (Some(band), None) => format!("{} ({})", subject.name(effect), target_of(band.record.kind)),
        _ => subject.name(effect),
    };
    let cautions = caution.iter().chain(&of_band);
    let title = cautions.fold(title, |title, caution| format!("{title}: {caution}"));
    Panel {
        title,
        x: subject.feature_axis(effect),
        y: Scale::linear(label),
        layers,
        ..Panel::default()
    }
}

/// A confidence band.
fn confidence(band: &ConfidenceBand) -> Vec<Layer> {
    confidence_of(band, &|limits| {
        let ends = limits.lower.y().iter().zip(limits.upper.y());
        limits.lower.x().iter().zip(ends).map(|(&x, (&lower, &upper))| (x, lower, upper)).collect()
    })
}

/// A confidence band less the truth at some points.
pub(super) fn confidence_less(band: &ConfidenceBand, x: &[f64], truth: &[f64]) -> Vec<Layer> {
    confidence_of(band, &|limits| {
        let less = |limit: &Curve, (x, truth): (&f64, &f64)| Some(limit.at(*x).ok()? - truth);
        let points = x.iter().zip(truth);
        let area = points
            .filter_map(|at| Some((*at.0, less(&limits.lower, at)?, less(&limits.upper, at)?)));
        area.collect()
    })
}

/// The area between two curves: places, lower and upper values.
type Area = Vec<(f64, f64, f64)>;

/// The limits of a confidence band as layers, the wider ones first.
fn confidence_of(band: &ConfidenceBand, area: &dyn Fn(&Limits) -> Area) -> Vec<Layer> {
    let percent = readable(100.0 * band.record.level);
    let kind = match band.record.kind {
        Some(BandKind::Analytic) => "analytic",
        Some(BandKind::Bootstrap) => "bootstrap",
        Some(BandKind::Bins) => "each bin alone",
        Some(BandKind::Refit) => "refits",
        None => "given",
    };
    let layer = |limits: &Limits, reach: &str, look: MarkStyle| {
        let name = format!("{percent} % confidence, {reach} ({kind})");
        Layer::named(name, look, Mark::Band(area(limits)))
    };
    let simultaneous = band.simultaneous.as_ref();
    let simultaneous = simultaneous.map(|limits| layer(limits, "whole curve", SIMULTANEOUS));
    let pointwise = layer(&band.pointwise, "pointwise", POINTWISE);
    simultaneous.into_iter().chain([pointwise]).collect()
}

/// The error of an estimate, with its band less the truth: whether that holds the truth is seen on no other scale. None
/// without both, and of levels, where bars are far enough from each other.
fn error_panel(subject: &Subject<'_>, effect: &Effect, estimand: Estimand) -> Option<Panel> {
    let (scenario, band) = (subject.scenario?, effect.confidence.as_ref()?);
    let x = places(&effect.curve);
    let truths = score::true_effect(scenario, estimand, effect, &x).ok()?;
    let truth: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
    let values = effect.curve.at_all(&x).ok()?;
    let errors = x.iter().zip(values).zip(&truth).map(|((&x, y), truth)| (x, y - truth));
    let estimate = Mark::Line(errors.collect());
    let bands = confidence_less(band, &x, &truth);
    Some(errors_about_zero(subject.feature_axis(effect), &x, bands, estimate))
}

/// A panel of an error about zero, with bands behind it.
pub(super) fn errors_about_zero(
    axis: Scale,
    x: &[f64],
    bands: Vec<Layer>,
    estimate: Mark,
) -> Panel {
    let ends = x.first().into_iter().chain(x.last()).map(|&x| (x, 0.0)).collect();
    let mut layers = bands;
    layers.push(Layer { name: None, look: TRUTH, mark: Mark::Line(ends) });
    layers.push(Layer { name: None, look: ESTIMATE, mark: estimate });
    Panel { x: axis, y: Scale::linear(ERROR), layers, ..Panel::default() }
}

/// Distance of instances from the curve: eq. 16 of RHALE for accumulated effects, and the root of the
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
    subject: &Subject<'_>,
    effect: &Effect,
    estimand: Estimand,
    instances: &Instances,
) -> Option<Panel> {
    let bins = effect.bins.as_ref()?;
    let InstanceEffects::Slopes(values) = &instances.say else { return None };
    let limits = bins.partition.limits();
    let (mut steps, mut band) = (Vec::new(), Vec::new());
    // Where neighbouring bins share a spread, that is the heterogeneity.
    let is_shared = effect.record.binning.as_ref().is_some_and(|binning| binning.spreads.is_some());
    let heterogeneity = effect.heterogeneity.y();
    for (k, ends) in limits.windows(2).enumerate() {
        let mean = bins.effect[k];
        let variance = if is_shared { heterogeneity.get(k).copied() } else { bins.variance[k] };
        let sd = variance.map_or(f64::NAN, f64::sqrt);
        for &z in ends {
            steps.push((z, mean));
            band.push((z, mean - sd, mean + sd));
        }
        steps.push((f64::NAN, f64::NAN));
        band.push((f64::NAN, f64::NAN, f64::NAN));
    }
    let mut layers = vec![Layer::named("bin effects ± σ", SPREAD.faint(0.28), Mark::Band(band))];
    if bins.partition.bins() < MOST_LINES {
        layers.extend(violins(&bins.partition, instances, values));
    }
    layers.push(instances.dots("local effects", values));
    layers.push(Layer::named("bin effects ± σ", ESTIMATE, Mark::Line(steps)));
    if let Some(scenario) = subject.scenario {
        layers.extend(true_slopes(scenario, effect, estimand, limits));
    }
    Some(Panel {
        title: String::new(),
        x: subject.feature_axis(effect),
        y: Scale::linear(subject.slope_axis(effect)),
        layers,
        ..Panel::default()
    })
}

/// The distribution of the local effects in each bin, mirrored about its middle; each fills its bin
/// where it is densest. Bins of few instances, or of equal effects, have none.
fn violins(partition: &Partition, instances: &Instances, values: &[f64]) -> Option<Layer> {
    let mut by_bin: Vec<Vec<(f64, f64)>> = vec![Vec::new(); partition.bins()];
    for ((&x, &weight), &value) in instances.x.iter().zip(&instances.weights).zip(values) {
        if let (Some(bin), true) = (partition.locate(x), value.is_finite() && weight > 0.0) {
            by_bin[bin].push((value, weight));
        }
    }
    let violin = |(inside, ends): (&Vec<(f64, f64)>, &[f64])| {
        let enough = inside.len() >= FEWEST_COUNTED;
        let outline = density(inside.iter().copied().filter(|_| enough), CORNERS)?;
        let highest = outline.iter().fold(0.0_f64, |most, (_, height)| most.max(*height));
        let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.45 * (ends[1] - ends[0]) / highest);
        let right = outline.iter().map(|&(y, height)| (middle + half * height, y));
        let left = outline.iter().rev().map(|&(y, height)| (middle - half * height, y));
        Some(right.chain(left).collect::<Vec<_>>())
    };
    let violins: Vec<Vec<(f64, f64)>> =
        by_bin.iter().zip(partition.limits().windows(2)).filter_map(violin).collect();
    let name = "distribution of local effects";
    (!violins.is_empty()).then(|| Layer::named(name, VIOLINS, Mark::Areas(violins)))
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
        let truth = curve(fe_truth::Quantity::Mu, &x)?;
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

/// The points of the truth that the estimate is compared with, centred like the estimate.
pub(super) fn truth(
    scenario: &Scenario,
    effect: &Effect,
    estimand: Estimand,
) -> std::result::Result<Vec<(f64, f64)>, String> {
    let x = match &effect.record.levels {
        Some(_) => effect.curve.x().to_vec(),
        None => effect.record.axis.grid(POINTS),
    };
    let truths = score::true_effect(scenario, estimand, effect, &x)?;
    Ok(x.into_iter().zip(truths.iter().map(|truth| truth.value)).collect())
}

/// The corners of a curve, and equidistant places between.
pub(super) fn places(curve: &Curve) -> Vec<f64> {
    let (lo, hi) = curve.range();
    let between = (0..POINTS).map(|i| lo + (hi - lo) * i as f64 / (POINTS - 1) as f64);
    let mut x: Vec<f64> = between.chain(curve.x().iter().copied()).collect();
    x.retain(|x| (lo..=hi).contains(x));
    x.sort_unstable_by(f64::total_cmp);
    x.dedup();
    x
}

/// Limits of bins: lines, or strokes at the axis where there are very many.
pub(super) fn limits_of_bins(limits: Vec<f64>) -> Layer {
    let mark = if limits.len() > MOST_LINES { Mark::Rug(limits) } else { Mark::Verticals(limits) };
    Layer::named("limits of bins", LIMITS, mark)
}

pub(super) fn points(curve: &Curve) -> Vec<(f64, f64)> {
    match curve.shape() {
        Shape::Linear | Shape::Levels => {
            curve.x().iter().copied().zip(curve.y().iter().copied()).collect()
        }
        Shape::Step(_) => {
            let stretch = |(x, &y): (&[f64], &f64)| [(x[0], y), (x[1], y)];
            curve.x().windows(2).zip(curve.y()).flat_map(stretch).collect()
        }
    }
}
