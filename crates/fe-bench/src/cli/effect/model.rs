//! A model that is fitted to a data file, or read from a file, and the rows that it is explained on.

use std::path::{Path, PathBuf};

use clap::{Args, Command, Id, ValueEnum};
use fe_core::Dataset;
use fe_core::model::Rows;
use fe_core::refits::{RefitOptions, Refits};
use fe_core::settings::Scheme;
use fe_models::stored::{self, Format};
use fe_models::{FittedModel, Learner, Quality, Task};
use serde_json::{Map, Value, json};

use super::options::is_regional;
use crate::cli::arguments::{above_zero, finite};
use crate::data::columns::ColumnRequests;
use crate::data::observations::{Observations, Preparation};
use crate::data::{Missing, Target};
use crate::error::{Error, Result, listed};
use crate::study::labels::usual;
use crate::system::say::say;

/// A model instead of a scenario.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fitted and stored models")]
pub(in crate::cli) struct ModelArguments {
    /// Fit this model to the data (see `fe-bench list models`), or read it from a file: .onnx, XGBoost's
    /// .json or .ubj, LightGBM's .txt; --set gives options of a model that is fitted
    #[arg(long, value_name = "NAME|FILE", requires = "data")]
    pub(in crate::cli) model: Option<String>,
    /// Column of the data file that the model predicts
    #[arg(long, value_name = "COLUMN", requires = "model")]
    target: Option<String>,
    /// Columns of the data file that are no features
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', requires = "model")]
    ignore: Vec<String>,
    /// Missing values [default: drop where a model is fitted, and say so; refuse where it is read]
    #[arg(long, value_enum, requires = "model")]
    missing: Option<Missing>,
    /// Leave out rows with a feature farther from its mean than so many standard deviations
    #[arg(long, value_name = "SD", value_parser = above_zero, requires = "model")]
    outliers: Option<f64>,
    /// Scale features to mean 0 and standard deviation 1
    #[arg(long, requires = "model")]
    pub(in crate::cli) standardize: bool,
    /// Share of the rows that is held out, drawn at random [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "model")]
    test: Option<f64>,
    /// Which rows are held out [default: 0]
    #[arg(long, value_name = "SEED", requires = "test")]
    split_seed: Option<u64>,
    /// Random numbers of the fit [default: 0]
    #[arg(long, value_name = "SEED", requires = "model")]
    model_seed: Option<u64>,
    /// Rows on which the model is explained [default: all]
    #[arg(long, value_enum, requires = "model")]
    explain: Option<Explain>,
}

/// Words for rows that are left out though nobody asked for it.
const UNASKED: &str =
    "; --missing refuse stops at them, --missing keep hands them to models that take them";

/// The flags of a model.
pub(super) fn flags() -> Vec<Id> {
    let command = ModelArguments::augment_args(Command::new("model"));
    command.get_arguments().map(|argument| argument.get_id().clone()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Explain {
    /// All rows
    All,
    /// Those that the model was fitted to
    Train,
    /// Those that were held out
    Test,
}

fn share(text: &str) -> Result<f64, String> {
    let between = |x: f64| (0.0..1.0).contains(&x);
    finite(text)
        .and_then(|x| if between(x) { Ok(x) } else { Err("must be from 0 to below 1".to_owned()) })
}

/// A model with the rows that it is explained on.
pub(in crate::cli) struct Fitted {
    pub(in crate::cli) model: Box<dyn FittedModel>,
    pub(in crate::cli) data: Dataset,
    /// The names of the outputs.
    pub(in crate::cli) outputs: Vec<String>,
    /// The mean and the standard deviation of each feature that was scaled by them.
    pub(in crate::cli) scales: Vec<Option<(f64, f64)>>,
    /// The data file and the model, for titles.
    pub(in crate::cli) title: String,
    /// Facts about the model.
    pub(in crate::cli) about: Value,
    /// The learner refitted to resamples of the rows of the fit, where a band is made of that.
    pub(in crate::cli) refits: Option<Refitted>,
}

/// A learner refitted to resamples of some rows, and to be fitted to them again.
pub(in crate::cli) struct Refitted {
    pub(in crate::cli) refits: Refits,
    pub(in crate::cli) learner: Learner,
    pub(in crate::cli) data: Dataset,
    pub(in crate::cli) target: Vec<f64>,
}

impl Fitted {
    /// Check that an estimator which takes derivatives finds some.
    pub(in crate::cli) fn check_derivatives(
        &self,
        estimator: &str,
        asked_numeric: bool,
    ) -> Result<()> {
        let takes = if is_regional(estimator) {
            fe_core::regional::info(estimator)?.takes("jacobian")
        } else {
            fe_core::estimator::info(estimator)?.takes("jacobian")
        };
        if !takes || asked_numeric || self.model.has_partial() {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "`{estimator}` needs derivatives, and {} has none: `ale` and `pdp` do without; --jacobian \
             numeric takes differences instead, which are 0 wherever the model is constant in steps",
            self.title
        )))
    }
}

