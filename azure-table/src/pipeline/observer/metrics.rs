//! OpenTelemetry metrics. Feature `opentelemetry-033`.
//!
//! This file has the names, units and buckets. Events supply the values. The metrics have few dimensions: never keys,
//! never ids.
//!
//! Source: OpenTelemetry semantic conventions 1.44, database client metrics.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use std::fmt;

use crate::pipeline::observer::{Completed, Event, Observer};

/// Bucket boundaries in seconds.
const DURATION_BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];
/// Bucket boundaries in rows.
const ROW_BUCKETS: [f64; 13] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0, 10_000.0,
];

/// An [`Observer`] that records a client's calls as OpenTelemetry metrics. Feature `opentelemetry-033`.
///
/// It records these instruments:
///
/// - `db.client.operation.duration`
/// - `db.client.response.returned_rows`
/// - `azure.cosmosdb.client.operation.request_charge`, on Cosmos DB
/// - `azure.table.client.retries`, a metric of this crate
///
/// ```
/// use azure_table::{Emulator, TableServiceClient};
/// use azure_table::telemetry::OtelMetrics;
/// let meter = opentelemetry::global::meter("orders");
/// let service = TableServiceClient::from_transport(Emulator::new()).observer(OtelMetrics::new(&meter));
/// ```
///
/// Source: OpenTelemetry semantic conventions 1.44, database client metrics.
#[derive(Clone)]
pub struct OtelMetrics {
    duration: Histogram<f64>,
    rows: Histogram<u64>,
    charge: Histogram<f64>,
    retries: Counter<u64>,
}

impl OtelMetrics {
    /// Creates the instruments on `meter`.
    pub fn new(meter: &Meter) -> Self {
        Self {
            duration: meter
                .f64_histogram("db.client.operation.duration")
                .with_unit("s")
                .with_description("Duration of database client operations.")
                .with_boundaries(DURATION_BUCKETS.to_vec())
                .build(),
            rows: meter
                .u64_histogram("db.client.response.returned_rows")
                .with_unit("{row}")
                .with_description("The actual number of records returned by the database operation.")
                .with_boundaries(ROW_BUCKETS.to_vec())
                .build(),
            charge: meter
                .f64_histogram("azure.cosmosdb.client.operation.request_charge")
                .with_unit("{request_unit}")
                .with_description("Request units consumed by the operation.")
                .build(),
            retries: meter
                .u64_counter("azure.table.client.retries")
                .with_unit("{retry}")
                .with_description("Attempts after the first.")
                .build(),
        }
    }

    fn completed(&self, call: &Completed<'_>) {
        let mut labels = vec![
            KeyValue::new("db.system.name", call.profile.rules().system),
            KeyValue::new("db.operation.name", call.telemetry_name.to_owned()),
        ];
        if let Some(table) = call.table {
            labels.push(KeyValue::new("db.collection.name", table.to_owned()));
        }
        if let Some(account) = call.account {
            labels.push(KeyValue::new("db.namespace", account.to_owned()));
        }
        if let Some(charge) = call.request_charge {
            self.charge.record(charge, &labels);
        }
        if let Some(status) = call.status {
            labels.push(KeyValue::new("db.response.status_code", status.to_string()));
        }
        if let Some(kind) = call.last_failure {
            let reason = call.code.map_or_else(|| format!("{kind:?}"), str::to_owned);
            labels.push(KeyValue::new("error.type", reason));
        }
        self.duration.record(call.elapsed.as_secs_f64(), &labels);
    }
}

impl Observer for OtelMetrics {
    fn on_event(&self, event: &Event<'_>) {
        let operation = |name: &str| KeyValue::new("db.operation.name", name.to_owned());
        match event {
            Event::Completed(call) => self.completed(call),
            Event::Retrying { telemetry_name, .. } => self.retries.add(1, &[operation(telemetry_name)]),
            Event::Read {
                operation: name,
                table,
                entities,
            } => {
                let rows = u64::try_from(*entities).unwrap_or(u64::MAX);
                let labels = [
                    operation(name),
                    KeyValue::new("db.collection.name", (*table).to_owned()),
                ];
                self.rows.record(rows, &labels);
            }
            _ => {}
        }
    }
}

impl fmt::Debug for OtelMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtelMetrics")
    }
}
