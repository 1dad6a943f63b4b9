//! Facts of queries: the form of their rows, and the selection of columns.

use super::sources::{NO_CONTENT, PAYLOAD, recorded, suite};
use crate::fact::Part::{Has, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, Step, get, insert, send, table};

const SELECTIONS: Source = suite(
    "azure-data-tables for Python and @azure/data-tables, recorded queries with a selection",
    "2020-07",
);

/// A query of the own partition.
macro_rules! partition {
    ($more:literal) => {
        concat!("<T>()?$filter=PartitionKey%20eq%20'<K>'", $more)
    };
}

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Queries, name, source, exchanges).on(On::Storage)
}

/// Creates the fact's own table.
const OWN: Step = table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT);

/// Inserts a row into the fact's own table.
const fn row(row: &'static str, properties: &'static str) -> Step {
    send("POST", "<N>", Body::Row(row, properties)).headers(NO_CONTENT)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A table without rows has an empty list.",
        recorded("storage/py2017_entity_query_zero_entities.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            ask(
                get("<N>()"),
                responds(200)
                    .headers(&[("x-ms-continuation-NextPartitionKey", "")])
                    .body(&[Has(r#""value":[]"#)]),
            ),
        ],
    ),
    fact(
        "A query returns all rows of a table, each with its ETag.",
        recorded("storage/py2017_entity_query_entities.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(row("rk23930f6b1", r#""sex":"male""#)),
            prepare(row("rk23930f6b12", r#""sex":"male""#)),
            ask(
                get("<N>()"),
                responds(200).body(&[Has(r#"[{"odata.etag":"W/\"datetime'{time}'\"","PartitionKey":"<K>","RowKey":"rk23930f6b1","#), Has(r#""RowKey":"rk23930f6b12","#)]),
            ),
        ],
    ),
    fact(
        "A query may leave out the parentheses after the table.",
        recorded("storage/node2017_service_009.json", 3, "2017-08-30"),
        &[
            prepare(OWN),
            prepare(row("row1", r#""field":"my field""#)),
            ask(
                get("<N>"),
                responds(200).body(&[Has(r#""RowKey":"row1""#), Has(r#""field":"my field""#)]),
            ),
        ],
    ),
    fact(
        "A query with full metadata has the type, id and edit link of each row.",
        recorded("storage/py2017_entity_query_entities_full_metadata.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(row("rk264f151d1", r#""sex":"male""#)),
            ask(
                get("<N>()").headers(&[("Accept", "application/json;odata=fullmetadata")]),
                responds(200)
                    .body(&[Has(r#""odata.type":"{text}.<N>""#), Has(r#""odata.id":"<base>/<N>(PartitionKey='<K>',RowKey='rk264f151d1')""#), Has(r#""odata.editLink":"<N>(PartitionKey='<K>',RowKey='rk264f151d1')""#), Has(r#""Timestamp@odata.type":"Edm.DateTime""#)]),
            ),
        ],
    ),
    fact(
        "A query without metadata has neither ETags nor types.",
        recorded("storage/py2017_entity_query_entities_with_property_resolver.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(row(
                "rkfb4a193b1",
                r#""age":"39","age@odata.type":"Edm.Int64","sex":"male""#,
            )),
            ask(
                get("<N>()").headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200)
                    .body(&[Has(r#"{"value":[{"PartitionKey":"<K>","RowKey":"rkfb4a193b1""#), Has(r#""age":"39""#), Lacks("odata.")]),
            ),
        ],
    ),
    fact(
        "A filter on the PartitionKey returns the rows of one partition.",
        recorded("storage/node2017_service_011.json", 4, "2017-08-30"),
        &[
            prepare(OWN),
            prepare(row("1st", r#""field1":"value""#)),
            prepare(row("2st", r#""field1":"value""#)),
            prepare(
                send(
                    "POST",
                    "<N>",
                    Body::Json(r#"{"PartitionKey":"other","RowKey":"2st","field1":"value"}"#),
                )
                .headers(NO_CONTENT),
            ),
            ask(
                get("<N>?$filter=PartitionKey%20eq%20'<K>'"),
                responds(200).body(&[Has(r#""RowKey":"1st""#), Has(r#""RowKey":"2st""#), Lacks(r#""PartitionKey":"other""#)]),
            ),
        ],
    ),
    fact(
        "Two filters on the PartitionKey that contradict each other return no row.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[
            prepare(insert("r", "")),
            ask(
                get(partition!("%20and%20PartitionKey%20eq%20'other'")),
                responds(200).body(&[Has(r#""value":[]"#)]),
            ),
        ],
    ),
    fact(
        "A selection returns its columns and the ETag of each row.",
        recorded("storage/py2017_entity_query_entities_with_select.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            prepare(row(
                "rkfcf314651",
                r#""age":"39","age@odata.type":"Edm.Int64","sex":"male","married":true"#,
            )),
            prepare(row(
                "rkfcf3146512",
                r#""age":"39","age@odata.type":"Edm.Int64","sex":"male","married":true"#,
            )),
            ask(
                get("<N>()?$select=age%2Csex"),
                responds(200).body(&[Has(r#"{"odata.etag":"W/\"datetime'{time}'\"","age@odata.type":"Edm.Int64","age":"39","sex":"male"}"#), Lacks("PartitionKey")]),
            ),
        ],
    ),
    fact(
        "A selection in a point read has null for a property that the entity does not have.",
        recorded("storage/py2017_entity_get_entity_with_select.json", 1, "2017-11-10"),
        &[
            prepare(insert(
                "rkabfa12a7",
                r#""age":"39","age@odata.type":"Edm.Int64","sex":"male","married":true"#,
            )),
            ask(
                get("<R:rkabfa12a7>?$select=age%2Csex%2Cxyz"),
                responds(200).headers(&[("ETag", "{etag}")]).body(&[Has(r#""age":"39""#), Has(r#""xyz":null"#)]),
            ),
        ],
    ),
    fact(
        "A selection of the keys and the Timestamp returns no other property.",
        recorded("storage/node2017_query_012.json", 2, "2017-01-05"),
        &[
            prepare(OWN),
            prepare(row("rk1", r#""Address":"street1","Name":"jennifer1""#)),
            ask(
                get("<N>?$select=PartitionKey%2CRowKey%2CTimestamp"),
                responds(200).body(&[Has(r#""Timestamp":"{time}""#), Lacks(r#""Address""#), Lacks("jennifer")]),
            ),
        ],
    ),
    fact(
        "A selection of one property returns it alone, in the order of the rows' keys.",
        recorded("storage/node2017_query_013.json", 2, "2017-01-05"),
        &[
            prepare(OWN),
            prepare(row("rk2", r#""Address":"street2""#)),
            prepare(row("rk1", r#""Address":"street1""#)),
            prepare(row("rk10", r#""Address":"street10""#)),
            ask(
                get("<N>?$select=Address"),
                responds(200).body(&[
                    Has(r#""Address":"street1"},{"odata.etag":"W/\"datetime'{time}'\"","Address":"street10"}"#),
                    Lacks("RowKey"),
                ]),
            ),
        ],
    ),
    fact(
        "An empty selection returns all columns.",
        recorded("storage/py2017_batch_batch_all_operations_together.json", 5, "2017-11-10"),
        &[
            prepare(insert(
                "batch_all_operations_together",
                r#""test":"true","test2":"value","test3":"3","test3@odata.type":"Edm.Int64""#,
            )),
            ask(
                get("<T>()?$filter=PartitionKey+eq+'<K>'&$select="),
                responds(200).body(&[Has(r#""RowKey":"batch_all_operations_together""#), Has(r#""test2":"value""#), Has(r#""test3":"3""#)]),
            ),
        ],
    ),
    fact(
        "The names of a selection are trimmed.",
        SELECTIONS,
        &[
            prepare(insert("r", r#""age":39,"sex":"male""#)),
            ask(
                get(partition!("&$select=age%2C%20sex")),
                responds(200).body(&[Has(r#""age":39"#), Has(r#""sex":"male""#), Lacks(" sex")]),
            ),
        ],
    ),
    fact(
        "A selection of a space is that of all columns.",
        SELECTIONS,
        &[
            prepare(insert("r", r#""age":39"#)),
            ask(
                get(partition!("&$select=%20")),
                responds(200).body(&[Has(r#""age":39"#), Has(r#""RowKey":"r""#)]),
            ),
        ],
    ),
    fact(
        "A selection that does not begin with a name is InvalidInput, without Cache-Control.",
        SELECTIONS,
        &[ask(
            get(partition!("&$select=%5B'age%2C%20sex'%5D")),
            rejects(400, "InvalidInput", "An identifier was expected at position 0.")
                .headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "The metadata of a query names its table.",
        recorded("storage/py2017_entity_query_entities.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            ask(
                get("<N>()"),
                responds(200).body(&[Has(r##""odata.metadata":"<base>/$metadata#<N>""##)]),
            ),
        ],
    ),
    fact(
        "The metadata of a query has its selection.",
        recorded("storage/py2017_entity_query_entities_with_select.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            ask(
                get("<N>()?$select=age%2Csex"),
                responds(200).body(&[Has(r##""odata.metadata":"<base>/$metadata#<N>&$select=age,sex""##)]),
            ),
        ],
    ),
    fact(
        "The metadata of a point read has its selection.",
        recorded("storage/py2017_entity_get_entity_with_select.json", 1, "2017-11-10"),
        &[
            prepare(insert("rkabfa12a7", r#""sex":"male""#)),
            ask(
                get("<R:rkabfa12a7>?$select=age%2Csex%2Cxyz"),
                responds(200).body(&[Has(
                    r##""odata.metadata":"<base>/$metadata#<T>/@Element&$select=age,sex,xyz""##,
                )]),
            ),
        ],
    ),
    fact(
        "The metadata of a query has its empty selection.",
        recorded("storage/py2017_batch_batch_all_operations_together.json", 5, "2017-11-10"),
        &[ask(
            get("<T>()?$filter=PartitionKey+eq+'<K>'&$select="),
            responds(200).body(&[Has(r##""odata.metadata":"<base>/$metadata#<T>&$select=""##)]),
        )],
    ),
    fact(
        "The metadata of a selection encodes its spaces.",
        SELECTIONS,
        &[
            prepare(insert("r", r#""age":39,"sex":"male""#)),
            ask(
                get(partition!("&$select=age%2C%20sex")),
                responds(200).body(&[Has(r##"$metadata#<T>&$select=age,%20sex""##)]),
            ),
        ],
    ),
    fact(
        "The format in a URL overrides the Accept header.",
        PAYLOAD,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                get(partition!("&$format=application%2Fjson%3Bodata%3Dnometadata"))
                    .headers(&[("DataServiceVersion", "3.0")]),
                responds(200).body(&[Lacks("odata."), Has(r#""RowKey":"r""#)]),
            ),
        ],
    ),
    fact(
        "The Content-Type of a response has the level of metadata.",
        recorded("storage/py2017_entity_query_entities.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            ask(
                get("<N>()"),
                responds(200).headers(&[
                    (
                        "Content-Type",
                        "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
                    ),
                ]),
            ),
        ],
    ),
    fact(
        "A response is not to be cached, and its type not to be guessed.",
        recorded("storage/py2017_entity_query_entities.json", 2, "2017-11-10"),
        &[
            prepare(OWN),
            ask(
                get("<N>()"),
                responds(200).headers(&[
                    ("Cache-Control", "no-cache"),
                    ("X-Content-Type-Options", "nosniff"),
                ]),
            ),
        ],
    ),
];
