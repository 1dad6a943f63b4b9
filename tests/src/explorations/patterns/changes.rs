//! The promises of a tail of changes.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use azure_table::emulator::SeedEntities as _;
use azure_table_patterns::Changes;

use super::*;

pub(super) const ALL: [Case; 2] = [
    case!("`Changes`: a poll in pages, beside writes of its rows and a clock that jumps", polls)
        // Longer than the 2 s and the fraction by which a read-back may misjudge the clocks: with 2 s the second at
        // which this machine ran the order decided what it concluded.
        .advance(&[Duration::from_secs(10)])
        .in_all_orders()
        .only_orders(),
    // A short overlap is not among them.
    case!("`Changes` yield the last version of each row", last_versions).only_promise(),
];

/// Each poll is a separate process, which resumes from the text that the previous one stored.
async fn polls(place: Place) {
    let [writer, tail] = place.clients::<Valued<i64>>(TABLE);
    let seeds = ["m", "n"].map(|name| Valued::new("g", name, 0));
    place.emulator().seed(TABLE, seeds).unwrap();
    let (position, seen) = (RefCell::new(None), RefCell::new(BTreeMap::new()));
    let poll = async |table: &TableClient<Valued<i64>>| {
        let changes = Changes::new(table.query().page_size(1));
        let changes = changes.overlap(Duration::ZERO).max_polls(1);
        let from: Option<String> = position.borrow().clone();
        let mut changes = match from {
            Some(text) => changes.resume_from(text.parse().unwrap()).stream().unwrap(),
            None => changes.stream().unwrap(),
        };
        while let Some(row) = changes.try_next().await.unwrap() {
            seen.borrow_mut().insert(row.name.clone(), row.etag.clone());
        }
        position.replace(Some(changes.position().to_string()));
    };
    poll(&tail).await;
    let write = async {
        for name in ["m", "n"] {
            let _ = writer.insert_or_replace(&Valued::new("g", name, 0)).await;
        }
    };
    join(write, poll(&tail)).await;
    // Without the gate, so that no write arrives during the last poll.
    let behind = table::<Valued<i64>>(&place.behind());
    poll(&behind).await;
    for row in behind.query().versioned().all().await.unwrap() {
        assert_eq!(seen.borrow().get(&row.name), Some(&row.etag), "{} was missed", row.name);
    }
}

async fn last_versions(place: Place) {
    let [tail, writer] = place.clients::<Valued<i64>>(TABLE);
    let (mut position, mut seen) = (None::<String>, HashSet::new());
    let mut is_complete = false;
    for round in 0..8 {
        for name in ["a", "b", "c", "d"].into_iter().filter(|_| round < 5) {
            let _ = writer.insert_or_replace(&Valued::new("g", name, round)).await;
        }
        let changes = Changes::new(tail.query().page_size(2)).max_polls(1);
        let mut changes = match &position {
            Some(text) => changes.resume_from(text.parse().unwrap()).stream().unwrap(),
            None => changes.stream().unwrap(),
        };
        is_complete = loop {
            match changes.try_next().await {
                Ok(Some(row)) => _ = seen.insert((row.name.clone(), row.etag.clone())),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        position = Some(changes.position().to_string());
        // A lost write of the last round may arrive within 180 s.
        let pause = if round == 4 { 181 } else { 7 };
        tokio::time::sleep(Duration::from_secs(pause)).await;
    }
    if is_complete {
        count([&Ok::<_, azure_table::Error>(())]);
        let behind = table::<Valued<i64>>(&place.behind());
        for row in behind.query().versioned().all().await.unwrap() {
            assert!(
                seen.contains(&(row.name.clone(), row.etag.clone())),
                "{} was missed",
                row.name
            );
        }
    }
}
