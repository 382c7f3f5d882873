//! Recorded trees of effector's regional effects. Its rules for splitting are here; the scores of nodes
//! come from the estimators, which are asked about the rows of a node on the axis of all rows.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use fe_core::effect::Instances;
use fe_core::effect::heterogeneity::effector_score;
use fe_core::numeric::interpolation::interpolate_missing;
use fe_core::numeric::moments::Moments;
use fe_core::numeric::partition::Closed;
use fe_core::{AxisChoice, Curve, Dataset, Effect, Settings, estimator, preset};
use ndarray::Array2;
use serde_json::Value;

use super::compare::{Comparison, close, predictions, range, size, standard_deviation};
use super::defects::Costs;
use super::record::Case;
use super::shapley;

/// Largest difference of scores, relative to them.
const TOLERANCE: f64 = 1e-9;
/// What rounding may make of a score of nothing, relative to the size of the output.
const ROUNDING: f64 = 1e-13;
/// The score of a node with too few rows, or none that can be computed.
const NO_SCORE: f64 = 1e8;
/// No node that scores less is split.
const SMALL: f64 = 0.03;
/// Most levels of splits.
const DEPTH: usize = 2;
/// Least number of rows in a node.
const LEAF: usize = 10;

/// Cells that the bins of Shapley values are made of.
const CELLS: usize = 20;
/// The background of the Shapley values.
const BACKGROUND: &str = "background = 100 rows (effector default)";

/// Scores some rows of the data.
type Score<'a> = Box<dyn Fn(&[usize]) -> Option<f64> + 'a>;

/// What the scores of nodes are taken from.
#[derive(Clone, Copy)]
pub enum Scores {
    /// The estimators as they are.
    Estimators,
    /// ALE with the last limit moved, and differences divided by the width of the first bin.
    ShiftedLimit,
    /// Variances of Shapley values in bins, joined at their centres.
    BinsOfShapleyValues,
}

/// Whether a tree comes out of effector's rules and some scores.
pub fn grown(case: Case<'_>, scores: Scores) -> Comparison {
    let score: Score<'_> = match (scores, method(case)) {
        (Scores::Estimators, "PDP" | "DerPDP" | "ALE" | "RHALE") => {
            Box::new(move |rows| estimated_score(case, rows))
        }
        (Scores::ShiftedLimit, "ALE") => {
            let limits = shifted_limits(case).ok_or("no limits")?;
            Box::new(move |rows| shifted_score(case, &limits, rows))
        }
        (Scores::BinsOfShapleyValues, "ShapDP") => {
            let (values, _) = shapley::local_effects(case, BACKGROUND)?;
            Box::new(move |rows| shapley_score(case, &values, rows))
        }
        _ => return Err("no such scores".to_owned()),
    };
    compare_trees(case, &Search::new(case, score).grow())
}

/// The method whose regions they are; nothing if it has none.
fn method<'a>(case: Case<'a>) -> &'a str {
    case.text("method").strip_prefix("regional ").unwrap_or_default()
}

/// The rows as a dataset of their own.
fn selected(case: Case<'_>, rows: &[usize]) -> Dataset {
    let data = &case.record.data;
    let value = |(feature, row): (usize, usize)| data.feature(feature)[rows[row]];
    Dataset::from_features(Array2::from_shape_fn((data.dimension(), rows.len()), value)).unwrap()
}

/// The effect of some rows on the axis of all.
fn estimate(case: Case<'_>, rows: &[usize], change: Settings) -> Option<Effect> {
    let name = method(case).to_lowercase().replace("derpdp", "dpdp");
    let (lo, hi) = range(case);
    let axis = Settings { axis: Some(AxisChoice::Given(lo, hi)), ..Settings::default() };
    let settings = preset::complete("effector-0.6", &name, change.or(&axis)).unwrap();
    let estimator = estimator::from_settings(&name, &settings).unwrap();
    let effects = estimator.estimate(&selected(case, rows), &case.record.model, case.feature());
    effects.ok().map(|mut effects| effects.remove(0))
}

