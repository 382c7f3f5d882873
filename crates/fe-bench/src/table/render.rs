//! Tables as Markdown and CSV.

use clap::ValueEnum;

use super::number::{Signs, Written};
use super::style::{ErrorStyle, Mark, Style};
use super::{Rendered, Standing, TableEntry, latex};
use crate::output::{Entry, Format, OutputTable};
use crate::record::Column;
use crate::record::summary::{STATISTICS, statistics};
use crate::score::Metric;
use crate::system::say::visible;

/// In place of an error that is rounding.
const EXACT: &str = "exact";

/// Format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Markdown, aligned.
    Md,
    /// LaTeX, with the package booktabs.
    Latex,
    /// Comma-separated values: a row per value with everything that identifies it, all digits.
    Csv,
}

/// Some tables as text.
#[must_use]
pub fn write(tables: &[Rendered], format: TableFormat, style: Style) -> String {
    match format {
        TableFormat::Csv => csv(tables),
        TableFormat::Md | TableFormat::Latex => {
            let texts: Vec<String> = tables.iter().map(|t| t.styled(format, style)).collect();
            texts.join("\n")
        }
    }
}

/// Some tables as they are read on a screen with so many characters in a line: Markdown, in parts where they are wider.
#[must_use]
pub fn to_read(tables: &[Rendered], style: Style, within: Option<usize>) -> String {
    let texts: Vec<String> = tables.iter().map(|table| table.markdown(style, within)).collect();
    texts.join("\n")
}

impl Rendered {
    /// The table as text.
    #[must_use]
    pub fn to_text(&self, format: TableFormat) -> String {
        write(std::slice::from_ref(self), format, Style::default())
    }

    fn styled(&self, format: TableFormat, style: Style) -> String {
        match format {
            TableFormat::Latex => latex::table(self, style, None),
            TableFormat::Md | TableFormat::Csv => self.markdown(style, None),
        }
    }

    /// The table in Markdown, in parts where its columns take more characters in a line than there may be.
    fn markdown(&self, style: Style, within: Option<usize>) -> String {
        let escaped = |text: &String| markdown_text(text);
        let mut lines: Vec<Vec<String>> = vec![self.header().iter().map(escaped).collect()];
        lines.extend(self.rows.iter().map(|row| {
            let entry = |entry: &Option<TableEntry>| {
                entry.as_ref().map_or(String::new(), |entry| markdown_entry(entry, style))
            };
            row.labels.iter().map(escaped).chain(row.entries.iter().map(entry)).collect()
        }));
        let width = |column: usize| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        let pad = |text: &str, column: usize| {
            format!("{text}{}", " ".repeat(widths[column] - text.chars().count()))
        };
        let mut text = vec![format!("**{}**", escaped(&self.title))];
        for part in parts(&widths, self.labels.len(), within.unwrap_or(usize::MAX)) {
            let line = |cells: &Vec<String>| {
                let cells = part.iter().map(|&column| pad(&cells[column], column));
                format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
            };
            let rule = widths.iter().map(|width| "-".repeat(*width)).collect();
            text.extend([String::new(), line(&lines[0]), line(&rule)]);
            text.extend(lines[1..].iter().map(line));
        }
        for note in self.explanations(style) {
            text.extend([String::new(), escaped(&note)]);
        }
        visible(&text.join("\n")).into_owned() + "\n"
    }

    pub(super) fn header(&self) -> Vec<String> {
        let columns = self.columns.iter().map(|headings| joined(headings));
        self.labels.iter().cloned().chain(columns).collect()
    }

    /// The numbers of datasets that its means are of.
    fn datasets(&self) -> String {
        let counts = || self.entries().map(|entry| entry.summary.count).filter(|count| *count > 0);
        match (counts().min(), counts().max()) {
            (Some(1), Some(1)) => "1 dataset".to_owned(),
            (Some(least), Some(most)) if least == most => format!("{least} datasets"),
            (Some(least), Some(most)) => format!("{least} to {most} datasets"),
            _ => "datasets".to_owned(),
        }
    }

