//! Checks the table of operations in the guide against the services.

use std::time::Duration;

use azure_table::service::{Creation, ServiceProperties};
use azure_table::{
    AccountKey, DateTime, Deletion, DynamicEntity, Emulator, Error, ErrorKind, Profile, TableClient, TableEntity,
    TableServiceClient,
};
use azure_table_tests::Backend;
use azure_table_tests::canned::BearerToken;

const GUIDE: &str = include_str!("../../../azure-table/src/guide/accounts.md");

/// The operation that needs a token.
const FOR_TOKENS: &str = "user_delegation_key";

/// An entry of the table, for an operation on a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Documented {
    Works,
    /// The client rejects it before it is sent.
    RejectedHere,
    RejectedThere,
}

/// Returns each operation of the table with its entries for Storage, Cosmos DB, Azurite and the emulator.
fn rows() -> Vec<(&'static str, Vec<Documented>)> {
    let table = GUIDE.split("# Operations").last().unwrap();
    table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .flat_map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let names = cells.next().unwrap().split('`').skip(1).step_by(2);
            let documented = cells.map(|cell| match cell {
                "✓" => Documented::Works,
                "–" => Documented::RejectedHere,
                "✗" => Documented::RejectedThere,
                _ => unreachable!("{line}"),
            });
            let documented: Vec<_> = documented.collect();
            names.map(move |name| (name, documented.clone()))
        })
        .collect()
}

/// A typed row, for operations that a dynamic entity does not have.
#[derive(TableEntity)]
struct Thing {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    count: Option<i32>,
}

/// Performs the operation, on a table with the row `(p, there)`.
async fn perform(name: &str, service: &TableServiceClient, table: &TableClient<DynamicEntity>) -> Result<(), Error> {
    let there = DynamicEntity::new("p", "there");
    let new = DynamicEntity::new("p", "new");
    match name {
        "list_tables" => service.list_tables().await.map(drop),
        "ensure_tables" => {
            let ensured = service.ensure_tables([table.name()]).await?;
            assert_eq!(ensured, [(table.name().to_string(), Creation::Existed)]);
            Ok(())
        }
        "create_table" => table.create_table_if_not_exists().await.map(drop),
        "table_exists" => table.table_exists().await.map(|exists| assert!(exists)),
        "delete_table" => {
            let other = service.dynamic_table(format!("{}x", table.name()))?;
            other.create_table().await?;
            other.delete_table().await
        }
        "insert" => table.insert(&new).await.map(drop),
        "insert_if_not_exists" => table
            .insert_if_not_exists(&there)
            .await
            .map(|etag| assert!(etag.is_none())),
        "replace" => table.replace(&there).await.map(drop),
        "merge" => table.merge(&there).await.map(drop),
        "patch" => {
            let things = table.typed::<Thing>();
            things.patch(("p", "there"), [Thing::COUNT.set(1)]).await.map(drop)
        }
        "modify" => {
            let things = table.typed::<Thing>();
            let modified = things.modify(("p", "there"), |thing| thing.count = Some(2)).await?;
            assert_eq!(modified.count, Some(2));
            Ok(())
        }
        "insert_or_replace" => table.insert_or_replace(&there).await.map(drop),
        "insert_or_merge" => table.insert_or_merge(&there).await.map(drop),
        "delete" => table.delete(("p", "new")).await,
        "delete_if_exists" => {
            let deletion = table.delete_if_exists(("p", "new")).await?;
            assert_eq!(deletion, Deletion::WasMissing);
            Ok(())
        }
        "exists" => table.exists(("p", "there")).await.map(|exists| assert!(exists)),
        "get" => table.get(("p", "there")).await.map(|row| assert!(row.is_some())),
        "query" => table.query().all().await.map(|rows| assert!(!rows.is_empty())),
        "batch" => {
            let mut batch = table.batch();
            batch.merge(&there)?;
            batch.submit().await.map(drop)
        }
        "ping" => service.ping().await,
        "access_policies" => table.access_policies().await.map(drop),
        "set_access_policies" => table.set_access_policies([]).await.map(drop),
        "properties" => service.properties().await.map(drop),
        // Azurite does not accept an empty set.
        "set_properties" => service.set_properties(ServiceProperties::default().cors([])).await,
        "statistics" => service.statistics().await.map(drop),
        FOR_TOKENS => {
            let expiry = DateTime::now() + Duration::from_secs(3_600);
            service.user_delegation_key(expiry).await.map(drop)
        }
        unknown => unreachable!("the guide has an operation {unknown}, which this test does not know"),
    }
}

