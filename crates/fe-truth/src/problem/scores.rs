//! Features of any laws, their normal scores jointly normal: a Gaussian copula with any correlations.

use std::sync::Arc;

use super::laws::{LawFamily, Plain};
use super::near_places::NearPlaces;
use crate::law::{Block, Crossing, NORMAL_PANELS, Univariate};
use crate::numeric::special::{normal_between, normal_cdf, normal_pdf, normal_quantile};

/// Margins, and the correlations of their normal scores.
pub(super) struct Scores {
    margins: Vec<Arc<Margin>>,
    correlation: Vec<Vec<f64>>,
    /// The lower triangle whose square the correlations are.
    root: Vec<Vec<f64>>,
    /// Correlation of each score with one variable given which all are independent, where there is such.
    loadings: Option<Vec<f64>>,
}

impl Scores {
    /// Margins joined by correlations; the nearest that there are, where these make no law.
    pub(super) fn new(
        margins: Vec<Plain>,
        correlation: Vec<Vec<f64>>,
    ) -> Result<Self, Vec<Vec<f64>>> {
        match cholesky(&correlation) {
            Some(root) => {
                let margins = margins.into_iter().map(|law| Arc::new(Margin::of(law))).collect();
                let loadings = loadings(&correlation);
                Ok(Self { margins, correlation, root, loadings })
            }
            None => Err(nearest(&correlation)),
        }
    }

    fn given(&self, target: usize, given: &[(usize, f64)]) -> Score {
        let others: Vec<(usize, f64)> =
            given.iter().copied().filter(|(feature, _)| *feature != target).collect();
        let n = others.len();
        // Eliminating all others from the system leaves the variance of the target.
        let feature = |i: usize| others.get(i).map_or(target, |(feature, _)| *feature);
        let mut system: Vec<Vec<f64>> = (0..=n)
            .map(|i| (0..=n).map(|j| self.correlation[feature(i)][feature(j)]).collect())
            .collect();
        let mut right: Vec<f64> = others.iter().map(|(_, z)| *z).chain([0.0]).collect();
        for k in 0..n {
            let pivot = system[k].clone();
            let value = right[k];
            for i in k + 1..=n {
                let factor = system[i][k] / pivot[k];
                system[i].iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
                right[i] -= factor * value;
            }
        }
        Score {
            margin: Arc::clone(&self.margins[target]),
            mean: -right[n],
            sd: system[n][n].sqrt(),
        }
    }
}

/// The lower triangle whose square a matrix is, if it is positive definite.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut root = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| root[i][k] * root[j][k]).sum();
            let left = matrix[i][j] - sum;
            if i != j {
                root[i][j] = left / root[j][j];
            } else if left > 1e-12 {
                root[i][i] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(root)
}

/// Numbers of which the products are the correlations, if there are such: of three features ρ₁₂ ρ₁₃ / ρ₂₃ is the square of
/// the first (Spearman 1904).
fn loadings(correlation: &[Vec<f64>]) -> Option<Vec<f64>> {
    // A feature that is nearly the variable itself has no density given that.
    const MOST: f64 = 0.999;
    let n = correlation.len();
    let largest = |s: usize, not: &[usize]| {
        let others = (0..n).filter(|&other| other != s && !not.contains(&other));
        others.max_by(|&a, &b| correlation[s][a].abs().total_cmp(&correlation[s][b].abs()))
    };
    let of = |s: usize| {
        let a = largest(s, &[])?;
        let b = largest(s, &[a])?;
        let square = correlation[s][a] * correlation[s][b] / correlation[a][b];
        (square.is_finite() && (0.0..=MOST * MOST).contains(&square)).then(|| square.sqrt())
    };
    let sizes: Vec<f64> = (0..n).map(of).collect::<Option<_>>()?;
    let first = (0..n).max_by(|&a, &b| sizes[a].total_cmp(&sizes[b]))?;
    let signed = |s: usize| if correlation[first][s] < 0.0 { -sizes[s] } else { sizes[s] };
    let loadings: Vec<f64> = (0..n).map(signed).collect();
    let is_product = |a: usize, b: usize| {
        (loadings[a] * loadings[b] - correlation[a][b]).abs() <= 4.0 * f64::EPSILON
    };
    let holds = (0..n).all(|a| (0..a).all(|b| is_product(a, b)));
    holds.then_some(loadings)
}

