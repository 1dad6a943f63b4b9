//! The decision tables. Each row is a state, the end of an attempt and the next step.

use azure_table_wire::error::operation_kind::{self, OperationKind};
use azure_table_wire::value::clock;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a call before its first attempt ended.
fn first(mode: LocationMode) -> CallState {
    CallState::new(mode)
}

/// Returns a call on the primary at its second attempt.
fn second() -> CallState {
    CallState {
        attempt: 2,
        ..first(LocationMode::PrimaryOnly)
    }
}

fn ambiguous() -> Option<LostAttempts> {
    Some(LostAttempts::followed_by(None, clock::now(), SECOND))
}

/// Returns the same call, with a first attempt that may have been applied, or may be in flight.
fn in_doubt() -> CallState {
    CallState {
        in_doubt: ambiguous(),
        ..second()
    }
}

/// Returns a call that sends the write of such a call again, before its first attempt ended.
fn again() -> CallState {
    CallState {
        in_doubt: ambiguous(),
        ..first(LocationMode::PrimaryOnly)
    }
}

/// Returns a read at the secondary.
fn at_secondary(mode: LocationMode) -> CallState {
    CallState {
        location: Location::Secondary,
        ..first(mode)
    }
}

fn status(status: u16) -> Failure<'static> {
    Failure::Response(status, None)
}

