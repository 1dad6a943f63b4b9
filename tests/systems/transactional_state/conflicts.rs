//! Writers that start from the same load.

use azure_table::{ErrorKind, Result};
use azure_table_tests::explorations::Tally;
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{Seen, behind, metadata, prepare, storage, version};
use crate::systems::transactional_state::{Prepared, Update};

/// Two callers store from the same version, which both have loaded. Exactly one is accepted.
async fn one_of_two(place: &Place, rejected: ErrorKind) {
    let (a, b) = (storage(place, "a"), storage(place, "b"));
    let loaded = join(a.load(), b.load()).await;
    let (Ok(a), Ok(b)) = loaded else { return };
    let (a, b) = join(a.store(metadata("a")), b.store(metadata("b"))).await;
    let after = behind(place).load().await.unwrap();
    assert!(!(a.is_ok() && b.is_ok()), "both were based on one version");
    for (result, text) in [(a, "a"), (b, "b")] {
        match result {
            Ok(stored) => assert_eq!((after.metadata(), after.etag()), (text, stored.etag())),
            Err(e) if e.may_have_applied() => {}
            Err(e) => {
                assert_ne!(after.metadata(), text, "rejected and stored");
                let is_fault = !matches!(e.kind(), ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists);
                assert!(is_fault || e.kind() == rejected, "{e}");
            }
        }
    }
}

pub(super) async fn first(place: Place) {
    one_of_two(&place, ErrorKind::AlreadyExists).await;
}

pub(super) async fn later(place: Place) {
    behind(&place)
        .load()
        .await
        .unwrap()
        .store(Update::default())
        .await
        .unwrap();
    one_of_two(&place, ErrorKind::ConditionNotMet).await;
}

/// Each caller loads and stores until it is accepted. Both commits are there.
pub(super) async fn converge(place: Place) {
    const TRIES: usize = 4;
    let add = async |caller| -> Result<()> {
        let storage = storage(&place, caller);
        for _ in 0..TRIES {
            let state = storage.load().await?;
            let next = state.committed_sequence_id() + 1;
            let update = Update {
                commit_up_to: Some(next),
                ..prepare([version(next, next)])
            };
            match state.store(update).await {
                Err(e) if matches!(e.kind(), ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists) => {}
                other => return other.map(drop),
            }
        }
        panic!("{caller} starved");
    };
    let (a, b) = join(add("a"), add("b")).await;
    let after = behind(&place).load().await.unwrap();
    Tally::of([a, b]).check(after.committed_sequence_id().cast_signed());
    let next = after.committed_sequence_id().to_string();
    assert_eq!(after.committed_state(), (next != "0").then_some(next.as_str()));
}

pub(super) async fn diagnostics(place: Place) {
    let (writer, stale) = (
        behind(&place).load().await.unwrap(),
        behind(&place).load().await.unwrap(),
    );
    let secret = Prepared {
        transaction_id: "secret-transaction".into(),
        state: "secret-state".into(),
        ..version(1, 1)
    };
    let update = Update {
        metadata: Some("secret-metadata".into()),
        ..prepare([secret])
    };
    writer.store(update.clone()).await.unwrap();
    let error = stale.store(update).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert_eq!((error.kind(), error.status()), (ErrorKind::AlreadyExists, Some(409)));
    assert_eq!(
        (error.batch_index(), error.entity()),
        (Some(0), Some((super::STATE, "k")))
    );
    assert_eq!(error.code(), Some("EntityAlreadyExists"));
    assert!(!text.contains("secret"), "{text}");
}

pub(super) async fn unprepared(place: Place) {
    let commit = Update {
        commit_up_to: Some(2),
        ..prepare([version(1, 1)])
    };
    let error = behind(&place).load().await.unwrap().store(commit).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert_eq!(Seen::of(&behind(&place).load().await.unwrap()), Seen::default());
}
