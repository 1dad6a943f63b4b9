//! Rows with a deadline, and tables with a period.

use azure_table::emulator::SeedEntities as _;
use azure_table::{DateTime, ErrorKind};
use azure_table_patterns::{Expiring, TablePerPeriod};

use super::*;

pub(super) const ALL: [Case; 3] = [
    case!("`Expiring`: a sweep while a deadline is extended", extend).and_crashes(),
    case!("`Expiring`: a reader beside a sweep", read),
    case!("`TablePerPeriod`: tables are dropped while others are written", periods).and_crashes(),
];

const NOW: DateTime = DateTime::from_unix_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// Leaves sessions that expire now, and one that lives for an hour.
fn seed(place: &Place, over: &[(&str, &str)]) {
    let session = |group: &str, id: &str, expires| Session {
        group: group.into(),
        id: id.into(),
        expires,
        write: None,
    };
    let over = over.iter().map(|(group, id)| session(group, id, NOW));
    let all = over.chain([session("g", "live", NOW + HOUR)]);
    place.emulator().seed(TABLE, all).unwrap();
}

fn sessions(service: &TableServiceClient) -> Expiring<Session> {
    Expiring::new(&table(service), Session::EXPIRES)
}

/// A repeated sweep leaves no expired session, and deletes no extended one, also by a late write.
async fn extend(place: Place) {
    let over = [("g", "extended"), ("g", "over"), ("h", "over too")];
    seed(&place, if place.has_crashes() { &over } else { &over[..1] });
    let sweep = async |service: TableServiceClient| sessions(&service).sweep(NOW).await;
    // A process reads its session again: its first write tells if the session was there.
    let extend = async |service: TableServiceClient| {
        let extend = |session: &mut Session| session.expires = NOW + HOUR;
        table(&service).modify(("g", "extended"), extend).await.map(drop)
    };
    let (swept, extended) = both(&place, sweep, extend).await;
    count([&swept]);
    let left: Vec<Session> = stored(&place, "").await;
    let is_left = |id: &str| left.iter().any(|session| session.id == id);
    assert!(is_left("live"), "a session was swept an hour early");
    match extended {
        Ok(()) => assert!(is_left("extended"), "an extended session was swept"),
        Err(e) if place.has_crashes() => {
            assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
            assert!(!is_left("extended"), "{left:?}");
        }
        Err(_) => {}
    }
    // A session that was extended meanwhile is a leftover.
    let is_swept = swept.is_ok_and(|report| place.has_crashes() || report.leftovers().is_empty());
    assert!(is_swept || !place.has_crashes(), "the sweep failed");
    assert!(
        !is_swept || left.iter().all(|session| session.expires > NOW),
        "{left:?}"
    );
}

async fn read(place: Place) {
    seed(&place, &[("g", "over")]);
    let sweep = async |service: TableServiceClient| sessions(&service).sweep(NOW).await;
    let read = async |service: TableServiceClient| {
        let sessions = sessions(&service);
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
    let _ = both(&place, sweep, read).await;
}

/// A repeated drop leaves no table before its time, and no other table is dropped.
async fn periods(place: Place) {
    let times = ["2026-02-01T00:00:00Z", "2026-01-31T23:59:59Z", "2025-12-01T00:00:00Z"];
    let [new, old @ ..] = times.map(|text| text.parse::<DateTime>().unwrap());
    let old = if place.has_crashes() { &old[..] } else { &old[..1] };
    let tables = |service: &TableServiceClient| TablePerPeriod::<DynamicEntity>::monthly(service, "Rows");
    let behind = tables(&place.behind());
    let row = DynamicEntity::new("p", "r");
    for old in old {
        behind.at(*old).unwrap().insert(&row).await.unwrap();
    }
    let drop = async |service: TableServiceClient| tables(&service).drop_before(new).await;
    let write = async |service: TableServiceClient| {
        let rows = tables(&service).at(new)?;
        if place.has_crashes() {
            return rows.insert_or_replace(&row).await;
        }
        rows.insert(&row).await
    };
    let (dropped, written) = both(&place, drop, write).await;
    done(&place, [&dropped]);
    if dropped.is_ok() {
        for old in old {
            assert!(
                !behind.at(*old).unwrap().table_exists().await.unwrap(),
                "a table is left"
            );
        }
    }
    if written.is_ok() {
        let kept = behind.at(new).unwrap().exists(("p", "r")).await;
        assert!(kept.unwrap(), "a table was dropped in its period");
    }
    assert!(written.is_ok() || !place.has_crashes(), "{written:?}");
}
