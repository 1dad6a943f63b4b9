//! Bulks and writes by query under faults.

use std::time::Duration;

use azure_table::Emulator;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule};

use super::{busy, faulty, row_of};

/// The client reads back a write whose response was lost. That read is retried like any other.
#[tokio::test(start_paused = true)]
async fn throttled_read_back_of_a_bulk_does_not_send_the_write_over_a_newer_one() {
    for rows in [&["1"][..], &["1", "2"]] {
        let (faults, table, truth) = faulty(Emulator::new()).await;
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().at_most(1));
        faults.add(FaultRule::new(busy()).on(OperationKind::Query).at_most(1));
        let second = faults.add(FaultRule::new(Fault::DelayRequest(Duration::from_secs(10))).on_writes());

        let written = rows.iter().map(|name| row_of(name, 1));
        let newer = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            for name in rows {
                truth.insert_or_replace(&row_of(name, 2)).await.unwrap();
            }
        };
        let (report, ()) = tokio::join!(table.bulk().insert_or_replace(written), newer);
        assert_eq!(report.unwrap().applied(), rows.len() as u64);
        for name in rows {
            let stored = truth.get(("p", *name)).await.unwrap().unwrap();
            assert_eq!(stored.get("V"), Some(&2.into()), "the older write came again");
        }
        assert_eq!(second.hits(), 0);
    }
}
