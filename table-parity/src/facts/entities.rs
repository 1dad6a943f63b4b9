//! Facts of entities: how they are written, read and deleted.

use super::sources::{DELETE_ENTITY, INSERT_OR_REPLACE, MERGE_ENTITY, NO_CONTENT, PREFER, recorded, suite};
use crate::fact::Part::{Has, Is, Lacks};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Auth, Body, delete, get, insert, send};

const ANY: &[(&str, &str)] = &[("If-Match", "*")];
const MISSING: &str = "The specified resource does not exist.";
const CLIENTS: Source = suite("seven clients of Microsoft, recorded 2020 to 2025", "2025");

/// The properties of the recorded entities, as they were sent.
macro_rules! sent {
    () => {
        r#""age":"39","age@odata.type":"Edm.Int64","sex":"male","married":true,"deceased":false,"optional":null,"evenratio":3.0,"ratio":3.1,"large":"933311100","large@odata.type":"Edm.Int64","Birthday":"1973-10-04T00:00:00Z","Birthday@odata.type":"Edm.DateTime","birthday":"1970-10-04T00:00:00Z","birthday@odata.type":"Edm.DateTime","binary":"YmluYXJ5","binary@odata.type":"Edm.Binary","other":20,"clsid":"c9da6455-213d-42c9-9a79-3e9149a57833","clsid@odata.type":"Edm.Guid""#
    };
}

