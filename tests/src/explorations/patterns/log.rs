//! Logs.

use std::ops::Range;

use azure_table_patterns::Log;
use futures::TryStreamExt as _;

use super::*;
use crate::explorations::Tally;

pub(super) const ALL: [Case; 7] = [
    case!("`Log`: two appends", append).slow_with(1).and_crashes(),
    case!("`Log`: two appends with keys", append_once)
        .slow_with(1)
        .and_crashes(),
    case!("`Log`: two appends at one position", append_at).slow_with(1),
    case!(
        "`Log`: a writer that reads the log before it appends, beside another",
        append_at_end
    )
    .only_crashes(2),
    case!("`Log`: a reader beside an append and a trim", read).slow_with(1),
    case!("`Log`: an append beside a trim", trim).slow_with(1),
    case!("`Log`: a trim beside a later append", trim_before).only_crashes(2),
];

async fn opened(service: &TableServiceClient) -> Result<Log<String>> {
    Log::open(&table::<DynamicEntity>(service), "g").await
}

/// Opens the log without the gate.
async fn behind(place: &Place) -> Log<String> {
    opened(&place.behind()).await.unwrap()
}

fn events(name: &str) -> Vec<String> {
    vec![format!("{name}1"), format!("{name}2")]
}

/// Returns the stored events. Checks that the header counts them, that no row is left over, and that no append is torn.
async fn checked(place: &Place) -> Vec<String> {
    let mut log = behind(place).await;
    let positions = log.position().await.unwrap();
    let read: Vec<(u64, String)> = log.read_from(positions.start).try_collect().await.unwrap();
    assert_eq!(
        read.len() as u64,
        positions.end - positions.start,
        "the header counts others: {read:?}"
    );
    if place.has_crashes() {
        let rows: Vec<RowId> = stored(place, "RowKey ge '0' and RowKey lt ':'").await;
        assert_eq!(rows.len(), read.len(), "{rows:?}");
    }
    let read: Vec<String> = read.into_iter().map(|(_, event)| event).collect();
    for pair in read[positions.start as usize % 2..].chunks(2) {
        let is_whole = pair.len() == 2 && pair[0][..1] == pair[1][..1];
        assert!(is_whole, "an append is torn: {read:?}");
    }
    read
}

/// An append without a key is applied once, or for each life of its process.
async fn append(place: Place) {
    let add = |name: &'static str| {
        async move |service: TableServiceClient| {
            let mut log = opened(&service).await?;
            let positions = log.append(&events(name)).await?;
            let first = log.read_from(positions.start).try_next().await.ok().flatten();
            assert!(first.is_none_or(|(_, event)| event == events(name)[0]));
            Ok(positions)
        }
    };
    let (a, b) = both(&place, add("a"), add("b")).await;
    done(&place, [&a, &b]);
    let read = checked(&place).await;
    for (result, name) in [(&a, "a"), (&b, "b")] {
        if let Ok(positions) = result {
            let own = &read[positions.start as usize..positions.end as usize];
            assert_eq!(own, events(name), "other events are at its positions");
        }
    }
    if place.has_crashes() {
        assert!(read.len() <= 6, "one crash repeats one append: {read:?}");
    } else {
        Tally::of([a, b]).check(read.len() as i64 / 2);
    }
}

/// An append with a key is applied once, however often it is called, or its process begins again.
async fn append_once(place: Place) {
    behind(&place).await;
    // Tasks have one key.
    let name = |task: &'static str| if place.has_crashes() { task } else { "a" };
    let add = |name: &'static str| {
        let place = &place;
        async move |service: TableServiceClient| {
            let mut appended = Vec::new();
            for _ in 0..if place.has_crashes() { 1 } else { 2 } {
                let positions = async { opened(&service).await?.append_once(name, &events(name)).await }.await;
                done(place, [&positions]);
                appended.extend(positions);
            }
            appended
        }
    };
    let (a, b) = both(&place, add(name("a")), add(name("b"))).await;
    let stored = checked(&place).await;
    if place.recovers {
        assert!(!a.is_empty() && !b.is_empty(), "the second call fails too");
    }
    for (positions, name) in [(&a, name("a")), (&b, name("b"))] {
        for positions in positions {
            let own = &stored[positions.start as usize..positions.end as usize];
            assert_eq!(own, events(name), "{stored:?}: {a:?} and {b:?}");
        }
    }
    let is_once = if place.has_crashes() {
        stored.len() == 4
    } else {
        stored == events("a") || stored.is_empty() && a.is_empty() && b.is_empty()
    };
    assert!(is_once, "{stored:?}: {a:?} and {b:?}");
}

