//! The decision table. Each row is a failed request, the recovery of its write and the next step.

use super::ErrorScope::{Any, Row};
use super::Recovery::{FailTogether as Together, RemoveFailed as Removing};
use super::RecoveryStep::{Fail, FailAndStop, Halve, Remove, SendAlone, Stop};
use super::*;

/// The columns: the recovery, the number of operations, the index that the service names, the scope of the error, the
/// doubt, the kind of the operations, the next step.
#[test]
fn failed_batch_has_the_next_step_of_the_table() {
    let (in_doubt, sure, deletes, writes) = (true, false, true, false);
    #[rustfmt::skip]
    let table = [
        // The failed operation is removed. Without its index it is searched for.
        (Removing, 3, Some(1), Row, sure,  writes,  Remove(1)),
        (Removing, 3, Some(3), Row, sure,  writes,  Halve),
        (Removing, 3, None,    Row, sure,  writes,  Halve),
        (Removing, 2, None,    Row, sure,  deletes, Halve),
        (Removing, 1, None,    Row, sure,  writes,  Remove(0)),
        (Removing, 1, Some(5), Row, sure,  writes,  Remove(0)),
        (Together, 3, Some(1), Row, sure,  writes,  Fail),
        (Together, 1, None,    Row, sure,  writes,  Fail),
        // Writes in doubt are not sent again.
        (Removing, 3, Some(1), Row, in_doubt, writes,  Fail),
        (Removing, 1, None,    Row, in_doubt, writes,  Fail),
        (Together, 3, Some(1), Row, in_doubt, writes,  Fail),
        // Deletes in doubt are repeated, each alone.
        (Removing, 3, Some(1), Row, in_doubt, deletes, SendAlone),
        (Removing, 3, None,    Row, in_doubt, deletes, SendAlone),
        (Removing, 1, None,    Row, in_doubt, deletes, Remove(0)),
        (Together, 3, Some(1), Row, in_doubt, deletes, Fail),
        // Any other error would recur.
        (Removing, 3, Some(1), Any, sure,  writes,  Stop),
        (Together, 3, Some(1), Any, sure,  writes,  Stop),
        (Removing, 3, None,    Any, sure,  writes,  Stop),
        (Removing, 1, Some(0), Any, sure,  deletes, Stop),
        (Removing, 3, None,    Any, in_doubt, writes,  FailAndStop),
        (Removing, 3, Some(1), Any, in_doubt, deletes, FailAndStop),
        (Together, 3, None,    Any, sure,  writes,  Stop),
        (Together, 3, None,    Any, in_doubt, writes,  FailAndStop),
    ];
    for (recovery, operations, index, scope, in_doubt, only_deletes, next) in table {
        let failed = FailedBatch {
            operations,
            index,
            scope,
            in_doubt,
            only_deletes,
        };
        assert_eq!(recovery_step(&failed, recovery), next, "{recovery:?} {failed:?}");
    }
}

#[test]
fn scope_of_an_error_depends_on_its_status_and_code() {
    #[rustfmt::skip]
    let table = [
        (400, Some("PropertyValueTooLarge"),             Row),
        (404, Some("ResourceNotFound"),                  Row),
        (404, Some("TableNotFound"),                     Any),
        (404, None,                                      Any),
        (409, Some("EntityAlreadyExists"),               Row),
        (409, Some("TableBeingDeleted"),                 Any),
        (409, None,                                      Any),
        (412, Some("UpdateConditionNotSatisfied"),       Row),
        (412, None,                                      Any),
        (403, Some("AuthorizationPermissionMismatch"),   Any),
        (403, Some("AuthenticationFailed"),              Any),
        (500, Some("InternalError"),                     Any),
        (503, Some("ServerBusy"),                        Any),
    ];
    for (status, code, scope) in table {
        let error = Error::of_response(status, code.map(str::to_owned), None, None);
        assert_eq!(ErrorScope::of(&error), scope, "{status} {code:?}");
        assert_eq!(
            ErrorScope::of(&error.maybe_applied(true)),
            scope,
            "{status} {code:?}, in doubt"
        );
    }
}
