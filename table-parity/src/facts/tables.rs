//! Facts of tables: their names, and how they are created, listed and deleted.

use super::sources::{DATA_MODEL, NO_CONTENT, XML, recorded, suite};
use crate::fact::Part::{Has, Is, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, delete, get, send, table};

const NAMES: Source = suite(
    "azure-data-tables for Python, recorded test_table_client.py test_table_name_errors",
    "2024",
);
const INVALID: &str = "The specifed resource name contains invalid characters.";
const LENGTH: &str = "The specified resource name length is not within the permissible limits.";
const MISSING: &str = "The specified resource does not exist.";

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Tables, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A table is created with 204, its Location and its DataServiceId if the request prefers no content.",
        recorded("storage/py2017_table_create_table_fail_on_exist.json", 0, "2017-11-10"),
        &[ask(
            table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT),
            responds(204).headers(&[
                ("Location", "<base>/Tables('<N>')"),
                ("DataServiceId", "<base>/Tables('<N>')"),
                ("Preference-Applied", "return-no-content"),
            ]),
        )],
    ),
    fact(
        "A table is created with 201 and its name if the request has no preference.",
        recorded("storage/py_test_insert_entity_property_name_too_long.json", 0, "2024-05-04"),
        &[ask(
            table(r#"{"TableName":"<N>"}"#),
            responds(201)
                .headers(&[("Preference-Applied", "")])
                .body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#Tables/@Element","TableName":"<N>"}"#,
                )]),
        )],
    ),
    fact(
        "Full metadata of a table names its type, id and edit link.",
        recorded("storage/cpp_TransactionCreateFail.json", 0, "2024-11-06"),
        &[ask(
            table(r#"{"TableName":"<N>"}"#).headers(&[("Accept", "application/json;odata=fullmetadata")]),
            responds(201).body(&[Is(
                r#"{"odata.metadata":"<base>/$metadata#Tables/@Element","odata.type":"{text}.Tables","odata.id":"<base>/Tables('<N>')","odata.editLink":"Tables('<N>')","TableName":"<N>"}"#,
            )]),
        )],
    ),
    fact(
        "A table that exists is not created again.",
        recorded("storage/py2017_table_create_table_with_already_existing_table.json", 1, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            ask(
                table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT),
                rejects(409, "TableAlreadyExists", "The table specified already exists."),
            ),
        ],
    ),
    fact(
        "A rejected creation that prefers no content says that it applied the preference.",
        recorded("storage/py2017_table_create_table_with_already_existing_table.json", 1, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            ask(
                table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT),
                rejects(409, "TableAlreadyExists", "{text}")
                    .headers(&[("Preference-Applied", "return-no-content")]),
            ),
        ],
    ),
    fact(
        "A table that differs only in the case of its name exists already.",
        DATA_MODEL,
        &[
            prepare(table(r#"{"TableName":"<N>Ab"}"#).headers(NO_CONTENT)),
            ask(
                table(r#"{"TableName":"<N>aB"}"#),
                rejects(409, "TableAlreadyExists", "{text}"),
            ),
        ],
    ),
    fact(
        "A table is found by its name in another case.",
        DATA_MODEL,
        &[
            prepare(table(r#"{"TableName":"<N>Ab"}"#).headers(NO_CONTENT)),
            prepare(send("POST", "<N>Ab", Body::Row("r", r#""A":1"#)).headers(NO_CONTENT)),
            ask(get("<N>aB(PartitionKey='<K>',RowKey='r')"), responds(200)),
        ],
    ),
    fact(
        "A table keeps the case of the name with which it was created.",
        DATA_MODEL,
        &[
            prepare(table(r#"{"TableName":"<N>Ab"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables('<N>aB')"),
                responds(200).body(&[Has(r#""TableName":"<N>Ab""#)]),
            ),
        ],
    ),
    fact(
        "A table is read by its name.",
        recorded("storage/py2017_table_create_table_fail_on_exist.json", 1, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables('<N>')").headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).body(&[Is(r#"{"TableName":"<N>"}"#)]),
            ),
        ],
    ),
    fact(
        "The quotes around the name of a table may be percent-encoded.",
        recorded("storage/node2017_query_001.json", 3, "2017-01-05"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables(%27<N>%27)"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#Tables/@Element","TableName":"<N>"}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A table that does not exist is not found by its name.",
        recorded("storage/node2017_service_022.json", 0, "2017-08-30"),
        &[ask(get("Tables(%27<N>%27)"), rejects(404, "ResourceNotFound", MISSING))],
    ),
    fact(
        "A table is deleted with 204 and no body.",
        recorded("storage/py2017_table_delete_table_with_existing_table.json", 1, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            ask(
                delete("Tables('<N>')"),
                responds(204).headers(&[("Content-Type", "")]).body(&[Is("")]),
            ),
        ],
    ),
    fact(
        "A deleted table is no longer found by its name.",
        recorded("storage/py2017_table_delete_table_with_existing_table.json", 2, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            prepare(delete("Tables('<N>')")),
            ask(
                get("Tables('<N>')").headers(&[("Accept", "application/json;odata=nometadata")]),
                rejects(404, "ResourceNotFound", MISSING),
            ),
        ],
    ),
    fact(
        "A deletion of a table that does not exist is ResourceNotFound, not TableNotFound.",
        recorded("storage/py2017_table_delete_table_with_non_existing_table.json", 0, "2017-11-10"),
        &[ask(
            delete("Tables('<N>')"),
            rejects(404, "ResourceNotFound", MISSING),
        )],
    ),
    fact(
        "A name that is not alphanumeric is no table's name.",
        recorded("storage/py2017_table_unicode_create_table_unicode_name.json", 0, "2017-11-10"),
        &[ask(
            table(r#"{"TableName":"<N>啊齄丂狛狜"}"#).headers(NO_CONTENT),
            rejects(400, "InvalidResourceName", INVALID),
        )],
    ),
    fact(
        "A table's name has no underscore.",
        suite(
            "azure-data-tables for Python, recorded test_table.py test_create_table_invalid_name",
            "2026",
        ),
        &[ask(
            table(r#"{"TableName":"<N>_table"}"#),
            rejects(400, "InvalidResourceName", INVALID),
        )],
    ),
    fact(
        "A name with slashes is no table's name.",
        NAMES,
        &[ask(
            table(r#"{"TableName":"<N>//"}"#),
            rejects(400, "InvalidResourceName", INVALID),
        )],
    ),
    fact(
        "An insert into a table whose name begins with a digit is InvalidResourceName, without Cache-Control.",
        NAMES,
        &[ask(
            send("POST", "1table", Body::Row("r", "")),
            rejects(400, "InvalidResourceName", INVALID).headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "A merge into a table whose name has an underscore is InvalidResourceName.",
        NAMES,
        &[ask(
            send("PATCH", "my_table(PartitionKey='<K>',RowKey='r')", Body::Row("r", "")),
            rejects(400, "InvalidResourceName", INVALID).headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "An insert into a table whose name has two characters is OutOfRangeInput.",
        NAMES,
        &[ask(
            send("POST", "aa", Body::Row("r", "")),
            rejects(400, "OutOfRangeInput", LENGTH).headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "A deletion in a table whose name has 64 characters is OutOfRangeInput.",
        NAMES,
        &[ask(
            delete("<a*64>(PartitionKey='<K>',RowKey='r')").headers(&[("If-Match", "*")]),
            rejects(400, "OutOfRangeInput", LENGTH).headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "An encoded slash ends the name of a table in a URL.",
        NAMES,
        &[ask(
            send("POST", "a%2F%2F", Body::Row("r", "")),
            rejects(400, "OutOfRangeInput", LENGTH),
        )],
    ),
    fact(
        "The policies of a table with an invalid name are rejected in XML.",
        NAMES,
        &[ask(
            get("1table?comp=acl").headers(XML),
            rejects(400, "InvalidResourceName", INVALID)
                .headers(&[("x-ms-error-code", "InvalidResourceName"), ("Content-Type", "application/xml")])
                .body(&[Has("<m:code>InvalidResourceName</m:code>")]),
        )],
    ),
    fact(
        "A query for a range of names lists these tables in the order of their names.",
        recorded("storage/node2017_service_007.json", 7, "2017-08-30"),
        &[
            prepare(table(r#"{"TableName":"<N>1"}"#).headers(NO_CONTENT)),
            prepare(table(r#"{"TableName":"<N>2"}"#).headers(NO_CONTENT)),
            prepare(table(r#"{"TableName":"<N>0"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables?$filter=TableName%20ge%20'<N>'%20and%20TableName%20lt%20'<N>%7B'"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#Tables","value":[{"TableName":"<N>0"},{"TableName":"<N>1"},{"TableName":"<N>2"}]}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A query that no table matches lists none.",
        recorded("storage/node2017_service_006.json", 0, "2017-08-30"),
        &[ask(
            get("Tables?$filter=TableName%20ge%20'<N>'%20and%20TableName%20lt%20'<N>%7B'"),
            responds(200).body(&[Is(r#"{"odata.metadata":"<base>/$metadata#Tables","value":[]}"#)]),
        )],
    ),
    fact(
        "A list of tables without metadata has nothing but their names.",
        recorded("storage/py2017_table_list_tables.json", 1, "2017-11-10"),
        &[
            prepare(table(r#"{"TableName":"<N>"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables").headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).body(&[Has(r#"{"TableName":"<N>"}"#), Lacks("odata.")]),
            ),
        ],
    ),
    fact(
        "A filter compares the names of tables without their case.",
        suite(
            "azure-storage-net, whose tests are marked for live accounts",
            "2018-09",
        ),
        &[
            prepare(table(r#"{"TableName":"<N>AAA"}"#).headers(NO_CONTENT)),
            ask(
                get("Tables?$filter=(TableName%20ge%20'<N>aa')%20and%20(TableName%20lt%20'<N>aa%7B')"),
                responds(200).body(&[Has(r#"{"TableName":"<N>AAA"}"#)]),
            ),
        ],
    ),
    fact(
        "An insert into a table that does not exist is TableNotFound, without Cache-Control.",
        suite(
            "azure-data-tables for Python, recorded test_table_client.py test_client_with_url_ends_with_table_name",
            "2024",
        ),
        &[ask(
            send("POST", "<N>", Body::Row("r", "")),
            rejects(404, "TableNotFound", "The table specified does not exist.").headers(&[("Cache-Control", "")]),
        )],
    ),
];
