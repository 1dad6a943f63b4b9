//! Query Entities and Query Tables: a page of a list.
//!
//! Source: REST "Query Entities", "Query Tables", "Query timeout and pagination".

use std::mem;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::codec::odata::literal::Doubled;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::codec::url;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::odata;
use azure_table_wire::response;
use azure_table_wire::value::fnv;
use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::entity::read_json::{self, RowPosition};
use crate::entity::row::members::RowMembers;
use crate::entity::row::{Row, context::RowContext};
use crate::key::table_key::after_prefix;
use crate::request::continuation::Continuation;
use crate::write::operation_request::OperationRequest;

/// The property with a table's name in an account's list of tables.
pub(crate) const TABLE_NAME: &str = "TableName";

/// The maximum number of rows per page.
///
/// Source: REST "Query timeout and pagination".
pub(crate) const MAX_PAGE_SIZE: usize = 1_000;

/// The cost of decoding a row beyond its bytes, in bytes.
const ROW_COST: usize = 128;
/// The cost of decoding a property beyond its bytes, in bytes: its name and its value may each be allocated.
const PROPERTY_COST: usize = 64;

/// A query for one page.
#[derive(Clone, Debug)]
pub(crate) struct QueryRequest {
    pub list: List,
    pub filter: Option<String>,
    pub select: Option<String>,
    /// The maximum number of rows per page. `None` leaves it to the service.
    pub top: Option<usize>,
    pub metadata: MetadataLevel,
}

/// The list that a query pages through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// The entities of a table.
    Entities(String),
    /// The tables of an account: rows of one property, [`TABLE_NAME`].
    Tables,
}

impl QueryRequest {
    /// Lists all entities of a table.
    pub(crate) fn entities(table: &str) -> Self {
        Self {
            list: List::Entities(table.to_owned()),
            filter: None,
            select: None,
            top: None,
            metadata: MetadataLevel::None,
        }
    }

    /// Lists the tables whose names begin with `prefix`.
    pub(crate) fn tables(prefix: &str, profile: Profile) -> Self {
        Self {
            list: List::Tables,
            filter: (!prefix.is_empty()).then(|| names_from(prefix, profile)),
            select: None,
            top: None,
            metadata: MetadataLevel::None,
        }
    }

    pub(crate) fn operation(&self) -> OperationKind {
        match self.list {
            List::Entities(_) => OperationKind::Query,
            List::Tables => OperationKind::ListTables,
        }
    }

    /// Returns the table whose entities are queried.
    pub(crate) fn table(&self) -> Option<&str> {
        match &self.list {
            List::Entities(table) => Some(table),
            List::Tables => None,
        }
    }

    /// Returns the identity of this query for continuations, a hash of the account, its service, the table and the
    /// conditions. It is the same in every process (FNV-1a).
    pub(crate) fn identity(&self, endpoint: &Endpoint) -> u64 {
        let (account, service) = endpoint.place();
        let account = account.bytes().map(|b| b.to_ascii_lowercase());
        // Table names contain no slash.
        let list = self.table().unwrap_or("/tables").to_owned();
        let list = endpoint.profile().rules().table_in_set(list);
        let filter = self.filter.as_deref().unwrap_or_default();
        let place = account.chain([b'\n']).chain(service.bytes()).chain([b'\n']);
        place
            .chain(list.bytes())
            .chain([b'\n'])
            .chain(filter.bytes())
            .fold(fnv::START, fnv::add)
    }

    /// Checks that the continuation belongs to this query.
    ///
    /// # Errors
    /// - `InvalidInput`: the continuation is of another query or account, or names no position.
    pub(crate) fn check(&self, from: &Continuation, endpoint: &Endpoint) -> Result<()> {
        from.check()?;
        if from.query == Some(self.identity(endpoint)) {
            return Ok(());
        }
        let why = match (from.next_table_name.is_some(), &self.list) {
            (true, List::Entities(_)) => "this is the continuation of `list_tables`, not of a query",
            (false, List::Tables) if !from.is_finished() => "this is the continuation of a query, not of `list_tables`",
            _ if from.query.is_none() => return Ok(()),
            _ => "the continuation belongs to another query: its account, table or conditions differ",
        };
        Err(Error::invalid_input(why))
    }

