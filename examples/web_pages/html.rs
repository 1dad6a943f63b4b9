//! The pages, as HTML. All text of visitors is escaped.

use axum::http::StatusCode;
use azure_table::key::Day;
use azure_table::{Continuation, ETag, Versioned};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::service::{Blog, CHANNEL, Fields};

/// UTF-16 units, as the browser and the service count them. A line break is one.
const MAX_TEXT: usize = 32_768;
const STYLE: &str = include_str!("style.css");

fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · " (CHANNEL) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { a href="/" { (CHANNEL) } a.button href="/new" { "New blog" } }
                main { h1 { (title) } (body) }
            }
        }
    }
}

/// The blogs of one page, and the link to the next one.
pub(crate) fn list(blogs: &[Blog], next: Option<&Continuation>, is_later: bool) -> Markup {
    page(
        "Blogs",
        &html! {
            ul.blogs {
                @for blog in blogs {
                    li {
                        a href={ "/" (blog.day.0) } { (blog.title) }
                        time { (blog.day.0) }
                        p { (blog.text) }
                    }
                }
            }
            @if blogs.is_empty() { p { "No blogs." } }
            nav {
                @if is_later { a href="/" { "Latest" } }
                @if let Some(next) = next { a #next rel="next" href={ "/?after=" (next) } { "Older" } }
            }
        },
    )
}

/// The form for a new blog, with what its writer has typed so far.
pub(crate) fn new(typed: &Fields, note: Option<&str>) -> Markup {
    new_form(
        typed,
        &html! { @if let Some(note) = note { p.note role="alert" { (note) } } },
    )
}

/// The form for a new blog, after its day turned out to be taken.
pub(crate) fn taken(typed: &Fields, day: Day) -> Markup {
    new_form(
        typed,
        &html! {
            p.note role="alert" {
                "A blog of this day exists. Choose another day, or "
                a href={ "/" (day) } { "edit the blog of " (day) } "."
            }
        },
    )
}

fn new_form(typed: &Fields, note: &Markup) -> Markup {
    page(
        "New blog",
        &html! {
            (note)
            form method="post" action="/" {
                label { "Day" input type="date" name="day" required value=(typed.day); }
                (fields(&typed.title, &typed.text))
                button { "Publish" }
            }
        },
    )
}

pub(crate) fn edit(blog: &Blog, etag: &ETag, note: Option<&str>) -> Markup {
    page(
        &format!("Blog of {}", blog.day.0),
        &html! {
            @if let Some(note) = note { p.note role="alert" { (note) } }
            (save_form(blog, etag, "Save"))
        },
    )
}

/// Both texts, after the save of an old version. The form saves on the version that it shows.
pub(crate) fn conflict(stored: &Versioned<Blog>, yours: &Blog) -> Markup {
    page(
        "Somebody else was faster",
        &html! {
            p.note role="alert" {
                "Somebody else saved this blog while you were writing, so yours is not stored. "
                "Take over what you want to keep of theirs, then save again."
            }
            section.theirs {
                h2 { "Stored now" }
                h3 { (stored.title) }
                p { (stored.text) }
            }
            h2 { "Yours" }
            (save_form(yours, &stored.etag, "Save mine over theirs"))
        },
    )
}

pub(crate) fn problem(status: StatusCode, text: &str) -> Markup {
    let title = status.canonical_reason().unwrap_or("Error");
    page(
        title,
        &html! {
            p.note role="alert" { (text) }
            p.status { "HTTP status " (status.as_u16()) }
        },
    )
}

/// The form carries the version that its writer has seen.
fn save_form(blog: &Blog, etag: &ETag, button: &str) -> Markup {
    html! {
        form method="post" action={ "/" (blog.day.0) } {
            input type="hidden" name="etag" value=(etag);
            (fields(&blog.title, &blog.text))
            button { (button) } a href="/" { "Cancel" }
        }
    }
}

fn fields(title: &str, text: &str) -> Markup {
    html! {
        label { "Title" input name="title" required maxlength="100" value=(title); }
        label {
            "Text"
            // HTML drops the first line break.
            textarea name="text" rows="6" maxlength=(MAX_TEXT) { "\n" (text) }
        }
    }
}
