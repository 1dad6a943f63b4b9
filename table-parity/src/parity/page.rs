//! The page of a run: a figure per area, and a row for each fact with its source, requests and responses.
//!
//! It is one file without scripts, for light and dark, and for narrow screens.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::fact::Area;
use crate::parity::expectation::Mismatch;
use crate::parity::results::{Exchanged, Figure, Grade, Measured, Results, described};

const STYLE: &str = include_str!("page.css");

/// Returns the page.
pub(crate) fn page(results: &Results) -> String {
    let product = results.product.as_deref().unwrap_or("The endpoint");
    let all = results.all();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (product) " as " (results.service) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kind { "Table parity" }
                    h1 { (product) }
                    p.figure { strong { (all.alike) } " of " (all.of) " facts as live" }
                    @if all.close > 0 { p { (all.close) " more differ only in headers or the text of an error" } }
                    (bar(all))
                    p { "Measured as " (results.service) " on " time { (results.date) } }
                }
                (areas(results))
                (reading())
                @for problem in &results.problems { p.problem { "Not finished: " (problem) } }
                main { @for (area, figure) in results.areas() { (section(results, area, figure)) } }
                (suite(results))
                (end())
            }
        }
    };
    format!("{}\n", page.into_string())
}

/// Draws the share of facts as live, and of those that are close.
fn bar(figure: Figure) -> Markup {
    let Figure { alike, close, of } = figure;
    let width = |number: usize| format!("width: {:.1}%", number as f64 * 100.0 / of.max(1) as f64);
    html! {
        div.bar role="img" aria-label={ (alike) " as live, " (close) " close, of " (of) } {
            span.alike style=(width(alike)) {}
            span.close style=(width(close)) {}
        }
    }
}

fn areas(results: &Results) -> Markup {
    html! {
        nav {
            table.areas {
                @for (area, figure) in results.areas() {
                    tr {
                        td { a href={ "#" (area_id(area)) } { (format!("{area:?}")) } }
                        td.number { (figure.alike) " of " (figure.of) }
                        td.share { (bar(figure)) }
                    }
                }
            }
        }
    }
}

/// Explains the page.
fn reading() -> Markup {
    html! {
        p.reading {
            "A fact is what the live service answers to a few requests. Each names its source: a recorded session with a \
             live account, the documentation, or a test of an official client. A response is as live (✓) if its \
             status, its error and the parts that the fact is about are as expected. ≈ differs only in headers or the \
             text of an error, ≠ in more. A difference is not a fault: an emulator may leave out what its users do \
             without."
        }
    }
}

fn section(results: &Results, area: Area, figure: Figure) -> Markup {
    let facts = results.facts.iter().filter(|measured| measured.fact.area == area);
    html! {
        section id=(area_id(area)) {
            h2 { (format!("{area:?}")) " " small { (figure.alike) " of " (figure.of) } }
            @for measured in facts { (row(measured)) }
        }
    }
}

fn area_id(area: Area) -> String {
    format!("{area:?}").to_lowercase()
}

fn row(measured: &Measured) -> Markup {
    let (source, date, url) = described(measured.fact.source);
    let (class, mark, outcome) = match measured.grade() {
        Grade::Alike => ("alike", "✓", "as live"),
        Grade::Close => ("close", "≈", "close"),
        Grade::Different => ("different", "≠", "different"),
    };
    let parts = match measured.failed {
        Some(_) => "not reached".to_owned(),
        None => measured.parts().join(", "),
    };
    html! {
        details class=(class) {
            summary {
                span.mark role="img" aria-label=(outcome) { (mark) }
                span.name { (measured.fact.name) }
                @if !parts.is_empty() { span.parts { (parts) } }
            }
            p.source {
                "Source: "
                @match url {
                    Some(url) => a href=(url) { (source) },
                    None => (source),
                }
                ", " time { (date) }
            }
            @for exchange in &measured.exchanges { (exchanged(exchange)) }
            @if let Some(why) = &measured.failed { p.failed { (why) } }
        }
    }
}

fn exchanged(exchange: &Exchanged) -> Markup {
    let is_preparation = exchange.expected.is_empty();
    html! {
        div.exchange.preparation[is_preparation] {
            code.request { (exchange.request) }
            @if !is_preparation {
                @if exchange.mismatches.is_empty() {
                    p { span.label { "as expected" } code { (exchange.expected) } }
                }
                @for mismatch in &exchange.mismatches { (different(mismatch)) }
            }
        }
    }
}

fn different(mismatch: &Mismatch) -> Markup {
    let (expected, came) = (shortened(&mismatch.expected), shortened(&mismatch.came));
    html! {
        dl {
            dt { (mismatch.part) }
            dd { span.label { "expected" } (marked(&expected, &came)) }
            dd { span.label { "came" } (marked(&came, &expected)) }
        }
    }
}

/// The characters of a text on the page.
const MAX_CHARACTERS: usize = 700;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// Returns a text with a mark around its part that is not in the other.
fn marked(text: &str, other: &str) -> Markup {
    let begin = text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let most = text.chars().count().min(other.chars().count()) - begin;
    let ends = text.chars().rev().zip(other.chars().rev());
    let end = ends.take(most).take_while(|(a, b)| a == b).count();
    let length = text.chars().count();
    let part = |from: usize, to: usize| text.chars().skip(from).take(to - from).collect::<String>();
    html! {
        code {
            @if text.is_empty() {
                span.none { "(none)" }
            } @else {
                (part(0, begin)) mark { (part(begin, length - end)) } (part(length - end, length))
            }
        }
    }
}

fn suite(results: &Results) -> Markup {
    let figure = results.of_suite();
    html! {
        @if figure.of > 0 {
            section id="suite" {
                h2 { "Conformance suite" " " small { (figure.alike) " of " (figure.of) } }
                p { "The suite of a client of the service, which passes if the client works as it does on a live account." }
                @for (name, outcome) in &results.suite {
                    @if let Err(why) = outcome {
                        details.different {
                            summary { span.mark { "≠" } span.name { (name) } }
                            p.failed { (shortened(why)) }
                        }
                    }
                }
            }
        }
    }
}

fn end() -> Markup {
    html! {
        footer id="end" {
            p {
                "In requests, " code { "<T>" } " is the table of the run, " code { "<N>" } " begins the names of other \
                 tables, " code { "<K>" } " is a partition, " code { "<R:r>" } " its row r, and " code { "<x*5>" } " is \
                 xxxxx. " code { "{etag}" } ", " code { "{time}" } ", " code { "{id}" } " and " code { "{text}" } " are \
                 chosen by the service."
            }
            p {
                "Is a fact wrong, or no fact of the service of today? The project has an issue form for it, “A fact of \
                 table-parity”: it is corrected for every emulator. Measured by table-parity " (env!("CARGO_PKG_VERSION")) "."
            }
        }
    }
}
