//! Filters as text from outside.

use azure_table_tests::untrusted::filter::{FILTERS, PIECES, check_filter, check_samples};
use proptest::prelude::*;

use crate::document::text;

proptest! {
    // Each case asks the emulator up to five times.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn a_filter_is_refused_or_means_what_its_parts_mean(filter in text(FILTERS, PIECES)) {
        check_filter(&filter);
    }
}

#[test]
fn every_sample_is_a_filter() {
    check_samples();
}
