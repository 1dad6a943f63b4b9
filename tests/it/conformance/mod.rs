//! Runs the conformance suite of `azure_table_tests` on every backend.

use std::path::Path;

use azure_table::testing::{Replay, mask_guids, mask_times};
use azure_table_tests::Backend;
use azure_table_tests::{
    batches, bulk, bulk_stress, entities, errors, filters, keys, queries, sas, service, tables, via_batch,
};

/// Defines a module with one test per function, on a backend; ignored with the reason if that backend is missing.
macro_rules! on {
    ($name:ident, $backend:expr; $($module:ident: $($test:ident),+;)+) => {
        mod $name {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                $module::$test(&$backend).await;
            })+)+
        }
    };
    (if $there:ident, or $reason:literal: $name:ident, $backend:expr; $($module:ident: $($test:ident),+;)+) => {
        mod $name {
            use super::*;
            $($(#[tokio::test]
            #[cfg_attr(not($there), ignore = $reason)]
            async fn $test() {
                $module::$test(&$backend).await;
            })+)+
        }
    };
}

/// [`on`] the Azurite of the environment.
macro_rules! on_azurite {
    ($($rest:tt)+) => { on! { if azurite, or "needs Azurite: start the tests with tests/external/azurite/run": $($rest)+ } };
}

/// The same, with tokens of Entra ID.
#[cfg(feature = "full")]
macro_rules! on_azurite_with_token {
    ($($rest:tt)+) => {
        on! { if azurite_oauth, or "needs Azurite with tokens: start the tests with tests/external/azurite/run --oauth": $($rest)+ }
    };
}

/// [`on`] the live account of the environment.
macro_rules! on_live_account {
    ($($rest:tt)+) => { on! { if live_account, or "needs a live account: set AZURE_TABLE_TEST_LIVE": $($rest)+ } };
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
        on! { emulator_over_reqwest, Backend::emulator_over_reqwest().await; $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        replayed! { $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on_azurite! { azurite, Backend::azurite(); $($all)+ $($whole)+ $($key)+ $($not_live)+ $($batches)+ }
        on_live_account! { live, Backend::live(); $($all)+ $($whole)+ $($key)+ $($batches)+ }

        on! { emulator_with_account_sas, Backend::emulator().through_account_sas(); $($all)+ $($whole)+ $($batches)+ }
        on! { emulator_with_shared_key_lite, Backend::emulator().through_shared_key_lite(); $($all)+ $($whole)+ $($batches)+ }
        on_azurite! { azurite_with_account_sas, Backend::azurite().through_account_sas(); $($all)+ $($whole)+ $($batches)+ }
        on_azurite! { azurite_with_shared_key_lite, Backend::azurite().through_shared_key_lite(); $($all)+ $($whole)+ $($batches)+ }
        on! { emulator_with_table_sas, Backend::emulator().through_table_sas(); $($all)+ $($batches)+ }
        // Azurite rejects every batch with a table's signature: the table is not in the address that it checks.
        on_azurite! { azurite_with_table_sas, Backend::azurite().through_table_sas(); $($all)+ }
        #[cfg(feature = "full")]
        on_azurite_with_token! { azurite_with_token, Backend::azurite_with_token(); $($all)+ $($whole)+ $($batches)+ }
    };
}

suite! {
    by_all_credentials {
        entities:
            every_type_is_read_as_written,
            special_doubles_are_read_as_written,
            none_is_an_absent_property,
            a_missing_entity_is_none,
            an_insert_does_not_overwrite,
            upserts_insert_and_change,
            stale_etag_is_rejected,
            etag_field_is_the_condition,
            operations_as_values_equal_the_methods;
        keys:
            forbidden_keys_are_rejected_before_a_request;
        queries:
            every_type_is_comparable,
            an_absent_property_matches_nothing,
            rows_are_in_key_order,
            queried_rows_are_versioned;
    }
    by_all_credentials_of_a_whole_account {
        tables:
            a_table_is_created_once,
            a_deleted_table_is_not_found,
            tables_are_listed,
            a_missing_table_is_not_a_missing_row;
        service:
            table_is_created_found_and_deleted,
            concurrent_creations_create_a_table_once,
            tables_are_ensured_below_a_prefix,
            write_creates_its_table_on_request;
    }
    by_the_key_alone {
        service:
            access_policies_are_changed_one_by_one,
            properties_are_set_and_read;
        errors:
            a_wrong_key_is_unauthenticated;
        bulk_stress:
            random_bulks_have_the_result_of_single_writes;
        sas:
            table_sas_allows_only_its_permissions,
            expired_or_foreign_sas_is_rejected;
    }
    by_the_key_alone_and_not_live {
        service:
            // On a live account it takes up to 30 s until a policy is effective, and until it no longer is.
            policy_grants_and_revokes_permissions,
            // Only accounts with a readable secondary have statistics.
            statistics_are_those_of_the_secondary;
    }
    with_batches {
        keys:
            awkward_keys_are_addressed_correctly;
        filters:
            filters_of_the_vectors;
        queries:
            filters_select_the_matching_rows,
            pages_are_joined_without_loss,
            more_than_a_page_is_streamed,
            sets_of_keys_are_queried_in_parts,
            continuation_is_not_a_snapshot,
            a_table_deleted_between_pages_is_an_error;
        batches:
            a_batch_mixes_operations_and_types,
            failed_batch_applies_nothing,
            failing_first_operation_is_named,
            rules_of_batches_are_checked_before_a_request,
            large_batches_are_measured_exactly,
            inserts_are_echoed_on_request,
            a_retrieve_is_alone_in_its_batch;
        via_batch:
            awkward_keys_work_through_a_batch,
            rejections_equal_those_of_single_operations;
        bulk:
            rows_are_written_by_a_query,
            failures_are_reported_row_by_row;
    }
}
