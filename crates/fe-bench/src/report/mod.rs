//! Results as a page: one HTML file that needs nothing else; and the page on scenarios.
//!
//! It imports `table`, `plot`, `record` and what these import. Begin with [`page`].

mod methods;
pub mod option_table;
pub mod population;
pub mod problem_page;
pub mod scenario_page;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::data::scenarios;
use crate::data::sizes::Sizes;
use crate::output::{Entry, exact, readable};
use crate::plot::sweep::{self, Named, Sweep, Sweeps};
use crate::plot::{FileKind, Form, coverage, kept_trees, recorded};
use crate::record::kept_curves::KeptEstimate;
use crate::record::manifest::{Manifest, NamedStudy};
use crate::record::measured::Times;
use crate::record::results::{Failure, Results};
use crate::record::summary::STATISTICS;
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key};
use crate::score::Metric;
use crate::study::labels::Labels;
use crate::system::say::visible;
use crate::table::{self, Rendered, Style};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The most means that are listed; more of them make a page slow.
const MOST_MEANS: usize = 4000;

/// The words on how tables are read.
const READING: &str = "Mean over replicates ± standard error. Bold: lowest among errors from the same truth on the same \
                       data in its column, or as exact as it is; italic: not told from it, and *: lower \
                       than the baseline, by a paired 95 % interval. Exact: no error but rounding.";

/// The most effects that are drawn.
const MOST_EFFECTS: usize = 12;

/// The page about a results folder, with what was kept of its estimates.
///
/// # Errors
/// A message, for a table of a study that cannot be made.
pub fn page(results: &Results, kept: Vec<KeptEstimate>) -> Result<String, String> {
    let manifest = &results.manifest;
    let labels =
        manifest.studies.iter().fold(Labels::default(), |all, named| all.and(&named.study.labels));
    let trees = kept_trees::figures(&kept, &labels, manifest);
    let effects = recorded::figures(&kept, &labels, manifest);
    let effects: Vec<_> = effects.into_iter().chain(trees).collect();
    let names: Vec<&str> = manifest.studies.iter().map(|study| study.name.as_str()).collect();
    let title = names.join(", ");
    let studies = manifest.studies.iter().map(|named| study(named, results, &effects));
    let studies = studies.collect::<Result<Vec<Markup>, String>>()?;
    let source = if results.are_means { "summary.csv" } else { "cells.csv" };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // No request is made for an icon.
                link rel="icon" href="data:,";
                title { (title) ": results" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Results: " (title) }
                    p { (results.cells) " values; master seed " (manifest.seed) "; started " (to_seconds(&manifest.started)) "." }
                    @if results.is_changed {
                        p { strong { (source) " is not as it was written: its numbers need not be those of the run." } }
                    }
                    @if results.are_means {
                        p { "Made of summary.csv alone: cells.csv, with the value of each dataset, was not there." }
                    }
                }
                nav aria-label="Contents" { ul {
                    @for name in &names { li { a href={ "#study-" (name) } { (name) } } }
                    li { a href="#failures" { "Failures" } }
                    li { a href="#provenance" { "Provenance" } }
                    li { a href="#rerun" { "How to rerun" } }
                } }
                main {
                    @for study in &studies { (study) }
                    (failures(&results.failures))
                    (provenance(manifest))
                    (rerun(manifest))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(visible(&page.into_string()).into_owned())
}

fn study(named: &NamedStudy, results: &Results, effects: &[Named]) -> Result<Markup, String> {
    let own = |row: &&SummaryRow| row.key.study == named.name;
    let values: Vec<&SummaryRow> = results.values.iter().filter(own).collect();
    let sizes = Sizes::new(scenarios::recorded(std::iter::once(&named.study.problems)));
    let labels = &named.study.labels;
    let swept = sweep::figures(&values, &Sweep::ALL, &Times::default(), (labels, &sizes));
    let Sweeps { mut figures, left_out } = swept.and(coverage::figures(&values, false, labels));
    let values: Vec<&SummaryRow> =
        values.into_iter().chain(results.parts.iter().filter(own)).collect();
    // A study without tables has its means below.
    let tables = match named.study.table.is_empty() {
        true => Vec::new(),
        false => table::of_study(named, results)?,
    };
    let effects: Vec<&Named> = effects.iter().filter(|figure| figure.study == named.name).collect();
    let more = effects.len().saturating_sub(MOST_EFFECTS);
    figures.extend(effects.into_iter().take(MOST_EFFECTS).cloned());
    let banded = |of_refits: bool| {
        values.iter().any(|row| {
            let is_of_refits = row.key.options.split(';').any(|option| option == "band=refit");
            is_of_refits == of_refits && row.key.metric.parse().is_ok_and(Metric::is_of_bands)
        })
    };
    Ok(html! {
        section aria-labelledby={ "study-" (named.name) } {
            h2 id={ "study-" (named.name) } { (named.name) }
            p { (named.study.about.trim()) }
            // The answer first: a table and a figure.
            @if let Some(table) = tables.first() {
                (tabled(table))
                p.note { (READING) }
            }
            @if let Some(first) = figures.first() { (figure(first, true)) }
            (methods::section(named, &values, &results.manifest))
            @if banded(false) {
                p { "Confidence bands: " (fe_core::effect::MEANING) ". Here the model is the function itself." }
            }
            @if banded(true) {
                p {
                    "Confidence bands from refits: " (fe_core::effect::MEANING_OF_REFITS) ". Pairs say what each is held against: "
                    "the effect of f, or the expected effect of the learner."
                }
            }
            @if tables.len() > 1 { h3 { "Further tables" } }
            @for table in tables.iter().skip(1) { (tabled(table)) }
            @if figures.len() > 1 { h3 { "Further figures" } }
            @for named in figures.iter().skip(1) { (figure(named, false)) }
            @for reason in &left_out { p { (reason) } }
            @if more > 0 { p { (more) " more figures of effects are drawn by fe-bench plot." } }
            h3 { "All means" }
            (means(&named.name, &values))
        }
    })
}

/// A table with its remarks.
fn tabled(table: &Rendered) -> Markup {
    html! {
        (scrolled(table.title(), table.html(Style::default())))
        @for note in table.notes().iter().chain(&table.degenerate()) { p.note { (note) } }
    }
}

fn scrolled(label: &str, content: Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (content) } }
}

