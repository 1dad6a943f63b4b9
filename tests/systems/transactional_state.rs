//! The claims of `transactional_state`, from Orleans' tests of such a storage.

mod conflicts;
mod model;
mod pages;

use azure_table::{DateTime, DynamicEntity, ErrorKind};
use azure_table_tests::promises::Place;
use futures::future::join;

use self::model::{Model, Seen};
use crate::kit::{Claim, check, claim};
use crate::systems::transactional_state::{Prepared, StateStorage, Update};

const STATE: &str = "account-7";

/// A claim about a sequence of updates. A second caller loads the state meanwhile, in pages.
macro_rules! updates {
    ($name:literal, $updates:expr, $expected:expr) => {
        Claim::new($name, "stored", |place| Box::pin(stored(place, $updates, $expected)))
    };
}

/// A claim whose body has no orders and meets no faults: its clients have neither gate nor faults.
const fn certain(claim: Claim) -> Claim {
    claim.callers(1).explored(0, "1").without_faults()
}

pub(crate) const CLAIMS: [Claim; 31] = [
    updates!("a state that was never stored is empty", vec![], |seen| {
        assert_eq!(*seen, Seen::default());
    })
    .explored(2, "1 / 3"),
    updates!(
        "a store without changes moves the ETag, and keeps the metadata it is given",
        vec![Update::default(), metadata("m"), Update::default()],
        |seen| {
            assert_eq!((seen.metadata.as_str(), seen.committed), ("m", 0));
            assert_eq!(seen.pending, []);
        }
    )
    .explored(5, "4 / 93"),
    updates!("a version is prepared", vec![prepare([version(1, 123)])], |seen| {
        assert_eq!((seen.committed, &seen.pending[..]), (0, &[version(1, 123)][..]));
    })
    .explored(4, "2 / 22"),
    updates!(
        "a prepared version is confirmed",
        vec![prepare([version(1, 123)]), commit(1)],
        |seen| seen.is_committed(1, 123)
    )
    .explored(7, "4 / 91"),
    updates!(
        "a version is prepared and confirmed in one step",
        vec![Update {
            commit_up_to: Some(1),
            ..prepare([version(1, 123)])
        }],
        |seen| seen.is_committed(1, 123)
    )
    .explored(4, "2 / 22"),
    updates!(
        "a prepared version is cancelled",
        vec![prepare([version(1, 123)]), abort(0)],
        |seen| assert_eq!(*seen, Seen::default())
    )
    .explored(6, "4 / 81"),
    updates!(
        "a prepared version is replaced",
        vec![prepare([version(1, 123)]), prepare([version(1, 456)])],
        |seen| assert_eq!((seen.committed, &seen.pending[..]), (0, &[version(1, 456)][..]))
    )
    .explored(7, "4 / 91"),
    updates!(
        "of two versions one is confirmed, then one is cancelled",
        vec![two(), commit(1), abort(1)],
        |seen| seen.is_committed(1, 123)
    )
    .explored(10, "9 / 356"),
    updates!(
        "of two versions one is cancelled, then one is confirmed",
        vec![two(), abort(1), commit(1)],
        |seen| seen.is_committed(1, 123)
    )
    .explored(10, "9 / 356"),
    updates!(
        "of two versions one is confirmed and one cancelled in one step",
        vec![
            two(),
            Update {
                commit_up_to: Some(1),
                ..abort(1)
            }
        ],
        |seen| seen.is_committed(1, 123)
    )
    .explored(7, "4 / 91"),
    updates!("a growing batch replaces, prepares and confirms", growing(), |seen| {
        assert_eq!((seen.committed, seen.state.as_deref()), (6, Some("66")));
        assert_eq!(seen.pending, [version(7, 77), version(8, 88)]);
    })
    .explored(8, "5 / 139"),
    updates!(
        "a shrinking batch replaces, confirms and cancels",
        shrinking(),
        |seen| {
            assert_eq!((seen.committed, seen.state.as_deref()), (3, Some("33")));
            assert_eq!(seen.pending, [version(4, 44)]);
        }
    )
    .explored(9, "6 / 178"),
    updates!(
        "a version that was cancelled is prepared again in the same step",
        vec![
            two(),
            Update {
                abort_after: Some(0),
                ..prepare([version(1, 7)])
            }
        ],
        |seen| assert_eq!(seen.pending, [version(1, 7)])
    )
    .explored(7, "4 / 91"),
    updates!(
        "versions end at the first that this state manages itself",
        vec![prepare([version(1, 1), local(2), version(3, 3)])],
        |seen| assert_eq!(seen.pending, [version(1, 1)])
    )
    .explored(4, "2 / 22"),
    updates!("99 versions are prepared", vec![many(99)], |seen| seen.is_prepared(99)).explored(5, "3 / 52"),
    updates!("200 versions are prepared", vec![many(200)], |seen| seen
        .is_prepared(200))
    .explored(10, "5"),
    updates!("100 versions are confirmed", vec![many(100), commit(100)], |seen| {
        seen.is_committed(100, 100);
    })
    .explored(8, "8"),
    updates!(
        "200 versions are prepared and confirmed in one step",
        vec![Update {
            commit_up_to: Some(200),
            ..many(200)
        }],
        |seen| seen.is_committed(200, 200)
    )
    .explored(3, "2"),
    updates!("200 versions are confirmed", vec![many(200), commit(200)], |seen| {
        seen.is_committed(200, 200);
    })
    .explored(16, "80"),
    updates!("200 versions are cancelled", vec![many(200), abort(0)], |seen| {
        assert_eq!(*seen, Seen::default());
    })
    .explored(16, "71"),
    updates!(
        "200 versions are replaced",
        vec![prepare((1..=200).map(|id| version(id, 0))), many(200)],
        |seen| {
            seen.is_prepared(200);
        }
    )
    .explored(22, "181"),
    updates!(
        "versions stay until a later one is committed, over several batches",
        vec![
            many(100),
            Update {
                commit_up_to: Some(100),
                ..prepare((101..=200).map(|id| version(id, id)))
            }
        ],
        |seen| assert_eq!(
            (seen.committed, seen.state.as_deref(), seen.pending.len()),
            (100, Some("100"), 100)
        )
    )
    .explored(15, "26"),
    claim!("of two first stores, one is rejected", conflicts::first).explored(4, "2 / 44"),
    claim!("of two stores from one ETag, one is rejected", conflicts::later).explored(4, "2 / 44"),
    claim!("a rejected writer loads again, and converges", conflicts::converge).explored(6, "4 / 133"),
    certain(claim!(
        "the error of a conflict names the row, and no content",
        conflicts::diagnostics
    )),
    certain(claim!(
        "a version that was not prepared is not committed",
        conflicts::unprepared
    )),
    certain(claim!("a torn load reads again", pages::torn_once)),
    certain(claim!(
        "perpetual stores end a load with an error that has both versions",
        pages::always_torn
    )),
    certain(claim!(
        "a lone boundary row ends a load with an error",
        pages::one_bound
    )),
    certain(claim!(
        "a partition without boundary rows is loaded as it is",
        pages::older_layout
    )),
];

