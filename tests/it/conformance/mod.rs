//! Runs the conformance suite of `azure_table_tests` on every backend.

use std::path::Path;

use azure_table::testing::{Replay, mask_guids, mask_times};
use azure_table_tests::{Backend, Network, on};
use azure_table_tests::{
    batches, bulk, bulk_stress, errors, filters, keys, queries, sas, service, single_entities, tables, via_batch,
};

/// [`on`] the Azurite of the environment.
macro_rules! on_azurite {
    ($($rest:tt)+) => { on! { if azurite, or "needs Azurite: start the tests with tests/external/azurite/run": $($rest)+ } };
}

/// Defines a module with one test per function, twice: on an emulator that is recorded, and on the recording.
macro_rules! replayed {
    ($($module:ident: $($test:ident),+;)+) => {
        mod replayed {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("conformance-", stringify!($test), ".jsonl"));
                $module::$test(&Backend::recorded(&file)).await;
                let replay = Replay::open(&file).unwrap().in_any_order().masking(mask_times).masking(mask_guids);
                $module::$test(&Backend::replayed(&replay)).await;
                replay.finish();
            })+)+
        }
    };
}

/// One test per backend and credential for every function of the suite.
macro_rules! suite {
    (
        by_all_credentials { $($all:tt)+ }
        by_all_credentials_of_a_whole_account { $($whole:tt)+ }
        by_the_key_alone { $($key:tt)+ }
        by_the_key_alone_and_not_live { $($not_live:tt)+ }
        with_batches { $($batches:tt)+ }
    ) => {
        on! { emulator, Backend::emulator(); $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on! { emulator_over_http, Backend::emulator_over_http().await; $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on! { emulator_over_reqwest, Backend::emulator_over(Network::Reqwest).await; $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on! { emulator_over_azure_core, Backend::emulator_over(Network::AzureCore).await; $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on! { emulator_over_azure_core_shared, Backend::emulator_over(Network::AzureCoreShared).await; $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        replayed! { $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on_azurite! { azurite, Backend::azurite(); $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }

        on! { emulator_with_account_sas, Backend::emulator().through_account_sas(); $($all)+ $($whole)+ $($batches)+ }
        on! { emulator_with_shared_key_lite, Backend::emulator().through_shared_key_lite(); $($all)+ $($whole)+ $($batches)+ }
        on_azurite! { azurite_with_account_sas, Backend::azurite().through_account_sas(); $($all)+ $($whole)+ $($batches)+ }
        on_azurite! { azurite_with_shared_key_lite, Backend::azurite().through_shared_key_lite(); $($all)+ $($whole)+ $($batches)+ }
        on! { emulator_with_table_sas, Backend::emulator().through_table_sas(); $($all)+ $($batches)+ }
        // Azurite rejects every batch with a table's signature: the table is not in the address that it checks.
        on_azurite! { azurite_with_table_sas, Backend::azurite().through_table_sas(); $($all)+ }
    };
}

azure_table_tests::conformance_suite!(suite);
