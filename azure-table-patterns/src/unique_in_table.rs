//! Values that at most one entity of a table has, in any partition.
//!
//! Defines [`UniqueInTable`], the rows of its values and their claims. For values within one partition, declare a
//! unique index (`indexed.rs`).

use std::time::Duration;

use azure_table::entity::Row;
use azure_table::telemetry::OperationContext;
use azure_table::{
    CallOptions, DateTime, Error, ErrorKind, Guid, Key, ReadEntity, Result, TableClient, TableEntity, TableOperation,
    TableQuery, Versioned,
};

use super::conflict::{Rounds, is_conflict, on_primary, was_unchanged, written};
use super::term::{Term, service_time};

/// A second key for the entities of a table, in all its partitions. Within one partition, a `unique` index of
/// [`Indexed`](super::Indexed) takes one request instead of three.
///
/// **Promise.** At most one entity of the table has a value, whatever the clocks of the machines show. No transaction
/// spans two partitions, so the value is first reserved, then confirmed in the transaction that writes its entity.
/// Where reads may lag, as with the weaker consistency levels of Cosmos DB, a write shows that a value is free, and a
/// value that was freed shortly before may still be taken.
///
/// A value has two rows. One is in the partition of its entity, with the RowKey `{prefix}{value}`: choose a prefix that
/// no entity's RowKey begins with. The other, its claim, is in a second table, in a partition of its own: the
/// PartitionKey is the value, the RowKey the table's name and the prefix. A value must therefore be valid in both keys.
///
/// [`query`](Self::query) excludes the rows of values. Every other query selects them as well: such a row is an error
/// for most types, and an entity for a type with optional fields only. [`delete_where`](TableClient::delete_where) over
/// [`query`](Self::query) leaves values without an entity: they stay taken.
///
/// All writes that change the value must use this type. Pass the stored value to `delete` and `replace`: they reject
/// that of another entity. Where reads may lag, they do not notice an entity of the same partition that takes the value
/// between the read and the write, and free it.
///
/// **Cost.** Three requests for a free value. A value whose last writer crashed takes up to six more, on
/// Cosmos DB eight.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `insert` | Insert, Insert, Batch | 4 |
/// | `insert`, value is taken | Insert, Insert, Get, Get, Delete | 5 |
/// | `find` | Get, Get | 2 |
/// | `replace`, same value | Replace | 1 |
/// | `replace`, new value | Get, Insert, Insert, Get, Batch, Delete | 8 |
/// | `delete` | Get, Get, Batch, Delete | 5 |
///
/// **Crash.** A value that was reserved and not confirmed stays reserved for the [reservation
/// time](Self::reservation_time), by the service's clock. Then the next insert takes it. A writer that was only slow
/// finds its reservation gone, and writes nothing. [`repair`](Self::repair) deletes the rows of values that nobody uses
/// again.
///
/// ```
/// use azure_table_patterns::UniqueInTable;
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
///
/// #[derive(TableEntity)]
/// struct User {
///     #[table(partition_key)]
///     tenant: String,
///     #[table(row_key)]
///     id: String,
///     mail: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let (users, claims) = (service.table::<User>("Users")?, service.dynamic_table("Claims")?);
/// users.create_table().await?;
/// claims.create_table().await?;
/// let mails = UniqueInTable::new(&users, &claims, "~mail;");
///
/// let ada = User { tenant: "a".into(), id: "1".into(), mail: "ada@example.com".into() };
/// assert!(mails.insert(&ada, &ada.mail).await?);
/// let eve = User { tenant: "b".into(), id: "1".into(), mail: "ada@example.com".into() };
/// assert!(!mails.insert(&eve, &eve.mail).await?, "the value is taken");
/// let owner = mails.find("ada@example.com").await?.expect("it has an owner");
/// assert_eq!((owner.partition_key(), owner.row_key()), ("a", "1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct UniqueInTable<E> {
    entities: TableClient<E>,
    claims: TableClient<ClaimRow>,
    prefix: String,
    /// The RowKey of the claims.
    claim_key: String,
    reservation: Term,
}

