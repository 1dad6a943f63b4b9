//! Facts of Cosmos DB for Table: entities, their keys and types, and conditions.

use super::sources::{recorded, suite};
use crate::fact::Part::{Has, Is, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, delete, get, insert, send};

const EDM_TYPES: Source = suite(
    "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_entity_with_edmtypes",
    "2024",
);
const COMPLEX_KEYS: Source = suite(
    "azure-data-tables for Python, recorded test_encoder_cosmos.py test_encoder_create_entity_complex_keys",
    "2026",
);
const TYPED_KEYS: Source = suite(
    "azure-data-tables for Python, recorded test_encoder_cosmos.py test_encoder_upsert_entity_complex_keys",
    "2023 to 2026",
);
const VALUE: &str = "One of the input values is invalid.";
const EMPTY_KEY: &str = "PartitionKey/RowKey cannot be empty";
const CONDITION: &str = "The update condition specified in the request was not satisfied.";
const MISSING: &str = "The specified resource does not exist.";
const FULL: &[(&str, &str)] = &[("Content-Type", "application/json;odata=fullmetadata")];
const STALE: &str = "W/\"datetime'2021-09-09T15%3A19%3A48.3640840Z'\"";
/// A tunnelled merge of any version.
const MERGE: &[(&str, &str)] = &[("X-HTTP-Method", "MERGE"), ("If-Match", "*")];

/// The properties of a recorded entity, as they were sent and read.
macro_rules! edm {
    () => {
        r#""Binary@odata.type":"Edm.Binary","Binary":"U29tZUJpbmFyeQ==","Bool":false,"DateTime@odata.type":"Edm.DateTime","DateTime":"2013-08-02T17:37:43.0090043Z","Double":1234.1234,"Guid@odata.type":"Edm.Guid","Guid":"4185404a-5818-48c3-b9be-f217df0dba6f","Int32":1234,"Int64@odata.type":"Edm.Int64","Int64":"123456789012","#
    };
}

