//! Requests on the service of an account, and on the policies of a table.

use azure_table::service::{CorsRule, GeoReplicationStatus, Logging, ServiceProperties, StoredAccessPolicy};
use azure_table::{AccountKey, DateTime, DynamicEntity, Emulator, ErrorKind, TablePermissions, TableServiceClient};
use azure_table_tests::canned::Canned;
use azure_table_tests::errors::{assert_contains, assert_error};
use wiremock::ResponseTemplate;

use super::server::{Server, body, headers, line};

const XML: [&str; 2] = ["accept: application/xml", "x-ms-version: 2019-02-02"];
const XML_WITH_BODY: [&str; 3] = [
    "accept: application/xml",
    "content-type: application/xml",
    "x-ms-version: 2019-02-02",
];

fn response(document: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(format!("\u{feff}{document}"), "application/xml")
}

#[tokio::test]
async fn properties_are_read_and_written() {
    let document = "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Logging><Version>1.0</Version>\
        <Read>true</Read><Write>false</Write><Delete>false</Delete><RetentionPolicy><Enabled>true</Enabled><Days>5</Days>\
        </RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy>\
        <Enabled>false</Enabled></RetentionPolicy></HourMetrics><Cors /></StorageServiceProperties>";
    let server = Server::responding(response(document)).await;
    let properties = server.service().properties().await.unwrap();
    let logging = properties.logging.clone().unwrap();
    assert_eq!(
        (logging.read, logging.write, logging.retention_days),
        (true, false, Some(5))
    );
    assert_eq!(properties.cors, Some(Vec::new()));
    let request = server.only_request().await;
    assert_eq!(line(&request), "GET /acct/?restype=service&comp=properties");
    assert_eq!(headers(&request), XML);

    let server = Server::responding(ResponseTemplate::new(202)).await;
    let logging = Logging {
        delete: true,
        retention_days: Some(7),
        ..Logging::default()
    };
    let properties = ServiceProperties::default().logging(logging);
    server.service().set_properties(properties).await.unwrap();
    let request = server.only_request().await;
    assert_eq!(line(&request), "PUT /acct/?restype=service&comp=properties");
    assert_eq!(headers(&request), XML_WITH_BODY);
    let sent = body(&request);
    for (element, is_sent) in [
        ("<Delete>true</Delete>", true),
        ("<Days>7</Days>", true),
        // What is not named stays.
        ("Cors", false),
        ("Metrics", false),
    ] {
        assert_eq!(sent.contains(element), is_sent, "{element}: {sent}");
    }
}

#[tokio::test]
async fn too_many_cors_rules_are_rejected_before_a_request() {
    let server = Server::responding(ResponseTemplate::new(202)).await;
    let properties = ServiceProperties::default().cors(vec![CorsRule::new(["*"], ["GET"]); 6]);
    let error = server.service().set_properties(properties).await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "6");
    assert_contains(&error, "5");
    assert!(error.to_string().starts_with("set service properties: "), "{error}");
    assert_eq!(server.requests().await.len(), 0);
}

#[tokio::test]
async fn statistics_are_requested_from_the_secondary() {
    let document = "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication><Status>live</Status>\
        <LastSyncTime>Wed, 19 Jan 2022 21:39:24 GMT</LastSyncTime></GeoReplication></StorageServiceStats>";
    let server = Server::responding(response(document)).await;
    let statistics = server.service().statistics().await.unwrap();
    assert_eq!(statistics.status, GeoReplicationStatus::Live);
    let synced: DateTime = "2022-01-19T21:39:24Z".parse().unwrap();
    assert_eq!(statistics.last_sync_time, Some(synced));
    let request = server.only_request().await;
    assert_eq!(line(&request), "GET /acct-secondary/?restype=service&comp=stats");
}

