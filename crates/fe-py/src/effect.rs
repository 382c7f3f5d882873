//! Estimated effects.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fe_core::effect::{Bins, ConfidenceBand, IceCurves};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde::{Deserialize, Serialize};

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
    /// None of an effect that was finished from parts.
    deciles: Option<[f64; 11]>,
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

/// An effect as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The contents of a file, and their form.
    format: String,
    effect: fe_core::Effect,
    deciles: Option<[f64; 11]>,
}

/// The form in which effects are written.
const FORMAT: &str = "feature-effects-bench effect 1";

impl Effect {
    pub(crate) fn new(
        py: Python<'_>,
        mut inner: fe_core::Effect,
        deciles: Option<[f64; 11]>,
    ) -> PyResult<Self> {
        let curves = inner.curves.take().map(|curves| Py::new(py, Curves::new(py, curves)));
        Self::with_curves(inner, curves.transpose()?, deciles)
    }

    fn with_curves(
        inner: fe_core::Effect,
        curves: Option<Py<Curves>>,
        deciles: Option<[f64; 11]>,
    ) -> PyResult<Self> {
        let x = inner.curve.x();
        let y = inner.curve.at_all(x).map_err(Raise::raise)?;
        let heterogeneity = inner.heterogeneity.at_all(x).map_err(Raise::raise)?;
        Ok(Self { y, heterogeneity, curves, deciles, inner })
    }

    /// All but the curves of the instances, as text.
    fn written(&self) -> PyResult<String> {
        write(&Written {
            format: FORMAT.to_owned(),
            effect: self.inner.clone(),
            deciles: self.deciles,
        })
    }

    fn read(text: &str) -> PyResult<Written> {
        let read: Written = read("an effect", text)?;
        if read.format != FORMAT {
            return Err(format!("the form is `{}`; known is `{FORMAT}`", read.format).raise());
        }
        Ok(read)
    }

    /// Something of the bins, for effects that have them.
    fn of_bins<'py>(&self, py: Python<'py>, of: impl Fn(&Bins) -> Vec<f64>) -> Option<Vector<'py>> {
        self.inner.bins.as_ref().map(|bins| of(bins).into_pyarray(py))
    }
}

/// Something as JSON; numbers keep every bit.
pub(crate) fn write(thing: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(thing).map_err(|e| e.to_string().raise())
}

/// Something that was written as JSON.
pub(crate) fn read<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| format!("this is not {what} as JSON: {e}").raise())
}

/// Text of results, which is Python's to show.
pub(crate) fn results(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("feature_effects_bench._results")
}

pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Curves {
    fn new(py: Python<'_>, curves: IceCurves) -> Self {
        let rows: Vec<i64> = curves.rows.iter().map(|&row| row as i64).collect();
        Self {
            x: curves.x.into_pyarray(py).unbind(),
            rows: rows.into_pyarray(py).unbind(),
            values: curves.values.into_pyarray(py).unbind(),
        }
    }

    /// The same without Python.
    fn plain(&self, py: Python<'_>) -> PyResult<IceCurves> {
        let rows = self.rows.bind(py).try_readonly()?;
        Ok(IceCurves {
            x: self.x.bind(py).try_readonly()?.as_array().to_vec(),
            rows: rows.as_array().iter().map(|&row| row as usize).collect(),
            values: self.values.bind(py).try_readonly()?.as_array().to_owned(),
        })
    }
}

#[pymethods]
impl Curves {
    #[new]
    fn from_arrays(
        x: Py<PyArray1<f64>>,
        rows: Py<PyArray1<i64>>,
        values: Py<PyArray2<f64>>,
    ) -> Self {
        Self { x, rows, values }
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(self.plain(py)? == other.plain(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(hash(&write(&self.plain(py)?)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let arrays = (this.x.clone_ref(py), this.rows.clone_ref(py), this.values.clone_ref(py));
        Ok((slf.get_type(), arrays).into_pyobject(py)?.into_any())
    }
}

#[pymethods]
impl Effect {
    /// An effect as it was written by `to_json`, or for pickle.
    #[new]
    #[pyo3(signature = (text, curves = None))]
    fn from_text(py: Python<'_>, text: &str, curves: Option<Py<Curves>>) -> PyResult<Self> {
        let Written { mut effect, deciles, .. } = Self::read(text)?;
        let own = effect.curves.take().map(|curves| Py::new(py, Curves::new(py, curves)));
        Self::with_curves(effect, own.transpose()?.or(curves), deciles)
    }

    /// The whole effect as JSON, from which `from_json` makes it again.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let curves = self.curves.as_ref().map(|curves| curves.get().plain(py)).transpose()?;
        let effect = fe_core::Effect { curves, ..self.inner.clone() };
        write(&Written { format: FORMAT.to_owned(), effect, deciles: self.deciles })
    }

    /// The effect that `to_json` wrote.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, py: Python<'_>, text: &str) -> PyResult<Self> {
        Self::from_text(py, text, None)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        Ok((slf.get_type(), (this.written()?, this.curves(py))).into_pyobject(py)?.into_any())
    }

    /// True if both are the same to the bit.
    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        let plain = |curves: &Option<Py<Curves>>| {
            curves.as_ref().map(|curves| curves.get().plain(py)).transpose()
        };
        Ok(self.written()? == other.written()? && plain(&self.curves)? == plain(&other.curves)?)
    }

    fn __hash__(&self) -> PyResult<u64> {
        Ok(hash(&self.written()?))
    }

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

    /// The variance in each bin; NaN where it is undefined and was not asked to be filled in.
    #[getter]
    fn bin_variance<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        let variances = self.inner.bin_variances()?.into_iter();
        let variances: Vec<f64> = variances.map(|variance| variance.unwrap_or(f64::NAN)).collect();
        Some(variances.into_pyarray(py))
    }

