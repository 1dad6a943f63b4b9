//! The test utilities: the service of a test, scripts, spies, recordings. Faults are in `faults/kit.rs`.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Declares generations of an entity, which differ in their indexes.
macro_rules! people {
    ($($(#[$doc:meta])* $name:ident: $([$($index:tt)+])+;)*) => {$(
        $(#[$doc])*
        #[derive(azure_table::TableEntity, Clone, Debug, PartialEq)]
        #[table($(index($($index)+)),+)]
        struct $name {
            #[table(partition_key)]
            tenant: String,
            #[table(row_key)]
            id: u32,
            mail: String,
            team: String,
            name: String,
        }

        impl crate::Generation for $name {
            fn new(id: u32, mail: &str, team: &str, name: &str) -> Self {
                let [tenant, mail, team, name] = ["t", mail, team, name].map(str::to_owned);
                Self { tenant, id, mail, team, name }
            }
        }
    )*};
}

mod attribute;
mod changes;
mod explorations;
mod explore;
mod explore_complete;
mod explore_crashes;
mod explore_deaths;
mod explore_pruning;
mod grouped;
mod index_calls;
mod index_declarations;
mod index_deployment;
mod index_guarantees;
mod index_histories;
mod index_orders;
mod index_races;
mod index_rules;
mod indexes;
mod patterns;
mod recordings;
mod scripts;
mod secrets;
mod setters;
mod shared_partitions;
mod snapshots;
mod spies;

/// A generation of `people!`.
trait Generation {
    fn new(id: u32, mail: &str, team: &str, name: &str) -> Self;
}

/// Returns the message of a panic.
fn panic_of(code: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(code)).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}
