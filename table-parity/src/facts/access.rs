//! Facts of access: signatures, and shared access signatures.

use super::sources::{ACCOUNT_SAS, NO_CONTENT, SAS_ERRORS, SERVICE_SAS, XML, recorded, report, suite};
use crate::fact::Part::{Has, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Auth, Body, Step, delete, get, insert, send, table};

const PERMISSION: &str = "This request is not authorized to perform this operation using this permission.";
const OPERATION: &str = "This request is not authorized to perform this operation.";
const UNAUTHENTIC: &str = "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
const RANGES: &str = "storage/net_ValidateSasCredentialsWithRowKeyAndPartitionKeyRanges.json";

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Access, name, source, exchanges).on(On::Storage)
}

/// Creates the fact's own table.
const OWN: Step = table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT);

/// A signature for the account.
macro_rules! account_sas {
    ($types:literal, $permissions:literal $(, $name:literal = $value:literal)*) => {
        Auth::Sas(&[
            ("sv", "2019-02-02"),
            ("ss", "t"),
            ("srt", $types),
            ("se", "<soon>"),
            ("sp", $permissions),
            $(($name, $value),)*
        ])
    };
}

/// A signature for a table.
macro_rules! table_sas {
    ($table:literal, $permissions:literal $(, $name:literal = $value:literal)*) => {
        Auth::Sas(&[("sv", "2019-02-02"), ("tn", $table), ("sp", $permissions), $(($name, $value),)*])
    };
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A signature with the permission to delete creates no table.",
        recorded("storage/net_ValidateAccountSasCredentialsWithPermissions.json", 1, "2021-01-04"),
        &[ask(
            send(
                "POST",
                "Tables?$format=application%2Fjson%3Bodata%3Dminimalmetadata",
                Body::Json(r#"{"TableName":"<N>"}"#),
            )
            .auth(account_sas!("sco", "d")),
            rejects(403, "AuthorizationPermissionMismatch", PERMISSION),
        )],
    ),
    fact(
        "A signature with the permission to write creates a table.",
        recorded("storage/net_ValidateAccountSasCredentialsWithPermissions.json", 2, "2021-01-04"),
        &[ask(
            send(
                "POST",
                "Tables?$format=application%2Fjson%3Bodata%3Dminimalmetadata",
                Body::Json(r#"{"TableName":"<N>"}"#),
            )
            .auth(account_sas!("sco", "w")),
            responds(201).body(&[Has(r#""TableName":"<N>""#)]),
        )],
    ),
    fact(
        "A query with a signature for a range of keys returns the rows in the range.",
        recorded(RANGES, 3, "2021-01-19"),
        &[
            prepare(insert("01", r#""SomeIntProperty":1"#)),
            prepare(insert("02", r#""SomeIntProperty":2"#)),
            ask(
                get("<T>()?$format=application%2Fjson%3Bodata%3Dminimalmetadata").auth(table_sas!(
                    "<T>",
                    "raud",
                    "se" = "<soon>",
                    "spk" = "<K>",
                    "epk" = "<K>",
                    "srk" = "01",
                    "erk" = "01"
                )),
                responds(200).body(&[Has(r#""RowKey":"01""#), Lacks(r#""RowKey":"02""#)]),
            ),
        ],
    ),
    fact(
        "An entity out of the range of a signature is not found.",
        recorded(RANGES, 4, "2021-01-19"),
        &[
            prepare(insert("02", r#""SomeIntProperty":2"#)),
            ask(
                get("<R:02>?$format=application%2Fjson%3Bodata%3Dminimalmetadata").auth(table_sas!(
                    "<T>",
                    "raud",
                    "se" = "<soon>",
                    "spk" = "<K>",
                    "epk" = "<K>",
                    "srk" = "01",
                    "erk" = "01"
                )),
                rejects(404, "ResourceNotFound", "The specified resource does not exist."),
            ),
        ],
    ),
    fact(
        "An insert out of the range of a signature is AuthorizationFailure.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity.py test_sas_add_outside_range",
            "2022 to 2026",
        ),
        &[ask(
            insert("r", "").auth(table_sas!(
                "<T>",
                "a",
                "se" = "<soon>",
                "spk" = "test",
                "srk" = "test1",
                "epk" = "test",
                "erk" = "test1"
            )),
            rejects(403, "AuthorizationFailure", OPERATION),
        )],
    ),
    fact(
        "A signature names its table in any case.",
        suite("azure-data-tables for Python, recorded tests of signatures", "2022 to 2026"),
        &[
            prepare(table(r#"{"TableName":"<N>aB"}"#).headers(NO_CONTENT)),
            ask(
                get("<N>aB()").auth(table_sas!("<N>AB", "r", "se" = "<soon>")),
                responds(200),
            ),
        ],
    ),
    fact(
        "A signature for reading inserts no entity.",
        SERVICE_SAS,
        &[ask(
            insert("r", "").auth(table_sas!("<T>", "r", "se" = "<soon>")),
            rejects(403, "AuthorizationPermissionMismatch", PERMISSION),
        )],
    ),
    fact(
        "An upsert needs the permissions to add and to update.",
        SERVICE_SAS,
        &[ask(
            send("PUT", "<R:r>", Body::Row("r", r#""A":1"#)).auth(table_sas!("<T>", "a", "se" = "<soon>")),
            rejects(403, "AuthorizationPermissionMismatch", PERMISSION),
        )],
    ),
    fact(
        "A signature for a table lists no tables.",
        SERVICE_SAS,
        &[ask(
            get("Tables").auth(table_sas!("<T>", "raud", "se" = "<soon>")),
            rejects(403, "{text}", "{text}"),
        )],
    ),
    fact(
        "A signature for entities reads them with the permission to read.",
        suite("azure-data-tables for Python, recorded tests of signatures", "2022 to 2026"),
        &[
            prepare(insert("r", "")),
            ask(
                get("<T>()").auth(account_sas!("o", "r")),
                responds(200).body(&[Has(r#""RowKey":"r""#)]),
            ),
        ],
    ),
    fact(
        "A signature for the service alone is of the wrong type of resource for entities.",
        SAS_ERRORS,
        &[ask(
            get("<T>()").auth(account_sas!("s", "r")),
            rejects(
                403,
                "AuthorizationResourceTypeMismatch",
                "This request is not authorized to perform this operation using this resource type.",
            ),
        )],
    ),
    fact(
        "A signature for blobs is of the wrong service.",
        SAS_ERRORS,
        &[ask(
            get("<T>()").auth(Auth::Sas(&[
                ("sv", "2019-02-02"),
                ("ss", "b"),
                ("srt", "sco"),
                ("se", "<soon>"),
                ("sp", "r"),
            ])),
            rejects(
                403,
                "AuthorizationServiceMismatch",
                "This request is not authorized to perform this operation using this service.",
            ),
        )],
    ),
    fact(
        "A signature for another address is AuthorizationSourceIPMismatch.",
        SAS_ERRORS,
        &[ask(
            get("<T>()").auth(account_sas!("sco", "r", "sip" = "192.0.2.1")),
            rejects(
                403,
                "AuthorizationSourceIPMismatch",
                "This request is not authorized to perform this operation using this source IP {text}",
            ),
        )],
    ),
    fact(
        "A signature for the account does not read policies.",
        ACCOUNT_SAS,
        &[
            prepare(OWN),
            ask(
                get("<N>?comp=acl").headers(XML).auth(account_sas!("sco", "rwdlacu")),
                rejects(403, "{text}", "{text}"),
            ),
        ],
    ),
    fact(
        "An expired signature is AuthenticationFailed.",
        report("https://github.com/microsoft/AzureStorageExplorer/issues/8537"),
        &[ask(
            get("<T>()").auth(Auth::Sas(&[
                ("sv", "2019-02-02"),
                ("tn", "<T>"),
                ("sp", "r"),
                ("se", "<past>"),
            ])),
            rejects(403, "AuthenticationFailed", UNAUTHENTIC),
        )],
    ),
    fact(
        "A time of a signature with six digits after its seconds is AuthenticationFailed.",
        suite("Microsoft's clients, four recorded requests with such a signature", "2021-03"),
        &[ask(
            get("<T>()").auth(table_sas!(
                "<T>",
                "r",
                "st" = "2020-01-01T00:00:29.265131Z",
                "se" = "<soon>"
            )),
            rejects(403, "AuthenticationFailed", UNAUTHENTIC),
        )],
    ),
    fact(
        "A wrong signature is AuthenticationFailed, with x-ms-error-code and without x-ms-version.",
        suite(
            "azure-data-tables for Python, recorded test_new_invalid_key",
            "2026",
        ),
        &[ask(
            get("Tables").auth(Auth::Wrong),
            rejects(403, "AuthenticationFailed", UNAUTHENTIC).headers(&[
                ("Content-Type", "application/json"),
                ("x-ms-error-code", "AuthenticationFailed"),
                ("x-ms-version", ""),
                ("Cache-Control", ""),
                ("WWW-Authenticate", ""),
            ]),
        )],
    ),
    fact(
        "A batch with a wrong signature is rejected as any other request, not in a part.",
        suite(
            "azure-data-tables for Python, recorded test_new_invalid_key",
            "2026",
        ),
        &[ask(
            send(
                "POST",
                "$batch",
                Body::Changes(&["POST <base>/<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}"]),
            )
            .auth(Auth::Wrong),
            rejects(403, "AuthenticationFailed", UNAUTHENTIC).headers(&[
                ("Content-Type", "application/json"),
                ("x-ms-error-code", "AuthenticationFailed"),
            ]),
        )],
    ),
    fact(
        "A wrong signature has the id of the request.",
        suite("Microsoft's clients, 14 recordings", "2021-12"),
        &[ask(
            get("Tables").auth(Auth::Wrong),
            rejects(403, "AuthenticationFailed", UNAUTHENTIC).headers(&[("x-ms-request-id", "{id}")]),
        )],
    ),
    fact(
        "From version 2020-12-06 on, a request without authorization is challenged.",
        recorded("storage/net_EnableTenantDiscovery_401_challenge.json", 0, "2022-04-14"),
        &[ask(
            send(
                "POST",
                "Tables?$format=application%2Fjson%3Bodata%3Dminimalmetadata",
                Body::Json(r#"{"TableName":"<N>"}"#),
            )
            .headers(&[("x-ms-version", "2020-12-06")])
            .auth(Auth::None),
            rejects(
                401,
                "NoAuthenticationInformation",
                "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
            )
            .headers(&[
                (
                    "WWW-Authenticate",
                    "Bearer authorization_uri=https://login.microsoftonline.com/{id}/oauth2/authorize resource_id=https://storage.azure.com",
                ),
                ("x-ms-error-code", "NoAuthenticationInformation"),
                ("Content-Type", "application/json"),
            ]),
        )],
    ),
    fact(
        "A signature for tables lists them with the permission to list.",
        ACCOUNT_SAS,
        &[ask(
            get("Tables").auth(account_sas!("c", "l")),
            responds(200).body(&[Has(r#"{"TableName":"<T>"}"#)]),
        )],
    ),
    fact(
        "A signature with the permission to delete deletes an entity.",
        ACCOUNT_SAS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                delete("<R:r>")
                    .headers(&[("If-Match", "*")])
                    .auth(account_sas!("o", "d")),
                responds(204),
            ),
        ],
    ),
    fact(
        "A signature with the permission to update merges into an entity.",
        ACCOUNT_SAS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("MERGE", "<R:r>", Body::Row("r", r#""A":2"#))
                    .headers(&[("If-Match", "*")])
                    .auth(account_sas!("o", "u")),
                responds(204),
            ),
        ],
    ),
    fact(
        "A signature with the permissions to add and to update upserts an entity.",
        ACCOUNT_SAS,
        &[ask(
            send("PUT", "<R:r>", Body::Row("r", r#""A":1"#)).auth(account_sas!("o", "au")),
            responds(204),
        )],
    ),
    fact(
        "A signature for the partitions from a key on returns the rows of these.",
        SERVICE_SAS,
        &[
            prepare(insert("r", "")),
            prepare(
                send("POST", "<T>", Body::Json(r#"{"PartitionKey":"before","RowKey":"r"}"#)).headers(NO_CONTENT),
            ),
            ask(
                get("<T>()").auth(table_sas!("<T>", "r", "se" = "<soon>", "spk" = "<K>")),
                responds(200).body(&[Has(r#""PartitionKey":"<K>""#), Lacks(r#""PartitionKey":"before""#)]),
            ),
        ],
    ),
];
