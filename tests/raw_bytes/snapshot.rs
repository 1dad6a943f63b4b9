//! Snapshots of the emulator, which people write and change by hand.

use azure_table_tests::untrusted::snapshot::{PIECES, SAMPLES, check_snapshot};
use proptest::prelude::*;

use crate::document::text;

proptest! {
    #[test]
    fn snapshot_is_read_or_rejected_with_a_line(text in text(SAMPLES, PIECES)) {
        check_snapshot(&text);
    }
}
