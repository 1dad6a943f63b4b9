//! Table names: the client opens the tables that the emulated service accepts, and reaches every one of them.

use azure_table::{DynamicEntity, Emulator, ErrorKind, TableClient, TableName, TableServiceClient};
use proptest::prelude::*;

/// Names of few characters, many of them with a meaning in a URL, and names near the limits of the services.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9_-]{1,6}",
        r"[ '()%+&=,.;:@$_/\\#?a]{1,6}",
        "\\PC{1,6}",
        ".{0,3}",
        "[a-z]{61,65}",
        "é{252,256}"
    ]
}

async fn check(name: &str) -> Result<(), TestCaseError> {
    let storage = TableServiceClient::from_transport(Emulator::new());
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    let is_alphanumeric = name.chars().all(|c| c.is_ascii_alphanumeric());
    let is_on_storage = is_alphanumeric
        && (3..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !name.eq_ignore_ascii_case("tables");
    match storage.dynamic_table(name) {
        Ok(table) => {
            prop_assert!(is_on_storage, "{name:?}");
            table.create_table().await.unwrap();
        }
        Err(error) => {
            prop_assert!(!is_on_storage, "{error}");
            prop_assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
    }
    match service.dynamic_table(name) {
        Ok(table) => reach(&service, &table).await,
        Err(error) => {
            prop_assert!(TableName::new(name).is_err(), "{error}");
            Ok(())
        }
    }
}

/// Checks that each operation addresses the table.
async fn reach(service: &TableServiceClient, table: &TableClient) -> Result<(), TestCaseError> {
    let name = table.name().as_str();
    table.create_table().await.unwrap();
    let (one, two) = (DynamicEntity::new("p", "1"), DynamicEntity::new("p", "2"));
    table.insert(&one).await.unwrap();
    let mut batch = table.batch();
    batch.insert(&two).unwrap();
    batch.submit().await.unwrap();
    prop_assert!(table.get(("p", "1")).await.unwrap().is_some());
    prop_assert_eq!(table.query().all().await.unwrap().len(), 2);
    prop_assert_eq!(&service.list_tables().await.unwrap(), &[name.to_owned()]);
    let found = service
        .list_tables()
        .starting_with(name)
        .filter(TableName::NAME.eq(name));
    prop_assert_eq!(found.await.unwrap().len(), 1);
    prop_assert!(table.table_exists().await.unwrap());
    table.delete_table().await.unwrap();
    prop_assert!(service.list_tables().await.unwrap().is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(super::cases(ProptestConfig::with_cases(256)))]
    #[test]
    fn each_table_name_reaches_its_table(name in any_name()) {
        super::run(check(&name))?;
    }
}
