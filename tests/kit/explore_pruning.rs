//! Writes to different rows commute until a run reads their Timestamps, in whatever way.

use azure_table::entity::SerdeEntity;
use azure_table::testing::{Exploration, Simulation, explore};
use azure_table::{DateTime, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_tests::entities::Valued;
use futures::future::join;
use serde::{Deserialize, Serialize};

const ROWS: [&str; 2] = ["x", "y"];

/// The rows `x` and `y`, as programs read them that want to know their Timestamps.
#[derive(TableEntity)]
struct Dated {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    #[table(timestamp)]
    at: Option<DateTime>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    partition_key: String,
    row_key: String,
    #[serde(skip_serializing)]
    timestamp: DateTime,
}

/// Explores two tasks that insert a row each. `is_x_first` then decides which row was first.
fn race<F: AsyncFn(&Simulation, &TableClient<Valued<i64>>) -> Result<bool>>(is_x_first: F) -> Exploration {
    let body = async |simulation: Simulation| -> Result<()> {
        let marks = simulation.table::<Valued<i64>>("Rows");
        let insert = async |task: usize| {
            let own = simulation.client(&format!("t{task}")).table::<Valued<i64>>("Rows")?;
            own.insert(&Valued::new("p", ROWS[task], 0_i64)).await
        };
        let (x, y) = join(insert(0), insert(1)).await;
        x.and(y)?;
        assert!(is_x_first(&simulation, &marks).await?, "y was first");
        Ok(())
    };
    explore(body).isolated().run()
}

#[test]
fn order_of_two_writes_is_found_by_each_way_to_read_timestamps() {
    type Way = (&'static str, fn() -> Exploration);
    let ways: [Way; 8] = [
        ("a dynamic entity", || {
            race(async |simulation, _| {
                let rows = simulation.service().dynamic_table("Rows")?.query().all().await?;
                Ok(rows[0].timestamp < rows[1].timestamp)
            })
        }),
        ("versioned reads of each row", || {
            race(async |_, marks| {
                let x = marks.get(("p", "x")).versioned().await?.unwrap();
                let y = marks.get(("p", "y")).versioned().await?.unwrap();
                Ok(x.timestamp < y.timestamp)
            })
        }),
        ("a field", || {
            race(async |simulation, _| {
                let rows = simulation.service().table::<Dated>("Rows")?.query().all().await?;
                Ok(rows[0].at < rows[1].at)
            })
        }),
        ("a selected column", || {
            race(async |simulation, _| {
                let rows = simulation.service().table::<Dated>("Rows")?;
                let times = rows.query().select((Dated::AT,)).all().await?;
                Ok(times[0] < times[1])
            })
        }),
        ("a serde struct", || {
            race(async |simulation, _| {
                let rows = simulation
                    .service()
                    .table::<SerdeEntity<Record>>("Rows")?
                    .query()
                    .all()
                    .await?;
                Ok(rows[0].timestamp < rows[1].timestamp)
            })
        }),
        ("a client of the emulator, whose requests are not ordered", || {
            race(async |simulation, _| {
                let beside = TableServiceClient::from_transport(simulation.emulator().clone());
                let rows = beside.dynamic_table("Rows")?.query().all().await?;
                Ok(rows[0].timestamp < rows[1].timestamp)
            })
        }),
        ("a filter", || {
            race(async |simulation, marks| {
                let y = marks.get(("p", "y")).versioned().await?.unwrap();
                let rows = simulation.service().table::<Dated>("Rows")?;
                Ok(rows.query().filter(Dated::AT.lt(y.timestamp)).count().await? == 1)
            })
        }),
        ("a task's own reading", || {
            let body = async |simulation: Simulation| -> Result<()> {
                let _ = simulation.table::<Valued<i64>>("Rows");
                let write = async |task: usize| {
                    let own = simulation.client(&format!("t{task}")).table::<Valued<i64>>("Rows")?;
                    own.insert(&Valued::new("p", ROWS[task], 0_i64)).await?;
                    own.get(("p", ROWS[task])).versioned().await
                };
                let (x, y) = join(write(0), write(1)).await;
                assert!(x?.unwrap().timestamp < y?.unwrap().timestamp, "y was first");
                Ok(())
            };
            explore(body).isolated().run()
        }),
    ];
    for (way, explore) in ways {
        let found = explore();
        let failure = found.failure().unwrap_or_else(|| panic!("{way}: {found}"));
        assert!(failure.message().contains("y was first"), "{way}: {failure}");
        assert!(failure.schedule().starts_with("t1"), "{way}: {failure}");
    }
}

#[test]
fn writes_are_ordered_only_if_timestamps_of_two_are_read() {
    let orders = |found: Exploration| {
        assert!(found.is_proof(), "{found}");
        found.schedules()
    };
    assert_eq!(orders(race(async |_, _| Ok(true))), 1);
    let one = race(async |_, marks| Ok(marks.get(("p", "x")).versioned().await?.is_some()));
    assert_eq!(orders(one), 1);
    let both = race(async |_, marks| Ok(marks.query().versioned().all().await?.len() == 2));
    assert_eq!(orders(both), 2);
}
