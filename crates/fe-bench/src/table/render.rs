//! Tables as Markdown, LaTeX and CSV.

use clap::ValueEnum;

use super::{Rendered, TableEntry};
use crate::sheet::exact;

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Markdown.
    Md,
    /// LaTeX, with the package booktabs.
    Latex,
    /// Comma-separated values: a mean and a standard error per column.
    Csv,
}

impl Rendered {
    /// The table as text.
    #[must_use]
    pub fn to_text(&self, format: TableFormat) -> String {
        match format {
            TableFormat::Md => self.markdown(),
            TableFormat::Latex => self.latex(),
            TableFormat::Csv => self.csv(),
        }
    }

    fn markdown(&self) -> String {
        let mut lines: Vec<Vec<String>> = vec![self.header()];
        lines.extend(self.body(&|entry| markdown_entry(entry)));
        let width = |column: usize| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        let pad = |(text, width): (&String, &usize)| {
            format!("{text}{}", " ".repeat(width - text.chars().count()))
        };
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().zip(&widths).map(pad).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text =
            vec![format!("**{}**", self.title), String::new(), line(&lines[0]), line(&rule)];
        text.extend(lines[1..].iter().map(line));
        for note in self.explanations() {
            text.extend([String::new(), note]);
        }
        text.join("\n") + "\n"
    }

    fn latex(&self) -> String {
        let columns = self.labels.len() + self.columns.len();
        let line = |cells: &Vec<String>| format!("{} \\\\", cells.join(" & "));
        let header: Vec<String> = self.header().iter().map(|text| escape(text)).collect();
        let mut text = vec![
            "\\begin{table}".to_owned(),
            "\\centering".to_owned(),
            format!("\\caption{{{}}}", escape(&self.title)),
            format!("\\begin{{tabular}}{{{}}}", "l".repeat(columns)),
            "\\toprule".to_owned(),
            line(&header),
            "\\midrule".to_owned(),
        ];
        text.extend(self.body(&|entry| latex_entry(entry)).iter().map(|cells| {
            let (labels, entries) = cells.split_at(self.labels.len());
            let labels = labels.iter().map(|label| escape(label));
            line(&labels.chain(entries.iter().cloned()).collect())
        }));
        text.extend(["\\bottomrule".to_owned(), "\\end{tabular}".to_owned()]);
        for note in self.explanations() {
            text.extend([
                "\\par\\smallskip".to_owned(),
                format!("{{\\footnotesize {}}}", escape(&note)),
            ]);
        }
        text.push("\\end{table}".to_owned());
        text.join("\n") + "\n"
    }

    fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let columns = self.columns.iter().flat_map(|c| [c.clone(), format!("{c} se")]);
        let _ = writer.write_record(self.labels.iter().cloned().chain(columns));
        for row in &self.rows {
            let number = |value: Option<f64>| value.map(exact).unwrap_or_default();
            let entries = row.entries.iter().flat_map(|entry| {
                let entry = entry.as_ref();
                [number(entry.and_then(|e| e.mean)), number(entry.and_then(|e| e.standard_error))]
            });
            let _ = writer.write_record(row.labels.iter().cloned().chain(entries));
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    fn header(&self) -> Vec<String> {
        self.labels.iter().chain(&self.columns).cloned().collect()
    }

    fn body(&self, write: &dyn Fn(&TableEntry) -> String) -> Vec<Vec<String>> {
        let entry = |entry: &Option<TableEntry>| entry.as_ref().map_or(String::new(), write);
        let row = |row: &super::TableRow| {
            row.labels.iter().cloned().chain(row.entries.iter().map(entry)).collect()
        };
        self.rows.iter().map(row).collect()
    }

    fn explanations(&self) -> Vec<String> {
        let mut notes = vec!["Mean over replicates ± standard error.".to_owned()];
        if !self.notes.is_empty() {
            notes[0]
                .push_str(" * marks values lower than the baseline, by a paired 95 % interval.");
        }
        notes.extend(self.notes.iter().cloned());
        notes
    }
}

pub(super) fn markdown_entry(entry: &TableEntry) -> String {
    let text = match entry.mean {
        None => "–".to_owned(),
        Some(mean) => match with_error(mean, entry.standard_error) {
            (mean, None, None) => mean,
            (mean, Some(error), None) => format!("{mean} ± {error}"),
            (mean, None, Some(exponent)) => format!("{mean}e{exponent}"),
            (mean, Some(error), Some(exponent)) => format!("({mean} ± {error})e{exponent}"),
        },
    };
    let star = if entry.better { " *" } else { "" };
    format!("{text}{star}{}", failures(entry))
}

fn latex_entry(entry: &TableEntry) -> String {
    let text = match entry.mean {
        None => "--".to_owned(),
        Some(mean) => match with_error(mean, entry.standard_error) {
            (mean, None, None) => format!("${mean}$"),
            (mean, Some(error), None) => format!("${mean} \\pm {error}$"),
            (mean, None, Some(exponent)) => format!("${mean} \\cdot 10^{{{exponent}}}$"),
            (mean, Some(error), Some(exponent)) => {
                format!("$({mean} \\pm {error}) \\cdot 10^{{{exponent}}}$")
            }
        },
    };
    let star = if entry.better { "$^*$" } else { "" };
    format!("{text}{star}{}", failures(entry))
}

fn failures(entry: &TableEntry) -> String {
    match entry.failed {
        0 => String::new(),
        failed => format!(" ({failed} failed)"),
    }
}

/// Mean and standard error to two digits of the error, and a common power of ten where the mean is
/// small or large.
fn with_error(mean: f64, error: Option<f64>) -> (String, Option<String>, Option<i32>) {
    let magnitude = |x: f64| if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    let size = magnitude(mean);
    let exponent = (!(-2..5).contains(&size)).then_some(size);
    let scale = 10_f64.powi(-exponent.unwrap_or(0));
    // No more than six digits of the mean, however small its error.
    let most = 5 - magnitude(mean * scale);
    let decimals = match error {
        Some(error) if error > 0.0 => (1 - magnitude(error * scale)).min(most),
        _ => 3 - magnitude(mean * scale),
    };
    let decimals = decimals.max(0) as usize;
    let write = |x: f64| format!("{:.decimals$}", x * scale);
    (write(mean), error.map(write), exponent)
}

/// Text in which LaTeX sees no commands.
fn escape(text: &str) -> String {
    let one = |c: char| match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '^' => "\\^{}".to_owned(),
        '~' => "\\~{}".to_owned(),
        '±' => "$\\pm$".to_owned(),
        '–' => "--".to_owned(),
        '…' => "\\dots{}".to_owned(),
        '<' | '>' => format!("${c}$"),
        other => other.to_string(),
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_two_digits() {
        let text = |mean, error| {
            markdown_entry(&TableEntry {
                mean: Some(mean),
                standard_error: error,
                failed: 0,
                better: false,
            })
        };
        assert_eq!(text(0.123_456, Some(0.001_234)), "0.1235 ± 0.0012");
        assert_eq!(text(0.000_123_456, Some(0.000_001_5)), "(1.235 ± 0.015)e-4");
        assert_eq!(text(12.0, Some(0.0)), "12.00 ± 0.00");
        assert_eq!(text(0.0, None), "0.000");
    }
}
