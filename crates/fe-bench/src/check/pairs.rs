//! Effects of pairs of features, and indices, held to their truths.

use fe_core::effect::Surface;
use fe_core::estimator::Estimand;
use fe_core::estimator::pair::PairEstimatorInfo;
use fe_core::indices::{self, Index, IndexOptions, Measured};
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::replicates::{Summary, Test};
use fe_core::{Axis, AxisChoice, Centring, Dataset, Settings};
use fe_truth::{PairEffect, Scenario, Truth};

use super::{Plan, Standard, Tested, Tests, UnderTest, shrinks};
use crate::data::features::pairs_that_f_reads;
use crate::data::sample;
use crate::error::Result;
use crate::score::truth_of;

/// Points of each feature at which surfaces are compared.
const POINTS: usize = 6;

/// The pairs of features of a scenario, and its indices.
pub(super) struct OfPairs<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) plan: Plan,
    pub(super) seed: u64,
}

/// Tests with the features that they are of, counted from 0.
type OfFeatures = (Vec<usize>, Tests);

impl OfPairs<'_> {
    pub(super) fn tests(&self, held: UnderTest<'_>) -> Result<Vec<OfFeatures>> {
        let mut pairs = pairs_that_f_reads(self.scenario);
        pairs.truncate(self.plan.pairs);
        let mut tests = Vec::new();
        if !held.pairs.is_empty() && !pairs.is_empty() {
            let data = self.draw([self.plan.rows, self.plan.sizes.0, self.plan.sizes.1])?;
            for &features in &pairs {
                let of = OfPair { scenario: self.scenario, features };
                for info in held.pairs {
                    tests.extend(
                        of.tests(info, &data).into_iter().map(|of| (features.to_vec(), of)),
                    );
                }
            }
        }
        let is_held = self.scenario.dimension() <= self.plan.dimension_of_indices;
        if is_held && !held.indices.is_empty() {
            let data = self.draw([self.plan.costly_sizes.0, self.plan.costly_sizes.1])?;
            tests.extend(self.indices(held.indices, &pairs, &data));
        }
        Ok(tests)
    }

    fn draw<const SIZES: usize>(&self, sizes: [usize; SIZES]) -> Result<[Vec<Dataset>; SIZES]> {
        let mut drawn: [Vec<Dataset>; SIZES] = std::array::from_fn(|_| Vec::new());
        for (data, rows) in drawn.iter_mut().zip(sizes) {
            for replicate in 0..self.plan.replicates {
                data.push(sample::features(self.scenario, self.seed, rows, replicate)?);
            }
        }
        Ok(drawn)
    }

    /// Tests that squared errors of indices fall. Those that have no truth, or are refused of too few rows, are left out.
    fn indices(
        &self,
        asked: &[Index],
        pairs: &[[usize; 2]],
        data: &[Vec<Dataset>; 2],
    ) -> Vec<OfFeatures> {
        let features: Vec<usize> =
            (0..self.scenario.dimension().min(self.plan.costly_features)).collect();
        let truths = self.scenario.indices();
        let mut tests = Vec::new();
        for &index in asked {
            let Ok(exact) = index.name().parse::<fe_truth::Index>() else { continue };
            let of: Vec<Vec<usize>> = match index.order() {
                0 => vec![Vec::new()],
                1 => features.iter().map(|&feature| vec![feature]).collect(),
                _ => pairs.iter().map(|pair| pair.to_vec()).collect(),
            };
            for of in of {
                let Ok(truth) = truths.index(exact, &of) else { continue };
                let errors = |data: &[Dataset]| -> Vec<f64> {
                    let found = data.iter().filter_map(|data| self.index(index, &of, data));
                    found.map(|found| (found.value - truth.value).powi(2)).collect()
                };
                let [small, large] = [errors(&data[0]), errors(&data[1])];
                let shared = small.len().min(large.len());
                if shared < 2 {
                    continue;
                }
                let outcome = shrinks("squared error", &small[..shared], &large[..shared]);
                tests.push((
                    of,
                    Tests { kind: Standard::Convergence, estimator: index.name(), outcome },
                ));
            }
        }
        tests
    }

    fn index(&self, index: Index, of: &[usize], data: &Dataset) -> Option<Measured> {
        let pair = <[usize; 2]>::try_from(of).ok();
        let one = <[usize; 1]>::try_from(of).ok();
        let subjects = (one.as_slice().as_flattened(), pair.as_slice());
        let options = IndexOptions::default();
        let found = indices::estimate(data, self.scenario.model(), &[index], subjects, &options);
        found.ok()?.estimates.first()?.estimate.clone().ok()
    }
}

/// A pair of features of a scenario.
struct OfPair<'a> {
    scenario: &'a Scenario,
    features: [usize; 2],
}

