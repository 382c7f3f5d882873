//! What is computed here, and how far it is from a recorded result.

use fe_core::data::FeatureKind;
use fe_core::effect::Instances;
use fe_core::effect::centring::AxisMean;
use fe_core::effect::heterogeneity::effector_score;
use fe_core::estimator;
use fe_core::model::{Column, Model, Rows};
use fe_core::numeric::interpolation::interpolate_missing;
use fe_core::numeric::moments::Moments;
use fe_core::numeric::partition::{Closed, Partition};
use fe_core::settings::CenterRule;
use fe_core::{AxisChoice, Centring, Curve, Effect, Settings, preset};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::record::Case;

/// Largest difference, relative to the size of what is compared.
const TOLERANCE: f64 = 1e-9;
/// The part of a variance that rounding of the values it is about may make, relative to their square.
const ROUNDING: f64 = 1e-13;

/// What differs, with the figures; an error where nothing could be computed.
pub type Comparison = Result<(), String>;

pub fn close(what: &str, ours: &[f64], theirs: &[f64], size: f64) -> Comparison {
    if ours.len() != theirs.len() {
        return Err(format!("{what}: {} values, {} recorded", ours.len(), theirs.len()));
    }
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let both_missing = a.is_nan() && b.is_nan();
        let is_close = (a - b).abs() <= size;
        if !both_missing && !is_close {
            return Err(format!("{what}[{i}]: {a}, {b} recorded ({size:.1e} allowed)"));
        }
    }
    Ok(())
}

pub fn size(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, x| if x.is_nan() { largest } else { x.abs().max(largest) })
}

pub fn close_curve(what: &str, ours: &[f64], theirs: &[f64], scale: f64) -> Comparison {
    close(what, ours, theirs, TOLERANCE * scale)
}

pub fn close_variance(what: &str, ours: &[f64], theirs: &[f64], values: f64) -> Comparison {
    close(what, ours, theirs, TOLERANCE * size(theirs) + ROUNDING * values * values)
}

/// The preset of a recorded result, with the options of that result.
pub fn settings(case: Case<'_>) -> Settings {
    let (name, estimator) = preset_and_estimator(case);
    preset::complete(name, estimator, explicit(case)).unwrap()
}

pub fn preset_and_estimator(case: Case<'_>) -> (&'static str, &'static str) {
    match (case.text("peer"), case.text("method")) {
        ("effector", "ALE") => ("effector-0.6", "ale"),
        ("effector", "RHALE") => ("effector-0.6", "rhale"),
        ("effector", "PDP") => ("effector-0.6", "pdp"),
        ("effector", "DerPDP") => ("effector-0.6", "dpdp"),
        ("alibi", "ALE") => ("alibi-0.9", "ale"),
        ("PyALE", "ALE") => ("pyale-1.2", "ale"),
        ("scikit-learn", "partial_dependence brute") => ("sklearn-1.9", "pdp"),
        _ => panic!("{case} is neither compared nor listed as out of scope"),
    }
}

/// The options that the recorded call gave.
fn explicit(case: Case<'_>) -> Settings {
    let none = Settings::default;
    let binning = |name: &str| Some(name.to_owned());
    match case.text("peer") {
        "effector" => {
            let name = case.option_text("binning");
            let binning = binning(name).filter(|name| !name.is_empty());
            if case.is_default() {
                return Settings { binning, ..none() };
            }
            let cells = ["K", "max_nof_bins", "init_nof_bins"];
            Settings {
                binning,
                bins: cells.iter().find_map(|key| case.option_count(key)),
                min_points: case.option_number("min_points_per_bin"),
                discount: case.option_number("discount"),
                ..none()
            }
        }
        "alibi" => match case.option_text("grid") {
            "default: quantiles, min_bin_points=4" => none(),
            "default, check_feature_resolution=False" => Settings { distinct: Some(0), ..none() },
            "quantiles, min_bin_points=20" => Settings { min_points: Some(20.0), ..none() },
            grid => {
                let bins = grid.split(' ').nth(2).and_then(|bins| bins.parse().ok());
                assert!(bins.is_some() && grid.ends_with("equal-width bins"), "{grid}");
                Settings { binning: binning("fixed"), bins, ..none() }
            }
        },
        "PyALE" => Settings { bins: case.option_count("grid_size"), ..none() },
        _ if case.is_default() => none(),
        _ => {
            let points = case.option_count("grid_resolution").unwrap();
            let whole = case.result["options"]["percentiles"][0].as_f64() == Some(0.0);
            Settings {
                grid: Some(points),
                distinct: Some(points - 1),
                axis: whole.then_some(AxisChoice::Data),
                ..none()
            }
        }
    }
}

