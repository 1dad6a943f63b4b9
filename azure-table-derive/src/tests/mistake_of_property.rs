//! One test for each error in the type of a property, by its message.

use super::{derived, messages, only};

#[track_caller]
fn one(input: &str) -> String {
    only(crate::derive::table_property, input)
}

const NEEDED: &str = "TableProperty can only be derived for enums of unit variants and structs of one field";

#[test]
fn only_choices_and_newtypes_are_properties() {
    assert_eq!(
        one("enum E {}"),
        format!("{NEEDED}: this enum has no variants, write at least one")
    );
    for (input, count) in [
        ("struct S;", 0),
        ("struct S(i32, i32);", 2),
        ("struct S { a: i32, b: i32 }", 2),
    ] {
        assert_eq!(
            one(input),
            format!(
                "{NEEDED}: this one has {count}; to store several values derive PropertyGroup, or put #[table(json)] \
                 on the field of this type"
            )
        );
    }
    assert_eq!(one("union U { a: u8 }"), format!("{NEEDED}: make this union a struct"));
    assert_eq!(
        one("enum E { A, B(i64) }"),
        format!(
            "{NEEDED}: remove the fields of `B`; or write `B(String)` and mark it with #[table(other)], to hold all \
             other values"
        )
    );
}

#[test]
fn catch_all_holds_one_value() {
    assert_eq!(
        one("enum E { A, #[table(other)] B }"),
        "a variant with `other` holds the value that no other variant has: write `B(String)`"
    );
    assert_eq!(
        one("#[table(integer)] enum E { A, #[table(other)] B { x: i32 } }"),
        "a variant with `other` holds the value that no other variant has: write `B(i32)`"
    );
    assert_eq!(
        one("enum E { A, #[table(other)] B(String), #[table(other)] C(String) }"),
        "only one variant can have `other`: remove this one"
    );
    assert_eq!(
        one("enum E { A, #[table(other, rename = \"b\")] B(String) }"),
        "a variant with `other` has no text of its own: remove `rename`, or `other`"
    );
}

#[test]
fn two_variants_cannot_have_one_text() {
    assert_eq!(
        one("enum E { A, #[table(rename = \"A\")] B }"),
        "`A` and `B` are both stored as \"A\": write another name with #[table(rename = \"name\")]"
    );
    assert_eq!(
        one("enum E { A, #[table(alias = \"A\")] B }"),
        "\"A\" is already read as `A`: remove this alias"
    );
    assert_eq!(
        one("#[table(rename_all = \"lowercase\")] enum E { #[allow(x)] Ab, AB }"),
        "`Ab` and `AB` are both stored as \"ab\": write another name with #[table(rename = \"name\")]"
    );
}

#[test]
fn key_has_no_other_text() {
    let enum_ = |option: &str| format!("{option} enum E {{ #[table(rename = \"n\", alias = \"nord\")] North, South }}");
    assert_eq!(
        one(&enum_("#[table(key)]")),
        "the key of a row has one text: write #[table(rename = \"nord\")], which keeps the stored text"
    );
    assert!(messages(derived(crate::derive::table_property, &enum_(""))).is_empty());
}

#[test]
fn number_has_no_name() {
    for (input, name) in [
        ("#[table(integer)] enum E { #[table(rename = \"a\")] A }", "rename"),
        ("#[table(integer)] enum E { #[table(alias = \"a\")] A }", "alias"),
        (
            "#[table(integer, rename_all = \"camelCase\")] enum E { A }",
            "rename_all",
        ),
    ] {
        assert_eq!(
            one(input),
            format!("`integer` stores discriminants, not names: remove `{name}`, or `integer`")
        );
    }
}

#[test]
fn key_must_be_text() {
    assert_eq!(
        one("#[table(integer, key)] enum E { A }"),
        "the key text of a discriminant does not sort like the number: remove `key`, or remove `integer` to use the \
         name as the key"
    );
    assert_eq!(
        one("#[table(key)] enum E { #[table(rename = \"a/b\")] A }"),
        "rename: '/' is forbidden in a key: use another character (not / \\ # ? and no control characters)"
    );
}

#[test]
fn options_are_rejected_where_they_have_no_effect() {
    assert_eq!(
        one("struct S(#[table(rename = \"x\")] i32);"),
        "`rename` cannot be used here: TableProperty has no attributes on a field"
    );
    assert_eq!(
        one("#[table(rename_all = \"camelCase\")] struct S(i32);"),
        "unknown attribute `rename_all`: on a struct write `key` or `crate`"
    );
    assert_eq!(
        one("enum E { #[table(integer)] A }"),
        "`integer` belongs on the enum: move it above `enum`"
    );
    assert_eq!(
        one("#[table(other)] enum E { A }"),
        "`other` belongs on a variant: move it to the variant that it applies to"
    );
    assert_eq!(
        one("#[table(rename = \"x\")] enum E { A }"),
        "`rename` belongs on a variant: move it there; for all variants write `rename_all = \"PascalCase\"`"
    );
    assert_eq!(
        one("enum E { #[table(skip)] A }"),
        "unknown attribute `skip`: on a variant write `rename`, `alias` or `other`"
    );
    assert_eq!(
        one("#[table(repr = \"i32\")] enum E { A }"),
        "unknown attribute `repr`: did you mean `integer`? on an enum write `integer`, `rename_all`, `key` or `crate`"
    );
    assert_eq!(
        one("enum E { #[table(row_key_prefix = \"x\")] A }"),
        "`row_key_prefix` belongs to an enum of entities, #[derive(TableEntity)]"
    );
}
