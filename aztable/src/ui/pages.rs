//! The pages, as HTML, and errors as pages. All text of the account is escaped.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use azure_table::query::QueryPlan;
use azure_table::{DynamicEntity, Error, ErrorKind};
use maud::{DOCTYPE, Markup, html};
use serde::{Deserialize, Serialize};

use crate::failure::with_causes;
use crate::ui::site::Site;
use crate::value::{SHORT_NAMES, shortened};

/// The cells of a table show so much of a value.
const SHOWN: usize = 120;

/// A query as the form sends it. An empty text is no condition.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Typed {
    pub(super) partition: String,
    pub(super) prefix: String,
    pub(super) filter: String,
    /// The whole table may be read.
    pub(super) scan: String,
    /// The continuation of the page before.
    pub(super) from: String,
}

/// A row in a form.
#[derive(Default)]
pub(super) struct RowForm {
    pub(super) partition: String,
    pub(super) row: String,
    /// Empty for a new row.
    pub(super) etag: String,
    pub(super) timestamp: Option<String>,
    pub(super) properties: Vec<Property>,
}

#[derive(Default)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) edm_type: String,
    pub(super) value: String,
}

/// The rows of a page, and the continuation of the next one.
pub(super) type RowPage = (Vec<DynamicEntity>, Option<String>);

/// An error as a page.
pub(super) struct Problem(pub(super) StatusCode, pub(super) String);

/// A page, or the problem in its place.
pub(super) type Shown = Result<Response, Problem>;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound | ErrorKind::TableNotFound => StatusCode::NOT_FOUND,
            ErrorKind::AlreadyExists | ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Forbidden | ErrorKind::Unauthenticated => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self(status, with_causes(&error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.0.canonical_reason().unwrap_or("Error");
        (self.0, page(None, title, &note(&self.1))).into_response()
    }
}

fn page(site: Option<&Site>, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · aztable" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/style.css";
                script src="/page.js" defer {}
            }
            body {
                header {
                    strong { a href="/" { "aztable" } }
                    @if let Some(site) = site {
                        span { (site.account) @if site.is_read_only { " (read only)" } }
                        a href="/log" { "Log" }
                    }
                }
                main { h1 { (title) } (body) }
            }
        }
    }
}

