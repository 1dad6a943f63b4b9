//! The members of a cluster, and the version of their table: the layout of Orleans' membership table.
//!
//! A cluster agrees on its members through one partition. Each process (a *silo*) has a row, and one row has the
//! version of the whole table. A silo reads the table, decides, and writes a row under the version that it read.
//!
//! **Promise.**
//!
//! - Every insert and update moves the version by one. A write under an older version is rejected, whatever row it
//!   changes.
//! - A [`View`] has all silos as they were at one moment, in any number of pages. Reads that lag, at the weaker levels
//!   of consistency of Cosmos DB, may mix moments.
//! - [`report_alive`](Membership::report_alive) does not move the version, so heartbeats delay no update.
//! - Writers of an older layout, without boundary rows, may take part: no read of theirs or ours fails.
//!
//! # Rows
//!
//! | PartitionKey | RowKey | properties |
//! |---|---|---|
//! | cluster | `!Start` | `MembershipVersion`, `Status` = `Active` |
//! | cluster | address`-`port`-`generation | a [`Silo`] |
//! | cluster | `VersionRow` | `MembershipVersion`, `Write` |
//! | cluster | `~End` | as `!Start` |
//!
//! The version row is the header of a [`Fence`]: each batch replaces it under the ETag that its writer read. The
//! boundary rows sort before and after all others, and every batch writes the new version into both. If they are
//! equal, no batch was applied between the first page and the last. Their `Status` keeps them from a cleanup that
//! does not know them. Cosmos DB returns rows in the order of insertion, where they show nothing: there a view also
//! compares the ETags of the version row before and after.
//!
//! Equal versions suffice here because the header guards them: no version is written twice. Without a guard they would
//! not, see [`Revision`](azure_table_patterns::Revision).
//!
//! # Cost
//!
//! | call | requests | entities |
//! |---|---|--:|
//! | [`init`](Membership::init) | Batch | 3 |
//! | [`read_all`](Membership::read_all), [`read`](Membership::read) | a Query per page, for up to five reads | all |
//! | [`insert`](Membership::insert), [`update`](Membership::update) | Batch | 4 |
//! | [`report_alive`](Membership::report_alive) | Merge | 1 |
//! | [`gateways`](Membership::gateways) | a Query per page | gateways |
//! | [`remove_defunct`](Membership::remove_defunct) | a Query per page, a Batch per 100 rows | deleted |
//! | [`delete`](Membership::delete) | the same | deleted |
//!
//! On Cosmos DB, each read of a view takes two Gets more. A lost response costs one more read: the write id of the
//! version row shows whether the batch was applied.
//!
//! Source: dotnet/orleans at `e558829b`, `src/Azure/Orleans.Clustering.AzureStorage`: `AzureBasedMembershipTable.cs`,
//! `OrleansSiloInstanceManager.cs`, `SiloInstanceTableEntry.cs`.

mod row;

use azure_table::filter::InKey;
use azure_table::{
    CallOptions, Column, DateTime, ErrorKind, Key, Result, TableClient, TableEntity, TableOperation, TableQuery,
};
use azure_table::{ETag, Error, LocationMode, Profile, Versioned};
use azure_table_patterns::Fence;

use self::row::{Bound, End, Row, Start, VersionRow};
pub use self::row::{Silo, Status};

/// The reads of a view that transactions may interrupt, before it fails.
pub const MAX_READS: usize = 5;

/// The version of a membership table, as it was read: a number, and the ETag that guards the next write.
#[derive(Clone, Debug, PartialEq)]
pub struct TableVersion(Versioned<VersionRow>);

impl TableVersion {
    /// Returns the number of inserts and updates so far.
    pub fn number(&self) -> i32 {
        self.0.number
    }
}

/// The silos of a cluster and the version of their table, from one moment.
#[derive(Clone, Debug)]
pub struct View {
    /// The version.
    pub version: TableVersion,
    /// The silos in the order of their RowKeys.
    pub silos: Vec<Versioned<Silo>>,
}

/// The membership table of a cluster.
#[derive(Clone, Debug)]
pub struct Membership {
    table: TableClient,
    cluster: String,
    page_size: usize,
}

