//! Effects of two features.

use std::collections::BTreeMap;

use fe_bench::score::comparison::Comparison;
use fe_bench::score::pairs::{ComparingPairs, PairTruths, truth_beside};
use fe_bench::score::{Metric, Score};
use fe_core::Axis;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde::{Deserialize, Serialize};

use crate::arguments::plain;
use crate::arrays::{self, Doubles};
use crate::effect::{hash, limits_of, read, results, write};
use crate::errors::Raise;
use crate::threads;
use crate::truths::{Answers, answers};

/// The estimated effect of two features on one output of a model.
#[pyclass(frozen, module = "feature_effects_bench._native")]
pub(crate) struct Surface {
    pub(crate) inner: fe_core::effect::Surface,
}

/// A surface as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The contents of a file, and their form.
    format: String,
    surface: fe_core::effect::Surface,
}

/// The form in which surfaces are written.
const FORMAT: &str = "feature-effects-bench surface 1";

impl Surface {
    /// The truth of it at all pairs of points, centred as it is.
    pub(crate) fn truth<'py>(
        &self,
        py: Python<'py>,
        scenario: &fe_truth::Scenario,
        points: &[Vec<f64>; 2],
    ) -> PyResult<Answers<'py>> {
        let lists = [&points[0][..], &points[1][..]];
        let truths = threads::run(py, || truth_beside(scenario, &self.inner, lists))?;
        let shape = [points[0].len(), points[1].len()];
        answers(py, &truths.map_err(Raise::raise)?, &shape)
    }

    /// Metrics against the truth of a scenario, at all pairs of some points.
    pub(crate) fn score(
        &self,
        py: Python<'_>,
        scenario: &fe_truth::Scenario,
        points: Option<[Vec<f64>; 2]>,
        (comparison, metrics): (Comparison, &[Metric]),
    ) -> PyResult<Vec<(&'static str, Score)>> {
        let grid = match points {
            Some(points) => points,
            None => [self.grid(scenario, 0)?, self.grid(scenario, 1)?],
        };
        let axis = |side: usize| &self.inner.record.sides[side].axis;
        let within = |side: usize| -> Vec<f64> {
            grid[side].iter().copied().filter(|x| axis(side).contains(*x)).collect()
        };
        let points = [within(0), within(1)];
        let comparing = ComparingPairs {
            points: [&points[0], &points[1]],
            grid: [&grid[0], &grid[1]],
            comparison,
        };
        let truths = PairTruths::default();
        let score = |metric: &Metric| {
            (metric.name(), truths.score(scenario, &self.inner, comparing, *metric))
        };
        threads::run(py, || metrics.iter().map(score).collect())
    }

    /// The points of a feature where nothing else is said: equidistant ones over the range of the scenario, or levels.
    fn grid(&self, scenario: &fe_truth::Scenario, side: usize) -> PyResult<Vec<f64>> {
        const POINTS: usize = 21;
        let feature = self.inner.features[side];
        if let Some(levels) = scenario.levels(feature) {
            return Ok(levels.iter().map(|level| level.value).collect());
        }
        let (lo, hi) = scenario.axis(feature);
        Ok(Axis::new(lo, hi).map_err(Raise::raise)?.grid(POINTS))
    }
}

#[pymethods]
impl Surface {
    /// A surface as it was written by `to_json`, or for pickle.
    #[new]
    fn from_text(text: &str) -> PyResult<Self> {
        let Written { format, surface } = read("a surface", text)?;
        if format != FORMAT {
            return Err(format!("the form is `{format}`; known is `{FORMAT}`").raise());
        }
        Ok(Self { inner: surface })
    }

    /// The whole of it as JSON, from which `from_json` makes it again.
    fn to_json(&self) -> PyResult<String> {
        write(&Written { format: FORMAT.to_owned(), surface: self.inner.clone() })
    }

