//! Messages for mistakes. Each `ui/fail/<mistake>.rs` must not compile, and the `.stderr` next to it is the message of
//! the compiler. Each `ui/pass/<use>.rs` compiles and runs.
//!
//! The crate of the derive tests its own messages, on every compiler. This folder has some of them, and the mistakes
//! that the compiler finds by types. Every error names the attribute or the type, and a remedy. The exceptions are
//! the functions in `default` and `upgrade`, whose types the compiler compares, and `Shop::CACHED` of an ignored field,
//! which has no constant so that users may define their own.
//!
//! After an intended change, regenerate the messages with `TRYBUILD=overwrite`, and read the difference.

#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts are those of Rust 1.95, this is another compiler"
)]
fn mistakes_have_the_recorded_messages() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/fail/*.rs");
    // A case that passes makes trybuild build all cases, not only check them. So assertions during code generation are
    // errors too.
    cases.pass("ui/pass/*.rs");
}

/// Mistakes with the types of other crates, which the feature `full` adds.
#[cfg(feature = "full")]
#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts are those of Rust 1.95, this is another compiler"
)]
fn mistakes_with_types_of_other_crates_have_the_recorded_messages() {
    trybuild::TestCases::new().compile_fail("ui/full/*.rs");
}

#[test]
fn five_bad_fields_have_messages_of_sixty_lines() {
    let response = include_str!("fail/five_fields.stderr");
    let errors = response.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(errors, 5, "one mistake, one error:\n{response}");
    let lines = response.lines().count();
    assert!(lines <= 60, "{lines} lines");
}
