//! Writes over all rows that a query selects: delete, patch, update, upgrade.

use crate::client::batching::source::query_write_builders::{DeleteWhere, PatchWhere, UpdateWhere, UpgradeWhere};
use crate::client::ops::modify_entity::ModifyOutcome;
use crate::client::query::selection::RowSelection;
use crate::client::table_handle::TableClient;
use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::filter::assignment::Assignments;
use crate::filter::projection::UpdatableRow;

/// Writes over all rows that a query selects.
///
/// The client reads a page and writes its rows in concurrent batches, of one partition and at most 100 rows each. Then
/// it reads the next page. **These writes are not atomic**: each batch is atomic, the whole is not. Use
/// [`atomic`](UpdateWhere::atomic) to write up to 100 rows of one partition all or nothing.
///
/// Each row is written under the ETag with which it was read, so that no other change is overwritten. The service
/// rejects a row that was changed in between. It is listed in the [`WriteReport`](crate::bulk::WriteReport), and the
/// other rows are written.
///
/// An error that concerns no single row, such as a lost connection, ends the operation with an
/// [`Interrupted`](crate::bulk::Interrupted). It holds the report and the position to resume from.
///
/// After each failure in a batch, the client sends the remaining operations again.
impl<E: TableEntity> TableClient<E> {
    /// Deletes all rows that a condition or a query selects. Reads only their keys and ETags.
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
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
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
    /// Requests: 1 per page, 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// An [`Interrupted`](crate::bulk::Interrupted) with one of these errors. Errors about single rows are in the
    /// report.
    /// - The error of a page: see [`TableQuery`](crate::TableQuery).
    /// - `Unauthenticated`, `Forbidden`, `Connection`, `Timeout`, `Throttled`, `ServerFault`, `TableNotFound`: a
    ///   write failed.
    /// - `InvalidInput`: the query is of another table, it resumes from a continuation of the secondary location, or the
    ///   client denies its access path. Or the filter selects a variant that only the form of its keys distinguishes:
    ///   see [`Variant::only`](crate::filter::Variant::only).
    /// - Any kind: more rows failed than [`max_failures`](DeleteWhere::max_failures) allows.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    #[doc(alias = "delete_by_partition", alias = "truncate")]
    pub fn delete_where(&self, selected: impl RowSelection<E>) -> DeleteWhere<'static, E> {
        DeleteWhere::new(self, selected.into_query(self))
    }

    /// Writes the named columns of all rows that a condition or a query selects, with the same values in each.
    ///
    /// Their other properties keep their value. Reads only keys and ETags.
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
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&Blog { channel: "Channel9".into(), id: 1, rating: 1 }).await?;
    /// let report = blogs.patch_where(Blog::RATING.lt(2), [Blog::RATING.set(2)]).await?;
    /// assert_eq!(report.applied(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page, 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`delete_where`](Self::delete_where).
    /// - `InvalidInput`: no column is set, or the service cannot store a value.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    pub fn patch_where(&self, selected: impl RowSelection<E>, columns: impl Assignments<E>) -> PatchWhere<'static, E> {
        PatchWhere::new(self, selected.into_query(self), columns)
    }

    /// Reads all rows that a condition or a query selects, changes each with the closure and writes it back.
    ///
    /// The closure returns the same as with [`modify`](Self::modify): nothing, which saves the row; a
    /// [`Change`](crate::Change); or a `Result` of either. An `Err` ends the operation.
    ///
    /// Properties that the struct does not declare stay in the row, unlike with `modify` and `replace`.
    /// [`upgrade_where`](Self::upgrade_where) with `drop_unknown` removes them. A field that the closure sets to `None`
    /// is removed. A row that does not read as an `E` is a failure, unless the query
    /// [skips](crate::TableQuery::skip_bad_rows) it.
    ///
    /// With [`project`](crate::TableQuery::project) on the query, the closure gets the projection. Only its columns are
    /// read, and only they are merged back; none of them can be removed. A row that has none of them is not written.
    /// For a `DynamicEntity`, [`select_names`](crate::TableQuery::select_names) does the same.
    ///
    /// Each row is written at most once, even after a crash and [`resume_from`](UpdateWhere::resume_from), so a closure
    /// that increments a counter is safe. For that, store the position before
    /// [`on_progress`](UpdateWhere::on_progress) returns. Rows that were in doubt or in flight at the position are not
    /// processed again, so up to [`concurrency`](UpdateWhere::concurrency) batches may be missing after a crash. A
    /// [`repeatable`](UpdateWhere::repeatable) closure misses none. The closure itself may run again for a row that was
    /// not written.
    ///
    /// ```
    /// # use azure_table::{Change, Emulator, Projection, TableEntity, TableServiceClient};
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
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
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
    ///
    /// /// Reads and writes only the rating.
    /// #[derive(Projection)]
    /// #[table(of = Blog)]
    /// struct Rating {
    ///     rating: i32,
    /// }
    /// let ratings = blogs.query().partition("Channel9").project::<Rating>();
    /// let written = blogs.update_where(ratings, |blog| blog.rating = 4).atomic().await?;
    /// assert_eq!(written, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page, 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`delete_where`](Self::delete_where).
    /// - `InvalidInput`: the closure changed a key, or removed a property of a projection.
    /// - The error that the closure returns. In that case no row of the page is written.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    pub fn update_where<S, F, R>(&self, selected: S, change: F) -> UpdateWhere<'static, E, S::Row, F, R>
    where
        S: RowSelection<E, Row: UpdatableRow<E>>,
        F: FnMut(&mut S::Row) -> R,
        R: ModifyOutcome,
    {
        UpdateWhere::new(self, selected.into_query(self), change)
    }

    /// Rewrites the rows that a condition or a query selects, if the struct would store them differently.
    ///
    /// `table.query()` selects all rows. A condition on a property matches it under its current name and
    /// type only.
    ///
    /// Rewritten are rows that are read through an `alias`, a `default` or an `upgrade`, or that store a property with
    /// another type. Rows that are up to date are not written, so a second run writes nothing. After a run over all
    /// rows without failures the attributes can be removed.
    ///
    /// A property under an older name is removed once its value is stored under the current name, and so are the
    /// properties that the `upgrade` function removed from its row. First stop the programs that read only the older
    /// names.
    ///
    /// All other properties that the struct does not know stay, unless [`drop_unknown`](UpgradeWhere::drop_unknown) is
    /// set. A row with a field whose text differs on each write, such as the `json` of a `HashMap`, is written by every
    /// run.
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
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
    /// # blogs.create_table().await?;
    /// let mut old = DynamicEntity::from_entity(&Blog { channel: "Channel9".into(), id: 1, rating: 3 })?;
    /// old.remove("rating");
    /// old.insert("stars", 3);
    /// blogs.typed().insert(&old).await?;
    ///
    /// assert_eq!(blogs.upgrade_where(blogs.query()).await?.applied(), 1);
    /// assert_eq!(blogs.upgrade_where(blogs.query()).await?.unchanged(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page, 1 per batch. Lost response: [reconciled](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of [`delete_where`](Self::delete_where).
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    pub fn upgrade_where(&self, selected: impl RowSelection<E>) -> UpgradeWhere<'static, E>
    where
        E: ReadEntity,
    {
        UpgradeWhere::new(self, selected.into_query(self))
    }
}
