//! Prints how long each call holds its thread, and fails if one that could yield holds it for more than 5 ms.

#![expect(clippy::print_stdout, reason = "a program for the command line")]

use std::process::ExitCode;
use std::time::Duration;

use azure_table_tests::polls::holds;

const MOST: Duration = Duration::from_millis(5);

#[tokio::main]
async fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for hold in holds().await {
        let kind = if hold.is_synchronous {
            "no future"
        } else {
            "longest poll"
        };
        let longest = hold.longest.as_secs_f64() * 1e3;
        println!("{:45} {kind:12} {longest:8.2} ms {:6} polls", hold.call, hold.polls);
        if hold.longest > MOST && !hold.is_synchronous {
            code = ExitCode::FAILURE;
        }
    }
    code
}
