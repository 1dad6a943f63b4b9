//! The latest commit of each entry.
//!
//! Source: `test/Worker.Logic.Test/CatalogScan/LatestLeaf/LatestLeafStorageServiceTest.cs`.

use std::collections::BTreeMap;

use azure_table::Result;
use azure_table_tests::promises::Place;
use futures::future::{join, join3};

use super::history::History;
use super::{behind, catalogue, leaf, seed, stored};
use crate::systems::catalogue::{Leaf, Selection};

fn at(commit: i64, version: &str, url: &str) -> Leaf {
    Leaf {
        commit,
        ..leaf(version, url)
    }
}

/// `HandlesSingleItem`, `KeepsExistingDataIfCommitTimestampIsOlder`, `KeepsExistingDataIfCommitTimestampMatches`,
/// `TakesIncomingDataIfCommitTimestampIsNewer`. Of two commits in one call, the later one counts.
pub(super) async fn by_commit(place: Place) {
    let catalogue = catalogue(&place, "a");
    let calls = [
        (vec![at(5, "1", "first")], (5, "first")),
        (vec![at(4, "1", "older")], (5, "first")),
        (vec![at(5, "1", "equal")], (5, "first")),
        (vec![at(7, "1", "newer"), at(6, "1", "between")], (7, "newer")),
    ];
    let mut before = None;
    for (leaves, expected) in calls {
        let added = catalogue.add(leaves).await;
        let row = stored(&place, "1").await.map(|row| (row.commit, row.entity.url));
        let expected = Some((expected.0, expected.1.to_owned()));
        match added {
            Ok(latest) => {
                assert_eq!(latest.first().map(|leaf| (leaf.commit, leaf.url.clone())), expected);
                assert_eq!(row, expected);
            }
            Err(e) => {
                assert!(!place.is_explored(), "{e}");
                assert!(row == before || row == expected && e.may_have_applied(), "{e}: {row:?}");
                break;
            }
        }
        before = row;
    }
}

/// Two callers add a commit each, another one reads twice. The first commit may be of an earlier crawler.
pub(super) async fn register(place: Place) {
    let history = History::default();
    let seeded = at(1, "1", "seed");
    history.add(&behind(&place), seeded.clone()).await;
    let add = async |name, commit| history.add(&catalogue(&place, name), at(commit, "1", name)).await;
    let read = async {
        history.get(&catalogue(&place, "c"), &seeded).await;
        history.get(&catalogue(&place, "c"), &seeded).await;
    };
    join3(add("a", 2), add("b", 3), read).await;
    history.get(&behind(&place), &seeded).await;
    assert!(history.is_linearizable());
}

/// The latest commit of each key, by what was added.
#[derive(Default)]
struct Model(BTreeMap<(String, String), i64>);

impl Model {
    fn add(&mut self, leaves: &[Leaf]) {
        for leaf in leaves {
            let commit = self.0.entry((leaf.id.clone(), leaf.version.clone())).or_default();
            *commit = leaf.commit.max(*commit);
        }
    }

    async fn stored(place: &Place) -> Self {
        let rows = behind(place).query(&Selection::default()).all().await.unwrap();
        let rows = rows.into_iter().map(|leaf| ((leaf.id, leaf.version), leaf.commit));
        Self(rows.collect())
    }
}

/// `MergesMixOfNewAndOldData`, for two callers at the same time.
pub(super) async fn merge(place: Place) {
    let seeded = vec![at(5, "1", "seed"), at(1, "2", "seed")];
    let (old, new) = (
        vec![at(2, "1", "a"), at(2, "2", "a")],
        vec![at(3, "2", "b"), at(3, "3", "b")],
    );
    seed(&place, seeded.clone()).await;
    let add = async |name, leaves: &Vec<Leaf>| catalogue(&place, name).add(leaves.clone()).await;
    let results = join(add("a", &old), add("b", &new)).await;
    let (mut least, mut most) = (Model::default(), Model::default());
    least.add(&seeded);
    most.add(&seeded);
    for (result, leaves) in [(results.0, &old), (results.1, &new)] {
        let is_added = is_added(&place, &result);
        if is_added {
            least.add(leaves);
        }
        if is_added || result.is_err_and(|e| e.may_have_applied()) {
            most.add(leaves);
        }
    }
    let stored = Model::stored(&place).await.0;
    for (key, commit) in &stored {
        let (least, most) = (least.0.get(key).copied().unwrap_or_default(), most.0.get(key));
        assert!((least..=most.copied().unwrap_or_default()).contains(commit), "{key:?}");
    }
    assert!(least.0.keys().all(|key| stored.contains_key(key)));
}

fn is_added(place: &Place, result: &Result<Vec<Leaf>>) -> bool {
    assert!(result.is_ok() || !place.is_explored(), "{result:?}");
    result.is_ok()
}

/// `HandlesMultiplePartitionKeys`, `NthLeafIsConflict`, `ThirdAndFifthAreConflict`, `FirstAfterBatchIsConflict`,
/// `NewInterleavedDuplicatesMoreThanOnePage` and others like them.
pub(super) async fn many(place: Place) {
    let catalogue = catalogue(&place, "a");
    let leaves = |versions: std::ops::Range<usize>, step: usize, commit: i64| {
        let numbers = versions.step_by(step);
        // Above U+FFFF, the order of UTF-8 differs from the service's.
        let version = |n: usize| match n % 5 {
            0 => format!("\u{1f600}{n:04}"),
            1 => format!("\u{ffee}{n:04}"),
            _ => format!("{n:04}"),
        };
        numbers
            .flat_map(move |n| ["p", "q"].map(|id| Leaf::new(id, version(n), commit, "url")))
            .collect::<Vec<_>>()
    };
    let mut model = Model::default();
    let sets = [
        leaves(3..4, 1, 2),
        leaves(0..7, 1, 1),
        leaves(0..103, 1, 1),
        leaves(100..101, 1, 3),
        leaves(0..103, 1, 2),
        leaves(1..1_203, 2, 4),
        leaves(0..1_203, 1, 3),
    ];
    for set in sets {
        let expected = set.len();
        model.add(&set);
        assert_eq!(catalogue.add(set).await.unwrap().len(), expected);
        assert!(Model::stored(&place).await.0 == model.0);
    }
}
