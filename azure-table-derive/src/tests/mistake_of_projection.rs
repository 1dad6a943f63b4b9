//! One test for each error in a projection, by its message.

use super::only;

#[track_caller]
fn one(input: &str) -> String {
    only(crate::derive::projection, input)
}

#[track_caller]
fn field(attributes: &str) -> String {
    one(&format!(
        "#[table(of = Blog)] struct S {{ #[table({attributes})] x: T }}"
    ))
}

#[test]
fn projection_names_its_entity() {
    assert_eq!(
        one("struct S { x: i32 }"),
        "a projection reads columns of an entity: name the entity's type with #[table(of = Entity)]"
    );
    assert_eq!(
        one("#[table(of = 5)] struct S { x: i32 }"),
        "`of` takes the type of an entity: write `of = \"Entity\"`"
    );
    assert_eq!(
        one("#[table(of = \"a b\")] struct S { x: i32 }"),
        "\"a b\" is not the type of an entity: write `of = \"Entity\"`"
    );
    for right in [
        "of = Blog",
        "of = \"Blog\"",
        "of = a::Blog",
        "of = \"Blog<A, B>\"",
        "of = Blog<A>",
    ] {
        let code = super::derived(
            crate::derive::projection,
            &format!("#[table({right})] struct S {{ x: i32 }}"),
        );
        assert_eq!(super::messages(code), [""; 0], "{right}");
    }
}

#[test]
fn only_owned_structs_with_named_fields_are_projections() {
    assert_eq!(
        one("#[table(of = Blog)] struct S(i32);"),
        "Projection can only be derived for structs with named fields: give each field a name, `struct S { name: … }`"
    );
    assert_eq!(
        one("#[table(of = Blog)] enum E { A }"),
        "Projection can only be derived for structs with named fields: make this enum a struct"
    );
    assert_eq!(
        one("#[table(of = Blog)] struct S<'a> { x: &'a str }"),
        "Projection can only be derived for structs that own their data: remove the lifetime"
    );
}

#[test]
fn options_of_the_entity_are_not_repeated() {
    for option in [
        "rename = \"y\"",
        "alias = \"y\"",
        "json",
        "with = \"m\"",
        "flatten",
        "chunked",
        "extra",
        "write_id",
    ] {
        let name = option.split(' ').next().unwrap();
        assert_eq!(
            field(option),
            format!("`{name}` is set on the entity that the projection reads: remove it here")
        );
    }
    assert_eq!(
        one("#[table(of = Blog, rename_all = \"camelCase\")] struct S { x: i32 }"),
        "`rename_all` is set on the entity that the projection reads: remove it here"
    );
}

#[test]
fn field_has_one_source() {
    assert_eq!(
        field("partition_key, row_key"),
        "a field has one role: remove `partition_key` or `row_key`"
    );
    assert_eq!(
        field("etag, column = \"X\""),
        "`column` names a constant of the entity, but this field is not read from a column: remove `column`"
    );
    assert_eq!(
        field("row_key, column = \"X\""),
        "`column` names a constant of the entity, but this field is not read from a column: remove `column`"
    );
    assert_eq!(field("row_key, default"), "a row always has its keys: remove `default`");
    assert_eq!(
        field("column = \"a b\""),
        "\"a b\" cannot be the name of a constant: use capitals, digits and `_`, such as `column = \"X\"`"
    );
    assert_eq!(
        field("name"),
        "unknown attribute `name`: on a field write `partition_key`, `row_key`, `default`, `ignore`, `timestamp`, \
         `etag` or `column`"
    );
}
