//! Probes of batches.

use super::access::READ;
use crate::comparison::probe::{Line, Needs, Probe};
use crate::fact::On;
use crate::step::{Auth, Body, batch, get, insert};

/// Two change sets with an insert each.
const TWO_SETS: &str = "\
--batch_1
Content-Type: multipart/mixed; boundary=changeset_1

--changeset_1
Content-Type: application/http
Content-Transfer-Encoding: binary

POST /<T> HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json

{\"PartitionKey\":\"<K>\",\"RowKey\":\"first\"}
--changeset_1--
--batch_1
Content-Type: multipart/mixed; boundary=changeset_2

--changeset_2
Content-Type: application/http
Content-Transfer-Encoding: binary

POST /<T> HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json

{\"PartitionKey\":\"<K>\",\"RowKey\":\"second\"}
--changeset_2--
--batch_1--
";

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "such a URL inside of a batch, where no HTTP server sees it",
            "400 `InvalidInput` for the whole batch",
        ),
        &[batch(Body::Changes(&[
            "DELETE /<T>(PartitionKey='<K>',RowKey='<x*32800>')\nIf-Match: *",
        ]))],
    ),
    Probe::of(
        Line(
            "a part of a change set whose `Content-Length` is no number",
            "is rejected as a broken part (recorded with an empty body, which could be the cause)",
        ),
        &[batch(Body::Changes(&[
            "POST /<T>\nContent-Length: x\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
        ]))],
    ),
    Probe::of(
        Line(
            "more than 100 changes in a batch, a second change set",
            "202 with `99:…` in its only part; 202 with a rejected change set after the first",
        ),
        &[
            batch(Body::Repeated(
                101,
                "POST /<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"<i>\"}",
            )),
            batch(Body::Batch(TWO_SETS)),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'"),
        ],
    )
    .body(),
    Probe::of(
        Line(
            "a fault of the only change of a batch that is found while the batch is read",
            "`0:` precedes the text, as of each of several (recorded); not of one that the store finds (recorded), but \
             on Cosmos DB",
        ),
        &[
            insert("there", "").setup(),
            // Found while the batch is read, and found by the store.
            batch(Body::Changes(&[
                "POST /<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"new\",\"A@odata.type\":\"Edm.Guid\",\"A\":\"x\"}",
            ])),
            batch(Body::Changes(&[
                "POST /<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"there\"}",
            ])),
        ],
    ),
    Probe::of(
        Line(
            "a lone query in a batch with a `Content-ID`",
            "is not echoed (in January 2014 it was)",
        ),
        &[
            insert("r", "").setup(),
            batch(Body::Batch(
                "--batch_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nGET /<R:r> \
                 HTTP/1.1\nAccept: application/json;odata=nometadata\nContent-ID: 0\n\n\n--batch_1--\n",
            )),
        ],
    )
    .body()
    .on(On::Storage),
    Probe::of(
        Line(
            "an operation of a batch that a shared access signature does not allow",
            "202, rejected in its part like any other failure",
        ),
        &[batch(Body::Changes(&[
            "POST /<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
        ]))
        .auth(Auth::Sas(READ))],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "a batch that cannot be read, a query among changes",
            "400 `InvalidInput`",
        ),
        &[
            batch(Body::Batch("text")),
            batch(Body::Batch(
                "--batch_1\nContent-Type: text/plain\n\ntext\n--batch_1--\n",
            )),
            batch(Body::Changes(&[
                "POST /<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
                "GET /<R:r>",
            ])),
        ],
    ),
    Probe::of(
        Line(
            "rows of one batch",
            "each has a Timestamp of its own (live inserts share one, and in 2026 all other changes another)",
        ),
        &[
            batch(Body::Changes(&[
                "POST /<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"1\"}",
                "POST /<T>\nPrefer: return-no-content\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"2\"}",
            ]))
            .setup(),
            get("<T>()?$select=Timestamp&$filter=PartitionKey%20eq%20'<K>'"),
            batch(Body::Changes(&[
                "PUT /<R:1>\nIf-Match: *\n\n{\"A\":1}",
                "PUT /<R:2>\nIf-Match: *\n\n{\"A\":1}",
            ]))
            .setup(),
            get("<T>()?$select=Timestamp&$filter=PartitionKey%20eq%20'<K>'"),
        ],
    )
    .body(),
];
