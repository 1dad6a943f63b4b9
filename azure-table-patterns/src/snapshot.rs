//! Rows of several pages from one moment: they are read between two reads of one row.
//!
//! `fence.rs` and `revision.rs` share this check. It compares the ETag of that row, which the service assigns. A
//! version inside the row would not suffice: a batch in doubt may be applied twice, with another batch in between.

use azure_table::{CallOptions, Column, ETag, Error, LocationMode, ReadEntity, Result, TableClient, TableEntity};
use azure_table::{Key, TableQuery, filter::InKey};

/// The default number of transactions that one call tolerates.
pub(super) const CONFLICTS: u32 = 16;

/// A row that each transaction of its partition writes.
pub(super) trait VersionRow {
    /// Reads the row again. Returns its ETag, or `None` if it does not exist.
    async fn read(&mut self) -> Result<Option<ETag>>;
}

/// The rows to read together with one row, until no transaction interrupts the read.
pub(super) struct Rows<E, P> {
    query: TableQuery<E, P>,
    keys: (String, String),
    conflicts: u32,
}

impl<E: TableEntity, P> Rows<E, P> {
    /// Selects the rows of the query that are in the partition of this key, without the row of the key itself.
    ///
    /// # Errors
    /// - `InvalidInput`: the query is of another table, or begins at a continuation.
    pub(super) fn beside<H: TableEntity + ReadEntity>(
        table: &TableClient<H>,
        key: &Key<H>,
        query: TableQuery<E, P>,
        conflicts: u32,
    ) -> Result<Self> {
        let partition = Column::<E, String, InKey>::partition_key().eq(key.partition_key());
        let others = Column::<E, String, InKey>::row_key().ne(key.row_key());
        let primary = CallOptions::new().location_mode(LocationMode::PrimaryOnly);
        let query = query.filter(partition & others).with(&primary);
        // Shows a query, because a read of the header may be sent as a batch.
        let own = table.query().allow_table_scan().request_text()?;
        let request = query.clone().request_text()?;
        let is_same = table
            .settings()
            .profile()
            .is_same_table(table_address(&own), table_address(&request));
        if !is_same || request.contains("NextPartitionKey=") {
            return Err(Error::invalid_input(format!(
                "a snapshot reads the table {} from its first row on: create the query with a client of this table, and \
                 without `resume_from`",
                table.name()
            )));
        }
        Ok(Self {
            query,
            keys: (key.partition_key().to_owned(), key.row_key().to_owned()),
            conflicts,
        })
    }

    /// Reads the rows until no transaction wrote `row` meanwhile.
    ///
    /// # Errors
    /// - `Contention`: transactions interrupted more reads than allowed.
    pub(super) async fn read(self, row: &mut impl VersionRow) -> Result<Vec<P>> {
        let first = row.read().await?;
        let mut before = first.clone();
        let mut changes = 0;
        loop {
            let rows = self.query.clone().all().await?;
            let after = row.read().await?;
            if after == before {
                return Ok(rows);
            }
            changes += 1;
            if changes > self.conflicts {
                return Err(self.interrupted(changes, first, after));
            }
            before = after;
        }
    }

    fn interrupted(&self, changes: u32, first: Option<ETag>, last: Option<ETag>) -> Error {
        let ((partition_key, row_key), most) = (&self.keys, self.conflicts);
        let shown = |version: Option<ETag>| version.map_or("absent".to_owned(), |etag| etag.to_string());
        Error::contention(format!(
            "no snapshot: the row ({partition_key:?}, {row_key:?}) changed during each of {changes} reads, from {} to {}; \
             `max_conflicts` is {most}: raise it, or select fewer rows",
            shown(first),
            shown(last)
        ))
    }
}

/// Returns the address of the table in the text of a request: the first line, up to the keys.
fn table_address(request: &str) -> &str {
    request.split(['(', '\n']).next().unwrap_or_default()
}
