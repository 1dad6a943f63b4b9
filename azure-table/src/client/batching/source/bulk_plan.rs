//! The table, the options and the settings of a bulk, before it starts.

use std::sync::Arc;

use crate::account::table_name::TableName;
use crate::client::batching::engine::Engine;
use crate::client::batching::engine::engine_settings::EngineSettings;
use crate::client::batching::outcome::bulk_report::BulkReport;
use crate::client::batching::source::bulk_run::BulkRun;
use crate::pipeline::Pipeline;
use crate::pipeline::options::CallOptions;

/// A bulk that has not started.
pub(crate) struct BulkPlan<'h> {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) table: TableName,
    /// The options of this bulk; they override the client's.
    pub(crate) options: CallOptions,
    pub(crate) settings: EngineSettings,
    pub(crate) callback: Option<Box<ProgressCallback<'h>>>,
}

/// Receives the report so far.
pub(crate) type ProgressCallback<'h> = dyn FnMut(&BulkReport) + Send + 'h;

impl BulkPlan<'_> {
    pub(crate) fn start(&self) -> BulkRun {
        let options = self.pipeline.settings.defaults.clone().with(&self.options);
        BulkRun::new(Engine::new(&self.pipeline, &self.table, options, self.settings.clone()).paced())
    }
}

/// Adds the settings of the [`BulkPlan`] at `$plan` to a builder.
macro_rules! bulk_settings {
    ($name:ident $(<$life:lifetime>)? [$($parameter:ident),+], $($plan:ident).+) => {
        $crate::pipeline::options::call_options!($name $(<$life>)? [$($parameter),+], $($plan).+.options);
        $crate::client::poll::total_timeout::total_timeout!(
            $name $(<$life>)? [$($parameter),+],
            $($plan).+.settings.total,
            "At the deadline the bulk ends with [`Interrupted`](crate::bulk::Interrupted), which holds the report and an \
             error of kind `Timeout`. Operations in flight are in doubt. Waiting operations are not attempted."
        );

        /// Settings. They have no effect after the first poll.
        impl<$($life,)? $($parameter),+> $name<$($life,)? $($parameter),+> {
            /// Sets the maximum number of operations in a batch: 1 to 100. Other values are clamped.
            ///
            /// The default, 100, costs least. Of the sizes that the storage team measured, 20 had the best latency.
            ///
            /// Source: "How to get the most out of Windows Azure Tables" (2010), figures 5 and 6.
            pub fn batch_size(mut self, operations: usize) -> Self {
                self.$($plan).+.settings.batch_size = operations.clamp(1, $crate::write::batch::MAX_BATCH_OPERATIONS);
                self
            }

            /// Sets the maximum size of a batch body in bytes.
            ///
            /// The default is the service's limit, 4 MiB (2 MB on Cosmos DB). A larger operation is sent alone.
            pub fn batch_bytes(mut self, bytes: usize) -> Self {
                self.$($plan).+.settings.batch_bytes = Some(bytes);
                self
            }

            /// Sets the number of batches in flight across all partitions: 32 by default, at least 1.
            ///
            /// Waiting operations and operations in flight take at most 64 MiB together. Operations in flight count
            /// twice: once for the body of their batch, and once because they may be sent again. At most eight batches
            /// of 4 MiB are therefore in flight.
            pub fn concurrency(mut self, batches: usize) -> Self {
                self.$($plan).+.settings.concurrency = batches.max(1);
                self
            }

            /// Sets the number of batches in flight per partition: 4 by default, at least 1.
            ///
            /// The default reaches the service's target per partition, 2,000 entities/s, if a batch takes 200 ms.
            ///
            /// Source: REST "Scalability and performance targets for Table storage".
            pub fn partition_concurrency(mut self, batches: usize) -> Self {
                self.$($plan).+.settings.partition_concurrency = batches.max(1);
                self
            }

            /// Limits the entities sent per second across all partitions, to leave room for other clients. At least 1.
            ///
            /// No limit by default: the sending rate adapts to the service's throttling responses, and throttled
            /// batches are sent again.
            pub fn max_rate(mut self, entities_per_second: u32) -> Self {
                self.$($plan).+.settings.max_rate = Some(f64::from(entities_per_second.max(1)));
                self
            }

            /// Limits the operations that wait for a batch: 20,000 by default, at least 1, and never more than 32 MiB.
            ///
            /// At the limit the source is not read, and batches are sent before they are full. A higher limit fills
            /// batches better if the source mixes partitions.
            pub fn max_pending(mut self, operations: usize) -> Self {
                self.$($plan).+.settings.pending = operations.max(1);
                self
            }

            /// Sets the number of operations that may be rejected or in doubt: 1,000 by default.
            ///
            /// One more ends the whole bulk with [`Interrupted`](crate::bulk::Interrupted), which holds the report.
            /// With 0, the first failure ends the bulk; with [`usize::MAX`], none does. The report holds each failed
            /// operation, unless you read the [`outcomes`](crate::bulk::BulkWrite::outcomes).
            ///
            /// Later operations on a row in doubt are not attempted, and count as failures. With `usize::MAX`, they wait
            /// until no lost request can arrive any more, for 180 s, and are then sent.
            #[doc(alias = "on_error")]
            pub fn max_failures(mut self, most: usize) -> Self {
                self.$($plan).+.settings.failures = most as u64;
                self
            }

            /// Reports all operations of a failed batch as leftovers, and sends none of them again.
            ///
            /// Each has the error of the operation that failed.
            pub fn fail_whole_batches(mut self) -> Self {
                self.$($plan).+.settings.recovery = $crate::client::batching::partition::failed_batch::Recovery::FailTogether;
                self
            }
        }
    };
}
pub(crate) use bulk_settings;
