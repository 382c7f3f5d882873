//! Populations of random problems: of each seed and index the text of a problem file, always the same.
//!
//! A function is a weighted sum of pieces that are standardised under the law: main effects of some
//! features, and products or joint functions of two or three for the interactions. It begins at
//! [`Population::problem`]; every number that is drawn comes from a stream of its seed and index.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::bad;
use super::lexer::Fault;
use super::named_law;
use super::parser::{Meaning, Names, expression};
use crate::error::Error;
use crate::law::{Univariate, uniform_open};

/// A population of random problems: from what its members are drawn.
///
/// ```
/// use fe_truth::{Population, problem};
///
/// let population = Population { seed: 1, features: [3, 4], ..Population::default() };
/// let drawn = population.problem(17).unwrap();
/// assert_eq!(drawn, population.problem(17).unwrap());
/// let scenario = problem(&drawn.name, &drawn.text, &[]).unwrap();
/// assert_eq!(scenario.id(), "random-1-17@1");
/// assert!((3..=4).contains(&scenario.dimension()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Population {
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Fewest and most features.
    pub features: [usize; 2],
    /// Smallest and largest share of the features that f reads.
    pub active: [f64; 2],
    /// Smallest and largest share of the variance that interactions are meant to have.
    pub interactions: [f64; 2],
    /// Most features of one interaction: 2 or 3.
    pub order: usize,
    /// Probability that an interaction of two is no product of functions of one.
    pub joint: f64,
    /// Probability that a function of one feature has a kink.
    pub kinks: f64,
    /// Probability that a function of one feature jumps.
    pub jumps: f64,
    /// Smallest and largest of the largest correlation of two features, where they depend.
    pub correlation: [f64; 2],
    /// Kinds of dependence, drawn evenly.
    pub dependence: Vec<Dependence>,
    /// Laws of single features, drawn evenly.
    pub margins: Vec<Margin>,
}

impl Default for Population {
    fn default() -> Self {
        Self {
            seed: 1,
            features: [3, 8],
            active: [0.5, 1.0],
            interactions: [0.0, 0.6],
            order: 2,
            joint: 0.25,
            kinks: 0.25,
            jumps: 0.2,
            correlation: [0.0, 0.9],
            dependence: vec![Dependence::None, Dependence::Copula, Dependence::Children],
            margins: Margin::ALL.to_vec(),
        }
    }
}

/// A kind of dependence between features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dependence {
    /// Independent features.
    None,
    /// Margins joined by a Gaussian copula.
    Copula,
    /// Features that are normal around a multiple of an earlier one.
    Children,
}

/// A law of one feature of a random problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Margin {
    /// Uniform.
    Uniform,
    /// Normal.
    Normal,
    /// Skewed to the right.
    Gamma,
    /// Bounded and skewed.
    Beta,
    /// With a long tail.
    Lognormal,
    /// With two modes.
    Mixture,
}

impl Margin {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Uniform, Self::Normal, Self::Gamma, Self::Beta, Self::Lognormal, Self::Mixture];

    /// The law in the language of problem files, its mean and its standard deviation.
    #[expect(
        clippy::approx_constant,
        reason = "four digits, as of the others: they stand in the files"
    )]
    fn law(self) -> (&'static str, f64, f64) {
        match self {
            Self::Uniform => ("uniform(-1, 1)", 0.0, 0.5774),
            Self::Normal => ("normal(0, 1)", 0.0, 1.0),
            Self::Gamma => ("gamma(2, 0.5)", 1.0, 0.7071),
            Self::Beta => ("beta(2, 3)", 0.4, 0.2),
            Self::Lognormal => ("lognormal(0, 0.5)", 1.133, 0.6039),
            Self::Mixture => ("mixture(0.4: normal(-1, 0.4), 0.6: normal(1, 0.6))", 0.2, 1.116),
        }
    }
}

/// A member of a population.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomProblem {
    /// Its name, `random-SEED-INDEX`.
    pub name: String,
    /// The text of its file.
    pub text: String,
}

