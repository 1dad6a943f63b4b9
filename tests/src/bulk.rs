//! Writes by query.

use azure_table::{Column, DynamicEntity, EdmValue, ErrorKind, TableClient, TableEntity};

use crate::Backend;
use crate::entities::Tracked;

async fn filled(backend: &Backend) -> TableClient<Tracked> {
    let table = backend.fresh_table::<Tracked>().await;
    for group in ["a", "b'ü", "c"] {
        let mut batch = table.batch();
        for number in 0..40 {
            let value = format!("v{}", number % 4);
            batch.insert(&Tracked::new(group, number, &value)).unwrap();
        }
        batch.submit().await.unwrap();
    }
    table
}

/// Deletes, patches, updates and upgrades process every row once, over pages and partitions.
pub async fn rows_are_written_by_a_query(backend: &Backend) {
    let table = filled(backend).await;
    let pages = || table.query().page_size(25);
    let patch = table.patch_where(Tracked::VALUE.eq("v1"), [Tracked::VALUE.set("w")]);
    assert_eq!(patch.await.unwrap().applied(), 30);
    let update = table.update_where(pages(), |row| row.value.push('!'));
    let report = update.concurrency(3).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (120, 0));
    for (value, count) in [("v0!", 30), ("w!", 30), ("v2!", 30), ("v3!", 30)] {
        let rows = table.query().filter(Tracked::VALUE.eq(value));
        assert_eq!(rows.count().await.unwrap(), count, "{value}");
    }
    assert_eq!(table.delete_where(Tracked::VALUE.eq("w!")).await.unwrap().applied(), 30);
    let rest = table.delete_where(pages()).await.unwrap();
    assert_eq!((rest.applied(), rest.gone()), (90, 0));
    assert_eq!(table.query().count().await.unwrap(), 0);
    backend.drop_table(&table).await;
}

/// One property of each type that a struct may have had under another name.
#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Renamed {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    number: u32,
    #[table(alias = "value")]
    text: String,
    #[table(default)]
    ratio: f64,
    #[table(default)]
    large: i64,
}

/// A row that cannot be written has an error, and the others are written. Upgraded rows are up to date.
pub async fn failures_are_reported_row_by_row(backend: &Backend) {
    let table = filled(backend).await;
    let number = Column::<DynamicEntity, i32>::property("ratio");
    let key = azure_table::Key::from_text("a", "0000000007").unwrap();
    table.typed().patch(key, [number.set(5)]).await.unwrap();
    // It cannot be read: `ratio` is widened, but `large` is not text.
    let text = Column::<DynamicEntity, String>::property("large");
    let key = azure_table::Key::from_text("c", "0000000039").unwrap();
    table.typed().patch(key.clone(), [text.set("much")]).await.unwrap();

    let renamed = table.typed::<Renamed>();
    let report = renamed.upgrade_where(renamed.query()).await.unwrap();
    assert_eq!((report.applied(), report.unchanged(), report.rejected()), (119, 0, 1));
    let left = &report.leftovers()[0];
    assert_eq!(left.error().unwrap().kind(), ErrorKind::InvalidResponse);
    assert_eq!(left.key().row_key(), key.row_key());
    let again = renamed.upgrade_where(renamed.query()).await.unwrap();
    assert_eq!((again.applied(), again.unchanged(), again.rejected()), (0, 119, 1));
    for row in table.typed::<DynamicEntity>().query().all().await.unwrap() {
        let is_old = row.row_key == key.row_key() && row.partition_key == "c";
        assert_eq!(row.get("value").is_some(), is_old);
        let is_changed = row.row_key == "0000000007" && row.partition_key == "a";
        let ratio = if is_changed { 5.0 } else { 0.0 };
        assert_eq!(row.get("ratio"), (!is_old).then_some(EdmValue::Double(ratio)).as_ref());
    }

    // Each write is for the version that was read: the second of two concurrent writes finds another.
    let update = || renamed.update_where(renamed.query().partition("a"), |row| row.large += 1);
    let (first, second) = tokio::join!(update(), update());
    let (first, second) = (first.unwrap(), second.unwrap());
    let applied = first.applied() + second.applied();
    assert!((40..=80).contains(&applied), "{first}, {second}");
    let mut failed = first.leftovers().iter().chain(second.leftovers());
    let count = failed.clone().count() as u64;
    assert!(failed.all(|row| row.error().unwrap().kind() == ErrorKind::ConditionNotMet));
    assert_eq!((first.changed() + second.changed(), applied + count), (count, 80));
    let rows = renamed.query().partition("a").all().await.unwrap();
    assert_eq!(rows.iter().map(|row| row.large).sum::<i64>(), applied as i64);
    backend.drop_table(&table).await;
}
