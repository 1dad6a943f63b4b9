//! Queries by a declared index.

use std::fmt;

use azure_table::filter::AccessPath;
use azure_table::index::{Index, IndexRow, IndexedEntity};
use azure_table::key::KeyPrefixFrom;
use azure_table::query::GetMany;
use azure_table::{Continuation, Error, Key, Page, ReadEntity, Result, TableQuery, Versioned};
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};

use super::indexed::Indexed;

/// The number of index rows whose entities are read at a time.
const ROWS_AT_A_TIME: usize = 100;
/// The maximum number of rows of a page.
const MAX_PAGE: usize = 1_000;

/// Reads index rows as `P`: the handle of the table, and functions for a covering row, for reads by keys, and for the
/// entity of a `P`.
type Reader<R, P, E = <R as IndexRow>::Entity> = (
    Indexed<E>,
    fn(R) -> Option<P>,
    fn(GetMany<E>) -> GetMany<E, P>,
    fn(&P) -> &E,
);

/// A query by an index, read as `P`. Created by [`Indexed::by`] and [`Indexed::between`].
#[must_use = "nothing is read until `all`, `first`, `count`, `stream` or `pages` is called"]
pub struct IndexQuery<R: IndexRow, P = <R as IndexRow>::Entity> {
    reader: Reader<R, P>,
    rows: TableQuery<R>,
    limit: Option<usize>,
    page_size: Option<usize>,
}

