//! Responses to entity group transactions.

use azure_table::{CallOptions, DynamicEntity, ErrorKind, NoRetry};
use azure_table_tests::errors::kind_in_doubt;
use azure_table_tests::untrusted::batch::{BATCHES, LONE, PIECES, check_one_operation, check_two_operations, commit};
use azure_table_tests::untrusted::{is_presentable, on_runtime, responded, response, things};
use proptest::prelude::*;

use crate::document::document;

proptest! {
    #[test]
    fn batch_is_written_or_rejected_or_in_doubt(response in document(BATCHES, PIECES)) {
        check_two_operations(&response.0);
    }

    #[test]
    fn single_operation_is_applied_or_rejected_or_in_doubt(response in document(LONE, PIECES)) {
        check_one_operation(&response.0);
    }

    #[test]
    fn boundary_can_be_any_text(content_type in "[ -~]{0,40}", body in document(BATCHES, PIECES)) {
        let service = responded([response(202, &[("content-type", &format!("multipart/mixed;boundary{content_type}"))], &body.0)]);
        let mut batch = things(&service).batch();
        batch.insert(&DynamicEntity::new("p", "1")).unwrap();
        if let Err(error) = on_runtime(async { batch.submit().with(&CallOptions::new().retry(NoRetry)).await }) {
            is_presentable(&error).map_err(TestCaseError::fail)?;
        }
    }
}

#[test]
fn samples_are_written_or_rejected() {
    let results: Vec<_> = BATCHES.iter().map(|sample| commit(sample.as_bytes())).collect();
    assert_eq!(results[0].as_ref().unwrap(), &[204, 204]);
    assert_eq!(results[1].as_ref().unwrap(), &[204, 201]);
    assert_eq!(results[2].as_ref().unwrap_err().batch_index(), Some(1));
}

/// The index must name an operation of the batch.
#[test]
fn index_without_an_operation_is_ignored() {
    let body = BATCHES[2].replacen("1:The", "3021:The", 1);
    assert_eq!(commit(body.as_bytes()).unwrap_err().batch_index(), None);
}

/// A failed part is the response, and a transient failure is not taken for another.
#[test]
fn status_of_a_failed_part_is_reported() {
    for status in [408, 429, 500, 503, 504] {
        let body = BATCHES[0].replacen("204", &status.to_string(), 1);
        let error = commit(body.as_bytes()).unwrap_err();
        assert_eq!(error.last_failure().unwrap_or(error).status(), Some(status));
    }
}

/// A redirect or an interim response is not a success, and a status beyond HTTP's is invalid.
#[test]
fn part_without_a_clear_status_leaves_the_batch_in_doubt() {
    for status in ["0", "100", "302", "600", "65535"] {
        let body = BATCHES[0].replacen("204", status, 1);
        let error = commit(body.as_bytes()).unwrap_err();
        assert_eq!(kind_in_doubt(&error), Some(ErrorKind::InvalidResponse), "{status}");
    }
}
