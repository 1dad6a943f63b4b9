//! The claims of durable execution. Claims of histories are in `histories.rs`, of purges in `purges.rs`, of queues in
//! `queues.rs`; `linearizability.rs` judges the histories of a lease.

pub(crate) mod histories;
pub(crate) mod linearizability;
pub(crate) mod purges;
pub(crate) mod queues;

use azure_table::{DynamicEntity, Result};
use azure_table_tests::promises::Place;

use crate::systems::durable_execution::{Event, Histories, History, Instance, Step};

/// The ID of the instance.
const ID: &str = "instance";

fn histories(place: &Place, name: &str) -> Histories {
    Histories::new(&place.table::<DynamicEntity>(name))
}

/// Returns the histories without gate and faults.
fn histories_behind(place: &Place) -> Histories {
    Histories::new(&place.table_behind::<DynamicEntity>())
}

/// Returns the events of a checkpoint that a worker of this name writes.
fn steps(name: &str, number: usize) -> Vec<Step> {
    (0..number).map(|_| Step::new("TaskScheduled", name)).collect()
}

/// Returns the stored header and events.
async fn stored(place: &Place) -> Option<(Instance, Vec<Event>)> {
    let open = histories_behind(place).open(ID).await.unwrap();
    open.map(|(history, events)| (history.instance().clone(), events))
}

/// Returns the payloads of events.
fn payloads(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.payload.as_str()).collect()
}

/// Returns `true` if the checkpoint was applied, and `false` if another worker was first.
fn is_first(checkpoint: Result<Option<History>>) -> Result<bool> {
    checkpoint.map(|history| history.is_some())
}

/// Checks the result of a checkpoint against what is stored: `Ok(false)` only if another worker was first, and an
/// error only leaves a checkpoint that it says may be there.
fn check_result(name: &str, result: &Result<bool>, is_own: bool, is_other: bool) {
    match result {
        Ok(true) => assert!(is_own, "the checkpoint of {name} is lost"),
        Ok(false) => assert!(is_other && !is_own, "{name}: no other worker was first, own: {is_own}"),
        Err(e) => assert!(e.may_have_applied() || !is_own, "{name}: {e}"),
    }
}
