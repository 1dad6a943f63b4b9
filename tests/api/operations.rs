//! The table of operations in the guide is what the services do.

use azure_table::{
    AccountKey, DynamicEntity, Emulator, Error, ErrorKind, Profile, ServiceProperties, TableClient, TableServiceClient,
};
use azure_table_tests::Backend;

const GUIDE: &str = include_str!("../../azure-table/docs/accounts.md");

/// The rows of the table: the operation, and whether it works on Storage, Cosmos DB, Azurite and the emulator.
fn rows() -> Vec<(&'static str, Vec<bool>)> {
    let table = GUIDE.split("# Operations").last().unwrap();
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells = cells(line);
            let works = cells[1..].iter().map(|cell| {
                assert!(["✓", "–"].contains(cell), "{line}");
                *cell == "✓"
            });
            (cells[0].trim_matches('`'), works.collect())
        })
        .collect()
}

/// Does the operation, on a table with the row `(p, there)`.
async fn perform(name: &str, service: &TableServiceClient, table: &TableClient<DynamicEntity>) -> Result<(), Error> {
    let there = DynamicEntity::new("p", "there");
    let new = DynamicEntity::new("p", "new");
    match name {
        "list_tables" => service.list_tables().await.map(drop),
        "create_table" => table.create_table_if_not_exists().await.map(drop),
        "table_exists" => table.table_exists().await.map(|exists| assert!(exists)),
        "delete_table" => {
            let other = service.dynamic_table(format!("{}x", table.name()))?;
            other.create_table().await?;
            other.delete_table().await
        }
        "insert" => table.insert(&new).await.map(drop),
        "replace" => table.replace(&there).await.map(drop),
        "merge" => table.merge(&there).await.map(drop),
        "insert_or_replace" => table.insert_or_replace(&there).await.map(drop),
        "insert_or_merge" => table.insert_or_merge(&there).await.map(drop),
        "delete" => table.delete(("p", "new")).await,
        "get" => table.get(("p", "there")).await.map(|row| assert!(row.is_some())),
        "query" => table.query().all().await.map(|rows| assert!(!rows.is_empty())),
        "batch" => {
            let mut batch = table.batch();
            batch.merge(&there)?;
            batch.commit().await.map(drop)
        }
        "ping" => service.ping().await,
        "access_policies" => table.access_policies().await.map(drop),
        "set_access_policies" => table.set_access_policies([]).await.map(drop),
        "properties" => service.properties().await.map(drop),
        // Azurite cannot set none of them.
        "set_properties" => service.set_properties(ServiceProperties::default().cors([])).await,
        "statistics" => service.statistics().await.map(drop),
        unknown => unreachable!("the guide has an operation {unknown}, which this test does not know"),
    }
}

/// Checks a column of the table on a service.
async fn check(column: usize, service: &TableServiceClient, name: &str) {
    let table = service.dynamic_table(name).unwrap();
    table.create_table().await.unwrap();
    table.insert(&DynamicEntity::new("p", "there")).await.unwrap();
    let rows = rows();
    assert!(rows.len() >= 19);
    for (operation, works) in rows {
        match perform(operation, service, &table).await {
            Ok(()) => assert!(works[column], "{operation} works"),
            Err(e) => {
                assert!(!works[column], "{operation}: {e}");
                assert_eq!(e.kind(), ErrorKind::Unsupported, "{operation}: {e}");
            }
        }
    }
    table.delete_table().await.unwrap();
}

#[tokio::test]
async fn the_guides_table_is_true_of_the_emulator() {
    let service = TableServiceClient::on(Emulator::new());
    assert_eq!(service.profile(), Profile::Storage);
    // What stands there of Storage is what the emulator imitates.
    check(0, &service, "Things").await;
    check(3, &service, "Things").await;
}

#[tokio::test]
async fn the_guides_table_is_true_of_cosmos_as_it_is_imitated() {
    let key = AccountKey::new("contoso", "AAECAwQFBgc=").unwrap();
    let emulator = Emulator::cosmos().with_account("contoso", "AAECAwQFBgc=").unwrap();
    let service = TableServiceClient::new("https://contoso.table.cosmos.azure.com", key)
        .unwrap()
        .over(emulator);
    assert_eq!(service.profile(), Profile::Cosmos);
    check(1, &service, "Things").await;
}

#[tokio::test]
async fn the_guides_table_is_true_of_azurite() {
    if let Some(backend) = Backend::azurite() {
        check(2, backend.service(), &backend.fresh_name()).await;
    }
}
