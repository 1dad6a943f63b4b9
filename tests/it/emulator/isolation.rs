//! Readers see all of a batch or nothing.
//!
//! Source: REST "Performing entity group transactions" (snapshot isolation); "Query timeout and pagination".

use azure_table::{DynamicEntity, Emulator, TableClient, TableServiceClient};

const ROWS: i32 = 10;

async fn table(emulator: &Emulator) -> TableClient<DynamicEntity> {
    let table = TableServiceClient::from_transport(emulator.clone())
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    write(&table, 0).await;
    table
}

/// Sets this number in all rows, in one batch.
async fn write(table: &TableClient<DynamicEntity>, number: i32) {
    let mut batch = table.batch();
    for row in 0..ROWS {
        let mut entity = DynamicEntity::new("p", format!("{row:02}"));
        entity.insert("Number", number);
        batch.insert_or_replace(&entity).unwrap();
    }
    batch.submit().await.unwrap();
}

fn number(row: &DynamicEntity) -> i32 {
    row.property("Number").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_reader_sees_half_a_batch() {
    let emulator = Emulator::new();
    let table = table(&emulator).await;
    let writer = tokio::spawn({
        let table = table.clone();
        async move {
            for number in 1..=200 {
                write(&table, number).await;
            }
        }
    });
    let readers = (0..3).map(|_| {
        let table = table.clone();
        tokio::spawn(async move {
            let mut last = 0;
            for _ in 0..200 {
                let rows = table.query().partition("p").all().await.unwrap();
                let numbers: Vec<i32> = rows.iter().map(number).collect();
                assert_eq!(numbers, [numbers[0]; ROWS as usize]);
                assert!(numbers[0] >= last, "time does not go back");
                last = numbers[0];
            }
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await.unwrap();
    }
    writer.await.unwrap();
}

/// A batch that fails changes nothing, wherever the failure is.
#[tokio::test]
async fn failed_batch_is_never_visible() {
    let emulator = Emulator::new();
    let table = table(&emulator).await;
    for failing in 0..ROWS {
        let mut batch = table.batch();
        for row in 0..ROWS {
            let mut entity = DynamicEntity::new("p", format!("{row:02}"));
            entity.insert("Number", 7);
            if row == failing {
                batch.insert(&entity).unwrap()
            } else {
                batch.insert_or_replace(&entity).unwrap()
            };
        }
        let error = batch.submit().await.unwrap_err();
        assert_eq!(error.batch_index(), usize::try_from(failing).ok(), "{error}");
        let rows = table.query().all().await.unwrap();
        assert!(rows.iter().all(|row| number(row) == 0));
    }
}

#[tokio::test]
async fn page_is_a_snapshot_and_pages_are_not() {
    let emulator = Emulator::new().page_size(5);
    let table = table(&emulator).await;
    let mut pages = table.query().pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert!(first.items().iter().all(|row| number(row) == 0));
    write(&table, 1).await;
    let second = pages.try_next().await.unwrap().unwrap();
    assert!(
        second.items().iter().all(|row| number(row) == 1),
        "what was written in between is in the next page"
    );
    assert_eq!((first.items().len(), second.items().len()), (5, 5));
}