/// Width of a cell of a figure in a page, in pixels: that of a narrow screen. Wide ones have several beside each other.
const CELL: f64 = 370.0;

/// A figure under its name, each of its cells an image by itself, so that they fit any screen; why there is none where it
/// is too large.
fn figure(named: &Named, is_open: bool) -> Markup {
    let form = Form { width: Some(CELL), untitled: true, ..Form::default() };
    let images = named.figure.apart().into_iter().map(|cell| cell.bytes(FileKind::Svg, &form));
    let images = match images.collect::<crate::error::Result<Vec<Vec<u8>>>>() {
        Ok(images) => images,
        Err(reason) => return html! { p { (reason) } },
    };
    // Within a page the name space goes without saying.
    let plain = |image: Vec<u8>| {
        let svg = String::from_utf8(image).unwrap_or_default();
        svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1)
    };
    html! {
        details.figure open[is_open] {
            summary { (named.figure.title) }
            div.cells { @for image in images { div { (PreEscaped(plain(image))) } } }
        }
    }
}

/// Every mean with its uncertainty, and the keys that differ.
fn means(name: &str, rows: &[&SummaryRow]) -> Markup {
    let differs = |column: Column| rows.iter().any(|row| row.key[column] != rows[0].key[column]);
    let is_shown = |column: &Column| {
        *column != Column::Study && (*column == Column::Metric || differs(*column))
    };
    let columns: Vec<Column> = Column::of_means().filter(is_shown).collect();
    let table = html! {
        table.sortable {
            caption { span { "Means over replicates, with standard errors and 95 % intervals" } }
            thead { tr {
                @for of in STATISTICS { th scope="col" { (of.name) } }
                @for column in &columns { th scope="col" { (column.name()) } }
            } }
            tbody { @for row in rows.iter().take(MOST_MEANS) { tr {
                @for of in STATISTICS { (statistic((of.of)(&row.summary, row.failed))) }
                @for column in &columns { td { (row.key[*column]) } }
            } } }
        }
    };
    html! {
        @if rows.len() > MOST_MEANS {
            p { "The first " (MOST_MEANS) " of " (rows.len()) " means; all are in summary.csv." }
        }
        (scrolled(&format!("All means of {name}"), table))
    }
}

fn statistic(value: Entry) -> Markup {
    match value {
        Entry::Count(count) => html! { td { (count) } },
        Entry::Number(value) => number(Some(value)),
        _ => number(None),
    }
}

fn number(value: Option<f64>) -> Markup {
    html! { td.number data-value=[value.map(exact)] { (value.map(readable).unwrap_or_default()) } }
}

