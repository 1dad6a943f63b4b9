//! No call blocks its thread for long: see `azure_table_tests::polls`, and the example `longest_polls` for the figures.

use std::time::Duration;

use azure_table_tests::polls::longest_polls;

/// 5 ms in a release, where the example checks them. A build without optimization takes up to 40 times as long.
const MAX_POLL: Duration = Duration::from_millis(40 * 5);

#[tokio::test]
#[cfg_attr(not(feature = "full"), ignore = "takes long: add `--features full`")]
async fn no_future_blocks_its_thread_for_long() {
    for poll in longest_polls().await.iter().filter(|poll| !poll.is_synchronous) {
        assert!(poll.longest <= MAX_POLL, "{poll:?}");
        // On any machine.
        assert!(poll.polls >= poll.turns, "{poll:?}");
    }
}