/// The effect under some settings.
pub fn estimate(case: Case<'_>, settings: &Settings) -> Result<Effect, String> {
    let (_, name) = preset_and_estimator(case);
    let estimator = estimator::from_settings(name, settings).map_err(|e| e.to_string())?;
    let effects = estimator.estimate(&case.record.data, &case.record.model, case.feature());
    effects.map(|mut effects| effects.remove(0)).map_err(|e| e.to_string())
}

/// Compares everything that a result records.
pub fn compare(case: Case<'_>, settings: &Settings) -> Comparison {
    match (case.text("peer"), preset_and_estimator(case).1) {
        _ if is_ordinal_to_effector(case) => effector_ordinal(case, false),
        ("effector", "ale" | "rhale") => effector_bins(case, &Binned::estimate(case, settings)?),
        ("effector", _) => effector_grid(case, settings),
        ("alibi", _) => alibi(case, settings),
        ("PyALE", _) if is_discrete_to_pyale(case) => pyale_discrete(case, settings),
        ("PyALE", _) => pyale(case, settings),
        _ => sklearn(case, settings),
    }
}

fn instances<'a>(case: Case<'a>) -> Instances<'a> {
    Instances { positions: case.positions(), weights: None, counts: None }
}

/// An accumulated effect: its bins, and the curves that they make.
pub struct Binned {
    limits: Vec<f64>,
    counts: Vec<f64>,
    effect: Vec<f64>,
    variance: Vec<f64>,
    uncentred: Curve,
    zero_integral: Curve,
    zero_start: Curve,
    heterogeneity: Curve,
    score: f64,
    // From here on curves are not constant beyond the last limit.
    steep_from: f64,
}

impl Binned {
    pub fn estimate(case: Case<'_>, settings: &Settings) -> Result<Self, String> {
        let centred =
            |center| estimate(case, &Settings { center: Some(center), ..settings.clone() });
        let effect = centred(Centring::None)?;
        let bins = effect.bins.ok_or("no bins")?;
        Ok(Self {
            limits: bins.partition.limits().to_vec(),
            counts: bins.counts,
            effect: bins.effect,
            variance: effect.heterogeneity.y().to_vec(),
            uncentred: effect.curve,
            zero_integral: centred(Centring::Integral)?.curve,
            zero_start: centred(Centring::Start)?.curve,
            heterogeneity: effect.heterogeneity,
            score: effect.heterogeneity_values["effector_score"].unwrap_or(f64::NAN),
            steep_from: f64::INFINITY,
        })
    }

    /// The same with the slope of the last bin beyond the last limit, from some place on.
    pub fn steep_from(self, place: f64) -> Self {
        Self { steep_from: place, ..self }
    }

    /// A curve, and what is added beyond the last limit.
    fn at(&self, curve: &Curve, x: &[f64]) -> Result<Vec<f64>, String> {
        let last = self.effect.len();
        let beyond = |x: f64| {
            let distance = if x < self.limits[last] { 0.0 } else { x - self.steep_from };
            distance.max(0.0) * self.effect[last - 1]
        };
        let values = curve.at_all(x).map_err(|e| e.to_string())?;
        Ok(values.iter().zip(x).map(|(y, &x)| y + beyond(x)).collect())
    }

    /// The same with every difference divided by the width of the first bin in place of its own.
    pub fn divided_by_first_width(case: Case<'_>, settings: &Settings) -> Result<Self, String> {
        let effect = estimate(case, settings)?;
        let bins = effect.bins.ok_or("no bins")?;
        let widths = bins.partition.widths();
        let factor = |k: usize| widths[k] / widths[0];
        let index: Vec<f64> = (0..widths.len()).map(|k| k as f64).collect();
        let filled = |values: Vec<Option<f64>>| interpolate_missing(&values, &index).0.unwrap();
        let means =
            (0..widths.len()).map(|k| (bins.counts[k] > 0.0).then(|| bins.effect[k] * factor(k)));
        let variances = bins.variance.iter().enumerate();
        let variances = variances.map(|(k, v)| v.map(|v| v * factor(k) * factor(k)));
        let (means, variances) = (filled(means.collect()), filled(variances.collect()));
        Ok(Self::of(case, &bins.partition, bins.counts, means, variances))
    }

