//! What a user sees who makes a mistake: each `ui/fail/<mistake>.rs` must not compile, and the `.stderr` beside it is what
//! the compiler says. Each `ui/pass/<use>.rs` compiles and runs. What the derive says about wrong attributes is tested in its own crate, on every compiler; here
//! are a few of those, and mistakes that the compiler finds by the types.
//!
//! Every error names the attribute or the type, and a remedy. Not here is what only the compiler can speak about, names that
//! nobody declared: `default = "nowhere"`, and `Shop::CACHED` of an ignored field, which is no constant so that users may
//! have one of that name.
//!
//! After a wanted change write the texts anew with `TRYBUILD=overwrite`, and read the difference.

use std::io::Write as _;
use std::process::Command;

/// The texts are this compiler's; others word and lay out their errors in other ways.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_are_answered_as_recorded() {
    let version = compiler_version();
    if !version.starts_with(COMPILER) || version.contains('-') {
        // Not by `println!`, whose text the test harness would keep to itself.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: the texts are those of {COMPILER}x, this is {version:?}"
        );
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/fail/*.rs");
    // With a case that passes all are built, not only checked: what is asserted while code is generated is an error too.
    cases.pass("ui/pass/*.rs");
}

/// Such as `rustc 1.95.0`; of no compiler nothing.
fn compiler_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}