impl Membership {
    /// Creates a handle to the partition of a cluster. It sends nothing.
    pub fn new<E: TableEntity>(table: &TableClient<E>, cluster: impl Into<String>) -> Self {
        Self {
            table: table.typed(),
            cluster: cluster.into(),
            page_size: 1_000,
        }
    }

    /// Sets the number of rows per page: 1,000 by default.
    #[must_use]
    pub fn page_size(mut self, rows: usize) -> Self {
        self.page_size = rows;
        self
    }

    /// Inserts version 0, unless the cluster has a version. Returns `true` if it was inserted.
    ///
    /// # Errors
    /// - The errors of a batch.
    pub async fn init(&self) -> Result<bool> {
        let new = VersionRow::new(&self.cluster);
        let fence = Fence::with_new_header(&self.table.typed(), new);
        self.write(fence, 0, None).await
    }

    /// Reads all silos.
    ///
    /// # Errors
    /// - [`Contention`](ErrorKind::Contention): a transaction interrupted each of [`MAX_READS`] reads. The
    ///   error has the version before and after the last of them.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the cluster has no version.
    /// - The errors of a query.
    pub async fn read_all(&self) -> Result<View> {
        self.view(self.rows().query()).await
    }

    /// Reads one silo with the version. The view is empty if the silo does not exist.
    ///
    /// # Errors
    /// - The errors of [`read_all`](Self::read_all).
    pub async fn read(&self, silo: &Silo) -> Result<View> {
        let key = Key::of(silo)?;
        let row_keys = [row::START, key.row_key(), row::VERSION, row::END];
        let query = self.rows().query();
        self.view(query.filter(Column::<Row, String, InKey>::row_key().is_in(row_keys)))
            .await
    }

    /// Inserts a silo and moves the version. Returns `false` if the version has moved, or the silo exists.
    ///
    /// # Errors
    /// - [`InDoubt`](ErrorKind::InDoubt): the batch may have been applied. Read the view again.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the silo is of another cluster.
    /// - The errors of a batch.
    pub async fn insert(&self, silo: &Silo, version: &TableVersion) -> Result<bool> {
        self.write_silo(TableOperation::insert(silo), version).await
    }

    /// Replaces a silo and moves the version. Returns `false` if the version has moved, or the silo has changed.
    ///
    /// A heartbeat changes a silo too: read it again.
    ///
    /// # Errors
    /// - The errors of [`insert`](Self::insert).
    pub async fn update(&self, silo: &Versioned<Silo>, version: &TableVersion) -> Result<bool> {
        self.write_silo(TableOperation::replace(silo), version).await
    }

    /// Sets the time at which a silo was alive, without moving the version.
    ///
    /// # Errors
    /// - [`NotFound`](ErrorKind::NotFound): the silo does not exist.
    /// - The errors of a patch.
    pub async fn report_alive(&self, silo: &Silo, at: DateTime) -> Result<()> {
        let silos = self.table.typed::<Silo>();
        silos.patch(Key::of(silo)?, Silo::I_AM_ALIVE_TIME.set(at)).await?;
        Ok(())
    }

    /// Reads the active silos with a gateway: a proxy port.
    ///
    /// # Errors
    /// - The errors of a query.
    pub async fn gateways(&self) -> Result<Vec<Silo>> {
        let is_gateway = Silo::STATUS.eq(Status::Active) & Silo::PROXY_PORT.gt(0);
        self.silos().filter(is_gateway).all().await
    }

    /// Deletes the silos that are not active and were last written before a time. Returns their number.
    ///
    /// The version stays, as the deleted rows decide nothing any more.
    ///
    /// # Errors
    /// - The errors of [`delete_where`](TableClient::delete_where), and of a row that it left, such as one that was
    ///   written meanwhile.
    /// - [`Unsupported`](azure_table::ErrorKind::Unsupported): on Cosmos DB, whose filters find no row by its
    ///   Timestamp.
    pub async fn remove_defunct(&self, before: DateTime) -> Result<u64> {
        let is_defunct = Silo::STATUS.ne(Status::Active) & Column::timestamp().lt(before);
        let defunct = self.silos().without_row_keys(row::VERSION).filter(is_defunct);
        let report = self.table.typed::<Silo>().delete_where(defunct).await?;
        report.ensure_no_leftovers()?;
        Ok(report.applied())
    }

