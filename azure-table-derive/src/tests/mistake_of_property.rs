//! One test for each error in the type of a property, by its message.

use super::only;

#[track_caller]
fn one(input: &str) -> String {
    only(crate::derive::table_property, input)
}

const NEEDED: &str = "TableProperty is derived for enums of unit variants and for structs of one field";

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
                "{NEEDED}: this one has {count}; several values of an entity are a #[derive(PropertyGroup)], or one \
                 property with #[table(json)]"
            )
        );
    }
    assert_eq!(one("union U { a: u8 }"), format!("{NEEDED}: make this union a struct"));
    assert_eq!(
        one("enum E { A, B(i64) }"),
        format!(
            "{NEEDED}: remove the fields of `B`; or write `B(String)` and mark it with #[table(other)], to keep all other \
             values"
        )
    );
}

#[test]
fn catch_all_holds_one_value() {
    assert_eq!(
        one("enum E { A, #[table(other)] B }"),
        "`other` keeps the value that is none of the others: write `B(String)`"
    );
    assert_eq!(
        one("#[table(integer)] enum E { A, #[table(other)] B { x: i32 } }"),
        "`other` keeps the value that is none of the others: write `B(i32)`"
    );
    assert_eq!(
        one("enum E { A, #[table(other)] B(String), #[table(other)] C(String) }"),
        "a second variant with `other`: mark one, remove this"
    );
    assert_eq!(
        one("enum E { A, #[table(other, rename = \"b\")] B(String) }"),
        "the variant for all other values has no name: remove `rename`, or `other`"
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
        "\"A\" is read as `A` already: remove this alias"
    );
    assert_eq!(
        one("#[table(rename_all = \"lowercase\")] enum E { #[allow(x)] Ab, AB }"),
        "`Ab` and `AB` are both stored as \"ab\": write another name with #[table(rename = \"name\")]"
    );
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
            format!("`integer` stores the discriminants and no names: remove `{name}`, or `integer`")
        );
    }
}

#[test]
fn key_must_be_text() {
    assert_eq!(
        one("#[table(integer, key)] enum E { A }"),
        "a discriminant has no key text that sorts like it: remove `integer`, so that the key is the name, or `key`"
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
        "`integer` stands on the enum: move it above `enum`"
    );
    assert_eq!(
        one("#[table(other)] enum E { A }"),
        "`other` stands on a variant: move it to the variant that it is about"
    );
    assert_eq!(
        one("#[table(rename = \"x\")] enum E { A }"),
        "`rename` stands on a variant; for all variants write `rename_all = \"PascalCase\"`"
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
