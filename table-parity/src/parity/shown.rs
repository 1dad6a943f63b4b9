//! Texts of responses as the report shows them: with the names of requests, and without what differs each time.

use azure_table::testing::{mask_guids, mask_times};
use azure_table_tests::texts::after_each;

use crate::service::mask::Mask;
use crate::step::Names;

/// The characters of a text.
const MAX_CHARACTERS: usize = 1_500;

/// Returns a text as the report shows it.
pub(crate) fn shown(text: &str, names: &Names, mask: &Mask) -> String {
    let mut text = text.replace("\r\n", "\n");
    for (name, part) in [
        (&names.base, "<base>"),
        (&names.base.replace('/', "\\/"), "<base>"),
        (&names.table, "<T>"),
        (&names.own, "<N>"),
        (&names.partition, "<K>"),
    ] {
        text = text.replace(name.as_str(), part);
    }
    let text = with_own_tables(&text, names.table.trim_end_matches("probes"));
    let text = mask_times(&mask_guids(&mask.hide(&text))).replace("{guid}", "{id}");
    let text = [r#"W/"datetime'{time}'""#, r#"W/\"datetime'{time}'\""#]
        .iter()
        .fold(text, |text, etag| text.replace(etag, "{etag}"));
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => text,
        Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.chars().count()),
    }
}

/// Returns a text without the names of tables of others, and without the beginning of those of the run.
fn with_own_tables(text: &str, prefix: &str) -> String {
    let text = text.replace(prefix, "<N>");
    after_each(&text, "\"TableName\":\"", |rest| {
        let is_own = rest.starts_with("<N>") || rest.starts_with("<T>");
        let end = rest.find('"').filter(|_| !is_own);
        end.map_or_else(|| rest.to_owned(), |end| format!("{{text}}{}", &rest[end..]))
    })
}