impl Population {
    /// The member of an index, counted from 0.
    ///
    /// # Errors
    /// [`Error::BadPopulation`].
    pub fn problem(&self, index: u64) -> Result<RandomProblem, Error> {
        self.check()?;
        let mut draw = Draw::new(self.seed, index);
        let law = DrawnLaw::of(self, &mut draw);
        let pieces = Pieces { population: self, law: &law };
        let f = pieces.function(&mut draw)?;
        let name = format!("random-{}-{index}", self.seed);
        let (seed, law) = (self.seed, law.text());
        let text = format!(
            "about = \"Problem {index} of the population with seed {seed}.\"\n\
             f = \"{f}\"\n\n{law}"
        );
        Ok(RandomProblem { name, text })
    }

    /// Refuses a population that there is not.
    ///
    /// # Errors
    /// [`Error::BadPopulation`].
    pub fn check(&self) -> Result<(), Error> {
        let refused =
            |key, given: String, allowed| Err(Error::BadPopulation { key, given, allowed });
        let [fewest, most] = self.features;
        if !(1 <= fewest && fewest <= most && most <= 50) {
            let given = format!("{:?}", self.features);
            return refused("features", given, "two ascending whole numbers from 1 to 50");
        }
        let ranges = [
            ("active", self.active, 1.0),
            ("interactions", self.interactions, 1.0),
            ("correlation", self.correlation, 0.95),
        ];
        for (key, [from, to], largest) in ranges {
            if !(0.0 <= from && from <= to && to <= largest) {
                let allowed = match key {
                    "correlation" => "two ascending numbers from 0 to 0.95",
                    _ => "two ascending numbers from 0 to 1",
                };
                return refused(key, format!("[{from}, {to}]"), allowed);
            }
        }
        for (key, share) in [("joint", self.joint), ("kinks", self.kinks), ("jumps", self.jumps)] {
            if !(0.0..=1.0).contains(&share) {
                return refused(key, share.to_string(), "a number from 0 to 1");
            }
        }
        if self.kinks + self.jumps > 1.0 {
            let given = self.jumps.to_string();
            return refused("jumps", given, "at most 1 less `kinks`");
        }
        if !(2..=3).contains(&self.order) {
            return refused("order", self.order.to_string(), "2 or 3");
        }
        if self.dependence.is_empty() {
            return refused("dependence", "empty".into(), "a list of none, copula, children");
        }
        if self.margins.is_empty() {
            return refused("margins", "empty".into(), "a list of laws such as uniform, normal");
        }
        Ok(())
    }
}

/// Numbers drawn for one problem.
struct Draw(ChaCha8Rng);

impl Draw {
    fn new(seed: u64, index: u64) -> Self {
        let mut address = *b"feature effects: random problems";
        address[..8].copy_from_slice(&seed.to_le_bytes());
        let mut stream = ChaCha8Rng::from_seed(address);
        stream.set_stream(index);
        Self(stream)
    }

    fn between(&mut self, [from, to]: [f64; 2]) -> f64 {
        from + (to - from) * uniform_open(&mut self.0)
    }

    fn chance(&mut self, probability: f64) -> bool {
        uniform_open(&mut self.0) < probability
    }

