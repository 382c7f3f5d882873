//! Sums of regression trees, as boosting libraries write them down.

/// Test of the values that go to the left at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
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

impl Split {
    fn passes(&self, x: f64) -> bool {
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

    /// The leaf to which a row belongs.
    pub(crate) fn leaf(&self, row: &[f64]) -> usize {
        let mut at = 0;
        loop {
            match &self.nodes[at] {
                Node::Leaf(leaf) => return *leaf,
                Node::Split(split) => {
                    let passes = split.passes(row[split.feature]);
                    at = if passes { split.children.0 } else { split.children.1 };
                }
            }
        }
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
    /// Writes the scores of a row, which is rounded on the way if features are.
    pub(crate) fn score(&self, row: &mut [f64], scores: &mut [f64]) {
        if self.single {
            row.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
        scores.fill(0.0);
        for member in &self.members {
            for &(output, value) in &member.leaves[member.tree.leaf(row)] {
                scores[output] += value;
            }
        }
        for (score, base) in scores.iter_mut().zip(&self.base) {
            *score = base + *score / self.divisor;
        }
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
