//! The runner: studies in, records and tables out.
//!
//! A study file is read into loose structs ([`study::file`]), checked and expanded into groups of
//! cells ([`study`]), run ([`run`]), scored against exact truths ([`score`]), stored ([`record`]),
//! and printed as tables ([`table`]). No mathematics lives here: estimators, measures and statistics
//! are those of `fe-core`, truths those of `fe-truth`.
//!
//! # Folders
//!
//! In the order in which they may import each other, lowest first; `tests/layers.rs` holds them to it.
//!
//! | folder | holds |
//! |---|---|
//! | `error` | errors, and words for lists of what is allowed |
//! | `system` | files, processes, the terminal, the clock |
//! | `output` | rows and columns as a table, CSV or JSON |
//! | `data` | datasets: drawn, or read from files |
//! | `score` | metrics, and the truths that effects are compared with |
//! | `engines` | implementations in other languages |
//! | `check` | every estimator against every truth |
//! | `study` | study files, checked and expanded into datasets and keys |
//! | `record` | files of results: written, read, merged, compared |
//! | `run` | the runner |
//! | `table` | tables |
//! | `plot` | figures |
//! | `report` | pages |
//! | `cli` | the commands |
//!
//! # Commands
//!
//! | command | prints or writes |
//! |---|---|
//! | `list` | scenarios, estimators, binnings, metrics, presets, models, or what a study will run |
//! | `new` | a file of a scenario to begin with |
//! | `problem` | a random problem file |
//! | `truth` | exact effects of a scenario, with error bounds |
//! | `sample` | rows drawn from a scenario |
//! | `describe` | the columns of a data file: counts, moments, quartiles, histograms |
//! | `effect` | effects of a scenario's function, or of a model of data |
//! | `reconstruct` | the sum of the effects of a function, and its R² |
//! | `agree` | bins of few rows beside dense bins of all rows |
//! | `score` | curves of others against a scenario's truth |
//! | `plan` | the rows that a model in any language must be asked |
//! | `finish` | effects from its answers |
//! | `run` | studies |
//! | `merge` | the results of all shards of a run |
//! | `table` | tables of means over replicates |
//! | `compare` | two runs |
//! | `check` | every estimator against every truth |
//! | `plot` | figures of results |
//! | `report` | a page about results |
//! | `population` | which estimator is better on how many of a study's problems, and on what it depends |
//! | `engines` | implementations in other languages, and which run here |
//! | `league` | their ranks |
//! | `manual` | completions for shells, and pages for `man` |
//! | `serve` | the estimators of this project as an engine |
//!
//! # Metrics
//!
//! A new one is a definition in a file of [`score::metric`] and a line of [`score::METRICS`].
//!
//! | metric | meaning |
//! |---|---|
//! | `mse` | mean squared difference from the true curve |
//! | `mae` | mean absolute difference from it |
//! | `rmse` | root of `mse` |
//! | `max` | largest absolute difference |
//! | `L_mu` | mean absolute error of the bin effects, RHALE eq. 18 |
//! | `L_sigma` | mean absolute error of the bin standard deviations, RHALE eq. 19 |
//! | `L_rho` | mean root of the bin error |
//! | `heterogeneity_mse` | mean squared difference from the true heterogeneity curve |
//! | `deviation_mse` | the same of the roots of both |
//! | `heterogeneity_value` | estimated heterogeneity value minus the true one; `of` names it, and the next two stand beside it |
//! | `heterogeneity_value_square` | its square |
//! | `heterogeneity_value_sign` | its sign |
//! | `coverage` | share of the grid on which a confidence band holds the truth |
//! | `width` | mean width of a confidence band |
//! | `simultaneous_coverage` | 1 where a simultaneous band holds the truth on all of the grid |
//! | `simultaneous_width` | mean width of a simultaneous band |
//! | `p_flat` | p-value of the test from refits that the expected effect of the learner is flat |
//! | `reject_flat` | 1 where it is at most 0.05 |
//! | `p_permuted` | p-value of the test by permutations that the effect is flat |
//! | `reject_permuted` | 1 where it is at most 0.05 |
//! | `bins` | number of bins |
//! | `empty_bins` | number of bins without instances |
//! | `infeasible` | 1 where no bins met the constraints |
//! | `leaf_mse` | mean squared error of the curves of regions, each against the truth there, by probability |
//! | `region_regret` | exact heterogeneity of an estimated tree beyond that of the population's tree |
//! | `split_feature` | 1 where the first split is on the feature of the population's |
//! | `split_error` | distance of the first split from the population's, in probability |
//! | `leaves` | number of regions |
//! | `index_error` | estimated index minus the true one |
//! | `index_squared_error` | its square |
//!
//! # Engines
//!
//! Declared in `scripts/adapters/engines.toml`; more are declared in a file of one's own, see `docs/protocol.md`.
//!
//! | engine | implementation |
//! |---|---|
//! | `fe-core` | the estimators of this project, through the same boundary as all others |
//! | `effector` | effector (Python) |
//! | `alibi` | alibi (Python) |
//! | `pyale` | PyALE (Python) |
//! | `scikit-learn` | scikit-learn (Python) |
//! | `salib` | SALib (Python), for Sobol' indices |
//! | `openturns` | OpenTURNS (Python), for Sobol' indices |
//! | `shapleyx` | ShapleyX (Python), for Shapley effects |
//! | `artemis` | artemis (Python), for Friedman's H |
//! | `gbm` | gbm (R), for Friedman's H of trees that it fits |
//! | `shap` | shap (Python) |
//! | `template-python` | a file to begin an adapter in Python with |
//! | `template-r` | a file to begin an adapter in R with |

// They panic where a stream is closed or full; `say!` does not.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod check;
pub mod cli;
pub mod data;
pub mod engines;
pub mod error;
pub mod output;
pub mod plot;
pub mod record;
pub mod report;
pub mod run;
pub mod score;
pub mod study;
pub mod system;
pub mod table;

pub use error::{Error, Result};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
