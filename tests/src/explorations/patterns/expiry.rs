//! The promises of rows with a deadline, and of tables with a period.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::explore;
use azure_table::{DateTime, DynamicEntity, Guid, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::{Expiring, TablePerPeriod};
use futures::future::join;

use super::{Case, Place, Promise, at, clients, count, stored};

pub(super) const ALL: [Case; 3] = [
    Case {
        name: "`Expiring`: a sweep while a deadline is extended",
        slow_with: None,
        explore: |faults| explore(at(extend)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Expiring`: a reader beside a sweep",
        slow_with: None,
        explore: |faults| explore(at(read)).isolated().faults(faults).run(),
    },
    Case {
        name: "`TablePerPeriod`: tables are dropped while others are written",
        slow_with: None,
        explore: |faults| explore(at(periods)).isolated().faults(faults).run(),
    },
];

pub(super) const PROMISES: [Promise; 3] = [
    Promise {
        name: "`Expiring`: a sweep while a deadline is extended",
        hold: |place| Box::pin(extend(place)),
    },
    Promise {
        name: "`Expiring`: a reader beside a sweep",
        hold: |place| Box::pin(read(place)),
    },
    Promise {
        name: "`TablePerPeriod`: tables are dropped while others are written",
        hold: |place| Box::pin(periods(place)),
    },
];

#[derive(TableEntity, Clone, Debug)]
struct Session {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    expires: DateTime,
    #[table(write_id)]
    write: Option<Guid>,
}

const NOW: DateTime = DateTime::from_unix_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Leaves a session that expires now, and one that lives for an hour.
async fn sessions(place: &Place) -> [TableClient<Session>; 2] {
    let clients = clients(place);
    let session = |id: &str, expires| Session {
        group: "g".into(),
        id: id.into(),
        expires,
        write: None,
    };
    let both = [session("over", NOW), session("live", NOW + HOUR)];
    place.emulator().seed(super::TABLE, both).unwrap();
    clients
}

async fn extend(place: Place) {
    let [a, b] = sessions(&place).await;
    let sweep = async { Expiring::new(&a, Session::EXPIRES).sweep(NOW).await };
    let extend = async {
        let extend = |session: &mut Session| session.expires = NOW + HOUR;
        b.modify(("g", "over"), extend).await
    };
    let (swept, extended) = join(sweep, extend).await;
    count([&swept]);
    let left: Vec<Session> = stored(&place, "").await;
    let is_left = |id: &str| left.iter().any(|session| session.id == id);
    assert!(is_left("live"), "a session was swept an hour early");
    if extended.is_ok() {
        assert!(is_left("over"), "an extended session was swept");
    } else if swept.is_ok_and(|report| report.leftovers().is_empty()) {
        assert!(left.iter().all(|session| session.expires > NOW), "{left:?}");
    }
}

async fn read(place: Place) {
    let [a, b] = sessions(&place).await;
    let sweep = async { Expiring::new(&a, Session::EXPIRES).sweep(NOW).await };
    let read = async {
        let sessions = Expiring::new(&b, Session::EXPIRES);
        if let Ok(read) = sessions.get(("g", "over"), NOW).await {
            assert!(read.is_none(), "read at its deadline: {read:?}");
        }
        let read = sessions.query(NOW).partition("g").all().await;
        count([&read]);
        if let Ok(read) = read {
            let ids: Vec<_> = read.iter().map(|session| session.id.as_str()).collect();
            assert_eq!(ids, ["live"]);
        }
        if let Ok(read) = sessions.get(("g", "live"), NOW).await {
            assert!(read.is_some());
        }
    };
    let (_, ()) = join(sweep, read).await;
}

async fn periods(place: Place) {
    let time = |text: &str| text.parse::<DateTime>().unwrap();
    let (old, new) = (time("2026-01-31T23:59:59Z"), time("2026-02-01T00:00:00Z"));
    let tables = |service: &TableServiceClient| TablePerPeriod::<DynamicEntity>::monthly(service, "Rows");
    let behind = tables(&place.behind());
    let row = DynamicEntity::new("p", "r");
    behind.at(old).unwrap().insert(&row).await.unwrap();

    let (a, b) = (place.client("a"), place.client("b"));
    let drop = async { tables(&a).drop_before(new).await };
    let write = async { tables(&b).at(new).unwrap().insert(&row).await };
    let (dropped, written) = join(drop, write).await;
    count([&dropped]);
    if dropped.is_ok() {
        assert!(
            !behind.at(old).unwrap().table_exists().await.unwrap(),
            "a table is left"
        );
    }
    if written.is_ok() {
        let kept = behind.at(new).unwrap().exists(("p", "r")).await;
        assert!(kept.unwrap(), "a table was dropped in its period");
    }
}