impl ModelArguments {
    /// The file that the model is read from, if it is read.
    pub(in crate::cli) fn file(&self) -> Option<&Path> {
        self.model.as_deref().map(Path::new).filter(|path| path.exists())
    }

    /// The rows of a data file, prepared as the flags say.
    pub(in crate::cli) fn observations(
        &self,
        path: &Path,
        weights: Option<&str>,
        columns: ColumnRequests,
    ) -> Result<Observations> {
        let preparation = Preparation {
            target: self.target.clone(),
            weights: weights.map(str::to_owned),
            ignored: self.ignore.clone(),
            columns,
            missing: self.missing(),
            outliers: self.outliers,
            standardize: self.standardize,
        };
        let observations = Observations::read(path, &preparation)?;
        let (missing, outliers) = observations.left_out;
        if missing + outliers > 0 {
            let hint = if missing > 0 && self.missing.is_none() { UNASKED } else { "" };
            say!("left out: {missing} rows with missing values, {outliers} outliers{hint}");
        }
        Ok(observations)
    }

    /// The policy for missing values: a fit is one of complete rows, as in R; a model that was fitted elsewhere may take them
    /// or not, and who has it knows.
    fn missing(&self) -> Missing {
        let usual = if self.file().is_some() { Missing::Refuse } else { Missing::Drop };
        self.missing.unwrap_or(usual)
    }

    /// Fits or reads the model, and says on standard error how good it is.
    pub(in crate::cli) fn fit(
        &self,
        name: &str,
        path: &Path,
        observations: Observations,
        set: &[(String, String)],
        refits: Option<RefitOptions>,
    ) -> Result<Fitted> {
        let source = Source::of(name, set)?;
        if let (Some(_), Source::File(..)) = (refits, &source) {
            return Err(Error::Argument(format!(
                "--band refit: {name} is a model as it is and cannot be fitted again; --model with the name of a learner \
                 fits one to the data"
            )));
        }
        let task = source.task();
        if let (Some(Target { name: column, labels: Some(labels), .. }), Some(task)) =
            (&observations.target, task)
        {
            let reason = match labels.as_slice() {
                _ if task == Task::Regression => format!("`{name}` needs a target of numbers"),
                [only] => format!("every row is `{only}`, and there is nothing to tell apart"),
                _ => String::new(),
            };
            if !reason.is_empty() {
                return Err(Error::content(path, format!("column {column}: {reason}")));
            }
        }
        let seed = self.split_seed.unwrap_or(0);
        let (test, train) = observations.split(self.test.unwrap_or(0.0), seed);
        if train.as_ref().is_some_and(Vec::is_empty) {
            let rows = observations.rows();
            let message = format!("--test: of {rows} rows none is left to fit a model to");
            return Err(Error::Argument(message));
        }
        let rows = train.as_ref().map_or(observations.rows(), Vec::len);
        refits.map_or(Ok(()), |refits| refits.check(rows))?;
        let (model, observations) =
            source.model(observations, train.as_deref(), self.model_seed.unwrap_or(0))?;
        let refits = refits.map(|options| {
            let rows = (&observations, train.as_deref());
            Source::refits(options, rows, (name, set))
        });
        let refits = refits.transpose()?;
        let of_rows =
            ModelOfRows { name, path, source: &source, model, observations, train, test, refits };
        self.finish(of_rows)
    }

