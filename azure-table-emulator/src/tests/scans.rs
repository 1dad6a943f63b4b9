//! Queries that examine many rows: other clients run in between, and a page still shows one state of its table.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use cpu_time::ThreadTime;
use futures::poll;

use super::*;

const ROWS: usize = 6_000;

/// Creates a table with many rows, so that the query below takes long.
fn many_rows() -> Emulator {
    let emulator = Emulator::new();
    let rows = (0..ROWS).map(|n| {
        let properties = vec![("Rating".into(), 7.into())];
        Ok(("p".to_owned(), format!("{n:04}"), properties))
    });
    seed_rows(&emulator, "Blogs", rows).unwrap();
    emulator
}

/// Builds a filter with as many comparisons as a URL has room for; no row matches.
fn long_query() -> String {
    let comparisons: Vec<String> = (0..1_200).map(|n| format!("Rating%20eq%20{}", 1_000 + n)).collect();
    format!("Blogs()?$filter={}", comparisons.join("%20or%20"))
}

/// Writes and reads a row. Reads alone would share the store's lock with a scan that holds it.
async fn write_and_read_one(emulator: &Emulator) {
    write(emulator, "PUT", "0700", 7).await;
    let response = send(emulator, "GET", "Blogs(PartitionKey='p',RowKey='0700')", &[], "").await;
    assert_eq!(response.status(), 200);
}

