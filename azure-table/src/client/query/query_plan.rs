//! The plan of a query, before it is sent.

use std::fmt;

use azure_table_wire::error::Result;

use crate::filter::access::{Access, AccessPath};

/// The documented limit of comparisons in a filter. The service is not known to reject more.
///
/// Source: REST "Querying tables and entities".
const MAX_COMPARISONS: usize = 15;
/// The length of a URL from which a note mentions it. The service's limit is not documented.
const LONG_URL: usize = 4_096;

/// The plan of a query: the rows that the service reads, the request, and suggestions.
///
/// Returned by [`TableQuery::plan`](crate::TableQuery::plan).
/// ```
/// use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::filter::AccessPath;
/// # fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// let rating = Column::<DynamicEntity, i32>::property("Rating");
/// let plan = table.query().filter(rating.ge(3)).plan()?;
/// assert_eq!(plan.path(), AccessPath::TableScan);
/// println!("{plan}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct QueryPlan {
    path: AccessPath,
    why: &'static str,
    notes: Vec<String>,
    requests: usize,
    request: String,
}

impl QueryPlan {
    /// Creates the plan of `requests` chains, with their widest access and their first request.
    pub(crate) fn new(access: &Access, requests: usize, request: Result<String>) -> Self {
        let path = access.path();
        let (request, rejected) = match request {
            Ok(request) => (request, None),
            Err(e) => (String::new(), Some(e.to_string())),
        };
        let mut notes = notes(access, &request);
        notes.extend(rejected);
        Self {
            path,
            why: why(access),
            notes,
            requests,
            request,
        }
    }

    /// Creates the plan of an empty set of keys.
    pub(crate) fn for_nothing() -> Self {
        Self {
            path: AccessPath::Point,
            why: "no row can meet the conditions on the keys: nothing is sent",
            notes: Vec::new(),
            requests: 0,
            request: String::new(),
        }
    }

    /// Adds notes, in front of the others.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.splice(0..0, notes);
        self
    }

    /// Returns the minimum number of requests, if each returns all of its rows in one page.
    ///
    /// It is 1 for a query, and one per part for a [fan-out](crate::query::FanOut). Each further page takes one more
    /// request.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Returns the access path: the part of the table that the service reads.
    ///
    /// For several requests it is the widest of their paths.
    pub fn path(&self) -> AccessPath {
        self.path
    }

    /// Returns the reason for the access path.
    pub fn reason(&self) -> &str {
        self.why
    }

    /// Returns notes about likely mistakes and better alternatives, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the request for the first page as text: method and URL, headers.
    ///
    /// Empty if the query sends no request; a note then says why. Each page takes one request, and the requests of a
    /// query form a chain.
    pub fn request_text(&self) -> &str {
        &self.request
    }
}

pub(crate) fn why(access: &Access) -> &'static str {
    match access.path() {
        AccessPath::Point => "the filter has one PartitionKey and one RowKey",
        AccessPath::RowRange => "the filter has one PartitionKey and a range of RowKeys",
        AccessPath::Partition => {
            "the filter has one PartitionKey, and no condition on the RowKey that every row must meet"
        }
        AccessPath::PartitionRange => "the filter has a range of PartitionKeys",
        AccessPath::TableScan if access.has_key_in_or => {
            "the filter has keys inside of an `or`, which the service does not use to find rows"
        }
        AccessPath::TableScan if access.has_row_alone() => {
            "the filter has a RowKey and no PartitionKey: the service finds rows by both"
        }
        AccessPath::TableScan if access.has_raw => {
            "the filter has raw text, which is not analyzed, and no condition on the PartitionKey"
        }
        _ => "the filter has no condition on the PartitionKey",
    }
}

const IN_PARTS: &str = "read whole keys with `get_many`, or let `fan_out` query each key separately";

/// Returns the alternative to a scan.
pub(crate) fn advice(access: &Access) -> Option<&'static str> {
    match access.path() {
        AccessPath::TableScan if access.has_key_in_or => Some(IN_PARTS),
        AccessPath::TableScan => Some("name a partition with `.partition(..)` or a range with `.key_prefix(..)`"),
        AccessPath::Partition if access.has_key_in_or => Some(IN_PARTS),
        AccessPath::Point => Some("`get` reads one entity by its key, and returns `None` if it is absent"),
        _ => None,
    }
}

/// Returns a note if a request exceeds a documented or usual limit, with the alternative.
pub(crate) fn too_much(comparisons: usize, characters: usize, has_keys: bool) -> Option<String> {
    let what = if comparisons > MAX_COMPARISONS {
        format!("the filter has {comparisons} comparisons, the documented limit is {MAX_COMPARISONS}")
    } else if characters > LONG_URL {
        format!("the URL has {characters} characters, the service's limit is not documented")
    } else {
        return None;
    };
    Some(if has_keys {
        format!("{what}: `get_many` reads keys one by one, `fan_out` queries in parts")
    } else {
        format!("{what}: split it into several queries")
    })
}

fn notes(access: &Access, request: &str) -> Vec<String> {
    let mut notes: Vec<String> = advice(access).map(str::to_owned).into_iter().collect();
    let url = request.lines().next().and_then(|line| line.split(' ').nth(1));
    notes.extend(too_much(
        access.comparisons,
        url.map_or(0, str::len),
        access.has_key_in_or,
    ));
    notes.extend(
        access
            .properties
            .iter()
            .map(|(name, edm_type)| format!("rows whose `{name}` is absent or not {edm_type} are skipped silently")),
    );
    notes
}

/// A line for the path, one for the reason, one for each note, then the request.
impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.requests {
            1 => writeln!(f, "reads {}: {}", self.path, self.why)?,
            more => writeln!(f, "{more} requests, each reads at most {}: {}", self.path, self.why)?,
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        f.write_str(&self.request)
    }
}
