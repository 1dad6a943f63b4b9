//! The declarations of indexes that were never built, and rows that an earlier declaration left.

use azure_table::operation::OperationKind;
use azure_table::testing::{FaultRule, Faults, ResponseTemplate, Spy};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Result, TableEntity, TableServiceClient};

use super::{Person, emulated, person};
use crate::Indexed;

#[derive(TableEntity, Clone, Debug)]
#[table(index(by_mail = (mail)))]
struct Before {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
    name: String,
    team: String,
}

/// It was deployed, and not built.
#[tokio::test]
async fn changed_index_is_rejected_before_its_first_build() -> Result<()> {
    let table = emulated().table::<Before>("People")?;
    table.create_table().await?;
    Indexed::open(&table).await?;
    let error = Indexed::open(&table.typed::<Person>()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("give the changed index a new name"),
        "{error}"
    );
    Ok(())
}

#[tokio::test]
async fn state_of_a_new_index_takes_one_request() -> Result<()> {
    let spy = Spy::new(Emulator::new());
    let table = TableServiceClient::from_transport(spy.clone()).table::<Person>("People")?;
    table.create_table().await?;
    spy.clear();
    Indexed::open(&table).await?;
    let kinds = || {
        spy.exchanges()
            .iter()
            .map(|exchange| exchange.kind().unwrap())
            .collect::<Vec<_>>()
    };
    let [query, insert] = [OperationKind::Query, OperationKind::Insert];
    assert_eq!(kinds(), [query, insert, insert, insert]);
    spy.clear();
    Indexed::open(&table).await?;
    assert_eq!(kinds(), [query]);
    Ok(())
}

/// A program with a SAS that permits queries alone.
#[tokio::test]
async fn reader_without_permission_to_write_opens_indexes() -> Result<()> {
    let faults = Faults::new(Emulator::new());
    let service = TableServiceClient::from_transport(faults.clone());
    let table = service.table::<Person>("People")?;
    table.create_table().await?;
    let denied = ResponseTemplate::new(403).code("AuthorizationPermissionMismatch");
    faults.add(FaultRule::new(denied).on_writes());
    let people = Indexed::open(&table).await?;
    assert!(people.by(Person::BY_NAME, ("t",)).is_err(), "it was never built");
    faults.clear();
    super::with(&service, 1).await?;
    let denied = ResponseTemplate::new(403).code("AuthorizationPermissionMismatch");
    faults.add(FaultRule::new(denied).on_writes());
    let people = Indexed::open(&table).await?;
    assert_eq!(
        people.by(Person::BY_NAME, ("t", "Ada"))?.all().await?,
        [person(1, "Ada")]
    );
    Ok(())
}

/// Its rows are those of a plain index: they name no entity where a unique one does.
#[tokio::test]
async fn row_of_an_earlier_declaration_dangles() -> Result<()> {
    let (table, people) = super::with(&emulated(), 1).await?;
    let rows = table.typed::<DynamicEntity>();
    let row = DynamicEntity::new("t", "$ix;by_mail 1@x 0000000001");
    rows.insert(&row).await?;
    let found = people.verify().await?;
    assert_eq!(found.faults.len(), 1, "{found:?}");
    assert!(found.faults[0].to_string().contains("has no entity"), "{found:?}");
    assert_eq!(people.repair(&found).await?, 1);
    people.verify().await?.ensure_none()?;

    // The build deletes them first.
    rows.insert(&row).await?;
    rows.delete(("$indexes", "$ix;by_mail")).await?;
    let people = Indexed::open(&table).await?;
    people.build(Person::BY_MAIL).await?.ensure_none_taken()?;
    assert_eq!(people.by(Person::BY_MAIL, ("t",))?.all().await?, [person(1, "Ada")]);
    Ok(())
}