/// The correlation matrix nearest to a matrix: alternating projections (Higham 2002), with
/// eigenvalues not below a small number.
fn nearest(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut here = matrix.to_vec();
    let mut correction = vec![vec![0.0; n]; n];
    for _ in 0..200 {
        let less = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let row =
                |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a - b).collect();
            a.iter().zip(b).map(row).collect()
        };
        let shifted = less(&here, &correction);
        here = positive_part(&shifted);
        correction = less(&here, &shifted);
        here.iter_mut().enumerate().for_each(|(i, row)| row[i] = 1.0);
    }
    here
}

/// A symmetric matrix with its eigenvalues raised to a small number, by Jacobi rotations.
fn positive_part(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    const LEAST: f64 = 1e-6;
    let n = matrix.len();
    let mut a = matrix.to_vec();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..30 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() < 1e-15 {
                    continue;
                }
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let (sin, cos) = angle.sin_cos();
                for row in [&mut a, &mut vectors] {
                    for k in row.iter_mut() {
                        let (x, y) = (k[p], k[q]);
                        k[p] = cos * x - sin * y;
                        k[q] = sin * x + cos * y;
                    }
                }
                let mut first = std::mem::take(&mut a[p]);
                for (x, y) in first.iter_mut().zip(&mut a[q]) {
                    (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
                }
                a[p] = first;
            }
        }
    }
    let part = |i: usize, j: usize| {
        (0..n).map(|k| vectors[i][k] * a[k][k].max(LEAST) * vectors[j][k]).sum()
    };
    (0..n).map(|i| (0..n).map(|j| part(i, j)).collect()).collect()
}

/// A law of one feature, and the ways to its normal scores and back.
struct Margin {
    law: Plain,
    near: NearPlaces,
    /// The first and the last value inside the support, whose ends have no score.
    inside: (f64, f64),
}

impl Margin {
    fn of(law: Plain) -> Self {
        let (low, high) = law.support();
        Self { law, near: NearPlaces::default(), inside: (low.next_up(), high.next_down()) }
    }

    /// The normal score of a value. At the ends of the support it is so far out that nothing changes
    /// beyond, but finite.
    fn score(&self, x: f64) -> f64 {
        let z = match &self.law {
            Plain::Of(LawFamily::Normal, a, _) => (x - a[0]) / a[1],
            Plain::Of(LawFamily::LogNormal, a, _) => (x.ln() - a[0]) / a[1],
            law => {
                let [below, above] = law.tails(x);
                if below < above { normal_quantile(below) } else { -normal_quantile(above) }
            }
        };
        z.clamp(-1e9, 1e9)
    }

    /// True if values are a smooth function of their scores.
    fn is_smooth(&self) -> bool {
        let (low, high) = self.law.support();
        self.law.corners().into_iter().all(|x| x <= low || high <= x)
    }

    /// The value of a normal score. Searched for each time where there is no formula: of few values a curve to
    /// read them off would cost more.
    fn value(&self, z: f64) -> f64 {
        self.value_from(z, [normal_cdf(z), normal_cdf(-z)], None)
    }

    /// The same for integrals, which ask so often that a curve is worth its cost.
    fn place(&self, z: f64) -> f64 {
        let tail = normal_cdf(-z.abs());
        let tails = if z < 0.0 { [tail, 1.0 - tail] } else { [1.0 - tail, tail] };
        self.value_from(z, tails, self.near.at(&self.law, z))
    }

    /// The value of a normal score, from the probabilities below and above it and from a coordinate near it if one is
    /// known.
    fn value_from(&self, z: f64, [below, above]: [f64; 2], near: Option<f64>) -> f64 {
        match &self.law {
            Plain::Of(LawFamily::Normal, a, _) => a[0] + a[1] * z,
            Plain::Of(LawFamily::LogNormal, a, _) => (a[0] + a[1] * z).exp(),
            law => {
                let (low, high) = self.inside;
                let read = near.and_then(|near| law.improved(near, below, above));
                read.unwrap_or_else(|| law.inverse(below, above)).clamp(low, high)
            }
        }
    }
}

