//! Writes all entities that a query selects, with their index rows.

use azure_table::bulk::{Interrupted, Report};
use azure_table::index::IndexedEntity;
use azure_table::operation::ModifyOutcome;
use azure_table::{Change, Error, Key, ReadEntity, Result, TableQuery};

use super::conflict::{await_each, concerns_row};
use super::indexed::{Indexed, rows_of};

impl<E: IndexedEntity + ReadEntity> Indexed<E> {
    /// Deletes all entities that a [`query`](Self::query) selects, and their index rows.
    ///
    /// As with [`delete_where`](azure_table::TableClient::delete_where) of a table, each entity is deleted under the
    /// ETag with which it was read. One that was changed in between is a leftover: call this again. Each entity takes a
    /// transaction of its own, so this sends more requests than on a table without indexes.
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # use azure_table_patterns::Indexed;
    /// # #[derive(TableEntity, Clone)]
    /// # #[table(index(by_mail = (mail), unique))]
    /// # struct Person {
    /// #     #[table(partition_key)]
    /// #     tenant: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     mail: String,
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let table = TableServiceClient::from_transport(Emulator::new()).table::<Person>("People")?;
    /// # table.create_table().await?;
    /// # let people = Indexed::open(&table).await?;
    /// # people.insert(&Person { tenant: "contoso".into(), id: 7, mail: "ada@example.com".into() }).await?;
    /// let contoso = people.query().partition("contoso");
    /// let lower = |person: &mut Person| person.mail = person.mail.to_lowercase();
    /// people.update_where(contoso.clone(), lower).await?.ensure_no_leftovers()?;
    /// assert_eq!(people.delete_where(contoso).await?.applied(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns [`Interrupted`], with the report of the writes until then:
    /// - The errors of [`TableQuery`] and its [`on_primary_of`](TableQuery::on_primary_of).
    /// - An error that concerns no single entity, such as `Connection` or `Throttled`. Earlier entities were deleted.
    ///   If it leaves the write of an entity in doubt, that entity is a leftover too.
    pub async fn delete_where(&self, selected: TableQuery<E>) -> Result<Report<Key<E>>, Interrupted<Report<Key<E>>>> {
        self.write_where(selected, |_| Ok(None)).await
    }

    /// Reads all entities that a [`query`](Self::query) selects, changes each with the closure, and writes it with its
    /// index rows.
    ///
    /// The closure returns the same as with [`update_where`](azure_table::TableClient::update_where) of a table. Each
    /// entity is written under the ETag with which it was read. One that was changed in between is a leftover, and so
    /// is one whose `unique` value another entity has. Properties that the struct does not declare are removed, as by
    /// [`replace`](Self::replace).
    ///
    /// Do not shift `unique` values, such as 1 to 2 and 2 to 3: most of them are still taken when their turn comes, so
    /// most entities are left over, and a second call changes the written ones again.
    ///
    /// You cannot resume after an error: a second call changes the written entities again.
    ///
    /// # Errors
    /// - The errors of [`delete_where`](Self::delete_where). Earlier entities were written.
    /// - The error that the closure returns. In that case no entity of the page is written.
    pub async fn update_where<R: ModifyOutcome>(
        &self,
        selected: TableQuery<E>,
        mut change: impl FnMut(&mut E) -> R,
    ) -> Result<Report<Key<E>>, Interrupted<Report<Key<E>>, R::Error>> {
        let plan = |entity: &mut E| change(entity).into_change().map(Some);
        self.write_where(selected, plan).await
    }

    /// Writes the selected entities as planned. `None` deletes an entity.
    async fn write_where<A: From<Error>>(
        &self,
        selected: TableQuery<E>,
        mut plan: impl FnMut(&mut E) -> Result<Option<Change>, A>,
    ) -> Result<Report<Key<E>>, Interrupted<Report<Key<E>>, A>> {
        let mut report = Report::default();
        match self.write_pages(selected, &mut plan, &mut report).await {
            Ok(()) => Ok(report),
            Err(error) => Err(Interrupted::new(error, report)),
        }
    }

    /// Writes the selected entities, and counts them in the report.
    async fn write_pages<A: From<Error>>(
        &self,
        selected: TableQuery<E>,
        plan: &mut impl FnMut(&mut E) -> Result<Option<Change>, A>,
        report: &mut Report<Key<E>>,
    ) -> Result<(), A> {
        // The next page is read after the writes of this one, so that its ETags are current.
        let mut pages = selected.on_primary_of(&self.table)?.prefetch(0).versioned().pages();
        while let Some(page) = pages.try_next().await? {
            let mut planned = Vec::with_capacity(page.items().len());
            for mut entity in page.into_items() {
                let (key, old) = (Key::of(&entity.entity)?, rows_of(&entity.entity));
                match plan(&mut entity.entity)? {
                    Some(Change::Keep) => report.add_unchanged(),
                    // Without the index rows of the stored entity, it is deleted.
                    change => planned.push((key, entity, change.map(|_| old))),
                }
            }
            let writes = planned.into_iter().map(async |(key, entity, replaced)| {
                let written = match replaced {
                    None => self.delete_read(&key, &entity).await,
                    Some(old) => self.replace_read(&key, &entity, &old).await.map(drop),
                };
                (key, written)
            });
            let all = await_each(writes, self.concurrency, |(key, written)| match written {
                Err(e) if !concerns_row(&e) => match e.last_failure() {
                    Some(last) => {
                        report.add(key, Err(e));
                        Err(last)
                    }
                    None => Err(e),
                },
                written => {
                    report.add(key, written);
                    Ok(())
                }
            });
            all.await?;
        }
        Ok(())
    }
}
