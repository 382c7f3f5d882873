//! Scenarios: exact truths, datasets and the function itself.

use std::ops::Range;

use fe_bench::data::features::pairs_that_f_reads;
use fe_bench::data::sample;
use fe_bench::score;
use fe_core::interrupt;
use fe_core::model::Rows;
use fe_core::{Axis, Dataset};
use fe_truth::{Centring, Index, PairEffect, Quantity, Regional, Truth, Weighting};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::{Feature, count, plain, whole, word};
use crate::arrays::{self, Doubles};
use crate::effect;
use crate::errors::Raise;
use crate::surface::Surface;
use crate::threads;
use crate::truths::{Answers, answers};

/// Value, bound on its error, and how it was obtained.
type Answer = (f64, f64, &'static str);

/// An index: its name, its features counted from 1, and the answer or why there is none.
type IndexAnswer = (&'static str, Vec<usize>, Option<Answer>, Option<String>);

/// A vector of doubles.
type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// The argument that holds the text of a problem file.
const TEXT: &str = "_text";

/// A law of the features, a function of them, and the exact truths of the pair.
#[pyclass(frozen, subclass, module = "feature_effects_bench._native")]
pub(crate) struct Scenario {
    pub(crate) inner: fe_truth::Scenario,
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (name, /, **parameters))]
    fn new(name: &str, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut set = Vec::new();
        let mut text = None;
        for (key, value) in parameters.into_iter().flatten() {
            match key.extract::<String>()? {
                // No parameter of a file can be called so.
                key if key == TEXT => text = Some(value.extract::<String>()?),
                key => set.push((key, value.str()?.to_string())),
            }
        }
        if let Some(text) = text {
            return Ok(Self { inner: fe_truth::problem(name, &text, &set).map_err(Raise::raise)? });
        }
        Ok(Self { inner: fe_bench::data::scenarios::find(name, &set).map_err(Raise::raise)? })
    }

    /// Arguments that make the same scenario again.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        let parameters = self.parameters(py)?;
        let Some(text) = self.inner.text() else {
            return Ok(((self.inner.id(),), parameters));
        };
        parameters.set_item(TEXT, text)?;
        Ok(((self.inner.info().name.to_owned(),), parameters))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("scenario('{}'", self.inner.id());
        for (key, value) in self.parameters(py)? {
            let value = value.extract::<String>()?;
            let quote = if value.parse::<f64>().is_ok() { "" } else { "'" };
            text += &format!(", {key}={quote}{value}{quote}");
        }
        Ok(text + ")")
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.key().hash(&mut hasher);
        hasher.finish()
    }

    /// Name.
    #[getter]
    fn name(&self) -> &'static str {
        self.inner.info().name
    }

    /// Version: counts changes of the function, the law, a default or a range.
    #[getter]
    fn version(&self) -> u32 {
        self.inner.info().version
    }

    /// Name and version, such as `sin-indicator@1`.
    #[getter]
    fn id(&self) -> String {
        self.inner.id()
    }

    /// Purpose, in one line.
    #[getter]
    fn about(&self) -> &'static str {
        self.inner.info().about
    }

    /// The function, as a formula.
    #[getter]
    fn formula(&self) -> &'static str {
        self.inner.info().formula
    }

    /// The law of the features.
    #[getter]
    fn law(&self) -> &'static str {
        self.inner.info().law
    }

    /// Number of features.
    #[getter]
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    /// Names of the features, in their order.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        (0..self.inner.dimension()).map(|feature| self.inner.feature_name(feature)).collect()
    }

    /// All parameters and their values, as texts.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        for pair in self.inner.parameters().split(';') {
            if let Some((key, value)) = pair.split_once('=') {
                parameters.set_item(key, value)?;
            }
        }
        Ok(parameters)
    }

    /// The range of a feature: its support if bounded.
    fn axis(&self, feature: Feature) -> PyResult<(f64, f64)> {
        Ok(self.inner.axis(self.feature(&feature)?))
    }

    /// The levels of a feature that has some, ascending: value, name and probability of each. None of a number.
    fn levels(&self, feature: Feature) -> PyResult<Option<Vec<(f64, String, f64)>>> {
        let levels = self.inner.levels(self.feature(&feature)?);
        let row = |level: fe_truth::Level| (level.value, level.name, level.probability);
        Ok(levels.map(|levels| levels.into_iter().map(row).collect()))
    }

    /// The smallest interval that holds a feature with probability 1.
    fn support(&self, feature: Feature) -> PyResult<(f64, f64)> {
        Ok(self.inner.support(self.feature(&feature)?))
    }

    /// Fixed places where the function jumps or has a kink along a feature.
    fn breaks<'py>(&self, py: Python<'py>, feature: Feature) -> PyResult<Vector<'py>> {
        Ok(self.inner.breaks(self.feature(&feature)?).into_pyarray(py))
    }

    /// Equidistant points over the range of a feature, both ends among them.
    #[pyo3(signature = (feature, points = None))]
    fn grid<'py>(
        &self,
        py: Python<'py>,
        feature: Feature,
        points: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vector<'py>> {
        const MOST: usize = 10_000_000;
        let points = points.map_or(Ok(100), |given| count("points", given))?;
        if !(1..=MOST).contains(&points) {
            return Err(format!("points = {points}: must be from 1 to {MOST}").raise());
        }
        let (lo, hi) = self.inner.axis(self.feature(&feature)?);
        Ok(Axis::new(lo, hi).map_err(Raise::raise)?.grid(points).into_pyarray(py))
    }

    /// Quantiles of a feature at probabilities strictly between 0 and 1.
    fn quantile<'py>(
        &self,
        py: Python<'py>,
        feature: Feature,
        probability: &Bound<'py, PyAny>,
    ) -> PyResult<Doubles<'py>> {
        let feature = self.feature(&feature)?;
        let (probabilities, shape) = arrays::points("probability", probability)?;
        let quantiles = probabilities.iter().map(|&p| self.inner.quantile(feature, p));
        let quantiles = quantiles.collect::<Result<Vec<f64>, _>>().map_err(Raise::raise)?;
        arrays::shaped(py, quantiles, &shape)
    }

    /// The true curve of an effect.
    #[pyo3(name = "_curve", signature = (effect, feature, x, center = "none", range = None))]
    fn curve<'py>(
        &self,
        py: Python<'py>,
        effect: &str,
        feature: Feature,
        x: &Bound<'py, PyAny>,
        center: &str,
        range: Option<(f64, f64)>,
    ) -> PyResult<Answers<'py>> {
        let (effect, center) = (word::<Quantity>(effect)?, word::<Centring>(center)?);
        let feature = self.feature(&feature)?;
        let (points, shape) = arrays::points("x", x)?;
        let range = range.unwrap_or_else(|| self.inner.axis(feature));
        let truths =
            threads::run(py, || self.inner.curve(effect, feature, &points, range, center))?
                .map_err(Raise::raise)?;
        answers(py, &truths, &shape)
    }

    /// The true effect of two features at all pairs of points.
    #[pyo3(name = "_surface", signature = (effect, features, x, x2, center = None, range = None, interaction = false))]
    #[expect(clippy::too_many_arguments, reason = "a function of Python with named arguments")]
    fn surface<'py>(
        &self,
        py: Python<'py>,
        effect: &str,
        features: (Feature, Feature),
        x: &Bound<'py, PyAny>,
        x2: &Bound<'py, PyAny>,
        center: Option<&str>,
        range: Option<((f64, f64), (f64, f64))>,
        interaction: bool,
    ) -> PyResult<Answers<'py>> {
        let effect = word::<Quantity>(effect)?;
        let features = [self.feature(&features.0)?, self.feature(&features.1)?];
        let points = [arrays::vector("x", x)?, arrays::vector("x2", x2)?];
        let is_open = effect != Quantity::Pd || interaction;
        let usual = if is_open { Centring::Data } else { Centring::None };
        let centring = center.map(word::<Centring>).transpose()?.unwrap_or(usual);
        let axes =
            range.map_or(features.map(|s| self.inner.axis(s)), |(first, second)| [first, second]);
        let asked = PairEffect { effect, features, axes, centring, interaction };
        let lists = [&points[0][..], &points[1][..]];
        let truths =
            threads::run(py, || self.inner.surface(&asked, lists))?.map_err(Raise::raise)?;
        answers(py, &truths, &[points[0].len(), points[1].len()])
    }

    /// The truth of what a surface estimates at all pairs of points, centred as that is.
    #[pyo3(name = "_surface_of")]
    fn surface_of<'py>(
        &self,
        py: Python<'py>,
        surface: &Bound<'py, Surface>,
        x: &Bound<'py, PyAny>,
        x2: &Bound<'py, PyAny>,
    ) -> PyResult<Answers<'py>> {
        let points = [arrays::vector("x", x)?, arrays::vector("x2", x2)?];
        surface.get().truth(py, &self.inner, &points)
    }

    /// The true indices of features and pairs: name, features counted from 1, and the answer or why there is none.
    #[pyo3(name = "_indices", signature = (names, features, pairs))]
    fn indices(
        &self,
        py: Python<'_>,
        names: Option<Vec<String>>,
        features: Option<Vec<Feature>>,
        pairs: Option<Vec<(Feature, Feature)>>,
    ) -> PyResult<Vec<IndexAnswer>> {
        let names =
            names.unwrap_or_else(|| Index::ALL.iter().map(|i| i.name().to_owned()).collect());
        let asked =
            names.iter().map(|name| word::<Index>(name)).collect::<PyResult<Vec<Index>>>()?;
        let features = match features {
            None => (0..self.inner.dimension()).collect(),
            Some(given) => {
                given.iter().map(|s| self.feature(s)).collect::<PyResult<Vec<usize>>>()?
            }
        };
        let pairs = match pairs {
            None => pairs_that_f_reads(&self.inner),
            Some(given) => {
                let pair = |(a, b): &(Feature, Feature)| Ok([self.feature(a)?, self.feature(b)?]);
                given.iter().map(pair).collect::<PyResult<Vec<[usize; 2]>>>()?
            }
        };
        let of = |index: Index| -> Vec<Vec<usize>> {
            match index.order() {
                0 => vec![Vec::new()],
                1 => features.iter().map(|&s| vec![s]).collect(),
                _ => pairs.iter().map(|pair| pair.to_vec()).collect(),
            }
        };
        threads::run(py, || {
            let indices = self.inner.indices();
            let mut rows: Vec<IndexAnswer> = Vec::new();
            for &index in &asked {
                for of in of(index) {
                    let truth = indices.index(index, &of);
                    let refused = truth.as_ref().err().map(ToString::to_string);
                    let features = of.iter().map(|s| s + 1).collect();
                    rows.push((index.name(), features, truth.ok().map(answer), refused));
                }
            }
            rows
        })
    }

    /// The true curve of what an estimate estimates, centred as that is.
    #[pyo3(name = "_curve_of")]
    fn curve_of<'py>(
        &self,
        py: Python<'py>,
        effect: &Bound<'py, effect::Effect>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Answers<'py>> {
        let estimate = &effect.get().inner;
        let Some(estimand) = score::estimand_of(estimate.estimator) else {
            return Err(format!("{} estimates no truth", estimate.estimator).raise());
        };
        if estimate.record.levels.is_some() {
            let (points, shape) = arrays::points("x", x)?;
            let found =
                threads::run(py, || score::true_effect(&self.inner, estimand, estimate, &points))?;
            return answers(py, &found.map_err(Raise::raise)?, &shape);
        }
        let (center, range) = score::reference(estimate).map_err(Raise::raise)?;
        let feature = Feature::from_index(estimate.feature);
        self.curve(py, score::truth_of(estimand).name(), feature, x, center.name(), Some(range))
    }

    /// The names and features of curves as papers print them.
    fn limit_names(&self) -> Vec<(String, usize)> {
        self.inner.limits().into_iter().map(|(name, feature)| (name, feature + 1)).collect()
    }

    /// A curve as a paper prints it.
    #[pyo3(signature = (name, feature, x, center = "none", range = None))]
    fn limit<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        feature: Feature,
        x: &Bound<'py, PyAny>,
        center: &str,
        range: Option<(f64, f64)>,
    ) -> PyResult<Doubles<'py>> {
        let (feature, center) = (self.feature(&feature)?, word::<Centring>(center)?);
        let (points, shape) = arrays::points("x", x)?;
        let range = range.unwrap_or_else(|| self.inner.axis(feature));
        let values =
            self.inner.limit(name, feature, &points, range, center).map_err(Raise::raise)?;
        arrays::shaped(py, values, &shape)
    }

    /// True quantities of bins, by name.
    #[pyo3(name = "_bins", signature = (feature, limits, weighting = "uniform"))]
    fn bins<'py>(
        &self,
        py: Python<'py>,
        feature: Feature,
        limits: &Bound<'py, PyAny>,
        weighting: &str,
    ) -> PyResult<Vec<(&'static str, Vector<'py>)>> {
        let (feature, weighting) = (self.feature(&feature)?, word::<Weighting>(weighting)?);
        let limits = arrays::vector("limits", limits)?;
        let bins = threads::run(py, || self.inner.bins(feature, &limits, weighting))?
            .map_err(Raise::raise)?;
        let column = |of: fn(&fe_truth::BinTruth) -> f64| -> Vector<'py> {
            bins.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
        };
        Ok(vec![
            ("mu", column(|bin| bin.mu)),
            ("sigma2", column(|bin| bin.sigma2)),
            ("sigma2_star", column(|bin| bin.sigma2_star)),
            ("bin_error", column(|bin| bin.bin_error)),
            ("abs_error", column(|bin| bin.abs_error)),
        ])
    }

    /// True finite differences over bins, by name.
    #[pyo3(name = "_differences")]
    fn differences<'py>(
        &self,
        py: Python<'py>,
        feature: Feature,
        limits: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<(&'static str, Vector<'py>)>> {
        let feature = self.feature(&feature)?;
        let limits = arrays::vector("limits", limits)?;
        let bins =
            threads::run(py, || self.inner.differences(feature, &limits))?.map_err(Raise::raise)?;
        let column = |of: fn(&fe_truth::DifferenceTruth) -> f64| -> Vector<'py> {
            bins.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
        };
        Ok(vec![
            ("mean", column(|bin| bin.mean)),
            ("variance", column(|bin| bin.variance)),
            ("abs_error", column(|bin| bin.abs_error)),
        ])
    }

    /// True heterogeneity values of a feature, by name.
    #[pyo3(name = "_values", signature = (feature, range = None))]
    fn values(
        &self,
        py: Python<'_>,
        feature: Feature,
        range: Option<(f64, f64)>,
    ) -> PyResult<Vec<(&'static str, Answer)>> {
        let feature = self.feature(&feature)?;
        let range = range.unwrap_or_else(|| self.inner.axis(feature));
        let values = threads::run(py, || self.inner.for_values().values(feature, range))?
            .map_err(Raise::raise)?;
        Ok(values.into_iter().map(|(name, truth)| (name, answer(truth))).collect())
    }

    /// Mean of the function.
    #[pyo3(name = "_mean")]
    fn mean(&self, py: Python<'_>) -> PyResult<Answer> {
        threads::run(py, || self.inner.mean())?.map(answer).map_err(Raise::raise)
    }

    /// Standard deviation of the function.
    #[pyo3(name = "_sd")]
    fn sd(&self, py: Python<'_>) -> PyResult<Answer> {
        threads::run(py, || self.inner.sd())?.map(answer).map_err(Raise::raise)
    }

    /// Shapley values at a point, and last what the empty coalition is worth.
    fn shap_at<'py>(
        &self,
        py: Python<'py>,
        point: &Bound<'py, PyAny>,
    ) -> PyResult<(Vector<'py>, Vector<'py>)> {
        let point = arrays::vector("point", point)?;
        let truths = threads::run(py, || self.inner.shap_at(&point))?.map_err(Raise::raise)?;
        let column = |of: fn(&Truth) -> f64| -> Vector<'py> {
            truths.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
        };
        Ok((column(|truth| truth.value), column(|truth| truth.abs_error)))
    }

    /// The best split of a feature's effect, for each heterogeneity value of a method.
    fn regional<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        feature: Feature,
    ) -> PyResult<Bound<'py, PyList>> {
        let (method, feature) = (word::<Regional>(method)?, self.feature(&feature)?);
        let optima =
            threads::run(py, || self.inner.regional(method, feature))?.map_err(Raise::raise)?;
        let optima = optima.iter().map(|optimum| {
            let split = optimum.split;
            plain(
                py,
                &serde_json::json!({
                    "heterogeneity": optimum.heterogeneity,
                    "split_feature": split.map(|split| split.feature + 1),
                    "position": split.map(|split| split.position),
                    "before": optimum.before.value,
                    "left": split.map(|split| split.left.value),
                    "right": split.map(|split| split.right.value),
                    "weighted": optimum.weighted().value,
                }),
            )
        });
        PyList::new(py, optima.collect::<PyResult<Vec<_>>>()?)
    }

    /// Features and target of a dataset.
    #[pyo3(signature = (n, seed, snr = None, replicate = None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: &Bound<'py, PyAny>,
        seed: &Bound<'py, PyAny>,
        snr: Option<f64>,
        replicate: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vector<'py>)> {
        let (n, seed) = (count("n", n)?, whole("seed", seed)?);
        let replicate = replicate.map_or(Ok(0), |given| count("replicate", given))?;
        let drawn = threads::run(py, || -> fe_bench::Result<_> {
            let data = sample::features(&self.inner, seed, n, replicate)?;
            let y = sample::target(&self.inner, &data, seed, snr.unwrap_or_default(), replicate)?;
            Ok((data.into_features(), y))
        })?;
        let (features, y) = drawn.map_err(Raise::raise)?;
        Ok((features.reversed_axes().into_pyarray(py), y.into_pyarray(py)))
    }

    /// The function at each row.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = self.rows(x)?;
        let mut values = vec![0.0; data.len()];
        threads::run(py, || {
            self.each_block(&data, |rows, range| {
                self.inner.model().predict(rows, &mut values[range])
            })
        })?
        .map_err(|e| fe_core::Error::from(e).raise())?;
        Ok(values.into_pyarray(py))
    }

    /// The partial derivatives of the function at each row.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let data = self.rows(x)?;
        let mut partials = Array2::zeros((data.dimension(), data.len()));
        threads::run(py, || {
            let of_features = partials.as_slice_mut().unwrap_or_default();
            self.each_block(&data, |rows, range| {
                for (feature, values) in of_features.chunks_mut(data.len()).enumerate() {
                    self.inner.model().partial(feature, rows, &mut values[range.clone()])?;
                }
                Ok(())
            })
        })?
        .map_err(|e: fe_core::ModelError| fe_core::Error::from(e).raise())?;
        Ok(partials.reversed_axes().into_pyarray(py))
    }
}