    fn of(
        case: Case<'_>,
        partition: &Partition,
        counts: Vec<f64>,
        effect: Vec<f64>,
        variance: Vec<f64>,
    ) -> Self {
        let limits = partition.limits().to_vec();
        let mut values = vec![0.0];
        for (slope, width) in effect.iter().zip(partition.widths()) {
            values.push(values[values.len() - 1] + slope * width);
        }
        let curve = Curve::linear(limits.clone(), values).extrapolated(true);
        let (lo, hi) = range(case);
        // The mean is over the range of the data, whatever the limits are.
        let on_data = AxisChoice::Given(lo, hi).resolve(&case.record.data, case.feature()).unwrap();
        let places = AxisMean::new(CenterRule::Midpoints, Some(30)).unwrap().places(on_data);
        let mean = curve.at_all(&places).unwrap().iter().sum::<f64>() / places.len() as f64;
        let heterogeneity =
            Curve::step(limits.clone(), variance.clone(), Closed::Left).extrapolated(true);
        let score = effector_score(&heterogeneity, instances(case), true);
        Self {
            limits,
            counts,
            effect,
            variance,
            uncentred: curve.clone(),
            zero_integral: curve.clone().lowered(mean),
            zero_start: curve.clone().lowered(curve.y()[0]),
            heterogeneity,
            score: score.unwrap_or(f64::NAN),
            steep_from: f64::INFINITY,
        }
    }
}

/// Smallest and largest value of the feature.
pub fn range(case: Case<'_>) -> (f64, f64) {
    let positions = case.positions().iter();
    positions.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &x| (lo.min(x), hi.max(x)))
}

pub fn effector_bins(case: Case<'_>, ours: &Binned) -> Comparison {
    let (lo, hi) = range(case);
    close_curve(
        "limits",
        &ours.limits,
        &case.numbers("limits"),
        (hi - lo).max(lo.abs()).max(hi.abs()),
    )?;
    close("points_per_bin", &ours.counts, &case.numbers("points_per_bin"), 0.0)?;
    let slopes = size(&case.numbers("bin_effect"));
    close_curve("bin_effect", &ours.effect, &case.numbers("bin_effect"), slopes)?;
    close_variance("bin_variance", &ours.variance, &case.numbers("bin_variance"), slopes)?;
    let (x, outside) = (case.numbers("x"), case.numbers("x_outside"));
    let theirs = case.numbers("effect_uncentred");
    let scale = size(&theirs);
    close_curve("effect_uncentred", &ours.at(&ours.uncentred, &x)?, &theirs, scale)?;
    let theirs = case.numbers("effect_uncentred_outside");
    let outer_scale = scale.max(size(&theirs));
    close_curve(
        "effect_uncentred_outside",
        &ours.at(&ours.uncentred, &outside)?,
        &theirs,
        outer_scale,
    )?;
    let theirs = case.numbers("effect_zero_integral");
    close_curve("effect_zero_integral", &ours.at(&ours.zero_integral, &x)?, &theirs, scale)?;
    let theirs = case.numbers("effect_zero_start");
    close_curve("effect_zero_start", &ours.at(&ours.zero_start, &x)?, &theirs, scale)?;
    let at = |x: &[f64]| ours.heterogeneity.at_all(x).map_err(|e| e.to_string());
    let theirs = case.numbers("heterogeneity");
    close_variance("heterogeneity", &at(&x)?, &theirs, slopes)?;
    let theirs = case.numbers("heterogeneity_outside");
    close_variance("heterogeneity_outside", &at(&outside)?, &theirs, slopes)?;
    score(case, ours.score, slopes * standard_deviation(case.positions()))?;
    importance(case, &ours.at(&ours.uncentred, case.positions())?, scale)
}

/// The score is the root of a variance.
fn score(case: Case<'_>, ours: f64, values: f64) -> Comparison {
    let theirs = case.number("heter_score");
    close_variance("heter_score squared", &[ours * ours], &[theirs * theirs], values)
}

/// Standard deviation of the curve's values at the instances.
fn importance(case: Case<'_>, values: &[f64], scale: f64) -> Comparison {
    let ours = standard_deviation(values);
    close_curve("importance", &[ours], &[case.number("importance")], scale)
}

pub fn standard_deviation(values: &[f64]) -> f64 {
    let moments = Moments::of(values);
    (moments.squares / moments.weight).sqrt()
}

