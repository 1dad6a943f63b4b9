//! Ranges of rows, and operations in batches.

use super::*;

#[tokio::test]
async fn rows_outside_the_range_are_neither_read_nor_written() {
    let emulator = with_rows().await;
    let range = [("spk", "b"), ("srk", "2"), ("epk", "b"), ("erk", "3")];
    let token = token(TABLE, &range);
    for (path, found) in [
        ("Blogs", &["b2", "b3"][..]),
        ("Blogs?$filter=RowKey%20le%20'2'", &["b2"]),
        ("Blogs?$filter=PartitionKey%20eq%20'a'", &[]),
        ("Blogs?$filter=PartitionKey%20ge%20'c'", &[]),
        // A token of a page before the range.
        ("Blogs?NextPartitionKey=1!4!YQ--&NextRowKey=1!4!MQ--", &["b2", "b3"]),
        ("Blogs?NextPartitionKey=1!4!Yg--&NextRowKey=1!4!Mw--", &["b3"]),
        ("Blogs?NextPartitionKey=1!4!Yw--&NextRowKey=1!4!MQ--", &[]),
    ] {
        let response = try_with(&emulator, "GET", path, "", &token).await;
        assert_eq!(keys(&response), found, "{path}");
        assert_eq!(
            header(&response, "x-ms-continuation-nextpartitionkey"),
            "",
            "nothing is left in the range"
        );
    }
    let small = emulator.clone().page_size(1);
    let first = try_with(&small, "GET", "Blogs", "", &token).await;
    assert_eq!(
        (keys(&first), header(&first, "x-ms-continuation-nextrowkey")),
        (vec!["b2".to_owned()], "1!4!Mw--")
    );

    for (row, is_inside) in [("1", false), ("2", true), ("3", true), ("4", false)] {
        let path = format!("Blogs(PartitionKey='b',RowKey='{row}')");
        let read = try_with(&emulator, "GET", &path, "", &token).await;
        if is_inside {
            assert_eq!(read.status(), 200);
        } else {
            assert_eq!(
                error(&read),
                rejected(404, "ResourceNotFound", "The specified resource does not exist.")
            );
        }
        let entity = format!(r#"{{"PartitionKey":"b","RowKey":"{row}"}}"#);
        for (method, path, headers) in [
            ("PUT", &*path, ANY),
            ("MERGE", &path, ANY),
            ("PUT", &path, &[]),
            ("MERGE", &path, &[]),
            ("DELETE", &path, ANY),
            ("POST", "Blogs", &[]),
        ] {
            let response = emulator
                .send(with_token(method, path, headers, &entity, &token))
                .await
                .unwrap();
            if is_inside {
                assert!(response.status().is_success(), "{method} {row}");
            } else {
                assert_eq!(
                    error(&response),
                    rejected(403, "AuthorizationFailure", NOTHING),
                    "{method} {row}"
                );
                assert_eq!(header(&response, "x-ms-error-code"), "");
            }
        }
    }
    let all = send(&emulator, "GET", "Blogs", &[], "").await;
    assert_eq!(keys(&all), ["a1", "b1", "b2", "b3", "c1"]);
}

#[tokio::test]
async fn operations_of_a_batch_are_checked_separately() {
    let emulator = with_rows().await;
    let batch = async |requests: &[&str], token: &str| {
        let parts: String = requests
            .iter()
            .map(|part| format!("--c\nContent-Type: application/http\n\n{part}\n"))
            .collect();
        let batch = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{parts}--c--\n--b--\n");
        let headers = [("content-type", "multipart/mixed; boundary=b")];
        let response = emulator
            .send(with_token("POST", "$batch", &headers, &batch, token))
            .await
            .unwrap();
        assert_eq!(response.status(), 202);
        let text = body(&response).to_owned();
        let statuses: Vec<String> = text
            .split("HTTP/1.1 ")
            .skip(1)
            .map(|part| part[..3].to_owned())
            .collect();
        (statuses.join(" "), text)
    };
    let insert = |row: &str| {
        format!("POST /Blogs HTTP/1.1\nPrefer: return-no-content\n\n{{\"PartitionKey\":\"b\",\"RowKey\":\"{row}\"}}")
    };
    let update = "MERGE /Blogs(PartitionKey='b',RowKey='2') HTTP/1.1\nIf-Match: *\n\n{}";
    let other = "DELETE /Others(PartitionKey='b',RowKey='2') HTTP/1.1\nIf-Match: *\n\n";

    for base in [TABLE, ACCOUNT] {
        let row = if base == TABLE { "5" } else { "6" };
        assert_eq!(batch(&[&insert(row), update], &token(base, &[])).await.0, "204 204");
        let (status, text) = batch(&[&insert("8"), update], &token(base, &[("sp", "a")])).await;
        assert_eq!(status, "403");
        assert!(
            text.contains("AuthorizationPermissionMismatch") && text.contains(&format!("\"1:{PERMISSION}")),
            "{text}"
        );
        let (status, text) = batch(&[update, update], &token(base, &[("sp", "r")])).await;
        assert_eq!(status, "403");
        assert!(text.contains(&format!("\"0:{PERMISSION}")), "{text}");
    }
    let range = token(TABLE, &[("spk", "b"), ("srk", "2"), ("epk", "b"), ("erk", "8")]);
    let (status, text) = batch(&[&insert("8"), &insert("9")], &range).await;
    assert_eq!(status, "403");
    assert!(
        text.contains("AuthorizationFailure") && text.contains(&format!("\"1:{NOTHING}")),
        "{text}"
    );
    let (status, text) = batch(&[other], &token(TABLE, &[])).await;
    assert_eq!(status, "403");
    assert!(text.contains("AuthorizationFailure"), "{text}");
    assert_eq!(batch(&[update], &token(ACCOUNT, &[("srt", "sc")])).await.0, "403");

    let query = async |path: &str, token: &str| {
        let batch =
            format!("--b\nContent-Type: application/http\n\nGET {path} HTTP/1.1\nAccept: application/json\n\n--b--");
        let headers = [("content-type", "multipart/mixed; boundary=b")];
        let response = emulator
            .send(with_token("POST", "$batch", &headers, &batch, token))
            .await
            .unwrap();
        body(&response).to_owned()
    };
    let found = query("/Blogs", &token(TABLE, &[("spk", "c"), ("sp", "r")])).await;
    assert!(found.contains("\"c\"") && !found.contains("\"b\""), "{found}");
    assert!(
        query("/Blogs", &token(TABLE, &[("sp", "a")]))
            .await
            .contains(&format!("0:{PERMISSION}"))
    );
    let found = query("/Blogs(PartitionKey='b',RowKey='1')", &token(TABLE, &[("spk", "c")])).await;
    assert!(found.contains("HTTP/1.1 404"), "{found}");

    let all = send(&emulator, "GET", "Blogs", &[], "").await;
    assert_eq!(
        keys(&all),
        ["a1", "b1", "b2", "b3", "b5", "b6", "c1"],
        "failed batches left nothing"
    );
}
