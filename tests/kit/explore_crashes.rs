//! Explorations with processes that crash.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use azure_table::testing::{Exploration, Simulation, StopReason, explore};
use azure_table::{DynamicEntity, Guid, Result, TableClient, TableServiceClient};
use futures::future::join;
use tokio::time::sleep;

use super::panic_of;

async fn write(rows: &TableClient<DynamicEntity>, row: &str) -> Result<()> {
    rows.insert_or_replace(&DynamicEntity::new("p", row)).await.map(drop)
}

/// Returns the RowKeys of all rows.
async fn stored(rows: &TableClient<DynamicEntity>) -> Result<Vec<String>> {
    let rows = rows.query().partition("p").all().await?;
    Ok(rows.iter().map(|row| row.row_key.clone()).collect())
}

/// A process writes one row, named by its life, and the body reads all rows. Returns what it read in all runs.
fn lives(crashes: usize) -> (BTreeSet<Vec<String>>, Exploration) {
    let seen = RefCell::new(BTreeSet::new());
    let found = explore(async |simulation: Simulation| -> Result<()> {
        let (rows, life) = (simulation.table::<DynamicEntity>("Rows"), Cell::new(0));
        let live = async |service: TableServiceClient| {
            life.set(life.get() + 1);
            write(&service.table("Rows")?, &format!("life {}", life.get())).await
        };
        simulation.process("writer", live).await?;
        let stored = stored(&rows).await?;
        seen.borrow_mut().insert(stored);
        Ok(())
    });
    let found = found.crashes(crashes).run();
    (seen.into_inner(), found)
}

#[test]
fn process_crashes_before_and_after_its_request_is_executed() {
    let (seen, found) = lives(0);
    assert_eq!((seen.len(), found.schedules(), found.crashes()), (1, 1, 0));

    let (seen, found) = lives(1);
    let expected = [vec!["life 1"], vec!["life 1", "life 2"], vec!["life 2"]];
    assert_eq!(
        seen,
        expected
            .map(|rows| rows.into_iter().map(str::to_owned).collect())
            .into()
    );
    // No crash; after the write; and with the write in flight, which never arrives, or before or after that of life 2.
    assert!(found.is_proof());
    assert_eq!((found.schedules(), found.crashes(), found.late_writes()), (5, 4, 2));
    assert!(
        found.to_string().contains(" requests, 4 crashes, 2 late writes, "),
        "{found}"
    );

    let (seen, _) = lives(2);
    assert_eq!(
        seen.len(),
        7,
        "any rows of three lives, of which the last has written its own: {seen:?}"
    );
}

#[test]
fn crash_is_a_line_of_the_story_and_of_the_replay() {
    async fn store(service: TableServiceClient) -> Result<()> {
        let rows = service.table("Rows")?;
        if !rows.exists(("p", "file")).await? {
            write(&rows, "file").await?;
            write(&rows, "owner").await?;
        }
        Ok(())
    }
    let body = async |simulation: Simulation| -> Result<()> {
        let rows = simulation.table::<DynamicEntity>("Rows");
        simulation.process("writer", store).await?;
        assert!(rows.exists(("p", "owner")).await?, "no owner");
        Ok(())
    };
    let found = explore(body).isolated().crashes(1).run();
    let failure = found.failure().unwrap();
    assert!(failure.message().starts_with("no owner"), "{failure}");
    assert_eq!((failure.crashes(), failure.faults()), (1, 0));
    let story = failure.story();
    let crashed = "\n   3  writer  PUT Rows('p','owner')                       in flight, its process crashes\n";
    assert!(story.contains(crashed), "{story}");
    assert_eq!(failure.schedule(), "writer*2 writer:crash writer main");

    for schedule in [failure.schedule(), "writer writer:crash-after writer main"] {
        let again = explore(body).isolated().replay(schedule).run();
        assert_eq!(again.failure().map(|failure| failure.schedule()), Some(schedule));
    }
    let late = "writer*2 writer:crash writer:late writer main";
    assert!(explore(body).replay(late).run().failure().is_none());
}

