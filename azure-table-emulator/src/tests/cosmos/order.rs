//! Rows in the order of their insertion, and the tokens of that order. Recordings of azure-data-tables:
//! `batch_inserts`, `batch_all_operations_together`, `decode_entity_atypical_values`,
//! `query_entities_with_top_and_next`, `query_entities_each_page` (2024 and 2026).

use super::*;

const NONE: (&str, &str) = ("accept", "application/json;odata=nometadata");

async fn insert(emulator: &Emulator, partition: &str, row: &str) {
    let entity = format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}","N":1}}"#);
    let inserted = ask(emulator, "POST", "Blogs", &[], &entity).await;
    assert_eq!(inserted.status(), 201);
}

fn rows(page: &Response<Bytes>) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_slice(page.body()).unwrap();
    let rows = json["value"].as_array().unwrap().iter();
    rows.map(|row| row["RowKey"].as_str().unwrap().to_owned()).collect()
}

/// Returns the rows of each page of a query, and the tokens between them.
async fn pages(emulator: &Emulator, query: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut pages, mut tokens) = (Vec::new(), Vec::new());
    let mut position = String::new();
    loop {
        let page = send_to(
            emulator,
            COSMOS,
            "GET",
            &format!("Blogs?{query}{position}"),
            &[NONE],
            "",
        )
        .await;
        assert_eq!(page.status(), 200, "{}", body(&page));
        pages.push(rows(&page));
        let token = header(&page, "x-ms-continuation-nextpartitionkey");
        if token.is_empty() {
            return (pages, tokens);
        }
        assert_eq!(header(&page, "x-ms-continuation-nextrowkey"), "NA");
        tokens.push(token.to_owned());
        let token = azure_table_wire::codec::url::encode(token);
        position = format!("&NextPartitionKey={token}&NextRowKey=NA");
    }
}

