//! Positions that no longer fit: an event that was trimmed, a table of another name, a table that was dropped.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::query::ScanPosition;
use azure_table::{DateTime, DynamicEntity, Error, ErrorKind, Profile};
use azure_table_patterns::{Log, TablePerPeriod};
use azure_table_tests::promises;
use azure_table_tests::promises::{Place, Promise};
use futures::TryStreamExt as _;

use super::{OK, TABLE, counted, rows};

pub(super) const PROMISES: [Promise; 3] = promises![
    "`Log`: a reader is told of events that were trimmed, up to the end too": trimmed,
    "a position of one table resumes no other": other_table,
    "`TablePerPeriod`: a table that was dropped is usable again": dropped,
];

async fn trimmed(place: Place) {
    let [a, b] = place.clients::<DynamicEntity>(TABLE);
    let behind = place.behind().dynamic_table(TABLE).unwrap();
    let mut log = Log::<String>::open(&behind, "g").await.unwrap();
    log.append(&["1".to_owned(), "2".to_owned()]).await.unwrap();
    let trim = async { Log::<String>::open(&a, "g").await?.trim(2).await };
    if trim.await.is_err() {
        return;
    }
    log.append(&["3".to_owned()]).await.unwrap();
    for first in [0, 1, 2] {
        let read = Log::<String>::reader(&b, "g").read_from(first);
        let read: Result<Vec<_>, Error> = read.try_collect().await;
        match read {
            Ok(read) => {
                let is_rest = first == 2 && read == [(2, "3".to_owned())];
                assert!(is_rest, "read from {first}: {read:?}");
                counted(&place, "log", OK);
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                assert!(first < 2, "read from {first}: {error}");
                counted(&place, "trimmed log", OK);
            }
            Err(_) => {}
        }
    }
}

async fn other_table(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    rows(&place);
    let other = place.client("b").dynamic_table(TABLE.to_lowercase()).unwrap();
    let key = |row: &DynamicEntity| (row.partition_key.clone(), row.row_key.clone());
    let mut pages = table.query().page_size(3).scan().concurrency(2).stream();
    let Ok(Some(page)) = pages.try_next_page().await else {
        return;
    };
    let first: Vec<_> = page.iter().map(key).collect();
    let position: ScanPosition = pages.position().to_string().parse().unwrap();
    let mut rest = other.query().page_size(3).scan().resume_from(position).stream();
    let resumed = rest.try_next_page().await;
    match place.client("b").profile() {
        Profile::Cosmos => {
            let error = resumed.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            counted(&place, "position of another table", OK);
        }
        // Names of tables are compared without case.
        _ => {
            let Ok(mut page) = resumed else { return };
            let mut keys = first;
            while let Some(rows) = page {
                keys.extend(rows.iter().map(key));
                let Ok(next) = rest.try_next_page().await else { return };
                page = next;
            }
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), 24);
            counted(&place, "position of another table", OK);
        }
    }
}

/// A late write fails, or it creates the table again. It may vanish while the table is deleted, so it is read again.
async fn dropped(place: Place) {
    let now = "2026-06-15T00:00:00Z".parse::<DateTime>().unwrap();
    let old = now - Duration::from_secs(60 * 24 * 3_600);
    let service = place.client("a");
    let periods = TablePerPeriod::<DynamicEntity>::monthly(&service, "events");
    let name = periods.at(old).unwrap().name().to_string();
    place.emulator().seed(&name, [DynamicEntity::new("p", "old")]).unwrap();
    if periods.drop_before(now).await.is_err() {
        return;
    }
    let late = periods.at(old).unwrap();
    let _ = late.insert(&DynamicEntity::new("p", "late")).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let written = late.insert_or_replace(&DynamicEntity::new("p", "late")).await;
    if counted(&place, "dropped table", written).is_some() {
        let behind = place.behind().dynamic_table(&name).unwrap();
        let stored = behind.query().partition("p").all().await.unwrap();
        let keys: Vec<String> = stored.into_iter().map(|row| row.row_key).collect();
        assert_eq!(keys, ["late"]);
    }
}
