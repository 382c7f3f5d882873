//! Estimated effects.

use std::collections::BTreeMap;

use fe_core::effect::Bins;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arguments::plain;
use crate::arrays::{self, Doubles};
use crate::errors::Raise;

/// A vector of doubles.
type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// The estimated effect of one feature on one output of a model.
#[pyclass(frozen, module = "feature_effects_bench._native")]
pub(crate) struct Effect {
    pub(crate) inner: fe_core::Effect,
    /// The curve and its heterogeneity at its knots.
    y: Vec<f64>,
    heterogeneity: Vec<f64>,
    curves: Option<Py<Curves>>,
    deciles: [f64; 11],
}

/// The curves of the instances, for `ice` and `dice`.
#[pyclass(frozen, module = "feature_effects_bench._native")]
pub(crate) struct Curves {
    /// The T points.
    #[pyo3(get)]
    x: Py<PyArray1<f64>>,
    /// The N rows of the data whose curves they are, counted from 0.
    #[pyo3(get)]
    rows: Py<PyArray1<i64>>,
    /// The curves, N × T.
    #[pyo3(get)]
    values: Py<PyArray2<f64>>,
}

impl Effect {
    pub(crate) fn new(
        py: Python<'_>,
        mut inner: fe_core::Effect,
        deciles: [f64; 11],
    ) -> PyResult<Self> {
        let x = inner.curve.x();
        let y = inner.curve.at_all(x).map_err(Raise::raise)?;
        let heterogeneity = inner.heterogeneity.at_all(x).map_err(Raise::raise)?;
        let curves = inner.curves.take().map(|curves| {
            let rows: Vec<i64> = curves.rows.iter().map(|&row| row as i64).collect();
            let curves = Curves {
                x: curves.x.into_pyarray(py).unbind(),
                rows: rows.into_pyarray(py).unbind(),
                values: curves.values.into_pyarray(py).unbind(),
            };
            Py::new(py, curves)
        });
        Ok(Self { y, heterogeneity, curves: curves.transpose()?, deciles, inner })
    }

    /// Something of the bins, for effects that have them.
    fn of_bins<'py>(&self, py: Python<'py>, of: impl Fn(&Bins) -> Vec<f64>) -> Option<Vector<'py>> {
        self.inner.bins.as_ref().map(|bins| of(bins).into_pyarray(py))
    }
}

#[pymethods]
impl Effect {
    fn __repr__(&self) -> String {
        let (lo, hi) = self.inner.curve.range();
        let effect = &self.inner;
        let bins = match &effect.bins {
            Some(bins) => format!(", {} bins", bins.partition.bins()),
            None => String::new(),
        };
        let output = if effect.output == 0 {
            String::new()
        } else {
            format!(" on output {}", effect.output + 1)
        };
        format!("<{} of {}{output} on [{lo}, {hi}]{bins}>", effect.estimator, effect.name)
    }

    /// The effect at some points.
    fn __call__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Doubles<'py>> {
        let (points, shape) = arrays::points("x", x)?;
        arrays::shaped(py, self.inner.curve.at_all(&points).map_err(Raise::raise)?, &shape)
    }

    /// The heterogeneity at some points.
    fn heterogeneity_at<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Doubles<'py>> {
        let (points, shape) = arrays::points("x", x)?;
        arrays::shaped(py, self.inner.heterogeneity.at_all(&points).map_err(Raise::raise)?, &shape)
    }

    /// The feature, counted from 1.
    #[getter]
    fn feature(&self) -> usize {
        self.inner.feature + 1
    }

    /// The feature's name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
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

    /// The knots of the curve.
    #[getter]
    fn x<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, self.inner.curve.x())
    }

    /// The curve at its knots.
    #[getter]
    fn effect<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, &self.y)
    }

    /// The heterogeneity curve at the same places; NaN where it is undefined.
    #[getter]
    fn heterogeneity<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, &self.heterogeneity)
    }

    /// The limits of the bins.
    #[getter]
    fn limits<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        self.of_bins(py, |bins| bins.partition.limits().to_vec())
    }

    /// The weight of the instances in each bin.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        self.of_bins(py, |bins| bins.counts.clone())
    }

    /// The mean local effect of each bin.
    #[getter]
    fn bin_effect<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        self.of_bins(py, |bins| bins.effect.clone())
    }

    /// The variance in each bin; NaN where it is undefined.
    #[getter]
    fn bin_variance<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        self.of_bins(py, |bins| {
            bins.variance.iter().map(|variance| variance.unwrap_or(f64::NAN)).collect()
        })
    }

    /// Heterogeneity values by name; None where nothing could be computed.
    #[getter]
    fn heterogeneity_values(&self) -> BTreeMap<&'static str, Option<f64>> {
        self.inner.heterogeneity_values.clone()
    }

    /// Which heterogeneity value is meant if none is named.
    #[getter]
    fn default_heterogeneity(&self) -> &'static str {
        self.inner.default_heterogeneity
    }

    /// The spread of local effects about an accumulated effect, at the limits, by name.
    #[getter]
    fn bands<'py>(&self, py: Python<'py>) -> Option<BTreeMap<&'static str, Vector<'py>>> {
        let bands = self.inner.bands.as_ref()?;
        let at_limits = |curve: &fe_core::Curve| PyArray1::from_slice(py, curve.y());
        Some(BTreeMap::from([
            ("std", at_limits(&bands.std)),
            ("accumulated_sd", at_limits(&bands.accumulated_sd)),
        ]))
    }

    /// The limits of a confidence band at `x` by name, where the option `band` asked for one.
    #[getter]
    fn confidence<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<BTreeMap<&'static str, Bound<'py, PyAny>>>> {
        let Some(band) = &self.inner.confidence else { return Ok(None) };
        let at_knots = |limit: &fe_core::Curve| {
            let values = limit.at_all(self.inner.curve.x()).map_err(Raise::raise)?;
            Ok::<_, PyErr>(values.into_pyarray(py).into_any())
        };
        let mut limits = BTreeMap::from([
            ("lower", at_knots(&band.pointwise.lower)?),
            ("upper", at_knots(&band.pointwise.upper)?),
            ("record", plain(py, &band.record)?),
        ]);
        if let Some(simultaneous) = &band.simultaneous {
            limits.insert("simultaneous_lower", at_knots(&simultaneous.lower)?);
            limits.insert("simultaneous_upper", at_knots(&simultaneous.upper)?);
        }
        Ok(Some(limits))
    }

    /// The quantiles 0, 0.1, …, 1 of the feature.
    #[getter]
    fn deciles<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, &self.deciles)
    }

    /// Mean of the model over the rows, where it is known.
    #[getter]
    fn mean_prediction(&self) -> Option<f64> {
        self.inner.mean_prediction
    }

    /// The curves of the instances.
    #[getter]
    fn curves(&self, py: Python<'_>) -> Option<Py<Curves>> {
        self.curves.as_ref().map(|curves| curves.clone_ref(py))
    }

    /// What was done.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.inner.record)
    }
}