impl OfPair<'_> {
    /// The tests of an estimator; none where its effect has no truth.
    fn tests(&self, info: &PairEstimatorInfo, data: &[Vec<Dataset>; 3]) -> Vec<Tests> {
        let [agreeing, small, large] = data;
        let test = |kind, outcome| Tests { kind, estimator: info.name, outcome };
        let points = match self.points() {
            Ok(points) => points,
            Err(reason) => return vec![test(Standard::Convergence, Err(reason))],
        };
        let is_pd = self.estimand(info) == Some(Estimand::PartialDependence);
        let Ok(truths) = self.truths(info, &points) else { return Vec::new() };
        let errors = |data: &[Dataset]| {
            let error = |data: &Dataset| {
                let found = self.values(info, data, &points)?;
                let exact: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
                Ok(Distance::Mse.between(&centred_on_grid(&found), &centred_on_grid(&exact)))
            };
            data.iter().map(error).collect::<std::result::Result<Vec<f64>, String>>()
        };
        let outcome =
            errors(small).and_then(|small| shrinks("squared error", &small, &errors(large)?));
        let mut tests = vec![test(Standard::Convergence, outcome)];
        if is_pd {
            let outcome = self.agreement(info, agreeing, &points, &truths);
            tests.push(test(Standard::Agreement, outcome));
        }
        tests
    }

    /// Tests that means over datasets are the truth at each pair of points.
    fn agreement(
        &self,
        info: &PairEstimatorInfo,
        data: &[Dataset],
        points: &[Vec<f64>; 2],
        truths: &[Truth],
    ) -> std::result::Result<Vec<Tested>, String> {
        let found = data.iter().map(|data| self.values(info, data, points));
        let found = found.collect::<std::result::Result<Vec<Vec<f64>>, String>>()?;
        let mut tested = Vec::new();
        for (place, truth) in truths.iter().enumerate() {
            let values: Vec<f64> = found.iter().map(|values| values[place]).collect();
            let summary = Summary::of(&values);
            let allowed = truth.abs_error + 1e-9 * (1.0 + truth.value.abs());
            let close = summary.mean.filter(|mean| (mean - truth.value).abs() <= allowed);
            let Some(test) = Test::of_mean(&summary, close.unwrap_or(truth.value)) else {
                return Err("agreement needs two replicates".to_owned());
            };
            let [x, y] = [points[0][place / points[1].len()], points[1][place % points[1].len()]];
            let mean = summary.mean.unwrap_or(f64::NAN);
            let what = format!("pd at {x:.4}, {y:.4}: {mean:.6} instead of {:.6}", truth.value);
            tested.push(Tested { what, p: test.p, test });
        }
        Ok(tested)
    }

    fn estimand(&self, info: &PairEstimatorInfo) -> Option<Estimand> {
        let default = Settings::default();
        (info.build)([&default, &default]).ok().map(|built| built.estimand())
    }

    /// The values of an estimate at all pairs of points: of a partial dependence as they are, on bins that get narrower as
    /// rows are added elsewhere.
    fn values(
        &self,
        info: &PairEstimatorInfo,
        data: &Dataset,
        points: &[Vec<f64>; 2],
    ) -> std::result::Result<Vec<f64>, String> {
        let takes = |option: &str| info.options.contains(&option);
        let bins = (2.0 * (data.len() as f64).powf(0.25)) as usize;
        let settings = |side: usize| {
            let has_levels = self.scenario.levels(self.features[side]).is_some();
            let (lo, hi) = self.scenario.axis(self.features[side]);
            Settings {
                axis: Some(AxisChoice::Given(lo, hi)),
                bins: (takes("bins") && !has_levels).then_some(bins),
                points: takes("points").then(|| points[side].clone()),
                center: takes("points").then_some(Centring::None),
                ..Settings::default()
            }
        };
        let built = (info.build)([&settings(0), &settings(1)]).map_err(|e| e.to_string())?;
        let surfaces = built.estimate(data, self.scenario.model(), self.features);
        let surfaces: Vec<Surface> = surfaces.map_err(|e| e.to_string())?;
        let first = surfaces.first().ok_or_else(|| "no output".to_owned())?;
        first.at_all([&points[0], &points[1]]).map_err(|e| e.to_string())
    }

    fn truths(
        &self,
        info: &PairEstimatorInfo,
        points: &[Vec<f64>; 2],
    ) -> std::result::Result<Vec<Truth>, String> {
        let estimand = self.estimand(info).ok_or_else(|| "no estimand".to_owned())?;
        let centring = match estimand {
            Estimand::PartialDependence => fe_truth::Centring::None,
            _ => fe_truth::Centring::Data,
        };
        let asked = PairEffect {
            effect: truth_of(estimand),
            features: self.features,
            axes: self.features.map(|feature| self.scenario.axis(feature)),
            centring,
            interaction: false,
        };
        self.scenario.surface(&asked, [&points[0], &points[1]]).map_err(|e| e.to_string())
    }

    fn points(&self) -> std::result::Result<[Vec<f64>; 2], String> {
        let of = |feature: usize| {
            if let Some(levels) = self.scenario.levels(feature) {
                return Ok::<_, String>(levels.iter().map(|level| level.value).collect());
            }
            let (lo, hi) = self.scenario.axis(feature);
            Ok(Axis::new(lo, hi).map_err(|e| e.to_string())?.grid(POINTS))
        };
        Ok([of(self.features[0])?, of(self.features[1])?])
    }
}
