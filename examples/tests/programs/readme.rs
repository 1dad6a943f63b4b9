//! The outputs in `README.md` are what the programs print.

use std::fs;
use std::path::Path;

const README: &str = include_str!("../../README.md");

/// The line of an excerpt that stands for any number of lines.
const LEFT_OUT: &str = "…";

/// Returns each excerpt with its program: the name that begins the last line before the block.
fn excerpts() -> Vec<(&'static str, &'static str)> {
    let mut excerpts = Vec::new();
    let mut rest = README;
    while let Some((before, block)) = rest.split_once("```") {
        let (code, after) = block.split_once("```").unwrap();
        let (language, code) = code.split_once('\n').unwrap();
        if language != "sh" {
            let introduction = before.trim_end().rsplit("\n\n").next().unwrap();
            let program = introduction.split('`').nth(1).unwrap_or_default();
            assert!(
                language == "text" && introduction.starts_with('`') && introduction.ends_with(':'),
                "a block needs a line that begins with the name of its program:\n{code}"
            );
            excerpts.push((program, code));
        }
        rest = after;
    }
    excerpts
}

/// Checks that the output of a program has the program's excerpts.
pub(crate) fn check(program: &str, output: &str) {
    let masked = |text: &str| -> Vec<String> { text.lines().map(|line| masked(program, line)).collect() };
    for (_, excerpt) in excerpts().into_iter().filter(|(of, _)| *of == program) {
        let (lines, excerpt) = (masked(output), masked(excerpt));
        let mut rest = &lines[..];
        for part in excerpt.split(|line| line == LEFT_OUT) {
            let at = rest.windows(part.len()).position(|lines| lines == part);
            assert!(
                at.is_some(),
                "examples/README.md differs from `{program}`: no lines\n{}\nin\n{output}",
                part.join("\n")
            );
            rest = &rest[at.unwrap() + part.len()..];
        }
    }
}

/// Returns a line without the numbers that differ in each run: `#` for each word that begins with a digit, from the
/// first such number on.
fn masked(program: &str, line: &str) -> String {
    let line = line.trim_end();
    let first = match program {
        // The time of a step.
        "quickstart" if line.ends_with(" ms") => line.rfind("  "),
        // The number of conflicts.
        "concurrent_updates" if line.starts_with("Modify") => line.rfind(' '),
        // The waits of retries are random.
        "heartbeat_and_logs" if line.starts_with('{') && !line.starts_with("{component} ") => line.find(' '),
        "retry_policies" if line.contains("ExponentialRetry::") => line.find("  "),
        "telemetry" if line.starts_with("insert attempt") => line.find(" after "),
        "telemetry" if line.starts_with("db.client.operation.duration") => line.find(" mean "),
        _ => None,
    };
    let Some(first) = first else { return line.to_owned() };
    let (kept, changing) = line.split_at(first);
    let words = changing.split_whitespace();
    let words = words.map(|word| {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            "#"
        } else {
            word
        }
    });
    format!("{} {}", kept.trim_end(), words.collect::<Vec<_>>().join(" "))
}

/// `output` checks the excerpts of its program.
#[test]
fn each_excerpt_has_a_test_that_runs_its_program() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let excerpts = excerpts();
    assert!(excerpts.len() > 10, "{excerpts:?}");
    for (program, _) in excerpts {
        let test = fs::read_to_string(tests.join(format!("{program}.rs"))).unwrap_or_default();
        let run = format!("output(\"{program}\")");
        assert!(test.contains(&run), "tests/programs/{program}.rs does not call {run}");
    }
}