impl Block for Scores {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        Box::new(self.given(target, given))
    }

    /// As the normal score.
    fn known(&self, feature: usize, x: f64) -> f64 {
        self.margins[feature].score(x)
    }

    fn common_factor(&self, target: usize) -> Option<f64> {
        self.loadings.as_ref().map(|loadings| loadings[target])
    }

    fn given_factor(&self, target: usize, factor: f64) -> Box<dyn Univariate> {
        let loading = self.common_factor(target).unwrap_or(0.0);
        let sd = ((1.0 - loading) * (1.0 + loading)).sqrt();
        Box::new(Score { margin: Arc::clone(&self.margins[target]), mean: loading * factor, sd })
    }

    fn alone(&self, target: usize) -> Box<dyn Univariate> {
        Box::new(self.margins[target].law.clone())
    }

    /// A break across two features is no straight line between scores, and is left to adaptivity.
    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        let Crossing { of, along, slope, at } = broken;
        let rho = self.correlation[of][along];
        if rho == 0.0 || slope != 0.0 {
            return Vec::new();
        }
        let sd = ((1.0 - rho) * (1.0 + rho)).sqrt();
        let scores = Crossing { at: self.margins[of].score(at), ..broken };
        let scores = scores.passage(0.0, rho, sd).into_iter().filter(|z| z.abs() < 10.0);
        scores.map(|z| self.margins[along].place(z)).collect()
    }

    fn draws(&self) -> usize {
        self.margins.len()
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let len = values.len() / self.margins.len();
        for row in 0..len {
            let independent: Vec<f64> =
                (0..self.margins.len()).map(|j| normal_quantile(drawn[j * len + row])).collect();
            for (j, margin) in self.margins.iter().enumerate() {
                let z = self.root[j].iter().zip(&independent).map(|(w, z)| w * z).sum();
                values[j * len + row] = margin.value(z);
            }
        }
    }
}

/// The law of a feature whose normal score has a mean and a standard deviation. Its coordinate is the
/// score, standardised by these.
struct Score {
    margin: Arc<Margin>,
    mean: f64,
    sd: f64,
}

impl Univariate for Score {
    fn pdf(&self, x: f64) -> f64 {
        let z = self.margin.score(x);
        let u = (z - self.mean) / self.sd;
        self.margin.law.pdf(x) * (0.5 * (z - u) * (z + u)).exp() / self.sd
    }

    fn cdf(&self, x: f64) -> f64 {
        normal_cdf(self.coordinate(x))
    }

    fn support(&self) -> (f64, f64) {
        self.margin.law.support()
    }

