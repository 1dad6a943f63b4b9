//! Facts of keys: their characters and lengths, and how URLs quote them.

use super::sources::{DATA_MODEL, NO_CONTENT, QUERIES, recorded, suite};
use crate::fact::Part::{Has, Is};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, batch, delete, get, insert, send};

/// The tests of CloudStub, which state what a live account answered.
const CLOUD_STUB: Source = suite("CloudStub by Andrei15193 on live accounts", "2026-11-21");
const BASIC: Source = suite(
    "azure-data-tables for Python, recorded test_encoder.py test_encoder_create_entity_basic",
    "2024",
);
const COMPLEX_KEYS: Source = suite(
    "azure-data-tables for Python, recorded test_encoder.py test_encoder_create_entity_complex_keys",
    "2022 to 2026",
);
const INVALID: &str = "One of the request inputs is not valid.";

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Keys, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A PartitionKey may be empty.",
        recorded(
            "storage/py2017_entity_insert_entity_empty_string_pk.json",
            0,
            "2017-11-10",
        ),
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"RowKey":"rk","PartitionKey":""}"#)).headers(NO_CONTENT),
            responds(204).headers(&[("ETag", "{etag}")]),
        )],
    ),
    fact(
        "A RowKey may be empty.",
        recorded(
            "storage/py2017_entity_insert_entity_empty_string_rk.json",
            0,
            "2017-11-10",
        ),
        &[ask(insert("", ""), responds(204).headers(&[("ETag", "{etag}")]))],
    ),
    fact(
        "A Location has the empty quotes of an empty key.",
        recorded(
            "storage/py2017_entity_insert_entity_empty_string_rk.json",
            0,
            "2017-11-10",
        ),
        &[ask(
            insert("", r#""A":1"#),
            responds(204).headers(&[("Location", "<base>/<R:>")]),
        )],
    ),
    fact(
        "A Location doubles the quotes of a key.",
        recorded(
            "storage/py2017_entity_operations_on_entity_with_partition_key_having_single_quote.json",
            0,
            "2019-10-25",
        ),
        &[ask(
            insert("a''''b", ""),
            responds(204).headers(&[("Location", "<base>/<T>(PartitionKey='{text}',RowKey='a''''''''b')")]),
        )],
    ),
    fact(
        "An entity is updated by a URL that doubles the quotes of its key.",
        recorded(
            "storage/py2017_entity_operations_on_entity_with_partition_key_having_single_quote.json",
            3,
            "2019-10-25",
        ),
        &[
            prepare(insert("a''''b", r#""sign":"aquarius""#)),
            ask(
                send(
                    "PUT",
                    "<R:a''''''''b>",
                    Body::Row("a''''b", r#""newField":"newFieldValue""#),
                )
                .headers(&[("If-Match", "*")]),
                responds(204).headers(&[("ETag", "{etag}")]),
            ),
        ],
    ),
    fact(
        "An entity is read by a URL that doubles the quotes of its key.",
        recorded(
            "storage/py2017_entity_operations_on_entity_with_partition_key_having_single_quote.json",
            2,
            "2019-10-25",
        ),
        &[
            prepare(insert("a''''b", r#""sign":"aquarius""#)),
            ask(
                get("<R:a''''''''b>"),
                responds(200).body(&[Has(r#""RowKey":"a''''b""#), Has(r#""sign":"aquarius""#)]),
            ),
        ],
    ),
    fact(
        "An entity is deleted by a URL that doubles the quotes of its key.",
        recorded(
            "storage/py2017_entity_operations_on_entity_with_partition_key_having_single_quote.json",
            5,
            "2019-10-25",
        ),
        &[
            prepare(insert("a''''b", "")),
            ask(delete("<R:a''''''''b>").headers(&[("If-Match", "*")]), responds(204)),
        ],
    ),
    fact(
        "A Location encodes characters beyond ASCII as UTF-8.",
        recorded("storage/node2017_nonascii_0.json", 1, "2017-01-05"),
        &[ask(
            insert("⒈①Ⅻㄨㄩ", r#""Value":"test""#),
            responds(204).headers(&[(
                "Location",
                "<base>/<T>(PartitionKey='{text}',RowKey='%E2%92%88%E2%91%A0%E2%85%AB%E3%84%A8%E3%84%A9')",
            )]),
        )],
    ),
    fact(
        "An entity is read by a key of characters beyond ASCII.",
        recorded("storage/node2017_nonascii_0.json", 2, "2017-01-05"),
        &[
            prepare(insert("⒈①Ⅻㄨㄩ", r#""Value":"test""#)),
            ask(
                get("<R:%E2%92%88%E2%91%A0%E2%85%AB%E3%84%A8%E3%84%A9>"),
                responds(200).body(&[Has(r#""Value":"test""#)]),
            ),
        ],
    ),
    fact(
        "A Location encodes spaces, double quotes and percent signs, and doubles single quotes.",
        recorded("storage/node2017_query_001.json", 1, "2017-01-05"),
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"row-ô- -''-\\\"-%20-%27-rk1\"}",
            ])),
            responds(202).body(&[Has("RowKey='row-%C3%B4-%20-''''-%22-%2520-%2527-rk1')\n")]),
        )],
    ),
    fact(
        "The quotes of the keys in a URL may be percent-encoded.",
        recorded("storage/node2017_service_010.json", 2, "2017-08-30"),
        &[
            prepare(insert("row1", r#""field":"JSON <test> {} :{ !@#$%^&*()""#)),
            ask(
                get("<T>(PartitionKey=%27<K>%27,RowKey=%27row1%27)"),
                responds(200).body(&[Has(r#""field":"JSON <test> {} :{ !@#$%^&*()""#)]),
            ),
        ],
    ),
    fact(
        "Every sign around the keys in a URL may be percent-encoded.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                get("<T>%28PartitionKey%3D%27<K>%27%2CRowKey%3D%27r%27%29"),
                responds(200).body(&[Has(r#""RowKey":"r""#)]),
            ),
        ],
    ),
    fact(
        "A Location keeps `*` and `!`, and encodes `@`, `$` and `%`.",
        BASIC,
        &[ask(
            insert("RK'@*$!%", ""),
            responds(204).headers(&[("Location", "<base>/<R:RK''%40*%24!%25>")]),
        )],
    ),
    fact(
        "A Location encodes colons.",
        CLOUD_STUB,
        &[ask(
            insert("a:b", ""),
            responds(204).headers(&[("Location", "<base>/<R:a%3Ab>")]),
        )],
    ),
    fact(
        "An entity without keys is PropertiesNeedValue.",
        recorded("storage/go_TestInvalidEntity_storage.json", 0, "2021-08-02"),
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"String":"stringystring","Value":10}"#)).headers(NO_CONTENT),
            rejects(
                400,
                "PropertiesNeedValue",
                "The values are not specified for all properties in the entity.",
            ),
        )],
    ),
    fact(
        "A key that is a number is InvalidInput.",
        suite(
            "azure-data-tables for Python, recorded test_encoder.py test_encoder_create_entity_atypical_values",
            "2022 to 2026",
        ),
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>","RowKey":1}"#)),
            rejects(400, "InvalidInput", INVALID),
        )],
    ),
    fact(
        "A key with the type of a time is InvalidInput in an insert.",
        COMPLEX_KEYS,
        &[ask(
            insert("2021-01-01T00:00:00Z", r#""RowKey@odata.type":"Edm.DateTime""#),
            rejects(400, "InvalidInput", INVALID),
        )],
    ),
    fact(
        "A key with the type of a GUID is InvalidInput in an insert.",
        COMPLEX_KEYS,
        &[ask(
            insert(
                "c9da6455-213d-42c9-9a79-3e9149a57833",
                r#""RowKey@odata.type":"Edm.Guid""#,
            ),
            rejects(400, "InvalidInput", INVALID),
        )],
    ),
    fact(
        "A PartitionKey with a slash is OutOfRangeInput, and the text repeats it.",
        CLOUD_STUB,
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>/a","RowKey":"r"}"#)),
            rejects(
                400,
                "OutOfRangeInput",
                "The 'PartitionKey' parameter of value '<K>/a' is out of range.",
            ),
        )],
    ),
    fact(
        "A PartitionKey with a backslash is OutOfRangeInput.",
        CLOUD_STUB,
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>\\a","RowKey":"r"}"#)),
            rejects(
                400,
                "OutOfRangeInput",
                r"The 'PartitionKey' parameter of value '<K>\a' is out of range.",
            ),
        )],
    ),
    fact(
        "A PartitionKey with a number sign is OutOfRangeInput.",
        CLOUD_STUB,
        &[ask(
            send("POST", "<T>", Body::Json(r##"{"PartitionKey":"<K>#a","RowKey":"r"}"##)),
            rejects(
                400,
                "OutOfRangeInput",
                "The 'PartitionKey' parameter of value '<K>#a' is out of range.",
            ),
        )],
    ),
    fact(
        "A PartitionKey with a question mark is OutOfRangeInput.",
        CLOUD_STUB,
        &[ask(
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>?a","RowKey":"r"}"#)),
            rejects(
                400,
                "OutOfRangeInput",
                "The 'PartitionKey' parameter of value '<K>?a' is out of range.",
            ),
        )],
    ),
    fact(
        "A key of 2,048 characters is PropertyValueTooLarge.",
        CLOUD_STUB,
        &[ask(
            insert("<x*2048>", ""),
            rejects(400, "PropertyValueTooLarge", "{text}"),
        )],
    ),
    fact(
        "A key may have 512 characters, which is 1 KiB of UTF-16.",
        DATA_MODEL,
        &[ask(insert("<x*512>", ""), responds(204))],
    ),
    fact(
        "Rows are read in the order of their keys, as texts.",
        QUERIES,
        &[
            prepare(insert("10", "")),
            prepare(insert("2", "")),
            prepare(insert("1", "")),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'&$select=RowKey")
                    .headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).body(&[Is(r#"{"value":[{"RowKey":"1"},{"RowKey":"10"},{"RowKey":"2"}]}"#)]),
            ),
        ],
    ),
];
