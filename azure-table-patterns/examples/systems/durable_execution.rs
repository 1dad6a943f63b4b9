//! Durable execution: orchestrations that survive crashes, reduced to their histories and to the leases of their
//! queues.
//!
//! An orchestration is a program whose every step is an event in a history. A worker that takes it up replays the
//! history, runs the next steps, and writes their events as a *checkpoint*. Messages wake orchestrations. They arrive
//! in a fixed number of queues, each of which belongs to one worker at a time. Queues and large blobs are not part of
//! this chapter.
//!
//! # Promises
//!
//! - **One checkpoint after another.** Of two workers that run the same orchestration, one writes its checkpoint. The
//!   other learns that it lost, and has changed nothing.
//! - **No false conflict.** A worker whose own checkpoint was applied, but whose response was lost, learns that it was
//!   applied, or gets an error that leaves this in doubt. It never takes its own write for another worker's.
//! - **One status.** The status of an instance changes in the same transaction as its history.
//! - **Whole checkpoints.** A reader sees all events of a checkpoint or none, also if it took several transactions.
//! - **One owner.** No two workers own a queue at the same time, whatever their clocks show.
//! - **Equal shares.** After a few rounds, the numbers of queues of any two live workers differ by at most one.
//!
//! # Rows
//!
//! | table | PartitionKey | RowKey | properties |
//! |---|---|---|---|
//! | histories | instance ID | `$instance` | execution, generation, status, number of events |
//! | histories | instance ID | number of the event, in 20 digits | execution, generation, kind, payload in pieces |
//! | queues | `queues` | name of the queue | the row of [`Leases`](azure_table_patterns::Leases) |
//!
//! The header `$instance` sorts before the events, so a reader has it first. Its ETag guards each transaction. The
//! header counts the events: rows beyond this number belong to a checkpoint that was never completed, and the next
//! one overwrites them. The execution is the life of an instance from its start to its purge. A restart begins the
//! next generation.
//!
//! # Cost
//!
//! | call | requests |
//! |---|---|
//! | [`Histories::start`] | 1 |
//! | [`Histories::open`], *n* events | 1 per 1,000 rows |
//! | [`History::checkpoint`], *n* events | 1 per 99 events or 4 MiB |
//! | [`History::restart`] | 1 |
//! | [`History::purge`], *n* events | 1 to begin, 1 per 1,000 rows to find them, 1 per 100 to delete them, 1 to end |
//! | [`Worker::balance`] | 1 to list, 1 for each queue that is renewed, acquired, released or requested |
//!
//! # Source
//!
//! `Azure/durabletask` at 52170329, below `src/DurableTask.AzureStorage`: `Tracking/AzureTableTrackingStore.cs`
//! (histories), `Storage/Table.cs` (deletes in batches), `Partitioning/TablePartitionManager.cs` and
//! `TablePartitionLease.cs` (queues).

mod history;
mod worker;

pub use history::{Event, Histories, History, Instance, Status, Step};
pub use worker::Worker;
