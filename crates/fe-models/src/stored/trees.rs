//! Sums of regression trees, as boosting libraries write them down.

use crate::ensemble::{Ensemble, Part, Rule};

/// Test of the values that go to the left at a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Test {
    #[default]
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    NotEqual,
    Among(Categories),
    NotAmong(Categories),
}

impl Test {
    fn passes(&self, x: f64, threshold: f64) -> bool {
        match self {
            Self::Among(categories) => categories.contain(x),
            Self::NotAmong(categories) => !categories.contain(x),
            Self::Below => x < threshold,
            Self::AtMost => x <= threshold,
            Self::Above => x > threshold,
            Self::AtLeast => x >= threshold,
            Self::Equal => x == threshold,
            Self::NotEqual => x != threshold,
        }
    }
}

/// A set of categories, which are whole numbers from 0 on: a bit for each, in words of 32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Categories(pub(crate) Vec<u32>);

impl Categories {
    /// Of categories in a list.
    pub(crate) fn of(list: &[u32]) -> Self {
        let words = list.iter().max().map_or(0, |most| *most as usize / 32 + 1);
        let mut bits = vec![0; words];
        list.iter().for_each(|category| bits[*category as usize / 32] |= 1 << (category % 32));
        Self(bits)
    }

    /// True if the whole part of a number is one of them.
    fn contain(&self, x: f64) -> bool {
        if !(0.0..f64::from(u32::MAX)).contains(&x) {
            return false;
        }
        let category = x as usize;
        self.0.get(category / 32).is_some_and(|word| word >> (category % 32) & 1 == 1)
    }
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// The place of its value among those of the leaves.
    Leaf(usize),
    Split(Split),
}

/// A node with two children, by their places.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Split {
    pub(crate) feature: usize,
    pub(crate) test: Test,
    pub(crate) threshold: f64,
    /// Children for values that pass the test, and for the others.
    pub(crate) children: (usize, usize),
    /// Child for values next to 0, if they count as missing.
    pub(crate) zero: Option<bool>,
    /// True if missing values go as those that pass the test; if nothing is said, they count as 0.
    pub(crate) missing: Option<bool>,
}

/// The test of a split.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cut {
    threshold: f64,
    test: Test,
    zero: Option<bool>,
    missing: Option<bool>,
}

impl Rule for Cut {
    fn is_met(&self, x: f64) -> bool {
        let x = match self.missing {
            Some(passes) if x.is_nan() => return passes,
            None if x.is_nan() => 0.0,
            _ => x,
        };
        match self.zero {
            Some(passes) if x.abs() <= NEARLY_ZERO => passes,
            _ => self.test.passes(x, self.threshold),
        }
    }
}

impl Cut {
    /// The least number that goes to the other child than all below it, and whether those below pass the test; none
    /// where there is no such number. If `single`, numbers are rounded to single precision before they are compared.
    pub(super) fn edge(&self, single: bool) -> Option<(f64, bool)> {
        let (passes_at, below_passes) = match self.test {
            Test::Below => (false, true),
            Test::AtMost => (true, true),
            Test::Above => (true, false),
            Test::AtLeast => (false, false),
            Test::Equal | Test::NotEqual | Test::Among(_) | Test::NotAmong(_) => return None,
        };
        if self.zero.is_some() {
            return None;
        }
        // The threshold itself goes with what is below it, or with what is above.
        let is_beyond = |x: f64| if passes_at { x > self.threshold } else { x >= self.threshold };
        if !single {
            let t = self.threshold;
            return Some((if is_beyond(t) { t } else { t.next_up() }, below_passes));
        }
        let near = self.threshold as f32;
        let beyond = if is_beyond(near.into()) { near } else { near.next_up() };
        // Halfway between this and the one before it numbers begin to be rounded to it.
        let half = f64::midpoint(beyond.next_down().into(), beyond.into());
        let edge = if half as f32 >= beyond { half } else { half.next_up() };
        Some((edge, below_passes))
    }
}

impl Split {
    fn cut(&self) -> Cut {
        let Self { threshold, zero, missing, .. } = *self;
        Cut { threshold, test: self.test.clone(), zero, missing }
    }
}

/// Up to this size values count as 0 where LightGBM takes zeros as missing.
const NEARLY_ZERO: f64 = 1e-35_f32 as f64;

/// Most splits on the way to a leaf; as many are made for every row.
pub(crate) const DEEPEST: usize = 10_000;

