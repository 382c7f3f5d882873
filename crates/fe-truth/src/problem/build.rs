//! A scenario from what a file says.

use std::sync::Arc;

use super::blend::MOST_DENSITIES;
use super::breaks::Span;
use super::cosines::lengths;
use super::file::File;
use super::laws::Plain;
use super::lexer::Fault;
use super::named_law::{self, NamedLaw, Node};
use super::network::{MOST_ASKED, Network, at_most, span};
use super::parser::{Meaning, Names, expression, hint};
use super::program::Compiled;
use super::scores::Scores;
use super::table::{Declared, Formula, Placed};
use super::terms::terms;
use super::turning::whole_turns;
use crate::engine::Engine;
use crate::engine::watch::Watch;
use crate::expression::Expression;
use crate::law::{Law, Univariate};
use crate::scenario::{Parts, quantile_axis};
use crate::truth::point;

/// Largest number of features that quadrature integrates over at once.
const MOST_AT_ONCE: usize = 3;
/// Rows of the law on which f must be real, and by which rounding is sized.
const ROWS: usize = 512;

/// Most rows of what a law reads at which its arguments are looked at.
const MOST_ROWS: usize = 100_000;

/// A feature of [law], hidden or not.
struct Feature<'a> {
    name: &'a Placed<String>,
    formula: &'a Formula,
    law: NamedLaw,
    parents: Vec<usize>,
    /// Its number among those that are not hidden.
    column: Option<usize>,
}

/// Parts of a scenario at values of the parameters. A witness integrates in another order
/// and on other nodes.
pub(super) fn parts(file: &File, values: &[f64], is_witness: bool) -> Result<Parts, Fault> {
    let parameters = parameter_names(&file.parameters, values);
    let features = features(file, &parameters)?;
    let law = joint_law(file, &features, &parameters)?;
    let names: Vec<String> = visible(&features).map(|f| f.name.value.clone()).collect();
    let tree = function(file, &features, parameters.clone())?;
    let rows = law.spread(ROWS);
    if let Some(row) = rows.iter().find(|row| !tree.value(row).is_finite()) {
        let message = format!("f is {} at {}", tree.value(row), point(&names, row));
        return Err(file.f.wrong(message));
    }
    let axes = axes(file, &names, &law, &parameters)?;
    let model = Compiled::new(&tree, law.dimension());
    let engine = engine(&tree, law, &names, is_witness);
    let engine = engine.map_err(|message| file.f.wrong(message))?;
    let size = rows.iter().map(|row| tree.value(row).abs()).sum::<f64>() / rows.len() as f64;
    let words = |feature: &Feature<'_>| {
        feature.law.levels().map_or_else(Vec::new, |levels| levels.words().to_vec())
    };
    let words = visible(&features).map(words).collect();
    Ok(Parts::of_problem(engine, Arc::new(model), tree, axes, names, words, size))
}

/// The engine of a function over a law of named features.
pub(super) fn engine(
    tree: &Expression,
    law: Law,
    names: &[String],
    is_witness: bool,
) -> Result<Engine, String> {
    let spans: Vec<Span> = (0..law.dimension()).map(|s| span(&*law.marginal(s))).collect();
    let heavy: Vec<bool> = (0..law.dimension()).map(|s| law.marginal(s).is_heavy()).collect();
    let levels: Vec<Option<Vec<f64>>> = (0..law.dimension())
        .map(|s| law.marginal(s).levels().map(|levels| levels.values().to_vec()))
        .collect();
    // A witness takes nothing apart.
    let turns = if is_witness { vec![false; law.dimension()] } else { whole_turns(&law) };
    let lengths = lengths(&law);
    let rows = law.spread(ROWS);
    let terms = terms(tree, &spans.into(), &levels, &heavy, &turns, &lengths, &rows)?;
    let watch = Watch::new(MOST_AT_ONCE, is_witness, names);
    Ok(Engine::new(law, terms).watched(Arc::new(watch)))
}

fn parameter_names(declared: &[Declared], values: &[f64]) -> Names {
    let mut names = Names::default();
    for (parameter, &value) in declared.iter().zip(values) {
        names.add(&parameter.name.value, Meaning::Parameter(value));
    }
    names
}

fn visible<'a, 'b>(features: &'b [Feature<'a>]) -> impl Iterator<Item = &'b Feature<'a>> {
    features.iter().filter(|feature| feature.column.is_some())
}

