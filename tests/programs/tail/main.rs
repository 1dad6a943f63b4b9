//! A tail of changes next to 100,000 writes by 8 writers, with skewed Timestamps, lost responses and restarts.
//!
//! `cargo program tail` prints its counts, once with an overlap that covers the
//! skew and once without. After `--` it takes the number of writes. It ends with exit code 1 if the first tail missed
//! the last version of a row, or if the second missed none: then the study would prove nothing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that says what failed by panicking"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use azure_table_tests::tail::TailStudy;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let writes = std::env::args()
        .nth(1)
        .map_or(100_000, |writes| writes.parse().unwrap());
    let study = TailStudy {
        writers: 8,
        writes,
        rows: 2_500,
        pause: Duration::from_millis(4),
        skew: Duration::from_secs(2),
        overlap: Duration::from_secs(3),
        polls: 10,
        seed: 1,
    };
    let missed = [Duration::from_secs(3), Duration::ZERO].map(|overlap| {
        let started = Instant::now();
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let outcome = runtime.unwrap().block_on(TailStudy { overlap, ..study }.run());
        println!(
            "{writes} writes, skew {:?}, overlap {overlap:?}: {:.1?}",
            study.skew,
            started.elapsed()
        );
        println!("{outcome}\n");
        outcome.missed
    });
    let [with_overlap, without] = missed;
    if with_overlap == 0 && without > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
