//! The view of a service on its tables: spans on the terminal with their durations, a retry, and the metrics.
//!
//! `cargo run -p azure-table-examples --features telemetry --example telemetry` runs on an emulator inside of this
//! process. With `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.
//!
//! Source: the semantic conventions of OpenTelemetry for database clients.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod metrics;

use std::error::Error;
use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::Duration;

use azure_table::telemetry::{CostMeter, OperationContext, OtelMetrics};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{CallOptions, DynamicEntity, Result, TableServiceClient};
use azure_table_examples::{connect_with_faults, finish, on_own_tables};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use tracing_subscriber::fmt::format::{FmtSpan, debug_fn};

/// The fields of spans and events that are printed, besides their names.
const FIELDS: [&str; 8] = [
    "azure.table.attempts",
    "db.operation.batch.size",
    "db.response.status_code",
    "error.type",
    "http.request.resend_count",
    "http.response.status_code",
    "time.busy",
    "time.idle",
];

#[tokio::main]
async fn main() -> ExitCode {
    // Each span becomes a line when it closes. With all its fields it would have 600 characters.
    let shown = debug_fn(|line, field, value| match field.name() {
        "message" | "otel.name" => write!(line, "{} ", format!("{value:?}").trim_matches('"')),
        name if FIELDS.contains(&name) => write!(
            line,
            "{}={value:?} ",
            name.rsplit_once("response.").map_or(name, |it| it.1)
        ),
        _ => Ok(()),
    });
    tracing_subscriber::fmt()
        .fmt_fields(shown)
        .with_span_events(FmtSpan::CLOSE)
        .with_target(false)
        .with_ansi(stdout().is_terminal())
        .init();
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    // A program gives an exporter of OTLP to the provider. This one keeps the metrics, to print them.
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder()
        .with_periodic_exporter(exporter.clone())
        .build();
    let cost = CostMeter::new();
    let (service, faults) = connect_with_faults()?;
    let service = service
        .observer(OtelMetrics::new(&provider.meter("telemetry")))
        .observer(cost.clone());

    on_own_tables(&service, async |service| Ok(work(service, &faults).await?)).await?;

    provider.force_flush()?;
    metrics::print(&exporter.get_finished_metrics()?);
    let total = cost.total();
    println!(
        "\nthe account's bill: {} requests, {} bytes sent",
        total.requests, total.bytes_sent
    );
    provider.shutdown()?;
    Ok(())
}

async fn work(service: &TableServiceClient, faults: &Faults) -> Result<()> {
    let table = service.dynamic_table("Things")?;
    table.create_table().await?;
    println!("\n-- one insert, which the service rejects once as busy");
    faults.add(
        FaultRule::new(Fault::Respond(ResponseTemplate::server_busy(Duration::from_millis(
            200,
        ))))
        .nth(1),
    );
    let context = OperationContext::new();
    let mut row = DynamicEntity::new("Channel9", "1");
    row.insert("Rating", 5_i32);
    table.insert(&row).with(&CallOptions::new().context(&context)).await?;
    println!(
        "\n-- the same call in the diagnostics of its context\n{}",
        context.diagnostics()
    );

    println!("\n-- an insert of the same key, which fails");
    let failed = table.insert(&row).await;
    println!("{}", failed.err().map_or_else(String::new, |error| error.to_string()));

    println!("\n-- a bulk of 250 rows, and a query");
    let rows = (2..252).map(|n| DynamicEntity::new("Channel9", format!("{n:03}")));
    println!("{}", table.bulk().insert(rows).await?);
    println!("{} rows", table.query().partition("Channel9").all().await?.len());
    Ok(())
}