/// Values that could not be computed, by reason.
fn failures(failures: &[Failure]) -> Markup {
    let example = |key: &Key| {
        let given = Column::ALL.into_iter().filter(|column| !key[*column].is_empty());
        given
            .map(|column| format!("{} {}", column.name(), key[column]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    html! {
        section aria-labelledby="failures" {
            h2 id="failures" { "Failures" }
            @if failures.is_empty() { p { "Every value could be computed." } }
            @else {
                (scrolled("Failures", html! { table.sortable {
                    caption { span { "Values that could not be computed, by reason" } }
                    thead { tr {
                        @for name in ["reason", "values", "the first of them"] { th scope="col" { (name) } }
                    } }
                    tbody { @for Failure { reason, count, first } in failures { tr {
                        td.text { (reason) } td { (count) } td.text { (example(first)) }
                    } } }
                } }))
            }
        }
    }
}

fn provenance(manifest: &Manifest) -> Markup {
    let entries = [
        ("Program", manifest.program.clone()),
        ("Commit", manifest.git_commit.clone()),
        ("Build profile", manifest.profile.clone()),
        ("Compiler", manifest.rustc.clone()),
        ("Processor", manifest.cpu.clone()),
        ("Processors", manifest.cores.to_string()),
        ("Threads", manifest.jobs.to_string()),
        ("System", manifest.os.clone()),
        ("Master seed", manifest.seed.to_string()),
        ("Started", to_seconds(&manifest.started)),
        ("Wall time", format!("{:.1} s", manifest.wall_seconds)),
        ("Layout of results", manifest.schema.to_string()),
    ];
    let earlier = manifest.extended.iter();
    let earlier = earlier.map(|of| {
        ("Added to", format!("a run of {:.1} s, {}", of.wall_seconds, to_seconds(&of.started)))
    });
    let entries: Vec<(&str, String)> = entries.into_iter().chain(earlier).collect();
    html! {
        section aria-labelledby="provenance" {
            h2 id="provenance" { "Provenance" }
            dl { @for (name, value) in &entries { dt { (name) } dd { (value) } } }
        }
    }
}

/// The commands that give these results again, and the study files that they read.
fn rerun(manifest: &Manifest) -> Markup {
    let files: Vec<String> =
        manifest.studies.iter().map(|study| file(&format!("{}.toml", study.name))).collect();
    let commands = format!(
        "git checkout {}\ncargo run --release -p fe-bench -- run {} --seed {} --out again",
        quoted(&manifest.git_commit),
        files.join(" "),
        manifest.seed
    );
    let original: Vec<String> = manifest.command.iter().map(|word| quoted(word)).collect();
    html! {
        section aria-labelledby="rerun" {
            h2 id="rerun" { "How to rerun" }
            p { "With the study files below in the working directory:" }
            pre tabindex="0" { code { (commands) } }
            p { "The command that was given:" }
            pre tabindex="0" { code { (original.join(" ")) } }
            @for named in &manifest.studies {
                details {
                    summary { (named.name) ".toml" }
                    pre tabindex="0" { code { (toml::to_string_pretty(&named.study).unwrap_or_default()) } }
                }
            }
        }
    }
}

/// A file in the working directory, as a command takes it: its name may begin like an option.
fn file(name: &str) -> String {
    quoted(&if name.starts_with('-') { format!("./{name}") } else { name.to_owned() })
}

/// A recorded time to the second, as people write it.
fn to_seconds(recorded: &str) -> String {
    let second = recorded.split(['.', 'Z']).next().unwrap_or(recorded);
    format!("{} UTC", second.replace('T', " "))
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@".contains(c);
    let is_unseen = |c: char| visible(c.encode_utf8(&mut [0; 4])).len() != c.len_utf8();
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        word.to_owned()
    } else if word.contains(is_unseen) {
        // As bash and zsh write what cannot be seen.
        let byte = |byte: u8| match byte {
            b' '..=b'~' if byte != b'\'' && byte != b'\\' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        };
        format!("$'{}'", word.bytes().map(byte).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{file, quoted};

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["plain-1.toml", "two words", "it's", "$(rm)", "=a", "", "a\u{1b}b'c"];
        let quoted = words.map(quoted);
        let expected = [
            "plain-1.toml",
            "'two words'",
            "'it'\\''s'",
            "'$(rm)'",
            "'=a'",
            "''",
            "$'a\\x1bb\\x27c'",
        ];
        assert_eq!(quoted, expected);
        assert_eq!([file("-x.toml"), file("-x y.toml")], ["./-x.toml", "'./-x y.toml'"]);
    }
}
