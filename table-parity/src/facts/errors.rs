//! Facts of errors: their form, and the rejection of odd URLs and headers.

use super::sources::{COMMON_ERRORS, VERSIONS, XML, recorded, report, suite};
use crate::fact::Part::{Has, Is};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Auth, Body, batch, delete, get, insert, send};

const MISSING: &str = "The specified resource does not exist.";
const HEADER: &str = "The value for one of the HTTP headers is not in the correct format.";
const KEYS: &str =
    "The number of keys specified in the URI does not match number of key properties for the resource '{text}.<T>'.";
const CLIENTS: Source = suite("seven clients of Microsoft, recorded 2020 to 2025", "2025");
const ANY_FORMAT: Source = suite("clients that send `Accept: */*`, 25 recordings", "2020-08");
const TABLE_IN_URL: Source = suite(
    "azure-data-tables for Python, recorded test_table_client.py test_client_with_url_ends_with_table_name",
    "2024",
);
const PROPERTIES_OF_TABLE: Source = suite(
    "azure-data-tables for Python, recorded test_table_service_properties.py test_client_with_url_ends_with_table_name",
    "2026",
);
const QUERY_PARAMETER: &[(&str, &str)] = &[
    ("x-ms-error-code", "InvalidQueryParameterValue"),
    ("Content-Type", "application/xml"),
    ("x-ms-version", ""),
];

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Errors, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "An error is JSON with its code, its text, the id of the request and the time.",
        recorded("storage/py2017_entity_get_entity_not_existing.json", 0, "2017-11-10"),
        &[ask(
            get("<R:rkbf5d1327>"),
            rejects(404, "ResourceNotFound", MISSING)
                .body(&[Is(
                    r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"The specified resource does not exist.\nRequestId:{id}\nTime:{time}"}}}"#,
                )]),
        )],
    ),
    fact(
        "An error of an operation on entities or tables has no x-ms-error-code.",
        recorded("storage/py2017_table_delete_table_with_non_existing_table.json", 0, "2017-11-10"),
        &[ask(
            delete("Tables('<N>')"),
            rejects(404, "ResourceNotFound", MISSING)
                .headers(&[("x-ms-error-code", "")]),
        )],
    ),
    fact(
        "An error without metadata has the level of metadata in its Content-Type.",
        recorded("storage/py2017_table_delete_table_with_existing_table.json", 2, "2017-11-10"),
        &[ask(
            get("Tables('<N>')").headers(&[("Accept", "application/json;odata=nometadata")]),
            rejects(404, "ResourceNotFound", MISSING).headers(&[(
                "Content-Type",
                "application/json;odata=nometadata;streaming=true;charset=utf-8",
            )]),
        )],
    ),
    fact(
        "An error of an operation in XML is XML with x-ms-error-code.",
        recorded("storage/py_test_aad_access_policy_error.json", 0, "2026-04-14"),
        &[ask(
            get("<N>?comp=acl").headers(XML),
            rejects(404, "TableNotFound", "The table specified does not exist.")
                .headers(&[("x-ms-error-code", "TableNotFound"), ("Content-Type", "application/xml")])
                .body(&[Is(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>TableNotFound</m:code><m:message xml:lang=\"en-US\">The table specified does not exist.\nRequestId:{id}\nTime:{time}</m:message></m:error>",
                )]),
        )],
    ),
    fact(
        "A deletion that accepts any format is rejected in XML without the prefix m.",
        ANY_FORMAT,
        &[ask(
            delete("<R:r>").headers(&[("Accept", "*/*"), ("If-Match", "*")]),
            rejects(404, "ResourceNotFound", MISSING)
                .headers(&[("Content-Type", "application/xml;charset=utf-8")])
                .body(&[Is(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>ResourceNotFound</code><message xml:lang=\"en-US\">The specified resource does not exist.\nRequestId:{id}\nTime:{time}</message></error>",
                )]),
        )],
    ),
    fact(
        "An update that accepts any format is rejected in XML.",
        ANY_FORMAT,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("PUT", "<R:r>", Body::Row("r", r#""A":2"#)).headers(&[
                    ("Accept", "*/*"),
                    ("If-Match", "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\""),
                ]),
                rejects(
                    412,
                    "UpdateConditionNotSatisfied",
                    "The update condition specified in the request was not satisfied.",
                )
                .headers(&[("Content-Type", "application/xml;charset=utf-8")]),
            ),
        ],
    ),
    fact(
        "The deletion of a table that accepts any format is rejected in XML.",
        ANY_FORMAT,
        &[ask(
            delete("Tables('<N>')").headers(&[("Accept", "*/*")]),
            rejects(404, "ResourceNotFound", MISSING)
                .headers(&[("Content-Type", "application/xml;charset=utf-8")]),
        )],
    ),
    fact(
        "A version that is no date is rejected in XML, without x-ms-error-code.",
        suite("clients with the version 12.0.0b1, 21 recordings", "2020-08"),
        &[ask(
            get("Tables").headers(&[("x-ms-version", "12.0.0b1")]),
            rejects(400, "InvalidHeaderValue", HEADER)
                .headers(&[("Content-Type", "application/xml"), ("x-ms-error-code", "")])
                .body(&[
                    Has("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>"),
                    Has("<code>InvalidHeaderValue</code>"),
                ]),
        )],
    ),
    fact(
        "Before version 2017-07-29, an error of an operation in XML has no x-ms-error-code.",
        suite("the clients for Go and Python, 17 recorded answers to older versions", "2021-04"),
        &[ask(
            get("<N>?comp=acl").headers(&[("Accept", "application/xml"), ("x-ms-version", "2016-05-31")]),
            rejects(404, "TableNotFound", "The table specified does not exist.").headers(&[("x-ms-error-code", "")]),
        )],
    ),
    fact(
        "A version that does not exist is InvalidHeaderValue.",
        report("https://github.com/Azure/azure-storage-node/issues/185"),
        &[ask(
            get("Tables").headers(&[("x-ms-version", "2001-01-01")]),
            rejects(400, "InvalidHeaderValue", HEADER),
        )],
    ),
    fact(
        "A response has the version of its request.",
        VERSIONS,
        &[ask(
            get("Tables").headers(&[("x-ms-version", "2017-04-17")]),
            responds(200).headers(&[("x-ms-version", "2017-04-17")]),
        )],
    ),
    fact(
        "From version 2019-02-02 on, the id that a client gives its request comes back.",
        VERSIONS,
        &[ask(
            get("Tables").headers(&[
                ("x-ms-version", "2019-02-02"),
                ("x-ms-client-request-id", "9b4f1a52-0c29-4c8e-8d3b-7a1f0e6d2c11"),
            ]),
            responds(200).headers(&[("x-ms-client-request-id", "9b4f1a52-0c29-4c8e-8d3b-7a1f0e6d2c11")]),
        )],
    ),
    fact(
        "A body of more than 4 MiB is RequestBodyTooLarge.",
        COMMON_ERRORS,
        &[ask(
            send("POST", "<T>", Body::Row("r", r#""A":"<x*4194304>""#)),
            rejects(
                413,
                "RequestBodyTooLarge",
                "The request body is too large and exceeds the maximum permissible limit.",
            ),
        )],
    ),
    fact(
        "A batch of more than 4 MiB is rejected as a whole.",
        COMMON_ERRORS,
        &[ask(
            batch(Body::Repeated(
                70,
                "POST <base>/<T>\n\n{\"PartitionKey\":\"<K>\",\"RowKey\":\"<i>\",\"A\":\"<x*30000>\",\"B\":\"<x*32000>\"}",
            )),
            rejects(
                413,
                "RequestBodyTooLarge",
                "The request body is too large and exceeds the maximum permissible limit.",
            ),
        )],
    ),
    fact(
        "The creation of a table below a table is an insert of an entity without keys.",
        TABLE_IN_URL,
        &[ask(
            send("POST", "<T>/Tables", Body::Json(r#"{"TableName":"<T>"}"#)),
            rejects(
                400,
                "PropertiesNeedValue",
                "The values are not specified for all properties in the entity.",
            ),
        )],
    ),
    fact(
        "The creation of a table below a table that does not exist is TableNotFound.",
        TABLE_IN_URL,
        &[ask(
            send("POST", "<N>/Tables", Body::Json(r#"{"TableName":"<N>"}"#)),
            rejects(404, "TableNotFound", "The table specified does not exist.").headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "The deletion of a table below a table counts the keys of an entity.",
        TABLE_IN_URL,
        &[ask(
            delete("<T>/Tables('<T>')"),
            rejects(400, "InvalidInput", KEYS).headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "The deletion of a table below a table that does not exist is TableNotFound.",
        TABLE_IN_URL,
        &[ask(
            delete("<N>/Tables('<N>')"),
            rejects(404, "TableNotFound", "The table specified does not exist.").headers(&[("Cache-Control", "")]),
        )],
    ),
    fact(
        "The tables below a table are NotImplemented.",
        CLIENTS,
        &[ask(
            get("<T>/Tables"),
            rejects(
                501,
                "NotImplemented",
                "The requested operation is not implemented on the specified resource.",
            ),
        )],
    ),
    fact(
        "An entity below a table is NotImplemented.",
        suite("Microsoft's clients, a recorded point read below a table", "2020-06"),
        &[ask(
            get("<T>/<T>(PartitionKey='<K>',RowKey='r')"),
            rejects(
                501,
                "NotImplemented",
                "The requested operation is not implemented on the specified resource.",
            ),
        )],
    ),
    fact(
        "The properties of the service are not read below a table.",
        PROPERTIES_OF_TABLE,
        &[ask(
            get("<T>/?restype=service&comp=properties").headers(XML),
            rejects(400, "InvalidQueryParameterValue", "{text}").headers(QUERY_PARAMETER),
        )],
    ),
    fact(
        "The properties of the service are not set below a table.",
        PROPERTIES_OF_TABLE,
        &[ask(
            send(
                "PUT",
                "<T>/?restype=service&comp=properties",
                Body::Xml("<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties />"),
            )
            .headers(XML),
            rejects(400, "InvalidQueryParameterValue", "{text}").headers(QUERY_PARAMETER),
        )],
    ),
    fact(
        "A path that is no resource is not found before its credential is asked for.",
        suite("@azure/data-tables and azure-storage for Node.js, recorded deletions of (retry)", "2021-04"),
        &[ask(
            delete("%28retry%29?timeout=30")
                .headers(&[
                    ("Accept", "application/json;odata=nometadata"),
                    ("x-ms-version", "2016-05-31"),
                ])
                .auth(Auth::None),
            rejects(404, "ResourceNotFound", MISSING)
                .headers(&[("Content-Type", "application/json"), ("x-ms-version", "2016-05-31")]),
        )],
    ),
    fact(
        "A response has the id of its request.",
        recorded("storage/py2017_entity_get_entity_not_existing.json", 0, "2017-11-10"),
        &[ask(
            get("<R:rkbf5d1327>"),
            rejects(404, "ResourceNotFound", MISSING).headers(&[("x-ms-request-id", "{id}")]),
        )],
    ),
];