/// The row of a value, in the partition of its entity. While it is reserved, its Timestamp is the start of the
/// reservation.
#[derive(TableEntity, Clone, Debug, Default)]
struct ValueRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    value: String,
    /// The RowKey of the entity that has or will have the value.
    #[table(rename = "Owner")]
    owner: String,
    #[table(rename = "Confirmed")]
    is_confirmed: bool,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

/// The claim of a value: the location of its row. Without that row the claim has no effect.
#[derive(TableEntity, Clone, Debug)]
struct ClaimRow {
    #[table(partition_key)]
    value: String,
    /// The table of the entities, and the prefix.
    #[table(row_key)]
    of: String,
    /// The PartitionKey of the row of the value.
    #[table(rename = "Partition")]
    partition: String,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

/// The maximum number of rounds of a loop that ends when the row that a read returns is the stored one. Their waits
/// take about a minute.
const MAX_ROUNDS: u32 = 64;

/// A reserved value: its row and its claim, as written.
struct Reservation {
    row: Versioned<ValueRow>,
    claim: Versioned<ClaimRow>,
}

impl<E: TableEntity> UniqueInTable<E> {
    /// Creates a handle to the second key of a table's entities. The RowKeys of values begin with `prefix`; their
    /// claims are in `claims`.
    ///
    /// Several tables and prefixes can share a table of claims, except tables on Cosmos DB whose names differ only in
    /// case.
    pub fn new<C: TableEntity>(entities: &TableClient<E>, claims: &TableClient<C>, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        Self {
            entities: on_primary(entities),
            claims: on_primary(&claims.typed()),
            claim_key: format!("{};{prefix}", escaped(entities.name().as_str())),
            prefix,
            reservation: Term::new(Duration::from_secs(60)),
        }
    }

    /// Sets the time after which a value may be taken from a writer that did not confirm it: one minute by default.
    ///
    /// The promise holds for any time. A writer that takes longer writes nothing.
    #[must_use]
    pub fn reservation_time(mut self, time: Duration) -> Self {
        self.reservation = Term::new(time);
        self
    }

    /// Returns a query for the entities, without the rows of values. It reads the primary location.
    ///
    /// Exclude the prefixes of other values with [`without_row_keys`](TableQuery::without_row_keys).
    pub fn query(&self) -> TableQuery<E>
    where
        E: ReadEntity,
    {
        self.entities.query().without_row_keys(&self.prefix)
    }

    /// Inserts the entity with its value. Returns `false`, and writes nothing, if an entity has the value, or another
    /// one has reserved it.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the entity's RowKey begins with the prefix of values.
    /// - [`AlreadyExists`](azure_table::ErrorKind::AlreadyExists): the entity's own key exists.
    /// - [`Contention`](azure_table::ErrorKind::Contention): reads did not return the stored rows of the value for a
    ///   minute. The entity was not written, and the value may stay reserved as below.
    /// - The errors of [`insert`](TableClient::insert). The value may be reserved for its
    ///   [time](Self::reservation_time). Call [`find`](Self::find) before you retry: this entity may have the value.
    pub async fn insert(&self, entity: &E, value: &str) -> Result<bool> {
        let (key, prefix) = (Key::of(entity)?, &self.prefix);
        if key.row_key().starts_with(prefix) {
            let why = format!("the RowKey of {key} begins with {prefix:?}, as rows of values do");
            return Err(Error::invalid_input(why));
        }
        match self.reserve(&key, value).await? {
            Some(reserved) => self.confirm(reserved, vec![TableOperation::insert(entity)]).await,
            None => Ok(false),
        }
    }

