//! What a user sees who makes a mistake: each `ui/fail/<mistake>.rs` must not compile, and the `.stderr` beside it is what
//! the compiler says. Each `ui/pass/<use>.rs` compiles and runs. What the derive says about wrong attributes is tested in its own crate, on every compiler; here
//! are a few of those, and mistakes that the compiler finds by the types.
//!
//! Every error names the attribute or the type, and a remedy. Not here is what only the compiler can speak about, names that
//! nobody declared: `default = "nowhere"`, and `Shop::CACHED` of an ignored field, which is no constant so that users may
//! have one of that name.
//!
//! After a wanted change write the texts anew with `TRYBUILD=overwrite`, and read the difference.

#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts are those of Rust 1.95, this is another compiler"
)]
fn mistakes_are_answered_as_recorded() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/fail/*.rs");
    // With a case that passes all are built, not only checked: what is asserted while code is generated is an error too.
    cases.pass("ui/pass/*.rs");
}

/// Mistakes with the types of other crates, which are there with the feature `full` of this one.
#[cfg(feature = "full")]
#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts are those of Rust 1.95, this is another compiler"
)]
fn mistakes_with_types_of_other_crates_are_answered_as_recorded() {
    trybuild::TestCases::new().compile_fail("ui/full/*.rs");
}

#[test]
fn five_bad_fields_are_answered_in_sixty_lines() {
    let answer = include_str!("ui/fail/five_fields.stderr");
    let errors = answer.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(errors, 5, "one mistake, one error:\n{answer}");
    let lines = answer.lines().count();
    assert!(lines <= 60, "{lines} lines");
}
