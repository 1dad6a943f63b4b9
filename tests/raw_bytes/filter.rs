//! Filters as text from outside.

use azure_table_tests::untrusted::filter::{FILTERS, PIECES, check_filter, check_samples};

use crate::document::text;
use crate::try_on_fewer;

#[test]
fn filter_is_rejected_or_means_the_same_as_its_parts() {
    // Each case sends up to five requests to the emulator.
    try_on_fewer(4, &text(FILTERS, PIECES), |filter| {
        check_filter(&filter);
        Ok(())
    });
}

#[test]
fn every_sample_is_a_filter() {
    check_samples();
}