    /// Replaces the entity, whose value changes from `old` to `new`. Returns `false`, and writes nothing, if an entity
    /// has the new value or another one has reserved it.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): another entity has the old value, or had it where
    ///   reads may lag.
    /// - [`ConditionNotMet`](azure_table::ErrorKind::ConditionNotMet): the entity has changed since it was read.
    /// - [`NotFound`](azure_table::ErrorKind::NotFound): the entity was deleted, or has no row for the old value,
    ///   for example because another call has changed it.
    /// - [`Contention`](azure_table::ErrorKind::Contention): see [`insert`](Self::insert).
    /// - The errors of [`replace`](TableClient::replace). The new value may be reserved for its
    ///   [time](Self::reservation_time).
    pub async fn replace(&self, entity: &Versioned<E>, old: &str, new: &str) -> Result<bool> {
        if old == new {
            return self.entities.replace(entity).await.map(|_| true);
        }
        let key = Key::of(entity)?;
        let row = self.delete_row(&key, old).await?;
        let Some(reserved) = self.reserve(&key, new).await? else {
            return Ok(false);
        };
        let freed = self.claim_of(old).await?;
        let is_written = self
            .confirm(reserved, vec![TableOperation::replace(entity), row])
            .await?;
        if is_written {
            self.free(freed).await;
        }
        Ok(is_written)
    }

    /// Deletes the entity and frees its value.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): another entity has the value, or had it where reads
    ///   may lag.
    /// - [`ConditionNotMet`](azure_table::ErrorKind::ConditionNotMet): the entity has changed since it was read.
    /// - [`NotFound`](azure_table::ErrorKind::NotFound): the entity was deleted, or has no row for the value, for
    ///   example because another call has changed it.
    pub async fn delete(&self, entity: &Versioned<E>, value: &str) -> Result<()> {
        let row = self.delete_row(&Key::of(entity)?, value).await?;
        let freed = self.claim_of(value).await?;
        let mut batch = self.entities.batch();
        batch.push(TableOperation::delete::<E>(entity))?;
        batch.push(row)?;
        batch.submit().await?;
        self.free(freed).await;
        Ok(())
    }

    /// Returns the key of the entity with a value.
    ///
    /// # Errors
    /// - The errors of [`get`](TableClient::get).
    pub async fn find(&self, value: &str) -> Result<Option<Key<E>>> {
        let Some(claim) = self.claim_of(value).await? else {
            return Ok(None);
        };
        let (row, _) = self.row_of(&claim.partition, value).await?;
        match row.filter(|row| row.is_confirmed) {
            Some(row) => Key::from_text(&row.partition, &row.owner).map(Some),
            None => Ok(None),
        }
    }

    /// Deletes the rows that interrupted writers left: expired reservations, and claims of values that no entity has.
    /// Returns the number of deleted rows.
    ///
    /// It can run concurrently with all other calls, and reads both tables completely. The promise does not depend on
    /// it.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): see [`insert`](Self::insert).
    /// - The errors of [`query`](TableClient::query) and [`delete`](TableClient::delete). Completed deletes are not
    ///   undone.
    pub async fn repair(&self) -> Result<u64> {
        let mut deleted = 0;
        let claims = self.claims.query().filter(ClaimRow::OF.eq(self.claim_key.as_str()));
        let mut claims = claims.allow_table_scan().resolve(claim).stream();
        while let Some(claim) = claims.try_next().await? {
            if self.is_free(&claim.partition, &claim.value).await? {
                deleted += u64::from(was_unchanged(self.claims.delete(&claim).await)?.is_some());
            }
        }
        let context = OperationContext::new();
        let recorded = CallOptions::new().context(&context);
        let rows = self.entities.typed::<ValueRow>();
        let reserved = ValueRow::VALUE.starts_with(&self.prefix) & ValueRow::IS_CONFIRMED.eq(false);
        let reserved = rows.query().filter(reserved).allow_table_scan().versioned();
        let mut reserved = reserved.prefetch(0).with(&recorded).stream();
        while let Some(row) = reserved.try_next().await? {
            if self.reservation.is_over(&row, service_time(&context)) {
                deleted += u64::from(was_unchanged(rows.delete(&row).await)?.is_some());
            }
        }
        Ok(deleted)
    }

