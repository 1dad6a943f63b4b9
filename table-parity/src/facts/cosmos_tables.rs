//! Facts of Cosmos DB for Table: tables, access, and the service.

use super::sources::{NO_CONTENT, XML, page, recorded, suite};
use crate::fact::Part::{Has, Is};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Auth, Body, delete, get, insert, send, table};

/// Tests of names of the client for Python, which are recorded.
const CHARACTERS: Source = suite(
    "azure-data-tables for Python, recorded test_table_client_cosmos.py test_table_name_errors_bad_chars",
    "2024 to 2026",
);
const LENGTHS: Source = suite(
    "azure-data-tables for Python, recorded test_table_client_cosmos.py test_table_name_errors_bad_length",
    "2026",
);
const TABLE_IN_URL: Source = suite(
    "azure-data-tables for Python, recorded test_table_cosmos.py test_client_with_url_ends_with_table_name",
    "2023 to 2026",
);
const URL: &str = "Request url is invalid.";
const READ: Auth = Auth::Sas(&[("sv", "2019-02-02"), ("tn", "<T>"), ("sp", "r"), ("se", "<soon>")]);

const fn fact(area: Area, name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(area, name, source, exchanges).on(On::Cosmos)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        Area::Tables,
        "Cosmos DB: A table is created with 201 and an ETag, and its metadata follows its name.",
        recorded("cosmos/go_TestAddComplexEntity_cosmos.json", 0, "2021-09-01"),
        &[ask(
            table(r#"{"TableName":"<N>"}"#),
            responds(201)
                .headers(&[("ETag", "{etag}"), ("Location", "<base>/Tables('<N>')")])
                .body(&[Has(
                    r##"{"TableName":"<N>","odata.metadata":"<base>/$metadata#Tables/@Element"}"##,
                )]),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table that exists is not created again.",
        recorded("cosmos/go_TestServiceErrors_cosmos.json", 1, "2021-08-02"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#)),
            ask(
                table(r#"{"TableName":"<N>"}"#),
                rejects(409, "TableAlreadyExists", "The specified table{text} already exists.")
                    .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
            ),
        ],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: The rejection of a table that exists leaves brackets for its name.",
        suite(
            "azure-data-tables for Python, recorded test_table_cosmos.py test_create_table_fail_on_exist",
            "2026-03",
        ),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#)),
            ask(
                table(r#"{"TableName":"<N>"}"#),
                rejects(409, "TableAlreadyExists", "The specified table: [] already exists."),
            ),
        ],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table that exists is rejected with full metadata if the request prefers no content.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#)),
            ask(
                table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT),
                rejects(409, "TableAlreadyExists", "{text}").headers(&[
                    ("Content-Type", "application/json;odata=fullmetadata"),
                    ("Preference-Applied", ""),
                ]),
            ),
        ],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table's name may have an underscore.",
        suite(
            "azure-data-tables for Python, recorded test_table_cosmos.py test_create_table_underscore_name",
            "2023 to 2026",
        ),
        &[ask(table(r#"{"TableName":"<N>_table"}"#), responds(201))],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table's name may have letters beyond ASCII.",
        suite(
            "azure-data-tables for Python, recorded test_table_cosmos.py test_create_table_unicode_name",
            "2023 to 2026",
        ),
        &[ask(table(r#"{"TableName":"<N>啊齄丂狛狜"}"#), responds(201))],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A character that no table's name has stands in the rejection.",
        CHARACTERS,
        &[ask(
            table(r#"{"TableName":"<N>\\"}"#),
            rejects(
                400,
                "InvalidInput",
                r"The table name contains an invalid character \.{text}",
            )
            .headers(&[("Content-Type", "application/json;odata=fullmetadata")]),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A number sign is in no table's name.",
        CHARACTERS,
        &[ask(
            table(r##"{"TableName":"<N>#"}"##),
            rejects(400, "InvalidInput", "The table name contains an invalid character #.{text}"),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table's name does not end with a space.",
        CHARACTERS,
        &[ask(
            table(r#"{"TableName":"<N>- "}"#),
            rejects(400, "InvalidInput", "Table name cannot end with a space.{text}"),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table's name of 255 characters or more is BadRequest.",
        LENGTHS,
        &[ask(
            table(r#"{"TableName":"<N><-*255>"}"#),
            rejects(
                400,
                "BadRequest",
                r#"Message: {"Errors":["The input name is invalid. Ensure to provide a unique non-empty string less than '255' characters.","The request payload is invalid. Ensure to provide a valid request payload."]}{text}"#,
            )
            .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: The names of tables differ by their case.",
        page("https://learn.microsoft.com/en-us/azure/cosmos-db/table/faq"),
        &[
            prepare(table(r#"{"TableName":"<N>Ab"}"#)),
            ask(table(r#"{"TableName":"<N>aB"}"#), responds(201)),
        ],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A backslash is no table to delete, and is MethodNotAllowed.",
        CHARACTERS,
        &[ask(
            delete("Tables('%5C')"),
            rejects(405, "MethodNotAllowed", "RequestHandler.Delete{text}"),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: An insert into a table that does not exist is ResourceNotFound.",
        LENGTHS,
        &[ask(
            send("POST", "<N>", Body::Row("r", r#""A":1"#)),
            rejects(404, "ResourceNotFound", "The specified resource does not exist.{text}")
                .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A list of tables has its metadata at its end.",
        recorded("cosmos/go_TestQueryTable_cosmos.json", 5, "2021-08-31"),
        &[
            prepare(table(r#"{"TableName":"<N>1"}"#)),
            ask(
                get("Tables?$filter=TableName%20ge%20'<N>'%20and%20TableName%20lt%20'<N>z'&$format=application%2Fjson%3Bodata%3Dminimalmetadata"),
                responds(200).body(&[
                    Has(r#"{"value":[{"TableName":"#),
                    Has(r##"}],"odata.metadata":"<base>/$metadata#Tables"}"##),
                ]),
            ),
        ],
    ),
    fact(
        Area::Paging,
        "Cosmos DB: A page of tables that `$top` ends has a continuation with an id.",
        recorded("cosmos/go_TestQueryTable_cosmos.json", 6, "2021-08-31"),
        &[
            prepare(table(r#"{"TableName":"<N>1"}"#)),
            prepare(table(r#"{"TableName":"<N>2"}"#)),
            prepare(table(r#"{"TableName":"<N>3"}"#)),
            ask(
                get("Tables?$filter=TableName%20ge%20'<N>'%20and%20TableName%20lt%20'<N>z'&$format=application%2Fjson%3Bodata%3Dminimalmetadata&$top=2"),
                responds(200).headers(&[("x-ms-continuation-NextTableName", "{text}RID:~{text}#RT:1#TRC:2")]),
            ),
        ],
    ),
    fact(
        Area::Paging,
        "Cosmos DB: The last page of a filtered list of tables may be empty.",
        recorded("cosmos/go_TestQueryTable_cosmos.json", 8, "2021-08-31"),
        &[
            prepare(table(r#"{"TableName":"<N>1"}"#)),
            prepare(table(r#"{"TableName":"<N>2"}"#)),
            prepare(get("Tables?$filter=TableName%20ge%20'<N>'%20and%20TableName%20lt%20'<N>z'&$format=application%2Fjson%3Bodata%3Dminimalmetadata&$top=2")),
            ask(
                get("Tables?$filter=TableName%20ge%20'<N>'%20and%20TableName%20lt%20'<N>z'&$format=application%2Fjson%3Bodata%3Dminimalmetadata&$top=2&<next>"),
                responds(200)
                    .headers(&[("x-ms-continuation-NextTableName", "")])
                    .body(&[Is(r#"{"value":[],"odata.metadata":"<base>/$metadata#Tables"}"#)]),
            ),
        ],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: The creation of a table below a table is InvalidInput.",
        TABLE_IN_URL,
        &[ask(
            send("POST", "<T>/Tables", Body::Json(r#"{"TableName":"<T>"}"#)),
            rejects(400, "InvalidInput", URL)
                .headers(&[("Content-Type", "application/json;odata=fullmetadata")]),
        )],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: The deletion of a table below a table is InvalidInput.",
        TABLE_IN_URL,
        &[ask(
            delete("<T>/Tables('<T>')"),
            rejects(400, "InvalidInput", URL)
                .headers(&[("Content-Type", "application/json;odata=fullmetadata")]),
        )],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: An insert into encoded slashes is InvalidInput.",
        CHARACTERS,
        &[ask(
            send("POST", "%2F%2F", Body::Row("r", "")),
            rejects(400, "InvalidInput", URL),
        )],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: A deletion in encoded slashes is InvalidInput of a value.",
        CHARACTERS,
        &[ask(
            delete("%2F%2F(PartitionKey='<K>',RowKey='r')").headers(&[("If-Match", "*")]),
            rejects(400, "InvalidInput", "One of the input values is invalid."),
        )],
    ),
    fact(
        Area::Service,
        "Cosmos DB: The properties of the service are not set, and the rejection is JSON.",
        recorded("cosmos/py_test_set_service_properties_not_supported_cosmos.json", 0, "2026-03-30"),
        &[ask(
            send(
                "PUT",
                "?restype=service&comp=properties",
                Body::Xml("<?xml version='1.0' encoding='utf-8'?>\n<StorageServiceProperties><Cors /></StorageServiceProperties>"),
            )
            .headers(XML),
            rejects(405, "MethodNotAllowed", "The requested operation is not supported.")
                .headers(&[("Content-Type", "application/json;odata=fullmetadata")]),
        )],
    ),
    fact(
        Area::Access,
        "Cosmos DB: A signature without the permission is Forbidden.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[ask(
            send("PUT", "<R:r>", Body::Row("r", r#""A":1"#))
                .headers(&[("Accept", "application/json")])
                .auth(READ),
            rejects(
                403,
                "Forbidden",
                "This request is not authorized to perform this operation using this permission.",
            )
            .headers(&[("Content-Type", "application/json")]),
        )],
    ),
    fact(
        Area::Access,
        "Cosmos DB: A read without the permission is Forbidden, at the level of metadata that it accepts.",
        suite("azure-data-tables for Python, two recorded reads", "2021-09"),
        &[ask(
            get("<R:r>").auth(Auth::Sas(&[("sv", "2019-02-02"), ("tn", "<T>"), ("sp", "a"), ("se", "<soon>")])),
            rejects(403, "Forbidden", "{text}")
                .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
        )],
    ),
    fact(
        Area::Access,
        "Cosmos DB: A signature for a range of keys is MethodNotAllowed.",
        suite("Azure.Data.Tables for .NET, recorded since May 2022", "2022-05"),
        &[
            prepare(insert("01", "")),
            ask(
                get("<T>()").auth(Auth::Sas(&[
                    ("sv", "2019-02-02"),
                    ("tn", "<T>"),
                    ("spk", "<K>"),
                    ("srk", "01"),
                    ("epk", "<K>"),
                    ("erk", "01"),
                    ("sp", "raud"),
                    ("se", "<soon>"),
                ])),
                rejects(
                    405,
                    "MethodNotAllowed",
                    "Shared access signature with PartitionKey or RowKey are not supported",
                )
                .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
            ),
        ],
    ),
    fact(
        Area::Access,
        "Cosmos DB: A wrong signature is Forbidden, and the text has what was signed.",
        suite("seven clients of Microsoft, recorded 2020 to 2021", "2021-09"),
        &[ask(
            get("<T>()").auth(Auth::Wrong),
            rejects(
                403,
                "Forbidden",
                "The input authorization token can't serve the request. Please check that the expected payload is built as per the protocol, and check the key being used. Server used the following payload to sign: '{text}",
            ),
        )],
    ),
    fact(
        Area::Tables,
        "Cosmos DB: A table is deleted with 204 and a Content-Type.",
        recorded("cosmos/net_CustomEntityMergeRespectsEtag_cosmosAAD.json", 8, "2024-09-11"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#)),
            ask(
                delete("Tables('<N>')"),
                responds(204).headers(&[("Content-Type", "application/json")]),
            ),
        ],
    ),
];
