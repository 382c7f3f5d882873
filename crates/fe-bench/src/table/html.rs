//! Tables as HTML.

use maud::{Markup, html};

use super::{Rendered, TableEntry};
use crate::sheet::{exact, readable};

impl Rendered {
    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The table as an HTML table whose rows can be sorted by the numbers behind their text.
    #[must_use]
    pub fn html(&self) -> Markup {
        html! {
            table.sortable {
                caption { (self.title) }
                thead { tr {
                    @for name in self.labels.iter().chain(&self.columns) { th scope="col" { (name) } }
                } }
                tbody { @for row in &self.rows { tr {
                    @for label in &row.labels { td { (label) } }
                    @for entry in &row.entries { (entry_cell(entry.as_ref())) }
                } } }
            }
        }
    }
}

fn entry_cell(entry: Option<&TableEntry>) -> Markup {
    let Some(entry) = entry else { return html! { td {} } };
    let mean = entry.mean.map_or_else(|| "–".to_owned(), readable);
    let error = entry.standard_error.map(|error| format!(" ± {error:.1e}")).unwrap_or_default();
    html! {
        td.number data-value=[entry.mean.map(exact)] {
            (mean) (error) @if entry.better { " *" }
            @if entry.failed > 0 { " (" (entry.failed) " failed)" }
        }
    }
}
