//! Event streams, as Streamstone stores them.
//!
//! A stream is a header and its events, in one partition. Each write replaces the header under its ETag, in the
//! transaction that inserts the events. So a writer that did not see the last event is rejected, and the header always
//! counts the events. A write can bring other rows of the partition along: an id per event, which rejects the same
//! event twice, and included operations, such as a projection or a snapshot.
//!
//! **Promises**
//! - A transaction has the header, its events, their ids and included operations, or nothing. A write of more than 99
//!   operations is several transactions, each with whole events.
//! - A write fails with [`WriteError::Conflict`] if anyone wrote the header since it was read. An id that exists is
//!   [`WriteError::Duplicate`] with the id. An event row or an included operation has errors of its own.
//! - The number of operations, their rows and their partition are checked before the first request.
//! - A `Slice` never claims the end of a stream while it lacks an event of its header.
//!
//! **Rows.** `{v}` is the prefix of a virtual partition: `tenant|order-7` is the partition `tenant` with the prefix
//! `order-7|`. Without `|` the prefix is empty.
//!
//! | PartitionKey | RowKey | properties |
//! |---|---|---|
//! | the partition | `{v}SS-HEAD` | `Version` (Int32), `Write` (the id of the last write), the metadata |
//! | the partition | `{v}SS-SE-{version in 10 digits}` | `Version`, the properties of the event |
//! | the partition | `{v}SS-UID-{id}` | `Version` |
//! | the partition | any other | included rows |
//!
//! These are the rows of the original and `Write`, which shows after a lost response whether a write was applied.
//!
//! **Cost**
//!
//! | call | requests |
//! |---|---|
//! | [`Partition::new_stream`], [`Partition::stream_at`] | none |
//! | [`Partition::open`] | Get |
//! | [`Partition::read`] | Get and Query in parallel, one more Query per 1,000 events |
//! | [`Partition::write_at`] | Get and the requests of `write`; without Get for a new stream |
//! | [`Stream::provision`] | Insert |
//! | [`Stream::write`] | one Batch per 99 operations: 99 events, or 49 with ids |
//! | [`Stream::set_metadata`] | Replace |
//!
//! A conflict is never retried: the caller decided on the events that it had read, so it opens the stream again.
//! [`azure_table_patterns::Log`] is the pattern for appends that need no such decision.
//!
//! **Source:** <https://github.com/yevhen/Streamstone> at 998cdd2, `Source/Streamstone/Stream.Operations.cs`,
//! `EntityChangeTracker.cs`, `EntityOperation.cs`, `Partition.cs`, `Shard.cs`; `Source/Streamstone.Tests/Scenarios`.

mod partition;
mod rows;
mod session;
mod shard;
mod stream;

pub use partition::Partition;
pub use rows::Metadata;
pub use session::Event;
pub use shard::shard;
pub use stream::{Stream, WriteError};
