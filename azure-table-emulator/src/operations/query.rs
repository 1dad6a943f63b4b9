//! Query Entities: one page of a table.
//!
//! A page ends at `$top`, at 1000 rows, at [`MAX_PAGE_BYTES`], at the emulator's page size or at the conditions of
//! [`PageEnds`](crate::PageEnds). If rows are left in the range of keys that the filter allows, a token names the
//! position to continue at. As in the live service, the next page may be empty.
//!
//! A page is read in turns, between which other tasks run. It shows the state of the table at its beginning, without
//! later writes or parts of a batch. The live service guarantees that for each partition of a page ("Windows Azure
//! Table", 2009: snapshot isolation within one query and partition). If the table is deleted or restored meanwhile, the
//! page restarts. Not imitated by default: pages that end after five seconds or at a partition of the service.
//!
//! Source: REST "Query Entities", "Query timeout and pagination".

use std::sync::Arc;

use azure_table_wire::filter::key_range::KeyRange;
use azure_table_wire::value::ordinal;

use crate::operations::OperationCall;
use crate::operations::grant::RowRange;
use crate::operations::payload::PayloadShape;
use crate::operations::scan::{RowFilter, ScanTurn};
use crate::request::continuation::{self, Next, Position};
use crate::request::options::Options;
use crate::response::OperationResponse;
use crate::response::format::Level;
use crate::rules::service_error::{Result, ServiceError};
use crate::rules::{Continuation, ServiceRules};
use crate::settings::PageEnds;
use crate::store::SharedStore;
use crate::store::account::Table;
use crate::store::row::RowId;
use crate::store::rows::{Changed, Placed, Reader};

/// The maximum size of a page's body in bytes, unless its only row is longer (4 MiB).
///
/// A page of the longest entities would otherwise be 1 GiB long, which no client reads.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// Handles `GET /table()`.
pub(crate) async fn page(shared: &SharedStore, call: &OperationCall<'_>, table: &str) -> Result<OperationResponse> {
    let level = call.level()?;
    let condition = RowFilter::new(call.filter()?, call.site().rules);
    let range = condition.range();
    // Rows outside the range of a shared access signature are silently omitted (seen live).
    let granted = &call.caller.grant.rows;
    let (partition_key, row_key) = range.start();
    let first = RowId::new(partition_key, row_key).max(granted.start.clone());
    let rules = call.site().rules;
    let start = match (position(&call.options, rules)?, rules.continuation) {
        (Some(Position::Keys(from)), _) => Position::Keys(from.max(first.clone())),
        (Some(place @ Position::Place(..)), _) => place,
        (None, Continuation::Keys) => Position::Keys(first.clone()),
        (None, Continuation::Places) => Position::Place(0, 0),
    };
    let choices = call.site().choices;
    let limit = call.caller.page_size(call.options.top);
    let ends = call.caller.settings.page_ends;
    let query = Query {
        condition: &condition,
        is_filtered: call.options.filter.is_some(),
        first,
        range,
        granted,
        limit: choices.rows.map_or(limit, |rows| rows.min(limit)),
        earlier: call.options.next_partition_key.as_deref(),
        ends: PageEnds {
            examined: ends.examined.into_iter().chain(choices.examined).min(),
            ..ends
        },
        begins_empty: choices.begins_empty && call.options.next_partition_key.is_none(),
        ends_empty: choices.ends_empty,
        shape: call.shape(table, level),
    };
    'state: loop {
        let mut page = Page::begin(&query, start.clone());
        let mut reader: Option<Arc<Reader>> = None;
        loop {
            {
                let store = shared.read();
                let table = store
                    .table(call.replica(), table)
                    .ok_or_else(|| call.replica().missing_table())?;
                if reader.as_ref().is_some_and(|reader| !table.rows.knows(reader)) {
                    continue 'state;
                }
                page.origin = store.origin(table);
                if let Position::Place(_, origin) = start
                    && query.earlier.is_some()
                    && origin != page.origin
                {
                    return Err(ServiceError::INVALID_INPUT.because("the continuation is of an earlier table"));
                }
                if let Some(next) = page.take_turn(table, reader.as_deref()) {
                    return Ok(page.into_response(next, level));
                }
                reader.get_or_insert_with(|| table.rows.register());
            }
            tokio::task::yield_now().await;
        }
    }
}

/// The query of a page.
struct Query<'q> {
    condition: &'q RowFilter<'q>,
    is_filtered: bool,
    /// The lowest keys of a row in its range.
    first: RowId,
    range: KeyRange<'q>,
    granted: &'q RowRange,
    limit: usize,
    /// The token of the page.
    earlier: Option<&'q str>,
    ends: PageEnds,
    /// The first page has no rows, a last page without rows follows.
    begins_empty: bool,
    ends_empty: bool,
    shape: PayloadShape<'q>,
}

impl Query<'_> {
    fn reaches(&self, id: &RowId) -> bool {
        !self.range.is_past(&id.partition_key, &id.row_key) && !self.granted.is_past(id)
    }
}

/// A page that is being read.
struct Page<'q> {
    query: &'q Query<'q>,
    /// The first row that was not examined.
    from: Position,
    /// Identifies the rows to which places belong.
    origin: i64,
    body: Vec<u8>,
    rows: usize,
    looked_at: usize,
    /// The partition of the row that was examined last, if needed.
    partition: Option<Box<str>>,
    /// The row that was examined last, if needed.
    last: Option<(u64, RowId)>,
    /// The size of the text after the last row, in bytes.
    end: usize,
}

