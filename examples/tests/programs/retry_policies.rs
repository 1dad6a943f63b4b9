//! Each retry policy against the same faults.

use std::ops::RangeInclusive;

use crate::output;

/// The waits of a policy in seconds, and its result.
fn row(text: &str, policy: &str) -> (Vec<f64>, String) {
    let line = text.lines().find(|line| line.trim_start().starts_with(policy)).unwrap();
    let words: Vec<&str> = line
        .trim_start()
        .trim_start_matches(policy)
        .split_whitespace()
        .collect();
    // Each number with a decimal is a wait, but for the last: the total.
    let mut times: Vec<f64> = words
        .iter()
        .map(|word| word.trim_end_matches(','))
        .filter(|word| word.contains('.'))
        .map(|word| word.parse().unwrap())
        .collect();
    let total = times.pop().unwrap();
    assert!((times.iter().sum::<f64>() - total).abs() < 0.5, "{line}");
    let result = words.iter().skip_while(|word| !word.starts_with(char::is_alphabetic));
    (times, result.copied().collect::<Vec<_>>().join(" "))
}

#[test]
fn waits_and_results_are_those_of_the_policies() {
    let text = output("retry_policies");
    let expected: [(&str, &[RangeInclusive<f64>], &str); 8] = [
        ("NoRetry", &[], "ServerFault, 503"),
        (
            "ExponentialRetry::default",
            &[0.3..=1.2, 0.6..=1.0, 1.2..=2.0],
            "found, after 3 faults",
        ),
        (
            "ExponentialRetry::storage_client_2010",
            &[3.0..=3.0, 27.0..=39.0, 75.0..=90.0],
            "found, after 3 faults",
        ),
        (
            "LinearRetry::default",
            &[3.0..=3.0, 3.0..=3.0, 3.0..=3.0],
            "found, after 3 faults",
        ),
        ("… limit_attempts(2)", &[3.0..=3.0], "ServerFault, 500"),
        ("… limit_elapsed(5 s)", &[3.0..=3.0], "ServerFault, 500"),
        ("… with an empty budget", &[], "ServerFault, 503"),
        ("not after a 502 (own)", &[3.0..=3.0, 3.0..=3.0], "ServerFault, 502"),
    ];
    for (policy, waits, result) in expected {
        let found = row(&text, policy);
        assert_eq!(found.1, result, "{policy}\n{text}");
        assert_eq!(found.0.len(), waits.len(), "{policy}\n{text}");
        assert!(
            waits.iter().zip(&found.0).all(|(range, wait)| range.contains(wait)),
            "{policy}\n{text}"
        );
    }
}

/// The waits of six retries in milliseconds, and the time of the call.
fn six_retries(text: &str, name: &str) -> (Vec<u64>, u64) {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name));
    let (waits, rest) = line.unwrap().split_once("  total ").unwrap();
    let (total, result) = rest.split_once(", ").unwrap();
    assert_eq!(result, "ServerFault after 7 attempts", "{text}");
    let waits = waits.split(", ").map(|wait| wait.trim().parse().unwrap());
    (waits.collect(), total.parse().unwrap())
}

#[test]
fn six_retries_have_the_waits_that_the_java_post_prints() {
    let (waits, total) = six_retries(&output("retry_policies"), "as printed");
    assert_eq!(waits, [3_000, 28_442, 80_000, 90_000, 90_000, 90_000]);
    assert!((381_442..381_500).contains(&total), "{total}");
}

/// `min(3 s + (2ⁿ − 1) · U(0.8, 1.2) · 30 s, 90 s)`.
#[test]
fn six_random_waits_are_in_the_intervals_of_the_formula() {
    let (waits, total) = six_retries(&output("retry_policies"), "random");
    let ranges = [
        3_000..=3_000,
        27_000..=39_000,
        75_000..=90_000,
        90_000..=90_000,
        90_000..=90_000,
        90_000..=90_000,
    ];
    assert_eq!(waits.len(), ranges.len());
    assert!(
        waits.iter().zip(&ranges).all(|(wait, range)| range.contains(wait)),
        "{waits:?}"
    );
    assert!(total.abs_diff(waits.iter().sum()) < 60, "{total}: {waits:?}");
}
