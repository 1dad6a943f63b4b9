//! Each retry policy against the same faults: how long it waits, and how the call ends.
//!
//! Sources: "Overview of Retry Policies in the Windows Azure Storage Client Library" (2011), with its policy that does
//! not retry 502; "Windows Azure Storage Client for Java Overview" (2012), with its waits and those of six retries.
//!
//! `cargo run --example retry_policies` runs on an emulator inside of this process, and its waits take no time. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account and really waits: about a quarter of an hour.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod six_retries;

use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azure_table::retry::{Decision, FailedAttempt, RetryBudget};
use azure_table::telemetry::{Event, Observer};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{
    CallOptions, DynamicEntity, ExponentialRetry, LinearRetry, NoRetry, RetryPolicy, TableServiceClient,
};
use azure_table_examples::{connect_with_faults, finish, is_emulated, on_own_tables};
use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;

/// The policy of the post: waits like another one, but a 502 ends the call.
#[derive(Debug)]
struct Not502(LinearRetry);

impl RetryPolicy for Not502 {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        match failed.status() {
            Some(502) => Decision::Stop,
            _ => self.0.decide(failed),
        }
    }
}

/// Notes the wait before each retry.
#[derive(Clone, Debug, Default)]
struct Waits(Arc<Mutex<Vec<Duration>>>);

impl Observer for Waits {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Retrying { wait, .. } = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(*wait);
        }
    }
}

impl Waits {
    fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// The clock of a runtime with one thread can be paused.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, faults) = connect_with_faults()?;
    if is_emulated() {
        tokio::time::pause();
    }
    let waits = Waits::default();
    let service = service.observer(waits.clone());
    on_own_tables(&service, async |service| work(service, &faults, &waits).await).await
}

async fn work(service: &TableServiceClient, faults: &Faults, waits: &Waits) -> Result<(), Box<dyn Error>> {
    let blogs = service.dynamic_table("Blogs")?;
    blogs.create_table().await?;
    blogs.insert(&DynamicEntity::new("Channel9", "Oct-29")).await?;

    let spent = RetryBudget::new(0.0, 0);
    let policies: [(&str, CallOptions); 8] = [
        ("NoRetry", CallOptions::new().retry(NoRetry)),
        (
            "ExponentialRetry::default",
            CallOptions::new().retry(ExponentialRetry::default()),
        ),
        (
            "ExponentialRetry::storage_client_2010",
            CallOptions::new().retry(ExponentialRetry::storage_client_2010()),
        ),
        ("LinearRetry::default", CallOptions::new().retry(LinearRetry::default())),
        (
            "… limit_attempts(2)",
            CallOptions::new().retry(LinearRetry::default().limit_attempts(2)),
        ),
        (
            "… limit_elapsed(5 s)",
            CallOptions::new().retry(LinearRetry::default().limit_elapsed(Duration::from_secs(5))),
        ),
        (
            "… with an empty budget",
            CallOptions::new().retry(LinearRetry::default().budget(spent)),
        ),
        (
            "not after a 502 (own)",
            CallOptions::new().retry(Not502(LinearRetry::default())),
        ),
    ];

    println!("\nEach get meets a 503, a 500 and a 502 before the service answers.\n");
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["policy", "waits in s", "attempts", "total in s", "result"]);
    for (name, options) in policies {
        let broken = [503, 500, 502].map(|status| {
            let fault = Fault::Respond(ResponseTemplate::new(status));
            faults.add(FaultRule::new(fault).on_reads().first(1))
        });
        let start = tokio::time::Instant::now();
        let result = blogs.get(("Channel9", "Oct-29")).with(&options).await;
        let total = start.elapsed();
        let hits: u64 = broken.iter().map(|rule| rule.hits()).sum();
        broken.iter().for_each(|rule| faults.remove(rule));

        let waited: Vec<String> = waits.take().into_iter().map(seconds).collect();
        let result = match result {
            Ok(_) => format!("found, after {hits} faults"),
            Err(error) => format!(
                "{:?}, {}",
                error.kind(),
                error.status().map_or("no status".into(), |s| s.to_string())
            ),
        };
        table.add_row([
            name.to_owned(),
            waited.join(", "),
            (waited.len() + 1).to_string(),
            seconds(total),
            result,
        ]);
    }
    println!("{table}");
    println!("\nExponential waits are random by 20 %, so that clients do not all come back at once.");
    six_retries::show(&blogs, faults, waits).await
}

fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64())
}
