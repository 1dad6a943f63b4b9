//! The rows of a table in key order, in flat memory.
//!
//! Azure Storage and folders yield rows in the ordinal order of PartitionKey and RowKey, in one chain of pages. Cosmos
//! DB yields them in no order, and an address may hide it. Elsewhere, runs of rows are therefore sorted in memory and
//! written to one unnamed temporary file, and then merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

use azure_table::query::{BadRow, Scan};
use azure_table::{DynamicEntity, Profile, TableQuery, TableServiceClient};
use futures_util::stream::{self, BoxStream, Stream, StreamExt as _, TryStreamExt as _};

use crate::failure::{Done, Failure, fail};
use crate::interrupt::Interrupt;
use crate::rows::unread::{ReadRow, read_row};

/// The bytes of rows that are sorted in memory.
const RUN: usize = 12 << 20;
/// The bytes of a row in memory, beside its JSON.
const ROW: usize = 160;
/// The bytes of a run that are read together.
const BUFFER: usize = 32 << 10;
/// The pages that are requested before they are needed: the most that a stream holds.
const PREFETCH: usize = 1;

/// Parts of addresses that only Azure Storage, folders and Azurite have.
const ORDERED: [&str; 3] = [".table.core.", ".table.storage.azure.net", "://127.0.0.1:10002/"];

/// The key of a row. Its order is that of the service.
pub(crate) type Key = azure_table::Key<DynamicEntity>;

/// A key, and its row if it can be read.
pub(crate) type KeyedRow = (Key, ReadRow);

/// Returns the rows of a query in key order, each key once, with ETag and Timestamp.
///
/// The query may read the whole table. A query with `select_names` yields the named properties only.
///
/// Yields an error if the service fails, or does not keep its order, if the keys of a row cannot be read, or if a signal
/// comes while rows are sorted.
pub(crate) fn sorted_rows(
    service: &TableServiceClient,
    query: TableQuery<DynamicEntity>,
    interrupt: Interrupt,
) -> BoxStream<'static, Done<KeyedRow>> {
    let query = query.allow_table_scan().lenient();
    match is_ordered(service) {
        true => {
            let rows = query.prefetch(PREFETCH).stream();
            in_order(rows.map_ok(read_row).map_err(Failure::from)).boxed()
        }
        false => stream::once(sort(scan(service, query), interrupt, RUN))
            .try_flatten()
            .boxed(),
    }
}

/// Returns a scan of a query, for rows in any order. It has ranges of keys only if the service keeps their order.
pub(crate) fn scan<P>(service: &TableServiceClient, query: TableQuery<DynamicEntity, P>) -> Scan<DynamicEntity, P> {
    let scan = query.allow_table_scan().scan();
    match is_ordered(service) {
        true => scan,
        false => scan.concurrency(1),
    }
}

/// Returns `true` if the address shows a service that yields rows in key order.
pub(crate) fn is_ordered(service: &TableServiceClient) -> bool {
    service.profile() == Profile::Storage && ORDERED.iter().any(|part| service.endpoint().contains(part))
}

fn keyed(row: ReadRow) -> Done<KeyedRow> {
    let (partition, key) = match &row {
        Ok(row) => (row.partition_key.clone(), row.row_key.clone()),
        Err((keys, why)) => {
            let unknown = |_| Failure::new(format!("a row whose keys cannot be read: {why}"));
            serde_json::from_value(keys.clone()).map_err(unknown)?
        }
    };
    Ok((Key::from_text(partition, key)?, row))
}

/// Checks the order, on which a merge relies.
fn in_order(rows: impl Stream<Item = Done<ReadRow>>) -> impl Stream<Item = Done<KeyedRow>> {
    let mut last: Option<Key> = None;
    rows.map(move |row| {
        let row = keyed(row?)?;
        if let Some(last) = last.as_ref().filter(|last| **last >= row.0) {
            fail!("the service returned {:?} after {last:?}: not in key order", row.0);
        }
        last = Some(row.0.clone());
        Ok(row)
    })
}

/// Sorts the rows of a scan in runs of `most` bytes, and returns their merge.
async fn sort(
    rows: Scan<DynamicEntity, Result<DynamicEntity, BadRow>>,
    interrupt: Interrupt,
    most: usize,
) -> Done<BoxStream<'static, Done<KeyedRow>>> {
    let file = Arc::new(tempfile::tempfile()?);
    let (mut merge, mut run, mut bytes) = (Merge::default(), Vec::new(), 0);
    let mut pages = rows.stream();
    while let Some(page) = pages.try_next_page().await? {
        if interrupt.is_set() {
            return Err(Failure::interrupted(
                "stopped while rows were sorted: nothing was compared",
            ));
        }
        for row in page {
            let (key, row) = keyed(read_row(row))?;
            let line = serde_json::to_vec(&row)?.into_boxed_slice();
            bytes += ROW + line.len();
            run.push((key, line));
        }
        if bytes >= most {
            merge.add(&file, std::mem::take(&mut run))?;
            bytes = 0;
        }
    }
    merge.add(&file, run)?;
    for index in 0..merge.runs.len() {
        merge.advance(index)?;
    }
    let rows = |mut merge: Merge| async move { Ok(merge.next()?.map(|row| (row, merge))) };
    Ok(stream::try_unfold(merge, rows).boxed())
}