    /// A whole number below another one.
    fn below(&mut self, count: usize) -> usize {
        (self.0.next_u64() % count as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Some of so many, in ascending order.
    fn subset(&mut self, all: &[usize], count: usize) -> Vec<usize> {
        let mut left = all.to_vec();
        let mut chosen: Vec<usize> =
            (0..count.min(all.len())).map(|_| left.swap_remove(self.below(left.len()))).collect();
        chosen.sort_unstable();
        chosen
    }
}

/// A number with four digits, as it stands in a file.
fn digits(x: f64) -> String {
    let rounded = format!("{x:.3e}").parse::<f64>().unwrap_or(x);
    format!("{}", rounded + 0.0)
}

/// `text - x`, without two signs in a row.
fn less(text: &str, x: f64) -> String {
    match digits(x.abs()) {
        zero if zero == "0" => text.to_owned(),
        by if x < 0.0 => format!("{text} + {by}"),
        by => format!("{text} - {by}"),
    }
}

/// The law of a problem.
struct DrawnLaw {
    /// Of each feature its law, its mean and its standard deviation.
    features: Vec<(String, f64, f64)>,
    /// Features whose laws read another one.
    children: Vec<usize>,
    joined: Vec<(usize, usize, f64)>,
}

impl DrawnLaw {
    fn of(population: &Population, draw: &mut Draw) -> Self {
        let [fewest, most] = population.features;
        let count = fewest + draw.below(most - fewest + 1);
        let margin = |draw: &mut Draw| {
            let (law, mean, sd) = draw.one_of(&population.margins).law();
            (law.to_owned(), mean, sd)
        };
        let features = (0..count).map(|_| margin(draw)).collect();
        let mut law = Self { features, children: Vec::new(), joined: Vec::new() };
        let dependence = draw.one_of(&population.dependence);
        let largest = draw.between(population.correlation);
        let all: Vec<usize> = (0..count).collect();
        let size = 2 + draw.below(count.max(2) - 1);
        let members = draw.subset(&all, size);
        if members.len() < 2 || digits(largest) == "0" {
            return law;
        }
        match dependence {
            Dependence::None => {}
            Dependence::Copula => law.join(&members, largest, draw),
            Dependence::Children => law.descend(&members, largest, draw),
        }
        law
    }

    /// Joins features by a copula with one common factor; two have the largest correlation.
    fn join(&mut self, members: &[usize], largest: f64, draw: &mut Draw) {
        let loading = |place: usize, draw: &mut Draw| {
            let share = if place < 2 { 1.0 } else { draw.between([0.3, 1.0]) };
            let sign = if draw.chance(0.3) { -1.0 } else { 1.0 };
            sign * (largest * share).sqrt()
        };
        let loadings: Vec<f64> = (0..members.len()).map(|place| loading(place, draw)).collect();
        for (i, &a) in members.iter().enumerate() {
            for (j, &b) in members.iter().enumerate().skip(i + 1) {
                self.joined.push((a, b, loadings[i] * loadings[j]));
            }
        }
    }

    /// Makes a feature a child of another one, with the largest correlation.
    fn descend(&mut self, members: &[usize], largest: f64, draw: &mut Draw) {
        for (place, &child) in members.iter().enumerate().take(2).skip(1) {
            let share = if place == 1 { 1.0 } else { draw.between([0.3, 1.0]) };
            let sign = if draw.chance(0.3) { -1.0 } else { 1.0 };
            let slope = sign * largest * share;
            let parent = self.standardised(members[0]);
            let sd = digits((1.0 - slope * slope).sqrt());
            let law = format!("{}*{parent} + normal(0, {sd})", digits(slope));
            self.features[child] = (law, 0.0, 1.0);
            self.children.push(child);
        }
    }

    /// Quantiles of a feature at evenly spread probabilities; children count as normal.
    fn quantiles(&self, feature: usize, count: usize) -> Result<Vec<f64>, Fault> {
        let (law, ..) = &self.features[feature];
        let law = if self.children.contains(&feature) { "normal(0, 1)" } else { law };
        let named = named_law::law(law, &Names::default())?;
        let law = named.at(&[]).map_err(|message| Fault::new(0, message))?;
        Ok((0..count).map(|k| law.quantile((k as f64 + 0.5) / count as f64)).collect())
    }

    /// A feature with mean 0 and standard deviation 1, as text.
    fn standardised(&self, feature: usize) -> String {
        let (_, mean, sd) = &self.features[feature];
        let name = format!("x{}", feature + 1);
        match (*mean == 0.0, *sd == 1.0) {
            (true, true) => name,
            (true, false) => format!("({name}/{})", digits(*sd)),
            (false, _) => format!("(({})/{})", less(&name, *mean), digits(*sd)),
        }
    }

    fn text(&self) -> String {
        let mut text = "[law]\n".to_owned();
        for (s, (law, ..)) in self.features.iter().enumerate() {
            text += &format!("x{} = \"{law}\"\n", s + 1);
        }
        if !self.joined.is_empty() {
            text += "\n[copula]\ngaussian = [\n";
            for &(a, b, correlation) in &self.joined {
                text += &format!("  [\"x{}\", \"x{}\", {}],\n", a + 1, b + 1, digits(correlation));
            }
            text += "]\n";
        }
        text
    }
}

/// The pieces of a function.
struct Pieces<'a> {
    population: &'a Population,
    law: &'a DrawnLaw,
}

impl Pieces<'_> {
    /// Main effects of the features that are read, and interactions of some of them.
    fn function(&self, draw: &mut Draw) -> Result<String, Error> {
        let count = self.law.features.len();
        let share = draw.between(self.population.active);
        let all: Vec<usize> = (0..count).collect();
        let active = draw.subset(&all, ((share * count as f64).round() as usize).max(1));
        let interactions = draw.between(self.population.interactions);
        let interactions = if active.len() < 2 { 0.0 } else { interactions };
        let mut mains = Vec::new();
        for &feature in &active {
            mains.push((draw.between([0.2, 1.0]), self.centred(self.of_one(feature, draw))?));
        }
        let mut joint = Vec::new();
        if digits(interactions) != "0" {
            for _ in 0..1 + draw.below(active.len()) {
                joint.push((draw.between([0.3, 1.0]), self.interaction(&active, draw)?));
            }
        }
        let mut terms = Vec::new();
        for (pieces, variance) in [(mains, 1.0 - interactions), (joint, interactions)] {
            let squares: f64 = pieces.iter().map(|(weight, _)| weight * weight).sum();
            for (weight, (text, sd)) in pieces {
                let sign = if draw.chance(0.5) { -1.0 } else { 1.0 };
                terms.push((sign * weight * (variance / squares).sqrt() / sd, text));
            }
        }
        let mut text = String::new();
        for (weight, term) in terms.into_iter().filter(|(weight, _)| digits(*weight) != "0") {
            let sign = match (text.is_empty(), weight < 0.0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text += &format!("{sign}{}*{term}", digits(weight.abs()));
        }
        Ok(if text.is_empty() { "0".to_owned() } else { text })
    }

    /// An interaction of some features, with its standard deviation.
    fn interaction(&self, active: &[usize], draw: &mut Draw) -> Result<(String, f64), Error> {
        let three = self.population.order > 2 && active.len() > 2 && draw.chance(0.3);
        let features = draw.subset(active, if three { 3 } else { 2 });
        if !three && draw.chance(self.population.joint) {
            return self.centred(self.of_two([features[0], features[1]], draw));
        }
        let (mut text, mut sd) = (String::new(), 1.0);
        for &feature in &features {
            let (factor, own) = self.centred(self.of_one(feature, draw))?;
            sd *= own;
            text += if text.is_empty() { "" } else { "*" };
            text += &factor;
        }
        Ok((text, sd))
    }

    /// A function of one feature.
    fn of_one(&self, feature: usize, draw: &mut Draw) -> String {
        let z = self.law.standardised(feature);
        let at = draw.between([-0.8, 0.8]);
        let (moved, rate) = (less(&z, at), draw.between([0.7, 2.5]));
        let (place, rate) = (digits(at), digits(rate));
        let kind = draw.between([0.0, 1.0]);
        let form = draw.below(7);
        if kind < self.population.jumps {
            return match form % 3 {
                0 => format!("if({z} < {place}, -1, 1)"),
                1 => format!("if({z} < {place}, {z}, 1 - {rate}*{z})"),
                _ => format!("sign({moved})*sin({rate}*{z})"),
            };
        }
        if kind < self.population.jumps + self.population.kinks {
            return match form % 3 {
                0 => format!("abs({moved})"),
                1 => format!("max({z}, {place})"),
                _ => format!("min(max({z}, -{rate}), {place})"),
            };
        }
        match form {
            0 => z,
            1 => format!("({moved})^2"),
            2 => format!("sin({rate}*({moved}))"),
            3 => format!("tanh({rate}*({moved}))"),
            4 => format!("exp(-{rate}*({moved})^2)"),
            5 => format!("1/(1 + ({moved})^2)"),
            _ => format!("exp(-0.3*{rate}*{z})"),
        }
    }

    /// A function of two features that is no product.
    fn of_two(&self, features: [usize; 2], draw: &mut Draw) -> String {
        let [a, b] = features.map(|feature| self.law.standardised(feature));
        let (at, rate) = (digits(draw.between([-0.5, 0.5])), digits(draw.between([0.5, 1.5])));
        match draw.below(5) {
            0 => format!("max({a}, {b})"),
            1 => format!("abs({a} - {b})"),
            2 => format!("sin({rate}*({a} + {b}))"),
            3 => format!("exp(-{rate}*({a} - {b})^2)"),
            _ => format!("if({a} + {b} < {at}, 0, 1)"),
        }
    }

    /// A piece less its mean, and its standard deviation: 1 where it has none to speak of. Both are
    /// those of independent features, on a grid of quantiles: near enough for a weight.
    fn centred(&self, piece: String) -> Result<(String, f64), Error> {
        let mut names = Names::default();
        for feature in 0..self.law.features.len() {
            names.add(&format!("x{}", feature + 1), Meaning::Feature(feature));
        }
        let fault = |fault: Fault| bad("piece", &piece, &fault);
        let tree = expression(&piece, &names).map_err(fault)?;
        let mut values = vec![];
        let mut row = vec![0.0; self.law.features.len()];
        let read = tree.features();
        let grids =
            read.iter().map(|&s| self.law.quantiles(s, if read.len() < 2 { 128 } else { 32 }));
        let grids: Vec<Vec<f64>> = grids.collect::<Result<_, Fault>>().map_err(fault)?;
        each_row(&read, &grids, &mut row, &mut |row| values.push(tree.value(row)));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let sd = (square / values.len() as f64).sqrt();
        Ok((format!("({})", less(&piece, mean)), if sd > 1e-3 { sd } else { 1.0 }))
    }
}

/// All rows of a grid.
fn each_row(features: &[usize], grids: &[Vec<f64>], row: &mut [f64], then: &mut dyn FnMut(&[f64])) {
    let (Some((&feature, features)), Some((grid, grids))) =
        (features.split_first(), grids.split_first())
    else {
        return then(row);
    };
    for &x in grid {
        row[feature] = x;
        each_row(features, grids, row, then);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem;

    #[test]
    fn members_are_scenarios_of_the_sizes_asked_for() {
        let population = Population { order: 3, features: [2, 6], ..Population::default() };
        for index in 0..40 {
            let drawn = population.problem(index).unwrap_or_else(|error| panic!("{error}"));
            let scenario = problem(&drawn.name, &drawn.text, &[])
                .unwrap_or_else(|error| panic!("{error}\n{}", drawn.text));
            assert!((2..=6).contains(&scenario.dimension()));
            assert_ne!(drawn.text, population.problem(index + 1).unwrap().text);
        }
    }

    #[test]
    fn a_population_that_there_is_not_is_refused() {
        let usual = Population::default;
        for (population, words) in [
            (Population { features: [4, 3], ..usual() }, "`features` of a population is [4, 3]"),
            (Population { features: [0, 3], ..usual() }, "from 1 to 50"),
            (Population { correlation: [0.0, 1.0], ..usual() }, "from 0 to 0.95"),
            (Population { active: [f64::NAN, 1.0], ..usual() }, "`active`"),
            (Population { kinks: 0.7, jumps: 0.4, ..usual() }, "1 less `kinks`"),
            (Population { joint: -0.1, ..usual() }, "`joint` of a population is -0.1"),
            (Population { order: 4, ..usual() }, "2 or 3"),
            (Population { margins: Vec::new(), ..usual() }, "`margins`"),
            (Population { dependence: Vec::new(), ..usual() }, "`dependence`"),
        ] {
            let said = population.problem(0).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}
