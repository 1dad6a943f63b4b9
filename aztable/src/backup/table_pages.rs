//! The rows of a table in the order of their keys, page by page, with the position behind each page.

use azure_table::{Continuation, DynamicEntity, TableClient, TableServiceClient};
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};

use crate::failure::{Done, Failure};
use crate::rows::sorted::{is_ordered, sorted_rows};
use crate::rows::unread::{ReadRow, read_row};
use crate::session::Session;

/// The rows of a page of sorted rows.
const PAGE: usize = 1_000;

/// Rows, and the position behind them, if the service has one in this order.
pub(crate) type TablePage = (Vec<ReadRow>, Option<Continuation>);

/// Reads a table from a position on. A service without this order has no positions in it: its rows are sorted first.
pub(crate) fn table_pages(
    service: &TableServiceClient,
    table: &TableClient<DynamicEntity>,
    from: Option<Continuation>,
    session: &Session,
) -> BoxStream<'static, Done<TablePage>> {
    if !is_ordered(service) {
        let rows = sorted_rows(service, table.query(), session.interrupt.clone()).try_chunks(PAGE);
        return rows
            .map_ok(|rows| (rows.into_iter().map(|(_, row)| row).collect(), None))
            .map_err(|error| error.1)
            .boxed();
    }
    let query = table.query().allow_table_scan().prefetch(1);
    let query = query.resume_from(from.unwrap_or_default());
    let pages = stream::try_unfold(query.lenient().pages(), |mut pages| async move {
        let page = pages.try_next().await.map_err(Failure::from)?;
        Ok(page.map(|page| {
            let next = page.continuation().clone();
            let rows = page.into_items().into_iter().map(read_row).collect();
            ((rows, Some(next)), pages)
        }))
    });
    pages.boxed()
}
