//! Requests of queries, and how they follow their pages.

use std::sync::{Arc, Mutex};

use azure_table::{ErrorKind, Filter};
use azure_table_tests::entities::{AllTypes, Post};
use azure_table_tests::errors::{assert_contains, assert_error};
use futures::TryStreamExt;
use wiremock::ResponseTemplate;

use super::server::{Server, line};

fn page_of(rows: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_string(format!(r#"{{"value":[{rows}]}}"#))
}

fn page(rows: &[&str], token: &[(&str, &str)]) -> ResponseTemplate {
    let row = |row: &&str| format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#);
    let mut page = page_of(&rows.iter().map(row).collect::<Vec<_>>().join(","));
    for (half, value) in token {
        page = page.insert_header(format!("x-ms-continuation-{half}"), *value);
    }
    page
}

#[tokio::test]
async fn a_query_sends_its_options_encoded_once() {
    let server = Server::responding(page(&[], &[])).await;
    let posts = server.service().table::<Post>("Posts").unwrap();
    let query = posts.query().partition("O'B & co").filter(Post::RATING.ge(3));
    query.page_size(5).all().await.unwrap();
    assert_eq!(
        line(&server.only_request().await),
        "GET /acct/Posts()?$filter=PartitionKey%20eq%20%27O%27%27B%20%26%20co%27%20and%20rating%20ge%203&$top=5"
    );
}

#[tokio::test]
async fn operators_keep_their_grouping() {
    let filter = (AllTypes::SMALL.eq(1) | AllTypes::SMALL.eq(2)) & !(AllTypes::FLAG.eq(true) & AllTypes::RATIO.lt(1.0));
    assert_eq!(
        filter.to_string(),
        "(Small eq 1 or Small eq 2) and (not (Flag eq true and Ratio lt 1.0))"
    );
    let both = Filter::<AllTypes>::raw("A eq 1 or B eq 2") & AllTypes::SMALL.eq(1);
    assert_eq!(both.to_string(), "(A eq 1 or B eq 2) and Small eq 1");
}

/// A page without rows is not the end, half a token is a token, an empty header is not.
#[tokio::test]
async fn every_kind_of_page_is_followed() {
    let server = Server::responding_in_turn([
        page(&["1"], &[("NextPartitionKey", "1!4!cA--"), ("NextRowKey", "1!4!Mg--")]),
        page(&[], &[("NextPartitionKey", "half")]),
        page(&["2"], &[("NextPartitionKey", "half2"), ("NextRowKey", "")]),
        page(&["3"], &[("NextPartitionKey", ""), ("NextRowKey", "")]),
    ])
    .await;
    let table = server.table();
    let rows: Vec<_> = table.query().partition("p").stream().try_collect().await.unwrap();
    let keys: Vec<&str> = rows.iter().map(|row| row.row_key.as_str()).collect();
    assert_eq!(keys, ["1", "2", "3"]);
    let base = "GET /acct/Things()?$filter=PartitionKey%20eq%20%27p%27";
    let lines: Vec<_> = server.requests().await.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            base.to_owned(),
            format!("{base}&NextPartitionKey=1%214%21cA--&NextRowKey=1%214%21Mg--"),
            format!("{base}&NextPartitionKey=half"),
            format!("{base}&NextPartitionKey=half2"),
        ]
    );
}

/// A limit applies to all pages, and no request follows once it is reached.
#[tokio::test]
async fn a_limit_ends_the_requests() {
    let more = [("NextPartitionKey", "x"), ("NextRowKey", "y")];
    let server = Server::responding_in_turn([page(&["1", "2"], &more), page(&["3", "4"], &more)]).await;
    let table = server.table();
    let rows = table.query().limit(3).page_size(2).all().await.unwrap();
    assert_eq!(rows.len(), 3);
    let requests = server.requests().await;
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| line(request).contains("$top=2")));

    let server = Server::responding(page(&["1"], &more)).await;
    let table = server.table();
    assert!(table.query().first().await.unwrap().is_some());
    assert!(line(&server.only_request().await).ends_with("?$top=1"));
}

#[tokio::test]
async fn invalid_query_sends_nothing() {
    let server = Server::responding(page(&[], &[])).await;
    let posts = server.service().table::<Post>("Posts").unwrap();
    for (query, why) in [
        (posts.query().page_size(0), "page size 0"),
        (posts.query().page_size(1_001), "1 to 1000"),
        (posts.query().partition("a/b"), "'/' at position 1"),
    ] {
        let error = query.all().await.unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, why);
    }
    assert_eq!(posts.query().limit(0).all().await.unwrap(), []);
    assert_eq!(server.requests().await.len(), 0);
}

