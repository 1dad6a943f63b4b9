//! Writes by query in an outage.

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{Emulator, Error, ErrorKind, Result, TableServiceClient};

use super::with;

/// Every batch gets lost after the page was read.
#[tokio::test(start_paused = true)]
async fn outage_that_leaves_writes_in_doubt_ends_a_write_by_query() -> Result<()> {
    let faults = Faults::new(Emulator::new());
    let (_, people) = with(&TableServiceClient::from_transport(faults.clone()), 9).await?;
    faults.add(FaultRule::new(Fault::LoseRequest).on(OperationKind::Batch));
    let interrupted = people
        .update_where(people.query(), |person| person.name.push('!'))
        .await
        .unwrap_err();
    assert_eq!(interrupted.error().kind(), ErrorKind::Connection);
    let leftovers = interrupted.report().leftovers();
    assert_eq!(leftovers.len(), 4, "those in flight: {leftovers:?}");
    assert!(
        leftovers
            .iter()
            .all(|left| left.error().is_some_and(Error::may_have_applied))
    );
    assert!(Error::from(interrupted).may_have_applied());
    Ok(())
}

/// The first request is applied and its response is lost. Its repetition meets its own ETag, as after any other write.
#[tokio::test(start_paused = true)]
async fn write_in_doubt_for_a_conflict_is_a_leftover_among_others() -> Result<()> {
    let faults = Faults::new(Emulator::new());
    let (_, people) = with(&TableServiceClient::from_transport(faults.clone()), 9).await?;
    let conflict = ResponseTemplate::new(412).code("UpdateConditionNotSatisfied");
    faults.add(FaultRule::new(Fault::LoseRequest).on(OperationKind::Batch).nth(1));
    faults.add(
        FaultRule::new(Fault::FailBatchPart(conflict))
            .on(OperationKind::Batch)
            .nth(2),
    );
    let one = people.concurrency(1);
    let report = one.update_where(one.query(), |person| person.name.push('!')).await?;
    assert_eq!((report.applied(), report.leftovers().len()), (8, 1), "{report:?}");
    Ok(())
}