impl<R: IndexRow, P> fmt::Debug for IndexQuery<R, P> {
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
    /// On Table storage the entities come in the order of the index: by its fields, then by their RowKeys. A
    /// [`Descending`](azure_table::Descending) field has its greatest value first.
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
        self.select(index, |rows| Ok(rows.key_prefix(Key::prefix(fields)?)))
    }

    /// Returns a query by an index, for the entities from the first one with the fields `from` to the last one with the
    /// fields `to`, both included.
    ///
    /// Each end is given as for [`by`](Self::by): all fields of the PartitionKey, which are the same at both ends, then
    /// fields of the index from the left. An end with fewer fields is open: it includes all entities with these fields.
    ///
    /// As with [`TableQuery::between`], the range follows the order of the index. A `Descending` field has its greatest
    /// value first, so `from` is the newest time and `to` the oldest. To exclude an end, pass its neighbour: the last
    /// time before `day` is `day - Duration::from_nanos(100)`. Promise and cost are those of [`by`](Self::by).
    ///
    /// ```
    /// # use azure_table::{DateTime, Descending, Emulator, TableEntity, TableServiceClient};
    /// # use azure_table_patterns::Indexed;
    /// #[derive(TableEntity)]
    /// #[table(index(by_change = (listed, changed)))]
    /// struct Doc {
    ///     #[table(partition_key)]
    ///     tenant: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     listed: bool,
    ///     changed: Descending<DateTime>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let table = TableServiceClient::from_transport(Emulator::new()).table::<Doc>("Docs")?;
    /// # table.create_table().await?;
    /// # let docs = Indexed::open(&table).await?;
    /// # docs.build(Doc::BY_CHANGE).await?.ensure_none_taken()?;
    /// # let (monday, friday) = (DateTime::from_unix_seconds(1_000), DateTime::from_unix_seconds(5_000));
    /// # for (id, changed) in [(1, monday), (2, friday), (3, DateTime::MAX)] {
    /// #     docs.insert(&Doc { tenant: "t".into(), id, listed: true, changed: changed.into() }).await?;
    /// # }
    /// let week = docs.between(Doc::BY_CHANGE, ("t", true, friday), ("t", true, monday))?;
    /// # assert_eq!(week.all().await?.len(), 2);
    /// let since = docs.between(Doc::BY_CHANGE, ("t", true), ("t", true, monday))?;
    /// # assert_eq!(since.all().await?.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): as for [`by`](Self::by); or the ends differ in their
    ///   partition, are in the wrong order, or differ in a field whose key text does not sort like its values, such as
    ///   an enum that is stored by name.
    pub fn between<R, G, H>(&self, index: Index<R>, from: G, to: H) -> Result<IndexQuery<R>>
    where
        R: IndexRow<Entity = E>,
        R::KeyFields: KeyPrefixFrom<G> + KeyPrefixFrom<H>,
    {
        self.select(index, |rows| Ok(rows.between(Key::prefix(from)?, Key::prefix(to)?)))
    }

    fn select<R: IndexRow<Entity = E>>(
        &self,
        _: Index<R>,
        keys: impl FnOnce(TableQuery<R>) -> Result<TableQuery<R>>,
    ) -> Result<IndexQuery<R>> {
        self.states.check_ready(&R::INDEX)?;
        let rows = keys(self.table.typed::<R>().query())?;
        if let AccessPath::PartitionRange | AccessPath::TableScan = rows.plan()?.path() {
            let why = "a query by an index needs all fields of the PartitionKey, and a range the same at both ends";
            return Err(Error::invalid_input(why));
        }
        Ok(IndexQuery {
            reader: (self.clone(), R::into_entity, |get| get, |entity| entity),
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
    /// Reads each entity with its ETag and Timestamp, to [`replace`](Indexed::replace) or
    /// [`delete`](Indexed::delete) it in that version.
    ///
    /// For an index that `covers`, this does not compile: its rows have no ETags of their entities. `cargo check` and
    /// editors do not report it.
    pub fn versioned(self) -> IndexQuery<R, Versioned<R::Entity>> {
        const {
            assert!(
                !R::INDEX.covers,
                "the rows of a covering index have no ETags of their entities: read these by their keys, as in \
                 `table.get_many(keys).versioned()`"
            )
        }
        IndexQuery {
            reader: (self.reader.0, |_| None, GetMany::versioned, |read| &read.entity),
            rows: self.rows,
            limit: self.limit,
            page_size: self.page_size,
        }
    }
}

impl<R: IndexRow, P> IndexQuery<R, P>
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

    /// Returns the query for the index rows, the reader of their entities, and the limit.
    fn parts(self) -> (TableQuery<R>, Reader<R, P>, usize) {
        let covered = self.limit.filter(|_| R::INDEX.covers);
        let rows = covered.into_iter().fold(self.rows, TableQuery::limit);
        // Some index rows may have no entity that matches, so a limit of entities is none of rows.
        let by_limit = || Some(self.limit.filter(|_| !R::INDEX.covers)?.clamp(1, MAX_PAGE));
        let page_size = self.page_size.or_else(by_limit);
        let rows = page_size.into_iter().fold(rows, TableQuery::page_size);
        (rows, self.reader, self.limit.unwrap_or(usize::MAX))
    }

    /// Reads all entities.
    ///
    /// # Errors
    /// - The errors of [`TableQuery`] and of [`get_many`](azure_table::TableClient::get_many).
    pub async fn all(self) -> Result<Vec<P>> {
        if R::INDEX.covers {
            let (rows, (_, covered, ..), _) = self.parts();
            return Ok(rows.all().await?.into_iter().filter_map(covered).collect());
        }
        self.stream().try_collect().await
    }

    /// Reads the first entity, such as the only one with a `unique` value.
    ///
    /// With all fields of a unique index, the service reads one index row by its key, and then the entity.
    ///
    /// # Errors
    /// - The errors of [`all`](Self::all).
    pub async fn first(self) -> Result<Option<P>> {
        let most = self.limit.map_or(1, |limit| limit.min(1));
        Ok(self.limit(most).all().await?.pop())
    }

    /// Counts the index rows, up to the limit, without reading their entities.
    ///
    /// Without `covers`, [`all`](Self::all) may return fewer: it leaves out entities that moved in between, and rows
    /// that a writer without the declaration left behind.
    ///
    /// Requests: 1 per page. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`TableQuery`].
    pub async fn count(self) -> Result<usize> {
        let rows = self.limit.into_iter().fold(self.rows, TableQuery::limit);
        let rows = self.page_size.into_iter().fold(rows, TableQuery::page_size);
        rows.count().await
    }

    /// Reads the entities as a stream.
    ///
    /// If an entity cannot be read, the stream yields the error and continues. It ends after the error of a page.
    pub fn stream(self) -> impl Stream<Item = Result<P>> {
        let (rows, reader, most) = self.parts();
        let groups = rows.stream().ready_chunks(most.clamp(1, ROWS_AT_A_TIME));
        let read = groups.then(move |rows| {
            let reader = reader.clone();
            async move { stream::iter(entities_of(&reader, rows).await) }
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
    pub fn pages(self) -> impl Stream<Item = Result<Page<P>>> + Unpin {
        let (rows, reader, most) = self.parts();
        let start = (rows.pages(), reader, most);
        Box::pin(stream::try_unfold(start, async |(mut pages, reader, left)| {
            if left == 0 {
                return Ok(None);
            }
            let Some(page) = pages.try_next().await? else {
                return Ok(None);
            };
            let mut rows = Vec::new();
            let page: Page<P> = page.map(|items| {
                rows.extend(items.into_iter().map(Ok));
                Vec::new()
            });
            let entities = entities_of(&reader, rows).await;
            // A page that is cut would lose entities: its continuation is the end of its rows.
            let entities: Vec<_> = entities.into_iter().collect::<Result<_>>()?;
            let left = left.saturating_sub(entities.len());
            Ok(Some((page.map(|_| entities), (pages, reader, left))))
        }))
    }
}

/// Reads the entities of index rows. Leaves out those that no longer match.
async fn entities_of<R: IndexRow, P>(
    (indexed, covered, by_keys, entity_of): &Reader<R, P>,
    rows: Vec<Result<R>>,
) -> Vec<Result<P>>
where
    R::Entity: ReadEntity,
{
    if R::INDEX.covers {
        let entities = rows.into_iter().map(|row| row.map(covered));
        return entities.filter_map(Result::transpose).collect();
    }
    let keys = rows.into_iter().map(|row| {
        let row = row?;
        let key = Key::<R>::of(&row)?;
        let of_entity = Key::from_text(key.partition_key(), row.entity_row_key(&key))?;
        Ok((key, of_entity))
    });
    let keys: Vec<Result<_>> = keys.collect();
    let of_entities = keys.iter().flatten().map(|(_, of_entity)| of_entity.clone());
    let mut reads = by_keys(indexed.table.get_many(of_entities));
    let mut entities = Vec::with_capacity(keys.len());
    for key in keys {
        let entity = async {
            let (key, _) = key?;
            let Some((_, Some(entity))) = reads.try_next().await? else {
                return Ok(None);
            };
            let now = R::of(entity_of(&entity)).map(|row| Key::<R>::of(&row)).transpose()?;
            Ok(Some(entity).filter(|_| now == Some(key)))
        };
        entities.extend(entity.await.transpose());
    }
    entities
}
