//! Probes of queries: options, filters, order and pages.

use crate::comparison::probe::{Line, Needs, Probe};
use crate::fact::On;
use crate::step::{Body, delete, get, insert, send, table};

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "`$top=0`",
            "200 without rows and without a continuation (as Azurite's issue 1428 wants it)",
        ),
        &[
            insert("r", "").setup(),
            get("<T>()?$top=0&$filter=PartitionKey%20eq%20'<K>'"),
        ],
    )
    .body()
    .header("x-ms-continuation-nextpartitionkey"),
    Probe::of(
        Line(
            "`true` and `false` as conditions in `$filter`",
            "are accepted, on tables too (users report it; one report of 400 names no service)",
        ),
        &[
            insert("r", "").setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20true"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20false"),
            get("Tables?$filter=TableName%20eq%20'<T>'%20and%20true"),
            get("Tables?$filter=TableName%20eq%20'<T>'%20and%20false"),
        ],
    ),
    Probe::of(
        Line(
            "a filter with a fault",
            "the generic text, but for a word too many outside of parentheses (recorded), a character that begins \
             nothing (recorded of `<`), a constant as the whole filter, a constant that is too large, a key as a \
             condition",
        ),
        &[
            get("<T>()?$filter=A%20eq"),
            get("<T>()?$filter=(A%20eq%201"),
            get("<T>()?$filter=(A%20eq%201%202)"),
            get("<T>()?$filter=A%20like%201"),
            get("<T>()?$filter='text'"),
            get("<T>()?$filter=A%20eq%2099999999999999999999"),
            get("<T>()?$filter=A%20eq%20%23"),
            get("<T>()?$filter=RowKey%20or%20A%20eq%201"),
        ],
    ),
    Probe::of(
        Line(
            "a key or the Timestamp compared with a constant of another type",
            "no row (live probably 400 as for a key as a condition)",
        ),
        &[
            get("<T>()?$filter=PartitionKey%20eq%205"),
            get("<T>()?$filter=Timestamp%20ge%20'2020-01-01'"),
        ],
    ),
    Probe::of(
        Line(
            "`not B` for a Boolean on rows without it, a number or text alone as a condition",
            "the row is returned; 400 `InvalidInput`",
        ),
        &[
            insert("r", "").setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20not%20B"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%201"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20'x'"),
        ],
    )
    .body(),
    Probe::of(
        Line(
            "`TableName eq` in another case",
            "finds the table (seen of `ge` and `lt`)",
        ),
        &[
            table(r#"{"TableName":"<N>Aa"}"#).setup(),
            get("Tables?$filter=TableName%20eq%20'<N>aA'"),
            delete("Tables('<N>Aa')").setup(),
        ],
    )
    .body()
    .on(On::Storage),
    Probe::of(
        Line(
            "a `$filter` in the read of one entity",
            "404 `ResourceNotFound` if the entity does not match (the code was seen), 400 if the filter has a fault; \
             on Cosmos DB too",
        ),
        &[
            insert("r", r#""A":1"#).setup(),
            get("<R:r>?$filter=A%20eq%201"),
            get("<R:r>?$filter=A%20eq%202"),
            get("<R:r>?$filter=A%20eq"),
        ],
    ),
    Probe::of(
        Line(
            "`$select=*`, a selection with other than names after its first",
            "all properties; `null` for each",
        ),
        &[
            insert("r", r#""A":1,"B":"b""#).setup(),
            get("<T>()?$select=*&$filter=PartitionKey%20eq%20'<K>'"),
            get("<R:r>?$select=*"),
            get("<R:r>?$select=A,['B']"),
        ],
    )
    .body(),
    Probe::of(
        Line(
            "characters of a selection that `odata.metadata` repeats encoded",
            "a space (recorded), and what no URL contains",
        ),
        &[
            insert("r", "").setup(),
            get("<R:r>?$select=A,%22B%25").headers(&[("Accept", "application/json;odata=minimalmetadata")]),
        ],
    )
    .body()
    .on(On::Storage),
    Probe::of(
        Line("more than 15 comparisons in a filter", "are accepted"),
        &[get("<T>()?$filter=A%20eq%200<%20or%20A%20eq%201*15>")],
    ),
    Probe::of(
        Line(
            "an Int32 or Int64 literal against a Double property, `not (…)` on rows without the property",
            "an Int32 is widened, an Int64 matches nothing; the row is returned",
        ),
        &[
            insert("r", r#""A@odata.type":"Edm.Double","A":1.0"#).setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20A%20eq%201"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20A%20eq%201L"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20not%20(B%20eq%201)"),
        ],
    )
    .body(),
    Probe::of(
        Line("`INF`, `-INF` and `Infinity` as constants in `$filter`", "are Doubles"),
        &[
            insert("r", r#""A@odata.type":"Edm.Double","A":"Infinity""#).setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20A%20eq%20INF"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20A%20gt%20-INF"),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'%20and%20A%20eq%20Infinity"),
        ],
    )
    .body(),
    Probe::of(
        Line("text beyond U+FFFF in the order of keys", "sorts by UTF-16 units"),
        &[
            insert("\u{fffd}", "").setup(),
            insert("\u{1f600}", "").setup(),
            get("<T>()?$filter=PartitionKey%20eq%20'<K>'"),
        ],
    )
    .body(),
    Probe::of(
        Line(
            "tables that were just deleted, in a list of tables",
            "are not counted (live their names keep a place for a while, so that a last page may have a \
             continuation)",
        ),
        &[
            table(r#"{"TableName":"<N>a"}"#).setup(),
            table(r#"{"TableName":"<N>b"}"#).setup(),
            delete("Tables('<N>b')").setup(),
            get("Tables?$top=1&$filter=TableName%20ge%20'<N>a'%20and%20TableName%20le%20'<N>z'"),
            delete("Tables('<N>a')").setup(),
        ],
    )
    .body()
    .header("x-ms-continuation-nexttablename"),
    Probe::of(
        Line(
            "other operations while a table is being deleted",
            "the table is not found (live they may conflict, or even work for a while)",
        ),
        &[
            table(r#"{"TableName":"<N>"}"#).setup(),
            send("POST", "<N>", Body::Row("r", "")).setup(),
            delete("Tables('<N>')").setup(),
            get("<N>()"),
            send("POST", "<N>", Body::Row("s", "")),
            delete("Tables('<N>')"),
            get("<N>?comp=acl").headers(&[("Accept", "application/xml")]),
        ],
    )
    .needs(Needs::Key),
    Probe::of(
        Line(
            "a table called `tables`, or of a wrong length",
            "400 `InvalidInput`, `OutOfRangeInput`",
        ),
        &[
            table(r#"{"TableName":"tables"}"#),
            table(r#"{"TableName":"ab"}"#),
            table(r#"{"TableName":"<N><x*60>"}"#),
        ],
    )
    .free(&["tables", "ab"]),
];
