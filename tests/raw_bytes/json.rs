//! Pages, entities and lists of tables.

use azure_table::ErrorKind;
use azure_table_tests::untrusted::json::{
    ENTITIES, LISTS, PAGES, PIECES, check_entity, check_list_of_tables, check_page, check_samples, page,
};
use proptest::prelude::*;

use crate::document::document;

proptest! {
    #[test]
    fn a_page_is_read_as_serde_json_reads_it(text in document(PAGES, PIECES)) {
        check_page(&text.0);
    }

    #[test]
    fn an_entity_is_read_as_serde_json_reads_it(text in document(ENTITIES, PIECES)) {
        check_entity(&text.0);
    }

    #[test]
    fn list_of_tables_is_read_or_rejected(text in document(LISTS, PIECES)) {
        check_list_of_tables(&text.0);
    }
}

#[test]
fn every_sample_is_checked() {
    check_samples();
}

/// With both lists, the reader would read its rows twice or lose the first list's.
#[test]
fn page_with_two_lists_of_rows_is_rejected() {
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let error = page(format!(r#"{{"value":[{row}],"value":[{row}]}}"#).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
}
