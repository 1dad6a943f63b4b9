//! `modify` with concurrent writers: the number of conflicts, the waits between them, and an entity that is deleted and
//! inserted.

use std::time::Duration;

use azure_table::operation::OperationKind::{self, Insert, Query, Replace};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{DynamicEntity, Emulator, ErrorKind, TableClient};
use tokio::time::Instant;

use super::{faulty, row_of};

const KEY: (&str, &str) = ("p", "r");

fn entity() -> DynamicEntity {
    row_of("r", 0)
}

fn change(entity: &mut DynamicEntity) {
    entity.insert("V", 1);
}

/// A table behind faults, which has the entity if it `is_stored`.
async fn tables(is_stored: bool) -> (Faults, TableClient) {
    let (faults, table, truth) = faulty(Emulator::new()).await;
    if is_stored {
        truth.insert(&entity()).await.unwrap();
    }
    (faults, table)
}

fn rejected(status: u16, code: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).code(code)
}

fn changed_meanwhile() -> FaultRule {
    FaultRule::new(rejected(412, "UpdateConditionNotSatisfied")).on(Replace)
}

fn sent(faults: &Faults, kind: OperationKind) -> usize {
    faults.log().iter().filter(|record| record.kind() == Some(kind)).count()
}

#[tokio::test(start_paused = true)]
async fn modify_writes_once_more_than_it_may_conflict() {
    for conflicts in [0, 1, 3] {
        let (faults, table) = tables(true).await;
        let rule = faults.add(changed_meanwhile());
        let modify = table.modify(KEY, change);
        let error = modify.max_conflicts(conflicts).await.unwrap_err();
        let expected = (ErrorKind::Contention, Some(412));
        assert_eq!((error.kind(), error.status()), expected, "{error}");
        let reported = format!(
            "{} conflicting writes, more than the limit of {conflicts}: raise `max_conflicts`, or reduce concurrent writers",
            conflicts + 1
        );
        assert!(error.to_string().contains(&reported), "{error}");
        assert_eq!(sent(&faults, Replace), conflicts as usize + 1);
        let modify = table.modify(KEY, change).max_conflicts(conflicts);
        let error = modify.or_insert(entity).await.unwrap_err();
        assert!(error.to_string().contains(&reported), "{error}");
        rule.disable();

        faults.add(changed_meanwhile().at_most(conflicts.into()));
        let modify = table.modify(KEY, change).timeout(Duration::from_secs(60));
        modify.max_conflicts(conflicts).await.unwrap();
    }
}

/// Waits are random, with a bound that doubles from 20 ms up to a second.
#[tokio::test(start_paused = true)]
async fn waits_of_modify_grow_to_a_second() {
    const CONFLICTS: usize = 9;
    let mut longest = [Duration::ZERO; CONFLICTS];
    for _ in 0..60 {
        let (faults, table) = tables(true).await;
        faults.add(changed_meanwhile().at_most(CONFLICTS as u64));
        let mut reads = Vec::new();
        let modify = table.modify(KEY, |row| {
            reads.push(Instant::now());
            change(row);
        });
        modify.await.unwrap();
        for (longest, pair) in longest.iter_mut().zip(reads.windows(2)) {
            *longest = (*longest).max(pair[1] - pair[0]);
        }
    }
    let bounds = [20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000];
    for (longest, bound) in longest.into_iter().zip(bounds.map(Duration::from_millis)) {
        // Timers have a precision of 1 ms.
        assert!(longest <= bound + Duration::from_millis(2), "{longest:?} of {bound:?}");
        assert!(longest >= bound / 2, "{longest:?} of {bound:?}");
    }
}

/// Deleted between read and write: `or_insert` inserts the entity again, and without it the call fails.
#[tokio::test(start_paused = true)]
async fn entity_deleted_meanwhile_is_inserted_only_with_or_insert() {
    let missing = || FaultRule::new(rejected(404, "ResourceNotFound")).on(Replace).at_most(1);
    let (faults, table) = tables(true).await;
    faults.add(missing());
    let error = table.modify(KEY, change).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(sent(&faults, Replace), 1);

    faults.add(missing());
    table.modify(KEY, change).or_insert(entity).await.unwrap();
    assert_eq!(sent(&faults, Replace), 3);
}

/// A rejected insert is a conflict: the entity is read again.
#[tokio::test(start_paused = true)]
async fn entity_that_exists_at_the_insert_is_read_again() {
    let (faults, table) = tables(false).await;
    faults.add(
        FaultRule::new(rejected(409, "EntityAlreadyExists"))
            .on(Insert)
            .at_most(1),
    );
    table.modify(KEY, change).or_insert(entity).await.unwrap();
    assert_eq!(sent(&faults, Insert), 2);

    // Other rejections are not conflicts.
    for (status, code, kind) in [
        (404, "TableNotFound", Insert),
        (403, "AuthorizationFailure", Insert),
        (403, "AuthorizationFailure", Replace),
    ] {
        let (faults, table) = tables(kind == Replace).await;
        faults.add(FaultRule::new(rejected(status, code)).on(kind));
        let error = table.modify(KEY, change).or_insert(entity).await.unwrap_err();
        assert_eq!(error.status(), Some(status), "{error}");
        assert_eq!(sent(&faults, kind), 1, "{error}");
    }
}

/// It is unknown if the write was applied: the call does not start again as after a conflict.
#[tokio::test(start_paused = true)]
async fn modify_in_doubt_ends() {
    for (kind, status, code) in [
        (Replace, 412, "UpdateConditionNotSatisfied"),
        (Replace, 404, "ResourceNotFound"),
        (Insert, 409, "EntityAlreadyExists"),
    ] {
        let (faults, table) = tables(kind == Replace).await;
        faults.add(FaultRule::new(Fault::LoseRequest).on(kind).nth(1));
        faults.add(FaultRule::new(rejected(status, code)).on(kind));
        // The read-back finds nothing.
        faults.add(FaultRule::new(ResponseTemplate::new(403)).on(Query));
        let error = table.modify(KEY, change).or_insert(entity).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
        assert_eq!(error.last_failure().unwrap().status(), Some(status), "{error}");
        assert_eq!(sent(&faults, kind), 2, "{error}");
    }
}

#[azure_table::test(start_paused)]
async fn absent_entity_is_inserted_only_with_its_key(table: TableClient, faults: Faults) {
    let error = table.modify(KEY, change).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (ErrorKind::NotFound, Some(KEY)));
    for (partition, row) in [("q", "r"), ("p", "s")] {
        let modify = table.modify(KEY, change);
        let modify = modify.or_insert(|| DynamicEntity::new(partition, row));
        let error = modify.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!(sent(&faults, Insert), 0);
    }
}
