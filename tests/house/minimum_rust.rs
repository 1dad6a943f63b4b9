//! The minimum Rust version: parts of the language that are newer are not used.
//!
//! Clippy finds newer parts of the standard library, and CI may lack the old toolchain. What follows is known by its
//! text. Newer, but without a text of its own, is inference of const arguments in paths.

use xtask::sources::{Sources, root};

/// Texts of parts of the language that Rust 1.88 lacks, and the version that has them.
const NEWER: [(&str, &str); 3] = [
    ("; _]", "1.89: inferred length of an array"),
    ("use super as ", "1.95: `use super as name`"),
    ("cfg_select!", "1.95: `cfg_select!`"),
];

#[test]
fn crates_use_no_newer_language() {
    let mut wrong = Vec::new();
    for file in &Sources::read(root()).files {
        wrong.extend(newer(&file.skeleton).map(|part| format!("{}: {part}", file.path)));
    }
    assert!(wrong.is_empty(), "the crates support Rust 1.88: {wrong:#?}");
}

#[test]
fn newer_language_is_found() {
    let old = "if let Some(a) = b && a > 1 { let c = match d { e if e > 1 => 2, _ => [0; 4][0] }; }";
    assert_eq!(newer(old).count(), 0);
    for planted in [
        "match a { Some(b) if let Ok(c) = d(b, [1; 2]) => c, _ => 0 }",
        "matches!(a, Some(b) if b > 1 && let Ok(_) = b)",
        "let a: [u8;\n    _] = b;",
        "let a = cfg_select! { unix => 1, _ => 2 };",
    ] {
        assert_eq!(newer(planted).count(), 1, "{planted}");
    }
}

/// Returns the newer parts of the language in code without comments and text.
fn newer(code: &str) -> impl Iterator<Item = &'static str> {
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let texts = NEWER
        .iter()
        .filter(|(text, _)| code.contains(text))
        .map(|(_, part)| *part);
    let guards = code.match_indices(" if ").filter(|(at, _)| has_let(&code[at + 4..]));
    let texts: Vec<_> = texts.chain(guards.map(|_| "1.95: `let` in a guard")).collect();
    texts.into_iter()
}

/// Returns `true` if this condition has a `let`, and is the guard of a pattern: an arrow or the end of a macro follows.
fn has_let(condition: &str) -> bool {
    let mut depth = 0;
    let end = condition.char_indices().find(|&(at, letter)| {
        depth += i32::from("([".contains(letter)) - i32::from(")]".contains(letter));
        depth < 0 || depth == 0 && (letter == '{' || condition[at..].starts_with("=>"))
    });
    end.is_some_and(|(at, letter)| letter != '{' && format!(" {}", &condition[..at]).contains(" let "))
}
