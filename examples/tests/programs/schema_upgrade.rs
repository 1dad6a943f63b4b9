//! Old rows under a new struct.

use crate::{line, output};

/// Returns the paragraph with this heading.
fn part<'t>(text: &'t str, heading: &str) -> &'t str {
    let found = text.split("\n\n").find(|part| part.starts_with(heading));
    assert!(found.is_some(), "no {heading}\n{text}");
    found.unwrap()
}

#[test]
fn old_rows_are_read_and_rewritten_on_access() {
    let text = output("schema_upgrade");
    assert_eq!(
        line(part(&text, "stored, written"), "Metropolis")[1..],
        ["euros", "12.5,", "stars", "4,", "version", "1"],
        "{text}"
    );
    assert_eq!(
        line(part(&text, "read by version 2"), "Metropolis")[1..],
        ["rating", "4", "1250", "cents", "en"],
        "{text}"
    );
    let one = part(&text, "stored, after a change of one");
    assert!(
        one.contains("M            cents 999, language en, rating 5, version 2"),
        "{text}"
    );
    assert_eq!(one.matches("version 1").count(), 3, "{text}");
}

/// The worker read both films before they were edited. Its writes have the ETags that it read, so the service rejects
/// them, and the next run begins with the films as edited.
#[test]
fn edits_during_the_upgrade_in_the_background_are_kept() {
    let text = output("schema_upgrade");
    assert_eq!(line(&text, "films of version 1: 3").len(), 5, "{text}");
    assert_eq!(
        part(&text, "edited by version 2 meanwhile"),
        "edited by version 2 meanwhile: Metropolis, rating 1\n\
         edited by version 1 meanwhile: Nosferatu, stars 5\n\
         upgrade_where: 1 applied, 2 changed by others\n\
         upgrade_where: 1 applied"
    );
    assert_eq!(
        part(&text, "stored, after upgrade_where"),
        "stored, after upgrade_where:\n  \
           M            cents 999, language en, rating 5, version 2\n  \
           Metropolis   cents 1250, language en, rating 1, version 2\n  \
           Nosferatu    cents 700, language en, rating 5, version 2\n  \
           Vampyr       cents 425, language en, rating 2, version 2"
    );
    assert!(text.contains("films of version 1: 0, so that"), "{text}");
}

#[test]
fn a_filter_finds_rows_under_the_stored_name() {
    let text = output("schema_upgrade");
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("films with rating ge 4: "))
        .collect();
    assert_eq!(found, ["0", "2"], "{text}");
}