    /// The reasons why some of its values are called degenerate.
    pub(crate) fn degenerate(&self) -> Vec<String> {
        let degenerate = self.entries().filter(|entry| entry.degenerate > 0);
        let metrics = degenerate.filter_map(|entry| entry.key.metric.parse().ok());
        let mut reasons: Vec<&str> = metrics.map(Metric::degenerate).collect();
        reasons.sort_unstable();
        reasons.dedup();
        reasons.into_iter().map(|reason| format!("Degenerate: {reason}.")).collect()
    }

    fn entries(&self) -> impl Iterator<Item = &TableEntry> {
        self.rows.iter().flat_map(|row| row.entries.iter().flatten())
    }

    /// Notes below a table: what the numbers and marks are.
    pub(super) fn explanations(&self, style: Style) -> Vec<String> {
        let differences = self.entries().any(|entry| entry.paired.is_some());
        let datasets = self.datasets();
        let mut first = if differences {
            format!("Mean paired difference over {datasets}")
        } else if self.entries().any(|entry| !entry.key.metric.starts_with("order of ")) {
            format!("Mean over {datasets}")
        } else {
            "Slope of the log of the mean error".to_owned()
        };
        first.push_str(match style.errors {
            ErrorStyle::Pm => " ± standard error.",
            ErrorStyle::Parentheses => " (standard error in units of the last digit).",
            ErrorStyle::Interval => " [95 % interval].",
            ErrorStyle::None => ".",
        });
        if differences {
            first.push_str(" In parentheses: datasets on which it is lower, equal, higher.");
        }
        if self.starred {
            first.push_str(" * marks values lower than the baseline, by a paired 95 % interval.");
        }
        for (standing, mark, meaning) in [
            (
                Standing::Best,
                style.best,
                "lowest among errors from the same truth on the same data in its column",
            ),
            (Standing::Exact, style.best, "as exact as the lowest"),
            (Standing::Tied, style.ties, "not told from the lowest by a paired 95 % interval"),
        ] {
            if mark != Mark::None && self.entries().any(|entry| entry.standing == standing) {
                let name = match mark {
                    Mark::Bold => "Bold",
                    Mark::Italic => "Italic",
                    Mark::Dagger | Mark::None => "†",
                };
                first.push_str(&format!(" {name}: {meaning}."));
            }
        }
        if self.entries().any(|entry| entry.exact) {
            first.push_str(" Exact: no error but rounding.");
        }
        first.extend(self.degenerate().iter().map(|reason| format!(" {reason}")));
        let mut notes = vec![first];
        notes.extend(self.notes.iter().cloned());
        notes
    }
}

impl TableEntry {
    /// The number with its error, without marks.
    pub(super) fn plain(&self, style: Style) -> String {
        const SIGNS: Signs = Signs { pm: "±", power: ("e", "") };
        let number = || Written::of(&self.summary, style).map(|written| written.text(&SIGNS));
        self.word().map(str::to_owned).or_else(number).unwrap_or_default()
    }

    /// The word that stands in place of a number: where there is none, and for one that is rounding.
    pub(super) fn word(&self) -> Option<&'static str> {
        match (self.summary.mean, self.exact) {
            (None, _) => Some("–"),
            (_, true) => Some(EXACT),
            _ => None,
        }
    }

    pub(super) fn mark(&self, style: Style) -> Mark {
        match self.standing {
            Standing::Best | Standing::Exact => style.best,
            Standing::Tied => style.ties,
            Standing::Other => Mark::None,
        }
    }

    /// Remarks behind the number: how often it is lower than another, and how often it failed
    /// or was degenerate.
    pub(super) fn remarks(&self) -> String {
        let mut text = String::new();
        if let Some(paired) = self.paired {
            text.push_str(&format!(" ({}/{}/{})", paired.wins, paired.ties, paired.losses));
        }
        if self.failed > 0 {
            text.push_str(&format!(" ({} failed)", self.failed));
        }
        if self.degenerate > 0 {
            text.push_str(&format!(" ({} degenerate)", self.degenerate));
        }
        text
    }
}

