//! Errors: questions that have no answer.
//!
//! Imports nothing of this crate. Begin with [`Error`].

/// A question that has no answer, with what was given and what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No scenario, effect, centring or weighting has this name.
    #[error("unknown {what} `{given}`{}; known: {known}", hint(.nearest))]
    UnknownName {
        /// The kind of thing that was named.
        what: &'static str,
        /// The name.
        given: String,
        /// The nearest known one, if any is near.
        nearest: Option<String>,
        /// All known ones, separated by commas.
        known: String,
    },
    /// The scenario exists, but not in this version.
    #[error("scenario `{name}` has version {known}, not `{given}`")]
    UnknownVersion {
        /// Name of the scenario.
        name: &'static str,
        /// The version asked for.
        given: String,
        /// The version there is.
        known: u32,
    },
    /// The scenario has no such parameter.
    #[error("scenario `{scenario}` has no parameter `{given}`{}; it has {known}", hint(.nearest))]
    UnknownParameter {
        /// Name of the scenario.
        scenario: &'static str,
        /// The key.
        given: String,
        /// The nearest known one, if any is near.
        nearest: Option<String>,
        /// All known ones, separated by commas.
        known: String,
    },
    /// A parameter is given more than once.
    #[error("parameter `{0}` is given twice")]
    RepeatedParameter(String),
    /// A parameter is not a value of its range.
    #[error("parameter `{name}` of `{scenario}` is `{given}`; allowed: {allowed}")]
    BadParameter {
        /// Name of the scenario.
        scenario: &'static str,
        /// The key.
        name: &'static str,
        /// The value given.
        given: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The scenario has no such feature.
    #[error("there is no feature x{}; the scenario has x1 to x{dimension}", .feature + 1)]
    NoSuchFeature {
        /// The feature, counted from 0.
        feature: usize,
        /// Number of features.
        dimension: usize,
    },
    /// A point does not have one value for each feature.
    #[error("the point has {given} values; the scenario has {dimension} features")]
    WrongDimension {
        /// Number of values.
        given: usize,
        /// Number of features.
        dimension: usize,
    },
    /// A point lies where the feature has no probability.
    #[error(
        "{} is outside the support [{}, {}] of {}",
        number(.given), number(.low), number(.high), .feature
    )]
    OutsideSupport {
        /// Name of the feature.
        feature: String,
        /// The point.
        given: f64,
        /// Lower end of the support.
        low: f64,
        /// Upper end of the support.
        high: f64,
    },
    /// A probability of which there is no quantile.
    #[error("probability {given}: must lie strictly between 0 and 1")]
    BadProbability {
        /// The value given.
        given: f64,
    },
    /// An axis that is not an interval inside the support.
    #[error(
        "the range [{}, {}] of {} must be finite, ascending and inside the support [{}, {}]",
        number(.low), number(.high), .feature, number(&.support.0), number(&.support.1)
    )]
    BadAxis {
        /// Name of the feature.
        feature: String,
        /// Lower end given.
        low: f64,
        /// Upper end given.
        high: f64,
        /// Support of the feature.
        support: (f64, f64),
    },
    /// Limits that bound no bin.
    #[error("bin limits must be at least two finite numbers in strictly ascending order: {0}")]
    BadLimits(String),
    /// A bin that no instance can ever fall into.
    #[error(
        "the bin [{}, {}] of {} has probability 0, or one that is too small to be told",
        number(.low), number(.high), .feature
    )]
    EmptyBin {
        /// Name of the feature.
        feature: String,
        /// Lower limit.
        low: f64,
        /// Upper limit.
        high: f64,
    },
    /// A region in which no row can ever lie.
    #[error("the region has probability 0: no {feature} there {condition}")]
    ImpossibleRegion {
        /// Name of the feature that is never there, given what is asked of those before it.
        feature: String,
        /// The condition on it.
        condition: String,
    },
    /// A region whose probability has lost its digits.
    #[error(
        "the region is too rare to be told: that {feature} {condition} has a probability below 1e-10"
    )]
    RareRegion {
        /// Name of the feature that is hardly ever there.
        feature: String,
        /// The condition on it.
        condition: String,
    },
    /// A tree of regions that is not offered.
    #[error("{option} = {given}: must be {allowed}")]
    BadTreeOption {
        /// The option.
        option: &'static str,
        /// As what.
        given: String,
        /// The allowed values.
        allowed: String,
    },
    /// A truth that is beyond the numbers there are, or made of such: what it is, and where.
    #[error(
        "{0} cannot be told: it, or a number that it is computed from, is larger than 1.8e308 or lost in rounding"
    )]
    TooLarge(String),
    /// A truth in a region that the value of the feature all but rules out: what it is, and where.
    #[error(
        "{0} cannot be told in the region: it is all but impossible there, or a number is larger than 1.8e308 or lost in rounding"
    )]
    AllButImpossible(String),
    /// A feature with levels does not have what was asked.
    #[error("`{feature}` has levels: {what} is of features that have a density")]
    HasLevels {
        /// Name of the feature.
        feature: String,
        /// The quantity asked for.
        what: String,
    },
    /// An order of levels that does not name each of them once.
    #[error(
        "the order {given} of the levels of `{feature}` must name each of 0 to {count} - 1 once"
    )]
    BadOrder {
        /// Name of the feature.
        feature: String,
        /// The order given.
        given: String,
        /// Number of its levels.
        count: usize,
    },
    /// A value that is no level of a feature.
    #[error("`{feature}` has no level {given}; it has {known}")]
    NoLevel {
        /// Name of the feature.
        feature: String,
        /// The value given.
        given: f64,
        /// The levels, separated by commas.
        known: String,
    },
    /// The feature has no main effect of its own.
    #[error(
        "{} has no main effect in `{scenario}`: it does not enter additively",
        .feature
    )]
    NotAdditive {
        /// Name of the scenario.
        scenario: &'static str,
        /// Name of the feature.
        feature: String,
    },
    /// The literature has no limit formula of this name for the feature.
    #[error("`{scenario}` has no `{given}` of {}; it has {known}", .feature)]
    NoSuchLimit {
        /// Name of the scenario.
        scenario: &'static str,
        /// The name asked for.
        given: String,
        /// Name of the feature.
        feature: String,
        /// All there are, separated by commas.
        known: String,
    },
    /// The best split of a feature could not be computed to the accuracy that truths have.
    #[error(
        "no regional optimum of `{heterogeneity}` is known for {} in `{scenario}`: under its law \
         a region cannot be integrated accurately in reasonable time",
        .feature
    )]
    NoRegionalOptimum {
        /// Name of the scenario.
        scenario: &'static str,
        /// Name of the feature.
        feature: String,
        /// Name of the heterogeneity value.
        heterogeneity: &'static str,
    },
    /// A problem file says something wrong.
    #[error("{name}:{line}:{column}: {message}")]
    BadProblem {
        /// The name of the scenario or file.
        name: String,
        /// Line, counted from 1.
        line: usize,
        /// Column of the line, counted from 1, in characters.
        column: usize,
        /// The fault, and what is allowed.
        message: String,
    },
    /// A file whose name cannot be that of a scenario.
    #[error(
        "`{given}` cannot be the name of a scenario: letters, digits, spaces and - _ . ( ) + are \
         allowed"
    )]
    BadProblemName {
        /// The name.
        given: String,
    },
    /// An accuracy or a cost that simulation cannot have.
    #[error("{option} of simulation is {given}: must be {allowed}")]
    BadSimulation {
        /// The option.
        option: &'static str,
        /// The value given.
        given: f64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A population of random problems that there is not.
    #[error("`{key}` of a population is {given}: must be {allowed}")]
    BadPopulation {
        /// The key.
        key: &'static str,
        /// The value given.
        given: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A truth that could not be computed to the accuracy that truths have.
    #[error("`{scenario}`: {reason}")]
    NoTruth {
        /// Name of the scenario.
        scenario: &'static str,
        /// The reason.
        reason: String,
    },
    /// An effect that is of one feature alone was asked of two.
    #[error("`{effect}` is of one feature; of a pair there are pd, ale and ale-derivative")]
    NotOfPairs {
        /// The effect.
        effect: &'static str,
    },
    /// An index of another number of features.
    #[error("`{index}` is of {order} features, and {given} are given")]
    WrongOrder {
        /// The index.
        index: &'static str,
        /// Number of features given.
        given: usize,
        /// Number of features that it is of.
        order: usize,
    },
    /// A pair of a feature with itself.
    #[error("a pair is of two features, and `{feature}` is named twice")]
    SameFeature {
        /// Name of the feature.
        feature: String,
    },
    /// An effect of a pair that means something only when it is centred.
    #[error("{what} of a pair is known up to a constant: it is centred by data, integral or start")]
    Uncentred {
        /// The effect.
        what: &'static str,
    },
    /// A function of another number of features.
    #[error("the function has {given} features; the scenario has {dimension}")]
    WrongFunction {
        /// Number of features of the function.
        given: usize,
        /// Number of features of the scenario.
        dimension: usize,
    },
    /// A function that is not defined at a level that the law has.
    #[error(
        "the function is not defined at the level {level} of {feature}, as no row of its fit has it"
    )]
    UnknownLevel {
        /// Name of the feature.
        feature: String,
        /// Name of the level.
        level: String,
    },
    /// An effect that a function of constants on boxes does not have.
    #[error(
        "`{effect}` of a sum of trees is not offered: trees are constant between their splits, and their derivative \
         says nothing of them; there are pd, mplot, ale and shap"
    )]
    NotOfTrees {
        /// The effect.
        effect: &'static str,
    },
    /// Boxes whose probabilities cannot be integrated under the law.
    #[error("`{effect}` of a sum of trees under this law: {reason}")]
    JointBoxes {
        /// The effect.
        effect: &'static str,
        /// The reason.
        reason: String,
    },
    /// Centring was asked of something that is not an effect curve.
    #[error("`{effect}` cannot be centred; only none is allowed")]
    NotCentrable {
        /// The effect.
        effect: &'static str,
    },
}

