//! Probes of entities: their limits, bodies and ETags.

use crate::comparison::probe::{Line, Probe};
use crate::fact::On;
use crate::step::{Body, delete, get, insert, send};

/// An ETag in the service's form that no row has.
const STALE: (&str, &str) = ("If-Match", "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"");
/// The same with doubled quotes.
const DOUBLED: (&str, &str) = ("If-Match", "W/\"datetime''2020-01-01T00%3A00%3A00.0000000Z''\"");

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "a property of 1 MiB or more",
            "400 `EntityTooLarge` (seen; the size from which on is not known)",
        ),
        &[
            insert("r", r#""A":"<x*300000>""#),
            insert("r", r#""A":"<x*524288>""#),
            insert("r", r#""A":"<x*1048576>""#),
        ],
    )
    .on(On::Storage),
    Probe::of(
        Line(
            "an entity over 1 MiB",
            "the limit applies to the published formula of an entity's size, on Cosmos DB (2 MiB) as well",
        ),
        &[
            // 1 MiB by the formula, and one character more.
            insert("most", r#"<wide*15*32768>,"Rest":"<x*32598>""#),
            insert("more", r#"<wide*15*32768>,"Rest":"<x*32599>""#),
        ],
    )
    .on(On::Storage),
    Probe::of(
        Line(
            "an entity over 1 MiB",
            "the limit applies to the published formula of an entity's size, on Cosmos DB (2 MiB) as well",
        ),
        &[
            insert("most", r#"<wide*31*32768>,"Rest":"<x*32438>""#),
            insert("more", r#"<wide*31*32768>,"Rest":"<x*32439>""#),
        ],
    )
    .on(On::Cosmos),
    Probe::of(
        Line("a text of exactly 64 KiB", "up to 32,768 UTF-16 units are accepted"),
        &[
            insert("most", r#""A":"<x*32768>""#),
            insert("more", r#""A":"<x*32769>""#),
        ],
    ),
    Probe::of(
        Line(
            "a page of long rows, on Cosmos DB too",
            "ends before the row that would take its JSON beyond 4 MiB, with a continuation; live the limit may \
             count other bytes",
        ),
        &[
            insert("1", "<wide*15*32000>").setup(),
            insert("2", "<wide*15*32000>").setup(),
            insert("3", "<wide*15*32000>").setup(),
            insert("4", "<wide*15*32000>").setup(),
            insert("5", "<wide*15*32000>").setup(),
            insert("6", "<wide*15*32000>").setup(),
            insert("7", "<wide*15*32000>").setup(),
            insert("8", "<wide*15*32000>").setup(),
            insert("9", "<wide*15*32000>").setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'"),
        ],
    )
    .header("x-ms-continuation-nextrowkey"),
    Probe::of(
        Line(
            "a body over 4 MiB",
            "413 `RequestBodyTooLarge` (observed), with the headers of a rejection while the request is read",
        ),
        &[send(
            "POST",
            "<T>",
            Body::Json(r#"{"PartitionKey":"<K>","RowKey":"r"< *4194304>}"#),
        )],
    ),
    Probe::of(
        Line(
            "a key of more than 1,024 UTF-16 units",
            "400 `PropertyValueTooLarge` (observed live for 2,048)",
        ),
        &[insert("<x*1024>", ""), insert("<x*1025>", "")],
    ),
    Probe::of(
        Line(
            "a key property that appears twice in a body",
            "400 `DuplicateKeyPropertySpecified`, any other `DuplicatePropertiesSpecified`",
        ),
        &[insert("r", r#""RowKey":"s""#), insert("r", r#""A":1,"A":2"#)],
    ),
    Probe::of(
        Line("a body that is not JSON, an unknown `Edm.…` type", "400 `InvalidInput`"),
        &[
            send("POST", "<T>", Body::Json("{")),
            send("POST", "<T>", Body::Json("text")),
            send("POST", "<T>", Body::Empty),
            insert("r", r#""A@odata.type":"Edm.Unknown","A":"1""#),
        ],
    ),
    Probe::of(
        Line("a bare integer between 2³¹ and 2⁶³", "is stored as a double"),
        &[insert("r", r#""A":3000000000,"B":9007199254740993"#), get("<R:r>")],
    )
    .body(),
    Probe::of(
        Line(
            "a strong ETag in `If-Match` (`\"x\"`), one that begins with `w/`",
            "400 `InvalidInput`, 412 (as Azurite's tests want both; the text of the first is that of WCF Data \
             Services, which takes weak ETags only)",
        ),
        &[
            insert("r", "").setup(),
            send("PUT", "<R:r>", Body::Row("r", "")).headers(&[("If-Match", "\"x\"")]),
            send("PUT", "<R:r>", Body::Row("r", ""))
                .headers(&[("If-Match", "w/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"")]),
        ],
    ),
    Probe::of(
        Line(
            "`W/\"x\"` and `W/\"\"` in `If-Match`; doubled quotes in that of a delete or of a missing entity",
            "412 `UpdateConditionNotSatisfied` (live probably `ConditionNotMet`, as recorded for doubled quotes); \
             as in an update, 404",
        ),
        &[
            insert("r", "").setup(),
            send("PUT", "<R:r>", Body::Row("r", "")).headers(&[("If-Match", "W/\"x\"")]),
            send("PUT", "<R:r>", Body::Row("r", "")).headers(&[("If-Match", "W/\"\"")]),
            delete("<R:r>").headers(&[DOUBLED]),
            send("PUT", "<R:missing>", Body::Row("missing", "")).headers(&[DOUBLED]),
        ],
    ),
    Probe::of(
        Line(
            "`Prefer` of a tunnelled update, `return-content` of an update",
            "as if it were not tunnelled; is ignored",
        ),
        &[
            insert("r", "").setup(),
            send("POST", "<R:r>", Body::Row("r", r#""A":1"#)).headers(&[
                ("X-HTTP-Method", "MERGE"),
                ("If-Match", "*"),
                ("Prefer", "return-no-content"),
            ]),
            send("PUT", "<R:r>", Body::Row("r", r#""A":2"#))
                .headers(&[("If-Match", "*"), ("Prefer", "return-content")]),
        ],
    )
    .header("preference-applied"),
    Probe::of(
        Line("parentheses in the keys of a `Location`", "are encoded"),
        &[insert("a(b)", "")],
    )
    .header("location"),
    Probe::of(
        Line("`If-None-Match` with a merge", "400 `InvalidInput`"),
        &[
            insert("r", "").setup(),
            send("POST", "<R:r>", Body::Row("r", r#""A":1"#))
                .headers(&[("X-HTTP-Method", "MERGE"), ("If-None-Match", "*")]),
        ],
    ),
    Probe::of(
        Line(
            "a delete without `If-Match`, a `$top` that is not a number up to 1000",
            "400 `InvalidInput` (the status of both is documented)",
        ),
        &[
            insert("r", "").setup(),
            delete("<R:r>"),
            get("<T>()?$top=x"),
            get("<T>()?$top=1001"),
        ],
    ),
    Probe::of(
        Line("several faults in one request", "the response names one of them"),
        &[
            insert("<x*1025>", r#""A@odata.type":"Edm.Unknown","A":"1""#),
            insert("r", r#""A":"<x*32769>","":1"#),
            delete("<R:missing>").headers(&[STALE, ("x-ms-version", "2000-01-01")]),
        ],
    ),
];
