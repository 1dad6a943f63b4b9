//! The promises of logs.

use azure_table::testing::explore;
use azure_table::{DynamicEntity, Result, TableClient};
use azure_table_patterns::Log;
use futures::TryStreamExt;
use futures::future::join;

use super::{Case, Place, Promise, TABLE, Tally, at, clients, count};

pub(super) const ALL: [Case; 5] = [
    Case {
        name: "`Log`: two appends",
        slow_with: Some(1),
        explore: |faults| explore(at(append)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Log`: two appends with one key, each called twice",
        slow_with: Some(1),
        explore: |faults| explore(at(append_once)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Log`: two appends at one position",
        slow_with: Some(1),
        explore: |faults| explore(at(append_at)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Log`: a reader beside an append and a trim",
        slow_with: Some(1),
        explore: |faults| explore(at(read)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Log`: an append beside a trim",
        slow_with: Some(1),
        explore: |faults| explore(at(trim)).isolated().faults(faults).run(),
    },
];

pub(super) const PROMISES: [Promise; 5] = [
    Promise {
        name: "`Log`: two appends",
        hold: |place| Box::pin(append(place)),
    },
    Promise {
        name: "`Log`: two appends with one key",
        hold: |place| Box::pin(append_once(place)),
    },
    Promise {
        name: "`Log`: two appends at one position",
        hold: |place| Box::pin(append_at(place)),
    },
    Promise {
        name: "`Log`: a reader beside a writer that trims",
        hold: |place| Box::pin(read(place)),
    },
    Promise {
        name: "`Log`: a trim beside an append",
        hold: |place| Box::pin(trim(place)),
    },
];

/// Opens the log without the gate.
async fn behind(place: &Place) -> Log<String> {
    let table = place.behind().dynamic_table(TABLE).unwrap();
    Log::open(&table, "g").await.unwrap()
}

async fn opened(table: &TableClient<DynamicEntity>) -> Result<Log<String>> {
    Log::open(table, "g").await
}

fn events(name: &str) -> Vec<String> {
    vec![format!("{name}1"), format!("{name}2")]
}

/// Returns the stored events, and checks that the header counts them.
async fn checked(place: &Place) -> Vec<String> {
    let mut log = behind(place).await;
    let positions = log.position().await.unwrap();
    let read: Vec<(u64, String)> = log.read_from(positions.start).try_collect().await.unwrap();
    assert_eq!(
        read.len() as u64,
        positions.end - positions.start,
        "the header counts others: {read:?}"
    );
    let read: Vec<String> = read.into_iter().map(|(_, event)| event).collect();
    for pair in read.windows(2).filter(|pair| pair[0].ends_with('1')) {
        assert_eq!(pair[0][..1], pair[1][..1], "an append is torn: {read:?}");
    }
    read
}

async fn append(place: Place) {
    let [a, b] = clients(&place);
    let add = async |table, name: &str| {
        let mut log = opened(&table).await?;
        let positions = log.append(&events(name)).await?;
        let first = log.read_from(positions.start).try_next().await.ok().flatten();
        assert!(first.is_none_or(|(_, event)| event == events(name)[0]));
        Ok(positions)
    };
    let (a, b) = join(add(a, "a"), add(b, "b")).await;
    let stored = checked(&place).await.len() / 2;
    Tally::of([a, b]).check(stored as i64);
}

async fn append_once(place: Place) {
    let [a, b] = clients(&place);
    behind(&place).await;
    let add = async |table| {
        let mut appended = Vec::new();
        for _ in 0..2 {
            let positions = async { opened(&table).await?.append_once("key", &events("a")).await };
            let positions = positions.await;
            count([&positions]);
            appended.extend(positions);
        }
        appended
    };
    let (a, b) = join(add(a), add(b)).await;
    let stored = checked(&place).await;
    if place.recovers {
        assert!(!a.is_empty() && !b.is_empty(), "the second call fails too");
    }
    let is_once = stored == events("a") || (stored.is_empty() && a.is_empty() && b.is_empty());
    assert!(is_once, "{stored:?}: {a:?} and {b:?}");
    assert!(
        a.iter().chain(&b).all(|positions| *positions == (0..2)),
        "{a:?} and {b:?}"
    );
}

async fn append_at(place: Place) {
    let [a, b] = clients(&place);
    behind(&place).await;
    let add = async |table, name: &str| opened(&table).await?.append_at(0, &events(name)).await;
    let (a, b) = join(add(a, "a"), add(b, "b")).await;
    count([&a, &b]);
    let stored = checked(&place).await;
    assert!(stored.len() <= 2, "both are at the position 0: {stored:?}");
    for (result, name) in [(a, "a"), (b, "b")] {
        match result {
            Ok(is_appended) => assert_eq!(is_appended, stored.contains(&events(name)[0]), "{name}: {stored:?}"),
            Err(e) => assert!(e.may_have_applied() || !stored.contains(&events(name)[0]), "{e}"),
        }
    }
}

async fn read(place: Place) {
    let [a, b] = clients(&place);
    behind(&place).await.append(&events("z")).await.unwrap();
    let write = async {
        let mut log = opened(&a).await?;
        log.append(&events("a")).await?;
        log.trim(1).await
    };
    let read = async {
        let log = Log::<String>::reader(&b, "g");
        let positions = log.position().await?;
        for first in [0, positions.start] {
            let read: Result<Vec<(u64, String)>> = log.read_from(first).try_collect().await;
            // An error reports that events are missing.
            if let Ok(read) = read {
                let all = [events("z"), events("a")].concat().split_off(first as usize);
                let names: Vec<_> = read.into_iter().map(|(_, event)| event).collect();
                assert_eq!(names, all[..names.len()], "an event is missing");
                assert!(first + names.len() as u64 >= positions.end);
            }
        }
        Ok::<_, azure_table::Error>(())
    };
    let (written, _) = join(write, read).await;
    count([&written]);
    checked(&place).await;
}

async fn trim(place: Place) {
    let [a, b] = clients(&place);
    behind(&place).await.append_once("z", &events("z")).await.unwrap();
    let trim = async { opened(&a).await?.trim(2).await };
    let append = async { opened(&b).await?.append_once("z", &events("z")).await };
    let (trimmed, appended) = join(trim, append).await;
    count([&trimmed]);
    let stored = checked(&place).await;
    if trimmed.is_ok() {
        // Appended again after its key was trimmed, or not at all.
        let is_again = appended.is_ok_and(|positions| positions == (2..4));
        assert!(stored.is_empty() || is_again || stored == events("z"), "{stored:?}");
    }
    // The next append removes the leftovers of this one.
    behind(&place).await.trim(u64::MAX).await.unwrap();
    assert!(checked(&place).await.is_empty());
}
