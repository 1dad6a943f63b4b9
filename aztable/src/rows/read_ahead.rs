//! A stream that goes on while its items are used: rows are read and decoded while earlier ones are written.

use std::panic::resume_unwind;
use std::pin::pin;

use azure_table::query::ScanPosition;
use azure_table::{DynamicEntity, TableQuery, TableServiceClient};
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::mpsc;

use crate::failure::Done;
use crate::rows::sorted::scan;
use crate::rows::unread::{ReadRow, read_row};

/// The pages that are read ahead.
const PAGES: usize = 4;

/// Runs a stream in a task of its own.
pub(crate) fn read_ahead<T: Send + 'static>(items: impl Stream<Item = T> + Send + 'static) -> impl Stream<Item = T> {
    let (sender, receiver) = mpsc::channel(PAGES);
    let reading = tokio::spawn(async move {
        let mut items = pin!(items);
        while let Some(item) = items.next().await
            && sender.send(item).await.is_ok()
        {}
    });
    stream::unfold((receiver, reading), |(mut receiver, reading)| async move {
        if let Some(item) = receiver.recv().await {
            return Some((item, (receiver, reading)));
        }
        // A panic is not the end of the items.
        match reading.await {
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            _ => None,
        }
    })
}

/// Returns the pages of a scan from a position on, with the position behind each.
pub(crate) fn scanned_pages(
    service: &TableServiceClient,
    query: TableQuery<DynamicEntity>,
    from: ScanPosition,
) -> impl Stream<Item = Done<(Vec<ReadRow>, ScanPosition)>> {
    let scan = scan(service, query.lenient()).resume_from(from).stream();
    read_ahead(stream::try_unfold(scan, |mut scan| async move {
        let rows = scan.try_next_page().await?;
        Ok(rows.map(|rows| {
            let rows = rows.into_iter().map(read_row).collect();
            ((rows, scan.position().clone()), scan)
        }))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[should_panic(expected = "of the source")]
    async fn panic_is_not_the_end_of_the_items() {
        let items = stream::iter([1, 2]).inspect(|item| assert_eq!(*item, 1, "of the source"));
        read_ahead(items).collect::<Vec<_>>().await;
    }
}