/// The response with a list of policies that permit to read.
fn policies(ids: &[&str]) -> ResponseTemplate {
    let access = "<AccessPolicy><Permission>r</Permission></AccessPolicy>";
    let policy = |id: &&str| format!("<SignedIdentifier><Id>{id}</Id>{access}</SignedIdentifier>");
    let policies: String = ids.iter().map(policy).collect();
    response(&format!("<SignedIdentifiers>{policies}</SignedIdentifiers>"))
}

fn ids(policies: &[StoredAccessPolicy]) -> Vec<&str> {
    policies.iter().map(|policy| &*policy.id).collect()
}

#[tokio::test]
async fn policy_is_added_to_the_existing_ones() {
    let server = Server::responding_in_turn([policies(&["old"]), ResponseTemplate::new(204)]).await;
    let table = server.table();
    let policy = StoredAccessPolicy {
        permissions: Some(TablePermissions::READ | TablePermissions::ADD),
        ..StoredAccessPolicy::new("new")
    };
    let policies = table.add_access_policy(policy).await.unwrap();
    assert_eq!(ids(&policies), ["old", "new"]);
    let requests = server.requests().await;
    assert_eq!(line(&requests[0]), "GET /acct/Things?comp=acl");
    assert_eq!(line(&requests[1]), "PUT /acct/Things?comp=acl");
    assert_eq!(headers(&requests[1]), XML_WITH_BODY);
    assert!(body(&requests[1]).contains("<Id>old</Id>"), "{}", body(&requests[1]));
    assert!(body(&requests[1]).contains("<Permission>ra</Permission>"));
}

#[tokio::test]
async fn policy_that_a_concurrent_change_restores_is_revoked_again() {
    let written = || ResponseTemplate::new(204);
    for (is_all, first, restored, left) in [
        (false, Some(["old", "leaked"]), ["leaked", "new"], &["new"][..]),
        (true, None, ["old", "new"], &[]),
    ] {
        let rest = [written(), policies(&restored), written(), policies(left)];
        let responses = first.map(|ids| policies(&ids)).into_iter().chain(rest);
        let server = Server::responding_in_turn(responses).await;
        let table = server.table();
        let revoked = if is_all {
            table.revoke_all_access_policies().await.unwrap()
        } else {
            table.revoke_access_policy("leaked").await.unwrap()
        };
        assert_eq!(ids(&revoked), left);
        let requests = server.requests().await;
        let writes = requests.iter().filter(|request| request.method == "PUT");
        let writes: Vec<_> = writes.map(body).collect();
        assert_eq!(writes.len(), 2);
        assert!(writes.iter().all(|body| !body.contains("leaked")), "{writes:?}");
        assert_eq!(writes[0].contains("<Id>old</Id>"), !is_all);
        assert_eq!(writes[1].contains("<Id>new</Id>"), !is_all);
    }
}

#[tokio::test]
async fn revocation_that_others_undo_each_time_names_the_policy() {
    let rounds = (0..4).flat_map(|_| [ResponseTemplate::new(204), policies(&["leaked"])]);
    let server = Server::responding_in_turn([policies(&["leaked"])].into_iter().chain(rounds)).await;
    let table = server.table();
    let error = table.revoke_access_policy("leaked").await.unwrap_err();
    assert_error(&error, ErrorKind::Conflict, "[\"leaked\"] again after 4 writes");
    assert_eq!(server.requests().await.len(), 9);
}

/// The policy is removed, but a concurrent change may have restored it.
#[tokio::test]
async fn revocation_that_cannot_be_confirmed_is_in_doubt() {
    let [written, forbidden] = [204, 403].map(ResponseTemplate::new);
    let server = Server::responding_in_turn([policies(&["leaked"]), written, forbidden]).await;
    let table = server.table();
    let error = table.revoke_access_policy("leaked").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(error.last_failure().unwrap().kind(), ErrorKind::Forbidden);
}

