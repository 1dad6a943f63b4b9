//! Probes that only Cosmos DB decides.

use crate::comparison::probe::{Line, Probe};
use crate::fact::On;
use crate::step::{Body, batch, delete, get, insert, send, table};

/// A query that is alone in its batch.
const LONE_QUERY: &str = "\
--batch_1
Content-Type: application/http
Content-Transfer-Encoding: binary

GET /<R:r> HTTP/1.1
Accept: application/json;odata=minimalmetadata


--batch_1--
";

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "on Cosmos DB a Boolean property alone in a filter; `X'…'` in other comparisons than `eq`",
            "as on Storage; equals only binary properties",
        ),
        &[
            insert("r", r#""B":true,"S":"foo""#).setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20B"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20S%20ge%20X'666f6f'"),
        ],
    )
    .body()
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB a reserved name, a RowKey over 255 bytes, a batch over 2 MiB, a `MERGE` that is not \
             tunnelled",
            "400 `PropertyNameInvalid`, 400 `InvalidInput`, 413 `RequestBodyTooLarge`, 405 `MethodNotAllowed`",
        ),
        &[
            insert("r", r#""id":"x""#),
            insert("<x*256>", ""),
            batch(Body::Repeated(
                35,
                "POST /<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"<i>\",\"A\":\"<x*30000>\",\"B\":\"<x*30000>\"}",
            )),
            send("MERGE", "<R:r>", Body::Row("r", "")).headers(&[("If-Match", "*")]),
        ],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB a merge in a batch that is not tunnelled",
            "`MERGE` is accepted (recorded once: Java, November 2024), `PATCH` is rejected in its part with 405 \
             `MethodNotAllowed`",
        ),
        &[
            insert("r", "").setup(),
            batch(Body::Changes(&["MERGE /<R:r>\nIf-Match: *\n\n{\"A\":1}"])),
            batch(Body::Changes(&["PATCH /<R:r>\nIf-Match: *\n\n{\"A\":2}"])),
        ],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB rows of several partitions",
            "in the order of insertion, like those of one (recorded)",
        ),
        &[
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>b","RowKey":"<K>"}"#)).setup(),
            send("POST", "<T>", Body::Json(r#"{"PartitionKey":"<K>a","RowKey":"<K>"}"#)).setup(),
            get("<T>()?$filter=RowKey%20eq%20'<K>'"),
        ],
    )
    .body()
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB a property `Etag` without an `etag`",
            "is stored (recorded: beside `etag` it is dropped)",
        ),
        &[insert("r", r#""Etag":"x""#), get("<R:r>")],
    )
    .body()
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB a table's name of one character, one with parentheses, quotes or `%`",
            "is accepted",
        ),
        &[
            table(r#"{"TableName":"Q"}"#),
            table(r#"{"TableName":"<N>(a)"}"#),
            table(r#"{"TableName":"<N>'"}"#),
            table(r#"{"TableName":"<N>%41"}"#),
        ],
    )
    .on(On::Cosmos)
    .free(&["Q"]),
    Probe::of(
        Line("on Cosmos DB an empty table's name", "400 `BadRequest`"),
        &[table(r#"{"TableName":""}"#)],
    )
    .on(On::Cosmos)
    .free(&[""]),
    Probe::of(
        Line(
            "on Cosmos DB a control character in a table's name; the names `Tables`, `$batch`, `.` and `..`",
            "400 `InvalidInput`",
        ),
        &[
            table(r#"{"TableName":"<N>\u0001"}"#),
            table(r#"{"TableName":"Tables"}"#),
            table(r#"{"TableName":"$batch"}"#),
            table(r#"{"TableName":"."}"#),
            table(r#"{"TableName":".."}"#),
        ],
    )
    .on(On::Cosmos)
    .free(&["Tables", "$batch", ".", ".."]),
    Probe::of(
        Line(
            "on Cosmos DB the length of a table's name beyond U+FFFF",
            "counts characters, not UTF-16 units",
        ),
        &[
            // More than 254 UTF-16 units, and fewer characters.
            table("{\"TableName\":\"<N><\u{1f600}*150>\"}"),
        ],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB a path with an encoded parenthesis before its keys",
            "the parenthesis belongs to the table's name",
        ),
        &[get("<T>%28PartitionKey='<K>',RowKey='r')")],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB the numbers behind the counts of a continuation, what its id begins with; the id in that of \
             tables",
            "constants, the time of the table's creation; the name (in September 2024 eight bytes)",
        ),
        &[
            insert("1", "").setup(),
            insert("2", "").setup(),
            get("<T>()?$top=1&$filter=PartitionKey%20eq%20'<K>'"),
        ],
    )
    .body()
    .on(On::Cosmos)
    .header("x-ms-continuation-nextpartitionkey"),
    Probe::of(
        Line(
            "on Cosmos DB reads of a missing table; an insert into one with `Prefer: return-no-content`",
            "404 `ResourceNotFound`, as recorded for writes; full metadata, as recorded for 409",
        ),
        &[
            get("<N>missing()"),
            get("<N>missing(PartitionKey='p',RowKey='r')"),
            send("POST", "<N>missing", Body::Row("r", "")).headers(&[("Prefer", "return-no-content")]),
        ],
    )
    .header("content-type")
    .on(On::Cosmos),
    Probe::of(
        Line("on Cosmos DB more than 252 properties", "400 `TooManyProperties`"),
        &[insert("most", "<wide*252*1>"), insert("more", "<wide*253*1>")],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB a row twice in a batch, other than by inserts",
            "400 `InvalidDuplicateRow` for the whole batch, as recorded for inserts (two merges of April 2021 were \
             both applied)",
        ),
        &[
            insert("r", "").setup(),
            batch(Body::Changes(&[
                "POST /<R:r>\nX-HTTP-Method: MERGE\nIf-Match: *\n\n{\"A\":1}",
                "POST /<R:r>\nX-HTTP-Method: MERGE\nIf-Match: *\n\n{\"B\":1}",
            ])),
            get("<R:r>"),
        ],
    )
    .body()
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB two partitions in a batch",
            "400 `BadRequest` (recorded) without the service's own stack trace",
        ),
        &[batch(Body::Changes(&[
            "POST /<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"r\"}",
            "POST /<T>\n\n{\"PartitionKey\":\"<K>2\",\"RowKey\":\"r\"}",
        ]))],
    )
    .on(On::Cosmos),
    Probe::of(
        Line(
            "on Cosmos DB `Prefer` of an update, `x-ms-session-token` of a read",
            "is ignored",
        ),
        &[
            insert("r", "").setup(),
            send("PUT", "<R:r>", Body::Row("r", r#""A":1"#))
                .headers(&[("If-Match", "*"), ("Prefer", "return-content")]),
            get("<R:r>").headers(&[("x-ms-session-token", "0:1")]),
        ],
    )
    .on(On::Cosmos)
    .header("preference-applied"),
    Probe::of(
        Line(
            "on Cosmos DB properties after an upsert, a lone query in a batch, a selection",
            "keys first (recorded once); like a change's part; in the order of `$select` (recorded once, with a missing \
             property last)",
        ),
        &[
            send(
                "PUT",
                "<R:r>",
                Body::Json(r#"{"Z":1,"RowKey":"r","A":2,"PartitionKey":"<K>"}"#),
            ),
            get("<R:r>"),
            get("<R:r>?$select=Z,missing,A"),
            batch(Body::Batch(LONE_QUERY)),
            delete("<R:r>").headers(&[("If-Match", "*")]),
        ],
    )
    .body()
    .on(On::Cosmos),
    Probe::of(
        Line("on Cosmos DB: request units", ""),
        &[insert("r", "").setup(), get("<R:r>")],
    )
    .header("x-ms-request-charge")
    .on(On::Cosmos),
];