/// The columns of each part of a table whose columns are so wide: all labels, and as many others as fit into a line.
fn parts(widths: &[usize], labels: usize, within: usize) -> Vec<Vec<usize>> {
    let labels: Vec<usize> = (0..labels).collect();
    // Bars and blanks around.
    let taken = |part: &[usize]| part.iter().map(|&column| widths[column] + 3).sum::<usize>() + 1;
    let mut parts = vec![labels.clone()];
    for (column, width) in widths.iter().enumerate().skip(labels.len()) {
        match parts.last_mut() {
            Some(part) if part.len() == labels.len() || taken(part) + width + 3 <= within => {
                part.push(column);
            }
            _ => parts.push(labels.iter().copied().chain([column]).collect()),
        }
    }
    parts
}

/// The headings of a column in one.
fn joined(headings: &[String]) -> String {
    let given = headings.iter().filter(|heading| !heading.is_empty());
    given.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Words in which Markdown sees neither cells nor lines nor HTML.
fn markdown_text(text: &str) -> String {
    let one = |c: char| match c {
        '\\' => "\\\\".to_owned(),
        '|' => "\\|".to_owned(),
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\n' | '\r' | '\t' => " ".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(one).collect()
}

fn markdown_entry(entry: &TableEntry, style: Style) -> String {
    let text = entry.plain(style);
    let text = match entry.mark(style) {
        Mark::Bold => format!("**{text}**"),
        Mark::Italic => format!("*{text}*"),
        Mark::Dagger => format!("{text} †"),
        Mark::None => text,
    };
    let star = if entry.better { " \\*" } else { "" };
    format!("{text}{star}{}", entry.remarks())
}

/// One row per value, of all tables.
fn csv(tables: &[Rendered]) -> String {
    const COMPARED: [&str; 4] = ["wins", "ties", "losses", "standing"];
    let keys = Column::of_means().map(Column::name);
    let columns: Vec<&str> =
        ["table"].into_iter().chain(keys).chain(statistics()).chain(COMPARED).collect();
    let mut sheet = OutputTable::new(&columns);
    for table in tables {
        for entry in table.entries() {
            let mut row: Vec<Entry> = vec![table.title.clone().into()];
            row.extend(entry.key.fields(Column::of_means()).map(Entry::from));
            row.extend(STATISTICS.iter().map(|of| (of.of)(&entry.summary, entry.failed)));
            row.extend(compared(entry));
            sheet.push(row);
        }
    }
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = sheet.write(Format::Csv, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Statistics of a value beside others.
fn compared(entry: &TableEntry) -> [Entry; 4] {
    let paired = &entry.paired;
    let count = |of: fn(&fe_core::replicates::Paired) -> usize| {
        paired.as_ref().map_or(Entry::Missing, |paired| of(paired).into())
    };
    let standing = match entry.standing {
        Standing::Best | Standing::Exact => "best",
        Standing::Tied => "tied",
        Standing::Other => "",
    };
    [
        count(|paired| paired.wins),
        count(|paired| paired.ties),
        count(|paired| paired.losses),
        standing.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn parts_of_a_table_fit_into_a_line_and_have_its_labels() {
        let widths = [9, 3, 15, 15, 15];
        assert_eq!(parts(&widths, 2, usize::MAX), [[0, 1, 2, 3, 4]]);
        let (narrow, wide) = (parts(&widths, 2, 54), parts(&widths, 2, 55));
        assert_eq!(narrow, [[0, 1, 2], [0, 1, 3], [0, 1, 4]]);
        assert_eq!(wide, [vec![0, 1, 2, 3], vec![0, 1, 4]]);
        // A line has a value at least.
        assert_eq!(parts(&widths, 2, 5).len(), 3);
        assert_eq!(parts(&[4], 1, 80), [[0]]);
    }
}