#[tokio::test]
async fn invalid_change_of_policies_is_rejected_before_the_write() {
    let server = Server::responding(policies(&["old"])).await;
    let table = server.table();
    let policy = |id: &str| StoredAccessPolicy::new(id);
    let (long, exists) = (policy(&"x".repeat(65)), "already has an access policy \"old\"");
    for (change, kind, why) in [
        (table.add_access_policy(policy("old")), ErrorKind::AlreadyExists, exists),
        (
            table.replace_access_policy(policy("new")),
            ErrorKind::NotFound,
            "[\"old\"]",
        ),
        (
            table.revoke_access_policy("new"),
            ErrorKind::NotFound,
            "no access policy \"new\"",
        ),
        (table.add_access_policy(long), ErrorKind::InvalidInput, "65 characters"),
    ] {
        let error = change.await.unwrap_err();
        assert_error(&error, kind, why);
        let text = error.to_string();
        assert!(text.starts_with("set access policies in table Things: "), "{text}");
    }
    assert!(server.requests().await.iter().all(|request| request.method == "GET"));
}

#[tokio::test]
async fn ping_lists_one_table() {
    let server = Server::responding(ResponseTemplate::new(200).set_body_string(r#"{"value":[]}"#)).await;
    server.service().ping().await.unwrap();
    assert_eq!(line(&server.only_request().await), "GET /acct/Tables?$top=1");
}

/// Cosmos DB has no code for a missing table: recordings `new_non_existent_table` and `table_name_errors_bad_length` of
/// azure-data-tables (2024 and 2026).
#[tokio::test]
async fn missing_table_of_cosmos_db_is_created_and_missing_entity_is_not() {
    for emulator in [Emulator::cosmos(), Emulator::new()] {
        let service = TableServiceClient::from_transport(emulator);
        let row = DynamicEntity::new("p", "r");
        let single = service.dynamic_table("Single").unwrap().create_missing_table();
        single.insert_or_merge(&row).await.unwrap();
        let batched = service.dynamic_table("Batched").unwrap().create_missing_table();
        let mut batch = batched.batch();
        batch.insert(&row).unwrap();
        batch.submit().await.unwrap();
        let conditional = service.dynamic_table("Conditional").unwrap().create_missing_table();
        let error = conditional.delete(("p", "r")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let mut batch = single.batch();
        batch.delete(("p", "none")).unwrap();
        let error = batch.submit().await.unwrap_err();
        assert_eq!(
            (error.kind(), error.batch_index()),
            (ErrorKind::NotFound, Some(0)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn unsupported_operations_of_cosmos_are_not_sent() {
    let canned = Canned::new([]);
    let key = AccountKey::new("contoso", "AAAA").unwrap();
    let service = TableServiceClient::new("https://contoso.table.cosmos.azure.com", key).unwrap();
    let service = service.transport(canned.clone());
    let table = service.dynamic_table("Things").unwrap();
    for error in [
        service.properties().await.unwrap_err(),
        service.set_properties(ServiceProperties::default()).await.unwrap_err(),
        service.statistics().await.unwrap_err(),
        table.access_policies().await.unwrap_err(),
        table.revoke_all_access_policies().await.unwrap_err(),
    ] {
        let why = "Azure Cosmos DB for Table does not offer";
        assert_error(&error, ErrorKind::Unsupported, why);
    }
    let mut reserved = DynamicEntity::new("p", "r");
    reserved.insert("rid", "x");
    for (entity, why) in [
        (DynamicEntity::new("", "r"), "empty key"),
        (DynamicEntity::new("p", "é".repeat(128)), "256 bytes of UTF-8"),
        (reserved, "`rid`"),
    ] {
        let error = table.insert(&entity).await.unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, why);
        let mut batch = table.batch();
        let rejected = batch.insert(&entity).unwrap_err();
        assert!(rejected.to_string().contains(why), "{rejected}");
        assert!(rejected.into_operation().is_some(), "it is given back");
    }
    assert!(canned.sent().is_empty());
}
