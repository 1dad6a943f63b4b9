//! Queries: streams, pages, plans, scans and reads of many keys.
//!
//! Create a [`TableQuery`](crate::TableQuery) with [`TableClient::query`](crate::TableClient::query). The last method
//! that you call decides what you get:
//!
//! | method | result |
//! |---|---|
//! | [`stream()`](crate::TableQuery::stream) | [`EntityStream`]: the entities of all pages |
//! | [`pages()`](crate::TableQuery::pages) | [`PageStream`]: [`Page`](crate::Page)s with their continuations |
//! | [`fan_out(..)`](crate::TableQuery::fan_out) | [`FanOut`]: the same query over several partitions in parallel |
//! | [`scan()`](crate::TableQuery::scan) | [`Scan`], [`ScanStream`]: a whole table, in parallel ranges that the scan finds itself |
//! | | [`ScanProgress`], and [`ScanPosition`] to resume from |
//! | [`last_rows(..)`](crate::TableQuery::last_rows) | the last rows, after reading all pages of the query |
//! | [`plan()`](crate::TableQuery::plan) | [`QueryPlan`]: the request and its cost, without sending it |
//!
//! [`TableClient::get_many`](crate::TableClient::get_many) reads many keys ([`GetMany`]). [`Gather`] sorts the rows of
//! a mixed partition into a struct, and [`Families`] joins parents to their children. A lenient query reports a row
//! that does not fit as a [`BadRow`]. Writes by query accept a [`RowSelection`]: a filter or a query.
//!
//! # Examples
//!
//! ```
//! use azure_table::{Emulator, TableEntity, TableServiceClient};
//!
//! #[derive(TableEntity)]
//! struct Blog {
//!     #[table(partition_key)]
//!     channel: String,
//!     #[table(row_key)]
//!     id: String,
//!     rating: i32,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
//! blogs.create_table().await?;
//! let query = blogs.query().partition("Channel9").filter(Blog::RATING.ge(3));
//! println!("{}", query.plan()?);
//! let best: Vec<Blog> = query.all().await?;
//! # assert!(best.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! More: [the guide to queries](crate::guide::queries).

pub use crate::client::query::entity_stream::EntityStream;
pub use crate::client::query::fan_out::FanOut;
pub use crate::client::query::gather::Gather;
pub use crate::client::query::gather::families::Families;
pub use crate::client::query::get_many::GetMany;
pub use crate::client::query::page_stream::PageStream;
pub use crate::client::query::query_plan::QueryPlan;
pub use crate::client::query::scan::Scan;
pub use crate::client::query::scan::scan_position::ScanPosition;
pub use crate::client::query::scan::scan_stream::{ScanProgress, ScanStream};
pub use crate::client::query::selection::RowSelection;
pub use crate::client::shape::bad_row::BadRow;
