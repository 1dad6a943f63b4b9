//! XML documents of the service.

use azure_table_tests::untrusted::xml::{
    PIECES, POLICIES, PROPERTIES, STATISTICS, check_policies, check_properties, check_samples, check_statistics,
};
use proptest::prelude::*;

use crate::document::document;

proptest! {
    #[test]
    fn properties_are_written_as_they_were_read(document in document(PROPERTIES, PIECES)) {
        check_properties(&document.0);
    }

    #[test]
    fn policies_are_written_as_they_were_read(document in document(POLICIES, PIECES)) {
        check_policies(&document.0);
    }

    #[test]
    fn statistics_are_read_or_rejected(document in document(STATISTICS, PIECES)) {
        check_statistics(&document.0);
    }
}

#[test]
fn every_sample_is_read() {
    check_samples();
}