fn effector_grid(case: Case<'_>, settings: &Settings) -> Comparison {
    let x = case.numbers("x");
    let with = |change: Settings| estimate(case, &change.or(settings));
    let none = Settings::default;
    let theirs = case.numbers("effect_uncentred");
    let scale = size(&theirs);
    for (field, center) in [
        ("effect_uncentred", Centring::None),
        ("effect_zero_integral", Centring::Integral),
        ("effect_zero_start", Centring::Start),
    ] {
        let effect = with(Settings { center: Some(center), points: Some(x.clone()), ..none() })?;
        let ours = effect.curve.at_all(&x).map_err(|e| e.to_string())?;
        close_curve(field, &ours, &case.numbers(field), scale)?;
    }
    // Beyond the range the model is asked: that is a wider axis.
    let outside = case.numbers("x_outside");
    let wide = AxisChoice::Given(outside[0], outside[outside.len() - 1]);
    let change = Settings {
        axis: Some(wide),
        grid: Some(2),
        points: Some(outside.clone()),
        center: Some(Centring::None),
        ..none()
    };
    let theirs = case.numbers("effect_uncentred_outside");
    let ours = with(change)?.curve.at_all(&outside).map_err(|e| e.to_string())?;
    close_curve("effect_uncentred_outside", &ours, &theirs, size(&theirs))?;
    // Heterogeneity is that of the grid, linear between its points and constant beyond.
    let effect = with(Settings { extrapolate: Some(true), ..none() })?;
    for (field, x) in [("heterogeneity", &x), ("heterogeneity_outside", &outside)] {
        let ours = effect.heterogeneity.at_all(x).map_err(|e| e.to_string())?;
        close_variance(field, &ours, &case.numbers(field), scale)?;
    }
    let ours = effect.heterogeneity_values["effector_score"].unwrap_or(f64::NAN);
    let values = effect.curve.extrapolated(true).at_all(case.positions()).unwrap();
    if case.text("method") == "PDP" {
        score(case, ours, scale)?;
        return importance(case, &values, scale);
    }
    // Those of a derivative are in units of the output: slopes times the spread of the feature.
    let mean = values.iter().map(|slope| slope.abs()).sum::<f64>() / values.len() as f64;
    let spread = standard_deviation(case.positions());
    score(case, ours, scale * spread)?;
    close_curve("importance", &[mean * spread], &[case.number("importance")], scale * spread)
}

fn alibi(case: Case<'_>, settings: &Settings) -> Comparison {
    let effect = estimate(case, settings)?;
    let deciles: Vec<f64> = (0..=10).map(|i| case.sample().quantile(f64::from(i) / 10.0)).collect();
    let scale = size(&case.numbers("effect_zero_start"));
    close_curve("deciles", &deciles, &case.numbers("deciles"), size(&deciles))?;
    let limits = case.numbers("limits");
    close_curve("limits", effect.curve.x(), &limits, size(&limits))?;
    close_curve("effect_centred", effect.curve.y(), &case.numbers("effect_centred"), scale)?;
    let constant = [effect.record.centring_constant];
    close_curve("centring_constant", &constant, &[case.number("centring_constant")], scale)?;
    let start = estimate(case, &Settings { center: Some(Centring::Start), ..settings.clone() })?;
    close_curve("effect_zero_start", start.curve.y(), &case.numbers("effect_zero_start"), scale)?;
    let mean = mean_prediction(case);
    close_curve("constant_value", &[mean], &[case.number("constant_value")], mean.abs())
}

fn mean_prediction(case: Case<'_>) -> f64 {
    let values = predictions(case);
    values.iter().sum::<f64>() / values.len() as f64
}

/// The outputs at the instances.
pub fn predictions(case: Case<'_>) -> Vec<f64> {
    let data = &case.record.data;
    let columns: Vec<Column<'_>> =
        (0..data.dimension()).map(|j| Column::Values(data.feature(j))).collect();
    let mut values = vec![0.0; data.len()];
    case.record.model.predict(&Rows::new(&columns, data.len()), &mut values).unwrap();
    values
}

