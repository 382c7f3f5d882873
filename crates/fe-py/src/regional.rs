//! Effects in regions.

use pyo3::prelude::*;
use pyo3::types::PyType;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::plain;
use crate::arrays;
use crate::effect::{Effect, hash, read, results, write};
use crate::errors::Raise;

/// The effect of one feature on one output of a model, region by region.
#[pyclass(frozen, module = "feature_effects_bench._native")]
pub(crate) struct RegionalEffect {
    inner: fe_core::regional::RegionalEffect,
}

/// A regional effect as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The contents of a file, and their form.
    format: String,
    regional: fe_core::regional::RegionalEffect,
}

/// The form in which regional effects are written.
const FORMAT: &str = "feature-effects-bench regional effect 1";

impl RegionalEffect {
    pub(crate) fn new(inner: fe_core::regional::RegionalEffect) -> Self {
        Self { inner }
    }

    /// The effect, of a feature that counts from 0.
    pub(crate) fn of_feature(&self, feature: usize) -> fe_core::regional::RegionalEffect {
        fe_core::regional::RegionalEffect { feature, ..self.inner.clone() }
    }
}

#[pymethods]
impl RegionalEffect {
    /// An effect as it was written by `to_json`, or for pickle.
    #[new]
    fn from_text(text: &str) -> PyResult<Self> {
        let Written { format, regional } = read("a regional effect", text)?;
        if format != FORMAT {
            return Err(format!("the form is `{format}`; known is `{FORMAT}`").raise());
        }
        Ok(Self::new(regional))
    }

    /// The whole of it as JSON, from which `from_json` makes it again.
    fn to_json(&self) -> PyResult<String> {
        write(&Written { format: FORMAT.to_owned(), regional: self.inner.clone() })
    }

    /// The regional effect that `to_json` wrote.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Self::from_text(text)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let text = slf.get().to_json()?;
        Ok((slf.get_type(), (text,)).into_pyobject(slf.py())?.into_any())
    }

    /// Draws the effects of all leaves into axes of matplotlib, new ones unless given; returns the axes.
    #[pyo3(signature = (ax = None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("plot_regional", (slf, ax))
    }

    /// The curves of all leaves, one below the other, as a frame of pandas or, where there is none, of polars.
    fn to_frame<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("regional_to_frame", (slf,))
    }

    /// Text for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("regional_html", (slf,))
    }

    /// A picture for a notebook; none without matplotlib.
    fn _repr_png_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        results(slf.py())?.call_method1("png", (slf.getattr("plot")?,))
    }

    /// True if both are the same to the bit.
    fn __eq__(&self, other: &Self) -> PyResult<bool> {
        Ok(self.to_json()? == other.to_json()?)
    }

    fn __hash__(&self) -> PyResult<u64> {
        Ok(hash(&self.to_json()?))
    }

    /// The tree as text.
    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __repr__(&self) -> String {
        let leaves = self.inner.tree.leaves().count();
        format!("<{} of {}: {leaves} regions>", self.inner.estimator, self.inner.name)
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

    /// Name of the regional estimator.
    #[getter]
    fn estimator(&self) -> &'static str {
        self.inner.estimator
    }

    /// Name of the heterogeneity value that was lowered.
    #[getter]
    fn heterogeneity(&self) -> &'static str {
        self.inner.heterogeneity
    }

    /// All regions, the whole data first, parents before children.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let nodes = self.inner.tree.nodes().iter().map(|node| {
            let rule = node.rule.as_ref().map(|rule| {
                json!({ "feature": rule.feature + 1, "name": rule.name, "kind": rule.kind,
                        "text": rule.to_string() })
            });
            let described = plain(
                py,
                &json!({
                    "rule": rule,
                    "parent": node.parent,
                    "depth": node.depth,
                    "rows": node.rows,
                    "weight": node.weight,
                    "share": node.share,
                    "heterogeneity": node.heterogeneity,
                }),
            )?;
            let effect = node
                .effect
                .clone()
                .zip(node.deciles)
                .map(|(effect, deciles)| Effect::new(py, effect, Some(deciles)))
                .transpose()?;
            described.set_item("effect", effect)?;
            Ok(described)
        });
        nodes.collect()
    }

    /// The levels, from the whole data on.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.inner.tree.levels())
    }

    /// Record of what was done.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.inner.record)
    }

    /// The position among the nodes of the leaf that a row of features belongs to.
    fn leaf_of(&self, row: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.inner.tree.leaf_of(&arrays::vector("row", row)?).map_err(Raise::raise)
    }
}
