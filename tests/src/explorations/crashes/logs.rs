//! The flush of the example `heartbeat_and_logs`, in processes that crash.

// The rows and the flush themselves, not a copy.
#[path = "../../../../examples/heartbeat_and_logs/rows.rs"]
mod rows;

use std::cell::Cell;
use std::time::Duration;

use azure_table::key::Bucket;
use azure_table::{DateTime, Result, TableServiceClient};
use azure_table_patterns::TablePerPeriod;

use self::rows::{Heartbeat, Line, write};
use super::Case;
use crate::explorations::patterns::{create_tables, stored_in, try_both};
use crate::promises::Place;

pub(super) const ALL: [Case; 1] = [case!("example `heartbeat_and_logs`: two instances flush", flush).only_crashes(2)];

/// Two seconds before a day ends.
const START: DateTime = DateTime::from_unix_seconds(1_799_971_198);
const SECOND: Duration = Duration::from_secs(1);

fn logs(service: &TableServiceClient) -> TablePerPeriod<Line> {
    TablePerPeriod::daily(service, "Logs")
}

/// A flush has the lines of a day or none, and no heartbeat is later than its instance. An instance that begins again
/// has lost the lines in its memory.
async fn flush(place: Place) -> Result<()> {
    create_tables(&place, &["Heartbeats"]);
    let lives = [Cell::new(0), Cell::new(0)];
    let live = |instance: u16| {
        let life = &lives[usize::from(instance)];
        async move |service: TableServiceClient| -> Result<()> {
            life.set(life.get() + 1);
            let start = START + SECOND * 60 * (life.get() - 1);
            let bucket = Bucket::random();
            let line = |second| Line {
                component: "web".to_owned(),
                instance,
                bucket,
                at: start + SECOND * second,
                is_error: false,
                text: format!("life {}", life.get()),
            };
            write(&logs(&service), (0..4).map(line).collect()).await.unwrap();
            let heartbeat = Heartbeat {
                component: "web".to_owned(),
                instance,
                at: start + SECOND * 4,
            };
            let heartbeats = service.table("Heartbeats")?;
            heartbeats.insert_or_replace(&heartbeat).await.map(drop)
        }
    };
    try_both(&place, live(0), live(1)).await?;
    let beats: Vec<Heartbeat> = stored_in(&place, "Heartbeats", "").await;
    assert_eq!(beats.len(), 2);
    for beat in &beats {
        let last = lives[usize::from(beat.instance)].get();
        assert!(
            beat.at <= START + SECOND * (60 * (last - 1) + 4),
            "a heartbeat of a dead instance"
        );
    }
    for day in [START, START + SECOND * 2] {
        let lines: Vec<Line> = logs(&place.behind()).at(day)?.query().allow_table_scan().all().await?;
        for (instance, life) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            let text = format!("life {life}");
            let of_flush = lines
                .iter()
                .filter(|line| line.instance == instance && line.text == text);
            let count = of_flush.count();
            let is_of_last = lives[usize::from(instance)].get() == life;
            // The second life begins after midnight.
            let all = if life == 1 {
                2
            } else if day == START {
                0
            } else {
                4
            };
            assert!(count == all || count == 0 && !is_of_last, "{count} lines of a flush");
        }
    }
    Ok(())
}