check!(CLAIMS);

fn version(sequence_id: u64, value: u64) -> Prepared {
    Prepared {
        sequence_id,
        transaction_id: format!("t{sequence_id}-{value}"),
        timestamp: DateTime::from_unix_seconds(value.cast_signed()),
        manager: Some("tm".into()),
        state: value.to_string(),
    }
}

/// A version of a transaction that this state manages itself.
fn local(sequence_id: u64) -> Prepared {
    Prepared {
        manager: None,
        ..version(sequence_id, 0)
    }
}

fn prepare(versions: impl IntoIterator<Item = Prepared>) -> Update {
    Update {
        prepare: versions.into_iter().collect(),
        ..Update::default()
    }
}

fn many(count: u64) -> Update {
    prepare((1..=count).map(|id| version(id, id)))
}

fn two() -> Update {
    prepare([version(1, 123), version(2, 456)])
}

fn commit(sequence_id: u64) -> Update {
    Update {
        commit_up_to: Some(sequence_id),
        ..Update::default()
    }
}

fn abort(after: u64) -> Update {
    Update {
        abort_after: Some(after),
        ..Update::default()
    }
}

fn metadata(text: &str) -> Update {
    Update {
        metadata: Some(text.to_owned()),
        ..Update::default()
    }
}

fn growing() -> Vec<Update> {
    let later = [(3, 33), (4, 44), (5, 55), (6, 66), (7, 77), (8, 88)];
    vec![
        prepare([(1, 11), (2, 22), (3, 333), (4, 444)].map(|(id, value)| version(id, value))),
        Update {
            commit_up_to: Some(6),
            ..prepare(later.map(|(id, value)| version(id, value)))
        },
    ]
}

