//! Orders of the levels of a feature, along which effects are accumulated.

use nalgebra::{DMatrix, SymmetricEigen};

use crate::data::{Dataset, FeatureKind, Levels};
use crate::effect::OrderRecord;
use crate::error::Result;
use crate::numeric::moments::Moments;
use crate::settings::LevelOrder;

/// An order of levels, as places among their ascending values, with the rule that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Order {
    pub(crate) places: Vec<usize>,
    rule: &'static str,
}

impl Order {
    /// The order by a rule; an ordinal feature goes by its values. `response` has the predictions at the rows.
    ///
    /// # Errors
    /// [`crate::Error::Levels`] for another feature of too many levels.
    pub(crate) fn of(
        rule: LevelOrder,
        (data, feature): (&Dataset, usize),
        levels: &Levels,
        response: Option<&[f64]>,
    ) -> Result<Self> {
        if data.kinds()[feature] == FeatureKind::Ordinal {
            return Ok(Self { places: (0..levels.len()).collect(), rule: "value" });
        }
        let given = levels.given.clone();
        let (places, rule) = match rule {
            LevelOrder::Given => (given, "given"),
            LevelOrder::Name => {
                let mut places = given;
                places.sort_by(|&a, &b| levels.names[a].cmp(&levels.names[b]));
                (places, "name")
            }
            LevelOrder::Frequency => (ascending(given, |place| -levels.counts[place]), "frequency"),
            LevelOrder::Response => {
                let means = response.map(|response| mean_at(data, feature, levels, response));
                let mean = |place: usize| means.as_ref().map_or(0.0, |means| means[place]);
                (ascending(given, mean), "response")
            }
            LevelOrder::Similarity => (by_similarity(data, feature, levels)?, "similarity"),
        };
        Ok(Self { places, rule })
    }

    /// An order that is known already.
    pub(crate) fn held(places: Vec<usize>, rule: &'static str) -> Self {
        Self { places, rule }
    }

    /// The order as it is recorded.
    pub(crate) fn record(&self, levels: &Levels) -> OrderRecord {
        let values = self.places.iter().map(|&place| levels.values[place]).collect();
        let names = self.places.iter().map(|&place| levels.names[place].clone()).collect();
        OrderRecord { rule: self.rule, values, names }
    }
}

/// Places by a number of each; those of the same number stay as they are.
fn ascending(mut places: Vec<usize>, number: impl Fn(usize) -> f64) -> Vec<usize> {
    places.sort_by(|&a, &b| number(a).total_cmp(&number(b)));
    places
}

/// The mean of one value per row at each level.
fn mean_at(data: &Dataset, feature: usize, levels: &Levels, values: &[f64]) -> Vec<f64> {
    let mut moments = vec![Moments::default(); levels.len()];
    for ((x, weight), &value) in data.weighted(feature).zip(values) {
        if let Some(place) = levels.place(x).filter(|_| weight > 0.0) {
            moments[place] = moments[place].merge(Moments::single(value, weight));
        }
    }
    moments.iter().map(|level| level.mean).collect()
}

/// Eigenvalues that differ by less than this share of the largest are equal, and distances that are smaller by
/// as much are none.
const EQUAL: f64 = 1e-10;

/// By the coordinate of classical scaling of the distances between levels (Apley and Zhu 2020, section 5.4, and
/// their package ALEPlot), with the level that is given first on the negative side; where no direction is
/// longest, as they are given.
fn by_similarity(data: &Dataset, feature: usize, levels: &Levels) -> Result<Vec<usize>> {
    data.check_complete()?;
    let distances = distances(data, feature, levels)?;
    // As they are given, so that the numbers that levels have do not matter, not even to rounding.
    let given = &levels.given;
    let m = given.len();
    let coordinate = scaled(&DMatrix::from_fn(m, m, |i, j| distances[(given[i], given[j])]));
    let Some(coordinate) = coordinate else { return Ok(given.clone()) };
    let places = ascending((0..m).collect(), |place| coordinate[place]);
    Ok(places.into_iter().map(|place| given[place]).collect())
}

/// The first coordinate of classical scaling, −½ J D² J, the first that is not 0 below 0; none where no direction is
/// longer than all others.
fn scaled(distances: &DMatrix<f64>) -> Option<Vec<f64>> {
    let m = distances.nrows();
    let squares = distances.map(|distance| -0.5 * distance * distance);
    let (rows, all) = (squares.row_mean(), squares.mean());
    let doubly = DMatrix::from_fn(m, m, |i, j| squares[(i, j)] - rows[i] - rows[j] + all);
    if doubly.amax() <= EQUAL * EQUAL {
        return None;
    }
    let eigen = SymmetricEigen::new(doubly);
    let first = eigen.eigenvalues.imax();
    let longest = eigen.eigenvalues[first];
    let is_as_long =
        |(at, &value): (usize, &f64)| at != first && longest - value <= EQUAL * longest;
    if eigen.eigenvalues.iter().enumerate().any(is_as_long) {
        return None;
    }
    let direction = eigen.eigenvectors.column(first);
    // What differs by rounding alone is the same coordinate.
    let rounded = |x: &f64| (x / EQUAL).round() * EQUAL;
    let coordinate: Vec<f64> = direction.iter().map(rounded).collect();
    let sign = coordinate.iter().find(|x| **x != 0.0).map_or(1.0, |x| -x.signum());
    Some(coordinate.into_iter().map(|x| sign * x).collect())
}

