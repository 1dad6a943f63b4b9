//! Tables that are deleted by processes that crash.

use std::cell::Cell;
use std::time::Duration;

use azure_table::{ErrorKind, Result, TableServiceClient};
use tokio::time::sleep;

use super::Case;
use crate::entities::Valued;
use crate::explorations::patterns::{table, try_both};
use crate::promises::Place;

pub(super) const ALL: [Case; 1] = [case!("`recreate_table`, beside a reader", recreate).only_crashes(2)];

/// The name of a deleted table is free after 40 s.
const TOTAL: Duration = Duration::from_secs(120);

/// The old row is gone for ever. The table is there, unless a deletion of an earlier life arrived late.
async fn recreate(place: Place) -> Result<()> {
    let behind = table::<Valued<i64>>(&place.behind());
    behind.insert(&Valued::new("g", "old", 0)).await?;
    let lives = Cell::new(0);
    let load = async |service: TableServiceClient| {
        lives.set(lives.get() + 1);
        match table::<Valued<i64>>(&service).recreate_table(TOTAL).await {
            // An earlier life has created it.
            Err(e) if e.kind() == ErrorKind::AlreadyExists && lives.get() > 1 => Ok(()),
            recreated => recreated,
        }
    };
    let read = async |service: TableServiceClient| -> Result<()> {
        let mut is_gone = false;
        for _ in 0..3 {
            let is_old = match table::<Valued<i64>>(&service).exists(("g", "old")).await {
                Err(e) if e.kind() == ErrorKind::TableNotFound => false,
                read => read?,
            };
            assert!(!(is_gone && is_old), "a deleted row is back");
            is_gone = !is_old;
            sleep(Duration::from_secs(21)).await;
        }
        Ok(())
    };
    try_both(&place, load, read).await?;
    match behind.exists(("g", "old")).await {
        Ok(is_left) => assert!(!is_left, "the old row is left"),
        // A deletion of an earlier life arrived late.
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::TableNotFound, "{e}");
            assert!(lives.get() > 1, "the table is gone");
        }
    }
    Ok(())
}
