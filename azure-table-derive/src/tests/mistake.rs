//! One test for each error, by its message.

use super::{mistakes, one, with};

/// Returns the only error for a struct with both keys and one more field.
#[track_caller]
fn field(attributes: &str) -> String {
    one(&with("", &format!("#[table({attributes})] x: i32")))
}

/// Returns the only error for a struct with both keys, these attributes and a property.
#[track_caller]
fn entity(attributes: &str) -> String {
    one(&with(&format!("#[table({attributes})]"), "x: i32"))
}

#[test]
fn error_for_a_struct_without_keys_names_both() {
    assert_eq!(
        mistakes("struct S { x: i32 }"),
        [
            "no PartitionKey: put #[table(partition_key)] on the field that holds it, or \
             #[table(partition_key = \"{field}\")] on the struct",
            "no RowKey: put #[table(row_key)] on the field that holds it, or #[table(row_key = \"{field}\")] on the \
             struct",
        ]
    );
}

#[test]
fn misspelled_key_attribute_is_not_reported_as_a_missing_key() {
    assert!(
        one("struct S { #[table(partition_key)] a: String, #[table(rowkey)] b: String }")
            .starts_with("unknown attribute `rowkey`: did you mean `row_key`?")
    );
    assert_eq!(
        one("#[table(partition_key = 5, row_key = \"\")] struct S { a: i32 }"),
        "`partition_key` takes a string: write `partition_key = \"{field}\"`"
    );
}

#[test]
fn two_fields_cannot_both_be_the_row_key() {
    assert_eq!(
        field("row_key"),
        "only one field can be the RowKey: remove this attribute, or combine both fields in a template on the struct, \
         #[table(row_key = \"{a};{b}\")]"
    );
}

#[test]
fn template_and_field_cannot_both_be_the_key() {
    assert_eq!(
        one(
            "#[table(partition_key = \"p\")] struct S { #[table(partition_key)] a: String, #[table(row_key)] b: String \
             }"
        ),
        "the template on the struct already sets PartitionKey: add `{a}` to it and remove this attribute, or remove \
         the template"
    );
}

#[test]
fn field_has_one_role() {
    assert_eq!(
        field("timestamp, ignore"),
        "a field has one role: remove `timestamp` or `ignore`"
    );
    assert_eq!(
        one("struct S { #[table(partition_key, row_key)] a: String }"),
        "a field has one role: remove `partition_key` or `row_key`"
    );
}

#[test]
fn attribute_is_used_once() {
    assert_eq!(
        field("rename = \"a\", rename = \"b\""),
        "duplicate attribute `rename`: write it once"
    );
    assert_eq!(
        field("ignore)] #[table(ignore"),
        "duplicate attribute `ignore`: write it once"
    );
    assert_eq!(
        entity("columns = off, columns = off"),
        "duplicate attribute `columns`: write it once"
    );
}

#[test]
fn error_for_an_unknown_attribute_lists_the_known_ones() {
    let known = "on a field write `partition_key`, `row_key`, `rename`, `alias`, `default`, `ignore`, `with`, `json`, \
                 `flatten`, `prefix`, `chunked`, `timestamp`, `etag`, `extra`, `write_id` or `column`";
    assert_eq!(field("nullable"), format!("unknown attribute `nullable`: {known}"));
    assert_eq!(
        field("ingore"),
        format!("unknown attribute `ingore`: did you mean `ignore`? {known}")
    );
    assert_eq!(
        field("embed"),
        format!("unknown attribute `embed`: did you mean `flatten`? {known}")
    );
    assert_eq!(
        entity("RenameAll = \"x\""),
        "unknown attribute `RenameAll`: did you mean `rename_all`? on a struct write `name`, `partition_key`, \
         `row_key`, `index`, `rename_all`, `columns`, `deny_unknown_properties`, `upgrade` or `crate`"
    );
}

#[test]
fn error_for_a_misplaced_attribute_names_its_place() {
    assert_eq!(
        field("rename_all = \"camelCase\""),
        "`rename_all` belongs on the struct: move it above `struct`"
    );
    assert_eq!(
        entity("rename = \"x\""),
        "`rename` belongs on a field: move it there; for all fields write `rename_all = \"PascalCase\"`"
    );
    assert_eq!(
        entity("etag"),
        "`etag` belongs on a field: move it to the field that it applies to"
    );
    assert_eq!(
        field("partition_key = \"{x}\""),
        "on a field write #[table(partition_key)]; a template, `partition_key = \"{field}\"`, belongs on the struct"
    );
    assert_eq!(
        one("#[table(row_key)] struct S { #[table(partition_key)] a: String, b: String }"),
        "on a struct write `row_key = \"{field}\"`; for a single field put #[table(row_key)] on that field"
    );
}