/// The root mean of a variance at some rows; one of slopes counts times the spread of all rows.
fn score(case: Case<'_>, rows: &[usize], variance: &Curve, of_slopes: bool) -> Option<f64> {
    let positions: Vec<f64> = rows.iter().map(|&row| case.positions()[row]).collect();
    let instances = Instances { positions: &positions, weights: None, counts: None };
    let spread = if of_slopes { standard_deviation(case.positions()) } else { 1.0 };
    effector_score(variance, instances, false).map(|score| score * spread)
}

fn estimated_score(case: Case<'_>, rows: &[usize]) -> Option<f64> {
    let effect = estimate(case, rows, Settings::default())?;
    score(case, rows, &effect.heterogeneity.extrapolated(true), method(case) != "PDP")
}

fn shifted_limits(case: Case<'_>) -> Option<Vec<f64>> {
    let all: Vec<usize> = (0..case.record.data.len()).collect();
    let bins = estimate(case, &all, Settings::default())?.bins?;
    let mut limits = bins.partition.limits().to_vec();
    *limits.last_mut()? += 1e-8;
    Some(limits)
}

fn shifted_score(case: Case<'_>, limits: &[f64], rows: &[usize]) -> Option<f64> {
    let shifted = Settings {
        binning: Some("grid".to_owned()),
        axis: Some(AxisChoice::Given(limits[0], limits[limits.len() - 1])),
        limits: Some(limits.to_vec()),
        ..Settings::default()
    };
    let bins = estimate(case, rows, shifted)?.bins?;
    let widths = bins.partition.widths();
    let scaled = |(variance, width): (&Option<f64>, &f64)| {
        variance.map(|variance| variance * (width / widths[0]).powi(2))
    };
    let variances = filled(bins.variance.iter().zip(&widths).map(scaled).collect())?;
    score(case, rows, &Curve::step(limits.to_vec(), variances, Closed::Left), true)
}

/// Missing values are interpolated by the index of their bin.
fn filled(variances: Vec<Option<f64>>) -> Option<Vec<f64>> {
    let index: Vec<f64> = (0..variances.len()).map(|k| k as f64).collect();
    interpolate_missing(&variances, &index).0
}

fn shapley_score(case: Case<'_>, values: &[f64], rows: &[usize]) -> Option<f64> {
    let at = |values: &[f64]| -> Vec<f64> { rows.iter().map(|&row| values[row]).collect() };
    let (positions, values) = (at(case.positions()), at(values));
    let costs = Costs::new(range(case), &positions, &values, CELLS, shapley::OF_BINS);
    let kept = costs.dynamic_programming();
    let limits: Vec<f64> = kept.iter().map(|&k| costs.start + k as f64 * costs.width).collect();
    let in_bins = shapley::in_bins(&limits, &positions, &values);
    let variance = |of_bin: &Vec<f64>| {
        let moments = Moments::of(of_bin);
        (of_bin.len() > 1).then(|| moments.squares / moments.weight)
    };
    let variances = filled(in_bins.iter().map(variance).collect())?;
    let centres: Vec<f64> = limits.windows(2).map(|z| (z[0] + z[1]) / 2.0).collect();
    let heterogeneity = |&x: &f64| shapley::joined(&centres, &variances, x).max(0.0);
    let mean = positions.iter().map(heterogeneity).sum::<f64>() / positions.len() as f64;
    Some(mean.sqrt())
}

/// A node: its rows, and the interval lo ≤ x < hi of each feature that its rule is about.
#[derive(Clone)]
struct Node {
    parent: Option<usize>,
    level: usize,
    rows: Vec<usize>,
    rule: BTreeMap<usize, Range<f64>>,
    score: f64,
}

/// A position at which a feature may be split.
type Position = (usize, f64);

