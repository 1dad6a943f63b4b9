//! What a query will do, before it is sent.

use std::fmt;

use crate::filter::access::{Access, AccessPath};
use crate::model::error::Result;

/// How many comparisons the service documents as the most of a filter. It is not known to refuse more.
///
/// Source: REST "Querying tables and entities".
const MOST_COMPARISONS: usize = 15;
/// From this length of a URL on it is noted. The service's limit is not documented.
const LONG_URL: usize = 4_096;

/// What a query will do: which rows the service reads, by which request, and what would be better. Made by
/// [`TableQuery::plan`](crate::TableQuery::plan).
///
/// ```
/// use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::filter::AccessPath;
/// # fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
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
    /// Of so many chains of requests, of which this is the widest access and the first request.
    pub(crate) fn new(access: &Access, requests: usize, request: Result<String>) -> Self {
        let path = access.path();
        let (request, refused) = match request {
            Ok(request) => (request, None),
            Err(e) => (String::new(), Some(e.to_string())),
        };
        let mut notes = notes(access, &request);
        notes.extend(refused);
        Self {
            path,
            why: why(access),
            notes,
            requests,
            request,
        }
    }

    /// Of a set of keys that is empty.
    pub(crate) fn of_nothing() -> Self {
        Self {
            path: AccessPath::Point,
            why: "no row can meet the conditions on the keys: nothing is sent",
            notes: Vec::new(),
            requests: 0,
            request: String::new(),
        }
    }

    /// How many requests it takes if each gets all of its rows in one page: 1 of a query, one for each part of a
    /// [fan-out](crate::query::FanOut). A further page is a further request.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// How much of the table the service reads; of several requests the most that one reads.
    pub fn path(&self) -> AccessPath {
        self.path
    }

    /// Why that much.
    pub fn reason(&self) -> &str {
        self.why
    }

    /// What may be meant otherwise, and what to write instead: a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The request of the first page as text: method and URL, headers; empty if there is none, as a note says then.
    /// Each page is one request; a query is one chain of them.
    pub fn request(&self) -> &str {
        &self.request
    }
}

pub(crate) fn why(access: &Access) -> &'static str {
    match access.path() {
        AccessPath::Point => "the filter demands one PartitionKey and one RowKey",
        AccessPath::RowRange => "the filter demands one PartitionKey and a range of RowKeys",
        AccessPath::Partition => {
            "the filter demands one PartitionKey, and of the RowKey nothing that every row must meet"
        }
        AccessPath::PartitionRange => "the filter demands a range of PartitionKeys",
        AccessPath::TableScan if access.has_key_in_or => {
            "the filter has keys inside of an `or`, which the service does not use to find rows"
        }
        AccessPath::TableScan if access.has_row_alone() => {
            "the filter demands a RowKey and no PartitionKey: rows are found by both"
        }
        AccessPath::TableScan if access.has_raw => {
            "the filter has raw text, which is not looked at, and demands no PartitionKey besides"
        }
        AccessPath::TableScan => "the filter demands no PartitionKey",
    }
}

const IN_PARTS: &str = "read whole keys by `get_many`, or let `fan_out` ask for each key by itself";

/// What to write instead of a scan.
pub(crate) fn advice(access: &Access) -> Option<&'static str> {
    match access.path() {
        AccessPath::TableScan if access.has_key_in_or => Some(IN_PARTS),
        AccessPath::TableScan => Some("name a partition by `.partition(..)` or a range of them by `.under(..)`"),
        AccessPath::Partition if access.has_key_in_or => Some(IN_PARTS),
        AccessPath::Point => Some("`get` reads one entity by its key, and gives `None` where there is none"),
        _ => None,
    }
}

/// What a request has more of than is documented or usual, and what to do instead.
pub(crate) fn too_much(comparisons: usize, characters: usize, has_keys: bool) -> Option<String> {
    let what = if comparisons > MOST_COMPARISONS {
        format!("the filter has {comparisons} comparisons, the documented limit is {MOST_COMPARISONS}")
    } else if characters > LONG_URL {
        format!("the URL has {characters} characters, and how many the service takes is not documented")
    } else {
        return None;
    };
    Some(match has_keys {
        true => format!("{what}: `get_many` reads keys one by one, `fan_out` asks in parts"),
        false => format!("{what}: ask by several queries"),
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
    notes.extend(access.properties.iter().map(|(name, edm_type)| {
        format!("rows whose `{name}` is not {edm_type}, or that have none, are passed over without a word")
    }));
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
