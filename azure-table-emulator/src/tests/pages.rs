//! Pages that end at conditions set by a test.

use super::*;

async fn with_rows(ends: PageEnds) -> Emulator {
    let emulator = with_table().await.page_ends(ends);
    for (partition, row) in [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("b", "3")] {
        let body = format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}"}}"#);
        assert_eq!(send(&emulator, "POST", "Blogs", &[], &body).await.status(), 201);
    }
    emulator
}

/// Returns the keys of each page of a query, and the names of the parts of its continuation.
async fn pages(emulator: &Emulator, query: &str) -> Vec<(String, Vec<&'static str>)> {
    let mut pages = Vec::new();
    let mut position = String::new();
    loop {
        let path = format!("Blogs?$select=PartitionKey,RowKey&{query}{position}");
        let response = send(emulator, "GET", &path, &[], "").await;
        assert_eq!(response.status(), 200, "{path}");
        let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        let rows = json["value"].as_array().unwrap().iter();
        let keys = rows.map(|row| {
            let key = |name: &str| row[name].as_str().unwrap().to_owned();
            key("PartitionKey") + &key("RowKey")
        });
        let keys: Vec<String> = keys.collect();
        let halves = ["NextPartitionKey", "NextRowKey"];
        let reported = |half: &&str| response.headers().get(format!("x-ms-continuation-{half}"));
        let halves: Vec<&str> = halves.into_iter().filter(|half| reported(half).is_some()).collect();
        let parameters = halves
            .iter()
            .map(|half| format!("&{half}={}", reported(half).unwrap().to_str().unwrap()));
        position = parameters.collect();
        pages.push((keys.join(" "), halves));
        if position.is_empty() {
            return pages;
        }
    }
}

const BOTH: [&str; 2] = ["NextPartitionKey", "NextRowKey"];

#[tokio::test]
async fn page_ends_after_a_number_of_examined_rows() {
    let emulator = with_rows(PageEnds::new().examined(2)).await;
    let found = pages(&emulator, "$filter=RowKey%20ne%20'1'%20and%20PartitionKey%20ne%20'b'").await;
    assert_eq!(
        found,
        [
            ("a2".into(), BOTH.to_vec()),
            (String::new(), BOTH.to_vec()),
            (String::new(), vec![])
        ]
    );
    let found = pages(&emulator, "$top=1").await;
    assert_eq!(found.len(), 5, "what comes first counts: {found:?}");
}

#[tokio::test]
async fn page_ends_with_its_partition() {
    let emulator = with_rows(PageEnds::new().at_partitions()).await;
    let found = pages(&emulator, "").await;
    assert_eq!(found, [("a1 a2".into(), vec![BOTH[0]]), ("b1 b2 b3".into(), vec![])]);
    let found = pages(&emulator, "$filter=PartitionKey%20eq%20'a'").await;
    assert_eq!(found, [("a1 a2".into(), vec![])]);
}

#[tokio::test]
async fn page_ends_at_a_number_of_bytes() {
    let one = send(
        &with_rows(PageEnds::new()).await,
        "GET",
        "Blogs?$select=PartitionKey,RowKey&$top=1",
        &[],
        "",
    )
    .await;
    let row = body(&one).len() - r#"{"value":[]}"#.len();
    let two = body(&one).len() + row + 1;
    for (bytes, expected) in [
        (0, vec!["a1", "a2", "b1", "b2", "b3"]),
        (two - 1, vec!["a1", "a2", "b1", "b2", "b3"]),
        (two, vec!["a1 a2", "b1 b2", "b3"]),
        (two + row, vec!["a1 a2", "b1 b2", "b3"]),
        (two + row + 1, vec!["a1 a2 b1", "b2 b3"]),
    ] {
        let found = pages(&with_rows(PageEnds::new().bytes(bytes)).await, "").await;
        let found: Vec<&str> = found.iter().map(|(keys, _)| keys.as_str()).collect();
        assert_eq!(found, expected, "{bytes}");
    }
}

#[tokio::test]
async fn page_of_long_rows_ends_at_four_mebibytes() {
    for emulator in [Emulator::new(), Emulator::cosmos()] {
        let rows = (0..20).map(|n| {
            let text = |part| (format!("Text{part}").into(), "x".repeat(30_000).into());
            Ok(("p".to_owned(), format!("{n:02}"), (0..15).map(text).collect()))
        });
        seed_rows(&emulator, "Blogs", rows).unwrap();
        let first = send(&emulator, "GET", "Blogs?$top=1", &[], "").await;
        let whole = send(&emulator, "GET", "Blogs", &[], "").await;
        let (row, page) = (first.body().len(), whole.body().len());
        assert!(page <= 4 << 20 && page + row > 4 << 20, "{page} bytes, a row has {row}");
        let found = pages(&emulator, "$filter=Text0%20ne%20''").await;
        assert_eq!(found.len(), 1, "rows without their texts are short: {found:?}");
    }
}
