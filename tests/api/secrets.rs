//! No key shows anywhere.

use azure_table::{DynamicEntity, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step};

const MARKER: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBka";

#[tokio::test]
async fn debug_and_errors_hide_key_and_signature() {
    let canned = Canned::new([Step::status(403), Step::status(404), Step::status(500)]);
    let service = TableServiceClient::with_transport(CONTOSO, canned.clone()).unwrap();
    let table = service.dynamic_table("Things").unwrap();
    let get = table.get(("p", "r"));
    let query = table.query();
    let mut shown = format!("{service:?} {table:?} {get:?} {query:?}");
    shown.push_str(&format!("{:?}", query.pages()));
    let error = get.await.unwrap_err();
    shown.push_str(&format!("{error} {error:?}"));
    let mut batch = table.batch();
    batch.insert(&DynamicEntity::new("p", "r")).unwrap();
    shown.push_str(&format!("{batch:?}"));
    let error = batch.commit().await.unwrap_err();
    shown.push_str(&format!("{error} {error:?}"));
    shown.push_str(&format!("{:?}", canned.sent()));
    assert!(!shown.contains(MARKER), "{shown}");
    assert!(!shown.contains("SharedKey contoso:"), "{shown}");
}
