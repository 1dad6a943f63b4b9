//! Loops that other writers or late reads keep from ending.

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{Emulator, ErrorKind, Result, TableEntity, TableServiceClient};
use tokio::time::Instant;

use super::{Person, emulated, person, with};
use crate::Indexed;

#[derive(TableEntity, Clone, Debug)]
#[table(index(i01 = (v)), index(i02 = (v)), index(i03 = (v)), index(i04 = (v)), index(i05 = (v)), index(i06 = (v)))]
#[table(index(i07 = (v)), index(i08 = (v)), index(i09 = (v)), index(i10 = (v)), index(i11 = (v)), index(i12 = (v)))]
#[table(index(i13 = (v)), index(i14 = (v)), index(i15 = (v)), index(i16 = (v)), index(i17 = (v)), index(i18 = (v)))]
struct Wide {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    v: u32,
}

/// Each transaction names one missing row.
#[tokio::test(start_paused = true)]
async fn entity_with_many_unbuilt_indexes_is_deleted() -> Result<()> {
    let table = emulated().table::<Wide>("Wide")?;
    table.create_table().await?;
    table
        .insert(&Wide {
            tenant: "t".into(),
            id: 1,
            v: 1,
        })
        .await?;
    let wide = Indexed::open(&table).await?;
    let started = Instant::now();
    assert!(wide.delete(("t", 1)).await?);
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "missing rows are no conflicts"
    );
    Ok(())
}

/// Others write first, each time.
#[tokio::test(start_paused = true)]
async fn writes_wait_between_16_conflicts() -> Result<()> {
    let faults = Faults::new(Emulator::new());
    let (_, people) = with(&TableServiceClient::from_transport(faults.clone()), 1).await?;
    let conflict = ResponseTemplate::new(412).code("UpdateConditionNotSatisfied");
    let rule = faults.add(FaultRule::new(Fault::FailBatchPart(conflict)).on(OperationKind::Batch));
    let mut calls = 0;
    let change = |person: &mut Person| {
        calls += 1;
        person.name.push('!');
    };
    let started = Instant::now();
    let error = people.modify(("t", 1), change).await.unwrap_err();
    assert_eq!(
        (error.kind(), calls, rule.hits()),
        (ErrorKind::Contention, 16, 16),
        "{error}"
    );
    let waited = started.elapsed();
    assert!((5..20).contains(&waited.as_secs()), "{waited:?}");
    for error in [
        people.delete(("t", 1)).await.unwrap_err(),
        people.insert_or_replace(&person(1, "Eve")).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Contention, "{error}");
    }
    assert_eq!(rule.hits(), 48);
    Ok(())
}

/// Reads that never return the row that an insert meets.
#[tokio::test(start_paused = true)]
async fn late_reads_end_a_build() -> Result<()> {
    let faults = Faults::new(Emulator::cosmos());
    let service = TableServiceClient::from_transport(faults.clone());
    let (table, people) = with(&service, 1).await?;
    let states = table.typed::<azure_table::DynamicEntity>();
    let state = ("$indexes", "$ix;by_mail");
    states.delete(state).await?;
    let absent = || FaultRule::new(ResponseTemplate::new(404).code("ResourceNotFound")).on(OperationKind::Get);
    // Inserted, but never read.
    let late = faults.add(absent());
    let error = people.build(Person::BY_MAIL).await.unwrap_err();
    let last = error.last_failure().unwrap();
    assert_eq!(last.kind(), ErrorKind::Contention, "{error}");
    assert_eq!(late.hits(), 16);
    faults.clear();

    // Another program inserted the state, and its read is late.
    states.delete(state).await?;
    faults.add(absent());
    let exists = ResponseTemplate::new(409).code("EntityAlreadyExists");
    faults.add(FaultRule::new(exists).on(OperationKind::Insert));
    let error = people.build(Person::BY_MAIL).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contention, "{error}");
    Ok(())
}
