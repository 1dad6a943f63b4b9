//! One test for each error in keys of several fields, by its message.

use super::{mistakes, one};

/// Returns the only error for these two templates and the fields `a`, `b` and `c`.
#[track_caller]
fn templates(partition_key: &str, row_key: &str) -> String {
    one(&format!(
        "#[table(partition_key = {partition_key:?}, row_key = {row_key:?})] struct S {{ a: String, b: String, c: i32 }}"
    ))
}

#[test]
fn template_names_fields_of_the_struct_once() {
    assert_eq!(
        templates("{a}", "{d}"),
        "row_key: no field is named `d`: name a field of the struct, or write `{{` for a brace"
    );
    assert_eq!(
        one("#[table(partition_key = \"{stat}\", row_key = \"\")] struct S { state: String }"),
        "partition_key: no field is named `stat`: did you mean `{state}`?"
    );
    assert_eq!(
        templates("{a};{a}", "{b}"),
        "partition_key: `{a}` occurs twice: name a field only once"
    );
    assert_eq!(
        templates("{a}", "{b};{a}"),
        "row_key: `{a}` occurs in both keys: name a field only once"
    );
}

#[test]
fn error_for_a_malformed_template_shows_the_correct_form() {
    assert_eq!(
        templates("{a}{b}", "{c}"),
        "partition_key: `{a}` and `{b}` are adjacent, so a key that is read cannot be split: put text between them, \
         such as `{a};{b}`"
    );
    assert_eq!(
        templates("{a}", "x{b"),
        "row_key: unclosed `{b`: write `{field}` for a field, or `{{` for a brace"
    );
    assert_eq!(
        templates("{a}/x", "{b}"),
        "partition_key: '/' is forbidden in a key: use another character (not / \\ # ? and no control characters)"
    );
}

#[test]
fn field_of_a_template_has_no_other_role() {
    let with = |attribute: &str| {
        one(&format!(
            "#[table(partition_key = \"{{a}}\", row_key = \"\")] struct S {{ #[table({attribute})] a: String }}"
        ))
    };
    assert_eq!(
        with("rename = \"x\""),
        "the field is stored in PartitionKey only: remove `rename`"
    );
    assert_eq!(
        with("ignore"),
        "`a` is part of the template of PartitionKey: remove `ignore`, or take the field out of the template"
    );
    assert_eq!(
        with("column = \"A\""),
        "a part of a key is not a column and has no constant: remove `column`"
    );
    assert!(with("partition_key").starts_with("the template on the struct already sets PartitionKey: add `{a}` to it"));
    assert!(with("row_key").starts_with("the template on the struct already sets RowKey"));
    assert_eq!(
        one("#[table(partition_key = \"{a}\")] struct S { #[table(row_key)] a: String }"),
        "`a` is part of the template of PartitionKey: remove `row_key`, or take the field out of the template"
    );
}

#[test]
fn keys_have_at_most_eight_fields() {
    let names = |count: u32| (1..=count).map(|n| format!("f{n}"));
    let input = |count| {
        let template: Vec<_> = names(count).map(|name| format!("{{{name}}}")).collect();
        let fields: String = names(count).map(|name| format!("{name}: u32, ")).collect();
        format!(
            "#[table(partition_key = \"p\", row_key = \"{}\")] struct S {{ {fields} }}",
            template.join("-")
        )
    };
    assert!(mistakes(&input(8)).is_empty());
    assert_eq!(
        one(&input(9)),
        "the keys have 9 fields, more than the limit of 8: combine some in one field, with a type that implements TableKey"
    );
}
