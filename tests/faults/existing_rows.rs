//! The bytes and requests of a bulk with failing rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::{DynamicEntity, Emulator};
use azure_table_tests::intercept::Intercept;

use super::{faulty, table_of};

const ROWS: u64 = 1_000;

fn row(n: u64, value: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new(format!("p{}", n / 500), format!("{n:05}"));
    row.insert("V", value);
    row
}

/// Inserts 1,000 rows of which some exist. Returns the requests and bytes.
async fn insert(exists: impl Fn(u64) -> bool) -> (u64, u64) {
    let (faults, _, truth) = faulty(Emulator::new()).await;
    let stored = (0..ROWS).filter(|n| exists(*n)).map(|n| row(n, "theirs"));
    let stored = truth.bulk().insert(stored).await.unwrap().applied();
    let bytes = Arc::new(AtomicU64::new(0));
    let sent = Arc::clone(&bytes);
    let table = table_of(Intercept::new(faults.clone(), move |service, request| {
        sent.fetch_add(request.body().len() as u64, Ordering::Relaxed);
        async move { service.send(request).await }
    }));
    let ours = "x".repeat(700);
    let write = table.bulk().max_failures(usize::MAX);
    let report = write.insert((0..ROWS).map(|n| row(n, &ours))).await.unwrap();
    let outcomes = (report.applied(), report.rejected());
    assert_eq!(outcomes, (ROWS - stored, stored), "{report}");
    let mut rejected = report.leftovers().iter().map(|left| left.index());
    assert!((0..ROWS).filter(|n| exists(*n)).all(|n| rejected.next() == Some(n)));
    for row in truth.query().all().await.unwrap() {
        let n: u64 = row.row_key.parse().unwrap();
        let value = if exists(n) { "theirs" } else { &ours };
        assert_eq!(row.get("V"), Some(&value.into()), "{n}");
    }
    (faults.requests(), bytes.load(Ordering::Relaxed))
}

/// The rows that exist; the maximum of bytes, as a multiple of those for an empty table, and of requests.
type Case = (&'static str, fn(u64) -> bool, f64, u64);

/// The service names one failing row of a batch, so each failure costs a request.
#[tokio::test(start_paused = true)]
async fn rows_that_exist_cost_a_bounded_multiple_of_their_bytes() {
    let (requests, bytes) = insert(|_| false).await;
    assert_eq!(requests, ROWS / 100);
    let cases: [Case; 6] = [
        ("all", |_| true, 5.0, ROWS),
        ("every second", |n| n % 2 == 0, 6.0, ROWS),
        ("every tenth", |n| n % 10 == 3, 6.5, ROWS / 4),
        ("the first half of each batch", |n| n % 100 < 50, 6.0, ROWS * 6 / 10),
        ("the second half of each batch", |n| n % 100 >= 50, 6.0, ROWS * 6 / 10),
        ("1 %", |n| n % 100 == 42, 2.1, ROWS / 50),
    ];
    for (name, exists, most, most_requests) in cases {
        let (requests, sent) = insert(exists).await;
        let multiple = sent as f64 / bytes as f64;
        println!("{name}: {requests} requests, {multiple:.2} times the bytes");
        let is_bounded = multiple <= most && requests <= most_requests;
        assert!(is_bounded, "{name}: {requests}, {multiple}");
    }
}
