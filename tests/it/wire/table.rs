//! Requests on tables.

use azure_table::service::Creation;
use azure_table::{Continuation, ErrorKind};
use azure_table_tests::errors::assert_contains;
use wiremock::ResponseTemplate;

use super::server::{Server, WRITE, body, headers, line};

#[tokio::test]
async fn create_table() {
    let created = ResponseTemplate::new(204).insert_header("location", "https://acct/Tables('Things')");
    let server = Server::responding(created).await;
    let table = server.table();
    assert_eq!(table.create_table_if_not_exists().await.unwrap(), Creation::Created);
    let request = server.only_request().await;
    assert_eq!(line(&request), "POST /acct/Tables");
    assert_eq!(headers(&request), WRITE);
    assert_eq!(body(&request), r#"{"TableName":"Things"}"#);
}

#[tokio::test]
async fn delete_table() {
    let server = Server::responding(ResponseTemplate::new(204)).await;
    server.table().delete_table().await.unwrap();
    let request = server.only_request().await;
    assert_eq!(line(&request), "DELETE /acct/Tables('Things')");
    assert_eq!(body(&request), "");
}

/// A page of a list of tables.
fn page(names: &[&str], next: Option<&str>) -> ResponseTemplate {
    let table = |name: &&str| format!(r#"{{"TableName":"{name}"}}"#);
    let tables = names.iter().map(table).collect::<Vec<_>>().join(",");
    let page = ResponseTemplate::new(200).set_body_string(format!(r#"{{"value":[{tables}]}}"#));
    match next {
        Some(next) => page.insert_header("x-ms-continuation-NextTableName", next),
        None => page,
    }
}

#[tokio::test]
async fn list_tables_follows_its_pages() {
    let pages = [page(&["a1a"], Some("1!4!YQ--")), page(&["b1b"], None)];
    let server = Server::responding_in_turn(pages).await;
    assert_eq!(server.service().list_tables().await.unwrap(), ["a1a", "b1b"]);
    let requests = server.requests().await;
    assert_eq!(line(&requests[0]), "GET /acct/Tables");
    assert_eq!(line(&requests[1]), "GET /acct/Tables?NextTableName=1%214%21YQ--");
}

/// The same pages as a stream, by the rules of queries: an empty page is not the end, no request follows a limit, and a
/// position belongs to its list.
#[tokio::test]
async fn tables_are_listed_as_a_stream() {
    let last = || page(&["logB", "logC"], Some(""));
    let pages = || [page(&["logA"], Some("x")), page(&[], Some("y")), last()];
    let server = Server::responding_in_turn(pages()).await;
    let mut names = server.service().list_tables().starting_with("log").stream();
    let mut listed = Vec::new();
    while let Some(name) = names.try_next().await.unwrap() {
        listed.push(name);
    }
    assert_eq!(listed, ["logA", "logB", "logC"]);
    let filter = "$filter=TableName%20ge%20%27log%27%20and%20TableName%20lt%20%27loh%27";
    let lines: Vec<_> = server.requests().await.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            format!("GET /acct/Tables?{filter}"),
            format!("GET /acct/Tables?{filter}&NextTableName=x"),
            format!("GET /acct/Tables?{filter}&NextTableName=y"),
        ]
    );

    let server = Server::responding_in_turn(pages()).await;
    assert_eq!(server.service().list_tables().limit(1).await.unwrap(), ["logA"]);
    assert_eq!(line(&server.requests().await[0]), "GET /acct/Tables?$top=1");
    let mut pages = server.service().list_tables().pages();
    let second = pages.try_next().await.unwrap().unwrap();
    let kept = serde_json::to_string(second.continuation()).unwrap();
    let position = || serde_json::from_str::<Continuation>(&kept).unwrap();
    let rest = server.service().list_tables().resume_from(position());
    assert_eq!(rest.await.unwrap(), ["logB", "logC"]);
    assert!(line(&server.requests().await[2]).ends_with("/Tables?NextTableName=y"));
    let other = server.service().list_tables().starting_with("x");
    let error = other.resume_from(position()).await.unwrap_err();
    assert_contains(error, "belongs to another query");
    let query = server.table().query().resume_from(position());
    let why = "this is the continuation of `list_tables`, not of a query";
    assert_contains(query.all().await.unwrap_err(), why);
}

/// A table that is being deleted neither exists nor was created.
#[tokio::test]
async fn a_table_being_deleted_is_a_conflict() {
    let being_deleted = r#"{"odata.error":{"code":"TableBeingDeleted","message":{"lang":"en-US",
        "value":"The specified table is being deleted. Try operation later.\nRequestId:x\nTime:y"}}}"#;
    let server = Server::responding(ResponseTemplate::new(409).set_body_string(being_deleted)).await;
    let table = server.table();
    let error = table.create_table_if_not_exists().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Conflict, Some("TableBeingDeleted"))
    );
    assert_eq!(
        error.to_string(),
        "create table Things: the service answered 409 TableBeingDeleted: \
         The specified table is being deleted. Try operation later."
    );
}
