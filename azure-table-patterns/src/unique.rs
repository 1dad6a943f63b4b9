//! Values that at most one entity of a partition has.
//!
//! Defines [`Unique`] and its rows.

use azure_table::{
    ErrorKind, Guid, ReadEntity, Result, TableClient, TableEntity, TableOperation, TableQuery, Versioned,
};

use super::conflict::on_primary;

/// A second key for the entities of a partition: one additional row per value, in the same transaction.
///
/// **Promise.** In each partition at most one entity has a value, and the entity with a value is found by one read.
///
/// The row of a value, its claim, has the RowKey `{prefix}{value}` in the partition of its entity: choose a prefix that
/// no entity's RowKey begins with. All writes that change the value must use this type. Pass the stored value to
/// `delete` and `replace`.
///
/// [`query`](Self::query) excludes the claims. Every other query selects them as well: a claim is an error for most
/// types, and an entity for a type with optional fields only. [`delete_where`](TableClient::delete_where) over
/// [`query`](Self::query) leaves claims without an entity, so their values stay taken. To delete a whole partition, use
/// a query of the table.
///
/// **Cost.** [`insert`](Self::insert), [`replace`](Self::replace) and [`delete`](Self::delete): one batch of two or
/// three operations. [`find`](Self::find): one read, plus yours for the entity.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `insert` | Batch | 2 |
/// | `find` | Get | 1 |
/// | `replace`, same value | Batch | 1 |
/// | `replace`, new value | Batch | 3 |
/// | `delete` | Batch | 2 |
///
/// **Crash.** Entity and value are written in one transaction, so nothing needs repair.
///
/// ```
/// use azure_table_patterns::Unique;
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
/// let users = TableServiceClient::from_transport(Emulator::new()).table::<User>("Users")?;
/// users.create_table().await?;
/// let mails = Unique::new(&users, "~mail;");
///
/// let ada = User { tenant: "t".into(), id: "1".into(), mail: "ada@example.com".into() };
/// assert!(mails.insert(&ada, &ada.mail).await?);
/// let eve = User { tenant: "t".into(), id: "2".into(), mail: "ada@example.com".into() };
/// assert!(!mails.insert(&eve, &eve.mail).await?, "the value is taken");
/// assert_eq!(mails.find("t", "ada@example.com").await?.as_deref(), Some("1"));
/// assert_eq!(mails.query().partition("t").count().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Unique<E> {
    table: TableClient<E>,
    prefix: String,
}

/// The row of a value.
#[derive(TableEntity, Clone, Debug)]
struct ValueRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    value: String,
    /// The RowKey of the entity that has the value.
    #[table(rename = "Entity")]
    entity: String,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

impl<E: TableEntity> Unique<E> {
    /// Creates a handle to the second key of a table's entities. The RowKeys of values begin with `prefix`.
    pub fn new(table: &TableClient<E>, prefix: impl Into<String>) -> Self {
        Self {
            table: on_primary(table),
            prefix: prefix.into(),
        }
    }

    /// Returns a query for the entities, without the rows of values. It reads the primary location.
    ///
    /// If a partition has several values per entity, add the prefixes of the others with
    /// [`without_row_keys`](TableQuery::without_row_keys).
    pub fn query(&self) -> TableQuery<E>
    where
        E: ReadEntity,
    {
        self.table.query().without_row_keys(&self.prefix)
    }

    /// Inserts the entity with its value. If another entity has the value, returns `false` and writes nothing.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists): the entity's own key exists.
    pub async fn insert(&self, entity: &E, value: &str) -> Result<bool> {
        let row = self.row(entity, value)?;
        self.submit([TableOperation::insert(entity), TableOperation::insert(&row)])
            .await
    }

    /// Replaces the entity, whose value changes from `old` to `new`. If another entity has the new value, returns
    /// `false` and writes nothing.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`ConditionNotMet`](ErrorKind::ConditionNotMet): the entity has changed since it was read.
    /// - [`NotFound`](ErrorKind::NotFound): the entity was deleted, or has no row for the old value.
    pub async fn replace(&self, entity: &Versioned<E>, old: &str, new: &str) -> Result<bool> {
        let row = self.row(&entity.entity, new)?;
        let entity = TableOperation::replace(entity);
        if old == new {
            return self.submit([entity]).await;
        }
        let freed = self.delete_row(&row.partition, old);
        self.submit([entity, TableOperation::insert(&row), freed]).await
    }

    /// Deletes the entity and frees its value.
    ///
    /// Requests: 1. Lost response: [in doubt](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`ConditionNotMet`](ErrorKind::ConditionNotMet): the entity has changed since it was read.
    /// - [`NotFound`](ErrorKind::NotFound): the entity was deleted, or has no row for the value.
    pub async fn delete(&self, entity: &Versioned<E>, value: &str) -> Result<()> {
        let key = azure_table::Key::<E>::of(entity)?;
        let freed = self.delete_row(key.partition_key(), value);
        self.submit([TableOperation::delete::<E>(entity), freed])
            .await
            .map(drop)
    }

    /// Returns the RowKey of the entity with a value.
    ///
    /// Requests: 1. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`get`](TableClient::get).
    pub async fn find(&self, partition_key: &str, value: &str) -> Result<Option<String>> {
        let rows = self.table.typed::<ValueRow>();
        let row = rows.get((partition_key, format!("{}{value}", self.prefix))).await?;
        Ok(row.map(|row| row.entity))
    }

    fn row(&self, entity: &E, value: &str) -> Result<ValueRow> {
        let key = azure_table::Key::of(entity)?;
        Ok(ValueRow {
            partition: key.partition_key().to_owned(),
            value: format!("{}{value}", self.prefix),
            entity: key.row_key().to_owned(),
            write: None,
        })
    }

    fn delete_row(&self, partition_key: &str, value: &str) -> TableOperation {
        TableOperation::delete::<ValueRow>((partition_key, format!("{}{value}", self.prefix)))
    }

    /// Submits the operations. The second one is the row of the new value. Returns `false` if that row exists.
    async fn submit<const N: usize>(&self, operations: [TableOperation; N]) -> Result<bool> {
        let mut batch = self.table.batch();
        for operation in operations {
            batch.push(operation)?;
        }
        match batch.submit().await {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && e.batch_index() == Some(1) => Ok(false),
            Err(e) => Err(e),
        }
    }
}
