//! Reads of many pages by a process that stores its position in a row, and crashes.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::query::ScanPosition;
use azure_table::{Continuation, DynamicEntity, Result, TableServiceClient};
use azure_table_patterns::{ChangePosition, Changes};
use tokio::time::sleep;

use super::Case;
use crate::entities::Valued;
use crate::explorations::patterns::{RowId, TABLE, create_tables, stored_in, table, try_both};
use crate::promises::Place;

pub(super) const ALL: [Case; 3] = [
    case!("pages of a query, resumed at their position, beside an insert", pages).only_crashes(2),
    case!("`scan`, resumed at its position, beside an insert", scan).only_crashes(2),
    case!("`Changes`, resumed at their position, beside a writer", changes).only_crashes(2),
];

/// The rows that the reader has processed, and its position.
const SEEN: &str = "Seen";

/// Creates both tables, with rows in the first.
fn seed(place: &Place) {
    create_tables(place, &[SEEN]);
    let rows = ["k", "m", "o"].map(|name| Valued::new("g", name, 0_i64));
    place.emulator().seed(TABLE, rows).unwrap();
}

/// Processes rows: stores that they were seen. Then stores the position, or the end.
async fn save(service: &TableServiceClient, rows: &[Valued<i64>], position: Option<String>) -> Result<()> {
    let seen = service.dynamic_table(SEEN)?;
    for row in rows {
        let row = DynamicEntity::new("seen", format!("{} {}", row.name, row.value));
        seen.insert_or_replace(&row).await?;
    }
    let mut row = DynamicEntity::new("position", "");
    row.insert("Position", position.unwrap_or_else(|| "end".to_owned()));
    seen.insert_or_replace(&row).await.map(drop)
}

/// Returns the stored position.
async fn saved(service: &TableServiceClient) -> Result<Option<String>> {
    let row = service.dynamic_table(SEEN)?.get(("position", "")).await?;
    Ok(row.and_then(|row| row.get("Position").map(|position| position.to_string())))
}

/// Returns the names and numbers of the rows that were seen.
async fn seen(place: &Place) -> Vec<String> {
    let rows: Vec<RowId> = stored_in(place, SEEN, "PartitionKey eq 'seen'").await;
    rows.into_iter().map(|row| row.row).collect()
}

/// Inserts a row before the first, and one after the last.
async fn insert(service: TableServiceClient) -> Result<()> {
    for name in ["a", "z"] {
        table(&service)
            .insert_or_replace(&Valued::new("g", name, 1_i64))
            .await?;
    }
    Ok(())
}

/// Checks that every row that existed throughout was seen.
async fn check(place: &Place) {
    let seen = seen(place).await;
    assert!(
        ["k 0", "m 0", "o 0"]
            .iter()
            .all(|row| seen.iter().any(|seen| seen == row)),
        "{seen:?}"
    );
}

async fn pages(place: Place) -> Result<()> {
    seed(&place);
    let read = async |service: TableServiceClient| -> Result<()> {
        let position = match saved(&service).await?.as_deref() {
            Some("end") => return Ok(()),
            Some(text) => text.parse().unwrap(),
            None => Continuation::default(),
        };
        let query = table::<Valued<i64>>(&service).query().partition("g").page_size(1);
        let mut pages = query.resume_from(position).pages();
        while let Some(page) = pages.try_next().await? {
            let next = page.has_more().then(|| page.continuation().to_string());
            save(&service, page.items(), next).await?;
        }
        Ok(())
    };
    try_both(&place, read, insert).await?;
    check(&place).await;
    Ok(())
}

async fn scan(place: Place) -> Result<()> {
    seed(&place);
    let read = async |service: TableServiceClient| -> Result<()> {
        let scan = table::<Valued<i64>>(&service)
            .query()
            .page_size(1)
            .scan()
            .concurrency(2);
        let mut rows = match saved(&service).await?.as_deref() {
            Some("end") => return Ok(()),
            Some(text) => scan.resume_from(text.parse::<ScanPosition>().unwrap()).stream(),
            None => scan.stream(),
        };
        while let Some(page) = rows.try_next_page().await? {
            save(&service, &page, Some(rows.position().to_string())).await?;
        }
        save(&service, &[], None).await
    };
    try_both(&place, read, insert).await?;
    check(&place).await;
    Ok(())
}

/// The last poll begins after the writer has ended, and more than the overlap later.
async fn changes(place: Place) -> Result<()> {
    seed(&place);
    // The rows are older than the overlap, in which a resumed poll reads again.
    sleep(Duration::from_secs(3_600)).await;
    let poll = async |service: TableServiceClient| -> Result<()> {
        let changes = Changes::new(table::<Valued<i64>>(&service).query().page_size(2)).max_polls(1);
        let mut changes = match saved(&service).await? {
            Some(text) => changes.resume_from(text.parse::<ChangePosition>().unwrap()).stream()?,
            None => changes.stream()?,
        };
        while let Some(row) = changes.try_next().await? {
            save(&service, &[row.entity], Some(changes.position().to_string())).await?;
        }
        save(&service, &[], Some(changes.position().to_string())).await
    };
    try_both(&place, poll, insert).await?;
    poll(place.behind()).await?;
    check(&place).await;
    let seen = seen(&place).await;
    assert!(
        ["a 1", "z 1"].iter().all(|row| seen.iter().any(|seen| seen == row)),
        "{seen:?}"
    );
    Ok(())
}
