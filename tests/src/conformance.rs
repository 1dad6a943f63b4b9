//! The list of the conformance suite, by the credentials that its functions need.

/// Calls a macro with all functions of the suite, in groups.
///
/// | group | credentials |
/// |---|---|
/// | `by_all_credentials` | any |
/// | `by_all_credentials_of_a_whole_account` | any that creates tables |
/// | `by_the_key_alone` | the account key |
/// | `by_the_key_alone_and_not_live` | the account key, not on a live account |
/// | `with_batches` | any, but Azurite rejects batches with a table's signature |
#[macro_export]
macro_rules! conformance_suite {
    ($suite:ident) => {
        $suite! {
            by_all_credentials {
                single_entities:
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
    };
}

/// Defines a module with one test per function, on a backend; ignored with the reason if that backend is missing.
#[macro_export]
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