    fn panels(&self) -> Vec<f64> {
        // Where the margin is made of parts, its scores are smooth between these only.
        let corners = self.margin.law.corners();
        let inner: Vec<f64> = corners.into_iter().map(|x| self.coordinate(x)).collect();
        crate::numeric::quadrature::within(
            &[&NORMAL_PANELS[..], &inner].concat(),
            NORMAL_PANELS[0],
            NORMAL_PANELS[NORMAL_PANELS.len() - 1],
        )
    }

    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        self.margin.is_smooth().then_some((0.0, 1.0))
    }

    /// Infinite at the ends of the support: a score that is only far out would be a place in between.
    fn coordinate(&self, x: f64) -> f64 {
        let (low, high) = self.support();
        if x <= low {
            return f64::NEG_INFINITY;
        }
        if x >= high { f64::INFINITY } else { (self.margin.score(x) - self.mean) / self.sd }
    }

    fn place(&self, u: f64) -> f64 {
        self.margin.place(self.mean + self.sd * u)
    }

    fn known(&self, u: f64) -> f64 {
        self.mean + self.sd * u
    }

    fn stretch(&self, u: f64) -> f64 {
        let z = self.mean + self.sd * u;
        match &self.margin.law {
            Plain::Of(LawFamily::Normal, a, _) => self.sd * a[1],
            Plain::Of(LawFamily::LogNormal, a, _) => self.sd * a[1] * (a[0] + a[1] * z).exp(),
            law => self.sd * normal_pdf(z) / law.pdf(self.margin.place(z)),
        }
    }

    fn weight(&self, u: f64) -> f64 {
        normal_pdf(u)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let (low, high) = self.support();
        normal_between(self.coordinate(from.max(low)), self.coordinate(to.min(high)))
    }

    fn resolves_small_masses(&self) -> bool {
        true
    }

    fn quantile(&self, p: f64) -> f64 {
        self.place(normal_quantile(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::watch::{Watch, with_cost};
    use crate::engine::{Engine, Rest};

    #[test]
    fn what_is_no_correlation_matrix_is_told_with_the_nearest_one() {
        let margins = || vec![Plain::of(LawFamily::Uniform, &[0.0, 1.0]).unwrap(); 3];
        let matrix = |r: f64| {
            let mut all = vec![vec![-r; 3]; 3];
            (0..3).for_each(|i| all[i][i] = 1.0);
            all
        };
        assert!(Scores::new(margins(), matrix(0.4)).is_ok());
        let nearest = Scores::new(margins(), matrix(0.9)).err().unwrap();
        // By symmetry that is the one with all equal, at the edge.
        assert!((nearest[0][1] + 0.5).abs() < 1e-4, "{nearest:?}");
        assert!(Scores::new(margins(), nearest).is_ok());
    }

    #[test]
    fn conditional_scores_are_those_of_regression() {
        let margins = vec![Plain::of(LawFamily::Normal, &[0.0, 1.0]).unwrap(); 3];
        let matrix = vec![vec![1.0, 0.6, 0.2], vec![0.6, 1.0, -0.3], vec![0.2, -0.3, 1.0]];
        let law = Scores::new(margins, matrix).ok().unwrap().given(0, &[(1, 0.7), (2, -1.1)]);
        let determinant = 1.0 - 0.09;
        let weights = [(0.6 + 0.2 * 0.3) / determinant, (0.2 + 0.6 * 0.3) / determinant];
        assert!((law.mean - (weights[0] * 0.7 - weights[1] * 1.1)).abs() < 1e-14);
        let variance = 1.0 - weights[0] * 0.6 - weights[1] * 0.2;
        assert!((law.sd * law.sd - variance).abs() < 1e-14);
    }

    /// The value of a score has the score's probabilities below and above it, whether there is a formula or not.
    #[test]
    fn values_of_scores_have_their_probabilities() {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let two = vec![
            (0.4, of(LawFamily::Normal, &[-1.0, 0.1])),
            (0.6, of(LawFamily::Gamma, &[2.0, 0.5])),
        ];
        for law in [
            of(LawFamily::Gamma, &[0.3, 2.0]),
            of(LawFamily::Beta, &[2.0, 0.5]),
            of(LawFamily::Student, &[3.0]),
            of(LawFamily::Weibull, &[2.0, 1.5]),
            Plain::Mixture(two),
        ] {
            let margin = Margin::of(law);
            // As far as laws are searched: normal parts to ten standard deviations.
            for k in -43..=43 {
                let z = 0.23 * f64::from(k);
                let x = margin.place(z);
                let (tail, known) = (margin.law.tails(x), [normal_cdf(z), normal_cdf(-z)]);
                let side = usize::from(z > 0.0);
                // The value is rounded.
                let rounding = 4.0 * f64::EPSILON * x.abs() * margin.law.pdf(x);
                let off = (tail[side] - known[side]).abs();
                assert!(off <= 1e-12 * known[side] + rounding, "{z}: {x}: {off:e}");
                assert_eq!(x, margin.place(z));
            }
        }
    }

    /// A curve to read values off is worth its cost: few searches find it, for every law.
    #[test]
    fn few_searches_find_the_curve_of_values() {
        let cases: [(LawFamily, &[f64]); 6] = [
            (LawFamily::Beta, &[2.0, 3.0]),
            (LawFamily::Beta, &[0.4, 5.0]),
            (LawFamily::Beta, &[9.0, 0.5]),
            (LawFamily::Gamma, &[2.0, 3.0]),
            (LawFamily::Gamma, &[0.3, 1.0]),
            (LawFamily::Student, &[3.0]),
        ];
        for (kind, arguments) in cases {
            let margin = Margin::of(Plain::of(kind, arguments).unwrap());
            let _ = margin.place(0.5);
            let pieces = margin.near.pieces();
            assert!(pieces <= 100, "{kind:?} {arguments:?}: {pieces}");
        }
    }

    /// Log-normal, exponential and normal margins.
    fn joined() -> Scores {
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let margins = vec![
            of(LawFamily::LogNormal, &[0.3, 0.5]),
            of(LawFamily::Exponential, &[2.0]),
            of(LawFamily::Normal, &[1.0, 2.0]),
        ];
        let matrix = vec![vec![1.0, 0.6, 0.2], vec![0.6, 1.0, -0.3], vec![0.2, -0.3, 1.0]];
        Scores::new(margins, matrix).ok().unwrap()
    }

    /// Given scores z of the others, the score has a mean m and a standard deviation s: a log-normal
    /// feature is log-normal again, with a + b m and b s, and a normal one normal.
    #[test]
    fn conditional_laws_of_log_normal_and_normal_features_are_known() {
        let law = joined();
        let (m, s) = (0.6 * 0.7, 0.8);
        let of = |kind, arguments: &[f64]| Plain::of(kind, arguments).unwrap();
        let (low, high) = (-0.3 * 0.7, (1.0_f64 - 0.09).sqrt());
        for (target, known, places) in [
            (0, of(LawFamily::LogNormal, &[0.3 + 0.5 * m, 0.5 * s]), [0.4, 1.5, 6.0]),
            (2, of(LawFamily::Normal, &[1.0 + 2.0 * low, 2.0 * high]), [-4.0, 0.5, 3.0]),
        ] {
            let given = law.given(target, &[(1, 0.7)]);
            for x in places {
                let what = format!("feature {target} at {x}");
                assert!((given.pdf(x) / known.pdf(x) - 1.0).abs() < 1e-13, "{what}");
                assert!((given.cdf(x) / known.cdf(x) - 1.0).abs() < 1e-13, "{what}");
                let mass = given.mass(0.5 * x, x);
                assert!((mass - known.mass(0.5 * x, x)).abs() < 1e-14, "{what}");
                let back = given.quantile(given.cdf(x));
                assert!((back - x).abs() < 1e-11, "{what}: {back}");
            }
        }
    }

    /// Of any law: the density is the slope of the distribution function, and the coordinate a change
    /// of the variable.
    #[test]
    fn conditional_laws_agree_with_themselves() {
        let law = joined();
        for (target, given) in
            [(0, [(1, 0.7), (2, -1.1)]), (1, [(0, -0.4), (2, 1.3)]), (2, [(0, 1.0), (1, 0.2)])]
        {
            let given = law.given(target, &given);
            for u in [-2.5, -0.3, 0.4, 1.9] {
                let what = format!("feature {target} at {u}");
                let x = given.place(u);
                assert!((given.coordinate(x) - u).abs() < 1e-12, "{what}");
                assert!((given.known(u) - given.margin.score(x)).abs() < 1e-12, "{what}");
                assert!((given.cdf(x) / normal_cdf(u) - 1.0).abs() < 1e-11, "{what}");
                assert!((given.quantile(normal_cdf(u)) - x).abs() < 1e-11 * x.abs(), "{what}");
                let step = 1e-5;
                let stretch = (given.place(u + step) - given.place(u - step)) / (2.0 * step);
                assert!((given.stretch(u) / stretch - 1.0).abs() < 1e-8, "{what}");
                assert!(
                    (given.pdf(x) * given.stretch(u) / given.weight(u) - 1.0).abs() < 1e-12,
                    "{what}"
                );
                let slope = (given.cdf(x + step) - given.cdf(x - step)) / (2.0 * step);
                assert!((given.pdf(x) / slope - 1.0).abs() < 1e-6, "{what}");
            }
        }
        let exponential = law.given(1, &[(0, 0.5)]);
        assert_eq!(exponential.support(), (0.0, f64::INFINITY));
        assert!((exponential.mass(-1.0, f64::INFINITY) - 1.0).abs() < 1e-15);
    }

    /// Scores 0.5 and 1.2 that are drawn independently become 0.5 and 0.6·0.5 + 0.8·1.2.
    #[test]
    fn rows_are_made_of_correlated_scores() {
        let law = joined();
        let drawn = [0.5, 1.2, -0.7].map(normal_cdf);
        let mut row = [0.0; 3];
        law.sample(&drawn, &mut row);
        let third = (-0.3 - 0.6 * 0.2) / 0.8;
        let last: f64 = 1.0 - 0.04 - third * third;
        let scores = [0.5, 0.3 + 0.96, 0.2 * 0.5 + third * 1.2 - 0.7 * last.sqrt()];
        for ((x, z), margin) in row.iter().zip(scores).zip(&law.margins) {
            assert!((margin.score(*x) - z).abs() < 1e-12, "{x}: {z}");
        }
        // Two rows, feature after feature.
        let twice: Vec<f64> = drawn.iter().flat_map(|u| [*u, *u]).collect();
        let mut rows = [0.0; 6];
        law.sample(&twice, &mut rows);
        assert_eq!(rows, [row[0], row[0], row[1], row[1], row[2], row[2]]);
    }

    /// A break of a feature at 2 is seen by scores of another about the place of the same score divided by
    /// the correlation.
    #[test]
    fn a_break_casts_a_shadow_where_features_are_related() {
        let law = joined();
        let seen = |of, along, slope| law.shadow(Crossing { of, along, slope, at: 2.0 });
        let z = (2_f64.ln() - 0.3) / 0.5;
        let shadow = seen(0, 1, 0.0);
        let shadow: Vec<f64> = shadow.iter().map(|x| law.margins[1].score(*x)).collect();
        assert!(shadow.iter().any(|found| (found - z / 0.6).abs() < 1e-9), "{shadow:?}");
        // Passed on a scale of √(1 − ρ²)/ρ, as far as there are rows.
        let expected = NORMAL_PANELS.iter().map(|panel| z / 0.6 + panel * 0.8 / 0.6);
        let expected: Vec<f64> = expected.filter(|z| z.abs() < 10.0).collect();
        assert_eq!(shadow.len(), expected.len(), "{shadow:?}");
        // Far out an exponential feature keeps few digits of its score.
        assert!(shadow.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{shadow:?}");
        // A line across both is none between scores.
        assert!(seen(0, 1, 1.0).is_empty());
        let apart = Scores::new(
            law.margins.iter().map(|margin| margin.law.clone()).collect(),
            vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]],
        );
        let apart = apart.ok().unwrap();
        assert!(apart.shadow(Crossing { of: 0, along: 1, slope: 0.0, at: 2.0 }).is_empty());
    }

    /// Fifty deviations out, and where a probability is 2e-20: no distribution function keeps that.
    #[test]
    fn scores_far_out_keep_their_digits() {
        let law = joined();
        assert_eq!((law.known(2, 101.0), law.margins[2].place(50.0)), (50.0, 101.0));
        let far = (0.3_f64 + 0.5 * 50.0).exp();
        assert!((law.known(0, far) - 50.0).abs() < 1e-12);
        assert!((law.margins[0].place(50.0) / far - 1.0).abs() < 1e-13);
        assert!((law.known(1, 1e-20) - normal_quantile(2e-20)).abs() < 1e-9);
        assert_eq!(law.draws(), 3);
        assert!(law.conditional(0, &[]).resolves_small_masses());
    }

    /// A smooth function of two scores given a third one takes some seventy values of each, and twice as many of one where its
    /// shortest waves are not told to be nothing.
    #[test]
    fn smooth_functions_of_scores_take_few_evaluations() {
        let text = |f: &str| {
            format!(
                "f = \"{f}\"\n[law]\nx1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\nx3 = \"gamma(2, 1)\"\n\
                 [copula]\ngaussian = [[\"x1\", \"x2\", 0.6], [\"x1\", \"x3\", 0.2], [\"x2\", \"x3\", -0.3]]\n"
            )
        };
        for (f, is_smooth) in [("sin(pi*x1*x2)", true), ("abs(x1 - 0.3)*exp(x2)", false)] {
            let scenario = crate::problem("mine", &text(f), &[]).unwrap();
            let engine = &scenario.parts.engine;
            let witness = engine.of_terms(engine.terms.iter().map(Arc::clone));
            let names = ["x1", "x2", "x3"].map(String::from);
            let witness = witness.watched(Arc::new(Watch::new(3, true, &names)));
            for x in [0.01, 1.4, 9.0] {
                let mean = |engine: &Engine| engine.mean_value(2, x, Rest::Conditional);
                let ((own, cost), known) = (with_cost(|| mean(engine)), mean(&witness));
                let off = (own.value - known.value).abs();
                assert!(off <= own.error + known.error, "{f} at {x}: {own:?}, not {known:?}");
                assert!(own.error < 1e-11, "{f} at {x}: {own:?}");
                assert_eq!(cost <= 12_000.0, is_smooth, "{f} at {x}: {cost}");
            }
        }
    }

    /// Of what is left of a variance a billionth of a thousandth is rounding.
    #[test]
    fn a_variance_of_rounding_is_none() {
        assert!(cholesky(&[vec![1e-12]]).is_none() && cholesky(&[vec![2e-12]]).is_some());
        let root = cholesky(&[vec![1.0, 0.6], vec![0.6, 1.0]]).unwrap();
        assert_eq!(root[1][0], 0.6);
        assert!((root[1][1] - 0.8).abs() < 1e-15);
    }
}
