//! The service's size limits: Storage's are checked before a request, Cosmos DB accepts more.

use azure_table::emulator::SeedEntities as _;
use azure_table::{DynamicEntity, EdmValue, Emulator, ErrorKind, TableClient, TableOperation, TableServiceClient};
use azure_table_tests::errors::assert_contains;
use azure_table_tests::errors::assert_error;

fn with(value: impl Into<EdmValue>) -> DynamicEntity {
    let mut entity = DynamicEntity::new("p", "r");
    entity.insert("Text", value);
    entity
}

#[azure_table::test(cosmos)]
async fn cosmos_takes_text_bytes_and_entities_beyond_the_limits_of_storage(table: TableClient) {
    for value in [
        EdmValue::from("x".repeat(70_000)),
        vec![7_u8; 70_000].into(),
        "x".repeat(600_000).into(),
    ] {
        let entity = with(value.clone());
        table.insert_or_replace(&entity).await.unwrap();
        let read = table.get(("p", "r")).await.unwrap().unwrap();
        assert!(read.get("Text") == Some(&value), "{}", value.edm_type());
        let mut batch = table.batch();
        batch.insert_or_replace(&entity).unwrap();
        batch.submit().await.unwrap();
        let report = table.bulk().insert_or_replace([&entity]).await.unwrap();
        assert_eq!(report.applied(), 1);
    }
    for length in [2_000_000, 5 << 20] {
        let error = table.insert(&with("x".repeat(length))).await.unwrap_err();
        assert_error(
            &error,
            ErrorKind::InvalidInput,
            "bytes of JSON, the limit of Azure Cosmos DB for Table is 2000000",
        );
    }
}

#[azure_table::test]
async fn oversized_values_are_rejected_before_a_request_with_their_property(table: TableClient) {
    let nothing_sent = Emulator::new().observer(|seen| panic!("{seen}"));
    let silent = TableServiceClient::from_transport(nothing_sent)
        .dynamic_table("Long")
        .unwrap();
    for (entity, why) in [
        (
            with("x".repeat(32_769)),
            "property `Text`: the text has 32769 UTF-16 units, more than the limit of 32768; use #[table(chunked)]",
        ),
        (
            with(vec![7_u8; 65_537]),
            "property `Text`: it has 65537 bytes, more than the limit of 65536; use #[table(chunked)]",
        ),
    ] {
        let upsert = TableOperation::insert_or_merge(&entity);
        let errors = [
            silent.insert(&entity).await.unwrap_err(),
            silent.replace(&entity).await.unwrap_err(),
            silent.execute(upsert).await.unwrap_err(),
            silent.batch().insert(&entity).unwrap_err().into(),
        ];
        for error in errors {
            assert_error(&error, ErrorKind::InvalidInput, why);
            assert!(error.to_string().contains("entity (\"p\", \"r\")"), "{error}");
        }
        let other = DynamicEntity::new("p", "other");
        let report = table.bulk().insert([&entity, &other]).await.unwrap();
        assert_eq!((report.applied(), report.rejected()), (1, 1));
        assert_contains(&report.leftovers()[0], why);
        table.delete(&other).await.unwrap();
        let seeded = Emulator::new().seed("Long", [entity]).unwrap_err();
        assert!(seeded.to_string().contains("PropertyValueTooLarge"), "{seeded}");
    }
}