    /// The surface that `to_json` wrote.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Self::from_text(text)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let text = slf.get().to_json()?;
        Ok((slf.get_type(), (text,)).into_pyobject(slf.py())?.into_any())
    }

    /// True if both are the same to the bit.
    fn __eq__(&self, other: &Self) -> PyResult<bool> {
        Ok(self.to_json()? == other.to_json()?)
    }

    fn __hash__(&self) -> PyResult<u64> {
        Ok(hash(&self.to_json()?))
    }

    fn __repr__(&self) -> String {
        let Self { inner } = self;
        let [first, second] = [0, 1].map(|side: usize| inner.x[side].len());
        format!("<{} of {}: {first} × {second} points>", inner.estimator, inner.names.join(" and "))
    }

    /// The effect at pairs of points: of numbers or arrays of one shape.
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        x2: &Bound<'py, PyAny>,
    ) -> PyResult<Doubles<'py>> {
        let ((first, shape), (second, other)) =
            (arrays::points("x", x)?, arrays::points("x2", x2)?);
        if shape != other {
            let (shape, other) = (arrays::tuple(&shape), arrays::tuple(&other));
            let message = format!("x has the shape {shape} and x2 {other}: both need the same");
            return Err(message.raise());
        }
        let values = first.iter().zip(&second).map(|(&x, &y)| self.inner.at([x, y]));
        let values = values.collect::<Result<Vec<f64>, _>>().map_err(Raise::raise)?;
        arrays::shaped(py, values, &shape)
    }

    /// The two features, counted from 1.
    #[getter]
    fn features(&self) -> (usize, usize) {
        (self.inner.features[0] + 1, self.inner.features[1] + 1)
    }

    /// Their names.
    #[getter]
    fn names(&self) -> (&str, &str) {
        (&self.inner.names[0], &self.inner.names[1])
    }

    /// The output of the model, counted from 1.
    #[getter]
    fn output(&self) -> usize {
        self.inner.output + 1
    }

    /// Name of the estimator.
    #[getter]
    fn estimator(&self) -> &'static str {
        self.inner.estimator
    }

    /// The points of the first feature: a grid, the limits of bins, or levels.
    #[getter]
    fn x<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.x[0])
    }

    /// Those of the second one.
    #[getter]
    fn x2<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.x[1])
    }

    /// The effect at all pairs of points, a row for each point of the first feature.
    #[getter]
    fn effect<'py>(&self, py: Python<'py>) -> PyResult<Doubles<'py>> {
        let shape = [self.inner.x[0].len(), self.inner.x[1].len()];
        arrays::shaped(py, self.inner.values.clone(), &shape)
    }

    /// The limits of a confidence band at all pairs of points by name, in the shape of `effect`, where the option `band`
    /// asked for one.
    #[getter]
    fn band<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<BTreeMap<&'static str, Bound<'py, PyAny>>>> {
        let Some(band) = &self.inner.confidence else { return Ok(None) };
        let shape = [self.inner.x[0].len(), self.inner.x[1].len()];
        let at_points =
            |limit: &Vec<f64>| Ok(arrays::shaped(py, limit.clone(), &shape)?.into_any());
        limits_of(py, band, at_points).map(Some)
    }

    /// The weight of the instances in each cell between neighbouring points, or at each level.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Doubles<'py>> {
        let homes = |side: usize| {
            let points = self.inner.x[side].len();
            if self.inner.record.sides[side].levels.is_some() { points } else { points - 1 }
        };
        arrays::shaped(py, self.inner.counts.clone(), &[homes(0), homes(1)])
    }

    /// What must be known before it is read: many cells without instances.
    #[getter]
    fn caution(&self) -> Option<String> {
        self.inner.record.cells.and_then(|cells| cells.caution())
    }

    /// Record of what was done.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.inner.record)
    }

    /// Draws it as a heat map into axes of matplotlib, new ones unless given; returns the axes.
    #[pyo3(signature = (ax = None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("plot_surface", (slf, ax))
    }

    /// Its values as a frame of pandas or, where there is none, of polars: a row for each pair of points.
    fn to_frame<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("surface_to_frame", (slf,))
    }

    /// A picture for a notebook; none without matplotlib.
    fn _repr_png_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("png", (slf.getattr("plot")?,))
    }
}

/// An index: its name, its features counted from 1, and its numbers or why there are none.
pub(crate) type IndexRow<'py> =
    (&'static str, Vec<usize>, usize, Bound<'py, PyAny>, Option<String>);

/// Estimated indices as rows.
pub(crate) fn index_rows<'py>(
    py: Python<'py>,
    found: &fe_core::indices::IndexEstimates,
) -> PyResult<Vec<IndexRow<'py>>> {
    let row = |of: &fe_core::indices::IndexEstimate| {
        let features = of.features.iter().map(|feature| feature + 1).collect();
        let numbers = match &of.estimate {
            Ok(measured) => {
                let (lower, upper) = measured.interval().unzip();
                Some((measured.value, measured.standard_error, lower, upper, measured.rows))
            }
            Err(_) => None,
        };
        let refused = of.estimate.as_ref().err().map(ToString::to_string);
        let numbers = numbers.into_pyobject(py)?.into_any();
        Ok((of.index.name(), features, of.output + 1, numbers, refused))
    };
    found.estimates.iter().map(row).collect()
}
