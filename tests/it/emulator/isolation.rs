//! Readers see all of a batch or nothing.
//!
//! Source: REST "Performing entity group transactions" (snapshot isolation); "Query timeout and pagination".

use azure_table::{Emulator, TableClient, TableServiceClient};
use azure_table_tests::entities::Numbered;

const ROWS: u32 = 10;

async fn table(emulator: Emulator) -> TableClient<Numbered> {
    let table = TableServiceClient::from_transport(emulator).table("Things").unwrap();
    table.create_table().await.unwrap();
    write(&table, 0).await;
    table
}

/// Sets this count in all rows, in one batch.
async fn write(table: &TableClient<Numbered>, count: i32) {
    let mut batch = table.batch();
    for row in 0..ROWS {
        batch.insert_or_replace(&Numbered::new("p", row, count)).unwrap();
    }
    batch.submit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_reader_sees_half_a_batch() {
    let table = table(Emulator::new()).await;
    let writes = table.clone();
    let writer = tokio::spawn(async move {
        for count in 1..=200 {
            write(&writes, count).await;
        }
    });
    let readers = [(); 3].map(|()| {
        let table = table.clone();
        tokio::spawn(async move {
            let mut last = 0;
            for _ in 0..200 {
                let rows = table.query().partition("p").all().await.unwrap();
                let counts: Vec<i32> = rows.iter().map(|row| row.count).collect();
                assert_eq!(counts, [counts[0]; ROWS as usize]);
                assert!(counts[0] >= last, "time does not go back");
                last = counts[0];
            }
        })
    });
    for reader in readers {
        reader.await.unwrap();
    }
    writer.await.unwrap();
}

/// A batch that fails changes nothing, wherever the failure is.
#[tokio::test]
async fn failed_batch_is_never_visible() {
    let table = table(Emulator::new()).await;
    for failing in 0..ROWS {
        let mut batch = table.batch();
        for number in 0..ROWS {
            let row = Numbered::new("p", number, 7);
            if number == failing {
                batch.insert(&row).unwrap();
            } else {
                batch.insert_or_replace(&row).unwrap();
            }
        }
        let error = batch.submit().await.unwrap_err();
        assert_eq!(error.batch_index(), usize::try_from(failing).ok(), "{error}");
        let rows = table.query().all().await.unwrap();
        assert!(rows.iter().all(|row| row.count == 0));
    }
}

#[tokio::test]
async fn page_is_a_snapshot_and_pages_are_not() {
    let table = table(Emulator::new().page_size(5)).await;
    let mut pages = table.query().pages();
    // What is written in between is in the next page.
    for count in 0..2 {
        let page = pages.try_next().await.unwrap().unwrap();
        let counts: Vec<i32> = page.items().iter().map(|row| row.count).collect();
        assert_eq!(counts, [count; 5]);
        write(&table, 1).await;
    }
}

/// A decision about a row that another caller may have changed since it was read.
async fn book(seats: TableClient<Numbered>) -> bool {
    let mut seat = seats.get(("p", 0)).await.unwrap().unwrap();
    if seat.count == 1 {
        return false;
    }
    seat.count = 1;
    seats.replace(&seat).unconditionally().await.unwrap();
    true
}

/// A test with `join!` finds a race, because requests of concurrent calls alternate.
#[tokio::test]
async fn requests_of_concurrent_calls_alternate() {
    let seats = table(Emulator::new()).await;
    for run in 0..50 {
        write(&seats, 0).await;
        let booked = tokio::join!(book(seats.clone()), book(seats.clone()));
        assert_eq!(booked, (true, true), "joined, run {run}");

        write(&seats, 0).await;
        let (first, second) = (tokio::spawn(book(seats.clone())), tokio::spawn(book(seats.clone())));
        assert_eq!(
            (first.await.unwrap(), second.await.unwrap()),
            (true, true),
            "spawned, run {run}"
        );
    }
}