fn shrinking() -> Vec<Update> {
    vec![
        prepare(
            [11, 22, 333, 444, 55, 66, 77, 88]
                .iter()
                .zip(1..)
                .map(|(value, id)| version(id, *value)),
        ),
        Update {
            commit_up_to: Some(3),
            abort_after: Some(4),
            ..prepare([version(3, 33), version(4, 44)])
        },
    ]
}

fn storage(place: &Place, caller: &str) -> StateStorage {
    StateStorage::new(&place.table::<DynamicEntity>(caller), STATE)
}

fn behind(place: &Place) -> StateStorage {
    StateStorage::new(&place.table_behind::<DynamicEntity>(), STATE)
}

/// Stores the updates one after the other, until one fails, beside a reader. Everything that anyone loads is a state
/// after a batch.
async fn stored(place: Place, updates: Vec<Update>, check: fn(&Seen)) {
    let page_size = if updates.iter().any(|update| update.prepare.len() > 9) {
        100
    } else {
        3
    };
    let write = async {
        let mut model = Model::default();
        let mut possible = vec![model.clone()];
        let loaded = storage(&place, "a").load().await;
        let Ok(mut state) = loaded else {
            assert!(!place.retries_succeed, "{loaded:?}");
            return possible;
        };
        for update in &updates {
            let steps = model.after_each_batch(update);
            let before = state.etag().cloned();
            match state.store(update.clone()).await {
                Ok(stored) => {
                    model = steps.last().unwrap().clone();
                    assert_eq!(Seen::of(&stored), model.seen(), "returned by the store");
                    assert_ne!(stored.etag().cloned(), before);
                    (state, possible) = (stored, vec![model.clone()]);
                }
                Err(e) => {
                    use ErrorKind::{AlreadyExists, ConditionNotMet, InvalidInput};
                    let is_rejected = matches!(e.kind(), AlreadyExists | ConditionNotMet | InvalidInput);
                    assert!(!is_rejected, "nobody else stores: {e}");
                    assert!(!place.retries_succeed, "no fault explains it: {e}");
                    let reached = steps.len() - usize::from(!e.may_have_applied());
                    possible.extend(steps.into_iter().take(reached));
                    return possible;
                }
            }
        }
        check(&model.seen());
        let loaded = behind(&place).load().await.unwrap();
        assert_eq!(loaded.etag(), state.etag());
        possible
    };
    let (possible, read) = join(write, storage(&place, "b").page_size(page_size).load()).await;
    let seen = Seen::of(&behind(&place).load().await.unwrap());
    assert!(
        possible.iter().any(|model| model.seen() == seen),
        "{seen:?} is none of {possible:?}"
    );
    if let Ok(read) = read {
        let mut all = vec![Model::default()];
        for update in &updates {
            all.extend(all.last().unwrap().after_each_batch(update));
        }
        let read = Seen::of(&read);
        assert!(all.iter().any(|model| model.seen() == read), "torn: {read:?}");
    }
}
