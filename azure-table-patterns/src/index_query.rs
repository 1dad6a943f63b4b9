//! Queries by a declared index.

use std::fmt;

use azure_table::filter::AccessPath;
use azure_table::index::{Index, IndexRow, IndexedEntity};
use azure_table::key::KeyPrefixFrom;
use azure_table::{Error, Key, ReadEntity, Result, TableQuery};
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};

use super::indexed::Indexed;

/// The number of index rows whose entities are read at a time.
const ROWS_AT_A_TIME: usize = 100;
/// The maximum number of rows of a page.
const MAX_PAGE: usize = 1_000;

/// A query by an index. Created by [`Indexed::by`].
#[must_use = "nothing is read until `all` or `stream` is called"]
pub struct IndexQuery<R: IndexRow> {
    indexed: Indexed<R::Entity>,
    rows: TableQuery<R>,
    limit: Option<usize>,
}

impl<R: IndexRow> fmt::Debug for IndexQuery<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexQuery")
            .field("index", &R::INDEX.name)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Returns a query for the entities whose fields of the index begin with these: the fields of the PartitionKey,
    /// then those of the index from the left.
    ///
    /// On Table storage the entities come in the order of the index: by its fields, then by their RowKeys.
    ///
    /// **Promise.** One page of index rows is of one moment. Over several pages, an entity whose fields of the index
    /// did not change comes once; one that moved may be missing or come twice. Of an index without `covers`, each
    /// entity is read by its key, and returned only if it matches then.
    ///
    /// **Cost.** With `covers`, one request for each page. Otherwise, also one for each entity.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the index is not ready, a field of the PartitionKey is
    ///   missing, or a field has no key text.
    pub fn by<R, G>(&self, index: Index<R>, fields: G) -> Result<IndexQuery<R>>
    where
        R: IndexRow<Entity = E>,
        R::KeyFields: KeyPrefixFrom<G>,
    {
        let _ = index;
        self.states.check_ready(&R::INDEX)?;
        let rows = self.table.typed::<R>().query().key_prefix(Key::<R>::prefix(fields)?);
        if let AccessPath::PartitionRange | AccessPath::TableScan = rows.plan()?.path() {
            let why = "a query by an index needs all fields of the PartitionKey";
            return Err(Error::invalid_input(why));
        }
        Ok(IndexQuery {
            indexed: self.clone(),
            rows,
            limit: None,
        })
    }
}

impl<R: IndexRow> IndexQuery<R>
where
    R::Entity: ReadEntity,
{
    /// Limits the number of entities.
    pub fn limit(mut self, most: usize) -> Self {
        self.rows = match R::INDEX.covers {
            true => self.rows.limit(most),
            // Some index rows may have no entity that matches, so these do not count.
            false => self.rows.page_size(most.clamp(1, MAX_PAGE)),
        };
        self.limit = Some(most);
        self
    }

    /// Reads all entities.
    ///
    /// # Errors
    /// - The errors of [`TableQuery`] and of [`get_many`](azure_table::TableClient::get_many).
    pub async fn all(self) -> Result<Vec<R::Entity>> {
        if R::INDEX.covers {
            let rows = self.rows.all().await?;
            return Ok(rows.into_iter().filter_map(R::into_entity).collect());
        }
        self.stream().try_collect().await
    }

    /// Reads the first entity, such as the one with a value of a unique index.
    ///
    /// With all fields of a unique index, the service reads one index row by its key, and then the entity.
    ///
    /// # Errors
    /// - The errors of [`all`](Self::all).
    pub async fn first(self) -> Result<Option<R::Entity>> {
        let most = self.limit.map_or(1, |limit| limit.min(1));
        Ok(self.limit(most).all().await?.pop())
    }

    /// Reads the entities as a stream.
    ///
    /// An entity that cannot be read is an error, and the stream goes on. It ends after the error of a page.
    pub fn stream(self) -> impl Stream<Item = Result<R::Entity>> {
        let Self { indexed, rows, limit } = self;
        let most = limit.unwrap_or(usize::MAX);
        let groups = rows.stream().ready_chunks(most.clamp(1, ROWS_AT_A_TIME));
        let read = groups.then(move |rows| {
            let indexed = indexed.clone();
            async move { stream::iter(indexed.entities_of(rows).await) }
        });
        read.flatten().take(most)
    }
}

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Reads the entities of index rows. Leaves out those that no longer match.
    async fn entities_of<R: IndexRow<Entity = E>>(&self, rows: Vec<Result<R>>) -> Vec<Result<E>> {
        if R::INDEX.covers {
            let entities = rows.into_iter().map(|row| row.map(R::into_entity));
            return entities.filter_map(Result::transpose).collect();
        }
        let keys = rows.into_iter().map(|row| {
            let row = row?;
            let key = Key::<R>::of(&row)?;
            let of_entity = Key::<E>::from_text(key.partition_key(), row.entity_row_key(&key))?;
            Ok((key, of_entity))
        });
        let keys: Vec<Result<_>> = keys.collect();
        let mut reads = self
            .table
            .get_many(keys.iter().flatten().map(|(_, of_entity)| of_entity.clone()));
        let mut entities = Vec::with_capacity(keys.len());
        for key in keys {
            let entity = async {
                let (key, _) = key?;
                let Some((_, Some(entity))) = reads.try_next().await? else {
                    return Ok(None);
                };
                let now = R::of(&entity).map(|row| Key::<R>::of(&row)).transpose()?;
                Ok(Some(entity).filter(|_| now == Some(key)))
            };
            entities.extend(entity.await.transpose());
        }
        entities
    }
}