/// A tree; its root is node 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// A tree of so many leaves and features: one way leads to each node, of no more than [`DEEPEST`] steps.
    pub(crate) fn new(nodes: Vec<Node>, leaves: usize, features: usize) -> Result<Self, String> {
        let mut seen = vec![false; nodes.len()];
        let mut open = vec![(0, 0)];
        while let Some((at, depth)) = open.pop() {
            if depth > DEEPEST {
                return Err(format!("more than {DEEPEST} splits on the way to a leaf"));
            }
            match (nodes.get(at), seen.get_mut(at)) {
                (Some(node), Some(seen)) if !*seen => {
                    *seen = true;
                    match node {
                        Node::Leaf(leaf) if *leaf < leaves => {}
                        Node::Split(split) if split.feature < features => {
                            open.extend(
                                [split.children.0, split.children.1].map(|at| (at, depth + 1)),
                            );
                        }
                        Node::Leaf(leaf) => return Err(format!("there is no leaf {leaf}")),
                        Node::Split(split) => {
                            let asked = split.feature;
                            return Err(format!("feature {asked} of {features}, counted from 0"));
                        }
                    }
                }
                (None, _) | (_, None) => return Err(format!("there is no node {at}")),
                _ => return Err(format!("two ways lead to node {at}")),
            }
        }
        Ok(Self { nodes })
    }
}

/// A tree that adds values to scores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) tree: Tree,
    /// Contributions of each leaf: what it adds to which score.
    pub(crate) leaves: Vec<Vec<(usize, f64)>>,
}

/// Trees whose values add up to scores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    pub(crate) members: Vec<Member>,
    /// The scores before any tree.
    pub(crate) base: Vec<f64>,
    /// True if features are rounded to single precision before they are compared.
    pub(crate) single: bool,
    /// Features that the trees ask for.
    pub(crate) features: usize,
    /// The divisor of sums of trees.
    pub(crate) divisor: f64,
}

impl Forest {
    /// The same trees, as they are walked through.
    pub(crate) fn ensemble(&self) -> Ensemble<Cut> {
        let mut all = Ensemble::new(self.features, self.base.len());
        for Member { tree, leaves } in &self.members {
            all.push(0, |at: usize| match &tree.nodes[at] {
                Node::Leaf(leaf) => Part::Leaf(leaves[*leaf].clone()),
                Node::Split(split) => Part::Split {
                    feature: split.feature,
                    rule: split.cut(),
                    children: [split.children.0, split.children.1],
                },
            });
        }
        all
    }
}

/// Link from scores to outputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Link {
    Identity,
    Exp,
    /// 1/(1 + e^−kx) of each score.
    Sigmoid(f64),
    /// The probabilities of two classes from the score of the second.
    TwoClasses(f64),
    /// The rest of 1 beside the only score, and the score.
    Complement,
    Softmax,
    /// The square, with the sign of the score.
    SignedSquare,
    /// ln(1 + e^x).
    Softplus,
}

impl Link {
    /// True if outputs change by as much as a score wherever it starts from, up to the sign.
    pub(crate) fn is_linear(self) -> bool {
        matches!(self, Self::Identity | Self::Complement)
    }

    /// Number of outputs of so many scores.
    pub(crate) fn outputs(self, scores: usize) -> usize {
        if matches!(self, Self::TwoClasses(_) | Self::Complement) { 2 } else { scores }
    }

    /// Writes the outputs of some scores.
    pub(crate) fn apply(self, scores: &[f64], outputs: &mut [f64]) {
        let sigmoid = |k: f64, x: f64| 1.0 / (1.0 + (-k * x).exp());
        match self {
            Self::TwoClasses(k) => {
                outputs.copy_from_slice(&[sigmoid(k, -scores[0]), sigmoid(k, scores[0])]);
            }
            Self::Complement => outputs.copy_from_slice(&[1.0 - scores[0], scores[0]]),
            Self::Softmax => {
                let largest = scores.iter().fold(f64::NEG_INFINITY, |most, &x| most.max(x));
                let sum: f64 = scores.iter().map(|x| (x - largest).exp()).sum();
                for (output, x) in outputs.iter_mut().zip(scores) {
                    *output = (x - largest).exp() / sum;
                }
            }
            _ => {
                for (output, &x) in outputs.iter_mut().zip(scores) {
                    *output = match self {
                        Self::Exp => x.exp(),
                        Self::Sigmoid(k) => sigmoid(k, x),
                        Self::SignedSquare => x * x.abs(),
                        Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
                        _ => x,
                    };
                }
            }
        }
    }
}
