//! Probes of authorization: shared access signatures and versions.

use crate::comparison::probe::{Line, Needs, Probe};
use crate::fact::On;
use crate::step::{Auth, Body, delete, get, insert, send, table};

/// A query without rows.
const NO_ROWS: &str = "<T>()?$filter=PartitionKey%20eq%20'<K>'";

/// The fields of a signature that reads the table.
pub(super) const READ: &[(&str, &str)] = &[("sv", "2019-02-02"), ("tn", "<T>"), ("sp", "r"), ("se", "<soon>")];

/// A signature for everything in the account.
pub(super) const ACCOUNT: Auth = Auth::Sas(&[
    ("sv", "2019-02-02"),
    ("ss", "t"),
    ("srt", "sco"),
    ("sp", "rwdlacu"),
    ("se", "<soon>"),
]);

/// A signature for the account with other services, types of resource, or addresses.
macro_rules! account_sas {
    ($services:literal, $types:literal $(, $name:literal = $value:literal)*) => {
        Auth::Sas(&[
            ("sv", "2019-02-02"),
            ("ss", $services),
            ("srt", $types),
            ("sp", "rwdlacu"),
            ("se", "<soon>"),
            $(($name, $value),)*
        ])
    };
}

/// A signature for a table with these fields too.
macro_rules! table_sas {
    ($version:literal, $table:literal, $permissions:literal $(, $name:literal = $value:literal)*) => {
        Auth::Sas(&[
            ("sv", $version),
            ("tn", $table),
            ("sp", $permissions),
            $(($name, $value),)*
        ])
    };
}

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "both a shared access signature and `Authorization`",
            "the header decides, unless the signature is bound to a user",
        ),
        &[
            insert("r", "").setup(),
            get("<R:r>?sv=2019-02-02&tn=<T>&sp=r&se=<soon>&sig=AAAA"),
            get("<R:r>")
                .headers(&[("Authorization", "SharedKey account:AAAA")])
                .auth(Auth::Sas(READ)),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "a wrong resource type, service, protocol or address of a shared access signature",
            "the documented texts, with the headers of a wrong permission",
        ),
        &[
            get(NO_ROWS).auth(account_sas!("t", "s")),
            get(NO_ROWS).auth(account_sas!("b", "sco")),
            get(NO_ROWS).auth(account_sas!("t", "sco", "sip" = "192.0.2.1")),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "several faults of a shared access signature",
            "its form and signature come first, then its policy, its times and letters, protocol and address, \
             service, and last the scope of its grant",
        ),
        &[
            get(NO_ROWS).auth(account_sas!("b", "s", "sip" = "192.0.2.1")),
            get(NO_ROWS).auth(table_sas!(
                "2019-02-02",
                "<N>",
                "a",
                "se" = "<past>",
                "sip" = "192.0.2.1"
            )),
            get(NO_ROWS).auth(table_sas!("2019-02-02", "<T>", "a", "se" = "<past>")),
            get("<T>()?$top=1&sv=2019-02-02&tn=<T>&sp=a&se=<past>&sig=AAAA").auth(Auth::None),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "`sip` with addresses of IPv6",
            "one or a range, as with IPv4; no request from IPv4 is in it",
        ),
        &[
            get(NO_ROWS).auth(table_sas!(
                "2019-02-02",
                "<T>",
                "r",
                "se" = "<soon>",
                "sip" = "2001:db8::1"
            )),
            get(NO_ROWS).auth(table_sas!(
                "2019-02-02",
                "<T>",
                "r",
                "se" = "<soon>",
                "sip" = "2001:db8::1-2001:db8::9"
            )),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "a parameter twice in a signature, a row key without its partition key, an `st` that cannot be read",
            "403 `AuthenticationFailed`",
        ),
        &[
            get(NO_ROWS).auth(Auth::SasAnd(READ, "&sp=r")),
            get(NO_ROWS).auth(table_sas!("2019-02-02", "<T>", "r", "se" = "<soon>", "srk" = "a")),
            get(NO_ROWS).auth(table_sas!(
                "2019-02-02",
                "<T>",
                "r",
                "st" = "yesterday",
                "se" = "<soon>"
            )),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "another table than the signature's; by a token the service's properties, and from 2025-07-05 on access \
             policies of an existing table",
            "403 `AuthorizationFailure`; are read and set (recorded of identities that may have more roles); 404 \
             `TableNotFound` (recorded of a missing table)",
        ),
        &[get("<N>other()").auth(Auth::Sas(READ))],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "on Cosmos DB a table's signature for a name in another case; a rejection of its permission with \
             `Accept: */*`",
            "is for the table (seen only in the Go client's live test `TestSASCosmosClientReadOnly`); \
             `application/json`",
        ),
        &[
            table(r#"{"TableName":"<N>Case"}"#).setup(),
            get("<N>Case()").auth(table_sas!("2019-02-02", "<N>CASE", "r", "se" = "<soon>")),
            delete("<R:r>").headers(&[("Accept", "*/*")]).auth(Auth::Sas(READ)),
        ],
    )
    .header("content-type")
    .on(On::Cosmos)
    .needs(Needs::Key),
    Probe::of(
        Line(
            "`sip` and `spr` of a signature before 2015-04-05, which does not sign them",
            "restrict the request",
        ),
        &[get(NO_ROWS).headers(&[("x-ms-version", "2014-02-14")]).auth(table_sas!(
            "2014-02-14",
            "<T>",
            "r",
            "se" = "<soon>",
            "sip" = "192.0.2.1"
        ))],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "a field both in a signature and in its policy, rejected times of a delegation key",
            "400 with a code that was never observed",
        ),
        &[
            table(r#"{"TableName":"<N>"}"#).setup(),
            send(
                "PUT",
                "<N>?comp=acl",
                Body::Xml(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers><SignedIdentifier><Id>p</Id>\
                     <AccessPolicy><Expiry><soon></Expiry><Permission>r</Permission></AccessPolicy>\
                     </SignedIdentifier></SignedIdentifiers>",
                ),
            )
            .headers(&[("Accept", "application/xml")])
            .setup(),
            get("<N>()")
                .auth(table_sas!("2019-02-02", "<N>", "r", "se" = "<soon>", "si" = "p"))
                .waits(),
            delete("Tables('<N>')").setup(),
        ],
    )
    .on(On::Storage)
    .needs(Needs::Key),
    Probe::of(
        Line(
            "on Cosmos DB a request without authorization, from version 2020-12-06 on",
            "401 with a challenge for `https://cosmos.azure.com`",
        ),
        &[get(NO_ROWS).headers(&[("x-ms-version", "2020-12-06")]).auth(Auth::None)],
    )
    .on(On::Cosmos)
    .header("www-authenticate"),
    Probe::of(
        Line(
            "on Cosmos DB a token that is not a JWT",
            "403 `AuthenticationFailed` before 2020-12-06, then 401 `InvalidAuthenticationInfo` (in 2021 and 2022, when \
             the service accepted no tokens at all, 401 `Unauthorized` for each)",
        ),
        &[
            get(NO_ROWS)
                .headers(&[("x-ms-version", "2020-12-06"), ("Authorization", "Bearer AAAA")])
                .auth(Auth::None),
        ],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB an old request, an unknown account, no authorization before 2020-12-06",
            "403 `AuthenticationFailed` (recorded of a wrong signature: `Forbidden`)",
        ),
        &[get(NO_ROWS).headers(&[("x-ms-version", "2019-02-02")]).auth(Auth::None)],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "requests without authorization before 2020-12-06, other than a batch and a deletion (recorded)",
            "404 `ResourceNotFound`",
        ),
        &[
            get("<T>()?timeout=31&$filter=PartitionKey%20eq%20'<K>'")
                .headers(&[("x-ms-version", "2019-02-02")])
                .auth(Auth::None),
            get("Tables?$top=1&timeout=31")
                .headers(&[("x-ms-version", "2019-02-02")])
                .auth(Auth::None),
        ],
    )
    .on(On::Storage),
    Probe::of(
        Line(
            "other rejections before a request is parsed than of its credential; `ExtendedErrorDetail` in those of it, \
             from version 2024-08-04 on",
            "the headers of a failed authentication; is missing (documented, no sample of tables)",
        ),
        &[
            get(NO_ROWS).headers(&[("x-ms-version", "2019-02-03")]),
            get("<T>()?timeout=31")
                .headers(&[("x-ms-version", "2024-08-04")])
                .auth(Auth::Wrong),
        ],
    )
    .body()
    .header("server")
    .on(On::Storage),
    Probe::of(
        Line(
            "such a rejection of an insert or a deletion with `Accept: */*`",
            "XML, as recorded of `$batch`, PUT and PATCH",
        ),
        &[
            send("POST", "<T>?timeout=31", Body::Row("r", ""))
                .headers(&[("Accept", "*/*"), ("Authorization", "SharedKey account:AAAA")])
                .auth(Auth::None),
            delete("<R:r>?timeout=31")
                .headers(&[("Accept", "*/*"), ("Authorization", "SharedKey account:AAAA")])
                .auth(Auth::None),
        ],
    )
    .header("content-type")
    .on(On::Storage),
    Probe::of(
        Line(
            "a fraction of a second in a shared access signature, other than six digits; in a stored policy, other \
             than three or seven",
            "403 `AuthenticationFailed`; 400 `InvalidXmlDocument`",
        ),
        &[get(NO_ROWS).auth(table_sas!(
            "2019-02-02",
            "<T>",
            "r",
            "st" = "2020-01-01T00:00:00.1234567Z",
            "se" = "<soon>"
        ))],
    )
    .on(On::Storage)
    .needs(Needs::Key),
];