    /// Builds `GET /table()` or `GET /Tables`. The options are the same for every page; the position belongs to this
    /// page.
    pub(crate) fn page_request(&self, endpoint: &Endpoint, from: Option<&Continuation>) -> Result<OperationRequest> {
        let mut path = url::PathAndQuery::new(match &self.list {
            List::Entities(table) => format!("{}()", url::encode(table)),
            List::Tables => "Tables".to_owned(),
        });
        if let Some(filter) = &self.filter {
            path.pair("$filter", filter);
        }
        if let Some(select) = &self.select {
            path.pair("$select", select);
        }
        if let Some(top) = self.top {
            path.pair("$top", &top.to_string());
        }
        for (name, value) in from.into_iter().flat_map(Continuation::parameters) {
            path.pair(name, value);
        }
        let request = odata(endpoint, Method::GET, path.as_str(), self.metadata)?;
        let operation = OperationRequest::new(self.operation(), request);
        Ok(match self.table() {
            Some(table) => operation.in_table(table),
            None => operation,
        })
    }
}

/// Returns the text that table names are compared with.
///
/// Storage ignores case. A range up to `Z` ends at `[`, which sorts before the lower-case letters, so `{` replaces it:
/// no name contains either, and `{` sorts after all letters.
pub(crate) fn compared_name(text: String, profile: Profile) -> String {
    if profile.rules().ignores_case_of_table_names {
        text.replace('[', "{")
    } else {
        text
    }
}

/// Returns the filter for names that begin with `prefix`.
fn names_from(prefix: &str, profile: Profile) -> String {
    let from = format!("{TABLE_NAME} ge '{}'", Doubled(prefix));
    match after_prefix(prefix) {
        Some(end) => format!("{from} and {TABLE_NAME} lt '{}'", Doubled(&compared_name(end, profile))),
        None => from,
    }
}

/// Reads a row of a page and keeps it. Returns `false` if it skips the row.
///
/// The number is an estimate of the rows in the page until the first row is kept, and 0 from then on.
pub(crate) type TakeRow<'t> = dyn FnMut(&mut RowMembers<'_, '_>, usize) -> Result<bool> + 't;

/// Returns the rows of a page. Skips those for which `read_row` returns `None`.
pub(crate) fn read_response<P>(
    response: Response<Bytes>,
    metadata: MetadataLevel,
    read_row: impl Fn(&Row<'_>) -> Result<Option<P>>,
) -> Result<Vec<P>> {
    let mut rows = Vec::new();
    let mut page = PageBody::new(response);
    page.read(metadata, usize::MAX, &mut |members, _| {
        let row = read_row(members.row())?;
        let is_kept = row.is_some();
        rows.extend(row);
        Ok(is_kept)
    })?;
    Ok(rows)
}

/// The body of a page, decoded in one or several turns.
pub(crate) struct PageBody {
    response: Response<Bytes>,
    /// The body of a page that takes several turns. It is checked to be UTF-8 once, not in each turn.
    text: Option<String>,
    from: RowPosition,
    /// The number of rows kept.
    rows: usize,
}

impl PageBody {
    pub(crate) fn new(response: Response<Bytes>) -> Self {
        Self {
            response,
            text: None,
            from: 0,
            rows: 0,
        }
    }

    /// Decodes rows until they have cost `budget`, in bytes. Returns the budget that is left after the last row of the
    /// page, or `None` if there are more rows.
    pub(crate) fn read(
        &mut self,
        metadata: MetadataLevel,
        budget: usize,
        take: &mut TakeRow<'_>,
    ) -> Result<Option<usize>> {
        let decoded = self.decode(metadata, budget, take);
        decoded.map_err(|e| e.with_request_id(response::request_id(&self.response)))
    }

    fn decode(&mut self, metadata: MetadataLevel, budget: usize, take: &mut TakeRow<'_>) -> Result<Option<usize>> {
        if self.text.is_none() {
            let response = &mut self.response;
            if response.status() != StatusCode::OK {
                return Err(response::error(response));
            }
            let length = response::json(response)?.len();
            if length > budget || self.from > 0 {
                self.text = Some(read_json::into_page_text(mem::take(response.body_mut()))?);
            }
        }
        let text = match &self.text {
            Some(text) => text,
            None => read_json::page_text(self.response.body())?,
        };
        let (mut left, mut begin) = (budget, self.from);
        let rows = &mut self.rows;
        let context = RowContext::of(&self.response);
        let mut read = |members: &mut RowMembers<'_, '_>, end: RowPosition| {
            // The other rows are about as long as the first.
            let expected = if *rows == 0 {
                text.len().div_ceil(end).min(MAX_PAGE_SIZE)
            } else {
                0
            };
            *rows += usize::from(take(members, expected)?);
            Ok(())
        };
        let mut goes_on = |end: RowPosition, properties: usize| {
            left = left.saturating_sub(end - begin + ROW_COST + PROPERTY_COST * properties);
            begin = end;
            left > 0
        };
        let next = read_json::page(&context, text, metadata, self.from, &mut read, &mut goes_on)?;
        self.from = next.unwrap_or(self.from);
        Ok(next.is_none().then_some(left))
    }

    /// Returns the number of rows kept so far.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }
}
