//! Messages for mistakes. Each `ui/fail/<mistake>.rs` must not compile, and the `.stderr` next to it is the message of
//! the compiler. Each `ui/pass/<use>.rs` compiles.
//!
//! The crate of the derive tests its own messages, on every compiler. This folder has some of them, and the mistakes
//! that the compiler finds by types. Every error names the attribute or the type, and a remedy. The exceptions are
//! the functions in `default` and `upgrade`, whose types the compiler compares, and `Shop::CACHED` of an ignored field,
//! which has no constant so that users may define their own.
//!
//! The compiler is called directly, with the libraries that Cargo built for this test (`libraries.rs`), which takes a
//! tenth of a second. After an intended change, regenerate the messages with
//! `AZURE_TABLE_UPDATE_MESSAGES=1`, and read the difference.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod libraries;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

use azure_table_tests::process::output;
use libraries::Libraries;

/// Before the name of a file.
const LOCATIONS: [&str; 2] = ["--> ", "::: "];

/// Compiles a program. Returns its messages, in paths that are the same on every machine.
fn messages(program: &str, libraries: &Libraries) -> String {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    // Code is generated: assertions of constants fail no earlier.
    let object = env::temp_dir().join(format!(
        "azure-table-ui-{}-{}",
        std::process::id(),
        program.replace('/', "-")
    ));
    command
        .args([
            "--edition=2024",
            "--cap-lints=allow",
            "--color=never",
            "--emit=obj",
            "-o",
        ])
        .arg(&object)
        .args(libraries.arguments())
        .arg(program)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = output(&mut command, &format!("the compiler, for {program}"));
    // A program with an error has no object.
    let _ = fs::remove_file(object);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.success(), text.is_empty(), "{program}: {text}");
    normalized(&text)
}

/// Removes the lines of other files with their numbers, which change with that code, and the counts that end lists.
fn normalized(text: &str) -> String {
    let (errors, _) = text.split_once("\nerror: aborting due to").unwrap_or((text, ""));
    let mut is_foreign = false;
    let mut normalized = String::new();
    for line in errors.lines() {
        let code = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        let indent = &line[..line.len() - code.len()];
        let location = LOCATIONS.iter().find_map(|arrow| code.strip_prefix(arrow));
        is_foreign = location.map_or(is_foreign && code.starts_with('|'), |file| !file.starts_with("ui/"));
        normalized += &match location.and_then(|location| location.split_once(".rs:")) {
            Some((file, _)) if is_foreign => {
                let file = file
                    .split_once("/library/")
                    .map_or(file.into(), |(_, file)| format!("$RUST/{file}"));
                format!("{indent}{}{file}.rs\n", &code[..LOCATIONS[0].len()])
            }
            _ if is_foreign => continue,
            _ if code.starts_with("and ") && code.ends_with(" others") => format!("{indent}and $N others\n"),
            _ => format!("{line}\n"),
        };
    }
    normalized
}

/// Compares the messages of each program in a folder with its file, or writes them there.
fn check(folder: &str) {
    let libraries = Libraries::of_this_test();
    let mut programs: Vec<PathBuf> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("ui").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    programs.sort();
    assert!(!programs.is_empty(), "ui/{folder} has no programs");
    let is_update = env::var_os("AZURE_TABLE_UPDATE_MESSAGES").is_some();
    let differs = |program: &PathBuf| {
        let name = program.file_name().unwrap().to_str().unwrap();
        let found = messages(&format!("ui/{folder}/{name}"), &libraries);
        let file = program.with_extension("stderr");
        if is_update && folder != "pass" {
            fs::write(file, found).unwrap();
            return None;
        }
        let expected = match folder {
            "pass" => String::new(),
            _ => fs::read_to_string(file).unwrap_or_else(|error| error.to_string()),
        };
        (found != expected).then(|| format!("==> ui/{folder}/{name}, expected:\n{expected}\nfound:\n{found}"))
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let different: Vec<String> = thread::scope(|scope| {
        let parts = programs.chunks(programs.len().div_ceil(threads));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().filter_map(differs).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts come from Rust 1.95, this is another compiler"
)]
fn mistakes_have_the_recorded_messages() {
    check("fail");
}

/// Mistakes with the types of other crates, which the feature `full` adds.
#[cfg(feature = "full")]
#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts come from Rust 1.95, this is another compiler"
)]
fn mistakes_with_types_of_other_crates_have_the_recorded_messages() {
    check("full");
}

#[test]
#[cfg_attr(
    not(recorded_compiler),
    ignore = "the texts come from Rust 1.95, this is another compiler"
)]
fn uses_beside_the_mistakes_compile() {
    check("pass");
}

#[test]
fn five_bad_fields_have_messages_of_sixty_lines() {
    let response = include_str!("fail/five_fields.stderr");
    let errors = response.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(errors, 5, "one mistake, one error:\n{response}");
    let lines = response.lines().count();
    assert!(lines <= 60, "{lines} lines");
}