    fn finish(&self, parts: ModelOfRows<'_>) -> Result<Fitted> {
        let ModelOfRows { name, path, source, model, observations, train, test, refits } = parts;
        let mut about = Map::new();
        about.insert("model".to_owned(), name.into());
        about.insert("options".to_owned(), source.options().into());
        about.insert("facts".to_owned(), json!(model.summary()));
        let (missing, outliers) = observations.left_out;
        if missing + outliers > 0 {
            let rows = json!({ "missing_values": missing, "outliers": outliers });
            about.insert("left_out".to_owned(), rows);
        }
        let parts = [
            ("train", Some(train.as_deref())),
            ("test", (!test.is_empty()).then_some(Some(&test[..]))),
        ];
        for (what, rows) in parts {
            let Some(rows) = rows.map(|rows| observations.part(rows)) else { continue };
            if let Some(quality) = quality(&*model, &rows)? {
                say!("{name}, {what}, {} rows: {quality}", rows.rows());
                about.insert(what.to_owned(), json!({ "rows": rows.rows(), "quality": quality }));
            }
        }
        let outputs = output_names(&*model, &observations);
        let explained = match self.explain {
            Some(Explain::Train) => observations.part(train.as_deref()).into_owned(),
            Some(Explain::Test) if test.is_empty() => {
                return Err(Error::Argument("--explain test needs --test SHARE".to_owned()));
            }
            Some(Explain::Test) => observations.part(Some(&test)).into_owned(),
            None | Some(Explain::All) => observations,
        };
        let file =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let model_name =
            if source.task().is_some() { name.to_owned() } else { file(name.as_ref()) };
        Ok(Fitted {
            outputs,
            scales: explained.scales,
            data: explained.data,
            title: format!("{}, {}", file(path), usual(&model_name)),
            about: Value::Object(about),
            refits,
            model,
        })
    }
}

/// Says with which numbers a model that is read, and does not say what it calls them, is asked about columns of words.
fn say_codes(observations: &Observations, known: &[Option<Vec<String>>]) {
    for (feature, name) in observations.names().iter().enumerate() {
        if known.get(feature).is_some_and(Option::is_some) {
            continue;
        }
        let levels = observations.data.level_names(feature);
        let words = levels.iter().flat_map(|levels| levels.iter());
        let words: Vec<String> = words
            .filter(|(_, word)| word.parse::<f64>().is_err())
            .map(|(code, word)| format!("{code} for {word}"))
            .collect();
        if !words.is_empty() {
            say!(
                "{name}: the model is asked with {}; --levels {name}=… gives other words these numbers",
                listed(words.iter().map(String::as_str))
            );
        }
    }
}

/// A model with the rows it comes from.
struct ModelOfRows<'a> {
    name: &'a str,
    path: &'a Path,
    source: &'a Source,
    model: Box<dyn FittedModel>,
    observations: Observations,
    /// All if none are held out.
    train: Option<Vec<usize>>,
    test: Vec<usize>,
    refits: Option<Refitted>,
}

/// Source of a model.
enum Source {
    Learner(Learner),
    File(PathBuf, Format),
}

impl Source {
    fn of(name: &str, set: &[(String, String)]) -> Result<Self> {
        match Format::of(name.as_ref()) {
            Some(_) if !set.is_empty() => {
                Err(Error::Argument(format!("--set: a model that is read, {name}, has no options")))
            }
            Some(format) => Ok(Self::File(name.into(), format)),
            None if Path::new(name).extension().is_some() => Err(Error::Argument(format!(
                "--model {name}: a stored model is a file *.onnx, *.json or *.ubj (XGBoost) or *.txt (LightGBM)"
            ))),
            None => Ok(Self::Learner(Learner::new(name, set)?)),
        }
    }

    /// The task that the model is fitted for; none if it is read.
    fn task(&self) -> Option<Task> {
        match self {
            Self::Learner(learner) => Some(learner.task()),
            Self::File(..) => None,
        }
    }

    fn options(&self) -> &str {
        match self {
            Self::Learner(learner) => learner.options(),
            Self::File(..) => "",
        }
    }

    /// The learner refitted to resamples of the rows of the fit.
    fn refits(
        options: RefitOptions,
        (observations, train): (&Observations, Option<&[usize]>),
        (name, set): (&str, &[(String, String)]),
    ) -> Result<Refitted> {
        let rows = observations.part(train).into_owned();
        match rows.target {
            Some(target) => {
                let (learner, data, target) = (Learner::new(name, set)?, rows.data, target.values);
                let has_steps = learner.has_steps();
                if has_steps && options.resampling == Some(Scheme::Bootstrap) {
                    say!(
                        "{name}: a bootstrap tells too little of where steps are; half of the rows, which are taken \
                         without --resampling, make bands that hold more often"
                    );
                }
                let refits = options.fit(&data, &learner.on(&data, &target), has_steps)?;
                Ok(Refitted { refits, learner, data, target })
            }
            _ => Err(Error::Argument("--band refit needs a learner and a target".to_owned())),
        }
    }

