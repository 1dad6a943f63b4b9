//! One test for each error in a group of properties, by its message.

use super::only;

#[track_caller]
fn one(input: &str) -> String {
    only(crate::derive::property_group, input)
}

#[test]
fn only_structs_with_named_fields_are_groups() {
    assert_eq!(
        one("struct S(i32);"),
        "PropertyGroup can only be derived for structs with named fields: give each field a name, `struct S { name: … \
         }`"
    );
    assert_eq!(
        one("enum E { A, B }"),
        "PropertyGroup can only be derived for structs with named fields: make this enum a struct, or derive \
         TableProperty to store it as one property"
    );
}

#[test]
fn options_of_an_entity_are_rejected_in_a_group() {
    for option in ["partition_key", "row_key", "etag", "timestamp", "extra", "write_id"] {
        assert_eq!(
            one(&format!("struct S {{ #[table({option})] x: i32 }}")),
            format!("`{option}` belongs to an entity, and a group is only a part of one: move it to the entity")
        );
    }
    assert!(
        one("#[table(deny_unknown_properties)] struct S { x: i32 }")
            .starts_with("`deny_unknown_properties` belongs to")
    );
}

#[test]
fn fields_of_a_group_follow_the_rules_of_an_entity() {
    assert_eq!(
        one("struct S { x: i32, #[table(rename = \"x\")] y: i32 }"),
        "`x` and `y` are both stored as `x`: write another name with #[table(rename = \"Name\")]"
    );
    assert_eq!(
        one("struct S { #[table(ignore, json)] x: i32 }"),
        "an ignored field is not stored: remove `json`, or `ignore`"
    );
    assert_eq!(
        one("struct S { #[table(rename = \"a b\")] x: i32 }"),
        "\"a b\" cannot be the name of a property, it contains ' ', which is not a letter, digit or `_`: write another \
         with #[table(rename = \"Name\")]"
    );
    assert_eq!(
        one("struct S { #[table(nested)] x: i32 }"),
        "unknown attribute `nested`: did you mean `flatten`? on a field write `rename`, `alias`, `default`, `ignore`, \
         `with`, `json`, `flatten`, `prefix`, `chunked` or `column`"
    );
}

#[test]
fn reserved_name_is_allowed_after_a_prefix() {
    let code = super::derived(
        crate::derive::property_group,
        "struct S { #[table(rename = \"Timestamp\")] x: i32 }",
    );
    assert_eq!(super::messages(code), [""; 0]);
}
