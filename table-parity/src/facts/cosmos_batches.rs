//! Facts of Cosmos DB for Table: batches.

use super::sources::{recorded, suite};
use crate::fact::Part::{Has, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, batch, get, insert, send};

const CLIENTS: Source = suite("seven clients of Microsoft, recorded 2020 to 2025", "2025");
/// Three rows.
const THREE: &[&str] = &[
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\"}",
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"2\"}",
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"3\"}",
];

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Batches, name, source, exchanges).on(On::Cosmos)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "Cosmos DB: The parts of a batch are numbered from 1, and an insert has its ETag first.",
        recorded("cosmos/go_TestBatchMixed_cosmos.json", 1, "2021-08-02"),
        &[ask(
            batch(Body::Changes(THREE)),
            responds(202).body(&[
                Has("HTTP/1.1 204 No Content\nETag: {etag}\nPreference-Applied: return-no-content\nLocation: <base>/<R:1>\nContent-ID: 1\n"),
                Has("Location: <base>/<R:2>\nContent-ID: 2\n"),
                Lacks("DataServiceVersion"),
            ]),
        )],
    ),
    fact(
        "Cosmos DB: A tunnelled merge in a batch has its ETag, and a deletion nothing but its number.",
        recorded("cosmos/go_TestBatchMixed_cosmos.json", 3, "2021-08-02"),
        &[
            prepare(insert("1", "")),
            prepare(insert("2", "")),
            ask(
                batch(Body::Changes(&[
                    "POST <base>/<R:1>\nX-HTTP-Method: MERGE\nIf-Match: *\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\",\"MergeProperty\":\"foo\"}",
                    "DELETE <base>/<R:2>\nIf-Match: *",
                ])),
                responds(202).body(&[
                    Has("HTTP/1.1 204 No Content\nETag: {etag}\nContent-ID: 1\n"),
                    Has("HTTP/1.1 204 No Content\nContent-ID: 2\n"),
                ]),
            ),
        ],
    ),
    fact(
        "Cosmos DB: A merge in a batch appends its properties.",
        recorded("cosmos/go_TestBatchMixed_cosmos.json", 4, "2021-08-02"),
        &[
            prepare(insert("1", r#""String":"someString""#)),
            prepare(batch(Body::Changes(&[
                "POST <base>/<R:1>\nX-HTTP-Method: MERGE\nIf-Match: *\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\",\"MergeProperty\":\"foo\"}",
            ]))),
            ask(
                get("<T>()?$filter=RowKey+eq+'1'"),
                responds(200).body(&[Has(r#""String":"someString","MergeProperty":"foo","Timestamp":"{time}"}"#)]),
            ),
        ],
    ),
    fact(
        "Cosmos DB: A batch that fails has one part with the index of the failed operation, and no number.",
        recorded("cosmos/go_TestBatchError_cosmos.json", 2, "2021-09-13"),
        &[
            prepare(insert("3", "")),
            ask(
                batch(Body::Changes(THREE)),
                rejects(202, "EntityAlreadyExists", "2:The specified entity already exists.").body(&[
                    Has("HTTP/1.1 409 Conflict\nContent-Type: application/json;odata=fullmetadata\n\n{"),
                    Has(r"already exists.\n\nRequestID:{id}\n"),
                    Lacks("Content-ID"),
                    Lacks("HTTP/1.1 204"),
                ]),
            ),
        ],
    ),
    fact(
        "Cosmos DB: A batch of one operation has the index in its error text.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch_cosmos.py test_new_delete_nonexistent_entity",
            "2023 to 2026",
        ),
        &[ask(
            batch(Body::Changes(&["DELETE <base>/<R:r>\nIf-Match: *"])),
            rejects(202, "ResourceNotFound", "0:The specified resource does not exist.")
                .body(&[Lacks("Content-ID")]),
        )],
    ),
    fact(
        "Cosmos DB: A batch for a table that does not exist leaves the index out.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch_cosmos.py test_new_non_existent_table",
            "2023 to 2026",
        ),
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
            ])),
            rejects(202, "ResourceNotFound", "The specified resource does not exist.{text}"),
        )],
    ),
    fact(
        "Cosmos DB: The same row twice in a batch rejects the batch as a whole.",
        CLIENTS,
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\"}",
                "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\"}",
            ])),
            rejects(
                400,
                "InvalidDuplicateRow",
                "1:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
            )
            .headers(&[("Content-Type", "application/json;odata=fullmetadata")]),
        )],
    ),
    fact(
        "Cosmos DB: Two partitions in a batch are BadRequest at the index 0.",
        CLIENTS,
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
                "POST <base>/<T>\n\n{\"PartitionKey\":\"<K>other\",\"RowKey\":\"r\"}",
            ])),
            rejects(202, "BadRequest", "0:Message: {text}")
                .body(&[
                    Has("Requests originating from scripts cannot reference partition keys other than the one for which client request was submitted."),
                    Lacks("Content-ID"),
                ]),
        )],
    ),
    fact(
        "Cosmos DB: An empty change set is malformed.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch_cosmos.py test_empty_batch",
            "2023",
        ),
        &[ask(
            batch(Body::Batch(
                "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n--changeset_1\n\n--changeset_1--\n--batch_1--\n",
            )),
            rejects(
                400,
                "InvalidInput",
                "The batch request body is malformed. Please see https://docs.microsoft.com/en-us/rest/api/storageservices/performing-entity-group-transactions",
            ),
        )],
    ),
    fact(
        "Cosmos DB: An upsert in a batch has a Content-Type after its ETag.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch_cosmos.py test_batch_all_operations_together",
            "2023 to 2026",
        ),
        &[ask(
            batch(Body::Changes(&["PUT <base>/<R:r>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\",\"A\":1}"])),
            responds(202).body(&[Has(
                "HTTP/1.1 204 No Content\nETag: {etag}\nContent-Type: application/json\nContent-ID: 1\n",
            )]),
        )],
    ),
    fact(
        "Cosmos DB: A batch below a table is InvalidInput.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch_cosmos.py test_client_with_url_ends_with_table_name",
            "2023 to 2026",
        ),
        &[ask(
            send(
                "POST",
                "<T>/$batch",
                Body::Changes(&["POST <base>/<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}"]),
            ),
            rejects(400, "InvalidInput", "Request url is invalid.")
                .headers(&[("Content-Type", "application/json;odata=fullmetadata")]),
        )],
    ),
];