    /// Reserves a value for the entity with this key. Returns `None` if it is taken.
    async fn reserve(&self, key: &Key<E>, value: &str) -> Result<Option<Reservation>> {
        // Writes the row before the claim, so that a claim without its row shows that no writer will confirm it.
        let Some(row) = self.reserve_row(key, value).await? else {
            return Ok(None);
        };
        match self.claim(&row, value).await? {
            Some(claim) => Ok(Some(Reservation { row, claim })),
            None => {
                // If this fails, the reservation expires after its time.
                let _ = self.entities.typed::<ValueRow>().delete(&row).await;
                Ok(None)
            }
        }
    }

    /// Writes the row of a value, unconfirmed. Returns `None` if the partition has the value.
    async fn reserve_row(&self, key: &Key<E>, value: &str) -> Result<Option<Versioned<ValueRow>>> {
        let rows = self.entities.typed::<ValueRow>();
        let row = self.value_row(key.partition_key(), value, key.row_key());
        let mut rounds = Rounds::new(MAX_ROUNDS);
        loop {
            rounds.next(&value).await?;
            if let Some(etag) = rows.insert_if_not_exists(&row).await? {
                return Ok(Some(written(row, etag)));
            }
            match self.row_of(key.partition_key(), value).await? {
                (None, _) => {}
                // Expired, or reserved for this entity by an earlier call.
                (Some(old), now) if !old.is_confirmed && (old.owner == row.owner || self.is_over(&old, now)) => {
                    let old = Versioned {
                        entity: row.clone(),
                        ..old
                    };
                    if let Some(etag) = was_unchanged(rows.replace(&old).await)? {
                        return Ok(Some(written(row, etag)));
                    }
                }
                (Some(_), _) => return Ok(None),
            }
        }
    }

    /// Points the claim of a value to its row. Returns `None` if it points to another valid row.
    async fn claim(&self, row: &ValueRow, value: &str) -> Result<Option<Versioned<ClaimRow>>> {
        let claim = ClaimRow {
            value: value.to_owned(),
            of: self.claim_key.clone(),
            partition: row.partition.clone(),
            write: None,
        };
        let mut rounds = Rounds::new(MAX_ROUNDS);
        loop {
            rounds.next(&value).await?;
            if let Some(etag) = self.claims.insert_if_not_exists(&claim).await? {
                return Ok(Some(written(claim, etag)));
            }
            let Some(old) = self.claim_of(value).await? else {
                continue;
            };
            if old.partition != row.partition && !self.is_free(&old.partition, value).await? {
                return Ok(None);
            }
            // Written even if it points here: a writer that read it before this row existed must not replace it.
            let old = Versioned {
                entity: claim.clone(),
                ..old
            };
            if let Some(etag) = was_unchanged(self.claims.replace(&old).await)? {
                return Ok(Some(written(claim, etag)));
            }
        }
    }

    /// Returns `true` if the partition neither has nor reserves the value. Deletes an expired reservation.
    async fn is_free(&self, partition_key: &str, value: &str) -> Result<bool> {
        let rows = self.entities.typed::<ValueRow>();
        let mut rounds = Rounds::new(MAX_ROUNDS);
        loop {
            rounds.next(&value).await?;
            let (row, now) = self.row_of(partition_key, value).await?;
            let Some(row) = row else {
                return self.is_absent(partition_key, value).await;
            };
            if row.is_confirmed || !self.is_over(&row, now) {
                return Ok(false);
            }
            // The writer may merely be slow. Without the row it cannot confirm.
            if was_unchanged(rows.delete(&row).await.map(|()| row.etag))?.is_some() {
                return Ok(true);
            }
        }
    }

    /// Returns `true` if a reservation has expired, or is a leftover of [`is_absent`](Self::is_absent), for no entity.
    fn is_over(&self, row: &Versioned<ValueRow>, now: Option<DateTime>) -> bool {
        let is_of_none = row.owner.is_empty() && self.entities.settings().profile().reads_may_lag();
        is_of_none || self.reservation.is_over(row, now)
    }