fn code(status: u16, code: &'static str) -> Failure<'static> {
    Failure::Response(status, Some(code))
}

const NOTHING_SENT: Failure<'static> = Failure::Transport(Delivery::NothingSent);
const NO_RESPONSE: Failure<'static> = Failure::Transport(Delivery::MaybeSent);
const CUT_RESPONSE: Failure<'static> = Failure::Transport(Delivery::ResponseCut);
const LONG_RESPONSE: Failure<'static> = Failure::Transport(Delivery::ResponseTooLong { bytes: 2, limit: 1 });

fn failed(operation: OperationKind, state: &CallState, failure: Failure<'static>) -> FailedAttempt<'static> {
    FailedAttempt {
        operation,
        effect: operation_kind::facts(operation).effect,
        is_idempotent: operation_kind::facts(operation).is_idempotent,
        attempt: state.attempt,
        elapsed: Duration::ZERO,
        remaining: None,
        location: state.location,
        failure,
        requested_wait: None,
    }
}

#[test]
fn response_and_rejection_are_classified_by_status_state_and_location() {
    use LocationMode::{PrimaryOnly, PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
    use Next::{AskPolicy, Fail, ReadBack, TryPrimary};
    let renew = |reads_back| Next::RenewCredential { reads_back };
    use OperationKind::{CreateTable, Delete, Get, Insert, InsertOrReplace, Merge, Replace};
    let renewed = |renewals| CallState {
        renewals,
        ..first(PrimaryOnly)
    };
    let (only, both) = (first(PrimaryOnly), first(PrimaryThenSecondary));
    #[rustfmt::skip]
    let table = [
        // A rejected authorization is renewed twice at most, and only if it changed.
        (Get,             renewed(0),                         status(401),                          true,  renew(false)),
        (Get,             renewed(1),                         status(401),                          true,  renew(false)),
        (Get,             renewed(2),                         status(401),                          true,  AskPolicy),
        (Insert,          renewed(0),                         code(403, "AuthenticationFailed"),    true,  renew(false)),
        (Insert,          renewed(0),                         code(403, "AuthenticationFailed"),    false, AskPolicy),
        (Insert,          renewed(0),                         code(403, "AuthorizationFailure"),    false, AskPolicy),
        (Insert,          in_doubt(),                         status(403),                          true,  renew(true)),
        // The secondary may not have the entity yet.
        (Get,             at_secondary(SecondaryThenPrimary), code(404, "ResourceNotFound"),        false, TryPrimary),
        (Get,             at_secondary(PrimaryThenSecondary), code(404, "ResourceNotFound"),        false, TryPrimary),
        (Get,             at_secondary(SecondaryOnly),        code(404, "ResourceNotFound"),        false, AskPolicy),
        (Get,             at_secondary(SecondaryThenPrimary), status(503),                          false, AskPolicy),
        (Get,             both,                               code(404, "ResourceNotFound"),        false, AskPolicy),
        // An earlier attempt may have caused the rejection of a repeated write.
        (Insert,          in_doubt(),                         code(409, "EntityAlreadyExists"),     false, ReadBack),
        (Replace,         in_doubt(),                         code(412, "UpdateConditionNotSatisfied"), false, ReadBack),
        (Merge,           in_doubt(),                         code(404, "ResourceNotFound"),        false, ReadBack),
        (InsertOrReplace, in_doubt(),                         code(404, "TableNotFound"),           false, ReadBack),
        (Delete,          in_doubt(),                         code(404, "ResourceNotFound"),        false, Fail),
        (CreateTable,     in_doubt(),                         code(409, "TableAlreadyExists"),      false, ReadBack),
        (Insert,          in_doubt(),                         status(400),                          false, AskPolicy),
        (Insert,          in_doubt(),                         code(503, "ServerBusy"),              false, AskPolicy),
        (Insert,          in_doubt(),                         NO_RESPONSE,                          false, AskPolicy),
        // Without an earlier attempt in doubt it is a conflict.
        (Insert,          only,                               code(409, "EntityAlreadyExists"),     false, AskPolicy),
        (Insert,          second(),                           code(409, "EntityAlreadyExists"),     false, AskPolicy),
        (Replace,         second(),                           code(412, "UpdateConditionNotSatisfied"), false, AskPolicy),
        // The same read would have the same response.
        (Get,             only,                               LONG_RESPONSE,                        false, Fail),
        (Insert,          only,                               LONG_RESPONSE,                        false, AskPolicy),
        // The policy decides everything else.
        (Get,             only,                               status(500),                          false, AskPolicy),
        (Get,             only,                               NOTHING_SENT,                         false, AskPolicy),
        (Insert,          only,                               CUT_RESPONSE,                         false, AskPolicy),
    ];
    for (operation, state, failure, is_renewed, next) in table {
        let failed = failed(operation, &state, failure);
        assert_eq!(
            classify(&state, &failed, is_renewed),
            next,
            "{operation:?} {state:?} {failure:?}"
        );
    }
}

/// Each write of the guide's table ("Writes in doubt") has a row: the step depends only on the effect. The
/// table of `lost_write/reading/tests.rs` has the outcomes.
#[test]
fn decision_of_the_policy_becomes_a_step() {
    use LocationMode::{PrimaryOnly, PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
    use Next::{Fail, ReadBack};
    use OperationKind::{
        Batch, CreateTable, Delete, DeleteTable, Get, Insert, InsertOrMerge, Merge, Replace, SetAccessPolicies,
        SetServiceProperties,
    };
    let retry = Decision::after(SECOND);
    let stop = Decision::Stop;
    let resend_to = |location, reads_back| Next::Resend {
        wait: SECOND,
        location,
        reads_back,
    };
    let resend = |reads_back| resend_to(Location::Primary, reads_back);
    let one = first(PrimaryOnly);
    #[rustfmt::skip]
    let table = [
        // Reads, and attempts that were certainly not applied, are sent again unchanged.
        (Get,                  one,        NO_RESPONSE,             retry, resend(false)),
        (Get,                  one,        status(500),             retry, resend(false)),
        (Insert,               one,        NOTHING_SENT,            retry, resend(false)),
        (Insert,               one,        code(503, "ServerBusy"), retry, resend(false)),
        (Insert,               one,        status(429),             retry, resend(false)),
        // Every write in doubt is read back first.
        (Insert,               one,        NO_RESPONSE,             retry, resend(true)),
        (Insert,               one,        CUT_RESPONSE,            retry, resend(true)),
        (Insert,               one,        status(500),             retry, resend(true)),
        (Insert,               one,        status(503),             retry, resend(true)),
        (Insert,               one,        status(408),             retry, resend(true)),
        (Insert,               in_doubt(), code(503, "ServerBusy"), retry, resend(true)),
        (Replace,              one,        NO_RESPONSE,             retry, resend(true)),
        (Merge,                one,        NO_RESPONSE,             retry, resend(true)),
        (InsertOrMerge,        one,        NO_RESPONSE,             retry, resend(true)),
        (Delete,               one,        NO_RESPONSE,             retry, resend(true)),
        (Batch,                one,        NO_RESPONSE,             retry, resend(true)),
        (CreateTable,          one,        NO_RESPONSE,             retry, resend(true)),
        (DeleteTable,          one,        NO_RESPONSE,             retry, resend(true)),
        (SetServiceProperties, one,        NO_RESPONSE,             retry, resend(true)),
        (SetAccessPolicies,    one,        NO_RESPONSE,             retry, resend(true)),
        // A policy that stops ends the call; a write that was sent again is read back once more.
        (Get,                  one,        NO_RESPONSE,             stop,  Fail),
        (Get,                  second(),   NO_RESPONSE,             stop,  Fail),
        (Insert,               one,        NO_RESPONSE,             stop,  Fail),
        (Insert,               second(),   NO_RESPONSE,             stop,  ReadBack),
        (Insert,               in_doubt(), status(500),             stop,  ReadBack),
        (Insert,               in_doubt(), code(503, "ServerBusy"), stop,  ReadBack),
        (Insert,               in_doubt(), status(400),             stop,  ReadBack),
        (Insert,               in_doubt(), status(403),             stop,  ReadBack),
        (Insert,               in_doubt(), status(429),             retry, resend(true)),
        (Insert,               in_doubt(), NOTHING_SENT,            retry, resend(true)),
        (Insert,               in_doubt(), NOTHING_SENT,            stop,  ReadBack),
        (Insert,               again(),    code(503, "ServerBusy"), stop,  ReadBack),
        (Insert,               again(),    code(503, "ServerBusy"), retry, resend(true)),
        (Insert,               second(),   status(400),             stop,  Fail),
        (Insert,               one,        status(501),             stop,  Fail),
        // The mode decides the location of a retry, or the policy if the mode has its location.
        (Get, first(PrimaryThenSecondary),        status(500), retry,                    resend_to(Location::Secondary, false)),
        (Get, at_secondary(SecondaryThenPrimary), status(500), retry,                    resend_to(Location::Primary, false)),
        (Get, at_secondary(SecondaryOnly),        status(500), retry,                    resend_to(Location::Secondary, false)),
        (Get, first(PrimaryThenSecondary),        status(500), retry_at(Location::Primary),   resend_to(Location::Primary, false)),
        (Get, one,                                status(500), retry_at(Location::Secondary), resend_to(Location::Primary, false)),
    ];
    for (operation, state, failure, decision, next) in table {
        let failed = failed(operation, &state, failure);
        assert_eq!(
            plan(&state, &failed, decision),
            next,
            "{operation:?} {state:?} {failure:?} {decision:?}"
        );
    }
}

fn retry_at(location: Location) -> Decision {
    Decision::Retry {
        wait: SECOND,
        location: Some(location),
    }
}

/// The columns: the wait of the policy, the wait that the service requests, the time that is left, the wait before the
/// next attempt.
#[test]
fn retry_waits_as_long_as_the_service_requests_and_the_time_allows() {
    let seconds = Duration::from_secs;
    #[rustfmt::skip]
    let table = [
        (1,   None,      None,     Some(1)),
        (1,   Some(5),   None,     Some(5)),
        (5,   Some(1),   None,     Some(5)),
        (1,   Some(90),  None,     Some(90)),
        (1,   Some(91),  None,     None),
        (120, Some(91),  None,     Some(120)),
        (120, Some(121), None,     None),
        (1,   None,      Some(2),  Some(1)),
        (2,   None,      Some(2),  None),
        (1,   Some(3),   Some(3),  None),
        (0,   None,      Some(0),  None),
    ];
    for (wait, requested, left, effective) in table {
        for (attempt, without_retry) in [(1, Next::Fail), (2, Next::ReadBack)] {
            let state = CallState {
                attempt,
                ..first(LocationMode::PrimaryOnly)
            };
            let failed = FailedAttempt {
                requested_wait: requested.map(seconds),
                remaining: left.map(seconds),
                ..failed(OperationKind::Insert, &state, NO_RESPONSE)
            };
            let next = effective.map_or(without_retry, |wait| Next::Resend {
                wait: seconds(wait),
                location: Location::Primary,
                reads_back: true,
            });
            let decided = plan(&state, &failed, Decision::after(seconds(wait)));
            assert_eq!(decided, next, "{wait} {requested:?} {left:?}");
        }
    }
}
