//! Facts of the policies of tables.

use super::sources::{NO_CONTENT, SET_ACL, XML, recorded, suite};
use crate::fact::Part::{Has, Is};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Auth, Body, Step, get, send, table};

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Access, name, source, exchanges).on(On::Storage)
}

/// Creates the fact's own table.
const OWN: Step = table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT);

/// The policies of a table.
macro_rules! policies {
    ($policies:literal) => {
        Body::Xml(concat!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>",
            $policies,
            "</SignedIdentifiers>"
        ))
    };
}

/// One policy more than a table has.
const SIX: &str = {
    macro_rules! six {
        ($policy:literal) => {
            concat!(
                "<SignedIdentifiers>",
                $policy,
                $policy,
                $policy,
                $policy,
                $policy,
                $policy,
                "</SignedIdentifiers>"
            )
        };
    }
    six!(
        "<SignedIdentifier><AccessPolicy><Permission>r</Permission><Expiry>2029-01-01T00:00:00Z</Expiry><Start>2020-01-01T00:00:00Z</Start></AccessPolicy><Id>5</Id></SignedIdentifier>"
    )
};

/// Sets the policies of the fact's own table.
const fn set(body: Body) -> Step {
    send("PUT", "<N>?comp=acl", body).headers(XML)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A table without policies has an empty list, after a byte order mark.",
        recorded("storage/py2017_table_get_table_acl.json", 1, "2017-11-10"),
        &[
            prepare(OWN),
            ask(
                get("<N>?comp=acl").headers(XML),
                responds(200)
                    .headers(&[
                        ("Content-Type", "application/xml"),
                        ("Cache-Control", ""),
                        ("X-Content-Type-Options", ""),
                    ])
                    .body(&[Is("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers />")]),
            ),
        ],
    ),
    fact(
        "The elements of a policy may have any order.",
        recorded("storage/go_TestSetAccessPolicy.json", 0, "2021-08-02"),
        &[
            prepare(OWN),
            ask(
                set(Body::Xml(
                    "<SignedIdentifiers><SignedIdentifier><AccessPolicy><Permission>r</Permission><Expiry>2024-01-01T00:00:00Z</Expiry><Start>2020-01-01T00:00:00Z</Start></AccessPolicy><Id>1</Id></SignedIdentifier></SignedIdentifiers>",
                )),
                responds(204).headers(&[("Cache-Control", ""), ("Content-Type", "")]),
            ),
        ],
    ),
    fact(
        "Policies without a body remove all.",
        recorded("storage/py2017_table_set_table_acl.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(set(Body::Empty)),
            ask(
                get("<N>?comp=acl").headers(XML),
                responds(200)
                    .body(&[Is("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers />")]),
            ),
        ],
    ),
    fact(
        "The dates of a policy come back as times with seven digits.",
        recorded("storage/py2017_table_set_table_acl_with_signed_identifiers.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(set(policies!(
                "<SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11</Start><Expiry>2011-10-12</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
            ))),
            ask(
                get("<N>?comp=acl").headers(XML),
                responds(200).body(&[Is(
                    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11T00:00:00.0000000Z</Start><Expiry>2011-10-12T00:00:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
                )]),
            ),
        ],
    ),
    fact(
        "A policy may have no start.",
        recorded("storage/node2017_service_022.json", 3, "2017-08-30"),
        &[
            prepare(OWN),
            prepare(set(policies!(
                "<SignedIdentifier><Id>sampleIDForTablePolicy</Id><AccessPolicy><Expiry>2015-01-01T12:10:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
            ))),
            ask(
                get("<N>?comp=acl").headers(XML),
                responds(200).body(&[Is(
                    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers><SignedIdentifier><Id>sampleIDForTablePolicy</Id><AccessPolicy><Expiry>2015-01-01T12:10:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
                )]),
            ),
        ],
    ),
    fact(
        "An empty policy comes back as its name alone.",
        suite("azure-data-tables for Python, recorded tests of policies", "2022 to 2026"),
        &[
            prepare(OWN),
            prepare(set(policies!(
                "<SignedIdentifier><Id>empty</Id><AccessPolicy /></SignedIdentifier>"
            ))),
            ask(
                get("<N>?comp=acl").headers(XML),
                responds(200).body(&[Has("<SignedIdentifier><Id>empty</Id></SignedIdentifier>")]),
            ),
        ],
    ),
    fact(
        "A table has up to five policies.",
        recorded("storage/go_TestSetTooManyAccessPolicies.json", 0, "2021-08-02"),
        &[
            prepare(OWN),
            ask(
                set(Body::Xml(SIX)),
                rejects(400, "InvalidXmlDocument", "XML specified is not syntactically valid.").headers(&[
                    ("x-ms-error-code", "InvalidXmlDocument"),
                    ("Content-Type", "application/xml"),
                ]),
            ),
        ],
    ),
    fact(
        "A time of a policy with three digits after its seconds is InvalidXmlDocument.",
        suite("Microsoft's clients, a recorded policy with milliseconds", "2020-06"),
        &[
            prepare(OWN),
            ask(
                set(policies!(
                    "<SignedIdentifier><Id>p</Id><AccessPolicy><Start>2020-06-01T00:00:13.000Z</Start><Expiry>2030-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
                )),
                rejects(400, "InvalidXmlDocument", "XML specified is not syntactically valid."),
            ),
        ],
    ),
    fact(
        "A time of a policy may have seven digits after its seconds.",
        suite("Microsoft's clients, a recorded policy", "2021-01"),
        &[
            prepare(OWN),
            ask(
                set(policies!(
                    "<SignedIdentifier><Id>p</Id><AccessPolicy><Start>2020-06-01T00:00:13.0000000Z</Start><Expiry>2030-01-01T00:00:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
                )),
                responds(204),
            ),
        ],
    ),
    fact(
        "Policies that are set with any format accepted are MediaTypeNotSupported.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[
            prepare(OWN),
            ask(
                send("PUT", "<N>?comp=acl", policies!("")).headers(&[("Accept", "*/*")]),
                rejects(
                    415,
                    "MediaTypeNotSupported",
                    "None of the provided media types are supported",
                )
                .headers(&[
                    ("Content-Type", "application/xml"),
                    ("x-ms-error-code", "MediaTypeNotSupported"),
                    ("Cache-Control", ""),
                ]),
            ),
        ],
    ),
    fact(
        "The policies of a table that does not exist are not set.",
        recorded("storage/py_test_aad_access_policy_error.json", 1, "2026-04-14"),
        &[ask(
            send(
                "PUT",
                "<N>?comp=acl",
                Body::Xml("<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers />"),
            )
            .headers(XML),
            rejects(404, "TableNotFound", "The table specified does not exist.")
                .headers(&[("x-ms-error-code", "TableNotFound"), ("Content-Type", "application/xml")]),
        )],
    ),
    fact(
        "A field both in a signature and in its policy is rejected.",
        SET_ACL,
        &[
            prepare(OWN),
            prepare(set(policies!(
                "<SignedIdentifier><Id>p</Id><AccessPolicy><Start><past></Start><Expiry><soon></Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
            ))),
            ask(
                get("<N>()")
                    .auth(Auth::Sas(&[
                        ("sv", "2019-02-02"),
                        ("tn", "<N>"),
                        ("sp", "r"),
                        ("se", "<soon>"),
                        ("si", "p"),
                    ]))
                    .waits(),
                rejects(400, "{text}", "{text}"),
            ),
        ],
    ),
    fact(
        "A time of a signature that cannot be read is AuthenticationFailed, even if its policy has one.",
        suite("azure-data-tables for Python, a recorded query", "2021-03"),
        &[
            prepare(OWN),
            prepare(set(policies!(
                "<SignedIdentifier><Id>p</Id><AccessPolicy><Start><past></Start><Expiry><soon></Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
            ))),
            ask(
                get("<N>()")
                    .auth(Auth::Sas(&[
                        ("sv", "2019-02-02"),
                        ("tn", "<N>"),
                        ("st", "2020-01-01T00:00:00.123456Z"),
                        ("se", "2099-01-01T00:00:00.123456Z"),
                        ("si", "p"),
                    ]))
                    .waits(),
                rejects(403, "AuthenticationFailed", "{text}"),
            ),
        ],
    ),
    fact(
        "A signature has the permissions and times of its policy.",
        SET_ACL,
        &[
            prepare(OWN),
            prepare(set(policies!(
                "<SignedIdentifier><Id>p</Id><AccessPolicy><Start><past></Start><Expiry><soon></Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
            ))),
            ask(
                get("<N>()")
                    .auth(Auth::Sas(&[("sv", "2019-02-02"), ("tn", "<N>"), ("si", "p")]))
                    .waits(),
                responds(200).body(&[Has(r#""value":[]"#)]),
            ),
        ],
    ),
];
