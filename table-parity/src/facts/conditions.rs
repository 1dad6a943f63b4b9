//! Facts of conditions: `If-Match`, `If-None-Match`, and ETags.

use super::sources::{DELETE_ENTITY, TABLE_ERRORS, page, recorded, report, suite};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Body, delete, get, insert, send};

/// An ETag as the service builds it, of no entity.
const STALE: &[(&str, &str)] = &[("If-Match", "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"")];
const CURRENT: &[(&str, &str)] = &[("If-Match", "<etag>")];
const CONDITION: &str = "The update condition specified in the request was not satisfied.";

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Conditions, name, source, exchanges).on(On::Storage)
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "A merge with another ETag is UpdateConditionNotSatisfied.",
        recorded(
            "storage/py2017_entity_merge_entity_with_if_doesnt_match.json",
            1,
            "2017-11-10",
        ),
        &[
            prepare(insert("rk9316171e", r#""sex":"male""#)),
            ask(
                send("MERGE", "<R:rk9316171e>", Body::Row("rk9316171e", r#""sex":"female""#)).headers(STALE),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION),
            ),
        ],
    ),
    fact(
        "A merge with the ETag of the entity answers a new ETag.",
        recorded(
            "storage/py2017_entity_merge_entity_with_if_matches.json",
            1,
            "2017-11-10",
        ),
        &[
            prepare(insert("rk236c150a", r#""sex":"male""#)),
            ask(
                send("MERGE", "<R:rk236c150a>", Body::Row("rk236c150a", r#""sex":"female""#)).headers(CURRENT),
                responds(204).headers(&[("ETag", "{etag}")]),
            ),
        ],
    ),
    fact(
        "A PUT with another ETag is UpdateConditionNotSatisfied.",
        recorded("storage/node2017_service_015.json", 2, "2017-08-30"),
        &[
            prepare(insert("row1", r#""field":"my field""#)),
            ask(
                send(
                    "PUT",
                    "<T>(PartitionKey=%27<K>%27,RowKey=%27row1%27)",
                    Body::Row("row1", r#""field":"new""#),
                )
                .headers(STALE),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION),
            ),
        ],
    ),
    fact(
        "A merge with `If-Match: *` needs no ETag.",
        recorded("storage/node2017_service_016.json", 2, "2017-08-30"),
        &[
            prepare(insert("row1", r#""field":"my field""#)),
            ask(
                send(
                    "MERGE",
                    "<T>(PartitionKey=%27<K>%27,RowKey=%27row1%27)",
                    Body::Row("row1", r#""field":"new""#),
                )
                .headers(&[("If-Match", "*")]),
                responds(204).headers(&[("ETag", "{etag}")]),
            ),
        ],
    ),
    fact(
        "The ETag that an entity had before a merge is no longer its ETag.",
        recorded("storage/node2017_service_017.json", 3, "2017-08-30"),
        &[
            prepare(insert("row1", r#""field":"my field""#)),
            prepare(
                send(
                    "MERGE",
                    "<T>(PartitionKey=%27<K>%27,RowKey=%27row1%27)",
                    Body::Row("row1", r#""field":"new""#),
                )
                .headers(CURRENT),
            ),
            ask(
                send(
                    "MERGE",
                    "<T>(PartitionKey=%27<K>%27,RowKey=%27row1%27)",
                    Body::Row("row1", r#""field":"newer""#),
                )
                .headers(STALE),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION),
            ),
        ],
    ),
    fact(
        "A deletion with the ETag of the entity deletes it.",
        recorded("storage/py2017_entity_get_entity_if_match.json", 2, "2017-11-10"),
        &[
            prepare(insert("rk74691147", r#""sex":"male""#)),
            prepare(get("<R:rk74691147>")),
            ask(
                delete("<R:rk74691147>").headers(CURRENT),
                responds(204).headers(&[("ETag", "")]),
            ),
        ],
    ),
    fact(
        "A deletion with another ETag is UpdateConditionNotSatisfied.",
        DELETE_ENTITY,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                delete("<R:r>").headers(STALE),
                rejects(412, "UpdateConditionNotSatisfied", CONDITION),
            ),
        ],
    ),
    fact(
        "A deletion of an entity that does not exist is ResourceNotFound.",
        suite(
            "azure-data-tables for Python, recorded tests of entities",
            "2022 to 2026",
        ),
        &[ask(
            delete("<R:r>").headers(&[("If-Match", "*")]),
            rejects(404, "ResourceNotFound", "The specified resource does not exist."),
        )],
    ),
    fact(
        "An ETag without quotes is InvalidInput, and the text repeats it.",
        TABLE_ERRORS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("PUT", "<R:r>", Body::Row("r", r#""A":2"#)).headers(&[("If-Match", "wrong")]),
                rejects(
                    400,
                    "InvalidInput",
                    "The etag value 'wrong' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.",
                ),
            ),
        ],
    ),
    fact(
        "A weak ETag that the service never built does not match.",
        report("https://github.com/Azure/Azurite/issues/1229"),
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("PUT", "<R:r>", Body::Row("r", r#""A":2"#)).headers(&[("If-Match", "W/\"wrong\"")]),
                rejects(412, "{text}", "{text}"),
            ),
        ],
    ),
    fact(
        "An ETag with doubled quotes around its time is ConditionNotMet, without Cache-Control.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("PUT", "<R:r>", Body::Row("r", r#""A":2"#))
                    .headers(&[("If-Match", "W/\"datetime''2017-04-01T01%3A07%3A23.8881885Z''\"")]),
                rejects(
                    412,
                    "ConditionNotMet",
                    "The condition specified using HTTP conditional header(s) is not met.",
                )
                .headers(&[("Cache-Control", "")]),
            ),
        ],
    ),
    fact(
        "If-None-Match is rejected in a PUT.",
        TABLE_ERRORS,
        &[ask(
            send("PUT", "<R:r>", Body::Row("r", r#""A":1"#)).headers(&[("If-None-Match", "*")]),
            rejects(400, "InvalidInput", "{text}"),
        )],
    ),
    fact(
        "If-None-Match is rejected in a deletion.",
        TABLE_ERRORS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                delete("<R:r>").headers(&[("If-None-Match", "*")]),
                rejects(400, "InvalidInput", "{text}"),
            ),
        ],
    ),
    fact(
        "If-Match and If-None-Match together are rejected.",
        TABLE_ERRORS,
        &[
            prepare(insert("r", r#""A":1"#)),
            ask(
                send("PUT", "<R:r>", Body::Row("r", r#""A":2"#)).headers(&[("If-Match", "*"), ("If-None-Match", "*")]),
                rejects(400, "InvalidInput", "{text}"),
            ),
        ],
    ),
    fact(
        "A PUT with `If-Match: *` does not insert an entity.",
        page("https://learn.microsoft.com/en-us/rest/api/storageservices/update-entity2"),
        &[ask(
            send("PUT", "<R:r>", Body::Row("r", r#""A":1"#)).headers(&[("If-Match", "*")]),
            rejects(404, "ResourceNotFound", "The specified resource does not exist."),
        )],
    ),
];