fn pyale(case: Case<'_>, settings: &Settings) -> Comparison {
    let effect = estimate(case, settings)?;
    let limits = case.numbers("limits");
    close_curve("limits", effect.curve.x(), &limits, size(&limits))?;
    let theirs = case.numbers("effect_centred");
    let scale = size(&theirs);
    close_curve("effect_centred", effect.curve.y(), &theirs, scale)?;
    let bins = effect.bins.as_ref().ok_or("no bins")?;
    let counts: Vec<f64> = std::iter::once(0.0).chain(bins.counts.iter().copied()).collect();
    close("points_per_bin", &counts, &case.numbers("points_per_bin_ending_here"), 0.0)?;
    // The interval of a bin's mean difference, around the curve at the end of the bin.
    let half = |k: usize| -> f64 {
        let (n, variance) = (bins.counts[k], effect.heterogeneity.y()[k]);
        if n < 2.0 {
            return f64::NAN;
        }
        StudentsT::new(0.0, 1.0, n - 1.0).unwrap().inverse_cdf(0.975) * (variance / n).sqrt()
    };
    let interval = |sign: f64| -> Vec<f64> {
        let ends = (0..bins.counts.len()).map(|k| effect.curve.y()[k + 1] + sign * half(k));
        std::iter::once(f64::NAN).chain(ends).collect()
    };
    let widest = scale.max(size(&case.numbers("upper_ci_95")));
    close_curve("lower_ci_95", &interval(-1.0), &case.numbers("lower_ci_95"), widest)?;
    close_curve("upper_ci_95", &interval(1.0), &case.numbers("upper_ci_95"), widest)
}

/// Up to ten distinct values are discrete to PyALE, unless it is told otherwise.
pub fn is_discrete_to_pyale(case: Case<'_>) -> bool {
    case.text("peer") == "PyALE"
        && case.option_text("feature_type") == "auto"
        && case.distinct() <= 10
}

/// The effect of the feature as an ordinal one.
fn at_levels(case: Case<'_>, name: &str, settings: &Settings) -> Result<Effect, String> {
    let mut kinds = vec![FeatureKind::Continuous; case.record.data.dimension()];
    kinds[case.feature()] = FeatureKind::Ordinal;
    let data = case.record.data.clone().with_kinds(kinds).unwrap();
    let estimator = estimator::from_settings(name, settings).map_err(|e| e.to_string())?;
    let effects = estimator.estimate(&data, &case.record.model, case.feature());
    Ok(effects.map_err(|e| e.to_string())?.remove(0))
}

/// Fewer than ten distinct integers are ordinal to effector, unless it is told otherwise.
pub fn is_ordinal_to_effector(case: Case<'_>) -> bool {
    case.text("peer") == "effector"
        && case.option_text("schema") == "inferred"
        && (case.text("feature_type") == "ordinal" || case.distinct() == 1)
}

/// The effects of an ordinal feature by effector: its ALE and RHALE are changes over the rows of both levels, whatever
/// the bins; its mean over the axis is that over the rows. `stretched` are its limits of quantile bins,
/// over which it takes the changes for slopes.
pub fn effector_ordinal(case: Case<'_>, stretched: bool) -> Comparison {
    let name = match case.text("method") {
        "PDP" => "pdp",
        "ALE" | "RHALE" => "ale",
        other => return Err(format!("{other} of an ordinal feature takes differences")),
    };
    let with = |center| {
        let settings = Settings { center: Some(center), ddof: Some(0), ..Settings::default() };
        at_levels(case, name, &settings)
    };
    let effect = with(Centring::None)?;
    let levels = case.numbers("levels");
    close_curve("levels", effect.curve.x(), &levels, size(&levels))?;
    let scale = size(&case.numbers("effect_uncentred"));
    let counts = effect.record.levels.as_ref().ok_or("no levels")?.counts.clone();
    let mut heterogeneity = effect.heterogeneity.y().to_vec();
    let rows: f64 = counts.iter().sum();
    let mean = |of: &[f64]| of.iter().zip(&counts).map(|(y, n)| y * n).sum::<f64>() / rows;
    let mut spread = 1.0;
    let mut curve = effect.curve.y().to_vec();
    if name == "ale" {
        let changes: Vec<f64> = curve.windows(2).map(|pair| pair[1] - pair[0]).collect();
        close_curve("bin_effect", &changes, &case.numbers("bin_effect"), scale)?;
        let both: Vec<f64> = counts.windows(2).map(|pair| pair[0] + pair[1]).collect();
        close("points_per_bin", &both, &case.numbers("points_per_bin"), 0.0)?;
        close_variance("bin_variance", &heterogeneity[1..], &case.numbers("bin_variance"), scale)?;
        // The first level has no change that leads to it; effector gives it that of the second.
        heterogeneity[0] = heterogeneity[1];
        let place = mean(&levels);
        spread = mean(&levels.iter().map(|x| (x - place).powi(2)).collect::<Vec<_>>()).sqrt();
        let limits = case.numbers("limits");
        if stretched {
            let mut y = vec![0.0];
            for (ends, change) in limits.windows(2).zip(&changes) {
                y.push(y[y.len() - 1] + change * (ends[1] - ends[0]));
            }
            curve = Curve::linear(limits, y).at_all(&levels).map_err(|e| e.to_string())?;
        } else {
            close_curve("limits", &levels, &limits, size(&limits))?;
        }
    }
    close_curve("effect_uncentred", &curve, &case.numbers("effect_uncentred"), scale)?;
    let less = |constant: f64| curve.iter().map(|y| y - constant).collect::<Vec<f64>>();
    let centred = less(mean(&curve));
    close_curve("effect_zero_integral", &centred, &case.numbers("effect_zero_integral"), scale)?;
    close_curve("effect_zero_start", &less(curve[0]), &case.numbers("effect_zero_start"), scale)?;
    if !stretched {
        close_curve("center = data", with(Centring::Data)?.curve.y(), &centred, scale)?;
    }
    close_variance("heterogeneity", &heterogeneity, &case.numbers("heterogeneity"), scale)?;
    score(case, mean(&heterogeneity).sqrt() * spread, scale)?;
    importance(case, &at_rows(case, &levels, &curve), scale)
}

