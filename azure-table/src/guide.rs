//! Guides: a page for each subject, with programs that run on the emulator.
//!
//! | guide | questions it answers |
//! |---|---|
//! | [`accounts`] | How do I connect to Azure, Cosmos DB or Azurite, by key, shared access signature or Entra ID? |
//! | [`cosmos`] | What is different on Cosmos DB, and what does the client do about it? |
//! | [`design`] | How do I choose the keys? One table or several? When not to use tables? |
//! | [`limits`] | What does the service limit, and what does it bill? |
//! | [`deployments`] | How do I change an entity while old and new releases run? |
//! | [`web_services`] | How do errors become statuses, ETags versions, and continuations links? |
//! | [`entities`] | Which Rust types become keys and properties? How does a struct or an enum map to rows? |
//! | [`queries`] | How do I filter, stream pages, continue later, and read many keys or a whole table? |
//! | [`batches`] | How do I write several rows in one request, or millions in parallel? |
//! | [`operations`] | How many requests does a method send, and what does a lost response mean? |
//! | [`retries`] | What happens when the network or the service fails, and what is known afterwards? |
//! | [`testing`] (features `derive`, `emulator`, `test-util`) | How do I test code that uses tables? |
//! | [`explorations`] (the same features) | Is my code correct in every order of its requests, and when one is lost? |
//! | [`emulator`] | How do I run the emulator as a program? What survives a crash? How does a script control it? |
//! | [`emulator_in_tests`] | How do tests in JavaScript, Python, Java, Go or .NET start the emulator? |
//! | [`performance`] | Which call for which volume? What does a request cost? What should I measure? |
//! | [`pitfalls`] | What goes wrong with tables, and what does the client do about it? |
//!
//! # Systems on tables
//!
//! Each guide rebuilds a known system on tables, and says which of its claims hold under faults and in all orders of
//! requests.
//!
//! | guide | questions it answers |
//! |---|---|
//! | [`event_streams`] (feature `derive`) | How do I store streams of events with ids and projections? |
//! | [`catalogue`] (features `derive`, `emulator`) | How do I keep the latest of each entry, and scan all? |
//!
//! Three more, `indexes`, `membership` and `durable_execution`, are guides of
//! [`azure-table-patterns`](https://docs.rs/azure-table-patterns). That crate has patterns of coordination, such as
//! fences, leases, logs and queues, and a guide to choose one.
//!
//! # From another client or emulator
//!
//! Each guide to a client maps the calls of that client to ours, shows one program in both, and lists five surprises.
//!
//! | client | guide |
//! |---|---|
//! | Rust: the crate `azure_data_tables` 0.21 | [`migrate_azure_data_tables`] |
//! | .NET: `Azure.Data.Tables`, `Microsoft.Azure.Cosmos.Table`, `WindowsAzure.Storage` | [`migrate_dotnet`] |
//! | Java, JavaScript or Python: the package `azure-data-tables` of each | [`migrate_others`] |
//! | the emulator Azurite, for clients in any language | [`migrate_azurite`] |
//!
//! A first program is on the [front page](crate).

#[doc = include_str!("guide/entities.md")]
pub mod entities {}

#[doc = include_str!("guide/accounts.md")]
pub mod accounts {}

#[doc = include_str!("guide/cosmos.md")]
pub mod cosmos {}

#[doc = include_str!("guide/design.md")]
pub mod design {}

#[cfg_attr(feature = "derive", doc = include_str!("guide/event_streams.md"))]
#[cfg_attr(not(feature = "derive"), doc = "Needs the feature `derive`: docs.rs has it.")]
pub mod event_streams {}

#[doc = include_str!("guide/limits.md")]
pub mod limits {}

#[doc = include_str!("guide/deployments.md")]
pub mod deployments {}

#[doc = include_str!("guide/web_services.md")]
pub mod web_services {}

#[doc = include_str!("guide/batches.md")]
pub mod batches {}

#[doc = include_str!("guide/queries.md")]
pub mod queries {}

#[doc = include_str!("guide/operations.md")]
pub mod operations {}

#[doc = include_str!("guide/retries.md")]
pub mod retries {}

#[cfg_attr(all(feature = "derive", feature = "test-util", feature = "emulator"), doc = include_str!("guide/testing.md"))]
#[cfg_attr(
    not(all(feature = "derive", feature = "test-util", feature = "emulator")),
    doc = "Needs the features `derive`, `emulator` and `test-util`: docs.rs has it."
)]
pub mod testing {}

#[cfg_attr(all(feature = "derive", feature = "test-util", feature = "emulator"), doc = include_str!("guide/explorations.md"))]
#[cfg_attr(
    not(all(feature = "derive", feature = "test-util", feature = "emulator")),
    doc = "Needs the features `derive`, `emulator` and `test-util`: docs.rs has it."
)]
pub mod explorations {}

#[cfg_attr(all(feature = "derive", feature = "emulator"), doc = include_str!("guide/catalogue.md"))]
#[cfg_attr(
    not(all(feature = "derive", feature = "emulator")),
    doc = "Needs the features `derive` and `emulator`: docs.rs has it."
)]
pub mod catalogue {}

#[doc = include_str!("guide/emulator.md")]
pub mod emulator {}

#[doc = include_str!("guide/emulator_in_tests.md")]
pub mod emulator_in_tests {}

#[doc = include_str!("guide/performance.md")]
pub mod performance {}

#[doc = include_str!("guide/pitfalls.md")]
pub mod pitfalls {}

#[doc = include_str!("guide/migrate_azure_data_tables.md")]
pub mod migrate_azure_data_tables {}

#[doc = include_str!("guide/migrate_dotnet.md")]
pub mod migrate_dotnet {}

#[doc = include_str!("guide/migrate_others.md")]
pub mod migrate_others {}

#[doc = include_str!("guide/migrate_azurite.md")]
pub mod migrate_azurite {}