/// The end of a turn depends on its work, so the number of turns is the same on every machine. Only the shares of the
/// turns in the CPU time of the scan are measured.
#[tokio::test]
async fn long_scan_leaves_point_reads_and_writes_room_after_each_of_3000_turns() {
    let emulator = many_rows();
    let query = long_query();
    let mut scan = pin!(send(&emulator, "GET", &query, &[], ""));
    let mut turns = Vec::new();
    let response = loop {
        let started = ThreadTime::now();
        let polled = poll!(&mut scan);
        turns.push(started.elapsed());
        match polled {
            Poll::Ready(response) => break response,
            // Every turn ends alike, so a write and a read after some of them suffice.
            Poll::Pending if turns.len() % 16 == 1 => write_and_read_one(&emulator).await,
            Poll::Pending => {}
        }
    };
    assert_eq!((response.status().as_u16(), body(&response)), (200, r#"{"value":[]}"#));
    assert!(turns.len() >= 3_000, "{} turns", turns.len());
    let (longest, whole) = (turns.iter().max().unwrap(), turns.iter().sum::<Duration>());
    assert!(*longest < whole / 20, "a turn of {longest:?} in a scan of {whole:?}");
}

/// A query that takes several turns: rows with a rating of 1.
const RATED: &str = "Blogs()?$select=RowKey&$filter=Rating%20eq%201";

async fn write(emulator: &Emulator, method: &str, row_key: &str, rating: i32) {
    let path = format!("Blogs(PartitionKey='p',RowKey='{row_key}')");
    let written = send(
        emulator,
        method,
        &path,
        &[("if-match", "*")],
        &format!(r#"{{"Rating":{rating}}}"#),
    )
    .await;
    assert_eq!(written.status(), 204, "{}", body(&written));
}

async fn insert(emulator: &Emulator, row_key: &str, rating: i32) {
    let row = format!(r#"{{"PartitionKey":"p","RowKey":"{row_key}","Rating":{rating}}}"#);
    let inserted = send(emulator, "POST", "Blogs", &[], &row).await;
    assert_eq!(inserted.status(), 201, "{}", body(&inserted));
}

fn row_keys(page: &Response<Bytes>) -> Vec<String> {
    let page: serde_json::Value = serde_json::from_slice(page.body()).unwrap();
    let rows = page["value"].as_array().unwrap().iter();
    rows.map(|row| row["RowKey"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn page_shows_the_table_at_its_beginning() {
    let emulator = many_rows();
    for row_key in ["0000", "3000", "4000", "5999"] {
        write(&emulator, "PUT", row_key, 1).await;
    }
    let mut page = pin!(send(&emulator, "GET", RATED, &[], ""));
    assert!(poll!(&mut page).is_pending(), "it takes one turn");
    // Changes rows that were already read, and others that were not.
    for (row_key, rating) in [("0000", 7), ("0001", 1), ("3000", 7), ("3000", 8), ("5998", 1)] {
        write(&emulator, "PUT", row_key, rating).await;
    }
    assert!(poll!(&mut page).is_pending(), "it takes two turns");
    write(&emulator, "DELETE", "4000", 0).await;
    insert(&emulator, "4000", 7).await;
    write(&emulator, "DELETE", "5999", 0).await;
    insert(&emulator, "0000a", 1).await;
    insert(&emulator, "5000a", 1).await;
    insert(&emulator, "9999", 1).await;
    assert_eq!(row_keys(&page.await), ["0000", "3000", "4000", "5999"]);
    let after = send(&emulator, "GET", RATED, &[], "").await;
    assert_eq!(row_keys(&after), ["0000a", "0001", "5000a", "5998", "9999"]);
}

#[tokio::test]
async fn page_restarts_if_its_table_was_replaced() {
    let emulator = many_rows();
    let before = emulator.snapshot();
    let mut page = pin!(send(&emulator, "GET", RATED, &[], ""));
    let mut in_vain = pin!(send(&emulator, "GET", RATED, &[], ""));
    assert!(poll!(&mut page).is_pending() && poll!(&mut in_vain).is_pending());
    assert_eq!(
        send(&emulator, "DELETE", "Tables('Blogs')", &[], "").await.status(),
        204
    );
    let Poll::Ready(in_vain) = poll!(&mut in_vain) else {
        panic!("there is nothing to read");
    };
    assert_eq!(
        error(&in_vain),
        rejected(404, "TableNotFound", "The table specified does not exist.")
    );
    assert_eq!(
        send(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#)
            .await
            .status(),
        201
    );
    // Before the rows that the page has reached.
    insert(&emulator, "0000a", 1).await;
    assert_eq!(row_keys(&page.await), ["0000a"]);

    emulator.restore(&before).unwrap();
    let mut page = pin!(send(&emulator, "GET", RATED, &[], ""));
    assert!(poll!(&mut page).is_pending());
    emulator.restore(&before).unwrap();
    // Before the rows that the page has reached.
    insert(&emulator, "0000a", 1).await;
    assert_eq!(row_keys(&page.await), ["0000a"]);
}

fn query_of(length: usize) -> String {
    let address = format!("{BASE}/Blogs()?$filter=Rating%20eq%20");
    format!(
        "Blogs()?$filter=Rating%20eq%20{}1",
        "0".repeat(length - address.len() - 1)
    )
}

#[tokio::test]
async fn url_of_more_than_32767_characters_is_rejected() {
    let (seen, sink) = std::sync::mpsc::channel();
    let observe = move |request: &ResponseEvent| drop(seen.send(request.why.clone()));
    let emulator = with_table().await.observer(observe);
    let longest = send(&emulator, "GET", &query_of(32_767), &[], "").await;
    assert_eq!(longest.status(), 200);
    let too_long = send(&emulator, "GET", &query_of(32_768), &[], "").await;
    assert_eq!((too_long.status().as_u16(), body(&too_long)), (414, ""));
    let why = "the URL has 32768 characters, more than the limit of 32767".to_owned();
    assert_eq!(sink.try_iter().collect::<Vec<_>>(), [None, Some(why)]);
}

#[tokio::test]
async fn url_of_more_than_32767_characters_is_rejected_in_a_batch() {
    let emulator = with_table().await;
    for (length, expected) in [(32_767, 202), (32_768, 400), (180_000, 400)] {
        let part = format!(
            "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET {BASE}/{} HTTP/1.1\r\n\
             Accept: application/json;odata=nometadata\r\n\r\n\r\n--b--\r\n",
            query_of(length)
        );
        let content_type = [("content-type", "multipart/mixed; boundary=b")];
        let response = send(&emulator, "POST", "$batch", &content_type, &part).await;
        assert_eq!(response.status().as_u16(), expected, "{length}: {}", body(&response));
        if expected == 400 {
            assert_eq!(error(&response).1, "InvalidInput");
        }
    }
}
