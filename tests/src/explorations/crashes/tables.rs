//! Tables that are deleted by processes that crash.

use std::cell::Cell;
use std::time::Duration;

use azure_table::testing::{Simulation, explore};
use azure_table::{ErrorKind, Result, TableServiceClient};
use futures::future::try_join;
use tokio::time::sleep;

use super::{CrashCase, Number, TABLE, behind, settle, table};

pub(super) const ALL: [CrashCase; 1] = [CrashCase {
    name: "`recreate_table`, beside a reader",
    processes: 2,
    explore: |bounds| bounds.of(explore(recreate)).isolated().run(),
}];

/// The name of a deleted table is free after 40 s.
const TOTAL: Duration = Duration::from_secs(120);

/// The old row is gone for ever. The table is there, unless a deletion of an earlier life arrived late.
async fn recreate(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    table(&behind).insert(&Number::new("old", 0)).await?;
    let lives = Cell::new(0);
    let load = async |service: TableServiceClient| {
        lives.set(lives.get() + 1);
        match table::<Number>(&service).recreate_table(TOTAL).await {
            // An earlier life has created it.
            Err(e) if e.kind() == ErrorKind::AlreadyExists && lives.get() > 1 => Ok(()),
            recreated => recreated,
        }
    };
    let read = async |service: TableServiceClient| -> Result<()> {
        let mut is_gone = false;
        for _ in 0..3 {
            let is_old = match table::<Number>(&service).exists(("g", "old")).await {
                Err(e) if e.kind() == ErrorKind::TableNotFound => false,
                read => read?,
            };
            assert!(!(is_gone && is_old), "a deleted row is back");
            is_gone = !is_old;
            sleep(Duration::from_secs(21)).await;
        }
        Ok(())
    };
    try_join(simulation.process("loader", load), simulation.process("reader", read)).await?;
    match settle(&simulation, &[TABLE]).await {
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::TableNotFound, "{e}");
            assert!(lives.get() > 1, "the table is gone");
        }
        Ok(()) => assert!(
            !table::<Number>(&behind).exists(("g", "old")).await?,
            "the old row is left"
        ),
    }
    Ok(())
}