fn features<'a>(file: &'a File, parameters: &Names) -> Result<Vec<Feature<'a>>, Fault> {
    let all = || file.law.iter().map(|(name, _)| name.value.as_str());
    for hidden in &file.hidden {
        if !all().any(|name| name == hidden.value) {
            let hint = hint(&hidden.value, all());
            let message = format!("`hidden` names `{}`, which is no feature{hint}", hidden.value);
            return Err(Fault::new(hidden.at, message));
        }
    }
    let mut names = parameters.clone();
    for (name, _) in &file.law {
        if file.parameters.iter().any(|parameter| parameter.name.value == name.value) {
            let message = format!("`{}` is a parameter already", name.value);
            return Err(Fault::new(name.at, message));
        }
        names.add(&name.value, Meaning::Later);
    }
    let mut features = Vec::new();
    let mut columns = 0;
    for (node, (name, formula)) in file.law.iter().enumerate() {
        let hidden = file.hidden.iter().any(|hidden| hidden.value == name.value);
        let column = (!hidden).then(|| {
            columns += 1;
            columns - 1
        });
        check_place(name, column)?;
        let law = named_law::law(&formula.text, &names).map_err(|fault| formula.fault(fault))?;
        let parents = law.parents();
        if let Some(levels) = law.levels() {
            names.add_levels(&name.value, levels.clone());
        }
        features.push(Feature { name, formula, law, parents, column });
        names.add(&name.value, Meaning::Feature(node));
    }
    if columns == 0 {
        return Err(Fault::new(file.hidden[0].at, "all features are hidden"));
    }
    Ok(features)
}

/// Refuses a name that is the general name of another feature: `x2` is the second.
fn check_place(name: &Placed<String>, column: Option<usize>) -> Result<(), Fault> {
    let number = name.value.strip_prefix('x').and_then(|digits| digits.parse::<usize>().ok());
    match (number, column) {
        (Some(number), Some(column)) if number != column + 1 => {
            let (own, place) = (&name.value, column + 1);
            let message = format!(
                "`{own}` stands in place {place}: a feature can be called x{place} too, so that \
                 only feature {number} may be named `{own}`"
            );
            Err(Fault::new(name.at, message))
        }
        _ => Ok(()),
    }
}

