//! Every operation once.

use crate::{line, output};

#[test]
fn each_operation_shows_its_effect() {
    let text = output("table_basics");
    for part in [
        "merge      harp@contoso.com earns 48,000, phone 425-555-0101",
        "batch      3 operations",
        "query      3 employees below 100,000",
        "project    Jeff A. Smith    425-555-0104",
        "resolve    0000000001 has 4 properties",
        "delete     Kim Abercrombie exists: false",
        "raise      3 applied, 1 unchanged",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_raise_keeps_the_other_properties_of_any_row() {
    let text = output("table_basics");
    assert_eq!(line(&text, "0000000001")[1..3], ["48,000", "52,800"], "{text}");
    assert_eq!(line(&text, "0000000003")[1..3], ["120,000", "120,000"], "{text}");
    assert_eq!(
        line(&text, "contractor_7"),
        ["contractor_7", "60,000", "63,000", "Agency"],
        "{text}"
    );
}