#[test]
fn error_for_a_malformed_value_shows_the_correct_form() {
    for malformed in [
        "rename",
        "rename = 5",
        "rename(\"x\")",
        "rename = x",
        "rename =",
        "rename = \"a\" \"b\"",
    ] {
        assert_eq!(
            field(malformed),
            "`rename` takes a string: write `rename = \"Name\"`",
            "{malformed}"
        );
    }
    assert_eq!(field("ignore = true"), "`ignore` takes no value: write `ignore`");
    assert_eq!(
        field("\"rename\""),
        "expected the name of an attribute: `partition_key`, `row_key`, `rename`, `alias`, `default`, `ignore`, \
         `with`, `json`, `flatten`, `prefix`, `chunked`, `timestamp`, `etag`, `extra`, `write_id` or \
         `column`"
    );
    assert_eq!(
        one(&with("#[table]", "")),
        "write #[table(…)] with `name`, `partition_key`, `row_key`, `index`, `rename_all`, `columns`, \
         `deny_unknown_properties`, `upgrade` or `crate` inside"
    );
    for (name, fault) in [
        ("", "it has 0 characters"),
        ("my/blogs", "it contains '/'"),
        ("my blogs ", "it ends with a space"),
        ("Tables", "the service reserves it"),
    ] {
        assert_eq!(
            entity(&format!("name = {name:?}")),
            format!(
                "{name:?} cannot be the name of a table, {fault}: write 3 to 63 ASCII letters and digits, a letter \
                 first, such as `name = \"Blogs\"`; on Cosmos DB up to 254 characters without `/ \\ # ?`"
            )
        );
    }
    // On a field the suggestion is a different word.
    assert!(field("name = \"rtg\"").contains("did you mean `rename`?"));
    assert_eq!(
        entity("rename_all = \"kebab-case\""),
        "unknown case \"kebab-case\": write `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case` or \
         `SCREAMING_SNAKE_CASE`"
    );
    assert_eq!(
        entity("crate = \"a b\""),
        "\"a b\" is not a path: write the one of azure-table, such as `crate = \"::azure_table\"`"
    );
}

#[test]
fn only_structs_with_named_fields_are_entities() {
    assert_eq!(
        one("struct S(String);"),
        "TableEntity can only be derived for structs with named fields: give each field a name, `struct S { name: … }`"
    );
    assert_eq!(
        one("struct S;"),
        "TableEntity can only be derived for structs with named fields: write `struct S { … }`"
    );
    assert_eq!(
        one("union U { a: u8 }"),
        "TableEntity can only be derived for structs with named fields: make this union a struct"
    );
}

#[test]
fn two_fields_cannot_be_stored_under_one_name() {
    assert_eq!(
        one(&with("", "x: i32, #[table(rename = \"x\")] y: i32")),
        "`x` and `y` are both stored as `x`: write another name with #[table(rename = \"Name\")]"
    );
    assert_eq!(
        one(&with(
            "#[table(rename_all = \"PascalCase\")]",
            "posted_at: i32, #[table(column = \"B\")] postedAt: i32"
        )),
        "`posted_at` and `postedAt` are both stored as `PostedAt`: write another name with #[table(rename = \"Name\")]"
    );
}

#[test]
fn error_for_a_reserved_name_suggests_the_attribute() {
    assert_eq!(
        one(&with("#[table(rename_all = \"PascalCase\")]", "timestamp: i64")),
        "`Timestamp` is reserved by the service: for the time of the last write put #[table(timestamp)] on a field of \
         type Option<DateTime>, or write another name with #[table(rename = \"Name\")]"
    );
    assert_eq!(
        field("rename = \"PartitionKey\""),
        "`PartitionKey` is reserved by the service: for the key itself write #[table(partition_key)], or write another \
         name with #[table(rename = \"Name\")]"
    );
    assert!(field("rename = \"RowKey\"").contains("for the key itself write #[table(row_key)]"));
}

#[test]
fn property_name_must_be_an_identifier() {
    for (name, fault) in [
        ("", "it is empty"),
        ("1st", "it starts with '1', not with a letter or `_`"),
        ("odata.etag", "it contains '.', which is not a letter, digit or `_`"),
        ("m²", "it contains '²', which is not a letter, digit or `_`"),
    ] {
        assert_eq!(
            field(&format!("rename = {name:?}")),
            format!(
                "{name:?} cannot be the name of a property, {fault}: write another with #[table(rename = \"Name\")]"
            )
        );
    }
    for name in ["हिन्दी", "ก่อน", "e\u{301}", "a‿b"] {
        assert!(
            mistakes(&with("", &format!("#[table(rename = {name:?})] x: i32"))).is_empty(),
            "{name}"
        );
    }
    let long = "é".repeat(256);
    assert!(field(&format!("rename = {long:?}")).contains("it has 256 UTF-16 units, more than the limit of 255"));
    assert!(mistakes(&with("", &format!("#[table(rename = {:?})] x: i32", "é".repeat(255)))).is_empty());
}