const fn fact(area: Area, name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(area, name, source, exchanges).on(On::Cosmos)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        Area::Entities,
        "Cosmos DB: An entity is inserted with 204, its ETag and Location, and without DataServiceId.",
        recorded("cosmos/go_TestAddComplexEntity_cosmos.json", 1, "2021-09-01"),
        &[ask(
            insert("1", r#""Bool":true,"Integer":1"#),
            responds(204).headers(&[
                ("ETag", "{etag}"),
                ("Location", "<base>/<R:1>"),
                ("Preference-Applied", "return-no-content"),
                ("DataServiceId", ""),
            ]),
        )],
    ),
    fact(
        Area::Entities,
        "Cosmos DB: An inserted entity comes back with its table twice in the metadata, and its Timestamp last.",
        recorded("cosmos/go_TestContinuationTokens_cosmos.json", 1, "2024-02-26"),
        &[ask(
            send("POST", "<T>", Body::Row("0", r#""Value":1"#)),
            responds(201)
                .headers(&[("ETag", "{etag}"), ("Location", "<base>/<R:0>")])
                .body(&[Has(
                    r##"{"odata.metadata":"<base>/<T>/$metadata#<T>/@Element","odata.etag":"W/\"datetime'{time}'\"","PartitionKey":"<K>","RowKey":"0","Value":1,"Timestamp":"{time}"}"##,
                )]),
        )],
    ),
    fact(
        Area::Entities,
        "Cosmos DB: An entity that exists is rejected with full metadata if the request prefers no content.",
        suite("the client for Go, a recorded insert", "2021-07"),
        &[
            prepare(insert("r", "")),
            ask(
                insert("r", ""),
                rejects(409, "EntityAlreadyExists", "{text}").headers(FULL),
            ),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: All types come back as they were sent, in the order of the body.",
        recorded("cosmos/go_TestEdmMarshalling_cosmos.json", 2, "2024-02-26"),
        &[
            prepare(send(
                "POST",
                "<T>",
                Body::Json(concat!("{", edm!(), r#""PartitionKey":"<K>","RowKey":"1","String":"test"}"#)),
            )),
            ask(
                get("<R:1>"),
                responds(200).headers(&[("ETag", "{etag}")]).body(&[Has(concat!(
                    edm!(),
                    r#""PartitionKey":"<K>","RowKey":"1","String":"test","Timestamp":"{time}"}"#
                ))]),
            ),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: Full metadata comes before the metadata URL, and types the Timestamp.",
        recorded("cosmos/py_test_get_entity_full_metadata_cosmos.json", 2, "2024-05-04"),
        &[
            prepare(insert("rka2452feb", r#""age":39,"sex":"male""#)),
            ask(
                get("<R:rka2452feb>").headers(&[("Accept", "application/json;odata=fullmetadata")]),
                responds(200)
                    .headers(&[("Content-Type", "application/json;odata=fullmetadata")])
                    .body(&[
                        Has(r##"{"odata.type":"{text}.<T>","odata.id":"<base>/<R:rka2452feb>","odata.editLink":"<R:rka2452feb>","odata.metadata":"<base>/<T>/$metadata#<T>/@Element","odata.etag":"##),
                        Has(r#""Timestamp@odata.type":"Edm.DateTime","Timestamp":"{time}"}"#),
                    ]),
            ),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: A DateTime has seven digits after its seconds, and an integral Double a decimal point.",
        recorded("cosmos/py_test_get_entity_full_metadata_cosmos.json", 1, "2024-05-04"),
        &[ask(
            send(
                "POST",
                "<T>",
                Body::Row(
                    "rka2452feb",
                    r#""optional":null,"double@odata.type":"Edm.Double","double":5,"Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00.000000Z""#,
                ),
            ),
            responds(201).body(&[
                Has(r#""double":5.0,"#),
                Has(r#""Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00.0000000Z""#),
                Lacks("optional"),
            ]),
        )],
    ),
    fact(
        Area::Types,
        "Cosmos DB: The Doubles Infinity, -Infinity and NaN are texts with their type.",
        recorded("cosmos/py_test_get_entity_with_special_doubles_cosmos.json", 2, "2024-05-04"),
        &[
            prepare(insert(
                "rk4bb32e1",
                r#""inf@odata.type":"Edm.Double","inf":"Infinity","negativeinf@odata.type":"Edm.Double","negativeinf":"-Infinity","nan@odata.type":"Edm.Double","nan":"NaN""#,
            )),
            ask(
                get("<R:rk4bb32e1>"),
                responds(200).body(&[Has(
                    r#""inf@odata.type":"Edm.Double","inf":"Infinity","negativeinf@odata.type":"Edm.Double","negativeinf":"-Infinity","nan@odata.type":"Edm.Double","nan":"NaN","#,
                )]),
            ),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: Texts keep their quotes and spaces.",
        recorded("cosmos/go_TestEntityQuotes_cosmos.json", 2, "2021-09-10"),
        &[
            prepare(insert(
                "1",
                r#""DoubleQuote":"\"\"","JustSpaces":"    ","LeadingSpaces":"   abc","SingleQuote":"''""#,
            )),
            ask(
                get("<R:1>?$format=application%2Fjson%3Bodata%3Dminimalmetadata"),
                responds(200).body(&[
                    Has(r#""DoubleQuote":"\"\"","JustSpaces":"    ","LeadingSpaces":"   abc","#),
                    Has(r#""SingleQuote":"''","#),
                ]),
            ),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: A DateTime without a zone is one of UTC.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_entity_with_edmtypes",
            "2026",
        ),
        &[
            prepare(insert("r", r#""date":"2008-07-10T00:00:00","date@odata.type":"Edm.DateTime""#)),
            ask(
                get("<R:r>"),
                responds(200).body(&[Has(r#""date":"2008-07-10T00:00:00.0000000Z""#)]),
            ),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: A number with the type of a text is stored as a number.",
        EDM_TYPES,
        &[
            prepare(insert("r", r#""A":1"#)),
            prepare(
                send("POST", "<R:r>", Body::Row("r", r#""text":42,"text@odata.type":"Edm.String""#)).headers(MERGE),
            ),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""text":42"#)])),
        ],
    ),
    fact(
        Area::Types,
        "Cosmos DB: An Int64 out of its range is InvalidInput.",
        suite(
            "azure-data-tables for Python, recorded test_encoder_cosmos.py test_encoder_create_entity_atypical_values",
            "2023 to 2026",
        ),
        &[ask(
            insert("r", r#""A":"9223372036854775808","A@odata.type":"Edm.Int64""#),
            rejects(400, "InvalidInput", VALUE).headers(FULL),
        )],
    ),
    fact(
        Area::Types,
        "Cosmos DB: The name of a property that begins with a digit stands in the rejection.",
        suite(
            "azure-data-tables for Python, recorded test_encoder_cosmos.py test_encoder_create_entity_atypical_values",
            "2023 to 2026",
        ),
        &[ask(
            insert("r", r#""123":"a""#),
            rejects(
                400,
                "PropertyNameInvalid",
                "The property name '123' is invalid. See https://docs.microsoft.com/en-us/rest/api/storageservices/Understanding-the-Table-Service-Data-Model",
            ),
        )],
    ),
    fact(
        Area::Types,
        "Cosmos DB: Of the properties etag and Etag, the second is dropped.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_etag_duplicate_field",
            "2026",
        ),
        &[
            prepare(insert("r", r#""etag":"bar","Etag":"baz""#)),
            ask(
                get("<R:r>"),
                responds(200).body(&[Has(r#""etag":"bar""#), Lacks(r#""Etag""#)]),
            ),
        ],
    ),
    fact(
        Area::Keys,
        "Cosmos DB: An entity without keys is PropertiesNeedValue.",
        recorded("cosmos/go_TestInvalidEntity_cosmos.json", 1, "2021-08-02"),
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"String":"stringystring","Value":10}"#)),
            rejects(400, "PropertiesNeedValue", EMPTY_KEY).headers(FULL),
        )],
    ),
    fact(
        Area::Keys,
        "Cosmos DB: A missing PartitionKey is PropertiesNeedValue.",
        recorded("cosmos/py_test_insert_entity_missing_pk_cosmos.json", 1, "2024-05-04"),
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"RowKey":"rk"}"#)),
            rejects(400, "PropertiesNeedValue", EMPTY_KEY).headers(FULL),
        )],
    ),
    fact(
        Area::Keys,
        "Cosmos DB: A PartitionKey is not empty.",
        recorded("cosmos/py_test_insert_entity_empty_string_pk_cosmos.json", 1, "2024-05-04"),
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"RowKey":"rk","PartitionKey":""}"#)),
            rejects(400, "PropertiesNeedValue", EMPTY_KEY).headers(FULL),
        )],
    ),
    fact(
        Area::Keys,
        "Cosmos DB: A key that is a number is InvalidInput.",
        COMPLEX_KEYS,
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>","RowKey":1}"#)),
            rejects(400, "InvalidInput", VALUE),
        )],
    ),
    fact(
        Area::Keys,
        "Cosmos DB: A type of a key in an upsert is InvalidInput.",
        TYPED_KEYS,
        &[ask(
            send(
                "PUT",
                "<R:r>",
                Body::Json(r#"{"PartitionKey":"<K>","PartitionKey@odata.type":"Edm.Binary","RowKey":"r"}"#),
            ),
            rejects(400, "InvalidInput", VALUE).headers(FULL),
        )],
    ),
    fact(
        Area::Keys,
        "Cosmos DB: A Location encodes a percent sign twice, and no other of `@*$!`.",
        suite(
            "azure-data-tables for Python, recorded test_encoder_cosmos.py test_encoder_create_entity_basic",
            "2026",
        ),
        &[ask(
            insert("RK'@*$!%", ""),
            responds(204).headers(&[("Location", "<base>/<R:RK''@*$!%2525>")]),
        )],
    ),
    fact(
        Area::Entities,
        "Cosmos DB: A PUT answers 204 with an ETag and a Content-Type.",
        recorded("cosmos/net_CustomEntityMergeRespectsEtag_cosmosAAD.json", 1, "2024-09-11"),
        &[ask(
            send(
                "PUT",
                "<R:1>?$format=application%2Fjson%3Bodata%3Dminimalmetadata",
                Body::Row("1", r#""StringTypeProperty":"This is the original""#),
            )
            .headers(&[("Accept", "application/json")]),
            responds(204).headers(&[("ETag", "{etag}"), ("Content-Type", "application/json")]),
        )],
    ),
    fact(
        Area::Entities,
        "Cosmos DB: A tunnelled merge appends its properties after those of the entity.",
        recorded("cosmos/net_CustomEntityMergeRespectsEtag_cosmosAAD.json", 4, "2024-09-11"),
        &[
            prepare(insert("1", r#""StringTypeProperty":"This is the original""#)),
            prepare(
                send(
                    "POST",
                    "<R:1>",
                    Body::Row("1", r#""SomeStringProperty":"This is new and improved!""#),
                )
                .headers(MERGE),
            ),
            ask(
                get("<T>()?$format=application%2Fjson%3Bodata%3Dminimalmetadata&$filter=PartitionKey%20eq%20'<K>'%20and%20RowKey%20eq%20'1'"),
                responds(200).body(&[Has(
                    r#""StringTypeProperty":"This is the original","SomeStringProperty":"This is new and improved!","Timestamp":"{time}"}]"#,
                )]),
            ),
        ],
    ),
    fact(
        Area::Conditions,
        "Cosmos DB: A tunnelled merge with another ETag is UpdateConditionNotSatisfied, with full metadata.",
        recorded("cosmos/net_CustomEntityMergeRespectsEtag_cosmosAAD.json", 5, "2024-09-11"),
        &[
            prepare(insert("1", r#""A":1"#)),
            ask(
                send(
                    "POST",
                    "<R:1>?$format=application%2Fjson%3Bodata%3Dminimalmetadata",
                    Body::Row("1", r#""A":2"#),
                )
                .headers(&[
                    ("Accept", "application/json"),
                    ("X-HTTP-Method", "MERGE"),
                    ("If-Match", STALE),
                ]),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION).headers(FULL),
            ),
        ],
    ),
    fact(
        Area::Conditions,
        "Cosmos DB: A deletion with another ETag is UpdateConditionNotSatisfied, with full metadata.",
        recorded("cosmos/go_TestDeleteEntityWithETag_cosmos.json", 3, "2021-09-09"),
        &[
            prepare(insert("2", r#""A":1"#)),
            ask(
                delete("<R:2>").headers(&[("If-Match", STALE)]),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION).headers(FULL),
            ),
        ],
    ),
    fact(
        Area::Conditions,
        "Cosmos DB: A deletion with the ETag of the entity deletes it.",
        recorded("cosmos/go_TestDeleteEntityWithETag_cosmos.json", 4, "2021-09-09"),
        &[
            prepare(insert("1", r#""A":1"#)),
            ask(
                delete("<R:1>").headers(&[("If-Match", "<etag>")]),
                responds(204).headers(&[("ETag", "")]),
            ),
        ],
    ),
    fact(
        Area::Conditions,
        "Cosmos DB: A tunnelled merge with `If-Match: *` does not insert an entity.",
        recorded("cosmos/go_TestMergeEntityDoesNotExist_cosmos.json", 1, "2021-09-10"),
        &[ask(
            send("POST", "<R:1>", Body::Row("1", r#""Integer":1"#)).headers(MERGE),
            rejects(404, "ResourceNotFound", MISSING).headers(FULL),
        )],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: An entity that is not found is rejected in the accepted level of metadata.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_get_entity_not_existing",
            "2023 to 2026",
        ),
        &[ask(
            get("<R:r>"),
            rejects(404, "ResourceNotFound", "The specified resource does not exist.{text}")
                .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
        )],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: An entity that exists is rejected in the accepted level of metadata.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_insert_entity_conflict",
            "2026",
        ),
        &[
            prepare(insert("r", "")),
            ask(
                send("POST", "<T>", Body::Row("r", "")),
                rejects(409, "EntityAlreadyExists", "The specified entity already exists.{text}")
                    .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
            ),
        ],
    ),
    fact(
        Area::Errors,
        "Cosmos DB: An error is JSON whose text ends with the id of the request.",
        recorded("cosmos/go_TestDeleteEntityWithETag_cosmos.json", 3, "2021-09-09"),
        &[
            prepare(insert("2", r#""A":1"#)),
            ask(
                delete("<R:2>").headers(&[("If-Match", STALE)]),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION).body(&[Is(
                    r#"{"odata.error":{"code":"UpdateConditionNotSatisfied","message":{"lang":"en-us","value":"The update condition specified in the request was not satisfied.\nRequestID:{id}\n"}}}"#,
                )]),
            ),
        ],
    ),
];
