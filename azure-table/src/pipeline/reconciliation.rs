//! The reconciliation of a write in doubt: the client reads its rows back.
//!
//! The client reads before it sends a write again, so that the write is not applied twice. It also reads after a
//! repeated write was rejected, because an earlier attempt may have caused the rejection (`next_step.rs`).
//! `doubt/judge.rs` judges the rows.
//!
//! Sending the write again and reading only after a 409 or 412 would save a read if the request was lost. But it could
//! apply an upsert twice, or a batch with one. Times are compared by the service's clock, from the `Date` of the read,
//! with a margin of two seconds for the fraction that a `Date` omits, and of half a minute for a row that has other
//! content. A row that keeps its ETag needs no time.
//!
//! An unchanged row does not end the doubt while an attempt may be in flight (`AmbiguousAttempts`).
//!
//! A read is retried for the time of one attempt. Otherwise a service that accepts and never answers would cost the
//! time of all retries before each retry of the write.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::error::diagnostics::{self, Diagnostics};
use azure_table_wire::response;
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::transport::deadline::Deadline;
use azure_table_wire::value::clock;
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::Response;

use crate::doubt::facts::MAX_CLOCK_ERROR;
use crate::doubt::judge::Resolution;
use crate::doubt::read_back::{self, WrittenRow};
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::ReadEntity;
use crate::pipeline::Pipeline;
use crate::pipeline::notifications::Notifications;
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::skew::{seconds_between, shifted};
use crate::request::continuation;
use crate::request::get;
use crate::request::query;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::RowWrite;

/// The maximum number of requests to read back a batch. Its range may contain any number of other rows.
const MAX_READS: usize = 5;
/// The drift between two readings of the clocks, and the fraction that a `Date` omits, in seconds.
const DRIFT: i64 = 2;

/// The rows of a write, as they were read back.
#[derive(Default)]
struct Stored {
    rows: Vec<DynamicEntity>,
    /// The seconds by which the service's clock is ahead of this machine's, at least. `None` if the last response has
    /// no date.
    offset: Option<i64>,
    /// `true` if no other row of the write is stored.
    has_all: bool,
}

impl Stored {
    fn has(&self, write: &RowWrite<'_>) -> bool {
        self.rows.iter().any(|row| row.row_key == write.row_key)
    }
}

impl Pipeline {
    /// Reads back a write that was first sent at `first_sent`, by this machine's clock. `is_over` if none of its
    /// requests can be applied any more.
    pub(super) async fn read_back(
        &self,
        call: &OperationRequest,
        options: &CallOptions,
        (first_sent, is_over): (SystemTime, bool),
        (deadline, attempt_timeout): (Option<Deadline>, Duration),
        notifications: &mut Notifications<'_>,
    ) -> (Resolution, Vec<WrittenRow>) {
        let unknown = |why: &str| (Resolution::Unknown(why.to_owned()), Vec::new());
        let Some(table) = call.table.as_deref().filter(|_| !call.rows.is_empty()) else {
            return unknown("the write has no rows");
        };
        let writes = &*call.rows.iter().collect::<Vec<_>>();
        let options = options.clone().for_write().within(call);
        let diagnostics = &mut notifications.history.diagnostics;
        let stored = self.stored(table, writes, (deadline, attempt_timeout), options, diagnostics);
        let judged = match stored.await {
            Ok(Stored { rows, .. }) if is_over && read_back::keeps_an_etag(writes, &rows) => {
                (Resolution::NotApplied, Vec::new())
            }
            Ok(Stored {
                rows,
                offset: Some(offset),
                has_all,
            }) => match DateTime::try_from(shifted(first_sent, offset - DRIFT)) {
                Ok(first_sent) => match read_back::judge(writes, &rows, (first_sent, is_over), has_all) {
                    // If the date is wrong, the row of this very write may look old.
                    (Resolution::NotApplied, _) if is_beyond_clocks(offset) => unknown("the clocks are too far apart"),
                    judged => judged,
                },
                Err(_) => unknown("the service has an impossible date"),
            },
            Ok(Stored { offset: None, .. }) => unknown("the response has no date"),
            // The caller may have no permission to read.
            Err(_) => unknown("the rows were not read"),
        };
        notifications.read_back(&judged.0);
        judged
    }

