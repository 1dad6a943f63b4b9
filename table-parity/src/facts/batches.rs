//! Facts of batches: their parts, and how they fail.

use super::sources::{NO_CONTENT, TRANSACTIONS, recorded, report, suite};
use crate::fact::Part::{Has, Is, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, batch, get, insert, send, table};

const CONDITION: &str = "The update condition specified in the request was not satisfied.";
const CLIENTS: Source = suite("seven clients of Microsoft, recorded 2020 to 2025", "2025");
/// The same row twice.
const TWICE: &[&str] = &[
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"R1\"}",
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"R1\"}",
];
/// Three rows, the last of which exists.
const THREE: &[&str] = &[
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\"}",
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"2\"}",
    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"3\"}",
];
/// The body of an error outside of the service's own code.
const UNREADABLE: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>InvalidInput</code><message xml:lang=\"en-US\">An error occurred while processing this request.\nRequestId:{id}\nTime:{time}</message></error>";

/// A lone query.
macro_rules! lone_query {
    ($row:literal) => {
        concat!(
            "--batch_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nGET <base>/<R:",
            $row,
            "> HTTP/1.1\nAccept: application/json;odata=minimalmetadata\n\n\n--batch_1--\n"
        )
    };
}

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Batches, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "An insert in a batch has a part with Location, DataServiceId and ETag, in this order.",
        recorded("storage/py2017_batch_batch_insert.json", 0, "2017-11-10"),
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<T>\nContent-ID: 1\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"batch_insert\",\"test2\":\"value\"}",
            ])),
            responds(202)
                .headers(&[
                    ("Content-Type", "multipart/mixed; boundary=batchresponse_{id}"),
                    ("Cache-Control", "no-cache"),
                    ("X-Content-Type-Options", "nosniff"),
                ])
                .body(&[Is(
                    "--batchresponse_{id}\nContent-Type: multipart/mixed; boundary=changesetresponse_{id}\n\n--changesetresponse_{id}\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nHTTP/1.1 204 No Content\nContent-ID: 1\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\nDataServiceVersion: 3.0;\nLocation: <base>/<R:batch_insert>\nDataServiceId: <base>/<R:batch_insert>\nETag: {etag}\n\n\n--changesetresponse_{id}--\n--batchresponse_{id}--\n",
                )]),
        )],
    ),
    fact(
        "An insert in a batch that prefers content has a part with 201 and the entity.",
        recorded("storage/node2017_batch_001.json", 1, "2017-01-05"),
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<T>\nPrefer: return-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"row4\",\"StringProperty\":\"stringSample\"}",
            ])),
            responds(202).body(&[Has("HTTP/1.1 201 Created\n"), Has("Preference-Applied: return-content\n"), Has(r#""StringProperty":"stringSample""#)]),
        )],
    ),
    fact(
        "A deletion in a batch has a part without an ETag.",
        recorded("storage/py2017_batch_batch_delete.json", 2, "2017-11-10"),
        &[
            prepare(insert("batch_delete", "")),
            ask(
                batch(Body::Changes(&["DELETE <base>/<R:batch_delete>\nContent-ID: 1\nIf-Match: *"])),
                responds(202).body(&[Has("HTTP/1.1 204 No Content\n"), Lacks("ETag")]),
            ),
        ],
    ),
    fact(
        "An update in a batch has a part with its ETag and `DataServiceVersion: 1.0;`.",
        recorded("storage/py2017_batch_batch_update.json", 2, "2017-11-10"),
        &[
            prepare(insert("batch_update", r#""test2":"value""#)),
            ask(
                batch(Body::Changes(&[
                    "PUT <base>/<R:batch_update>\nContent-ID: 1\nIf-Match: *\n\n{\"test2\":\"value1\"}",
                ])),
                responds(202).body(&[Has("DataServiceVersion: 1.0;\nETag: {etag}\n")]),
            ),
        ],
    ),
    fact(
        "A merge in a batch keeps the properties that it does not name.",
        recorded("storage/py2017_batch_batch_merge.json", 3, "2017-11-10"),
        &[
            prepare(insert("batch_merge", r#""test":"true","test2":"value""#)),
            prepare(batch(Body::Changes(&[
                "MERGE <base>/<R:batch_merge>\nIf-Match: *\n\n{\"test2\":\"value1\"}",
            ]))),
            ask(
                get("<R:batch_merge>"),
                responds(200).body(&[Has(r#""test":"true","test2":"value1""#)]),
            ),
        ],
    ),
    fact(
        "A merge in a batch without If-Match inserts an entity that does not exist.",
        recorded("storage/py2017_batch_batch_insert_merge.json", 1, "2017-11-10"),
        &[
            prepare(batch(Body::Changes(&[
                "MERGE <base>/<R:batch_insert_merge>\n\n{\"test2\":\"value\"}",
            ]))),
            ask(
                get("<R:batch_insert_merge>"),
                responds(200).body(&[Has(r#""test2":"value""#)]),
            ),
        ],
    ),
    fact(
        "An update in a batch replaces an entity of the given ETag.",
        recorded("storage/py2017_batch_batch_update_if_match.json", 2, "2017-11-10"),
        &[
            prepare(insert("rk7e2c1154", r#""other":20"#)),
            prepare(batch(Body::Changes(&[
                "PUT <base>/<R:rk7e2c1154>\nIf-Match: <etag>\n\n{\"age\":\"abc\",\"sex\":\"female\"}",
            ]))),
            ask(
                get("<R:rk7e2c1154>"),
                responds(200).body(&[Has(r#""age":"abc""#), Has(r#""sex":"female""#), Lacks(r#""other""#)]),
            ),
        ],
    ),
    fact(
        "The parts of a batch have the Content-IDs of its operations, in the order of these.",
        recorded("storage/py2017_batch_batch_all_operations_together.json", 4, "2017-11-10"),
        &[
            prepare(insert("1", "")),
            prepare(insert("2", "")),
            ask(
                batch(Body::Changes(&[
                    "POST <base>/<T>\nContent-ID: 1\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"0\"}",
                    "DELETE <base>/<R:1>\nContent-ID: 2\nIf-Match: *",
                    "PUT <base>/<R:2>\nContent-ID: 3\nIf-Match: *\n\n{\"test3\":10}",
                ])),
                responds(202).body(&[Has("Content-ID: 1\n{text}Content-ID: 2\n{text}Content-ID: 3\n")]),
            ),
        ],
    ),
    fact(
        "The Content-ID of an operation comes back in its part, and none where none was sent.",
        recorded("storage/node2017_batch_001.json", 2, "2017-01-05"),
        &[
            prepare(insert("row2", "")),
            ask(
                batch(Body::Changes(&[
                    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"row1\"}",
                    "DELETE <base>/<R:row2>\nContent-ID: 1\nIf-Match: *",
                ])),
                responds(202).body(&[Has("HTTP/1.1 204 No Content\n{text}Content-ID: 1\n"), Lacks("Content-ID: 0\n")]),
            ),
        ],
    ),
    fact(
        "A Content-ID of a part, outside of the operation's headers, does not come back.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch.py test_batch_all_operations_together",
            "2026",
        ),
        &[ask(
            batch(Body::Batch(
                "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n--changeset_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\nContent-ID: 0\n\nPOST <base>/<T> HTTP/1.1\nAccept: application/json;odata=minimalmetadata\nContent-Type: application/json\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}\n--changeset_1--\n--batch_1--\n",
            )),
            responds(202).body(&[Has("HTTP/1.1 204 No Content\n"), Lacks("Content-ID")]),
        )],
    ),
    fact(
        "An update in a batch that prefers no content has `DataServiceVersion: 3.0;` in its part.",
        CLIENTS,
        &[ask(
            batch(Body::Changes(&[
                "PUT <base>/<R:r>\nPrefer: return-no-content\n\n{\"A\":1}",
            ])),
            responds(202).body(&[Has("Preference-Applied: return-no-content\nDataServiceVersion: 3.0;\n")]),
        )],
    ),
    fact(
        "A deletion in a batch ignores Prefer.",
        CLIENTS,
        &[
            prepare(insert("r", "")),
            ask(
                batch(Body::Changes(&[
                    "DELETE <base>/<R:r>\nIf-Match: *\nPrefer: return-no-content",
                ])),
                responds(202).body(&[Has("DataServiceVersion: 1.0;\n"), Lacks("Preference-Applied")]),
            ),
        ],
    ),
    fact(
        "A change set may be empty.",
        recorded("storage/py2017_entity_query_zero_entities.json", 1, "2017-11-10"),
        &[ask(
            batch(Body::Changes(&[])),
            responds(202).body(&[Is(
                "--batchresponse_{id}\nContent-Type: multipart/mixed; boundary=changesetresponse_{id}\n\n--changesetresponse_{id}--\n--batchresponse_{id}--\n",
            )]),
        )],
    ),
    fact(
        "A lone query in a batch has a part of its own, outside of a change set.",
        recorded("storage/node2017_batch_009.json", 2, "2017-01-05"),
        &[
            prepare(insert("row1", r#""StringProperty":"stringSample""#)),
            ask(
                batch(Body::Batch(lone_query!("row1"))),
                responds(202).body(&[Has("--batchresponse_{id}\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nHTTP/1.1 200 OK\n"), Has(r#""StringProperty":"stringSample""#), Lacks("changesetresponse")]),
            ),
        ],
    ),
    fact(
        "A lone query in a batch that finds nothing has the index 0 in its text.",
        recorded("storage/node2017_batch_010.json", 1, "2017-01-05"),
        &[ask(
            batch(Body::Batch(lone_query!("row1"))),
            rejects(202, "ResourceNotFound", "0:The specified resource does not exist.").body(&[Has("HTTP/1.1 404 Not Found\n"), Lacks("changesetresponse")]),
        )],
    ),
    fact(
        "A batch that fails has one part, whose text begins with the index of the failed operation.",
        recorded("storage/go_TestBatchError_storage.json", 0, "2021-08-02"),
        &[
            prepare(insert("3", "")),
            ask(
                batch(Body::Changes(THREE)),
                rejects(202, "EntityAlreadyExists", "2:The specified entity already exists.").body(&[Has("HTTP/1.1 409 Conflict\n"), Lacks("HTTP/1.1 204")]),
            ),
        ],
    ),
    fact(
        "A failed part of an insert that prefers no content says that it applied the preference.",
        recorded("storage/go_TestBatchError_storage.json", 0, "2021-08-02"),
        &[
            prepare(insert("3", "")),
            ask(
                batch(Body::Changes(THREE)),
                rejects(202, "EntityAlreadyExists", "{text}")
                    .body(&[Has("Preference-Applied: return-no-content\nDataServiceVersion: 3.0;\n")]),
            ),
        ],
    ),
    fact(
        "A batch that fails changes nothing.",
        TRANSACTIONS,
        &[
            prepare(insert("3", "")),
            prepare(batch(Body::Changes(THREE))),
            ask(get("<R:1>"), rejects(404, "ResourceNotFound", "The specified resource does not exist.")),
        ],
    ),
    fact(
        "A batch of one operation leaves the index out of its error text.",
        recorded("storage/py2017_batch_batch_update_if_doesnt_match.json", 1, "2017-11-10"),
        &[
            prepare(insert("rk3741440", "")),
            ask(
                batch(Body::Changes(&[
                    "PUT <base>/<R:rk3741440>\nContent-ID: 1\nIf-Match: W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"\n\n{\"age\":\"abc\"}",
                ])),
                rejects(202, "UpdateConditionNotSatisfied", CONDITION).body(&[Has("HTTP/1.1 412 Precondition Failed\n")]),
            ),
        ],
    ),
    fact(
        "A deletion that is alone in its batch leaves the index out of its error text.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch.py test_new_delete_nonexistent_entity",
            "2026",
        ),
        &[ask(
            batch(Body::Changes(&["DELETE <base>/<R:r>\nIf-Match: *"])),
            rejects(202, "ResourceNotFound", "The specified resource does not exist."),
        )],
    ),
    fact(
        "The first of several operations of a batch has the index 0 in its error text.",
        suite("Microsoft's clients, recorded inserts of four entities, the first of which exists", "2020-12"),
        &[
            prepare(insert("0", "")),
            ask(
                batch(Body::Repeated(
                    4,
                    "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"<i>\"}",
                )),
                rejects(202, "EntityAlreadyExists", "0:The specified entity already exists."),
            ),
        ],
    ),
    fact(
        "The same row twice in a batch is InvalidDuplicateRow, with the index of the second.",
        recorded("storage/cpp_TransactionCreateFail.json", 1, "2024-11-06"),
        &[ask(
            batch(Body::Changes(TWICE)),
            rejects(
                202,
                "InvalidDuplicateRow",
                "1:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
            )
            .body(&[Has("HTTP/1.1 400 Bad Request\n")]),
        )],
    ),
    fact(
        "A failed part has the Content-ID of its operation.",
        recorded("storage/node2017_batch_014.json", 1, "2017-01-05"),
        &[ask(
            batch(Body::Changes(&[
                "PUT <base>/<R:r>\n\n{\"A\":1}",
                "PUT <base>/<R:r>\nContent-ID: 1\n\n{\"A\":2}",
            ])),
            rejects(
                202,
                "InvalidDuplicateRow",
                "{text}",
            )
            .body(&[Has("Content-ID: 1\n")]),
        )],
    ),
    fact(
        "Two partitions in a batch are CommandsInBatchActOnDifferentPartitions.",
        suite(
            "azure-data-tables for Java, recorded submitTransactionWithDifferentPartitionKeys",
            "2023",
        ),
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
                "POST <base>/<T>\n\n{\"PartitionKey\":\"<K>other\",\"RowKey\":\"r\"}",
            ])),
            rejects(
                202,
                "CommandsInBatchActOnDifferentPartitions",
                "1:All commands in a batch must operate on same entity group.",
            ),
        )],
    ),
    fact(
        "A batch of 101 operations is rejected at the index 99.",
        suite(
            "azure-data-tables for Python, recorded tests of batches",
            "2022 to 2026",
        ),
        &[ask(
            batch(Body::Repeated(
                101,
                "POST <base>/<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"<i>\"}",
            )),
            rejects(
                202,
                "InvalidInput",
                "99:The batch request operation exceeds the maximum 100 changes per change set.",
            ),
        )],
    ),
    fact(
        "A batch for a table that does not exist has the index also if it has one operation.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch.py test_new_non_existent_table",
            "2026",
        ),
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
            ])),
            rejects(202, "TableNotFound", "0:The table specified does not exist."),
        )],
    ),
    fact(
        "The part of a batch for a table that does not exist has neither Cache-Control nor Preference-Applied.",
        CLIENTS,
        &[ask(
            batch(Body::Changes(&[
                "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
            ])),
            rejects(202, "TableNotFound", "{text}").body(&[Has("HTTP/1.1 404 Not Found\n"), Lacks("Cache-Control"), Lacks("Preference-Applied")]),
        )],
    ),
    fact(
        "A batch for an invalid name of a table is InvalidResourceName in its part, with the index.",
        suite(
            "azure-data-tables for Python, recorded test_table_client.py test_table_name_errors",
            "2024",
        ),
        &[ask(
            batch(Body::Changes(&["PATCH <base>/my_table(PartitionKey='<K>',RowKey='r')\n\n{\"A\":1}"])),
            rejects(
                202,
                "InvalidResourceName",
                "0:The specifed resource name contains invalid characters.",
            )
            .body(&[Has("HTTP/1.1 400 Bad Request\n"), Lacks("Cache-Control")]),
        )],
    ),
    fact(
        "A change set with an empty operation has a part in XML, without an index.",
        suite("azure-data-tables for Python, recorded test_table_batch.py test_empty_batch", "2023"),
        &[ask(
            batch(Body::Batch(
                "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n--changeset_1\n\n--changeset_1--\n--batch_1--\n",
            )),
            rejects(202, "InvalidInput", "An error occurred while processing this request.").body(&[
                Has("HTTP/1.1 400 Bad Request\nDataServiceVersion: 1.0;\nContent-Type: application/xml;charset=utf-8\n\n"),
                Has(UNREADABLE),
            ]),
        )],
    ),
    fact(
        "An ETag that cannot be read has the index also in a batch of one operation.",
        report("https://github.com/Azure/Azurite/issues/2013"),
        &[
            prepare(insert("r", "")),
            ask(
                batch(Body::Changes(&["PUT <base>/<R:r>\nIf-Match: wrong\n\n{\"A\":1}"])),
                rejects(
                    202,
                    "InvalidInput",
                    "0:The etag value 'wrong' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.",
                ),
            ),
        ],
    ),
    fact(
        "A batch below a table is MediaTypeNotSupported.",
        suite(
            "azure-data-tables for Python, recorded test_table_batch.py test_client_with_url_ends_with_table_name",
            "2026",
        ),
        &[ask(
            send(
                "POST",
                "<T>/$batch",
                Body::Changes(&["POST <base>/<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}"]),
            ),
            rejects(
                415,
                "MediaTypeNotSupported",
                "None of the provided media types are supported",
            )
            .headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "An entity that a batch inserted is read at once.",
        recorded("storage/node2017_batch_007.json", 2, "2017-01-05"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            prepare(batch(Body::Changes(&[
                "POST <base>/<N>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"row1\",\"StringProperty\":\"stringSample\"}",
            ]))),
            ask(
                get("<N>(PartitionKey=%27<K>%27,RowKey=%27row1%27)"),
                responds(200).body(&[Has(r#""StringProperty":"stringSample""#)]),
            ),
        ],
    ),
    fact(
        "A batch may have line feeds alone, and the body of a part may end at a boundary.",
        recorded("storage/cpp_TransactionCreateFail.json", 1, "2024-11-06"),
        &[ask(
            batch(Body::Lines(
                "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n--changeset_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nPOST <base>/<T> HTTP/1.1\nContent-Type: application/json\nAccept: application/json;odata=minimalmetadata\nPrefer: return-no-content\nDataServiceVersion: 3.0;\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"R1\"}--changeset_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nPOST <base>/<T> HTTP/1.1\nContent-Type: application/json\nAccept: application/json;odata=minimalmetadata\nPrefer: return-no-content\nDataServiceVersion: 3.0;\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"R1\"}\n\n--changeset_1--\n--batch_1--\n",
            )),
            rejects(202, "InvalidDuplicateRow", "1:{text}"),
        )],
    ),
];
