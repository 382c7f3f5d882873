//! Learners: found by name, built from options, fitted to data.
//!
//! May import all but `stored`. Begin with [`Learner`]; a new one is a file and a line in [`ALL`].

mod gam;
mod gbdt;
mod linear;
mod logistic;
mod mlp;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fe_core::Dataset;
use fe_core::error::suggestion;
use fe_core::refits::RefittedModel;

use crate::error::{FitError, Result};
use crate::fitted::FittedModel;
use crate::levels::{self, Indicators, OfLevels};
use crate::options::{OptionInfo, Options};
use crate::sample::Sample;

/// Task of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The mean of the target; one output.
    Regression,
    /// The probability of each different value of the target; one output for each, in ascending order.
    Classification,
}

/// A sum that a model is, of which effects under a law of the features need no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumKind {
    /// Of smooth terms of one or two features.
    Smooth,
    /// Of trees, which are constant on boxes.
    Trees,
}

/// A way to fit a model, with its options.
pub(crate) trait Fit: Debug + Send + Sync {
    /// Fits the model. Random numbers come from the seed alone.
    fn fit(&self, sample: &Sample, seed: u64) -> Result<Box<dyn FittedModel>>;

    /// True if its models are sums with a term of the feature (counted from 0) alone, and no other term
    /// reads it.
    fn has_main_effect(&self, feature: usize) -> bool {
        let _ = feature;
        false
    }

    /// The sum that its models are, if they are one.
    fn sum_kind(&self) -> Option<SumKind> {
        None
    }

    /// True if it learns from rows in which values of features are missing, as NaN.
    fn takes_missing(&self) -> bool {
        false
    }
}

/// A model as it is found by name.
pub struct LearnerInfo {
    /// Its name in files and flags.
    pub name: &'static str,
    /// Its description, in a line.
    pub about: &'static str,
    /// Its task.
    pub task: Task,
    /// True if its fits are step functions: a bootstrap of the rows tells too little of how uncertain the places
    /// of the steps are, half-samples tell it.
    pub has_steps: bool,
    /// Its options, in canonical order.
    pub options: &'static [OptionInfo],
    /// Builds it from its options.
    pub(crate) build: fn(&mut Options) -> Result<Box<dyn Fit>>,
}

/// All models that can be fitted.
pub const ALL: &[LearnerInfo] =
    &[linear::LINEAR, gam::GAM, gbdt::GBDT, logistic::LOGISTIC, mlp::MLP];

/// The description of the model of a name.
///
/// # Errors
/// [`FitError::UnknownModel`].
pub fn info(name: &str) -> Result<&'static LearnerInfo> {
    ALL.iter().find(|info| info.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|info| info.name).collect();
        FitError::UnknownModel {
            given: name.to_owned(),
            hint: suggestion(name, names.iter().copied()),
            known: names.join(", "),
        }
    })
}

/// A model with its options, ready to be fitted as often as one likes.
///
/// ```
/// use fe_models::{FitError, Learner};
/// assert_eq!(Learner::new("linear", &[])?.name(), "linear");
/// let error = Learner::new("liner", &[]).unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `linear`?"));
/// # Ok::<(), FitError>(())
/// ```
#[derive(Debug)]
pub struct Learner {
    name: &'static str,
    task: Task,
    has_steps: bool,
    options: String,
    method: Box<dyn Fit>,
}

impl Learner {
    /// The model of a name, with options set by key and value; those not set have their defaults.
    ///
    /// # Errors
    /// [`FitError::UnknownModel`], [`FitError::UnknownOption`], [`FitError::RepeatedOption`],
    /// [`FitError::BadOption`].
    pub fn new(name: &str, set: &[(String, String)]) -> Result<Self> {
        let info = info(name)?;
        let mut options = Options::new(info.name, info.options, set)?;
        let method = (info.build)(&mut options)?;
        let LearnerInfo { name, task, has_steps, .. } = *info;
        Ok(Self { name, task, has_steps, options: options.canonical(), method })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its task.
    #[must_use]
    pub fn task(&self) -> Task {
        self.task
    }

    /// True if the models it fits are step functions ([`LearnerInfo::has_steps`]).
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.has_steps
    }

    /// All its options in canonical order, as `key=value;…`.
    #[must_use]
    pub fn options(&self) -> &str {
        &self.options
    }

