//! Facts of types: the values of properties, and their names.

use super::sources::{DATE_TIMES, TABLE_ERRORS, recorded, report, suite};
use crate::fact::Part::{Has, Is};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, get, insert, send};

const ATYPICAL: Source = suite(
    "azure-data-tables for Python, recorded test_encoder.py test_encoder_create_entity_atypical_values",
    "2022 to 2026",
);
const EDM_TYPES: Source = suite(
    "azure-data-tables for Python, recorded test_table_entity.py test_entity_with_edmtypes",
    "2022 to 2026",
);
const CLOUD_STUB: Source = suite("CloudStub by Andrei15193 on live accounts", "2026-11-21");
const UNREADABLE: &str = "An error occurred while processing this request.";
const TOO_LARGE: &str = "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Types, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "The Doubles Infinity, -Infinity and NaN are texts with their type.",
        recorded("storage/py2017_entity_get_entity_with_special_doubles.json", 1, "2017-11-10"),
        &[
            prepare(insert(
                "rk65ff1655",
                r#""inf":"Infinity","inf@odata.type":"Edm.Double","negativeinf":"-Infinity","negativeinf@odata.type":"Edm.Double","nan":"NaN","nan@odata.type":"Edm.Double""#,
            )),
            ask(
                get("<R:rk65ff1655>"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#<T>/@Element","odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"rk65ff1655","Timestamp":"{time}","inf@odata.type":"Edm.Double","inf":"Infinity","negativeinf@odata.type":"Edm.Double","negativeinf":"-Infinity","nan@odata.type":"Edm.Double","nan":"NaN"}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A Double that is integral is written with a decimal point.",
        recorded(
            "storage/net_ValidateSasCredentialsWithRowKeyAndPartitionKeyRanges.json",
            5,
            "2021-01-19",
        ),
        &[
            prepare(insert(
                "02",
                r#""SomeDoubleProperty0":2,"SomeDoubleProperty0@odata.type":"Edm.Double","SomeDoubleProperty1":2.5,"SomeDoubleProperty1@odata.type":"Edm.Double""#,
            )),
            ask(
                get("<R:02>?$format=application%2Fjson%3Bodata%3Dminimalmetadata"),
                responds(200).body(&[Has(r#""SomeDoubleProperty0":2.0,"SomeDoubleProperty1":2.5"#)]),
            ),
        ],
    ),
    fact(
        "A DateTime without a fraction is written without one.",
        recorded(
            "storage/net_ValidateSasCredentialsWithRowKeyAndPartitionKeyRanges.json",
            5,
            "2021-01-19",
        ),
        &[
            prepare(insert(
                "02",
                r#""SomeDateProperty":"2020-01-01T01:03:00.0000000Z","SomeDateProperty@odata.type":"Edm.DateTime""#,
            )),
            ask(
                get("<R:02>?$format=application%2Fjson%3Bodata%3Dminimalmetadata"),
                responds(200).body(&[Has(
                    r#""SomeDateProperty@odata.type":"Edm.DateTime","SomeDateProperty":"2020-01-01T01:03:00Z""#,
                )]),
            ),
        ],
    ),
    fact(
        "The fraction of a DateTime is written without zeros at its end.",
        recorded("storage/node2017_filters_by_datatype.json", 2, "2017-01-05"),
        &[
            prepare(insert(
                "3",
                r#""StringValue":"fraction","DateValue@odata.type":"Edm.DateTime","DateValue":"2012-11-10T03:04:05.200Z""#,
            )),
            ask(
                get("<T>?$filter=StringValue%20eq%20'fraction'"),
                responds(200).body(&[Has(r#""DateValue":"2012-11-10T03:04:05.2Z""#)]),
            ),
        ],
    ),
    fact(
        "A DateTime with whole seconds comes back as it was.",
        recorded("storage/py2017_entity_timezone.json", 1, "2017-11-10"),
        &[
            prepare(insert(
                "rkcd510cdc",
                r#""date":"2003-09-27T12:52:43Z","date@odata.type":"Edm.DateTime""#,
            )),
            ask(
                get("<R:rkcd510cdc>"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#<T>/@Element","odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"rkcd510cdc","Timestamp":"{time}","date@odata.type":"Edm.DateTime","date":"2003-09-27T12:52:43Z"}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A DateTime without a zone is one of UTC.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity_async.py test_entity_with_edmtypes",
            "2022 to 2026",
        ),
        &[
            prepare(insert(
                "r",
                r#""date":"2008-07-10T00:00:00","date@odata.type":"Edm.DateTime""#,
            )),
            ask(
                get("<R:r>"),
                responds(200).body(&[Has(r#""date":"2008-07-10T00:00:00Z""#)]),
            ),
        ],
    ),
    fact(
        "A DateTime may be a date alone.",
        DATE_TIMES,
        &[ask(
            insert("r", r#""date":"2023-01-01","date@odata.type":"Edm.DateTime""#),
            responds(204),
        )],
    ),
    fact(
        "A DateTime may end with its minutes.",
        DATE_TIMES,
        &[ask(
            insert("r", r#""date":"2023-01-01T23:00Z","date@odata.type":"Edm.DateTime""#),
            responds(204),
        )],
    ),
    fact(
        "A DateTime before the year 1601 is OutOfRangeInput.",
        report("https://github.com/Azure/Azurite/issues/1757"),
        &[ask(
            insert("r", r#""date":"0001-01-01T00:00:00Z","date@odata.type":"Edm.DateTime""#),
            rejects(400, "OutOfRangeInput", "{text}"),
        )],
    ),
    fact(
        "An Int64 out of its range is InvalidInput, without Cache-Control.",
        ATYPICAL,
        &[ask(
            insert("r", r#""A":"9223372036854775808","A@odata.type":"Edm.Int64""#),
            rejects(400, "InvalidInput", UNREADABLE).headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "A number without a type that is too large for an Int32 is a Double.",
        ATYPICAL,
        &[
            prepare(insert("r", r#""A":9223372036854775808000"#)),
            ask(
                get("<R:r>"),
                responds(200).body(&[Has(r#""A":9.2233720368547758E+21"#)]),
            ),
        ],
    ),
    fact(
        "A Double out of its range is InvalidInput.",
        report("https://github.com/Azure/Azurite/issues/2387"),
        &[ask(
            insert("r", r#""A":"13e7705","A@odata.type":"Edm.Double""#),
            rejects(400, "InvalidInput", UNREADABLE),
        )],
    ),
    fact(
        "An Int32 with its type may be a text.",
        EDM_TYPES,
        &[
            prepare(insert("r", r#""A":"12345","A@odata.type":"Edm.Int32""#)),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""A":12345"#)])),
        ],
    ),
    fact(
        "A Boolean with its type may be a text in any case.",
        EDM_TYPES,
        &[
            prepare(insert("r", r#""A":"False","A@odata.type":"Edm.Boolean""#)),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""A":false"#)])),
        ],
    ),
    fact(
        "A Double with its type may be a text.",
        EDM_TYPES,
        &[
            prepare(insert("r", r#""A":"3.14","A@odata.type":"Edm.Double""#)),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""A":3.14"#)])),
        ],
    ),
    fact(
        "A null with a type is not stored.",
        suite(
            "azure-data-tables for Python, recorded test_encoder.py test_encoder_create_entity_tuples",
            "2022 to 2026",
        ),
        &[
            prepare(insert("r", r#""A@odata.type":"Edm.Boolean","A":null"#)),
            ask(
                get("<R:r>").headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).body(&[Is(r#"{"PartitionKey":"<K>","RowKey":"r","Timestamp":"{time}"}"#)]),
            ),
        ],
    ),
    fact(
        "Texts keep the spaces around them, and may be empty.",
        recorded("storage/py2017_entity_empty_and_spaces_property_value.json", 1, "2017-11-10"),
        &[
            prepare(insert(
                "rk66111670",
                r#""EmptyUnicode":"","SpacesOnlyUnicode":"   ","SpacesBeforeUnicode":"   Text","SpacesAfterUnicode":"Text   ","SpacesBeforeAndAfterUnicode":"   Text   ""#,
            )),
            ask(
                get("<R:rk66111670>"),
                responds(200).body(&[
                    Has(r#""EmptyUnicode":"","#),
                    Has(r#""SpacesOnlyUnicode":"   ","#),
                    Has(r#""SpacesBeforeUnicode":"   Text","#),
                    Has(r#""SpacesAfterUnicode":"Text   ","#),
                    Has(r#""SpacesBeforeAndAfterUnicode":"   Text   ""#),
                ]),
            ),
        ],
    ),
    fact(
        "The names of properties may have letters beyond ASCII.",
        recorded("storage/py2017_entity_unicode_property_name.json", 2, "2017-11-10"),
        &[
            prepare(insert("rk9990123c", r#""啊齄丂狛狜":"ꀕ""#)),
            prepare(insert("test2", r#""啊齄丂狛狜":"hello""#)),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"{text}","value":[{"odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"rk9990123c","Timestamp":"{time}","啊齄丂狛狜":"ꀕ"},{"odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"test2","Timestamp":"{time}","啊齄丂狛狜":"hello"}]}"#,
                )]),
            ),
        ],
    ),
    fact(
        "JSON has escapes for characters beyond ASCII.",
        recorded("storage/py2017_entity_unicode_property_name.json", 2, "2017-11-10"),
        &[
            prepare(insert("test2", r#""啊齄丂狛狜":"hello""#)),
            ask(
                get("<T>()?$filter=PartitionKey%20eq%20'<K>'"),
                responds(200).body(&[Has(r#""\u554a\u9f44\u4e02\u72db\u72dc":"hello""#)]),
            ),
        ],
    ),
    fact(
        "The name of a property has up to 255 characters.",
        recorded("storage/py_test_insert_entity_property_name_too_long.json", 1, "2024-05-04"),
        &[ask(
            send("POST", "<T>", Body::Row("rk6f682fcb", r#""<a*256>":"badval""#)),
            rejects(
                400,
                "PropertyNameTooLong",
                "The property name exceeds the maximum allowed length (255).",
            ),
        )],
    ),
    fact(
        "The name of a property does not begin with a digit.",
        ATYPICAL,
        &[ask(
            insert("r", r#""123":"a""#),
            rejects(400, "PropertyNameInvalid", "The property name is invalid."),
        )],
    ),
    fact(
        "An entity has up to 252 properties beside the service's.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity.py test_insert_entity_too_many_properties",
            "2022 to 2026",
        ),
        &[ask(
            insert("r", "<wide*253*1>"),
            rejects(
                400,
                "TooManyProperties",
                "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.",
            ),
        )],
    ),
    fact(
        "A text may have 32,000 characters.",
        CLOUD_STUB,
        &[ask(insert("r", r#""A":"<x*32000>""#), responds(204))],
    ),
    fact(
        "A text of more than 64 KiB is PropertyValueTooLarge.",
        TABLE_ERRORS,
        &[ask(
            insert("r", r#""A":"<x*40000>""#),
            rejects(400, "PropertyValueTooLarge", TOO_LARGE),
        )],
    ),
    fact(
        "A binary value of more than 64 KiB is PropertyValueTooLarge.",
        TABLE_ERRORS,
        &[ask(
            insert("r", r#""A":"<AAAA*22000>","A@odata.type":"Edm.Binary""#),
            rejects(400, "PropertyValueTooLarge", TOO_LARGE),
        )],
    ),
    fact(
        "A text of 1 MiB of characters is EntityTooLarge.",
        suite(
            "azure-storage-net, whose tests are marked for live accounts",
            "2018-09",
        ),
        &[ask(
            insert("r", r#""A":"<x*1048576>""#),
            rejects(
                400,
                "EntityTooLarge",
                "The entity is larger than the maximum allowed size (1MB).",
            ),
        )],
    ),
    fact(
        "An entity of more than 1 MiB is EntityTooLarge.",
        TABLE_ERRORS,
        &[ask(
            insert("r", "<wide*18*32000>"),
            rejects(
                400,
                "EntityTooLarge",
                "The entity is larger than the maximum allowed size (1MB).",
            ),
        )],
    ),
];