/// The properties of a recorded update, in the order in which they were sent.
const UPDATE: &str = r#""age":"abc","sex":"female","sign":"aquarius","birthday":"1991-10-04T00:00:00Z","birthday@odata.type":"Edm.DateTime""#;

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Entities, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "An entity is inserted with 204, its ETag, Location and DataServiceId if the request prefers no content.",
        recorded("storage/py2017_entity_insert_entity_dictionary.json", 0, "2017-11-10"),
        &[ask(
            insert("rkd3851397", sent!()),
            responds(204).headers(&[
                ("ETag", "{etag}"),
                ("Location", "<base>/<R:rkd3851397>"),
                ("DataServiceId", "<base>/<R:rkd3851397>"),
                ("Preference-Applied", "return-no-content"),
            ]),
        )],
    ),
    fact(
        "An entity is inserted with 201 and its stored form if the request prefers content.",
        recorded("storage/node2017_service_009.json", 1, "2017-08-30"),
        &[ask(
            send(
                "POST",
                "<T>",
                Body::Row(
                    "row1",
                    r#""field":"my field","otherfield":"my other field","otherprops":"my properties""#,
                ),
            )
            .headers(&[("Prefer", "return-content")]),
            responds(201)
                .headers(&[
                    ("ETag", "{etag}"),
                    ("Preference-Applied", "return-content"),
                ])
                .body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#<T>/@Element","odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"row1","Timestamp":"{time}","field":"my field","otherfield":"my other field","otherprops":"my properties"}"#,
                )]),
        )],
    ),
    fact(
        "An entity is inserted with 201 and no Preference-Applied if the request has no preference.",
        PREFER,
        &[ask(
            send("POST", "<T>", Body::Row("r", r#""A":1"#)),
            responds(201)
                .headers(&[("Preference-Applied", "")])
                .body(&[Has(r#""RowKey":"r""#)]),
        )],
    ),
    fact(
        "An entity that exists is not inserted again.",
        recorded("storage/py2017_entity_insert_entity_conflict.json", 1, "2017-11-10"),
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                insert("r", r#""A":1"#),
                rejects(409, "EntityAlreadyExists", "The specified entity already exists."),
            ),
        ],
    ),
    fact(
        "A rejected insert that prefers no content says that it applied the preference.",
        recorded("storage/py2017_entity_insert_entity_conflict.json", 1, "2017-11-10"),
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                insert("r", r#""A":1"#),
                rejects(409, "EntityAlreadyExists", "{text}")
                    .headers(&[("Preference-Applied", "return-no-content")]),
            ),
        ],
    ),
    fact(
        "A rejection that the store decides is not to be cached.",
        recorded("storage/py2017_entity_insert_entity_conflict.json", 1, "2017-11-10"),
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                insert("r", r#""A":1"#),
                rejects(409, "EntityAlreadyExists", "{text}").headers(&[("Cache-Control", "no-cache")]),
            ),
        ],
    ),
    fact(
        "An entity is read with its ETag, also as a header, and with the types that JSON does not have.",
        recorded("storage/py2017_entity_get_entity.json", 1, "2017-11-10"),
        &[
            prepare(insert("rke7730dad", sent!())),
            ask(
                get("<R:rke7730dad>"),
                responds(200).headers(&[("ETag", "{etag}")]).body(&[
                    Has(r#""odata.etag":"W/\"datetime'{time}'\"""#),
                    Has(r#""age@odata.type":"Edm.Int64","age":"39""#),
                    Has(r#""Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z""#),
                    Has(r#""binary@odata.type":"Edm.Binary","binary":"YmluYXJ5""#),
                    Has(r#""clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833""#),
                    Lacks("other@odata.type"),
                    Lacks("optional"),
                ]),
            ),
        ],
    ),
    fact(
        "Full metadata of an entity has its type, id and edit link, and the type of its Timestamp.",
        recorded("storage/py2017_entity_get_entity_full_metadata.json", 1, "2017-11-10"),
        &[
            prepare(insert("rkd1cb135f", sent!())),
            ask(
                get("<R:rkd1cb135f>").headers(&[("Accept", "application/json;odata=fullmetadata")]),
                responds(200).body(&[
                    Has(r##""odata.metadata":"<base>/$metadata#<T>/@Element""##),
                    Has(r#""odata.type":"{text}.<T>""#),
                    Has(r#""odata.id":"<base>/<R:rkd1cb135f>""#),
                    Has(r#""odata.editLink":"<R:rkd1cb135f>""#),
                    Has(r#""Timestamp@odata.type":"Edm.DateTime""#),
                ]),
            ),
        ],
    ),
    fact(
        "An entity without metadata has neither types nor an ETag, which the header still has.",
        recorded("storage/py2017_entity_get_entity_no_metadata.json", 1, "2017-11-10"),
        &[
            prepare(insert("rkab3d1289", sent!())),
            ask(
                get("<R:rkab3d1289>").headers(&[("Accept", "application/json;odata=nometadata")]),
                responds(200).headers(&[("ETag", "{etag}")]).body(&[
                    Has(r#""age":"39""#),
                    Has(r#""birthday":"1970-10-04T00:00:00Z""#),
                    Lacks("odata."),
                ]),
            ),
        ],
    ),
    fact(
        "An entity that does not exist is not found.",
        recorded("storage/py2017_entity_get_entity_not_existing.json", 0, "2017-11-10"),
        &[ask(
            get("<R:rkbf5d1327>"),
            rejects(404, "ResourceNotFound", MISSING),
        )],
    ),
    fact(
        "An entity is deleted with 204 and no ETag.",
        recorded("storage/py2017_entity_delete_entity.json", 1, "2017-11-10"),
        &[
            prepare(insert("rk12440ee0", r#""A":1"#)),
            ask(
                delete("<R:rk12440ee0>").headers(ANY),
                responds(204).headers(&[("ETag", ""), ("Content-Type", "")]),
            ),
        ],
    ),
    fact(
        "A deleted entity is not found.",
        recorded("storage/py2017_entity_delete_entity.json", 2, "2017-11-10"),
        &[
            prepare(insert("rk12440ee0", r#""A":1"#)),
            prepare(delete("<R:rk12440ee0>").headers(ANY)),
            ask(get("<R:rk12440ee0>"), rejects(404, "ResourceNotFound", MISSING)),
        ],
    ),
    fact(
        "A merge without If-Match keeps the properties that it does not name.",
        recorded(
            "storage/py2017_entity_insert_or_merge_entity_with_existing_entity.json",
            2,
            "2017-11-10",
        ),
        &[
            prepare(insert("rk95761b92", sent!())),
            prepare(send("MERGE", "<R:rk95761b92>", Body::Row("rk95761b92", UPDATE))),
            ask(
                get("<R:rk95761b92>"),
                responds(200).body(&[
                    Has(r#""married":true"#),
                    Has(r#""age":"abc""#),
                    Has(r#""sign":"aquarius""#),
                    Lacks(r#""age@odata.type""#),
                ]),
            ),
        ],
    ),
    fact(
        "A PUT without If-Match removes the properties that it does not name.",
        recorded(
            "storage/py2017_entity_insert_or_replace_entity_with_existing_entity.json",
            2,
            "2017-11-10",
        ),
        &[
            prepare(insert("rkcc7c1c5e", sent!())),
            prepare(send("PUT", "<R:rkcc7c1c5e>", Body::Row("rkcc7c1c5e", UPDATE))),
            ask(
                get("<R:rkcc7c1c5e>"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#<T>/@Element","odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"rkcc7c1c5e","Timestamp":"{time}","age":"abc","birthday@odata.type":"Edm.DateTime","birthday":"1991-10-04T00:00:00Z","sex":"female","sign":"aquarius"}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A PUT with `If-Match: *` answers 204 and a new ETag, without Location and DataServiceId.",
        recorded("storage/py2017_entity_update_entity.json", 1, "2017-11-10"),
        &[
            prepare(insert("rk13250ef0", sent!())),
            ask(
                send("PUT", "<R:rk13250ef0>", Body::Row("rk13250ef0", UPDATE)).headers(ANY),
                responds(204).headers(&[("ETag", "{etag}"), ("Location", ""), ("DataServiceId", "")]),
            ),
        ],
    ),
    fact(
        "The properties of an updated entity are read in the order of their names.",
        recorded("storage/py2017_entity_update_entity.json", 2, "2017-11-10"),
        &[
            prepare(insert("rk13250ef0", sent!())),
            prepare(send("PUT", "<R:rk13250ef0>", Body::Row("rk13250ef0", UPDATE)).headers(ANY)),
            ask(
                get("<R:rk13250ef0>"),
                responds(200).body(&[Has(
                    r#""age":"abc","birthday@odata.type":"Edm.DateTime","birthday":"1991-10-04T00:00:00Z","sex":"female","sign":"aquarius""#,
                )]),
            ),
        ],
    ),
    fact(
        "The properties of an inserted entity are read in the order in which they were sent.",
        recorded("storage/py2017_batch_batch_update_if_doesnt_match.json", 4, "2017-11-10"),
        &[
            prepare(insert(
                "rk3741440",
                r#""age":"39","age@odata.type":"Edm.Int64","sex":"male","married":true,"deceased":false,"optional":null,"ratio":3.1,"evenratio":3.0"#,
            )),
            ask(
                get("<R:rk3741440>"),
                responds(200).body(&[Has(
                    r#""age@odata.type":"Edm.Int64","age":"39","sex":"male","married":true,"deceased":false"#,
                )]),
            ),
        ],
    ),
    fact(
        "A merge without If-Match inserts an entity that does not exist, and keeps the line ends of its text.",
        recorded("storage/node2017_service_021.json", 2, "2017-08-30"),
        &[
            prepare(send("MERGE", "<R:1abc>", Body::Row("1abc", r#""content":"\n\nhi\n\nthere\n\n""#))),
            ask(
                get("<R:1abc>"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#<T>/@Element","odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"1abc","Timestamp":"{time}","content":"\n\nhi\n\nthere\n\n"}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A merge with `If-Match: *` does not insert an entity.",
        recorded("storage/py2017_entity_merge_entity_not_existing.json", 0, "2017-11-10"),
        &[ask(
            send("MERGE", "<R:rke64a13f7>", Body::Row("rke64a13f7", UPDATE)).headers(ANY),
            rejects(404, "ResourceNotFound", MISSING),
        )],
    ),
    fact(
        "A property that is null is not stored.",
        recorded("storage/py2017_entity_none_property_value.json", 1, "2017-11-10"),
        &[
            prepare(insert("rk76561181", r#""NoneValue":null"#)),
            ask(
                get("<R:rk76561181>"),
                responds(200).body(&[Is(
                    r#"{"odata.metadata":"<base>/$metadata#<T>/@Element","odata.etag":"{etag}","PartitionKey":"<K>","RowKey":"rk76561181","Timestamp":"{time}"}"#,
                )]),
            ),
        ],
    ),
    fact(
        "A null in a merge keeps the stored value.",
        MERGE_ENTITY,
        &[
            prepare(insert("r", r#""A":"kept""#)),
            prepare(send("MERGE", "<R:r>", Body::Row("r", r#""A":null"#)).headers(ANY)),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""A":"kept""#)])),
        ],
    ),
    fact(
        "The service chooses the Timestamp, whatever a body says.",
        recorded("storage/py2017_batch_batch_update.json", 3, "2017-11-10"),
        &[
            prepare(insert("batch_update", r#""test2":"value""#)),
            prepare(
                send(
                    "PUT",
                    "<R:batch_update>",
                    Body::Row(
                        "batch_update",
                        r#""Timestamp":"2001-01-01T00:00:00Z","Timestamp@odata.type":"Edm.DateTime","test2":"value1""#,
                    ),
                )
                .headers(ANY),
            ),
            ask(
                get("<R:batch_update>"),
                responds(200).body(&[Has(r#""test2":"value1""#), Lacks("2001-01-01T00:00:00Z")]),
            ),
        ],
    ),
    fact(
        "A property called etag is a property like others.",
        recorded("storage/py2017_batch_batch_update.json", 3, "2017-11-10"),
        &[
            prepare(insert("batch_update", "")),
            prepare(
                send("PUT", "<R:batch_update>", Body::Row("batch_update", r#""etag":"mine","test2":"value1""#))
                    .headers(ANY),
            ),
            ask(
                get("<R:batch_update>"),
                responds(200).body(&[Has(r#""etag":""#), Has(r#""test2":"value1""#)]),
            ),
        ],
    ),
    fact(
        "ETag, etag and Etag are three properties, and timestamp is none of the service's.",
        suite(
            "azure-data-tables for Python, recorded test_table_entity.py test_etag_duplicate_field",
            "2022 to 2026",
        ),
        &[
            prepare(insert("r", r#""ETag":"a","etag":"b","Etag":"c","timestamp":"d""#)),
            ask(
                get("<R:r>"),
                responds(200).body(&[
                    Has(r#""ETag":"a""#),
                    Has(r#""etag":"b""#),
                    Has(r#""Etag":"c""#),
                    Has(r#""timestamp":"d""#),
                ]),
            ),
        ],
    ),
    fact(
        "A PATCH that prefers no content says that it applied the preference.",
        CLIENTS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("PATCH", "<R:r>", Body::Row("r", r#""A":2"#)).headers(&[
                    ("If-Match", "*"),
                    ("Prefer", "return-no-content"),
                ]),
                responds(204).headers(&[("Preference-Applied", "return-no-content")]),
            ),
        ],
    ),
    fact(
        "A PUT without If-Match that prefers no content says that it applied the preference.",
        CLIENTS,
        &[ask(
            send("PUT", "<R:r>", Body::Row("r", r#""A":2"#)).headers(NO_CONTENT),
            responds(204).headers(&[("Preference-Applied", "return-no-content"), ("ETag", "{etag}")]),
        )],
    ),
    fact(
        "A deletion ignores Prefer.",
        CLIENTS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                delete("<R:r>").headers(&[("If-Match", "*"), ("Prefer", "return-no-content")]),
                responds(204).headers(&[("Preference-Applied", "")]),
            ),
        ],
    ),
    fact(
        "The URL names the entity of an update; a type of the keys in the body is ignored.",
        suite(
            "azure-data-tables for Python, recorded test_encoder.py test_encoder_update_entity_complex_keys",
            "2022 to 2026",
        ),
        &[
            prepare(insert("2026-01-02", r#""A":1"#)),
            ask(
                send(
                    "PATCH",
                    "<R:2026-01-02>",
                    Body::Json(r#"{"PartitionKey":"<K>","RowKey":"2026-01-02","RowKey@odata.type":"Edm.DateTime","A":2}"#),
                )
                .headers(ANY),
                responds(204),
            ),
        ],
    ),
    fact(
        "An upsert of nothing but its keys is an entity.",
        suite(
            "azure-data-tables for Python, recorded test_encoder.py test_encoder_delete_entity_atypical_values",
            "2022 to 2026",
        ),
        &[
            prepare(send("PATCH", "<R:r>", Body::Row("r", ""))),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""RowKey":"r""#)])),
        ],
    ),
    fact(
        "A deletion without If-Match is rejected.",
        DELETE_ENTITY,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(delete("<R:r>"), rejects(400, "{text}", "{text}")),
        ],
    ),
    fact(
        "The second segment of a URL is ignored by an insert into a table.",
        CLIENTS,
        &[ask(
            send("POST", "<T>/<T>", Body::Row("r", r#""A":1"#)).headers(NO_CONTENT).auth(Auth::Sas(&[
                ("sv", "2019-02-02"),
                ("tn", "<T>"),
                ("sp", "a"),
                ("se", "<soon>"),
            ])),
            responds(204).headers(&[("Location", "<base>/<R:r>"), ("DataServiceId", "<base>/<R:r>")]),
        )],
    ),
    fact(
        "A PUT without If-Match inserts an entity that does not exist.",
        INSERT_OR_REPLACE,
        &[
            prepare(send("PUT", "<R:r>", Body::Row("r", r#""A":1"#))),
            ask(get("<R:r>"), responds(200).body(&[Has(r#""A":1"#)])),
        ],
    ),
];
