//! Lines that no request to one account decides, each with the reason.

use crate::comparison::probe::Line;

pub(super) const REASONS: &[(Line, &str)] = &[
    (
        Line(
            "writes while a page of several partitions is read",
            "the page shows none of them (documented for each partition alone)",
        ),
        "no client can time a write within the read of another's page",
    ),
    (
        Line(
            "a table that is deleted while a page of it is read",
            "the page starts over, so that the table is not found",
        ),
        "no client can time a deletion within the read of a page",
    ),
    (
        Line("a token without TLS", "403 `AuthenticationFailed`"),
        "a token must not be sent unencrypted",
    ),
    (
        Line(
            "on Cosmos DB a token for another audience",
            "401 `Unauthorized` (seen) with a challenge, and a text of which the beginning and the end are not known",
        ),
        "it would need a token of Entra ID for another service",
    ),
    (
        Line(
            "on Cosmos DB Orleans' membership and reminders, which require rows in the order of their keys",
            "do not start, because rows are in the order of insertion",
        ),
        "it takes Orleans itself",
    ),
    (
        Line("the properties of a new account", "all are off"),
        "nothing shows that an account is new",
    ),
    (
        Line(
            "a request beyond the capacity (of a service model)",
            "503 `ServerBusy` with the headers of the store's rejections and without `Retry-After`, a batch as a whole \
             (one report of March 2020 implies a part of a 202); on Cosmos DB 429 `TooManyRequests` without a time to \
             wait (recorded), and without the service's `Request URI` and `RequestStats` in its text",
        ),
        "it would take the load of many clients on the account",
    ),
    (
        Line(
            "on Cosmos DB `x-ms-request-id`",
            "is in every response (recorded: in some since April 2021, in nearly all until April 2022, in none of 710 \
             from May to September 2022)",
        ),
        "the service sends it in some months and not in others, so one response decides nothing",
    ),
    (
        Line(
            "on Cosmos DB the order of tables",
            "by name (recorded neither by name nor by creation; with a filter by name)",
        ),
        "the list without a filter would name the account's own tables",
    ),
    (
        Line(
            "on Cosmos DB a table that was made at another service's address of the same emulator",
            "has rows in the order of their keys",
        ),
        "only the emulator is at two services' addresses",
    ),
    (
        Line("pages that end after five seconds", ""),
        "a page of five seconds needs a table of many rows under load",
    ),
    (
        Line(
            "`Transfer-Encoding: chunked` in place of `Content-Length`, and `Content-Length: 0` on 204, with which \
             live responses are framed",
            "",
        ),
        "the transport hides the framing of responses",
    ),
];
