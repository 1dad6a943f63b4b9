//! Lost writes: what became of a write whose response was lost.
//!
//! The client reads the rows back (`read_back.rs`), compares them with what it sent, and looks the outcome up in a
//! table: during the call, before it sends a write again or after a rejection that an earlier attempt may have caused;
//! and later, for an [`InDoubtWrite`](crate::operation::InDoubtWrite) that a user stored.
//!
//! | file | what it owns |
//! |---|---|
//! | `facts.rs` | what the client knows of its write, in the form that an error stores |
//! | `reading.rs` | which requests read the rows back |
//! | `sent_time.rs` | when the write was sent, by every clock, and the age of a row compared with that |
//! | `row.rs` | what one row shows |
//! | `outcome.rs` | the table: from what all rows show to the outcome |
//! | `written_row.rs` | the result of a write that was read back and found applied |
//!
//! Only rows decide. A rejection may come from a proxy, or from the service for a request that lost its authorization
//! on the way, so it is a reason to look and never the answer.

pub(crate) mod facts;
pub(crate) mod outcome;
pub(crate) mod reading;
mod row;
pub(crate) mod sent_time;
mod written_row;