    /// Returns `true` if the row of a value that a read did not find is absent. Where reads may lag, inserting a
    /// reservation for no entity decides.
    async fn is_absent(&self, partition_key: &str, value: &str) -> Result<bool> {
        let rows = self.entities.typed::<ValueRow>();
        if !rows.settings().profile().reads_may_lag() {
            return Ok(true);
        }
        let row = self.value_row(partition_key, value, "");
        let Some(etag) = rows.insert_if_not_exists(&row).await? else {
            return Ok(false);
        };
        // If this fails, the reservation expires after its time.
        let _ = rows.delete(&written(row, etag)).await;
        Ok(true)
    }

    /// Confirms a reserved value, in one transaction with the operations. Returns `false` if the reservation is gone.
    async fn confirm(&self, mut reserved: Reservation, operations: Vec<TableOperation>) -> Result<bool> {
        reserved.row.entity.is_confirmed = true;
        let mut batch = self.entities.batch();
        batch.push(TableOperation::replace(&reserved.row))?;
        for operation in operations {
            batch.push(operation)?;
        }
        match batch.submit().await {
            Ok(_) => Ok(true),
            Err(e) if e.may_have_applied() => Err(e),
            Err(e) if e.batch_index() == Some(0) && is_conflict(&e) => Ok(false),
            Err(e) => {
                // If this fails, the reservation expires after its time.
                let _ = self.entities.typed::<ValueRow>().delete(&reserved.row).await;
                self.free(Some(reserved.claim)).await;
                Err(e)
            }
        }
    }

    fn value_row(&self, partition: &str, value: &str, owner: &str) -> ValueRow {
        ValueRow {
            partition: partition.to_owned(),
            value: format!("{}{value}", self.prefix),
            owner: owner.to_owned(),
            ..ValueRow::default()
        }
    }

    async fn row_of(&self, partition: &str, value: &str) -> Result<(Option<Versioned<ValueRow>>, Option<DateTime>)> {
        let context = OperationContext::new();
        let recorded = CallOptions::new().context(&context);
        let key = Key::of(&self.value_row(partition, value, ""))?;
        let rows = self.entities.typed::<ValueRow>();
        let row = rows.get(key).versioned().with(&recorded).await?;
        Ok((row, service_time(&context)))
    }

    async fn claim_of(&self, value: &str) -> Result<Option<Versioned<ClaimRow>>> {
        self.claims.get((value, &self.claim_key)).resolve(claim).await
    }

    /// Deletes a claim that was read before its row was deleted. A claim that was written later belongs to another
    /// writer.
    async fn free(&self, claim: Option<Versioned<ClaimRow>>) {
        if let Some(claim) = claim {
            // A claim without its row has no effect, so a failure does no harm.
            let _ = self.claims.delete(&claim).await;
        }
    }

    /// Returns the delete of the row of an entity's value, as it is stored.
    async fn delete_row(&self, key: &Key<E>, value: &str) -> Result<TableOperation> {
        let (partition_key, row_key) = (key.partition_key(), key.row_key());
        match self.row_of(partition_key, value).await?.0 {
            Some(row) if row.owner != row_key => {
                let why = format!("the value {value:?} is that of {:?}, not of {row_key:?}", row.owner);
                Err(Error::invalid_input(why))
            }
            Some(row) => Ok(TableOperation::delete::<ValueRow>(&row)),
            None if !self.entities.settings().profile().reads_may_lag() => {
                let why = format!("{key} has no row for the value {value:?}");
                Err(Error::new(ErrorKind::NotFound, why))
            }
            // The read may be late: the batch decides.
            None => {
                let absent = self.value_row(partition_key, value, "");
                Ok(TableOperation::delete::<ValueRow>(&absent))
            }
        }
    }
}

/// Returns the name of a table without `;`, so that no two tables and prefixes share a key. Only Cosmos DB has such
/// names.
fn escaped(table: &str) -> String {
    table.to_ascii_lowercase().replace('~', "~0").replace(';', "~1")
}

/// Reads a claim with its ETag. Its Timestamp has no meaning, and an exploration would run more orders if it were read.
fn claim(row: &Row<'_>) -> Result<Versioned<ClaimRow>> {
    let etag = row.etag().ok_or_else(|| Error::other("the claim has no ETag"))?;
    Ok(written(ClaimRow::read(row)?, etag))
}