/// The values at levels in the rows that are at them.
fn at_rows(case: Case<'_>, levels: &[f64], values: &[f64]) -> Vec<f64> {
    let place = |x: &f64| levels.iter().position(|level| level == x).unwrap();
    case.positions().iter().map(|x| values[place(x)]).collect()
}

/// The ALE of an ordinal feature, with the interval of the mean change to each level.
fn pyale_discrete(case: Case<'_>, settings: &Settings) -> Comparison {
    let settings = Settings { center: Some(Centring::Data), ..settings.clone() };
    let effect = at_levels(case, "ale", &settings)?;
    let limits = case.numbers("limits");
    close_curve("limits", effect.curve.x(), &limits, size(&limits))?;
    let theirs = case.numbers("effect_centred");
    let scale = size(&theirs);
    close_curve("effect_centred", effect.curve.y(), &theirs, scale)?;
    let counts = &effect.record.levels.as_ref().ok_or("no levels")?.counts;
    close("rows at a level", counts, &case.numbers("points_per_bin_ending_here"), 0.0)?;
    let half = |k: usize| -> f64 {
        let (n, variance) = (counts[k - 1] + counts[k], effect.heterogeneity.y()[k]);
        StudentsT::new(0.0, 1.0, n - 1.0).unwrap().inverse_cdf(0.975) * (variance / n).sqrt()
    };
    let interval = |sign: f64| -> Vec<f64> {
        let ends = (1..counts.len()).map(|k| effect.curve.y()[k] + sign * half(k));
        std::iter::once(f64::NAN).chain(ends).collect()
    };
    let widest = scale.max(size(&case.numbers("upper_ci_95")));
    close_curve("lower_ci_95", &interval(-1.0), &case.numbers("lower_ci_95"), widest)?;
    close_curve("upper_ci_95", &interval(1.0), &case.numbers("upper_ci_95"), widest)
}

fn sklearn(case: Case<'_>, settings: &Settings) -> Comparison {
    let effect = estimate(case, settings)?;
    let x = case.numbers("x");
    close_curve("x", effect.curve.x(), &x, size(&x))?;
    let theirs = case.numbers("effect_uncentred");
    let scale = size(&theirs);
    close_curve("effect_uncentred", effect.curve.y(), &theirs, scale)?;
    let theirs = case.numbers("ice_variance_raw_ddof0");
    close_variance("ice_variance_raw_ddof0", effect.heterogeneity.y(), &theirs, scale)?;
    if case.distinct() < settings.grid.unwrap_or_default() {
        return Ok(()); // see `NOT_COMPARED`
    }
    let centred = Settings {
        center: Some(Centring::Integral),
        center_rule: Some(CenterRule::Points),
        center_points: settings.grid,
        raw_ice: Some(false),
        ..settings.clone()
    };
    let theirs = case.numbers("ice_variance_centred_ddof0");
    let effect = estimate(case, &centred)?;
    close_variance("ice_variance_centred_ddof0", effect.heterogeneity.y(), &theirs, scale)
}

/// What is recorded and not compared, and why.
pub const NOT_COMPARED: (&str, &str) = (
    "ice_variance_centred_ddof0",
    "on a grid of distinct values it is about a plain mean over points that are not equidistant, which \
     is no mean over the axis",
);
