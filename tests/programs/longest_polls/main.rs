//! Prints the longest poll of each call, and fails if a call that could yield blocks its thread for more than 5 ms.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::process::ExitCode;
use std::time::Duration;

use azure_table_tests::polls::longest_polls;

const MAX_POLL: Duration = Duration::from_millis(5);

#[tokio::main]
async fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for poll in longest_polls().await {
        let kind = if poll.is_synchronous {
            "no future"
        } else {
            "longest poll"
        };
        let longest = poll.longest.as_secs_f64() * 1e3;
        println!("{:45} {kind:12} {longest:8.2} ms {:6} polls", poll.call, poll.polls);
        if poll.longest > MAX_POLL && !poll.is_synchronous {
            code = ExitCode::FAILURE;
        }
    }
    code
}
