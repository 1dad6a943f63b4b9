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
/// it reads the next page. **These writes are not atomic**: each batch is, but not the call as a whole. Use
/// [`atomic`](UpdateWhere::atomic) to write up to 100 rows of one partition all or nothing.
///
/// Each row is written under the ETag that it was read with, so it never overwrites another change. If a row was
/// changed in between, the service rejects its write, and the [`WriteReport`](crate::bulk::WriteReport) lists it. The
/// other rows are written.
///
/// An error that is not about a single row, such as a lost connection, ends the operation with an
/// [`Interrupted`](crate::bulk::Interrupted), which holds the report and the position to resume from.
///
/// If an operation makes its batch fail, the client sends the others again.
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
    /// - `InvalidInput`: the query belongs to another table, it resumes from a continuation of the secondary location,
    ///   or the client denies its access path. Also if the filter selects a variant that only the form of its keys
    ///   distinguishes: see [`Variant::only`](crate::filter::Variant::only).
    /// - Any kind: more rows failed than [`max_failures`](DeleteWhere::max_failures) allows.
    ///
    /// Source: REST "Query Entities", "Performing entity group transactions".
    #[doc(alias = "delete_by_partition", alias = "truncate")]
    pub fn delete_where(&self, selected: impl RowSelection<E>) -> DeleteWhere<'static, E> {
        DeleteWhere::new(self, selected.into_query(self))
    }

    /// Sets the given columns to the same values in all rows that a condition or a query selects.
    ///
    /// All other properties keep their value. Reads only keys and ETags.
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
    /// As with [`modify`](Self::modify), a closure that returns nothing saves the row. It may also return a
    /// [`Change`](crate::Change), or a `Result` of either. An `Err` ends the operation.
    ///
    /// Properties that the struct does not declare stay in the row, unlike with `modify` and `replace`.
    /// [`upgrade_where`](Self::upgrade_where) with `drop_unknown` removes them. A field that the closure sets to `None`
    /// is removed. A row that cannot be read as an `E` counts as a failure, unless the query
    /// [skips](crate::TableQuery::skip_bad_rows) it.
    ///
    /// With [`project`](crate::TableQuery::project) on the query, the closure receives the projection. Only its columns
    /// are read and merged back, and the closure cannot remove any of them. A row that has none of them is not written.
    /// For a `DynamicEntity`, [`select_names`](crate::TableQuery::select_names) does the same.
    ///
    /// Each row is written at most once, even after a crash and [`resume_from`](UpdateWhere::resume_from), so the
    /// closure may increment a counter. This holds if you store the position before
    /// [`on_progress`](UpdateWhere::on_progress) returns. A resumed run skips rows that were in doubt or in flight at
    /// the position, so after a crash up to [`concurrency`](UpdateWhere::concurrency) batches may be missing. A
    /// [`repeatable`](UpdateWhere::repeatable) closure misses none. The closure may still run again for a row that was
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
    /// - The error that the closure returns. No row of its page is written then.
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
    /// Pass `table.query()` to select all rows. A condition on a property matches only its current name and type.
    ///
    /// The client rewrites rows that are read through an `alias`, a `default` or an `upgrade`, or that store a property
    /// with another type. It does not write rows that are up to date, so a second run writes nothing. Once a run over
    /// all rows ends without failures, you can remove the attributes.
    ///
    /// Properties under older names are removed once their values are stored under the current names, and so are the
    /// properties that the `upgrade` function removed from its row. First stop all programs that read only the older
    /// names.
    ///
    /// All other properties that the struct does not know stay, unless [`drop_unknown`](UpgradeWhere::drop_unknown) is
    /// set. If the text of a field differs on each write, such as the `json` of a `HashMap`, every run writes its rows.
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
