//! Histories: checkpoints of concurrent workers, readers between their transactions, and long values.

use azure_table::{ErrorKind, Guid, Result};
use azure_table_tests::promises::Place;
use futures::future::join;

use super::{ID, check_result, histories, histories_behind, is_first, payloads, steps, stored};
use crate::kit::{Claim, check, claim};
use crate::systems::durable_execution::{Status, Step};

pub(crate) const CLAIMS: [Claim; 8] = [
    claim!("the loser of a race changes nothing", race).explored(4, "4 / 77"),
    claim!("an instance's ID is started once", start).explored(2, "2 / 40"),
    claim!("a worker's own lost response is no conflict", alone)
        .callers(1)
        .explored(5, "1 / 16"),
    claim!("a worker whose response was lost learns that it was first", certain)
        .callers(1)
        .explored(3, "1 / 11")
        .without_faults(),
    claim!("a checkpoint of two transactions is read whole", whole).explored(4, "3 / 48"),
    claim!("a checkpoint that stops in between leaves nothing", torn).explored(5, "7 / 241"),
    claim!("the status agrees with the history", status).explored(5, "6 / 127"),
    claim!("a reader of two pages sees one generation", generation).explored(5, "3 / 42"),
];
check!(CLAIMS);

/// Two workers that have read the same history.
async fn race(place: Place) {
    histories_behind(&place).start(ID).await.unwrap().unwrap();
    let run = async |name| {
        let (history, events) = histories(&place, name).open(ID).await?.unwrap();
        // Whoever comes after the other has written has nothing to do.
        if events.is_empty() {
            is_first(history.checkpoint(Status::Running, &steps(name, 2)).await)
        } else {
            Ok(false)
        }
    };
    let (a, b) = join(run("a"), run("b")).await;
    let (instance, events) = stored(&place).await.unwrap();
    let events = payloads(&events);
    assert!(
        events.is_empty() || events == ["a", "a"] || events == ["b", "b"],
        "{events:?}"
    );
    assert_eq!(instance.status == Status::Running, !events.is_empty());
    assert!(!place.recovers || !events.is_empty(), "both failed: {a:?}, {b:?}");
    check_result("a", &a, events.contains(&"a"), events.contains(&"b"));
    check_result("b", &b, events.contains(&"b"), events.contains(&"a"));
}

/// Two clients that start the same instance.
async fn start(place: Place) {
    let start = async |name| -> Result<Option<Guid>> {
        let started = histories(&place, name).start(ID).await?;
        Ok(started.map(|history| history.instance().execution))
    };
    let (a, b) = join(start("a"), start("b")).await;
    let stored = stored(&place).await.map(|(instance, _)| instance.execution);
    assert!(!place.recovers || stored.is_some(), "nobody started it: {a:?}, {b:?}");
    for result in [a, b] {
        match result {
            Ok(Some(execution)) => assert_eq!(stored, Some(execution), "both started it"),
            Ok(None) => assert!(stored.is_some(), "nobody has the ID"),
            Err(e) => assert_ne!(e.kind(), ErrorKind::AlreadyExists, "{e}"),
        }
    }
}

/// A worker that writes two checkpoints, and opens the history again after an error.
async fn alone(place: Place) {
    histories_behind(&place).start(ID).await.unwrap().unwrap();
    let histories = histories(&place, "a");
    let mut failures = 0;
    while let Ok(Some((history, events))) = histories.open(ID).await {
        let name = ["first", "second"].get(events.len());
        let Some(name) = name.filter(|_| failures < 3) else {
            break;
        };
        match is_first(history.checkpoint(Status::Running, &steps(name, 1)).await) {
            Ok(is_first) => assert!(is_first, "its own checkpoint was another worker's"),
            Err(_) => failures += 1,
        }
    }
    let (_, events) = stored(&place).await.unwrap();
    let events = payloads(&events);
    assert!(
        ["first", "second"].starts_with(&events),
        "a checkpoint was written twice: {events:?}"
    );
}

/// One request or response is lost: the client reads back whether the checkpoint was applied.
async fn certain(place: Place) {
    histories_behind(&place).start(ID).await.unwrap().unwrap();
    let (mut history, _) = histories(&place, "a").open(ID).await.unwrap().unwrap();
    for _ in 0..2 {
        let checkpoint = history.checkpoint(Status::Running, &steps("a", 1)).await;
        history = checkpoint.unwrap().unwrap();
    }
    let (instance, events) = stored(&place).await.unwrap();
    assert_eq!((instance.events, events.len()), (2, 2));
}

/// A writer of 150 events, and a reader.
async fn whole(place: Place) {
    histories_behind(&place).start(ID).await.unwrap().unwrap();
    let write = async {
        let (history, _) = histories(&place, "a").open(ID).await?.unwrap();
        is_first(history.checkpoint(Status::Running, &steps("a", 150)).await)
    };
    let read = async { histories(&place, "b").open(ID).await };
    let (written, read) = join(write, read).await;
    if let Ok(Some((history, events))) = read {
        assert!([0, 150].contains(&events.len()), "{} events", events.len());
        assert_eq!(history.instance().status == Status::Running, events.len() == 150);
    }
    let (_, events) = stored(&place).await.unwrap();
    assert!([0, 150].contains(&events.len()), "{} events", events.len());
    check_result("a", &written, events.len() == 150, false);
}

