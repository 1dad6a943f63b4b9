//! One test for each error in the options of a field and in the options for reading, by its message.

use super::{mistakes, one, with};

/// Returns the only error for a struct with both keys and one more field.
#[track_caller]
fn field(attributes: &str) -> String {
    one(&with("", &format!("#[table({attributes})] x: T")))
}

/// Returns the only error for a key with these options.
#[track_caller]
fn key(attributes: &str) -> String {
    one(&format!(
        "struct S {{ #[table(partition_key, {attributes})] a: String, #[table(row_key)] b: String }}"
    ))
}

#[test]
fn function_is_given_as_a_path() {
    for right in [
        "default",
        "default = a::b",
        "default = \"a::b\"",
        "default = Vec::<u8>::new",
        "with = a, default",
    ] {
        assert_eq!(
            mistakes(&with("", &format!("#[table({right})] x: T"))),
            [""; 0],
            "{right}"
        );
    }
    for wrong in ["default = 5", "default(x)", "default =", "default = a + b"] {
        assert_eq!(
            field(wrong),
            "`default` takes the path of a function: write `default = \"path::to::function\"`",
            "{wrong}"
        );
    }
    assert_eq!(
        field("default = \"5 + 5\""),
        "\"5 + 5\" is not the path of a function: write `default = \"path::to::function\"`"
    );
    assert_eq!(
        field("with"),
        "`with` takes the path of a module with `EDM_TYPE`, `to_edm` and `from_wire`: write `with = \
         \"path::to::module\"`"
    );
    assert_eq!(
        one(&with("#[table(upgrade)]", "")),
        "`upgrade` takes the path of a function from `&mut DynamicEntity` to `Result<Self>`: write `upgrade = \
         \"path::to::function\"`"
    );
}

#[test]
fn property_has_one_stored_form() {
    assert_eq!(
        field("json, with = \"m\""),
        "a property has one stored form: remove `with` or `json`"
    );
    assert_eq!(
        field("chunked, json"),
        "a property has one stored form: remove `json` or `chunked`"
    );
    assert_eq!(
        field("chunked, write_id"),
        "a property has one stored form: remove `chunked` or `write_id`"
    );
}

#[test]
fn key_has_the_stored_form_of_its_type() {
    assert_eq!(key("alias = \"x\""), "a key has no older name: remove `alias`");
    assert_eq!(key("default"), "a row always has its keys: remove `default`");
    assert_eq!(key("write_id"), "a key is the same with every write: remove `write_id`");
    for form in ["json", "chunked", "with = \"m\""] {
        let name = form.split(' ').next().unwrap();
        assert_eq!(
            key(form),
            format!("the key text comes from the type of the field, which implements TableKey: remove `{name}`")
        );
    }
    assert_eq!(
        one("#[table(partition_key = \"{a}\", row_key = \"\")] struct S { #[table(json)] a: String }"),
        "the key text comes from the type of the field, which implements TableKey: remove `json`"
    );
}

#[test]
fn ignored_field_has_no_other_options() {
    for option in ["json", "chunked", "write_id", "alias = \"x\"", "with = \"m\""] {
        let name = option.split(' ').next().unwrap();
        assert_eq!(
            field(&format!("ignore, {option}")),
            format!("an ignored field is not stored: remove `{name}`, or `ignore`")
        );
    }
    assert_eq!(
        field("ignore, default"),
        "an ignored field is `Default::default()` when it is read: remove `default`"
    );
    assert_eq!(
        field("ignore, flatten"),
        "a field has one role: remove `ignore` or `flatten`"
    );
    assert_eq!(
        field("ignore, extra"),
        "a field has one role: remove `ignore` or `extra`"
    );
}

#[test]
fn timestamp_etag_and_extra_are_not_properties() {
    assert_eq!(
        field("timestamp, default"),
        "the service sets the Timestamp: remove `default`"
    );
    assert_eq!(field("etag, json"), "an ETag is not a property: remove `json`");
    assert_eq!(
        field("extra, default"),
        "`extra` holds the properties unchanged: remove `default`"
    );
    assert_eq!(
        field("extra, rename = \"x\""),
        "the properties in `extra` have their own names: remove `rename`"
    );
    assert_eq!(
        field("write_id, default"),
        "an absent write id is `None`: remove `default`"
    );
}

#[test]
fn flattened_field_has_a_prefix_instead_of_a_name() {
    assert_eq!(
        field("flatten, rename = \"x\""),
        "a flattened field has no name of its own: write `prefix = \"…\"` in place of `rename`"
    );
    assert_eq!(
        field("flatten, alias = \"x\""),
        "a flattened field has no name of its own: remove `alias`"
    );
    assert_eq!(
        field("flatten, json"),
        "a flattened field is stored as several properties: remove `json` or `flatten`"
    );
    assert_eq!(
        field("flatten = \"Home_\""),
        "`flatten` takes no value: write `flatten, prefix = \"Home_\"`"
    );
    assert_eq!(field("flatten = 5"), "`flatten` takes no value: write `flatten`");
    assert_eq!(
        field("prefix = \"Home_\""),
        "`prefix` requires `flatten`: write `flatten, prefix = \"…\"`; for a prefix of all constants write `columns = \
         \"…\"` on the struct"
    );
    for wrong in ["", "1_", "Home.", "Home-"] {
        assert_eq!(
            field(&format!("flatten, prefix = {wrong:?}")),
            format!(
                "{wrong:?} cannot begin the name of a property: use letters, digits and `_`, such as `prefix = \"X_\"`"
            )
        );
    }
}

