//! The page on the problem files that are shipped, from what they say.

use fe_truth::{Published, Scenario};

use crate::data::shelf::{FOLDER, Problem};

/// The text before the sections.
const INTRODUCTION: &str = "# Problems

Functions that were published, each a [problem file](own-problem.md) in
[scenarios/problems](../scenarios/problems): test functions of sensitivity analysis, reliability,
integration and surrogate models, and those of the papers on feature effects. Wherever a scenario
is named, the path of such a file may stand.

What was published about them stands in the files, and is held against the truths here. *holds*: the
printed number is the truth, as far as its digits say. *wrong*: it is not, and the truth is beside it.
A formula holds to rounding. `sobol` is the variance of E[f | x_s], `total` the mean variance of f
given all features but x_s, both divided by the variance of f; `failure` is the probability of f < 0.

In the pictures curves are centred to mean 0 over the range of the feature, and parameters have their
defaults. PD and d-PD average over the law of the other features, ALE, M-plot and μ over the law given
x, and √h-dpdp and σ are the standard deviations of the derivative that belong to either.

This page is made by `scripts/problem-pictures.sh`.
";

/// Problems without a picture: curves of their truths take minutes, or are refused.
pub const UNDRAWN: [&str; 12] = [
    "borehole",
    "feynman-i29-16-uniform",
    "flood",
    "friedman2",
    "friedman3",
    "gstar",
    "otl-circuit",
    "park",
    "piston",
    "robot-arm",
    "roos-arnold",
    "zhou",
];

/// Formulas longer than this are not repeated.
const LONG: usize = 1500;

/// The page: a section for each of the problems.
#[must_use]
pub fn problems(problems: &[Problem]) -> String {
    let mut page = INTRODUCTION.to_owned();
    page += "\n| problem | features | about | published numbers |\n|---|---|---|---|\n";
    let mut sections = String::new();
    for problem in problems {
        let scenario = &problem.scenario;
        let (name, about) = (scenario.info().name, scenario.info().about);
        let judged = judged(scenario);
        let said = summary(&judged);
        page += &format!("| [`{name}`](#{name}) | {} | {about} | {said} |\n", scenario.dimension());
        sections += &section(problem, &judged);
    }
    page + &sections
}

/// A published number, and what came of it.
struct Judged {
    published: Published,
    truth: std::result::Result<fe_truth::Truth, fe_truth::Error>,
}

impl Judged {
    fn verdict(&self) -> &'static str {
        match &self.truth {
            Err(_) => "no truth",
            Ok(truth) if self.published.holds(truth) => "holds",
            Ok(_) => "wrong",
        }
    }
}

fn judged(scenario: &Scenario) -> Vec<Judged> {
    let each = scenario.published().into_iter();
    each.map(|published| Judged { truth: scenario.truth_of(&published), published }).collect()
}

fn summary(judged: &[Judged]) -> String {
    let count = |verdict| judged.iter().filter(|of| of.verdict() == verdict).count();
    let said = ["holds", "wrong", "no truth"].map(|verdict| (count(verdict), verdict));
    let said = said.iter().filter(|(count, _)| *count > 0);
    let plural = |count: &usize, verdict: &str| match (count, verdict) {
        (2.., "holds") => format!("{count} hold"),
        _ => format!("{count} {verdict}"),
    };
    said.map(|(count, verdict)| plural(count, verdict)).collect::<Vec<_>>().join(", ")
}

fn section(problem: &Problem, judged: &[Judged]) -> String {
    let scenario = &problem.scenario;
    let info = scenario.info();
    let mut text = format!("\n## `{}`\n\n{}.", info.name, capitalised(info.about));
    for note in notes(scenario.text().unwrap_or_default()) {
        text += &format!(" {note}");
    }
    text += &format!("\n\n- **File**: [{0}.toml](../{FOLDER}/{0}.toml)\n", info.name);
    text += &format!("- **Source**: {}\n", scenario.source());
    text += &format!("- **Law**: {}\n", laws(info.law).join("; "));
    let formula = if info.formula.len() > LONG {
        "f stands in the file".to_owned()
    } else {
        format!("f = {}", info.formula.trim())
    };
    text += &format!("\n```\n{formula}\n```\n");
    if !info.parameters.is_empty() {
        text += "\n| parameter | default | allowed | meaning |\n|---|---|---|---|\n";
        for p in info.parameters {
            text += &format!("| `{}` | {} | {} | {} |\n", p.name, p.default, p.allowed, p.about);
        }
    }
    if !judged.is_empty() {
        text += "\n| published | printed | truth | | where |\n|---|---|---|---|---|\n";
        judged.iter().for_each(|of| text += &row(scenario, of));
    }
    let name = info.name;
    if UNDRAWN.contains(&name) {
        return text + "\nNo picture: curves of its truths take minutes, or are refused.\n";
    }
    text + &format!("\n![Truths of `{name}`](pictures/problems/{name}.svg)\n")
}

fn row(scenario: &Scenario, judged: &Judged) -> String {
    let Judged { published, truth } = judged;
    let of = published.feature.map(|feature| format!(" of {}", scenario.feature_name(feature)));
    let what = published.what.name() + &of.unwrap_or_default();
    // What is 0 within its bound is rounding, of which no machine has the same.
    let of = |truth: &fe_truth::Truth| {
        readable(if truth.value.abs() <= truth.abs_error { 0.0 } else { truth.value })
    };
    let truth = truth.as_ref().map_or("…".to_owned(), of);
    let printed = published.printed.replace('|', "\\|").replace('*', "\\*");
    format!("| {what} | {printed} | {truth} | {} | {} |\n", judged.verdict(), published.by)
}

/// Six digits of a number.
fn readable(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded != 0.0 && !(1e-4..1e7).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

/// The comments at the beginning of a file.
fn notes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The law of each feature, neighbours of one law together.
fn laws(law: &str) -> Vec<String> {
    let mut each: Vec<(Vec<&str>, String)> = Vec::new();
    for part in law.split(", ") {
        match part.split_once(" ~ ") {
            Some((name, law)) => each.push((vec![name], law.to_owned())),
            // A comma inside of a law.
            None => {
                if let Some((_, law)) = each.last_mut() {
                    *law += &format!(", {part}");
                }
            }
        }
    }
    let mut together: Vec<(Vec<&str>, String)> = Vec::new();
    for (names, law) in each {
        match together.last_mut() {
            Some((others, same)) if *same == law => others.extend(names),
            _ => together.push((names, law)),
        }
    }
    let said = |(names, law): &(Vec<&str>, String)| match names.as_slice() {
        [first, _, .., last] => format!("`{first}` … `{last}` ~ {law}"),
        _ => format!("`{}` ~ {law}", names.join("`, `")),
    };
    together.iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_law_stand_together() {
        let law = "x1 ~ uniform(0, 1), x2 ~ uniform(0, 1), x3 ~ uniform(0, 1), u ~ normal(0, 1)";
        assert_eq!(laws(law), ["`x1` … `x3` ~ uniform(0, 1)", "`u` ~ normal(0, 1)"]);
    }

    #[test]
    fn six_digits_are_enough() {
        assert_eq!(readable(13.844_587_940_719), "13.8446");
        assert_eq!(readable(1.523e-9), "1.523e-9");
        assert_eq!(readable(0.0), "0");
    }
}
