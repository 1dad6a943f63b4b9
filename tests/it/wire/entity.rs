//! Requests on single entities.

use azure_table::{DynamicEntity, ETag, ErrorKind, TableClient, TableOperation, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step};
use azure_table_tests::entities::{AllTypes, Post};
use wiremock::ResponseTemplate;

use super::server::{Server, WRITE, body, headers, line};

fn written() -> ResponseTemplate {
    ResponseTemplate::new(204).insert_header("etag", "W/\"new\"")
}

#[tokio::test]
async fn insert_sends_every_type_as_the_service_reads_it() {
    let server = Server::responding(written()).await;
    let table = server.service().table::<AllTypes>("Things").unwrap();
    let etag = table.insert(&AllTypes::sample("p", "r")).await.unwrap();
    assert_eq!(etag.as_str(), "W/\"new\"");
    let request = server.only_request().await;
    assert_eq!(line(&request), "POST /acct/Things");
    assert_eq!(headers(&request), WRITE);
    assert_eq!(
        body(&request),
        concat!(
            r#"{"PartitionKey":"p","RowKey":"r","Text":"O'Brien said \"ü漢😀\"\u000a\u0009\\","Flag":true,"Small":-7,"#,
            r#""Large@odata.type":"Edm.Int64","Large":"9223372036854775807","Ratio@odata.type":"Edm.Double","Ratio":5.0,"#,
            r#""Moment@odata.type":"Edm.DateTime","Moment":"2026-01-02T03:04:05.1234567Z","#,
            r#""Id@odata.type":"Edm.Guid","Id":"debc44d5-04a9-42ea-ab2f-4e2cb49ff833","#,
            r#""Bytes@odata.type":"Edm.Binary","Bytes":"AAH+/w==","#,
            r#""opt@odata.type":"Edm.Int64","opt":"1099511627776"}"#,
        )
    );
}

#[tokio::test]
async fn each_write_has_its_verb_address_and_condition() {
    let entity = DynamicEntity::new("O'B", "é");
    let address = "/acct/Things(PartitionKey='O%27%27B',RowKey='%C3%A9')";
    let etag = ETag::new("W/\"old\"");
    let new = r#"{"PartitionKey":"O'B","RowKey":"é"}"#;
    let replace = || TableOperation::replace(&entity);
    let delete = || TableOperation::delete(&entity);
    for (operation, method, if_match, sent) in [
        (replace(), "PUT", Some("*"), new),
        (replace().if_match(etag.clone()), "PUT", Some("W/\"old\""), new),
        (TableOperation::insert_or_replace(&entity), "PUT", None, new),
        (TableOperation::merge(&entity), "PATCH", Some("*"), new),
        (TableOperation::insert_or_merge(&entity), "PATCH", None, new),
        (delete(), "DELETE", Some("*"), ""),
        (delete().if_match(etag), "DELETE", Some("W/\"old\""), ""),
    ] {
        let server = Server::responding(written()).await;
        server.table().execute(operation).await.unwrap();
        let request = server.only_request().await;
        assert_eq!(line(&request), format!("{method} {address}"));
        assert_eq!(request.headers.get("if-match").map(|v| v.to_str().unwrap()), if_match);
        assert!(!request.headers.contains_key("prefer"));
        assert_eq!(body(&request), sent);
    }
}

/// An entity that was read with its version is written under it, by every method.
#[tokio::test]
async fn etag_that_was_read_is_the_condition() {
    let entity = r#"{"odata.etag":"W/\"read\"","PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-02T03:04:05Z"}"#;
    let server = Server::responding_in_turn([
        ResponseTemplate::new(200).set_body_string(entity),
        written(),
        ResponseTemplate::new(204),
    ])
    .await;
    let table = server.table();
    let mut read = table.get(("p", "r")).versioned().await.unwrap().unwrap();
    read.etag = table.merge(&read).await.unwrap();
    table.delete(&read).await.unwrap();
    let requests = server.requests().await;
    assert_eq!(requests[0].headers["accept"], "application/json;odata=minimalmetadata");
    assert_eq!(requests[1].headers["if-match"], "W/\"read\"");
    assert_eq!(requests[2].headers["if-match"], "W/\"new\"");
}

#[tokio::test]
async fn get_requests_no_metadata_and_the_whole_entity() {
    let entity =
        r#"{"PartitionKey":"ch","RowKey":"2517023007999999999_a","Timestamp":"2026-01-02T03:04:05Z","rating":3}"#;
    let server = Server::responding(ResponseTemplate::new(200).set_body_string(entity)).await;
    let posts: TableClient<Post> = server.service().table("Posts").unwrap();
    let read = posts.get(("ch", Post::time(0), "a")).await.unwrap().unwrap();
    assert_eq!((read.rating, read.id.as_str()), (3, "a"));
    let request = server.only_request().await;
    assert_eq!(
        line(&request),
        "GET /acct/Posts(PartitionKey='ch',RowKey='2517023007999999999_a')"
    );
    let expected = [
        "accept: application/json;odata=nometadata",
        "dataserviceversion: 3.0",
        "x-ms-version: 2019-02-02",
    ];
    assert_eq!(headers(&request), expected);
}

/// Cosmos DB accepts a merge only as a POST with the method in a header.
#[tokio::test]
async fn cosmos_merges_are_sent_as_post() {
    let canned = Canned::new([Step::response(204, &[("etag", "e")], "")]);
    let endpoint = format!("{CONTOSO};TableEndpoint=https://contoso.table.cosmos.azure.com:443/");
    let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
    let table = service.transport(canned.clone()).dynamic_table("Things").unwrap();
    table.insert_or_merge(&DynamicEntity::new("p", "r")).await.unwrap();
    let sent = canned.sent();
    assert_eq!(sent[0].method(), "POST");
    assert_eq!(sent[0].headers()["x-http-method"], "MERGE");
    assert_eq!(
        sent[0].uri().to_string(),
        "https://contoso.table.cosmos.azure.com/Things(PartitionKey='p',RowKey='r')"
    );
}

#[tokio::test]
async fn entity_url_is_that_of_a_request() {
    for key in [("p", "r"), ("it's", "a b+c"), ("ü漢😀", "%41&=;,"), ("", "")] {
        let canned = Canned::new([Step::status(404)]);
        let table = canned.table();
        table.get(key).await.unwrap_err();
        assert_eq!(table.entity_url(key).unwrap(), canned.sent()[0].uri().to_string());
    }
    let endpoint = "TableEndpoint=http://127.0.0.1:10002/acct;SharedAccessSignature=sv=2019-02-02&sig=AAAA";
    let service = TableServiceClient::from_connection_string(endpoint).unwrap();
    let table = service.dynamic_table("Things").unwrap();
    assert_eq!(
        table.entity_url(("O'Neil", "漢")).unwrap(),
        "http://127.0.0.1:10002/acct/Things(PartitionKey='O%27%27Neil',RowKey='%E6%BC%A2')"
    );
    let error = table.entity_url(("a/b", "r")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
