//! Queries: the request for rows of a table, before it is sent.
//!
//! `table_query.rs` defines `TableQuery`, and `results.rs` runs it. Its other methods have their own files.

// rustdoc lists a type's methods in the order of the modules, so the most used ones come first.
pub(crate) mod table_query;

mod results;

pub(crate) mod concurrent;
pub(crate) mod entity_stream;
pub(crate) mod fan_out;
pub(crate) mod gather;
pub(crate) mod get_many;
mod key_condition;
mod key_order;
pub(crate) mod list_tables;
pub(crate) mod page;
pub(crate) mod page_chain;
pub(crate) mod page_stream;
mod part_pages;
pub(crate) mod prepared_query;
pub(crate) mod query_plan;
pub(crate) mod scan;
pub(crate) mod selection;
