//! Estimators of feature effects: the curves that explain a model one feature at a time.
//!
//! A [`Dataset`] and a [`Model`] go in; an [`Estimator`](estimator::Estimator) gives an
//! [`Effect`] for each output: a curve, its heterogeneity, its bins or grid, and a record of what
//! was done. Nothing here reads files or looks at a clock, and random numbers are drawn only from seeds
//! that are options.
//!
//! Features are counted from 0 here and called `x1 … xD` wherever people read them.
//!
//! Modules import one way: numbers ([`numeric`]) and models ([`model`]), data ([`data`]), options
//! ([`settings`]), effects ([`effect`]) and bins ([`binning`]), bands ([`confidence`]) and errors ([`metric`]),
//! [`estimator`], and on top [`regional`] effects, [`indices`], [`preset`]s, [`reconstruction`] and [`replicates`], [`registries`] of names last.
//!
//! ```
//! use fe_core::{Dataset, estimator::{Estimator, Rhale}, model::FunctionModel};
//!
//! let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| {
//!     if j == 0 { i as f64 / 99.0 } else { (i * 37 % 100) as f64 / 99.0 }
//! });
//! let data = Dataset::from_rows(&rows.view())?;
//! let model = FunctionModel::new(2, |x| x[0] * x[0] * x[1])
//!     .with_partial(|s, x| if s == 0 { 2.0 * x[0] * x[1] } else { x[0] * x[0] });
//! let effect = &Rhale::automatic()?.estimate(&data, &model, 0)?[0];
//! println!("{:?}", effect.curve.at_all(&[0.25, 0.75])?);
//! # Ok::<(), fe_core::Error>(())
//! ```
//!
//! <!-- lists -->
//!
//! | estimator | what it is |
//! |---|---|
//! | `pdp` | partial dependence on a grid; heterogeneity from centred ICE curves (Friedman 2001) |
//! | `dpdp` | mean derivative on a grid; heterogeneity from d-ICE curves (EFFECTOR eq. 9-10) |
//! | `ice` | individual conditional expectation: the curves that pdp is the mean of (EFFECTOR A.2) |
//! | `dice` | derivatives of ICE curves, that dpdp is the mean of (EFFECTOR eq. 9-10) |
//! | `mplot` | mean prediction of the instances near a point, in bins or nearest (Apley and Zhu 2020) |
//! | `ale` | accumulated local effects by finite differences over the bins (Apley and Zhu 2020) |
//! | `dale` | accumulated local effects by derivatives, on bins of equal width (RHALE eq. 4) |
//! | `rhale` | accumulated local effects by derivatives, on automatically chosen bins (RHALE eq. 9-15) |
//! | `shapdp` | spline through Shapley values; heterogeneity from its residuals (EFFECTOR A.3) |
//! | `regional-pdp` | partial dependence in regions of the other features (EFFECTOR Algorithm 1) |
//! | `regional-dpdp` | mean derivative on a grid in regions of the other features |
//! | `regional-ale` | accumulated local effects by finite differences in regions of the other features |
//! | `regional-rhale` | accumulated local effects by derivatives in regions of the other features |
//! | `regional-shapdp` | spline through Shapley values in regions of the other features |
//!
//! | binning | what it is |
//! |---|---|
//! | `fixed` | K bins of equal width (default K = 20); of a feature with few values those between them |
//! | `quantile` | K bins between quantiles; equal quantiles give fewer bins (default bins = 20, quantiles = type-7); with min_points poor bins join their right neighbour |
//! | `quantile-min` | as many quantile bins as leave more than M instances in each, found as alibi finds them (default min_points = 4) |
//! | `grid` | limits given one by one, strictly increasing; they are the axis |
//! | `dp` | the optimum of RHALE eq. 13 over bins made of K_max equal cells (default bins = 20, min_points = N/20, discount = 0.2) |
//! | `greedy` | one walk over equal cells, closing a bin where a longer one would cost more (default bins = 20, min_points = N/20, discount = 0.2) |
//! | `agglomerative` | merges the neighbouring bins that gain most, starting from equal cells (default bins = 20, min_points = N/20, discount = 0.2) |
//! | `penalized` | bins of least estimated error of curve and spread: out of a penalised segmentation, equal and quantile ones, without anything to choose (default bins, the most there may be = 20000) |
//!
//! | preset | what it is |
//! |---|---|
//! | `effector-0.6` | the defaults of effector 0.6: its ALE, RHALE, PDP and DerPDP |
//! | `alibi-0.9` | the defaults of alibi 0.9: its ALE |
//! | `pyale-1.2` | the defaults of PyALE 1.2 for continuous features, with the variance of its intervals |
//! | `sklearn-1.9` | the defaults of partial_dependence in scikit-learn 1.9, method brute |
//! | `heiss-2026` | the estimators of Heiß et al. (2026); their grid is quantiles of the law: give it as limits |
//!
//! <!-- end of lists -->

pub mod binning;
pub mod confidence;
pub mod data;
pub mod effect;
pub mod error;
pub mod estimator;
pub mod indices;
pub mod interrupt;
pub mod metric;
pub mod model;
pub mod numeric;
pub mod option;
pub mod preset;
pub mod reconstruction;
pub mod refits;
pub mod regional;
pub mod registries;
pub mod replicates;
pub mod settings;
pub mod stored;

pub use data::{AxisChoice, Dataset, FeatureKind};
pub use effect::Effect;
pub use error::{Error, ModelError, Result};
pub use model::Model;
pub use numeric::axis::Axis;
pub use numeric::curve::Curve;
pub use numeric::partition::Partition;
pub use option::OptionInfo;
pub use settings::{Centring, Settings};
