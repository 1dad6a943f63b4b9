//! A stream that goes on while its items are used: rows are read and decoded while earlier ones are written.

use std::pin::pin;

use azure_table::DynamicEntity;
use azure_table::query::{ScanPosition, ScanStream};
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::mpsc;

use crate::failure::Done;

/// The pages that are read ahead.
const PAGES: usize = 4;

/// Runs a stream in a task of its own.
pub(crate) fn read_ahead<T: Send + 'static>(items: impl Stream<Item = T> + Send + 'static) -> impl Stream<Item = T> {
    let (sender, receiver) = mpsc::channel(PAGES);
    tokio::spawn(async move {
        let mut items = pin!(items);
        while let Some(item) = items.next().await
            && sender.send(item).await.is_ok()
        {}
    });
    stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    })
}

/// Returns the pages of a scan, with the position behind each.
pub(crate) fn scanned_pages(
    scan: ScanStream<DynamicEntity>,
) -> impl Stream<Item = Done<(Vec<DynamicEntity>, ScanPosition)>> {
    read_ahead(stream::try_unfold(scan, |mut scan| async move {
        let rows = scan.try_next_page().await?;
        Ok(rows.map(|rows| ((rows, scan.position().clone()), scan)))
    }))
}
