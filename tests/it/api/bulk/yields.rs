//! A bulk yields to other tasks, even if its source and the service are always ready.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use azure_table::{Column, DynamicEntity, Emulator, TableClient};
use cpu_time::ThreadTime;

use crate::api::create;

fn rows() -> impl Iterator<Item = DynamicEntity> {
    (0_u64..).map(|n| DynamicEntity::new(format!("p{}", n / 1_000), n.to_string()))
}

/// Asserts that a timeout of 10 ms fires, and that no poll before it takes long. Other programs cost no CPU time here.
async fn assert_times_out<F: Future>(name: &str, work: F) {
    let started = ThreadTime::now();
    let ended = tokio::time::timeout(Duration::from_millis(10), work).await;
    assert!(ended.is_err(), "{name} ended");
    assert!(
        started.elapsed() < Duration::from_millis(500),
        "{name}: {:?}",
        started.elapsed()
    );
}

#[azure_table::test]
async fn timeout_around_many_writes_fires(table: TableClient) {
    assert_times_out("bulk", table.bulk().insert(rows())).await;
    let mut outcomes = table.bulk().insert_or_replace(rows()).outcomes();
    assert_times_out("outcomes", async { while outcomes.next().await.is_some() {} }).await;
    let mut writer = table.writer();
    let sends = async {
        for row in rows() {
            writer.insert_or_replace(&row).await.unwrap();
        }
    };
    assert_times_out("writer", sends).await;
    let stored = table.bulk().insert_or_replace(rows().take(20_000)).await.unwrap();
    assert_eq!(stored.applied(), 20_000);
    let set = || [Column::<DynamicEntity, i32>::property("Other").set(1)];
    assert_times_out(
        "update_where",
        table.update_where(table.query(), |row| drop(row.insert("V", 1))),
    )
    .await;
    assert_times_out("patch_where", table.patch_where(table.query(), set())).await;
    assert_times_out("delete_where", table.delete_where(table.query())).await;
}

#[azure_table::test]
async fn other_task_has_its_turn_at_least_every_128_rows(table: TableClient) {
    let ticks = Arc::new(AtomicU64::new(0));
    let ticker = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            loop {
                ticks.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let before = ticks.load(Ordering::Relaxed);
    let report = table.bulk().insert(rows().take(12_800)).await.unwrap();
    assert_eq!(report.applied(), 12_800);
    let during = ticks.load(Ordering::Relaxed) - before;
    ticker.abort();
    assert!(during >= 100, "{during} turns");
}

/// Each row has its own partition, so the bulk reads as far ahead as allowed.
#[tokio::test]
#[ignore = "takes long: see tests/README.md"]
async fn poll_reads_at_most_128_rows_or_512_kib() {
    for (length, most) in [(10, 128), (30_000, 19)] {
        let table = create::<DynamicEntity>(Emulator::new(), "Things").await;
        let text = "x".repeat(length);
        let read = AtomicU64::new(0);
        let source = (0..3_000).map(|n| {
            read.fetch_add(1, Ordering::Relaxed);
            let mut row = DynamicEntity::new(n.to_string(), "r");
            row.insert("V", text.as_str());
            row
        });
        let mut write = pin!(table.bulk().insert(source));
        let mut most_read = 0;
        let report = std::future::poll_fn(|cx| {
            let before = read.load(Ordering::Relaxed);
            let polled = Pin::as_mut(&mut write).poll(cx);
            most_read = most_read.max(read.load(Ordering::Relaxed) - before);
            match polled {
                Poll::Ready(report) => Poll::Ready(report),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
        .unwrap();
        assert_eq!(report.applied(), 3_000);
        assert!(most_read <= most, "{most_read} rows of {length} bytes in one poll");
    }
}
