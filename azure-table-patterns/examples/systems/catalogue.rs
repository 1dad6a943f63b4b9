//! A catalogue of documents: the latest of each package version, scanned in parallel.
//!
//! A crawler reads a long list of documents, in any order and by many workers. Each document describes a version of a
//! package, at the time of its commit. The catalogue keeps the latest one of each version. Other programs then read all
//! of it, in parallel.
//!
//! # Promises
//!
//! - **The latest wins.** An entry is replaced only by a later commit, in whatever order the documents arrive. Two
//!   callers that add entries at the same time never undo each other.
//! - **A conflict is not ours.** After a lost response, a writer finds its own row by the id of the write, and its call
//!   succeeds. An error never blames a conflict that the call itself caused.
//! - **A transaction has one result.** One row with its id shows that a transaction was applied, even if others have
//!   replaced or deleted the rest.
//! - **A scan is exact.** It yields each row of its range that exists throughout once, for every page size and in
//!   parallel. After a crash it continues.
//!
//! # Rows
//!
//! | PartitionKey | RowKey | properties |
//! |---|---|---|
//! | id of the package | version | `Commit`, `Url`, `Write`: the id of the last write |
//!
//! All versions of a package are in one partition, so they are written in batches. Ids are compared by UTF-16 code
//! units, as the service compares them: write them in one case.
//!
//! # Costs
//!
//! | call | requests |
//! |---|---|
//! | [`Catalogue::get`] | 1 |
//! | [`Catalogue::add`] of `n` entries of a package: reads | `n` if `n` ≤ 10, else 1 per 1,000 rows between them |
//! | … writes | 1 per 100 newer entries |
//! | … after a conflict | both again for the entries of its batch |
//! | [`Catalogue::commit`] | 1 |
//! | [`Catalogue::query`], scanned | 1 per page, and about half a page for each further range |
//! | [`Catalogue::copy`] | the requests of the scan, and of `add` for each page |
//! | a lost response to a write | 1 to read back its rows, for up to 1,000 rows between them |
//!
//! Source: NuGet/Insights at 3d26e7ec: `src/Logic/StorageNoOpRetry`, `src/Logic/TablePrefixScan`,
//! `src/Logic/AzureStorage/EntityUpsertStorageService.cs`, and their tests in `test/Logic.Test` and
//! `test/Worker.Logic.Test`.

use std::cell::Cell;
use std::collections::BTreeMap;

use azure_table::batch::MAX_BATCH_OPERATIONS;
use azure_table::query::{Scan, ScanPosition};
use azure_table::{ETag, Error, ErrorKind, Guid, Result, TableClient, TableEntity, TableQuery, Versioned};
use futures::{StreamExt as _, TryStreamExt as _, stream};

/// The number of entries up to which point reads are cheaper than a query, which Storage bills as 18 of them.
const MAX_POINT_READS: usize = 10;
/// The number of reads after which [`Catalogue::add`] gives up on entries that others replace all the time.
const MAX_READS: usize = 5;
/// The number of packages that are written at the same time.
const CONCURRENCY: usize = 16;

/// The latest document of a package version.
#[derive(TableEntity, Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The id of the package.
    #[table(partition_key)]
    pub id: String,
    /// The version.
    #[table(row_key)]
    pub version: String,
    /// The time of the commit, as a number that grows.
    pub commit: i64,
    /// The address of the document.
    pub url: String,
    /// The id of the last write, with which a writer finds its own row after a lost response.
    #[table(write_id)]
    pub write: Option<Guid>,
}

impl Leaf {
    /// Creates an entry.
    pub fn new(id: impl Into<String>, version: impl Into<String>, commit: i64, url: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: version.into(),
            commit,
            url: url.into(),
            write: None,
        }
    }
}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub enum Edit {
    /// The entry must not exist.
    Insert(Leaf),
    /// The stored entry must be the one that was read.
    Replace(Versioned<Leaf>),
}

