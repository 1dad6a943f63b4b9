//! Facts of Cosmos DB for Table: queries, filters, and pages.

use super::sources::{recorded, report, suite};
use crate::fact::Part::{Has, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{get, insert};

const fn fact(area: Area, name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(area, name, source, exchanges).on(On::Cosmos)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        Area::Queries,
        "Cosmos DB: A query has its metadata after its rows.",
        recorded("cosmos/go_TestBatchMixed_cosmos.json", 2, "2021-08-02"),
        &[
            prepare(insert("1", r#""Integer":1"#)),
            ask(
                get("<T>()?$filter=RowKey+eq+'1'"),
                responds(200)
                    .headers(&[("Content-Type", "application/json;odata=minimalmetadata")])
                    .body(&[
                        Has(r#"{"value":[{"odata.etag":"#),
                        Has(r##"}],"odata.metadata":"<base>/$metadata#<T>"}"##),
                    ]),
            ),
        ],
    ),
    fact(
        Area::Queries,
        "Cosmos DB: Rows are read in the order in which they were inserted.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch_cosmos.py test_batch_inserts",
            "2023 to 2026",
        ),
        &[
            prepare(insert("2", "")),
            prepare(insert("10", "")),
            prepare(insert("1", "")),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'&$select=RowKey")
                    .headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).body(&[Has(r#"[{"RowKey":"2"},{"RowKey":"10"},{"RowKey":"1"}]"#)]),
            ),
        ],
    ),
    fact(
        Area::Queries,
        "Cosmos DB: The metadata of a selection does not name it.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_query_entities_with_select",
            "2026",
        ),
        &[
            prepare(insert("r", r#""age":39,"sex":"male""#)),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'&$select=age,sex"),
                responds(200).body(&[Has(r##""odata.metadata":"<base>/$metadata#<T>"}"##)]),
            ),
        ],
    ),
    fact(
        Area::Queries,
        "Cosmos DB: A selection keeps the space before a name.",
        suite("azure-data-tables for Python, a recorded query", "2020-09"),
        &[
            prepare(insert("r", r#""age":39,"sex":"male""#)),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'&$select=age%2C%20sex"),
                responds(200).body(&[Has(r#""age":39"#), Has(r#"" sex":null"#)]),
            ),
        ],
    ),
    fact(
        Area::Queries,
        "Cosmos DB: The properties of a selection are not sorted.",
        suite("azure-data-tables for Python, a recorded query", "2020-09"),
        &[
            prepare(insert("r", r#""age":39,"sex":"male""#)),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'&$select=age%2C%20sex"),
                responds(200).body(&[Has(r#""age":39," sex":null}"#)]),
            ),
        ],
    ),
    fact(
        Area::Queries,
        "Cosmos DB: `$format` is ignored, and Accept decides.",
        suite("the client for Go, four recorded reads", "2021-08"),
        &[
            prepare(insert("r", r#""age":39"#)),
            ask(
                get("<R:r>?$format=application%2Fjson%3Bodata%3Dfullmetadata"),
                responds(200)
                    .headers(&[("Content-Type", "application/json;odata=minimalmetadata")])
                    .body(&[Lacks("odata.editLink"), Lacks("Timestamp@odata.type")]),
            ),
        ],
    ),
    fact(
        Area::Filters,
        "Cosmos DB: A filter with a word too many is InvalidInput of the URL.",
        recorded("cosmos/py_test_query_invalid_filter_cosmos.json", 6, "2024-05-04"),
        &[ask(
            get("<T>()?$filter=aaa%20bbb%20ccc"),
            rejects(400, "InvalidInput", "Request url is invalid.")
                .headers(&[("Content-Type", "application/json;odata=minimalmetadata")]),
        )],
    ),
    fact(
        Area::Filters,
        "Cosmos DB: X'…' equals a text of the same bytes.",
        suite("seven clients of Microsoft, three recorded queries", "2021-04"),
        &[
            prepare(insert("r", r#""S":"foo""#)),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20S%20eq%20X'666f6f'"),
                responds(200).body(&[Has(r#""S":"foo""#)]),
            ),
        ],
    ),
    fact(
        Area::Filters,
        "Cosmos DB: A filter on the Timestamp finds nothing.",
        report("https://github.com/AzureCosmosDB/data-migration-desktop-tool/issues/239"),
        &[
            prepare(insert("r", "")),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20Timestamp%20ge%20datetime'2020-01-01T00:00:00Z'"),
                responds(200).body(&[Has(r#"{"value":[]"#)]),
            ),
        ],
    ),
    fact(
        Area::Paging,
        "Cosmos DB: The continuation of a query is JSON in NextPartitionKey, and NA in NextRowKey.",
        recorded("cosmos/go_TestContinuationTokens_cosmos.json", 11, "2024-02-26"),
        &[
            prepare(insert("0", "")),
            prepare(insert("1", "")),
            ask(
                get("<T>()?$top=1"),
                responds(200).headers(&[
                    (
                        "x-ms-continuation-NextPartitionKey",
                        r#"{"token":"{text}","range":{"min":"","max":"FF"}}"#,
                    ),
                    ("x-ms-continuation-NextRowKey", "NA"),
                ]),
            ),
        ],
    ),
    fact(
        Area::Paging,
        "Cosmos DB: A continued query without `$top` returns the remaining rows.",
        recorded("cosmos/go_TestContinuationTokens_cosmos.json", 12, "2024-02-26"),
        &[
            prepare(insert("0", r#""Value":1"#)),
            prepare(insert("9", r#""Value":10"#)),
            prepare(get("<T>()?$top=1")),
            ask(
                get("<T>()?<next>"),
                responds(200)
                    .headers(&[("x-ms-continuation-NextPartitionKey", "")])
                    .body(&[Has(r#""RowKey":"9","Value":10"#)]),
            ),
        ],
    ),
    fact(
        Area::Paging,
        "Cosmos DB: From its second page on, a query has its continuation in an array.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_cosmos.py test_query_entities_with_top_and_next",
            "2026",
        ),
        &[
            prepare(insert("0", "")),
            prepare(insert("1", "")),
            prepare(insert("2", "")),
            prepare(get("<T>()?$top=1")),
            ask(
                get("<T>()?$top=1&<next>"),
                responds(200).headers(&[(
                    "x-ms-continuation-NextPartitionKey",
                    r#"[{"token":"{text}","range":{"min":"","max":"FF"}}]"#,
                )]),
            ),
        ],
    ),
];
