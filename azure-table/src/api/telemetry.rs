//! Observers, diagnostics, cost and metrics.
//!
//! With the feature `tracing`, every call and every attempt is a span without further code. This module is for programs
//! that want the numbers themselves.
//!
//! | type | use |
//! |---|---|
//! | [`Observer`], [`Event`], [`Sending`], [`Completed`] | receive each attempt as it starts and ends |
//! | [`Diagnostics`], [`Attempt`], [`Location`] | the attempts of one call, also in its error |
//! | [`OperationContext`] | the diagnostics of a successful call, a correlation id of your own |
//! | [`CostMeter`], [`Cost`] | an estimate of billed transactions and bytes |
//! | [`EffectiveSettings`] | the settings of a client after all defaults |
//! | [`GroupStatistics`], [`GroupedBatch`], [`GroupedWrite`] | the batches of grouped writes |
//! | `OtelMetrics` | metrics of OpenTelemetry (feature `otel`) |
//!
//! # Examples
//!
//! ```
//! use azure_table::telemetry::CostMeter;
//! use azure_table::{Emulator, TableServiceClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let meter = CostMeter::new();
//! let service = TableServiceClient::on(Emulator::new()).observer(meter.clone());
//! service.dynamic_table("Blogs")?.create_table().await?;
//! println!("{:?}", meter.total());
//! # Ok(())
//! # }
//! ```

pub use crate::client::effective_settings::EffectiveSettings;
pub use crate::model::diagnostics::{Attempt, Diagnostics};
pub use crate::model::location::Location;
pub use crate::pipeline::context::OperationContext;
pub use crate::pipeline::meter::{Cost, CostMeter};
#[cfg(feature = "otel")]
pub use crate::pipeline::metrics::OtelMetrics;
pub use crate::pipeline::observer::{Completed, Event, GroupedBatch, GroupedWrite, Observer, Sending};
pub use crate::pipeline::write_group::GroupStatistics;