#[tokio::test]
async fn rows_are_returned_in_insertion_order() {
    let emulator = with_table().await;
    for row in ["2", "10", "\u{4f60}", "1", "0"] {
        insert(&emulator, "p", row).await;
    }
    let path = |row: &str| format!("Blogs(PartitionKey='p',RowKey='{row}')");
    let any = [("if-match", "*")];
    assert_eq!(
        ask(&emulator, "PUT", &path("10"), &any, r#"{"N":2}"#).await.status(),
        204
    );
    assert_eq!(ask(&emulator, "PUT", &path("00"), &[], "{}").await.status(), 204);
    assert_eq!(ask(&emulator, "DELETE", &path("2"), &any, "").await.status(), 204);
    insert(&emulator, "p", "2").await;
    for query in ["", "$filter=PartitionKey%20eq%20'p'"] {
        let (found, _) = pages(&emulator, query).await;
        assert_eq!(found, [["10", "\u{4f60}", "1", "0", "00", "2"]], "{query}");
    }
    let range = "$filter=PartitionKey%20eq%20'p'%20and%20RowKey%20ge%20'0'%20and%20RowKey%20lt%20'2'";
    assert_eq!(pages(&emulator, range).await.0, [["10", "1", "0", "00"]]);
    // A snapshot keeps the order.
    let copy = Emulator::new();
    copy.restore(&emulator.snapshot().to_string().parse().unwrap()).unwrap();
    let copy = copy.shared_clock(emulator.clock().clone());
    assert_eq!(pages(&copy, "").await.0, [["10", "\u{4f60}", "1", "0", "00", "2"]]);
}

#[tokio::test]
async fn failed_batch_keeps_the_order_of_rows() {
    let emulator = with_table().await;
    for row in ["b", "a", "c"] {
        insert(&emulator, "p", row).await;
    }
    let part = |request: &str| format!("--c\r\nContent-Type: application/http\r\n\r\n{request}\r\n\r\n\r\n");
    let delete = |row: &str| {
        part(&format!(
            "DELETE /Blogs(PartitionKey='p',RowKey='{row}') HTTP/1.1\r\nIf-Match: *"
        ))
    };
    let parts = delete("b") + &delete("none");
    let batch = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n");
    let multipart = [("content-type", "multipart/mixed; boundary=b")];
    let response = ask(&emulator, "POST", "$batch", &multipart, &batch).await;
    assert!(
        body(&response).contains("1:The specified resource does not exist."),
        "{}",
        body(&response)
    );
    assert_eq!(pages(&emulator, "").await.0, [["b", "a", "c"]]);
}

#[tokio::test]
async fn pages_continue_by_tokens_of_the_services_form() {
    let emulator = with_table().await;
    for (partition, row) in [("q", "5"), ("p", "4"), ("q", "3"), ("p", "2"), ("p", "1")] {
        insert(&emulator, partition, row).await;
    }
    let (found, tokens) = pages(&emulator, "$top=2").await;
    assert_eq!(found.concat(), ["5", "4", "3", "2", "1"]);
    let id = |token: &str| token.split('"').nth(3).unwrap().to_owned();
    assert!(tokens[0].starts_with(r#"{"token":""#) && tokens[0].ends_with(r#"","range":{"min":"","max":"FF"}}"#));
    assert!(tokens[1].starts_with(r#"[{"token":""#) && tokens[1].ends_with(r#"","range":{"min":"","max":"FF"}}]"#));
    assert_eq!(id(&tokens[0]).len(), "hr8WAINACUIBAAAAAAAAAA==".len());
    let (found, tokens) = pages(&emulator, "$top=1&$filter=PartitionKey%20eq%20'p'").await;
    assert_eq!(found.concat(), ["4", "2", "1"]);
    for (token, counts) in tokens.iter().zip(["#RT:1#TRC:1#ISV:2", "#RT:2#TRC:2#ISV:2"]) {
        assert!(token.starts_with("+RID:~") && token.contains(counts), "{token}");
    }
    // The row at which a page begins may be deleted meanwhile.
    let first = send_to(&emulator, COSMOS, "GET", "Blogs?$top=1", &[NONE], "").await;
    let token = azure_table_wire::codec::url::encode(header(&first, "x-ms-continuation-nextpartitionkey")).to_string();
    let any = [("if-match", "*")];
    assert_eq!(
        ask(&emulator, "DELETE", "Blogs(PartitionKey='p',RowKey='4')", &any, "")
            .await
            .status(),
        204
    );
    let path = format!("Blogs?NextPartitionKey={token}&NextRowKey=NA");
    let rest = send_to(&emulator, COSMOS, "GET", &path, &[NONE], "").await;
    assert_eq!(rows(&rest), ["3", "2", "1"]);
}

/// `query_tables_with_marker` and `query_tables_per_page`.
#[tokio::test]
async fn tokens_of_tables_have_counts_only_with_a_filter() {
    let emulator = with_table().await;
    ask(&emulator, "POST", "Tables", &[], r#"{"TableName":"Others"}"#).await;
    let token = async |query: &str| {
        let page = ask(&emulator, "GET", &format!("Tables?$top=1{query}"), &[], "").await;
        header(&page, "x-ms-continuation-nexttablename").to_owned()
    };
    let bare = token("").await;
    assert!(!bare.is_empty() && !bare.contains('#'), "{bare}");
    let counted = token("&$filter=true").await;
    assert!(
        counted.starts_with("+RID:~") && counted.ends_with("#RT:1#TRC:1"),
        "{counted}"
    );
    for earlier in [bare, counted] {
        let earlier = azure_table_wire::codec::url::encode(&earlier).to_string();
        let page = ask(&emulator, "GET", &format!("Tables?NextTableName={earlier}"), &[], "").await;
        assert!(
            body(&page).contains("Others") && !body(&page).contains("Blogs"),
            "{}",
            body(&page)
        );
    }
}

#[tokio::test]
async fn long_page_shows_the_table_at_its_beginning() {
    let emulator = with_table().await;
    for n in 0..3_000 {
        let entity = format!(r#"{{"PartitionKey":"p","RowKey":"{:04}"}}"#, 9_999 - n);
        assert_eq!(ask(&emulator, "POST", "Blogs", &[], &entity).await.status(), 201);
    }
    let query = "Blogs?$top=5000&$select=RowKey&$filter=PartitionKey%20eq%20'p'%20and%20RowKey%20ne%20'x'";
    let headers = [NONE];
    let page = send_to(&emulator, COSMOS, "GET", query, &headers, "");
    let writes = async {
        for n in [0, 1_500, 2_999] {
            let path = format!("Blogs(PartitionKey='p',RowKey='{:04}')", 9_999 - n);
            let any = [("if-match", "*")];
            assert_eq!(ask(&emulator, "DELETE", &path, &any, "").await.status(), 204);
            insert(&emulator, "p", &format!("{:04}", 9_999 - n)).await;
            insert(&emulator, "p", &format!("new{n}")).await;
        }
    };
    let (page, ()) = tokio::join!(page, writes);
    let expected: Vec<String> = (0..3_000).map(|n| format!("{:04}", 9_999 - n)).collect();
    assert_eq!(rows(&page), expected);
    let (after, _) = pages(&emulator, "$top=5000&$select=RowKey").await;
    let last = &after[0][after[0].len() - 6..];
    assert_eq!(last, ["9999", "new0", "8499", "new1500", "7000", "new2999"]);
}

/// A restore counts the places of rows anew.
#[tokio::test]
async fn continuation_from_before_a_restore_is_rejected_instead_of_skipping_rows() {
    let emulator = with_table().await;
    for row in ["1", "2", "3", "4"] {
        let row = format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#);
        assert_eq!(ask(&emulator, "POST", "Blogs", &[], &row).await.status(), 201);
    }
    let any = [("if-match", "*")];
    let row = "Blogs(PartitionKey='p',RowKey='1')";
    assert_eq!(ask(&emulator, "DELETE", row, &any, "").await.status(), 204);
    let first = ask(&emulator, "GET", "Blogs?$top=1", &[], "").await;
    let token = azure_table_wire::codec::url::encode(header(&first, "x-ms-continuation-nextpartitionkey")).to_string();
    let path = format!("Blogs?$top=1&NextRowKey=NA&NextPartitionKey={token}");
    assert_eq!(ask(&emulator, "GET", &path, &[], "").await.status(), 200);
    let text = emulator.snapshot().to_string();
    emulator.restore(&text.parse().unwrap()).unwrap();
    assert_eq!(ask(&emulator, "GET", &path, &[], "").await.status(), 400);
}

#[tokio::test]
async fn continuation_of_a_deleted_table_is_rejected_by_its_successor_while_the_clock_stands() {
    let emulator = with_table().await;
    insert(&emulator, "p", "1").await;
    insert(&emulator, "p", "2").await;
    let first = ask(&emulator, "GET", "Blogs?$top=1", &[], "").await;
    let token = azure_table_wire::codec::url::encode(header(&first, "x-ms-continuation-nextpartitionkey")).to_string();
    let path = format!("Blogs?$top=1&NextRowKey=NA&NextPartitionKey={token}");
    assert_eq!(ask(&emulator, "GET", &path, &[], "").await.status(), 200);
    assert_eq!(ask(&emulator, "DELETE", "Tables('Blogs')", &[], "").await.status(), 204);
    let again = ask(&emulator, "POST", "Tables", &[], r#"{"TableName":"Blogs"}"#).await;
    assert_eq!(again.status(), 201);
    insert(&emulator, "p", "new").await;
    insert(&emulator, "p", "new2").await;
    let read = ask(&emulator, "GET", "Blogs", &[], "").await;
    assert!(
        body(&read).contains("\"Timestamp\":\"2020-11-20T12:00:00.5000002Z\""),
        "{}",
        body(&read)
    );
    assert_eq!(ask(&emulator, "GET", &path, &[], "").await.status(), 400);
}
