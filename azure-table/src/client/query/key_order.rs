//! Reads that follow the order of the keys: the last rows.
//!
//! The service reads forward only, so the last rows of a query cost all of its pages. Cosmos DB does not return rows in
//! the order of the keys.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use std::collections::VecDeque;

use crate::client::query::page_chain::Prefetch;
use crate::client::query::table_query::{QuerySettings, TableQuery};
use crate::entity::table_entity::TableEntity;

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Reads the last `rows` rows, in the order of the keys.
    ///
    /// The service reads forward only, so this method reads **all rows of the query**, page by page, and returns the
    /// last ones. It fails beyond `max_pages` pages. Keep the range short: one partition, a prefix, or a filter on the
    /// RowKey. With a [`Descending`](crate::Descending) key, the newest rows come first, and [`limit`](Self::limit)
    /// reads them at the cost of one page.
    ///
    /// ```
    /// use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// # for n in 1..=6 { blogs.insert(&DynamicEntity::new("Channel9", n.to_string())).await?; }
    /// // The page before the one that begins with row 4.
    /// let before = Column::<DynamicEntity, String, _>::row_key().lt("4");
    /// let page = blogs.query().partition("Channel9").filter(before).last_rows(2, 10).await?;
    /// assert_eq!(page.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["2", "3"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page of the whole query, at most `max_pages`. Lost response:
    /// [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the query has more than `max_pages` pages.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): Cosmos DB does not return rows in key order.
    /// - The error of the first page that fails.
    ///
    /// Source: REST "Query timeout and pagination".
    pub async fn last_rows(self, rows: usize, max_pages: usize) -> Result<Vec<P>> {
        let table = self.settings.table.as_str().to_owned();
        let in_query = |error: Error| error.in_operation(OperationKind::Query, Some(&table));
        self.settings
            .check_order("use `resume_from` with a continuation")
            .map_err(in_query)?;
        let mut pages = self.pages_with(Prefetch::Never);
        let mut last = VecDeque::new();
        for _ in 0..max_pages {
            let Some(page) = pages.try_next().await? else {
                return Ok(last.into());
            };
            let is_end = page.continuation().is_finished();
            last.extend(page.into_items());
            last.drain(..last.len().saturating_sub(rows));
            // A limit may end with a page.
            if is_end || pages.is_over() {
                return Ok(last.into());
            }
        }
        Err(in_query(Error::invalid_input(format!(
            "the query has more than {max_pages} pages: raise `max_pages`, or select a shorter range"
        ))))
    }
}

impl QuerySettings {
    /// Rejects a service that does not return rows in the order of the keys.
    pub(super) fn check_order(&self, remedy: &str) -> Result<()> {
        let profile = self.pipeline.endpoint.profile();
        if profile.rules().is_ordered {
            return Ok(());
        }
        let why = format!("{profile} does not return rows in the order of the keys: {remedy}");
        Err(Error::new(ErrorKind::Unsupported, why))
    }
}