/// A number that parses back, without hundreds of digits.
pub(crate) fn number(x: &f64) -> String {
    if x.trunc() == *x && x.abs() < 1e15 { format!("{x}") } else { format!("{x:?}") }
}

impl Error {
    /// The same, where a truth was refused with what it was of.
    pub(crate) fn about(self, what: &str) -> Self {
        match self {
            Self::NoTruth { scenario, reason } => {
                Self::NoTruth { scenario, reason: format!("{what}: {reason}") }
            }
            other => other,
        }
    }

    /// A bin of a feature that is beyond the numbers there are.
    pub(crate) fn large_bin(feature: &str, low: f64, high: f64) -> Self {
        let [low, high] = [low, high].map(|end| number(&end));
        Self::TooLarge(format!("the bin [{low}, {high}] of {feature}"))
    }
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!(" (nearest: `{name}`)"))
}

/// The name most like the given one, unless none is like it.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// The error of a name that is none of `known`.
pub(crate) fn unknown_name(what: &'static str, given: &str, known: &[&str]) -> Error {
    Error::UnknownName {
        what,
        given: given.to_owned(),
        nearest: nearest(given, known.iter().copied()),
        known: known.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back() {
        for (x, text) in [
            (3.0, "3"),
            (-2.0, "-2"),
            (0.0, "0"),
            (0.5, "0.5"),
            (1e-7, "1e-7"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1000000000000000.0"),
            (1e300, "1e300"),
        ] {
            assert_eq!(number(&x), text);
            assert_eq!(text.parse::<f64>(), Ok(x));
        }
    }
}
