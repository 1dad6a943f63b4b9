//! Explorations with processes that crash while they wait for a timer.

use std::time::Duration;

use azure_table::testing::{Exploration, Simulation, explore};
use azure_table::{DynamicEntity, Result, TableClient, TableServiceClient};
use futures::future::try_join;
use tokio::time::{sleep, timeout};

async fn write(rows: &TableClient<DynamicEntity>, row: &str) -> Result<()> {
    rows.insert_or_replace(&DynamicEntity::new("p", row)).await.map(drop)
}

/// Process `a` writes a row, waits, and deletes it. The row `y` is stored for a while in between. The first life of `a`
/// that begins in this time fails.
async fn resumes_between(simulation: Simulation) -> Result<()> {
    let _ = simulation.table::<DynamicEntity>("Rows");
    let a = async |service: TableServiceClient| -> Result<()> {
        let rows = service.dynamic_table("Rows")?;
        if rows.exists(("p", "x")).await? {
            assert!(!rows.exists(("p", "y")).await?, "begins again between both writes of b");
        }
        write(&rows, "x").await?;
        sleep(Duration::from_secs(30)).await;
        rows.delete(("p", "x")).await
    };
    let b = async |service: TableServiceClient| -> Result<()> {
        let rows = service.dynamic_table("Rows")?;
        sleep(Duration::from_secs(10)).await;
        write(&rows, "y").await?;
        sleep(Duration::from_secs(10)).await;
        rows.delete(("p", "y")).await
    };
    try_join(simulation.process("a", a), simulation.process("b", b)).await?;
    Ok(())
}

#[test]
fn process_crashes_while_it_waits_for_a_timer() {
    for found in [explore(resumes_between), explore(resumes_between).isolated()].map(|found| found.crashes(1).run()) {
        let failure = found.failure().unwrap_or_else(|| panic!("{found}"));
        assert!(failure.message().starts_with("begins again between"), "{failure}");
        assert_eq!(failure.crashes(), 1);
        let line = "   4  a  waits for a timer                       its process crashes\n";
        assert!(failure.story().contains(line), "{failure}");
        assert_eq!(failure.schedule(), "a*2 b a:crash-waiting a*2");
        let again = explore(resumes_between).replay(failure.schedule()).run();
        assert_eq!(again.failure().map(|again| again.story()), Some(failure.story()));
    }
}

/// Explores a process that waits twice, beside a reader at other times.
fn waits(reads: bool) -> Exploration {
    let body = async |simulation: Simulation| -> Result<()> {
        let _ = simulation.table::<DynamicEntity>("Rows");
        let writer = async |service: TableServiceClient| -> Result<()> {
            let rows = service.dynamic_table("Rows")?;
            for row in ["x", "y"] {
                sleep(Duration::from_secs(30)).await;
                write(&rows, row).await?;
            }
            Ok(())
        };
        let other = async {
            sleep(Duration::from_secs(10)).await;
            if reads {
                let rows = simulation.client("b").dynamic_table("Rows")?;
                rows.exists(("p", "z")).await?;
            }
            Ok(())
        };
        try_join(simulation.process("a", writer), other).await?;
        Ok(())
    };
    explore(body).isolated().crashes(1).run()
}

#[test]
fn process_crashes_in_a_wait_only_where_a_request_waits() {
    let (alone, beside) = (waits(false), waits(true));
    assert!(alone.is_proof() && beside.is_proof(), "{alone}\n{beside}");
    // Once more: before the first write, while the request of the other waits.
    assert_eq!((alone.crashes(), beside.crashes()), (7, 8), "{alone}\n{beside}");
}

#[test]
fn dropped_process_crashes_no_more() {
    let body = async |simulation: Simulation| -> Result<()> {
        let rows = simulation.table::<DynamicEntity>("Rows");
        let waits = async |_| sleep(Duration::from_secs(60)).await;
        let _ = timeout(Duration::from_secs(10), simulation.process("a", waits)).await;
        rows.exists(("p", "x")).await.map(drop)
    };
    let found = explore(body).crashes(1).run();
    assert!(found.is_proof() && found.crashes() == 0, "{found}");
}