fn function(file: &File, features: &[Feature<'_>], mut names: Names) -> Result<Expression, Fault> {
    for feature in features {
        let meaning = feature.column.map_or(Meaning::Hidden, Meaning::Feature);
        names.add(&feature.name.value, meaning);
        if let Some(levels) = feature.law.levels() {
            names.add_levels(&feature.name.value, levels.clone());
        }
    }
    expression(&file.f.text, &names).map_err(|fault| file.f.fault(fault))
}

/// Groups of features that may depend on each other: by what their laws read.
fn groups(features: &[Feature<'_>]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..features.len()).collect();
    for (node, feature) in features.iter().enumerate() {
        for &parent in &feature.parents {
            let (old, new) = (group[node], group[parent]);
            group.iter_mut().filter(|g| **g == old).for_each(|g| *g = new);
        }
    }
    let mut all: Vec<Vec<usize>> = Vec::new();
    for node in 0..features.len() {
        match all.iter_mut().find(|known| group[known[0]] == group[node]) {
            Some(known) => known.push(node),
            None => all.push(vec![node]),
        }
    }
    all
}

fn joint_law(file: &File, features: &[Feature<'_>], parameters: &Names) -> Result<Law, Fault> {
    let joined = copulas(file, features, parameters)?;
    let mut law = Law::new();
    for group in groups(features) {
        let columns: Vec<usize> = group.iter().filter_map(|&node| features[node].column).collect();
        if columns.is_empty() || joined.iter().any(|(members, _)| members.contains(&group[0])) {
            continue;
        }
        law = match group.as_slice() {
            &[node] => law.with_independent(columns[0], alone(&features[node])?),
            _ => law.with(&columns, network(features, &group)?),
        };
    }
    for (members, scores) in joined {
        let columns: Vec<usize> =
            members.iter().filter_map(|&node| features[node].column).collect();
        law = law.with(&columns, scores);
    }
    Ok(law)
}

/// The law of a feature that reads no other.
fn alone(feature: &Feature<'_>) -> Result<Plain, Fault> {
    feature.law.at(&[]).map_err(|message| feature.formula.wrong(message))
}

fn network(features: &[Feature<'_>], group: &[usize]) -> Result<Network, Fault> {
    let local = |node: usize| group.iter().position(|&other| other == node).unwrap_or_default();
    let mut nodes = Vec::new();
    for &node in group {
        nodes.push(Node::new(features[node].law.renumbered(&local)));
    }
    let columns = group.iter().enumerate().filter(|(_, node)| features[**node].column.is_some());
    let network = Network::new(nodes, columns.map(|(place, _)| place).collect());
    check_arguments(features, group, &network)?;
    for (place, &node) in group.iter().filter(|node| features[**node].column.is_some()).enumerate()
    {
        if !network.is_resolved(place) {
            let Feature { name, formula, .. } = &features[node];
            let why = if network.is_wild(place) {
                "is simulated, as that of all that descend from more than two features, and cannot \
                 be where tails fall off as powers"
                    .to_owned()
            } else if network.is_costly(place) {
                format!(
                    "takes more than {MOST_ASKED} conditional laws, or {MOST_DENSITIES} densities, of what it \
                     depends on"
                )
            } else {
                "cannot be found: it is too narrow or too wide for what it reads".to_owned()
            };
            return Err(formula.wrong(format!("the law of `{}` on its own {why}", name.value)));
        }
    }
    Ok(network)
}

/// Refuses arguments that make no law for some values of what they read.
fn check_arguments(
    features: &[Feature<'_>],
    group: &[usize],
    network: &Network,
) -> Result<(), Fault> {
    let place_of = |node: usize| group.iter().position(|&other| other == node).unwrap_or_default();
    for (place, &node) in group.iter().enumerate() {
        let feature = &features[node];
        // Only what it descends from matters.
        let mut rows = vec![vec![f64::NAN; group.len()]];
        for ancestor in ancestors(features, node).into_iter().map(place_of) {
            let mut longer = Vec::new();
            for row in &rows {
                // One without a law was refused in its own turn.
                let Ok(law) = network.law_at(ancestor, row) else { continue };
                for x in spread_of(&law, rows.len()) {
                    let mut with = row.clone();
                    with[ancestor] = x;
                    longer.push(with);
                }
            }
            rows = at_most(MOST_ROWS, longer);
        }
        for row in &rows {
            network.law_at(place, row).map_err(|message| {
                let value = |&parent: &usize| {
                    format!("{} = {}", features[parent].name.value, row[place_of(parent)])
                };
                let read: Vec<String> = feature.parents.iter().map(value).collect();
                let at = if read.is_empty() { String::new() } else { " at ".to_owned() };
                feature.formula.wrong(format!("{message}{at}{}", read.join(", ")))
            })?;
        }
    }
    Ok(())
}

/// All features that the law of a feature reads, and those that theirs read, in ascending order.
fn ancestors(features: &[Feature<'_>], node: usize) -> Vec<usize> {
    let mut found = features[node].parents.clone();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        for &further in &features[parent].parents {
            if !found.contains(&further) {
                found.push(further);
            }
        }
        next += 1;
    }
    found.sort_unstable();
    found
}

/// Values of a law from one end to the other, fewer if there are many rows already.
fn spread_of(law: &Plain, rows: usize) -> Vec<f64> {
    if let Some(levels) = law.levels()
        && levels.values().len() <= 33
    {
        return levels.values().to_vec();
    }
    let panels = law.panels();
    let (from, to) = (panels[0], panels[panels.len() - 1]);
    let count = if rows < 100 { 33 } else { 3 };
    // The ends themselves have no probability where they are those of the support.
    let inner = |k: usize| (k as f64 / (count - 1) as f64).clamp(1e-6, 1.0 - 1e-6);
    (0..count).map(|k| law.place(from + inner(k) * (to - from))).collect()
}

type Group = (Vec<usize>, Scores);

/// Features that are joined by a copula, with their law.
fn copulas(file: &File, features: &[Feature<'_>], parameters: &Names) -> Result<Vec<Group>, Fault> {
    let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
    for joined in &file.copula {
        let [a, b] = [0, 1].map(|k| joined_feature(&joined.features[k], features));
        let (a, b) = (a?, b?);
        let names = [a, b].map(|node| features[node].name.value.as_str());
        if a == b {
            return Err(Fault::new(joined.at, format!("`{}` is joined with itself", names[0])));
        }
        if pairs.iter().any(|&(c, d, _)| (c, d) == (a, b) || (d, c) == (a, b)) {
            let message = format!("the pair {}, {} is given twice", names[0], names[1]);
            return Err(Fault::new(joined.at, message));
        }
        let tree = expression(&joined.correlation.text, parameters)
            .map_err(|fault| joined.correlation.fault(fault))?;
        let correlation = tree.value(&[]);
        if correlation.is_nan() || correlation.abs() >= 1.0 {
            return Err(joined.correlation.wrong(format!(
                "the correlation of {} and {} is {correlation}: it must lie strictly between -1 \
                 and 1",
                names[0], names[1]
            )));
        }
        pairs.push((a, b, correlation));
    }
    let mut members: Vec<Vec<usize>> = Vec::new();
    for &(a, b, _) in &pairs {
        let (touching, apart): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|group| group.contains(&a) || group.contains(&b));
        members = apart;
        let mut group: Vec<usize> = touching.into_iter().flatten().chain([a, b]).collect();
        group.sort_unstable();
        group.dedup();
        members.push(group);
    }
    members.into_iter().map(|group| scores(file, features, group, &pairs)).collect()
}

fn joined_feature(name: &Placed<String>, features: &[Feature<'_>]) -> Result<usize, Fault> {
    let known = features.iter().position(|feature| feature.name.value == name.value);
    let Some(node) = known else {
        let hint = hint(&name.value, features.iter().map(|f| f.name.value.as_str()));
        return Err(Fault::new(name.at, format!("`{}` is no feature{hint}", name.value)));
    };
    let name_of = &name.value;
    let refused = |why: &str| Err(Fault::new(name.at, format!("`{name_of}` {why}")));
    if features[node].column.is_none() {
        return refused("is hidden, and cannot be joined by a copula");
    }
    if !features[node].parents.is_empty() {
        return refused("reads other features: a margin under a copula has parameters only");
    }
    if features[node].law.levels().is_some() {
        return refused("has levels: a margin under a copula has a density");
    }
    if features.iter().any(|feature| feature.parents.contains(&node)) {
        return refused("is joined by a copula, and cannot be read by the law of another feature");
    }
    Ok(node)
}

fn scores(
    file: &File,
    features: &[Feature<'_>],
    group: Vec<usize>,
    pairs: &[(usize, usize, f64)],
) -> Result<Group, Fault> {
    let margins = group.iter().map(|&node| alone(&features[node])).collect::<Result<_, _>>()?;
    let between = |a: usize, b: usize| {
        let found = pairs.iter().find(|&&(c, d, _)| (c, d) == (a, b) || (d, c) == (a, b));
        if a == b { 1.0 } else { found.map_or(0.0, |pair| pair.2) }
    };
    let matrix = group.iter().map(|&a| group.iter().map(|&b| between(a, b)).collect()).collect();
    match Scores::new(margins, matrix) {
        Ok(scores) => Ok((group, scores)),
        Err(nearest) => {
            let mut pairs = Vec::new();
            for (i, &first) in group.iter().enumerate() {
                for (j, &second) in group.iter().enumerate().skip(i + 1) {
                    let names = [first, second].map(|node| &features[node].name.value);
                    // Rounded towards 0, so that it is inside.
                    let value = (nearest[i][j] * 1e4).trunc() / 1e4;
                    pairs.push(format!("[\"{}\", \"{}\", {value}]", names[0], names[1]));
                }
            }
            let message = format!(
                "these correlations make no law: the matrix is not positive definite; the nearest \
                 that is has [{}]",
                pairs.join(", ")
            );
            Err(Fault::new(file.copula.first().map_or(0, |joined| joined.at), message))
        }
    }
}

fn axes(
    file: &File,
    names: &[String],
    law: &Law,
    parameters: &Names,
) -> Result<Vec<(f64, f64)>, Fault> {
    let mut axes = Vec::new();
    for s in 0..names.len() {
        let margin = law.marginal(s);
        let (low, high) = margin.support();
        let bounded = low.is_finite() && high.is_finite();
        axes.push(if bounded { (low, high) } else { quantile_axis(&*margin) });
    }
    for (name, [low, high]) in &file.axis {
        let Some(s) = names.iter().position(|known| *known == name.value) else {
            let hint = hint(&name.value, names.iter().map(String::as_str));
            let message = format!("[axis] names `{}`, which is no feature{hint}", name.value);
            return Err(Fault::new(name.at, message));
        };
        let end = |formula: &Formula| {
            let tree = expression(&formula.text, parameters).map_err(|fault| formula.fault(fault));
            Ok::<f64, Fault>(tree?.value(&[]))
        };
        let range = (end(low)?, end(high)?);
        let support = law.marginal(s).support();
        if !(support.0 <= range.0 && range.0 < range.1 && range.1 <= support.1) {
            return Err(low.wrong(format!(
                "the axis [{}, {}] of `{}` must be ascending and inside the support [{}, {}]",
                range.0, range.1, name.value, support.0, support.1
            )));
        }
        axes[s] = range;
    }
    Ok(axes)
}
