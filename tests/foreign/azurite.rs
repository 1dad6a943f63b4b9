//! The conformance suite on Azurite, with tokens of Entra ID.

use std::time::Duration;

use azure_table::{DateTime, EntraCredential};
use azure_table_tests::{
    Backend, batches, bulk, filters, keys, on, queries, service, single_entities, tables, via_batch,
};

use crate::tokens::FakeTokens;

fn backend() -> Backend {
    Backend::azurite_with_token(EntraCredential::new(FakeTokens::default().source()))
}

macro_rules! suite {
    (
        by_all_credentials { $($all:tt)+ }
        by_all_credentials_of_a_whole_account { $($whole:tt)+ }
        by_the_key_alone { $($key:tt)+ }
        by_the_key_alone_and_not_live { $($not_live:tt)+ }
        with_batches { $($batches:tt)+ }
    ) => {
        on! {
            if azurite_oauth, or "needs Azurite with tokens: start the tests with tests/external/azurite/run --oauth":
            with_token, backend(); $($all)+ $($whole)+ $($batches)+
        }
    };
}

azure_table_tests::conformance_suite!(suite);

/// The row `user_delegation_key` of the guide `accounts`.
#[tokio::test]
#[cfg_attr(
    not(azurite_oauth),
    ignore = "needs Azurite with tokens: start the tests with tests/external/azurite/run --oauth"
)]
async fn user_delegation_key_is_unknown_with_token() {
    let expiry = DateTime::now() + Duration::from_secs(3_600);
    let error = backend().service().user_delegation_key(expiry).await.unwrap_err();
    // Not 403: Azurite accepts the token, but does not know the operation.
    assert_eq!(error.status(), Some(400), "{error}");
}
