//! The properties that a query reads from each row, and the type of the result.

use std::sync::Arc;

use azure_table_core::filter::projection::Projection;
use azure_table_core::filter::select::Columns;
use azure_table_core::model::dynamic::DynamicEntity;
use azure_table_core::model::entity::{MetadataLevel, ReadEntity, TableEntity};
use azure_table_core::model::entity_key::Key;
use azure_table_core::model::error::Result;
use azure_table_core::model::row::Row;
use azure_table_core::model::versioned::Versioned;

use crate::client::query::TableQuery;
use crate::client::shape::Shape;
use crate::client::shape::bad_row::BadRow;

impl<E: TableEntity, P: ReadEntity> TableQuery<E, P> {
    /// Reads each entity with its ETag and Timestamp.
    pub fn versioned(self) -> TableQuery<E, Versioned<P>> {
        self.shaped(Shape::<P>::versioned())
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Reads only the keys.
    pub fn keys(self) -> TableQuery<E, Key<E>>
    where
        E: 'static,
    {
        self.shaped(Shape::of_keys())
    }

    /// Reads only the columns of the projection.
    pub fn project<Q: Projection<E>>(self) -> TableQuery<E, Q> {
        self.shaped(Shape::of_type())
    }

    /// Reads only these columns, as a tuple of their values: `.select((Blog::TEXT, Blog::RATING))`.
    pub fn select<C: Columns<E>>(self, columns: C) -> TableQuery<E, C::Values>
    where
        C::Values: 'static,
    {
        self.shaped(Shape::of_columns(columns))
    }

    /// Reads only the properties with these names, known at run time.
    ///
    /// Properties that a row lacks are absent.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// let names = ["Text", "Rating"].map(String::from);
    /// let rows: Vec<DynamicEntity> = blogs.query().select_names(names).all().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The stream or page returns:
    /// - `InvalidInput`: a text is not a valid property name.
    pub fn select_names<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> TableQuery<E, DynamicEntity> {
        self.shaped(Shape::of_names(names.into_iter().map(Into::into).collect()))
    }

    /// Reads each row with a closure.
    ///
    /// The closure receives all properties with their types, and the ETag. It returns errors of this crate;
    /// [`Error::other`](crate::Error::other) converts any other error.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Error, TableClient};
    /// # async fn numbered(blogs: TableClient<DynamicEntity>) -> azure_table::Result<()> {
    /// let numbered = blogs.query().partition("Channel9").resolve(|row| {
    ///     let number: u32 = row.row_key()?.parse().map_err(Error::other)?;
    ///     Ok((number, row.property::<String>("Text")?))
    /// });
    /// let rows: Vec<(u32, String)> = numbered.all().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "EntityResolver")]
    pub fn resolve<Q>(self, resolve: impl Fn(&Row<'_>) -> Result<Q> + Send + Sync + 'static) -> TableQuery<E, Q> {
        self.shaped(Shape::of_closure(resolve))
    }

    /// Continues after rows that do not fit the row type.
    ///
    /// Each item is a `P`, or a [`BadRow`] with the error. Requests the types of all properties.
    pub fn lenient(self) -> TableQuery<E, Result<P, BadRow>>
    where
        P: 'static,
    {
        let shape = self.shape.clone().lenient();
        self.shaped(shape)
    }

    /// Skips rows that do not fit the row type, and calls `seen` with each of them.
    ///
    /// Skipped rows do not count toward a limit.
    pub fn skip_bad_rows(mut self, seen: impl Fn(&BadRow) + Send + Sync + 'static) -> Self {
        self.shape.on_bad_row = Some(Arc::new(seen));
        // Requests all types, so that a bad row can be shown unchanged.
        self.shape.metadata = MetadataLevel::Minimal;
        self
    }

    pub(super) fn shaped<Q>(self, shape: Shape<Q>) -> TableQuery<E, Q> {
        let mut shape = shape.of_variant(self.settings.pipeline.settings.variant);
        shape.on_bad_row = self.shape.on_bad_row;
        TableQuery {
            settings: self.settings,
            filter: self.filter,
            shape,
        }
    }
}
