//! Queries by a declared index.

use std::fmt;

use azure_table::filter::AccessPath;
use azure_table::index::{Index, IndexRow, IndexedEntity};
use azure_table::key::KeyPrefixFrom;
use azure_table::{Continuation, Error, Key, Page, ReadEntity, Result, TableQuery};
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};

use super::indexed::Indexed;

/// The number of index rows whose entities are read at a time.
const ROWS_AT_A_TIME: usize = 100;
/// The maximum number of rows of a page.
const MAX_PAGE: usize = 1_000;

/// A query by an index. Created by [`Indexed::by`].
#[must_use = "nothing is read until `all`, `first`, `stream` or `pages` is called"]
pub struct IndexQuery<R: IndexRow> {
    indexed: Indexed<R::Entity>,
    rows: TableQuery<R>,
    limit: Option<usize>,
    page_size: Option<usize>,
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
    /// Returns a query by an index, for the entities with these `fields`: all fields of the PartitionKey, then fields
    /// of the index from the left.
    ///
    /// On Table storage the entities come in the order of the index: by its fields, then by their RowKeys.
    ///
    /// **Promise.** A page of index rows is from one moment. Over several pages, an entity whose indexed fields did not
    /// change comes once; one that moved may be missing or come twice. Without `covers`, each entity is read by its
    /// key, and returned only if it still matches.
    ///
    /// **Cost.** One request for each page and, without `covers`, one for each entity.
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
            page_size: None,
        })
    }
}

impl<R: IndexRow> IndexQuery<R>
where
    R::Entity: ReadEntity,
{
    /// Limits the number of entities.
    ///
    /// Without `covers`, [`pages`](Self::pages) ends with the page that reaches the limit, and returns it whole.
    pub fn limit(mut self, most: usize) -> Self {
        self.limit = Some(most);
        self
    }

    /// Sets the number of index rows per page, 1 to 1,000.
    pub fn page_size(mut self, rows: usize) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// Resumes an earlier run of the same query from the continuation of its last page.
    pub fn resume_from(mut self, continuation: Continuation) -> Self {
        self.rows = self.rows.resume_from(continuation);
        self
    }

    /// Returns the query for the index rows, and the handle that reads their entities.
    fn parts(self) -> (TableQuery<R>, Indexed<R::Entity>, usize) {
        let covered = self.limit.filter(|_| R::INDEX.covers);
        let rows = covered.into_iter().fold(self.rows, TableQuery::limit);
        // Some index rows may have no entity that matches, so a limit of entities is none of rows.
        let by_limit = || Some(self.limit.filter(|_| !R::INDEX.covers)?.clamp(1, MAX_PAGE));
        let page_size = self.page_size.or_else(by_limit);
        let rows = page_size.into_iter().fold(rows, TableQuery::page_size);
        (rows, self.indexed, self.limit.unwrap_or(usize::MAX))
    }

    /// Reads all entities.
    ///
    /// # Errors
    /// - The errors of [`TableQuery`] and of [`get_many`](azure_table::TableClient::get_many).
    pub async fn all(self) -> Result<Vec<R::Entity>> {
        if R::INDEX.covers {
            let rows = self.parts().0.all().await?;
            return Ok(rows.into_iter().filter_map(R::into_entity).collect());
        }
        self.stream().try_collect().await
    }

    /// Reads the first entity, such as the only one with a `unique` value.
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
    /// If an entity cannot be read, the stream yields the error and continues. It ends after the error of a page.
    pub fn stream(self) -> impl Stream<Item = Result<R::Entity>> {
        let (rows, indexed, most) = self.parts();
        let groups = rows.stream().ready_chunks(most.clamp(1, ROWS_AT_A_TIME));
        let read = groups.then(move |rows| {
            let indexed = indexed.clone();
            async move { stream::iter(indexed.entities_of(rows).await) }
        });
        read.flatten().take(most)
    }

    /// Reads the entities page by page, for lists with a link to the next page.
    ///
    /// A page has the entities of one page of index rows. Without `covers` it may have fewer entities than rows, even
    /// none. [`has_more`](Page::has_more) tells whether others follow. The stream ends at its first error.
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # use azure_table_patterns::Indexed;
    /// use futures::TryStreamExt;
    /// # #[derive(TableEntity)]
    /// # #[table(index(by_law = (law)))]
    /// # struct Person { #[table(partition_key)] tenant: String, #[table(row_key)] id: u32, law: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let people = TableServiceClient::from_transport(Emulator::new()).table::<Person>("People")?;
    /// # people.create_table().await?;
    /// # let people = Indexed::open(&people).await?;
    /// # people.build(Person::BY_LAW).await?.ensure_none_taken()?;
    /// # for id in 0..3 { people.insert(&Person { tenant: "t".into(), id, law: "tax".into() }).await?; }
    /// let query = || Ok::<_, azure_table::Error>(people.by(Person::BY_LAW, ("t", "tax"))?.page_size(2));
    /// let first = query()?.pages().try_next().await?.expect("a query has a page");
    /// let token = first.has_more().then(|| first.continuation().to_string());   // of the link to the next page
    ///
    /// let next = query()?.resume_from(token.expect("a third row").parse()?).pages().try_next().await?;
    /// assert_eq!(next.expect("a page").items().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - The errors of [`all`](Self::all).
    pub fn pages(self) -> impl Stream<Item = Result<Page<R::Entity>>> + Unpin {
        let (rows, indexed, most) = self.parts();
        let start = (rows.pages(), indexed, most);
        Box::pin(stream::try_unfold(start, async |(mut pages, indexed, left)| {
            if left == 0 {
                return Ok(None);
            }
            let Some(page) = pages.try_next().await? else {
                return Ok(None);
            };
            let mut rows = Vec::new();
            let page: Page<R::Entity> = page.map(|items| {
                rows.extend(items.into_iter().map(Ok));
                Vec::new()
            });
            let entities = indexed.entities_of(rows).await;
            // A page that is cut would lose entities: its continuation is the end of its rows.
            let entities: Vec<_> = entities.into_iter().collect::<Result<_>>()?;
            let left = left.saturating_sub(entities.len());
            Ok(Some((page.map(|_| entities), (pages, indexed, left))))
        }))
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
