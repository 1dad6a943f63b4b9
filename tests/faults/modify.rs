//! `modify` with concurrent writers: the number of conflicts, the waits between them, and an entity that is deleted and
//! inserted.

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{Change, DynamicEntity, Emulator, ErrorKind, TableClient, TableServiceClient};
use tokio::time::Instant;

fn entity() -> DynamicEntity {
    let mut entity = DynamicEntity::new("p", "r");
    entity.insert("V", 0);
    entity
}

fn change(entity: &mut DynamicEntity) {
    entity.insert("V", 1);
}

/// A table behind faults, and the same table without.
async fn tables() -> (Faults, TableClient, TableClient) {
    let emulator = Emulator::new();
    let truth = TableServiceClient::from_transport(emulator.clone())
        .dynamic_table("Things")
        .unwrap();
    truth.create_table().await.unwrap();
    let faults = Faults::new(emulator);
    let table = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Things")
        .unwrap();
    (faults, table, truth)
}

fn changed_meanwhile() -> FaultRule {
    FaultRule::new(ResponseTemplate::new(412).code("UpdateConditionNotSatisfied")).on(OperationKind::Replace)
}

fn sent(faults: &Faults, kind: OperationKind) -> usize {
    faults.log().iter().filter(|record| record.kind() == Some(kind)).count()
}

#[tokio::test(start_paused = true)]
async fn modify_writes_once_more_than_it_may_conflict() {
    for conflicts in [0, 1, 3] {
        let (faults, table, truth) = tables().await;
        truth.insert(&entity()).await.unwrap();
        let rule = faults.add(changed_meanwhile());
        let modify = table.modify(("p", "r"), change);
        let error = modify.max_conflicts(conflicts).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.status()),
            (ErrorKind::Contention, Some(412)),
            "{error}"
        );
        let reported = format!(
            "{} conflicting writes, more than the limit of {conflicts}: raise `max_conflicts`, or reduce concurrent writers",
            conflicts + 1
        );
        assert!(error.to_string().contains(&reported), "{error}");
        assert_eq!(sent(&faults, OperationKind::Replace), conflicts as usize + 1);
        rule.disable();

        faults.add(changed_meanwhile().at_most(conflicts.into()));
        let modify = table.modify(("p", "r"), change).timeout(Duration::from_secs(60));
        modify.max_conflicts(conflicts).await.unwrap();
    }
}

/// Waits are random, with a bound that doubles from 20 ms up to a second.
#[tokio::test(start_paused = true)]
async fn waits_of_modify_grow_to_a_second() {
    const CONFLICTS: usize = 9;
    let mut longest = [Duration::ZERO; CONFLICTS];
    for _ in 0..60 {
        let (faults, table, truth) = tables().await;
        truth.insert(&entity()).await.unwrap();
        faults.add(changed_meanwhile().at_most(CONFLICTS as u64));
        let mut reads = Vec::new();
        let modify = table.modify(("p", "r"), |row| {
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
    let missing = || {
        let rejection = ResponseTemplate::new(404).code("ResourceNotFound");
        FaultRule::new(rejection).on(OperationKind::Replace).at_most(1)
    };
    let (faults, table, truth) = tables().await;
    truth.insert(&entity()).await.unwrap();
    faults.add(missing());
    let modify = table.modify(("p", "r"), change);
    let error = modify.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(sent(&faults, OperationKind::Replace), 1);

    faults.add(missing());
    let modify = table.modify(("p", "r"), change);
    modify.or_insert(entity).await.unwrap();
    assert_eq!(sent(&faults, OperationKind::Replace), 3);
}

/// Inserted between read and insert: the closure changes the entity that exists now.
#[tokio::test(start_paused = true)]
async fn entity_that_is_inserted_meanwhile_is_changed() {
    let (faults, table, truth) = tables().await;
    let rejection = ResponseTemplate::new(409).code("EntityAlreadyExists");
    faults.add(FaultRule::new(rejection).on(OperationKind::Insert).at_most(1));
    let modify = table.modify(("p", "r"), change);
    modify.or_insert(entity).await.unwrap();
    assert_eq!(sent(&faults, OperationKind::Insert), 2);
    assert_eq!(truth.get(("p", "r")).await.unwrap().unwrap().get("V"), Some(&1.into()));

    // Other rejections are not conflicts.
    for (status, code, kind) in [
        (404, "TableNotFound", OperationKind::Insert),
        (403, "AuthorizationFailure", OperationKind::Insert),
        (403, "AuthorizationFailure", OperationKind::Replace),
    ] {
        let (faults, table, truth) = tables().await;
        if kind == OperationKind::Replace {
            truth.insert(&entity()).await.unwrap();
        }
        faults.add(FaultRule::new(ResponseTemplate::new(status).code(code)).on(kind));
        let modify = table.modify(("p", "r"), change).or_insert(entity);
        let error = modify.await.unwrap_err();
        assert_eq!(error.status(), Some(status), "{error}");
        assert_eq!(sent(&faults, kind), 1, "{error}");
    }
}

/// It is unknown if the write was applied: the call does not start again as after a conflict.
#[tokio::test(start_paused = true)]
async fn modify_in_doubt_ends() {
    for (kind, code, is_stored) in [
        (OperationKind::Replace, (412, "UpdateConditionNotSatisfied"), true),
        (OperationKind::Replace, (404, "ResourceNotFound"), true),
        (OperationKind::Insert, (409, "EntityAlreadyExists"), false),
    ] {
        let (faults, table, truth) = tables().await;
        if is_stored {
            truth.insert(&entity()).await.unwrap();
        }
        faults.add(FaultRule::new(Fault::LoseRequest).on(kind).nth(1));
        faults.add(FaultRule::new(ResponseTemplate::new(code.0).code(code.1)).on(kind));
        // The read-back finds nothing.
        faults.add(FaultRule::new(ResponseTemplate::new(403)).on(OperationKind::Query));
        let modify = table.modify(("p", "r"), change).or_insert(entity);
        let error = modify.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
        assert_eq!(error.last_failure().unwrap().status(), Some(code.0), "{error}");
        assert_eq!(sent(&faults, kind), 2, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn closure_that_keeps_an_absent_entity_inserts_none() {
    let (faults, table, _) = tables().await;
    let modify = table.modify(("p", "r"), |_| Change::Keep).or_insert(entity);
    let error = modify.await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (ErrorKind::NotFound, Some(("p", "r"))));
    assert_eq!(sent(&faults, OperationKind::Insert), 0);

    let modify = table.modify(("p", "r"), change);
    let error = modify.await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (ErrorKind::NotFound, Some(("p", "r"))));

    for other in [("q", "r"), ("p", "s")] {
        let modify = table.modify(("p", "r"), change);
        let error = modify
            .or_insert(|| DynamicEntity::new(other.0, other.1))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!(sent(&faults, OperationKind::Insert), 0);
    }
}