    /// Heterogeneity values by name; None where nothing could be computed.
    #[getter]
    fn heterogeneity_values(&self) -> BTreeMap<&'static str, Option<f64>> {
        self.inner.heterogeneity_values.clone()
    }

    /// Name of the heterogeneity value that is meant if none is named.
    #[getter]
    fn default_heterogeneity(&self) -> &'static str {
        self.inner.default_heterogeneity
    }

    /// The spread of local effects about an accumulated effect, at the limits, by name: of the instances, not of
    /// the estimate, whose confidence band is `band`.
    #[getter]
    fn spread<'py>(&self, py: Python<'py>) -> Option<BTreeMap<&'static str, Vector<'py>>> {
        let bands = self.inner.bands.as_ref()?;
        let at_limits = |curve: &fe_core::Curve| PyArray1::from_slice(py, curve.y());
        Some(BTreeMap::from([
            ("std", at_limits(&bands.std)),
            ("accumulated_sd", at_limits(&bands.accumulated_sd)),
        ]))
    }

    /// The limits of a confidence band at `x` by name, where the option `band` asked for one.
    #[getter]
    fn band<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<BTreeMap<&'static str, Bound<'py, PyAny>>>> {
        let Some(band) = &self.inner.confidence else { return Ok(None) };
        let at_knots = |limit: &fe_core::Curve| {
            let values = limit.at_all(self.inner.curve.x()).map_err(Raise::raise)?;
            Ok(values.into_pyarray(py).into_any())
        };
        limits_of(py, band, at_knots).map(Some)
    }

    /// A name that was taken for two things.
    #[getter]
    fn bands(&self) -> PyResult<()> {
        Err(PyAttributeError::new_err(
            "an effect has no `bands`: its confidence band is `band`, and how far local effects spread about it is \
             `spread`",
        ))
    }

    /// The quantiles 0, 0.1, …, 1 of the feature; None of an effect that was finished from parts.
    #[getter]
    fn deciles<'py>(&self, py: Python<'py>) -> Option<Vector<'py>> {
        self.deciles.map(|deciles| PyArray1::from_slice(py, &deciles))
    }

    /// Names of the levels at the positions of the effect, where the feature has some.
    #[getter]
    fn levels(&self) -> Option<Vec<String>> {
        self.inner.record.levels.as_ref().map(|levels| levels.names.clone())
    }

    /// Draws the effect into axes of matplotlib, new ones unless given, beside the exact truth of a scenario where
    /// one is given; returns the axes.
    #[pyo3(signature = (ax = None, *, truth = None, label = None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
        truth: Option<Bound<'py, PyAny>>,
        label: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("truth", truth)?;
        options.set_item("label", label)?;
        results(slf.py())?.call_method("plot_effect", (slf, ax), Some(&options))
    }

    /// The curve at its knots as a frame of pandas or, where there is none, of polars.
    fn to_frame<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("to_frame", (slf,))
    }

    /// Text for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("html", (slf,))
    }

    /// A picture for a notebook; none without matplotlib.
    fn _repr_png_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("png", (slf.getattr("plot")?,))
    }

    /// Mean of the model over the rows, where it is known.
    #[getter]
    fn mean_prediction(&self) -> Option<f64> {
        self.inner.mean_prediction
    }

    /// Variation of the curve over the rows, where `importance=True` asked for it.
    #[getter]
    fn importance(&self) -> Option<f64> {
        self.inner.importance
    }

    /// The explained rows, counted from 0, their Shapley values, and the mean prediction over the
    /// background, where `shapley_values=True` asked for them.
    #[getter]
    fn shapley<'py>(&self, py: Python<'py>) -> Option<(Vec<usize>, Vector<'py>, f64)> {
        let shapley = self.inner.shapley.as_ref()?;
        let values = shapley.values.clone().into_pyarray(py);
        Some((shapley.rows.clone(), values, shapley.base_value))
    }

    /// The curves of the instances.
    #[getter]
    fn curves(&self, py: Python<'_>) -> Option<Py<Curves>> {
        self.curves.as_ref().map(|curves| curves.clone_ref(py))
    }

    /// Cautions to be known before the curve is read, such as that many of its bins hold no instances.
    #[getter]
    fn caution(&self) -> Option<String> {
        self.inner.record.binning.as_ref()?.caution()
    }

    /// Record of what was done.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.inner.record)
    }
}

/// The limits of a band by name, each as arrays, and the record of it.
pub(crate) fn limits_of<'py, T>(
    py: Python<'py>,
    band: &ConfidenceBand<T>,
    array: impl Fn(&T) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<BTreeMap<&'static str, Bound<'py, PyAny>>> {
    let mut limits = BTreeMap::from([
        ("lower", array(&band.pointwise.lower)?),
        ("upper", array(&band.pointwise.upper)?),
        ("record", plain(py, &band.record)?),
    ]);
    if let Some(simultaneous) = &band.simultaneous {
        limits.insert("simultaneous_lower", array(&simultaneous.lower)?);
        limits.insert("simultaneous_upper", array(&simultaneous.upper)?);
    }
    Ok(limits)
}