async fn append_at(place: Place) {
    behind(&place).await;
    let add = |name: &'static str| {
        async move |service: TableServiceClient| opened(&service).await?.append_at(0, &events(name)).await
    };
    let (a, b) = both(&place, add("a"), add("b")).await;
    count([&a, &b]);
    let stored = checked(&place).await;
    assert!(stored.len() <= 2, "both are at the position 0: {stored:?}");
    for (result, name) in [(a, "a"), (b, "b")] {
        let is_stored = stored.contains(&events(name)[0]);
        match result {
            Ok(is_appended) => assert_eq!(is_appended, is_stored, "{name}: {stored:?}"),
            Err(e) => assert!(e.may_have_applied() || !is_stored, "{e}"),
        }
    }
}

/// A process that reads the log before it appends at its end appends once, without a key.
async fn append_at_end(place: Place) -> Result<()> {
    behind(&place).await;
    let add = |name: &'static str| {
        async move |service: TableServiceClient| -> Result<()> {
            let mut log = opened(&service).await?;
            loop {
                let read: Vec<(u64, String)> = log.read_from(0).try_collect().await?;
                let is_appended = read.iter().any(|(_, event)| *event == events(name)[0]);
                if is_appended || log.append_at(read.len() as u64, &events(name)).await? {
                    return Ok(());
                }
            }
        }
    };
    try_both(&place, add("a"), add("b")).await?;
    let read = checked(&place).await;
    assert_eq!(read.len(), 4, "{read:?}");
    Ok(())
}

async fn read(place: Place) {
    behind(&place).await.append(&events("z")).await.unwrap();
    let write = async |service: TableServiceClient| {
        let mut log = opened(&service).await?;
        log.append(&events("a")).await?;
        log.trim(1).await
    };
    let read = async |service: TableServiceClient| {
        let log = Log::<String>::reader(&table::<DynamicEntity>(&service), "g");
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
    let (written, _) = both(&place, write, read).await;
    count([&written]);
    checked(&place).await;
}

/// Appends events under the key that is their name, beside a trim of the events `z`. Returns the results of both.
async fn trim_beside(place: &Place, name: &str) -> (Result<u64>, Result<Range<u64>>) {
    behind(place).await.append_once("z", &events("z")).await.unwrap();
    let trim = async |service: TableServiceClient| opened(&service).await?.trim(2).await;
    let append = async |service: TableServiceClient| opened(&service).await?.append_once(name, &events(name)).await;
    both(place, trim, append).await
}

async fn trim(place: Place) {
    let (trimmed, appended) = trim_beside(&place, "z").await;
    count([&trimmed]);
    let read = checked(&place).await;
    if trimmed.is_ok() {
        // Appended again after its key was trimmed, or not at all.
        let is_again = appended.is_ok_and(|positions| positions == (2..4));
        assert!(read.is_empty() || is_again || read == events("z"), "{read:?}");
    }
    // The next append removes the leftovers of this one.
    behind(&place).await.trim(u64::MAX).await.unwrap();
    assert!(checked(&place).await.is_empty());
}

/// A trim that is repeated leaves no row of an event before its position, and loses no later event.
async fn trim_before(place: Place) -> Result<()> {
    let (trimmed, appended) = trim_beside(&place, "a").await;
    trimmed.and(appended)?;
    assert_eq!(checked(&place).await, events("a"));
    let keys: Vec<RowId> = stored(&place, "RowKey ge '~'").await;
    assert_eq!(keys.len(), 1, "{keys:?}");
    Ok(())
}
