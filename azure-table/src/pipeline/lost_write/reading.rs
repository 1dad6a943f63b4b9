//! The requests that read the rows of a write back: one query of its partition, from the primary.
//!
//! The query may page through other rows between those of a batch. It stops after [`MAX_READS`] requests; a few rows
//! that follow many others are read one by one.

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::error::in_doubt_write::parts::RowParts;
use azure_table_wire::filter::literal::Literal;
use azure_table_wire::response;
use azure_table_wire::value::clock::{ClockReading, Instant};
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::ordinal;
use bytes::Bytes;
use http::Response;

use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::ReadEntity;
use crate::pipeline::lost_write::outcome::{Reads, Resolution, outcome};
use crate::pipeline::lost_write::row::{ReadRow, RowShows, shows};
use crate::pipeline::lost_write::sent_time::{ReadTime, SentTime};
use crate::request::continuation::{self, Continuation};
use crate::request::query::QueryRequest;
use crate::request::{get, query};
use crate::write::operation_request::OperationRequest;

/// The maximum number of requests to read back a batch. Its range may contain any number of other rows.
const MAX_READS: usize = 5;

/// The rows of a write, as far as they were read.
pub(crate) struct Reading<'a> {
    table: &'a str,
    partition_key: &'a str,
    rows: &'a [RowParts],
    next: NextRead,
    responses: usize,
    stored: Vec<DynamicEntity>,
    pub(crate) time: ReadTime,
}

/// The next request of a reading.
enum NextRead {
    Page(Option<Continuation>),
    /// One row after the other, the last one first. Empty if all rows were read.
    Rows(Vec<usize>),
    /// Further rows may be stored.
    GaveUp,
}

/// What the rows of a write show.
pub(crate) struct Shown<'a> {
    pub(crate) resolution: Resolution,
    /// Each row of the write as it is stored, if it shows that the write was applied.
    pub(super) applied: Vec<Option<&'a DynamicEntity>>,
}

impl<'a> Reading<'a> {
    /// Begins to read the rows of a write. `by_key` if the keys of a single row may not fit into the URL of a query.
    pub(crate) fn new(table: &'a str, partition_key: &'a str, rows: &'a [RowParts], by_key: bool) -> Self {
        Self {
            table,
            partition_key,
            rows,
            next: match rows {
                [] => NextRead::Rows(Vec::new()),
                [_] if by_key => NextRead::Rows(vec![0]),
                _ => NextRead::Page(None),
            },
            responses: 0,
            stored: Vec::new(),
            time: ReadTime {
                sent: Instant::now(),
                received: ClockReading::now(),
                date: None,
            },
        }
    }

    /// Returns the next request, or `None` if no further one is needed.
    pub(crate) fn next_request(&self, endpoint: &Endpoint) -> Option<Result<OperationRequest>> {
        match &self.next {
            NextRead::Page(from) => Some(self.query().page_request(endpoint, from.as_ref())),
            NextRead::Rows(rows) => {
                let key = (self.partition_key, &*self.rows[*rows.last()?].row_key);
                Some(get::request(endpoint, self.table, key, None, MetadataLevel::Minimal))
            }
            NextRead::GaveUp => None,
        }
    }

    /// Reads the response to the last request.
    ///
    /// # Errors
    /// - It is not from the service, or cannot be read.
    pub(crate) fn receive(&mut self, response: Response<Bytes>) -> Result<()> {
        self.responses += 1;
        self.time = ReadTime {
            sent: self.time.sent,
            received: ClockReading::now(),
            date: response::date(response.headers()),
        };
        self.next = match std::mem::replace(&mut self.next, NextRead::GaveUp) {
            NextRead::Page(_) => {
                let from = continuation::of(response.headers())?;
                let rows = query::read_response(response, MetadataLevel::Minimal, |row| {
                    DynamicEntity::read(row).map(Some)
                });
                self.stored.extend(rows?);
                self.after_page(from)
            }
            NextRead::Rows(mut rows) => {
                if let Some(index) = rows.pop() {
                    let key = (self.partition_key, &*self.rows[index].row_key);
                    let read = DynamicEntity::read_members;
                    self.stored
                        .extend(get::read_response(response, key, MetadataLevel::Minimal, false, read)?);
                }
                NextRead::Rows(rows)
            }
            ended => ended,
        };
        Ok(())
    }

    fn after_page(&self, from: Option<Continuation>) -> NextRead {
        let left: Vec<usize> = (0..self.rows.len())
            .filter(|index| self.find(*index).is_none())
            .collect();
        match from {
            None => NextRead::Rows(Vec::new()),
            Some(_) if left.len() <= MAX_READS - self.responses => NextRead::Rows(left),
            Some(_) if self.responses == MAX_READS => NextRead::GaveUp,
            from => NextRead::Page(from),
        }
    }

    /// Returns what the rows show about a write that was sent at this time.
    pub(crate) fn shown(&self, sent: &SentTime, reads_may_lag: bool) -> Shown<'_> {
        let read = |index: usize| match (self.find(index), &self.next) {
            (Some(row), _) => ReadRow::Stored(row),
            (None, NextRead::Rows(_)) => ReadRow::Missing,
            (None, _) => ReadRow::Unread,
        };
        let shown: Vec<RowShows> = (self.rows.iter().enumerate())
            .map(|(index, row)| shows(self.partition_key, row, read(index), sent))
            .collect();
        let reads = Reads {
            is_in_flight: sent.is_in_flight,
            may_lag: reads_may_lag,
            are_of_one_moment: self.responses <= 1,
        };
        let applied = |(index, row): (usize, &RowShows)| self.find(index).filter(|_| row.about_write.is_written());
        Shown {
            resolution: outcome(&shown, reads),
            applied: shown.iter().enumerate().map(applied).collect(),
        }
    }

    fn find(&self, index: usize) -> Option<&DynamicEntity> {
        let is_row =
            |row: &&DynamicEntity| row.partition_key == self.partition_key && row.row_key == self.rows[index].row_key;
        self.stored.iter().find(is_row)
    }

    /// Returns the query for the rows: one row, or a range of the partition.
    fn query(&self) -> QueryRequest {
        let row_keys = || self.rows.iter().map(|row| &*row.row_key);
        let by_key = |a: &&str, b: &&str| ordinal::compare(a, b);
        let quoted = |text: &str| Literal(&EdmValue::from(text)).to_string();
        let (least, most) = (row_keys().min_by(by_key), row_keys().max_by(by_key));
        let [partition, least, most] =
            [self.partition_key, least.unwrap_or_default(), most.unwrap_or_default()].map(quoted);
        let range = if least == most {
            format!("RowKey eq {least}")
        } else {
            format!("RowKey ge {least} and RowKey le {most}")
        };
        QueryRequest {
            filter: Some(format!("PartitionKey eq {partition} and {range}")),
            metadata: MetadataLevel::Minimal,
            ..QueryRequest::entities(self.table)
        }
    }
}

#[cfg(test)]
mod tests;
