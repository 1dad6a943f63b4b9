//! Probes of requests: addresses, headers and versions.

use crate::comparison::probe::{Line, Needs, Probe};
use crate::fact::On;
use crate::step::{Body, delete, get, insert, send};

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "a URL of more than 32,767 characters",
            "414 without a body, as from an HTTP server; the length is the most that HTTP.sys can count \
             (`HTTP_COOKED_URL`), the live limit may be lower",
        ),
        &[
            // With the address before it, a few hundred characters below the limit and above it.
            get("<T>()?$filter=PartitionKey%20eq%20'<x*32400>'"),
            get("<T>()?$filter=PartitionKey%20eq%20'<x*32800>'"),
        ],
    ),
    Probe::of(
        Line(
            "`Accept: */*` of other operations in XML than a change of access policies (recorded)",
            "is accepted",
        ),
        &[
            get("<T>?comp=acl").headers(&[("Accept", "*/*")]),
            get("?restype=service&comp=properties").headers(&[("Accept", "*/*")]),
        ],
    )
    .on(On::Storage)
    .needs(Needs::Key),
    Probe::of(
        Line(
            "a path below a table that is neither its own name, `Tables`, `Tables('…')` nor `$batch` (recorded)",
            "400 `InvalidUri`",
        ),
        &[get("<T>/Other"), get("<T>/$metadata"), delete("<T>/Other")],
    ),
    Probe::of(
        Line(
            "other requests than an insert below a table with its own name; `GET` of `Tables` below a missing table",
            "as without it; 404 `TableNotFound`",
        ),
        &[
            get("<T>/<T>"),
            delete("<T>/<R:missing>").headers(&[("If-Match", "*")]),
            get("<N>missing/Tables?$filter=TableName%20eq%20'<T>'"),
        ],
    ),
    Probe::of(
        Line(
            "a path with a `%` that encodes nothing",
            "400 `InvalidUri`, as JSON (live as HTML)",
        ),
        &[
            get("<T>(PartitionKey='%',RowKey='r')"),
            get("<T>(PartitionKey='p%zz',RowKey='r')"),
        ],
    ),
    Probe::of(
        Line(
            "an unknown `comp`, or one without its `restype`",
            "400 `InvalidQueryParameterValue`",
        ),
        &[
            get("<T>?comp=nothing"),
            get("?comp=properties"),
            get("?comp=nothing&restype=service"),
        ],
    ),
    Probe::of(
        Line(
            "no `Accept` with an operation whose response has no body",
            "is accepted",
        ),
        &[
            insert("r", "").setup(),
            send("PUT", "<R:r>", Body::Row("r", ""))
                .headers(&[("If-Match", "*")])
                .without(&["accept"]),
            delete("<R:r>").headers(&[("If-Match", "*")]).without(&["accept"]),
        ],
    ),
    Probe::of(
        Line("no `x-ms-version`", "the client's own version applies"),
        &[insert("r", r#""A":1"#).setup(), get("<R:r>").without(&["x-ms-version"])],
    )
    .header("x-ms-version"),
    Probe::of(
        Line(
            "`x-ms-version` after the newest known one",
            "is accepted as if it were the newest (live rejects it; `Emulator::strict_versions` does too)",
        ),
        &[get("<R:missing>").headers(&[("x-ms-version", "2099-01-01")])],
    )
    .header("x-ms-version"),
    Probe::of(
        Line("`Content-MD5`: a body is not compared with it", ""),
        &[
            // No key signs this header, since the client sends none.
            send("POST", "<T>", Body::Row("r", ""))
                .headers(&[("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")])
                .auth(super::access::ACCOUNT),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "Atom, in which the live service responds to versions before 2015-12-11 and, in 2020, to inserts without \
             `Accept`",
            "",
        ),
        &[
            insert("r", r#""A":1"#).setup(),
            get("<R:r>")
                .headers(&[("x-ms-version", "2014-02-14")])
                .without(&["accept"]),
        ],
    )
    .body()
    .header("content-type"),
];
