//! Facts of pages and their continuations.

use super::sources::{NO_CONTENT, PAGES_OF_RESULTS, page, recorded, report};
use crate::fact::Part::{Has, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, Step, batch, get, insert, send, table};

const ROWS: &str = "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"<i>\"}";

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Paging, name, source, exchanges).on(On::Storage)
}

/// Five rows, as recorded.
const FIVE: &[&str] = &[
    "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"rk801016e81\"}",
    "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"rk801016e812\"}",
    "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"rk801016e8123\"}",
    "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"rk801016e81234\"}",
    "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"rk801016e812345\"}",
];

/// Inserts a hundred rows whose keys have this beginning.
macro_rules! hundred {
    ($begin:literal) => {
        batch(Body::Repeated(
            100,
            concat!(
                "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"",
                $begin,
                "<i>\"}"
            ),
        ))
    };
}

/// Creates the fact's own table.
const OWN: Step = table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT);

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A page that `$top` ends has a continuation with both keys.",
        recorded("storage/py2017_entity_query_entities_with_top.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(batch(Body::Repeated(3, ROWS))),
            ask(
                get("<N>()?$top=2"),
                responds(200).headers(&[
                    ("x-ms-continuation-NextPartitionKey", "{some}"),
                    ("x-ms-continuation-NextRowKey", "{some}"),
                ]),
            ),
        ],
    ),
    fact(
        "A continuation is `1!`, the length of a text, and the text in Base64 with `-` for `=`.",
        recorded("storage/py2017_entity_query_entities_with_top.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(
                send(
                    "POST",
                    "<N>",
                    Body::Json(r#"{"PartitionKey":"pkc12a1338","RowKey":"rk1"}"#),
                )
                .headers(NO_CONTENT),
            ),
            prepare(
                send(
                    "POST",
                    "<N>",
                    Body::Json(r#"{"PartitionKey":"pkc12a1338","RowKey":"rk2"}"#),
                )
                .headers(NO_CONTENT),
            ),
            prepare(
                send(
                    "POST",
                    "<N>",
                    Body::Json(r#"{"PartitionKey":"pkc12a1338","RowKey":"rk3"}"#),
                )
                .headers(NO_CONTENT),
            ),
            ask(
                get("<N>()?$top=2"),
                responds(200).headers(&[("x-ms-continuation-NextPartitionKey", "1!16!cGtjMTJhMTMzOA--")]),
            ),
        ],
    ),
    fact(
        "A page with fewer rows than `$top` has no continuation.",
        recorded("storage/node2017_query_009.json", 2, "2017-01-05"),
        &[
            prepare(OWN),
            prepare(batch(Body::Repeated(5, ROWS))),
            ask(
                get("<N>?$top=10"),
                responds(200).headers(&[
                    ("x-ms-continuation-NextPartitionKey", ""),
                    ("x-ms-continuation-NextRowKey", ""),
                ]),
            ),
        ],
    ),
    fact(
        "A page of tables that `$top` ends has a continuation.",
        recorded("storage/py2017_table_list_tables_with_marker.json", 4, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>1"}"#).headers(NO_CONTENT)),
            prepare(table(r#"{"TableName":"<N>2"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables?$top=2").headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).headers(&[("x-ms-continuation-NextTableName", "{some}")]),
            ),
        ],
    ),
    fact(
        "A page has up to 1,000 rows.",
        PAGES_OF_RESULTS,
        &[
            prepare(hundred!("a")),
            prepare(hundred!("b")),
            prepare(hundred!("c")),
            prepare(hundred!("d")),
            prepare(hundred!("e")),
            prepare(hundred!("f")),
            prepare(hundred!("g")),
            prepare(hundred!("h")),
            prepare(hundred!("i")),
            prepare(hundred!("j")),
            prepare(insert("z", "")),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'&$select=RowKey"),
                responds(200)
                    .headers(&[
                        ("x-ms-continuation-NextPartitionKey", "{some}"),
                        ("x-ms-continuation-NextRowKey", "{some}"),
                    ])
                    .body(&[Has(r#""RowKey":"j99""#), Lacks(r#""RowKey":"z""#)]),
            ),
        ],
    ),
    fact(
        "A `$top` of more than 1,000 is rejected.",
        page(
            "https://learn.microsoft.com/en-us/rest/api/storageservices/query-operators-supported-for-the-table-service",
        ),
        &[ask(get("<T>()?$top=1001"), rejects(400, "{text}", "{text}"))],
    ),
    fact(
        "A continued query returns the next page, with a continuation of its own.",
        recorded(
            "storage/py2017_entity_query_entities_with_top_and_next.json",
            3,
            "2017-11-10",
        ),
        &[
            prepare(OWN),
            prepare(batch(Body::Changes(FIVE))),
            prepare(get("<N>()?$top=2")),
            ask(
                get("<N>()?$top=2&<next>"),
                responds(200)
                    .headers(&[("x-ms-continuation-NextRowKey", "{some}")])
                    .body(&[
                        Has(r#""RowKey":"rk801016e8123","#),
                        Has(r#""RowKey":"rk801016e81234","#),
                        Lacks(r#""RowKey":"rk801016e812345""#),
                        Lacks(r#""RowKey":"rk801016e812","#),
                    ]),
            ),
        ],
    ),
    fact(
        "The last page has the remaining rows and no continuation.",
        recorded(
            "storage/py2017_entity_query_entities_with_top_and_next.json",
            4,
            "2017-11-10",
        ),
        &[
            prepare(OWN),
            prepare(batch(Body::Changes(FIVE))),
            prepare(get("<N>()?$top=2")),
            prepare(get("<N>()?$top=2&<next>")),
            ask(
                get("<N>()?$top=2&<next>"),
                responds(200)
                    .headers(&[
                        ("x-ms-continuation-NextPartitionKey", ""),
                        ("x-ms-continuation-NextRowKey", ""),
                    ])
                    .body(&[
                        Has(r#""RowKey":"rk801016e812345","#),
                        Lacks(r#""RowKey":"rk801016e81234","#),
                    ]),
            ),
        ],
    ),
    fact(
        "A continuation with an empty NextRowKey is InvalidInput.",
        report("https://github.com/microsoft/AzureStorageExplorer/issues/5434"),
        &[ask(
            get("<T>()?NextPartitionKey=1!4!azAw&NextRowKey="),
            rejects(400, "InvalidInput", "{text}"),
        )],
    ),
];
