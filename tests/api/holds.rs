//! No call holds its thread for long: see `azure_table_tests::polls`, and the example `holds` for the figures.

use std::time::Duration;

use azure_table_tests::polls::holds;

/// 5 ms in a release, where the example checks them. A build without optimization takes up to 40 times as long.
const MOST: Duration = Duration::from_millis(40 * 5);

#[tokio::test]
async fn no_future_holds_its_thread_for_long() {
    for hold in holds().await.iter().filter(|hold| !hold.is_synchronous) {
        assert!(hold.longest <= MOST, "{hold:?}");
        // Whatever the machine.
        assert!(hold.polls >= hold.turns, "{hold:?}");
    }
}