impl<'q> Page<'q> {
    fn begin(query: &'q Query<'q>, from: Position) -> Self {
        let body = query.shape.page();
        let mut end = Vec::new();
        query.shape.end(&mut end);
        Self {
            query,
            from,
            origin: 0,
            body,
            rows: 0,
            looked_at: 0,
            partition: None,
            last: None,
            end: end.len(),
        }
    }

    /// Continues reading until the page or the turn ends. Returns the position of the next page.
    fn take_turn(&mut self, table: &Table, reader: Option<&Reader>) -> Option<Next> {
        let nothing = Changed::new();
        let changed = reader.map(Reader::changed);
        let changed = changed.as_deref().unwrap_or(&nothing);
        let mut turn = ScanTurn::new();
        let mut next = Some(Next::new());
        if self.query.limit == 0 {
            return next;
        }
        let query = self.query;
        let from = self.from.clone();
        if query.begins_empty {
            return Some(match &from {
                Position::Keys(id) => self.next_at(0, &id.partition_key, Some(&id.row_key)),
                Position::Place(place, _) => self.next_at(*place, "", None),
            });
        }
        let is_by_place = matches!(from, Position::Place(..));
        let rows: Box<dyn Iterator<Item = Placed<'_>> + '_> = match &from {
            Position::Keys(start) => {
                let rows = table.rows.before(changed, start);
                let rows = rows.take_while(|(id, _)| query.reaches(id));
                Box::new(rows.map(|(id, row)| (0, id, row)))
            }
            Position::Place(from, _) => table.rows.by_place(changed, query.range, *from),
        };
        for placed @ (place, id, row) in rows {
            if !turn.take(query.condition.comparisons(), row.members.annotated().len()) {
                self.from = if is_by_place {
                    Position::Place(place, 0)
                } else {
                    Position::Keys(id.clone())
                };
                next = None;
                break;
            }
            // In the order of insertion, rows outside the range of keys lie between those inside.
            if is_by_place && (*id < query.first || !query.reaches(id)) {
                continue;
            }
            if let Some(position) = self.look_at(placed) {
                next = Some(position);
                break;
            }
        }
        // Right after the last row.
        if let (Some((place, id)), true) = (&self.last, next.as_ref().is_some_and(Next::is_empty)) {
            next = Some(self.next_at(place + 1, &id.partition_key, Some(&format!("{}\0", id.row_key))));
        }
        next
    }

    /// Adds the row if it matches. Returns the position of the next page if this one ends before the row.
    fn look_at(&mut self, placed: Placed<'_>) -> Option<Next> {
        let (place, id, row) = placed;
        let ends = self.query.ends;
        if ends.at_partitions && self.partition.as_ref() != Some(&id.partition_key) {
            if self.partition.is_some() {
                return Some(self.next_at(place, &id.partition_key, None));
            }
            self.partition = Some(id.partition_key.clone());
        }
        if self.rows == self.query.limit || ends.examined.is_some_and(|most| self.looked_at == most) {
            return Some(self.next_at(place, &id.partition_key, Some(&id.row_key)));
        }
        if self.query.condition.accepts(id, row) {
            let before = self.body.len();
            self.query.shape.row(&mut self.body, id, row);
            let most = ends.bytes.unwrap_or(MAX_PAGE_BYTES).min(MAX_PAGE_BYTES);
            if self.rows > 0 && self.body.len() + self.end > most {
                self.body.truncate(before);
                return Some(self.next_at(place, &id.partition_key, Some(&id.row_key)));
            }
            self.rows += 1;
        }
        self.looked_at += 1;
        self.last = self.query.ends_empty.then(|| (place, id.clone()));
        None
    }

    /// Returns the position of a row, without its RowKey if a page ends with a partition.
    fn next_at(&self, place: u64, partition_key: &str, row_key: Option<&str>) -> Next {
        match self.from {
            Position::Keys(_) => continuation::for_row(partition_key, row_key),
            Position::Place(..) => {
                let page = continuation::Page {
                    earlier: self.query.earlier,
                    items: self.rows,
                    is_filtered: self.query.is_filtered,
                };
                continuation::for_place(place, self.origin, page)
            }
        }
    }

    fn into_response(mut self, next: Next, level: Level) -> OperationResponse {
        self.query.shape.end(&mut self.body);
        OperationResponse {
            more: next,
            rows: self.looked_at as u64,
            ..OperationResponse::json(200, self.body, level)
        }
    }
}

/// Returns the first partition in which a page may begin.
pub(crate) fn first_partition(call: &OperationCall<'_>) -> Result<Box<str>> {
    let (first, _) = KeyRange::of(call.filter()?).start();
    match position(&call.options, call.site().rules)? {
        Some(Position::Keys(from)) if ordinal::compare(&from.partition_key, first).is_gt() => Ok(from.partition_key),
        _ => Ok(first.into()),
    }
}

/// Returns the first row of the page, if the request names one.
fn position(options: &Options, rules: &ServiceRules) -> Result<Option<Position>> {
    let (partition, row) = (&options.next_partition_key, &options.next_row_key);
    continuation::row(partition.as_deref(), row.as_deref(), rules)
}