    /// The model, and the observations with the features that it takes.
    fn model(
        &self,
        observations: Observations,
        train: Option<&[usize]>,
        seed: u64,
    ) -> Result<(Box<dyn FittedModel>, Observations)> {
        let (path, format) = match self {
            Self::Learner(learner) => {
                let rows = observations.part(train);
                let Some(target) = &rows.target else {
                    let names = observations.names().iter().map(String::as_str);
                    let message = "needs --target, one of the columns";
                    let message = format!("--model {} {message} {}", learner.name(), listed(names));
                    return Err(Error::Argument(message));
                };
                let model = learner.fit(&rows.data, &target.values, seed)?;
                drop(rows);
                return Ok((model, observations));
            }
            Self::File(path, format) => (path, *format),
        };
        let bytes = crate::system::files::bytes(path)?;
        let columns = observations.names().len();
        let folder = path.parent().unwrap_or(Path::new(""));
        let read = stored::read_beside(format, &bytes, columns, folder);
        let read = read.map_err(|e| Error::content(path, e))?;
        let observations = match &read.features {
            // A file may number features where it knows no names.
            Some(names) if names.iter().any(|name| observations.names().contains(name)) => {
                observations.with_features(names)?
            }
            _ => observations,
        };
        let (model, data) = (read.model.dimension(), observations.names().len());
        if model != data {
            let names = observations.names().iter().map(String::as_str);
            let message = format!(
                "the model takes {model} features and the data have {data}: {}; --target and --ignore \
                 leave columns out",
                listed(names)
            );
            return Err(Error::content(path, message));
        }
        let observations = observations.recoded(&read.levels)?;
        say_codes(&observations, &read.levels);
        if observations.data.is_incomplete() && !read.model.takes_missing() {
            let message =
                "the model takes no missing values: --missing drop leaves out the rows with some";
            return Err(Error::content(path, message));
        }
        Ok((read.model, observations))
    }
}

/// The quality of a model's predictions of some rows; none if there are no rows, no target or nothing to compare
/// it with.
fn quality(model: &dyn FittedModel, observations: &Observations) -> Result<Option<Quality>> {
    let Some(target) = &observations.target else { return Ok(None) };
    let (data, rows) = (&observations.data, observations.rows());
    let mut outputs = vec![0.0; rows * model.outputs()];
    model
        .predict(&Rows::new(&data.columns(0..rows), rows), &mut outputs)
        .map_err(fe_core::Error::from)?;
    let names = model.output_names();
    let (task, target) = if model.outputs() > 1 {
        let classes = target.values.iter().map(|y| class_of(*y, target, &names));
        let Some(classes) = classes.collect() else { return Ok(None) };
        (Task::Classification, classes)
    } else if target.labels.is_none() {
        (Task::Regression, target.values.clone())
    } else {
        return Ok(None);
    };
    Ok(Quality::of(task, &outputs, &target, data.weights()))
}

/// The place among the outputs of the class that a target has in a row: outputs are called by the words
/// of the target, or by its numbers, which are the places of the words where it has some.
fn class_of(y: f64, target: &Target, names: &[String]) -> Option<f64> {
    let word = target.labels.as_ref().and_then(|labels| labels.get(y as usize));
    let place = names
        .iter()
        .position(|name| word == Some(name))
        .or_else(|| names.iter().position(|name| name.parse() == Ok(y)));
    place.map(|place| place as f64)
}

/// The names of the outputs; the words of the target where the model knows these by number.
fn output_names(model: &dyn FittedModel, observations: &Observations) -> Vec<String> {
    let target = observations.target.as_ref();
    let labels = target.and_then(|target| target.labels.as_ref());
    let word = |name: String| {
        let place = name.parse::<f64>().ok().filter(|place| *place >= 0.0);
        let label = labels.zip(place).and_then(|(labels, place)| labels.get(place as usize));
        label.cloned().unwrap_or(name)
    };
    match (model.output_names(), target) {
        (names, Some(target)) if names.len() == 1 => vec![target.name.clone()],
        (names, _) => names.into_iter().map(word).collect(),
    }
}
