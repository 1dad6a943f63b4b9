//! Loads of several pages, the batches of long stores, and what a failure between two of them leaves.

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::transport::BoxFuture;
use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry, Result, TableClient, TableServiceClient};
use azure_table_tests::promises::Place;

use super::{STATE, Seen, behind, commit, many, prepare, version};
use crate::interruption::interrupted;
use crate::systems::transactional_state::{StateStorage, Update};

/// Prepares two versions, and commits the first.
async fn filled(place: &Place) -> StateStorage {
    let storage = behind(place);
    let update = Update {
        commit_up_to: Some(1),
        ..many(2)
    };
    storage.load().await.unwrap().store(update).await.unwrap();
    storage
}

async fn commit_next(storage: StateStorage) {
    let state = storage.load().await.unwrap();
    let next = state.committed_sequence_id() + 1;
    let update = Update {
        commit_up_to: Some(next),
        ..prepare([version(next, next)])
    };
    state.store(update).await.unwrap();
}

pub(super) async fn torn_once(place: Place) {
    let storage = filled(&place).await;
    let (table, reads) = interrupted(&place, move |read| -> BoxFuture<'static, ()> {
        let storage = storage.clone();
        Box::pin(async move {
            if read == 1 {
                commit_next(storage).await;
            }
        })
    });
    let storage = StateStorage::new(&table, STATE).page_size(3);
    Seen::of(&storage.load().await.unwrap()).is_committed(2, 2);
    assert_eq!(reads.number(), 2);
    storage.load().await.unwrap();
    assert_eq!(reads.number(), 3, "nothing interrupts it");
}

pub(super) async fn always_torn(place: Place) {
    let storage = filled(&place).await;
    let (table, reads) = interrupted(&place, move |_| Box::pin(commit_next(storage.clone())));
    let bound = async || {
        let rows: TableClient = place.table_behind();
        let row = rows.get((STATE, "!")).await.unwrap().unwrap();
        let Some(azure_table::EdmValue::String(version)) = row.get("SnapshotVersion").cloned() else {
            panic!("{row:?}")
        };
        version
    };
    let error = StateStorage::new(&table, STATE).page_size(3).load().await.unwrap_err();
    assert_eq!((error.kind(), reads.number()), (ErrorKind::Contention, 5));
    let text = error.to_string();
    let (from, to) = text.split_once("from version ").unwrap().1.split_once(" to ").unwrap();
    assert_ne!(from, to);
    assert!(to.starts_with(&*bound().await), "{text}");
}

pub(super) async fn one_bound(place: Place) {
    let storage = filled(&place).await;
    place
        .table_behind::<DynamicEntity>()
        .delete((STATE, "~"))
        .await
        .unwrap();
    let error = storage.load().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contention);
    assert!(error.to_string().contains("to absent"), "{error}");
}

pub(super) async fn older_layout(place: Place) {
    let storage = filled(&place).await;
    for bound in ["!", "~"] {
        place
            .table_behind::<DynamicEntity>()
            .delete((STATE, bound))
            .await
            .unwrap();
    }
    let state = storage.page_size(2).load().await.unwrap();
    assert_eq!((state.committed_sequence_id(), state.pending().count()), (1, 1));
    let state = state.store(commit(2)).await.unwrap();
    Seen::of(&state).is_committed(2, 2);
    assert_eq!(behind(&place).load().await.unwrap().etag(), state.etag());
}

/// The emulator, seen by a spy, behind faults.
fn spied() -> (Faults, Spy, TableClient) {
    let spy = Spy::new(Emulator::new());
    let faults = Faults::new(spy.clone());
    let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
    let table = service.dynamic_table("States").unwrap();
    (faults, spy, table)
}

/// The RowKeys of each batch.
fn batches(spy: &Spy) -> Vec<Vec<String>> {
    let row_keys = |body: &str| {
        let keys = body.split("RowKey='").skip(1);
        keys.map(|rest| rest.split('\'').next().unwrap().replace("%21", "!"))
            .collect()
    };
    spy.of(OperationKind::Batch)
        .iter()
        .map(|batch| row_keys(&batch.body()))
        .collect()
}

#[tokio::test]
async fn every_batch_has_the_key_row_and_both_boundary_rows() -> Result<()> {
    let (_, spy, table) = spied();
    table.create_table().await?;
    let storage = StateStorage::new(&table, STATE);
    storage.load().await?.store(many(101)).await?;
    let state = storage.load().await?;
    spy.clear();
    state.store(commit(101)).await?;
    let batches = batches(&spy);
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [100, 6]);
    for batch in &batches {
        assert_eq!(batch[..3], ["k", "!", "~"]);
    }
    assert_eq!(spy.requests(), 2);
    storage.load().await?;
    assert_eq!(spy.requests(), 3, "one page");
    Ok(())
}

#[tokio::test]
async fn first_store_that_fails_after_its_first_batch_is_recovered() -> Result<()> {
    let (faults, _, table) = spied();
    table.create_table().await?;
    let storage = StateStorage::new(&table, STATE);
    let update = Update {
        metadata: Some("m".into()),
        commit_up_to: Some(101),
        ..prepare((101..=201).map(|id| version(id, id)))
    };
    let state = storage.load().await?;
    let second = faults.add(FaultRule::new(Fault::NoConnection).on(OperationKind::Batch).nth(2));
    let error = state.store(update.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    faults.remove(&second);

    let state = storage.load().await?;
    assert_eq!(
        (state.committed_sequence_id(), state.committed_state(), state.metadata()),
        (0, None, "")
    );
    let pending: Vec<u64> = state.pending().map(|prepared| prepared.sequence_id).collect();
    assert_eq!(pending, (101..=197).collect::<Vec<u64>>());

    state.store(update).await?;
    let state = storage.load().await?;
    assert_eq!((state.committed_state(), state.metadata()), (Some("101"), "m"));
    assert_eq!(state.pending().count(), 100);
    Ok(())
}