    /// Returns the rows of a write.
    async fn stored(
        &self,
        table: &str,
        writes: &[RowWrite<'_>],
        (deadline, attempt_timeout): (Option<Deadline>, Duration),
        mut options: CallOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Stored> {
        let policy = Arc::clone(options.get().retry.as_ref().unwrap_or(&self.retry));
        let policy = policy.limit_elapsed(attempt_timeout);
        options = options.retry(policy);
        // Each page is a call, with the time that the previous pages left.
        if let Some(deadline) = deadline {
            options.end_at(deadline);
        }
        if let ([write], true) = (writes, options.get().via_batch) {
            return self.stored_row(table, write, &options, diagnostics).await;
        }
        let Some(request) = read_back::request(table, writes) else {
            return Ok(Stored::default());
        };
        let mut stored = Stored::default();
        let mut from = None;
        for reads in 1..=MAX_READS {
            let page = request.page_request(&self.endpoint, from.as_ref())?;
            let (response, offset) = self.read_within(page, &options, diagnostics).await?;
            let next = continuation::of(response.headers())?;
            stored.offset = offset;
            stored
                .rows
                .extend(query::read_response(response, MetadataLevel::Minimal, |row| {
                    DynamicEntity::read(row).map(Some)
                })?);
            stored.has_all = next.is_none();
            if stored.has_all {
                break;
            }
            from = next;
            // A few rows that follow many others are read one by one.
            let left: Vec<_> = writes.iter().filter(|write| !stored.has(write)).collect();
            if left.len() <= MAX_READS - reads {
                for write in left {
                    let row = self.stored_row(table, write, &options, diagnostics).await?;
                    stored.rows.extend(row.rows);
                    stored.offset = row.offset;
                }
                stored.has_all = true;
                break;
            }
        }
        Ok(stored)
    }

    /// Returns the stored row of one write, whose keys may not fit into the URL of a query.
    async fn stored_row(
        &self,
        table: &str,
        write: &RowWrite<'_>,
        options: &CallOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Stored> {
        let key = (write.partition_key, write.row_key);
        let get = get::request(&self.endpoint, table, key, None, MetadataLevel::Minimal)?;
        let (response, offset) = self.read_within(get, options, diagnostics).await?;
        let row = get::read_response(
            response,
            key,
            MetadataLevel::Minimal,
            false,
            DynamicEntity::read_members,
        )?;
        Ok(Stored {
            rows: row.into_iter().collect(),
            offset,
            has_all: true,
        })
    }

    /// Runs a read within a call. Returns its response, with the seconds by which the service's clock is ahead.
    async fn read_within(
        &self,
        mut call: OperationRequest,
        options: &CallOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<(Response<Bytes>, Option<i64>)> {
        let run: BoxFuture<'_, _> = Box::pin(self.run(&mut call, options));
        let responded = run.await;
        let inner = match &responded {
            Ok(received) => &received.call.diagnostics,
            Err(e) => e.diagnostics(),
        };
        diagnostics::append(diagnostics, inner);
        let response = responded?.response;
        let offset = ahead(&response);
        Ok((response, offset))
    }
}

/// Returns the seconds by which the service's clock is ahead, or `None` if the response has no date.
fn ahead(response: &Response<Bytes>) -> Option<i64> {
    let service = response::date(response.headers())?;
    Some(seconds_between(clock::now(), service))
}

/// Returns `true` if a clock that is `offset` seconds ahead differs by more than the service tolerates for a request.
fn is_beyond_clocks(offset: i64) -> bool {
    offset.unsigned_abs() > MAX_CLOCK_ERROR.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_difference_is_limited_to_what_the_service_tolerates() {
        for (offset, expected) in [(0, false), (900, false), (901, true), (-900, false), (-901, true)] {
            assert_eq!(is_beyond_clocks(offset), expected, "{offset}");
        }
    }
}
