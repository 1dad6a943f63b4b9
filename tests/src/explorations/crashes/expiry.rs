//! Sweeps of expired rows and tables whose processes crash.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Simulation, explore};
use azure_table::{DateTime, DynamicEntity, Guid, Result, TableEntity, TableServiceClient};
use azure_table_patterns::{Expiring, TablePerPeriod};
use futures::future::try_join;

use super::{CrashCase, TABLE, behind, settle, stored, table};

pub(super) const ALL: [CrashCase; 2] = [
    CrashCase {
        name: "`Expiring`: a sweep while a deadline is extended",
        processes: 2,
        explore: |bounds| bounds.of(explore(sweep)).isolated().run(),
    },
    CrashCase {
        name: "`TablePerPeriod`: tables are dropped while another is written",
        processes: 2,
        explore: |bounds| bounds.of(explore(periods)).isolated().run(),
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

/// The repeated sweep leaves no expired session, and deletes no extended one, also by a late write.
async fn sweep(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let session = |group: &str, id: &str, expires| Session {
        group: group.into(),
        id: id.into(),
        expires,
        write: None,
    };
    let all = [
        session("g", "extended", NOW),
        session("g", "live", NOW + HOUR),
        session("g", "over", NOW),
        session("h", "over too", NOW),
    ];
    simulation.emulator().seed(TABLE, all).unwrap();
    let sweep = async |service: TableServiceClient| -> Result<()> {
        // A session that was extended meanwhile is a leftover.
        let _ = Expiring::new(&table(&service), Session::EXPIRES).sweep(NOW).await?;
        Ok(())
    };
    // The process reads its session again: its first write tells if the session was there.
    let extend = async |service: TableServiceClient| -> Result<bool> {
        let extend = |session: &mut Session| session.expires = NOW + HOUR;
        match table::<Session>(&service).modify(("g", "extended"), extend).await {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == azure_table::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    };
    let ((), is_extended) = try_join(simulation.process("sweeper", sweep), simulation.process("user", extend)).await?;
    settle(&simulation, &[TABLE]).await?;
    let left: Vec<Session> = stored(&behind, TABLE, "").await;
    let ids: Vec<&str> = left.iter().map(|session| session.id.as_str()).collect();
    let expected: &[&str] = if is_extended { &["extended", "live"] } else { &["live"] };
    assert_eq!(ids, expected);
    Ok(())
}

/// The repeated drop leaves no table before its time, and no other table is dropped.
async fn periods(simulation: Simulation) -> Result<()> {
    let time = |text: &str| text.parse::<DateTime>().unwrap();
    let times = ["2025-12-01T00:00:00Z", "2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z"].map(time);
    let new = times[2];
    let tables = |service: &TableServiceClient| TablePerPeriod::<DynamicEntity>::monthly(service, "Rows");
    let behind = behind(&simulation, &[]);
    let row = DynamicEntity::new("p", "r");
    for old in &times[..2] {
        tables(&behind).at(*old)?.insert(&row).await?;
    }
    let drop = async |service: TableServiceClient| tables(&service).drop_before(new).await;
    let write = async |service: TableServiceClient| tables(&service).at(new)?.insert_or_replace(&row).await;
    try_join(simulation.process("dropper", drop), simulation.process("writer", write)).await?;
    settle(&simulation, &["Rows202602"]).await?;
    for old in &times[..2] {
        assert!(!tables(&behind).at(*old)?.table_exists().await?, "a table is left");
    }
    assert!(tables(&behind).at(new)?.exists(("p", "r")).await?);
    Ok(())
}