impl Scenario {
    fn key(&self) -> (String, String, Option<&str>) {
        (self.inner.id(), self.inner.parameters(), self.inner.text())
    }

    fn feature(&self, feature: &Feature) -> PyResult<usize> {
        feature.of_scenario(&self.inner)
    }

    /// Asks block by block, between which it can be interrupted.
    fn each_block(
        &self,
        data: &Dataset,
        mut ask: impl FnMut(&Rows<'_>, Range<usize>) -> Result<(), fe_core::ModelError>,
    ) -> Result<(), fe_core::ModelError> {
        const BLOCK: usize = 1 << 14;
        for start in (0..data.len()).step_by(BLOCK) {
            interrupt::check();
            let range = start..data.len().min(start + BLOCK);
            ask(&Rows::new(&data.columns(range.clone()), range.len()), range)?;
        }
        Ok(())
    }

    /// Rows of the function's features.
    fn rows(&self, x: &Bound<'_, PyAny>) -> PyResult<Dataset> {
        let data = Dataset::from_features(arrays::columns("X", x)?).map_err(Raise::raise)?;
        if data.dimension() != self.inner.dimension() {
            let (model, data) = (self.inner.dimension(), data.dimension());
            let wrong = fe_core::ModelError::WrongDimension { model, data };
            return Err(fe_core::Error::from(wrong).raise());
        }
        Ok(data)
    }
}

fn answer(truth: Truth) -> Answer {
    (truth.value, truth.abs_error, truth.method.name())
}
