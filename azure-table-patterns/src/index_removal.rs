//! Removes the rows of an index that is no longer declared.

use azure_table::index::{INDEX_PREFIX, IndexedEntity};
use azure_table::{Error, Filter, Key, ReadEntity, Result, TableClient, TableEntity};

use super::conflict::{CONFLICTS, Rounds, on_primary, stored_or_inserted, was_unchanged};
use super::index_state::StateRow;
use super::indexed::Indexed;

/// Deletes all rows of an index from a table whose type no longer declares any. Returns their number.
///
/// Like [`Indexed::remove_index`], but for the last index of a type. It cannot check declarations: do not call it while
/// a program declares the index.
///
/// ```
/// # use azure_table::{Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("People")?;
/// # table.create_table().await?;
/// let removed = azure_table_patterns::remove_index(&table, "by_name").await?;
/// # assert_eq!(removed, 0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): no index can have this name.
/// - The errors of [`delete_where`](TableClient::delete_where). Once the index is marked as removed, every
///   error is [`InDoubt`](azure_table::ErrorKind::InDoubt).
pub async fn remove_index<E: TableEntity>(table: &TableClient<E>, name: &str) -> Result<u64> {
    let table = on_primary(table);
    // Of another name, rows of other indexes could begin with it.
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Err(Error::invalid_input(format!("no index has the name {name:?}")));
    }
    let states = table.typed::<StateRow>();
    let (removed, mut rounds) = (StateRow::removed(name), Rounds::new(CONFLICTS));
    let mut state = stored_or_inserted(&states, &removed, &mut false).await?;
    // Marked first: whoever declares the index again waits until all its rows are gone.
    while !state.is_removed {
        rounds.next(&Key::of(&removed)?).await?;
        state.entity = removed.clone();
        match was_unchanged(states.replace(&state).await)? {
            Some(etag) => state.etag = etag,
            None => state = stored_or_inserted(&states, &removed, &mut false).await?,
        }
    }
    let rows = table.typed::<IndexRowKey>();
    let selected = rows.query().filter(IndexRowKey::for_index(name)).allow_table_scan();
    let ended = async {
        let deleted = rows.delete_where(selected).await?;
        deleted.ensure_no_leftovers()?;
        // Another call may have ended first.
        was_unchanged(states.delete(&state).await)?;
        Ok(deleted.applied())
    };
    // The state is marked, and the error of a step says nothing about those before it.
    ended.await.map_err(|e: Error| e.after_writes(true))
}

/// The key of a row of any index.
#[derive(TableEntity)]
pub(super) struct IndexRowKey {
    #[table(partition_key)]
    pub(super) partition: String,
    #[table(row_key)]
    pub(super) index_row: String,
}

impl IndexRowKey {
    /// Returns the filter for all rows of an index.
    pub(super) fn for_index(name: &str) -> Filter<Self> {
        let first = Self::INDEX_ROW.ge(format!("{INDEX_PREFIX}{name} "));
        first.and(Self::INDEX_ROW.lt(format!("{INDEX_PREFIX}{name}!")))
    }
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Deletes all rows of an index that the type no longer declares. Returns their number.
    ///
    /// First deploy all programs without the declaration: one that has it would write more rows. While the index is
    /// being removed, [`open`](Self::open) rejects a type that declares it. After an interruption, call it again. Let
    /// one call end before you begin another, and before you declare an index of this name again.
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # use azure_table_patterns::Indexed;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # #[derive(TableEntity, Clone)]
    /// # #[table(index(by_mail = (mail), unique))]
    /// # struct Person {
    /// #     #[table(partition_key)]
    /// #     tenant: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     mail: String,
    /// # }
    /// # let table = TableServiceClient::from_transport(Emulator::new()).table::<Person>("People")?;
    /// # table.create_table().await?;
    /// let people = Indexed::open(&table).await?;
    /// let removed = people.remove_index("by_name").await?; // `Person` had it once
    /// # assert_eq!(removed, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// **Cost.** The service reads the whole table: one request for each page, one for each 100 index rows of a
    /// partition, and up to four for the state of the index.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the type declares the index, or no index can have this
    ///   name.
    /// - The errors of [`delete_where`](azure_table::TableClient::delete_where). Once the index is marked as removed,
    ///   every error is [`InDoubt`](azure_table::ErrorKind::InDoubt).
    pub async fn remove_index(&self, name: &str) -> Result<u64> {
        if E::INDEXES.iter().any(|index| index.name == name) {
            let why = format!("the index `{name}` is declared: remove the declaration first");
            return Err(Error::invalid_input(why));
        }
        remove_index(&self.table, name).await
    }
}
