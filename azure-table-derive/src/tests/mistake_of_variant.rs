//! One test for each error in an enum of entities, by its message.

use super::one;

#[test]
fn variant_holds_one_entity() {
    for variant in ["One", "One(B, C)", "One { b: B }", "One()"] {
        assert_eq!(
            one(&format!("enum E {{ {variant} }}")),
            "a variant of an enum of entities holds one entity: write `One(Entity)`; for an enum that is a property \
             derive TableProperty",
            "{variant}"
        );
    }
    assert_eq!(
        one("enum E {}"),
        "an enum of entities needs a variant: write `Name(Entity)` for each kind of row"
    );
}

#[test]
fn variants_have_one_kind_of_mark() {
    assert_eq!(
        one("#[table(tag = \"Kind\")] enum E { #[table(row_key_prefix = \"1\")] One(A), Two(B) }"),
        "the variants are distinguished by the property `Kind`: remove `row_key_prefix`, or `tag`"
    );
    assert_eq!(
        one("enum E { #[table(rename = \"a\")] One(A), Two(B) }"),
        "`rename` sets the text of the tag, and this enum has no tag: remove it, or write `tag = \"Kind\"` on the enum"
    );
    assert_eq!(
        one("#[table(rename_all = \"camelCase\")] enum E { One(A), Two(B) }"),
        "`rename_all` sets the text of the tag, and this enum has no tag: remove it, or write `tag = \"Kind\"`"
    );
}

#[test]
fn tag_must_be_a_property() {
    assert_eq!(
        one("#[table(tag = \"a b\")] enum E { One(A) }"),
        "\"a b\" cannot be the name of a property, it contains ' ', which is not a letter, digit or `_`: write \
         another, such as `tag = \"Kind\"`"
    );
    assert_eq!(
        one("#[table(tag = \"RowKey\")] enum E { One(A) }"),
        "`RowKey` is reserved by the service: write another name, such as `tag = \"Kind\"`"
    );
    assert_eq!(
        one("#[table(tag = \"Kind\")] enum E { One(A), #[table(rename = \"One\")] Two(B) }"),
        "`One` and `Two` both have the tag \"One\": write another with #[table(rename = \"name\")]"
    );
}

#[test]
fn prefixes_distinguish_all_variants() {
    assert_eq!(
        one("enum E { #[table(row_key_prefix = \"1\")] One(A), Two(B) }"),
        "`Two` has no prefix: add #[table(row_key_prefix = \"…\")], as on the other variants"
    );
    assert_eq!(
        one("enum E { #[table(row_key_prefix = \"1\")] One(A), #[table(row_key_prefix = \"10\")] Two(B) }"),
        "rows of `Two` and `One` are ambiguous, because one of \"10\" and \"1\" begins with the other: write prefixes \
         of which none begins with another"
    );
    assert_eq!(
        one("enum E { #[table(row_key_prefix = \"\")] One(A) }"),
        "every RowKey begins with an empty prefix: write the beginning of this variant's RowKeys, or `other` for all \
         remaining rows"
    );
    assert_eq!(
        one("enum E { #[table(row_key_prefix = \"a/\")] One(A) }"),
        "row_key_prefix: '/' is forbidden in a key: use another character (not / \\ # ? and no control characters)"
    );
}

#[test]
fn one_variant_is_for_all_other_rows() {
    assert_eq!(
        one("enum E { One(A), #[table(other)] Two(B), #[table(other)] Three(C) }"),
        "only one variant can have `other`: remove this one"
    );
    assert_eq!(
        one("enum E { #[table(other)] One(A) }"),
        "this is the only variant: add variants for the known entities, or use DynamicEntity instead of the enum"
    );
    assert_eq!(
        one("#[table(tag = \"Kind\")] enum E { One(A), #[table(other, rename = \"b\")] Two(B) }"),
        "a variant with `other` reads all remaining rows, so it cannot have `rename`: remove one of the two"
    );
}

#[test]
fn options_of_one_entity_belong_on_its_struct() {
    for option in [
        "partition_key = \"p\"",
        "row_key = \"r\"",
        "deny_unknown_properties",
        "upgrade = \"f\"",
    ] {
        let name = option.split(' ').next().unwrap();
        assert_eq!(
            one(&format!("#[table({option})] enum E {{ One(A) }}")),
            format!("`{name}` belongs to one entity: put it on the struct of the variant")
        );
    }
    assert_eq!(
        one("enum E { #[table(etag)] One(A) }"),
        "`etag` belongs to one entity: put it on the struct of the variant"
    );
    assert_eq!(
        one("enum E { #[table(tag = \"Kind\")] One(A) }"),
        "`tag` belongs on the enum: move it above `enum`"
    );
    assert_eq!(
        one("#[table(discriminator = \"Kind\")] enum E { One(A) }"),
        "unknown attribute `discriminator`: did you mean `tag`? on an enum write `name`, `tag`, `rename_all`, \
         `columns` or `crate`"
    );
}

#[test]
fn two_constants_cannot_have_one_name() {
    assert_eq!(
        one("enum E { One(A), #[table(column = \"ONE\")] Two(B) }"),
        "`One` and `Two` both have the constant `ONE`: rename one with #[table(column = \"NAME\")]"
    );
}

#[test]
fn constant_cannot_have_the_name_of_a_variant() {
    for input in ["enum E { A(A) }", "enum E { Aa(A), #[table(column = \"Aa\")] Bb(B) }"] {
        assert!(one(input).ends_with("has the name of a variant: rename it with #[table(column = \"NAME\")]"));
    }
}