    /// Deletes all rows of the cluster. Returns their number.
    ///
    /// # Errors
    /// - The errors of [`delete_where`](TableClient::delete_where), and of a row that it left: call it again.
    pub async fn delete(&self) -> Result<u64> {
        let rows = self.rows();
        let report = rows.delete_where(rows.query().partition(self.cluster.as_str())).await?;
        report.ensure_no_leftovers()?;
        Ok(report.applied())
    }

    fn rows(&self) -> TableClient<Row> {
        self.table.typed()
    }

    fn silos(&self) -> TableQuery<Silo> {
        let silos = self.table.typed::<Silo>().query();
        silos.partition(self.cluster.as_str()).page_size(self.page_size)
    }

    /// Reads the rows of a query in this partition until no transaction interrupts the read.
    async fn view(&self, query: TableQuery<Row>) -> Result<View> {
        let query = query
            .partition(self.cluster.as_str())
            .page_size(self.page_size)
            .with(&CallOptions::new().location_mode(LocationMode::PrimaryOnly))
            .versioned();
        let mut bounds = (None, None);
        for _ in 0..MAX_READS {
            let before = self.guard().await?;
            type Rows = (
                Option<Versioned<Start>>,
                Vec<Versioned<Silo>>,
                Option<Versioned<VersionRow>>,
                Option<Versioned<End>>,
            );
            let (start, silos, version, end): Rows = query.clone().gather().await?;
            let version = version.ok_or_else(|| self.without_version())?;
            bounds = (start.map(|row| row.bound.number), end.map(|row| row.bound.number));
            if is_from_one_moment(bounds, version.number) && before == self.guard().await? {
                let version = TableVersion(version);
                return Ok(View { version, silos });
            }
        }
        Err(self.interrupted(bounds))
    }

    /// Returns the ETag of the version row on Cosmos DB, whose first page may have both boundary rows.
    async fn guard(&self) -> Result<Option<ETag>> {
        if self.table.settings().profile() != Profile::Cosmos {
            return Ok(None);
        }
        let version = self.table.typed::<VersionRow>().get((&self.cluster,));
        let version = version
            .with(&CallOptions::new().location_mode(LocationMode::PrimaryOnly))
            .versioned();
        Ok(version.await?.map(|row| row.etag))
    }

    async fn write_silo(&self, operation: TableOperation, version: &TableVersion) -> Result<bool> {
        let fence = Fence::with_header(&self.table.typed(), version.0.clone());
        self.write(fence, version.number() + 1, Some(operation)).await
    }

    /// Writes the version, both boundary rows and possibly a silo. Returns `false` after a conflict.
    async fn write(&self, fence: Fence<VersionRow>, number: i32, mut silo: Option<TableOperation>) -> Result<bool> {
        let change = |version: &mut VersionRow| {
            version.number = number;
            let mut operations = Vec::from(Bound::operations(&self.cluster, number));
            operations.extend(silo.take());
            Ok(operations)
        };
        match fence.max_conflicts(0).transact(change).await {
            Ok(()) => Ok(true),
            Err(e) if is_conflict(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn without_version(&self) -> Error {
        Error::invalid_input(format!(
            "the cluster {:?} has no version row: call `init` first",
            self.cluster
        ))
    }

    fn interrupted(&self, (before, after): (Option<i32>, Option<i32>)) -> Error {
        let shown = |version: Option<i32>| version.map_or("absent".to_owned(), |number| number.to_string());
        Error::contention(format!(
            "no view of the cluster {:?}: updates interrupted each of {MAX_READS} reads, the last from version {} to \
             {}; read it again later",
            self.cluster,
            shown(before),
            shown(after)
        ))
    }
}

/// Returns `true` if the boundary rows show no transaction between the first page and the last.
///
/// A version ahead of both is of a writer without boundary rows. Its writes are not noticed: during an upgrade a
/// torn view is better than none.
fn is_from_one_moment(bounds: (Option<i32>, Option<i32>), version: i32) -> bool {
    match bounds {
        (Some(before), Some(after)) => before == after || version > before.max(after),
        (before, after) => before == after,
    }
}

/// Returns `true` if a row of the batch has changed since it was read, and nothing was written.
fn is_conflict(error: &Error) -> bool {
    let is_conflict = matches!(
        error.kind(),
        ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists | ErrorKind::NotFound
    );
    is_conflict && error.batch_index().is_some()
}