#[test]
fn alias_differs_from_all_other_names() {
    assert_eq!(
        field("alias = \"x\""),
        "the property is already read from `x`: remove this alias"
    );
    assert_eq!(
        field("alias = \"y\", alias = \"y\""),
        "the property is already read from `y`: remove this alias"
    );
    assert_eq!(
        one(&with("", "#[table(alias = \"y\")] x: T, y: T")),
        "`y` is already read from `y`: remove this alias, or rename that field"
    );
    assert_eq!(
        field("alias = \"a b\""),
        "\"a b\" was never the name of a property, it contains ' ', which is not a letter, digit or `_`: remove this \
         alias"
    );
    assert_eq!(
        field("alias = \"RowKey\""),
        "`RowKey` is reserved by the service and was never a property: remove this alias"
    );
    assert_eq!(field("alias"), "`alias` takes a string: write `alias = \"OldName\"`");
}

#[test]
fn pieces_of_a_chunked_field_have_unique_names() {
    for name in ["text_1", "text_12"] {
        assert_eq!(
            one(&with(
                "",
                &format!("#[table(chunked)] text: T, #[table(rename = {name:?})] x: T")
            )),
            format!(
                "`{name}` is the name of a piece of the chunked field `text`: write another name with #[table(rename = \
                 \"Name\")]"
            )
        );
    }
    assert!(mistakes(&with("", "#[table(chunked)] text: T, text_a: T, text1: T")).is_empty());
    for (fields, text) in [
        (
            "#[table(chunked)] text: T, #[table(alias = \"text_2\")] x: T",
            "`text_2` is the name of a piece of the chunked field `text`: remove this alias",
        ),
        (
            "#[table(chunked, alias = \"text_1\")] text: T",
            "`text_1` is the name of a piece of the chunked field `text`: remove this alias",
        ),
        (
            "#[table(chunked, alias = \"was\")] text: T, was_1: T",
            "`was_1` is the name of a piece of the chunked field `text`, also read from `was`: write another name with \
             #[table(rename = \"Name\")]",
        ),
        (
            "#[table(chunked, alias = \"was\")] text: T, #[table(chunked, alias = \"was_1\")] x: T",
            "`was_1` is the name of a piece of the chunked field `text`, also read from `was`: remove this alias",
        ),
    ] {
        assert_eq!(one(&with("", fields)), text);
    }
    assert!(mistakes(&with("", "#[table(chunked, alias = \"was\")] text: T, wasted_1: T")).is_empty());
}

#[test]
fn special_fields_occur_once() {
    for name in ["extra", "write_id"] {
        assert_eq!(
            one(&with("", &format!("#[table({name})] a: T, #[table({name})] b: T"))),
            format!("only one field can have `{name}`: remove this one")
        );
    }
}

#[test]
fn unknown_properties_are_kept_or_rejected() {
    assert_eq!(
        one(&with("#[table(deny_unknown_properties)]", "#[table(extra)] x: T")),
        "`extra` keeps the unknown properties and `deny_unknown_properties` rejects them: remove one of the two"
    );
}

#[test]
fn write_only_struct_has_no_upgrade() {
    let input = |attribute| {
        format!(
            "#[table({attribute})] struct S<'a> {{ #[table(partition_key)] a: &'a str, #[table(row_key)] b: &'a str }}"
        )
    };
    assert_eq!(
        one(&input("upgrade = \"f\"")),
        "a struct that borrows cannot be read: remove `upgrade`, or use owned types"
    );
    assert!(one(&input("deny_unknown_properties")).contains("remove `deny_unknown_properties`"));
}

#[test]
fn only_properties_are_columns() {
    assert_eq!(
        field("extra, column = \"X\""),
        "`extra` is not a column and has no constant: remove `column`"
    );
    for option in ["flatten", "json", "chunked", "with = \"m\""] {
        let named = format!("#[table({option}, column = \"X\")] x: T");
        assert!(mistakes(&with("", &named)).is_empty());
    }
}

#[test]
fn error_for_options_of_other_derives_names_their_place() {
    assert_eq!(
        one(&with("#[table(tag = \"Kind\")]", "")),
        "`tag` distinguishes the variants of an enum of entities: remove it from this struct"
    );
    assert_eq!(
        one(&with("#[table(of = Blog)]", "")),
        "`of` belongs to #[derive(Projection)]: derive that, or remove it"
    );
    assert_eq!(
        field("integer"),
        "`integer` belongs to #[derive(TableProperty)]: put it on the type of the field"
    );
}

#[test]
fn width_begins_with_a_zero() {
    assert_eq!(
        one("#[table(partition_key = \"{n:4}\", row_key = \"\")] struct S { n: u32 }"),
        "partition_key: `{n:4}` has an invalid width: after the colon write a zero and the number of digits, at most \
         39, such as `{n:04}`"
    );
}
