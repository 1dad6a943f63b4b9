//! Writes of many rows, and rows whose form is not that of their entity.

use azure_table::emulator::SeedEntities as _;
use azure_table::{BulkReport, DynamicEntity, Guid, TableEntity};
use azure_table_tests::promises;
use azure_table_tests::promises::{Place, Promise};

use super::{TABLE, counted, rows};

pub(super) const PROMISES: &[Promise] = &promises![
    "a bulk of inserts counts what it wrote": bulk_insert,
    "a bulk of deletes counts what it deleted": bulk_delete,
    "a chunked text is read as it was written": chunked,
];

fn check(report: &BulkReport, written: usize) {
    let possible = report.applied()..=report.applied() + report.in_doubt();
    let is_counted = possible.contains(&(written as u64));
    assert!(is_counted, "{written} were written: {report:?}");
}

async fn bulk_insert(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    let key = |n: u32| DynamicEntity::new(["p", "q", "r"][n as usize % 3], n.to_string());
    let result = table.bulk().insert((0..40).map(key)).await;
    let behind = place.behind().dynamic_table(TABLE).unwrap();
    let written = behind.query().allow_table_scan().count().await.unwrap();
    match &result {
        Ok(report) => check(report, written),
        Err(interrupted) => check(interrupted.report(), written),
    }
    counted(&place, "bulk insert", result);
}

async fn bulk_delete(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    let keys = rows(&place);
    let result = table.bulk().delete(keys.iter().map(|key| ("p", key.as_str()))).await;
    let behind = place.behind().dynamic_table(TABLE).unwrap();
    let left = behind.query().partition("p").count().await.unwrap();
    match &result {
        Ok(report) => check(report, keys.len() - left),
        Err(interrupted) => check(interrupted.report(), keys.len() - left),
    }
    counted(&place, "bulk delete", result);
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Note {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    id: String,
    #[table(chunked)]
    text: String,
    #[table(write_id)]
    write: Option<Guid>,
}

async fn chunked(place: Place) {
    let [table, _] = place.clients::<Note>(TABLE);
    let note = |text: &str| Note {
        group: "p".into(),
        id: "1".into(),
        text: text.repeat(40_000),
        write: None,
    };
    place.emulator().seed(TABLE, [note("a")]).unwrap();
    let change = |note: &mut Note| note.text = format!("b{}", &note.text[1..]);
    let changed = counted(&place, "chunked", table.modify(("p", "1"), change).await);
    let behind = place.behind().table::<Note>(TABLE).unwrap();
    let stored = behind.get(("p", "1")).await.unwrap().unwrap();
    assert_eq!(stored.text[1..], note("a").text[1..]);
    assert!(changed.is_none() || stored.text.starts_with('b'));
    if let Ok(Some(read)) = table.get(("p", "1")).await {
        assert_eq!(read.text, stored.text);
    }
}
