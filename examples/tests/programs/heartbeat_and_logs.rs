//! Logs in buckets.

use std::sync::LazyLock;

use crate::{line, output};

static OUTPUT: LazyLock<String> = LazyLock::new(|| output("heartbeat_and_logs"));

/// The servers of a key, and the lines per second at first and later.
fn rates(key: &str) -> [u32; 3] {
    let words = line(&OUTPUT, key);
    [1, 2, 3].map(|at| words[at].parse().unwrap())
}

#[test]
fn buckets_spread_the_load_that_a_growing_key_keeps_on_one_server() {
    let text = &*OUTPUT;
    let [servers, first, later] = rates("{time}");
    assert!(servers >= 4 && first == 10 && (10..=11).contains(&later), "{text}");
    assert_eq!(rates("{component}"), [1, 10, 10], "{text}");
    let [servers, _, later] = rates("{component};{instance}");
    assert!(servers == 4 && (36..=40).contains(&later), "{text}");
    let [servers, _, later] = rates("{component};{instance};{bucket}");
    assert!(servers >= 14 && (125..=160).contains(&later), "{text}");
}

#[test]
fn silent_instance_its_last_lines_and_the_dropped_day_are_shown() {
    let text = &*OUTPUT;
    assert_eq!(line(text, "web 2 silent")[3..], ["seen", "21631", "s", "ago"], "{text}");
    assert_eq!(text.matches("alive   seen 20 s ago").count(), 2, "{text}");
    let (tail, errors) = text.split_once("errors of web, PartitionRange").unwrap();
    let (_, tail) = tail
        .split_once("the last lines of web 2, RowRange in each of 4 buckets:\n")
        .unwrap();
    let texts: Vec<&str> = tail
        .trim()
        .lines()
        .filter_map(|line| line.split("  ").last())
        .map(str::trim)
        .collect();
    assert_eq!(texts, ["request 47", "out of memory", "the process ends"], "{text}");
    assert_eq!(errors.matches("  error  ").count(), 5, "{text}");
    // Flushed with lines of the day before.
    assert_eq!(
        line(errors, "2026-11-22T00:00:00Z")[1..],
        ["web", "3", "error", "no", "answer", "from", "billing", "1"],
        "{text}"
    );
    assert!(errors.contains("Logs20261120 with its 400 lines: 2 requests"), "{text}");
}
