//! When the pages of a query are requested, and how many are in memory. On a paused clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{TableClient, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned};
use azure_table_tests::intercept::Intercept;
use bytes::Bytes;
use http::Response;
use tokio::time::{Instant, sleep};

const LATENCY: Duration = Duration::from_millis(20);
const ROWS: usize = 10;

/// A table of pages that each take time. It counts the requests, and the pages that are in memory.
#[derive(Clone, Debug)]
struct Pages {
    count: usize,
    requested: Arc<AtomicUsize>,
    held: Arc<AtomicUsize>,
    most_held: Arc<AtomicUsize>,
}

/// A body that is counted while it is in memory.
struct Held(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Pages {
    fn new(count: usize) -> Self {
        Self {
            count,
            requested: Arc::default(),
            held: Arc::default(),
            most_held: Arc::default(),
        }
    }

    fn table(&self) -> TableClient {
        let pages = self.clone();
        let transport = Intercept::new(Canned::default(), move |_, request| {
            pages.requested.fetch_add(1, Ordering::SeqCst);
            let query = request.uri().query().unwrap_or_default();
            let number = query.split("NextPartitionKey=").nth(1);
            let response = pages.page(number.map_or(0, |number| number.parse().unwrap()));
            async move {
                sleep(LATENCY).await;
                Ok(response())
            }
        });
        let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
        service.transport(transport).dynamic_table("Things").unwrap()
    }

    /// Returns a function that makes the response, from when on it is in memory.
    fn page(&self, page: usize) -> impl FnOnce() -> Response<Bytes> + Send + use<> {
        let Self {
            count, held, most_held, ..
        } = self.clone();
        move || {
            let row = |n| format!(r#"{{"PartitionKey":"p","RowKey":"{page:03}-{n}"}}"#);
            let rows: Vec<_> = (0..ROWS).map(row).collect();
            most_held.fetch_max(held.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let body = format!(r#"{{"value":[{}]}}"#, rows.join(",")).into_bytes();
            let mut response = Response::builder();
            if page + 1 < count {
                response = response.header("x-ms-continuation-NextPartitionKey", (page + 1).to_string());
            }
            response.body(Bytes::from_owner(Held(body, held))).unwrap()
        }
    }

    fn requested(&self) -> usize {
        self.requested.load(Ordering::SeqCst)
    }
}

/// Reads all rows, with this much work for each page. Returns the elapsed time.
async fn read(pages: &Pages, prefetch: Option<usize>, work: Duration) -> Duration {
    let mut query = pages.table().query();
    if let Some(pages) = prefetch {
        query = query.prefetch(pages);
    }
    let started = Instant::now();
    let mut rows = query.stream();
    let mut keys = Vec::new();
    while let Some(row) = rows.try_next().await.unwrap() {
        sleep(work / ROWS as u32).await;
        keys.push(row.row_key);
    }
    let expected: Vec<_> = (0..pages.count)
        .flat_map(|page| (0..ROWS).map(move |n| format!("{page:03}-{n}")))
        .collect();
    assert_eq!(keys, expected);
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn next_page_is_requested_before_the_current_one_is_read() {
    let pages = Pages::new(5);
    let mut rows = pages.table().query().stream();
    let mut requested_when_read = Vec::new();
    while rows.try_next().await.unwrap().is_some() {
        sleep(Duration::from_millis(1)).await;
        requested_when_read.push(pages.requested());
    }
    let at = |page: usize, row: usize| requested_when_read[page * ROWS + row];
    let of_first = (at(0, 0), at(0, ROWS - 1));
    assert_eq!(of_first, (1, 1), "who reads one page causes one request");
    for page in 1..4 {
        assert_eq!((at(page, 0), at(page, ROWS - 1)), (page + 2, page + 2));
    }
    let in_total = (at(4, ROWS - 1), pages.requested());
    assert_eq!(in_total, (5, 5), "no page is behind the last");
}

/// On one thread, too: decoding a page delays the others.
#[tokio::test(start_paused = true)]
async fn next_page_is_requested_before_the_current_one_is_decoded() {
    let pages = Pages::new(3);
    let seen = pages.clone();
    let query = pages.table().query().prefetch(1).resolve(move |_| Ok(seen.requested()));
    let requested = query.all().await.unwrap();
    let when_decoded: Vec<_> = requested.iter().step_by(ROWS).copied().collect();
    assert_eq!(when_decoded, [2, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn prefetch_can_start_with_the_first_page_or_be_off() {
    for (prefetch, first, then) in [(1, 2, 3), (0, 1, 2)] {
        let pages = Pages::new(3);
        let mut rows = pages.table().query().prefetch(prefetch).stream();
        rows.try_next().await.unwrap();
        sleep(LATENCY * 2).await;
        assert_eq!(pages.requested(), first, "no more than one page ahead");
        for _ in 0..ROWS {
            rows.try_next().await.unwrap();
        }
        sleep(Duration::from_millis(1)).await;
        assert_eq!(pages.requested(), then);
    }
    let error = Pages::new(1).table().query().prefetch(2).all().await.unwrap_err();
    assert!(error.to_string().contains("prefetch 2"), "{error}");
}

/// With a reader as slow as the service, nearly half of the time is saved.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_does_not_wait_for_the_service() {
    let (with, without) = (Pages::new(100), Pages::new(100));
    let with = read(&with, None, LATENCY).await;
    let without = read(&without, Some(0), LATENCY).await;
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    assert!(ratio <= 0.6, "{ratio:.3}");
}

/// The bytes of one page and the rows of the page before: nothing else is in memory, at any pace of the reader.
#[tokio::test(start_paused = true)]
async fn no_more_than_one_page_waits_for_its_reader() {
    for work in [Duration::ZERO, LATENCY / 4, LATENCY * 4] {
        let pages = Pages::new(20);
        read(&pages, Some(1), work).await;
        assert_eq!(pages.requested(), 20);
        assert_eq!(pages.held.load(Ordering::SeqCst), 0);
        assert_eq!(pages.most_held.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn no_page_is_requested_after_the_limit() {
    for (limit, requests) in [(ROWS, 1), (ROWS + 1, 2), (2 * ROWS, 2), (2 * ROWS + 1, 3)] {
        let pages = Pages::new(9);
        let mut rows = pages.table().query().prefetch(1).limit(limit).stream();
        while rows.try_next().await.unwrap().is_some() {
            sleep(LATENCY).await;
        }
        assert_eq!(pages.requested(), requests, "limit {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_leaves_no_request_behind() {
    let pages = Pages::new(9);
    let mut rows = pages.table().query().prefetch(1).stream();
    rows.try_next().await.unwrap();
    drop(rows);
    sleep(LATENCY * 5).await;
    assert!(pages.requested() <= 2);
    let holders = Arc::strong_count(&pages.requested);
    assert_eq!(holders, 1, "nobody has the transport any more");
    assert_eq!(pages.most_held.load(Ordering::SeqCst), 1, "its page never came");
}

/// Cancelling a reader in a wait loses nothing.
#[tokio::test(start_paused = true)]
async fn cancelled_read_loses_nothing() {
    for prefetch in [0, 1] {
        let pages = Pages::new(4);
        let mut rows = pages.table().query().prefetch(prefetch).stream();
        let mut count = 0;
        loop {
            match tokio::time::timeout(LATENCY / 3, rows.try_next()).await {
                Err(_) => {}
                Ok(Ok(Some(_))) => count += 1,
                Ok(end) => break assert!(end.unwrap().is_none()),
            }
        }
        assert_eq!((count, pages.requested()), (4 * ROWS, 4));
    }
}

/// While a reader is busy with an item, the following reads are in flight.
#[azure_table::test(start_paused)]
async fn slow_reader_of_many_keys_waits_only_for_the_first(table: TableClient, faults: Faults) {
    let work = LATENCY / 10;
    faults.add(FaultRule::new(Fault::DelayRequest(LATENCY)).on_reads());
    for in_order in [true, false] {
        let keys = (0..160).map(|n| ("p".to_owned(), n.to_string()));
        let mut reads = table.get_many(keys).concurrency(16);
        if !in_order {
            reads = reads.unordered();
        }
        let started = Instant::now();
        while reads.try_next().await.unwrap().is_some() {
            sleep(work).await;
        }
        assert_eq!(started.elapsed(), LATENCY + 160 * work, "in order: {in_order}");
    }
}
