//! No call blocks its thread for long: see `azure_table_tests::polls`.

use std::time::Duration;

use azure_table_tests::polls::longest_polls;

const MAX_POLL: Duration = Duration::from_millis(5);

#[tokio::test]
#[ignore = "a limit of optimized code: `cargo xtask long polls` runs it"]
async fn no_future_blocks_its_thread_for_more_than_5_ms() {
    for poll in longest_polls().await {
        println!("{poll:?}");
        assert!(poll.is_synchronous || poll.longest <= MAX_POLL, "{poll:?}");
        assert!(poll.polls >= poll.turns, "{poll:?}");
    }
}
