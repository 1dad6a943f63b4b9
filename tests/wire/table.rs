//! Requests on tables.

use azure_table::{Creation, DynamicEntity, ErrorKind};
use wiremock::ResponseTemplate;

use super::server::{Server, body, headers, line};

#[tokio::test]
async fn create_table() {
    let server = Server::answering(ResponseTemplate::new(204)).await;
    let table = server.service().table::<DynamicEntity>("Blogs").unwrap();
    assert_eq!(table.create_table_if_not_exists().await.unwrap(), Creation::Created);
    let request = server.only_request().await;
    assert_eq!(line(&request), "POST /acct/Tables");
    assert_eq!(
        headers(&request),
        [
            "accept: application/json;odata=nometadata",
            "content-type: application/json",
            "dataserviceversion: 3.0",
            "prefer: return-no-content",
            "x-ms-version: 2019-02-02",
        ]
    );
    assert_eq!(body(&request), r#"{"TableName":"Blogs"}"#);
}

#[tokio::test]
async fn delete_table() {
    let server = Server::answering(ResponseTemplate::new(204)).await;
    server
        .service()
        .table::<DynamicEntity>("Blogs")
        .unwrap()
        .delete_table()
        .await
        .unwrap();
    let request = server.only_request().await;
    assert_eq!(line(&request), "DELETE /acct/Tables('Blogs')");
    assert_eq!(body(&request), "");
}

#[tokio::test]
async fn list_tables_follows_its_pages() {
    let first = ResponseTemplate::new(200)
        .insert_header("x-ms-continuation-NextTableName", "1!4!YQ--")
        .set_body_string(r#"{"value":[{"TableName":"a1a"}]}"#);
    let last = ResponseTemplate::new(200).set_body_string(r#"{"value":[{"TableName":"b1b"}]}"#);
    let server = Server::answering_in_turn([first, last]).await;
    assert_eq!(server.service().list_tables().await.unwrap(), ["a1a", "b1b"]);
    let requests = server.requests().await;
    assert_eq!(line(&requests[0]), "GET /acct/Tables");
    assert_eq!(line(&requests[1]), "GET /acct/Tables?NextTableName=1%214%21YQ--");
}

/// pains 38: a table that is being deleted neither exists nor was created.
#[tokio::test]
async fn a_table_being_deleted_is_a_conflict() {
    let being_deleted = r#"{"odata.error":{"code":"TableBeingDeleted","message":{"lang":"en-US",
        "value":"The specified table is being deleted. Try operation later.\nRequestId:x\nTime:y"}}}"#;
    let server = Server::answering(ResponseTemplate::new(409).set_body_string(being_deleted)).await;
    let table = server.service().table::<DynamicEntity>("Blogs").unwrap();
    let error = table.create_table_if_not_exists().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Conflict, Some("TableBeingDeleted"))
    );
    assert_eq!(
        error.to_string(),
        "create table Blogs: the service answered 409 TableBeingDeleted: \
         The specified table is being deleted. Try operation later."
    );
}