/// The page for a visitor without a session.
pub(super) fn door() -> Markup {
    let text = "Open the address that aztable printed, with all that follows the #.";
    page(None, "Tables", &html! { p #door { (text) } })
}

pub(super) fn note(text: &str) -> Markup {
    html! { p.note role="alert" { (text) } }
}

pub(super) fn tables(site: &Site, names: &[String]) -> Markup {
    let body = html! {
        @if names.is_empty() { p { "No tables." } }
        ul.names { @for name in names { li { a href={ "/tables/" (name) } { (name) } } } }
    };
    page(Some(site), "Tables", &body)
}

pub(super) fn log<'a>(site: &Site, lines: impl Iterator<Item = &'a String>) -> Markup {
    let body = html! {
        p { "The requests of this page, the latest first. Keys and values are hidden." }
        ol.log { @for line in lines { li { (line) } } }
    };
    page(Some(site), "Requests", &body)
}

pub(super) fn plan(site: &Site, plan: &QueryPlan) -> Markup {
    html! {
        p {
            strong { (plan.path()) } ": " (plan.reason()) ". 1 request for each 1,000 rows that it reads"
            // Those of a million rows are a tenth of 10,000.
            @if let Some(price) = site.price { ": " (price / 10.0) " for a million rows" }
            "."
        }
        p { code { (plan.request_text().lines().next().unwrap_or_default()) } }
    }
}

pub(super) fn rows(site: &Site, table: &str, typed: &Typed, shown: &QueryPlan, found: Option<RowPage>) -> Markup {
    let body = html! {
        form #query.query {
            label { "PartitionKey" input name="partition" value=(typed.partition); }
            label { "RowKey begins with" input name="prefix" value=(typed.prefix); }
            label { "Filter" input name="filter" value=(typed.filter) placeholder="Magnitude ge 5.0"; }
            button { "Show" }
        }
        div #plan { (plan(site, shown)) }
        @match found {
            None => form {
                input type="hidden" name="partition" value=(typed.partition);
                input type="hidden" name="prefix" value=(typed.prefix);
                input type="hidden" name="filter" value=(typed.filter);
                button name="scan" value="yes" { "Read the whole table" }
            },
            Some((rows, next)) => {
                (row_table(table, &rows))
                nav {
                    @if !site.is_read_only { a.button href={ "/tables/" (table) "/new" } { "New row" } }
                    @if let Some(next) = next { a #next href=(next_address(table, typed, &next)) { "Next rows" } }
                }
            }
        }
    };
    page(Some(site), table, &body)
}

fn row_table(table: &str, rows: &[DynamicEntity]) -> Markup {
    let mut names: Vec<&String> = rows.iter().flat_map(|row| row.properties.keys()).collect();
    names.sort();
    names.dedup();
    html! {
        @if rows.is_empty() { p { "No rows." } }
        @else {
            div.scroll { table {
                thead { tr { th { "PartitionKey" } th { "RowKey" } @for name in &names { th { (name) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @let address = row_address(table, &row.partition_key, &row.row_key);
                            // A link needs a text.
                            @for key in [&*row.partition_key, &row.row_key] {
                                td { a href=(address) { (if key.is_empty() { "(empty)" } else { key }) } }
                            }
                            @for name in &names {
                                td { @if let Some(value) = row.get(name) { (shortened(&value.to_string(), SHOWN)) } }
                            }
                        }
                    }
                }
            } }
        }
    }
}

pub(super) fn row(site: &Site, table: &str, form: &RowForm, problem: Option<&str>) -> Markup {
    let is_new = form.etag.is_empty();
    let key = format!("{} / {}", form.partition, form.row);
    let title = if is_new { format!("New row of {table}") } else { key };
    let body = html! {
        @if let Some(problem) = problem { (note(problem)) }
        p { a href={ "/tables/" (table) } { "Rows of " (table) } }
        @if let Some(timestamp) = &form.timestamp { p { "Last written " time { (timestamp) } } }
        (row_form(site, table, form, if is_new { "Insert" } else { "Save" }))
    };
    page(Some(site), &title, &body)
}

/// Both versions, after the save of an old one.
pub(super) fn conflict(site: &Site, table: &str, stored: Option<&RowForm>, typed: &RowForm) -> Markup {
    let body = html! {
        (note("Another writer was faster: what you see below is not stored."))
        h2 { "Stored now" }
        @match stored {
            None => p { "The row is deleted." },
            Some(stored) => dl {
                @for property in &stored.properties {
                    dt { (property.name) " " code { (property.edm_type) } } dd { (property.value) }
                }
            }
        }
        @if stored.is_some() {
            h2 { "Yours" }
            (row_form(site, table, typed, "Save mine over the stored one"))
        }
    };
    page(Some(site), "The row has changed", &body)
}

fn row_form(site: &Site, table: &str, form: &RowForm, button: &str) -> Markup {
    let is_new = form.etag.is_empty();
    let blank = Property {
        edm_type: "string".into(),
        ..Property::default()
    };
    html! {
        form method="post" action={ "/tables/" (table) "/row" } {
            @if is_new {
                label { "PartitionKey" input name="partition" value=(form.partition); }
                label { "RowKey" input name="row" value=(form.row); }
            } @else {
                input type="hidden" name="partition" value=(form.partition);
                input type="hidden" name="row" value=(form.row);
                input type="hidden" name="etag" value=(form.etag);
            }
            h2 { "Properties" }
            @for property in form.properties.iter().chain([&blank]) {
                div.property {
                    input name="name" value=(property.name) placeholder="new property" aria-label="name";
                    select name="type" aria-label="type" {
                        @for (name, _) in SHORT_NAMES { option selected[name == property.edm_type] { (name) } }
                    }
                    // HTML drops the first line break.
                    textarea name="value" rows="1" aria-label="value" { "\n" (property.value) }
                    @if !property.name.is_empty() {
                        label { input type="checkbox" name="remove" value="yes"; "remove" }
                    }
                }
            }
            div.buttons {
                @if !site.is_read_only {
                    button { (button) }
                    @if !is_new {
                        details {
                            summary { "Delete" }
                            button.plain formaction={ "/tables/" (table) "/delete" } { "Delete the row" }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn row_address(table: &str, partition: &str, row: &str) -> String {
    let key = encoded(&[("partition", partition), ("row", row)]);
    format!("/tables/{table}/row?{key}")
}

fn next_address(table: &str, typed: &Typed, next: &str) -> String {
    let from = next.to_owned();
    format!("/tables/{table}?{}", encoded(&Typed { from, ..typed.clone() }))
}

/// Returns the query of an address. Texts have no other result.
fn encoded(fields: &impl Serialize) -> String {
    serde_urlencoded::to_string(fields).unwrap_or_default()
}
