//! Grouped writes: alone, as with any handle, and several concurrently, with an outcome for each.

use azure_table::Error;
use futures::future::join_all;

use super::super::check::MAX_ATTEMPTS;
use super::super::operation::{Chosen, Claim, Entry, Given, Promise, Reported};
use super::bulk::any_writes;
use super::operation;
use super::writes;

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("grouped insert", &[], |given| alone("insert", given))
        .inserts()
        .paced(),
    Entry::new("grouped write", &[], |given| alone("execute", given)).paced(),
    Entry::new("grouped insert returning", &[], |given| {
        alone("insert returning", given)
    })
    .inserts()
    .paced(),
    Entry::new("grouped insert if absent", &[], |given| {
        alone("insert if absent", given)
    })
    .inserts()
    .paced(),
    Entry::new("grouped delete if exists", &[], |given| {
        alone("delete if exists", given)
    })
    .paced(),
    Entry::new("grouped modify", &[], |given| alone("modify", given))
        .calls(4 + MAX_ATTEMPTS)
        .paced(),
    Entry::new("grouped modify or insert", &[], |given| {
        alone("modify or insert", given)
    })
    .calls(4 + MAX_ATTEMPTS)
    .paced(),
    Entry::new(
        "grouped writes",
        &["TableClient::flush", "TableClient::close"],
        |given| {
            let writes = any_writes(given);
            Chosen::new(Promise::Each(writes.clone()), |on| async move {
                let table = on.table.grouped();
                let calls = writes.iter().map(|write| {
                    let call = table.execute(operation(write)).with(&on.call);
                    async move { claim(call.await.map(|result| result.etag().cloned())) }
                });
                let claims = join_all(calls).await;
                if fastrand::bool() {
                    table.flush().await
                } else {
                    table.close().await
                }
                Reported::Each(claims)
            })
        },
    )
    .bulk(),
];

/// Returns another entry, with a grouped handle.
fn alone(name: &str, given: &Given<'_>) -> Chosen {
    let entry = writes::ENTRIES.iter().find(|entry| entry.name == name).unwrap();
    let Chosen { promise, run } = (entry.choose)(given);
    Chosen::new(promise, |mut on| {
        on.table = on.table.grouped();
        let table = on.table.clone();
        let reported = run(on);
        async move {
            let reported = reported.await;
            table.flush().await;
            reported
        }
    })
}

fn claim(result: Result<Option<azure_table::ETag>, Error>) -> Claim {
    match result {
        Ok(etag) => Claim::Applied(etag),
        Err(e) => Claim::failed(&e),
    }
}