impl Edit {
    fn into_leaf(self) -> Leaf {
        match self {
            Self::Insert(leaf) => leaf,
            Self::Replace(leaf) => leaf.entity,
        }
    }
}

/// A part of a catalogue, by the ids of its packages.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Each id begins with this text.
    pub prefix: String,
    /// Each id is greater.
    pub after: Option<String>,
    /// Each id is less.
    pub before: Option<String>,
}

/// A catalogue in a table.
#[derive(Clone, Debug)]
pub struct Catalogue {
    table: TableClient<Leaf>,
}

impl Catalogue {
    /// Creates the client of a catalogue.
    pub fn new(table: &TableClient<Leaf>) -> Self {
        Self { table: table.clone() }
    }

    /// Reads an entry with its ETag.
    ///
    /// # Errors
    /// The error of the request.
    pub async fn get(&self, id: &str, version: &str) -> Result<Option<Versioned<Leaf>>> {
        self.table.get((id, version)).versioned().await
    }

    /// Writes all of these entries of one package, or none.
    ///
    /// Returns the new ETag of each. It is `None` if the response was lost and others have written or deleted the entry
    /// since, or short pages hid it.
    ///
    /// # Errors
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists), [`NotFound`](ErrorKind::NotFound),
    ///   [`ConditionNotMet`](ErrorKind::ConditionNotMet): another caller was first. Nothing was written.
    /// - [`InDoubt`](ErrorKind::InDoubt): a response was lost, and others have written or deleted all entries since.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): more than one package, an entry twice, no entry or more than 100.
    pub async fn commit(&self, edits: &[Edit]) -> Result<Vec<Option<ETag>>> {
        let mut batch = self.table.batch();
        for edit in edits {
            match edit {
                Edit::Insert(leaf) => batch.insert(leaf)?,
                Edit::Replace(leaf) => batch.replace(leaf)?,
            };
        }
        let written = batch.submit().await?;
        Ok(written.iter().map(|row| row.etag().cloned()).collect())
    }

    /// Adds entries of any packages. An entry that is stored with the same commit or a later one is left.
    ///
    /// Returns the latest entry of each key as it was during the call, in their order: the given one or a stored one.
    ///
    /// # Errors
    /// The error of a request. Some of the entries may be stored: call it again with all of them. If an entry is in
    /// doubt, the error is too.
    pub async fn add(&self, leaves: impl IntoIterator<Item = Leaf>) -> Result<Vec<Leaf>> {
        let mut packages = BTreeMap::<String, BTreeMap<String, Leaf>>::new();
        for leaf in leaves {
            let versions = packages.entry(leaf.id.clone()).or_default();
            let latest = versions.get(&leaf.version);
            if latest.is_none_or(|latest| latest.commit < leaf.commit) {
                versions.insert(leaf.version.clone(), leaf);
            }
        }
        let has_failed = &Cell::new(false);
        // After an error no further package begins, but those in flight are awaited: a dropped write would have no known
        // outcome.
        let each = packages.into_iter().map(async |(id, versions)| match has_failed.get() {
            true => Ok(Vec::new()),
            false => self
                .add_package(id, versions)
                .await
                .inspect_err(|_| has_failed.set(true)),
        });
        let (mut all, mut latest, mut failed) = (stream::iter(each).buffered(CONCURRENCY), Vec::new(), None::<Error>);
        while let Some(added) = all.next().await {
            match added {
                Ok(leaves) => latest.extend(leaves),
                Err(e) if failed.is_none() || e.may_have_applied() => failed = Some(e),
                Err(_) => {}
            }
        }
        failed.map_or(Ok(latest), Err)
    }

    async fn add_package(&self, id: String, mut versions: BTreeMap<String, Leaf>) -> Result<Vec<Leaf>> {
        let mut latest = BTreeMap::new();
        let mut doubt = None;
        for read in 1.. {
            let mut stored = match self.read(&id, &versions).await {
                Ok(stored) => stored,
                Err(e) => return Err(doubt.unwrap_or(e)),
            };
            let mut edits = Vec::new();
            for (version, leaf) in std::mem::take(&mut versions) {
                match stored.remove(&version) {
                    None => edits.push(Edit::Insert(leaf)),
                    Some(stored) if stored.commit < leaf.commit => {
                        edits.push(Edit::Replace(Versioned { entity: leaf, ..stored }));
                    }
                    Some(stored) => _ = latest.insert(version, stored.entity),
                }
            }
            for batch in edits.chunks(MAX_BATCH_OPERATIONS) {
                let leaves = batch.iter().cloned().map(Edit::into_leaf);
                let leaves = leaves.map(|leaf| (leaf.version.clone(), leaf));
                match self.commit(batch).await {
                    Ok(_) => latest.extend(leaves),
                    Err(e) if read < MAX_READS && is_decided_by_a_read(&e) => {
                        versions.extend(leaves);
                        doubt = doubt.or(Some(e).filter(Error::may_have_applied));
                    }
                    Err(e) => return Err(doubt.unwrap_or(e)),
                }
            }
            if versions.is_empty() {
                break;
            }
        }
        Ok(latest.into_values().collect())
    }

    /// Reads the stored entries of these versions.
    async fn read(&self, id: &str, versions: &BTreeMap<String, Leaf>) -> Result<BTreeMap<String, Versioned<Leaf>>> {
        let by_code_units = |a: &&String, b: &&String| a.encode_utf16().cmp(b.encode_utf16());
        let (first, last) = (
            versions.keys().min_by(by_code_units),
            versions.keys().max_by(by_code_units),
        );
        let rows = match (first, last) {
            (Some(first), Some(last)) if versions.len() > MAX_POINT_READS => {
                let between = self
                    .table
                    .query()
                    .partition(id)
                    .filter(Leaf::VERSION.between(first, last));
                between.versioned().all().await?
            }
            _ => {
                let keys = versions.keys().map(|version| (id, version));
                let reads = self.table.get_many(keys).versioned();
                reads.try_filter_map(|(_, row)| async { Ok(row) }).try_collect().await?
            }
        };
        Ok(rows.into_iter().map(|row| (row.version.clone(), row)).collect())
    }

    /// Selects entries, to be [scanned](TableQuery::scan) in parallel.
    ///
    /// - `scan().stream()` yields the entries. Its pages are segments, each with a position to resume from.
    /// - `scan().partition_keys()` yields the id of each package once.
    /// - `project` before the scan reads some of the properties.
    pub fn query(&self, selection: &Selection) -> TableQuery<Leaf> {
        let mut query = self.table.query().filter(Leaf::ID.starts_with(&selection.prefix));
        if let Some(after) = &selection.after {
            query = query.filter(Leaf::ID.gt(after));
        }
        if let Some(before) = &selection.before {
            query = query.filter(Leaf::ID.lt(before));
        }
        query
    }

    /// Copies the entries of a scan, and calls `store` with the position after each segment. Returns their number.
    ///
    /// To continue after a crash, pass the stored position to [`Scan::resume_from`]. At most one segment for each range
    /// in progress is copied again, which changes nothing.
    ///
    /// # Errors
    /// The first error of a request or of `store`.
    pub async fn copy(
        &self,
        scan: Scan<Leaf>,
        to: &Self,
        mut store: impl FnMut(&ScanPosition) -> Result<()>,
    ) -> Result<usize> {
        let mut rows = scan.stream();
        let mut count = 0;
        while let Some(segment) = rows.try_next_page().await? {
            count += segment.len();
            to.add(segment).await?;
            store(rows.position())?;
        }
        Ok(count)
    }
}

/// Returns `true` for an error after which the stored entries show what is left to do.
///
/// A write in doubt is conditional, so a late one changes nothing that was written since.
fn is_decided_by_a_read(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet | ErrorKind::InDoubt
    )
}