/// A writer of 150 events, and one of a single event that may come between.
async fn torn(place: Place) {
    histories_behind(&place).start(ID).await.unwrap().unwrap();
    let write = async |name, number| {
        let (history, events) = histories(&place, name).open(ID).await?.unwrap();
        if events.is_empty() {
            is_first(history.checkpoint(Status::Running, &steps(name, number)).await)
        } else {
            Ok(false)
        }
    };
    let (a, b) = join(write("a", 150), write("b", 1)).await;
    let (_, events) = stored(&place).await.unwrap();
    let first = payloads(&events);
    assert!(first.is_empty() || first == ["a"; 150] || first == ["b"], "{first:?}");
    check_result("a", &a, first.contains(&"a"), first.contains(&"b"));
    // The conflict of the longer one may be an earlier transaction of the other, which did not complete.
    if !matches!(b, Ok(false)) {
        check_result("b", &b, first.contains(&"b"), first.contains(&"a"));
    }
    // The rows that are left are overwritten, or are beyond the end.
    let (history, _) = histories_behind(&place).open(ID).await.unwrap().unwrap();
    let next = history.checkpoint(Status::Running, &steps("next", 2)).await;
    assert!(is_first(next).unwrap());
    let (_, events) = stored(&place).await.unwrap();
    assert_eq!(payloads(&events)[first.len()..], ["next", "next"]);
    assert_eq!(events.len(), first.len() + 2);
}

/// A worker that completes an instance, and a reader. The last event names the status.
async fn status(place: Place) {
    histories_behind(&place).start(ID).await.unwrap().unwrap();
    let write = async || -> Result<bool> {
        let (mut history, _) = histories(&place, "a").open(ID).await?.unwrap();
        for status in [Status::Running, Status::Completed] {
            let last = Step::new("Status", &format!("{status:?}"));
            match history.checkpoint(status, &[last]).await? {
                Some(next) => history = next,
                None => return Ok(false),
            }
        }
        Ok(true)
    };
    let read = async {
        let mut seen = Vec::new();
        for _ in 0..2 {
            seen.extend(histories(&place, "b").open(ID).await.ok().flatten());
        }
        seen
    };
    let (written, seen) = join(write(), read).await;
    assert!(!matches!(written, Ok(false)), "nobody else writes");
    for (history, events) in seen {
        let last = events.last().map_or("Pending", |event| event.payload.as_str());
        assert_eq!(format!("{:?}", history.instance().status), last);
    }
    let (instance, events) = stored(&place).await.unwrap();
    assert_eq!(instance.events, events.len() as i64);
}

/// A worker that restarts a history of 1,001 events, and a reader.
async fn generation(place: Place) {
    let history = histories_behind(&place).start(ID).await.unwrap().unwrap();
    let old = history.checkpoint(Status::Running, &steps("old", 1_001)).await;
    assert!(is_first(old).unwrap());
    let restart = async {
        let (history, _) = histories(&place, "a").open(ID).await?.unwrap();
        is_first(history.restart(&steps("new", 2)).await)
    };
    let read = async { histories(&place, "b").open(ID).await };
    let (written, read) = join(restart, read).await;
    let is_one = |payloads: &[&str]| payloads == ["old"; 1_001] || payloads == ["new"; 2];
    if let Ok(Some((history, events))) = read {
        assert!(is_one(&payloads(&events)), "{} events", events.len());
        assert_eq!(history.instance().generation == 1, events.len() == 2);
    }
    let (_, events) = stored(&place).await.unwrap();
    assert!(is_one(&payloads(&events)), "{} events", events.len());
    check_result("a", &written, events.len() == 2, false);
}

pub(crate) mod values {
    use super::*;

    pub(crate) const CLAIMS: [Claim; 1] = [claim!("a long value is kept whole, or rejected", long_values)
        .callers(1)
        .explored(8, "1")
        .without_faults()];
    check!(CLAIMS);

    async fn long_values(place: Place) {
        let history = histories(&place, "a").start(ID).await.unwrap().unwrap();
        // Ten of them are more than 4 MiB, so that they take two transactions.
        let long = "ä".repeat(300_000);
        let many: Vec<Step> = (0..10).map(|_| Step::new("TaskCompleted", &long)).collect();
        let history = history.checkpoint(Status::Running, &many).await.unwrap().unwrap();
        let (open, events) = histories(&place, "a").open(ID).await.unwrap().unwrap();
        assert!(events.len() == 10 && events.iter().all(|event| event.payload == long));

        let too_long = [Step::new("TaskCompleted", &long.repeat(2))];
        let error = history.checkpoint(Status::Completed, &too_long).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let too_many = open.restart(&steps("a", 100)).await.unwrap_err();
        assert_eq!(too_many.kind(), ErrorKind::InvalidInput);
        let (instance, _) = stored(&place).await.unwrap();
        assert_eq!((instance.status, instance.events), (Status::Running, 10));
    }
}
