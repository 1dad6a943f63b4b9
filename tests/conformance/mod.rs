//! Runs the conformance suite of `azure_table_tests` on every backend.

use azure_table_tests::Backend;
use azure_table_tests::{batches, entities, errors, keys, queries, sas, service, tables};

/// One test per backend for every function of the suite.
macro_rules! suite {
    ($($module:ident: $($test:ident),+;)+) => {
        mod emulator {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                $module::$test(&Backend::emulator()).await;
            })+)+
        }

        mod emulator_over_http {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                $module::$test(&Backend::emulator_over_http().await).await;
            })+)+
        }

        mod azurite {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                if let Some(backend) = Backend::azurite() {
                    $module::$test(&backend).await;
                }
            })+)+
        }

        mod live {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                if let Some(backend) = Backend::live() {
                    $module::$test(&backend).await;
                }
            })+)+
        }
    };
}

/// What does not itself make signatures, once more with a signature in place of the key.
macro_rules! with_account_sas {
    ($($module:ident: $($test:ident),+;)+) => {
        mod emulator_with_account_sas {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                $module::$test(&Backend::emulator().through_account_sas()).await;
            })+)+
        }

        mod azurite_with_account_sas {
            use super::*;
            $($(#[tokio::test]
            async fn $test() {
                if let Some(backend) = Backend::azurite() {
                    $module::$test(&backend.through_account_sas()).await;
                }
            })+)+
        }
    };
}

with_account_sas! {
    tables: a_table_is_created_once, a_deleted_table_is_not_found, tables_are_listed;
    entities: every_type_survives, upserts_insert_and_change, a_stale_version_is_refused, operations_are_values;
    keys: awkward_keys_are_addressed_exactly;
    queries: filters_select, pages_join_without_loss;
    batches: a_batch_mixes_operations_and_types, a_failed_batch_applies_nothing;
}

suite! {
    tables:
        a_table_is_created_once,
        a_deleted_table_is_not_found,
        tables_are_listed,
        a_missing_table_is_not_a_missing_row;
    entities:
        every_type_survives,
        special_doubles_survive,
        none_is_absence,
        a_missing_entity_is_none,
        an_insert_does_not_overwrite,
        upserts_insert_and_change,
        a_stale_version_is_refused,
        an_etag_field_is_the_condition,
        operations_are_values;
    keys:
        awkward_keys_are_addressed_exactly,
        forbidden_keys_are_refused_here;
    queries:
        filters_select,
        every_type_is_comparable,
        an_absent_property_matches_nothing,
        rows_come_in_key_order,
        pages_join_without_loss,
        more_than_a_page_is_streamed,
        queried_rows_are_versioned;
    batches:
        a_batch_mixes_operations_and_types,
        a_failed_batch_applies_nothing,
        the_first_operation_is_named_as_well,
        the_rules_of_batches_are_checked_here,
        large_batches_are_measured_exactly;
    service:
        a_table_comes_and_goes,
        a_table_is_made_once_by_many,
        tables_are_ensured_below_a_prefix,
        a_write_makes_its_table_on_request,
        access_policies_are_changed_one_by_one,
        a_policy_gives_and_takes_rights,
        properties_are_set_and_read,
        statistics_come_from_the_second_region;
    errors:
        a_wrong_key_is_unauthenticated;
    sas:
        a_table_sas_allows_what_it_says,
        a_worthless_sas_is_refused;
}