/// Distances between levels, summed over the other features: the largest difference of distribution functions
/// of numbers (Kolmogorov and Smirnov), half the summed differences of shares of nominal ones (total variation).
fn distances(data: &Dataset, feature: usize, levels: &Levels) -> Result<DMatrix<f64>> {
    let m = levels.len();
    let mut all = DMatrix::zeros(m, m);
    for other in (0..data.dimension()).filter(|&other| other != feature) {
        let is_nominal = data.kinds()[other] == FeatureKind::Nominal;
        let between = Between::new(data, (feature, levels), other);
        for i in 0..m {
            for j in 0..i {
                let distance = between.distance(i, j, is_nominal);
                all[(i, j)] += distance;
                all[(j, i)] += distance;
            }
        }
    }
    Ok(all)
}

/// The share of each value of another feature at each level.
struct Between {
    /// For each of its ascending values the shares at all levels.
    shares: Vec<Vec<f64>>,
}

impl Between {
    fn new(data: &Dataset, (feature, levels): (usize, &Levels), other: usize) -> Self {
        let values = data.feature(other);
        let rows = data.weighted(feature).enumerate().filter(|(_, (_, weight))| *weight > 0.0);
        let mut rows: Vec<(f64, usize, f64)> = rows
            .filter_map(|(row, (x, weight))| Some((values[row] + 0.0, levels.place(x)?, weight)))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut shares: Vec<Vec<f64>> = Vec::new();
        let mut last = f64::NAN;
        for (value, place, weight) in rows {
            if value != last {
                shares.push(vec![0.0; levels.len()]);
                last = value;
            }
            if let Some(at) = shares.last_mut() {
                at[place] += weight / levels.counts[place];
            }
        }
        Self { shares }
    }

    fn distance(&self, i: usize, j: usize, is_nominal: bool) -> f64 {
        let differences = self.shares.iter().map(|at| at[i] - at[j]);
        if is_nominal {
            return 0.5 * differences.map(f64::abs).sum::<f64>();
        }
        let mut sum = 0.0_f64;
        differences.fold(0.0_f64, |most, difference| {
            sum += difference;
            most.max(sum.abs())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::LevelNames;

    fn data() -> Dataset {
        // Levels 0 and 2 have alike x, level 1 another; x and the word agree.
        let rows = ndarray::array![
            [0.0, 0.0, 5.0],
            [0.0, 1.0, 5.0],
            [1.0, 8.0, 7.0],
            [1.0, 9.0, 7.0],
            [1.0, 9.5, 7.0],
            [2.0, 1.0, 5.0],
            [2.0, 2.0, 6.0],
        ];
        let kinds = vec![FeatureKind::Nominal, FeatureKind::Continuous, FeatureKind::Nominal];
        let names = LevelNames::of_words(["u", "w", "v"]).unwrap();
        let data = Dataset::from_rows(&rows.view()).unwrap();
        data.with_kinds(kinds).unwrap().with_levels(0, names).unwrap()
    }

    fn order(data: &Dataset, rule: LevelOrder, response: Option<&[f64]>) -> Vec<String> {
        let levels = data.levels(0).unwrap().unwrap();
        let order = Order::of(rule, (data, 0), &levels, response).unwrap();
        order.record(&levels).names
    }

    #[test]
    fn each_rule_has_its_own_order() {
        let data = data();
        assert_eq!(order(&data, LevelOrder::Given, None), ["u", "w", "v"]);
        assert_eq!(order(&data, LevelOrder::Name, None), ["u", "v", "w"]);
        assert_eq!(order(&data, LevelOrder::Frequency, None), ["w", "u", "v"]);
        let response = [3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0];
        assert_eq!(order(&data, LevelOrder::Response, Some(&response)), ["v", "w", "u"]);
        // u is nearest to v.
        assert_eq!(order(&data, LevelOrder::Similarity, None), ["u", "v", "w"]);
    }

    /// Three levels that are equally far from each other, and two pairs of the same: no direction is longest in the first,
    /// and the second has the pairs apart, each as it is given.
    #[test]
    fn directions_of_the_same_length_are_none() {
        let equal = DMatrix::from_fn(3, 3, |i, j| if i == j { 0.0 } else { 0.7 });
        assert!(scaled(&equal).is_none());
        let pairs = DMatrix::from_fn(4, 4, |i, j| if i % 2 == j % 2 { 0.0 } else { 0.3 });
        let coordinate = scaled(&pairs).unwrap();
        assert!(coordinate[0] == coordinate[2] && coordinate[1] == coordinate[3]);
        assert!(coordinate[0] < 0.0 && coordinate[1] > 0.0);
        // The first lies in the middle, and the second is below it.
        let line = [0.0, -1.0, 1.0_f64];
        let coordinate = scaled(&DMatrix::from_fn(3, 3, |i, j| (line[i] - line[j]).abs())).unwrap();
        assert!(coordinate[0] == 0.0 && coordinate[1] < 0.0 && coordinate[2] > 0.0);
    }

    #[test]
    fn distances_are_those_by_hand() {
        let data = data();
        let levels = data.levels(0).unwrap().unwrap();
        let distances = distances(&data, 0, &levels).unwrap();
        // Of x: F_u − F_v is ½ at 0 and ½ at 1; of the word: half of |1 − ½| + |0 − ½|.
        assert!((distances[(0, 2)] - (0.5 + 0.5)).abs() < 1e-15);
        assert!((distances[(0, 1)] - 2.0).abs() < 1e-15);
    }

    #[test]
    fn levels_without_other_features_are_as_they_are_given() {
        let data = Dataset::from_rows(&ndarray::array![[0.0], [1.0], [2.0]].view()).unwrap();
        let data = data.with_kinds(vec![FeatureKind::Nominal]).unwrap();
        let names = LevelNames::new([(2.0, "c".into()), (0.0, "a".into()), (1.0, "b".into())]);
        let data = data.with_levels(0, names.unwrap()).unwrap();
        assert_eq!(order(&data, LevelOrder::Similarity, None), ["c", "a", "b"]);
    }
}
