//! Facts of filters: literals, operators, and the texts of rejections.

use super::sources::{page, recorded, report, suite};
use crate::fact::Part::{Has, Is, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{get, insert};

const FILTERS: Source = page("https://learn.microsoft.com/en-us/rest/api/storageservices/querying-tables-and-entities");
const DESIGNER: Source =
    page("https://learn.microsoft.com/en-us/visualstudio/azure/vs-azure-tools-table-designer-construct-filter-strings");
const LITERALS: &str = "storage/node2017_filters_by_datatype.json";
const BOTH: &[(&str, &str)] = &[("Accept", "application/json;odata=nometadata")];

/// A query of the own partition with a further condition.
macro_rules! partition {
    ($condition:literal) => {
        concat!(
            "<T>()?$select=RowKey&$filter=PartitionKey%20eq%20'<K>'%20and%20",
            $condition
        )
    };
}

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Filters, name, source, exchanges).on(On::Storage)
}

/// The rows `a` and `b` with these properties, and the row `c` without any.
macro_rules! of_rows {
    ($name:literal, $source:expr, $a:literal, $b:literal, $condition:literal, $rows:literal) => {
        fact(
            $name,
            $source,
            &[
                prepare(insert("a", $a)),
                prepare(insert("b", $b)),
                prepare(insert("c", "")),
                ask(
                    get(partition!($condition)).headers(BOTH),
                    responds(200).body(&[Is(concat!(r#"{"value":["#, $rows, "]}"))]),
                ),
            ],
        )
    };
}

/// A recorded filter on a value: the row 3 has it, the row 4 another.
macro_rules! of_literal {
    ($name:literal, $exchange:literal, $value:literal, $other:literal, $filter:literal) => {
        fact(
            $name,
            recorded(LITERALS, $exchange, "2017-01-05"),
            &[
                prepare(insert("3", $value)),
                prepare(insert("4", $other)),
                ask(
                    get(concat!("<T>?$filter=", $filter)),
                    responds(200).body(&[Has(r#""RowKey":"3""#), Lacks(r#""RowKey":"4""#)]),
                ),
            ],
        )
    };
}

pub(super) const FACTS: &[Fact] = &[
    of_literal!(
        "A text is filtered by a quoted literal.",
        2,
        r#""StringValue":"mystring""#,
        r#""StringValue":"other""#,
        "StringValue%20eq%20'mystring'"
    ),
    of_literal!(
        "A DateTime is filtered by datetime'…'.",
        5,
        r#""DateValue":"2012-11-10T03:04:05.200Z","DateValue@odata.type":"Edm.DateTime""#,
        r#""DateValue":"2012-11-10T03:04:05.201Z","DateValue@odata.type":"Edm.DateTime""#,
        "DateValue%20eq%20datetime'2012-11-10T03%3A04%3A05.200Z'"
    ),
    of_literal!(
        "A Boolean is filtered by true or false.",
        8,
        r#""BoolValue":false"#,
        r#""BoolValue":true"#,
        "BoolValue%20eq%20false"
    ),
    of_literal!(
        "An Int32 is filtered by a number.",
        11,
        r#""Int32Value":123"#,
        r#""Int32Value":124"#,
        "Int32Value%20eq%20123"
    ),
    of_literal!(
        "A Double is filtered by a number with a decimal point.",
        14,
        r#""DoubleValue":123.45"#,
        r#""DoubleValue":123.46"#,
        "DoubleValue%20eq%20123.45"
    ),
    of_literal!(
        "An Int64 is filtered by a number with an L.",
        17,
        r#""Int64Value":"4294967296","Int64Value@odata.type":"Edm.Int64""#,
        r#""Int64Value":"4294967297","Int64Value@odata.type":"Edm.Int64""#,
        "Int64Value%20eq%204294967296L"
    ),
    of_literal!(
        "A GUID is filtered by guid'…'.",
        19,
        r#""GuidValue":"debc44d5-04a9-42ea-ab2f-4e2cb49ff833","GuidValue@odata.type":"Edm.Guid""#,
        r#""GuidValue":"debc44d5-04a9-42ea-ab2f-4e2cb49ff834","GuidValue@odata.type":"Edm.Guid""#,
        "GuidValue%20eq%20guid'debc44d5-04a9-42ea-ab2f-4e2cb49ff833'"
    ),
    of_literal!(
        "A binary value is filtered by X'…'.",
        21,
        r#""BinaryValue":"AQIy","BinaryValue@odata.type":"Edm.Binary""#,
        r#""BinaryValue":"AQIz","BinaryValue@odata.type":"Edm.Binary""#,
        "BinaryValue%20eq%20X'010232'"
    ),
    fact(
        "A filter doubles the quotes of its text.",
        recorded("storage/node2017_query_014.json", 2, "2017-01-05"),
        &[
            prepare(insert(
                "row-ô- -''-\\\"-%20-%27-rk1",
                r#""Address":"street1","Name":"jennifer1""#,
            )),
            ask(
                get("<T>?$filter=Address%20eq%20'street1'%20and%20RowKey%20eq%20'row-%C3%B4-%20-''''-%22-%2520-%2527-rk1'"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"{text}","value":[{"odata.etag":"{etag}","PartitionKey":"{text}","RowKey":"row-ô- -''-\"-%20-%27-rk1","Timestamp":"{time}","Address":"street1","Name":"jennifer1"}]}"#,
                )]),
            ),
        ],
    ),
    of_rows!(
        "`or` returns the rows of both conditions.",
        FILTERS,
        r#""A":1"#,
        r#""A":2"#,
        "(A%20eq%201%20or%20A%20eq%202)",
        r#"{"RowKey":"a"},{"RowKey":"b"}"#
    ),
    of_rows!(
        "`and` binds stronger than `or`.",
        FILTERS,
        r#""A":1,"B":2"#,
        r#""A":2,"B":2"#,
        "(A%20eq%201%20or%20A%20eq%202%20and%20B%20eq%201)",
        r#"{"RowKey":"a"}"#
    ),
    of_rows!(
        "`not` returns the rows that do not match.",
        FILTERS,
        r#""A":1"#,
        r#""A":2"#,
        "not%20(A%20eq%201)%20and%20A%20ge%200",
        r#"{"RowKey":"b"}"#
    ),
    of_rows!(
        "`ge` and `lt` return the rows whose text has a prefix.",
        FILTERS,
        r#""A":"prefix and more""#,
        r#""A":"another""#,
        "A%20ge%20'prefix'%20and%20A%20lt%20'prefiy'",
        r#"{"RowKey":"a"}"#
    ),
    of_rows!(
        "`gt` leaves out the value itself, and `le` does not.",
        FILTERS,
        r#""A":1"#,
        r#""A":2"#,
        "A%20gt%201%20and%20A%20le%202",
        r#"{"RowKey":"b"}"#
    ),
    of_rows!(
        "A text is compared with its case.",
        FILTERS,
        r#""A":"text""#,
        r#""A":"Text""#,
        "A%20eq%20'text'",
        r#"{"RowKey":"a"}"#
    ),
    of_rows!(
        "A quoted number does not match a number.",
        report("https://github.com/Dzoukr/Tables.FSharp/issues/1"),
        r#""A":1"#,
        r#""A":"1""#,
        "A%20eq%20'1'",
        r#"{"RowKey":"b"}"#
    ),
    of_rows!(
        "A constant may stand on the left.",
        report("https://github.com/Azure/Azurite/issues/1599"),
        r#""A":"x""#,
        r#""A":"y""#,
        "'x'%20eq%20A",
        r#"{"RowKey":"a"}"#
    ),
    of_rows!(
        "`ne` does not return rows without the property.",
        report("https://github.com/Azure/Azurite/issues/1929"),
        r#""A":"x""#,
        r#""A":"""#,
        "A%20ne%20''",
        r#"{"RowKey":"a"}"#
    ),
    of_rows!(
        "`gt ''` does not return rows without the property.",
        report("https://github.com/Azure/Azurite/issues/2342"),
        r#""A":"x""#,
        r#""A":"y""#,
        "A%20gt%20''",
        r#"{"RowKey":"a"},{"RowKey":"b"}"#
    ),
    of_rows!(
        "A Boolean property alone is a condition.",
        DESIGNER,
        r#""A":true"#,
        r#""A":false"#,
        "A",
        r#"{"RowKey":"a"}"#
    ),
    of_rows!(
        "`not` before a Boolean property returns the rows where it is false.",
        DESIGNER,
        r#""A":true,"B":1"#,
        r#""A":false,"B":1"#,
        "B%20eq%201%20and%20not%20A",
        r#"{"RowKey":"b"}"#
    ),
    fact(
        "An empty filter is none.",
        report("https://github.com/Azure/Azurite/issues/1573"),
        &[
            prepare(insert("r", "")),
            ask(
                get("<T>()?$filter="),
                responds(200).body(&[Has(r#""PartitionKey":"<K>","RowKey":"r""#)]),
            ),
        ],
    ),
    fact(
        "A comparison with null is InvalidInput.",
        report("https://github.com/Azure/Azurite/issues/2471"),
        &[ask(
            get("<T>()?$filter=A%20eq%20null"),
            rejects(400, "InvalidInput", "One of the request inputs is not valid."),
        )],
    ),
    fact(
        "A word too many in a filter is a syntax error whose text has its position.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity.py test_query_invalid_filter",
            "2024",
        ),
        &[ask(
            get("<T>()?$filter=aaa%20bbb%20ccc"),
            rejects(
                400,
                "InvalidInput",
                "Syntax error at position 7 in 'aaa bbb ccc'.",
            )
            .headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "A character that begins nothing is a syntax error whose text has its position.",
        suite("azure-data-tables for Python, 7 recorded queries", "2020-07"),
        &[ask(
            get("<T>()?$filter=%3Cclass%20'filter'%3E"),
            rejects(
                400,
                "InvalidInput",
                "Syntax error: character '<' is not valid at position 0 in '<class 'filter'>'.",
            ),
        )],
    ),
    fact(
        "A number that is too large for an Int32 and has no L is InvalidInput.",
        report("https://github.com/Azure/azure-storage-node/issues/316"),
        &[ask(
            get("<T>()?$filter=A%20gt%201498179600055"),
            rejects(
                400,
                "InvalidInput",
                "Unrecognized 'Edm.Int32' literal '1498179600055' at {text}",
            ),
        )],
    ),
    fact(
        "A key alone is no condition, and the text of the rejection names the types.",
        suite("azure-storage-net since 8.0.1 on live accounts", "2018-09"),
        &[ask(
            get("<T>()?$filter=(PartitionKey%20)%20and%20(RowKey%20ge%20'000050')"),
            rejects(
                400,
                "InvalidInput",
                "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and 'Edm.Boolean' for operator kind 'And'.",
            ),
        )],
    ),
];