/// Checks a column of the table on a service, except the operation that needs a token.
async fn check(column: usize, service: &TableServiceClient, name: &str) {
    let table = service.dynamic_table(name).unwrap();
    table.create_table().await.unwrap();
    table.insert(&DynamicEntity::new("p", "there")).await.unwrap();
    let rows = rows();
    assert!(rows.len() >= 26);
    for (operation, documented) in rows.iter().filter(|(name, _)| *name != FOR_TOKENS) {
        behaves_as_documented(operation, documented[column], perform(operation, service, &table).await);
    }
    table.delete_table().await.unwrap();
}

fn behaves_as_documented(operation: &str, documented: Documented, outcome: Result<(), Error>) {
    match (documented, outcome) {
        (Documented::Works, Ok(())) => {}
        (Documented::RejectedHere, Err(e)) => assert_eq!(e.kind(), ErrorKind::Unsupported, "{operation}: {e}"),
        (Documented::RejectedThere, Err(e)) => assert!(e.status().is_some(), "{operation} was not answered: {e}"),
        (documented, outcome) => unreachable!("{operation} {documented:?}: {outcome:?}"),
    }
}

/// Checks the row of the operation that needs a token, by a client of the emulator with a token.
async fn check_for_tokens(columns: &[usize], address: &str, emulator: Emulator) {
    let service = TableServiceClient::new(address, BearerToken("token")).unwrap();
    let service = service.transport(emulator.token("token"));
    let table = service.dynamic_table("Things").unwrap();
    let rows = rows();
    let (_, documented) = rows.iter().find(|(name, _)| *name == FOR_TOKENS).unwrap();
    for column in columns {
        behaves_as_documented(
            FOR_TOKENS,
            documented[*column],
            perform(FOR_TOKENS, &service, &table).await,
        );
    }
}

#[tokio::test]
async fn table_of_the_guide_matches_the_emulator() {
    let service = TableServiceClient::from_transport(Emulator::new());
    assert_eq!(service.profile(), Profile::Storage);
    // The emulator imitates Storage, so this also checks the column of Storage.
    check(0, &service, "Things").await;
    check(3, &service, "Things").await;
}

#[tokio::test]
async fn table_of_the_guide_matches_the_emulator_with_tokens() {
    const ADDRESS: &str = "https://devstoreaccount1.table.core.windows.net";
    check_for_tokens(&[0, 3], ADDRESS, Emulator::new()).await;
}

/// With a key, the client rejects the operation that needs a token before it is sent.
#[tokio::test]
async fn operation_for_tokens_is_rejected_with_a_key() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let table = service.dynamic_table("Things").unwrap();
    let error = perform(FOR_TOKENS, &service, &table).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unsupported, 0), "{error}");
}

const COSMOS: &str = "https://contoso.table.cosmos.azure.com";

#[tokio::test]
async fn table_of_the_guide_matches_the_emulator_of_cosmos() {
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let emulator = Emulator::cosmos().account("contoso", "AAECAwQFBgc=").unwrap();
    let service = TableServiceClient::new(COSMOS, key).unwrap().transport(emulator);
    assert_eq!(service.profile(), Profile::Cosmos);
    check(1, &service, "Things").await;
}

#[tokio::test]
async fn table_of_the_guide_matches_cosmos_with_tokens() {
    let emulator = Emulator::cosmos().account("contoso", "AAECAwQFBgc=").unwrap();
    check_for_tokens(&[1], COSMOS, emulator).await;
}

#[tokio::test]
#[cfg_attr(
    not(azurite),
    ignore = "needs Azurite: start the tests with tests/external/azurite/run"
)]
async fn table_of_the_guide_matches_azurite() {
    let backend = Backend::azurite();
    // Azurite needs a token to say so: see `tests/foreign/azurite.rs`.
    let rows = rows();
    let (_, documented) = rows.iter().find(|(name, _)| *name == FOR_TOKENS).unwrap();
    assert_eq!(documented[2], Documented::RejectedThere);
    check(2, backend.service(), &backend.fresh_name()).await;
}
