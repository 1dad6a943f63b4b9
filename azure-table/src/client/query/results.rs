//! The results of a query: rows, pages, a count, or the text of its request.
//!
//! `entity_stream.rs` and `page_stream.rs` have the streams.

use azure_table_wire::error::Result;

use crate::client::query::entity_stream::EntityStream;
use crate::client::query::page_chain::Prefetch;
use crate::client::query::page_stream::PageStream;
use crate::client::query::table_query::TableQuery;
use crate::client::shape::Shape;
use crate::entity::table_entity::TableEntity;

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Returns the rows as a stream that spans all pages.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    pub fn stream(self) -> EntityStream<P> {
        EntityStream::new(self.pages())
    }

    /// Returns the pages as a stream, empty pages included.
    ///
    /// The first page is requested when the stream is first polled.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    #[doc(alias("AsPages", "ExecuteQuerySegmented"))]
    pub fn pages(self) -> PageStream<P> {
        self.pages_with(Prefetch::AfterFirst)
    }

    /// Reads all rows into a `Vec`.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error of the first page that fails.
    pub async fn all(self) -> Result<Vec<P>> {
        self.pages_with(Prefetch::FromStart).all().await
    }

    /// Reads the first row, or `None` if no row matches.
    ///
    /// Requests: 1 per page up to the first row. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error of the first page that fails.
    pub async fn first(self) -> Result<Option<P>> {
        self.limit_at_most(1).stream().try_next().await
    }

    /// Counts the rows.
    ///
    /// The service cannot count rows, so the client requests one key per row. The service reads as much as for whole
    /// rows.
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the error of the first page that fails.
    pub async fn count(self) -> Result<usize> {
        let mut pages = self.shaped(Shape::for_nothing()).pages_with(Prefetch::FromStart);
        let mut count = 0;
        while let Some(page) = pages.try_next().await? {
            count += page.items().len();
        }
        Ok(count)
    }

    /// Returns the request for the first page as text, without sending it.
    ///
    /// The text has the method, the URL and the headers, but no credential. A finished query never sends it.
    ///
    /// # Errors
    /// Returns the errors of the first read that occur before anything is sent.
    pub fn request_text(self) -> Result<String> {
        self.pages().into_chain().request()
    }
}
