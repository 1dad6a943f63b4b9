//! The service of the histories against the emulator: each write in each state of its rows.

use azure_table::{DynamicEntity, Emulator, TableServiceClient};

use azure_table_tests::promises::replace_wall_clock;

use super::choices::Choices;
use super::fates::{Bounds, Clock};
use super::service::{KEYS, Row};
use super::trial::{client, paused};
use super::world::{Shared, World, wall_clock};
use super::writes::{BEFORE, Write};

/// What happened to a row after its ETag was read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Since {
    Unchanged,
    Overwritten,
    Deleted,
}
use Since::{Deleted, Overwritten, Unchanged};

/// The result of a write: its error, and the value of each row.
type Outcome = (Option<String>, [Option<String>; 2]);

fn error(ended: azure_table::Result<()>) -> Option<String> {
    let error = ended.err()?;
    Some(format!(
        "{:?} {:?} {:?} {:?}",
        error.kind(),
        error.status(),
        error.code(),
        error.batch_index()
    ))
}

async fn on_model(write: Write, clock: Clock, since: [Since; 2]) -> Outcome {
    let bounds = Bounds {
        attempts: 0,
        changes: 0,
        has_all_fates: false,
    };
    let shared = Shared::new(World::new((write, clock), bounds, Choices::default(), false));
    let etags = {
        let mut world = shared.lock();
        let mut etags = [None, None];
        for (row, since) in since.into_iter().enumerate() {
            world.store.put(row, Some(write.cells(BEFORE, 1)), (Some(0), false));
            etags[row] = world.store.rows[row].as_ref().map(|row| row.etag.clone());
            match since {
                Unchanged => {}
                Overwritten => world.store.put(row, Some(write.cells(50, 2)), (Some(0), false)),
                Deleted => world.store.put(row, None, (Some(0), false)),
            }
        }
        etags
    };
    let ended = write.run(&client(&shared, clock), etags).await;
    let value = |row: &Option<Row>| Some(row.as_ref()?.cells["n"].as_str()?.to_owned());
    (error(ended), shared.lock().store.rows.each_ref().map(value))
}

async fn on_emulator(write: Write, clock: Clock, since: [Since; 2]) -> Outcome {
    let emulator = if clock == Clock::Cosmos {
        Emulator::cosmos()
    } else {
        Emulator::new()
    };
    let service = TableServiceClient::from_transport(emulator);
    let rows = service.dynamic_table("Rows").unwrap();
    rows.create_table().await.unwrap();
    let mut etags = [None, None];
    for (row, since) in since.into_iter().enumerate() {
        let of = |n: i64| {
            let mut entity = DynamicEntity::new("p", KEYS[row]);
            entity.insert("n", n);
            entity
        };
        etags[row] = Some(rows.insert(&of(BEFORE)).await.unwrap().as_str().to_owned());
        match since {
            Unchanged => {}
            Overwritten => drop(rows.insert_or_replace(&of(50)).await.unwrap()),
            Deleted => rows.delete(("p", KEYS[row])).await.unwrap(),
        }
    }
    let ended = write.run(&service, etags).await;
    let mut values = [None, None];
    for (value, key) in values.iter_mut().zip(KEYS) {
        let stored = rows.get(("p", key)).await.unwrap();
        *value = stored.map(|row| row.property::<i64>("n").unwrap().to_string());
    }
    (error(ended), values)
}

#[test]
fn service_answers_as_the_emulator() {
    let (runtime, _clock) = (paused(), replace_wall_clock(wall_clock));
    let all = [Unchanged, Overwritten, Deleted];
    for write in Write::all() {
        for clock in [Clock::Right, Clock::Cosmos] {
            for since in all.into_iter().flat_map(|a| all.map(|b| [a, b])) {
                if write.steps.len() == 1 && since[1] != Unchanged {
                    continue;
                }
                let model = runtime.block_on(on_model(write, clock, since));
                let emulator = runtime.block_on(on_emulator(write, clock, since));
                assert_eq!(model, emulator, "{write} {clock:?} {since:?}");
            }
        }
    }
}
