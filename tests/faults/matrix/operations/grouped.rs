//! The writes of several callers in batches, with an outcome for each.

use azure_table_patterns::Grouped;
use futures::future::{join, join_all};

use super::super::operation::{Chosen, Claim, Entry, Promise, Reported};
use super::bulk::{any_writes, left_over};
use super::operation;

pub(super) const ENTRIES: &[Entry] = &[Entry::new("grouped writes", &[], |given| {
    let writes = any_writes(given);
    Chosen::new(Promise::Each(writes.clone()), |on| async move {
        let (group, driver) = Grouped::new(&on.table.with(&on.call));
        let calls = async move {
            let calls = writes.iter().map(|write| group.write(operation(write)));
            join_all(calls).await
        };
        let ((), outcomes) = join(driver, calls).await;
        let claims = outcomes.into_iter().map(|outcome| match outcome {
            Ok(etag) => Claim::Applied(etag),
            Err(e) => left_over(e.reason()),
        });
        Reported::Each(claims.collect())
    })
})
.bulk()];
