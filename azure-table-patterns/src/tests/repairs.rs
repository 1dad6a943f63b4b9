//! Repairs of rows that cannot be stored.

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{Emulator, Result, TableServiceClient};

use super::{Person, open, person};
use crate::IndexFault;

/// The RowKey of the index row has more than 255 bytes.
#[tokio::test]
async fn row_that_cosmos_db_cannot_store_is_named_and_does_not_end_a_repair() -> Result<()> {
    let service = TableServiceClient::from_transport(Emulator::cosmos());
    let (table, people) = open(&service).await?;
    for id in 1..=3 {
        let mail = if id == 1 { "m".repeat(250) } else { format!("{id}@x") };
        table
            .insert(&Person {
                mail,
                ..person(id, "Ada")
            })
            .await?;
    }
    let found = people.verify().await?;
    let unindexable = |fault: &IndexFault| matches!(fault, IndexFault::Unindexable { .. });
    assert_eq!(
        found.faults.iter().filter(|fault| unindexable(fault)).count(),
        1,
        "{found:?}"
    );
    assert_eq!(people.repair(&found).await?, 8);
    let left = people.verify().await?.faults;
    assert!(matches!(&left[..], [fault] if unindexable(fault)), "{left:?}");
    Ok(())
}

#[tokio::test]
async fn repair_goes_on_after_a_row_that_the_service_rejects() -> Result<()> {
    let faults = Faults::new(Emulator::new());
    let (table, people) = open(&TableServiceClient::from_transport(faults.clone())).await?;
    for id in 1..=3 {
        table.insert(&person(id, "Ada")).await?;
    }
    let found = people.verify().await?;
    let rejected = ResponseTemplate::new(400).code("PropertyValueTooLarge");
    faults.add(
        FaultRule::new(Fault::FailBatchPart(rejected))
            .on(OperationKind::Batch)
            .nth(1),
    );
    let error = people.repair(&found).await.unwrap_err();
    let last = error.last_failure().unwrap();
    assert_eq!(last.code(), Some("PropertyValueTooLarge"), "{error}");
    assert_eq!(people.verify().await?.faults.len(), 1);
    Ok(())
}
