//! Filters as text from outside.

use azure_table_tests::untrusted::filter::{FILTERS, PIECES, check_filter, check_samples};

use crate::document::text;
use crate::try_on_fewer;

#[test]
fn a_filter_is_refused_or_means_what_its_parts_mean() {
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
