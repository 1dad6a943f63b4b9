//! The house stays in order: imports point downwards, files stay small, each says what it owns.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, highest first.
const LAYERS: [&str; 8] = [
    "testing", "emulator", "client", "pipeline", "protocol", "filter", "codec", "model",
];

/// Lines of a source file, unit tests not counted.
const MOST_LINES: usize = 500;

/// The Rust files below a folder, with their text.
pub(super) fn rust_files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for krate in ["azure-table", "azure-table-derive"] {
        found.append(&mut rust_files(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src"),
        ));
    }
    assert!(found.len() > 40, "the sources were not found");
    found
}

/// The text before the unit tests.
fn code(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// Whether the whole file is unit tests.
pub(super) fn is_test(path: &Path) -> bool {
    path.components()
        .any(|c| matches!(c.as_os_str().to_str(), Some("tests" | "tests.rs" | "vectors.rs")))
}

/// The path behind `src`.
pub(super) fn path_in_crate(path: &Path) -> &Path {
    path.ancestors()
        .find(|a| a.ends_with("src"))
        .and_then(|src| path.strip_prefix(src).ok())
        .unwrap_or(path)
}

#[test]
fn imports_point_downwards() {
    let rank = |layer: &str| LAYERS.iter().position(|l| *l == layer);
    for (path, text) in sources() {
        let Some(first) = path_in_crate(&path).components().next() else {
            continue;
        };
        let Some(own) = rank(first.as_os_str().to_string_lossy().trim_end_matches(".rs")) else {
            continue;
        };
        for line in code(&text).lines().filter(|line| !line.trim_start().starts_with("//")) {
            for path_text in line.split("crate::").skip(1) {
                let used = path_text
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or_default();
                if let Some(used) = rank(used) {
                    assert!(used >= own, "{}: {} uses {}", path.display(), LAYERS[own], LAYERS[used]);
                    assert!(
                        !(matches!(LAYERS[own], "testing" | "emulator") && LAYERS[used] == "client"),
                        "{}: what stands behind the transport does not know the client",
                        path.display()
                    );
                    assert!(
                        !(LAYERS[own] == "testing" && LAYERS[used] == "emulator"),
                        "{}: the fault kit stands before any transport",
                        path.display()
                    );
                }
            }
        }
    }
}

#[test]
fn files_are_small_and_say_what_they_own() {
    for (path, text) in sources() {
        let lines = code(&text).lines().count();
        assert!(
            is_test(path_in_crate(&path)) || lines <= MOST_LINES,
            "{}: {lines} lines, the limit is {MOST_LINES}",
            path.display()
        );
        assert!(
            text.starts_with("//!") || text.starts_with("#![doc"),
            "{}: it does not open with a module comment",
            path.display()
        );
    }
}

#[test]
fn no_lint_is_allowed_without_a_reason() {
    // The derive writes `allow` into the user's code, which is its business.
    for (path, text) in sources()
        .into_iter()
        .filter(|(path, _)| !path.to_string_lossy().contains("azure-table-derive"))
    {
        assert!(
            !text.contains("#[allow("),
            "{}: use #[expect(…, reason = …)]",
            path.display()
        );
    }
}
