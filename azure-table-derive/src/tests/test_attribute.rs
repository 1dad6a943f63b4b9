//! `#[azure_table::test]`: its errors and the generated code.

use proc_macro2::TokenStream;

use super::{flat, messages};
use crate::test_attribute::expand;

fn expanded(options: &str, item: &str) -> TokenStream {
    let tokens = |text: &str| text.parse::<TokenStream>().unwrap();
    expand(tokens(options), tokens(item))
}

#[track_caller]
fn says(options: &str, item: &str, expected: &[&str]) {
    let found = messages(expanded(options, item));
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{expected} in {found}");
    }
}

#[test]
fn errors_are_reported_together() {
    says(
        "start_pausd, cosmos(1)",
        "fn t<E>(self, t: TableClient<E>) {}",
        &[
            "did you mean `start_paused`?",
            "`cosmos` takes no value",
            "add `async`",
            "cannot have generic parameters",
            "cannot have a `self` parameter",
            "\"T\" is not a table name: it has 1 characters",
        ],
    );
    says("1 2", "async fn t() {}", &["options are separated by commas"]);
    says("", "enum NoFunction {}", &["belongs on an `async fn`"]);
    says("", "#[test] async fn t() {}", &["already makes the function a test"]);
    says("", "async fn t(größe: TableClient) {}", &["ASCII letters and digits"]);
    let long = format!("async fn t({}: TableClient) {{}}", "a".repeat(64));
    says("", &long, &["it has 64 characters"]);
}

#[test]
fn crate_is_a_path() {
    let item = "async fn t() {}";
    says(
        "crate",
        item,
        &["`crate` takes a string: write `crate = \"path::to::azure_table\"`"],
    );
    says("crate = tables", item, &["`crate` takes a string"]);
    says("crate = \"a b\"", item, &["\"a b\" is not a path"]);
    says(
        "crate = \"a\", crate = \"b\"",
        item,
        &["duplicate attribute `crate`: write it once"],
    );
}

#[test]
fn code_uses_the_path_of_the_crate() {
    for options in ["crate = \"tables\"", "explore, crate = \"tables\""] {
        let code = flat(&expanded(options, "async fn t(a: Spy) {}").to_string());
        assert!(code.contains("<Spyastables::__private::"), "{code}");
        assert!(!code.contains("azure_table"), "{code}");
    }
}

#[test]
fn test_receives_its_arguments() {
    let item =
        "#[ignore] pub(crate) async fn t(mut audit_log_2: a::TableClient<X>, _: Spy) -> Result<(), E> { go().await }";
    let tokens = expanded("cosmos", item);
    assert_eq!(messages(tokens.clone()), [""; 0]);
    let code = flat(&tokens.to_string());
    for part in [
        "#[::core::prelude::v1::test] #[ignore] pub(crate) fn t() -> Result<(), E> {",
        "async fn t(mut audit_log_2: a::TableClient<X>, _: Spy) -> Result<(), E> { go().await }",
        "start_paused: false, cosmos: true,",
        "spies: false
            | <a::TableClient<X> as ::azure_table::__private::test::TestArgument>::SPIES
            | <Spy as ::azure_table::__private::test::TestArgument>::SPIES,",
        "<a::TableClient<X> as ::azure_table::__private::test::TestArgument>::create(&place, \"AuditLog2\").await",
    ] {
        assert!(code.contains(&flat(part)), "no\n{part}\nin\n{code}");
    }
}