/// A run in the file.
struct Run {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Run {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        // All runs share the position of the file.
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(&mut buffer[..most])?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The first row of each run that is not merged yet.
#[derive(Default)]
struct Merge {
    runs: Vec<(BufReader<Run>, Option<ReadRow>)>,
    least: BinaryHeap<Reverse<(Key, usize)>>,
    last: Option<Key>,
}

impl Merge {
    /// Writes a run at the end of the file.
    fn add(&mut self, file: &Arc<File>, mut rows: Vec<(Key, Box<[u8]>)>) -> Done<()> {
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let at = (&**file).seek(SeekFrom::End(0))?;
        let mut lines = BufWriter::new(&**file);
        for (_, line) in rows {
            lines.write_all(&line)?;
            lines.write_all(b"\n")?;
        }
        lines.flush()?;
        drop(lines);
        let end = (&**file).stream_position()?;
        let file = Arc::clone(file);
        self.runs
            .push((BufReader::with_capacity(BUFFER, Run { file, at, end }), None));
        Ok(())
    }

    fn advance(&mut self, index: usize) -> Done<()> {
        let Some((reader, head)) = self.runs.get_mut(index) else {
            return Ok(());
        };
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? > 0 {
            let (key, row) = keyed(serde_json::from_slice(&line)?)?;
            *head = Some(row);
            self.least.push(Reverse((key, index)));
        }
        Ok(())
    }

    fn next(&mut self) -> Done<Option<KeyedRow>> {
        while let Some(Reverse((key, index))) = self.least.pop() {
            let row = self.runs.get_mut(index).and_then(|(_, head)| head.take());
            self.advance(index)?;
            // A row that is written while the table is read may be on two pages.
            if let Some(row) = row.filter(|_| self.last.as_ref() != Some(&key)) {
                self.last = Some(key.clone());
                return Ok(Some((key, row)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use azure_table::Emulator;

    use super::*;
    use crate::terminal::Terminal;

    /// The order of UTF-16 code units: the characters beyond U+FFFF are before U+E000.
    const KEYS: [&str; 5] = ["A", "a", "aa", "\u{1F600}", "\u{E000}"];

    async fn table(emulator: Emulator, keys: &[&str]) -> (TableServiceClient, TableQuery<DynamicEntity>) {
        let service = TableServiceClient::from_transport(emulator);
        let table = service.dynamic_table("Rows").unwrap();
        table.create_table().await.unwrap();
        for partition in keys.iter().rev() {
            for row in (0..60).map(|row| format!("r{}", row * 7 % 60)) {
                let mut row = DynamicEntity::new(*partition, row);
                row.insert("Value", f64::NAN);
                table.insert(&row).await.unwrap();
            }
        }
        (service, table.query())
    }

    async fn keys(rows: BoxStream<'static, Done<KeyedRow>>) -> Vec<(String, String)> {
        let rows: Vec<_> = rows.try_collect().await.unwrap();
        let rows: Vec<_> = rows.into_iter().map(|(_, row)| row.unwrap()).collect();
        assert!(rows.iter().all(|row| row.etag.is_some() && row.timestamp.is_some()));
        assert!(rows.iter().all(|row| row.properties.contains_key("Value")));
        rows.into_iter().map(|row| (row.partition_key, row.row_key)).collect()
    }

    #[tokio::test]
    async fn runs_of_cosmos_are_merged_in_the_order_of_storage() {
        let (service, query) = table(Emulator::new(), &KEYS).await;
        let expected = keys(sorted_rows(&service, query, Interrupt::listen(Terminal::default()))).await;
        assert_eq!(expected.len(), 300);
        let (service, query) = table(Emulator::cosmos(), &KEYS).await;
        let query = query.page_size(10);
        assert_eq!(
            keys(sorted_rows(
                &service,
                query.clone(),
                Interrupt::listen(Terminal::default())
            ))
            .await,
            expected
        );
        let of_many_runs = sort(
            scan(&service, query.lenient()),
            Interrupt::listen(Terminal::default()),
            1_000,
        )
        .await
        .unwrap();
        assert_eq!(keys(of_many_runs).await, expected);
    }

    #[tokio::test]
    async fn a_row_on_two_pages_is_yielded_once() {
        let (_, query) = table(Emulator::cosmos(), &["p"]).await;
        let rows: Vec<_> = query.stream().try_collect().await.unwrap();
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut merge = Merge::default();
        for _ in 0..2 {
            let run = rows.iter().map(|row| {
                let row = Ok(row.clone());
                (keyed(row.clone()).unwrap().0, serde_json::to_vec(&row).unwrap().into())
            });
            merge.add(&file, run.collect()).unwrap();
        }
        (0..2).for_each(|run| merge.advance(run).unwrap());
        let merged: Vec<_> = std::iter::from_fn(|| merge.next().unwrap()).collect();
        assert_eq!(merged.len(), 60);
    }

    #[tokio::test]
    async fn rows_out_of_order_are_an_error() {
        let rows = ["b", "a"].map(|key| Ok(Ok(DynamicEntity::new("p", key))));
        let rows: Vec<_> = in_order(stream::iter(rows)).collect().await;
        assert!(rows[1].as_ref().unwrap_err().to_string().contains("not in key order"));
    }
}