    /// True if the models it fits have a main effect of a feature, counted from 0.
    ///
    /// ```
    /// # use fe_models::{FitError, Learner};
    /// assert!(Learner::new("linear", &[])?.has_main_effect(0));
    /// assert!(!Learner::new("gbdt", &[])?.has_main_effect(0));
    /// let pair = ("interactions".to_owned(), "x1:x2".to_owned());
    /// let gam = Learner::new("gam", &[pair])?;
    /// assert!(!gam.has_main_effect(0) && gam.has_main_effect(2));
    /// # Ok::<(), FitError>(())
    /// ```
    #[must_use]
    pub fn has_main_effect(&self, feature: usize) -> bool {
        self.method.has_main_effect(feature)
    }

    /// The sum that the models it fits are; none where they are no sum, as networks are not.
    ///
    /// ```
    /// # use fe_models::{FitError, Learner, SumKind};
    /// assert_eq!(Learner::new("gbdt", &[])?.sum_kind(), Some(SumKind::Trees));
    /// assert_eq!(Learner::new("mlp", &[])?.sum_kind(), None);
    /// # Ok::<(), FitError>(())
    /// ```
    #[must_use]
    pub fn sum_kind(&self) -> Option<SumKind> {
        self.method.sum_kind()
    }

    /// The learner of N rows and their N target values, to be refitted to some of them, as bands from refits need it.
    ///
    /// ```
    /// # use fe_models::Learner;
    /// let rows = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
    /// let data = fe_core::Dataset::from_rows(&rows.view())?;
    /// let linear = Learner::new("linear", &[])?;
    /// let learn = linear.on(&data, &[1.0, 3.0, 5.0, 0.0]);
    /// assert_eq!(learn(&[0, 1, 1, 2], 0)?.dimension(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on<'a>(
        &'a self,
        data: &'a Dataset,
        target: &'a [f64],
    ) -> impl Fn(&[usize], u64) -> Result<RefittedModel, String> + Sync + 'a {
        move |rows, seed| {
            let target: Vec<f64> = rows.iter().map(|&row| target[row]).collect();
            let model = self.fit(&data.select(rows), &target, seed).map_err(|e| e.to_string())?;
            Ok(model as RefittedModel)
        }
    }

    /// The learner of N target values, to be fitted to other features beside them, as tests by permutation need it.
    pub fn of_target<'a>(
        &'a self,
        target: &'a [f64],
    ) -> impl Fn(&Dataset, u64) -> Result<RefittedModel, String> + Sync + 'a {
        move |data, seed| {
            Ok(self.fit(data, target, seed).map_err(|e| e.to_string())? as RefittedModel)
        }
    }

    /// The learner of N rows, to be fitted to other target values beside them, as tests by permutation of residuals need it.
    pub fn of_rows<'a>(
        &'a self,
        data: &'a Dataset,
    ) -> impl Fn(&[f64], u64) -> Result<RefittedModel, String> + Sync + 'a {
        move |target, seed| {
            Ok(self.fit(data, target, seed).map_err(|e| e.to_string())? as RefittedModel)
        }
    }

    /// Fits the model to N rows and their N target values. A row of weight 2 counts as two rows, one
    /// of weight 0 as none. A nominal feature is a column of 0 and 1 for each of its levels. The same data, options and seed give the same model, whatever the number
    /// of threads.
    ///
    /// # Errors
    /// [`FitError::WrongTargetLength`], [`FitError::TargetNotFinite`], [`FitError::TooFewRows`],
    /// [`FitError::ConstantTarget`], [`FitError::Missing`], and what the model finds wrong with the data.
    pub fn fit(&self, data: &Dataset, target: &[f64], seed: u64) -> Result<Box<dyn FittedModel>> {
        if !self.method.takes_missing()
            && let Some(feature) = (0..data.dimension()).find(|&s| data.missing(s) > 0)
        {
            let feature = data.names()[feature].clone();
            return Err(FitError::Missing { model: self.name, feature });
        }
        if let Some(indicators) = Indicators::of(data) {
            // A product would take the first level for the feature.
            let is_sum = self.method.has_main_effect(data.dimension());
            if is_sum && indicators.features().any(|feature| !self.has_main_effect(feature)) {
                return Err(levels::refuse_products(self.name));
            }
            let coded = indicators.data(data).map_err(|error| FitError::Refused {
                model: self.name,
                reason: error.to_string(),
            })?;
            let model = self.fit(&coded, target, seed)?;
            return Ok(Box::new(OfLevels::new(indicators, model)));
        }
        let sample = Sample::new(self.name, data, target)?;
        // Some models are fitted by libraries, whose panics are not ours to prevent.
        catch_unwind(AssertUnwindSafe(|| self.method.fit(&sample, seed))).unwrap_or_else(|_| {
            Err(FitError::Refused { model: self.name, reason: "the fit panicked".to_owned() })
        })
    }
}
