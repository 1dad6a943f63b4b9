//! Writes over all rows that a query selects: delete, patch, update, upgrade.

use crate::client::bulk::row_verbs::{DeleteWhere, PatchWhere, UpdateWhere, UpgradeAll};
use crate::client::ops::modify_entity::ModifyOutcome;
use crate::client::query::selection::RowSelection;
use crate::client::table::TableClient;
use crate::filter::assignment::Assignments;
use crate::model::entity::{ReadEntity, TableEntity};

/// Writes over all rows that a query selects, any number of them.
///
/// The client reads a page, writes its rows in concurrent batches of one partition and at most 100 rows each, then
/// reads the next page. **These writes are not atomic**: a batch is atomic, the whole is not. Each row is written under
/// the ETag with which it was read, so that no other change is overwritten. A row that was changed in between is
/// rejected and stands in the [`WriteReport`](crate::bulk::WriteReport); the others are written. An error that concerns
/// no single row (the connection, the right to write, the query) ends the whole with an
/// [`Interrupted`](crate::bulk::Interrupted), which has the report and the position to resume from.
///
/// Requests: one per page, and one per batch; each failure in a batch sends the rest of it once more.
impl<E: TableEntity> TableClient<E> {
    /// Deletes all rows that a condition or a query selects. Reads their keys and ETags alone.
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     rating: i32,
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # for id in 0..5 {
    /// #     blogs.insert(&Blog { channel: "Channel9".into(), id, rating: id.cast_signed() }).await?;
    /// # }
    /// let report = blogs.delete_where(Blog::RATING.lt(2)).await?;
    /// assert_eq!((report.applied(), report.rejected()), (2, 0));
    ///
    /// let report = blogs
    ///     .delete_where(blogs.query().partition("Channel9"))
    ///     .on_progress(|report| println!("{report}"))
    ///     .await?;
    /// assert_eq!(report.applied(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Interrupted`](crate::bulk::Interrupted) with the error of a page, see [`TableQuery`](crate::TableQuery), or of
    /// a write: not one about a row, those are in the report, but `Unauthenticated`, `Forbidden`, `Connection`,
    /// `Timeout`, `Throttled`, `ServerFault`, and `NotFound` of the table. `InvalidInput` — the query is of another
    /// table or of another [`variant`](Self::variant), goes on from a continuation of the secondary location, or reads
    /// what the client denies. Any kind — more rows failed than [`max_failures`](DeleteWhere::max_failures) allows.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    #[doc(alias = "delete_by_partition", alias = "truncate")]
    pub fn delete_where(&self, selected: impl RowSelection<E>) -> DeleteWhere<'static, E> {
        DeleteWhere::new(self, selected.into_query(self))
    }

    /// Writes the named columns of all rows that a condition or a query selects, the same values in each; their other
    /// properties stay as they are. Reads keys and ETags alone.
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Blog {
    /// #     #[table(partition_key)]
    /// #     channel: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     rating: i32,
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&Blog { channel: "Channel9".into(), id: 1, rating: 1 }).await?;
    /// let report = blogs.patch_where(Blog::RATING.lt(2), [Blog::RATING.set(2)]).await?;
    /// assert_eq!(report.applied(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where). `InvalidInput` — no column is set, or a value has no form in the
    /// service.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    pub fn patch_where(&self, selected: impl RowSelection<E>, columns: impl Assignments<E>) -> PatchWhere<'static, E> {
        PatchWhere::new(self, selected.into_query(self), columns)
    }

    /// Reads all rows that a condition or a query selects, changes each by the closure and writes it back. The closure
    /// may answer what one of [`modify`](Self::modify) may: nothing, which saves; a [`Change`](crate::Change); or a
    /// `Result` of either, whose error ends the whole.
    ///
    /// What the struct does not know of a row stays in it, other than with `modify` and `replace`. A field that the
    /// closure makes `None` is removed. A row that does not read as an `E` is a failure, unless the query
    /// [skips](crate::TableQuery::skip_bad_rows) it.
    ///
    /// Each row is written once at most, over an interruption and its [`resume_from`](UpdateWhere::resume_from) too, so
    /// that the closure may count: rows with an outcome are not taken up again, nor those in doubt. The closure itself
    /// may see a row again that was not written.
    ///
    /// ```
    /// # use azure_table::{Change, Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity)]
    /// # struct Blog {
    /// #     #[table(partition_key)]
    /// #     channel: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     rating: i32,
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&Blog { channel: "Channel9".into(), id: 1, rating: 1 }).await?;
    /// let all = blogs.query().partition("Channel9");
    /// let report = blogs.update_where(all.clone(), |blog| blog.rating += 1).await?;
    /// assert_eq!(report.applied(), 1);
    ///
    /// let report = blogs
    ///     .update_where(all, |blog| {
    ///         if blog.rating <= 5 {
    ///             return Change::Keep;
    ///         }
    ///         blog.rating = 5;
    ///         Change::Save
    ///     })
    ///     .await?;
    /// assert_eq!(report.unchanged(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where). `InvalidInput` — the closure changed a key. What the closure returns;
    /// of the page at which it is nothing is written then.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    pub fn update_where<F, R>(&self, selected: impl RowSelection<E>, change: F) -> UpdateWhere<'static, E, F, R>
    where
        E: ReadEntity,
        F: FnMut(&mut E) -> R,
        R: ModifyOutcome,
    {
        UpdateWhere::new(self, selected.into_query(self), change)
    }

    /// Writes all rows of the table anew that the struct would write otherwise: those read by an `alias`, a `default`
    /// or an `upgrade`, or stored with another type. Rows that are up to date are left alone, so a second run writes
    /// nothing; then the attributes can go.
    ///
    /// Older names go once their value stands under the present one; programs that read only those must be gone before.
    /// All else that the struct does not know stays, unless [`drop_unknown`](UpgradeAll::drop_unknown) says otherwise.
    /// A field whose text is another each time, such as the `json` of a `HashMap`, is written each time.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     #[table(alias = "stars")]
    ///     rating: i32,
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::on(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// let mut old = DynamicEntity::from_entity(&Blog { channel: "Channel9".into(), id: 1, rating: 3 })?;
    /// old.remove("rating");
    /// old.insert("stars", 3);
    /// blogs.typed().insert(&old).await?;
    ///
    /// assert_eq!(blogs.upgrade_all().await?.applied(), 1);
    /// assert_eq!(blogs.upgrade_all().await?.unchanged(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where). A client that denies table scans refuses it: use
    /// [`upgrade_where`](Self::upgrade_where).
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    pub fn upgrade_all(&self) -> UpgradeAll<'static, E>
    where
        E: ReadEntity,
    {
        self.upgrade_where(self.query())
    }

    /// [`upgrade_all`](Self::upgrade_all), of the rows that a condition or a query selects. A condition on a property
    /// finds it under its present name alone.
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where).
    pub fn upgrade_where(&self, selected: impl RowSelection<E>) -> UpgradeAll<'static, E>
    where
        E: ReadEntity,
    {
        UpgradeAll::new(self, selected.into_query(self))
    }
}