/// effector's search for regions.
struct Search<'a> {
    case: Case<'a>,
    score: Score<'a>,
    known: RefCell<HashMap<Vec<usize>, f64>>,
    positions: Vec<Position>,
    least_drop: f64,
}

impl<'a> Search<'a> {
    fn new(case: Case<'a>, score: Score<'a>) -> Self {
        let segments = case.option_count("numerical_features_grid_size").unwrap_or(20);
        let data = &case.record.data;
        let of_feature = |feature: usize| {
            let (lo, hi) = limits(data.feature(feature));
            let step = (hi - lo) / segments as f64;
            (1..segments).map(move |k| (feature, lo + k as f64 * step))
        };
        let others = (0..data.dimension()).filter(|&feature| feature != case.feature());
        Self {
            case,
            score,
            known: RefCell::default(),
            positions: others.flat_map(of_feature).collect(),
            least_drop: case.option_number("min_heterogeneity_decrease_pcg").unwrap_or(0.05),
        }
    }

    fn grow(&self) -> Vec<Node> {
        let rows: Vec<usize> = (0..self.case.record.data.len()).collect();
        let score = self.score_of(&rows);
        let root = Node { parent: None, level: 0, rows, rule: BTreeMap::new(), score };
        let mut nodes = vec![root];
        match self.case.option_text("finder") {
            "Best" => self.split_node(&mut nodes, 0),
            "BestLevelWise" => self.split_levels(&mut nodes),
            finder => panic!("no finder is called {finder}"),
        }
        nodes
    }

    fn score_of(&self, rows: &[usize]) -> f64 {
        if rows.len() < LEAF {
            return NO_SCORE;
        }
        let mut known = self.known.borrow_mut();
        *known.entry(rows.to_vec()).or_insert_with(|| (self.score)(rows).unwrap_or(NO_SCORE))
    }

    /// The two children of some nodes, one node after the other.
    fn children(&self, nodes: &[Node], at: &[usize], (feature, t): Position) -> Vec<Node> {
        let x = self.case.record.data.feature(feature);
        let child = |parent: usize, below: bool| {
            let node = &nodes[parent];
            let inside = node.rows.iter().copied().filter(|&row| (x[row] < t) == below);
            let rows: Vec<usize> = inside.collect();
            let mut rule = node.rule.clone();
            let interval = rule.entry(feature).or_insert(f64::NEG_INFINITY..f64::INFINITY);
            if below {
                interval.end = interval.end.min(t);
            } else {
                interval.start = interval.start.max(t);
            }
            let score = self.score_of(&rows);
            Node { parent: Some(parent), level: node.level + 1, rows, rule, score }
        };
        at.iter().flat_map(|&parent| [child(parent, true), child(parent, false)]).collect()
    }

    /// The children with the least mean score; the first of equal ones.
    fn best(&self, nodes: &[Node], at: &[usize]) -> Option<Vec<Node>> {
        let splits = self.positions.iter().map(|&position| self.children(nodes, at, position));
        let scored = splits.map(|children| (mean_score(&children, 1.0), children));
        scored.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|best| best.1)
    }

    /// Splits a node, its first child with all below it, and its second child.
    fn split_node(&self, nodes: &mut Vec<Node>, at: usize) {
        let before = nodes[at].score;
        if nodes[at].level >= DEPTH || nodes[at].rows.len() < LEAF || before < SMALL {
            return;
        }
        let Some(children) = self.best(nodes, &[at]) else { return };
        if (before - mean_score(&children, 0.0)) / before < self.least_drop {
            return;
        }
        for child in children {
            nodes.push(child);
            self.split_node(nodes, nodes.len() - 1);
        }
    }

    /// Splits all nodes of a level in the same way, as long as that helps.
    fn split_levels(&self, nodes: &mut Vec<Node>) {
        let mut level = vec![0];
        let mut before = nodes[0].score;
        for _ in 0..DEPTH.min(self.case.record.data.dimension() - 1) {
            let is_poor = level.iter().any(|&node| nodes[node].rows.len() < LEAF);
            if is_poor || before <= SMALL || before == NO_SCORE {
                return;
            }
            let Some(children) = self.best(nodes, &level) else { return };
            let after = mean_score(&children, 1.0);
            if (before - after) / before <= self.least_drop {
                return;
            }
            level = (nodes.len()..nodes.len() + children.len()).collect();
            nodes.extend(children);
            before = after;
        }
    }
}