/// The row that a spawned task would have written after the crash.
#[test]
fn nothing_of_a_crashed_process_is_sent() {
    let seen = RefCell::new(Vec::new());
    let found = explore(async |simulation: Simulation| -> Result<()> {
        let (rows, life, ids) = (
            simulation.table::<DynamicEntity>("Rows"),
            Cell::new(0),
            RefCell::default(),
        );
        let live = async |service: TableServiceClient| -> Result<()> {
            life.set(life.get() + 1);
            let ids: &RefCell<Vec<Guid>> = &ids;
            ids.borrow_mut().push(Guid::random());
            let (rows, name) = (service.table("Rows")?, format!("spawned {}", life.get()));
            let (own, joined) = (rows.clone(), format!("joined {}", life.get()));
            let spawned = tokio::spawn(async move {
                sleep(Duration::from_secs(1)).await;
                write(&own, &name).await
            });
            join(write(&rows, &joined), sleep(Duration::from_secs(9))).await.0?;
            spawned.await.unwrap()
        };
        simulation.process("a", live).await?;
        sleep(Duration::from_secs(60)).await;
        assert!(
            ids.borrow().windows(2).all(|ids| ids[0] != ids[1]),
            "a life has ids of its own"
        );
        let stored = stored(&rows).await?;
        seen.borrow_mut().push(stored);
        Ok(())
    });
    let found = found.replay("a:crash").run();
    assert!(found.failure().is_none(), "{found}");
    assert_eq!(seen.into_inner(), [["joined 2", "spawned 2"]]);
}

#[test]
fn failure_has_the_fewest_faults_and_crashes() {
    let body = async |simulation: Simulation| -> Result<()> {
        let rows = simulation.table::<DynamicEntity>("Rows");
        let lives = Cell::new(0);
        let live = async |service: TableServiceClient| {
            lives.set(lives.get() + 1);
            write(&service.table("Rows")?, "r").await
        };
        let _ = simulation.process("a", live).await;
        assert!(
            lives.get() < 2 && rows.exists(("p", "r")).await.is_ok(),
            "a second life"
        );
        Ok(())
    };
    let found = explore(body).isolated().faults(1).crashes(1).run();
    let failure = found.failure().unwrap();
    assert_eq!((failure.faults(), failure.crashes()), (0, 1), "{failure}");
}

#[test]
fn process_that_has_returned_crashes_no_more() {
    let body = async |simulation: Simulation| -> Result<()> {
        let rows = simulation.table::<DynamicEntity>("Rows");
        let live = async |service: TableServiceClient| -> Result<()> {
            let rows = service.table::<DynamicEntity>("Rows")?;
            drop(tokio::spawn(async move { write(&rows, "left").await }));
            Ok(())
        };
        simulation.process("a", live).await?;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(stored(&rows).await?, ["left"]);
        Ok(())
    };
    let found = explore(body).crashes(1).run();
    assert!(found.is_proof() && found.crashes() == 0, "{found}");
}

#[test]
fn two_processes_crash_independently() {
    let body = async |simulation: Simulation| -> Result<()> {
        let rows = simulation.table::<DynamicEntity>("Rows");
        let live =
            |row: &'static str| async move |service: TableServiceClient| write(&service.table("Rows")?, row).await;
        let (a, b) = join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await;
        a.and(b)?;
        assert_eq!(stored(&rows).await?, ["a", "b"]);
        Ok(())
    };
    let one = explore(body).isolated().crashes(1).run();
    let two = explore(body).isolated().crashes(2).run();
    assert!(one.is_proof() && two.is_proof(), "{one}\n{two}");
    assert!(one.schedules() < two.schedules() && two.crashes() > 2 * one.crashes() / 2);
}

#[test]
fn second_process_of_one_name_is_rejected_while_the_first_runs() {
    let body = async |simulation: Simulation| -> Result<()> {
        let _ = simulation.table::<DynamicEntity>("Rows");
        let live =
            |row: &'static str| async move |service: TableServiceClient| write(&service.table("Rows")?, row).await;
        simulation.process("a", live("a")).await?;
        simulation.process("a", live("b")).await?;
        let (a, b) = join(simulation.process("a", live("c")), simulation.process("a", live("d"))).await;
        a.and(b)
    };
    let found = explore(body).isolated().crashes(1).run().to_string();
    assert!(
        found.contains("two processes of an exploration are called \"a\""),
        "{found}"
    );
}

#[test]
fn crash_without_late_writes_is_no_proof() {
    let body = async |simulation: Simulation| -> Result<()> {
        let _ = simulation.table::<DynamicEntity>("Rows");
        simulation
            .process("a", async |service| write(&service.table("Rows")?, "r").await)
            .await
    };
    let found = explore(body).crashes(1).late(0).run();
    assert_eq!(found.stop_reason(), Some(StopReason::NoLateWrites));
    let named = explore(async |simulation: Simulation| simulation.process("main", async |_| ()).await);
    assert!(named.run().to_string().contains("other than `main` and `clock`"));
    let unread = panic_of(|| drop(explore(body).replay("a:crashed").run()));
    assert!(unread.contains("`crash`, `crash-after`"), "{unread}");
}

#[azure_table::test(explore(isolated, crashes = 1))]
async fn attribute_takes_crashes(simulation: Simulation, rows: TableClient<DynamicEntity>) -> Result<()> {
    let name = rows.name().to_string();
    simulation
        .process("a", async |service| write(&service.table(&name)?, "r").await)
        .await?;
    assert_eq!(stored(&rows).await?, ["r"]);
    Ok(())
}