#[test]
fn only_properties_are_renamed() {
    assert_eq!(
        field("ignore, rename = \"y\""),
        "an ignored field is not stored: remove `rename`, or `ignore`"
    );
    assert_eq!(
        field("etag, rename = \"y\""),
        "an ETag is not a property and has no name: remove `rename`"
    );
    assert_eq!(
        field("timestamp, rename = \"y\""),
        "the service names this property Timestamp: remove `rename`"
    );
    assert_eq!(
        one("struct S { #[table(partition_key, rename = \"x\")] a: String, #[table(row_key)] b: String }"),
        "the field is stored as PartitionKey: remove `rename`"
    );
}

#[test]
fn only_columns_have_a_constant() {
    assert_eq!(
        field("ignore, column = \"X\""),
        "an ignored field is not a column and has no constant: remove `column`"
    );
    assert_eq!(
        field("etag, column = \"X\""),
        "an ETag is not a column and has no constant: remove `column`"
    );
    assert_eq!(
        one(&with("#[table(columns = off)]", "#[table(column = \"X\")] x: i32")),
        "`columns = off` omits this constant: remove `column`, or `columns = off`"
    );
}

#[test]
fn etag_and_timestamp_are_used_on_one_field_each() {
    assert_eq!(
        mistakes(&with(
            "",
            "#[table(etag)] a: A, #[table(etag)] b: A, #[table(timestamp)] c: A, #[table(timestamp)] d: A"
        ))[1],
        "only one field can have `etag`: remove this one"
    );
}

#[test]
fn two_constants_cannot_have_one_name() {
    assert_eq!(
        one(&with("", "#[table(rename = \"a\")] postedAt: i32, posted_at: i32")),
        "`postedAt` and `posted_at` both have the constant `POSTED_AT`: rename one with #[table(column = \"NAME\")]"
    );
    assert!(field("column = \"PK\"").starts_with("`pk` and `x` both have the constant `PK`"));
}

#[test]
fn constant_name_must_be_an_identifier() {
    for wrong in ["", "MAX VALUE", "1ST", "Self", "const"] {
        assert_eq!(
            field(&format!("column = {wrong:?}")),
            format!(
                "{wrong:?} cannot be the name of a constant: use capitals, digits and `_`, such as `column = \"X\"`"
            )
        );
    }
    assert_eq!(
        entity("columns = \"1_\""),
        "\"1_\" cannot begin the name of a constant: use capitals, digits and `_`, such as `columns = \"COL_\"`"
    );
    for malformed in ["columns", "columns = on", "columns = 5", "columns(off)"] {
        assert_eq!(
            entity(malformed),
            "write `columns = off`, or `columns = \"PREFIX_\"` to put a prefix before the constants' names"
        );
    }
    assert_eq!(
        entity("columns = \"off\""),
        "for no constants write `columns = off`, without the quotes"
    );
}

#[test]
fn entity_has_at_most_252_properties() {
    let input = |count: u32| with("", &(1..=count).map(|n| format!("f{n}: i32, ")).collect::<String>());
    assert!(mistakes(&input(252)).is_empty());
    assert_eq!(
        one(&input(253)),
        "an entity has at most 252 properties and this struct has 253: mark fields with #[table(ignore)], or split the \
         struct"
    );
}

#[test]
fn all_errors_are_reported_together() {
    let found = mistakes(
        "#[table(rename_all = \"shouting\", colums = off, row_key = \"{nope}{x\")]
         struct S {
             #[table(partition_key, partition_key)] a: String,
             #[table(rename = 1, ingore, etag = true)] b: i32,
             #[table(rename = \"Timestamp\")] c: i32,
             #[table(rename = \"a b\", column = \"-\")] d: i32,
         }",
    );
    assert_eq!(found.len(), 11, "{found:#?}");
    let starts: Vec<_> = found
        .iter()
        .map(|message| message.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        starts,
        [
            "unknown case",
            "unknown attribute",
            "duplicate attribute",
            "`rename` takes",
            "unknown attribute",
            "`etag` takes",
            "row_key: unclosed",
            "row_key: no",
            "\"-\" cannot",
            "`Timestamp` is",
            "\"a b\"",
        ]
    );
}

#[test]
fn every_message_is_one_line_in_lower_case() {
    let found = mistakes("#[table(crate = 5, columns = on)] struct S { #[table(skip, column = 1)] a: i32, b: i32 }");
    assert!(found.len() >= 6, "{found:#?}");
    for message in found {
        assert!(
            !message.contains('\n') && !message.starts_with(|c: char| c.is_ascii_uppercase()),
            "{message}"
        );
    }
}