fn limits(values: &[f64]) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold(start, |(lo, hi), &x| (lo.min(x), hi.max(x)))
}

/// The mean score of nodes by their numbers of rows, each of them greater by something.
fn mean_score(nodes: &[Node], more: f64) -> f64 {
    let weight = |node: &Node| node.rows.len() as f64 + more;
    let sum: f64 = nodes.iter().map(|node| weight(node) * node.score).sum();
    sum / nodes.iter().map(weight).sum::<f64>()
}

fn compare_trees(case: Case<'_>, ours: &[Node]) -> Comparison {
    let theirs = case.result["tree"].as_array().ok_or("no tree is recorded")?;
    if ours.len() != theirs.len() {
        return Err(format!("{} nodes, {} recorded", ours.len(), theirs.len()));
    }
    let output = size(&predictions(case));
    for (index, (node, recorded)) in ours.iter().zip(theirs).enumerate() {
        let place = |text: &str| format!("{text} of node {index}");
        let is_leaf = ours.iter().all(|other| other.parent != Some(index));
        let exact = (Some(index), node.parent, node.level, node.rows.len(), is_leaf);
        let number = |key: &str| recorded[key].as_u64().map(|number| number as usize);
        let (level, n) = (number("level").unwrap(), number("n").unwrap());
        let there =
            (number("idx"), number("parent"), level, n, recorded["is_leaf"].as_bool().unwrap());
        if exact != there {
            return Err(place(&format!("{exact:?}, {there:?} recorded: index, parent, level, n")));
        }
        compare_rules(case, node, &recorded["rule"]).map_err(|error| place(&error))?;
        let weight = node.rows.len() as f64 / case.record.data.len() as f64;
        let their_weight = recorded["weight"].as_f64().unwrap();
        close(&place("weight"), &[weight], &[their_weight], 1e-12)?;
        let heterogeneity = recorded["heterogeneity"].as_f64().unwrap();
        let allowed = TOLERANCE * heterogeneity + ROUNDING * output;
        close(&place("heterogeneity"), &[node.score], &[heterogeneity], allowed)?;
    }
    Ok(())
}

fn compare_rules(case: Case<'_>, node: &Node, recorded: &Value) -> Comparison {
    let recorded = recorded.as_object().unwrap();
    let names: Vec<String> = node.rule.keys().map(|feature| format!("x{}", feature + 1)).collect();
    if names.len() != recorded.len() || !names.iter().all(|name| recorded.contains_key(name)) {
        return Err(format!("rule about {names:?}, {recorded:?} recorded"));
    }
    for (name, (&feature, interval)) in names.iter().zip(&node.rule) {
        let theirs = &recorded[name];
        let end = |key: &str, missing: f64| theirs[key].as_f64().unwrap_or(missing);
        let there = end("lo", f64::NEG_INFINITY)..end("hi", f64::INFINITY);
        let closed = [&theirs["lo_closed"], &theirs["hi_closed"]].map(|end| end.as_bool().unwrap());
        if theirs["kind"] != "interval" || closed != [there.start.is_finite(), false] {
            return Err(format!("a rule of another kind: {theirs}"));
        }
        let (lo, hi) = limits(case.record.data.feature(feature));
        for (ours, theirs) in [(interval.start, there.start), (interval.end, there.end)] {
            if ours != theirs {
                close(name, &[ours], &[theirs], 1e-12 * (hi - lo))?;
            }
        }
    }
    Ok(())
}
