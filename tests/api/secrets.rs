//! No key shows anywhere.

use azure_table::{AccountKey, DynamicEntity, SasToken, TablePermissions, TableSas, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, Canned, Step};

const MARKER: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBka";

/// A marker that is no base64 of anything.
const SIGNATURE: &str = "SIGNATUREMARKER";

#[tokio::test]
async fn a_signature_shows_nowhere_but_on_request() {
    let token = SasToken::new(format!("sv=2019-02-02&sig={SIGNATURE}")).unwrap();
    let canned = Canned::new([
        Step::status(403),
        Step::Fail(azure_table::Reached::MaybeSent),
        Step::answer(200, &[], "<html>"),
    ]);
    let connection_string = format!(
        "TableEndpoint=https://contoso.table.core.windows.net;SharedAccessSignature={}",
        token.expose()
    );
    let service = TableServiceClient::with_transport(&connection_string, canned.clone()).unwrap();
    let table = service.dynamic_table("Things").unwrap();
    let mut shown = format!("{token:?} {service:?} {table:?}");
    for _ in 0..3 {
        let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        shown.push_str(&format!("{error} {error:?}"));
    }
    assert!(!shown.contains(SIGNATURE), "{shown}");
    let sent = canned.sent();
    assert!(sent[0].uri().query().unwrap().ends_with(SIGNATURE), "it is sent");
    assert!(!sent[0].headers().contains_key("authorization"));

    let key = AccountKey::new("contoso", MARKER).unwrap();
    let expiry = azure_table::DateTime::now() + std::time::Duration::from_secs(60);
    let sas = TableSas::new(table.name())
        .permissions(TablePermissions::READ)
        .expiry(expiry);
    let made = sas.sign(&key).unwrap();
    let shown = format!("{key:?} {sas:?} {made:?}");
    let signature = made.expose().rsplit("sig=").next().unwrap().to_owned();
    assert!(!shown.contains(MARKER) && !shown.contains(&signature), "{shown}");
    assert!(!format!("{}", AccountKey::new("contoso", "AAECAwQ*").unwrap_err()).contains("AAECAwQ"));
}

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