/// The error of a row that cannot be decoded names its keys, the property and both types.
#[tokio::test]
async fn row_that_cannot_be_decoded_is_named() {
    let key = r#""PartitionKey":"ch","RowKey":"2517023007999999999_a""#;
    for (property, why) in [
        (r#","rating":"5""#, "expected Edm.Int32, found text"),
        ("", "it is missing"),
    ] {
        let server = Server::responding(page_of(&format!("{{{key}{property}}}"))).await;
        let posts = server.service().table::<Post>("Posts").unwrap();
        let error = posts.query().all().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        let expected = format!(
            "query in table Posts: entity (\"ch\", \"2517023007999999999_a\"): property `rating`: {why}; if the row is \
             of another kind, exclude it with `without_row_keys`"
        );
        assert_eq!(error.to_string(), expected);
    }
}

/// If a rejected request may be too long, the error says so and names an alternative; other errors do not.
#[tokio::test]
async fn rejected_set_of_keys_names_the_alternative() {
    let rejected = |status, code: &str| {
        let body = format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"Bad."}}}}}}"#);
        ResponseTemplate::new(status).set_body_string(body)
    };
    let many = || AllTypes::ROW.is_in((0..16).map(|n| n.to_string()));
    let others = || AllTypes::SMALL.is_in(0..16);
    let long = || AllTypes::TEXT.eq("x".repeat(5_000));
    let invalid = || rejected(400, "InvalidInput");
    for (response, filter, words) in [
        (invalid(), many(), &["16 comparisons", "`get_many`", "`fan_out`"][..]),
        (invalid(), others(), &["16 comparisons", "several queries"]),
        (invalid(), long(), &["the URL has"]),
        (ResponseTemplate::new(414), long(), &["the URL has"]),
        (invalid(), AllTypes::SMALL.eq(1), &[]),
        (rejected(404, "TableNotFound"), many(), &[]),
        (rejected(403, "AuthorizationFailure"), many(), &[]),
    ] {
        let server = Server::responding(response).await;
        let table = server.service().table::<AllTypes>("Things").unwrap();
        let text = table.query().filter(filter).all().await.unwrap_err().to_string();
        for word in words {
            assert_contains(&text, word);
        }
        let advises = text.contains("`fan_out`") || text.contains("several queries");
        assert_eq!(advises, !words.is_empty(), "{text}");
    }
}

/// Such a service would be asked for ever.
#[tokio::test]
async fn empty_page_that_repeats_its_continuation_is_an_error() {
    let server = Server::responding(page(&[], &[("NextPartitionKey", "again")])).await;
    let table = server.table();
    let error = table.query().all().await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidResponse, "NextPartitionKey=again");
    let server = Server::responding(page(&[], &[("NextTableName", "again")])).await;
    let error = server.service().list_tables().await.unwrap_err();
    assert_contains(error, "NextTableName=again");
}

/// With a page of one row, each dropped row would take a request.
#[tokio::test]
async fn limit_is_not_the_page_size_if_rows_may_be_dropped() {
    let server = Server::responding(page(&["1"], &[])).await;
    let table = server.table();
    table.query().skip_bad_rows(|_| ()).first().await.unwrap();
    assert_eq!(line(&server.only_request().await), "GET /acct/Things()");
}

/// The service stores such text, and no `str` can hold it.
#[tokio::test]
async fn row_with_half_of_a_surrogate_pair_is_skipped_alone() {
    let texts = [("1", "whole"), ("2", r"\ud83d"), ("3", r"\ud83d\ude00")];
    let rows = texts.map(|(key, text)| format!(r#"{{"PartitionKey":"p","RowKey":"{key}","V":"{text}"}}"#));
    let server = Server::responding(page_of(&rows.join(","))).await;
    let table = server.table();
    let skipped = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&skipped);
    let query = table.query();
    let query = query.skip_bad_rows(move |bad| log.lock().unwrap().push(bad.to_string()));
    let rows = query.all().await.unwrap();
    let keys: Vec<&str> = rows.iter().map(|row| row.row_key.as_str()).collect();
    assert_eq!(keys, ["1", "3"]);
    let skipped = skipped.lock().unwrap();
    assert_eq!(skipped.len(), 1);
    assert_contains(&skipped[0], r#"entity ("p", "2"): property `V`: "#);
    assert!(
        skipped[0].ends_with("text with half of a surrogate pair"),
        "{skipped:?}"
    );
}
