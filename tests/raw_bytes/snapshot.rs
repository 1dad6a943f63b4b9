//! Snapshots of the emulator, which people write and change by hand.

use azure_table_tests::untrusted::snapshot::{PIECES, SAMPLES, check_snapshot};
use proptest::prelude::*;

use crate::document::text;

proptest! {
    #[test]
    fn a_snapshot_is_read_or_refused_in_a_line(text in text(SAMPLES, PIECES)) {
        check_snapshot(&text);
    }
}
