//! The six retries of "Windows Azure Storage Client for Java Overview" (2012), as printed and with random factors.

use std::error::Error;
use std::time::Duration;

use azure_table::retry::{Decision, FailedAttempt};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{CallOptions, RetryPolicy, TableClient};

use crate::Waits;

/// The exponential policy of the Java post: 3 s minimum, 30 s delta, 90 s maximum, 6 retries.
///
/// The wait before retry n, from 0: `min(minimum + (2ⁿ − 1) · random · delta, maximum)`, with a random factor of 0.8 to
/// 1.2. Unlike `ExponentialRetry`, it spreads no wait that has reached the maximum.
#[derive(Debug)]
struct SixRetries {
    /// Returns the random factor of a retry.
    random: fn(u32) -> f64,
}

impl RetryPolicy for SixRetries {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        let [minimum, delta, maximum] = [3, 30, 90].map(Duration::from_secs);
        let n = failed.attempt() - 1;
        if n >= 6 || !failed.is_transient() {
            return Decision::Stop;
        }
        let grown = (delta * (2_u32.pow(n) - 1)).mul_f64((self.random)(n));
        Decision::after((minimum + grown).min(maximum))
    }
}

/// The factors behind the waits that the post prints: 28,442 ms is 3,000 + 1 · 0.848… · 30,000, and 80,000 ms is
/// 3,000 + 3 · 0.855… · 30,000.
fn printed_factor(n: u32) -> f64 {
    match n {
        1 => 25_442.0 / 30_000.0,
        2 => 77_000.0 / 90_000.0,
        _ => 1.0,
    }
}

fn random_factor(_: u32) -> f64 {
    0.8 + 0.4 * fastrand::f64()
}

/// Reads a row under both, while each attempt fails.
pub(crate) async fn show(blogs: &TableClient, faults: &Faults, waits: &Waits) -> Result<(), Box<dyn Error>> {
    println!("\nSix retries of the Java post, in ms:");
    for (name, random) in [
        ("as printed", printed_factor as fn(u32) -> f64),
        ("random", random_factor),
    ] {
        let fault = Fault::Respond(ResponseTemplate::new(503));
        let broken = faults.add(FaultRule::new(fault).on_reads());
        let options = CallOptions::new().retry(SixRetries { random });
        let start = tokio::time::Instant::now();
        let result = blogs.get(("Channel9", "Oct-29")).with(&options).await;
        let total = start.elapsed();
        faults.remove(&broken);
        let error = result.err().ok_or("each attempt has a fault")?;
        let waited: Vec<String> = waits.take().iter().map(milliseconds).collect();
        println!(
            "  {name:<10}  {}  total {}, {:?} after {} attempts",
            waited.join(", "),
            milliseconds(&total),
            error.kind(),
            broken.hits()
        );
    }
    Ok(())
}

fn milliseconds(time: &Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1_000.0)
}
